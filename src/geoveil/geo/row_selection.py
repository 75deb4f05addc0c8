"""Select rows: those that satisfy a filter, have a location, and are inside the area."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidParameter
from geoveil.geo.geometries import Floats, Index, RowName, count_missing, position
from geoveil.geo.planes import Plane
from geoveil.geo.row_filters import RowFilter
from geoveil.geo.row_locations import RowLocations

__all__ = ["NONE", "RowCounts", "Selection", "no_columns", "row_filter", "rows_inside", "select_rows"]


@dataclass(frozen=True)
class RowCounts:
    """The numbers of rows that were removed, by reason.

    Parameters
    ----------
    filtered : int
        Rows that do not satisfy the filter.
    missing : int
        Rows without a location.
    outside : int
        Rows with a point outside the area.
    thinned : int
        Rows too soon after another one of the same person, where rows are thinned.
    untimed : int
        Rows without a time, where times are needed.
    """

    filtered: int = 0
    missing: int = 0
    outside: int = 0
    thinned: int = 0
    untimed: int = 0

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(*(mine + others for mine, others in zip(astuple(self), astuple(other), strict=True)))

    @property
    def total(self) -> int:
        """The number of all rows that were removed."""
        return sum(astuple(self))

    def __str__(self) -> str:
        reasons = {
            "do not satisfy the filter": self.filtered,
            "have no location": self.missing,
            "have a point outside the area": self.outside,
            "are too soon after another": self.thinned,
            "have no time": self.untimed,
        }
        return ", ".join(f"{count} {reason}" for reason, count in reasons.items() if count)


#: No row was removed.
NONE = RowCounts()


@dataclass(frozen=True)
class Selection:
    """The rows that remain.

    Parameters
    ----------
    rows : array of bool, optional
        Which of the given rows remain; None if all do.
    removed : RowCounts
        The numbers of those that do not.
    """

    rows: NDArray[np.bool_] | None = None
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


def no_columns(where: str) -> InvalidParameter:
    """Return the error of a filter of data without columns."""
    return InvalidParameter("where", where, "left out, unless x is a table", "Select the rows before you ask.")


def select_rows(
    locations: RowLocations,
    plane: Plane | None,
    where: RowFilter | None,
    *,
    missing: str,
    outside: str,
    name: RowName = position,
) -> Selection:
    """Return the rows that remain: a filter comes first, then missing locations, then the area.

    Parameters
    ----------
    locations : RowLocations
        The rows.
    plane : Plane, optional
        The plane of the area.
    where : RowFilter, optional
        The filter.
    missing, outside : str
        As for `geoveil.points`.
    name : callable
        Returns the name of a row in errors, given its position.
    """
    import pyarrow as pa

    there = locations.present()
    rows = np.ones(len(there), dtype=bool)
    if where is not None:
        used = pa.table({column: locations.table.arrow(column) for column in where.columns})
        rows = where.rows(used, name, plane)
    left = np.flatnonzero(rows)
    missed = count_missing(there[left], missing, lambda row: name(int(left[row])))
    left = left[there[left]]
    out = 0
    if outside == "drop" and plane is not None and len(left):
        coords, whose = locations.points(left, name)
        inside = rows_inside(plane, coords, whose, len(left))
        out = int((~inside).sum())
        left = left[inside]
    removed = RowCounts(int((~rows).sum()), missed, out)
    if not removed.total:
        return Selection()
    kept = np.zeros(len(there), dtype=bool)
    kept[left] = True
    return Selection(kept, removed)


def rows_inside(plane: Plane, coords: Floats, rows: Index, count: int) -> NDArray[np.bool_]:
    """Return which of `count` rows have no point outside the area, given the points and the row of each."""
    return np.asarray(np.bincount(rows[~plane.contains(coords)], minlength=count) == 0)
