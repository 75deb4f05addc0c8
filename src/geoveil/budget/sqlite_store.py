"""A ledger in a SQLite file.

A process that charges a few times uses a rollback journal: everything that is committed is in the file, and locks are
on the file itself. A commit flushes five times to the disk. A process that charges more often switches the file to a
write-ahead log, which is flushed once for each commit. The last process that closes the file switches it back.

A log lies beside the *path* by which the file was opened. Two paths to one file (a hard link, a file mounted into a
container) would have two logs, neither with the other's charges; a copy of the file alone would lack the charges in
the log. So the file records its home: the folder, the name and the file itself to which its log belongs. These rules
make one log the only one:

- The home is written while the file has a rollback journal, so that it is in the file itself and seen by every path.
- A transaction that finds a write-ahead log goes on only at the file's home, and only while the log is in its place.
- A connection that uses the log holds a shared lock on the file itself. Switching back takes an exclusive lock. So the
  home of a file cannot change while any connection uses its log.

The log's index is memory that processes share, which works on one machine only. So the log is used on file systems
alone that belong to one machine, and a file with a log is refused on others.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
import weakref
from contextlib import closing, suppress
from pathlib import Path

from geoveil.budget.stores import TABLES, Row, Statement, Store, Transaction, left
from geoveil.errors import Charged, LedgerTimeout, LedgerUnavailable
from geoveil.host.processes import this_process
from geoveil.host.sqlite_files import open_to_read

__all__ = ["UNFINISHED", "SQLite", "create_tables"]

#: The table of a copy that is not finished, which nobody can charge, read or restore.
UNFINISHED = "geoveil_unfinished"

#: Linux's list of mount points; on other systems a single file cannot be mounted.
_MOUNTS = Path("/proc/self/mountinfo")
#: File systems that one machine has to itself, so that its processes share the memory of mapped files, and whose inode
#: numbers stay the same when they are mounted again. Those of the layers of containers do not.
_LOCAL = frozenset(
    [
        *(b"bcachefs", b"btrfs", b"ext2", b"ext3", b"ext4", b"f2fs", b"jfs", b"nilfs2", b"reiserfs"),
        *(b"tmpfs", b"xfs", b"zfs"),
    ]
)
#: Seconds of one attempt to lock the file.
_TRY = 0.01
#: Number of commits of a connection after which it switches the file to a write-ahead log. To switch there and back
#: takes about 18 flushes, which five further commits with a log make up for.
_COMMITS = 8
#: Longest time in seconds that a fork waits for a transaction of another thread.
_FORK_WAIT = 1.0
#: The table with the home of a file's write-ahead log.
_HOME = "geoveil_home"


class _Connection(sqlite3.Connection):
    """A connection that closes itself."""

    def __del__(self) -> None:
        """Do not warn: the garbage collector may collect a connection before its store."""
        with suppress(sqlite3.Error):
            self.close()


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
        self._store.commits += bool(self._writes)
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
        #: Inodes of the write-ahead log that the connection uses, if it uses one, and of the log's index.
        self._log: tuple[int | None, ...] | None = None
        #: Number of commits of the connection with a rollback journal.
        self.commits = 0
        self._is_local = False

    @property
    def name(self) -> str:
        return str(self.path)

    def _connect(self, deadline: float) -> sqlite3.Connection:
        self._check_inherited()
        exists = self._identity is not None or self.path.exists()
        if exists:
            # Before anything is written: a file that has replaced the ledger meanwhile is not opened.
            self.check_file()
        if _is_mounted(self.path):
            raise LedgerUnavailable(
                f"{self.path} is mounted as a single file, so that other processes look for its journal in another "
                "folder.",
                "Mount the folder that contains it.",
                charged="nothing",
            )
        self._log, self.commits, self._is_local = None, 0, _is_local(self.path)
        if exists:
            self._look(deadline)
        connection = sqlite3.connect(
            self.path, timeout=left(deadline), isolation_level=None, check_same_thread=False, factory=_Connection
        )
        try:
            # Commits survive a loss of power.
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA journal_size_limit=1048576")
            # Within a transaction, so that no other process switches to a write-ahead log in between.
            connection.execute("BEGIN")
            made = self._tables(connection)
            if _journal(connection) == "wal" and _HOME in made:
                self._join_log(connection)
                connection.execute("COMMIT")
            else:
                if _journal(connection) == "wal":
                    # Another program has switched the file, which geoveil uses without a log so far.
                    connection.execute("COMMIT")
                if connection.execute("PRAGMA journal_mode=PERSIST").fetchone()[0] != "persist":
                    raise sqlite3.OperationalError("the file cannot have a rollback journal")
                self._roll_back(connection)
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
            self._close(connection)
            raise
        return connection

    def another(self) -> SQLite:
        """Return a store of the same file with a connection of its own."""
        store = SQLite(self.path, self.timeout)
        store._identity = self._identity
        return store

    def _look(self, deadline: float) -> None:
        """Check the home of the file with a connection that only reads.

        When a connection that writes is closed, SQLite deletes the log beside its path, which may be another file's.
        """
        # What hinders a reader, such as a journal that must be rolled back, need not hinder a writer.
        with suppress(sqlite3.OperationalError), closing(open_to_read(self.path)) as connection:
            _wait_at_most(connection, left(deadline))
            connection.execute("BEGIN")
            has_home = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (_HOME,)).fetchall()
            if has_home and _journal(connection) == "wal":
                self._check_home(connection)

    def _close(self, connection: sqlite3.Connection) -> None:
        """Close the connection, and switch the file back to a rollback journal if no other connection uses the log."""
        try:
            if self._log is not None:
                # If another one uses it, that one switches back. After a crash the log stays until the next close.
                with suppress(sqlite3.Error):
                    _wait_at_most(connection, _TRY)
                    connection.execute("PRAGMA journal_mode=PERSIST")
        finally:
            self._log = None
            _LOGGING.pop((id(self), this_process()), None)
            connection.close()

    def _use_log(self, connection: sqlite3.Connection) -> None:
        """Switch the file to a write-ahead log; if that fails, such as because others lock the file, go on without."""
        self.commits = 0
        if self._opens_unfinished or not self._is_local:
            return
        _wait_at_most(connection, _TRY)
        try:
            connection.execute("BEGIN IMMEDIATE")
            if _journal(connection) != "wal":
                connection.execute(f"CREATE TABLE IF NOT EXISTS {_HOME} (folder INTEGER, file INTEGER, path TEXT)")
                # A bind mount keeps inodes, and a copy changes them.
                home = os.stat(self.path.parent).st_ino, os.stat(self.path).st_ino, str(self.path)
                if connection.execute(f"SELECT * FROM {_HOME}").fetchall() != [home]:
                    connection.execute(f"DELETE FROM {_HOME}")
                    connection.execute(f"INSERT INTO {_HOME} VALUES (?, ?, ?)", home)
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode=WAL")
        except (sqlite3.OperationalError, OSError):
            self._roll_back(connection)

    def _check_home(self, connection: sqlite3.Connection) -> None:
        """Raise LedgerUnavailable if the write-ahead log beside this path is not the file's only one."""
        ((folder, file, path),) = connection.execute(f"SELECT * FROM {_HOME}").fetchall()
        home = Path(path)
        if (_inode(self.path.parent), _inode(self.path), self.path.name) != (folder, file, home.name):
            raise LedgerUnavailable(
                f"{self.path} was moved, copied or mounted while it was in use at {home}. Its last charges are in "
                f"{home.name}-wal there.",
                "Move it back, and open and close it there once before you move it. If it is lost there, restore this "
                "file with `geoveil budget restore`.",
                charged="nothing",
            )
        if not self._is_local:
            raise LedgerUnavailable(
                f"{self.path} is in use through another file system or on another machine.",
                "Close it there, or use PostgreSQL for a ledger that several machines share.",
                charged="nothing",
            )

    def _join_log(self, connection: sqlite3.Connection) -> None:
        """Note that the connection uses the log, after checking that it is the file's only one."""
        self._check_home(connection)
        self._log = self._logs()
        _LOGGING[id(self), this_process()] = weakref.ref(self), self.path

    def _logs(self) -> tuple[int | None, ...]:
        """Return the inodes of the log and of its index."""
        return tuple(_inode(self.path.with_name(f"{self.path.name}{ending}")) for ending in ("-wal", "-shm"))

    def _check_inherited(self) -> None:
        """Raise LedgerUnavailable if a fork has copied a connection to the same file that uses the log."""
        # SQLite would take the parent's locks for this process's own.
        mine = this_process()
        if any(process != mine and path == self.path for (_, process), (_, path) in [*_LOGGING.items()]):
            raise LedgerUnavailable(
                f"{self.path} was in use when this process was forked.",
                "Close the ledger before the fork, or start the process anew.",
                charged="nothing",
            )

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
            state = os.stat(self.path)
        except OSError as problem:
            raise LedgerUnavailable(
                f"{self.path} was moved or deleted while it was in use, or cannot be read: {problem.strerror}.",
                "Move it back, or open the ledger at its new path.",
                charged=charged,
            ) from None
        if not stat.S_ISREG(state.st_mode):
            what = "a folder" if stat.S_ISDIR(state.st_mode) else "not an ordinary file"
            raise LedgerUnavailable(f"{self.path} is {what}.", "Give the path of a file.", charged=charged)
        identity = (state.st_dev, state.st_ino)
        if self._identity is None:
            self._identity = identity
        if identity != self._identity:
            raise LedgerUnavailable(
                f"{self.path} was replaced by another file while it was in use.",
                "To restore an old copy without losing charges, use `geoveil budget restore`.",
                charged=charged,
            )
        if state.st_nlink > 1:
            raise LedgerUnavailable(
                f"{self.path} has {state.st_nlink} hard links. A ledger must have one name, since its journal lies "
                "beside it.",
                "Remove the other names.",
                charged=charged,
            )
        if self._log is not None and self._logs() != self._log:
            raise LedgerUnavailable(
                f"{self.path}-wal or {self.path}-shm was moved or deleted while the ledger was in use. The last "
                "charges are there.",
                "Move it back, or restore a backup with `geoveil budget restore`.",
                charged=charged,
            )

    def _begin(self, connection: sqlite3.Connection, deadline: float, *, reading: bool) -> Transaction:
        self.check_file()
        if not reading and self._log is None and self.commits >= _COMMITS:
            self._use_log(connection)
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
        if self._log is None and _journal(connection) == "wal":
            try:
                self._join_log(connection)
            except LedgerUnavailable:
                # An open connection would keep others from switching back.
                self._roll_back(connection)
                self._drop()
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


