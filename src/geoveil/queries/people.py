"""Values of functions of many persons' points, whose rows are adjacent, without a call for each person.

They have the bounds of `evaluation`, which does the same for one person.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats
from geoveil.queries import evaluation

__all__ = ["extremes", "gyrations", "means", "medians", "midranges", "nearest"]

Sizes: TypeAlias = NDArray[np.int64]

#: Doubles add up so many whole parts exactly, and so many pieces of pieces without much rounding.
_MOST, _MOST_SQUARES = 2**16, evaluation.PIECE**2


def extremes(x: Floats, sizes: Sizes) -> Floats:
    """The smallest of each coordinate, then the largest, as (persons, 2, d)."""
    starts = _starts(sizes)
    return np.stack([np.minimum.reduceat(x, starts), np.maximum.reduceat(x, starts)], axis=1)


def midranges(x: Floats, sizes: Sizes) -> Floats:
    """The middle between the smallest and the largest of each coordinate."""
    ends = extremes(x, sizes)
    return np.asarray((ends[:, 0] + ends[:, 1]) / 2)


def medians(x: Floats, sizes: Sizes) -> Floats:
    """The median of each coordinate."""
    person, starts = np.repeat(np.arange(len(sizes)), sizes), _starts(sizes)
    columns = []
    for column in x.T:
        ordered = column[np.lexsort((column, person))]
        columns.append((ordered[starts + (sizes - 1) // 2] + ordered[starts + sizes // 2]) / 2)
    return np.column_stack(columns)


def means(x: Floats, sizes: Sizes) -> Floats:
    """The mean of the points: whole multiples of a unit are added up exactly, rests with some rounding."""
    unit, starts = evaluation.unit(x), _starts(sizes)
    scaled = x / unit
    whole = np.rint(scaled)
    scaled -= whole
    found = (np.add.reduceat(whole, starts) + np.add.reduceat(scaled, starts)) * unit / sizes[:, None]
    return _mended(found, x, sizes, sizes > _MOST, lambda part: evaluation.mean(part).values)


def gyrations(x: Floats, sizes: Sizes) -> Floats:
    """The root mean square distance to the mean: pieces are added up, and then what they give."""
    person = np.repeat(np.arange(len(sizes)), sizes)
    squares = np.square(x - means(x, sizes)[person]).sum(axis=1)
    first = _starts(sizes)
    pieces = np.flatnonzero((np.arange(len(x)) - first[person]) % evaluation.PIECE == 0)
    sums = np.add.reduceat(squares, pieces)
    found = np.sqrt(np.add.reduceat(sums, np.searchsorted(pieces, first)) / sizes)[:, None]
    return _mended(found, x, sizes, sizes > _MOST_SQUARES, lambda part: evaluation.gyration(part).values)


def nearest(distances: Floats, sizes: Sizes) -> Floats:
    """The smallest of each person's distances."""
    return np.minimum.reduceat(distances, _starts(sizes))[:, None]


def _mended(
    found: Floats, x: Floats, sizes: Sizes, large: NDArray[np.bool_], alone: Callable[[Floats], Floats]
) -> Floats:
    """What was found, but for persons with so many points that sums would round too often: theirs one by one."""
    ends = np.cumsum(sizes)
    for person in np.flatnonzero(large):
        found[person] = alone(x[ends[person] - sizes[person] : ends[person]])
    return found


def _starts(sizes: Sizes) -> Sizes:
    return np.asarray(np.cumsum(sizes) - sizes)
