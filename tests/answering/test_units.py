"""Units in functions, sessions, ledgers and files: prices, times, thinning, verification and processing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geoveil as gv
from geoveil.errors import GeoveilError, IncompatibleGuarantees, InvalidFile, InvalidParameter

DAY, HOUR = 86_400.0, 3_600.0
BAY = gv.local(lat=37.77, lon=-122.42, radius=50_000)
#: Nine points, three of which at most are within any day.
WALK, WHEN = np.column_stack([np.arange(9) * 100.0, np.arange(9) % 3 * 50.0]), np.arange(9) * 40_000.0


def accounts(tmp_path: Path, *metrics: str, **budget: Any) -> gv.Ledger:
    """Return a ledger with an account for each metric, of the same name."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    for metric in metrics:
        ledger.create(metric, metric=metric, **(budget or {"rho": 10}))
    return ledger


def test_an_own_function_is_charged_only_where_its_constant_holds(tmp_path: Path) -> None:
    """A constant under one metric holds under larger ones; what it is under smaller ones is not known."""
    ledger = accounts(tmp_path, "inf", "7 days", "6 hours", "1", "2")

    def charged(account: str) -> float:
        session = gv.Session(WALK, rho=1, times=WHEN, unit="1 day", ledger=ledger, subject=account)
        session.answer(lambda x: x[:, 0].sum() / 3, lipschitz=1, rho=1e-4)
        return float(ledger.spent(account))

    for account in ("inf", "7 days", "2"):
        with pytest.raises(IncompatibleGuarantees, match="not known"):
            charged(account)
        assert ledger.spent(account) == 0
    assert charged("6 hours") == charged("1") == pytest.approx(1e-4)


