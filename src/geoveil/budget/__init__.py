"""Budgets that cannot be overspent: limits in memory, and a ledger that outlives the process.

`Ledger` is the public face. `Charges` is the protocol by which releases are charged and stored.
"""

from geoveil.budget.accounts import Account, SessionLimit, price, price_of, unknown_price
from geoveil.budget.charges import Charges
from geoveil.budget.entries import MAYBE_STORED, SPENT, STORED, Charge, Entry
from geoveil.budget.ledger import Ledger, StatementLine

__all__ = [
    "MAYBE_STORED",
    "SPENT",
    "STORED",
    "Account",
    "Charge",
    "Charges",
    "Entry",
    "Ledger",
    "SessionLimit",
    "StatementLine",
    "price",
    "price_of",
    "unknown_price",
]
