"""What pages beyond the first need: it takes a second to import, while a person looks at the first one."""

from __future__ import annotations

import threading
from importlib import import_module

__all__ = ["prepare"]

_MODULES = ("actions", "foresight", "map_view", "opened_data", "preview", "releasing")
_lock = threading.Lock()


def prepare() -> None:
    """Import the rest of the studio, once; several threads that want it wait for the first one."""
    with _lock:
        for name in _MODULES:
            import_module(f"geoveil.studio.{name}")
