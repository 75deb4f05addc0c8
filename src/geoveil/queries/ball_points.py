"""Points whose coordinates are balls: their distances, and the smallest ball that encloses them.

A ball is a real number with a bound on its error, of any precision (python-flint's `arb`).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Ball, Reals

__all__ = [
    "Point",
    "balls",
    "distance",
    "distinct",
    "dot",
    "enclosing_ball",
    "point_of",
    "relative_doubles",
    "root",
    "squared_distance",
]

#: The coordinates of one point.
Point: TypeAlias = Sequence[Ball]


def point_of(x: Reals, i: int, bits: int) -> Point:
    """Return the coordinates of the i-th point."""
    start = i * x.shape[1]
    return [x.ball(j, bits) for j in range(start, start + x.shape[1])]


def distinct(x: Reals, rows: NDArray[np.int64], bits: int) -> list[Point]:
    """Return the points of some rows of x, without those whose balls are the same as another point's."""
    if not np.any(x.error):
        rows = rows[np.unique(x.values[rows], axis=0, return_index=True)[1]]
    points: dict[object, Point] = {}
    for row in rows.tolist():
        point = point_of(x, row, bits)
        points.setdefault(tuple(end.man_exp() for ball in point for end in (ball.mid(), ball.rad())), point)
    return list(points.values())


def relative_doubles(points: Sequence[Point]) -> tuple[Floats, float]:
    """Return the points relative to the first one as doubles, and the largest error of a coordinate."""
    shifts = [a - b for point in points for a, b in zip(point, points[0], strict=True)]
    middles = np.array([float(shift.mid()) for shift in shifts])
    off = max(float(shift.rad()) for shift in shifts) * (1 + 2.0**-50) + 2.0**-52 * float(np.abs(middles).max())
    return middles.reshape(len(points), -1), off


def enclosing_ball(candidates: Sequence[Point], basis: Sequence[Point], bits: int) -> Ball:
    """Return the radius of the smallest enclosing ball of some points, as a ball.

    The basis is a first guess of the points on its boundary.
    """
    from flint import arb

    if _circumscribed(basis) is None:
        basis = _basis(basis)
    while True:
        centre, below = _circumscribed(basis)  # type: ignore[misc]
        lengths = [distance(p, centre) for p in candidates]
        above = functools.reduce(lambda a, b: a.max(b), lengths)
        if not above > below * (1 + arb((1, -bits // 2))):
            return below.union(above)
        beyond = candidates[max(range(len(lengths)), key=lambda i: float(lengths[i].mid() - below.mid()))]
        basis = _basis([*basis, beyond])


def _basis(points: Sequence[Point]) -> Sequence[Point]:
    """Return those of a few points whose circumscribed ball is the smallest enclosing ball of all of them."""
    most = len(points[0]) + 1
    chosen = [c for size in range(1, most + 1) for c in itertools.combinations(points, size)]
    balls = [(ball[1], subset) for subset in chosen if (ball := _circumscribed(subset)) is not None]
    return max(balls, key=lambda ball: ball[0].mid())[1]


def _circumscribed(points: Sequence[Point]) -> tuple[list[Ball], Ball] | None:
    """Return the centre of the smallest sphere through a few points, and a lower bound on their enclosing radius.

    Return None if there is no such sphere, or if its centre is outside the convex hull of the points: then fewer of
    them determine the smallest enclosing ball.
    """
    from flint import arb, arb_mat

    first, spread = points[0], [[a - b for a, b in zip(p, points[0], strict=True)] for p in points[1:]]
    if not spread:
        return list(first), arb(0)
    try:
        shares = arb_mat([[2 * dot(a, b) for b in spread] for a in spread]).solve(
            arb_mat([[dot(a, a)] for a in spread])
        )
    except ZeroDivisionError:
        return None
    weights = shares.entries()
    if any(w < 0 for w in [*weights, 1 - sum(weights)]):
        return None
    middle = [sum(w * s[i] for w, s in zip(weights, spread, strict=True)) for i in range(len(first))]
    # Any non-negative weights give a lower bound, so weights that may be slightly negative are set to at least 0.
    kept = [w.max(arb(0)) for w in [arb(1) - sum(weights), *weights]]
    shared = [w / sum(kept) for w in kept[1:]]
    shift = [sum(w * s[i] for w, s in zip(shared, spread, strict=True)) for i in range(len(first))]
    square = sum(w * dot(s, s) for w, s in zip(shared, spread, strict=True)) - dot(shift, shift)
    return [a + b for a, b in zip(first, middle, strict=True)], root(square)


def squared_distance(a: Point, b: Point) -> Ball:
    """Return the square of the distance between two points."""
    shift = [s - t for s, t in zip(a, b, strict=True)]
    return dot(shift, shift)


def balls(numbers: Iterable[float]) -> list[Ball]:
    """Return doubles as exact balls."""
    from flint import arb

    return [arb(float(number)) for number in numbers]


def dot(a: Sequence[Ball], b: Sequence[Ball]) -> Ball:
    """Return the scalar product of two vectors."""
    return sum(s * t for s, t in zip(a, b, strict=True))


def distance(a: Point, b: Point) -> Ball:
    """Return the distance between two points."""
    return root(squared_distance(a, b))


def root(square: Ball) -> Ball:
    """Return the square root of a number that is at least 0, even if its ball reaches below 0."""
    from flint import arb

    return square.sqrt() if square > 0 else arb(0).union(square.abs_upper().sqrt())
