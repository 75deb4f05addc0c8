"""Public times in whole microseconds, from datetimes, durations, texts and numbers."""

from __future__ import annotations

import datetime
import math
import re
import time
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geoveil.errors import InvalidParameter, Mention, Message, Text
from geoveil.geo.columns import words
from geoveil.geo.geometries import Floats, Index

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    *("EPOCH", "EPOCH_UNITS", "UNITS", "PartOfTimes", "ReadTimes", "TimeColumn", "check_numbers", "check_resolution"),
    *("in_stated_unit", "joined_times", "part_of_times", "read_times", "seconds_of", "stated_names", "time_column"),
    *("whole_microseconds", "without_time"),
]

#: Units in which numbers count time, with the number of each in a second.
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
#: Seconds since 1970 in the years 1975 to 2100, and the number of smaller units in a second in which they are counted.
EPOCH = (1.577e8, 4.103e9)
EPOCH_UNITS = (*UNITS.values(),)
_MICROSECONDS = UNITS["us"]
_WRITE = "Write times with their date, as 2026-05-01T08:30:00Z."
#: Times of numbers since 1970: the years 2000 to 2099, and the beginning of 2015, in microseconds.
_DATES, _RECENT = (946_684_800 * 10**6, 4_102_444_800 * 10**6), 1_420_070_400 * 10**6
_DAY = 86_400 * 10**6
#: Times may be whole days, hours, minutes or seconds, in microseconds.
_CLOCKWORK = {_DAY: "day", 3_600 * 10**6: "hour", 60 * 10**6: "minute", 10**6: "second"}
#: Times are whole days apart if this share of the distinct ones is; and the number of rows that are looked at.
_BULK, _ROWS = 0.6, 100_000
_UNIT_NAMES = {1: "seconds", 10**3: "milliseconds", 10**6: "microseconds", 10**9: "nanoseconds"}
#: Words in the names of columns, and the units per second that they allow.
_UNIT_WORDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("ms", "msec", "millis", "millisecond", "milliseconds"), 10**3),
    **dict.fromkeys(("us", "usec", "micros", "microsecond", "microseconds"), 10**6),
    **dict.fromkeys(("ns", "nsec", "nanos", "nanosecond", "nanoseconds"), 10**9),
    **dict.fromkeys(("boot", "uptime", "elapsed", "monotonic", "realtime", "ticks"), 0),
}
#: Words in the names of columns that count since 1970.
_EPOCH_WORDS = frozenset(("epoch", "unix", "posix", "utc", "gmt"))
_STATED = re.compile(r"(.+?)\s*\[(s|ms|us|ns)\]")

#: Dates that are not written as ISO 8601 says: the day first, or the month first; or the month in words.
_DAY_FIRST, _MONTH_FIRST = "%d{0}%m{0}%Y", "%m{0}%d{0}%Y"
_NUMBERED, _WORDED = (_DAY_FIRST, _MONTH_FIRST), ("%d{0}%b{0}%Y", "%d{0}%B{0}%Y")
_MONTH = re.compile(r"\d\W[A-Za-z]{3}")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")


class TimeColumn(str):
    """The name of a column of times, with the unit that its numbers count where the user states it."""

    unit: str | None

    def __new__(cls, name: str, unit: str | None = None) -> Self:
        column = super().__new__(cls, name)
        column.unit = unit
        return column


def time_column(given: str, columns: Container[object]) -> TimeColumn:
    """Return the column that a user names, and the unit that is stated after it.

    Examples
    --------
    >>> column = time_column("t [ms]", ["t", "lat", "lon"])
    >>> column, column.unit
    ('t', 'ms')
    """
    if isinstance(given, TimeColumn):
        return given
    stated = None if given in columns else _STATED.fullmatch(given)
    return TimeColumn(given) if stated is None else TimeColumn(stated[1], stated[2])


