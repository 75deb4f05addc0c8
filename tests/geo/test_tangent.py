"""The tangent plane: no two points are drawn apart, and its doubles are as good as they say."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pyproj
import pytest
from flint import arb, ctx
from numpy.typing import NDArray
from scipy.optimize import minimize

from geoveil.geo import tangent
from geoveil.geo.tangent import REACH, Tangent, clamp_to_disc, ground_distance, rounding, shrink
from geoveil.noise.reals import Reals

Floats = NDArray[np.float64]

EARTH = pyproj.Geod(ellps="WGS84")
PLACES = [
    (0.0, 9.0),
    (37.77, -122.42),
    (-45.0, 0.1),
    (65.0, 20.0),
    (-17.0, 179.9999),
    (89.0, 0.0),
    (90.0, 0.0),
    (-90.0, 77.0),
]
EVERYWHERE = pytest.mark.parametrize(("lat", "lon"), PLACES)
RADII = (1.0, 50_000.0, 3e6)


def disc(lat: float, lon: float, radius: float, count: int, seed: int = 1) -> Floats:
    """Longitudes and latitudes of points of the plane's disc; half of them near its edge."""
    rng = np.random.default_rng(seed)
    far = np.where(rng.random(count) < 0.5, np.sqrt(rng.random(count)), 1 - 10 ** rng.uniform(-9, -1, count))
    angle = rng.uniform(0, 2 * math.pi, count)
    return Tangent(lat, lon).inverse(radius * far[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))


def geocentric(lon: float, lat: float) -> Any:
    """A place as a vector from the centre of the Earth, by mpmath."""
    f = mpmath.mpf(1) / mpmath.mpf("298.257223563")
    e2 = f * (2 - f)
    phi, lam = (mpmath.mpf(angle) * mpmath.pi / 180 for angle in (lat, lon))
    nu = 6378137 / mpmath.sqrt(1 - e2 * mpmath.sin(phi) ** 2)
    flat = nu * mpmath.cos(phi)
    return mpmath.matrix([flat * mpmath.cos(lam), flat * mpmath.sin(lam), nu * (1 - e2) * mpmath.sin(phi)])


def by_definition(lat: float, lon: float, degrees: Floats) -> list[Any]:
    """⟨P - P0, east⟩ and ⟨P - P0, north⟩ of every point, one after the other."""
    phi, lam = (mpmath.mpf(angle) * mpmath.pi / 180 for angle in (lat, lon))
    east = [-mpmath.sin(lam), mpmath.cos(lam), mpmath.mpf(0)]
    north = [-mpmath.sin(phi) * mpmath.cos(lam), -mpmath.sin(phi) * mpmath.sin(lam), mpmath.cos(phi)]
    origin = geocentric(lon, lat)
    found = []
    for point in degrees:
        away = geocentric(*map(float, point)) - origin
        found += [mpmath.fdot(axis, away) for axis in (east, north)]
    return found


def worst(points: Reals) -> float:
    """The largest distance of a double from its ball."""
    return max(abs(float(points.ball(i, 192) - arb(float(points.values.flat[i])))) for i in range(points.values.size))


