"""The chain of entries: edits of a ledger are noticed, with a key also those of someone who computes it anew."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import geoveil as gv
from geoveil.budget import Charges, Ledger
from geoveil.budget.entries import Line
from geoveil.budget.history import lines_after
from geoveil.errors import (
    LedgerTampered,
)
from tests.ledgers import KEY, WALK, charge, edit

EDITS = {
    "changed": "UPDATE geoveil_history SET amount = '0.0000001' WHERE number = 3",
    "amount": "UPDATE geoveil_postings SET amount = '0.0000001' WHERE number = 3",
    "renamed": "UPDATE geoveil_postings SET subject = 'bob' WHERE number = 3",
    "posting deleted": "DELETE FROM geoveil_postings WHERE number = 3",
    "posting added": "INSERT INTO geoveil_postings (number, subject, amount) VALUES (99, 'ann', '0.000001')",
    "key": "UPDATE geoveil_history SET key = 'another' WHERE number = 3",
    "deleted": "DELETE FROM geoveil_history WHERE number = 3",
    "cut": "DELETE FROM geoveil_history WHERE number = 5",
    "account": "UPDATE geoveil_accounts SET spent = '0'",
    "total": "UPDATE geoveil_accounts SET total = '2'",
    "account deleted": "DELETE FROM geoveil_accounts",
}


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, KEY], ids=["unkeyed", "keyed"])
@pytest.mark.parametrize("name", [*EDITS, "reordered", "duplicated"])
def test_edits_are_noticed(place: str, key: bytes | None, name: str) -> None:
    """Of the history and of the accounts, with and without a key."""
    ledger = Ledger(place, secret=key)
    ledger.create("ann", rho=1)
    for _ in range(4):
        charge(ledger, "ann")
    assert ledger.verify() == 5
    ledger.close()
    if name == "reordered":
        moves = [(3, -3), (4, 3), (-3, 4)]
        edit(place, *(f"UPDATE geoveil_history SET number = {b} WHERE number = {a}" for a, b in moves))
    elif name == "duplicated":
        copied = ", ".join(Line._fields[1:])
        edit(
            place,
            f"INSERT INTO geoveil_history (number, {copied}) SELECT 6, {copied} FROM geoveil_history WHERE number = 5",
        )
    else:
        edit(place, EDITS[name])
    with pytest.raises(LedgerTampered):
        Ledger(place, secret=key).verify()


@pytest.mark.parametrize("key", [None, KEY], ids=["unkeyed", "keyed"])
def test_a_chain_computed_anew(place: str, key: bytes | None) -> None:
    """Without a key it passes, unless a certificate says otherwise; with one it does not."""
    ledger = Ledger(place, secret=key)
    ledger.create("ann", rho=1)
    session = gv.Locations(WALK).session(ledger=ledger, subject="ann")
    certificates = [session.mean(rho="1e-6").certificate() for _ in range(2)]
    assert ledger.verify(certificates) == 5
    ledger.close()
    with ledger._book.store.reading() as transaction:
        lines = [line for line, _ in lines_after(transaction, 0)][:3]
    previous = "0" * 64
    tables = ("history", "postings", "answers")
    statements = [f"DELETE FROM geoveil_{table} WHERE number > 3" for table in tables]
    for line in lines:
        previous = line.linked(ledger.id, previous, None)
        statements.append(f"UPDATE geoveil_history SET hash = '{previous}' WHERE number = {line.number}")
    statements.append(f"UPDATE geoveil_head SET number = 3, hash = '{previous}'")
    statements.append("UPDATE geoveil_accounts SET spent = '0.000001'")
    ledger.close()
    edit(place, *statements)
    # Another process: this one remembers where the ledger ended.
    ledger = Ledger(place, secret=key)
    if key is None:
        assert ledger.verify() == 3  # what the page says an unkeyed chain cannot tell
    else:
        with pytest.raises(LedgerTampered):
            ledger.verify()
    with pytest.raises(LedgerTampered):
        ledger.verify(certificates)


def test_foreign_certificates_are_noticed(tmp_path: Path) -> None:
    """A certificate is verified against its own ledger only."""
    one, other = (Ledger(tmp_path / name) for name in ("a.db", "b.db"))
    for ledger in (one, other):
        ledger.create("ann", rho=1)
    certificate = gv.Locations(WALK).session(ledger=one, subject="ann").mean(rho="1e-6").certificate()
    with pytest.raises(LedgerTampered, match="another ledger"):
        other.verify([certificate])
    assert one.verify([certificate, gv.Locations(WALK).mean(rho=1e-6).certificate()]) == 3


@pytest.mark.parametrize(("amount", "told"), [("2", "more than was left"), ("0.0000001", "the price of the release")])
def test_overdrawn_charges_are_noticed(place: str, amount: str, told: str) -> None:
    """A charge that an account could not pay is noticed.

    Even if whoever wrote it knew the key and kept chain and accounts consistent.
    """
    ledger = Ledger(place, secret=KEY)
    ledger.create("ann", rho=1)
    with ledger._book.writing(["ann"]) as (transaction, journal):
        journal.add("charge", gv.CGP(rho=2), [("ann", amount)], query="points")
        journal.spend({"ann": Decimal(amount)})
        journal.write(transaction)
    with pytest.raises(LedgerTampered, match=told):
        ledger.verify()


@pytest.mark.slow
def test_keys_of_any_length(place: str) -> None:
    """Keys may be long: those of questions about many persons hold all of their names."""
    names = [f"person {i}" for i in range(1500)]
    ledger = Ledger(place)
    ledger.create(*names, rho=1)
    x = np.zeros((len(names), 2))
    release = gv.Locations(x, person=np.array(names)).session(ledger=ledger, label="march").mean(rho="1e-6")
    again = gv.Locations(x, person=np.array(names)).session(ledger=ledger, label="march").mean(rho="1e-6")
    assert again.certificate() == release.certificate()
    rng = random.Random(5)
    for size in (1, 3000, 10**6):
        key = "".join(rng.choices("abcdefghij\x00\u20ac", k=size))
        found = charge(ledger, "person 7", key=key)
        Charges.of(ledger).store(found, "kept")
        assert charge(ledger, "person 7", key=key).content == "kept"
    assert ledger.verify([release.certificate()])


@pytest.mark.parametrize("again", ["create", "lower"])
def test_set_back_accounts_are_noticed(place: str, again: str) -> None:
    """A line that opens an account again, or raises a total without an override, is none that a ledger writes."""
    ledger = Ledger(place, secret=KEY)
    ledger.create("ann", rho=1)
    with ledger._book.writing(["ann"]) as (transaction, journal):
        journal.add(again, gv.CGP(rho=2), [("ann", "2")])
        journal.write(transaction)
        transaction.update("geoveil_accounts", "total", "subject", [("2", "ann")])
    with pytest.raises(LedgerTampered, match="Entry 2"):
        ledger.verify()
