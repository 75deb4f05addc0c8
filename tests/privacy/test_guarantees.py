"""Guarantees: units, order, addition, and numbers that are no budgets."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import geoveil as gv
from geoveil.errors import IncompatibleGuarantees, InvalidParameter
from tests.budgets import KINDS, MANY, Guarantee, budgets, guarantees

cgps = budgets.map(lambda b: gv.CGP(rho=b))


gps = st.builds(
    lambda b, delta, within: gv.GP(epsilon=b, delta=delta, within=within),
    budgets,
    st.decimals(0, Decimal("0.3"), places=12),
    st.none() | st.integers(1, 10**6),
)


@pytest.mark.parametrize(("unit", "metres"), [("m", "1"), ("km", "1000"), ("ft", "0.3048"), ("mi", "1609.344")])
def test_units_are_exact(unit: str, metres: str) -> None:
    """A budget per unit is the budget per metre times the unit, squared for CGP, and comes back."""
    size = Decimal(metres)
    assert gv.GP(epsilon=size, unit=unit) == gv.GP(epsilon=1)
    assert gv.CGP(rho=size * size, unit=unit) == gv.CGP(rho=1)
    assert gv.GP(epsilon=1).per(unit) == size
    assert gv.CGP(rho=1).per(unit) == size * size


@MANY
@given(budgets, st.sampled_from(["km", "ft", "mi"]))
def test_units_round_down(budget: Decimal, unit: str) -> None:
    """Reading a budget per unit never makes it larger."""
    metres = {"km": Fraction(1000), "ft": Fraction(3048, 10_000), "mi": Fraction(1_609_344, 1000)}[unit]
    for power, read in ((1, gv.GP(epsilon=budget, unit=unit).epsilon), (2, gv.CGP(rho=budget, unit=unit).rho)):
        exact = Fraction(budget) / metres**power
        assert exact * (1 - Fraction(1, 10**29)) <= Fraction(read) <= exact


@pytest.mark.parametrize("unit", ["yd", "metres", "", "KM"])
def test_unknown_units_are_refused(unit: str) -> None:
    """Only the units that are listed are taken, and the message lists them."""
    with pytest.raises(InvalidParameter, match="'km'"):
        gv.CGP(rho=1, unit=unit)
    with pytest.raises(InvalidParameter, match="'km'"):
        gv.GP(epsilon=1).per(unit)


@KINDS
def test_smaller_budgets_come_first(make: Any) -> None:
    """Guarantees of a kind are ordered by their budget."""
    small, large = make(2e-5), make(5e-5)
    assert small < large
    assert small <= large
    assert large > small
    assert large >= small
    assert small != large
    assert not small > large
    assert not small >= large
    assert small <= make("2e-5") <= small
    assert sorted([large, small]) == [small, large]


def test_gp_is_ordered() -> None:
    """A GP guarantee is at most another only if its epsilon, its delta and its reach all are."""
    g = gv.GP(epsilon=1, delta=1e-6, within=100)
    assert gv.GP(epsilon=1) < gv.GP(epsilon=1, delta=1e-6) < g
    assert gv.GP(epsilon=1, delta=1e-6, within=200) < g
    other = gv.GP(epsilon=0.5, delta=1e-3, within=100)
    assert not other <= g
    assert not g <= other


@pytest.mark.parametrize("kind", ["CGP", "GP"])
@MANY
@given(data=st.data())
def test_addition_is_a_sum(kind: str, data: st.DataObject) -> None:
    """Sums of guarantees depend neither on order nor on brackets, and sum() gives them."""
    one: st.SearchStrategy[Any] = cgps if kind == "CGP" else gps
    a, b, c = (data.draw(one) for _ in range(3))
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert sum([a, b, c]) == gv.total([a, b, c]) == a + b + c
    assert a + 0 == a
    assert a < a + b


def test_deltas_add() -> None:
    """(ε, δ, Δ)-GP composes by adding epsilon and delta, up to the smaller distance."""
    g = gv.GP(epsilon=0.1, delta=1e-9, within=500) + gv.GP(epsilon=0.2, delta=2e-9, within=300)
    assert g == gv.GP(epsilon="0.3", delta="3e-9", within=300)
    assert g + gv.GP(epsilon="0.7") == gv.GP(epsilon=1, delta="3e-9", within=300)
    assert not g.pure
    assert gv.GP(epsilon=1).pure


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (gv.CGP(rho=1), gv.GP(epsilon=1)),
        (gv.GP(epsilon=1), gv.CGP(rho=1)),
        (gv.CGP(rho=1), gv.CGP(rho=1, metric="2")),
        (gv.GP(epsilon=1, metric="1"), gv.GP(epsilon=1)),
        (gv.CGP(rho=1), 0.5),
        (gv.GP(epsilon=1), "1"),
        (gv.CGP(rho=1), None),
    ],
)
def test_mixtures_are_refused(a: Any, b: Any) -> None:
    """What is not of one kind and metric is neither added nor compared, and never equal."""
    for mix in (operator.add, operator.le, operator.lt, operator.ge, operator.gt):
        with pytest.raises(IncompatibleGuarantees):
            mix(a, b)
    with pytest.raises(IncompatibleGuarantees):
        gv.total([a, b])
    assert a != b


def test_mixtures_name_conversions() -> None:
    """The message names the conversion that helps."""
    with pytest.raises(IncompatibleGuarantees, match=r"as_cgp\(\)"):
        gv.CGP(rho=1) + gv.GP(epsilon=1)
    with pytest.raises(IncompatibleGuarantees, match=r"under\('inf', n=...\)"):
        gv.CGP(rho=1) + gv.CGP(rho=1, metric="1")


@KINDS
@pytest.mark.parametrize(
    "budget",
    [
        0,
        0.0,
        -1,
        "-5e-5",
        math.nan,
        math.inf,
        -math.inf,
        "nan",
        "sNaN",
        "Infinity",
        Decimal("NaN"),
        True,
        False,
        np.True_,
        None,
        "",
        "five",
        "0.1 per metre",
        1e-200,
        1e200,
        "1e-101",
        "1e101",
        10**5000,
        1 + 2j,
        [0.1],
        np.array([0.1]),
    ],
    ids=lambda v: repr(v)[:20] if not isinstance(v, int) or abs(v) < 10**9 else "huge",
)
def test_bad_budgets_are_refused(make: Any, budget: Any) -> None:
    """A budget is a positive, finite number for which noise has a scale; the message names it."""
    with pytest.raises(InvalidParameter, match=r"^(rho|epsilon) = ") as caught:
        make(budget)
    assert str(caught.value.remedy) in str(caught.value)


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5, "nan", True, "much"])
def test_bad_deltas_are_refused(delta: Any) -> None:
    """Delta is at least 0 and below 1."""
    with pytest.raises(InvalidParameter, match="delta"):
        gv.GP(epsilon=1, delta=delta)


@pytest.mark.parametrize("within", [0, -1, math.inf, math.nan, True, "far"])
def test_bad_reaches_are_refused(within: Any) -> None:
    """A reach is positive and finite; without one the guarantee holds at any distance."""
    with pytest.raises(InvalidParameter, match="within"):
        gv.GP(epsilon=1, delta=1e-9, within=within)


@pytest.mark.parametrize("g", [gv.GP(epsilon=1, delta=1e-9), gv.GP(epsilon=1, within=100)])
def test_pure_gp_alone(g: gv.GP) -> None:
    """Only pure GP scales, divides, changes its metric, becomes CGP or bounds an attacker."""
    for do in (
        lambda: g * 2,
        lambda: 2 * g,
        lambda: g / 2,
        lambda: g.split(2),
        lambda: g.under("1", n=2),
        g.as_cgp,
        lambda: g.attacker(distance=100),
    ):
        with pytest.raises(IncompatibleGuarantees, match="only pure GP"):
            do()


@pytest.mark.parametrize(
    "g",
    [
        gv.CGP(rho=5e-5),
        gv.CGP(rho=1, metric="2") / 3,
        gv.GP(epsilon=0.07, delta=1e-10, within=1000),
        gv.GP(epsilon=2, unit="km", metric="1"),
    ],
)
def test_guarantees_are_values(g: Guarantee) -> None:
    """A guarantee survives pickling and copying, can be a key and cannot be changed."""
    assert pickle.loads(pickle.dumps(g)) == g
    assert copy.deepcopy(g) == g
    assert {g: 1}[copy.copy(g)] == 1
    with pytest.raises(AttributeError):
        g.metric = gv.dist_1  # type: ignore[misc]


def test_guarantee_repr() -> None:
    """The repr is the call that makes the guarantee; the text names its unit and metric."""
    assert repr(gv.CGP(rho=5e-5)) == "CGP(rho=5e-05)"
    assert repr(gv.GP(epsilon="0.3", delta=1e-9, within=300, metric="2")) == (
        "GP(epsilon=0.3, delta=1e-09, within=300, metric='2')"
    )
    assert repr(gv.CGP(rho=1) / 3) == f"CGP(rho=0.{'3' * 30})"
    assert str(gv.CGP(rho=5e-5)) == "CGP with ρ = 5e-05 per m²"
    assert str(gv.GP(epsilon=1, delta=1e-9, within=20)) == "GP with ε = 1 per m, δ = 1e-09, within 20 m"


def test_empty_sums_are_refused() -> None:
    """The total of no guarantees is an error, not a guarantee of nothing."""
    with pytest.raises(InvalidParameter, match="at least one"):
        gv.total([])


@pytest.mark.parametrize("make", [lambda b: gv.CGP(rho=b), lambda b: gv.GP(epsilon=b)], ids=["CGP", "GP"])
def test_subtraction_is_exact(make: Any) -> None:
    """Subtraction is exact, and a budget that is used up cannot be written."""
    assert make("0.3") - make("0.1") == make("0.2")
    for spent in ("0.3", "0.4"):
        with pytest.raises(InvalidParameter, match="positive"):
            make("0.3") - make(spent)


@pytest.mark.slow
@MANY
@given(guarantees, st.fractions(Fraction(1, 100), Fraction(100)))
def test_fractions_round_down(g: Guarantee, fraction: Fraction) -> None:
    """A part is never more than the fraction says, and not noticeably less."""
    for part, exact in ((g / fraction, Fraction(g.budget) / fraction), (g * fraction, Fraction(g.budget) * fraction)):
        assert exact * (1 - Fraction(1, 10**29)) <= Fraction(part.budget) <= exact
