"""Every sampler follows its exact density or probabilities, and a scale that is off is noticed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy import stats

from geoveil.mechanisms import (
    Additive,
    Copies,
    Draws,
    Exponential,
    Gaussian,
    KNorm,
    Laplace,
    NearestNeighbour,
    PermuteAndFlip,
    SparseVector,
    Walk,
    sample_people,
    sample_rows,
)
from geoveil.mechanisms.sparse_vector import halting_probabilities
from geoveil.noise import Entropy, Experiment, Reals, Source, as_reals, gamma, laplace, source_of
from geoveil.privacy import CGP, GP
from geoveil.queries.identity import Points
from tests.oracle import Floats

pytestmark = [pytest.mark.deep, pytest.mark.slow, pytest.mark.statistical]

RHO, EPSILON = CGP(rho=1e-4), GP(epsilon=0.02)
#: With fixed seeds a test either always passes or never; this is how likely a right sampler was to get a bad seed.
FALSE_ALARM = 1e-6
DRAWS = 300_000


@dataclass(frozen=True)
class Trials:
    """How many choices a test draws one by one, and how far the scale is off that they tell from the right one."""

    draws: int
    off: float


#: Enough to reject a scale that is 25% off as surely as the right one is accepted.
FEW = Trials(5_000, 1.25)
#: The same for 10%, in more time.
MANY = Trials(40_000, 1.1)
TRIALS = pytest.mark.parametrize("trials", [FEW, pytest.param(MANY, marks=pytest.mark.long)], ids=["few", "many"])


@pytest.fixture(params=["numpy", "entropy"])
def source(request: pytest.FixtureRequest) -> Source:
    """The numpy path, and the operating system's with its bytes replaced by repeatable ones; new for every test."""
    if request.param == "numpy":
        return Experiment(np.random.default_rng(1))
    return Entropy(read=np.random.default_rng(2).bytes)


def fits(sample: Floats, cdf: Callable[[Floats], Floats]) -> bool:
    """Whether a sample passes the Kolmogorov-Smirnov test."""
    return bool(stats.kstest(sample, cdf).pvalue > FALSE_ALARM)


