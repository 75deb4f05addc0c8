"""The account that is kept between processes and days, for each subject, with a history that is chained."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, Self

from geoveil import checks
from geoveil.budget import leases, stored_answers
from geoveil.budget.batching import Batching
from geoveil.budget.chain import secret_of
from geoveil.budget.charges import ChargeRequest, settle
from geoveil.budget.entries import Charge, Entry
from geoveil.budget.history import Replay
from geoveil.budget.journal import Journal, begin_ledger, ledger_id
from geoveil.budget.reading import all_accounts, all_answers, lines_after, read_accounts, statement
from geoveil.budget.storable import key_digest, parameters_text, subject_name, text, unknown
from geoveil.budget.stores import Transaction, open_store
from geoveil.budget.witness import Memory, Witness, check_heads, head_questions
from geoveil.errors import InvalidParameter, LedgerError, LedgerTimeout
from geoveil.privacy import Guarantee, exact, promise
from geoveil.privacy.exact import written
from geoveil.processes import this_process

__all__ = ["Ledger"]

#: Seconds between two looks at whether another process has drawn an answer.
_LONGEST_PAUSE = 0.5


class Ledger:
    """A persistent account of what has been released about whom.

    Parameters
    ----------
    place : str or Path
        A file, made if it is not there; or a connection string of PostgreSQL.
    key : bytes or Path, optional
        A secret as bytes, or the path of a file that holds it: nobody without it can compute the chain of the history.
        Without `key`, the environment variable GEOVEIL_LEDGER_KEY, if it is set, is the secret itself, and
        GEOVEIL_LEDGER_KEY_FILE the path of a file that holds it.
    witness : str or Path, optional
        A second place, of either kind, that is told the last line of the history after each charge. It notices a
        ledger that was set back. Without it, the place in the environment variable GEOVEIL_LEDGER_WITNESS, if any.
    timeout : float
        Seconds that a call may take, whatever it waits for: other threads, other processes, the database.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import geoveil as gv
    >>> ledger = gv.Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
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
        self._store = open_store(place, timeout)
        self._timeout = timeout
        self._secret = secret_of(key)
        self._memory = Memory(Witness.of(witness, timeout))
        #: One for each process: a fork copies the queue of the parent's threads, but not the threads.
        self._batchings: dict[tuple[int, bytes], Batching[ChargeRequest, Charge]] = {}
        with self._store.reading() as transaction:
            known = ledger_id(transaction, self._secret)
        if known is None:
            with self._store.transaction() as transaction:
                known = begin_ledger(transaction, self._secret)
        self.id = known
        if self._memory.witness is not None:
            self._memory.witness.check_apart(known)

    def create(
        self,
        *subjects: str,
        rho: Any = None,
        epsilon: Any = None,
        metric: str | None = None,
    ) -> Entry:
        """Open accounts with a total budget each, all or none.

        Parameters
        ----------
        *subjects : str
            Persons, devices or data sets.
        rho, epsilon : optional
            The total of each, by exactly one of them.
        metric : {"inf", "2", "1"}, default "inf"
            The metric of all that will be charged.
        """
        total, names = promise(rho, epsilon, metric), _names(subjects)
        with self._writing(names) as (transaction, journal):
            for name in journal.accounts:
                raise InvalidParameter("subject", name, "someone without an account", "Use lower(), or another name.")
            entry = journal.add("create", total, [(name, written(total.budget)) for name in names])
            journal.write(transaction)
            journal.open_accounts(transaction, names, total)
        return entry

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
        """Take the price of a release off the accounts of all its subjects, in one transaction: of all or of none.

        A charge pays for one attempt to draw the release. If the attempt ends without `store`, whatever ended it, the
        charge is spent.

        Parameters
        ----------
        subjects : sequence of str
            Whose budget it takes.
        cost : CGP or GP
            What the release promises, for each of them.
        query, parameters, release : optional
            What was asked, and the release's id, for the history.
        key : str, optional
            Identifies the question. If its release is stored, that is returned and nothing is charged; while someone
            else draws it, this waits.
        short : {"refuse", "skip"}
            Whether subjects without enough budget stop the charge, or are skipped.
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
        batching, pause = self._batchings.setdefault(this_process(), Batching()), 0.01
        while (found := batching.served(request, deadline, self._commit)) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise LedgerTimeout(
                    f"Someone else has drawn under the key {key!r} for {self._timeout:g} s, and is not done. "
                    "Nothing was charged; try again."
                )
            leases.wait(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
        return found

    def _commit(self, requests: list[ChargeRequest], deadline: float) -> list[Charge | Exception | None]:
        """Charge requests in one transaction."""
        transaction = None
        try:
            names = sorted({name for request in requests for name in request.names})
            with self._writing(names, deadline) as (transaction, journal):
                outcomes = settle(transaction, journal, requests)
                journal.write(transaction)
        except LedgerError as problem:
            if transaction is None or not transaction.committing:
                raise
            # It may have been committed: whoever tried again would pay twice.
            return [problem] * len(requests)
        return outcomes

    def store(self, charge: Charge, content: str) -> None:
        """Record the digest of a release before it is handed out, and keep the release itself if it has a key."""
        try:
            with self._writing() as (transaction, journal):
                stored_answers.store(transaction, journal, charge, content)
                journal.write(transaction)
        finally:
            leases.end(charge)

    def abandon(self, charge: Charge) -> None:
        """End an attempt without an answer: its charge is spent, and others need not wait for it."""
        leases.end(charge)
        if charge.key is None or charge.process != this_process():
            return
        # If this fails, others find out by themselves that nobody draws.
        with suppress(LedgerError), self._store.transaction() as transaction:
            transaction.write(
                "DELETE FROM geoveil_answers WHERE number = ? AND stored IS NULL", (charge.entry.number,)
            )

    def is_stored(self, key: str) -> bool:
        """Tell whether a release is stored under a key: asking for it again costs nothing."""
        with self._reading() as transaction:
            kept = "SELECT 1 FROM geoveil_answers WHERE key = ? AND content IS NOT NULL"
            return bool(transaction.rows(kept, (key_digest(key),)))

    def forget(self, *releases: str, before: datetime | None = None) -> int:
        """Delete stored answers. Their charges and digests stay, and their keys are never drawn again.

        Parameters
        ----------
        *releases : str
            Ids of releases.
        before : datetime, optional
            All that were charged before this moment, by the ledger's clock.

        Returns
        -------
        int
            The number of answers deleted.
        """
        wanted = {text("release", release) for release in releases}
        if before is not None and before.tzinfo is None:
            raise InvalidParameter("before", before, "a moment with a time zone", "Use datetime.now(UTC), or tzinfo=.")
        with self._writing() as (transaction, journal):
            count = stored_answers.forget(transaction, journal, wanted, before)
            journal.write(transaction)
        return count

    def total(self, subject: str) -> Guarantee:
        """Return the total of an account."""
        return self._account(subject)[0]

    def accounts(self, subjects: Sequence[str]) -> dict[str, tuple[Guarantee, Decimal]]:
        """Return the totals of many accounts and what was spent of them."""
        names = [subject_name(subject) for subject in subjects]
        with self._reading() as transaction:
            accounts = read_accounts(transaction, names)
        for name in names:
            if name not in accounts:
                raise unknown(name)
        return {name: accounts[name] for name in names}

    def balances(self, subjects: Sequence[str]) -> dict[str, Decimal]:
        """Return what is left of many accounts."""
        found = self.accounts(subjects)
        return {name: exact.subtract(total.budget, spent) for name, (total, spent) in found.items()}

    def spent(self, subject: str) -> Decimal:
        """Return what has been charged to an account."""
        return self._account(subject)[1]

    def remaining(self, subject: str) -> Decimal:
        """Return what is left of an account, exactly."""
        total, spent = self._account(subject)
        return exact.subtract(total.budget, spent)

    def subjects(self) -> list[str]:
        """Return everyone with an account, in the order of their names."""
        with self._reading() as transaction:
            return [name for (name,) in transaction.rows("SELECT subject FROM geoveil_accounts ORDER BY subject")]

    def statement(self, subject: str) -> list[dict[str, Any]]:
        """Return the history of an account: when what was asked, with which parameters, and what it cost."""
        with self._reading() as transaction:
            return statement(transaction, subject_name(subject))

    def lower(self, subject: str, *, rho: Any = None, epsilon: Any = None) -> Entry:
        """Set a smaller total. What has been spent stays spent, even if it is more."""
        return self._set(subject, rho, epsilon, "lower", "")

    def override(self, subject: str, *, rho: Any = None, epsilon: Any = None, reason: str) -> Entry:
        """Set a larger total, against what was promised: the history keeps the reason for ever."""
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidParameter("reason", reason, "a text", "It is recorded: say who decided it, and why.")
        return self._set(subject, rho, epsilon, "override", text("reason", reason))

    def _set(self, subject: str, rho: Any, epsilon: Any, event: str, reason: str) -> Entry:
        name = subject_name(subject)
        with self._writing([name]) as (transaction, journal):
            if name not in journal.accounts:
                raise unknown(name)
            before = journal.accounts[name][0]
            stated = isinstance(rho, Guarantee) or isinstance(epsilon, Guarantee)
            total = promise(rho, epsilon, None if stated else before.metric)
            if type(total) is not type(before) or total.metric != before.metric:
                allowed = f"{before.symbol}= under {before.metric}, as the account has it"
                raise InvalidParameter("rho, epsilon", (rho, epsilon), allowed, "Give that.")
            if event == "lower" and total.budget > before.budget:
                remedy = "A total that was promised stands; override() breaks the promise, on record."
                raise InvalidParameter(total.symbol, str(total.budget), f"at most {before.budget}", remedy)
            amount = written(total.budget)
            entry = journal.add(event, total, [(name, amount)], query=reason)
            journal.write(transaction)
            transaction.update("geoveil_accounts", "total", "subject", [(amount, name)])
        return entry

    def verify(self, certificates: Iterable[Mapping[str, Any]] = ()) -> int:
        """Replay the history: its chain, its rules, the accounts, the stored answers, and certificates.

        Parameters
        ----------
        certificates : iterable of dict
            Certificates of releases; each refers to its entry, which must still be there.

        Returns
        -------
        int
            The number of entries.

        Raises
        ------
        LedgerTampered
            If anything is not what it was, or if a charge exceeded an account.
        """
        replay = Replay(self.id, self._secret, certificates)
        page = True
        while page:
            # In short transactions: others may charge meanwhile, and what is written is not changed.
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

    def backup(self, file: str | os.PathLike[str]) -> int:
        """Copy the ledger, while it is in use, into a file that can be read and restored but not charged.

        Parameters
        ----------
        file : str or Path
            The backup, which must not exist. `Ledger.restore` makes a ledger of it.

        Returns
        -------
        int
            The number of entries in the backup, which was verified.
        """
        from geoveil.budget.backup import back_up

        return back_up(self, file)

    @staticmethod
    def restore(
        backup: str | os.PathLike[str],
        place: str | os.PathLike[str],
        *,
        key: bytes | os.PathLike[str] | None = None,
        certificates: Iterable[Mapping[str, Any]] = (),
        witness: str | os.PathLike[str] | None = None,
        write_off: str | None = None,
    ) -> Ledger:
        """Make a ledger of a backup, if nothing was charged since; otherwise write off what is left of all budgets.

        Parameters
        ----------
        backup : str or Path
            A file that `backup` wrote.
        place : str or Path
            Where the ledger is to be: a file that does not exist.
        key : bytes or Path, optional
            The key of the ledger's chain.
        certificates : iterable of dict
            Certificates of the latest releases. The backup must have the entries that they refer to.
        witness : str or Path, optional
            The witness of the ledger. The backup must have the last entry that it knows of.
        write_off : str, optional
            A reason. Anything may have been charged after the backup, so everything that is left is charged, on
            record, and the witness begins anew. Totals can then be raised one by one with `override`.

        Returns
        -------
        Ledger
            The ledger, verified.
        """
        from geoveil.budget.backup import restore

        return restore(backup, place, key=key, certificates=certificates, witness=witness, write_off=write_off)

    def testify(self) -> int:
        """Tell the witness where the ledger ends, and return the number of its last entry."""
        if self._memory.witness is None:
            raise InvalidParameter("witness", None, "the place of a witness", "Open the ledger with witness=.")
        with self._writing() as (_, journal):
            return journal.number

    def close(self) -> None:
        """Close the connection; it is opened again when it is needed."""
        self._store.close()
        if self._memory.witness is not None:
            self._memory.witness.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @contextmanager
    def _writing(
        self, names: Sequence[str] = (), deadline: float | None = None
    ) -> Iterator[tuple[Transaction, Journal]]:
        """Hold the ledger, refuse one that was set back, and remember its last line before anything is released."""
        if deadline is None:
            deadline = time.monotonic() + self._timeout
        heads = self._memory.heads(self.id, deadline)
        with self._store.transaction(deadline) as transaction:
            journal = Journal.read(transaction, self.id, self._secret, names, heads)
            yield transaction, journal
        self._memory.record(self.id, journal.number, journal.hash, deadline)

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        """Read the ledger as it is at one moment; refuse one that was set back. A backup may be behind its ledger."""
        heads = [] if self._store.is_backup else self._memory.heads(self.id)
        with self._store.reading() as transaction:
            if heads:
                check_heads(heads, transaction.ask(*head_questions(heads)))
            yield transaction

    def _account(self, subject: str) -> tuple[Guarantee, Decimal]:
        return self.accounts([subject])[subject]


def _names(subjects: Sequence[str]) -> list[str]:
    names = [subject_name(subject) for subject in subjects]
    if not names or len(set(names)) < len(names):
        raise InvalidParameter("subjects", subjects, "at least one name, none twice", "Name each once.")
    return names
