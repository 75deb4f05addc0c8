"""Public times in seconds, from datetimes, durations, texts and numbers."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidParameter, Message, Text
from geoveil.geo.columns import words
from geoveil.geo.forms import Floats
from geoveil.geo.geometries import Index
from geoveil.geo.times import EPOCH, EPOCH_UNITS

__all__ = [
    "PartOfTimes",
    "ReadTimes",
    "check_numbers",
    "check_resolution",
    "joined_microseconds",
    "joined_times",
    "microseconds_of",
    "part_of_times",
    "read_times",
    "seconds_of",
    "whole_microseconds",
    "without_time",
]

#: Microseconds in a second, and the units per second of pandas' datetimes and durations.
_MICROSECONDS = 10**6
#: Remedies for times that cannot be read, and for numbers in doubt.
_WRITE = "Write times with their date, as 2026-05-01T08:30:00Z."
_STATE_UNIT = Message(
    'Say what they count: give pandas.to_timedelta(numbers, unit="s"), or "ms", "us" or "ns", as {times}; or write '
    "times as 2026-05-01T08:30:00Z."
)
#: Numbers count as times since 1970 beyond doubt if they are in the years 2000 to 2099, in microseconds.
_LIKELY = (946_684_800 * 10**6, 4_102_444_800 * 10**6)
#: Times may be whole days, hours, minutes or seconds, in microseconds.
_CLOCKWORK = {86_400 * 10**6: "day", 3_600 * 10**6: "hour", 60 * 10**6: "minute", 10**6: "second"}
_UNIT_NAMES = {1: "seconds", 10**3: "milliseconds", 10**6: "microseconds", 10**9: "nanoseconds"}
#: Words in the names of columns, and the units per second that they allow.
_UNIT_WORDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), (1,)),
    **dict.fromkeys(("ms", "msec", "millis", "millisecond", "milliseconds"), (10**3,)),
    **dict.fromkeys(("us", "usec", "micros", "microsecond", "microseconds"), (10**6,)),
    **dict.fromkeys(("ns", "nsec", "nanos", "nanosecond", "nanoseconds"), (10**9,)),
    **dict.fromkeys(("boot", "uptime", "elapsed", "monotonic", "realtime", "ticks"), (0,)),
}
_RESOLUTIONS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

#: Dates that are not written as ISO 8601 says: the day first, or the month first.
_DAY_FIRST, _MONTH_FIRST = "%d{0}%m{0}%Y", "%m{0}%d{0}%Y"
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")


def seconds_of(times: Any, name: str = "the times") -> Floats:
    """Return times in seconds from a common beginning.

    Parameters
    ----------
    times : array or Series
        Datetimes, durations, texts of dates, or numbers: seconds from any beginning, or seconds, milliseconds,
        microseconds or nanoseconds since 1970.
    name : str
        The column, for errors.

    Examples
    --------
    >>> seconds_of(["2026-05-01T08:30:00Z", "2026-05-01T08:31:00Z"])
    array([ 0., 60.])
    >>> seconds_of([1_777_624_200_000, 1_777_624_260_000])
    array([ 0., 60.])
    >>> seconds_of([0, 15, 30])
    array([ 0., 15., 30.])
    """
    found = _read(times, name)
    if found.dtype.kind == "M" or isinstance(found.dtype, _zoned()):
        found = found - found.min()
    if found.dtype.kind == "m":
        return np.asarray(found.dt.total_seconds(), dtype=float)
    numbers = np.asarray(found, dtype=float)
    unit = _epoch_unit(numbers)
    return numbers if unit == 1 else np.asarray((numbers - numbers.min()) / unit)


def read_times(times: Any, name: str = "the times") -> ReadTimes:
    """Return times, and how they were read; see `seconds_of`."""
    return joined_times([part_of_times(times, name)], name)


def microseconds_of(times: Any, name: str = "the times") -> Index:
    """Return times in whole microseconds: since 1970, or from the origin of the given numbers or durations.

    Parameters
    ----------
    times : array or Series
        As for `seconds_of`.
    name : str
        The column, for errors.

    Examples
    --------
    >>> microseconds_of(["1970-01-02T00:00:00Z"]), microseconds_of([0, 0.5])
    (array([86400000000]), array([     0, 500000]))
    """
    return read_times(times, name).microseconds


@dataclass(frozen=True)
class PartOfTimes:
    """A part of a column of times, read as far as possible without the other parts.

    Parameters
    ----------
    kind : {"datetimes", "durations", "numbers", "texts"}
        The kind of values. The meaning of numbers, and of dates not in ISO 8601, can only be told from all parts.
    values : array
        Whole microseconds, numbers, or texts.
    """

    kind: str
    values: NDArray[Any]


def part_of_times(times: Any, name: str = "the times") -> PartOfTimes:
    """Return a part of a column of times, for `joined_microseconds`; see `microseconds_of`."""
    found = _read(times, name, part=True)
    if isinstance(found.dtype, _zoned()):
        found = found.dt.tz_convert("UTC").dt.tz_localize(None)
    if found.dtype.kind in "mM":
        resolution = np.datetime_data(found.dtype)[0]
        whole = whole_microseconds(found.to_numpy().astype(np.int64), _RESOLUTIONS[resolution])
        return PartOfTimes("datetimes" if found.dtype.kind == "M" else "durations", whole)
    if found.dtype.kind in "iuf":
        return PartOfTimes("numbers", found.to_numpy(dtype=f"{found.dtype.kind}8"))
    return PartOfTimes("texts", found.to_numpy(dtype=object))


@dataclass(frozen=True)
class ReadTimes:
    """The times of a column, and how they were read.

    Parameters
    ----------
    microseconds : array of int
        Whole microseconds: since 1970, or from the origin of the given numbers or durations.
    per_second : int, optional
        For numbers: how many of them were taken to be a second.
    name : str
        The column, for errors.
    """

    microseconds: Index
    per_second: int | None
    name: str

    def for_units(self, stretch: int) -> Index:
        """Return the times if the points of a stretch of time can be counted from them; refuse times in doubt.

        Parameters
        ----------
        stretch : int
            The length of the stretch in microseconds.

        Notes
        -----
        A number that counts another unit of time, or from another beginning, would make units too small. Times that
        were cut to whole days (hours, minutes, seconds) are rounded like microseconds (`geoveil.privacy.stretches`):
        a stretch of whole days, with both ends, has all points of such a stretch of true times. A stretch of 1 hour
        has not.
        """
        if not len(self.microseconds):
            return self.microseconds
        first, last = int(self.microseconds.min()), int(self.microseconds.max())
        if self.per_second is not None:
            check_numbers(first, last, self.per_second, self.name)
        if first == last:
            return self.microseconds
        resolution = next((each for each in _CLOCKWORK if not (self.microseconds % each).any()), 1)
        check_resolution(resolution, stretch, self.name)
        return self.microseconds


def check_resolution(resolution: int, stretch: int, name: str) -> None:
    """Refuse times that are whole days, hours, minutes or seconds, if the protected length of time is not.

    Parameters
    ----------
    resolution, stretch : int
        The resolution of the times and the protected length of time, in microseconds.
    name : str
        The column, for errors.
    """
    if stretch % resolution == 0:
        return
    word, number = _CLOCKWORK[resolution], -(-stretch // resolution)
    least = f"{number} {word}" + "s" * (number > 1)
    allowed = f"finer than the unit, or the unit a whole number of {word}s: these times are whole {word}s"
    raise InvalidParameter("times", name, allowed, Message(f'Ask for {{protect:"{least}"}}, which protects more.'))


def check_numbers(first: int, last: int, per_second: int, name: str, remedy: Text = _STATE_UNIT) -> None:
    """Refuse numbers that are no times since 1970, or whose column has the name of another unit.

    Parameters
    ----------
    first, last : int
        The first and the last time in microseconds, as the numbers were read.
    per_second : int
        How many of them were taken to be a second.
    name : str
        The column.
    remedy : str or Message
        What the reader can do about it.
    """
    named = {allowed for word in words(name) for allowed in _UNIT_WORDS.get(word, ())}
    if _LIKELY[0] <= first and last <= _LIKELY[1] and named <= {per_second}:
        return
    read = f"read as {_UNIT_NAMES[per_second]} since 1970 they are from {_day(first)} to {_day(last)}"
    allowed = f"times beyond doubt if a length of time is protected: these are numbers, and {read}"
    raise InvalidParameter("times", name, allowed, remedy)


def joined_microseconds(parts: Sequence[PartOfTimes], name: str = "the times") -> Index:
    """Return all parts of a column of times in whole microseconds, interpreted in the same way."""
    return joined_times(parts, name).microseconds


def joined_times(parts: Sequence[PartOfTimes], name: str = "the times") -> ReadTimes:
    """Return the times of all parts of a column, interpreted in the same way."""
    import pandas as pd

    kinds = {part.kind for part in parts if len(part.values)}
    if len(kinds) > 1:
        allowed = f"times that are all written in one way: these are {' and '.join(sorted(kinds))}"
        raise InvalidParameter("times", name, allowed, _WRITE)
    values = np.concatenate([part.values for part in parts])
    if kinds == {"texts"}:
        return ReadTimes(part_of_times(_dates(pd.Series(values, dtype=object), name), name).values, None, name)
    if kinds <= {"datetimes", "durations"}:
        return ReadTimes(values.astype(np.int64), None, name)
    unit = _epoch_unit(values)
    if unit == 1 and not (np.abs(values) <= EPOCH[1]).all():
        allowed = "numbers of seconds, or of milliseconds, microseconds or nanoseconds since 1970, the same for all"
        most = float(values[np.argmax(np.abs(values))])
        raise InvalidParameter("times", name, f"{allowed}; one is {most:g}", "Remove rows whose time is wrong.")
    # Part by part: whole numbers of one part would lose digits beside the fractions of another.
    return ReadTimes(np.concatenate([whole_microseconds(part.values, unit) for part in parts]), unit, name)


def _day(microseconds: int) -> str:
    return str(np.datetime64(microseconds, "us").astype("M8[D]"))


def whole_microseconds(values: NDArray[Any], per_second: int) -> Index:
    """Return times as whole microseconds: the nearest, and of two the later one.

    Parameters
    ----------
    values : array of int or float
        Times, which are finite.
    per_second : {1, 1000, 1_000_000, 1_000_000_000}
        Their number of units per second.

    Notes
    -----
    This is r(t) = ⌊t + 1/2⌋ of the time t in microseconds, without error. It never decreases, and r(t + 1) = r(t) + 1:
    `geoveil.privacy.stretches` counts on both. Rounding half to even would fail the second, and rounding down would
    tear apart decimals that are a day apart, such as 0.29 and 86400.29, since doubles are a little less or more.

    Examples
    --------
    >>> whole_microseconds(np.array([0.29, 86400.29]), 1), whole_microseconds(np.array([499, 500, 1500]), 10**9)
    (array([     290000, 86400290000]), array([0, 1, 2]))
    """
    # numpy's floor makes doubles of whole numbers in older versions.
    whole: Index = (np.floor(values) if values.dtype.kind == "f" else values).astype(np.int64)
    if per_second > _MICROSECONDS:
        size = per_second // _MICROSECONDS
        return np.asarray(whole // size + (2 * (whole % size) >= size))
    size = _MICROSECONDS // per_second
    if values.dtype.kind != "f":
        return whole * size
    share = (values.astype(float) - whole) * size
    parts: Index = np.floor(share + 0.5).astype(np.int64)
    # The product is rounded, which matters only beside a half.
    for i in np.flatnonzero(np.abs(share - np.floor(share) - 0.5) < 1e-6):
        parts[i] = math.floor((Fraction(float(values[i])) - int(whole[i])) * size + Fraction(1, 2))
    return np.asarray(whole * size + parts)


def _zoned() -> Any:
    """Return the type of datetimes with a time zone."""
    import pandas as pd

    return pd.DatetimeTZDtype


def _read(times: Any, name: str, *, part: bool = False) -> Any:
    """Return times as a Series of datetimes, durations or numbers; refuse other values.

    In a part of a column, texts that are neither numbers nor ISO 8601 remain texts.
    """
    import pandas as pd

    column = times.to_pandas() if hasattr(times, "to_pandas") else times
    remedy = "Convert them with pandas.to_datetime(times, utc=True)."
    allowed = "datetimes, durations, texts of dates, or numbers of seconds"
    try:
        if np.ndim(column) != 1:
            raise ValueError
        found = pd.Series(column).reset_index(drop=True)
    except (TypeError, ValueError):
        raise InvalidParameter("times", type(times).__name__, f"one-dimensional: {allowed}", remedy) from None
    missing = without_time(found)
    if missing.any():
        stated = f"a time in each row: {missing.sum():,} rows have none, the first of them row {missing.argmax() + 1}"
        raise InvalidParameter("times", name, stated, "Remove these rows first.")
    if found.dtype == object or pd.api.types.is_string_dtype(found.dtype):
        found = _parsed(found, name, part=part)
        if part and pd.api.types.is_string_dtype(found.dtype):
            return found.astype(object)
    if found.dtype.kind not in "mMiuf" and not isinstance(found.dtype, pd.DatetimeTZDtype):
        raise InvalidParameter("times", name, allowed, remedy)
    return found


def without_time(column: Any) -> NDArray[np.bool_]:
    """Return which values of a Series are no times because they are missing or empty."""
    import pandas as pd

    missing = column.isna()
    if column.dtype == object or pd.api.types.is_string_dtype(column.dtype):
        missing |= column.astype(str).str.strip() == ""
    return np.asarray(missing)


def _epoch_unit(numbers: NDArray[Any]) -> int:
    """Return the number of units per second in which these numbers count time, by the size of numbers since 1970."""
    for unit in EPOCH_UNITS[1:]:
        if len(numbers) and (numbers >= EPOCH[0] * unit).all() and (numbers <= EPOCH[1] * unit).all():
            return unit
    return 1


def _parsed(texts: Any, name: str, *, part: bool) -> Any:
    """Return texts as datetimes or numbers; times of different zones in UTC.

    In a part of a column, texts that are neither numbers nor ISO 8601 are returned as they are.
    """
    import pandas as pd

    # Either all are numbers or the first text of a date tells that not all are.
    if pd.to_numeric(texts.iloc[:1], errors="coerce").notna().all():
        numbers = pd.to_numeric(texts, errors="coerce")
        if numbers.notna().all():
            return numbers
    if pd.api.types.infer_dtype(texts, skipna=False) != "string":
        try:
            return pd.to_datetime(texts, utc=True)
        except (TypeError, ValueError):
            if texts.map(lambda value: isinstance(value, datetime.time)).any():
                raise InvalidParameter("times", name, "times with their date", _WRITE) from None
            return texts
    iso = _iso(texts)
    if iso.notna().all():
        return iso
    return texts if part else _dates(texts, name)


def _iso(texts: Any) -> Any:
    """Return texts of ISO 8601 as datetimes in UTC, and others as missing.

    pandas also reads "now" and "today", and takes a month for its first day.
    """
    import pandas as pd

    known = texts.str.contains(r"\d") & ~texts.str.fullmatch(r"\s*\d{4}-\d{2}\s*")
    return pd.to_datetime(texts.where(known), format="ISO8601", utc=True, errors="coerce")


def _dates(texts: Any, name: str) -> Any:
    """Return texts as datetimes in UTC, all with the day first or all with the month first."""
    import pandas as pd

    found = {}
    for order, mark, clock in product((_DAY_FIRST, _MONTH_FIRST), "/.-", _CLOCKS):
        read = pd.to_datetime(texts, format=order.format(mark) + clock, utc=True, errors="coerce")
        if read.notna().all():
            found[order] = read
    # Only the differences between times matter, and they may be the same either way.
    if found and len({tuple(read - read.min()) for read in found.values()}) == 1:
        return next(iter(found.values()))
    iso = _iso(texts)
    row = int(iso.isna().to_numpy().argmax())
    given = f"row {row + 1} has {texts.iloc[row]!r}"
    allowed = f"times that can be read; {given}" + (", the day or the month first" if found else "")
    raise InvalidParameter("times", name, allowed, _WRITE)
