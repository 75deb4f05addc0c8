"""Error bounds of answers in metres on the ground, from those in metres of the plane.

The plane draws a ground length g as one of shrink·g to stretch·g. docs/places.md derives the bounds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geoveil.geo.areas import Area
from geoveil.queries import FirstWithin, Nearest, Query

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
    p = None if planned else getattr(query, "p", None)
    away = 0.0 if p is None else float(np.hypot(*(p - area.middle)))
    if query.kind == "length":
        return error / area.shrink
    if isinstance(query, FirstWithin):
        least, most = area.lengths(max(query.radius - error, 0.0), query.radius + error, reach=away)
        return float(max(most - query.radius, query.radius - least))
    if isinstance(query, Nearest):
        farthest = area.lengths(0.0, area.farthest(p), reach=away)[1]
        return float(area.lengths(0.0, area.stretch * farthest + error, reach=away)[1] - farthest)
    return area.ground(error)


def ground_length_error(query: Query, error: Floats, area: Area, length: Floats) -> Floats:
    """Return the bounds on the errors of released lengths, given those in metres of the plane."""
    reach = min(_corner(query, area), area.radius + float(np.max(length + error)))
    least, most = area.lengths(np.maximum(length - error, 0.0), length + error, reach=reach)
    return np.asarray(np.maximum(most - length, length - least), dtype=float)


def _corner(query: Query, area: Area) -> float:
    """Return the largest distance from the area's middle to the public location or shape in a question."""
    held = getattr(getattr(query, "measure", None), "keywords", {})
    if "p" in held:
        corners = np.array([held["p"]])
    elif "geometry" in held:
        import shapely

        corners = shapely.get_coordinates(held["geometry"])
    else:
        return 0.0
    return float(np.hypot(*(corners - area.middle).T).max())
