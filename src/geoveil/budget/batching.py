"""Threads that charge at the same time share a commit, since commits are expensive."""

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

#: Seconds that a thread waits beyond its deadline for the one that is committing for it.
_GRACE = 2.0


class Waiting(Generic[R, A]):
    """A request that waits for its turn until a deadline, and what came of it.

    Parameters
    ----------
    request : object
        What is asked for.
    deadline : float
        When to give up, by `time.monotonic`.
    """

    def __init__(self, request: R, deadline: float) -> None:
        self.request, self.deadline = request, deadline
        self.done = False
        self.outcome: A | Exception | None = None

    def finish(self, outcome: A | Exception | None) -> None:
        """Note the outcome."""
        self.outcome, self.done = outcome, True


class Batching(Generic[R, A]):
    """A queue of requests: whichever thread has its turn commits all that wait, in one transaction.

    A batch that fails is tried one by one, so that a request which cannot be committed fails alone.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: list[Waiting[R, A]] = []
        self._serving = False

    def served(self, request: R, deadline: float, commit: Commit[R, A]) -> A | None:
        """Commit a request, or have another thread commit it; return its outcome or raise it.

        Parameters
        ----------
        request : object
            What is asked for.
        deadline : float
            When to give up, by `time.monotonic`.
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
        """Wait until a request is done, or it is this thread's turn to serve all that wait: return them."""
        with self._changed:
            while self._serving and not mine.done:
                left = mine.deadline - time.monotonic()
                queued = mine in self._queue
                if left <= 0 and queued:
                    raise LedgerTimeout("Other threads held the ledger until the time was up. Nothing was charged.")
                if left + _GRACE <= 0:
                    raise LedgerUnavailable(
                        "The ledger did not answer before the time was up. Nothing was released; whether it was "
                        "charged the statement will tell."
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
                # After an interruption the others are served by another thread.
                self._queue = [each for each in batch if not each.done] + self._queue
                self._serving = False
                self._changed.notify_all()

    def _try(self, batch: list[Waiting[R, A]], commit: Commit[R, A]) -> None:
        deadline = min(each.deadline for each in batch)
        try:
            outcomes = commit([each.request for each in batch], deadline)
        except LedgerTimeout as problem:
            for each in batch:
                # The others have time left.
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
