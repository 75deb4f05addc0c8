"""Names of file-reading arguments in other libraries, for errors that state the name here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["FOREIGN", "foreign_names_refused"]

P = ParamSpec("P")
T = TypeVar("T")

#: The name of an argument here, by its name in pandas, GeoPandas and other libraries.
FOREIGN = {
    **dict.fromkeys(("sep", "separator", "delim"), "delimiter"),
    **dict.fromkeys(("sheet", "sheet_name"), "layer"),
    **dict.fromkeys(("latitude", "y"), "lat"),
    **dict.fromkeys(("longitude", "lng", "x"), "lon"),
    **dict.fromkeys(("epsg", "srid"), "crs"),
    **dict.fromkeys(("user", "user_id", "uid", "by", "persons", "groupby"), "person"),
    **dict.fromkeys(("unit", "privacy_unit"), "protect"),
    "local": "area",
    **dict.fromkeys(("columns", "usecols"), "keep"),
    **dict.fromkeys(("query", "filter"), "where"),
    **dict.fromkeys(("seed", "random_state"), "rng"),
}


def foreign_names_refused(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function so that an argument named as in another library gives an error with the right name.

    Examples
    --------
    >>> gv.Locations("trips.csv", sep=";")
    Traceback (most recent call last):
    TypeError: Locations() has no argument 'sep'. It is called 'delimiter': give delimiter=';'.
    """
    names = {*inspect.signature(function).parameters}
    called = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    @functools.wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> T:
        for name, value in given.items():
            own = FOREIGN.get(name)
            if name not in names and own in names:
                shown = f"give {own}={value!r}" if isinstance(value, (str, int)) else f"give {own}=..."
                raise TypeError(f"{called}() has no argument {name!r}. It is called {own!r}: {shown}.")
        return function(*args, **given)

    return call
