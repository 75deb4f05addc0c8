"""What may be done to a release for free: it sees the release and public facts, never the input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np

from geoveil.errors import InvalidData, InvalidParameter
from geoveil.geo import form_of
from geoveil.geo.systems import metres_per_unit
from geoveil.mechanisms import Gaussian
from geoveil.postprocess import clamping, smoothing
from geoveil.postprocess.motion import CAR, CYCLING, TAXI, WALKING, Motion
from geoveil.release import Release

__all__ = ["clamp", "smooth"]

_MOTIONS = {"car": CAR, "cycling": CYCLING, "taxi": TAXI, "walking": WALKING}


def smooth(release: Release, *, times: Any, motion: str | Motion) -> Release:
    """Denoise a released trajectory, for free: the noise is known and people move continuously.

    Parameters
    ----------
    release : Release
        Of `points` about one person, with Gaussian noise (a `rho` budget).
    times : array
        The public time of each point, in seconds or as datetimes; equal times may occur.
    motion : {"walking", "cycling", "car", "taxi"} or geoveil.postprocess.motion.Motion
        What is publicly known of how the person moves. It must not be measured on the trajectory itself.

    Returns
    -------
    Release
        With the same guarantee. No theorem bounds its error; `expected_error()` is the root mean square error that the
        motion would have.

    Examples
    --------
    >>> import numpy as np
    >>> import geoveil as gv
    >>> minutes = np.arange(600)
    >>> day = np.column_stack([3000 * np.cos(minutes / 60), 3000 * np.sin(minutes / 60)])
    >>> released = gv.points(day, rho=5e-4, rng=np.random.default_rng(1))
    >>> smoothed = gv.smooth(released, times=minutes * 60.0, motion="taxi")
    >>> def off(release):
    ...     return round(float(np.sqrt(((release.value - day) ** 2).sum(axis=1).mean())))
    >>> off(smoothed) < 0.6 * off(released)
    True
    """
    if release.query != "points" or release.by is not None or not isinstance(release.mechanism, Gaussian):
        raise InvalidData(
            "release", repr(release), "of points of one person with Gaussian noise", "Use gv.points(x, rho=...)."
        )
    if release.processed:
        raise InvalidData("release", repr(release), "as it was released", "Smooth first, then clamp.")
    prior = _MOTIONS.get(motion) if isinstance(motion, str) else motion
    if not isinstance(prior, Motion):
        raise InvalidParameter("motion", motion, ", ".join(map(repr, _MOTIONS)) + " or a Motion", 'Try "taxi".')
    assert release.coords is not None
    seconds = _seconds(times, release.n)
    order = np.argsort(seconds, kind="stable")
    moved = np.empty_like(release.coords)
    moved[order] = smoothing.smooth(release.coords[order], seconds[order], release.mechanism.scale, prior)
    expected = smoothing.expected_error(
        seconds[order], release.mechanism.scale, prior, dimension=release.coords.shape[1]
    )
    step = f"smoothed with the motion spread={prior.spread:g} m, speed={prior.speed:g} m/s"
    return _moved(release, moved, step, bounded=False, expected=expected)


def clamp(release: Release, region: Any) -> Release:
    """Move released points that lie outside a public region to its nearest point, for free.

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
    >>> import shapely
    >>> import geoveil as gv
    >>> city = shapely.box(0, 0, 1000, 1000)
    >>> released = gv.points([[10.0, 500.0]] * 5, rho=1e-5)
    >>> inside = gv.clamp(released, city)
    >>> all(city.buffer(1e-6).covers(shapely.Point(place)) for place in inside.value)
    True
    """
    import shapely

    coords, kind = release.coords, release.answers[0].query.kind
    clampable = kind == "points" or (kind == "place" and release.by is None)
    if coords is None or coords.shape[1] != 2 or not clampable:
        raise InvalidData("release", repr(release), "of points or places in the plane", "Use gv.points or gv.center.")
    if not isinstance(region, (shapely.Polygon, shapely.MultiPolygon)) or region.is_empty:
        raise InvalidParameter("region", region, "a Polygon or MultiPolygon that is not empty", "Give a public area.")
    unit = _unit(release)
    moved = clamping.clamp(coords, shapely.transform(region, lambda vertices: vertices * unit))
    convex = clamping.is_convex(region)
    # Nearer to every true point, and so in the mean as well.
    expected = release.expected if convex else None
    return _moved(release, moved, "clamped to a public region", bounded=convex, expected=expected)


def _moved(release: Release, coords: Any, step: str, *, bounded: bool, expected: float | None) -> Release:
    """The release with other coordinates, in the form it had."""
    kind = release.answers[0].query.kind
    if kind == "points":
        value = form_of(release.value).points(coords)
        if hasattr(release.value, "columns"):
            value = release.value.set_geometry(value.geometry)
    elif isinstance(release.value, np.ndarray):
        value = coords[0]
    else:
        value = type(release.value)(coords[0] / _unit(release))
    return replace(
        release,
        value=value,
        coords=coords,
        processed=(*release.processed, step),
        bounded=release.bounded and bounded,
        expected=expected,
        id=uuid4().hex,
    )


def _unit(release: Release) -> float:
    """Metres in a unit of the release's own system."""
    return 1.0 if release.crs is None else metres_per_unit(release.crs)


def _seconds(times: Any, n: int) -> Any:
    """Public times as seconds."""
    array = np.asarray(times)
    if array.dtype.kind == "M":
        array = (array - array.min()) / np.timedelta64(1, "s")
    try:
        seconds = array.astype(float)
    except (TypeError, ValueError):
        raise InvalidParameter(
            "times", type(times).__name__, "seconds or datetimes", "Use pandas.to_datetime."
        ) from None
    if seconds.shape != (n,) or not np.isfinite(seconds).all():
        raise InvalidParameter("times", seconds.shape, f"{n} finite times, one for each point", "They are public.")
    return seconds
