"""Take in: data of any form becomes points in metres, persons, and the form in which answers return."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geoveil._types import CoordinateColumns, CrsLike, Labels, Locations, Missing, Outside, Pseudonyms
from geoveil.answering.pseudonyms import check_pseudonyms, pseudonyms_of
from geoveil.facts import Removed
from geoveil.geo import Area, AreaLike, Form, enter
from geoveil.geo.columns import distinct
from geoveil.geo.forms import Index
from geoveil.geo.plain_values import copied, copied_index
from geoveil.geo.row_selection import RowCounts
from geoveil.privacy import Guarantee

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Intake", "People", "in_the_plane", "removed", "take_in"]


@dataclass(frozen=True)
class People:
    """The persons in the data.

    Parameters
    ----------
    labels : pandas.Index
        Their labels, in the order in which they first appear.
    sizes : array of int
        The number of points of each.
    rows : array of int
        The positions of all points, one person after another.
    pseudonyms : pandas.Index, optional
        The random labels that are released in place of their own.
    """

    labels: pd.Index
    sizes: Index
    rows: Index
    pseudonyms: pd.Index | None = None

    @property
    def released(self) -> pd.Index:
        """The labels that are released: their own, or pseudonyms."""
        return self.labels if self.pseudonyms is None else self.pseudonyms

    def without(self, skipped: NDArray[np.bool_]) -> People:
        """Return the persons that are not skipped, with the positions of their points."""
        kept = ~skipped
        shown = None if self.pseudonyms is None else copied_index(self.pseudonyms[kept])
        rows = self.rows[np.repeat(kept, self.sizes)]
        return People(copied_index(self.labels[kept]), self.sizes[kept], rows, shown)

    @property
    def digest(self) -> str:
        """A digest of the assignment of points to persons, which is public."""
        return hashlib.sha256(self.rows.tobytes() + self.sizes.tobytes()).hexdigest()


@dataclass(frozen=True)
class Intake:
    """Data that has been checked and converted to metres.

    Parameters
    ----------
    form : Form
        The points, their plane, and the form in which answers about them return.
    by : str or array of labels, optional
        The person of each point, as the caller gave it.
    people : People, optional
        The persons; None where all points are taken as one person's.
    """

    form: Form
    by: Labels
    people: People | None

    @property
    def area(self) -> Area | None:
        """The public area of the data, if one was stated."""
        return None if self.form.plane is None else self.form.plane.area

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""
        return self.form.coords.shape[1]


def take_in(
    x: Locations,
    *,
    by: Labels = None,
    lat: CoordinateColumns = None,
    lon: CoordinateColumns = None,
    area: AreaLike = None,
    crs: CrsLike = None,
    outside: Outside = "refuse",
    missing: Missing = "refuse",
    where: str | None = None,
    pseudonyms: Pseudonyms = False,
) -> Intake:
    """Check data once and convert it to points in metres.

    Parameters
    ----------
    x : array, table, shapely geometry, GeoSeries or GeoDataFrame
        The points.
    by, lat, lon, area, crs, outside, missing, where, pseudonyms : optional
        As for `geoveil.points`.
    """
    form = enter(x, area, lat=lat, lon=lon, crs=crs, outside=outside, missing=missing, where=where)
    check_pseudonyms(pseudonyms, by, form.where)
    if by is None:
        return Intake(form, by, None)
    people = _people(form, by)
    return Intake(form, by, people if pseudonyms is False else _pseudonymised(form, by, people, pseudonyms))


def _people(form: Form, by: Labels) -> People:
    """Return the persons of the points."""
    import pandas as pd
    import pyarrow as pa

    codes, labels = pd.factorize(form.people(by))
    name = by if isinstance(by, str) else "person"
    if pd.api.types.is_string_dtype(labels):
        distinct(pa.array(labels, pa.string()), by if isinstance(by, str) else "by", "x")
    index = pd.Index(copied(labels), name=name, copy=False, tupleize_cols=False)
    return People(index, np.bincount(codes), np.argsort(codes, kind="stable"))


def _pseudonymised(form: Form, by: Labels, people: People, pseudonyms: Pseudonyms) -> People:
    """Return the persons with pseudonyms, which also take the place of the labels in a table's column."""
    import pandas as pd

    shown = pseudonyms_of(people.labels.to_list(), pseudonyms)
    form.relabel(by, people.labels, shown)
    return replace(people, pseudonyms=pd.Index(shown, name=people.labels.name))


def removed(rows: RowCounts, where: str | None, columns: Sequence[Hashable], persons: Sequence[str]) -> Removed:
    """Return the parts of the input that are not in a release: rows, columns, and persons without enough budget."""
    return Removed(rows.missing, tuple(columns), tuple(persons), rows.outside, rows.filtered, where)


def in_the_plane(guarantee: Guarantee, area: Area | None) -> Guarantee:
    """Return the guarantee per metre of the plane that gives this guarantee per metre on the ground."""
    if area is None or area.stretch == 1:
        return guarantee
    whole = guarantee / area.stretch
    return whole / area.stretch if guarantee.power == 2 else whole
