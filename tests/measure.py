"""The true error of every public question beside its bound, run after run; the tests and benchmarks share it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import shapely
from scipy.spatial.distance import pdist
from scipy.special import bdtr, bdtrc

import geoveil as gv
from tests.cabspotting import Floats
from tests.questions import release_of

__all__ = [
    "BETA",
    "CASES",
    "Case",
    "Measured",
    "first_within_at_worst",
    "measure",
    "measure_at_once",
    "nearest_at_worst",
]

#: The probability for which bounds are asked.
BETA = 0.05
#: The probability with which a check on a bound that holds, or is tight, fails all the same.
FALSE_ALARM = 1e-6

UNION_SQUARE = np.array([552_170.0, 4_182_450.0])
PANHANDLE = np.array([548_000.0, 4_181_000.0])
#: So far from every point that noise cannot make a distance negative.
YOSEMITE = np.array([800_000.0, 4_180_000.0])

_ANGLES = 2 * np.pi * np.arange(720) / 720
_DIRECTIONS = np.array([np.cos(_ANGLES), np.sin(_ANGLES)])


@dataclass(frozen=True)
class Case:
    """A public question in one setting, with its true error.

    Parameters
    ----------
    name : str
        How tables call it.
    ask : callable
        Gives a release about a tuple, drawn by a generator `rng`, and maybe `by` person.
    truth : callable
        What the error is measured against, from the tuple.
    error : callable
        The true error of a released value, given the truth, in metres.
    runs : int
        The number of releases that tells an exact bound from one that is 10% smaller.
    exact : bool
        Whether the bound is the exact quantile of the error, whatever the tuple is.
    few : bool
        Whether a few points show as much as many.
    each : bool
        Whether the bound is for any one of the things released instead of all.
    varies : bool
        Whether the bound differs from release to release.
    """

    name: str
    ask: Callable[..., gv.Release]
    truth: Callable[[Floats], Any]
    error: Callable[[Any, Any], float]
    runs: int
    exact: bool = True
    few: bool = False
    each: bool = False
    varies: bool = False


@dataclass(frozen=True)
class Measured:
    """True errors of many releases, as parts of their bounds.

    Parameters
    ----------
    parts : array
        error / bound, one for each release.
    bound : float
        The median bound, in metres.
    """

    parts: Floats
    bound: float

    @property
    def ratio(self) -> float:
        """How many times the bound is the measured quantile that it stands for."""
        quantile = float(np.quantile(self.parts, 1 - BETA))
        return 1 / quantile if quantile > 0 else math.inf

    def exceeded(self, factor: float = 1.0) -> int:
        """How many errors are above factor times the bound."""
        return int((self.parts > factor * (1 + 1e-12)).sum())

    def fails_too_often(self, factor: float = 1.0) -> bool:
        """Whether factor times the bound is exceeded more often than a bound for β can be by chance."""
        count = self.exceeded(factor)
        return count > 0 and bool(bdtrc(count - 1, len(self.parts), BETA) < FALSE_ALARM)

    def fails_too_rarely(self, factor: float = 1.0) -> bool:
        """Whether factor times the bound is exceeded less often than the exact quantile can be by chance."""
        return bool(bdtr(self.exceeded(factor), len(self.parts), BETA) < FALSE_ALARM)


def measure(question: Case, tuples: Sequence[Floats], runs: int) -> Measured:
    """Ask a question many times, of each tuple in turn, always with the same noise."""
    rng = _generator(question)
    truths = [question.truth(x) for x in tuples]
    errors, bounds = np.empty(runs), np.empty(runs)
    for i in range(runs):
        turn = i % len(tuples)
        release = question.ask(tuples[turn], rng=rng)
        errors[i] = question.error(release.value, truths[turn])
        known = i >= len(tuples) and not question.varies
        bounds[i] = bounds[turn] if known else release.error(BETA, each=question.each)
    return Measured(errors / bounds, float(np.median(bounds)))


def measure_at_once(question: Case, x: Floats, runs: int) -> Measured:
    """The same for a tuple of a few points, as one question about many persons who were all at the same places."""
    rng = _generator(question)
    truth = question.truth(x)
    bound = question.ask(x, rng=rng).error(BETA, each=question.each)
    people = np.repeat(np.arange(runs), len(x))
    values = np.asarray(question.ask(np.tile(x, (runs, 1)), rng=rng, person=people).value)
    errors = [question.error(value, truth) for value in values.reshape(runs, *np.shape(truth))]
    return Measured(np.array(errors) / bound, bound)


def _generator(question: Case) -> np.random.Generator:
    return np.random.default_rng(list(question.name.encode()))


def _distances(x: Floats, p: Floats) -> Floats:
    return np.asarray(np.linalg.norm(x - p, axis=1))


def _shift(value: Floats, truth: Floats) -> float:
    return float(np.linalg.norm(value - truth))


def _largest_shift(value: Floats, truth: Floats) -> float:
    return float(_distances(value, truth).max())


def _first_shift(value: Floats, truth: Floats) -> float:
    return _shift(value[0], truth[0])


def _largest_difference(value: Floats, truth: Floats) -> float:
    return float(np.abs(value - truth).max())


def _first_difference(value: Floats, truth: Floats) -> float:
    return float(abs(value[0] - truth[0]))


def _difference(value: float, truth: float) -> float:
    return abs(value - truth)


def _excess(found: Any, distances: Floats) -> float:
    """How much farther the j-th found is than the true j-th nearest, for the worst j."""
    nearest = np.partition(distances, np.arange(len(found)))[: len(found)]
    return float((distances[found] - nearest).max())


def _support(vertices: Floats) -> Floats:
    return np.asarray((vertices @ _DIRECTIONS).max(axis=0))


def _hausdorff(body: Any, support: Floats) -> float:
    """The Hausdorff distance of convex bodies is the largest difference of their support functions."""
    return _largest_difference(_support(shapely.get_coordinates(body)), support)


def _broken_promise(found: Any, distances: Floats, *, radius: float = 500.0) -> float:
    """By how much the point found is too far, or an earlier one was too near to be passed."""
    passed = distances if found is None else distances[:found]
    too_near = radius - passed.min() if len(passed) else 0.0
    too_far = 0.0 if found is None else distances[found] - radius
    return float(max(too_near, too_far, 0.0))


def _middle(x: Floats) -> Floats:
    return np.asarray((x.min(axis=0) + x.max(axis=0)) / 2)


def _mean(x: Floats) -> Floats:
    return np.asarray(x.mean(axis=0))


def _median(x: Floats) -> Floats:
    return np.asarray(np.median(x, axis=0))


def _ends(x: Floats) -> Floats:
    return np.concatenate([x.min(axis=0), x.max(axis=0)])


def _enclosing_radius(x: Floats) -> float:
    return float(shapely.minimum_bounding_radius(shapely.MultiPoint(x)))


def _spread(x: Floats) -> float:
    return float(np.sqrt(((x - x.mean(axis=0)) ** 2).sum(axis=1).mean()))


def _diameter(x: Floats) -> float:
    return float(pdist(shapely.get_coordinates(shapely.MultiPoint(x).convex_hull)).max())


def _asked(question: str, *args: Any, **how: Any) -> Callable[..., gv.Release]:
    return lambda x, **more: release_of(question, x, *args, **how, **more)


def _cases() -> Iterator[Case]:
    budget: dict[str, Any]
    # The heavier the tail of the noise, the more releases it takes.
    for label, budget, runs in (("ρ = 5e-5", {"rho": 5e-5}, 10_000), ("ε = 0.0722", {"epsilon": 0.0722}, 20_000)):
        for metric in ("inf", "2", "1"):
            name, ask = f"point, {label}, dist_{metric}", _asked("points", metric=metric, **budget)
            yield Case(f"every {name}", ask, np.asarray, _largest_shift, 1000)
            yield Case(f"any one {name}", ask, np.asarray, _first_shift, runs, few=True, each=True)
        for place, truth in (("center", _middle), ("mean", _mean), ("median", _median)):
            yield Case(f"{place}, {label}", _asked(place, **budget), truth, _shift, runs, few=True)
        name, ask = f"bounds, {label}", _asked("bounds", **budget)
        yield Case(name, ask, _ends, _largest_difference, runs, few=True)
        yield Case(f"any one end of {name}", ask, _ends, _first_difference, runs, few=True, each=True)
        lengths = (("radius", _enclosing_radius), ("radius_of_gyration", _spread), ("diameter", _diameter))
        for length, true_length in lengths:
            name, ask = f"{length}, {label}", _asked(length, **budget)
            yield Case(name, ask, true_length, _difference, runs, few=True)
        name, ask = f"distance, {label}", _asked("distance", YOSEMITE, **budget)
        yield Case(name, ask, lambda x: _distances(x, YOSEMITE).min(), _difference, runs, few=True)

    # Budgets at which the bounds say something about a city.
    budgets: tuple[tuple[str, dict[str, Any]], ...] = (("ρ = 1e-2", {"rho": 1e-2}), ("ε = 1", {"epsilon": 1.0}))
    for label, budget in budgets:
        for gamma0 in (0.0, -300.0):
            name = f"paper's nearest, k = 10, γ0 = {gamma0:g} m, {label}"
            ask = partial(gv.paper.nearest, p=UNION_SQUARE, k=10, gamma0=gamma0, **budget)
            yield Case(name, ask, lambda x: _distances(x, UNION_SQUARE), _excess, 500, exact=False)
        for k in (10, 100):
            name, ask = f"nearest, k = {k}, {label}", _asked("nearest", UNION_SQUARE, k=k, **budget)
            yield Case(name, ask, lambda x: _distances(x, UNION_SQUARE), _excess, 500, exact=False)
    authors: dict[str, Any] = {"k": "authors", "share": 0.92, "distinct": True}
    budgets = (("ρ = 1e-3", {"rho": 1e-3}), ("ε = 0.228", {"epsilon": 0.228}))
    for label, budget in budgets:
        for name, settings in ((f"paper's hull, {label}", {}), (f"hull as the authors ran it, {label}", authors)):
            ask = partial(gv.paper.hull, **settings, **budget)
            yield Case(name, ask, _support, _hausdorff, 120, exact=False, varies=True)
    for rho in (5e-8, 9e-7, 5e-5, 5e-4, 1e-2, 1.0):
        yield Case(f"hull, ρ = {rho:g}", _asked("hull", rho=rho), _support, _hausdorff, 120, exact=False, varies=True)
    for epsilon in (0.00228, 0.0722, 0.228):
        name, ask = f"hull, ε = {epsilon:g}", _asked("hull", epsilon=epsilon)
        yield Case(name, ask, _support, _hausdorff, 120, exact=False, varies=True)
    for label, budget in (("ρ = 1e-4", {"rho": 1e-4}), ("ε = 0.0228", {"epsilon": 0.0228})):
        name, ask = f"first_within 500 m, {label}", _asked("first_within", PANHANDLE, radius=500.0, **budget)
        yield Case(name, ask, lambda x: _distances(x, PANHANDLE), _broken_promise, 500, exact=False)


#: Every public question, under both guarantees and in several settings.
CASES = {question.name: question for question in _cases()}


def nearest_at_worst(n: int, runs: int, *, factor: float = 1.0, **budget: Any) -> Measured:
    """One nearest neighbour of the tuple that is worst for it: all points but the last a hair beyond the bound.

    With a factor they lie, and errors are counted, that many times as far.
    """
    rng = np.random.default_rng(n)
    x = np.zeros((n, 2))
    bound = release_of("nearest", x, (0, 0), rng=rng, k=1, **budget).error(BETA)
    x[:-1, 0] = factor * bound * (1 + 1e-9)
    found = np.array([release_of("nearest", x, (0, 0), rng=rng, k=1, **budget).value[0] for _ in range(runs)])
    return Measured(x[found, 0] / bound, bound)


def first_within_at_worst(n: int, runs: int, *, factor: float = 1.0, **budget: Any) -> Measured:
    """The first visit on the tuple that is worst for it: all points but the last too far, that one too near."""
    rng = np.random.default_rng(n)
    x = np.zeros((n, 2))
    radius = 1e6
    bound = release_of("first_within", x, (0, 0), rng=rng, radius=radius, **budget).error(BETA)
    miss = factor * bound * (1 + 1e-9)
    x[:, 0] = radius + miss
    x[-1, 0] = radius - miss
    found = [release_of("first_within", x, (0, 0), rng=rng, radius=radius, **budget).value for _ in range(runs)]
    wrong = np.array([position is None or position < n - 1 for position in found])
    return Measured(wrong * miss / bound, bound)
