"""Questions about the crowd in a file, which is read in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from geoveil._types import (
    CoordinateColumns,
    CrsLike,
    Epsilon,
    MetricLike,
    Missing,
    Outside,
    Progress,
    RegionsLike,
    Rho,
    Short,
    UnitLike,
)
from geoveil._types import Path as PathLike
from geoveil.answering import crowd_requests
from geoveil.answering.charging import check_ledger
from geoveil.answering.crowd import CrowdInquiry, CrowdQuestion, Every
from geoveil.answering.crowd_sources import FileCrowd
from geoveil.answering.pipeline import answer
from geoveil.answering.preparation import charger_of, read_crowd
from geoveil.answering.units import unit_of
from geoveil.arithmetic import steady
from geoveil.budget import Ledger
from geoveil.errors import InvalidData, InvalidParameter, Message
from geoveil.foreign_names import foreign_names_refused
from geoveil.geo import AreaLike, Plane
from geoveil.geo.formats import open_locations
from geoveil.noise import source_of
from geoveil.postprocess.grid import Grid
from geoveil.privacy import Duration, as_duration, promise
from geoveil.release import CrowdRelease

__all__ = ["counts_file", "flows_file", "heatmap_file"]


@steady()
@foreign_names_refused
def heatmap_file(
    path: PathLike,
    grid: Grid | float,
    *,
    cap: float | None = None,
    bandwidth: float | None = None,
    every: Every = None,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Literal["best", "both"] = "best",
    unit: UnitLike = None,
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
    lat: CoordinateColumns = None,
    lon: CoordinateColumns = None,
    geometry: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    names: str | Sequence[str] | None = None,
    layer: str | None = None,
    progress: Progress | None = None,
) -> CrowdRelease:
    r"""Release a heat map of the crowd in a file of any size.

    Parameters
    ----------
    path : str or Path
        The file, as for `points_file`.
    grid : Grid or float
        The cells, as for `heatmap`.
    cap, bandwidth, every, rho, epsilon, metric, method, thin, area, outside, missing, where, rng : optional
        As for `heatmap`.
    unit : str or tuple, optional
        As for `heatmap`: the column of persons, or the column and a length of time, ("user", "1 day").
    times : str, or a list of them, optional
        The column of times, as for `points_file`.
    crs, ledger, subject, short, lat, lon, geometry, delimiter, decimal, encoding, names, layer, progress : optional
        As for `points_file`.

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
    reading = {"crs": crs, "lat": lat, "lon": lon, "geometry": geometry, "delimiter": delimiter, "decimal": decimal}
    reading |= {"encoding": encoding, "names": names, "layer": layer}
    how = {"cap": cap, "bandwidth": bandwidth, "every": every, "method": method}
    return _answered(
        path,
        reading,
        lambda plane: crowd_requests.heatmap(grid, plane, **how),
        timed=every is not None,
        rho=rho,
        epsilon=epsilon,
        metric=metric,
        unit=unit,
        times=times,
        thin=thin,
        area=area,
        outside=outside,
        missing=missing,
        where=where,
        rng=rng,
        ledger=ledger,
        subject=subject,
        short=short,
        progress=progress,
    )


