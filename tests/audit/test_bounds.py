"""Bounds on means and rates hold for finite samples, where those of the central limit theorem fail."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from geoveil.audit.bounds import (
    epsilon_of_guesses,
    gaussian_rho_of_hits,
    lower_mean,
    mean_interval,
    most_wealth,
    rate_limits,
)
from geoveil.errors import InvalidParameter


def check_rare_losses(level: float = 0.05, runs: int = 400) -> None:
    """Values that are 1 but for rare zeros: the bound is above the mean in few runs only."""
    rng = np.random.default_rng(5)
    values = rng.random((runs, 100)) > 0.01
    wrong = np.mean([lower_mean(row.astype(float), 0, 1, level) > 0.99 for row in values])
    # 400 runs at 5% exceed 9.5% with a probability below 1e-4, and the stream is fixed.
    assert wrong <= 0.095


def test_rare_losses_bounded() -> None:
    """A bound on the mean holds for skewed values, of which most samples show no loss."""
    check_rare_losses()


def test_interval_narrows() -> None:
    """An interval contains the mean, and its width falls about as 1/√n."""
    rng = np.random.default_rng(3)
    widths = []
    for n in (500, 50_000):
        low, high = mean_interval(rng.beta(2, 5, n) * 4 - 1, -1, 3, 0.01)
        assert low < 4 * 2 / 7 - 1 < high
        widths.append(high - low)
    assert widths[1] < widths[0] / 7
    # A normal interval has half a width of 2.576 standard errors.
    assert widths[1] < 1.5 * 2 * 2.576 * 4 * stats.beta(2, 5).std() / 50_000**0.5


def test_values_outside_refused() -> None:
    """Values beyond the stated bounds are refused: the interval would not hold."""
    with pytest.raises(InvalidParameter, match="Fix wider bounds"):
        mean_interval(np.array([0.0, 1.5]), 0, 1, 0.05)


def test_fair_game_wealth() -> None:
    """A gambler on fair coins reaches a hundredfold wealth in at most one of a hundred games."""
    rng = np.random.default_rng(11)
    games = rng.choice([-1.0, 1.0], (2000, 500))
    rich = np.mean([most_wealth(game, 0.13) >= np.log(100) for game in games])
    assert 0.001 < rich < 0.01 + 4 * (0.01 * 0.99 / 2000) ** 0.5


@pytest.mark.parametrize("trials", [1, 2, 10, 300])
def test_rate_limits_hold(trials: int) -> None:
    """The exact probability that a limit is wrong is at most the level, whatever the rate."""
    limits = [rate_limits(hits, trials, 0.01) for hits in range(trials + 1)]
    for rate in np.linspace(0.001, 0.999, 97):
        wrong = np.array([low > rate for low, _ in limits]), np.array([high < rate for _, high in limits])
        chances = stats.binom.pmf(np.arange(trials + 1), trials, rate)
        assert max(chances[side].sum() for side in wrong) <= 0.01 + 1e-12


def test_different_rates_hold() -> None:
    """Limits hold for the mean of different rates: the exact law of a sum of unequal coins."""
    rng = np.random.default_rng(2)
    for spread in (0.3, 1.0, 5.0):
        rates = rng.beta(1 / spread, 3 / spread, 40)
        law = np.ones(1)
        for rate in rates:
            law = np.convolve(law, [1 - rate, rate])
        limits = np.array([rate_limits(hits, 40, 0.05) for hits in range(41)])
        assert law[limits[:, 0] > rates.mean()].sum() <= 0.05
        assert law[limits[:, 1] < rates.mean()].sum() <= 0.05


def test_budgets_of_guesses() -> None:
    """Guesses that are right as often as a budget allows show nearly all of it, and never more."""
    n, far = 100_000, np.full(100_000, 100.0)
    right = np.arange(n) < 0.8 * n
    epsilon, rho = epsilon_of_guesses(right, far, 0.01), gaussian_rho_of_hits(right, far, 0.01)
    assert 0.97 < epsilon / (np.log(4) / 100) < 1
    assert 0.97 < rho / (2 * (stats.norm.ppf(0.8) / 100) ** 2) < 1
