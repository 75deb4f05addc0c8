"""The record of earlier releases, and what is said before nearly everything is lost."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geoveil as gv
from geoveil.errors import GeoveilWarning
from geoveil.requests.release_record import ReleaseRecord
from tests.command_line import LOCAL

LINE = ["points", "trips.csv", "-o", "o.csv", "--overwrite", "--person", "user", *LOCAL, "--rho", "1e-4"]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the record."""
    monkeypatch.setenv("GEOVEIL_RECORD", str(tmp_path / "state"))
    return tmp_path / "state"


def test_second_release_adds_up(run: Any, record: Path) -> None:
    """A second release says that budgets add up. It names the number of releases and what they hide together."""
    assert "before" not in run(*LINE).err
    second = run(*LINE)
    assert second.code == 0
    assert "trips.csv was released 1 time before" in second.err
    assert "ρ = 0.0002" in second.err
    third = run("summary", "trips.csv", "--person", "user", *LOCAL, "--rho", "1e-4")
    assert "released 2 times before" in third.err
    assert "ρ = 0.0003" in third.err


def test_changed_files_are_recognised(run: Any, record: Path, tmp_path: Path) -> None:
    """A changed or renamed file is recognised. By its path, or by its content."""
    run(*LINE)
    (tmp_path / "trips.csv").rename(tmp_path / "other.csv")
    renamed = ["points", "other.csv", *LINE[2:]]
    assert "other.csv was released 1 time before" in run(*renamed).err
    with (tmp_path / "other.csv").open("a") as held:
        held.write((tmp_path / "other.csv").read_text().splitlines()[-1] + "\n")
    changed = run(*renamed)
    assert "with other content" in changed.err
    (tmp_path / "new.csv").write_text("user,lat,lon\nann,37.7,-122.4\n")
    assert "before" not in run("points", "new.csv", *LINE[2:]).err


def test_other_guarantees_are_mentioned(run: Any, record: Path) -> None:
    """Budgets of different kinds are not added."""
    run(*LINE)
    assert "different kinds" in run(*LINE[:-2], "--epsilon", "0.1").err


def test_ledgers_need_no_record(run: Any, record: Path) -> None:
    """A ledger keeps account itself. With one nothing is said, but the release is recorded."""
    run("budget", "create", "b.db", "all", "--rho", "1")
    line = [part for part in LINE if part not in ("--person", "user")]
    run(*line)
    charged = run(*line, "--ledger", "b.db", "--subject", "all")
    assert charged.code == 0, charged.err
    assert "before" not in charged.err
    assert "released 2 times before" in run(*line).err


def test_record_is_private(run: Any, record: Path) -> None:
    """Files are readable by the user only, and tell neither names nor digests of files."""
    from geoveil.geo.formats.fingerprints import digest

    run(*LINE)
    text = (record / "releases.jsonl").read_text()
    told = json.loads(text)
    assert "trips" not in text
    assert digest(Path("trips.csv")) not in text
    assert sorted(told) == ["content", "date", "metric", "notion", "path", "rho", "unit"]
    if os.name == "posix":
        assert stat.S_IMODE(record.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in record.iterdir()} == {0o600}


def test_keys_make_marks(tmp_path: Path) -> None:
    """The marks of a file in two records have nothing in common."""
    path = tmp_path / "t.csv"
    path.write_text("a")
    for name in ("one", "two"):
        ReleaseRecord(tmp_path / name).add(path, gv.CGP(rho=1), named=True)
    first, second = (json.loads((tmp_path / name / "releases.jsonl").read_text()) for name in ("one", "two"))
    assert first["content"] != second["content"]
    assert first["path"] != second["path"]


