"""Questions about a crowd: heat maps, counts in regions, and flows."""

from __future__ import annotations

from typing import Literal

import numpy as np

from geoveil._types import (
    CoordinateColumns,
    CrsLike,
    Epsilon,
    Labels,
    Locations,
    MetricLike,
    Missing,
    Outside,
    RegionsLike,
    Rho,
    Times,
    UnitLike,
)
from geoveil.answering import crowd_requests
from geoveil.answering.charging import NoCharger
from geoveil.answering.crowd import CrowdInquiry, Every
from geoveil.answering.intake import take_in
from geoveil.answering.pipeline import answer
from geoveil.answering.units import unit_of
from geoveil.arithmetic import steady
from geoveil.geo import AreaLike
from geoveil.noise import source_of
from geoveil.postprocess.grid import Grid
from geoveil.privacy import Duration, promise
from geoveil.release.crowd_release import CrowdRelease

__all__ = ["counts", "flows", "heatmap"]


@steady()
def heatmap(
    x: Locations,
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
    times: Times = None,
    thin: Duration | None = None,
    lat: CoordinateColumns = None,
    lon: CoordinateColumns = None,
    area: AreaLike = None,
    crs: CrsLike = None,
    outside: Outside = "refuse",
    missing: Missing = "refuse",
    where: str | None = None,
    rng: np.random.Generator | None = None,
) -> CrowdRelease:
    """Release a heat map of many persons: how many are expected in each cell of a grid.

    Noise is added to the whole map once, and not for each person, so a map of a crowd is far more accurate than the
    noisy points of its persons.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points of all persons.
    grid : Grid or float
        The cells, chosen from public knowledge, in the coordinate system of x if that is a plane, else in metres of
        the area's plane; or the side of a cell in metres, for a grid of the whole area.
    cap : float, optional
        Count visits, and at most this many of each unit: a person with more is scaled down. By default each unit
        counts as one person, spread over their points.
    bandwidth : float, optional
        The standard deviation in metres by which places are blurred before noise is added: a wider kernel needs less
        noise. By default it follows from public numbers: the budget, the number of persons, and the size and number
        of cells, those of all slices together.
    every : str or timedelta, optional
        Slices of time: a length such as "1 hour", "hour of day" or "day of week" (UTC). They cost no budget:
        noise on each slice is as large as that on one map of the same blur. A person counts as one over all slices
        together.
    rho, epsilon, metric, times, thin, lat, lon, area, crs, outside, missing, where, rng : optional
        As for `points`.
    method : {"best", "both"}
        "both" guarantees CGP and GP at once.
    unit : str, labels or tuple, optional
        Whose points are hidden together: the column or the labels of persons; ("user", "1 day") for any day
        of a person, which then counts as one for each day; "point". By default all points are one person's.

    Returns
    -------
    CrowdHeatMap
        Its value is an array of the grid's shape, rows from south to north, with slices in front: not negative, and
        adding up to at most the number of persons. `noisy` holds the unprocessed numbers, `error(beta)` bounds their
        noise, `blur` is their blur in metres, `zcdp` the ordinary differential privacy for replacing one person.
        `to_frame()` has a polygon for each cell; `to_file("heat.tif")` writes a GeoTIFF.

    Notes
    -----
    Each point adds the values of a cubic B-spline at the cells around it; the sum is Lipschitz, and binned counts are
    not. Maximum entropy then removes blur and noise together, at no cost.

    Examples
    --------
    >>> import numpy as np
    >>> import geoveil as gv
    >>> rng = np.random.default_rng(1)
    >>> person = np.repeat(np.arange(1000), 20)
    >>> visits = rng.normal(0, 2000, size=(1000, 2))[person] + rng.normal(0, 300, size=(20_000, 2))
    >>> grid = gv.Grid((-6000, -6000, 6000, 6000), cell=1000)
    >>> heat = gv.heatmap(visits, grid, unit=person, rho=5e-5, rng=rng)
    >>> truth = grid.count(visits) / 20
    >>> bool(abs(heat.value - truth).sum() < 0.2 * truth.sum())
    True
    """
    asked = unit_of(unit, metric)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    data = take_in(
        x,
        unit=asked.under(guarantee),
        times=times,
        thin=thin,
        lat=lat,
        lon=lon,
        area=area,
        crs=crs,
        outside=outside,
        missing=missing,
        where=where,
        timed=every is not None,
    )
    question = crowd_requests.heatmap(grid, data.form.plane, cap=cap, bandwidth=bandwidth, every=every, method=method)
    crowd = crowd_requests.items_of(data, guarantee.metric)
    return answer(CrowdInquiry(crowd, question, guarantee), source, NoCharger())


