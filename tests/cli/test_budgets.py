"""Budgets on the command line: ledgers, statements, labels and charges."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import geoveil as gv
from geoveil.answering import streaming
from geoveil.budget import Charges
from tests.command_line import LOCAL
from tests.formats import people

_CREATE = ("budget", "create", "b.db", "--rho", "1e-3")


def test_budget_commands(run: Any, tmp_path: Path) -> None:
    """Accounts are opened, charged, refused when short, lowered, overridden, and proved whole."""
    assert run("budget", "create", "b.db", "ann", "--rho", "1e-3").code == 0
    asked = ["trips.csv", *LOCAL, "--ledger", "b.db", "--subject", "ann"]
    foreseen = json.loads(run("hull", *asked, "--rho", "4e-4", "--dry-run", "--json").out)
    assert foreseen["remaining"] == "0.001"
    assert run("hull", *asked, "--rho", "4e-4", "-o", "hull.geojson").code == 0
    short = run("points", *asked, "--rho", "7e-4", "-o", "out.csv")
    assert short.code == 4
    assert "0.0007 was asked for, 0.0006 is left" in short.err
    assert not (tmp_path / "out.csv").exists()
    (line,) = json.loads(run("budget", "show", "b.db", "--json").out)
    assert (line["total"], line["spent"], line["remaining"]) == ("0.001", "0.0004", "0.0006")
    assert "0.0006" in run("budget", "show", "b.db", "ann").out
    assert "hull" in run("budget", "statement", "b.db", "ann").out
    assert "The history is intact: 3 entries" in run("budget", "verify", "b.db", "hull.geojson.certificate.json").out
    assert run("budget", "lower", "b.db", "ann", "--rho", "5e-4").code == 0
    assert run("budget", "lower", "b.db", "ann", "--rho", "1").code == 2
    assert run("budget", "override", "b.db", "ann", "--rho", "1", "--reason", "she said so").code == 0
    (events,) = [json.loads(run("budget", "statement", "b.db", "ann", "--json").out)]
    assert [event["event"] for event in events] == ["create", "charge", "lower", "override"]


@pytest.mark.parametrize(
    "more",
    [
        "-o hull.docx",
        "-o nowhere/hull.csv",
        "--report map.docx",
        "--report nowhere/map.html",
        "-o hull.csv --certificate nowhere/c.json",
        "-o - --json",
    ],
)
@pytest.mark.parametrize("command", ["hull", "points"])
def test_unwritable_is_not_charged(command: str, more: str, run: Any) -> None:
    """What could not be written is not charged. Files that cannot be are refused before the budget is touched."""
    assert run("budget", "create", "b.db", "ann", "--rho", "1e-3").code == 0
    asked = [command, "trips.csv", *LOCAL, "--ledger", "b.db", "--subject", "ann", "--rho", "6e-4"]
    needed = ["-o", "out.csv"] if "-o" not in more else []
    assert run(*asked, *needed, *more.split()).code in (2, 3)
    (line,) = json.loads(run("budget", "show", "b.db", "--json").out)
    assert line["spent"] == "0"


def test_labels_answer_free(run: Any) -> None:
    """The same question about the same data is answered the same."""
    assert run("budget", "create", "b.db", "ann", "--rho", "1e-3").code == 0
    asked = ["hull", "trips.csv", *LOCAL, "--ledger", "b.db", "--subject", "ann", "--rho", "6e-4", "--label", "May"]
    answers = [json.loads(run(*asked, "--json").out)["answer"] for _ in range(2)]
    assert answers[0] == answers[1]
    (line,) = json.loads(run("budget", "show", "b.db", "--json").out)
    assert line["spent"] == "0.0006"


def test_short_skip(run: Any, tmp_path: Path) -> None:
    """With --short skip the others are released."""
    assert run("budget", "create", "b.db", "u0", "u1", "--rho", "1e-3").code == 0
    assert run("budget", "create", "b.db", "u2", "--rho", "1e-5").code == 0
    asked = ["points", "trips.csv", "-o", "out.csv", *LOCAL, "--person", "user", "--ledger", "b.db", "--rho", "1e-4"]
    assert run(*asked).code == 4
    assert run(*asked, "--short", "skip").code == 0
    assert set(gv.load(tmp_path / "out.csv").person) == {"u0", "u1"}


def test_failures_name_charges(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error after the charge names it, and what was released already."""
    assert run("budget", "create", "b.db", "ann", "--rho", "1e-3").code == 0

    def full(*_: Any, **more: Any) -> None:
        raise OSError(28, "No space left on device")

    asked = ["points", "trips.csv", "-o", "out.csv", *LOCAL, "--ledger", "b.db", "--subject", "ann", "--rho", "4e-4"]
    with monkeypatch.context() as patched:
        patched.setattr(streaming.FilePoints, "draw", full)
        done = run(*asked)
    assert (done.code, done.err.count("\n")) == (3, 1)
    assert "0.0004 of ann" in done.err
    assert "Nothing was" not in done.err
    with monkeypatch.context() as patched:
        patched.setattr("geoveil.report.Report.save", full)
        done = run(*asked, "--report", "map.html")
    assert done.code == 3
    assert "0.0004 of ann" in done.err
    assert "out.csv was released" in done.err
    assert (tmp_path / "out.csv").exists()


