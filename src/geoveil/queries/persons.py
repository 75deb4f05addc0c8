"""The queries of many persons, and the rows that hold the points of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from geoveil.queries.query import Query

__all__ = ["Index", "Persons"]

Index: TypeAlias = NDArray[np.int64]
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
    """

    queries: Sequence[Q]
    which: Index

    @classmethod
    def by_size(cls, sizes: Index, make: Callable[[int], Q]) -> Persons[Q]:
        """Return the queries of persons with these numbers of points; `make` builds the query about n points."""
        numbers, which = np.unique(sizes, return_inverse=True)
        return cls([make(int(n)) for n in numbers], np.asarray(which, dtype=np.int64))

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
