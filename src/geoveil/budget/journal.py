"""A ledger's tables: snapshots that are read, and transactions that add entries to the history.

A witness is a second database that records the last entry of a ledger. With it, and with what this process remembers,
each transaction detects that an old copy has replaced the ledger.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar
from uuid import uuid4

from geoveil.budget.accounts import Account, guarantee_of
from geoveil.budget.entries import FIRST, Entry, Line, Postings, link, postings_digest
from geoveil.budget.stores import VERSION, Row, Statement, Store, Transaction, is_database, open_store
from geoveil.budget.turns import uninterrupted
from geoveil.errors import InvalidParameter, LedgerError, LedgerTampered, LedgerUnavailable, Message
from geoveil.privacy import Guarantee
from geoveil.privacy.exact import written

__all__ = [
    *("ACCOUNT_ROWS", "LINES", "Book", "Head", "Journal", "Memory", "Witness"),
    *("accounts_among", "accounts_of", "check_heads", "head_questions", "line_at", "postings_of"),
]

T = TypeVar("T")

#: The statements that read rows of accounts and of the history.
ACCOUNT_ROWS = "SELECT subject, notion, metric, total, spent FROM geoveil_accounts"
LINES = f"SELECT {', '.join(Line._fields)} FROM geoveil_history WHERE number"
#: The environment variable with the default witness of every ledger.
_PLACE = "GEOVEIL_LEDGER_WITNESS"
_RECORD = (
    "INSERT INTO geoveil_witness (ledger, number, hash) VALUES (?, ?, ?) "
    "ON CONFLICT (ledger) DO UPDATE SET number = excluded.number, hash = excluded.hash"
)


def accounts_among(transaction: Transaction, names: Sequence[str]) -> Statement:
    """Return the SQL statement that reads the accounts of these subjects, and its parameters."""
    condition, parameters = transaction.among(names)
    return f"{ACCOUNT_ROWS} WHERE subject {condition}", parameters


def accounts_of(rows: list[Row]) -> dict[str, Account]:
    """Return accounts from their rows, by subject."""
    return {
        name: Account(name, guarantee_of(notion, metric, total), Decimal(spent))
        for name, notion, metric, total, spent in rows
    }


def line_at(transaction: Transaction, number: int) -> Line | None:
    """Return the entry with this number, or None if it is missing."""
    return next((Line(*row) for row in transaction.rows(f"{LINES} = ?", (number,))), None)


def postings_of(transaction: Transaction, number: int) -> list[tuple[str, str]]:
    """Return the postings of an entry."""
    rows = transaction.rows("SELECT subject, amount FROM geoveil_postings WHERE number = ?", (number,))
    return [(subject, amount) for subject, amount in rows]


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
            rows = transaction.rows("SELECT number, hash FROM geoveil_witness WHERE ledger = ?", (ledger,))
        return Head(int(rows[0][0]), rows[0][1], "the witness") if rows else None

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


def check_heads(heads: Sequence[Head], answers: Sequence[list[Row]]) -> None:
    """Raise LedgerTampered if an entry is missing, given the rows of `head_questions`."""
    for head, rows in zip(heads, answers, strict=True):
        if head.number and rows != [(head.hash,)]:
            raise LedgerTampered(
                f"The ledger was set back: entry {head.number}, which {head.by} knows of, is missing or different.",
                "Was the ledger replaced by an old copy? Use the newest one. Restore a file "
                "with `geoveil budget restore`, and a database with its own tools.",
                charged="nothing",
            )


@dataclass
class Journal:
    """The ledger as a writing transaction reads it and changes it: its last entry, and the accounts of subjects."""

    ledger: str
    secret: bytes | None
    number: int
    hash: str
    #: The time by the store's clock. Entries are ordered by number, since a clock may be wrong or be set back.
    time: str
    accounts: dict[str, Account]
    _lines: list[Line] = field(default_factory=list)
    _postings: list[tuple[int, str, str]] = field(default_factory=list)
    _touched: dict[str, None] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        transaction: Transaction,
        ledger: str,
        secret: bytes | None,
        names: Sequence[str] = (),
        heads: Sequence[Head] = (),
    ) -> Journal:
        """Lock the ledger, read its last entry and the named accounts, and check that it still has the `heads`."""
        head = f"SELECT number, hash, {transaction.clock} FROM geoveil_head WHERE one = 1 FOR UPDATE"
        questions = (head, ()), accounts_among(transaction, names), *head_questions(heads)
        held, account_rows, *earlier = transaction.ask(*questions)
        check_heads(heads, earlier)
        number, hashed, now = held[0]
        return cls(ledger, secret, int(number), hashed, now, accounts_of(account_rows))

    def add(
        self,
        event: str,
        of: Guarantee | None = None,
        postings: Postings = (),
        *,
        query: str = "",
        parameters: str = "{}",
        release: str = "",
        key: str = "",
    ) -> Entry:
        """Add an entry with its postings to the hash chain, and return it."""
        stated = ("", "", "") if of is None else (of.notion, of.metric.name, written(of.budget))
        self.number += 1
        line = Line(
            *(self.number, self.time, event, query, parameters, *stated, release, key, postings_digest(postings)),
            hash="",
        )
        self.hash = line.linked(self.ledger, self.hash, self.secret)
        self._lines.append(line._replace(hash=self.hash))
        self._postings += [(self.number, name, amount) for name, amount in postings]
        return Entry(self.ledger, self.number, self.hash)

    def spend(self, spent: dict[str, Decimal]) -> None:
        """Set the amounts spent of these accounts."""
        for name, amount in spent.items():
            self.accounts[name] = Account(name, self.accounts[name].total, amount)
        self._touched |= dict.fromkeys(spent)

    def write(self, transaction: Transaction) -> None:
        """Write the new entries and the changed accounts."""
        if not self._lines:
            return
        transaction.insert("geoveil_history", Line._fields, self._lines)
        transaction.insert("geoveil_postings", ("number", "subject", "amount"), self._postings)
        transaction.write("UPDATE geoveil_head SET number = ?, hash = ? WHERE one = 1", (self.number, self.hash))
        spent = [(written(self.accounts[name].spent), name) for name in self._touched]
        transaction.update("geoveil_accounts", "spent", "subject", spent)


class Book:
    """A ledger's store, the secret of its hash chain, and what is known of its last entry."""

    def __init__(self, store: Store[Any], secret: bytes | None, witness: Witness | None) -> None:
        self.store, self.secret, self.memory = store, secret, Memory(witness)
        self.id = uninterrupted(self._identified)

    def _identified(self) -> str:
        """Return the id of the ledger, which is given to a new one."""
        with self.store.reading() as transaction:
            known = _ledger_id(transaction, self.secret)
            self.remember(transaction)
        if known is None:
            with self.store.transaction() as transaction:
                known = _begin_ledger(transaction, self.secret)
        if self.memory.witness is not None:
            self.memory.witness.check_apart(known)
        return known

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Return what is read in a snapshot of the ledger; an interruption of the caller does not interrupt it."""

        def reading() -> T:
            with self.reading() as transaction:
                return work(transaction)

        return uninterrupted(reading)

    def write(self, work: Callable[[Transaction, Journal], T], names: Sequence[str] = ()) -> T:
        """Add entries to the ledger, all or none; an interruption of the caller does not interrupt it."""

        def writing() -> T:
            with self.writing(names) as (transaction, journal):
                return work(transaction, journal)

        return uninterrupted(writing)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Read a snapshot of the ledger, and check that it was not replaced by an old copy, unless it is a backup."""
        heads = [] if self.store.is_backup else self.memory.heads(self.id)
        with self.store.reading() as transaction:
            if heads:
                check_heads(heads, transaction.ask(*head_questions(heads)))
            self.remember(transaction)
            yield transaction

    @contextmanager
    def writing(
        self, names: Sequence[str] = (), deadline: float | None = None
    ) -> Iterator[tuple[Transaction, Journal]]:
        """Lock the ledger, check that it was not replaced by an old copy, and record its last entry at the end."""
        if deadline is None:
            deadline = time.monotonic() + self.store.timeout
        heads = self.memory.heads(self.id, deadline)
        with self.store.transaction(deadline) as transaction:
            journal = Journal.read(transaction, self.id, self.secret, names, heads)
            self.memory.remember(Head(journal.number, journal.hash))
            yield transaction, journal
        self.memory.record(self.id, journal.number, journal.hash, deadline)

    def remember(self, transaction: Transaction) -> Head:
        """Return the last entry, and remember it: it is committed, so the ledger must have it from now on."""
        ((number, hashed),) = transaction.rows("SELECT number, hash FROM geoveil_head")
        head = Head(int(number), hashed)
        self.memory.remember(head)
        return head

    def close(self) -> None:
        """Close the connections to the store and to the witness, which are opened again when needed."""
        self.store.close()
        if self.memory.witness is not None:
            self.memory.witness.close()


