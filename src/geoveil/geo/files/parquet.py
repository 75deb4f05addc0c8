"""GeoParquet, and Parquet with columns of coordinates."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geoveil.errors import InvalidFile
from geoveil.geo.areas import GEOGRAPHIC
from geoveil.geo.files import wkb
from geoveil.geo.files.locations import ROWS, Batch, Locations
from geoveil.geo.files.texts import coordinate_columns

__all__ = ["GeoParquet", "PlainParquet", "open_parquet"]

#: Of a geometry column's account, what says nothing about where the places are.
_SAFE = ("encoding", "crs", "edges", "orientation", "epoch")


def open_parquet(
    path: Path, *, source_crs: Any = None, x: str | None = None, y: str | None = None
) -> GeoParquet | PlainParquet:
    """Look at a Parquet file's columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        account = json.loads((file.schema_arrow.metadata or {}).get(b"geo", b"null"))
        schema, groups = file.schema_arrow, file.metadata
        compression = groups.row_group(0).column(0).compression if groups.num_row_groups else "SNAPPY"
        file.close()
    except (pa.ArrowException, OSError, ValueError) as problem:
        remedy = "It may be cut off, or no Parquet file: make it anew."
        raise InvalidFile(str(path), str(problem), "a sound Parquet file", remedy) from None
    types = {field.name: field.type for field in schema}
    common = {"path": path, "rows": groups.num_rows, "compression": compression, "order": [*types]}
    if account is None:
        x, y, crs = coordinate_columns(path, [*types], x, y, source_crs)
        others = {name: kind for name, kind in types.items() if name not in (x, y)}
        reading = {"x": x, "y": y, "source_crs": _code(crs)}
        return PlainParquet(crs=_system(crs), columns=others, reading=reading, **common)
    primary = account["primary_column"]
    described = account["columns"][primary]
    kind = described.get("encoding")
    if kind not in ("WKB", "point"):
        remedy = "Write it with geometry_encoding='WKB'."
        raise InvalidFile(str(path), f"geometry encoded as {kind}", "GeoParquet with WKB or points", remedy)
    crs = _crs(path, described, source_crs)
    covering = {
        names[0] for box in account["columns"].values() for names in box.get("covering", {}).get("bbox", {}).values()
    }
    unsafe = frozenset((covering | set(account["columns"])) - {primary})
    safe = {key: described[key] for key in _SAFE if key in described}
    return GeoParquet(
        crs=crs,
        columns={name: kind for name, kind in types.items() if name != primary},
        unsafe=unsafe,
        reading={} if source_crs is None else {"source_crs": _code(source_crs)},
        geometry=primary,
        described={**safe, "geometry_types": sorted({t.split()[0] for t in described.get("geometry_types", [])})},
        **common,
    )


def _crs(path: Path, described: dict[str, Any], given: Any) -> Any:
    import pyproj

    if "crs" in described and described["crs"] is None:
        if given is None:
            remedy = "Say which one it is: source_crs=4326, say."
            raise InvalidFile(str(path), None, "a file that knows its coordinate system", remedy)
        return _system(given)
    own = pyproj.CRS.from_json_dict(described["crs"]) if "crs" in described else pyproj.CRS(GEOGRAPHIC)
    return own


def _system(given: Any) -> Any:
    import pyproj

    return pyproj.CRS.from_user_input(given)


def _code(given: Any) -> str:
    return str(_system(given).to_string())


