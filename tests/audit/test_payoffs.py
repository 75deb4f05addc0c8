"""Payoffs have a mean of at most 0 if the budget holds, and come close to it, by exact integrals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoveil.audit.canaries import Canaries
from geoveil.audit.payoffs import Divergence, Event, GaussianGuess, Payoff, RenyiDivergence
from geoveil.audit.tested import Betting, Scored
from geoveil.noise.reals import Floats
from tests.audit.tools import RHO

#: The distance of which ρd² is 1.
FAR = math.sqrt(1 / RHO)


def mean(payoff: Payoff, ratios: Floats, weights: Floats, budget: float, far: float = FAR) -> float:
    """The mean payoff under a law of ratios, given by values and weights."""
    return float(weights @ payoff.of(ratios, np.full(len(ratios), far), budget))


def normal_law() -> tuple[Floats, Floats]:
    """The ratios of Gaussian noise with ρd² = 1: N(1, 2)."""
    z = np.linspace(-12, 12, 48_001)
    weights = np.exp(-z * z / 2)
    return 1 + math.sqrt(2) * z, weights / weights.sum()


def check_normal(alpha: float | None, shift: float, clip: float) -> float:
    """The mean payoff for Gaussian noise is at most 0 at the true budget, and positive at half of it."""
    payoff: Payoff
    payoff = Divergence(clip, clip, shift) if alpha is None else RenyiDivergence(alpha, clip, clip, shift)
    ratios, weights = normal_law()
    found = mean(payoff, ratios, weights, RHO)
    assert found <= 1e-9, (alpha, shift, clip, found)
    return found


def check_tight() -> None:
    """Without clipping, and shifted as theory says, the bounds are equalities for Gaussian noise."""
    assert check_normal(None, 0.0, 40.0) > -1e-6
    for alpha in (1.2, 1.5, 2.0, 3.0):
        # E_Q[e^(αg)] = 1 if g is the ratio minus (α-1)·ρd².
        assert check_normal(alpha, alpha - 1, 60.0) > -1e-5 * math.exp((alpha - 1) * alpha)


def check_clipped() -> None:
    """Whatever the clipping and the shift, no payoff has a positive mean at the true budget."""
    for clip in (0.5, 2.0, 5.0):
        for shift in (-1.0, 0.0, 0.7):
            check_normal(None, shift, clip)
            for alpha in (1.2, 2.0, 4.0):
                check_normal(alpha, shift, clip)


def test_divergences_tight() -> None:
    """The bounds of Donsker and Varadhan and of Rényi meet the budget of Gaussian noise."""
    check_tight()


def test_divergences_clipped() -> None:
    """Clipped and shifted scores never refute the true budget."""
    check_clipped()


def test_randomised_response() -> None:
    """An event and a guess are fair at the true budget of an answer that is right with probability e^ε/(1 + e^ε)."""
    right = math.e / (1 + math.e)
    ratios, weights = np.array([1.0, -1.0]), np.array([right, 1 - right])
    assert mean(Event(0.5), ratios, weights, 1 / FAR) == pytest.approx(0, abs=1e-12)
    normal, masses = normal_law()
    assert mean(GaussianGuess(), normal, masses, RHO) == pytest.approx(0, abs=1e-3)


def test_payoffs_fall() -> None:
    """A larger budget never pays more, and a larger ratio never pays less: so bounds and stakes are right."""
    ratios = np.linspace(-20, 20, 401)
    far = np.full(401, FAR)
    for payoff in (Divergence(8, 3, 0.1), RenyiDivergence(2, 4, 2, 0.3), Event(1.0, 0.01), GaussianGuess()):
        tables = np.array([payoff.of(ratios, far, budget) for budget in np.geomspace(1e-7, 1e-1, 40)])
        assert (np.diff(tables, axis=0) <= 1e-12).all()
        assert (np.diff(tables, axis=1) >= -1e-12).all()
        assert payoff.least(far[:1], 1e-4) <= payoff.of(ratios, far, 1e-4).min()


def check_rare_losses_priced(audits: int = 300, n: int = 100) -> None:
    """A tool that tells the truth but for one in 400: its bound is above its budget in at most 5% of audits.

    Most audits see no wrong answer. Three hundred audits exceed 9.7% with a probability below 0.001, and the stream of
    random numbers is fixed.
    """
    rng = np.random.default_rng(8)
    epsilon = 6.0
    right = 1 / (1 + math.exp(-epsilon))
    true = (2 * right - 1) * epsilon / FAR**2
    far = np.tile([FAR, 0.0], (n, 1))
    canaries = Canaries(np.zeros((n, 2)), far, np.zeros(n, bool), np.zeros((0, 2)), np.zeros(0, int))
    search = Scored(canaries, np.full(n, epsilon)).forecast(n)
    _, expected = Betting(Divergence(4.0, 3.0, 0.0), 2).tuned(search, 0.05, n)
    assert 0.3 * true < expected < true
    payoff = Divergence(epsilon, epsilon, 0.0)
    way = Betting(payoff, 2, -0.9 / payoff.least(canaries.distance, 2 * true))
    bounds = [
        way.bound(Scored(canaries, np.where(rng.random(n) < right, epsilon, -epsilon)), 0.05) for _ in range(audits)
    ]
    assert np.mean(np.array(bounds) > true) <= 0.097


def test_rare_losses_priced() -> None:
    """Losses that most audits do not see are in the price of a bet."""
    check_rare_losses_priced()
