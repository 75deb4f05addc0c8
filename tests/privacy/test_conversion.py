"""Conversions from CGP to approximate GP."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

import geoveil as gv
from geoveil.errors import InvalidParameter
from tests.budgets import MANY, between

FORMS = ["gaussian", "tight", "paper-s", "paper"]


EVERY_FORM = pytest.mark.parametrize("form", FORMS)


rhos, deltas, reaches = between(1e-10, 1), between(1e-12, 0.1), between(1, 1e5)


def _epsilon(rho: float, delta: float, within: float, form: str) -> float:
    return float(gv.CGP(rho=rho).as_gp(delta=delta, within=within, form=form).epsilon)


def _gaussian_delta(rho: float, loss: float, distance: float) -> float:
    """The hockey-stick divergence of two Gaussians of scale 1/√(2ρ) at a distance, by the log of each term."""
    mu = distance * math.sqrt(2 * rho)
    first, second = log_ndtr(mu / 2 - loss / mu), loss + log_ndtr(-mu / 2 - loss / mu)
    return float(-np.exp(first) * np.expm1(second - first))


def _response_delta(a: float, loss: float) -> float:
    """The hockey-stick divergence of randomised response that tells the truth with probability a."""
    return max(a - math.exp(loss) * (1 - a), 0.0)


@MANY
@given(rhos, deltas, reaches)
def test_better_forms_are_smaller(rho: float, delta: float, within: float) -> None:
    """Gaussian ≤ tight ≤ paper-s ≤ paper, whatever the budget, delta and reach."""
    epsilons = [_epsilon(rho, delta, within, form) for form in FORMS]
    for better, worse in itertools.pairwise(epsilons):
        assert better <= worse * (1 + 1e-9)


@MANY
@given(rhos, deltas, reaches)
def test_paper_form(rho: float, delta: float, within: float) -> None:
    """The form "paper" is ρΔ + 2√(ρ·log(1/δ)), rounded up."""
    lemma = rho * within + 2 * math.sqrt(rho * math.log(1 / delta))
    assert lemma <= _epsilon(rho, delta, within, "paper") <= lemma * (1 + 1e-8)


@MANY
@given(rhos, deltas, reaches, st.floats(1.0001, 1000))
def test_paper_s_is_least(rho: float, delta: float, within: float, s: float) -> None:
    """The form "paper-s" is the least of Appendix C's bounds over s."""
    inner = math.log(2 / ((s + 1) * delta))
    bound = max(s / (s - 1) * 2 * math.sqrt(rho * max(inner, 0.0)), s * rho * within)
    assert _epsilon(rho, delta, within, "paper-s") <= bound * (1 + 1e-9)


@pytest.mark.parametrize(("rho", "epsilon"), [(5e-5, 0.0722), (5e-4, 0.228), (5e-8, 0.00228)])
def test_papers_settings(rho: float, epsilon: float) -> None:
    """At the reach where s = 10.4 is best, "paper-s" gives the epsilons of the paper's experiments."""
    s, delta = 10.4, 1e-10
    expected = s / (s - 1) * 2 * math.sqrt(rho * math.log(2 / ((s + 1) * delta)))
    assert expected == pytest.approx(epsilon, rel=5e-3)
    g = gv.CGP(rho=rho).as_gp(delta=delta, within=expected / (s * rho), form="paper-s")
    assert float(g.epsilon) == pytest.approx(expected, rel=1e-8)
    assert float(g.delta) == delta
    assert float(g.epsilon) * float(g.within or 0) >= 10


@MANY
@given(rhos, deltas, reaches, between(1e-4, 1e4))
def test_tight_form_is_least(rho: float, delta: float, within: float, step: float) -> None:
    """The form "tight" is the least of the bounds over the order α."""
    log_factor = step * math.log(step / (1 + step)) - math.log1p(step)
    bound = (1 + step) * rho * within + (log_factor - math.log(delta)) / (step * within)
    assert _epsilon(rho, delta, within, "tight") <= max(bound, 0.0) * (1 + 1e-6) + 1e-15


