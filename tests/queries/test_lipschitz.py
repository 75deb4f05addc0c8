"""Lipschitz constants, none too small and none too large; their calculus; answers that move along with the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import geoveil as gv
from geoveil.errors import IncompatibleGuarantees, InvalidParameter
from geoveil.noise import Reals, as_reals
from geoveil.queries import SUMMARIES, Distance
from geoveil.queries.extent import enclosing
from geoveil.queries.lipschitz_query import LipschitzQuery
from tests.questions import QUESTIONS, ask, release_of

Floats = NDArray[np.float64]

METRICS = {"inf": gv.dist_inf, "2": gv.dist_2, "1": gv.dist_1}
MANY = settings(max_examples=100)
PLACES = ["center", "mean", "median"]
AREA = shapely.Polygon([(-50, -20), (60, -30), (10, 80), (0, 0)])


def _to_area(x: Reals, area: shapely.Polygon = AREA) -> Reals:
    return as_reals(np.asarray(shapely.distance(shapely.points(x.values), area)))


def _to_origin(x: Reals, origin: Any = 0.0) -> Reals:
    return as_reals(np.asarray(np.linalg.norm(x.values - origin, axis=1)))


MEASURES = {"distance": _to_origin, "distance to an area": _to_area}
NAMES = [*SUMMARIES, *MEASURES]
EVERY_SUMMARY = pytest.mark.parametrize("name", NAMES)


def summary(name: str, n: int, d: int, metric: str = "inf") -> LipschitzQuery:
    """The query of that name for n points in d dimensions."""
    guarantee = gv.CGP(rho=1, metric=metric)
    if name in MEASURES:
        return Distance(n, d, guarantee, measure=MEASURES[name])
    return SUMMARIES[name](n, d, guarantee)


def change(query: LipschitzQuery, x: Floats, y: Floats) -> float:
    """How far the value moves."""
    return float(np.linalg.norm(query.evaluate(x).values - query.evaluate(y).values))


# ----------------------------------------------------------------------------------------------- never too small


@st.composite
def pairs(draw: st.DrawFn, least: int = 1, planar: bool = False) -> tuple[Floats, Floats]:
    """Two tuples of up to 6 points in up to 4 dimensions: unrelated, one point moved, all moved a little, or tied."""
    n, d = draw(st.integers(least, 6)), 2 if planar else draw(st.integers(1, 4))
    wide = st.floats(-1e4, 1e4, allow_subnormal=False)
    numbers = draw(st.sampled_from([wide, st.sampled_from([-100.0, 0.0, 100.0])]))
    x = np.array(draw(st.lists(numbers, min_size=n * d, max_size=n * d))).reshape(n, d)
    y = np.array(draw(st.lists(numbers, min_size=n * d, max_size=n * d))).reshape(n, d)
    how = draw(st.sampled_from(["unrelated", "one", "little", "outwards"]))
    if how == "one":
        moved = draw(st.integers(0, n - 1))
        y = np.where(np.arange(n)[:, None] == moved, y, x)
    elif how == "little":
        y = x + y * 1e-3
    elif how == "outwards":
        y = x + (x - x.mean(axis=0)) * 0.01
    return x, y


@pytest.mark.slow
@EVERY_SUMMARY
@settings(max_examples=100)
@given(data=st.data())
def test_summaries_keep_their_constant(name: str, data: st.DataObject) -> None:
    """|f(x) - f(x')| ≤ K·dist(x, x') under every metric, for tuples far apart, close by, tied or equal."""
    x, y = data.draw(pairs(planar=name == "distance to an area"))
    n, d = x.shape
    slack = 1e-9 * (1 + np.abs(x).max() + np.abs(y).max())
    for metric, dist in METRICS.items():
        query = summary(name, n, d, metric)
        assert change(query, x, y) <= query.constant * dist(x, y) * (1 + 1e-12) + slack


@pytest.mark.slow
@EVERY_SUMMARY
@pytest.mark.parametrize("metric", METRICS)
def test_climbing_finds_no_faster(name: str, metric: str) -> None:
    """Hill climbing from random tuples towards the fastest change never gets beyond the constant."""
    rng = np.random.default_rng(11)
    for n, d in ((1, 2), (2, 2), (3, 2), (4, 2), (5, 2)):
        query = summary(name, n, d, metric)
        x, v = rng.normal(size=(n, d)) * 100, rng.normal(size=(n, d))
        best = 0.0
        for step in range(60):
            size = 0.5 ** (step // 15)
            near, move = x + 30 * size * rng.normal(size=(n, d)), v + size * rng.normal(size=(n, d))
            rate = change(query, near, near + move) / METRICS[metric](near, near + move)
            if rate > best:
                x, v, best = near, move, rate
        assert best <= query.constant * (1 + 1e-9)


# ----------------------------------------------------------------------------------------------- never too large

SIZES = [(n, d) for n in range(1, 8) for d in range(1, 5)]
H = 1e-3


def _axis(d: int, axis: int, length: float = 1.0) -> Floats:
    unit = np.zeros(d)
    unit[axis] = length
    return unit


def _one_at_a_time(x: Floats, v: Floats) -> Iterator[tuple[Floats, Floats]]:
    """The movement itself, and that of each point alone."""
    yield x, v
    for i in range(len(x)):
        yield x, np.where(np.arange(len(x))[:, None] == i, v, 0.0)


def _ends(n: int, d: int, *, together: bool) -> tuple[Floats, Floats]:
    """Points that are each the end of an axis, and move along it: outwards, or both ends of an axis together."""
    x, v = np.zeros((n, d)), np.zeros((n, d))
    for i in range(min(n, 2 * d)):
        sign = 1.0 if i % 2 else -1.0
        if together and i == n - 1 and not i % 2:
            break  # an end without its partner
        x[i], v[i] = _axis(d, i // 2, 100 * sign), _axis(d, i // 2, 1.0 if together else sign)
    return x, v


def _middles(n: int, d: int) -> tuple[Floats, Floats]:
    """Points of which the i-th (for even n also its partner) is in the middle of the i-th axis, and moves along it."""
    x, v = np.zeros((n, d)), np.zeros((n, d))
    own = 1 if n % 2 else 2
    for axis in range(min(d, n // own)):
        middle = list(range(own * axis, own * (axis + 1)))
        others = [i for i in range(n) if i not in middle]
        x[others, axis] = [100.0 * (-1) ** i for i in range(len(others))]
        v[middle, axis] = 1
    return x, v


def _pair_apart(n: int, d: int) -> tuple[Floats, Floats]:
    """Two points at opposite ends, moving apart, the others between them."""
    x = np.zeros((n, d))
    if n > 1:
        x[0], x[1] = _axis(d, 0, -100), _axis(d, 0, 100)
    return x, np.sign(x)


def _balanced(n: int, d: int) -> tuple[Floats, Floats]:
    """Unit vectors that sum to 0, where there are any, moving outwards."""
    if d == 1 or n % 2 == 0:
        signs = np.array([(-1.0) ** i for i in range(n)])
        x = signs[:, None] * _axis(d, 0)
    else:
        angle = 2 * np.pi * np.arange(n) / n
        x = np.zeros((n, d))
        x[:, 0], x[:, 1] = np.cos(angle), np.sin(angle)
    x = x - x.mean(axis=0)
    return 100 * x, x


def movements(name: str, n: int, d: int) -> Iterator[tuple[Floats, Floats]]:
    """Tuples with the movements that should change a summary fastest."""
    everything = np.zeros((n, d)), np.tile(_axis(d, 0), (n, 1))
    if name == "bounds":
        yield from _one_at_a_time(*(everything if n == 1 else _ends(n, d, together=False)))
    elif name == "center":
        yield from _one_at_a_time(*(everything if n == 1 else _ends(n, d, together=True)))
    elif name == "median":
        yield from _one_at_a_time(*_middles(n, d))
    elif name == "mean":
        yield from _one_at_a_time(*everything)
    elif name in ("radius", "diameter"):
        yield from _one_at_a_time(*_pair_apart(n, d))
    elif name == "radius_of_gyration":
        yield _balanced(n, d)
        lone = np.zeros((n, d))
        lone[0] = _axis(d, 0)
        yield 100 * lone, lone
    elif name == "distance to an area":  # straight away from its northernmost corner
        x, v = np.full((n, d), 1e4), np.zeros((n, d))
        x[0], v[0] = (10, 200), (0, 1)
        yield x, v
    else:
        x = np.full((n, d), 1e4)
        x[0] = 200 / math.sqrt(d)
        yield from _one_at_a_time(x, x / np.linalg.norm(x, axis=1)[:, None])


def is_tight(name: str, n: int, d: int, metric: str) -> bool:
    """Whether the constant is claimed to be met for n points."""
    if name in ("radius", "diameter", "radius_of_gyration") and n == 1:
        return False  # the value is always 0
    if name == "radius_of_gyration" and metric == "inf":
        return n % 2 == 0 or d > 1
    if metric == "inf" and (name == "center" or (name == "median" and n % 2 == 0)):
        return n == 1 or n >= 2 * d or n % 2 == 0
    return name != "distance to an area" or d == 2


@pytest.mark.parametrize("metric", METRICS)
@EVERY_SUMMARY
def test_every_constant_is_met(name: str, metric: str) -> None:
    """For every number of points and dimensions some movement changes the summary as fast as its constant allows."""
    for n, d in SIZES:
        if not is_tight(name, n, d, metric):
            continue
        query = summary(name, n, d, metric)
        rates = [
            change(query, x, x + H * v) / METRICS[metric](x, x + H * v) for x, v in movements(name, n, d) if v.any()
        ]
        assert 0.999 * query.constant <= max(rates) <= query.constant * (1 + 1e-6), (n, d)


@pytest.mark.parametrize(
    ("name", "constant"),
    [
        ("bounds", lambda d: math.sqrt(2 * d)),
        ("center", math.sqrt),
        ("median", math.sqrt),
        ("mean", lambda d: 1.0),
        ("radius", lambda d: 1.0),
        ("radius_of_gyration", lambda d: 1.0),
        ("diameter", lambda d: 2.0),
        ("distance", lambda d: 1.0),
    ],
)
def test_documented_constants(name: str, constant: Callable[[int], float]) -> None:
    """Under dist_inf the constants are the documented ones for many points, smaller for few, and rounded up."""
    for d in range(1, 12):
        assert summary(name, 1000, d).constant == pytest.approx(constant(d), rel=1e-15)
        assert Fraction(summary(name, 1000, d).constant) ** 2 >= round(constant(d) ** 2)
        assert all(summary(name, n, d).constant <= max(constant(d), math.sqrt(2)) * (1 + 1e-15) for n in range(1, 30))
        if name != "bounds":
            assert all(summary(name, n, d).constant <= constant(d) * (1 + 1e-15) for n in range(1, 30))


@EVERY_SUMMARY
def test_constants_order_by_metric(name: str) -> None:
    """A summary changes no faster under dist_2 than under dist_inf, and no faster under dist_1 than under dist_2."""
    for n, d in SIZES:
        under_inf, under_2, under_1 = (summary(name, n, d, metric).constant for metric in METRICS)
        assert under_inf >= under_2 >= under_1 > 0
        if n > 1:  # a single point has no extent at all
            assert under_inf <= math.sqrt(n) * under_2 * (1 + 1e-15)
            assert under_2 <= math.sqrt(n) * under_1 * (1 + 1e-15)


def test_noise_follows_constant() -> None:
    """The scale of a summary's noise is K/√(2ρ) under CGP and K/ε under GP, never less."""
    x = np.random.default_rng(0).normal(scale=1000, size=(5, 2))
    for name in SUMMARIES:
        for metric in METRICS:
            k = summary(name, 5, 2, metric).constant
            ask = partial(release_of, name, x, metric=metric, rng=np.random.default_rng(0))
            gaussian, laplace = ask(rho=0.02).scale, ask(epsilon="0.3").scale
            assert gaussian == pytest.approx(k / math.sqrt(0.04), rel=1e-12)
            assert laplace == pytest.approx(k / 0.3, rel=1e-12)
            assert Fraction(gaussian) ** 2 * Fraction(4, 100) >= Fraction(k) ** 2
            assert Fraction(laplace) * Fraction(3, 10) >= Fraction(k)


