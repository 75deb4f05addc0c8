"""The page of accounts: as wide as a phone, with what there is to see first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from geoveil.studio.actions import act
from geoveil.studio.server import Studio
from tests.studio.deciding import decide
from tests.studio.driving import Visitor

pytestmark = [pytest.mark.deep, pytest.mark.slow]


def test_accounts_on_a_phone(studio: Studio, visit: Callable[..., Visitor], trips: Path, tmp_path: Path) -> None:
    """At a width of 390 pixels tables of accounts scroll in themselves; a history opens above them."""
    decide(studio.project, trips)
    form = {"do": ["create"], "ledger": [str(tmp_path / "budget.db")], "subject": [""], "times": ["2"]}
    act("account", studio.project, form)
    visitor = visit("account", viewport={"width": 390, "height": 844})
    page = visitor.page
    visitor.press("History of u1")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    tops = [page.locator(f"#{name}").bounding_box() for name in ("history", "accounts")]
    assert tops[0] is not None
    assert tops[1] is not None
    assert tops[0]["y"] < tops[1]["y"]
    page.goto(studio.address + "release")
    assert "2 releases" in page.locator("table.wide-table").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
