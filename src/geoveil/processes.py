"""Which process this is, so that state copied by a fork is not taken for one's own."""

from __future__ import annotations

import mmap
import os
import sys

__all__ = ["is_running", "this_process"]


#: Linux's MADV_WIPEONFORK, which Python's mmap has no name for.
_WIPE_ON_FORK = 18


def this_process() -> tuple[int, bytes]:
    """Return the identity of this process: its id, and when it started.

    The start tells it from an earlier process of the same id. A fork made in C is noticed like one that Python knows
    of. A system without `/proc` does not tell the start; there the id stands alone.
    """
    if _PAGE is None:
        return os.getpid(), _start("self")
    while not (known := bytes(_PAGE[:64]).rstrip(b"\x00")):
        number, start = os.getpid(), _start("self")
        told = b"%d %b" % (number, start)
        _PAGE[: len(told)] = told
        if os.getpid() != number:
            # A signal's handler has forked since, and the page is the child's, with the parent's identity in it.
            _PAGE[:64] = bytes(64)
    number_text, _, start = known.partition(b" ")
    return int(number_text), start


def _forgetful_page() -> mmap.mmap | None:
    """Return a page of memory that is empty in every fork, since the kernel sees to that; None on other systems.

    The start of a process takes a tenth of a millisecond to read, and is asked for many times: the page remembers it.
    """
    if sys.platform != "linux":
        return None
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        page.madvise(_WIPE_ON_FORK)
    except (OSError, ValueError):
        page.close()
        return None
    return page


_PAGE = _forgetful_page()


def is_running(process: tuple[int, bytes]) -> bool:
    """Tell whether a process of this machine is there; without `/proc`, whether any process has its id.

    A process that has ended counts as gone, also while its parent has not noticed yet.
    """
    number, start = process
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    told = _told(number)
    if not told:
        return True
    # A main thread can end before the others; the process then goes on.
    has_ended = told[_STATE] in (b"Z", b"X") and int(told[_THREADS]) <= 1
    return told[_START] == start and not has_ended


def _start(process: int | str) -> bytes:
    """Return the start of a process in ticks since the machine started, or nothing if the system does not tell."""
    told = _told(process)
    return told[_START] if told else b""


#: Where the system tells the state of a process, the number of its threads and its start.
_STATE, _THREADS, _START = 0, 17, 19


def _told(process: int | str) -> list[bytes]:
    """Return what the system tells of a process after its name; nothing if it does not tell."""
    try:
        file = os.open(f"/proc/{process}/stat", os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    try:
        told = os.read(file, 4096)
    except ProcessLookupError:  # it has ended since
        return []
    finally:
        os.close(file)
    # The second field, a name in parentheses, may hold anything.
    return told.rpartition(b")")[2].split()
