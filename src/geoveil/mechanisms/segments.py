"""Arrays that hold the rows of many persons, one person after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sizes", "similar_sizes", "starts_of"]

#: The number of rows of each person.
Sizes: TypeAlias = NDArray[np.int64]

#: The number of doubles in a batch of persons: few enough for the processor's cache.
_BATCH = 2**17


def starts_of(sizes: Sizes) -> Sizes:
    """Return the first row of each person."""
    return np.asarray(np.cumsum(sizes) - sizes)


def similar_sizes(
    sizes: Sizes, cost: Callable[[int], int] = lambda n: n, chosen: NDArray[np.bool_] | None = None
) -> Iterator[tuple[Sizes, Sizes, NDArray[np.bool_]]]:
    """Iterate over batches of persons who have similar numbers of rows.

    Parameters
    ----------
    sizes : array of int
        The number of rows of each person.
    cost : callable
        Returns the number of doubles that a person with n rows needs.
    chosen : array of bool, optional
        The persons to iterate over; by default all.

    Yields
    ------
    persons : array of int
        The persons of the batch.
    rows : (persons, n) array of int
        Their rows. For a person with fewer than n rows the first one is repeated.
    own : (persons, n) array of bool
        False where a row is such a repetition.
    """
    starts = starts_of(sizes)
    people = np.arange(len(sizes)) if chosen is None else np.flatnonzero(chosen)
    people = people[np.argsort(sizes[people], kind="stable")]
    while len(people):
        # A batch ends before a person with more than 1.25 times the rows of the smallest, or when it is full.
        most = max(int(sizes[people[0]] * 1.25), 4)
        like = int(np.searchsorted(sizes[people], most, side="right"))
        batch = people[: max(min(like, _BATCH // cost(most)), 1)]
        within = np.arange(sizes[batch[-1]])
        own = within < sizes[batch][:, None]
        yield batch, starts[batch][:, None] + np.where(own, within, 0), own
        people = people[len(batch) :]
