"""A ledger in a PostgreSQL database."""

from __future__ import annotations

import json
import math
import selectors
import time
from collections.abc import Generator, Sequence
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from geoveil.budget.stores import FEW, TABLES, Row, Statement, Store, Transaction, left
from geoveil.errors import Charged, LedgerTimeout, LedgerUnavailable

__all__ = ["Postgres"]

#: Seconds beyond a deadline in which the server may report the timeout itself.
_GRACE = 0.25


class _Late(psycopg.OperationalError):
    """The server did not answer before the deadline."""


class _Connection(psycopg.Connection[Row]):
    """A connection that waits at most until a deadline, even if the server does not answer at all."""

    deadline = math.inf

    def __del__(self, *_: object) -> None:
        """Do not warn: the garbage collector may collect a connection before its store; libpq closes it."""

    def wait(self, gen: Any, *args: Any, **more: Any) -> Any:
        """Run a psycopg command until the deadline."""
        return super().wait(self._until_deadline(gen), *args, **more)

    def _until_deadline(self, command: Any) -> Generator[Any, Any, Any]:
        try:
            wanted = next(command)
            while True:
                # psycopg resumes a command when the socket is ready, and also ten times a second.
                ready = yield wanted
                if not ready and time.monotonic() > self.deadline:
                    raise _Late("no answer from the server")
                wanted = command.send(ready)
        except StopIteration as end:
            return end.value


class _PostgresTransaction(Transaction):
    """A transaction that sends its statements in as few messages as possible, since each message is a round trip.

    A writing transaction runs under READ COMMITTED, whatever the database's default is. Each statement then sees all
    earlier commits, so that after waiting for a lock it sees what the previous holder of the lock wrote.
    """

    clock = "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"+00:00\"')"
    texts = "(SELECT json_array_elements_text(?::json))"

    def __init__(self, connection: _Connection, beginning: str) -> None:
        super().__init__()
        self._cursor = psycopg.ClientCursor(connection)
        self._beginning = [(beginning, ())]

    def _send(self, statements: Sequence[Statement]) -> None:
        # psycopg writes the parameters into the text, since a message of several statements cannot have any.
        self._cursor.execute(
            "; ".join(self._cursor.mogrify(sql.replace("?", "%s"), given) for sql, given in statements)
        )

    def ask(self, *questions: Statement) -> list[list[Row]]:
        beginning, self._beginning = self._beginning, []
        self._send([*beginning, *questions])
        answers = []
        while True:
            if self._cursor.description is not None:
                answers.append(self._cursor.fetchall())
            if not self._cursor.nextset():
                return answers

    # Many rows are sent as one parameter, a JSON array: psycopg takes far longer to write values into a statement.

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[str | int]]) -> None:
        if len(rows) <= FEW:
            return super().insert(table, columns, rows)
        types = ["bigint" if isinstance(value, int) else "text" for value in rows[0]]
        values = ", ".join(f"(row->>{at})::{each}" for at, each in enumerate(types))
        self.write(
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM json_array_elements(?::json) AS row",
            (json.dumps(rows),),
        )

    def update(self, table: str, column: str, key: str, rows: Sequence[tuple[str | int, str]]) -> None:
        if len(rows) <= FEW:
            return super().update(table, column, key, rows)
        value = "(new->>0)::bigint" if isinstance(rows[0][0], int) else "new->>0"
        self.write(
            f"UPDATE {table} SET {column} = {value} FROM json_array_elements(?::json) AS new WHERE {key} = new->>1",
            (json.dumps(rows),),
        )

    def commit(self) -> None:
        statements: list[Statement] = []
        for sql, rows in self._writes:
            head, values, tail = sql.partition(" VALUES ")
            if values:
                # Insert all rows of a table with one statement.
                flat = [value for row in rows for value in row]
                statements.append((head + values + ", ".join([tail] * len(rows)), flat))
            else:
                statements += [(sql, row) for row in rows]
        if self._beginning and not statements:
            return  # the transaction never began
        self.committing = bool(statements)
        # Without the server's time limit: it reports a commit as done if the limit ends its wait for a standby.
        self._send([*self._beginning, *statements, ("SET LOCAL statement_timeout=0", ()), ("COMMIT", ())])


