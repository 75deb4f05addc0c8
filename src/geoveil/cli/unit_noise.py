"""The noise of a file's points for several units of protection, from public numbers of points and times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from geoveil.cli import terminal
from geoveil.wording import unit_name
from geoveil.words import counted, metres

if TYPE_CHECKING:
    from geoveil.privacy import Guarantee

__all__ = ["NoiseOfUnits", "noise_of_units"]

#: The units that are compared, by the names of their metrics.
_COMPARED = ("inf", "1 day", "1 hour", "1")
#: Steps of thinning, of which the first is proposed that leaves at most half of the points.
_STEPS = ("1 minute", "10 minutes", "1 hour", "1 day")
_OPTIONS = {"1 day": "--unit '1 day'", "1 hour": "--unit '1 hour'", "1": "--unit point"}


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

    def sentence(self, budget: str) -> str:
        """Return the comparison in a sentence, with the options to add."""
        whose = "The person" if self.alone else "A typical person"
        names = self._differing()
        told = [f"{metres(self.noise[name])} for {_protecting(name)}" for name in names]
        said = f"{whose} has {self.points:,} points: with {budget}, noise moves 95% of points by at most "
        said += f"{', '.join(told)}."
        if self.step:
            kept = self.step.removeprefix("1 ")
            said += f" Thinned to one every {kept} (--thin {self.step!r}), {counted(self.thinned, 'point')}: "
            said += f"{', '.join(metres(self.less[name]) for name in names)}."
        return said

    def _differing(self) -> list[str]:
        """Return the names of the units that have less noise than the larger one before."""
        names = [*self.noise]
        sizes = [(self.noise[name], self.less.get(name)) for name in names]
        return [name for at, name in enumerate(names) if at == 0 or sizes[at] != sizes[at - 1]]

    def shown(self) -> Iterator[Any]:
        """Yield the comparison as a table."""
        from geoveil.privacy import as_metric

        rows = [(f"all {self.points:,} points", *map(metres, self.noise.values()))]
        if self.step:
            kept = f"one every {self.step.removeprefix('1 ')}: {self.thinned:,}"
            rows.append((kept, *map(metres, self.less.values())))
        yield terminal.bold("\nNoise of a point (95%), by what is protected")
        yield terminal.table(["", *(unit_name(as_metric(name)) for name in self.noise)], rows)

    def data(self) -> dict[str, Any]:
        """Return the comparison for programs."""
        told = {"points": self.points, "radius_95": self.noise}
        return told | (
            {"thin": self.step, "thinned": self.thinned, "radius_95_thinned": self.less} if self.step else {}
        )


def _protecting(name: str) -> str:
    """Return what is protected under the name of a metric, with the option that asks for it."""
    from geoveil.privacy import as_metric

    option = f" ({_OPTIONS[name]})" if name in _OPTIONS else ""
    return ("whole trajectories" if name == "inf" else unit_name(as_metric(name))) + option


def noise_of_units(inquiry: Any, budget: Guarantee) -> NoiseOfUnits | None:
    """Return the noise of the points of a typical person for several units; None if that person has one point.

    Parameters
    ----------
    inquiry : FilePoints
        A release up to its charge, with the times of its points.
    budget : CGP or GP
        The budget, whatever unit it is for.
    """
    import numpy as np

    from geoveil.privacy import as_duration

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
    from geoveil import plan
    from geoveil.privacy import as_metric

    found = {}
    for metric in map(as_metric, _COMPARED):
        promised = budget.under_unit(metric)
        how: dict[str, Any] = {promised.symbol: promised, "n": len(points.times), "largest": points.largest(metric)}
        found[metric.name] = plan("points", **how, each=True, area=area).error
    return found
