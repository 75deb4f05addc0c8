"""The noun: locations, and the questions that can be asked about them."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from geoveil._types import (
    Columns,
    CoordinateColumns,
    Count,
    CrsLike,
    Epsilon,
    Function,
    Hide,
    Labels,
    Length,
    LocationsLike,
    Method,
    Missing,
    Order,
    Outside,
    PlaceLike,
    Progress,
    Pseudonyms,
    RegionsLike,
    Rho,
    ShapeLike,
    Short,
    Times,
)
from geoveil._types import Path as PathLike
from geoveil.answering import crowd_requests, requests
from geoveil.answering.charging import Charger, NoCharger
from geoveil.answering.concerns import Concern
from geoveil.answering.crowd import Every
from geoveil.answering.pipeline import OutputFile
from geoveil.answering.rows import Asked, MakeQuestion, Rows, Trips
from geoveil.answering.settings import Reading, Settings
from geoveil.budget import Ledger
from geoveil.certificates import KeyLike, signing_key
from geoveil.errors import InvalidParameter, Message
from geoveil.facts.wording import protected
from geoveil.geo import AreaLike
from geoveil.geo.columns import ROW
from geoveil.host.arithmetic import steady
from geoveil.mechanisms import Lipschitz
from geoveil.noise import source_of
from geoveil.postprocess.grid import Grid
from geoveil.privacy import Duration, Metric, promise, protected_metric
from geoveil.queries import EXTENT
from geoveil.release import CrowdRelease, Release
from geoveil.settings import LEVELS
from geoveil.settings.other_names import Answering, guesses_answered
from geoveil.text.cards import Card
from geoveil.text.cards import Rows as CardRows

if TYPE_CHECKING:
    import geopandas
    from numpy.typing import ArrayLike

    from geoveil.advice import Advice
    from geoveil.attacks import Attacks
    from geoveil.locations.hiding import ChargedCentres
    from geoveil.locations.session import Session
    from geoveil.postprocess.motion import Motion
    from geoveil.zones import Near, PlacesLike, ZonesRelease

__all__ = ["Locations"]


@guesses_answered
class Locations(Card, metaclass=Answering):
    """Locations of people, and the questions that can be asked about them.

    Parameters
    ----------
    source : array, table, GeoSeries, GeoDataFrame, shapely MultiPoint, path, or DataFrame of Spark
        The points. A table is one of pandas, polars, pyarrow, DuckDB or Ibis, or a list of dicts; anything else with
        `__arrow_c_stream__` (columns of GeoArrow hold locations) or `__geo_interface__`, and trajectories of
        MovingPandas, are taken as well. A path is that of a file:
        CSV (also .tsv, .txt and .gz), Excel, Parquet and GeoParquet, GeoJSON (also one feature per line), GPX, KML,
        GeoPackage, Shapefile, FlatGeobuf, a track of Geolife (.plt), any of these alone in a .zip file, or a folder of
        the Geolife or the cabspotting data. Rows of Spark stay on the cluster.
    person : str or array of labels, optional
        The person of each point: a column, or one label for each point. Each person has the whole budget. "row": each
        row is another person; released tables number them in a column of this name. Without it all points belong to
        one person and share the budget.
    protect : str or timedelta, optional
        What is hidden together; by default all points of a person. "1 day", or any length of time: any stretch of that
        length of a person's movements. "point": each single point. Less noise is needed to protect less: differences
        over a longer time are easier to detect.
    times : str, array or Series, optional
        With a length of time in `protect`, or with `thin`: the public time of each row, as a column or as values. It
        may be left out if the table has one column of times. Rows with an origin and a destination have two columns.
    thin : str, timedelta or number, optional
        Keep only the first row of each person in every interval of this length ("1 minute", or a number of seconds).
        Which rows these are depends on times alone.
    area : Area, str, or code of a projected system, optional
        Where the points are, from public knowledge: an area from `local`, or a text such as "37.77,-122.42,40km" that
        means the same; the name of a city, region or country; or the code or name of a projected system. Noise is
        added in the plane of this area. It may be left out if the data's own system is such a plane. The budget is per
        metre on the ground, so noise grows by the factor that the plane stretches.
    crs : coordinate system, as pyproj accepts it, optional
        The coordinate system of the data, where the data does not state it: 4326 for an array of longitudes and
        latitudes. Without one, columns of latitudes and longitudes are degrees of WGS 84, and an array is in metres.
        An array whose numbers could all be degrees is refused; "metres" says that it is in metres.
    lat, lon : str or list of str, optional
        The columns of latitudes and longitudes, where they are not recognised; with `crs` of a projected system, of
        northings and eastings. Lists name several points of a row, such as an origin and a destination.
    geometry : str, optional
        The column of a file that holds geometries as WKT, WKB or GeoJSON, or texts such as "37.77,-122.42", where it
        is not recognised.
    delimiter, decimal, encoding : str, optional
        The format of a CSV file, where it is not recognised: the separator of fields, the decimal mark, and the
        encoding (by default UTF-8 or, if the file is not valid UTF-8, Latin-1).
    names : list of str, or str, optional
        The names of the columns of a CSV file without a header, in their order; a text has commas between them.
    layer : str, optional
        The layer of a GeoPackage, or the sheet of an Excel file, with several.
    where : str, optional
        A condition on columns that selects rows before anything else, in SQL: "mode = 'bike'". It is public, and so
        are the columns in it, which need not be released.
    outside : {"refuse", "clamp", "drop"}
        What is done about points outside the area: "clamp" moves them to its edge first, which hides who was outside;
        "drop" removes rows with a point outside, which does not hide it.
    missing : {"refuse", "drop"}
        What is done about rows without a location: "drop" removes and counts them.
    pseudonyms : bool, str or Path
        With `person`: True replaces the labels of persons by random ones, which are forgotten. A path names a key
        file, which keeps them for the owner of the data and for later releases. Pseudonyms do not make people
        anonymous.
    overwrite : bool
        Whether files that exist are replaced by those that questions write with `to`, with their certificates;
        otherwise they are refused before anything is charged.
    sign : SigningKey, or path of a private key, optional
        The key that signs the certificates of files that are written; see `geoveil.verify`.
    progress : callable, optional
        Called from time to time with the share of a question's work that is done, from 0 to 1.
    confirm : callable, optional
        Called before points are written to a file and before anything is charged, with a list of `Concern` for the
        owner: empty, or one that says that the noise is large and what helps. It may raise an exception to stop the
        release. Without it they are warnings (`GeoveilWarning`).
    rng : numpy.random.Generator, optional
        For tests and experiments only, and releases say so; by default a cryptographic generator keyed by the
        operating system.

    Notes
    -----
    Every question takes exactly one budget: `hide`, a distance in metres that is hidden at 75%; `rho`, per square
    metre, for concentrated geo-privacy; or `epsilon`, per metre, for pure geo-privacy. A `CGP` or `GP` may be given in
    place of the number.

    n points of one person share the budget: noise grows with √n under CGP and with n under GP. So name the person of
    each point.

    In all examples `homes` are three places in San Francisco and `bay` is the area around it:
    ``bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)``.

    Examples
    --------
    >>> trips = pd.DataFrame({"user": ["ann", "bob"], "lat": [37.78, 37.76], "lon": [-122.41, -122.45]})
    >>> trips = gv.Locations(trips, person="user", area=bay)
    >>> trips
    Locations: 2 points of 2 persons
      area      50 km around 37.77, -122.42
      protects  all points of a person together
    >>> trips.points(hide=200).value.columns.tolist()
    ['user', 'lat', 'lon']
    """

    @steady()
    def __init__(
        self,
        source: LocationsLike | PathLike,
        *,
        person: Labels = None,
        protect: str | timedelta | None = None,
        times: Times = None,
        thin: Duration | None = None,
        area: AreaLike = None,
        crs: CrsLike = None,
        lat: CoordinateColumns = None,
        lon: CoordinateColumns = None,
        geometry: str | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        names: str | Sequence[str] | None = None,
        layer: str | None = None,
        where: str | None = None,
        outside: Outside = "refuse",
        missing: Missing = "refuse",
        pseudonyms: Pseudonyms = False,
        overwrite: bool = False,
        sign: KeyLike = None,
        progress: Progress | None = None,
        confirm: Callable[[Sequence[Concern]], None] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        reading = Reading(lat, lon, crs, geometry, delimiter, decimal, encoding, names, layer)
        settings = Settings(person, times, thin, area, outside, missing, where, pseudonyms)
        protected_metric(protect)
        self._protect, self._has_persons = protect, person is not None
        self._by_row = isinstance(person, str) and person == ROW
        self._source, self._overwrite, self._sign = source_of(rng), overwrite, signing_key(sign)
        self._progress: Progress = progress or (lambda share: None)
        self._confirm = confirm
        self._rows = _rows_of(source, reading, settings)

    # What follows are the questions: each is declared here and nowhere else.

    @steady()
    def points(
        self,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        keep: Columns = None,
        to: PathLike | None = None,
        order: Order = "public",
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release every point: places, or trajectories.

        Parameters
        ----------
        hide, rho, epsilon : optional
            The budget; give one of them.
        keep : list of columns or "all", optional
            Columns that are released unchanged, besides times and the column of persons. The others are removed, since
            they may reveal places; the release's `removed.columns` names them. "all" excludes columns whose names
            suggest places ("lat", "city", "zip_code") and refuses those that hold locations or follow them closely;
            `["all", "venue"]` names one of these to release it. Columns of geometries, bytes or nested values are
            never released.
        to : path, optional
            The file to be written, in the format of its ending, with its certificate beside it. Both appear at the
            end, whole, or not at all. A file of any size is released in batches; Spark writes a folder.
        order : {"public", "hidden"}
            "hidden": the released points of each person are sorted by their places, northings first, and have no
            times, so that nothing tells in which order they were visited. Not for lengths of time in `protect`, nor on
            Spark.
        method : {"best", "both"}
            "best" has the least noise known for the guarantee; "both" gives CGP and GP at once.
        key : str, optional
            In a session with a ledger: a name for the question, under which its answer is stored and found again.

        Returns
        -------
        Release
            Its value has the form of the data: a table of the same library, with released coordinates in the same
            columns; for a file that was written, its path. `error(beta)` bounds the largest error over a person's
            points, `error(beta, each=True)` that of any one point.

        Examples
        --------
        >>> walk = np.column_stack([np.arange(5) * 100.0, np.zeros(5)])
        >>> release = gv.Locations(walk).points(rho=5e-5)
        >>> release.value.shape
        (5, 2)
        >>> release
        Release of points: 5 points of one person
          guarantee  104 m hidden at 75% (CGP with ρ = 5e-05 per m²)
          mechanism  Gaussian of scale 223.7 m
          error      at most 678 m with probability 95%; a single point at most 548 m
          exact      yes
        >>> gv.Locations(homes, person=["ann", "bob", "eve"], area=bay).points(hide=100).value.crs.name
        'WGS 84'
        """
        asked = self._asked(hide, rho, epsilon, keep=keep, to=to, key=key)
        return self._rows.points(method, order, asked)

    @steady()
    def nearest(
        self,
        p: PlaceLike,
        k: int,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        locations: float | None = None,
        label: str | None = None,
        together: bool = False,
        to: PathLike | None = None,
        key: str | None = None,
    ) -> Release:
        """Find the k points nearest to a public place.

        The answer names points, not places. Looking up the places of the named points in the data and publishing them
        would be a leak: `locations` releases them too, with noise.

        Parameters
        ----------
        p : array, str or shapely Point
            The place, in the coordinate system of the data; or a GeoSeries of one Point in any system, or a text of
            latitude and longitude such as "37.77, -122.42".
        k : int
            The number of neighbours.
        hide, rho, epsilon, to, key : optional
            As for `points`.
        locations : float, optional
            The share of the budget that releases the places of the neighbours, as the release's `coords`.
        label : str, optional
            On Spark alone, where rows have no order and it is needed: the column whose values name the neighbours.
        together : bool
            Whether there is one answer about all persons, rather than one for each.

        Returns
        -------
        Release
            Its value is the positions of the neighbours, or the index labels of a frame, in the order found;
            `release.positions` holds positions in either case. `error(beta)` bounds how much farther they are than the
            true neighbours. `place_error(beta)` bounds the error of the places that `locations` releases.

        Examples
        --------
        >>> station = geopandas.GeoSeries.from_xy([-122.39], [37.78], crs=4326)
        >>> near = gv.Locations(homes, area=bay).nearest(station, 1, rho=1e-3)
        >>> len(near.value), round(near.error())
        (1, 83)
        """
        make = partial(requests.nearest, p=p, k=k, locations=locations)
        return self._answer(make, hide, rho, epsilon, together, label=label, to=to, key=key)

    @steady()
    def first_within(
        self,
        p: PlaceLike,
        radius: Length,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        label: str | None = None,
        together: bool = False,
        to: PathLike | None = None,
        key: str | None = None,
    ) -> Release:
        """Find the first point, in the order of the data, within a radius of a public place.

        Parameters
        ----------
        p : array or shapely Point
            The place, as for `nearest`.
        radius : float or str
            The radius in metres, or as a text such as "500m".
        hide, rho, epsilon, label, together, to, key : optional
            As for `nearest`.

        Returns
        -------
        Release
            Its value is the position (or index label) of the first visit, or None. The point found lies within
            radius + `error(beta)`, and no earlier one within radius - `error(beta)`.

        Examples
        --------
        >>> station = geopandas.GeoSeries.from_xy([-122.39], [37.78], crs=4326)
        >>> round(gv.Locations(homes, area=bay).first_within(station, 5_000, rho=1e-3).error())
        328
        """
        make = partial(requests.first_within, p=p, radius=radius)
        return self._answer(make, hide, rho, epsilon, together, label=label, ordered=True, to=to, key=key)

    @steady()
    def distance(
        self,
        p: ShapeLike,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        fn_error: float | None = None,
        together: bool = False,
        count: Count = "public",
        to: PathLike | None = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the distance from a public place, line or area to the nearest of the points.

        Parameters
        ----------
        p : array or shapely geometry
            The place, line or area, in the coordinate system of the data; or a GeoSeries of one in any system.
        hide, rho, epsilon, to, method, key : optional
            As for `points`.
        fn_error : float, optional
            The largest error in metres of the distance to a line or an area, as GEOS computes it; see `answer`. Nobody
            has proved a bound; 1e-6 is thousands of roundings of coordinates below 10^7 m. The distance to a place is
            exact.
        together : bool
            As for `nearest`.
        count : {"public", "hidden"}
            As for `center`.

        Returns
        -------
        Release
            Its value is in metres of the plane, at least 0; `error(beta)` bounds the error from the length on the
            ground.

        Examples
        --------
        >>> road = shapely.LineString([(-122.40, 37.70), (-122.39, 37.80)])
        >>> gv.Locations(homes, area=bay).distance(road, rho=1e-4).value >= 0
        True
        """
        make = partial(requests.distance, p=p, fn_error=fn_error, method=method, count=count)
        return self._answer(make, hide, rho, epsilon, together, to=to, key=key)

    @steady()
    def hull(
        self,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        k: int | Literal["optimal"] = "optimal",
        extent: Length = EXTENT,
        together: bool = False,
        count: Count = "public",
        to: PathLike | None = None,
        key: str | None = None,
    ) -> Release:
        """Release the convex hull of the points, in two or more dimensions.

        Noise is added to the support function: how far the points reach in k directions.

        Parameters
        ----------
        hide, rho, epsilon, to, key : optional
            As for `points`.
        k : int or "optimal"
            The number of directions, which is even; "optimal" minimises the error bound.
        extent : float
            A public guess of the extent of the points in metres. The number of directions is chosen from it under
            `epsilon`, and in more than two dimensions. A wrong guess costs accuracy, never privacy.
        together : bool
            As for `nearest`.
        count : {"public", "hidden"}
            As for `center`.

        Returns
        -------
        Release
            In the plane a shapely Polygon (a Point or LineString if the noise left no more). In more dimensions an
            (m, d) array whose convex hull is the answer; in more than five, unless the noise is small, half-spaces:
            `directions` and `offsets`. `error(beta)` bounds the Hausdorff distance to the true hull.

        Examples
        --------
        >>> gv.Locations(homes, area=bay).hull(rho=1e-3).value.geom_type
        'Polygon'
        """
        make = partial(requests.hull, k=k, extent=extent, count=count)
        return self._answer(make, hide, rho, epsilon, together, to=to, key=key)

    @steady()
    def answer(
        self,
        fn: Function | Lipschitz,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        lipschitz: float | None = None,
        size: int = 1,
        fn_error: float | None = None,
        together: bool = False,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Answer the user's own Lipschitz question.

        Parameters
        ----------
        fn : callable or Lipschitz
            A function of an (n, d) array in metres that returns a number or a vector. The guarantee is only as good as
            the claim that ‖fn(x) - fn(x')‖ ≤ lipschitz · dist(x, x').
        hide, rho, epsilon, method, key : optional
            As for `points`.
        lipschitz : float, optional
            The constant; a `Lipschitz` carries its own.
        size : int
            The number of values that `fn` returns.
        fn_error : float, optional
            The largest distance in metres between what `fn` computes in doubles and the function it stands for: 0 if
            it does not round, as a largest coordinate does not. The guarantee then holds as if all inputs were
            2·fn_error/lipschitz farther from each other, and the release is exact. Without it the release states that
            it is not. Points in degrees reach `fn` as doubles in metres; the release states how much these are
            rounded.
        together : bool
            As for `nearest`.

        Returns
        -------
        Release
            Its value is a number or a vector.

        Examples
        --------
        >>> x = np.array([[0.0, 0.0], [3000.0, 4000.0]])
        >>> release = gv.Locations(x).answer(lambda x: np.linalg.norm(x[-1] - x[0]), lipschitz=2, rho=1e-4)
        >>> round(release.error(0.05))
        277
        """
        stated = self._metric(together=together)
        own = requests.lipschitz_function(fn, lipschitz, stated, rho, epsilon)
        make = partial(requests.own_function, fn=own, size=size, fn_error=fn_error, method=method)
        return self._answer(make, hide, rho, epsilon, together, key=key, metric=own.metric)

    @steady()
    def center(
        self,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        together: bool = False,
        count: Count = "public",
        to: PathLike | None = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the middle of the bounding box: √d-Lipschitz.

        Parameters
        ----------
        hide, rho, epsilon, to, method, key : optional
            As for `points`.
        together : bool
            As for `nearest`.
        count : {"public", "hidden"}
            "hidden": neither the release nor its noise depends on the number of a person's points except through their
            places, and neither states it. The guarantee then holds between sets of any sizes. Not for other units than
            all points of a person in `protect`.

        Returns
        -------
        Release
            Its value is a place: d coordinates, or a shapely Point.

        Examples
        --------
        >>> gv.Locations(homes, area=bay).center(rho=1e-4).value.geom_type
        'Point'
        >>> release = gv.Locations(homes, area=bay).center(rho=1e-4, count="hidden")
        >>> release.n, release.certificate()["n"]
        (None, None)
        """
        make = partial(requests.summary, name="center", method=method, count=count)
        return self._answer(make, hide, rho, epsilon, together, to=to, key=key)

    @steady()
    def mean(
        self,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        together: bool = False,
        count: Count = "public",
        to: PathLike | None = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the mean of the points: 1-Lipschitz.

        Parameters
        ----------
        hide, rho, epsilon, together, count, to, method, key : optional
            As for `center`.

        Returns
        -------
        Release
            Its value is a place: d coordinates, or a shapely Point.

        Examples
        --------
        >>> round(gv.Locations(homes, area=bay).mean(rho=1e-4).error())
        173
        """
        make = partial(requests.summary, name="mean", method=method, count=count)
        return self._answer(make, hide, rho, epsilon, together, to=to, key=key)

    @steady()
    def median(
        self,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        together: bool = False,
        count: Count = "public",
        to: PathLike | None = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the median of each coordinate: √d-Lipschitz.

        Parameters
        ----------
        hide, rho, epsilon, together, count, to, method, key : optional
            As for `center`.

        Returns
        -------
        Release
            Its value is a place: d coordinates, or a shapely Point.

        Notes
        -----
        The geometric median is not offered: moving points by a metre can move it by any distance.

        Examples
        --------
        >>> gv.Locations(homes, area=bay).median(rho=1e-4).value.geom_type
        'Point'
        """
        make = partial(requests.summary, name="median", method=method, count=count)
        return self._answer(make, hide, rho, epsilon, together, to=to, key=key)

    @steady()
    def bounds(
        self,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        together: bool = False,
        count: Count = "public",
        to: PathLike | None = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the bounding box: √(2d)-Lipschitz.

        Parameters
        ----------
        hide, rho, epsilon, together, count, to, method, key : optional
            As for `center`.

        Returns
        -------
        Release
            Its value is 2d numbers, the smallest coordinates first. In degrees, longitudes continue beyond 180 across
            the antimeridian (179.9 to 180.1). `error(beta)` bounds the largest error of any of them.

        Examples
        --------
        >>> west, south, east, north = gv.Locations(homes, area=bay).bounds(rho=1e-4).value
        >>> bool(-123 < west < east < -122)
        True
        """
        make = partial(requests.summary, name="bounds", method=method, count=count)
        return self._answer(make, hide, rho, epsilon, together, to=to, key=key)

    @steady()
    def radius(
        self,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        together: bool = False,
        count: Count = "public",
        to: PathLike | None = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the radius of the smallest ball that contains the points: 1-Lipschitz.

        Parameters
        ----------
        hide, rho, epsilon, together, count, to, method, key : optional
            As for `center`.

        Returns
        -------
        Release
            Its value is in metres of the plane, at least 0; `error(beta)` bounds the error from the length on the
            ground.

        Examples
        --------
        >>> round(gv.Locations(homes, area=bay).radius(rho=1e-4).error())
        139
        """
        make = partial(requests.summary, name="radius", method=method, count=count)
        return self._answer(make, hide, rho, epsilon, together, to=to, key=key)

    @steady()
    def radius_of_gyration(
        self,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        together: bool = False,
        count: Count = "public",
        to: PathLike | None = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the root mean square distance of the points from their mean: 1-Lipschitz.

        Parameters
        ----------
        hide, rho, epsilon, together, count, to, method, key : optional
            As for `center`.

        Returns
        -------
        Release
            As that of `radius`.

        Examples
        --------
        >>> round(gv.Locations(homes, area=bay).radius_of_gyration(rho=1e-4).error())
        139
        """
        make = partial(requests.summary, name="radius_of_gyration", method=method, count=count)
        return self._answer(make, hide, rho, epsilon, together, to=to, key=key)

    @steady()
    def diameter(
        self,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        together: bool = False,
        count: Count = "public",
        to: PathLike | None = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the largest distance between two of the points: 2-Lipschitz.

        Parameters
        ----------
        hide, rho, epsilon, together, count, to, method, key : optional
            As for `center`.

        Returns
        -------
        Release
            As that of `radius`.

        Examples
        --------
        >>> round(gv.Locations(homes, area=bay).diameter(rho=1e-4).error())
        277
        """
        make = partial(requests.summary, name="diameter", method=method, count=count)
        return self._answer(make, hide, rho, epsilon, together, to=to, key=key)

    @steady()
    def heatmap(
        self,
        cell: Grid | Length,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        cap: float | None = None,
        bandwidth: Length | None = None,
        every: Every = None,
        to: PathLike | None = None,
        method: Method = "best",
        key: str | None = None,
    ) -> CrowdRelease:
        """Release a heat map of many persons: how many are expected in each cell of a grid.

        Noise is added to the whole map once, and not for each person, so a map of a crowd is far more accurate than
        the noisy points of its persons.

        Parameters
        ----------
        cell : float, str or Grid
            The side of a cell in metres or as a text such as "1km", for a grid of the whole area; or the cells, chosen
            from public knowledge, in the coordinate system of the data if that is a plane, else in metres of the
            area's plane.
        hide, rho, epsilon, to, method, key : optional
            As for `points`.
        cap : float, optional
            Count visits, and at most this many of each person: a person with more is scaled down. By default each
            person counts as one, spread over their points.
        bandwidth : float, optional
            The standard deviation in metres by which places are blurred before noise is added: a wider kernel needs
            less noise. By default it follows from public numbers: the budget, the number of persons, and the size and
            number of cells, those of all slices together.
        every : str or timedelta, optional
            Slices of time: a length such as "1 hour", "hour of day" or "day of week" (UTC). They cost no budget:
            noise on each slice is as large as that on one map of the same blur. A person counts as one over all slices
            together.

        Returns
        -------
        CrowdHeatMap
            Its value is an array of the grid's shape, rows from south to north, with slices in front: not negative,
            and adding up to at most the number of persons. With `protect="1 day"` a person counts as one for each day.
            `noisy` holds the unprocessed numbers, `error(beta)` bounds their noise, `blur` is their blur in metres,
            `zcdp` the ordinary differential privacy for replacing one person. `to_frame()` has a polygon for each
            cell; `to_file("heat.tif")` writes a GeoTIFF.

        Notes
        -----
        Each point adds the values of a cubic B-spline at the cells around it; the sum is Lipschitz, and binned counts
        are not. Maximum entropy then removes blur and noise together, at no cost.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> person = np.repeat(np.arange(1000), 20)
        >>> visits = rng.normal(0, 2000, size=(1000, 2))[person] + rng.normal(0, 300, size=(20_000, 2))
        >>> grid = gv.Grid((-6000, -6000, 6000, 6000), cell=1000)
        >>> heat = gv.Locations(visits, person=person, rng=rng).heatmap(grid, rho=5e-5)
        >>> truth = grid.count(visits) / 20
        >>> bool(abs(heat.value - truth).sum() < 0.2 * truth.sum())
        True
        """
        make = partial(crowd_requests.heatmap, cell, cap=cap, bandwidth=bandwidth, every=every, method=method)
        asked = self._asked(hide, rho, epsilon, together=True, to=to, key=key)
        return self._rows.crowd(make, asked, timed=every is not None)

    @steady()
    def counts(
        self,
        regions: RegionsLike,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        cap: float | None = None,
        bandwidth: Length | None = None,
        every: Every = None,
        to: PathLike | None = None,
        method: Method = "best",
        key: str | None = None,
    ) -> CrowdRelease:
        """Release how many persons are expected in each of several public regions, and the error of each number.

        Parameters
        ----------
        regions : GeoDataFrame, GeoSeries, list of polygons, path or str
            The regions, which are public. They may overlap, which needs more noise. A path is that of a file of
            polygons; their names are a column `name`, if it has a different one for each. "h3:8" is the cells of H3
            of this resolution in the area.
        hide, rho, epsilon, cap, every, to, method, key : optional
            As for `heatmap`.
        bandwidth : float, optional
            As for `heatmap`; by default it follows from the budget, the number of persons, and the number and size of
            regions.

        Returns
        -------
        CrowdCounts
            Its value is a frame with the regions, the expected number in each, its 95% error (an estimate that covers
            noise and blur), and the unprocessed number. See `heatmap`.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> places = rng.uniform(0, 4000, size=(2000, 2))
        >>> halves = geopandas.GeoSeries([shapely.box(0, 0, 1000, 4000), shapely.box(1000, 0, 4000, 4000)], ["a", "b"])
        >>> counted = gv.Locations(places, person=np.arange(2000), rng=rng).counts(halves, rho=5e-5).value
        >>> [round(number, -2) for number in counted.persons]
        [500.0, 1500.0]
        """
        make = partial(crowd_requests.counts, regions, cap=cap, bandwidth=bandwidth, every=every, method=method)
        asked = self._asked(hide, rho, epsilon, together=True, to=to, key=key)
        return self._rows.crowd(make, asked, timed=every is not None)

    @steady()
    def flows(
        self,
        between: Grid | Length | RegionsLike,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        trip: Labels | Locations = None,
        cap: float | None = None,
        bandwidth: Length | None = None,
        every: Every = None,
        to: PathLike | None = None,
        key: str | None = None,
    ) -> CrowdRelease:
        """Release how many persons are expected to go from one cell or region to another.

        Rows have an origin and a destination each; or they are points of trips, which `trip` names; or the locations
        are origins, and `trip` are the destinations.

        Parameters
        ----------
        between : float, str, Grid, GeoDataFrame, GeoSeries, list of polygons or path
            The cells between which trips are counted, as for `heatmap`; or public regions, as for `counts`.
        hide, rho, epsilon, cap, every, to, key : optional
            As for `heatmap`.
        trip : str, array of labels, or Locations, optional
            The trip of each point: its first and its last point, in order of time, are origin and destination. Or the
            destinations, in the order of the origins, as locations in memory in the same area.
        bandwidth : float, optional
            As for `heatmap`; between regions, by default a quarter of the side of a typical one.

        Returns
        -------
        CrowdFlows
            Its value is an array of origins × destinations; cells are numbered from the south-west. `to_frame()` and
            files list the flows that are above noise, from the largest to the smallest, as lines between the middles
            of cells or regions; `all_flows()` lists all. See `heatmap`.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> origins = rng.normal(500, 100, size=(1000, 2))
        >>> grid = gv.Grid((0, 0, 4000, 1000), cell=1000)
        >>> trips = gv.Locations(origins, person=np.arange(1000), rng=rng)
        >>> ends = gv.Locations(origins + [2000, 0])
        >>> largest = trips.flows(grid, trip=ends, rho=1e-4).to_frame().iloc[0]
        >>> float(largest.from_x), float(largest.to_x), bool(largest.persons > 900)
        (500.0, 2500.0, True)
        """
        self._check_named(trip, key)
        make = partial(crowd_requests.flows, between, cap=cap, bandwidth=bandwidth, every=every)
        asked = self._asked(hide, rho, epsilon, together=True, to=to, key=key)
        return self._rows.crowd(
            make, asked, timed=every is not None, trips=Trips(trip._rows if isinstance(trip, Locations) else trip)
        )

    @steady()
    def session(
        self,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        ledger: Ledger | None = None,
        subject: str | None = None,
        label: str | None = None,
        short: Short = "refuse",
    ) -> Session:
        """Return the same locations with an account: all answers together keep its total.

        Parameters
        ----------
        hide, rho, epsilon : optional
            The total for each person; give one of them. With a ledger they may be left out: the limit is then the
            budget that is left in the accounts.
        ledger : Ledger, optional
            The ledger that keeps accounts between processes and days.
        subject : str, optional
            With a ledger: the name of the account. With persons, each person's label is the name of an account, after
            this name and a slash if it is given.
        label : str, optional
            With a ledger: a name of the data, such as "march 2026". The same question about the same data then gets
            the same answer, at no cost, as long as the ledger exists.
        short : {"refuse", "skip"}
            With a ledger: whether persons without enough budget stop a question, or are left out of its answer and
            listed as `removed.persons`.

        Examples
        --------
        >>> walk = np.column_stack([np.arange(50) * 100.0, np.zeros(50)])
        >>> with gv.Locations(walk).session(rho=1e-4) as s:
        ...     center = s.center(rho=2e-5)
        ...     near = s.nearest((0, 0), 3, rho=5e-5)
        ...     print(s.spent, s.remaining)
        0.00007 0.00003
        """
        from geoveil.locations.session import Session

        if ledger is not None and self._by_row:
            remedy = "A ledger knows persons by their names, and rows have none: name a column of persons."
            raise InvalidParameter("person", ROW, "left out with a ledger", remedy)
        return Session(
            self, hide=hide, rho=rho, epsilon=epsilon, ledger=ledger, subject=subject, label=label, short=short
        )

    @steady()
    def frame(self, *, every_row: bool = False) -> geopandas.GeoDataFrame:
        r"""Return the true locations of a file as a frame, for its owner.

        Parameters
        ----------
        every_row : bool
            Whether rows without a location are kept, whatever `missing` says.

        Returns
        -------
        geopandas.GeoDataFrame
            The locations, in the plane of the area if one was stated, and all columns except those of coordinates,
            bytes, nested values and other geometries. The index is the position of a row in the file.

        Examples
        --------
        >>> path = folder / "trips.csv"
        >>> _ = path.write_text("user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n")
        >>> gv.Locations(path).frame().columns.tolist()
        ['user', 'geometry']
        """
        return self._rows.frame(every_row=every_row)

    @steady()
    def hide_places(
        self,
        places: PlacesLike,
        *,
        centres: PathLike,
        hide: Hide = None,
        rho: Rho = None,
        margin: float | str | None = None,
        gap: str | timedelta | float | None = None,
        shorten: str | float | None = None,
        keep: Sequence[str] | None = None,
        noise: Rho = None,
        near: Near | None = None,
    ) -> ZonesRelease:
        """Release tracks as they are, except around places that are hidden: those inside public discs are left out.

        The centre of a disc is drawn at random once for each place, and kept: every later release has the same disc.
        A new disc for every release would average out, and one around the place itself would point at it.

        Parameters
        ----------
        places : str, pair, frame, path, or a list of these
            "47.37,8.54" or (47.37, 8.54), a latitude and a longitude; a frame of points; or a file of them. A place
            within 100 m of one that was hidden before is taken for that one: housemates share a disc. A new one that
            no point is near is refused.
        centres : path
            The owner's file of centres, made if there is none yet. It says where the places are: keep it like a key.
        hide : float or str, optional
            The distance in metres that is hidden at 75%; the centre is uniform in a disc around the place.
        rho : float or CGP, optional
            In place of `hide`, where budgets add up: the centre has Gaussian noise, redrawn if it is too far away. In
            a session this is charged, once for each centre.
        margin : float or str, optional
            Metres around a place within which nothing that happens changes what is published; by default 250.
        gap : str, timedelta or number, optional
            A new piece of track begins where the next published point is later than that; by default ten minutes.
        shorten : float or str, optional
            What else is taken off the ends of pieces near a disc: a length such as "200 m", or everything up to where
            "2 tracks" run together. It makes it harder to follow roads to the place; no theorem says how much.
        keep : list of columns, optional
            Columns that are published beside positions, times and persons. Name none that was computed from whole
            tracks, such as a distance from their start.
        noise : float or CGP, optional
            The ρ of noise that published points get as well: outside a guarantee for each point, inside nothing.
        near : {"same", "another"}, optional
            What a place 100 to 300 m from a known one is: that one, declared less exactly, or another one, which gets
            a disc of its own. Without it such a place is refused. How many discs there are is public.

        Returns
        -------
        ZonesRelease
            Its value has the form of the data, with the rows outside; its `pieces` say which belong together.

        Examples
        --------
        >>> ride = pd.DataFrame({"lat": 47.37 + np.arange(200) * 1e-4, "lon": 8.54, "pulse": 120})
        >>> tracks = gv.Locations(ride, area="47.37,8.54,50km")
        >>> release = tracks.hide_places("47.37,8.54", hide=200, centres=folder / "centres.json")
        >>> release.value.columns.tolist(), bool(len(release.value) < 170)
        (['lat', 'lon'], True)
        >>> again = tracks.hide_places("47.37,8.54", hide=200, centres=folder / "centres.json")
        >>> again.zones == release.zones
        True
        """
        from geoveil.locations.hiding import hidden_places
        from geoveil.zones import MARGIN, Hiding, Rules, places_of

        hiding, rules = Hiding.of(hide, rho, MARGIN if margin is None else margin), Rules.of(gap, shorten)
        return hidden_places(self, places_of(places), Path(centres), hiding, rules, keep, noise, near)

    def _charging(self) -> ChargedCentres | None:
        """Return who is charged for the centres of zones: nobody, outside of a session."""
        return None

    def _of_rows(self, rows: Rows, public: Mapping[str, object]) -> Self:
        """Return these locations with some of their rows, and the public facts that say which."""
        some = copy.copy(self)
        some._rows = rows
        return some

    def check(
        self, *, hide: Hide = None, rho: Rho = None, epsilon: Epsilon = None, within: float | None = None
    ) -> Advice:
        """Say what the data can be used for, from its public numbers alone. Nothing is released or charged.

        Parameters
        ----------
        hide, rho, epsilon : optional
            The budget that is planned; by default 100 m are hidden. Errors for 100 m, 500 m and 2 km are told as well.
        within : float, optional
            The largest error that is of use, in metres or, for counts, persons: then the best settings are those that
            protect most and keep to it.

        Returns
        -------
        Advice
            Its `uses`, the best first, have the purpose, the verdict, the error at each level and the best settings
            found: what is protected, thinning, smoothing, and cells. `code` has the line of Python that releases the
            data for it.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> crowd = geopandas.GeoSeries.from_xy(*rng.normal([[-122.42], [37.77]], 0.02, (2, 4000)), crs=4326)
        >>> advice = gv.Locations(crowd, person="row", area="San Francisco").check(hide=200)
        >>> use = advice.uses[0]
        >>> use.purpose.wish, use.best.verdict, advice.code(use)
        ('publish a map of where people are', 'good', 'locations.heatmap(800, hide=200)')
        """
        from geoveil.advice import advise

        hide = LEVELS["low"] if hide is rho is epsilon is None else hide
        guarantee = promise(hide, rho, epsilon, None)
        if within is not None and not within > 0:
            remedy = "It is the largest error that is of use, in metres or persons."
            raise InvalidParameter("within", within, "positive", remedy)
        return advise(self._rows.public_rows(self._protect, self._progress), guarantee, within)

    @steady()
    def attack(
        self,
        released: Release | ZonesRelease | Sequence[Release] | Locations | LocationsLike | PathLike,
        *,
        motion: str | Motion | None = None,
        places: PlacesLike | None = None,
        prior: geopandas.GeoSeries | ArrayLike | None = None,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
    ) -> Attacks:
        """Attack what any tool made of these locations, and say how near an attacker comes. For their owner alone.

        Nothing is released or charged. The outcome holds errors from true places: do not share it.

        Parameters
        ----------
        released : Release, path, table, frame, array or Locations
            What was released: of geoveil, or of any other tool; as `Locations` with options of its own. Points are
            compared row by row, or by person and time where rows differ. Tracks that `hide_places` or another tool has
            cut; or a list of answers of `distance`, or of `nearest` with `together`, about several public places.
        motion : {"person", "walking", "cycling", "car", "taxi"} or Motion, optional
            How people move, for the attacker who smooths tracks; by default "person".
        places : as for `hide_places`, optional
            The hidden places, for tracks that were cut around them.
        prior : GeoSeries of points or (m, 2) array, optional
            Public places at which true points can be, such as addresses; an array is in the system of the data.
        hide, rho, epsilon : optional
            What another tool claims to guarantee for all points of a person; the guarantee of a `Release` is known.

        Returns
        -------
        Attacks
            For each attack how far off the attacker is, for whom it is worst, and what the guarantee allows: as a
            table, `save("attacks.html")`, `save("attacks.png")`, `data()` and `to_frame()`. `beaten` names attacks
            that the guarantee does not allow.

        Examples
        --------
        >>> hours = pd.date_range("2026-05-04", periods=48, freq="h")
        >>> walk = pd.DataFrame({"time": hours, "lat": 37.77, "lon": -122.42})
        >>> truth = gv.Locations(walk, area=bay)
        >>> found = truth.attack(truth.points(hide=200))
        >>> [attack.name for attack in found]
        ['released point', 'averaging', 'smoothing', 'home', 'work']
        >>> found.beaten
        ()
        """
        from geoveil.locations.attacking import attacked
        from geoveil.zones import places_of

        hidden = [] if places is None else places_of(places)
        claimed = None if hide is rho is epsilon is None else promise(hide, rho, epsilon, None)
        return attacked(self, released, motion, hidden, prior, claimed)

    # How a question is asked: the budget becomes a guarantee, and the rows answer.

    def _answer(
        self, make: MakeQuestion, hide: Hide, rho: Rho, epsilon: Epsilon, together: bool, **how: Any
    ) -> Release:
        """Answer a question about each person, or about all together."""
        return self._rows.answer(make, self._asked(hide, rho, epsilon, together=together, **how))

    def _asked(
        self,
        hide: Hide,
        rho: Rho,
        epsilon: Epsilon,
        *,
        together: bool = False,
        to: PathLike | None = None,
        key: str | None = None,
        metric: Metric | None = None,
        **how: Any,
    ) -> Asked:
        """Return how a question is asked, with its guarantee."""
        stated = self._metric(together=together) if metric is None else metric
        return Asked(
            guarantee=promise(hide, rho, epsilon, stated),
            charger=self._charger,
            source=self._source,
            together=together,
            key=key,
            stored=key is not None and self._is_stored(key),
            skips=self._skips,
            output=None if to is None else OutputFile(to, self._overwrite, self._sign),
            progress=self._progress,
            confirm=self._confirm,
            **how,
        )

    def _metric(self, *, together: bool) -> Metric | None:
        """Return the metric of what is hidden together; None if the budget's own metric holds."""
        return protected_metric(self._protect, crowd=together and self._has_persons)

    def _charger(self, labels: Iterable[object] | None) -> Charger:
        """Return who is charged for a question about these persons: nobody, outside of a session."""
        return NoCharger()

    #: Whether persons without enough budget are left out, as a session may say.
    _skips = False

    def _is_stored(self, key: str) -> bool:
        """Return whether a ledger holds the answer of this name; refuse a name outside of a session with a ledger."""
        remedy = Message("Ask in a session with a ledger: {locations.session}.")
        raise InvalidParameter("key", key, "left out without a ledger", remedy)

    def _check_named(self, trip: Labels | Locations, key: str | None) -> None:
        """Refuse destinations that a session's name of the data does not cover; there is none outside of a session."""

    def _card(self) -> tuple[str, CardRows]:
        metric, area = self._metric(together=False), self._rows.area
        rows = [
            ("area", "metres without a coordinate system" if area is None else area.name),
            ("protects", "all points of a person together" if metric is None else protected(metric)),
        ]
        return f"Locations: {self._rows.described}", rows


def _rows_of(source: LocationsLike | PathLike, reading: Reading, settings: Settings) -> Rows:
    """Return the rows of any source."""
    if isinstance(source, str | os.PathLike):
        from geoveil.locations.file import FileRows

        return FileRows(Path(source), reading, settings)
    if type(source).__module__.startswith("pyspark."):
        from geoveil.spark.rows import SparkRows

        return SparkRows(source, reading, settings)
    from geoveil.locations.memory import MemoryRows

    return MemoryRows(source, reading, settings)
