"""Fences: whether somebody is inside a public region, from what was released, with hysteresis. They cost nothing."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from geoveil.errors import InvalidParameter, Message
from geoveil.geo.areas import Area, area_of
from geoveil.geo.tangent import Tangent
from geoveil.movement.mixture import MixturePart, chance_within

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
        flat = shapely.transform(shapely.segmentize(region, 0.02), lambda of: tangent.forward(of, area.radius).values)
        shapely.prepare(flat)
        return None, flat
    disc = area_of(region).disc if isinstance(region, (Area, str)) else None
    if disc is None:
        remedy = Message('Give {area:gv.local}, a text such as "37.78,-122.42,300m", or a shapely Polygon.')
        raise InvalidParameter("region", region, "a disc or a polygon", remedy)
    ((x, y),) = tangent.forward(np.array([[disc[1], disc[0]]]), area.radius).values.tolist()
    return (x, y, disc[2]), None


@functools.cache
def _nodes() -> Floats:
    """Return points that represent a standard normal distribution of the plane evenly: a sunflower's seeds."""
    at = np.arange(_NODES) + 0.5
    radii, angles = np.sqrt(-2 * np.log1p(-at / _NODES)), math.pi * (3 - math.sqrt(5)) * at
    return np.asarray(radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)]))
