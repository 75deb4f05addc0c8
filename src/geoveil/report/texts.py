"""Numbers and sentences for people, the same on the page and on the figure."""

from __future__ import annotations

import math
from typing import Any

from geoveil.words import metres

__all__ = ["WARNING", "lengths", "number", "place", "round_below"]

WARNING = "This file shows true locations. It must not be shared."


def lengths(found: Any) -> str:
    """Several lengths, by the smallest and the largest of them."""
    return " to ".join(dict.fromkeys((metres(float(min(found))), metres(float(max(found))))))


def number(value: float) -> str:
    """A number of something, to two digits.

    Examples
    --------
    >>> number(812.3), number(5.64), number(0.012)
    ('810', '5.6', '0.012')
    """
    return f"{float(f'{value:.2g}'):.12g}"


def place(lon: float, lat: float) -> str:
    """A place to read, in degrees.

    Examples
    --------
    >>> place(-122.419, 37.77)
    '37.770° N, 122.419° W'
    """
    return f"{abs(lat):.3f}° {'S' if lat < 0 else 'N'}, {abs(lon):.3f}° {'W' if lon < 0 else 'E'}"


def round_below(limit: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not above the limit.

    Examples
    --------
    >>> round_below(730.0), round_below(4.9), round_below(10.0)
    (500.0, 2.0, 10.0)
    """
    power = 10.0 ** math.floor(math.log10(limit) + 1e-12)
    return float(max(step * power for step in (1, 2, 5) if step * power <= limit * (1 + 1e-12)))