@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (lambda source: source.uniform(DRAWS), stats.uniform()),
        (lambda source: source.normal(DRAWS), stats.norm()),
        (lambda source: source.exponential(DRAWS), stats.expon()),
        (lambda source: laplace(source, DRAWS), stats.laplace()),
        (lambda source: source.gumbel(DRAWS), stats.gumbel_r()),
        (lambda source: gamma(source, np.full(DRAWS, 2)), stats.gamma(2)),
        (lambda source: gamma(source, np.tile([1, 5], DRAWS // 2))[np.arange(1, DRAWS, 2)], stats.gamma(5)),
    ],
    ids=["uniform", "normal", "exponential", "laplace", "gumbel", "gamma", "mixed gamma"],
)
def test_basic_variables(source: Source, draw: Callable[[Source], Reals], law: stats.rv_continuous) -> None:
    """Each variable passes a goodness-of-fit test that rejects the same variable stretched by 5%."""
    sample = draw(source).values
    assert fits(sample, law.cdf)
    assert not fits(1.05 * sample, law.cdf)


def length_cdf(mechanism: Additive) -> Callable[[Floats], Floats]:
    """The exact distribution of the noise's length, from the densities of the theorems."""
    d, scale = mechanism.dimension, mechanism.scale
    if isinstance(mechanism, Gaussian):
        return stats.chi(d, scale=scale).cdf  # type: ignore[no-any-return]
    return stats.gamma(d, scale=scale).cdf  # type: ignore[no-any-return]


def draw(mechanism: Additive, source: Source | None = None) -> Floats:
    """Many releases of the value 0; exact unless a source is given, from repeatable bytes."""
    source = source or Entropy(np.random.default_rng(4).bytes)
    # On the line it takes more draws to notice a scale that is 5% off.
    sizes = np.full(100_000 if mechanism.dimension == 1 else 40_000, mechanism.dimension)
    rows = np.zeros((sizes.sum(), 1))
    noise = sample_people([mechanism] * len(sizes), sizes, rows, source)
    return noise.reshape(len(sizes), -1)


def check_additive_sampler(mechanism: Additive, noise: Floats | None = None) -> None:
    """Length, direction and independence of the noise."""
    noise = draw(mechanism) if noise is None else noise
    d = mechanism.dimension
    lengths = np.linalg.norm(noise, axis=1)
    assert fits(lengths, length_cdf(mechanism))
    if d == 1:
        assert abs((noise > 0).mean() - 0.5) < 5 * 0.5 / math.sqrt(len(noise))
        return
    # Noise that is rounded to 0 has no direction.
    noise, lengths = noise[lengths > 0], lengths[lengths > 0]
    # The square of a coordinate of a uniform direction is Beta(1/2, (d-1)/2); so is that along any other axis.
    for axis in (np.eye(d)[0], np.ones(d) / math.sqrt(d), np.array([(-1) ** j for j in range(d)]) / math.sqrt(d)):
        share = (noise @ axis / lengths) ** 2
        assert fits(share, stats.beta(0.5, (d - 1) / 2).cdf)
        assert abs((noise @ axis > 0).mean() - 0.5) < 5 * 0.5 / math.sqrt(len(noise))
    assert fits(lengths[noise[:, 0] > 0], length_cdf(mechanism))


ADDITIVE = [
    Gaussian(RHO, 1, 2.0),
    Gaussian(RHO, 3),
    Laplace(EPSILON, 1),
    Laplace(EPSILON, 2, 2.0),
    Laplace(EPSILON, 5),
]


@pytest.mark.parametrize("mechanism", ADDITIVE, ids=lambda m: f"{type(m).__name__} {m.dimension}")
def test_additive_noise_density(mechanism: Additive, source: Source) -> None:
    """Lengths, directions and quantiles follow the theorem's law; noise stretched or shrunk by 5% is noticed."""
    noise = draw(mechanism, source)
    check_additive_sampler(mechanism, noise)
    for stretch in (1.05, 0.95):
        assert not fits(stretch * np.linalg.norm(noise, axis=1), length_cdf(mechanism))
    d = mechanism.dimension
    for beta in (0.5, 0.05, 0.001):
        for blocks, lengths in ((1, np.linalg.norm(noise, axis=1)), (d, np.abs(noise).max(axis=1))):
            exceeded = int((lengths > mechanism.error(beta, blocks=blocks)).sum())
            assert stats.binomtest(exceeded, len(noise), beta).pvalue > FALSE_ALARM
        exceeded = int((np.abs(noise[:, 0]) > mechanism.error(beta, blocks=d, each=True)).sum())
        assert stats.binomtest(exceeded, len(noise), beta).pvalue > FALSE_ALARM


def check_rows_are_independent(noise: Floats) -> None:
    """No row or column of the noise repeats or correlates with another, in value or in size."""
    assert len(np.unique(noise, axis=0)) > 0.999 * len(noise)
    for values in (noise, np.abs(noise)):
        correlation = np.corrcoef(values.T)
        bound = 5.5 / math.sqrt(len(noise))
        assert np.abs(correlation - np.diag(np.diag(correlation))).max() < bound
        assert abs(np.corrcoef(values[:-1].ravel(), values[1:].ravel())[0, 1]) < bound


@pytest.mark.parametrize("guarantee", [RHO, EPSILON], ids=["CGP", "GP"])
def test_rows_have_own_noise(guarantee: CGP | GP) -> None:
    """Under CGP rows and coordinates are independent; under GP rows are."""
    n = 50_000
    for source in (Experiment(np.random.default_rng(5)), source_of(None)):
        noise = Points(n, 2, guarantee, "paper").ask(np.zeros((n, 2)), source).value
        if guarantee == RHO:
            check_rows_are_independent(noise)
        else:
            check_rows_are_independent(np.linalg.norm(noise, axis=1).reshape(-1, 2))


@pytest.mark.parametrize(
    "guarantee", [RHO, EPSILON, GP(epsilon=0.02, metric="2")], ids=["Gaussian", "copies", "one vector"]
)
def test_people_have_own_noise(guarantee: CGP | GP) -> None:
    """Noise for many people at once has each person's law, as if they had been asked one by one."""
    sizes = np.tile([1, 3], 40_000)
    mechanisms = [Points(n, 2, guarantee, "paper").mechanism for n in (1, 3)] * 40_000
    noise = sample_people(mechanisms, sizes, np.zeros((sizes.sum(), 2)), Experiment(np.random.default_rng(6)))
    for n, rows in ((1, noise[::4]), (3, np.delete(noise, np.s_[::4], axis=0))):
        mechanism = Points(n, 2, guarantee, "paper").mechanism
        if isinstance(mechanism, Copies):
            lengths, law = np.linalg.norm(rows, axis=1), length_cdf(mechanism.single)
        else:
            lengths, law = np.linalg.norm(rows.reshape(-1, 2 * n), axis=1), length_cdf(mechanism)
        assert fits(lengths, law)
        assert not fits(1.05 * lengths, law)


def fits_counts(counts: Floats, probabilities: Floats) -> bool:
    """Whether counts of outcomes pass the chi-square test."""
    return bool(stats.chisquare(counts, probabilities / probabilities.sum() * counts.sum()).pvalue > FALSE_ALARM)


def missed(draws: float, law: Floats, wrong: Floats) -> float:
    """Return how often draws from a law pass the chi-square test of a wrong one."""
    expected, degrees = wrong / wrong.sum(), len(wrong) - 1
    distance = draws * float(((law / law.sum() - expected) ** 2 / expected).sum())
    return float(stats.ncx2.cdf(stats.chi2.isf(FALSE_ALARM, degrees), degrees, distance))


def check_counts(counts: Floats, law: Floats, wrong: Floats) -> None:
    """Counts follow a law and not a wrong one, and are enough to tell the two apart whatever the stream."""
    assert missed(counts.sum(), law, wrong) < 1e-9
    assert fits_counts(counts, law)
    assert not fits_counts(counts, wrong)


def counts_of(sample: Callable[[Source], int | None], outcomes: int, draws: int) -> Iterator[Floats]:
    """How often each outcome comes, by plain and by exact noise, which take other ways; None is the last."""
    for source in (Experiment(np.random.default_rng(8)), Entropy(read=np.random.default_rng(18).bytes)):
        found = [sample(source) for _ in range(draws)]
        yield np.bincount([outcomes - 1 if j is None else j for j in found], minlength=outcomes).astype(float)


@TRIALS
def test_exponential_mechanism_law(trials: Trials) -> None:
    """Choices come as often as they should, and not as often as with a scale that is off."""
    mechanism = Exponential(RHO)
    scores = mechanism.scale * np.array([0.0, 1.0, 2.5, 4.0])
    for counts in counts_of(lambda source: mechanism.sample(scores, source), 4, trials.draws):
        check_counts(counts, mechanism.probabilities(scores), mechanism.probabilities(trials.off * scores))


def check_sparse_vector_sampler(trials: Trials = FEW, *, cyclic: bool) -> None:
    """Counts against probabilities, and against those of a scale that is off."""
    mechanism = SparseVector(RHO, cyclic=cyclic)
    # Ten equal values show the threshold's noise most clearly: without it the positions are geometric.
    values = mechanism.scale * (np.array([3.0, 4.0, 2.0, 6.0]) if cyclic else np.ones(10))
    outcomes = len(values) + (not cyclic)
    for counts in counts_of(lambda source: mechanism.sample(values, 0.0, source), outcomes, trials.draws):
        check_counts(counts, mechanism.probabilities(values, 0.0), mechanism.probabilities(trials.off * values, 0.0))


@TRIALS
@pytest.mark.parametrize("cyclic", [False, True], ids=["finite", "cyclic"])
def test_sparse_vector_law(trials: Trials, cyclic: bool) -> None:
    """Walks halt where they should, as often as they should."""
    check_sparse_vector_sampler(trials, cyclic=cyclic)


def check_neighbour_sampler(
    gamma0: float, trials: Trials = FEW, scores: Sequence[float] = (7.0, 0.0, 5.0, 9.0)
) -> None:
    """Counts against probabilities, and against those of a scale that is off."""
    mechanism = NearestNeighbour(RHO, gamma0 * NearestNeighbour(RHO).scale)
    values = mechanism.scale * np.array(scores)
    walk = Walk(values, 2 * mechanism.scale)
    for counts in counts_of(lambda source: mechanism.visit(walk, source), len(values), trials.draws):
        check_counts(counts, mechanism.probabilities(values), mechanism.probabilities(trials.off * values))


@TRIALS
@pytest.mark.parametrize("gamma0", [0.0, -6.0, 3.0])
def test_nearest_neighbour_law(trials: Trials, gamma0: float) -> None:
    """Neighbours come as often as they should, for every γ0."""
    check_neighbour_sampler(gamma0, trials)


class Given(Source):
    """A source that gives chosen values, as if they were plain numbers or exact ones: walks take other ways."""

    def __init__(self, *, exponential: float = 0.0, uniform: float = 0.0, exact: bool = False) -> None:
        self._exponential, self._uniform = exponential, uniform
        self.inexact = "" if exact else "chosen"

    def uniform(self, count: int) -> Reals:
        return as_reals(np.full(count, self._uniform))

    def exponential(self, count: int) -> Reals:
        return as_reals(np.full(count, self._exponential))

    def gumbel(self, count: int) -> Reals:
        raise AssertionError("a walk draws uniform and exponential variables")

    normal = octets = gumbel  # type: ignore[assignment]


@pytest.mark.parametrize("exact", [False, True], ids=["plain", "exact"])
@pytest.mark.parametrize("threshold", [-1e5, -60.0, -30.0, -9.0, -3.0, 0.0, 2.0, 30.0, 1e4])
def test_walk_inverts_its_law(threshold: float, exact: bool) -> None:
    """For chosen random variables the walk gives the position that inverts its exact law, whatever the threshold."""
    values = np.random.default_rng(9).uniform(0, 20, size=5000)
    walk = Walk(values, 1.0)
    removed = np.argsort(values)[:40]
    for j in removed:
        walk.remove(int(j))
    values[removed] = np.inf
    law = halting_probabilities(values, np.array([threshold]), 1.0, cyclic=False)[0]
    cyclic_law = np.cumsum(law[:-1] / law[:-1].sum()) if law[:-1].sum() > 0 else None
    for u in np.linspace(0.001, 0.999, 41):
        found = walk.halt(as_reals(np.array(threshold)), Given(exponential=-math.log1p(-u), exact=exact), cyclic=False)
        expected = int(np.searchsorted(np.cumsum(law), u, side="right"))
        assert found == (expected if expected < 5000 else None)
        if cyclic_law is not None:
            found = walk.halt(
                as_reals(np.array(threshold)), Given(exponential=1e9, uniform=float(u), exact=exact), cyclic=True
            )
            expected = int(np.searchsorted(cyclic_law, u, side="right"))
            assert found == expected or threshold > 20  # a walk below the threshold cannot survive a pass
        assert found not in set(removed)


def test_far_walk_is_exponential() -> None:
    """As γ0 tends to -∞ the law tends to that of the exponential mechanism, with no loss of precision."""
    values = np.array([0.0, 1.0, 2.0, 50.0])
    weights = np.exp(-values)
    for threshold in (-50.0, -1e3, -1e6):
        walk = Walk(values, 1.0)
        found = [
            walk.halt(as_reals(np.array(threshold)), Given(uniform=u), cyclic=True)
            for u in np.linspace(0.0005, 0.9995, 1000)
        ]
        assert [found.count(j) for j in range(4)] == pytest.approx(1000 * weights / weights.sum(), abs=1)


def test_system_entropy_never_repeats() -> None:
    """Two sources without a generator give different noise."""
    assert (source_of(None).normal(10).values != source_of(None).normal(10).values).all()


def test_underflowing_probabilities() -> None:
    """Where every halting probability underflows, the law is still there."""
    far = NearestNeighbour(RHO, -1e6)
    values = far.scale * np.array([1.0, 2.0, 3.0])
    expected = np.exp(-values / (2 * far.scale))
    assert far.probabilities(values) == pytest.approx(expected / expected.sum(), rel=1e-9)


def check_permute_and_flip_sampler(trials: Trials = FEW) -> None:
    """Counts against probabilities, and against those of a scale that is off."""
    mechanism = PermuteAndFlip(EPSILON)
    scores = mechanism.scale * np.array([2.5, 0.0, 1.0, 4.0])
    for counts in counts_of(lambda source: mechanism.sample(scores, source), 4, trials.draws):
        check_counts(counts, mechanism.probabilities(scores), mechanism.probabilities(trials.off * scores))


@TRIALS
def test_permute_and_flip_law(trials: Trials) -> None:
    """Choices come as often as they should."""
    check_permute_and_flip_sampler(trials)


@cache
def legendre(count: int) -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss-Legendre quadrature on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


@pytest.mark.parametrize("height", [0.0, 3.0, 7.0, 9.0])
def test_permute_and_flip_many(height: float, source: Source) -> None:
    """Most of 3000 scores are looked at only if they may win; each group wins as often as it should."""
    scores = np.concatenate([np.full(290, 6.0), [0.0], np.full(2709, height + 0.5)])
    draws = Draws(scores, 1.0)
    found = np.array([draws.choose(source) for _ in range(4_000)])
    counts = np.bincount(np.digitize(found, [290, 291]), minlength=3).astype(float)
    q = np.exp(-np.array([6.0, 0.0, height + 0.5]) + min(height + 0.5, 0.0))
    v, weights = legendre(1600)
    sizes = np.array([290, 1, 2709])
    survive = np.prod([(1 - v * a) ** b for a, b in zip(q, sizes, strict=True)], axis=0)
    law = np.array([size * a * float(weights @ (survive / (1 - v * a))) for a, size in zip(q, sizes, strict=True)])
    assert law.sum() == pytest.approx(1, abs=1e-9)
    assert fits_counts(counts[law > 1e-6], law[law > 1e-6])
    rest = found[found > 290]
    if len(rest) > 1000:  # within a group everyone is alike
        assert fits((rest - 291 + 0.5) / 2709, stats.uniform().cdf)


def test_draws_without_replacement(source: Source) -> None:
    """Each choice is made among those that are left, as if the search had begun anew."""
    mechanism = PermuteAndFlip(EPSILON)
    scores = mechanism.scale * np.array([1.0, 0.0, 2.0])
    pairs = np.zeros((3, 3))
    for _ in range(5_000):
        draws = Draws(scores, mechanism.scale)
        pairs[draws.choose(source, remove=True), draws.choose(source, remove=True)] += 1
    check_pairs(pairs, mechanism, scores)


def test_one_gumbel_pass() -> None:
    """The ordered pairs of one pass come as often as those of two successive choices."""
    mechanism = Exponential(RHO)
    scores = mechanism.scale * np.array([1.0, 0.0, 2.0])
    source = Experiment(np.random.default_rng(14))
    pairs = np.zeros((3, 3))
    for _ in range(10_000):
        pairs[tuple(mechanism.sample_several(scores, 2, source))] += 1
    check_pairs(pairs, mechanism, scores)


def check_pairs(pairs: Floats, mechanism: Exponential | PermuteAndFlip, scores: Floats) -> None:
    """Counts of ordered pairs against the product of the probabilities of their rounds."""
    law = np.zeros_like(pairs)
    for first in range(len(scores)):
        left = [j for j in range(len(scores)) if j != first]
        law[first, left] = mechanism.probabilities(scores)[first] * mechanism.probabilities(scores[left])
    assert pairs[law == 0].sum() == 0
    assert fits_counts(pairs[law > 0], law[law > 0])


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
@pytest.mark.parametrize("m", [2, 3, 50])
def test_tied_error_is_exact(kind: type[Exponential] | type[PermuteAndFlip], m: int) -> None:
    """With m-1 scores tied at error(β) above the best, the best is missed with probability β."""
    mechanism = kind(EPSILON)
    for beta in (0.3, 0.05, 1e-3):
        scores = np.append(0.0, np.full(m - 1, mechanism.error(beta, m=m)))
        assert 1 - mechanism.probabilities(scores)[0] == pytest.approx(beta, rel=1e-6)


def check_tuple_sampler(mechanism: KNorm, source: Source) -> None:
    """The longest length is Gamma(nd), one length r times a Beta variable, directions are uniform."""
    sizes = np.full(20_000, mechanism.count)
    rows = np.zeros((sizes.sum(), mechanism.size))
    noise = sample_people([mechanism] * len(sizes), sizes, rows, source).reshape(-1, *rows[: mechanism.count].shape)
    lengths = np.linalg.norm(noise, axis=2)
    law = stats.gamma(mechanism.dimension, scale=mechanism.scale).cdf
    assert fits(lengths.max(axis=1), law)
    assert not fits(1.05 * lengths.max(axis=1), law)
    for beta in (0.5, 0.05):
        exceeded = int((lengths[:, 0] > mechanism.error(beta, blocks=mechanism.count, each=True)).sum())
        assert stats.binomtest(exceeded, len(noise), beta).pvalue > FALSE_ALARM
    assert fits((noise[:, 0, 0] / lengths[:, 0]) ** 2, stats.beta(0.5, (mechanism.size - 1) / 2).cdf)
    assert stats.spearmanr(noise[:, 0, 0] * noise[:, 1, 0], lengths[:, 2]).pvalue > FALSE_ALARM


def test_tuple_noise_density(source: Source) -> None:
    """The K-norm mechanism of dist_inf, by both sources of randomness."""
    check_tuple_sampler(KNorm(EPSILON, 3, 2), source)


@pytest.mark.parametrize("gap", [40.0, 60.0, 83.0, 90.0, 99.0, 101.0, 700.0, 5000.0])
def test_walk_after_removal(gap: float) -> None:
    """However far from the values left the one was that is taken out, walks below them halt where they should."""
    values = np.append(0.0, gap + np.arange(6.0))
    for below in (-60.0, -8.0, 2.0):
        walk = Walk(values, 1.0)
        walk.remove(0)
        law = halting_probabilities(values[1:], np.array([gap + below]), 1.0, cyclic=True)[0]
        threshold = as_reals(np.array(gap + below))
        for source in (Experiment(np.random.default_rng(16)), Entropy(np.random.default_rng(17).bytes)):
            found = np.array([walk.halt(threshold, source, cyclic=True) for _ in range(1000)], dtype=int)
            assert stats.chisquare(np.bincount(found, minlength=7)[1:], 1000 * law / law.sum()).pvalue > FALSE_ALARM


def test_empty_parts_draw_nothing() -> None:
    """A part of a file of which thinning leaves no row draws nothing."""
    found = sample_rows([], np.array([], dtype=np.int64), np.empty((0, 2)), Experiment(np.random.default_rng(1)))
    assert found.shape == (0, 2)
