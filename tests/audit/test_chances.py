"""Bounds on single events hold where they are known exactly, and are not far off."""

from __future__ import annotations

import math

import numpy as np
import pytest

import geoveil as gv
from geoveil.audit.chances import at_least, guess_chances, likeliest, most_near, sign_test

RHO = 5e-5


@pytest.mark.parametrize("distance", [0.01, 1.0, 20.0, 100.0])
def test_gaussian_is_seldom_near(distance: float) -> None:
    """The chance that Gaussian or Laplace noise is short is below the bound, and within a factor of it."""
    gaussian = -math.expm1(-RHO * distance**2)
    assert gaussian <= most_near(gv.CGP(rho=RHO), distance) <= 60 * gaussian**0.9
    epsilon = 0.01
    laplace = 1 - (1 + epsilon * distance) * math.exp(-epsilon * distance)
    assert laplace <= most_near(gv.GP(epsilon=epsilon), distance)


def test_likely_events_are_bounded() -> None:
    """A half-plane under two Gaussians keeps the bound at every threshold."""
    from scipy.stats import norm

    claim = gv.CGP(rho=RHO)
    for distance in (10.0, 100.0, 300.0):
        for threshold in np.linspace(-1, 6, 30):
            far, near = norm.sf(threshold), norm.sf(threshold - distance * math.sqrt(2 * RHO))
            assert near <= likeliest(claim, float(far), distance) + 1e-12


def test_tails_are_binomial() -> None:
    """Chances of counts are exact for equal trials, and above those of unequal ones."""
    assert at_least(10, np.full(10, 0.5)) == 2.0**-10
    assert at_least(5, np.full(10, 0.5)) == 1.0
    rng, unequal = np.random.default_rng(1), np.array([0.2, 0.9] * 20)
    counts = (rng.random((20_000, 40)) < unequal).sum(axis=1)
    assert np.mean(counts >= 29) <= at_least(29, unequal) + 0.005
    assert sign_test(0, 0) == 1.0
    assert guess_chances(gv.CGP(rho=RHO), np.array([200.0]))[0] == pytest.approx(0.9166, abs=1e-3)
