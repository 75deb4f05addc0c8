"""Public times in seconds, from datetimes, durations, texts and numbers."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from geoveil.errors import InvalidParameter
from geoveil.geo.forms import Floats
from geoveil.geo.times import EPOCH, EPOCH_UNITS

__all__ = ["seconds_of"]

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
    missing = (found.isna() | (found.astype(str).str.strip() == "")).to_numpy()
    if missing.any():
        stated = f"a time in each row: {missing.sum():,} rows have none, the first of them row {missing.argmax() + 1}"
        raise InvalidParameter("times", name, stated, "Remove these rows first.")
    if found.dtype == object or pd.api.types.is_string_dtype(found.dtype):
        found = _parsed(found, name)
    if found.dtype.kind == "M" or isinstance(found.dtype, pd.DatetimeTZDtype):
        found = found - found.min()
    if found.dtype.kind == "m":
        return np.asarray(found.dt.total_seconds(), dtype=float)
    if found.dtype.kind not in "iuf":
        raise InvalidParameter("times", name, allowed, remedy)
    return _in_seconds(np.asarray(found, dtype=float))


def _in_seconds(numbers: Floats) -> Floats:
    """Return numbers of seconds; those since 1970 in a smaller unit are converted."""
    for unit in EPOCH_UNITS[1:]:
        if len(numbers) and (numbers >= EPOCH[0] * unit).all() and (numbers <= EPOCH[1] * unit).all():
            return np.asarray((numbers - numbers.min()) / unit)
    return numbers


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
            found[order] = read - read.min()
    # The times between points matter, which may be the same either way.
    if found and all(read.equals(first) for first in found.values() for read in found.values()):
        return next(iter(found.values()))
    row = int(iso.isna().to_numpy().argmax())
    given = f"row {row + 1} has {texts.iloc[row]!r}"
    allowed = f"times that can be read; {given}" + (", the day or the month first" if found else "")
    raise InvalidParameter("times", name, allowed, "Write times as 2026-05-01T08:30:00Z or as seconds.")
