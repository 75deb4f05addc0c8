"""The hull by its support function: constants, projection, pruning, and bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import geoveil as gv
from geoveil.mechanisms import Gaussian
from geoveil.noise import Experiment
from geoveil.privacy import METRICS
from geoveil.queries.convex import corners, directions, edges, project, prune
from geoveil.queries.support import SupportHull, support_squared
from tests.oracle import Floats


def support(x: Floats, k: int) -> Floats:
    """The true values."""
    return np.asarray((x @ directions(k).T).max(axis=0))


@pytest.mark.parametrize("metric", ["inf", "2", "1"])
@settings(deadline=None, max_examples=150, derandomize=True)
@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from([4, 6, 16, 64]))
def test_support_functions_move_no_faster_than_their_constant(metric: str, seed: int, n: int, k: int) -> None:
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
    bound = math.sqrt(support_squared(k, n, metric)) * METRICS[metric](x, y)
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
    assert reached >= 0.97 * math.sqrt(support_squared(k, n, metric))


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


def test_directions_are_never_longer_than_one() -> None:
    """A direction that is too long by rounding would break the guarantee."""
    for k in (4, 7, 256, 4096):
        u = directions(k).astype(np.longdouble)
        assert (u[:, 0] ** 2 + u[:, 1] ** 2 <= 1).all()


@pytest.mark.parametrize("k", [5, 8, 33, 128])
def test_projection_is_that_of_a_general_solver(k: int) -> None:
    """Against dense non-negative least squares on the dual problem, for noise of every size."""
    rng = np.random.default_rng(k)
    matrix = np.array([edges(row) for row in np.eye(k)])
    for noise in (0.01, 1.0, 100.0):
        y = 10.0 + noise * rng.normal(size=k)
        weights, _ = nnls(matrix.T, -y, maxiter=100 * k)
        expected = y + matrix.T @ weights
        h = project(y)
        assert h == pytest.approx(expected, abs=1e-4 * max(noise, 1))
        assert edges(h).min() > -1e-5 * max(noise, 1)


def test_a_support_function_is_its_own_projection() -> None:
    """What is valid already is left as it is, and its corners are the polygon's."""
    x = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 5.0], [0.0, 5.0]])
    h = support(x, 64)
    assert project(h) == pytest.approx(h, abs=1e-4)
    hull = shapely.MultiPoint(corners(h)).convex_hull
    assert hull.symmetric_difference(shapely.MultiPoint(x).convex_hull).area < 1e-9


def test_pruning_removes_roofs_and_keeps_corners() -> None:
    """A triangle whose normals lie between the directions is found again from its exact values."""
    x = np.array([[0.0, 0.0], [1000.0, 130.0], [310.0, 900.0]])
    y = support(x, 256)
    pruned = prune(corners(project(y)), y, 1.0)
    assert len(pruned) <= 6
    body, true = (shapely.MultiPoint(v).convex_hull for v in (pruned, x))
    assert body.symmetric_difference(true).area < 0.004 * true.area


@pytest.mark.parametrize("budget", [{"rho": 1e-9}, {"rho": 1e-4}, {"rho": 1.0}, {"epsilon": 1e-4}, {"epsilon": 1.0}])
@pytest.mark.parametrize(
    "points", [[[0.0, 0.0]], [[0.0, 0.0], [1e4, 0.0]], [[5.0, 5.0]] * 3, [[1e7, 1e7], [0.0, 3.0]]]
)
def test_every_tuple_gets_a_convex_body(points: list[list[float]], budget: dict[str, Any]) -> None:
    """Whatever the noise, the answer is a valid convex geometry that is not empty, with a finite bound."""
    release = gv.hull(points, method="best", rng=np.random.default_rng(3), **budget)
    assert release.value.is_valid
    assert not release.value.is_empty
    assert release.value.convex_hull.equals(release.value)
    assert 0 < release.error(0.05) < math.inf


@pytest.mark.parametrize("budget", [{"rho": 1e-4}, {"rho": 0.2}, {"epsilon": 0.05}], ids=str)
@pytest.mark.parametrize("n", [1, 3, 500])
def test_the_bound_holds(budget: dict[str, Any], n: int) -> None:
    """In 100 releases the Hausdorff distance never exceeds error(0.05) more often than it may."""
    rng = np.random.default_rng(n)
    x = rng.normal(scale=3000.0, size=(n, 2))
    fine = directions(3600)
    failed = 0
    for _ in range(100):
        release = gv.hull(x, method="best", rng=rng, **budget)
        assert release.coords is not None
        off = (release.coords @ fine.T).max(axis=0) - (x @ fine.T).max(axis=0)
        failed += bool(np.abs(off).max() > release.error(0.05))
    assert failed <= 16  # binomial: 1e-6 for 5%


def test_the_resolution_is_public() -> None:
    """The number of directions depends on the budget, the metric and public guesses, never on the points."""
    rng = np.random.default_rng(1)
    for guarantee in (gv.CGP(rho=1e-4), gv.CGP(rho=1), gv.GP(epsilon=0.01), gv.GP(epsilon=3)):
        query = SupportHull(50, 2, guarantee)
        counts = {
            len(query.ask(scale * rng.normal(size=(50, 2)), Experiment(rng)).support) for scale in (1.0, 1e3, 1e6)
        }
        assert counts == {query.resolution}


def test_parameters_of_the_paper_are_refused() -> None:
    """What the best method does not have is not silently ignored."""
    x = np.zeros((3, 2))
    for more in ({"share": 0.9}, {"distinct": True}, {"gamma0": -1.0}, {"beta": 0.01}, {"k": 7}, {"k": "authors"}):
        with pytest.raises(gv.errors.InvalidParameter):
            gv.hull(x, method="best", rho=1, **more)
    with pytest.raises(gv.errors.InvalidParameter, match="plane"):
        gv.hull(np.zeros((3, 3)), method="best", rho=1)
