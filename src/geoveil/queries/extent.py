"""How far a tuple extends: its diameter and the radius of its smallest enclosing ball, in any dimension."""

from __future__ import annotations

import numpy as np

from geoveil.mechanisms.mechanism import Floats

__all__ = ["diameter", "enclosing_radius", "hull_points"]


def hull_points(x: Floats) -> Floats:
    """The points among which every extreme of x is attained: the vertices of its convex hull where that is cheap."""
    from scipy.spatial import ConvexHull, QhullError

    n, d = x.shape
    if d == 1:
        return np.array([x.min(axis=0), x.max(axis=0)])
    if d > 5 or n <= d + 1:
        return x
    try:
        return np.asarray(x[ConvexHull(x).vertices])
    except QhullError:  # the points lie in a flat: its own coordinates have fewer dimensions
        centred = x - x[0]
        _, lengths, axes = np.linalg.svd(centred, full_matrices=False)
        rank = int((lengths > 1e-9 * max(lengths[0], 1e-300)).sum())
        if rank in (0, d):
            return np.unique(x, axis=0)
        return np.asarray(hull_points(centred @ axes[:rank].T) @ axes[:rank] + x[0])


def diameter(x: Floats) -> float:
    """The largest distance between two points."""
    from scipy.spatial.distance import cdist

    corners = hull_points(x)
    # By rows of blocks: the matrix of a million corners would not fit.
    return max(float(cdist(corners[i : i + 256], corners).max()) for i in range(0, len(corners), 256))


def enclosing_radius(x: Floats) -> float:
    """The radius of the smallest ball that contains x.

    The algorithm of Fischer, Gärtner and Kutz (2003): a ball that contains all points shrinks, its centre moving
    towards the flat through the points on its boundary, until another point stops it. Where the centre lies in that
    flat, a boundary point of negative weight is let go; if there is none, the ball is the smallest.
    """
    points = hull_points(x)
    points = points - points[0]
    centre = points.mean(axis=0)
    boundary = [int(((points - centre) ** 2).sum(axis=1).argmax())]
    for _ in range(100 * len(points) + 100):
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
    return float(np.sqrt(((points - centre) ** 2).sum(axis=1).max()))
