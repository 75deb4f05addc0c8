"""Numbers and sentences that the page and the figure share."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from geoveil.text.words import metres

__all__ = ["WARNING", "between", "lengths", "location", "number", "round_below", "with_units"]

WARNING = "This file shows true locations. It must not be shared."


def lengths(sizes: Iterable[float]) -> str:
    """Return the smallest and the largest of some lengths in metres as text; only one if both read the same.

    Examples
    --------
    >>> lengths([812.3, 244.7, 500.0]), lengths([100.0])
    ('245 m to 813 m', '100 m')
    """
    sizes = list(sizes)
    return " to ".join(dict.fromkeys((metres(float(min(sizes))), metres(float(max(sizes))))))


def number(value: float) -> str:
    """Return a number with three significant digits.

    Examples
    --------
    >>> number(8123.0), number(0.8812), number(0.012)
    ('8,120', '0.881', '0.012')
    """
    return f"{float(f'{value:.3g}'):,.12g}"


def between(low: float, high: float, *, last: bool = False) -> str:
    """Return the limits of a class of numbers as text; only the last class includes its upper limit.

    Examples
    --------
    >>> between(1.0, 2.0), between(1000.0, 4321.0, last=True), between(100.0, 100.2, last=True)
    ('1 to under 2', '1,000 to 4,320', '100 or more')
    """
    if number(low) == number(high):
        return f"{number(low)} or more"
    return f"{number(low)} to {'' if last else 'under '}{number(high)}"


def location(lon: float, lat: float) -> str:
    """Return a location in degrees as text.

    Examples
    --------
    >>> location(-122.419, 37.77)
    '37.770° N, 122.419° W'
    """
    return f"{abs(lat):.3f}° {'S' if lat < 0 else 'N'}, {abs(lon):.3f}° {'W' if lon < 0 else 'E'}"


def round_below(limit: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that does not exceed the limit.

    Examples
    --------
    >>> round_below(730.0), round_below(4.9), round_below(10.0)
    (500.0, 2.0, 10.0)
    """
    power = 10.0 ** math.floor(math.log10(limit) + 1e-12)
    return float(max(step * power for step in (1, 2, 5) if step * power <= limit * (1 + 1e-12)))


def with_units(text: str) -> str:
    """Return a text in which no line break separates the number of a length from its unit.

    Examples
    --------
    >>> import textwrap
    >>> len(textwrap.wrap(with_units("1.85 km"), 5, break_long_words=False))
    1
    """
    return re.sub(r"(?<=\d) (?=k?m\b)", "\N{NO-BREAK SPACE}", text)
