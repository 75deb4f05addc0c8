"""Areas: metres are metres on the ground, anywhere on Earth, and what a plane stretches is paid for."""

from __future__ import annotations

import copy
import math
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pyproj
import pytest
import shapely
from numpy.typing import NDArray
from scipy import stats

import geoveil as gv
from geoveil.errors import InvalidCoordinateSystem, InvalidData, InvalidParameter
from geoveil.geo.areas import Area, area_of
from geoveil.geo.planes import Plane
from tests.questions import release_of, session_of

Floats = NDArray[np.float64]

EARTH = pyproj.Geod(ellps="WGS84")
#: Latitude and longitude: the equator, San Francisco, the polar circle, Svalbard, the antimeridian, the poles.
PLACES = [(0.0, 9.0), (37.77, -122.42), (65.0, 20.0), (80.0, 15.0), (-17.0, 179.9999), (90.0, 0.0), (-89.9, 50.0)]
EVERYWHERE = pytest.mark.parametrize(("lat", "lon"), PLACES)
BAY = gv.local(lat=37.77, lon=-122.42, radius=50_000)


def degrees(lon: Any, lat: Any, **columns: Any) -> Any:
    """A GeoDataFrame of points in longitude and latitude."""
    return geopandas.GeoDataFrame(columns, geometry=geopandas.points_from_xy(lon, lat), crs=4326)


def around(lat: float, lon: float, reach: float, count: int, seed: int = 1) -> tuple[Floats, Floats]:
    """Longitudes and latitudes of places that are up to so far away."""
    rng = np.random.default_rng(seed)
    far, azimuth = reach * np.sqrt(rng.random(count)), rng.uniform(0, 360, count)
    found = EARTH.fwd(np.full(count, lon), np.full(count, lat), azimuth, far)
    return np.asarray(found[0]), np.asarray(found[1])


def law_holds(lon: Floats, lat: Floats, released: Floats, sigma: float) -> bool:
    """Whether ways from true to released places, on the ground, are normal with this deviation, in all directions."""
    azimuth, _, away = (np.asarray(part) for part in EARTH.inv(lon, lat, released[:, 0], released[:, 1]))
    if not stats.kstest(away, stats.rayleigh(scale=sigma).cdf).pvalue > 1e-6:
        return False
    # North and south, east and west: a plane that stretches one of them is noticed.
    along = away * np.cos(np.radians(azimuth)), away * np.sin(np.radians(azimuth))
    return all(stats.kstest(part, stats.norm(scale=sigma).cdf).pvalue > 1e-6 for part in along)


@pytest.mark.slow
@pytest.mark.statistical
@EVERYWHERE
def test_noise_is_ground_metres(lat: float, lon: float) -> None:
    """Noise is in metres on the ground.

    At every latitude, across the antimeridian and at the poles, in every direction.
    """
    sigma = 200.0
    x = around(lat, lon, 20_000, 20_000)
    release = gv.Locations(degrees(*x), person=range(20_000), area=gv.local(lat=lat, lon=lon, radius=25_000)).points(
        rho=1 / (2 * sigma**2)
    )
    released = shapely.get_coordinates(release.value.geometry.array)
    assert np.isfinite(released).all()
    assert law_holds(*x, released, sigma)
    assert not law_holds(*x, released, 1.05 * sigma)


@pytest.mark.statistical
def test_degrees_are_no_metres() -> None:
    """The same check notices noise in Mercator metres, and noise put on degrees, away from the equator."""
    sigma, count = 200.0, 20_000
    lat, lon = 65.0, 20.0
    x = around(lat, lon, 20_000, count)
    mercator = shapely.get_coordinates(degrees(*x).to_crs(3857).geometry.array)
    noisy = gv.Locations(mercator, person=range(count)).points(rho=1 / (2 * sigma**2)).value
    back = geopandas.GeoSeries.from_xy(*noisy.T, crs=3857).to_crs(4326)
    assert not law_holds(*x, shapely.get_coordinates(back.array), sigma)
    noise = np.random.default_rng(2).normal(size=(count, 2)) * sigma / 111_320
    assert not law_holds(*x, np.column_stack(x) + noise, sigma)


def ratios(area: Area, lon: Floats, lat: Floats) -> Floats:
    """Distances in the plane over those on the ground, between neighbours in a list of places."""
    flat = Plane(pyproj.CRS(4326), area).into(np.column_stack([lon, lat]))
    *_, ground = EARTH.inv(lon[:-1], lat[:-1], lon[1:], lat[1:])
    return np.asarray(np.linalg.norm(np.diff(flat, axis=0), axis=1) / ground)


@EVERYWHERE
@pytest.mark.parametrize("radius", [1_000.0, 50_000.0, 3_000_000.0])
def test_local_planes_stretch_little(lat: float, lon: float, radius: float) -> None:
    """Local planes stretch no more than they say.

    Not at all; and noise shrinks by no more than they say between any two places of the area.
    """
    area = gv.local(lat=lat, lon=lon, radius=radius)
    assert area.stretch == 1
    found = ratios(area, *around(lat, lon, 0.99 * radius, 4000))
    assert found.max() <= 1 + 1e-8
    assert found.min() >= area.shrink - 1e-8
    edge = [Plane(pyproj.CRS(4326), area).out(np.array([[0, radius * 0.9999], [0, radius]]))[:, i] for i in (0, 1)]
    assert ratios(area, *edge).min() <= area.shrink + 0.05 * (1 - area.shrink) + 1e-7


