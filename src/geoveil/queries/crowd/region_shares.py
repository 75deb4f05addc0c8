"""Public regions on a lattice: the share of each cell that a region covers."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidParameter
from geoveil.mechanisms.mechanism import Floats
from geoveil.queries.crowd.lattice import Lattice

__all__ = ["Regions"]

#: A box of which a region covers more than this share is inside; what is missing is rounding.
_WHOLE = 1 - 1e-12
#: Covers the rounding of a sum of up to 2^26 shares.
_SUMS = 1 + 2.0**-25


@dataclass(frozen=True, eq=False)
class Regions:
    """Regions as a public matrix, whose entry (r, c) is the share of cell c that region r covers, from 0 to 1.

    Parameters
    ----------
    lattice : Lattice
        The cells, in the order row·columns + column.
    shares : scipy sparse array or array
        The matrix, regions × cells. Regions may overlap.

    Examples
    --------
    >>> import numpy as np
    >>> import shapely
    >>> from geoveil.queries.crowd import Lattice, Regions
    >>> lattice = Lattice(west=0, south=0, cell=10, rows=2, columns=2)
    >>> regions = Regions.of([shapely.box(0, 0, 15, 20), shapely.box(15, 0, 20, 20)], lattice)
    >>> regions.shares.toarray()
    array([[1. , 0.5, 1. , 0.5],
           [0. , 0.5, 0. , 0.5]])
    >>> round(regions.cover, 6)
    1.0
    """

    lattice: Lattice
    shares: Any

    def __post_init__(self) -> None:
        from scipy.sparse import csr_array

        shares = csr_array(self.shares, dtype=float)
        shares.sum_duplicates()
        if shares.shape[1] != self.lattice.cells or shares.shape[0] == 0:
            allowed = f"a matrix with at least one row and {self.lattice.cells} columns, one for each cell"
            raise InvalidParameter("shares", shares.shape, allowed, "Make it with Regions.of.")
        if shares.nnz and not (shares.data.min() >= 0 and shares.data.max() <= 1):
            raise InvalidParameter("shares", float(shares.data.max()), "from 0 to 1", "Give shares of cells.")
        object.__setattr__(self, "shares", shares)

    @classmethod
    def of(cls, polygons: Sequence[Any] | NDArray[Any], lattice: Lattice) -> Regions:
        """Return the regions that polygons or multipolygons cover; they may overlap and have holes.

        Notes
        -----
        Each polygon is cut along boxes that are halved until they are cells. Only boxes that its boundary crosses are
        cut; those inside are filled with ones. Any matrix of shares is as private, so rounding does no harm.
        """
        import shapely
        from scipy.sparse import coo_array

        shapes = np.asarray(polygons, dtype=object).ravel()
        usable = [bool(shapely.is_valid(shape)) and shape.geom_type in ("Polygon", "MultiPolygon") for shape in shapes]
        if not len(shapes) or not all(usable):
            raise InvalidParameter(
                "polygons", len(shapes), "valid polygons and multipolygons", "Mend them with shapely.make_valid."
            )
        found = _shares(shapes, lattice)
        rows, cells, shares = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return cls(lattice, coo_array((shares, (rows, cells)), shape=(len(shapes), lattice.cells)))

    def __len__(self) -> int:
        return int(self.shares.shape[0])

    @cached_property
    def cover(self) -> float:
        """The largest sum of the shares of one cell, rounded up: 1 for disjoint regions."""
        return float(self.shares.sum(axis=0).max()) * _SUMS

    @cached_property
    def squared_norm(self) -> float:
        """An upper bound on the square of the matrix's spectral norm: the largest row sum of RᵀR, rounded up."""
        return float((self.shares.T @ self.shares.sum(axis=1)).max()) * _SUMS**2

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the matrix, which identifies it."""
        parts = [
            np.array(self.shares.shape, dtype=np.int64),
            *map(np.int64, (self.shares.indptr, self.shares.indices)),
        ]
        return hashlib.sha256(b"".join(part.tobytes() for part in [*parts, self.shares.data])).hexdigest()

    def counts(self, cells: Floats) -> Floats:
        """Return R·v for rows v of cells. Each sum of products is rounded once, so its relative error is 2^-52."""
        starts = self.shares.indptr.tolist()
        out = np.empty((len(cells), len(self)))
        for row, values in zip(out, cells, strict=True):
            products = (self.shares.data * values[self.shares.indices]).tolist()
            row[:] = [math.fsum(products[a:b]) for a, b in itertools.pairwise(starts)]
        return out


def _shares(shapes: NDArray[Any], lattice: Lattice) -> list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]]:
    """Return the rows, cells and shares of all regions, by the size of the boxes in which they were found."""
    import shapely

    size = 2 ** (max(lattice.shape) - 1).bit_length()
    region = np.arange(len(shapes))
    row, column = np.zeros((2, len(shapes)), dtype=np.int64)
    pieces, found = shapes, []
    while True:
        boxes = shapely.box(
            lattice.west + column * lattice.cell,
            lattice.south + row * lattice.cell,
            lattice.west + (column + size) * lattice.cell,
            lattice.south + (row + size) * lattice.cell,
        )
        shapely.prepare(pieces)
        met = shapely.intersects(pieces, boxes)
        whole = np.zeros(len(pieces), dtype=bool)
        whole[met] = shapely.covers(pieces[met], boxes[met])
        cut = met & ~whole
        pieces = pieces.copy()
        pieces[cut] = shapely.intersection(pieces[cut], boxes[cut])
        share = np.where(whole, 1.0, 0.0)
        share[cut] = np.clip(shapely.area(pieces[cut]) / (size * lattice.cell) ** 2, 0.0, 1.0)
        inside = share > _WHOLE
        found.append(_filled(region[inside], row[inside], column[inside], size, lattice))
        partly = ~inside & (share > 0)
        region, row, column, pieces = region[partly], row[partly], column[partly], pieces[partly]
        if size == 1:
            within = (row < lattice.rows) & (column < lattice.columns)
            found.append((region[within], row[within] * lattice.columns + column[within], share[partly][within]))
            return found
        size //= 2
        region, pieces = np.repeat(region, 4), np.repeat(pieces, 4)
        row = (row[:, None] + size * np.array([0, 0, 1, 1])).ravel()
        column = (column[:, None] + size * np.array([0, 1, 0, 1])).ravel()
        kept = (row < lattice.rows) & (column < lattice.columns)
        region, row, column, pieces = region[kept], row[kept], column[kept], pieces[kept]


def _filled(
    region: NDArray[np.int64], row: NDArray[np.int64], column: NDArray[np.int64], size: int, lattice: Lattice
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return ones for all cells of boxes inside regions."""
    steps = np.arange(size)
    shape = (len(region), size, size)
    rows = np.broadcast_to((row[:, None] + steps)[:, :, None], shape).ravel()
    columns = np.broadcast_to((column[:, None] + steps)[:, None, :], shape).ravel()
    within = (rows < lattice.rows) & (columns < lattice.columns)
    cells = (rows * lattice.columns + columns)[within]
    return np.repeat(region, size * size)[within], cells, np.ones(len(cells))
