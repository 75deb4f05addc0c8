"""Open accounts in a ledger, and change their totals."""

from __future__ import annotations

from collections.abc import Sequence

from geoveil.budget.entries import Entry
from geoveil.budget.history import WRITE_OFF
from geoveil.budget.journal import Journal
from geoveil.budget.storable import unknown
from geoveil.budget.stores import Transaction
from geoveil.errors import InvalidParameter, LedgerError, Message
from geoveil.privacy import CGP, GP, Guarantee, promise
from geoveil.privacy.exact import Number, written

__all__ = ["change_total", "open_accounts"]


def open_accounts(
    transaction: Transaction, journal: Journal, names: Sequence[str], total: Guarantee, *, new: str | None
) -> Entry:
    """Open accounts with this total each, and return the entry; raise InvalidParameter if one exists or may have."""
    for name in journal.accounts:
        raise InvalidParameter(
            "subject",
            name,
            "a subject without an account",
            Message("Use {ledger.lower} to change its total, or another name."),
        )
    if new is None and transaction.rows(f"SELECT 1 FROM geoveil_history WHERE event = '{WRITE_OFF}' LIMIT 1"):
        raise LedgerError(
            f"{names[0]!r} may have had an account here and have spent it: the ledger was restored with a write-off, "
            "and accounts that were opened after the backup are missing.",
            Message("If it never had one, say who knows it, and why, with {new:REASON}."),
        )
    entry = journal.add("create", total, [(name, written(total.budget)) for name in names], query=new or "")
    journal.write(transaction)
    journal.open_accounts(transaction, names, total)
    return entry


def change_total(
    transaction: Transaction,
    journal: Journal,
    name: str,
    rho: Number | CGP | None,
    epsilon: Number | GP | None,
    *,
    reason: str | None,
) -> Entry:
    """Set the total of an account, and return the entry; only a change with a reason may raise the total."""
    if name not in journal.accounts:
        raise unknown(name)
    before = journal.accounts[name][0]
    total = promise(None, rho, epsilon, before.metric)
    if type(total) is not type(before):
        allowed = Message(f"{{{before.symbol}}} under {before.metric}, like the account")
        remedy = Message(f"Give {{{before.symbol}}} without a metric.")
        raise InvalidParameter("rho, epsilon", (rho, epsilon), allowed, remedy)
    if reason is None and total.budget > before.budget:
        remedy = Message("A promised total may only be lowered; {ledger.override} raises it, on record.")
        raise InvalidParameter(total.symbol, str(total.budget), f"at most {before.budget}", remedy)
    amount = written(total.budget)
    event = "lower" if reason is None else "override"
    entry = journal.add(event, total, [(name, amount)], query=reason or "")
    journal.write(transaction)
    transaction.update("geoveil_accounts", "total", "subject", [(amount, name)])
    return entry
