"""Exact budgets: every number is read exactly, and parts add up to the whole."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import geoveil as gv
from geoveil.errors import InvalidParameter
from tests.budgets import KINDS, MANY, Guarantee, guarantees


@KINDS
def test_ten_tenths_are_one(make: Any) -> None:
    """A float is read as the decimal its author wrote, so ten times 0.1 is 1."""
    assert sum([make(0.1)] * 10) == make(1)
    assert make(0.1) * 3 == make("0.3")
    assert make(0.1).budget == Decimal("0.1")


@KINDS
@pytest.mark.parametrize(
    "written", [5e-5, "5e-5", " 0.00005 ", Decimal("0.00005"), Fraction(1, 20_000), np.float64(5e-5), np.float32(5e-5)]
)
def test_number_spellings_agree(make: Any, written: Any) -> None:
    """Floats of any width, strings, decimals and fractions of one number give one guarantee."""
    assert make(written) == make(Decimal("5e-5"))
    assert hash(make(written)) == hash(make(Decimal("5e-5")))


@KINDS
@pytest.mark.parametrize("whole", [3, np.int64(3), np.uint8(3), Fraction(3)])
def test_integers_are_exact(make: Any, whole: Any) -> None:
    """Whole numbers of any type are themselves."""
    assert make(whole).budget == 3


def test_thirds_are_rounded_down() -> None:
    """One third is read as the largest decimal of 30 digits below it."""
    assert gv.CGP(rho=Fraction(1, 3)).rho == Decimal("0." + "3" * 30)
    assert gv.CGP(rho=Fraction(2, 3)).rho == Decimal("0." + "6" * 30)


@pytest.mark.slow
@MANY
@given(guarantees, st.integers(1, 200))
def test_parts_add_up_exactly(g: Guarantee, k: int) -> None:
    """split(k) gives k positive parts whose sum is the whole, to the last digit."""
    parts = g.split(k)
    assert len(parts) == k
    assert gv.total(parts) == g
    assert sum(Fraction(part.budget) for part in parts) == Fraction(g.budget)
    assert all(part.budget > 0 for part in parts)


@MANY
@given(guarantees, st.integers(2, 200))
def test_parts_are_nearly_equal(g: Guarantee, k: int) -> None:
    """The last part of a split takes no more than the rounding of the others."""
    first, *_, last = g.split(k)
    assert 0 <= Fraction(last.budget) - Fraction(first.budget) <= Fraction(first.budget) * k / 10**29


@KINDS
def test_ten_thousand_parts(make: Any) -> None:
    """A budget in ten thousand parts is the budget, however it is written."""
    for g in (make(5e-5), make("0.123456789"), make(1) / 7):
        assert gv.total(g.split(10_000)) == g


@MANY
@given(guarantees, st.integers(1, 10**6))
def test_quotients_never_exceed(g: Guarantee, k: int) -> None:
    """A quotient taken back never exceeds the whole.

    A part times the number of parts is at most the whole, and less by no more than a rounding at 30 digits.
    """
    back = g / k * k
    assert back <= g
    assert Fraction(back.budget) >= Fraction(g.budget) * (1 - Fraction(1, 10**29))


@MANY
@given(guarantees, st.floats(1e-6, 0.999999) | st.fractions(Fraction(1, 1000), Fraction(999, 1000)))
def test_portions_are_the_whole(g: Guarantee, share: float | Fraction) -> None:
    """A share of a budget and the rest add up exactly, and the share is what its author wrote, or rounded down."""
    part, rest = g.portions(share)
    assert part + rest == g
    written = share if isinstance(share, Fraction) else Fraction(str(share))
    exact = Fraction(g.budget) * written
    assert exact * (1 - Fraction(1, 10**29)) <= Fraction(part.budget) <= exact


@pytest.mark.parametrize("share", [0, 1, 1.5, -0.5, "nan", True])
def test_bad_shares_are_refused(share: Any) -> None:
    """A share is strictly between 0 and 1."""
    with pytest.raises(InvalidParameter, match=r"^share = "):
        gv.CGP(rho=1).portions(share)


@pytest.mark.parametrize("k", [np.int64(3), np.uint8(3), 3])
def test_numpy_part_numbers(k: Any) -> None:
    """A number of parts or of points is any whole number, numpy's too."""
    assert len(gv.CGP(rho=1).split(k)) == 3
    assert gv.CGP(rho=1, metric="1").under("inf", n=k) == gv.CGP(rho=9)


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "three", math.nan])
def test_bad_parts_are_refused(k: Any) -> None:
    """split(k) and under(n=k) take whole numbers of at least 1."""
    with pytest.raises(InvalidParameter, match=r"^k = "):
        gv.CGP(rho=1).split(k)
    with pytest.raises(InvalidParameter, match=r"^n = "):
        gv.CGP(rho=1, metric="1").under("inf", n=k)


def _computed() -> list[object]:
    g = gv.CGP(rho="1.23456789e-5", metric="1")
    e = gv.GP(epsilon="0.0123456789", metric="1")
    x = np.zeros((7, 2))
    rng = np.random.default_rng(0)
    return [
        *(made for h in (g, e) for made in (h / 3, h * 7, *h.portions(0.37), *h.split(3), h.under("inf", n=12_345))),
        *(h.per(unit) for h in (g, e) for unit in ("km", "mi", "ft")),
        gv.CGP(rho="1.23456789", unit="mi"),
        e.as_cgp(),
        gv.Locations(x, rng=rng).points(rho=g).scale,
        gv.Locations(x, rng=rng).points(epsilon=e).scale,
        gv.Locations(x, rng=rng).mean(rho="1.23456789e-5").scale,
        gv.Locations(x, rng=rng).nearest((0, 0), k=2, rho="1.23456789e-5").scale,
        gv.Locations(x, rng=rng).hull(rho="1.23456789e-5").scale,
        gv.paper.hull(x, k=3, rho="1.23456789e-5", rng=rng).scale,
        gv.Locations(x, rng=rng).first_within((0, 0), radius=1, epsilon="1.23456789e-5").scale,
    ]


@pytest.mark.parametrize("rounding", [decimal.ROUND_UP, decimal.ROUND_DOWN])
def test_decimal_context_is_ignored(rounding: str) -> None:
    """Budgets and scales do not depend on the precision that a program has set for its own decimals."""
    usual = _computed()
    with decimal.localcontext(prec=3, rounding=rounding):
        low = _computed()
    assert low == usual
