"""Charges that wait are written together, and fail alone."""

from __future__ import annotations

import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from geoveil.budget import Charge, Charges, Ledger
from geoveil.budget import journal as journals
from geoveil.budget.turns import Batching, Waiting
from geoveil.errors import (
    InvalidParameter,
    LedgerTimeout,
    LedgerUnavailable,
)
from geoveil.host.processes import this_process
from tests.ledgers import COST, charge, edit
from tests.patience import impatient

BAD: dict[str, Any] = {
    "key": ["\ud800", 7, b"k"],
    "query": ["\ud800", "a\x00b", None],
    "release": ["\udfff", "\x00", 1],
    "parameters": [{1: 2, "a": 3}, {"a": 10**5000}],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_bad_requests_fail_alone(place: str, name: str) -> None:
    """What a store cannot hold is refused by name before it joins what other threads charge."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    refused: list[Exception] = []
    stop = threading.Event()

    def spoil() -> None:
        while True:
            for bad in BAD[name]:
                try:
                    Charges.of(ledger).charge(["ann"], COST, **{"query": "points", name: bad})
                except InvalidParameter as problem:
                    refused.append(problem)
            if stop.wait(0.002):
                return

    spoilers = [threading.Thread(target=spoil) for _ in range(2)]
    for thread in spoilers:
        thread.start()
    for _ in range(30):
        charge(ledger, "ann")
    stop.set()
    for thread in spoilers:
        thread.join()
    assert refused
    assert all(str(problem).startswith(name) for problem in refused)
    assert ledger.account("ann").spent == Decimal("30e-6")
    for bad_name in ("a" * 501, "\udc00", "a\x00"):
        with pytest.raises(InvalidParameter, match=r"^subject"):
            charge(ledger, bad_name)
    with pytest.raises(InvalidParameter, match=r"^reason"):
        ledger.override("ann", rho=2, reason="\ud800")
    ledger.create("\U0001f600" * 500, rho=1)
    assert ledger.verify() == 32


def test_failed_batches_are_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One request that no store takes does not take others with it."""
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    entered, go = threading.Event(), threading.Event()
    plain = journals.Journal.add

    def add(journal: Any, *args: Any, **more: Any) -> Any:
        entered.set()
        go.wait(60)
        if more["release"] == "bad":
            raise RuntimeError("no store takes this")
        return plain(journal, *args, **more)

    monkeypatch.setattr(journals.Journal, "add", add)
    problems: list[Exception] = []

    def work(release: str) -> None:
        try:
            charge(ledger, "ann", release=release)
        except RuntimeError as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(release,)) for release in ("first", "good", "bad", "fine")]
    threads[0].start()
    assert entered.wait(60)
    for thread in threads[1:]:
        thread.start()
    (batching,) = Charges.of(ledger)._batchings.values()
    while len(batching._queue) < 3:
        time.sleep(0.01)
    go.set()
    for thread in threads:
        thread.join(60)
    assert len(problems) == 1
    assert ledger.account("ann").spent == Decimal("3e-6")
    assert ledger.verify() == 4


@pytest.mark.slow
def test_threads_wait_together(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads wait for a held ledger together.

    Each until its own deadline, from the beginning of its call, and not one after the other.
    """
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    other = Ledger(place)
    deadlines: list[float] = []
    late: list[LedgerTimeout] = []
    plain = other._book.store.transaction

    def transaction(deadline: float | None = None) -> Any:
        assert deadline is not None
        deadlines.append(deadline)
        return plain(deadline)

    monkeypatch.setattr(other._book.store, "transaction", transaction)
    calls: list[float] = []
    served = Batching.served

    def serve(batching: Any, waiting: Any, commit: Any) -> Any:
        calls.append(waiting.deadline)
        return served(batching, waiting, commit)

    monkeypatch.setattr(Batching, "served", serve)

    def work() -> None:
        with pytest.raises(LedgerTimeout, match="Nothing was charged") as raised:
            charge(other, "ann")
        late.append(raised.value)

    threads = [threading.Thread(target=work) for _ in range(12)]
    with ledger._book.writing(), impatient(other, 0.5):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(late) == len(calls) == 12
    # Whoever has waited in vain for others does not begin to wait for the store anew.
    assert set(deadlines) <= set(calls)
    assert len(deadlines) <= 12
    monkeypatch.undo()
    charge(ledger, "ann")
    assert ledger.verify() == 2


def test_refused_charge_fails_alone(place: str) -> None:
    """Others that share its commit are charged, also if the database refuses only at the end."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    if place.endswith(".db"):
        refuse = "CREATE TRIGGER refuse BEFORE INSERT ON geoveil_history WHEN NEW.release = 'bad' "
        edit(place, refuse + "BEGIN SELECT RAISE(ABORT, 'refused'); END")
    else:
        edit(place, "ALTER TABLE geoveil_history ADD CHECK (release <> 'bad')")
    batching: Batching[Any, Charge] = Charges.of(ledger)._batchings.setdefault(this_process(), Batching())
    problems: list[Exception] = []

    def work(release: str) -> None:
        try:
            charge(ledger, "ann", release=release)
        except LedgerUnavailable as problem:
            problems.append(problem)

    # As if someone else were committing, so that all four wait and then share a commit.
    batching._server = Waiting(0.0)
    threads = [threading.Thread(target=work, args=(release,)) for release in ("good", "bad", "fine", "right")]
    for thread in threads:
        thread.start()
    while len(batching._queue) < 4:
        time.sleep(0.01)
    with batching._changed:
        batching._server = None
        batching._changed.notify_all()
    for thread in threads:
        thread.join(60)
    assert len(problems) == 1
    assert ledger.account("ann").spent == Decimal("3e-6")
    assert ledger.verify() == 4
