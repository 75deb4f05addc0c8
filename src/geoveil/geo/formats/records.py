"""JSON files with a record for each row: a list of objects, or an object in each line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from geoveil.errors import InvalidFile
from geoveil.geo.formats import wkb
from geoveil.geo.formats.limits import LINE, check_names
from geoveil.geo.formats.location_columns import Where, locate
from geoveil.geo.formats.location_file import ROWS, FilePart, LocationFile, readable
from geoveil.geo.recognition import SAMPLE

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Records", "are_records", "open_records"]

_HEAD = 2**12
#: Members of objects that are GeoJSON.
_GEOJSON = frozenset({"type", "geometry", "features", "coordinates"})


def are_records(path: Path) -> bool:
    """Return whether a JSON file holds records and not GeoJSON."""
    with path.open("rb") as file:
        head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
        if head[:1] == b"[":
            return True
        file.seek(0)
        line = file.readline(LINE).strip()
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and _GEOJSON.isdisjoint(first)


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


def _objects(path: Path) -> list[dict[str, object]]:
    text = path.read_text(encoding="utf-8-sig")
    lines = [] if text.lstrip().startswith("[") else text.splitlines()
    found = [json.loads(line) for line in lines if line.strip()] if lines else json.loads(text)
    if not all(isinstance(row, dict) for row in found):
        raise ValueError("a row that is no object")
    return list(found)


def _table(rows: list[dict[str, object]]) -> pa.Table:
    """Return records as a table; objects in objects become columns such as location.lat, other mixtures texts."""
    import pandas as pd
    import pyarrow as pa

    columns = {}
    for name, values in pd.json_normalize(rows).astype(object).items():
        cells = [None if value is None or value != value else value for value in values]
        try:
            columns[str(name)] = pa.array(cells)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            columns[str(name)] = pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
    return pa.table(columns)


@dataclass(frozen=True, eq=False, kw_only=True)
class Records(LocationFile):
    """A file of records, held in memory; it is written as a table."""

    table: pa.Table

    tabular = True
    writable = False

    def _parts(self, columns: Sequence[str]) -> Iterator[FilePart]:
        for first in range(0, len(self.table), ROWS):
            share = min((first + ROWS) / len(self.table), 1.0)
            yield FilePart(self.table.slice(first, ROWS).select([*columns]), share)
