"""Leases: an answer is drawn by one process at a time, and every other waits for it or draws after it."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import sys
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import geoveil as gv
from geoveil.budget import MAYBE_STORED, Charge, Charges, Ledger, turns
from geoveil.errors import (
    LedgerError,
    LedgerTimeout,
)
from tests.ledgers import WALK, charge, edit, in_processes
from tests.patience import impatient
from tests.systems import POSIX

#: Two times by a store's clock, with a lease's length and a second between them.
PAST, LATER = "2026-05-03T10:00:00.000000+00:00", "2026-05-03T10:10:01.000000+00:00"


def _asking(place: str, results: Any) -> None:
    ledger = Ledger(place)
    session = gv.Locations(WALK).session(ledger=ledger, subject="ann", label="walk")
    release = session.points(rho="1e-5")
    assert release.entry is not None
    results.put((release.id, release.value.tobytes(), release.entry.number))


@POSIX
@pytest.mark.slow
def test_one_key_one_answer(place: str) -> None:
    """Processes that ask with one key get one charge, one draw and identical answers."""
    ledger = Ledger(place)
    ledger.create("ann", rho="1e-5")
    ledger.close()
    _, found = in_processes(_asking, place, processes=8)
    assert len(set(found)) == 1
    assert ledger.account("ann").remaining == 0
    assert [line["event"] for line in ledger.statement("ann")] == ["create", "charge"]
    assert ledger.verify() == 3


@pytest.mark.slow
def test_others_wait_for_draws(place: str) -> None:
    """Others wait while someone draws. Who draws is not overtaken; who waits too long is told."""
    ledger, other = Ledger(place), Ledger(place)
    ledger.create("ann", rho=1)
    mine = charge(ledger, "ann", key="k")
    with impatient(other), pytest.raises(LedgerTimeout, match="Nothing was charged"):
        charge(other, "ann", key="k")
    assert ledger.account("ann").spent == Decimal("1e-6")
    Charges.of(ledger).store(mine, "answer")
    assert charge(ledger, "ann", key="k").content == "answer"


@pytest.mark.slow
def test_two_ledgers_draw_once(place: str) -> None:
    """Two ledgers of one process do not draw twice. Whose turn it is is known to the whole process."""
    one, other = Ledger(place), Ledger(place)
    one.create("ann", rho=1)
    found = charge(one, "ann", key="k")
    with impatient(other), pytest.raises(LedgerTimeout):
        charge(other, "ann", key="k")
    Charges.of(one).store(found, "answer")
    assert charge(other, "ann", key="k").content == "answer"


@pytest.mark.slow
def test_waiting_threads_are_woken(place: str) -> None:
    """Threads of the same process are woken; they do not ask the store again and again."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    mine = charge(ledger, "ann", key="k")
    commits = 0
    charges = Charges.of(ledger)
    plain = charges._commit

    def commit(*args: Any) -> Any:
        nonlocal commits
        commits += 1
        return plain(*args)

    charges._commit = commit  # type: ignore[assignment, method-assign]
    found: list[str | None] = []
    threads = [threading.Thread(target=lambda: found.append(charge(ledger, "ann", key="k").content)) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    Charges.of(ledger).store(mine, "answer")
    for thread in threads:
        thread.join(60)
    assert found == ["answer"] * 4
    assert commits < 120
    assert ledger.verify() == 3


def test_leases_distrust_clocks(tmp_path: Path) -> None:
    """An attempt on another machine whose clock is ahead by years blocks its key for minutes at most."""
    place = str(tmp_path / "budget.db")
    ledger, other = Ledger(place), Ledger(place)
    ledger.create("ann", rho=1)
    attempt = charge(ledger, "ann", key="k")
    owner = {"home": "elsewhere", "process": 1, "start": "1", "token": attempt.token}
    now = datetime.now(UTC)
    for since, waits in ((now, True), (now + timedelta(days=1000), False)):
        edit(place, "UPDATE geoveil_answers SET owner = '" + json.dumps({**owner, "since": since.isoformat()}) + "'")
        if waits:
            with impatient(other), pytest.raises(LedgerTimeout):
                charge(other, "ann", key="k")
        else:
            Charges.of(ledger).store(charge(ledger, "ann", key="k"), "answer")
    with pytest.raises(LedgerError, match="the charge is spent"):
        Charges.of(ledger).store(attempt, "late")
    assert ledger.account("ann").spent == Decimal("2e-6")


def test_leases_are_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw that takes hours keeps its lease, and gets back none that has expired and was taken over."""
    monkeypatch.setattr(turns, "_RENEWAL", 0.001)
    place = str(tmp_path / "budget.db")
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    expired = json.dumps({"home": "elsewhere", "process": 1, "start": "1", "since": PAST, "token": "another"})

    def owner() -> str:
        with closing(sqlite3.connect(place)) as connection:
            return str(connection.execute("SELECT owner FROM geoveil_answers").fetchone()[0])

    attempt = charge(ledger, "ann", key="k")
    edit(place, f"UPDATE geoveil_answers SET owner = '{expired}'")
    deadline = time.monotonic() + 60
    with Charges.of(ledger).holding(attempt):
        while not turns.is_held(owner(), PAST) and time.monotonic() < deadline:
            time.sleep(0.001)
    assert turns.is_held(owner(), PAST)
    assert not [thread for thread in threading.enumerate() if thread.name == "geoveil-lease"]
    edit(place, f"UPDATE geoveil_answers SET owner = '{expired}'")
    second = charge(ledger, "ann", key="k")
    Charges.of(ledger)._renew(attempt)
    assert json.loads(owner())["token"] == second.token


def test_long_draws_renew_leases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A map of a crowd, which may be a file or on a cluster, renews its lease; an answer from memory does not."""
    held: list[str] = []
    holding = Charges.holding

    def recorded(charges: Charges, attempt: Any) -> Any:
        held.append(ledger.statement("ann")[-1]["query"])
        return holding(charges, attempt)

    monkeypatch.setattr(Charges, "holding", recorded)
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    session = gv.Locations(WALK).session(ledger=ledger, subject="ann")
    session.mean(rho="1e-6", key="mean")
    session.heatmap(gv.Grid((0, -1000, 2000, 1000), 500), rho="1e-6", key="map")
    assert held == ["heatmap"]


@POSIX
def test_forking_function_answers_once(place: str) -> None:
    """The process that was charged has it; the fork, which could draw another one for the same charge, has none."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    session = gv.Locations(WALK).session(ledger=ledger, subject="ann")
    children: list[int] = []

    def fork(x: Any) -> float:
        children.append(os.fork())
        if children[-1]:
            os.waitpid(children[-1], 0)
        return 0.0

    for key in ("k", None):
        children.clear()
        try:
            session.answer(fork, lipschitz=1, rho="1e-6", key=key)
        finally:
            if children == [0]:
                os._exit(0)
    assert ledger.account("ann").spent == Decimal("2e-6")
    assert ledger.verify() == 5


@POSIX
def test_forks_store_nothing(place: str) -> None:
    """A fork stores no answer, which would be a second one for its parent's charge."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    found = charge(ledger, "ann", key="k")
    child = os.fork()
    if child == 0:
        try:
            Charges.of(ledger).store(found, "the fork's")
        except LedgerError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    Charges.of(ledger).store(found, "mine")
    assert charge(ledger, "ann", key="k").content == "mine"


@POSIX
def test_killed_holders_are_replaced(place: str) -> None:
    """The lease of a killed process is taken over, also while its parent has not noticed that it has ended."""
    ledger = Ledger(place, timeout=20)
    ledger.create("ann", rho=1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            charge(ledger, "ann", key="k")
            os.write(write, b"charged")
            signal.pause()
        finally:
            os._exit(1)
    os.close(write)
    assert os.read(read, 7) == b"charged"
    os.close(read)
    os.kill(child, signal.SIGKILL)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    try:
        assert charge(ledger, "ann", key="k").content is None
    finally:
        os.waitpid(child, 0)
    assert ledger.account("ann").spent == Decimal("2e-6")


def test_other_containers_count_alive() -> None:
    """A process of another container, whose number is not valid here, counts as alive until its lease is over."""
    told = json.loads(turns.owner_of("token", PAST))
    elsewhere = {**told, "home": "another namespace", "process": 2**22 + 1}
    assert not turns.is_held(json.dumps({**elsewhere, "home": told["home"]}), PAST)
    assert turns.is_held(json.dumps(elsewhere), PAST)
    assert not turns.is_held(json.dumps(elsewhere), LATER)
    if sys.platform == "linux":
        assert "pid:[" in told["home"]


def test_store_times_leases(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease of another machine expires ten minutes after it was renewed by the store's clock, not by a machine's."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    kind = type(ledger._book.store)
    plain, clock = kind._begin, [PAST]

    def begin(*args: Any, **more: Any) -> Any:
        transaction = plain(*args, **more)
        transaction.clock = f"'{clock[0]}'"  # type: ignore[misc]
        return transaction

    monkeypatch.setattr(kind, "_begin", begin)
    monkeypatch.setattr(turns, "process_space", lambda: "another machine")
    attempt = charge(ledger, "ann", key="k")
    monkeypatch.undo()
    monkeypatch.setattr(kind, "_begin", begin)
    clock[0] = "2026-05-03T10:09:59.000000+00:00"
    with impatient(ledger), pytest.raises(LedgerTimeout):
        charge(ledger, "ann", key="k")
    Charges.of(ledger)._renew(attempt)
    with closing(Ledger(place)) as other:
        assert json.loads(_owner(other))["since"] == clock[0]
    clock[0] = LATER
    turns.end_lease(attempt)
    assert charge(ledger, "ann", key="k").token != attempt.token


def _owner(ledger: Ledger) -> str:
    with ledger._book.store.reading() as transaction:
        ((owner,),) = transaction.rows("SELECT owner FROM geoveil_answers")
    return str(owner)


def test_same_named_machines_differ() -> None:
    """A process on another machine counts as alive, though that machine has the same name and gave the same ids."""
    told = json.loads(turns.owner_of("token", PAST))
    machine, _, container = told["home"].partition(" ")
    assert socket.gethostname() not in told["home"]
    other = {**told, "home": f"another-{machine} {container}", "process": 2**22 + 1}
    assert turns.is_held(json.dumps(other), PAST)
    assert not turns.is_held(json.dumps({**other, "home": told["home"]}), PAST)


def test_older_leases_expired() -> None:
    """A lease that was timed by the clock of a machine, which may be wrong, holds up nobody."""
    told = json.loads(turns.owner_of("token", PAST))
    assert not turns.is_held(json.dumps({**told, "home": "a host", "since": time.time()}), PAST)


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "drawing"])
def test_refused_holder_asks_free(tmp_path: Path, stored: bool) -> None:
    """A process whose lease expired is told that another one has paid, and gets that answer without paying again."""
    place = str(tmp_path / "budget.db")
    ledger, other = Ledger(place), Ledger(place)
    ledger.create("ann", rho=1)
    session, second = (gv.Locations(WALK).session(ledger=each, subject="ann") for each in (ledger, other))
    expired = json.dumps({"home": "elsewhere", "process": 1, "start": "1", "since": PAST, "token": "expired"})
    overtaking: list[Any] = []

    def overtaken(x: Any) -> float:
        edit(place, f"UPDATE geoveil_answers SET owner = '{expired}'")
        if stored:
            overtaking.append(second.answer(lambda x: 0.0, lipschitz=1, rho="1e-6", key="k").id)
        else:
            overtaking.append(ask_again(other))
        return 0.0

    with pytest.raises(LedgerError, match=r"another process was charged.*the charge is spent.*for free") as raised:
        session.answer(overtaken, lipschitz=1, rho="1e-6", key="k")
    assert raised.value.charged == "spent"
    assert raised.value.__notes__ == [MAYBE_STORED]
    assert "costs again" not in str(raised.value)
    if stored:
        assert session.answer(lambda x: 0.0, lipschitz=1, rho="1e-6", key="k").id == overtaking[0]
    else:
        assert "unless it fails" in str(raised.value)
        Charges.of(other).store(overtaking[0], "the answer")
        assert ask_again(ledger).content == "the answer"
    assert ledger.account("ann").spent == Decimal("2e-6")


def ask_again(ledger: Ledger) -> Charge:
    """Charge for the question that was charged first, with its key."""
    line = ledger.statement("ann")[1]
    cost, parameters = gv.CGP(rho=line["amount"]), json.loads(line["parameters"])
    return Charges.of(ledger).charge(["ann"], cost, query=line["query"], parameters=parameters, key="k")


def test_ended_attempts_charge_again(place: str) -> None:
    """An answer is stored once for each charge, and none for an attempt that was abandoned."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    for key, told in ((None, "charged again"), ("k", "for free")):
        attempt = charge(ledger, "ann", key=key)
        Charges.of(ledger).store(attempt, "answer")
        with pytest.raises(LedgerError, match=f"already stored.*the charge is spent.*{told}"):
            Charges.of(ledger).store(attempt, "another")
    attempt = charge(ledger, "ann", key="left")
    Charges.of(ledger).abandon(attempt)
    with pytest.raises(LedgerError, match=r"has ended.*the charge is spent.*charged again"):
        Charges.of(ledger).store(attempt, "late")
