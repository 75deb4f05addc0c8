"""A second place that knows where a ledger ends, so that a ledger that was set back is noticed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from geoveil.budget.stores import is_database, open_store
from geoveil.errors import InvalidParameter, LedgerError, LedgerTampered, LedgerUnavailable

__all__ = ["Head", "Memory", "Witness", "check_heads", "head_questions"]

#: The environment variable with the place of the witness of every ledger that is given none.
_PLACE = "GEOVEIL_LEDGER_WITNESS"
_INSERT = "INSERT INTO geoveil_witness (ledger, number, hash) VALUES (?, ?, ?) ON CONFLICT (ledger) DO"


@dataclass(frozen=True)
class Head:
    """A line that a ledger had.

    Parameters
    ----------
    number : int
        Number of the line.
    hash : str
        Hash of the line and of all lines before it.
    by : str
        Who knows of it, for messages.
    """

    number: int
    hash: str
    by: str = "this process"


class Witness:
    """Keeps the last line of ledgers; it holds no names, no amounts and no answers.

    Parameters
    ----------
    place : str or Path
        A file or a connection string of PostgreSQL, as for a ledger, and best on another disk or machine.
    timeout : float
        Seconds that a call may take.
    """

    def __init__(self, place: str | os.PathLike[str], timeout: float = 60.0) -> None:
        self._store = open_store(place, timeout)
        self._place = place

    @classmethod
    def of(cls, place: str | os.PathLike[str] | None, timeout: float) -> Witness | None:
        """Return the witness at a place, without one at that which the environment names; "" is no witness."""
        chosen = os.environ.get(_PLACE) if place is None else place
        return cls(chosen, timeout) if chosen else None

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Say of errors that they are about the witness, and not about the ledger."""
        try:
            yield
        except LedgerError as problem:
            raise type(problem)(f"The witness of the ledger: {problem}") from problem

    def check_apart(self, ledger: str) -> None:
        """Refuse to be the witness of a ledger that is kept at the same place."""
        with self._named(), self._store.reading() as transaction:
            same = transaction.rows("SELECT 1 FROM geoveil_ledger WHERE id = ?", (ledger,))
        if same:
            # A connection string may hold a password.
            shown = "the same database" if is_database(self._place) else str(self._place)
            remedy = (
                "What sets back the ledger would set back its witness too. Give a place on another disk or machine."
            )
            raise InvalidParameter("witness", shown, "another place than the ledger and its copies", remedy)

    def head(self, ledger: str, deadline: float | None = None) -> Head | None:
        """Return the last line of a ledger that was recorded."""
        with self._named(), self._store.reading(deadline) as transaction:
            found = transaction.rows("SELECT number, hash FROM geoveil_witness WHERE ledger = ?", (ledger,))
        return Head(int(found[0][0]), found[0][1], "the witness") if found else None

    def record(self, ledger: str, head: Head, deadline: float | None = None) -> None:
        """Record a line, unless a later one is known: processes may come here in another order than they charged."""
        later = " UPDATE SET number = excluded.number, hash = excluded.hash"
        with self._named(), self._store.transaction(deadline) as transaction:
            transaction.write(
                f"{_INSERT}{later} WHERE geoveil_witness.number < excluded.number", (ledger, head.number, head.hash)
            )

    def forget(self, ledger: str) -> None:
        """Forget a ledger, whose owner has written off what was lost."""
        with self._named(), self._store.transaction() as transaction:
            transaction.write("DELETE FROM geoveil_witness WHERE ledger = ?", (ledger,))

    def close(self) -> None:
        """Close the connection; it is opened again when it is needed."""
        self._store.close()


class Memory:
    """What is known of a ledger's end: by this process, and by a witness if there is one.

    Parameters
    ----------
    witness : Witness, optional
        Is told of every commit before anything is released.
    """

    def __init__(self, witness: Witness | None) -> None:
        self.witness = witness
        self._last: Head | None = None
        self._lock = threading.Lock()

    def heads(self, ledger: str, deadline: float | None = None) -> list[Head]:
        """Return the lines that a ledger must have. Ask before it is locked: what is known then is committed."""
        told = None if self.witness is None else self.witness.head(ledger, deadline)
        return [head for head in (self._last, told) if head is not None]

    def record(self, ledger: str, number: int, hash: str, deadline: float) -> None:
        """Remember the last line of a ledger, and tell the witness."""
        head = Head(number, hash)
        with self._lock:
            if self._last is None or number > self._last.number:
                self._last = head
        if self.witness is None:
            return
        try:
            self.witness.record(ledger, head, deadline)
        except LedgerError as problem:
            raise LedgerUnavailable(
                f"Entry {number} was committed, and the witness could not be told of it. Nothing was released, and "
                f"what was charged is spent. {str(problem).partition('. ')[0]}."
            ) from problem


def head_questions(heads: Sequence[Head]) -> list[tuple[str, Sequence[Any]]]:
    """Return the statements that read the lines of heads."""
    return [("SELECT hash FROM geoveil_history WHERE number = ?", (head.number,)) for head in heads]


def check_heads(heads: Sequence[Head], found: Sequence[list[tuple[Any, ...]]]) -> None:
    """Refuse a ledger that lacks a line which it had, from the rows that `head_questions` give."""
    for head, rows in zip(heads, found, strict=True):
        if head.number and rows != [(head.hash,)]:
            raise LedgerTampered(
                f"The ledger was set back: entry {head.number}, which {head.by} knows of, is missing or another one. "
                "Nothing was released. Was an old copy put in its place? Use the newest one. A file is restored with "
                "`geoveil budget restore`, a database with its own tools."
            )
