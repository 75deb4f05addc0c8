"""Exact normal variables: rectangles below the density, and rejection for the little that they leave.

With probability 96.2% a variable is a uniform place in a random rectangle: a table and an addition, without a
logarithm or a sine. ROUNDING.md has the proof and the error bounds.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geoveil.noise.bits import Bits
from geoveil.noise.reals import Ball, Floats, Reals, double, settled

__all__ = ["Rectangles", "rectangles"]

#: N, the number of equally likely entries of a table. The first 12 bits of a string choose one of them.
_ENTRIES = 2**12
#: H, the width of a bin.
_WIDTH = 2.0**-4
#: Bound on the error of the double of a variable below the reach.
_ERROR = 2.0**-50
#: Bound on the error of the double of an acceptance probability.
_DOUBT = 2.0**-28

#: After these bits of a word, which choose the entry, come the 52 bits of a mantissa.
_CHOICE, _MANTISSA = np.uint64(52), np.uint64(2**52 - 1)
#: The bits of the double H. With a mantissa of 52 random bits they are those of H·(1 + u), for a uniform u.
_WIDTH_BITS = np.float64(_WIDTH).view(np.uint64)

#: 1/√(2π), and arithmetic that gives the same tables on every machine, whatever the host program has set.
_PEAK = Decimal("0.398942280401432677939946059934381868475858631")
_DECIMALS = decimal.Context(40, decimal.ROUND_HALF_EVEN, -999999, 999999, 1, 0, [], [])


class Rectangles:
    """The normal density φ as rectangles on bins of width H and a rest, in two tables of N equally likely entries.

    Parameters
    ----------
    reach : int
        Bins cover |z| < reach. Beyond is the tail, which belongs to the rest.

    Attributes
    ----------
    counts : array of int
        n_k, the number of entries for bin [kH, (k+1)H), for each k ≥ 0; as many are for its mirror image.
    shares : array of int
        q_k, the number of entries for proposals in bin k; as many are for its mirror image.
    tails : int
        t, the number of entries for proposals in the tail.
    level : int
        λN: λ times the density of proposals is nowhere below the rest.

    Notes
    -----
    Variables are exactly N(0, 1). The rectangle on bin k has the height n_k/(NH) ≤ φ, and the mass n_k/N. The rest
    φ - n_k/(NH) is drawn by rejection (von Neumann, 1951): proposals have the density q_k/(NH) on bin k, with
    λq_k/(NH) ≥ φ - n_k/(NH). In the tail they are ±(reach + x) with x exponential of mean 1/reach, after Marsaglia
    (1964), with λt/N ≥ 2φ(reach)/reach. Every proposal is accepted or rejected as in real arithmetic.
    """

    def __init__(self, reach: int = 6) -> None:
        self.reach = reach
        with decimal.localcontext(_DECIMALS):
            heights = [_PEAK * (-((k * Decimal(_WIDTH)) ** 2) / 2).exp() for k in range(int(reach / _WIDTH) + 1)]
            boxes = [height * Decimal(_ENTRIES * _WIDTH) for height in heights]
            counts = [math.floor(box) for box in boxes[1:]]
            rests = [box - count for box, count in zip(boxes, counts, strict=False)]
            tail = 2 * _ENTRIES * heights[-1] / reach
            level = math.ceil(2 * sum(rests) + tail)
            shares = _shares(rests, level)
            while 2 * sum(shares) + math.ceil(_ENTRIES * tail / level) > _ENTRIES:
                level += 1
                shares = _shares(rests, level)
            self.tails = _ENTRIES - 2 * sum(shares)
            tail_chance = float(_ENTRIES * tail / level / self.tails)
        self.level, self.counts, self.shares = level, np.array(counts), np.array(shares)
        self._bins, self._proposed = _mirrored(self.counts), _mirrored(self.shares)
        self._first_left = np.uint64(len(self._bins) << 52)
        self._corners = _padded(_WIDTH * (self._bins - 1.0), 0.0)
        # In doubles the tail is at infinity, where φ is 0. Its floor and ceiling give the largest chance in the tail.
        self._proposed_corners = _padded(_WIDTH * (self._proposed - 1.0), math.inf)
        side = np.maximum(self._proposed, -1 - self._proposed)
        self._floors = _padded(self.counts[side] / (_ENTRIES * _WIDTH), -tail_chance)
        self._ceilings = _padded(level * self.shares[side] / (_ENTRIES**2 * _WIDTH), 1.0)
        self._acceptance = (_ENTRIES - len(self._bins)) / level

    def draw(self, count: int, strings: Callable[[int], Bits], widened: float = 1.0) -> tuple[Reals, int]:
        """Return independent N(0, 1) variables, and the number of proposals that doubles did not decide.

        Parameters
        ----------
        count : int
            Number of variables.
        strings : callable
            Returns a given number of uniform bit strings.
        widened : float
            Factor on the error bound of acceptance probabilities.
        """
        bits = strings(count)
        values = _places(self._corners, bits.words)
        left = np.flatnonzero(bits.words >= self._first_left)
        if not len(left):
            return Reals(values, _ERROR, lambda i, b: _place(bits, i, self._bins, b)), 0
        rest, refined = self._rest(len(left), strings, widened)
        values[left] = rest.values

        def ball(i: int, b: int) -> Ball:
            if bits.words[i] >= self._first_left:
                return rest.ball(int(np.searchsorted(left, i)), b)
            return _place(bits, i, self._bins, b)

        return Reals(values, rest.error, ball), refined

    def _rest(self, count: int, strings: Callable[[int], Bits], widened: float) -> tuple[Reals, int]:
        """Return variables with the density of the rest: the first proposals that are accepted."""
        parts: list[Reals] = []
        missing, refined = count, 0
        while missing > 0:
            # So many that another round is rarely needed.
            proposals = math.ceil((missing + 2 * math.sqrt(missing)) / self._acceptance)
            accepted, doubtful = self._accepted(strings(2 * proposals), widened)
            parts.append(accepted[:missing])
            missing -= len(accepted)
            refined += doubtful
        ends = np.cumsum([len(part) for part in parts])

        def ball(i: int, b: int) -> Ball:
            part = int(np.searchsorted(ends, i, side="right"))
            return parts[part].ball(i - int(ends[part]) + len(parts[part]), b)

        error = max(float(part.error) for part in parts)
        return Reals(np.concatenate([part.values for part in parts]), error, ball), refined

    def _accepted(self, pairs: Bits, widened: float) -> tuple[Reals, int]:
        """Return the proposals that are accepted, and the number of those that doubles did not decide.

        The first half of the strings are the proposals. The second half decides which of them are accepted.
        """
        half = len(pairs.words) // 2
        words, levels = pairs.words[:half], pairs.words[half:]
        values = _places(self._proposed_corners, words)
        margin = self._chances(values, words)
        margin -= (levels >> np.uint64(11)).view(np.int64) * 2.0**-53
        taken = margin > 0
        # Doubles only reject proposals in the tail. Negated, so that NaN counts as doubtful.
        doubtful = np.flatnonzero(~(np.abs(margin) > widened * _DOUBT) | (taken & np.isinf(values)))
        for i in doubtful.tolist():
            taken[i] = settled(lambda b, i=i: self._accepts(pairs, i, b))  # type: ignore[misc]
        at = np.flatnonzero(taken)
        values, error = values[at], _ERROR
        for j in np.flatnonzero(np.isinf(values)).tolist():
            values[j] = settled(lambda b, i=int(at[j]): double(self._proposal(pairs, i, b)))  # type: ignore[misc]
            error = max(error, 2.0**-52 * abs(values[j]))
        return Reals(values, error, lambda i, b: self._proposal(pairs, int(at[i]), b)), len(doubtful)

    def _chances(self, values: Floats, words: NDArray[np.uint64]) -> Floats:
        """Return the doubles of the acceptance probabilities, and of their largest value in the tail."""
        entries = (words >> _CHOICE).view(np.int64)
        chances = _density(values)
        chances -= self._floors.take(entries)
        chances /= self._ceilings.take(entries)
        return chances

    def _proposal(self, pairs: Bits, i: int, b: int) -> Ball:
        """Return a ball around the i-th proposal."""
        word = int(pairs.words[i])
        if word >> 52 < len(self._proposed):
            return _place(pairs, i, self._proposed, b)
        # The next bit is the sign, and the further ones are the uniform variable of x.
        x = -(pairs.ball(i, b) * 2**13 - (word >> 51)).log() / self.reach
        return -(self.reach + x) if word >> 51 & 1 else self.reach + x

    def _accepts(self, pairs: Bits, i: int, b: int) -> bool | None:
        """Return whether the i-th proposal is accepted, or None if b bits do not decide it."""
        level, chance = pairs.ball(len(pairs.words) // 2 + i, b), self._chance(pairs, i, b)
        return True if level < chance else False if level > chance else None

    def _chance(self, pairs: Bits, i: int, b: int) -> Ball:
        """Return a ball around the acceptance probability of the i-th proposal."""
        from flint import arb

        entry, z = int(pairs.words[i]) >> 52, self._proposal(pairs, i, b)
        if entry < len(self._proposed):
            density = (-z * z / 2).exp() / (2 * arb.pi()).sqrt()
            return (density - arb(self._floors[entry])) / arb(self._ceilings[entry])
        x, end = abs(z) - self.reach, arb(self.reach)
        largest = (-end * end / 2).exp() / (2 * arb.pi()).sqrt() * (2 * _ENTRIES**2) / (end * self.level * self.tails)
        return largest * (-x * x / 2).exp()


@cache
def rectangles() -> Rectangles:
    """Return the tables, which are made at the first call."""
    return Rectangles()


def _shares(rests: list[Decimal], level: int) -> list[int]:
    """Return the smallest q_k that let proposals cover the rest, given NH times the rest's maximum on each bin."""
    return [math.ceil(_ENTRIES * rest / level) for rest in rests]


