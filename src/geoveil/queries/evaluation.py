"""Evaluate functions of a tuple of points as the real numbers they are: doubles, a bound on their error, and balls.

The points are real numbers themselves: coordinates in metres are the doubles that were given, without error, and
projected degrees are doubles with a public bound on their error. If every coordinate may be wrong by e, a point may
be wrong by √d·e, and a function that is K-Lipschitz under dist_inf by K·√d·e. Where a value gets noise, its whole
bound is public: it follows from how large coordinates can be and from e, not from the coordinates at hand.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats
from geoveil.mechanisms.segments import Sizes, similar_sizes
from geoveil.noise import Ball, Reals, as_reals, largest, ranked, smallest
from geoveil.privacy.metrics import distances
from geoveil.queries.extent import diameter, enclosing, reaches, spans
from geoveil.queries.query import Tuple

__all__ = [
    "away",
    "displacement",
    "enclosing_radius",
    "extremes",
    "farthest",
    "gyration",
    "mean",
    "median",
    "midrange",
    "support",
    "support_each",
    "widest",
]

#: The coordinates of one point, as balls.
_Point: TypeAlias = Sequence[Ball]

#: Coordinates are smaller than this, in metres.
REACH = 2.0**27
#: The rounding of a double, relatively.
_ULP = 2.0**-53
#: Terms that are added up at once, so that rounding does not grow with the number of points.
PIECE = 64
#: Persons with more points than this have the vertices of their hull sorted out first.
_FEW = 128


def coordinate_error(x: Reals) -> float:
    """Return how far a coordinate can be from its double."""
    return float(np.max(x.error))


def displacement(x: Reals) -> float:
    """Return how far a point can be from its doubles, in metres."""
    return math.sqrt(x.shape[1]) * coordinate_error(x) * (1 + 2.0**-50)


def away(x: Tuple, p: Floats, *, public: bool = False) -> Reals:
    """Return the distance of each point from p.

    A difference, a square, d - 1 sums and a root round d/2 + 2 times in all; d + 8 is taken.
    """
    x = as_reals(x)
    values = distances(x.values, p)
    most = 2 * math.sqrt(x.shape[1]) * _reach(x.values, p) if public else float(values.max())
    error = (x.shape[1] + 8) * _ULP * most + 1e-150 + displacement(x)

    def ball(i: int, bits: int) -> Ball:
        return _length(_point(x, i, bits), _balls(p))

    return Reals(values, error, ball)


def farthest(x: Tuple, p: Floats) -> Reals:
    """Return the largest distance of a point from p."""
    return largest(away(x, p, public=True))


def extremes(x: Tuple) -> Reals:
    """Return the smallest of each coordinate, then the largest, as (2, d)."""
    columns = as_reals(x).columns()
    return _row([*map(smallest, columns), *map(largest, columns)]).reshaped(2, -1)


def midrange(x: Tuple) -> Reals:
    """Return the middle between the smallest and the largest of each coordinate."""
    x = as_reals(x)
    return _row([_middle(smallest(column), largest(column), middle_error(x)) for column in x.columns()])


def median(x: Tuple) -> Reals:
    """Return the median of each coordinate."""
    x = as_reals(x)
    low, high = (len(x) - 1) // 2, len(x) // 2

    def middle(column: Reals) -> Reals:
        first = ranked(column, low)
        return _middle(first, first if low == high else ranked(column, high), middle_error(x))

    return _row([middle(column) for column in x.columns()])


def _middle(a: Reals, b: Reals, error: float) -> Reals:
    return Reals((a.values + b.values) / 2, error, lambda i, bits: (a.ball(i, bits) + b.ball(i, bits)) / 2)


def _row(numbers: Sequence[Reals]) -> Reals:
    """Return single numbers with the same bound as an array."""
    return Reals(
        np.array([float(number.values) for number in numbers]),
        numbers[0].error,
        lambda i, bits: numbers[i].ball(0, bits),
    )


def mean(x: Tuple) -> Reals:
    """Return the mean of the points.

    Each coordinate is a multiple of a unit, 2^37 of which are out of reach, and a rest of at most half a unit: doubles
    add up 2^16 of the first exactly, and rounding counts for the second alone.
    """
    x = as_reals(x)
    size = unit(x.values)
    starts = np.arange(0, len(x), 2**16)

    def average(column: Floats) -> float:
        scaled = column / size
        whole = np.rint(scaled)
        scaled -= whole
        parts = np.concatenate([np.add.reduceat(whole, starts), np.add.reduceat(scaled, starts)])
        return math.fsum(parts) * size / len(column)

    def ball(i: int, bits: int) -> Ball:
        return sum(x.ball(j, bits) for j in range(i, x.values.size, x.shape[1])) / len(x)

    return Reals(np.array([average(column) for column in x.values.T]), mean_error(x), ball)


def unit(x: Floats) -> float:
    """Return a power of two, 2^37 of which are out of reach."""
    return float(2.0 ** (math.frexp(_reach(x))[1] - 38))


def middle_error(x: Reals) -> float:
    """Return the bound for the middle between two coordinates."""
    return 2 * _ULP * _reach(x.values) + coordinate_error(x)


def mean_error(x: Reals) -> float:
    """Return the bound for a mean's coordinates."""
    return 8 * _ULP * _reach(x.values) + coordinate_error(x)


