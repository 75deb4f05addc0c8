"""GeoParquet files, and Parquet files with columns of coordinates."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from geoveil._types import CrsLike
from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.areas import Floats
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats import wkb
from geoveil.geo.formats.fingerprints import files_of
from geoveil.geo.formats.limits import COLUMNS, EXPANSION, METADATA, UNPACKED, check_names
from geoveil.geo.formats.location_file import ROWS, Batch, LocationFile, own_system, readable
from geoveil.geo.formats.table_locations import TableFile, locate
from geoveil.geo.recognition import SAMPLE

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["GeoParquet", "PlainParquet", "open_parquet"]

#: Metadata of a geometry column that reveal nothing about the locations, with the allowed values.
_SAFE: dict[str, tuple[str, ...]] = {
    "encoding": ("WKB", "point"),
    "edges": ("planar", "spherical"),
    "orientation": ("counterclockwise",),
}


def open_parquet(
    path: Path,
    *,
    crs: CrsLike = None,
    lat: str | Sequence[str] | None = None,
    lon: str | Sequence[str] | None = None,
    geometry: str | None = None,
) -> GeoParquet | PlainParquet:
    """Open a Parquet file and read its columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, compression = 0, "SNAPPY"
    schema: pa.Schema | None = None
    for part in files_of(path):
        METADATA.check(part, _footer(part))
        remedy = "It may be truncated, or not a Parquet file: create it again."
        with readable(part, "Parquet", remedy), pq.ParquetFile(part) as file:
            groups = file.metadata
            COLUMNS.check(part, groups.num_columns)
            unpacked = sum(groups.row_group(i).total_byte_size for i in range(groups.num_row_groups))
            if unpacked > UNPACKED:
                EXPANSION.check(part, unpacked / part.stat().st_size)
            own = file.schema_arrow
            compression = groups.row_group(0).column(0).compression if groups.num_row_groups else compression
        rows += groups.num_rows
        schema = schema or own
        if own != schema:
            remedy = "Write all of them with the same columns."
            raise InvalidFile(str(part), own.names, f"a part with the columns {schema.names}", remedy)
    assert schema is not None
    with readable(path, "Parquet"):
        account = json.loads((schema.metadata or {}).get(b"geo", b"null"))
    check_names(path, schema.names)
    columns = {field.name: _bare(field.type) for field in schema}
    unsafe = {field.name for field in schema if wkb.may_hold_places(field)}
    common: dict[str, Any] = {
        "path": path,
        "rows": rows,
        "compression": "NONE" if compression == "UNCOMPRESSED" else compression,
        "order": schema.names,
        "times": frozenset(field.name for field in schema if pa.types.is_temporal(field.type)),
    }
    if account is None:
        sample = _first(path, schema.names)
        located, system = locate(path, sample, columns, lat=lat, lon=lon, geometry=geometry, crs=crs)
        others = {name: kind for name, kind in columns.items() if name not in located.names}
        reading = {**located.reading, "crs": system.to_string()}
        return PlainParquet(
            crs=system,
            columns=others,
            reading=reading,
            unsafe=frozenset(unsafe.difference(located.names)),
            located=located,
            **common,
        )
    for name, given in (("lat", lat), ("lon", lon), ("geometry", geometry)):
        if given is not None:
            raise InvalidParameter(name, given, "left out, as the file has geometries", "Leave it out.")
    try:
        primary = account["primary_column"]
        described = account["columns"][primary]
        places = {*account["columns"]}
        for other in account["columns"].values():
            places |= {names[0] for names in ((other.get("covering") or {}).get("bbox") or {}).values()}
        types = sorted({str(kind).split()[0] for kind in described.get("geometry_types", [])})
        safe = {key: described[key] for key, allowed in _SAFE.items() if described.get(key) in allowed}
        known = described.get("crs", GEOGRAPHIC) if "crs" in described else GEOGRAPHIC
        if primary not in columns:
            raise KeyError(primary)
    except (KeyError, TypeError, AttributeError, IndexError) as problem:
        raise InvalidFile(
            str(path), f"geo: {problem!r}", "GeoParquet with valid metadata", "Create it again."
        ) from None
    if "encoding" not in safe:
        remedy = "Write it with geometry_encoding='WKB'."
        raise InvalidFile(str(path), described.get("encoding"), "GeoParquet with WKB or points", remedy)
    system = own_system(path, known, crs)
    stated = {} if "crs" not in described else {"crs": system.to_json_dict()}
    return GeoParquet(
        crs=system,
        columns={name: kind for name, kind in columns.items() if name != primary},
        unsafe=frozenset((unsafe | places) - {primary}),
        geometry=primary,
        described={**safe, **stated, "geometry_types": [kind for kind in types if kind in _KINDS]},
        **common,
    )


_KINDS = ("Point", "LineString", "MultiPoint", "MultiLineString")


def _first(path: Path, columns: Sequence[str]) -> dict[str, list[Any]]:
    """Return the first values of columns."""
    import pyarrow.parquet as pq

    # Without buffers for whole groups of rows, which may be the whole file.
    for part in files_of(path):
        with readable(part, "Parquet"), pq.ParquetFile(part, pre_buffer=False) as file:
            for batch in file.iter_batches(SAMPLE, columns=[*columns]):
                if batch.num_rows:
                    return {name: batch.column(name).to_pylist() for name in columns}
    return {name: [] for name in columns}


