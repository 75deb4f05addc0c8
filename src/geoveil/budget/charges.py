"""The protocol of a release: charge its accounts, draw, store the answer.

A question with a key is charged and answered once: a repeated request gets the stored answer, and waits while another
thread or process draws it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import uuid4

from geoveil.budget import turns
from geoveil.budget.accounts import price, unknown_subject
from geoveil.budget.entries import (
    WRITE,
    Charge,
    Entry,
    Line,
    Postings,
    digest,
    key_digest,
    parameters_text,
    subject_names,
    text,
)
from geoveil.budget.journal import Book, Journal, line_at, postings_of
from geoveil.budget.stores import Row, Transaction
from geoveil.budget.turns import Batching, Waiting, uninterrupted
from geoveil.errors import (
    BudgetError,
    BudgetExceeded,
    GeoveilError,
    IncompatibleGuarantees,
    InvalidInput,
    InvalidParameter,
    LedgerError,
    LedgerTampered,
    LedgerTimeout,
)
from geoveil.host.processes import this_process
from geoveil.privacy import Guarantee, exact
from geoveil.privacy.exact import written

if TYPE_CHECKING:
    from geoveil.budget.ledger import Ledger

__all__ = ["Charges", "forget"]

#: Longest pause in seconds between two checks whether another process has stored an answer.
_LONGEST_PAUSE = 0.5
_ANSWERS = "SELECT key, number, owner, stored, content, forgotten FROM geoveil_answers WHERE key"
_ATTEMPT = "INSERT INTO geoveil_answers (number, key, owner) VALUES (?, ?, ?)"


@dataclass(eq=False)
class _Request(Waiting[Charge]):
    """A request to charge the accounts of subjects for a release; `Charges.charge` explains its fields."""

    names: list[str]
    cost: Guarantee
    query: str
    parameters: str
    release: str
    #: Digest of the question's key, and the key itself for messages.
    key: str | None
    shown: str
    skip: bool
    #: The charge of an earlier transaction, which may not have been committed: it is looked up before the request is
    #: charged again.
    charge: Charge | None = field(default=None, init=False)


class Charges:
    """Charges the accounts of a ledger for releases, and stores answers."""

    def __init__(self, book: Book) -> None:
        self._book = book
        #: Called with None when a charge begins, and with the charge when it has been made.
        self.watch: Callable[[Charge | None], None] = lambda charge: None
        #: One queue for each process: a fork copies the queue of the parent's threads, but not the threads.
        self._batchings: dict[tuple[int, bytes], Batching[_Request, Charge]] = {}

    @classmethod
    def of(cls, ledger: Ledger) -> Charges:
        """Return the charges of a ledger."""
        return ledger._charges

    def charge(
        self,
        subjects: Sequence[str],
        cost: Guarantee,
        *,
        query: str,
        parameters: Mapping[str, object] | None = None,
        release: str = "",
        key: str | None = None,
        skip: bool = False,
    ) -> Charge:
        """Charge the accounts of all subjects for a release, in one transaction: all of them or none.

        A charge pays for one attempt to draw the release. If the attempt ends without `store`, for whatever reason,
        the charge is spent.

        Parameters
        ----------
        subjects : sequence of str
            Names of the subjects.
        cost : CGP or GP
            The release's guarantee for each subject.
        query, parameters, release : optional
            The question, its parameters and the id of the release, for the history.
        key : str, optional
            Identifies the question. If its release is stored, it is returned and nothing is charged. While another
            thread or process draws it, this call waits.
        skip : bool
            Whether a subject with too little budget left is skipped; otherwise the charge is refused.
        """
        self.watch(None)
        request = _Request(
            time.monotonic() + self._book.store.timeout,
            subject_names(subjects),
            cost,
            text("query", query),
            parameters_text(parameters),
            text("release", release),
            None if key is None else key_digest(key),
            key or "",
            skip,
        )
        try:
            charge = uninterrupted(lambda: self._charged(request))
        except BaseException:
            request.withdrawn = True
            raise
        self.watch(charge)
        return charge

    def _charged(self, request: _Request) -> Charge:
        """Charge a request, or wait for the answer of its key and return it."""
        batching, pause = self._batchings.setdefault(this_process(), Batching()), 0.01
        try:
            while (charge := batching.served(request, self._commit)) is None:
                left = request.deadline - time.monotonic()
                if left <= 0:
                    raise LedgerTimeout(
                        f"Another thread or process has been drawing the answer of the key {request.shown!r} for more "
                        f"than {self._book.store.timeout:g} s.",
                        "Try again.",
                        charged="nothing",
                    )
                turns.wait_for_leases(min(pause, left))
                pause = min(2 * pause, _LONGEST_PAUSE)
        except BaseException:
            # The request may have been charged. Others with its key need not wait for the answer.
            if request.charge is not None:
                turns.end_lease(request.charge)
            raise
        if request.withdrawn and charge.content is None:
            self.abandon(charge)
        return charge

    def _commit(self, requests: list[_Request], deadline: float) -> list[Charge | Exception | None]:
        """Charge a batch of requests in one transaction, and return the outcome of each."""
        transaction = None
        outcomes: list[Charge | Exception | None] = []
        try:
            names = sorted({name for request in requests for name in request.names})
            with self._book.writing(names, deadline) as (transaction, journal):
                outcomes = _settle(transaction, journal, requests)
                journal.write(transaction)
        except LedgerError as problem:
            if transaction is None or not transaction.committing:
                raise
            # The charges may have been committed, and the time limit may be over: nothing is tried again.
            return [_undone(outcome, problem) for outcome in outcomes]
        return outcomes

    def store(self, charge: Charge, content: str, *, file: str | None = None, certificate: str | None = None) -> None:
        """Record the digest of a release before it is returned, and store the release itself if it has a key.

        Parameters
        ----------
        charge : Charge
            The charge that pays for it.
        content : str
            The release as text.
        file, certificate : str, optional
            The SHA-256 of the file that holds the release, and that of its certificate in canonical form.
        """
        digests = {"file": file, "certificate": certificate}
        recorded = {name: each for name, each in digests.items() if each is not None}

        def work() -> None:
            try:
                with self._book.writing() as (transaction, journal):
                    _store(transaction, journal, charge, content, recorded)
                    journal.write(transaction)
            finally:
                turns.end_lease(charge)

        try:
            uninterrupted(work)
        except GeoveilError as problem:
            # Whatever the store says of this transaction, the charge was committed before.
            problem.charged = "spent" if charge.content is None else "nothing"
            raise

    def holding(self, charge: Charge) -> AbstractContextManager[None]:
        """Extend the lease of an attempt from time to time while a block draws, so that other machines wait."""
        return nullcontext() if charge.key is None else turns.renewing_lease(lambda: self._renew(charge))

    def _renew(self, charge: Charge) -> None:
        # If this fails, the lease lasts until it expires. One that has expired and was taken over has no row any more.
        with suppress(LedgerError), self._book.store.transaction() as transaction:
            ((now,),) = transaction.rows(f"SELECT {transaction.clock}")
            transaction.write(
                "UPDATE geoveil_answers SET owner = ? WHERE number = ? AND stored IS NULL",
                (turns.owner_of(charge.token, now), charge.entry.number),
            )

    def abandon(self, charge: Charge) -> None:
        """End an attempt without an answer: its charge is spent, and others no longer wait for it."""

        def work() -> None:
            turns.end_lease(charge)
            if charge.key is None or charge.process != this_process():
                return
            # If this fails, others notice by the lease that nobody draws.
            with suppress(LedgerError), self._book.store.transaction() as transaction:
                transaction.write(
                    "DELETE FROM geoveil_answers WHERE number = ? AND stored IS NULL", (charge.entry.number,)
                )

        uninterrupted(work)

    def is_stored(self, key: str) -> bool:
        """Tell whether the release of a key is stored, so that asking again costs nothing."""
        kept, digested = "SELECT 1 FROM geoveil_answers WHERE key = ? AND content IS NOT NULL", key_digest(key)
        return bool(self._book.read(lambda transaction: transaction.rows(kept, (digested,))))

    def record_file(self, entry: Entry, release: str, *, file: str, certificate: str) -> None:
        """Record a file that an answer is written to after it was stored, before the file appears.

        Parameters
        ----------
        entry : Entry
            The entry that charged the answer.
        release : str
            The id of the release: that of the answer, or of what was computed from it.
        file, certificate : str
            The SHA-256 of the file, and that of its certificate in canonical form.
        """
        parameters = json.dumps({"charge": entry.number, "file": file, "certificate": certificate})

        def work(transaction: Transaction, journal: Journal) -> None:
            line = line_at(transaction, entry.number)
            if line is None or line.hash != entry.hash:
                raise LedgerTampered(f"The charge of entry {entry.number} is missing from the ledger.")
            journal.add(WRITE, parameters=parameters, query=line.query, release=text("release", release))
            journal.write(transaction)

        self._book.write(work)

    def recorded_files(self, release: str) -> set[str]:
        """Return the SHA-256 of each file that was recorded for a release, given by its id."""
        sql = f"SELECT parameters FROM geoveil_history WHERE event IN ('store', '{WRITE}') AND release = ?"
        rows = self._book.read(lambda transaction: transaction.rows(sql, (text("release", release),)))
        recorded = [json.loads(parameters) for (parameters,) in rows]
        return {str(each["file"]) for each in recorded if "file" in each}


def _undone(outcome: Charge | Exception | None, problem: LedgerError) -> Charge | Exception | None:
    """Return the outcome of a request whose transaction had a problem while or after it was committed."""
    if not isinstance(outcome, Charge):
        return outcome
    if outcome.content is None:
        return problem
    return type(problem)(problem.problem, problem.remedy, charged="nothing")


def _settle(
    transaction: Transaction, journal: Journal, requests: Sequence[_Request]
) -> list[Charge | Exception | None]:
    """Return one outcome per request: its charge, new or stored; an error; or None while its answer is being drawn."""
    keys = sorted({request.key for request in requests if request.key is not None})
    known: dict[str, Row] = {}
    if keys:
        condition, parameters = transaction.among(keys)
        known = {key: tuple(row) for key, *row in transaction.rows(f"{_ANSWERS} {condition}", parameters)}
    taken: set[str] = set()
    outcomes: list[Charge | Exception | None] = []
    for request in requests:
        if request.key in taken:
            outcomes.append(None)
            continue
        try:
            outcome = _answer(transaction, journal, request, known.get(request.key or ""))
        except (BudgetError, InvalidInput, IncompatibleGuarantees) as problem:
            outcomes.append(problem)
            continue
        outcomes.append(outcome)
        if outcome is not None and outcome.content is None and request.key is not None:
            taken.add(request.key)
    return outcomes


def _answer(transaction: Transaction, journal: Journal, request: _Request, known: Row | None) -> Charge | None:
    """Return a request's stored answer or its charge, or None while its answer is being drawn."""
    if request.charge is not None:
        made = transaction.rows("SELECT owner FROM geoveil_answers WHERE number = ?", (request.charge.entry.number,))
        if [turns.token_of(owner) for (owner,) in made] == [request.charge.token]:
            return request.charge
    if known is None:
        return _charge(transaction, journal, request)
    number, owner, stored, content, forgotten = known
    if stored is None and not turns.is_held(owner, journal.time):
        # The charge of an attempt without an answer is spent, however it ended: the data may have been read.
        transaction.write("DELETE FROM geoveil_answers WHERE number = ?", (number,))
        return _charge(transaction, journal, request)
    line, postings = line_at(transaction, number), postings_of(transaction, number)
    if line is None or line.key != request.key:
        raise LedgerTampered(f"Entry {number} is not the charge that was made with this key.", charged="nothing")
    if not _is_same(request, line, postings):
        remedy = f"It was used for {line.query} about {postings[0][0]!r}. Use another one."
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
    return Charge(Entry(journal.ledger, number, line.hash), amounts, skipped, request.key, content)