@steady()
def counts(
    x: Locations,
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
    times: Times = None,
    thin: Duration | None = None,
    lat: CoordinateColumns = None,
    lon: CoordinateColumns = None,
    area: AreaLike = None,
    crs: CrsLike = None,
    outside: Outside = "refuse",
    missing: Missing = "refuse",
    where: str | None = None,
    rng: np.random.Generator | None = None,
) -> CrowdRelease:
    """Release how many persons are expected in each of several public regions, soft at their borders.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points of all persons.
    regions : GeoDataFrame, GeoSeries or list of polygons
        The regions, which are public. They may overlap, which needs more noise.
    cap : float, optional
        Count visits, and at most this many of each unit: a person with more is scaled down. By default each unit
        counts as one person, spread over their points.
    bandwidth : float, optional
        The standard deviation in metres by which places are blurred before noise is added: a wider kernel needs less
        noise. By default it follows from public numbers: the budget, the number of persons, and the number and size
        of regions.
    every : str or timedelta, optional
        Slices of time: a length such as "1 hour", "hour of day" or "day of week" (UTC). They cost no budget:
        noise on each slice is as large as that on one map of the same blur. A person counts as one over all slices
        together.
    rho, epsilon, metric, times, thin, lat, lon, area, crs, outside, missing, where, rng : optional
        As for `points`.
    method : {"best", "both"}
        "both" guarantees CGP and GP at once.
    unit : str, labels or tuple, optional
        Whose points are hidden together: the column or the labels of persons; ("user", "1 day") for any day
        of a person, which then counts as one for each day; "point". By default all points are one person's.

    Returns
    -------
    CrowdCounts
        Its value is a frame with the regions, the expected number in each, and the unprocessed number. See `heatmap`.

    Examples
    --------
    >>> import geopandas, numpy as np, shapely
    >>> import geoveil as gv
    >>> rng = np.random.default_rng(1)
    >>> homes = rng.uniform(0, 4000, size=(2000, 2))
    >>> halves = geopandas.GeoSeries([shapely.box(0, 0, 1000, 4000), shapely.box(1000, 0, 4000, 4000)], ["a", "b"])
    >>> found = gv.counts(homes, halves, unit=np.arange(2000), rho=5e-5, rng=rng).value
    >>> [round(number, -2) for number in found.persons]
    [500.0, 1500.0]
    """
    asked = unit_of(unit, metric)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    data = take_in(
        x,
        unit=asked.under(guarantee),
        times=times,
        thin=thin,
        lat=lat,
        lon=lon,
        area=area,
        crs=crs,
        outside=outside,
        missing=missing,
        where=where,
        timed=every is not None,
    )
    question = crowd_requests.counts(
        regions, data.form.plane, cap=cap, bandwidth=bandwidth, every=every, method=method
    )
    crowd = crowd_requests.items_of(data, guarantee.metric)
    return answer(CrowdInquiry(crowd, question, guarantee), source, NoCharger())


@steady()
def flows(
    x: Locations,
    destinations: Locations | None = None,
    grid: Grid | float | None = None,
    *,
    regions: RegionsLike | None = None,
    trip: Labels = None,
    cap: float | None = None,
    bandwidth: float | None = None,
    every: Every = None,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Literal["best", "both"] = "best",
    unit: UnitLike = None,
    times: Times = None,
    thin: Duration | None = None,
    lat: CoordinateColumns = None,
    lon: CoordinateColumns = None,
    area: AreaLike = None,
    crs: CrsLike = None,
    outside: Outside = "refuse",
    missing: Missing = "refuse",
    where: str | None = None,
    rng: np.random.Generator | None = None,
) -> CrowdRelease:
    """Release how many persons are expected to go from one cell or region to another.

    Parameters
    ----------
    x : array, table, GeoSeries or GeoDataFrame
        The origins of trips; or rows with an origin and a destination each; or, with `trip`, all points of trips.
    destinations : array, table, GeoSeries or GeoDataFrame, optional
        The destinations, in the order of the origins.
    grid : Grid or float, optional
        The cells between which trips are counted, as for `heatmap`. Give this or `regions`.
    regions : GeoDataFrame or GeoSeries, optional
        The public regions between which trips are counted.
    trip : str or array of labels, optional
        The trip of each point: its first and its last point, in order of time, are origin and destination.
    cap : float, optional
        Count visits, and at most this many of each unit: a person with more is scaled down. By default each unit
        counts as one person, spread over their points.
    bandwidth : float, optional
        The standard deviation in metres by which places are blurred before noise is added: a wider kernel needs less
        noise. By default it follows from the size of cells or regions.
    every : str or timedelta, optional
        Slices of time: a length such as "1 hour", "hour of day" or "day of week" (UTC). They cost no budget:
        noise on each slice is as large as that on one map of the same blur. A person counts as one over all slices
        together.
    rho, epsilon, metric, times, thin, lat, lon, area, crs, outside, missing, where, rng : optional
        As for `points`.
    method : {"best", "both"}
        "both" guarantees CGP and GP at once.
    unit : str, labels or tuple, optional
        Whose points are hidden together: the column or the labels of persons; ("user", "1 day") for any day
        of a person, which then counts as one for each day; "point". By default all points are one person's.

    Returns
    -------
    CrowdFlows
        Its value is an array of origins × destinations; cells are numbered from the south-west. `to_frame()` lists
        flows from the largest to the smallest. See `heatmap`.

    Examples
    --------
    >>> import numpy as np
    >>> import geoveil as gv
    >>> rng = np.random.default_rng(1)
    >>> origins = rng.normal(500, 100, size=(1000, 2))
    >>> grid = gv.Grid((0, 0, 4000, 1000), cell=1000)
    >>> moves = gv.flows(origins, origins + [2000, 0], grid, unit=np.arange(1000), rho=1e-4, rng=rng)
    >>> largest = moves.to_frame().iloc[0]
    >>> int(largest.origin), int(largest.destination), bool(largest.persons > 150)
    (0, 2, True)
    """
    asked = unit_of(unit, metric)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    data = take_in(
        x,
        unit=asked.under(guarantee),
        times=times,
        thin=thin,
        lat=lat,
        lon=lon,
        area=area,
        crs=crs,
        outside=outside,
        missing=missing,
        where=where,
        timed=every is not None,
    )
    question = crowd_requests.flows(
        grid, regions, data.form.plane, cap=cap, bandwidth=bandwidth, every=every, method=method
    )
    crowd = crowd_requests.trips_of(
        data,
        guarantee.metric,
        destinations,
        trip,
        lat=lat,
        lon=lon,
        area=area,
        crs=crs,
        outside=outside,
        missing=missing,
    )
    return answer(CrowdInquiry(crowd, question, guarantee), source, NoCharger())
