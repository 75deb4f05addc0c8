"""The ledger: nothing that runs, crashes or runs twice exceeds a budget, and what was written stays written."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geoveil as gv
from geoveil.budget import Account, Charge, Ledger, leases
from geoveil.budget import journal as journals
from geoveil.budget.batching import Batching
from geoveil.budget.chain import link, secret_of
from geoveil.budget.history import COLUMNS
from geoveil.budget.reading import line_at, lines_after
from geoveil.budget.storable import digest
from geoveil.errors import (
    BudgetExceeded,
    IncompatibleGuarantees,
    InvalidParameter,
    LedgerError,
    LedgerTampered,
    LedgerTimeout,
    LedgerUnavailable,
)
from geoveil.processes import this_process
from tests.patience import impatient
from tests.postgres import database, server

KEY = b"a key of more than sixteen bytes"
COST = gv.CGP(rho="1e-6")
WALK = np.column_stack([np.arange(20) * 100.0, np.zeros(20)])
Place = Callable[[], str]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new ledger goes."""
    return str(tmp_path / "budget.db") if request.param == "sqlite" else database(f"test{os.getpid()}")


def charge(ledger: Ledger, *subjects: str, cost: gv.CGP = COST, **more: Any) -> Charge:
    """Charge some subjects."""
    return ledger.charge(list(subjects), cost, query="points", **more)


def test_an_account_is_kept(place: str) -> None:
    """Totals, what is spent and the history are there for whoever opens the ledger next."""
    ledger = Ledger(place)
    ledger.create("ann", rho="1e-4")
    ledger.create("bob", epsilon="0.1", metric="2")
    found = charge(ledger, "ann", cost=gv.CGP(rho="4e-5"), parameters={"k": 3}, release="r1")
    assert found.entry.number == 3
    with pytest.raises(BudgetExceeded) as refused:
        charge(ledger, "ann", cost=gv.CGP(rho="7e-5"))
    assert (refused.value.requested, refused.value.remaining) == (Decimal("7e-5"), Decimal("6e-5"))
    ledger.close()
    again = Ledger(place)
    assert again.id == ledger.id
    assert again.subjects() == ["ann", "bob"]
    assert again.spent("ann") + again.remaining("ann") == again.total("ann").budget == Decimal("1e-4")
    assert again.total("bob") == gv.GP(epsilon="0.1", metric="2")
    lines = again.statement("ann")
    assert [line["event"] for line in lines] == ["create", "charge"]
    assert (lines[1]["query"], json.loads(lines[1]["parameters"]), lines[1]["release"]) == ("points", {"k": 3}, "r1")
    assert again.verify() == 3


def test_what_enters_at_which_price(place: str) -> None:
    """ε-GP enters an account of ρ as ε²/2; nothing enters an account of ε but pure GP; metrics do not mix."""
    ledger = Ledger(place)
    ledger.create("rho", rho=1)
    ledger.create("epsilon", epsilon=1)
    ledger.charge(["rho"], gv.GP(epsilon="0.1"), query="points")
    assert ledger.spent("rho") == Decimal("0.005")
    ledger.charge(["epsilon"], gv.GP(epsilon="0.1"), query="points")
    assert ledger.spent("epsilon") == Decimal("0.1")
    for subject, cost in (
        ("epsilon", gv.CGP(rho="1e-4")),
        ("rho", gv.CGP(rho="1e-4", metric="2")),
        ("rho", gv.GP(epsilon="0.1", delta=1e-6, within=100)),
    ):
        with pytest.raises(IncompatibleGuarantees):
            ledger.charge([subject], cost, query="points")
    assert ledger.spent("rho") == Decimal("0.005")


@pytest.mark.slow
def test_ten_thousand_parts_are_the_whole(tmp_path: Path) -> None:
    """Charges of a total divided all pass, and the next is refused."""
    total = gv.CGP(rho=1) / 3
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=total)
    part = total / 1000
    names = [f"p{i}" for i in range(10)]
    for name in names:
        ledger.create(name, rho=total)
    for _ in range(1000):
        ledger.charge(["ann", *names], part, query="points")
    left = ledger.remaining("ann")
    assert 0 <= left < part.budget
    with pytest.raises(BudgetExceeded):
        ledger.charge(["ann"], part, query="points")
    account = Account(total)
    small = total / 10_000
    for _ in range(10_000):
        account.charge(small)
    with pytest.raises(BudgetExceeded):
        account.charge(small)


