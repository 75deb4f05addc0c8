"""Payoffs that refute a budget: each has a mean of at most 0 if the budget holds, and falls as the budget grows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from geoveil.noise.reals import Floats

__all__ = ["Divergence", "Event", "GaussianGuess", "Guess", "Payoff", "RenyiDivergence"]

#: Largest exponent of a claimed divergence: beyond it nothing is refuted.
_MOST = 300.0


class Payoff(ABC):
    """A gain or loss for each canary, from the ratio of its score and the distance of its two places."""

    @abstractmethod
    def of(self, ratios: Floats, distance: Floats, budget: float) -> Floats:
        """Return the payoffs against a budget. Their mean is at most 0 if the budget holds.

        They grow with the ratio, and fall as the budget grows.
        """

    def least(self, distance: Floats, budget: float) -> float:
        """Return the smallest payoff that is possible: no stake may lose more than the wealth."""
        return float(self.of(np.full(len(distance), -math.inf), distance, budget).min())


@dataclass(frozen=True)
class Divergence(Payoff):
    """Donsker and Varadhan: E_P[g] + 1 - E_Q[e^g] ≤ D_1(P‖Q) ≤ ρd², for the ratio clipped at -low and high.

    Parameters
    ----------
    low, high : float
        The clipping of g.
    shift : float
        What is subtracted from g: close to log E_Q[e^g], at which the bound is that of Donsker and Varadhan.
    """

    low: float
    high: float
    shift: float

    def of(self, ratios: Floats, distance: Floats, budget: float) -> Floats:
        towards = np.clip(ratios, -self.low, self.high) - self.shift
        away = np.clip(-ratios, -self.low, self.high) - self.shift
        payoffs: Floats = towards + 1 - np.exp(away) - budget * distance**2
        return payoffs


@dataclass(frozen=True)
class RenyiDivergence(Payoff):
    """The bound by the Rényi divergence of order α: E_P[e^((α-1)g)] ≤ e^((α-1)ρd²)·E_Q[e^(αg)]^(1-1/α).

    The power is at most 1/α + (1-1/α)·E_Q[e^(αg)]: its tangent, which a shift of g makes tight.
    """

    alpha: float
    low: float
    high: float
    shift: float

    def of(self, ratios: Floats, distance: Floats, budget: float) -> Floats:
        alpha = self.alpha
        towards = np.clip(ratios, -self.low, self.high) - self.shift
        away = np.clip(-ratios, -self.low, self.high) - self.shift
        most = np.exp(np.minimum((alpha - 1) * budget * distance**2, _MOST))
        payoffs: Floats = np.exp((alpha - 1) * towards) - most * (1 / alpha + (1 - 1 / alpha) * np.exp(alpha * away))
        return payoffs


@dataclass(frozen=True)
class Event(Payoff):
    """P(S) ≤ e^(εd)·Q(S) + δ for the event that the ratio is above a threshold."""

    threshold: float
    delta: float = 0.0

    def of(self, ratios: Floats, distance: Floats, budget: float) -> Floats:
        most = np.exp(np.minimum(budget * distance, _MOST))
        payoffs: Floats = (ratios > self.threshold) - most * (-ratios > self.threshold) - self.delta
        return payoffs


@dataclass(frozen=True)
class GaussianGuess(Payoff):
    """A guess under Gaussian noise is right with probability at most Φ(d·√(ρ/2))."""

    def of(self, ratios: Floats, distance: Floats, budget: float) -> Floats:
        from scipy.special import ndtr

        payoffs: Floats = (ratios > 0) - ndtr(distance * math.sqrt(budget / 2))
        return payoffs


@dataclass(frozen=True)
class Guess(Payoff):
    """A guess under any CGP is right with probability at most a, where (2a-1)·log(a/(1-a)) = ρd².

    It tells less than divergences of noise, and more where few trials are all right.
    """

    def of(self, ratios: Floats, distance: Floats, budget: float) -> Floats:
        payoffs: Floats = (ratios > 0) - _most_right(budget * distance**2)
        return payoffs


def _most_right(divergence: Floats) -> Floats:
    """Return the largest chances of a right guess, by bisection for the logit L: L·tanh(L/2) is the divergence."""
    known, which = np.unique(divergence, return_inverse=True)
    low, high = np.zeros_like(known), known + 1 + np.sqrt(2 * known) + 1
    for _ in range(60):
        middle = (low + high) / 2
        less = middle * np.tanh(middle / 2) < known
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    chances: Floats = (1 / (1 + np.exp(-high)))[which]
    return chances
