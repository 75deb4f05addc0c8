"""Archives with one file of locations: a zipped shapefile, a KMZ file, any other file in .zip or .gz."""

from __future__ import annotations

import gzip
import weakref
import zipfile
import zlib
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import IO

from geoveil.errors import InvalidFile
from geoveil.geo.formats.fingerprints import SHAPEFILE_PARTS
from geoveil.geo.formats.limits import EXPANSION, UNPACKED
from geoveil.geo.formats.workspace import workspace

__all__ = ["ARCHIVES", "Unpacked", "unpack"]

#: Endings of archives. Tables that end in .gz are read without unpacking them first.
ARCHIVES = (".zip", ".kmz", ".gz")
_BLOCK = 2**20


class Unpacked:
    """A private temporary folder that is removed when nobody refers to it any more."""

    def __init__(self) -> None:
        stack = ExitStack()
        self.folder = stack.enter_context(workspace())
        self._end = weakref.finalize(self, stack.close)


def unpack(path: Path, known: Collection[str]) -> tuple[Path, Unpacked]:
    """Unpack the one file of locations in an archive.

    Parameters
    ----------
    path : Path
        The archive.
    known : collection of str
        The endings of files of locations.

    Returns
    -------
    tuple of Path and Unpacked
        The unpacked file, and its folder, which exists while it is referred to.
    """
    held = Unpacked()
    try:
        if not zipfile.is_zipfile(path):
            target = held.folder / (path.stem or "unpacked")
            with gzip.open(path) as packed:
                _copy(path, packed, target)
            return target, held
        with zipfile.ZipFile(path) as archive:
            chosen = _chosen(path, archive, known)
            for part in chosen:
                with archive.open(part) as packed:
                    _copy(path, packed, held.folder / PurePosixPath(part).name)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as problem:
        remedy = "It may be truncated, or need a password: unpack it yourself."
        raise InvalidFile(str(path), str(problem), "a valid archive", remedy) from None
    return held.folder / PurePosixPath(chosen[0]).name, held


def _chosen(path: Path, archive: zipfile.ZipFile, known: Collection[str]) -> list[str]:
    """Return the file of locations in an archive, and the files that belong to it if it is a shapefile."""
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    names = [name for name in names if not PurePosixPath(name).name.startswith(".")]
    found = [name for name in names if PurePosixPath(name).suffix.lower() in known]
    # A text file beside the data is usually a description.
    found = [name for name in found if PurePosixPath(name).suffix.lower() != ".txt"] or found
    if len(found) != 1 or len(names) != len(set(names)):
        shown = ", ".join(found[:5]) or "none"
        remedy = "Unpack it, and give the file that you want to release."
        raise InvalidFile(str(path), shown, "an archive with one file of locations", remedy)
    stem = PurePosixPath(found[0]).with_suffix("")
    parts = SHAPEFILE_PARTS if found[0].lower().endswith(".shp") else ()
    beside = [name for name in names if PurePosixPath(name).with_suffix("") == stem]
    return [*found, *(name for name in beside if PurePosixPath(name).suffix.lower() in parts)]


def _copy(path: Path, packed: IO[bytes] | gzip.GzipFile, target: Path) -> None:
    """Unpack a file, up to the limits on expansion."""
    size = max(path.stat().st_size, 1)
    with target.open("wb") as out:
        target.chmod(0o600)
        while block := packed.read(_BLOCK):
            out.write(block)
            if out.tell() > UNPACKED:
                EXPANSION.check(path, out.tell() / size)
