"""Accounts: the budget of a subject in a ledger, a limit in memory, and what either pays for a query."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from geoveil.errors import BudgetError, BudgetExceeded, IncompatibleGuarantees, InvalidParameter, Message
from geoveil.host.processes import this_process
from geoveil.privacy import CGP, GP, Guarantee, Metric, exact

__all__ = ["Account", "SessionLimit", "guarantee_of", "price", "price_of", "unknown_price", "unknown_subject"]


@dataclass(frozen=True, slots=True)
class Account:
    """The account of a subject in a ledger, as it was when it was read.

    Parameters
    ----------
    subject : str
        The name of a person, a device or a data set.
    total : CGP or GP
        The guarantee of all releases that the account pays for, together.
    spent : Decimal
        The amount charged so far.

    Examples
    --------
    >>> ledger = gv.Ledger(folder / "budget.db")
    >>> _ = ledger.create("ann", rho=1e-3, protect="1 day")
    >>> account = ledger.account("ann")
    >>> account.total, account.spent, account.remaining
    (CGP(rho=0.001, metric='1 day'), Decimal('0'), Decimal('0.001'))
    """

    subject: str
    total: Guarantee
    spent: Decimal

    @property
    def remaining(self) -> Decimal:
        """The exact amount that is left; negative if the total was lowered below what is spent."""
        return exact.subtract(self.total.budget, self.spent)

    @property
    def metric(self) -> Metric:
        """The metric of the total, which says what the account protects."""
        return self.total.metric


class SessionLimit:
    """A total budget in memory and the amount spent; threads may share it.

    Parameters
    ----------
    total : CGP or GP
        The guarantee of all charged queries together.
    """

    def __init__(self, total: Guarantee) -> None:
        self.total = total
        self.spent = Decimal(0)
        self._lock = threading.Lock()
        self._process = this_process()

    @property
    def remaining(self) -> Decimal:
        """The exact amount that is left."""
        return exact.subtract(self.total.budget, self.spent)

    def charge(self, cost: Guarantee) -> Guarantee:
        """Charge the price of a query and return it; if less is left, raise BudgetExceeded and change nothing."""
        if this_process() != self._process:
            raise BudgetError(
                "A budget in memory cannot be used in a forked process, which would spend it a second time.",
                "Open a session with ledger= in this process.",
                charged="nothing",
            )
        taken = price(cost, self.total)
        with self._lock:
            if taken.budget > self.remaining:
                raise BudgetExceeded(taken.budget, self.remaining)
            self.spent = exact.add(self.spent, taken.budget)
        return taken

    def give_back(self, taken: Guarantee) -> None:
        """Refund a charge whose question was not asked, because an account refused to pay for it."""
        with self._lock:
            self.spent = exact.subtract(self.spent, taken.budget)


def price(cost: Guarantee, total: Guarantee) -> Guarantee:
    """Return the amount that an account with this total is charged for a query with this guarantee.

    Notes
    -----
    A CGP account pays ρ for a CGP query, and ε²/2 (the paper's Lemma 3.6), rounded up, for a pure ε-GP query. A GP
    account pays for pure GP queries only, since CGP does not imply ε-GP for any ε. Neither pays for (ε, δ)-GP, since δ
    does not add up with distance. All guarantees must be under the account's metric. budget/PROOFS.md proves that
    queries may then be chosen depending on earlier answers.
    """
    if cost.metric != total.metric:
        raise IncompatibleGuarantees(
            f"The account is under {total.metric} and the query under {cost.metric}.",
            "Ask for what the account protects, or open another account.",
        )
    if isinstance(cost, GP) and not cost.pure:
        raise IncompatibleGuarantees(
            f"No account can pay for {cost!r}.", Message("Ask with {rho}, or with a pure {epsilon}.")
        )
    if isinstance(total, CGP) and isinstance(cost, CGP | GP):
        return cost.as_cgp()
    if not isinstance(cost, GP):
        raise IncompatibleGuarantees(f"A GP account cannot pay for {cost!r}.", Message("Ask with {epsilon}."))
    return cost


def price_of(question: str, guarantee: Guarantee, metric: Metric | None) -> Guarantee:
    """Return the price of a release for accounts with this metric: the budget of its guarantee.

    An account belongs to one person. A release that may protect less than the account does is refused.
    """
    if metric is None or metric == guarantee.metric:
        return guarantee
    if not guarantee.metric.of_one_person.is_at_most(metric):
        raise unknown_price(question, metric)
    return guarantee.under_unit(metric)


def unknown_price(question: str, metric: Metric) -> IncompatibleGuarantees:
    """Return the error for a release whose price under the metric of an account is not known."""
    remedy = Message("Ask with the unit of the account, or open an account for this unit.")
    return IncompatibleGuarantees(f"The cost of {question} under {metric} is not known.", remedy)


def unknown_subject(subject: str) -> InvalidParameter:
    """Return the error for a subject without an account."""
    remedy = Message("Open an account with {ledger.create}.")
    return InvalidParameter("subject", subject, "a subject with an account", remedy)


@lru_cache(maxsize=1024)
def guarantee_of(notion: str, metric: str, budget: str) -> Guarantee:
    """Return the guarantee that an entry or an account states."""
    if notion not in ("CGP", "GP"):
        raise ValueError(notion)
    return CGP(rho=budget, metric=metric) if notion == "CGP" else GP(epsilon=budget, metric=metric)
