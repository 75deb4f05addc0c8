"""Who works while others wait: threads that share a commit, and processes of which one draws an answer.

Commits are expensive, so threads that charge at the same time share one. Answers are paid for, so an attempt to draw
one has a lease: others with the same key wait for the answer instead of paying again.

Python runs the handlers of signals (Ctrl-C, timers) in the main thread, between any two of its steps. An error there
could leave a lock held forever, or a commit whose outcome nobody has noted, and other threads depend on both. So
another thread does the work of the main thread. Threads wait for each other's work by plain locks and queues, whose
calls are single steps. Events and conditions are written in Python: interrupted in the middle, they would never wake
anyone again.
"""

from __future__ import annotations

import _thread
import contextvars
import json
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from queue import SimpleQueue
from typing import Generic, TypeAlias, TypeVar

from geoveil.budget.entries import Charge
from geoveil.errors import LedgerError, LedgerTimeout, LedgerUnavailable
from geoveil.host.processes import is_running, process_space, this_process

__all__ = [
    *("Batching", "Waiting", "begin_lease", "end_lease", "is_held", "owner_of", "renewing_lease", "token_of"),
    *("uninterrupted", "wait_for_leases"),
]

T = TypeVar("T")

#: Seconds that a thread waits beyond its deadline for the thread that commits its request.
_GRACE = 2.0
#: Seconds after which a lease of another machine or container expires. Its holder has paid and gets no answer if
#: another process takes over, which pays as well.
_LEASE = 600.0
#: Seconds between renewals of a lease whose answer takes long to draw.
_RENEWAL = _LEASE / 4
#: Charges whose answers this process is drawing, as long as the charge object exists.
_HELD: weakref.WeakValueDictionary[str, Charge] = weakref.WeakValueDictionary()
#: One condition for each process: a fork may copy a lock that a thread of the parent holds.
_CONDITIONS: dict[tuple[int, bytes], threading.Condition] = {}


@dataclass(eq=False)
class Waiting(Generic[T]):
    """A request with its deadline (a time of `time.monotonic`) and, when it is done, its outcome."""

    deadline: float
    done: bool = field(default=False, init=False)
    #: Whether nobody waits for it any more, so that it is not committed unless a thread is about to.
    withdrawn: bool = field(default=False, init=False)
    #: Whether a thread was interrupted while it committed the request, which may have been committed.
    doubtful: bool = field(default=False, init=False)
    outcome: T | Exception | None = field(default=None, init=False)

    def finish(self, outcome: T | Exception | None) -> None:
        """Set the outcome."""
        if self.doubtful and isinstance(outcome, LedgerError) and outcome.charged == "nothing":
            # It could not be looked up whether the first attempt was committed.
            remedy = "The account's statement tells whether it was charged."
            outcome = type(outcome)(outcome.problem, remedy, charged="unknown")
        self.outcome, self.done = outcome, True


W = TypeVar("W", bound=Waiting)  # type: ignore[type-arg]
Commit: TypeAlias = Callable[[list[W], float], list[T | Exception | None]]


