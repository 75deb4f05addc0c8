"""Work in the background that continues while pages come and go: reading a file, checking it, releasing it."""

from __future__ import annotations

import ctypes
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
        # The studio can end without waiting for a daemon thread.
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[Progress], Any]) -> None:
        try:
            self.result = work(self._tell)
        except Exception as problem:  # told to the owner by the page
            self.problem = problem
        except SystemExit:
            # `stop` has given up the work.
            return

    def _tell(self, share: float) -> None:
        self.share = max(self.share, min(share, 1.0))

    @property
    def running(self) -> bool:
        """Whether the work is still running."""
        return self._thread.is_alive()

    def wait(self, seconds: float) -> bool:
        """Wait for the work to end, for at most `seconds` seconds, and return whether it has ended."""
        self._thread.join(seconds)
        return not self.running

    def stop(self) -> None:
        """Give up work that nobody waits for any more; it ends soon, without a result.

        Only for work that changes nothing but its own result, such as a preview: never for a release.
        """
        if self._thread.ident is not None and self.running:
            # Long computations never ask whether they should stop. Python raises this between two of their steps.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._thread.ident), ctypes.py_object(SystemExit)
            )
