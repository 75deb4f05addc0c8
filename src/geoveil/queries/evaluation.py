"""The values of functions of a tuple, as the real numbers they are: doubles, a bound on their error, and balls.

Where a value gets noise, the bound is public: it follows from how large coordinates can be, not from those at hand.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Ball, Reals, as_reals, largest
from geoveil.privacy.metrics import distances
from geoveil.queries.extent import diameter, enclosing, hull_points, reaches

__all__ = [
    "away",
    "enclosing_radius",
    "extremes",
    "farthest",
    "gyration",
    "mean",
    "median",
    "midrange",
    "support",
    "widest",
]

#: Coordinates are smaller than this, in metres.
REACH = 2.0**27
#: The rounding of a double, relatively.
_ULP = 2.0**-53
#: Terms that are added up at once, so that rounding does not grow with the number of points.
PIECE = 64


def away(x: Floats, p: Floats, *, public: bool = False) -> Reals:
    """How far each point is from p.

    A difference, a square, d - 1 sums and a root round d/2 + 2 times in all; d + 8 is taken.
    """
    values = distances(x, p)
    most = 2 * math.sqrt(x.shape[1]) * _reach(x, p) if public else float(values.max())
    error = (x.shape[1] + 8) * _ULP * most + 1e-150

    def ball(i: int, bits: int) -> Ball:
        return _length(_balls(x[i]), _balls(p))

    return Reals(values, error, ball)


def farthest(x: Floats, p: Floats) -> Reals:
    """How far the farthest point is from p."""
    return largest(away(x, p, public=True))


def extremes(x: Floats) -> Reals:
    """The smallest of each coordinate, then the largest; column by column, which is much faster than by rows."""
    return as_reals(np.array([[column.min() for column in x.T], [column.max() for column in x.T]]))


def midrange(x: Floats) -> Reals:
    """The middle between the smallest and the largest of each coordinate."""
    ends = extremes(x).values
    return Reals((ends[0] + ends[1]) / 2, middle_error(x), lambda i, bits: sum(_balls(ends[:, i])) / 2)


def median(x: Floats) -> Reals:
    """The median of each coordinate."""
    middle = [(len(x) - 1) // 2, len(x) // 2]
    ends = np.partition(x, middle, axis=0)[middle]
    return Reals((ends[0] + ends[1]) / 2, middle_error(x), lambda i, bits: sum(_balls(ends[:, i])) / 2)


def mean(x: Floats) -> Reals:
    """The mean of the points.

    Each coordinate is a multiple of a unit, 2^37 of which are out of reach, and a rest of at most half a unit: doubles
    add up 2^16 of the first exactly, and rounding counts for the second alone.
    """
    size = unit(x)
    starts = np.arange(0, len(x), 2**16)

    def average(column: Floats) -> float:
        scaled = column / size
        whole = np.rint(scaled)
        scaled -= whole
        parts = np.concatenate([np.add.reduceat(whole, starts), np.add.reduceat(scaled, starts)])
        return math.fsum(parts) * size / len(column)

    def ball(i: int, bits: int) -> Ball:
        return sum(_balls(x[:, i])) / len(x)

    return Reals(np.array([average(column) for column in x.T]), mean_error(x), ball)


def unit(x: Floats) -> float:
    """A power of two, 2^37 of which are out of reach."""
    return float(2.0 ** (math.frexp(_reach(x))[1] - 38))


def middle_error(x: Floats) -> float:
    """Of the middle between two coordinates."""
    return 2 * _ULP * _reach(x)


def mean_error(x: Floats) -> float:
    """Of a mean's coordinates."""
    return 8 * _ULP * _reach(x)


def gyration_error(x: Floats) -> float:
    """Of a root mean square distance."""
    return math.sqrt(x.shape[1]) * (4 * PIECE * _ULP * _reach(x) + mean_error(x))


def gyration(x: Floats) -> Reals:
    """The root mean square distance to the mean.

    Squares and sums of pieces round by some 70 units in the last place; a mean that is wrong by m adds m² to the mean
    square, and a root of which the square is wrong by q is wrong by at most √q.
    """
    middle = mean(x)
    starts = np.arange(0, len(x), PIECE)
    squares = [np.add.reduceat((column - at) ** 2, starts) for column, at in zip(x.T, middle.values, strict=True)]
    value = math.sqrt(math.fsum(np.concatenate(squares)) / len(x))

    def ball(_: int, bits: int) -> Ball:
        centre = [middle.ball(i, bits) for i in range(x.shape[1])]
        shifts = [ball - at for column, at in zip(x.T, centre, strict=True) for ball in _balls(column)]
        return _root(_dot(shifts, shifts) / len(x))

    return Reals(np.asarray(value), gyration_error(x), ball)