# ------------------------------------------------------------------------------------------------------- the calculus


def _coordinate(i: int, j: int) -> Callable[[Floats], float]:
    return lambda x: float(x[i % x.shape[0], j % x.shape[1]])


def _nearest(p: float) -> Callable[[Floats], float]:
    return lambda x: float(np.linalg.norm(x - p, axis=1).min())


def simple(metric: str) -> st.SearchStrategy[gv.Lipschitz]:
    """Functions with constant 1 under every metric, and multiples of them."""
    functions = st.builds(_coordinate, st.integers(0, 5), st.integers(0, 3)) | st.builds(
        _nearest, st.floats(-100, 100)
    )
    factors = st.floats(0.01, 100)
    return st.builds(lambda f, a: gv.Lipschitz(lambda x: a * f(x), a, metric), functions, factors)


def combined(metric: str) -> st.SearchStrategy[gv.Lipschitz]:
    """Real-valued functions put together by the calculus, three deep."""

    def extend(inner: st.SearchStrategy[gv.Lipschitz]) -> st.SearchStrategy[gv.Lipschitz]:
        few = st.lists(inner, min_size=1, max_size=3)
        return st.one_of(
            few.map(lambda gs: gv.Lipschitz.minimum(*gs)),
            few.map(lambda gs: gv.Lipschitz.maximum(*gs)),
            st.builds(lambda g, a, b: a * g + b, inner, st.floats(0.1, 5) | st.floats(-5, -0.1), st.floats(-50, 50)),
            inner.map(lambda g: g.then(lambda v: 3 * np.sin(v), 3)),
            few.map(lambda gs: gv.Lipschitz.vector(*gs).then(lambda v: np.linalg.norm(v), 1)),
        )

    return st.recursive(simple(metric), extend, max_leaves=6)


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=50)
@given(data=st.data())
def test_calculus_keeps_constants(metric: str, data: st.DataObject) -> None:
    """However functions are put together, the result changes no faster than its constant says."""
    g = data.draw(combined(metric))
    x, y = data.draw(pairs())
    assert g.metric == METRICS[metric]
    slack = 1e-9 * g.constant * (1 + np.abs(x).max() + np.abs(y).max())
    assert abs(float(g(x)) - float(g(y))) <= g.constant * METRICS[metric](x, y) * (1 + 1e-12) + slack


