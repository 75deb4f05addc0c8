"""The names that arguments and functions of the library have on the command line."""

from __future__ import annotations

__all__ = ["option"]

#: Arguments whose options have another name.
_OPTIONS = {"k": "-k", "target": "-o", "path": "-o", "p": "--at", "distance": "--hide"}


def option(name: str, value: str = "") -> str:
    """Name an argument as the command line does.

    Examples
    --------
    >>> option("keep"), option("crs"), option("outside", "clamp"), option("p")
    ('--keep', '--crs', '--outside clamp', '--at')
    """
    known = _OPTIONS.get(name) or "--" + name.replace("_", "-")
    return f"{known} {value}" if value else known
