"""Meridians and parallels of a map, at round degrees, for the scales at which a reader may see it."""

from __future__ import annotations

import math

import numpy as np

from geoveil.report.layers import Floats
from geoveil.report.map_projection import Box, Projection
from geoveil.report.scene import Graticule

__all__ = ["degrees_name", "graticules_of"]

#: The steps between lines in degrees, the largest number of pixels between two, and metres in a degree.
_STEPS = (30.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
_APART, _DEGREE = 240.0, 111_195.0
#: How much finer and coarser than at first a reader may see the map, and the pixels that are covered at each scale.
_FINER, _COARSER, _COVERED = 6.0, 60.0, 1100.0
#: The length of a straight piece of a line, in metres.
_PIECE = 60_000.0


def graticules_of(projection: Projection, view: Box, pixel: float, *, beyond: bool) -> tuple[Graticule, ...]:
    """Return the meridians and parallels of a map, those for the widest view first.

    Parameters
    ----------
    projection, view : Projection, Box
        The map and the box that it shows first.
    pixel : float
        Metres in a pixel at first.
    beyond : bool
        Whether other scales are to be seen, too.

    Examples
    --------
    >>> coarse, fine = graticules_of(Projection(10.75, 59.91), Box(-9e3, -6e3, 9e3, 6e3), 20.0, beyond=False)
    >>> [name for name, _ in coarse.parallels]
    ['59.85° N', '59.90° N', '59.95° N']
    """
    finest = [_DEGREE * step / _APART for step in _STEPS]
    coarsest = [math.inf, *finest[:-1]]
    near, far = (pixel / _FINER, pixel * _COARSER) if beyond else (pixel / 1.5, pixel * 1.5)
    found = []
    for step, low, high in zip(_STEPS, finest, coarsest, strict=True):
        if low <= far and high > near and min(high, far) > 0:
            # Closer views are parts of the first one.
            wide = min(high, far) * _COVERED if high > pixel and beyond else 0.0
            half = np.maximum(np.array([view.width, view.height]) * 0.75, wide)
            found.append(_lines(projection, view, half, step, low, high))
    return tuple(found)


def _lines(projection: Projection, view: Box, half: Floats, step: float, low: float, high: float) -> Graticule:
    middle = np.array(view.middle)
    half = np.minimum(half, 9e6)
    edge = np.linspace(-1, 1, 17)
    across, up = np.meshgrid(edge, edge)
    lon, lat = projection.all_to_degrees(np.column_stack([across.ravel(), up.ravel()]) * half + middle).T
    lon = (lon - projection.lon + 180) % 360 - 180 + projection.lon
    poles = projection.to_map(np.array([[0.0, -90.0], [0.0, 90.0]])) - middle
    south, north = (np.abs(np.nan_to_num(poles, nan=np.inf)) <= half).all(axis=1)
    bottom, top = (-90.0 if south else float(lat.min())), (90.0 if north else float(lat.max()))
    west, east = float(lon.min()), float(lon.max())
    if south or north or east - west > 300:
        west, east = projection.lon - 180, projection.lon + 179.999
    # Meridians are closer to each other than parallels.
    narrow = max(math.cos(math.radians(projection.lat)), 0.05)
    wider = min((each for each in _STEPS if each >= 0.999 * step / narrow), default=_STEPS[0])
    pieces = int(np.clip(np.hypot(*half) / _PIECE, 2, 48))
    parallels = np.arange(math.ceil(bottom / step), math.floor(top / step) + 1) * step
    meridians = np.arange(math.ceil(west / wider), math.floor(east / wider) + 1) * wider
    along, down = np.linspace(west, east, pieces + 1), np.linspace(max(bottom, -88), min(top, 88), pieces + 1)
    return Graticule(
        tuple((degrees_name(at, wider, "EW"), _flat(projection, np.full_like(down, at), down)) for at in meridians),
        tuple(
            (degrees_name(at, step, "NS"), _flat(projection, along, np.full_like(along, at)))
            for at in parallels
            if abs(at) < 90
        ),
        low,
        high,
    )


def _flat(projection: Projection, lon: Floats, lat: Floats) -> Floats:
    flat = projection.to_map(np.column_stack([lon, lat]))
    return flat[np.isfinite(flat).all(axis=1)]


def degrees_name(degrees: float, step: float, sides: str) -> str:
    """Return a longitude or latitude as it is written at the frame of a map.

    Examples
    --------
    >>> degrees_name(-122.4, 0.1, "EW"), degrees_name(181.0, 1.0, "EW"), degrees_name(0.0, 5.0, "NS")
    ('122.4° W', '179° W', '0°')
    """
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    turned = round((degrees + 180) % 360 - 180 if sides == "EW" else degrees, digits)
    if turned == 0 or abs(turned) == 180:
        return f"{abs(turned):.0f}°"
    return f"{abs(turned):.{digits}f}° {sides[int(turned < 0)]}"
