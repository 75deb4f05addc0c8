"""Let threads that charge at the same time share one commit, since commits are expensive."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

from geoveil.errors import LedgerError, LedgerTimeout, LedgerUnavailable

__all__ = ["Batching", "Waiting"]

R = TypeVar("R")
A = TypeVar("A")
Commit: TypeAlias = Callable[[list[R], float], list[A | Exception | None]]

#: Seconds that a thread waits beyond its deadline for the thread that commits its request.
_GRACE = 2.0


class Waiting(Generic[R, A]):
    """A request with its deadline and, when it is done, its outcome.

    Parameters
    ----------
    request : object
        The request.
    deadline : float
        Time of `time.monotonic` at which to give up.
    """

    def __init__(self, request: R, deadline: float) -> None:
        self.request, self.deadline = request, deadline
        self.done = False
        #: Whether nobody waits for it any more, so that it is not committed unless a thread is about to.
        self.withdrawn = False
        #: Whether a thread was interrupted while it committed the request, which may have been committed.
        self.doubtful = False
        self.outcome: A | Exception | None = None

    def finish(self, outcome: A | Exception | None) -> None:
        """Set the outcome."""
        if self.doubtful and isinstance(outcome, LedgerError) and outcome.charged == "nothing":
            # It could not be looked up whether the first attempt was committed.
            remedy = "The account's statement tells whether it was charged."
            outcome = type(outcome)(outcome.problem, remedy, charged="unknown")
        self.outcome, self.done = outcome, True


class Batching(Generic[R, A]):
    """A queue of requests, in which one thread at a time commits all waiting requests in one transaction.

    If a batch fails, its requests are committed one by one, so that a request which cannot be committed fails alone.
    If a thread is interrupted while it commits, another thread commits the requests that have no outcome yet. Either
    may happen after the batch was committed, so a request that is committed again must find its first outcome.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: list[Waiting[R, A]] = []
        #: The request whose thread commits, and its batch.
        self._server: Waiting[R, A] | None = None
        self._batch: list[Waiting[R, A]] = []

    def served(self, mine: Waiting[R, A], commit: Commit[R, A]) -> A | None:
        """Commit a request, or let another thread commit it; return its outcome, or raise it if it is an error.

        Parameters
        ----------
        mine : Waiting
            The request, which may be served again if its outcome was None.
        commit : callable
            Commits requests by a deadline, and returns the outcome of each, in order. A request that an earlier call
            has committed gets the outcome of that call, and is not committed twice.
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
        return mine.outcome

    def _turn(self, mine: Waiting[R, A]) -> list[Waiting[R, A]]:
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

    def _end_turn(self, mine: Waiting[R, A]) -> None:
        """End the turn of a request's thread, if it has one; another thread commits what has no outcome yet."""
        with self._changed:
            if self._server is mine:
                self._queue = [each for each in self._batch if not each.done] + self._queue
                self._server, self._batch = None, []
                self._changed.notify_all()

    def _try(self, batch: list[Waiting[R, A]], commit: Commit[R, A]) -> None:
        deadline = min(each.deadline for each in batch)
        try:
            outcomes = commit([each.request for each in batch], deadline)
            for each, outcome in zip(batch, outcomes, strict=True):
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
