"""Columns of times, recognised by their names and by their values.

Times are released unchanged, so a column counts as times only if its name says so and its values are times.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any

from geoveil.geo.columns import words
from geoveil.geo.seconds import EPOCH, EPOCH_UNITS

__all__ = ["are_times"]

#: Words that say that a column holds times.
_TIMES = frozenset(
    (
        *("time", "times", "timestamp", "datetime", "date", "dates", "stamp", "ts", "utc", "gmt", "epoch", "unix"),
        *("when", "hms", "ymd", "datum", "zeit", "uhrzeit", "zeitstempel", "zeitpunkt", "fecha", "hora", "heure"),
        *("horodatage",),
    )
)
#: Words for events. A column named by one holds times or something else, such as the station where a trip started.
_EVENTS = frozenset(
    (
        *("start", "started", "begin", "end", "ended", "finish", "finished", "stop", "stopped", "pickup", "dropoff"),
        *("departure", "departed", "leaving", "arrival", "arrived", "arriving", "checkin", "checkout", "recorded"),
        *("observed", "tracked", "measured", "received", "created", "updated", "seen", "reported"),
    )
)
#: Words in the names of dates that describe a person rather than a moment at a place.
_PERSONAL = frozenset(
    (
        *("birth", "born", "birthday", "birthdate", "dob", "geburtstag", "geburtsdatum", "death", "died", "deceased"),
        *("expiry", "expires", "expired", "expire", "expiration", "hire", "hired", "joined", "registration"),
        *("registered", "signup", "enrolled", "enrolment", "enrollment", "passport", "licence", "license", "visa"),
        *("wedding", "married", "graduation", "retirement", "since"),
    )
)
#: Words that may surround times of day, such as 08:30; with others, "travel_time" may be a duration.
_OF_DAY = _TIMES | _EVENTS | frozenset(("of", "day", "local", "gps", "fix", "hour", "event", "trip", "t"))

_CLOCK = r"\d{1,2}[:h.]\d{2}([:.]\d{2}([.,]\d+)?)?\s*([AaPp]\.?[Mm]\.?)?"
_ZONE = r"\s*(Z|z|UTC|GMT|[+-]\d{2}(:?\d{2})?)?(\[[\w/+-]+\])?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
#: Dates, with or without a time of day: 2021-03-20T00:22Z, 20/03/2021 00:22, 3 April 2012, Apr 3, 2012 6:00 PM,
#: Tue Apr 03 18:00:09 +0000 2012, 20210320T002200.
_DATE = re.compile(
    rf"(\d{{4}}([-/.])\d{{1,2}}\2\d{{1,2}}|\d{{1,2}}([-/.])\d{{1,2}}\3(\d{{4}}|\d{{2}}))([T ,]+{_CLOCK}{_ZONE})?"
    rf"|([a-z]{{3,9}},?\s+)?(\d{{1,2}}[\s-]+{_MONTH}|{_MONTH}[\s-]+\d{{1,2}}),?[\s-]+\d{{2,4}}([\s,]+{_CLOCK}{_ZONE})?"
    rf"|([a-z]{{3,9}},?\s+)?{_MONTH}\s+\d{{1,2}}\s+{_CLOCK}\s*([+-]\d{{4}}|[A-Z]{{3,4}})?\s+\d{{4}}"
    r"|(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(T?\d{4}(\d{2}(\.\d+)?)?Z?)?",
    re.IGNORECASE,
)
_TIME_OF_DAY = re.compile(rf"\d{{1,2}}:\d{{2}}(:\d{{2}}([.,]\d+)?)?\s*([ap]\.?m\.?)?{_ZONE}", re.IGNORECASE)


def are_times(name: Any, kind: Any, values: Sequence[Any]) -> bool | None:
    """Return whether a column holds times: by its name and its values; None if only one of them says so.

    Parameters
    ----------
    name : object
        The name of the column.
    kind : object
        Its type, as pandas, polars or pyarrow write it.
    values : sequence
        Some of its values, without those that are missing: times, texts, or seconds since 1970 or multiples of them.

    Examples
    --------
    >>> are_times("ais_pos_timestamp", "string", ["20/03/2021 00:22"]), are_times("t", "int64", [1_211_018_404])
    (True, True)
    >>> are_times("birth_date", "string", ["1990-05-01"]), are_times("status", "string", ["ok"])
    (False, False)
    >>> print(are_times("last_review", "string", ["2019-05-21"]), are_times("time", "int64", [17]))
    None None
    """
    said = words(name)
    if not _PERSONAL.isdisjoint(said) or any(word.startswith("birth") for word in said):
        return False
    by_name = said == ["t"] or any(word in _TIMES or word.endswith(("time", "date", "stamp")) for word in said)
    perhaps = by_name or said[-1:] in (["at"], ["on"]) or not _EVENTS.isdisjoint(said)
    if _have_type(kind, values) or (values and all(_is_text_of_time(said, perhaps, value) for value in values)):
        return True if perhaps else None
    return None if by_name else False


def _have_type(kind: Any, values: Sequence[Any]) -> bool:
    said = str(kind).casefold()
    if said.startswith(("datetime", "timestamp", "date", "time")) and "delta" not in said:
        return True
    return bool(values) and all(isinstance(value, datetime.date | datetime.time) for value in values)


def _is_text_of_time(name: Sequence[str], named: bool, value: Any) -> bool:
    """Return whether a value is a date or, in a column named like times, a time of day or a number of seconds."""
    text = str(value).strip()
    if not named:
        return isinstance(value, str) and not text.isdigit() and _is_date(text)
    of_day = _OF_DAY.issuperset(name) and _TIME_OF_DAY.fullmatch(text) is not None
    return of_day or _is_epoch(text) or _is_date(text)


def _is_date(text: str) -> bool:
    return len(text) < 60 and _DATE.fullmatch(text) is not None


def _is_epoch(text: str) -> bool:
    try:
        number = float(text)
    except ValueError:
        return False
    return any(EPOCH[0] <= number / unit <= EPOCH[1] for unit in EPOCH_UNITS)
