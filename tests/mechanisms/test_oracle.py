"""Every guarantee holds for the exact densities, on the worst inputs that a search finds, and is not loose."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from geoveil.mechanisms import Copies, Exponential, Gaussian, KNorm, Laplace, PermuteAndFlip, SparseVector
from geoveil.mechanisms.quadrature import panels
from geoveil.noise import Experiment, Reals, as_reals
from geoveil.privacy import CGP, GP, Guarantee, Metric, total
from geoveil.queries import SUMMARIES, Distance, FirstWithin, Hull, Nearest, Points, Query, SupportHull, UserFunction
from geoveil.queries.lipschitz_query import LipschitzQuery
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


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("kind", [Gaussian, Laplace])
def test_additive_noise_is_tight(kind: Any, dimension: int) -> None:
    """Gaussian noise uses all of ρ, Laplace noise all of ε."""
    check_additive(kind(RHO if kind is Gaussian else EPSILON, dimension, 1.5))


def test_laplace_line_is_tight() -> None:
    """On the line the (ε²/2)-CGP of an ε-GP mechanism is tight at small distances and holds at large ones."""
    mechanism = Laplace(EPSILON, 1)
    for distance in (1e-3, 1.0, 50.0, 200.0):
        log_p, log_q, weights = shifted(mechanism, distance)
        used = tightness(log_p, log_q, EPSILON.as_cgp(), distance, weights)
        assert used <= 1 + SLACK
        assert distance > 0.01 or used >= 0.99


def check_both(dimension: int) -> float:
    """Laplace noise asked for as CGP keeps that and the GP it says it has besides; returns the share of ρ it uses."""
    query = Points(1, dimension, RHO, "both")
    used = 0.0
    for distance in (0.05, 5.0, 100.0, 500.0):
        log_p, log_q, weights = shifted(query.mechanism, distance)
        for guarantee in (RHO, query.also):
            assert guarantee is not None
            share = tightness(log_p, log_q, guarantee, distance, weights)
            assert share <= 1 + SLACK, (dimension, distance, guarantee, share)
            used = max(used, share) if guarantee == RHO else used
    return used


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 10])
def test_laplace_keeps_both(dimension: int) -> None:
    """ε = √(2Dρ) is ρ-CGP, tight at small distances, and ε-GP."""
    assert check_both(dimension) >= 0.98


def check_conversion_between_metrics(n: int) -> float:
    """A sum of n points under dist_1, read as a guarantee under dist_inf: all points move together."""
    promised = CGP(rho=3e-4, metric="1").under("inf", n=n)
    mechanism = Gaussian(CGP(rho=3e-4, metric="1"), 2)
    log_p, log_q, weights = shifted(mechanism, 10.0 * n)
    used = tightness(log_p, log_q, promised, 10.0, weights)
    assert used <= 1 + SLACK
    return used


@pytest.mark.parametrize("n", [1, 2, 5])
def test_metric_conversion_is_tight(n: int) -> None:
    """From dist_1 to dist_inf ρ costs n² as much."""
    assert check_conversion_between_metrics(n) >= 0.99


def worst_pair(query: LipschitzQuery | Points, metric: Metric) -> tuple[Floats, Floats, float]:
    """Tuples whose true answers differ the most for their distance, by a random search with hill climbing."""
    rng = np.random.default_rng(7)

    def value(x: Floats) -> Floats:
        return x if isinstance(query, Points) else query.evaluate(x).values

    best, found = -1.0, None
    for start in range(12):
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
        Points(2, 2, guarantee, "paper"),
        *(summary(4, 2, guarantee) for summary in SUMMARIES.values()),
        Distance(4, 2, guarantee, measure=lambda x: as_reals(np.linalg.norm(x.values, axis=1))),
    ]


def check_single_step(query: LipschitzQuery | Points, pair: tuple[Floats, Floats, float] | None = None) -> float:
    """The guarantee holds on the worst pair that a search finds; returns how much of it is used."""
    metric = query.guarantee.metric
    x, y, distance = worst_pair(query, metric) if pair is None else pair
    a, b = (v if isinstance(query, Points) else query.evaluate(v).values for v in (x, y))
    used = additive_tightness(query.mechanism, a, b, distance)
    assert used <= 1 + SLACK, (query.name, metric, used)
    return used


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["inf", "2", "1"])
@pytest.mark.parametrize("which", range(9), ids=["points", *SUMMARIES, "distance"])
def test_single_steps_are_bounded(which: int, metric: str) -> None:
    """No pair of tuples that a search finds breaks a guarantee of either notion, under any metric."""
    queries = [single_steps(guarantee)[which] for guarantee in guarantees(metric)]
    pair = worst_pair(queries[0], queries[0].guarantee.metric)
    for query in queries:
        used = check_single_step(query, pair)
        if query.name in ("points", "mean", "distance"):
            assert used >= 0.9


def move_scores(rng: np.random.Generator, m: int, metric: str) -> Floats:
    """How scores of different points move when the tuple moves by 1: on the border of the metric's ball."""
    signs = rng.choice([-1.0, 1.0], size=m)
    if metric == "inf":
        return np.asarray(signs * rng.choice([1.0, 1.0, 0.3], size=m))
    share = rng.random(m) ** rng.choice([0.3, 1.0, 5.0])
    if rng.random() < 0.3:  # one point alone, or two against each other
        share = np.eye(m)[0] + np.eye(m)[-1] * rng.choice([0.0, 1.0])
    return np.asarray(signs * share / (share.sum() if metric == "1" else np.linalg.norm(share)))


