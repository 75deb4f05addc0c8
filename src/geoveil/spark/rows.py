"""Rows in a DataFrame of Spark: counted in a first job, charged in the driver, drawn and written in a second job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from geoveil.answering import requests
from geoveil.answering.crowd import CrowdInquiry
from geoveil.answering.pipeline import answer
from geoveil.answering.preparation import concerns_of, count, inquiry_of, read_crowd, system_of, time_columns_of
from geoveil.answering.rows import Asked, MakeCrowdQuestion, MakeQuestion, Reading, Rows, Settings, Trips, written
from geoveil.errors import InvalidParameter, Message
from geoveil.geo import Area
from geoveil.geo.formats.location_columns import GeometryColumn
from geoveil.geo.formats.location_file import LocationFile
from geoveil.geo.formats.output_formats import form_of
from geoveil.geo.planes import plane_of
from geoveil.privacy import as_duration
from geoveil.release import CrowdRelease, Release
from geoveil.spark.destination import Destination
from geoveil.spark.frame_columns import FrameColumns, open_frame
from geoveil.spark.frame_crowd import FrameCrowd
from geoveil.spark.frame_mean import MeanInquiry
from geoveil.spark.frame_persons import Asking, FramePersons, PersonRelease
from geoveil.spark.frame_points import FramePoints, PreparedFrame, column

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
    reading : Reading
        How they are read.
    settings : Settings
        Whose they are, and which of them are used.
    """

    def __init__(self, frame: DataFrame, reading: Reading, settings: Settings) -> None:
        self._person, self._times = settings.columns("the DataFrame")
        self._settings = settings
        self._frame, self._file = open_frame(
            frame, lat=reading.lat, lon=reading.lon, geometry=reading.geometry, crs=reading.crs
        )
        self._thin = None if settings.thin is None else as_duration("thin", settings.thin)

    @property
    def area(self) -> Area:
        return plane_of(self._file.crs, self._settings.area, stated_by=system_of(self._file)).area

    @property
    def described(self) -> str:
        return "rows of a DataFrame"

    def labels(self) -> Iterable[object] | None:
        if self._person is None:
            return None
        return [row[0] for row in self._frame.select(column(self._person)).distinct().collect()]

    def points(self, method: str, asked: Asked) -> Release:
        destination = self._destination(asked)
        if not asked.source.exact and (asked.guarantee.power != 2 or asked.skips):
            allowed = "left out with epsilon, or where persons are skipped: a stream is laid over noise of all rows"
            raise InvalidParameter("rng", "a generator", allowed, "Leave it out, or release a file.")
        form = _form(self._file, destination)
        inquiry = self._inquiry(FramePoints, asked, form=form, method=method)
        inquiry.destination, inquiry.key, inquiry.thin = destination, asked.sign, self._thin
        if inquiry.in_order:
            inquiry.times = time_columns_of(self._file, self._times)
        count(inquiry, self._settings.pseudonyms, asked.progress, every_column=True)
        asked.tell(concerns_of(inquiry))
        charger = asked.charger(inquiry.people.names)
        return PreparedFrame(inquiry, charger, asked.source, asked.key).release(asked.progress)

    def answer(self, make: MakeQuestion, asked: Asked) -> Release:
        if asked.together or self._person is None:
            return self._mean(make, asked)
        if not asked.source.exact:
            raise InvalidParameter("rng", "a generator", "left out: each task draws for itself", "Leave it out.")
        destination = self._destination(asked)
        columns: tuple[str, ...] = ()
        if self._thin is not None or asked.guarantee.metric.stretch is not None or asked.ordered:
            columns = time_columns_of(self._file, self._times)
        inquiry = self._inquiry(FramePersons, asked, asking=self._asking(make, asked, columns))
        # The labels of neighbours are released unchanged.
        inquiry.keep = [] if asked.label is None else [asked.label]
        inquiry.kept, inquiry.removed = dict.fromkeys(inquiry.keep, "named"), ()
        inquiry.destination, inquiry.key, inquiry.times, inquiry.thin = destination, asked.sign, columns, self._thin
        count(inquiry, self._settings.pseudonyms, asked.progress, every_column=False)
        charger = asked.charger(inquiry.people.names)
        prepared = PreparedFrame(inquiry, charger, asked.source, asked.key)
        return cast(PersonRelease, prepared.release(asked.progress))

    def _asking(self, make: MakeQuestion, asked: Asked, columns: tuple[str, ...]) -> Asking:
        """Return a question about whole persons, as it is sent to workers."""
        file, settings = self._file, self._settings
        if asked.ordered or make.func is requests.nearest:  # type: ignore[attr-defined]
            safe = [name for name in file.columns if name not in file.unsafe]
            if asked.label not in safe:
                remedy = "It names the rows of answers: a DataFrame has no order that could number them."
                raise InvalidParameter("label", asked.label, f"a column, one of {safe}", remedy)
        shaped = isinstance(file.located, GeometryColumn)
        timed = asked.guarantee.metric.stretch is not None or asked.ordered
        return Asking(
            make=make,
            entering={
                "area": settings.area,
                "outside": settings.outside,
                **({} if shaped else {"crs": file.crs, **file.located.reading}),
            },
            person=self._person or "",
            times=columns[0] if timed else None,
            label=asked.label,
            geometry=file.located.names[0] if shaped else None,
            crs=file.crs,
        )

    def _mean(self, make: MakeQuestion, asked: Asked) -> Release:
        """Answer a question about all points together: the mean, which workers can add up."""
        how: dict[str, Any] = getattr(make, "keywords", {})
        if how.get("name") != "mean":
            remedy = Message(
                "Name the persons with {person} for an answer about each; or ask heatmap, counts or flows."
            )
            raise InvalidParameter("together", True, "left out on a cluster, for questions other than mean", remedy)
        reader = self._reader(asked, timed=False)
        inquiry = MeanInquiry(FrameCrowd(reader, trips=False), asked.guarantee, how["method"])
        charger = asked.charger(reader.people.names)
        return written(answer(inquiry, asked.source, charger, asked.key, asked.progress), asked)

    def crowd(self, make: MakeCrowdQuestion, asked: Asked, *, timed: bool, trips: Trips | None = None) -> CrowdRelease:
        if trips is not None and (trips.destinations is not None or trips.trip is not None):
            given = "destinations" if trips.destinations is not None else "trip"
            remedy = "Bring the origin and the destination of a trip into one row first."
            raise InvalidParameter(given, getattr(trips, given), "left out: each row has both ends", remedy)
        if asked.skips and asked.guarantee.metric.stretch is not None:
            unprotected = Message("Leave it out, or leave {protect} out.")
            raise InvalidParameter("short", "skip", "left out where lengths of time are protected", unprotected)
        reader = self._reader(asked, timed=timed)
        inquiry = CrowdInquiry(FrameCrowd(reader, trips=trips is not None), make(reader.plane), asked.guarantee)
        charger = asked.charger(reader.people.names)
        return written(answer(inquiry, asked.source, charger, asked.key, asked.progress), asked)

    def _reader(self, asked: Asked, *, timed: bool) -> FramePoints:
        """Run the first job of a question about a crowd."""
        settings = self._settings
        reader = read_crowd(
            self._file,
            asked.guarantee,
            self._person,
            self._times,
            timed=timed,
            thin=self._thin,
            area=settings.area,
            outside=settings.outside,
            missing=settings.missing,
            where=settings.where,
            progress=asked.progress,
            kind=FramePoints,
            frame=self._frame,
            timed_rows=timed,
            crowd=True,
        )
        return cast(FramePoints, reader)

    def _inquiry(
        self, kind: Any, asked: Asked, *, form: LocationFile | None = None, method: str = "best", **more: Any
    ) -> Any:
        """Return the points, checked against the columns of the DataFrame."""
        settings = self._settings
        return inquiry_of(
            self._file,
            form or self._file,
            asked.guarantee,
            method,
            self._person,
            settings.area,
            settings.outside,
            settings.missing,
            settings.where,
            asked.keep,
            kind,
            frame=self._frame,
            **more,
        )

    def _destination(self, asked: Asked) -> Destination:
        """Return the folder that is written; refuse one that is taken, unless it is that of a stored release."""
        if asked.to is None:
            remedy = "Name a path that the driver and all workers share, or an address such as s3://bucket/folder."
            raise InvalidParameter("to", None, "the folder to be written, for a DataFrame of Spark", remedy)
        if asked.key is not None and self._settings.pseudonyms is True:
            allowed = Message("the path of a key file, with {key}: others would be drawn when it is asked for again")
            raise InvalidParameter("pseudonyms", True, allowed, "Give a path; it keeps who has which pseudonym.")
        destination = Destination.of(asked.to)
        if not asked.stored:
            destination.check_free()
        return destination

    def frame(self, *, every_row: bool) -> geopandas.GeoDataFrame:
        raise InvalidParameter("source", "a DataFrame of Spark", "the path of a file", "Collect it with toPandas().")


def _form(file: FrameColumns, destination: Destination) -> LocationFile:
    """Return the format that is written: GeoParquet for described geometries, or if the ending says so."""
    if not file.geo and Path(destination.name).suffix != ".geoparquet":
        return file
    form = form_of(file, Path(destination.name), ".parquet", "")
    if isinstance(file.located, GeometryColumn):
        return replace(form, located=GeometryColumn(file.located.column, "wkb"), order=file.order)
    return form