@pytest.mark.parametrize("code", [32610, 2227, 3035, 2154, 27700, 5070, 32661, 2056])
def test_systems_stretch_little(code: int) -> None:
    """Systems stretch no more than they say. Between places of the system's own area, near and far."""
    area = area_of(code)
    used: Any = pyproj.CRS(code).area_of_use
    west, south, east, north = used.bounds
    rng = np.random.default_rng(3)
    lon, lat = west + (east - west) * rng.random(6000), rng.uniform(south, north, 6000)
    for near in (1.0, 0.001):
        found = ratios(area, *(part[0] + near * (part - part[0]) for part in (lon, lat)))
        assert found.max() <= area.stretch
        assert found.min() >= area.shrink


def test_stretch_is_paid_for() -> None:
    """Where the plane stretches by a hundredth there is as much more noise, and the promise is what was asked."""
    far = area_of(3035)
    assert 1.01 < far.stretch < 1.2
    x = degrees([10.0], [45.0])
    for budget, factor in (({"rho": 1e-4}, math.sqrt(1 / 2e-4)), ({"epsilon": 0.01}, 100.0)):
        release = release_of("points", x, area=far, **budget)
        assert 1.01 * factor < release.scale == pytest.approx(far.stretch * factor, rel=1e-9)
        assert release.guarantee.budget == release_of("points", [[0.0, 0.0]], **budget).guarantee.budget
        assert release.certificate()["area"]["stretch"] == far.stretch
        assert release_of("points", x, area=BAY, outside="clamp", **budget).scale == pytest.approx(factor, rel=1e-9)


def test_guarantees_per_ground_metre() -> None:
    """The second guarantee is that of the noise, weaker by what the plane stretches."""
    far = area_of(3035)
    release = gv.Locations(degrees([10.0], [45.0]), area=far).points(rho=1e-4, method="both")
    assert release.guarantee == gv.CGP(rho=1e-4)
    plain = gv.Locations([[0.0, 0.0]]).points(rho=1e-4, method="both").also
    assert release.also is not None
    assert plain is not None
    assert float(release.also.budget) == pytest.approx(float(plain.budget), rel=1e-6)
    assert release.scale == pytest.approx(far.stretch / float(plain.budget), rel=1e-6)


def test_errors_beyond_the_area() -> None:
    """Errors on the ground are those of noise that leaves the area.

    Outside of the area the plane shrinks more: a bound of 500 km around an area of 1 km is longer on the ground.
    """
    small = gv.local(lat=45, lon=10, radius=1000)
    release = gv.Locations(degrees([10.0], [45.0]), area=small).points(rho=1 / (2 * 200_000**2))
    flat = release.mechanism.error(0.05)
    assert release.error(0.05) == small.ground(flat) > 1.002 * flat
    ends = Plane(pyproj.CRS(4326), small).out(np.array([[0.0, 0.0], [flat, 0.0], [0.0, -flat]]))
    away = EARTH.inv(*np.repeat(ends[:1], 2, axis=0).T, *ends[1:].T)[2]
    assert (flat / small.shrink + 1 < np.asarray(away)).all()
    assert (np.asarray(away) <= release.error(0.05)).all()
    planned = gv.plan("points", n=1, rho=1 / (2 * 200_000**2), beta=0.05, area=small)
    assert planned.error == release.error(0.05)


def test_projected_frames_need_none() -> None:
    """A projected frame needs no area; its noise grows by what the projection stretches."""
    x = degrees([-122.4], [37.7]).to_crs(32610)
    release = gv.Locations(x).points(rho=1e-4)
    assert release.scale == pytest.approx(area_of(32610).stretch * math.sqrt(1 / 2e-4))
    assert release.value.crs == x.crs
    assert release.error(0.05) == pytest.approx(release.mechanism.error(0.05) / area_of(32610).shrink)


def test_outside_points_are_refused() -> None:
    """Points outside of the area are refused with a message for their owner."""
    for lon, lat in ((-121.0, 37.77), (0.0, 1e-5), (0.0, 0.0), (57.58, -37.77)):
        with pytest.raises(InvalidData, match=r"x\[1\].*1 of 2 points.*area="):
            gv.Locations(degrees([-122.42, lon], [37.77, lat]), area=BAY).points(rho=1e-4)


def test_clamping_is_a_contraction() -> None:
    """The nearest point of an area is a contraction.

    Of the plane: released points that the map does not reach keep their error bound.
    """
    rng = np.random.default_rng(4)
    for area in (BAY, area_of(2056)):
        size = np.array(area.high) - np.array(area.low)
        a, b = (area.middle + rng.normal(size=(500, 2)) * size for _ in range(2))
        inside = area.nearest(a), area.nearest(b)
        assert not area.outside(inside[0]).any()
        before, after = (np.linalg.norm(p - q, axis=1) for p, q in ((a, b), inside))
        assert (after <= before * (1 + 1e-9)).all()


@EVERYWHERE
def test_unreachable_points_come_back(lat: float, lon: float) -> None:
    """Points that the map does not reach are moved to where it does, counted, and finite."""
    x = degrees([lon] * 50, [lat] * 50)
    for rho in (1e-9, 1e-13, 1e-16):
        release = gv.Locations(x, area=gv.local(lat=lat, lon=lon, radius=1000)).points(rho=rho)
        released = shapely.get_coordinates(release.value.geometry.array)
        assert np.isfinite(released).all()
        assert (np.abs(released) <= [180, 90]).all()
        assert release.certificate()["beyond_the_map"] == release.beyond
    assert release.beyond > 40


