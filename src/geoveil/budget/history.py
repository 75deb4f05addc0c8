"""The history of a ledger, replayed: whether it is whole, kept to its rules, and agrees with what else is known."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from geoveil.budget.chain import FIRST, link
from geoveil.budget.prices import price
from geoveil.budget.storable import digest
from geoveil.errors import IncompatibleGuarantees, LedgerTampered
from geoveil.privacy import CGP, GP, Guarantee, certified, exact
from geoveil.privacy.exact import written

__all__ = ["COLUMNS", "Replay", "StoredAnswer", "guarantee_of", "postings_digest"]

#: Columns of a line, all of which its hash covers; the hash comes after them.
COLUMNS = (
    *("number", "time", "event", "query", "parameters", "notion", "metric", "amount", "release", "key"),
    "postings",
)

#: What a line does to accounts: subjects and amounts.
Postings = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class StoredAnswer:
    """A charge that is being drawn or was answered, with what the history says of it.

    Parameters
    ----------
    number : int
        The line that charged it.
    key : str
        The digest of the question's key; empty if it has none.
    stored : int, optional
        The line that says it was stored.
    content : str, optional
        The answer, if it is kept.
    charge, store, forget : tuple
        Event and key of the line that charged it; event, key and parameters of those that say it was stored and
        deleted.
    """

    number: int
    key: str
    stored: int | None
    content: str | None
    charge: tuple[Any, ...]
    store: tuple[Any, ...]
    forget: tuple[Any, ...]

    @property
    def is_whole(self) -> bool:
        """Whether it is what was charged and stored, under the same key; only forgotten answers may be gone."""
        if self.charge != ("charge", self.key):
            return False
        if self.stored is None:
            return self.content is None
        if not self._is("store", self.store):
            return False
        if self.content is None:
            return not self.key or self._is("forget", self.forget)
        return self.forget[0] is None and digest(self.content) == json.loads(self.store[2])["sha256"]

    def _is(self, event: str, line: tuple[Any, ...]) -> bool:
        """Tell whether a line is such an event of this answer."""
        return line[:2] == (event, self.key) and json.loads(line[2])["charge"] == self.number


class Replay:
    """Replays a history line by line, in bounded memory, and checks every line.

    Parameters
    ----------
    ledger : str
        Id of the ledger.
    secret : bytes, optional
        The key of the chain.
    certificates : iterable of dict
        Certificates of releases. Those of this ledger must refer to a line that says what they say.
    """

    def __init__(self, ledger: str, secret: bytes | None, certificates: Iterable[Mapping[str, Any]] = ()) -> None:
        self._ledger, self._secret = ledger, secret
        self.number, self.hash = 0, FIRST
        self._accounts: dict[str, tuple[Guarantee, Decimal]] = {}
        self._stored = self._forgotten = self._posted = 0
        self._certificates: dict[int, list[Mapping[str, Any]]] = {}
        for certificate in certificates:
            if certificate.get("entry") is not None:
                self._certificates.setdefault(self._number_in(certificate), []).append(certificate)

    def lines(self, lines: Sequence[tuple[Mapping[str, Any], Postings]]) -> bool:
        """Check the next lines and what they did to accounts; tell whether there were any."""
        for line, postings in lines:
            self._line(line, postings)
        return bool(lines)

    def _line(self, line: Mapping[str, Any], postings: Postings) -> None:
        """Check the next line: its place in the chain, and that the rules allowed it at that time."""
        number = self.number + 1
        if line["number"] != number:
            raise LedgerTampered(f"Entry {number} is missing, moved or there twice.")
        content = {name: line[name] for name in COLUMNS}
        if line["hash"] != link(self.hash, {**content, "ledger": self._ledger}, self._secret):
            raise LedgerTampered(f"Entry {number} was changed, or one before it was.")
        if line["postings"] != postings_digest(postings):
            raise LedgerTampered(f"What entry {number} did to accounts was changed.")
        self.number, self.hash = number, line["hash"]
        self._posted += len(postings)
        try:
            self._apply(line, postings)
        except (KeyError, ValueError, TypeError, IncompatibleGuarantees) as problem:
            raise LedgerTampered(f"Entry {number} is of a kind that no ledger writes: {problem!r}.") from None
        for certificate in self._certificates.pop(number, ()):
            _compare(line, certificate)

    def _apply(self, line: Mapping[str, Any], postings: Postings) -> None:
        event = line["event"]
        if event == "create":
            self._create(line, postings)
        elif event in ("lower", "override"):
            self._set(line, postings)
        elif event == "charge":
            self._charge(line, postings)
        elif event == "store":
            self._stored += 1
        elif event == "forget":
            self._forgotten += 1
        else:
            raise ValueError(event)

    def _create(self, line: Mapping[str, Any], postings: Postings) -> None:
        """Open accounts: none of them twice, which would set it back."""
        total = guarantee_of(line["notion"], line["metric"], line["amount"])
        for name, amount in postings:
            if name in self._accounts or amount != line["amount"]:
                raise LedgerTampered(f"Entry {line['number']} opens the account of {name!r} again, or otherwise.")
            self._accounts[name] = total, Decimal(0)

    def _set(self, line: Mapping[str, Any], postings: Postings) -> None:
        """Set totals: of the same notion and metric, and only an override raises one."""
        total = guarantee_of(line["notion"], line["metric"], line["amount"])
        for name, amount in postings:
            before, spent = self._accounts[name]
            alike = (total.notion, total.metric) == (before.notion, before.metric) and amount == line["amount"]
            if not alike or (line["event"] == "lower" and total.budget > before.budget):
                raise LedgerTampered(f"Entry {line['number']} sets a total of {name!r} that its rules do not allow.")
            self._accounts[name] = total, spent

    def _charge(self, line: Mapping[str, Any], postings: Postings) -> None:
        """Take amounts off accounts; each must be the price of the release, and must have been there."""
        cost = guarantee_of(line["notion"], line["metric"], line["amount"])
        for name, amount in postings:
            total, spent = self._accounts[name]
            after = exact.add(spent, Decimal(amount))
            if after > total.budget:
                raise LedgerTampered(f"Entry {line['number']} charged {name!r} more than was left.")
            if amount != _price_text(cost, total):
                raise LedgerTampered(f"Entry {line['number']} did not charge {name!r} what the release costs.")
            self._accounts[name] = total, after

    def finish(
        self, end: tuple[int, str, int], accounts: Iterable[tuple[Any, ...]], answers: Iterable[StoredAnswer]
    ) -> None:
        """Compare the replayed history with the ledger's last line, its accounts and its stored answers.

        Parameters
        ----------
        end : tuple
            Number and hash of the last line, and the number of amounts that lines posted to accounts.
        accounts : iterable
            Subject, notion, metric, total and spent amount of each account.
        answers : iterable
            The answers, with what the lines they refer to say: these were replayed before.
        """
        if end[:2] != (self.number, self.hash):
            raise LedgerTampered(f"The history ends at entry {self.number}, and the ledger knew of {end[0]}.")
        if end[2] != self._posted:
            raise LedgerTampered("Amounts are there that belong to no entry.")
        if self._certificates:
            number = min(self._certificates)
            raise LedgerTampered(f"Entry {number}, which a certificate refers to, is not there.")
        for name, *told in accounts:
            total, spent = self._accounts.pop(name, (None, None))
            if total is None or spent is None or told != _row(total, spent):
                raise LedgerTampered(f"The account of {name!r} is not what its history says.")
        if self._accounts:
            raise LedgerTampered(f"The account of {min(self._accounts)!r} is gone.")
        stored = forgotten = 0
        for answer in answers:
            if not answer.is_whole:
                raise LedgerTampered(f"What is stored under entry {answer.number} is not what was stored.")
            stored += answer.stored is not None
            forgotten += answer.forget[0] is not None
        if (stored, forgotten) != (self._stored, self._forgotten):
            raise LedgerTampered(
                f"{self._stored} answers were stored and {self._forgotten} deleted; {stored} and {forgotten} are."
            )

    def _number_in(self, certificate: Mapping[str, Any]) -> int:
        """Return the number of the line that a certificate refers to."""
        try:
            ledger, number = certificate["entry"]["ledger"], int(certificate["entry"]["number"])
        except (KeyError, TypeError, ValueError) as problem:
            raise LedgerTampered(f"A certificate is not whole: {problem!r}.") from None
        if ledger != self._ledger:
            raise LedgerTampered(f"A certificate is of another ledger, {ledger!r}.")
        return number


def _compare(line: Mapping[str, Any], certificate: Mapping[str, Any]) -> None:
    """Refuse a certificate that does not say what its line says."""
    number = line["number"]
    try:
        promised, hashed = certified(certificate), certificate["entry"]["hash"]
        query, identity, processed = certificate["query"], certificate["id"], certificate["processed"]
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise LedgerTampered(f"A certificate is not whole: {problem!r}.") from None
    if hashed != line["hash"]:
        raise LedgerTampered(f"Entry {number}, which a certificate refers to, is not there.")
    told = query, promised.notion, promised.metric.name, written(promised.budget)
    same = line["event"] == "charge" and told == tuple(line[name] for name in ("query", "notion", "metric", "amount"))
    # A release that was processed later has an id of its own.
    if not same or (not processed and line["release"] != identity):
        raise LedgerTampered(f"Entry {number} is of {line['query']} for {line['amount']}; a certificate says else.")


def _row(total: Guarantee, spent: Decimal) -> list[str]:
    return [total.notion, total.metric.name, written(total.budget), written(spent)]


@lru_cache(maxsize=1024)
def guarantee_of(notion: str, metric: str, budget: str) -> Guarantee:
    """Return the guarantee that a line or an account states."""
    if notion not in ("CGP", "GP"):
        raise ValueError(notion)
    return CGP(rho=budget, metric=metric) if notion == "CGP" else GP(epsilon=budget, metric=metric)


@lru_cache(maxsize=1024)
def _price_text(cost: Guarantee, total: Guarantee) -> str:
    return written(price(cost, total).budget)


def postings_digest(postings: Postings) -> str:
    """Return the digest of what a line does to accounts, whatever the order."""
    content = json.dumps(sorted(postings), separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(content.encode()).hexdigest()
