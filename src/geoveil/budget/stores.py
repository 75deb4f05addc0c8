"""Where a ledger is kept: a database with its tables, which processes and threads share."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, ClassVar

from geoveil.errors import LedgerTimeout, LedgerUnavailable
from geoveil.processes import this_process

__all__ = ["FEW", "Store", "Transaction", "is_database", "open_store"]

#: Connections that forks have copied. They belong to the parent: they are kept, so that nothing closes them here.
_PARENTS: list[Any] = []


#: Rows that are sent one by one; more than these go as one parameter, which takes longer to plan and less to send.
FEW = 20


class Transaction(ABC):
    """A transaction: what it reads holds until its end, and it writes everything with its commit, or nothing."""

    #: An SQL expression for the present time by the store's clock: UTC, as ISO 8601 text with microseconds.
    clock: ClassVar[str]
    #: An SQL subquery for the texts in a parameter that is a JSON array: any number of them in one parameter.
    texts: ClassVar[str]

    def __init__(self) -> None:
        self._writes: list[tuple[str, list[Sequence[Any]]]] = []
        #: Whether the commit was sent and not refused: a lost connection leaves open whether it was carried out.
        self.committing = False

    @abstractmethod
    def ask(self, *questions: tuple[str, Sequence[Any]]) -> list[list[tuple[Any, ...]]]:
        """Return the rows of each question; each is asked after the one before was answered."""

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one question."""
        return self.ask((sql, parameters))[0]

    def write(self, sql: str, *rows: Sequence[Any]) -> None:
        """Run a statement at the end, once for each row of parameters."""
        if rows:
            self._writes.append((sql, list(rows)))

    def among(self, values: Sequence[str]) -> tuple[str, list[str]]:
        """Return the condition that a column, whose name precedes it, is one of some texts; and its parameters."""
        if 0 < len(values) <= FEW:
            return f"IN ({', '.join('?' * len(values))})", [*values]
        return f"IN {self.texts}", [json.dumps(values)]

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[str | int]]) -> None:
        """Insert rows at the end: texts and integers."""
        self.write(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", *rows)

    def update(self, table: str, column: str, key: str, rows: Sequence[tuple[Any, Any]]) -> None:
        """Set a text column of some rows at the end; `rows` are pairs of the value and the key of its row."""
        self.write(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", *rows)

    @abstractmethod
    def commit(self) -> None:
        """Write what is to be written, durably."""


class Store(ABC):
    """A database with the tables of a ledger; threads may share it, and forked processes.

    Parameters
    ----------
    timeout : float
        Seconds that a call may take which is given no deadline.
    """

    #: The exceptions of the database.
    problems: tuple[type[Exception], ...] = ()
    #: Whether it is a backup, which is behind its ledger and can only be read; known once it was opened.
    is_backup = False

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        #: One for each process: a fork may copy a lock that a thread of the parent holds.
        self._locks: dict[tuple[int, bytes], threading.Lock] = {}
        self._opened: Any = None
        self._process: tuple[int, bytes] | None = None

    @abstractmethod
    def _connect(self, deadline: float) -> Any:
        """Return a connection of this process to a database that has the tables."""

    def _is_usable(self, connection: Any) -> bool:
        """Tell whether a connection that was idle can be used, as far as can be told without asking the server."""
        return True

    @abstractmethod
    def _begin(self, connection: Any, deadline: float, *, reading: bool) -> Transaction:
        """Begin a transaction: one that no other can run beside, or one that only reads."""

    @abstractmethod
    def _roll_back(self, connection: Any) -> None:
        """End a transaction without writing."""

    @abstractmethod
    def _translated(self, problem: Exception, transaction: Transaction | None, deadline: float) -> Exception:
        """Return the ledger's error for one of the database's, in a call that had time until a deadline."""

    def transaction(self, deadline: float | None = None) -> AbstractContextManager[Transaction]:
        """Hold the ledger alone; whoever has waited until the deadline (of `time.monotonic`) is refused."""
        return self._within(deadline, reading=False)

    def reading(self, deadline: float | None = None) -> AbstractContextManager[Transaction]:
        """Read the ledger as it is at one moment, without the right to write and without holding it."""
        return self._within(deadline, reading=True)

    @contextmanager
    def _within(self, deadline: float | None, *, reading: bool) -> Iterator[Transaction]:
        if deadline is None:
            deadline = time.monotonic() + self.timeout
        lock = self._lock
        if not lock.acquire(timeout=left(deadline)):
            raise LedgerTimeout("Other threads held the ledger until the time was up. Nothing was charged; try again.")
        transaction = None
        try:
            connection = self._connection(deadline)
            try:
                transaction = self._begin(connection, deadline, reading=reading)
                yield transaction
                transaction.commit()
            except BaseException:
                self._end(connection)
                raise
        except self.problems as problem:
            self._drop()
            raise self._translated(problem, transaction, deadline) from problem
        finally:
            lock.release()

    @property
    def _lock(self) -> threading.Lock:
        return self._locks.setdefault(this_process(), threading.Lock())

    def _connection(self, deadline: float) -> Any:
        process = this_process()
        if self._process != process:
            if self._opened is not None:
                _PARENTS.append(self._opened)
            self._opened, self._process = None, process
        if self._opened is not None and not self._is_usable(self._opened):
            self._drop()
        if self._opened is None:
            self._opened = self._connect(deadline)
        return self._opened

    def _end(self, connection: Any) -> None:
        """Roll back; a connection of which that is not known to have worked is given up."""
        try:
            self._roll_back(connection)
        except Exception:
            self._drop()

    def _drop(self) -> None:
        if self._opened is not None and self._process == this_process():
            with suppress(Exception):
                self._opened.close()
            self._opened = None

    def __del__(self) -> None:
        self._drop()

    def close(self) -> None:
        """Close the connection; it is opened again when it is needed."""
        with self._lock:
            self._drop()


def left(deadline: float) -> float:
    """Return the seconds that are left until a deadline, at least a millisecond."""
    return max(deadline - time.monotonic(), 0.001)


def is_database(place: Any) -> bool:
    """Tell whether a place is a connection string of PostgreSQL, rather than a file."""
    return bool(re.match(r"postgres(ql)?://|.*\bdbname=", str(place)))


def open_store(place: str | os.PathLike[str], timeout: float) -> Store:
    """Return the store at a path or a connection string."""
    if not is_database(place):
        from geoveil.budget.sqlite_store import SQLite

        return SQLite(place, timeout)
    try:
        from geoveil.budget.postgres_store import Postgres
    except ImportError as problem:
        if (problem.name or "").partition(".")[0] != "psycopg":
            raise
        raise LedgerUnavailable(
            "PostgreSQL needs psycopg: install geoveil with the extra `postgres`, or use a file."
        ) from None
    return Postgres(str(place), timeout)
