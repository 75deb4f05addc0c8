"""The public lattice of square cells in which crowd questions count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geoveil import checks
from geoveil.errors import InvalidParameter
from geoveil.mechanisms.mechanism import Floats

__all__ = ["MOST_CELLS", "WIDEST", "Lattice"]

#: The largest number of cells of a lattice.
MOST_CELLS = 2**26
#: The largest kernel, in cells.
WIDEST = 64


@dataclass(frozen=True)
class Lattice:
    """Square cells in rows from south to north and columns from west to east.

    Parameters
    ----------
    west, south : float
        The corner of the first cell, in metres.
    cell : float
        The side of a cell in metres.
    rows, columns : int
        The number of cells from south to north and from west to east.

    Examples
    --------
    >>> from geoveil.queries.crowd import Lattice
    >>> city = Lattice(west=0, south=0, cell=500, rows=4, columns=6)
    >>> city.shape, city.east, city.north
    ((4, 6), 3000.0, 2000.0)
    """

    west: float
    south: float
    cell: float
    rows: int
    columns: int

    def __post_init__(self) -> None:
        corner, side = "Give the corner in the coordinate system of the points.", "Give the side of a cell in metres."
        for name in ("west", "south"):
            value = checks.between(name, getattr(self, name), -checks.FARTHEST, checks.FARTHEST, remedy=corner)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "cell", checks.number("cell", self.cell, above=0, below=checks.FARTHEST, remedy=side))
        for name in ("rows", "columns"):
            number = checks.count(name, getattr(self, name), low=1, remedy="A lattice has at least one cell.")
            object.__setattr__(self, name, number)
        if self.cells > MOST_CELLS:
            raise InvalidParameter("rows", self.rows, f"at most {MOST_CELLS} cells in all", "Make the cells larger.")

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.rows, self.columns

    @property
    def cells(self) -> int:
        """The number of cells. Cell (row, column) is number row·columns + column."""
        return self.rows * self.columns

    @property
    def east(self) -> float:
        """The eastern edge in metres."""
        return self.west + self.columns * self.cell

    @property
    def north(self) -> float:
        """The northern edge in metres."""
        return self.south + self.rows * self.cell

    def edges(self) -> tuple[Floats, Floats]:
        """Return the columns + 1 edges from west to east and the rows + 1 edges from south to north, in metres."""
        columns, rows = (np.arange(count + 1, dtype=float) for count in (self.columns, self.rows))
        return self.west + self.cell * columns, self.south + self.cell * rows
