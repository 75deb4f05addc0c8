"""Evaluate functions of a tuple of points as real numbers: doubles, a bound on their error, and balls.

Balls give the value to any precision when doubles do not suffice. The points are real numbers as well: coordinates in
metres are the doubles that were given, without error; projected degrees are doubles with a public bound on their
error. If every coordinate may be wrong by e, a point may be wrong by √d·e, and a function that is K-Lipschitz under
dist_inf by K·√d·e. For a value that gets noise the whole bound is public: it follows from the largest possible
coordinate and from e, not from the private coordinates.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats
from geoveil.mechanisms.segments import Sizes, similar_sizes
from geoveil.noise import Ball, Reals, as_reals, largest, ranked, smallest
from geoveil.privacy.metrics import distances
from geoveil.queries.ball_points import (
    balls,
    distance,
    distinct,
    dot,
    enclosing_ball,
    point_of,
    relative_doubles,
    root,
    squared_distance,
)
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

#: A public bound on coordinates, in metres.
REACH = 2.0**27
#: The relative rounding error of a double.
_ULP = 2.0**-53
#: The number of terms added up at once, so that rounding errors do not grow with the number of points.
PIECE = 64
#: For persons with more points than this, the support function is computed from the vertices of their hull.
_FEW = 128


def coordinate_error(x: Reals) -> float:
    """Return the largest distance of a coordinate from its double."""
    return float(np.max(x.error))


def displacement(x: Reals) -> float:
    """Return the largest distance of a point from its doubles, in metres."""
    return math.sqrt(x.shape[1]) * coordinate_error(x) * (1 + 2.0**-50)


def away(x: Tuple, p: Floats, *, public: bool = False) -> Reals:
    """Return the distance of each point from p.

    A difference, a square, d - 1 sums and a root have a relative error of at most d/2 + 2 roundings; the bound allows
    d + 8. With `public` the bound does not depend on the points.
    """
    x = as_reals(x)
    values = distances(x.values, p)
    most = 2 * math.sqrt(x.shape[1]) * _reach(x.values, p) if public else float(values.max())
    error = (x.shape[1] + 8) * _ULP * most + 1e-150 + displacement(x)

    def ball(i: int, bits: int) -> Ball:
        return distance(point_of(x, i, bits), balls(p))

    return Reals(values, error, ball)


def farthest(x: Tuple, p: Floats) -> Reals:
    """Return the largest distance of a point from p."""
    return largest(away(x, p, public=True))


def extremes(x: Tuple) -> Reals:
    """Return the minimum of each coordinate, then the maximum, as (2, d)."""
    columns = as_reals(x).columns()
    return _row([*map(smallest, columns), *map(largest, columns)]).reshaped(2, -1)


def midrange(x: Tuple) -> Reals:
    """Return the middle between the minimum and the maximum of each coordinate."""
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
    """Return the middle between two numbers, with this bound on its error."""
    return Reals((a.values + b.values) / 2, error, lambda i, bits: (a.ball(i, bits) + b.ball(i, bits)) / 2)


def _row(numbers: Sequence[Reals]) -> Reals:
    """Return an array of single numbers that have the same error bound."""
    return Reals(
        np.array([float(number.values) for number in numbers]),
        numbers[0].error,
        lambda i, bits: numbers[i].ball(0, bits),
    )


def mean(x: Tuple) -> Reals:
    """Return the mean of the points.

    Each coordinate is split into a multiple of a unit, below 2^37 units, and a remainder of at most half a unit.
    Doubles add up 2^16 such multiples exactly, so only the sum of the remainders is rounded.
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
    """Return a power of two, 2^37 times which exceeds every coordinate."""
    return float(2.0 ** (math.frexp(_reach(x))[1] - 38))


def middle_error(x: Reals) -> float:
    """Return the error bound for the middle between two coordinates."""
    return 2 * _ULP * _reach(x.values) + coordinate_error(x)


def mean_error(x: Reals) -> float:
    """Return the error bound for the coordinates of a mean."""
    return 8 * _ULP * _reach(x.values) + coordinate_error(x)


def gyration_error(x: Reals) -> float:
    """Return the error bound for a root mean square distance, which is 1-Lipschitz."""
    rounding = (4 * PIECE + 8) * _ULP * _reach(x.values)
    return math.sqrt(x.shape[1]) * rounding + displacement(x)


