"""Which columns go out beside released places: whose they are, when, and what the owner names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from geoveil.errors import InvalidParameter

__all__ = ["choose", "is_time"]

#: Times are public; these are their usual names.
_TIMES = frozenset(
    ["time", "timestamp", "datetime", "date_time", "date", "t", "ts", "utc", "time_utc", "timestamp_utc", "epoch"]
)


def is_time(name: Any, kind: Any) -> bool:
    """Whether a column holds times, by its name or its type."""
    return str(name).casefold() in _TIMES or str(kind).startswith(("datetime", "timestamp", "date", "time"))


def choose(
    columns: Sequence[Any], *, times: Iterable[Any], by: Any, keep: Any, places: Iterable[Any] = ()
) -> tuple[list[Any], tuple[Any, ...]]:
    """The columns that go out, in their order, and those that stay behind.

    Parameters
    ----------
    columns : sequence
        The names of all columns but the places that get noise.
    times : iterable
        Those that hold times.
    by : object
        The one that says whose places they are, if it is one of them.
    keep : "all" or sequence of names, optional
        What else the owner wants to go out.
    places : iterable
        Those that hold places themselves: they never go out.
    """
    places = set(places)
    if keep is None:
        wanted = set()
    elif isinstance(keep, str) and keep == "all":
        wanted = set(columns) - places
    else:
        wanted = set(keep) if not isinstance(keep, str) else {keep}
        for name in wanted - set(columns):
            free = [column for column in columns if column not in places]
            raise InvalidParameter("keep", name, f"'all' or a list of columns of x, among {free}", "Leave it out.")
        for name in wanted & places:
            remedy = "Release it in a call of its own."
            raise InvalidParameter("keep", name, "columns that hold no places: this one would go out as it is", remedy)
    wanted |= (set(times) | {by}) - places
    return [name for name in columns if name in wanted], tuple(name for name in columns if name not in wanted)
