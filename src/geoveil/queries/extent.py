"""The extent of a tuple in doubles: support function, diameter and smallest enclosing ball, in any dimension."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats

__all__ = ["diameter", "enclosing", "hull_points", "reaches", "spans"]


def hull_points(x: Floats) -> Floats:
    """Return points of x that include all of its extreme points: the vertices of its hull in the plane, else all.

    GEOS decides orientations exactly. In more dimensions no library does: if it dropped an extreme point of a nearly
    flat tuple, functions of the remaining points would not have their Lipschitz constant.
    """
    import shapely

    if x.shape[1] == 1:
        return np.array([x.min(axis=0), x.max(axis=0)])
    if x.shape[1] > 2 or len(x) < 10:  # for few points the hull takes longer than it saves
        return x
    # A line is the geometry of many points that is built fastest.
    return np.asarray(shapely.get_coordinates(shapely.convex_hull(shapely.linestrings(x))))


def reaches(x: Floats, u: Floats) -> Floats:
    """Return the support function of x in directions u: the largest ⟨x_i, u_j⟩ for each j."""
    points = hull_points(x)
    # In blocks: the matrix of a million points and all directions would not fit into memory.
    blocks = [(points[i : i + 2**14] @ u.T).max(axis=0) for i in range(0, len(points), 2**14)]
    return np.asarray(np.max(blocks, axis=0))


def diameter(x: Floats) -> float:
    """Return the largest distance between two points."""
    from scipy.spatial.distance import cdist

    points = hull_points(x)
    centre = points.mean(axis=0)
    away = np.linalg.norm(points - centre, axis=1)
    known = np.linalg.norm(points - points[away.argmax()], axis=1).max()
    # If two points are farther apart than `known`, both are at least this far from the centre.
    ends = points[away >= (1 - 1e-9) * known - away.max()]
    return max(float(cdist(ends[i : i + 256], ends).max()) for i in range(0, len(ends), 256))


def spans(x: Floats, least: float) -> NDArray[np.int64]:
    """Return the rows of x that have another row at a distance of at least `least`."""
    from scipy.spatial.distance import cdist

    points = hull_points(x)
    blocks = [cdist(x[i : i + 2**12], points).max(axis=1) for i in range(0, len(x), 2**12)]
    return np.flatnonzero(np.concatenate(blocks) >= least)


def enclosing(x: Floats) -> tuple[Floats, float, Floats, float]:
    """Return the smallest enclosing ball of x: centre, radius, points on its boundary, lower bound on the radius.

    Starting with the ball of one point, the farthest point outside is added to the points that determine the ball,
    until no point is outside by more than rounding.
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
    # For any weights w and any origin, points p have Σw|p|² - |Σwp|² ≤ radius².
    spread = points[boundary] - centre
    balanced = np.append(np.zeros(spread.shape[1]), 1.0)
    weights = np.linalg.lstsq(np.vstack([spread.T / max(radius, 1e-300), np.ones(len(spread))]), balanced)[0]
    weights = np.maximum(weights, 0) / np.maximum(weights, 0).sum()
    below = weights @ (spread**2).sum(axis=1) - ((weights @ spread) ** 2).sum()
    return corners[0] + centre, math.sqrt(away.max()), corners[boundary], math.sqrt(max(float(below), 0.0))


def _ball_of_few(points: Floats) -> tuple[Floats, list[int]]:
    """Return the centre of the smallest ball of a few points, and which of them are on its boundary.

    The algorithm of Fischer, Gärtner and Kutz (2003): a ball that contains all points shrinks while its centre moves
    towards the affine hull of the points on its boundary, until another point stops it. When the centre lies in that
    affine hull, a boundary point of negative weight is removed; if there is none, the ball is the smallest.
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
            # The centre is in the affine hull: its weights show whether it is in the convex hull as well.
            shares = np.append(1 - weights.sum(), weights)
            if shares.min() >= 0 or len(boundary) == 1:
                break
            del boundary[int(shares.argmin())]
            continue
        # The share of the step after which each point inside meets the boundary; the condition is linear in it.
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
