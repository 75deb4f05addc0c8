"""Sets of points: questions that do not depend on the order, or on the number, of a person's points, and say so."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

import geoveil as gv
from geoveil.errors import InvalidInput
from geoveil.mechanisms import Gaussian, Laplace, sample_people
from geoveil.noise import Entropy, as_reals
from geoveil.privacy import dist_1, dist_2, dist_inf
from geoveil.queries import SUMMARIES, Points, SupportHull, UnitSizes, identity, lipschitz_query
from geoveil.queries.constants import lipschitz, support_squared
from geoveil.queries.convex import directions
from geoveil.queries.summaries import Mean
from tests.oracle import Floats, tightness
from tests.questions import CROWD_QUESTIONS, QUESTIONS, VARIANTS, arguments, ask, release_of, session_of

#: Four points around the place that questions are asked about.
X = np.random.default_rng(1).normal(scale=30, size=(4, 2)) + 350
#: Questions that hold for sets of points in any order, and those that can hide the number of points.
SETS = {"bounds", "center", "diameter", "distance", "distance to an area", "hull", "mean", "median", "radius"}
SETS |= {"radius_of_gyration"}
CROWD_SETS = {"counts", "heatmap"}
SIZELESS = sorted(SETS)
TOGETHER = sorted(SETS - {"mean", "median", "radius_of_gyration"})
#: Parameters with which the order shows in the answer.
CLEAR: dict[str, dict[str, Any]] = {"first_within": {"radius": 291.0, "rho": 10}, "nearest": {"rho": 10}}
CLEAR["nearest with locations"] = {"rho": 10}
BAY = gv.local(lat=37.77, lon=-122.42, radius=8000)


def same_bits() -> None:
    """Let exact noise begin anew with the same stream of bits; a fixture of all tests restores the streams."""
    Entropy.__init__.__defaults__ = (np.random.default_rng(7).bytes,)


# The order of points ------------------------------------------------------------------------------------------------


def answers_in_any_order(question: str, metric: str = "inf") -> set[bytes]:
    """The answers to four points in every order, drawn with the same bits."""
    found = set()
    for order in itertools.permutations(range(4)):
        x = X[list(order)]
        same_bits()
        if question in CROWD_QUESTIONS:
            # Doubles are added up in another order, far below the noise.
            values = release_of(question, x, rho=1e-3, metric=metric, **CROWD_QUESTIONS[question]).value
            if isinstance(values, pd.DataFrame):
                values = values[[name for name in ("persons", "points") if name in values]]
            found.add(np.round(np.asarray(values, dtype=float), 6).tobytes())
        else:
            value = ask(question, x, metric=metric, **CLEAR.get(question, {})).value
            found.add(repr(value if not isinstance(value, np.ndarray) else value.tolist()).encode())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["inf", "2", "1"])
@pytest.mark.parametrize("question", [*VARIANTS, *CROWD_QUESTIONS])
def test_order_matters_is_stated(question: str, metric: str) -> None:
    """The certificate of every question says that order may be secret exactly if all orders have the same answer."""
    if question == "answer" and metric != "inf":
        pytest.skip("a user's constant holds under one metric")
    crowd = question in CROWD_QUESTIONS
    how = CROWD_QUESTIONS[question] | {"rho": 1e-3} if crowd else arguments(question)
    release = release_of(VARIANTS.get(question, (question,))[0], X, metric=metric, **how)
    certificate, secret = release.certificate(), question in SETS | CROWD_SETS
    assert (len(answers_in_any_order(question, metric)) == 1) is secret
    assert ("order of a person's points is secret" in certificate["words"]) is secret
    assert ("their order" in certificate["public"]) is not (secret or crowd)
    assert release.facts().sets == (
        None if not secret else "matching" if metric != "inf" else "earth mover" if crowd else "bottleneck"
    )


def weighted_by_row(patch: pytest.MonkeyPatch) -> None:
    """A mean whose rows have weights of their own."""
    patch.setattr(Mean, "evaluate", lambda query, x: as_reals(np.average(np.asarray(x.values), 0, [1, 2, 3, 4])))


def first_point(patch: pytest.MonkeyPatch) -> None:
    """A place that is the first point of the data."""
    patch.setattr(Mean, "evaluate", lambda query, x: as_reals(np.asarray(x.values)[0]))


@pytest.mark.parametrize("plant", [weighted_by_row, first_point])
def test_ordered_values_are_caught(monkeypatch: pytest.MonkeyPatch, plant: Callable[..., None]) -> None:
    """A value that depends on the order does not pass for one of a set."""
    plant(monkeypatch)
    assert len(answers_in_any_order("mean")) > 1


def test_times_order_points() -> None:
    """Where any day is hidden, and in slices of time, the order of points is that of their times."""
    assert Mean(4, 2, gv.CGP(rho=1e-4, metric="1 day"), units=UnitSizes(2)).sets is None
    table = pd.DataFrame({"user": "ann", "time": pd.date_range("2026-05-04", periods=4, freq="h"), "lat": 37.77})
    trips = gv.Locations(table.assign(lon=-122.42), person="user", area=BAY)
    assert trips.heatmap(4000, rho=1e-4, every="2 hours").facts().sets is None
    whole = trips.heatmap(4000, rho=1e-4).certificate()["words"]
    assert "under the earth mover's distance of each person's points, added up over persons" in whole


def test_words_know_removed_rows() -> None:
    """Where rows were removed, the sentence is about those that remain."""
    table = pd.DataFrame({"kind": ["a", "b", "a"], "lat": 37.77, "lon": -122.42})
    words = gv.Locations(table, area=BAY, where="kind = 'a'").mean(rho=1e-4).certificate()["words"]
    assert "if the order of a person's remaining points is secret" in words


# Distances between sets ---------------------------------------------------------------------------------------------


def bottleneck(x: Floats, y: Floats) -> float:
    """The longest way in the matching of equally many points whose longest way is shortest."""
    apart = cdist(x, y)
    for length in np.unique(apart):
        too_far = (apart > length).astype(int)
        if too_far[linear_sum_assignment(too_far)].sum() == 0:
            return float(length)
    raise AssertionError


def wasserstein(x: Floats, y: Floats) -> float:
    """The bottleneck distance of the points of two sets, repeated to a common number."""
    common = math.lcm(len(x), len(y))
    return bottleneck(np.repeat(x, common // len(x), axis=0), np.repeat(y, common // len(y), axis=0))


def hausdorff(x: Floats, y: Floats) -> float:
    """The largest distance of a point of one set from the other set."""
    apart = cdist(x, y)
    return float(max(apart.min(axis=0).max(), apart.min(axis=1).max()))


def query(name: str, n: int, guarantee: gv.Guarantee, **more: Any) -> Any:
    """The query behind a question about n points."""
    if name == "hull":
        return SupportHull(n, 2, guarantee, k=12, **more)
    if name.startswith("distance"):
        made = ask(name, np.zeros((n, 2))).answers[0].query
        return replace(made, n=n, guarantee=guarantee, **more)
    return SUMMARIES[name](n, 2, guarantee, **more)


def true_value(asked: Any, x: Floats) -> Floats:
    """The numbers to which noise is added."""
    if isinstance(asked, SupportHull):
        return np.asarray((x @ asked.directions.T).max(axis=0))
    return np.ravel(asked.evaluate(as_reals(x)).values)


def pairs_of_sets(seed: int, *, sizes: Sequence[int] = (1, 2, 3, 4, 6)) -> list[tuple[Floats, Floats]]:
    """Pairs of sets of different sizes: random ones, and those that come near the constants."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(60):
        x = rng.normal(scale=300, size=(int(rng.choice(sizes)), 2))
        near = x[rng.integers(0, len(x), int(rng.choice(sizes)))] + rng.normal(scale=50, size=2)
        split = np.repeat(x, 2, axis=0) + rng.choice([-1.0, 1.0], size=(2 * len(x), 2)) * 30
        found += [(x, near), (x, split), (x, np.vstack([x, x[:1] + rng.normal(scale=20, size=2)]))]
    diamond = 500 * np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    sideways = 10 * np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    many = 500 * directions(12)
    middle = np.array([[0.0, 500], [-500, 0], [600, -600]])
    aside = np.array([[10.0, 0], [0, 10], [0, 0]])
    for start, step in (
        (middle, aside),
        (diamond, sideways),
        (diamond, diamond / 50),
        (many, many / 50),
        (x, x * 0 + [6.0, 8.0]),
    ):
        found += [(start, start + step), (np.repeat(start, 3, axis=0), start + step)]
    # A shape may be nearest to one point alone, so this point moves towards the place that is asked about.
    toward = np.array([[100.0, 200]]) - X[:1]
    return [*found, (X[:1], np.repeat(X[:1] + toward * (10 / np.linalg.norm(toward)), 2, axis=0))]


