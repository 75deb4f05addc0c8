"""Follow somebody through released points: a filter that switches between staying and ways to travel.

It uses public habits and what was released, so it costs no privacy. The belief is a mixture of a few Gaussian parts.
Positions are metres of the plane, with the middle of the area at the origin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import exp, expm1, log
from operator import attrgetter
from typing import NamedTuple, TypedDict

from geoveil.movement.habits import Habits
from geoveil.movement.mixture import STAY, MixturePart, merge, merging_cost
from geoveil.movement.places import PlaceMemory

__all__ = ["LONGEST", "STEP", "Filter", "FilterState", "Motions", "motions"]

#: Longest step of a prediction in seconds, and the largest number of them: nothing changes after six hours unseen.
STEP, LONGEST = 600.0, 36
#: Weight below which a part is dropped, and below which no part is begun at a place.
_LEAST, _FAINT = 1e-7, 1e-6
#: A part is not begun at a place that is farther than this: the negative exponent of its likelihood.
_FAR = 14.0
#: Places at which stays are begun in one step, the likeliest: the time of a step must not grow with what was learnt.
_CANDIDATES = 3
#: Steps whose coefficients are kept.
_KEPT = 64


class _Way(NamedTuple):
    """What happens in a step of some seconds with one way to travel."""

    #: Shares of the velocity that is kept, and seconds for which it carries.
    kept: float
    reach: float
    #: What the step adds to the variance of a position, to its covariance with the velocity, and to that of velocity.
    spread: float
    tie: float
    drift: float
    #: Chances that a trip goes on, that it ends, and that a stay ends with a trip of this kind.
    on: float
    end: float
    begin: float
    #: Variances and covariance of a trip that began within the step.
    begun_spread: float
    begun_tie: float
    begun_drift: float


class Motions(NamedTuple):
    """What happens in a step of some seconds: the chance that a stay goes on, and each way to travel."""

    stay: float
    ways: tuple[_Way, ...]


def motions(habits: Habits, seconds: float) -> Motions:
    """Return what happens in a step.

    Notes
    -----
    The velocity v of a coordinate is an Ornstein-Uhlenbeck process with variance s² and memory r, and the position its
    integral. With f = exp(-t/r), a step of t seconds multiplies the velocity by f, adds r(1-f)·v to the position, and
    adds noise with variances s²r(2t - r(3 - 4f + f²)) and s²(1-f²) and covariance s²r(1-f)².
    """
    ways = []
    ended = -expm1(-seconds / habits.stay)
    for way in habits.travels:
        f, r, power = exp(-seconds / way.memory), way.memory, way.speed**2
        ways.append(
            _Way(
                kept=f,
                reach=r * (1 - f),
                spread=power * r * (2 * seconds - r * (3 - 4 * f + f * f)),
                tie=power * r * (1 - f) ** 2,
                drift=power * (1 - f * f),
                on=exp(-seconds / way.duration),
                end=-expm1(-seconds / way.duration),
                begin=way.share * ended,
                begun_spread=power * seconds**2 / 3,
                begun_tie=power * seconds / 2,
                begun_drift=power,
            )
        )
    return Motions(exp(-seconds / habits.stay), tuple(ways))


class FilterState(TypedDict):
    """A filter as numbers, to be stored."""

    time: float | None
    parts: list[list[float]]
    places: list[list[float]]


class Filter:
    """The belief about a location, from what was released so far.

    Parameters
    ----------
    habits : Habits
        Public numbers on how the person moves.
    most : int
        The largest number of parts that are kept from one step to the next.
    state : FilterState, optional
        A state to go on from.
    """

    def __init__(self, habits: Habits, most: int = 6, state: FilterState | None = None) -> None:
        self.habits, self._most = habits, most
        self._motions: dict[float, Motions] = {}
        if state is not None:
            self.time = state["time"]
            self.parts = [MixturePart.restored(part) for part in state["parts"]]
            self.places = PlaceMemory(habits, state["places"])
            return
        self.time = None
        self.places = PlaceMemory(habits)
        usual, square = habits.travels[0], habits.spread**2
        moving = usual.duration / (habits.stay + usual.duration)
        self.parts = [
            MixturePart(1 - moving, STAY, 0.0, 0.0, square),
            MixturePart(moving, 1, 0.0, 0.0, square, drift=usual.speed**2),
        ]

    def state(self) -> FilterState:
        """Return the filter as numbers."""
        return {"time": self.time, "parts": [each.state() for each in self.parts], "places": self.places.state()}

    def step(self, time: float) -> None:
        """Move the belief to a later time, in seconds."""
        if self.time is not None and time > self.time:
            seconds = time - self.time
            steps = min(math.ceil(seconds / STEP), LONGEST)
            for _ in range(steps):
                self._predict(min(seconds / steps, STEP))
            lost = MixturePart(-expm1(-seconds / self.habits.lost), STAY, 0.0, 0.0, self.habits.spread**2)
            self.parts.append(lost)
        self.time = time

    def update(self, x: float, y: float, variance: float) -> None:
        """Learn from a released point, given the variance of the noise on each of its coordinates."""
        logs = []
        for a in self.parts:
            total = a.spread + variance
            dx, dy = x - a.x, y - a.y
            gain, pull, rest = a.spread / total, a.tie / total, variance / total
            logs.append(log(a.weight / total) - (dx * dx + dy * dy) / (2 * total))
            a.x += gain * dx
            a.y += gain * dy
            if a.mode:
                a.u += pull * dx
                a.v += pull * dy
                a.drift -= pull * a.tie
                a.tie *= rest
            a.spread *= rest
        top = max(logs)
        weights = [exp(each - top) for each in logs]
        total = sum(weights)
        for a, weight in zip(self.parts, weights, strict=True):
            a.weight = weight / total
        # A weight of 0 has no logarithm.
        self.parts = [a for a in self.parts if a.weight > 0]
        likeliest = max(self.parts, key=lambda a: a.weight)
        if not likeliest.mode and likeliest.weight >= 0.5 and likeliest.age >= self.habits.settled:
            self.places.remember(likeliest)

    def settle(self, time: float, x: float, y: float, variance: float) -> None:
        """Forget the past: at this time somebody stays around here, as is known from elsewhere."""
        self.time = time
        self.parts = [MixturePart(1.0, STAY, x, y, variance)]

    def copy(self) -> Filter:
        """Return a filter with the same belief, to look ahead."""
        return Filter(self.habits, self._most, self.state())

    def _predict(self, seconds: float) -> None:
        """Move all parts by one step: stays may end with a trip, and trips with a stay, here or at a known place."""
        change = self._motions.get(seconds)
        if change is None:
            if len(self._motions) >= _KEPT:
                self._motions.clear()
            change = self._motions[seconds] = motions(self.habits, seconds)
        begun: dict[int, MixturePart] = {}
        arrived: dict[int, MixturePart] = {}
        stopped: MixturePart | None = None
        for a in self.parts:
            if not a.mode:
                for number, way in enumerate(change.ways, 1):
                    new = MixturePart(
                        a.weight * way.begin,
                        number,
                        a.x,
                        a.y,
                        a.spread + way.begun_spread,
                        tie=way.begun_tie,
                        drift=way.begun_drift,
                    )
                    _add(begun, number, new)
                a.weight *= change.stay
                a.age += seconds
            else:
                way = change.ways[a.mode - 1]
                ended = a.weight * way.end
                _travel(a, way)
                a.weight *= way.on
                if stopped is None:
                    stopped = MixturePart(ended, STAY, a.x, a.y, a.spread)
                else:
                    merge(stopped, MixturePart(ended, STAY, a.x, a.y, a.spread))
                self._stop_at_places(a, ended, arrived)
        self.parts.extend(begun.values())
        self.parts.extend(sorted(arrived.values(), key=attrgetter("weight"))[-_CANDIDATES:])
        if stopped is not None:
            self.parts.append(stopped)
        self.parts = _reduced(self.parts, self._most)

    def _stop_at_places(self, a: MixturePart, ended: float, arrived: dict[int, MixturePart]) -> None:
        """Begin a stay at each known place where a trip may have ended."""
        drawn = ended * self.habits.attraction
        if drawn <= _FAINT * a.spread:
            return
        for number, place in enumerate(self.places.known):
            total = a.spread + place.variance
            dx, dy = place.x - a.x, place.y - a.y
            far = (dx * dx + dy * dy) / (2 * total)
            if far < _FAR:
                weight = drawn * place.visits / (place.visits + 1) / total * exp(-far)
                if weight > _FAINT:
                    gain = a.spread / total
                    new = MixturePart(
                        weight, STAY, a.x + gain * dx, a.y + gain * dy, gain * place.variance, place=number
                    )
                    _add(arrived, number, new)


def _add(parts: dict[int, MixturePart], key: int, part: MixturePart) -> None:
    """Add a part to those of its kind."""
    if (found := parts.get(key)) is None:
        parts[key] = part
    else:
        merge(found, part)


def _travel(a: MixturePart, way: _Way) -> None:
    """Move a part that travels by one step."""
    reach, tie, drift = way.reach, a.tie, a.drift
    a.x += reach * a.u
    a.y += reach * a.v
    a.u *= way.kept
    a.v *= way.kept
    a.spread += 2 * reach * tie + reach * reach * drift + way.spread
    a.tie = way.kept * (tie + reach * drift) + way.tie
    a.drift = way.kept * way.kept * drift + way.drift


def _reduced(parts: Sequence[MixturePart], most: int) -> list[MixturePart]:
    """Merge the parts whose merging costs least until only `most` are left, and let their weights add up to 1."""
    total = sum(a.weight for a in parts)
    kept = [a for a in parts if a.weight > _LEAST * total]
    for a in kept:
        a.weight /= total
    if len(kept) <= most:
        return kept
    # Costs of pairs, in rows below the diagonal: a merger changes only those of the part that it leaves.
    costs = [_costs(kept, row) for row in range(len(kept))]
    while len(kept) > most:
        j = min(range(1, len(kept)), key=[math.inf, *map(min, costs[1:])].__getitem__)
        least = min(costs[j])
        if least == math.inf:
            gone = min(range(len(kept)), key=lambda each: kept[each].weight)
        else:
            gone, i = j, costs[j].index(least)
            merge(kept[i], kept[j])
            a, costs[i] = kept[i], _costs(kept, i)
            for row in range(i + 1, len(kept)):
                b = kept[row]
                costs[row][i] = merging_cost(a, b) if a.mode == b.mode else math.inf
        del kept[gone], costs[gone]
        for after in costs[gone:]:
            del after[gone]
    return kept


def _costs(parts: Sequence[MixturePart], row: int) -> list[float]:
    """Return the costs of merging a part with those before it, which are infinite for other modes."""
    a = parts[row]
    return [merging_cost(a, b) if a.mode == b.mode else math.inf for b in parts[:row]]
