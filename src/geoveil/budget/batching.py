"""Threads that charge at the same time share a commit, since commits are expensive."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from geoveil.budget.charging import Request
from geoveil.budget.entries import Charge
from geoveil.errors import LedgerTimeout
from geoveil.processes import this_process

__all__ = ["Batching"]


class Batching:
    """A queue of charges: whichever thread has its turn serves all that wait, in one transaction.

    Parameters
    ----------
    serve : callable
        Serves some requests: sets `done`, and `charge` or `problem`, of each.
    timeout : float
        Seconds that a thread waits for others.
    """

    def __init__(self, serve: Callable[[list[Request]], None], timeout: float) -> None:
        self._serve = serve
        self._timeout = timeout
        self._begin_process()

    def _begin_process(self) -> None:
        """Begin anew: a fork copies the queue of the parent's threads, but not the threads."""
        self._process = this_process()
        self._waiting = threading.Condition()
        self._queue: list[Request] = []
        self._serving = False

    def served(self, request: Request) -> Charge | None:
        """Serve a request, or have another thread serve it; return its charge or raise its problem."""
        deadline = time.monotonic() + self._timeout
        if self._process != this_process():
            self._begin_process()
        with self._waiting:
            request.done = False
            self._queue.append(request)
            try:
                while not request.done and self._serving:
                    if not self._waiting.wait(deadline - time.monotonic()) and request in self._queue:
                        late = f"Other threads held the ledger for {self._timeout:g} s. Nothing was charged."
                        raise LedgerTimeout(late)
            except BaseException:
                if request in self._queue:
                    self._queue.remove(request)
                raise
            batch = [] if request.done else self._queue
            if batch:
                self._queue, self._serving = [], True
        if batch:
            try:
                self._serve(batch)
            finally:
                with self._waiting:
                    self._serving = False
                    self._waiting.notify_all()
        if request.problem is not None:
            raise request.problem
        return request.charge
