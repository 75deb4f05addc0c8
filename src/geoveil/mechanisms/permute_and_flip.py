"""Permute-and-flip: the pure mechanism for choosing among scores, the smaller the likelier."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.errors import IncompatibleGuarantees
from geoveil.mechanisms.mechanism import Floats, Mechanism, noise_scale
from geoveil.mechanisms.ranking import smallest_each
from geoveil.mechanisms.segments import Sizes, starts_of
from geoveil.noise import Ball, Reals, Source, as_reals, settled
from geoveil.privacy import GP

__all__ = ["Draws", "PermuteAndFlip"]

#: Numbers of fair coins; farther apart where it takes many positions for one of them to pass.
_LEVELS = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64])
_BOUNDS = _LEVELS[1:] * math.log(2)
#: Where at least this part of all coins shows heads, plain noise tosses so many at a time, in random order.
_ALIKE, _AT_ONCE = 1 / 200, 256


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

    def sample(self, scores: Floats | Reals, source: Source) -> int:
        """The chosen position."""
        return Draws(scores, self.scale).choose(source)

    def sample_each(self, scores: Reals, sizes: Sizes, k: int, source: Source) -> NDArray[np.int64]:
        """Return k choices without replacement for each of many persons, whose scores are adjacent.

        They are (persons, k) positions among a person's own scores. All noise of a round is drawn at once, which is
        fast while persons have few scores each.
        """
        left = Reals(scores.values.copy(), scores.error, scores.ball)
        found, starts = np.empty((len(sizes), k), dtype=np.int64), starts_of(sizes)
        for j in range(k):
            noise = source.exponential(len(left))
            found[:, j] = smallest_each(left, noise, self.scale, sizes, 1, source)[:, 0]
            left.values[starts + found[:, j]] = np.inf
        return found

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

    Permute-and-flip visits positions in random order and takes the first whose coin, of probability e^-h with
    h = (score - smallest)/scale, shows heads. If h ≥ m·log 2 that is m fair coins, and one of probability 2^m·e^-h.
    Fair coins are bits, tossed for all positions at once; what shows heads, a few unless scores are much alike, is
    visited in random order until one shows heads again.

    Parameters
    ----------
    scores : array or Reals
        What is chosen among.
    scale : float
        The mean of the exponential noise.
    """

    def __init__(self, scores: Floats | Reals, scale: float) -> None:
        self._scores, self._scale = as_reals(scores), scale
        values = self._scores.values
        self._order = np.argsort(values)
        self._heights = (values[self._order] - values[self._order[0]]) / scale
        #: How wrong the difference of two heights, or of a height and a level, can be.
        self._bound = 2 * float(np.max(self._scores.error)) / scale + 2.0**-48 * (float(self._heights[-1]) + 1)
        #: Taking scores out only makes the others' coins show heads more often.
        self._alike = float(np.exp(-self._heights).mean()) > _ALIKE

    def choose(self, source: Source, *, remove: bool = False) -> int:
        """The position of one choice; it may be taken out for the next."""
        place = self._tossed(source) if self._alike and not source.exact else self._passed(source)
        found = int(self._order[place])
        if remove:
            # Most choices are near the front: what stands before them moves up by one.
            for values in (self._order, self._heights):
                values[1 : place + 1] = values[:place].copy()
            self._order, self._heights = self._order[1:], self._heights[1:]
        return found

    def _tossed(self, source: Source) -> int:
        """Coins are tossed one after another until one shows heads; one that showed tails is not tossed again."""
        visited = np.empty(0, dtype=np.int64)
        while True:
            count = len(visited)
            places = (source.uniform(_AT_ONCE).values * len(self._heights)).astype(np.int64)
            visited = np.concatenate([visited, places])
            heads = source.exponential(_AT_ONCE).values > self._heights[places] - self._heights[0]
            for turn in np.flatnonzero(heads).tolist():
                if places[turn] not in visited[: count + turn]:
                    return int(places[turn])

    def _passed(self, source: Source) -> int:
        """Fair coins are tossed for all at once, and what passes is visited until one shows heads."""
        levels = np.empty(len(_LEVELS) + 1, dtype=np.int64)
        levels[0], levels[-1] = 0, len(self._heights)
        levels[1:-1] = self._heights.searchsorted(self._heights[0] + self._bound + _BOUNDS)
        left = source.heads(_LEVELS, levels[1:] - levels[:-1])
        while True:
            # The last one takes the place of the one that is visited.
            visited, count = source.below(len(left)), len(left)
            place = int(left[visited])
            if self._heads(place, int(_LEVELS[levels.searchsorted(place, side="right") - 1]), source):
                return place
            left[visited] = left[count - 1]
            left = left[: count - 1]

    def _heads(self, place: int, level: int, source: Source) -> bool:
        """A coin of probability 2^level·e^-h."""
        drawn = source.exponential(1)
        margin = float(drawn.values[0] - (self._heights[place] - self._heights[0] - level * math.log(2)))
        if not source.exact or abs(margin) > source.widened * (self._bound + drawn.error):
            return margin > 0
        source.refined += 1
        return settled(lambda bits: self._certain(place, level, drawn.ball(0, bits), bits))

    def _certain(self, place: int, level: int, drawn: Ball, bits: int) -> bool | None:
        from flint import arb

        near = self._order[: np.searchsorted(self._heights, self._heights[0] + 2 * self._bound, side="right")]
        least = functools.reduce(lambda a, b: a.min(b), (self._scores.ball(int(j), bits) for j in near))
        height = (self._scores.ball(int(self._order[place]), bits) - least) / arb(self._scale)
        wanted = height - level * arb(2).log()
        return True if drawn > wanted else False if drawn < wanted else None
