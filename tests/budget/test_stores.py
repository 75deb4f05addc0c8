"""Stores of a ledger: one file has one path, time limits are kept, and readers need no right to write."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

import geoveil as gv
from geoveil.budget import Charges, Ledger, history, stores
from geoveil.budget.history import Replay
from geoveil.budget.postgres_store import Postgres
from geoveil.budget.sqlite_store import SQLite
from geoveil.cli import budgets
from geoveil.cli.program import main
from geoveil.errors import BudgetExceeded, LedgerError, LedgerTimeout, LedgerUnavailable
from tests.ledgers import charge, connection_of, in_processes
from tests.patience import impatient
from tests.postgres import database, restart
from tests.systems import POSIX

HALF = gv.CGP(rho="5e-4")


@pytest.fixture
def budget(tmp_path: Path) -> Path:
    """A ledger in a file, with room for two charges."""
    (tmp_path / "kept").mkdir()
    with Ledger(tmp_path / "kept" / "budget.db") as ledger:
        ledger.create("ann", rho="1e-3")
    return tmp_path / "kept" / "budget.db"


def spend(path: Path) -> int:
    """Charge until the ledger refuses; return how often it did not."""
    with Ledger(path) as ledger:
        for count in range(4):
            try:
                charge(ledger, "ann", cost=HALF)
            except BudgetExceeded:
                return count
    return 4


def test_stores_by_location() -> None:
    """A path is a file, a connection string a database."""
    assert isinstance(stores.open_store("postgresql://host/db", 1), Postgres)
    assert isinstance(stores.open_store("host=x dbname=y", 1), Postgres)
    assert isinstance(stores.open_store("budget.db", 1), SQLite)


def test_hard_links_are_refused(budget: Path, tmp_path: Path) -> None:
    """A hard link is a second path to the file: it is noticed when it is opened, and while it is in use."""
    ledger = Ledger(budget)
    charge(ledger, "ann", cost=HALF)
    os.link(budget, tmp_path / "other.db")
    for path in (budget, tmp_path / "other.db"):
        with pytest.raises(LedgerUnavailable, match="hard links"):
            Ledger(path)
    with pytest.raises(LedgerUnavailable, match="hard links"):
        charge(ledger, "ann", cost=HALF)
    (tmp_path / "other.db").unlink()
    assert ledger.account("ann").spent == HALF.budget
    charge(ledger, "ann", cost=HALF)
    assert ledger.verify() == 3


def test_locks_ignore_paths(budget: Path, tmp_path: Path) -> None:
    """Someone who gets around the refusal still cannot overspend: the charges of one path are seen by the other."""
    one = Ledger(budget)
    charge(one, "ann", cost=HALF)
    os.link(budget, tmp_path / "other.db")
    with sqlite3.connect(tmp_path / "other.db") as other:
        assert other.execute("SELECT spent FROM geoveil_accounts").fetchone() == ("0.0005",)
        assert other.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    other.close()


@contextmanager
def mounted(what: Path, where: Path) -> Iterator[None]:
    """Mount a file or a folder at a second place, as containers do."""
    done = subprocess.run(["mount", "--bind", what, where], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"bind mounts take the rights of an administrator: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", where], check=True)


@pytest.mark.skipif(not shutil.which("mount") or sys.platform != "linux", reason="bind mounts are Linux's")
@pytest.mark.parametrize("name", ["budget.db", "a b\\c.db"])
def test_mounted_files_are_refused(tmp_path: Path, name: str) -> None:
    """A file that is mounted alone is refused, as its journal would lie elsewhere; a mounted folder is fine."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    path, second = tmp_path / "one" / name, tmp_path / "two" / name
    ledger = Ledger(path)
    ledger.create("ann", rho="1e-3")
    charge(ledger, "ann", cost=HALF)
    second.touch()
    with mounted(path, second), pytest.raises(LedgerUnavailable, match="Mount the folder"):
        Ledger(second)
    with mounted(tmp_path / "one", tmp_path / "two"):
        assert spend(second) == 1
    with pytest.raises(BudgetExceeded):
        charge(ledger, "ann", cost=HALF)
    assert ledger.verify() == 3


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_foreign_databases_are_untouched(journal: str, tmp_path: Path) -> None:
    """A GeoPackage that is given as a ledger by mistake is refused, and not a byte of it changes."""
    path = tmp_path / "stops.gpkg"
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA journal_mode={journal}")
        other.execute("CREATE TABLE gpkg_contents (table_name TEXT)")
        other.commit()
    before = path.read_bytes()
    with pytest.raises(LedgerUnavailable, match=r"another program.*new file"):
        gv.Ledger(path)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["stops.gpkg"]


