"""Journeys as Gauss-Markov random fields, those of many persons at once.

At the times of a journey, position and velocity of a Matérn 3/2 process are Markov: their joint precision matrix is
block-tridiagonal however irregular the times, and what was observed only adds to its diagonal. Between the last time
of one person and the first of the next lies an infinite time, across which nothing is known: the blocks between them
are zero, and the journeys of many persons are one banded matrix. One banded Cholesky factor gives the exact posterior
mean of all of them, the same as the Rauch-Tung-Striebel smoother's (a Kalman filter forwards and a pass backwards),
and the exact marginal likelihood of each; a second one, from the other end, gives the posterior variances.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Index", "RandomField", "Solution", "Tracks"]

Floats = NDArray[np.float64]
Index = NDArray[np.intp]

# Times that are closer than this part of the timescale are rounded to multiples of it: the precision matrix grows with
# the cube of 1/dt and would lose its digits. Meanwhile the traveller moves by as small a part of the spread.
_TIME_STEP = 2e-4
# Timescales after which nothing is left of the past: exp(-1000) is 0.
_FOREVER = 1e3


@dataclass(frozen=True)
class Tracks:
    """The distinct times of journeys, in order, one journey after another.

    Parameters
    ----------
    starts : (m,) array
        The position of each journey's first time.
    gaps : (k,) array
        Seconds since the time before; infinite at the first time of a journey.
    node : (n,) array
        The position of each point's time.
    """

    starts: Index
    gaps: Floats
    node: Index

    @classmethod
    def of(cls, times: Floats, sizes: Index, timescale: float) -> Tracks:
        """Return the tracks of persons with so many points each, in order of time."""
        first = np.cumsum(sizes) - sizes
        since = times - np.repeat(times[first], sizes)
        step = _TIME_STEP * timescale
        gaps = np.diff(since, prepend=0.0)
        gaps[first] = 0.0
        rounded = np.logical_or.reduceat((gaps > 0) & (gaps < step), first)
        since = np.where(np.repeat(rounded, sizes), np.round(since / step) * step, since)
        begins = np.zeros(len(times), dtype=bool)
        begins[first] = True
        new = begins | (np.diff(since, prepend=-1.0) != 0)
        gaps = np.diff(since[new], prepend=0.0)
        gaps[begins[new]] = np.inf
        node = np.cumsum(new) - 1
        return cls(node[first], gaps, node)

    @cached_property
    def counts(self) -> Index:
        """How many times each journey has."""
        return np.diff(self.starts, append=len(self.gaps))

    def sums(self, values: Floats) -> Floats:
        """Return the sum over each journey, along the last axis."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=-1))

    def spread(self, values: Floats) -> Floats:
        """Return a value of each journey at each of its times, along the last axis."""
        return np.repeat(values, self.counts, axis=-1)

    def gather(self, y: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return the mean of the points at each time, as (d, k), and the precision of that mean."""
        total = np.bincount(self.node, weight, len(self.gaps))
        sums = [np.bincount(self.node, weight * column, len(self.gaps)) for column in y.T]
        # Where all points of a time were set aside, nothing was seen: any value will do.
        return np.array(sums) / np.where(total > 0, total, 1.0), np.asarray(total, dtype=float)

    def chosen(self, journeys: NDArray[np.bool_]) -> tuple[Tracks, NDArray[np.bool_]]:
        """Return some of the journeys, without their points, and which times are theirs."""
        theirs = np.repeat(journeys, self.counts)
        counts = self.counts[journeys]
        return Tracks(np.cumsum(counts) - counts, self.gaps[theirs], np.empty(0, dtype=np.intp)), theirs


@dataclass(frozen=True)
class Solution:
    """The posterior at each time of tracks; variances, of place and of place less home, only where asked for.

    Parameters
    ----------
    mean, home : (d, k) array
        Of the place at each time, and of the journey's home.
    log_likelihood : (m,) array
        Of what was seen of each journey, up to a constant that depends on neither spread nor timescale.
    variance, distance_variance : (k,) array
        Of a coordinate of the place, and of the place less the home.
    """

    mean: Floats
    home: Floats
    log_likelihood: Floats
    variance: Floats
    distance_variance: Floats


@dataclass(frozen=True)
class RandomField:
    """The Matérn 3/2 process of variance 1, along tracks, as a Gauss-Markov random field.

    Parameters
    ----------
    tracks : Tracks
        When it is looked at.
    band : (4, k, 2) array
        The precision matrix of (position, timescale·velocity) at each of k times in turn, by its lower diagonals.
    log_determinant : (k,) array
        Of that matrix, as a sum over times.
    """

    tracks: Tracks
    band: Floats
    log_determinant: Floats

    @classmethod
    def of(cls, tracks: Tracks, timescale: float | Floats) -> RandomField:
        """Return the field of tracks, with one timescale or one for each journey."""
        from scipy.special import gammainc

        # From one time to the next: state' = F·state + N(0, Q), and (position, timescale·velocity) has covariance I.
        scales = timescale if np.ndim(timescale) == 0 else tracks.spread(np.asarray(timescale))
        a = np.minimum(tracks.gaps / scales, _FOREVER)
        decay = np.exp(-a)
        f = decay * (1 + a), decay * a, -decay * a, decay * (1 - a)
        # 1 - exp(-2a)·(1 + 2a + 2a²), without its cancellation.
        q00 = gammainc(3.0, 2 * a)
        q01 = 2 * np.square(decay * a)
        q11 = -np.expm1(-2 * a) + np.square(decay) * 2 * a * (1 - a)
        determinant = q00 * q11 - q01 * q01
        p00, p01, p11 = q11 / determinant, -q01 / determinant, q00 / determinant
        band = np.zeros((4, len(a), 2))
        # Each block on the diagonal is Q⁻¹ from the past and FᵀQ⁻¹F from the future. The process looks the same
        # backwards, but for the sign of the velocity, so FᵀQ⁻¹F + I is Q⁻¹ with its off-diagonal turned over.
        band[0, :, 0], band[0, :, 1], band[1, :, 0] = p00, p11, p01
        band[0, :-1, 0] += p00[1:] - 1
        band[0, :-1, 1] += p11[1:] - 1
        band[1, :-1, 0] -= p01[1:]
        # Below the diagonal stands -Q⁻¹F.
        band[2, :-1, 0] = -(p00 * f[0] + p01 * f[2])[1:]
        band[3, :-1, 0] = -(p01 * f[0] + p11 * f[2])[1:]
        band[1, :-1, 1] = -(p00 * f[1] + p01 * f[3])[1:]
        band[2, :-1, 1] = -(p01 * f[1] + p11 * f[3])[1:]
        return cls(tracks, band, -np.log(determinant))

    def chosen(self, tracks: Tracks, theirs: NDArray[np.bool_]) -> RandomField:
        """Return the field of some of the journeys, as `Tracks.chosen` gives them."""
        return RandomField(tracks, self.band[:, theirs], self.log_determinant[theirs])

    def solve(self, means: Floats, weights: Floats, spread: Floats, *, with_variance: bool = False) -> Solution:
        """Return the posterior where, at each time, home + spread·field was seen with the given precision.

        Parameters
        ----------
        means : (d, k) array
            What was seen.
        weights, spread : (k,) array
            The precision of that, and the spread of the process.
        with_variance : bool
            Whether variances are wanted too.
        """
        from scipy.linalg import cho_solve_banded, cholesky_banded

        tracks = self.tracks
        (dimension, size), sums = means.shape, tracks.sums
        band = self.band.copy()
        band[0, :, 0] += weights * spread**2
        factor = cholesky_banded(band.reshape(4, -1), lower=True, check_finite=False)

        # The home is found along with the rest, by generalized least squares: smooth the points about some place, and
        # smooth a constant 1, which says how much of a shift of the home the process would explain by itself.
        start = tracks.spread(sums(means * weights) / sums(weights))
        seen = np.ones((dimension + 1, size))
        seen[:-1] = means - start
        right = np.zeros((dimension + 1, size, 2))
        right[:, :, 0] = seen * (weights * spread)
        # Transposed, so that LAPACK finds its columns in one piece.
        right = right.reshape(dimension + 1, -1).T
        found = cho_solve_banded((factor, True), right, overwrite_b=True, check_finite=False).T
        explained = found[:, ::2] * spread
        left = seen - explained
        residual = left * weights
        precision = sums(residual[-1])
        shift = tracks.spread(sums(residual[:-1]) / precision)
        mean = explained[:-1] + left[-1] * shift + start

        square = sums((seen[:-1] * (residual[:-1] - residual[-1] * shift)).sum(axis=0))
        pivots = 2 * np.log(factor[0, ::2] * factor[0, 1::2]) - self.log_determinant
        log_likelihood = -0.5 * (dimension * (sums(pivots) + np.log(precision)) + square)
        if not with_variance:
            return Solution(mean, start + shift, log_likelihood, np.empty(0), np.empty(0))
        # Given the home, and then what not knowing the home adds.
        variance = spread**2 * _position_variance(band, factor.reshape(band.shape))
        doubt = tracks.spread(1 / precision)
        place, distance = left[-1] ** 2 * doubt, explained[-1] ** 2 * doubt
        return Solution(mean, start + shift, log_likelihood, variance + place, variance + distance)


def _position_variance(band: Floats, factor: Floats) -> Floats:
    # The inverse's block at one time is that of (what the past leaves + what the future leaves - what is counted
    # twice), and a Cholesky factor holds what the past leaves; the factor of the matrix turned end to end, the future.
    from scipy.linalg import cholesky_banded

    size = 2 * band.shape[1]
    turned = np.zeros((4, size))
    for k, row in enumerate(band.reshape(4, -1)):
        turned[k, : size - k] = row[: size - k][::-1]
    back = cholesky_banded(turned, lower=True, check_finite=False)[:, ::-1].reshape(band.shape)
    first, between, second = factor[0, :, 0], factor[1, :, 0], factor[0, :, 1]
    # Turned, velocity stands before position.
    last, across, before = back[0, :, 1], back[1, :, 1], back[0, :, 0]
    m00 = first**2 + (across**2 + before**2) - band[0, :, 0]
    m01 = first * between + last * across - band[1, :, 0]
    m11 = (between**2 + second**2) + last**2 - band[0, :, 1]
    return np.asarray(m11 / (m00 * m11 - m01**2))
