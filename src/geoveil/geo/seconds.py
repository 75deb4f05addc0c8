"""Public times in seconds, from datetimes, durations, texts and numbers."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidParameter
from geoveil.geo.forms import Floats
from geoveil.geo.geometries import Index
from geoveil.geo.times import EPOCH, EPOCH_UNITS

__all__ = ["microseconds_of", "seconds_of", "without_time"]

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
    """Return times in whole microseconds: since 1970, or from the beginning that numbers and durations count from.

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
    found = _read(times, name)
    if isinstance(found.dtype, _zoned()):
        found = found.dt.tz_convert("UTC").dt.tz_localize(None)
    if found.dtype.kind in "mM":
        return np.asarray(found.to_numpy().astype(f"{found.dtype.kind}8[us]").astype(np.int64))
    numbers = np.asarray(found, dtype=float)
    if not (np.abs(numbers) < 2**62 / 1e6 * _epoch_unit(numbers)).all():
        raise InvalidParameter("times", name, "finite times", "They are public.")
    return np.rint(numbers * (1e6 / _epoch_unit(numbers))).astype(np.int64)


def _zoned() -> Any:
    """Return the type of datetimes with a time zone."""
    import pandas as pd

    return pd.DatetimeTZDtype


def _read(times: Any, name: str) -> Any:
    """Return times as a Series of datetimes, durations or numbers; refuse what is none of these."""
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
        found = _parsed(found, name)
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
    """Return how many units in which these numbers count time make a second; numbers since 1970 tell it by size."""
    for unit in EPOCH_UNITS[1:]:
        if len(numbers) and (numbers >= EPOCH[0] * unit).all() and (numbers <= EPOCH[1] * unit).all():
            return unit
    return 1.0


def _parsed(texts: Any, name: str) -> Any:
    """Return texts as datetimes or numbers; times of different zones in UTC."""
    import pandas as pd

    numbers = pd.to_numeric(texts, errors="coerce")
    if numbers.notna().all():
        return numbers
    if not texts.map(lambda text: isinstance(text, str)).all():
        try:
            return pd.to_datetime(texts, utc=True)
        except (TypeError, ValueError):
            return texts
    # pandas also reads "now" and "today".
    iso = pd.to_datetime(texts.where(texts.str.contains(r"\d")), format="ISO8601", utc=True, errors="coerce")
    if iso.notna().all():
        return iso
    found = {}
    for order, mark, clock in product((_DAY_FIRST, _MONTH_FIRST), "/.-", _CLOCKS):
        read = pd.to_datetime(texts, format=order.format(mark) + clock, utc=True, errors="coerce")
        if read.notna().all():
            found[order] = read
    # The times between points matter, which may be the same either way.
    if found and len({tuple(read - read.min()) for read in found.values()}) == 1:
        return next(iter(found.values()))
    row = int(iso.isna().to_numpy().argmax())
    given = f"row {row + 1} has {texts.iloc[row]!r}"
    allowed = f"times that can be read; {given}" + (", the day or the month first" if found else "")
    raise InvalidParameter("times", name, allowed, "Write times as 2026-05-01T08:30:00Z or as seconds.")
