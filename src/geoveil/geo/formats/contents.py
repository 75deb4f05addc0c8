"""The format of a file by its content, for files whose name does not tell it."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

__all__ = ["ending_by_content"]

_SAMPLE = 2**12
#: First bytes of binary formats, and the ending of each.
_HEADS = {
    b"PAR1": ".parquet",
    b"SQLite format 3\0": ".gpkg",
    b"\x00\x00\x27\x0a": ".shp",
    b"fgb\x03fgb": ".fgb",
    b"\x1f\x8b": ".gz",
}
_ROOT = re.compile(rb"<(?:\w+:)?(gpx|kml)\b")
_GEOJSON = re.compile(rb"""^\s*\x1e?\s*\{.*"(type|features|geometry)"\s*:""", re.DOTALL)
_PLT = re.compile(rb"^[^\n]*\n\s*WGS ?84\s*\n[^\n]*\n[^\n]*\n[^\n]*\n[^\n]*\n", re.IGNORECASE)


def ending_by_content(path: Path) -> str | None:
    """Return the ending that belongs to the content of a file, or None if it is not recognised."""
    with path.open("rb") as file:
        head = file.read(_SAMPLE)
    for begun, ending in _HEADS.items():
        if head.startswith(begun):
            return ending
    if head.startswith(b"PK\x03\x04"):
        return _in_archive(path)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"<"):
        found = _ROOT.search(text)
        return f".{found[1].decode()}" if found else None
    if _GEOJSON.match(text):
        return ".geojson"
    if _PLT.match(text):
        return ".plt"
    header = text.partition(b"\n")[0]
    readable = b"\0" not in head and not text.startswith((b"{", b"["))
    return ".csv" if readable and any(mark in header for mark in b",;\t|") else None


def _in_archive(path: Path) -> str | None:
    try:
        with zipfile.ZipFile(path) as archive:
            return ".xlsx" if "xl/workbook.xml" in archive.namelist() else ".zip"
    except (zipfile.BadZipFile, OSError):
        return None
