"""A released trajectory can be denoised by what everybody knows of motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from geoveil.postprocess import smoothing
from geoveil.postprocess.motion import CAR, CYCLING, TAXI, WALKING, Motion
from geoveil.postprocess.smoothing import expected_error, posterior, smooth
from tests.cabspotting import Floats, names, requires_cabspotting, rms, seconds, trajectory

# Every tenth taxi, by position: not chosen for how well they come out.
TAXIS = range(0, 60, 10)


def irregular_times(n: int, rng: np.random.Generator) -> Floats:
    """About one a minute, with ties, near ties and a gap of a day."""
    gaps = rng.choice([0.0, 1.0, 30.0, 61.0, 300.0], size=n)
    gaps[n // 2] = 86_400
    return np.cumsum(gaps) + 1.2e9


def covariance(times: Floats, spread: float, timescale: float) -> Floats:
    """The Matérn 3/2 covariance of one coordinate at all pairs of times."""
    apart = np.abs(times[:, None] - times) / timescale
    return np.asarray(spread**2 * (1 + apart) * np.exp(-apart))


def journeys(count: int, times: Floats, motion: Motion, rng: np.random.Generator) -> Floats:
    """True points in the plane, drawn from the public prior: an array (count, n, 2)."""
    values, vectors = np.linalg.eigh(covariance(times, motion.axis_spread(2), motion.timescale))
    root = vectors * np.sqrt(np.maximum(values, 0))
    return np.asarray(root @ rng.normal(size=(count, len(times), 2)))


@pytest.mark.parametrize("spread", [200.0, 4_000.0])
@pytest.mark.parametrize("sigma", [30.0, 3_000.0, 100_000.0])
def test_posterior_matches_dense(spread: float, sigma: float) -> None:
    """The posterior is that of the dense Gaussian process.

    Mean, variance and likelihood ratios agree with the formulas that invert the whole covariance matrix.
    """
    rng = np.random.default_rng(1)
    n, timescale = 60, 700.0
    times = irregular_times(n, rng)
    noise = sigma * rng.uniform(0.5, 2, size=n)
    y = rng.normal(scale=5_000, size=(n, 3)) + 4e6
    one = np.ones(n)
    likelihoods = []
    for factor in (1, 2):
        found = posterior(y, times, noise, spread=factor * spread, timescale=timescale)
        k = covariance(times, factor * spread, timescale)
        total = k + np.diag(noise**2)
        inverse = np.linalg.inv(total)
        home_precision = one @ inverse @ one
        home = one @ inverse @ y / home_precision
        left = one - k @ inverse @ one
        np.testing.assert_allclose(found.mean, home + k @ inverse @ (y - home), rtol=0, atol=1e-3)
        np.testing.assert_allclose(found.variance, np.diag(k - k @ inverse @ k) + left**2 / home_precision, rtol=1e-5)
        log_determinant = np.linalg.slogdet(total)[1] + np.log(home_precision)
        dense = -0.5 * (3 * log_determinant + np.sum((y - home) * (inverse @ (y - home))))
        likelihoods.append((found.log_likelihood, dense))
    (one_, one_dense), (two, two_dense) = likelihoods
    assert two - one_ == pytest.approx(two_dense - one_dense, rel=1e-6, abs=1e-4)


def test_nearly_equal_times() -> None:
    """Points a microsecond apart are smoothed as points of one time are."""
    rng = np.random.default_rng(2)
    times = np.repeat(np.arange(0.0, 6_000.0, 60.0), 2)
    near = times + np.tile([0.0, 1e-6], 100)
    y = rng.normal(scale=3_000, size=(200, 2))
    np.testing.assert_allclose(smooth(y, near, 3_000, TAXI), smooth(y, times, 3_000, TAXI), rtol=0, atol=2)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("sigma", [300.0, 3_000.0, 30_000.0])
def test_true_prior_error(sigma: float) -> None:
    """The error is the expected one where the prior is true.

    Over journeys drawn from the prior the exact posterior errs as predicted, and the fitted one hardly more.
    """
    rng = np.random.default_rng(3)
    times = irregular_times(250, rng)
    exact, fitted, raw = [], [], []
    for true in journeys(40, times, TAXI, rng):
        y = true + rng.normal(scale=sigma, size=true.shape)
        found = posterior(y, times, sigma, spread=TAXI.axis_spread(2), timescale=TAXI.timescale)
        exact.append(rms(found.mean - true) ** 2)
        fitted.append(rms(smooth(y, times, sigma, TAXI) - true) ** 2)
        raw.append(rms(y - true) ** 2)
    predicted = expected_error(times, sigma, TAXI) ** 2
    sampling = np.std(exact) / np.sqrt(len(exact))
    assert abs(np.mean(exact) - predicted) < 6 * sampling
    assert np.mean(fitted) < 1.25 * np.mean(exact)
    assert np.max(np.array(fitted) / raw) < 1


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("motion", [WALKING, CYCLING, CAR, TAXI])
def test_noise_limits(motion: Motion) -> None:
    """With little noise the release stays and with very much its mean is left.

    As the noise goes to nothing the smoothed points go to y, as it grows they go to the mean of y.
    """
    rng = np.random.default_rng(4)
    times = irregular_times(300, rng)
    # At one time there is one place.
    y = journeys(1, np.unique(times), motion, rng)[0][np.unique(times, return_inverse=True)[1]] + 4e6
    for sigma in (1e-9, 1e-3, 1e-1):
        assert np.abs(smooth(y, times, sigma, motion) - y).max() < 5 * sigma + 1e-2
    sigma = 1e4 * motion.spread
    y = y + rng.normal(scale=sigma, size=y.shape)
    assert np.abs(smooth(y, times, sigma, motion) - y.mean(axis=0)).max() < 1e-2 * sigma / np.sqrt(len(y))


def test_one_point_stays() -> None:
    """Nothing is known of the home, so a single point is left where it is."""
    np.testing.assert_allclose(smooth(np.array([[5e5, 4e6]]), np.array([7.0]), 1_000, TAXI), [[5e5, 4e6]])
    together = smooth(np.array([[0.0], [2.0]]), np.array([7.0, 7.0]), 1_000, TAXI)
    np.testing.assert_allclose(together, [[1.0], [1.0]])


@pytest.mark.statistical
def test_blunders_stay_alone() -> None:
    """One blunder of the receiver, 1000 km off, comes out as it went in and moves no other estimate by much."""
    rng = np.random.default_rng(5)
    times = np.arange(0.0, 60_000.0, 60.0)
    true = np.column_stack([4_000 * np.sin(times / 3_000), 4_000 * np.cos(times / 2_000)])
    y = true + rng.normal(scale=2_000, size=true.shape)
    before = smooth(y, times, 2_000, TAXI)
    y[500] += 1e6
    after = smooth(y, times, 2_000, TAXI)
    np.testing.assert_array_equal(np.round(after[500] - y[500], 6), 0)
    moved = np.linalg.norm(np.delete(after - before, 500, axis=0), axis=1)
    # A point at the limit of what noise can do may be kept in one of the two runs.
    assert (moved > 1_000).sum() <= 2


@pytest.mark.slow
def test_smoothing_is_equivariant() -> None:
    """It moves and turns with the points and the clock.

    Shifting the times changes nothing; shifting or turning the points shifts or turns the estimates.
    """
    rng = np.random.default_rng(6)
    times = irregular_times(400, rng) - 1.2e9
    y = journeys(1, times, TAXI, rng)[0] + rng.normal(scale=3_000, size=(400, 2))
    expected = smooth(y, times, 3_000, TAXI)
    turn = np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])
    np.testing.assert_allclose(smooth(y, times + 1.2e9, 3_000, TAXI), expected, rtol=0, atol=0.1)
    far = np.array([5e5, 4e6])
    np.testing.assert_allclose(smooth(y + far, times, 3_000, TAXI), expected + far, rtol=0, atol=0.1)
    np.testing.assert_allclose(smooth(y @ turn, times, 3_000, TAXI), expected @ turn, rtol=0, atol=0.1)


def crowd(sizes: list[int], rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Released points, times and noise scales of persons who differ in all of these, some with an odd point."""
    y, times, noise = [], [], []
    for n in sizes:
        scale = 10 ** rng.uniform(1, 5)
        path = np.cumsum(rng.normal(scale=800, size=(n, 2)), axis=0) + rng.normal(scale=1e6, size=2)
        path += rng.normal(scale=scale, size=path.shape)
        if n > 20:
            path[rng.integers(n)] += 3e6
        y.append(path)
        times.append(irregular_times(n, rng) + rng.uniform(0, 1e6))
        noise.append(np.full(n, scale))
    return np.concatenate(y), np.concatenate(times), np.concatenate(noise)


