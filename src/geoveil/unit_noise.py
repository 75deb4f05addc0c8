"""The noise of a file's points for several units of protection, from public numbers of points and times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geoveil.planning import COMPARED, plan
from geoveil.privacy import Guarantee, as_duration, as_metric

__all__ = ["NoiseOfUnits", "noise_of_units"]

#: Steps of thinning, of which the first is proposed that leaves at most half of the points.
_STEPS = ("1 minute", "10 minutes", "1 hour", "1 day")


@dataclass(frozen=True)
class NoiseOfUnits:
    """The distance that 95% of single points stay within, for several units, for a typical person of a file.

    Parameters
    ----------
    points : int
        The number of points of the person with the median number of points.
    alone : bool
        Whether the file has one person only.
    noise : dict
        The distance in metres for each unit, by the names of metrics.
    step : str
        The interval in which one point would be kept; empty if thinning is not worth while.
    thinned : int
        The number of points that would remain.
    less : dict
        The distance in metres for each unit after thinning.
    """

    points: int
    alone: bool
    noise: dict[str, float]
    step: str
    thinned: int
    less: dict[str, float]

    def differing(self) -> list[str]:
        """Return the names of the units that have less noise than the larger one before."""
        names = [*self.noise]
        sizes = [(self.noise[name], self.less.get(name)) for name in names]
        return [name for at, name in enumerate(names) if at == 0 or sizes[at] != sizes[at - 1]]

    def data(self) -> dict[str, Any]:
        """Return the comparison for programs."""
        told = {"points": self.points, "radius_95": self.noise}
        return told | (
            {"thin": self.step, "thinned": self.thinned, "radius_95_thinned": self.less} if self.step else {}
        )


def noise_of_units(inquiry: Any, budget: Guarantee) -> NoiseOfUnits | None:
    """Return the noise of the points of a typical person for several units; None if that person has one point.

    Parameters
    ----------
    inquiry : FilePoints
        A release up to its charge, with the times of its points.
    budget : CGP or GP
        The budget, whatever unit it is for.
    """
    sizes = inquiry.people.sizes
    typical = int(np.argsort(sizes, kind="stable")[len(sizes) // 2])
    mine = inquiry.timed.points.of(typical)
    n = len(mine.times)
    if n < 2:
        return None
    step, rest = "", mine
    for each in _STEPS:
        rest = mine.thinned(as_duration("thin", each))
        if 2 * len(rest.times) <= n:
            step = each
            break
    area = inquiry.plane.area
    less = _noise(rest, budget, area) if step else {}
    return NoiseOfUnits(n, len(sizes) == 1, _noise(mine, budget, area), step, len(rest.times), less)


def _noise(points: Any, budget: Guarantee, area: Any) -> dict[str, float]:
    """Return the 95% error radius of a single point for each unit, at the busiest time."""
    found = {}
    for metric in map(as_metric, COMPARED):
        promised = budget.under_unit(metric)
        how: dict[str, Any] = {promised.symbol: promised, "n": len(points.times), "largest": points.largest(metric)}
        found[metric.name] = plan("points", **how, each=True, area=area).error
    return found
