"""Every guarantee holds for the exact densities, on the worst inputs that a search finds, and is not loose."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from geoveil.mechanisms import Copies, Exponential, Gaussian, Laplace, SparseVector
from geoveil.noise import Experiment
from geoveil.privacy import CGP, GP, METRICS, Guarantee, Metric, total
from geoveil.queries import SUMMARIES, Distance, FirstWithin, Hull, Nearest, OwnQuery, Points, Query
from geoveil.queries.summaries import LipschitzQuery
from tests.oracle import (
    SLACK,
    Floats,
    additive_tightness,
    neighbour_log_probabilities,
    shifted,
    tightness,
)

RHO, EPSILON = CGP(rho=1e-4), GP(epsilon=0.02)


def guarantees(metric: str = "inf") -> list[Guarantee]:
    """One of each notion."""
    return [CGP(rho=1e-4, metric=metric), GP(epsilon=0.02, metric=metric)]


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "mechanism", [Gaussian(RHO, 1, 1.5), Laplace(EPSILON, 1, 1.5)], ids=lambda m: type(m).__name__
)
def test_densities_integrate_to_one(mechanism: Gaussian | Laplace, dimension: int) -> None:
    """A log-density is normalised in every dimension."""
    mechanism = type(mechanism)(mechanism.guarantee, dimension, mechanism.lipschitz)  # type: ignore[arg-type]
    log_p, _, weights = shifted(mechanism, 1.0)
    assert float(weights @ np.exp(log_p)) == pytest.approx(1, abs=1e-5)


def check_additive(mechanism: Gaussian | Laplace) -> None:
    """The divergence is within the guarantee at every distance, and meets it."""
    for distance in (1e-6, 0.01, 1.0, 30.0, 100.0):
        shift = np.zeros(mechanism.dimension)
        shift[0] = mechanism.lipschitz * distance
        used = additive_tightness(mechanism, shift, 0 * shift, distance)
        assert used <= 1 + SLACK, (mechanism, distance, used)
        assert used >= 0.99, (mechanism, distance, used)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("kind", [Gaussian, Laplace])
def test_additive_noise_is_within_its_guarantee_and_meets_it(kind: Any, dimension: int) -> None:
    """Gaussian noise uses all of ρ, Laplace noise all of ε."""
    check_additive(kind(RHO if kind is Gaussian else EPSILON, dimension, 1.5))


def test_one_dimensional_laplace_meets_half_epsilon_squared() -> None:
    """On the line the (ε²/2)-CGP of an ε-GP mechanism is tight at small distances and holds at large ones."""
    mechanism = Laplace(EPSILON, 1)
    for distance in (1e-3, 1.0, 50.0, 200.0):
        log_p, log_q, weights = shifted(mechanism, distance)
        used = tightness(log_p, log_q, EPSILON.as_cgp(), distance, weights)
        assert used <= 1 + SLACK
        assert distance > 0.01 or used >= 0.99


def worst_pair(query: LipschitzQuery | Points, metric: Metric) -> tuple[Floats, Floats, float]:
    """Tuples whose true answers differ the most for their distance, by a random search with hill climbing."""
    rng = np.random.default_rng(7)

    def value(x: Floats) -> Floats:
        return x if isinstance(query, Points) else np.asarray(query.function(x), dtype=float)

    best, found = -1.0, None
    for start in range(30):
        x = rng.normal(scale=1000.0, size=(query.n, query.dimension))
        move = rng.normal(size=x.shape) * (rng.random((query.n, 1)) < (1.0 if start % 3 else 0.4))
        gain, step = -1.0, 1.0
        for _ in range(250):
            new_x, new_move = (a + step * scale * rng.normal(size=a.shape) for a, scale in ((x, 300.0), (move, 1.0)))
            lengths = np.linalg.norm(new_move, axis=1, keepdims=True)
            if metric.name == "inf":  # the ball's extreme points
                new_move = new_move / np.maximum(lengths, 1e-12)
            ratio = float(np.linalg.norm(value(new_x + new_move) - value(new_x))) / metric(new_x + new_move, new_x)
            if ratio > gain:
                gain, x, move = ratio, new_x, new_move
            else:
                step = max(step * 0.97, 1e-3)
        if gain > best:
            best, found = gain, (x, x + move)
    assert found is not None
    return *found, metric(*found)


def single_steps(guarantee: Guarantee) -> list[LipschitzQuery | Points]:
    """All queries that add noise once: two points, or summaries of four, where the constants are the general ones."""
    return [
        Points(2, 2, guarantee),
        *(summary(4, 2, guarantee) for summary in SUMMARIES.values()),
        Distance(4, 2, guarantee, measure=lambda x: np.linalg.norm(x, axis=1)),
    ]


def check_single_step(query: LipschitzQuery | Points) -> float:
    """The guarantee holds on the worst pair that a search finds; returns how much of it is used."""
    metric = query.guarantee.metric
    x, y, distance = worst_pair(query, metric)
    a, b = (v if isinstance(query, Points) else np.asarray(query.function(v), dtype=float) for v in (x, y))
    used = additive_tightness(query.mechanism, a, b, distance)
    assert used <= 1 + SLACK, (query.name, metric, used)
    return used


@pytest.mark.parametrize("metric", ["inf", "2", "1"])
@pytest.mark.parametrize("notion", [0, 1], ids=["CGP", "GP"])
@pytest.mark.parametrize("which", range(9), ids=["points", *SUMMARIES, "distance"])
def test_single_step_queries_keep_their_guarantee(which: int, notion: int, metric: str) -> None:
    """No pair of tuples that a search finds breaks the guarantee, under any metric."""
    query = single_steps(guarantees(metric)[notion])[which]
    used = check_single_step(query)
    if query.name in ("points", "mean", "distance"):
        assert used >= 0.9


@pytest.mark.parametrize("m", [2, 3, 4])
def test_exponential_mechanism_is_tight_for_both_notions(m: int) -> None:
    """Choosing by score keeps ρ and ε on all the score movements tried, and meets both in their worst cases."""
    check_exponential(m)


def check_exponential(m: int) -> None:
    """Scores move by at most the distance, in every pattern of signs."""
    rng = np.random.default_rng(3)
    for guarantee in (RHO, EPSILON):
        mechanism = Exponential(guarantee, 2.0)
        worst = 0.0
        for trial in range(300):
            distance = float(10 ** rng.uniform(-4, 2.5))
            scores = rng.uniform(0, 10 ** rng.uniform(0, 3.5), size=m) * (trial % 4 > 0)
            moved = scores + 2.0 * distance * rng.choice([-1.0, 1.0, 0.3], size=m)
            p, q = mechanism.log_probabilities(scores), mechanism.log_probabilities(moved)
            worst = max(worst, tightness(p, q, guarantee, distance))
        assert worst <= 1 + SLACK
        assert worst >= (0.99 if m == 2 or guarantee == EPSILON else 0.8)


def sparse_pairs(rng: np.random.Generator, scale: float) -> tuple[Floats, Floats, float]:
    """Values and values moved by at most the distance: random, and the pattern that the proof finds worst."""
    distance = scale * float(10 ** rng.uniform(-3, 0.5))
    m = int(rng.integers(1, 6))
    values = scale * rng.uniform(-3, 6, size=m)
    moved = values + distance * rng.choice([-1.0, 1.0], size=m)
    if rng.random() < 0.5:
        moved = values - distance
        moved[-1] = values[-1] + distance
    return values, moved, distance


def check_sparse_vector(*, cyclic: bool) -> None:
    """Neither notion is broken for values around the threshold."""
    for guarantee in (RHO, EPSILON):
        rng = np.random.default_rng(11)
        mechanism = SparseVector(guarantee, cyclic=cyclic)
        for _ in range(60):
            values, moved, distance = sparse_pairs(rng, mechanism.scale)
            p, q = (np.log(mechanism.probabilities(v, 0.0)) for v in (values, moved))
            assert tightness(p, q, guarantee, distance) <= 1 + SLACK


@pytest.mark.parametrize("cyclic", [False, True], ids=["finite", "cyclic"])
def test_sparse_vector_keeps_its_guarantee(cyclic: bool) -> None:
    """The probabilities of every halting position change within the guarantee."""
    check_sparse_vector(cyclic=cyclic)


@pytest.mark.parametrize("split", [0.5, 1 / (1 + 2 ** (2 / 3))])
def test_sparse_vector_uses_all_of_epsilon(split: float) -> None:
    """Many visits likely to halt and then one unlikely one come within 1% of ε, so that no noise is wasted."""
    mechanism = SparseVector(EPSILON, split=split)
    distance = 0.02 * mechanism.scale
    values = np.append(np.full(60, -3.0), 25.0) * mechanism.scale
    moved = np.append(values[:-1] - distance, values[-1] + distance)
    p, q = (mechanism.probabilities(v, 0.0)[60] for v in (values, moved))
    assert 0.99 <= math.log(p / q) / (0.02 * distance) <= 1 + SLACK


@pytest.mark.parametrize("gamma0", [0.0, 2000.0, -2000.0, -40_000.0])
@pytest.mark.parametrize("k", [1, 2])
def test_neighbours_keep_their_guarantee_in_every_outcome(k: int, gamma0: float) -> None:
    """All ordered choices of up to 2 of up to 4 points are enumerated, for both notions, over random tuples."""
    for guarantee in guarantees():
        check_neighbours(k, gamma0, guarantee)


def check_neighbours(k: int, gamma0: float, guarantee: Guarantee) -> None:
    """The guarantee of the whole search, from the probabilities of its rounds."""
    rng = np.random.default_rng(5)
    place = np.zeros(2)
    for trial in range(12):
        n = int(rng.integers(2, 5))
        query = Nearest(n, 2, guarantee, p=place, k=k, gamma0=gamma0)
        scale = query.single.scale
        x = rng.normal(scale=scale * (0.3, 2.0, 10.0)[trial % 3], size=(n, 2))
        size = scale * float(10 ** rng.uniform(-2, 0))
        # Points move towards the place or away from it: nothing changes distances more.
        y = x + size * rng.choice([-1.0, 1.0], size=(n, 1)) * x / np.linalg.norm(x, axis=1, keepdims=True)
        p, q = (neighbour_log_probabilities(query.single, np.linalg.norm(v, axis=1), k) for v in (x, y))
        assert np.exp(p).sum() == pytest.approx(1, abs=1e-9)
        assert tightness(p, q, guarantee, METRICS["inf"](x, y)) <= 1 + SLACK


@pytest.mark.parametrize("metric", ["inf", "2", "1"])
@pytest.mark.parametrize("notion", [0, 1], ids=["CGP", "GP"])
def test_composed_queries_spend_what_they_claim(notion: int, metric: str) -> None:
    """The guarantees of the mechanisms that a composed query ran add up to at most its claim, and to most of it."""
    check_composition(guarantees(metric)[notion])


def check_composition(guarantee: Guarantee) -> None:
    """Nearest with and without places, and hulls of all settings."""
    rng = np.random.default_rng(2)
    x = rng.normal(scale=5000.0, size=(60, 2))
    queries: list[Query] = [
        Nearest(60, 2, guarantee, p=np.zeros(2), k=7),
        Nearest(60, 2, guarantee, p=np.zeros(2), k=7, locations=0.3),
        Hull(60, 2, guarantee),
        Hull(60, 2, guarantee, k=12, share=0.92, distinct=True, gamma0=-100.0),
        Hull(60, 2, guarantee, k="authors"),
        FirstWithin(60, 2, guarantee, p=np.zeros(2), radius=100.0),
    ]
    for query in queries:
        spent = total(m.guarantee for m in query.ask(x, Experiment(rng)).mechanisms)
        assert spent <= guarantee, query
        # A hull that finds a point twice releases it once and saves its part.
        assert spent.budget >= guarantee.budget * (1 if not isinstance(query, Hull) else 0) * (1 - SLACK_BUDGET)


#: What rounding parts down at 30 digits may leave unspent.
SLACK_BUDGET = type(RHO.rho)("1e-27")


@pytest.mark.parametrize("metric", ["inf", "2", "1"])
def test_the_recorded_noise_follows_from_each_step(metric: str) -> None:
    """Every step of a hull is within its own guarantee: its constants are those of what it adds noise to."""
    for guarantee in guarantees(metric):
        query = Hull(3, 2, guarantee, k=4)
        center = SUMMARIES["center"](3, 2, query.centering.guarantee)
        assert query.centering == center.mechanism
        assert check_single_step(center) <= 1 + SLACK
        reach = OwnLike(3, 2, query.reaching.guarantee)
        assert reach.mechanism == query.reaching
        assert check_single_step(reach) <= 1 + SLACK


class OwnLike(LipschitzQuery):
    """The largest distance to a public center, as the hull uses it."""

    name = "distance"
    kind = "length"

    def function(self, x: Floats) -> Floats:
        return np.asarray(np.linalg.norm(x - 100.0, axis=1).max())


def test_copies_add_up() -> None:
    """Copies of a mechanism at ε/n each cost at most ε, and nearly all of it."""
    copies = Copies(Laplace(EPSILON / 3, 2), 3)
    assert copies.guarantee <= EPSILON
    assert additive_tightness(copies, np.zeros((3, 2)), np.ones((3, 2)), math.sqrt(2)) == pytest.approx(1, abs=0.01)


def test_own_query_uses_the_constant_it_is_given() -> None:
    """A function of one's own is answered with noise for its constant."""
    from geoveil import Lipschitz

    own = OwnQuery(2, 2, RHO, own=Lipschitz(lambda x: 3 * x[0], 3.0), numbers=2)
    assert own.mechanism == Gaussian(RHO, 2, 3.0)
    assert check_single_step(own) >= 0.9
