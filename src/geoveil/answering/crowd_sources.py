"""The points or trips of a crowd, in memory or in a file, with the public sizes that determine their weights."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Progress
from geoveil.answering.counted_rows import CountedRows
from geoveil.answering.intake import Intake, doubles_rounding
from geoveil.answering.point_facts import PointFacts
from geoveil.errors import InvalidData, Message
from geoveil.geo.forms import Floats
from geoveil.geo.geometries import Index
from geoveil.geo.planes import Plane
from geoveil.noise import Reals
from geoveil.privacy import Metric, dist_1
from geoveil.release.answered import ReleaseFields

__all__ = ["CrowdAdder", "CrowdBatch", "CrowdSource", "FileCrowd", "MemoryCrowd", "check_trips", "items_of_rows"]

#: The type of sums.
S = TypeVar("S")


@dataclass(frozen=True)
class CrowdBatch:
    """Some points or trips of a crowd."""

    #: The coordinates of points in metres; of trips, of their origins and of their destinations.
    places: tuple[Floats, ...]
    #: The number of items in the largest unit that holds each.
    sizes: Index
    #: The time of each in microseconds, where it is needed.
    times: Index | None


class CrowdAdder(ABC, Generic[S]):
    """Adds up the items of a crowd in batches; it can be sent to another process."""

    #: Whether the time of each item is needed.
    timed: bool = False

    @abstractmethod
    def empty(self) -> S:
        """Return empty sums."""

    @abstractmethod
    def add(self, sums: S, batch: CrowdBatch) -> None:
        """Add a batch of items to sums."""


class CrowdSource(ABC):
    """The items of a crowd: points, or trips with an origin and a destination. All but their places is public."""

    #: The number of places of an item: 1 for a point, 2 for a trip.
    ends: int = 1

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of items."""

    @property
    @abstractmethod
    def plane(self) -> Plane | None:
        """The plane of the metres; None if the metres have no known place on the Earth."""

    @property
    @abstractmethod
    def all_sizes(self) -> tuple[Index, Index]:
        """The distinct sizes of the largest units that hold items, and the number of items for each size."""

    @property
    @abstractmethod
    def span(self) -> tuple[int, int]:
        """The first and the last time of an item, in microseconds."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """The largest distance in metres between a point and the doubles that are used for it."""

    @abstractmethod
    def described(self) -> ReleaseFields:
        """Return the fields of a release that describe the data, such as its persons and removed rows."""

    @abstractmethod
    def recorded(self) -> dict[str, object]:
        """Return the public facts by which a ledger tells the data from other data."""

    @abstractmethod
    def batches(self, progress: Progress, *, timed: bool) -> Iterator[CrowdBatch]:
        """Yield the items in batches, with their times if they are needed."""

    def added_up(self, adder: CrowdAdder[S], progress: Progress) -> S:
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


def check_trips(places: int) -> None:
    """Refuse rows that do not have two places each, for a question about trips."""
    if places != 2:
        held = "one place in each row" if places == 1 else f"{places} places in each row"
        remedy = Message("Give the columns of an origin and a destination, or name the trips with {trip}.")
        if places > 1:
            remedy = Message("Give the columns of an origin and a destination alone, with {lat} and {lon}.")
        raise InvalidData("x", held, "trips: an origin and a destination each", remedy)


@dataclass(frozen=True)
class MemoryCrowd(CrowdSource):
    """Items in memory."""

    #: The points; their persons and times are those of the items.
    data: Intake
    #: The metric of the units.
    metric: Metric
    #: The positions among the points of the items, or of their origins.
    items: Index
    #: The destinations of trips, in the order of the items.
    destinations: Reals | None = None
    #: The positions of the destinations among the points, if they are points of the data with their own times.
    last: Index | None = None

    @property
    def n(self) -> int:
        return len(self.items)

    @property
    def ends(self) -> int:  # type: ignore[override]
        """The number of places of an item."""
        return 1 if self.destinations is None else 2

    @property
    def plane(self) -> Plane | None:
        return self.data.form.plane

    @cached_property
    def sizes(self) -> Index:
        """The number of items in the largest unit that holds each."""
        points = self.data.facts(self.metric)
        own: PointFacts = points.chosen(self.items)
        if self.last is not None and points.times is not None:
            own = replace(own, ends=points.times[self.last])
        return own.unit_sizes(self.metric)

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
        return self.data.doubles_rounding

    def described(self) -> ReleaseFields:
        form = self.data.form
        removed = form.selection.removed.described(form.condition)
        return {**self.data.described(self.metric), "n": self.n, "removed": removed}

    def recorded(self) -> dict[str, object]:
        told: dict[str, object] = {**self.data.recorded(timed=False)}
        if self.last is not None:
            # Trips of the same points may be made in several ways.
            told["trips"] = hashlib.sha256(self.items.tobytes() + self.last.tobytes()).hexdigest()
        return told

    def batches(self, progress: Progress, *, timed: bool) -> Iterator[CrowdBatch]:
        coords = self.data.form.coords.values
        places = [coords if len(coords) == self.n else coords[self.items]]
        if self.destinations is not None:
            places.append(self.destinations.values)
        yield CrowdBatch(tuple(places), self.sizes, self._times if timed else None)
        progress(1.0)

    def without(self, skipped: NDArray[np.bool_]) -> MemoryCrowd:
        assert self.data.crowd is not None
        kept = ~skipped[self.data.crowd.codes]
        items = (np.cumsum(kept) - 1)[self.items[kept[self.items]]]
        ends = None if self.destinations is None else self.destinations[kept[self.items]]
        last = None if self.last is None else (np.cumsum(kept) - 1)[self.last[kept[self.last]]]
        return replace(self, data=self.data.without(skipped), items=items, destinations=ends, last=last)


@dataclass(frozen=True)
class FileCrowd(CrowdSource):
    """Items of a file, which is read twice: once to count, once to add up."""

    #: The rows; their persons are those of the units.
    rows: CountedRows
    #: Whether the items are rows with an origin and a destination, rather than points.
    trips: bool = False

    def __post_init__(self) -> None:
        if self.trips:
            check_trips(self.rows.rules.file.points_in_a_row)

    @property
    def ends(self) -> int:  # type: ignore[override]
        """The number of places of an item: the origin and the destination of a trip are two points of a row."""
        return 2 if self.trips else 1

    @property
    def n(self) -> int:
        return int(self.rows.sizes.sum()) // self.ends

    @property
    def plane(self) -> Plane:
        return self.rows.plane

    @property
    def metric(self) -> Metric:
        """The metric of the units."""
        return self.rows.rules.guarantee.metric

    @cached_property
    def all_sizes(self) -> tuple[Index, Index]:
        if self.metric == dist_1:
            return np.ones(1, dtype=np.int64), np.array([self.n])
        if (units := self.rows.unit_sizes(self.ends)) is not None:
            return units
        sizes = self.rows.sizes // self.ends
        distinct, counts = np.unique(sizes[sizes > 0], return_counts=True)
        return distinct, distinct * counts

    @property
    def span(self) -> tuple[int, int]:
        span = self.rows.span(each=self.ends)
        assert span is not None
        return span

    @cached_property
    def rounding(self) -> float:
        return doubles_rounding(self.plane, self.rows.rules.settings.outside)

    def described(self) -> ReleaseFields:
        crowd = None if self.rows.people.by is None else int((self.rows.sizes > 0).sum())
        return {**self.rows.stated(), "n": self.n, "crowd": crowd}

    def recorded(self) -> dict[str, object]:
        return self.rows.described()

    def batches(self, progress: Progress, *, timed: bool) -> Iterator[CrowdBatch]:
        sizes = self.rows.sizes
        for read, coords in self.rows.read_again(progress):
            persons = sizes[read.rows]
            yield items_of_rows(coords, read.batch.rows, persons, read.sizes, read.times, self.metric, self.ends)

    def without(self, skipped: NDArray[np.bool_]) -> FileCrowd:
        return replace(self, rows=replace(self.rows, skipped=skipped))
