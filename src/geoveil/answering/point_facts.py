"""What is public about points: whose they are, in which rows, and when. Noise, prices and thinning follow from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geoveil.geo.geometries import Index
from geoveil.privacy import (
    Metric,
    dist_1,
    dist_2,
    kept_of_thinned,
    largest_stretch_sum,
    stretch_sizes,
    trip_stretch_sizes,
)

__all__ = ["PointFacts"]


@dataclass(frozen=True)
class PointFacts:
    """The person, the row and the time of each point, in the order of the rows."""

    #: The position of each point's person; None if all points are one person's.
    persons: Index | None
    rows: Index
    #: The time of each point in microseconds, where times are needed.
    times: Index | None = None
    #: The time of the other end of each trip, if these are trips whose ends have times of their own.
    ends: Index | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def chosen(self, points: NDArray[np.bool_] | NDArray[np.int64]) -> PointFacts:
        """Return the facts about some of the points."""
        given = (self.persons, self.rows, self.times, self.ends)
        persons, rows, times, ends = (None if each is None else each[points] for each in given)
        assert rows is not None
        return PointFacts(persons, rows, times, ends)

    def kept_of_thinned(self, step: int) -> NDArray[np.bool_]:
        """Return which points remain if a person keeps the first row in every interval of `step` microseconds.

        A row has the time of its first point.
        """
        assert self.times is not None
        new = np.diff(self.rows, prepend=-1) != 0
        kept = kept_of_thinned(self.times[new], step, None if self.persons is None else self.persons[new])
        return np.asarray(kept[np.cumsum(new) - 1])

    def unit_sizes(self, metric: Metric) -> Index:
        """Return for each point the number of points in the largest unit of a metric that holds it."""
        if metric == dist_1:
            return np.ones(len(self), dtype=np.int64)
        if metric.stretch is None:
            return np.full(len(self), len(self)) if self.persons is None else np.bincount(self.persons)[self.persons]
        assert self.times is not None
        if self.ends is None:
            return stretch_sizes(self.times, metric.stretch, self.persons)
        return trip_stretch_sizes(self.times, self.ends, metric.stretch, self.persons)

    def largest_sum(self, shares: NDArray[np.float64], metric: Metric) -> float:
        """Return the largest sum of the points' shares of a budget over a unit of a metric."""
        if metric.stretch is not None:
            assert self.times is not None
            return largest_stretch_sum(shares, self.times, metric.stretch, self.persons)
        if metric in (dist_1, dist_2):
            return float(shares.max())
        return float(shares.sum() if self.persons is None else np.bincount(self.persons, shares).max())

    def span(self) -> tuple[int, int]:
        """Return the first and the last time, in microseconds."""
        assert self.times is not None
        return int(self.times.min()), int(self.times.max())