def widest(x: Floats) -> Reals:
    """The largest distance between two points."""
    value = diameter(x)
    error = (x.shape[1] + 8) * _ULP * 2 * math.sqrt(x.shape[1]) * _reach(x) + 1e-150

    def ball(_: int, bits: int) -> Ball:
        ends = np.unique(hull_points(x), axis=0)
        near = [
            _squared(ends[i], ends[j])
            for i in range(len(ends))
            for j in np.flatnonzero(distances(ends[i:], ends[i]) >= value - 2 * error) + i
        ]
        return _root(_ball(max(near, default=Fraction(0))))

    return Reals(np.asarray(value), error, ball)


def support(x: Floats, u: Floats) -> Reals:
    """How far x reaches in directions u: the largest ⟨x_i, u_j⟩ for each j."""
    values = reaches(x, u)
    error = 2 * x.shape[1] * _ULP * math.sqrt(x.shape[1]) * _reach(x)

    distinct = functools.cache(lambda: np.unique(x, axis=0))

    def ball(j: int, bits: int) -> Ball:
        along = distinct() @ u[j]
        near = distinct()[along >= along.max() - 2 * error]
        return functools.reduce(lambda a, b: a.max(b), (_dot(_balls(point), _balls(u[j])) for point in near))

    return Reals(values, error, ball)


def enclosing_radius(x: Floats) -> Reals:
    """The radius of the smallest ball that contains x.

    It is the largest of all smallest balls of d + 1 of the points. Any centre bounds it from above by its farthest
    point, any weights on points bound it from below by Σw|p|² - |Σwp|²: what the balls give is between the two.
    """
    centre, value, boundary, below = enclosing(x)
    error = 2.0**-45 * math.sqrt(x.shape[1]) * _reach(x)
    if value - below > error / 2:  # the search has not got there: balls will
        error = value
    # A radius that is known to e leaves a centre free to be anywhere within √(2·radius·e).
    inside = value - 4 * error - 4 * math.sqrt(value * error)

    @functools.cache
    def ball(_: int, bits: int) -> Ball:
        return _enclosed(np.unique(x[distances(x, centre) >= inside], axis=0), boundary, bits)

    return Reals(np.asarray(value), error, ball)


def _enclosed(points: Floats, boundary: Floats, bits: int) -> Ball:
    """A ball around the radius of the smallest ball; the points on its boundary are a first guess."""
    from flint import arb

    candidates = [_balls(p) for p in points]
    basis: Sequence[Sequence[Ball]] = [_balls(p) for p in boundary]
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


def _basis(points: Sequence[Sequence[Ball]]) -> Sequence[Sequence[Ball]]:
    """Those of a few points whose circumscribed ball is the smallest ball of all of them."""
    most = len(points[0]) + 1
    chosen = [c for size in range(1, most + 1) for c in itertools.combinations(points, size)]
    balls = [(ball[1], subset) for subset in chosen if (ball := _circumscribed(subset)) is not None]
    return max(balls, key=lambda ball: ball[0].mid())[1]


def _circumscribed(points: Sequence[Sequence[Ball]]) -> tuple[list[Ball], Ball] | None:
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


def _squared(a: Floats, b: Floats) -> Fraction:
    """The square of the distance between two points."""
    return sum(((Fraction(s) - Fraction(t)) ** 2 for s, t in zip(a, b, strict=True)), Fraction(0))


def _ball(number: Fraction) -> Ball:
    from flint import arb

    return arb(number.numerator) / arb(number.denominator)


def _balls(numbers: Iterable[float]) -> list[Ball]:
    from flint import arb

    return [arb(float(number)) for number in numbers]


def _dot(a: Sequence[Ball], b: Sequence[Ball]) -> Ball:
    return sum(s * t for s, t in zip(a, b, strict=True))


def _length(a: Sequence[Ball], b: Sequence[Ball]) -> Ball:
    """The distance between two points."""
    shift = [s - t for s, t in zip(a, b, strict=True)]
    return _root(_dot(shift, shift))


def _root(square: Ball) -> Ball:
    """The root of what is at least 0, though the ball may reach below."""
    from flint import arb

    return square.sqrt() if square > 0 else arb(0).union(square.abs_upper().sqrt())


def _reach(*arrays: Floats) -> float:
    """How large coordinates can be; queries that are asked without `geo` may have larger ones."""
    return max(REACH, *(float(np.abs(array).max()) for array in arrays))
