"""Real numbers: doubles with a bound on their error, and balls of any precision for where that does not decide."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ball", "Floats", "Reals", "as_reals", "largest", "settled", "smallest", "stacked", "taken"]

Floats: TypeAlias = NDArray[np.float64]
#: An Arb ball, `flint.arb`: a real number is inside it for certain.
Ball: TypeAlias = Any

T = TypeVar("T")

#: Arb's precision is one for all threads. A smaller one than was asked for would cost time, not truth.
_precision = threading.RLock()


def _free() -> None:
    """In a forked child no other thread is left to give the precision back."""
    global _precision
    _precision = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free)


@dataclass(frozen=True)
class Reals:
    """Real numbers, each known as a double and, on demand, to any precision.

    Parameters
    ----------
    values : array
        The doubles.
    error : float or array
        None of them is farther from its real number than this.
    ball : callable
        Gives a ball that contains the i-th real number (of the flattened array), for so many bits of precision; it
        shrinks to a point as they grow.
    total : callable, optional
        Gives a ball that contains the sum of a range of them, where there is a faster way than adding up.
    """

    values: Floats
    error: Any
    ball: Callable[[int, int], Ball]
    total: Callable[[int, int, int], Ball] | None = None

    def reshaped(self, *shape: int) -> Reals:
        """The same numbers in another shape."""
        error = self.error if np.ndim(self.error) == 0 else np.reshape(self.error, shape)
        return replace(self, values=self.values.reshape(shape), error=error)

    def sum(self, start: int, stop: int, bits: int) -> Ball:
        """A ball that contains the sum of those from start to before stop."""
        if self.total is not None and stop - start > 8:
            return self.total(start, stop, bits)
        return sum(self.ball(i, bits) for i in range(start, stop))


def as_reals(values: Floats | Reals) -> Reals:
    """Doubles as the real numbers that they are."""
    if isinstance(values, Reals):
        return values

    def ball(i: int, bits: int) -> Ball:
        from flint import arb

        return arb(float(values.flat[i]))

    return Reals(values, 0.0, ball)


def taken(of: Reals, places: NDArray[np.int64]) -> Reals:
    """Those at the places given, in their order."""
    error = of.error if np.ndim(of.error) == 0 else of.error[places]
    return Reals(of.values[places], error, lambda i, bits: of.ball(int(places[i]), bits))


def largest(candidates: Reals) -> Reals:
    """The largest of them, as an array without axes."""
    values, error = candidates.values, float(np.max(candidates.error))

    def ball(_: int, bits: int) -> Ball:
        near = np.flatnonzero(values >= values.max() - 2 * error)
        return functools.reduce(lambda a, b: a.max(b), (candidates.ball(int(i), bits) for i in near))

    return Reals(np.asarray(values.max()), error, ball)


def smallest(candidates: Reals) -> Reals:
    """The smallest of them, as an array without axes."""
    values, error = candidates.values, float(np.max(candidates.error))

    def ball(_: int, bits: int) -> Ball:
        near = np.flatnonzero(values <= values.min() + 2 * error)
        return functools.reduce(lambda a, b: a.min(b), (candidates.ball(int(i), bits) for i in near))

    return Reals(np.asarray(values.min()), error, ball)


def stacked(parts: Sequence[Reals]) -> Reals:
    """Equally many numbers from each part, as the rows of one array."""
    width = parts[0].values.size
    error = np.array([np.broadcast_to(part.error, part.values.shape).ravel() for part in parts])
    return Reals(
        np.array([part.values.ravel() for part in parts]),
        error,
        lambda i, bits: parts[i // width].ball(i % width, bits),
    )


def settled(attempt: Callable[[int], T | None]) -> T:
    """What an attempt gives with as many bits of precision as it takes until it gives something."""
    from flint import ctx

    for bits in (128 << doubling for doubling in range(10)):
        with _precision, ctx.workprec(bits + 64):
            found = attempt(bits)
        if found is not None:
            return found
    raise AssertionError("A decision that 65 536 random bits leave open has no probability.")
