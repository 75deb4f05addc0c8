"""Measure, with margins, how much a registered system stretches and shrinks distances over its area of use.

A system is accepted only if its projection is continuous and one-to-one there. Then the plane distance of two points
is at most the largest scale along the geodesic between them, times its length.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from geoveil.errors import InvalidCoordinateSystem, Message
from geoveil.geo.geometries import Floats

if TYPE_CHECKING:
    import pyproj

__all__ = ["earth", "measure_distortion"]

#: West, south, east and north.
Bounds: TypeAlias = tuple[float, float, float, float]
#: The fields of an `Area` after its name and system: two corners, no disc, a window, stretch and shrink.
Box: TypeAlias = tuple[tuple[float, float], tuple[float, float], None, Bounds | None, float, float]

#: Largest ratio of scales within the area of a system; less uniform systems are refused.
_UNEVEN = 1.5
#: Margin added to scales, which PROJ computes by finite differences with errors of some 1e-7.
_MARGIN = 1e-5
#: Margin for the length of a metre on an older ellipsoid, and the largest relative difference of its axes.
_OLDER, _AXES = 3e-4, 2e-4
#: The mesh extends beyond the box by this fraction of its size on every side, and has this many points along a side.
_BEYOND, _MESH = 0.05, 111
#: Points are clamped to the box from within a fortieth of its size: the mesh points beyond that, on every side.
_RIM = 2
_USE = Message("Use {area:gv.local}.")


@functools.cache
def earth() -> pyproj.Geod:
    """Return the ellipsoid of WGS 84, for lengths and directions on the ground."""
    import pyproj

    return pyproj.Geod(ellps="WGS84")


def _geod(flat: pyproj.CRS) -> pyproj.Geod:
    geod = flat.get_geod()
    assert geod is not None
    return geod


@functools.lru_cache(maxsize=64)
def measure_distortion(flat: pyproj.CRS) -> Box:
    """Measure the distortion of a registered, projected system over its area of use.

    Systems that are not continuous, one-to-one and nearly uniform there are refused.
    """
    import pyproj

    geographic = flat.geodetic_crs
    # It is registered and projected, so that it has all of these.
    assert geographic is not None
    assert flat.area_of_use is not None
    meridian, ellipsoid = geographic.prime_meridian, geographic.ellipsoid
    assert meridian is not None
    assert ellipsoid is not None
    if meridian.longitude != 0 or geographic.axis_info[0].unit_name != "degree":
        allowed = "a system whose longitudes are degrees from Greenwich"
        raise InvalidCoordinateSystem("area", flat.name, allowed, _USE)
    axes = ellipsoid.semi_major_metre / earth().a, ellipsoid.semi_minor_metre / earth().b
    if not all(abs(ratio - 1) <= _AXES for ratio in axes):
        allowed = "a system on an ellipsoid of the Earth, and not on a sphere or another body"
        raise InvalidCoordinateSystem("area", flat.name, allowed, _USE)
    try:
        forward = pyproj.Transformer.from_crs(geographic, flat, always_xy=True)
        pyproj.Proj(flat).get_factors(0.0, 0.0)
    except pyproj.exceptions.ProjError:
        raise InvalidCoordinateSystem("area", flat.name, "a system whose scale PROJ can compute", _USE) from None
    unit = float(flat.axis_info[0].unit_conversion_factor)
    west, south, east, north = flat.area_of_use.bounds
    bounds = forward.transform_bounds(west, south, east, north, densify_pts=101)
    if not np.isfinite(bounds).all():
        raise InvalidCoordinateSystem("area", flat.name, "a system that is defined on all of its area", _USE)
    stretch, shrink = _scales(flat, forward, bounds, unit)
    if ellipsoid.name not in ("WGS 84", "GRS 1980"):
        # Lengths on an older ellipsoid differ by about a ten-thousandth.
        stretch, shrink = stretch * (1 + _OLDER), shrink * (1 - _OLDER)
    if not stretch / shrink <= _UNEVEN:
        raise InvalidCoordinateSystem(
            "area",
            flat.name,
            "a system with nearly uniform scale: in this one, a metre is "
            f"{1 / stretch:.2g} to {1 / shrink:.2g} m on the ground",
            _USE,
        )
    low, high = (unit * bounds[0], unit * bounds[1]), (unit * bounds[2], unit * bounds[3])
    # Rounded up to seven digits, since budgets read floats as decimals.
    return low, high, None, _window(forward, (west, south, east, north)), math.ceil(stretch * 1e7) / 1e7, shrink


def _scales(flat: pyproj.CRS, forward: pyproj.Transformer, bounds: Bounds, unit: float) -> tuple[float, float]:
    """Bound the scale in a box of the plane, and along the geodesics between its points.

    Between two points of the mesh, the scale exceeds that at both by less than the difference of neighbours; twice the
    largest difference is added.
    """
    import pyproj

    west, south, east, north = bounds
    across, up = (
        np.linspace(low - _BEYOND * (high - low), high + _BEYOND * (high - low), _MESH)
        for low, high in ((west, east), (south, north))
    )
    mesh = np.meshgrid(across, up)
    lon, lat = (np.asarray(part) for part in forward.transform(*mesh, direction="INVERSE"))
    known = np.isfinite(lon) & np.isfinite(lat)
    lon, lat = np.where(known, lon, 0.0), np.where(known, lat, 0.0)
    factors = pyproj.Proj(flat).get_factors(lon, lat)
    scales = np.array([factors.tissot_semiminor, factors.tissot_semimajor])
    scales[~(np.isfinite(scales) & known)] = np.nan
    inner = (slice(None), slice(6, -6), slice(6, -6))
    if not np.isfinite(scales[inner]).all():
        raise _torn(flat)
    step = 2 * max(float(np.nanmax(np.abs(np.diff(scales, axis=axis)))) for axis in (1, 2))
    rim = np.r_[_RIM : _MESH - _RIM : 10, _MESH - _RIM - 1]
    # Points along the rim, and a few inside.
    some = np.zeros_like(known)
    some[_RIM, rim] = some[-_RIM - 1, rim] = some[rim, _RIM] = some[rim, -_RIM - 1] = True
    some[15:-15:27, 15:-15:27] = True
    some &= known
    ways, pieces = _between(flat, forward, lon[some], lat[some], unit)
    largest, least = (float(end([end(scales), end(ways)])) for end in (np.nanmax, np.nanmin))
    stretch, shrink = largest + step + _MARGIN, max(least - step - _MARGIN, 1e-9)
    _refuse_pieces(flat, forward, np.array(mesh), (lon, lat), unit, stretch, shrink)
    if not (pieces <= stretch).all():
        raise _torn(flat)
    return stretch, shrink


def _between(
    flat: pyproj.CRS, forward: pyproj.Transformer, lon: Floats, lat: Floats, unit: float
) -> tuple[Floats, Floats]:
    """Return scales along the geodesics between points, and ratios of plane to ground distance on pieces of these.

    Geodesics between points of a box far from the equator may leave it. Where one crosses a cut of the projection, the
    plane distance is far too long.
    """
    import pyproj

    count = 21
    one, other = np.triu_indices(len(lon), k=1)
    geod = _geod(flat)
    azimuth, _, away = (np.asarray(part) for part in geod.inv(lon[one], lat[one], lon[other], lat[other]))
    shares = np.linspace(0, 1, count)[:, None]
    start = [np.broadcast_to(part[one], (count, len(one))).ravel() for part in (lon, lat)]
    turned = np.broadcast_to(azimuth, (count, len(one))).ravel()
    along = geod.fwd(start[0], start[1], turned, (shares * away).ravel())[:2]
    factors = pyproj.Proj(flat).get_factors(along[0], along[1])
    scales = np.array([factors.tissot_semiminor, factors.tissot_semimajor])
    there = np.array(forward.transform(*along)).reshape(2, count, -1) * unit
    pieces = np.hypot(*np.diff(there, axis=1)) / np.maximum(away / (count - 1), 1e-3)
    return np.where(np.isfinite(scales), scales, np.nan), pieces


def _refuse_pieces(
    flat: pyproj.CRS,
    forward: pyproj.Transformer,
    mesh: Floats,
    degrees: tuple[Floats, Floats],
    unit: float,
    most: float,
    least: float,
) -> None:
    """Refuse a projection that is not continuous and one-to-one over the box.

    The inverse followed by the projection must return to the same point; neighbours in the plane must be neighbours on
    the ground; and the box must not contain both sides of the meridian opposite to the central one, where most
    projections are cut.
    """
    inner = slice(_RIM, -_RIM), slice(_RIM, -_RIM)
    lon, lat = (part[inner] for part in degrees)
    plane = [part[inner] for part in mesh]
    back = forward.transform(lon, lat)
    off = np.hypot(*(np.asarray(there) - here for there, here in zip(back, plane, strict=True))) * unit
    if not (off < 1).all():
        raise _torn(flat)
    for before, after in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        ground = np.asarray(_geod(flat).inv(lon[before], lat[before], lon[after], lat[after])[2])
        apart = np.hypot(*(part[after] - part[before] for part in plane)) * unit
        if not ((apart <= most * ground) & (apart >= least * ground)).all():
            raise _torn(flat)
    low, high = (np.array([end(part) for part in plane]) for end in (np.min, np.max))
    up = np.linspace(-90, 90, 3601)[1:-1]
    assert flat.coordinate_operation is not None
    for parameter in flat.coordinate_operation.params:
        if "ongitude" not in parameter.name or parameter.unit_name != "degree":
            continue
        central = float(parameter.value)
        sides, inside = [], np.ones(len(up), dtype=bool)
        for side in (central + 180 - 1e-9, central - 180 + 1e-9):
            there = np.array(forward.transform(np.full_like(up, side), up)).T
            again = np.array(forward.transform(there[:, 0], there[:, 1], direction="INVERSE")).T
            # Points that the projection folds onto others are not counted here: they are refused individually.
            again[~np.isfinite(again)] = np.nan
            off = np.abs((again[:, 0] - side + 180) % 360 - 180) * np.cos(np.radians(up)) + np.abs(again[:, 1] - up)
            inside &= ((there >= low) & (there <= high)).all(axis=1) & (off < 1e-5)
            sides.append(there)
        if (np.hypot(*(sides[0][inside] - sides[1][inside]).T) * unit > 1).any():
            raise _torn(flat)


def _torn(flat: pyproj.CRS) -> InvalidCoordinateSystem:
    allowed = "a system that is continuous and one-to-one over its area: this one has a cut, a fold or an end there"
    return InvalidCoordinateSystem("area", flat.name, allowed, _USE)


def _window(forward: pyproj.Transformer, bounds: Bounds) -> Bounds | None:
    """Return the bounds of an area in degrees if the projection is one-to-one on them, else None.

    On a mesh with a margin, the projection followed by its inverse must return to the same point.
    """
    west, south, east, north = bounds
    east += 360 if east < west else 0
    margin = 0.02 * max(east - west, north - south)
    mesh = np.meshgrid(
        np.linspace(west - margin, east + margin, 101),
        np.linspace(max(south - margin, -90.0), min(north + margin, 90.0), 101),
    )
    lon, lat = (np.asarray(part) for part in forward.transform(*forward.transform(*mesh), direction="INVERSE"))
    off = np.abs((lon - mesh[0] + 180) % 360 - 180) * np.cos(np.radians(mesh[1])) + np.abs(lat - mesh[1])
    return (west, south, east, north) if (off < 1e-5).all() else None
