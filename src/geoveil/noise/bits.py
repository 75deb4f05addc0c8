"""Uniform random variables as endless strings of bits, drawn when they are needed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from geoveil.noise.reals import Ball

__all__ = ["Bits"]


class Bits:
    """Independent uniform variables on (0, 1): 64 bits of each at first, and further bits on demand.

    Bits that were drawn are kept, so that a variable has the same value however often and precisely it is read.

    Parameters
    ----------
    count : int
        Number of variables.
    read : callable
        Returns a given number of random bytes.
    """

    def __init__(self, count: int, read: Callable[[int], bytes]) -> None:
        #: The first 64 bits of each variable, as whole numbers.
        self.words: NDArray[np.uint64] = np.frombuffer(read(8 * count), dtype=np.uint64)
        self._read = read
        self._longer: dict[int, tuple[int, int]] = {}

    def leading(self, i: int, count: int) -> int:
        """Return the first `count` bits of the i-th variable, as a whole number below 2^count."""
        drawn, known = self._longer.get(i) or (int(self.words[i]), 64)
        if known < count:
            fresh = (count - known + 7) // 8
            drawn = drawn << 8 * fresh | int.from_bytes(self._read(fresh), "big")
            known += 8 * fresh
            self._longer[i] = drawn, known
        return drawn >> known - count

    def ball(self, i: int, count: int) -> Ball:
        """Return a ball that contains the i-th variable, given its first `count` bits."""
        from flint import arb

        middle = 2 * self.leading(i, count) + 1
        return arb((middle, -count - 1), (1, -count - 1))

    def minus_log_product(self, start: int, stop: int, count: int) -> Ball:
        """Return a ball that contains -log of the product of the variables start, ..., stop - 1, by one logarithm.

        The bits not drawn add at most Σ 1/words to the logarithm. For up to 128 bits the first 64 bits of each
        variable suffice: a sum of many terms is large, and its relative error is what matters.
        """
        from flint import arb

        if count <= 128:
            count = 64
            words = self.words[start:stop].tolist()
            with np.errstate(divide="ignore"):
                undrawn = arb(float((1 / self.words[start:stop]).sum()) * (1 + 2.0**-20))
        else:
            words = [self.leading(i, count) for i in range(start, stop)]
            undrawn = arb(len(words)) / arb(min(words))
        product = arb(1)
        for i in range(0, len(words), 16):
            product *= arb(math.prod(words[i : i + 16]))
        largest = arb(2).log() * (count * len(words)) - product.log()
        return largest.union(largest - undrawn)
