"""The write-ahead log of a ledger in a file: it is flushed once for each charge, and there is never a second one."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path

import pytest

from geoveil.budget import Ledger, sqlite_store
from geoveil.budget.sqlite_store import SQLite
from geoveil.errors import BudgetExceeded, LedgerError, LedgerTampered, LedgerUnavailable
from tests.budget.test_stores import mounted, read_only
from tests.ledgers import COST, charge
from tests.systems import POSIX

pytestmark = POSIX

#: Charges ann as often as asked, says so, and keeps the ledger open until its input ends.
CHARGING = """
import sys
from geoveil import CGP, Ledger
from geoveil.budget import Charges
ledger = Ledger(sys.argv[1])
for _ in range(int(sys.argv[2])):
    Charges.of(ledger).charge(["ann"], CGP(rho="1e-6"), query="points")
print("charged", flush=True)
sys.stdin.read()
ledger.close()
"""


@pytest.fixture(autouse=True)
def _local(tmp_path: Path) -> None:
    """Skip the test where temporary files are in a layer of a container or on a network, which have no log."""
    if not sqlite_store._is_local(tmp_path):
        pytest.skip("the file system of temporary files has no write-ahead log")


@pytest.fixture
def budget(tmp_path: Path) -> Path:
    """A ledger in a file, with room for 50 charges."""
    (tmp_path / "one").mkdir()
    with Ledger(tmp_path / "one" / "budget.db") as ledger:
        ledger.create("ann", rho="5e-5")
    return tmp_path / "one" / "budget.db"


@contextmanager
def charging(path: Path, count: int = 20, *, kill: bool = False) -> Iterator[None]:
    """Charge in another process, which has the ledger open within the block; then let it end, or kill it before."""
    command = [sys.executable, "-c", CHARGING, str(path), str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "charged\n"
        if kill:
            process.kill()
            process.wait()
        yield


def log_of(path: Path) -> Path:
    """The write-ahead log of a file."""
    return path.with_name(f"{path.name}-wal")


def test_many_charges_use_log(budget: Path, tmp_path: Path) -> None:
    """The ninth commit of a process goes into a log; when the ledger is closed, everything is in the file."""
    ledger = Ledger(budget)
    for _ in range(sqlite_store._COMMITS):
        charge(ledger, "ann")
    assert not log_of(budget).exists()
    charge(ledger, "ann")
    assert log_of(budget).stat().st_size > 0
    ledger.close()
    assert not log_of(budget).exists()
    shutil.copy(budget, tmp_path / "copy.db")
    assert Ledger(tmp_path / "copy.db").account("ann").spent == (sqlite_store._COMMITS + 1) * COST.budget


def test_processes_share_one_log(budget: Path) -> None:
    """Charges of processes that have the ledger open at the same time add up; the last one switches back."""
    ledger = Ledger(budget)
    charge(ledger, "ann")
    with charging(budget):
        assert log_of(budget).exists()
        assert ledger.account("ann").spent == 21 * COST.budget
        charge(ledger, "ann")
    assert log_of(budget).exists()
    with charging(budget):
        for _ in range(8):
            charge(ledger, "ann")
        with pytest.raises(BudgetExceeded):
            charge(ledger, "ann")
    ledger.close()
    assert not log_of(budget).exists()
    assert Ledger(budget).verify() == 51


def rename(path: Path, folder: Path) -> Path:
    """Give the file another name."""
    return path.rename(path.with_name("other.db"))


def move(path: Path, folder: Path) -> Path:
    """Move the file into another folder."""
    return path.rename(folder / path.name)


def move_both(path: Path, folder: Path) -> Path:
    """Move the file and its log into another folder."""
    log_of(path).rename(folder / log_of(path).name)
    return path.rename(folder / path.name)


def copy(path: Path, folder: Path) -> Path:
    """Copy the file alone."""
    return Path(shutil.copy(path, folder))


def copy_back(path: Path, folder: Path) -> Path:
    """Exchange the file for a copy of it."""
    shutil.copy(path, folder)
    return (folder / path.name).replace(path)


def copy_all(path: Path, folder: Path) -> Path:
    """Copy the folder."""
    return Path(shutil.copytree(path.parent, folder / "all")) / path.name


@pytest.mark.slow
@pytest.mark.parametrize("how", [rename, move, move_both, copy, copy_back, copy_all])
def test_separated_logs_are_refused(how: Callable[[Path, Path], Path], budget: Path, tmp_path: Path) -> None:
    """After a crash, a ledger that was moved or copied is not charged, not read, and restored with proof only."""
    (tmp_path / "two").mkdir()
    with charging(budget, kill=True):
        found = how(budget, tmp_path / "two")
    for _ in range(2):
        with pytest.raises(LedgerUnavailable, match=r"moved, copied or mounted.*budget.db-wal"):
            Ledger(found)
    if how is not move_both:
        assert log_of(budget).stat().st_size > 0
    with pytest.raises(LedgerTampered, match="unknown what was charged"):
        Ledger.restore(found, tmp_path / "new.db")
    with Ledger.restore(found, tmp_path / "new.db", write_off="the log is lost") as restored:
        assert restored.account("ann").remaining == 0


@pytest.mark.parametrize("how", [rename, move, move_both])
def test_moved_back_ledgers_continue(how: Callable[[Path, Path], Path], budget: Path, tmp_path: Path) -> None:
    """A ledger that is moved back to its log after a crash goes on, and can be moved when it was closed."""
    (tmp_path / "two").mkdir()
    with charging(budget, kill=True):
        found = how(budget, tmp_path / "two")
    with pytest.raises(LedgerUnavailable, match="Move it back"):
        Ledger(found)
    if how is move_both:
        log_of(found).replace(log_of(budget))
    found.rename(budget)
    with Ledger(budget) as ledger:
        assert ledger.account("ann").spent == 20 * COST.budget
    with Ledger(move(budget, tmp_path / "two")) as ledger:
        for _ in range(30):
            charge(ledger, "ann")
        with pytest.raises(BudgetExceeded):
            charge(ledger, "ann")


def test_moved_folders_keep_log(budget: Path, tmp_path: Path) -> None:
    """After a crash, a folder can be moved with the ledger and its log."""
    with charging(budget, kill=True):
        budget.parent.rename(tmp_path / "two")
    assert Ledger(tmp_path / "two" / "budget.db").account("ann").spent == 20 * COST.budget


def test_lost_logs_are_noticed(budget: Path) -> None:
    """A log that is deleted while it is in use is noticed before the next charge."""
    ledger = Ledger(budget)
    for _ in range(10):
        charge(ledger, "ann")
    for path in (log_of(budget), budget.with_name("budget.db-shm")):
        path.rename(budget.with_name("elsewhere"))
        with pytest.raises(LedgerUnavailable, match="last charges are there"):
            charge(ledger, "ann")
        budget.with_name("elsewhere").rename(path)
        charge(ledger, "ann")
    assert ledger.verify() == 13


@pytest.mark.skipif(not shutil.which("mount") or sys.platform != "linux", reason="bind mounts are Linux's")
def test_second_paths_share_log(budget: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is mounted alone is refused by its home, also where nothing tells that it is mounted."""
    (tmp_path / "two").mkdir()
    second = tmp_path / "two" / "budget.db"
    second.touch()
    monkeypatch.setattr(sqlite_store, "_is_mounted", lambda path: False)
    with mounted(budget, second):
        early = Ledger(second)
        charge(early, "ann")
        with charging(budget):
            with pytest.raises(LedgerUnavailable, match="moved, copied or mounted"):
                charge(early, "ann")
            with pytest.raises(LedgerUnavailable, match="moved, copied or mounted"):
                Ledger(second)
        # The other path has switched back when it was closed: everything is in the file.
        assert early.account("ann").spent == 21 * COST.budget
        early.close()
    assert Ledger(budget).verify() == 22


