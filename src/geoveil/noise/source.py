"""Where randomness comes from: a cryptographic keystream, or a numpy generator in tests and experiments.

Nothing outside this package draws a random number.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidParameter
from geoveil.noise.keystream import random_bytes

__all__ = ["Entropy", "Experiment", "Source", "rehearsal", "source_of"]

Floats = NDArray[np.float64]
Shape = int | tuple[int, ...]


class Source(ABC):
    """A stream of independent random variables in doubles."""

    #: Why what is drawn is not the ideal distribution to the last bit.
    inexact: str

    @abstractmethod
    def uniform(self, size: Shape) -> Floats:
        """Uniform on the open interval (0, 1)."""

    @abstractmethod
    def normal(self, size: Shape) -> Floats:
        """Standard normal."""

    @abstractmethod
    def exponential(self, size: Shape) -> Floats:
        """Exponential of mean 1."""


class Entropy(Source):
    """A cryptographic generator keyed from the operating system; never seeded, never repeated.

    Parameters
    ----------
    read : callable, optional
        Gives so many random bytes.
    """

    inexact = "noise is computed in double precision"

    def __init__(self, read: Callable[[int], bytes] = random_bytes) -> None:
        self._read = read

    def uniform(self, size: Shape) -> Floats:
        bits = np.frombuffer(self._read(8 * math.prod(np.atleast_1d(size))), dtype=np.uint64)
        # 52 bits and a half fit a double: neither 0 nor 1 can come out.
        return ((bits >> np.uint64(12)).astype(float).reshape(size) + 0.5) * 2.0**-52

    def normal(self, size: Shape) -> Floats:
        count = math.prod(np.atleast_1d(size))
        pairs = (count + 1) // 2
        radius = np.sqrt(2 * self.exponential(pairs))
        angle = 2 * np.pi * self.uniform(pairs)
        return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count].reshape(size)

    def exponential(self, size: Shape) -> Floats:
        return np.asarray(-np.log(self.uniform(size)))


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

    def uniform(self, size: Shape) -> Floats:
        return np.maximum(self._generator.random(size), 2.0**-54)

    def normal(self, size: Shape) -> Floats:
        return self._generator.standard_normal(size)

    def exponential(self, size: Shape) -> Floats:
        return self._generator.standard_exponential(size)


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
