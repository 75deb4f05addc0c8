"""Keep interruptions away from the ledger: Ctrl-C, timers and other signals whose handlers raise an error.

Python runs the handlers of signals in the main thread, between any two of its steps. An error there could leave a lock
held forever, or a commit whose outcome nobody has noted, and other threads depend on both. So another thread does the
work of the main thread.

Threads wait for each other by plain locks and queues here, whose calls are single steps. Events and conditions are
written in Python: interrupted in the middle, they would never wake anyone again.
"""

from __future__ import annotations

import _thread
import contextvars
import os
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

from geoveil.processes import this_process

__all__ = ["uninterrupted"]

T = TypeVar("T")


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


def _locked() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


class _Job(Generic[T]):
    """Work that another thread does.

    Parameters
    ----------
    work : callable
        The work, which sees the context variables of the thread that makes the job.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work, self._context = work, contextvars.copy_context()
        #: Released at the end, for the thread that waits for it, and for those that ask whether it has ended.
        self.waits, self.unfinished = _locked(), _locked()
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
