"""Sources of randomness: a cryptographic keystream, or a numpy generator for tests and experiments.

Nothing outside this package draws random numbers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidParameter
from geoveil.host.arithmetic import inaccurate
from geoveil.noise.bits import Bits
from geoveil.noise.keystream import random_bytes
from geoveil.noise.reals import Ball, Floats, Reals, double, settled
from geoveil.noise.rectangles import rectangles

__all__ = ["ACCURACY", "Entropy", "Experiment", "Source", "rehearsal", "source_of"]

#: Assumed bound on the relative error of numpy's log, log1p, exp, expm1 and sin: 2048 units in the last place. They
#: are a thousand times as accurate; `arithmetic.inaccurate` checks them on every machine, and a test in detail.
ACCURACY = 2.0**-41
#: Distances of a word from 0 or 2^64 below which doubles do not compute its variable accurately enough.
_EDGE, _FAR_EDGE = 2**44, 2**34
#: Entry k is the largest byte with k leading zeros.
_HEADS = ((256 >> np.arange(9)) - 1).astype(np.uint8)


class Source(ABC):
    """A stream of independent random variables, each a real number."""

    #: Why the numbers do not follow the ideal distribution exactly; empty if they do.
    inexact: str
    #: Number of values and decisions that needed more precision than doubles have.
    refined = 0
    #: Factor on all error bounds. A larger one computes more values with balls, and must not change any result.
    widened = 1.0

    @property
    def exact(self) -> bool:
        """Whether results follow the ideal distribution exactly."""
        return not self.inexact

    @property
    def accuracy(self) -> float:
        """The error of an exponential variable E, divided by 1 + E, is at most this."""
        return ACCURACY if self.exact else 0.0

    @abstractmethod
    def uniform(self, count: int) -> Reals:
        """Return uniform variables on (0, 1)."""

    @abstractmethod
    def exponential(self, count: int) -> Reals:
        """Return exponential variables of mean 1."""

    @abstractmethod
    def gumbel(self, count: int) -> Reals:
        """Return standard Gumbel variables."""

    @abstractmethod
    def normal(self, count: int) -> Reals:
        """Return standard normal variables."""

    @abstractmethod
    def octets(self, count: int) -> bytes:
        """Return uniform random bytes."""

    def below(self, bound: int) -> int:
        """Return a uniform whole number from 0 to bound - 1."""
        if bound < 1:
            raise ValueError(f"bound = {bound}: must be at least 1.")
        bits = (bound - 1).bit_length()
        size = (bits + 7) // 8
        while (drawn := int.from_bytes(self.octets(size), "big") >> 8 * size - bits) >= bound:
            pass
        return drawn

    def heads(self, tosses: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the positions at which all tosses of a fair coin show heads.

        There are tosses[i] tosses at each of the next counts[i] positions. `tosses` is at most 72 and must not
        decrease.
        """
        ends = np.cumsum(counts)
        first = np.frombuffer(self.octets(int(ends[-1])), dtype=np.uint8)
        left = (first <= _HEADS[np.minimum(tosses, 8)].repeat(counts)).nonzero()[0]
        # Few positions are left after eight tosses, so the remaining tosses cost little.
        cut = int(left.searchsorted(counts[tosses <= 8].sum()))
        if cut < len(left):
            more = tosses[ends.searchsorted(left[cut:], side="right")] - 8
            words = np.frombuffer(self.octets(8 * len(more)), dtype=np.uint64)
            left = np.concatenate([left[:cut], left[cut:][words >> (64 - more).astype(np.uint64) == 0]])
        return left