def largest_share(name: str, *, budget: str = "rho") -> float:
    """The largest change of an answer over what its noise allows, between sets of any sizes, under its distance."""
    guarantee: gv.Guarantee = gv.CGP(rho=1e-4) if budget == "rho" else gv.GP(epsilon=0.01)
    away = {"Hausdorff": hausdorff, "Wasserstein": wasserstein}
    worst = 0.0
    for x, y in pairs_of_sets(3):
        first, second = (query(name, len(each), guarantee, hides_count=True) for each in (x, y))
        change = true_value(first, x) - true_value(second, y)
        between, mechanism = away[first.sets](x, y), first.mechanism
        if mechanism.scale != second.mechanism.scale:
            # Laws with noise of different scales are far apart in the tails, whatever the values are.
            return math.inf
        if isinstance(mechanism, Gaussian):
            allowed, used = math.sqrt(2e-4) * between, np.linalg.norm(change)
        else:
            allowed, used = 0.01 * between, np.abs(change).max() if name == "hull" else np.linalg.norm(change)
        worst = max(worst, float(used) / (mechanism.scale * allowed) if between else float(used) * math.inf)
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("budget", ["rho", "epsilon"])
@pytest.mark.parametrize("name", SIZELESS)
def test_sizes_share_constants(name: str, budget: str) -> None:
    """No two sets of different sizes are told apart better than their distance allows, and the noise is the same."""
    assert 0.98 < largest_share(name, budget=budget) <= 1 + 1e-9


