"""Meridians and parallels at round numbers of degrees, for all scales at which a reader may see a map."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from geoveil.report.layers import Floats
from geoveil.report.map_projection import Box, Projection
from geoveil.report.scene import Graduated, Graticule

__all__ = ["graticules_of", "meridians_of", "parallels_of"]

#: The spacings of lines in degrees: whole numbers of degrees, minutes and seconds.
_STEPS = (30.0, 15.0, 10.0, 5.0, 2.0, 1.0, *(n / 60 for n in (30, 15, 10, 5, 2, 1)), *(n / 3600 for n in (30, 15, 5)))
#: The largest number of pixels between two parallels, and metres in a degree.
_APART, _DEGREE = 170.0, 111_195.0
#: The largest spacing of meridians on the map, as a multiple of that of parallels.
_WIDER = 1.55
#: The number of vertices of a line before it is simplified, and the largest error in pixels that cannot be seen.
_CORNERS, _UNSEEN = 33, 0.3
#: How much finer and coarser than the first view lines are prepared for, and half the side in pixels that they cover.
_FINER, _COARSER, _COVERED = 6.0, 60.0, 1100.0
#: The largest distance of a line from the middle, in metres.
_FARTHEST = 9e6


def graticules_of(projection: Projection, view: Box, pixel: float, *, beyond: bool) -> Iterator[Graticule]:
    """Yield the meridians and parallels of a map, those for the widest view first.

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
    >>> oslo = next(graticules_of(Projection(10.75, 59.91), Box(-9e3, -6e3, 9e3, 6e3), 20.0, beyond=False))
    >>> [name for name, _ in oslo.parallels][3:8]
    ['59° 50′ N', '59° 52′ N', '59° 54′ N', '59° 56′ N', '59° 58′ N']
    """
    finest = [_DEGREE * step / _APART for step in _STEPS]
    near, far = (pixel / _FINER, pixel * _COARSER) if beyond else (pixel / 1.5, pixel * 1.5)
    # Meridians are closer to each other than parallels.
    narrow = max(math.cos(math.radians(projection.lat)), 0.05)
    for step, low, high in zip(_STEPS, finest, [math.inf, *finest[:-1]], strict=True):
        if not (low <= far and high > near):
            continue
        # Closer views are parts of the first one.
        least = min(high, far) * _COVERED if beyond and high > pixel else 0.0
        box = view.square(min(max((0.75 if beyond else 1.1) * view.side, least), _FARTHEST))
        # Even the narrow frame of a phone has to show a meridian.
        wider = max(each for each in (*_STEPS, 60.0) if each <= max(_WIDER * step / narrow, _STEPS[-1]))
        meridians, parallels = meridians_of(projection, box, wider, step), parallels_of(projection, box, step)
        yield Graticule(_simple(meridians, low), _simple(parallels, low), low, high)


def _simple(lines: Graduated, pixel: float) -> Graduated:
    """Return lines without corners that cannot be seen at the finest scale at which the lines are shown."""
    import shapely

    if not lines:
        return ()
    simple = shapely.simplify(shapely.linestrings([line for _, line in lines]), _UNSEEN * pixel)
    return tuple((name, shapely.get_coordinates(line)) for (name, _), line in zip(lines, simple, strict=True))


def meridians_of(projection: Projection, box: Box, step: float, end: float) -> Graduated:
    """Return the meridians that cross a box of a map, with their names.

    They end `end` degrees before the poles, where they would run together.

    Examples
    --------
    >>> [name for name, _ in meridians_of(Projection(180.0, -17.0), Box(-1e5, -1e5, 1e5, 1e5), 0.5, 0.5)]
    ['179° 30′ E', '180°', '179° 30′ W']
    """
    west, south, east, north = projection.degrees_of(box)
    low, high = max(south, end - 90.0), min(north, 90.0 - end)
    if low >= high:
        return ()
    lats = np.linspace(low, high, _CORNERS)
    last = math.floor(east / step) - (east - west >= 360)
    lons = [(at * step + 180) % 360 - 180 for at in range(math.ceil(west / step), last + 1)]
    names = [_named(lon, "E", "W", step) for lon in lons]
    return _projected(projection, names, *np.meshgrid(lons, lats, indexing="ij"))


def parallels_of(projection: Projection, box: Box, step: float) -> Graduated:
    """Return the parallels that cross a box of a map, with their names.

    Examples
    --------
    >>> [name for name, _ in parallels_of(Projection(180.0, -17.0), Box(-1e5, -1e5, 1e5, 1e5), 0.5)]
    ['17° 30′ S', '17° S', '16° 30′ S']
    """
    west, south, east, north = projection.degrees_of(box)
    lons = np.linspace(west, east, _CORNERS if east - west < 60 else 4 * _CORNERS)
    lats = [at * step for at in range(math.ceil(south / step), math.floor(north / step) + 1) if abs(at * step) < 90]
    return _projected(projection, [_named(lat, "N", "S", step) for lat in lats], *np.meshgrid(lons, lats))


def _projected(projection: Projection, names: Sequence[str], lons: Floats, lats: Floats) -> Graduated:
    """Return lines of the map with their names, from rows of longitudes and latitudes; all are projected at once."""
    flat = projection.to_map(np.column_stack([lons.ravel(), lats.ravel()]))
    return tuple(zip(names, flat.reshape(*lons.shape, 2), strict=True))


def _named(degrees: float, positive: str, negative: str, step: float) -> str:
    """Return an angle as text, with minutes and seconds as far as the step needs them."""
    seconds = round(abs(degrees) * 3600)
    parts = [f"{seconds // 3600}°"]
    if step < 1:
        parts += [f"{seconds // 60 % 60}′"] if seconds % 3600 else []
        parts += [f"{seconds % 60}″"] if seconds % 60 else []
    side = "" if seconds in (0, 180 * 3600) else positive if degrees > 0 else negative
    return " ".join([*parts, side]).strip()
