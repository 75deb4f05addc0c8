"""Backups of a ledger, and witnesses: no charge is forgotten when a ledger is set back."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import geoveil as gv
from geoveil.budget import Charges, Ledger
from geoveil.budget import ledger as ledgers
from geoveil.budget.journal import Head, Witness
from geoveil.errors import BudgetExceeded, InvalidParameter, LedgerError, LedgerTampered, LedgerUnavailable
from tests.ledgers import KEY, charge, cut, edit
from tests.patience import impatient
from tests.postgres import database
from tests.systems import POSIX

pytestmark = pytest.mark.slow

restore = Ledger.restore
WALK = np.zeros((3, 2))


def released(ledger: Ledger, label: str | None = None) -> gv.Release:
    """Release something about ann."""
    release: gv.Release = gv.Locations(WALK).session(ledger=ledger, subject="ann", label=label).points(rho="1e-6")
    return release


@pytest.mark.parametrize("key", [None, KEY], ids=["unkeyed", "keyed"])
def test_backups_are_one_moment(tmp_path: Path, key: bytes | None) -> None:
    """A backup is verified, can be read, and cannot be charged, while the ledger is used on."""
    ledger = Ledger(tmp_path / "budget.db", secret=key)
    ledger.create("ann", rho=1)
    released(ledger, "walk")
    assert ledger.backup(tmp_path / "monday.db") == 3
    released(ledger)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["budget.db", "budget.db-journal", "monday.db"]
    copied = Ledger(tmp_path / "monday.db", secret=key)
    assert copied.verify() == 3
    assert copied.account("ann").spent == Decimal("1e-6")
    with pytest.raises(LedgerUnavailable, match="is a backup"):
        released(copied, "walk")
    with pytest.raises(InvalidParameter, match="does not exist"):
        ledger.backup(tmp_path / "monday.db")
    assert ledger.verify() == 5


def test_backup_during_charges(tmp_path: Path) -> None:
    """A backup that is made during charges holds whole charges only."""
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    done = threading.Event()

    def go_on() -> None:
        other = Ledger(tmp_path / "budget.db")
        while not done.is_set():
            charge(other, "ann")

    threads = [threading.Thread(target=go_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        found = [ledger.backup(tmp_path / f"{turn}.db") for turn in range(5)]
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert found == sorted(found)
    assert ledger.verify() >= found[-1]


def test_unchanged_backup_is_restored(tmp_path: Path) -> None:
    """A backup is restored if nothing was charged since.

    The newest certificate tells; what was stored is answered the same, for free.
    """
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    first = released(ledger, "walk")
    ledger.backup(tmp_path / "monday.db")
    ledger.close()
    with pytest.raises(InvalidParameter, match="Move"):
        restore(tmp_path / "monday.db", tmp_path / "budget.db", certificates=[first.certificate()])
    with pytest.raises(LedgerTampered, match="is unknown"):
        restore(
            tmp_path / "monday.db", tmp_path / "new.db", certificates=[gv.Locations(WALK).mean(rho=1).certificate()]
        )
    found = restore(tmp_path / "monday.db", tmp_path / "new.db", certificates=[first.certificate()])
    assert released(found, "walk").id == first.id
    assert found.account("ann").spent == Decimal("1e-6")
    released(found)
    assert found.verify() == 5
    assert not [path for path in tmp_path.iterdir() if "part" in path.name]


def test_old_backups_are_refused(tmp_path: Path) -> None:
    """An older backup is refused, or all budget that is left is written off, on record."""
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    ledger.create("bob", epsilon=1)
    ledger.backup(tmp_path / "monday.db")
    later = released(ledger, "walk")
    ledger.close()
    with pytest.raises(LedgerTampered, match="does not contain the latest charges"):
        restore(tmp_path / "monday.db", tmp_path / "new.db", certificates=[later.certificate()])
    assert not (tmp_path / "new.db").exists()
    with pytest.raises(InvalidParameter, match="write_off"):
        restore(tmp_path / "monday.db", tmp_path / "new.db", write_off=" ")
    found = restore(tmp_path / "monday.db", tmp_path / "new.db", write_off="the disk broke")
    assert found.account("ann").remaining == found.account("bob").remaining == 0
    with pytest.raises(BudgetExceeded):
        released(found, "walk")
    assert "the disk broke" in found.statement("ann")[-1]["parameters"]
    assert found.verify() == 5
    found.override("ann", rho=2, reason="ann agreed")
    released(found, "walk")


def test_lost_accounts_need_reason(tmp_path: Path) -> None:
    """After a write-off, an account that may have been opened and spent before is opened with a reason only."""
    ledger = Ledger(tmp_path / "budget.db")
    ledger.backup(tmp_path / "monday.db")
    ledger.create("ann", rho=1)
    Charges.of(ledger).charge(["ann"], gv.CGP(rho=1), query="points")
    ledger.close()
    found = restore(tmp_path / "monday.db", tmp_path / "new.db", write_off="the disk broke")
    with pytest.raises(LedgerError, match=r"may have had an account.*new=.REASON"):
        found.create("ann", rho=1)
    with pytest.raises(InvalidParameter, match="state who says so"):
        found.create("eve", rho=1, new=" ")
    found.create("eve", rho=1, new="eve joined today")
    assert found.statement("eve")[0]["query"] == "eve joined today"
    assert found.verify() == 2
    # The rule lasts: for other processes, and for backups of the restored ledger.
    found.backup(tmp_path / "tuesday.db")
    found.close()
    again = restore(tmp_path / "tuesday.db", tmp_path / "again.db", write_off="and again")
    for opened in (Ledger(tmp_path / "new.db"), again):
        with pytest.raises(LedgerError, match="may have had an account"):
            opened.create("ann", rho=1)


def test_account_reasons_are_verified(tmp_path: Path) -> None:
    """An account that was opened after a write-off without a reason, behind the ledger's back, is noticed."""
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.backup(tmp_path / "monday.db")
    found = restore(tmp_path / "monday.db", tmp_path / "new.db", write_off="the disk broke")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledgers, "WRITE_OFF", "never")
        found.create("ann", rho=1)
    with pytest.raises(LedgerTampered, match="without a reason"):
        found.verify()


