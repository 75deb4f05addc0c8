"""Columns that hold locations: found in a table, decoded and encoded.

They are pairs of coordinates, or geometries as texts, bytes or pairs of numbers.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from geoveil._types import CrsLike
from geoveil.errors import InvalidFile, InvalidParameter, Mention, Message
from geoveil.geo.coordinate_systems import GEOGRAPHIC, own_system
from geoveil.geo.formats import wkb
from geoveil.geo.geometries import Floats, Places, RowName
from geoveil.geo.recognition import (
    WKT,
    Encoding,
    Pair,
    Recognised,
    degrees_of,
    encoding_of,
    is_missing,
    is_number,
    recognise,
    unit_of,
)
from geoveil.geo.texts import numbers, texts

if TYPE_CHECKING:
    import pyarrow as pa
    import pyproj
    from shapely import Geometry

    from geoveil.geo.formats.location_file import Batch

__all__ = ["CoordinatePairs", "GeometryColumn", "LocationColumns", "Where", "locate"]


class Where(TypedDict, total=False):
    """The options that say which columns hold locations, and in which coordinate system; see `locate`."""

    lat: str | Sequence[str] | None
    lon: str | Sequence[str] | None
    geometry: str | None
    crs: CrsLike


class LocationColumns(ABC):
    """The columns of a table that hold its locations."""

    #: The number of points of each row that have columns of their own: 2 for an origin and a destination.
    points: int = 1

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    @abstractmethod
    def reading(self) -> Where:
        """The options that name these columns."""

    @property
    @abstractmethod
    def shape(self) -> str:
        """The type of all geometries, or "Unknown"."""

    @property
    @abstractmethod
    def types(self) -> dict[str, pa.DataType]:
        """The pyarrow types of encoded columns without a decimal mark."""

    @abstractmethod
    def decode(self, table: pa.Table, decimal: str, name: RowName) -> Places:
        """Return the locations of a table: (m, 2) or (m, 4) coordinates, NaN where missing, or shapely geometries."""

    @abstractmethod
    def encode(self, batch: Batch, decimal: str | None) -> dict[str, pa.Array]:
        """Return the columns that hold the locations of a batch; with a decimal mark, numbers as texts."""

    def check(self, batch: Batch) -> None:  # noqa: B027
        """Refuse geometries that the columns cannot hold."""


@dataclass(frozen=True)
class CoordinatePairs(LocationColumns):
    """Columns of x and y, of one location for each row, or of an origin and a destination."""

    #: The names of the columns.
    pairs: tuple[Pair, ...]
    #: The units of columns that are not 1, in degrees; None for texts of angles such as 52.52N, which are released as
    #: numbers. See `geo.recognition.unit_of`.
    units: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def points(self) -> int:  # type: ignore[override]
        return len(self.pairs)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for pair in self.pairs for name in pair)

    @property
    def reading(self) -> Where:
        lon, lat = ([*each] for each in zip(*self.pairs, strict=True))
        return {"lat": lat, "lon": lon} if len(lat) > 1 else {"lat": lat[0], "lon": lon[0]}

    @property
    def shape(self) -> str:
        return "Point" if self.points == 1 else "LineString"

    @property
    def types(self) -> dict[str, pa.DataType]:
        import pyarrow as pa

        return {name: pa.int64() if self.units.get(name) else pa.float64() for name in self.names}

    def decode(self, table: pa.Table, decimal: str, name: RowName) -> Floats:
        return np.column_stack([self._degrees(table[column], column, decimal, name) for column in self.names])

    def _degrees(self, values: pa.ChunkedArray, column: str, decimal: str, name: RowName) -> Floats:
        unit = self.units.get(column, 1.0)
        if unit is not None:
            return numbers(values, decimal, name) * unit
        angles = np.full(len(values), np.nan)
        for row, text in enumerate(values.to_pylist()):
            if is_missing(text):
                continue
            degrees = degrees_of(str(text))
            if degrees is None:
                remedy = Message("Correct it, or leave the field empty and give {missing:drop}.")
                raise InvalidFile(name(row), text, "an angle such as 52.52N, as in the first rows", remedy)
            angles[row] = degrees
        return angles

    def check(self, batch: Batch) -> None:
        if self.points == 1:
            _ = batch.pairs

    def encode(self, batch: Batch, decimal: str | None) -> dict[str, pa.Array]:
        import pyarrow as pa

        places = batch.pairs if self.points == 1 else batch.places
        columns = [
            pa.array(np.rint(part / unit).astype(np.int64) if (unit := self.units.get(name)) else part)
            for name, part in zip(self.names, np.ascontiguousarray(places.T), strict=True)
        ]
        if decimal is not None:
            columns = [texts(column, decimal) for column in columns]
        return dict(zip(self.names, columns, strict=True))


@dataclass(frozen=True)
class GeometryColumn(LocationColumns):
    """A column of geometries."""

    #: Its name.
    column: str
    #: How it holds geometries.
    encoding: Encoding
    #: The prefix of extended WKT, such as "SRID=4326;".
    srid: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def reading(self) -> Where:
        return {"geometry": self.column}

    @property
    def shape(self) -> str:
        return "Point" if "," in self.encoding else "Unknown"

    @property
    def types(self) -> dict[str, pa.DataType]:
        import pyarrow as pa

        pair = pa.struct([("x", pa.float64()), ("y", pa.float64())])
        return {self.column: {"wkb": pa.binary(), "x,y": pair}.get(self.encoding, pa.string())}

    def decode(self, table: pa.Table, decimal: str, name: RowName) -> Places:
        import pyarrow as pa
        import shapely

        column = table[self.column].combine_chunks()
        if self.encoding == "wkb":
            return wkb.decode(column)
        if self.encoding == "x,y":
            return wkb.decode_pairs(column)
        values = [None if is_missing(value) else value for value in column.to_pylist()]
        parse: Callable[[str], object] = {"wkt": self._wkt, "hex": bytes.fromhex, "geojson": _geojson}.get(
            self.encoding, self._point
        )
        shapes = np.empty(len(values), dtype=object)
        for row, value in enumerate(values):
            try:
                shapes[row] = None if value is None else parse(value)
            except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
                raise self._wrong(name(row), value) from None
        if self.encoding == "hex":
            return wkb.decode(pa.array(shapes, pa.binary()))
        if self.encoding == "wkt":
            written, shapes = shapes, shapely.from_wkt(shapes, on_invalid="ignore")
            for at in np.flatnonzero(shapely.is_missing(shapes)).tolist():
                if written[at] is not None:
                    raise self._wrong(name(at), values[at])
        return wkb.plain(shapes)

    def _wkt(self, value: str) -> str:
        """Return WKT without its prefix; GEOS could crash on geometries nested deeply in others."""
        rest = value.removeprefix(self.srid)
        if not WKT.match(rest) or (self.srid and rest == value):
            raise ValueError(value)
        return rest

    def _point(self, value: str) -> Geometry:
        import shapely

        first, second = (float(number) for number in _NUMBERS.findall(value))
        return shapely.Point((second, first) if self.encoding == "lat,lon" else (first, second))

    def _wrong(self, row: str, value: object) -> InvalidFile:
        """Return the error for a row whose text is not a location like those of the first rows."""
        remedy = Message("Correct it, or leave the field empty and give {missing:drop}.")
        return InvalidFile(row, value, f"a location as {_WRITTEN[self.encoding]}, as in the first rows", remedy)

    def encode(self, batch: Batch, decimal: str | None) -> dict[str, pa.Array]:
        import pyarrow as pa
        import shapely

        if self.encoding == "wkb":
            return {self.column: wkb.encode(batch.places)}
        if self.encoding == "x,y":
            return {self.column: wkb.encode_pairs(batch.pairs)}
        if self.encoding == "[lon,lat]":
            return {self.column: pa.array([f"[{x!r}, {y!r}]" for x, y in batch.pairs.tolist()], pa.string())}
        if "," in self.encoding:
            points = batch.pairs[:, ::-1] if self.encoding == "lat,lon" else batch.pairs
            return {self.column: pa.array([f"{first!r},{second!r}" for first, second in points.tolist()], pa.string())}
        shapes = batch.geometries
        if self.encoding == "wkt":
            written = [self.srid + text for text in shapely.to_wkt(shapes, rounding_precision=-1)]
        else:
            written = shapely.to_wkb(shapes, hex=True) if self.encoding == "hex" else shapely.to_geojson(shapes)
        return {self.column: pa.array(written, pa.string())}


_WRITTEN = {
    **{"wkt": "WKT", "geojson": "GeoJSON", "hex": "WKB in hexadecimal"},
    **{"lat,lon": "latitude, longitude", "lon,lat": "longitude, latitude", "[lon,lat]": "[longitude, latitude]"},
}
_NUMBERS = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
#: The prefix of extended WKT.
_SRID = re.compile(r"\s*SRID\s*=\s*(\d+)\s*;", re.IGNORECASE)


def _geojson(text: str) -> Geometry | None:
    """Return a geometry or a feature of GeoJSON; the points of a collection of features become a multipoint."""
    import shapely

    value = json.loads(text)
    if value["type"] == "Feature":
        value = value["geometry"]
        if value is None:
            return None
    kind = value["type"]
    if kind == "FeatureCollection":
        points = [feature["geometry"] for feature in value["features"]]
        if any(point["type"] != "Point" for point in points):
            raise ValueError(kind)
        return shapely.MultiPoint([point["coordinates"][:2] for point in points])
    if kind == "Point":
        return shapely.Point(value["coordinates"][:2])
    make = {"LineString": shapely.LineString, "MultiPoint": shapely.MultiPoint}[kind]
    return make([place[:2] for place in value["coordinates"]])


def locate(
    path: Path,
    sample: Mapping[str, Sequence[object]],
    types: Mapping[str, object],
    *,
    lat: str | Sequence[str] | None = None,
    lon: str | Sequence[str] | None = None,
    geometry: str | None = None,
    crs: CrsLike = None,
) -> tuple[LocationColumns, pyproj.CRS]:
    """Return the columns that hold the locations of a table, given or recognised, and their coordinate system.

    Parameters
    ----------
    path : Path
        The file, for errors.
    sample, types : mapping
        The first values of each column, and the types of columns; see `geo.recognition.recognise`.
    lat, lon : str or sequence of str, optional
        The columns of latitude (or northing) and longitude (or easting); two of each for origins and destinations.
    geometry : str, optional
        The column of geometries.
    crs : what pyproj takes as a coordinate system, optional
        The coordinate system; WGS 84 by default for columns called or given as latitude and longitude, GeoJSON, and
        other geometries whose coordinates in the sample can be degrees.
    """
    recognised = recognise(sample, types)
    for argument, names in (("lat", _listed(lat)), ("lon", _listed(lon)), ("geometry", _listed(geometry))):
        for name in names:
            if name not in sample:
                allowed = f"a column of {path.name}, one of {list(sample)}"
                raise InvalidParameter(argument, name, allowed, _suggestion(recognised) or "Check its name.")
    if geometry is not None:
        return _given_geometry(path, sample, geometry, lat, lon, crs)
    if lat is not None or lon is not None:
        return _coordinates(path, sample, recognised.named_pairs(_listed(lat), _listed(lon)), crs)
    if recognised.pairs:
        if crs is None and not recognised.degrees:
            raise _unknown_system(*recognised.pairs[0])
        return _coordinates(path, sample, recognised.pairs, crs)
    if recognised.geometry is not None:
        return _geometry(path, sample, *recognised.geometry, crs)
    raise _not_found(path, sample, recognised)


def _coordinates(
    path: Path, sample: Mapping[str, Sequence[object]], pairs: tuple[Pair, ...], crs: CrsLike
) -> tuple[CoordinatePairs, pyproj.CRS]:
    """Return columns of coordinates and their system, which must be given unless they are degrees."""
    known = {name: [value for value in sample[name] if not is_missing(value)] for pair in pairs for name in pair}
    units = {name: unit for name, values in known.items() if (unit := unit_of(name, values)) != 1}
    for pair in pairs if crs is None else ():
        for name in pair:
            sizes = [abs(float(str(value))) for value in known[name] if _is_decimal(value)]
            if name not in units and sizes and np.median(sizes) > 360:
                whole = min(sizes) > _LARGEST and all(size.is_integer() for size in sizes)
                raise _unknown_system(*pair, whole=whole)
    return CoordinatePairs(pairs, units), own_system(path, None, GEOGRAPHIC if crs is None else crs)


#: Larger whole numbers are fractions of degrees rather than metres.
_LARGEST = 3e7


def _is_decimal(value: object) -> bool:
    return is_number(value) and "," not in str(value)


def _unknown_system(x: str, y: str, *, whole: bool = False) -> InvalidParameter:
    if whole:
        remedy = Message(
            "Rename them: latitudeE7 and longitudeE7 are ten-millionths of degrees, "
            "position_lat and position_long are semicircles of Garmin."
        )
        return InvalidParameter("crs", None, f"the coordinate system of the columns {x} and {y}", remedy)
    remedy = Message("Give its code, such as {crs:27700}; {crs:4326} if they are longitude and latitude.")
    return InvalidParameter("crs", None, f"the coordinate system of the columns {x} and {y}", remedy)


def _listed(names: str | Sequence[str] | None) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else [*names]


def _given_geometry(
    path: Path, sample: Mapping[str, Sequence[object]], geometry: str, lat: object, lon: object, crs: CrsLike
) -> tuple[LocationColumns, pyproj.CRS]:
    if lat is not None or lon is not None:
        remedy = "Leave one of them out."
        raise InvalidParameter("geometry", geometry, Message("given without {lat} and {lon}"), remedy)
    values = [value for value in sample[geometry] if not is_missing(value)]
    encoding = encoding_of(geometry, values) or encoding_of("lat", values)
    if encoding is None:
        allowed = "a column of geometries as WKT, WKB or GeoJSON, or of texts such as 37.77,-122.42"
        raise InvalidParameter("geometry", geometry, allowed, Message("Name columns of numbers with {lat} and {lon}."))
    return _geometry(path, sample, geometry, encoding, crs)


def _geometry(
    path: Path, sample: Mapping[str, Sequence[object]], name: str, encoding: Encoding, crs: CrsLike
) -> tuple[GeometryColumn, pyproj.CRS]:
    """Return a column of geometries and its coordinate system, as its texts state it or as given."""
    import pyarrow as pa

    values = [value for value in sample[name] if not is_missing(value)][:100]
    srid = _SRID.match(str(values[0])) if encoding == "wkt" else None
    column = GeometryColumn(name, encoding, srid.group() if srid else "")
    if srid is not None:
        return column, own_system(path, int(srid[1]), crs)
    if crs is None and encoding in ("wkt", "hex", "wkb"):
        places = column.decode(pa.table({name: values}), ".", lambda row: f"{path.name}, row {row + 1}")
        if not _can_be_degrees(places):
            remedy = Message("Give its code, such as {crs:27700}: they are not degrees.")
            raise InvalidParameter("crs", None, f"the coordinate system of the column {name}", remedy)
    return column, own_system(path, None, GEOGRAPHIC if crs is None else crs)


def _can_be_degrees(places: Places) -> bool:
    import shapely

    coords = shapely.get_coordinates(places) if places.dtype == object else places
    return bool((np.abs(coords[~np.isnan(coords).any(axis=1)]) <= [360, 90]).all())


def _suggestion(recognised: Recognised) -> Message | None:
    """Return a sentence with the options that would name the likely columns of locations."""
    pairs = [Message("{lat} {lon}", lat=Mention("lat", y), lon=Mention("lon", x)) for x, y in recognised.candidates]
    ways = [*pairs, *(Mention("geometry", name) for name in recognised.geometries)]
    named = {f"way{i}": way for i, way in enumerate(ways)}
    return Message(f"Give {', or '.join(map('{{{}}}'.format, named))}.", **named) if ways else None


def _not_found(path: Path, sample: Mapping[str, Sequence[object]], recognised: Recognised) -> InvalidFile:
    """Return the error of a table whose locations are not recognised."""
    several = _suggestion(recognised)
    if several is not None:
        return InvalidFile(str(path), [*sample], "columns with one location for each row: there are several", several)
    example = (
        "Name them, such as {lat:north} {lon:east}; add their system, such as {crs:27700}, if they are not degrees."
    )
    return InvalidFile(
        str(path), [*sample], "columns with coordinates, such as latitude and longitude", Message(example)
    )
