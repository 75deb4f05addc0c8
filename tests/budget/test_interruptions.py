"""Interruptions: whatever is raised, and wherever, no thread is charged twice and none waits in vain."""

from __future__ import annotations

import _thread
import contextvars
import itertools
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import geoveil as gv
from geoveil.budget import Charge, Charges, Ledger, turns
from geoveil.budget.journal import Journal, Memory, Witness
from geoveil.budget.turns import Batching, Waiting, uninterrupted
from geoveil.errors import BudgetExceeded, LedgerTimeout, LedgerUnavailable
from geoveil.host.processes import this_process
from tests.ledgers import COST, charge
from tests.patience import impatient
from tests.systems import POSIX


class Stopped(BaseException):
    """What the handler of a signal raises."""


def once(plain: Callable[..., Any], problem: type[BaseException], *, before: bool, skip: int) -> Callable[..., Any]:
    """Return a function that raises an error one time, before or after it does its work; a few calls are spared."""
    calls = itertools.count()

    def called(*args: Any, **more: Any) -> Any:
        # Of transactions, those that write: others only read the witness.
        hit = bool(getattr(args[0], "_writes", True)) and next(calls) == skip
        if hit and before:
            raise problem
        result = plain(*args, **more)
        if hit:
            raise problem
        return result

    return called


#: Where a thread that commits for four is interrupted: the function, and whether before or after it has done its work.
POINTS: dict[str, tuple[Any, str, bool, int]] = {
    "reading": (Journal, "read", False, 0),
    "writing": (Journal, "write", True, 0),
    "before the commit": (None, "commit", True, 0),
    "after the commit": (None, "commit", False, 0),
    "before the witness": (Memory, "record", True, 0),
    "after the witness": (Memory, "record", False, 0),
    "first outcome": (Waiting, "finish", True, 0),
    "second outcome": (Waiting, "finish", True, 1),
    "last outcome": (Waiting, "finish", True, 3),
    "after all outcomes": (Waiting, "finish", False, 3),
}


def together(ledger: Ledger, releases: list[str]) -> tuple[dict[str, Charge], list[BaseException]]:
    """Charge releases in threads that share a commit; return the charge of each, and what was raised."""
    charges: dict[str, Charge] = {}
    raised: list[BaseException] = []

    def work(release: str) -> None:
        try:
            charges[release] = charge(ledger, "ann", release=release)
        except BaseException as problem:
            raised.append(problem)

    batching: Batching[Any, Charge] = Charges.of(ledger)._batchings.setdefault(this_process(), Batching())
    with batching._changed:
        batching._server = Waiting(0.0)
    threads = [threading.Thread(target=work, args=(release,)) for release in releases]
    for thread in threads:
        thread.start()
    with batching._changed:
        while len(batching._queue) < len(releases):
            batching._changed.wait(0.01)
        batching._server = None
        batching._changed.notify_all()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return charges, raised


def charged_releases(ledger: Ledger) -> Counter[str]:
    """Return how often each release was charged."""
    return Counter(line["release"] for line in ledger.statement("ann") if line["event"] == "charge")


@pytest.mark.slow
@pytest.mark.parametrize(("problem", "witnessed"), [(KeyboardInterrupt, True), (Stopped, False), (MemoryError, True)])
@pytest.mark.parametrize("point", POINTS)
def test_interrupted_commits_charge_once(
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
    problem: type[BaseException],
    witnessed: bool,
) -> None:
    """A thread that is interrupted while it commits for others is stopped alone, and the others are charged once."""
    ledger = Ledger(place, witness=tmp_path / "witness.db" if witnessed else "")
    ledger.create("ann", rho=1)
    with ledger._book.store.transaction() as transaction:
        kind = type(transaction)
    owner, name, before, skip = POINTS[point]
    with monkeypatch.context() as patch:
        owner = kind if owner is None else owner
        plain = getattr(owner, name)
        patch.setattr(owner, name, once(plain, problem, before=before, skip=skip))
        charges, raised = together(ledger, ["a", "b", "c", "d"])
    found = charged_releases(ledger)
    assert set(found.values()) == {1}
    assert [type(each) for each in raised] == [problem] * (4 - len(charges))
    # Requests of a batch that fails are tried one by one; an interruption ends the call of its thread.
    assert len(charges) >= (4 if problem is MemoryError else 3)
    lines = {line["release"]: line for line in ledger.statement("ann")}
    for release, each in charges.items():
        assert (each.entry.number, each.entry.hash) == (lines[release]["number"], lines[release]["hash"])
        Charges.of(ledger).store(each, release)
    if witnessed:
        assert Witness(tmp_path / "witness.db").head(ledger.id).number == ledger.verify()  # type: ignore[union-attr]
    assert ledger.verify() == 1 + len(found) + len(charges)