def test_all_or_none_are_charged_unless_some_are_skipped(place: str) -> None:
    """One person without budget stops a release about all, or is left out and listed."""
    ledger = Ledger(place)
    for name, rho in (("ann", "1e-4"), ("bob", "1e-7"), ("cy", "1e-4")):
        ledger.create(name, rho=rho)
    with pytest.raises(BudgetExceeded, match="of bob"):
        charge(ledger, "ann", "bob", "cy")
    assert ledger.spent("ann") == 0
    found = charge(ledger, "ann", "bob", "cy", short="skip")
    assert found.skipped == ("bob",)
    assert found.amounts == {"ann": Decimal("1e-6"), "cy": Decimal("1e-6")}
    assert [ledger.spent(name) for name in ("ann", "bob", "cy")] == [Decimal("1e-6"), 0, Decimal("1e-6")]
    assert ledger.verify() == 4


def test_many_people_are_charged_at_once(place: str) -> None:
    """In one transaction, with one line of the history."""
    ledger = Ledger(place)
    names = [f"p{i}" for i in range(12_000)]
    ledger.create(*names, rho=1)
    with pytest.raises(InvalidParameter, match=r"'p7'.*without an account"):
        ledger.create("new", "p7", rho=1)
    found = charge(ledger, *names)
    assert len(found.amounts) == 12_000
    assert set(ledger.balances(names).values()) == {1 - Decimal("1e-6")}
    assert [line["number"] for line in ledger.statement("p7")] == [1, 2]
    assert ledger.verify() == 2


def test_totals_are_lowered_and_raised_only_on_record(place: str) -> None:
    """A larger total takes an override with a reason."""
    ledger = Ledger(place)
    ledger.create("ann", rho="1e-4")
    ledger.lower("ann", rho="5e-5")
    with pytest.raises(InvalidParameter, match="at most"):
        ledger.lower("ann", rho="1e-4")
    with pytest.raises(InvalidParameter, match="reason"):
        ledger.override("ann", rho="1e-4", reason=" ")
    with pytest.raises(InvalidParameter, match="like the account"):
        ledger.lower("ann", epsilon="0.1")
    ledger.override("ann", rho="1e-4", reason="the board, 3 May")
    assert ledger.total("ann") == gv.CGP(rho="1e-4")
    assert [line["event"] for line in ledger.statement("ann")] == ["create", "lower", "override"]
    assert ledger.statement("ann")[2]["query"] == "the board, 3 May"
    with pytest.raises(InvalidParameter, match="without an account"):
        ledger.create("ann", rho=1)
    with pytest.raises(InvalidParameter, match="with an account"):
        charge(ledger, "nobody")


def test_a_key_is_charged_once(place: str) -> None:
    """What was stored comes back, for free, and nobody stores another answer under the same charge."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    first = charge(ledger, "ann", key="k")
    ledger.store(first, "answer")
    second = charge(ledger, "ann", key="k")
    assert (second.content, second.entry) == ("answer", first.entry)
    with pytest.raises(LedgerError, match="already stored"):
        ledger.store(first, "another")
    assert ledger.spent("ann") == Decimal("1e-6")
    assert ledger.verify() == 3


@pytest.mark.parametrize("key", ["k", None])
def test_an_attempt_without_an_answer_is_spent(place: str, key: str | None) -> None:
    """The next one is charged anew, and what the first one draws later is refused."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    half = charge(ledger, "ann", key=key, release="r1")
    ledger.abandon(half)
    again = charge(ledger, "ann", key=key, release="r2")
    assert (again.content, again.entry.number) == (None, 3)
    ledger.store(again, "mine")
    if key is not None:
        with pytest.raises(LedgerError, match="the charge is spent"):
            ledger.store(half, "late")
        assert charge(ledger, "ann", key=key).content == "mine"
    assert ledger.spent("ann") == Decimal("2e-6")
    assert ledger.verify() == 4


def _charging(place: str, count: int, threads: int, results: Any) -> None:
    ledger = Ledger(place)
    began = time.monotonic()
    done: list[float] = []

    def work() -> None:
        for _ in range(count):
            start = time.monotonic()
            try:
                charge(ledger, "ann")
            except BudgetExceeded:
                continue
            done.append(time.monotonic() - start)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    results.put((time.monotonic() - began, done))


def _updating(place: str, count: int, results: Any) -> None:
    """The same number of plain updates of one row."""
    if place.endswith(".db"):
        connection: Any = sqlite3.connect(place, timeout=60, isolation_level=None)
        connection.execute("PRAGMA synchronous=FULL")
        start = time.monotonic()
        for _ in range(count):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE yardstick SET n = n + 1")
            connection.execute("COMMIT")
    else:
        import psycopg

        connection = psycopg.connect(place, autocommit=True)
        start = time.monotonic()
        for _ in range(count):
            connection.execute("UPDATE yardstick SET n = n + 1")
    connection.close()
    results.put([time.monotonic() - start])


