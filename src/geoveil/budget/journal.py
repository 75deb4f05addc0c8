"""The ledger within one transaction: the end of its history, some accounts, and the lines that are being added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

from geoveil.budget.chain import FIRST, link
from geoveil.budget.history import COLUMNS, guarantee_of
from geoveil.budget.schema import VERSION
from geoveil.budget.stores import Transaction
from geoveil.errors import LedgerError, LedgerUnavailable
from geoveil.privacy import Guarantee
from geoveil.privacy.exact import written

__all__ = ["Journal", "begin_ledger", "ledger_id", "lines_of", "read_accounts"]

_FIELDS = ", ".join(COLUMNS)
_ENTRY = f"INSERT INTO geoveil_history ({_FIELDS}, hash) VALUES ({', '.join('?' * 11)})"
_HELD = "SELECT number, hash, time FROM geoveil_head WHERE one = 1 FOR UPDATE"
_HEAD = "UPDATE geoveil_head SET number = ?, hash = ?, time = ? WHERE one = 1"
_CHARGED = "INSERT INTO geoveil_answers (key, number, entries, owner) VALUES (?, ?, ?, ?)"
#: A clock that is corrected may go back by this much.
_STEP = timedelta(minutes=5)
#: Number of subjects that one statement looks up.
_AT_ONCE = 5000

Accounts = dict[str, tuple[Guarantee, Decimal]]


@dataclass
class Journal:
    """The ledger as a transaction sees it and leaves it.

    Parameters
    ----------
    ledger : str
        Id of the ledger.
    secret : bytes, optional
        The key of the chain.
    number, hash, time :
        Of the last line.
    accounts : dict
        Total and spent amount of the subjects that the transaction is about.
    """

    ledger: str
    secret: bytes | None
    number: int
    hash: str
    time: str
    accounts: Accounts
    added: list[dict[str, Any]] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    charged: dict[str, tuple[int, int, str]] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        transaction: Transaction,
        ledger: str,
        secret: bytes | None,
        names: Sequence[str],
        *,
        charging: bool = True,
    ) -> Journal:
        """Read the last line, which locks the ledger against others, and the accounts of some subjects."""
        held, *found = transaction.ask((_HELD, ()), *_account_questions(names))
        number, hashed, last = held[0]
        now, before = datetime.now(UTC), datetime.fromisoformat(last)
        if charging and now < before - _STEP:
            raise LedgerError(
                f"The clock says {_moment(now)}, and the ledger's last entry is of {last}: set the clock right. "
                "Nothing was charged."
            )
        return cls(ledger, secret, int(number), hashed, _moment(max(now, before)), _accounts(found))

    def add(
        self,
        subject: str,
        event: str,
        of: Guarantee,
        *,
        query: str = "",
        parameters: str = "{}",
        release: str = "",
        amount: str | None = None,
    ) -> dict[str, Any]:
        """Add a line, chained to the last one."""
        line: dict[str, Any] = {
            "number": self.number + 1,
            "time": self.time,
            "subject": subject,
            "event": event,
            "query": query,
            "parameters": parameters,
            "notion": of.notion,
            "metric": of.metric.name,
            "amount": written(of.budget) if amount is None else amount,
            "release": release,
        }
        line["hash"] = link(self.hash, {**line, "ledger": self.ledger}, self.secret)
        self.number, self.hash = line["number"], line["hash"]
        self.added.append(line)
        return line

    def write(self, transaction: Transaction) -> None:
        """Write the new lines, and what they make of the accounts."""
        if not self.added:
            return
        transaction.write(_ENTRY, *(tuple(line[name] for name in (*COLUMNS, "hash")) for line in self.added))
        transaction.write(_HEAD, (self.number, self.hash, self.time))
        transaction.write(_CHARGED, *((key, *lines) for key, lines in self.charged.items()))
        spent = [(written(self.accounts[name][1]), name) for name in self.touched]
        transaction.update("geoveil_accounts", "spent", "subject", spent)


def ledger_id(transaction: Transaction, secret: bytes | None) -> str | None:
    """Return the id of the ledger, or None if it is a new one; refuse another version or another key."""
    found = transaction.rows("SELECT version, id, seal FROM geoveil_ledger")
    if not found:
        return None
    version, name, seal = found[0]
    if version != VERSION:
        raise LedgerUnavailable(f"The ledger is of version {version}; this geoveil knows {VERSION}: use a newer one.")
    if seal != _seal(name, secret):
        told = "has a key, and it is another one" if seal else "was made without a key"
        raise LedgerUnavailable(f"The ledger {told}: give the key= that it was made with, or none.")
    return str(name)


def begin_ledger(transaction: Transaction, secret: bytes | None) -> str:
    """Give a new ledger its id, and return it; if another process was faster, return that one's."""
    # Of those who open it at the same time, the second waits here for the first.
    transaction.rows(_HELD)
    known = ledger_id(transaction, secret)
    if known is not None:
        return known
    name = uuid4().hex
    transaction.write(
        "INSERT INTO geoveil_ledger (version, id, created, seal) VALUES (?, ?, ?, ?)",
        (VERSION, name, _moment(datetime.now(UTC)), _seal(name, secret)),
    )
    return name


def _seal(name: str, secret: bytes | None) -> str | None:
    return None if secret is None else link(FIRST, {"ledger": name}, secret)


def read_accounts(transaction: Transaction, names: Sequence[str]) -> Accounts:
    """Return the total and the spent amount of those subjects that have an account."""
    return _accounts(transaction.ask(*_account_questions(names)))


def lines_of(transaction: Transaction, condition: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Return the lines of the history that meet a condition, in their order, by the names of their columns."""
    rows = transaction.rows(
        f"SELECT {_FIELDS}, hash FROM geoveil_history WHERE {condition} ORDER BY number", parameters
    )
    return [dict(zip((*COLUMNS, "hash"), row, strict=True)) for row in rows]


def _account_questions(names: Sequence[str]) -> list[tuple[str, Sequence[Any]]]:
    chunks = [names[first : first + _AT_ONCE] for first in range(0, len(names), _AT_ONCE)]
    return [
        (
            "SELECT subject, notion, metric, total, spent FROM geoveil_accounts "
            f"WHERE subject IN ({', '.join('?' * len(some))})",
            some,
        )
        for some in chunks
    ]


def _accounts(found: list[list[tuple[Any, ...]]]) -> Accounts:
    return {
        name: (guarantee_of(notion, metric, total), Decimal(spent))
        for rows in found
        for name, notion, metric, total, spent in rows
    }


def _moment(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")
