"""Let threads that charge at the same time share one commit, since commits are expensive."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

from geoveil.errors import LedgerTimeout, LedgerUnavailable

__all__ = ["Batching", "Waiting"]

R = TypeVar("R")
A = TypeVar("A")
Commit: TypeAlias = Callable[[list[R], float], list[A | Exception | None]]

#: Seconds that a thread waits beyond its deadline for the thread that commits its request.
_GRACE = 2.0


class Waiting(Generic[R, A]):
    """A queued request with its deadline and, when it is done, its outcome.

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
        self.outcome: A | Exception | None = None

    def finish(self, outcome: A | Exception | None) -> None:
        """Set the outcome."""
        self.outcome, self.done = outcome, True


class Batching(Generic[R, A]):
    """A queue of requests, in which one thread at a time commits all waiting requests in one transaction.

    If a batch fails, its requests are committed one by one, so that a request which cannot be committed fails alone.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: list[Waiting[R, A]] = []
        self._serving = False

    def served(self, request: R, deadline: float, commit: Commit[R, A]) -> A | None:
        """Commit a request, or let another thread commit it; return its outcome, or raise it if it is an error.

        Parameters
        ----------
        request : object
            The request.
        deadline : float
            Time of `time.monotonic` at which to give up.
        commit : callable
            Commits requests by a deadline, and returns the outcome of each, in order. It raises an error only if
            nothing was committed.
        """
        mine: Waiting[R, A] = Waiting(request, deadline)
        with self._changed:
            self._queue.append(mine)
        try:
            while not mine.done:
                if batch := self._turn(mine):
                    self._serve(batch, commit)
        except BaseException:
            with self._changed:
                if mine in self._queue:
                    self._queue.remove(mine)
            raise
        if isinstance(mine.outcome, Exception):
            raise mine.outcome
        return mine.outcome

    def _turn(self, mine: Waiting[R, A]) -> list[Waiting[R, A]]:
        """Wait for a request; return all waiting requests if this thread must commit them, else an empty list."""
        with self._changed:
            while self._serving and not mine.done:
                left = mine.deadline - time.monotonic()
                queued = mine in self._queue
                if left <= 0 and queued:
                    raise LedgerTimeout(
                        "Other threads held the ledger until the time limit.", "Try again.", charged="nothing"
                    )
                if left + _GRACE <= 0:
                    raise LedgerUnavailable(
                        "The ledger did not answer within the time limit.",
                        "The account's statement tells whether it was charged.",
                        charged="unknown",
                    )
                self._changed.wait(left if queued else left + _GRACE)
            if mine.done:
                return []
            batch, self._queue, self._serving = self._queue, [], True
            return batch

    def _serve(self, batch: list[Waiting[R, A]], commit: Commit[R, A]) -> None:
        try:
            self._try(batch, commit)
        finally:
            with self._changed:
                # After an interruption another thread commits the remaining requests.
                self._queue = [each for each in batch if not each.done] + self._queue
                self._serving = False
                self._changed.notify_all()

    def _try(self, batch: list[Waiting[R, A]], commit: Commit[R, A]) -> None:
        deadline = min(each.deadline for each in batch)
        try:
            outcomes = commit([each.request for each in batch], deadline)
        except LedgerTimeout as problem:
            for each in batch:
                # Requests with a later deadline are tried again.
                if each.deadline <= deadline:
                    each.finish(problem)
        except Exception as problem:
            if len(batch) == 1:
                batch[0].finish(problem)
                return
            for each in batch:
                self._try([each], commit)
        else:
            for each, outcome in zip(batch, outcomes, strict=True):
                each.finish(outcome)