@pytest.mark.slow
@pytest.mark.parametrize("together", [1, 100, 2**14])
def test_persons_are_independent(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither who stands before or after someone nor how many are worked on at once changes more than rounding."""
    monkeypatch.setattr(smoothing, "_TOGETHER", together)
    sizes = [1, 2, 700, 1, 30, 30, 5, 2, *range(3, 40), 1]
    y, times, noise = crowd(sizes, np.random.default_rng(9))
    found = smooth(y, times, noise, TAXI, sizes=sizes)
    ends = np.cumsum(sizes)
    squares = 0.0
    for end, n in zip(ends, sizes, strict=True):
        rows = slice(end - n, end)
        alone = smooth(y[rows], times[rows], noise[rows], TAXI)
        np.testing.assert_allclose(found[rows], alone, rtol=0, atol=0.01)
        squares += n * expected_error(times[rows], noise[rows], TAXI) ** 2
    assert expected_error(times, noise, TAXI, sizes=sizes) == pytest.approx(np.sqrt(squares / ends[-1]))
    # What neighbours do to each other, if their journeys were one.
    assert np.abs(found - smooth(y, np.sort(times), noise, TAXI)).max() > 100


def test_posteriors_add_up() -> None:
    """Likelihoods add up, as persons are independent."""
    y, times, noise = crowd([4, 9, 1, 30], np.random.default_rng(10))
    how: dict[str, Any] = {"spread": 3_000.0, "timescale": 600.0}
    whole = posterior(y, times, noise, sizes=[4, 9, 1, 30], **how)
    parts = [posterior(y[i:j], times[i:j], noise[i:j], **how) for i, j in ((0, 4), (4, 13), (13, 14), (14, 44))]
    np.testing.assert_allclose(whole.mean, np.concatenate([part.mean for part in parts]))
    np.testing.assert_allclose(whole.variance, np.concatenate([part.variance for part in parts]))
    assert whole.log_likelihood == pytest.approx(sum(part.log_likelihood for part in parts))
    for sizes in ([4, 9], [4, 9, 0, 31], [[44]]):
        with pytest.raises(ValueError, match="add up to 44"):
            posterior(y, times, noise, sizes=sizes, **how)


def test_point_noise_scales() -> None:
    """Equal scales for all points do the same as one scale, and a point with little noise is trusted more."""
    rng = np.random.default_rng(7)
    times = np.arange(0.0, 6_000.0, 60.0)
    y = rng.normal(scale=3_000, size=(100, 2))
    np.testing.assert_allclose(smooth(y, times, np.full(100, 3e3), TAXI), smooth(y, times, 3e3, TAXI), atol=1e-6)
    sharp = np.full(100, 3e3)
    sharp[50] = 1.0
    assert rms((smooth(y, times, sharp, TAXI) - y)[[50]]) < 10


def test_bad_tracks_are_refused() -> None:
    """Times out of order, lengths that differ and noise scales that are not positive raise a ValueError."""
    y, times = np.zeros((3, 2)), np.arange(3.0)
    for points, when, sigma in (
        (y, times[::-1], 1.0),
        (y, times[:2], 1.0),
        (y, times, 0.0),
        (y, times, np.ones(2)),
        (y * np.nan, times, 1.0),
        (y[:0], times[:0], 1.0),
    ):
        with pytest.raises(ValueError, match="must be"):
            smooth(points, when, sigma, TAXI)
    for spread, speed, tail in ((0.0, 1.0, 3.0), (1.0, -1.0, 3.0), (1.0, 1.0, 2.0)):
        with pytest.raises(ValueError, match="must be"):
            Motion(spread, speed, tail)


@pytest.mark.slow
@pytest.mark.statistical
@requires_cabspotting
@pytest.mark.parametrize(
    ("rho", "of_raw", "of_mean"), [(5e-7, 0.06, 1.02), (5e-5, 0.25, 0.65), (5e-3, 0.5, 0.6)], ids=str
)
def test_taxis_come_closer(rho: float, of_raw: float, of_mean: float) -> None:
    """On average over taxis the error falls to the given parts of the release's and of that of the release's mean."""
    rng = np.random.default_rng(8)
    ratios = []
    for name in (names()[i] for i in TAXIS):
        true, times = trajectory(name), seconds(name)
        sigma = np.sqrt(len(true) / (2 * rho))
        y = true + rng.normal(scale=sigma, size=true.shape)
        error = rms(smooth(y, times, sigma, TAXI) - true)
        ratios.append((error / rms(y - true), error / rms(y.mean(axis=0) - true)))
    assert np.all(np.mean(ratios, axis=0) <= (of_raw, of_mean))
    # No single taxi is much worse off than the average.
    assert np.all(np.max(ratios, axis=0) <= (of_raw, 1.05))
