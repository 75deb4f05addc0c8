"""Choose the format of a released file: that of the source, or that of the target's ending."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from geoveil.errors import InvalidParameter
from geoveil.geo.formats.csv import CSV
from geoveil.geo.formats.excel import Excel
from geoveil.geo.formats.gdal import DRIVERS, GDALFile
from geoveil.geo.formats.location_columns import CoordinatePairs, GeometryColumn, LocationColumns
from geoveil.geo.formats.location_file import LocationFile
from geoveil.geo.formats.parquet import Parquet
from geoveil.geo.formats.xml_files import ConvertedGPX

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CONVERTED", "form_of"]

File = TypeVar("File", bound=LocationFile)

_TABLES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_PARQUET = (".parquet", ".geoparquet")
#: The endings of formats that points of any other format can be written in.
CONVERTED = (*_TABLES, ".xlsx", *_PARQUET, *DRIVERS, ".gpx")
#: The usual ones of these, for errors.
_USUAL = ".csv, .xlsx, .parquet, .geojson, .gpkg, .gpx, .shp or .fgb"


def form_of(file: LocationFile, target: Path, ending: str, own: str) -> LocationFile:
    """Return a file object that writes released points in the format of the target.

    Parameters
    ----------
    file : LocationFile
        The source.
    target : Path
        The file to be written.
    ending, own : str
        The endings of the target and of the source.

    Returns
    -------
    LocationFile
        The source itself if the target has its format; else an object of the target's format with the source's
        columns, which can write and describe itself, and cannot be read.
    """
    if file.writable and ending == own:
        return file
    if ending in _TABLES or ending == ".xlsx":
        located = _located(file)
        reading = {**located.reading, "crs": file.crs.to_string()}
        if ending == ".xlsx":
            return _made(Excel, file, target, located, reading=reading)
        return _made(CSV, file, target, located, reading={**reading, **_dialect(file, ending)})
    geometry = GeometryColumn(_free("geometry", file.columns), "wkb")
    if ending in _PARQUET:
        shape = [] if file.shape == "Unknown" else [file.shape]
        described = {"encoding": "WKB", "geometry_types": shape, "crs": file.crs.to_json_dict()}
        return _made(Parquet, file, target, geometry, kind=file.shape, described=described)
    if ending in DRIVERS:
        driver = DRIVERS[ending][0]
        how = {"name": str(target), "driver": driver, "fields": _fields(file, driver)}
        return _made(GDALFile, file, target, geometry, kind=file.shape, **how)
    if ending == ".gpx":
        if file.shape != "Point" or not file.crs.is_geographic:
            held = file.shape if file.crs.is_geographic else file.crs.name
            allowed = "a format other than GPX, which holds points in longitude and latitude"
            raise InvalidParameter("target", held, allowed, "Choose a target that ends in .geojson.")
        return _made(ConvertedGPX, file, target, CoordinatePairs((("lon", "lat"),)))
    same = f"{own}, as the source does, or " if file.writable and own not in ("", *CONVERTED) else ""
    allowed = f"a file that ends in {same}{_USUAL}"
    if file.writable and not own:
        allowed = f"{allowed}, or a new folder"
    remedy = f"{own} files are read, not written: name it {target.with_suffix('.geojson').name}."
    raise InvalidParameter("target", str(target), allowed, remedy if ending == own else "Choose another name.")


def _made(form: type[File], file: LocationFile, target: Path, located: LocationColumns, **own: Any) -> File:
    """Return a file of a format that has the columns of a source, in their order if the source is a table."""
    tabular = file.tabular and located.names == file.located.names
    return form(
        path=target,
        crs=file.crs,
        located=located,
        columns=file.columns,
        order=file.order if tabular else [*file.columns, *located.names],
        times=file.times,
        unsafe=file.unsafe,
        **own,
    )


def _free(name: str, columns: Iterable[str]) -> str:
    """Return a name that no column has, whatever its capitals."""
    taken = {column.casefold() for column in columns}
    names = chain([name, f"released_{name}"], map((name + "_{}").format, count(2)))
    return next(each for each in names if each.casefold() not in taken)


def _located(file: LocationFile) -> LocationColumns:
    """Return the columns of a table that hold locations: those of the source, if it is a table."""
    if file.tabular:
        located = file.located
        binary = isinstance(located, GeometryColumn) and located.encoding == "wkb"
        return GeometryColumn(located.names[0], "wkt") if binary else located
    if file.shape != "Point":
        return GeometryColumn(_free("geometry", file.columns), "wkt")
    x, y = ("longitude", "latitude") if file.crs.is_geographic else ("x", "y")
    return CoordinatePairs(((_free(x, file.columns), _free(y, file.columns)),))


def _dialect(file: LocationFile, ending: str) -> dict[str, str]:
    """Return the dialect of a CSV file: that of the source, if it has one that fits the ending."""
    delimiter, decimal = file.reading.get("delimiter", ","), file.reading.get("decimal", ".")
    if ".tsv" in ending:
        delimiter = "\t"
    elif delimiter == "\t" and ".csv" in ending:
        delimiter = ";" if decimal == "," else ","
    return {"delimiter": delimiter, "decimal": decimal, "encoding": file.reading.get("encoding", "utf-8")}


def _fields(file: LocationFile, driver: str) -> dict[str, pa.Field]:
    """Return the fields in which GDAL stores the columns of a source; a shapefile has no times."""
    import pyarrow as pa

    known = getattr(file, "fields", {})
    known = known if isinstance(known, dict) else {}
    fields = {name: known.get(name, pa.field(name, kind)) for name, kind in file.columns.items()}
    if driver == "ESRI Shapefile":
        return {name: pa.field(name, _storable(field.type, times=False)) for name, field in fields.items()}
    return {name: field.with_type(_storable(field.type)) for name, field in fields.items()}


def _storable(kind: pa.DataType, *, times: bool = True) -> pa.DataType:
    """Return the type in which GDAL stores the values of a column: their own, or texts."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _storable(kind.value_type, times=times)
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_unsigned_integer(kind):
        return pa.int64() if kind.bit_width < 64 else pa.float64()
    whole = pa.types.is_boolean(kind) or pa.types.is_signed_integer(kind) or pa.types.is_floating(kind)
    timed = times and (pa.types.is_timestamp(kind) or pa.types.is_date32(kind))
    return kind if whole or timed else pa.string()
