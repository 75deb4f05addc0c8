"""One budget for many questions about the same data."""

from __future__ import annotations

from decimal import Decimal
from types import TracebackType
from typing import Any, Literal, Self

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
    Progress,
    Pseudonyms,
    RegionsLike,
    Rho,
    ShapeLike,
    Short,
    Times,
    UnitLike,
)
from geoveil.answering import crowd_requests, requests
from geoveil.answering.charging import AccountCharger, LedgerCharger, SessionCharger, account_names, check_ledger
from geoveil.answering.crowd import CrowdInquiry, CrowdQuestion, Every
from geoveil.answering.crowd_sources import CrowdSource
from geoveil.answering.intake import Intake, take_in
from geoveil.answering.pipeline import answer, ask
from geoveil.answering.units import Unit, unit_of
from geoveil.arithmetic import steady
from geoveil.budget import Account, Ledger, price
from geoveil.cards import Card, Rows
from geoveil.errors import BudgetExceeded, InvalidParameter, LedgerError, Message
from geoveil.geo import AreaLike
from geoveil.mechanisms import Lipschitz
from geoveil.noise import source_of
from geoveil.postprocess.grid import Grid
from geoveil.privacy import Duration, Guarantee, as_metric, dist_inf, exact, promise
from geoveil.queries import EXTENT
from geoveil.release import CrowdRelease, Release
from geoveil.wording import protected
from geoveil.words import counted

__all__ = ["Session"]


