"""Releases: private answers with their guarantee, which can be improved at no cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, TypeAlias, Union
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike

from geoveil._types import Labels, Region, Times
from geoveil.errors import IncompatibleGuarantees, InvalidData, InvalidParameter
from geoveil.facts import SMOOTHED
from geoveil.geo.forms import Floats, Form
from geoveil.geo.point_times import point_seconds, point_times
from geoveil.host.arithmetic import steady
from geoveil.mechanisms import Gaussian
from geoveil.movement.habits import PERSON, Habits
from geoveil.postprocess import clamping, smoothing
from geoveil.postprocess.grid import Grid
from geoveil.postprocess.motion import CAR, CYCLING, TAXI, WALKING, Motion
from geoveil.privacy import Guarantee, Metric, dist_1, dist_inf, largest_stretch_sum, protected_metric
from geoveil.release.attackers import attackers_gains
from geoveil.release.shown import Shown
from geoveil.settings.other_names import guesses_answered
from geoveil.text.messages import Message

if TYPE_CHECKING:
    import geopandas

    from geoveil.release.heat_maps import HeatMap

__all__ = ["Prior", "Release"]

#: Where true points can be: cells of a grid, single places, or a heat map.
Prior: TypeAlias = Union[Grid, "ArrayLike", "geopandas.GeoSeries", "geopandas.GeoDataFrame", "HeatMap"]

#: Ratios are computed in doubles: one part in a billion covers their rounding.
_ROUNDING = 1 + 1e-9
_MOTIONS: dict[str, Motion | Habits] = {
    "car": CAR,
    "cycling": CYCLING,
    "person": PERSON,
    "taxi": TAXI,
    "walking": WALKING,
}


@guesses_answered
class Release(Shown):
    """A private answer, with its guarantee and its error bounds. It never holds the input.

    Parameters
    ----------
    value : object
        The answer, in the form of the input.
    answers : tuple of Answer
        The answer about each person.
    coords : array, optional
        The released coordinates in metres of the plane, where there are any.
    point_scales : array, optional
        The scale of the noise of each released point in metres, where the points of a person differ in it.
    plane : Plane, optional
        The plane of these metres, and the coordinate system of the input.
    pairs : tuple of pairs of names
        The columns of coordinates, longitude and latitude or x and y, where the value is a table without geometries.
    person : pandas.Index, optional
        The persons, in the order of their answers; None where all points are taken as one person's.
    entry : Entry, optional
        The entry in a ledger's history that charged it, if one did.
    recorder : callable, optional
        Records files of the release in that ledger.
    id : str
        Identifies the release in certificates and ledgers.
    **provenance
        The fields of `geoveil.facts.Provenance`: guarantee, n, crowd, outside, pseudonyms, removed, unchanged,
        processing, times, span and inexact.

    Examples
    --------
    >>> release = gv.Locations(homes, area=bay).points(rho=1e-4)
    >>> release
    Release of points: 3 points of one person
      guarantee  74.1 m hidden at 75% (CGP with ρ = 0.0001 per m²)
      mechanism  Gaussian of scale 122.5 m
      error      at most 350 m with probability 95%; a single point at most 300 m
      exact      yes
    >>> release.value.geom_type.tolist()
    ['Point', 'Point', 'Point']
    >>> round(release.error()), round(release.error(each=True))
    (350, 300)
    """

    def in_memory(self) -> Release:
        return self

    def _gains(self) -> tuple[str, ...]:
        return attackers_gains(self)

    def cost(self, protect: str | timedelta | None = None, *, times: Times = None, person: Labels = None) -> Guarantee:
        """Return the guarantee of the release if something else is hidden together, from the cost of its mechanism.

        Parameters
        ----------
        protect : str or timedelta, optional
            What is hidden together: a length of time such as "1 day", or "point"; by default all points of a person.
        times : str, array or Series, optional
            The public time of each released point, for a length of time.
        person : array of labels, optional
            The person of each point, if the release does not know it.

        Returns
        -------
        CGP or GP
            The guarantee. An error is raised if it is not known.

        Examples
        --------
        >>> hours = np.arange("2026-05-04", "2026-05-06", dtype="datetime64[h]")
        >>> walk = np.zeros((48, 2))
        >>> release = gv.Locations(walk, protect="1 day", times=hours).points(rho=1e-4)
        >>> round(float(release.cost().rho), 6), release.cost("1 hour", times=hours).metric
        (0.000192, dist_[1 hour])
        """
        return _unit_cost(self, protected_metric(protect) or dist_inf, times, person)

    @steady()
    def smooth(self, motion: str | Motion | None = None, *, times: Times = None, person: Labels = None) -> Release:
        """Smooth released trajectories at no cost: the noise is known, and people move continuously.

        The release is one of `Locations.points`, with Gaussian noise (a `rho` or `hide` budget). Each person's points
        are a trajectory of their own.

        Parameters
        ----------
        motion : {"person", "walking", "cycling", "car", "taxi"} or Motion
            How people move, from public knowledge; it must not be measured on the trajectories themselves. There is no
            default, since only you know who travels. "person" is for phones, day and night: somebody stays for hours,
            travels in between, and returns to places.
        times : str, array or Series, optional
            The public time of each point: the name of a column of the release, or datetimes, texts of dates,
            durations, or numbers of seconds. Equal times may occur. It may be left out if one column of times was
            released. Of rows with an origin and a destination, the list of both columns.
        person : array of labels, optional
            The person of each point, as given to `Locations`. Not needed for a table whose column names the persons.

        Returns
        -------
        Release
            With the same guarantee. No theorem bounds its error; `expected_error()` is the root mean square error that
            the motion would have.

        Examples
        --------
        >>> minutes = np.arange(600)
        >>> day = np.column_stack([3000 * np.cos(minutes / 60), 3000 * np.sin(minutes / 60)])
        >>> released = gv.Locations(day, rng=np.random.default_rng(1)).points(rho=5e-4)
        >>> smoothed = released.smooth("taxi", times=minutes * 60.0)
        >>> def off(release):
        ...     return round(float(np.sqrt(((release.value - day) ** 2).sum(axis=1).mean())))
        >>> off(smoothed) < 0.6 * off(released)
        True
        """
        release = self.in_memory()
        if release.query != "points" or not isinstance(release.answers[0].mechanisms[0], Gaussian):
            remedy = Message("Use {locations.points} with {rho}.")
            raise InvalidData("release", repr(release), "of points with Gaussian noise", remedy)
        if release.processing.steps:
            raise InvalidData("release", repr(release), "as it was released", "Smooth first, then clamp.")
        _check_ordered(release)
        prior = _MOTIONS.get(motion) if isinstance(motion, str) else motion
        if not isinstance(prior, Motion | Habits):
            allowed = f"how people move: {', '.join(map(repr, _MOTIONS))}, or a Motion"
            known = (
                'Say what is publicly known of them, such as motion="walking", or motion=gv.Motion(spread=..., '
                "speed=...) for others; do not measure it on the data."
            )
            raise InvalidParameter("motion", motion, allowed, known)
        coords, form = release.placed_coords, release.form
        seconds = point_seconds(form, times)
        whose = release._person_index(person, form)
        # Sorted by person, then by time.
        order, sizes = np.lexsort((seconds, whose)), np.bincount(whose)
        if release.point_scales is None:
            noise = np.repeat([answer.mechanisms[0].scale for answer in release.answers], sizes)
        else:
            noise = release.point_scales[order]
        smoothed, points, at = np.empty_like(coords), coords[order], seconds[order]
        if isinstance(prior, Habits):
            if coords.shape[1] != 2:
                other = "Give another motion, such as 'walking'."
                raise InvalidData("release", f"{coords.shape[1]} coordinates", "of places in the plane", other)
            from geoveil.movement.smoother import smooth as smooth_by_habits

            posterior = smooth_by_habits(points, at, noise, prior, sizes=sizes)
            smoothed[order], expected = posterior.mean, float(np.sqrt(2 * posterior.variance.mean()))
            step = f"{SMOOTHED} of a person who stays, travels, and returns to places"
        else:
            smoothed[order] = smoothing.smooth(points, at, noise, prior, sizes=sizes)
            expected = smoothing.expected_error(at, noise, prior, dimension=coords.shape[1], sizes=sizes)
            step = f"{SMOOTHED} spread={prior.spread:g} m, speed={prior.speed:g} m/s"
        return release._moved(smoothed, step, bounded=False, expected=expected, form=form, smoothed=True)

    @steady()
    def clamp(self, region: Region) -> Release:
        """Move released points outside a public region to the nearest point of the region, at no cost.

        The release is one of points, or of one place, in the plane.

        Parameters
        ----------
        region : shapely Polygon or MultiPolygon
            In the coordinate system of the release, chosen without looking at the data.

        Returns
        -------
        Release
            With the same guarantee. If the region is convex and holds the true points, no point is farther from its
            true place than before, and `error(beta)` stays; otherwise it is no longer known.

        Examples
        --------
        >>> city = shapely.box(-122.52, 37.70, -122.35, 37.84)
        >>> inside = gv.Locations(homes, area=bay).points(rho=1e-4).clamp(city)
        >>> bool(inside.value.within(city.buffer(1e-6)).all())
        True
        """
        import shapely

        release = self.in_memory()
        coords, kind = release.coords, release.kind
        movable = kind.movable and (kind.of_points or release.person is None)
        if coords is None or coords.shape[1] != 2 or not movable:
            remedy = "Use Locations.points, or Locations.center about one person."
            raise InvalidData("release", repr(release), "of points or of one place in the plane", remedy)
        usable = isinstance(region, (shapely.Polygon, shapely.MultiPolygon)) and region.is_valid and region.area > 0
        if not usable:
            remedy = "Give a public area: frame.union_all() of a frame, shapely.make_valid(region) of an invalid one."
            raise InvalidParameter("region", region, "a valid Polygon or MultiPolygon with an area", remedy)
        flat = region if release.plane is None else release.plane.shape("region", region)
        convex = clamping.is_convex(flat)
        # Every point moves closer to its true point, so the mean error falls as well.
        expected = release.processing.expected if convex else None
        step = "clamped to a public region, assuming that it contains the true points"
        return release._moved(clamping.clamp(coords, flat), step, bounded=convex, expected=expected)

    @steady()
    def remap(
        self,
        prior: Prior,
        *,
        weights: ArrayLike | None = None,
        to: Literal["mean", "place"] = "mean",
        person: Labels = None,
    ) -> Release:
        """Move released points to the expected places of the true points under a public prior, at no cost.

        The release is one of `points`, with noise that is independent on each point.

        Parameters
        ----------
        prior : Grid, (m, d) array, GeoSeries or GeoDataFrame of Points, or HeatMap from `density`
            Where true points can be: anywhere in the cells of a grid, or at single places. It is in the coordinate
            system of the release, and known without looking at the data.
        weights : array, optional
            The weight of each cell or place: an array of the grid's shape, or m numbers, in any unit; all equal by
            default.
        to : {"mean", "place"}
            The posterior mean; or that of the prior's places (of a grid, the cells' centres) with the least expected
            square distance.
        person : array of labels, optional
            The person of each point, as given to `Locations`. Needed only if the noise differs between persons, and
            not for a table whose column names the persons.

        Returns
        -------
        Release
            With the same guarantee. If the prior is the heat map of other releases, the guarantee is the sum of both;
            if both are of frames released by a column of the same name, it is the largest sum of any person. No
            theorem bounds its error; `expected_error()` is the root mean square error if true points do come from the
            prior.

        Examples
        --------
        >>> stations = np.array([[0.0, 0.0], [900.0, 0.0], [300.0, 800.0]])
        >>> released = gv.Locations([[900.0, 0.0]], rng=np.random.default_rng(1)).points(rho=1e-4)
        >>> released.remap(stations, to="place").value
        array([[900.,   0.]])
        >>> released.remap(gv.Grid((0, 0, 1000, 1000), cell=500)).guarantee
        CGP(rho=0.0001)
        """
        from geoveil.release.heat_maps import remapped

        return remapped(self.in_memory(), prior, weights, to, person)

    @steady()
    def density(
        self,
        grid: Grid | float | tuple[float, float, float, float] | None = None,
        *,
        others: Sequence[Release] = (),
        person: Labels = None,
    ) -> HeatMap:
        """Estimate a heat map of the true points from released ones, at no cost: the effect of the noise is removed.

        The release is one of `points` in the plane, with noise that is independent on each point.

        Parameters
        ----------
        grid : Grid, number, or (west, south, east, north), optional
            The cells, in the coordinate system of the release; for points in degrees, in metres of the plane they were
            released in. A number is the side of a cell, and the grid then covers all released points. A box gets cells
            that suit the noise: at least half of its scale and a hundredth of the longer side, rounded up to 1, 2 or 5
            times a power of ten. Without it, box and cells are chosen from the released points and their noise, which
            costs nothing.
        others : sequence of Release, optional
            More releases of points in the same coordinate system, which are counted as well.
        person : array of labels, optional
            Without others: the person of each point, as given to `Locations`. Needed only if the noise differs between
            persons, and not for a table whose column names the persons.

        Returns
        -------
        HeatMap
            A release; its value is the expected number of true points in each cell, rows from south to north. True
            points may lie outside the grid, so they add up to at most all. The heat map of one release has its
            guarantee. That of several has their sum, since the same person may be in all of them; if all are frames
            released by a column of the same name, it has the largest sum of any person.

        Notes
        -----
        Expectation-maximisation (Richardson and Lucy), stopped where two halves of the released points predict each
        other best; which half a point is in goes by its position. Cells much smaller than the noise cannot be told
        apart, and with few points the map stays blurred.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> homes = rng.normal([1000.0, 1000.0], 100.0, size=(20_000, 2))
        >>> released = gv.Locations(homes, person=np.arange(20_000), rng=rng).points(rho=5e-6)
        >>> grid = gv.Grid((0, 0, 2000, 2000), cell=200)
        >>> heat, truth = released.density(grid), grid.count(homes)
        >>> bool(abs(heat.value - truth).sum() < 0.5 * abs(grid.count(released.value) - truth).sum())
        True
        >>> heat.guarantee
        CGP(rho=5e-06)
        >>> released.density().grid.cell
        200.0
        """
        from geoveil.release.heat_maps import deconvolved

        return deconvolved([self, *others], grid, person)

    def _moved(
        self,
        coords: Floats,
        step: str,
        *,
        bounded: bool,
        expected: float | None,
        form: Form | None = None,
        smoothed: bool = False,
    ) -> Release:
        """Return the release with other coordinates in the same form, which may be given if it is at hand."""
        done = self.processing
        processing = replace(
            done,
            steps=(*done.steps, step),
            bounded=done.bounded and bounded,
            expected=expected,
            smoothed=done.smoothed or smoothed,
        )
        value = self.kind.moved(self, coords, form)
        return replace(self, value=value, coords=coords, processing=processing, id=uuid4().hex)


def _check_ordered(release: Release) -> None:
    """Refuse points without an order, to which no times belong."""
    if release.answers[0].query.sets is not None:
        remedy = Message("Release them with {order:public}.")
        raise InvalidData("release", repr(release), "of points in the order of the data", remedy)


def _unit_cost(release: Release, metric: Metric, times: Times, person: Labels) -> Guarantee:
    """Return the guarantee of a release under the metric of another unit; see `Release.cost`."""
    guarantee = release.guarantee
    if metric == guarantee.metric:
        return guarantee
    if release.query == "points":
        # The noise and the time of each point of a file are in the file.
        release = release.in_memory()
    shares = _shares(release)
    if shares is not None:
        share = _largest_sum(release, shares, metric, times, person)
        return guarantee.under_unit(metric, Decimal(share * _ROUNDING))
    if metric == dist_inf and not release.processing.combined:
        ratios = [answer.query.cost_of_all() for answer in {id(a.query): a for a in release.answers}.values()]
        known = [ratio for ratio in ratios if ratio is not None]
        if len(known) == len(ratios):
            return guarantee.under_unit(metric, Decimal(max(known) ** guarantee.power * _ROUNDING))
    if guarantee.metric.is_at_most(metric):
        return guarantee.under_unit(metric)
    raise IncompatibleGuarantees(
        f"What {release.query} under {guarantee.metric} costs under {metric} is not known.",
        "Ask the question with that unit.",
    )


def _shares(release: Release) -> Floats | None:
    """Return for each point the share of its person's budget that released it; None if it is not known."""
    if release.query != "points" or release.processing.combined:
        return None
    first = release.answers[0].query
    if release.point_scales is not None:
        one = first.point_scales(np.ones(1, dtype=np.int64))
        assert one is not None
        return np.asarray((one[0] / release.point_scales) ** release.guarantee.power)
    return first.budget_shares() if release.person is None else None


def _largest_sum(release: Release, shares: Floats, metric: Metric, times: Times, person: Labels) -> float:
    """Return the largest sum of shares over a unit."""
    codes = release._person_index(person)
    if metric == dist_1:
        return float(shares.max())
    if metric.stretch is None:
        return float(np.bincount(codes, shares).max())
    _check_ordered(release)
    moments = point_times(release.form, times).for_units(metric.stretch)
    return largest_stretch_sum(shares, moments, metric.stretch, codes)
