"""Metrics of trajectories, and guarantees under another metric."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import geoveil as gv
from geoveil.errors import InvalidParameter
from geoveil.privacy import as_metric, unit_metric
from tests.budgets import MANY

METRICS = {"inf": gv.dist_inf, "2": gv.dist_2, "1": gv.dist_1}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two tuples of 1..6 points in 1..4 dimensions, with ties, equal points and points that stay."""
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    numbers = st.lists(st.sampled_from([0.0, 1.0, -2.5]) | st.floats(-1e4, 1e4), min_size=n * d, max_size=n * d)
    x, y = (np.array(draw(numbers)).reshape(n, d) for _ in range(2))
    stays = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    return x, np.where(stays[:, None], x, y)


@pytest.mark.slow
@MANY
@given(pairs())
def test_the_metrics_are_ordered(pair: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    """dist_inf ≤ dist_2 ≤ dist_1 ≤ √n·dist_2 ≤ n·dist_inf."""
    x, y = pair
    n, slack = len(x), 1 + 1e-12
    assert gv.dist_inf(x, y) <= gv.dist_2(x, y) * slack
    assert gv.dist_2(x, y) <= gv.dist_1(x, y) * slack
    assert gv.dist_1(x, y) <= math.sqrt(n) * gv.dist_2(x, y) * slack
    assert gv.dist_2(x, y) <= math.sqrt(n) * gv.dist_inf(x, y) * slack


@pytest.mark.slow
@MANY
@given(pairs())
def test_metric_definitions(pair: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    """The three metrics are the largest, the root of the squares and the sum of the points' distances."""
    x, y = pair
    each = np.linalg.norm(x - y, axis=1)
    assert gv.dist_inf(x, y) == pytest.approx(each.max(), rel=1e-12, abs=1e-300)
    assert gv.dist_2(x, y) == pytest.approx(math.sqrt((each**2).sum()), rel=1e-12, abs=1e-150)
    assert gv.dist_1(x, y) == pytest.approx(each.sum(), rel=1e-12, abs=1e-300)
    assert gv.dist_1(x, y) == gv.dist_1(y, x)


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target"), list(itertools.product(METRICS, METRICS)))
@settings(max_examples=50)
@given(pair=pairs(), factor=st.floats(1e-6, 10))
def test_conversion_allows_as_much(
    source: str, target: str, pair: tuple[NDArray[np.float64], NDArray[np.float64]], factor: float
) -> None:
    """What is promised under another metric is never less than what the guarantee allowed, on any two tuples."""
    x, y = pair
    before, after = METRICS[source](x, y), METRICS[target](x, y)
    gp = gv.GP(epsilon=factor, metric=source)
    cgp = gv.CGP(rho=factor, metric=source)
    slack = 1 + 1e-12
    assert float(gp.epsilon) * before <= float(gp.under(target, n=len(x)).epsilon) * after * slack
    assert float(cgp.rho) * before**2 <= float(cgp.under(target, n=len(x)).rho) * after**2 * slack


@pytest.mark.parametrize("n", [1, 2, 10, 20_000])
@pytest.mark.parametrize(
    ("source", "target", "power"),
    [
        ("inf", "inf", 0),
        ("inf", "2", 0),
        ("inf", "1", 0),
        ("2", "1", 0),
        ("2", "2", 0),
        ("1", "1", 0),
        ("2", "inf", 1),
        ("1", "2", 1),
        ("1", "inf", 2),
    ],
)
def test_smaller_metrics_cost(source: str, target: str, power: int, n: int) -> None:
    """Towards a smaller metric epsilon grows by n^(power/2), rho by n^power; towards a larger one neither changes."""
    rho = gv.CGP(rho=1e-4, metric=source).under(target, n=n)
    assert rho == gv.CGP(rho=Decimal("1e-4") * n**power, metric=target)
    epsilon = gv.GP(epsilon="0.25", metric=source).under(target, n=n)
    assert epsilon.metric == METRICS[target]
    squared = Fraction(epsilon.epsilon) ** 2
    exact = Fraction(1, 16) * n**power
    assert exact <= squared <= exact * (1 + Fraction(1, 10**28))
    if power == 0:
        assert epsilon.epsilon == Decimal("0.25")


@pytest.mark.parametrize(("source", "target"), [("2", "inf"), ("1", "2"), ("1", "inf")])
def test_conversion_is_tight(source: str, target: str) -> None:
    """Where all points move alike the converted guarantee allows exactly what the first one did: none is smaller."""
    x = np.arange(14.0).reshape(7, 2)
    y = x + np.array([3.0, 4.0])
    before, after = METRICS[source](x, y), METRICS[target](x, y)
    gp, cgp = gv.GP(epsilon=0.1, metric=source), gv.CGP(rho=0.1, metric=source)
    assert float(gp.under(target, n=7).epsilon) * after == pytest.approx(0.1 * before, rel=1e-12)
    assert float(cgp.under(target, n=7).rho) * after**2 == pytest.approx(0.1 * before**2, rel=1e-12)


@pytest.mark.parametrize("target", ["inf", "2", "1"])
def test_larger_metrics_keep_digits(target: str) -> None:
    """Towards a larger metric not even the digits beyond the thirtieth change."""
    many = gv.CGP(rho=1) / 3 + gv.CGP(rho=10**10) / 3
    assert many.under(target, n=5).rho == many.rho


@pytest.mark.parametrize("metric", ["3", "euclid", "", 3, None, "Inf"])
def test_unknown_metrics_are_refused(metric: Any) -> None:
    """The metrics are "inf", "2" and "1", and the message says so."""
    for do in (lambda: gv.CGP(rho=1, metric=metric), lambda: gv.GP(epsilon=1).under(metric, n=2)):
        with pytest.raises(InvalidParameter, match='"inf", "2" or "1"'):
            do()


@pytest.mark.parametrize("shapes", [((2, 2), (3, 2)), ((2, 2), (2, 3)), ((4,), (4,)), ((2, 2, 2), (2, 2, 2))])
def test_unequal_shapes_are_refused(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """A metric takes two (n, d) tuples of one shape."""
    with pytest.raises(gv.errors.InvalidData, match="shape"):
        gv.dist_inf(np.zeros(shapes[0]), np.zeros(shapes[1]))


@pytest.mark.parametrize("microseconds", [1, 999_999, 86_399_960_000, 3_599_999_999, 1_234_567_500_001, 2**61 + 1])
def test_length_names_are_exact(microseconds: int) -> None:
    """A certificate names the very length that was protected, so that it is read back as no other."""
    metric = unit_metric(stretch=microseconds)
    assert as_metric(metric.name) == metric
