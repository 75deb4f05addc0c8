"""Rows in a file of any size: points and crowds are read in batches, other questions read the file into memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil._types import Progress
from geoveil.answering.crowd import CrowdInquiry
from geoveil.answering.crowd_sources import FileCrowd
from geoveil.answering.loading import frame_of
from geoveil.answering.pipeline import answer
from geoveil.answering.preparation import check_person, concerns_of, prepare, read_crowd, system_of
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
from geoveil.answering.streaming import FilePoints
from geoveil.geo import Area
from geoveil.geo.formats import open_locations
from geoveil.geo.planes import Plane, plane_of
from geoveil.locations.memory import MemoryRows
from geoveil.privacy import CGP, Guarantee, as_duration
from geoveil.release import CrowdRelease, Release

if TYPE_CHECKING:
    import geopandas

__all__ = ["FileRows"]


class FileRows(Rows):
    """Rows in a file, whose header is checked when this is made.

    Parameters
    ----------
    path : Path
        The file.
    reading : Reading
        How it is read.
    settings : Settings
        Whose rows they are, and which of them are used.
    """

    def __init__(self, path: Path, reading: Reading, settings: Settings) -> None:
        self._person, self._times = settings.columns("the file")
        self._path, self._reading, self._settings = path, reading, settings
        self._file = open_locations(path, **asdict(reading))
        check_person(self._file, self._person, self._file.unsafe)
        self._thin = None if settings.thin is None else as_duration("thin", settings.thin)

    @cached_property
    def _plane(self) -> Plane:
        return plane_of(self._file.crs, self._settings.area, stated_by=system_of(self._file))

    @property
    def area(self) -> Area:
        return self._plane.area

    @property
    def described(self) -> str:
        return self._path.name

    @cached_property
    def _memory(self) -> MemoryRows:
        """The same rows in memory."""
        # A file without a usable plane is refused in words about the file.
        self._plane  # noqa: B018
        # Rows without a location are kept: they are treated, and counted, with the others.
        frame = frame_of(self._file, missing="keep")
        # People count the rows of a file from one.
        frame.index = (frame.index + 1).rename("row")
        file = self._path.name
        return MemoryRows(frame, Reading(), self._settings, lambda row: f"{file}, row {row + 1}")

    def labels(self) -> Iterable[object] | None:
        if self._person is None:
            return None
        # The budget does not matter for counting persons.
        return self._reader(CGP(rho=1), lambda share: None, timed=False).people.names

    def points(self, method: str, asked: Asked) -> Release:
        if asked.to is None:
            return self._memory.points(method, asked)
        settings = self._settings
        prepared = prepare(
            self._file,
            asked.to,
            guarantee=asked.guarantee,
            noise=asked.source,
            method=method,
            person=self._person,
            times=self._times,
            thin=self._thin,
            area=settings.area,
            outside=settings.outside,
            missing=settings.missing,
            where=settings.where,
            pseudonyms=settings.pseudonyms,
            keep=asked.keep,
            charger=asked.charger,
            sign=asked.sign,
            overwrite=asked.overwrite,
            progress=asked.progress,
        )
        asked.tell(concerns_of(prepared.inquiry))
        return prepared.release(asked.progress, asked.key)

    def answer(self, make: MakeQuestion, asked: Asked) -> Release:
        return self._memory.answer(make, asked)

    def crowd(self, make: MakeCrowdQuestion, asked: Asked, *, timed: bool, trips: Trips | None = None) -> CrowdRelease:
        whole_trips = trips is not None and (trips.trip is not None or trips.destinations is not None)
        if whole_trips or (trips is not None and asked.guarantee.metric.stretch is not None):
            # The two ends of a trip may be in different batches.
            return self._memory.crowd(make, asked, timed=timed, trips=trips)
        reader = self._reader(asked.guarantee, asked.progress, timed=timed)
        inquiry = CrowdInquiry(FileCrowd(reader, trips=trips is not None), make(reader.plane), asked.guarantee)
        check_destination(asked, inquiry.query, reader.plane)
        charger = asked.charger(reader.people.names)
        return written(answer(inquiry, asked.source, charger, asked.key, asked.progress), asked)

    def _reader(self, guarantee: Guarantee, progress: Progress, *, timed: bool) -> FilePoints:
        """Count the points of each person in a first pass."""
        settings = self._settings
        return read_crowd(
            self._file,
            guarantee,
            self._person,
            self._times,
            timed=timed,
            thin=self._thin,
            area=settings.area,
            outside=settings.outside,
            missing=settings.missing,
            where=settings.where,
            progress=progress,
        )

    def frame(self, *, every_row: bool) -> geopandas.GeoDataFrame:
        settings = self._settings
        plane = None
        if settings.area is not None:
            plane = plane_of(self._file.crs, settings.area, released=False, stated_by=system_of(self._file))
        missing = "keep" if every_row else settings.missing
        return frame_of(self._file, plane, settings.outside, missing, settings.where)
