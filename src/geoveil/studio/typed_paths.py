"""Paths and addresses that a person types on a page."""

from __future__ import annotations

import stat
from pathlib import Path

from geoveil.errors import GeoveilError

__all__ = ["regular_size", "typed_path"]


def typed_path(text: str, what: str) -> Path:
    """Return the path that a text states, with the home folder in place of ~; refuse a text that cannot be a path.

    Parameters
    ----------
    text : str
        The text.
    what : str
        What the file is, for the message.

    Examples
    --------
    >>> typed_path("budget.db", "ledger").name
    'budget.db'
    """
    remedy = "Type the path of a file."
    if any(ord(each) < 32 for each in text):
        raise GeoveilError(f"The path of the {what} has a character that no path can have.", remedy)
    try:
        path = Path(text).expanduser()
        path.exists()
    except RuntimeError:
        raise GeoveilError(f"{text}: there is no such user on this machine.", remedy) from None
    except (OSError, ValueError):
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        raise GeoveilError(f"{shown} cannot be the path of a {what}: it may be too long.", remedy) from None
    return path


def regular_size(path: Path) -> int:
    """Return the size of a regular file in bytes; -1 if it is missing, a folder, a device or the like."""
    try:
        found = path.stat()
    except OSError:
        return -1
    return found.st_size if stat.S_ISREG(found.st_mode) else -1
