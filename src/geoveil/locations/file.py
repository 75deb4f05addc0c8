"""Rows in a file of any size: points and crowds are read in batches, other questions read the file into memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil._types import Order, Progress
from geoveil.answering.concerns import concerns_of_rows
from geoveil.answering.counted_rows import CountedRows, count_rows
from geoveil.answering.crowd import PreparedCrowd
from geoveil.answering.crowd_sources import FileCrowd
from geoveil.answering.intake import Intake
from geoveil.answering.loading import frame_of, rows_of
from geoveil.answering.preparation import check_columns, plane_of_file, prepare, released, rules_of
from geoveil.answering.public_rows import PublicRows
from geoveil.answering.rows import Asked, MakeCrowdQuestion, MakeQuestion, Rows, Trips
from geoveil.answering.settings import Reading, Settings
from geoveil.geo import Area
from geoveil.geo.formats import open_locations
from geoveil.geo.forms import Index, ordered_rows
from geoveil.geo.planes import Plane
from geoveil.locations.memory import MemoryRows
from geoveil.privacy import CGP, Guarantee, protected_metric
from geoveil.release import CrowdRelease, Release

if TYPE_CHECKING:
    import geopandas

__all__ = ["FileRows"]


class FileRows(Rows):
    """Rows in a file, whose header is checked when this is made."""

    def __init__(self, path: Path, reading: Reading, settings: Settings) -> None:
        self._path, self._settings = path, settings
        settings.check_columns("the file")
        self._file = open_locations(path, **asdict(reading)).with_persons(settings.person)
        check_columns(self._file, settings)

    @cached_property
    def _plane(self) -> Plane:
        return plane_of_file(self._file, self._settings)

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
        frame, pairs = rows_of(self._file, missing="keep")
        # People count the rows of a file from one.
        frame.index = (frame.index + 1).rename("row")
        file, reading = self._path.name, Reading()
        if pairs:
            lon, lat = ([*names] for names in zip(*pairs, strict=True))
            reading = Reading(lat, lon, self._file.crs)
        return MemoryRows(frame, reading, self._settings, lambda row: f"{file}, row {row + 1}")

    def labels(self) -> Iterable[object] | None:
        # The budget does not matter for counting persons.
        person = self._settings.person
        return None if person is None else self._counted(CGP(rho=1), lambda share: None, timed=False).people.names

    def public_rows(self, protect: str | timedelta | None, progress: Progress) -> PublicRows:
        guarantee, metric = CGP(rho=1), protected_metric(protect)
        guarantee = guarantee if metric is None else guarantee.under_unit(metric)
        timed = self._settings.times is not None or len(self._file.time_columns) == self._file.points_in_a_row
        return PublicRows.of(self._counted(guarantee, progress, timed=timed))

    def points(self, method: str, order: Order, asked: Asked) -> Release:
        if order == "hidden" and self._file.structure:
            raise ordered_rows()
        if asked.output is None or order != "public":
            # A person's points are sorted together, so they are read into memory.
            return self._memory.points(method, order, asked)
        guarantee, output, progress = asked.guarantee, asked.output, asked.progress
        prepared = prepare(self._file, self._settings, guarantee, method, asked.keep, output, progress)
        charger = asked.charger(prepared.rows.people.names)
        asked.tell(concerns_of_rows(prepared.rows))
        return released(prepared, charger, asked.source, output, asked.key, progress)

    def answer(self, make: MakeQuestion, asked: Asked) -> Release:
        return self._memory.answer(make, asked)

    def crowd(self, make: MakeCrowdQuestion, asked: Asked, *, timed: bool, trips: Trips | None = None) -> CrowdRelease:
        if trips is not None and (trips.of is not None or asked.guarantee.metric.stretch is not None):
            # The two ends of a trip may be in different batches.
            return self._memory.crowd(make, asked, timed=timed, trips=trips)
        rows = self._counted(asked.guarantee, asked.progress, timed=timed)
        prepared = PreparedCrowd(FileCrowd(rows, trips=trips is not None), make(rows.plane), asked.guarantee)
        return asked.answered(prepared, rows.people.names, rows.plane)

    def _counted(self, guarantee: Guarantee, progress: Progress, *, timed: bool) -> CountedRows:
        """Count the points of each person in a first pass; no column is released."""
        rules = rules_of(self._file, self._settings, guarantee, timed=timed, released=False)
        return CountedRows(rules, count_rows(rules, progress))

    @property
    def structure(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(name for name in self._file.structure if name != "kind")

    def some(self, data: Intake, points: Index, columns: Sequence[Hashable]) -> MemoryRows:
        return self._memory.some(data, points, columns)

    @property
    def step(self) -> int | None:
        return self._settings.step

    def known(self) -> Intake:
        return self._memory.known()

    def tracks(self) -> Intake:
        return self._memory.tracks()

    def frame(self, *, every_row: bool) -> geopandas.GeoDataFrame:
        settings, plane = self._settings, None
        if settings.area is not None:
            plane = plane_of_file(self._file, settings, released=False)
        missing = "keep" if every_row else settings.missing
        return frame_of(self._file, plane, settings.outside, missing, settings.where)
