"""The rules of charging: who pays, what a key stands for, and when nothing is charged."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from geoveil.budget.drawing import is_drawing, owner_of
from geoveil.budget.entries import Charge, Entry
from geoveil.budget.history import digest
from geoveil.budget.journal import Journal, lines_of
from geoveil.budget.prices import price
from geoveil.budget.storable import unknown
from geoveil.budget.stores import Transaction
from geoveil.errors import BudgetExceeded, InvalidParameter, LedgerTampered
from geoveil.privacy import Guarantee, exact
from geoveil.privacy.exact import written

__all__ = ["ANSWER", "Request", "answer_request"]

ANSWER = "SELECT number, entries, content, owner FROM geoveil_answers WHERE key = ?"
_STORED = "SELECT parameters FROM geoveil_history WHERE subject = ? AND event = 'store' AND release = ?"


@dataclass(eq=False)
class Request:
    """A charge that waits for its turn, and what came of it."""

    names: list[str]
    cost: Guarantee
    query: str
    parameters: str
    release: str
    key: str | None
    skips: bool
    done: bool = False
    charge: Charge | None = None
    problem: Exception | None = None


def answer_request(transaction: Transaction, journal: Journal, request: Request) -> Charge | None:
    """Return the charge of a request, new or known; None while another process draws under its key."""
    if request.key is None:
        return _charge(journal, request, uuid4().hex)
    rows = transaction.rows(ANSWER, (request.key,))
    if not rows:
        earlier = journal.charged.get(request.key)
        return _charge(journal, request, request.key) if earlier is None else None
    number, count, content, owner = rows[0]
    known = lines_of(transaction, "number >= ? AND number < ?", (number, number + count))
    entries = [Entry.of(journal.ledger, line) for line in known]
    about = {entry.subject for entry in entries}
    same = (known[0]["query"], known[0]["parameters"]) == (request.query, request.parameters)
    if not same or not about <= set(request.names) or not _as_charged(journal, request, known):
        remedy = f"It was used for {known[0]['query']} about {entries[0].subject!r}: take another one."
        raise InvalidParameter("key", request.key, "a key of its own for each question", remedy)
    stored = transaction.rows(_STORED, (entries[0].subject, str(number)))
    if [json.loads(told)["sha256"] for (told,) in stored] != ([] if content is None else [digest(content)]):
        raise LedgerTampered(f"The answer stored under {request.key!r} is not what it was. Nothing was released.")
    token = uuid4().hex
    if content is None:
        if is_drawing(owner):
            return None
        transaction.write("UPDATE geoveil_answers SET owner = ? WHERE key = ?", (owner_of(token), request.key))
    skipped = tuple(name for name in request.names if name not in about)
    return Charge(tuple(entries), skipped, request.key, content, token)


def _as_charged(journal: Journal, request: Request, known: list[dict[str, Any]]) -> bool:
    """Tell whether a question would cost what was charged under its key."""
    for line in known:
        taken = price(request.cost, journal.accounts[line["subject"]][0])
        if (taken.notion, taken.metric.name, written(taken.budget)) != (
            line["notion"],
            line["metric"],
            line["amount"],
        ):
            return False
    return True


def _charge(journal: Journal, request: Request, key: str) -> Charge:
    """Charge every subject, or, if some are to be skipped, those with enough budget."""
    missing = [name for name in request.names if name not in journal.accounts]
    if missing:
        raise unknown(missing[0])
    taken, skipped = {}, []
    for name in request.names:
        total, before = journal.accounts[name]
        asked = price(request.cost, total)
        remaining = exact.subtract(total.budget, before)
        if asked.budget <= remaining:
            taken[name] = asked
        elif request.skips and len(request.names) > 1:
            skipped.append(name)
        else:
            raise BudgetExceeded(asked.budget, remaining, name)
    if not taken:
        raise BudgetExceeded(asked.budget, remaining, name)
    lines = []
    told = {"query": request.query, "parameters": request.parameters, "release": request.release}
    for name, asked in taken.items():
        total, before = journal.accounts[name]
        journal.accounts[name] = total, exact.add(before, asked.budget)
        lines.append(journal.add(name, "charge", asked, **told))
    journal.touched.update(taken)
    token = uuid4().hex
    journal.charged[key] = lines[0]["number"], len(lines), owner_of(token)
    return Charge(tuple(Entry.of(journal.ledger, line) for line in lines), tuple(skipped), key, None, token)