class Batching(Generic[W, T]):
    """A queue of requests, in which one thread at a time commits all waiting requests in one transaction.

    If a batch fails, its requests are committed one by one, so that a request which cannot be committed fails alone.
    If a thread is interrupted while it commits, another thread commits the requests that have no outcome yet. Either
    may happen after the batch was committed, so a request that is committed again must find its first outcome.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: list[W] = []
        #: The request whose thread commits, and its batch.
        self._server: W | None = None
        self._batch: list[W] = []

    def served(self, mine: W, commit: Commit[W, T]) -> T | None:
        """Commit a request, or let another thread commit it; return its outcome, or raise it if it is an error.

        It may be served again if its outcome was None. `commit` commits requests by a deadline, and returns the
        outcome of each, in order. A request that an earlier call has committed gets the outcome of that call, and is
        not committed twice.
        """
        mine.done = False
        try:
            with self._changed:
                self._queue.append(mine)
            while not mine.done:
                if batch := self._turn(mine):
                    self._try(batch, commit)
                    self._end_turn(mine)
        finally:
            self._end_turn(mine)
            with self._changed:
                if mine in self._queue:
                    self._queue.remove(mine)
        if isinstance(mine.outcome, Exception):
            raise mine.outcome
        outcome: T | None = mine.outcome
        return outcome

    def _turn(self, mine: W) -> list[W]:
        """Wait for a request; return all waiting requests if this thread must commit them, else an empty list."""
        with self._changed:
            while self._server is not None and not mine.done:
                left = mine.deadline - time.monotonic()
                queued = mine in self._queue
                if left <= 0 and queued:
                    late = "Other threads held the ledger until the time limit."
                    mine.finish(LedgerTimeout(late, "Try again.", charged="nothing"))
                    break
                if left + _GRACE <= 0:
                    raise LedgerUnavailable(
                        "The ledger did not answer within the time limit.",
                        "The account's statement tells whether it was charged.",
                        charged="unknown",
                    )
                self._changed.wait(left if queued else left + _GRACE)
            for each in [each for each in self._queue if each.withdrawn]:
                each.finish(LedgerUnavailable("The request was withdrawn.", charged="nothing"))
                self._queue.remove(each)
            if mine.done:
                # Others may have been withdrawn with it, and no turn begins whose end would wake their threads.
                self._changed.notify_all()
                return []
            self._server = mine
            self._batch, self._queue = self._queue, []
            return self._batch

    def _end_turn(self, mine: W) -> None:
        """End the turn of a request's thread, if it has one; another thread commits what has no outcome yet."""
        with self._changed:
            if self._server is mine:
                self._queue = [each for each in self._batch if not each.done] + self._queue
                self._server, self._batch = None, []
                self._changed.notify_all()

    def _try(self, batch: list[W], commit: Commit[W, T]) -> None:
        deadline = min(each.deadline for each in batch)
        try:
            for each, outcome in zip(batch, commit(batch, deadline), strict=True):
                each.finish(outcome)
        except LedgerTimeout as problem:
            for each in batch:
                # Requests with a later deadline are tried again.
                if each.deadline <= deadline:
                    each.finish(problem)
        except BaseException as problem:
            for each in batch:
                each.doubtful |= not isinstance(problem, LedgerError)
            if not isinstance(problem, Exception):
                raise
            if len(batch) == 1:
                batch[0].finish(problem)
                return
            for each in batch:
                if not each.done:
                    self._try([each], commit)


def begin_lease(charge: Charge) -> None:
    """Take a lease: this process is about to draw the answer of a charge."""
    _HELD[charge.token] = charge


def end_lease(charge: Charge) -> None:
    """Give up a lease, and wake the threads that wait for one."""
    with _ended() as ended:
        _HELD.pop(charge.token, None)
        ended.notify_all()


