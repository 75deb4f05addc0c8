"""Warnings of the library, collected separately for each thread that asks for them.

Python's warnings belong to the whole program: a release that recorded them would also record those of a preview in
another thread, and either could switch the other's recording off.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from geoveil.errors import GeoveilWarning

__all__ = ["collect_warnings", "own_warnings"]


class _Own(threading.local):
    """The warnings of a thread; None if it does not collect them."""

    found: list[str] | None = None


_own = _Own()


class _Collector:
    """A function that shows a warning as before, unless the thread in which the warning occurs collects its own.

    Parameters
    ----------
    before : callable
        How warnings were shown before.
    """

    def __init__(self, before: Any) -> None:
        self._before = before

    def __call__(self, message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        """Show or collect a warning."""
        if _own.found is not None and issubclass(category, GeoveilWarning):
            _own.found.append(str(message))
        else:
            self._before(message, category, *where, **more)


def collect_warnings() -> None:
    """Let threads collect their own warnings from now on; the studio calls this when it starts."""
    if not isinstance(warnings.showwarning, _Collector):
        warnings.simplefilter("always", GeoveilWarning)
        warnings.showwarning = _Collector(warnings.showwarning)


@contextmanager
def own_warnings() -> Iterator[list[str]]:
    """Collect the warnings of the library that occur in this thread.

    Examples
    --------
    >>> with warnings.catch_warnings(), own_warnings() as found:
    ...     warnings.warn("Heights are dropped.", GeoveilWarning, stacklevel=1)
    >>> found
    ['Heights are dropped.']
    """
    collect_warnings()
    found = _own.found = []
    try:
        yield found
    finally:
        _own.found = None