# A signal may interrupt the deletion of any object in the main thread, such as one of an earlier test.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@POSIX
def test_signals_interrupt_no_commit(tmp_path: Path) -> None:
    """Threads are charged once for each release while signals interrupt the main thread, whose commits they share."""
    ledger = Ledger(tmp_path / "budget.db", witness=tmp_path / "witness.db")
    ledger.create("ann", rho=1)
    returned: list[str] = []
    problems: list[BaseException] = []
    armed: list[None] = []
    kept: list[Charge] = []

    def ring(*_: object) -> None:
        if armed:
            armed.clear()
            raise Stopped

    def work() -> None:
        try:
            for _ in range(60):
                release = uuid4().hex
                charge(ledger, "ann", release=release)
                returned.append(release)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work) for _ in range(3)]
    before = signal.signal(signal.SIGALRM, ring)
    try:
        for thread in threads:
            thread.start()
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        while any(thread.is_alive() for thread in threads):
            release = uuid4().hex
            try:
                armed.append(None)
                kept.append(charge(ledger, "ann", release=release))
                armed.clear()
                returned.append(release)
            except Stopped:
                continue
    finally:
        armed.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    for thread in threads:
        thread.join(60)
    assert not problems
    found = charged_releases(ledger)
    assert set(found.values()) == {1}
    assert {*returned} <= {*found}
    assert len(returned) >= 180
    ledger.verify()


#: Has an element once the main thread was stopped. The handler of a signal, which may itself be interrupted, sets no
#: event.
STOPPED: list[bool] = []


@contextmanager
def stoppable() -> Iterator[None]:
    """Let the first signal of `stop_main` raise an error in the main thread."""

    def stop(*_: object) -> None:
        if not STOPPED:
            STOPPED.append(True)
            raise Stopped

    STOPPED.clear()
    before = signal.signal(signal.SIGALRM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)


def stop_main() -> None:
    """Interrupt the main thread while it waits."""
    # A signal that comes just before the main thread waits for a lock is handled after it has waited.
    while not STOPPED:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)
        time.sleep(0.01)


@POSIX
def test_work_outlives_its_caller() -> None:
    """A signal interrupts the main thread at once, and not the work that it waits for."""
    going, ended = threading.Event(), threading.Event()

    def work() -> None:
        stop_main()
        going.wait(60)
        ended.set()

    with stoppable(), pytest.raises(Stopped):
        uninterrupted(work)
    assert not ended.is_set()
    going.set()
    assert ended.wait(60)


@POSIX
def test_forks_find_one_thread() -> None:
    """The thread that does the main thread's work ends before a fork, and each of the two has another one after it."""
    before = len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 0
    assert uninterrupted(_thread.get_ident) != _thread.get_ident()
    child = os.fork()
    if child == 0:
        os._exit(uninterrupted(lambda: 7))
    deadline = time.monotonic() + 60
    # The thread has left Python, and may take the system a moment to end.
    while sys.platform == "linux" and len(os.listdir("/proc/self/task")) > before:
        assert time.monotonic() < deadline
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert uninterrupted(lambda: 8) == 8


