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
from geoveil.queries.persons import Index

__all__ = ["Regions"]

#: A region that covers more than this share of a cell covers the whole cell, up to rounding.
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
        Only boundaries are followed, in one pass for all polygons. Any matrix of shares keeps the guarantee, so
        rounding does no harm.
        """
        import shapely
        from scipy.sparse import coo_array

        shapes = np.asarray(polygons, dtype=object).ravel()
        usable = [bool(shapely.is_valid(shape)) and shape.geom_type in ("Polygon", "MultiPolygon") for shape in shapes]
        if not len(shapes) or not all(usable):
            raise InvalidParameter(
                "polygons", len(shapes), "valid polygons and multipolygons", "Mend them with shapely.make_valid."
            )
        region, cell, share = _shares(shapes, lattice)
        return cls(lattice, coo_array((share, (region, cell)), shape=(len(shapes), lattice.cells)))

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


def _shares(shapes: NDArray[Any], lattice: Lattice) -> tuple[Index, Index, Floats]:
    """Return the regions, cells and shares of all entries that are not 0.

    The area left of an edge that goes up counts for a region, and left of an edge that goes down against it, if its
    rings turn to the left and its holes to the right. Every edge is cut where it enters another cell. A piece of
    height h adds to its own cell what is to the right of it, and h to all cells farther to the right, with the
    opposite sign.
    """
    region, start, end = _edges(shapes, lattice)
    region, start, end = _cut(region, start, end)
    middle, height = (start + end) / 2, (start - end)[:, 1]
    column = np.clip(np.floor(middle[:, 0]), 0, lattice.columns - 1).astype(np.int64)
    row = np.clip(np.floor(middle[:, 1]), 0, lattice.rows - 1).astype(np.int64)
    own = height * (1 - np.clip(middle[:, 0] - column, 0, 1))
    keys, which = np.unique((region * lattice.rows + row) * lattice.columns + column, return_inverse=True)
    if not len(keys):
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    beyond = np.cumsum(np.bincount(which, height))
    lines = keys // lattice.columns
    first = np.flatnonzero(np.append(True, lines[1:] != lines[:-1]))
    # The heights of a row add up to 0, but for rounding.
    at_first = np.append(0.0, beyond)[first]
    before = np.append(0.0, beyond[:-1]) - np.repeat(at_first, np.diff(np.append(first, len(lines))))
    share, after = before + np.bincount(which, own), before + np.bincount(which, height)
    # The cells of a row between two that edges cross have the same share: edges that cross them are horizontal.
    gap = np.append(np.where(lines[1:] == lines[:-1], np.diff(keys) - 1, 0), 0)
    gap[after < 1 - _WHOLE] = 0
    between = np.repeat(keys + 1, gap) + np.arange(gap.sum()) - np.repeat(np.cumsum(gap) - gap, gap)
    keys, share = np.concatenate([keys, between]), np.concatenate([share, np.repeat(after, gap)])
    share[share > _WHOLE] = 1.0
    partly = share > 1 - _WHOLE
    at, cell = np.divmod(keys[partly], lattice.cells)
    return at, cell, share[partly]


def _edges(shapes: NDArray[Any], lattice: Lattice) -> tuple[Index, Floats, Floats]:
    """Return the region of each edge that is not horizontal, and its two ends in cells from the south-western corner.

    Rings are followed to the left and holes to the right.
    """
    import shapely

    inside = shapely.intersection(shapes, shapely.box(lattice.west, lattice.south, lattice.east, lattice.north))
    parts, region = shapely.get_parts(inside, return_index=True)
    parts, again = shapely.get_parts(parts, return_index=True)
    region = region[again]
    areas = shapely.get_type_id(parts) == 3
    parts, region = parts[areas], region[areas]
    rings, part = shapely.get_rings(parts, return_index=True)
    outer = np.append(True, part[1:] != part[:-1])[: len(part)]
    points, ring = shapely.get_coordinates(rings, return_index=True)
    points = (points - [lattice.west, lattice.south]) / lattice.cell
    points = np.clip(points, 0, [lattice.columns, lattice.rows])
    same = ring[1:] == ring[:-1]
    start, end, ring = points[:-1][same], points[1:][same], ring[1:][same]
    turned = np.bincount(ring, (start[:, 0] + end[:, 0]) * (end - start)[:, 1], minlength=len(rings)) > 0
    backwards = (turned != outer)[ring]
    start[backwards], end[backwards] = end[backwards], start[backwards].copy()
    steep = start[:, 1] != end[:, 1]
    return region[part][ring][steep].astype(np.int64), start[steep], end[steep]


def _cut(region: Index, start: Floats, end: Floats) -> tuple[Index, Floats, Floats]:
    """Return the edges, cut wherever they cross an edge of a cell."""
    edges, at = [np.arange(len(start)), np.arange(len(start))], [np.zeros(len(start)), np.ones(len(start))]
    for a, b in zip(start.T, end.T, strict=True):
        low = np.floor(np.minimum(a, b))
        count = np.maximum(np.ceil(np.maximum(a, b)) - low - 1, 0).astype(np.int64)
        edge = np.repeat(np.arange(len(a)), count)
        line = low[edge] + 1 + np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count)
        edges.append(edge)
        at.append(np.clip((line - a[edge]) / (b - a)[edge], 0, 1))
    edge, share = np.concatenate(edges), np.concatenate(at)
    order = np.lexsort((share, edge))
    edge, share = edge[order], share[order]
    points = start[edge] + share[:, None] * (end - start)[edge]
    same = edge[1:] == edge[:-1]
    return region[edge[1:][same]], points[:-1][same], points[1:][same]
