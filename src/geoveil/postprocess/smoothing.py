"""Denoise released tracks, using a public prior on motion.

A release y = true points + N(0, σ²) is public, and so are its times and σ; the true points are never used, so that
smoothing costs no privacy.

Each coordinate is modelled as an unknown home (with a flat prior) plus a stationary Gaussian process that has a
velocity (`random_fields`). Persons are independent of each other, and many are processed at once.

`smooth` fits this model in several rounds: it removes outliers, rotates the points to their principal axes, lets the
spread vary along the track (trips have long tails: mostly downtown, sometimes the airport), and fits spread and
timescale by the marginal likelihood of the release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geoveil.errors import InvalidData, InvalidParameter
from geoveil.postprocess.motion import Motion
from geoveil.postprocess.random_fields import Floats, Index, RandomField, Tracks

__all__ = ["TrackPosterior", "expected_error", "posterior", "smooth"]

Truths = NDArray[np.bool_]

# Smallest noise, as a fraction of the spread: smaller noise is replaced by it, as it would be lost to rounding.
_LEAST_NOISE = 1e-6
# Probability that any point of a release that follows the model is taken for an outlier.
_FALSE_ALARM = 1e-3
# Spread and timescale are fitted on a grid: the public values times √2^k with |k| ≤ 4, and k ~ N(0, 1) a priori.
_STEP, _STEPS, _STEP_DEVIATION = math.sqrt(2), 4, 1.0
# Rounds in which the spread is adapted along the track; further rounds gain nothing.
_ROUNDS = 3
# Approximate number of points processed at once, chosen for their matrices to fit into the processor's cache.
_TOGETHER = 2**14


@dataclass(frozen=True)
class TrackPosterior:
    """The posterior distribution of the true points of tracks."""

    #: The posterior mean of each point, in metres.
    mean: Floats
    #: The posterior variance of each coordinate of each point, in square metres.
    variance: Floats
    #: Log-likelihood of the release, up to a constant that depends on neither spread nor timescale.
    log_likelihood: float


def posterior(
    y: Floats, times: Floats, sigma: ArrayLike, *, spread: float, timescale: float, sizes: ArrayLike | None = None
) -> TrackPosterior:
    """Compute the exact posterior under one Gaussian prior, without fitting any parameter.

    Parameters
    ----------
    y : (n, d) array
        The released points, in metres.
    times : (n,) array
        Times in seconds, in order for each person; points at equal times are noisy copies of one position.
    sigma : float or (n,) array
        The noise scale of each coordinate, in metres.
    spread : float
        Standard deviation of a coordinate around the home, in metres.
    timescale : float
        Positions at times t apart have correlation (1 + t/timescale)·exp(-t/timescale).
    sizes : array of int, optional
        The number of points of each person; a person's points are consecutive. By default there is one person.
    """
    y, times, noise, persons = _checked(y, times, sigma, sizes)
    noise = np.maximum(noise, _LEAST_NOISE * spread)
    tracks = Tracks.of(times, persons, timescale)
    means, weights = tracks.gather(y, noise**-2)
    solved = RandomField.of(tracks, timescale).solve(means, weights, np.full(len(weights), spread), with_variance=True)
    return TrackPosterior(solved.mean.T[tracks.node], solved.variance[tracks.node], float(solved.log_likelihood.sum()))


def expected_error(
    times: Floats, sigma: ArrayLike, motion: Motion, *, dimension: int = 2, sizes: ArrayLike | None = None
) -> float:
    """Compute the root mean square error of smoothed tracks, in metres, assuming that the public prior is true.

    It depends on the times and the noise alone, so that it is known before anything is released.

    Parameters
    ----------
    times : (n,) array
        Times in seconds, in order for each person.
    sigma : float or (n,) array
        The noise scale of each coordinate, in metres.
    motion : Motion
        The public prior. Its tail is not used: the spread is assumed constant along the track.
    dimension : int
        The dimension of the points.
    sizes : array of int, optional
        The number of points of each person; a person's points are consecutive. By default there is one person.

    Examples
    --------
    >>> from geoveil.postprocess.motion import TAXI
    >>> times = np.arange(0.0, 86_400.0, 60.0)
    >>> round(expected_error(times, 14_000, TAXI) / (14_000 * 2**0.5), 2)
    0.17
    """
    nothing, times, noise, persons = _checked(np.zeros((len(times), 1)), times, sigma, sizes)
    spread, timescale = motion.axis_spread(dimension), motion.timescale
    total = 0.0
    for rows, these in _batches(persons):
        states = posterior(nothing[rows], times[rows], noise[rows], spread=spread, timescale=timescale, sizes=these)
        total += float(states.variance.sum())
    return math.sqrt(dimension * total / len(times))


def smooth(y: Floats, times: Floats, sigma: ArrayLike, motion: Motion, *, sizes: ArrayLike | None = None) -> Floats:
    """Denoise the released points of tracks.

    Parameters
    ----------
    y : (n, d) array
        The released points, in metres: the true points plus independent N(0, σ²) noise on each coordinate.
    times : (n,) array
        Times in seconds, in order for each person.
    sigma : float or (n,) array
        The noise scale of each coordinate, in metres.
    motion : Motion
        The public prior.
    sizes : array of int, optional
        The number of points of each person; a person's points are consecutive. By default there is one person.

    Returns
    -------
    (n, d) array
        Estimates of the true points. They approach y as the noise vanishes, and the mean of y as it grows.

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
    y, times, noise, persons = _checked(y, times, sigma, sizes)
    noise = np.maximum(noise, _LEAST_NOISE * motion.axis_spread(y.shape[1]))
    smoothed = np.empty_like(y)
    for rows, these in _batches(persons):
        smoothed[rows] = _smooth(y[rows], times[rows], noise[rows], motion, these)
    return smoothed


