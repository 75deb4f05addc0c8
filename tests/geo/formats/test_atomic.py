"""A file and its certificate are one unit: no fault, kill or second writer leaves one beside another's."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import geoveil as gv
from geoveil.answering import preparation
from geoveil.errors import FileUnavailable, GeoveilError
from geoveil.geo.formats.atomic import ROOM, certificate_path, staging_folder, write_certificate
from geoveil.geo.formats.fingerprints import files_of
from tests.formats import BAY, FORMATS, make, people
from tests.questions import release_of
from tests.systems import POSIX

#: More than the number of calls of one exchange.
STEPS = 80


def write_pair(target: Path, text: str, **how: Any) -> None:
    """Write a file and a certificate that states its digest."""
    with staging_folder(target, **how) as folder:
        (folder / target.name).write_text(text)
        write_certificate(folder / target.name, {"sha256": hashlib.sha256(text.encode()).hexdigest()})


def state_of(target: Path, certificate: Path | None = None) -> str:
    """The pair that is there: "old" or "new", "part" of one or "nothing". A file with another's certificate fails."""
    beside = certificate or certificate_path(target)
    if not target.exists() or not beside.exists():
        return "part" if target.exists() or beside.exists() else "nothing"
    text = target.read_text()
    assert json.loads(beside.read_text())["sha256"] == hashlib.sha256(text.encode()).hexdigest(), "a mixed pair"
    return text


def failing(monkeypatch: pytest.MonkeyPatch, step: int, *, forever: bool, fail: Callable[[], Any]) -> None:
    """Make the call of this number, or all calls from it on, fail."""
    count = iter(range(10_000))

    def wrapped(call: Any) -> Any:
        def run(*args: Any, **more: Any) -> Any:
            number = next(count)
            if number == step or (forever and number > step):
                fail()
            return call(*args, **more)

        return run

    monkeypatch.setattr(os, "replace", wrapped(os.replace))
    monkeypatch.setattr(os, "fsync", wrapped(os.fsync))


def full() -> None:
    """Fail as a full disk does."""
    raise OSError(28, "No space left on device")


def test_existing_targets_are_refused(tmp_path: Path) -> None:
    """A release refuses an existing target unless told to replace it, and says how."""
    release = gv.Locations(people(), person="user", area=BAY).points(rho=1e-4)
    path = release.to_file(tmp_path / "out.csv")
    before = path.read_bytes()
    with pytest.raises(FileUnavailable, match=r"out\.csv: it exists\. Choose another name, or .* overwrite=True\."):
        release.to_file(path)
    assert path.read_bytes() == before
    gv.Locations(people(seed=2), person="user", area=BAY).points(rho=1e-4).to_file(path, overwrite=True)
    assert path.read_bytes() != before
    assert gv.verify(path)


@pytest.mark.parametrize("name", ["out.csv.certificate.json", "out.csv.aux.xml"])
def test_leftovers_are_refused(name: str, tmp_path: Path) -> None:
    """A file that would be taken for a part of the target is refused like the target, and replaced if told."""
    (tmp_path / name).write_text("left over")
    with pytest.raises(FileUnavailable, match=f"{name}: it exists"):
        write_pair(tmp_path / "out.csv", "new")
    write_pair(tmp_path / "out.csv", "new", overwrite=True)
    assert state_of(tmp_path / "out.csv") == "new"
    assert {path.name for path in tmp_path.iterdir()} == {"out.csv", "out.csv.certificate.json"}


def test_existing_targets_cost_nothing(tmp_path: Path) -> None:
    """A file that exists is refused before a ledger is charged."""
    people().to_file(tmp_path / "in.gpkg")
    (tmp_path / "out.gpkg").write_text("mine")
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("all", rho=1)
        with pytest.raises(FileUnavailable, match="it exists"):
            gv.Locations(tmp_path / "in.gpkg", area=BAY).session(ledger=ledger, subject="all").points(
                to=tmp_path / "out.gpkg", rho=1e-4
            )
        assert ledger.account("all").remaining == 1
    assert (tmp_path / "out.gpkg").read_text() == "mine"