def gyration_error(x: Reals) -> float:
    """Return the bound for a root mean square distance, which is 1-Lipschitz."""
    rounding = (4 * PIECE + 8) * _ULP * _reach(x.values)
    return math.sqrt(x.shape[1]) * rounding + displacement(x)


def gyration(x: Tuple) -> Reals:
    """Return the root mean square distance to the mean.

    Squares and sums of pieces round by some 70 units in the last place; a mean that is wrong by m adds m² to the mean
    square, and a root of which the square is wrong by q is wrong by at most √q.
    """
    x = as_reals(x)
    middle = mean(x)
    starts = np.arange(0, len(x), PIECE)
    columns = zip(x.values.T, middle.values, strict=True)
    squares = [np.add.reduceat((column - at) ** 2, starts) for column, at in columns]
    value = math.sqrt(math.fsum(np.concatenate(squares)) / len(x))

    def ball(_: int, bits: int) -> Ball:
        centre = [middle.ball(i, bits) for i in range(x.shape[1])]
        shifts = [x.ball(i, bits) - centre[i % x.shape[1]] for i in range(x.values.size)]
        return _root(_dot(shifts, shifts) / len(x))

    return Reals(np.asarray(value), gyration_error(x), ball)


def widest(x: Tuple) -> Reals:
    """Return the largest distance between two points, which is 2-Lipschitz."""
    x = as_reals(x)
    value = diameter(x.values)
    error = widest_error(x)

    def ball(_: int, bits: int) -> Ball:
        from flint import arb

        points = _distinct(x, spans(x.values, value - 2 * error), bits)
        # Where all points are within the error of each other, the balls tell which of them can be the ends.
        ends, off = _recentred(points)
        least = diameter(ends) * (1 - (x.shape[1] + 8) * 2.0**-50) - 4 * math.sqrt(x.shape[1]) * off
        squares = [
            _squared(points[i], points[j])
            for i in spans(ends, least).tolist()
            for j in np.flatnonzero(distances(ends[i:], ends[i]) >= least) + i
        ]
        return _root(functools.reduce(lambda a, b: a.max(b), squares, arb(0)))

    return Reals(np.asarray(value), error, ball)


def widest_error(x: Reals) -> float:
    """Return the bound for a largest distance."""
    rounding = (x.shape[1] + 8) * _ULP * 2 * math.sqrt(x.shape[1]) * _reach(x.values) + 1e-150
    return rounding + 2 * displacement(x)


