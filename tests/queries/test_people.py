"""Many persons are answered at once as each would be alone, without a call for each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pyproj
import pytest
from flint import ctx

import geoveil as gv
from geoveil.geo.planes import plane_of
from geoveil.noise import as_reals
from geoveil.queries import SUMMARIES, Distance, evaluation, grouped
from geoveil.queries.evaluation import away
from geoveil.queries.lipschitz_query import LipschitzQuery
from tests.formats import BAY

GUARANTEE = gv.CGP(rho=1e-4)
FAST = ["bounds", "center", "diameter", "mean", "median", "radius", "radius_of_gyration", "distance"]


def query(name: str, d: int = 2) -> LipschitzQuery:
    """A question about one person."""
    if name == "distance":
        return Distance(1, d, GUARANTEE, measure=partial(away, p=np.full(d, 10.0), public=True), fn_error=0.0)
    return SUMMARIES[name](1, d, GUARANTEE)


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_values_as_each_alone(name: str, d: int) -> None:
    """Values of many are those of each. With the same bound on their error, also for persons with very many points."""
    rng = np.random.default_rng(d)
    sizes = np.array([1, 2, 3, 64, 65, 5000, 1, 70_000, 128])
    if name in ("radius", "diameter"):
        sizes = np.minimum(sizes, 5000 if d < 5 else 100)
    x = rng.normal(scale=1e4, size=(sizes.sum(), d)) + 9e7 * rng.choice([-1.0, 1.0], size=d)
    asked = query(name, d)
    together = asked.evaluate_people(x, sizes)
    for i, part in enumerate(np.split(x, np.cumsum(sizes)[:-1])):
        alone = asked.evaluate(part)
        error = np.max(np.broadcast_to(together.error, together.values.shape)[i])
        assert np.max(alone.error) == error
        assert np.abs(together.values[i] - alone.values.ravel()).max() <= 2 * error
        if len(part) <= 65:
            with ctx.workprec(200):
                for j in range(alone.values.size):
                    ball = together.ball(i * alone.values.size + j, 128)
                    assert alone.ball(j, 128).overlaps(ball)
                    assert abs(float(ball) - together.values[i, j]) <= error + 1e-9 * 2.0**-20


def tuples(kind: str, d: int, sizes: Any) -> Any:
    """Points that are hard for smallest balls: on a circle, on a line, on a grid, many times the same."""
    rng = np.random.default_rng(d)
    n = int(sizes.sum())
    x: Any = rng.normal(scale=1e4, size=(n, d))
    if kind == "sphere":
        x *= 5e3 / np.linalg.norm(x, axis=1, keepdims=True)
    elif kind == "line":
        x = x[:, :1] * np.arange(1.0, d + 1)
    elif kind == "grid":
        x = rng.integers(0, 5, size=(n, d)) * 100.0
    elif kind == "repeated":
        x = np.repeat(x[: n // 3 + 1], 3, axis=0)[:n]
    elif kind == "nearly one place":
        x *= 1e-13
    return x + 9e7


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["anywhere", "sphere", "line", "grid", "repeated", "nearly one place"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_smallest_balls_are_certain(kind: str, d: int) -> None:
    """The radius is between its two bounds, which leave less open than is stated; no point is outside."""
    sizes = np.random.default_rng(7).integers(1, 40, size=300)
    x = as_reals(tuples(kind, d, sizes))
    above, below = grouped.radii(x.values, sizes)
    assert evaluation.bounds_are_tight(x, above, below).all()
    together = query("radius", d).evaluate_people(x, sizes)
    ends = np.cumsum(sizes)
    for i in range(0, len(sizes), 20):
        with ctx.workprec(200):
            exact = evaluation.enclosing_radius(x[ends[i] - sizes[i] : ends[i]]).ball(0, 128)
        assert abs(float(exact) - above[i, 0]) <= np.asarray(together.error)[i, 0]


def test_uncertain_balls_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the search for many stops early, each is looked at as if alone, with the error of that."""
    sizes = np.full(20, 30)
    x = tuples("anywhere", 2, sizes)
    monkeypatch.setattr(grouped, "_GROWING", 1)
    above, below = grouped.radii(x, sizes)
    assert not evaluation.bounds_are_tight(as_reals(x), above, below).all()
    values = query("radius").evaluate_people(x, sizes).values[:, 0]
    monkeypatch.undo()
    np.testing.assert_allclose(values, grouped.radii(x, sizes)[0][:, 0], rtol=1e-12)


