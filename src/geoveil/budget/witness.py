"""A witness: a second database that records the last entry of a ledger, to detect that an old copy replaced it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from geoveil.budget.stores import Row, Statement, is_database, open_store
from geoveil.errors import InvalidParameter, LedgerError, LedgerTampered, LedgerUnavailable, Message

__all__ = ["Head", "Memory", "Witness", "check_heads", "head_questions"]

#: The environment variable with the default witness of every ledger.
_PLACE = "GEOVEIL_LEDGER_WITNESS"
_RECORD = (
    "INSERT INTO geoveil_witness (ledger, number, hash) VALUES (?, ?, ?) "
    "ON CONFLICT (ledger) DO UPDATE SET number = excluded.number, hash = excluded.hash"
)


@dataclass(frozen=True)
class Head:
    """An entry that a ledger must have, and who recorded it, for messages."""

    number: int
    hash: str
    by: str = "this process"


class Witness:
    """A database with the last entries of ledgers; it contains no names, amounts or answers.

    It is given like a ledger, by a path or a connection string, preferably on another disk or machine.
    """

    def __init__(self, place: str | os.PathLike[str], timeout: float = 60.0) -> None:
        self._store = open_store(place, timeout)
        self._place = place

    @classmethod
    def of(cls, place: str | os.PathLike[str] | None, timeout: float) -> Witness | None:
        """Return the witness at a place, by default the environment's; None if there is none or the place is ""."""
        chosen = os.environ.get(_PLACE) if place is None else place
        return cls(chosen, timeout) if chosen else None

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Reword errors inside the block, so that they name the witness and not the ledger."""
        try:
            yield
        except LedgerError as problem:
            named = Message("The witness of the ledger: {problem}", problem=problem.problem)
            raise type(problem)(named, problem.remedy, charged=problem.charged) from problem

    def check_apart(self, ledger: str) -> None:
        """Raise InvalidParameter if the ledger itself is in this database."""
        with self._named(), self._store.reading() as transaction:
            same = transaction.rows("SELECT 1 FROM geoveil_ledger WHERE id = ?", (ledger,))
        if same:
            # A connection string may hold a password.
            shown = "the same database" if is_database(self._place) else str(self._place)
            remedy = "An old copy of the ledger would replace its witness too. Use another disk or machine."
            raise InvalidParameter("witness", shown, "another place than the ledger and its copies", remedy)

    def head(self, ledger: str, deadline: float | None = None) -> Head | None:
        """Return the last recorded entry of a ledger, or None."""
        with self._named(), self._store.reading(deadline) as transaction:
            found = transaction.rows("SELECT number, hash FROM geoveil_witness WHERE ledger = ?", (ledger,))
        return Head(int(found[0][0]), found[0][1], "the witness") if found else None

    def record(self, ledger: str, head: Head, deadline: float | None = None, *, replace: bool = False) -> None:
        """Record an entry unless a later one is recorded: processes may arrive in another order than they charged.

        With `replace`, also in place of a later one: for a ledger whose owner has written off the lost charges.
        """
        unless = "" if replace else " WHERE geoveil_witness.number < excluded.number"
        with self._named(), self._store.transaction(deadline) as transaction:
            transaction.write(f"{_RECORD}{unless}", (ledger, head.number, head.hash))

    def close(self) -> None:
        """Close the connection, which is opened again when needed."""
        self._store.close()


class Memory:
    """The last entry of a ledger known to this process and to the witness, if there is one.

    The witness records every commit before anything is released.
    """

    def __init__(self, witness: Witness | None) -> None:
        self.witness = witness
        self._last: Head | None = None
        self._lock = threading.Lock()

    def heads(self, ledger: str, deadline: float | None = None) -> list[Head]:
        """Return the entries that a ledger must have; call it before the ledger is locked: they are then committed."""
        witnessed = None if self.witness is None else self.witness.head(ledger, deadline)
        return [head for head in (self._last, witnessed) if head is not None]

    def remember(self, head: Head) -> None:
        """Remember an entry of this process's ledger that is committed, unless a later one is remembered."""
        with self._lock:
            if self._last is None or head.number > self._last.number:
                self._last = head

    def record(self, ledger: str, number: int, hash: str, deadline: float) -> None:
        """Record the last entry of a ledger here and at the witness."""
        head = Head(number, hash)
        self.remember(head)
        if self.witness is None:
            return
        try:
            self.witness.record(ledger, head, deadline)
        except LedgerError as problem:
            raise LedgerUnavailable(
                Message(
                    "Entry {number} was committed, but the witness could not record it. {why}",
                    number=number,
                    why=problem.problem,
                ),
                charged="spent",
            ) from problem


def head_questions(heads: Sequence[Head]) -> list[Statement]:
    """Return the statements that read the hashes of these entries."""
    return [("SELECT hash FROM geoveil_history WHERE number = ?", (head.number,)) for head in heads]


def check_heads(heads: Sequence[Head], found: Sequence[list[Row]]) -> None:
    """Raise LedgerTampered if an entry is missing, given the rows of `head_questions`."""
    for head, rows in zip(heads, found, strict=True):
        if head.number and rows != [(head.hash,)]:
            raise LedgerTampered(
                f"The ledger was set back: entry {head.number}, which {head.by} knows of, is missing or different.",
                "Was the ledger replaced by an old copy? Use the newest one. Restore a file "
                "with `geoveil budget restore`, and a database with its own tools.",
                charged="nothing",
            )
