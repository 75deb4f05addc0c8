"""The exponential mechanism: choose among scores, the smaller the likelier."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.mechanisms.mechanism import Floats, Mechanism, noise_scale, pure_epsilon
from geoveil.noise import Reals, Source, as_reals, settled
from geoveil.privacy import CGP, GP

__all__ = ["Exponential"]


@dataclass(frozen=True)
class Exponential(Mechanism):
    """Choose j with probability ∝ exp(-η·score_j).

    Parameters
    ----------
    guarantee : CGP or GP
        What it promises.
    spread : float
        How far two scores can move apart when the tuple moves by 1 under the guarantee's metric: 2 for scores that are
        1-Lipschitz. If score j depends on point j alone, √2 under dist_2 and 1 under dist_1.

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
        self.scale  # noqa: B018 - refuses what has none

    @cached_property
    def scale(self) -> float:
        """1/η in metres, rounded up: the scale of the Gumbel noise on the scores."""
        numerator = self.spread / 2 if isinstance(self.guarantee, CGP) else self.spread
        return noise_scale(numerator, pure_epsilon(self.guarantee), self.guarantee)

    def sample(self, scores: Floats | Reals, source: Source) -> int:
        """The chosen position: the smallest score after subtracting Gumbel noise."""
        return int(self.sample_several(scores, 1, source)[0])

    def sample_several(self, scores: Floats | Reals, k: int, source: Source) -> NDArray[np.int64]:
        """The positions of k choices one after another without replacement, in their order, from one pass.

        The k smallest scores after subtracting Gumbel noise have exactly the law of k successive choices (Durfee and
        Rogers, 2019), each at the cost of this mechanism.
        """
        known = as_reals(scores)
        noise = source.gumbel(len(known.values))
        noisy = known.values - self.scale * noise.values
        first = np.argpartition(noisy, k)[: k + 1] if k < len(noisy) else np.arange(k)
        first = first[np.argsort(noisy[first])]
        if source.exact:
            rounding = 2.0**-51 * (np.abs(noisy).max() + np.abs(known.values).max())
            bound = 2 * source.widened * float(np.max(known.error) + self.scale * noise.error + rounding)
            # Not so, rather than at most: what is not a number is in doubt.
            if not (np.diff(noisy[first]) > bound).all():
                first = self._settled(noisy, noisy[first[k - 1]] + bound, bound, known, noise, source)
        return first[:k]

    def _settled(
        self, noisy: Floats, last: float, bound: float, scores: Reals, noise: Reals, source: Source
    ) -> NDArray[np.int64]:
        """The order of all that may be among the first, those nearer to each other than the bound put right."""
        near = np.flatnonzero(~(noisy > last))
        near = near[np.argsort(noisy[near])]
        for cluster in np.split(np.arange(len(near)), np.flatnonzero(np.diff(noisy[near]) > bound) + 1):
            if len(cluster) > 1:
                source.refined += len(cluster)
                near[cluster] = settled(partial(self._ordered, near[cluster], scores, noise))
        return near

    def _ordered(self, places: NDArray[np.int64], scores: Reals, noise: Reals, bits: int) -> NDArray[np.int64] | None:
        """Places in the order of their noisy scores, if so many bits tell it."""
        from flint import arb

        balls = [scores.ball(int(j), bits) - arb(self.scale) * noise.ball(int(j), bits) for j in places]
        order = sorted(range(len(places)), key=lambda i: balls[i].mid())
        certain = all(balls[i] < balls[j] for i, j in itertools.pairwise(order))
        return places[order] if certain else None

    def probabilities(self, scores: Floats) -> Floats:
        """The exact probability of each position."""
        weights = np.exp(-(scores - np.min(scores)) / self.scale)
        return np.asarray(weights / weights.sum())

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
