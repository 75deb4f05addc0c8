"""The account that is kept between processes and days, for each subject, with a history that is chained."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, Self

from geoveil import checks
from geoveil.budget.batching import Batching
from geoveil.budget.chain import secret_of
from geoveil.budget.charging import ANSWER, Request, answer_request
from geoveil.budget.drawing import LIVE
from geoveil.budget.entries import Charge, Entry
from geoveil.budget.history import History, digest
from geoveil.budget.journal import Journal, begin_ledger, ledger_id, lines_of, read_accounts
from geoveil.budget.storable import subject_name, unknown
from geoveil.budget.stores import Transaction, open_store
from geoveil.errors import (
    BudgetError,
    IncompatibleGuarantees,
    InvalidInput,
    InvalidParameter,
    LedgerError,
    LedgerTampered,
    LedgerTimeout,
)
from geoveil.privacy import Guarantee, exact, promise
from geoveil.privacy.exact import written

__all__ = ["Ledger"]


class Ledger:
    """A persistent account of what has been released about whom.

    Parameters
    ----------
    place : str or Path
        A file, made if it is not there; or a connection string of PostgreSQL.
    key : bytes or Path, optional
        A secret, or a file that holds one: the chain of the history is then one that nobody without it can compute.
        Without it, what the environment variable GEOVEIL_LEDGER_KEY holds, if anything.
    timeout : float
        Seconds to wait for others who charge at the same time.

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
        self, place: str | os.PathLike[str], *, key: bytes | os.PathLike[str] | None = None, timeout: float = 60.0
    ) -> None:
        checks.positive("timeout", timeout, remedy="Give a number of seconds.")
        self._store = open_store(place, timeout)
        self._timeout = timeout
        self._secret = secret_of(key)
        self._batching = Batching(self._serve, timeout)
        with self._store.reading() as transaction:
            known = ledger_id(transaction, self._secret)
        if known is None:
            with self._store.transaction() as transaction:
                known = begin_ledger(transaction, self._secret)
        self.id = known

    def create(
        self,
        subject: str,
        *,
        rho: Any = None,
        epsilon: Any = None,
        metric: str | None = None,
    ) -> Entry:
        """Open an account with a total budget.

        Parameters
        ----------
        subject : str
            A person, a device or a data set.
        rho, epsilon : optional
            The total, by exactly one of them.
        metric : {"inf", "2", "1"}, default "inf"
            The metric of all that will be charged.
        """
        total = promise(rho, epsilon, metric)
        with self._store.transaction() as transaction:
            journal = self._journal(transaction, [subject_name(subject)])
            if journal.accounts:
                raise InvalidParameter(
                    "subject", subject, "someone without an account", "Use lower(), or another name."
                )
            entry = journal.add(subject, "create", total)
            journal.write(transaction)
            transaction.write(
                "INSERT INTO geoveil_accounts (subject, notion, metric, total, spent) VALUES (?, ?, ?, ?, ?)",
                (subject, total.notion, total.metric.name, written(total.budget), "0"),
            )
        return Entry.of(self.id, entry)

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

        Parameters
        ----------
        subjects : sequence of str
            Whose budget it takes.
        cost : CGP or GP
            What the release promises, for each of them.
        query, parameters, release : optional
            What was asked, and the release's id, for the history.
        key : str, optional
            The same key is charged once: if its release is stored, that comes back; if it was charged and never
            stored, it may be drawn under that charge.
        short : {"refuse", "skip"}
            What becomes of subjects without as much budget.
        """
        if short not in ("refuse", "skip"):
            raise InvalidParameter("short", short, "'refuse' or 'skip'", "Leave it out to charge all or none.")
        names = [subject_name(subject) for subject in subjects]
        if not names or len(set(names)) < len(names):
            raise InvalidParameter("subjects", subjects, "at least one name, none twice", "Charge each once.")
        described = json.dumps(dict(parameters or {}), sort_keys=True, default=str)
        request = Request(names, cost, query, described, release, key, short == "skip")
        deadline = time.monotonic() + self._timeout
        while (found := self._served_or_given_up(request)) is None:
            # Someone else is drawing it.
            if time.monotonic() > deadline:
                raise LedgerTimeout(f"Another process has drawn under the key {key!r} for {self._timeout:g} s.")
            time.sleep(0.02)
        return found

    def _served_or_given_up(self, request: Request) -> Charge | None:
        try:
            return self._batching.served(request)
        except BaseException:
            # Whatever was charged for it, nobody will draw.
            if request.charge is not None:
                self.gave_up(request.charge)
            raise

    def _serve(self, batch: list[Request]) -> None:
        found: dict[int, Charge | None] = {}
        problems: dict[int, Exception] = {}
        try:
            with self._store.transaction() as transaction:
                journal = self._journal(transaction, sorted({name for request in batch for name in request.names}))
                for at, request in enumerate(batch):
                    try:
                        found[at] = answer_request(transaction, journal, request)
                    except (BudgetError, InvalidInput, IncompatibleGuarantees) as problem:
                        problems[at] = problem
                journal.write(transaction)
        except BaseException as problem:
            # Nothing was written, whatever seemed to be.
            ordinary = isinstance(problem, Exception)
            told = (
                problem if ordinary else LedgerError("The thread that charged was interrupted. Nothing was charged.")
            )
            found, problems = {}, dict.fromkeys(range(len(batch)), told)  # type: ignore[arg-type]
            if not ordinary:
                raise
        finally:
            for at, request in enumerate(batch):
                request.charge, request.problem, request.done = found.get(at), problems.get(at), True
                if request.charge is not None and request.charge.content is None:
                    LIVE.add(request.charge.token)

    def store(self, charge: Charge, content: str) -> str:
        """Keep a release before it is handed out; what is handed out is what comes back."""
        LIVE.discard(charge.token)
        first = charge.entries[0]
        with self._store.transaction() as transaction:
            # The ledger is held, so that of two who have drawn the first one's answer stands.
            journal = self._journal(transaction, [first.subject])
            before = transaction.rows(ANSWER, (charge.key,))
            if not before or before[0][0] != first.number:
                raise LedgerTampered(f"The charge of {charge.key!r} is gone from the ledger. Nothing was released.")
            if before[0][2] is not None:
                return str(before[0][2])
            of, told = journal.accounts[first.subject][0], json.dumps({"sha256": digest(content)})
            journal.add(first.subject, "store", of, parameters=told, release=str(first.number), amount="0")
            journal.write(transaction)
            transaction.write("UPDATE geoveil_answers SET content = ? WHERE key = ?", (content, charge.key))
        return content

    def is_stored(self, key: str) -> bool:
        """Whether a release is stored under a key: it costs nothing to ask for it again."""
        with self._store.reading() as transaction:
            found = transaction.rows(ANSWER, (key,))
        return bool(found) and found[0][2] is not None

    def gave_up(self, charge: Charge) -> None:
        """Nothing was drawn under a charge, or nothing of it will get out: someone else may draw."""
        LIVE.discard(charge.token)

    def spoil(self, charge: Charge) -> None:
        """What was charged is gone: drawing failed, which may have told something. The next one is charged anew."""
        LIVE.discard(charge.token)
        with self._store.transaction() as transaction:
            transaction.write("DELETE FROM geoveil_answers WHERE key = ? AND content IS NULL", (charge.key,))

    def total(self, subject: str) -> Guarantee:
        """The total of an account."""
        return self._account(subject)[0]

    def accounts(self, subjects: Sequence[str]) -> dict[str, tuple[Guarantee, Decimal]]:
        """The totals of many accounts and what was spent of them, in one go."""
        names = [subject_name(subject) for subject in subjects]
        with self._store.reading() as transaction:
            accounts = read_accounts(transaction, names)
        for name in names:
            if name not in accounts:
                raise unknown(name)
        return {name: accounts[name] for name in names}

    def balances(self, subjects: Sequence[str]) -> dict[str, Decimal]:
        """What is left of many accounts, in one go."""
        found = self.accounts(subjects)
        return {name: exact.subtract(total.budget, spent) for name, (total, spent) in found.items()}

    def spent(self, subject: str) -> Decimal:
        """What has been charged to an account."""
        return self._account(subject)[1]

    def remaining(self, subject: str) -> Decimal:
        """What is left of it, exactly."""
        total, spent = self._account(subject)
        return exact.subtract(total.budget, spent)

    def subjects(self) -> list[str]:
        """Everyone with an account, in the order of their names."""
        with self._store.reading() as transaction:
            return [name for (name,) in transaction.rows("SELECT subject FROM geoveil_accounts ORDER BY subject")]

    def statement(self, subject: str) -> list[dict[str, Any]]:
        """The history of an account: when what was asked, with which parameters, and what it cost."""
        with self._store.reading() as transaction:
            return lines_of(transaction, "subject = ?", (subject_name(subject),))

    def lower(self, subject: str, *, rho: Any = None, epsilon: Any = None) -> Entry:
        """Set a smaller total. What has been spent stays spent, even if it is more."""
        return self._set(subject, rho, epsilon, "lower", "")

    def override(self, subject: str, *, rho: Any = None, epsilon: Any = None, reason: str) -> Entry:
        """Set a larger total, against what was promised: the history keeps the reason for ever."""
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidParameter("reason", reason, "a text", "It is recorded: say who decided it, and why.")
        return self._set(subject, rho, epsilon, "override", reason)

    def _set(self, subject: str, rho: Any, epsilon: Any, event: str, reason: str) -> Entry:
        with self._store.transaction() as transaction:
            journal = self._journal(transaction, [subject_name(subject)])
            before = journal.accounts.get(subject)
            if before is None:
                raise unknown(subject)
            stated = isinstance(rho, Guarantee) or isinstance(epsilon, Guarantee)
            total = promise(rho, epsilon, None if stated else before[0].metric)
            if type(total) is not type(before[0]) or total.metric != before[0].metric:
                wanted = f"{before[0].symbol}= under {before[0].metric}"
                raise InvalidParameter(
                    "rho, epsilon", (rho, epsilon), f"{wanted}, as the account has it", "Give that."
                )
            if event == "lower" and total.budget > before[0].budget:
                remedy = "A total that was promised stands; override() breaks the promise, on record."
                raise InvalidParameter(total.symbol, str(total.budget), f"at most {before[0].budget}", remedy)
            entry = journal.add(subject, event, total, query=reason)
            journal.write(transaction)
            transaction.write(
                "UPDATE geoveil_accounts SET total = ? WHERE subject = ?", (written(total.budget), subject)
            )
        return Entry.of(self.id, entry)

    def verify(self, certificates: Iterable[Mapping[str, Any]] = ()) -> int:
        """Compute the history's chain again, and compare it with the accounts and with certificates.

        Parameters
        ----------
        certificates : iterable of dict
            Of releases; each refers to its entry, which must still be there.

        Returns
        -------
        int
            How many entries there are.

        Raises
        ------
        LedgerTampered
            If anything is not what it was.
        """
        with self._store.reading() as transaction:
            ((number, hashed),) = transaction.rows("SELECT number, hash FROM geoveil_head")
            lines = lines_of(transaction, "number > 0")
            accounts = {
                name: (notion, metric, total, spent)
                for name, notion, metric, total, spent in transaction.rows(
                    "SELECT subject, notion, metric, total, spent FROM geoveil_accounts"
                )
            }
            answers = transaction.rows("SELECT number, content FROM geoveil_answers")
        held = History(self.id, self._secret, lines)
        held.verify((int(number), hashed), accounts, answers)
        for certificate in certificates:
            held.compare(certificate)
        return len(lines)

    def close(self) -> None:
        """Give the connection back; it is opened again when it is needed."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _journal(self, transaction: Transaction, names: Sequence[str], *, charging: bool = True) -> Journal:
        return Journal.read(transaction, self.id, self._secret, names, charging=charging)

    def _account(self, subject: str) -> tuple[Guarantee, Decimal]:
        return self.accounts([subject])[subject]
