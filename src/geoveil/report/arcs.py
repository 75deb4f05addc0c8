"""Arcs from an origin to a destination, with an arrowhead."""

from __future__ import annotations

import numpy as np

from geoveil.report.layers import Floats

__all__ = ["arcs_of"]

#: The number of corners of an arc, and how far its control point is from the straight line, over the line's length.
_CORNERS, _BEND = 24, 0.3


def arcs_of(start: Floats, end: Floats) -> tuple[Floats, Floats]:
    """Return an arc that bends to the left of its direction, and x, y and angle in degrees of its head.

    Flows there and back therefore do not cover each other.

    Examples
    --------
    >>> import numpy as np
    >>> curve, head = arcs_of(np.array([0.0, 0.0]), np.array([100.0, 0.0]))
    >>> curve.shape, head.round(1).tolist()
    ((24, 2), [100.0, 0.0, -31.0])
    """
    across = np.array([start[1] - end[1], end[0] - start[0]])
    control = (start + end) / 2 + _BEND * across
    along = np.linspace(0, 1, _CORNERS)[:, None]
    curve = (1 - along) ** 2 * start + 2 * along * (1 - along) * control + along**2 * end
    east, north = end - control
    return curve, np.array([*end, np.degrees(np.arctan2(north, east))])
