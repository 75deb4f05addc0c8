"""Arrays that hold the rows of many persons one after another: a segment of rows for each person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sizes", "like_sizes", "starts_of"]

#: The number of rows of each person.
Sizes: TypeAlias = NDArray[np.int64]

#: Numbers of the persons who are looked at together: few enough for the processor's cache.
_TOGETHER = 2**17


def starts_of(sizes: Sizes) -> Sizes:
    """Return the first row of each person."""
    return np.asarray(np.cumsum(sizes) - sizes)


def like_sizes(
    sizes: Sizes, cost: Callable[[int], int] = lambda n: n, chosen: NDArray[np.bool_] | None = None
) -> Iterator[tuple[Sizes, Sizes, NDArray[np.bool_]]]:
    """Iterate over batches of persons with similar numbers of rows.

    Parameters
    ----------
    sizes : array of int
        The number of rows of each person.
    cost : callable
        The number of doubles that a person with n rows takes.
    chosen : array of bool, optional
        The persons to look at; by default all.

    Yields
    ------
    persons : array of int
        The persons of the batch.
    rows : (persons, n) array of int
        Their rows. A person with fewer than n rows has the first one repeated.
    own : (persons, n) array of bool
        Whether a row is not such a repetition.
    """
    starts = starts_of(sizes)
    people = np.arange(len(sizes)) if chosen is None else np.flatnonzero(chosen)
    people = people[np.argsort(sizes[people], kind="stable")]
    while len(people):
        # As many as fit beside the largest of them, who has not much more rows than the smallest.
        most = max(int(sizes[people[0]] * 1.25), 4)
        like = int(np.searchsorted(sizes[people], most, side="right"))
        batch = people[: max(min(like, _TOGETHER // cost(most)), 1)]
        within = np.arange(sizes[batch[-1]])
        own = within < sizes[batch][:, None]
        yield batch, starts[batch][:, None] + np.where(own, within, 0), own
        people = people[len(batch) :]