class Entropy(Source):
    """Ideal random variables from a cryptographic generator with a key from the operating system; never seeded.

    Every variable is a closed formula of uniform bit strings, or one of several that comparisons of strings choose
    (`rectangles`). Its double has an error bound that covers the bits not drawn, the rounding of each step, and
    `ACCURACY` for numpy's functions; ROUNDING.md derives the bounds. Where a bit string is so near 0
    or 1 that the bound would not hold, the double is computed from a ball. If numpy's functions are less accurate than
    `ACCURACY` on this machine, everything that is released is computed from balls.

    Parameters
    ----------
    read : callable, optional
        Returns a given number of random bytes.
    widened : float
        Factor on all error bounds, for tests.
    """

    inexact = ""

    def __init__(self, read: Callable[[int], bytes] = random_bytes, *, widened: float = 1.0) -> None:
        self._read = read
        # Without accurate numpy functions the bounds do not hold: then nothing is decided by doubles.
        self.widened = math.inf if inaccurate() else widened

    def uniform(self, count: int) -> Reals:
        bits = self._strings(count)
        return Reals(_fractions(bits), 2.0**-52, bits.ball)

    def exponential(self, count: int) -> Reals:
        bits = self._strings(count)
        drawn = Reals(_minus_log(bits), 2.0**-37, lambda i, b: -bits.ball(i, b).log(), bits.minus_log_product)
        self._refine(np.flatnonzero(bits.words < np.uint64(_EDGE)), drawn)
        return drawn

    def gumbel(self, count: int) -> Reals:
        bits = self._strings(count)
        values = _minus_log(bits)
        np.maximum(values, 2.0**-64, out=values)
        np.log(values, out=values)
        np.negative(values, out=values)
        drawn = Reals(values, 2.0**-22, lambda i, b: -(-bits.ball(i, b).log()).log())
        self._refine(_at_edges(bits, _FAR_EDGE), drawn)
        return drawn

    def normal(self, count: int) -> Reals:
        drawn, refined = rectangles().draw(count, self._strings, self.widened)
        self.refined += refined
        return drawn

    def cosine_and_sine(self, count: int) -> tuple[Reals, Reals]:
        """Return the cosine and the sine of uniform angles."""
        bits = self._strings(count)
        cosine, sine = _cosine_and_sine(bits.words)
        return (
            Reals(cosine, 4 * ACCURACY, lambda i, b: (2 * bits.ball(i, b)).cos_pi()),
            Reals(sine, 4 * ACCURACY, lambda i, b: (2 * bits.ball(i, b)).sin_pi()),
        )

    def octets(self, count: int) -> bytes:
        return self._read(count)

    def _strings(self, count: int) -> Bits:
        """Return uniform bit strings."""
        return Bits(count, self._read)

    def _refine(self, indices: NDArray[np.intp], drawn: Reals) -> None:
        """Recompute the doubles at these indices from balls, where fast arithmetic does not keep the error bound."""
        for i in indices:
            self.refined += 1
            drawn.values[i] = settled(lambda bits, i=int(i): double(drawn.ball(i, bits)))  # type: ignore[misc]


def _fractions(bits: Bits) -> Floats:
    """Return the variables as doubles.

    The last bit is left out: processors convert signed integers to doubles much faster than unsigned ones.
    """
    return np.multiply((bits.words >> np.uint64(1)).view(np.int64), 2.0**-63)


def _minus_log(bits: Bits) -> Floats:
    """Return -log of the variables; near 0 and 1 the result is finite but inaccurate, and must be refined."""
    values = _fractions(bits)
    np.maximum(values, 2.0**-64, out=values)
    np.log(values, out=values)
    return np.abs(values, out=values)


def _cosine_and_sine(words: NDArray[np.uint64]) -> tuple[Floats, Floats]:
    """Return cos and sin of 2π·u for uniforms u given by their leading 64 bits.

    A half turn changes only the signs, which follow from the leading bits. The remaining angle is within ±π/2. With s
    the sine of half of it, cosine and sine are 1 - 2s² and 2s·√(1-s²): one sine instead of two slower functions.
    """
    half = (words << np.uint64(1)).view(np.int64) * (np.pi * 2.0**-65)
    sine = np.sin(half, out=half)
    square = sine * sine
    cosine = np.subtract(1, square)
    sine *= np.sqrt(cosine)
    sine *= 2
    cosine -= square
    sign = words + np.uint64(2**62)
    sign &= np.uint64(2**63)
    for part in (cosine, sine):
        part.view(np.uint64)[:] ^= sign
    return cosine, sine


def _at_edges(bits: Bits, width: int) -> NDArray[np.intp]:
    """Return the indices of words that are less than `width` from 0 or from 2^64."""
    return np.flatnonzero(bits.words - np.uint64(width) >= np.uint64(2**64 - 2 * width))


class Experiment(Source):
    """Random variables from a numpy generator, for tests and experiments: fast, repeatable and predictable.

    Parameters
    ----------
    generator : numpy.random.Generator
        The generator.
    """

    inexact = "noise comes from a numpy generator, in double precision: for tests and experiments only"

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def uniform(self, count: int) -> Reals:
        return _plain(np.maximum(self.generator.random(count), 2.0**-54))

    def exponential(self, count: int) -> Reals:
        return _plain(self.generator.standard_exponential(count))

    def gumbel(self, count: int) -> Reals:
        return _plain(-np.log(self.generator.standard_exponential(count)))

    def normal(self, count: int) -> Reals:
        return _plain(self.generator.standard_normal(count))

    def octets(self, count: int) -> bytes:
        return self.generator.integers(2**64, size=(count + 7) // 8, dtype=np.uint64).tobytes()[:count]

    def below(self, bound: int) -> int:
        return int(self.generator.random() * bound)


def _plain(values: Floats) -> Reals:
    """Return doubles as real numbers that cannot be refined."""

    def ball(i: int, bits: int) -> Ball:
        raise TypeError("The numbers of a numpy generator have no more precision than doubles.")

    return Reals(values, 0.0, ball)


def rehearsal() -> Source:
    """Return a source with a fixed seed, for plans, which use no private data."""
    return Experiment(np.random.default_rng(0))


def source_of(rng: np.random.Generator | None) -> Source:
    """Return the exact source for None, or one that draws from the given generator."""
    if rng is None:
        return Entropy()
    if isinstance(rng, np.random.Generator):
        return Experiment(rng)
    raise InvalidParameter(
        "rng",
        rng,
        "None or a numpy.random.Generator",
        "Leave it out for real releases. In tests, use numpy.random.default_rng(seed).",
    )