@pytest.mark.parametrize("name", SIZELESS)
def test_bottleneck_constants_hold(name: str) -> None:
    """Sets in any two orders are told apart no better than the best matching of their points allows."""
    rng, asked = np.random.default_rng(2), query(name, 4, gv.CGP(rho=1e-4))
    for _ in range(40):
        x = rng.normal(scale=300, size=(4, 2))
        y = (x + rng.normal(scale=50, size=(4, 2)))[rng.permutation(4)]
        moved = float(np.linalg.norm(true_value(asked, x) - true_value(asked, y)))
        assert moved <= asked.mechanism.scale * math.sqrt(2e-4) * bottleneck(x, y) * (1 + 1e-9)


def constants_that_use_n(patch: pytest.MonkeyPatch) -> None:
    """The constants of n points, where their number is hidden."""

    def of_n(asked: Any) -> float:
        n = max(asked.n, 1)
        return lipschitz(asked.name, n=n, d=2, metric=dist_inf, largest=n)

    patch.setattr(lipschitz_query.LipschitzQuery, "constant", property(of_n))


def constant_of_single_points(patch: pytest.MonkeyPatch) -> None:
    """The constants of a single point, whatever the sets are."""
    patch.setattr(
        lipschitz_query,
        "sizeless",
        lambda name, d: lipschitz(name, n=1, d=d, metric=dist_inf, largest=1),
    )


def hull_that_uses_n(patch: pytest.MonkeyPatch) -> None:
    """The hull's constant of n points, where their number is hidden."""
    mechanism = SupportHull.mechanism.func  # type: ignore[attr-defined]

    def of_n(asked: SupportHull) -> Any:
        shown = copy.copy(asked)
        object.__setattr__(shown, "hides_count", False)
        object.__setattr__(shown, "n", max(asked.n, 1))
        return mechanism(shown)

    patch.setattr(SupportHull, "mechanism", property(of_n))


def mean_under_hausdorff(patch: pytest.MonkeyPatch) -> None:
    """A mean that claims to hold under the Hausdorff distance, which does not count repeated points."""
    patch.setattr(Mean, "sizeless", "Hausdorff")