def test_non_backups_are_refused(tmp_path: Path) -> None:
    """Another file, no file or a database is refused as a backup."""
    (tmp_path / "text.db").write_text("nothing of the kind" * 100)
    with pytest.raises(LedgerUnavailable, match="Nothing was restored"):
        restore(tmp_path / "text.db", tmp_path / "new.db", write_off="why not")
    with pytest.raises(InvalidParameter, match="backup"):
        restore(tmp_path / "none.db", tmp_path / "new.db", write_off="why not")
    with pytest.raises(LedgerUnavailable, match="pg_restore"):
        restore(tmp_path / "text.db", "postgresql:///db", write_off="why not")
    with pytest.raises(LedgerUnavailable, match="pg_dump"):
        Ledger(database(f"backup{os.getpid()}")).backup(tmp_path / "new.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.db"]


def test_old_copy_is_noticed(tmp_path: Path) -> None:
    """An old copy is noticed, also one that was written into the same file."""
    path = tmp_path / "budget.db"
    ledger = Ledger(path)
    ledger.create("ann", rho=1)
    shutil.copy(path, tmp_path / "old.db")
    released(ledger, "walk")
    ledger.close()
    path.write_bytes((tmp_path / "old.db").read_bytes())
    with pytest.raises(LedgerTampered, match="set back"):
        released(ledger, "walk")
    with pytest.raises(LedgerTampered, match="set back"):
        ledger.create("bob", rho=1)


def test_witness_notices_set_back(place: str, tmp_path: Path) -> None:
    """A witness notices that a ledger was set back.

    By a process that has never seen it, in both stores, wherever the witness is; the label is not drawn twice.
    """
    for witness in (tmp_path / "witness.db", database(f"witness{os.getpid()}")):
        ledger = Ledger(place, witness=witness)
        name = f"ann{len(ledger.accounts())}"
        entry = ledger.create(name, rho=1)
        gv.Locations(WALK).session(ledger=ledger, subject=name, label="walk").points(rho="1e-6")
        ledger.close()
        assert Ledger(place, witness=witness).verify() == entry.number + 2
        cut(place, entry.number, entry.hash)
        unaware = Ledger(place)
        unaware.verify()  # without a witness nobody can tell
        again = Ledger(place, witness=witness)
        with pytest.raises(LedgerTampered, match="the witness knows of"):
            gv.Locations(WALK).session(ledger=again, subject=name, label="walk").points(rho="1e-6")
        with pytest.raises(LedgerTampered, match="the witness knows of"):
            again.verify()
        with pytest.raises(LedgerTampered, match="the witness knows of"):
            again.testify()
        for look in (again.account, again.statement):
            with pytest.raises(LedgerTampered, match="the witness knows of"):
                look(name)
        with pytest.raises(LedgerTampered, match="the witness knows of"):
            again.accounts()
        assert unaware.account(name).spent == 0


