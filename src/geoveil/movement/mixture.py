"""Beliefs about a location: a weighted mixture of Gaussian parts, and what is read off it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import erf, exp, log, sqrt

__all__ = ["STAY", "MixturePart", "chance_within", "geometric_median", "merge", "merging_cost", "radius_of"]

#: The mode of a part that stays; the ways to travel are numbered from 1.
STAY = 0
#: Steps of Weiszfeld's iteration: further ones move the estimate by less than a thousandth of its error.
_STEPS = 8
#: Weight below which a part does not matter for an estimate.
_LIGHT = 1e-4
#: Relative accuracy of a radius, unless its probability is within 0.0005 of the one asked for.
_CLOSE = 1e-2
#: The first bracket of a radius reaches to this share of the guess, or to the guess divided by it.
_NEAR = 0.93


class MixturePart:
    """A possible state of affairs: how likely it is, and where the person is if it is true.

    The mean position is (x, y) and the mean velocity (u, v). Both axes have the same covariance: `spread` is the
    variance of a coordinate, `drift` that of its velocity, and `tie` their covariance. A part that stays has no
    velocity; `age` is the time since it began, and `place` the number of the known place where it is, or -1.
    """

    __slots__ = ("age", "drift", "mode", "place", "spread", "tie", "u", "v", "weight", "x", "y")

    def __init__(
        self,
        weight: float,
        mode: int,
        x: float,
        y: float,
        spread: float,
        *,
        tie: float = 0.0,
        drift: float = 0.0,
        place: int = -1,
    ) -> None:
        self.weight, self.mode, self.x, self.y, self.spread = weight, mode, x, y, spread
        self.tie, self.drift, self.place = tie, drift, place
        self.u = self.v = self.age = 0.0

    def state(self) -> list[float]:
        """Return all numbers of the part, in the order of `__slots__`."""
        return [getattr(self, name) for name in self.__slots__]

    @classmethod
    def restored(cls, state: Sequence[float]) -> MixturePart:
        """Return a part from its numbers."""
        part = cls.__new__(cls)
        for name, value in zip(cls.__slots__, state, strict=True):
            setattr(part, name, value)
        return part


def merge(a: MixturePart, b: MixturePart) -> None:
    """Turn `a` into the Gaussian with the weight, the mean and the covariance of both; the heavier gives the mode."""
    weight = a.weight + b.weight
    mine = a.weight / weight
    other = 1.0 - mine
    apart = mine * other * 0.5
    dx, dy = a.x - b.x, a.y - b.y
    if other > mine:
        a.mode, a.place = b.mode, b.place
    a.weight = weight
    a.x = mine * a.x + other * b.x
    a.y = mine * a.y + other * b.y
    a.spread = mine * a.spread + other * b.spread + apart * (dx * dx + dy * dy)
    a.age = mine * a.age + other * b.age
    if a.mode:
        du, dv = a.u - b.u, a.v - b.v
        a.u = mine * a.u + other * b.u
        a.v = mine * a.v + other * b.v
        a.tie = mine * a.tie + other * b.tie + apart * (dx * du + dy * dv)
        a.drift = mine * a.drift + other * b.drift + apart * (du * du + dv * dv)


def merging_cost(a: MixturePart, b: MixturePart) -> float:
    """Bound the information that is lost if two parts of one mode are merged (Runnalls 2007)."""
    mine = a.weight / (a.weight + b.weight)
    other = 1.0 - mine
    apart = mine * other * 0.5
    dx, dy = a.x - b.x, a.y - b.y
    spread = mine * a.spread + other * b.spread + apart * (dx * dx + dy * dy)
    if not a.mode:
        return a.weight * log(spread / a.spread) + b.weight * log(spread / b.spread)
    du, dv = a.u - b.u, a.v - b.v
    tie = mine * a.tie + other * b.tie + apart * (dx * du + dy * dv)
    drift = mine * a.drift + other * b.drift + apart * (du * du + dv * dv)
    size = spread * drift - tie * tie
    return a.weight * log(size / (a.spread * a.drift - a.tie * a.tie)) + b.weight * log(
        size / (b.spread * b.drift - b.tie * b.tie)
    )


def geometric_median(parts: Sequence[MixturePart]) -> tuple[float, float]:
    """Return the place with nearly the smallest expected distance to the person.

    It has a smaller median error than the mean, which unlikely far parts pull away. The distance to a Gaussian part is
    taken as √(distance to its mean² + 2·variance).
    """
    x = y = 0.0
    for a in parts:
        x += a.weight * a.x
        y += a.weight * a.y
    likely = [(a.weight, a.x, a.y, 2 * a.spread) for a in parts if a.weight > _LIGHT]
    for _ in range(_STEPS):
        total = east = north = 0.0
        for weight, ax, ay, around in likely:
            pull = weight / sqrt((ax - x) * (ax - x) + (ay - y) * (ay - y) + around)
            total += pull
            east += pull * ax
            north += pull * ay
        x, y = east / total, north / total
    return x, y


def chance_within(parts: Sequence[MixturePart], x: float, y: float, radius: float) -> float:
    """Return the probability that the person is within a distance of a place.

    Notes
    -----
    The squared distance to a part is noncentral chi-square with two degrees of freedom, whose distribution function is
    computed by Sankaran's approximation (1959), which is off by less than 0.013.
    """
    chance = 0.0
    for a in parts:
        if a.weight > _LIGHT:
            square = (a.x - x) * (a.x - x) + (a.y - y) * (a.y - y)
            chance += a.weight * _part_within(square / a.spread, radius * radius / a.spread)
    return chance


def _part_within(off: float, reach: float) -> float:
    """Return the distribution function of noncentral chi-square with two degrees of freedom."""
    if off < 1e-9:
        return 1.0 - exp(-0.5 * reach)
    mean, twice = 2.0 + off, 2.0 + 2.0 * off
    h = 1.0 - 2.0 * mean * (2.0 + 3.0 * off) / (3.0 * twice * twice)
    p = twice / (mean * mean)
    m = (h - 1.0) * (1.0 - 3.0 * h)
    z = (reach / mean) ** h - (1.0 + h * p * (h - 1.0 - 0.5 * (2.0 - h) * m * p))
    return 0.5 * (1.0 + erf(z / (h * sqrt(p) * (2.0 + m * p))))


def radius_of(parts: Sequence[MixturePart], x: float, y: float, chance: float, guess: float = 0.0) -> float:
    """Return the distance from a place within which the person is with this probability.

    It is found by the false position method (Illinois), beginning at the guess.
    """
    if guess <= 0.0:
        guess = 2.5 * max(sqrt(a.spread) for a in parts if a.weight > _LIGHT)
    # A guess from the last ping is near, and brackets widen faster and faster where it is not.
    low, high, factor = guess, guess, _NEAR
    below = above = chance_within(parts, x, y, guess) - chance
    while below > 0.0 and low > 1e-6:
        high, above = low, below
        low, factor = low * factor, max(factor * factor, 0.5)
        below = chance_within(parts, x, y, low) - chance
    while above <= 0.0 and high < 1e9:
        low, below = high, above
        high, factor = high / factor, max(factor * factor, 0.5)
        above = chance_within(parts, x, y, high) - chance
    side = 0
    while high - low > _CLOSE * high:
        at = min(max((low * above - high * below) / (above - below), low + 1e-4 * high), high - 1e-4 * high)
        found = chance_within(parts, x, y, at) - chance
        if found > 0.0:
            high, above = at, found
            below *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            low, below = at, found
            above *= 0.5 if side < 0 else 1.0
            side = -1
        if math.fabs(found) < 5e-4:
            return at
    return high
