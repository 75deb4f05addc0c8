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
    """A total budget in memory and the amount spent; threads may share it.

    Parameters
    ----------
    total : CGP or GP
        The guarantee of all charged queries together.
    """

    def __init__(self, total: Guarantee) -> None:
        self.total = total
        self._spent = Decimal(0)
        self._lock = threading.Lock()
        self._process = this_process()

    @property
    def spent(self) -> Decimal:
        """The amount charged so far."""
        return self._spent

    @property
    def remaining(self) -> Decimal:
        """The exact amount that is left."""
        return exact.subtract(self.total.budget, self._spent)

    def check(self, cost: Guarantee) -> Guarantee:
        """Return the price of a query, or raise an error if less is left or the account was copied by a fork."""
        if this_process() != self._process:
            raise BudgetError(
                "A budget in memory cannot be used in a forked process, which would spend it a second time.",
                "Open a session with ledger= in this process.",
                charged="nothing",
            )
        taken = price(cost, self.total)
        if taken.budget > self.remaining:
            raise BudgetExceeded(taken.budget, self.remaining)
        return taken

    def charge(self, cost: Guarantee) -> Guarantee:
        """Charge the price of a query and return it; if less is left, raise BudgetExceeded and change nothing."""
        with self._lock:
            taken = self.check(cost)
            self._spent = exact.add(self._spent, taken.budget)
        return taken

    def give_back(self, taken: Guarantee) -> None:
        """Refund a charge whose question was not asked, because another account refused to pay for it."""
        with self._lock:
            self._spent = exact.subtract(self._spent, taken.budget)
