"""A ledger's tables: snapshots that are read, and transactions that add entries to the history."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar
from uuid import uuid4

from geoveil.budget.accounts import Account, guarantee_of
from geoveil.budget.entries import FIRST, Entry, Line, Postings, link, postings_digest
from geoveil.budget.stores import VERSION, Row, Statement, Store, Transaction
from geoveil.budget.threads import uninterrupted
from geoveil.budget.witness import Head, Memory, Witness, check_heads, head_questions
from geoveil.errors import LedgerUnavailable
from geoveil.privacy import Guarantee
from geoveil.privacy.exact import written

__all__ = ["ACCOUNT_ROWS", "LINES", "Book", "Journal", "accounts_among", "accounts_of", "line_at", "postings_of"]

T = TypeVar("T")

#: The statements that read rows of accounts and of the history.
ACCOUNT_ROWS = "SELECT subject, notion, metric, total, spent FROM geoveil_accounts"
LINES = f"SELECT {', '.join(Line._fields)} FROM geoveil_history WHERE number"


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
    found = transaction.rows("SELECT subject, amount FROM geoveil_postings WHERE number = ?", (number,))
    return [(subject, amount) for subject, amount in found]


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
        held, found, *earlier = transaction.ask(*questions)
        check_heads(heads, earlier)
        number, hashed, now = held[0]
        return cls(ledger, secret, int(number), hashed, now, accounts_of(found))

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
        transaction.update_accounts("spent", [(written(self.accounts[name].spent), name) for name in self._touched])


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
    found = transaction.rows("SELECT version, id, seal FROM geoveil_ledger")
    if not found:
        return None
    version, name, seal = found[0]
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