def stated_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return columns of times as a user names them, each with its unit where one is stated: for certificates."""
    units = ((name, getattr(name, "unit", None)) for name in names)
    return tuple(str(name) if unit is None else f"{name} [{unit}]" for name, unit in units)


def in_stated_unit(column: pd.Series, name: str) -> pd.Series:
    """Return numbers whose unit is stated as durations from an arbitrary beginning; return other columns unchanged."""
    import pandas as pd

    unit = getattr(name, "unit", None)
    if unit is None:
        return column
    numbers = pd.to_numeric(column, errors="coerce")
    there = numbers.notna().to_numpy()
    if column.dtype.kind in "mM" or not (there | without_time(column)).all():
        [stated] = stated_names([name])
        raise InvalidParameter("times", stated, "a column of numbers, as a unit is stated", "Leave the unit out.")
    if not (numbers[there].abs() <= 2**62 // _MICROSECONDS * UNITS[unit]).all():
        raise InvalidParameter("times", name, "numbers of less than 100,000 years", "Remove rows whose time is wrong.")
    durations = np.full(len(column), np.timedelta64("NaT"), dtype="m8[us]")
    durations[there] = whole_microseconds(numbers[there].to_numpy(), UNITS[unit]).astype("m8[us]")
    return pd.Series(durations)


def seconds_of(times: ArrayLike | pd.Series, name: str = "the times") -> Floats:
    """Return times in seconds after the first one.

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
    """
    whole = read_times(times, name).microseconds
    return np.asarray((whole - whole.min(initial=np.iinfo(np.int64).max)) / _MICROSECONDS)


def read_times(times: ArrayLike | pd.Series, name: str = "the times") -> ReadTimes:
    """Return times, and how they were read; see `seconds_of`.

    Examples
    --------
    >>> read_times(["1970-01-02T00:00:00Z"]).microseconds, read_times([0, 0.5]).microseconds
    (array([86400000000]), array([     0, 500000]))
    """
    return joined_times([part_of_times(times, name)], name)


@dataclass(frozen=True)
class PartOfTimes:
    """A part of a column of times, read as far as possible without the other parts."""

    #: The kind of values. The meaning of numbers, and of dates not in ISO 8601, can only be told from all parts.
    kind: str
    #: Whole microseconds, numbers, or texts.
    values: NDArray[np.generic]


def part_of_times(times: ArrayLike | pd.Series, name: str = "the times") -> PartOfTimes:
    """Return a part of a column of times, for `joined_times`."""
    import pandas as pd

    times_read = _read(times, name)
    if isinstance(times_read.dtype, pd.DatetimeTZDtype):
        times_read = times_read.dt.tz_convert("UTC").dt.tz_localize(None)
    if times_read.dtype.kind in "mM":
        whole = whole_microseconds(
            times_read.to_numpy().astype(np.int64), UNITS[np.datetime_data(times_read.dtype)[0]]
        )
        return PartOfTimes("datetimes" if times_read.dtype.kind == "M" else "durations", whole)
    if times_read.dtype.kind in "iuf":
        return PartOfTimes("numbers", times_read.to_numpy(dtype=f"{times_read.dtype.kind}8"))
    return PartOfTimes("texts", times_read.to_numpy(dtype=object))


@dataclass(frozen=True)
class ReadTimes:
    """The times of a column, and how they were read."""

    #: Whole microseconds: since 1970, or from the origin of the given numbers or durations.
    microseconds: Index
    #: For numbers whose unit is not stated: how many of them were taken to be a second.
    per_second: int | None
    #: The column, for errors.
    name: str
    #: Which of the times are from one column, where there are several. The resolution of each is checked alone: fine
    #: times of one would hide that those of another are coarse.
    columns: tuple[slice, ...] = (slice(None),)

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
        if self.per_second is not None:
            first, last = int(self.microseconds.min()), int(self.microseconds.max())
            check_numbers(first, last, self.per_second, self.name)
        for column in self.columns:
            check_resolution(_resolution(self.microseconds[column]), stretch, self.name)
        return self.microseconds


def _resolution(moments: Index) -> int:
    """Return 1 microsecond, or the day, hour, minute or second by whole numbers of which most times differ.

    Most are 60% of the distinct times, so that a single time does not hide how coarse the others are. The local
    midnights of a year are at two times of day in UTC, an hour apart.
    """
    some = np.sort(moments[np.linspace(0, len(moments) - 1, min(len(moments), _ROWS)).astype(np.intp)])
    # numpy.unique hashes, and the hashes of regular times collide: it takes twenty times as long.
    distinct = some[np.flatnonzero(np.diff(some, prepend=some[:1] - 1))]
    for length in _CLOCKWORK if len(distinct) > 1 else ():
        marks, counts = np.unique(distinct % length, return_counts=True)
        order = np.argsort(-counts)[:2]
        most = int(counts[order[0]])
        apart = abs(int(marks[order[0]] - marks[order[-1]]))
        if length == _DAY and len(distinct) > 2 and 0 < min(apart, _DAY - apart) <= _DAY // 24:
            most = int(counts[order].sum())
        if most >= _BULK * len(distinct):
            return length
    return 1


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
    spacing = f"most of these times are whole {word}s apart"
    allowed = f"finer than the unit, or the unit a whole number of {word}s: {spacing}"
    raise InvalidParameter("times", name, allowed, Message(f'Ask for {{protect:"{least}"}}, which protects more.'))


def check_numbers(first: int, last: int, per_second: int, name: str) -> None:
    """Refuse numbers that may count another unit of time, or from another beginning than 1970.

    A device that counts milliseconds (or nanoseconds) since it was started has, after 11 to 47 days, numbers that are
    dates of the years 2000 to 2099 in seconds (or microseconds). Dates from 2015 to tomorrow are accepted; other
    years if the name of the column says the unit, or that it counts since 1970.

    Parameters
    ----------
    first, last : int
        The first and the last time in microseconds, as the numbers were read.
    per_second : int
        How many of them were taken to be a second.
    name : str
        The column.
    """
    said = words(name)
    named = {_UNIT_WORDS[word] for word in said if word in _UNIT_WORDS}
    # No device counts a thousandth of a nanosecond.
    clear = bool(named) or not _EPOCH_WORDS.isdisjoint(said) or per_second == UNITS["ns"]
    tomorrow = int(time.time() * _MICROSECONDS) + _DAY
    begin, end = _DATES if clear else (_RECENT, tomorrow)
    if begin <= first and last <= end and named <= {per_second}:
        return
    read = f"read as {_UNIT_NAMES[per_second]} since 1970 they are from {_day(first)} to {_day(last)}"
    allowed = f"times beyond doubt if a length of time is protected: these are numbers, and {read}"
    raise InvalidParameter("times", name, allowed, _unit_remedy(name, per_second))


def _unit_remedy(name: str, per_second: int) -> Text:
    """Return how to say what numbers count: in a column of a table, a file or a DataFrame, or in an array."""
    if name == "the times":
        return Message(
            'Say what they count: give pandas.to_timedelta(numbers, unit="s"), or "ms", "us" or "ns", as {times}.'
        )
    unit = next(unit for unit, number in UNITS.items() if number == per_second)
    stated = Mention("times", f"{name.partition(', ')[0]} [{unit}]")
    say = "Say what they count with s, ms, us or ns after the name, such as {stated}; or write times as {example}."
    return Message(say, stated=stated, example="2026-05-01T08:30:00Z")


def joined_times(parts: Sequence[PartOfTimes], name: str = "the times") -> ReadTimes:
    """Return the times of all parts of a column, interpreted in the same way."""
    import pandas as pd

    kinds = {part.kind for part in parts if len(part.values)}
    if len(kinds) > 1:
        allowed = f"times that are all written in one way: these are {' and '.join(sorted(kinds))}"
        raise InvalidParameter("times", name, allowed, _WRITE)
    values = np.concatenate([part.values for part in parts])
    if kinds == {"texts"}:
        return joined_times([part_of_times(_dates(pd.Series(values, dtype=object), name), name)], name)
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


def whole_microseconds(values: NDArray[np.generic], per_second: int) -> Index:
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


def _read(times: ArrayLike | pd.Series, name: str) -> pd.Series:
    """Return times as a Series of datetimes, durations or numbers, or of texts that are neither numbers nor ISO 8601.

    Other values are refused.
    """
    import pandas as pd
    import pyarrow as pa

    column = times.to_pandas() if hasattr(times, "to_pandas") else times
    remedy = "Convert them with pandas.to_datetime(times, utc=True)."
    allowed = "datetimes, durations, texts of dates, or numbers of seconds"
    try:
        if np.ndim(column) != 1:
            raise ValueError
        read = pd.Series(column).reset_index(drop=True)
    except (TypeError, ValueError):
        raise InvalidParameter("times", type(times).__name__, f"one-dimensional: {allowed}", remedy) from None
    if isinstance(read.dtype, pd.ArrowDtype):
        read = pa.array(read.array).to_pandas()
    read = in_stated_unit(read, name)
    missing = without_time(read)
    if missing.any():
        stated = (
            f"a time in each row; rows without one: {missing.sum():,}, the first of them row {missing.argmax() + 1}"
        )
        raise InvalidParameter("times", name, stated, "Remove these rows first.")
    if _may_be_texts(read):
        read = _parsed(read, name)
        if pd.api.types.infer_dtype(read, skipna=False) == "string":
            return read.astype(object)
    if read.dtype.kind not in "mMiuf" and not isinstance(read.dtype, pd.DatetimeTZDtype):
        raise InvalidParameter("times", name, allowed, remedy)
    return read


def _may_be_texts(column: pd.Series) -> bool:
    import pandas as pd

    return bool(column.dtype == object or pd.api.types.is_string_dtype(column.dtype))


def without_time(column: pd.Series) -> NDArray[np.bool_]:
    """Return which values of a Series are no times because they are missing or empty."""
    missing = column.isna()
    if _may_be_texts(column):
        missing |= column.astype(str).str.strip() == ""
    return np.asarray(missing)


def _epoch_unit(numbers: NDArray[np.generic]) -> int:
    """Return the number of units per second in which these numbers count time, by the size of numbers since 1970."""
    known = np.asarray(numbers, dtype=float)
    for unit in EPOCH_UNITS[1:]:
        if len(known) and (known >= EPOCH[0] * unit).all() and (known <= EPOCH[1] * unit).all():
            return unit
    return 1


def _parsed(texts: pd.Series, name: str) -> pd.Series:
    """Return texts as datetimes or numbers, times of different zones in UTC; others as they are."""
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
    return iso if iso.notna().all() else texts


def _iso(texts: pd.Series) -> pd.Series:
    """Return texts of ISO 8601 as datetimes in UTC, and others as missing.

    pandas also reads "now" and "today", and takes a month for its first day.
    """
    import pandas as pd

    known = texts.str.contains(r"\d") & ~texts.str.fullmatch(r"\s*\d{4}-\d{2}\s*")
    return pd.to_datetime(texts.where(known), format="ISO8601", utc=True, errors="coerce")


def _dates(texts: pd.Series, name: str) -> pd.Series:
    """Return texts as datetimes in UTC, all with the day first or all with the month first."""
    import pandas as pd

    readings = {}
    orders, marks = (_WORDED, "/.- ") if _MONTH.search(texts.iloc[0]) else (_NUMBERED, "/.-")
    for order, mark, clock in product(orders, marks, _CLOCKS):
        read = pd.to_datetime(texts, format=order.format(mark) + clock, utc=True, errors="coerce")
        if read.notna().all():
            readings[order] = read
    # Only the differences between times matter, and they may be the same either way.
    if readings and len({tuple(read - read.min()) for read in readings.values()}) == 1:
        return next(iter(readings.values()))
    row = int(_iso(texts).isna().to_numpy().argmax())
    given = f"row {row + 1} has {texts.iloc[row]!r}"
    allowed = f"times that can be read; {given}" + (", the day or the month first" if readings else "")
    raise InvalidParameter("times", name, allowed, _WRITE)
