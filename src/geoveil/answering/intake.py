"""Take in: data of any form becomes points in metres, persons, and the form in which answers return."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Labels, Missing, Pseudonyms, Times
from geoveil.answering.pseudonyms import pseudonyms_of
from geoveil.errors import InvalidParameter, Message
from geoveil.facts import Removed
from geoveil.geo import Area, Form
from geoveil.geo.columns import distinct
from geoveil.geo.forms import Index
from geoveil.geo.plain_values import copied, copied_index
from geoveil.geo.point_times import known_times, point_times, time_columns
from geoveil.geo.row_selection import RowCounts
from geoveil.geo.seconds import ReadTimes, stated_names
from geoveil.privacy import (
    Duration,
    Guarantee,
    Metric,
    as_duration,
    dist_1,
    dist_2,
    kept_of_thinned,
    largest_stretch_sum,
    stretch_sizes,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Intake", "People", "in_the_plane", "people_of", "removed", "take_in"]


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

    @cached_property
    def codes(self) -> Index:
        """The position of the person of each point."""
        codes = np.empty(len(self.rows), dtype=np.int64)
        codes[self.rows] = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return codes

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
        The persons, if each gets an answer; None if there is one answer about all points.
    crowd : People, optional
        The persons of a crowd, if one answer is about many persons.
    times : str or array of times, optional
        The time of each point, as the caller gave it.
    """

    form: Form
    by: Labels
    people: People | None
    crowd: People | None = None
    times: Times = None

    @property
    def persons(self) -> People | None:
        """The persons, whether each gets an answer or one answer is about all; None if all points are one person's."""
        return self.people or self.crowd

    @property
    def area(self) -> Area | None:
        """The public area of the data, if one was stated."""
        return None if self.form.plane is None else self.form.plane.area

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""
        return self.form.coords.shape[1]

    @cached_property
    def _read_times(self) -> ReadTimes:
        return point_times(self.form, self.times)

    @property
    def microseconds(self) -> Index:
        """The time of each point in microseconds, counted from an arbitrary origin."""
        return self._read_times.microseconds

    def unit_times(self, stretch: int) -> Index:
        """Return the time of each point in microseconds, to count the points of stretches of this length."""
        return self._read_times.for_units(stretch)

    @property
    def times_digest(self) -> str:
        """A digest of the times of the points, which are public."""
        return hashlib.sha256(self.microseconds.tobytes()).hexdigest()

    def time_columns(self, metric: Metric) -> tuple[str, ...] | None:
        """Return the columns of times that a metric's units are counted from; None if it needs no times."""
        return None if metric.stretch is None else stated_names(time_columns(self.form, self.times))

    def time_span(self, metric: Metric) -> tuple[int, int] | None:
        """Return the first and the last time that a metric's units are counted from; None if it needs no times."""
        if metric.stretch is None:
            return None
        times = self.unit_times(metric.stretch)
        return int(times.min()), int(times.max())

    def unit_sizes(self, metric: Metric) -> Index | None:
        """Return for each point the number of points in its largest unit; None if the metric has no units."""
        if not metric.of_unit:
            return None
        if metric.persons and self.crowd is None:
            remedy = Message("Give {person}, the column or the labels of persons.")
            raise InvalidParameter("person", None, f"given under {metric}", remedy)
        persons = self.persons
        codes = None if persons is None else persons.codes
        if metric.stretch is not None:
            return stretch_sizes(self.unit_times(metric.stretch), metric.stretch, codes)
        assert persons is not None
        return persons.sizes[codes]

    def counts(self, metric: Metric) -> tuple[list[int], list[int] | None]:
        """Return the number of points of each answer, and the number of them in the largest unit of a metric.

        There is an answer for each person, or one for all points. The second number is None if the metric has no
        units.
        """
        codes = np.zeros(len(self.form.coords), dtype=np.int64) if self.people is None else self.people.codes
        numbers, each = np.bincount(codes), self.unit_sizes(metric)
        if each is None:
            return numbers.tolist(), None
        largest = np.zeros(len(numbers), dtype=np.int64)
        np.maximum.at(largest, codes, each)
        return numbers.tolist(), largest.tolist()

    def largest_sum(self, shares: NDArray[np.float64], metric: Metric) -> float:
        """Return the largest sum of the points' shares over a unit of a metric."""
        persons = self.persons
        codes = None if persons is None else persons.codes
        if metric.stretch is not None:
            return largest_stretch_sum(shares, self.unit_times(metric.stretch), metric.stretch, codes)
        if metric in (dist_1, dist_2):
            return float(shares.max())
        return float(shares.sum() if codes is None else np.bincount(codes, shares).max())

    def without(self, skipped: NDArray[np.bool_]) -> Intake:
        """Return the data without some persons of a crowd."""
        assert self.crowd is not None
        rest = self.crowd.without(skipped)
        gone = np.unique(self.form.rows[skipped[self.crowd.codes]])
        # Positions among the points that remain.
        rows = np.searchsorted(np.sort(rest.rows), rest.rows)
        return replace(self, form=self.form.without_rows(gone), crowd=replace(rest, rows=rows))