def _inode(path: Path) -> int | None:
    """Return the inode of a file, or None if there is none."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def _journal(connection: sqlite3.Connection) -> str:
    """Return the mode of the file's journal, which is certain within a transaction only."""
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


def _is_mounted(path: Path) -> bool:
    """Tell whether a file is itself a mount point, as with a single file mounted into a container."""
    return _escaped(path) in {point for point, _ in _mounts()}


def _is_local(path: Path) -> bool:
    """Tell whether a file is on a file system that this machine has to itself; False if that is unknown."""
    # Of two mounts at one place, the later one hides the other.
    systems = dict(_mounts())
    return next((systems[point] for folder in path.parents if (point := _escaped(folder)) in systems), b"") in _LOCAL


def _mounts() -> list[tuple[bytes, bytes]]:
    """Return Linux's mount points with the types of their file systems, in the order in which they were mounted."""
    try:
        lines = _MOUNTS.read_bytes().split(b"\n")
    except OSError:
        return []
    return [(line.split()[4], line.partition(b" - ")[2].split()[0]) for line in lines if line]


def _escaped(path: Path) -> bytes:
    """Return a path as the kernel lists it: spaces, tabs, newlines and backslashes are octal numbers."""
    written = os.fsencode(path)
    for character in b"\\ \t\n":
        written = written.replace(bytes([character]), b"\\%03o" % character)
    return written


#: Stores whose connection uses a write-ahead log, and their paths, by identity of the store and of its process.
_LOGGING: dict[tuple[int, tuple[int, bytes]], tuple[weakref.ref[SQLite], Path]] = {}
#: Locks of stores that are held during a fork.
_HELD: list[threading.Lock] = []


def _before_fork() -> None:
    """Close connections that use a log: in the child, SQLite would take the parent's locks for its own."""
    for (_, process), (kept, _) in [*_LOGGING.items()]:
        store = kept()
        if store is not None and process == this_process():
            lock = store._lock
            if lock.acquire(timeout=_FORK_WAIT):
                _HELD.append(lock)
                store._drop()


def _after_fork_in_parent() -> None:
    while _HELD:
        _HELD.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_HELD.clear)
