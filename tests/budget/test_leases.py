"""Leases: an answer is drawn by one process at a time, and every other waits for it or draws after it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import threading
import time
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import geoveil as gv
from geoveil.budget import Ledger, leases
from geoveil.errors import (
    LedgerError,
    LedgerTimeout,
)
from tests.ledgers import WALK, charge, edit, in_processes
from tests.patience import impatient


def _asking(place: str, results: Any) -> None:
    ledger = Ledger(place)
    session = gv.Session(WALK, ledger=ledger, subject="ann", label="walk")
    release = session.points(rho="1e-5")
    results.put((release.id, release.value.tobytes(), release.certificate()["entry"]["number"]))


@pytest.mark.posix
@pytest.mark.slow
def test_processes_with_one_key_get_one_answer(place: str) -> None:
    """Processes that ask with one key get one charge, one draw and identical answers."""
    ledger = Ledger(place)
    ledger.create("ann", rho="1e-5")
    ledger.close()
    _, found = in_processes(_asking, place, processes=8)
    assert len(set(found)) == 1
    assert ledger.remaining("ann") == 0
    assert [line["event"] for line in ledger.statement("ann")] == ["create", "charge"]
    assert ledger.verify() == 3


@pytest.mark.slow
def test_others_wait_while_someone_draws(place: str) -> None:
    """Who draws is not overtaken; who waits too long is told."""
    ledger, other = Ledger(place), Ledger(place)
    ledger.create("ann", rho=1)
    mine = charge(ledger, "ann", key="k")
    with impatient(other), pytest.raises(LedgerTimeout, match="Nothing was charged"):
        charge(other, "ann", key="k")
    assert ledger.spent("ann") == Decimal("1e-6")
    ledger.store(mine, "answer")
    assert charge(ledger, "ann", key="k").content == "answer"


@pytest.mark.slow
def test_two_ledgers_of_one_process_do_not_draw_twice(place: str) -> None:
    """Whose turn it is is known to the whole process."""
    one, other = Ledger(place), Ledger(place)
    one.create("ann", rho=1)
    found = charge(one, "ann", key="k")
    with impatient(other), pytest.raises(LedgerTimeout):
        charge(other, "ann", key="k")
    one.store(found, "answer")
    assert charge(other, "ann", key="k").content == "answer"


@pytest.mark.slow
def test_who_waits_for_an_answer_gets_it_when_it_is_there(place: str) -> None:
    """Threads of the same process are woken; they do not ask the store again and again."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    mine = charge(ledger, "ann", key="k")
    commits = 0
    plain = ledger._commit

    def commit(*args: Any) -> Any:
        nonlocal commits
        commits += 1
        return plain(*args)

    ledger._commit = commit  # type: ignore[assignment, method-assign]
    found: list[str | None] = []
    threads = [threading.Thread(target=lambda: found.append(charge(ledger, "ann", key="k").content)) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    ledger.store(mine, "answer")
    for thread in threads:
        thread.join(60)
    assert found == ["answer"] * 4
    assert commits < 120
    assert ledger.verify() == 3


def test_a_lease_does_not_trust_clocks(tmp_path: Path) -> None:
    """An attempt on another machine whose clock is ahead by years blocks its key for minutes at most."""
    place = str(tmp_path / "budget.db")
    ledger, other = Ledger(place), Ledger(place)
    ledger.create("ann", rho=1)
    attempt = charge(ledger, "ann", key="k")
    owner = {"home": "elsewhere", "process": 1, "start": "1", "token": attempt.token}
    for since, waits in ((time.time(), True), (time.time() + 1e8, False)):
        edit(place, "UPDATE geoveil_answers SET owner = '" + json.dumps({**owner, "since": since}) + "'")
        if waits:
            with impatient(other), pytest.raises(LedgerTimeout):
                charge(other, "ann", key="k")
        else:
            ledger.store(charge(ledger, "ann", key="k"), "answer")
    with pytest.raises(LedgerError, match="the charge is spent"):
        ledger.store(attempt, "late")
    assert ledger.spent("ann") == Decimal("2e-6")


def test_a_lease_is_renewed_while_its_answer_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw that takes hours keeps its lease, and gets back none that has expired and was taken over."""
    monkeypatch.setattr(leases, "_RENEWAL", 0.001)
    place = str(tmp_path / "budget.db")
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    expired = json.dumps({"home": "elsewhere", "process": 1, "start": "1", "since": 0, "token": "another"})

    def owner() -> str:
        with closing(sqlite3.connect(place)) as connection:
            return str(connection.execute("SELECT owner FROM geoveil_answers").fetchone()[0])

    attempt = charge(ledger, "ann", key="k")
    edit(place, f"UPDATE geoveil_answers SET owner = '{expired}'")
    deadline = time.monotonic() + 60
    with ledger.holding(attempt):
        while not leases.is_held(owner()) and time.monotonic() < deadline:
            time.sleep(0.001)
    assert leases.is_held(owner())
    assert not [thread for thread in threading.enumerate() if thread.name == "geoveil-lease"]
    edit(place, f"UPDATE geoveil_answers SET owner = '{expired}'")
    second = charge(ledger, "ann", key="k")
    ledger._renew(attempt)
    assert json.loads(owner())["token"] == second.token


def test_long_draws_hold_their_leases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A map of a crowd, which may be a file or on a cluster, renews its lease; an answer from memory does not."""
    held: list[str] = []
    holding = Ledger.holding

    def recorded(ledger: Ledger, attempt: Any) -> Any:
        held.append(ledger.statement("ann")[-1]["query"])
        return holding(ledger, attempt)

    monkeypatch.setattr(Ledger, "holding", recorded)
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    session = gv.Session(WALK, ledger=ledger, subject="ann")
    session.mean(rho="1e-6", key="mean")
    session.heatmap(gv.Grid((0, -1000, 2000, 1000), 500), rho="1e-6", key="map")
    assert held == ["heatmap"]


@pytest.mark.posix
def test_a_function_that_forks_gets_one_answer(place: str) -> None:
    """The process that was charged has it; the fork, which could draw another one for the same charge, has none."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    session = gv.Session(WALK, ledger=ledger, subject="ann")
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
    assert ledger.spent("ann") == Decimal("2e-6")
    assert ledger.verify() == 5


@pytest.mark.posix
def test_a_fork_does_not_store_what_its_parent_was_charged_for(place: str) -> None:
    """A fork stores no answer, which would be a second one for its parent's charge."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    found = charge(ledger, "ann", key="k")
    child = os.fork()
    if child == 0:
        try:
            ledger.store(found, "the fork's")
        except LedgerError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    ledger.store(found, "mine")
    assert charge(ledger, "ann", key="k").content == "mine"


@pytest.mark.posix
def test_a_process_that_was_killed_holds_up_nobody(place: str) -> None:
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
    assert ledger.spent("ann") == Decimal("2e-6")


def test_a_process_in_another_container_is_not_taken_for_a_dead_one() -> None:
    """A process of another container, whose number is not valid here, counts as alive until its lease is over."""
    told = json.loads(leases.owner_of("token"))
    elsewhere = {**told, "home": "another namespace", "process": 2**22 + 1}
    assert not leases.is_held(json.dumps({**elsewhere, "home": told["home"]}))
    assert leases.is_held(json.dumps(elsewhere))
    assert not leases.is_held(json.dumps({**elsewhere, "since": told["since"] - 601}))
    if sys.platform == "linux":
        assert "pid:[" in told["home"]