@pytest.mark.slow
def test_summaries_charge_whole(run: Any) -> None:
    """A summary is charged as a whole or not at all.

    Three questions, of which the first two would be paid for, cost nothing if the third would not be.
    """
    assert run("budget", "create", "b.db", "ann", "--rho", "5e-5").code == 0
    asked = ["summary", "trips.csv", *LOCAL, "--ledger", "b.db", "--subject", "ann"]
    assert run(*asked, "--rho", "9e-5").code == 4
    (line,) = json.loads(run("budget", "show", "b.db", "--json").out)
    assert line["spent"] == "0"
    assert run(*asked, "--rho", "3e-5", "--report", "map.html").code == 0
    (line,) = json.loads(run("budget", "show", "b.db", "--json").out)
    assert line["spent"] == "0.00003"
    page = Path("map.html").read_text()
    assert "ρ = 3e-05 per m²" in page
    assert "2e-05-CGP" not in page


CRASHING = """
import os, sys
import geoveil as gv
from geoveil.cli import main
from geoveil.budget import Charges
Charges.store = lambda charges, charge, content: os._exit(9)
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_crashed_commands_run_again(run: Any) -> None:
    """A command that crashed can be run again.

    The second run is charged again, and its certificate verifies; the third gets the same answer for free.
    """
    assert run("budget", "create", "b.db", "ann", "--rho", "1e-3").code == 0
    asked = ["hull", "trips.csv", *LOCAL, "--rho", "1e-4", "--ledger", "b.db", "--subject", "ann", "--label", "may"]
    assert subprocess.run([sys.executable, "-c", CRASHING, *asked], timeout=120, check=False).returncode == 9
    for name, entries in (("once", 4), ("twice", 5)):
        assert run(*asked, "-o", f"{name}.geojson").code == 0
        checked = run("budget", "verify", "b.db", f"{name}.geojson.certificate.json")
        assert f"The history is intact: {entries} entries" in checked.out
    (line,) = json.loads(run("budget", "show", "b.db", "--json").out)
    assert line["spent"] == "0.0002"


def test_stored_answers_are_forgotten(run: Any) -> None:
    """Stored answers are forgotten by id or by day, and their labels stay spent."""
    assert run("budget", "create", "b.db", "ann", "--rho", "1e-3").code == 0
    asked = ["hull", "trips.csv", *LOCAL, "--rho", "1e-4", "--ledger", "b.db", "--subject", "ann"]
    ids = []
    for label in ("may", "june"):
        answered = json.loads(run(*asked, "--label", label, "--json").out)
        ids.append(answered["certificate"]["id"])
    assert "1 answer deleted" in run("budget", "forget", "b.db", ids[0]).out
    refused = run(*asked, "--label", "may")
    assert (refused.code, "deleted" in refused.err) == (2, True)
    assert run("budget", "forget", "b.db", ids[0]).code == 2
    assert run("budget", "forget", "b.db").code == 2
    assert "0 answers deleted" in run("budget", "forget", "b.db", "--before", "2000-01-01").out
    assert "1 answer deleted" in run("budget", "forget", "b.db", "--before", "9000-01-01").out
    assert "The history is intact: 7 entries" in run("budget", "verify", "b.db").out


@pytest.mark.parametrize("question", ["points", "hull"])
def test_dry_runs_look_at_accounts(question: str, run: Any) -> None:
    """A dry run looks at the accounts.

    At those that would be charged, with --person too: who has none is refused, who has too little is told.
    """
    asked = [question, "trips.csv", *LOCAL, "--rho", "1e-4", "--dry-run", "--ledger", "b.db"]
    run("budget", "create", "b.db", "u0", "u1", "--rho", "1e-3")
    assert run(*asked).code == 2
    assert "u2" in run(*asked, "--person", "user").err
    run("budget", "create", "b.db", "u2", "--rho", "1e-5")
    assert "at least 0.00001 left; too little in 1 of them" in " ".join(run(*asked, "--person", "user").out.split())
    told = json.loads(run(*asked, "--person", "user", "--json").out)
    assert (told["remaining"], told["too_little"]) == ("0.00001", ["u2"])
    assert "u2 has 0.00001 left, which is not enough" in run(*asked, "--subject", "u2").out
    assert json.loads(run(*asked, "--subject", "u0", "--json").out)["too_little"] == []
    with gv.Ledger("b.db") as ledger:
        assert ledger.account("u0").spent == 0


def test_statements_fit_terminals(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement fits into a terminal.

    One line for each event, also with amounts of many digits; --json has all of them.
    """
    monkeypatch.setenv("COLUMNS", "80")
    run("budget", "create", "b.db", "ann", "--rho", "1e-3")
    with gv.Ledger("b.db") as ledger:
        Charges.of(ledger).charge(
            ["ann"], gv.CGP(rho="0.0001234567890123456789012345678901234"), query="radius_of_gyration"
        )
    lines = run("budget", "statement", "b.db", "ann").out.splitlines()
    (line,) = [line.strip() for line in lines if "charge" in line]
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d +charge +radius_of_gyration +0\.000123457", line)
    assert "A release that spends all of it hides" in " ".join(" ".join(lines).split())
    (_, event) = json.loads(run("budget", "statement", "b.db", "ann", "--json").out)
    assert event["amount"] == "0.0001234567890123456789012345678901234"


