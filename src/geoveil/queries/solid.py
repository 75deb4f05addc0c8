"""Fit a convex body in three or more dimensions to noisy values of its support function.

The functions take released values and public facts only.
"""

from __future__ import annotations

import math

import numpy as np

from geoveil.mechanisms.mechanism import Floats

__all__ = ["around", "cosine", "intersection", "kriged", "nonempty", "tightened"]


def kriged(y: Floats, u: Floats, variance: float) -> Floats:
    """Return noisy values y in directions u, smoothed as a Gaussian process on the sphere (kriging).

    `variance` is that of the noise in each direction. The prior is public: a ball of unknown location and radius R,
    plus deviations of size R/3 that are correlated within half a radian. Location and radius are not smoothed.
    """
    round_body = np.column_stack([np.ones(len(u)), u])
    radius = max(float(np.linalg.lstsq(round_body, y)[0][0]), math.sqrt(variance / len(y)))
    apart = np.linalg.norm(u[:, None] - u[None], axis=2) / 0.5
    prior = (radius / 3) ** 2 * np.exp(-apart) * (1 + apart)
    precise = np.linalg.inv(prior + variance * np.eye(len(y)))
    ball = round_body @ np.linalg.solve(round_body.T @ precise @ round_body, round_body.T @ precise @ y)
    return np.asarray(ball + prior @ (precise @ (y - ball)))


def nonempty(u: Floats, y: Floats) -> tuple[Floats, Floats, float]:
    """Return the half-spaces ⟨z, u_j⟩ ≤ y_j, all moved outwards by the smallest distance that makes them intersect.

    Returns
    -------
    offsets : array
        The offsets of the moved half-spaces: y if they intersect already.
    middle : array
        The centre of the largest ball in the intersection.
    radius : float
        The radius of that ball; 0 if the intersection is a single point.
    """
    from scipy.optimize import linprog

    d = u.shape[1]
    size = max(float(np.abs(y).max()), 1e-300)
    solution = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.column_stack([u, np.linalg.norm(u, axis=1)]),
        b_ub=y / size,
        bounds=[(None, None)] * (d + 1),
    )
    middle, radius = size * solution.x[:d], size * float(solution.x[d])
    if radius > 1e-9 * size:
        return y, middle, radius
    return np.maximum(y - min(radius, 0.0), u @ middle), middle, 0.0


def intersection(u: Floats, y: Floats) -> Floats:
    """Return the vertices of the intersection of the half-spaces ⟨z, u_j⟩ ≤ y_j, moved outwards as in `nonempty`."""
    offsets, middle, radius = nonempty(u, y)
    return middle[None] if radius == 0 else around(middle, u, offsets)


def around(middle: Floats, u: Floats, offsets: Floats) -> Floats:
    """Return the vertices of the intersection of the half-spaces ⟨z, u_j⟩ ≤ offsets_j; `middle` must be inside."""
    from scipy.spatial import HalfspaceIntersection, QhullError

    try:
        vertices = HalfspaceIntersection(np.column_stack([u, -offsets]), middle).intersections
    except QhullError:  # the body is too thin for Qhull to find its interior
        return middle[None]
    return np.asarray(vertices[np.isfinite(vertices).all(axis=1)])


def tightened(u: Floats, y: Floats) -> Floats:
    """Return the support function, in directions u, of the intersection of half-spaces that `nonempty` returns."""
    from scipy.optimize import linprog

    offsets, middle, radius = nonempty(u, y)
    if radius == 0:
        return np.asarray(u @ middle)
    size = float(np.abs(offsets).max())
    free = [(None, None)] * u.shape[1]
    return np.array([-size * linprog(-row, A_ub=u, b_ub=offsets / size, bounds=free).fun for row in u])


def cosine(u: Floats) -> float:
    """Return a lower bound on the cosine of the angle of any direction to the nearest one of the grid u on a cube.

    With m cells along an edge of the cube [-1, 1]^d, a direction scaled onto a face is a vector w within √(d-1)/m of
    the middle g of its cell, and scaling back to the sphere only contracts. No coordinate of g has the sign opposite
    to that of w, so ⟨w, g⟩ ≥ 1, and neither vector is longer than √d: the cosine is at least 1/d, and at least 1/√d if
    g is an axis (m = 1).
    """
    k, d = u.shape
    cells = round((k / (2 * d)) ** (1 / (d - 1)))
    return 1 / math.sqrt(d) if cells == 1 else max(1 - (d - 1) / (2 * cells**2), 1 / d)
