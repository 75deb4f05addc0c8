"""Fences: whether somebody is inside a public region, from what was released, with hysteresis. They cost nothing."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from geoveil.errors import InvalidInput, InvalidParameter
from geoveil.geo.areas import Area, area_of
from geoveil.geo.tangent import Tangent
from geoveil.movement.mixture import MixturePart, chance_within
from geoveil.text.typed_values import read_length, read_place

if TYPE_CHECKING:
    import shapely

    from geoveil.geo.geometries import Floats

__all__ = ["Fence", "FenceEvent", "in_plane"]

#: Somebody is taken to be inside from the first of these probabilities on, and outside down to the second.
_INSIDE, _OUTSIDE = 0.7, 0.3
#: Points by which a part is represented where a region is a polygon.
_NODES = 256


@dataclass(frozen=True)
class FenceEvent:
    """Somebody entered or left a fence, as far as released points tell.

    Parameters
    ----------
    fence : str
        The name of the fence.
    entered : bool
        Whether it was entered; otherwise it was left.
    time : datetime
        The time of the ping that told.
    """

    fence: str
    entered: bool
    time: datetime


class Fence:
    """A public region that is watched; `Stream.fence` makes one.

    Parameters
    ----------
    name : str
        Its name in events.
    disc : tuple of float, optional
        Its centre and radius in metres of the plane, if it is a disc.
    polygon : shapely.Polygon, optional
        The region in the plane, if it is not.

    Attributes
    ----------
    chance : float
        The probability of being inside.
    inside : bool or None
        Whether somebody is inside; None as long as it was never likely enough to tell.
    """

    def __init__(
        self,
        name: str,
        disc: tuple[float, float, float] | None = None,
        polygon: shapely.Polygon | shapely.MultiPolygon | None = None,
    ) -> None:
        self.name, self._disc, self._polygon = name, disc, polygon
        self.chance = 0.5
        self.inside: bool | None = None

    def __repr__(self) -> str:
        return f"Fence({self.name!r}, inside={self.inside}, chance={self.chance:.2f})"

    def is_around(
        self, disc: tuple[float, float, float] | None, polygon: shapely.Polygon | shapely.MultiPolygon | None
    ) -> bool:
        """Return whether this is its region."""
        return self._disc == disc and self._polygon == polygon

    def look(self, parts: Sequence[MixturePart]) -> bool | None:
        """Take note of a new belief; return whether the fence was entered (True) or left (False), or None."""
        self.chance = chance_within(parts, *self._disc) if self._disc is not None else self._chance_in_polygon(parts)
        before = self.inside
        if self.chance >= _INSIDE:
            self.inside = True
        elif self.chance <= _OUTSIDE:
            self.inside = False
        return self.inside if before is not None and self.inside is not before else None

    def _chance_in_polygon(self, parts: Sequence[MixturePart]) -> float:
        import shapely

        weights = np.array([a.weight for a in parts])
        middles = np.array([[a.x, a.y] for a in parts])
        spreads = np.sqrt([a.spread for a in parts])
        x, y = (middles[:, None] + spreads[:, None, None] * _nodes()).transpose(2, 0, 1)
        return float(weights @ shapely.contains_xy(self._polygon, x, y).mean(axis=1))


def in_plane(
    region: object, area: Area, tangent: Tangent
) -> tuple[tuple[float, float, float] | None, shapely.Polygon | shapely.MultiPolygon | None]:
    """Return a region in the plane of an area: as a disc, or as a polygon."""
    import shapely

    if isinstance(region, (shapely.Polygon, shapely.MultiPolygon)) and region.is_valid and not region.is_empty:
        corners = shapely.segmentize(region, 0.02)
        coords = shapely.get_coordinates(corners)
        # Latitudes beyond a pole, or corners on the far side of the Earth, have no place in the plane.
        seen = bool((np.abs(coords[:, 1]) <= 90).all()) and bool(np.isfinite(coords).all())
        seen = seen and bool(np.isfinite(tangent.forward(coords, area.radius).values).all())
        flat = shapely.transform(corners, lambda of: tangent.forward(of, area.radius).values) if seen else None
        if flat is None or not flat.intersects(shapely.Point(0, 0).buffer(area.radius)):
            raise _outside(area, region.wkt[:60], "Its corners are longitude and then latitude.")
        shapely.prepare(flat)
        return None, flat
    lat, lon, radius = _disc_of(region)
    ((x, y),) = tangent.forward(np.array([[lon, lat]]), area.radius).values.tolist()
    if not math.hypot(x, y) <= area.radius + radius:
        raise _outside(area, region, "Check the latitude and the longitude.")
    return (x, y, radius), None


def _disc_of(region: object) -> tuple[float, float, float]:
    """Return the latitude, the longitude and the radius of a region."""
    allowed, remedy = "a disc or a polygon", 'Write LAT,LON and a radius, such as "37.78,-122.42,500m".'
    if isinstance(region, str):
        parts = [part.strip() for part in region.split(",")]
        radius = ",".join(parts[2:]) if len(parts) > 2 and read_length(parts[2]) else "500m"
        for lat, lon in (parts[:2], parts[1::-1]) if len(parts) > 1 else ():
            if read_place(f"{lat},{lon}") is not None:
                remedy = f'Write "{lat},{lon},{radius}": a latitude, a longitude and a radius.'
                break
    try:
        disc = area_of(region).disc if isinstance(region, (Area, str)) else None
    except InvalidInput:
        raise InvalidParameter("region", region, allowed, remedy) from None
    if disc is None:
        raise InvalidParameter("region", region, allowed, f"{remedy} A Polygon of shapely works as well.")
    return disc


def _outside(area: Area, region: object, remedy: str) -> InvalidParameter:
    return InvalidParameter("region", region, f"a region that meets the area of the stream, {area.name}", remedy)


@functools.cache
def _nodes() -> Floats:
    """Return points that represent a standard normal distribution of the plane evenly: a sunflower's seeds."""
    at = np.arange(_NODES) + 0.5
    radii, angles = np.sqrt(-2 * np.log1p(-at / _NODES)), math.pi * (3 - math.sqrt(5)) * at
    return np.asarray(radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)]))
