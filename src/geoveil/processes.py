"""Which process this is, so that state copied by a fork is not taken for one's own."""

from __future__ import annotations

import os

__all__ = ["is_running", "this_process"]


def this_process() -> tuple[int, bytes]:
    """Return the identity of this process: its id, and when it started.

    The start tells it from an earlier process of the same id. Both are asked for anew every time, so a fork made in C
    is noticed like one that Python knows of. A system without `/proc` does not tell the start; there the id stands
    alone.
    """
    return os.getpid(), _start("self")


def is_running(process: tuple[int, bytes]) -> bool:
    """Tell whether a process of this machine is there; without `/proc`, whether any process has its id."""
    number, start = process
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _start(number) in (start, b"")


def _start(process: int | str) -> bytes:
    """Return the start of a process in ticks since the machine started, or nothing if the system does not tell."""
    try:
        file = os.open(f"/proc/{process}/stat", os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return b""
    try:
        told = os.read(file, 4096)
    finally:
        os.close(file)
    # The second field, a name in parentheses, may hold anything; the start is the 22nd.
    return told.rpartition(b")")[2].split()[19]
