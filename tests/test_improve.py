"""What is done to a release: the guarantee stays, the input is not needed, and bounds are kept only where proved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import geoveil as gv
from geoveil.errors import InvalidData, InvalidParameter, NoErrorBound
from geoveil.postprocess import smoothing
from geoveil.postprocess.clamping import clamp
from geoveil.postprocess.motion import TAXI
from tests.geo.test_forms import in_the_plane
from tests.queries.test_people import calls

pytestmark = pytest.mark.slow

BOX = shapely.box(0, 0, 1000, 1000)
TIMES = np.arange(300) * 60.0
#: A place in EPSG:32610.
UTM = np.array([550_000.0, 4_180_000.0])
TRACK = np.column_stack([4000 * np.sin(TIMES / 4000), 3000 * np.cos(TIMES / 3000)])


def released(x: object = TRACK) -> gv.Release:
    """The trajectory with noise."""
    return gv.Locations(x, rng=np.random.default_rng(1)).points(rho=1e-3)


def off(value: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """Root mean square error."""
    return float(np.sqrt(((value - TRACK) ** 2).sum(axis=1).mean()))


@pytest.mark.statistical
def test_smoothing_keeps_guarantee() -> None:
    """The smoothed release is closer to the truth, promises the same, and claims no theorem."""
    raw = released()
    smoothed = raw.smooth("taxi", times=TIMES)
    assert off(smoothed.value) < 0.6 * off(raw.value)
    assert smoothed.guarantee == raw.guarantee
    assert smoothed.id != raw.id
    with pytest.raises(NoErrorBound, match="smoothed"):
        smoothed.error(0.05)
    assert 0.2 < smoothed.expected_error() / off(smoothed.value) < 5
    with pytest.raises(NoErrorBound):
        raw.expected_error()
    account = json.loads(json.dumps(smoothed.certificate()))
    assert account["radius_95"] is None
    assert "speed=8" in account["processed"][0]
    assert "no guaranteed bound" in repr(smoothed)


def test_smoothing_takes_any_times() -> None:
    """Datetimes and shuffled rows give the same places as sorted seconds."""
    raw = released()
    expected = raw.smooth("car", times=TIMES).value
    stamps = pd.Timestamp("2026-01-01") + pd.to_timedelta(TIMES, unit="s")
    np.testing.assert_allclose(raw.smooth("car", times=stamps).value, expected, atol=1e-3)
    order = np.random.default_rng(2).permutation(300)
    shuffled = gv.Locations(TRACK[order], rng=np.random.default_rng(3)).points(rho=1e-3)
    back = np.argsort(order)
    straight = shuffled.smooth("car", times=TIMES[order]).value[back]
    assert off(straight) < 0.6 * off(shuffled.value[back])


def test_frames_stay_frames() -> None:
    """A smoothed or clamped frame keeps its index, its system and its geometry's name."""
    frame = geopandas.GeoDataFrame(geometry=shapely.points(TRACK + UTM), crs=32610, index=np.arange(300) + 7)
    raw = released(frame)
    for done in (raw.smooth("taxi", times=TIMES), raw.clamp(shapely.box(*UTM - 100, *UTM + 100))):
        assert done.value.index.equals(frame.index)
        assert done.value.crs == frame.crs
        assert done.coords is not None
        np.testing.assert_allclose(shapely.get_coordinates(done.value.geometry.array), done.coords)
        assert not np.allclose(np.asarray(done.coords), np.asarray(raw.coords))


def test_unsmoothable_is_refused() -> None:
    """What cannot be smoothed is refused. Other questions, other noise, wrong times and unknown motions."""
    raw = released()
    for release in (gv.Locations(TRACK).mean(rho=1), gv.Locations(TRACK).points(epsilon=1)):
        with pytest.raises(InvalidData, match="Gaussian"):
            release.smooth("taxi", times=TIMES)
    for times in (TIMES[:-1], np.full(300, np.nan), ["a"] * 300):
        with pytest.raises(InvalidParameter, match="times"):
            raw.smooth("taxi", times=times)
    with pytest.raises(InvalidParameter, match=r"motion = None: must be how people move: 'car', .*motion=\"walking\""):
        raw.smooth(times=TIMES)
    with pytest.raises(InvalidParameter, match="motion"):
        raw.smooth("swimming", times=TIMES)


