"""`geoveil attack`: the table, its pictures and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from tests.command_line import LOCAL


def test_a_release_is_attacked(run: Any, tmp_path: Path) -> None:
    """The table has a row for each attack, says what is allowed, and that it is not to be shared."""
    asked = [*LOCAL, "--person", "user"]
    assert run("points", "trips.csv", "-o", "released.csv", "--rho", "1e-3", "--yes", *asked).code == 0
    done = run("attack", "trips.csv", "released.csv", *asked, "--motion", "walking", "--report", "near.html")
    assert done.code == 0, done.err
    for text in ("averaging", "smoothing", "at least 31.7 m", "No attack beats", "Do not share it", "near.html"):
        assert text in done.out, text
    assert "<svg" in (tmp_path / "near.html").read_text()
    again = run("attack", "trips.csv", "released.csv", *asked, "--report", "near.html")
    assert (again.code, "--overwrite" in again.err) == (3, True), again.err
    assert run("attack", "trips.csv", "released.csv", *asked, "--report", "near.html", "--overwrite").code == 0


def test_a_broken_claim_fails(run: Any, tmp_path: Path) -> None:
    """Another tool's file that hides less than it claims ends with code 1, also as JSON."""
    table = pd.read_csv(tmp_path / "trips.csv")
    table["latitude"] += 0.0001
    table.to_csv(tmp_path / "moved.csv", index=False)
    asked = ["attack", "trips.csv", "moved.csv", *LOCAL, "--person", "user"]
    claimed = run(*asked, "--hide", "500m", "--json")
    assert claimed.code == 1
    told = json.loads(claimed.out)["for_you_only"]
    assert "averaging" in [each["attack"] for each in told["attacks"] if each["beats_bound"]]
    unclaimed = run(*asked)
    assert (unclaimed.code, "No guarantee was stated" in " ".join(unclaimed.out.split())) == (0, True)
    assert run("attack", "trips.csv", "none.csv", *LOCAL).code == 2
