"""What a release is bound to: the page shows all of it, and a ticket is for that and nothing else."""

from __future__ import annotations

import re
import threading
import time
import warnings
from html import unescape
from pathlib import Path
from typing import Any

import geopandas
import pandas as pd
import pytest

import geoveil as gv
from geoveil._types import Progress
from geoveil.errors import GeoveilError, GeoveilWarning, LedgerUnavailable, warn, warnings_heard
from geoveil.requests import preview
from geoveil.requests.accounts import ChargeRecord
from geoveil.requests.file_request import FileRequest
from geoveil.studio import pages, releasing
from geoveil.studio.jobs import Job
from geoveil.studio.project import Project
from tests.studio.deciding import decide, release, send, ticket_of

pytestmark = pytest.mark.slow


@pytest.fixture
def project(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A studio in which everything is decided, which draws no reports."""
    monkeypatch.setattr(releasing, "_drawn", lambda folder, report: [])
    return project


def read(project: Project, **fields: str) -> None:
    """Press "Read it again", and wait."""
    send(project, "data", do="reading", **fields)
    assert project.reading is not None
    assert project.reading.wait(60)


def text_of(page: str) -> str:
    """Return the words of a page."""
    return re.sub(r"\s+", " ", unescape(re.sub("<[^>]+>", " ", page)))


def test_ticket_needs_same_file(project: Project, trips: Path) -> None:
    """A file that was changed and read again, in whatever way, takes another look."""
    ticket = ticket_of(project)
    pd.read_csv(trips).head(40).to_csv(trips, index=False)
    read(project, decimal=".")
    read(project)
    with pytest.raises(GeoveilError, match="another page has changed the decisions, the file"):
        release(project, ticket)
    assert "trips.csv: 40 points" in pages.render("release", project)
    release(project)


def test_ticket_needs_same_key(project: Project, tmp_path: Path) -> None:
    """Another key at the same path is another signer, and takes another look."""
    path = tmp_path / "lab.pem"
    gv.SigningKey.create("lab").save(path)
    send(project, "release", do="key", sign=str(path))
    ticket = ticket_of(project)
    path.unlink()
    gv.SigningKey.create("lab").save(path)
    send(project, "release", do="key", sign=str(path))
    with pytest.raises(GeoveilError, match="or the key that this one showed"):
        release(project, ticket)


def test_ticket_needs_same_regions(project: Project, tmp_path: Path) -> None:
    """Regions that were changed take another look."""
    project.regions, project.choices.question = tmp_path / "regions.geojson", "counts"
    project.regions.write_text("{}")
    ticket = ticket_of(project)
    assert ticket_of(project) == ticket
    project.regions.write_text('{"type": "FeatureCollection"}')
    assert ticket_of(project) != ticket


def test_ticket_needs_same_page(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another page decides while step 5 is made is neither on the page nor released with its ticket."""
    told = pages._expected_error

    def meanwhile(*args: Any) -> str:
        send(project, "budget", hide="10", do="keep")
        return told(*args)

    monkeypatch.setattr(pages, "_expected_error", meanwhile)
    page = pages.render("release", project)
    assert "200 m hidden at 75%" in page
    ticket = re.search(r'name="ticket" value="(\w+)"', page)
    assert ticket is not None
    with pytest.raises(GeoveilError, match="another page has changed the decisions"):
        release(project, ticket[1])
    assert project.releasing is None


def test_ticket_needs_same_reading(project: Project) -> None:
    """A file that is read anew takes another look, also with the same decisions."""
    ticket = ticket_of(project)
    read(project)
    with pytest.raises(GeoveilError, match="another page has changed"):
        release(project, ticket)


def test_changed_file_while_busy(project: Project, trips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that waited for its ledger looks at the file again before anything is charged or drawn."""
    send(project, "account", do="create", ledger="budget.db", subject="", times="2")
    opened = ChargeRecord.opened

    def slowly(self: ChargeRecord, *args: Any) -> Any:
        pd.read_csv(trips).head(40).to_csv(trips, index=False)
        return opened(self, *args)

    monkeypatch.setattr(ChargeRecord, "opened", slowly)
    send(project, "release", do="release", looked="yes", ticket=ticket_of(project))
    assert project.releasing is not None
    assert project.releasing.wait(60)
    assert "trips.csv has changed since it was read" in str(project.releasing.problem)
    with gv.Ledger("budget.db") as ledger:
        assert {account.spent for account in ledger.accounts().values()} == {0}


def test_missing_file_is_not_offered(project: Project, trips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step 5 of a file that was removed or changed says so, and has no button."""
    monkeypatch.delenv("GEOVEIL_RECORD")
    trips.unlink()
    page = pages.render("release", project)
    assert "trips.csv has changed since it was read. Press “Read it again” in step 1" in page
    assert 'name="ticket"' not in page


@pytest.mark.parametrize("question", ["flows", "hull"])
def test_other_options_are_dropped(question: str, project: Project) -> None:
    """What was typed for points or heat maps changes no other question: its page does not show it."""
    send(project, "question", question="points", thin="1 hour", motion="car")
    send(project, "question", question="heatmap", cell="5 km", every="hour of day")
    send(project, "question", question=question, trip="user", cell="30 km")
    request = project.request()
    assert "Thinning" not in dict(pages._facts(request))
    assert request.settings.thin is request.settings.times is request.options.every is None
    for text in (request.command(), request.python()):
        assert "thin" not in text
        assert "every" not in text
    project.choices.options["every"] = "1 hour"
    send(project, "question", question="points", thin="", motion="")
    project.choices.times = "time"
    assert project.request().settings.times is None


def test_unchanged_columns_are_listed(project: Project, trips: Path) -> None:
    """A column of times that no option needs is removed, and step 5 does not list it."""
    pd.read_csv(trips).assign(tick=range(60)).to_csv(trips, index=False)
    read(project)
    project.choices.times = "tick"
    shown = dict(pages._facts(project.request()))["Unchanged"].split(", ")
    outcome = release(project)
    assert {*shown} == {*pd.read_csv(outcome.files[0]).columns} - {"latitude", "longitude", "rho", "radius_95"}


def test_old_previews_end(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A preview ends when another one takes its place; a ledger, an account or a key asks for no other."""

    def endless(request: Any, data: Any, progress: Progress) -> Any:
        while True:
            progress(0.5)

    monkeypatch.setattr(preview, "preview", endless)
    first = project.previewing()
    project.choices.outside = "clamp"
    second = project.previewing()
    assert first.wait(60)
    project.choices.ledger, project.choices.subject, project.choices.sign = "other.db", "lab", "lab.pem"
    assert project.previewing() is second
    second.give_up()
    assert second.wait(60)


@pytest.mark.parametrize("at", ["map_of_data", "check"])
@pytest.mark.parametrize("step", pages.STEPS)
def test_pages_during_reading(step: str, at: str, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is made while another one has the file read anew is shown, and waits for the file."""
    go, found = threading.Event(), getattr(Project, at)

    def meanwhile(self: Project) -> Any:
        had = found(self)
        self.reading = Job[Any]("Reading trips.csv", lambda tell: go.wait(60))
        return had

    monkeypatch.setattr(Project, at, meanwhile)
    try:
        assert pages.render(step, project)
        assert pages.render(step, project)
    finally:
        go.set()


def test_summaries_state_errors(project: Project) -> None:
    """The page of a summary has the bound of its center, radius and bounds, not that there is none."""
    send(project, "question", question="summary")
    release(project)
    page = text_of(pages.render("release", project))
    for name in ("center", "radius", "bounds"):
        assert f"error of the {name} at most" in page
    assert "no guaranteed bound" not in page


def test_changed_file_is_reread(project: Project, trips: Path) -> None:
    """A release of a changed file is refused, and "Read it again" without a correction is the way out."""
    pd.read_csv(trips).head(40).to_csv(trips, index=False)
    with pytest.raises(GeoveilError, match=r"has changed since it was read\. Press “Read it again” in step 1"):
        release(project)
    read(project)
    release(project)


def test_history_changes_nothing(project: Project, tmp_path: Path) -> None:
    """The history of an account, and another ledger that is opened in step 6, leave step 5 as it was shown."""
    send(project, "account", do="create", ledger="budget.db", subject="", times="2")
    ticket = ticket_of(project)
    with gv.Ledger(tmp_path / "other.db") as other:
        other.create("somebody", rho=1)
    send(project, "account", do="statement", subject="u0")
    assert 'id="history"' in pages.render("account", project)
    send(project, "account", do="open", ledger="other.db")
    page = text_of(pages.render("account", project))
    assert "somebody" in page
    assert "You are looking at other.db. Step 5 charges budget.db." in page
    release(project, ticket)
    assert project.choices.ledger == "budget.db"
    send(project, "account", do="charge")
    assert project.choices.ledger == "other.db"


#: Decisions, and what step 5 says about them.
SHOWN = {
    "points": ({"thin": "1 minute", "motion": "car"}, ["one row of a person in every", "Smoothing motion: car"]),
    "heatmap": ({"cell": "20 km", "every": "hour of day"}, ["Side of a cell 20 km", "Slices of time hour of day"]),
    "nearest": (
        {"at": "37.7, -122.4", "k": "2"},
        ["Place 37.7, -122.4", "Neighbours 2", "Locations of neighbours not released"],
    ),
    "counts": (
        {"name": "quarter", "every": "day of week", "thin": "1 minute"},
        [
            "Regions halves.geojson",
            "Names of regions in quarter",
            "Slices of time day of week",
            "one row of a person in every 1 minute",
        ],
    ),
    "flows": (
        {"cell": "30 km", "trip": "user"},
        [
            "Side of a cell 30 km",
            "Trips the first and last points of each user",
            "persons go from one cell to another",
        ],
    ),
}


@pytest.mark.parametrize("question", SHOWN)
def test_signed_settings_are_shown(question: str, project: Project, tmp_path: Path) -> None:
    """Step 5 shows the settings of the question, the area, the rows, the budget and the sum of planned releases."""
    options, said = SHOWN[question]
    corner = geopandas.GeoSeries.from_wkt(["POLYGON ((-123 37, -122 37, -122 38, -123 37))"], crs=4326)
    geopandas.GeoDataFrame({"quarter": ["west"]}, geometry=corner).to_file(tmp_path / "halves.geojson")
    project.regions = tmp_path / "halves.geojson"
    project.choices.pseudonyms, project.choices.outside, project.choices.missing = True, "clamp", "drop"
    project.choices.planned = 4
    send(project, "question", question=question, **options)
    _ = project.preview()
    page = text_of(pages.render("release", project))
    for each in (
        *said,
        "San Francisco: 70 km around",
        "are moved to the edge of the area",
        "rows without a location are removed",
        "4 releases like this one. Together they hide 100 m, and a guess at 200 m is right at most",
        "Expected error",
        "the certificate states that of the release",
        "Charged to nobody: no ledger is named",
        "True locations in no file",
    ):
        assert each in page, each
    assert "dist_" not in page
    if question == "points":
        assert "Unchanged time" in page
        assert "Labels in user replaced by random pseudonyms" in page


def test_later_decisions_are_noted(project: Project, trips: Path) -> None:
    """After another decision, the page of the last release says that this is not released yet."""
    release(project)
    assert "decided something else" not in pages.render("release", project)
    send(project, "question", question="hull")
    page = text_of(pages.render("release", project))
    assert "You have decided something else since, which is not released : question: Hull." in page
    send(project, "question", question="points")
    assert "decided something else" not in pages.render("release", project)
    pd.read_csv(trips).assign(user="u0").to_csv(trips, index=False)
    read(project)
    assert "which is not released : file: trips.csv: 60 points of 1 person." in text_of(
        pages.render("release", project)
    )
    send(project, "question", question="hull")
    send(project, "release", do="again")
    assert "Question Hull." in text_of(pages.render("release", project))
    release(project)
    assert "which this answer does not have. Nothing is wrong." in text_of(pages.render("release", project))


def test_earlier_files_stay(project: Project) -> None:
    """Files that were paid for can be downloaded until the studio ends, each release by its number."""
    first = release(project)
    send(project, "release", do="again")
    page = pages.render("release", project)
    assert "Earlier releases of this sitting" in page
    assert 'href="files/1/released.csv"' in page
    second = release(project)
    assert pages.released(project, 1, "released.csv") == first.files[0]
    assert pages.released(project, 2, "released.csv") == second.files[0]
    assert first.files[0].read_bytes() != second.files[0].read_bytes()
    assert pages.released(project, 3, "released.csv") is None


def test_late_failures_keep_files(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that vanishes after the charge leaves the files, and a page that says what could not be checked."""
    send(project, "account", do="create", ledger="budget.db", subject="", times="2")

    def gone(*_: Any, **__: Any) -> Any:
        raise LedgerUnavailable("budget.db is gone.", charged="nothing")

    monkeypatch.setattr(gv, "verify", gone)
    monkeypatch.setattr(ChargeRecord, "balances", gone)
    outcome = release(project)
    assert outcome.files[0].exists()
    page = text_of(pages.render("release", project))
    assert "released.csv could not be verified: budget.db is gone." in page
    assert "The release was made and charged." in page
    assert "Nothing was charged" not in page
    with gv.Ledger("budget.db") as ledger:
        assert all(account.spent > 0 for account in ledger.accounts().values())


def test_vanished_ledger_keeps_files(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a release are there although the ledger that was charged is gone."""
    send(project, "account", do="create", ledger="budget.db", subject="", times="2")
    run = FileRequest.run

    def vanishing(self: FileRequest, *args: Any, **more: Any) -> Any:
        found = run(self, *args, **more)
        (tmp_path / "budget.db").rename(tmp_path / "gone.db")
        return found

    monkeypatch.setattr(FileRequest, "run", vanishing)
    outcome = release(project)
    page = text_of(pages.render("release", project))
    assert outcome.files[0].exists()
    assert "The release was made and charged." in page
    assert "Nothing was charged" not in page


def test_pseudonym_report_names_nobody(trips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of accounts are in no file of a release whose persons have pseudonyms."""
    monkeypatch.setenv("GEOVEIL_RECORD", "off")
    monkeypatch.chdir(tmp_path)
    names = {"u0": "Anne Secret", "u1": "Bruno Secret", "u2": "Chloe Secret"}
    frame = pd.read_csv(trips)
    frame.assign(user=frame["user"].map(names)).to_csv(trips, index=False)
    (tmp_path / "workspace").mkdir()
    project = Project(tmp_path / "workspace")
    decide(project, trips)
    project.choices.pseudonyms = True
    send(project, "account", do="create", ledger="budget.db", subject="", times="2")
    outcome = release(project)
    assert "report.html" in [path.name for path in outcome.files]
    assert not any("Secret" in path.read_bytes().decode("latin-1") for path in outcome.files)


def test_failures_name_the_charge(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that was charged and cannot be written says that it was charged."""
    send(project, "account", do="create", ledger="budget.db", subject="", times="2")
    send(project, "question", question="hull")

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device", "hull.geojson")

    monkeypatch.setattr("geoveil.answering.pipeline.write_release", full)
    send(project, "release", do="release", looked="yes", ticket=ticket_of(project))
    assert project.releasing is not None
    assert project.releasing.wait(60)
    told = text_of(pages.render("release", project))
    assert "No space left on device. Nothing was released. Charged for it: 3 accounts." in told


def test_warnings_are_shown(project: Project, trips: Path) -> None:
    """What the library warns of is said beside the release."""
    pd.read_csv(trips).assign(note="=1+1").to_csv(trips, index=False)
    read(project)
    project.choices.keep = ("note",)
    release(project)
    assert "a spreadsheet would run texts in note as formulas" in pages.render("release", project)


def test_warnings_stay_with_release() -> None:
    """What another thread warns of is not said beside a release."""
    with warnings.catch_warnings(record=True) as shown, warnings_heard() as mine:
        warnings.simplefilter("always", GeoveilWarning)
        warn("mine")
        thread = threading.Thread(target=warn, args=("theirs",))
        thread.start()
        thread.join()
        warn("mine, later")
    assert mine == ["mine", "mine, later"]
    assert [str(each.message) for each in shown] == ["theirs"]


def test_slow_previews_block_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other pages and tickets come while a preview is computed, and its own page says that it is being computed."""
    go, made = threading.Event(), preview.preview

    def slowly(request: Any, data: Any, progress: Progress) -> Any:
        assert go.wait(60)
        return made(request, data, progress)

    monkeypatch.setattr(preview, "preview", slowly)
    monkeypatch.setattr(pages, "_SOON", 0.01)
    monkeypatch.setattr("geoveil.studio.actions._SOON", 0.01)
    try:
        page = pages.render("question", project)
        assert 'data-busy="Computing the preview"' in page
        assert 'aria-label="Progress of the preview"' in page
        began = time.monotonic()
        assert ticket_of(project)
        assert "being computed on made-up data" in pages.render("release", project)
        send(project, "question", do="next", question="points")
        assert time.monotonic() - began < 30
    finally:
        go.set()
    assert project.preview().errors
    assert "Progress of the preview" not in pages.render("question", project)


def test_passwords_are_written_nowhere(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The address of a ledger is shown and written without its password, and keeps it when a form sends it back."""
    address = "postgresql://lab:SECRETPW@127.0.0.1:1/budgets"
    send(project, "release", do="ledger", ledger=address, subject="")
    shown = pages.render("release", project) + pages.render("account", project)
    assert "SECRETPW" not in shown
    assert "postgresql://lab@127.0.0.1:1/budgets" in shown
    send(project, "release", do="ledger", ledger="postgresql://lab@127.0.0.1:1/budgets", subject="")
    assert project.choices.ledger == address
    request = project.request()
    files = releasing._code(request, tmp_path)
    for text in (request.command(), request.python(), *(file.read_text() for file in files)):
        assert "SECRETPW" not in text
        assert "postgresql://lab@127.0.0.1:1/budgets" in text
    assert all("PGPASSWORD" in file.read_text() for file in files)
    with pytest.raises(LedgerUnavailable, match="cannot be read") as refused:
        releasing.open_ledger("postgresql://lab:SECRET%PW@h/d", 1)
    assert "SECRET" not in str(refused.value)


#: Forms that no path or address can be of, and what is said.
UNLIKELY = {
    "ledger of nobody": ("release", {"do": "ledger", "ledger": "~nouser/x"}, "there is no such user"),
    "key of nobody": ("release", {"do": "key", "sign": "~nouser/x"}, "there is no such user"),
    "key with a zero": ("release", {"do": "key", "sign": "a\0b"}, "a character that no path can have"),
    "key without an end": ("release", {"do": "key", "sign": "/dev/zero"}, "/dev/zero is no file with a private key"),
    "new ledger with a zero": ("account", {"do": "create", "ledger": "a\0", "times": "1"}, "that no path can have"),
    "long ledger": ("release", {"do": "ledger", "ledger": "a" * 300}, "it may be too long"),
    "long ledger to open": ("account", {"do": "open", "ledger": "a" * 300}, "it may be too long"),
    "no folder": ("account", {"do": "create", "ledger": "none/a.db", "times": "1"}, "No such file or directory"),
}


@pytest.mark.parametrize("name", UNLIKELY)
def test_impossible_paths(name: str, project: Project) -> None:
    """Paths and addresses that cannot be are refused in words, and later pages are not affected."""
    step, fields, said = UNLIKELY[name]
    with pytest.raises(GeoveilError, match=re.escape(said)):
        send(project, step, **fields)
    for page in ("data", "release", "account"):
        assert pages.render(page, project)


def test_ledgers_are_private(project: Project, trips: Path, tmp_path: Path) -> None:
    """A new ledger is for its owner alone, and a received file goes when another one is opened."""
    send(project, "account", do="create", ledger="budget.db", subject="", times="2")
    assert (tmp_path / "budget.db").stat().st_mode & 0o077 == 0
    assert "Every person of trips.csv has an account in this ledger." in pages.render("account", project)
    received = project.new_folder("data") / "may.csv"
    received.write_bytes(trips.read_bytes())
    decide(project, received)
    decide(project, trips)
    assert not received.exists()
    assert trips.exists()
