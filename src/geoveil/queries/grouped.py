"""Evaluate functions of many persons' points at once, without a Python call for each person.

The rows of a person are adjacent. The values, one row for each person, have the error bounds of `evaluation`, which
evaluates the same functions for one person.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats
from geoveil.mechanisms.segments import Sizes, similar_sizes, starts_of
from geoveil.queries import evaluation

__all__ = ["diameters", "extremes", "gyrations", "means", "medians", "midranges", "nearest", "radii"]

#: Persons with more points than these are evaluated one by one. Doubles add up 2^16 whole multiples exactly, and
#: PIECE² squares, in two stages, with little rounding.
_MOST, _MOST_SQUARES = 2**16, evaluation.PIECE**2
#: The same for the radius, and for the diameter, which takes all pairs of points.
_MOST_IN_BALL, _MOST_IN_PAIRS = 2**12, 64
#: The largest number of steps in which an enclosing ball grows; it usually takes about ten.
_GROWING = 200


def extremes(x: Floats, sizes: Sizes) -> Floats:
    """Return the minimum of each coordinate, then the maximum, as (persons, 2, d)."""
    starts = starts_of(sizes)
    return np.stack([np.minimum.reduceat(x, starts), np.maximum.reduceat(x, starts)], axis=1)


def midranges(x: Floats, sizes: Sizes) -> Floats:
    """Return the middle between the minimum and the maximum of each coordinate."""
    ends = extremes(x, sizes)
    return np.asarray((ends[:, 0] + ends[:, 1]) / 2)


def medians(x: Floats, sizes: Sizes) -> Floats:
    """Return the median of each coordinate."""
    person, starts = np.repeat(np.arange(len(sizes)), sizes), starts_of(sizes)
    columns = []
    for column in x.T:
        ordered = column[np.lexsort((column, person))]
        columns.append((ordered[starts + (sizes - 1) // 2] + ordered[starts + sizes // 2]) / 2)
    return np.column_stack(columns)


def means(x: Floats, sizes: Sizes) -> Floats:
    """Return the mean of the points; multiples of a unit are added up exactly, only remainders are rounded."""
    unit, starts = evaluation.unit(x), starts_of(sizes)
    scaled = x / unit
    whole = np.rint(scaled)
    scaled -= whole
    sums = (np.add.reduceat(whole, starts) + np.add.reduceat(scaled, starts)) * unit / sizes[:, None]
    return _one_by_one(sums, x, sizes, sizes > _MOST, lambda part: evaluation.mean(part).values)


def gyrations(x: Floats, sizes: Sizes) -> Floats:
    """Return the root mean square distance to the mean; squares are added up in pieces, then the pieces."""
    person = np.repeat(np.arange(len(sizes)), sizes)
    squares = np.square(x - means(x, sizes)[person]).sum(axis=1)
    first = starts_of(sizes)
    pieces = np.flatnonzero((np.arange(len(x)) - first[person]) % evaluation.PIECE == 0)
    sums = np.add.reduceat(squares, pieces)
    radii = np.sqrt(np.add.reduceat(sums, np.searchsorted(pieces, first)) / sizes)[:, None]
    return _one_by_one(radii, x, sizes, sizes > _MOST_SQUARES, lambda part: evaluation.gyration(part).values)


def nearest(distances: Floats, sizes: Sizes) -> Floats:
    """Return the smallest of each person's distances."""
    return np.minimum.reduceat(distances, starts_of(sizes))[:, None]


def diameters(x: Floats, sizes: Sizes) -> Floats:
    """Return the largest distance between two points."""
    largest = np.zeros((len(sizes), 1))
    for persons, rows, _ in similar_sizes(sizes, lambda n: n * n * x.shape[1], sizes <= _MOST_IN_PAIRS):
        points = x[rows]
        squares = np.zeros((*points.shape[:2], points.shape[1]))
        for column in np.moveaxis(points, 2, 0):
            squares += np.square(column[:, :, None] - column[:, None, :])
        largest[persons, 0] = np.sqrt(squares.max(axis=(1, 2)))
    return _one_by_one(largest, x, sizes, sizes > _MOST_IN_PAIRS, lambda part: evaluation.widest(part).values)


def radii(x: Floats, sizes: Sizes) -> tuple[Floats, Floats]:
    """Return upper and lower bounds on the radius of the smallest enclosing ball.

    They differ only by rounding if the search has ended. In more than three dimensions, and for persons with very many
    points, there is no search and the bounds are 0 and -∞.
    """
    above, below = np.full((2, len(sizes), 1), [[[0.0]], [[-np.inf]]])
    solved = (sizes <= _MOST_IN_BALL) & (x.shape[1] <= 3)
    for persons, rows, _ in similar_sizes(sizes, lambda n: n * x.shape[1], solved):
        above[persons, 0], below[persons, 0] = _enclosing(x[rows])
    return above, below


