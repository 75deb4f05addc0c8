"""A persistent ledger with an account for each subject and a history secured by a hash chain."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, Self

from geoveil import checks
from geoveil.budget import leases, stored_answers, totals
from geoveil.budget.batching import Batching, Waiting
from geoveil.budget.chain import secret_of
from geoveil.budget.charges import ChargeRequest, settle
from geoveil.budget.entries import Charge, Entry
from geoveil.budget.history import Replay
from geoveil.budget.interruptions import uninterrupted
from geoveil.budget.journal import Journal, begin_ledger, ledger_id
from geoveil.budget.reading import all_accounts, all_answers, lines_after, read_accounts, statement
from geoveil.budget.storable import key_digest, parameters_text, subject_name, text, unknown
from geoveil.budget.stores import Store, Transaction, open_store
from geoveil.budget.witness import Head, Memory, Witness, check_heads, head_questions
from geoveil.cards import Card, Rows
from geoveil.errors import GeoveilError, InvalidParameter, LedgerError, LedgerTimeout, Message
from geoveil.privacy import CGP, GP, Certificate, Guarantee, as_metric, exact, promise, protected_metric
from geoveil.privacy.exact import Number
from geoveil.processes import this_process
from geoveil.wording import protected

__all__ = ["Ledger"]

#: Longest pause in seconds between two checks whether another process has stored an answer.
_LONGEST_PAUSE = 0.5
#: Longest wait in seconds for the card that a prompt or a notebook shows.
_LONGEST_LOOK = 3.0


class Ledger(Card):
    """A persistent ledger: the budget of each subject, and the history of all charges.

    Parameters
    ----------
    place : str or Path
        Path of a file, which is created if it does not exist, or a PostgreSQL connection string.
    key : bytes or Path, optional
        A secret as bytes, or the path of a file that contains it, without which nobody can compute the hash chain of
        the history. By default the environment variable GEOVEIL_LEDGER_KEY is the secret itself, or
        GEOVEIL_LEDGER_KEY_FILE is the path of a file that contains it, if one of them is set.
    witness : str or Path, optional
        A second file or database, which records the last entry of the history after each charge and so detects a
        ledger that was replaced by an old copy. By default the one in the environment variable
        GEOVEIL_LEDGER_WITNESS, if it is set.
    timeout : float
        Time limit of a call in seconds, including all waiting for threads, processes and the database.

    Examples
    --------
    >>> ledger = gv.Ledger(folder / "budget.db")
    >>> entry = ledger.create("ann", rho=1e-4)
    >>> charge = ledger.charge(["ann"], gv.CGP(rho=4e-5), query="points")
    >>> ledger.spent("ann"), ledger.remaining("ann")
    (Decimal('0.00004'), Decimal('0.00006'))
    >>> ledger.verify()
    2
    """

    def __init__(
        self,
        place: str | os.PathLike[str],
        *,
        key: bytes | os.PathLike[str] | None = None,
        witness: str | os.PathLike[str] | None = None,
        timeout: float = 60.0,
    ) -> None:
        checks.positive("timeout", timeout, remedy="Give a number of seconds.")
        self._store = self._open(place, timeout)
        self._timeout = timeout
        self._secret = secret_of(key)
        self._memory = Memory(Witness.of(witness, timeout))
        #: One queue for each process: a fork copies the queue of the parent's threads, but not the threads.
        self._batchings: dict[tuple[int, bytes], Batching[ChargeRequest, Charge]] = {}
        with self._store.reading() as transaction:
            known = ledger_id(transaction, self._secret)
            self._remember(transaction)
        if known is None:
            with self._store.transaction() as transaction:
                known = begin_ledger(transaction, self._secret)
        self.id = known
        if self._memory.witness is not None:
            self._memory.witness.check_apart(known)

    def create(
        self,
        *subjects: str,
        hide: float | str | None = None,
        rho: Number | CGP | None = None,
        epsilon: Number | GP | None = None,
        protect: str | timedelta | None = None,
        new: str | None = None,
    ) -> Entry:
        """Open accounts with a total budget each, all or none.

        Parameters
        ----------
        *subjects : str
            Names of persons, devices or data sets.
        hide, rho, epsilon : optional
            The total of each account; give exactly one of them.
        protect : str or timedelta, optional
            What is hidden together: a length of time such as "1 day", or "point"; by default all of a person's
            locations. Releases that protect something else are charged what they cost for this.
        new : str, optional
            Who says that these subjects never had an account here, and why; it is recorded. A ledger that was
            restored with a write-off asks for it, since the backup lacks accounts that were opened after it.

        Returns
        -------
        Entry
            The entry of the history.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> ledger.create("eve", rho=1e-3).number
        2
        >>> ledger.subjects()
        ['ann', 'bob', 'eve']
        >>> _ = ledger.create("dan", rho=1e-3, protect="1 day")
        >>> ledger.total("dan")
        CGP(rho=0.001, metric='1 day')
        """
        total, names = promise(hide, rho, epsilon, protected_metric(protect)), _names(subjects)
        if new is not None and not new.strip():
            raise InvalidParameter("new", new, "a text", "It is recorded: state who says so, and why.")
        why = None if new is None else text("new", new)
        with self._writing(names) as (transaction, journal):
            return totals.open_accounts(transaction, journal, names, total, new=why)

    def charge(
        self,
        subjects: Sequence[str],
        cost: Guarantee,
        *,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        release: str = "",
        key: str | None = None,
        short: Literal["refuse", "skip"] = "refuse",
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
        short : {"refuse", "skip"}
            Whether the charge is refused if a subject has too little budget left, or the subject is skipped.

        Returns
        -------
        Charge
            The charge, with the stored release if there is one.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> ledger.charge(["ann", "bob"], gv.CGP(rho=4e-4), query="mean").amounts
        {'ann': Decimal('0.0004'), 'bob': Decimal('0.0004')}
        >>> ledger.remaining("bob")
        Decimal('0.0006')
        """
        deadline = time.monotonic() + self._timeout
        if short not in ("refuse", "skip"):
            raise InvalidParameter("short", short, "'refuse' or 'skip'", "Leave it out to charge all or none.")
        request = ChargeRequest(
            _names(subjects),
            cost,
            text("query", query),
            parameters_text(parameters),
            text("release", release),
            None if key is None else key_digest(key),
            key or "",
            short == "skip",
        )
        waiting: Waiting[ChargeRequest, Charge] = Waiting(request, deadline)
        try:
            return uninterrupted(lambda: self._charged(waiting))
        except BaseException:
            waiting.withdrawn = True
            raise

    def _charged(self, waiting: Waiting[ChargeRequest, Charge]) -> Charge:
        """Charge a request, or wait for the answer of its key and return it."""
        batching, pause = self._batchings.setdefault(this_process(), Batching()), 0.01
        request, deadline = waiting.request, waiting.deadline
        try:
            while (found := batching.served(waiting, self._commit)) is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise LedgerTimeout(
                        f"Another thread or process has been drawing the answer of the key {request.shown!r} for more "
                        f"than {self._timeout:g} s.",
                        "Try again.",
                        charged="nothing",
                    )
                leases.wait(min(pause, left))
                pause = min(2 * pause, _LONGEST_PAUSE)
        except BaseException:
            # The request may have been charged. Others with its key need not wait for the answer.
            if request.charge is not None:
                leases.end(request.charge)
            raise
        if waiting.withdrawn and found.content is None:
            self.abandon(found)
        return found

    def _commit(self, requests: list[ChargeRequest], deadline: float) -> list[Charge | Exception | None]:
        """Charge a batch of requests in one transaction, and return the outcome of each."""
        transaction = None
        outcomes: list[Charge | Exception | None] = []
        try:
            names = sorted({name for request in requests for name in request.names})
            with self._writing(names, deadline) as (transaction, journal):
                outcomes = settle(transaction, journal, requests)
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
            The SHA-256 of the file that holds the release, and that of its certificate in canonical form. `verify`
            knows both again.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> charge = ledger.charge(["ann"], gv.CGP(rho=1e-4), query="mean", key="mean of May")
        >>> ledger.store(charge, "the answer")
        >>> ledger.charge(["ann"], gv.CGP(rho=1e-4), query="mean", key="mean of May").content
        'the answer'
        """
        try:
            given = {"file": file, "certificate": certificate}
            written = {name: digest for name, digest in given.items() if digest is not None}
            uninterrupted(lambda: self._stored(charge, content, written))
        except GeoveilError as problem:
            # Whatever the store says of this transaction, the charge was committed before.
            problem.charged = "spent" if charge.content is None else "nothing"
            raise

    def _stored(self, charge: Charge, content: str, written: Mapping[str, str]) -> None:
        try:
            with self._writing() as (transaction, journal):
                stored_answers.store(transaction, journal, charge, content, written)
                journal.write(transaction)
        finally:
            leases.end(charge)

    def holding(self, charge: Charge) -> AbstractContextManager[None]:
        """Extend the lease of an attempt from time to time while a block draws, so that other machines go on waiting.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", rho=1e-3)
        >>> charge = ledger.charge(["ann"], gv.CGP(rho=1e-4), query="mean", key="mean of May")
        >>> with ledger.holding(charge):
        ...     answer = "took an hour"
        >>> ledger.store(charge, answer)
        """
        return nullcontext() if charge.key is None else leases.renewing(lambda: self._renew(charge))

    def _renew(self, charge: Charge) -> None:
        # If this fails, the lease lasts until it expires. One that has expired and was taken over has no row any more.
        with suppress(LedgerError), self._store.transaction() as transaction:
            ((now,),) = transaction.rows(f"SELECT {transaction.clock}")
            transaction.write(
                "UPDATE geoveil_answers SET owner = ? WHERE number = ? AND stored IS NULL",
                (leases.owner_of(charge.token, now), charge.entry.number),
            )

    def abandon(self, charge: Charge) -> None:
        """End an attempt without an answer: its charge is spent, and others no longer wait for it.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> charge = ledger.charge(["ann"], gv.CGP(rho=1e-4), query="mean", key="mean of May")
        >>> ledger.abandon(charge)
        >>> ledger.spent("ann"), ledger.is_stored("mean of May")
        (Decimal('0.0001'), False)
        """
        uninterrupted(lambda: self._abandoned(charge))

    def _abandoned(self, charge: Charge) -> None:
        leases.end(charge)
        if charge.key is None or charge.process != this_process():
            return
        # If this fails, others notice by the lease that nobody draws.
        with suppress(LedgerError), self._store.transaction() as transaction:
            transaction.write(
                "DELETE FROM geoveil_answers WHERE number = ? AND stored IS NULL", (charge.entry.number,)
            )

    def is_stored(self, key: str) -> bool:
        """Tell whether the release of a key is stored, so that asking again costs nothing.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> charge = ledger.charge(["ann"], gv.CGP(rho=1e-4), query="mean", key="mean of May")
        >>> ledger.store(charge, "the answer")
        >>> ledger.is_stored("mean of May"), ledger.is_stored("mean of June")
        (True, False)
        """
        with self._reading() as transaction:
            kept = "SELECT 1 FROM geoveil_answers WHERE key = ? AND content IS NOT NULL"
            return bool(transaction.rows(kept, (key_digest(key),)))

    def forget(self, *releases: str, before: datetime | None = None) -> int:
        """Delete stored answers. Their charges and digests are kept, and their keys cannot be used again.

        Parameters
        ----------
        *releases : str
            Ids of releases.
        before : datetime, optional
            Delete also all answers that were charged before this time, by the ledger's clock.

        Returns
        -------
        int
            The number of answers deleted.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> from datetime import UTC, datetime
        >>> charge = ledger.charge(["ann"], gv.CGP(rho=1e-4), query="mean", key="mean of May")
        >>> ledger.store(charge, "the answer")
        >>> ledger.forget(before=datetime(2100, 1, 1, tzinfo=UTC))
        1
        >>> ledger.is_stored("mean of May")
        False
        """
        wanted = {text("release", release) for release in releases}
        if before is not None and before.tzinfo is None:
            raise InvalidParameter("before", before, "a time with a time zone", "Use datetime.now(UTC), or tzinfo=.")
        with self._writing() as (transaction, journal):
            count = stored_answers.forget(transaction, journal, wanted, before)
            journal.write(transaction)
        return count

    def total(self, subject: str) -> Guarantee:
        """Return the total of an account.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> ledger.total("ann")
        CGP(rho=0.001)
        """
        return self._account(subject)[0]

    def accounts(self, subjects: Sequence[str]) -> dict[str, tuple[Guarantee, Decimal]]:
        """Return the total and the spent amount of each of these accounts.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> ledger.accounts(["ann"])
        {'ann': (CGP(rho=0.001), Decimal('0'))}
        """
        names = [subject_name(subject) for subject in subjects]
        with self._reading() as transaction:
            accounts = read_accounts(transaction, names)
        for name in names:
            if name not in accounts:
                raise unknown(name)
        return {name: accounts[name] for name in names}

    def balances(self, subjects: Sequence[str]) -> dict[str, Decimal]:
        """Return the exact amount that is left of each of these accounts.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> ledger.balances(["ann", "bob"])
        {'ann': Decimal('0.001'), 'bob': Decimal('0.001')}
        """
        found = self.accounts(subjects)
        return {name: exact.subtract(total.budget, spent) for name, (total, spent) in found.items()}

    def spent(self, subject: str) -> Decimal:
        """Return the amount charged to an account.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> ledger.spent("ann")
        Decimal('0')
        """
        return self._account(subject)[1]

    def remaining(self, subject: str) -> Decimal:
        """Return the exact amount that is left of an account.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> _ = ledger.charge(["ann"], gv.CGP(rho=4e-4), query="mean")
        >>> ledger.remaining("ann")
        Decimal('0.0006')
        """
        total, spent = self._account(subject)
        return exact.subtract(total.budget, spent)

    def subjects(self) -> list[str]:
        """Return the names of all subjects with an account, sorted.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> ledger.subjects()
        ['ann', 'bob']
        """
        with self._reading() as transaction:
            return [name for (name,) in transaction.rows("SELECT subject FROM geoveil_accounts ORDER BY subject")]

    def statement(self, subject: str) -> list[dict[str, Any]]:
        """Return the history of an account: time, question, parameters and cost of each entry.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> _ = ledger.charge(["ann"], gv.CGP(rho=4e-4), query="mean")
        >>> [(line["event"], line["query"], line["amount"]) for line in ledger.statement("ann")]
        [('create', '', '0.001'), ('charge', 'mean', '0.0004')]
        """
        with self._reading() as transaction:
            return statement(transaction, subject_name(subject))

    def lower(self, subject: str, *, rho: Number | CGP | None = None, epsilon: Number | GP | None = None) -> Entry:
        """Set a smaller total. The amount spent does not change, even if it exceeds the new total.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> _ = ledger.lower("ann", rho=5e-4)
        >>> ledger.remaining("ann")
        Decimal('0.0005')
        """
        name = subject_name(subject)
        with self._writing([name]) as (transaction, journal):
            return totals.change_total(transaction, journal, name, rho, epsilon, reason=None)

    def override(
        self, subject: str, *, rho: Number | CGP | None = None, epsilon: Number | GP | None = None, reason: str
    ) -> Entry:
        """Set a larger total, which breaks the promise of the old one; the history keeps the reason forever.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> _ = ledger.override("ann", rho=2e-3, reason="Agreed with Ann on 5 May 2026")
        >>> ledger.remaining("ann")
        Decimal('0.002')
        """
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidParameter("reason", reason, "a text", "It is recorded: state who decided, and why.")
        name, why = subject_name(subject), text("reason", reason)
        with self._writing([name]) as (transaction, journal):
            return totals.change_total(transaction, journal, name, rho, epsilon, reason=why)

    def verify(self, certificates: Iterable[Certificate] = ()) -> int:
        """Replay the history, and check its hash chain, its rules, the accounts, stored answers and certificates.

        Parameters
        ----------
        certificates : iterable of dict
            Certificates of releases. The entry that each refers to must exist; where the ledger recorded the
            certificate of a file, it must be that one.

        Returns
        -------
        int
            The number of entries.

        Raises
        ------
        LedgerTampered
            If anything was changed, or if a charge exceeded an account.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", rho=1e-3)
        >>> release = gv.Locations(homes, area=bay).session(ledger=ledger, subject="ann").mean(rho=1e-4)
        >>> ledger.verify([release.certificate()])
        3
        """
        replay = Replay(self.id, self._secret, certificates)
        page = True
        while page:
            # In short transactions, so that others can charge meanwhile: existing entries do not change.
            with self._store.reading() as transaction:
                lines = lines_after(transaction, replay.number)
            page = replay.lines(lines)
        with self._reading() as transaction:
            while replay.lines(lines_after(transaction, replay.number)):
                pass
            ((number, hashed),) = transaction.rows("SELECT number, hash FROM geoveil_head")
            ((posted,),) = transaction.rows("SELECT COUNT(*) FROM geoveil_postings")
            replay.finish((number, hashed, posted), all_accounts(transaction), all_answers(transaction))
        return replay.number

    def recorded_file(self, release: str) -> str | None:
        """Return the SHA-256 of the file that was written as a release, given by its id; None if it was no file.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", rho=1e-3)
        >>> charge = ledger.charge(["ann"], gv.CGP(rho=1e-4), query="points", release="a1")
        >>> ledger.store(charge, "in a file", file="5f70bf18a08660e5")
        >>> ledger.recorded_file("a1")
        '5f70bf18a08660e5'
        """
        with self._reading() as transaction:
            sql = "SELECT parameters FROM geoveil_history WHERE event = 'store' AND release = ?"
            found = [json.loads(parameters) for (parameters,) in transaction.rows(sql, (text("release", release),))]
        return next((str(told["file"]) for told in found if "file" in told), None)

    def backup(self, file: str | os.PathLike[str]) -> int:
        """Copy the ledger, also while it is in use, into a file that can be read and restored but not charged.

        Parameters
        ----------
        file : str or Path
            The new file, which must not exist. `Ledger.restore` makes a ledger from it.

        Returns
        -------
        int
            The number of entries in the backup, which has been verified.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", rho=1e-3)
        >>> ledger.backup(folder / "backup.db")
        1
        """
        from geoveil.budget.backup import back_up

        return back_up(self, file)

    @staticmethod
    def restore(
        backup: str | os.PathLike[str],
        place: str | os.PathLike[str],
        *,
        key: bytes | os.PathLike[str] | None = None,
        certificates: Iterable[Certificate] = (),
        witness: str | os.PathLike[str] | None = None,
        write_off: str | None = None,
    ) -> Ledger:
        """Restore a ledger from a backup if nothing was charged since; otherwise, charge the rest of all budgets.

        Parameters
        ----------
        backup : str or Path
            A file that `backup` wrote.
        place : str or Path
            The file of the new ledger, which must not exist.
        key : bytes or Path, optional
            The key of the ledger's hash chain.
        certificates : iterable of dict
            Certificates of the latest releases. The backup must have the entries that they refer to.
        witness : str or Path, optional
            The witness of the ledger. The backup must have the last entry that the witness has recorded.
        write_off : str, optional
            A reason to restore a backup after which anything may have been charged. The rest of every budget is then
            charged, on record, and the witness starts again. Raise totals one by one with `override` afterwards.
            Accounts that were opened after the backup are lost: `create` asks of every later account why it is new.

        Returns
        -------
        Ledger
            The ledger, which has been verified.

        Examples
        --------
        >>> with gv.Ledger(folder / "budget.db", witness=folder / "witness.db") as ledger:
        ...     _ = ledger.create("ann", rho=1e-3)
        ...     _ = ledger.backup(folder / "backup.db")
        >>> restored = gv.Ledger.restore(folder / "backup.db", folder / "again.db", witness=folder / "witness.db")
        >>> restored.remaining("ann")
        Decimal('0.001')
        """
        from geoveil.budget.backup import restore

        return restore(backup, place, key=key, certificates=certificates, witness=witness, write_off=write_off)

    def testify(self) -> int:
        """Record the last entry at the witness, and return its number.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db", witness=folder / "witness.db")
        >>> _ = ledger.create("ann", rho=1e-3)
        >>> ledger.testify()
        1
        """
        if self._memory.witness is None:
            raise InvalidParameter("witness", None, "a file or a database", Message("Open the ledger with {witness}."))
        with self._writing() as (_, journal):
            return journal.number

    def close(self) -> None:
        """Close the connection, which is opened again when needed.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> ledger.close()
        >>> ledger.spent("ann")
        Decimal('0')
        """
        self._store.close()
        if self._memory.witness is not None:
            self._memory.witness.close()

    def _card(self) -> tuple[str, Rows]:
        try:
            with self._store.reading(time.monotonic() + min(self._timeout, _LONGEST_LOOK)) as transaction:
                counted = transaction.rows("SELECT metric, COUNT(*) FROM geoveil_accounts GROUP BY metric")
                entries = self._remember(transaction).number
        except LedgerError:
            return f"Ledger in {self._store.name}", [("accounts", "cannot be read now")]
        numbers: dict[str, int] = dict(counted)
        rows = [
            ("accounts", str(sum(numbers.values()))),
            *(("protect", text) for text in [_protecting(numbers)] if text),
            ("entries", str(entries)),
            ("key", "none" if self._secret is None else "the history is secured by a key"),
            ("witness", "none" if self._memory.witness is None else "a second place knows the last entry"),
        ]
        return f"Ledger in {self._store.name}", rows

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _open(self, place: str | os.PathLike[str], timeout: float) -> Store[Any]:
        """Return the store of the ledger; a copy in the making has another one."""
        return open_store(place, timeout)

    @contextmanager
    def _writing(
        self, names: Sequence[str] = (), deadline: float | None = None
    ) -> Iterator[tuple[Transaction, Journal]]:
        """Lock the ledger, check that it was not replaced by an old copy, and record its last entry at the end."""
        if deadline is None:
            deadline = time.monotonic() + self._timeout
        heads = self._memory.heads(self.id, deadline)
        with self._store.transaction(deadline) as transaction:
            journal = Journal.read(transaction, self.id, self._secret, names, heads)
            self._memory.remember(Head(journal.number, journal.hash))
            yield transaction, journal
        self._memory.record(self.id, journal.number, journal.hash, deadline)

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        """Read a snapshot of the ledger, and check that it was not replaced by an old copy, unless it is a backup."""
        heads = [] if self._store.is_backup else self._memory.heads(self.id)
        with self._store.reading() as transaction:
            if heads:
                check_heads(heads, transaction.ask(*head_questions(heads)))
            self._remember(transaction)
            yield transaction

    def _remember(self, transaction: Transaction) -> Head:
        """Return the last entry, and remember it: it is committed, so the ledger must have it from now on."""
        ((number, hashed),) = transaction.rows("SELECT number, hash FROM geoveil_head")
        head = Head(int(number), hashed)
        self._memory.remember(head)
        return head

    def _account(self, subject: str) -> tuple[Guarantee, Decimal]:
        return self.accounts([subject])[subject]


def _undone(outcome: Charge | Exception | None, problem: LedgerError) -> Charge | Exception | None:
    """Return the outcome of a request whose transaction had a problem while or after it was committed."""
    if not isinstance(outcome, Charge):
        return outcome
    if outcome.content is None:
        return problem
    return type(problem)(problem.problem, problem.remedy, charged="nothing")


def _protecting(numbers: Mapping[str, int]) -> str:
    """Return what accounts protect, from the number of accounts of each metric; empty if all have the default."""
    if not {*numbers} - {"inf"}:
        return ""
    return "; ".join(f"{protected(as_metric(name))} ({count})" for name, count in sorted(numbers.items()))


def _names(subjects: Sequence[str]) -> list[str]:
    names = [subject_name(subject) for subject in subjects]
    if not names or len(set(names)) < len(names):
        raise InvalidParameter("subjects", subjects, "at least one name, and no name twice", "Name each subject once.")
    return names
