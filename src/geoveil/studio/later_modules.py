"""Modules that only later pages need: importing them takes a second, while the user looks at the first page."""

from __future__ import annotations

import threading
from importlib import import_module

__all__ = ["prepare"]

_MODULES = ("requests.foresight", "requests.preview", "studio.actions", "studio.map_view", "studio.releasing")
_lock = threading.Lock()


def prepare() -> None:
    """Import the rest of the studio, once; further threads that ask for it wait for the first one."""
    with _lock:
        for name in _MODULES:
            import_module(f"geoveil.{name}")