SPREADS = {"inf": 2.0, "2": math.sqrt(2) * (1 + 1e-15), "1": 1.0}


def check_selection(kind: type[Exponential] | type[PermuteAndFlip], guarantee: Guarantee, m: int = 2) -> float:
    """The guarantee of a choice among m scores, over movements and distances; returns how much of it is used."""
    rng = np.random.default_rng(3)
    mechanism = kind(guarantee, SPREADS[guarantee.metric.name])  # type: ignore[arg-type]
    worst = 0.0
    for trial in range(400):
        distance = mechanism.scale * float(10 ** rng.uniform(-4, 0.3))
        scores = mechanism.scale * rng.uniform(0, 10 ** rng.uniform(-1, 1.2), size=m) * (trial % 4 > 0)
        moved = scores + distance * move_scores(rng, m, guarantee.metric.name)
        p, q = (np.log(mechanism.probabilities(v)) for v in (scores, moved))
        worst = max(worst, tightness(p, q, guarantee, distance))
    assert worst <= 1 + SLACK, (kind, guarantee, worst)
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["inf", "2", "1"])
@pytest.mark.parametrize("m", [2, 3, 4])
def test_choices_are_tight(m: int, metric: str) -> None:
    """Both mechanisms of choice are within their guarantee under every metric, and nearly use it up."""
    rho, epsilon = guarantees(metric)
    used = check_selection(Exponential, rho, m), check_selection(Exponential, epsilon, m)
    assert min(used) >= (0.99 if m == 2 else 0.75)
    assert check_selection(PermuteAndFlip, epsilon, m) >= (0.98 if m == 2 else 0.75)


def test_permute_and_flip_cost() -> None:
    """As CGP it costs ε²/2 = 2η², all of it, and would break the η²/2 of the exponential mechanism fourfold."""
    mechanism = PermuteAndFlip(EPSILON)
    distance = 1e-3 * mechanism.scale
    tied, moved = np.zeros(2), distance * np.array([1.0, -1.0])
    p, q = (np.log(mechanism.probabilities(v)) for v in (tied, moved))
    assert 0.99 <= tightness(p, q, EPSILON.as_cgp(), distance) <= 1 + SLACK
    assert tightness(p, q, EPSILON.as_cgp() / 4, distance) > 3.9


def tuple_noise(metric: str) -> list[KNorm | Copies]:
    """The pure mechanisms that release a whole tuple of points of the plane."""
    guarantee = GP(epsilon=0.02, metric=metric)
    if metric == "inf":
        return [KNorm(guarantee, 3, 2), KNorm(guarantee, 1, 2), KNorm(guarantee, 4, 1)]
    return [Copies(Laplace(guarantee, 2), 3, 1)]


