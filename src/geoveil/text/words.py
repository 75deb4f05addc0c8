"""Lengths and numbers as readable text."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["apart", "chance", "counted", "hidden", "metres"]

#: Two inputs that an attacker tries to tell apart, by metric.
_APART = {
    "inf": "two places {} apart",
    "2": "two versions of all points that differ by {} in all (root sum of squares)",
    "1": "two versions of all points that differ by {} in all (sum)",
}


def apart(length: str, metric: str) -> str:
    """Describe two inputs at a distance under a metric.

    Examples
    --------
    >>> apart("200 m", "inf")
    'two places 200 m apart'
    """
    return _APART.get(metric, _APART["inf"]).format(length)


def metres(length: float, digits: int = 3) -> str:
    """Return a length as text, rounded up, for error bounds.

    Examples
    --------
    >>> metres(244.7), metres(1345), metres(100_000), metres(0.0)
    ('245 m', '1.35 km', '100 km', '0 m')
    """
    return _rounded(length, digits, math.ceil)


def hidden(length: float, digits: int = 3) -> str:
    """Return a length as text, rounded down, for hidden distances.

    Examples
    --------
    >>> hidden(104.81), hidden(1345.6)
    ('104 m', '1.34 km')
    """
    return _rounded(length, digits, math.floor)


def _rounded(length: float, digits: int, to: Callable[[float], int]) -> str:
    if length == 0:
        return "0 m"
    kilometres = length > 999
    shown = length / 1000 if kilometres else length
    unit = 10.0 ** (math.floor(math.log10(shown)) + 1 - digits)
    # A length with no more digits is not rounded, whatever the last bit of the quotient.
    units = shown / unit
    whole = round(units) if math.isclose(units, round(units), rel_tol=1e-12) else to(units)
    return f"{whole * unit:,.6g} {'km' if kilometres else 'm'}"


def chance(share: float) -> str:
    """Return a probability in per cent, rounded up, for bounds on guesses.

    Examples
    --------
    >>> chance(0.51201), chance(0.75), chance(1.0)
    ('51.3%', '75.0%', '100.0%')
    """
    return f"{math.ceil(share * 1000 - 1e-9) / 10:.1f}%"


def counted(count: int, noun: str = "") -> str:
    """Return a count and its noun, with commas between thousands.

    Examples
    --------
    >>> counted(1), counted(1234567, "point"), counted(1, "person")
    ('1', '1,234,567 points', '1 person')
    """
    return f"{count:,} {noun}".rstrip() + ("s" if noun and count != 1 else "")
