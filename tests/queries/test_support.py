"""The hull by its support function: constants, projection, pruning, and bounds."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from scipy.spatial.distance import pdist

import geoveil as gv
from geoveil.mechanisms import Gaussian
from geoveil.noise import Experiment
from geoveil.privacy import METRICS
from geoveil.queries.answer import HalfSpaces
from geoveil.queries.band import averages, between
from geoveil.queries.constants import support_squared
from geoveil.queries.convex import coarser, corners, directions, edges, fitted, prune, segmented
from geoveil.queries.extent import diameter, reaches
from geoveil.queries.hull import Hull
from geoveil.queries.solid import cosine, intersection, tightened
from geoveil.queries.support import SupportHull, best_hull
from tests.oracle import Floats
from tests.questions import release_of

pytestmark = pytest.mark.slow


def support(x: Floats, k: int) -> Floats:
    """The true values."""
    return np.asarray((x @ directions(k).T).max(axis=0))


@pytest.mark.parametrize("metric", ["inf", "2", "1"])
@settings(max_examples=150)
@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from([4, 6, 16, 64]))
def test_support_constants_hold(metric: str, seed: int, n: int, k: int) -> None:
    """Whatever points move, the vector of values moves by at most its constant times the distance."""
    rng = np.random.default_rng(seed)
    x = rng.normal(scale=100.0, size=(n, 2))
    move = rng.normal(size=(n, 2)) * 10.0 ** rng.uniform(-3, 2)
    if rng.random() < 0.5:  # the worst way: every point away from the middle, or one alone
        move = 0.1 * (x - x.mean(axis=0)) / np.linalg.norm(x - x.mean(axis=0) + 1e-9, axis=1, keepdims=True)
    if metric == "1":
        move[1:] = 0
    y = x + move
    moved = float(np.linalg.norm(support(x, k) - support(y, k)))
    bound = math.sqrt(support_squared(k, n, n if metric == "inf" else 1)) * METRICS[metric](x, y)
    assert moved <= bound * (1 + 1e-9)
    assert np.abs(support(x, k) - support(y, k)).max() <= METRICS["inf"](x, y) * (1 + 1e-12)


@pytest.mark.parametrize(("n", "metric"), [(400, "inf"), (4, "inf"), (2, "inf"), (1, "inf"), (2, "2"), (1, "1")])
def test_the_constants_are_met(n: int, metric: str) -> None:
    """A regular polygon that grows, or one point that moves, comes within 1% of the constant."""
    k = 64
    angle = 2 * np.pi * (np.arange(n) + 0.5 / max(n, 1)) / n
    x = 1000.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    y = x * 1.0001 if metric == "inf" else x + np.eye(n)[:, :1] * x * 1e-4
    reached = float(np.linalg.norm(support(x, k) - support(y, k))) / METRICS[metric](x, y)
    assert reached >= 0.97 * math.sqrt(support_squared(k, n, n if metric == "inf" else 1))


def check_noise_covers_the_movement() -> None:
    """The noise that a hull adds is for a constant at least as large as how fast its values can move."""
    angle = 2 * np.pi * np.arange(400) / 400
    x = 1000.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    query = SupportHull(400, 2, gv.CGP(rho=1e-4))
    moved = support(1.001 * x, query.resolution) - support(x, query.resolution)
    assert isinstance(query.mechanism, Gaussian)
    assert float(np.linalg.norm(moved)) <= query.mechanism.lipschitz * METRICS["inf"](1.001 * x, x) * (1 + 1e-9)


def test_noise_covers_the_movement() -> None:
    """All values of a growing circle move at once; the noise is for that."""
    check_noise_covers_the_movement()


#: Coordinates and directions as whole numbers of a unit, so that sums and products are exact.
UNIT = 2**150


def whole(numbers: Floats) -> list[list[int]]:
    """Return rows of doubles in units of 1/UNIT."""
    return [[int(Fraction(number) * UNIT) for number in row] for row in numbers.tolist()]


def exact_support(x: list[list[int]], u: list[list[int]]) -> list[int]:
    """Return the values of the support function, exactly."""
    return [max(sum(map(operator.mul, point, direction)) for point in x) for direction in u]


def check_constants_at_tiny_distances(dimension: int, k: int | Literal["optimal"], limit: int = 12) -> None:
    """One of two points moves by next to nothing across directions to which the other lies at a right angle.

    Where u and -u are not exactly opposite, the moving point supports both over some 10^-9 m, and only there.
    """
    query = SupportHull(2, dimension, gv.CGP(rho=1e-4, metric="1"), k=k)
    assert isinstance(query.mechanism, Gaussian)
    squared, u = Fraction(query.mechanism.lipschitz) ** 2, whole(query.directions)
    rng = np.random.default_rng(dimension)
    for chosen in query.directions[rng.permutation(len(u))[:limit]]:
        across = rng.normal(size=dimension)
        across -= chosen * (across @ chosen) / (chosen @ chosen)
        for side in (-1e7, 1e7):
            other = side * across / np.linalg.norm(across)
            # Where the other point lies across the direction to the last bit.
            middle = chosen * float(sum(Fraction(a) * Fraction(b) for a, b in zip(other, chosen, strict=True)))
            step = 2.0**-36
            places = [middle + chosen * step * t for t in np.linspace(-8, 8, 65)]
            reached = [exact_support(whole(np.array([place, other])), u) for place in places]
            for (x, h), (y, g) in itertools.pairwise(zip(places, reached, strict=True)):
                moved = sum((a - b) ** 2 for a, b in zip(h, g, strict=True))
                distance = sum((a - b) ** 2 for a, b in zip(*whole(np.array([x, y])), strict=True))
                assert moved <= squared * distance * UNIT**2


@pytest.mark.deep
@pytest.mark.parametrize(
    ("dimension", "k"), [(2, 4), (2, 6), (2, 16), (2, "optimal"), (3, 6), (3, 54), (3, "optimal"), (4, 64), (5, 160)]
)
def test_tiny_distances(dimension: int, k: int | Literal["optimal"]) -> None:
    """In exact arithmetic, for the doubles that directions are, no value moves faster than the noise is for."""
    check_constants_at_tiny_distances(dimension, k)


def grids() -> Iterator[Floats]:
    """Return the directions of many hulls."""
    for k in (4, 6, 8, 10, 96, 98, 360, 1000, 4096, 2**14):
        yield directions(k)
    for dimension, k in ((3, 6), (3, 300), (3, 1000), (4, 300), (4, 1000), (5, 300), (6, 400), (7, 1000), (20, 300)):
        yield SupportHull(2, dimension, gv.CGP(rho=1e-4), k=k).directions


def test_directions_are_paired() -> None:
    """Exactly: every direction has its negative, none is longer than 1, and Σ uuᵀ is what constants take it for."""
    for u in grids():
        k, d = u.shape
        rows = {tuple(row) for row in u.tolist()}
        assert len(rows) == k
        assert all(tuple(-number for number in row) in rows for row in rows)
        exact = [[Fraction(number) for number in row] for row in u.tolist()]
        assert max(sum((number * number for number in row), Fraction(0)) for row in exact) <= 1
        sums = [[sum((row[a] * row[b] for row in exact), Fraction(0)) for a in range(d)] for b in range(d)]
        largest = max(sum(map(abs, row), Fraction(0)) for row in sums)
        for metric in ("1", "2"):
            assert largest / 2 <= support_squared(k, 2, 2 if metric == "inf" else 1, d)
        assert largest <= support_squared(k, 1, 1, d)


@pytest.mark.parametrize("k", [6, 8, 32, 96, 128])
def test_fit_is_optimal(k: int) -> None:
    """The likeliest support function: no other one lies in the direction in which prior and values pull."""
    rng = np.random.default_rng(k)
    for noise in (0.01, 1.0, 10.0):
        y = 10.0 + noise * rng.normal(size=k)
        (h,) = fitted(y[None], noise**2)
        # How hard the values, and the prior for all but the place and the mean width, hold h back.
        harmonics, m = np.fft.rfft(y), np.arange(k // 2 + 1)
        radius = max(harmonics[0].real / k, noise / math.sqrt(k))
        stiff = noise**2 / k * (2 / radius) ** 2 * m**3.0
        stiff[:2] = 0
        force = np.fft.irfft((1 + stiff) * np.fft.rfft(h) - harmonics, n=k)
        small = 1e-7 * k * (1 + stiff.max()) * float(np.abs(y).max())
        assert edges(h).min() > -small
        assert abs(force @ h) < small * float(np.abs(y).max())
        for body in [*rng.normal(size=(50, 3, 2)), *rng.normal(size=(50, 2, 2)), *rng.normal(size=(50, 1, 2))]:
            assert force @ support(body, k) > -small


def test_noiseless_fit_is_unchanged() -> None:
    """What is valid already is left as it is, and its corners are the polygon's."""
    x = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 5.0], [0.0, 5.0]])
    h = support(x, 64)
    assert fitted(h[None], 1e-20)[0] == pytest.approx(h, abs=1e-4)
    hull = shapely.MultiPoint(corners(h[None])[0]).convex_hull
    assert hull.symmetric_difference(shapely.MultiPoint(x).convex_hull).area < 1e-9


