"""Leases on answers that are being drawn: others with the same key wait for the answer instead of paying again."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from geoveil.budget.entries import Charge
from geoveil.processes import is_running, this_process

__all__ = ["begin", "end", "is_held", "owner_of", "renewing", "wait"]

#: Seconds after which a lease of another machine or container expires. Its holder has paid and gets no answer if
#: another process takes over, which pays as well.
_LEASE = 600.0
#: Seconds between renewals of a lease whose answer takes long to draw.
_RENEWAL = _LEASE / 4
#: Charges whose answers this process is drawing, as long as the charge object exists.
_HELD: weakref.WeakValueDictionary[str, Charge] = weakref.WeakValueDictionary()
#: One condition for each process: a fork may copy a lock that a thread of the parent holds.
_CONDITIONS: dict[tuple[int, bytes], threading.Condition] = {}


def begin(charge: Charge) -> None:
    """Take a lease: this process is about to draw the answer of a charge."""
    _HELD[charge.token] = charge


def end(charge: Charge) -> None:
    """Give up a lease, and wake the threads that wait for one."""
    with _ended() as ended:
        _HELD.pop(charge.token, None)
        ended.notify_all()


@contextmanager
def renewing(renew: Callable[[], None]) -> Iterator[None]:
    """Renew a lease from time to time, in a thread, until the block ends: other machines see that its holder runs."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(_RENEWAL):
            renew()

    thread = threading.Thread(target=work, name="geoveil-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def wait(seconds: float) -> None:
    """Wait until a lease of this process ends, at most for some seconds; those of other processes send no signal."""
    with _ended() as ended:
        ended.wait(seconds)


@contextmanager
def _ended() -> Iterator[threading.Condition]:
    """Hold the condition that is notified when a lease of this process ends."""
    with (condition := _CONDITIONS.setdefault(this_process(), threading.Condition())):
        yield condition


def owner_of(token: str) -> str:
    """Return the description of a lease's holder, from which others can tell whether it still runs, as JSON."""
    number, start = this_process()
    holder = {"home": _home(), "process": number, "start": start.decode(), "since": time.time()}
    return json.dumps({**holder, "token": token})


def _home() -> str:
    """Return the name of the machine and container, within which a process id identifies a process."""
    try:
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # a system without namespaces
        return socket.gethostname()


def is_held(owner: str) -> bool:
    """Tell whether a lease is held: by a thread of this process, or by another process that still runs."""
    holder = json.loads(owner)
    process: tuple[int, bytes] = holder["process"], holder["start"].encode()
    if holder["home"] == _home():
        if process == this_process():
            return holder["token"] in _HELD
        if not is_running(process):
            return False
        if process[1]:
            return True
    # Whether the holder still runs is unknown. A clock that was once ahead must not make a lease last for years.
    return bool(abs(time.time() - holder["since"]) < _LEASE)
