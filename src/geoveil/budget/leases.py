"""Attempts to draw an answer: who is at it, so that others with the same key wait instead of paying too."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from geoveil.budget.entries import Charge
from geoveil.processes import is_running, this_process

__all__ = ["begin", "end", "is_held", "owner_of", "wait"]

#: Seconds after which an attempt on another machine, or in another container, counts as dead. Whoever is overtaken has
#: paid and gets no answer; whoever overtakes pays as well.
_LEASE = 600.0
#: Attempts of this process, each as long as someone holds its charge.
_ATTEMPTS: weakref.WeakValueDictionary[str, Charge] = weakref.WeakValueDictionary()
#: One for each process: a fork may copy a lock that a thread of the parent holds.
_CONDITIONS: dict[tuple[int, bytes], threading.Condition] = {}


def begin(charge: Charge) -> None:
    """Note that this process is about to draw under a charge."""
    _ATTEMPTS[charge.token] = charge


def end(charge: Charge) -> None:
    """Note that an attempt has ended, and wake the threads that wait for it."""
    with _ended() as ended:
        _ATTEMPTS.pop(charge.token, None)
        ended.notify_all()


def wait(seconds: float) -> None:
    """Wait until an attempt of this process ends, or for some seconds: those of other processes give no signal."""
    with _ended() as ended:
        ended.wait(seconds)


@contextmanager
def _ended() -> Iterator[threading.Condition]:
    """Hold the condition that is notified when an attempt of this process ends."""
    with (condition := _CONDITIONS.setdefault(this_process(), threading.Condition())):
        yield condition


def owner_of(token: str) -> str:
    """Describe who draws, so that others can tell whether it is still there."""
    number, start = this_process()
    told = {"home": _home(), "process": number, "start": start.decode(), "since": time.time()}
    return json.dumps({**told, "token": token})


def _home() -> str:
    """Return the machine, and within it the container, in which the number of a process means that process."""
    try:
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # a system without namespaces
        return socket.gethostname()


def is_held(owner: str) -> bool:
    """Tell whether whoever was charged may still draw: a thread of this process, or another process that is there."""
    told = json.loads(owner)
    process: tuple[int, bytes] = told["process"], told["start"].encode()
    if told["home"] == _home():
        if process == this_process():
            return told["token"] in _ATTEMPTS
        if not is_running(process):
            return False
        if process[1]:
            return True
    # Whether it is there cannot be told. A clock that was ahead must not make a lease last for years.
    return bool(abs(time.time() - told["since"]) < _LEASE)
