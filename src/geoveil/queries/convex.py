"""From noisy values of a support function to a convex polygon. Sees released values and public facts only.

A vector h of values in k evenly spread directions of the plane is a support function if and only if
h_{j-1} - 2cos(2π/k)·h_j + h_{j+1} ≥ 0 for all j; over sin(2π/k) the left side is the length of edge j.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from geoveil.mechanisms.mechanism import Floats

__all__ = ["corners", "directions", "edges", "project", "prune", "shrink"]


@cache
def directions(k: int) -> Floats:
    """K unit vectors, evenly spread; shortened by an ulp, as a longer one would break the Lipschitz constant."""
    angle = 2 * np.pi * np.arange(k) / k
    u = np.column_stack([np.cos(angle), np.sin(angle)])
    u = u / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1) * (1 - 2.0**-52)
    u.flags.writeable = False
    return np.asarray(u)


def edges(h: Floats) -> Floats:
    """h_{j-1} - 2cos(2π/k)·h_j + h_{j+1}."""
    ring = np.concatenate([h[-1:], h, h[:1]])
    return np.asarray(ring[:-2] + ring[2:] - 2 * np.cos(2 * np.pi / len(h)) * h)


def shrink(y: Floats, variance: float) -> Floats:
    """Damp the harmonics of y, noise of this variance in each direction, towards those of a round body.

    A public prior: the m-th harmonic of a body of mean radius R is of size about R/2·m^(-3/2). The mean width and the
    place (m = 0 and 1) are left alone.
    """
    k = len(y)
    harmonics = np.fft.rfft(y)
    m = np.arange(len(harmonics))
    noise = variance / k
    radius = max(float(harmonics[0].real) / k, np.sqrt(noise))
    prior = (radius / 2) ** 2 * np.maximum(m, 1.0) ** -3.0
    harmonics[2:] *= (prior / (prior + noise))[2:]
    return np.asarray(np.fft.irfft(harmonics, n=k))


def project(y: Floats) -> Floats:
    """The support function nearest to y in the sense of least squares.

    The dual problem, minimise ½‖Aλ‖² + ⟨λ, Ay⟩ over λ ≥ 0, has a cyclic matrix of bandwidth 2. Written down from both
    ends of the ring in turn it is an ordinary band of width 4, and Mehrotra's interior-point method takes some twenty
    banded solves.
    """
    from scipy.linalg import cho_solve_banded, cholesky_banded

    target = edges(y)
    size = float(np.abs(target).max())
    if size == 0 or target.min() >= 0:
        return y
    b = target / size
    k = len(y)
    fold, band = _folded(k)
    weights, slack = np.ones(k), np.ones(k)
    for _ in range(100):
        residual = edges(edges(weights)) + b - slack
        gap = float(weights @ slack) / k
        if gap < 1e-11 and np.abs(residual).max() < 1e-11:
            break
        matrix = band.copy()
        matrix[0] += (slack / weights)[fold]
        factor = cholesky_banded(matrix, lower=True, overwrite_ab=True, check_finite=False)
        move, opposite = np.zeros(k), np.zeros(k)
        reached = 0.0
        for _predict_then_correct in range(2):
            centering = (reached / gap) ** 3 * gap - weights * slack - move * opposite
            rhs = centering / weights - residual
            move = np.empty(k)
            move[fold] = cho_solve_banded((factor, True), rhs[fold], overwrite_b=True, check_finite=False)
            opposite = (centering - slack * move) / weights
            reached = float((weights + _room(weights, move) * move) @ (slack + _room(slack, opposite) * opposite)) / k
        length = 0.995 * min(_room(weights, move), _room(slack, opposite), 1 / 0.995)
        weights, slack = weights + length * move, slack + length * opposite
    return np.asarray(y + size * edges(weights))


def _room(values: Floats, move: Floats) -> float:
    """The largest step up to 1 that keeps positive values non-negative."""
    shrinking = float(np.max(-move / values))
    return min(1.0, 1 / shrinking) if shrinking > 0 else 1.0


@cache
def _folded(k: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Floats]:
    """The order 0, k-1, 1, k-2, ... of the ring, and the lower band of A² in that order."""
    fold = np.empty(k, dtype=np.int64)
    fold[0::2], fold[1::2] = np.arange((k + 1) // 2), k - 1 - np.arange(k // 2)
    place = np.argsort(fold)
    c = np.cos(2 * np.pi / k)
    band = np.zeros((5, k))
    band[0] = 2 + 4 * c**2
    here = np.arange(k)
    for distance, value in ((1, -4 * c), (2, 1.0)):
        a, b = place[here], place[(here + distance) % k]
        np.add.at(band, (np.abs(a - b), np.minimum(a, b)), value)
    return fold, band


def corners(h: Floats) -> Floats:
    """Where the tangent lines of adjacent directions meet."""
    k = len(h)
    angle = 2 * np.pi * np.arange(k) / k
    after, turned = np.roll(h, -1), np.roll(angle, -1)
    x = h * np.sin(turned) - after * np.sin(angle)
    y = after * np.cos(angle) - h * np.cos(turned)
    return np.asarray(np.column_stack([x, y]) / np.sin(2 * np.pi / k))


def prune(vertices: Floats, y: Floats, variance: float) -> Floats:
    """Take vertices, in order around the polygon, away while each worsens the fit to y by no more than noise would.

    A long edge whose normal lies between two directions is seen as a low roof; without the roof's ridge the fit is as
    good. In each round those go whose neighbours cost more: they do not touch each other.
    """
    heights = vertices @ directions(len(y)).T
    columns = np.arange(len(y))
    while len(heights) > 3:
        top = heights.argmax(axis=0)
        h = heights[top, columns]
        without = heights.copy()
        without[top, columns] = -np.inf
        worse = (y - without.max(axis=0)) ** 2 - (y - h) ** 2
        cost = np.bincount(top, weights=worse, minlength=len(heights))
        kept = np.bincount(top, minlength=len(heights)) > 0  # others support no direction at all
        if kept.all():
            kept = (cost > variance) | (cost >= np.roll(cost, 1)) | (cost > np.roll(cost, -1))
        if kept.all() or kept.sum() < 3:
            break
        heights, vertices = heights[kept], vertices[kept]
    return vertices
