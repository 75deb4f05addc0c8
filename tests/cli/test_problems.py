"""Errors on the command line: one message, an exit code, and nothing half done when a command is stopped."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

import geoveil as gv
from geoveil.answering import preparation, streaming
from tests.command_line import BIN, LOCAL, shell
from tests.formats import make
from tests.systems import POSIX

pytestmark = pytest.mark.slow

BAD = {
    "no budget": (2, "points trips.csv -o o.csv"),
    "two budgets": (2, "points trips.csv -o o.csv --rho 1 --epsilon 1"),
    "half a meaning": (2, "points trips.csv -o o.csv --rho 1e-4 --chance 75%"),
    "no such length": (2, "points trips.csv -o o.csv --hide 200parsec --chance 75%"),
    "a chance of a coin": (2, "points trips.csv -o o.csv --area 37.77,-122.42,50km --hide 200m --chance 50%"),
    "a negative budget": (2, "points trips.csv -o o.csv --area 37.77,-122.42,50km --rho -1"),
    "a budget that is no number": (2, "points trips.csv -o o.csv --area 37.77,-122.42,50km --rho much"),
    "no output": (2, "points trips.csv --area 37.77,-122.42,50km --rho 1"),
    "truth without a report": (2, "points trips.csv -o o.csv --rho 1 --with-truth"),
    "a subject without a ledger": (2, "points trips.csv -o o.csv --rho 1 --subject ann"),
    "json into a pipe": (2, "points trips.csv -o - --json --rho 1 --area 37.77,-122.42,50km"),
    "a format of a file": (2, "points trips.csv -o o.csv --format csv --rho 1"),
    "no such column": (2, "points trips.csv -o o.csv --person nobody --area 37.77,-122.42,50km --rho 1"),
    "no such column to ask by": (2, "hull trips.csv --person nobody --area 37.77,-122.42,50km --rho 1 --dry-run"),
    "another format": (2, "points trips.csv -o o.kml --area 37.77,-122.42,50km --rho 1"),
    "too many neighbours": (2, "nearest trips.csv --at 37.77,-122.42 -k 1000 --area 37.77,-122.42,50km --rho 1"),
    "a report of rows": (2, "nearest trips.csv --at 37,-122 -k 1 --area 37.77,-122.42,50km --rho 1 --report m.html"),
    "two reports": (2, "hull trips.csv --area 37.77,-122.42,50km --rho 1 --report m.html --report m.png"),
    "a report of no format": (2, "hull trips.csv --area 37.77,-122.42,50km --rho 1 --report m.docx"),
    "smoothing Laplace noise": (2, "points trips.csv -o o.csv --area 37.77,-122.42,50km --epsilon 1 --smooth car"),
    "no such command": (2, "pints trips.csv"),
    "no such file": (3, "points nothing.csv -o o.csv --rho 1"),
    "degrees": (3, "points trips.csv -o o.csv --rho 1"),
    "Mercator": (2, "points trips.csv -o o.csv --rho 1 --area 3857"),
    "no such region": (2, "points trips.csv -o o.csv --rho 1 --area Brigadoon"),
    "another place": (3, "points trips.csv -o o.csv --rho 1 --area 52.5,13.4,50km"),
    "no folder": (3, "points trips.csv -o nowhere/o.csv --rho 1 --area 37.77,-122.42,50km"),
    "no ledger": (5, "budget show nothing.db"),
    "no such ledger": (5, "hull trips.csv --area 37.77,-122.42,50km --rho 1 --ledger l.db --subject nobody"),
    "a place in China": (2, "nearest trips.csv --at 37.77,122.42 -k 1 --area 37.77,-122.42,50km --rho 1"),
    "an answer over the data": (2, "hull trips.csv -o trips.csv --area 37.77,-122.42,50km --rho 1"),
    "a certificate over the data": (
        2,
        "points trips.csv -o o.csv --certificate trips.csv --area 37.77,-122.42,50km --rho 1",
    ),
    "neighbours of no number": (2, "plan nearest --n 10 --error 300m"),
    "too large an area": (2, "points trips.csv -o o.csv --area 37.77,-122.42,6000km --rho 1"),
    "no geohash": (2, "convert-setting geohash 13"),
    "no setting": (2, "convert-setting location-guard huge"),
}


NAMED = {
    "the row of a file": ("hull trips.csv --area 52.5,13.4,50km --rho 1", "trips.csv, row 1 = "),
    "a row after one that was removed": (
        "hull gaps.csv --area 37.77,-122.42,50km --rho 1 --missing drop",
        "gaps.csv, row 3 = ",
    ),
    "a column of coordinates": (
        "points trips.csv -o o.csv --lat north --x east --crs 4326 --area 37.77,-122.42,50km --rho 1",
        "--lat = 'north': ",
    ),
    "the account to charge": (
        "hull trips.csv --area 37.77,-122.42,50km --rho 1 --ledger l.db",
        "--ledger needs the accounts to charge: give --subject NAME or --person COLUMN.",
    ),
    "how people move": (
        "smooth out.csv -o o.csv",
        "Say with --motion how people move: person, walking, cycling, car or taxi.",
    ),
    "the column of persons": ("points trips.csv --by user", "No such option '--by'. It is called --person."),
    "what is protected": ("hull trips.csv --unit user", "No such option '--unit'. It is called --protect."),
    "where the data is": ("plan mean --n 1 --local 1,2,3km", "No such option '--local'. It is called --area."),
    "an option of another library": ("points trips.csv --sep ;", "No such option '--sep'. It is called --delimiter."),
    "an area that is no coordinate system": ("points trips.csv -o o.csv --rho 1 --crs Germany", "--crs = 'Germany': "),
}


@pytest.mark.parametrize("case", NAMED)
def test_errors_name_options(case: str, run: Any, tmp_path: Path) -> None:
    """What is wrong is named as it was given: an option, or a row of a file, counted from one."""
    (tmp_path / "gaps.csv").write_text("lat,lon\n37.78,-122.41\n,\n52.5,13.4\n")
    line, named = NAMED[case]
    assert run(*shlex.split(line)).err.startswith(f"geoveil: {named}")


@pytest.mark.parametrize("case", BAD)
def test_errors_are_one_line(case: str, run: Any, tmp_path: Path) -> None:
    """An error is one line with the cause, the options and the remedy, and nothing is written."""
    code, line = BAD[case]
    done = run(*shlex.split(line))
    assert done.code == code, done.err
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert done.err.startswith("geoveil: ")
    assert not re.search(r"\bgv\.|\w=[\"'\w.]*[,)]|area=|by=|None", done.err), done.err
    assert not [path for path in tmp_path.iterdir() if path.name != "trips.csv"]


@POSIX
@pytest.mark.parametrize("command", ["check", "points", "hull", "density"])
def test_unreadable_file_exit_code(command: str, run: Any, tmp_path: Path) -> None:
    """A file without the right to read it has the exit code of data, as one that does not exist."""
    asked = {
        "check": ["check", "trips.csv", *LOCAL],
        "points": ["points", "trips.csv", "--dry-run", *LOCAL, "--rho", "1e-4"],
        "hull": ["hull", "trips.csv", *LOCAL, "--rho", "1e-4"],
        "density": ["density", "trips.csv", "--cell", "500m", "--json"],
    }[command]
    run(*asked)  # all modules are loaded now, which another user may not be able to
    before = os.getresuid()
    (tmp_path / "trips.csv").chmod(0)
    if before[1] == 0:
        os.setresuid(65534, 65534, 0)
    try:
        done = run(*asked)
    finally:
        os.setresuid(*before)
    assert done.code == 3
    assert "trips.csv" in done.err


def test_debug_shows_where(tmp_path: Path) -> None:
    """With --debug an error is a traceback."""
    done = shell("geoveil --debug points nothing.csv -o o.csv --rho 1", tmp_path)
    assert done.code == 1
    assert "Traceback" in done.err


def test_bugs_are_one_message(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of ours names itself and the way to see more."""

    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(preparation, "count_rows", broken)
    done = run("points", "trips.csv", "-o", "o.csv", *LOCAL, "--rho", "1")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "ZeroDivisionError: oh" in done.err
    assert "--debug" in done.err