@pytest.mark.skipif(not shutil.which("mount") or sys.platform != "linux", reason="bind mounts are Linux's")
def test_mounted_folders_share_log(budget: Path, tmp_path: Path) -> None:
    """A folder that is mounted at two places, as in two containers, has one ledger with one log."""
    (tmp_path / "two").mkdir()
    with Ledger(budget) as ledger, mounted(budget.parent, tmp_path / "two"):
        for _ in range(10):
            charge(ledger, "ann")
        with charging(tmp_path / "two" / "budget.db"):
            assert ledger.account("ann").spent == 30 * COST.budget
        with charging(tmp_path / "two" / "budget.db"), pytest.raises(BudgetExceeded):
            charge(ledger, "ann")
        assert ledger.verify() == 51


def test_logs_are_readable_read_only(budget: Path) -> None:
    """A reader who may not write sees the charges that another process has in its log."""
    with charging(budget), read_only(budget.parent), Ledger(budget) as ledger:
        assert ledger.account("ann").spent == 20 * COST.budget
        assert ledger.verify() == 21
        with pytest.raises(LedgerError, match="Nothing was charged"):
            charge(ledger, "ann")


def mounts(path: Path, system: str, monkeypatch: pytest.MonkeyPatch, listing: Path) -> None:
    """Let the system say that a folder is a mount point of a kind of file system."""
    line = "36 35 98:0 / {} rw,noatime master:1 - {} /dev/root rw\n"
    listing.write_text(line.format("/", "ext4") + line.format(path, "tmpfs") + line.format(path, system))
    monkeypatch.setattr(sqlite_store, "_MOUNTS", listing)