@pytest.mark.parametrize("apart", [False, True])
def test_faults_leave_old_pairs(apart: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever call of the system fails, the old file and its certificate are there as before."""
    target = tmp_path / "out.csv"
    (tmp_path / "elsewhere").mkdir()
    how: dict[str, Any] = {"certificate": tmp_path / "elsewhere" / "certificate.json"} if apart else {}
    write_pair(target, "old", **how)
    for step in range(STEPS):
        with monkeypatch.context() as patched:
            failing(patched, step, forever=False, fail=full)
            try:
                write_pair(target, "new", overwrite=True, **how)
            except (OSError, GeoveilError):
                done = False
            else:
                done = True
        if done:
            break
        assert state_of(target, how.get("certificate")) == "old", step
    assert done
    assert step > 8
    assert state_of(target, how.get("certificate")) == "new"


def test_lasting_faults_mix_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If everything fails from some call on, so that nothing can be undone, no file has another's certificate."""
    target = tmp_path / "out.csv"
    for step in range(STEPS):
        write_pair(target, "old", overwrite=True)
        with monkeypatch.context() as patched:
            failing(patched, step, forever=True, fail=full)
            try:
                write_pair(target, "new", overwrite=True)
            except (OSError, GeoveilError):
                done = False
            else:
                done = True
        state_of(target)
        if done:
            break
    assert done


@pytest.mark.slow
@POSIX
def test_kills_mix_nothing(tmp_path: Path) -> None:
    """A process that is killed before any call of the system leaves the old pair, the new one, or no pair."""
    target = tmp_path / "out.csv"
    seen = set()
    for step in range(STEPS):
        write_pair(target, "old", overwrite=True)
        child = os.fork()
        if child == 0:
            try:
                failing(pytest.MonkeyPatch(), step, forever=False, fail=lambda: os.kill(os.getpid(), signal.SIGKILL))
                write_pair(target, "new", overwrite=True)
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        seen.add(state_of(target))
        if not os.WIFSIGNALED(status):
            break
    assert not os.WIFSIGNALED(status)
    assert {"old", "new"} <= seen
    # A later run removes what the killed ones have left.
    write_pair(target, "later", overwrite=True)
    assert {path.name for path in tmp_path.iterdir()} == {"out.csv", "out.csv.certificate.json"}


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[int]:
    """Another process that is writing out.csv."""
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        with staging_folder(tmp_path / "out.csv"):
            os.write(told, b"x")
            signal.pause()
        os._exit(0)
    os.read(ready, 1)
    yield child
    os.close(ready)
    os.close(told)


@POSIX
def test_second_writers_are_refused(tmp_path: Path, writer: int) -> None:
    """A target that another process writes is refused at once; after that process was killed it is free."""
    with pytest.raises(FileUnavailable, match="another program is writing it"):
        write_pair(tmp_path / "out.csv", "new", overwrite=True)
    write_pair(tmp_path / "other.csv", "new")
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    write_pair(tmp_path / "out.csv", "new")
    assert state_of(tmp_path / "out.csv") == "new"


def _write_often(target: Path, text: str) -> int:
    """Write a pair again and again, and count how often it was this process's turn."""
    turns = 0
    for number in range(60):
        try:
            write_pair(target, f"{text}{number}", overwrite=True)
        except FileUnavailable:
            continue
        turns += 1
        state_of_any(target)
    return turns


def state_of_any(target: Path) -> None:
    """Read the certificate before and after the file; if nobody wrote meanwhile, they belong together."""
    try:
        before = certificate_path(target).read_text()
        text = target.read_text()
        after = certificate_path(target).read_text()
    except FileNotFoundError:
        return
    assert before != after or json.loads(before)["sha256"] == hashlib.sha256(text.encode()).hexdigest()


@POSIX
def test_writers_do_not_interleave(tmp_path: Path) -> None:
    """Processes that replace the same target again and again leave a whole pair each time."""
    target = tmp_path / "out.csv"
    with get_context("fork").Pool(3) as pool:
        turns = pool.starmap(_write_often, [(target, name) for name in "abc"])
    assert sum(turns) > 0
    assert state_of(target) not in ("part", "nothing")
    assert {path.name for path in tmp_path.iterdir()} == {"out.csv", "out.csv.certificate.json"}


def _release(source: Path, target: Path, ledger: gv.Ledger) -> None:
    gv.Locations(source, area=BAY, confirm=lambda told: None).session(ledger=ledger, subject="all").points(
        to=target, rho=1e-7
    )


def _source(folder: Path) -> Path:
    """Write a file of 60,000 points."""
    rows = [f"37.7{i % 10},-122.4{i % 7},2024-01-01T00:00:00Z" for i in range(60_000)]
    (folder / "in.csv").write_text("\n".join(["lat,lon,time", *rows]))
    return folder / "in.csv"


def test_full_disks_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that the disk has no room for is refused before it is charged; the message has both sizes."""
    source = _source(tmp_path)
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("all", rho=1)
        with monkeypatch.context() as patched:
            patched.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=10**9, free=3_000_000))
            with pytest.raises(
                FileUnavailable, match=r"out\.csv: it needs about 1\d MB, and the disk has 3.0 MB free"
            ):
                _release(source, tmp_path / "out.csv", ledger)
        assert ledger.account("all").remaining == 1
        _release(source, tmp_path / "out.csv", ledger)
        assert ledger.account("all").remaining < 1


@POSIX
def test_small_disks_are_refused(tmp_path: Path) -> None:
    """A real disk of 3 MB is found too small for a release of 60,000 points before the release is charged."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", small], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"a disk cannot be mounted here: {mounted.stderr.decode().strip()}")
    try:
        source = _source(tmp_path)
        with gv.Ledger(tmp_path / "budget.db") as ledger:
            ledger.create("all", rho=1)
            with pytest.raises(FileUnavailable, match="it needs about"):
                _release(source, small / "out.csv", ledger)
            assert ledger.account("all").remaining == 1
        assert not [*small.iterdir()]
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.parametrize("name", [name for name in FORMATS if "." in name])
def test_sizes_are_estimated(name: str, tmp_path: Path) -> None:
    """The estimate is at least the size of the released file, and not so large that it refuses without need."""
    path, told = make(name, tmp_path)
    found: list[int] = []
    target = tmp_path / f"out{''.join(path.suffixes)}"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(preparation, "check_room", lambda target, needed: found.append(needed))
        release_of("points", path, to=target, rho=1e-4, **told)
    assert sum(file.stat().st_size for file in files_of(target)) <= found[0] <= ROOM + 10**5