def test_broken_pipes(tmp_path: Path) -> None:
    """A reader that stops early, such as head, is no error."""
    make("trips.csv", tmp_path)
    line = f"geoveil points trips.csv -o - {' '.join(LOCAL)} --rho 1 -q | head -1; echo ${{PIPESTATUS[0]}}"
    done = shell(line, tmp_path)
    assert done.out.splitlines()[-1] == "0"
    assert done.err == ""


@pytest.mark.parametrize("charged", [False, True])
def test_interrupts_leave_no_half(charged: bool, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C leaves no half file and says what was charged.

    Before the charge nothing is gone; after it the charge stands, and is named.
    """
    assert run("budget", "create", "b.db", "ann", "--rho", "1e-3").code == 0
    before = sorted(tmp_path.iterdir())

    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    owner: Any = streaming.FilePoints if charged else preparation
    monkeypatch.setattr(owner, "draw" if charged else "count_rows", stopped)
    asked = ["points", "trips.csv", "-o", "out.csv", *LOCAL, "--ledger", "b.db", "--subject", "ann", "--rho", "4e-4"]
    done = run(*asked)
    assert done.code == 130
    assert sorted(path for path in tmp_path.iterdir() if "-wal" not in path.name and "-shm" not in path.name) == before
    assert ("0.0004 of ann" in done.err) == charged
    assert ("Nothing was charged" in done.err) != charged
    with gv.Ledger(tmp_path / "b.db") as ledger:
        assert str(ledger.account("ann").spent) == ("0.0004" if charged else "0")


def begun(line: list[str], folder: Path, **environment: str) -> Any:
    """A command that waits for its input. Signals end it, also where those of these tests are ignored, as by nohup."""

    def mortal() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    return subprocess.Popen(
        line,
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=mortal,
    )


def ended(running: Any, number: signal.Signals) -> int:
    """The exit code of a command that gets a signal; again, if it came just before the command began to wait."""
    for _ in range(6):
        running.send_signal(number)
        try:
            return int(running.wait(timeout=10))
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("it did not end")


@POSIX
def test_a_real_interruption(tmp_path: Path) -> None:
    """A signal while the command waits for its input."""
    line = [str(BIN / "geoveil"), "points", "-", "-o", "out.csv", *LOCAL, "--rho", "1"]
    with begun(line, tmp_path) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        # It reads until the end, which does not come: once this is taken from the pipe it is at work.
        running.stdin.write("lat,lon\n" * 20_000)
        running.stdin.flush()
        assert ended(running, signal.SIGINT) == 130
        said = running.stderr.read()
    assert said.strip().startswith("geoveil: Stopped.")
    assert not [*tmp_path.iterdir()]


@POSIX
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_ended_commands_leave_nothing(name: str, tmp_path: Path) -> None:
    """A closed terminal or a scheduler's patience leaves nothing true behind, aside or here."""
    aside = tmp_path / "aside"
    aside.mkdir()
    line = [str(BIN / "geoveil"), "points", "-", "-o", "out.csv", *LOCAL, "--rho", "1"]
    with begun(line, tmp_path, TMPDIR=str(aside)) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        running.stdin.write("lat,lon\n" * 20_000)
        running.stdin.flush()
        (held,) = aside.rglob("stdin.csv")
        assert held.stat().st_mode & 0o077 == 0
        assert ended(running, signal.Signals[name]) == 128 + signal.Signals[name]
        assert "Stopped." in running.stderr.read()
    assert [*tmp_path.rglob("*")] == [aside]


def test_messages_are_sentences(run: Any, tmp_path: Path) -> None:
    """What is missing or read-only is said plainly, and no sentence ends twice."""
    assert "nothing.csv: file not found." in run("points", "nothing.csv", "-o", "o.csv", *LOCAL, "--rho", "1").err
    assert "?." not in run("--hlp").err
    (tmp_path / "empty").mkdir()
    assert "new_*.txt" in run("check", "empty", *LOCAL).err
    words = json.loads(run("hull", "trips.csv", *LOCAL, "--rho", "1e-4", "--json").out)["certificate"]["words"]
    assert words.startswith(
        "Starting from even odds, anyone trying to tell apart two versions of a person's data in which no location "
        "differs by"
    )
    assert "at most 75% of the time" in words
    (tmp_path / "one.csv").write_text("user,lat,lon\nann,37.77,-122.42\n")
    said = " ".join(run("check", "one.csv", "--person", "user", *LOCAL).out.split())
    assert "1 row with a location, 1 point." in said
    assert "1 person with 1 row." in said
    assert "the columns 'lon' and 'lat'" in said
    refused = run("points", "trips.csv", "-o", "o.kml", *LOCAL, "--rho", "1").err
    assert refused.count(".csv,") == 1