def test_witness_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A witness is told when the user asks for it; the environment can name one for every ledger."""
    ledger = Ledger(tmp_path / "budget.db")
    entry = ledger.create("ann", rho=1)
    released(ledger)
    assert Ledger(tmp_path / "budget.db", witness=tmp_path / "witness.db").testify() == 3
    ledger.close()
    cut(str(tmp_path / "budget.db"), entry.number, entry.hash)
    monkeypatch.setenv("GEOVEIL_LEDGER_WITNESS", str(tmp_path / "witness.db"))
    with pytest.raises(LedgerTampered, match="the witness knows of"):
        released(Ledger(tmp_path / "budget.db"))


def test_witness_never_goes_back(tmp_path: Path) -> None:
    """A witness never goes back. Processes may tell it in another order than they charged."""
    witness = Witness(tmp_path / "witness.db")
    witness.record("one", Head(5, "five"))
    witness.record("one", Head(4, "four"))
    witness.record("two", Head(1, "other"))
    assert witness.head("one") == Head(5, "five", "the witness")
    assert witness.head("none") is None


def test_releases_wait_for_witness(tmp_path: Path) -> None:
    """A release waits until its witness can be told; its charge is kept."""
    ledger = Ledger(tmp_path / "budget.db", witness=tmp_path / "witness.db")
    ledger.create("ann", rho=1)
    with sqlite3.connect(tmp_path / "witness.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        # Long enough for the charge itself.
        with impatient(ledger, 3), pytest.raises(LedgerUnavailable, match=r"was committed.*Nothing was released"):
            released(ledger)
        other.execute("ROLLBACK")
    other.close()
    assert ledger.account("ann").spent == Decimal("1e-6")
    released(ledger)
    assert ledger.verify() == 4


def test_restored_ledger_renews_witness(tmp_path: Path) -> None:
    """The witness of a ledger that was written off begins anew."""
    witness = tmp_path / "witness.db"
    ledger = Ledger(tmp_path / "budget.db", witness=witness)
    ledger.create("ann", rho=1)
    ledger.backup(tmp_path / "monday.db")
    restore(tmp_path / "monday.db", tmp_path / "same.db", witness=witness).close()
    released(ledger)
    with pytest.raises(LedgerTampered, match=r"ends at entry 1, but the witness has entry 3.*Nothing was restored"):
        restore(tmp_path / "monday.db", tmp_path / "new.db", witness=witness)
    with restore(tmp_path / "monday.db", tmp_path / "new.db", witness=witness, write_off="lost") as found:
        assert found.account("ann").remaining == 0
        found.create("bob", rho=1, new="joined today")
    with pytest.raises(LedgerTampered, match="set back"):
        released(ledger)


def test_ledger_is_no_witness(place: str, tmp_path: Path) -> None:
    """Neither a ledger nor a copy of it nor another name of its file is its witness."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    others = [place, f"{place}&application_name=another" if "://" in place else str(tmp_path / "link.db")]
    if "://" not in place:
        (tmp_path / "link.db").symlink_to(place)
        ledger.backup(tmp_path / "monday.db")
        others.append(str(tmp_path / "monday.db"))
        with pytest.raises(InvalidParameter, match="another place than the ledger"):
            restore(tmp_path / "monday.db", tmp_path / "new.db", witness=place)
        assert not (tmp_path / "new.db").exists()
    for witness in others:
        with pytest.raises(InvalidParameter, match="another place than the ledger"):
            Ledger(place, witness=witness)


def test_witnessed_backups_are_readable(tmp_path: Path) -> None:
    """A backup can be read, though its witness knows that it is behind the ledger."""
    witness = tmp_path / "witness.db"
    ledger = Ledger(tmp_path / "budget.db", witness=witness)
    ledger.create("ann", rho=1)
    ledger.backup(tmp_path / "monday.db")
    released(ledger)
    with Ledger(tmp_path / "monday.db", witness=witness) as backup:
        assert backup.account("ann").spent == 0
        assert backup.verify() == 1


def test_witness_errors_say_so(tmp_path: Path) -> None:
    """Errors of a witness say so. Whoever has to mend it must know which of the two places it is."""
    with pytest.raises(LedgerUnavailable, match=r"^The witness of the ledger: .* is a folder\. .*"):
        Ledger(tmp_path / "budget.db", witness=tmp_path)
    with pytest.raises(LedgerUnavailable, match=r"is a folder\. .*Give the path of a file"):
        Ledger(tmp_path)


#: Does what is asked in a fork that is killed before or after one statement of SQLite, a later one in each turn.
KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
import geoveil as gv
from geoveil.budget import Charges
from geoveil.errors import BudgetExceeded, GeoveilError

