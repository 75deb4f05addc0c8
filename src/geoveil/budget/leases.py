"""Leases on answers that are being drawn: others with the same key wait for the answer instead of paying again."""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from geoveil.budget.entries import Charge
from geoveil.processes import is_running, process_space, this_process

__all__ = ["begin", "end", "is_held", "owner_of", "renewing", "token_of", "wait"]

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


def owner_of(token: str, now: str) -> str:
    """Return the holder of an attempt's lease as JSON, from which others can tell whether the lease is held.

    `now` is the time by the store's clock, which all machines share: those of two machines may differ.
    """
    number, start = this_process()
    holder = {"home": process_space(), "process": number, "start": start.decode(), "since": now}
    return json.dumps({**holder, "token": token})


def token_of(owner: str) -> str:
    """Return the token of the attempt that holds a lease."""
    return str(json.loads(owner)["token"])


def is_held(owner: str, now: str) -> bool:
    """Tell whether a lease is held, by its `owner_of`: by a thread of this process, or another that still runs."""
    holder = json.loads(owner)
    process: tuple[int, bytes] = holder["process"], holder["start"].encode()
    if holder["home"] == process_space():
        if process == this_process():
            return holder["token"] in _HELD
        if not is_running(process):
            return False
        if process[1]:
            return True
    if not isinstance(holder["since"], str):  # by the clock of a machine, from a geoveil that did not ask the store
        return False
    # Whether the holder still runs is unknown. A clock that was once ahead must not make a lease last for years.
    age = datetime.fromisoformat(now) - datetime.fromisoformat(holder["since"])
    return abs(age.total_seconds()) < _LEASE