def _batches(sizes: Index) -> Iterator[tuple[slice, Index]]:
    """Yield consecutive groups of persons with about `_TOGETHER` points: the rows and the sizes."""
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        start = int(ends[first] - sizes[first])
        last = max(int(np.searchsorted(ends, start + _TOGETHER, side="right")), first + 1)
        yield slice(start, int(ends[last - 1])), sizes[first:last]
        first = last


def _smooth(y: Floats, times: Floats, noise: Floats, motion: Motion, sizes: Index) -> Floats:
    spread, timescale = motion.axis_spread(y.shape[1]), motion.timescale
    tracks = Tracks.of(times, sizes, timescale)
    person = np.repeat(np.arange(len(sizes)), sizes)
    # Coordinates are centred first: they are millions of metres, and their squares would lose digits.
    middle = _medians(y, sizes)[person]
    y = y - middle

    field = RandomField.of(tracks, timescale)
    odd = _odd_points(y, noise, sizes, field, spread)
    weight = np.where(odd, 0.0, noise**-2)
    axes, stretch = _axes(y, weight, sizes, spread)
    means, weights = tracks.gather(_turned(y, axes[person]), weight)
    spreads = tracks.spread(spread * stretch.T)
    _, scale = _follow(means, weights, field, spreads, motion.tail)
    # Fitted only now: with a constant spread, rare long trips would be mistaken for a wide spread and slow motion.
    spreads, field = _fit(means, weights, field, spreads, scale, timescale)
    for _ in range(_ROUNDS):
        states, scale = _follow(means, weights, field, spreads, motion.tail, scale)
    smoothed = _turned(states.T[tracks.node], axes[person].transpose(0, 2, 1))
    # An outlier is its own best estimate, and so is the only point of a person.
    own = odd | np.repeat(sizes == 1, sizes)
    return np.asarray(np.where(own[:, None], y, smoothed) + middle)


