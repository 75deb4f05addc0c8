"""The sparse vector technique: find the first of a sequence of values that is below a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.mechanisms.many_walks import halt_each
from geoveil.mechanisms.mechanism import LIPSCHITZ_REMEDY, Floats, Mechanism, noise_scale, pure_epsilon
from geoveil.mechanisms.quadrature import laplace_log_cdf, panels
from geoveil.mechanisms.segments import Sizes
from geoveil.mechanisms.walks import FAR, Walk
from geoveil.noise import Ball, Reals, Source, as_reals, laplace
from geoveil.privacy import CGP, GP, exact

__all__ = ["SparseVector", "halting_probabilities", "noisy_threshold"]

#: The multiple of its scale that Laplace noise exceeds with a probability below 1e-34.
_REACH = 80.0


@dataclass(frozen=True)
class SparseVector(Mechanism):
    """Visit values in order and halt at the first with value + V ≤ threshold + W.

    Parameters
    ----------
    guarantee : GP or CGP
        The guarantee of one walk; CGP through ε = √(2ρ).
    lipschitz : float
        K, the Lipschitz constant of every value under the guarantee's metric.
    cyclic : bool
        Whether the sequence is repeated until the walk halts. Otherwise the walk may end without halting.
    split : float
        The share of ε that is spent on the threshold's noise.

    Notes
    -----
    W ~ Lap(K/ε₁), V ~ Lap(2K/ε₂), ε₁ + ε₂ = ε: ε-GP (the paper's Algorithm 1 and Appendix D, where ε₁ = ε₂). For
    a single halt the sum of the variances is least at ε₁ : ε₂ = 1 : 2^(2/3) (Lyu, Su and Li, 2017).
    """

    guarantee: CGP | GP
    lipschitz: float = 1.0
    cyclic: bool = False
    split: float = 0.5

    def __post_init__(self) -> None:
        checks.positive("lipschitz", self.lipschitz, remedy=LIPSCHITZ_REMEDY)
        checks.number("split", self.split, above=0, below=1, remedy="The paper uses 0.5.")
        self.scale, self.threshold_scale  # noqa: B018 - validate the budget early

    @property
    def _epsilons(self) -> tuple[Decimal, Decimal]:
        """The parts ε₁ and ε₂ of ε."""
        epsilon = pure_epsilon(self.guarantee)
        first = exact.divide_down(exact.multiply(epsilon, Decimal.from_float(self.split)), Decimal(1))
        return first, exact.subtract(epsilon, first)

    @cached_property
    def threshold_scale(self) -> float:
        """K/ε₁, the scale of the threshold's noise in metres, rounded up."""
        return noise_scale(self.lipschitz, self._epsilons[0], self.guarantee)

    @cached_property
    def scale(self) -> float:
        """2K/ε₂, the scale of a visit's noise in metres, rounded up."""
        return noise_scale(2 * self.lipschitz, self._epsilons[1], self.guarantee)

    def sample(self, values: Floats | Reals, threshold: float, source: Source) -> int | None:
        """Return the position at which the walk halts, or None if it ends without halting."""
        noisy = noisy_threshold(as_reals(np.asarray(threshold, dtype=float)), self.threshold_scale, source)
        return Walk(values, self.scale).halt(noisy, source, cyclic=self.cyclic)

    def sample_each(self, values: Reals, sizes: Sizes, threshold: float, source: Source) -> NDArray[np.int64]:
        """Return the position at which each person's walk halts, or -1 if it ends without halting.

        The values of a person are adjacent; positions count within them.
        """
        noisy = noisy_threshold(as_reals(np.full(len(sizes), float(threshold))), self.threshold_scale, source)
        return halt_each(values, sizes, noisy, self.scale, source, cyclic=self.cyclic)

    def probabilities(self, values: Floats, threshold: float) -> Floats:
        """Return the exact probability of halting at each position and, unless cyclic, of never halting."""
        b, reach = self.threshold_scale, _REACH * self.threshold_scale
        kinks = np.append(values, threshold)
        nodes, weights = panels(kinks, threshold - reach, threshold + reach, min(b, self.scale))
        weights = weights * np.exp(-np.abs(nodes - threshold) / b) / (2 * b)
        return np.asarray(weights @ halting_probabilities(values, nodes, self.scale, cyclic=self.cyclic))

    def error(self, beta: float = 0.05, *, visits: int) -> float:
        """Return the bound on the error of every decision in a walk of at most `visits` visits, with probability 1-β.

        That is: where the walk halts, the value is at most threshold + bound; at every earlier visit the value is more
        than threshold - bound.

        Notes
        -----
        Exact for the worst case. Given W, a value above threshold + bound halts the walk, wrongly, with probability a,
        and a value below threshold - bound lets it pass, wrongly, with probability b. Once a small value has halted
        the walk nothing can go wrong, so the worst walks have j large values, then perhaps a small one, and are wrong
        with probability 1-(1-a)^j or 1-(1-a)^j(1-b): all values large, or all but the last.
        """
        from scipy.optimize import brentq

        checks.beta(beta)
        ratio = self.threshold_scale / self.scale

        def excess(width: float) -> float:
            # In units of a visit's scale.
            w, weights = panels(np.array([-width, 0.0, width]), -_REACH * ratio, _REACH * ratio, min(1.0, ratio))
            weights = weights * np.exp(-np.abs(w) / ratio) / (2 * ratio)
            large, small = laplace_log_cdf(width - w), laplace_log_cdf(width + w)
            last = (-np.expm1((visits - 1) * large + end) for end in (large, small))
            return max(float(weights @ wrong) for wrong in last) - beta

        if excess(0.0) <= 0:
            return 0.0
        top = 1.0
        while excess(top) > 0:
            top *= 2
        return self.scale * float(brentq(excess, 0.0, top, xtol=1e-12))


def halting_probabilities(values: Floats, thresholds: Floats, scale: float, *, cyclic: bool) -> Floats:
    """Return P(halting at j | noisy threshold t), a row for each t; unless cyclic, the last column is for never."""
    z = (thresholds[:, None] - values) / scale
    log_halt, log_pass = laplace_log_cdf(z), laplace_log_cdf(-z)
    survived = np.cumsum(log_pass, axis=1)
    halted = np.exp(log_halt + survived - log_pass)
    if cyclic:
        # Far below all values only the ratios of the p_j matter, and the p_j themselves may underflow.
        weights = np.exp(log_halt - log_halt.max(axis=1, keepdims=True))
        far = log_halt.max(axis=1, keepdims=True) < -FAR
        total = np.where(far, 1.0, -np.expm1(survived[:, -1:]))
        return np.where(far, weights / weights.sum(axis=1, keepdims=True), halted / total)
    return np.hstack([halted, np.exp(survived[:, -1:])])


def noisy_threshold(value: Reals, scale: float, source: Source, *, noises: int = 1) -> Reals:
    """Return each value plus a number, `noises`, of Laplace variables of this scale."""
    count = value.values.size
    noise = laplace(source, noises * count)
    drawn = noise.values.reshape(noises, *value.shape)
    rounding = 2.0**-50 * (np.abs(value.values) + scale * np.abs(drawn).sum(axis=0))

    def ball(i: int, bits: int) -> Ball:
        from flint import arb

        return value.ball(i, bits) + arb(scale) * sum(noise.ball(i + j * count, bits) for j in range(noises))

    error = value.error + noises * scale * noise.error + rounding
    return Reals(value.values + scale * drawn.sum(axis=0), error, ball)
