"""Accounts that cannot be overspent: in memory, and in a ledger between processes and days."""

from geoveil.budget.account import Account
from geoveil.budget.entries import SPENT, Charge, Entry
from geoveil.budget.ledger import Ledger
from geoveil.budget.prices import price

__all__ = ["SPENT", "Account", "Charge", "Entry", "Ledger", "price"]
