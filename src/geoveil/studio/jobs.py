"""Work that goes on while pages come and go: reading a file, checking it, releasing it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from geoveil._types import Progress

__all__ = ["Job"]

T = TypeVar("T")


class Job(Generic[T]):
    """Work in a thread, whose progress and result any page can show; closing a page does not stop it.

    Parameters
    ----------
    title : str
        What is being done, for people.
    work : callable
        Does it. It is given a function to call with the share that is done, from 0 to 1.

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
        self._done = threading.Event()
        # A studio that ends does not wait for it.
        threading.Thread(target=self._run, args=(work,), daemon=True).start()

    def _run(self, work: Callable[[Progress], Any]) -> None:
        try:
            self.result = work(self._tell)
        except Exception as problem:  # told to the owner by the page
            self.problem = problem
        finally:
            self.share = 1.0
            self._done.set()

    def _tell(self, share: float) -> None:
        self.share = max(self.share, min(share, 1.0))

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return not self._done.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end for so many seconds, and return whether it was reached."""
        return self._done.wait(seconds)
