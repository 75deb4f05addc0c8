"""The points or trips of a crowd, in memory or in a file, with the public sizes that determine their weights."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Progress
from geoveil.answering.intake import Intake, removed
from geoveil.answering.streaming import FilePoints
from geoveil.facts import Removed
from geoveil.geo import Area
from geoveil.geo.geometries import Index
from geoveil.geo.planes import Plane
from geoveil.geo.seconds import stated_names
from geoveil.noise import Reals
from geoveil.privacy import Metric, dist_1, stretch_sizes, trip_stretch_sizes
from geoveil.queries.evaluation import displacement

__all__ = ["CrowdAdder", "CrowdBatch", "CrowdSource", "FileCrowd", "MemoryCrowd", "items_of_rows"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CrowdBatch:
    """Some points or trips of a crowd.

    Parameters
    ----------
    places : tuple of arrays
        The coordinates of points in metres; of trips, of their origins and of their destinations.
    sizes : array of int
        The number of items in the largest unit that holds each.
    times : array of int, optional
        The time of each in microseconds.
    """

    places: tuple[Floats, ...]
    sizes: Index
    times: Index | None


class CrowdAdder(ABC):
    """Adds up the items of a crowd in batches; it can be sent to another process."""

    @property
    @abstractmethod
    def timed(self) -> bool:
        """Whether the time of each item is needed."""

    @abstractmethod
    def empty(self) -> Any:
        """Return empty sums."""

    @abstractmethod
    def add(self, sums: Any, batch: CrowdBatch) -> None:
        """Add a batch of items to sums."""


class CrowdSource(ABC):
    """The items of a crowd: points, or trips with an origin and a destination.

    Attributes
    ----------
    n : int
        The number of items; public.
    plane : Plane, optional
        The plane of their metres.
    ends : int
        The number of places of an item: 1 for a point, 2 for a trip.
    """

    n: int
    ends: int = 1

    @property
    @abstractmethod
    def plane(self) -> Plane | None:
        """The plane of the metres; None if the metres have no known place on the Earth."""

    @property
    def area(self) -> Area | None:
        """The public area of the data, if one was stated."""
        return None if self.plane is None else self.plane.area

    @property
    @abstractmethod
    def persons(self) -> int | None:
        """The number of persons, if the data names them."""

    @property
    @abstractmethod
    def all_sizes(self) -> tuple[Index, Index]:
        """The distinct sizes of the largest units that hold items, and the number of items for each size."""

    @property
    @abstractmethod
    def span(self) -> tuple[int, int]:
        """The first and the last time of an item, in microseconds; public."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """The largest distance in metres between a point and the doubles that are used for it."""

    @property
    @abstractmethod
    def described(self) -> dict[str, Any]:
        """The fields of a release that describe the data, such as its persons and the rows that were removed."""

    @property
    @abstractmethod
    def billed(self) -> dict[str, Any]:
        """The fields of a bill that describe the data."""

    @property
    def trips(self) -> dict[str, str]:
        """The public facts that tell apart the trips of two questions about the same points; none by default."""
        return {}

    @abstractmethod
    def batches(self, progress: Progress, *, timed: bool) -> Iterator[CrowdBatch]:
        """Yield the items in batches, with their times if they are needed."""

    def added_up(self, adder: CrowdAdder, progress: Progress) -> Any:
        """Return the sums of all items."""
        sums = adder.empty()
        for batch in self.batches(progress, timed=adder.timed):
            adder.add(sums, batch)
        return sums

    @abstractmethod
    def without(self, skipped: NDArray[np.bool_]) -> CrowdSource:
        """Return the items of the persons who are not skipped."""


def items_of_rows(
    coords: Floats, rows: Index, persons: Index, units: Index | None, times: Index | None, metric: Metric, ends: int
) -> CrowdBatch:
    """Return the items of some rows.

    Parameters
    ----------
    coords, rows : array
        The points in metres, and the row of each.
    persons : array of int
        The number of points of the person of each row.
    units : array of int, optional
        The number of points in the largest stretch of time that holds each point, where these are units.
    times : array of int, optional
        The time of each point.
    metric : Metric
        The metric of the units.
    ends : int
        The number of points of an item: 1, or 2 for an origin and a destination.
    """
    first = slice(None, None, ends)
    sizes = persons[rows] if units is None else units
    sizes = np.ones(len(rows[first]), dtype=np.int64) if metric == dist_1 else sizes[first] // ends
    places = tuple(coords[end::ends] for end in range(ends))
    return CrowdBatch(places, sizes, None if times is None else times[first])


@dataclass(frozen=True)
class MemoryCrowd(CrowdSource):
    """Items in memory.

    Parameters
    ----------
    data : Intake
        The points; their persons and times are those of the items.
    metric : Metric
        The metric of the units.
    items : array of int
        The positions among the points of the items, or of their origins.
    destinations : Reals, optional
        The destinations of trips, in the order of the items.
    last : array of int, optional
        The positions of the destinations among the points, if they are points of the data with their own times.
    """

    data: Intake
    metric: Metric
    items: Index
    destinations: Reals | None = None
    last: Index | None = None

    @property
    def n(self) -> int:  # type: ignore[override]
        """The number of items."""
        return len(self.items)

    @property
    def ends(self) -> int:  # type: ignore[override]
        """The number of places of an item."""
        return 1 if self.destinations is None else 2

    @property
    def plane(self) -> Plane | None:
        return self.data.form.plane

    @property
    def persons(self) -> int | None:
        return None if self.data.crowd is None else len(self.data.crowd.sizes)

    @cached_property
    def sizes(self) -> Index:
        """The number of items in the largest unit that holds each."""
        crowd = self.data.crowd
        codes = None if crowd is None else crowd.codes[self.items]
        if self.metric == dist_1:
            return np.ones(self.n, dtype=np.int64)
        if self.metric.stretch is not None:
            times = self.data.unit_times(self.metric.stretch)
            if self.last is None:
                return stretch_sizes(times[self.items], self.metric.stretch, codes)
            return trip_stretch_sizes(times[self.items], times[self.last], self.metric.stretch, codes)
        return np.full(self.n, self.n) if codes is None else np.bincount(codes)[codes]

    @property
    def all_sizes(self) -> tuple[Index, Index]:
        return np.unique(self.sizes, return_counts=True)

    @cached_property
    def _times(self) -> Index:
        return self.data.microseconds[self.items]

    @property
    def span(self) -> tuple[int, int]:
        return int(self._times.min()), int(self._times.max())

    @property
    def rounding(self) -> float:
        moved = displacement(self.data.form.coords)
        if self.destinations is not None:
            moved = max(moved, displacement(self.destinations))
        return self.data.form.rounding + moved

    @property
    def described(self) -> dict[str, Any]:
        form = self.data.form
        return {
            "n": self.n,
            "crowd": self.persons,
            "outside": form.outside,
            "times": self.data.time_columns(self.metric),
            "span": self.data.time_span(self.metric),
            "removed": removed(form.selection.removed, form.condition, (), ()),
        }

    @property
    def billed(self) -> dict[str, Any]:
        form = self.data.form
        return {"people": self.data.crowd, "outside": form.outside, "where": form.condition}

    def batches(self, progress: Progress, *, timed: bool) -> Iterator[CrowdBatch]:
        coords = self.data.form.coords.values
        places = [coords if len(coords) == self.n else coords[self.items]]
        if self.destinations is not None:
            places.append(self.destinations.values)
        yield CrowdBatch(tuple(places), self.sizes, self._times if timed else None)
        progress(1.0)

    @property
    def trips(self) -> dict[str, str]:
        if self.last is None:
            return {}
        return {"trips": hashlib.sha256(self.items.tobytes() + self.last.tobytes()).hexdigest()}

    def without(self, skipped: NDArray[np.bool_]) -> MemoryCrowd:
        assert self.data.crowd is not None
        kept = ~skipped[self.data.crowd.codes]
        items = (np.cumsum(kept) - 1)[self.items[kept[self.items]]]
        ends = None if self.destinations is None else self.destinations[kept[self.items]]
        last = None if self.last is None else (np.cumsum(kept) - 1)[self.last[kept[self.last]]]
        return replace(self, data=self.data.without(skipped), items=items, destinations=ends, last=last)


class FileCrowd(CrowdSource):
    """Items of a file, which is read twice: once to count, once to add up.

    Parameters
    ----------
    reader : FilePoints
        Reads and counts the file; `count` was called. Its persons are those of the units.
    trips : bool
        Whether the items are rows with an origin and a destination, rather than points.
    skipped : array of bool, optional
        Marks the persons who are left out.
    """

    def __init__(self, reader: FilePoints, *, trips: bool = False, skipped: NDArray[np.bool_] | None = None) -> None:
        self.reader = reader if skipped is None else replace(reader, skipped=skipped)
        # The origin and the destination of a trip are two points of a row.
        self._each = self.ends = 2 if trips and reader.file.points_in_a_row == 2 else 1

    @property
    def n(self) -> int:  # type: ignore[override]
        """The number of items."""
        return int(self.reader.sizes.sum()) // self._each

    @property
    def plane(self) -> Plane:
        return self.reader.plane

    @property
    def persons(self) -> int | None:
        return None if self.reader.people.by is None else int((self.reader.sizes > 0).sum())

    @cached_property
    def all_sizes(self) -> tuple[Index, Index]:
        timed, sizes = self.reader.timed, self.reader.sizes // self._each
        if self.reader.guarantee.metric == dist_1:
            return np.ones(1, dtype=np.int64), np.array([self.n])
        if timed is None or timed.largest is None:
            there = sizes[sizes > 0]
            found, counts = np.unique(there, return_counts=True)
            return found, found * counts
        return timed.size_counts(self.reader.skipped, self._each)

    @property
    def span(self) -> tuple[int, int]:
        assert self.reader.timed is not None
        return self.reader.timed.span(self.reader.skipped, origins=self._each == 2)

    @cached_property
    def rounding(self) -> float:
        middle = self.plane.out(np.zeros((1, 2)))
        return self.plane.rounding + displacement(self.plane.enter(middle, "clamp"))

    @property
    def described(self) -> dict[str, Any]:
        reader = self.reader
        stretch = reader.guarantee.metric.stretch
        return {
            "n": self.n,
            "crowd": self.persons,
            "outside": reader.outside,
            "times": stated_names(reader.times) if stretch is not None else None,
            "span": self.span if stretch is not None else None,
            "removed": self._removed(),
        }

    def _removed(self) -> Removed:
        where = self.reader.where
        return removed(self.reader.rows_removed, None if where is None else where.text, (), ())

    @property
    def billed(self) -> dict[str, Any]:
        reader = self.reader
        where = None if reader.where is None else reader.where.text
        return {"file": reader.file.path.name, "by": reader.people.by, "outside": reader.outside, "where": where}

    def batches(self, progress: Progress, *, timed: bool) -> Iterator[CrowdBatch]:
        metric, sizes = self.reader.guarantee.metric, self.reader.sizes
        for read, coords in self.reader.read_again(progress):
            yield items_of_rows(coords, read.batch.rows, sizes[read.rows], read.sizes, read.times, metric, self._each)

    def without(self, skipped: NDArray[np.bool_]) -> FileCrowd:
        return FileCrowd(self.reader, trips=self.ends == 2, skipped=skipped)