PERSONS = np.array(["short"] * 20 + ["long"] * 230 + ["one"] + ["short"] * 49)


@pytest.mark.statistical
def test_persons_are_smoothed_alone() -> None:
    """Persons' points come out as if each had been released and smoothed alone, with their own noise."""
    raw = gv.Locations(TRACK, person=PERSONS, rng=np.random.default_rng(1)).points(rho=1e-3)
    smoothed = raw.smooth("taxi", times=TIMES, person=PERSONS)
    squares = 0.0
    for person in raw.person:
        at = person == PERSONS
        scale = raw.scale[person]
        np.testing.assert_allclose(smoothed.value[at], smoothing.smooth(raw.value[at], TIMES[at], scale, TAXI))
        squares += at.sum() * smoothing.expected_error(TIMES[at], scale, TAXI) ** 2
    np.testing.assert_array_equal(smoothed.value[250], raw.value[250])
    assert smoothed.expected_error() == pytest.approx(np.sqrt(squares / 300))
    assert off(smoothed.value) < 0.7 * off(raw.value)
    assert smoothed.guarantee == raw.guarantee
    assert smoothed.person.equals(raw.person)
    order = np.random.default_rng(2).permutation(300)
    shuffled = gv.Locations(TRACK[order], person=PERSONS[order], rng=np.random.default_rng(3)).points(rho=1e-3)
    done = shuffled.smooth("taxi", times=TIMES[order], person=PERSONS[order])
    assert off(done.value[np.argsort(order)]) < 0.7 * off(shuffled.value[np.argsort(order)])


def test_calls_stay_few() -> None:
    """No function is called for each person.

    Calls are for batches of points and for values that are tried, which are a few; one person takes hundreds.
    """

    def count(persons: int) -> int:
        who = np.repeat(np.arange(persons), 3)
        raw = gv.Locations(np.zeros((len(who), 2)), person=who, rng=np.random.default_rng(1)).points(rho=1e-3)
        times = np.tile([0.0, 60.0, 120.0], persons)
        return calls(lambda: raw.smooth("taxi", times=times, person=who))

    count(1)  # imports
    assert count(10_000) < 5 * 10_000
    assert count(1) > 500


def test_frames_know_persons() -> None:
    """Released by a column, a frame needs no labels; an array with several points of a person does."""
    frame = geopandas.GeoDataFrame({"who": PERSONS}, geometry=shapely.points(TRACK + UTM), crs=32610)
    raw = gv.Locations(frame, person="who", rng=np.random.default_rng(1)).points(rho=1e-3)
    smoothed = raw.smooth("taxi", times=TIMES)
    assert smoothed.value["who"].equals(frame["who"])
    array = gv.Locations(TRACK + UTM, person=PERSONS, rng=np.random.default_rng(1)).points(
        rho=in_the_plane(32610, 1e-3)
    )
    expected = array.smooth("taxi", times=TIMES, person=PERSONS).value
    np.testing.assert_allclose(shapely.get_coordinates(smoothed.value.geometry.array), expected)
    with pytest.raises(InvalidParameter, match=r"person = None.*gv\.Locations"):
        array.smooth("taxi", times=TIMES)
    for wrong in (PERSONS[::-1], np.arange(300), np.repeat(PERSONS[:100], 3)):
        with pytest.raises(InvalidData, match=r"^person = "):
            array.smooth("taxi", times=TIMES, person=wrong)
    with pytest.raises(InvalidParameter, match="left out"):
        released().smooth("taxi", times=TIMES, person=PERSONS)
    alone = gv.Locations(TRACK, person=np.arange(300), rng=np.random.default_rng(1)).points(rho=1e-3)
    np.testing.assert_allclose(alone.smooth("taxi", times=TIMES).value, alone.value)


@settings(max_examples=100)
@given(st.integers(0, 2**32))
def test_convex_clamping(seed: int) -> None:
    """The nearest point of a convex region is at least as near to every point of the region."""
    rng = np.random.default_rng(seed)
    region = shapely.MultiPoint(rng.normal(scale=100.0, size=(8, 2))).convex_hull
    y = rng.normal(scale=300.0, size=(50, 2))
    moved = clamp(y, region)
    assert shapely.distance(shapely.points(moved), region).max() < 1e-9
    inside = shapely.get_coordinates(region) if rng.random() < 0.5 else shapely.get_coordinates(region).mean(axis=0)
    for place in np.atleast_2d(inside):
        before, after = (np.linalg.norm(v - place, axis=1) for v in (y, moved))
        assert (after <= before + 1e-9).all()