def gyration(x: Tuple) -> Reals:
    """Return the root mean square distance to the mean.

    Squares and sums of pieces are wrong by about 70 units in the last place. A mean that is wrong by m adds m² to the
    mean square, and if a square is wrong by q, its root is wrong by at most √q.
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
        return root(dot(shifts, shifts) / len(x))

    return Reals(np.asarray(value), gyration_error(x), ball)


def widest(x: Tuple) -> Reals:
    """Return the largest distance between two points, which is 2-Lipschitz."""
    x = as_reals(x)
    value = diameter(x.values)
    error = widest_error(x)

    def ball(_: int, bits: int) -> Ball:
        from flint import arb

        points = distinct(x, spans(x.values, value - 2 * error), bits)
        # If all points are within the error of each other, the balls decide which of them can be the ends.
        ends, off = relative_doubles(points)
        least = diameter(ends) * (1 - (x.shape[1] + 8) * 2.0**-50) - 4 * math.sqrt(x.shape[1]) * off
        squares = [
            squared_distance(points[i], points[j])
            for i in spans(ends, least).tolist()
            for j in np.flatnonzero(distances(ends[i:], ends[i]) >= least) + i
        ]
        return root(functools.reduce(lambda a, b: a.max(b), squares, arb(0)))

    return Reals(np.asarray(value), error, ball)


def widest_error(x: Reals) -> float:
    """Return the error bound for the largest distance between two points."""
    rounding = (x.shape[1] + 8) * _ULP * 2 * math.sqrt(x.shape[1]) * _reach(x.values) + 1e-150
    return rounding + 2 * displacement(x)


def support(x: Tuple, u: Floats) -> Reals:
    """Return the support function of x in directions u: the largest ⟨x_i, u_j⟩ for each j, |u_j|-Lipschitz in x."""
    x = as_reals(x)
    values = reaches(x.values, u)
    error = support_error(x, u)

    def ball(j: int, bits: int) -> Ball:
        along = x.values @ u[j]
        near = distinct(x, np.flatnonzero(along >= along.max() - 2 * error), bits)
        return functools.reduce(lambda a, b: a.max(b), (dot(point, balls(u[j])) for point in near))

    return Reals(values, error, ball)


def support_each(x: Tuple, sizes: Sizes, u: Floats) -> Reals:
    """Return the support functions of many persons, whose points are adjacent rows of x, as (persons, directions)."""
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
    """Return the error bound for values of the support function."""
    length = max(1.0, float(np.sqrt((u * u).sum(axis=1).max())))
    return 2 * x.shape[1] * _ULP * math.sqrt(x.shape[1]) * _reach(x.values) + length * displacement(x)


def enclosing_radius(x: Tuple) -> Reals:
    """Return the radius of the smallest ball that contains x, which is 1-Lipschitz.

    It is the largest radius of the smallest balls of d + 1 of the points. Any centre bounds it from above by the
    distance of its farthest point; any weights w on points p bound its square from below by Σw|p|² - |Σwp|². The balls
    enclose both bounds.
    """
    x = as_reals(x)
    centre, value, boundary, below = enclosing(x.values)
    error = enclosing_error(x)
    if not bounds_are_tight(x, value, below):  # the search in doubles has not ended well; balls will decide
        error += value
    # If the radius is known up to e, the centre is known up to √(2·radius·e).
    inside = value - 4 * error - 4 * math.sqrt(value * error)

    @functools.cache
    def ball(_: int, bits: int) -> Ball:
        guess = [int((x.values == point).all(axis=1).argmax()) for point in boundary]
        candidates = np.flatnonzero(distances(x.values, centre) >= inside)
        return enclosing_ball(distinct(x, candidates, bits), [point_of(x, i, bits) for i in guess], bits)

    return Reals(np.asarray(value), error, ball)


def enclosing_error(x: Reals) -> float:
    """Return the error bound for the radius of a smallest enclosing ball whose bounds are tight."""
    return 2.0**-45 * math.sqrt(x.shape[1]) * _reach(x.values) + displacement(x)


def bounds_are_tight(x: Reals, above: float | Floats, below: float | Floats) -> NDArray[np.bool_]:
    """Return whether upper and lower bounds on enclosing radii differ by at most half of the rounding error stated."""
    return np.asarray(above - below <= (enclosing_error(x) - displacement(x)) / 2)


def _reach(*arrays: Floats) -> float:
    """Return a bound on coordinates: the public one, unless a query is used without `geo` on larger coordinates."""
    return max(REACH, *(float(np.abs(array).max()) for array in arrays))
