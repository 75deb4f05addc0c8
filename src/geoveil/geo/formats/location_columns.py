"""Columns that hold locations, decoded and encoded: pairs of coordinates, or geometries as texts or bytes."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidFile, Message
from geoveil.geo.areas import Floats
from geoveil.geo.formats import wkb
from geoveil.geo.formats.location_file import Batch
from geoveil.geo.geometries import RowName
from geoveil.geo.recognition import WKT, Encoding, Pair, is_missing
from geoveil.geo.written_numbers import numbers, texts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CoordinatePairs", "GeometryColumn", "LocationColumns"]


@dataclass(frozen=True)
class LocationColumns(ABC):
    """The columns of a table that hold its locations."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    @abstractmethod
    def reading(self) -> dict[str, Any]:
        """The options that name these columns."""

    @abstractmethod
    def decode(self, table: pa.Table, decimal: str, name: RowName) -> NDArray[Any]:
        """Return the locations of a table: (m, 2) or (m, 4) coordinates, NaN where missing, or shapely geometries."""

    @abstractmethod
    def encode(self, batch: Batch, decimal: str | None) -> dict[str, pa.Array]:
        """Return the columns that hold the locations of a batch; with a decimal mark, numbers as texts."""

    @property
    @abstractmethod
    def shape(self) -> str:
        """The type of all geometries, or "Unknown"."""

    def check(self, batch: Batch) -> None:  # noqa: B027
        """Refuse geometries that the columns cannot hold."""

    @abstractmethod
    def types(self) -> dict[str, pa.DataType]:
        """Return the pyarrow types of encoded columns without a decimal mark."""


@dataclass(frozen=True)
class CoordinatePairs(LocationColumns):
    """Columns of x and y, of one location for each row, or of an origin and a destination.

    Parameters
    ----------
    pairs : tuple of (x, y)
        The names of the columns.
    """

    pairs: tuple[Pair, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for pair in self.pairs for name in pair)

    @property
    def reading(self) -> dict[str, Any]:
        lon, lat = ([*each] for each in zip(*self.pairs, strict=True))
        return {"lat": lat, "lon": lon} if len(lat) > 1 else {"lat": lat[0], "lon": lon[0]}

    def decode(self, table: pa.Table, decimal: str, name: RowName) -> Floats:
        return np.column_stack([_doubles(table[column], decimal, name) for column in self.names])

    @property
    def shape(self) -> str:
        return "Point" if len(self.pairs) == 1 else "LineString"

    def check(self, batch: Batch) -> None:
        if len(self.pairs) == 1:
            _ = batch.pairs

    def encode(self, batch: Batch, decimal: str | None) -> dict[str, pa.Array]:
        import pyarrow as pa

        places = batch.pairs if len(self.pairs) == 1 else batch.places
        columns = [pa.array(np.ascontiguousarray(part)) for part in places.T]
        if decimal is not None:
            columns = [texts(column, decimal) for column in columns]
        return dict(zip(self.names, columns, strict=True))

    def types(self) -> dict[str, pa.DataType]:
        import pyarrow as pa

        return dict.fromkeys(self.names, pa.float64())


def _doubles(column: pa.ChunkedArray | pa.Array, decimal: str, name: RowName) -> Floats:
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_string(whole.type) or pa.types.is_large_string(whole.type):
        return numbers(whole, decimal, name)
    return np.asarray(whole.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=float)


@dataclass(frozen=True)
class GeometryColumn(LocationColumns):
    """A column of geometries.

    Parameters
    ----------
    column : str
        Its name.
    encoding : Encoding
        How it holds geometries.
    srid : str
        The prefix of extended WKT, such as "SRID=4326;".
    """

    column: str
    encoding: Encoding
    srid: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def reading(self) -> dict[str, Any]:
        return {"geometry": self.column}

    def decode(self, table: pa.Table, decimal: str, name: RowName) -> NDArray[Any]:
        import pyarrow as pa

        column = table[self.column].combine_chunks()
        if self.encoding == "wkb":
            return wkb.decode(column)
        values = [None if is_missing(value) else value for value in column.to_pylist()]
        parse = {"wkt": self._wkt, "hex": bytes.fromhex, "geojson": _geojson}.get(self.encoding, self._point)
        shapes = np.empty(len(values), dtype=object)
        for row, value in enumerate(values):
            try:
                shapes[row] = None if value is None else parse(value)
            except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
                raise self._wrong(name(row), value) from None
        if self.encoding == "hex":
            return wkb.decode(pa.array(shapes, pa.binary()))
        if self.encoding == "wkt":
            import shapely

            written, shapes = shapes, shapely.from_wkt(shapes, on_invalid="ignore")
            for at in np.flatnonzero(shapely.is_missing(shapes)).tolist():
                if written[at] is not None:
                    raise self._wrong(name(at), values[at])
        return _plain(shapes)

    def _wkt(self, value: str) -> str:
        """Return WKT without its prefix; GEOS could crash on geometries nested deeply in others."""
        rest = value.removeprefix(self.srid)
        if not WKT.match(rest) or (self.srid and rest == value):
            raise ValueError(value)
        return rest

    def _point(self, value: str) -> Any:
        import shapely

        first, second = (float(number) for number in _NUMBERS.findall(value))
        return shapely.Point((second, first) if self.encoding == "lat,lon" else (first, second))

    def _wrong(self, row: str, value: Any) -> InvalidFile:
        """Return the error for a row whose text is not a location like those of the first rows."""
        remedy = Message("Correct it, or leave the field empty and give {missing:drop}.")
        return InvalidFile(row, value, f"a location as {_WRITTEN[self.encoding]}, as in the first rows", remedy)

    @property
    def shape(self) -> str:
        return "Point" if "," in self.encoding else "Unknown"

    def encode(self, batch: Batch, decimal: str | None) -> dict[str, pa.Array]:
        import pyarrow as pa
        import shapely

        if self.encoding == "wkb":
            return {self.column: wkb.encode(batch.places)}
        if "," in self.encoding:
            points = batch.pairs[:, ::-1] if self.encoding == "lat,lon" else batch.pairs
            return {self.column: pa.array([f"{first!r},{second!r}" for first, second in points.tolist()], pa.string())}
        shapes = batch.geometries
        if self.encoding == "wkt":
            written = [self.srid + text for text in shapely.to_wkt(shapes, rounding_precision=-1)]
        elif self.encoding == "hex":
            written = shapely.to_wkb(shapes, hex=True)
        else:
            written = shapely.to_geojson(shapes)
        return {self.column: pa.array(written, pa.string())}

    def types(self) -> dict[str, pa.DataType]:
        import pyarrow as pa

        return {self.column: pa.binary() if self.encoding == "wkb" else pa.string()}


_WRITTEN = {
    **{"wkt": "WKT", "geojson": "GeoJSON", "hex": "WKB in hexadecimal", "wkb": "WKB"},
    **{"lat,lon": "latitude, longitude", "lon,lat": "longitude, latitude"},
}
_NUMBERS = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")


def _plain(shapes: NDArray[Any]) -> NDArray[Any]:
    """Return geometries as (m, 2) coordinates if all that are not missing are points."""
    import shapely

    kinds = shapely.get_type_id(shapes)
    there = (kinds == 0) & ~shapely.is_empty(shapes)
    if not (there | (kinds == -1)).all():
        return shapes
    places = np.full((len(shapes), 2), np.nan)
    places[there] = shapely.get_coordinates(shapes[there])
    return places


def _geojson(text: str) -> Any:
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
