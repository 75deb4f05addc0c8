"""A ledger in a SQLite file.

The file has a rollback journal, not a write-ahead log. A log lies beside the *path* by which the file was opened. Two
paths to one file (a hard link, a file mounted into a container) would have two logs, neither with the other's
charges; a copy of the file alone would lack the charges in the log. With a rollback journal, locks are on the file
itself, and everything that is committed is in the file.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from pathlib import Path

from geoveil.budget.schema import TABLES
from geoveil.budget.stores import Row, Statement, Store, Transaction, left
from geoveil.errors import Charged, LedgerTimeout, LedgerUnavailable

__all__ = ["UNFINISHED", "SQLite", "create_tables"]

#: The table of a copy that is not finished, which nobody can charge, read or restore.
UNFINISHED = "geoveil_unfinished"

#: Linux's list of mount points; on other systems a single file cannot be mounted.
_MOUNTS = Path("/proc/self/mountinfo")
#: Seconds of one attempt to lock the file.
_TRY = 0.01


class _SQLiteTransaction(Transaction):
    clock = "strftime('%Y-%m-%dT%H:%M:%f000+00:00', 'now')"
    texts = "(SELECT value FROM json_each(?))"

    def __init__(self, store: SQLite, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._store, self._connection = store, connection

    def ask(self, *questions: Statement) -> list[list[Row]]:
        # SQLite has no row locks: a writing transaction has locked the whole file.
        return [
            self._connection.execute(sql.removesuffix(" FOR UPDATE"), given).fetchall() for sql, given in questions
        ]

    def commit(self) -> None:
        for sql, rows in self._writes:
            self._connection.executemany(sql, rows)
        self.committing = True
        self._connection.execute("COMMIT")
        # A commit into a file that was deleted or replaced meanwhile is lost.
        self._store.check_file("unknown")


class SQLite(Store[sqlite3.Connection]):
    """A ledger in a SQLite file, which needs no setup.

    Parameters
    ----------
    place : str or Path
        The file. Symbolic links are resolved once, when the store is created.
    timeout : float
        Time limit in seconds of a call without a deadline.
    unfinished : bool
        Whether to open a copy that is not finished; nobody but the process that makes it may do so.
    """

    problems = (sqlite3.Error,)

    def __init__(self, place: str | os.PathLike[str], timeout: float, *, unfinished: bool = False) -> None:
        super().__init__(timeout)
        self.path = Path(os.path.realpath(place))
        self._opens_unfinished = unfinished
        #: Device and inode of the file that is open.
        self._identity: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        return str(self.path)

    def _connect(self, deadline: float) -> sqlite3.Connection:
        if self._identity is not None or self.path.exists():
            # Before anything is written: a file that has replaced the ledger meanwhile is not opened.
            self.check_file()
        if _is_mounted(self.path):
            raise LedgerUnavailable(
                f"{self.path} is mounted as a single file, so that other processes look for its journal in another "
                "folder.",
                "Mount the folder that contains it.",
                charged="nothing",
            )
        connection = sqlite3.connect(self.path, timeout=left(deadline), isolation_level=None, check_same_thread=False)
        try:
            made = self._tables(connection)
            # Commits survive a loss of power.
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA journal_size_limit=1048576")
            if connection.execute("PRAGMA journal_mode=PERSIST").fetchone()[0] != "persist":
                raise sqlite3.OperationalError("the file cannot have a rollback journal")
            if not made:
                connection.execute("BEGIN EXCLUSIVE")
                # Another process may have begun a ledger or a copy of one since.
                made = self._tables(connection)
                if not made:
                    create_tables(connection)
                connection.execute("COMMIT")
            self.is_backup = "geoveil_backup" in made
            self.check_file()
        except BaseException:
            connection.close()
            raise
        return connection

    def _tables(self, connection: sqlite3.Connection) -> set[str]:
        """Return the names of the file's tables; raise LedgerUnavailable if it is neither a ledger nor empty."""
        made = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if UNFINISHED in made and not self._opens_unfinished:
            raise LedgerUnavailable(
                f"{self.path} is an unfinished backup or restored ledger: it is being written, or its writer was "
                "stopped.",
                "If nobody writes it any more, delete it and start again.",
                charged="nothing",
            )
        if made and "geoveil_head" not in made:
            raise LedgerUnavailable(
                f"{self.path} is a database of another program, such as a GeoPackage. Nothing was written to it.",
                "Give the path of a ledger or of a new file.",
            )
        return made

    def check_file(self, charged: Charged = "nothing") -> None:
        """Raise LedgerUnavailable if the path no longer leads to the opened file, or if the file has other names."""
        try:
            found = os.stat(self.path)
        except OSError as problem:
            raise LedgerUnavailable(
                f"{self.path} was moved or deleted while it was in use, or cannot be read: {problem.strerror}.",
                "Move it back, or open the ledger at its new path.",
                charged=charged,
            ) from None
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "not an ordinary file"
            raise LedgerUnavailable(f"{self.path} is {kind}.", "Give the path of a file.", charged=charged)
        identity = (found.st_dev, found.st_ino)
        if self._identity is None:
            self._identity = identity
        if identity != self._identity:
            raise LedgerUnavailable(
                f"{self.path} was replaced by another file while it was in use.",
                "To restore an old copy without losing charges, use `geoveil budget restore`.",
                charged=charged,
            )
        if found.st_nlink > 1:
            raise LedgerUnavailable(
                f"{self.path} has {found.st_nlink} hard links. A ledger must have one name, since its journal lies "
                "beside it.",
                "Remove the other names.",
                charged=charged,
            )

    def _begin(self, connection: sqlite3.Connection, deadline: float, *, reading: bool) -> Transaction:
        self.check_file()
        if self.is_backup and not reading:
            raise LedgerUnavailable(
                f"{self.path} is a backup: later charges are missing from it.",
                "Charge the ledger itself. If it is lost, `geoveil budget restore` makes a new one from this backup.",
                charged="nothing",
            )
        while True:
            # SQLite waits longer and longer between attempts. If many processes wait, short attempts are fairer and
            # several times as fast.
            _wait_at_most(connection, min(left(deadline), _TRY))
            try:
                connection.execute("BEGIN" if reading else "BEGIN IMMEDIATE")
                # The first read fixes the snapshot that a reader sees.
                connection.execute("SELECT 1 FROM geoveil_head").fetchall()
                break
            except sqlite3.OperationalError as problem:
                self._roll_back(connection)
                if not _is_busy(problem) or time.monotonic() >= deadline:
                    raise
        _wait_at_most(connection, left(deadline))
        return _SQLiteTransaction(self, connection)

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    def _translated(self, problem: Exception, transaction: Transaction | None, deadline: float) -> Exception:
        if _is_busy(problem):
            return LedgerTimeout(
                f"{self.path} was locked by other processes until the time limit.", "Try again.", charged="nothing"
            )
        return LedgerUnavailable(
            f"{self.path}: {problem}.",
            "Check that it is a ledger, that it can be written to, and that the disk is not full.",
            charged="unknown" if transaction is not None and transaction.committing else "nothing",
        )


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of a ledger, within a transaction."""
    for statement in TABLES.split(";\n"):
        connection.execute(statement)


def _is_busy(problem: Exception) -> bool:
    return getattr(problem, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _wait_at_most(connection: sqlite3.Connection, seconds: float) -> None:
    connection.execute(f"PRAGMA busy_timeout={max(int(1000 * seconds), 1)}")


def _is_mounted(path: Path) -> bool:
    """Tell whether a file is itself a mount point, as with a single file mounted into a container."""
    try:
        lines = _MOUNTS.read_bytes().split(b"\n")
    except OSError:
        return False
    places = {line.split()[4] for line in lines if line}
    # The kernel escapes spaces, tabs, newlines and backslashes in paths as octal numbers.
    written = os.fsencode(path)
    for character in b"\\ \t\n":
        written = written.replace(bytes([character]), b"\\%03o" % character)
    return written in places
