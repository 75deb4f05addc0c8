"""Where randomness comes from: a cryptographic keystream, or a numpy generator in tests and experiments.

Nothing outside this package draws a random number.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from geoveil.arithmetic import inaccurate
from geoveil.errors import InvalidParameter
from geoveil.noise.bits import Bits
from geoveil.noise.keystream import random_bytes
from geoveil.noise.reals import Ball, Floats, Reals, double, settled

__all__ = ["ACCURACY", "Entropy", "Experiment", "Source", "rehearsal", "source_of"]

#: What numpy's log, log1p, exp, expm1 and sin are trusted to be, relatively: 2048 units in the last place. They are
#: a thousand times as good; `arithmetic.inaccurate` looks at them on every machine, a test looks closely.
ACCURACY = 2.0**-41
#: Words so near 0, or so near 2^64, stand for variables that doubles do not know well enough.
_EDGE, _FAR_EDGE = 2**44, 2**34
#: A byte of at most this has that many zeros in front.
_HEADS = ((256 >> np.arange(9)) - 1).astype(np.uint8)


class Source(ABC):
    """A stream of independent random variables, each a real number."""

    #: Why what is drawn is not the ideal distribution to the last bit; empty if it is.
    inexact: str
    #: How many numbers and decisions took more than doubles.
    refined = 0
    #: Bounds on errors are taken so many times as wide: more is refined, and nothing may change.
    widened = 1.0

    @property
    def exact(self) -> bool:
        """Whether doubles are no more than a fast way to the ideal distribution."""
        return not self.inexact

    @property
    def accuracy(self) -> float:
        """An exponential variable E is known to this, times 1 + E."""
        return ACCURACY if self.exact else 0.0

    @abstractmethod
    def uniform(self, count: int) -> Reals:
        """Uniform on (0, 1)."""

    @abstractmethod
    def exponential(self, count: int) -> Reals:
        """Exponential of mean 1."""

    @abstractmethod
    def gumbel(self, count: int) -> Reals:
        """Standard Gumbel."""

    @abstractmethod
    def normal(self, count: int) -> Reals:
        """Standard normal."""

    @abstractmethod
    def octets(self, count: int) -> bytes:
        """Uniform bytes."""

    def below(self, bound: int) -> int:
        """A uniform whole number from 0 to bound - 1."""
        if bound < 1:
            raise ValueError(f"No whole number is below {bound} and at least 0.")
        bits = (bound - 1).bit_length()
        size = (bits + 7) // 8
        while (drawn := int.from_bytes(self.octets(size), "big") >> 8 * size - bits) >= bound:
            pass
        return drawn

    def heads(self, tosses: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.intp]:
        """Where so many tosses of a fair coin all show heads: tosses[i] at each of counts[i] places.

        There may be up to 72 tosses, more of them at later places.
        """
        ends = np.cumsum(counts)
        first = np.frombuffer(self.octets(int(ends[-1])), dtype=np.uint8)
        left = (first <= _HEADS[np.minimum(tosses, 8)].repeat(counts)).nonzero()[0]
        # Eight tosses leave so few that the others cost nothing.
        cut = int(left.searchsorted(counts[tosses <= 8].sum()))
        if cut < len(left):
            more = tosses[ends.searchsorted(left[cut:], side="right")] - 8
            words = np.frombuffer(self.octets(8 * len(more)), dtype=np.uint64)
            left = np.concatenate([left[:cut], left[cut:][words >> (64 - more).astype(np.uint64) == 0]])
        return left


class Entropy(Source):
    """Ideal random variables from a cryptographic generator keyed from the operating system; never seeded.

    Every variable is a closed form of uniform bit strings. Doubles know it to a bound that covers the bits not drawn,
    the rounding of each step, and `ACCURACY` for numpy's functions; docs/exactness.md derives the bounds. Where a
    string is so near 0 or 1 that the bound would not hold, the double comes from a ball. Where numpy's functions are
    not as accurate as that, everything that is released comes from balls.

    Parameters
    ----------
    read : callable, optional
        Gives so many random bytes.
    widened : float
        Take bounds so many times as wide.
    """

    inexact = ""

    def __init__(self, read: Callable[[int], bytes] = random_bytes, *, widened: float = 1.0) -> None:
        self._read = read
        # Bounds say nothing where numpy is not what they trust it to be: then nothing is left to doubles.
        self.widened = math.inf if inaccurate() else widened

    def uniform(self, count: int) -> Reals:
        bits = Bits(count, self._read)
        return Reals(_fractions(bits), 2.0**-52, bits.ball)

    def exponential(self, count: int) -> Reals:
        bits = Bits(count, self._read)
        drawn = Reals(_minus_log(bits), 2.0**-37, lambda i, b: -bits.ball(i, b).log(), bits.minus_log_product)
        self._mend(np.flatnonzero(bits.words < np.uint64(_EDGE)), drawn)
        return drawn

    def gumbel(self, count: int) -> Reals:
        bits = Bits(count, self._read)
        values = _minus_log(bits)
        np.maximum(values, 2.0**-64, out=values)
        np.log(values, out=values)
        np.negative(values, out=values)
        drawn = Reals(values, 2.0**-22, lambda i, b: -(-bits.ball(i, b).log()).log())
        self._mend(_at_edges(bits, _FAR_EDGE), drawn)
        return drawn

    def normal(self, count: int) -> Reals:
        pairs = (count + 1) // 2
        lengths, angles = Bits(pairs, self._read), Bits(pairs, self._read)
        radius = _minus_log(lengths)
        radius *= 2
        np.sqrt(radius, out=radius)
        values = np.empty(2 * pairs)
        for half, part in zip(np.split(values, 2), _cosine_and_sine(angles.words), strict=True):
            np.multiply(radius, part, out=half)

        def ball(i: int, b: int) -> Ball:
            sine, cosine = (2 * angles.ball(i % pairs, b)).sin_cos_pi()
            return (-2 * lengths.ball(i % pairs, b).log()).sqrt() * (cosine if i < pairs else sine)

        drawn = Reals(values, 2.0**-36, ball)
        edges = _at_edges(lengths, _EDGE)
        self._mend(np.concatenate([edges, edges + pairs]), drawn)
        return Reals(values[:count], drawn.error, ball)

    def turn(self, count: int) -> tuple[Reals, Reals]:
        """The cosine and the sine of a uniform angle."""
        bits = Bits(count, self._read)
        cosine, sine = _cosine_and_sine(bits.words)
        return (
            Reals(cosine, 4 * ACCURACY, lambda i, b: (2 * bits.ball(i, b)).cos_pi()),
            Reals(sine, 4 * ACCURACY, lambda i, b: (2 * bits.ball(i, b)).sin_pi()),
        )

    def octets(self, count: int) -> bytes:
        return self._read(count)

    def _mend(self, places: NDArray[np.intp], drawn: Reals) -> None:
        """Put doubles from balls where the fast way does not keep its bound."""
        for i in places:
            self.refined += 1
            drawn.values[i] = settled(lambda bits, i=int(i): double(drawn.ball(i, bits)))  # type: ignore[misc]


def _fractions(bits: Bits) -> Floats:
    """Without the last bit: processors turn signed numbers into doubles much faster than unsigned ones."""
    return np.multiply((bits.words >> np.uint64(1)).view(np.int64), 2.0**-63)


def _minus_log(bits: Bits) -> Floats:
    """What is at an edge comes out finite, and is mended."""
    values = _fractions(bits)
    np.maximum(values, 2.0**-64, out=values)
    np.log(values, out=values)
    return np.abs(values, out=values)


def _cosine_and_sine(words: NDArray[np.uint64]) -> tuple[Floats, Floats]:
    """Of 2π times the variables that begin so.

    Half turns are a matter of bits, and only set signs. With s the sine of half of what is left, which is within π/4,
    cosine and sine are 1 - 2s² and 2s·√(1-s²): one sine instead of two slower functions.
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
    """Where words are less than `width` from 0 or from 2^64."""
    return np.flatnonzero(bits.words - np.uint64(width) >= np.uint64(2**64 - 2 * width))


