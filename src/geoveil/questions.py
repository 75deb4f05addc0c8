"""The public questions, in the manner of numpy and shapely."""

from __future__ import annotations

from typing import Literal

import numpy as np

from geoveil._types import (
    Columns,
    CoordinateColumns,
    CrsLike,
    Epsilon,
    Function,
    Labels,
    Locations,
    Method,
    MetricLike,
    Missing,
    Outside,
    PlaceLike,
    Pseudonyms,
    Rho,
    ShapeLike,
    Times,
    UnitLike,
)
from geoveil.answering import requests
from geoveil.answering.intake import take_in
from geoveil.answering.pipeline import ask
from geoveil.answering.units import unit_of
from geoveil.arithmetic import steady
from geoveil.geo import AreaLike
from geoveil.mechanisms import Lipschitz
from geoveil.noise import source_of
from geoveil.privacy import Duration, promise
from geoveil.queries import EXTENT
from geoveil.release import Release

__all__ = [
    "answer",
    "bounds",
    "center",
    "diameter",
    "distance",
    "first_within",
    "hull",
    "mean",
    "median",
    "nearest",
    "points",
    "radius",
    "radius_of_gyration",
]


@steady()
def points(
    x: Locations,
    *,
    keep: Columns = None,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: Labels = None,
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
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
) -> Release:
    """Release every point of a tuple: a place, a set of places or a trajectory.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points; in metres, unless x or `crs` states another coordinate system.
    keep : list of columns or "all", optional
        Columns of a table that are released unchanged, besides times and the column named by `by`. The others are
        removed, since they may reveal places; the release's `removed.columns` names them. "all" excludes columns whose
        names suggest places ("lat", "city", "zip_code") and refuses those that hold locations or follow them closely;
        `["all", "venue"]` names one of these to release it. Columns of geometries, bytes or nested values are never
        released.
    rho : float, str, Decimal, Fraction or CGP
        The budget for concentrated geo-privacy, per square metre. Give this or `epsilon`.
    epsilon : float, str, Decimal, Fraction or GP
        The budget for pure geo-privacy, per metre.
    metric : {"inf", "2", "1"}, default "inf"
        The distance between two versions of a person's points for which the budget holds.
    method : {"best", "paper", "both"}
        The algorithm: the one with the least noise known for the guarantee, or the paper's. "both", for points,
        summaries and the user's own functions, gives CGP and GP at once.
    by : str or array of labels, optional
        The person of each point: a column of a frame, or one label for each point. Each person's points are then
        released as a tuple with the whole budget. Without it all points belong to one person.
    unit : str, timedelta, labels or tuple, optional
        What is hidden together; by default all points of a person. "1 day", or any length of time: any
        stretch of that length of a person's movements. "point": each single point. For one answer about many persons:
        the column or the labels of persons, or these and a length of time, ("user", "1 day"). A smaller unit needs
        less noise, and protects less: differences over a longer time are easier to detect.
    times : str, array or Series, optional
        With a length of time as `unit`, or with `thin`: the public time of each row, as a column or as values. It may
        be left out if the table has one column of times.
    thin : str, timedelta or number, optional
        Keep only the first row of each person in every interval of this length ("1 minute", or a number of seconds).
        Which rows these are depends on times alone.
    lat, lon : str or list of str, optional
        The columns of latitudes and longitudes of a table: of pandas, polars, pyarrow or DuckDB, or a list of dicts.
        Lists name several points of a row, such as an origin and a destination. Without them, usual names are
        recognised. With `crs` of a projected system they are northings and eastings.
    area : Area from `local`, code or name of a projected system, or name of a region, optional
        Where the points are, from public knowledge: noise is added in the plane of this area. It may be left out if
        the data's own system is such a plane. The budget is per metre on the ground, so noise grows by the factor
        that the plane stretches.
    crs : coordinate system, as pyproj accepts it, optional
        The coordinate system of x, as in GeoPandas, where x does not state it: 4326 for an array of longitudes and
        latitudes. Without one, columns of latitudes and longitudes are degrees of WGS 84, and an array is in metres.
        An array whose numbers could all be degrees is refused; "metres" says that it is in metres.
    outside : {"refuse", "clamp", "drop"}
        What is done about points outside the area: "clamp" moves them to its edge first, which hides who was outside;
        "drop" removes rows with a point outside, which does not hide it.
    missing : {"refuse", "drop"}
        What is done about rows without a location: "drop" removes and counts them.
    where : str, optional
        A condition on columns of a table that selects its rows before anything else, in SQL: "mode = 'bike'". It is
        public, and so are the columns in it, which need not be released.
    pseudonyms : bool, str or Path
        With `by`: True replaces the labels of persons by random ones, which are forgotten. A path names a key file,
        which keeps them for the owner of the data and for later releases. Pseudonyms do not make people anonymous.
    rng : numpy.random.Generator, optional
        For tests and experiments only; by default a cryptographic generator keyed by the operating system.

    Returns
    -------
    Release
        Its value has the form of x: a table of the same library, with released coordinates in the same columns.
        `error(beta)` bounds the largest error over the tuple, `error(beta, each=True)` that of any one point.

    Notes
    -----
    n points of one person share the budget under "inf": noise grows with √n under CGP and with n under GP. So name
    with `by` the person of each point.

    Examples
    --------
    >>> import numpy as np
    >>> import geoveil as gv
    >>> walk = np.column_stack([np.arange(5) * 100.0, np.zeros(5)])
    >>> release = gv.points(walk, rho=5e-5)
    >>> release.value.shape
    (5, 2)
    >>> release
    Release of points: 5 points of one person
      guarantee  104 m hidden at 75% (CGP with ρ = 5e-05 per m²)
      mechanism  Gaussian of scale 223.7 m
      error      at most 678 m with probability 95%; a single point at most 548 m
      exact      yes

    Longitudes and latitudes need a public area; arrays of them also need `crs=4326`:

    >>> import geopandas
    >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> gv.points(homes, by=["ann", "bob", "eve"], rho=1e-4, area=bay).value.crs.name
    'WGS 84'

    A table comes back as it came, with released coordinates:

    >>> import pandas as pd
    >>> trips = pd.DataFrame({"user": ["ann", "bob"], "lat": [37.78, 37.76], "lon": [-122.41, -122.45]})
    >>> gv.points(trips, lat="lat", lon="lon", by="user", rho=1e-4, area=bay).value.columns.tolist()
    ['user', 'lat', 'lon']
    """
    asked = unit_of(unit, metric, by=by)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    data = take_in(
        x,
        by=by,
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
        pseudonyms=pseudonyms,
    )
    return ask(data, requests.points(method), guarantee, source, keep=keep)