constants = st.floats(1e-6, 1e6)


def _first(x: Floats) -> float:
    return float(x[0, 0])


@MANY
@given(constants, constants)
def test_composition_multiplies_constants(inner: float, outer: float) -> None:
    """Composed functions, and multiples, have the product of the constants, rounded up if at all."""
    g = gv.Lipschitz(_first, inner)
    exact = Fraction(inner) * Fraction(outer)
    for made in (g.then(lambda v: v, outer), g * outer, outer * g, -outer * g):
        assert exact <= Fraction(made.constant) <= exact * (1 + Fraction(1, 10**15))


@MANY
@given(st.lists(constants, min_size=1, max_size=6))
def test_stacked_constants(ks: list[float]) -> None:
    """Minimum and maximum have the largest constant, a vector the root of the sum of squares, rounded up."""
    gs = [gv.Lipschitz(_first, k) for k in ks]
    assert gv.Lipschitz.minimum(*gs).constant == gv.Lipschitz.maximum(*gs).constant == max(ks)
    squares = sum(Fraction(k) ** 2 for k in ks)
    vector = Fraction(gv.Lipschitz.vector(*gs).constant) ** 2
    assert squares <= vector <= squares * (1 + Fraction(1, 10**14))


def test_combined_values() -> None:
    """Values of composed, scaled, shifted, extreme and stacked functions are what they should be."""
    x = np.array([[3.0, 4.0], [-1.0, 2.0]])
    east, north = gv.Lipschitz(lambda x: x[0, 0], 1), gv.Lipschitz(lambda x: x[0, 1], 1)
    assert float(east.then(lambda v: v**2, 6)(x)) == 9
    assert float((2 * east + 1)(x)) == float((1 + east * 2)(x)) == 7
    assert (2 * east + 1).constant == 2
    assert (east + 5).constant == 1
    assert float((-3 * north)(x)) == -12
    assert float(gv.Lipschitz.minimum(east, north)(x)) == 3
    assert float(gv.Lipschitz.maximum(east, north)(x)) == 4
    both = gv.Lipschitz.vector(east, north)
    assert both(x).tolist() == [3, 4]
    assert gv.Lipschitz.vector(both, east)(x).tolist() == [3, 4, 3]
    assert (both + np.array([1.0, 2.0]))(x).tolist() == [4, 6]