def _is_same(request: _Request, line: Line, postings: Postings) -> bool:
    """Tell whether a request asks the question that an entry charged."""
    cost = request.cost
    asked = request.query, request.parameters, cost.notion, cost.metric.name, written(cost.budget)
    charged = line.query, line.parameters, line.notion, line.metric, line.amount
    return asked == charged and {subject for subject, _ in postings} <= set(request.names)


def _is_stored(transaction: Transaction, number: int, stored: int, content: str) -> bool:
    """Tell whether an answer has the digest that was recorded when it was stored."""
    line = line_at(transaction, stored)
    # An answer in a file has the digests of the file and its certificate beside its own.
    same = {"charge": number, "sha256": digest(content)}.items()
    return line is not None and line.event == "store" and same <= json.loads(line.parameters).items()


def _charge(transaction: Transaction, journal: Journal, request: _Request) -> Charge:
    """Charge every subject or none; if the request skips, charge those with enough budget."""
    amounts, spent, skipped, short = {}, {}, [], list[tuple[Decimal, Decimal, Decimal]]()
    prices: dict[tuple[str, str], Decimal] = {}
    for name in request.names:
        account = journal.accounts.get(name)
        if account is None:
            raise unknown_subject(name)
        total = account.total
        alike = total.notion, total.metric.name
        if alike not in prices:
            prices[alike] = price(request.cost, total).budget
        asked = prices[alike]
        after = exact.add(account.spent, asked)
        if after <= total.budget:
            amounts[name], spent[name] = asked, after
        elif request.skip and len(request.names) > 1:
            skipped.append(name)
            short.append((account.remaining / asked, asked, account.remaining))
        else:
            raise BudgetExceeded(asked, account.remaining, name)
    if not amounts:
        # Accounts may have budgets of several kinds, so what they have left is compared with what each would pay.
        _, asked, left = max(short)
        raise BudgetExceeded(asked, left, accounts=len(short))
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
    turns.begin_lease(charge)
    transaction.write(_ATTEMPT, (entry.number, request.key, turns.owner_of(charge.token, journal.time)))
    return charge