@contextmanager
def renewing_lease(renew: Callable[[], None]) -> Iterator[None]:
    """Renew a lease from time to time, in a thread, until the block ends: other machines see that its holder runs."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(_RENEWAL):
            renew()

    thread = threading.Thread(target=work, name="geoveil-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def wait_for_leases(seconds: float) -> None:
    """Wait until a lease of this process ends, at most for some seconds; those of other processes send no signal."""
    with _ended() as ended:
        ended.wait(seconds)


@contextmanager
def _ended() -> Iterator[threading.Condition]:
    """Hold the condition that is notified when a lease of this process ends."""
    with (condition := _CONDITIONS.setdefault(this_process(), threading.Condition())):
        yield condition


def owner_of(token: str, now: str) -> str:
    """Return the holder of an attempt's lease as JSON, from which others can tell whether the lease is held.

    `now` is the time by the store's clock, which all machines share: those of two machines may differ.
    """
    number, start = this_process()
    holder = {"home": process_space(), "process": number, "start": start.decode(), "since": now}
    return json.dumps({**holder, "token": token})


def token_of(owner: str) -> str:
    """Return the token of the attempt that holds a lease."""
    return str(json.loads(owner)["token"])


def is_held(owner: str, now: str) -> bool:
    """Tell whether a lease is held, by its `owner_of`: by a thread of this process, or another that still runs."""
    holder = json.loads(owner)
    process: tuple[int, bytes] = holder["process"], holder["start"].encode()
    if holder["home"] == process_space():
        if process == this_process():
            return holder["token"] in _HELD
        if not is_running(process):
            return False
        if process[1]:
            return True
    if not isinstance(holder["since"], str):  # by the clock of a machine, from a geoveil that did not ask the store
        return False
    # Whether the holder still runs is unknown. A clock that was once ahead must not make a lease last for years.
    age = datetime.fromisoformat(now) - datetime.fromisoformat(holder["since"])
    return abs(age.total_seconds()) < _LEASE


def uninterrupted(work: Callable[[], T]) -> T:
    """Do work to its end, also if this thread is interrupted while it waits for the result.

    In the main thread, the work is done by another thread, which no signal interrupts. Other threads do it themselves.
    """
    if not _is_main() or sys.is_finalizing():
        return work()
    job = _Job(work)
    _WORKERS.setdefault(this_process(), _Workers()).do(job)
    job.waits.acquire()
    if job.problems:
        raise job.problems.pop()
    return job.results.pop()


def _is_main() -> bool:
    return threading.get_ident() == threading.main_thread().ident


class _Job(Generic[T]):
    """Work that another thread does, with the context variables of the thread that makes the job."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work, self._context = work, contextvars.copy_context()
        #: Released at the end, for the thread that waits for it, and for those that ask whether it has ended.
        self.waits, self.unfinished = threading.Lock(), threading.Lock()
        self.waits.acquire()
        self.unfinished.acquire()
        self.results: list[T] = []
        self.problems: list[BaseException] = []

    def run(self) -> None:
        """Do the work, and keep its result or its error."""
        try:
            self.results.append(self._context.run(self._work))
        except BaseException as problem:
            self.problems.append(problem)
        finally:
            self.unfinished.release()
            self.waits.release()


class _Workers:
    """Threads that do the work of the main thread: one, and one more for each job that it no longer waits for.

    A thread is kept, since one that has just started is several times slower: it finds no memory of its own.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job[object] | None] = SimpleQueue()
        self._unfinished: list[threading.Lock] = []
        #: The number of threads. An interruption may leave one more, which is not counted.
        self._threads = 0
        #: Has an element for each thread that has ended.
        self._ended: SimpleQueue[None] = SimpleQueue()

    def do(self, job: _Job[T]) -> None:
        """Let a thread do a job. Only the main thread calls this, and may be interrupted anywhere in it."""
        self._unfinished = [*(each for each in self._unfinished if each.locked()), job.unfinished]
        self._jobs.put(job)  # type: ignore[arg-type]
        try:
            while self._threads < len(self._unfinished):
                _thread.start_new_thread(self._work, ())
                self._threads += 1
        except RuntimeError:  # Python is about to end, or the system has no more threads
            if not self._threads and (left := self._jobs.get()) is not None:
                left.run()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
            del job
        self._ended.put(None)

    def dismiss(self) -> None:
        """End the threads, unless they have work to do."""
        if any(each.locked() for each in self._unfinished):
            return
        threads, self._threads = self._threads, 0
        for _ in range(threads):
            self._jobs.put(None)
        for _ in range(threads):
            self._ended.get()


#: The workers of each process: a fork copies them, but not their threads.
_WORKERS: dict[tuple[int, bytes], _Workers] = {}


def _before_fork() -> None:
    """End idle threads before a fork: Python warns of forks of processes with several threads."""
    workers = _WORKERS.get(this_process())
    if workers is not None and _is_main():
        workers.dismiss()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)
