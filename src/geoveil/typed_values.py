"""Lengths, chances, places and areas as people type them."""

from __future__ import annotations

import math
import re

__all__ = ["read_area", "read_chance", "read_length", "read_place"]

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
    found = re.fullmatch(rf"({_NUMBER})\s*([a-z]*)\.?", text.strip().lower())
    if not found or found[2] not in _METRES:
        return None
    length = float(found[1]) * _METRES[found[2]]
    return length if 0 < length < math.inf else None


def read_chance(text: str) -> float | None:
    """Return a share from 0 to 1, or None if a text is none.

    Examples
    --------
    >>> read_chance("75%"), read_chance("0.5"), read_chance("75")
    (0.75, 0.5, None)
    """
    found = re.fullmatch(rf"({_NUMBER})\s*(%?)", text.strip())
    share = None if not found else float(found[1]) / (100 if found[2] else 1)
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
