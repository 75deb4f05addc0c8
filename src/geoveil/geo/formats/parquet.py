"""GeoParquet files, and Parquet files with columns of coordinates."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Unpack

from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.coordinate_systems import GEOGRAPHIC, own_system
from geoveil.geo.formats import wkb
from geoveil.geo.formats.fingerprints import files_of
from geoveil.geo.formats.limits import COLUMNS, EXPANSION, METADATA, UNPACKED, check_names
from geoveil.geo.formats.location_columns import GeometryColumn, Where, locate
from geoveil.geo.formats.location_file import ROWS, Batch, FilePart, LocationFile, readable
from geoveil.geo.recognition import SAMPLE

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Parquet", "open_parquet"]

#: Metadata of a geometry column that reveal nothing about the locations, with the allowed values.
_SAFE: dict[str, tuple[str, ...]] = {
    "encoding": ("WKB", "point"),
    "edges": ("planar", "spherical"),
    "orientation": ("counterclockwise",),
}


def open_parquet(path: Path, **where: Unpack[Where]) -> Parquet:
    """Open a Parquet file and read its columns."""
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
    check_names(path, schema.names)
    types = {field.name: _bare(field.type) for field in schema}
    unsafe = {field.name for field in schema if wkb.may_hold_places(field)}
    compression = "NONE" if compression == "UNCOMPRESSED" else compression
    with readable(path, "Parquet"):
        account = json.loads((schema.metadata or {}).get(b"geo", b"null"))
    if account is None:
        first = _first(path, schema.names)
        located, system = locate(path, first, types, **where)
        return Parquet.opened(
            path, located, system, types, unsafe=unsafe, first=first, rows=rows, compression=compression
        )
    geometry = _described(path, account, types)
    for name in ("lat", "lon", "geometry"):
        if where.get(name) is not None:
            raise InvalidParameter(name, where.get(name), "left out, as the file has geometries", "Leave it out.")
    system = own_system(path, geometry.crs, where.get("crs"))
    stated = {} if geometry.crs is GEOGRAPHIC else {"crs": system.to_json_dict()}
    return Parquet.opened(
        path,
        GeometryColumn(geometry.name, "wkb" if geometry.safe["encoding"] == "WKB" else "x,y"),
        system,
        types,
        unsafe=unsafe | geometry.places,
        reading={},
        first=_first(path, [name for name in types if name not in unsafe]),
        kind=geometry.kinds[0] if len(geometry.kinds) == 1 else "Unknown",
        described={**geometry.safe, **stated, "geometry_types": geometry.kinds},
        rows=rows,
        compression=compression,
    )


class _Described(NamedTuple):
    """The column of geometries of GeoParquet: its system, metadata that are released, types, and all such columns."""

    name: str
    crs: object
    safe: dict[str, str]
    kinds: list[str]
    places: set[str]


def _described(path: Path, account: dict[str, Any], columns: Container[str]) -> _Described:
    """Return what the metadata of GeoParquet say about its main column of geometries."""
    try:
        primary = account["primary_column"]
        described = account["columns"][primary]
        places = {*account["columns"]}
        for other in account["columns"].values():
            places |= {names[0] for names in ((other.get("covering") or {}).get("bbox") or {}).values()}
        types = sorted({str(kind).split()[0] for kind in described.get("geometry_types", [])})
        safe = {key: described[key] for key, allowed in _SAFE.items() if described.get(key) in allowed}
        if primary not in columns:
            raise KeyError(primary)
    except (KeyError, TypeError, AttributeError, IndexError) as problem:
        allowed = "GeoParquet with valid metadata"
        raise InvalidFile(str(path), f"geo: {problem!r}", allowed, "Create it again.") from None
    if "encoding" not in safe:
        remedy = "Write it with geometry_encoding='WKB'."
        raise InvalidFile(str(path), described.get("encoding"), "GeoParquet with WKB or points", remedy)
    kinds = [kind for kind in types if kind in _KINDS]
    return _Described(primary, described.get("crs", GEOGRAPHIC), safe, kinds, places)


_KINDS = ("Point", "LineString", "MultiPoint", "MultiLineString")


def _first(path: Path, columns: Sequence[str]) -> dict[str, list[object]]:
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
class Parquet(LocationFile):
    """A Parquet file with columns of coordinates, or a column of geometries."""

    #: The number of its rows.
    rows: int = 0
    #: The way in which it is compressed.
    compression: str = "SNAPPY"
    #: What the metadata of GeoParquet say about the column of geometries.
    described: dict[str, Any] | None = None

    @property
    def tabular(self) -> bool:  # type: ignore[override]
        return self.described is None

    def _parts(self, columns: Sequence[str]) -> Iterator[FilePart]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = 0
        for path in files_of(self.path):
            # Buffered ahead, columns would stay in memory until the file is closed.
            with pq.ParquetFile(path, pre_buffer=False) as file:
                for part in file.iter_batches(ROWS, columns=[*columns]):
                    rows += part.num_rows
                    yield FilePart(pa.table(part), rows / max(self.rows, 1))

    def write(self, path: Path | IO[bytes], batches: Iterator[Batch], schema: pa.Schema) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = self.located.types
        names = self.written(schema)
        whole = pa.schema([pa.field(n, types[n]) if n in types else schema.field(n).remove_metadata() for n in names])
        if self.described is not None:
            [geometry] = types
            account = {"version": "1.1.0", "primary_column": geometry, "columns": {geometry: self.described}}
            whole = whole.with_metadata({"geo": json.dumps(account)})
        # No dictionary for coordinates, which with noise practically never repeat, nor for times, which rarely do.
        repeated = [each.name for each in whole if each.name not in types and not pa.types.is_temporal(each.type)]
        with pq.ParquetWriter(path, whole, compression=self.compression, use_dictionary=repeated) as writer:
            for batch in batches:
                table = batch.columns
                for name, values in self.located.encode(batch, None).items():
                    table = table.append_column(name, values)
                writer.write_table(table.select(whole.names).cast(whole))