def in_processes(work: Callable[..., None], *given: Any, processes: int = 32) -> tuple[float, list[Any]]:
    """Seconds, and what all processes say."""
    # Processes that begin with what they need, and nothing of this one's.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["geoveil", "psycopg", "shapely", "flint", "scipy.special"])
    results = context.Queue()
    workers = [context.Process(target=work, args=(*given, results)) for _ in range(processes)]
    start = time.monotonic()
    for worker in workers:
        worker.start()
    found = [results.get(timeout=240) for _ in workers]
    for worker in workers:
        worker.join()
    return time.monotonic() - start, found


@pytest.mark.posix
@pytest.mark.slow
def test_processes_and_threads_that_charge_at_once_never_overspend(place: str) -> None:
    """Eight processes of 8 threads: no charge is lost, and the total is met to the last one."""
    ledger = Ledger(place)
    # Two of three get something.
    ledger.create("ann", rho=COST.rho * 128)
    ledger.close()
    _, found = in_processes(_charging, place, 3, 8, processes=8)
    done = [wait for _, waits in found for wait in waits]
    print(f"longest wait {max(done):.2f} s")
    assert len(done) == 128
    assert ledger.remaining("ann") == 0
    assert ledger.verify() == 129


def _asking(place: str, results: Any) -> None:
    ledger = Ledger(place)
    session = gv.Session(WALK, ledger=ledger, subject="ann", label="walk")
    release = session.points(rho="1e-5")
    results.put((release.id, release.value.tobytes(), release.certificate()["entry"]["number"]))


@pytest.mark.posix
@pytest.mark.slow
def test_processes_with_one_key_get_one_answer(place: str) -> None:
    """One charge, one draw, identical answers."""
    ledger = Ledger(place)
    ledger.create("ann", rho="1e-5")
    ledger.close()
    _, found = in_processes(_asking, place, processes=8)
    assert len(set(found)) == 1
    assert ledger.remaining("ann") == 0
    assert [line["event"] for line in ledger.statement("ann")] == ["create", "charge"]
    assert ledger.verify() == 3


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


LOOP = """
import sys
import numpy as np
import geoveil as gv
ledger = gv.Ledger(sys.argv[1])
session = gv.Session(np.zeros((3, 2)), ledger=ledger, subject="ann")
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
    assert ledger.spent("ann") == Decimal("1e-9") * len(charged)
    if keyed:
        assert len({key for key, _ in out}) == len(out)  # one answer for each question
        assert len(charged) <= len({line["key"] for line in charged}) + moments


@pytest.mark.posix
@pytest.mark.slow
@pytest.mark.parametrize("keyed", [False, True], ids=["unkeyed", "keyed"])
def test_a_crash_costs_budget_never_privacy(place: str, keyed: bool) -> None:
    """Every release that got out is in the ledger, one for each question with a key, and the ledger verifies."""
    killed(place, 2, seed=1, keyed=keyed)


@pytest.mark.posix
@pytest.mark.long
@pytest.mark.parametrize("keyed", [False, True], ids=["unkeyed", "keyed"])
def test_two_hundred_crashes(place: str, keyed: bool) -> None:
    """The same, two hundred times."""
    killed(place, 200, seed=2, keyed=keyed)


def test_a_full_disk_releases_nothing(tmp_path: Path) -> None:
    """A clear error; what was there stays, and the ledger goes on when there is room."""
    path = tmp_path / "budget.db"
    ledger = Ledger(path)
    ledger.create("ann", rho=1)
    with ledger._store.transaction() as transaction:
        pages = transaction.rows("PRAGMA page_count")[0][0]
    ledger._store._opened.execute(f"PRAGMA max_page_count={pages}")
    session = gv.Session(WALK, ledger=ledger, subject="ann")
    released: list[gv.Release] = []

    def go_on() -> None:
        for _ in range(200):
            released.append(session.points(rho="1e-9"))

    with pytest.raises(LedgerUnavailable, match=r"full.*Nothing was released"):
        go_on()
    assert ledger.spent("ann") >= Decimal("1e-9") * len(released)
    ledger.close()
    charged = [line for line in Ledger(path).statement("ann") if line["event"] == "charge"]
    assert ledger.spent("ann") == Decimal("1e-9") * len(charged)
    assert Ledger(path).verify() >= 1 + len(charged)


@pytest.mark.posix
@pytest.mark.slow
def test_files_that_may_not_grow(tmp_path: Path) -> None:
    """The operating system's limit on the size of files is noticed."""
    script = (
        "import resource, signal, sys, geoveil as gv\n"
        "ledger = gv.Ledger(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "try:\n"
        "    while True: ledger.charge(['ann'], gv.CGP(rho='1e-9'), query='points')\n"
        "except gv.errors.LedgerUnavailable as problem: print(problem)\n"
    )
    path = tmp_path / "budget.db"
    Ledger(path).create("ann", rho=1)
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=120)
    assert "Nothing was released" in done.stdout, done.stderr
    import resource

    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 200_000
    assert Ledger(path).verify() > 1


