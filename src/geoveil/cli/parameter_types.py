"""Types of command-line values: lengths, chances, locations and areas."""

from __future__ import annotations

import re
from typing import Any

import click

__all__ = ["AREA", "CHANCE", "LENGTH", "PLACE", "degrees"]

#: The units of lengths in metres, by each of their names.
_METRES = {
    **dict.fromkeys(["", "m", "meter", "meters", "metre", "metres"], 1.0),
    **dict.fromkeys(["km", "kilometer", "kilometers", "kilometre", "kilometres"], 1000.0),
    **dict.fromkeys(["ft", "foot", "feet"], 0.3048),
    **dict.fromkeys(["mi", "mile", "miles"], 1609.344),
}
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


class _Written(click.ParamType):  # type: ignore[type-arg]
    """A value that is written as text."""

    def __init__(self, name: str, allowed: str) -> None:
        self.name = name
        self._allowed = allowed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        found = self.read(value.strip())
        if found is None:
            self.fail(f"{value!r} must be {self._allowed}.", param, ctx)
        return found

    def read(self, text: str) -> Any:
        """Return the value that a text means, or None if it has no meaning."""
        raise NotImplementedError


class _Length(_Written):
    def read(self, text: str) -> float | None:
        found = re.fullmatch(rf"({_NUMBER})\s*([a-z]*)\.?", text.lower())
        if not found or found[2] not in _METRES or not float(found[1]) > 0:
            return None
        return float(found[1]) * _METRES[found[2]]


class _Chance(_Written):
    def read(self, text: str) -> float | None:
        found = re.fullmatch(rf"({_NUMBER})\s*(%?)", text)
        share = None if not found else float(found[1]) / (100 if found[2] else 1)
        return share if share is not None and 0 <= share <= 1 else None


class _Place(_Written):
    def read(self, text: str) -> tuple[float, float] | None:
        return degrees(text.split(","))


class _Area(_Written):
    def read(self, text: str) -> tuple[float, float, float] | None:
        *place, radius = text.split(",")
        at, reach = degrees(place), LENGTH.read(radius.strip())
        return None if at is None or reach is None else (*at, reach)


def degrees(parts: list[str]) -> tuple[float, float] | None:
    """Return a latitude and a longitude, or None if the parts are not."""
    try:
        lat, lon = (float(part) for part in parts)
    except ValueError:
        return None
    return (lat, lon) if abs(lat) <= 90 and abs(lon) <= 180 else None


LENGTH = _Length("length", "a length such as 200m, 1.5km, 300ft or 2mi; a plain number is metres")
CHANCE = _Chance("chance", "a chance such as 75% or 0.75")
PLACE = _Place("lat,lon", "a latitude and a longitude in degrees, such as 37.77,-122.42")
AREA = _Area("lat,lon,radius", "a latitude, a longitude and a radius, such as 37.77,-122.42,50km")
