"""Improve a release at no privacy cost, from the release and public facts alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike

from geoveil._types import Labels, Region
from geoveil.arithmetic import steady
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.geo.forms import Floats, Form
from geoveil.geo.point_times import point_seconds
from geoveil.mechanisms import Gaussian
from geoveil.messages import Message
from geoveil.postprocess import clamping, smoothing
from geoveil.postprocess.motion import CAR, CYCLING, TAXI, WALKING, Motion
from geoveil.release import Release, persons

__all__ = ["Motion", "clamp", "grid_system", "in_memory", "smooth", "with_coordinates"]

_MOTIONS = {"car": CAR, "cycling": CYCLING, "taxi": TAXI, "walking": WALKING}


@steady()
def smooth(
    release: Release,
    *,
    times: ArrayLike | str | list[str] | None = None,
    motion: str | Motion | None = None,
    person: Labels = None,
) -> Release:
    """Smooth released trajectories at no cost: the noise is known, and people move continuously.

    Parameters
    ----------
    release : Release
        Of `Locations.points`, with Gaussian noise (a `rho` budget). Each person's points are a trajectory of
        their own.
    times : str, array or Series, optional
        The public time of each point: the name of a column of the release, or datetimes, texts of dates, durations,
        or numbers of seconds. Equal times may occur. It may be left out if one column of times was released. Of rows
        with an origin and a destination, the list of both columns.
    motion : {"walking", "cycling", "car", "taxi"} or Motion
        How people move, from public knowledge; it must not be measured on the trajectories themselves. There is no
        default, since only you know who travels.
    person : array of labels, optional
        The person of each point, as given to `Locations`. Not needed for a table whose column names the persons.

    Returns
    -------
    Release
        With the same guarantee. No theorem bounds its error; `expected_error()` is the root mean square error that the
        motion would have.

    Examples
    --------
    >>> minutes = np.arange(600)
    >>> day = np.column_stack([3000 * np.cos(minutes / 60), 3000 * np.sin(minutes / 60)])
    >>> released = gv.Locations(day, rng=np.random.default_rng(1)).points(rho=5e-4)
    >>> smoothed = gv.smooth(released, times=minutes * 60.0, motion="taxi")
    >>> def off(release):
    ...     return round(float(np.sqrt(((release.value - day) ** 2).sum(axis=1).mean())))
    >>> off(smoothed) < 0.6 * off(released)
    True
    """
    release = in_memory(release)
    if release.query != "points" or not isinstance(release.answers[0].mechanisms[0], Gaussian):
        remedy = Message("Use {locations.points} with {rho}.")
        raise InvalidData("release", repr(release), "of points with Gaussian noise", remedy)
    if release.processing.steps:
        raise InvalidData("release", repr(release), "as it was released", "Smooth first, then clamp.")
    prior = _MOTIONS.get(motion) if isinstance(motion, str) else motion
    if not isinstance(prior, Motion):
        allowed = f"how people move: {', '.join(map(repr, _MOTIONS))}, or a Motion"
        known = (
            'Say what is publicly known of them, such as motion="walking", or motion=gv.Motion(spread=..., speed=...) '
            "for others; do not measure it on the data."
        )
        raise InvalidParameter("motion", motion, allowed, known)
    coords = release.coords
    assert coords is not None
    form = release.form
    seconds = point_seconds(form, times)
    whose = persons(release, person, form)
    # Sorted by person, then by time.
    order = np.lexsort((seconds, whose))
    sizes = np.bincount(whose)
    noise = release.point_scales
    if noise is None:
        noise = np.repeat([answer.mechanisms[0].scale for answer in release.answers], sizes)
    else:
        noise = noise[order]
    smoothed = np.empty_like(coords)
    smoothed[order] = smoothing.smooth(coords[order], seconds[order], noise, prior, sizes=sizes)
    expected = smoothing.expected_error(seconds[order], noise, prior, dimension=coords.shape[1], sizes=sizes)
    step = f"smoothed with the motion spread={prior.spread:g} m, speed={prior.speed:g} m/s"
    return with_coordinates(release, smoothed, step, bounded=False, expected=expected, form=form)


@steady()
def clamp(release: Release, region: Region) -> Release:
    """Move released points outside a public region to the nearest point of the region, at no cost.

    Parameters
    ----------
    release : Release
        Of points, or of one place, in the plane.
    region : shapely Polygon or MultiPolygon
        In the coordinate system of the release, chosen without looking at the data.

    Returns
    -------
    Release
        With the same guarantee. If the region is convex and holds the true points, no point is farther from its true
        place than before, and `error(beta)` stays; otherwise it is no longer known.

    Examples
    --------
    >>> city = shapely.box(0, 0, 1000, 1000)
    >>> released = gv.Locations([[10.0, 500.0]] * 5).points(rho=1e-5)
    >>> inside = gv.clamp(released, city)
    >>> all(city.buffer(1e-6).covers(shapely.Point(place)) for place in inside.value)
    True
    """
    import shapely

    release = in_memory(release)
    coords, kind = release.coords, release.kind
    clampable = kind == "points" or (kind == "place" and release.person is None)
    if coords is None or coords.shape[1] != 2 or not clampable:
        remedy = "Use Locations.points, or Locations.center about one person."
        raise InvalidData("release", repr(release), "of points or of one place in the plane", remedy)
    usable = isinstance(region, (shapely.Polygon, shapely.MultiPolygon)) and region.is_valid and region.area > 0
    if not usable:
        remedy = "Give a public area: of a frame, frame.union_all(); of an invalid one, shapely.make_valid(region)."
        raise InvalidParameter("region", region, "a valid Polygon or MultiPolygon with an area", remedy)
    plane = release.plane
    flat = region if plane is None else plane.shape("region", region)
    inside = clamping.clamp(coords, flat)
    convex = clamping.is_convex(flat)
    # Every point moves closer to its true point, so the mean error falls as well.
    expected = release.processing.expected if convex else None
    return with_coordinates(
        release,
        inside,
        "clamped to a public region, assuming that it contains the true points",
        bounded=convex,
        expected=expected,
    )


def with_coordinates(
    release: Release, coords: Floats, step: str, *, bounded: bool, expected: float | None, form: Form | None = None
) -> Release:
    """Return the release with other coordinates in the same form, which may be given if it is at hand."""
    kind = release.kind
    if kind == "points":
        value = (release.form if form is None else form).replaced(coords)
    elif isinstance(release.value, np.ndarray):
        value = coords[0]
    else:
        value = type(release.value)(coords[0] if release.plane is None else release.plane.out(coords)[0])
    return replace(
        release,
        value=value,
        coords=coords,
        processing=replace(
            release.processing,
            steps=(*release.processing.steps, step),
            bounded=release.processing.bounded and bounded,
            expected=expected,
        ),
        id=uuid4().hex,
    )


def in_memory(release: object) -> Release:
    """Return a release with its points in memory; load them if it is a file.

    Anything else is refused: a point that was never released must not be processed as if it were.
    """
    if not isinstance(release, Release):
        raise InvalidData("release", type(release).__name__, "a Release", "Use Locations.points.")
    return release.in_memory()


def grid_system(release: Release) -> tuple[Any, float]:
    """Return the coordinate system of grids and priors for a release, and the metres in one of its units."""
    return (None, 1.0) if release.plane is None else release.plane.grid_system
