"""Write files, and certificates beside them, completely or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from geoveil.errors import FileUnavailable, InvalidFile
from geoveil.geo.formats.fingerprints import SHAPEFILE_PARTS, files_of
from geoveil.geo.formats.gdal import DRIVERS
from geoveil.geo.formats.guards import encodable, usable_name
from geoveil.geo.formats.workspace import workspace

__all__ = ["certificate_path", "replaced_files", "staging_folder", "write_atomically", "write_certificate"]

#: Endings of the files that belong to a shapefile, and of those that other programs put beside it.
_SHAPEFILE = (
    *SHAPEFILE_PARTS,
    *(".qpj", ".qix", ".qmd", ".qml", ".sbn", ".sbx", ".shp.xml", ".cst", ".dbt"),
    *(".atx", ".ain", ".aih", ".ixs", ".mxs", ".fbn", ".fbx", ".idm", ".ind"),
)
#: Endings that other programs append to the name of any file; SQLite would apply an old journal to a new GeoPackage.
_BESIDE = ("-wal", "-shm", "-journal", ".aux.xml")


@contextmanager
def staging_folder(target: Path) -> Iterator[Path]:
    """Provide a temporary folder in which a target is written.

    At the end, all files in it are moved beside the target, the target last; after an error, none is.
    """
    encodable(target)
    if target.suffix.lower() in DRIVERS:
        usable_name(target)
    parent = target.absolute().parent
    if not parent.is_dir():
        raise InvalidFile(str(target), str(parent), "in an existing folder", "Create the folder first.")
    if target.is_dir():
        raise InvalidFile(
            str(target), "an existing folder", "a new name", "Choose another name, or remove the folder."
        )
    _check_free(target)
    with workspace(parent) as folder:
        yield folder
        written = sorted(folder.iterdir(), key=lambda path: path.name == target.name)
        for path in written:
            _flush(path)
        # Leftover files of an older target would be taken for parts of the new one.
        for path in _stale(target):
            path.unlink(missing_ok=True)
        for path in written:
            path.replace(parent / path.name)


def _check_free(target: Path) -> None:
    """Refuse a target that could not be replaced later: Windows replaces no file that another program has open."""
    for path in replaced_files(target):
        try:
            path.replace(path)  # does nothing where it can be done
        except FileNotFoundError:
            pass
        except OSError as problem:
            reason = f"cannot be replaced ({problem.strerror or problem})"
            remedy = "Close it in other programs, or choose another name."
            raise FileUnavailable(str(path), reason, "a file that nobody uses", remedy) from None


def _stale(target: Path) -> list[Path]:
    """Return the files beside a target that other programs may have made for an older one."""
    parts = [target.with_suffix(ending) for ending in _SHAPEFILE] if target.suffix.lower() == ".shp" else []
    return [*(target.with_name(target.name + ending) for ending in _BESIDE), *parts]


def replaced_files(target: Path) -> list[Path]:
    """Return all files that are replaced or removed when a target and its certificate are written."""
    return [target, certificate_path(target), *_stale(target)]


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Write one file completely or not at all: `write` is called with a temporary path."""
    with staging_folder(path) as folder:
        write(folder / path.name)


def certificate_path(path: Path) -> Path:
    """Return the path of the certificate of a released file."""
    return path.with_name(path.name + ".certificate.json")


def write_certificate(path: Path, account: Mapping[str, Any]) -> None:
    """Write a certificate beside a released file."""
    certificate_path(path).write_text(json.dumps(account, indent=2) + "\n", encoding="utf-8", newline="\n")


def _flush(path: Path) -> None:
    """Flush a file to the disk, so that a crash cannot leave a part of it under its final name."""
    for file in files_of(path):
        # Windows flushes only files that are open for writing.
        with file.open("r+b") as handle:
            os.fsync(handle.fileno())
