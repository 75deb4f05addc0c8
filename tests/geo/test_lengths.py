"""Errors of lengths, neighbours and visits hold on the ground, though a plane draws lengths too short or too long."""

from __future__ import annotations

from typing import Any

import geopandas
import numpy as np
import pyproj
import pytest
import shapely

import geoveil as gv
from geoveil.geo.areas import Area, area_of
from geoveil.geo.tangent import Tangent, shrink
from geoveil.queries import SUMMARIES, FirstWithin, Nearest
from geoveil.release.kinds import LengthKind, kind_of
from tests.questions import release_of

EARTH = pyproj.Geod(ellps="WGS84")
#: So much budget that noise is of centimetres.
PLENTY: dict[str, Any] = {"rho": 1e4}


def places(degrees: Any) -> Any:
    """Places in degrees, as data."""
    return geopandas.GeoSeries.from_xy(*np.asarray(degrees).T, crs=4326)


def across(radius: float, share: float) -> Any:
    """Two places on opposite sides of the disc around 0, 0, in degrees."""
    return Tangent(0.0, 0.0).inverse(np.array([[-share * radius, 0.0], [share * radius, 0.0]]))


@pytest.mark.parametrize("radius", [5e4, 5e5, 3e6])
@pytest.mark.parametrize("name", ["diameter", "radius", "radius_of_gyration", "distance"])
def test_length_errors_are_bounded(name: str, radius: float) -> None:
    """Lengths are off by no more than is said.

    Of two points on opposite sides of an area all lengths are known on the ground.
    """
    ends = across(radius, 0.98)
    how: dict[str, Any] = {**PLENTY, "area": gv.local(lat=0, lon=0, radius=radius)}
    whole = EARTH.inv(*ends[0], *ends[1])[2]
    more = (shapely.Point(0, 0),) if name == "distance" else ()
    release = release_of(name, places(ends), *more, **how)
    off = abs(release.value - (whole if name == "diameter" else whole / 2))
    assert off > 5 * gv.plan(name, n=2, **how).error or radius == 5e4
    assert off <= release.error(1e-9)
    assert release.certificate()["radius_95"] == release.error(0.05) == release.to_frame()["radius_95"].iloc[0]


def test_registered_plane_lengths() -> None:
    """From the equator to 83 degrees north along a meridian of UTM, which is drawn too short by 0.04 per cent."""
    release = release_of("diameter", places([[15, 1], [15, 83]]), area=32633, **PLENTY)
    off = abs(release.value - EARTH.inv(15, 1, 15, 83)[2])
    assert 3000 < off <= release.error(1e-9)


def test_lengths_by_person() -> None:
    """Each person's bound is that of the length which was released about them."""
    area = gv.local(lat=0, lon=0, radius=3e6)
    ends = np.concatenate([across(3e6, share) for share in (0.1, 0.9)])
    release = release_of("diameter", places(ends), person=["a", "a", "b", "b"], area=area, **PLENTY)
    true = np.array([EARTH.inv(*ends[i], *ends[i + 1])[2] for i in (0, 2)])
    bounds = release.error(1e-9)
    assert list(bounds.index) == ["a", "b"]
    assert bounds.name == "diameter"
    assert (np.abs(release.value.to_numpy().reshape(-1) - true) <= bounds).all()
    assert bounds["b"] > 8 * bounds["a"]
    assert release.certificate()["radius_95"]["largest"] == release.error(0.05)["b"]


def test_wide_plane_edges() -> None:
    """A point 100 km away to the east looks nearer than one 95 km to the north, and than it is."""
    place = Tangent(0.0, 0.0).inverse(np.array([[2.8e6, 0.0]]))[0]
    x = places([EARTH.fwd(place[0], place[1], turn, away)[:2] for turn, away in ((90, 100_000), (0, 95_000))])
    how: dict[str, Any] = {**PLENTY, "area": gv.local(lat=0, lon=0, radius=3e6)}
    found = release_of("nearest", x, shapely.Point(place), k=1, **how)
    assert list(found.value) == [0]
    assert found.error(1e-9) >= 5000
    visit = release_of("first_within", x, shapely.Point(place), radius=94_500, **how)
    assert visit.value == 0
    assert 100_000 - 94_500 <= visit.error(1e-9) < 15_000


