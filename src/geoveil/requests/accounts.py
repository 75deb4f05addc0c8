"""The accounts of a ledger that a request charges: their names, what they will pay, and what they have paid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from geoveil.errors import LedgerUnavailable, Message

if TYPE_CHECKING:
    from geoveil.budget import Charge, Ledger
    from geoveil.privacy import Guarantee
    from geoveil.report import Balance

__all__ = ["ChargeRecord", "ChargedAccounts", "ForeseenCharge", "existing_ledger", "foresee_charges"]


@dataclass(frozen=True)
class ChargedAccounts:
    """The accounts that a request is charged to."""

    #: The path or the address of the ledger; empty if nobody is charged.
    place: str = ""
    #: The name of the account; with persons, the prefix of theirs.
    subject: str | None = None
    #: What is done about persons whose account has too little left.
    short: Literal["refuse", "skip"] = "refuse"
    #: A name of the data, under which answers are stored.
    label: str | None = None

    def names(self, labels: Iterable[object] | None) -> list[str]:
        """Return the names of the accounts of persons; without persons, that of the one account."""
        from geoveil.answering.charging import account_names

        return account_names(self.subject, labels)


@dataclass(frozen=True)
class ForeseenCharge:
    """What an account will pay, and what it has left; the cost is None if it depends on the times of points."""

    name: str
    total: Guarantee
    left: Decimal
    cost: Decimal | None

    @property
    def enough(self) -> bool:
        """Whether the account can pay, as far as the cost is known."""
        return self.cost is None or self.cost <= self.left


def foresee_charges(ledger: Ledger, names: Iterable[str], guarantee: Guarantee) -> list[ForeseenCharge]:
    """Return what each account will pay for an answer with a guarantee."""
    from geoveil.budget import price

    charges = []
    for name, account in ledger.accounts([*names]).items():
        known, total = guarantee.metric.of_one_person.is_at_most(account.metric), account.total
        cost = price(guarantee.under_unit(total.metric), total).budget if known else None
        charges.append(ForeseenCharge(name, total, account.remaining, cost))
    return charges


class ChargeRecord:
    """The charges that a request has made so far, for messages and reports."""

    def __init__(self) -> None:
        self._made: list[Charge] = []
        #: Whether a charge has begun and its outcome is not known.
        self.asking = False

    def opened(self, place: str, timeout: float = 60.0) -> AbstractContextManager[Ledger | None]:
        """Open an existing ledger, if one is named, and record its charges here."""
        if not place:
            return nullcontext()
        from geoveil.budget import Charges, Ledger

        def watch(charge: Charge | None) -> None:
            self.asking = charge is None
            if charge is not None:
                self._made.append(charge)

        ledger = Ledger(existing_ledger(place), timeout=timeout)
        Charges.of(ledger).watch = watch
        return ledger

    @property
    def costs(self) -> Mapping[str, Decimal]:
        """The budget charged to each account; stored answers cost nothing."""
        from geoveil.privacy import exact

        costs: dict[str, Decimal] = {}
        for charge in self._made:
            for subject, taken in charge.amounts.items():
                amount = taken if charge.content is None else Decimal(0)
                costs[subject] = exact.add(costs.get(subject, Decimal(0)), amount)
        return costs

    @property
    def paying(self) -> list[str]:
        """The accounts that were charged more than nothing."""
        return [subject for subject, cost in self.costs.items() if cost]

    def balances(self, ledger: Ledger | None) -> tuple[Balance, ...]:
        """Return the balances of the accounts that were charged."""
        from geoveil.report import Balance

        costs = self.costs
        if ledger is None or not costs:
            return ()
        accounts = ledger.accounts([*costs])
        return tuple(
            Balance(name, account.total.symbol, account.total.budget, account.spent, costs[name])
            for name, account in accounts.items()
        )


def existing_ledger(place: str) -> str:
    """Return the path or address of a ledger that exists, so that a misspelt name creates no new one."""
    from geoveil.budget.stores import is_database

    if is_database(place):
        _check_address(place)
    elif not Path(place).exists():
        raise LedgerUnavailable(f"{place}: there is no such ledger.", Message("{ledger.create} makes one."))
    return place


def _check_address(place: str) -> None:
    """Refuse an address that cannot be read, without the driver's message, which may repeat parts of the password."""
    try:
        from psycopg import Error
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        # The ledger itself says what has to be installed.
        return
    try:
        conninfo_to_dict(place)
    except Error:
        remedy = "An address is like postgresql://user@host/database; in a password, % is written %25 and @ is %40."
        raise LedgerUnavailable("The address of the database cannot be read.", remedy) from None