def _enclosing(points: Floats) -> tuple[Floats, Floats]:
    """Return upper and lower bounds on the enclosing radii of m tuples of n points each, (m, n, d).

    As in `extent.enclosing`, the farthest point outside is added to the few points that determine the ball, until no
    point is outside by more than rounding. Any centre bounds the radius from above by the distance of its farthest
    point; any weights w on points p bound it from below by the root of Σw|p|² - |Σwp|².
    """
    m, _, d = points.shape
    points = points - points[:, :1]
    above, below = np.zeros(m), np.zeros(m)
    # The tuples whose balls still grow, and the points that determine each ball.
    left, few = np.arange(m), points[:, :1].repeat(d + 1, axis=1)
    centres, radius = points[:, 0], np.full(m, -1.0)
    for _ in range(_GROWING):
        if not len(left):
            break
        away = np.square(points - centres[:, None]).sum(axis=2)
        farthest = away.argmax(axis=1)
        above[left] = np.sqrt(away.max(axis=1))
        grown = np.concatenate([few, np.take_along_axis(points, farthest[:, None, None], axis=1)], axis=1)
        centres, few, larger, least = _balls_of_few(grown)
        going = (above[left] > radius * (1 + 2.0**-46)) & (larger > radius)
        # The upper bound is that of the last centre, the lower bound the largest found.
        below[left] = np.maximum(below[left], least)
        left, points, centres, few, radius = left[going], points[going], centres[going], few[going], larger[going]
    return above, below


def _balls_of_few(points: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the smallest enclosing balls of m tuples of d + 2 points each, (m, d + 2, d).

    Returned are the centres, the points on the boundaries, the radii, and lower bounds on the radii.

    The smallest ball is the largest of the circumscribed balls of at most d + 1 of the points, among those whose
    centre is in the convex hull of these points. The last point is outside the ball of the others, so it is on the
    boundary of the new ball.
    """
    m, count, d = points.shape
    best = np.full(m, -1.0)
    centres, few = points[:, 0].copy(), points[:, :1].repeat(d + 1, axis=1)
    shares = np.zeros((m, d + 1))
    shares[:, 0] = 1.0
    for size in range(2, d + 2):
        for others in itertools.combinations(range(count - 1), size - 1):
            corners = points[:, (*others, count - 1)]
            weights, flat = _weights(corners)
            square = np.square(corners[:, 0] - _weighted(weights, corners)).sum(axis=1)
            better = ~flat & (weights.min(axis=1) >= 0) & (square > best)
            best[better] = square[better]
            centres[better] = _weighted(weights[better], corners[better])
            few[better, :size], few[better, size:] = corners[better], corners[better, :1]
            shares[better, :size], shares[better, size:] = weights[better], 0.0
    best = np.maximum(best, 0.0)
    shifts = few - centres[:, None]
    least = (shares * np.square(shifts).sum(axis=2)).sum(axis=1) - np.square(_weighted(shares, shifts)).sum(axis=1)
    return centres, few, np.sqrt(best), np.sqrt(np.maximum(least, 0.0))


def _weights(corners: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the weights on corners, (m, s, d), of the centre of the sphere through them, and where there is none."""
    spread = corners[:, 1:] - corners[:, :1]
    if corners.shape[1] == 2:
        return np.full(corners.shape[:2], 0.5), np.zeros(len(corners), dtype=bool)
    gram = spread @ spread.transpose(0, 2, 1)
    squares = np.diagonal(gram, axis1=1, axis2=2)
    # In units of the sides, so that the determinant depends on the shape and not on the size.
    sides = np.sqrt(squares)
    flat = (sides == 0).any(axis=1)
    sides = np.where(sides == 0, 1.0, sides)
    shape = gram / (sides[:, :, None] * sides[:, None, :])
    if corners.shape[1] == 3:
        # By Cramer's rule, which is much faster than LAPACK for matrices of two rows.
        cosine = shape[:, 0, 1]
        determinant = (1 - cosine) * (1 + cosine)
        flat |= ~(determinant > 2.0**-40)
        rest = (sides - cosine[:, None] * sides[:, ::-1]) / (2 * np.where(flat, 1.0, determinant)[:, None] * sides)
    else:
        flat |= ~(np.linalg.det(shape) > 2.0**-40)
        shape[flat] = np.eye(shape.shape[1])
        rest = np.linalg.solve(shape, sides[:, :, None] / 2)[:, :, 0] / sides
    return np.concatenate([1 - rest.sum(axis=1, keepdims=True), rest], axis=1), flat


def _weighted(weights: Floats, points: Floats) -> Floats:
    """Return the weighted sum of each tuple's points."""
    return np.asarray((weights[:, :, None] * points).sum(axis=1))


def _one_by_one(
    found: Floats, x: Floats, sizes: Sizes, large: NDArray[np.bool_], alone: Callable[[Floats], Floats]
) -> Floats:
    """Return the values found, after evaluating persons with too many points (`large`) one by one."""
    ends = np.cumsum(sizes)
    for person in np.flatnonzero(large):
        found[person] = alone(x[ends[person] - sizes[person] : ends[person]])
    return found
