"""A persistent ledger with an account for each subject and a history secured by a hash chain."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Self, TypedDict

from geoveil import checks
from geoveil.budget.accounts import Account, unknown_subject
from geoveil.budget.charges import Charges, forget
from geoveil.budget.entries import WRITE_OFF, Entry, secret_of, subject_name, subject_names, text
from geoveil.budget.history import Replay, lines_after
from geoveil.budget.journal import ACCOUNT_ROWS, Book, Journal, Witness, accounts_among, accounts_of
from geoveil.budget.stores import Store, Transaction, open_store
from geoveil.budget.turns import uninterrupted
from geoveil.errors import InvalidParameter, LedgerError, Message
from geoveil.facts.wording import protected
from geoveil.privacy import CGP, GP, Certificate, as_metric, promise, protected_metric
from geoveil.privacy.exact import Number, written
from geoveil.text.cards import Card, Rows

__all__ = ["Ledger", "StatementLine"]

#: Longest wait in seconds for the card that a prompt or a notebook shows.
_LONGEST_LOOK = 3.0


class StatementLine(TypedDict):
    """An entry about one subject, with the amount charged or the total set."""

    subject: str
    number: int
    time: str
    event: str
    query: str
    parameters: str
    release: str
    key: str
    hash: str
    notion: str
    metric: str
    amount: str


class Ledger(Card):
    """A persistent ledger: the budget of each subject, and the history of all charges.

    Sessions charge it: `gv.Locations(...).session(ledger=ledger, subject="ann")`.

    Parameters
    ----------
    place : str or Path
        Path of a file, which is created if it does not exist, or a PostgreSQL connection string.
    secret : bytes or Path, optional
        A secret as bytes, or the path of a file that contains it, without which nobody can compute the hash chain of
        the history. By default the environment variable GEOVEIL_LEDGER_SECRET is the secret itself, or
        GEOVEIL_LEDGER_SECRET_FILE is the path of a file that contains it, if one of them is set.
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
    >>> mean = gv.Locations(homes, area=bay).session(ledger=ledger, subject="ann").mean(rho=4e-5)
    >>> account = ledger.account("ann")
    >>> account.spent, account.remaining
    (Decimal('0.00004'), Decimal('0.00006'))
    >>> ledger.verify()
    3
    """

    def __init__(
        self,
        place: str | os.PathLike[str],
        *,
        secret: bytes | os.PathLike[str] | None = None,
        witness: str | os.PathLike[str] | None = None,
        timeout: float = 60.0,
    ) -> None:
        checks.positive("timeout", timeout, remedy="Give a number of seconds.")
        self._book = Book(self._open(place, timeout), secret_of(secret), Witness.of(witness, timeout))
        self._charges = Charges(self._book)
        self.id = self._book.id

    def _open(self, place: str | os.PathLike[str], timeout: float) -> Store[Any]:
        """Return the store of the ledger; a copy in the making has another one."""
        return open_store(place, timeout)

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
        >>> ledger.create("eve", rho=1e-3, protect="1 day").number
        2
        >>> [*ledger.accounts()], ledger.account("eve").total
        (['ann', 'bob', 'eve'], CGP(rho=0.001, metric='1 day'))
        """
        total, names = promise(hide, rho, epsilon, protected_metric(protect)), subject_names(subjects)
        why = "" if new is None else _reason("new", new, "state who says so, and why.")
        stated = total.notion, total.metric.name, written(total.budget)

        def work(transaction: Transaction, journal: Journal) -> Entry:
            for name in journal.accounts:
                remedy = Message("Use {ledger.lower} to change its total, or another name.")
                raise InvalidParameter("subject", name, "a subject without an account", remedy)
            written_off = f"SELECT 1 FROM geoveil_history WHERE event = '{WRITE_OFF}' LIMIT 1"
            if new is None and transaction.rows(written_off):
                raise LedgerError(
                    f"{names[0]!r} may have had an account here and have spent it: the ledger was restored with a "
                    "write-off, and accounts that were opened after the backup are missing.",
                    Message("If it never had one, say who knows it, and why, with {new:REASON}."),
                )
            entry = journal.add("create", total, [(name, stated[-1]) for name in names], query=why)
            journal.write(transaction)
            columns = ("subject", "notion", "metric", "total", "spent")
            transaction.insert("geoveil_accounts", columns, [(name, *stated, "0") for name in names])
            return entry

        return self._book.write(work, names)

    def account(self, subject: str) -> Account:
        """Return the account of a subject: its total, the amount spent and the amount that is left.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", rho=1e-3)
        >>> ledger.account("ann").remaining
        Decimal('0.001')
        """
        return self.accounts([subject])[subject]

    def accounts(self, subjects: Sequence[str] | None = None) -> dict[str, Account]:
        """Return the accounts of these subjects, or all accounts sorted by name, at one moment.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> [(name, account.spent) for name, account in ledger.accounts().items()]
        [('ann', Decimal('0')), ('bob', Decimal('0'))]
        """
        if subjects is None:
            return self._book.read(lambda of: accounts_of(of.rows(f"{ACCOUNT_ROWS} ORDER BY subject")))
        names = [subject_name(subject) for subject in subjects]
        accounts = self._book.read(lambda of: accounts_of(of.rows(*accounts_among(of, names))))
        for name in names:
            if name not in accounts:
                raise unknown_subject(name)
        return {name: accounts[name] for name in names}

    def statement(self, subject: str) -> list[StatementLine]:
        """Return the history of an account: time, question, parameters and cost of each entry.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", rho=1e-3)
        >>> _ = gv.Locations(homes, area=bay).session(ledger=ledger, subject="ann").mean(rho=4e-4)
        >>> [(line["event"], line["query"], line["amount"]) for line in ledger.statement("ann")]
        [('create', '', '0.001'), ('charge', 'mean', '0.0004')]
        """
        columns = (
            *("posting.subject", "line.number", "line.time", "line.event", "line.query", "line.parameters"),
            *("line.release", "line.key", "line.hash", "account.notion", "account.metric", "posting.amount"),
        )
        question = (
            f"SELECT {', '.join(columns)} FROM geoveil_postings AS posting "
            "JOIN geoveil_history AS line ON line.number = posting.number "
            "JOIN geoveil_accounts AS account ON account.subject = posting.subject "
            "WHERE posting.subject = ? ORDER BY posting.number"
        )
        name = subject_name(subject)
        rows = self._book.read(lambda transaction: transaction.rows(question, (name,)))
        fields = [column.partition(".")[2] for column in columns]
        return [StatementLine(**dict(zip(fields, row, strict=True))) for row in rows]  # type: ignore[typeddict-item]

    def lower(self, subject: str, *, rho: Number | CGP | None = None, epsilon: Number | GP | None = None) -> Entry:
        """Set a smaller total. The amount spent does not change, even if it exceeds the new total.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", rho=1e-3)
        >>> _ = ledger.lower("ann", rho=5e-4)
        >>> ledger.account("ann").remaining
        Decimal('0.0005')
        """
        return self._set_total(subject, rho, epsilon, reason=None)

    def override(
        self, subject: str, *, rho: Number | CGP | None = None, epsilon: Number | GP | None = None, reason: str
    ) -> Entry:
        """Set a larger total, which breaks the promise of the old one; the history keeps the reason forever.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", rho=1e-3)
        >>> _ = ledger.override("ann", rho=2e-3, reason="Agreed with Ann on 5 May 2026")
        >>> ledger.account("ann").remaining
        Decimal('0.002')
        """
        return self._set_total(subject, rho, epsilon, reason=_reason("reason", reason, "state who decided, and why."))

    def _set_total(
        self, subject: str, rho: Number | CGP | None, epsilon: Number | GP | None, *, reason: str | None
    ) -> Entry:
        """Set the total of an account; only a change with a reason may raise it."""
        name = subject_name(subject)

        def work(transaction: Transaction, journal: Journal) -> Entry:
            if name not in journal.accounts:
                raise unknown_subject(name)
            before = journal.accounts[name].total
            total = promise(None, rho, epsilon, before.metric)
            if type(total) is not type(before):
                allowed = Message(f"{{{before.symbol}}} under {before.metric}, like the account")
                remedy = Message(f"Give {{{before.symbol}}} without a metric.")
                raise InvalidParameter("rho, epsilon", (rho, epsilon), allowed, remedy)
            if reason is None and total.budget > before.budget:
                remedy = Message("A promised total may only be lowered; {ledger.override} raises it, on record.")
                raise InvalidParameter(total.symbol, str(total.budget), f"at most {before.budget}", remedy)
            event, amount = "lower" if reason is None else "override", written(total.budget)
            entry = journal.add(event, total, [(name, amount)], query=reason or "")
            journal.write(transaction)
            transaction.update("geoveil_accounts", "total", "subject", [(amount, name)])
            return entry

        return self._book.write(work, [name])

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
        >>> _ = ledger.create("ann", rho=1e-3)
        >>> session = gv.Locations(homes, area=bay).session(ledger=ledger, subject="ann")
        >>> mean = session.mean(rho=1e-4, key="mean of May")
        >>> ledger.forget(mean.id)
        1
        """
        wanted = {text("release", release) for release in releases}
        if before is not None and before.tzinfo is None:
            raise InvalidParameter("before", before, "a time with a time zone", "Use datetime.now(UTC), or tzinfo=.")
        return self._book.write(lambda transaction, journal: forget(transaction, journal, wanted, before))

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
        replay = Replay(self.id, self._book.secret, certificates)

        def page() -> bool:
            # In short transactions, so that others can charge meanwhile: existing entries do not change.
            with self._book.store.reading() as transaction:
                lines = lines_after(transaction, replay.number)
            return replay.lines(lines)

        while uninterrupted(page):
            pass
        self._book.read(replay.finish)
        return replay.number

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
        secret: bytes | os.PathLike[str] | None = None,
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
        secret : bytes or Path, optional
            The secret of the ledger's hash chain.
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
        >>> restored.account("ann").remaining
        Decimal('0.001')
        """
        from geoveil.budget.backup import restore

        return restore(backup, place, secret=secret, certificates=certificates, witness=witness, write_off=write_off)

    def testify(self) -> int:
        """Record the last entry at the witness, and return its number.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db", witness=folder / "witness.db")
        >>> _ = ledger.create("ann", rho=1e-3)
        >>> ledger.testify()
        1
        """
        if self._book.memory.witness is None:
            raise InvalidParameter("witness", None, "a file or a database", Message("Open the ledger with {witness}."))
        return self._book.write(lambda transaction, journal: journal.number)

    def close(self) -> None:
        """Close the connection, which is opened again when needed.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> ledger.close()
        >>> ledger.accounts()
        {}
        """
        uninterrupted(self._book.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _card(self) -> tuple[str, Rows]:
        book = self._book

        def look() -> tuple[dict[str, int], int]:
            with book.store.reading(time.monotonic() + min(book.store.timeout, _LONGEST_LOOK)) as transaction:
                counted = transaction.rows("SELECT metric, COUNT(*) FROM geoveil_accounts GROUP BY metric")
                return dict(counted), book.remember(transaction).number

        try:
            numbers, entries = uninterrupted(look)
        except LedgerError:
            return f"Ledger in {book.store.name}", [("accounts", "cannot be read now")]
        rows = [
            ("accounts", str(sum(numbers.values()))),
            *(("protect", each) for each in [_protecting(numbers)] if each),
            ("entries", str(entries)),
            ("secret", "none" if book.secret is None else "the history is secured by a secret"),
            ("witness", "none" if book.memory.witness is None else "a second place knows the last entry"),
        ]
        return f"Ledger in {book.store.name}", rows


def _reason(argument: str, value: object, remedy: str) -> str:
    """Return a reason that the history records, or raise InvalidParameter if it is empty."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidParameter(argument, value, "a text", f"It is recorded: {remedy}")
    return text(argument, value)


def _protecting(numbers: Mapping[str, int]) -> str:
    """Return what accounts protect, from the number of accounts of each metric; empty if all have the default."""
    if not {*numbers} - {"inf"}:
        return ""
    return "; ".join(f"{protected(as_metric(name))} ({count})" for name, count in sorted(numbers.items()))
