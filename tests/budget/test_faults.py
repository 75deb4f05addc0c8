"""Faults: crashes, full disks, locks and interruptions cost budget, never privacy."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geoveil as gv
from geoveil.budget import Ledger
from geoveil.budget import journal as journals
from geoveil.errors import (
    BudgetExceeded,
    InvalidParameter,
    LedgerTimeout,
    LedgerUnavailable,
)
from tests.ledgers import COST, KEY, WALK, charge, connection_of
from tests.patience import impatient
from tests.postgres import database, server
from tests.questions import session_of
from tests.systems import POSIX

LOOP = """
import sys
import numpy as np
import geoveil as gv
ledger = gv.Ledger(sys.argv[1])
session = gv.Locations(np.zeros((3, 2))).session(ledger=ledger, subject="ann")
for turn in range(10**9):
    key = None if sys.argv[2] == "none" else f"{sys.argv[2]} {turn}"
    release = session.points(rho="1e-9", key=key)
    print(key, release.id, flush=True)
"""


def killed(place: str, moments: int, seed: int, *, keyed: bool) -> None:
    """Charge and release in a loop, killed at random moments; then look what got out."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    ledger.close()
    rng = random.Random(seed)
    out: set[tuple[str, str]] = set()
    for moment in range(moments):
        # Two processes after each other ask the same questions.
        command = [sys.executable, "-c", LOOP, place, f"{moment // 2}" if keyed else "none"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            time.sleep(rng.random() * 0.05)
            process.send_signal(signal.SIGKILL)
            told = [first, *process.stdout.read().splitlines(keepends=True)]
            # The last line may have been cut off.
            out |= {tuple(line.rstrip("\n").rsplit(" ", 1)) for line in told if line.endswith("\n")}  # type: ignore[misc]
    charged = [line for line in ledger.statement("ann") if line["event"] == "charge"]
    assert len(out) >= (moments // 2 if keyed else moments)
    assert {release for _, release in out} <= {line["release"] for line in charged}
    assert ledger.verify() > len(out)
    assert ledger.account("ann").spent == Decimal("1e-9") * len(charged)
    if keyed:
        assert len({key for key, _ in out}) == len(out)  # one answer for each question
        assert len(charged) <= len({line["key"] for line in charged}) + moments


@POSIX
@pytest.mark.slow
@pytest.mark.parametrize("keyed", [False, True], ids=["unkeyed", "keyed"])
def test_crashes_cost_budget_only(place: str, keyed: bool) -> None:
    """A crash costs budget, never privacy.

    Every release that got out is in the ledger, one for each question with a key, and the ledger verifies.
    """
    killed(place, 2, seed=1, keyed=keyed)


@POSIX
@pytest.mark.long
@pytest.mark.parametrize("keyed", [False, True], ids=["unkeyed", "keyed"])
def test_two_hundred_crashes(place: str, keyed: bool) -> None:
    """Two hundred crashes cost budget and never privacy."""
    killed(place, 200, seed=2, keyed=keyed)


def test_full_disks_release_nothing(tmp_path: Path) -> None:
    """A full disk releases nothing. A clear error; what was there stays, and the ledger goes on when there is room."""
    path = tmp_path / "budget.db"
    ledger = Ledger(path)
    ledger.create("ann", rho=1)
    with ledger._book.store.transaction() as transaction:
        pages = transaction.rows("PRAGMA page_count")[0][0]
    connection_of(ledger).execute(f"PRAGMA max_page_count={pages}")
    session = gv.Locations(WALK).session(ledger=ledger, subject="ann")
    released: list[gv.Release] = []

    def go_on() -> None:
        for _ in range(200):
            released.append(session.points(rho="1e-9"))

    with pytest.raises(LedgerUnavailable, match=r"full.*Nothing was (charged or )?released"):
        go_on()
    assert ledger.account("ann").spent >= Decimal("1e-9") * len(released)
    ledger.close()
    charged = [line for line in Ledger(path).statement("ann") if line["event"] == "charge"]
    assert ledger.account("ann").spent == Decimal("1e-9") * len(charged)
    assert Ledger(path).verify() >= 1 + len(charged)


@POSIX
@pytest.mark.slow
def test_file_size_limits(tmp_path: Path) -> None:
    """The operating system's limit on the size of files is noticed."""
    script = (
        "import resource, signal, sys, geoveil as gv\n"
        "from geoveil.budget import Charges\n"
        "ledger = gv.Ledger(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "try:\n"
        "    while True: Charges.of(ledger).charge(['ann'], gv.CGP(rho='1e-9'), query='points')\n"
        "except gv.errors.LedgerUnavailable as problem: print(problem)\n"
    )
    path = tmp_path / "budget.db"
    Ledger(path).create("ann", rho=1)
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=120)
    assert "Nothing was released" in done.stdout, done.stderr
    import resource

    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 200_000
    assert Ledger(path).verify() > 1


def test_unusable_ledgers(tmp_path: Path) -> None:
    """Not a database, not a folder, another version, a wrong key, no server."""
    (tmp_path / "text.db").write_text("nothing of the kind" * 100)
    for bad in (tmp_path / "text.db", tmp_path / "none" / "budget.db", tmp_path):
        with pytest.raises(LedgerUnavailable):
            Ledger(bad)
    with pytest.raises(LedgerUnavailable, match=r"(?s)cannot be used.*Is the server running\?"):
        Ledger("postgresql://nobody@127.0.0.1:1/none", timeout=30)
    path = tmp_path / "budget.db"
    Ledger(path, secret=KEY).close()
    for key, told in (
        (None, "was created with a secret"),
        (b"another key of sixteen bytes", "with another secret"),
    ):
        with pytest.raises(LedgerUnavailable, match=told):
            Ledger(path, secret=key)
    Ledger(tmp_path / "without.db").close()
    with pytest.raises(LedgerUnavailable, match="was created without a secret"):
        Ledger(tmp_path / "without.db", secret=KEY)
    with pytest.raises(InvalidParameter, match="at least 16 bytes"):
        Ledger(tmp_path / "b.db", secret=b"short")
    with sqlite3.connect(path) as store:
        store.execute("UPDATE geoveil_ledger SET version = 99")
    store.close()
    with pytest.raises(LedgerUnavailable, match="version 99"):
        Ledger(path, secret=KEY)


def test_read_only_releases_nothing(tmp_path: Path) -> None:
    """A read-only ledger is refused with a clear error before anything is drawn."""
    path = tmp_path / "budget.db"
    ledger = Ledger(path)
    ledger.create("ann", rho=1)
    connection_of(ledger).execute("PRAGMA query_only=1")
    with pytest.raises(LedgerUnavailable, match="readonly"):
        charge(ledger, "ann")
    assert Ledger(path).account("ann").spent == 0


@pytest.mark.slow
def test_locked_ledger_waits(place: str) -> None:
    """A locked ledger is waited for. For as long as was said, and then with a typed error."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    other = Ledger(place)
    with ledger._book.writing(), impatient(other), pytest.raises(LedgerTimeout, match="Nothing was charged"):
        charge(other, "ann")
    assert other.account("ann").spent == 0
    charge(other, "ann")
    assert ledger.account("ann").spent == Decimal("1e-6")


def test_database_restart_loses_nothing() -> None:
    """A database that restarts loses nothing.

    In the middle of a transaction: an error, nothing charged; then it goes on.
    """
    place = database(f"restart{os.getpid()}")
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"

    def interrupted() -> None:
        import psycopg

        with ledger._book.writing(["ann"]) as (transaction, journal):
            with psycopg.connect(place, autocommit=True) as other:
                other.execute(ends + " AND datname = current_database()")
            journal.add("charge", COST, [("ann", "0.000001")])
            journal.write(transaction)

    with pytest.raises(LedgerUnavailable, match="Nothing was released"):
        interrupted()
    assert ledger.account("ann").spent == 0
    charge(ledger, "ann")
    assert ledger.verify() == 2
    assert server() is not None


def test_wrong_clocks_stop_nothing(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are ordered by their numbers; their times are what the clock said."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    kind = type(ledger._book.store)
    plain = kind._begin
    said = iter(["2999-01-01T00:00:00.000000+00:00", "1970-01-01T00:00:00.000000+00:00"])

    def begin(*args: Any, **more: Any) -> Any:
        transaction = plain(*args, **more)
        transaction.clock = f"'{next(said)}'"  # type: ignore[misc]
        return transaction

    with monkeypatch.context() as patched:
        patched.setattr(kind, "_begin", begin)
        charge(ledger, "ann")
        charge(ledger, "ann")
    charge(ledger, "ann")
    assert [line["time"][:4] for line in ledger.statement("ann")][1:3] == ["2999", "1970"]
    assert [line["number"] for line in ledger.statement("ann")] == [1, 2, 3, 4]
    assert ledger.verify() == 4


def test_interruption_stops_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that shared a commit with it are charged nevertheless."""
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    problems: list[BaseException] = []
    entered, go = threading.Event(), threading.Event()
    plain = journals.Journal.write

    def interrupted(journal: Any, transaction: Any) -> None:
        monkeypatch.setattr(journals.Journal, "write", plain)
        entered.set()
        go.wait(60)
        raise KeyboardInterrupt

    def work() -> None:
        try:
            charge(ledger, "ann")
        except BaseException as problem:
            problems.append(problem)

    monkeypatch.setattr(journals.Journal, "write", interrupted)
    threads = [threading.Thread(target=work) for _ in range(4)]
    threads[0].start()
    assert entered.wait(60)
    for thread in threads[1:]:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(60)
    assert [type(problem) for problem in problems] == [KeyboardInterrupt]
    assert ledger.account("ann").spent == Decimal("3e-6")
    assert ledger.verify() == 4


@pytest.mark.parametrize("ending", ["raise SystemExit", "raise KeyboardInterrupt", "raise GeneratorExit"])
def test_own_functions_pay_always(place: str, ending: str) -> None:
    """Functions of the user's own see the data once for each charge.

    However a user's function ends, its attempt is spent, and another function is charged anew.
    """
    ledger = Ledger(place)
    ledger.create("ann", rho="1e-5")
    session = gv.Locations(WALK).session(ledger=ledger, subject="ann")
    looks = 0

    def leave(x: Any) -> float:
        nonlocal looks
        looks += 1
        exec(ending)
        return 0.0

    def ask() -> None:
        session.answer(leave, lipschitz=1, rho="1e-6", key="k")

    for turn in range(10):
        with pytest.raises(BaseException) as left:  # noqa: PT011
            ask()
        assert not isinstance(left.value, Exception)
        assert looks == turn + 1
        assert ledger.account("ann").spent == Decimal("1e-6") * looks
    with pytest.raises(BudgetExceeded):
        ask()
    assert looks == 10
    assert ledger.verify() == 11


LEAVING = """
import os, signal, sys
import numpy as np
import geoveil as gv
session = gv.Locations(np.zeros((3, 2))).session(ledger=gv.Ledger(sys.argv[1]), subject="ann")
def leave(x):
    if sys.argv[2] == "exit": os._exit(0)
    if sys.argv[2] == "kill": os.kill(os.getpid(), signal.SIGKILL)
    return 1.0
print(session.answer(leave, lipschitz=1, rho="1e-6", key="k").value)
"""


@pytest.mark.slow
def test_exiting_functions_pay(place: str) -> None:
    """`os._exit` and `kill -9` are no way around a charge, and the answer that comes at last is stored."""
    ledger = Ledger(place)
    ledger.create("ann", rho="1e-5")
    ledger.close()
    for turn, way in enumerate(("exit", "kill", "answer", "answer"), start=1):
        command = [sys.executable, "-c", LEAVING, place, way]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert bool(done.stdout) == (way == "answer"), done.stderr
        assert ledger.account("ann").spent == Decimal("1e-6") * min(turn, 3)
    assert ledger.verify() == 5


@pytest.mark.slow
@pytest.mark.parametrize("problem", [KeyboardInterrupt, SystemExit, RuntimeError])
@pytest.mark.parametrize("where", ["progress", "draw"])
def test_interrupted_questions_are_spent(
    place: str, where: str, problem: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Built-in questions too, by a callback or anywhere; the answer that is drawn later verifies."""
    ledger = Ledger(place)
    ledger.create("a", "b", rho="1")

    def interrupt(*_: Any) -> None:
        raise problem

    opened: dict[str, Any] = {"person": np.repeat(["a", "b"], 10), "ledger": ledger, "label": "walk"}
    with monkeypatch.context() as patched:
        if where == "draw":
            patched.setattr("geoveil.answering.pipeline.ManyPersons.draw", interrupt)
        with pytest.raises(problem):
            session_of(WALK, progress=interrupt if where == "progress" else None, **opened).hull(rho="1e-6")
    release = session_of(WALK, **opened).hull(rho="1e-6")
    assert ledger.account("a").spent == Decimal("2e-6")
    assert ledger.verify([release.certificate()]) == 4
    again = session_of(WALK[::-1], **opened).hull(rho="1e-6")
    assert again.certificate() == release.certificate()
