"""Replay a ledger's history, and check its hash chain, rules, accounts, stored answers and certificates."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias

from geoveil.budget.chain import FIRST, link
from geoveil.budget.prices import price
from geoveil.budget.storable import digest
from geoveil.budget.stores import Row
from geoveil.certificates import certificate_digest
from geoveil.errors import IncompatibleGuarantees, LedgerTampered
from geoveil.privacy import CGP, GP, Certificate, Guarantee, certified, exact
from geoveil.privacy.exact import written

__all__ = ["COLUMNS", "WRITE_OFF", "Replay", "StoredAnswer", "guarantee_of", "postings_digest"]

#: The event of a restore after which accounts may be missing. An account that is opened later has a reason to be new.
WRITE_OFF = "write off"

#: Columns of an entry that its hash covers; the column of the hash comes after them.
COLUMNS = (
    *("number", "time", "event", "query", "parameters", "notion", "metric", "amount", "release", "key"),
    "postings",
)

#: The effect of an entry on accounts: pairs of a subject and an amount.
Postings: TypeAlias = Sequence[tuple[str, str]]
#: An entry of the history, as a mapping from the names of columns to values.
Line: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class StoredAnswer:
    """A row of the table of answers, with the entries of the history that it refers to.

    Parameters
    ----------
    number : int
        Number of the entry that charged it.
    key : str
        Digest of the question's key; empty if it has none.
    stored : int, optional
        Number of the entry that recorded its storage.
    content : str, optional
        The answer, if it is kept.
    charge, store, forget : tuple
        Event and key of the entry that charged it; event, key and parameters of the entries that recorded its storage
        and its deletion.
    """

    number: int
    key: str
    stored: int | None
    content: str | None
    charge: Row
    store: Row
    forget: Row

    @property
    def is_whole(self) -> bool:
        """Whether the row agrees with the history: it was charged and stored with this key, and only deleted if so."""
        if self.charge != ("charge", self.key):
            return False
        if self.stored is None:
            return self.content is None
        if not self._is("store", self.store):
            return False
        if self.content is None:
            return not self.key or self._is("forget", self.forget)
        return self.forget[0] is None and digest(self.content) == json.loads(self.store[2])["sha256"]

    def _is(self, event: str, line: Row) -> bool:
        """Tell whether an entry records this event of this answer."""
        return line[:2] == (event, self.key) and json.loads(line[2])["charge"] == self.number


class Replay:
    """Replays a history entry by entry, in bounded memory, and checks every entry.

    Parameters
    ----------
    ledger : str
        Id of the ledger.
    secret : bytes, optional
        The key of the hash chain.
    certificates : iterable of dict
        Certificates of releases; each must agree with the entry that it refers to.
    """

    def __init__(self, ledger: str, secret: bytes | None, certificates: Iterable[Certificate] = ()) -> None:
        self._ledger, self._secret = ledger, secret
        self.number, self.hash = 0, FIRST
        self._accounts: dict[str, tuple[Guarantee, Decimal]] = {}
        self._stored = self._forgotten = self._posted = 0
        self._written_off = False
        self._certificates: dict[int, list[Certificate]] = {}
        #: Certificates whose charge was found, by its number, until the entry that stored the release.
        self._charged: dict[int, list[Certificate]] = {}
        for certificate in certificates:
            if certificate.get("entry") is not None:
                self._certificates.setdefault(self._number_in(certificate), []).append(certificate)

    def lines(self, lines: Sequence[tuple[Line, Postings]]) -> bool:
        """Check the next entries and their effect on accounts; tell whether there were any."""
        for line, postings in lines:
            self._line(line, postings)
        return bool(lines)

    def _line(self, line: Line, postings: Postings) -> None:
        """Check the next entry: its position in the chain, and that the rules allowed it at that time."""
        number = self.number + 1
        if line["number"] != number:
            raise LedgerTampered(f"Entry {number} is missing, moved or duplicated.")
        content = {name: line[name] for name in COLUMNS}
        if line["hash"] != link(self.hash, {**content, "ledger": self._ledger}, self._secret):
            raise LedgerTampered(f"Entry {number}, or one before it, was changed.")
        if line["postings"] != postings_digest(postings):
            raise LedgerTampered(f"The amounts of entry {number} were changed.")
        self.number, self.hash = number, line["hash"]
        self._posted += len(postings)
        try:
            self._apply(line, postings)
        except (KeyError, ValueError, TypeError, IncompatibleGuarantees) as problem:
            raise LedgerTampered(f"Entry {number} is invalid: {problem!r}.") from None
        for certificate in self._certificates.pop(number, ()):
            _compare(line, certificate)
            self._charged.setdefault(number, []).append(certificate)

    def _apply(self, line: Line, postings: Postings) -> None:
        """Apply an entry to the replayed accounts and counts."""
        event = line["event"]
        if event == "create":
            self._create(line, postings)
        elif event in ("lower", "override"):
            self._set(line, postings)
        elif event == "charge":
            self._charge(line, postings)
        elif event == "store":
            self._stored += 1
            self._compare_recorded(line)
        elif event == "forget":
            self._forgotten += 1
        elif event == WRITE_OFF:
            self._written_off = True
        else:
            raise ValueError(event)

    def _create(self, line: Line, postings: Postings) -> None:
        """Open accounts, none of them twice, which would reset the amount spent."""
        total = guarantee_of(line["notion"], line["metric"], line["amount"])
        if self._written_off and not line["query"]:
            raise LedgerTampered(f"Entry {line['number']} opens an account after a write-off without a reason.")
        for name, amount in postings:
            if name in self._accounts or amount != line["amount"]:
                raise LedgerTampered(
                    f"Entry {line['number']} opens the account of {name!r} again, or with another total."
                )
            self._accounts[name] = total, Decimal(0)

    def _set(self, line: Line, postings: Postings) -> None:
        """Change totals; notion and metric must not change, and only an override may raise a total."""
        total = guarantee_of(line["notion"], line["metric"], line["amount"])
        for name, amount in postings:
            before, spent = self._accounts[name]
            alike = (total.notion, total.metric) == (before.notion, before.metric) and amount == line["amount"]
            if not alike or (line["event"] == "lower" and total.budget > before.budget):
                raise LedgerTampered(f"Entry {line['number']} sets a total of {name!r} that the rules do not allow.")
            self._accounts[name] = total, spent

    def _charge(self, line: Line, postings: Postings) -> None:
        """Charge accounts; each amount must be the price of the release and at most what was left."""
        cost = guarantee_of(line["notion"], line["metric"], line["amount"])
        for name, amount in postings:
            total, spent = self._accounts[name]
            after = exact.add(spent, Decimal(amount))
            if after > total.budget:
                raise LedgerTampered(f"Entry {line['number']} charged {name!r} more than was left.")
            if amount != _price_text(cost, total):
                raise LedgerTampered(f"Entry {line['number']} did not charge {name!r} the price of the release.")
            self._accounts[name] = total, after

    def _compare_recorded(self, line: Line) -> None:
        """Compare the certificates of a release with the one that was recorded for its file, if there is one."""
        recorded = json.loads(line["parameters"])
        for certificate in self._charged.pop(recorded["charge"], ()):
            # A release that was processed later has a certificate of its own.
            if "certificate" in recorded and not certificate["processed"]:
                _compare_digest(line, certificate, recorded["certificate"])

    def finish(self, end: tuple[int, str, int], accounts: Iterable[Row], answers: Iterable[StoredAnswer]) -> None:
        """Compare the replayed history with the ledger's last entry, its accounts and its stored answers.

        Parameters
        ----------
        end : tuple
            Number and hash of the last entry, and the number of amounts in the table of postings.
        accounts : iterable
            Subject, notion, metric, total and spent amount of each account.
        answers : iterable
            The answers, with the entries that they refer to, which were replayed before.
        """
        if end[:2] != (self.number, self.hash):
            raise LedgerTampered(f"The history ends at entry {self.number}, but the ledger had entry {end[0]}.")
        if end[2] != self._posted:
            raise LedgerTampered("The ledger contains amounts that belong to no entry.")
        if self._certificates:
            number = min(self._certificates)
            raise LedgerTampered(f"Entry {number}, which a certificate refers to, is missing.")
        for name, *state in accounts:
            total, spent = self._accounts.pop(name, (None, None))
            if total is None or spent is None or state != _row(total, spent):
                raise LedgerTampered(f"The account of {name!r} does not agree with the history.")
        if self._accounts:
            raise LedgerTampered(f"The account of {min(self._accounts)!r} is missing.")
        stored = forgotten = 0
        for answer in answers:
            if not answer.is_whole:
                raise LedgerTampered(f"The stored answer of entry {answer.number} was changed.")
            stored += answer.stored is not None
            forgotten += answer.forget[0] is not None
        if (stored, forgotten) != (self._stored, self._forgotten):
            raise LedgerTampered(
                f"The history records {self._stored} stored and {self._forgotten} deleted answers, but the ledger has "
                f"{stored} and {forgotten}."
            )

    def _number_in(self, certificate: Certificate) -> int:
        """Return the number of the entry that a certificate refers to."""
        try:
            ledger, number = certificate["entry"]["ledger"], int(certificate["entry"]["number"])
        except (KeyError, TypeError, ValueError) as problem:
            raise LedgerTampered(f"A certificate is incomplete: {problem!r}.") from None
        if ledger != self._ledger:
            raise LedgerTampered(f"A certificate belongs to another ledger, {ledger!r}.")
        return number


def _compare(line: Line, certificate: Certificate) -> None:
    """Raise LedgerTampered if a certificate does not agree with its entry."""
    number = line["number"]
    try:
        promised, hashed = certified(certificate), certificate["entry"]["hash"]
        query, identity, processed = certificate["query"], certificate["id"], certificate["processed"]
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise LedgerTampered(f"A certificate is incomplete: {problem!r}.") from None
    if hashed != line["hash"]:
        raise LedgerTampered(f"Entry {number}, which a certificate refers to, is missing: another one has its number.")
    claim = query, promised.notion, promised.metric.name, written(promised.budget)
    charged = tuple(line[name] for name in ("query", "notion", "metric", "amount"))
    # An account with another unit was charged another amount; the parameters tell the guarantee of the release.
    asked = json.loads(line["parameters"] or "{}")
    stated = line["query"], promised.notion, asked.get("metric"), asked.get(promised.symbol)
    same = line["event"] == "charge" and claim in (charged, stated)
    # A release that was processed later has a new id.
    if not same or (not processed and line["release"] != identity):
        raise LedgerTampered(
            f"Entry {number} charged {line['amount']} for {line['query']}, but a certificate states something else."
        )


def _compare_digest(line: Line, certificate: Certificate, recorded: str) -> None:
    """Raise LedgerTampered if a certificate is not the one that was recorded with the file of its release."""
    try:
        same = certificate_digest(certificate) == recorded
    except (ValueError, TypeError):
        same = False
    if not same:
        raise LedgerTampered(f"Entry {line['number']} recorded another certificate for this release.")


def _row(total: Guarantee, spent: Decimal) -> list[str]:
    return [total.notion, total.metric.name, written(total.budget), written(spent)]


@lru_cache(maxsize=1024)
def guarantee_of(notion: str, metric: str, budget: str) -> Guarantee:
    """Return the guarantee of an entry or an account."""
    if notion not in ("CGP", "GP"):
        raise ValueError(notion)
    return CGP(rho=budget, metric=metric) if notion == "CGP" else GP(epsilon=budget, metric=metric)


@lru_cache(maxsize=1024)
def _price_text(cost: Guarantee, total: Guarantee) -> str:
    return written(price(cost, total).budget)


def postings_digest(postings: Postings) -> str:
    """Return the digest of an entry's postings, independent of their order."""
    content = json.dumps(sorted(postings), separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(content.encode()).hexdigest()