def calls(ask: Callable[[], object]) -> int:
    """How many functions of Python are called."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        ask()
    finally:
        sys.setprofile(None)
    return count


def crowd(persons: int) -> Any:
    """Persons with one to four points each."""
    rng = np.random.default_rng(persons)
    whose = rng.permutation(np.repeat(np.arange(persons), 1 + np.arange(persons) % 4))
    places = rng.normal(scale=3000, size=(len(whose), 2)) + np.array([551_000, 4_180_000])
    return geopandas.GeoDataFrame({"user": whose}, geometry=geopandas.points_from_xy(*places.T), crs=32610)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["points", *FAST])
def test_calls_stay_few(name: str) -> None:
    """No function is called for each person.

    Ten thousand persons more take a few calls more; the median of each alone is not answered so.
    """

    def ask(frame: Any) -> Any:
        more = ((551_000, 4_180_000),) if name == "distance" else ()
        # A radius is known less well: of some of ten thousand more bits are asked for, one by one.
        rng = np.random.default_rng(1) if name == "radius" else None
        return getattr(gv.Locations(frame, person="user", rng=rng), name)(*more, rho=1e-4)

    few, many = crowd(400), crowd(10_400)
    ask(few)  # imports
    assert calls(lambda: ask(many)) - calls(lambda: ask(few)) < 2000
    assert len(ask(many).person) == 10_400
    first = partial(gv.Locations(few, person="user").answer, lambda x: x[0, 0], lipschitz=1, rho=1e-4)
    assert calls(first) > 400  # what the count would notice


@pytest.mark.slow
def test_boxes_as_each_alone() -> None:
    """In degrees a box bends; also around a pole, and across the antimeridian. Many take few calls."""
    rng = np.random.default_rng(5)
    for lat, lon in ((37.77, -122.42), (89.0, 10.0), (0.0, 179.9)):
        plane = plane_of(pyproj.CRS(4326), gv.local(lat=lat, lon=lon, radius=500_000))
        low = plane.area.middle + rng.uniform(-2e5, 2e5, size=(3000, 2))
        ends = np.hstack([low, low + rng.uniform(0, 2e5, size=low.shape)])
        boxes = plane.boxes(ends)
        for i in range(0, 3000, 100):
            np.testing.assert_array_equal(boxes[i], plane.box(ends[i]))
        assert calls(lambda plane=plane, ends=ends: plane.boxes(ends)) < 3000  # type: ignore[misc]
        assert (boxes[:, 1] < boxes[:, 3]).all()
        assert (boxes[:, 0] < boxes[:, 2]).all()
        assert (np.abs(boxes[:, [0, 2]]) > 180).any() == (lat != 37.77)
        assert (boxes[:, 2] - boxes[:, 0] == 360).any() == (lat == 89.0)


def release_file(folder: Path) -> None:
    """Release the points of a file to another file."""
    trips = gv.Locations(folder / "in.parquet", person="user", area=BAY, overwrite=True)
    trips.points(to=folder / "out.parquet", rho=1e-4)


@pytest.mark.slow
def test_file_calls_stay_few(tmp_path: Path) -> None:
    """From file to file, no function is called for each person."""
    counts = []
    for persons in (400, 400, 10_400):
        crowd(persons).to_parquet(tmp_path / "in.parquet")
        people = gv.Locations(tmp_path / "in.parquet", person="user", area=BAY, overwrite=True)
        counts.append(calls(partial(people.points, to=tmp_path / "out.parquet", rho=1e-4)))
    assert counts[2] - counts[1] < 2000


def test_persons_of_any_size() -> None:
    """Persons may have one point or many. Each has the noise of their own number of points."""
    frame = crowd(8)
    release = gv.Locations(frame, person="user").points(rho=5e-5)
    sizes = frame.user.value_counts()
    for person, scale in release.scale.items():
        assert 1 <= scale / (100 * np.sqrt(sizes[person])) < 1.01
