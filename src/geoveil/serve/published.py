"""A place that was published: what is stored, shown and forwarded, built anew from an allow-list of four numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

__all__ = ["PublishedPlace", "iso"]


@dataclass(frozen=True)
class PublishedPlace:
    """A published place.

    Parameters
    ----------
    number : int
        Its number among those of the person.
    time : int
        The time of the ping that was answered, or of the service's clock, in microseconds since 1970.
    lat, lon : float
        Degrees, with six decimals.
    radius : int
        Metres around it in which the person is with probability 95%, rounded up.
    """

    number: int
    time: int
    lat: float
    lon: float
    radius: int

    @classmethod
    def of(cls, number: int, time: int, lat: float, lon: float, radius: float) -> PublishedPlace:
        """Return a place with rounded numbers. What is rounded was released, so nothing is lost by it."""
        return cls(number, time, round(lat, 6), round(lon, 6), max(math.ceil(min(radius, 2.1e7)), 1))

    def feature(self, person: str) -> dict[str, Any]:
        """Return the place as a GeoJSON feature."""
        return {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [self.lon, self.lat]},
            "properties": {"person": person, "time": iso(self.time), "radius_95": self.radius},
        }


def iso(time: int) -> str:
    """Return a time in microseconds since 1970 as ISO 8601 text.

    Examples
    --------
    >>> iso(1_777_881_600_000_000)
    '2026-05-04T08:00:00Z'
    """
    found = datetime.fromtimestamp(time // 10**6, UTC).replace(microsecond=time % 10**6)
    return found.isoformat().replace("+00:00", "Z")
