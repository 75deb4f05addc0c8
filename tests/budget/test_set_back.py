"""Ledgers that are set back to an earlier state while a process has them open, and processes that must notice it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

import geoveil as gv
from geoveil.budget import Ledger
from geoveil.errors import InvalidParameter, LedgerTampered
from tests.ledgers import charge, cut

#: What a process has done with a ledger before it is set back, other than to charge.
LOOKS: dict[str, Callable[[Ledger], object]] = {
    "opened": lambda ledger: None,
    "read": lambda ledger: ledger.account("ann").remaining,
    "listed": lambda ledger: [*ledger.accounts()],
    "verified": lambda ledger: ledger.verify(),
    "shown": repr,
}


@pytest.mark.parametrize("look", LOOKS)
def test_set_back_is_noticed(place: str, look: str) -> None:
    """A process that has opened or read a ledger charges no older copy of it, so that totals hold."""
    ledger = Ledger(place)
    first = ledger.create("ann", rho="1e-3")
    charge(ledger, "ann", cost=gv.CGP(rho="9e-4"))
    other = Ledger(place)
    assert LOOKS[look](other) in (None, Decimal("1e-4"), ["ann"], 2, repr(other))
    cut(place, first.number, first.hash)
    with pytest.raises(LedgerTampered, match="set back"):
        charge(other, "ann", cost=gv.CGP(rho="9e-4"))
    with pytest.raises(LedgerTampered, match="set back"):
        other.account("ann")


@pytest.mark.parametrize("look", ["read", "verified", "shown", "refused"])
def test_newest_reading_is_remembered(place: str, look: str) -> None:
    """A process remembers the entries that others have made since it opened the ledger, once it has seen them."""
    ledger, other = Ledger(place), Ledger(place)
    ledger.create("ann", rho="1e-3")
    second = charge(ledger, "ann", cost=gv.CGP(rho="1e-4")).entry
    charge(ledger, "ann", cost=gv.CGP(rho="9e-4"))
    if look == "refused":
        with pytest.raises(InvalidParameter):
            other.create("ann", rho=1)
    else:
        LOOKS[look](other)
    cut(place, second.number, second.hash)
    with pytest.raises(LedgerTampered, match="set back"):
        charge(other, "ann", cost=gv.CGP(rho="9e-4"))
