"""Release every point of a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

import numpy as np

from geoveil._types import (
    Columns,
    CoordinateColumns,
    CrsLike,
    Epsilon,
    Method,
    MetricLike,
    Missing,
    Outside,
    Progress,
    Pseudonyms,
    Rho,
    Short,
    UnitLike,
)
from geoveil._types import Path as PathLike
from geoveil.answering.charging import check_ledger
from geoveil.answering.preparation import Concern, charger_of, concerns_of, count, inquiry_of, time_columns_of
from geoveil.answering.units import unit_of
from geoveil.arithmetic import steady
from geoveil.budget import Ledger
from geoveil.certificates import KeyLike, signing_key
from geoveil.errors import InvalidParameter, Message, warn
from geoveil.foreign_names import foreign_names_refused
from geoveil.geo import AreaLike
from geoveil.geo.formats.location_columns import GeometryColumn
from geoveil.geo.formats.location_file import LocationFile
from geoveil.geo.formats.output_formats import form_of
from geoveil.geo.formats.parquet import GeoParquet
from geoveil.noise import source_of
from geoveil.privacy import Duration, as_duration, promise
from geoveil.spark.destination import Destination
from geoveil.spark.frame_columns import FrameColumns, FrameLike, open_frame
from geoveil.spark.frame_points import FramePoints, PreparedFrame, SparkRelease, check_key

__all__ = ["points"]


@steady()
@foreign_names_refused
def points(
    df: FrameLike,
    path: PathLike,
    *,
    keep: Columns = None,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: str | None = None,
    unit: UnitLike = None,
    times: str | None = None,
    thin: Duration | None = None,
    area: AreaLike = None,
    crs: CrsLike = None,
    outside: Outside = "refuse",
    missing: Missing = "refuse",
    where: str | None = None,
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
    ledger: Ledger | None = None,
    subject: str | None = None,
    short: Short = "refuse",
    key: str | None = None,
    lat: CoordinateColumns = None,
    lon: CoordinateColumns = None,
    geometry: str | None = None,
    format: Literal["parquet", "geoparquet"] | None = None,
    table: str | None = None,
    sign: KeyLike = None,
    progress: Progress | None = None,
    confirm: Callable[[Sequence[Concern]], None] | None = None,
) -> SparkRelease:
    """Release every point of a DataFrame, into a folder of Parquet or GeoParquet files.

    Parameters
    ----------
    df : DataFrame, or path
        The rows: a DataFrame of Spark with columns of longitude and latitude, of geometries as WKB, or of Sedona's or
        Spark's own geometries; or the path of Parquet or GeoParquet. It is evaluated twice, and must give the same
        rows both times.
    path : str or Path
        The folder to be written, beside which its certificate is put; a path that the driver and all workers share,
        or an address such as s3://bucket/folder. It appears at the end; it is whole when its certificate is there.
    times : str, optional
        With a length of time as `unit`, or with `thin`: the column of times, where it is not recognised.
    rng : numpy.random.Generator, optional
        For tests and experiments, with `rho`: a seeded stream, laid over the partitions in their order, which must be
        the same in both jobs. Without it, every attempt of a task draws from a keystream of its own, with a key from
        the operating system of its worker.
    key : str, optional
        With a ledger: identifies the release. Asked again with the same key, nothing is charged or drawn, and the
        release in the folder that was written is returned; if the folder is gone or was changed, it is refused. A run
        that ended after all files were drawn is finished. After an earlier failure the same key is charged again.
    format : {"parquet", "geoparquet"}, optional
        The format; by default GeoParquet if `df` has a described column of geometries, and Parquet otherwise.
    table : str, optional
        The name of a table to be made in Spark's catalogue, of the files that were written.
    keep, rho, epsilon, metric, method, by, unit, thin, area, crs, outside, missing, where : optional
        As for `geoveil.points_file`.
    pseudonyms, ledger, subject, short, lat, lon, geometry, sign, progress, confirm : optional
        As for `geoveil.points_file`.

    Returns
    -------
    SparkRelease
        Its value is a DataFrame that reads what was written.

    Notes
    -----
    Persons' numbers of points are counted in a first job; the ledger is charged in the driver; a second job draws
    noise and writes. If the second job saw other rows than the first, nothing is released. A charge is not given back.

    Examples
    --------
    >>> import geoveil as gv
    >>> import geoveil.spark as gvs
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> trips = spark.createDataFrame([("ann", 37.78, -122.41), ("bob", 37.76, -122.45)], ["user", "lat", "lon"])
    ...                                                                                     # doctest: +SKIP
    >>> gvs.points(trips, "released.parquet", by="user", rho=5e-5, area=bay).value.columns  # doctest: +SKIP
    ['user', 'lat', 'lon', 'radius_95', 'rho']
    """
    asked = unit_of(unit, metric, by=by)
    if asked.persons is not None:
        allowed = 'a length of time such as "1 day", or "point"'
        raise InvalidParameter("unit", unit, allowed, Message("Name the column of persons with {by}."))
    guarantee, noise = promise(rho, epsilon, asked.metric), source_of(rng)
    signer = signing_key(sign)
    check_ledger(ledger, by=by, subject=subject, short=short)
    check_key(key, ledger, pseudonyms)
    if rng is not None and (guarantee.power != 2 or short == "skip"):
        allowed = "left out with epsilon, or where persons are skipped: a stream is laid over normal noise of all rows"
        raise InvalidParameter("rng", "a generator", allowed, "Leave it out, or release a file with points_file.")
    told: Progress = progress or (lambda share: None)
    destination = Destination.of(path)
    again = key is not None and ledger is not None and ledger.is_stored(key)
    if not again:
        destination.check_free()
    frame, file = open_frame(df, lat=lat, lon=lon, geometry=geometry, crs=crs)
    catalog = frame.sparkSession.catalog
    if table is not None and not again and catalog.tableExists(table):
        raise InvalidParameter("table", table, "the name of a new table", "Choose another name.")
    form = _form(file, destination, format)
    length = None if thin is None else as_duration("thin", thin)
    inquiry = inquiry_of(
        file, form, guarantee, method, by, area, outside, missing, where, keep, FramePoints, frame=frame
    )
    inquiry = cast(FramePoints, inquiry)
    inquiry.destination, inquiry.key, inquiry.thin = destination, signer, length
    if inquiry.in_order:
        inquiry.times = time_columns_of(file, times)
    count(inquiry, pseudonyms, told, every_column=True)
    concerns = concerns_of(inquiry)
    if confirm is not None:
        confirm(concerns)
    elif concerns:
        warn(" ".join(map(str, concerns)))
    prepared = PreparedFrame(inquiry, charger_of(inquiry, ledger, subject, short), noise, key)
    release = prepared.release(told)
    if table is not None and not catalog.tableExists(table):
        catalog.createTable(table, path=str(destination.address), source="parquet")
    return release


def _form(file: FrameColumns, destination: Destination, format_name: str | None) -> LocationFile:
    """Return the format that is written."""
    if format_name not in (None, "parquet", "geoparquet"):
        raise InvalidParameter("format", format_name, "'parquet' or 'geoparquet'", "Leave it out.")
    if format_name == "geoparquet" or (format_name is None and file.geo):
        form = cast(GeoParquet, form_of(file, Path(destination.name), ".parquet", ""))
        if isinstance(file.located, GeometryColumn):
            return replace(form, geometry=file.located.column, order=file.order)
        return form
    return file
