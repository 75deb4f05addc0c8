"""The points in the rows of a table: vertices of a GeoDataFrame's geometries, or columns of coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.geo.geometries import Floats, Index, RowName, position, present, vertices
from geoveil.geo.recognition import Pair
from geoveil.geo.table_kinds import PandasTable, Table

if TYPE_CHECKING:
    import geopandas
    import pyarrow as pa

__all__ = ["CoordinateRows", "GeometryRows", "Pairs", "RowLocations"]

#: The columns of coordinates of a table, a pair for each point of a row: longitude and latitude, or x and y.
Pairs: TypeAlias = tuple[Pair, ...]


class RowLocations(ABC):
    """The rows of a table, and the points in each of them.

    `table` holds all columns, and `places` names those of the points.
    """

    table: Table
    places: frozenset[Hashable]

    @property
    def others(self) -> list[Any]:
        """The names of all columns but those of the points."""
        return [name for name in self.table.names if name not in self.places]

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Return some columns."""
        import pyarrow as pa

        return pa.table({name: self.table.arrow(name) for name in columns})

    @abstractmethod
    def present(self) -> NDArray[np.bool_]:
        """Return which rows have a location."""

    @abstractmethod
    def points(self, rows: Index, name: RowName = position) -> tuple[Floats, Index]:
        """Return the points of some rows that have a location, and for each point the position of its row in `rows`.

        `name` returns the name of a row of the table in errors.
        """


class GeometryRows(RowLocations):
    """The rows of a GeoSeries or GeoDataFrame: points, or lines and multipoints taken as their vertices."""

    def __init__(self, frame: geopandas.GeoSeries | geopandas.GeoDataFrame) -> None:
        self.table, self.places = PandasTable(frame), frozenset([frame.geometry.name])
        self._geometries = np.asarray(frame.geometry.array)

    def present(self) -> NDArray[np.bool_]:
        return present(self._geometries)

    def points(self, rows: Index, name: RowName = position) -> tuple[Floats, Index]:
        return vertices(self._geometries[rows], lambda row: name(int(rows[row])))


class CoordinateRows(RowLocations):
    """The rows of a table with columns of coordinates, which hold a point for each pair of these.

    Parameters
    ----------
    table : Table
        The table.
    pairs : tuple of pairs of names
        The columns of longitude and latitude, or of x and y; in other units than degrees and metres, or texts of
        angles, where `geo.recognition.unit_of` says so.
    """

    def __init__(self, table: Table, pairs: Pairs) -> None:
        self.table, self.pairs = table, pairs
        self.places = frozenset(name for pair in pairs for name in pair)
        self.units = {name: table.unit(name) for name in self.places}
        self._coords = np.stack([np.column_stack([self._degrees(x), self._degrees(y)]) for x, y in pairs], axis=1)

    def _degrees(self, name: Hashable) -> Floats:
        unit = self.units[name]
        return self.table.angles(name) if unit is None else self.table.numbers(name) * unit

    def present(self) -> NDArray[np.bool_]:
        return np.asarray(~np.isnan(self._coords).any(axis=(1, 2)))

    def points(self, rows: Index, name: RowName = position) -> tuple[Floats, Index]:
        return self._coords[rows].reshape(-1, 2), np.repeat(np.arange(len(rows)), len(self.pairs))