@pytest.mark.slow
def test_every_question_takes_degrees() -> None:
    """With a budget so large that noise is nothing, answers are the truth, in degrees or in metres."""
    lon, lat = around(37.77, -122.42, 10_000, 30)
    x = degrees(lon, lat)
    how: Any = {"rho": 1e8, "area": BAY}
    to = EARTH.inv(lon, lat, np.full(30, -122.4), np.full(30, 37.8))[2]
    flat = x.to_crs(BAY.crs)
    coords = shapely.get_coordinates(flat.geometry.array)
    assert release_of("nearest", x, (-122.4, 37.8), k=3, **how).value.tolist() == np.argsort(to)[:3].tolist()
    assert release_of("distance", x, (-122.4, 37.8), **how).value == pytest.approx(min(to), abs=1)
    assert release_of("first_within", x, (-122.4, 37.8), radius=3000, **how).value == int(
        (np.array(to) < 3000).argmax()
    )
    assert release_of("distance", x, shapely.box(-122.5, 37.5, -122.3, 37.6), **how).value > 0
    assert release_of("bounds", x, **how).value == pytest.approx(
        [lon.min(), lat.min(), lon.max(), lat.max()], abs=1e-3
    )
    middle = release_of("mean", x, **how).value
    assert (middle.x, middle.y) == pytest.approx((lon.mean(), lat.mean()), abs=1e-4)
    hull = release_of("hull", x, **how).value
    assert (
        hull.symmetric_difference(shapely.MultiPoint(np.column_stack([lon, lat])).convex_hull).area < 0.02 * hull.area
    )
    assert release_of("diameter", x, **how).value == pytest.approx(
        shapely.MultiPoint(coords).convex_hull.length / np.pi, rel=0.2
    )
    by = np.arange(30) % 3
    means = release_of("mean", x, person=by, **how).value
    assert means.crs == x.crs
    assert means.geometry.iloc[0].x == pytest.approx(lon[by == 0].mean(), abs=1e-4)


def test_shapes_cross_the_antimeridian() -> None:
    """Longitudes of hulls and boxes go on beyond 180 degrees."""
    lon, lat = around(-17.0, 179.9999, 20_000, 40)
    assert lon.min() < -179
    assert lon.max() > 179
    how: Any = {"rho": 1e8, "area": gv.local(lat=-17, lon=179.9999, radius=25_000)}
    west, south, east, north = release_of("bounds", degrees(lon, lat), **how).value
    assert (west, east) == pytest.approx(((lon % 360).min(), (lon % 360).max()), abs=1e-3)
    assert (south, north) == pytest.approx((lat.min(), lat.max()), abs=1e-3)
    hull = release_of("hull", degrees(lon, lat), **how).value
    truth = shapely.MultiPoint(np.column_stack([lon % 360, lat])).convex_hull
    assert hull.is_valid
    assert hull.symmetric_difference(truth).area < 0.02 * truth.area


@pytest.mark.parametrize("ending", [".geojson", ".gpkg"])
def test_antimeridian_files(ending: str, tmp_path: Path) -> None:
    """A saved box, the boxes of persons and the cells of a heat map are as wide as they are on the ground."""
    fiji = degrees([179.9, -179.9, 179.95, -179.95], [-17.0, -17.1, -16.9, -17.05])
    how: Any = {"rho": 1e4, "area": gv.local(lat=-17, lon=180, radius=100_000)}
    grid = gv.Grid((-50_000, -50_000, 50_000, 50_000), cell=20_000)
    answers = {
        "box": release_of("bounds", fiji, **how),
        "boxes": release_of("bounds", fiji, person=[1, 1, 2, 2], **how),
        "east": release_of("bounds", fiji.iloc[[1, 3]], **how),
        "cells": release_of("points", fiji, **how).density(grid),
    }
    widths = {"box": 0.2, "boxes": 0.2, "east": 0.05, "cells": 0.25}
    for name, answer in answers.items():
        path = answer.to_file(tmp_path / (name + ending))
        shapes = geopandas.read_file(path).geometry.explode()
        assert (shapes.bounds["maxx"] - shapes.bounds["minx"] < widths[name] + 0.01).all(), name
    assert answers["east"].value[[0, 2]] == pytest.approx([-179.95, -179.9], abs=1e-3)
    assert (answers["boxes"].value["minx"] < answers["boxes"].value["maxx"]).all()


def test_shapes_around_a_pole() -> None:
    """A box goes all around, and a hull reaches the pole."""
    how: Any = {"rho": 1e4, "area": gv.local(lat=90, lon=0, radius=25_000)}
    x = degrees([0.0, 90, 180, -90, 45], [89.9, 89.9, 89.9, 89.9, 89.95])
    assert release_of("bounds", x, **how).value == pytest.approx([-180, 89.86, 180, 90], abs=0.01)
    hull = release_of("hull", x, **how).value
    assert hull.is_valid
    for lon in (-179.0, -100.0, 0.0, 77.0, 179.9):
        assert hull.covers(shapely.Point(lon, 89.99))
        assert not hull.covers(shapely.Point(lon, 89.8))


