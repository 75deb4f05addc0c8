"""`geoveil audit`: made files, the verdict, its page and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyproj
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
    assert run(*MAKE, "--canaries", "240").code == 0
    again = run(*MAKE, "--canaries", "240")
    assert (again.code, "--overwrite" in again.err) == (3, True), again.err
    assert run(*MAKE, "--canaries", "240", "--overwrite").code == 0
    (tmp_path / "other.json").write_text("{}")
    wrong = run("audit", "read", "canaries.csv", "--secret", "other.json")
    assert "the secret file of an audit" in " ".join(wrong.err.split()), wrong.err
    pd.read_csv(tmp_path / "canaries.csv").drop(columns="person").iloc[1:].to_csv(tmp_path / "cut.csv", index=False)
    lost = run("audit", "read", "cut.csv", "--secret", "audit.json")
    assert "column of persons" in " ".join(lost.err.split()), lost.err


def test_a_path_counts_once(run: Any) -> None:
    """One file given twice is no second run; quiet, only the code tells."""
    assert run(*MAKE, "--canaries", "240").code == 0
    for other in ("canaries.csv", "./canaries.csv"):
        twice = run("audit", "read", "canaries.csv", other, "--secret", "audit.json")
        assert twice.code != 0
        assert "twice" in twice.err or "once" in twice.err or "both" in twice.err, twice.err
    quiet = run("audit", "read", "canaries.csv", "--secret", "audit.json", "-q")
    assert (quiet.code, quiet.out) == (1, "")


def test_made_files_can_be_read(run: Any, tmp_path: Path) -> None:
    """Fewer canaries than can be judged are not made; the number that is named can be; names are quoted."""
    few = run(*MAKE, "--canaries", "229")
    assert (few.code, "at least 230" in " ".join(few.err.split())) == (2, True), few.err
    assert not (tmp_path / "canaries.csv").exists()
    named = [each if each != "audit.json" else "my audit.json" for each in MAKE]
    made = run(*named, "--canaries", "230")
    assert "--secret 'my audit.json'" in " ".join(made.out.split()), made.out
    assert run("audit", "read", "canaries.csv", "--secret", "my audit.json").code == 1
    runs = [each if each != "canaries.csv" else "made" for each in MAKE]
    assert run(*runs, "--canaries", "100", "--runs", "2").code == 2
    many = run(*runs, "--canaries", "115", "--runs", "2")
    assert "run-1.csv to run-2.csv" in " ".join(many.out.split()), many.out
    assert run("audit", "read", "made", "--secret", "audit.json").code == 1
    part = run("audit", "read", "made/run-1.csv", "--secret", "audit.json")
    assert "edges of grids" in " ".join(part.err.split()), part.err
    assert "--metric" in run(*MAKE, "--metric", "2").err
    report = run("audit", "read", "made", "--secret", "audit.json", "--report", "a.txt")
    assert (report.code, "--report = 'a.txt'" in report.err) == (2, True), report.err


def test_projected_releases_are_read(run: Any, tmp_path: Path) -> None:
    """Metres of a plane are read with the code that the message asks for."""
    assert run(*MAKE, "--canaries", "240").code == 0
    rows = pd.read_csv(tmp_path / "canaries.csv")
    to = pyproj.Transformer.from_crs(4326, 32610, always_xy=True)
    x, y = to.transform(rows.longitude, rows.latitude)
    flat = rows.drop(columns=["longitude", "latitude"]).assign(x=x, y=y)
    flat.to_csv(tmp_path / "utm.csv", index=False)
    refused = run("audit", "read", "utm.csv", "--secret", "audit.json")
    assert "--crs" in refused.err, refused.err
    done = run("audit", "read", "utm.csv", "--secret", "audit.json", "--crs", "32610")
    assert done.code == 1, done.err
