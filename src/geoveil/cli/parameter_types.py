"""Types of command-line values: lengths, chances, locations and areas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from geoveil.typed_values import read_area, read_chance, read_length, read_place

__all__ = ["AREA", "CHANCE", "LENGTH", "PLACE", "SHARE"]


class _Written(click.ParamType):  # type: ignore[type-arg]
    """A value that is written as text."""

    def __init__(self, name: str, read: Callable[[str], Any], allowed: str) -> None:
        self.name = name
        self.read = read
        self._allowed = allowed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        found = self.read(value)
        if found is None:
            self.fail(f"{value!r} must be {self._allowed}.", param, ctx)
        return found


LENGTH = _Written("length", read_length, "a length such as 200m, 1.5km, 300ft or 2mi; a plain number is metres")
CHANCE = _Written("chance", read_chance, "a chance such as 75% or 0.75")
SHARE = _Written("share", read_chance, "a share such as 20% or 0.2")
PLACE = _Written("lat,lon", read_place, "a latitude and a longitude in degrees, such as 37.77,-122.42")
AREA = _Written("lat,lon,radius", read_area, "a latitude, a longitude and a radius, such as 37.77,-122.42,50km")
