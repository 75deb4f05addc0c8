"""Public times in seconds, from datetimes, durations, texts and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidParameter
from geoveil.geo.forms import Floats
from geoveil.geo.geometries import Index
from geoveil.geo.times import EPOCH, EPOCH_UNITS

__all__ = ["PartOfTimes", "joined_microseconds", "microseconds_of", "part_of_times", "seconds_of", "without_time"]

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
    return joined_microseconds([part_of_times(times, name)], name)


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
        whole = found.to_numpy().astype(f"{found.dtype.kind}8[us]").astype(np.int64)
        return PartOfTimes("datetimes" if found.dtype.kind == "M" else "durations", whole)
    if found.dtype.kind in "iuf":
        return PartOfTimes("numbers", np.asarray(found, dtype=float))
    return PartOfTimes("texts", found.to_numpy(dtype=object))


def joined_microseconds(parts: Sequence[PartOfTimes], name: str = "the times") -> Index:
    """Return all parts of a column of times in whole microseconds, interpreted in the same way."""
    import pandas as pd

    kinds = {part.kind for part in parts if len(part.values)}
    if len(kinds) > 1:
        allowed = f"times that are all written in one way: these are {' and '.join(sorted(kinds))}"
        raise InvalidParameter("times", name, allowed, "Write times as 2026-05-01T08:30:00Z or as seconds.")
    values = np.concatenate([part.values for part in parts])
    if kinds == {"texts"}:
        return part_of_times(_dates(pd.Series(values, dtype=object), name), name).values
    if kinds <= {"datetimes", "durations"}:
        return values.astype(np.int64)
    unit = _epoch_unit(values)
    if unit == 1 and not (np.abs(values) <= EPOCH[1]).all():
        allowed = "numbers of seconds, or of milliseconds, microseconds or nanoseconds since 1970, the same for all"
        most = float(values[np.argmax(np.abs(values))])
        raise InvalidParameter("times", name, f"{allowed}; one is {most:g}", "Remove rows whose time is wrong.")
    return np.rint(values * (1e6 / unit)).astype(np.int64)


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


def _epoch_unit(numbers: Floats) -> float:
    """Return the number of units per second in which these numbers count time, by the size of numbers since 1970."""
    for unit in EPOCH_UNITS[1:]:
        if len(numbers) and (numbers >= EPOCH[0] * unit).all() and (numbers <= EPOCH[1] * unit).all():
            return unit
    return 1.0


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
            return texts
    # pandas also reads "now" and "today".
    iso = pd.to_datetime(texts.where(texts.str.contains(r"\d")), format="ISO8601", utc=True, errors="coerce")
    if iso.notna().all():
        return iso
    return texts if part else _dates(texts, name)


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
    iso = pd.to_datetime(texts.where(texts.str.contains(r"\d")), format="ISO8601", utc=True, errors="coerce")
    row = int(iso.isna().to_numpy().argmax())
    given = f"row {row + 1} has {texts.iloc[row]!r}"
    allowed = f"times that can be read; {given}" + (", the day or the month first" if found else "")
    raise InvalidParameter("times", name, allowed, "Write times as 2026-05-01T08:30:00Z or as seconds.")
