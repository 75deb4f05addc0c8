"""The queries of many persons, and the rows that hold the points of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from geoveil.queries.unit_sizes import Index, UnitSizes

if TYPE_CHECKING:
    from geoveil.queries.query import Query

__all__ = ["Index", "Persons"]

Q = TypeVar("Q", bound="Query", covariant=True)

#: The number of rows in a block of persons: few enough for the processor's cache.
_ROWS = 2**16
#: Persons with more points than this are answered one by one, by methods that look at few of the points.
_ALONE = 2**11


@dataclass(frozen=True)
class Persons(Generic[Q]):
    """The query of each of many persons. Persons with the same number of points share one.

    Parameters
    ----------
    queries : sequence of Query
        One query for each number of points that occurs.
    which : array of int
        The position in `queries` of each person's query.
    units : array of int, optional
        The number of points in the largest unit that holds point i, for the points of all persons one after another.
    """

    queries: Sequence[Q]
    which: Index
    units: Index | None = None

    @classmethod
    def by_size(
        cls, sizes: Index, make: Callable[[int, UnitSizes | None], Q], units: Index | None = None
    ) -> Persons[Q]:
        """Return the queries of persons with these numbers of points.

        Parameters
        ----------
        sizes : array of int
            The number of points of each person.
        make : callable
            Builds the query about n points with units of these sizes.
        units : array of int, optional
            The number of points in the largest unit that holds point i, for all points one person after another.
        """
        if units is None:
            numbers, which = np.unique(sizes, return_inverse=True)
            return cls([make(int(n), None) for n in numbers], np.asarray(which, dtype=np.int64))
        return cls.by_largest(sizes, np.maximum.reduceat(units, np.cumsum(sizes) - sizes), make, units)

    @classmethod
    def by_largest(
        cls,
        sizes: Index,
        largest: Index,
        make: Callable[[int, UnitSizes | None], Q],
        units: Index | None = None,
    ) -> Persons[Q]:
        """Return the queries of persons, given the number of points of each person and of their largest unit."""
        pairs, which = np.unique(np.column_stack([sizes, largest]), axis=0, return_inverse=True)
        queries = [make(int(n), UnitSizes(int(most))) for n, most in pairs]
        return cls(queries, np.asarray(which, dtype=np.int64).ravel(), units)

    def budget_shares(self) -> NDArray[np.float64] | None:
        """Return the share of a person's budget for each point; None if points are released together."""
        if self.units is not None and self.first.point_scales(self.units[:1]) is not None:
            return 1 / self.units
        shares = [query.budget_shares() for query in self.queries]
        if any(share is None for share in shares):
            return None
        each = np.array([share[0] for share in shares if share is not None])
        return np.repeat(each[self.which], self.sizes)

    def without(self, skipped: NDArray[np.bool_]) -> Persons[Q]:
        """Return the queries of the persons that are not skipped."""
        units = None if self.units is None else self.units[~np.repeat(skipped, self.sizes)]
        return Persons(self.queries, self.which[~skipped], units)

    def __len__(self) -> int:
        return len(self.which)

    @property
    def first(self) -> Q:
        """The first person's query; the others differ from it only in the number of points."""
        return self.queries[int(self.which[0])]

    @cached_property
    def each(self) -> list[Q]:
        """The query of each person."""
        return [self.queries[i] for i in self.which.tolist()]

    @cached_property
    def sizes(self) -> Index:
        """The number of points of each person."""
        return np.array([query.n for query in self.queries], dtype=np.int64)[self.which]

    @cached_property
    def stops(self) -> Index:
        """The row after the last one of each person."""
        return np.cumsum(self.sizes)

    def rows(self) -> list[slice]:
        """Return the rows of each person."""
        return [slice(a, b) for a, b in zip((self.stops - self.sizes).tolist(), self.stops.tolist(), strict=True)]

    def blocks(self, rows: int = _ROWS, *, alone: int = _ALONE) -> Iterator[tuple[slice, slice]]:
        """Iterate over blocks of adjacent persons: the slice of the persons, and the slice of their rows.

        Parameters
        ----------
        rows : int
            The largest number of rows of a block, unless a single person has more.
        alone : int
            A person with more rows than this is a block of its own.
        """
        large = np.append(np.flatnonzero(self.sizes > alone), len(self))
        person = row = 0
        while person < len(self):
            after = min(
                int(np.searchsorted(self.stops, row + rows, side="right")), int(large[np.searchsorted(large, person)])
            )
            after = max(after, person + 1)
            stop = int(self.stops[after - 1])
            yield slice(person, after), slice(row, stop)
            person, row = after, stop
