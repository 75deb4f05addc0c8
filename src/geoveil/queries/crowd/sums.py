"""Add up the kernels of many places, in batches of any size and order, with a public bound on the error."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geoveil.errors import InvalidData
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Reals
from geoveil.queries.crowd.fixed_point import Units, add_exactly
from geoveil.queries.crowd.kernel import spline_weights, square_sums
from geoveil.queries.crowd.lattice import Lattice
from geoveil.queries.crowd.widening import reach, widened, widening_error

__all__ = ["MOST_SUMS", "KernelSums", "PairedSums", "PlaceSums", "TripSums", "place_error", "value_error"]

#: The weights of the four cells along an axis that a point reaches.
Weights: TypeAlias = tuple[Floats, Floats, Floats, Floats]

#: The number of points or trips in a block: few enough for the processor's cache.
_BLOCK = 2**14
#: The same for trips, of which 16 products are made at a time.
_TRIPS = 2**11
#: The number of trips that are sorted at once.
_SORTED = 2**20
#: The largest number of sums of flows: 1 GiB for both parts.
MOST_SUMS = 2**26
#: The relative rounding error of a double.
_ULP = 2.0**-53
#: The cells beyond the lattice that catch the kernels of points outside.
_MARGIN = 3


def place_error(lattice: Lattice) -> float:
    """Return the largest distance in metres between a point and the place at which doubles evaluate its kernel.

    The coordinate in cells, (x - west)/cell - ½, takes three roundings, each at most 2^-53 of the lattice's length in
    cells, and a fourth below the lowest centre. The bound allows for kernels that reach the lattice from outside.
    """
    longest = max(lattice.shape) + 4 * 64
    return math.sqrt(2) * 4 * _ULP * longest * lattice.cell * (1 + 2.0**-20)


def value_error(side: int, n: int, total: float, heaviest: float, ends: int = 1) -> tuple[float, float]:
    """Return public bounds on the error of `KernelSums.value` in doubles, for the places where kernels are evaluated.

    The first one bounds the Euclidean norm, the second one the sum of absolute values. `heaviest` is the largest
    weight of a unit.

    Notes
    -----
    Write u for 2^-53. The value before the last rounding is a sum of terms, each of which depends on one item alone.
    So if one unit changes, the errors of all other items cancel, and what counts is the error of its own terms,
    before and after:

    - *Kernels.* A point's kernel has 4 × 4 weights, products of those of `spline_weights`, whose norm along an axis is
      at most √½. The errors are 4.1u·2·√½ and two roundings for each product: below 7u times the weight, and below 18u
      in total. A trip's kernel has twice as many factors of norms below 1, and less than twice the error.
    - *Units.* Each of the 16 or 256 terms of an item loses at most half a fine unit.

    Then come roundings of the whole value, relative to each number, as no number is negative: u for the sum of both
    parts, and those of `widened`. The norm of the value is at most that of one kernel times all weights, and its sum
    is at most all weights.
    """
    terms, lost = 16**ends, Units(total, n).lost
    last = (_ULP + widening_error(side, 2 * ends)) * total
    longest = float(square_sums(side).value_at_centre) ** ends
    norm = 7 * ends * _ULP * heaviest + n * math.sqrt(terms) * lost + last * longest
    absolute = 18 * ends * _ULP * heaviest + n * terms * lost + last
    return norm * (1 + 2.0**-20), absolute * (1 + 2.0**-20)


class KernelSums:
    """The sums Σ w·κ of kernels on a lattice, by slice, as they are added up.

    Parameters
    ----------
    lattice : Lattice
        The cells.
    side : int
        The side of the kernel in cells.
    n : int
        The largest number of points; public.
    total : float
        The largest sum of weights; public.
    slices : int
        The number of slices of time.
    heaviest : float
        The largest weight of a unit, which no weight may exceed.
    ends : int
        The number of places of an item: 1 for a point, 2 for a trip.
    """

    def __init__(
        self, lattice: Lattice, side: int, n: int, total: float, slices: int, heaviest: float, ends: int
    ) -> None:
        self.lattice, self.side, self.n, self.total, self.slices = lattice, side, n, total, slices
        self.heaviest = heaviest
        self._pad = reach(side)
        self._shape = tuple(length + 2 * (self._pad + _MARGIN) + 1 for length in lattice.shape)
        self._cells = math.prod(self._shape) ** ends
        self.units = Units(total, n)
        self._sums = (np.zeros(slices * self._cells), np.zeros(slices * self._cells))
        self._ends = ends
        self.added, self.weight = 0, 0.0

    def _checked(
        self, places: list[Floats | Reals], weights: ArrayLike | None, slices: ArrayLike | None
    ) -> tuple[list[Floats], Floats, NDArray[np.int64] | None]:
        """Return coordinates, weights and slices as arrays; raise an error if they contradict public facts."""
        points = [np.asarray(x.values if isinstance(x, Reals) else x, dtype=float) for x in places]
        n = len(points[0])
        for name, x in zip(("x", "destinations"), points, strict=False):
            if x.shape != (n, 2) or not np.isfinite(x).all():
                raise InvalidData(name, x.shape, f"{n} rows of 2 finite coordinates", "Give points of the plane.")
        w = np.broadcast_to(np.asarray(1.0 if weights is None else weights, dtype=float), (n,))
        if n and not (w.min() >= 0 and np.isfinite(w).all()):
            raise InvalidData("weights", float(w.min()), "finite numbers of at least 0", "Leave points out instead.")
        if n and w.max() > self.heaviest * (1 + 2.0**-40):
            allowed = f"at most {self.heaviest:g}, the weight of a unit"
            raise InvalidData("weights", float(w.max()), allowed, "Make the query for heavier units.")
        added, weight = self.added + n, self.weight + float(w.sum())
        if added > self.n or weight > self.total * (1 + 1e-9):
            raise InvalidData(
                "weights",
                (added, weight),
                f"at most {self.n} points with weights of at most {self.total:g} in all, as the query states",
                "Make the query for all points that will be added.",
            )
        at = None
        if slices is not None:
            at = np.broadcast_to(np.asarray(slices, dtype=np.int64), (n,))
            if n and not (at.min() >= 0 and at.max() < self.slices):
                raise InvalidData("slices", int(at.min()), f"from 0 to {self.slices - 1}", "Count slices from 0.")
        elif self.slices > 1:
            raise InvalidData("slices", None, "the slice of each point", "Give one whole number for each point.")
        self.added, self.weight = added, weight
        return points, w, at

    def _located(self, x: Floats) -> tuple[NDArray[np.int64], Weights, Weights]:
        """Return the first of the 4 × 4 cells that each point reaches, and its weights by row and by column.

        A point outside is moved to where its kernel meets the margin only.
        """
        cells: list[NDArray[np.int64]] = []
        weights: list[Weights] = []
        axes = ((x[:, 1], self.lattice.south, self.lattice.rows), (x[:, 0], self.lattice.west, self.lattice.columns))
        for column, origin, length in axes:
            t = column - origin
            t /= self.lattice.cell
            t -= 0.5
            np.clip(t, -self._pad - 2.0, length + self._pad + 1.0, out=t)
            whole = np.floor(t)
            t -= whole
            cells.append(whole.astype(np.int64) + (self._pad + _MARGIN - 1))
            weights.append(spline_weights(t))
        first = cells[0]
        first *= self._shape[1]
        first += cells[1]
        return first, weights[0], weights[1]

    def _add(self, first: NDArray[np.int64], offset: int, numbers: Floats, room: Floats) -> None:
        add_exactly((self._sums[0][offset:], self._sums[1][offset:]), first, numbers, self.units, room)

    def merge(self, other: KernelSums) -> None:
        """Add the sums of another process or thread for the same query."""
        alike = (self.lattice, self.side, self.n, self.total, self.slices, self._ends)
        if alike != (other.lattice, other.side, other.n, other.total, other.slices, other._ends):
            raise ValueError("Sums for different queries cannot be added.")
        if self.added + other.added > self.n or self.weight + other.weight > self.total * (1 + 1e-9):
            raise ValueError("More points or weights than the query states.")
        self.added, self.weight = self.added + other.added, self.weight + other.weight
        for mine, theirs in zip(self._sums, other._sums, strict=True):
            mine += theirs

    def value(self) -> Floats:
        """Return the sums on the lattice: an axis for slices, then rows and columns for each end."""
        shape = (self.slices, *(self._shape * self._ends))
        inside = tuple(slice(_MARGIN, length - _MARGIN - 1) for length in shape[1:])
        fine = sum(part.reshape(shape)[(slice(None), *inside)] for part in self._sums)
        return widened(np.asarray(fine), self.side, tuple(range(1, len(shape))))


class PlaceSums(KernelSums):
    """The sums of the kernels of points; see `KernelSums`."""

    def __init__(
        self, lattice: Lattice, side: int, n: int, total: float, slices: int = 1, heaviest: float = math.inf
    ) -> None:
        super().__init__(lattice, side, n, total, slices, heaviest, 1)

    def add(self, x: Floats | Reals, weights: ArrayLike | None = None, slices: ArrayLike | None = None) -> None:
        """Add points: coordinates (n, 2) in metres, the weight of each (1 unless given) and its slice."""
        (points,), w, at = self._checked([x], weights, slices)
        for start in range(0, len(points), _BLOCK):
            rows = slice(start, start + _BLOCK)
            first, along, across = self._located(points[rows])
            if at is not None:
                first += at[rows] * self._cells
            room = np.empty(len(first))
            for i, row_weight in enumerate(along):
                weighted = row_weight * w[rows]
                for j, column_weight in enumerate(across):
                    self._add(first, i * self._shape[1] + j, weighted * column_weight, room)


class PairedSums:
    """The sums of the kernels of the same points on two lattices."""

    def __init__(self, first: PlaceSums, second: PlaceSums) -> None:
        self.first, self.second = first, second

    def add(self, x: Floats | Reals, weights: ArrayLike | None = None, slices: ArrayLike | None = None) -> None:
        """Add points to both; see `PlaceSums.add`."""
        self.first.add(x, weights, slices)
        self.second.add(x, weights, slices)

    def merge(self, other: PairedSums) -> None:
        """Add the sums of another process or thread for the same query."""
        self.first.merge(other.first)
        self.second.merge(other.second)


class TripSums(KernelSums):
    """The sums of the kernels of trips, κ(origin) ⊗ κ(destination); see `KernelSums`."""

    def __init__(
        self, lattice: Lattice, side: int, n: int, total: float, slices: int = 1, heaviest: float = math.inf
    ) -> None:
        super().__init__(lattice, side, n, total, slices, heaviest, 2)

    def add(
        self,
        x: Floats | Reals,
        destinations: Floats | Reals,
        weights: ArrayLike | None = None,
        slices: ArrayLike | None = None,
    ) -> None:
        """Add trips: origins and destinations (n, 2) in metres, the weight of each (1 unless given) and its slice."""
        (origins, ends), w, at = self._checked([x, destinations], weights, slices)
        width, plane = self._shape[1], math.prod(self._shape)
        offsets = np.add.outer(np.arange(4) * width, np.arange(4)).ravel()
        for start in range(0, len(origins), _SORTED):
            # Trips from the same cell, one after another, add to sums that are in the processor's cache.
            order = start + np.argsort(self._located(origins[start : start + _SORTED])[0], kind="stable")
            for piece in range(0, len(order), _TRIPS):
                rows = order[piece : piece + _TRIPS]
                first, along, across = self._located(origins[rows])
                last, end_along, end_across = self._located(ends[rows])
                first *= plane
                first += last
                if at is not None:
                    first += at[rows] * self._cells
                # The 16 cells around destinations are rows of one array, small enough for the processor's cache.
                cells = np.add.outer(offsets, first).ravel()
                arrived = np.array([a * b for a in end_along for b in end_across])
                product = np.empty(arrived.shape)
                room = np.empty(arrived.size)
                weighted = w[rows]
                for i, row_weight in enumerate(along):
                    for j, column_weight in enumerate(across):
                        np.multiply(row_weight * column_weight * weighted, arrived, out=product)
                        self._add(cells, (i * width + j) * plane, product.ravel(), room)
