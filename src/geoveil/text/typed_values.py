"""Lengths, chances, numbers, places and areas as people type them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = [
    "AREA",
    "CHANCE",
    "LENGTH",
    "PLACE",
    "SHARE",
    "WHOLE",
    "TypedValue",
    "read_area",
    "read_chance",
    "read_length",
    "read_place",
]

T_co = TypeVar("T_co", covariant=True)

#: The units of lengths in metres, by each of their names.
_METRES = {
    **dict.fromkeys(["", "m", "meter", "meters", "metre", "metres"], 1.0),
    **dict.fromkeys(["km", "kilometer", "kilometers", "kilometre", "kilometres"], 1000.0),
    **dict.fromkeys(["ft", "foot", "feet"], 0.3048),
    **dict.fromkeys(["mi", "mile", "miles"], 1609.344),
}
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


def read_length(text: str) -> float | None:
    """Return a length in metres, or None if a text is none.

    Examples
    --------
    >>> read_length("1.5km"), read_length("200"), read_length("-3 m"), read_length("1e999")
    (1500.0, 200.0, None, None)
    """
    match = re.fullmatch(rf"({_NUMBER})\s*([a-z]*)\.?", text.strip().lower())
    if not match or match[2] not in _METRES:
        return None
    length = float(match[1]) * _METRES[match[2]]
    return length if 0 < length < math.inf else None


def read_chance(text: str) -> float | None:
    """Return a share from 0 to 1, or None if a text is none.

    Examples
    --------
    >>> read_chance("75%"), read_chance("0.5"), read_chance("75")
    (0.75, 0.5, None)
    """
    match = re.fullmatch(rf"({_NUMBER})\s*(%?)", text.strip())
    share = None if not match else float(match[1]) / (100 if match[2] else 1)
    return share if share is not None and 0 <= share <= 1 else None


def read_place(text: str) -> tuple[float, float] | None:
    """Return a latitude and a longitude in degrees, or None if a text is not both.

    Examples
    --------
    >>> read_place("37.77, -122.42"), read_place("97,0")
    ((37.77, -122.42), None)
    """
    try:
        lat, lon = (float(part) for part in text.split(","))
    except ValueError:
        return None
    return (lat, lon) if abs(lat) <= 90 and abs(lon) <= 180 else None


def read_area(text: str) -> tuple[float, float, float] | None:
    """Return a latitude, a longitude and a radius in metres, or None if a text is not these three.

    Examples
    --------
    >>> read_area("37.77,-122.42,50km"), read_area("Zurich")
    ((37.77, -122.42, 50000.0), None)
    """
    place, _, radius = text.rpartition(",")
    at, reach = read_place(place), read_length(radius)
    return None if at is None or reach is None else (*at, reach)


def _read_whole(text: str) -> int | None:
    """Return a whole number from 1 to 999 999 999; None for any other text.

    Examples
    --------
    >>> _read_whole("12"), _read_whole("0"), _read_whole("9" * 5000)
    (12, None, None)
    """
    return int(text) if text.isdecimal() and len(text) < 10 and int(text) > 0 else None


@dataclass(frozen=True)
class TypedValue(Generic[T_co]):
    """A kind of value that people write as text."""

    #: What such a value is called on a help page.
    name: str
    #: The function that returns the value of a text, or None if the text has none.
    read: Callable[[str], T_co | None]
    #: The texts that have one, as in "must be ...".
    allowed: str


LENGTH = TypedValue("length", read_length, "a length such as 200m, 1.5km, 300ft or 2mi; a plain number is metres")
CHANCE = TypedValue("chance", read_chance, "a chance such as 75% or 0.75")
SHARE = TypedValue("share", read_chance, "a share such as 20% or 0.2")
WHOLE = TypedValue("integer", _read_whole, "a whole number of at least 1")
PLACE = TypedValue("lat,lon", read_place, "a latitude and a longitude in degrees, such as 37.77,-122.42")
AREA = TypedValue("lat,lon,radius", read_area, "a latitude, a longitude and a radius, such as 37.77,-122.42,50km")
