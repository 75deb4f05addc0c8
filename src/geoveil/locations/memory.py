"""Rows in memory: arrays, tables, frames and shapely geometries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil._types import LocationsLike
from geoveil.answering import crowd_requests, requests
from geoveil.answering.crowd import CrowdInquiry
from geoveil.answering.intake import Intake, people_of, take_in
from geoveil.answering.pipeline import answer, inquiry_about
from geoveil.answering.pseudonyms import check_key_file, check_pseudonyms
from geoveil.answering.rows import (
    Asked,
    MakeCrowdQuestion,
    MakeQuestion,
    Reading,
    Rows,
    Settings,
    Trips,
    check_destination,
    written,
)
from geoveil.errors import InvalidParameter
from geoveil.geo import Area, enter
from geoveil.geo.formats.atomic import certificate_path
from geoveil.geo.geometries import RowName, position
from geoveil.release import CrowdRelease, Release
from geoveil.words import counted

if TYPE_CHECKING:
    import geopandas

__all__ = ["MemoryRows"]


class MemoryRows(Rows):
    """Rows in memory, which are checked and converted to metres when this is made.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely geometry
        The points.
    reading : Reading
        How they are read.
    settings : Settings
        Whose they are, and which of them are used.
    row_name : callable
        Returns the name of a row of a table in errors, given its position.
    """

    labels_at_hand = True

    def __init__(self, x: LocationsLike, reading: Reading, settings: Settings, row_name: RowName = position) -> None:
        for name, given in asdict(replace(reading, lat=None, lon=None, crs=None)).items():
            if given is not None:
                raise InvalidParameter(name, given, "left out, unless the locations are in a file", "Leave it out.")
        self._reading, self._settings = reading, settings
        self._form = enter(
            x,
            settings.area,
            lat=reading.lat,
            lon=reading.lon,
            crs=reading.crs,
            outside=settings.outside,
            missing=settings.missing,
            where=settings.where,
            row_name=row_name,
        )
        check_pseudonyms(settings.pseudonyms, settings.person, self._form.where)
        #: Data with its persons, by whether questions are about all of them together, and whether points need times.
        self._taken: dict[tuple[bool, bool], Intake] = {}

    def _data(self, asked: Asked, *, timed: bool = False) -> Intake:
        """Return the data of a question, with its persons."""
        metric, settings = asked.guarantee.metric, self._settings
        how = asked.together, timed or metric.stretch is not None
        if how not in self._taken:
            self._taken[how] = take_in(
                self._form,
                person=settings.person,
                together=asked.together,
                times=settings.times,
                thin=settings.thin,
                missing=settings.missing,
                pseudonyms=settings.pseudonyms,
                timed=how[1],
            )
        return self._taken[how]

    @property
    def area(self) -> Area | None:
        return None if self._form.plane is None else self._form.plane.area

    @property
    def described(self) -> str:
        labels = self.labels()
        whose = "one person" if labels is None else counted(len([*labels]), "person")
        return f"{counted(len(self._form.coords), 'point')} of {whose}"

    def labels(self) -> Iterable[object] | None:
        person = self._settings.person
        return None if person is None else people_of(self._form, person).labels

    def points(self, method: str, asked: Asked) -> Release:
        if asked.to is not None and not isinstance(self._settings.person, str | None):
            allowed = "a column of the table, for points that are written to a file"
            raise InvalidParameter(
                "person", type(self._settings.person).__name__, allowed, "Add the labels as a column."
            )
        return self.answer(partial(requests.points, method=method), asked)

    def answer(self, make: MakeQuestion, asked: Asked) -> Release:
        if asked.label is not None:
            remedy = "Leave it out: rows are named by the index of a table, or by their numbers in a file."
            raise InvalidParameter("label", asked.label, "left out, unless the rows are on Spark", remedy)
        if asked.to is not None:
            target = Path(asked.to)
            check_key_file(self._settings.pseudonyms, None, target, certificate_path(target))
        data = self._data(asked)
        charger = asked.charger(None if data.persons is None else data.persons.labels)
        inquiry = inquiry_about(data, make(data), asked.guarantee, asked.keep)
        check_destination(asked, inquiry.first, self._form.plane)
        return written(answer(inquiry, asked.source, charger, asked.key, asked.progress), asked)

    def crowd(self, make: MakeCrowdQuestion, asked: Asked, *, timed: bool, trips: Trips | None = None) -> CrowdRelease:
        data = self._data(asked, timed=timed)
        question = make(self._form.plane)
        if trips is None:
            source = crowd_requests.items_of(data, asked.guarantee.metric)
        else:
            reading, settings = self._reading, self._settings
            source = crowd_requests.trips_of(
                data,
                asked.guarantee.metric,
                trips.destinations,
                trips.trip,
                lat=reading.lat,
                lon=reading.lon,
                area=settings.area,
                crs=reading.crs,
                outside=settings.outside,
                missing=settings.missing,
            )
        charger = asked.charger(None if data.persons is None else data.persons.labels)
        inquiry = CrowdInquiry(source, question, asked.guarantee)
        check_destination(asked, inquiry.query, self._form.plane)
        return written(answer(inquiry, asked.source, charger, asked.key, asked.progress), asked)

    def frame(self, *, every_row: bool) -> geopandas.GeoDataFrame:
        raise InvalidParameter("source", "rows in memory", "the path of a file", "Rows in memory are a table already.")
