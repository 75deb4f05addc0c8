"""Exact arithmetic on budgets: sums are exact, and every rounding is towards more privacy.

A float is read as the decimal that its author wrote, so that ten times 0.1 is 1. Quotients round down, so that parts
never exceed the whole. Conversions to a noise scale round up.
"""

from __future__ import annotations

import math
from decimal import (
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import TypeAlias

from geoveil.errors import InvalidParameter

Number: TypeAlias = float | int | str | Decimal | Fraction

DIGITS = 30
#: The smallest and the largest budget: beyond them the scale of the noise does not fit into a double.
SMALLEST, LARGEST = Decimal("1e-100"), Decimal("1e100")


def _context(digits: int, rounding: str) -> Context:
    """Return a decimal context that is independent of the host program's current and default contexts."""
    traps = [DivisionByZero, InvalidOperation, Overflow]
    return Context(digits, rounding, Emin=-999999, Emax=999999, capitals=1, clamp=0, traps=traps)


_DOWN = _context(DIGITS, ROUND_FLOOR)
_UP = _context(DIGITS, ROUND_CEILING)
# Wide enough that sums and products of budgets between SMALLEST and LARGEST are exact.
_WIDE = _context(1000, ROUND_HALF_EVEN)


def to_decimal(argument: str, value: Number) -> Decimal:
    """Return a finite number as the decimal its author wrote; a fraction is rounded down to 30 digits."""
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal, str)):
        raise InvalidParameter(
            argument, value, "a number", "Give a float, an int, a string such as '5e-5', a Decimal or a Fraction."
        )
    try:
        if isinstance(value, Integral):
            decimal = Decimal(int(value))
        elif isinstance(value, Rational):
            decimal = _DOWN.divide(Decimal(value.numerator), Decimal(value.denominator))
        elif isinstance(value, (Decimal, str)):
            decimal = Decimal(value)
        else:
            decimal = Decimal(_shortest(value))
    except InvalidOperation:
        raise InvalidParameter(argument, value, "a number", "Write it as 5e-5 or '0.00005'.") from None
    if not decimal.is_finite():
        raise InvalidParameter(argument, value, "finite", "Give a positive number.")
    return decimal


def _shortest(value: Real) -> str:
    """Return the shortest decimal that reads back as this float, of any width, whatever numpy's print options are."""
    import numpy as np

    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, np.floating):
        return np.format_float_scientific(value)
    return str(value)


def to_budget(argument: str, value: Number) -> Decimal:
    """Return a budget as a decimal: positive, and such that the scale of the noise is finite."""
    decimal = to_decimal(argument, value)
    if decimal <= 0:
        raise InvalidParameter(
            argument, value, "positive", "A larger budget gives less noise; without a budget nothing is released."
        )
    if not SMALLEST <= decimal <= LARGEST:
        raise InvalidParameter(
            argument, value, f"between {SMALLEST:e} and {LARGEST:e}", "Check the unit: budgets are per metre."
        )
    return decimal


def add(a: Decimal, b: Decimal) -> Decimal:
    """Return a + b, exactly."""
    return _WIDE.add(a, b)


def subtract(a: Decimal, b: Decimal) -> Decimal:
    """Return a - b, exactly."""
    return _WIDE.subtract(a, b)


def multiply(a: Decimal, b: Decimal) -> Decimal:
    """Return a · b, exactly."""
    return _WIDE.multiply(a, b)


def divide_down(a: Decimal, b: Decimal) -> Decimal:
    """Return a / b, rounded down to 30 digits."""
    return _DOWN.divide(a, b)


def divide_up(a: Decimal, b: Decimal) -> Decimal:
    """Return a / b, rounded up to 30 digits."""
    return _UP.divide(a, b)


def multiply_up(a: Decimal, b: Decimal) -> Decimal:
    """Return a · b, rounded up to 30 digits."""
    return _UP.multiply(a, b)


def sqrt_up(a: Decimal) -> Decimal:
    """Return √a, rounded up to 30 digits."""
    root = _UP.sqrt(a)  # sqrt ignores the context's rounding and rounds half-even
    return _UP.next_plus(root) if _WIDE.multiply(root, root) < a else root


def sqrt_down(a: Decimal) -> Decimal:
    """Return √a, rounded down to 30 digits."""
    root = _DOWN.sqrt(a)
    return _DOWN.next_minus(root) if _WIDE.multiply(root, root) > a else root


def round_down(value: float, digits: int) -> Decimal:
    """Return the largest decimal of `digits` significant digits that is at most `value`."""
    return _context(digits, ROUND_FLOOR).plus(Decimal.from_float(value))


def root_up(square: Fraction | int) -> float:
    """Return the square root, rounded up to a double."""
    root = math.sqrt(square)
    return math.nextafter(root, math.inf) if Fraction(root) ** 2 < square else root


def rounded_up(value: Decimal | float, digits: int = 6) -> str:
    """Return a number as text, rounded up to a few significant digits."""
    exactly = value if isinstance(value, Decimal) else Decimal.from_float(value)
    up = _context(digits, ROUND_CEILING).plus(exactly)
    return f"{float(up):.{digits}g}"


def float_up(value: Decimal) -> float:
    """Return the smallest double that is at least `value`."""
    nearest = float(value)
    return math.nextafter(nearest, math.inf) if Decimal.from_float(nearest) < value else nearest


def ratio_up(a: float, b: Decimal) -> float:
    """Return a / b as a double, rounded up."""
    return float_up(_UP.divide(Decimal.from_float(a), b))


def shown(value: Decimal) -> str:
    """Return the decimal as text with all of its digits, in the shorter of plain and scientific notation."""
    short = f"{float(value):g}"
    return short if Decimal(short) == value else _WIDE.to_sci_string(value)


def written(value: Decimal) -> str:
    """Return the canonical text of a decimal: plain notation, all digits, no trailing zeros."""
    text = format(value, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
