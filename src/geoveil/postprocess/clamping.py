"""Move released points into a public region."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from shapely import Geometry

__all__ = ["clamp", "is_convex"]


def clamp(y: NDArray[np.float64], region: Geometry) -> NDArray[np.float64]:
    """Return each point, or the nearest point of the region if the region does not contain it."""
    import shapely

    shapely.prepare(region)
    points = shapely.points(y)
    outside = ~shapely.covers(region, points)
    moved = y.copy()
    lines = shapely.shortest_line(region, points[outside])
    moved[outside] = shapely.get_coordinates(lines).reshape(-1, 2, 2)[:, 0]
    return moved


def is_convex(region: Geometry) -> bool:
    """Return whether the region equals its convex hull, up to rounding."""
    hull = region.convex_hull
    return bool(hull.difference(region).area <= 1e-12 * hull.area)