def test_ledgers_that_cannot_be_used(tmp_path: Path) -> None:
    """Not a database, not a folder, another version, a wrong key, no server."""
    (tmp_path / "text.db").write_text("nothing of the kind" * 100)
    for bad in (tmp_path / "text.db", tmp_path / "none" / "budget.db", tmp_path):
        with pytest.raises(LedgerUnavailable):
            Ledger(bad)
    with pytest.raises(LedgerUnavailable, match=r"(?s)cannot be used.*Is the server running\?"):
        Ledger("postgresql://nobody@127.0.0.1:1/none", timeout=30)
    path = tmp_path / "budget.db"
    Ledger(path, key=KEY).close()
    for key, told in (
        (None, "was created with a key"),
        (b"another key of sixteen bytes", "with another key"),
    ):
        with pytest.raises(LedgerUnavailable, match=told):
            Ledger(path, key=key)
    Ledger(tmp_path / "without.db").close()
    with pytest.raises(LedgerUnavailable, match="was created without a key"):
        Ledger(tmp_path / "without.db", key=KEY)
    with pytest.raises(InvalidParameter, match="at least 16 bytes"):
        Ledger(tmp_path / "b.db", key=b"short")
    with sqlite3.connect(path) as store:
        store.execute("UPDATE geoveil_ledger SET version = 99")
    store.close()
    with pytest.raises(LedgerUnavailable, match="version 99"):
        Ledger(path, key=KEY)


def test_a_read_only_ledger_releases_nothing(tmp_path: Path) -> None:
    """A clear error, before anything is drawn."""
    path = tmp_path / "budget.db"
    ledger = Ledger(path)
    ledger.create("ann", rho=1)
    ledger._store._opened.execute("PRAGMA query_only=1")
    with pytest.raises(LedgerUnavailable, match="readonly"):
        charge(ledger, "ann")
    assert Ledger(path).spent("ann") == 0