def ratios(lat: float, lon: float, radius: float, one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Plane distances and ground distances of pairs of points."""
    there = [Tangent(lat, lon).forward(place, radius).values for place in (one, other)]
    ground = np.asarray(EARTH.inv(*one.T, *other.T)[2])
    return np.hypot(*(there[0] - there[1]).T), ground


@EVERYWHERE
@pytest.mark.parametrize("radius", RADII)
def test_balls_contain_definition(lat: float, lon: float, radius: float) -> None:
    """Balls contain what the definition says.

    By mpmath and vectors from the centre of the Earth; and they shrink with precision.
    """
    points = disc(lat, lon, radius, 10)
    with mpmath.workdps(80):
        truth = by_definition(lat, lon, points)
    found = Tangent(lat, lon).forward(points, radius)
    for bits in (128, 200):
        with ctx.workprec(bits):
            for i, value in enumerate(truth):
                ball = found.ball(i, bits)
                assert float(ball.rad()) < 2.0 ** (40 - bits)
                assert abs(ball - arb(mpmath.nstr(value, 75))) < 2.0 ** (40 - bits)
                assert ball.overlaps(arb(mpmath.nstr(value, 75)))


@EVERYWHERE
@pytest.mark.parametrize("radius", RADII)
def test_doubles_are_near(lat: float, lon: float, radius: float) -> None:
    """Doubles are as near as they say. To their balls, and PROJ's orthographic projection is near both."""
    points = disc(lat, lon, radius, 150)
    found = Tangent(lat, lon).forward(points, radius)
    assert found.error == rounding(radius)
    assert worst(found) <= found.error
    proj = pyproj.Proj(f"+proj=ortho +lat_0={lat} +lon_0={lon} +ellps=WGS84")
    np.testing.assert_allclose(np.column_stack(proj(*points.T)), found.values, atol=1e-7)


@pytest.mark.long
def test_million_doubles_are_near() -> None:
    """A million doubles are as near as they say.

    With the bound for their own distance, from micrometres to the limb.
    """
    rng = np.random.default_rng(7)
    for _ in range(1000):
        lat, lon = math.degrees(math.asin(rng.uniform(-1, 1))), rng.uniform(-180, 180)
        radius = 10 ** rng.uniform(-6, math.log10(REACH))
        assert worst(Tangent(lat, lon).forward(disc(lat, lon, radius, 500), radius)) <= rounding(radius)


def test_longitudes_wrap() -> None:
    """A longitude west of Greenwich and the same one a turn further are one place."""
    points = disc(-17.0, 179.9999, 50_000, 200)
    west = points[points[:, 0] < 0]
    assert len(west) > 50
    plane = Tangent(-17.0, 179.9999)
    one, other = plane.forward(west, 50_000), plane.forward(west + np.array([360.0, 0.0]), 50_000)
    np.testing.assert_allclose(one.values, other.values, atol=2e-8)
    for found in (one, other):
        assert worst(found) <= rounding(50_000)


@EVERYWHERE
@pytest.mark.parametrize("radius", [1.0, 50_000.0, 3e6, 5.6e6])
def test_inverse_leads_back(lat: float, lon: float, radius: float) -> None:
    """The way back leads back. To a few nanometres, and into degrees that are finite."""
    rng = np.random.default_rng(2)
    metres = rng.uniform(-0.7, 0.7, size=(20_000, 2)) * radius
    back = Tangent(lat, lon).inverse(metres)
    assert (np.abs(back) <= [180, 90]).all()
    np.testing.assert_allclose(Tangent(lat, lon).forward(back, radius).values, metres, atol=2e-8)
    assert Tangent(lat, lon).inverse(np.empty((0, 2))).shape == (0, 2)


@EVERYWHERE
@pytest.mark.parametrize("radius", RADII)
def test_distances_never_grow(lat: float, lon: float, radius: float) -> None:
    """No two points are drawn apart.

    From nanometres to the whole diameter; and none are drawn together by more than is said.
    """
    one = disc(lat, lon, radius, 4000)
    rng = np.random.default_rng(3)
    near = np.column_stack(
        EARTH.fwd(one[:, 0], one[:, 1], rng.uniform(0, 360, 4000), 10 ** rng.uniform(-9, 5, 4000))[:2]
    )
    near = near[np.hypot(*Tangent(lat, lon).forward(near, radius).values.T) <= radius]
    for other in (disc(lat, lon, radius, 4000, seed=4), near):
        plane, ground = ratios(lat, lon, radius, one[: len(other)], other)
        assert (plane <= ground + 1e-8).all()
        assert (plane >= shrink(radius) * ground - 1e-8).all()
    # What shrink says is nearly reached: it is no idle margin.
    edge = Tangent(lat, lon).inverse(np.array([[0, 0.9999], [0, 1.0], [0, -0.9999], [0, -1]]) * radius)
    plane, ground = ratios(lat, lon, radius, edge[::2], edge[1::2])
    assert (plane / ground).min() <= 1 - 0.95 * (1 - shrink(radius)) + 1e-4


@pytest.mark.slow
@EVERYWHERE
def test_search_finds_no_growth(lat: float, lon: float) -> None:
    """No search finds points that are drawn apart.

    Climbing from random pairs, anywhere on the Earth, in the ratio of plane distance to ground distance.
    """
    rng = np.random.default_rng(5)
    place = Tangent(lat, lon)

    def apart(pair: Floats) -> float:
        one, other = np.array([[pair[0], pair[1]]]), np.array([[pair[2], pair[3]]])
        if abs(pair[1]) > 90 or abs(pair[3]) > 90 or np.abs(pair[[0, 2]]).max() > 180:
            return 0.0
        there = place.forward(np.concatenate([one, other]), 6.4e6).values
        ground = EARTH.inv(*pair)[2]
        return -float(np.hypot(*(there[0] - there[1]))) / ground if np.isfinite(there).all() and ground > 1 else 0.0

    for _ in range(6):
        start = np.concatenate([disc(lat, lon, 3e6, 1, int(rng.integers(1 << 30)))[0] for _ in range(2)])
        found = minimize(apart, start, method="Nelder-Mead", options={"maxiter": 150})
        assert -found.fun <= 1 + 2e-8


def test_host_precision_is_irrelevant() -> None:
    """The precision that the host program has set changes no projection."""
    points = disc(37.77, -122.42, 50_000, 50)
    usual = Tangent(37.77, -122.42).forward(points, 50_000).values
    with ctx.workprec(10):
        rough = Tangent(37.77, -122.42).forward(points, 50_000).values
        back = Tangent(37.77, -122.42).inverse(usual)
    assert (usual == rough).all()
    np.testing.assert_allclose(back, points, atol=1e-12)


@EVERYWHERE
def test_far_side_is_infinite(lat: float, lon: float) -> None:
    """The far side is infinite. There the plane would have a second point for the same place."""
    rng = np.random.default_rng(6)
    away = rng.uniform(0, 1.99e7, 5000)
    start = np.full(5000, lon), np.full(5000, lat)
    points = np.column_stack(EARTH.fwd(*start, rng.uniform(0, 360, 5000), away)[:2])
    there = Tangent(lat, lon).forward(points, 1e6).values
    assert np.isfinite(there[away < 9.9e6]).all()
    assert np.isinf(there[away > 1.01e7]).all()
    assert np.isinf(Tangent(0.0, 0.0).forward(np.array([[np.nan, 1.0], [0.0, np.nan]]), 1.0).values).all()


@EVERYWHERE
def test_far_side_distances(lat: float, lon: float) -> None:
    """The far side is seen through the Earth.

    By vectors from the centre of the Earth, also at the opposite point, where doubles would be decimetres off.
    """
    rng = np.random.default_rng(13)
    away = np.concatenate([rng.uniform(0, 2e7, 10), rng.uniform(1.9999e7, 2.0004e7, 5)])
    east, north = np.repeat([[lon], [lat]], 15, axis=1)
    points = np.column_stack(EARTH.fwd(east, north, rng.uniform(0, 360, 15), away)[:2])
    points = np.concatenate([points, [[lon, -lat], [(lon + 360) % 360 - 180, -lat]]])
    found = Tangent(lat, lon).forward_through(points, 3e6)
    with mpmath.workdps(40):
        truth = np.array([float(value) for value in by_definition(lat, lon, points)])
    far = np.isinf(Tangent(lat, lon).forward(points, 3e6).values)
    np.testing.assert_allclose(found.values[far], truth.reshape(-1, 2)[far], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.values, truth.reshape(-1, 2), rtol=0, atol=rounding(7e6))
    assert far.any()


@EVERYWHERE
@pytest.mark.parametrize("radius", RADII)
def test_clamping_never_separates(lat: float, lon: float, radius: float) -> None:
    """Pulling into the disc draws no two points apart.

    From anywhere on the near side; doubles keep their bound, and none is left outside.
    """
    place = Tangent(lat, lon)
    one, other = (disc(lat, lon, 5.6e6, 3000, seed) for seed in (8, 9))
    near = disc(lat, lon, radius * 1.01, 3000, 10)
    for first, second in ((one, other), (near, one), (near, np.roll(near, 1, axis=0))):
        pulled = [clamp_to_disc(place.forward(points, radius), radius).values for points in (first, second)]
        ground = np.asarray(EARTH.inv(*first.T, *second.T)[2])
        assert (np.hypot(*(pulled[0] - pulled[1]).T) <= ground + 1e-8).all()
        assert (np.hypot(*np.concatenate(pulled).T) <= radius).all()
    for points in (one[:100], near[:100]):
        assert worst(clamp_to_disc(place.forward(points, radius), radius)) <= rounding(radius)
    assert worst(clamp_to_disc(place.forward(np.array([[lon, lat]]), radius), radius)) == 0


@EVERYWHERE
def test_noise_ground_distances(lat: float, lon: float) -> None:
    """Ground distances of noise that leaves the disc.

    Between a point of the disc and any point of the plane that the map reaches.
    """
    rng = np.random.default_rng(11)
    place = Tangent(lat, lon)
    for radius in (1000.0, 1e6):
        start = place.forward(disc(lat, lon, radius, 2000), radius).values
        angle, far = rng.uniform(0, 2 * math.pi, 2000), 10 ** rng.uniform(0, 6.6, 2000)
        end = start + far[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        kept = np.hypot(*end.T) <= REACH
        pair = [place.inverse(points[kept]) for points in (start, end)]
        away = np.asarray(EARTH.inv(*pair[0].T, *pair[1].T)[2])
        bound = np.array([ground_distance(float(distance), radius) for distance in far[kept]])
        assert (away <= bound + 1e-7).all()
        assert (away > far[kept] / shrink(radius) + 1).any()


def test_planted_formulas_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks notice other formulas.

    A sphere instead of the ellipsoid, a plane that stretches a little, degrees as metres, too small a bound.
    """
    lat, lon, radius = 37.77, -122.42, 50_000.0
    points = disc(lat, lon, radius, 200)
    honest = Tangent(lat, lon).forward(points, radius)
    with monkeypatch.context() as patch:
        patch.setattr(tangent, "_E2", 0.0)
        assert worst(Tangent(lat, lon).forward(points, radius)) > 1e6 * honest.error
    for wrong in (honest.values * (1 + 1e-10), points):
        assert worst(Reals(wrong, honest.error, honest.ball)) > honest.error
    assert worst(honest) > honest.error * 2.0**-15
    # Neighbours across the view are drawn as long as they are; a stretch of a millionth is noticed.
    across = Tangent(lat, lon).inverse(np.array([[-100.0, 0.0], [100.0, 0.0]]))
    plane, away = ratios(lat, lon, radius, across[:1], across[1:])
    assert plane <= away + 1e-8
    assert plane * (1 + 1e-6) > away + 1e-8