def _mirrored(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each bin k ≥ 0 counts[k] times, and then each mirror image -1 - k as often."""
    bins = np.repeat(np.arange(len(counts)), counts)
    return np.concatenate([bins, -1 - bins])


def _padded(column: NDArray[np.floating[Any]], value: float) -> Floats:
    """Return a column of a table, with a value for the entries that are left."""
    return np.concatenate([column, np.full(_ENTRIES - len(column), value)])


def _places(corners: Floats, words: NDArray[np.uint64]) -> Floats:
    """Return the doubles of H·(bin + u), given H·(bin - 1) of each entry."""
    scratch = words >> _CHOICE
    values = corners.take(scratch.view(np.int64), mode="wrap")  # all entries exist; this mode does not check it
    np.bitwise_and(words, _MANTISSA, out=scratch)
    scratch |= _WIDTH_BITS
    values += scratch.view(np.float64)
    return values


def _place(bits: Bits, i: int, bins: NDArray[np.int64], b: int) -> Ball:
    """Return a ball around H·(bin + u), where u has the bits after the first 12."""
    from flint import arb

    entry = int(bits.words[i]) >> 52
    return (bits.ball(i, b) * _ENTRIES + (int(bins[entry]) - entry)) * arb(_WIDTH)


def _density(z: Floats) -> Floats:
    """Return φ(z)."""
    square = z * z
    square *= -0.5
    np.exp(square, out=square)
    square *= float(_PEAK)
    return square