@steady()
def nearest(
    x: Locations,
    p: PlaceLike,
    *,
    k: int,
    locations: float | None = None,
    gamma0: float = 0.0,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: Labels = None,
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
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
) -> Release:
    """Find the k points nearest to a public place.

    The answer names points, not places. Looking up the places of the named points in the data and publishing them
    would be a leak: `locations` releases them too, with noise.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points.
    p : array or shapely Point
        The place, in the coordinate system of x; or a GeoSeries of one Point in any system.
    k : int
        The number of neighbours.
    locations : float, optional
        The share of the budget that releases the places of the neighbours, as the release's `coords`.
    gamma0 : float
        The paper's γ0 in metres, for method="paper"; negative values are more accurate.
    rho, epsilon, metric, method, by, unit, times, thin : optional
        As for `points`.
    lat, lon, area, crs, outside, missing, where, pseudonyms, rng : optional
        As for `points`.

    Returns
    -------
    Release
        Its value is the positions of the neighbours, or the index labels of a frame, in the order found;
        `release.positions` holds positions in either case. `error(beta)` bounds how much farther they are than the
        true neighbours. `place_error(beta)` bounds the error of the places that `locations` releases.

    Examples
    --------
    >>> import geopandas
    >>> import geoveil as gv
    >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> station = geopandas.GeoSeries.from_xy([-122.39], [37.78], crs=4326)
    >>> near = gv.nearest(homes, station, k=1, rho=1e-3, area=bay)
    >>> len(near.value), round(near.error())
    (1, 83)
    """
    asked = unit_of(unit, metric, by=by)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    data = take_in(
        x,
        by=by,
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
        pseudonyms=pseudonyms,
    )
    return ask(data, requests.nearest(data, p, k, locations, gamma0, method), guarantee, source)


