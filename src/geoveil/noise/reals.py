"""Real numbers as doubles with error bounds, and as balls of any precision where doubles do not decide."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from geoveil.host.processes import this_process

__all__ = ["Ball", "Floats", "Reals", "as_reals", "double", "largest", "ranked", "settled", "smallest", "stacked"]

Floats: TypeAlias = NDArray[np.float64]
#: An Arb ball, `flint.arb`: an interval that is proven to contain a real number.
Ball: TypeAlias = Any

T = TypeVar("T")

#: Locks for Arb's precision, which all threads share. Without the lock results would still be correct, but slower to
#: reach. There is one lock for each process: a lock that a fork copies may be held by a thread that the child lacks.
_PRECISION_LOCKS: dict[tuple[int, bytes], threading.RLock] = {}


@dataclass(frozen=True)
class Reals:
    """Real numbers, each known as a double and, on demand, to any precision.

    Parameters
    ----------
    values : array
        The doubles.
    error : float or array
        Bound on the distance of each double from its real number.
    ball : callable
        Returns a ball that contains the i-th real number (of the flattened array), given a precision in bits. The
        ball shrinks to a point as the precision grows.
    total : callable, optional
        Returns a ball that contains the sum of a range of the numbers, if that is faster than adding their balls.
    """

    values: Floats
    error: float | Floats
    ball: Callable[[int, int], Ball]
    total: Callable[[int, int, int], Ball] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice | list[int] | NDArray[Any]) -> Reals:
        """Return the given rows, in the given order."""
        width = math.prod(self.shape[1:])
        at: Sequence[int] | NDArray[np.intp]
        if isinstance(rows, slice):
            at = range(len(self))[rows]
        else:
            at = np.asarray(rows, dtype=None if len(rows) else np.int64)
            at = np.flatnonzero(at) if at.dtype == bool else at

        def ball(i: int, bits: int) -> Ball:
            row, column = divmod(i, width)
            return self.ball(int(at[row]) * width + column, bits)

        error = self.error if np.ndim(self.error) == 0 else np.asarray(self.error)[rows]
        return Reals(self.values[rows], error, ball)

    def columns(self) -> list[Reals]:
        """Return the columns of an (n, d) array."""
        return [self._column(j) for j in range(self.shape[1])]

    def _column(self, j: int) -> Reals:
        width = self.shape[1]
        error = self.error if np.ndim(self.error) == 0 else np.asarray(self.error)[:, j]
        return Reals(self.values[:, j], error, lambda i, bits: self.ball(i * width + j, bits))

    def reshaped(self, *shape: int) -> Reals:
        """Return the same numbers in another shape."""
        error = self.error if np.ndim(self.error) == 0 else np.reshape(self.error, shape)
        return replace(self, values=self.values.reshape(shape), error=error)

    def sum(self, start: int, stop: int, bits: int) -> Ball:
        """Return a ball that contains the sum of the numbers start, ..., stop - 1."""
        if self.total is not None and stop - start > 8:
            return self.total(start, stop, bits)
        return sum(self.ball(i, bits) for i in range(start, stop))


def as_reals(values: Floats | Reals) -> Reals:
    """Return doubles as real numbers without error; real numbers are returned unchanged."""
    if isinstance(values, Reals):
        return values

    def ball(i: int, bits: int) -> Ball:
        from flint import arb

        return arb(float(values.flat[i]))

    return Reals(values, 0.0, ball)


def largest(numbers: Reals) -> Reals:
    """Return the largest number, as a zero-dimensional array."""
    return ranked(numbers, len(numbers) - 1)


def smallest(numbers: Reals) -> Reals:
    """Return the smallest number, as a zero-dimensional array."""
    return ranked(numbers, 0)


def ranked(numbers: Reals, rank: int) -> Reals:
    """Return the number of a given rank, 0 for the smallest, as a zero-dimensional array.

    Moving every number by at most e moves the number of any rank by at most e. Let v be the double of the given rank.
    Then all numbers whose doubles are below v - 2e are smaller than the result, and all whose doubles are above v + 2e
    are larger. The result is among the others: it lies between the lower end and the upper end of the same rank among
    their balls.
    """
    values, error = numbers.values, float(np.max(numbers.error))
    last = len(values) - 1
    value = values.min() if rank == 0 else values.max() if rank == last else np.partition(values, rank)[rank]

    def ball(_: int, bits: int) -> Ball:
        # Differences of neighbouring doubles are exact; the product may round.
        shifts, doubt = values - value, 2 * error * (1 + 2.0**-50)
        near = np.flatnonzero(np.abs(shifts) <= doubt)
        if error == 0:  # all candidates are the same number
            return numbers.ball(int(near[0]), bits)
        among = rank - int((shifts < -doubt).sum())
        balls = [numbers.ball(int(i), bits) for i in near]
        below, above = sorted(b.lower() for b in balls)[among], sorted(b.upper() for b in balls)[among]
        return below.union(above)

    return Reals(np.asarray(value), error, ball)


def stacked(parts: Sequence[Reals]) -> Reals:
    """Return parts of equal size as the rows of one array."""
    width = parts[0].values.size
    error = np.array([np.broadcast_to(part.error, part.values.shape).ravel() for part in parts])
    return Reals(
        np.array([part.values.ravel() for part in parts]),
        error,
        lambda i, bits: parts[i // width].ball(i % width, bits),
    )


def double(ball: Ball) -> float | None:
    """Return a double within one unit in the last place of the real number, or None if the ball is too wide."""
    return float(ball.mid()) if ball.is_finite() and ball.rel_accuracy_bits() > 60 else None


def settled(attempt: Callable[[int], T | None]) -> T:
    """Return the first result that is not None of `attempt(bits)`, for 128 bits of precision, 256, and so on."""
    from flint import ctx

    lock = _PRECISION_LOCKS.setdefault(this_process(), threading.RLock())
    for bits in (128 << doubling for doubling in range(10)):
        with lock, ctx.workprec(bits + 64):
            value = attempt(bits)
        if value is not None:
            return value
    raise AssertionError("65,536 random bits left a decision open, which has probability 0.")
