"""The public time of each point: from a column of a table, or as the caller gives it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from geoveil._types import Missing, Times
from geoveil.errors import InvalidParameter, Message
from geoveil.geo.forms import Floats, Form
from geoveil.geo.seconds import ReadTimes, in_stated_unit, read_times, seconds_of, time_column, without_time

__all__ = ["chosen_time_columns", "known_times", "point_seconds", "point_times", "time_columns"]


def point_seconds(form: Form, times: Times) -> Floats:
    """Return the public time of each point in seconds, counted from an arbitrary origin.

    Parameters
    ----------
    form : Form
        The points.
    times : str, list of str, array or Series, optional
        A column of a table; a list of columns, one for each point of a row; or a time for each row. By default the
        only column of times.
    """
    values, name = _values(form, times)
    seconds = seconds_of(values, name)
    if seconds.shape != (len(form.coords),) or not np.isfinite(seconds).all():
        allowed = f"{len(form.coords)} finite times, one for each point"
        raise InvalidParameter("times", seconds.shape, allowed, "They are public.")
    return seconds


def point_times(form: Form, times: Times) -> ReadTimes:
    """Return the public time of each point, and how it was read; see `point_seconds`."""
    return read_times(*_values(form, times))


def known_times(form: Form, times: Times, missing: Missing) -> Form:
    """Return the form without rows that have no time, if these are to be dropped; otherwise refuse them."""
    import pandas as pd

    values, name = _values(form, times)
    there = ~without_time(pd.Series(values))
    if there.all():
        return form
    if missing != "drop":
        rows = len(np.unique(form.rows[~there]))
        allowed = f"a time in each row: {rows:,} rows have none"
        raise InvalidParameter("times", name, allowed, Message("Remove these rows with {missing:drop}."))
    return form.without_rows(np.unique(form.rows[~there]), "untimed")


def time_columns(form: Form, times: Times) -> tuple[str, ...]:
    """Return the columns of times that are named, or the only one; nothing where times are given otherwise."""
    each = max(len(form.pairs), 1)
    named = each > 1 and isinstance(times, list) and len(times) > 0 and isinstance(times[0], str)
    if not named and not isinstance(times, str | None):
        return ()
    if times is None and not form.has_columns:
        remedy = Message("Give {times}, as datetimes, durations or texts of dates.")
        raise InvalidParameter("times", None, "a time for each point", remedy)
    return chosen_time_columns(times, [*form.times], form.names, each, "the table")


def chosen_time_columns(
    times: Times, recognised: Sequence[Hashable], columns: Sequence[Hashable], each: int, of: str
) -> tuple[str, ...]:
    """Return the columns of times that are named, or those that are recognised: one, or one for each point of a row.

    Parameters
    ----------
    times : str or list of str, optional
        The columns that are named.
    recognised, columns : sequence of str
        The columns that hold times, and all columns.
    each : int
        The number of points of a row that have columns of their own.
    of : str
        The data, for errors.
    """
    known = {str(name): name for name in recognised}
    named = [times] if isinstance(times, str) else [*(known if times is None else times)]
    found = [known.get(name) or time_column(name, columns) for name in named]
    if len(found) == each and set(found) <= set(columns):
        return tuple(name if isinstance(name, str) else str(name) for name in found)
    needed = "one column of times" if each == 1 else f"{each} columns of times, one for each point of a row"
    among = [*recognised] if times is None else [*columns]
    allowed = f"{needed} of {of}, " + (f"one of {among}" if among else "which has none")
    removed = "" if among else "; a column that was removed is released with {keep}"
    remedy = Message("Name it, such as {times:t}" + removed + ".")
    shown = found[0] if times is not None and len(found) == 1 else (found or None)
    raise InvalidParameter("times", None if times is None else shown, allowed, remedy)


def _values(form: Form, times: Times) -> tuple[Any, str]:
    """Return the time of each point as it was given, and the name of its column for errors."""
    import pandas as pd

    names = time_columns(form, times)
    if not names:
        return form.spread("times", times), "the times"
    each = max(len(form.pairs), 1)
    if len(names) == 1:
        return pd.Series(form.column(names[0])), names[0]
    columns = pd.concat(
        [in_stated_unit(pd.Series(form.column(name)[::each]), name) for name in names], ignore_index=True
    )
    # The points of a row follow each other.
    order = np.arange(len(columns)).reshape(each, -1).T.ravel()
    return columns.iloc[order], ", ".join(names)