def _odd_points(y: Floats, noise: Floats, sizes: Index, field: RandomField, spread: float) -> Truths:
    """Return a mask of outliers: points too far from the track of all others for noise to explain.

    Receivers sometimes report a location hundreds of kilometres away, which would distort the track around it.
    """
    from scipy.special import gammainccinv

    tracks, first, person = field.tracks, np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
    odd = np.zeros(len(y), dtype=bool)
    looking = sizes > 1
    limit = 2 * gammainccinv(y.shape[1] / 2, _FALSE_ALARM / np.arange(1, sizes.max() + 1))[sizes - 1]
    for _ in range(_ROUNDS + 1):
        means, weights = tracks.gather(y, np.where(odd, 0.0, noise**-2))
        some, theirs = tracks.chosen(looking)
        expected = field.chosen(some, theirs).solve(
            means[:, theirs], weights[theirs], np.full(theirs.sum(), spread), with_variance=True
        )
        points = looking[person]
        at = (np.cumsum(theirs) - 1)[tracks.node[points]]
        # The variance of a residual is that of the noise minus that of the posterior, which used the point itself.
        squares, own = np.square(y[points] - expected.mean.T[at]).sum(axis=1), noise[points] ** 2
        surprise = np.zeros(len(y))
        surprise[points] = squares / np.maximum(own - expected.variance[at], 1e-6 * own)
        surprise[odd] = 0
        # Only local maxima are outliers: the track around an outlier is distorted by it.
        before, after = np.roll(surprise, 1), np.roll(surprise, -1)
        before[first] = after[first - 1] = 0
        new = (surprise > limit[person]) & (surprise >= before) & (surprise >= after)
        # At least half of a person's points must remain to describe a track.
        found_new, known = np.add.reduceat(new, first), np.add.reduceat(odd, first)
        looking = (found_new > 0) & (2 * (known + found_new) <= sizes)
        if not looking.any():
            break
        odd |= new & looking[person]
    return odd


def _fit(
    means: Floats, weights: Floats, field: RandomField, spreads: Floats, scale: Floats, timescale: float
) -> tuple[Floats, RandomField]:
    """Fit spread and timescale of each person by their largest posterior density; return the spreads and the field.

    The search climbs from the public values, one step of the grid at a time. Where the noise hides the track, the
    likelihood is flat and the public values remain.
    """
    tracks = field.tracks
    count = len(tracks.starts)
    known = np.full((count, 2 * _STEPS + 1, 2 * _STEPS + 1), np.nan)
    scaled = spreads * scale

    def score(who: Index, at: Index) -> Floats:
        inside = np.abs(at).max(axis=1) <= _STEPS
        cell = who[inside], at[inside, 0], at[inside, 1]
        asked = np.isnan(known[cell])
        if asked.any():
            new, i, j = (part[asked] for part in cell)
            some, theirs = tracks.chosen(np.isin(np.arange(count), new))
            if not j.any():
                slower = field if len(new) == count else field.chosen(some, theirs)
            else:
                slower = RandomField.of(some, timescale * _powers(j))
            likelihood = -(i * i + j * j) / (2 * _STEP_DEVIATION**2)
            for column, spread in zip(means[:, theirs], scaled[:, theirs] * some.spread(_powers(i)), strict=True):
                likelihood += slower.solve(column[None], weights[theirs], spread).log_likelihood
            known[new, i, j] = likelihood
        scores = np.full(len(who), -np.inf)
        scores[inside] = known[cell]
        return scores

    steps = _climb(count, score)
    wider, slower = _powers(steps).T
    fitted = RandomField.of(tracks, timescale * slower) if steps[:, 1].any() else field
    return spreads * tracks.spread(wider), fitted


def _powers(steps: Index) -> Floats:
    return np.asarray(_STEP**steps, dtype=float)


def _climb(count: int, score: Callable[[Index, Index], Floats]) -> Index:
    at = np.zeros((count, 2), dtype=np.intp)
    moving = np.arange(count)
    while len(moving):
        moved = np.zeros(count, dtype=bool)
        for step in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            going = moving
            while len(going):
                going = going[score(going, at[going] + step) > score(going, at[going])]
                at[going] += step
                moved[going] = True
        moving = moving[moved[moving]]
    return at


