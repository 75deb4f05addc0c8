"""Rows in memory: arrays, tables, frames and shapely geometries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from geoveil._types import LocationsLike, Order, Progress
from geoveil.answering import requests
from geoveil.answering.concerns import Concern, concerns_of, concerns_of_labels
from geoveil.answering.crowd import PreparedCrowd
from geoveil.answering.crowd_requests import trips_of
from geoveil.answering.crowd_sources import MemoryCrowd
from geoveil.answering.intake import Intake, people_of, take_in
from geoveil.answering.pipeline import InMemory, prepared_question
from geoveil.answering.point_facts import PointFacts
from geoveil.answering.pseudonyms import check_key_file, check_pseudonyms
from geoveil.answering.public_rows import PublicRows, protect_of
from geoveil.answering.rows import Asked, MakeCrowdQuestion, MakeQuestion, Rows, Trips
from geoveil.answering.settings import Reading, Settings
from geoveil.errors import InvalidParameter, Message
from geoveil.geo import Area, Form, enter
from geoveil.geo.columns import ROW
from geoveil.geo.disclosure import label_suspicions, sampled
from geoveil.geo.formats.atomic import certificate_path
from geoveil.geo.forms import Index
from geoveil.geo.geometries import RowName, position
from geoveil.privacy import protected_metric
from geoveil.queries import Answer, Answers, UnitSizes
from geoveil.release import CrowdRelease, Release
from geoveil.release.kinds import kind_of
from geoveil.text.words import counted

if TYPE_CHECKING:
    import geopandas

__all__ = ["MemoryRows"]


class MemoryRows(Rows):
    """Rows in memory, which are checked and converted to metres when this is made.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely geometry
        The points.
    reading, settings
        How they are read, whose they are, and which of them are used.
    row_name : callable
        Returns the name of a row of a table in errors, given its position.
    """

    labels_at_hand = True

    def __init__(self, x: LocationsLike, reading: Reading, settings: Settings, row_name: RowName = position) -> None:
        for name, given in asdict(replace(reading, lat=None, lon=None, crs=None)).items():
            if given is not None:
                raise InvalidParameter(name, given, "left out, unless the locations are in a file", "Leave it out.")
        self._settings = settings
        self.form: Form = enter(
            x,
            settings.area,
            lat=reading.lat,
            lon=reading.lon,
            crs=reading.crs,
            outside=settings.outside,
            missing=settings.missing,
            where=settings.where,
            row_name=row_name,
            person=settings.person,
        )
        check_pseudonyms(settings.pseudonyms, settings.person, self.form.where)
        #: Data with its persons, by whether questions are about all of them together, and whether points need times.
        self._taken: dict[tuple[bool, bool], Intake] = {}

    def _data(self, asked: Asked, *, timed: bool = False) -> Intake:
        """Return the data of a question, with its persons."""
        how = asked.together, timed or asked.guarantee.metric.stretch is not None
        if how not in self._taken:
            self._taken[how] = take_in(self.form, self._settings, together=how[0], timed=how[1])
        return self._taken[how]

    @property
    def area(self) -> Area | None:
        return None if self.form.plane is None else self.form.plane.area

    @property
    def described(self) -> str:
        labels = self.labels()
        whose = "one person" if labels is None else counted(len([*labels]), "person")
        return f"{counted(len(self.form.coords), 'point')} of {whose}"

    def labels(self) -> Iterable[object] | None:
        person = self._settings.person
        return None if person is None else people_of(self.form, person).labels

    def public_rows(self, protect: str | timedelta | None, progress: Progress) -> PublicRows:
        form, settings = self.form, replace(self._settings, pseudonyms=False)
        if form.plane is None:
            remedy = "Name the city or region that the data is from; errors follow from its size, too."
            raise InvalidParameter("area", None, "stated, for advice", remedy)
        ends = max(len(form.pairs), 1)
        timed = settings.times is not None or len(form.times) == ends
        data = take_in(form, settings, timed=timed)
        codes = None if data.persons is None else data.persons.codes
        facts = PointFacts(codes, data.form.rows, data.microseconds if timed else None)
        thin, stated = settings.thin, protect_of(protected_metric(protect))
        every = None if thin is None else str(thin)
        read = data.read_times if timed else None
        return PublicRows(
            facts, form.plane, codes is not None, ends, stated, every, by_row=settings.by == ROW, read=read
        )

    def points(self, method: str, order: Order, asked: Asked) -> Release:
        if asked.output is not None and not isinstance(self._settings.person, str | None):
            allowed = "a column of the table, for points that are written to a file"
            raise InvalidParameter(
                "person", type(self._settings.person).__name__, allowed, "Add the labels as a column."
            )
        return self.answer(partial(requests.points, method=method, order=order), asked)

    def answer(self, make: MakeQuestion, asked: Asked) -> Release:
        if asked.label is not None:
            remedy = "Leave it out: rows are named by the index of a table, or by their numbers in a file."
            raise InvalidParameter("label", asked.label, "left out, unless the rows are on Spark", remedy)
        if asked.output is not None:
            target = asked.output.path
            check_key_file(self._settings.pseudonyms, None, target, certificate_path(target))
        data = self._data(asked)
        question = make(data)
        if question.options.get("order") == "hidden":
            data = data.without_order()
        prepared = prepared_question(data, question, asked.guarantee, asked.keep)
        if asked.output is not None and kind_of(prepared.first).of_points and data.area is not None:
            self._tell(prepared, data.area, asked)
        elif asked.confirm is not None and not asked.together:
            asked.tell(self._concerns_of_labels(data, asked))
        return asked.answered(prepared, _labels(data), self.form.plane)

    def _tell(self, prepared: InMemory[Answer] | InMemory[Answers], area: Area, asked: Asked) -> None:
        """Tell the owner of concerns about points that are written to a file."""
        guarantee = asked.guarantee
        alone = prepared.query(1, UnitSizes(1, np.ones(1, dtype=np.int64)) if guarantee.metric.of_unit else None)
        several, timed = prepared.data.people is not None, len(self.form.times) == max(len(self.form.pairs), 1)
        asked.tell(
            self._concerns_of_labels(prepared.data, asked)
            + concerns_of(prepared.persons, alone, guarantee, area, several=several, timed=timed)
        )

    def _concerns_of_labels(self, data: Intake, asked: Asked) -> list[Concern]:
        """Return the concern that released labels tell places, if they do."""
        people, person = data.people, self._settings.person
        if people is None or not isinstance(person, str) or person == ROW or self._settings.pseudonyms:
            return []
        rows = sampled(len(data.form.coords))
        labels = people.released[people.codes[rows]]
        why = label_suspicions(person, labels, data.form.coords.values[rows], self.form.plane)
        return concerns_of_labels(person, why, asked.keep)

    def crowd(self, make: MakeCrowdQuestion, asked: Asked, *, timed: bool, trips: Trips | None = None) -> CrowdRelease:
        data, metric = self._data(asked, timed=timed), asked.guarantee.metric
        question = make(self.form.plane)
        if trips is None:
            source = MemoryCrowd(data, metric, np.arange(len(data.form.coords)))
        elif isinstance(trips.of, Rows):
            if not isinstance(trips.of, MemoryRows):
                remedy = "Read them with gv.Locations(path).frame() first."
                raise InvalidParameter("trip", trips.of.described, "destinations in memory", remedy)
            source = trips_of(data, metric, trips.of.form)
        else:
            source = trips_of(data, metric, trips.of)
        return asked.answered(PreparedCrowd(source, question, asked.guarantee), _labels(data), self.form.plane)

    def some(self, data: Intake, points: Index, columns: Sequence[Hashable]) -> MemoryRows:
        form, people, times = data.form, data.people, data.times
        table = form.has_columns
        named = isinstance(self._settings.person, str)
        labels = None if people is None else people.released[people.codes[points]]
        if not isinstance(times, str | list | None):
            times = form.spread("times", times).iloc[points].reset_index(drop=True)
        settings = replace(
            self._settings,
            person=self._settings.person if table and named else labels,
            times=times,
            thin=None,
            where=None,
            pseudonyms=False,
        )
        lon, lat = form.pairs[0] if form.pairs else (None, None)
        reading = Reading(lat, lon, None if table and not form.pairs else form.crs)
        return MemoryRows(form.kept(points, columns), reading, settings)

    def known(self) -> Intake:
        return take_in(self.form, replace(self._settings, pseudonyms=False), timed=self._settings.times is not None)

    def tracks(self) -> Intake:
        settings, times = self._settings, self.form.times
        if settings.by == ROW:
            why = "Leave it out: the points of a track belong together, and numbers of rows tell which are gone."
            raise InvalidParameter("person", ROW, "a column of persons", why)
        if settings.times is None and len(times) > 1:
            allowed = f"one column of times, one of {[*map(str, times)]}"
            remedy = Message("Name it with {times}. Others may tell when a track began: they are not released.")
            raise InvalidParameter("times", None, allowed, remedy)
        timed = settings.times is not None or settings.step is not None or len(times) == 1
        # Thinning comes after the cut: otherwise points inside would decide which points outside remain.
        return take_in(self.form, replace(settings, thin=None), timed=timed)

    @property
    def step(self) -> int | None:
        return self._settings.step

    def frame(self, *, every_row: bool) -> geopandas.GeoDataFrame:
        raise InvalidParameter("source", "rows in memory", "the path of a file", "Rows in memory are a table already.")


def _labels(data: Intake) -> Iterable[object] | None:
    return None if data.persons is None else data.persons.labels