@dataclass(frozen=True, eq=False, kw_only=True)
class _Parquet(Locations):
    rows: int
    compression: str
    order: list[str]

    def _read(self, columns: Sequence[str]) -> Iterator[tuple[int, Any]]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        first = 0
        try:
            with pq.ParquetFile(self.path) as file:
                for part in file.iter_batches(ROWS, columns=columns):
                    yield first, pa.table(part)
                    first += part.num_rows
        except (pa.ArrowException, OSError) as problem:
            raise self.failed(problem, "It may be damaged: make it anew.") from None

    def _writing(self, path: Path, schema: Any, plain: Sequence[str]) -> Any:
        import pyarrow.parquet as pq

        # Coordinates with noise never repeat: looking for repetitions is in vain.
        repeated = [name for name in schema.names if name not in plain]
        return pq.ParquetWriter(
            path,
            schema,
            compression="NONE" if self.compression == "UNCOMPRESSED" else self.compression,
            use_dictionary=repeated,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class GeoParquet(_Parquet):
    """A Parquet file with a column of geometries."""

    geometry: str
    described: dict[str, Any]

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        import shapely

        for first, table in self._read([*columns, self.geometry]):
            column = table[self.geometry].combine_chunks()
            try:
                places = (
                    _from_points(column) if self.described["encoding"] == "point" else wkb.decode(_storage(column))
                )
            except shapely.errors.GEOSException as problem:
                raise self.failed(problem, f"The geometries of column {self.geometry} are not WKB.") from None
            share = (first + len(table)) / max(self.rows, 1)
            yield Batch(self, first, share, places, table.select(list(columns)))

    def write(self, path: Path, batches: Iterator[Batch], schema: Any) -> None:
        import pyarrow as pa

        native = self.described["encoding"] == "point"
        kind = pa.struct([("x", pa.float64()), ("y", pa.float64())]) if native else pa.binary()
        at = sum(name in schema.names for name in self.order[: self.order.index(self.geometry)])
        account = {"version": "1.1.0", "primary_column": self.geometry, "columns": {self.geometry: self.described}}
        whole = schema.insert(at, pa.field(self.geometry, kind)).with_metadata({"geo": json.dumps(account)})
        with self._writing(path, whole, [self.geometry]) as writer:
            for batch in batches:
                places = _to_points(batch.places) if native else wkb.encode(batch.places)
                writer.write_table(batch.columns.add_column(at, self.geometry, [places]).cast(whole))


@dataclass(frozen=True, eq=False, kw_only=True)
class PlainParquet(_Parquet):
    """A Parquet file with two columns of coordinates."""

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        import pyarrow as pa

        x, y = self.reading["x"], self.reading["y"]
        for first, table in self._read([*columns, x, y]):
            try:
                pairs = [table[name].cast(pa.float64()).to_numpy() for name in (x, y)]
            except pa.ArrowException as problem:
                raise self.failed(problem, f"The columns {x} and {y} must be numbers.") from None
            share = (first + len(table)) / max(self.rows, 1)
            yield Batch(self, first, share, np.column_stack(pairs), table.select(list(columns)))

    def write(self, path: Path, batches: Iterator[Batch], schema: Any) -> None:
        import pyarrow as pa

        pair = (self.reading["x"], self.reading["y"])
        kept = [name for name in self.order if name in schema.names or name in pair]
        fields = [pa.field(n, pa.float64()) if n in pair else schema.field(n).remove_metadata() for n in kept]
        added = [schema.field(name) for name in schema.names if name not in kept]
        whole = pa.schema([*fields, *added])
        with self._writing(path, whole, pair) as writer:
            for batch in batches:
                table = batch.columns
                for name, values in zip(pair, batch.places.T, strict=True):
                    table = table.append_column(name, pa.array(np.ascontiguousarray(values)))
                writer.write_table(table.select(whole.names).cast(whole))


def _storage(column: Any) -> Any:
    return getattr(column, "storage", column)


def _from_points(column: Any) -> Any:
    import pyarrow.compute as pc

    column = _storage(column)
    fields = [pc.struct_field(column, name).to_numpy(zero_copy_only=False) for name in ("x", "y")]
    places = np.column_stack(fields).astype(float)
    places[np.asarray(column.is_null())] = np.nan
    return places


def _to_points(places: Any) -> Any:
    import pyarrow as pa

    return pa.StructArray.from_arrays([np.ascontiguousarray(part) for part in places.T], names=["x", "y"])
