"""Meridians and parallels for all scales at which a reader may see a map."""

from __future__ import annotations

import math

from geoveil.report.ground import graticule_around
from geoveil.report.map_projection import Box, Projection
from geoveil.report.scene import Graticule

__all__ = ["graticules_of"]

#: The steps between lines in degrees: of degrees, minutes and seconds.
_STEPS = (30.0, 15.0, 10.0, 5.0, 2.0, 1.0, *(n / 60 for n in (30, 15, 10, 5, 2, 1)), *(n / 3600 for n in (30, 15, 5)))
#: The largest number of pixels between two parallels, and metres in a degree.
_APART, _DEGREE = 240.0, 111_195.0
#: How much finer and coarser than at first a reader may see the map, and half the pixels that are covered then.
_FINER, _COARSER, _COVERED = 6.0, 60.0, 1100.0
#: The largest distance of a line from the middle, in metres.
_FARTHEST = 9e6


def graticules_of(projection: Projection, view: Box, pixel: float, *, beyond: bool) -> tuple[Graticule, ...]:
    """Return the meridians and parallels of a map, those for the widest view first.

    Parameters
    ----------
    projection, view : Projection, Box
        The map and the box that it shows first.
    pixel : float
        Metres in a pixel at first.
    beyond : bool
        Whether much closer and wider views are to be seen, too.

    Examples
    --------
    >>> oslo = graticules_of(Projection(10.75, 59.91), Box(-9e3, -6e3, 9e3, 6e3), 20.0, beyond=False)
    >>> [name for name, _ in oslo[0].parallels]
    ['59° 50′ N', '59° 52′ N', '59° 54′ N', '59° 56′ N', '59° 58′ N']
    """
    finest = [_DEGREE * step / _APART for step in _STEPS]
    coarsest = [math.inf, *finest[:-1]]
    near, far = (pixel / _FINER, pixel * _COARSER) if beyond else (pixel / 1.5, pixel * 1.5)
    # Meridians are closer to each other than parallels.
    narrow = max(math.cos(math.radians(projection.lat)), 0.05)
    found = []
    for step, low, high in zip(_STEPS, finest, coarsest, strict=True):
        if not (low <= far and high > near):
            continue
        # Closer views are parts of the first one.
        box = _grown(view, min(high, far) * _COVERED if beyond and high > pixel else 0.0)
        wider = min(each for each in (*_STEPS, 90.0) if each >= 0.999 * step / narrow or each == 90)
        meridians, _ = graticule_around(projection, box, wider)
        _, parallels = graticule_around(projection, box, step)
        found.append(Graticule(meridians, parallels, low, high))
    return tuple(found)


def _grown(view: Box, least: float) -> Box:
    """Return a box around a view that is somewhat larger, and reaches at least so far."""
    x, y = view.middle
    wide, high = (min(max(0.75 * side, least), _FARTHEST) for side in (view.width, view.height))
    return Box(x - wide, y - high, x + wide, y + high)
