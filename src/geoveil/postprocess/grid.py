"""Regular grids of square cells over a public box, for heat maps and priors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geoveil import checks
from geoveil.errors import InvalidData, InvalidParameter

if TYPE_CHECKING:
    import geopandas

__all__ = ["Grid"]

Floats = NDArray[np.float64]

#: Largest number of cells of a grid: larger maps and their kernels would not fit into memory.
MOST_CELLS = 2**24


@dataclass(frozen=True)
class Grid:
    """A grid of square cells over a public box, in rows from south to north and columns from west to east.

    Parameters
    ----------
    bounds : (float, float, float, float)
        The box: west, south, east, north, in the units of the release's coordinate system (metres for arrays). Choose
        it from public knowledge of the area, never from the data.
    cell : float
        The side of a cell, in the same units. If the sides of the box are not multiples of it, the last cells extend
        beyond the box to the east and to the north.

    Examples
    --------
    >>> grid = gv.Grid((0, 0, 1000, 500), cell=250)
    >>> grid.shape
    (2, 4)
    >>> grid.centers[0, :2]
    array([[125., 125.],
           [375., 125.]])
    >>> grid.count([[10, 10], [20, 20], [990, 490], [5000, 0]])
    array([[2, 0, 0, 0],
           [0, 0, 0, 1]])
    """

    bounds: tuple[float, float, float, float]
    cell: float

    def __post_init__(self) -> None:
        cell = checks.positive("cell", self.cell, remedy="Give the side of a cell, for example 500.0.")
        try:
            west, south, east, north = (float(end) for end in self.bounds)
        except (TypeError, ValueError):
            west = south = east = north = math.nan
        if not (-math.inf < west < east < math.inf and -math.inf < south < north < math.inf):
            raise InvalidParameter(
                "bounds", self.bounds, "(west, south, east, north), finite and in this order", "Give a public box."
            )
        object.__setattr__(self, "bounds", (west, south, east, north))
        object.__setattr__(self, "cell", cell)
        sides = (north - south) / cell, (east - west) / cell
        if not max(sides) * max(min(sides), 1) <= MOST_CELLS:
            raise InvalidParameter(
                "cell",
                cell,
                f"large enough for at most {MOST_CELLS} cells",
                "Give larger cells or a smaller box.",
            )
        if west + cell == west or south + cell == south:
            raise InvalidParameter("cell", cell, "large enough for doubles to tell cells apart", "Give larger cells.")

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        west, south, east, north = self.bounds
        # A side of 0.3 has three cells of 0.1, whatever rounding makes of the quotient.
        rows, columns = (max(math.ceil(side / self.cell - 1e-9), 1) for side in (north - south, east - west))
        return rows, columns

    @property
    def edges(self) -> tuple[Floats, Floats]:
        """The edges of rows, from south to north, and of columns, from west to east."""
        rows, columns = self.shape
        steps = np.arange(max(rows, columns) + 1, dtype=float) * self.cell
        return self.bounds[1] + steps[: rows + 1], self.bounds[0] + steps[: columns + 1]

    @property
    def centers(self) -> Floats:
        """The centre (x, y) of each cell, as an array of shape (rows, columns, 2)."""
        y, x = ((edges[1:] + edges[:-1]) / 2 for edges in self.edges)
        return np.stack(np.meshgrid(x, y), axis=-1)

    def count(self, points: ArrayLike | geopandas.GeoSeries | geopandas.GeoDataFrame) -> NDArray[np.int64]:
        """Count the points in each cell; points outside the grid are ignored.

        A cell contains its southern and western edges. Counts of true locations are not private. Counts of released
        locations are, but they are blurred by the noise: see `Release.density`.

        Parameters
        ----------
        points : (n, 2) array, GeoSeries or GeoDataFrame
            The points, in the units of the grid.

        Examples
        --------
        >>> stops = geopandas.GeoSeries.from_xy([100, 700, 900], [100, 200, 300], crs=32610)
        >>> gv.Grid((0, 0, 1000, 500), cell=500).count(stops)
        array([[1, 2]])
        """
        if hasattr(points, "geometry"):
            import shapely

            points = shapely.get_coordinates(points.geometry.array)
        try:
            coords = np.asarray(points, dtype=float)
        except (TypeError, ValueError):
            coords = np.empty(())
        if coords.size == 0 and coords.ndim:
            coords = coords.reshape(0, 2)
        if coords.ndim != 2 or coords.shape[1] != 2:
            raise InvalidData("points", points, "an (n, 2) array or a frame of points", "A grid is two-dimensional.")
        rows, columns = self.shape
        with np.errstate(invalid="ignore"):
            column, row = np.floor((coords - self.bounds[:2]) / self.cell).T
            inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        at = row[inside].astype(np.int64) * columns + column[inside].astype(np.int64)
        return np.bincount(at, minlength=rows * columns).reshape(rows, columns)

    def scaled(self, factor: float) -> Grid:
        """Return the same grid in other units.

        Examples
        --------
        >>> gv.Grid((0, 0, 10, 5), cell=5).scaled(0.3048).cell
        1.524
        """
        if factor == 1:
            return self
        west, south, _, _ = (factor * end for end in self.bounds)
        rows, columns = self.shape
        cell = factor * self.cell
        return Grid((west, south, west + cell * columns, south + cell * rows), cell)

    def grown(self, margin: int) -> Grid:
        """Return the grid with this many more cells on each side.

        Examples
        --------
        >>> gv.Grid((0, 0, 1000, 500), cell=500).grown(1).bounds
        (-500.0, -500.0, 1500.0, 1000.0)
        """
        west, south = (end - margin * self.cell for end in self.bounds[:2])
        rows, columns = (size + 2 * margin for size in self.shape)
        return Grid((west, south, west + self.cell * columns, south + self.cell * rows), self.cell)
