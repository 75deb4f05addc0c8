"""The paper's algorithms as published: noise, budgets and knobs are those of its text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import shapely

import geoveil as gv
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.mechanisms import Copies, Gaussian, Laplace, NearestNeighbour, SparseVector
from geoveil.noise import source_of
from geoveil.queries import Persons, Points, ask_each

X = np.random.default_rng(0).normal(scale=3000.0, size=(200, 2))
SPACE = np.random.default_rng(1).normal(scale=3000.0, size=(200, 3))
P = (400.0, -700.0)
BUDGETS: list[dict[str, Any]] = [{"rho": 1e-2}, {"epsilon": 0.1}]
EVERY_BUDGET = pytest.mark.parametrize("budget", BUDGETS, ids=["CGP", "GP"])
ALGORITHMS: dict[str, Callable[..., gv.Release]] = {
    "identity": gv.paper.identity,
    "sparse vector": lambda x, **how: gv.paper.sparse_vector(x, x[0], 500.0, **how),
    "PNN": lambda x, **how: gv.paper.nearest(x, x[0], **how),
    "k-PNN": lambda x, **how: gv.paper.nearest(x, x[0], k=5, gamma0=-20.0, **how),
    "hull": lambda x, **how: gv.paper.hull(x, k=24, **how),
}
EVERY_ALGORITHM = pytest.mark.parametrize("name", ALGORITHMS)


def seeded() -> np.random.Generator:
    """The same generator every time."""
    return np.random.default_rng(7)


def promised(budget: dict[str, Any]) -> gv.Guarantee:
    """The guarantee of a budget."""
    return gv.CGP(**budget) if "rho" in budget else gv.GP(**budget)


def mechanisms(release: gv.Release) -> tuple[Any, ...]:
    """The mechanisms that were run."""
    [answer] = release.answers
    return answer.mechanisms


@EVERY_BUDGET
@EVERY_ALGORITHM
def test_mechanisms_keep_the_budget(name: str, budget: dict[str, Any]) -> None:
    """The budgets of all mechanisms that are run add up to at most the guarantee, in the plane and in space.

    A hull spends less if several probes find the same point.
    """
    for x in (X, SPACE):
        release = ALGORITHMS[name](x, rng=seeded(), **budget)
        assert release.guarantee == promised(budget)
        spent = sum(mechanism.guarantee.budget for mechanism in mechanisms(release))
        assert spent <= release.guarantee.budget
        if name != "hull":
            assert float(spent) == pytest.approx(float(release.guarantee.budget), rel=1e-9)
        assert 0 < release.error(0.05) < release.error(0.01)


@EVERY_ALGORITHM
def test_generators_repeat_releases(name: str) -> None:
    """The same generator gives the same answer, and the release says that its noise is not exact."""
    one, same = (ALGORITHMS[name](X, rho=1e-2, rng=seeded()) for _ in range(2))
    assert repr(one.value) == repr(same.value)
    assert not one.exact
    assert ALGORITHMS[name](X, rho=1e-2).exact


def test_identity_splits_the_budget() -> None:
    """Each of n points gets ρ/n or ε/n under dist_inf; under dist_2 nothing is split."""
    n = len(X)
    gaussian, laplace = gv.paper.identity(X, rho=1e-4), gv.paper.identity(X, epsilon=0.01)
    assert isinstance(gaussian.mechanism, Gaussian)
    assert gaussian.scale == pytest.approx(math.sqrt(n / 2e-4), rel=1e-12)
    assert isinstance(laplace.mechanism, Copies)
    assert laplace.scale == pytest.approx(n / 0.01, rel=1e-12)
    assert gv.paper.identity(X, rho=gv.CGP(rho=1e-4, metric="2")).scale == pytest.approx(math.sqrt(1 / 2e-4))
    whole = gv.paper.identity(X, epsilon=gv.GP(epsilon=0.01, metric="2")).mechanism
    assert isinstance(whole, Laplace)
    assert whole.scale == pytest.approx(100.0)
    assert whole.dimension == 2 * n


@pytest.mark.statistical
def test_persons_have_own_scales() -> None:
    """Among many persons, the points of one with n of them get Laplace noise of the scale n/ε."""
    queries = [Points(n, 2, gv.GP(epsilon=0.01), "paper") for n in (400, 1)]
    assert [query.mechanism.scale for query in queries] == pytest.approx([40_000, 100], rel=1e-12)
    persons = Persons(queries, np.repeat([0, 1], [1, 400]))
    drawn = []
    for seed in range(20):
        coords = ask_each(persons, np.zeros((800, 2)), source_of(np.random.default_rng(seed)), lambda _: None).coords
        assert coords is not None
        drawn.append(coords)
    # A coordinate of Laplace noise in the plane has the variance 3·scale².
    for noise, scale in ((np.stack(drawn)[:, :400], 40_000), (np.stack(drawn)[:, 400:], 100)):
        assert np.sqrt(np.mean(noise**2)) == pytest.approx(math.sqrt(3) * scale, rel=0.04)


@EVERY_BUDGET
def test_sparse_vector_halves_epsilon(budget: dict[str, Any]) -> None:
    """The noise of the threshold has the scale 2/ε and that of each distance 4/ε, with ε = √(2ρ) under CGP."""
    epsilon = budget.get("epsilon", math.sqrt(2 * budget.get("rho", 0)))
    [mechanism] = mechanisms(gv.paper.sparse_vector(X, P, 500.0, **budget))
    assert isinstance(mechanism, SparseVector)
    assert mechanism.threshold_scale == pytest.approx(2 / epsilon, rel=1e-9)
    assert mechanism.scale == pytest.approx(4 / epsilon, rel=1e-9)


def test_sparse_vector_finds() -> None:
    """With a huge budget it finds the first point within the threshold, or None."""
    distances = np.linalg.norm(X - P, axis=1)
    assert gv.paper.sparse_vector(X, P, 900.0, rho=1e8).value == np.flatnonzero(distances <= 900)[0]
    assert gv.paper.sparse_vector(X, (1e6, 1e6), 900.0, rho=1e8).value is None


@EVERY_BUDGET
def test_neighbours_share_the_budget(budget: dict[str, Any]) -> None:
    """Each of k searches has ε = √(2ρ/k) or ε/k, and noise of the scale 3/ε on the smallest distance."""
    searches = mechanisms(gv.paper.nearest(X, P, k=8, gamma0=-5.0, **budget))
    each = math.sqrt(2 * budget["rho"] / 8) if "rho" in budget else budget["epsilon"] / 8
    assert len(searches) == 8
    for search in searches:
        assert isinstance(search, NearestNeighbour)
        assert search.scale == pytest.approx(3 / each, rel=1e-9)
        assert search.gamma0 == -5.0


@pytest.mark.parametrize("x", [X, SPACE], ids=["plane", "space"])
def test_neighbours_are_the_nearest(x: Any) -> None:
    """With a huge budget they are the true neighbours in order; one of them by default."""
    order = np.argsort(np.linalg.norm(x - x[3], axis=1))
    assert gv.paper.nearest(x, x[3], k=4, rho=1e10).value.tolist() == order[:4].tolist()
    assert gv.paper.nearest(x, x[3], rho=1e10).value.tolist() == [3]


def test_gamma0_sets_the_error() -> None:
    """A negative γ0 lowers the error bound of a search, and a positive one raises it."""
    low, usual, high = (gv.paper.nearest(X, P, rho=1e-4, gamma0=gamma0).error(0.05) for gamma0 in (-300.0, 0.0, 900.0))
    assert low < usual < high


def test_hulls_are_near() -> None:
    """The Hausdorff distance to the true hull is within its bound; in space vertices are near true points."""
    release = gv.paper.hull(X, rho=10.0, rng=seeded())
    assert shapely.hausdorff_distance(release.value, shapely.MultiPoint(X).convex_hull) <= release.error(1e-6)
    vertices = gv.paper.hull(SPACE, rho=1e8, k=600, rng=seeded()).value
    assert vertices.shape[1] == 3
    assert np.linalg.norm(vertices[:, None] - SPACE, axis=2).min(axis=1).max() < 1


@EVERY_BUDGET
def test_hull_splits_the_budget(budget: dict[str, Any]) -> None:
    """A twentieth is spent on center and radius, and `share` of the rest on k searches."""
    total = float(promised(budget).budget)
    for share in (0.5, 0.92):
        center, radius, *searches, placing = mechanisms(gv.paper.hull(X, k=20, share=share, gamma0=-3.0, **budget))
        assert float(center.guarantee.budget) == pytest.approx(total / 30)
        assert float(radius.guarantee.budget) == pytest.approx(total / 60)
        assert [float(each.guarantee.budget) for each in searches] == pytest.approx([0.95 * share * total / 20] * 20)
        assert float(placing.guarantee.budget) <= 0.95 * (1 - share) * total * (1 + 1e-9)
        assert {each.gamma0 for each in searches} == {-3.0}


@EVERY_BUDGET
def test_distinct_searches_find_more(budget: dict[str, Any]) -> None:
    """With `distinct` no point is found twice, so there are as many vertices as probes."""
    vertices = {
        distinct: len(gv.paper.hull(X, k=100, distinct=distinct, rng=seeded(), **budget).answers[0].value)
        for distinct in (False, True)
    }
    assert vertices[True] == 100 > vertices[False]


@EVERY_BUDGET
def test_authors_k(budget: dict[str, Any]) -> None:
    """The number of probes of the authors' programs is between 16 and 128."""
    run = mechanisms(gv.paper.hull(X, k="authors", share=0.92, distinct=True, **budget))
    assert 16 <= len(run) - 3 <= 128