def test_symlinks_are_one_path(budget: Path, tmp_path: Path) -> None:
    """Symbolic links of files and folders lead to one ledger."""
    (tmp_path / "link.db").symlink_to(budget)
    (tmp_path / "folder").symlink_to(budget.parent)
    ledger = Ledger(tmp_path / "link.db")
    charge(ledger, "ann", cost=HALF)
    assert spend(tmp_path / "folder" / "budget.db") == 1
    assert ledger.account("ann").remaining == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "kept", "link.db"]


@pytest.mark.parametrize("how", ["replaced", "deleted", "moved", "folder moved"])
def test_vanished_files_are_noticed(budget: Path, tmp_path: Path, how: str) -> None:
    """Nothing is charged to a file that nobody else will open, and no new one is made in its place."""
    ledger = Ledger(budget)
    charge(ledger, "ann", cost=HALF)
    shutil.copy(budget, tmp_path / "copy.db")
    if how == "replaced":
        (tmp_path / "copy.db").replace(budget)
    elif how == "deleted":
        budget.unlink()
    elif how == "moved":
        budget.rename(tmp_path / "elsewhere.db")
    else:
        budget.parent.rename(tmp_path / "elsewhere")
    for _ in range(2):
        with pytest.raises(LedgerUnavailable, match=r"replaced|moved or deleted"):
            charge(ledger, "ann", cost=HALF)
        ledger.close()
    assert budget.exists() == (how == "replaced")


def test_copies_have_every_charge(budget: Path, tmp_path: Path) -> None:
    """What is committed is in the file, not in another one beside it."""
    ledger = Ledger(budget)
    charge(ledger, "ann", cost=HALF)
    subprocess.run(["cp", budget, tmp_path / "copy.db"], check=True)
    assert Ledger(tmp_path / "copy.db").account("ann").spent == HALF.budget


def _opening(place: str, results: Any) -> None:
    try:
        results.put(Ledger(place).id)
    except LedgerError as problem:
        results.put(str(problem))


@pytest.mark.slow
def test_many_create_one_ledger(place: str) -> None:
    """Processes that create one ledger at once all open the same one, and none of them fails."""
    _, found = in_processes(_opening, place, processes=16)
    assert found == [Ledger(place).id] * 16


@pytest.fixture
def served(request: pytest.FixtureRequest) -> str:
    """The connection string of a new database."""
    return database(f"stores{os.getpid()}")