@pytest.mark.parametrize(
    ("plant", "name"),
    [
        (constants_that_use_n, "bounds"),
        (constants_that_use_n, "center"),
        (constants_that_use_n, "diameter"),
        (constant_of_single_points, "diameter"),
        (constant_of_single_points, "center"),
        (hull_that_uses_n, "hull"),
        (mean_under_hausdorff, "mean"),
    ],
)
def test_size_constants_are_caught(monkeypatch: pytest.MonkeyPatch, plant: Callable[..., None], name: str) -> None:
    """A constant that depends on the number of points, or is too small for some number, is found."""
    plant(monkeypatch)
    assert largest_share(name) > 1.001


# Points in no order -------------------------------------------------------------------------------------------------


def sorted_law(x: Floats, scales: Floats, y: Floats) -> Floats:
    """The log-density of sorted points on a line, of which point i has Gaussian noise of scale i."""
    terms = [
        (-((y[:, list(order)] - x) ** 2) / (2 * scales**2) - np.log(scales * math.sqrt(2 * math.pi))).sum(axis=1)
        for order in itertools.permutations(range(len(x)))
    ]
    return np.asarray(np.logaddexp.reduce(terms, axis=0))


def sorted_tightness(guarantee: gv.CGP, x: Floats, moved: Floats, scales: Floats, distance: float) -> float:
    """The share of what a guarantee allows that sorted points on a line use, by exact densities on a grid."""
    step = scales.min() / 12
    ends = np.arange(
        min(x.min(), moved.min()) - 11 * scales.max(), max(x.max(), moved.max()) + 11 * scales.max(), step
    )
    first, second = np.meshgrid(ends, ends, indexing="ij")
    y = np.column_stack([first[first < second], second[first < second]])
    log_p, log_q = (sorted_law(each, scales, y) for each in (x, moved))
    return tightness(log_p, log_q, guarantee, distance, np.full(len(y), step**2))


@pytest.mark.parametrize("metric", ["inf", "2", "1"])
def test_sorting_keeps_bottleneck(metric: str) -> None:
    """The divergence of sorted points is bounded by the distance after the best matching, by exact densities."""
    guarantee = gv.CGP(rho=0.02, metric=metric)
    scale = Points(2, 1, guarantee, order="hidden").mechanism.scale
    length: dict[str, Callable[..., Any]] = {"inf": np.max, "2": np.linalg.norm, "1": np.sum}
    away = length[metric]
    for x, moved in (([0.0, 3], [4.0, 1]), ([0, 40], [41, 2]), ([0, 0], [3, 3]), ([0, 10], [5, 5])):
        distance = min(float(away(np.abs(np.array(x) - order))) for order in itertools.permutations(moved))
        share = sorted_tightness(guarantee, np.array(x), np.array(moved), np.full(2, scale), distance)
        assert share <= 1 + 1e-4


def test_row_scales_are_caught() -> None:
    """Noise that differs between rows tells their order, although it is as large as the guarantee asks."""
    guarantee = gv.CGP(rho=0.02)
    scale = Points(2, 1, guarantee).mechanism.scale
    x, moved = np.array([0.0, 40]), np.array([40.5, 0.5])
    assert sorted_tightness(guarantee, x, moved, np.array([scale, 2 * scale]), 0.5) > 10


def spread_by_row(whose: str) -> Floats:
    """The spread of noise that is really drawn on each of four rows without an order, in units of the stated scale."""
    # The rows are so far apart that sorting leaves them where they are.
    x, times = np.array([[0.0, 1e6 * row] for row in range(4)]), 300
    same_bits()
    if whose == "each":
        people = np.repeat(np.arange(times), 4)
        drawn = release_of("points", np.tile(x, (times, 1)), person=people, rho=1e-4, order="hidden").value
    else:
        drawn = np.array([release_of("points", x, rho=1e-4, order="hidden").value for _ in range(times)])
    noise = np.reshape(drawn, (times, 4, 2)) - x
    return np.asarray(noise.std(axis=(0, 2)) / Points(4, 2, gv.CGP(rho=1e-4), order="hidden").mechanism.scale)


