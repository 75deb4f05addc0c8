"""Files that are there as a whole, or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from geoveil.errors import InvalidFile
from geoveil.geo.files.gdal import DRIVERS
from geoveil.geo.files.guards import encodable, usable_name
from geoveil.geo.files.workspace import workspace

__all__ = ["aside", "certificate_of", "certify", "digest", "files_of", "touched", "written"]

#: What other programs put beside a shapefile, in place of its ending, the first four being part of it.
_SHAPEFILE = (
    *(".shx", ".dbf", ".prj", ".cpg", ".qpj", ".qix", ".qmd", ".qml", ".sbn", ".sbx", ".shp.xml", ".cst", ".dbt"),
    *(".atx", ".ain", ".aih", ".ixs", ".mxs", ".fbn", ".fbx", ".idm", ".ind"),
)
#: What they put beside any file, after its name; SQLite would play a journal back into a new GeoPackage.
_BESIDE = ("-wal", "-shm", "-journal", ".aux.xml")


@contextmanager
def aside(target: Path) -> Iterator[Path]:
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


def _stale(target: Path) -> list[Path]:
    """Return the files beside a target that other programs made for an older one."""
    parts = [target.with_suffix(ending) for ending in _SHAPEFILE] if target.suffix.lower() == ".shp" else []
    return [*(target.with_name(target.name + ending) for ending in _BESIDE), *parts]


def touched(target: Path) -> list[Path]:
    """Return all files that writing a target and its certificate replaces or removes."""
    return [target, certificate_of(target), *_stale(target)]


def written(path: Path, write: Callable[[Path], Any]) -> None:
    """Have one file written, whole or not at all."""
    with aside(path) as folder:
        write(folder / path.name)


def certificate_of(path: Path) -> Path:
    """Where the certificate of a released file is."""
    return path.with_name(path.name + ".certificate.json")


def certify(path: Path, account: Mapping[str, Any]) -> None:
    """Put a certificate beside a released file."""
    certificate_of(path).write_text(json.dumps(account, indent=2) + "\n")


def _settle(path: Path) -> None:
    """Have the system write it to the disk, so that a crash leaves no half of it under its last name."""
    for file in files_of(path):
        with file.open("rb") as handle:
            os.fsync(handle.fileno())


def digest(path: Path) -> str:
    """The SHA-256 of a file; of a folder's files, or those of a shapefile, of their names and digests."""
    digests = {}
    for file in files_of(path):
        with file.open("rb") as handle:
            digests[file.name] = hashlib.file_digest(handle, "sha256").hexdigest()
    if [*digests] == [path.name]:
        return digests[path.name]
    lines = "".join(f"{name} {found}\n" for name, found in digests.items())
    return hashlib.sha256(lines.encode()).hexdigest()


def files_of(path: Path) -> list[Path]:
    """Return the files that hold what a path names: those of a folder, or the parts of a shapefile."""
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.is_file())
    if path.suffix.lower() == ".shp":
        return [path, *(path.with_suffix(end) for end in _SHAPEFILE[:4] if path.with_suffix(end).exists())]
    return [path]
