"""The numbers of points in the units of a tuple; a unit holds the points that one secret may move together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Index", "UnitSizes"]

Index: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class UnitSizes:
    """The sizes of a tuple's units; they follow from times and persons, which are public.

    Parameters
    ----------
    largest : int
        The number of points in the largest unit.
    each : array of int, optional
        The number of points in the largest unit that holds point i, if noise is chosen for each point.
    """

    largest: int
    each: Index | None = field(default=None, compare=False, repr=False)
