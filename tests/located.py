"""Points whose doubles are off, and summaries of them, worked out to many digits.

Nothing here is taken from geoveil but the doubles, their bound and the balls that are to be judged.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from flint import arb

from geoveil.geo.tangent import Tangent
from geoveil.mechanisms import Additive, sample_people
from geoveil.noise import Ball, Reals, stacked
from geoveil.privacy import CGP, GP
from geoveil.queries import SUMMARIES, Distance
from geoveil.queries.evaluation import away, support
from geoveil.queries.lipschitz_query import LipschitzQuery
from tests.oracle import Floats
from tests.reference import Digits, Family, Locate, Located, Noise, Real, Record, Script, Tape

Rows = list[list[Real]]

#: A place, and how far an area extends from it, in metres.
BAY = Tangent(37.77, -122.42)
RADIUS = 50_000.0


@dataclass(frozen=True)
class Shifted(Located):
    """Doubles that are off by the given multiple of their bound."""

    shifts: Floats = field(kw_only=True)

    def exact(self, digits: Digits) -> Rows:
        off = digits.real(float(self.error))
        pairs = zip(self.values.tolist(), self.shifts.tolist(), strict=True)
        return [
            [digits.real(a) + digits.real(b) * off for a, b in zip(value, shift, strict=True)]
            for value, shift in pairs
        ]


def shifted(error: float) -> Locate:
    """Points that are off by up to this in each coordinate, most of them by nearly all of it."""

    def locate(points: Floats, generator: np.random.Generator) -> Shifted:
        shifts = np.cbrt(generator.uniform(-1, 1, points.shape))

        def ball(i: int, bits: int) -> Ball:
            return arb(float(points.flat[i])) + arb(float(shifts.flat[i])) * arb(error)

        return Shifted(points, error, ball, shifts=shifts)

    return locate


@dataclass(frozen=True)
class Projected(Located):
    """Degrees of WGS 84, projected to the tangent plane at a place."""

    degrees: Floats = field(kw_only=True)
    place: Tangent = field(kw_only=True, default=BAY)

    def exact(self, digits: Digits) -> Rows:
        """By definition: geocentric vectors, and their products with east and north at the place."""
        (cos_lat, sin_lat), (cos_lon, sin_lon) = (digits.circle(angle) for angle in (self.place.lat, self.place.lon))
        zero = digits.real(0.0)
        axes = [[-sin_lon, cos_lon, zero], [-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat]]
        origin = geocentric(digits, self.place.lon, self.place.lat)
        found = []
        for lon, lat in self.degrees.tolist():
            shift = [a - b for a, b in zip(geocentric(digits, lon, lat), origin, strict=True)]
            found.append([_dot(shift, axis) for axis in axes])
        return found


def geocentric(digits: Digits, lon: float, lat: float) -> list[Real]:
    """A place as a vector from the centre of the Earth."""
    f = digits.real(1.0) / (digits.real(298257223563.0) / digits.real(1e9))
    flat = f * (2 - f)
    (cos_lat, sin_lat), (cos_lon, sin_lon) = digits.circle(lat), digits.circle(lon)
    across = digits.real(6378137.0) / digits.sqrt(1 - flat * sin_lat * sin_lat)
    return [across * cos_lat * cos_lon, across * cos_lat * sin_lon, across * (1 - flat) * sin_lat]


def of_degrees(degrees: Floats, place: Tangent = BAY, radius: float = RADIUS) -> Projected:
    """Points of degrees, as geoveil projects them."""
    metres = place.forward(degrees, radius)
    return Projected(metres.values, metres.error, metres.ball, degrees=degrees, place=place)


def projected(points: Floats, generator: np.random.Generator) -> Projected:
    """Degrees of about these points."""
    return of_degrees(BAY.inverse(points))


def all_different(points: Floats, generator: np.random.Generator) -> Projected:
    """Degrees of about these points; of two that would be the same, one is the next double to the north."""
    degrees = BAY.inverse(points)
    first = np.unique(degrees, axis=0, return_index=True)[1]
    again = np.delete(np.arange(len(degrees)), first)
    degrees[again, 1] = np.nextafter(degrees[again, 1], 90)
    return of_degrees(degrees)


# Summaries by their definitions, of points in the plane with many digits.


def _dot(a: list[Real], b: list[Real]) -> Real:
    return sum(s * t for s, t in zip(a, b, strict=True))


def _length(digits: Digits, a: list[Real], b: list[Real]) -> Real:
    shift = [s - t for s, t in zip(a, b, strict=True)]
    return digits.sqrt(_dot(shift, shift))


def _middle(numbers: list[Real]) -> Real:
    ordered = sorted(numbers)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def _means(points: Rows) -> list[Real]:
    return [sum(column) / len(points) for column in zip(*points, strict=True)]


def _radius(digits: Digits, points: Rows) -> Real:
    """The largest of all smallest circles of two and three points."""

    def square(a: list[Real], b: list[Real]) -> Real:
        shift = [s - t for s, t in zip(a, b, strict=True)]
        return _dot(shift, shift)

    found = [square(a, b) / 4 for a, b in itertools.combinations(points, 2)]
    for (ax, ay), (bx, by), (cx, cy) in itertools.combinations(points, 3):
        triple = [[ax, ay], [bx, by], [cx, cy]]
        sides = sorted(square(a, b) for a, b in itertools.combinations(triple, 2))
        doubled = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if sides[0] + sides[1] > sides[2] and doubled != 0:  # acute: the radius is abc/(4·area)
            found.append(sides[0] * sides[1] * sides[2] / (4 * doubled * doubled))
    return digits.sqrt(max(found)) if found else digits.real(0.0)


PLACE = np.array([700.0, -300.0])
#: Directions of which none is longer than 1.
_ANGLES = 2 * np.pi * np.arange(12) / 12
DIRECTIONS = (1 - 2.0**-50) * np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])

TRUTHS: dict[str, Callable[[Digits, Rows], list[Real]]] = {
    "mean": lambda digits, points: _means(points),
    "center": lambda digits, points: [(min(c) + max(c)) / 2 for c in zip(*points, strict=True)],
    "median": lambda digits, points: [_middle(list(c)) for c in zip(*points, strict=True)],
    "bounds": lambda digits, points: [end(c) for end in (min, max) for c in zip(*points, strict=True)],
    "radius": lambda digits, points: [_radius(digits, points)],
    "radius_of_gyration": lambda digits, points: [
        digits.sqrt(sum(_length(digits, p, _means(points)) ** 2 for p in points) / len(points))
    ],
    "diameter": lambda digits, points: [
        max((_length(digits, a, b) for a, b in itertools.combinations(points, 2)), default=digits.real(0.0))
    ],
    "distance": lambda digits, points: [
        min(_length(digits, p, [digits.real(float(c)) for c in PLACE]) for p in points)
    ],
    "support": lambda digits, points: [
        max(_dot(p, [digits.real(float(c)) for c in u]) for p in points) for u in DIRECTIONS
    ],
}


@dataclass(frozen=True)
class Support(LipschitzQuery):
    """How far points reach in some directions, as a vector."""

    name = "support"
    kind = "value"

    def evaluate(self, x: Floats | Reals) -> Reals:
        return support(x, DIRECTIONS)

    @property
    def size(self) -> int:
        return len(DIRECTIONS)

    @property
    def constant(self) -> float:
        return 4.0


def question(name: str, n: int, guarantee: CGP | GP) -> LipschitzQuery:
    """The question whose true value is worked out above."""
    if name == "support":
        return Support(n, 2, guarantee)
    if name == "distance":
        return Distance(n, 2, guarantee, measure=lambda x: away(x, PLACE, public=True), fn_error=0.0)
    return SUMMARIES[name](n, 2, guarantee)


@dataclass(frozen=True)
class Summaries(Family):
    """A summary of each of many persons, evaluated for all at once or for one after another."""

    name: str
    persons: int
    n: int
    guarantee: CGP | GP
    locate: Locate
    together: bool = True

    @property
    def query(self) -> LipschitzQuery:
        """What is asked of each."""
        return question(self.name, self.n, self.guarantee)

    def inputs(self, seed: int) -> Located:
        """Persons who move, persons who stand still, and persons on two places that are neighbouring doubles."""
        generator = np.random.default_rng([seed, 4])
        points = generator.uniform(-1000, 1000, (self.persons, self.n, 2))
        points[::5] = points[::5, :1]
        points[1::5, self.n // 2 :] = np.nextafter(points[1::5, :1], np.inf)
        points[2::5] = points[2::5].round(-2)
        found = self.locate(points.reshape(-1, 2), generator)
        assert isinstance(found, Located)
        return found

    @property
    def noise(self) -> Noise:
        """The noise on the values of all."""
        mechanisms: list[Additive] = [self.query.mechanism] * self.persons
        return Noise(mechanisms, [1] * self.persons, self.query.size)

    def evaluated(self, inputs: Reals) -> Reals:
        """The true values as geoveil knows them, as rows."""
        if self.together:
            return self.query.evaluate_people(inputs, np.full(self.persons, self.n))
        parts = (inputs[start : start + self.n] for start in range(0, len(inputs), self.n))
        return stacked([self.query.evaluate(part) for part in parts])

    def truths(self, inputs: Located, digits: Digits) -> list[Real]:
        """The true values, one number after another."""
        rows = inputs.exact(digits)
        parts = (rows[start : start + self.n] for start in range(0, len(rows), self.n))
        return [number for part in parts for number in TRUTHS[self.name](digits, part)]

    def outcome(self, inputs: Reals, source: Tape) -> list[float]:
        alone = np.ones(self.persons, dtype=np.int64)
        noisy = sample_people(self.noise.mechanisms, alone, self.evaluated(inputs), source)
        return [float(number) for number in noisy.flat]

    def expected(self, inputs: Located, digits: Digits, script: Script) -> list[float]:
        return self.noise.rounded(self.truths(inputs, digits), digits, script)

    def draws(self, log: list[Record]) -> int:
        return self.persons * self.query.size
