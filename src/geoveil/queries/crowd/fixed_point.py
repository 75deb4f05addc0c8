"""Exact sums of many doubles in the cells of an array, independent of their order.

Every number is split into a whole multiple of a coarse unit and a whole multiple of a fine unit. Both units are
powers of two that follow from public facts, and doubles add up both parts without rounding, as long as the sums stay
below 2^53 units. So only the rest below the fine unit is lost, and the sums have the same bits in whatever order
numbers arrive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats

__all__ = ["Units", "add_exactly"]


@dataclass(frozen=True)
class Units:
    """The two units of exact sums.

    Parameters
    ----------
    total : float
        The largest sum of a cell; public.
    count : int
        The largest number of numbers that are added in a cell; public.
    """

    total: float
    count: int

    @cached_property
    def coarse(self) -> float:
        """The coarse unit: 2^52 of it are at least the total.

        The multiples of a cell add up to at most `total` plus half a unit for each number: below 2^53 units.
        """
        return math.ldexp(1.0, math.frexp(self.total)[1] - 52)

    @cached_property
    def fine(self) -> float:
        """The fine unit: a rest is at most half a coarse unit, and `count` of them are below 2^53 fine units."""
        return self.coarse * math.ldexp(1.0, self.count.bit_length() - 53)

    @property
    def lost(self) -> float:
        """The largest error of one number: half a fine unit."""
        return self.fine / 2


def add_exactly(
    sums: tuple[Floats, Floats],
    cells: NDArray[np.int64],
    numbers: Floats,
    units: Units,
    room: Floats,
) -> None:
    """Add numbers to cells of two arrays of sums, one for each unit; the numbers are lost.

    No number may exceed half of the units' total. `room` is an array of the numbers' shape.

    Notes
    -----
    If c = 1.5·2^52·unit and |v| is at most 2^51 units, then v + c lies between 2^52 and 2^53 units, where doubles are
    the multiples of the unit. So (v + c) - c is the nearest multiple of the unit to v, and v minus this multiple is
    exact.
    """
    # Two arrays rather than three keep more of a block in the processor's cache.
    part, rest = room, numbers
    magic = 1.5 * 2.0**52 * units.coarse
    np.add(numbers, magic, out=part)
    part -= magic
    rest -= part
    np.add.at(sums[0], cells, part)
    magic = 1.5 * 2.0**52 * units.fine
    rest += magic
    rest -= magic
    np.add.at(sums[1], cells, rest)
