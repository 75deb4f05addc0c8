"""Measure the error of PROJ's projections in doubles, for which PROJ states no bounds.

Sixth differences of a smooth function over equal steps vanish, provided that doubles add the steps without rounding.
If the function jumps by e, one of them is at least 10 e; if doubles have random errors of up to e, they reach 64 e.
The largest one is taken, on two kinds of lines:

- lines all over the area, for the rounding errors that PROJ makes everywhere;
- lines around the singular places of PROJ's formulas: the origin and the axes of the projection, the equator, the
  poles, and the parallels and meridians among its parameters. PROJ treats points within 1e-10 radians of some of them
  as being exactly there, and loses half of the digits near others. Such strips are a millimetre wide, so these lines
  are at distances of 1e-9 m up to the size of the area, with matching steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from geoveil.errors import InvalidCoordinateSystem, Message
from geoveil.geo.geometries import Floats

if TYPE_CHECKING:
    import pyproj

    from geoveil.geo.planes import Plane

__all__ = ["measure_rounding"]

#: Projection methods without singular places: none was found on lines around all candidates.
_SMOOTH = ("Transverse Mercator", "Lambert Conic Conformal", "Polar Stereographic")
#: Projection methods whose inverse in PROJ loses all digits close to the axes.
_LOSSY = ("Van Der Grinten", "Two Point Equidistant")
#: Least error assumed for every other method, in metres: three times 1e-10 radians.
_FLOOR = 2e-3
#: Systems with a larger error, in metres, are refused.
_LIMIT = 1.0
#: Points along a side of the mesh over the area, and the side of the mesh in a disc relative to the square around it.
_MESH, _INSIDE = 24, 0.7
#: Points sampled on each singular line, test lines around each point, and their smallest distance in metres.
_PLACES, _LINES, _NEAREST = 16, 64, 1e-9
#: Approximate metres in a degree.
_DEGREE = 111e3


def measure_rounding(plane: Plane) -> float:
    """Measure the error of PROJ's doubles in a projection, in metres.

    Systems for which it is more than a metre, or cannot be measured, are refused.
    """
    # Tangent planes are not projected by PROJ.
    systems = [plane.crs] if plane.area.disc else [plane.crs, plane.area.crs]
    singular = [each for each in systems if each.is_projected and not _method(each).startswith(_SMOOTH)]
    for system in singular:
        if _method(system).startswith(_LOSSY):
            raise _refused(plane, f"its formulas for {_method(system)} lose their digits near the axes")
    share = np.linspace(-1, 1, _MESH) * (_INSIDE if plane.area.disc else 1.0)
    mesh = np.stack(np.meshgrid(share, share), axis=-1)
    metres = plane.area.middle + mesh * (np.array(plane.area.high) - np.array(plane.area.low)) / 2
    there = plane.out(metres.reshape(-1, 2)).reshape(mesh.shape)
    with np.errstate(invalid="ignore"):
        largest = max([_over(plane, there), *(_around(plane, system, there.reshape(-1, 2)) for system in singular)])
    if not largest <= _LIMIT:
        known = f"the error is {largest:.2g} m" if math.isfinite(largest) else "the error cannot be measured"
        raise _refused(plane, known)
    return max(largest, _FLOOR * len(singular))


def _method(system: pyproj.CRS) -> str:
    operation = system.coordinate_operation
    return "" if operation is None else str(operation.method_name)


def _refused(plane: Plane, measured: str) -> InvalidCoordinateSystem:
    allowed = f"a system that PROJ projects to {plane.area.name} with an error of at most {_LIMIT:g} m: {measured}"
    remedy = Message("Use {x.to_crs} and {area:gv.local}: its rounding is then part of the data.")
    return InvalidCoordinateSystem("x.crs", plane.crs.name, allowed, remedy)


def _over(plane: Plane, there: Floats) -> float:
    """Return the largest sixth difference on lines all over the area, from each point of a mesh to about the next."""
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
        largest = max(largest, _sixth(plane.into(lines.reshape(-1, 2)).reshape(lines.shape)))
    return largest if largest >= 0 else math.inf


def _sixth(flat: Floats) -> float:
    """Return the largest sixth difference along lines, or -inf if every line has a point that is not finite."""
    flat = flat[np.isfinite(flat).all(axis=(1, 2))]
    return float(np.max(np.abs(np.diff(flat, n=6, axis=1)), initial=-math.inf))


def _around(plane: Plane, system: pyproj.CRS, there: Floats) -> float:
    """Return the largest sixth difference on short lines around the singular places of a projected system."""
    places = []
    for candidates in _singular_places(plane, system, there):
        flat = plane.into(candidates)
        sound = np.asarray(np.isfinite(candidates).all(axis=1) & np.isfinite(flat).all(axis=1))
        sound[sound] = ~plane.area.outside(flat[sound])
        inside = candidates[sound]
        places.append(inside[np.linspace(0, len(inside) - 1, _PLACES).astype(int)] if len(inside) else inside)
    starts = np.repeat(np.concatenate(places), _LINES, axis=0)
    if not len(starts):
        return 0.0
    # A deterministic sequence that fills the unit cube evenly.
    even = np.arange(1, len(starts) + 1)[:, None] * np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0]) % 1
    metre = 1 / _DEGREE if plane.crs.is_geographic else 1 / float(plane.crs.axis_info[0].unit_conversion_factor)
    reach = min(plane.area.radius, 1e6) / 2
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
    flat = plane.into(coords)
    flat[~plane.inside(coords, flat)] = np.nan
    return max(_sixth(flat.reshape(lines.shape)), 0.0)


def _singular_places(plane: Plane, system: pyproj.CRS, there: Floats) -> Iterator[Floats]:
    """Yield the singular lines and points of a projected system, in coordinates of the data's system.

    Lines are sampled at the columns and rows of a mesh over the area, so that some points of each are inside.
    """
    import pyproj

    try:
        forward = pyproj.Transformer.from_crs(system.geodetic_crs, system, always_xy=True)
    except pyproj.exceptions.ProjError:
        raise _refused(plane, "its formulas cannot be examined") from None
    unit = float(system.axis_info[0].unit_conversion_factor)
    ours = system is plane.crs
    known = there[np.isfinite(there).all(axis=1)]
    mesh = known if ours else plane.into(known) / unit
    degrees = np.column_stack(forward.transform(mesh[:, 0], mesh[:, 1], direction="INVERSE"))
    lon, lat = degrees[np.isfinite(degrees).all(axis=1)].T
    angles, lengths = _parameters(system)
    meridians = {*(around for at in angles["lon"] for around in (at, at + 90, at - 90)), 0.0}
    parallels = {*angles["lat"], 0.0, 90.0, -90.0}
    origins = [np.array(forward.transform(east, north)) for east in meridians for north in parallels]
    origins.append(np.array(lengths))

    def own(coords: Floats) -> Floats:
        coords = coords[np.isfinite(coords).all(axis=1)]
        return coords if ours or not len(coords) else plane.out(coords * unit)

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


def _parameters(system: pyproj.CRS) -> tuple[dict[str, list[float]], list[float]]:
    """Return the longitudes and latitudes among the parameters of a projection, and its false easting and northing."""
    angles: dict[str, list[float]] = {"lon": [], "lat": []}
    lengths = {"east": 0.0, "north": 0.0}
    unit = float(system.axis_info[0].unit_conversion_factor)
    assert system.coordinate_operation is not None  # it is projected
    for parameter in system.coordinate_operation.params:
        name = parameter.name.casefold()
        if "longitude" in name or "meridian" in name:
            angles["lon"].append(math.degrees(float(parameter.value) * parameter.unit_conversion_factor))
        elif "latitude" in name or "parallel" in name:
            angles["lat"].append(math.degrees(float(parameter.value) * parameter.unit_conversion_factor))
        elif "easting" in name or "northing" in name:
            side = "east" if "easting" in name else "north"
            lengths[side] = float(parameter.value) * parameter.unit_conversion_factor / unit
    return angles, list(lengths.values())
