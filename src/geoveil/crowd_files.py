"""Questions about the crowd in a file, which is read in batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geoveil._types import CoordinateColumns, CrsLike, Epsilon, MetricLike, Missing, Outside, Progress, Rho, Short
from geoveil._types import Path as PathLike
from geoveil.answering import crowd_requests
from geoveil.answering.charging import check_ledger
from geoveil.answering.crowd import CrowdInquiry, Every
from geoveil.answering.crowd_sources import FileCrowd
from geoveil.answering.pipeline import answer
from geoveil.answering.preparation import charger_of, read_crowd
from geoveil.answering.units import unit_of
from geoveil.arithmetic import steady
from geoveil.budget import Ledger
from geoveil.errors import InvalidData, InvalidParameter, Message
from geoveil.geo import AreaLike
from geoveil.geo.formats import open_locations
from geoveil.noise import source_of
from geoveil.postprocess.grid import Grid
from geoveil.privacy import Duration, as_duration, promise
from geoveil.release import CrowdRelease

__all__ = ["counts_file", "flows_file", "heatmap_file"]


@steady()
def heatmap_file(path: PathLike, grid: Grid | float, **how: Any) -> CrowdRelease:
    r"""Release a heat map of the crowd in a file of any size.

    Parameters
    ----------
    path : str or Path
        The file, as for `points_file`.
    grid : Grid or float
        The cells, as for `heatmap`.
    **how : optional
        `cap`, `bandwidth`, `every`, `rho`, `epsilon`, `metric`, `method`, `unit` (a column, or a column and a length
        of time), `times`, `thin`, `area`, `crs`, `outside`, `missing`, `where`, `rng` as for `heatmap`; `ledger`,
        `subject`, `short`, `progress` and the options of reading as for `points_file`.

    Returns
    -------
    CrowdHeatMap
        As that of `heatmap`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import geoveil as gv
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trips.csv"
    >>> _ = path.write_text("user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n")
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=10_000)
    >>> gv.heatmap_file(path, 2000, unit="user", rho=5e-5, area=bay).value.shape
    (10, 10)
    """
    return _ask(path, how, lambda plane, more: crowd_requests.heatmap(grid, plane, **more))


@steady()
def counts_file(path: PathLike, regions: Any, **how: Any) -> CrowdRelease:
    r"""Release how many persons of a file are expected in each of several public regions.

    Parameters
    ----------
    path : str or Path
        The file, as for `points_file`.
    regions : GeoDataFrame, GeoSeries or list of polygons
        The regions, as for `counts`.
    **how : optional
        As for `heatmap_file`.

    Returns
    -------
    CrowdCounts
        As that of `counts`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import geopandas, shapely
    >>> import geoveil as gv
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trips.csv"
    >>> _ = path.write_text("user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n")
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=10_000)
    >>> west = geopandas.GeoSeries([shapely.box(-122.5, 37.7, -122.43, 37.8)], ["west"], crs=4326)
    >>> gv.counts_file(path, west, unit="user", rho=5e-5, area=bay).value.index.tolist()
    ['west']
    """
    return _ask(path, how, lambda plane, more: crowd_requests.counts(regions, plane, **more))


@steady()
def flows_file(path: PathLike, grid: Grid | float | None = None, *, regions: Any = None, **how: Any) -> CrowdRelease:
    r"""Release how many persons of a file with origins and destinations go from one cell or region to another.

    Parameters
    ----------
    path : str or Path
        The file, as for `points_file`; each row has an origin and a destination.
    grid : Grid or float, optional
        The cells, as for `flows`. Give this or `regions`.
    regions : GeoDataFrame or GeoSeries, optional
        The regions.
    **how : optional
        As for `heatmap_file`.

    Returns
    -------
    CrowdFlows
        As that of `flows`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import geoveil as gv
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trips.csv"
    >>> head = "user,pickup_latitude,pickup_longitude,dropoff_latitude,dropoff_longitude"
    >>> _ = path.write_text(f"{head}\nann,37.78,-122.41,37.76,-122.45\nbob,37.76,-122.45,37.78,-122.41\n")
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=10_000)
    >>> gv.flows_file(path, 5000, unit="user", rho=5e-5, area=bay).value.shape
    (16, 16)
    """
    return _ask(path, how, lambda plane, more: crowd_requests.flows(grid, regions, plane, **more), trips=True)


def _ask(path: PathLike, how: dict[str, Any], make: Any, *, trips: bool = False) -> CrowdRelease:
    """Count a file, charge everybody in it, read it again, and release the answer.

    `make` builds the question, given the plane. Items are points or, with `trips`, rows with an origin and a
    destination.
    """
    question: dict[str, Any] = {}
    for name in ("cap", "bandwidth", "every", "method"):
        if name in how:
            question[name] = how.pop(name)
    return _answered(path, question, make, trips, **how)


def _answered(
    path: PathLike,
    question: dict[str, Any],
    make: Any,
    trips: bool,
    *,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    unit: Any = None,
    times: str | Sequence[str] | None = None,
    thin: Duration | None = None,
    area: AreaLike = None,
    crs: CrsLike = None,
    outside: Outside = "refuse",
    missing: Missing = "refuse",
    where: str | None = None,
    rng: np.random.Generator | None = None,
    ledger: Ledger | None = None,
    subject: str | None = None,
    short: Short = "refuse",
    progress: Progress | None = None,
    lat: CoordinateColumns = None,
    lon: CoordinateColumns = None,
    **reading: Any,
) -> CrowdRelease:
    asked = unit_of(unit, metric)
    if asked.persons is not None and not isinstance(asked.persons, str):
        raise InvalidParameter("unit", unit, "a column of the file, with or without a length of time", "Name it.")
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    check_ledger(ledger, by=asked.persons, subject=subject, short=short)
    every: Every = question.get("every")
    file = open_locations(Path(path), crs=crs, lat=lat, lon=lon, **reading)
    told: Progress = progress or (lambda share: None)
    reader = read_crowd(
        file,
        guarantee,
        asked.persons,
        times,
        timed=every is not None,
        thin=None if thin is None else as_duration("thin", thin),
        area=area,
        outside=outside,
        missing=missing,
        where=where,
        progress=told,
    )
    if trips and guarantee.metric.stretch is not None:
        remedy = Message("Read the file with {gv.read} and ask about the table.")
        raise InvalidData("unit", unit, "a column of persons, for a file of trips", remedy)
    crowd = FileCrowd(reader, trips=trips)
    inquiry = CrowdInquiry(crowd, make(reader.plane, question), guarantee)
    return answer(inquiry, source, charger_of(reader, ledger, subject, short), progress=told)