@EVERYWHERE
def test_boxes_contain_their_points(lat: float, lon: float) -> None:
    """Parallels bend on the map: the box in degrees is that around the box in the plane."""
    x = around(lat, lon, 24_000, 200)
    west, south, east, north = (
        gv.Locations(degrees(*x), area=gv.local(lat=lat, lon=lon, radius=25_000)).bounds(rho=1e4).value
    )
    assert south - 1e-6 <= x[1].min()
    assert north + 1e-6 >= x[1].max()
    assert ((x[0] - west) % 360 <= (east - west) % 360 + 1e-5).all() or (west, east) == (-180, 180)


def test_regions_bend_with_maps() -> None:
    """The edge of a region along a parallel holds what is just inside; what the map does not reach is refused."""
    north = gv.local(lat=60, lon=10, radius=150_000)
    raw = gv.Locations(degrees([10.0], [59.501]), area=north).points(rho=1.0)
    region = shapely.box(8, 59.5, 12, 60.5)
    inside = raw.clamp(region)
    assert np.abs(np.asarray(inside.coords) - np.asarray(raw.coords)).max() < 0.1
    assert gv.Locations(degrees([10.0], [59.501]), area=north).distance(region, rho=1e4).value < 0.1
    for wide in (shapely.box(-180, 0, 180, 90), shapely.box(-180, -60, 180, 85), shapely.box(-180, 0, 0, 80)):
        with pytest.raises(InvalidParameter, match="region"):
            raw.clamp(wide)


def test_older_systems() -> None:
    """Meridians other than Greenwich's are refused; older ellipsoids cost a little more noise; datums are shifted."""
    for code in (27572, 2065, 31281):
        with pytest.raises(InvalidCoordinateSystem, match="Greenwich"):
            area_of(code)
    assert area_of(31467).shrink < 0.9998
    tokyo = gv.local(lat=35.7, lon=139.7, radius=50_000)
    old = geopandas.GeoSeries.from_xy([139.7], [35.7], crs=4301)
    there = Plane(old.crs, tokyo).into(np.array([[139.7, 35.7]]))
    assert 300 < np.hypot(*there[0]) < 600


def test_degree_releases_are_pickled() -> None:
    """A release in degrees is pickled with its plane."""
    release = gv.Locations(degrees([-122.42], [37.77]), area=BAY).points(rho=1e-4)
    for copied in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):
        assert copied.certificate() == release.certificate()


def test_degrees_can_be_processed() -> None:
    """Smoothing, clamping, heat maps and remapping know the plane of what was released in degrees."""
    minutes = np.arange(400)
    lon, lat = -122.42 + 0.03 * np.cos(minutes / 60), 37.77 + 0.03 * np.sin(minutes / 60)
    raw = gv.Locations(degrees(lon, lat), area=BAY, rng=np.random.default_rng(5)).points(rho=1e-3)

    def off(release: gv.Release) -> float:
        found = shapely.get_coordinates(release.value.geometry.array)
        return float(np.mean(EARTH.inv(lon, lat, found[:, 0], found[:, 1])[2]))

    smoothed = raw.smooth("car", times=minutes * 60.0)
    assert off(smoothed) < 0.6 * off(raw)
    region = shapely.box(-122.44, 37.7, -122.42, 37.8)
    inside = raw.clamp(region)
    assert region.buffer(1e-6).covers(shapely.MultiPoint(shapely.get_coordinates(inside.value.geometry.array)))
    grid = gv.Grid((-6000, -6000, 6000, 6000), cell=1000)
    heat = raw.density(grid)
    dot = gv.Grid((-122.5, 37.7, -122.3, 37.9), cell=0.01)
    with pytest.raises(InvalidParameter, match="metres of"):
        raw.density(dot)
    with pytest.raises(InvalidParameter, match="metres of"):
        raw.remap(dot)
    assert heat.crs == BAY.crs
    assert heat.value.sum() == pytest.approx(400, rel=0.05)
    for prior in (degrees(lon, lat).geometry, np.column_stack([lon, lat])):
        assert off(raw.remap(prior)) < off(raw)


@pytest.mark.slow
def test_non_planes_are_refused() -> None:
    """Degrees, Mercator, systems of the whole world, nonsense; and arrays that do not say their system."""
    x = degrees([-122.4], [37.7])
    for crs in (None, 4326, 3857, 3395, 6933, "mercator", "somewhere", 10**9, "+proj=eqc +type=crs"):
        with pytest.raises(InvalidCoordinateSystem, match=r"gv\.local"):
            gv.Locations(x, area=crs).points(rho=1e-4)
    for taken in (np.zeros((1, 2)), shapely.Point(0, 0)):
        with pytest.raises(InvalidParameter, match="leave both out if they are metres"):
            gv.Locations(taken, area=BAY).points(rho=1e-4)
    for wrong in (
        {"lat": 91},
        {"lat": 90.00000001},
        {"lon": 181},
        {"radius": 0},
        {"radius": 3.001e6},
        {"lat": math.nan},
        {"lat": "37"},
    ):
        with pytest.raises(InvalidParameter, match=next(iter(wrong))):
            gv.local(**{"lat": 37.0, "lon": -122.0, "radius": 1e4, **wrong})  # type: ignore[arg-type]
    stated = gv.Locations(x, area="WGS 84 / UTM zone 10N").points(rho=1e-4).certificate()["area"]
    assert stated is not None
    assert stated["plane"] == "EPSG:32610"


RADII = [1_000.0, 50_000.0, 3_000_000.0]


