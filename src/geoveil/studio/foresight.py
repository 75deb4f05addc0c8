"""What a budget means before anything is asked: what is hidden, how wrong answers are, what an attacker can tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import geoveil as gv
from geoveil.city import generator, made_up_tracks
from geoveil.errors import GeoveilError
from geoveil.privacy import Guarantee
from geoveil.report.charts import attacker_curve
from geoveil.studio.choices import Choices, ChosenBudget
from geoveil.studio.opened_data import OpenedData
from geoveil.unit_noise import TypicalPerson
from geoveil.wording import guarantee_line
from geoveil.words import chance, hidden, metres

__all__ = ["DISTANCES", "Foresight", "foresee"]

#: The distances of the slider, in metres.
DISTANCES = (
    *(float(step * 10**power) for power in (1, 2, 3) for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)),
    *(10_000.0, 15_000.0, 20_000.0),
)
#: Numbers of releases whose curves are drawn.
LATER = (10, 100)
#: The questions of one person whose errors are shown, in words; planning a hull takes too long for a slider.
_QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "points": ("a released point", {"each": True}),
    "center": ("the center of a person's points", {}),
    "radius": ("the radius around a person's points", {}),
    "nearest": ("the point nearest to a place", {"k": 1}),
}
#: The number of points of a track from which the error after smoothing is computed, and seconds between them.
_TRACK, _STEP = 60, 30.0


@dataclass(frozen=True)
class Foresight:
    """What a budget means.

    Parameters
    ----------
    sentence : str
        What is hidden.
    line : str
        The guarantee in numbers.
    errors : list of (str, str)
        What is asked, and the largest error with probability 95%.
    later : list of (int, str, str)
        A number of releases, the distance that is hidden after them, and how often a guess at the distance that one
        release hides is right then.
    curve : str
        The chart of what an attacker can tell, as HTML.
    smoothed : str
        What smoothing changes.
    """

    sentence: str
    line: str
    errors: list[tuple[str, str]]
    later: list[tuple[int, str, str]]
    curve: str
    smoothed: str


def foresee(
    budget: ChosenBudget, choices: Choices, data: OpenedData | None, typical: TypicalPerson | None
) -> Foresight:
    """Return what a budget means for a typical person of the data, from public numbers alone."""
    unit = choices.unit or "all"
    metric = Choices(unit=unit).metric(crowd=False)
    guarantee: Guarantee = budget.code(metric).value
    away = guarantee.hidden(chance=0.75)
    times = sorted({1, *LATER, *([choices.planned] if choices.planned else [])})
    later = [
        (k, hidden((guarantee * k).hidden(chance=0.75)), chance((guarantee * k).attacker(distance=away)))
        for k in times
    ]
    sentence = f"Two places {hidden(away)} apart can be told apart at most 3 times in 4."
    errors = _errors(guarantee, choices, data, typical)
    return Foresight(
        sentence,
        guarantee_line(guarantee),
        errors,
        later,
        attacker_curve(guarantee, LATER),
        _smoothed(guarantee, choices, data, typical),
    )


def _errors(
    guarantee: Guarantee, choices: Choices, data: OpenedData | None, typical: TypicalPerson | None
) -> list[tuple[str, str]]:
    """Return the errors of answers about a person with the median number of points."""
    if data is None:
        return []
    area = None if choices.area is None else choices.area.value
    largest = None if typical is None else typical.largest.get(guarantee.metric.name)
    found = []
    for name, (words, options) in _QUESTIONS.items():
        how: dict[str, Any] = {guarantee.symbol: guarantee, "area": area, "largest": largest, **options}
        try:
            plan = gv.plan(name, n=_points(choices, data, typical), **how)
        except GeoveilError:
            # Some questions have no mechanism under some metrics, and a stretch of time needs times.
            continue
        found.append((words, f"up to {metres(plan.error)}"))
    return found


def _points(choices: Choices, data: OpenedData, typical: TypicalPerson | None) -> int:
    """Return the number of points of a typical person."""
    return int(np.median(data.sizes(choices.by))) if typical is None else typical.points


def _smoothed(guarantee: Guarantee, choices: Choices, data: OpenedData | None, typical: TypicalPerson | None) -> str:
    """Return what smoothing does to the error of tracks, and that it changes nothing for an attacker."""
    same = "Smoothing costs nothing: it uses nothing private, and the curves stay as they are."
    if data is None or not data.times or not isinstance(guarantee, gv.CGP):
        return same
    largest = None if typical is None else typical.largest.get(guarantee.metric.name)
    try:
        scale = gv.plan("points", n=_points(choices, data, typical), rho=guarantee, largest=largest, each=True).error
    except GeoveilError:
        return same
    walking, car = (metres(_expected(round(scale, 2), motion)) for motion in ("walking", "car"))
    return (
        f"{same} Released tracks with a point every {_STEP:g} s are then typically off by {walking} if people walk, "
        f"and by {car} in cars."
    )


@lru_cache(maxsize=512)
def _expected(radius: float, motion: str) -> float:
    """Return the expected error of a smoothed track whose points have this 95% radius before."""
    # A Gaussian of variance 1/(2ρ) along each axis is within r with probability 1 - exp(-ρr²).
    rho = -math.log(0.05) / radius**2
    steps = np.full(_TRACK, _STEP)
    places = made_up_tracks(steps, np.zeros(_TRACK, dtype=np.int64), generator())
    release = gv.points(places, rho=gv.CGP(rho=rho, metric="1"), rng=generator())
    return gv.smooth(release, motion=motion, times=np.cumsum(steps)).expected_error()
