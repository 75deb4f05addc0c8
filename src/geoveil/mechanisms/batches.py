"""Add noise to the values of many persons at once, without a Python call for each person."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Additive, Floats
from geoveil.noise import Reals, Source, as_reals, round_to_grid

__all__ = ["sample_people", "sample_rows"]


def sample_people(
    mechanisms: Sequence[Additive], sizes: NDArray[np.int64], rows: Floats | Reals, source: Source
) -> Floats:
    """Return the noisy values of many persons.

    Parameters
    ----------
    mechanisms : sequence of Additive
        The mechanism of each person. All are of one class and differ only in their dimension and scale.
    sizes : array of int
        The number of rows of each person.
    rows : array or Reals
        The true values as rows, one person after another.
    source : Source
        The source of randomness.
    """
    values = as_reals(rows)
    # Persons with the same number of points share a mechanism.
    distinct = {id(mechanism): mechanism for mechanism in mechanisms}
    known = {each: (mechanism.scale, mechanism.grid) for each, mechanism in distinct.items()}
    each = np.array([known[id(mechanism)] for mechanism in mechanisms])
    scale, cell = (np.repeat(column, sizes) for column in each.T)
    return round_to_grid(values, scale, cell, mechanisms[0].noise(source, sizes, values.values.shape[1]), source)


def sample_rows(
    mechanisms: Sequence[Additive], which: NDArray[np.int64], rows: Floats | Reals, source: Source
) -> Floats:
    """Return noisy points in any order. Row i gets the noise of mechanisms[which[i]], independent of all others."""
    if not all(mechanism.independent for mechanism in mechanisms):
        raise ValueError("A mechanism draws the noise of a person's points together; use sample_people.")
    if not len(rows):
        return np.empty((0, rows.shape[1]))
    scale, cell = (np.array([getattr(m, name) for m in mechanisms])[which] for name in ("scale", "grid"))
    alone = np.ones(len(rows), dtype=np.int64)
    return round_to_grid(as_reals(rows), scale, cell, mechanisms[0].noise(source, alone, rows.shape[1]), source)