def _ledger_id(transaction: Transaction, secret: bytes | None) -> str | None:
    """Return the id of the ledger, or None if it is new; raise an error for another version or another secret."""
    rows = transaction.rows("SELECT version, id, seal FROM geoveil_ledger")
    if not rows:
        return None
    version, name, seal = rows[0]
    if version != VERSION:
        raise LedgerUnavailable(
            f"The ledger has version {version}; this geoveil reads version {VERSION}.", "Use a newer geoveil."
        )
    if seal != _seal(name, secret):
        if seal is None:
            made, remedy = "without a secret", "Unset GEOVEIL_LEDGER_SECRET; in Python, give no secret=."
        elif secret is None:
            made, remedy = "with a secret", "Set GEOVEIL_LEDGER_SECRET; in Python, secret= does the same."
        else:
            made, remedy = "with another secret", "Give that secret."
        raise LedgerUnavailable(f"This ledger was created {made}.", remedy, charged="nothing")
    return str(name)


def _begin_ledger(transaction: Transaction, secret: bytes | None) -> str:
    """Give a new ledger an id and return it; if another process did so first, return the id of that process."""
    # If several processes open the ledger at the same time, all but the first wait here.
    (((now,),),) = transaction.ask((f"SELECT {transaction.clock} FROM geoveil_head WHERE one = 1 FOR UPDATE", ()))
    known = _ledger_id(transaction, secret)
    if known is not None:
        return known
    name = uuid4().hex
    transaction.write(
        "INSERT INTO geoveil_ledger (version, id, created, seal) VALUES (?, ?, ?, ?)",
        (VERSION, name, now, _seal(name, secret)),
    )
    return name


def _seal(name: str, secret: bytes | None) -> str | None:
    return None if secret is None else link(FIRST, {"ledger": name}, secret)
