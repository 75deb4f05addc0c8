"""The history of a ledger, read again: whether it is whole, and says what accounts and certificates say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from geoveil.budget.chain import FIRST, link
from geoveil.budget.prices import price
from geoveil.errors import LedgerTampered
from geoveil.privacy import CGP, GP, Guarantee, certified, exact
from geoveil.privacy.exact import written

__all__ = ["COLUMNS", "History", "digest", "guarantee_of"]

#: Of a line, in the order in which they are kept; its hash stands after them.
COLUMNS = ("number", "time", "subject", "event", "query", "parameters", "notion", "metric", "amount", "release")

#: By subject: the notion, the metric, the total and what is spent.
Accounts = dict[str, tuple[str, str, str, str]]


@dataclass(frozen=True)
class History:
    """All lines of a ledger.

    Parameters
    ----------
    ledger : str
        Its id.
    secret : bytes, optional
        The key of the chain.
    lines : list of dict
        In the order of their numbers.
    """

    ledger: str
    secret: bytes | None
    lines: list[dict[str, Any]]

    def verify(self, head: tuple[int, str], accounts: Accounts, answers: list[tuple[Any, ...]]) -> None:
        """Compute the chain again, and compare it with what the ledger knows of its end, of accounts and answers."""
        previous = FIRST
        computed: Accounts = {}
        for number, line in enumerate(self.lines, start=1):
            if line["number"] != number:
                raise LedgerTampered(f"Entry {number} is missing, moved or there twice.")
            content = {name: line[name] for name in COLUMNS}
            if line["hash"] != link(previous, {**content, "ledger": self.ledger}, self.secret):
                raise LedgerTampered(f"Entry {number} was changed, or one before it was.")
            previous = line["hash"]
            _replay(computed, line)
        if head != (len(self.lines), previous):
            raise LedgerTampered(f"The history ends at entry {len(self.lines)}, and the ledger knew of {head[0]}.")
        if computed != accounts:
            names = sorted(set(computed) ^ set(accounts)) or [n for n in computed if computed[n] != accounts[n]]
            raise LedgerTampered(f"The account of {names[0]!r} is not what its history says.")
        self._verify_answers(answers)

    def _verify_answers(self, answers: list[tuple[Any, ...]]) -> None:
        """What is stored is what was stored, each under a charge."""
        charged = {line["number"] for line in self.lines if line["event"] == "charge"}
        stored = [line for line in self.lines if line["event"] == "store"]
        said = {int(line["release"]): json.loads(line["parameters"])["sha256"] for line in stored}
        found = {number: digest(content) for number, content in answers if content is not None}
        if said != found or not {number for number, _ in answers} <= charged:
            wrong = sorted(number for number in {*said, *found} if said.get(number) != found.get(number))
            raise LedgerTampered(f"What is stored of entries {wrong[:3]} is not what was stored.")

    def compare(self, certificate: Mapping[str, Any]) -> None:
        """Whether the ledger has what a certificate says of it."""
        told = certificate.get("entry")
        if told is None:
            return
        try:
            ledger, number, hashed = told["ledger"], int(told["number"]), told["hash"]
            promised = certified(certificate)
            query, identity, processed = certificate["query"], certificate["id"], certificate["processed"]
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise LedgerTampered(f"A certificate is not whole: {problem!r}.") from None
        if ledger != self.ledger:
            raise LedgerTampered(f"A certificate is of another ledger, {ledger!r}.")
        if not 0 < number <= len(self.lines) or self.lines[number - 1]["hash"] != hashed:
            raise LedgerTampered(f"Entry {number}, which a certificate refers to, is not there.")
        line = self.lines[number - 1]
        taken = price(promised, guarantee_of(line["notion"], line["metric"], "1"))
        # What was made of a release later has a name of its own.
        same = (line["query"], line["amount"]) == (query, written(taken.budget))
        if not same or (not processed and line["release"] != identity):
            raise LedgerTampered(
                f"Entry {number} is of {line['query']} for {line['amount']}; a certificate says else."
            )


def _replay(accounts: Accounts, entry: Mapping[str, Any]) -> None:
    """What an entry makes of the accounts."""
    name, amount = entry["subject"], entry["amount"]
    if entry["event"] == "store":
        return
    if entry["event"] == "create":
        accounts[name] = (entry["notion"], entry["metric"], amount, "0")
    else:
        notion, metric, total, spent = accounts[name]
        if entry["event"] == "charge":
            accounts[name] = (notion, metric, total, written(exact.add(Decimal(spent), Decimal(amount))))
        else:
            accounts[name] = (notion, metric, amount, spent)


def guarantee_of(notion: str, metric: str, budget: str) -> Guarantee:
    """A guarantee as a line has it."""
    return CGP(rho=budget, metric=metric) if notion == "CGP" else GP(epsilon=budget, metric=metric)


def digest(content: str) -> str:
    """By which what was stored is known again."""
    return hashlib.sha256(content.encode()).hexdigest()
