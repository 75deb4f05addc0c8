"""The meaning of a budget before any question: what is hidden, how large errors are, and what an attacker can tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import geoveil as gv
from geoveil.city import generator, made_up_tracks
from geoveil.errors import GeoveilError
from geoveil.privacy import Guarantee, exact
from geoveil.report.page import attacker_curve
from geoveil.studio.choices import Choices, ChosenBudget
from geoveil.studio.made_up import seconds_between
from geoveil.studio.opened_data import OpenedData
from geoveil.unit_noise import TypicalPerson
from geoveil.wording import protected
from geoveil.words import chance, counted, hidden, metres

__all__ = ["DISTANCES", "Foresight", "foresee"]

#: The distances of the slider, in metres.
DISTANCES = (
    *(float(step * 10**power) for power in (1, 2, 3) for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)),
    *(10_000.0, 15_000.0, 20_000.0),
)
#: Numbers of releases whose curves are drawn.
LATER = (10, 100)
#: The questions about one person whose errors are shown: in words, by name and with options. The hull is missing,
#: because planning it takes too long for a slider.
_QUESTIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("any one released point", "points", {"each": True}),
    ("all released points of a person at once", "points", {}),
    ("the center of a person's points", "center", {}),
    ("the radius around a person's points", "radius", {}),
    ("the point nearest to a place", "nearest", {"k": 1}),
)
#: The largest number of points of a track from which the error after smoothing is computed.
_TRACK = 300
#: A hidden distance in metres below which hardly anything is hidden: receivers often have errors of that size.
_HARDLY = 20.0


@dataclass(frozen=True)
class Foresight:
    """The meaning of a budget.

    Parameters
    ----------
    sentence : str
        What is hidden.
    warning : str
        A warning that the budget hides almost nothing; empty if it hides more.
    line : str
        The guarantee in numbers.
    away : str
        The distance that one release hides.
    errors : list of (str, str)
        Each question, and the bound on its error with probability 95%.
    reason : str
        Why errors are larger than the hidden distance, and what makes them smaller; empty without errors.
    later : list of (int, str, str)
        A number of releases, the distance that they still hide together, and the largest chance that a guess between
        two places is right after them, if these are as far apart as the distance that one release hides. The chart
        has a curve for each number.
    curve : str
        The chart of what an attacker can tell, as HTML.
    smoothed : str
        A sentence on the error of tracks after smoothing; empty if there are no tracks to smooth.
    """

    sentence: str
    warning: str
    line: str
    away: str
    errors: list[tuple[str, str]]
    reason: str
    later: list[tuple[int, str, str]]
    curve: str
    smoothed: str


def foresee(
    budget: ChosenBudget, choices: Choices, data: OpenedData | None, typical: TypicalPerson | None
) -> Foresight:
    """Explain a budget for a typical person of the data, from public numbers alone."""
    unit = choices.unit or "all"
    metric = Choices(unit=unit).metric(crowd=False)
    guarantee = budget.guarantee(metric)
    away = guarantee.hidden(chance=0.75)
    times = sorted({1, *LATER, *([choices.planned] if choices.planned else [])})
    later = [
        (k, hidden((guarantee * k).hidden(chance=0.75)), chance((guarantee * k).attacker(distance=away)))
        for k in times
    ]
    places = f"two places {hidden(away)} apart"
    sentence = f"Starting from even odds, a guess between {places} is right at most 75% of the time."
    errors = _errors(guarantee, choices, data, typical)
    return Foresight(
        sentence,
        _warning(away),
        _line(guarantee),
        hidden(away),
        errors,
        _reason(hidden(away), guarantee, typical) if errors else "",
        later,
        attacker_curve(guarantee, [k for k in times if k > 1]),
        _smoothed(guarantee, choices, data, typical),
    )


def _warning(away: float) -> str:
    """Return a warning if a hidden distance is very small; else an empty text."""
    if away >= _HARDLY:
        return ""
    return (
        f"This hides almost nothing: {hidden(away)} is less than the width of a street or a house. Whoever gets the "
        "release knows at which house a person was. Choose a larger distance, or a smaller ρ or ε."
    )


def _line(guarantee: Guarantee) -> str:
    """Return the guarantee in numbers, and what it protects in words."""
    notion, symbol, per = (
        ("Concentrated geo-privacy", "ρ", "m²")
        if isinstance(guarantee, gv.CGP)
        else ("Geo-indistinguishability", "ε", "m")
    )
    budget = exact.rounded_up(guarantee.budget)
    return f"{notion} with {symbol} = {budget} per {per}. Protected together: {protected(guarantee.metric)}"


def _reason(away: str, guarantee: Guarantee, typical: TypicalPerson | None) -> str:
    """Explain why errors are larger than the hidden distance, and what makes them smaller."""
    together = 1 if typical is None else typical.largest.get(guarantee.metric.name, 1)
    shared = "all points that are protected together share one promise, so that each needs more"
    if together > 1:
        shared = (
            f"the {counted(together, 'point')} that are protected together share one promise, so that each needs more"
        )
    return (
        f"Why more than {away}: noise hides {away} only if it is often larger than that, and {shared}. Errors shrink "
        "with a smaller unit (step 2), with thinning, smoothing, or a heat map in place of points (step 4)."
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
    for words, name, options in _QUESTIONS:
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
    """Return a sentence on the error of smoothed tracks; empty if there are none, or if they cannot be smoothed."""
    if data is None or not data.times or not isinstance(guarantee, gv.CGP):
        return ""
    largest = None if typical is None else typical.largest.get(guarantee.metric.name)
    try:
        scale = gv.plan("points", n=_points(choices, data, typical), rho=guarantee, largest=largest, each=True).error
    except GeoveilError:
        return ""
    steps = _steps(choices, data)
    if steps is None:
        return ""
    walking, car = (metres(_expected(round(scale, 2), motion, steps)) for motion in ("walking", "car"))
    return (
        f"After smoothing, which costs nothing, released tracks with points as far apart in time as in this file "
        f"(typically {_time_words(float(np.median(steps[1:])))}) are typically off by {walking} if people walk, and "
        f"by {car} in cars."
    )


def _steps(choices: Choices, data: OpenedData) -> tuple[float, ...] | None:
    """Return the seconds between the points of the person with the median number of points; times are public.

    None if that person has fewer than two points.
    """
    whose = data.whose(choices.by)
    sizes = np.bincount(whose)
    person = np.argsort(sizes, kind="stable")[len(sizes) // 2]
    rows = np.flatnonzero(whose == person)[:_TRACK]
    times = [*([choices.times] if choices.times else []), *data.times]
    steps = seconds_between(data.frame.iloc[rows], times, whose[rows])
    return tuple(steps.tolist()) if len(steps) > 1 else None


def _time_words(seconds: float) -> str:
    """Return a length of time in words.

    Examples
    --------
    >>> _time_words(1), _time_words(30), _time_words(1620), _time_words(7200.0), _time_words(200_000)
    ('1 second', '30 seconds', '27 minutes', '2 hours', '2.3 days')
    """
    length, name = next(
        (seconds / size, name)
        for size, name in ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
        if seconds >= 1.5 * size or size == 1
    )
    return f"{length:.2g} {name}" + ("" if f"{length:.2g}" == "1" else "s")


@lru_cache(maxsize=512)
def _expected(radius: float, motion: str, steps: tuple[float, ...]) -> float:
    """Return the expected error of a track after smoothing, from the 95% error radius of its points before."""
    # A Gaussian of variance 1/(2ρ) along each axis is within r with probability 1 - exp(-ρr²).
    rho = -math.log(0.05) / radius**2
    passed = np.array(steps)
    places = made_up_tracks(passed, np.zeros(len(steps), dtype=np.int64), generator())
    release = gv.Locations(places, rng=generator()).points(rho=gv.CGP(rho=rho, metric="1"))
    return release.smooth(motion, times=np.cumsum(passed)).expected_error()
