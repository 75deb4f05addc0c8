"""The sparse vector technique: the first of a sequence of values that lies below a threshold."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property, partial

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.mechanisms.mechanism import LIPSCHITZ_REMEDY, Floats, Mechanism, noise_scale, pure_epsilon
from geoveil.mechanisms.quadrature import laplace_log_cdf, panels
from geoveil.mechanisms.segments import Sizes
from geoveil.noise import Ball, Reals, Source, as_reals, laplace, settled, smallest
from geoveil.privacy import CGP, GP, exact

__all__ = ["NEVER", "SparseVector", "Walk", "halting_probabilities", "noisy_threshold"]

#: The position of a walk that never halts, and that of one which doubles leave open.
NEVER, _OPEN = -1, -2


@dataclass(frozen=True)
class SparseVector(Mechanism):
    """Visit values in order; halt at the first with value + V ≤ threshold + W.

    Parameters
    ----------
    guarantee : GP or CGP
        What it promises; CGP through ε = √(2ρ).
    lipschitz : float
        K, of every value, under the guarantee's metric.
    cyclic : bool
        Whether the sequence is repeated until the walk halts, or may end without halting.
    split : float
        The share of ε that the threshold's noise takes.

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
        checks.number("split", self.split, above=0, below=1, remedy="The paper's is 0.5.")
        self.scale, self.threshold_scale  # noqa: B018 - refuse what has none

    @property
    def _epsilons(self) -> tuple[Decimal, Decimal]:
        epsilon = pure_epsilon(self.guarantee)
        first = exact.divide_down(exact.multiply(epsilon, Decimal.from_float(self.split)), Decimal(1))
        return first, exact.subtract(epsilon, first)

    @cached_property
    def threshold_scale(self) -> float:
        """K/ε₁ in metres, rounded up."""
        return noise_scale(self.lipschitz, self._epsilons[0], self.guarantee)

    @cached_property
    def scale(self) -> float:
        """2K/ε₂, the scale of a visit's noise in metres, rounded up."""
        return noise_scale(2 * self.lipschitz, self._epsilons[1], self.guarantee)

    def sample(self, values: Floats | Reals, threshold: float, source: Source) -> int | None:
        """The position at which the walk halts, or None if it ends without halting."""
        noisy = noisy_threshold(as_reals(np.asarray(threshold, dtype=float)), self.threshold_scale, source)
        return Walk(values, self.scale).halt(noisy, source, cyclic=self.cyclic)

    def sample_each(self, values: Reals, sizes: Sizes, threshold: float, source: Source) -> NDArray[np.int64]:
        """Return the same for many persons, whose values are adjacent: a position among a person's, or NEVER."""
        from geoveil.mechanisms.walks import halt_each

        noisy = noisy_threshold(as_reals(np.full(len(sizes), float(threshold))), self.threshold_scale, source)
        return halt_each(values, sizes, noisy, self.scale, source, cyclic=self.cyclic)

    def probabilities(self, values: Floats, threshold: float) -> Floats:
        """The exact probability of halting at each position; unless cyclic, a last one of never halting."""
        b, reach = self.threshold_scale, 80 * self.threshold_scale
        kinks = np.append(values, threshold)
        nodes, weights = panels(kinks, threshold - reach, threshold + reach, min(b, self.scale))
        weights = weights * np.exp(-np.abs(nodes - threshold) / b) / (2 * b)
        return np.asarray(weights @ halting_probabilities(values, nodes, self.scale, cyclic=self.cyclic))

    def error(self, beta: float, *, visits: int) -> float:
        """With probability 1-β no verdict on up to so many visits is wrong by more than this.

        That is: where the walk halts, the value is at most threshold + error; at every earlier visit it is more than
        threshold - error.

        Notes
        -----
        Exact for the worst case. Given W a value that is too large halts the walk, which is wrong, with probability a,
        and one that is too small lets it pass, which is wrong, with probability b. Nothing wrong can follow a small
        value that halts, so the worst walks are j large values and then perhaps a small one, wrong with probability
        1-(1-a)^j(1-b): all but one large, or all.
        """
        from scipy.optimize import brentq

        checks.beta(beta)
        ratio = self.threshold_scale / self.scale

        def excess(width: float) -> float:
            # In units of a visit's scale.
            w, weights = panels(np.array([-width, 0.0, width]), -80 * ratio, 80 * ratio, min(1.0, ratio))
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
    """P(halting at j | noisy threshold t), a row for each t; unless cyclic, a last column for never."""
    z = (thresholds[:, None] - values) / scale
    log_halt, log_pass = laplace_log_cdf(z), laplace_log_cdf(-z)
    survived = np.cumsum(log_pass, axis=1)
    halted = np.exp(log_halt + survived - log_pass)
    if cyclic:
        # Far below all values only the ratios of the p_j count, and the p_j themselves may underflow.
        weights = np.exp(log_halt - log_halt.max(axis=1, keepdims=True))
        far = log_halt.max(axis=1, keepdims=True) < -40
        total = np.where(far, 1.0, -np.expm1(survived[:, -1:]))
        return np.where(far, weights / weights.sum(axis=1, keepdims=True), halted / total)
    return np.hstack([halted, np.exp(survived[:, -1:])])


