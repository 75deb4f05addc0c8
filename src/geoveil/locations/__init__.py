"""Locations as a value: data that is made once and checked once, whose methods are the questions."""

from geoveil.locations.locations import Locations
from geoveil.locations.session import Session

__all__ = ["Locations", "Session"]
