"""`geoveil audit`: made files, the verdict, its page and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.audit import rules

AREA = ("--area", "37.77,-122.42,10km")
MAKE = ("audit", "make", "-o", "canaries.csv", "--secret", "audit.json", *AREA, "--hide", "200m")


def test_a_tool_is_audited(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found ends with code 1 and a page; nothing found ends with 0; both are said in words."""
    monkeypatch.setattr("geoveil.audit.making.random_bytes", np.random.default_rng(1).bytes)
    done = run(*MAKE, "--canaries", "600")
    assert done.code == 0, done.err
    assert "canaries.csv: 600 made-up persons" in done.out
    assert "geoveil audit read RELEASED... --secret audit.json" in " ".join(done.out.split())
    rows = pd.read_csv(tmp_path / "canaries.csv")
    rules.truncated(2)(rows).to_csv(tmp_path / "cut.csv", index=False)
    rules.gaussian(np.random.default_rng(3))(rows).to_csv(tmp_path / "noisy.csv", index=False)
    found = run("audit", "read", "cut.csv", "--secret", "audit.json", "--hide", "200m", "--report", "audit.html")
    assert found.code == 1, found.err
    assert "does not keep its claim" in " ".join(found.out.split())
    assert "<svg" in (tmp_path / "audit.html").read_text()
    nothing = run("audit", "read", "noisy.csv", "--secret", "audit.json", "--json")
    assert (nothing.code, json.loads(nothing.out)["found"]) == (0, False)


def test_own_release_passes(run: Any) -> None:
    """The commands of geoveil itself can be audited as those of any tool."""
    assert run(*MAKE, "--canaries", "400", "--pings", "2", "--crowd", "50").code == 0
    asked = ["points", "canaries.csv", "--person", "person", *AREA, "--hide", "200m", "--yes"]
    assert run(*asked, "-o", "released.csv").code == 0
    done = run("audit", "read", "released.csv", "--secret", "audit.json")
    # Its noise comes from the system, which may look like a fault once in a hundred times.
    assert done.code in (0, 1)
    assert "Of 400 made-up persons 400 were found again" in " ".join(done.out.split())


def test_remedies_are_named(run: Any, tmp_path: Path) -> None:
    """A missing claim, an existing file, and a file that is no secret or no release are refused with what to do."""
    assert run(*MAKE[:-2]).code == 2
    assert run(*MAKE, "--canaries", "200").code == 0
    again = run(*MAKE, "--canaries", "200")
    assert (again.code, "--overwrite" in again.err) == (3, True), again.err
    assert run(*MAKE, "--canaries", "200", "--overwrite").code == 0
    (tmp_path / "other.json").write_text("{}")
    wrong = run("audit", "read", "canaries.csv", "--secret", "other.json")
    assert "the secret file of an audit" in " ".join(wrong.err.split()), wrong.err
    pd.read_csv(tmp_path / "canaries.csv").drop(columns="person").iloc[1:].to_csv(tmp_path / "cut.csv", index=False)
    lost = run("audit", "read", "cut.csv", "--secret", "audit.json")
    assert "column of persons" in " ".join(lost.err.split()), lost.err