def test_pruning_keeps_corners() -> None:
    """A triangle whose normals lie between the directions is found again from its exact values."""
    x = np.array([[0.0, 0.0], [1000.0, 130.0], [310.0, 900.0]])
    y = support(x, 256)
    pruned = prune(corners(fitted(y[None], 1e-6))[0], directions(256), y, 1.0)
    assert len(pruned) <= 6
    body, true = (shapely.MultiPoint(v).convex_hull for v in (pruned, x))
    assert body.symmetric_difference(true).area < 0.004 * true.area


@pytest.mark.parametrize("budget", [{"rho": 1e-9}, {"rho": 1e-4}, {"rho": 1.0}, {"epsilon": 1e-4}, {"epsilon": 1.0}])
@pytest.mark.parametrize(
    "points", [[[0.0, 0.0]], [[0.0, 0.0], [1e4, 0.0]], [[5.0, 5.0]] * 3, [[1e7, 1e7], [0.0, 3.0]]]
)
def test_every_tuple_has_body(points: list[list[float]], budget: dict[str, Any]) -> None:
    """Whatever the noise, the answer is a valid convex geometry that is not empty, with a finite bound."""
    release = release_of("hull", points, rng=np.random.default_rng(3), **budget)
    assert release.value.is_valid
    assert not release.value.is_empty
    assert release.value.convex_hull.equals(release.value)
    assert 0 < release.error(0.05) < math.inf