@EVERYWHERE
@pytest.mark.parametrize("radius", RADII)
def test_clamping_never_separates(lat: float, lon: float, radius: float) -> None:
    """Moving points into an area draws none apart.

    On the plane two points are never farther apart than on the ground, times what is paid for; edge or no edge.
    """
    area = gv.local(lat=lat, lon=lon, radius=radius)
    plane = Plane(pyproj.CRS(4326), area)
    rng = np.random.default_rng(int(radius))
    count = 4000
    # Around the edge, and anywhere up to a quarter of the Earth away; the other one a millimetre to 5000 km from it.
    edge = radius * (1 + rng.choice([-1, 1], count) * 10 ** rng.uniform(-7, -1, count))
    away = np.where(rng.random(count) < 0.5, edge, rng.uniform(0, 9.9e6, count))
    start = np.full(count, lon), np.full(count, lat)
    one = EARTH.fwd(*start, rng.uniform(0, 360, count), away)[:2]
    other = EARTH.fwd(*one, rng.uniform(0, 360, count), 10 ** rng.uniform(-3, 6.7, count))[:2]
    near = np.asarray(EARTH.inv(*start, *other)[2]) < 9.9e6
    pair = [np.column_stack(place)[near] for place in (one, other)]
    ground = np.asarray(EARTH.inv(*pair[0].T, *pair[1].T)[2])
    flat = [plane.enter(place, "clamp").values for place in pair]
    assert not area.outside(np.concatenate(flat)).any()
    apart = np.hypot(*(flat[0] - flat[1]).T)
    assert (apart <= ground + 1e-8).all()
    # Moving them a little farther in than to the edge would tear neighbours apart.
    middle = start[0][near], start[1][near]
    beyond = [np.asarray(EARTH.inv(middle[0], middle[1], place[:, 0], place[:, 1])[2]) > radius for place in pair]
    torn = [np.where(out[:, None], 0.9999 * place, place) for out, place in zip(beyond, flat, strict=True)]
    assert not (np.hypot(*(torn[0] - torn[1]).T) <= ground + 1e-8).all()


def test_infinite_coordinates_are_refused() -> None:
    """Infinite coordinates are refused with their row, also where points are moved to the edge."""
    for x, y in ((np.inf, 0.0), (0.0, np.inf), (0.0, -np.inf)):
        frame = geopandas.GeoSeries.from_xy([0.0, x], [0.0, y], crs=BAY.crs)
        for outside in ("refuse", "clamp"):
            with pytest.raises(InvalidData, match=r"x\[1\]"):
                gv.Locations(frame, outside=outside).mean(rho=1e-4)


def test_outside_points_are_clamped() -> None:
    """Points outside are moved to the edge, points inside stay, those on the other half of Earth are refused."""
    frame = degrees([-122.42, -121.0, -122.42], [37.77, 37.77, 45.0])
    with pytest.raises(InvalidData, match=r'2 of 3 points are not.*outside="clamp"'):
        gv.Locations(frame, area=BAY).points(rho=1e4)
    release = gv.Locations(frame, area=BAY, outside="clamp").points(rho=1e4)
    away = np.asarray(EARTH.inv([-122.42] * 3, [37.77] * 3, release.value.geometry.x, release.value.geometry.y)[2])
    np.testing.assert_allclose(away, [0, 50_000, 50_000], atol=1)
    np.testing.assert_allclose(np.hypot(*np.asarray(release.coords).T), [0, 50_000, 50_000], atol=0.1)
    with pytest.raises(InvalidData, match="or near it"):
        gv.Locations(degrees([60.0], [-37.0]), area=BAY, outside="clamp").mean(rho=1e-4)
    with pytest.raises(InvalidParameter, match=r"^outside = 'move'"):
        gv.Locations(frame, area=BAY, outside="move").mean(rho=1e-4)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="left out without an area"):
        gv.Locations(np.zeros((3, 2)), outside="clamp").mean(rho=1e-4)


def test_boxes_clamp_nearby_points() -> None:
    """A system's box takes points from where its scale is known.

    A little beyond the zone they are moved to its edge, farther away refused.
    """
    near, far = degrees([-119.9], [0.1]), degrees([-110.0], [37.0])
    assert gv.Locations(near, area=32610, outside="clamp").points(rho=1e4).n == 1
    cases: list[tuple[Any, Any]] = [(near, "refuse"), (far, "refuse"), (far, "clamp")]
    for frame, outside in cases:
        with pytest.raises(InvalidData, match="inside the area"):
            gv.Locations(frame, area=32610, outside=outside).points(rho=1e4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("Germany", (10.0, 51.0)),
        ("california", (-119.0, 37.0)),
        ("Germany - Berlin.", (13.4, 52.5)),
        ("Switzerland", (7.4, 46.9)),
        ("Japan - onshore and offshore", (139.7, 35.7)),
        ("Iceland - onshore and offshore", (-19.0, 65.0)),
        ("Antarctica - Ross Ice Shelf region", (-179.0, -80.0)),
        ("Fiji - onshore east of 180° - Vanua Levu, Taveuni", (-179.9, -16.8)),
    ],
)
def test_named_regions_are_areas(name: str, inside: tuple[float, float]) -> None:
    """A name of PROJ's database is a public choice of an area, and its disc holds the region's bounds."""
    area = area_of(name)
    plane = Plane(pyproj.CRS(4326), area)
    assert not area.outside(plane.into(np.array([inside]))).any()
    release = gv.Locations(degrees([inside[0]], [inside[1]]), area=name).mean(rho=1e-4)
    stated = release.certificate()["area"]
    assert stated is not None
    assert stated["name"].casefold().startswith(area.name.casefold()[:6])
    assert area.stretch == 1


