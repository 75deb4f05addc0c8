"""Questions about the crowd in a DataFrame: partial sums on the workers, noise once in the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack, cast

import numpy as np

from geoveil._types import (
    CoordinateColumns,
    CrsLike,
    Epsilon,
    Method,
    MetricLike,
    Missing,
    Outside,
    Progress,
    RegionsLike,
    Rho,
    Short,
    UnitLike,
)
from geoveil.answering import crowd_requests
from geoveil.answering.charging import check_ledger
from geoveil.answering.crowd import CrowdInquiry, CrowdQuestion, Every
from geoveil.answering.pipeline import Inquiry, answer
from geoveil.answering.preparation import charger_of, read_crowd
from geoveil.answering.units import unit_of
from geoveil.arithmetic import steady
from geoveil.budget import Ledger
from geoveil.errors import InvalidParameter, Message
from geoveil.geo import AreaLike
from geoveil.noise import source_of
from geoveil.postprocess.grid import Grid
from geoveil.privacy import Duration, as_duration, promise
from geoveil.release import CrowdRelease, Release
from geoveil.spark.frame_columns import FrameLike, open_frame
from geoveil.spark.frame_crowd import FrameCrowd
from geoveil.spark.frame_mean import MeanInquiry
from geoveil.spark.frame_points import FramePoints, check_key
from geoveil.spark.question_options import CrowdOptions, MeanOptions

__all__ = ["counts", "flows", "heatmap", "mean"]


@steady()
def heatmap(df: FrameLike, grid: Grid | float, **how: Unpack[CrowdOptions]) -> CrowdRelease:
    """Release a heat map of the crowd in a DataFrame.

    Parameters
    ----------
    df : DataFrame, or path
        The rows, as for `points`.
    grid : Grid or float
        The cells, as for `geoveil.heatmap`.
    **how : optional
        `cap`, `bandwidth`, `every`, `rho`, `epsilon`, `metric`, `method`, `unit` (a column, or a column and a length
        of time), `times`, `thin`, `area`, `crs`, `outside`, `missing`, `where`, `rng`, `lat`, `lon` as for
        `geoveil.heatmap`; `geometry`, `ledger`, `subject`, `short`, `key` and `progress` as for `points`. With a key,
        the ledger stores the answer, and returns it when it is asked for again.

    Returns
    -------
    CrowdHeatMap
        As that of `geoveil.heatmap`.
    """
    return cast(CrowdRelease, _answered(df, lambda plane, more: crowd_requests.heatmap(grid, plane, **more), **how))


@steady()
def counts(df: FrameLike, regions: RegionsLike, **how: Unpack[CrowdOptions]) -> CrowdRelease:
    """Release how many persons of a DataFrame are expected in each of several public regions.

    Parameters
    ----------
    df : DataFrame, or path
        The rows, as for `points`.
    regions : GeoDataFrame, GeoSeries or list of polygons
        The regions, as for `geoveil.counts`.
    **how : optional
        As for `heatmap`.

    Returns
    -------
    CrowdCounts
        As that of `geoveil.counts`.
    """
    return cast(CrowdRelease, _answered(df, lambda plane, more: crowd_requests.counts(regions, plane, **more), **how))


@steady()
def flows(
    df: FrameLike, grid: Grid | float | None = None, *, regions: RegionsLike | None = None, **how: Unpack[CrowdOptions]
) -> CrowdRelease:
    """Release how many persons go from one cell or region to another, from rows with an origin and a destination.

    Parameters
    ----------
    df : DataFrame, or path
        The rows, as for `points`; each has an origin and a destination.
    grid : Grid or float, optional
        The cells, as for `geoveil.flows`. Give this or `regions`.
    regions : GeoDataFrame or GeoSeries, optional
        The regions.
    **how : optional
        As for `heatmap`.

    Returns
    -------
    CrowdFlows
        As that of `geoveil.flows`.
    """
    make = lambda plane, more: crowd_requests.flows(grid, regions, plane, **more)  # noqa: E731
    return cast(CrowdRelease, _answered(df, make, trips=True, **how))


@steady()
def mean(df: FrameLike, **how: Unpack[MeanOptions]) -> Release:
    """Release the mean of all points of a DataFrame.

    Parameters
    ----------
    df : DataFrame, or path
        The rows, as for `points`.
    **how : optional
        As for `heatmap`, without `cap`, `bandwidth` and `every`.

    Returns
    -------
    Release
        As that of `geoveil.mean`.
    """
    return _answered(df, None, **how)


def _answered(
    df: FrameLike,
    make: Callable[..., CrowdQuestion] | None,
    *,
    trips: bool = False,
    cap: float | None = None,
    bandwidth: float | None = None,
    every: Every = None,
    method: Method = "best",
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    unit: UnitLike = None,
    times: str | None = None,
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
    key: str | None = None,
    progress: Progress | None = None,
    lat: CoordinateColumns = None,
    lon: CoordinateColumns = None,
    geometry: str | None = None,
) -> Release:
    """Count, charge everybody, add up on the workers, and release; `make` makes the question, or None for a mean."""
    asked = unit_of(unit, metric)
    if asked.persons is not None and not isinstance(asked.persons, str):
        raise InvalidParameter("unit", unit, "a column, with or without a length of time", "Name the column.")
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    check_ledger(ledger, by=asked.persons, subject=subject, short=short)
    check_key(key, ledger)
    if short == "skip" and guarantee.metric.stretch is not None:
        remedy = Message("Leave it out, or give a column of persons as {unit}.")
        raise InvalidParameter("short", short, "left out where units are lengths of time", remedy)
    told: Progress = progress or (lambda share: None)
    frame, file = open_frame(df, lat=lat, lon=lon, geometry=geometry, crs=crs)
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
        kind=FramePoints,
        frame=frame,
        timed_rows=every is not None,
        crowd=True,
    )
    crowd = FrameCrowd(cast(FramePoints, reader), trips=trips)
    inquiry: Inquiry[Any, Release]
    if make is None:
        inquiry = MeanInquiry(crowd, guarantee, method)
    else:
        how = {"cap": cap, "bandwidth": bandwidth, "every": every, "method": method}
        inquiry = CrowdInquiry(crowd, make(reader.plane, how), guarantee)
    return answer(inquiry, source, charger_of(reader, ledger, subject, short), key, told)