@pytest.mark.statistical
@pytest.mark.parametrize("budget", [{"rho": 1e-4}, {"rho": 0.2}, {"epsilon": 0.05}], ids=str)
@pytest.mark.parametrize("n", [1, 3, 500])
def test_the_bound_holds(budget: dict[str, Any], n: int) -> None:
    """In 50 releases the Hausdorff distance never exceeds error(0.05) more often than it may."""
    rng = np.random.default_rng(n)
    x = rng.normal(scale=3000.0, size=(n, 2))
    fine = directions(3600)
    reached = (x @ fine.T).max(axis=0)
    failed = 0
    for _ in range(50):
        release = release_of("hull", x, rng=rng, **budget)
        assert release.coords is not None
        off = (release.coords @ fine.T).max(axis=0) - reached
        failed += bool(np.abs(off).max() > release.error(0.05))
    assert failed <= 12  # binomial: 1e-6 for 5%


def check_the_resolution_is_public() -> None:
    """The number of values released is the same for small and large tuples."""
    rng = np.random.default_rng(1)
    for guarantee in (gv.CGP(rho=1e-4), gv.CGP(rho=1), gv.GP(epsilon=0.01), gv.GP(epsilon=3)):
        query = SupportHull(50, 2, guarantee)
        counts = {
            len(query.ask(scale * rng.normal(size=(50, 2)), Experiment(rng)).support) for scale in (1.0, 1e3, 1e6)
        }
        assert counts == {query.resolution}


def test_the_resolution_is_public() -> None:
    """The number of directions depends on the budget, the metric and public guesses, never on the points."""
    check_the_resolution_is_public()


def test_papers_parameters_are_refused() -> None:
    """What the best method does not have is not silently ignored."""
    x = np.zeros((3, 2))
    for more in ({"share": 0.9}, {"distinct": True}, {"gamma0": -1.0}, {"beta": 0.01}):
        with pytest.raises(TypeError, match=f"has no argument '{next(iter(more))}'"):
            release_of("hull", x, rho=1, **more)
    for k in (7, "authors"):
        with pytest.raises(gv.errors.InvalidParameter, match=r"^k = "):
            release_of("hull", x, rho=1, k=k)


# ------------------------------------------------------------------------------------------------ certain bounds