def check_tuple_noise(mechanism: KNorm | Copies) -> float:
    """The log-ratio of densities at many outputs and pairs of tuples; returns the largest share of ε that is used."""
    rng = np.random.default_rng(17)
    size = mechanism.size if isinstance(mechanism, KNorm) else mechanism.single.dimension
    worst = 0.0
    for _ in range(2000):
        x = rng.normal(scale=100.0, size=(mechanism.count, size))
        y = x + rng.normal(scale=10.0 ** rng.uniform(-2, 2), size=x.shape) * rng.integers(0, 2, size=(len(x), 1))
        if (x == y).all():
            continue
        z = y + (y - x) * rng.uniform(0, 5) + rng.normal(scale=1e-3, size=x.shape)
        loss = abs(float(mechanism.log_density(z, x)) - float(mechanism.log_density(z, y)))
        worst = max(worst, loss / (float(mechanism.guarantee.budget) * mechanism.guarantee.metric(x, y)))
    assert worst <= 1 + SLACK, (mechanism, worst)
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["inf", "1"])
def test_tuple_noise_is_tight(metric: str) -> None:
    """The K-norm mechanisms of dist_inf and dist_1 use all of ε and no more."""
    for mechanism in tuple_noise(metric):
        assert check_tuple_noise(mechanism) >= 0.99


@pytest.mark.slow
def test_tuple_density_is_normalised() -> None:
    """On two points of a line the density of the K-norm mechanism is normalised."""
    mechanism = KNorm(EPSILON, 2, 1)
    nodes, weights = panels(np.zeros(1), -30 * mechanism.scale, 30 * mechanism.scale, mechanism.scale / 2)
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1)[..., None]
    total_mass = weights @ np.exp(mechanism.log_density(grid, np.zeros((2, 1)))) @ weights
    assert float(total_mass) == pytest.approx(1, abs=1e-4)


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
        # Many visits that are likely to halt, and then an unlikely one: what noise on the threshold is for.
        distance = 0.02 * mechanism.scale
        values = np.append(np.full(60, -3.0), 25.0) * mechanism.scale
        moved = np.append(values[:-1] - distance, values[-1] + distance)
        p, q = (np.log(mechanism.probabilities(v, 0.0)[:61]) for v in (values, moved))
        assert tightness(p, q, guarantee, distance) <= 1 + SLACK


@pytest.mark.slow
@pytest.mark.parametrize("cyclic", [False, True], ids=["finite", "cyclic"])
def test_sparse_vector_is_bounded(cyclic: bool) -> None:
    """The probabilities of every halting position change within the guarantee."""
    check_sparse_vector(cyclic=cyclic)


@pytest.mark.parametrize("split", [0.5, 1 / (1 + 2 ** (2 / 3))])
def test_sparse_vector_is_tight(split: float) -> None:
    """Many visits likely to halt and then one unlikely one come within 1% of ε, so that no noise is wasted."""
    mechanism = SparseVector(EPSILON, split=split)
    distance = 0.02 * mechanism.scale
    values = np.append(np.full(60, -3.0), 25.0) * mechanism.scale
    moved = np.append(values[:-1] - distance, values[-1] + distance)
    p, q = (mechanism.probabilities(v, 0.0)[60] for v in (values, moved))
    assert 0.99 <= math.log(p / q) / (0.02 * distance) <= 1 + SLACK


@pytest.mark.slow
@pytest.mark.parametrize("gamma0", [0.0, 2000.0, -2000.0, -40_000.0])
@pytest.mark.parametrize("k", [1, 2])
def test_neighbour_outcomes_are_bounded(k: int, gamma0: float) -> None:
    """All ordered choices of up to 2 of up to 4 points are enumerated, for both notions, over random tuples."""
    for guarantee in guarantees():
        check_neighbours(k, gamma0, guarantee)


@pytest.mark.parametrize("metric", ["inf", "2", "1"])
@pytest.mark.parametrize("k", [1, 2])
def test_best_neighbours_are_bounded(k: int, metric: str) -> None:
    """The exponential mechanism and permute-and-flip keep their guarantees in every outcome, under every metric."""
    for guarantee in guarantees(metric):
        check_neighbours(k, 0.0, guarantee, method="best")


