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


@pytest.mark.parametrize("account", ["inf", "7 days", "6 hours", "1", "2"])
def test_a_session_never_asks_with_another_unit_than_it_was_given(tmp_path: Path, account: str) -> None:
    """Without a limit of its own, a session's unit is that of the account; with one, prices are charged."""
    ledger = accounts(tmp_path, account)
    with pytest.raises(InvalidParameter, match=r"unit = '1 day': must be that of the account, .*Leave unit= out"):
        gv.Session(WALK, times=WHEN, unit="1 day", ledger=ledger, subject=account)
    session = gv.Session(WALK, rho=1, times=WHEN, unit="1 day", ledger=ledger, subject=account)
    assert session.points(rho=1e-4).guarantee == gv.CGP(rho=1e-4, metric="1 day")


def test_a_session_has_the_unit_of_its_account(tmp_path: Path) -> None:
    """Without a unit it is the account's; the same unit may be given; a crowd's persons are one account each."""
    ledger = accounts(tmp_path, "1 day")
    ledger.create("crowd/a", "crowd/b", rho=1, metric="1 day")
    for unit in ({}, {"unit": "1 day"}):
        session = gv.Session(WALK, times=WHEN, ledger=ledger, subject="1 day", **unit)
        assert session.mean(rho=1e-4).guarantee == gv.CGP(rho=1e-4, metric="1 day")
    who = np.array(["a", "b", "b"] * 3)
    crowd = gv.Session(WALK, times=WHEN, ledger=ledger, subject="crowd", unit=(who, "1 day"))
    assert crowd.mean(rho=1e-4).guarantee == gv.CGP(rho=1e-4, metric="person, 1 day")
    assert ledger.spent("crowd/a") == ledger.spent("crowd/b") == gv.CGP(rho=1e-4).rho