folder, what = Path(sys.argv[1]), sys.argv[2]
plain, points = sqlite3.connect, [0, 0]

def point():
    points[0] += 1
    if points[0] == points[1]:
        os.kill(os.getpid(), signal.SIGKILL)

def between(name):
    def call(self, *given, **named):
        point()
        try:
            return getattr(sqlite3.Connection, name)(self, *given, **named)
        finally:
            point()
    return call

names = ("execute", "executemany", "backup", "close")
Counted = type("Counted", (sqlite3.Connection,), {name: between(name) for name in names})

def made():
    sqlite3.connect = lambda *given, **named: plain(*given, **{**named, "factory": Counted})
    if what == "backup":
        with gv.Ledger(folder / "budget.db") as ledger:
            ledger.backup(folder / "made.db")
    else:
        gv.Ledger.restore(folder / "monday.db", folder / "made.db", witness=folder / "witness.db", write_off="lost")

def chargeable(path):
    try:
        with gv.Ledger(path, witness="") as ledger:
            Charges.of(ledger).charge(["ann"], gv.CGP(rho="1e-9"), query="points")
    except GeoveilError as problem:
        print(type(problem).__name__)
        return False
    return True

def empty(path):
    try:
        with gv.Ledger(path, witness="") as ledger:
            return not ledger.accounts()
    except GeoveilError:
        return False

ended = turns = 0
while not ended:
    turns += 1
    child = os.fork()
    if not child:
        points[1] = 1 + 7 * turns
        made()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), (turns, status)
    ended = status == 0
    kept = {"budget.db", "monday.db", "witness.db"}
    for path in sorted(folder.iterdir()):
        if path.name.partition("-")[0] not in kept and not path.name.endswith("-journal"):
            assert not chargeable(path), (turns, path)
            assert path.name != "made.db" or not empty(path), (turns, path)
    for path in folder.iterdir():
        if path.name.partition("-")[0] not in kept:
            path.unlink()
print(turns)
"""


@POSIX
@pytest.mark.slow
@pytest.mark.parametrize("what", ["backup", "restore"])
def test_killed_copies_charge_nothing(what: str, tmp_path: Path) -> None:
    """A backup or a written-off restore killed at any statement leaves nothing that is charged, or is empty."""
    with Ledger(tmp_path / "budget.db", witness=tmp_path / "witness.db") as ledger:
        ledger.create("ann", rho=1)
        ledger.backup(tmp_path / "monday.db")
        released(ledger)
    command = [sys.executable, "-c", KILLED, str(tmp_path), what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    *refusals, turns = done.stdout.split()
    assert int(turns) > 10
    assert refusals.count("LedgerUnavailable") > 10


def test_unfinished_copies_say_so(tmp_path: Path) -> None:
    """An unfinished copy names its remedy, and is neither restored nor written over."""
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    ledger.backup(tmp_path / "monday.db")
    edit(str(tmp_path / "monday.db"), "CREATE TABLE geoveil_unfinished (of TEXT)")
    with pytest.raises(LedgerUnavailable, match=r"unfinished.*delete it and start again"):
        Ledger(tmp_path / "monday.db")
    with pytest.raises(LedgerUnavailable, match="unfinished"):
        restore(tmp_path / "monday.db", tmp_path / "new.db", write_off="lost")
    with pytest.raises(InvalidParameter, match="does not exist"):
        ledger.backup(tmp_path / "monday.db")
    assert not (tmp_path / "new.db").exists()


def test_simultaneous_backups_are_apart(tmp_path: Path) -> None:
    """Of threads that back up into one file at the same time, one does so, and the others are refused."""
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    ledger.close()
    found: list[object] = []
    together = threading.Barrier(6)

    def work() -> None:
        with Ledger(tmp_path / "budget.db") as own:
            together.wait()
            try:
                found.append(own.backup(tmp_path / "monday.db"))
            except InvalidParameter as problem:
                found.append(type(problem))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, found)) == ["1", *[str(InvalidParameter)] * 5]
    assert Ledger(tmp_path / "monday.db").verify() == 1


@POSIX
def test_copies_keep_permissions(tmp_path: Path) -> None:
    """A backup and a restored ledger can be read by nobody who cannot read the original."""
    ledger = Ledger(tmp_path / "budget.db", witness=tmp_path / "witness.db")
    ledger.create("ann", rho=1)
    (tmp_path / "budget.db").chmod(0o600)
    ledger.backup(tmp_path / "monday.db")
    restore(tmp_path / "monday.db", tmp_path / "new.db", witness=tmp_path / "witness.db").close()
    for name in ("monday.db", "new.db"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
