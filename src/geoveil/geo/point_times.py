"""The public time of each point: from a column of a table, or as the caller gives it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil._types import Missing, Times
from geoveil.errors import InvalidParameter, Mention, Message
from geoveil.geo.forms import Floats, Form, Index
from geoveil.geo.seconds import ReadTimes, in_stated_unit, read_times, seconds_of, time_column, without_time

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    *("check_apart", "chosen_time_columns", "in_rows", "known_times", "point_seconds", "point_times", "time_columns"),
]


#: What can be done without times.
_UNTIMED = "Without times, leave out what needs them: smoothing, thinning, and lengths of time that are protected."
#: What can be done with rows whose places have no times of their own, and which cannot be smoothed.
_UNSMOOTHED = (
    "Without such columns, leave smoothing out; or release one place of each row alone, with one {lat} and one {lon}."
)


def point_seconds(form: Form, times: Times) -> Floats:
    """Return the public time of each point in seconds, counted from an arbitrary origin, for smoothing.

    The places of a row must have times of their own.

    Parameters
    ----------
    form : Form
        The points.
    times : str, list of str, array or Series, optional
        A column of a table; a list of columns, one for each point of a row; or a time for each row. By default the
        only column of times.
    """
    values, name = _values(form, times, _points_of_rows(form, times), apart=True)
    seconds = seconds_of(values, name)
    if seconds.shape != (len(form.coords),) or not np.isfinite(seconds).all():
        allowed = f"{len(form.coords)} finite times, one for each point"
        raise InvalidParameter("times", seconds.shape, allowed, "They are public.")
    check_apart(form.rows, seconds)
    return seconds


def check_apart(rows: Index, seconds: Floats) -> None:
    """Refuse to smooth points of one row that have one time: a person would be in several places at once.

    Parameters
    ----------
    rows, seconds : array
        The row and the time of each point.
    """
    same_row = np.diff(rows) == 0
    if same_row.any() and not np.diff(seconds)[same_row].any():
        allowed = "a time for each place of a row: smoothing would move places with the same time to one place"
        remedy = Message(f"Name a column for each place with {{times}}. {_UNSMOOTHED}")
        raise InvalidParameter("times", "one time for all places of a row", allowed, remedy)


def point_times(form: Form, times: Times) -> ReadTimes:
    """Return the public time of each point, and how it was read; see `point_seconds`."""
    each = max(len(form.pairs), 1)
    return replace(read_times(*_values(form, times)), columns=tuple(slice(at, None, each) for at in range(each)))


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
    return _columns(form, times, max(len(form.pairs), 1))


def _columns(form: Form, times: Times, each: int, *, apart: bool = False) -> tuple[str, ...]:
    """Return the columns of times, `each` of them; nothing where times are given otherwise."""
    listed = isinstance(times, list | tuple) and all(isinstance(name, str) for name in times)
    named = listed and form.has_columns and {*times} <= {*map(str, form.names)}  # type: ignore[misc]
    if not (each > 1 and listed) and not named and not isinstance(times, str | None):
        return ()
    if times is None and not form.has_columns:
        remedy = Message("Give {times}, as datetimes, durations or texts of dates.")
        raise InvalidParameter("times", None, "a time for each point", remedy)
    return chosen_time_columns(times, [*form.times], form.names, each, "the table", apart=apart)


def chosen_time_columns(
    times: Times,
    recognised: Sequence[Hashable],
    columns: Sequence[Hashable],
    each: int,
    of: str,
    *,
    apart: bool = False,
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
    apart : bool
        Whether the places of a row must have times of their own, as smoothing needs them.
    """
    known = {str(name): name for name in recognised}
    named = [times] if isinstance(times, str) else [*(known if times is None else times)]
    chosen = [known.get(name) or time_column(name, columns) for name in named]
    if len(chosen) == each and set(chosen) <= set(columns):
        return tuple(name if isinstance(name, str) else str(name) for name in chosen)
    among = [*recognised] if times is None else [*columns]
    wanted = f"one column of times of {of}, one of {among}"
    if each > 1:
        wanted = f"{each} columns of times of {of}, one for each place of a row, among {among}"
    if not among:
        wanted = f"{'a column' if each == 1 else f'{each} columns'} of times of {of}, which has none"
    likely = [*map(str, recognised or (chosen if each > 1 else ()))]
    remedy = _remedy(likely, each, none=not among, apart=apart)
    shown = chosen[0] if times is not None and len(chosen) == 1 else (chosen or None)
    raise InvalidParameter("times", None if times is None else shown, wanted, remedy)


def _remedy(known: Sequence[str], each: int, *, none: bool, apart: bool) -> Message:
    """Return the sentence that says how columns of times are named; `known` are those that may hold them."""
    removed = "; a column that was removed is released with {keep}" if none else ""
    if each == 1 and none:
        return Message(f"If one of its columns holds times, name it with {{times}}{removed}. {_UNTIMED}")
    if each == 1:
        one = Mention("times", known[0] if known else "t")
        return Message("Name it, such as {one}.", one=one)
    if len({*known}) >= each:
        return Message(
            "Name them in the order of the places, such as {both}.", both=Mention("times", (*known[:each],))
        )
    named = f"Name them in the order of the places{removed}."
    if apart:
        return Message(f"{named} {_UNSMOOTHED}")
    # Only the owner knows whether one column is the time of all places.
    same = Mention("times", tuple([*known, "t"][:1] * each))
    return Message(f"{named} If one column is the time of all places of a row, say so: {{same}}.", same=same)


def _points_of_rows(form: Form, times: Times) -> int:
    """Return the number of columns of times of released rows.

    A released file may hold the places of a row as the points of a line. So a list of columns may name the times of
    these points, if every line has as many.
    """
    each = max(len(form.pairs), 1)
    listed = form.times if times is None else times
    if each > 1 or not isinstance(listed, list | tuple) or not form.has_columns or len(listed) < 2:
        return each
    return len(listed) if (np.bincount(form.rows) == len(listed)).all() else each


def _values(form: Form, times: Times, each: int | None = None, *, apart: bool = False) -> tuple[Any, str]:
    """Return the time of each point as it was given, and the name of its column for errors.

    `each` is the number of columns of times; by default the number of places of a row that have columns of their own.
    """
    import pandas as pd

    each = max(len(form.pairs), 1) if each is None else each
    names = _columns(form, times, each, apart=apart)
    if not names:
        return form.spread("times", times), "the times"
    if len(names) == 1:
        return pd.Series(form.column(names[0])), names[0]
    return in_rows([pd.Series(form.column(name)[::each]) for name in names], names), ", ".join(names)


def in_rows(columns: Sequence[pd.Series], names: Sequence[str]) -> pd.Series:
    """Return the times of several columns one row after another, with the places of a row in their order."""
    import pandas as pd

    joined = pd.concat([in_stated_unit(*named) for named in zip(columns, names, strict=True)], ignore_index=True)
    return joined.iloc[np.arange(len(joined)).reshape(len(names), -1).T.ravel()]
