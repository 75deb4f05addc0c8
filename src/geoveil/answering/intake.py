"""Take in: data of any form becomes points in metres, persons, and the form in which answers return."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Labels, Outside, Times
from geoveil.answering.point_facts import PointFacts
from geoveil.answering.pseudonyms import pseudonyms_of
from geoveil.answering.settings import Settings
from geoveil.errors import InvalidParameter, Message
from geoveil.geo import Area, Form, Plane
from geoveil.geo.columns import distinct
from geoveil.geo.forms import Index
from geoveil.geo.plain_values import copied, copied_index
from geoveil.geo.point_times import known_times, point_times, time_columns
from geoveil.geo.seconds import ReadTimes, stated_names
from geoveil.privacy import Guarantee, Metric
from geoveil.queries.evaluation import displacement

if TYPE_CHECKING:
    import pandas as pd

    from geoveil.release.answered import ReleaseFields

__all__ = ["Intake", "People", "doubles_rounding", "in_the_plane", "people_of", "take_in"]


@dataclass(frozen=True)
class People:
    """The persons in the data, in the order in which they first appear."""

    labels: pd.Index
    #: The number of points of each.
    sizes: Index
    #: The positions of all points, one person after another.
    rows: Index
    #: The random labels that are released in place of their own.
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


@dataclass(frozen=True)
class Intake:
    """Data that has been checked and converted to metres."""

    #: The points, their plane, and the form in which answers about them return.
    form: Form
    #: The person of each point, as the caller gave it.
    by: Labels
    #: The persons, if each gets an answer; None if there is one answer about all points.
    people: People | None
    #: The persons of a crowd, if one answer is about many persons.
    crowd: People | None = None
    #: The time of each point, as the caller gave it.
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

    @property
    def doubles_rounding(self) -> float:
        """The largest distance in metres between a point and the doubles that are used for it; public."""
        plane = self.form.plane
        return displacement(self.form.coords) if plane is None else doubles_rounding(plane, self.form.outside)

    @cached_property
    def read_times(self) -> ReadTimes:
        return point_times(self.form, self.times)

    @property
    def microseconds(self) -> Index:
        """The time of each point in microseconds, counted from an arbitrary origin."""
        return self.read_times.microseconds

    def facts(self, metric: Metric) -> PointFacts:
        """Return the public facts about the points, with times if the units of a metric are stretches of time."""
        times = None if metric.stretch is None else self.read_times.for_units(metric.stretch)
        return PointFacts(None if self.persons is None else self.persons.codes, self.form.rows, times)

    def unit_sizes(self, metric: Metric) -> Index | None:
        """Return for each point the number of points in its largest unit; None if the metric has no units."""
        if not metric.of_unit:
            return None
        if metric.persons and self.crowd is None:
            remedy = Message("Give {person}, the column or the labels of persons.")
            raise InvalidParameter("person", None, f"given under {metric}", remedy)
        return self.facts(metric).unit_sizes(metric)

    def described(self, metric: Metric) -> ReleaseFields:
        """Return the fields of a release that describe the data, if its guarantee is under this metric."""
        timed = metric.stretch is not None
        return {
            "plane": self.form.plane,
            "outside": self.form.outside,
            "crowd": None if self.crowd is None else len(self.crowd.sizes),
            "times": stated_names(time_columns(self.form, self.times)) if timed else None,
            "span": self.facts(metric).span() if timed else None,
        }

    def recorded(self, *, timed: bool) -> dict[str, str | None]:
        """Return the public facts by which a ledger tells this data from other data; the times, where they matter."""
        rows = b"" if self.persons is None else self.persons.rows.tobytes() + self.persons.sizes.tobytes()
        told = {"outside": self.form.outside, "where": self.form.condition, "rows": _digest(rows) if rows else ""}
        return {**told, "times": _digest(self.microseconds.tobytes())} if timed else told

    def without_order(self) -> Intake:
        """Return the data for points whose order is not released."""
        return replace(self, form=self.form.without_order())

    def without(self, skipped: NDArray[np.bool_]) -> Intake:
        """Return the data without some persons of a crowd."""
        assert self.crowd is not None
        rest = self.crowd.without(skipped)
        gone = np.unique(self.form.rows[skipped[self.crowd.codes]])
        # Positions among the points that remain.
        rows = np.searchsorted(np.sort(rest.rows), rest.rows)
        return replace(self, form=self.form.without_rows(gone), crowd=replace(rest, rows=rows))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def take_in(form: Form, settings: Settings, *, together: bool = False, timed: bool = False) -> Intake:
    """Find the persons and times of points that were checked and converted to metres.

    With `together` one answer is about all persons; with `timed` every point needs a time.
    """
    person, times = settings.person, settings.times
    if timed or settings.step is not None:
        form = known_times(form, times, settings.missing)
    if settings.step is not None:
        codes = None if person is None else people_of(form, person).codes
        facts = PointFacts(codes, form.rows, point_times(form, times).microseconds)
        kept = facts.kept_of_thinned(settings.step)
        form = form if kept.all() else form.without_rows(np.unique(form.rows[~kept]), "thinned")
    if person is None:
        return Intake(form, None, None, None, times)
    people = people_of(form, person)
    if together:
        return Intake(form, None, None, people, times)
    if settings.pseudonyms is not False:
        form, people = _pseudonymised(form, people, settings)
    return Intake(form, person, people, None, times)


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


def _pseudonymised(form: Form, people: People, settings: Settings) -> tuple[Form, People]:
    """Return the points and their persons with pseudonyms, which also replace the labels in a table's column."""
    import pandas as pd

    shown = pseudonyms_of(people.labels.to_list(), settings.pseudonyms)
    relabelled = form.relabelled(settings.person, people.labels, shown)
    return relabelled, replace(people, pseudonyms=pd.Index(shown, name=people.labels.name))


def in_the_plane(guarantee: Guarantee, area: Area | None) -> Guarantee:
    """Return the guarantee per metre of the plane that gives this guarantee per metre on the ground."""
    if area is None or area.stretch == 1:
        return guarantee
    whole = guarantee / area.stretch
    return whole / area.stretch if guarantee.power == 2 else whole


def doubles_rounding(plane: Plane, outside: Outside) -> float:
    """Return the largest distance in metres between any point of the area and the doubles that are used for it."""
    middle = plane.out(np.mean([[plane.area.low], [plane.area.high]], axis=0))
    return plane.rounding + displacement(plane.enter(middle, outside))