def _store(
    transaction: Transaction, journal: Journal, charge: Charge, content: str, recorded: Mapping[str, str]
) -> None:
    """Record the digests of an answer, and store the answer itself if its question has a key."""
    number = charge.entry.number
    if charge.process != this_process():
        raise LedgerError(f"Entry {number} was charged by the parent of this forked process.", "Ask again here.")
    line = line_at(transaction, number)
    if line is None or line.hash != charge.entry.hash:
        raise LedgerTampered(f"The charge of entry {number} is missing from the ledger.")
    attempt = transaction.rows("SELECT stored FROM geoveil_answers WHERE number = ?", (number,))
    if attempt != [(None,)]:
        raise _refused(transaction, charge, is_stored=bool(attempt))
    parameters = json.dumps({"charge": number, "sha256": digest(content), **recorded})
    entry = journal.add("store", parameters=parameters, query=line.query, release=line.release, key=line.key)
    transaction.write(
        "UPDATE geoveil_answers SET stored = ?, content = ? WHERE number = ?",
        (entry.number, None if charge.key is None else content, number),
    )


def _refused(transaction: Transaction, charge: Charge, *, is_stored: bool) -> LedgerError:
    """Return the error for an attempt that was answered, was abandoned, or was taken over by another process."""
    number, again = charge.entry.number, "Ask again with the same key or label"
    if is_stored:
        problem = f"An answer was already stored for entry {number}."
        remedy = "Ask again, which is charged again." if charge.key is None else f"{again}: it is returned for free."
        return LedgerError(problem, remedy)
    others = "SELECT stored FROM geoveil_answers WHERE key = ?"
    attempts = [] if charge.key is None else transaction.rows(others, (charge.key,))
    if not attempts:
        return LedgerError(f"The attempt of entry {number} has ended.", "Ask again, which is charged again.")
    problem = f"The lease of entry {number} expired, and another process was charged for the same question."
    if attempts[0][0] is None:
        return LedgerError(problem, f"{again}: you get the answer that it draws, for free unless it fails.")
    return LedgerError(problem, f"{again}: you get the answer that it has stored, for free.")


def forget(transaction: Transaction, journal: Journal, releases: set[str], before: datetime | None) -> int:
    """Delete the stored answers of these releases, and of all charged before a time; return the number deleted."""
    kept = transaction.rows(
        "SELECT number, time, query, release, key FROM geoveil_history WHERE number IN "
        "(SELECT number FROM geoveil_answers WHERE content IS NOT NULL) ORDER BY number"
    )
    chosen = [
        (number, query, release, key)
        for number, time, query, release, key in kept
        if release in releases or (before is not None and datetime.fromisoformat(time) < before)
    ]
    for missing in releases - {release for _, _, release, _ in chosen}:
        raise InvalidParameter("release", missing, "the id of a stored answer", "The certificate has the id.")
    deleted = []
    for number, query, release, key in chosen:
        parameters = json.dumps({"charge": number})
        entry = journal.add("forget", parameters=parameters, query=query, release=release, key=key)
        deleted.append((entry.number, number))
    transaction.write("UPDATE geoveil_answers SET content = NULL, forgotten = ? WHERE number = ?", *deleted)
    journal.write(transaction)
    return len(chosen)