class Session(Card):
    """Questions about the same data that share one budget.

    Parameters
    ----------
    x : array, table, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points. They are checked once, now.
    rho, epsilon : optional
        The total budget; give one of the two. With a ledger both may be left out: the limit is then the budget that is
        left in the subject's account.
    metric : {"inf", "2", "1"}, default "inf"
        The metric of the total, and of all questions.
    by : str or array of labels, optional
        The person of each point. The total is then for each person, and so is every answer.
    unit : str, timedelta, labels or tuple, optional
        What is hidden together, in all questions: "1 day", "point"; or, for answers about all persons
        together, the column or the labels of persons, or ("user", "1 day"). As for `points`.
    times, thin : optional
        As for `points`.
    ledger : Ledger, optional
        The ledger that keeps the account between processes and days.
    subject : str, optional
        The name of the account. With `by`, each person's label is the name of an account, after this name and a slash
        if it is given.
    label : str, optional
        A name of the data, such as "march 2026". The same question about the same data then gets the same answer, at
        no cost, as long as the ledger exists.
    short : {"refuse", "skip"}
        With `by` and a ledger: whether persons without enough budget stop a question, or are left out of its answer
        and listed as `removed.persons`.
    rng, lat, lon, area, crs, outside, missing, where, pseudonyms : optional
        As for `points`; all answers of a session have the same pseudonyms.
    progress : callable, optional
        Called from time to time with the share of persons for whom a question has been answered, from 0 to 1.

    Notes
    -----
    Budgets may be chosen from earlier answers: all answers together keep the total (docs/do/budgets.md). A question is
    checked, then charged, and only then uses the data; a charge is never refunded.

    Examples
    --------
    >>> import numpy as np
    >>> import geoveil as gv
    >>> walk = np.column_stack([np.arange(50) * 100.0, np.zeros(50)])
    >>> with gv.Session(walk, rho=1e-4) as s:
    ...     center = s.center(rho=2e-5)
    ...     near = s.nearest((0, 0), k=3, rho=5e-5)
    ...     print(s.spent, s.remaining)
    0.00007 0.00003
    >>> s.hull(rho=5e-5)
    Traceback (most recent call last):
    ...
    geoveil.errors.BudgetExceeded: The budget does not suffice: 0.00005 was asked for, 0.00003 is left. \
Nothing was charged or released. Give a smaller budget.
    """

    @steady()
    def __init__(
        self,
        x: Locations,
        *,
        rho: Rho = None,
        epsilon: Epsilon = None,
        metric: MetricLike = None,
        by: Labels = None,
        unit: UnitLike = None,
        times: Times = None,
        thin: Duration | None = None,
        ledger: Ledger | None = None,
        subject: str | None = None,
        label: str | None = None,
        short: Short = "refuse",
        rng: np.random.Generator | None = None,
        lat: CoordinateColumns = None,
        lon: CoordinateColumns = None,
        area: AreaLike = None,
        crs: CrsLike = None,
        outside: Outside = "refuse",
        missing: Missing = "refuse",
        where: str | None = None,
        pseudonyms: Pseudonyms = False,
        progress: Progress | None = None,
    ) -> None:
        asked = unit_of(unit, metric, by=by)
        persons = asked.persons if by is None else by
        check_ledger(ledger, by=persons, subject=subject, label=label, short=short)
        self._data = take_in(
            x,
            by=by,
            unit=asked,
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
        self._source, self._label = source_of(rng), label
        #: How the destinations of trips are read: as the points are.
        self._reading: dict[str, Any] = {"lat": lat, "lon": lon, "outside": outside, "missing": missing}
        #: The questions that were answered, in their order.
        self._answered: list[str] = []
        self._progress: Progress = progress or (lambda share: None)
        if ledger is None:
            self.total: Guarantee = promise(rho, epsilon, asked.metric)
            self._charger: SessionCharger = AccountCharger(Account(self.total))
            return
        people = self._data.people or self._data.crowd
        accounts = account_names(subject, None if people is None else people.labels)
        limit = None if rho is None and epsilon is None else Account(promise(rho, epsilon, asked.metric))
        account = ledger.total(accounts[0])
        if limit is None and metric is not None and as_metric(metric) != account.metric:
            allowed = f"{account.metric.name!r}, the metric of the account"
            raise InvalidParameter("metric", metric, allowed, "Leave it out.")
        self.total = self._total(account, asked) if limit is None else limit.total
        self._charger = LedgerCharger(
            ledger,
            accounts,
            short=short,
            label=label,
            subject=subject,
            persons=people is not None,
            account=limit,
        )

    @staticmethod
    def _total(account: Guarantee, asked: Unit) -> Guarantee:
        """Return the guarantee of all answers together, if the limit is what an account has left.

        The account of a person is about that person alone; an answer about a crowd protects each person in it.
        """
        if asked.metric is None:
            return account
        metric = as_metric(asked.metric)
        if account.metric not in (metric, metric.of_one_person):
            allowed = f"that of the account, {account.metric}, or given with a limit for this unit"
            remedy = Message("Leave {unit} out; or give {rho} or {epsilon}, and questions are charged at their price.")
            raise InvalidParameter("unit", metric.name, allowed, remedy)
        return account.under_unit(metric)

    def _ask(
        self,
        question: requests.Question,
        rho: Rho,
        epsilon: Epsilon,
        key: str | None,
        keep: Columns = None,
    ) -> Release:
        """Ask a question about the session's data, charged to its budget."""
        release = ask(
            self._data,
            question,
            promise(rho, epsilon, self.total.metric),
            self._source,
            charger=self._charger,
            key=key,
            keep=keep,
            progress=self._progress,
        )
        self._answered.append(release.query)
        return release

    @steady()
    def points(
        self,
        *,
        keep: Columns = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release every point.

        Parameters
        ----------
        keep : list of columns or "all", optional
            Columns of a frame that are released unchanged, as for `geoveil.points`.
        rho, epsilon : optional
            The budget of this question; give one of the two.
        method : {"best", "paper", "both"}
            The algorithm, as for `geoveil.points`.
        key : str, optional
            With a ledger: a name for the question, under which its answer is stored and found again.

        Returns
        -------
        Release
            As that of `geoveil.points`.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> session.points(rho=1e-4).value.geom_type.tolist()
        ['Point', 'Point', 'Point']
        """
        return self._ask(requests.points(method), rho, epsilon, key, keep)

    @steady()
    def nearest(
        self,
        p: PlaceLike,
        *,
        k: int,
        locations: float | None = None,
        gamma0: float = 0.0,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Find the k points nearest to a public place.

        Parameters
        ----------
        p : array or shapely Point
            The place, in the coordinate system of the data; or a GeoSeries of one Point in any system.
        k : int
            The number of neighbours.
        locations : float, optional
            The share of the budget that releases the places of the neighbours.
        gamma0 : float
            The paper's γ0 in metres.
        rho, epsilon, method, key : optional
            As for `Session.points`.

        Returns
        -------
        Release
            As that of `geoveil.nearest`.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> station = geopandas.GeoSeries.from_xy([-122.39], [37.78], crs=4326)
        >>> near = session.nearest(station, k=1, rho=1e-3)
        >>> len(near.value), round(near.error())
        (1, 83)
        """
        question = requests.nearest(self._data, p, k, locations, gamma0, method)
        return self._ask(question, rho, epsilon, key)

    @steady()
    def hull(
        self,
        *,
        k: int | Literal["optimal", "authors"] = "optimal",
        share: float = 0.5,
        distinct: bool = False,
        gamma0: float = 0.0,
        beta: float = 0.1,
        extent: float = EXTENT,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the convex hull of the points.

        Parameters
        ----------
        k, share, distinct, gamma0, beta, extent : optional
            As for `geoveil.hull`.
        rho, epsilon, method, key : optional
            As for `Session.points`.

        Returns
        -------
        Release
            As that of `geoveil.hull`.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> session.hull(rho=1e-3).value.geom_type
        'Polygon'
        """
        question = requests.hull(k, share, distinct, gamma0, beta, extent, method)
        return self._ask(question, rho, epsilon, key)

    @steady()
    def first_within(
        self,
        p: PlaceLike,
        *,
        radius: float,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Find the first point, in the order of the data, within a radius of a public place.

        Parameters
        ----------
        p : array or shapely Point
            The place, in the coordinate system of the data; or a GeoSeries of one Point in any system.
        radius : float
            The radius in metres.
        rho, epsilon, method, key : optional
            As for `Session.points`.

        Returns
        -------
        Release
            As that of `geoveil.first_within`.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> station = geopandas.GeoSeries.from_xy([-122.39], [37.78], crs=4326)
        >>> round(session.first_within(station, radius=5_000, rho=1e-3).error())
        328
        """
        return self._ask(requests.first_within(self._data, p, radius, method), rho, epsilon, key)

    @steady()
    def distance(
        self,
        p: ShapeLike,
        *,
        fn_error: float | None = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the distance from a public place, line or area to the nearest of the points.

        Parameters
        ----------
        p : array or shapely geometry
            The place, line or area, in the coordinate system of the data; or a GeoSeries of one in any system.
        fn_error : float, optional
            The largest error in metres of GEOS, for lines and areas.
        rho, epsilon, method, key : optional
            As for `Session.points`.

        Returns
        -------
        Release
            As that of `geoveil.distance`.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> station = geopandas.GeoSeries.from_xy([-122.39], [37.78], crs=4326)
        >>> round(session.distance(station, rho=1e-4).error())
        139
        """
        return self._ask(requests.distance(self._data, p, fn_error, method), rho, epsilon, key)

    @steady()
    def answer(
        self,
        fn: Function | Lipschitz,
        *,
        lipschitz: float | None = None,
        size: int = 1,
        fn_error: float | None = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Answer the user's own Lipschitz question.

        Parameters
        ----------
        fn : callable or Lipschitz
            A function of an (n, d) array in metres that returns a number or a vector.
        lipschitz : float, optional
            Its Lipschitz constant; a `Lipschitz` carries its own.
        size : int
            The number of values that `fn` returns.
        fn_error : float, optional
            The largest distance in metres between what `fn` computes in doubles and the function it stands for.
        rho, epsilon, method, key : optional
            As for `Session.points`.

        Returns
        -------
        Release
            As that of `geoveil.answer`.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> session.answer(lambda x: x[:, 0].max(), lipschitz=1, rho=1e-4).query
        'answer'
        """
        own = requests.lipschitz_function(fn, lipschitz, self.total.metric, rho, epsilon)
        return self._ask(requests.own_function(self._data, own, size, fn_error, method), rho, epsilon, key)

    @steady()
    def center(
        self,
        *,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the middle of the bounding box.

        Parameters
        ----------
        rho, epsilon, method, key : optional
            As for `Session.points`.

        Returns
        -------
        Release
            As that of `geoveil.center`.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> session.center(rho=1e-4).value.geom_type
        'Point'
        """
        return self._ask(requests.summary("center", method), rho, epsilon, key)

    @steady()
    def mean(
        self,
        *,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the mean of the points.

        Parameters
        ----------
        rho, epsilon, method, key : optional
            As for `Session.points`.

        Returns
        -------
        Release
            As that of `geoveil.mean`.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> session.mean(rho=1e-4).value.geom_type
        'Point'
        """
        return self._ask(requests.summary("mean", method), rho, epsilon, key)

    @steady()
    def median(
        self,
        *,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the median of each coordinate.

        Parameters
        ----------
        rho, epsilon, method, key : optional
            As for `Session.points`.

        Returns
        -------
        Release
            As that of `geoveil.median`.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> session.median(rho=1e-4).value.geom_type
        'Point'
        """
        return self._ask(requests.summary("median", method), rho, epsilon, key)

    @steady()
    def bounds(
        self,
        *,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the bounding box.

        Parameters
        ----------
        rho, epsilon, method, key : optional
            As for `Session.points`.

        Returns
        -------
        Release
            As that of `geoveil.bounds`.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> session.bounds(rho=1e-4).value.shape
        (4,)
        """
        return self._ask(requests.summary("bounds", method), rho, epsilon, key)

    @steady()
    def radius(
        self,
        *,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the radius of the smallest ball that contains the points.

        Parameters
        ----------
        rho, epsilon, method, key : optional
            As for `Session.points`.

        Returns
        -------
        Release
            As that of `geoveil.radius`.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> round(session.radius(rho=1e-4).error())
        139
        """
        return self._ask(requests.summary("radius", method), rho, epsilon, key)

    @steady()
    def radius_of_gyration(
        self,
        *,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the root mean square distance of the points from their mean.

        Parameters
        ----------
        rho, epsilon, method, key : optional
            As for `Session.points`.

        Returns
        -------
        Release
            As that of `geoveil.radius_of_gyration`.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> round(session.radius_of_gyration(rho=1e-4).error())
        139
        """
        return self._ask(requests.summary("radius_of_gyration", method), rho, epsilon, key)

    @steady()
    def diameter(
        self,
        *,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Method = "best",
        key: str | None = None,
    ) -> Release:
        """Release the largest distance between two of the points.

        Parameters
        ----------
        rho, epsilon, method, key : optional
            As for `Session.points`.

        Returns
        -------
        Release
            As that of `geoveil.diameter`.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> round(session.diameter(rho=1e-4).error())
        277
        """
        return self._ask(requests.summary("diameter", method), rho, epsilon, key)

    @steady()
    def heatmap(
        self,
        grid: Grid | float,
        *,
        cap: float | None = None,
        bandwidth: float | None = None,
        every: Every = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Literal["best", "both"] = "best",
        key: str | None = None,
    ) -> CrowdRelease:
        """Release a heat map of the crowd.

        The session must not have `by`: give it `unit=`, the persons of the crowd. Everybody in it is charged.

        Parameters
        ----------
        grid : Grid or float
            The cells, as for `geoveil.heatmap`.
        cap, bandwidth, every : optional
            As for `geoveil.heatmap`.
        rho, epsilon, key : optional
            As for `Session.points`.
        method : {"best", "both"}
            The algorithm, as for `geoveil.heatmap`.

        Returns
        -------
        CrowdRelease
            As that of `geoveil.heatmap`.

        Examples
        --------
        >>> import numpy as np
        >>> import geoveil as gv
        >>> homes = np.random.default_rng(1).normal(0, 800, size=(500, 2))
        >>> session = gv.Session(homes, unit=np.arange(500), rho=1e-3)
        >>> session.heatmap(gv.Grid((-2e3, -2e3, 2e3, 2e3), cell=1e3), rho=1e-4).value.shape
        (4, 4)
        """
        how = {"cap": cap, "bandwidth": bandwidth, "every": every, "method": method}
        question = crowd_requests.heatmap(grid, self._data.form.plane, **how)
        crowd = crowd_requests.items_of(self._crowd(), self.total.metric)
        return self._ask_crowd(question, crowd, rho, epsilon, key)

    @steady()
    def counts(
        self,
        regions: RegionsLike,
        *,
        cap: float | None = None,
        bandwidth: float | None = None,
        every: Every = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        method: Literal["best", "both"] = "best",
        key: str | None = None,
    ) -> CrowdRelease:
        """Release how many persons of the crowd are expected in each of several public regions.

        The session must not have `by`: give it `unit=`, the persons of the crowd. Everybody in it is charged.

        Parameters
        ----------
        regions : GeoDataFrame, GeoSeries or list of polygons
            The regions, as for `geoveil.counts`.
        cap, bandwidth, every : optional
            As for `geoveil.counts`.
        rho, epsilon, key : optional
            As for `Session.points`.
        method : {"best", "both"}
            The algorithm, as for `geoveil.counts`.

        Returns
        -------
        CrowdRelease
            As that of `geoveil.counts`.

        Examples
        --------
        >>> import numpy as np
        >>> import geoveil as gv
        >>> homes = np.random.default_rng(1).normal(0, 800, size=(500, 2))
        >>> session = gv.Session(homes, unit=np.arange(500), rho=1e-3)
        >>> import shapely
        >>> session.counts([shapely.box(-2e3, -2e3, 0, 2e3)], rho=1e-4).value.columns.tolist()
        ['persons', 'noisy', 'geometry']
        """
        how = {"cap": cap, "bandwidth": bandwidth, "every": every, "method": method}
        question = crowd_requests.counts(regions, self._data.form.plane, **how)
        crowd = crowd_requests.items_of(self._crowd(), self.total.metric)
        return self._ask_crowd(question, crowd, rho, epsilon, key)

    @steady()
    def flows(
        self,
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
        method: Literal["best", "both"] = "best",
        key: str | None = None,
    ) -> CrowdRelease:
        """Release how many persons of the crowd are expected to go from one cell or region to another.

        The session must not have `by`: give it `unit=`, the persons of the crowd. Everybody in it is charged.

        Parameters
        ----------
        destinations, grid, regions, trip : optional
            As for `geoveil.flows`; destinations are read as the points of the session are.
        cap, bandwidth, every : optional
            As for `geoveil.flows`.
        rho, epsilon, key : optional
            As for `Session.points`.
        method : {"best", "both"}
            The algorithm, as for `geoveil.flows`.

        Returns
        -------
        CrowdRelease
            As that of `geoveil.flows`.

        Examples
        --------
        >>> import numpy as np
        >>> import geoveil as gv
        >>> homes = np.random.default_rng(1).normal(0, 800, size=(500, 2))
        >>> session = gv.Session(homes, unit=np.arange(500), rho=1e-3)
        >>> session.flows(homes + 500, gv.Grid((-2e3, -2e3, 2e3, 2e3), cell=2e3), rho=1e-4).value.shape
        (4, 4)
        """
        how = {"cap": cap, "bandwidth": bandwidth, "every": every, "method": method}
        plane = self._data.form.plane
        question = crowd_requests.flows(grid, regions, plane, **how)
        area, crs = (None, None) if plane is None else (plane.area, plane.crs)
        if destinations is not None and self._label is not None and key is None:
            allowed = (
                "given with destinations in a session with a label, which is the name of the session's data alone"
            )
            raise InvalidParameter("key", None, allowed, "Name the question, with its destinations.")
        data = self._crowd()
        crowd = crowd_requests.trips_of(
            data, self.total.metric, destinations, trip, area=area, crs=crs, **self._reading
        )
        return self._ask_crowd(question, crowd, rho, epsilon, key)

    def _crowd(self) -> Intake:
        """Return the data of questions about a crowd; refuse a session that answers for each person."""
        if self._data.people is not None:
            remedy = "Open a session with unit= in place of by=."
            raise InvalidParameter("by", self._data.by, "left out for questions about a crowd", remedy)
        return self._data

    def _ask_crowd(
        self, question: CrowdQuestion, crowd: CrowdSource, rho: Rho, epsilon: Epsilon, key: str | None
    ) -> CrowdRelease:
        """Ask a question about a crowd, charged to everybody in it."""
        guarantee = promise(rho, epsilon, self.total.metric)
        inquiry = CrowdInquiry(crowd, question, guarantee)
        release = answer(inquiry, self._source, self._charger, key, self._progress)
        self._answered.append(release.query)
        return release

    @property
    def spent(self) -> Decimal:
        """The budget that this session, or the ledger for its subject, has charged."""
        account = self._charger.account
        return exact.subtract(self.total.budget, self.remaining) if account is None else account.spent

    @property
    def remaining(self) -> Decimal:
        """The exact budget that is left: of the session's total or of the ledger, whichever is less."""
        return self._charger.remaining

    def split(self, k: int) -> list[Guarantee]:
        """Split the remaining budget into k parts that add up to it exactly.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> session.split(2)
        [CGP(rho=0.0005), CGP(rho=0.0005)]
        """
        left = self.remaining
        if left <= 0:
            raise BudgetExceeded(Decimal(0), left)
        return [*self.total.with_budget(left).split(k)]

    def cost(self, *, rho: Rho = None, epsilon: Epsilon = None) -> tuple[Decimal, Decimal]:
        """Return the cost of a question with this budget, and the budget that would then be left; nothing is charged.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> session.cost(rho=4e-4)
        (Decimal('0.0004'), Decimal('0.0006'))
        """
        taken = price(promise(rho, epsilon, self.total.metric), self.total).budget
        left = self.remaining
        if taken > left:
            raise BudgetExceeded(taken, left)
        return taken, exact.subtract(left, taken)

    def statement(self) -> list[dict[str, Any]]:
        """Return the charges of this session, or those of its subjects in the ledger.

        Examples
        --------
        >>> import geopandas
        >>> import geoveil as gv
        >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
        >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
        >>> session = gv.Session(homes, rho=1e-3, area=bay)
        >>> _ = session.mean(rho=4e-4)
        >>> [(line["query"], line["amount"]) for line in session.statement()]
        [('mean', '0.0004')]
        """
        return self._charger.statement()

    def _card(self) -> tuple[str, Rows]:
        people, area = self._data.people, self._data.area
        crowd = self._data.crowd
        whose = "one person" if people is None else counted(len(people.labels), "person")
        each = "" if people is None and crowd is None else ", for each person"
        if crowd is not None:
            whose = f"{counted(len(crowd.labels), 'person')} together"
        try:
            balance = f"{exact.shown(self.spent)} spent, {exact.shown(self.remaining)} left"
        except LedgerError:
            balance = "the ledger cannot be read now"
        rows = [
            ("area", "metres without a coordinate system" if area is None else area.name),
            ("budget", f"{self.total}{each}"),
            *([] if self.total.metric == dist_inf else [("protects", protected(self.total.metric))]),
            ("balance", balance),
            ("answers", ", ".join(self._answered) or "none so far"),
        ]
        return f"Session about {counted(len(self._data.form.coords), 'point')} of {whose}", rows

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the session; nothing is given back."""
