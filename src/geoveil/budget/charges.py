"""Charge requests, or answer them from the ledger: a question with a key is charged and answered once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import uuid4

from geoveil.budget import leases
from geoveil.budget.entries import Charge, Entry
from geoveil.budget.history import Line, Postings
from geoveil.budget.journal import Journal
from geoveil.budget.prices import price
from geoveil.budget.reading import line_at, postings_of
from geoveil.budget.storable import digest, unknown
from geoveil.budget.stores import Row, Transaction
from geoveil.errors import (
    BudgetError,
    BudgetExceeded,
    IncompatibleGuarantees,
    InvalidInput,
    InvalidParameter,
    LedgerTampered,
)
from geoveil.privacy import Guarantee, exact
from geoveil.privacy.exact import written

__all__ = ["ChargeRequest", "settle"]

_ANSWERS = "SELECT key, number, owner, stored, content, forgotten FROM geoveil_answers WHERE key"
_ATTEMPT = "INSERT INTO geoveil_answers (number, key, owner) VALUES (?, ?, ?)"


@dataclass(eq=False)
class ChargeRequest:
    """A request to charge the accounts of subjects for a release.

    Parameters
    ----------
    names : list of str
        The subjects.
    cost : CGP or GP
        The release's guarantee for each subject.
    query, parameters, release : str
        The question, its parameters and the id of the release, for the history.
    key : str, optional
        Digest of the question's key.
    shown : str
        The key itself, for messages.
    skips : bool
        Whether subjects without enough budget are skipped.
    charge : Charge, optional
        The charge of an earlier transaction, which may not have been committed: it is looked up before the request is
        charged again.
    """

    names: list[str]
    cost: Guarantee
    query: str
    parameters: str
    release: str
    key: str | None
    shown: str
    skips: bool
    charge: Charge | None = None


def settle(
    transaction: Transaction, journal: Journal, requests: Sequence[ChargeRequest]
) -> list[Charge | Exception | None]:
    """Return one outcome per request: its charge, new or stored; an error; or None while its answer is being drawn."""
    keys = sorted({request.key for request in requests if request.key is not None})
    found: dict[str, Row] = {}
    if keys:
        condition, parameters = transaction.among(keys)
        rows = transaction.rows(f"{_ANSWERS} {condition}", parameters)
        found = {key: tuple(row) for key, *row in rows}
    taken: set[str] = set()
    outcomes: list[Charge | Exception | None] = []
    for request in requests:
        if request.key in taken:
            outcomes.append(None)
            continue
        try:
            outcome = _answer(transaction, journal, request, found.get(request.key or ""))
        except (BudgetError, InvalidInput, IncompatibleGuarantees) as problem:
            outcomes.append(problem)
            continue
        outcomes.append(outcome)
        if outcome is not None and outcome.content is None and request.key is not None:
            taken.add(request.key)
    return outcomes


def _answer(transaction: Transaction, journal: Journal, request: ChargeRequest, known: Row | None) -> Charge | None:
    """Return a request's stored answer or its charge, or None while its answer is being drawn."""
    if request.charge is not None:
        made = transaction.rows("SELECT owner FROM geoveil_answers WHERE number = ?", (request.charge.entry.number,))
        if [leases.token_of(owner) for (owner,) in made] == [request.charge.token]:
            return request.charge
    if known is None:
        return _charge(transaction, journal, request)
    number, owner, stored, content, forgotten = known
    if stored is None and not leases.is_held(owner, journal.time):
        # The charge of an attempt without an answer is spent, however it ended: the data may have been read.
        transaction.write("DELETE FROM geoveil_answers WHERE number = ?", (number,))
        return _charge(transaction, journal, request)
    line, postings = line_at(transaction, number), postings_of(transaction, number)
    if not line or line["key"] != request.key:
        raise LedgerTampered(f"Entry {number} is not the charge that was made with this key.", charged="nothing")
    if not _is_same(request, line, postings):
        remedy = f"It was used for {line['query']} about {postings[0][0]!r}. Use another one."
        raise InvalidParameter("key", request.shown, "a different one for each question", remedy)
    if stored is None:
        return None
    if content is None and forgotten is not None:
        remedy = "Its answer was deleted with forget. Use another one, which is charged again."
        raise InvalidParameter("key", request.shown, "one whose answer was not deleted", remedy)
    if content is None or not _is_stored(transaction, number, stored, content):
        raise LedgerTampered(f"The stored answer of entry {number} was changed.", charged="nothing")
    amounts = {subject: Decimal(amount) for subject, amount in postings}
    skipped = tuple(name for name in request.names if name not in amounts)
    return Charge(Entry(journal.ledger, number, line["hash"]), amounts, skipped, request.key, content)


def _is_same(request: ChargeRequest, line: Line, postings: Postings) -> bool:
    """Tell whether a request asks the question that an entry charged."""
    cost = request.cost
    asked = request.query, request.parameters, cost.notion, cost.metric.name, written(cost.budget)
    charged = tuple(line[name] for name in ("query", "parameters", "notion", "metric", "amount"))
    return asked == charged and {subject for subject, _ in postings} <= set(request.names)


def _is_stored(transaction: Transaction, number: int, stored: int, content: str) -> bool:
    """Tell whether an answer has the digest that was recorded when it was stored."""
    line = line_at(transaction, stored)
    recorded = json.loads(line.get("parameters", "{}"))
    # An answer in a file has the digests of the file and its certificate beside its own.
    same = {"charge": number, "sha256": digest(content)}.items() <= recorded.items()
    return line.get("event") == "store" and same


def _charge(transaction: Transaction, journal: Journal, request: ChargeRequest) -> Charge:
    """Charge every subject or none; if the request skips, charge those with enough budget."""
    amounts, spent, skipped = {}, {}, []
    prices: dict[tuple[str, str], Decimal] = {}
    for name in request.names:
        if name not in journal.accounts:
            raise unknown(name)
        total, before = journal.accounts[name]
        kind = total.notion, total.metric.name
        if kind not in prices:
            prices[kind] = price(request.cost, total).budget
        asked = prices[kind]
        after = exact.add(before, asked)
        if after <= total.budget:
            amounts[name], spent[name] = asked, after
        elif request.skips and len(request.names) > 1:
            skipped.append(name)
        else:
            raise BudgetExceeded(asked, exact.subtract(total.budget, before), name)
    if not amounts:
        raise BudgetExceeded(asked, exact.subtract(total.budget, before), name)
    texts = {amount: written(amount) for amount in prices.values()}
    entry = journal.add(
        "charge",
        request.cost,
        [(name, texts[amount]) for name, amount in amounts.items()],
        query=request.query,
        parameters=request.parameters,
        release=request.release,
        key=request.key or "",
    )
    journal.spend(spent)
    request.charge = charge = Charge(entry, amounts, tuple(skipped), request.key, None, uuid4().hex)
    # The lease begins before the charge is committed, so that others never see the charge without it.
    leases.begin(charge)
    transaction.write(_ATTEMPT, (entry.number, request.key, leases.owner_of(charge.token, journal.time)))
    return charge
