"""Who is about to draw under a charge, so that nobody else does."""

from __future__ import annotations

import json
import os
import socket
import time

__all__ = ["LIVE", "is_drawing", "owner_of"]

#: What this process is about to draw.
LIVE: set[str] = set()
#: Nobody draws for so many seconds.
_DRAWING = 600


def owner_of(token: str) -> str:
    """Who draws: a process, so that others can tell whether it is still there."""
    return json.dumps({"host": socket.gethostname(), "process": os.getpid(), "since": time.time(), "token": token})


def is_drawing(owner: str) -> bool:
    """Whether the owner of a charge may still be about to draw: another process that is there, or a thread of this."""
    told = json.loads(owner)
    recent = bool(time.time() - told["since"] < _DRAWING)
    if told["host"] != socket.gethostname():
        return recent
    if told["process"] == os.getpid():
        return recent and told["token"] in LIVE
    try:
        os.kill(told["process"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return recent