def check_neighbours(k: int, gamma0: float, guarantee: Guarantee, method: str = "paper") -> None:
    """The guarantee of the whole search, from the probabilities of its rounds."""
    rng = np.random.default_rng(5)
    place = np.zeros(2)
    for trial in range(12):
        n = int(rng.integers(2, 5))
        query = Nearest(n, 2, guarantee, method, p=place, k=k, gamma0=gamma0)
        scale = query.single.scale
        x = rng.normal(scale=scale * (0.3, 2.0, 10.0)[trial % 3], size=(n, 2))
        size = scale * float(10 ** rng.uniform(-2, 0))
        # Points move towards the place or away from it: nothing changes distances more.
        y = x + size * rng.choice([-1.0, 1.0], size=(n, 1)) * x / np.linalg.norm(x, axis=1, keepdims=True)
        p, q = (neighbour_log_probabilities(query.single, np.linalg.norm(v, axis=1), k) for v in (x, y))
        assert np.exp(p).sum() == pytest.approx(1, abs=1e-9)
        assert tightness(p, q, guarantee, guarantee.metric(x, y)) <= 1 + SLACK


@pytest.mark.parametrize("metric", ["inf", "2", "1"])
@pytest.mark.parametrize("notion", [0, 1], ids=["CGP", "GP"])
def test_composed_queries_spend_claims(notion: int, metric: str) -> None:
    """The guarantees of the mechanisms that a composed query ran add up to at most its claim, and to most of it."""
    check_composition(guarantees(metric)[notion])


def check_composition(guarantee: Guarantee) -> None:
    """Nearest with and without places, and hulls of all settings."""
    rng = np.random.default_rng(2)
    x = rng.normal(scale=5000.0, size=(60, 2))
    queries: list[Query] = [
        *(
            Nearest(60, 2, guarantee, method, p=np.zeros(2), k=7, locations=share)
            for method in ("paper", "best")
            for share in (None, 0.3)
        ),
        Points(60, 2, guarantee, "paper"),
        Points(60, 2, guarantee, "best"),
        SupportHull(60, 2, guarantee),
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


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["inf", "2", "1"])
def test_recorded_noise_per_step(metric: str) -> None:
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

    def evaluate(self, x: Floats | Reals) -> Reals:
        return as_reals(np.asarray(np.linalg.norm(as_reals(x).values - 100.0, axis=1).max()))


def test_copies_add_up() -> None:
    """Copies of a mechanism at ε/n each cost at most ε, and nearly all of it."""
    copies = Copies(Laplace(EPSILON / 3, 2), 3)
    assert copies.guarantee <= EPSILON
    assert additive_tightness(copies, np.zeros((3, 2)), np.ones((3, 2)), math.sqrt(2)) == pytest.approx(1, abs=0.01)


@pytest.mark.slow
def test_own_query_constant() -> None:
    """A user's function is answered with noise for its Lipschitz constant."""
    from geoveil import Lipschitz

    own = UserFunction(2, 2, RHO, fn=Lipschitz(lambda x: 3 * x[0], 3.0), numbers=2)
    assert own.mechanism == Gaussian(RHO, 2, 3.0)
    assert check_single_step(own) >= 0.9


@pytest.mark.parametrize("blocks", [1, 7, 1000])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_gaussian_errors_are_quantiles(dimension: int, blocks: int) -> None:
    """The error bound of Gaussian noise is a quantile of the length of a block, or of the longest of several."""
    mechanism = Gaussian(RHO, dimension * blocks)
    for beta in (1e-9, 0.05, 0.9):
        alone = stats.chi(dimension).isf(beta)
        longest = stats.chi(dimension).isf(-math.expm1(math.log1p(-beta) / blocks))
        assert mechanism.error(beta, blocks=blocks, each=True) == pytest.approx(mechanism.scale * alone, rel=1e-11)
        assert mechanism.error(beta, blocks=blocks) == pytest.approx(mechanism.scale * longest, rel=1e-11)
