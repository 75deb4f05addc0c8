"""Charge: pay for a question before its data is used.

A plain function charges nobody. A session charges an account in memory, a ledger or both; a file charges a ledger or
nobody. `Bill` describes what a charge records, for sessions and files alike.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial
from types import TracebackType
from typing import Any, Protocol, Self
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Short
from geoveil.budget import MAYBE_STORED, SPENT, STORED, Charge, Charges, Entry, Ledger, SessionLimit, price_of
from geoveil.errors import (
    BudgetExceeded,
    GeoveilError,
    IncompatibleGuarantees,
    InvalidInput,
    InvalidParameter,
    Message,
)
from geoveil.geo import Area
from geoveil.privacy import CGP, Guarantee, Metric, exact
from geoveil.queries import Query

__all__ = [
    "AccountCharger",
    "Bill",
    "Charger",
    "LedgerCharger",
    "NoCharger",
    "Receipt",
    "SessionCharger",
    "account_names",
    "check_ledger",
    "note_charge",
]


#: What the ledger calls the question that draws the centre of a zone.
_CENTRE = "hide_places"


class Billed(Protocol):
    """A question about data, as a ledger records it."""

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the release."""

    @property
    def first(self) -> Query:
        """The query about the first person; those about others differ only in the number of points."""

    @property
    def n(self) -> int:
        """The number of points of all persons, or of trips."""

    @property
    def area(self) -> Area | None:
        """The public area of the data."""

    def recorded(self) -> dict[str, object]:
        """Return the public facts by which the data is told from other data."""


@dataclass(frozen=True)
class Bill:
    """The question that a charge pays for, and its price."""

    asked: Billed
    #: The amount that each account is charged: the guarantee, or its equivalent under the account's own metric.
    price: Guarantee
    #: Whether the noise is seeded, so that the release is an experiment.
    experiment: bool

    @property
    def query(self) -> Query:
        """The question about the first person."""
        return self.asked.first

    @property
    def parameters(self) -> dict[str, object]:
        """The question as the ledger records it."""
        guarantee, area = self.asked.guarantee, self.asked.area
        return {
            **self.query.parameters(),
            guarantee.symbol: exact.written(guarantee.budget),
            "metric": guarantee.metric.name,
            "points": None if self.query.hides_count else self.asked.n,
            "area": None if area is None else area.certificate(),
            "experiment": self.experiment,
            **self.asked.recorded(),
        }


class Receipt:
    """The receipt for one attempt to draw an answer; this base class charges nobody.

    Leaving the context ends the attempt. Unless an answer was stored, the charge is then spent, whatever happened.
    """

    #: The stored answer, if the question was answered before.
    stored: dict[str, Any] | None = None
    #: Marks the persons without enough budget, if there are any.
    skipped: NDArray[np.bool_] | None = None
    #: The accounts of these persons.
    skipped_names: tuple[str, ...] = ()
    #: Tells whether answers are stored before they are released.
    stores: bool = False
    #: The entry in a ledger's history.
    entry: Entry | None = None
    #: Records a file that the release is written to later, given its id; None if there is no ledger.
    recorder: Callable[..., None] | None = None
    #: The note about the charge that is added to an error raised now; empty if nobody was charged.
    note: str = ""

    def __init__(self) -> None:
        self.id = uuid4().hex

    def held(self) -> AbstractContextManager[None]:
        """Keep others that ask with the same key waiting while the answer takes long to draw."""
        return nullcontext()

    def store(self, content: Mapping[str, Any], written: Mapping[str, str]) -> None:
        """Store the answer before it is released, with the digests of its file and certificate, if there are any."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if problem is not None and self.note:
            note_charge(problem, self.note)


class Charger(ABC):
    """Charges for questions."""

    @property
    def metric(self) -> Metric | None:
        """The metric of the accounts, each of which belongs to one person; None if nobody is charged."""
        return None

    @abstractmethod
    def charge(self, bill: Bill, key: str | None) -> Receipt:
        """Charge for a question, or find its stored answer; refuse it if the budget does not suffice."""

    def is_stored(self, key: str) -> bool:
        """Tell whether the answer of a key is stored; nothing is, unless there is a ledger."""
        return False


def note_charge(problem: BaseException, note: str) -> None:
    """Add a note to an error raised after a charge, which says what became of the charge."""
    problem.add_note(note)
    if isinstance(problem, GeoveilError):
        problem.charged = "spent"


def account_names(subject: str | None, labels: Iterable[object] | None) -> list[str]:
    """Return the name of each person's account: the label after the subject, or the subject without labels."""
    if labels is None:
        return [str(subject)]
    before = "" if subject is None else f"{subject}/"
    return [f"{before}{label}" for label in labels]