def test_convex_clamping_keeps_bound() -> None:
    """Clamping to a convex region keeps error(beta); to any other it does not."""
    raw = released()
    assert raw.clamp(shapely.box(-5e3, -5e3, 5e3, 5e3)).error(0.05) == raw.error(0.05)
    bent = shapely.Polygon([(0, 0), (10, 0), (10, 10), (9, 1)])
    with pytest.raises(NoErrorBound, match="clamped"):
        raw.clamp(bent).error(0.05)
    smoothed = raw.smooth("taxi", times=TIMES)
    with pytest.raises(NoErrorBound):
        smoothed.clamp(shapely.box(0, 0, 1, 1)).error(0.05)


def test_places_are_clamped_too() -> None:
    """A center, as an array or as a shapely Point in feet, comes into the region."""
    region = shapely.box(0, 0, 100, 100)
    array = gv.Locations(TRACK + 1e6, rng=np.random.default_rng(1)).center(rho=1)
    np.testing.assert_allclose(array.clamp(region).value, [100, 100])
    feet = geopandas.GeoSeries(shapely.points(TRACK + np.array([6e6, 2.1e6])), crs=2227)
    place = gv.Locations(feet, rng=np.random.default_rng(1)).center(rho=1).clamp(region).value
    np.testing.assert_allclose([place.x, place.y], [100, 100], rtol=1e-6)
    for bad in (gv.Locations(TRACK).hull(rho=1), gv.Locations(TRACK).radius(rho=1)):
        with pytest.raises(InvalidData, match="place"):
            bad.clamp(region)
    with pytest.raises(InvalidParameter, match="region"):
        array.clamp(shapely.Point(0, 0))


@pytest.mark.statistical
def test_far_points_are_clamped() -> None:
    """Released points may lie farther away than inputs may, and are clamped."""
    raw = gv.Locations(TRACK, rng=np.random.default_rng(4)).points(rho=1e-14)
    assert np.abs(np.asarray(raw.coords)).max() > 1e8
    region = shapely.box(-5e3, -5e3, 5e3, 5e3)
    assert np.abs(np.asarray(raw.clamp(region).coords)).max() <= 5e3
    assert np.isfinite(np.asarray(raw.smooth("taxi", times=TIMES).coords)).all()


def test_processing_has_an_order() -> None:
    """Clamped noise is no longer Gaussian, places of several persons are no one place, and an expectation survives."""
    region = shapely.box(-5e3, -5e3, 5e3, 5e3)
    with pytest.raises(InvalidData, match="Smooth first"):
        released().clamp(region).smooth("taxi", times=TIMES)
    with pytest.raises(InvalidData, match="place"):
        gv.Locations(TRACK, person=np.arange(300) // 100).center(rho=1).clamp(region)
    people = gv.Locations(TRACK, person=np.arange(300) // 100).points(rho=1)
    assert people.clamp(region).person.equals(people.person)
    smoothed = released().smooth("taxi", times=TIMES)
    assert smoothed.clamp(region).expected_error() == smoothed.expected_error()


def test_times_are_seconds() -> None:
    """Numbers, durations, datetimes with and without a time zone, in arrays, lists and Series, are the same times."""
    release = gv.Locations(np.cumsum(np.ones((40, 2)), axis=0), rng=np.random.default_rng(1)).points(rho=1e-3)
    seconds = np.arange(40) * 30.0
    wanted = release.smooth("walking", times=seconds).value
    stamps = pd.Timestamp("2026-11-15") + pd.to_timedelta(seconds, unit="s")
    for times in (
        seconds.astype(int).tolist(),
        pd.to_timedelta(seconds, unit="s"),
        pd.to_timedelta(seconds, unit="s").to_numpy(),
        stamps,
        stamps.tz_localize("America/Los_Angeles"),
        pd.Series(stamps.tz_localize("UTC")),
        stamps.to_pydatetime().tolist(),
    ):
        np.testing.assert_allclose(release.smooth("walking", times=times).value, wanted)
    for wrong in (["now"] * 40, [[1.0]] * 40, None, seconds[:-1]):
        with pytest.raises(gv.errors.InvalidParameter, match="times"):
            release.smooth("walking", times=wrong)


def test_misordered_times_are_refused() -> None:
    """A Series of times must have the index of the frame it belongs to."""
    frame = geopandas.GeoDataFrame(geometry=shapely.points(np.zeros((5, 2)) + UTM), index=list("abcde"), crs=32610)
    release = gv.Locations(frame).points(rho=1e-3)
    times = pd.Series(np.arange(5.0), index=list("abcde"))
    release.smooth("walking", times=times)
    with pytest.raises(gv.errors.InvalidParameter, match="index"):
        release.smooth("walking", times=times.iloc[::-1])


def test_bad_regions_are_refused() -> None:
    """Bow ties, lines that call themselves polygons and frames are refused with the remedy."""
    release = gv.Locations(np.zeros((1, 2))).points(rho=1e-3)
    bow_tie = shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])
    flat = shapely.Polygon([(0, 0), (1, 1), (0, 0)])
    for region in (bow_tie, flat, shapely.Polygon(), geopandas.GeoSeries([BOX])):
        with pytest.raises(gv.errors.InvalidParameter, match="union_all"):
            release.clamp(region)