AREAS = [gv.local(lat=48, lon=2, radius=3e6), gv.local(lat=10, lon=20, radius=5e4), area_of(32633), area_of(2154)]


@pytest.mark.parametrize("area", AREAS, ids=lambda area: area.name)
def test_length_bounds_hold(area: Area) -> None:
    """Bounds hold for all lengths between shrink and stretch, and for all noise within its bound."""
    rng = np.random.default_rng(5)
    guarantee = gv.CGP(rho=1e-4)
    error, count = 500.0, 2000
    drawn = rng.uniform(0, area.farthest() / 2, count) * rng.choice([1e-4, 1e-2, 1], count)
    scale = rng.choice([area.shrink, area.stretch], (2, count))
    noise = rng.choice([-error, error], count)

    length = np.maximum(drawn + noise, 0.0)
    diameter = SUMMARIES["diameter"](2, 2, guarantee)
    lengths = kind_of(diameter)
    assert isinstance(lengths, LengthKind)
    bound = lengths.length_errors(diameter, np.array(error), area, length)
    assert (np.abs(length - drawn / scale[0]) <= bound * (1 + 1e-12)).all()

    nearest = Nearest(9, 2, guarantee, p=area.middle, k=1)
    excess = np.minimum(drawn, area.farthest(area.middle)) + np.abs(noise)
    true = np.minimum(drawn, area.farthest(area.middle))
    off = kind_of(nearest).ground_error(nearest, error, area)
    assert (excess / scale[0] - true / scale[1] <= off * (1 + 1e-12)).all()

    for radius in (100.0, 700.0, 30_000.0):
        visit = FirstWithin(9, 2, guarantee, p=area.middle, radius=radius)
        off = kind_of(visit).ground_error(visit, error, area)
        assert (radius + error) / area.shrink <= radius + off + 1e-6
        assert radius <= error or (radius - error) / area.stretch >= radius - off - 1e-6


def test_places_outside_a_disc() -> None:
    """The distance of a point at the edge from a public place beyond it, where the plane shrinks more."""
    area = gv.local(lat=0, lon=0, radius=2e6)
    place, point = Tangent(0.0, 0.0).inverse(np.array([[5.0e6, 0.0], [1.95e6, 0.0]]))
    release = release_of("distance", places([point]), shapely.Point(place), area=area, **PLENTY)
    off = abs(release.value - EARTH.inv(*place, *point)[2])
    assert off > release.value * (1 / shrink(2e6) - 1)
    assert off <= release.error(1e-9)


def test_metre_arrays_need_none() -> None:
    """Bounds of arrays in metres are those of the noise."""
    x = np.array([[0.0, 0.0], [5e6, 0.0]])
    for name in ("diameter", "radius", "radius_of_gyration"):
        release = release_of(name, x, rho=1e-4)
        assert release.error(0.05) == release.mechanism.error(0.05)


def test_plan_states_plane_error() -> None:
    """A plan, which has no released length, says by what share of it the plane adds to the error."""
    area = gv.local(lat=0, lon=0, radius=1e6)
    for name in ("diameter", "radius", "radius_of_gyration", "distance"):
        assert gv.plan(name, n=5, rho=1e-4, area=area).assumes == "and for the plane up to 1.3% of the length"
        assert gv.plan(name, n=5, rho=1e-4).assumes == ""
    assert gv.plan("first_within", n=5, rho=1e-4, area=area).assumes == "and for the plane up to 1.3% of the radius"
    assert gv.plan("mean", n=5, rho=1e-4, area=area).assumes == ""
    x = places([[0.5, 0.5]] * 5)
    place = shapely.Point(1, 1)
    near = gv.Locations(x, area=area).nearest(place, k=2, rho=1e-4).error(0.05)
    assert near <= gv.plan("nearest", n=5, k=2, rho=1e-4, area=area).error <= 2.1 * near
    visit = gv.Locations(x, area=area).first_within(place, radius=9e3, rho=1e-4).error(0.05)
    assert visit == pytest.approx(gv.plan("first_within", n=5, radius=9e3, rho=1e-4, area=area).error)
