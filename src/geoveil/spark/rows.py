"""Rows in a DataFrame of Spark: counted in a first job, charged in the driver, drawn and written in a second job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil._types import Order, Progress
from geoveil.answering import requests
from geoveil.answering.concerns import concerns_of_rows
from geoveil.answering.crowd import PreparedCrowd
from geoveil.answering.crowd_requests import two_statements
from geoveil.answering.person_counts import PersonCounts
from geoveil.answering.preparation import check_columns, for_release, plane_of_file, rules_of
from geoveil.answering.public_rows import PublicRows
from geoveil.answering.row_rules import RowRules
from geoveil.answering.rows import Asked, MakeCrowdQuestion, MakeQuestion, Rows, Trips
from geoveil.answering.settings import Reading, Settings
from geoveil.certificates import SigningKey
from geoveil.errors import InvalidParameter, Message
from geoveil.geo import Area
from geoveil.geo.columns import ROW
from geoveil.geo.formats.location_columns import GeometryColumn
from geoveil.geo.formats.location_file import LocationFile
from geoveil.geo.formats.output_formats import form_of
from geoveil.geo.row_selection import check_column
from geoveil.privacy import CGP, protected_metric
from geoveil.release import CrowdRelease, Release
from geoveil.spark.destination import Destination
from geoveil.spark.frame_columns import FrameColumns, open_frame
from geoveil.spark.frame_crowd import FrameCrowd
from geoveil.spark.frame_mean import PreparedMean
from geoveil.spark.frame_persons import Asking, FramePersons, question_of
from geoveil.spark.frame_points import FramePoints, released
from geoveil.spark.frame_rows import FrameCounted, FrameRows, column

if TYPE_CHECKING:
    import geopandas
    from pyspark.sql import DataFrame

__all__ = ["SparkRows"]


class SparkRows(Rows):
    """Rows in a DataFrame, which stay on the cluster.

    A DataFrame is evaluated twice, and must give the same rows both times; if the second job saw other rows than the
    first, nothing is released.

    Parameters
    ----------
    frame : DataFrame
        The rows, with columns of longitude and latitude, of geometries as WKB, or of Sedona's or Spark's own
        geometries.
    reading, settings
        How they are read, whose they are, and which of them are used.
    """

    def __init__(self, frame: DataFrame, reading: Reading, settings: Settings) -> None:
        settings.check_columns("the DataFrame")
        self._settings = settings
        self._frame, self._file = open_frame(
            frame, lat=reading.lat, lon=reading.lon, geometry=reading.geometry, crs=reading.crs
        )
        if settings.by == ROW and ROW not in self._file.columns:
            remedy = "Add a column of row numbers to the DataFrame, and keep it with DataFrame.persist()."
            raise InvalidParameter("person", ROW, "a column of the DataFrame, whose rows have no order", remedy)
        check_columns(self._file, settings)

    @property
    def area(self) -> Area:
        return plane_of_file(self._file, self._settings).area

    @property
    def described(self) -> str:
        return "rows of a DataFrame"

    def labels(self) -> Iterable[object] | None:
        if self._settings.by is None:
            return None
        return [row[0] for row in self._frame.select(column(self._settings.by)).distinct().collect()]

    def _rows(
        self,
        rules: RowRules,
        *,
        timed: bool = False,
        points: bool = False,
        whole: bool = False,
        label: str | None = None,
    ) -> FrameRows:
        """Return the rows of a question, which are not counted yet."""
        counted = FrameCounted(PersonCounts(self._settings.by))
        return FrameRows(rules, counted, frame=self._frame, timed=timed, points=points, whole=whole, label=label)

    def public_rows(self, protect: str | timedelta | None, progress: Progress) -> PublicRows:
        guarantee, metric = CGP(rho=1), protected_metric(protect)
        guarantee = guarantee if metric is None else guarantee.under_unit(metric)
        rules = rules_of(self._file, self._settings, guarantee, released=False)
        return PublicRows.of(self._rows(rules).count(progress))

    def points(self, method: str, order: Order, asked: Asked) -> Release:
        if order != "public":
            remedy = "Collect the rows first, gv.Locations(frame.toPandas(), ...): only one machine can sort them all."
            raise InvalidParameter("order", order, "public for a DataFrame of Spark", remedy)
        destination = self._destination(asked)
        if not asked.source.exact and (asked.guarantee.power != 2 or asked.skips):
            allowed = "left out with epsilon, or where persons are skipped: a stream is laid over noise of all rows"
            raise InvalidParameter("rng", "a generator", allowed, "Leave it out, or release a file.")
        form = _form(self._file, destination)
        rules = rules_of(self._file, self._settings, asked.guarantee, form=form, method=method, keep=asked.keep)
        rows = for_release(self._rows(rules, points=True).count(asked.progress))
        asked.tell(concerns_of_rows(rows))
        return self._released(FramePoints(rows=rows, destination=destination, sign=_signer(asked)), asked)

    def answer(self, make: MakeQuestion, asked: Asked) -> Release:
        assert isinstance(make, partial)
        if make.func is requests.own_function:
            remedy = "Collect the rows first: gv.Locations(frame.toPandas(), ...)."
            raise InvalidParameter("source", "a DataFrame of Spark", "rows in memory or in a file", remedy)
        if asked.together or self._settings.by is None:
            return self._mean(make, asked)
        if not asked.source.exact:
            raise InvalidParameter("rng", "a generator", "left out: each task draws for itself", "Leave it out.")
        destination, label = self._destination(asked), asked.label
        rules = rules_of(self._file, self._settings, asked.guarantee, timed=asked.ordered, released=False)
        if label is not None:
            # The labels of neighbours are released unchanged.
            rules = replace(rules, keep=[label], kept={label: "named"})
        if asked.ordered or make.func is requests.nearest:
            safe = [name for name in self._file.columns if name not in self._file.unsafe]
            if label is None:
                remedy = "It names the rows of answers: a DataFrame has no order that could number them."
                raise InvalidParameter("label", None, f"a column, one of {safe}", remedy)
            check_column("label", label, safe, "the DataFrame")
        rows = self._rows(rules, whole=True, label=label)
        asking = self._asking(make, asked, rules)
        known = question_of(asking, rows)
        rows = rows.count(asked.progress)
        if label in rows.counted.found.placed:
            allowed = "a column without locations: this one has texts of geometries"
            raise InvalidParameter("label", label, allowed, "Name the rows by another column.")
        persons = FramePersons(
            rows=for_release(rows), destination=destination, sign=_signer(asked), asking=asking, known=known
        )
        return self._released(persons, asked)

    def _released(self, prepared: FramePoints, asked: Asked) -> Release:
        return released(prepared, asked.charger(prepared.rows.people.names), asked.source, asked.key, asked.progress)

    def _asking(self, make: MakeQuestion, asked: Asked, rules: RowRules) -> Asking:
        """Return a question about whole persons, as it is sent to workers."""
        file, settings = self._file, self._settings
        shaped = isinstance(file.located, GeometryColumn)
        timed = asked.guarantee.metric.stretch is not None or asked.ordered
        return Asking(
            make=make,
            entering={
                "area": settings.area,
                "outside": settings.outside,
                **({} if shaped else {"crs": file.crs, **file.located.reading}),
            },
            person=settings.by or "",
            times=(rules.times[0] if len(rules.times) == 1 else [*rules.times]) if timed else None,
            label=asked.label,
            geometry=file.located.names[0] if shaped else None,
            crs=file.crs,
        )

    def _mean(self, make: partial[requests.Question], asked: Asked) -> Release:
        """Answer a question about all points together: the mean, which workers can add up."""
        if make.keywords.get("count", "public") != "public":
            remedy = Message("Leave it out, or name the persons with {person} for an answer about each.")
            raise InvalidParameter("count", "hidden", "public for one answer about all rows on a cluster", remedy)
        if make.keywords.get("name") != "mean":
            remedy = Message(
                "Name the persons with {person} for an answer about each; or ask heatmap, counts or flows."
            )
            raise InvalidParameter("together", True, "left out on a cluster, for questions other than mean", remedy)
        rows = self._counted(asked, timed=False)
        prepared = PreparedMean(FrameCrowd(rows), asked.guarantee, make.keywords["method"])
        return asked.answered(prepared, rows.people.names, rows.plane)

    def crowd(self, make: MakeCrowdQuestion, asked: Asked, *, timed: bool, trips: Trips | None = None) -> CrowdRelease:
        if trips is not None and trips.of is not None:
            if self._file.points_in_a_row > 1:
                raise two_statements(str(trips.of))
            remedy = "Bring the origin and the destination of a trip into one row first."
            raise InvalidParameter("trip", str(trips.of), "left out on Spark: each row has both ends", remedy)
        if asked.skips and asked.guarantee.metric.stretch is not None:
            unprotected = Message("Leave it out, or leave {protect} out.")
            raise InvalidParameter("short", "skip", "left out where lengths of time are protected", unprotected)
        rows = self._counted(asked, timed=timed)
        prepared = PreparedCrowd(FrameCrowd(rows, trips=trips is not None), make(rows.plane), asked.guarantee)
        return asked.answered(prepared, rows.people.names, rows.plane)

    def _counted(self, asked: Asked, *, timed: bool) -> FrameRows:
        """Run the first job of a question about a crowd; no column is released."""
        rules = rules_of(self._file, self._settings, asked.guarantee, timed=timed, released=False)
        return self._rows(rules, timed=timed).count(asked.progress)

    def _destination(self, asked: Asked) -> Destination:
        """Return the folder that is written; refuse one that is taken, unless it is that of a stored release."""
        if asked.output is None:
            remedy = "Name a path that the driver and all workers share, or an address such as s3://bucket/folder."
            raise InvalidParameter("to", None, "the folder to be written, for a DataFrame of Spark", remedy)
        if asked.output.overwrite:
            remedy = "Remove the folder and its certificate first, or choose another name."
            raise InvalidParameter("overwrite", True, "left out for a folder that Spark writes", remedy)
        if asked.key is not None and self._settings.pseudonyms is True:
            allowed = Message("the path of a key file, with {key}: others would be drawn when it is asked for again")
            raise InvalidParameter("pseudonyms", True, allowed, "Give a path; it keeps who has which pseudonym.")
        destination = Destination.of(asked.output.to)
        if not asked.stored:
            destination.check_free()
        return destination

    def frame(self, *, every_row: bool) -> geopandas.GeoDataFrame:
        raise InvalidParameter("source", "a DataFrame of Spark", "the path of a file", "Collect it with toPandas().")


def _signer(asked: Asked) -> SigningKey | None:
    return None if asked.output is None else asked.output.sign


def _form(file: FrameColumns, destination: Destination) -> LocationFile:
    """Return the format that is written: GeoParquet for described geometries, or if the ending says so."""
    if not file.geo and Path(destination.name).suffix != ".geoparquet":
        return file
    form = form_of(file, Path(destination.name), ".parquet", "")
    if isinstance(file.located, GeometryColumn):
        return replace(form, located=GeometryColumn(file.located.column, "wkb"), order=file.order)
    return form