@pytest.mark.parametrize("system", ["nfs4", "cifs", "9p", "fuse.sshfs", "virtiofs", "unheard-of"])
def test_shared_systems_have_no_log(
    system: str, budget: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file system that machines may share, a ledger keeps its rollback journal."""
    mounts(budget.parent, system, monkeypatch, tmp_path / "mounts")
    ledger = Ledger(budget)
    for _ in range(20):
        charge(ledger, "ann")
    assert not log_of(budget).exists()
    with closing(sqlite3.connect(budget)) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_machines_share_no_log(budget: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger whose log is in use on one machine is refused where its file system is shared with others."""
    ledger = Ledger(budget)
    charge(ledger, "ann")
    ledger.close()
    mounts(budget.parent, "nfs4", monkeypatch, tmp_path / "mounts")
    charge(ledger, "ann")
    with charging(budget):
        for act in (lambda: charge(ledger, "ann"), lambda: Ledger(budget)):
            with pytest.raises(LedgerUnavailable, match="on another machine"):
                act()
    charge(ledger, "ann")
    assert ledger.verify() == 24


def test_foreign_logs_are_switched(budget: Path) -> None:
    """A ledger that another program has given a write-ahead log gets its rollback journal again."""
    with closing(sqlite3.connect(budget)) as other:
        assert other.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
    with Ledger(budget) as ledger:
        charge(ledger, "ann")
    with closing(sqlite3.connect(budget)) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_failed_switches_cost_nothing(budget: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the file cannot be switched to a log, because others read it, charges go on with the rollback journal."""
    monkeypatch.setattr(sqlite_store, "_COMMITS", 2)
    ledger = Ledger(budget)
    plain = SQLite._use_log
    switches: list[bool] = []

    def blocked(store: SQLite, connection: sqlite3.Connection) -> None:
        with closing(sqlite3.connect(budget, isolation_level=None)) as reader:
            if len(switches) < 2:
                reader.execute("BEGIN")
                reader.execute("SELECT * FROM geoveil_head").fetchall()
            switches.append(log_of(budget).exists())
            plain(store, connection)

    monkeypatch.setattr(SQLite, "_use_log", blocked)
    for _ in range(10):
        charge(ledger, "ann")
    assert switches == [False, False, False]
    assert log_of(budget).exists()
    assert ledger.verify() == 11


#: Charges in forks that are killed before or after one statement of SQLite, a later one in each turn.
KILLED = """
import os, signal, sqlite3, sys
from decimal import Decimal
import geoveil as gv
from geoveil.budget import Charges

path, plain, points = sys.argv[1], sqlite3.connect, [0, 0]

def between(name):
    def call(self, *given, **named):
        for moment in range(2):
            points[0] += 1
            if points[0] == points[1]:
                os.kill(os.getpid(), signal.SIGKILL)
            if moment == 0:
                found = getattr(sqlite3.Connection, name)(self, *given, **named)
        return found
    return call

Counted = type("Counted", (sqlite3.Connection,), {name: between(name) for name in ("execute", "executemany", "close")})
kind = gv.CGP(rho="1e-6")
ended, turn, before = False, 0, 0
while not ended:
    turn += 1
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        sqlite3.connect = lambda *given, **named: plain(*given, **{**named, "factory": Counted})
        points[1] = 1 + 4 * turn
        with gv.Ledger(path) as ledger:
            for _ in range(11):
                Charges.of(ledger).charge(["ann"], kind, query="points")
                os.write(writing, b".")
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as told:
        heard = len(told.read())
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), (turn, status)
    ended = status == 0
    # A crash leaves the log to the next process; every other turn closes it.
    ledger = gv.Ledger(path)
    entries = ledger.verify() - 1
    assert before + heard <= entries <= before + heard + 1, (turn, before, heard, entries)
    assert ledger.account("ann").spent == entries * Decimal("1e-6")
    before = entries
    ledger.close()
print(turn)
"""


@pytest.mark.slow
def test_log_crashes_lose_nothing(tmp_path: Path) -> None:
    """Killed at any statement of the way into the log, within it and out of it, a ledger has every charge once."""
    path = tmp_path / "budget.db"
    with Ledger(path) as ledger:
        ledger.create("ann", rho=1)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, path], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30
    assert Ledger(path).verify() > 300


#: Forks while the ledger is in the log, and charges in both processes.
FORKING = """
import os, sys
from geoveil import CGP, Ledger, errors
from geoveil.budget import Charges
from tests.prefork import fork_in_c

ledger, cost = Ledger(sys.argv[1]), CGP(rho="1e-6")

def charge(count):
    for _ in range(count):
        Charges.of(ledger).charge(["ann"], cost, query="points")

charge(10)
child = os.fork() if sys.argv[2] == "python" else fork_in_c()
if not child:
    try:
        charge(10)
        Ledger(sys.argv[1]).account("ann").remaining
    except errors.LedgerUnavailable as problem:
        print(problem, flush=True)
    os._exit(0)
charge(10)
assert os.waitpid(child, 0)[1] == 0
charge(10)
print(ledger.verify() - 1)
"""


@pytest.mark.parametrize(("fork", "entries"), [("python", 40), ("c", 30)])
def test_forks_have_own_locks(fork: str, entries: int, budget: Path) -> None:
    """A fork charges with a connection of its own; one that Python does not know of is refused while a log is used."""
    command = [sys.executable, "-c", FORKING, str(budget), fork]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    *refusals, found = done.stdout.splitlines()
    assert int(found) == entries
    assert [("was forked" in line) for line in refusals] == ([] if fork == "python" else [True])
    assert Ledger(budget).account("ann").spent == entries * Decimal("1e-6")
