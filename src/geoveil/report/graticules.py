"""Meridians and parallels for all scales at which a reader may see a map."""

from __future__ import annotations

import math
from typing import TypeAlias

from geoveil.report.ground import graticule_around
from geoveil.report.layers import Floats
from geoveil.report.map_projection import Box, Projection
from geoveil.report.scene import Graticule

__all__ = ["graticules_of"]

#: Lines with their texts at the frame.
Lines: TypeAlias = tuple[tuple[str, Floats], ...]

#: The spacings of lines in degrees: whole numbers of degrees, minutes and seconds.
_STEPS = (30.0, 15.0, 10.0, 5.0, 2.0, 1.0, *(n / 60 for n in (30, 15, 10, 5, 2, 1)), *(n / 3600 for n in (30, 15, 5)))
#: The largest number of pixels between two parallels, and metres in a degree.
_APART, _DEGREE = 170.0, 111_195.0
#: The largest spacing of meridians on the map, as a multiple of that of parallels.
_WIDER = 1.55
#: The largest error of a line, in pixels, that cannot be seen.
_UNSEEN = 0.3
#: How much finer and coarser than the first view lines are prepared for, and half the side in pixels that they cover.
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
        Metres in a pixel of the first view.
    beyond : bool
        Whether a reader can also zoom to much closer and wider views.

    Examples
    --------
    >>> oslo = graticules_of(Projection(10.75, 59.91), Box(-9e3, -6e3, 9e3, 6e3), 20.0, beyond=False)
    >>> [name for name, _ in oslo[0].parallels][3:8]
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
        box = _grown(view, min(high, far) * _COVERED if beyond and high > pixel else 0.0, 0.75 if beyond else 1.1)
        # Even the narrow frame of a phone has to show a meridian.
        wider = max(each for each in (*_STEPS, 60.0) if each <= max(_WIDER * step / narrow, _STEPS[-1]))
        meridians, _ = graticule_around(projection, box, wider)
        _, parallels = graticule_around(projection, box, step)
        found.append(Graticule(_simple(meridians, low), _simple(parallels, low), low, high))
    return tuple(found)


def _simple(lines: Lines, pixel: float) -> Lines:
    """Return lines without corners that cannot be seen at the finest scale at which the lines are shown."""
    import shapely

    return tuple(
        (name, shapely.get_coordinates(shapely.simplify(shapely.LineString(line), _UNSEEN * pixel)))
        for name, line in lines
    )


def _grown(view: Box, least: float, share: float) -> Box:
    """Return a square around a view that is somewhat larger, with half a side of at least `least` metres."""
    x, y = view.middle
    half = min(max(share * max(view.width, view.height), least), _FARTHEST)
    return Box(x - half, y - half, x + half, y + half)