def test_margin_follows_beta() -> None:
    """A smaller β widens the circle of the probes."""
    wide, narrow = (gv.paper.hull(X, rho=1e-2, k=20, beta=beta, rng=seeded()).answers[0] for beta in (1e-6, 0.5))
    assert wide.parts()["radius"] > narrow.parts()["radius"]


def test_wrong_arguments_are_refused() -> None:
    """Numbers that could be degrees need a word, the budget is one number, and knobs have limits."""
    degrees = np.array([[-122.4194, 37.7749], [-122.4313, 37.7512]])
    with pytest.raises(InvalidData, match=r"could be degrees.*metres"):
        gv.paper.identity(degrees, rho=1)
    assert gv.paper.identity(degrees, rho=1, crs="metres").value.shape == (2, 2)
    budgets: list[dict[str, Any]] = [{}, {"rho": 1, "epsilon": 1}]
    for budget in budgets:
        with pytest.raises(InvalidParameter, match="epsilon"):
            gv.paper.hull(X, **budget)
    with pytest.raises(InvalidParameter, match=r"^k = 201"):
        gv.paper.nearest(X, P, k=201, rho=1)
    with pytest.raises(InvalidParameter, match=r"^k = 'authors'"):
        gv.paper.hull(SPACE, k="authors", rho=1)
    with pytest.raises(InvalidParameter, match=r"^share = 1"):
        gv.paper.hull(X, share=1, rho=1)
    with pytest.raises(InvalidParameter, match=r"^p = "):
        gv.paper.sparse_vector(SPACE, P, 10.0, rho=1)
