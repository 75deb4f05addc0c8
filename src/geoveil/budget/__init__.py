"""Budgets that cannot be overspent: accounts in memory, and a ledger that outlives the process."""

from geoveil.budget.account import Account
from geoveil.budget.entries import MAYBE_STORED, SPENT, STORED, Charge, Entry
from geoveil.budget.ledger import Ledger
from geoveil.budget.prices import price, price_of, unknown_price

__all__ = [
    "MAYBE_STORED",
    "SPENT",
    "STORED",
    "Account",
    "Charge",
    "Entry",
    "Ledger",
    "price",
    "price_of",
    "unknown_price",
]