def test_unknown_regions_are_refused() -> None:
    """Unknown names are refused with similar ones, and areas that are too wide with what can be done."""
    with pytest.raises(InvalidCoordinateSystem, match=r"public knowledge.*similar names: 'Beijing, China'"):
        area_of("Beijng")
    with pytest.raises(
        InvalidCoordinateSystem, match=r"within 3000 km.*Name a part of it, such as 'Moscow.*part by part"
    ):
        area_of("Russia")
    with pytest.raises(InvalidCoordinateSystem, match="within 3000 km"):
        area_of("Russian Federation - onshore and offshore")
    assert area_of("Japan").radius > 1.5e6
    for name in ("WGS 84", "EPSG:4326", "Beijing 1954"):
        with pytest.raises(InvalidCoordinateSystem, match="has degrees"):
            area_of(name)


@pytest.mark.slow
def test_local_planes_by_name() -> None:
    """A frame in it says all of its area, also after a file or another program has had it."""
    for crs in (BAY.crs, pyproj.CRS(BAY.crs.to_wkt()), pyproj.CRS.from_json(BAY.crs.to_json())):
        assert area_of(crs) == BAY
    other = BAY.crs.to_json_dict() | {"name": "geoveil local 0.0 0.0 50000.0"}
    with pytest.raises(InvalidCoordinateSystem, match="known area"):
        area_of(pyproj.CRS.from_json_dict(other))


def test_placeless_rows_are_dropped() -> None:
    """Rows without a place are refused or dropped. Labels, times and positions follow the rows that are left."""
    frame = degrees([-122.42, np.nan, -122.41], [37.77, np.nan, 37.78], user=["a", None, "b"])
    frame.loc[3] = ["c", None]
    with pytest.raises(InvalidData, match=r'^x\[1\].*2 of 4 rows have none.*missing="drop"'):
        gv.Locations(frame, person="user", area=BAY).points(rho=1e-4)
    release = gv.Locations(frame, person="user", area=BAY, missing="drop").points(rho=1e-4)
    assert release.value.index.tolist() == [0, 2]
    assert (release.removed.missing, release.n, release.person.tolist()) == (2, 2, ["a", "b"])
    labelled = gv.Locations(frame, person=["x", "y", "x", "y"], area=BAY, missing="drop").mean(rho=1e-4)
    assert labelled.person.tolist() == ["x"]
    with pytest.raises(InvalidParameter, match=r"^missing = 'skip'"):
        gv.Locations(frame, area=BAY, missing="skip").mean(rho=1e-4)  # type: ignore[arg-type]


def test_frame_columns_are_kept() -> None:
    """Columns of frames are kept on purpose.

    Geometry, person and times come back; others by name or all, never another geometry.
    """
    frame = degrees([-122.42, -122.41], [37.77, 37.78], user=["a", "b"], note=["x", "y"], t=[1.2e9, 1.3e9])
    frame["home"] = geopandas.GeoSeries(frame.geometry.array, crs=4326)
    frame.index = ["r", "s"]
    how: Any = {"person": "user", "rho": 1e-4, "area": BAY}
    release = release_of("points", frame, **how)
    assert release.value.columns.tolist() == ["user", "t", "geometry"]
    assert release.removed.columns == ("note", "home")
    assert "note, home" in repr(release)
    assert release.value.index.tolist() == ["r", "s"]
    assert release_of("points", frame, keep=["note"], **how).value.columns.tolist() == [
        "user",
        "note",
        "t",
        "geometry",
    ]
    assert release_of("points", frame, keep="all", **how).removed.columns == ("home",)
    for keep in (["home"], ["nothing"]):
        with pytest.raises(InvalidParameter, match=r"^keep = "):
            release_of("points", frame, keep=keep, **how)
    with pytest.raises(InvalidParameter, match="unless x is a table"):
        gv.Locations(frame.geometry, area=BAY).points(keep="all", rho=1e-4)


