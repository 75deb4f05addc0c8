"""How far a tuple extends: its diameter and the radius of its smallest enclosing ball, in any dimension."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats

__all__ = ["diameter", "enclosing", "hull_points", "reaches", "spans"]


def hull_points(x: Floats) -> Floats:
    """The points among which every extreme of x is attained: the vertices of its convex hull in the plane, else all.

    GEOS decides orientations exactly. Above the plane no library does: an extreme dropped from a nearly flat tuple
    would break the Lipschitz constant of whatever is asked of the rest.
    """
    import shapely

    if x.shape[1] == 1:
        return np.array([x.min(axis=0), x.max(axis=0)])
    if x.shape[1] > 2 or len(x) < 10:  # so few are looked at as fast as sorted out
        return x
    # Of all geometries of many points a line is made the fastest.
    return np.asarray(shapely.get_coordinates(shapely.convex_hull(shapely.linestrings(x))))


def reaches(x: Floats, u: Floats) -> Floats:
    """How far x reaches in directions u: the largest ⟨x_i, u_j⟩ for each j."""
    points = hull_points(x)
    # By blocks: the matrix of a million points and all directions would not fit.
    blocks = [(points[i : i + 2**14] @ u.T).max(axis=0) for i in range(0, len(points), 2**14)]
    return np.asarray(np.max(blocks, axis=0))


def diameter(x: Floats) -> float:
    """The largest distance between two points."""
    from scipy.spatial.distance import cdist

    points = hull_points(x)
    centre = points.mean(axis=0)
    away = np.linalg.norm(points - centre, axis=1)
    known = np.linalg.norm(points - points[away.argmax()], axis=1).max()
    # Of a pair that is farther apart than one already known, no end is nearer to the centre than this.
    ends = points[away >= (1 - 1e-9) * known - away.max()]
    return max(float(cdist(ends[i : i + 256], ends).max()) for i in range(0, len(ends), 256))


def spans(x: Floats, least: float) -> NDArray[np.int64]:
    """Return the rows of x from which another one is at least this far away."""
    from scipy.spatial.distance import cdist

    points = hull_points(x)
    blocks = [cdist(x[i : i + 2**12], points).max(axis=1) for i in range(0, len(x), 2**12)]
    return np.flatnonzero(np.concatenate(blocks) >= least)


def enclosing(x: Floats) -> tuple[Floats, float, Floats, float]:
    """The smallest ball that contains x: its centre, its radius, points on its boundary, and a bound from below.

    The ball of a few points that hold it grows by the farthest point outside, until none is farther than rounding.
    """
    corners = hull_points(x)
    points = corners - corners[0]
    boundary = [int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmax())]
    centre, radius = points[boundary[0]], 0.0
    while True:
        away = ((points - centre) ** 2).sum(axis=1)
        farthest = int(away.argmax())
        grown = [*boundary, farthest]
        middle, kept = _ball_of_few(points[grown])
        larger = float(np.sqrt(((points[grown] - middle) ** 2).sum(axis=1).max()))
        if math.sqrt(away[farthest]) <= radius * (1 + 2.0**-46) or larger <= radius:
            break
        centre, radius, boundary = middle, larger, [grown[i] for i in kept]
    # Whatever the weights, points p from anywhere have Σw|p|² - |Σwp|² ≤ radius².
    spread = points[boundary] - centre
    balanced = np.append(np.zeros(spread.shape[1]), 1.0)
    weights = np.linalg.lstsq(np.vstack([spread.T / max(radius, 1e-300), np.ones(len(spread))]), balanced)[0]
    weights = np.maximum(weights, 0) / np.maximum(weights, 0).sum()
    below = weights @ (spread**2).sum(axis=1) - ((weights @ spread) ** 2).sum()
    return corners[0] + centre, math.sqrt(away.max()), corners[boundary], math.sqrt(max(float(below), 0.0))


def _ball_of_few(points: Floats) -> tuple[Floats, list[int]]:
    """The centre of the smallest ball of a few points, and which of them are on its boundary.

    The algorithm of Fischer, Gärtner and Kutz (2003): a ball that contains all points shrinks, its centre moving
    towards the flat through the points on its boundary, until another point stops it. Where the centre lies in that
    flat, a boundary point of negative weight is let go; if there is none, the ball is the smallest.
    """
    centre = points.mean(axis=0)
    boundary = [int(((points - centre) ** 2).sum(axis=1).argmax())]
    for _ in range(100 * len(points)):
        first = points[boundary[0]]
        spread = (points[boundary[1:]] - first).T
        weights = np.linalg.lstsq(spread, centre - first)[0] if spread.size else np.zeros(0)
        step = first + spread @ weights - centre
        reach = np.linalg.norm(first - centre)
        if np.linalg.norm(step) <= 1e-14 * reach:
            # The centre is in the flat: its weights say whether it is also between the boundary points.
            shares = np.append(1 - weights.sum(), weights)
            if shares.min() >= 0 or len(boundary) == 1:
                break
            del boundary[int(shares.argmin())]
            continue
        # How far along the step until a point inside meets the boundary: linear in the share of the step.
        approach = 2 * (first - points) @ step
        room = np.maximum(reach**2 - ((points - centre) ** 2).sum(axis=1), 0)
        approach[boundary] = 0
        shares = np.full(len(points), np.inf)
        np.divide(room, approach, out=shares, where=approach > 0)
        stop = int(shares.argmin())
        centre = centre + min(float(shares[stop]), 1.0) * step
        if shares[stop] < 1:
            boundary.append(stop)
    return centre, boundary
