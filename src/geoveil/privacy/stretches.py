"""The number of points that a stretch of time can hold: the size of a unit such as any day of a person's movements.

Times and persons are public, so these numbers are, too. A stretch of length T begins at any moment t and ends at
t + T. Both ends belong to it.

Times are whole microseconds, rounded from real times by a function r that never decreases and with r(t + 1) = r(t) + 1
(`geoveil.geo.seconds`). If t ≤ t' ≤ t + T for a whole number T, then r(t) ≤ r(t') ≤ r(t + T) = r(t) + T. So points in
one stretch of real time are in one stretch of rounded times, and no unit is counted too small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Index",
    "kept_of_thinned",
    "largest_stretch_sum",
    "regular_stretch_size",
    "stretch_sizes",
    "trip_stretch_sizes",
]

Index: TypeAlias = NDArray[np.int64]

#: Times of many persons are laid one after another on one axis, which whole microseconds of 64 bits must hold.
_AXIS = 2**62


def stretch_sizes(times: Index, stretch: int, persons: Index | None = None) -> Index:
    """Return for each point the largest number of its person's points in a stretch of time that holds the point.

    Parameters
    ----------
    times : array of int
        The public time of each point, in microseconds from any beginning.
    stretch : int
        The length of the stretch in microseconds.
    persons : array of int, optional
        The person of each point, as a number from 0; by default all points are one person's.

    Notes
    -----
    Move a stretch that holds a point to the right until it begins at one of its points: it loses none. So stretches
    that begin at a point suffice. The one that begins at point k (in order of time) holds the points k to e_k - 1, and
    holds point i if k ≤ i < e_k. Since e_k grows with k, these k are the range from the first with e_k > i to i.

    Examples
    --------
    >>> hours = np.array([0, 1, 2, 30, 31, 90]) * 3600 * 10**6
    >>> stretch_sizes(hours, 24 * 3600 * 10**6)
    array([3, 3, 3, 2, 2, 1])
    """
    sizes = np.empty(len(times), dtype=np.int64)
    for order, axis in _axes(times, persons, gap=stretch):
        at = np.arange(len(axis))
        ends = np.searchsorted(axis, axis + stretch, side="right")
        first = np.searchsorted(ends, at, side="right")
        sizes[order] = _range_maxima(ends - at, first)
    return sizes


def trip_stretch_sizes(first: Index, last: Index, stretch: int, persons: Index | None = None) -> Index:
    """Return for each trip the largest number of its person's trips, itself included, that one stretch of time moves.

    A stretch moves a trip if it holds one of its ends.

    Parameters
    ----------
    first, last : arrays of int
        The public times of the two ends of each trip, in microseconds.
    stretch, persons
        As for `stretch_sizes`, with a person for each trip.

    Notes
    -----
    As for points, stretches that begin at an end of a trip suffice. The one that begins at s moves as many trips as it
    holds ends, less the trips of which it holds both: those with d - T ≤ s ≤ o, for a trip from o to d.

    Examples
    --------
    >>> hours = np.array([[0, 50], [30, 51], [70, 52]]) * 3600 * 10**6
    >>> trip_stretch_sizes(*hours.T, 24 * 3600 * 10**6)
    array([3, 3, 3])
    """
    count = len(first)
    times = np.concatenate([np.minimum(first, last), np.maximum(first, last)])
    at, most = np.zeros(2 * count, dtype=np.int64), np.zeros(2 * count, dtype=np.int64)
    for order, axis in _axes(times, None if persons is None else np.tile(persons, 2), gap=stretch):
        at[order] = axis
        trips = order[order < count]
        short = trips[at[count + trips] - at[trips] <= stretch]
        starts, ends = np.sort(at[short]), np.sort(at[count + short] - stretch)
        held = np.searchsorted(axis, axis + stretch, side="right") - np.searchsorted(axis, axis, side="left")
        both = np.searchsorted(ends, axis, side="right") - np.searchsorted(starts, axis, side="left")
        most[order] = _range_maxima(held - both, np.searchsorted(axis, axis - stretch, side="left"))
    return np.maximum(most[:count], most[count:])


def largest_stretch_sum(
    values: NDArray[np.float64], times: Index, stretch: int, persons: Index | None = None
) -> float:
    """Return the largest sum of one person's values over a stretch of time, rounded up.

    Parameters
    ----------
    values : array
        A number that is not negative for each point.
    times, stretch, persons
        As for `stretch_sizes`.

    Notes
    -----
    Values are rounded up to multiples of a power of two so small that whole numbers of 64 bits hold their total. Sums
    of these are exact; in sums of doubles over many persons the values of one stretch would be lost to rounding.

    Examples
    --------
    >>> hours = np.array([0, 1, 2, 30, 31, 90]) * 3600 * 10**6
    >>> round(largest_stretch_sum(np.array([1.0, 1.0, 1.0, 2.0, 2.0, 0.5]), hours, 24 * 3600 * 10**6), 9)
    4.0
    """
    largest = 0.0
    for order, axis in _axes(times, persons, gap=stretch):
        mine = values[order]
        # Each of the values is rounded up by less than one unit.
        bits = min(61 - math.frexp(float(mine.sum()))[1], 1000)
        whole = np.ceil(np.ldexp(mine, bits)).astype(np.int64)
        sums = np.append(0, np.cumsum(whole))
        ends = np.searchsorted(axis, axis + stretch, side="right")
        most = int((sums[ends] - sums[:-1]).max())
        largest = max(
            largest, math.nextafter(math.ldexp(most, -bits), math.inf) if most >> 53 else math.ldexp(most, -bits)
        )
    return largest


def regular_stretch_size(stretch: int, step: int) -> int:
    """Return the largest number of points in a stretch of time if one is recorded every `step` microseconds.

    Examples
    --------
    >>> regular_stretch_size(3600, 600), regular_stretch_size(3599, 600), regular_stretch_size(3600, 7200)
    (7, 6, 1)
    """
    return stretch // step + 1


def kept_of_thinned(times: Index, step: int, persons: Index | None = None) -> NDArray[np.bool_]:
    """Mark the first point of each person, in order of time, in every interval of `step` microseconds.

    Intervals begin at time 0, whatever the data: which points are kept depends on public times and persons alone.

    Examples
    --------
    >>> kept_of_thinned(np.array([0, 20, 59, 60, 130]) * 10**6, 60 * 10**6)
    array([ True, False, False,  True,  True])
    """
    kept = np.zeros(len(times), dtype=bool)
    for order, _ in _axes(times, persons, gap=0):
        interval = times[order] // step
        new = np.diff(interval, prepend=interval[0] - 1) != 0
        if persons is not None:
            new |= np.diff(persons[order], prepend=-1) != 0
        kept[order[new]] = True
    return kept


def _axes(times: Index, persons: Index | None, gap: int) -> Iterator[tuple[Index, Index]]:
    """Yield the rows of some persons in order of person and time, with their times on one increasing axis.

    On it the times of each person begin more than `gap` after those of the person before, so that a search on the axis
    never meets another person. All persons fit on one axis unless there are very many.
    """
    if not len(times):
        return
    earliest = int(times.min())
    width = int(times.max()) - earliest + gap + 1
    together = max(_AXIS // width, 1)
    count = 1 if persons is None else int(persons.max()) + 1
    for start in range(0, count, together):
        mine = slice(None) if count <= together or persons is None else _among(persons, start, start + together)
        axis = times[mine] - earliest
        if persons is not None:
            axis += (persons[mine] - start) * width
        rows = np.arange(len(times))[mine]
        if (axis[1:] < axis[:-1]).any():
            # Stable, so that of points with the same time the first row comes first.
            order = np.argsort(axis, kind="stable")
            rows, axis = rows[order], axis[order]
        if len(rows):
            yield rows, axis


def _among(persons: Index, start: int, stop: int) -> Index:
    return np.flatnonzero((persons >= start) & (persons < stop))


def _range_maxima(values: Index, first: Index) -> Index:
    """Return the largest of values[first[i]], ..., values[i] for each i, where first[i] ≤ i.

    Maxima over ranges whose lengths are powers of two are doubled until they reach the longest range; any range is
    covered by two of them.
    """
    at = np.arange(len(values))
    length = at - first + 1
    power = np.frexp(length.astype(float))[1] - 1
    result = np.empty_like(values)
    maxima = values.copy()
    for level in range(int(power.max()) + 1):
        mine = np.flatnonzero(power == level)
        result[mine] = np.maximum(maxima[first[mine]], maxima[at[mine] - (1 << level) + 1])
        step = 1 << level
        maxima[:-step] = np.maximum(maxima[:-step], maxima[step:])
    return result