def run(place: str, *statements: str) -> list[Any]:
    """Run statements as an administrator; return the rows of the last one."""
    with psycopg.connect(place, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


@contextmanager
def frozen(process: int) -> Iterator[None]:
    """Stop a process for ten seconds, or until the end."""
    os.kill(process, signal.SIGSTOP)
    timer = threading.Timer(10, os.kill, (process, signal.SIGCONT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        os.kill(process, signal.SIGCONT)


@POSIX
@pytest.mark.slow
def test_frozen_servers_time_out(served: str) -> None:
    """A server that freezes is given up at the deadline.

    For a charge, for its store, and for reading; afterwards the ledger goes on.
    """
    ledger = Ledger(served)
    ledger.create("ann", rho=1)
    first = charge(ledger, "ann", key="k")
    for act in (
        lambda: charge(ledger, "ann"),
        lambda: Charges.of(ledger).store(first, "answer"),
        lambda: ledger.account("ann").remaining,
        ledger.verify,
    ):
        ledger.account("ann")
        backend = connection_of(ledger).info.backend_pid
        with impatient(ledger), frozen(backend), pytest.raises(LedgerTimeout, match="within the time limit"):
            act()
    Charges.of(ledger).store(first, "answer")
    assert ledger.verify() == 3


@POSIX
@pytest.mark.slow
def test_unanswered_commits_are_told(served: str) -> None:
    """A commit that is not answered is reported as such.

    Whether it was charged is not known, and the error does not claim otherwise.
    """
    ledger = Ledger(served)
    ledger.create("ann", rho=1)

    def frozen_at_commit() -> None:
        with ledger._book.store.transaction() as transaction:
            transaction.rows("SELECT 1")
            process = connection_of(ledger).info.backend_pid
            transaction.write("UPDATE geoveil_accounts SET spent = spent WHERE subject = ?", ("ann",))
            os.kill(process, signal.SIGSTOP)
            resumed.append(threading.Timer(10, os.kill, (process, signal.SIGCONT)))
            resumed[0].start()

    resumed: list[threading.Timer] = []
    with impatient(ledger, 2), pytest.raises(LedgerTimeout, match="whether it was charged is not known"):
        frozen_at_commit()
    resumed[0].cancel()
    resumed[0].function(*resumed[0].args)


@pytest.mark.slow
def test_silent_servers_time_out() -> None:
    """A server that accepts a connection and is silent is given up at the deadline."""
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(LedgerTimeout, match="within the time limit"):
        Ledger(f"postgresql://ann@127.0.0.1:{silent.getsockname()[1]}/db", timeout=0.5)


@pytest.mark.slow
def test_collected_connections_are_silent(served: str) -> None:
    """A connection that is collected before its store, as in a cycle of references, gives no warning."""
    ledger = Ledger(served)
    ledger.create("ann", rho=1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        # What other tests have left is collected first.
        gc.collect()
        told.clear()
        ledger._book.store._opened = None
        gc.collect()
    assert not told
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    patience = time.monotonic() + 60
    while run(served, others) != [(0,)]:
        assert time.monotonic() < patience
        time.sleep(0.01)


@pytest.mark.slow
def test_silent_holders_lose_lock(served: str) -> None:
    """A client that disappears within a transaction blocks others no longer than its own time limit."""
    ledger, silent = Ledger(served), Ledger(served)
    ledger.create("ann", rho=1)

    def overslept() -> None:
        with silent._book.store.transaction() as transaction:
            transaction.rows("SELECT 1 FROM geoveil_head WHERE one = 1 FOR UPDATE")
            charge(ledger, "ann")  # waits for the one that sleeps

    with impatient(silent, 2), pytest.raises(LedgerTimeout, match="Nothing was charged"):
        overslept()
    assert ledger.account("ann").spent == Decimal("1e-6")
    assert silent.verify() == 2


@pytest.mark.slow
def test_restarted_servers_reconnect(served: str) -> None:
    """A ledger that was idle while its server restarted connects again."""
    ledger = Ledger(served)
    ledger.create("ann", rho=1)
    restart()
    charge(ledger, "ann")
    restart()
    assert ledger.account("ann").spent == Decimal("1e-6")
    restart()
    Charges.of(ledger).abandon(charge(ledger, "ann", key="k"))
    assert ledger.verify() == 3


@pytest.mark.slow
@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_stricter_isolation_is_fine(served: str, level: str) -> None:
    """A stricter default of the database changes nothing. Charges that wait for each other still see each other."""
    name = run(served, "SELECT current_database()")[0][0]
    run(
        served,
        f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'",
        f"ALTER DATABASE {name} SET default_transaction_read_only = on",
    )
    ledger = Ledger(served)
    ledger.create("ann", rho="16e-6")
    _, found = in_processes(_charge_twice, served, processes=10)
    assert sum(found) == 16
    assert ledger.verify() == 17


def _charge_twice(place: str, results: Any) -> None:
    ledger, count = Ledger(place), 0
    for _ in range(2):
        try:
            charge(ledger, "ann")
        except BudgetExceeded:
            continue
        count += 1
    results.put(count)


def test_roles_need_few_rights(served: str) -> None:
    """Roles need no more rights than they use.

    To charge, those to read and write the tables; to look, those to read them.
    """
    ledger = Ledger(served)
    ledger.create("ann", rho=1)
    run(
        served,
        "DROP ROLE IF EXISTS writer",
        "DROP ROLE IF EXISTS reader",
        "CREATE ROLE writer LOGIN",
        "CREATE ROLE reader LOGIN",
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO writer",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader",
    )
    writer, reader = (Ledger(served.replace("postgres:@", f"{role}:@")) for role in ("writer", "reader"))
    writer.create("bob", rho=1)
    Charges.of(writer).abandon(charge(writer, "ann", "bob", key="k"))
    assert reader.account("ann").remaining == 1 - Decimal("1e-6")
    assert [line["event"] for line in reader.statement("bob")] == ["create", "charge"]
    assert [*reader.accounts()] == ["ann", "bob"]
    assert reader.verify() == 3
    with pytest.raises(LedgerUnavailable, match="permission denied"):
        charge(reader, "ann")
    for opened in (writer, reader):
        opened.close()
    run(served, "DROP OWNED BY writer, reader", "DROP ROLE writer", "DROP ROLE reader")


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Take the right to write into a folder away: by a mount from an administrator, by its mode from others."""
    if os.getuid():
        for path in (*folder.iterdir(), folder):
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield
        folder.chmod(0o755)
        return
    with mounted(folder, folder):
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        yield


@POSIX
def test_read_only_folders_are_readable(budget: Path) -> None:
    """A folder that may not be written to can be read.

    Accounts, statements and verification write nothing, and leave no file behind; charges are refused.
    """
    before = sorted((path.name, path.read_bytes()) for path in budget.parent.iterdir())
    with read_only(budget.parent):
        with pytest.raises(OSError, match=r"ead-only|denied"):
            (budget.parent / "new").touch()
        with Ledger(budget) as ledger:
            assert [*ledger.accounts()] == ["ann"]
            assert ledger.account("ann").spent == 0
            assert len(ledger.statement("ann")) == ledger.verify() == 1
            with pytest.raises(LedgerUnavailable, match="Nothing was charged or released"):
                charge(ledger, "ann", cost=HALF)
    assert sorted((path.name, path.read_bytes()) for path in budget.parent.iterdir()) == before


@pytest.mark.slow
def test_times_are_the_stores(place: str) -> None:
    """Times are those of the store.

    PostgreSQL's own clock, or this machine's for a file: UTC, with a time zone, whatever the session's is.
    """
    ledger = Ledger(place)
    if not place.endswith(".db"):
        name = run(place, "SELECT current_database()")[0][0]
        run(place, f"ALTER DATABASE {name} SET timezone = 'Asia/Kathmandu'")
    before = datetime.now(UTC)
    ledger.create("ann", rho=1)
    (line,) = ledger.statement("ann")
    said = datetime.fromisoformat(line["time"])
    assert said.utcoffset() == timedelta(0)
    # SQLite counts milliseconds.
    assert before - timedelta(seconds=1) < said < datetime.now(UTC) + timedelta(seconds=1)


def test_verification_blocks_nobody(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verification holds nobody up, and also verifies charges that are made meanwhile."""
    monkeypatch.setattr(history, "_AT_ONCE", 3)
    ledger, other = Ledger(place), Ledger(place, timeout=30)
    ledger.create("ann", rho=1)
    for _ in range(10):
        charge(ledger, "ann")
    plain, sizes = Replay.lines, []

    def lines(replay: Replay, some: Any) -> Any:
        sizes.append(len(some))
        if len(sizes) < 5:
            charge(other, "ann")
        return plain(replay, some)

    monkeypatch.setattr(Replay, "lines", lines)
    assert ledger.verify() == 15
    assert max(sizes) == 3


def test_first_accounts_are_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many accounts the first are shown. A table of all would take minutes; JSON has all of them."""
    monkeypatch.setattr(budgets, "_MOST", 3)
    path = str(tmp_path / "budget.db")
    with Ledger(path) as ledger:
        ledger.create(*(f"p{number}" for number in range(10)), rho=1)
    with pytest.raises(SystemExit):
        main(["budget", "show", path])
    told = capfd.readouterr().out
    assert "p2" in told
    assert "p3" not in told
    assert "and 7 more" in told
    with pytest.raises(SystemExit):
        main(["budget", "show", path, "--json"])
    assert len(json.loads(capfd.readouterr().out)) == 10


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "kind"), [(0.02, LedgerTimeout), (60, LedgerUnavailable)])
def test_late_losses_are_timeouts(served: str, seconds: float, kind: type[LedgerError]) -> None:
    """A connection lost after the deadline is a timeout.

    The server ends a session that was silent for too long, and the client may notice only that it is gone.
    """
    store = Ledger(served)._book.store
    deadline = time.monotonic() + seconds

    def lost() -> None:
        with store.transaction(deadline):
            time.sleep(0.03)
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    with pytest.raises(kind, match="Nothing was charged"):
        lost()