def test_unwritable_records_stop_nothing(run: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """It is said that a later release will not mention this one."""
    (tmp_path / "state").write_text("a file, not a folder")
    monkeypatch.setenv("GEOVEIL_RECORD", str(tmp_path / "state"))
    ran = run(*LINE)
    assert ran.code == 0
    assert "will not mention" in ran.err


def test_damaged_lines_are_skipped(run: Any, record: Path) -> None:
    """Damaged lines of a record are passed over. The others still count."""
    run(*LINE)
    with (record / "releases.jsonl").open("a") as held:
        held.write('{"date": \n[]\n{"content": 1}\n')
    assert "released 1 time before" in run(*LINE).err


def test_functions_keep_no_record(record: Path, tmp_path: Path) -> None:
    """Only the command line does, and not for a dry run."""
    (tmp_path / "t.csv").write_text("lat,lon\n37.7,-122.4\n")
    area = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    gv.Locations(tmp_path / "t.csv", area=area).points(to=tmp_path / "o.csv", rho=1e-4)
    assert not record.exists()


def test_dry_runs_leave_none(run: Any, record: Path) -> None:
    """A dry run is not recorded. Nothing was released."""
    run(*LINE[:2], *LINE[4:], "--dry-run")
    assert not (record / "releases.jsonl").exists()


def _track(folder: Path, n: int = 10_000) -> Path:
    lat, lon = np.linspace(37.7, 37.8, n), np.linspace(-122.5, -122.4, n)
    rows = [f"{a:.6f},{b:.6f},{i % 500}" for i, (a, b) in enumerate(zip(lat, lon, strict=True))]
    (folder / "track.csv").write_text("lat,lon,who\n" + "\n".join(rows) + "\n")
    return folder / "track.csv"


TRACK = ["points", "track.csv", "-o", "o.csv", "--overwrite", *LOCAL, "--rho", "5e-5"]


def test_ruinous_release_is_refused(run: Any, tmp_path: Path) -> None:
    """Kilometres of noise on one track are refused, and what helps rows without times is named."""
    _track(tmp_path)
    ran = run(*TRACK)
    assert ran.code == 2
    assert not (tmp_path / "o.csv").exists()
    said = ran.err
    assert "--yes releases it nevertheless" in said
    assert run(*TRACK, "--yes").code == 0
    assert "Nearly everything would be lost" in said
    assert "'geoveil mean'" in said
    assert "--smooth" not in said
    assert "lost" not in run(*TRACK, "--person", "who").err


def test_one_person_in_wide_area(run: Any, tmp_path: Path) -> None:
    """Noise is small beside the area, but many times that of one point."""
    _track(tmp_path)
    ran = run("points", "track.csv", "-o", "o.csv", "--area", "37.77,-122.42,1000km", "--rho", "5e-5")
    assert "All 10,000 points belong to one person" in ran.err


def test_many_points_are_told(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --person, persons with a thousand points are told of their noise, and those with twenty are not."""
    from geoveil.cli import terminal

    monkeypatch.setattr(terminal, "interactive", lambda: True)
    rows = [f"{37.7 + i * 1e-5:.6f},-122.45,{i % 2},{i % 100}" for i in range(2000)]
    (tmp_path / "track.csv").write_text("lat,lon,who,trip\n" + "\n".join(rows) + "\n")
    asked = [*TRACK[:-1], "1e-3"]
    ran = run(*asked, "--person", "who")
    assert ran.code == 0
    assert "those of a person with 1,000 points" in " ".join(ran.err.split())
    assert "--person" not in ran.err
    assert "share" not in run(*asked, "--person", "trip").err


def test_terminals_are_asked(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Someone at a terminal is asked. No leaves nothing behind, yes releases, and --yes does not ask."""
    import click

    from geoveil.cli import terminal

    _track(tmp_path)
    asked: list[str] = []

    def answer(reply: bool) -> Any:
        def confirm(text: str, **more: Any) -> bool:
            asked.append(text)
            if not reply:
                raise click.Abort
            return True

        return confirm

    monkeypatch.setattr(terminal, "interactive", lambda: True)
    monkeypatch.setattr(click, "confirm", answer(False))
    ran = run(*TRACK)
    assert ran.code == 130
    assert "Nothing was released" in ran.err
    assert not (tmp_path / "o.csv").exists()
    monkeypatch.setattr(click, "confirm", answer(True))
    assert run(*TRACK).code == 0
    assert len(asked) == 2
    assert run(*TRACK, "--yes").code == 0
    assert len(asked) == 2


def test_pipes_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Someone can be asked only if both input and messages are at a terminal."""
    from geoveil.cli import terminal

    class Stream:
        def __init__(self, at_terminal: bool) -> None:
            self.isatty = lambda: at_terminal

    monkeypatch.setattr(terminal, "state", terminal.State)
    for stdin, stderr in ((True, True), (True, False), (False, True)):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", Stream(stdin))
            patch.setattr(sys, "stderr", Stream(stderr))
            assert terminal.interactive() == (stdin and stderr)


def test_python_warns_or_asks(tmp_path: Path) -> None:
    """A warning by default; with confirm= the texts, before anything is released."""
    path, area = _track(tmp_path), gv.local(lat=37.77, lon=-122.42, radius=50_000)
    with pytest.warns(GeoveilWarning, match=r"Nearly everything would be lost.*person="):
        gv.Locations(path, area=area).points(to=tmp_path / "o.csv", rho=5e-5)

    def stop(concerns: Any) -> None:
        raise RuntimeError(" ".join(map(str, concerns)))

    with pytest.raises(RuntimeError, match="Nearly everything"):
        gv.Locations(path, area=area, confirm=stop).points(to=tmp_path / "p.csv", rho=5e-5)
    assert not (tmp_path / "p.csv").exists()


def test_concerns_use_public_facts(tmp_path: Path) -> None:
    """Points elsewhere in the area lead to the same text."""
    area = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    texts: list[Any] = []
    for shift in (0.0, 0.2):
        rows = [f"{37.6 + shift + i * 1e-6},{-122.4}" for i in range(5000)]
        (tmp_path / "t.csv").write_text("lat,lon\n" + "\n".join(rows) + "\n")
        gv.Locations(tmp_path / "t.csv", area=area, overwrite=True, confirm=texts.append).points(
            to=tmp_path / "o.csv", rho=1e-5
        )
    assert [*map(str, texts[0])] == [*map(str, texts[1])]
    assert texts[0]
