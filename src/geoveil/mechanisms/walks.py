"""Walks of the sparse vector technique: find where a walk past the values of one person halts."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Ball, Reals, Source, as_reals, settled, smallest

__all__ = ["FAR", "NEVER", "Walk"]

#: Stand for the position of a walk that never halts, and of a walk that doubles cannot decide.
NEVER, _UNDECIDED = -1, -2
#: If the threshold is below all values by this many scales, or more, the probability that a pass of a cyclic walk
#: halts is negligible in doubles.
FAR = 40.0


class Walk:
    """Values prepared for many walks past them; each walk takes at most one pass, whatever the threshold.

    Given the noisy threshold t, visit j halts with probability p_j = P(V ≤ t - v_j), independently of the others. With
    the hazards h_j = -log(1-p_j), the walk halts at the first j whose cumulated hazard reaches an exponential
    variable. A cyclic walk that survives a pass starts afresh, so it finally halts where the cumulated hazard of one
    pass reaches an exponential variable truncated to the total hazard: further passes need not be walked.

    For t below all values p_j = c·w_j, where w_j does not depend on t, and Σh_j = Σ_q c^q/q·Σ_j w_j^q. For small c
    a few power sums of each block of values, kept from walk to walk, replace the block.

    All this is done in doubles first. If t or a value moves by one scale, a hazard changes by at most twice itself, so
    the relative error of cumulated hazards is known, and with it whether the variable is too near to one of them for
    doubles to decide. If so, the walk is repeated in balls (real numbers of any precision with error bounds), visit by
    visit, with the same variables.

    Parameters
    ----------
    values : array or Reals
        The values to visit, in order. Infinite values are never halted at.
    scale : float
        The scale of a visit's noise.
    """

    #: The lengths of blocks of values: the first are short, as most walks halt early.
    _SHORTEST, _LONGEST = 128, 2048
    #: With this number of powers a hazard has a relative error of 2^-54 while p_j ≤ 2^-6.
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
        """Compute all weights relative to the lowest value that is left."""
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
        """Remove the value at position j, so that no walk halts at it."""
        self._values[j] = np.inf
        self._weights[j] = 0.0
        self._unsummed.add(bisect_right(self._starts, j) - 1)
        self._lowest = float(self._values.min())
        # The ninth powers of e^50 and of e^-50 are still doubles.
        if self._lowest - self._base > 50 * self._scale and self._lowest < np.inf:
            self._rebase()

    def halt(self, threshold: Reals, source: Source, *, cyclic: bool) -> int | None:
        """Return the position at which a walk with this noisy threshold halts, or None if it never halts."""
        far = cyclic and (float(threshold.values) - self._lowest) / self._scale < -FAR
        first = None if far else source.exponential(1)
        share = cache(lambda: source.uniform(1))  # drawn at most once
        place = self._halt_in_doubles(threshold, first, share, source, cyclic=cyclic)
        if place == _UNDECIDED:
            source.refined += 1
            place = self.halt_in_balls(threshold, first, share, cyclic=cyclic)
        return None if place == NEVER else place

    def halt_in_balls(self, threshold: Reals, first: Reals | None, share: Callable[[], Reals], *, cyclic: bool) -> int:
        """Return where a walk with these variables halts, or NEVER, computed with as many bits as needed.

        Parameters
        ----------
        threshold : Reals
            The noisy threshold.
        first : Reals, optional
            The exponential variable of the first pass; None if the walk survives that pass.
        share : callable
            Returns the uniform variable that decides where a cyclic walk halts after the first pass.
        cyclic : bool
            Whether the values are repeated until the walk halts.
        """
        return settled(partial(self._halt_with_bits, threshold, first, share, cyclic))

    def _halt_in_doubles(
        self, threshold: Reals, first: Reals | None, share: Callable[[], Reals], source: Source, *, cyclic: bool
    ) -> int:
        """Return where a walk with these variables halts, NEVER, or _UNDECIDED if doubles cannot decide."""
        t = float(threshold.values)
        below = (t - self._lowest) / self._scale
        relative = self._relative_error(threshold, source)
        if not relative < math.inf:
            return _UNDECIDED
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
            return self._locate(totals, float(share().values[0]) * whole, 2 * relative * whole, self._block_weights)
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
                    if not source.exact:  # plain noise is never undecided
                        return start + int(cumulated.searchsorted(left, side="right"))
                    break
                left -= totals[i]
        whole = float(totals.sum())
        doubt = relative * whole + source.widened * float(first.error)
        if doubt != 0 and not abs(target - whole) >= doubt:
            return _UNDECIDED
        if target < whole:
            return self._locate(totals, target, doubt, hazards)
        if not cyclic:
            return NEVER
        # If a pass is rarely survived, the truncated variable depends on the last bits of the uniform one.
        doubt = relative * (whole + math.expm1(min(whole, 700.0)))
        return self._locate(totals, -np.log1p(float(share().values[0]) * np.expm1(-whole)), doubt, hazards)

    def _relative_error(self, threshold: Reals, source: Source) -> float:
        """Return the relative error of cumulated hazards and of a uniform share of them; infinite if unknown."""
        if not source.exact:
            return 0.0
        moved = float(threshold.error + self._error) / self._scale
        if moved > 0.25:  # the linear bound, twice itself per scale, holds for small movements only
            return math.inf
        return source.widened * (2 * moved + 2.0**-38 + 2.0**-50 * len(self._values))

    def _locate(self, totals: Floats, target: float, doubt: float, block: Callable[[int], Floats]) -> int:
        """Return the first position whose cumulated hazard exceeds the target; _UNDECIDED if one is within `doubt`.

        `totals` are the hazards of whole blocks, and `block` returns the hazards within one.
        """
        i = _search(totals, target)
        before = float(totals[:i].sum())
        cumulated = before + np.cumsum(block(i))
        j = _search_cumulated(cumulated, target)
        last = float(cumulated[j - 1]) if j else before
        certain = float(cumulated[j]) - target >= doubt and target - last >= doubt
        return self._starts[i] + j if certain or doubt == 0 else _UNDECIDED

    def _halt_with_bits(
        self, threshold: Reals, first: Reals | None, share: Callable[[], Reals], cyclic: bool, bits: int
    ) -> int | None:
        """Return the position at which the walk halts or NEVER; None if balls of this precision do not decide it."""
        t = threshold.ball(0, bits)
        place, whole = self._pass_in_balls(t, None if first is None else first.ball(0, bits), bits)
        if not cyclic or place != NEVER:
            return place
        place, _ = self._pass_in_balls(t, -(share().ball(0, bits) * (-whole).expm1()).log1p(), bits)
        return None if place == NEVER else place

    def _pass_in_balls(self, t: Ball, target: Ball | None, bits: int) -> tuple[int | None, Ball]:
        """Return where the cumulated hazard exceeds the target, and its value there.

        The position is NEVER if the target is not reached or None is given, and None if the balls do not decide it.
        """
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
        """Return the positions of block i."""
        return slice(self._starts[i], self._starts[i + 1] if i + 1 < len(self._starts) else None)

    def _block_weights(self, i: int) -> Floats:
        return self._weights[self._block(i)]

    def _power_sums(self) -> Floats:
        """Return the sums of the first powers of the weights, (powers, blocks)."""
        for i in self._unsummed:
            weights = self._block_weights(i)
            power = weights.copy()
            for q in range(self._POWERS):
                self._sums[q, i] = power.sum()
                power *= weights
        self._unsummed.clear()
        return self._sums

    def _hazards(self, i: int, t: float, log_odds: float) -> Floats:
        """Return the hazards of block i, -log P(V > t - v_j).

        With z = (t - v_j)/scale that is max(z, 0) - log(1 - min(½e^z, ½)).
        """
        block = self._block(i)
        if log_odds > 600:  # the product of weights and odds could overflow
            z = (t - self._values[block]) / self._scale
            return np.maximum(z, 0) - np.log1p(-0.5 * np.exp(np.minimum(z, 0)))
        hazards = -np.log1p(-np.minimum(self._weights[block] * np.exp(log_odds), 0.5))
        if t > self._lowest:
            hazards += np.maximum((t - self._values[block]) / self._scale, 0)
        return np.asarray(hazards)


def _search(weights: Floats, target: float) -> int:
    """Return the first position at which the cumulated weights exceed the target; its weight is positive."""
    return _search_cumulated(np.cumsum(weights), target)


def _search_cumulated(cumulated: Floats, target: float) -> int:
    """Return the first position at which cumulated weights exceed the target."""
    # Rounding may leave the target at an end of the range, or outside.
    inside = max(0.0, min(target, math.nextafter(cumulated[-1], 0.0)))
    return int(cumulated.searchsorted(inside, side="right"))
