"""JSON files with a record for each row: a list of objects, also within an object, or an object in each line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from geoveil.errors import InvalidFile
from geoveil.geo.columns import tells_places, words
from geoveil.geo.formats import wkb
from geoveil.geo.formats.limits import check_names
from geoveil.geo.formats.location_columns import Where, locate
from geoveil.geo.formats.location_file import ROWS, FilePart, LocationFile, readable
from geoveil.geo.recognition import SAMPLE, Recognised, recognise

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Records", "are_records", "documents", "open_records", "outline"]

#: Number of first bytes in which the members of a document are looked for, and levels at which they are.
_HEAD, _LEVELS = 2**16, 4
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:]', re.DOTALL)
#: Coordinates of a point that are texts, which GDAL does not read.
_TEXTS = re.compile(rb'"coordinates"\s*:\s*\[\s*"')
#: Short names of members that hold places.
_POINTS = frozenset(("loc", "pos", "position", "coord", "coords", "point", "lnglat", "lonlat", "latlng", "latlon"))
#: Members of objects that are GeoJSON.
_GEOJSON = frozenset({"type", "geometry", "features", "coordinates"})


def are_records(path: Path) -> bool:
    """Return whether a JSON file holds records and not GeoJSON."""
    with path.open("rb") as file:
        head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    if _TEXTS.search(head):
        return True
    return head[:1] == b"[" or (head[:1] == b"{" and _GEOJSON.isdisjoint(outline(head)))


def outline(head: bytes) -> set[str]:
    """Return the paths of the members of a document, as far as its first bytes tell.

    Examples
    --------
    >>> sorted(outline(b'{"data": [{"lat": 1.5, "lon": 2'))
    ['data', 'data[].lat', 'data[].lon']
    """
    names: set[str] = set()
    within: list[str] = []
    name, text = "", ""
    for token in _TOKEN.findall(head):
        mark = token.decode(errors="replace")
        if mark == ":":
            name = ".".join([*filter(None, within[-1:]), text])
            if len(within) <= _LEVELS:
                names.add(name)
        elif mark in "{[":
            # An object in a list is named like the list.
            around = name or (within[-1] if within else "")
            within.append(around + ("[]" if mark == "[" else ""))
            name = ""
        elif mark in "}]":
            del within[-1:]
            name = ""
        else:
            text = mark[1:-1]
    return names


def open_records(path: Path, **where: Unpack[Where]) -> Records:
    """Open a file of records, which is held in memory."""
    with readable(path, "JSON", "Its rows must be objects: [{...}, {...}], or one in each line."):
        table = _table(_objects(path))
    if not len(table):
        raise InvalidFile(str(path), "no records", "a list of objects with locations", "The file is empty.")
    check_names(path, table.column_names)
    sample = table.slice(0, SAMPLE).to_pydict()
    types = {field.name: field.type for field in table.schema}
    located, system = locate(path, sample, {name: str(kind) for name, kind in types.items()}, **where)
    unsafe = [field.name for field in table.schema if wkb.may_hold_places(field)]
    return Records.opened(path, located, system, types, unsafe=unsafe, first=sample, table=table)


def documents(path: Path) -> list[Any]:
    """Return the documents of a file: one, or one in each line."""
    text = path.read_text(encoding="utf-8-sig")
    try:
        return [json.loads(text)]
    except json.JSONDecodeError as problem:
        if problem.msg != "Extra data":
            raise
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _objects(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file: those of its lines, of its list, or of the one list of locations in an object.

    They may also be the members of one object.
    """
    read = documents(path)
    [rows] = read if len(read) == 1 else [read]
    if isinstance(rows, dict):
        lists = [value for value in rows.values() if isinstance(value, list) and value]
        located = [value for value in lists if _are_located(value)]
        keyed = [value for value in rows.values() if isinstance(value, dict)]
        if not located and len(keyed) == len(rows) and _are_alike(keyed) and _are_located(keyed):
            # Each object is under a key of its own, such as its number.
            return keyed
        rows = located[0] if len(located) == 1 else [rows]
        if rows == read and isinstance(rows[0].get("features"), list):
            rows = [_row(feature) for feature in rows[0]["features"]]
    if rows and all(map(_is_place, rows)):
        return [{"location": row} for row in rows]
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("a row that is no object")
    return list(rows)


def _are_alike(objects: list[dict[str, Any]]) -> bool:
    """Return whether several objects have members of the same names, as the rows of a table have."""
    sets = [frozenset(each) for each in objects[:SAMPLE]]
    return len(sets) > 1 and all(2 * len(each & sets[0]) >= len(each | sets[0]) for each in sets)


def _row(feature: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a feature whose coordinates are texts."""
    place = (feature.get("geometry") or {}).get("coordinates")
    return {
        **(feature.get("properties") or {}),
        "geometry": None if place is None else [float(axis) for axis in place],
    }


def _is_place(value: object) -> bool:
    """Return whether a value is a list of two or three numbers."""
    return (
        isinstance(value, list)
        and len(value) in (2, 3)
        and all(isinstance(axis, int | float) and not isinstance(axis, bool) for axis in value)
    )


def _are_located(rows: list[Any]) -> bool:
    """Return whether the members of objects may be coordinates or geometries."""
    objects = [row for row in rows[:SAMPLE] if isinstance(row, dict)]
    recognised = recognise(_table(objects).to_pydict()) if objects else Recognised()
    return bool(recognised.candidates or recognised.geometries)


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    """Return records as a table; objects in objects become columns such as location.lat, other mixtures texts.

    A list such as [13.4, 52.5] under the name of a place becomes the columns location.longitude and location.latitude.
    """
    import pandas as pd
    import pyarrow as pa

    columns: dict[str, pa.Array] = {}
    for name, values in pd.json_normalize(rows).astype(object).items():
        cells = [None if value is None or value != value else value for value in values]
        known = [cell for cell in cells if cell is not None]
        if known and all(map(_is_place, known)) and _names_place(str(name)):
            columns |= _axes(str(name), cells, known)
            continue
        try:
            columns[str(name)] = pa.array(cells)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            columns[str(name)] = pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
    return pa.table(columns)


def _names_place(name: str) -> bool:
    return tells_places(name) or not _POINTS.isdisjoint(words(name))


def _axes(name: str, cells: list[Any], known: list[Any]) -> dict[str, pa.Array]:
    """Return the longitudes and latitudes of lists, which are in this order unless name or values tell another."""
    import pyarrow as pa

    north_first = "latl" in name.casefold() or any(abs(cell[1]) > 90 for cell in known)
    order = ("latitude", "longitude") if north_first else ("longitude", "latitude")
    # The name of a column that holds both axes would hide which of them is meant.
    prefix = "" if words(name)[-1:] in (["latlng"], ["latlon"], ["lnglat"], ["lonlat"]) else f"{name}."
    return {
        f"{prefix}{axis}": pa.array([None if cell is None else float(cell[at]) for cell in cells], pa.float64())
        for at, axis in enumerate(order)
    }


@dataclass(frozen=True, eq=False, kw_only=True)
class Records(LocationFile):
    """A file of records, held in memory; it is written as a table."""

    table: pa.Table

    tabular = True
    typed = False
    writable = False

    def _parts(self, columns: Sequence[str]) -> Iterator[FilePart]:
        for first in range(0, len(self.table), ROWS):
            share = min((first + ROWS) / len(self.table), 1.0)
            yield FilePart(self.table.slice(first, ROWS).select([*columns]), share)
