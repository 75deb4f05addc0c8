"""Stored answers: they are released again for free, until they are forgotten."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geoveil as gv
from geoveil.budget import MAYBE_STORED, SPENT, Charges, Ledger, charges
from geoveil.budget.entries import digest
from geoveil.budget.journal import Memory, Witness
from geoveil.errors import (
    InvalidParameter,
    LedgerError,
    LedgerTampered,
    LedgerUnavailable,
)
from tests.ledgers import KEY, WALK, charge, connection_of, cut, edit
from tests.patience import impatient


@pytest.mark.parametrize("key", [None, KEY], ids=["unkeyed", "keyed"])
@pytest.mark.parametrize("edited", ["NULL", "'{}'"])
def test_edited_answers_are_noticed(place: str, key: bytes | None, edited: str) -> None:
    """Stored answers that were edited are noticed.

    Emptied ones are not drawn again under the old charge, and changed ones are not handed out.
    """
    ledger = Ledger(place, secret=key)
    ledger.create("ann", rho=1)
    session = gv.Locations(WALK).session(ledger=ledger, subject="ann", label="walk")
    session.mean(rho="1e-6")
    ledger.close()
    edit(place, f"UPDATE geoveil_answers SET content = {edited}")
    with pytest.raises(LedgerTampered):
        session.mean(rho="1e-6")
    with pytest.raises(LedgerTampered):
        ledger.verify()
    edit(place, "DELETE FROM geoveil_answers")
    with pytest.raises(LedgerTampered):
        ledger.verify()


CRASHING = """
import os, sys
import numpy as np
import geoveil as gv
from geoveil.budget import Charges
Charges.store = lambda *given: os._exit(9)
gv.Locations(np.zeros((3, 2))).session(ledger=gv.Ledger(sys.argv[1]), subject="ann", label="walk").mean(rho="1e-6")
"""


@pytest.mark.slow
def test_crashed_answers_are_certified(place: str) -> None:
    """A crash between charge and store costs budget; the next answer is a charge and a release of its own."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    ledger.close()
    assert subprocess.run([sys.executable, "-c", CRASHING, place], timeout=60, check=False).returncode == 9
    release = gv.Locations(np.zeros((3, 2))).session(ledger=ledger, subject="ann", label="walk").mean(rho="1e-6")
    assert ledger.verify([release.certificate()]) == 4
    assert ledger.account("ann").spent == Decimal("2e-6")


@pytest.mark.parametrize("key", [None, KEY], ids=["unkeyed", "keyed"])
def test_exchanged_answers_are_noticed(place: str, key: bytes | None) -> None:
    """The chain covers the key under which an answer is stored."""
    ledger = Ledger(place, secret=key)
    ledger.create("ann", rho=1)
    for name in ("k", "l"):
        Charges.of(ledger).store(charge(ledger, "ann", key=name), f"the answer to {name}")
    assert ledger.verify() == 5
    ledger.close()
    moves = [(2, "'x'"), (4, "'" + digest("k") + "'"), (2, "'" + digest("l") + "'")]
    edit(place, *(f"UPDATE geoveil_answers SET key = {text} WHERE number = {number}" for number, text in moves))
    with pytest.raises(LedgerTampered):
        charge(ledger, "ann", key="k")
    with pytest.raises(LedgerTampered):
        ledger.verify()
    edit(
        place,
        *(
            f"UPDATE geoveil_answers SET key = {text} WHERE number = {number}"
            for number, text in ((2, "'x'"), (4, "'" + digest("l") + "'"), (2, "'" + digest("k") + "'"))
        ),
    )
    assert ledger.verify() == 5
    edit(place, "UPDATE geoveil_answers SET content = 'the answer to l' WHERE number = 2")
    edit(place, "UPDATE geoveil_answers SET content = 'the answer to k' WHERE number = 4")
    with pytest.raises(LedgerTampered):
        ledger.verify()


def test_answers_can_be_forgotten(place: str) -> None:
    """Only answers with a key are kept and until they are forgotten.

    What they cost stays spent, their keys are never drawn again, and the history stays whole.
    """
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    labelled = gv.Locations(WALK).session(ledger=ledger, subject="ann", label="walk")
    kept = [labelled.mean(rho="1e-6"), labelled.center(rho="1e-6"), labelled.hull(rho="1e-6")]
    loose = gv.Locations(WALK).session(ledger=ledger, subject="ann").points(rho="1e-6")
    with ledger._book.store.reading() as transaction:
        held = transaction.rows("SELECT number FROM geoveil_answers WHERE content IS NOT NULL ORDER BY number")
    assert [number for (number,) in held] == [release.entry.number for release in kept if release.entry]
    assert ledger.forget(kept[0].id) == 1
    with pytest.raises(InvalidParameter, match="deleted"):
        labelled.mean(rho="1e-6")
    assert labelled.center(rho="1e-6").id == kept[1].id
    for unknown in (kept[0].id, loose.id, "none"):
        with pytest.raises(InvalidParameter, match=r"^release"):
            ledger.forget(unknown)
    with pytest.raises(InvalidParameter, match="time zone"):
        ledger.forget(before=datetime(2000, 1, 1))
    assert ledger.forget(before=datetime(2000, 1, 1, tzinfo=UTC)) == 0
    assert ledger.forget(before=datetime(9000, 1, 1, tzinfo=UTC)) == 2
    assert ledger.account("ann").spent == Decimal("4e-6")
    assert ledger.verify([release.certificate() for release in (*kept, loose)]) == 12
    edit(place, "UPDATE geoveil_answers SET forgotten = NULL WHERE number = 2")
    with pytest.raises(LedgerTampered):
        ledger.verify()
    with pytest.raises(LedgerTampered):
        labelled.mean(rho="1e-6")