def check_ledger(ledger: object, *, person: bool, subject: str | None, label: str | None, short: str) -> None:
    """Refuse a value that is not a ledger, a ledger without an account, and arguments that need a ledger."""
    if ledger is not None and not isinstance(ledger, Ledger):
        raise InvalidParameter("ledger", ledger, "a Ledger", "Open it with gv.Ledger(path).")
    if short not in ("refuse", "skip"):
        raise InvalidParameter("short", short, "'refuse' or 'skip'", "Leave it out to ask about all persons or none.")
    needed = {"subject": subject, "label": label, "short": None if short == "refuse" else short}
    for name, given in needed.items():
        if ledger is None and given is not None:
            raise InvalidParameter(name, given, "left out without a ledger", Message("Give {ledger}."))
    if ledger is not None and subject is None and not person:
        raise InvalidParameter("subject", None, "given with a ledger", "It is the account that is charged.")


class NoCharger(Charger):
    """Charges nobody: the caller adds up the budgets of releases."""

    def charge(self, bill: Bill, key: str | None) -> Receipt:
        return Receipt()


class SessionCharger(Charger):
    """Charges for the questions of a session."""

    #: The session's own limit, in memory, if it has one.
    account: SessionLimit | None

    @property
    @abstractmethod
    def remaining(self) -> Decimal:
        """The exact budget that is left in the account with the least."""

    @abstractmethod
    def statement(self) -> list[dict[str, Any]]:
        """Return the charges so far."""

    @abstractmethod
    def charging_centre(
        self, identity: str, guarantee: CGP, law: Mapping[str, object]
    ) -> AbstractContextManager[None]:
        """Charge for the centre of a zone unless it was charged before; it is then drawn and stored in the context.

        Parameters
        ----------
        identity : str
            Identifies the centre.
        guarantee : CGP
            What the centre costs.
        law : dict
            The description of the law from which it is drawn.
        """


class AccountCharger(SessionCharger):
    """Charges a limit in memory.

    Parameters
    ----------
    account : SessionLimit
        The limit.
    """

    def __init__(self, account: SessionLimit) -> None:
        self.account: SessionLimit = account
        self._history: list[dict[str, Any]] = []
        #: The centres of zones that were charged.
        self._centres: set[str] = set()

    @property
    def remaining(self) -> Decimal:
        return self.account.remaining

    @property
    def metric(self) -> Metric:
        return self.account.total.metric

    def statement(self) -> list[dict[str, Any]]:
        return [{"number": number, **line} for number, line in enumerate([*self._history], 1)]

    def charge(self, bill: Bill, key: str | None) -> Receipt:
        if key is not None:
            raise InvalidParameter("key", key, "left out without a ledger", "Nothing is stored.")
        taken = self.account.charge(bill.price)
        line = {"query": bill.query.name, "parameters": bill.parameters, "amount": exact.written(taken.budget)}
        self._history.append({"event": "charge", **line})
        receipt = Receipt()
        receipt.note = SPENT
        return receipt

    def charging_centre(
        self, identity: str, guarantee: CGP, law: Mapping[str, object]
    ) -> AbstractContextManager[None]:
        if identity not in self._centres:
            taken = self.account.charge(price_of(_CENTRE, guarantee, self.metric))
            self._centres.add(identity)
            line = {"query": _CENTRE, "parameters": dict(law), "amount": exact.written(taken.budget)}
            self._history.append({"event": "charge", **line})
        return nullcontext()


