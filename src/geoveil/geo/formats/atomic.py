"""Files that are there as a whole, or not at all."""

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
#: What they put beside any file, after its name; SQLite would play a journal back into a new GeoPackage.
_BESIDE = ("-wal", "-shm", "-journal", ".aux.xml")


@contextmanager
def staging_folder(target: Path) -> Iterator[Path]:
    """A folder to write to, beside the target.

    At the end all that is in it moves to where the target is, the target last; after an error nothing does.
    """
    encodable(target)
    if target.suffix.lower() in DRIVERS:
        usable_name(target)
    parent = target.absolute().parent
    if not parent.is_dir():
        raise InvalidFile(str(target), str(parent), "in a folder that is there", "Make the folder first.")
    if target.is_dir():
        raise InvalidFile(str(target), "a folder that is there", "a new one", "Choose another name, or remove it.")
    _check_free(target)
    with workspace(parent) as folder:
        yield folder
        written = sorted(folder.iterdir(), key=lambda path: path.name == target.name)
        for path in written:
            _settle(path)
        # What is left of an older one would belong to the new one.
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
    """Return the files beside a target that other programs made for an older one."""
    parts = [target.with_suffix(ending) for ending in _SHAPEFILE] if target.suffix.lower() == ".shp" else []
    return [*(target.with_name(target.name + ending) for ending in _BESIDE), *parts]


def replaced_files(target: Path) -> list[Path]:
    """Return all files that writing a target and its certificate replaces or removes."""
    return [target, certificate_path(target), *_stale(target)]


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Have one file written, whole or not at all."""
    with staging_folder(path) as folder:
        write(folder / path.name)


def certificate_path(path: Path) -> Path:
    """Where the certificate of a released file is."""
    return path.with_name(path.name + ".certificate.json")


def write_certificate(path: Path, account: Mapping[str, Any]) -> None:
    """Put a certificate beside a released file."""
    certificate_path(path).write_text(json.dumps(account, indent=2) + "\n", encoding="utf-8", newline="\n")


def _settle(path: Path) -> None:
    """Have the system write it to the disk, so that a crash leaves no half of it under its last name."""
    for file in files_of(path):
        # Windows flushes only files that are open for writing.
        with file.open("r+b") as handle:
            os.fsync(handle.fileno())