@steady()
def hull(
    x: Locations,
    *,
    k: int | Literal["optimal", "authors"] = "optimal",
    share: float = 0.5,
    distinct: bool = False,
    gamma0: float = 0.0,
    beta: float = 0.1,
    extent: float = EXTENT,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: Labels = None,
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
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
) -> Release:
    """Release the convex hull of the points, in two or more dimensions.

    Noise is added to the support function: how far the points reach in k directions. The paper releases points near
    the boundary instead, with far more noise; `share`, `distinct`, `gamma0` and `beta` apply to method="paper" only.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points.
    k : int, "optimal" or "authors"
        The number of directions, which is even; with method="paper", the number of probes around the points. "optimal"
        minimises the error bound, "authors" is as in the experiments of the paper's authors.
    share : float
        The share of the budget that finds vertices; the rest releases their places.
    distinct : bool
        Whether a point that was found is not found again, as in the authors' code.
    gamma0 : float
        The paper's γ0 in metres.
    beta : float
        The probability of failure for which the circle of probes is widened and k is chosen.
    extent : float
        A public guess of the extent of the points in metres. The number of directions is chosen from it under
        `epsilon`, and in more than two dimensions. A wrong guess costs accuracy, never privacy.
    rho, epsilon, metric, method, by, unit, times, thin : optional
        As for `points`.
    lat, lon, area, crs, outside, missing, where, pseudonyms, rng : optional
        As for `points`.

    Returns
    -------
    Release
        In the plane a shapely Polygon (a Point or LineString if the noise left no more). In more dimensions an (m, d)
        array whose convex hull is the answer; in more than five, unless the noise is small, half-spaces: `directions`
        and `offsets`. `error(beta)` bounds the Hausdorff distance to the true hull.

    Examples
    --------
    >>> import geopandas
    >>> import geoveil as gv
    >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> gv.hull(homes, rho=1e-3, area=bay).value.geom_type
    'Polygon'
    """
    asked = unit_of(unit, metric, by=by)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    question = requests.hull(k, share, distinct, gamma0, beta, extent, method)
    data = take_in(
        x,
        by=by,
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
        pseudonyms=pseudonyms,
    )
    return ask(data, question, guarantee, source)


@steady()
def first_within(
    x: Locations,
    p: PlaceLike,
    *,
    radius: float,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: Labels = None,
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
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
) -> Release:
    """Find the first point, in the order of the data, within a radius of a public place.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points.
    p : array or shapely Point
        The place, in the coordinate system of x; or a GeoSeries of one Point in any system.
    radius : float
        The radius in metres.
    rho, epsilon, metric, method, by, unit, times, thin : optional
        As for `points`.
    lat, lon, area, crs, outside, missing, where, pseudonyms, rng : optional
        As for `points`.

    Returns
    -------
    Release
        Its value is the position (or index label) of the first visit, or None. The point found lies within
        radius + `error(beta)`, and no earlier one within radius - `error(beta)`.

    Examples
    --------
    >>> import geopandas
    >>> import geoveil as gv
    >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> station = geopandas.GeoSeries.from_xy([-122.39], [37.78], crs=4326)
    >>> round(gv.first_within(homes, station, radius=5_000, rho=1e-3, area=bay).error())
    328
    """
    asked = unit_of(unit, metric, by=by)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    data = take_in(
        x,
        by=by,
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
        pseudonyms=pseudonyms,
    )
    return ask(data, requests.first_within(data, p, radius, method), guarantee, source)


@steady()
def distance(
    x: Locations,
    p: ShapeLike,
    *,
    fn_error: float | None = None,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: Labels = None,
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
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
) -> Release:
    """Release the distance from a public place, line or area to the nearest of the points.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points.
    p : array or shapely geometry
        The place, line or area, in the coordinate system of x; or a GeoSeries of one geometry in any system.
    fn_error : float, optional
        The largest error in metres of the distance to a line or an area, as GEOS computes it; see `answer`. Nobody
        has proved a bound; 1e-6 is thousands of roundings of coordinates below 10^7 m. The distance to a place is
        exact.
    rho, epsilon, metric, method, by, unit, times, thin : optional
        As for `points`.
    lat, lon, area, crs, outside, missing, where, pseudonyms, rng : optional
        As for `points`.

    Returns
    -------
    Release
        Its value is in metres of the plane, at least 0; `error(beta)` bounds the error from the length on the ground.

    Examples
    --------
    >>> import geopandas
    >>> import geoveil as gv
    >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> import shapely
    >>> road = shapely.LineString([(-122.40, 37.70), (-122.39, 37.80)])
    >>> gv.distance(homes, road, rho=1e-4, area=bay).value >= 0
    True
    """
    asked = unit_of(unit, metric, by=by)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    data = take_in(
        x,
        by=by,
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
        pseudonyms=pseudonyms,
    )
    return ask(data, requests.distance(data, p, fn_error, method), guarantee, source)


