"""The ledger within one transaction: its last entry, the accounts in question, and the entries that are added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import uuid4

from geoveil.budget.chain import FIRST, link
from geoveil.budget.entries import Entry
from geoveil.budget.history import Postings, postings_digest
from geoveil.budget.reading import FIELDS, Accounts, account_question, accounts_of
from geoveil.budget.schema import VERSION
from geoveil.budget.stores import SQLValue, Transaction
from geoveil.budget.witness import Head, check_heads, head_questions
from geoveil.errors import LedgerUnavailable
from geoveil.privacy import Guarantee
from geoveil.privacy.exact import written

__all__ = ["Journal", "begin_ledger", "ledger_id"]

_LINE = f"INSERT INTO geoveil_history ({', '.join(FIELDS)}) VALUES ({', '.join('?' * len(FIELDS))})"


@dataclass
class Journal:
    """The ledger as a transaction reads it and changes it.

    Parameters
    ----------
    ledger : str
        Id of the ledger.
    secret : bytes, optional
        The key of the hash chain.
    number, hash :
        Number and hash of the last entry.
    time : str
        Time by the store's clock. Entries are ordered by number, since a clock may be wrong or be set back.
    accounts : dict
        Total and spent amount of the transaction's subjects.
    """

    ledger: str
    secret: bytes | None
    number: int
    hash: str
    time: str
    accounts: Accounts
    _lines: list[dict[str, SQLValue]] = field(default_factory=list)
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
        questions = (head, ()), account_question(transaction, names), *head_questions(heads)
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
        number = self.number + 1
        line: dict[str, SQLValue] = {
            "number": number,
            "time": self.time,
            "event": event,
            "query": query,
            "parameters": parameters,
            "notion": "" if of is None else of.notion,
            "metric": "" if of is None else of.metric.name,
            "amount": "" if of is None else written(of.budget),
            "release": release,
            "key": key,
            "postings": postings_digest(postings),
        }
        self.number, self.hash = number, link(self.hash, {**line, "ledger": self.ledger}, self.secret)
        self._lines.append({**line, "hash": self.hash})
        self._postings += [(self.number, name, amount) for name, amount in postings]
        return Entry(self.ledger, self.number, self.hash)

    def spend(self, spent: dict[str, Decimal]) -> None:
        """Set the amounts spent of these accounts."""
        for name, amount in spent.items():
            self.accounts[name] = self.accounts[name][0], amount
        self._touched |= dict.fromkeys(spent)

    def open_accounts(self, transaction: Transaction, names: Sequence[str], total: Guarantee) -> None:
        """Open accounts with this total; nothing is spent yet."""
        row = total.notion, total.metric.name, written(total.budget), "0"
        columns = ("subject", "notion", "metric", "total", "spent")
        transaction.insert("geoveil_accounts", columns, [(name, *row) for name in names])

    def write(self, transaction: Transaction) -> None:
        """Write the new entries and the changed accounts."""
        if not self._lines:
            return
        transaction.write(_LINE, *(tuple(line[name] for name in FIELDS) for line in self._lines))
        transaction.insert("geoveil_postings", ("number", "subject", "amount"), self._postings)
        transaction.write("UPDATE geoveil_head SET number = ?, hash = ? WHERE one = 1", (self.number, self.hash))
        spent = [(written(self.accounts[name][1]), name) for name in self._touched]
        transaction.update("geoveil_accounts", "spent", "subject", spent)


def ledger_id(transaction: Transaction, secret: bytes | None) -> str | None:
    """Return the id of the ledger, or None if it is new; raise an error for another version or another key."""
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
            made, remedy = "without a key", "Unset GEOVEIL_LEDGER_KEY; in Python, give no key=."
        elif secret is None:
            made, remedy = "with a key", "Set GEOVEIL_LEDGER_KEY; in Python, key= does the same."
        else:
            made, remedy = "with another key", "Give that key."
        raise LedgerUnavailable(f"This ledger was created {made}.", remedy, charged="nothing")
    return str(name)


def begin_ledger(transaction: Transaction, secret: bytes | None) -> str:
    """Give a new ledger an id and return it; if another process did so first, return the id of that process."""
    # If several processes open the ledger at the same time, all but the first wait here.
    (((now,),),) = transaction.ask((f"SELECT {transaction.clock} FROM geoveil_head WHERE one = 1 FOR UPDATE", ()))
    known = ledger_id(transaction, secret)
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