class Experiment(Source):
    """A numpy generator, for tests and experiments: fast, repeatable and predictable.

    Parameters
    ----------
    generator : numpy.random.Generator
        What draws.
    """

    inexact = "noise comes from a numpy generator, in double precision: for tests and experiments only"

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def uniform(self, count: int) -> Reals:
        return _plain(np.maximum(self._generator.random(count), 2.0**-54))

    def exponential(self, count: int) -> Reals:
        return _plain(self._generator.standard_exponential(count))

    def gumbel(self, count: int) -> Reals:
        return _plain(-np.log(self._generator.standard_exponential(count)))

    def normal(self, count: int) -> Reals:
        return _plain(self._generator.standard_normal(count))

    def octets(self, count: int) -> bytes:
        return self._generator.integers(2**64, size=(count + 7) // 8, dtype=np.uint64).tobytes()[:count]

    def below(self, bound: int) -> int:
        return int(self._generator.random() * bound)


def _plain(values: Floats) -> Reals:
    def ball(i: int, bits: int) -> Ball:
        raise TypeError("A numpy generator gives doubles and nothing more.")

    return Reals(values, 0.0, ball)


def rehearsal() -> Source:
    """The same noise every time, for plans: it never meets anyone's data."""
    return Experiment(np.random.default_rng(0))


def source_of(rng: np.random.Generator | None) -> Source:
    """The keystream for None, else the generator given."""
    if rng is None:
        return Entropy()
    if isinstance(rng, np.random.Generator):
        return Experiment(rng)
    raise InvalidParameter(
        "rng",
        rng,
        "None or a numpy.random.Generator",
        "Leave it out for real releases; use numpy.random.default_rng(seed) in tests.",
    )
