"""The meaning of a budget to an attacker."""

from __future__ import annotations

import functools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import geoveil as gv
from geoveil.errors import InvalidParameter
from tests.budgets import MANY, budgets


@pytest.mark.slow
@MANY
@given(budgets)
@example(Decimal("0.100000000000000000000000000022"))
def test_gp_implies_cgp(epsilon: Decimal) -> None:
    """ε-GP is (ε²/2)-CGP: exactly, or rounded up at 30 digits."""
    try:
        rho = gv.GP(epsilon=epsilon, metric="2").as_cgp()
    except InvalidParameter:
        assert not Decimal("1e-100") <= epsilon**2 / 2 <= Decimal("1e100")
        return
    exact = Fraction(epsilon) ** 2 / 2
    assert exact <= Fraction(rho.rho) <= exact * (1 + Fraction(1, 10**28))
    assert rho.metric == gv.dist_2
    assert rho.as_cgp() is rho


chances = st.floats(0.5001, 0.9999)


lengths = st.floats(0.1, 1e6)


@MANY
@given(chances, lengths)
def test_hiding_inverts_attacker(chance: float, distance: float) -> None:
    """An attacker against a budget made for a chance has that chance, or 0.00001 less."""
    for reached in (
        gv.GP.hiding(distance=distance, chance=chance).attacker(distance=distance),
        gv.CGP.hiding(distance=distance, chance=chance).attacker(distance=distance),
        gv.CGP.hiding(distance=distance, chance=chance, gaussian=True).attacker(distance=distance, gaussian=True),
    ):
        assert chance - 1e-5 <= reached <= chance + 1e-12


@pytest.mark.slow
@MANY
@given(st.floats(1e-10, 1), st.floats(1e-10, 1), st.floats(1, 1e5), st.floats(1, 1e5))
def test_attackers_gain_with_budget(b1: float, b2: float, r1: float, r2: float) -> None:
    """An attacker is right at least half the time, and more often for larger budgets and places farther apart."""
    (low, high), (near, far) = sorted([b1, b2]), sorted([r1, r2])
    asks: list[Any] = [
        lambda b, r: gv.GP(epsilon=b).attacker(distance=r),
        lambda b, r: gv.CGP(rho=b).attacker(distance=r),
        lambda b, r: gv.CGP(rho=b).attacker(distance=r, gaussian=True),
    ]
    for ask in asks:
        assert 0.5 <= ask(low, near) <= ask(high, near) + 1e-12
        assert ask(high, near) <= ask(high, far) + 1e-12 <= 1 + 1e-12


@MANY
@given(st.floats(1e-10, 1), st.floats(1, 1e4))
def test_gaussian_attackers_gain_less(rho: float, distance: float) -> None:
    """The bound for Gaussian noise is below the bound for any mechanism, which is below that of pure GP √(2ρ)."""
    g = gv.CGP(rho=rho)
    gaussian, general = g.attacker(distance=distance, gaussian=True), g.attacker(distance=distance)
    # Lemma 3.6 the other way: a pure √(2ρ)-GP mechanism is ρ-CGP, so its attacker is within the general bound.
    assert gaussian <= general + 1e-12
    assert gv.GP(epsilon=math.sqrt(2 * rho)).attacker(distance=distance) <= general + 1e-12


@pytest.mark.statistical
def test_gaussian_attacker_is_optimal() -> None:
    """The Gaussian attacker is the likelihood ratio test.

    An attacker who takes the nearer of two places is as often right as the bound for Gaussian noise says.
    """
    rho, distance, runs = 5e-5, 200.0, 200_000
    noise = np.random.default_rng(3).normal(scale=1 / math.sqrt(2 * rho), size=runs)
    right = float((noise < distance / 2).mean())
    bound = gv.CGP(rho=rho).attacker(distance=distance, gaussian=True)
    assert abs(right - bound) < 5 * math.sqrt(bound * (1 - bound) / runs)
    assert abs(right - gv.CGP(rho=1.3 * rho).attacker(distance=distance, gaussian=True)) > 0.01


def _renyi(a: float, alpha: float) -> float:
    """D_α of randomised response that tells the truth with probability a."""
    step = (alpha - 1) * math.log(a / (1 - a))
    if step > 1:
        return float(np.logaddexp(math.log(a) + step, math.log1p(-a) - step)) / (alpha - 1)
    return math.log1p(a * math.expm1(step) + (1 - a) * math.expm1(-step)) / (alpha - 1)


@pytest.mark.parametrize("a", [0.501, 0.55, 0.75, 0.9, 0.99, 0.999999])
def test_randomised_response_attains(a: float) -> None:
    """Randomised response that is right with probability a is ρ-CGP and ε-GP with the budgets of hiding(a)."""
    r = 150.0
    logit = math.log(a / (1 - a))
    rho = (2 * a - 1) * logit / r**2
    for alpha in np.concatenate([1 + np.geomspace(1e-4, 1, 60), np.geomspace(2, 1e4, 60)]):
        assert _renyi(a, float(alpha)) <= alpha * rho * r**2 * (1 + 1e-9)
    # As α → 1 the bound is met: no smaller ρ would do, so hiding() gives no more than this.
    assert _renyi(a, 1 + 1e-5) == pytest.approx(rho * r**2, rel=1e-3)
    assert float(gv.CGP.hiding(distance=r, chance=a).rho) == pytest.approx(rho, rel=1e-5)
    assert gv.CGP(rho=rho).attacker(distance=r) == pytest.approx(a, abs=1e-9)
    assert float(gv.GP.hiding(distance=r, chance=a).epsilon) * r == pytest.approx(logit, rel=1e-5)
    assert gv.GP(epsilon=logit / r).attacker(distance=r) == pytest.approx(a, abs=1e-9)


def test_hiding_rounds_down() -> None:
    """hiding() gives six digits, never more than the formula."""
    g = gv.CGP.hiding(distance=200, chance=0.75)
    exact = 0.5 * math.log(3) / 200**2
    assert len(g.rho.as_tuple().digits) <= 6
    assert exact * (1 - 1e-5) <= float(g.rho) <= exact
    assert gv.CGP.hiding(distance=200, chance=0.75, gaussian=True) > g
    assert gv.CGP.hiding(distance=200, chance=0.75, metric="1").metric == gv.dist_1


@pytest.mark.parametrize("distance", [0, -1, math.inf, math.nan, "far", None])
def test_bad_distances_are_refused(distance: Any) -> None:
    """A distance between places is positive and finite."""
    for do in (
        functools.partial(gv.CGP(rho=1).attacker, distance=distance),
        functools.partial(gv.GP(epsilon=1).attacker, distance=distance),
        functools.partial(gv.CGP.hiding, distance=distance, chance=0.75),
        functools.partial(gv.GP.hiding, distance=distance, chance=0.75),
    ):
        with pytest.raises(InvalidParameter, match="distance"):
            do()


@pytest.mark.parametrize("chance", [0.5, 1, 0, 1.5, -1, math.nan, "often", None])
def test_bad_chances_are_refused(chance: Any) -> None:
    """A chance is above a coin flip and below certainty."""
    for hiding in (gv.CGP.hiding, gv.GP.hiding):
        with pytest.raises(InvalidParameter, match="chance"):
            hiding(distance=200, chance=chance)