def test_answers_use_indexes(tmp_path: Path) -> None:
    """Stored answers are found by indexes, however long the history is."""
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", "bob", rho=1)
    Charges.of(ledger).store(charge(ledger, "ann", "bob", key="k"), "answer")
    asked: list[str] = []
    connection = connection_of(ledger)
    connection.set_trace_callback(asked.append)
    assert charge(ledger, "ann", "bob", key="k").content == "answer"
    connection.set_trace_callback(None)
    looks = [statement for statement in asked if statement.startswith("SELECT") and "geoveil_" in statement]
    assert len(looks) >= 5
    for statement in looks:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
        assert not any("SCAN geoveil" in step and "geoveil_head" not in step for step in plan), (statement, plan)


@pytest.mark.parametrize("way", ["locked", "read-only", "set back", "moved", "witness"])
def test_failed_store_says_spent(tmp_path: Path, way: str) -> None:
    """However an answer fails to be stored, the error says that its charge is spent."""
    path = tmp_path / "budget.db"
    ledger = Ledger(path, witness=tmp_path / "witness.db")
    first = ledger.create("ann", rho=1)
    found = charge(ledger, "ann", key="k")
    if way == "read-only":
        connection_of(ledger).execute("PRAGMA query_only=1")
    elif way == "set back":
        cut(str(path), first.number, first.hash)
    elif way == "moved":
        path.rename(tmp_path / "moved.db")
    with ExitStack() as stack:
        if way in ("locked", "witness"):
            held = Ledger(path)._book.store if way == "locked" else Witness(tmp_path / "witness.db")._store
            stack.enter_context(held.transaction())
            # Long enough for the store's own transaction, where only the witness is locked.
            stack.enter_context(impatient(ledger, 0.3 if way == "locked" else 3))
        with pytest.raises(LedgerError) as raised:
            Charges.of(ledger).store(found, "answer")
    assert raised.value.charged == "spent"
    assert "the charge is spent" in str(raised.value)
    assert "Nothing was charged" not in str(raised.value)


def test_stored_answers_stay_stored(tmp_path: Path) -> None:
    """An error about an answer that was found in the ledger says that nothing was charged for it."""
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    Charges.of(ledger).store(charge(ledger, "ann", key="k"), "answer")
    found = charge(ledger, "ann", key="k")
    with pytest.raises(LedgerError, match=r"already stored.*Nothing was charged"):
        Charges.of(ledger).store(found, "another")


@pytest.mark.parametrize("committed", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("key", [None, "k"], ids=["unkeyed", "keyed"])
def test_questions_tell_store_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None, committed: bool
) -> None:
    """A question whose answer could not be stored says what asking again costs, before and after the commit."""
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    session = gv.Locations(WALK).session(ledger=ledger, subject="ann")
    store, record = charges._store, Memory.record

    def full(*_: Any) -> None:
        raise LedgerUnavailable("The disk is full.", charged="nothing")

    def stored(*given: Any) -> None:
        def unwitnessed(*_: Any) -> None:
            patch.setattr(Memory, "record", record)
            full()

        patch.setattr(Memory, "record", unwitnessed)
        store(*given)

    with monkeypatch.context() as patch:
        patch.setattr(charges, "_store", stored if committed else full)
        with pytest.raises(LedgerUnavailable, match=r"Nothing was released, and the charge is spent") as raised:
            session.mean(rho="1e-6", key=key)
    assert raised.value.__notes__ == [SPENT if key is None else MAYBE_STORED]
    session.mean(rho="1e-6", key=key)
    assert ledger.account("ann").spent == Decimal("1e-6" if key and committed else "2e-6")


def test_file_answers_are_found(tmp_path: Path) -> None:
    """An answer that was stored with the digests of its file and certificate is found by its key, and verifies."""
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("ann", rho=1)
        Charges.of(ledger).store(charge(ledger, "ann", key="k"), "answer", file="f" * 64, certificate="c" * 64)
        assert charge(ledger, "ann", key="k").content == "answer"
        ledger.verify()
