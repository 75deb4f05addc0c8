"""What is read from the bodies of clients: times and places, and nothing else.

What cannot be used is named by a word from a short list, which logs and metrics may contain: it never says where.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

__all__ = ["BODY", "Fix", "PingReading", "Unused", "fix_of", "json_of", "microseconds", "number", "unix_time"]

#: Why something that was sent is not used. `clock`: its time is too old, or ahead. `late`: an equal or a later ping
#: was answered before. `soon`: it comes too soon after the last one. `paused`: the owner has paused the person.
Unused: TypeAlias = Literal[
    "malformed",
    "no time",
    "no place",
    "no fix",
    "other type",
    "empty",
    "undecryptable",
    "clock",
    "late",
    "soon",
    "paused",
]

#: The largest body in bytes, the most points in it, and the depth, the longest text and the most digits of its JSON.
BODY = 2 * 2**20
_POINTS = 5000
_DEPTH = 32
_TEXT = 2**20
_DIGITS = 64

_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]|[-+0-9.eE]+', re.DOTALL)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Fix:
    """A place at a time, in microseconds since 1970: the true one."""

    time: int
    lat: float
    lon: float


@dataclass
class PingReading:
    """What a body has: its fixes in the order in which they were sent, each with its position, and what is not used.

    `size` is the number of points, used or not. `encrypted` tells whether the sender reads encrypted answers, and
    `is_too_long` that there are more points than one request may have.
    """

    fixes: list[tuple[int, Fix]] = field(default_factory=list)
    unused: dict[int, Unused] = field(default_factory=dict)
    encrypted: bool = False
    is_too_long: bool = False

    @property
    def size(self) -> int:
        return len(self.fixes) + len(self.unused)

    def add(self, found: Fix | Unused) -> None:
        """Add the next point."""
        if isinstance(found, Fix):
            self.fixes.append((self.size, found))
        else:
            self.unused[self.size] = found

    @classmethod
    def of(cls, *found: Fix | Unused) -> PingReading:
        """Return the reading of these points."""
        reading = cls(is_too_long=len(found) > _POINTS)
        for each in found[:_POINTS]:
            reading.add(each)
        return reading


def json_of(body: bytes) -> Any:
    """Return the JSON in a body; None if it is none, or nested, long or large beyond all use."""
    if body.startswith(b"\xef\xbb\xbf"):
        body = body[3:]
    # Most bodies are too small to be deep or to have long parts.
    if len(body) > 64 and _is_hostile(body):
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _is_hostile(body: bytes) -> bool:
    depth = 0
    for match in _TOKENS.finditer(body):
        first, length = match[0][:1], len(match[0])
        if first == b'"':
            if length > _TEXT + 2:
                return True
        elif first in (b"[", b"{"):
            depth += 1
            if depth > _DEPTH:
                return True
        elif first in (b"]", b"}"):
            depth -= 1
        elif length > _DIGITS:
            return True
    return False


def number(value: object) -> float | None:
    """Return a finite number, which some senders write as a text; None for anything else.

    Examples
    --------
    >>> number("48.5"), number(3), number(True), number("nan"), number([1])
    (48.5, 3.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or len(str(value)) > _DIGITS:
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def unix_time(value: object, *, epoch: int = 0) -> int | None:
    """Return a time in seconds since an epoch as microseconds since 1970; None if it is none."""
    found = number(value)
    if found is None or not 0 < found < 2**40:
        return None
    return math.floor(found * 10**6) + epoch * 10**6


def microseconds(value: object) -> int | None:
    """Return an ISO 8601 time with its zone, or seconds since 1970, as microseconds since 1970; None if it is none.

    Examples
    --------
    >>> microseconds("2026-05-04T08:00:00.5+02:00"), microseconds(1777874400.5), microseconds("2026-05-04 08:00:00")
    (1777874400500000, 1777874400500000, None)
    """
    if not isinstance(value, str):
        return unix_time(value)
    try:
        found = datetime.fromisoformat(value.strip())
    except ValueError:
        return unix_time(value)
    return None if found.tzinfo is None else (found - _EPOCH) // _MICROSECOND


def fix_of(time: int | None, lat: object, lon: object) -> Fix | Unused:
    """Return a fix, or why there is none."""
    if lat is None or lon is None:
        return "no place"
    latitude, longitude = number(lat), number(lon)
    if latitude is None or longitude is None or abs(latitude) > 90 or abs(longitude) > 180:
        return "no place"
    return "no time" if time is None else Fix(time, latitude, longitude)