class LedgerCharger(SessionCharger):
    """Charges accounts of a ledger, which stores answers.

    Parameters
    ----------
    ledger : Ledger
        The ledger.
    subjects : list of str
        The account of each person.
    short : {"refuse", "skip"}
        What is done about persons without enough budget.
    label : str, optional
        The name of the data. A question without a key then gets a key made of this label and its parameters.
    subject : str, optional
        The name of the account; with persons, the prefix of their accounts' names before a slash.
    persons : bool
        True if each subject is a person in the data, False if one account pays for all points.
    account : SessionLimit, optional
        The session's own limit, in memory.
    """

    def __init__(
        self,
        ledger: Ledger,
        subjects: list[str],
        *,
        short: Short = "refuse",
        label: str | None = None,
        subject: str | None = None,
        persons: bool = False,
        account: SessionLimit | None = None,
    ) -> None:
        self.ledger, self.subjects, self.short, self.account = ledger, subjects, short, account
        self._label, self._subject, self._persons = label, subject, persons
        #: The entries that charged centres of zones, as certificates state them.
        self.centres: list[dict[str, str | int]] = []

    @property
    def remaining(self) -> Decimal:
        own = [] if self.account is None else [self.account.remaining]
        return min([*own, *(account.remaining for account in self.ledger.accounts(self.subjects).values())])

    @cached_property
    def metric(self) -> Metric:
        """The metric of the first account; a charge refuses accounts with another metric."""
        return self.ledger.account(self.subjects[0]).metric

    def statement(self) -> list[dict[str, Any]]:
        return [{**line} for name in self.subjects for line in self.ledger.statement(name)]

    def charge(self, bill: Bill, key: str | None) -> Receipt:
        labelled = key is None and self._label is not None
        if labelled:
            key = self._key(bill)
        identity = uuid4().hex
        reserved = self._reserve(bill, key)
        try:
            charge = Charges.of(self.ledger).charge(
                self.subjects,
                bill.price,
                query=bill.query.name,
                parameters=bill.parameters,
                release=identity,
                key=key,
                skip=self.short == "skip",
            )
        except GeoveilError as problem:
            # After a failure of the ledger it may not be known whether it charged.
            if problem.charged == "nothing" or isinstance(problem, (InvalidInput, IncompatibleGuarantees)):
                self._give_back(reserved)
            if labelled and isinstance(problem, InvalidInput) and problem.argument == "key":
                # The caller gave the label and has never seen the key that was made of it.
                raise InvalidParameter("label", self._label, problem.allowed, problem.remedy) from None
            raise
        if charge.content is not None:
            self._give_back(reserved)
        return _LedgerReceipt(Charges.of(self.ledger), charge, identity, self.subjects)

    @contextmanager
    def charging_centre(self, identity: str, guarantee: CGP, law: Mapping[str, object]) -> Iterator[None]:
        charges, price = Charges.of(self.ledger), price_of(_CENTRE, guarantee, self.metric)
        keys = {subject: f"{_CENTRE} {identity} {subject}" for subject in self.subjects}
        reserved = None
        if self.account is not None and not all(charges.is_stored(key) for key in keys.values()):
            reserved = self.account.charge(price_of(_CENTRE, guarantee, self.account.total.metric))
        made: list[Charge] = []
        try:
            # A name of its own for each account: later data may be that of other persons.
            for subject, key in keys.items():
                told = {"centre": identity, **law, "metric": guarantee.metric.name}
                made.append(
                    charges.charge([subject], price, query=_CENTRE, parameters=told, release=identity, key=key)
                )
        except GeoveilError:
            for charge in made:
                charges.abandon(charge)
            if not made:
                self._give_back(reserved)
            raise
        try:
            yield
        except BaseException as problem:
            for charge in made:
                charges.abandon(charge)
            note_charge(problem, SPENT)
            raise
        for charge in made:
            if charge.content is None:
                charges.store(charge, json.dumps({"id": identity}))
            self.centres.append({"centre": identity, **charge.entry.certificate()})

    def is_stored(self, key: str) -> bool:
        return Charges.of(self.ledger).is_stored(key)

    def _key(self, bill: Bill) -> str:
        """Return the key of a question about labelled data."""
        if not bill.query.comparable:
            remedy = "Give key=: functions cannot be compared."
            raise InvalidParameter("key", None, "given, for a user's own function", remedy)
        people = self.subjects if self._persons else None
        told = [self._subject, people, bill.query.name, bill.parameters, self._label, self.short]
        return json.dumps(told, sort_keys=True, default=str)

    def _reserve(self, bill: Bill, key: str | None) -> Guarantee | None:
        """Charge the session's own limit, if it has one, before the ledger is charged."""
        if self.account is None:
            return None
        try:
            # The limit is for each person, also where one answer is about many.
            return self.account.charge(price_of(bill.query.name, bill.asked.guarantee, self.account.total.metric))
        except BudgetExceeded:
            # A stored answer costs nothing.
            if key is None or not Charges.of(self.ledger).is_stored(key):
                raise
            return None

    def _give_back(self, reserved: Guarantee | None) -> None:
        if self.account is not None and reserved is not None:
            self.account.give_back(reserved)


class _LedgerReceipt(Receipt):
    """A charge to a ledger, where the answer is stored before it is released."""

    stores = True

    def __init__(self, charges: Charges, charge: Charge, identity: str, subjects: list[str]) -> None:
        self._charges, self._charge = charges, charge
        self._open = charge.content is None
        self.note = SPENT if self._open else ""
        self.id, self.entry, self.skipped_names = identity, charge.entry, charge.skipped
        self.recorder = partial(charges.record_file, charge.entry)
        if charge.skipped:
            self.skipped = np.isin(np.array(subjects, dtype=object), charge.skipped)
        if charge.content is not None:
            told = json.loads(charge.content)
            self.id, self.stored = told.pop("id"), told

    def held(self) -> AbstractContextManager[None]:
        return self._charges.holding(self._charge)

    def store(self, content: Mapping[str, Any], written: Mapping[str, str]) -> None:
        text = json.dumps({"id": self.id, **content})
        if self._charge.key is not None:
            self.note = MAYBE_STORED
        self._charges.store(self._charge, text, **written)
        self._open = False
        if self._charge.key is not None:
            self.note = STORED

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, problem, trace)
        if self._open:
            self._charges.abandon(self._charge)
