"""Checks of a file before GDAL opens it, since GDAL follows the network addresses in some files.

GDAL chooses a driver by the content of a file, whatever its name, and several drivers request the addresses that they
find in a file. `guarded` selects the one driver that belongs to the ending of the file, and refuses content that would
make this driver access anything outside of the file.
"""

from __future__ import annotations

import codecs
import json
import re
from pathlib import Path

from geoveil.errors import InvalidFile
from geoveil.geo.formats.limits import LINE

__all__ = ["encodable", "guarded", "records", "usable_name"]

#: The first bytes of files, by driver: GDAL looks for the words of other drivers in texts alone.
_HEADS = {"GPKG": b"SQLite format 3\0", "ESRI Shapefile": b"\x00\x00\x27\x0a", "FlatGeobuf": b"fgb\x03fgb"}
_BLOCK = 2**23
#: Largest number of bytes of the coordinate system of a GeoJSON file.
_SYSTEM = 2**12
_RECORD_SEPARATOR = b"\x1e"


def guarded(path: Path, driver: str) -> str:
    """Check a file, and return the name by which GDAL opens it with this driver."""
    usable_name(path)
    where = path.absolute()
    if driver in ("GeoJSON", "GeoJSONSeq"):
        _check_systems(where)
        return f"{'GeoJSONSeq' if _is_sequence(where) else 'GeoJSON'}:{where}"
    head = _HEADS[driver]
    with where.open("rb") as file:
        begun = file.read(len(head))
    if begun != head:
        remedy = "It may be truncated, or of another format: create it again."
        raise InvalidFile(str(path), begun, f"the first bytes of a {driver} file", remedy)
    if driver == "FlatGeobuf":
        _check_header(where)
    if driver == "GPKG":
        _check_tables(where)
    return str(where)