def noisy_threshold(value: Reals, scale: float, source: Source, *, noises: int = 1) -> Reals:
    """Return each value plus so many Laplace variables of this scale."""
    count = value.values.size
    noise = laplace(source, noises * count)
    drawn = noise.values.reshape(noises, *value.shape)
    rounding = 2.0**-50 * (np.abs(value.values) + scale * np.abs(drawn).sum(axis=0))

    def ball(i: int, bits: int) -> Ball:
        from flint import arb

        return value.ball(i, bits) + arb(scale) * sum(noise.ball(i + j * count, bits) for j in range(noises))

    error = value.error + noises * scale * noise.error + rounding
    return Reals(value.values + scale * drawn.sum(axis=0), error, ball)


class Walk:
    """Values laid out for many walks past them, each in one pass at most whatever the threshold.

    Given the noisy threshold t, visit j halts with p_j = P(V ≤ t - v_j), independently. With the hazards
    h_j = -log(1-p_j) the walk halts at the first j whose cumulated hazard reaches an exponential variable. A cyclic
    walk that survives a pass starts afresh, so the position at which it halts in the end is that of an exponential
    variable truncated to the total hazard of a pass: no number of passes has to be walked.

    For t below all values p_j = c·w_j, where w_j does not depend on t, and Σh_j = Σ_q c^q/q·Σ_j w_j^q. For small c
    a few power sums of each block, kept from walk to walk, stand for the block.

    All this is done in doubles first. A hazard changes by at most twice itself per scale by which t or its value
    moves, so the relative error of cumulated hazards is known, and with it whether the variable is too near to one
    of them for doubles to tell. If it is, the walk is walked again in balls, visit by visit.

    Parameters
    ----------
    values : array or Reals
        What is visited, in order; not what is infinite.
    scale : float
        Of the noise of a visit.
    """

    #: Most walks halt early; later blocks are longer, for the few that go far.
    _SHORTEST, _LONGEST = 128, 2048
    #: So many powers give a hazard to 2^-54 of itself while p_j ≤ 2^-6.
    _POWERS, _SMALL = 9, 2.0**-6

    def __init__(self, values: Floats | Reals, scale: float) -> None:
        known = as_reals(values)
        self._ball, self._error = known.ball, float(np.max(known.error))
        self._values = known.values.astype(float)
        self._scale = scale
        self._starts = [0]
        length = self._SHORTEST
        while self._starts[-1] + length < len(self._values):
            self._starts.append(self._starts[-1] + length)
            length = min(2 * length, self._LONGEST)
        self._rebase()

    def _rebase(self) -> None:
        self._lowest = float(self._values.min())
        self._base = self._lowest
        self._weights = np.exp((self._base - self._values) / self._scale)
        self._sums = np.zeros((self._POWERS, len(self._starts)))
        self._unsummed = set(range(len(self._starts)))

    @property
    def smallest(self) -> Reals:
        """The smallest value that is left."""
        left = Reals(self._values, self._error, self._ball)
        return Reals(np.asarray(self._lowest), self._error, lambda i, bits: smallest(left).ball(i, bits))

    def remove(self, j: int) -> None:
        """Take a value out; it is never halted at again."""
        self._values[j] = np.inf
        self._weights[j] = 0.0
        self._unsummed.add(bisect_right(self._starts, j) - 1)
        self._lowest = float(self._values.min())
        # The ninth power of e^50 is a double; so is that of the weights that it makes up for.
        if self._lowest - self._base > 50 * self._scale and self._lowest < np.inf:
            self._rebase()

    def halt(self, threshold: Reals, source: Source, *, cyclic: bool) -> int | None:
        """The position at which a walk with this noisy threshold halts."""
        # Far below every value a first pass of a cyclic walk is survived for all that doubles can tell.
        far = cyclic and (float(threshold.values) - self._lowest) / self._scale < -40
        first = None if far else source.exponential(1)
        share = cache(lambda: source.uniform(1))  # once, if at all
        found = self._fast(threshold, first, share, source, cyclic=cyclic)
        if found == _OPEN:
            source.refined += 1
            found = self.settled(threshold, first, share, cyclic=cyclic)
        return None if found == NEVER else found

    def settled(self, threshold: Reals, first: Reals | None, share: Callable[[], Reals], *, cyclic: bool) -> int:
        """Return where a walk with these variables halts, or NEVER, in as many bits as it takes.

        Parameters
        ----------
        threshold : Reals
            The noisy threshold.
        first : Reals, optional
            The exponential variable of a first pass; None if that is survived.
        share : callable
            Gives the uniform variable that decides where a cyclic walk halts in the end.
        cyclic : bool
            Whether the values are repeated until the walk halts.
        """
        return settled(partial(self._walked, threshold, first, share, cyclic))

    def _fast(
        self, threshold: Reals, first: Reals | None, share: Callable[[], Reals], source: Source, *, cyclic: bool
    ) -> int:
        """Where doubles say that the walk halts; NEVER, or _OPEN if they cannot tell."""
        t = float(threshold.values)
        below = (t - self._lowest) / self._scale
        blur = self._blur(threshold, source)
        if not blur < math.inf:
            return _OPEN
        log_odds = float((t - self._base) / self._scale - math.log(2))

        known: dict[int, Floats] = {}

        def hazards(i: int) -> Floats:
            if i not in known:
                known[i] = self._hazards(i, t, log_odds)
            return known[i]

        if first is None:
            # Every p_j is below 2^-53: the hazard is p_j itself and the truncated exponential is uniform.
            totals = self._power_sums()[0]
            whole = float(totals.sum())
            return self._find(totals, float(share().values[0]) * whole, 2 * blur * whole, self._block_weights)
        target = float(first.values[0])
        if 0.5 * math.exp(min(below, 0.0)) <= self._SMALL:
            powers = np.arange(1, self._POWERS + 1)
            totals = np.exp(powers * log_odds) / powers @ self._power_sums()
        else:
            totals = np.zeros(len(self._starts))
            left = target
            for i, start in enumerate(self._starts):
                cumulated = hazards(i).cumsum()
                totals[i] = cumulated[-1]
                if left < totals[i]:
                    if not source.exact:  # nothing is in doubt
                        return start + int(cumulated.searchsorted(left, side="right"))
                    break
                left -= totals[i]
        whole = float(totals.sum())
        loose = blur * whole + source.widened * first.error
        if loose != 0 and not abs(target - whole) >= loose:
            return _OPEN
        if target < whole:
            return self._find(totals, target, loose, hazards)
        if not cyclic:
            return NEVER
        # Where a pass is hardly survived, the truncated variable depends on the last bits of the uniform one.
        loose = blur * (whole + math.expm1(min(whole, 700.0)))
        return self._find(totals, -np.log1p(float(share().values[0]) * np.expm1(-whole)), loose, hazards)

    def _blur(self, threshold: Reals, source: Source) -> float:
        """The relative error of cumulated hazards, and of what a uniform variable makes of them."""
        if not source.exact:
            return 0.0
        moved = float(threshold.error + self._error) / self._scale
        if moved > 0.25:  # a hazard no longer changes by as little as twice itself per scale
            return math.inf
        return source.widened * (2 * moved + 2.0**-38 + 2.0**-50 * len(self._values))

    def _find(self, totals: Floats, target: float, loose: float, block: Callable[[int], Floats]) -> int:
        """The position whose cumulated hazard exceeds the target; _OPEN if one is within `loose` of it."""
        i = _search(totals, target)
        before = float(totals[:i].sum())
        cumulated = before + np.cumsum(block(i))
        j = _search_cumulated(cumulated, target)
        last = float(cumulated[j - 1]) if j else before
        certain = float(cumulated[j]) - target >= loose and target - last >= loose
        return self._starts[i] + j if certain or loose == 0 else _OPEN

    def _walked(
        self, threshold: Reals, first: Reals | None, share: Callable[[], Reals], cyclic: bool, bits: int
    ) -> int | None:
        """The same in balls: a position or NEVER; None if so many bits do not tell."""
        t = threshold.ball(0, bits)
        found, whole = self._passed(t, None if first is None else first.ball(0, bits), bits)
        if not cyclic or found != NEVER:
            return found
        found, _ = self._passed(t, -(share().ball(0, bits) * (-whole).expm1()).log1p(), bits)
        return None if found == NEVER else found

    def _passed(self, t: Ball, target: Ball | None, bits: int) -> tuple[int | None, Ball]:
        """Where the cumulated hazard exceeds the target, and how much it is; without a target, in all."""
        from flint import arb

        total, half, scale = arb(0), arb(0.5), arb(self._scale)
        for j in np.flatnonzero(np.isfinite(self._values)).tolist():
            z = (t - self._ball(j, bits)) / scale
            under, over = -(-half * z.exp()).log1p(), z + arb(2).log()
            total += under if z < 0 else over if z > 0 else under.union(over)
            if target is not None and not target > total:
                return (j if target < total else None), total
        return NEVER, total

    def _block(self, i: int) -> slice:
        return slice(self._starts[i], self._starts[i + 1] if i + 1 < len(self._starts) else None)

    def _block_weights(self, i: int) -> Floats:
        return self._weights[self._block(i)]

    def _power_sums(self) -> Floats:
        for i in self._unsummed:
            weights = self._block_weights(i)
            power = weights.copy()
            for q in range(self._POWERS):
                self._sums[q, i] = power.sum()
                power *= weights
        self._unsummed.clear()
        return self._sums

    def _hazards(self, i: int, t: float, log_odds: float) -> Floats:
        """-log P(V > t - v_j) over a block: with z = (t - v_j)/scale, max(z, 0) - log(1 - min(½e^z, ½))."""
        block = self._block(i)
        if log_odds > 600:  # beyond what the weights can carry
            z = (t - self._values[block]) / self._scale
            return np.maximum(z, 0) - np.log1p(-0.5 * np.exp(np.minimum(z, 0)))
        hazards = -np.log1p(-np.minimum(self._weights[block] * np.exp(log_odds), 0.5))
        if t > self._lowest:
            hazards += np.maximum((t - self._values[block]) / self._scale, 0)
        return np.asarray(hazards)


def _search(weights: Floats, target: float) -> int:
    """The first position at which the cumulated weights exceed the target; its weight is positive."""
    return _search_cumulated(np.cumsum(weights), target)


def _search_cumulated(cumulated: Floats, target: float) -> int:
    # Rounding may leave the target at an end, or beyond.
    inside = max(0.0, min(target, math.nextafter(cumulated[-1], 0.0)))
    return int(cumulated.searchsorted(inside, side="right"))
