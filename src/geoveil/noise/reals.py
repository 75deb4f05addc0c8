"""Real numbers: doubles with a bound on their error, and balls of any precision for where that does not decide."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from geoveil.processes import this_process

__all__ = ["Ball", "Floats", "Reals", "as_reals", "double", "largest", "ranked", "settled", "smallest", "stacked"]

Floats: TypeAlias = NDArray[np.float64]
#: An Arb ball, `flint.arb`: a real number is inside it for certain.
Ball: TypeAlias = Any

T = TypeVar("T")

#: Arb's precision is one for all threads. A smaller one than was asked for would cost time, not truth. Each process
#: has a lock of its own: one that a fork has copied may be held by a thread that the child does not have.
_precision: dict[tuple[int, bytes], Any] = {}


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

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice | list[int] | NDArray[Any]) -> Reals:
        """Return the numbers of some rows, in the order given."""
        width = math.prod(self.shape[1:])
        if isinstance(rows, slice):
            at: Any = range(len(self))[rows]
        else:
            at = np.asarray(rows, dtype=None if len(rows) else np.int64)
            at = np.flatnonzero(at) if at.dtype == bool else at

        def ball(i: int, bits: int) -> Ball:
            row, column = divmod(i, width)
            return self.ball(int(at[row]) * width + column, bits)

        error = self.error if np.ndim(self.error) == 0 else self.error[rows]
        return Reals(self.values[rows], error, ball)

    def columns(self) -> list[Reals]:
        """Return the columns of an (n, d) array."""
        return [self._column(j) for j in range(self.shape[1])]

    def _column(self, j: int) -> Reals:
        width = self.shape[1]
        error = self.error if np.ndim(self.error) == 0 else self.error[:, j]
        return Reals(self.values[:, j], error, lambda i, bits: self.ball(i * width + j, bits))

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


def largest(numbers: Reals) -> Reals:
    """Return the largest of some numbers, as an array without axes."""
    return ranked(numbers, len(numbers) - 1)


def smallest(numbers: Reals) -> Reals:
    """Return the smallest of some numbers, as an array without axes."""
    return ranked(numbers, 0)


def ranked(numbers: Reals, rank: int) -> Reals:
    """Return the number of some rank, from 0 for the smallest, as an array without axes.

    Moving every number by at most e moves the one of any rank by at most e. So if v is the double of that rank, all
    numbers whose doubles are below v - 2e are smaller and all above v + 2e are larger: the one that is looked for is
    among those in between, and its ball reaches from their ends below, in order, to their ends above.
    """
    values, error = numbers.values, float(np.max(numbers.error))
    last = len(values) - 1
    value = values.min() if rank == 0 else values.max() if rank == last else np.partition(values, rank)[rank]

    def ball(_: int, bits: int) -> Ball:
        # Differences of neighbouring doubles are exact; the product may round.
        shifts, doubt = values - value, 2 * error * (1 + 2.0**-50)
        near = np.flatnonzero(np.abs(shifts) <= doubt)
        if error == 0:  # all of them are the same number
            return numbers.ball(int(near[0]), bits)
        among = rank - int((shifts < -doubt).sum())
        balls = [numbers.ball(int(i), bits) for i in near]
        below, above = sorted(b.lower() for b in balls)[among], sorted(b.upper() for b in balls)[among]
        return below.union(above)

    return Reals(np.asarray(value), error, ball)


def stacked(parts: Sequence[Reals]) -> Reals:
    """Equally many numbers from each part, as the rows of one array."""
    width = parts[0].values.size
    error = np.array([np.broadcast_to(part.error, part.values.shape).ravel() for part in parts])
    return Reals(
        np.array([part.values.ravel() for part in parts]),
        error,
        lambda i, bits: parts[i // width].ball(i % width, bits),
    )


def double(ball: Ball) -> float | None:
    """Return the double nearest to a real number, or next to it, if the ball is small enough to say."""
    return float(ball.mid()) if ball.is_finite() and ball.rel_accuracy_bits() > 60 else None


def settled(attempt: Callable[[int], T | None]) -> T:
    """Return what an attempt gives, with as many bits of precision as it takes until it gives something."""
    from flint import ctx

    lock = _precision.setdefault(this_process(), threading.RLock())
    for bits in (128 << doubling for doubling in range(10)):
        with lock, ctx.workprec(bits + 64):
            found = attempt(bits)
        if found is not None:
            return found
    raise AssertionError("A decision that 65 536 random bits leave open has no probability.")
