"""Convert error bounds from metres of the plane to metres on the ground.

The plane draws a ground length g as one of shrink·g to stretch·g. docs/understand/projections.md derives the bounds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geoveil.geo.areas import Area
from geoveil.queries import Query

__all__ = ["ground_error", "ground_length_error"]

Floats = NDArray[np.float64]


def ground_error(query: Query, error: float, area: Area, *, planned: bool = False) -> float:
    """Return the bound on an answer's error on the ground.

    Parameters
    ----------
    query : Query
        The question.
    error : float
        The bound in metres of the plane.
    area : Area
        The area of the data.
    planned : bool
        Whether the public location in the question is not known yet: then it can be anywhere in the area.

    Returns
    -------
    float
        The bound in metres; for lengths, of the noise alone. `ground_length_error` has that of a released length.
    """
    if query.kind == "length":
        return error / area.shrink
    away = 0.0 if planned else _farthest_public_point(query, area)
    if query.kind == "position":
        radius = query.threshold
        least, most = area.lengths(max(radius - error, 0.0), radius + error, reach=away)
        return float(max(most - radius, radius - least))
    if query.kind == "positions":
        place = None if planned else query.public_points[0]
        farthest = area.lengths(0.0, area.farthest(place), reach=away)[1]
        return float(area.lengths(0.0, area.stretch * farthest + error, reach=away)[1] - farthest)
    return area.ground(error)


def ground_length_error(query: Query, error: Floats, area: Area, length: Floats) -> Floats:
    """Return the error bounds of released lengths on the ground, given those in metres of the plane."""
    reach = min(_farthest_public_point(query, area), area.radius + float(np.max(length + error)))
    least, most = area.lengths(np.maximum(length - error, 0.0), length + error, reach=reach)
    return np.asarray(np.maximum(most - length, length - least), dtype=float)


def _farthest_public_point(query: Query, area: Area) -> float:
    """Return the largest distance from the area's middle to a public point in the question; 0 if there is none."""
    return float(np.hypot(*(query.public_points - area.middle).T).max(initial=0.0))