FOLDED: list[tuple[Any, tuple[float, float], tuple[float, float]]] = [
    # Places that PROJ draws onto the area though they are far away, each with a neighbour 10 m away.
    (2056, (-172.55955759744904, -48.10571538366997), (-172.55944369596315, -48.105763011686435)),
    (27200, (155.27403, 29.71676), (155.27413, 29.71676)),
    (8441, (-80.728, -24.378), (-80.7281, -24.378)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("crs", "one", "other"), FOLDED, ids=["2056", "27200", "8441"])
def test_folded_places_are_outside(crs: Any, one: tuple[float, float], other: tuple[float, float]) -> None:
    """Where a map draws several places onto one, neighbours may be kilometres apart on it."""
    area = area_of(crs)
    flat = Plane(pyproj.CRS(4326), area).into(np.array([one, other]))
    assert not area.outside(flat).any()  # so the plane alone would let them in
    for place in (one, other):
        with pytest.raises(InvalidData, match="inside the area"):
            gv.Locations(degrees([place[0]], [place[1]]), area=crs).points(rho=1.0)
        if isinstance(crs, int):
            with pytest.raises(InvalidData, match="inside the area"):
                gv.Locations(degrees([place[0]], [place[1]]), area=crs, outside="clamp").points(rho=1.0)
    projected = degrees([one[0]], [one[1]]).to_crs("+proj=cea")
    with pytest.raises(InvalidData, match="inside the area"):
        gv.Locations(projected, area=crs).points(rho=1.0)


@pytest.mark.parametrize("crs", [32610, 32733, 25832, 3006, 2154, 27700])
def test_long_ways_are_paid_for(crs: int) -> None:
    """Between points on the edges of a box, and a little beyond, where shortest ways on the ground leave the box."""
    area = area_of(crs)
    plane = Plane(pyproj.CRS(4326), area)
    rng = np.random.default_rng(crs)
    middle, half = area.middle, (np.array(area.high) - np.array(area.low)) / 2 * 1.049
    square = rng.uniform(-1, 1, size=(4000, 2))
    square[np.arange(4000), rng.integers(2, size=4000)] = rng.choice([-1.0, 1.0], size=4000)
    places = plane.out(middle + square * half / 1.05)
    one, other = places[:2000], places[2000:]
    ground = np.asarray(EARTH.inv(*one.T, *other.T)[2])
    flat = [plane.enter(place, "clamp").values for place in (one, other)]
    assert (np.hypot(*(flat[0] - flat[1]).T) <= area.stretch * ground + 1e-6).all()


def test_pair_beyond_zone_edges() -> None:
    """A way along a whole zone bulges by a hundred kilometres."""
    pair = np.array([[-126.1502, 0.8927], [-147.611, 82.4433]])
    flat = Plane(pyproj.CRS(4326), area_of(32610)).enter(pair, "clamp").values
    ground = EARTH.inv(*pair[0], *pair[1])[2]
    assert np.hypot(*(flat[0] - flat[1])) <= area_of(32610).stretch * ground


@pytest.mark.slow
@pytest.mark.parametrize("name", ["geoveil local a b c", "geoveil local 37.77 -122.42", "geoveil local 0 0 1e9 m"])
def test_false_area_names_are_refused(name: str) -> None:
    """With the error of any system whose area is not known."""
    with pytest.raises(InvalidCoordinateSystem, match="known area"):
        area_of(pyproj.CRS.from_json_dict(BAY.crs.to_json_dict() | {"name": name}))


def test_unmeasurable_systems_are_refused() -> None:
    """A system that PROJ cannot measure is refused with an error of geoveil."""
    for code in (3145, 32600):
        with pytest.raises(InvalidCoordinateSystem):
            area_of(code)


def test_moved_points_are_stated() -> None:
    """A release says that points were moved to the edge, from where its errors count."""
    frame = degrees([-122.42, -110.0], [37.77, 37.7])
    release = gv.Locations(frame, area=BAY, outside="clamp").points(rho=1e-4)
    assert release.certificate()["outside"] == "clamp"
    assert "moved to its edge" in repr(release)
    assert gv.Locations(frame[:1], area=BAY).points(rho=1e-4).certificate()["outside"] == "refuse"


@pytest.mark.parametrize("system", [4326, 32610])
@pytest.mark.parametrize("rows", [[], [None, None]])
def test_pointless_data_is_refused(system: int, rows: list[None]) -> None:
    """Nothing, and rows of which none has a place, are refused in words, whatever is asked."""
    x = geopandas.GeoSeries(rows, crs=system)
    how: Any = {"rho": 1e-4, "area": BAY, "missing": "drop"}
    for ask in (
        lambda: release_of("points", x, **how),
        lambda: release_of("bounds", x, **how),
        lambda: release_of("center", x, person=[1] * len(rows), **how),
        lambda: session_of(x, **how),
    ):
        with pytest.raises(InvalidData, match="at least one point"):
            ask()


PARIS = gv.local(lat=48.85, lon=2.35, radius=20_000)
#: Public places that cannot be meant, and what is said of them.
NO_PLACES = {
    "latitude 95": ((500.0, 95.0), BAY, "latitude of at most 90"),
    "swapped in America": ((37.77, -122.42), BAY, "swapped"),
    "swapped in Paris": ((48.85, 2.35), PARIS, "swapped"),
    "the far side": ((57.58, -37.77), BAY, "inside the area, 50 km around 37.77, -122.42, or near it"),
    "a forgotten sign": ((122.42, 37.77), BAY, "or near it"),
}


@pytest.mark.parametrize("case", NO_PLACES)
def test_public_places_are_checked(case: str) -> None:
    """A place that is no longitude and latitude, swapped or far away is refused in the words that rows get."""
    given, area, said = NO_PLACES[case]
    assert area.disc is not None
    x = degrees([area.disc[1]], [area.disc[0]])
    how: Any = {"rho": 1.0, "area": area}
    for p in (given, shapely.Point(given)):
        for name, more in (("nearest", {"k": 1}), ("distance", {}), ("first_within", {"radius": 10.0})):
            with pytest.raises(InvalidParameter, match=said):
                release_of(name, x, p, **more, **how)
    if "latitude" in said or "America" in case:
        with pytest.raises(InvalidParameter, match=said):
            release_of("distance", x, shapely.Point(given).buffer(0.1), fn_error=1e-6, **how)


def test_area_errors_are_clear() -> None:
    """Ends that are allowed are said to be; Mercator, frames without places and names of columns have own words."""
    with pytest.raises(InvalidParameter, match="a number from -180 to 180"):
        gv.local(lat=0, lon=200, radius=1000)
    assert gv.local(lat=90, lon=-180, radius=1000).radius == 1000
    x = degrees([-122.42, -122.41], [37.77, 37.78])
    with pytest.raises(InvalidCoordinateSystem, match="a Mercator metre shrinks"):
        gv.Locations(x, area=3857).points(rho=1e-4)
    with pytest.raises(InvalidData, match=r"without an active geometry.*set_geometry"):
        gv.Locations(geopandas.GeoDataFrame({"u": [1, 2]}), area=BAY).points(rho=1e-4)
    levels = x.set_axis(["geometry"], axis=1)
    levels[("a", "u")] = ["p", "q"]
    with pytest.raises(InvalidData, match=r"name of a column.*person=x\["):
        gv.Locations(levels, person=("a", "u"), area=BAY).points(rho=1e-4)
    released = gv.Locations(x, area=BAY).points(rho=1e-4)
    with pytest.raises(InvalidParameter, match="metres east and north of the area's middle") as refused:
        released.density(gv.Grid((-122.5, 37.7, -122.4, 37.8), cell=0.01))
    assert "{" not in str(refused.value)


@pytest.mark.parametrize("name", ["points", "center", "bounds", "hull", "nearest", "diameter"])
@pytest.mark.parametrize("by", [None, ["a", "b", "a"]])
def test_arrays_release_as_frames(name: str, by: Any) -> None:
    """With crs= and area=, an array or a MultiPoint gives the numbers that a frame of the same points gives."""
    lon, lat = [-122.42, -122.43, -122.4], [37.77, 37.75, 37.76]
    places = [(-122.41, 37.76)] if name == "nearest" else []
    more: dict[str, Any] = {"k": 1} if name == "nearest" else {"k": 8} if name == "hull" else {}

    def asked(x: Any, **how: Any) -> gv.Release:
        rng = np.random.default_rng(0)
        released: gv.Release = release_of(name, x, *places, rho=1e-2, person=by, area=BAY, rng=rng, **more, **how)
        return released

    expected = asked(geopandas.GeoSeries.from_xy(lon, lat, crs=4326))
    for x in (np.column_stack([lon, lat]), shapely.MultiPoint(np.column_stack([lon, lat]))):
        found = asked(x, crs=4326)
        assert found.crs == expected.crs
        np.testing.assert_array_equal(found.error(0.1), expected.error(0.1))
        np.testing.assert_array_equal(_numbers(found.value), _numbers(expected.value))


def _numbers(value: Any) -> Any:
    """Return the coordinates or numbers of a released value, whatever its form."""
    if hasattr(value, "geometry"):
        value = np.asarray(value.geometry.array)
    if isinstance(value, shapely.Geometry) or getattr(value, "dtype", None) is np.dtype(object):
        return shapely.get_coordinates(value)
    return np.asarray(value).ravel().reshape(-1, 2) if np.size(value) % 2 == 0 else np.asarray(value)


def test_system_is_stated_once() -> None:
    """A frame in another system than `crs` is refused; one without a system is taken to be in it."""
    x = degrees([-122.42], [37.77])
    with pytest.raises(InvalidParameter, match=r"^crs = 32610.*as x states.*to_crs.*area="):
        gv.Locations(x, crs=32610).points(rho=1e-4)
    same = {"rho": 1e-4, "area": BAY}
    bare = geopandas.GeoSeries(x.geometry.array, crs=None)
    found = [
        release_of("points", given, crs=crs, rng=np.random.default_rng(1), **same).coords
        for given, crs in ((x, None), (x, 4326), (bare, 4326))
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    with pytest.raises(InvalidParameter, match=r"^crs = 'nowhere'"):
        release_of("points", x, crs="nowhere", **same)


def test_array_systems_need_the_plane() -> None:
    """Degrees of three dimensions, or that no double is, are refused; those outside can be clamped."""
    for x, why in (
        (np.zeros((2, 3)), r"shape \(n, 2\)"),
        (np.array([[Decimal("-122.42"), Decimal("37.77")]]), "floats"),
        (np.array([[-122.42, math.nan]]), r"x\[0\]"),
        (np.array([[-122.42, 97.0]]), r"x\[0\]"),
        (np.zeros((0, 2)), "at least one point"),
    ):
        with pytest.raises(InvalidData, match=why):
            gv.Locations(x, crs=4326, area=BAY).points(rho=1e-4)
    far = np.array([[-120.0, 37.77]])
    with pytest.raises(InvalidData, match="inside the area"):
        gv.Locations(far, crs=4326, area=BAY).points(rho=1e-4)
    assert gv.Locations(far, crs=4326, area=BAY, outside="clamp").points(rho=1e-4).certificate()["outside"] == "clamp"


def test_area_texts() -> None:
    """Locations and plans take a latitude, a longitude and a radius as one text; too wide a disc is refused."""
    homes = degrees([-122.41, -122.45], [37.78, 37.76])
    bay = gv.local(lat=37.77, lon=-122.42, radius=40_000)
    for text in ("37.77,-122.42,40km", "37.77, -122.42, 40000 m"):
        release: Any = gv.Locations(homes, area=text).mean(rho=1)
        assert release.plane.area == bay
        planned = gv.plan("diameter", n=9, rho=1e-4, area=text)
        assert planned == gv.plan("diameter", n=9, rho=1e-4, area=bay)
    with pytest.raises(InvalidCoordinateSystem, match="area = '0,0,5000km': must be at most 3000 km"):
        gv.Locations(homes, area="0,0,5000km").mean(rho=1)
    with pytest.raises(InvalidCoordinateSystem, match="area = '97,0,5km': must be the name of a city"):
        gv.Locations(homes, area="97,0,5km").mean(rho=1)