@steady()
def answer(
    x: Locations,
    fn: Function | Lipschitz,
    *,
    lipschitz: float | None = None,
    size: int = 1,
    fn_error: float | None = None,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: Labels = None,
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
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
) -> Release:
    """Answer the user's own Lipschitz question.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points.
    fn : callable or Lipschitz
        A function of an (n, d) array in metres that returns a number or a vector. The guarantee is only as good as
        the claim that ‖fn(x) - fn(x')‖ ≤ lipschitz · dist(x, x').
    lipschitz : float, optional
        The constant; a `Lipschitz` carries its own.
    size : int
        The number of values that `fn` returns.
    fn_error : float, optional
        The largest distance in metres between what `fn` computes in doubles and the function it stands for: 0 if it
        does not round, as a largest coordinate does not. The guarantee then holds as if all inputs were
        2·fn_error/lipschitz farther from each other, and the release is exact. Without it the release states that it
        is not. Points in degrees reach `fn` as doubles in metres; the release states how much these are rounded.
    rho, epsilon, metric, method, by, unit, times, thin : optional
        As for `points`.
    lat, lon, area, crs, outside, missing, where, pseudonyms, rng : optional
        As for `points`.

    Returns
    -------
    Release
        Its value is a number or a vector.

    Examples
    --------
    >>> import numpy as np
    >>> import geoveil as gv
    >>> x = np.array([[0.0, 0.0], [3000.0, 4000.0]])
    >>> release = gv.answer(x, lambda x: np.linalg.norm(x[-1] - x[0]), lipschitz=2, rho=1e-4)
    >>> round(release.error(0.05))
    277
    """
    asked = unit_of(unit, metric, by=by)
    own = requests.lipschitz_function(fn, lipschitz, asked.metric, rho, epsilon)
    guarantee, source = promise(rho, epsilon, own.metric), source_of(rng)
    data = take_in(
        x,
        by=by,
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
        pseudonyms=pseudonyms,
    )
    return ask(data, requests.own_function(data, own, size, fn_error, method), guarantee, source)


@steady()
def center(
    x: Locations,
    *,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: Labels = None,
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
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
) -> Release:
    """Release the middle of the bounding box: √d-Lipschitz.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points.
    rho, epsilon, metric, method, by, unit, times, thin : optional
        As for `points`.
    lat, lon, area, crs, outside, missing, where, pseudonyms, rng : optional
        As for `points`.

    Returns
    -------
    Release
        Its value is a place: d coordinates, or a shapely Point.

    Examples
    --------
    >>> import geopandas
    >>> import geoveil as gv
    >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> gv.center(homes, rho=1e-4, area=bay).value.geom_type
    'Point'
    """
    asked = unit_of(unit, metric, by=by)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    data = take_in(
        x,
        by=by,
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
        pseudonyms=pseudonyms,
    )
    return ask(data, requests.summary("center", method), guarantee, source)


@steady()
def mean(
    x: Locations,
    *,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: Labels = None,
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
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
) -> Release:
    """Release the mean of the points: 1-Lipschitz.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points.
    rho, epsilon, metric, method, by, unit, times, thin : optional
        As for `points`.
    lat, lon, area, crs, outside, missing, where, pseudonyms, rng : optional
        As for `points`.

    Returns
    -------
    Release
        Its value is a place: d coordinates, or a shapely Point.

    Examples
    --------
    >>> import geopandas
    >>> import geoveil as gv
    >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> gv.mean(homes, rho=1e-4, area=bay).value.geom_type
    'Point'
    >>> round(gv.mean(homes, rho=1e-4, area=bay).error())
    173
    """
    asked = unit_of(unit, metric, by=by)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    data = take_in(
        x,
        by=by,
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
        pseudonyms=pseudonyms,
    )
    return ask(data, requests.summary("mean", method), guarantee, source)