def support(x: Tuple, u: Floats) -> Reals:
    """Return how far x reaches in directions u: the largest ⟨x_i, u_j⟩ for each j, which is |u_j|-Lipschitz."""
    x = as_reals(x)
    values = reaches(x.values, u)
    error = support_error(x, u)

    def ball(j: int, bits: int) -> Ball:
        along = x.values @ u[j]
        near = _distinct(x, np.flatnonzero(along >= along.max() - 2 * error), bits)
        return functools.reduce(lambda a, b: a.max(b), (_dot(point, _balls(u[j])) for point in near))

    return Reals(values, error, ball)


def support_each(x: Tuple, sizes: Sizes, u: Floats) -> Reals:
    """Return the same for many persons, whose points are adjacent, as (persons, directions)."""
    x = as_reals(x)
    values, stops = np.empty((len(sizes), len(u))), np.cumsum(sizes)
    for persons, rows, _ in similar_sizes(sizes, lambda n: n * len(u), sizes <= _FEW):
        values[persons] = (x.values[rows] @ u.T).max(axis=1)
    for i in np.flatnonzero(sizes > _FEW):
        values[i] = reaches(x.values[stops[i] - sizes[i] : stops[i]], u)

    def ball(i: int, bits: int) -> Ball:
        person, j = divmod(i, len(u))
        return support(x[int(stops[person] - sizes[person]) : int(stops[person])], u).ball(j, bits)

    return Reals(values, support_error(x, u), ball)


def support_error(x: Reals, u: Floats) -> float:
    """Return the bound for values of the support function."""
    length = max(1.0, float(np.sqrt((u * u).sum(axis=1).max())))
    return 2 * x.shape[1] * _ULP * math.sqrt(x.shape[1]) * _reach(x.values) + length * displacement(x)


def enclosing_radius(x: Tuple) -> Reals:
    """Return the radius of the smallest ball that contains x, which is 1-Lipschitz.

    It is the largest of all smallest balls of d + 1 of the points. Any centre bounds it from above by its farthest
    point, any weights on points bound it from below by Σw|p|² - |Σwp|²: what the balls give is between the two.
    """
    x = as_reals(x)
    centre, value, boundary, below = enclosing(x.values)
    error = enclosing_error(x)
    if not enclosed(x, value, below):  # the search has not got there: balls will
        error += value
    # A radius that is known to e leaves a centre free to be anywhere within √(2·radius·e).
    inside = value - 4 * error - 4 * math.sqrt(value * error)

    @functools.cache
    def ball(_: int, bits: int) -> Ball:
        guess = [int((x.values == point).all(axis=1).argmax()) for point in boundary]
        candidates = np.flatnonzero(distances(x.values, centre) >= inside)
        return _enclosed(_distinct(x, candidates, bits), [_point(x, i, bits) for i in guess], bits)

    return Reals(np.asarray(value), error, ball)


def enclosing_error(x: Reals) -> float:
    """Return the bound for the radius of a smallest ball that was found."""
    return 2.0**-45 * math.sqrt(x.shape[1]) * _reach(x.values) + displacement(x)


def enclosed(x: Reals, above: Any, below: Any) -> Any:
    """Return whether bounds on the radius of a smallest ball leave less open than half of the error stated."""
    return above - below <= (enclosing_error(x) - displacement(x)) / 2


def _point(x: Reals, i: int, bits: int) -> _Point:
    """Return the coordinates of the i-th point."""
    start = i * x.shape[1]
    return [x.ball(j, bits) for j in range(start, start + x.shape[1])]


def _distinct(x: Reals, rows: NDArray[np.int64], bits: int) -> list[_Point]:
    """Return the points of some rows without repetitions.

    Points with the same balls are one point, as far as these balls tell.
    """
    if coordinate_error(x) == 0:
        rows = rows[np.unique(x.values[rows], axis=0, return_index=True)[1]]
    found: dict[object, _Point] = {}
    for row in rows.tolist():
        point = _point(x, row, bits)
        found.setdefault(tuple(end.man_exp() for ball in point for end in (ball.mid(), ball.rad())), point)
    return list(found.values())