@pytest.mark.parametrize("constant", [0, -1, math.nan, math.inf])
def test_bad_constants_are_refused(constant: float) -> None:
    """A Lipschitz constant is positive and finite, wherever it is given."""
    g = gv.Lipschitz(_first, 1)
    with pytest.raises(InvalidParameter, match="positive, finite"):
        gv.Lipschitz(_first, constant)
    with pytest.raises(InvalidParameter, match="positive, finite"):
        g.then(_first, constant)
    if constant != -1:
        with pytest.raises(InvalidParameter, match="positive, finite"):
            g * constant


def test_metrics_do_not_mix() -> None:
    """A constant under one metric says nothing under another."""
    g, h = gv.Lipschitz(_first, 1, "inf"), gv.Lipschitz(_first, 1, "1")
    for combine in (gv.Lipschitz.minimum, gv.Lipschitz.maximum, gv.Lipschitz.vector):
        with pytest.raises(IncompatibleGuarantees, match="different metrics"):
            combine(g, h)
    with pytest.raises(InvalidParameter, match="metric"):
        gv.Lipschitz(_first, 1, "3")


def test_lipschitz_function_answers() -> None:
    """An answer takes constant and metric from the function; a plain function takes them from the caller."""
    x = np.array([[3.0, 4.0], [-1.0, 2.0]])
    g = gv.Lipschitz(_first, 2.5, "2")
    release = gv.Locations(x, rng=np.random.default_rng(0)).answer(g, rho=0.02)
    assert release.scale == pytest.approx(2.5 / 0.2)
    assert release.guarantee == gv.CGP(rho=0.02, metric="2")
    same = gv.Locations(x, rng=np.random.default_rng(0)).answer(
        _first, lipschitz=2.5, rho=gv.CGP(rho=0.02, metric="2")
    )
    assert same.value == release.value
    assert same.guarantee == release.guarantee
    vector = gv.Lipschitz.vector(g, g)
    two = gv.Locations(x, rng=np.random.default_rng(0)).answer(vector, size=2, epsilon=0.1)
    assert two.value.shape == (2,)
    assert two.scale == pytest.approx(vector.constant / 0.1)