def test_a_locked_ledger_is_waited_for(place: str) -> None:
    """For as long as was said, and then with a typed error."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    other = Ledger(place)
    with ledger._writing(), impatient(other), pytest.raises(LedgerTimeout, match="Nothing was charged"):
        charge(other, "ann")
    assert other.spent("ann") == 0
    charge(other, "ann")
    assert ledger.spent("ann") == Decimal("1e-6")


def test_a_database_that_restarts_loses_nothing() -> None:
    """In the middle of a transaction: an error, nothing charged; then it goes on."""
    place = database(f"restart{os.getpid()}")
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"

    def interrupted() -> None:
        import psycopg

        with ledger._writing(["ann"]) as (transaction, journal):
            with psycopg.connect(place, autocommit=True) as other:
                other.execute(ends + " AND datname = current_database()")
            journal.add("charge", COST, [("ann", "0.000001")])
            journal.write(transaction)

    with pytest.raises(LedgerUnavailable, match="Nothing was released"):
        interrupted()
    assert ledger.spent("ann") == 0
    charge(ledger, "ann")
    assert ledger.verify() == 2
    assert server() is not None


def test_a_clock_that_is_wrong_stops_nothing(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are ordered by their numbers; their times are what the clock said."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    kind = type(ledger._store)
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


def edit(place: str, *statements: str) -> None:
    """What someone does who can edit the store."""
    if place.endswith(".db"):
        with sqlite3.connect(place) as store:
            for statement in statements:
                store.execute(statement)
        store.close()
        return
    import psycopg

    with psycopg.connect(place, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize("key", [None, KEY], ids=["unkeyed", "keyed"])
@pytest.mark.parametrize("name", [*EDITS, "reordered", "duplicated"])
def test_edits_are_noticed(place: str, key: bytes | None, name: str) -> None:
    """Of the history and of the accounts, with and without a key."""
    ledger = Ledger(place, key=key)
    ledger.create("ann", rho=1)
    for _ in range(4):
        charge(ledger, "ann")
    assert ledger.verify() == 5
    ledger.close()
    if name == "reordered":
        moves = [(3, -3), (4, 3), (-3, 4)]
        edit(place, *(f"UPDATE geoveil_history SET number = {b} WHERE number = {a}" for a, b in moves))
    elif name == "duplicated":
        copied = ", ".join((*COLUMNS[1:], "hash"))
        edit(
            place,
            f"INSERT INTO geoveil_history (number, {copied}) SELECT 6, {copied} FROM geoveil_history WHERE number = 5",
        )
    else:
        edit(place, EDITS[name])
    with pytest.raises(LedgerTampered):
        Ledger(place, key=key).verify()


@pytest.mark.parametrize("key", [None, KEY], ids=["unkeyed", "keyed"])
def test_a_chain_computed_anew(place: str, key: bytes | None) -> None:
    """Without a key it passes, unless a certificate says otherwise; with one it does not."""
    ledger = Ledger(place, key=key)
    ledger.create("ann", rho=1)
    session = gv.Session(WALK, ledger=ledger, subject="ann")
    certificates = [session.mean(rho="1e-6").certificate() for _ in range(2)]
    assert ledger.verify(certificates) == 5
    ledger.close()
    with ledger._store.reading() as transaction:
        lines = [line for line, _ in lines_after(transaction, 0)][:3]
    previous = "0" * 64
    tables = ("history", "postings", "answers")
    statements = [f"DELETE FROM geoveil_{table} WHERE number > 3" for table in tables]
    for line in lines:
        entry = {name: line[name] for name in COLUMNS}
        previous = link(previous, {**entry, "ledger": ledger.id})
        statements.append(f"UPDATE geoveil_history SET hash = '{previous}' WHERE number = {line['number']}")
    statements.append(f"UPDATE geoveil_head SET number = 3, hash = '{previous}'")
    statements.append("UPDATE geoveil_accounts SET spent = '0.000001'")
    ledger.close()
    edit(place, *statements)
    # Another process: this one remembers where the ledger ended.
    ledger = Ledger(place, key=key)
    if key is None:
        assert ledger.verify() == 3  # what the page says an unkeyed chain cannot tell
    else:
        with pytest.raises(LedgerTampered):
            ledger.verify()
    with pytest.raises(LedgerTampered):
        ledger.verify(certificates)


def test_certificates_of_other_ledgers_are_noticed(tmp_path: Path) -> None:
    """Each refers to its own."""
    one, other = (Ledger(tmp_path / name) for name in ("a.db", "b.db"))
    for ledger in (one, other):
        ledger.create("ann", rho=1)
    certificate = gv.Session(WALK, ledger=one, subject="ann").mean(rho="1e-6").certificate()
    with pytest.raises(LedgerTampered, match="another ledger"):
        other.verify([certificate])
    assert one.verify([certificate, gv.mean(WALK, rho=1e-6).certificate()]) == 3


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


@pytest.mark.posix
def test_a_forked_process_has_a_connection_of_its_own(place: str) -> None:
    """What a fork copies is the parent's."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    charge(ledger, "ann")
    child = os.fork()
    if child == 0:
        try:
            charge(ledger, "ann")
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    charge(ledger, "ann")
    assert ledger.spent("ann") == Decimal("3e-6")