@MANY
@given(rhos, deltas, reaches)
def test_gaussian_form_is_exact(rho: float, delta: float, within: float) -> None:
    """At the epsilon of "gaussian" the divergence of Gaussian noise is delta, and at a smaller one it is more."""
    epsilon = _epsilon(rho, delta, within, "gaussian")
    at_zero = _gaussian_delta(rho, 0.0, within)
    if at_zero <= delta:
        assert epsilon <= 1e-90
        return
    assert _gaussian_delta(rho, epsilon * within, within) <= delta * (1 + 1e-6)
    assert _gaussian_delta(rho, 0.999 * epsilon * within, within) > delta * (1 - 1e-9)


@MANY
@given(rhos, deltas, reaches)
def test_forms_cover_gaussians(rho: float, delta: float, within: float) -> None:
    """Gaussian noise meets the (ε, δ, Δ)-GP of every form."""
    for form in FORMS:
        assert _gaussian_delta(rho, _epsilon(rho, delta, within, form) * within, within) <= delta * (1 + 1e-6)


@pytest.mark.slow
@EVERY_FORM
@MANY
@given(rho=rhos, delta=deltas, within=reaches, part=st.floats(1e-3, 1))
def test_reach_is_the_worst(form: str, rho: float, delta: float, within: float, part: float) -> None:
    """The epsilon that a shorter distance needs is no larger than the one at the reach."""
    assert _epsilon(rho, delta, part * within, form) <= _epsilon(rho, delta, within, form) * (1 + 1e-9)


@pytest.mark.slow
@EVERY_FORM
@MANY
@given(rho=rhos, delta=deltas, within=reaches, factor=st.floats(1.01, 100))
def test_epsilon_is_monotone(form: str, rho: float, delta: float, within: float, factor: float) -> None:
    """A larger budget or a smaller delta never gives a smaller epsilon."""
    epsilon = _epsilon(rho, delta, within, form)
    assert epsilon <= _epsilon(rho * factor, delta, within, form) * (1 + 1e-9)
    assert epsilon <= _epsilon(rho, delta / factor, within, form) * (1 + 1e-9)


@pytest.mark.slow
@EVERY_FORM
@settings(max_examples=50)
@given(epsilon=between(1e-8, 10), delta=deltas, within=reaches)
@example(epsilon=1e-12, delta=1e-10, within=1.0)
@example(epsilon=1e-15, delta=1e-10, within=1.0)
def test_implying_is_the_inverse(form: str, epsilon: float, delta: float, within: float) -> None:
    """The budget of implying() implies the epsilon asked for, and 0.01% more of it would not."""
    g = gv.CGP.implying(epsilon=epsilon, delta=delta, within=within, form=form)
    assert _epsilon(float(g.rho), delta, within, form) <= epsilon
    assert _epsilon(float(g.rho) * 1.0001, delta, within, form) > epsilon
    assert len(g.rho.as_tuple().digits) <= 6


def test_converted_guarantee_parts() -> None:
    """The converted guarantee carries delta, reach and metric, and is not pure."""
    g = gv.CGP(rho=5e-5, metric="2").as_gp(delta=1e-10, within=1000)
    assert (float(g.delta), float(g.within or 0), g.metric, g.pure) == (1e-10, 1000.0, gv.dist_2, False)
    assert g == gv.CGP(rho=5e-5, metric="2").as_gp(delta=1e-10, within=1000, form="tight")
    assert gv.CGP.implying(epsilon=0.1, delta=1e-10, within=1000, metric="1").metric == gv.dist_1