def test_accounts_have_units(run: Any) -> None:
    """The unit is told when an account is opened, in tables and statements; new totals are for the same unit."""
    assert "hidden at 75% within any day" in " ".join(run(*_CREATE, "ann", "--protect", "1 day").out.split())
    assert "at any single point" in run(*_CREATE, "bob", "--protect", "point").out
    assert run(*_CREATE, "eve").code == 0
    assert "--protect = 'user': must be a length of time" in run(*_CREATE, "dan", "--protect", "user").err
    lines = json.loads(run("budget", "show", "b.db", "--json").out)
    assert [line["protects"] for line in lines] == ["any day", "each point", "all points"]
    assert "protects" in run("budget", "show", "b.db").out
    assert "protects" not in run("budget", "show", "b.db", "eve").out
    assert "It protects any day of a person's movements." in run("budget", "statement", "b.db", "ann").out
    assert "It protects" not in run("budget", "statement", "b.db", "eve").out
    assert run("budget", "lower", "b.db", "ann", "--rho", "5e-4").code == 0
    assert run("budget", "override", "b.db", "ann", "--rho", "2e-3", "--reason", "agreed").code == 0
    with gv.Ledger("b.db") as ledger:
        assert ledger.account("ann").total == gv.CGP(rho="2e-3", metric="1 day")


def test_dry_runs_know_units(run: Any) -> None:
    """A larger unit costs an account no more than its budget; a smaller one is priced with the data."""
    for name, unit in (("all", []), ("day", ["--protect", "1 day"])):
        assert run(*_CREATE, name, *unit).code == 0
    asked = ["hull", "trips.csv", *LOCAL, "--dry-run", "--ledger", "b.db"]
    assert "not enough" not in run(*asked, "--rho", "1e-3", "--subject", "day").out
    assert "not enough" in run(*asked, "--rho", "2e-3", "--subject", "day").out
    words = " ".join(run(*asked, "--rho", "1e-3", "--subject", "all", "--protect", "1 day").out.split())
    assert "it is for all of a person's locations, and the release computes its cost" in words
    asked[0] = "points"
    words = " ".join(run(*asked, "--rho", "1e-3", "--subject", "all", "--protect", "1 day").out.split())
    assert "the release computes its cost" in words
    released = run(*asked[:4], "-o", "out.csv", *asked[5:], "--rho", "1e-3", "--subject", "all", "--protect", "1 day")
    assert (released.code, "was asked for" in released.err) == (4, True)


def test_crowds_charge_each_person(run: Any) -> None:
    """One answer about all persons, whose column --person names, charges the account of each."""
    named = sorted(people()["user"].unique())
    assert run("budget", "create", "b.db", *named, "--rho", "1e-3").code == 0
    asked = ["hull", "trips.csv", *LOCAL, "--rho", "4e-4", "--person", "user", "--together", "--ledger", "b.db"]
    assert f"each of {len(named)} accounts has at least 0.001 left" in " ".join(run(*asked, "--dry-run").out.split())
    assert run(*asked).code == 0
    spent = {line["subject"]: line["spent"] for line in json.loads(run("budget", "show", "b.db", "--json").out)}
    assert spent == dict.fromkeys(named, "0.0004")


def test_accounts_after_write_off(run: Any) -> None:
    """After a write-off, `geoveil budget create` names the option that a new account needs, and takes it."""
    assert run(*_CREATE, "ann").code == 0
    assert run("budget", "backup", "b.db", "monday.db").code == 0
    assert run("budget", "restore", "monday.db", "r.db", "--write-off", "the disk broke").code == 0
    create = ("budget", "create", "r.db", "eve", "--rho", "1e-3")
    refused = run(*create)
    assert refused.code != 0
    assert "--new REASON" in refused.err
    assert run(*create, "--new", "eve joined today").code == 0
