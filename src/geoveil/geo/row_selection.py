"""Select rows: those that satisfy a filter, have a location, and are inside the area."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidParameter
from geoveil.facts import NONE, RowCounts
from geoveil.geo.geometries import Floats, Index, RowName, count_missing, position
from geoveil.geo.planes import Plane
from geoveil.geo.row_filters import RowFilter
from geoveil.geo.row_locations import RowLocations

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Selection", "check_column", "no_columns", "row_filter", "select_rows"]


@dataclass(frozen=True)
class Selection:
    """The rows that remain."""

    #: Which of the given rows remain; None if all do.
    rows: NDArray[np.bool_] | None = None
    #: The numbers of those that do not.
    removed: RowCounts = NONE


def row_filter(locations: RowLocations, where: str | None) -> RowFilter | None:
    """Return the filter of rows; refuse one of rows without columns."""
    if where is None:
        return None
    import pyarrow as pa

    table = locations.table
    names = [name for name in table.names if isinstance(name, str)]
    if not locations.others:
        raise no_columns(where)
    places = {name for name in names if name in locations.places or table.holds_places(name)}
    # Only columns that may be used are converted.
    used = [name for name in names if name not in places and name.casefold() in str(where).casefold()]
    kinds = {name: table.arrow(name).type if name in used else pa.null() for name in names}
    return RowFilter(where, kinds, places)


def check_column(argument: str, name: object, columns: Sequence[Hashable], of: str) -> None:
    """Refuse the name of a column that data has not, or that may hold places."""
    if name is not None and name not in columns:
        remedy = "Leave it out if all rows belong to one person." if argument == "person" else "Name another column."
        raise InvalidParameter(argument, name, f"a column of {of}, one of {[*columns]}", remedy)


def no_columns(where: str) -> InvalidParameter:
    """Return the error of a filter of data without columns."""
    return InvalidParameter("where", where, "left out, unless x is a table", "Select the rows before you ask.")


class SelectableRows(Protocol):
    """Rows that can be selected by their columns and places: those of a table, or a batch of those of a file."""

    def present(self) -> NDArray[np.bool_]:
        """Return which rows have a location."""

    def points(self, rows: Index, name: RowName = position) -> tuple[Floats, Index]:
        """Return the points of some rows, and for each point the position of its row in `rows`."""

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Return some columns."""


def select_rows(
    locations: SelectableRows,
    plane: Plane | None,
    where: RowFilter | None,
    *,
    missing: str,
    outside: str,
    name: RowName = position,
) -> Selection:
    """Return the rows that remain: a filter comes first, then missing locations, then the area.

    A line with some points outside the area is removed as a whole.

    Parameters
    ----------
    locations : SelectableRows
        The rows.
    plane : Plane, optional
        The plane of the area.
    where : RowFilter, optional
        The filter.
    missing, outside : str
        As for `geoveil.Locations`.
    name : callable
        Returns the name of a row in errors, given its position.
    """
    there = locations.present()
    rows = np.ones(len(there), dtype=bool)
    if where is not None:
        rows = where.rows(locations.arrow(where.columns), name, plane)
    left = np.flatnonzero(rows)
    missed = count_missing(there[left], missing, lambda row: name(int(left[row])))
    left = left[there[left]]
    out = 0
    if outside == "drop" and plane is not None and len(left):
        coords, whose = locations.points(left, name)
        inside = np.bincount(whose[~plane.contains(coords)], minlength=len(left)) == 0
        out = int((~inside).sum())
        left = left[inside]
    removed = RowCounts(int((~rows).sum()), missed, out)
    if not removed.total:
        return Selection()
    kept = np.zeros(len(there), dtype=bool)
    kept[left] = True
    return Selection(kept, removed)