@pytest.mark.parametrize("whose", ["one", "each"])
def test_rows_have_one_noise(whose: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows without an order have noise of the same scale; a sampler whose rows have scales of their own fails."""
    np.testing.assert_allclose(spread_by_row(whose), 1, atol=0.12)
    right, together = Gaussian.sample, sample_people

    def uneven(x: Any, drawn: Floats) -> Floats:
        return np.asarray(x.values + (drawn - x.values) * (1 + np.arange(len(drawn)) % 2)[:, None])

    monkeypatch.setattr(Gaussian, "sample", lambda law, x, source: uneven(x, right(law, x, source)))
    monkeypatch.setattr(
        identity, "sample_people", lambda laws, sizes, x, source: uneven(x, together(laws, sizes, x, source))
    )
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(spread_by_row(whose), 1, atol=0.12)


@pytest.mark.parametrize("budget", [{"rho": 1e-4}, {"epsilon": 0.01}])
@pytest.mark.parametrize("metric", [dist_inf, dist_2, dist_1])
def test_released_points_are_sorted(budget: dict[str, Any], metric: Any) -> None:
    """The points without an order are those with one, drawn with the same bits and sorted within each person."""
    x, people = np.random.default_rng(4).normal(scale=500, size=(40, 2)), np.arange(40) % 3
    for person in (None, people):
        drawn = []
        for order in ("public", "hidden"):
            same_bits()
            drawn.append(release_of("points", x, person=person, metric=metric.name, **budget, order=order).value)
        with_order, without = drawn
        for own in [np.arange(40)] if person is None else [np.flatnonzero(people == each) for each in range(3)]:
            expected = with_order[own][np.lexsort(with_order[own].T)]
            np.testing.assert_array_equal(without[own], expected)


def test_sorting_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points that are left in their order do not pass for sorted ones."""
    monkeypatch.setattr(identity, "sorted_points", lambda points, person: points)
    with pytest.raises(AssertionError):
        test_released_points_are_sorted({"rho": 1e-4}, dist_inf)


def rows() -> pd.DataFrame:
    """Rows with labels, times and notes, of two persons."""
    frame = pd.DataFrame({"user": ["ann", "bob"] * 5, "time": pd.date_range("2026-05-04", periods=10, freq="h")})
    frame[["lat", "lon"]] = np.random.default_rng(5).normal([37.77, -122.42], 0.01, size=(10, 2))
    return frame.assign(note="x").set_index(pd.Index([f"row {i}" for i in range(10)]))


@pytest.mark.parametrize("door", ["table", "frame", "arrow", "file", "session"])
def test_nothing_tells_the_order(door: str, tmp_path: Path) -> None:
    """Released tables and files have no times, labels of rows or other columns, and say that their order is hidden."""
    frame = rows()
    source: Any = frame
    if door == "frame":
        source = geopandas.GeoDataFrame(
            frame[["user", "time"]], geometry=geopandas.points_from_xy(frame.lon, frame.lat), crs=4326
        )
    if door == "arrow":
        import pyarrow as pa

        source = pa.Table.from_pandas(frame, preserve_index=False)
    if door == "file":
        source = tmp_path / "rows.csv"
        frame.to_csv(source, index=False)
    locations = gv.Locations(source, person="user", area=BAY)
    asked: Any = locations.session(rho=1e-3) if door == "session" else locations
    to = {"to": tmp_path / "released.csv"} if door == "file" else {}
    release = asked.points(rho=1e-4, order="hidden", **to)
    value = release.value.to_pandas() if door == "arrow" else release.value
    names = {"user", "geometry"} if door in ("frame", "file") else {"user", "lat", "lon"}
    assert {*value.columns} == names
    assert isinstance(value.index, pd.RangeIndex)
    assert "their order" not in release.certificate()["public"]
    assert not release.is_track
    assert "hidden too" in repr(release)
    if door == "file":
        assert gv.verify(to["to"])
        again = gv.load(to["to"])
        assert again.facts().sets == "bottleneck"
        with pytest.raises(InvalidInput, match=r'Release them with order="public"'):
            again.smooth("walking", times=np.arange(10) * 60.0)


@pytest.mark.parametrize(
    ("how", "asked", "message"),
    [
        ({"protect": "1 day"}, {}, r"^order = 'hidden': must be public under dist_\[1 day\]"),
        ({}, {"keep": ["note"]}, r"^keep = .*other columns tell rows apart"),
        ({}, {"order": "secret"}, r"^order = 'secret': must be 'public' or 'hidden'"),
        ({"lat": ["lat", "lat2"], "lon": ["lon", "lon2"]}, {}, r"^order = .*rows of several points"),
    ],
)
def test_unhideable_orders(how: dict[str, Any], asked: dict[str, Any], message: str) -> None:
    """Units of time, columns of rows and rows of several points keep an order, and are refused."""
    frame = rows().assign(lat2=37.77, lon2=-122.42)
    with pytest.raises(InvalidInput, match=message):
        gv.Locations(frame, person="user", area=BAY, **how).points(**{"rho": 1e-4, "order": "hidden", **asked})


def test_lines_keep_their_order(tmp_path: Path) -> None:
    """The vertices of a line and the points of a track are in an order, in memory and in a file."""
    import shapely

    track = "".join(f'<trkpt lat="37.77" lon="-122.4{i}"/>' for i in range(4))
    path = tmp_path / "walk.gpx"
    path.write_text(
        '<gpx version="1.1" creator="test" xmlns="http://www.topografix.com/GPX/1/1">'
        f"<trk><trkseg>{track}</trkseg></trk></gpx>"
    )
    for source in (shapely.LineString(X), path):
        how: dict[str, Any] = {"area": BAY} if source is path else {}
        with pytest.raises(InvalidInput, match=r"^order = .*tracks"):
            gv.Locations(source, **how).points(rho=1e-4, order="hidden")
    assert (
        len(gv.Locations(shapely.get_coordinates(shapely.LineString(X))).points(rho=1e-4, order="hidden").value) == 4
    )


# The number of points -----------------------------------------------------------------------------------------------


def told(release: gv.Release) -> list[object]:
    """All that a release tells, without its id and its entry in a ledger."""
    known = replace(release, id="", entry=None)
    facts, certificate = known.facts(), known.certificate()
    page = known._report(None, None, None) if release.plane is not None else None
    drawn = None if page is None else page.html() if hasattr(page, "html") else repr(page)
    return [pickle.dumps(known), repr(facts), json.dumps(certificate, sort_keys=True), repr(known), drawn]


def twice(frame: pd.DataFrame) -> pd.DataFrame:
    """The same places, where one person has each of them twice and the other three times: as sets they are equal."""
    parts = [frame[frame.user == "ann"]] * 2 + [frame[frame.user == "bob"]] * 3
    return pd.concat(parts).sort_values("user", kind="stable", ignore_index=True)


def hiding(name: str, frame: pd.DataFrame, **how: Any) -> gv.Release:
    """Ask a question that hides the number of points."""
    question, more = VARIANTS[name]
    place = {"p": geopandas.GeoSeries.from_xy([-122.42], [37.77], crs=4326)} if question == "distance" else {}
    options = {**QUESTIONS[question], **(more if not place else {}), **place}
    given = {"rho": 1e-4, "area": BAY, **how}
    same_bits()
    release = release_of(question, frame, **given, **options, count="hidden")
    assert isinstance(release, gv.Release)
    return release


@pytest.mark.parametrize("whose", ["one", "each", "together"])
@pytest.mark.parametrize("name", SIZELESS)
def test_nothing_tells_the_number(name: str, whose: str) -> None:
    """Sets that differ in repeated points alone have one release: value, facts, certificate and page, to the byte."""
    if whose == "together" and name not in TOGETHER:
        pytest.skip("persons with more points would weigh more")
    ways: dict[str, dict[str, Any]] = {"one": {}, "each": {"person": "user"}}
    how = (ways | {"together": {"person": "user", "together": True}})[whose]
    frame = rows().sort_values("user", kind="stable", ignore_index=True).drop(columns=["time", "note"])
    if whose == "one":
        # Each place equally often, so that means are the same.
        once, more = frame, pd.concat([frame] * 3, ignore_index=True)
    else:
        once, more = frame, twice(frame)
    first, second = (hiding(name, each, **how) for each in (once, more))
    assert told(first) == told(second)
    assert first.n is None
    assert first.certificate()["rows_removed"] is None
    assert not {"the number of points", "their order"} & {*first.certificate()["public"]}
    assert "number and the order of a person's points are secret" in first.certificate()["words"]


@pytest.mark.parametrize("plant", [constants_that_use_n, hull_that_uses_n])
def test_released_numbers_are_caught(monkeypatch: pytest.MonkeyPatch, plant: Callable[..., None]) -> None:
    """A constant that depends on the number of points shows in what is told."""
    plant(monkeypatch)
    frame, name = rows()[["lat", "lon"]], "hull" if plant is hull_that_uses_n else "bounds"
    with pytest.raises(AssertionError):
        assert told(hiding(name, frame[:1])) == told(hiding(name, pd.concat([frame[:1]] * 3, ignore_index=True)))


@pytest.mark.parametrize("name", ["center", "hull", "mean"])
def test_files_hide_numbers(name: str, tmp_path: Path) -> None:
    """Answers in files, also in sessions with a ledger, state no number, and the ledger does not record it."""
    texts, entries = [], []
    for times in (1, 3):
        folder = tmp_path / str(times)
        folder.mkdir()
        pd.concat([rows()] * times).to_csv(folder / "rows.csv", index=False)
        ledger = gv.Ledger(folder / "budget.db")
        ledger.create("ann", "bob", rho=1e-2)
        same_bits()
        with session_of(folder / "rows.csv", person="user", area=BAY, ledger=ledger, rho=1e-3) as session:
            release = getattr(session, name)(rho=1e-4, count="hidden", to=folder / "answer.geojson", key="once")
            again = getattr(session, name)(rho=1e-4, count="hidden", key="once")
        texts.append((folder / "answer.geojson").read_text())
        assert release.n is again.n is None
        assert gv.verify(folder / "answer.geojson", ledger=ledger)
        with closing(sqlite3.connect(folder / "budget.db")) as ledger_file:
            select = "SELECT parameters FROM geoveil_history WHERE event = 'charge'"
            entries.append(ledger_file.execute(select).fetchall())
    assert texts[0] == texts[1]
    assert entries[0] == entries[1]
    assert json.loads(entries[0][0][0])["points"] is None


@pytest.mark.parametrize(
    ("how", "name", "message"),
    [
        ({"protect": "1 day", "times": "time"}, "center", r"^count = 'hidden': must be public under dist_\[1 day\]"),
        ({"protect": "point"}, "mean", r"^count = 'hidden': must be public under dist_1"),
        ({"together": True}, "mean", r"^count = 'hidden': .*mean of many persons together\. Leave together= out"),
        ({"outside": "drop"}, "center", r'^outside = \'drop\': .*Use outside="clamp", or leave count= out'),
    ],
)
def test_unhideable_numbers(how: dict[str, Any], name: str, message: str) -> None:
    """Where numbers of points weigh persons or units, or rows outside are dropped, hiding them is refused."""
    with pytest.raises(InvalidInput, match=message):
        hiding(name, rows(), person="user", **how)
    repaired = {**how, "outside": "clamp"} if "outside" in how else {}
    assert hiding(name, rows(), person="user", **repaired).n is None


def test_hiding_costs_little() -> None:
    """From four points on the noise of summaries is the same; that of a hull grows by less than 2% from ten on."""
    guarantee = gv.CGP(rho=1e-4)
    for name in [*SUMMARIES, "distance"]:
        shown, hidden = (query(name, 4, guarantee, hides_count=each).mechanism.scale for each in (False, True))
        assert hidden == shown
    wide: dict[str, Any] = {"k": 96}
    ratios = {
        n: SupportHull(n, 2, guarantee, hides_count=True, **wide).mechanism.scale
        / SupportHull(n, 2, guarantee, **wide).mechanism.scale
        for n in (3, 10, 50)
    }
    assert 1.18 < ratios[3] < 1.2
    assert 1 < ratios[10] < 1.02
    assert 1 < ratios[50] < 1.001
    assert support_squared(96, 50, 50) < Fraction(96)


def test_persons_have_equal_errors() -> None:
    """The errors of persons with different numbers of points are the same."""
    frame = rows().iloc[[0, 1, 2, 4, 6, 8]]
    release = hiding("center", frame, person="user")
    assert len({*release.error()}) == len({*release.scale}) == 1
    assert len({id(answer.query) for answer in release.answers}) == 1
    assert all(isinstance(each, Gaussian | Laplace) for each in release.mechanism)
