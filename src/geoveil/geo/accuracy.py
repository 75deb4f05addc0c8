"""How far PROJ's doubles are from the maps they stand for: measured, since PROJ states no bounds.

Sixth differences of a smooth map over equal steps vanish, if doubles add the steps without rounding. Where the map
jumps by e, one of them is at least 10 e; where doubles are off by up to e at random, up to 64 e. The largest one is
taken, on two kinds of lines:

- over all of the area, for what PROJ rounds everywhere;
- around the places that PROJ's formulas treat apart: the map's origin and its axes, the equator, the poles, the
  parallels and meridians that the map is made with. PROJ takes what is nearer to some of them than 1e-10 radians as
  being there, and loses half of the digits at others. Such strips are a millimetre wide, so these lines are at
  distances of 1e-9 m up to the size of the area, with steps to match.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidCoordinateSystem
from geoveil.geo.areas import Area, Floats

__all__ = ["measure_rounding"]

#: Methods without places that are treated apart: none was found on lines around all of them.
_SMOOTH = ("Transverse Mercator", "Lambert Conic Conformal", "Polar Stereographic")
#: Methods that PROJ inverts by formulas that lose all digits close to their axes.
_LOSSY = ("Van Der Grinten", "Two Point Equidistant")
#: What every other method counts as rounding by at least, in metres: three times 1e-10 radians.
_FLOOR = 2e-3
#: Systems that round by more than this, in metres, are refused.
_LIMIT = 1.0
#: Points along a side of the mesh over the area, and the share of a disc's square that it takes up.
_MESH, _INSIDE = 24, 0.7
#: Places looked at on each line that is treated apart, lines around each of them, and the nearest distance in metres.
_PLACES, _LINES, _NEAREST = 16, 64, 1e-9
#: Metres in a degree, about.
_DEGREE = 111e3


class _Way(Protocol):
    """A way from a system into the plane of an area, and back."""

    own: Any
    area: Area

    def into(self, coords: Floats) -> Floats: ...
    def out(self, coords: Floats) -> Floats: ...
    def inside(self, coords: Floats, flat: Floats) -> NDArray[np.bool_]: ...


def measure_rounding(way: _Way) -> float:
    """Measure how far PROJ's doubles are from a smooth map on a way into an area, in metres.

    Systems for which that is more than a metre, or cannot be told, are refused.
    """
    # A disc's tangent plane is no map of PROJ's.
    systems = [way.own] if way.area.disc else [way.own, way.area.crs]
    apart = [each for each in systems if each.is_projected and not _method(each).startswith(_SMOOTH)]
    for system in apart:
        if _method(system).startswith(_LOSSY):
            raise _refused(way, f"its formulas of {_method(system)} lose their digits near the axes")
    share = np.linspace(-1, 1, _MESH) * (_INSIDE if way.area.disc else 1.0)
    mesh = np.stack(np.meshgrid(share, share), axis=-1)
    metres = way.area.middle + mesh * (np.array(way.area.high) - np.array(way.area.low)) / 2
    there = way.out(metres.reshape(-1, 2)).reshape(mesh.shape)
    with np.errstate(invalid="ignore"):
        largest = max([_over(way, there), *(_around(way, system, there.reshape(-1, 2)) for system in apart)])
    if not largest <= _LIMIT:
        known = f"it is {largest:.2g} m" if math.isfinite(largest) else "it cannot be measured"
        raise _refused(way, known)
    return max(largest, _FLOOR * len(apart))


def _method(system: Any) -> str:
    operation = system.coordinate_operation
    return "" if operation is None else str(operation.method_name)


def _refused(way: _Way, found: str) -> InvalidCoordinateSystem:
    allowed = f"a system that PROJ leads to {way.area.name} with an error of at most {_LIMIT:g} m: {found}"
    remedy = "Use x.to_crs(4326) and crs=gv.local(...): what that rounds is then part of the data."
    return InvalidCoordinateSystem("x.crs", way.own.name, allowed, remedy)


def _over(way: _Way, there: Floats) -> float:
    """Return the largest sixth difference on lines over the area, from about each point of a mesh to the next one."""
    largest, steps = -math.inf, 32
    for axis in (0, 1):
        gaps = np.abs(np.diff(there[..., axis], axis=1 - axis))
        if not np.isfinite(gaps).any():
            return math.inf
        apart = float(np.median(gaps[np.isfinite(gaps)]))
        step = 2.0 ** math.floor(math.log2(max(apart, 2.0**-20) / steps))
        start = np.rint(there.reshape(-1, 1, 2) / step) * step
        lines = np.repeat(start, steps + 6, axis=1)
        lines[..., axis] += step * np.arange(steps + 6)
        largest = max(largest, _sixth(way.into(lines.reshape(-1, 2)).reshape(lines.shape)))
    return largest if largest >= 0 else math.inf


def _sixth(flat: Floats) -> float:
    """Return the largest sixth difference along lines, or -inf if no line is all finite."""
    flat = flat[np.isfinite(flat).all(axis=(1, 2))]
    return float(np.max(np.abs(np.diff(flat, n=6, axis=1)), initial=-math.inf))


def _around(way: _Way, system: Any, there: Floats) -> float:
    """Return the largest sixth difference on short lines around the places that a system's map treats apart."""
    places = []
    for candidates in _apart(way, system, there):
        flat = way.into(candidates)
        sound = np.asarray(np.isfinite(candidates).all(axis=1) & np.isfinite(flat).all(axis=1))
        sound[sound] = ~way.area.outside(flat[sound])
        inside = candidates[sound]
        places.append(inside[np.linspace(0, len(inside) - 1, _PLACES).astype(int)] if len(inside) else inside)
    starts = np.repeat(np.concatenate(places), _LINES, axis=0)
    if not len(starts):
        return 0.0
    # Numbers that fill the cube evenly, the same in every run.
    even = np.arange(1, len(starts) + 1)[:, None] * np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0]) % 1
    metre = 1 / _DEGREE if way.own.is_geographic else 1 / float(way.own.axis_info[0].unit_conversion_factor)
    reach = min(way.area.radius, 1e6) / 2
    away = metre * _NEAREST * (reach / _NEAREST) ** even[:, :2] * np.where(even[:, 2:4] < 0.5, -1, 1)
    axis = (even[:, 4] < 0.5).astype(int)
    rows = np.arange(len(starts))
    finest = np.spacing(np.abs(starts).max() + metre * reach) * 2
    step = np.abs(away[rows, axis]) / 16 ** even[:, 5]
    step = 2.0 ** np.floor(np.log2(np.clip(step, finest, metre * reach / 256)))
    starts = starts + away
    starts[rows, axis] = np.rint(starts[rows, axis] / step) * step
    lines = np.repeat(starts[:, None], 7, axis=1)
    lines[rows, :, axis] += step[:, None] * np.arange(-3, 4)
    coords = lines.reshape(-1, 2)
    flat = way.into(coords)
    flat[~way.inside(coords, flat)] = np.nan
    return max(_sixth(flat.reshape(lines.shape)), 0.0)


