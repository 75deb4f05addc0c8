"""Permute-and-flip: choose among scores under pure GP, smaller ones with a higher probability."""

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

#: Numbers of fair coins that a position may have to pass; in larger steps where few positions pass.
_LEVELS = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64])
_BOUNDS = _LEVELS[1:] * math.log(2)
#: If more than the share _ALIKE of all coins is expected to show heads, plain noise tosses _AT_ONCE coins at a time,
#: in random order.
_ALIKE, _AT_ONCE = 1 / 200, 256


@dataclass(frozen=True)
class PermuteAndFlip(Mechanism):
    """Choose the position argmin_j(score_j - E_j), E_j exponential of mean 1/η.

    Parameters
    ----------
    guarantee : GP
        The guarantee of one choice; pure.
    spread : float
        The largest change of the difference of two scores when the tuple moves by 1 under the guarantee's metric.

    Notes
    -----
    ε-GP for η = ε/spread, and never worse than the exponential mechanism (McKenna and Sheldon, 2020). The range of its
    privacy loss has no such bound as that of the exponential mechanism: as CGP it costs ε²/2, four times as much as
    the exponential mechanism with the same η. So it takes no CGP guarantee.
    """

    guarantee: GP
    spread: float = 2.0

    def __post_init__(self) -> None:
        checks.positive("spread", self.spread, remedy="It is 2 for scores that are 1-Lipschitz.")
        if not isinstance(self.guarantee, GP) or not self.guarantee.pure:
            raise IncompatibleGuarantees(f"{self.guarantee!r} is not pure GP, which permute-and-flip needs.")
        self.scale  # noqa: B018 - validates the budget early

    @cached_property
    def scale(self) -> float:
        """1/η in metres, rounded up."""
        return noise_scale(self.spread, self.guarantee.epsilon, self.guarantee)

    def sample(self, scores: Floats | Reals, source: Source) -> int:
        """Return the chosen position."""
        return Draws(scores, self.scale).choose(source)

    def sample_several(self, scores: Floats | Reals, k: int, source: Source) -> NDArray[np.int64]:
        """Return the positions of k successive choices without replacement, in their order."""
        draws = Draws(scores, self.scale)
        return np.array([draws.choose(source, remove=True) for _ in range(k)], dtype=np.int64)

    def sample_each(self, scores: Reals, sizes: Sizes, k: int, source: Source) -> NDArray[np.int64]:
        """Return k successive choices without replacement for each of many persons.

        The scores of a person are adjacent. The result is (persons, k) positions within a person's scores. All noise
        of a round is drawn at once, which is fast as long as each person has few scores.
        """
        left = Reals(scores.values.copy(), scores.error, scores.ball)
        chosen, starts = np.empty((len(sizes), k), dtype=np.int64), starts_of(sizes)
        for j in range(k):
            noise = source.exponential(len(left))
            chosen[:, j] = smallest_each(left, noise, self.scale, sizes, 1, source)[:, 0]
            left.values[starts + chosen[:, j]] = np.inf
        return chosen

    def probabilities(self, scores: Floats) -> Floats:
        """Return the exact probability of choosing each position.

        With q_j = exp(-η(score_j - best)), P(j) = q_j·∫₀¹ Π_{i≠j}(1 - v·q_i) dv: a polynomial of degree m-1, which
        Gauss-Legendre quadrature integrates exactly.
        """
        q = np.exp(-(scores - np.min(scores)) / self.scale)
        nodes, weights = np.polynomial.legendre.leggauss(len(scores) // 2 + 1)
        factors = 1 - (nodes[:, None] + 1) / 2 * q
        others = np.stack([np.delete(factors, j, axis=1).prod(axis=1) for j in range(len(q))], axis=1)
        return np.asarray(q * (weights / 2 @ others))

    def error(self, beta: float = 0.05, *, m: int) -> float:
        """Return the bound on how far the chosen score exceeds the smallest of m scores, with probability 1-β.

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

        # The best score is missed with probability at most mq/2.
        return self.scale * float(brentq(missed, 1e-12, np.log(m / beta), xtol=1e-12))


class Draws:
    """Sorted scores from which many choices can be drawn, each by looking at a few of the scores.

    Permute-and-flip visits positions in random order and chooses the first whose coin shows heads; the coin of a
    position has probability e^-h of heads, h = (score - smallest)/scale. If h ≥ m·log 2, tossing it is the same as
    tossing m fair coins and one of probability 2^m·e^-h, which must all show heads. The fair coins are random bits and
    are tossed for all positions at once. Few positions pass them unless many scores are nearly equal; those that do
    are visited in random order until the remaining coin of one shows heads.

    Parameters
    ----------
    scores : array or Reals
        The scores to choose among.
    scale : float
        The mean of the exponential noise.
    """

    def __init__(self, scores: Floats | Reals, scale: float) -> None:
        self._scores, self._scale = as_reals(scores), scale
        values = self._scores.values
        self._order = np.argsort(values)
        self._heights = (values[self._order] - values[self._order[0]]) / scale
        #: The largest error of the difference of two heights, or of a height and a level.
        self._bound = 2 * float(np.max(self._scores.error)) / scale + 2.0**-48 * (float(self._heights[-1]) + 1)
        #: Whether many coins show heads. This stays true: removing a score only makes heads likelier for the others.
        self._alike = float(np.exp(-self._heights).mean()) > _ALIKE

    def choose(self, source: Source, *, remove: bool = False) -> int:
        """Return the position of one choice; with `remove` it cannot be chosen again."""
        toss = self._toss_in_turn if self._alike and not source.exact else self._toss_together
        place = toss(source)
        chosen = int(self._order[place])
        if remove:
            # Most choices are near the front, so the few places before them are moved back by one.
            for values in (self._order, self._heights):
                values[1 : place + 1] = values[:place].copy()
            self._order, self._heights = self._order[1:], self._heights[1:]
        return chosen

    def _toss_in_turn(self, source: Source) -> int:
        """Toss coins in random order until one shows heads, and return its place. No coin is tossed twice."""
        visited = np.empty(0, dtype=np.int64)
        while True:
            count = len(visited)
            places = (source.uniform(_AT_ONCE).values * len(self._heights)).astype(np.int64)
            visited = np.concatenate([visited, places])
            heads = source.exponential(_AT_ONCE).values > self._heights[places] - self._heights[0]
            for turn in np.flatnonzero(heads).tolist():
                if places[turn] not in visited[: count + turn]:
                    return int(places[turn])

    def _toss_together(self, source: Source) -> int:
        """Toss the fair coins of all places at once, visit those that pass, and return the first that shows heads."""
        levels = np.empty(len(_LEVELS) + 1, dtype=np.int64)
        levels[0], levels[-1] = 0, len(self._heights)
        levels[1:-1] = self._heights.searchsorted(self._heights[0] + self._bound + _BOUNDS)
        left = source.heads(_LEVELS, levels[1:] - levels[:-1])
        while True:
            # A place that was visited is replaced by the last one.
            visited, count = source.below(len(left)), len(left)
            place = int(left[visited])
            if self._heads(place, int(_LEVELS[levels.searchsorted(place, side="right") - 1]), source):
                return place
            left[visited] = left[count - 1]
            left = left[: count - 1]

    def _heads(self, place: int, level: int, source: Source) -> bool:
        """Toss a coin that shows heads with probability 2^level·e^-h."""
        drawn = source.exponential(1)
        margin = float(drawn.values[0] - (self._heights[place] - self._heights[0] - level * math.log(2)))
        if not source.exact or abs(margin) > source.widened * (self._bound + drawn.error):
            return margin > 0
        source.refined += 1
        return settled(lambda bits: self._certain(place, level, drawn.ball(0, bits), bits))

    def _certain(self, place: int, level: int, drawn: Ball, bits: int) -> bool | None:
        """Return whether that coin shows heads, decided in balls; None if their precision does not suffice."""
        from flint import arb

        near = self._order[: np.searchsorted(self._heights, self._heights[0] + 2 * self._bound, side="right")]
        least = functools.reduce(lambda a, b: a.min(b), (self._scores.ball(int(j), bits) for j in near))
        height = (self._scores.ball(int(self._order[place]), bits) - least) / arb(self._scale)
        wanted = height - level * arb(2).log()
        return True if drawn > wanted else False if drawn < wanted else None
