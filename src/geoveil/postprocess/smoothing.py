"""Denoise a released trajectory: what is known of motion, put together with what was released.

A release y = true points + N(0, σ²) is public, and so are its times and σ; nothing here sees the true points, so it
costs no privacy.

The model, for each coordinate: an unknown home (any place is as likely as any other) plus a stationary Gaussian
process that has a velocity (Matérn 3/2: position and velocity together are Markov). At the n times they are then a
Gauss-Markov random field: their joint precision matrix is block-tridiagonal however irregular the times, and what was
observed only adds to its diagonal. One banded Cholesky factor gives the exact posterior mean, the same as the
Rauch-Tung-Striebel smoother's (a Kalman filter forwards and a pass backwards), and the exact marginal likelihood; a
second one, from the other end, gives the posterior variances.

`smooth` does that several times over: it sets aside points that cannot be noise, turns to the axes along which the
points are spread, lets the spread change along the way (journeys have long tails: mostly downtown, sometimes the
airport), and fits spread and timescale by the marginal likelihood of the release.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geoveil.errors import InvalidData, InvalidParameter
from geoveil.postprocess.motion import Motion

__all__ = ["Posterior", "expected_error", "posterior", "smooth"]

Floats = NDArray[np.float64]

# Times that are closer than this part of the timescale are rounded to multiples of it: the precision matrix grows with
# the cube of 1/dt and would lose its digits. Meanwhile the traveller moves by as small a part of the spread.
_TIME_STEP = 2e-4
# Noise below this part of the spread is taken to be as large: less of it would be lost in the digits.
_LEAST_NOISE = 1e-6
# The chance that in a release from the model any point at all is set aside.
_FALSE_ALARM = 1e-3
# Spread and timescale are tried at these powers of √2 times the public ones, a priori normal with this deviation.
_STEP, _STEPS, _STEP_DEVIATION = math.sqrt(2), 4, 1.0
# Rounds in which the spread follows the journey; more of them gain nothing.
_ROUNDS = 3


@dataclass(frozen=True)
class Posterior:
    """What is known of the true points after the release.

    Parameters
    ----------
    mean : (n, d) array
        The posterior mean of each point, in metres.
    variance : (n,) array
        The posterior variance of each coordinate of each point, in square metres.
    log_likelihood : float
        Of the release under the model, up to a constant that depends on neither spread nor timescale.
    """

    mean: Floats
    variance: Floats
    log_likelihood: float


def posterior(y: Floats, times: Floats, sigma: ArrayLike, *, spread: float, timescale: float) -> Posterior:
    """The exact posterior under one Gaussian prior, with nothing fitted.

    Parameters
    ----------
    y : (n, d) array
        The released points, in metres.
    times : (n,) array
        When, in seconds, in order; equal ones are the same place.
    sigma : float or (n,) array
        The noise scale of each coordinate, in metres.
    spread : float
        Standard deviation of a coordinate about the home, in metres.
    timescale : float
        Two points that are t apart in time have correlation (1 + t/timescale)·exp(-t/timescale).
    """
    y, times, noise = _checked(y, times, sigma)
    noise = np.maximum(noise, _LEAST_NOISE * spread)
    track = _Track.of(times, timescale)
    field = _Field.of(track, timescale)
    means, weights = track.gather(y, noise**-2)
    found = field.solve(means, weights, np.full(track.size, spread), with_variance=True)
    return Posterior(found.mean[track.node], found.variance[track.node], found.log_likelihood)


def expected_error(times: Floats, sigma: ArrayLike, motion: Motion, *, dimension: int = 2) -> float:
    """The root mean square error of a smoothed trajectory, in metres, if the public prior is true.

    It is known before anything is released: it depends on the times and the noise alone.

    Parameters
    ----------
    times : (n,) array
        When, in seconds, in order.
    sigma : float or (n,) array
        The noise scale of each coordinate, in metres.
    motion : Motion
        The public prior. Its tail is not used: the spread is the same all along.
    dimension : int
        Of the points.

    Examples
    --------
    >>> from geoveil.postprocess.motion import TAXI
    >>> times = np.arange(0.0, 86_400.0, 60.0)
    >>> round(expected_error(times, 14_000, TAXI) / (14_000 * 2**0.5), 2)
    0.17
    """
    nothing = np.zeros((len(times), dimension))
    spread = motion.axis_spread(dimension)
    result = posterior(nothing, times, sigma, spread=spread, timescale=motion.timescale)
    return math.sqrt(dimension * float(result.variance.mean()))


def smooth(y: Floats, times: Floats, sigma: ArrayLike, motion: Motion) -> Floats:
    """The released points, denoised.

    Parameters
    ----------
    y : (n, d) array
        The released points, in metres: the true ones plus independent N(0, σ²) on each coordinate.
    times : (n,) array
        When, in seconds, in order.
    sigma : float or (n,) array
        The noise scale of each coordinate, in metres.
    motion : Motion
        The public prior.

    Returns
    -------
    (n, d) array
        Estimates of the true points. With little noise they are y; with very much, the mean of y.

    Examples
    --------
    >>> from geoveil.postprocess.motion import WALKING
    >>> rng = np.random.default_rng(1)
    >>> times = np.arange(0.0, 3600.0, 10.0)
    >>> true = np.column_stack([times, 300 * np.sin(times / 600)])
    >>> released = true + rng.normal(scale=500, size=true.shape)
    >>> error = lambda x: np.sqrt(np.square(x - true).sum(axis=1).mean())
    >>> bool(error(smooth(released, times, 500, WALKING)) < error(released) / 3)
    True
    """
    y, times, noise = _checked(y, times, sigma)
    if len(y) == 1:  # its own mean
        return y.copy()
    dimension = y.shape[1]
    spread, timescale = motion.axis_spread(dimension), motion.timescale
    noise = np.maximum(noise, _LEAST_NOISE * spread)
    track = _Track.of(times, timescale)
    # The middle is taken off first: coordinates are millions of metres, and squares of them would lose digits.
    middle = np.median(y, axis=0)
    y = y - middle

    field = _Field.of(track, timescale)
    odd = _odd_points(y, noise, track, field, spread)
    weight = np.where(odd, 0.0, noise**-2)
    axes, stretch = _axes(y, weight, spread)
    means, weights = track.gather(y @ axes, weight)
    spreads = np.broadcast_to(spread * stretch, means.shape)
    _, scale = _follow(means, weights, field, spreads, motion.tail)
    # Fitted only now: with one spread all along, rare far journeys would be taken for a wide and slow everyday.
    spreads, field = _fit(means, weights, track, spreads, scale, timescale)
    for _ in range(_ROUNDS):
        found, scale = _follow(means, weights, field, spreads, motion.tail, scale)
    smoothed = (found @ axes.T)[track.node] + middle
    # A point that cannot be noise on a plausible path is its own best estimate.
    smoothed[odd] = y[odd] + middle
    return smoothed


def _odd_points(y: Floats, noise: Floats, track: _Track, field: _Field, spread: float) -> NDArray[np.bool_]:
    # Receivers now and then report a place hundreds of kilometres away. Left in, one such point drags its neighbours
    # along; so what lies too far off the path that all others describe is set aside.
    from scipy.special import gammainccinv

    n, dimension = y.shape
    odd = np.zeros(n, dtype=bool)
    limit = 2 * float(gammainccinv(dimension / 2, _FALSE_ALARM / n))
    for _ in range(_ROUNDS + 1):
        means, weights = track.gather(y, np.where(odd, 0.0, noise**-2))
        found = field.solve(means, weights, np.full(track.size, spread), with_variance=True)
        # A residual has the variance of the noise less that of the posterior, to which the point itself gave.
        squares = np.square(y - found.mean[track.node]).sum(axis=1)
        surprise = squares / np.maximum(noise**2 - found.variance[track.node], 1e-6 * noise**2)
        surprise[odd] = 0
        # Only the worst of each neighbourhood: the others may only have been dragged along.
        around = np.pad(surprise, 1)
        new = (surprise > limit) & (surprise >= around[:-2]) & (surprise >= around[2:])
        # Half of the points must be left to describe a path.
        if not new.any() or 2 * (odd.sum() + new.sum()) > n:
            break
        odd |= new
    return odd


def _fit(
    means: Floats, weights: Floats, track: _Track, spreads: Floats, scale: Floats, timescale: float
) -> tuple[Floats, _Field]:
    # Climb from the public values, one step of the grid at a time, to the largest posterior density. Where the noise
    # hides the journey the likelihood is flat, and the public values stay.
    fields: dict[int, _Field] = {}
    known: dict[tuple[int, int], float] = {}

    def score(at: tuple[int, int]) -> float:
        if max(map(abs, at)) > _STEPS:
            return -math.inf
        if at not in known:
            i, j = at
            if j not in fields:
                fields[j] = _Field.of(track, timescale * _STEP**j)
            known[at] = -(i * i + j * j) / (2 * _STEP_DEVIATION**2)
            for column, spread in zip(means.T, (spreads * scale * _STEP**i).T, strict=True):
                known[at] += fields[j].solve(column[:, None], weights, spread).log_likelihood
        return known[at]

    i, j = _climb(score)
    return spreads * _STEP**i, fields[j]


def _climb(score: Callable[[tuple[int, int]], float]) -> tuple[int, int]:
    at, moved = (0, 0), True
    while moved:
        moved = False
        for i, j in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            while score((at[0] + i, at[1] + j)) > score(at):
                at, moved = (at[0] + i, at[1] + j), True
    return at


def _axes(y: Floats, weight: Floats, spread: float) -> tuple[Floats, Floats]:
    # The principal axes of the true points, as far as the noise lets them be seen, and how far the points stretch
    # along each in units of their spread.
    n, dimension = y.shape
    share = weight / weight.sum()
    centred = y - share @ y
    noise = np.count_nonzero(weight) / weight.sum()
    lengths, axes = np.linalg.eigh((centred * share[:, None]).T @ centred - noise * np.eye(dimension))
    excess = lengths - lengths.mean()
    # What chance alone gives has this size; twice as much must be seen before any of it is believed.
    chance = noise * math.sqrt(2 / n)
    power = float(np.square(excess).mean())
    seen = 1 - 4 * chance**2 / power if power > 4 * chance**2 else 0.0
    squares = np.maximum(1 + seen * excess / max(float(lengths.mean()), spread**2), 0.1)
    return axes, np.sqrt(squares / squares.mean())


def _follow(
    means: Floats, weights: Floats, field: _Field, spreads: Floats, tail: float, scale: Floats | float = 1.0
) -> tuple[Floats, Floats]:
    # The squared spread at each time has an inverse gamma prior with the public mean, so a coordinate is Student's t.
    # A step of expectation-maximization: the posterior under the spreads so far, and the spreads that it suggests.
    found, squares = np.empty_like(means), np.empty_like(means)
    for j, spread in enumerate((spreads * scale).T):
        solution = field.solve(means[:, [j]], weights, spread, with_variance=True)
        found[:, j] = solution.mean[:, 0]
        squares[:, j] = np.square(found[:, j] - solution.home) + solution.distance_variance
    squares /= spreads**2
    # Who goes far goes far along one axis more than along the others: half of what is seen on each counts for all.
    squares = (squares * means.shape[1] + squares.sum(axis=1, keepdims=True)) / 2
    return found, np.sqrt((tail - 2 + squares) / (tail + means.shape[1]))


@dataclass(frozen=True)
class _Track:
    """The different times of a journey, and which point belongs to which."""

    node: NDArray[np.intp]
    gaps: Floats

    @classmethod
    def of(cls, times: Floats, timescale: float) -> _Track:
        at, node = np.unique(times - times[0], return_inverse=True)
        step = _TIME_STEP * timescale
        if np.diff(at).min(initial=step) < step:
            at, node = np.unique(np.round((times - times[0]) / step), return_inverse=True)
            at *= step
        return cls(node, np.diff(at))

    @property
    def size(self) -> int:
        return len(self.gaps) + 1

    def gather(self, y: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """The mean of the points at each time, and the precision of that mean."""
        total = np.bincount(self.node, weight, self.size)
        sums = [np.bincount(self.node, weight * column, self.size) for column in y.T]
        # Where all points of a time were set aside, nothing was seen: any value will do.
        means: Floats = np.column_stack(sums) / np.where(total > 0, total, 1.0)[:, None]
        return means, np.asarray(total, dtype=float)


@dataclass(frozen=True)
class _Solution:
    """The posterior at each time of a track; the variances, of place and of place less home, only where asked for."""

    mean: Floats
    home: Floats
    log_likelihood: float
    variance: Floats
    distance_variance: Floats


@dataclass(frozen=True)
class _Field:
    """The Matérn 3/2 process of variance 1 as a Gauss-Markov random field.

    Parameters
    ----------
    band : (4, 2m) array
        The precision matrix of (position, timescale·velocity) at each of m times in turn, by its lower diagonals.
    log_determinant : float
        Of that matrix.
    """

    band: Floats
    log_determinant: float

    @classmethod
    def of(cls, track: _Track, timescale: float) -> _Field:
        from scipy.special import gammainc

        # From one time to the next: state' = F·state + N(0, Q), and (position, timescale·velocity) has covariance I.
        a = track.gaps / timescale
        decay = np.exp(-a)
        f = decay * (1 + a), decay * a, -decay * a, decay * (1 - a)
        # 1 - exp(-2a)·(1 + 2a + 2a²), without its cancellation.
        q00 = gammainc(3.0, 2 * a)
        q01 = 2 * np.square(decay * a)
        q11 = -np.expm1(-2 * a) + np.square(decay) * 2 * a * (1 - a)
        determinant = q00 * q11 - q01 * q01
        p00, p01, p11 = q11 / determinant, -q01 / determinant, q00 / determinant
        band = np.zeros((4, 2 * track.size))
        # Each block on the diagonal is Q⁻¹ from the past and FᵀQ⁻¹F from the future. The process looks the same
        # backwards, but for the sign of the velocity, so FᵀQ⁻¹F + I is Q⁻¹ with its off-diagonal turned over.
        band[0, :2] = 1
        band[0, 2::2] = p00
        band[0, 3::2] = p11
        band[1, 2::2] = p01
        band[0, :-2:2] += p00 - 1
        band[0, 1:-2:2] += p11 - 1
        band[1, :-2:2] -= p01
        # Below the diagonal stands -Q⁻¹F.
        band[2, :-2:2] = -(p00 * f[0] + p01 * f[2])
        band[3, :-2:2] = -(p01 * f[0] + p11 * f[2])
        band[1, 1:-2:2] = -(p00 * f[1] + p01 * f[3])
        band[2, 1:-2:2] = -(p01 * f[1] + p11 * f[3])
        return cls(band, -float(np.log(determinant).sum()))

    def solve(self, means: Floats, weights: Floats, spread: Floats, *, with_variance: bool = False) -> _Solution:
        """The posterior where, at each time, home + spread·field was seen with the given precision."""
        from scipy.linalg import cho_solve_banded, cholesky_banded

        size, dimension = means.shape
        band = self.band.copy()
        band[0, ::2] += weights * spread**2
        factor = cholesky_banded(band, lower=True, check_finite=False)

        # The home is found along with the rest, by generalized least squares: smooth the points about some place, and
        # smooth a constant 1, which says how much of a shift of the home the process would explain by itself.
        # (Sums of products, not @: for vectors, BLAS spends more on waking its threads than on the work.)
        start = (means * weights[:, None]).sum(axis=0) / weights.sum()
        seen = np.ones((dimension + 1, size))
        seen[:-1] = (means - start).T
        right = np.zeros((dimension + 1, 2 * size))
        right[:, ::2] = seen * (weights * spread)
        # Transposed, so that LAPACK finds its columns in one piece.
        explained = cho_solve_banded((factor, True), right.T, overwrite_b=True, check_finite=False).T[:, ::2] * spread
        left = seen - explained
        residual = left * weights
        precision = float(residual[-1].sum())
        shift = residual[:-1].sum(axis=1) / precision
        mean = explained[:-1].T + np.outer(left[-1], shift) + start

        square = float((seen[:-1] * (residual[:-1] - residual[-1] * shift[:, None])).sum())
        log_determinant = 2 * float(np.log(factor[0]).sum()) - self.log_determinant + math.log(precision)
        log_likelihood = -0.5 * (dimension * log_determinant + square)
        if not with_variance:
            return _Solution(mean, start + shift, log_likelihood, np.empty(0), np.empty(0))
        # Given the home, and then what not knowing the home adds.
        variance = spread**2 * _position_variance(band, factor)
        place, distance = left[-1] ** 2 / precision, explained[-1] ** 2 / precision
        return _Solution(mean, start + shift, log_likelihood, variance + place, variance + distance)


def _position_variance(band: Floats, factor: Floats) -> Floats:
    # The inverse's block at one time is that of (what the past leaves + what the future leaves - what is counted
    # twice), and a Cholesky factor holds what the past leaves; the factor of the matrix turned end to end, the future.
    from scipy.linalg import cholesky_banded

    turned = np.zeros_like(band)
    for k, row in enumerate(band):
        turned[k, : len(row) - k] = row[: len(row) - k][::-1]
    back = cholesky_banded(turned, lower=True, check_finite=False)
    first, between, second = factor[0, ::2], factor[1, ::2], factor[0, 1::2]
    # Turned, velocity stands before position.
    last, across, before = back[0, ::2][::-1], back[1, ::2][::-1], back[0, 1::2][::-1]
    m00 = first**2 + (across**2 + before**2) - band[0, ::2]
    m01 = first * between + last * across - band[1, ::2]
    m11 = (between**2 + second**2) + last**2 - band[0, 1::2]
    return np.asarray(m11 / (m00 * m11 - m01**2))


def _checked(y: Floats, times: Floats, sigma: ArrayLike) -> tuple[Floats, Floats, Floats]:
    y, times, noise = np.asarray(y, dtype=float), np.asarray(times, dtype=float), np.asarray(sigma, dtype=float)
    if y.ndim != 2 or 0 in y.shape or not np.isfinite(y).all():
        raise InvalidData("y", y, "an (n, d) array of finite coordinates in metres", "Give the released points.")
    if times.shape != y.shape[:1] or not np.isfinite(times).all() or (np.diff(times) < 0).any():
        raise InvalidParameter("times", times, "one finite time for each point, in order", "Sort the points by time.")
    if noise.shape not in ((), times.shape) or not (np.isfinite(noise) & (noise > 0)).all():
        raise InvalidParameter("sigma", sigma, "one positive noise scale, or one for each point", "Give metres.")
    return y, times, np.broadcast_to(noise, times.shape).astype(float)
