"""The times of a file's rows, from which rows are thinned and the points of each stretch of time are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from geoveil.answering.person_counts import PersonCounts
from geoveil.answering.point_facts import PointFacts
from geoveil.geo.formats import Batch
from geoveil.geo.geometries import Index
from geoveil.geo.seconds import PartOfTimes, ReadTimes, joined_times, part_of_times, without_time
from geoveil.privacy import Metric

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TimedRows", "has_times", "times_of"]


def times_of(batch: Batch, columns: Sequence[str]) -> list[PartOfTimes]:
    """Return the times in each column of a batch, as far as they can be read without the other batches."""
    return [part_of_times(batch.columns[name].to_pandas(), name) for name in columns] if len(batch) else []


def has_times(batch: Batch, columns: Sequence[str]) -> NDArray[np.bool_]:
    """Return which rows of a batch have a time in each column."""
    missing = [without_time(batch.columns[name].to_pandas()) for name in columns]
    return ~np.logical_or.reduce(missing) if len(batch) else np.ones(0, dtype=bool)


class TimedRows:
    """The times of a file's rows, gathered batch by batch in a first pass.

    Parameters
    ----------
    people : PersonCounts
        The persons of the file; they are counted again if rows are thinned.
    columns : sequence of str
        The columns of times: one, or one for each point of a row.
    thin : int, optional
        The length in microseconds of the intervals in which a person keeps one row.
    metric : Metric
        The metric, whose units may be stretches of time.

    Attributes
    ----------
    facts : PointFacts
        The facts about all points, those of rows that do not remain among them.
    points : array of bool
        Which points remain.
    kept : list of arrays of bool
        Which rows of each batch remain.
    thinned : int
        The number of rows that do not.
    largest : array of int, optional
        The number of points in the largest unit of each person, where units are stretches of time.
    """

    facts: PointFacts
    read: ReadTimes
    points: NDArray[np.bool_]
    kept: list[NDArray[np.bool_]]

    def __init__(self, people: PersonCounts, columns: Sequence[str], thin: int | None, metric: Metric) -> None:
        self._people, self._columns, self._thin, self._metric = people, columns, thin, metric
        self._labels: list[tuple[pa.Array, Index]] = []
        self._rows: list[Index] = []
        self._times: list[list[PartOfTimes]] = []
        self._counts: list[int] = []
        self.sizes: Index | None = None
        self.thinned = 0
        self.largest: Index | None = None

    def add(self, labels: pa.Array, codes: Index, batch: Batch, times: list[PartOfTimes]) -> None:
        """Add a batch: labels of persons, the position of each point's label among them, and the times of rows.

        There is one part of times for all points of a row; or one for its first points, one for its second, and so on.
        """
        self._labels.append((labels, codes.astype(np.int32)))
        self._rows.append(batch.rows)
        self._counts.append(len(batch))
        self._times.append(times)

    def counted(self) -> Self:
        """Thin the rows and measure units, after the last batch."""
        import pyarrow.compute as pc

        persons = self._people.persons
        of = [
            np.asarray(pc.index_in(labels, value_set=persons), dtype=np.int64)[codes] for labels, codes in self._labels
        ]
        self._starts = np.cumsum([0, *map(len, self._rows)])
        first_rows = np.cumsum([0, *self._counts])
        rows = np.concatenate([own + start for own, start in zip(self._rows, first_rows, strict=False)])
        codes, times = np.concatenate(of), self._microseconds(rows)
        self.facts = facts = PointFacts(codes, rows, times)
        self.points = np.ones(len(rows), dtype=bool)
        kept_rows = np.ones(int(first_rows[-1]), dtype=bool)
        if self._thin is not None:
            self.points = facts.kept_of_thinned(self._thin)
            kept_rows[rows[~self.points]] = False
            self.thinned = int((~kept_rows).sum())
            self._people.recount(np.bincount(codes[self.points], minlength=len(persons)))
        self.kept = np.split(kept_rows, first_rows[1:-1])
        if self._metric.stretch is not None and not self.thinned:
            self.sizes = facts.unit_sizes(self._metric)
        elif self._metric.stretch is not None:
            self.sizes = np.zeros(len(times), dtype=np.int64)
            self.sizes[self.points] = facts.chosen(self.points).unit_sizes(self._metric)
        if self.sizes is not None:
            self.largest = np.zeros(len(persons), dtype=np.int64)
            np.maximum.at(self.largest, codes, self.sizes)
        self._labels.clear()
        self._times.clear()
        return self

    def _microseconds(self, rows: Index) -> Index:
        """Return the time of each point; all columns and batches are interpreted in the same way."""
        columns = [*zip(*filter(None, self._times), strict=True)]
        read = joined_times([part for column in columns for part in column], ", ".join(self._columns))
        # One column has the time of all points of a row.
        each = read.microseconds.reshape(len(columns), -1).T
        slices = (slice(at * len(each), (at + 1) * len(each)) for at in range(len(columns)))
        self.read = replace(read, columns=tuple(slices))
        if (stretch := self._metric.stretch) is not None:
            self.read.for_units(stretch)
        return each[rows, 0] if len(columns) == 1 else each.ravel()

    def remaining(self, skipped: NDArray[np.bool_] | None = None, *, each: int = 1) -> NDArray[np.bool_]:
        """Mark the points that remain, of persons who are not skipped; of every `each` points only the first."""
        assert self.facts.persons is not None
        there = self.points.copy() if skipped is None else self.points & ~skipped[self.facts.persons]
        for other in range(1, each):
            there[other::each] = False
        return there

    def span(self, skipped: NDArray[np.bool_] | None = None, *, each: int = 1) -> tuple[int, int]:
        """Return the first and the last time in microseconds of the points that remain; see `remaining`."""
        assert self.facts.times is not None
        all_points = skipped is None and each == 1 and not self.thinned
        times = self.facts.times if all_points else self.facts.times[self.remaining(skipped, each=each)]
        return int(times.min()), int(times.max())

    def fits(self, number: int, batch: Batch) -> bool:
        """Return whether a batch has as many rows and points as when it was added."""
        known = number < len(self.kept)
        return known and (len(batch), len(batch.rows)) == (self._counts[number], len(self._rows[number]))

    def points_of(self, number: int) -> slice:
        """Return where the points of a batch are among all points."""
        return slice(int(self._starts[number]), int(self._starts[number + 1]))
