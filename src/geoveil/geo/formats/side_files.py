"""Files beside a released file that other programs open together with it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from geoveil.geo.formats.fingerprints import SHAPEFILE_PARTS, files_of

__all__ = ["SideFiles", "read_with", "side_files"]

_TABLES = (".csv", ".tsv", ".txt")
_RASTERS = (".tif", ".tiff")
#: Endings that replace that of the file, by the formats whose readers open such files for data.
_IN_PLACE = {
    ".shp": (
        *(*SHAPEFILE_PARTS, ".qpj", ".qix", ".sbn", ".sbx", ".cst", ".dbt"),
        *(".atx", ".ain", ".aih", ".ixs", ".mxs", ".fbn", ".fbx", ".idm", ".ind"),
    ),
    **dict.fromkeys(_TABLES, (".csvt", ".prj")),
    **dict.fromkeys(
        _RASTERS,
        (".tfw", ".tifw", ".tiffw", ".wld", ".tab", ".aux", ".rrd", ".imd", ".rpb", ".msk", ".vat.dbf"),
    ),
}
#: Endings that follow the whole name of the file. GDAL looks for .aux.xml beside files of many formats.
_APPENDED = {
    "": (".aux.xml",),
    **dict.fromkeys(_RASTERS, (".aux.xml", ".ovr", ".msk", ".xml", ".vat.dbf")),
}
#: Endings that replace that of a raster's name, with the file's own dot.
_COEFFICIENTS = ("_rpc.txt", "_metadata.txt")
#: Endings of styles and descriptions: they change how a file is drawn, and hold none of its locations.
_STYLES = (".qml", ".qmd", ".sld", ".lyr", ".lyrx")
#: Endings of files in a folder that engines write to mark or check other files, and do not read as data.
_MARKS = ("_SUCCESS", ".crc")


@dataclass(frozen=True)
class SideFiles:
    """The files beside a released file that are not part of it."""

    #: Files that programs read together with it, so that they see other data than was released.
    read: list[Path]
    #: Styles and descriptions, which change how it is shown and not which locations it has.
    drawn: list[Path]


def side_files(path: Path) -> SideFiles:
    """Return the files that programs open together with a file, or read in a folder, and that its digest leaves out.

    Names are compared without regard to capitals, as some programs do. SQLite looks for a journal beside the file
    that a link leads to, so that both places are searched.
    """
    # Absolute, so that a file has one name, however it was given.
    path = path.absolute()
    own = set(files_of(path))
    if path.is_dir():
        others = (file for file in path.rglob("*") if file not in own and (file.is_symlink() or not file.is_dir()))
        return SideFiles(sorted(file for file in others if not file.name.endswith(_MARKS)), [])
    read, drawn = set[Path](), set[Path]()
    places = dict.fromkeys((path, Path(os.path.realpath(path))))
    own |= {file for place in places for file in files_of(place)}
    for place in places:
        for name in _names(place.parent):
            file = place.with_name(name)
            if name == place.name or file in own:
                continue
            if _is_read(name.casefold(), place.name.casefold()):
                read.add(file)
            elif _is_style(name.casefold(), place.name.casefold()):
                drawn.add(file)
    return SideFiles(sorted(read), sorted(drawn))


def read_with(path: Path) -> list[Path]:
    """Return the files in the same folder for whose data programs read a file of this name."""
    return [path.with_name(name) for name in _names(path.parent) if _is_read(path.name.casefold(), name.casefold())]


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _split(name: str) -> tuple[str, str]:
    """Return a name without its ending, and the ending; that of a compressed table is the one before .gz."""
    stem, dot, ending = name.removesuffix(".gz").rpartition(".")
    return (stem, dot + ending) if stem else (ending, "")


def _is_read(name: str, file: str) -> bool:
    """Return whether programs read a file of this name for the data of a file."""
    stem, ending = _split(file)
    after = name.removeprefix(file) if name.startswith(file) else ""
    if ending == ".gpkg" and after.startswith("-"):
        # SQLite would apply a journal, or read pages from a log, before it reads the GeoPackage.
        return True
    if after in (*_APPENDED[""], *_APPENDED.get(ending, ())):
        return True
    if name == file or not name.startswith(stem):
        return False
    rest = name.removeprefix(stem)
    if ending == ".shp" and rest.startswith(".") and rest.endswith(".atx"):
        # An index of a column has the column's name before its ending.
        return True
    return rest in _IN_PLACE.get(ending, ()) or (ending in _RASTERS and rest in _COEFFICIENTS)


def _is_style(name: str, file: str) -> bool:
    """Return whether programs apply a file of this name to the picture, or the description, of a file."""
    stem, ending = _split(file)
    described = (file + ".xml",) if ending == ".shp" else ()
    return name in (*(stem + style for style in _STYLES), *(file + style for style in _STYLES), *described)
