"""Work in the background that continues while pages come and go: reading a file, checking it, releasing it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from geoveil._types import Progress

__all__ = ["Job"]

T = TypeVar("T")


class _GivenUp(BaseException):
    """Nobody waits for the work any more. It is no error that the work could handle."""


class Job(Generic[T]):
    """Work in a thread, whose progress and result any page can show; closing a page does not stop it.

    Parameters
    ----------
    title : str
        What is being done, for people.
    work : callable
        The function that does the work. It is given a function to call with the share that is done, from 0 to 1.

    Examples
    --------
    >>> job = Job("Adding", lambda tell: 1 + 1)
    >>> job.wait(10)
    True
    >>> job.result, job.problem
    (2, None)
    """

    def __init__(self, title: str, work: Callable[[Progress], T]) -> None:
        self.title = title
        self.share = 0.0
        self.result: T | None = None
        self.problem: Exception | None = None
        self._given_up = False
        # The studio can end without waiting for a daemon thread.
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[Progress], T]) -> None:
        try:
            self.result = work(self._tell)
        except Exception as problem:  # told to the owner by the page
            self.problem = problem
        except _GivenUp:
            return

    def _tell(self, share: float) -> None:
        if self._given_up:
            raise _GivenUp
        self.share = max(self.share, min(share, 1.0))

    @property
    def running(self) -> bool:
        """Whether the work is still running."""
        return self._thread.is_alive()

    def wait(self, seconds: float) -> bool:
        """Wait for the work to end, for at most `seconds` seconds, and return whether it has ended."""
        self._thread.join(seconds)
        return not self.running

    def give_up(self) -> None:
        """Stop the work when it tells its progress next; it ends without a result.

        Only for work that changes nothing but its own result, such as a preview: never for a release.
        """
        self._given_up = True
