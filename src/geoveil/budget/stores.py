"""The database that contains a ledger, shared by threads and processes."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from geoveil.budget.entries import FIRST
from geoveil.errors import LedgerTimeout, LedgerUnavailable
from geoveil.host.processes import this_process

__all__ = [
    *("FEW", "TABLES", "VERSION", "Row", "SQLValue", "Statement", "Store", "Transaction"),
    *("is_database", "left", "open_store", "without_password"),
]

#: Version of the tables, raised whenever they change.
VERSION = 2

#: Amounts are decimals as text: exact, and the same in every hash. The head has one row from the beginning; every
#: writing transaction locks it first.
#:
#: - `history`: one entry for each event; `head` is the last entry.
#: - `postings`: the effect of an entry on each account: the amount charged, or the total set.
#: - `accounts`: the state of each account after the last entry.
#: - `answers`: one row per charge whose answer is being drawn or was stored. `key` is the digest of the question's
#:   key, if it has one; `owner` is the holder of the lease; `stored` is the entry that recorded the storage; `content`
#:   is the answer, which is kept only for questions with a key; `forgotten` is the entry that recorded the deletion.
#: - `witness`: the last entry of each ledger whose witness this database is.
TABLES = f"""
CREATE TABLE IF NOT EXISTS geoveil_ledger (version INTEGER NOT NULL, id TEXT NOT NULL, created TEXT NOT NULL,
  seal TEXT);
