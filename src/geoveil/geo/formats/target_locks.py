"""A lock for each file that is being written, so that two programs never write the same one at a time."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from geoveil.errors import FileUnavailable

__all__ = ["locked"]


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Lock a target while it is written; refuse one that another program writes.

    The system ends the lock with the process, in whatever way that ends. Where a file system has no locks, nothing is
    locked.
    """
    # A digest, since the name itself may be as long as a file system allows. Some systems ignore capitals.
    name = hashlib.sha256(os.fsencode(target.name.casefold())).hexdigest()[:16]
    path = target.with_name(f".geoveil-{name}.lock")
    lock = FileLock(path, timeout=0, mode=0o600, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        remedy = "Wait until it has finished, or choose another name."
        raise FileUnavailable(str(target), "another program is writing it", "a file of your own", remedy) from None
    except (OSError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        # Removed while it is locked: whoever has opened it meanwhile sees that it has no name any more, and opens
        # another. Windows removes a file only after it was closed, and only if nobody else has opened it.
        with suppress(OSError):
            path.unlink()
        lock.release(force=True)
        if sys.platform == "win32":
            with suppress(OSError):
                path.unlink()