@steady()
@foreign_names_refused
def counts_file(
    path: PathLike,
    regions: RegionsLike,
    *,
    cap: float | None = None,
    bandwidth: float | None = None,
    every: Every = None,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Literal["best", "both"] = "best",
    unit: UnitLike = None,
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
    lat: CoordinateColumns = None,
    lon: CoordinateColumns = None,
    geometry: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    names: str | Sequence[str] | None = None,
    layer: str | None = None,
    progress: Progress | None = None,
) -> CrowdRelease:
    r"""Release how many persons of a file are expected in each of several public regions.

    Parameters
    ----------
    path : str or Path
        The file, as for `points_file`.
    regions : GeoDataFrame, GeoSeries or list of polygons
        The regions, as for `counts`.
    cap, bandwidth, every, rho, epsilon, metric, method, unit, times, thin, area, crs : optional
        As for `heatmap_file`.
    outside, missing, where, rng, ledger, subject, short, lat, lon, geometry, progress : optional
        As for `heatmap_file`.
    delimiter, decimal, encoding, names, layer : optional
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
    reading = {"crs": crs, "lat": lat, "lon": lon, "geometry": geometry, "delimiter": delimiter, "decimal": decimal}
    reading |= {"encoding": encoding, "names": names, "layer": layer}
    how = {"cap": cap, "bandwidth": bandwidth, "every": every, "method": method}
    return _answered(
        path,
        reading,
        lambda plane: crowd_requests.counts(regions, plane, **how),
        timed=every is not None,
        rho=rho,
        epsilon=epsilon,
        metric=metric,
        unit=unit,
        times=times,
        thin=thin,
        area=area,
        outside=outside,
        missing=missing,
        where=where,
        rng=rng,
        ledger=ledger,
        subject=subject,
        short=short,
        progress=progress,
    )


@steady()
@foreign_names_refused
def flows_file(
    path: PathLike,
    grid: Grid | float | None = None,
    *,
    regions: RegionsLike | None = None,
    cap: float | None = None,
    bandwidth: float | None = None,
    every: Every = None,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Literal["best", "both"] = "best",
    unit: UnitLike = None,
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
    lat: CoordinateColumns = None,
    lon: CoordinateColumns = None,
    geometry: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    names: str | Sequence[str] | None = None,
    layer: str | None = None,
    progress: Progress | None = None,
) -> CrowdRelease:
    r"""Release how many persons of a file with origins and destinations go from one cell or region to another.

    Parameters
    ----------
    path : str or Path
        The file, as for `points_file`; each row has an origin and a destination.
    grid : Grid or float, optional
        The cells, as for `flows`. Give this or `regions`.
    regions : GeoDataFrame or GeoSeries, optional
        The regions.
    cap, bandwidth, every, rho, epsilon, metric, method, unit, times, thin, area, crs : optional
        As for `heatmap_file`.
    outside, missing, where, rng, ledger, subject, short, lat, lon, geometry, progress : optional
        As for `heatmap_file`.
    delimiter, decimal, encoding, names, layer : optional
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
    reading = {"crs": crs, "lat": lat, "lon": lon, "geometry": geometry, "delimiter": delimiter, "decimal": decimal}
    reading |= {"encoding": encoding, "names": names, "layer": layer}
    how = {"cap": cap, "bandwidth": bandwidth, "every": every, "method": method}
    return _answered(
        path,
        reading,
        lambda plane: crowd_requests.flows(grid, regions, plane, **how),
        timed=every is not None,
        trips=True,
        rho=rho,
        epsilon=epsilon,
        metric=metric,
        unit=unit,
        times=times,
        thin=thin,
        area=area,
        outside=outside,
        missing=missing,
        where=where,
        rng=rng,
        ledger=ledger,
        subject=subject,
        short=short,
        progress=progress,
    )


def _answered(
    path: PathLike,
    reading: dict[str, Any],
    make: Callable[[Plane], CrowdQuestion],
    *,
    timed: bool,
    trips: bool = False,
    rho: Rho,
    epsilon: Epsilon,
    metric: MetricLike,
    unit: UnitLike,
    times: str | Sequence[str] | None,
    thin: Duration | None,
    area: AreaLike,
    outside: Outside,
    missing: Missing,
    where: str | None,
    rng: np.random.Generator | None,
    ledger: Ledger | None,
    subject: str | None,
    short: Short,
    progress: Progress | None,
) -> CrowdRelease:
    """Count a file, charge everybody in it, read it again, and release the answer.

    `make` builds the question, given the plane. Items are points or, with `trips`, rows with an origin and a
    destination.
    """
    asked = unit_of(unit, metric)
    if asked.persons is not None and not isinstance(asked.persons, str):
        raise InvalidParameter("unit", unit, "a column of the file, with or without a length of time", "Name it.")
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    check_ledger(ledger, by=asked.persons, subject=subject, short=short)
    told: Progress = progress or (lambda share: None)
    reader = read_crowd(
        open_locations(Path(path), **reading),
        guarantee,
        asked.persons,
        times,
        timed=timed,
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
    inquiry = CrowdInquiry(FileCrowd(reader, trips=trips), make(reader.plane), guarantee)
    return answer(inquiry, source, charger_of(reader, ledger, subject, short), progress=told)