CREATE TABLE IF NOT EXISTS geoveil_head (one INTEGER PRIMARY KEY CHECK (one = 1), number BIGINT NOT NULL,
  hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS geoveil_accounts (subject TEXT PRIMARY KEY, notion TEXT NOT NULL, metric TEXT NOT NULL,
  total TEXT NOT NULL, spent TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS geoveil_history (number BIGINT PRIMARY KEY, time TEXT NOT NULL, event TEXT NOT NULL,
  query TEXT NOT NULL, parameters TEXT NOT NULL, notion TEXT NOT NULL, metric TEXT NOT NULL, amount TEXT NOT NULL,
  release TEXT NOT NULL, key TEXT NOT NULL, postings TEXT NOT NULL, hash TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS geoveil_write_offs ON geoveil_history (number) WHERE event = 'write off';
CREATE TABLE IF NOT EXISTS geoveil_postings (number BIGINT NOT NULL, subject TEXT NOT NULL, amount TEXT NOT NULL,
  PRIMARY KEY (number, subject));
CREATE INDEX IF NOT EXISTS geoveil_postings_subject ON geoveil_postings (subject, number);
CREATE TABLE IF NOT EXISTS geoveil_answers (number BIGINT PRIMARY KEY, key TEXT UNIQUE, owner TEXT NOT NULL,
  stored BIGINT, content TEXT, forgotten BIGINT);
CREATE TABLE IF NOT EXISTS geoveil_witness (ledger TEXT PRIMARY KEY, number BIGINT NOT NULL, hash TEXT NOT NULL);
INSERT INTO geoveil_head (one, number, hash) VALUES (1, 0, '{FIRST}') ON CONFLICT DO NOTHING
"""

#: A value that a ledger writes into a column.
SQLValue: TypeAlias = str | int | None
#: An SQL statement and its parameters.
Statement: TypeAlias = tuple[str, Sequence[SQLValue]]
#: A row that the database returns, with a value of any type in each column.
Row: TypeAlias = tuple[Any, ...]


#: The type of a database's connections.
Connection = TypeVar("Connection")

#: Connections that a fork has copied. They belong to the parent and are kept, so that they are not closed here.
_PARENTS: list[object] = []

#: Largest number of rows that are sent one by one. More rows are sent as one parameter, which takes longer to plan
#: and less time to send.
FEW = 20


class Transaction(ABC):
    """A database transaction: reads stay valid until its end, and writes happen with its commit, all or none."""

    #: An SQL expression for the current time by the store's clock: UTC, as ISO 8601 text with microseconds.
    clock: ClassVar[str]
    #: An SQL subquery that returns the texts of a JSON array, which is one parameter.
    texts: ClassVar[str]

    def __init__(self) -> None:
        self._writes: list[tuple[str, list[Sequence[SQLValue]]]] = []
        #: Whether the commit was sent and not refused. If the connection is lost then, its outcome is unknown.
        self.committing = False

    @abstractmethod
    def ask(self, *questions: Statement) -> list[list[Row]]:
        """Run statements one after another, and return the rows of each."""

    def rows(self, sql: str, parameters: Sequence[SQLValue] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        return self.ask((sql, parameters))[0]

    def write(self, sql: str, *rows: Sequence[SQLValue]) -> None:
        """Run a statement with the commit, once for each row of parameters."""
        if rows:
            self._writes.append((sql, list(rows)))

    def among(self, values: Sequence[str]) -> tuple[str, list[str]]:
        """Return the SQL condition `IN ...` for a column to be one of these texts, and its parameters."""
        if 0 < len(values) <= FEW:
            return f"IN ({', '.join('?' * len(values))})", [*values]
        return f"IN {self.texts}", [json.dumps(values)]

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[str | int]]) -> None:
        """Insert rows of texts and integers with the commit."""
        self.write(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", *rows)

    def update(self, table: str, column: str, key: str, rows: Sequence[tuple[str | int, str]]) -> None:
        """Update a column with the commit; `rows` are pairs of a new value and of what is in the column `key`."""
        self.write(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", *rows)

    @abstractmethod
    def commit(self) -> None:
        """Run the collected writes and commit durably."""


class Store(ABC, Generic[Connection]):
    """A database with the tables of a ledger, which threads and forked processes may share.

    A call without a deadline has a time limit of `timeout` seconds.
    """

    #: The database's exceptions.
    problems: tuple[type[Exception], ...] = ()
    #: Whether the database is a backup, which can only be read; set when it is opened.
    is_backup = False

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        #: One lock for each process: a fork may copy a lock that a thread of the parent holds.
        self._locks: dict[tuple[int, bytes], threading.Lock] = {}
        self._opened: Connection | None = None
        self._process: tuple[int, bytes] | None = None

    @property
    @abstractmethod
    def name(self) -> str:
        """Where the database is, for people; without passwords."""

    @abstractmethod
    def _connect(self, deadline: float) -> Connection:
        """Return a new connection to the database, after creating its tables if they are missing."""

    def _is_usable(self, connection: Connection) -> bool:
        """Tell whether an idle connection can be used, as far as is known without asking the server."""
        return True

    @abstractmethod
    def _close(self, connection: Connection) -> None:
        """Close a connection of this process."""

    @abstractmethod
    def _begin(self, connection: Connection, deadline: float, *, reading: bool) -> Transaction:
        """Begin a transaction: an exclusive one, or one that only reads."""

    @abstractmethod
    def _roll_back(self, connection: Connection) -> None:
        """Roll back the transaction."""

    @abstractmethod
    def _translated(self, problem: Exception, transaction: Transaction | None, deadline: float) -> Exception:
        """Return the ledger's error for an error of the database, in a call with this deadline."""

    def transaction(self, deadline: float | None = None) -> AbstractContextManager[Transaction]:
        """Begin an exclusive transaction; raise LedgerTimeout after the deadline (a time of `time.monotonic`)."""
        return self._within(deadline, reading=False)

    def reading(self, deadline: float | None = None) -> AbstractContextManager[Transaction]:
        """Begin a transaction that reads a snapshot of the ledger, and neither writes nor locks it."""
        return self._within(deadline, reading=True)

    @contextmanager
    def _within(self, deadline: float | None, *, reading: bool) -> Iterator[Transaction]:
        if deadline is None:
            deadline = time.monotonic() + self.timeout
        lock = self._lock
        if not lock.acquire(timeout=left(deadline)):
            raise LedgerTimeout("Other threads held the ledger until the time limit.", "Try again.", charged="nothing")
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

    def _connection(self, deadline: float) -> Connection:
        """Return this process's connection, and open one if there is none that can be used."""
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

    def _end(self, connection: Connection) -> None:
        """Roll back, and close the connection if that fails."""
        try:
            self._roll_back(connection)
        except Exception:
            self._drop()

    def _drop(self) -> None:
        if self._opened is not None and self._process == this_process():
            with suppress(Exception):
                self._close(self._opened)
            self._opened = None

    def __del__(self) -> None:
        self._drop()

    def close(self) -> None:
        """Close the connection; it is opened again when it is needed."""
        with self._lock:
            self._drop()


def left(deadline: float) -> float:
    """Return the seconds until a deadline, at least a millisecond."""
    return max(deadline - time.monotonic(), 0.001)


def is_database(place: str | os.PathLike[str]) -> bool:
    """Tell whether a place is a PostgreSQL connection string, and not the path of a file."""
    return bool(re.match(r"postgres(ql)?://|.*\bdbname=", str(place)))


def without_password(place: str) -> str:
    """Return the place of a ledger without the passwords in a connection string, to be shown and written.

    Examples
    --------
    >>> without_password("postgresql://lab:secret@db.example.org/budgets?sslmode=require&password=secret")
    'postgresql://lab@db.example.org/budgets?sslmode=require'
    >>> without_password("host=db dbname=budgets password='a secret' user=lab"), without_password("budget.db")
    ('host=db dbname=budgets user=lab', 'budget.db')
    """
    if not is_database(place):
        return place
    # A password may have unescaped characters of an address, up to the last @.
    place = re.sub(r"^(postgres(?:ql)?://[^:@/?]*):.*@", r"\1@", place, flags=re.DOTALL)
    place = re.sub(r"(?i)(?<=[?&])[a-z]*password=[^&]*&?", "", place).rstrip("?&")
    return re.sub(r"(?i)\b[a-z]*password\s*=\s*(?:'(?:\\.|[^'\\])*(?:'|$)|\S*)\s*", "", place).strip()


def open_store(place: str | os.PathLike[str], timeout: float) -> Store[Any]:
    """Return the store for a path or a PostgreSQL connection string."""
    if not is_database(place):
        from geoveil.budget.sqlite_store import SQLite

        return SQLite(place, timeout)
    try:
        from geoveil.budget.postgres_store import Postgres
    except ImportError as problem:
        if (problem.name or "").partition(".")[0] != "psycopg":
            raise
        raise LedgerUnavailable(
            "PostgreSQL needs psycopg.", "Install geoveil with the extra `postgres`, or use a file."
        ) from None
    return Postgres(str(place), timeout)