@pytest.mark.parametrize("k", [6, 12, 14, 96, 200, 256, 4096])
def test_averages_bound_support(k: int) -> None:
    """On sinusoids they are exact; on the support functions of segments, whose sums all others are, one-sided."""
    above, below = averages(k)
    angle = 2 * np.pi * np.arange(k) / k
    for point in (np.cos(angle), np.sin(angle)):
        assert above @ point == pytest.approx(np.full(len(above), point[0]), abs=1e-12)
        assert below @ point == pytest.approx(np.full(len(below), point[0]), abs=1e-12)
    for normal in angle[: k // 2]:
        segment = np.abs(np.sin(angle - normal))
        assert (above @ segment).min() >= segment[0] - 1e-12
        assert (below @ segment).max() <= segment[0] + 1e-12


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from([6, 16, 96]), st.integers(1, 8))
def test_bodies_are_near(seed: int, k: int, n: int) -> None:
    """For a body within the bounds, and any polygon, the Hausdorff distance is at most what is claimed."""
    rng = np.random.default_rng(seed)
    x = rng.normal(scale=100.0, size=(n, 2)) * rng.uniform(0.01, 1, 2)
    released = x[rng.integers(n, size=5)] + rng.normal(size=(5, 2)) * 10.0 ** rng.uniform(-1, 2)
    slack = 10.0 ** rng.uniform(-1, 2) * rng.uniform(0.05, 1, size=(2, k))
    h, fine = support(x, k), directions(7200)
    claimed = between(released, h + slack[0], h - slack[1])
    assert claimed is not None
    assert np.abs((released @ fine.T).max(axis=0) - (x @ fine.T).max(axis=0)).max() <= claimed * (1 + 1e-9)


def test_crossed_bounds_are_noticed() -> None:
    """Crossed bounds have no body between them."""
    h = support(np.eye(2), 16)
    assert between(np.eye(2), h - 3, h) is None
    assert between(np.eye(2), h, h + 3) is None


# ------------------------------------------------------------------------------------------------ little noise


@pytest.mark.statistical
def test_vertices_are_found() -> None:
    """Every vertex of a polygon with a very blunt corner comes back, and hardly any other on its edges."""
    x = np.array([[0.0, 0.0], [9000.0, 100.0], [10_000.0, 5000.0], [9800.0, 5600.0], [300.0, 7000.0]])
    k = 4096
    y = support(x, k) + np.random.default_rng(2).normal(size=k)
    vertices = segmented(y, directions(k), 1.0)
    assert len(x) <= len(vertices) <= len(x) + 2
    away = np.linalg.norm(vertices[:, None] - x, axis=2).min(axis=0)
    assert away.max() < 3
    assert shapely.distance(shapely.LinearRing(x), shapely.points(vertices)).max() < 3


@pytest.mark.statistical
def test_coarse_values_keep_harmonics() -> None:
    """A place and a width pass unchanged; the variance of noise falls with the number of directions."""
    k = 960
    y = 5.0 + directions(k) @ [3.0, -4.0]
    assert coarser(y[None], 96)[0] == pytest.approx(5.0 + directions(96) @ [3.0, -4.0], abs=1e-9)
    noise = np.random.default_rng(1).normal(size=(2000, k))
    assert np.var(coarser(noise, 96)) == pytest.approx(0.1, rel=0.02)


# ------------------------------------------------------------------------------------------------ above the plane


@pytest.mark.parametrize("metric", ["inf", "2", "1"])
@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from([3, 4, 6]))
def test_constants_above_the_plane(metric: str, seed: int, n: int, d: int) -> None:
    """Whatever points move, the vector of values moves by at most its constant times the distance."""
    rng = np.random.default_rng(seed)
    u = SupportHull(n, d, gv.CGP(rho=1, metric=metric)).directions
    x = rng.normal(scale=100.0, size=(n, d))
    move = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 2)
    if metric == "1":
        move[1:] = 0
    moved = np.linalg.norm((x @ u.T).max(axis=0) - ((x + move) @ u.T).max(axis=0))
    assert moved <= math.sqrt(support_squared(len(u), n, n if metric == "inf" else 1, d)) * METRICS[metric](
        x, x + move
    ) * (1 + 1e-9)
    assert np.linalg.norm(u, axis=1).max() <= 1


@pytest.mark.parametrize("d", [3, 4, 5, 6, 8])
def test_grids_cover_directions(d: int) -> None:
    """No direction of many has a smaller cosine with the nearest of the grid than is claimed."""
    rng = np.random.default_rng(d)
    v = np.concatenate([rng.normal(size=(20_000, d)), rng.choice([-1.0, 1.0], size=(200, d))])
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    for wanted in (2 * d, 60, 300):
        u = SupportHull(9, d, gv.CGP(rho=1), k=max(wanted, 2 * d)).directions
        assert (v @ u.T).max(axis=1).min() >= cosine(u) - 1e-12


