"""The projection of a map and the box that it shows first, from released and public layers only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geoveil.report.layers import Floats, Layer

if TYPE_CHECKING:
    import pyproj

__all__ = ["Box", "Projection", "view_of"]

#: The first view of layers with at least `_MANY` points leaves out this share at each end: noise has tails.
_MANY, _TAIL = 100, 0.005
#: The largest number of places of a layer that decide the view; of more places, a sample does.
_ENOUGH = 10_000
#: Half the side of the smallest first view, in metres, and the share of it that is margin.
_LEAST, _MARGIN = 150.0, 0.15


class Projection:
    """The azimuthal equidistant projection around a location, true to scale there and to 1% up to 1500 km away.

    Parameters
    ----------
    lon, lat : float
        The location in degrees, which becomes (0, 0) on the map.

    Examples
    --------
    >>> fiji = Projection(179.9, -17.0)
    >>> fiji.to_map(np.array([[179.9, -17.0], [-179.9, -17.0]])).round().tolist()
    [[0.0, 0.0], [21297.0, -11.0]]
    """

    def __init__(self, lon: float, lat: float) -> None:
        import pyproj

        self.lon, self.lat = lon, lat
        plane = f"+proj=aeqd +lat_0={lat!r} +lon_0={lon!r} +datum=WGS84 +units=m +type=crs"
        self._transformer = pyproj.Transformer.from_crs("EPSG:4326", plane, always_xy=True)

    def to_map(self, degrees: Floats) -> Floats:
        """Return longitudes and latitudes as metres east and north of the middle; NaN if they cannot be projected."""
        east, north = self._transformer.transform(degrees[:, 0], degrees[:, 1])
        flat = np.column_stack([east, north])
        flat[~np.isfinite(flat).all(axis=1)] = np.nan
        return flat

    def to_degrees(self, east: float, north: float) -> tuple[float, float]:
        """Return the longitude and latitude of a point of the map."""
        lon, lat = self._transformer.transform(east, north, direction="INVERSE")
        return float(lon), float(lat)

    def all_to_degrees(self, flat: Floats) -> Floats:
        """Return the longitudes, within 180 degrees of the middle, and the latitudes of (n, 2) points of the map."""
        lon, lat = self._transformer.transform(flat[:, 0], flat[:, 1], direction="INVERSE")
        return np.column_stack([self.lon + (lon - self.lon + 180) % 360 - 180, lat])

    def degrees_of(self, box: Box) -> tuple[float, float, float, float]:
        """Return west, south, east and north of a box in degrees; longitudes may exceed 180, or go around a pole."""
        import shapely

        edge = shapely.segmentize(shapely.box(*box).exterior, box.side / 32)
        lons, lats = self.all_to_degrees(shapely.get_coordinates(edge)).T
        poles = self.to_map(np.array([[0.0, -90.0], [0.0, 90.0]]))
        around = [box.holds(Box(x, y, x, y)) for x, y in poles.tolist()]
        low = -90.0 if around[0] else float(lats.min())
        high = 90.0 if around[1] else float(lats.max())
        return (-180.0, low, 180.0, high) if any(around) else (float(lons.min()), low, float(lons.max()), high)

    def moved_to(self, crs: pyproj.CRS) -> Callable[[Floats], Floats]:
        """Return a function from metres of the map to a coordinate system, without a jump at the antimeridian."""
        import pyproj

        there = pyproj.Transformer.from_crs("EPSG:4326", crs, always_xy=True)

        def move(flat: Floats) -> Floats:
            places = np.column_stack(there.transform(*self.all_to_degrees(flat).T))
            if crs.is_geographic:
                places[:, 0] = self.lon + (places[:, 0] - self.lon + 180) % 360 - 180
            return places

        return move


class Box(NamedTuple):
    """A box, in metres or in pixels east and north of the middle of a map."""

    west: float
    south: float
    east: float
    north: float

    @property
    def middle(self) -> tuple[float, float]:
        """The centre of the box."""
        return (self.west + self.east) / 2, (self.south + self.north) / 2

    @property
    def width(self) -> float:
        """The distance from west to east."""
        return self.east - self.west

    @property
    def height(self) -> float:
        """The distance from south to north."""
        return self.north - self.south

    @property
    def side(self) -> float:
        """The larger of width and height."""
        return max(self.width, self.height)

    def square(self, half: float) -> Box:
        """Return a square around the same centre, with half a side of `half`."""
        return Box(*self.middle, *self.middle).grown(half)

    def grown(self, room: float) -> Box:
        """Return the box with so much more room on each side; with less if it is negative."""
        return Box(self.west - room, self.south - room, self.east + room, self.north + room)

    def moved(self, east: float, north: float) -> Box:
        """Return the box at another place."""
        return Box(self.west + east, self.south + north, self.east + east, self.north + north)

    def scaled(self, factor: float) -> Box:
        """Return the box in other units, such as pixels for metres."""
        return Box(*(factor * end for end in self))

    def holds(self, other: Box) -> bool:
        """Return whether another box lies in this one."""
        inside = self.west <= other.west and self.south <= other.south
        return inside and other.east <= self.east and other.north <= self.north

    def meets(self, other: Box) -> bool:
        """Return whether the box and another one overlap."""
        across = self.west < other.east and other.west < self.east
        return across and self.south < other.north and other.south < self.north

    def around(self, places: Floats) -> NDArray[np.bool_]:
        """Return which of (n, 2) places lie inside."""
        return np.asarray(((places > self[:2]) & (places < self[2:])).all(axis=1))


def middle_of(places: Floats) -> tuple[float, float]:
    """Return a central location of some places, even if they lie across the antimeridian or a pole.

    It is the median of the directions from the centre of the Earth.
    """
    lon, lat = np.radians(places).T
    directions = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    x, y, z = np.median(directions, axis=0)
    if math.hypot(x, y, z) < 1e-6:  # spread all over the Earth
        x, y, z = directions[0]
    return math.degrees(math.atan2(y, x)), math.degrees(math.atan2(z, math.hypot(x, y)))


def view_of(layers: Sequence[Layer]) -> tuple[Projection, Box]:
    """Return the projection of a map and the box that shows most of its released and public layers.

    True locations have no influence on either, unless there are no other layers.
    """
    told = [layer for layer in layers if layer.role != "truth"] or list(layers)
    known = [_some(layer.places[np.isfinite(layer.places).all(axis=1)]) for layer in told]
    # Each layer has the same influence, whatever its number of points.
    middles = [middle_of(places) for places in known if len(places)]
    projection = Projection(*middle_of(np.array(middles)))
    # The projection is most accurate at its middle, so that becomes the middle of the box.
    projection = Projection(*projection.to_degrees(*_box_around(projection, told, known).middle))
    return projection, _box_around(projection, told, known)


def _some(places: Floats) -> Floats:
    """Return all places, or an evenly spaced sample if there are very many."""
    return places[:: max(1, -(-len(places) // _ENOUGH))]


def _box_around(projection: Projection, layers: Sequence[Layer], known: Sequence[Floats]) -> Box:
    """Return a box around most points of layers, with space for a circle of the median radius of each layer."""
    lows, highs = [], []
    for layer, places in zip(layers, known, strict=True):
        if len(places):
            flat = projection.to_map(places)
            flat = flat[np.isfinite(flat).all(axis=1)]
            tail = _TAIL if len(flat) >= _MANY else 0.0
            low, high = np.quantile(flat, [tail, 1 - tail], axis=0)
            room = 0.0 if layer.radius is None else float(np.median(layer.radius))
            lows.append(low - room)
            highs.append(high + room)
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    half = np.maximum((high - low) / 2, max(*(high - low) / 2, _LEAST) / 2) * (1 + 2 * _MARGIN)
    return Box(*((low + high) / 2 - half).tolist(), *((low + high) / 2 + half).tolist())
