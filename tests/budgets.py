"""Guarantees and budgets of all kinds, for the tests of privacy."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import settings
from hypothesis import strategies as st

import geoveil as gv

Guarantee = gv.CGP | gv.GP
#: A hundred examples of each test.
MANY = settings(max_examples=100)
KINDS = pytest.mark.parametrize(
    "make", [lambda b, **more: gv.CGP(rho=b, **more), lambda b, **more: gv.GP(epsilon=b, **more)], ids=["CGP", "GP"]
)

#: Budgets as people write them, up to the 30 digits that a division leaves.
budgets = st.builds(
    lambda digits, exponent: Decimal(digits).scaleb(exponent),
    st.integers(1, 10**6) | st.integers(10**29, 10**30 - 1),
    st.integers(-60, 20),
)
guarantees = st.one_of(budgets.map(lambda b: gv.CGP(rho=b)), budgets.map(lambda b: gv.GP(epsilon=b)))


def between(low: float, high: float) -> st.SearchStrategy[float]:
    """Return numbers spread evenly over the orders of magnitude."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)
