"""Keep PROJ from using the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["offline"]


@contextmanager
def offline() -> Iterator[None]:
    """Restrict PROJ to operations whose files are on this machine, for the duration of a block.

    Where the environment allows PROJ to use the network, it would request the parts of a datum grid around the true
    locations. The setting is that of the thread, and is restored at the end.
    """
    import pyproj

    network: Any = pyproj.network  # its type stubs are incomplete
    enabled = network.is_network_enabled()
    network.set_network_enabled(False)
    try:
        yield
    finally:
        network.set_network_enabled(enabled)
