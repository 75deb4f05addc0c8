"""Numbers and sentences for people, the same on the page and on the figure."""

from __future__ import annotations

import math
from typing import Any

from geoveil.privacy import exact

__all__ = ["WARNING", "counted", "length", "lengths", "number", "place", "round_below"]

WARNING = "This file shows true locations. It must not be shared."


def length(metres: float) -> str:
    """A length to read, rounded up to three digits.

    Examples
    --------
    >>> length(244.7), length(1345), length(100_000), length(0.0)
    ('245 m', '1.35 km', '100 km', '0 m')
    """
    if metres == 0:
        return "0 m"
    far = metres >= 999.5
    return f"{float(exact.rounded_up(metres / 1000 if far else metres, 3)):.6g} {'km' if far else 'm'}"


def lengths(metres: Any) -> str:
    """Several lengths, by the smallest and the largest of them."""
    return " to ".join(dict.fromkeys((length(float(min(metres))), length(float(max(metres))))))


def counted(count: int) -> str:
    """A number with its thousands apart.

    Examples
    --------
    >>> counted(1234567)
    '1 234 567'
    """
    return f"{count:_}".replace("_", " ")


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