def test_times_from_a_column() -> None:
    """The column's name gives the same as its values; another name is refused."""
    frame = geopandas.GeoDataFrame(
        {"time": pd.date_range("2024-05-01", periods=5, freq="min")},
        geometry=geopandas.points_from_xy(np.arange(5) * 100.0, np.zeros(5)),
        crs=gv.local(lat=0, lon=0, radius=50_000).crs,
    )
    raw = gv.Locations(frame).points(rho=1e-4)
    named, given = (raw.smooth("car", times=times).coords for times in ("time", raw.value["time"]))
    np.testing.assert_array_equal(named, given)
    with pytest.raises(InvalidParameter, match=r"^times = 'tme': must be .*'time'"):
        raw.smooth("car", times="tme")


def test_time_column_is_found(tmp_path: Path) -> None:
    """A column of the release, its values and the only column of times are the same times, also of a file."""
    n = 30
    stamps = pd.date_range("2026-05-01", periods=n, freq="min")
    coords = np.array([-122.4, 37.7]) + np.cumsum(np.full((n, 2), 1e-4), axis=0)
    frame = geopandas.GeoDataFrame({"t": stamps}, geometry=geopandas.points_from_xy(*coords.T), crs=4326)
    area = gv.local(lat=37.7, lon=-122.4, radius=20_000)
    release = gv.Locations(frame, area=area).points(rho=1e-3)

    def smoothed(release: Any, times: Any = None) -> Any:
        return release.smooth("car", times=times).coords

    wanted = smoothed(release, np.arange(n) * 60.0)
    for times in ("t", None, frame["t"], stamps.to_numpy(), stamps.strftime("%d/%m/%Y %H:%M"), stamps.astype(str)):
        np.testing.assert_allclose(smoothed(release, times), wanted)
    two = gv.Locations(frame.assign(date=stamps), area=area).points(rho=1e-3)
    with pytest.raises(gv.errors.InvalidParameter, match=r"times = None.*'t', 'date'"):
        two.smooth("car")
    with pytest.raises(gv.errors.InvalidParameter, match=r"none.*keep="):
        gv.Locations(frame[["geometry"]], area=area).points(rho=1e-3).smooth("car")
    with pytest.raises(gv.errors.InvalidParameter, match="a time for each point"):
        gv.Locations(frame.geometry, area=area).points(rho=1e-3).smooth("car")
    seconds = (stamps - stamps[0]).total_seconds() + 1.7e9
    for unit in ("1", "1000"):
        rows = [f"{lon},{lat},{second * float(unit):.0f}" for (lon, lat), second in zip(coords, seconds, strict=True)]
        source = tmp_path / f"trips{unit}.csv"
        source.write_text("\n".join(["lon,lat,time", *rows]))
        released = gv.Locations(source, area=area).points(to=tmp_path / f"out{unit}.csv", rho=1e-3)
        loaded = gv.load(released.value)
        expected = smoothed(loaded, np.arange(n) * 60.0)
        for either in (released, loaded):
            np.testing.assert_allclose(smoothed(either, "time"), expected)
            np.testing.assert_allclose(smoothed(either), expected)
