"""Formats that are not read: what they are called, and how their locations get into a format that is read."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import NamedTuple

from geoveil.errors import InvalidFile

__all__ = ["UNREAD", "named_error", "unread_format"]


class Unread(NamedTuple):
    """A format that is not read.

    Parameters
    ----------
    name : str
        What the file is.
    remedy : str
        What its owner can do.
    """

    name: str
    remedy: str


_AS_TABLE = "Save its locations as a .csv file with the columns time, lat and lon."
_ARCHIVE = "Unpack it, and give the file with the locations."
_MAP = "A map holds no locations of persons: choose the file with the locations."
_SPREADSHEET = "Save it as .xlsx or .csv."
_PICTURE = Unread("a picture", "Save where the pictures were taken as a .csv file with the columns time, lat and lon.")
_DOCUMENT = Unread("a document", "Save the table in it as a .csv file.")
_SQLITE = Unread("an SQLite database", "Save its table of locations as a .csv file.")
_OSM = Unread("a map of OpenStreetMap", _MAP)
_TILES = Unread("tiles of a map", _MAP)
_CLOUD = Unread("a point cloud (LAS)", "Save its points as a .csv file with the columns x and y.")
_NETCDF = Unread("a NetCDF file", _AS_TABLE)
_HDF = Unread("an HDF5 file", _AS_TABLE)
_PICKLE = Unread(
    "a pickle of Python, which could run code", "Load it yourself, and save it with to_parquet or to_csv."
)
_R = Unread("a file of R", 'Save it in R: write.csv(x, "points.csv", row.names = FALSE).')
_SPSS, _STATA, _MATLAB = (Unread(f"a file of {name}", _AS_TABLE) for name in ("SPSS", "Stata", "MATLAB"))
_ARROW = Unread("an Arrow or Feather file", "Save it with pandas.read_feather(...).to_parquet(...).")
_AVRO, _DUCKDB = Unread("an Avro file", _AS_TABLE), Unread("a DuckDB database", "Save its table as .parquet or .csv.")
_GML, _TOPOJSON = Unread("a GML file", "Convert it to .gpkg."), Unread("a TopoJSON file", "Convert it to .geojson.")
_GEODATABASE = Unread("a file geodatabase", "Save its layer as .gpkg.")
_EXCEL, _ODS = Unread("an old Excel file", _SPREADSHEET), Unread("an OpenDocument spreadsheet", _SPREADSHEET)
_PACKED = Unread("an archive", _ARCHIVE)

#: The formats of endings.
UNREAD = {
    **dict.fromkeys((".sqlite", ".sqlite3", ".db"), _SQLITE),
    **dict.fromkeys((".mbtiles", ".pmtiles"), _TILES),
    **dict.fromkeys((".pbf", ".osm"), _OSM),
    **dict.fromkeys((".las", ".laz"), _CLOUD),
    **dict.fromkeys((".nc", ".nc4"), _NETCDF),
    **dict.fromkeys((".h5", ".hdf5", ".hdf"), _HDF),
    **dict.fromkeys((".jpg", ".jpeg", ".heic", ".heif", ".png", ".tif", ".tiff", ".webp", ".gif"), _PICTURE),
    **dict.fromkeys((".pdf", ".docx", ".doc", ".odt", ".rtf", ".html", ".htm", ".pptx"), _DOCUMENT),
    **dict.fromkeys((".tar", ".tgz", ".7z", ".rar", ".bz2", ".xz", ".zst"), _PACKED),
    **dict.fromkeys((".pkl", ".pickle"), _PICKLE),
    **dict.fromkeys((".rds", ".rda", ".rdata"), _R),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), _ARROW),
    **{".xls": _EXCEL, ".ods": _ODS, ".sav": _SPSS, ".dta": _STATA, ".mat": _MATLAB, ".avro": _AVRO},
    **{".duckdb": _DUCKDB, ".gml": _GML, ".topojson": _TOPOJSON, ".gdb": _GEODATABASE},
}
#: First bytes of files, as patterns.
_HEADS = (
    (re.compile(rb"SQLite format 3\0"), _SQLITE),
    (re.compile(rb"%PDF-|<!DOCTYPE html|<html", re.IGNORECASE), _DOCUMENT),
    (re.compile(rb"\xff\xd8\xff|\x89PNG\r\n|GIF8|II\*\0|MM\0\*|....ftyp(heic|heix|mif1|avif)|RIFF....WEBP"), _PICTURE),
    (re.compile(rb"\x89HDF\r\n"), _HDF),
    (re.compile(rb"CDF[\x01\x02\x05]"), _NETCDF),
    (re.compile(rb"LASF"), _CLOUD),
    (re.compile(rb"\0\0\0.\n\x09OSMHeader", re.DOTALL), _OSM),
    (re.compile(rb"(?:<\?xml[^>]*>\s*)?<osm\b"), _OSM),
    (re.compile(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), _EXCEL),
    (re.compile(rb"7z\xbc\xaf|Rar!|BZh[1-9]1AY|\xfd7zXZ|\x28\xb5\x2f\xfd|.{257}ustar", re.DOTALL), _PACKED),
    (re.compile(rb"ARROW1"), _ARROW),
    (re.compile(rb"Obj\x01"), _AVRO),
    (re.compile(rb".{8}DUCK", re.DOTALL), _DUCKDB),
    (re.compile(rb"RDX[23]\n|X\n\0\0\0[\x02\x03]"), _R),
    (re.compile(rb"MATLAB [57]"), _MATLAB),
    (re.compile(rb"\$FL[23]@"), _SPSS),
    (re.compile(rb"<stata_dta>"), _STATA),
    (re.compile(rb"\x80[\x02-\x05][\x95\]}c(]"), _PICKLE),
    (re.compile(rb'\s*\{\s*"type"\s*:\s*"Topology"'), _TOPOJSON),
)
#: Files in archives that are documents.
_PARTS = {"word/document.xml": _DOCUMENT, "ppt/presentation.xml": _DOCUMENT, "content.xml": _ODS}


def unread_format(path: Path) -> Unread | None:
    """Return the format of a file or folder that is not read, by its content or else its ending, or None."""
    by_ending = UNREAD.get(path.suffix.lower())
    if path.is_dir():
        return by_ending
    with path.open("rb") as file:
        head = file.read(2**10)
    if head.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(path) as archive:
                names = frozenset(archive.namelist())
        except (zipfile.BadZipFile, OSError, ValueError):
            return by_ending
        named = next((kind for part, kind in _PARTS.items() if part in names), None)
        return named and (by_ending or named)
    # Several endings share their first bytes, such as those of SQLite.
    named = next((kind for begun, kind in _HEADS if begun.match(head)), None)
    binary = b"\0" in head or path.suffix.lower() in (".rds", ".rda", ".gml")
    return (by_ending or named) if named or binary else None


def named_error(path: Path, kind: Unread) -> InvalidFile:
    """Return the error of a file of a format that is not read."""
    return InvalidFile(str(path), kind.name, "a file of a format that is read", kind.remedy)
