"""Exact budgets: decimals that add up, and roundings that never favour the utility.

A float is read as the decimal that its author wrote, so that ten times 0.1 is 1. Sums are exact. Quotients round
down, so that parts never exceed the whole; what a float carries into a noise scale rounds up.
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
from typing import Any, TypeAlias

from geoveil.errors import InvalidParameter

Number: TypeAlias = float | int | str | Decimal | Fraction

DIGITS = 30
#: Below and above these a budget gives noise that doubles cannot hold.
SMALLEST, LARGEST = Decimal("1e-100"), Decimal("1e100")


def _context(digits: int, rounding: str) -> Context:
    """Return a context that owes nothing to the current one, nor to the default for new ones."""
    traps = [DivisionByZero, InvalidOperation, Overflow]
    return Context(digits, rounding, Emin=-999999, Emax=999999, capitals=1, clamp=0, traps=traps)


_DOWN = _context(DIGITS, ROUND_FLOOR)
_UP = _context(DIGITS, ROUND_CEILING)
# Wide enough that sums and products of budgets within the limits above are exact.
_WIDE = _context(1000, ROUND_HALF_EVEN)


def to_decimal(argument: str, value: Number) -> Decimal:
    """Read a finite number as the decimal its author wrote; a fraction is rounded down at 30 digits."""
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


def _shortest(value: Any) -> str:
    """Return the shortest decimal that reads back to a float of any width, whatever numpy's way of printing is."""
    if isinstance(value, float):
        return float.__repr__(value)
    if hasattr(value, "dtype"):
        import numpy as np

        return np.format_float_scientific(value)
    return str(value)


def to_budget(argument: str, value: Number) -> Decimal:
    """Read a budget: a positive decimal for which the noise has a finite scale."""
    decimal = to_decimal(argument, value)
    if decimal <= 0:
        raise InvalidParameter(
            argument, value, "positive", "Less noise needs a larger budget; no budget means no release."
        )
    if not SMALLEST <= decimal <= LARGEST:
        raise InvalidParameter(
            argument, value, f"between {SMALLEST:e} and {LARGEST:e}", "Check the unit: budgets are per metre."
        )
    return decimal


def add(a: Decimal, b: Decimal) -> Decimal:
    """A + b, exactly."""
    return _WIDE.add(a, b)


def subtract(a: Decimal, b: Decimal) -> Decimal:
    """A - b, exactly."""
    return _WIDE.subtract(a, b)


def multiply(a: Decimal, b: Decimal) -> Decimal:
    """A · b, exactly."""
    return _WIDE.multiply(a, b)


def divide_down(a: Decimal, b: Decimal) -> Decimal:
    """A / b, rounded down at 30 digits."""
    return _DOWN.divide(a, b)


def divide_up(a: Decimal, b: Decimal) -> Decimal:
    """A / b, rounded up at 30 digits."""
    return _UP.divide(a, b)


def multiply_up(a: Decimal, b: Decimal) -> Decimal:
    """A · b, rounded up at 30 digits."""
    return _UP.multiply(a, b)


def sqrt_up(a: Decimal) -> Decimal:
    """√a, rounded up at 30 digits."""
    root = _UP.sqrt(a)  # half-even, whatever the context says
    return _UP.next_plus(root) if _WIDE.multiply(root, root) < a else root


def sqrt_down(a: Decimal) -> Decimal:
    """√a, rounded down at 30 digits."""
    root = _DOWN.sqrt(a)
    return _DOWN.next_minus(root) if _WIDE.multiply(root, root) > a else root


def round_down(value: float, digits: int) -> Decimal:
    """The largest decimal of so many significant digits that is at most `value`."""
    return _context(digits, ROUND_FLOOR).plus(Decimal.from_float(value))


def root_up(square: Fraction | int) -> float:
    """The square root as a double that is at least the true one."""
    root = math.sqrt(square)
    return math.nextafter(root, math.inf) if Fraction(root) ** 2 < square else root


def rounded_up(value: Decimal | float, digits: int = 6) -> str:
    """A number for people to read, never smaller than it is."""
    exactly = value if isinstance(value, Decimal) else Decimal.from_float(value)
    up = _context(digits, ROUND_CEILING).plus(exactly)
    return f"{float(up):.{digits}g}"


def float_up(value: Decimal) -> float:
    """The smallest double that is at least `value`."""
    nearest = float(value)
    return math.nextafter(nearest, math.inf) if Decimal.from_float(nearest) < value else nearest


def ratio_up(a: float, b: Decimal) -> float:
    """A / b as a double, rounded up."""
    return float_up(_UP.divide(Decimal.from_float(a), b))


def shown(value: Decimal) -> str:
    """Return the decimal as a person would write it, all of its digits."""
    short = f"{float(value):g}"
    return short if Decimal(short) == value else _WIDE.to_sci_string(value)


def written(value: Decimal) -> str:
    """The decimal in one way of writing, with all of its digits, whatever the context is."""
    text = format(value, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
