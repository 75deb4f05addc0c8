"""The account that is kept between processes and days, for each subject, with a history that is chained."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Self
from uuid import uuid4

from geoveil import checks
from geoveil.budget.chain import FIRST, link
from geoveil.budget.drawing import LIVE, is_drawing, owner_of
from geoveil.budget.history import COLUMNS, History, digest, guarantee_of
from geoveil.budget.prices import price
from geoveil.budget.stores import Transaction, open_store
from geoveil.errors import (
    BudgetError,
    BudgetExceeded,
    IncompatibleGuarantees,
    InvalidInput,
    InvalidParameter,
    LedgerError,
    LedgerTampered,
    LedgerTimeout,
    LedgerUnavailable,
)
from geoveil.privacy import Guarantee, exact, promise
from geoveil.privacy.exact import written

__all__ = ["Charge", "Entry", "Ledger"]

_VERSION = 1
_FIELDS = ", ".join(COLUMNS)
_ENTRY = f"INSERT INTO geoveil_history ({_FIELDS}, hash) VALUES ({', '.join('?' * 11)})"
_HELD = "SELECT number, hash, time FROM geoveil_head WHERE one = 1 FOR UPDATE"
_HEAD = "UPDATE geoveil_head SET number = ?, hash = ?, time = ? WHERE one = 1"
_CHARGED = "INSERT INTO geoveil_answers (key, number, entries, owner) VALUES (?, ?, ?, ?)"
_STORED = "SELECT parameters FROM geoveil_history WHERE subject = ? AND event = 'store' AND release = ?"
_ANSWER = "SELECT number, entries, content, owner FROM geoveil_answers WHERE key = ?"
_SPENT = "UPDATE geoveil_accounts SET spent = ? WHERE subject = ?"
#: A clock that is set right may go back by so much.
_STEP = timedelta(minutes=5)
#: Subjects that are looked up at once.
_AT_ONCE = 5000
_KEY = "GEOVEIL_LEDGER_KEY"


@dataclass(frozen=True)
class Entry:
    """A line of the history: what a certificate refers to.

    Parameters
    ----------
    ledger : str
        Which ledger.
    number : int
        Which line.
    hash : str
        Of the line and all before it.
    subject : str
        Whose budget it is about.
    amount : Decimal
        What was taken, or the total that was set.
    """

    ledger: str
    number: int
    hash: str
    subject: str
    amount: Decimal

    def certificate(self) -> dict[str, Any]:
        """The entry as it stands in a certificate."""
        return {"ledger": self.ledger, "number": self.number, "hash": self.hash}


@dataclass(frozen=True)
class Charge:
    """What was charged for one release.

    Parameters
    ----------
    entries : tuple of Entry
        A line for each subject.
    skipped : tuple of str
        Subjects without as much budget, who are to be left out.
    key : str
        By which the release is stored.
    content : str, optional
        The release, if it was made and stored before: nothing was charged.
    token : str
        Of the one who is to draw it.
    """

    entries: tuple[Entry, ...]
    skipped: tuple[str, ...]
    key: str
    content: str | None = None
    token: str = ""


@dataclass(eq=False)
class _Request:
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


@dataclass
class _State:
    """The ledger as a transaction sees it and leaves it."""

    number: int
    hash: str
    time: str
    accounts: dict[str, tuple[Guarantee, Decimal]]
    entries: list[dict[str, Any]] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    charged: dict[str, tuple[int, int, str]] = field(default_factory=dict)


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
        self._secret = _secret(key)
        self._begin_process()
        with self._store.transaction() as transaction:
            self.id = self._begin(transaction)

    def _begin_process(self) -> None:
        """What threads of one process share; a fork begins anew."""
        self._process = os.getpid()
        self._waiting = threading.Condition()
        self._queue: list[_Request] = []
        self._serving = False

    def _begin(self, transaction: Transaction) -> str:
        """Look whose ledger it is, or make it a new one."""
        found = transaction.rows("SELECT version, id, seal FROM geoveil_ledger")
        if not found:
            name, now = uuid4().hex, _moment(datetime.now(UTC))
            seal = None if self._secret is None else link(FIRST, {"ledger": name}, self._secret)
            transaction.write(
                "INSERT INTO geoveil_ledger (version, id, created, seal) VALUES (?, ?, ?, ?)",
                (_VERSION, name, now, seal),
            )
            transaction.write("INSERT INTO geoveil_head (one, number, hash, time) VALUES (1, 0, ?, ?)", (FIRST, now))
            return name
        version, name, seal = found[0]
        if version != _VERSION:
            raise LedgerUnavailable(
                f"The ledger is of version {version}; this geoveil knows {_VERSION}: use a newer one."
            )
        expected = None if self._secret is None else link(FIRST, {"ledger": name}, self._secret)
        if seal != expected:
            told = "has a key, and it is another one" if seal else "was made without a key"
            raise LedgerUnavailable(f"The ledger {told}: give the key= that it was made with, or none.")
        return str(name)

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
            state = self._state(transaction, [_name(subject)])
            if state.accounts:
                raise InvalidParameter(
                    "subject", subject, "someone without an account", "Use lower(), or another name."
                )
            entry = self._entry(state, subject, "create", total)
            self._write(transaction, state)
            transaction.write(
                "INSERT INTO geoveil_accounts (subject, notion, metric, total, spent) VALUES (?, ?, ?, ?, ?)",
                (subject, total.notion, total.metric.name, written(total.budget), "0"),
            )
        return self._line(entry)

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
        names = [_name(subject) for subject in subjects]
        if not names or len(set(names)) < len(names):
            raise InvalidParameter("subjects", subjects, "at least one name, none twice", "Charge each once.")
        described = json.dumps(dict(parameters or {}), sort_keys=True, default=str)
        request = _Request(names, cost, query, described, release, key, short == "skip")
        deadline = time.monotonic() + self._timeout
        while (found := self._served_or_given_up(request)) is None:
            # Someone else is drawing it.
            if time.monotonic() > deadline:
                raise LedgerTimeout(f"Another process has drawn under the key {key!r} for {self._timeout:g} s.")
            time.sleep(0.02)
        return found

    def _served_or_given_up(self, request: _Request) -> Charge | None:
        try:
            return self._served(request)
        except BaseException:
            # Whatever was charged for it, nobody will draw.
            if request.charge is not None:
                self.gave_up(request.charge)
            raise

    def _served(self, request: _Request) -> Charge | None:
        """What a request gives. Whoever's turn it is serves all that wait, in one transaction: commits are dear."""
        deadline = time.monotonic() + self._timeout
        if self._process != os.getpid():
            self._begin_process()
        with self._waiting:
            request.done = False
            self._queue.append(request)
            try:
                while not request.done and self._serving:
                    if not self._waiting.wait(deadline - time.monotonic()) and request in self._queue:
                        late = f"Other threads held the ledger for {self._timeout:g} s. Nothing was charged."
                        raise LedgerTimeout(late)
            except BaseException:
                if request in self._queue:
                    self._queue.remove(request)
                raise
            batch = [] if request.done else self._queue
            if batch:
                self._queue, self._serving = [], True
        if batch:
            try:
                self._serve(batch)
            finally:
                with self._waiting:
                    self._serving = False
                    self._waiting.notify_all()
        if request.problem is not None:
            raise request.problem
        return request.charge

    def _serve(self, batch: list[_Request]) -> None:
        found: dict[int, Charge | None] = {}
        problems: dict[int, Exception] = {}
        try:
            with self._store.transaction() as transaction:
                state = self._state(transaction, sorted({name for request in batch for name in request.names}))
                for at, request in enumerate(batch):
                    try:
                        found[at] = self._answered(transaction, state, request)
                    except (BudgetError, InvalidInput, IncompatibleGuarantees) as problem:
                        problems[at] = problem
                self._write(transaction, state)
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

    def _answered(self, transaction: Transaction, state: _State, request: _Request) -> Charge | None:
        """The charge of a request, new or known; None while another process draws under its key."""
        if request.key is None:
            return self._charge(state, request, uuid4().hex)
        rows = transaction.rows(_ANSWER, (request.key,))
        if not rows:
            earlier = state.charged.get(request.key)
            return self._charge(state, request, request.key) if earlier is None else None
        number, count, content, owner = rows[0]
        lines = transaction.rows(
            f"SELECT {_FIELDS}, hash FROM geoveil_history WHERE number >= ? AND number < ? ORDER BY number",
            (number, number + count),
        )
        known = _lines(lines)
        entries = [self._line(line) for line in known]
        about = {entry.subject for entry in entries}
        same = (known[0]["query"], known[0]["parameters"]) == (request.query, request.parameters)
        if not same or not about <= set(request.names) or not self._as_charged(state, request, known):
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

    @staticmethod
    def _as_charged(state: _State, request: _Request, known: list[dict[str, Any]]) -> bool:
        """Whether a question would cost what was charged under its key."""
        for line in known:
            taken = price(request.cost, state.accounts[line["subject"]][0])
            if (taken.notion, taken.metric.name, written(taken.budget)) != (
                line["notion"],
                line["metric"],
                line["amount"],
            ):
                return False
        return True

    def _charge(self, state: _State, request: _Request, key: str) -> Charge:
        missing = [name for name in request.names if name not in state.accounts]
        if missing:
            raise _unknown(missing[0])
        taken, skipped = {}, []
        for name in request.names:
            total, before = state.accounts[name]
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
        entries = []
        for name, asked in taken.items():
            total, before = state.accounts[name]
            state.accounts[name] = total, exact.add(before, asked.budget)
            entry = self._entry(
                state,
                name,
                "charge",
                asked,
                query=request.query,
                parameters=request.parameters,
                release=request.release,
            )
            entries.append(entry)
        state.touched.update(taken)
        token = uuid4().hex
        state.charged[key] = entries[0]["number"], len(entries), owner_of(token)
        return Charge(tuple(self._line(entry) for entry in entries), tuple(skipped), key, None, token)

    def store(self, charge: Charge, content: str) -> str:
        """Keep a release before it is handed out; what is handed out is what comes back."""
        LIVE.discard(charge.token)
        first = charge.entries[0]
        with self._store.transaction() as transaction:
            # The ledger is held, so that of two who have drawn the first one's answer stands.
            state = self._state(transaction, [first.subject])
            before = transaction.rows(_ANSWER, (charge.key,))
            if not before or before[0][0] != first.number:
                raise LedgerTampered(f"The charge of {charge.key!r} is gone from the ledger. Nothing was released.")
            if before[0][2] is not None:
                return str(before[0][2])
            of, told = state.accounts[first.subject][0], json.dumps({"sha256": digest(content)})
            self._entry(state, first.subject, "store", of, parameters=told, release=str(first.number), amount="0")
            self._write(transaction, state)
            transaction.write("UPDATE geoveil_answers SET content = ? WHERE key = ?", (content, charge.key))
        return content

    def is_stored(self, key: str) -> bool:
        """Whether a release is stored under a key: it costs nothing to ask for it again."""
        with self._store.transaction() as transaction:
            found = transaction.rows(_ANSWER, (key,))
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
        names = [_name(subject) for subject in subjects]
        with self._store.transaction() as transaction:
            accounts = self._state(transaction, names, charging=False).accounts
        for name in names:
            if name not in accounts:
                raise _unknown(name)
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
        with self._store.transaction() as transaction:
            return [name for (name,) in transaction.rows("SELECT subject FROM geoveil_accounts ORDER BY subject")]

    def statement(self, subject: str) -> list[dict[str, Any]]:
        """The history of an account: when what was asked, with which parameters, and what it cost."""
        with self._store.transaction() as transaction:
            rows = transaction.rows(
                f"SELECT {_FIELDS}, hash FROM geoveil_history WHERE subject = ? ORDER BY number", (_name(subject),)
            )
        return _lines(rows)

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
            state = self._state(transaction, [_name(subject)])
            before = state.accounts.get(subject)
            if before is None:
                raise _unknown(subject)
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
            entry = self._entry(state, subject, event, total, query=reason)
            self._write(transaction, state)
            transaction.write(
                "UPDATE geoveil_accounts SET total = ? WHERE subject = ?", (written(total.budget), subject)
            )
        return self._line(entry)

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
        with self._store.transaction() as transaction:
            state = self._state(transaction, [], charging=False)
            rows = transaction.rows(f"SELECT {_FIELDS}, hash FROM geoveil_history ORDER BY number")
            accounts = {
                name: (notion, metric, total, spent)
                for name, notion, metric, total, spent in transaction.rows(
                    "SELECT subject, notion, metric, total, spent FROM geoveil_accounts"
                )
            }
            answers = transaction.rows("SELECT number, content FROM geoveil_answers")
        held = History(self.id, self._secret, _lines(rows))
        held.verify((state.number, state.hash), accounts, answers)
        for certificate in certificates:
            held.compare(certificate)
        return len(rows)

    def close(self) -> None:
        """Give the connection back; it is opened again when it is needed."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _state(self, transaction: Transaction, names: list[str], *, charging: bool = True) -> _State:
        """The last entry, which is then held against others, and the accounts of some."""
        chunks = [names[first : first + _AT_ONCE] for first in range(0, len(names), _AT_ONCE)]
        held, *found = transaction.ask((_HELD, ()), *((_account_rows(len(some)), some) for some in chunks))
        number, hashed, last = held[0]
        now, before = datetime.now(UTC), datetime.fromisoformat(last)
        if charging and now < before - _STEP:
            raise LedgerError(
                f"The clock says {_moment(now)}, and the ledger's last entry is of {last}: set the clock right. "
                "Nothing was charged."
            )
        accounts = {
            name: (guarantee_of(notion, metric, total), Decimal(spent))
            for rows in found
            for name, notion, metric, total, spent in rows
        }
        return _State(int(number), hashed, _moment(max(now, before)), accounts)

    def _account(self, subject: str) -> tuple[Guarantee, Decimal]:
        with self._store.transaction() as transaction:
            found = transaction.rows(_account_rows(1), (_name(subject),))
        if not found:
            raise _unknown(subject)
        _, notion, metric, total, spent = found[0]
        return guarantee_of(notion, metric, total), Decimal(spent)

    def _entry(
        self,
        state: _State,
        subject: str,
        event: str,
        of: Guarantee,
        *,
        query: str = "",
        parameters: str = "{}",
        release: str = "",
        amount: str | None = None,
    ) -> dict[str, Any]:
        """A new entry, chained to the last one."""
        entry: dict[str, Any] = {
            "number": state.number + 1,
            "time": state.time,
            "subject": subject,
            "event": event,
            "query": query,
            "parameters": parameters,
            "notion": of.notion,
            "metric": of.metric.name,
            "amount": written(of.budget) if amount is None else amount,
            "release": release,
        }
        entry["hash"] = link(state.hash, {**entry, "ledger": self.id}, self._secret)
        state.number, state.hash = entry["number"], entry["hash"]
        state.entries.append(entry)
        return entry

    @staticmethod
    def _write(transaction: Transaction, state: _State) -> None:
        """New entries, and what they make of the accounts."""
        if not state.entries:
            return
        transaction.write(_ENTRY, *(tuple(entry[name] for name in (*COLUMNS, "hash")) for entry in state.entries))
        transaction.write(_HEAD, (state.number, state.hash, state.time))
        transaction.write(_CHARGED, *((key, *lines) for key, lines in state.charged.items()))
        transaction.write(_SPENT, *((written(state.accounts[name][1]), name) for name in state.touched))

    def _line(self, entry: Mapping[str, Any]) -> Entry:
        return Entry(self.id, int(entry["number"]), entry["hash"], entry["subject"], Decimal(entry["amount"]))


def _account_rows(count: int) -> str:
    """The question for so many accounts."""
    return (
        "SELECT subject, notion, metric, total, spent FROM geoveil_accounts "
        f"WHERE subject IN ({', '.join('?' * count)})"
    )


def _lines(rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Rows of the history by the names of their columns."""
    return [dict(zip((*COLUMNS, "hash"), row, strict=True)) for row in rows]


def _unknown(subject: str) -> InvalidParameter:
    return InvalidParameter("subject", subject, "someone with an account", "Open one with create().")


def _secret(key: bytes | os.PathLike[str] | None) -> bytes | None:
    if key is None:
        told = os.environ.get(_KEY)
        if not told:
            return None
        found = told.encode()
    elif isinstance(key, bytes):
        found = key
    else:
        try:
            found = Path(key).read_bytes().strip()
        except (OSError, TypeError) as problem:
            raise InvalidParameter("key", str(key), "bytes, or a file that holds the key", str(problem)) from None
    if len(found) < 16:
        raise InvalidParameter("key", "...", "at least 16 bytes", "Let a program draw 32 random bytes.")
    return found


def _name(subject: Any) -> str:
    usable = isinstance(subject, str) and subject.strip() and "\x00" not in subject
    if not usable or subject.encode(errors="replace").decode() != subject:
        raise InvalidParameter("subject", subject, "a name", "Give a text: of a person, a device or a data set.")
    return str(subject)


def _moment(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")
