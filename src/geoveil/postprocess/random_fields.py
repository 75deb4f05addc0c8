"""Gauss-Markov random fields that model the tracks of many persons at once.

At the times of a track, position and velocity of a Matérn 3/2 process are Markov: their joint precision matrix is
block-tridiagonal, however irregular the times, and observations only add to its diagonal. The last time of one person
and the first time of the next are treated as infinitely far apart: the blocks between them are zero, and the tracks of
many persons form one banded matrix. One banded Cholesky factor gives the exact posterior mean of all tracks, equal to
that of the Rauch-Tung-Striebel smoother (a Kalman filter forwards and a pass backwards), and the exact marginal
likelihood of each; a second factor, computed from the other end, gives the posterior variances.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Index", "RandomField", "Solution", "Tracks"]

Floats = NDArray[np.float64]
Index = NDArray[np.intp]

# Times closer together than this fraction of the timescale are rounded to multiples of it: entries of the precision
# matrix grow with the cube of 1/dt and would lose their digits. In that time the traveller moves by about the same
# fraction of the spread.
_TIME_STEP = 2e-4
# Largest gap, in timescales, that is modelled: beyond it correlations underflow, as exp(-1000) is 0.
_FOREVER = 1e3


@dataclass(frozen=True)
class Tracks:
    """The distinct times of tracks, in order, one track after another."""

    #: Index of the first time of each track.
    starts: Index
    #: Seconds since the previous time; infinite at the first time of a track.
    gaps: Floats
    #: Index of the time of each point.
    node: Index

    @classmethod
    def of(cls, times: Floats, sizes: Index, timescale: float) -> Tracks:
        """Return the tracks of persons, given the times of all points and the number of points of each person.

        The points of a person are consecutive and in order of time.
        """
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
        """The number of distinct times of each track."""
        return np.diff(self.starts, append=len(self.gaps))

    def sums(self, values: Floats) -> Floats:
        """Return the sum over each track, along the last axis."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=-1))

    def spread(self, values: Floats) -> Floats:
        """Repeat one value per track at each time of the track, along the last axis."""
        return np.repeat(values, self.counts, axis=-1)

    def gather(self, y: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return the mean of the points at each time, as (d, k), and the precision of that mean."""
        total = np.bincount(self.node, weight, len(self.gaps))
        sums = [np.bincount(self.node, weight * column, len(self.gaps)) for column in y.T]
        # If all points of a time are outliers, the weight is 0 and the value does not matter.
        return np.array(sums) / np.where(total > 0, total, 1.0), np.asarray(total, dtype=float)

    def chosen(self, tracks: NDArray[np.bool_]) -> tuple[Tracks, NDArray[np.bool_]]:
        """Return the selected tracks, without their points, and a mask of their times."""
        theirs = np.repeat(tracks, self.counts)
        counts = self.counts[tracks]
        return Tracks(np.cumsum(counts) - counts, self.gaps[theirs], np.empty(0, dtype=np.intp)), theirs


@dataclass(frozen=True)
class Solution:
    """The posterior distribution at each time of tracks."""

    #: Posterior means of the position at each time, and of the home of its track.
    mean: Floats
    home: Floats
    #: Log-likelihood of the observations of each track, up to a constant that depends on neither spread nor timescale.
    log_likelihood: Floats
    #: Posterior variances of a coordinate of the position, and of position minus home; empty unless requested.
    variance: Floats
    distance_variance: Floats


@dataclass(frozen=True)
class RandomField:
    """A Matérn 3/2 process of variance 1 along tracks, as a Gauss-Markov random field."""

    #: The times at which it is evaluated.
    tracks: Tracks
    #: The columns of the precision matrix of (position, timescale·velocity) at k times, from the diagonal downwards:
    #: the order in which LAPACK stores a banded matrix, so that nothing is rearranged.
    band: Floats
    #: Log-determinant of that matrix, as one summand per time.
    log_determinant: Floats

    @classmethod
    def of(cls, tracks: Tracks, timescale: float | Floats) -> RandomField:
        """Return the random field of tracks, with one timescale for all or one for each track."""
        from scipy.special import gammainc

        # From one time to the next: state' = F·state + N(0, Q), and (position, timescale·velocity) has covariance I.
        scales = timescale if np.ndim(timescale) == 0 else tracks.spread(np.asarray(timescale))
        a = np.minimum(tracks.gaps / scales, _FOREVER)
        decay = np.exp(-a)
        f = decay * (1 + a), decay * a, -decay * a, decay * (1 - a)
        # 1 - exp(-2a)·(1 + 2a + 2a²), computed without cancellation.
        q00 = gammainc(3.0, 2 * a)
        q01 = 2 * np.square(decay * a)
        q11 = -np.expm1(-2 * a) + np.square(decay) * 2 * a * (1 - a)
        determinant = q00 * q11 - q01 * q01
        p00, p01, p11 = q11 / determinant, -q01 / determinant, q00 / determinant
        band = np.zeros((len(a), 2, 4))
        # Each diagonal block is Q⁻¹ from the past plus FᵀQ⁻¹F from the future. Reversing time only changes the sign
        # of the velocity, so FᵀQ⁻¹F + I is Q⁻¹ with its off-diagonal entries negated.
        band[:, 0, 0], band[:, 1, 0], band[:, 0, 1] = p00, p11, p01
        band[:-1, 0, 0] += p00[1:] - 1
        band[:-1, 1, 0] += p11[1:] - 1
        band[:-1, 0, 1] -= p01[1:]
        # The blocks below the diagonal are -Q⁻¹F.
        band[:-1, 0, 2] = -(p00 * f[0] + p01 * f[2])[1:]
        band[:-1, 0, 3] = -(p01 * f[0] + p11 * f[2])[1:]
        band[:-1, 1, 1] = -(p00 * f[1] + p01 * f[3])[1:]
        band[:-1, 1, 2] = -(p01 * f[1] + p11 * f[3])[1:]
        return cls(tracks, band, -np.log(determinant))

    def chosen(self, tracks: Tracks, theirs: NDArray[np.bool_]) -> RandomField:
        """Return the random field of the tracks that `Tracks.chosen` has selected."""
        return RandomField(tracks, self.band[theirs], self.log_determinant[theirs])

    @cached_property
    def _scratch(self) -> tuple[Floats, Floats]:
        """Two bands that every solution overwrites: to get new memory for long tracks takes longer than to solve."""
        return np.empty_like(self.band), np.empty_like(self.band)

    def solve(self, means: Floats, weights: Floats, spread: Floats, *, with_variance: bool = False) -> Solution:
        """Return the posterior, given noisy observations of home + spread·field at each time.

        Parameters
        ----------
        means : (d, k) array
            The observations.
        weights, spread : (k,) array
            The precision of each observation, and the spread of the process.
        with_variance : bool
            Whether to compute variances too.
        """
        from scipy.linalg.lapack import dpbtrs

        tracks = self.tracks
        (dimension, size), sums = means.shape, tracks.sums
        band, ahead = self._scratch
        np.copyto(band, self.band)
        band[:, 0, 0] += weights * spread**2
        if with_variance:
            blocks = band[:, 0, 0].copy(), band[:, 0, 1].copy(), band[:, 1, 0].copy()
            # A lower band that is read from its end is the upper band of the matrix in reverse order.
            ahead.ravel()[:] = band.ravel()[::-1]
            after = _factor(ahead, lower=False).ravel()[::-1].reshape(band.shape)
        factor = _factor(band, lower=True)

        # The home is estimated jointly, by generalized least squares: smooth the points about a starting value, and
        # smooth a constant 1, which tells how much of a shift of the home the process alone would explain.
        start = tracks.spread(sums(means * weights) / sums(weights))
        seen = np.ones((dimension + 1, size))
        seen[:-1] = means - start
        right = np.zeros((dimension + 1, size, 2))
        np.multiply(seen, weights * spread, out=right[:, :, 0])
        # Transposed, so that columns are contiguous for LAPACK.
        solution, _ = dpbtrs(_stored(factor), right.reshape(dimension + 1, -1).T, lower=1, overwrite_b=1)
        explained = solution.T[:, ::2] * spread
        left = seen - explained
        residual = left * weights
        precision = sums(residual[-1])
        shift = tracks.spread(sums(residual[:-1]) / precision)
        mean = explained[:-1] + left[-1] * shift + start

        square = sums((seen[:-1] * (residual[:-1] - residual[-1] * shift)).sum(axis=0))
        pivots = 2 * np.log(factor[:, 0, 0] * factor[:, 1, 0]) - self.log_determinant
        log_likelihood = -0.5 * (dimension * (sums(pivots) + np.log(precision)) + square)
        if not with_variance:
            return Solution(mean, start + shift, log_likelihood, np.empty(0), np.empty(0))
        # The variance given the home, plus the contribution of the uncertainty about the home.
        variance = spread**2 * _position_variance(*blocks, factor, after)
        doubt = tracks.spread(1 / precision)
        place, distance = left[-1] ** 2 * doubt, explained[-1] ** 2 * doubt
        return Solution(mean, start + shift, log_likelihood, variance + place, variance + distance)


def _stored(band: Floats) -> Floats:
    """Return a band as LAPACK takes it, with the diagonals as rows; the memory is the same."""
    return band.reshape(-1, 4).T


def _factor(band: Floats, *, lower: bool) -> Floats:
    """Replace a band by that of its Cholesky factor, and return it; `lower` says which triangle the band holds."""
    from scipy.linalg.lapack import dpbtrf

    factor, failed = dpbtrf(_stored(band), lower=int(lower), overwrite_ab=1)
    if failed:
        raise np.linalg.LinAlgError("a precision matrix is not positive definite in doubles")
    return np.asarray(factor.T.reshape(band.shape))


def _position_variance(d00: Floats, d01: Floats, d11: Floats, factor: Floats, after: Floats) -> Floats:
    """Return the posterior variance of the position at each time.

    Parameters
    ----------
    d00, d01, d11 : (k,) array
        The diagonal blocks of the precision matrix.
    factor, after : (k, 2, 4) array
        Its Cholesky factor, and that of the matrix in reverse order.
    """
    # The diagonal block of the inverse at one time is the inverse of (Schur complement of the past + Schur complement
    # of the future - diagonal block, which both contain). The factors hold these complements.
    first, between, second = factor[:, 0, 0], factor[:, 0, 1], factor[:, 1, 0]
    # In reverse order, velocity comes before position.
    last, across, before = after[:, 1, 0], after[:, 0, 1], after[:, 0, 0]
    m00 = first**2 + (across**2 + before**2) - d00
    m01 = first * between + last * across - d01
    m11 = (between**2 + second**2) + last**2 - d11
    return np.asarray(m11 / (m00 * m11 - m01**2))
