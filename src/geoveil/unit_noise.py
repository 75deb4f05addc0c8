"""Compare the noise of a file's points for several units of protection, from public numbers of points and times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geoveil.answering.counted_rows import CountedRows
from geoveil.geo import AreaLike
from geoveil.planning import COMPARED, plan
from geoveil.privacy import Guarantee, as_duration, as_metric

__all__ = ["NoiseOfUnits", "TypicalPerson", "typical_person"]

#: Steps of thinning; the first that leaves at most half of the points is proposed.
_STEPS = ("1 minute", "10 minutes", "1 hour", "1 day")


@dataclass(frozen=True)
class NoiseOfUnits:
    """The 95% error radius of a point of a typical person of a file, for several units.

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
        """Return the names of the units whose noise differs from that of the next larger unit."""
        names = [*self.noise]
        sizes = [(self.noise[name], self.less.get(name)) for name in names]
        return [name for at, name in enumerate(names) if at == 0 or sizes[at] != sizes[at - 1]]

    def data(self) -> dict[str, Any]:
        """Return the comparison for programs."""
        told = {"points": self.points, "radius_95": self.noise}
        return told | (
            {"thin": self.step, "thinned": self.thinned, "radius_95_thinned": self.less} if self.step else {}
        )


@dataclass(frozen=True)
class TypicalPerson:
    """The person of a file with the median number of points: public numbers, from which noise follows.

    Parameters
    ----------
    points : int
        The number of points.
    alone : bool
        Whether the file has one person only.
    largest : dict
        The largest number of points in a unit, by the names of metrics.
    step : str
        The interval in which one point would be kept; empty if thinning is not worth while.
    thinned : int
        The number of points that would remain.
    fewer : dict
        The largest number of points in a unit after thinning.
    area : Area
        The area of the file.
    """

    points: int
    alone: bool
    largest: dict[str, int]
    step: str
    thinned: int
    fewer: dict[str, int]
    area: AreaLike

    def noise(self, budget: Guarantee) -> NoiseOfUnits:
        """Return the noise of this person's points for each unit, with the budget of a guarantee."""
        noise = self._noise(self.points, self.largest, budget)
        less = self._noise(self.thinned, self.fewer, budget) if self.step else {}
        return NoiseOfUnits(self.points, self.alone, noise, self.step, self.thinned, less)

    def _noise(self, n: int, largest: dict[str, int], budget: Guarantee) -> dict[str, float]:
        """Return the 95% error radius of a single point for each unit, at the busiest time."""
        found = {}
        for name, most in largest.items():
            promised = budget.under_unit(as_metric(name))
            how: dict[str, Any] = {promised.symbol: promised, "n": n, "largest": most}
            found[name] = plan("points", **how, each=True, area=self.area).error
        return found


def typical_person(rows: CountedRows) -> TypicalPerson | None:
    """Return the typical person of a file; None if that person has one point.

    Parameters
    ----------
    rows : CountedRows
        The rows of a file, counted with the times of its points.
    """
    sizes, timed = rows.people.sizes, rows.counted.timed
    assert timed is not None
    typical = int(np.argsort(sizes, kind="stable")[len(sizes) // 2])
    mine = timed.facts.chosen(timed.points & (timed.facts.persons == typical))
    n = len(mine)
    if n < 2:
        return None
    step, rest = "", mine
    for each in _STEPS:
        rest = mine.chosen(mine.kept_of_thinned(as_duration("thin", each)))
        if 2 * len(rest) <= n:
            step = each
            break
    largest, fewer = (
        {name: int(points.unit_sizes(as_metric(name)).max()) for name in COMPARED} for points in (mine, rest)
    )
    return TypicalPerson(n, len(sizes) == 1, largest, step, len(rest), fewer, rows.plane.area)
