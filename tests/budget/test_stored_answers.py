"""Stored answers: they are released again for free, until they are forgotten."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import geoveil as gv
from geoveil.budget import Ledger
from geoveil.budget.storable import digest
from geoveil.errors import (
    InvalidParameter,
    LedgerTampered,
)
from tests.ledgers import KEY, WALK, charge, edit


@pytest.mark.parametrize("key", [None, KEY], ids=["unkeyed", "keyed"])
@pytest.mark.parametrize("edited", ["NULL", "'{}'"])
def test_stored_answers_that_were_edited_are_noticed(place: str, key: bytes | None, edited: str) -> None:
    """Emptied ones are not drawn again under the old charge, and changed ones are not handed out."""
    ledger = Ledger(place, key=key)
    ledger.create("ann", rho=1)
    session = gv.Session(WALK, ledger=ledger, subject="ann", label="walk")
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
class Crashing(gv.Ledger):
    def store(self, charge, content):
        os._exit(9)
gv.Session(np.zeros((3, 2)), ledger=Crashing(sys.argv[1]), subject="ann", label="walk").mean(rho="1e-6")
"""


@pytest.mark.slow
def test_an_answer_that_is_drawn_again_after_a_crash_has_a_certificate_that_holds(place: str) -> None:
    """A crash between charge and store costs budget; the next answer is a charge and a release of its own."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    ledger.close()
    assert subprocess.run([sys.executable, "-c", CRASHING, place], timeout=60, check=False).returncode == 9
    release = gv.Session(np.zeros((3, 2)), ledger=ledger, subject="ann", label="walk").mean(rho="1e-6")
    assert ledger.verify([release.certificate()]) == 4
    assert ledger.spent("ann") == Decimal("2e-6")


@pytest.mark.parametrize("key", [None, KEY], ids=["unkeyed", "keyed"])
def test_answers_that_were_exchanged_are_noticed(place: str, key: bytes | None) -> None:
    """The chain covers the key under which an answer is stored."""
    ledger = Ledger(place, key=key)
    ledger.create("ann", rho=1)
    for name in ("k", "l"):
        ledger.store(charge(ledger, "ann", key=name), f"the answer to {name}")
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


def test_only_answers_with_a_key_are_kept_and_until_they_are_forgotten(place: str) -> None:
    """What they cost stays spent, their keys are never drawn again, and the history stays whole."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    labelled = gv.Session(WALK, ledger=ledger, subject="ann", label="walk")
    kept = [labelled.mean(rho="1e-6"), labelled.center(rho="1e-6"), labelled.hull(rho="1e-6")]
    loose = gv.Session(WALK, ledger=ledger, subject="ann").points(rho="1e-6")
    with ledger._store.reading() as transaction:
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
    assert ledger.spent("ann") == Decimal("4e-6")
    assert ledger.verify([release.certificate() for release in (*kept, loose)]) == 12
    edit(place, "UPDATE geoveil_answers SET forgotten = NULL WHERE number = 2")
    with pytest.raises(LedgerTampered):
        ledger.verify()
    with pytest.raises(LedgerTampered):
        labelled.mean(rho="1e-6")


def test_an_answer_that_is_asked_for_again_is_looked_up(tmp_path: Path) -> None:
    """Stored answers are found by indexes, however long the history is."""
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", "bob", rho=1)
    ledger.store(charge(ledger, "ann", "bob", key="k"), "answer")
    asked: list[str] = []
    connection = ledger._store._opened
    connection.set_trace_callback(asked.append)
    assert charge(ledger, "ann", "bob", key="k").content == "answer"
    connection.set_trace_callback(None)
    looks = [statement for statement in asked if statement.startswith("SELECT") and "geoveil_" in statement]
    assert len(looks) >= 5
    for statement in looks:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
        assert not any("SCAN geoveil" in step and "geoveil_head" not in step for step in plan), (statement, plan)


def test_answers_in_files_are_found(tmp_path: Path) -> None:
    """An answer that was stored with the digests of its file and certificate is found by its key, and verifies."""
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("ann", rho=1)
        ledger.store(charge(ledger, "ann", key="k"), "answer", file="f" * 64, certificate="c" * 64)
        assert charge(ledger, "ann", key="k").content == "answer"
        ledger.verify()
