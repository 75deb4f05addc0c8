"""The exponential mechanism: choose among scores, smaller ones with a higher probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.mechanisms.mechanism import Floats, Mechanism, noise_scale, pure_epsilon
from geoveil.mechanisms.ranking import smallest, smallest_each
from geoveil.mechanisms.segments import Sizes
from geoveil.noise import Reals, Source, as_reals
from geoveil.privacy import CGP, GP

__all__ = ["Exponential"]


@dataclass(frozen=True)
class Exponential(Mechanism):
    """Choose position j with probability ∝ exp(-η·score_j).

    Parameters
    ----------
    guarantee : CGP or GP
        The guarantee of one choice.
    spread : float
        The largest change of the difference of two scores when the tuple moves by 1 under the guarantee's metric: 2
        for scores that are 1-Lipschitz. If score j depends on point j alone, √2 under dist_2 and 1 under dist_1.

    Notes
    -----
    The privacy loss, as a function of j, ranges over an interval of width at most w = spread·ηΔ that contains 0. So
    the mechanism is (spread·η)-GP, and, a loss of range w having D_α ≤ α·w²/8 (Cesar and Rogers, 2021),
    (spread·η)²/8-CGP. Hence η = √(8ρ)/spread for CGP and ε/spread for GP.
    """

    guarantee: CGP | GP
    spread: float = 2.0

    def __post_init__(self) -> None:
        checks.positive("spread", self.spread, remedy="It is 2 for scores that are 1-Lipschitz.")
        self.scale  # noqa: B018 - validates the budget early

    @cached_property
    def scale(self) -> float:
        """1/η in metres, rounded up: the scale of the Gumbel noise on the scores."""
        numerator = self.spread / 2 if isinstance(self.guarantee, CGP) else self.spread
        return noise_scale(numerator, pure_epsilon(self.guarantee), self.guarantee)

    def sample(self, scores: Floats | Reals, source: Source) -> int:
        """Return the chosen position: that of the smallest score after subtracting Gumbel noise."""
        return int(self.sample_several(scores, 1, source)[0])

    def sample_several(self, scores: Floats | Reals, k: int, source: Source) -> NDArray[np.int64]:
        """Return the positions of k successive choices without replacement, in their order, from one pass.

        The k smallest scores after subtracting Gumbel noise have exactly the law of k successive choices (Durfee and
        Rogers, 2019), each at the cost of this mechanism.
        """
        known = as_reals(scores)
        return smallest(known, source.gumbel(len(known)), self.scale, k, source)

    def sample_each(self, scores: Reals, sizes: Sizes, k: int, source: Source) -> NDArray[np.int64]:
        """Return k successive choices without replacement for each of many persons.

        The scores of a person are adjacent. The result is (persons, k) positions within a person's scores.
        """
        return smallest_each(scores, source.gumbel(len(scores)), self.scale, sizes, k, source)

    def probabilities(self, scores: Floats) -> Floats:
        """Return the exact probability of choosing each position."""
        weights = np.exp(-(scores - np.min(scores)) / self.scale)
        return np.asarray(weights / weights.sum())

    def error(self, beta: float = 0.05, *, m: int) -> float:
        """Return the bound on how far the chosen score exceeds the smallest of m scores, with probability 1-β.

        Notes
        -----
        The worst case has m-1 scores tied at t above the best: t = log((m-1)(1-β)/β)/η, exactly.
        """
        checks.beta(beta)
        if m == 1:
            return 0.0
        return self.scale * max(math.log((m - 1) * (1 - beta) / beta), 0.0)