@pytest.mark.parametrize("budget", [{"rho": "1e-6"}, {"epsilon": "0.001"}], ids=["CGP", "GP"])
def test_a_file_is_charged_for_everyone_in_it(tmp_path: Path, budget: dict[str, str]) -> None:
    """All or none; people without budget stop it, or are left out and listed; the ledger keeps a digest."""
    from tests.formats import make, people

    frame = people(n=40)
    path, told = make("wkb.parquet", tmp_path, frame)
    ledger = Ledger(tmp_path / "budget.db")
    for name, rho in (("u0", "1e-4"), ("u1", "1e-9"), ("u2", "1e-4")):
        ledger.create(f"taxi/{name}", rho=rho)
    how: dict[str, Any] = {**told, **budget, "ledger": ledger, "subject": "taxi"}
    with pytest.raises(BudgetExceeded, match="of taxi/u1"):
        gv.points_file(path, tmp_path / "out.parquet", **how)
    assert sorted(p.name for p in tmp_path.iterdir() if "out" in p.name) == []
    assert ledger.spent("taxi/u0") == 0
    release = gv.points_file(path, tmp_path / "out.parquet", short="skip", **how)
    assert release.removed.persons == ("taxi/u1",)
    loaded = gv.load(tmp_path / "out.parquet")
    kept = frame[frame.user != "u1"]
    assert loaded.value["user"].tolist() == kept["user"].tolist()
    assert loaded.value["time"].tolist() == kept["time"].tolist()
    assert loaded.by.tolist() == release.by.tolist()
    assert loaded.scale.tolist() == release.scale.tolist()
    assert ledger.spent("taxi/u0") > 0
    assert ledger.spent("taxi/u1") == 0
    assert ledger.verify([release.certificate()]) == 5
    note = json.dumps({"id": release.id, "sha256": release.digest})
    with ledger._store.reading() as transaction:
        assert json.loads(line_at(transaction, 5)["parameters"]) == {"charge": 4, "sha256": digest(note)}
        assert transaction.rows("SELECT content FROM geoveil_answers") == [(None,)]
    before = ledger.spent("taxi/u0")
    gv.points_file(path, tmp_path / "out.parquet", short="skip", **how)
    assert ledger.spent("taxi/u0") == 2 * before
    with pytest.raises(InvalidParameter, match="given with a ledger"):
        gv.points_file(path, tmp_path / "out.parquet", **{**how, "by": None, "subject": None})


def test_two_ledgers_of_one_process_do_not_draw_twice(place: str) -> None:
    """Whose turn it is is known to the whole process."""
    one, other = Ledger(place), Ledger(place)
    one.create("ann", rho=1)
    found = charge(one, "ann", key="k")
    with impatient(other), pytest.raises(LedgerTimeout):
        charge(other, "ann", key="k")
    one.store(found, "answer")
    assert charge(other, "ann", key="k").content == "answer"


def test_an_interruption_stops_one_thread_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert ledger.spent("ann") == Decimal("3e-6")
    assert ledger.verify() == 4


@pytest.mark.parametrize("ending", ["raise SystemExit", "raise KeyboardInterrupt", "raise GeneratorExit"])
def test_functions_of_the_users_own_see_the_data_once_for_each_charge(place: str, ending: str) -> None:
    """Whatever a function leaves by, its attempt is spent, and another function is charged anew."""
    ledger = Ledger(place)
    ledger.create("ann", rho="1e-5")
    session = gv.Session(WALK, ledger=ledger, subject="ann")
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
        assert ledger.spent("ann") == Decimal("1e-6") * looks
    with pytest.raises(BudgetExceeded):
        ask()
    assert looks == 10
    assert ledger.verify() == 11


LEAVING = """
import os, signal, sys
import numpy as np
import geoveil as gv
session = gv.Session(np.zeros((3, 2)), ledger=gv.Ledger(sys.argv[1]), subject="ann")
def leave(x):
    if sys.argv[2] == "exit": os._exit(0)
    if sys.argv[2] == "kill": os.kill(os.getpid(), signal.SIGKILL)
    return 1.0
print(session.answer(leave, lipschitz=1, rho="1e-6", key="k").value)
"""


@pytest.mark.slow
def test_functions_that_end_the_process_pay_each_time(place: str) -> None:
    """`os._exit` and `kill -9` are no way around a charge, and the answer that comes at last is stored."""
    ledger = Ledger(place)
    ledger.create("ann", rho="1e-5")
    ledger.close()
    for turn, way in enumerate(("exit", "kill", "answer", "answer"), start=1):
        command = [sys.executable, "-c", LEAVING, place, way]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert bool(done.stdout) == (way == "answer"), done.stderr
        assert ledger.spent("ann") == Decimal("1e-6") * min(turn, 3)
    assert ledger.verify() == 5


