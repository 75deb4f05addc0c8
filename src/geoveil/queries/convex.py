"""Fit a convex polygon to noisy values of its support function.

The functions take released values and public facts only. A vector h of values in k evenly spread directions of the
plane is a support function if and only if h_{j-1} - 2cos(2π/k)·h_j + h_{j+1} ≥ 0 for all j; divided by sin(2π/k), the
left side is the length of edge j.
"""

from __future__ import annotations

import math
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import double, settled

__all__ = ["coarser", "corners", "directions", "edges", "fitted", "prune", "segmented", "shortened"]

#: The number of bodies fitted together, the largest number of pivoting steps, and the number of steps without progress
#: after which pivoting becomes cautious.
_BATCH, _STEPS, _PATIENCE = 64, 60, 3


@cache
def directions(k: int) -> Floats:
    """Return k evenly spread unit vectors of the plane; k is even, and the second half is the negated first half.

    They are computed in balls, because the scale of the noise depends on them: it must not depend on the accuracy of
    the machine's cosine.
    """
    half = np.array(settled(partial(_half_circle, k)))
    return shortened(np.concatenate([half, -half]))


def _half_circle(k: int, bits: int) -> list[tuple[float | None, float | None]] | None:
    """Return cosines and sines of 2πj/k for j < k/2 as doubles; None if balls of this precision do not decide them."""
    from flint import arb

    turns = ((arb(2 * j) / k).sin_cos_pi() for j in range(k // 2))
    directions = [(double(cosine), double(sine)) for sine, cosine in turns]
    return None if any(None in pair for pair in directions) else directions


def shortened(u: Floats) -> Floats:
    """Return unit vectors rounded so that none is longer than 1: a longer one would break the Lipschitz constant.

    A norm in doubles is at least the true one times 1 - (d/2 + 3/2)·2^-53; dividing by it and multiplying add one
    rounding each. So a length is at most (1 + (d/2 + 4)·2^-53)·(1 - (d + 8)·2^-53) < 1, and at least
    1 - (2d + 14)·2^-53. Rounding is the same for a number and its negative, so opposite vectors stay exactly opposite.
    """
    u = u / np.linalg.norm(u, axis=1, keepdims=True) * (1 - (u.shape[1] + 8) * 2.0**-53)
    u.flags.writeable = False
    return np.asarray(u)


def edges(h: Floats) -> Floats:
    """Return h_{j-1} - 2cos(2π/k)·h_j + h_{j+1} along the last axis, which is sin(2π/k) times the length of edge j."""
    k = h.shape[-1]
    return np.asarray(np.roll(h, 1, axis=-1) + np.roll(h, -1, axis=-1) - 2 * np.cos(2 * np.pi / k) * h)


def fitted(y: Floats, variance: float) -> Floats:
    """Return the most likely support function for each row of values y with independent noise of this variance.

    The prior is public: the m-th harmonic of a body of mean radius R is normal with a size of about R/2·m^(-3/2); the
    mean width and the location (m = 0 and 1) have no prior. Without the constraint that edges are at least 0, the
    estimate would be g·y with a gain g for each harmonic, and a remaining variance of g·variance. With the constraint,
    the squares of h - g·y, divided by g, are minimised. Write A for the linear map to the edges: the minimum is
    h = g·(y + Aλ), where λ ≥ 0, edges ≥ 0, and for each edge one of the two is 0.
    """
    k = y.shape[1]
    harmonics = np.fft.rfft(y, axis=1)
    noise = variance / k
    radius = np.maximum(harmonics[:, :1].real / k, math.sqrt(noise))
    gain = 1 / (1 + noise * (2 / radius) ** 2 * np.arange(harmonics.shape[1]) ** 3.0)
    gain[:, :2] = 1
    h = np.fft.irfft(gain * harmonics, n=k, axis=1)
    # Edges that are negative only by rounding would mislead the solver.
    length = edges(h)
    folded = np.flatnonzero(length.min(axis=1) < -1e-9 * np.abs(h).max(axis=1))
    # Bodies with similar numbers of negative edges are solved together.
    folded = folded[np.argsort((length[folded] < 0).sum(axis=1))]
    for start in range(0, len(folded), _BATCH):
        some = folded[start : start + _BATCH]
        h[some] = _constrained(h[some], gain[some])
    return h


def _constrained(h: Floats, gain: Floats) -> Floats:
    """Return g·(y + Aλ) with edges of at least 0, given h = g·y; rows are bodies.

    Block principal pivoting (Júdice and Pires, 1994): guess the edges that are 0, solve for their λ, and exchange
    every edge and every λ that is negative. If their number does not fall for a few steps, exchange only the last one
    (Murty's rule), which is certain to terminate in exact arithmetic. If rounding prevents that, non-negative least
    squares are used.
    """
    m, k = h.shape
    lengths = np.fft.rfft(edges(np.eye(k)[0])).real
    ring = np.fft.irfft(gain * lengths**2, n=k, axis=1)
    open_edges = edges(h)
    size = np.abs(h).max(axis=1)
    zero = open_edges < 0
    offsets, left = h.copy(), np.arange(m)
    fewest, patience = np.full(m, k + 1), np.full(m, _PATIENCE)
    for _ in range(_STEPS):
        if not len(left):
            break
        weights = _multipliers(ring[left], open_edges[left], zero[left])
        if weights is None:
            break
        bent = h[left] + np.fft.irfft(gain[left] * lengths * np.fft.rfft(weights, axis=1), n=k, axis=1)
        # Negated below, because a value that is not a number must count as wrong.
        fine = np.where(
            zero[left],
            weights >= -1e-10 * np.abs(weights).max(axis=1, keepdims=True),
            edges(bent) >= -1e-10 * size[left, None],
        )
        wrong = (~fine).sum(axis=1)
        offsets[left[wrong == 0]] = bent[wrong == 0]
        patience[left] = np.where(wrong < fewest[left], _PATIENCE, patience[left] - 1)
        fewest[left] = np.minimum(fewest[left], wrong)
        alone = ~fine & (np.arange(k) == k - 1 - (~fine)[:, ::-1].argmax(axis=1)[:, None])
        zero[left] ^= np.where(patience[left, None] < 0, alone, ~fine)
        left = left[wrong > 0]
    for i in left:
        offsets[i] = _by_least_squares(h[i], gain[i], lengths)
    return offsets


def _multipliers(ring: Floats, open_edges: Floats, zero: NDArray[np.bool_]) -> Floats | None:
    """Return λ such that the edges marked in `zero` are 0 and λ is 0 for the others; None if a row has no such λ."""
    m, k = zero.shape
    count = zero.sum(axis=1)
    most = max(int(count.max()), 1)
    places = np.argsort(~zero, axis=1, kind="stable")[:, :most]
    own = np.arange(most) < count[:, None]
    # The ring is repeated, so that differences of positions need no modulo.
    twice = np.concatenate([ring, ring], axis=1).ravel()
    matrix = twice[(places + (k + 2 * k * np.arange(m))[:, None])[:, :, None] - places[:, None, :]]
    matrix *= own[:, :, None]
    matrix *= own[:, None, :]
    matrix[:, np.arange(most), np.arange(most)] += ~own
    try:
        solved = np.linalg.solve(matrix, np.where(own, -np.take_along_axis(open_edges, places, axis=1), 0)[:, :, None])
    except np.linalg.LinAlgError:
        return None
    weights = np.zeros((m, k))
    np.put_along_axis(weights, places, np.where(own, solved[:, :, 0], 0.0), axis=1)
    return weights


def _by_least_squares(h: Floats, gain: Floats, lengths: Floats) -> Floats:
    """Return g·(y + Aλ) with edges of at least 0 for one body, given h = g·y: λ ≥ 0 minimises ‖√g·(y + Aλ)‖²."""
    from scipy.optimize import nnls

    k, size = len(h), float(np.abs(h).max())
    ring = np.fft.irfft(np.sqrt(gain) * lengths, n=k)
    matrix = ring[np.subtract.outer(np.arange(k), np.arange(k)) % k]
    weights, _ = nnls(matrix, -np.fft.irfft(np.fft.rfft(h) / np.sqrt(gain), n=k) / size, maxiter=100 * k)
    return np.asarray(h + size * np.fft.irfft(gain * lengths * np.fft.rfft(weights), n=k))


def coarser(y: Floats, k: int) -> Floats:
    """Return each row of values y resampled in k directions, without the harmonics that k directions cannot represent.

    White noise stays white.
    """
    harmonics = np.fft.rfft(y, axis=1)[:, : k // 2 + 1]
    harmonics[:, -1] = harmonics[:, -1].real
    return np.asarray(np.fft.irfft(harmonics * (k / y.shape[1]), n=k, axis=1))


def segmented(y: Floats, u: Floats, variance: float) -> Floats:
    """Return the vertices of a polygon fitted to values y in directions u, whose noise has a small variance.

    A vertex v has the support function ⟨v, u⟩ along an arc of directions. Adjacent arcs are merged while a single
    vertex, fitted by least squares, explains both nearly as well as two vertices do: it saves three numbers, each
    worth log(k) by the Bayesian information criterion. Each round merges the pairs that cost less than their
    neighbours.
    """
    moments = _moments(u, y)
    arcs = moments.reshape(-1, 2, 6).sum(axis=1)
    unexplained = _unexplained(arcs)
    worth = 3 * math.log(len(y)) * variance
    while len(arcs) > 3:
        joined = arcs + np.roll(arcs, -1, axis=0)
        left = _unexplained(joined)
        cost = left - unexplained - np.roll(unexplained, -1)
        first = np.flatnonzero((cost <= worth) & (cost <= np.roll(cost, 1)) & (cost < np.roll(cost, -1)))
        if len(first) == 0 or len(arcs) - len(first) < 3:
            break
        arcs[first], unexplained[first] = joined[first], left[first]
        kept = np.ones(len(arcs), dtype=bool)
        kept[(first + 1) % len(arcs)] = False
        arcs, unexplained = arcs[kept], unexplained[kept]
    vertices = _within(_explained(arcs), u, y, variance)
    for _ in range(2):  # assign each direction to the vertex that supports it, and fit the vertices again
        supports = (vertices @ u.T).argmax(axis=0)
        sums = np.array([np.bincount(supports, weights=column, minlength=len(vertices)) for column in moments.T]).T
        seen = np.bincount(supports, minlength=len(vertices)) > 2
        refitted = _within(_explained(sums[seen]), u, y, variance)
        if len(refitted) < 3:
            break
        vertices = refitted
    return vertices


def _moments(u: Floats, y: Floats) -> Floats:
    """Return the moments of each direction for least squares; those of an arc are their sums."""
    a, b = u.T
    return np.column_stack([a * a, a * b, b * b, a * y, b * y, y * y])


def _explained(arcs: Floats) -> Floats:
    """Return the vertex that fits each arc best."""
    aa, ab, bb, ac, bc, _ = arcs.T
    return np.asarray(np.column_stack([bb * ac - ab * bc, aa * bc - ab * ac]) / (aa * bb - ab * ab)[:, None])


def _unexplained(arcs: Floats) -> Floats:
    """Return the sum of squared residuals of the best vertex of each arc."""
    vertex = _explained(arcs)
    return np.asarray(arcs[:, 5] - (vertex * arcs[:, 3:5]).sum(axis=1))


def _within(vertices: Floats, u: Floats, y: Floats, variance: float) -> Floats:
    """Return the vertices that exceed no value by more than noise: the vertex of a short arc can lie far outside."""
    near = (vertices @ u.T - y).max(axis=1) <= 6 * math.sqrt(variance)
    return vertices[near] if near.sum() >= 3 else vertices


def corners(h: Floats) -> Floats:
    """Return the points where the tangent lines of adjacent directions meet, (bodies, k, 2), for rows of values h."""
    k = h.shape[1]
    angle = 2 * np.pi * np.arange(k) / k
    after, turned = np.roll(h, -1, axis=1), np.roll(angle, -1)
    x = h * np.sin(turned) - after * np.sin(angle)
    y = after * np.cos(angle) - h * np.cos(turned)
    return np.asarray(np.stack([x, y], axis=2) / np.sin(2 * np.pi / k))


def prune(vertices: Floats, u: Floats, y: Floats, variance: float) -> Floats:
    """Return the vertices without those whose removal worsens the fit to values y in directions u by at most noise.

    A long edge whose normal lies between two directions appears as two edges that meet in an extra vertex; without
    that vertex the fit is as good. Each round removes the vertices that cost less than every other vertex that is best
    or second in a direction with them.
    """
    heights = vertices @ u.T
    columns = np.arange(len(y))
    while len(heights) > u.shape[1] + 1:
        best = heights.argmax(axis=0)
        h = heights[best, columns]
        without = heights.copy()
        without[best, columns] = -np.inf
        second = without.argmax(axis=0)
        worse = (y - without[second, columns]) ** 2 - (y - h) ** 2
        cost = np.bincount(best, weights=worse, minlength=len(heights))
        kept = np.bincount(best, minlength=len(heights)) > 0  # others support no direction at all
        if kept.all():
            rank = np.empty(len(cost), dtype=np.int64)
            rank[np.argsort(cost, kind="stable")] = np.arange(len(cost))
            cheapest = rank.copy()
            np.minimum.at(cheapest, best, rank[second])
            np.minimum.at(cheapest, second, rank[best])
            kept = (cost > variance) | (cheapest < rank)
        if kept.all() or kept.sum() <= u.shape[1]:
            break
        heights, vertices = heights[kept], vertices[kept]
    return vertices
