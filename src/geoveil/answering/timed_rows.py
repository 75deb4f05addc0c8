"""The times of a file's rows, from which rows are thinned and the points of each stretch of time are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from geoveil.answering.person_counts import PersonCounts
from geoveil.geo.formats import Batch
from geoveil.geo.geometries import Index
from geoveil.geo.seconds import PartOfTimes, joined_times, part_of_times, without_time
from geoveil.privacy import Metric, dist_inf, kept_of_thinned, stretch_sizes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TimedPoints", "TimedRows", "has_times", "times_of"]


def times_of(batch: Batch, columns: Sequence[str]) -> list[PartOfTimes]:
    """Return the times in each column of a batch, as far as they can be read without the other batches."""
    return [part_of_times(batch.columns[name].to_pandas(), name) for name in columns] if len(batch) else []


def has_times(batch: Batch, columns: Sequence[str]) -> NDArray[np.bool_]:
    """Return which rows of a batch have a time in each column."""
    missing = [without_time(batch.columns[name].to_pandas()) for name in columns]
    return ~np.logical_or.reduce(missing) if len(batch) else np.ones(0, dtype=bool)


@dataclass(frozen=True)
class TimedPoints:
    """The person, the time and the row of each point: public facts, from which units can be counted.

    Parameters
    ----------
    persons : array of int
        The position of each point's person.
    times : array of int
        The time of each point in microseconds.
    rows : array of int
        The row of each point.
    """

    persons: Index
    times: Index
    rows: Index

    def of(self, person: int) -> TimedPoints:
        """Return the points of one person."""
        mine = self.persons == person
        return TimedPoints(self.persons[mine], self.times[mine], self.rows[mine])

    def thinned(self, step: int) -> TimedPoints:
        """Return the points of the first row of each person in every interval of `step` microseconds."""
        rows, first = np.unique(self.rows, return_index=True)
        kept = rows[kept_of_thinned(self.times[first], step, self.persons[first])]
        mine = np.isin(self.rows, kept)
        return TimedPoints(self.persons[mine], self.times[mine], self.rows[mine])

    def largest(self, metric: Metric) -> int:
        """Return the number of points in the largest unit of a metric."""
        if metric.stretch is None:
            return len(self.times) if metric == dist_inf else 1
        return int(stretch_sizes(self.times, metric.stretch, self.persons).max())


def _spans(times: Index, codes: Index, count: int) -> tuple[Index, Index]:
    """Return the first and the last time of each of `count` persons."""
    limits = np.iinfo(np.int64)
    earliest, latest = np.full(count, limits.max), np.full(count, limits.min)
    np.minimum.at(earliest, codes, times)
    np.maximum.at(latest, codes, times)
    return earliest, latest


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
    stretch : int, optional
        The length in microseconds of the stretches of time that are units.

    Attributes
    ----------
    kept : list of arrays of bool
        Which rows of each batch remain.
    thinned : int
        The number of rows that do not.
    largest : array of int, optional
        The number of points in the largest unit of each person.
    points : TimedPoints, optional
        The points that remain, if they are kept.
    """

    def __init__(self, people: PersonCounts, columns: Sequence[str], thin: int | None, stretch: int | None) -> None:
        self._people, self._columns, self._thin, self._stretch = people, columns, thin, stretch
        self._labels: list[tuple[pa.Array, Index]] = []
        self._rows: list[Index] = []
        self._times: list[list[PartOfTimes]] = []
        self._counts: list[int] = []
        self._sizes: list[Index] = []
        self._codes: list[NDArray[np.int32]] = []
        self._moments: list[Index] = []
        self._spans: dict[bool, tuple[Index, Index]] = {}
        self.kept: list[NDArray[np.bool_]] = []
        self.thinned = 0
        self.largest: Index | None = None
        self.points: TimedPoints | None = None

    def add(self, labels: pa.Array, codes: Index, rows: Index, count: int, times: list[PartOfTimes]) -> None:
        """Add a batch.

        Parameters
        ----------
        labels, codes : arrays
            The labels of persons, and the position of the label of each point.
        rows : array of int
            The row of each point.
        count : int
            The number of rows.
        times : list of PartOfTimes
            The time of each row; or of its first point, its second point, and so on.
        """
        self._labels.append((labels, codes.astype(np.int32)))
        self._rows.append(rows)
        self._counts.append(count)
        self._times.append(times)

    def counted(self, *, keep: bool = False) -> Self:
        """Thin the rows and measure units, after the last batch; with `keep`, keep persons and times of points."""
        import pyarrow.compute as pc

        persons = self._people.persons
        of = [
            np.asarray(pc.index_in(labels, value_set=persons), dtype=np.int64)[codes] for labels, codes in self._labels
        ]
        codes = np.concatenate(of)
        ends = np.cumsum([len(each) for each in self._rows])[:-1]
        starts = np.cumsum([0, *self._counts])
        rows = np.concatenate([own + start for own, start in zip(self._rows, starts, strict=False)])
        times = self._microseconds(rows)
        self._moments = np.split(times, ends)
        kept_rows = np.ones(int(starts[-1]), dtype=bool)
        if self._thin is not None:
            # The first point of a row has its time.
            there, first = np.unique(rows, return_index=True)
            kept_rows[there] = kept_of_thinned(times[first], self._thin, codes[first])
            points = kept_rows[rows]
            self.thinned = int((~kept_rows).sum())
            self._people.recount(np.bincount(codes[points], minlength=len(persons)))
        else:
            points = np.ones(len(rows), dtype=bool)
        self.kept = np.split(kept_rows, starts[1:-1])
        origins = points & (np.diff(rows, prepend=-1) != 0)
        self._spans = {False: _spans(times[points], codes[points], len(persons))}
        self._spans[True] = _spans(times[origins], codes[origins], len(persons))
        if self._stretch is not None:
            sizes = np.zeros(len(times), dtype=np.int64)
            sizes[points] = stretch_sizes(times[points], self._stretch, codes[points])
            self.largest = np.zeros(len(persons), dtype=np.int64)
            np.maximum.at(self.largest, codes, sizes)
            self._sizes = np.split(sizes, ends)
            self._codes = np.split(codes.astype(np.int32), ends)
        if keep:
            self.points = TimedPoints(codes[points], times[points], rows[points])
        self._labels.clear()
        self._times.clear()
        return self

    def _microseconds(self, rows: Index) -> Index:
        """Return the time of each point; all columns and batches are interpreted in the same way."""
        columns = [*zip(*filter(None, self._times), strict=True)]
        read = joined_times([part for column in columns for part in column], ", ".join(self._columns))
        found = read.microseconds if self._stretch is None else read.for_units(self._stretch)
        # One column has the time of all points of a row.
        each = found.reshape(len(columns), -1).T
        return each[rows, 0] if len(columns) == 1 else each.ravel()

    def span(self, skipped: NDArray[np.bool_] | None, *, origins: bool = False) -> tuple[int, int]:
        """Return the first and the last time in microseconds of persons who are not skipped.

        With `origins` only the first point of each row counts.
        """
        earliest, latest = self._spans[origins]
        there = slice(None) if skipped is None else ~skipped
        return int(earliest[there].min()), int(latest[there].max())

    def fits(self, number: int, rows: int, points: int) -> bool:
        """Return whether a batch has as many rows and points as when it was added."""
        return number < len(self.kept) and (rows, points) == (self._counts[number], len(self._rows[number]))

    def kept_points(self) -> list[NDArray[np.bool_]]:
        """Return which points of each batch remain."""
        return [kept[rows] for kept, rows in zip(self.kept, self._rows, strict=True)]

    def size_counts(self, skipped: NDArray[np.bool_] | None, each: int) -> tuple[Index, Index]:
        """Return the sizes of units of items that are not skipped, and how many items have each.

        An item consists of `each` points, and has the size of the first of them.
        """
        sizes = np.concatenate(self._sizes)[::each]
        there = sizes > 0
        if skipped is not None:
            there &= ~skipped[np.concatenate(self._codes)[::each]]
        return np.unique(sizes[there] // each, return_counts=True)

    def moments_of(self, number: int) -> Index:
        """Return the time of each point of a batch in microseconds."""
        return self._moments[number]

    def sizes_of(self, number: int) -> Index | None:
        """Return the number of points in the largest unit that holds each point of a batch, if units were measured."""
        return self._sizes[number] if self._sizes else None
