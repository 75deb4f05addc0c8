"""Arcs from an origin to a destination, with an arrowhead."""

from __future__ import annotations

import numpy as np

from geoveil.report.layers import Floats

__all__ = ["arcs_of"]

#: The number of vertices of an arc, and the distance of its control point from the straight line between the places,
#: as a share of the line's length.
_CORNERS, _BEND = 24, 0.3
#: Where an arc begins and ends, as shares of the whole curve: it touches neither origin nor destination.
_BEGIN, _END = 0.05, 0.9


def arcs_of(start: Floats, end: Floats) -> tuple[Floats, Floats]:
    """Return the arc between two places, and the x, y and angle in degrees of its arrowhead.

    An arc bends to the left of its direction, so that flows in opposite directions do not cover each other. It ends
    before the destination, so that several arrowheads at one destination can be told apart.

    Examples
    --------
    >>> curve, head = arcs_of(np.array([0.0, 0.0]), np.array([100.0, 0.0]))
    >>> curve.shape, head.round(1).tolist()
    ((24, 2), [90.0, 5.4, -25.6])
    """
    across = np.array([start[1] - end[1], end[0] - start[0]])
    control = (start + end) / 2 + _BEND * across
    along = np.linspace(_BEGIN, _END, _CORNERS)[:, None]
    curve = (1 - along) ** 2 * start + 2 * along * (1 - along) * control + along**2 * end
    east, north = (1 - _END) * (control - start) + _END * (end - control)
    return curve, np.array([*curve[-1], np.degrees(np.arctan2(north, east))])
