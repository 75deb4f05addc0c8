"""What PROJ rounds: also where its formulas treat a place apart, in strips that are a millimetre wide."""

from __future__ import annotations

import contextlib
from typing import Any

import geopandas
import numpy as np
import pyproj
import pytest
from numpy.typing import NDArray

import geoveil as gv
from geoveil.errors import InvalidCoordinateSystem
from geoveil.geo.areas import Area
from geoveil.geo.planes import plane_of

Floats = NDArray[np.float64]

#: A system, an area, a place that its map treats apart, the axis along which to leave it, and a metre in units.
APART = [
    ("EPSG:5880", gv.local(lat=0, lon=-54, radius=50_000), (5_020_000.0, 1e7), 1, 1.0),
    ("EPSG:3035", gv.local(lat=52, lon=10, radius=50_000), (4_321_000.0, 3_210_000.0), 0, 1.0),
    ("EPSG:27705", gv.local(lat=52, lon=-97.5, radius=50_000), (8264722.177, 4867518.353), 0, 1.0),
    ("EPSG:4675", 3295, (138.16874444444443, 9.546708333333333), 1, 1 / 110_600),
    ("EPSG:4326", 5880, (-50.0, 0.0), 1, 1 / 110_574),
    ("ESRI:54049", gv.local(lat=0, lon=0, radius=50_000), (0.0, 0.0), 0, 1.0),
]


def apart(own: str, crs: Any, place: Any, axis: int, metre: float) -> tuple[float, float]:
    """How far points 10 micrometres apart, near a place, are apart in the plane at most, and what is promised."""
    plane = plane_of(pyproj.CRS(own), crs)
    one = np.tile(np.array(place), (20_000, 1))
    one[:, axis] += np.geomspace(1e-6, 1e-2, len(one)) * metre
    other = one.copy()
    other[:, axis] += 1e-5 * metre
    away = np.hypot(*(plane.into(other) - plane.into(one)).T)
    return float(away.max()), plane.area.stretch * 1e-5 * 1.1 + 2 * plane.rounding


@pytest.mark.slow
@pytest.mark.parametrize(("own", "crs", "place", "axis", "metre"), APART)
def test_snapping_counts_as_rounding(own: str, crs: Any, place: Any, axis: int, metre: float) -> None:
    """PROJ moves points that are nearer than 0.64 mm to the origin, or to the equator, onto it."""
    most, promised = apart(own, crs, place, axis, metre)
    assert most > 5e-4
    assert most <= promised < 1.2


def test_cancellation_counts_as_rounding() -> None:
    """The polyconic map's 1 - cos loses its digits within a metre of the equator: centimetres, far from its axis."""
    plane = plane_of(pyproj.CRS(4326), 5880)
    rng = np.random.default_rng(1)
    one = np.column_stack([rng.uniform(-30, -26, 50_000), 10.0 ** rng.uniform(-7, -5, 50_000)])
    away = np.hypot(*(plane.into(one + np.array([0, 1e-8])) - plane.into(one)).T)
    assert 1e-2 < away.max() <= 1.5e-3 + 2 * plane.rounding


@pytest.mark.parametrize("own", ["EPSG:6931", "EPSG:3574"])
def test_azimuthal_poles(own: str) -> None:
    """The inverse of Lambert's azimuthal map has half of the digits there: a tenth of a metre."""
    crs = pyproj.CRS(own)
    area = gv.local(lat=90, lon=0, radius=50_000)
    plane = plane_of(crs, area)
    with contextlib.suppress(InvalidCoordinateSystem):
        stated = plane.rounding
        one = np.column_stack([np.geomspace(1e-3, 100, 20_000), np.zeros(20_000)])
        away = np.hypot(*(plane.into(one + np.array([1e-5, 0])) - plane.into(one)).T)
        assert away.max() <= 2e-5 + 2 * stated
    assert plane_of(crs, gv.local(lat=70, lon=0, radius=50_000)).rounding < 0.01


@pytest.mark.parametrize("own", ["ESRI:54029", "ESRI:54031"])
def test_inaccurate_systems_are_refused(own: str) -> None:
    """Points a millimetre apart can be a hundred metres apart after PROJ."""
    area = gv.local(lat=0, lon=0, radius=300_000)
    x = geopandas.GeoSeries.from_xy([10.0], [20.0], crs=4326).set_crs(own, allow_override=True)
    plane = plane_of(pyproj.CRS(own), area)
    with pytest.raises(InvalidCoordinateSystem, match="lose their digits"):
        plane.rounding  # noqa: B018 - looked at, and refused
    with pytest.raises(gv.errors.InvalidInput):
        gv.Locations(x, area=area).points(rho=1e-4)


@pytest.mark.parametrize("own", ["ESRI:54044", "ESRI:53044", "ESRI:54076", "EPSG:22700"])
def test_irreversible_systems_are_refused(own: str) -> None:
    """Systems that PROJ cannot lead out of are refused.

    With the library's own error, whatever PROJ's is; or they are taken, if PROJ can after all.
    """
    try:
        found = plane_of(pyproj.CRS(own), gv.local(lat=36, lon=36, radius=50_000)).rounding
    except InvalidCoordinateSystem:
        return
    assert 0 < found <= 1


@pytest.mark.slow
@pytest.mark.parametrize("own", [f"ESRI:10203{i}" for i in (4, 5, 6, 7)])
@pytest.mark.parametrize("lat", [90, -90, 0, 45])
def test_unmeasurable_rounding_is_refused(own: str, lat: float) -> None:
    """Gnomonic and orthographic maps end, and where they do there is nothing to measure."""
    try:
        found = plane_of(pyproj.CRS(own), gv.local(lat=lat, lon=0, radius=50_000)).rounding
    except InvalidCoordinateSystem:
        return
    assert 2e-3 <= found <= 1


#: Systems that people use, places in them, and the most that they may be said to round.
ORDINARY = [
    (32633, gv.local(lat=0, lon=15, radius=50_000), 1e-6),
    (31467, gv.local(lat=50, lon=9, radius=50_000), 1e-6),
    (26943, gv.local(lat=37.5, lon=-121, radius=50_000), 1e-6),
    (2154, gv.local(lat=46.5, lon=3, radius=500_000), 1e-6),
    (27700, gv.local(lat=52, lon=-2, radius=300_000), 1e-6),
    (3031, gv.local(lat=-90, lon=0, radius=50_000), 1e-6),
    (3035, gv.local(lat=48, lon=2, radius=50_000), 3e-3),
    (2056, gv.local(lat=47, lon=7.44, radius=50_000), 3e-3),
    (28992, gv.local(lat=52, lon=5, radius=50_000), 3e-3),
    (5514, gv.local(lat=49.8, lon=15.5, radius=200_000), 3e-3),
    (3857, gv.local(lat=48, lon=2, radius=50_000), 3e-3),
]


@pytest.mark.slow
@pytest.mark.parametrize(("own", "area", "most"), ORDINARY)
def test_ordinary_systems_are_taken(own: int, area: Area, most: float) -> None:
    """Ordinary systems are accepted; places that PROJ treats apart count as rounding by at least 2 mm."""
    found = plane_of(pyproj.CRS(own), area).rounding
    assert found < most
    assert (found >= 2e-3) == (most == 3e-3)
