"""A budget in memory that cannot be overspent."""

from __future__ import annotations

import threading
from decimal import Decimal

from geoveil.budget.prices import price
from geoveil.errors import BudgetError, BudgetExceeded
from geoveil.privacy import Guarantee, exact
from geoveil.processes import this_process

__all__ = ["Account"]


class Account:
    """A total, and what has been spent of it; threads may share it.

    Parameters
    ----------
    total : CGP or GP
        What everything that is charged promises together.
    """

    def __init__(self, total: Guarantee) -> None:
        self.total = total
        self._spent = Decimal(0)
        self._lock = threading.Lock()
        self._process = this_process()

    @property
    def spent(self) -> Decimal:
        """What has been charged."""
        return self._spent

    @property
    def remaining(self) -> Decimal:
        """What is left, exactly."""
        return exact.subtract(self.total.budget, self._spent)

    def check(self, cost: Guarantee) -> Guarantee:
        """The price of a query; refused if there is not as much, or if a fork has copied the account."""
        if this_process() != self._process:
            raise BudgetError("A budget in memory is of the process that opened it: open a session here, on a ledger.")
        taken = price(cost, self.total)
        if taken.budget > self.remaining:
            raise BudgetExceeded(taken.budget, self.remaining)
        return taken

    def charge(self, cost: Guarantee) -> Guarantee:
        """Take the price of a query off; refused, with nothing changed, if there is not as much."""
        with self._lock:
            taken = self.check(cost)
            self._spent = exact.add(self._spent, taken.budget)
        return taken

    def give_back(self, taken: Guarantee) -> None:
        """Return what was reserved for a question that was not charged elsewhere, and so not asked."""
        with self._lock:
            self._spent = exact.subtract(self._spent, taken.budget)
