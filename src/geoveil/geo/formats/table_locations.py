"""Find the columns of a table that hold its locations, as given or recognised."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geoveil._types import CrsLike
from geoveil.errors import InvalidFile, InvalidParameter, Mention, Message
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats.location_columns import CoordinatePairs, GeometryColumn, LocationColumns
from geoveil.geo.formats.location_file import Batch, LocationFile, own_system
from geoveil.geo.recognition import Encoding, Pair, Recognised, encoding_of, is_missing, is_number, recognise

if TYPE_CHECKING:
    import pyarrow as pa
    import pyproj

__all__ = ["TableFile", "locate"]

#: The prefix of extended WKT.
_SRID = re.compile(r"\s*SRID\s*=\s*(\d+)\s*;", re.IGNORECASE)


@dataclass(frozen=True, eq=False, kw_only=True)
class TableFile(LocationFile):
    """A table with columns of locations.

    Parameters
    ----------
    order : list of str
        The names of all columns.
    located : LocationColumns
        Those that hold the locations.
    """

    order: list[str]
    located: LocationColumns

    @property
    def shape(self) -> str:
        return self.located.shape

    @property
    def points_in_a_row(self) -> int:
        return len(self.located.pairs) if isinstance(self.located, CoordinatePairs) else 1

    def check_batch(self, batch: Batch) -> None:
        self.located.check(batch)

    def written(self, schema: pa.Schema) -> list[str]:
        """Return the columns of a released file: those of the table that remain, in their order, and added ones."""
        kept = [name for name in self.order if name in schema.names or name in self.located.names]
        return [*kept, *(name for name in schema.names if name not in kept)]


def locate(
    path: Path,
    sample: Mapping[str, Sequence[Any]],
    types: Mapping[str, Any],
    *,
    lat: str | Sequence[str] | None,
    lon: str | Sequence[str] | None,
    geometry: str | None,
    crs: CrsLike,
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
    found = recognise(sample, types)
    for argument, names in (("lat", _listed(lat)), ("lon", _listed(lon)), ("geometry", _listed(geometry))):
        for name in names:
            if name not in sample:
                allowed = f"a column of {path.name}, one of {list(sample)}"
                raise InvalidParameter(argument, name, allowed, _suggestion(found) or "Check its name.")
    if geometry is not None:
        return _given_geometry(path, sample, geometry, lat, lon, crs)
    if lat is not None or lon is not None:
        return _coordinates(path, sample, _given_pairs(found, _listed(lat), _listed(lon)), crs)
    if found.pairs:
        if crs is None and not found.degrees:
            raise _unknown_system(*found.pairs[0])
        return _coordinates(path, sample, found.pairs, crs)
    if found.geometry is not None:
        return _geometry(path, sample, *found.geometry, crs)
    raise _not_found(path, sample, found)


def _coordinates(
    path: Path, sample: Mapping[str, Sequence[Any]], pairs: tuple[Pair, ...], crs: CrsLike
) -> tuple[CoordinatePairs, pyproj.CRS]:
    """Return columns of coordinates and their system, which must be given unless they are degrees."""
    for pair in pairs if crs is None else ():
        for name in pair:
            values = [abs(float(value)) for value in sample[name] if _is_decimal(value)]
            if values and np.median(values) > 360:
                raise _unknown_system(*pair)
    return CoordinatePairs(pairs), own_system(path, None, GEOGRAPHIC if crs is None else crs)


def _is_decimal(value: Any) -> bool:
    return is_number(value) and "," not in str(value)


def _unknown_system(x: str, y: str) -> InvalidParameter:
    remedy = Message("Give its code, such as {crs:27700}; {crs:4326} if they are longitude and latitude.")
    return InvalidParameter("crs", None, f"the coordinate system of the columns {x} and {y}", remedy)


def _listed(names: str | Sequence[str] | None) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else [*names]


def _given_pairs(found: Recognised, lat: list[str], lon: list[str]) -> tuple[Pair, ...]:
    """Return the pairs of columns that are named; if only one of a pair is named, its recognised partner is taken."""
    x_of, y_of = {y: x for x, y in found.candidates}, dict(found.candidates)
    if not lat and all(name in y_of for name in lon):
        lat = [y_of[name] for name in lon]
    if not lon and all(name in x_of for name in lat):
        lon = [x_of[name] for name in lat]
    if len(lat) != len(lon) or len(lat) > 2:
        allowed = "one column for each of latitude and longitude, or two for an origin and a destination"
        remedy = Message("Give {lat} and {lon} together.")
        raise InvalidParameter("lat" if len(lat) < len(lon) else "lon", None, allowed, remedy)
    if len({*lat, *lon}) < 2 * len(lat):
        raise InvalidParameter("lon", lon[0], "a column other than lat", "Each column is named once.")
    return tuple(zip(lon, lat, strict=True))


def _given_geometry(
    path: Path, sample: Mapping[str, Sequence[Any]], geometry: str, lat: Any, lon: Any, crs: CrsLike
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
    path: Path, sample: Mapping[str, Sequence[Any]], name: str, encoding: Encoding, crs: CrsLike
) -> tuple[GeometryColumn, pyproj.CRS]:
    """Return a column of geometries and its coordinate system, as its texts state it or as given."""
    import pyarrow as pa

    values = [value for value in sample[name] if not is_missing(value)][:100]
    srid = _SRID.match(values[0]) if encoding == "wkt" else None
    column = GeometryColumn(name, encoding, srid.group() if srid else "")
    if srid is not None:
        return column, own_system(path, int(srid[1]), crs)
    if crs is None and encoding in ("wkt", "hex", "wkb"):
        places = column.decode(pa.table({name: values}), ".", lambda row: f"{path.name}, row {row + 1}")
        if not _can_be_degrees(places):
            remedy = Message("Give its code, such as {crs:27700}: they are not degrees.")
            raise InvalidParameter("crs", None, f"the coordinate system of the column {name}", remedy)
    return column, own_system(path, None, GEOGRAPHIC if crs is None else crs)


def _can_be_degrees(places: NDArray[Any]) -> bool:
    import shapely

    coords = shapely.get_coordinates(places) if places.dtype == object else places
    return bool((np.abs(coords[~np.isnan(coords).any(axis=1)]) <= [360, 90]).all())


def _suggestion(found: Recognised) -> Message | None:
    """Return a sentence with the options that would name the likely columns of locations."""
    pairs = [Message("{lat} {lon}", lat=Mention("lat", y), lon=Mention("lon", x)) for x, y in found.candidates]
    ways = [*pairs, *(Mention("geometry", name) for name in found.geometries)]
    named = {f"way{i}": way for i, way in enumerate(ways)}
    return Message(f"Give {', or '.join(map('{{{}}}'.format, named))}.", **named) if ways else None


def _not_found(path: Path, sample: Mapping[str, Sequence[Any]], found: Recognised) -> InvalidFile:
    """Return the error of a table whose locations are not recognised."""
    several = _suggestion(found)
    if several is not None:
        return InvalidFile(str(path), [*sample], "columns with one location for each row: there are several", several)
    example = (
        "Name them, such as {lat:north} {lon:east}; add their system, such as {crs:27700}, if they are not degrees."
    )
    return InvalidFile(
        str(path), [*sample], "columns with coordinates, such as latitude and longitude", Message(example)
    )
