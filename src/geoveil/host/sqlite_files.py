"""Open SQLite files of other programs, for reading only."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

__all__ = ["open_to_read"]


def open_to_read(path: Path, *, immutable: bool = False) -> sqlite3.Connection:
    """Return a connection to a SQLite file that cannot write to it.

    Parameters
    ----------
    path : Path
        The file, as an absolute path.
    immutable : bool
        Whether to take no lock and to ignore a journal beside the file; for files that nobody writes to.

    Examples
    --------
    >>> path = folder.resolve() / "50% off?.db"
    >>> with sqlite3.connect(path) as store:
    ...     _ = store.execute("CREATE TABLE places (name TEXT)")
    >>> store.close()
    >>> store = open_to_read(path)
    >>> store.execute("SELECT name FROM sqlite_master").fetchall()
    [('places',)]
    >>> store.close()
    """
    # An address has forward slashes. On Windows a drive follows a slash (file:///C:/trips.gpkg), and the name of a
    # server must not stand where SQLite expects none (file:////server/share/trips.gpkg), where Path.as_uri puts it.
    written = quote(path.as_posix(), safe="/:")
    address = f"file://{'' if written.startswith('/') else '/'}{written}?mode=ro"
    return sqlite3.connect(f"{address}&immutable=1" if immutable else address, uri=True)
