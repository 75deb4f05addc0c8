"""From noisy values of a support function to a convex body: three dimensions and more. Sees released values only."""

from __future__ import annotations

import math

import numpy as np

from geoveil.mechanisms.mechanism import Floats

__all__ = ["around", "cosine", "intersection", "kriged", "nonempty", "tightened"]


def kriged(y: Floats, u: Floats, variance: float) -> Floats:
    """Values y in directions u, noise of this variance in each, smoothed as a Gaussian process on the sphere.

    A public prior: about a ball of unknown place and radius R, deviations of R/3 that are alike within half a radian.
    Place and radius are left alone.
    """
    round_body = np.column_stack([np.ones(len(u)), u])
    radius = max(float(np.linalg.lstsq(round_body, y)[0][0]), math.sqrt(variance / len(y)))
    apart = np.linalg.norm(u[:, None] - u[None], axis=2) / 0.5
    prior = (radius / 3) ** 2 * np.exp(-apart) * (1 + apart)
    precise = np.linalg.inv(prior + variance * np.eye(len(y)))
    ball = round_body @ np.linalg.solve(round_body.T @ precise @ round_body, round_body.T @ precise @ y)
    return np.asarray(ball + prior @ (precise @ (y - ball)))


def nonempty(u: Floats, y: Floats) -> tuple[Floats, Floats, float]:
    """The half-spaces ⟨z, u_j⟩ ≤ y_j, moved out together just until they have a point in common.

    Returns
    -------
    offsets : array
        y, or a little more.
    middle : array
        The centre of the largest ball inside.
    radius : float
        Its radius; 0 if the body is that point.
    """
    from scipy.optimize import linprog

    d = u.shape[1]
    size = max(float(np.abs(y).max()), 1e-300)
    found = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.column_stack([u, np.linalg.norm(u, axis=1)]),
        b_ub=y / size,
        bounds=[(None, None)] * (d + 1),
    )
    middle, radius = size * found.x[:d], size * float(found.x[d])
    if radius > 1e-9 * size:
        return y, middle, radius
    return np.maximum(y - min(radius, 0.0), u @ middle), middle, 0.0


def intersection(u: Floats, y: Floats) -> Floats:
    """The vertices of the half-spaces ⟨z, u_j⟩ ≤ y_j, moved out together where they have no point in common."""
    offsets, middle, radius = nonempty(u, y)
    return middle[None] if radius == 0 else around(middle, u, offsets)


def around(middle: Floats, u: Floats, offsets: Floats) -> Floats:
    """The vertices of the half-spaces ⟨z, u_j⟩ ≤ offsets_j, all of which hold the middle inside."""
    from scipy.spatial import HalfspaceIntersection, QhullError

    try:
        vertices = HalfspaceIntersection(np.column_stack([u, -offsets]), middle).intersections
    except QhullError:  # too thin to have an inside, as far as rounding lets one see
        return middle[None]
    return np.asarray(vertices[np.isfinite(vertices).all(axis=1)])


def tightened(u: Floats, y: Floats) -> Floats:
    """The support function, in directions u, of the half-spaces ⟨z, u_j⟩ ≤ y_j that `nonempty` makes."""
    from scipy.optimize import linprog

    offsets, middle, radius = nonempty(u, y)
    if radius == 0:
        return np.asarray(u @ middle)
    size = float(np.abs(offsets).max())
    free = [(None, None)] * u.shape[1]
    return np.array([-size * linprog(-row, A_ub=u, b_ub=offsets / size, bounds=free).fun for row in u])


def cosine(u: Floats) -> float:
    """The cosine of the largest angle between any direction and the nearest of the grid u on a cube.

    With m cells along an edge of the cube [-1, 1]^d, a direction scaled onto a face is within √(d-1)/m of the middle g
    of its cell, and scaling back to the sphere only contracts. Scaled so, it is w with ⟨w, g⟩ ≥ 1, as no coordinate of
    g has the other sign, and neither is longer than √d: the cosine is at least 1/d, and 1/√d if g is an axis (m = 1).
    """
    k, d = u.shape
    cells = round((k / (2 * d)) ** (1 / (d - 1)))
    return 1 / math.sqrt(d) if cells == 1 else max(1 - (d - 1) / (2 * cells**2), 1 / d)
