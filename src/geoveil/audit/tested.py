"""Ways to bound a budget from ratios: betting on payoffs, counting right guesses, and the two rates of Gaussian noise.

Each is chosen and tuned on the canaries of the search, and then bounds the budget once, on others.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Self

import numpy as np

from geoveil.audit.bounds import (
    BOLDEST,
    epsilon_of_guesses,
    gaussian_rho_of_hits,
    largest_refuted,
    most_wealth,
    rate_limits,
)
from geoveil.audit.canaries import Canaries, Ints
from geoveil.audit.payoffs import Divergence, Event, GaussianGuess, Guess, Payoff, RenyiDivergence
from geoveil.noise.reals import Floats
from geoveil.privacy import CGP, GP

__all__ = ["Scored", "Way", "ways"]

#: Clippings of the ratio that the search tries, from above and from below: a tool without noise needs narrow ones, as
#: no stake may lose all, whatever is released.
_HIGHS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.5, 8.0)
_LOWS = (2.0, 8.0)

#: Rényi orders that the search tries beside 1.
_ORDERS, _RENYI_HIGHS = (1.5, 2.0, 4.0), (1.0, 2.0, 4.0)

#: Canaries that stand for all in a forecast, about.
_FORECAST = 500

#: Stakes that the search tries, as shares of the boldest one.
_STAKES = np.geomspace(1e-2, 1.0, 16)


@dataclass(frozen=True)
class Scored:
    """Canaries, and for each how much more its release speaks for the true place: in logarithms.

    Parameters
    ----------
    canaries : Canaries
        Whose they are.
    ratios : array
        The ratio of each.
    by_run : bool
        Whether a run is one trial, and not a canary.
    weights : array, optional
        How many canaries each stands for, in a forecast.
    """

    canaries: Canaries
    ratios: Floats
    by_run: bool = False
    weights: Floats | None = None

    @property
    def trials(self) -> int:
        """The number of independent trials."""
        return int(self._run.max()) + 1 if self.by_run else len(self.ratios)

    def take(self, persons: Ints) -> Scored:
        """Return some of the canaries."""
        weights = None if self.weights is None else self.weights[persons]
        return Scored(self.canaries.take(persons), self.ratios[persons], self.by_run, weights)

    def forecast(self, trials: float) -> Scored:
        """Return what to expect of so many other trials.

        If a ratio is right, its sign is wrong with the probability that it states: so each counts in part for the
        other sign, and rare losses are foreseen that did not happen here.
        """
        if self.by_run:
            return self
        # Of many canaries, some that are evenly spread over all ratios stand for the others.
        some = np.argsort(np.abs(self.ratios), kind="stable")[:: 1 + len(self.ratios) // _FORECAST]
        sure = np.abs(self.ratios[some])
        wrong = 1 / (1 + np.exp(np.minimum(sure, 50.0)))
        sizes = np.concatenate([1 - wrong, wrong]) * trials / len(some)
        told, twice = self.canaries, np.tile(some, 2)
        nothing = np.zeros((0, 2)), np.zeros(0, dtype=np.int64)
        canaries = Canaries(told.a[twice], told.b[twice], told.at_b[twice], *nothing)
        return Scored(canaries, np.concatenate([sure, -sure]), False, sizes)

    def payoffs(self, payoff: Payoff, budget: float) -> Floats:
        """Return the payoff of each trial: of a canary, or the mean over a run."""
        each = payoff.of(self.ratios, self.canaries.distance, budget)
        if not self.by_run:
            return each
        means: Floats = np.bincount(self._run, each) / np.bincount(self._run)
        return means

    @cached_property
    def _run(self) -> Ints:
        """The run of each canary, counted from 0."""
        found: Ints = np.unique(self.canaries.run, return_inverse=True)[1]
        return found


class Way(ABC):
    """A way to bound a budget from below."""

    @abstractmethod
    def tuned(self, search: Scored, level: float, trials: float) -> tuple[Self, float]:
        """Return this way tuned on a search, and the bound to be expected of so many trials."""

    @abstractmethod
    def bound(self, scored: Scored, level: float) -> float:
        """Return a lower bound on the budget that is too large with probability at most `level`."""

    @abstractmethod
    def estimate(self, scored: Scored) -> float:
        """Return the same without confidence."""


@dataclass(frozen=True)
class Betting(Way):
    """Bet a fixed stake on payoffs that no budget below the true one can explain."""

    payoff: Payoff
    power: int
    stake: float = 0.0

    def tuned(self, search: Scored, level: float, trials: float) -> tuple[Betting, float]:
        best = self.stake
        log_bar = -math.log(level)
        weights = np.full(search.trials, trials / search.trials) if search.weights is None else search.weights

        def grows(budget: float) -> bool:
            nonlocal best
            payoffs = search.payoffs(self.payoff, budget)
            stakes = BOLDEST * _STAKES / -self.payoff.least(search.canaries.distance, budget)
            growth = np.log1p(stakes[:, None] * payoffs) @ weights
            if enough := growth.max() >= log_bar:
                best = float(stakes[np.argmax(growth)])
            return bool(enough)

        expected = largest_refuted(grows, 0.0, self._most(search), steps=14)
        return Betting(self.payoff, self.power, best), expected

    def bound(self, scored: Scored, level: float) -> float:
        bar = -math.log(level)

        def refuted(budget: float) -> bool:
            # A stake that might lose more than the wealth refutes nothing.
            if self.stake * self.payoff.least(scored.canaries.distance, budget) < -1:
                return False
            return most_wealth(scored.payoffs(self.payoff, budget), self.stake) >= bar

        return largest_refuted(refuted, 0.0, self._most(scored))

    def estimate(self, scored: Scored) -> float:
        most = self._most(scored)
        return largest_refuted(lambda budget: bool(scored.payoffs(self.payoff, budget).mean() > 0), 0.0, most)

    def _most(self, scored: Scored) -> float:
        """Return a budget that no payoff refutes."""
        return 50.0 / float(scored.canaries.distance.min()) ** self.power


@dataclass(frozen=True)
class Guessing(Way):
    """Count the right guesses among those with the largest ratios."""

    gaussian: bool
    threshold: float = 0.0

    def tuned(self, search: Scored, level: float, trials: float) -> tuple[Guessing, float]:
        thresholds = [0.0] if self.gaussian else [0.0, *np.quantile(np.abs(search.ratios), np.linspace(0.1, 0.99, 15))]
        tried = [Guessing(self.gaussian, float(threshold)) for threshold in thresholds]
        expected = [way._of(search, level) for way in tried]
        best = int(np.argmax(expected))
        return tried[best], expected[best]

    def bound(self, scored: Scored, level: float) -> float:
        return self._of(scored, level)

    def estimate(self, scored: Scored) -> float:
        return self._of(scored, 0.5)

    def _of(self, scored: Scored, level: float) -> float:
        made = np.full(len(scored.ratios), True) if self.gaussian else np.abs(scored.ratios) > self.threshold
        if not made.any():
            return 0.0
        bounded = gaussian_rho_of_hits if self.gaussian else epsilon_of_guesses
        weights = None if scored.weights is None else scored.weights[made]
        return bounded(scored.ratios[made] > 0, scored.canaries.distance[made], level, weights=weights)


@dataclass(frozen=True)
class GaussianRates(Way):
    """μ ≥ Φ⁻¹(t) - Φ⁻¹(f): the rates at which the ratio is above a threshold at the true place and at the other."""

    threshold: float = 0.0

    def tuned(self, search: Scored, level: float, trials: float) -> tuple[GaussianRates, float]:
        thresholds = np.quantile(search.ratios, np.linspace(0.05, 0.95, 19))
        tried = [GaussianRates(float(threshold)) for threshold in thresholds]
        expected = [way._of(search, level) for way in tried]
        best = int(np.argmax(expected))
        # The best of many thresholds is best by luck in part.
        return tried[best], 0.95 * expected[best]

    def bound(self, scored: Scored, level: float) -> float:
        return self._of(scored, level)

    def estimate(self, scored: Scored) -> float:
        return self._of(scored, 1.0)

    def _of(self, scored: Scored, level: float) -> float:
        from scipy.special import ndtri

        weights = np.ones(len(scored.ratios)) if scored.weights is None else scored.weights
        n = round(float(weights.sum()))
        hits, alarms = (round(float(weights @ (sign * scored.ratios > self.threshold))) for sign in (1, -1))
        least, _ = rate_limits(min(hits, n), n, level / 2)
        _, most = rate_limits(min(alarms, n), n, level / 2)
        if not most < least:
            return 0.0
        # The trade-off is concave and grows with the distance: so it holds for mean rates and the largest distance.
        mu = float(ndtri(least) - ndtri(most))
        return (mu / float(scored.canaries.distance.max())) ** 2 / 2


def ways(guarantee: CGP | GP, search: Scored, *, gaussian: bool) -> list[Way]:
    """Return the ways to bound the budget of a guarantee: all are tuned on the search, and the best is taken."""
    if isinstance(guarantee, GP):
        if guarantee.delta == 0:
            return [Guessing(gaussian=False)]
        thresholds = np.quantile(search.ratios, np.linspace(0.05, 0.95, 19))
        return [Betting(Event(max(float(t), 0.0), float(guarantee.delta)), 1) for t in thresholds]
    found: list[Way] = [Betting(payoff, 2) for payoff in _divergences(search)]
    if search.by_run:
        found.append(Betting(Guess(), 2))
    if gaussian:
        found += [Betting(GaussianGuess(), 2)] if search.by_run else [Guessing(gaussian=True), GaussianRates()]
    return found


def _divergences(search: Scored) -> list[Payoff]:
    """Return divergences with several clippings, each shifted to where it is tight on the search."""
    found: list[Payoff] = []
    for low, high in product(_LOWS, _HIGHS):
        away = np.clip(-search.ratios, -low, high)
        found.append(Divergence(low, high, float(np.log(np.average(np.exp(away), weights=search.weights)))))
        for alpha in _ORDERS if high in _RENYI_HIGHS and low == _LOWS[-1] else ():
            power = float(np.average(np.exp(alpha * away), weights=search.weights))
            found.append(RenyiDivergence(alpha, low, high, math.log(power) / alpha))
    return found
