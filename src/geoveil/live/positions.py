"""What the world may see of a stream, and how times and places of pings are read."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from geoveil.errors import InvalidData, InvalidParameter
from geoveil.live.fences import FenceEvent
from geoveil.privacy.durations import MICROSECONDS

__all__ = ["LivePosition", "When", "degrees_of", "instant_of", "microseconds_of"]

#: The time of a ping: a datetime with a time zone, a text such as "2026-05-04T08:30:00Z", or seconds since 1970.
When: TypeAlias = datetime | str | float

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: The end of a text whose zone has parts of a second.
_FINE_OFFSET = re.compile(r"[+-][\d:]+[.,]\d+$")


@dataclass(frozen=True)
class LivePosition:
    """What the world may see now.

    Parameters
    ----------
    lat, lon : float
        The published place, in degrees. It changes only if the estimate has moved by more than its radius warrants.
    radius_95 : float
        The person is within this many metres of it with probability 95%, if they move as the habits say.
    time : datetime or None
        The time of the last ping that was answered; None if none was.
    age : float
        Seconds from then to the time that was asked about.
    new : bool
        Whether the place is another one than before this ping.
    remaining : Decimal
        The budget that is left in the stretch of time that ends now.
    events : tuple of FenceEvent
        Fences that were entered or left with this ping.
    zone : str or None
        The name of the zone that the person is in. The place is then its centre, and the radius is its own.
    """

    lat: float
    lon: float
    radius_95: float
    time: datetime | None
    age: float
    new: bool
    remaining: Decimal
    events: tuple[FenceEvent, ...] = ()
    zone: str | None = None


def degrees_of(lat: object, lon: object) -> tuple[float, float]:
    """Return the longitude and the latitude of a place."""
    try:
        place = float(lon), float(lat)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        place = math.nan, math.nan
    if any(isinstance(each, bool | np.bool_) for each in (lat, lon)):
        place = math.nan, math.nan
    if not (-180 <= place[0] <= 360 and abs(place[1]) <= 90):
        allowed = "a latitude of at most 90 degrees and a longitude of -180 to 360 degrees"
        raise InvalidData("lat, lon", (lat, lon), allowed, "Leave out pings without a position.")
    return place


def microseconds_of(time: When) -> int:
    """Return a time in whole microseconds since 1970, rounded down however it is given."""
    given: object = time
    if isinstance(given, str):
        try:
            # Python cuts off further digits. In the offset of a zone, that would not round down: nobody writes those.
            given = None if _FINE_OFFSET.search(given) else datetime.fromisoformat(given)
        except ValueError:
            given = None
    if isinstance(given, datetime) and given.tzinfo is not None:
        return (given - _EPOCH) // _MICROSECOND
    if isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool):
        seconds: Any = int(given) if isinstance(given, np.integer) else given
        if abs(seconds) < 2**40:
            above, below = seconds.as_integer_ratio()
            return int(above * MICROSECONDS // below)
    allowed = "a time with its time zone, or seconds since 1970"
    raise InvalidParameter("time", time, allowed, 'Write it as "2026-05-04T08:30:00Z".')


def instant_of(microseconds: int) -> datetime:
    """Return a time in microseconds since 1970 as a datetime."""
    return _EPOCH + timedelta(microseconds=microseconds)
