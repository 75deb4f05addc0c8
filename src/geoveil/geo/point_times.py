"""The public time of each point: from a column of a table, or as the caller gives it."""

from __future__ import annotations

from typing import Any

import numpy as np

from geoveil._types import Missing, Times
from geoveil.errors import InvalidParameter, Message
from geoveil.geo.forms import Floats, Form
from geoveil.geo.seconds import ReadTimes, in_stated_unit, read_times, seconds_of, time_column, without_time

__all__ = ["known_times", "point_seconds", "point_times", "time_columns"]


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
    if times is None:
        names = _all_columns(form, each)
    elif isinstance(times, str):
        names = [times]
    elif each > 1 and isinstance(times, list) and len(times) and isinstance(times[0], str):
        names = [*times]
    else:
        return ()
    names = [time_column(name, form.names) for name in names]
    if not set(names) <= set(form.names) or len(names) != each:
        needed = "a column of the table" if each == 1 else f"{each} columns, one for each point of a row"
        remedy = Message("Name a column, such as {times:t}.")
        shown = names[0] if len(names) == 1 else names
        raise InvalidParameter("times", shown, f"times, or {needed}, among {form.names}", remedy)
    return tuple(names)


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


def _all_columns(form: Form, each: int) -> list[str]:
    """Return the columns of times of a table, if there are as many as a row has points."""
    if not form.has_columns:
        remedy = Message("Give {times}, as datetimes, durations or texts of dates.")
        raise InvalidParameter("times", None, "a time for each point", remedy)
    if len(form.times) != each:
        said = f"one of {[*form.times]}" if form.times else "a column of times; the table has none"
        remedy = Message("Name it, such as {times:t}; a column that was removed is released with {keep}.")
        raise InvalidParameter("times", None, said, remedy)
    return [str(name) for name in form.times]