def _footer(path: Path) -> int:
    """Return the size in bytes of the metadata at the end of a Parquet file."""
    with path.open("rb") as file:
        file.seek(-min(8, path.stat().st_size), os.SEEK_END)
        end = file.read(8)
    return int.from_bytes(end[:4], "little") if end.endswith(b"PAR1") else 0


def _bare(kind: pa.DataType) -> pa.DataType:
    """Return a type without the metadata of its nested fields."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return pa.struct([pa.field(part.name, _bare(part.type), part.nullable) for part in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        make = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return make(pa.field(kind.value_field.name, _bare(kind.value_type), kind.value_field.nullable))
    return kind


@dataclass(frozen=True, eq=False, kw_only=True)
class _Parquet(LocationFile):
    rows: int
    compression: str
    order: list[str]

    def _sample(self, columns: Sequence[str]) -> dict[str, list[Any]]:
        return _first(self.path, columns)

    def _read(self, columns: Sequence[str]) -> Iterator[tuple[int, pa.Table]]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        first = 0
        for path in files_of(self.path):
            # Buffered ahead, columns would stay in memory until the file is closed.
            with pq.ParquetFile(path, pre_buffer=False) as file:
                for part in file.iter_batches(ROWS, columns=columns):
                    yield first, pa.table(part)
                    first += part.num_rows

    @abstractmethod
    def batch_of(self, first: int, table: pa.Table, columns: Sequence[str]) -> Batch:
        """Return rows with their locations decoded, and these columns; `first` is the number of rows before them."""

    def _share(self, first: int, table: pa.Table) -> float:
        return (first + len(table)) / max(self.rows, 1)

    def _writing(self, path: Path | IO[bytes], schema: pa.Schema, plain: Sequence[str]) -> pq.ParquetWriter:
        import pyarrow as pa
        import pyarrow.parquet as pq

        # No dictionary for coordinates, which with noise practically never repeat, nor for times, which rarely do.
        repeated = [each.name for each in schema if each.name not in plain and not pa.types.is_temporal(each.type)]
        return pq.ParquetWriter(path, schema, compression=self.compression, use_dictionary=repeated)


@dataclass(frozen=True, eq=False, kw_only=True)
class GeoParquet(_Parquet):
    """A Parquet file with a column of geometries."""

    geometry: str
    described: dict[str, Any]

    @property
    def shape(self) -> str:
        types = self.described["geometry_types"]
        return str(types[0]) if len(types) == 1 else "Unknown"

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for first, table in self._read([*columns, self.geometry]):
            yield self.batch_of(first, table, columns)

    def batch_of(self, first: int, table: pa.Table, columns: Sequence[str]) -> Batch:
        remedy = f"The column {self.geometry} must hold geometries as WKB, or points as pairs of numbers."
        column = table[self.geometry].combine_chunks()
        with readable(self.path, "GeoParquet", remedy):
            places = _from_points(column) if self.described["encoding"] == "point" else wkb.decode(column)
        return Batch(self, first, self._share(first, table), places, table.select(list(columns)))

    def write(self, path: Path | IO[bytes], batches: Iterator[Batch], schema: pa.Schema) -> None:
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
class PlainParquet(_Parquet, TableFile):
    """A Parquet file with columns of coordinates, or a column of geometries that its metadata do not describe."""

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for first, table in self._read([*columns, *self.located.names]):
            yield self.batch_of(first, table, columns)

    def batch_of(self, first: int, table: pa.Table, columns: Sequence[str]) -> Batch:
        named = " and ".join(self.located.names)
        batch = Batch(self, first, self._share(first, table), np.empty((0, 2)), table.select(list(columns)))
        with readable(self.path, "Parquet", f"The values of {named} must be numbers or geometries."):
            places = self.located.decode(table, ".", batch.name)
        return replace(batch, places=places)

    def write(self, path: Path | IO[bytes], batches: Iterator[Batch], schema: pa.Schema) -> None:
        import pyarrow as pa

        types = self.located.types()
        names = self.written(schema)
        whole = pa.schema([pa.field(n, types[n]) if n in types else schema.field(n).remove_metadata() for n in names])
        with self._writing(path, whole, [*types]) as writer:
            for batch in batches:
                table = batch.columns
                for name, values in self.located.encode(batch, None).items():
                    table = table.append_column(name, values)
                writer.write_table(table.select(whole.names).cast(whole))


def _from_points(column: pa.Array) -> Floats:
    import pyarrow.compute as pc

    column = wkb.storage(column)
    fields = [pc.struct_field(column, name).to_numpy(zero_copy_only=False) for name in ("x", "y")]
    places = np.column_stack(fields).astype(float)
    places[np.asarray(column.is_null())] = np.nan
    return places


def _to_points(places: Floats) -> pa.StructArray:
    import pyarrow as pa

    return pa.StructArray.from_arrays([np.ascontiguousarray(part) for part in places.T], names=["x", "y"])