def test_work_without_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no thread can be started, the main thread does its work itself."""

    def refused(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    turns._WORKERS.clear()
    monkeypatch.setattr(_thread, "start_new_thread", refused)
    assert uninterrupted(_thread.get_ident) == _thread.get_ident()
    monkeypatch.undo()
    assert uninterrupted(_thread.get_ident) != _thread.get_ident()


def test_work_keeps_its_context() -> None:
    """Work that another thread does sees the caller's context variables, and its error reaches the caller."""
    known = contextvars.ContextVar("known", default="nothing")
    known.set("something")
    assert uninterrupted(known.get) == "something"
    with pytest.raises(ZeroDivisionError):
        uninterrupted(lambda: 1 // 0)


#: What a process may read of a ledger.
READINGS: dict[str, Callable[[Ledger], object]] = {
    "account": lambda ledger: ledger.account("ann"),
    "statement": lambda ledger: ledger.statement("ann"),
    "session": lambda ledger: gv.Locations([(0.0, 0.0)]).session(ledger=ledger, subject="ann").remaining,
    "verify": lambda ledger: ledger.verify(),
    "shown": repr,
}


# The error may be raised while an object of an earlier test is deleted.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("reading", READINGS)
def test_interrupted_reading_blocks_nobody(tmp_path: Path, reading: str) -> None:
    """Wherever the main thread is interrupted while it reads a ledger, other threads go on, and so does the next call.

    The error is raised before each step of the store's code in turn, since a signal may be handled between any two.
    """
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    kept: list[BaseException] = []
    left = 0

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.endswith(("stores.py", "sqlite_store.py", "journal.py")):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                raise Stopped
        return trace

    before = sys.gettrace()
    for steps in itertools.count(1, 5):
        left = steps
        try:
            sys.settrace(trace)
            READINGS[reading](ledger)
        except Stopped as problem:
            # With its traceback, which a notebook keeps too.
            kept.append(problem)
        finally:
            sys.settrace(before)
        with impatient(ledger):
            assert ledger.account("ann").spent == 0
        if left > 0:
            break
    charge(ledger, "ann")


@POSIX
def test_interrupted_waits_charge_nothing(tmp_path: Path) -> None:
    """A charge that is interrupted before a thread commits it is withdrawn."""
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    batching: Batching[Any, Charge] = Charges.of(ledger)._batchings.setdefault(this_process(), Batching())
    batching._server = Waiting(0.0)

    def interrupt() -> None:
        with batching._changed:
            while not batching._queue:
                batching._changed.wait(0.01)
        stop_main()

    thread = threading.Thread(target=interrupt)
    with stoppable():
        thread.start()
        with pytest.raises(Stopped):
            charge(ledger, "ann", release="withdrawn")
        thread.join(60)
    with batching._changed:
        batching._server = None
    charge(ledger, "ann", release="next")
    assert charged_releases(ledger) == {"next": 1}


def test_unknown_outcomes_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads whose commit was interrupted are told that it is unknown, if the ledger cannot be read afterwards."""
    ledger, other = Ledger(tmp_path / "budget.db"), Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    with ExitStack() as stack:

        def interrupted(*_: object) -> None:
            stack.enter_context(other._book.store.transaction())
            raise Stopped

        monkeypatch.setattr(Memory, "record", interrupted)
        with impatient(ledger, 2):
            charges, raised = together(ledger, ["a", "b", "c"])
    assert not charges
    first, *others = sorted(raised, key=lambda problem: isinstance(problem, LedgerTimeout))
    assert isinstance(first, Stopped)
    assert [getattr(problem, "charged", None) for problem in others] == ["unknown"] * 2
    monkeypatch.undo()
    assert charged_releases(ledger) == {"a": 1, "b": 1, "c": 1}


@pytest.mark.slow
def test_silent_witness_spends_charges(tmp_path: Path) -> None:
    """If a commit cannot be witnessed, only the requests that it charged are told that they were."""
    ledger = Ledger(tmp_path / "budget.db", witness=tmp_path / "witness.db")
    ledger.create("ann", rho="1e-6")
    other = Witness(tmp_path / "witness.db")
    with other._store.transaction(), impatient(ledger, 3):
        _, raised = together(ledger, ["a", "b"])
    spent, refused = sorted(raised, key=lambda problem: isinstance(problem, BudgetExceeded))
    assert isinstance(spent, LedgerUnavailable)
    assert spent.charged == "spent"
    assert "Nothing was charged" not in str(spent)
    assert isinstance(refused, BudgetExceeded)
    assert refused.charged == "nothing"
    assert ledger.account("ann").spent == COST.budget