class Postgres(Store[_Connection]):
    """A ledger in a PostgreSQL database, given by a connection string for psycopg."""

    problems = (psycopg.Error,)

    def __init__(self, url: str, timeout: float) -> None:
        super().__init__(timeout)
        self._url = url

    @property
    def name(self) -> str:
        # Only these parts: others may be secret, such as the password.
        parts = conninfo_to_dict(self._url)
        told = [f"{part} {parts[part]}" for part in ("dbname", "host", "port", "user") if parts.get(part)]
        return f"PostgreSQL, {', '.join(told)}" if told else "PostgreSQL"

    def _connect(self, deadline: float) -> _Connection:
        more: dict[str, int] = {}
        if "tcp_user_timeout" not in conninfo_to_dict(self._url):
            # Time limit for the network to acknowledge sent bytes.
            more["tcp_user_timeout"] = max(int(1000 * self.timeout), 1)
        connection = _Connection.connect(
            make_conninfo(self._url, **more),
            autocommit=True,
            # psycopg accepts whole seconds, at least two.
            connect_timeout=max(math.ceil(left(deadline)), 2),
            cursor_factory=psycopg.ClientCursor,
        )
        connection.deadline = deadline + _GRACE
        try:
            if connection.execute("SELECT to_regclass('geoveil_head')").fetchone() == (None,):
                # Only if they are missing: a role without the right to create tables can use existing ones.
                connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
                connection.execute(f"SET LOCAL lock_timeout={_milliseconds(deadline)}")
                connection.execute("SELECT pg_advisory_xact_lock(7103246582)")
                for statement in TABLES.split(";\n"):
                    connection.execute(statement)
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def _close(self, connection: _Connection) -> None:
        connection.close()

    def _is_usable(self, connection: _Connection) -> bool:
        if connection.closed:
            return False
        with selectors.DefaultSelector() as selector:
            # The only thing that a server sends to an idle connection is that it closes.
            selector.register(connection.fileno(), selectors.EVENT_READ)
            return not selector.select(0)

    def _begin(self, connection: _Connection, deadline: float, *, reading: bool) -> Transaction:
        connection.deadline = deadline + _GRACE
        wait = _milliseconds(deadline)
        if reading:
            mode = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        else:
            # A process that stops while it holds the ledger loses its lock, but not before its own deadline: the
            # server must not end the session between two statements of a call that still has time.
            silent = _milliseconds(connection.deadline)
            mode = (
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL synchronous_commit=on; "
                f"SET LOCAL idle_in_transaction_session_timeout={silent}; SET LOCAL lock_timeout={wait}"
            )
        return _PostgresTransaction(connection, f"{mode}; SET LOCAL statement_timeout={wait}")

    def _roll_back(self, connection: _Connection) -> None:
        connection.execute("ROLLBACK")

    def _translated(self, problem: Exception, transaction: Transaction | None, deadline: float) -> Exception:
        errors = psycopg.errors
        reason = str(problem).strip()
        # An error from the server rolls the transaction back, except when the server itself is shutting down.
        lost = problem.sqlstate is None or problem.sqlstate.startswith(("08", "57P"))  # type: ignore[attr-defined]
        if transaction is not None and not lost:
            transaction.committing = False
        charged: Charged = "unknown" if transaction is not None and transaction.committing else "nothing"
        late = (errors.LockNotAvailable, errors.QueryCanceled, errors.IdleInTransactionSessionTimeout)
        # A session that the server ended after its timeout may also look like a lost connection.
        ended = transaction is not None and lost and time.monotonic() >= deadline
        if ended or isinstance(problem, (_Late, errors.ConnectionTimeout, *late)):
            return LedgerTimeout(
                f"The database did not answer within the time limit ({reason}).", "Try again.", charged=charged
            )
        reason = reason.rstrip(".?! ")
        return LedgerUnavailable(f"The database cannot be used: {reason}.", "Is the server running?", charged=charged)


def _milliseconds(deadline: float) -> int:
    return max(int(1000 * left(deadline)), 1)