def _recentred(points: Sequence[_Point]) -> tuple[Floats, float]:
    """Return points from the first one on as doubles, and how far a coordinate can be from its double."""
    shifts = [a - b for point in points for a, b in zip(point, points[0], strict=True)]
    middles = np.array([float(shift.mid()) for shift in shifts])
    off = max(float(shift.rad()) for shift in shifts) * (1 + 2.0**-50) + 2.0**-52 * float(np.abs(middles).max())
    return middles.reshape(len(points), -1), off


def _enclosed(candidates: Sequence[_Point], basis: Sequence[_Point], bits: int) -> Ball:
    """Return a ball around the radius of the smallest ball; the basis is a first guess of what holds it."""
    from flint import arb

    if _circumscribed(basis) is None:
        basis = _basis(basis)
    while True:
        centre, below = _circumscribed(basis)  # type: ignore[misc]
        lengths = [_length(p, centre) for p in candidates]
        above = functools.reduce(lambda a, b: a.max(b), lengths)
        if not above > below * (1 + arb((1, -bits // 2))):
            return below.union(above)
        beyond = candidates[max(range(len(lengths)), key=lambda i: float(lengths[i].mid() - below.mid()))]
        basis = _basis([*basis, beyond])


def _basis(points: Sequence[_Point]) -> Sequence[_Point]:
    """Those of a few points whose circumscribed ball is the smallest ball of all of them."""
    most = len(points[0]) + 1
    chosen = [c for size in range(1, most + 1) for c in itertools.combinations(points, size)]
    balls = [(ball[1], subset) for subset in chosen if (ball := _circumscribed(subset)) is not None]
    return max(balls, key=lambda ball: ball[0].mid())[1]


def _circumscribed(points: Sequence[_Point]) -> tuple[list[Ball], Ball] | None:
    """The centre of the sphere through few points, in their flat, and a bound from below on their smallest ball.

    None if there is no such sphere or its centre is not between the points; the bound is then that of fewer of them.
    """
    from flint import arb, arb_mat

    first, spread = points[0], [[a - b for a, b in zip(p, points[0], strict=True)] for p in points[1:]]
    if not spread:
        return list(first), arb(0)
    try:
        shares = arb_mat([[2 * _dot(a, b) for b in spread] for a in spread]).solve(
            arb_mat([[_dot(a, a)] for a in spread])
        )
    except ZeroDivisionError:
        return None
    weights = shares.entries()
    if any(w < 0 for w in [*weights, 1 - sum(weights)]):
        return None
    middle = [sum(w * s[i] for w, s in zip(weights, spread, strict=True)) for i in range(len(first))]
    # Weights that may be zero or just below count as at least zero: then the bound holds whatever they are.
    kept = [w.max(arb(0)) for w in [arb(1) - sum(weights), *weights]]
    shared = [w / sum(kept) for w in kept[1:]]
    shift = [sum(w * s[i] for w, s in zip(shared, spread, strict=True)) for i in range(len(first))]
    square = sum(w * _dot(s, s) for w, s in zip(shared, spread, strict=True)) - _dot(shift, shift)
    return [a + b for a, b in zip(first, middle, strict=True)], _root(square)


def _squared(a: _Point, b: _Point) -> Ball:
    """Return the square of the distance between two points."""
    shift = [s - t for s, t in zip(a, b, strict=True)]
    return _dot(shift, shift)


def _balls(numbers: Iterable[float]) -> list[Ball]:
    from flint import arb

    return [arb(float(number)) for number in numbers]


def _dot(a: Sequence[Ball], b: Sequence[Ball]) -> Ball:
    return sum(s * t for s, t in zip(a, b, strict=True))


def _length(a: _Point, b: _Point) -> Ball:
    """Return the distance between two points."""
    return _root(_squared(a, b))


def _root(square: Ball) -> Ball:
    """The root of what is at least 0, though the ball may reach below."""
    from flint import arb

    return square.sqrt() if square > 0 else arb(0).union(square.abs_upper().sqrt())


def _reach(*arrays: Floats) -> float:
    """How large coordinates can be; queries that are asked without `geo` may have larger ones."""
    return max(REACH, *(float(np.abs(array).max()) for array in arrays))
