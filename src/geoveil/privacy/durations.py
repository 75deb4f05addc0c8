"""Lengths of time: from texts and timedeltas to whole microseconds, and back to words."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from geoveil.errors import InvalidParameter

__all__ = ["MICROSECONDS", "Duration", "as_duration", "duration_words", "is_duration"]

#: A length of time as users give it: "1 day", "90 min", a timedelta, or a number of seconds.
Duration: TypeAlias = str | timedelta | float

#: Microseconds in a second.
MICROSECONDS = 10**6
_SECONDS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_SPELLINGS = {
    **{name: name for name in _SECONDS},
    **{f"{name}s": name for name in _SECONDS},
    **{"w": "week", "d": "day", "h": "hour", "hr": "hour", "hrs": "hour", "min": "minute", "mins": "minute"},
    **{"sec": "second", "secs": "second", "s": "second"},
}
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


def is_duration(value: object) -> bool:
    """Return whether a value is a timedelta or a text of a number and a unit of time.

    Examples
    --------
    >>> is_duration("1 day"), is_duration("90min"), is_duration("user"), is_duration("7 trips")
    (True, True, False, False)
    """
    if isinstance(value, timedelta):
        return True
    match = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
    return match is not None and match[2].lower() in _SPELLINGS


def as_duration(name: str, value: Duration) -> int:
    """Return a length of time in whole microseconds; refuse anything that is not a positive length of time.

    Parameters
    ----------
    name : str
        The argument, for errors.
    value : str, timedelta or number
        The length of time; a number is in seconds.

    Examples
    --------
    >>> as_duration("unit", "1 day"), as_duration("thin", 0.5)
    (86400000000, 500000)
    """
    microseconds: float | Fraction = math.nan
    if isinstance(value, timedelta):
        microseconds = Fraction(value // timedelta(microseconds=1))
    elif isinstance(value, str) and is_duration(value):
        match = _WRITTEN.fullmatch(value)
        assert match is not None
        microseconds = Fraction(match[1]) * _SECONDS[_SPELLINGS[match[2].lower()]] * MICROSECONDS
    elif isinstance(value, int | float) and not isinstance(value, bool):
        microseconds = float(value) * MICROSECONDS
    if not 1 <= microseconds < 2**62:
        allowed = 'a length of time such as "1 day", "12 hours", "90 min" or "30 s"'
        raise InvalidParameter(name, value, allowed, "Write a positive number and a unit of time.")
    return round(microseconds)


def duration_words(microseconds: int) -> str:
    """Return a length of time in words, as a whole number of the largest possible unit.

    Examples
    --------
    >>> duration_words(86_400 * 10**6), duration_words(5_400 * 10**6), duration_words(500_000)
    ('1 day', '90 minutes', '0.5 seconds')
    >>> duration_words(86_399_960_000), duration_words(1_234_567_500_001)
    ('86399.96 seconds', '1234567.500001 seconds')
    """
    for name, seconds in _SECONDS.items():
        count, rest = divmod(microseconds, seconds * MICROSECONDS)
        # One week is called 7 days; several weeks are called weeks.
        if rest == 0 and (name != "week" or count > 1):
            return f"{count} {name}" if count == 1 else f"{count} {name}s"
    # All digits: this text names the metric in certificates.
    return f"{Decimal(microseconds).scaleb(-6).normalize():f} seconds"
