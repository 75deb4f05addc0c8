"""The private nearest neighbour of a place: the paper's Algorithm 2."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.mechanisms.many_walks import halt_each
from geoveil.mechanisms.mechanism import Floats, Mechanism, noise_scale, pure_epsilon
from geoveil.mechanisms.quadrature import laplace_log_cdf, panels
from geoveil.mechanisms.segments import Sizes, starts_of
from geoveil.mechanisms.sparse_vector import halting_probabilities, noisy_threshold
from geoveil.mechanisms.walks import Walk
from geoveil.noise import Ball, Reals, Source, smallest
from geoveil.privacy import CGP, GP

__all__ = ["NearestNeighbour"]

#: The multiple of its scale that Laplace noise exceeds with a probability below 1e-30.
_REACH = 75.0


@dataclass(frozen=True)
class NearestNeighbour(Mechanism):
    """Choose a near point: draw a noisy threshold at the smallest distance, visit points until one lies below it.

    Parameters
    ----------
    guarantee : GP or CGP
        The guarantee of one search; CGP through ε = √(2ρ).
    gamma0 : float
        A public length γ0 in metres, added to the threshold. Negative values are more accurate; here they cost no
        time.

    Notes
    -----
    T = min_j d_j + Lap(3/ε) + γ0 is ε/3-GP, the minimum of 1-Lipschitz functions being 1-Lipschitz; the cyclic sparse
    vector technique with threshold T is 2ε/3-GP. Together ε-GP, hence (ε²/2)-CGP.
    """

    guarantee: CGP | GP
    gamma0: float = 0.0

    def __post_init__(self) -> None:
        checks.number("gamma0", self.gamma0, remedy="It is in metres; the paper's default is 0.")
        self.scale  # noqa: B018 - validates the budget early

    @cached_property
    def scale(self) -> float:
        """3/ε in metres, rounded up: the scale of both noises on the threshold, and half that of a visit's noise."""
        return noise_scale(3.0, pure_epsilon(self.guarantee), self.guarantee)

    def sample(self, distances: Floats | Reals, source: Source) -> int:
        """Return the position of the neighbour found, given the true distance of each point."""
        return self.visit(Walk(distances, 2 * self.scale), source)

    def visit(self, walk: Walk, source: Source) -> int:
        """Return the position of the neighbour found, given a `Walk` past the distances, which can be used again."""
        place = walk.halt(
            noisy_threshold(self._plus_gamma0(walk.smallest), self.scale, source, noises=2), source, cyclic=True
        )
        assert place is not None
        return place

    def sample_several(self, distances: Floats | Reals, k: int, source: Source) -> NDArray[np.int64]:
        """Return the positions of the neighbours that k searches without replacement find, in their order."""
        walk = Walk(distances, 2 * self.scale)
        chosen = np.empty(k, dtype=np.int64)
        for j in range(k):
            chosen[j] = self.visit(walk, source)
            if j + 1 < k:
                walk.remove(chosen[j])
        return chosen

    def sample_each(self, distances: Reals, sizes: Sizes, k: int, source: Source) -> NDArray[np.int64]:
        """Return k neighbours without replacement for each of many persons.

        The distances of a person are adjacent. The result is (persons, k) positions within a person's distances.
        """
        left = Reals(distances.values.copy(), float(np.max(distances.error)), distances.ball)
        chosen, starts = np.empty((len(sizes), k), dtype=np.int64), starts_of(sizes)

        def ball(i: int, bits: int) -> Ball:
            return smallest(left[int(starts[i]) : int(starts[i] + sizes[i])]).ball(0, bits)

        for j in range(k):
            least = Reals(np.minimum.reduceat(left.values, starts), left.error, ball)
            thresholds = noisy_threshold(self._plus_gamma0(least), self.scale, source, noises=2)
            chosen[:, j] = halt_each(left, sizes, thresholds, 2 * self.scale, source, cyclic=True)
            left.values[starts + chosen[:, j]] = np.inf
        return chosen

    def _plus_gamma0(self, least: Reals) -> Reals:
        """Return each smallest distance plus γ0."""
        if self.gamma0 == 0:
            return least
        rounding = 2.0**-52 * (np.abs(least.values) + abs(self.gamma0))
        return Reals(
            least.values + self.gamma0, least.error + rounding, lambda i, bits: least.ball(i, bits) + self.gamma0
        )

    def probabilities(self, distances: Floats) -> Floats:
        """Return the exact probability of finding each position."""
        b, middle = self.scale, float(np.min(distances)) + self.gamma0
        t, weights = panels(np.append(distances, middle), middle - _REACH * b, middle + _REACH * b, b)
        shift = np.abs(t - middle) / b
        weights = weights * (1 + shift) * np.exp(-shift) / (4 * b)
        return np.asarray(weights @ halting_probabilities(distances, t, 2 * b, cyclic=True))

    def error(self, beta: float = 0.05, *, m: int) -> float:
        """Return the bound on how much farther than the nearest of m points the one found is, with probability 1-β.

        Notes
        -----
        Exact for the worst case, which has m-1 points tied at that excess and visited before the nearest one: given
        y = Z + W + γ0, a bad point is found first with probability (1-q)/(1-q+q·P(V ≤ y)), q = P(V > y-error)^(m-1).
        It is well below the bound of the paper's Theorem 4.11 and holds for every γ0.
        """
        from scipy.optimize import brentq

        checks.beta(beta)
        if m == 1:
            return 0.0
        middle = self.gamma0 / self.scale

        def excess(width: float) -> float:
            # In units of the scale.
            y, weights = panels(np.array([middle, 0.0, width]), middle - _REACH, middle + _REACH, 1.0)
            weights = weights * (1 + np.abs(y - middle)) * np.exp(-np.abs(y - middle)) / 4
            # For y far below the nearest distance only the ratio of the probabilities matters, and it is constant.
            y = np.maximum(y, -200.0)
            good = np.exp(laplace_log_cdf(y / 2))
            pass_bad = (m - 1) * laplace_log_cdf((width - y) / 2)
            bad = -np.expm1(pass_bad)
            return float(weights @ (bad / (bad + np.exp(pass_bad) * good))) - beta

        if excess(0.0) <= 0:
            return 0.0
        top = 1.0
        while excess(top) > 0:
            top *= 2
        return self.scale * float(brentq(excess, 0.0, top, xtol=1e-10))
