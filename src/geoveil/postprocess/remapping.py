"""Bayesian remapping: replace released points by estimates of their true locations under a public prior.

A point y was released as x + noise, and the distribution of the noise is known. Given a prior on x, the posterior mean
is the estimate with the least mean square error; among a given set of locations, it is the one nearest to the
posterior mean. The true points x are never used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from geoveil.postprocess.grid import Grid
from geoveil.postprocess.kernels import Floats, NoisyPoints, mixture

__all__ = ["PointPosterior", "choose", "over_cells", "over_places"]

# Number of doubles in one array of points by locations, chosen to fit into the processor's cache.
_CHUNK = 2**16
# Search radii around a point in standard deviations, each with the least unnormalised posterior mass within that makes
# the mass beyond it, or lost to underflow, negligible. Few points need the second radius.
_LOOKS = ((13.0, 1e-22), (45.0, 1e-200))
# Points within one square of this many cells on a side are processed together.
_TILE = 8
# Relative difference in distance below which two locations count as equally near.
_TIE = 1e-9


@dataclass(frozen=True)
class PointPosterior:
    """Estimates of the true points from released ones, with their expected errors."""

    #: The estimates, in metres.
    mean: Floats
    #: The expected square distance of the true point from the estimate, in square metres.
    variance: Floats


def over_places(released: NoisyPoints, places: Floats, weights: Floats) -> PointPosterior:
    """Compute the posterior of true points under a prior on finitely many locations.

    Parameters
    ----------
    released : NoisyPoints
        The released points.
    places : (m, d) array
        The possible locations of a true point, in metres.
    weights : (m,) array
        The prior probability of each location, up to a common factor; at least one is positive.

    Examples
    --------
    >>> released = NoisyPoints(np.array([[1.0]]), "gaussian", np.ones(1))
    >>> found = over_places(released, np.array([[0.0], [2.0]]), np.ones(2))
    >>> found.mean, found.variance
    (array([[1.]]), array([1.]))
    """
    likely = weights > 0
    places, log_weights = places[likely], np.log(weights[likely])
    # Coordinates are centred, so that their squares keep their digits.
    middle = (places.min(axis=0) + places.max(axis=0)) / 2
    places, y, scale = places - middle, released.points - middle, released.scale
    squares = np.square(places).sum(axis=1)
    mean, variance = np.empty_like(y), np.empty(len(y))
    for rows in _chunks(len(y), len(places)):
        chance = np.zeros((rows.stop - rows.start, len(places)))
        for ours, theirs in zip(y[rows].T, places.T, strict=True):
            apart = np.subtract.outer(ours, theirs)
            apart *= apart
            chance += apart
        if released.noise == "gaussian":
            chance *= (-0.5 / scale[rows] ** 2)[:, None]
        else:
            np.sqrt(chance, out=chance)
            chance *= (-1 / scale[rows])[:, None]
        chance += log_weights
        # The likeliest location gets weight 1, however far away it is, so that the sum is never 0.
        chance -= chance.max(axis=1, keepdims=True)
        np.exp(chance, out=chance)
        chance /= chance.sum(axis=1, keepdims=True)
        mean[rows] = chance @ places
        variance[rows] = np.maximum(chance @ squares - np.square(mean[rows]).sum(axis=1), 0.0)
    return PointPosterior(mean + middle, variance)


def over_cells(released: NoisyPoints, grid: Grid, weights: Floats) -> PointPosterior:
    """Compute the posterior of true points under a prior that is uniform within each cell of a grid.

    Parameters
    ----------
    released : NoisyPoints
        The released points, in the plane.
    grid : Grid
        The cells, in metres.
    weights : array of the grid's shape
        The prior probability of each cell, up to a common factor; at least one is positive.

    Notes
    -----
    Under Gaussian noise the probability of a cell, and the first and second moments within it, factorise over the two
    axes, so that sums over all cells are matrix products. Laplace noise is a mixture of Gaussians. For points so far
    away that the probability of every cell underflows, the prior is placed on the centres of the cells instead.

    Examples
    --------
    >>> cells = Grid((0, 0, 2, 1), 1)
    >>> released = NoisyPoints(np.array([[9.0, 0.5]]), "gaussian", np.full(1, 1e3))
    >>> found = over_cells(released, cells, np.array([[1.0, 3.0]]))
    >>> found.mean.round(3)
    array([[1.25, 0.5 ]])
    """
    weights = weights / weights.max()
    y, scale = released.points, released.scale
    mean, variance = np.empty_like(y), np.empty(len(y))
    column, row = np.floor((y - grid.bounds[:2]) / (_TILE * grid.cell)).T
    left = np.lexsort((column, row))
    for reach, least in _LOOKS:
        far = [left[:0]]
        for chunk in _chunks(len(left), 4 * sum(grid.shape)):
            rows = left[chunk]
            total = np.zeros((4, len(rows)))
            for deviation, share in zip(*mixture(released.noise), strict=True):
                total += share * _gaussian_sums(y[rows], deviation * scale[rows], grid, weights, reach)
            near = total[0] > least
            far.append(rows[~near])
            rows, chance, shift = rows[near], total[0, near], total[1:3, near] / total[0, near]
            mean[rows] = y[rows] + shift.T
            variance[rows] = np.maximum(total[3, near] / chance - np.square(shift).sum(axis=0), 0.0)
        left = np.concatenate(far)
    moved = over_places(
        NoisyPoints(y[left], released.noise, scale[left]), grid.centers.reshape(-1, 2), weights.ravel()
    )
    mean[left], variance[left] = moved.mean, moved.variance
    return PointPosterior(mean, variance)


def _gaussian_sums(y: Floats, sigma: Floats, grid: Grid, weights: Floats, reach: float) -> Floats:
    """Return sums over the cells within reach of each point: the probability, the two moments and the square.

    The moments are those of the difference between the true point and y, along x and along y.
    """
    parts, moments = [], []
    for axis, edges in zip((1, 0), grid.edges, strict=True):
        low, high = (y[:, axis] - reach * sigma).min(), (y[:, axis] + reach * sigma).max()
        first, last = np.searchsorted(edges, (low, high))
        start, stop = max(int(first) - 1, 0), min(int(last) + 1, len(edges))
        if stop - start < 2:
            return np.zeros((4, len(y)))
        parts.append(slice(start, stop - 1))
        moments.append(_axis_moments(y[:, axis], sigma, edges[start:stop]))
    rows, columns = moments
    weighted = [moment @ weights[parts[0], parts[1]] for moment in rows]
    sums = ((0, 0), (0, 1), (1, 0), (0, 2), (2, 0))
    chance, east, north, east_square, north_square = ((weighted[i] * columns[j]).sum(axis=1) for i, j in sums)
    return np.array([chance, east, north, east_square + north_square])


def _axis_moments(y: Floats, sigma: Floats, edges: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the probability and the first and second moments of N(y, σ²) - y restricted to each interval."""
    from scipy.special import ndtr

    z = (edges - y[:, None]) / sigma[:, None]
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    # The tail beyond each edge, on the side away from y, where differences keep their digits.
    tail = ndtr(-np.abs(z))
    low, high = z[:, :-1] > 0, z[:, 1:] > 0
    chance = np.where(low, tail[:, :-1] - tail[:, 1:], tail[:, 1:] - tail[:, :-1])
    across = high & ~low
    chance[across] = 1 - (tail[:, :-1] + tail[:, 1:])[across]
    first = density[:, :-1] - density[:, 1:]
    slope = z * density
    second = chance + slope[:, :-1] - slope[:, 1:]
    return chance, first * sigma[:, None], second * np.square(sigma)[:, None]


def choose(posterior: PointPosterior, places: Floats, weights: Floats) -> PointPosterior:
    """Replace each estimate by the location of positive weight with the least expected square distance.

    The first of equally good locations is chosen.

    Notes
    -----
    The expected square distance to p is the posterior variance plus the square of the distance from the mean to p.

    Examples
    --------
    >>> found = choose(PointPosterior(np.array([[0.4]]), np.zeros(1)), np.array([[0.0], [1.0]]), np.ones(2))
    >>> found.mean, found.variance
    (array([[0.]]), array([0.16]))
    """
    from scipy.spatial import cKDTree

    places = places[weights > 0]
    # At a corner, four cells are equally near.
    among = np.arange(1, min(len(places), 4) + 1)
    distance, index = cKDTree(places).query(posterior.mean, k=among)
    tied = distance <= distance[:, :1] * (1 + _TIE)
    chosen = places[np.where(tied, index, len(places)).min(axis=1)]
    moved = np.square(chosen - posterior.mean).sum(axis=1)
    return PointPosterior(chosen, posterior.variance + moved)


def _chunks(n: int, width: int) -> Iterator[slice]:
    size = max(_CHUNK // width, 1)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
