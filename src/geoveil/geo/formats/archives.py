"""Archives with one file of locations: a zipped shapefile, a KMZ file, any other file in .zip or .gz."""

from __future__ import annotations

import gzip
import re
import weakref
import zipfile
import zlib
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import IO

from geoveil.errors import InvalidFile, Mention, Message, Text
from geoveil.geo.formats.fingerprints import SHAPEFILE_PARTS
from geoveil.geo.formats.limits import EXPANSION, UNPACKED
from geoveil.geo.formats.workspace import workspace

__all__ = ["ARCHIVES", "Unpacked", "unpack", "within_archive"]

#: Endings of archives. Tables that end in .gz are read without unpacking them first.
ARCHIVES = (".zip", ".kmz", ".gz")
_BLOCK = 2**20
#: Files of a timetable with locations, and of what these are.
_TIMETABLE = {"shapes.txt": "the lines of its vehicles", "stops.txt": "its stops"}
#: Largest number of bytes of the description of a Darwin Core archive, and the name of its main file in it.
_DESCRIPTION = 2**20
_CORE = re.compile(rb"<core\b.*?<location>\s*([^<>]*?)\s*</location>", re.DOTALL)


class Unpacked:
    """A private temporary folder that is removed when nobody refers to it any more."""

    def __init__(self) -> None:
        stack = ExitStack()
        self.folder = stack.enter_context(workspace())
        self._end = weakref.finalize(self, stack.close)


def within_archive(path: Path) -> tuple[Path, str | None]:
    """Split the path of a file in an archive: the archive, and the name in it; None for any other path.

    Examples
    --------
    >>> within_archive(Path("records.csv"))[1] is None
    True
    """
    for parent in path.parents:
        if parent.suffix.lower() == ".zip" and parent.is_file():
            return parent, path.relative_to(parent).as_posix()
    return path, None


def unpack(path: Path, known: Collection[str], wanted: str | None = None) -> tuple[Path, Unpacked, bool]:
    """Unpack the one file of locations in an archive, or the one that is named.

    Parameters
    ----------
    path : Path
        The archive.
    known : collection of str
        The endings of files of locations.
    wanted : str, optional
        The name of a file in the archive, or of a layer of the one file.

    Returns
    -------
    tuple of Path, Unpacked and bool
        The unpacked file, its folder, which exists while it is referred to, and whether `wanted` named the file.
    """
    held = Unpacked()
    try:
        if not zipfile.is_zipfile(path):
            target = held.folder / (path.stem or "unpacked")
            with gzip.open(path) as packed:
                _copy(path, packed, target)
            return target, held, False
        with zipfile.ZipFile(path) as archive:
            chosen = _chosen(path, archive, known, wanted)
            for part in chosen:
                with archive.open(part) as packed:
                    _copy(path, packed, held.folder / PurePosixPath(part).name)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as problem:
        remedy = "It may be truncated, or need a password: unpack it yourself."
        raise InvalidFile(str(path), str(problem), "a valid archive", remedy) from None
    return held.folder / PurePosixPath(chosen[0]).name, held, chosen[0] == wanted


def _chosen(path: Path, archive: zipfile.ZipFile, known: Collection[str], wanted: str | None) -> list[str]:
    """Return the file of locations in an archive, and the files that belong to it if it is a shapefile."""
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    names = [name for name in names if not PurePosixPath(name).name.startswith(".")]
    members = [name for name in names if PurePosixPath(name).suffix.lower() in known]
    core = _core_of(archive) if "meta.xml" in names else None
    if "stops.txt" in names and "trips.txt" in names and wanted not in names:
        told = [f"{{layer:{name}}} if {held} are to be hidden" for name, held in _TIMETABLE.items() if name in names]
        remedy: Text = Message(f"Give {', or '.join(told)}.")
        raise InvalidFile(str(path), "a timetable (GTFS)", "locations of persons: its stops are public", remedy)
    if wanted in names or core in names:
        members = [name for name in names if name == (wanted if wanted in names else core)]
    # A text file beside the data is usually a description.
    members = [name for name in members if PurePosixPath(name).suffix.lower() != ".txt"] or members
    if len(members) != 1 or len(names) != len(set(names)):
        shown = ", ".join((members or names)[:5]) or "nothing"
        remedy = "Unpack it, and give the file that you want to release."
        if len(members) > 1 and len(names) == len(set(names)):
            remedy = Message("Name one of them, such as {layer}.", layer=Mention("layer", members[0]))
        raise InvalidFile(str(path), shown, "an archive with one file of locations", remedy)
    stem = PurePosixPath(members[0]).with_suffix("")
    parts = SHAPEFILE_PARTS if members[0].lower().endswith(".shp") else ()
    beside = [name for name in names if PurePosixPath(name).with_suffix("") == stem]
    return [*members, *(name for name in beside if PurePosixPath(name).suffix.lower() in parts)]


def _core_of(archive: zipfile.ZipFile) -> str | None:
    """Return the file of the occurrences of a Darwin Core archive, as its description says."""
    if archive.getinfo("meta.xml").file_size > _DESCRIPTION:
        return None
    core = _CORE.search(archive.read("meta.xml"))
    return core[1].decode(errors="replace") if core else None


def _copy(path: Path, packed: IO[bytes] | gzip.GzipFile, target: Path) -> None:
    """Unpack a file, up to the limits on expansion."""
    size = max(path.stat().st_size, 1)
    with target.open("wb") as out:
        target.chmod(0o600)
        while block := packed.read(_BLOCK):
            out.write(block)
            if out.tell() > UNPACKED:
                EXPANSION.check(path, out.tell() / size)