@pytest.mark.parametrize("a", [0.6, 0.75, 0.917, 0.99, 0.9999])
def test_tight_covers_randomised_response(a: float) -> None:
    """Randomised response, which is ρ-CGP but not Gaussian, meets what the general forms promise at every delta."""
    r = 200.0
    rho = (2 * a - 1) * math.log(a / (1 - a)) / r**2 * (1 + 1e-9)
    for delta in np.concatenate([np.geomspace(1e-10, 0.5, 40), np.linspace(0.51, 0.99, 25)]):
        for form in ("tight", "paper-s", "paper"):
            assert _response_delta(a, _epsilon(rho, float(delta), r, form) * r) <= delta * (1 + 1e-9)


@pytest.mark.parametrize("a", [0.75, 0.917, 0.99])
def test_gaussian_form_is_special(a: float) -> None:
    """Randomised response breaks the promise of "gaussian" at some delta: that form is for Gaussian noise alone."""
    r = 200.0
    rho = (2 * a - 1) * math.log(a / (1 - a)) / r**2
    # Between what Gaussian noise of this budget loses at ε = 0 and what randomised response does.
    gaussian = _gaussian_delta(rho, 0.0, r)
    delta = (gaussian + (2 * a - 1)) / 2
    assert gaussian < delta < 2 * a - 1
    assert _response_delta(a, _epsilon(rho, delta, r, "gaussian") * r) > delta
    assert _response_delta(a, _epsilon(rho, delta, r, "tight") * r) <= delta


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("form", "best"),
        ("form", None),
        ("delta", 0),
        ("delta", 1),
        ("delta", -0.1),
        ("delta", math.nan),
        ("delta", "small"),
        ("within", 0),
        ("within", -5),
        ("within", math.inf),
        ("within", math.nan),
        ("within", True),
    ],
)
def test_conversions_check_arguments(argument: str, value: Any) -> None:
    """Delta, reach and form are checked both ways, and the message names the culprit."""
    given_: dict[str, Any] = {"delta": 1e-10, "within": 1000, argument: value}
    with pytest.raises(InvalidParameter, match=rf"^{argument} = "):
        gv.CGP(rho=1e-4).as_gp(**given_)
    with pytest.raises(InvalidParameter, match=rf"^{argument} = "):
        gv.CGP.implying(epsilon=0.1, **given_)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "much", True])
def test_implying_checks_epsilon(epsilon: Any) -> None:
    """The epsilon to be implied is a budget."""
    with pytest.raises(InvalidParameter, match=r"^epsilon = "):
        gv.CGP.implying(epsilon=epsilon, delta=1e-10, within=1000)


@pytest.mark.parametrize(
    ("rho", "delta", "within"),
    [
        (5e-5, 1e-25, 1e-8),
        (5e-5, 1e-30, 1e-7),
        (5e-8, 1e-12, 1e-4),
        (4.5e-7, 3.6e-14, 1.3e-4),
        (1.0, 1e-10, 1e9),
        (1e10, 1e-100, 1e9),
        (1e-90, 1e-100, 1e-9),
    ],
)
def test_cancellation_is_safe(rho: float, delta: float, within: float) -> None:
    """No form promises too little where doubles cancel.

    At extremes the exact curve, in 200 digits, is within every epsilon that is given.
    """
    with mpmath.workdps(200):
        mu = mpmath.mpf(within) * mpmath.sqrt(2 * mpmath.mpf(rho))
        for form in ("gaussian", "tight", "paper-s", "paper"):
            epsilon = gv.CGP(rho=rho).as_gp(delta=delta, within=within, form=form).epsilon
            loss = mpmath.mpf(str(epsilon)) * within
            true = mpmath.ncdf(mu / 2 - loss / mu) - mpmath.exp(loss) * mpmath.ncdf(-mu / 2 - loss / mu)
            assert true <= delta
            if form == "gaussian" and epsilon > 1e-90:
                less = loss * (1 - mpmath.mpf("1e-7"))
                assert mpmath.ncdf(mu / 2 - less / mu) - mpmath.exp(less) * mpmath.ncdf(-mu / 2 - less / mu) > delta