def test_half_spaces_make_bodies() -> None:
    """Consistent half-spaces give their body; inconsistent ones a point; its support function is attained."""
    u = SupportHull(9, 3, gv.CGP(rho=1), k=54).directions
    cube = np.array([[a, b, c] for a in (-1.0, 1.0) for b in (-1.0, 1.0) for c in (-1.0, 1.0)])
    vertices = intersection(u, (cube @ u.T).max(axis=0))
    assert ConvexHull(vertices).volume == pytest.approx(8, rel=0.05)
    assert (vertices @ u.T).max(axis=0) == pytest.approx(tightened(u, (cube @ u.T).max(axis=0)), abs=1e-6)
    rng = np.random.default_rng(1)
    for y in (-np.ones(54), rng.normal(size=54) - 5):
        assert intersection(u, y).shape == (1, 3)
        assert np.isfinite(tightened(u, y)).all()


@pytest.mark.statistical
@pytest.mark.parametrize("d", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("budget", [{"rho": 1e-8}, {"rho": 1e-4}, {"epsilon": 1e-3}, {"epsilon": 0.01}], ids=str)
def test_every_dimension(d: int, budget: dict[str, Any]) -> None:
    """Vertices up to five dimensions, half-spaces above; their support function is off by less than the bound."""
    rng = np.random.default_rng(d)
    x = rng.normal(scale=2000.0, size=(300, d))
    v = rng.normal(size=(500, d))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    for _ in range(5):
        release = release_of("hull", x, rng=rng, **budget)
        if d > 5:
            assert isinstance(release.value, HalfSpaces)
            off = release.value.offsets - (x @ release.value.directions.T).max(axis=0)
        else:
            off = (release.value @ v.T).max(axis=0) - (x @ v.T).max(axis=0)
        assert np.abs(off).max() <= release.error(0.05)


@pytest.mark.parametrize("thickness", [0.0, 1e-12, 1e-10, 1e-6, 1.0])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_flat_tuples(d: int, thickness: float) -> None:
    """Nearly flat tuples reach as far, in every direction, as the farthest of all their points."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        turned, _ = np.linalg.qr(rng.normal(size=(d, d)))
        x = rng.normal(size=(12, d)) * [1e4, *[1e3] * (d - 2), thickness] @ turned
        u = rng.normal(size=(50, d))
        np.testing.assert_allclose(reaches(x, u), (x @ u.T).max(axis=0), rtol=0, atol=1e-8)
        assert diameter(x) == pytest.approx(float(pdist(x).max()), rel=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("rho", [1e-14, 1e4, 1e6])
@pytest.mark.parametrize("reach", [1.0, 3e6, 5e7])
def test_extreme_noise_has_bounds(rho: float, reach: float) -> None:
    """Noise a billion times finer or coarser than the points extend gives bodies and finite bounds that hold."""
    x = reach * np.array([[-1.0, -1.0], [1.0, 1.0]])
    for k in (16, 4096):
        release = gv.Locations(x, rng=np.random.default_rng(1)).hull(rho=rho, k=k)
        assert release.coords is not None
        off = np.abs((release.coords @ directions(360).T).max(axis=0) - (x @ directions(360).T).max(axis=0)).max()
        assert off <= release.error(0.05) < 1e12
    solid = np.column_stack([x, x[:, 0]])
    assert math.isfinite(gv.Locations(solid, rng=np.random.default_rng(1)).hull(rho=rho, k=54).error(0.05))


def test_coarse_directions_release_points() -> None:
    """Above the plane little noise and much extent are for the search of vertices, by public facts alone."""
    assert isinstance(best_hull(500, 3, gv.CGP(rho=1)), Hull)
    assert isinstance(best_hull(500, 3, gv.CGP(rho=1), extent=100.0), SupportHull)
    assert isinstance(best_hull(500, 3, gv.CGP(rho=1e-6)), SupportHull)
    assert isinstance(best_hull(500, 2, gv.CGP(rho=1)), SupportHull)


@pytest.mark.deep
@pytest.mark.statistical
@pytest.mark.parametrize("rho", [1e-7, 1e-5, 1e-3, 1e-1, 10])
def test_three_dimensions_match_paper(rho: float) -> None:
    """The mean of the largest error of the support function, over ten releases, against that of the paper's hull."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(500, 3)) * [8000.0, 5000.0, 1500.0]
    v = rng.normal(size=(400, 3))
    v /= np.linalg.norm(v, axis=1, keepdims=True)

    def off(ask: Callable[[np.random.Generator], gv.Release]) -> float:
        hulls = (ask(np.random.default_rng(i)).value for i in range(10))
        return float(np.mean([np.abs((hull @ v.T).max(axis=0) - (x @ v.T).max(axis=0)).mean() for hull in hulls]))

    best = off(lambda rng: gv.Locations(x, rng=rng).hull(rho=rho))
    assert best <= 1.05 * off(lambda rng: gv.paper.hull(x, rho=rho, rng=rng))