def _axes(y: Floats, weight: Floats, sizes: Index, spread: float) -> tuple[Floats, Floats]:
    """Estimate the principal axes of each person's true points, and their relative extents along these axes."""
    first, person = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
    total = np.add.reduceat(weight, first)
    share = (weight / total[person])[:, None]
    centred = y - np.add.reduceat(share * y, first)[person]
    noise = np.add.reduceat(weight > 0, first) / total
    products = np.add.reduceat((share * centred)[:, :, None] * centred[:, None, :], first)
    lengths, axes = np.linalg.eigh(products - noise[:, None, None] * np.eye(y.shape[1]))
    mean = lengths.mean(axis=1, keepdims=True)
    excess = lengths - mean
    # The square of twice the anisotropy that noise alone gives: anything below is attributed to chance.
    chance = 4 * np.square(noise * np.sqrt(2 / sizes))
    power = np.square(excess).mean(axis=1)
    seen = 1 - np.divide(chance, power, out=np.ones_like(power), where=power > chance)[:, None]
    squares = np.maximum(1 + seen * excess / np.maximum(mean, spread**2), 0.1)
    return axes, np.sqrt(squares / squares.mean(axis=1, keepdims=True))


def _follow(
    means: Floats, weights: Floats, field: RandomField, spreads: Floats, tail: float, scale: Floats | float = 1.0
) -> tuple[Floats, Floats]:
    """Perform one step of expectation-maximisation, and return the posterior means and the updated spreads.

    The squared spread at each time has an inverse gamma prior with the public mean, so that a coordinate follows a
    Student's t distribution.
    """
    smoothed, squares = np.empty_like(means), np.empty_like(means)
    for j, spread in enumerate(spreads * scale):
        solution = field.solve(means[[j]], weights, spread, with_variance=True)
        smoothed[j] = solution.mean[0]
        squares[j] = np.square(smoothed[j] - solution.home[0]) + solution.distance_variance
    squares /= spreads**2
    # Long trips are longer along one axis than along the others: half of the evidence on each counts for all.
    squares = (squares * len(means) + squares.sum(axis=0)) / 2
    return smoothed, np.sqrt((tail - 2 + squares) / (tail + len(means)))


def _turned(points: Floats, axes: Floats) -> Floats:
    return np.asarray((points[:, :, None] * axes).sum(axis=1))


def _medians(y: Floats, sizes: Index) -> Floats:
    person, first = np.repeat(np.arange(len(sizes)), sizes), np.cumsum(sizes) - sizes
    columns = [column[np.lexsort((column, person))] for column in y.T]
    return np.column_stack([(c[first + (sizes - 1) // 2] + c[first + sizes // 2]) / 2 for c in columns])


def _checked(
    y: Floats, times: Floats, sigma: ArrayLike, sizes: ArrayLike | None
) -> tuple[Floats, Floats, Floats, Index]:
    y, times, noise = np.asarray(y, dtype=float), np.asarray(times, dtype=float), np.asarray(sigma, dtype=float)
    if y.ndim != 2 or 0 in y.shape or not np.isfinite(y).all():
        raise InvalidData("y", y, "an (n, d) array of finite coordinates in metres", "Give the released points.")
    persons = np.array([len(y)]) if sizes is None else np.asarray(sizes, dtype=np.intp)
    if persons.ndim != 1 or not (persons > 0).all() or persons.sum() != len(y):
        raise InvalidParameter(
            "sizes", sizes, f"numbers of points that add up to {len(y)}", "Leave out empty persons."
        )
    if times.shape != y.shape[:1] or not np.isfinite(times).all():
        raise InvalidParameter("times", times, "one finite time for each point", "Give times in seconds.")
    apart = np.diff(times)
    apart[np.cumsum(persons)[:-1] - 1] = 0  # from one person to the next
    if (apart < 0).any():
        raise InvalidParameter("times", times, "in order, for each person", "Sort the points by time.")
    if noise.shape not in ((), times.shape) or not (np.isfinite(noise) & (noise > 0)).all():
        raise InvalidParameter("sigma", sigma, "one positive noise scale, or one for each point", "Give metres.")
    return y, times, np.broadcast_to(noise, times.shape).astype(float), persons
