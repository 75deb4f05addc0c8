"""What an attacker gains from a release by averaging and smoothing it, from public facts alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geoveil.errors import GeoveilError
from geoveil.geo.point_times import point_seconds
from geoveil.mechanisms import Gaussian
from geoveil.postprocess.motion import CAR, WALKING
from geoveil.postprocess.smoothing import expected_error
from geoveil.privacy import least_error
from geoveil.text.words import hidden

if TYPE_CHECKING:
    from geoveil.release.release import Release

__all__ = ["attackers_gains"]

#: The most points whose expected error after smoothing is computed.
_MOST = 200_000


def attackers_gains(release: Release) -> tuple[str, ...]:
    """Return sentences for a report: how near averages and smoothed tracks come.

    Parameters
    ----------
    release : Release
        A release; there are sentences about points with Gaussian noise alone.

    Examples
    --------
    >>> hours = pd.date_range("2026-05-04", periods=48, freq="h")
    >>> walk = pd.DataFrame({"time": hours, "lat": 37.77, "lon": -122.42})
    >>> for sentence in attackers_gains(gv.Locations(walk, area=bay).points(rho=1e-4)):
    ...     print(sentence)
    Somebody who averages all points of a person who stayed at one place is about 100 m off (root mean square), and no
    average or smoothed track comes nearer.
    Anyone may smooth the tracks, knowing the noise and how people move: points are then expected to be about 569 m off
    for people who walk and 691 m for cars (root mean square), in place of 692 m.
    """
    if not release.kind.of_points or release.answers[0].query.sets is not None:
        return ()
    first = release.answers[0].mechanisms[0]
    if release.plane is None or not isinstance(first, Gaussian):
        return ()
    try:
        nearest = hidden(least_error(float(release.cost().budget)))
    except GeoveilError:
        # What all points of a person cost together is not known.
        return ()
    gains = (
        f"Somebody who averages all points of a person who stayed at one place is about {nearest} off (root mean "
        "square), and no average or smoothed track comes nearer.",
    )
    smoothed = None if release.processing.steps else _smoothed(release)
    return gains if smoothed is None else (*gains, smoothed)


def _smoothed(release: Release) -> str | None:
    """Return what is expected of smoothing; None for points without times."""
    whole = release.in_memory()
    form = whole.form
    if len(form.times) != max(len(form.pairs), 1) or whole.points_released < 2:
        return None
    try:
        seconds, whose = point_seconds(form, None), whole._person_index(None, form)
    except GeoveilError:
        # Persons were given apart from the data, or times cannot be read: nobody smooths them without more knowledge.
        return None
    scales = np.array([answer.mechanisms[0].scale for answer in whole.answers])[whose]
    noise = scales if whole.point_scales is None else whole.point_scales
    order = np.lexsort((seconds, whose))
    sizes = np.bincount(whose)
    sizes = sizes[: max(int(np.searchsorted(np.cumsum(sizes), _MOST, side="right")), 1)]
    order = order[: sizes.sum()]
    at, own = seconds[order], noise[order]
    on_foot, by_car = (hidden(expected_error(at, own, motion, sizes=sizes)) for motion in (WALKING, CAR))
    before = hidden(float(np.sqrt(2 * np.mean(own**2))))
    return (
        "Anyone may smooth the tracks, knowing the noise and how people move: points are then expected to be about "
        f"{on_foot} off for people who walk and {by_car} for cars (root mean square), in place of {before}."
    )
