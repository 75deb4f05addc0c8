"""The identity of a process, so that what another one has left, or a fork has copied, is not taken for its own."""

from __future__ import annotations

import mmap
import os
import sys
import uuid
from functools import cache, lru_cache

__all__ = ["is_running", "process_space", "this_process"]


#: Linux's MADV_WIPEONFORK, which Python's mmap has no name for.
_WIPE_ON_FORK = 18


def this_process() -> tuple[int, bytes]:
    """Return the identity of this process: its id, and when it started.

    The start distinguishes it from an earlier process of the same id. A fork made in C is noticed like one that Python
    knows of. On a Linux system without `/proc` the start is empty, and the id stands alone.
    """
    if _PAGE is None:
        return os.getpid(), _start("self") if sys.platform == "linux" else _start_once(os.getpid())
    while not (known := bytes(_PAGE[:64]).rstrip(b"\x00")):
        number, start = os.getpid(), _start("self")
        identity = b"%d %b" % (number, start)
        _PAGE[: len(identity)] = identity
        if os.getpid() != number:
            # A signal handler forked in the meantime: this is the child's page, into which the parent's identity was
            # written.
            _PAGE[:64] = bytes(64)
    number_text, _, start = known.partition(b" ")
    return int(number_text), start


def process_space() -> str:
    """Return what tells apart processes of the same id: the machine since it was started, and the container on it.

    Two machines may have the same host name, and a machine may change its own. On Linux the kernel chooses a random
    number whenever it starts; on other systems the address of the network card stands for the machine.
    """
    return _space_of(this_process())


@lru_cache(maxsize=1)
def _space_of(process: tuple[int, bytes]) -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            machine = file.read().strip()
    except OSError:
        machine = f"{uuid.getnode():012x}"
    try:
        return f"{machine} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # a system without namespaces
        return machine


def _forgetful_page() -> mmap.mmap | None:
    """Return a page of memory that the kernel empties in every fork; None on systems other than Linux.

    Reading the start of a process takes a tenth of a millisecond and is needed often, so the page caches it.
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
    """Return whether a process of this machine is running, given its identity.

    A process that has ended counts as gone, also while its parent has not noticed. Where the system does not reveal
    when the process started, any process of its id counts.
    """
    number, start = process
    if sys.platform != "linux":
        return _is_alive(number) and _start(number) in (start, b"")
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and another user's
        pass
    fields = _fields(number)
    if not fields:
        return True
    # The main thread can end before the others, and the process then goes on.
    has_ended = fields[_STATE] in (b"Z", b"X") and int(fields[_THREADS]) <= 1
    return fields[_START] == start and not has_ended


def _start(process: int | str) -> bytes:
    """Return when a process started, by its id or "self"; empty if the system does not reveal it.

    On Linux these are ticks since the machine started. psutil would add the time at which the machine started, which
    changes whenever the clock is set.
    """
    if sys.platform == "linux":
        fields = _fields(process)
        return fields[_START] if fields else b""
    import psutil

    try:
        return repr(psutil.Process(int(process)).create_time()).encode()
    except psutil.Error:
        return b""


#: On macOS, too, psutil's times of start change with the clock. A process asks for its own once.
_start_once = cache(_start)


def _is_alive(number: int) -> bool:
    """Return whether a process has not ended, on systems other than Linux."""
    import psutil

    try:
        return bool(psutil.Process(number).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:  # it is there, and another user's
        return True


#: Positions of the state of a process, the number of its threads and its start among the fields of `_fields`.
_STATE, _THREADS, _START = 0, 17, 19


def _fields(process: int | str) -> list[bytes]:
    """Return the fields of Linux's `/proc/PROCESS/stat` that follow the name; none if it cannot be read."""
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
    # The second field, a name in parentheses, may contain anything.
    return told.rpartition(b")")[2].split()
