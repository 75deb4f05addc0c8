"""Where a ledger is kept: a SQLite file, or a PostgreSQL database. A transaction holds the whole ledger."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from geoveil.budget.schema import TABLES
from geoveil.errors import LedgerTimeout, LedgerUnavailable
from geoveil.processes import this_process

__all__ = ["Store", "Transaction", "open_store"]

#: Connections that forks have copied.
_PARENTS: list[Any] = []


class Transaction(ABC):
    """What is read is true until the end; what is written is written at the end, with the commit, or not at all."""

    def __init__(self) -> None:
        self._writes: list[tuple[str, list[Sequence[Any]]]] = []

    @abstractmethod
    def ask(self, *questions: tuple[str, Sequence[Any]]) -> list[list[tuple[Any, ...]]]:
        """The rows of questions, each asked after the one before was answered."""

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of one question."""
        return self.ask((sql, parameters))[0]

    @abstractmethod
    def commit(self) -> None:
        """Write, and have it kept."""

    def write(self, sql: str, *rows: Sequence[Any]) -> None:
        """Do this at the end, once for each row of parameters."""
        if rows:
            self._writes.append((sql, list(rows)))


class Store(ABC):
    """A database with the tables of a ledger; threads may share it, and forked processes.

    Parameters
    ----------
    timeout : float
        Seconds to wait for others.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._lock = threading.Lock()
        self._opened: Any = None
        self._process: tuple[int, bytes] | None = None

    @abstractmethod
    def _connect(self) -> Any:
        """A connection of this process."""

    @abstractmethod
    def _begin(self, connection: Any, patience: float) -> Transaction:
        """Begin a transaction that nobody else's can run beside."""

    @abstractmethod
    def _translated(self, problem: Exception) -> Exception:
        """The ledger's error for one of the database's."""

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Hold the ledger alone."""
        start = time.monotonic()
        process = this_process()
        if self._process not in (None, process):
            # A fork may have copied a lock that a thread of the parent held.
            self._lock = threading.Lock()
        if not self._lock.acquire(timeout=self.timeout):
            raise LedgerTimeout(
                f"Other threads held the ledger for {self.timeout:g} s. Nothing was charged; try again."
            )
        try:
            if self._process != process:
                # A connection that a fork has copied is the parent's, and not this process's to close.
                if self._opened is not None:
                    _PARENTS.append(self._opened)
                self._opened, self._process = None, process
            try:
                if self._opened is None:
                    self._opened = self._connect()
                left = self.timeout - (time.monotonic() - start)
                transaction = self._begin(self._opened, max(left, 0.001))
                try:
                    yield transaction
                    transaction.commit()
                except BaseException:
                    with suppress(*self.problems):
                        self._opened.execute("ROLLBACK")
                    raise
            except self.problems as problem:
                self._drop()
                raise self._translated(problem) from problem
        finally:
            self._lock.release()

    #: The exceptions of the database.
    problems: tuple[type[Exception], ...] = ()

    def _drop(self) -> None:
        if self._opened is not None and self._process == this_process():
            with suppress(Exception):
                self._opened.close()
            self._opened = None

    def __del__(self) -> None:
        self._drop()

    def close(self) -> None:
        """Give the connection back."""
        with self._lock:
            self._drop()


class _SQLiteTransaction(Transaction):
    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._connection = connection

    def ask(self, *questions: tuple[str, Sequence[Any]]) -> list[list[tuple[Any, ...]]]:
        # Others are kept out already.
        return [
            self._connection.execute(sql.removesuffix(" FOR UPDATE"), given).fetchall() for sql, given in questions
        ]

    def commit(self) -> None:
        for sql, rows in self._writes:
            self._connection.executemany(sql, rows)
        self._connection.execute("COMMIT")


class SQLite(Store):
    """A file; it needs no setting up.

    Parameters
    ----------
    path : Path
        Of the file.
    """

    problems = (sqlite3.Error,)

    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__(timeout)
        self._path = path

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=self.timeout, isolation_level=None, check_same_thread=False)
        try:
            # What is committed survives a loss of power.
            connection.execute("PRAGMA synchronous=FULL")
            if connection.execute("PRAGMA journal_mode=WAL").fetchone()[0] != "wal":
                raise sqlite3.OperationalError("the file system has no shared memory for a write-ahead log")
            for statement in TABLES.split(";\n"):
                connection.execute(statement)
        except BaseException:
            connection.close()
            raise
        return connection

    def _begin(self, connection: sqlite3.Connection, patience: float) -> Transaction:
        connection.execute(f"PRAGMA busy_timeout={max(int(1000 * patience), 1)}")
        connection.execute("BEGIN IMMEDIATE")
        return _SQLiteTransaction(connection)

    def _translated(self, problem: Exception) -> Exception:
        text = str(problem)
        if "locked" in text or "busy" in text:
            return LedgerTimeout(
                f"{self._path} was locked by others for {self.timeout:g} s. Nothing was charged; try again."
            )
        return LedgerUnavailable(
            f"{self._path}: {text}. Nothing was released. Is it a ledger, may it be written to, and is there room?"
        )


class _PostgresTransaction(Transaction):
    """Statements go in one message, with their parameters written into them by psycopg: messages are dear.

    Each sees what was committed before its turn, so one after a statement that waited for a lock sees what the lock's
    holder wrote.
    """

    def __init__(self, connection: Any, beginning: str) -> None:
        super().__init__()
        self._cursor = connection.cursor()
        self._beginning = [(beginning, ())]

    def _send(self, statements: list[tuple[str, Sequence[Any]]]) -> None:
        # None but the last has a semicolon in it that is not quoted.
        self._cursor.execute(
            "; ".join(self._cursor.mogrify(sql.replace("?", "%s"), given) for sql, given in statements)
        )

    def ask(self, *questions: tuple[str, Sequence[Any]]) -> list[list[tuple[Any, ...]]]:
        beginning, self._beginning = self._beginning, []
        self._send([*beginning, *questions])
        found = []
        while True:
            if self._cursor.description is not None:
                found.append(self._cursor.fetchall())
            if not self._cursor.nextset():
                return found

    def commit(self) -> None:
        statements: list[tuple[str, Sequence[Any]]] = []
        for sql, rows in self._writes:
            head, values, tail = sql.partition(" VALUES ")
            if values:
                # New rows of a table in one statement.
                flat = [value for row in rows for value in row]
                statements.append((head + values + ", ".join([tail] * len(rows)), flat))
            else:
                statements += [(sql, row) for row in rows]
        self._send([*self._beginning, *statements, ("COMMIT", ())])


class Postgres(Store):
    """A database of a team, by its connection string.

    Parameters
    ----------
    url : str
        As psycopg takes it.
    """

    def __init__(self, url: str, timeout: float) -> None:
        super().__init__(timeout)
        try:
            import psycopg
        except ImportError:
            raise LedgerUnavailable(
                "PostgreSQL needs psycopg: install geoveil with the extra `postgres`, or use a file."
            ) from None
        self._psycopg: Any = psycopg
        self._url = url
        self.problems = (psycopg.Error,)

    def _connect(self) -> Any:
        wait = max(int(self.timeout), 2)
        connection = self._psycopg.connect(
            self._url, autocommit=True, connect_timeout=wait, cursor_factory=self._psycopg.ClientCursor
        )
        try:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(7103246582)")
                for statement in TABLES.split(";\n"):
                    connection.execute(statement)
        except BaseException:
            connection.close()
            raise
        return connection

    def _begin(self, connection: Any, patience: float) -> Transaction:
        return _PostgresTransaction(
            connection,
            f"BEGIN; SET LOCAL synchronous_commit=on; SET LOCAL lock_timeout={max(int(1000 * patience), 1)}",
        )

    def _translated(self, problem: Exception) -> Exception:
        errors = self._psycopg.errors
        if isinstance(problem, (errors.LockNotAvailable, errors.QueryCanceled, errors.ConnectionTimeout)):
            return LedgerTimeout(
                f"The database was locked by others for {self.timeout:g} s. Nothing was charged; try again."
            )
        return LedgerUnavailable(f"The database: {str(problem).strip()}. Nothing was released; is it there?")


def is_database(place: Any) -> bool:
    """Whether a place is a connection string of PostgreSQL, rather than a file."""
    return bool(re.match(r"postgres(ql)?://|.*\bdbname=", str(place)))


def open_store(place: str | os.PathLike[str], timeout: float) -> Store:
    """The store at a path or a connection string."""
    if is_database(place):
        return Postgres(str(place), timeout)
    return SQLite(Path(place), timeout)
