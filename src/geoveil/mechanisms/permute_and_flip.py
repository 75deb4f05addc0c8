"""Permute-and-flip: the pure mechanism for choosing among scores, the smaller the likelier."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geoveil import checks
from geoveil.errors import IncompatibleGuarantees
from geoveil.mechanisms.mechanism import Floats, Mechanism, noise_scale
from geoveil.noise import Source
from geoveil.privacy import GP

__all__ = ["Draws", "PermuteAndFlip"]


@dataclass(frozen=True)
class PermuteAndFlip(Mechanism):
    """Choose argmin_j(score_j - E_j), E_j exponential of mean 1/η.

    Parameters
    ----------
    guarantee : GP
        What it promises; pure.
    spread : float
        How far two scores can move apart when the tuple moves by 1 under the guarantee's metric.

    Notes
    -----
    ε-GP for η = ε/spread, and never worse than the exponential mechanism (McKenna and Sheldon, 2020). Its privacy loss
    is not of bounded range: as CGP it costs ε²/2, four times what the exponential mechanism of the same η does, so it
    takes no CGP guarantee.
    """

    guarantee: GP
    spread: float = 2.0

    def __post_init__(self) -> None:
        checks.positive("spread", self.spread, remedy="It is 2 for scores that are 1-Lipschitz.")
        if not isinstance(self.guarantee, GP) or not self.guarantee.pure:
            raise IncompatibleGuarantees(f"{self.guarantee!r} is not pure GP; permute-and-flip promises nothing else.")
        self.scale  # noqa: B018 - refuses what has none

    @cached_property
    def scale(self) -> float:
        """1/η in metres, rounded up."""
        return noise_scale(self.spread, self.guarantee.epsilon, self.guarantee)

    def sample(self, scores: Floats, source: Source) -> int:
        """The chosen position."""
        return Draws(scores, self.scale).choose(source)

    def probabilities(self, scores: Floats) -> Floats:
        """The exact probability of each position.

        With q_j = exp(-η(score_j - best)), P(j) = q_j·∫₀¹ Π_{i≠j}(1 - v·q_i) dv: a polynomial of degree m-1, which
        Gauss-Legendre quadrature integrates exactly.
        """
        q = np.exp(-(scores - np.min(scores)) / self.scale)
        nodes, weights = np.polynomial.legendre.leggauss(len(scores) // 2 + 1)
        factors = 1 - (nodes[:, None] + 1) / 2 * q
        others = np.stack([np.delete(factors, j, axis=1).prod(axis=1) for j in range(len(q))], axis=1)
        return np.asarray(q * (weights / 2 @ others))

    def error(self, beta: float, *, m: int) -> float:
        """With probability 1-β the chosen score exceeds the smallest of m scores by at most this.

        Notes
        -----
        The worst case has m-1 scores tied at t above the best, which is chosen with probability
        (1-(1-q)^m)/(mq), q = exp(-ηt).
        """
        from scipy.optimize import brentq

        checks.beta(beta)
        if beta >= 1 - 1 / m:
            return 0.0

        def missed(width: float) -> float:
            q = np.exp(-width)
            return float(1 + np.expm1(m * np.log1p(-q)) / (m * q)) - beta

        # The best is missed with probability at most mq/2.
        return self.scale * float(brentq(missed, 1e-12, np.log(m / beta), xtol=1e-12))


class Draws:
    """Scores laid out for one choice after another, each without looking at more than a few of them.

    The best scores get an exponential variable each. Of the others, only those matter whose variable is so large that
    even the best of them could win: each is that large with the same small probability, independently, so their places
    are found by geometric skips, and an exponential variable beyond a threshold is the threshold plus another one.

    Parameters
    ----------
    scores : array
        What is chosen among.
    scale : float
        The mean of the exponential noise.
    """

    _FRONT = 256

    def __init__(self, scores: Floats, scale: float) -> None:
        self._order = np.argsort(scores)
        self._heights = (scores[self._order] - scores[self._order[0]]) / scale

    def choose(self, source: Source, *, remove: bool = False) -> int:
        """The position of one choice; it may be taken out for the next."""
        front = self._heights[: self._FRONT]
        noisy = source.exponential(len(front)) - front
        place = int(noisy.argmax())
        rest = self._heights[self._FRONT :]
        if len(rest):
            threshold = max(float(noisy[place]) + float(rest[0]), 0.0)
            far = _bernoulli_places(source, len(rest), threshold)
            if len(far):
                others = threshold + source.exponential(len(far)) - rest[far]
                if others.max() > noisy[place]:
                    place = self._FRONT + int(far[others.argmax()])
        chosen = int(self._order[place])
        if remove:
            # Most choices are near the front: what stands before them moves up by one.
            for values in (self._order, self._heights):
                values[1 : place + 1] = values[:place].copy()
            self._order, self._heights = self._order[1:], self._heights[1:]
        return chosen


def _bernoulli_places(source: Source, count: int, log_odds: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The successes among so many independent trials of probability exp(-log_odds), by geometric skips."""
    if log_odds == 0:
        return np.arange(count)
    rate = -np.log1p(-np.exp(-log_odds))
    places = np.zeros(0)
    last = -1.0
    while last < count:
        # A skip of at least s failures has probability exp(-rate·s): the whole part of an exponential variable.
        skips = np.floor(source.exponential(int(count * np.exp(-log_odds)) + 8) / rate)
        ahead = last + np.cumsum(skips + 1)
        places, last = np.append(places, ahead), float(ahead[-1])
    return places[places < count].astype(np.int64)
