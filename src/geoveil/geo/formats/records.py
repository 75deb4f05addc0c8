"""JSON files with a record for each row: a list of objects, or an object in each line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geoveil._types import CrsLike
from geoveil.errors import InvalidFile
from geoveil.geo.formats import wkb
from geoveil.geo.formats.limits import LINE, check_names
from geoveil.geo.formats.location_file import ROWS, Batch, readable
from geoveil.geo.formats.table_locations import TableFile, locate
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


def open_records(
    path: Path,
    *,
    crs: CrsLike = None,
    lat: str | Sequence[str] | None = None,
    lon: str | Sequence[str] | None = None,
    geometry: str | None = None,
) -> Records:
    """Open a file of records, which is held in memory."""
    import pyarrow as pa

    with readable(path, "JSON", "Its rows must be objects: [{...}, {...}], or one in each line."):
        table = _table(_objects(path))
    if not len(table):
        raise InvalidFile(str(path), "no records", "a list of objects with locations", "The file is empty.")
    check_names(path, table.column_names)
    sample = {name: table[name][:SAMPLE].to_pylist() for name in table.column_names}
    types = {field.name: str(field.type) for field in table.schema}
    located, system = locate(path, sample, types, lat=lat, lon=lon, geometry=geometry, crs=crs)
    columns = {field.name: field.type for field in table.schema if field.name not in located.names}
    return Records(
        path=path,
        crs=system,
        columns=columns,
        times=frozenset(name for name, kind in columns.items() if pa.types.is_temporal(kind)),
        unsafe=frozenset(field.name for field in table.schema if field.name in columns and wkb.may_hold_places(field)),
        reading={**located.reading, "crs": system.to_string()},
        order=table.column_names,
        located=located,
        table=table,
    )


def _objects(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8-sig")
    lines = [] if text.lstrip().startswith("[") else text.splitlines()
    found = [json.loads(line) for line in lines if line.strip()] if lines else json.loads(text)
    if not all(isinstance(row, dict) for row in found):
        raise ValueError("a row that is no object")
    return list(found)


def _table(rows: list[dict[str, Any]]) -> pa.Table:
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
class Records(TableFile):
    """A file of records; it is written as a table.

    Parameters
    ----------
    table : pyarrow.Table
        All rows.
    """

    table: pa.Table

    writable = False

    def _sample(self, columns: Sequence[str]) -> dict[str, list[Any]]:
        return {name: self.table[name][:SAMPLE].to_pylist() for name in columns}

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for first in range(0, len(self.table), ROWS):
            part = self.table.slice(first, ROWS)
            share = min((first + ROWS) / len(self.table), 1.0)
            batch = Batch(self, first, share, part, part.select([*columns]))
            yield Batch(self, first, share, self.located.decode(part, ".", batch.name), batch.columns)

    def write(self, path: Path, batches: Iterator[Batch], schema: pa.Schema) -> None:
        raise NotImplementedError("Records are written as a table.")
