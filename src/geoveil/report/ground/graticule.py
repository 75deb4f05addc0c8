"""Meridians and parallels of a map, at round numbers of degrees, with their names."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from geoveil.report.layers import Floats
from geoveil.report.map_projection import Box, Projection

__all__ = ["Graduated", "degrees_of", "graticule_around"]

#: Lines with their names.
Graduated: TypeAlias = tuple[tuple[str, Floats], ...]

#: The spacings of lines in degrees, from 30 degrees down to one second.
_STEPS = (30, 15, 10, 5, 2, 1, *(n / 60 for n in (30, 15, 10, 5, 2, 1)), *(n / 3600 for n in (30, 15, 10, 5, 2, 1)))
#: The smallest number of lines across the smaller side of the box, and the number of vertices of a line.
_LINES, _CORNERS = 3, 33
#: The length of a degree of a meridian, in metres.
_DEGREE = 111_195.0


def graticule_around(projection: Projection, box: Box, step: float | None = None) -> tuple[Graduated, Graduated]:
    """Return the meridians and the parallels that cross a box of a map.

    Parameters
    ----------
    projection : Projection
        The projection of the map.
    box : Box
        The box, in metres of the map.
    step : float, optional
        The degrees between lines; by default a round number that gives several lines in the box, and near the poles,
        where meridians converge, a larger one for meridians.

    Examples
    --------
    >>> from geoveil.report.map_projection import Box, Projection
    >>> fiji = Projection(180.0, -17.0)
    >>> meridians, parallels = graticule_around(fiji, Box(-1e5, -1e5, 1e5, 1e5))
    >>> [name for name, _ in meridians], [name for name, _ in parallels]
    (['179° 30′ E', '180°', '179° 30′ W'], ['17° 30′ S', '17° S', '16° 30′ S'])
    """
    side = min(box.width, box.height)
    upright = step or _step(side / _DEGREE)
    west, south, east, north = degrees_of(projection, box)
    narrow = max(math.cos(math.radians(min(max(abs(south), abs(north)), 89.0))), 0.02)
    across = step or (_step(side / _DEGREE / narrow) if east - west < 360 else 30.0)
    # Meridians end before the poles, where they would run together.
    low, high = max(south, -90.0 + upright), min(north, 90.0 - upright)
    meridians = []
    if low < high:
        lats = np.linspace(low, high, _CORNERS)
        last = math.floor(east / across) - (east - west >= 360)
        for at in range(math.ceil(west / across), last + 1):
            lon = (at * across + 180) % 360 - 180
            line = projection.to_map(np.column_stack([np.full(_CORNERS, lon), lats]))
            meridians.append((_named(lon, "E", "W", across), line))
    parallels = []
    lons = np.linspace(west, east, _CORNERS if east - west < 60 else 4 * _CORNERS)
    for at in range(math.ceil(south / upright), math.floor(north / upright) + 1):
        lat = at * upright
        if abs(lat) < 90:
            line = projection.to_map(np.column_stack([lons, np.full(len(lons), lat)]))
            parallels.append((_named(lat, "N", "S", upright), line))
    return tuple(meridians), tuple(parallels)


def _step(degrees: float) -> float:
    return next((step for step in _STEPS if step <= degrees / _LINES), _STEPS[-1])


def degrees_of(projection: Projection, box: Box) -> tuple[float, float, float, float]:
    """Return west, south, east and north of a box in degrees; longitudes may exceed 180, or go all around a pole."""
    steps = np.linspace(0.0, 1.0, _CORNERS)
    x, y = (steps * (high - low) + low for low, high in ((box.west, box.east), (box.south, box.north)))
    edge = np.concatenate(
        [
            *(np.column_stack([x, np.full(_CORNERS, at)]) for at in (box.south, box.north)),
            *(np.column_stack([np.full(_CORNERS, at), y]) for at in (box.west, box.east)),
        ]
    )
    lon, lat = np.array([projection.to_degrees(*corner) for corner in edge]).T
    south, north = float(lat.min()), float(lat.max())
    poles = projection.to_map(np.array([[0.0, -90.0], [0.0, 90.0]]))
    around = [bool(box.west <= px <= box.east and box.south <= py <= box.north) for px, py in poles]
    if any(around):
        return -180.0, -90.0 if around[0] else south, 180.0, 90.0 if around[1] else north
    lon = projection.lon + (lon - projection.lon + 180) % 360 - 180
    return float(lon.min()), south, float(lon.max()), north


def _named(degrees: float, positive: str, negative: str, step: float) -> str:
    """Return an angle as text, with minutes and seconds as far as the step needs them."""
    seconds = round(abs(degrees) * 3600)
    parts = [f"{seconds // 3600}°"]
    if step < 1:
        parts += [f"{seconds // 60 % 60}′"] if seconds % 3600 else []
        parts += [f"{seconds % 60}″"] if seconds % 60 else []
    side = "" if seconds in (0, 180 * 3600) else positive if degrees > 0 else negative
    return " ".join([*parts, side]).strip()