# ------------------------------------------------------------------------------------------------ moving along


@pytest.mark.slow
@EVERY_SUMMARY
@MANY
@given(data=st.data())
def test_summaries_are_equivariant(name: str, data: st.DataObject) -> None:
    """Shifting all points shifts a summary's places and leaves its lengths."""
    x, _ = data.draw(pairs(planar=name == "distance to an area"))
    n, d = x.shape
    v = np.array(data.draw(st.lists(st.integers(-1000, 1000), min_size=d, max_size=d)), dtype=float)
    query = summary(name, n, d)
    before = query.evaluate(x).values
    if name == "distance":
        after = Distance(n, d, query.guarantee, measure=partial(_to_origin, origin=v)).evaluate(x + v).values
    elif name == "distance to an area":
        moved = shapely.transform(AREA, lambda c: c + v)
        after = Distance(n, d, query.guarantee, measure=partial(_to_area, area=moved)).evaluate(x + v).values
    else:
        after = query.evaluate(x + v).values
    shift = np.tile(v, 2) if name == "bounds" else v if name in PLACES else 0.0
    np.testing.assert_allclose(after, before + shift, rtol=0, atol=1e-5)


X = np.round(np.random.default_rng(7).normal(scale=800, size=(9, 3)), 3)
WHO = list("abcabcaab")
ASKED = pytest.mark.parametrize("name", [*QUESTIONS, "nearest with locations"])