def _check_header(path: Path) -> None:
    """Refuse FlatGeobuf with a header of 16 MiB or more; a smaller size has a zero byte, which ends GDAL's search."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(12)[8:], "little")
    if size >= 2**24:
        raise InvalidFile(str(path), size, "FlatGeobuf with a header of less than 16 MiB", "Create it again.")


def encodable(path: Path) -> bytes:
    """Return a path in UTF-8, as certificates and most libraries write it; refuse a path that has no UTF-8."""
    try:
        return str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise InvalidFile(ascii(str(path)), ascii(path.name), "a path in UTF-8", "Rename it.") from None


def usable_name(path: Path) -> None:
    """Refuse a path that GDAL would not interpret as the name of a file on the disk."""
    written = encodable(path)
    if b"!" in written or b";" in written or written.startswith(b"/vsi"):
        remedy = "Rename it: GDAL would open another file, or an archive."
        raise InvalidFile(str(path), path.name, "a path without '!' and ';' that does not begin with /vsi", remedy)


def _spelt(word: str) -> bytes:
    """Return a pattern that matches a lower-case word however JSON escapes its letters."""
    return b"".join(rb"(?:%c|\\u00%02x|\\u00%02x)" % (code, code, code - 32) for code in word.encode())


_CRS = re.compile(rb"[\"']" + _spelt("crs") + rb"[\"'][ \t\r\n]{0,64}([^,}\]])", re.IGNORECASE)
_ESCAPED_LETTER = re.compile(rb"\\u00[4-7]", re.IGNORECASE)


def _check_systems(path: Path) -> None:
    """Refuse GeoJSON with a coordinate system that is given by an address, which GDAL would request.

    A system may be stated anywhere in the file. The blocks that are searched overlap by its largest size.
    """
    with path.open("rb") as file:
        text = file.read(_BLOCK)
        while text:
            more = file.read(_BLOCK)
            if b"crs" in text.lower() or _ESCAPED_LETTER.search(text):
                for match in _CRS.finditer(text):
                    # A system that may be cut by the end of the block is checked with the next block.
                    if not more or match.start() < len(text) - 2 * _SYSTEM:
                        _check_system(path, match[1], text[match.end() : match.end() + _SYSTEM])
            text = text[-2 * _SYSTEM :] + more if more else b""


def _check_system(path: Path, follows: bytes, stated: bytes) -> None:
    """Refuse the content after the word crs unless it is a name, or certainly not a coordinate system."""
    stated = stated.lstrip(b" \t\r\n")
    if follows == b":" and stated[:1] not in (b"{", b"/", b""):
        return
    try:
        if follows != b":":
            raise ValueError("neither a member nor a value of JSON")
        pairs, _ = json.JSONDecoder(object_pairs_hook=list).raw_decode(stated.decode(errors="replace"))
        kinds = {str(value).casefold() for name, value in pairs if name.casefold() == "type"}
        members = {inner for name, value in pairs if name.casefold() == "properties" for inner in _names(value)}
        if kinds <= {"name", "epsg", "ogc"} and not members & {"href", "url"}:
            return
    except (ValueError, RecursionError):
        pass
    remedy = 'Convert it to longitude and latitude and remove "crs", or name the system: {"type": "name", ...}.'
    raise InvalidFile(str(path), stated[:80], "GeoJSON whose coordinate system is given by name", remedy)


def _names(value: object) -> list[str]:
    return [name.casefold() for name, _ in value] if isinstance(value, list) else []


def _is_sequence(path: Path) -> bool:
    """Return whether a file is a sequence of features, one per line, and not a collection of features."""
    with path.open("rb") as file:
        first = file.readline(LINE)
        marked = first.startswith(codecs.BOM_UTF8)
        while first and not (first := first.removeprefix(codecs.BOM_UTF8)).strip():
            first = file.readline(LINE)
        more = first.endswith(b"\n") and any(line.strip() for line in iter(lambda: file.readline(2**16), b""))
    first = first.strip()
    if not first.startswith((b"{", _RECORD_SEPARATOR)):
        remedy = "Save it in UTF-8." if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "Convert it."
        raise InvalidFile(str(path), first[:40], "GeoJSON, which begins with a brace", remedy)
    sequence = first.startswith(_RECORD_SEPARATOR) or (more and _is_feature(first))
    if sequence and marked:
        remedy = "Save it without the mark, or GDAL would lose features."
        raise InvalidFile(str(path), "a byte order mark", "a sequence that begins with its first feature", remedy)
    return sequence


def records(path: Path) -> int:
    """Count the records of a sequence of features, since GDAL silently omits those that it cannot parse."""
    count, marks = 0, 0
    with path.open("rb") as file:
        begun = True  # whether the line is blank so far
        while part := file.readline(2**20):
            marks += part.count(_RECORD_SEPARATOR)
            if begun and part.strip():
                count, begun = count + 1, False
            begun = begun or part.endswith(b"\n")
    return marks or count


def _is_feature(line: bytes) -> bool:
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(parsed, dict) and parsed.get("type") != "FeatureCollection"


def _check_tables(path: Path) -> None:
    """Refuse a GeoPackage with virtual tables, which may read other files; only spatial indexes are allowed."""
    import sqlite3

    from geoveil.host.sqlite_files import open_to_read

    try:
        store = open_to_read(path, immutable=True)
        try:
            names = {name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE name = 'gpkg_contents'")}
            virtual = store.execute("SELECT name, sql FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'").fetchall()
        finally:
            store.close()
    except (sqlite3.Error, UnicodeError) as problem:
        remedy = "It may be truncated: create it again."
        raise InvalidFile(str(path), str(problem), "a valid GPKG file", remedy) from None
    if not names:
        raise InvalidFile(str(path), "no gpkg_contents", "a GPKG file", "It is another SQLite database: convert it.")
    for name, made in virtual:
        if not re.search(r"\busing\s+rtree\b", str(made), re.IGNORECASE):
            raise InvalidFile(
                str(path), name, "a GPKG file without virtual tables", "Convert the table to a plain one."
            )
