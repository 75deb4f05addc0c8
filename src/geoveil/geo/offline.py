"""PROJ without the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["offline"]


@contextmanager
def offline() -> Iterator[None]:
    """Let PROJ use only operations whose files are on this machine.

    Where the environment allows PROJ to use the network, it would request the parts of a grid in which the true places
    lie. The setting is that of the thread, and is restored at the end.
    """
    import pyproj

    network: Any = pyproj.network  # whose types do not list what it offers
    enabled = network.is_network_enabled()
    network.set_network_enabled(False)
    try:
        yield
    finally:
        network.set_network_enabled(enabled)