def take_in(
    form: Form,
    *,
    person: Labels = None,
    together: bool = False,
    times: Times = None,
    thin: Duration | None = None,
    missing: Missing = "refuse",
    pseudonyms: Pseudonyms = False,
    timed: bool = False,
) -> Intake:
    """Find the persons and times of points that were checked and converted to metres.

    Parameters
    ----------
    form : Form
        The points.
    person, times, thin, missing, pseudonyms : optional
        As for `geoveil.Locations`.
    together : bool
        Whether one answer is about all persons.
    timed : bool
        Whether every point needs a time.
    """
    if timed or thin is not None:
        form = known_times(form, times, missing)
    if thin is not None:
        form = _thinned(form, person, times, as_duration("thin", thin))
    if person is None:
        return Intake(form, None, None, None, times)
    people = people_of(form, person)
    if together:
        return Intake(form, None, None, people, times)
    if pseudonyms is not False:
        form, people = _pseudonymised(form, person, people, pseudonyms)
    return Intake(form, person, people, None, times)


def _thinned(form: Form, labels: Labels, times: Times, step: int) -> Form:
    """Return the form with each person's first row per interval; a row has the time of its first point."""
    rows, first = np.unique(form.rows, return_index=True)
    codes = None if labels is None else people_of(form, labels).codes[first]
    kept = kept_of_thinned(point_times(form, times).microseconds[first], step, codes)
    return form if kept.all() else form.without_rows(rows[~kept], "thinned")


def people_of(form: Form, by: Labels, argument: str = "person") -> People:
    """Return the persons of the points."""
    import pandas as pd
    import pyarrow as pa

    codes, labels = pd.factorize(form.people(by, argument))
    name = by if isinstance(by, str) else "person"
    if pd.api.types.is_string_dtype(labels):
        distinct(pa.array(labels, pa.string()), by if isinstance(by, str) else argument, "x")
    index = pd.Index(copied(labels), name=name, copy=False, tupleize_cols=False)
    return People(index, np.bincount(codes), np.argsort(codes, kind="stable"))


def _pseudonymised(form: Form, by: Labels, people: People, pseudonyms: Pseudonyms) -> tuple[Form, People]:
    """Return the points and their persons with pseudonyms, which also replace the labels in a table's column."""
    import pandas as pd

    shown = pseudonyms_of(people.labels.to_list(), pseudonyms)
    relabelled = form.relabelled(by, people.labels, shown)
    return relabelled, replace(people, pseudonyms=pd.Index(shown, name=people.labels.name))


def removed(rows: RowCounts, where: str | None, columns: Sequence[Hashable], persons: Sequence[str]) -> Removed:
    """Describe the rows, columns and persons of the input that are not in a release."""
    return Removed(
        rows.missing, tuple(columns), tuple(persons), rows.outside, rows.filtered, where, rows.thinned, rows.untimed
    )


def in_the_plane(guarantee: Guarantee, area: Area | None) -> Guarantee:
    """Return the guarantee per metre of the plane that gives this guarantee per metre on the ground."""
    if area is None or area.stretch == 1:
        return guarantee
    whole = guarantee / area.stretch
    return whole / area.stretch if guarantee.power == 2 else whole
