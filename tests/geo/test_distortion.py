"""Planes of registered systems: maps with cuts are refused, and scales hold between any two points of the area."""

from __future__ import annotations

from typing import Any

import geopandas
import numpy as np
import pyproj
import pytest
from flint import arb
from numpy.typing import NDArray
from pyproj.database import query_crs_info
from pyproj.enums import PJType

import geoveil as gv
from geoveil.errors import InvalidCoordinateSystem
from geoveil.geo import planes
from geoveil.geo.areas import Area, area_of
from geoveil.geo.distortion import measure_distortion
from geoveil.geo.planes import Plane

Floats = NDArray[np.float64]

EARTH = pyproj.Geod(ellps="WGS84")
WGS84 = pyproj.CRS(4326)


def system(text: str, west: float, south: float, east: float, north: float) -> Any:
    """A system with an area of use."""
    box = {"south_latitude": south, "west_longitude": west, "north_latitude": north, "east_longitude": east}
    made = pyproj.CRS(f"{text} +datum=WGS84 +type=crs").to_json_dict()
    return pyproj.CRS.from_json_dict({**made, "scope": "a test", "area": "a test", "bbox": box})


CONICS = {
    "lambert": "+proj=lcc +lat_1=65 +lat_2=75 +lat_0=70 +lon_0={}",
    "albers": "+proj=aea +lat_1=65 +lat_2=75 +lat_0=70 +lon_0={}",
    "equidistant": "+proj=eqdc +lat_1=65 +lat_2=75 +lat_0=70 +lon_0={}",
    "thin": "+proj=lcc +lat_1=88 +lat_2=89 +lat_0=89 +lon_0={}",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", CONICS)
@pytest.mark.parametrize("turn", [160.0, 175.0, 180.0, -172.5])
def test_cut_maps_are_refused(kind: str, turn: float) -> None:
    """Points on two sides of a cone's cut are neighbours on the ground and far apart in the plane."""
    around = system(CONICS[kind].format(10 - turn), -40, 60, 60, 85)
    with pytest.raises(InvalidCoordinateSystem, match="continuous and one-to-one"):
        measure_distortion(around)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lambert", "albers", "equidistant"])
def test_cut_maps_elsewhere(kind: str) -> None:
    """Maps with a cut are planes where the cut is outside of the area."""
    for turn in (0.0, 20.0, -60.0):
        *_, stretch, shrink = measure_distortion(system(CONICS[kind].format(10 - turn), -10, 62, 30, 78))
        assert 1 <= stretch < 1.2
        assert 0.85 < shrink <= 1


@pytest.mark.parametrize("shape", ["+R=6370997", "+R=1737400", "+a=6378137 +b=6350000"])
def test_other_bodies_are_refused(shape: str) -> None:
    """A metre of a sphere is not a metre of the Earth: they differ by up to a third of a hundredth."""
    made = system("+proj=laea +lat_0=45 +lon_0=10", 0, 40, 20, 50).to_json_dict()
    other = pyproj.CRS(f"+proj=laea +lat_0=45 +lon_0=10 {shape} +type=crs").to_json_dict()
    with pytest.raises(InvalidCoordinateSystem, match="ellipsoid of the Earth"):
        measure_distortion(
            pyproj.CRS.from_json_dict(other | {"bbox": made["bbox"], "scope": "a test", "area": "a test"})
        )


def ratios(area: Area, one: Floats, other: Floats) -> Floats:
    """Plane distance over ground distance, of pairs of points in metres of the area."""
    plane = Plane(WGS84, area)
    places = [plane.out(points) for points in (one, other)]
    ground = np.asarray(EARTH.inv(*places[0].T, *places[1].T)[2])
    return np.asarray(np.hypot(*(one - other).T) / ground)


def extremes(area: Area, count: int, seed: int) -> tuple[float, float]:
    """The smallest and largest ratio between random pairs, near and far, many of them on the edges."""
    rng = np.random.default_rng(seed)
    middle, half = area.middle, (np.array(area.high) - np.array(area.low)) / 2

    def points() -> Floats:
        square = rng.uniform(-1, 1, size=(count, 2))
        edge = rng.random(count) < 0.5
        square[edge, rng.integers(2, size=edge.sum())] = rng.choice([-1.0, 1.0], size=edge.sum())
        return np.asarray(middle + square * half)

    one, other = points(), points()
    apart = np.where(rng.random(count) < 0.5, 1.0, 10 ** rng.uniform(-4, 0, count))
    near = one + (other - one) * apart[:, None]
    far = np.hypot(*(one - near).T) > 10
    found = ratios(area, one[far], near[far])
    return float(found.min()), float(found.max())


#: Universal and other transverse Mercators, state planes in feet, equal areas, Swiss, British, French, polar, oblique.
ORDINARY = [32610, 32733, 25832, 31467, 2227, 2263, 3035, 2056, 21781, 27700, 2154, 5070, 3031, 32661, 2193]


@pytest.mark.parametrize("code", ORDINARY)
def test_ordinary_systems_are_planes(code: int) -> None:
    """Ordinary systems are planes in which no two points of the area are farther apart, or nearer, than they say."""
    area = area_of(code)
    least, most = extremes(area, 3000, code)
    assert area.shrink <= least <= most <= area.stretch


@pytest.mark.long
def test_every_plane_of_epsg() -> None:
    """Every projected system of EPSG that is accepted: pairs of points, near and far, and the way back."""
    accepted = 0
    for info in query_crs_info(auth_name="EPSG", pj_types=[PJType.PROJECTED_CRS]):
        try:
            area = area_of(int(info.code))
        except InvalidCoordinateSystem:
            continue
        accepted += 1
        least, most = extremes(area, 600, int(info.code))
        assert area.shrink <= least, info
        assert most <= area.stretch, info
    assert accepted > 5000


@pytest.mark.parametrize(
    ("own", "area"),
    [
        (4326, gv.local(lat=37.77, lon=-122.42, radius=50_000)),
        (4258, gv.local(lat=52.5, lon=13.4, radius=50_000)),
        (32610, area_of(32610)),
        (2227, area_of(2227)),
    ],
)
def test_without_proj_no_rounding(own: int, area: Area) -> None:
    """Degrees in a tangent plane, and coordinates of the plane's own system, also in feet."""
    plane = Plane(pyproj.CRS(own), area)
    assert plane.rounding == 0
    rng = np.random.default_rng(1)
    metres = area.middle + rng.uniform(-0.3, 0.3, size=(50, 2)) * (np.array(area.high) - np.array(area.low))
    found = plane.enter(plane.out(metres))
    off = [abs(float(found.ball(i, 128) - arb(float(found.values.flat[i])))) for i in range(found.values.size)]
    assert max(off) <= found.error <= 1e-6
    release = gv.Locations(geopandas.GeoSeries.from_xy(*plane.out(metres).T, crs=own), area=area).points(rho=1e-4)
    assert release.certificate()["rounding"] == 0
    assert release.exact


#: Systems and areas between which there is PROJ, and what it rounds, about, with a tenfold margin.
THROUGH = [
    (4326, area_of(32610), 1e-6),
    (32610, gv.local(lat=37.77, lon=-122.42, radius=50_000), 1e-6),
    (31467, gv.local(lat=50.0, lon=9.0, radius=50_000), 1e-6),
    (4326, area_of(3035), 3e-3),
    # Iterations that end early: Cassini-Soldner, and the grid of Madagascar.
    (28191, area_of(32636), 3e-3),
    (8441, gv.local(lat=-18.9, lon=47.5, radius=500_000), 3e-3),
]


@pytest.mark.slow
@pytest.mark.parametrize(("own", "area", "most"), THROUGH)
def test_proj_rounding_is_bounded(own: int, area: Area, most: float) -> None:
    """PROJ rounds no more than is said.

    On other lines than the measurement's; a jump of what is said has a sixth difference ten times as large.
    """
    plane = Plane(pyproj.CRS(own), area)
    assert 1e-9 < plane.rounding < most
    rng = np.random.default_rng(2)
    metres = area.middle + rng.uniform(-0.3, 0.3, size=(400, 2)) * (np.array(area.high) - np.array(area.low))
    step = 2.0**-16 if plane._degrees else 2.0**2
    start = np.rint(plane.out(metres) / step) * step
    for direction in ([1, 0], [0, 1], [1, 1]):
        lines = start[:, None] + np.multiply.outer(np.arange(64), direction) * step
        flat = plane.into(lines.reshape(-1, 2)).reshape(lines.shape)
        assert np.abs(np.diff(flat, n=6, axis=1)).max() <= 5 * plane.rounding
    release = gv.Locations(geopandas.GeoSeries.from_xy(*plane.out(metres[:5]).T, crs=own), area=area).mean(rho=1e-4)
    assert release.certificate()["rounding"] == plane.rounding


def test_jumping_maps_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a hundredth of a millimetre, along one line across the area."""
    area = gv.local(lat=37.77, lon=-122.42, radius=51_000)
    honest = Plane.into

    def torn(self: Plane, coords: Floats) -> Floats:
        flat = honest(self, coords)
        return flat + 1e-5 * (flat[:, :1] > 3 * flat[:, 1:] + 7000)

    assert Plane(pyproj.CRS(32610), area).rounding < 1e-6
    planes._rounding.cache_clear()
    monkeypatch.setattr(Plane, "into", torn)
    assert Plane(pyproj.CRS(32610), area).rounding > 9e-5
    planes._rounding.cache_clear()