@steady()
def median(
    x: Locations,
    *,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: Labels = None,
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
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
) -> Release:
    """Release the median of each coordinate: √d-Lipschitz.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points.
    rho, epsilon, metric, method, by, unit, times, thin : optional
        As for `points`.
    lat, lon, area, crs, outside, missing, where, pseudonyms, rng : optional
        As for `points`.

    Returns
    -------
    Release
        Its value is a place: d coordinates, or a shapely Point.

    Notes
    -----
    The geometric median is not offered: moving points by a metre can move it by any distance.

    Examples
    --------
    >>> import geopandas
    >>> import geoveil as gv
    >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> gv.median(homes, rho=1e-4, area=bay).value.geom_type
    'Point'
    """
    asked = unit_of(unit, metric, by=by)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    data = take_in(
        x,
        by=by,
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
        pseudonyms=pseudonyms,
    )
    return ask(data, requests.summary("median", method), guarantee, source)


@steady()
def bounds(
    x: Locations,
    *,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: Labels = None,
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
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
) -> Release:
    """Release the bounding box: √(2d)-Lipschitz.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points.
    rho, epsilon, metric, method, by, unit, times, thin : optional
        As for `points`.
    lat, lon, area, crs, outside, missing, where, pseudonyms, rng : optional
        As for `points`.

    Returns
    -------
    Release
        Its value is 2d numbers, the smallest coordinates first. In degrees, longitudes continue beyond 180 across the
        antimeridian (179.9 to 180.1). `error(beta)` bounds the largest error of any of them.

    Examples
    --------
    >>> import geopandas
    >>> import geoveil as gv
    >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> west, south, east, north = gv.bounds(homes, rho=1e-4, area=bay).value
    >>> bool(-123 < west < east < -122)
    True
    """
    asked = unit_of(unit, metric, by=by)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    data = take_in(
        x,
        by=by,
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
        pseudonyms=pseudonyms,
    )
    return ask(data, requests.summary("bounds", method), guarantee, source)


@steady()
def radius(
    x: Locations,
    *,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: Labels = None,
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
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
) -> Release:
    """Release the radius of the smallest ball that contains the points: 1-Lipschitz.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points.
    rho, epsilon, metric, method, by, unit, times, thin : optional
        As for `points`.
    lat, lon, area, crs, outside, missing, where, pseudonyms, rng : optional
        As for `points`.

    Returns
    -------
    Release
        Its value is in metres of the plane, at least 0; `error(beta)` bounds the error from the length on the ground.

    Examples
    --------
    >>> import geopandas
    >>> import geoveil as gv
    >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> round(gv.radius(homes, rho=1e-4, area=bay).error())
    139
    """
    asked = unit_of(unit, metric, by=by)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    data = take_in(
        x,
        by=by,
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
        pseudonyms=pseudonyms,
    )
    return ask(data, requests.summary("radius", method), guarantee, source)


@steady()
def radius_of_gyration(
    x: Locations,
    *,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: Labels = None,
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
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
) -> Release:
    """Release the root mean square distance of the points from their mean: 1-Lipschitz.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points.
    rho, epsilon, metric, method, by, unit, times, thin : optional
        As for `points`.
    lat, lon, area, crs, outside, missing, where, pseudonyms, rng : optional
        As for `points`.

    Returns
    -------
    Release
        Its value is in metres of the plane, at least 0; `error(beta)` bounds the error from the length on the ground.

    Examples
    --------
    >>> import geopandas
    >>> import geoveil as gv
    >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> round(gv.radius_of_gyration(homes, rho=1e-4, area=bay).error())
    139
    """
    asked = unit_of(unit, metric, by=by)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    data = take_in(
        x,
        by=by,
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
        pseudonyms=pseudonyms,
    )
    return ask(data, requests.summary("radius_of_gyration", method), guarantee, source)


@steady()
def diameter(
    x: Locations,
    *,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: Labels = None,
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
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
) -> Release:
    """Release the largest distance between two of the points: 2-Lipschitz.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points.
    rho, epsilon, metric, method, by, unit, times, thin : optional
        As for `points`.
    lat, lon, area, crs, outside, missing, where, pseudonyms, rng : optional
        As for `points`.

    Returns
    -------
    Release
        Its value is in metres of the plane, at least 0; `error(beta)` bounds the error from the length on the ground.

    Examples
    --------
    >>> import geopandas
    >>> import geoveil as gv
    >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> round(gv.diameter(homes, rho=1e-4, area=bay).error())
    277
    """
    asked = unit_of(unit, metric, by=by)
    guarantee, source = promise(rho, epsilon, asked.metric), source_of(rng)
    data = take_in(
        x,
        by=by,
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
        pseudonyms=pseudonyms,
    )
    return ask(data, requests.summary("diameter", method), guarantee, source)
