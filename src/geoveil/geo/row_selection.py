"""Select rows: those that satisfy a filter, have a location, and are inside the area."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidParameter
from geoveil.facts import Removed
from geoveil.geo.geometries import Floats, Index, RowName, count_missing, position
from geoveil.geo.planes import Plane
from geoveil.geo.row_filters import RowFilter
from geoveil.geo.row_locations import RowLocations

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NONE", "RowCounts", "Selection", "check_column", "no_columns", "row_filter", "select_rows"]


@dataclass(frozen=True)
class RowCounts:
    """The numbers of rows that were removed, by reason."""

    #: Rows that do not satisfy the filter.
    filtered: int = 0
    #: Rows without a location.
    missing: int = 0
    #: Rows with a point outside the area.
    outside: int = 0
    #: Rows too soon after another one of the same person, where rows are thinned.
    thinned: int = 0
    #: Rows without a time, where times are needed.
    untimed: int = 0

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(*(mine + others for mine, others in zip(astuple(self), astuple(other), strict=True)))

    @property
    def total(self) -> int:
        """The number of all rows that were removed."""
        return sum(astuple(self))

    def described(self, where: str | None, columns: Iterable[Hashable] = (), persons: Iterable[str] = ()) -> Removed:
        """Describe the rows, columns and persons of the input that are not in a release."""
        return Removed(
            self.missing,
            tuple(columns),
            tuple(persons),
            self.outside,
            self.filtered,
            where,
            self.thinned,
            self.untimed,
        )

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