def _apart(way: _Way, system: Any, there: Floats) -> Iterator[Floats]:
    """Yield the lines and places that a system's map treats apart, as coordinates of the data's system.

    Lines are drawn through the columns and rows of a mesh over the area, so that a part of each is in it.
    """
    import pyproj

    try:
        forward = pyproj.Transformer.from_crs(system.geodetic_crs, system, always_xy=True)
    except pyproj.exceptions.ProjError:
        raise _refused(way, "its formulas cannot be looked at") from None
    unit = float(system.axis_info[0].unit_conversion_factor)
    ours = system is way.own
    known = there[np.isfinite(there).all(axis=1)]
    mesh = known if ours else way.into(known) / unit
    degrees = np.column_stack(forward.transform(mesh[:, 0], mesh[:, 1], direction="INVERSE"))
    lon, lat = degrees[np.isfinite(degrees).all(axis=1)].T
    angles, lengths = _parameters(system)
    meridians = {*(around for at in angles["lon"] for around in (at, at + 90, at - 90)), 0.0}
    parallels = {*angles["lat"], 0.0, 90.0, -90.0}
    origins = [np.array(forward.transform(east, north)) for east in meridians for north in parallels]
    origins.append(np.array(lengths))

    def own(coords: Floats) -> Floats:
        coords = coords[np.isfinite(coords).all(axis=1)]
        return coords if ours or not len(coords) else way.out(coords * unit)

    for at in sorted(parallels):
        yield own(np.column_stack(forward.transform(lon, np.full_like(lat, at))))
    for at in sorted(meridians):
        yield own(np.column_stack(forward.transform(np.full_like(lon, at), lat)))
    for origin in origins:
        if np.isfinite(origin).all():
            yield own(origin[None])
    for x in {float(origin[0]) for origin in origins if np.isfinite(origin).all()}:
        yield own(np.column_stack([np.full(len(mesh), x), mesh[:, 1]]))
    for y in {float(origin[1]) for origin in origins if np.isfinite(origin).all()}:
        yield own(np.column_stack([mesh[:, 0], np.full(len(mesh), y)]))


def _parameters(system: Any) -> tuple[dict[str, list[float]], list[float]]:
    """Return the longitudes and latitudes that a map is made with, in degrees, and its false easting and northing."""
    angles: dict[str, list[float]] = {"lon": [], "lat": []}
    lengths = {"east": 0.0, "north": 0.0}
    unit = float(system.axis_info[0].unit_conversion_factor)
    for parameter in system.coordinate_operation.params:
        name = parameter.name.casefold()
        if "longitude" in name or "meridian" in name:
            angles["lon"].append(math.degrees(parameter.value * parameter.unit_conversion_factor))
        elif "latitude" in name or "parallel" in name:
            angles["lat"].append(math.degrees(parameter.value * parameter.unit_conversion_factor))
        elif "easting" in name or "northing" in name:
            side = "east" if "easting" in name else "north"
            lengths[side] = parameter.value * parameter.unit_conversion_factor / unit
    return angles, list(lengths.values())
