"""The exponential mechanism: choose among scores, the smaller the likelier."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geoveil import checks
from geoveil.mechanisms.mechanism import LIPSCHITZ_REMEDY, Floats, Mechanism, noise_scale, pure_epsilon
from geoveil.noise import Source, gumbel
from geoveil.privacy import CGP, GP

__all__ = ["Exponential"]


@dataclass(frozen=True)
class Exponential(Mechanism):
    """Choose j with probability ∝ exp(-η·score_j), for scores that are each K-Lipschitz in the tuple.

    Parameters
    ----------
    guarantee : CGP or GP
        What it promises.
    lipschitz : float
        K, of every score, under the guarantee's metric.

    Notes
    -----
    The privacy loss, as a function of j, ranges over an interval of width at most 2ηKΔ that contains 0. So the
    mechanism is 2ηK-GP, and, a loss of range w having D_α ≤ α·w²/8 (Cesar and Rogers, 2021), (ηK)²/2-CGP. Hence
    η = √(2ρ)/K for CGP and ε/(2K) for GP.
    """

    guarantee: CGP | GP
    lipschitz: float = 1.0

    def __post_init__(self) -> None:
        checks.positive("lipschitz", self.lipschitz, remedy=LIPSCHITZ_REMEDY)
        self.scale  # noqa: B018 - refuses what has none

    @cached_property
    def scale(self) -> float:
        """1/η in metres, rounded up: the scale of the Gumbel noise on the scores."""
        factor = 1 if isinstance(self.guarantee, CGP) else 2
        return noise_scale(factor * self.lipschitz, pure_epsilon(self.guarantee), self.guarantee)

    def sample(self, scores: Floats, source: Source) -> int:
        """The chosen position: the smallest score after subtracting Gumbel noise."""
        return int(np.argmin(scores - self.scale * gumbel(source, len(scores))))

    def log_probabilities(self, scores: Floats) -> Floats:
        """The exact log-probability of each position."""
        log_weights = -(scores - np.min(scores)) / self.scale
        return np.asarray(log_weights - np.log(np.exp(log_weights).sum()))

    def error(self, beta: float, *, m: int) -> float:
        """With probability 1-β the chosen score exceeds the smallest of m scores by at most this.

        Notes
        -----
        The worst case has m-1 scores tied at t above the best: t = log((m-1)(1-β)/β)/η, exactly.
        """
        checks.beta(beta)
        if m == 1:
            return 0.0
        return self.scale * max(math.log((m - 1) * (1 - beta) / beta), 0.0)
