"""Time limits that are short only where a test waits for them to pass, however busy the machine is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from geoveil.budget import Ledger


@contextmanager
def impatient(ledger: Ledger, seconds: float = 0.3) -> Iterator[None]:
    """Let a ledger wait no longer than this within the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger._book.store, "timeout", seconds)
        yield
