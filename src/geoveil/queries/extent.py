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

    The farthest point joins the few that support the ball until the ball contains all; each step enlarges it.
    """
    corners = hull_points(x)
    corners = corners - corners[0]
    chosen, radius = corners[[0]], 0.0
    while True:
        support, centre, larger = _small_ball(chosen)
        distances = np.sqrt(((corners - centre) ** 2).sum(axis=1))
        farthest = int(distances.argmax())
        # The second condition ends it where rounding would have the same points join again and again.
        if distances[farthest] <= larger * (1 + 1e-12) or (larger <= radius and len(chosen) > 1):
            return float(distances[farthest])
        chosen, radius = np.vstack([support, corners[farthest]]), larger


def _small_ball(points: Floats) -> tuple[Floats, Floats, float]:
    """The points that support the smallest enclosing ball of a few points, its centre and its radius.

    The dual problem maximises ½Σλ_iλ_j‖p_i - p_j‖² over the simplex. With D the squared distances and C = max D the
    matrix C - D/2 is positive definite, so that this is the point of least norm in a simplex: non-negative least
    squares with one more row for Σλ = 1.
    """
    from scipy.optimize import nnls

    if len(points) == 1:
        return points, points[0], 0.0
    origin = points[0]
    spread = points - origin
    squared = ((spread[:, None] - spread[None]) ** 2).sum(axis=2)
    size = squared.max()
    if size == 0:
        return points[:1], origin, 0.0
    values, vectors = np.linalg.eigh(1 - squared / size / 2)
    root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
    rows = np.vstack([root, np.ones(len(points))])
    target = np.zeros(len(points) + 1)
    target[-1] = 1
    weights, _ = nnls(rows, target)
    support = points[weights > 1e-9 * weights.max()]
    # The weights are good to half the digits only; the centre is where the support's distances are equal.
    spread = support - support[0]
    centre = support[0] + np.linalg.lstsq(2 * spread, (spread**2).sum(axis=1))[0]
    return support, centre, float(np.sqrt(((support - centre) ** 2).sum(axis=1).max()))
