"""The meaning of a budget before any question: what is hidden, how large errors are, and what an attacker can tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

import geoveil as gv
from geoveil.city import generator, made_up_tracks
from geoveil.errors import GeoveilError
from geoveil.facts.wording import protected
from geoveil.privacy import Guarantee, exact
from geoveil.report.page import attacker_curve
from geoveil.requests.budgets import Budget, rho_and_epsilon
from geoveil.requests.file_check import TypicalPerson
from geoveil.requests.file_request import FileSettings, as_tuple
from geoveil.requests.made_up import seconds_between
from geoveil.requests.opened_data import OpenedData
from geoveil.text.words import chance, counted, hidden, metres

__all__ = ["DISTANCES", "Foresight"]

#: The distances of the slider, in metres.
DISTANCES = (
    *(float(step * 10**power) for power in (1, 2, 3) for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)),
    *(10_000.0, 15_000.0, 20_000.0),
)
#: Numbers of releases whose curves are drawn.
LATER = (10, 100)
#: The questions about one person whose errors are shown: in words, by name, whether it is the error
#: of each point, and with the number of neighbours. The hull is missing,
#: because planning it takes too long for a slider.
_QUESTIONS: tuple[tuple[str, str, bool, int | None], ...] = (
    ("any one released point", "points", True, None),
    ("all released points of a person at once", "points", False, None),
    ("the center of a person's points", "center", False, None),
    ("the radius around a person's points", "radius", False, None),
    ("the point nearest to a place", "nearest", False, 1),
)
#: The largest number of points of a track from which the error after smoothing is computed.
_TRACK = 300
#: A hidden distance in metres below which hardly anything is hidden: receivers often have errors of that size.
_HARDLY = 20.0


@dataclass(frozen=True)
class Foresight:
    """The meaning of a budget for a typical person of the data, from public numbers alone."""

    #: The budget, and who and what is protected.
    budget: Budget
    settings: FileSettings
    #: The number of releases that are planned.
    planned: int | None
    #: The file, and its person with the median number of points.
    data: OpenedData | None
    typical: TypicalPerson | None

    @cached_property
    def _guarantee(self) -> Guarantee:
        return self.budget.protecting(self.settings.protect)

    @cached_property
    def _distance(self) -> float:
        return self._guarantee.hidden(chance=0.75)

    @property
    def away(self) -> str:
        """The distance that one release hides."""
        return hidden(self._distance)

    @property
    def sentence(self) -> str:
        """What is hidden."""
        return (
            f"Starting from even odds, a guess between two places {self.away} apart is right at most 75% of the time."
        )

    @property
    def warning(self) -> str:
        """A warning that the budget hides almost nothing; empty if it hides more."""
        if self._distance >= _HARDLY:
            return ""
        return (
            f"This hides almost nothing: {self.away} is less than the width of a street or a house. Whoever gets the "
            "release knows at which house a person was. Choose a larger distance, or a smaller ρ or ε."
        )

    @property
    def line(self) -> str:
        """The guarantee in numbers, and what it protects in words."""
        concentrated = isinstance(self._guarantee, gv.CGP)
        notion = "Concentrated geo-privacy with ρ" if concentrated else "Geo-indistinguishability with ε"
        budget, per = exact.rounded_up(self._guarantee.budget), "m²" if concentrated else "m"
        return f"{notion} = {budget} per {per}. Protected together: {protected(self._guarantee.metric)}"

    @cached_property
    def later(self) -> list[tuple[int, str, str]]:
        """Numbers of releases, with what they still hide together, and how often a guess is then right at most.

        The guess is between two places as far apart as the distance that one release hides.
        """
        together = {k: self._guarantee * k for k in sorted({1, *LATER, self.planned or 1})}
        return [
            (k, hidden(total.hidden(chance=0.75)), chance(total.attacker(distance=self._distance)))
            for k, total in together.items()
        ]

    @property
    def curve(self) -> str:
        """The chart of what an attacker can tell, as HTML, with a curve for each number of releases."""
        return attacker_curve(self._guarantee, [k for k, _, _ in self.later if k > 1])

    @property
    def reason(self) -> str:
        """Why errors are larger than the hidden distance, and what makes them smaller."""
        together = self._largest or 1
        sharing = f"the {counted(together, 'point')}" if together > 1 else "all points"
        return (
            f"Why more than {self.away}: noise hides {self.away} only if it is often larger than that, and {sharing} "
            "that are protected together share one promise, so that each needs more. Errors shrink with a smaller "
            "unit (step 2), with thinning, smoothing, or a heat map in place of points (step 4)."
        )

    @property
    def _largest(self) -> int | None:
        """The largest number of points of a typical person that are protected together, if it is known."""
        return None if self.typical is None else self.typical.largest.get(self._guarantee.metric.name)

    def _error(self, question: str, *, each: bool, k: int | None, area: str | None) -> float | None:
        """Return the error of an answer about a person with the median number of points, if there is one."""
        assert self.data is not None
        rho, epsilon = rho_and_epsilon(self._guarantee)
        n = int(np.median(self.data.sizes(self.settings.person))) if self.typical is None else self.typical.points
        try:
            forecast = gv.plan(
                question, n=n, rho=rho, epsilon=epsilon, area=area, largest=self._largest, each=each, k=k
            )
        except GeoveilError:
            # Some questions have no mechanism under some metrics, and a stretch of time needs times.
            return None
        return forecast.error

    @cached_property
    def errors(self) -> list[tuple[str, str]]:
        """Each question, and the bound on its error with probability 95%."""
        if self.data is None:
            return []
        errors = (
            (words, self._error(name, each=each, k=k, area=self.settings.area)) for words, name, each, k in _QUESTIONS
        )
        return [(words, f"up to {metres(error)}") for words, error in errors if error is not None]

    @cached_property
    def smoothed(self) -> str:
        """A sentence on the error of smoothed tracks; empty if there are none, or if they cannot be smoothed."""
        if self.data is None or not self.data.times or not isinstance(self._guarantee, gv.CGP):
            return ""
        scale, steps = self._error("points", each=True, k=None, area=None), _steps(self.settings, self.data)
        if scale is None or steps is None:
            return ""
        walking, car = (metres(_expected(round(scale, 2), motion, steps)) for motion in ("walking", "car"))
        return (
            f"After smoothing, which costs nothing, released tracks with points as far apart in time as in this file "
            f"(typically {_time_words(float(np.median(steps[1:])))}) are typically off by {walking} if people walk, "
            f"and by {car} in cars."
        )


def _steps(settings: FileSettings, data: OpenedData) -> tuple[float, ...] | None:
    """Return the seconds between the points of the person with the median number of points; times are public.

    None if that person has fewer than two points.
    """
    whose = data.whose(settings.person)
    sizes = np.bincount(whose)
    person = np.argsort(sizes, kind="stable")[len(sizes) // 2]
    rows = np.flatnonzero(whose == person)[:_TRACK]
    times = [*as_tuple(settings.times), *data.times]
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