@pytest.mark.parametrize("problem", [KeyboardInterrupt, SystemExit, RuntimeError])
@pytest.mark.parametrize("where", ["progress", "draw"])
def test_questions_that_are_interrupted_are_spent(
    place: str, where: str, problem: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Built-in questions too, by a callback or anywhere; the answer that is drawn later verifies."""
    ledger = Ledger(place)
    ledger.create("a", "b", rho="1")

    def interrupt(*_: Any) -> None:
        raise problem

    opened: dict[str, Any] = {"by": np.repeat(["a", "b"], 10), "ledger": ledger, "label": "walk"}
    with monkeypatch.context() as patched:
        if where == "draw":
            patched.setattr("geoveil.answering.pipeline.ManyPersons.draw", interrupt)
        with pytest.raises(problem):
            gv.Session(WALK, progress=interrupt if where == "progress" else None, **opened).hull(rho="1e-6")
    release = gv.Session(WALK, **opened).hull(rho="1e-6")
    assert ledger.spent("a") == Decimal("2e-6")
    assert ledger.verify([release.certificate()]) == 4
    again = gv.Session(WALK[::-1], **opened).hull(rho="1e-6")
    assert again.certificate() == release.certificate()


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


@pytest.mark.parametrize(("amount", "told"), [("2", "more than was left"), ("0.0000001", "the price of the release")])
def test_a_charge_that_an_account_could_not_pay_is_noticed(place: str, amount: str, told: str) -> None:
    """Even if whoever wrote it knew the key and kept chain and accounts consistent."""
    ledger = Ledger(place, key=KEY)
    ledger.create("ann", rho=1)
    with ledger._writing(["ann"]) as (transaction, journal):
        journal.add("charge", gv.CGP(rho=2), [("ann", amount)], query="points")
        journal.spend({"ann": Decimal(amount)})
        journal.write(transaction)
    with pytest.raises(LedgerTampered, match=told):
        ledger.verify()


def test_keys_may_be_of_any_length(place: str) -> None:
    """As those of questions about many persons are, which hold all of their names."""
    names = [f"person {i}" for i in range(1500)]
    ledger = Ledger(place)
    ledger.create(*names, rho=1)
    x = np.zeros((len(names), 2))
    release = gv.Session(x, by=np.array(names), ledger=ledger, label="march").mean(rho="1e-6")
    again = gv.Session(x, by=np.array(names), ledger=ledger, label="march").mean(rho="1e-6")
    assert again.certificate() == release.certificate()
    rng = random.Random(5)
    for size in (1, 3000, 10**6):
        key = "".join(rng.choices("abcdefghij\x00\u20ac", k=size))
        found = charge(ledger, "person 7", key=key)
        ledger.store(found, "kept")
        assert charge(ledger, "person 7", key=key).content == "kept"
    assert ledger.verify([release.certificate()])


BAD: dict[str, Any] = {
    "key": ["\ud800", 7, b"k"],
    "query": ["\ud800", "a\x00b", None],
    "release": ["\udfff", "\x00", 1],
    "parameters": [{1: 2, "a": 3}, {"a": 10**5000}],
}


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
                    ledger.charge(["ann"], COST, **{"query": "points", name: bad})
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
    assert ledger.spent("ann") == Decimal("30e-6")
    for bad_name in ("a" * 501, "\udc00", "a\x00"):
        with pytest.raises(InvalidParameter, match=r"^subject"):
            charge(ledger, bad_name)
    with pytest.raises(InvalidParameter, match=r"^reason"):
        ledger.override("ann", rho=2, reason="\ud800")
    ledger.create("\U0001f600" * 500, rho=1)
    assert ledger.verify() == 32


def test_a_batch_that_fails_is_tried_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    (batching,) = ledger._batchings.values()
    while len(batching._queue) < 3:
        time.sleep(0.01)
    go.set()
    for thread in threads:
        thread.join(60)
    assert len(problems) == 1
    assert ledger.spent("ann") == Decimal("3e-6")
    assert ledger.verify() == 4


def test_threads_wait_for_a_held_ledger_together(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each until its own deadline, from the beginning of its call, and not one after the other."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    other = Ledger(place)
    deadlines: list[float] = []
    late: list[LedgerTimeout] = []
    plain = other._store.transaction

    def transaction(deadline: float | None = None) -> Any:
        assert deadline is not None
        deadlines.append(deadline)
        return plain(deadline)

    monkeypatch.setattr(other._store, "transaction", transaction)
    calls: list[float] = []
    served = Batching.served

    def serve(batching: Any, request: Any, deadline: float, commit: Any) -> Any:
        calls.append(deadline)
        return served(batching, request, deadline, commit)

    monkeypatch.setattr(Batching, "served", serve)

    def work() -> None:
        with pytest.raises(LedgerTimeout, match="Nothing was charged") as raised:
            charge(other, "ann")
        late.append(raised.value)

    threads = [threading.Thread(target=work) for _ in range(12)]
    with ledger._writing(), impatient(other, 0.5):
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


def test_a_charge_that_a_database_refuses_fails_alone(place: str) -> None:
    """Others that share its commit are charged, also if the database refuses only at the end."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    if place.endswith(".db"):
        refuse = "CREATE TRIGGER refuse BEFORE INSERT ON geoveil_history WHEN NEW.release = 'bad' "
        edit(place, refuse + "BEGIN SELECT RAISE(ABORT, 'refused'); END")
    else:
        edit(place, "ALTER TABLE geoveil_history ADD CHECK (release <> 'bad')")
    batching: Batching[Any, Charge] = ledger._batchings.setdefault(this_process(), Batching())
    problems: list[Exception] = []

    def work(release: str) -> None:
        try:
            charge(ledger, "ann", release=release)
        except LedgerUnavailable as problem:
            problems.append(problem)

    # As if someone else were committing, so that all four wait and then share a commit.
    batching._serving = True
    threads = [threading.Thread(target=work, args=(release,)) for release in ("good", "bad", "fine", "right")]
    for thread in threads:
        thread.start()
    while len(batching._queue) < 4:
        time.sleep(0.01)
    with batching._changed:
        batching._serving = False
        batching._changed.notify_all()
    for thread in threads:
        thread.join(60)
    assert len(problems) == 1
    assert ledger.spent("ann") == Decimal("3e-6")
    assert ledger.verify() == 4


def test_an_answer_that_is_asked_for_again_is_looked_up(tmp_path: Path) -> None:
    """By indexes, however long the history is."""
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
    """Its answer would be a second one for the same charge."""
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


@pytest.mark.parametrize("again", ["create", "lower"])
def test_accounts_that_were_set_back_on_record_are_noticed(place: str, again: str) -> None:
    """A line that opens an account again, or raises a total without an override, is none that a ledger writes."""
    ledger = Ledger(place, key=KEY)
    ledger.create("ann", rho=1)
    with ledger._writing(["ann"]) as (transaction, journal):
        journal.add(again, gv.CGP(rho=2), [("ann", "2")])
        journal.write(transaction)
        transaction.update("geoveil_accounts", "total", "subject", [("2", "ann")])
    with pytest.raises(LedgerTampered, match="Entry 2"):
        ledger.verify()


def test_a_key_in_the_environment_is_the_key_itself_or_a_file_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One variable is the key, another one names its file; a path is not taken for a key."""
    file = tmp_path / "ledger.key"
    file.write_bytes(KEY + b"\n")
    monkeypatch.setenv("GEOVEIL_LEDGER_KEY", KEY.decode())
    Ledger(tmp_path / "budget.db").close()
    for path in (file, tmp_path / "misspelt.key"):
        monkeypatch.setenv("GEOVEIL_LEDGER_KEY", str(path))
        with pytest.raises(InvalidParameter, match="GEOVEIL_LEDGER_KEY_FILE"):
            Ledger(tmp_path / "budget.db")
    monkeypatch.setenv("GEOVEIL_LEDGER_KEY_FILE", str(file))
    with pytest.raises(InvalidParameter, match="one of the two"):
        Ledger(tmp_path / "budget.db")
    monkeypatch.delenv("GEOVEIL_LEDGER_KEY")
    Ledger(tmp_path / "budget.db").close()
    monkeypatch.setenv("GEOVEIL_LEDGER_KEY_FILE", str(tmp_path / "none"))
    with pytest.raises(InvalidParameter, match="No such file"):
        Ledger(tmp_path / "budget.db")


@pytest.mark.parametrize("key", [b" \t thirty bytes of which some ", b"\n" * 17, bytes(range(32))])
def test_all_bytes_of_a_key_in_a_file_count(tmp_path: Path, key: bytes) -> None:
    """Only a newline at the end is left out, which editors add."""
    for name, end in (("plain", b"\n"), ("windows", b"\r\n")):
        (tmp_path / name).write_bytes(key + end)
        assert secret_of(tmp_path / name) == key


def test_a_key_is_not_repeated_in_messages() -> None:
    """A text is taken as the path of a file; the message about it may be about the key itself."""
    with pytest.raises(InvalidParameter) as refused:
        Ledger("budget.db", key="a secret of more than 16 bytes")  # type: ignore[arg-type]
    assert "secret" not in str(refused.value)


@pytest.mark.posix
def test_a_process_that_was_killed_holds_up_nobody(place: str) -> None:
    """Also while its parent has not noticed that it has ended."""
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
    """Its number means another process here, or none: it counts as alive until its lease is over."""
    told = json.loads(leases.owner_of("token"))
    elsewhere = {**told, "home": "another namespace", "process": 2**22 + 1}
    assert not leases.is_held(json.dumps({**elsewhere, "home": told["home"]}))
    assert leases.is_held(json.dumps(elsewhere))
    assert not leases.is_held(json.dumps({**elsewhere, "since": told["since"] - 601}))
    if sys.platform == "linux":
        assert "pid:[" in told["home"]