@pytest.mark.parametrize("budget", [{"rho": 1e-5}, {"epsilon": 0.01, "metric": "2"}], ids=["CGP", "GP"])
@pytest.mark.parametrize("d", [2, 3])
@ASKED
def test_questions_are_equivariant(name: str, d: int, budget: dict[str, Any]) -> None:
    """With equal randomness, shifting the data shifts released places and changes no length and no position."""
    x, p, v = X[:, :d], np.array([100.0, -50.0, 20.0])[:d], np.array([4096.0, -8192.0, 512.0])[:d]
    here, there = (
        ask(name, x + move, near=p + move, rng=np.random.default_rng(5), **budget) for move in (np.zeros(d), v)
    )
    if here.coords is not None:
        np.testing.assert_allclose(np.asarray(there.coords), here.coords + v, rtol=0, atol=1e-6)
    if name in ("nearest", "nearest with locations", "first_within"):
        assert np.array_equal(here.value, there.value)
    elif name == "hull" and d == 2:
        assert shapely.transform(here.value, lambda c: c + v).hausdorff_distance(there.value) < 1e-6
    elif name in (*PLACES, "points", "hull"):
        np.testing.assert_allclose(there.value, here.value + v, rtol=0, atol=1e-6)
    elif name == "bounds":
        np.testing.assert_allclose(there.value, here.value + np.tile(v, 2), rtol=0, atol=1e-6)
    else:
        assert there.value == pytest.approx(here.value, abs=1e-6)
    assert there.error(0.1) == pytest.approx(here.error(0.1), rel=1e-9)


@ASKED
def test_persons_are_equivariant(name: str) -> None:
    """With equal randomness, shifting all points shifts each person's released locations alike."""
    x, p, v = X[:, :2], np.array([100.0, -50.0]), np.array([4096.0, -8192.0])
    here, there = (
        ask(name, x + move, near=p + move, person=WHO, rho=1e-5, rng=np.random.default_rng(5)).value
        for move in (np.zeros(2), v)
    )
    if name == "hull":
        moved = here.translate(*v)
        assert all(a.hausdorff_distance(b) < 1e-6 for a, b in zip(moved, there.geometry, strict=True))
    elif name in ("nearest", "nearest with locations", "first_within"):
        assert here.equals(there)
    else:
        shift = v if name in (*PLACES, "points") else np.tile(v, 2) if name == "bounds" else 0.0
        np.testing.assert_allclose(np.asarray(there, dtype=float), np.asarray(here, dtype=float) + shift, atol=1e-6)


def test_radius_does_not_jump() -> None:
    """Four points near a circle, of which three support the ball, and the same with one coordinate an ulp away."""
    x = np.array(
        [
            [-829.5959462801533, -1548.9860879133519],
            [-1478.6295523153992, -485.214751720919],
            [437.65909099228327, -45.92043585546196],
            [892.8858109398119, -1955.8841105257275],
        ]
    )
    y = x.copy()
    y[2, 1] = np.nextafter(x[2, 1], -np.inf)
    assert abs(enclosing(x)[1] - enclosing(y)[1]) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 3, 6, 12])
def test_radius_is_minimal(d: int) -> None:
    """Against the dual problem: no weights on the points prove a larger radius, and some prove this one."""
    rng = np.random.default_rng(d)
    for n in (1, 2, 5, 40):
        x = rng.normal(scale=1000.0, size=(n, d)).round(int(rng.integers(-3, 4)))
        _, radius, _, below = enclosing(x)
        assert abs(radius - below) <= 1e-9 * (1 + radius)
        weights = np.full(n, 1 / n)
        for step in range(1, 4000):  # Frank-Wolfe on the dual, whose values are lower bounds
            farthest = int(((x - weights @ x) ** 2).sum(axis=1).argmax())
            weights *= 1 - 1 / (step + 1)
            weights[farthest] += 1 / (step + 1)
        lower = math.sqrt(max(weights @ (x**2).sum(axis=1) - float(((weights @ x) ** 2).sum()), 0.0))
        assert lower <= radius * (1 + 1e-9) + 1e-9
        assert radius <= lower * (1 + 2e-3) + 1e-6
