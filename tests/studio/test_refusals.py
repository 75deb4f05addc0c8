"""What the studio refuses, in the words that a person reads on a page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import geoveil as gv
from geoveil.errors import GeoveilError
from geoveil.studio import pages
from geoveil.studio.actions import act
from geoveil.studio.project import Project
from tests.formats import people
from tests.studio.deciding import ticket_of

pytestmark = pytest.mark.slow

#: What no page says: Python's values and lists, names of arguments, and words from inside the program.
GARBLED = re.compile(
    r"\bNone\b|Decimal\(|\[['\"]| = |\b(ticket|planned|looked|rho|epsilon|outside|missing|crs|lat|lon)=|(?<!\{)\bx\b|"
    r"should not happen|Traceback|/data-\d|^[a-z]+ (must|cannot)|  |\.\.(?!\.)|[Ss]ubject\b(?! with)"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A studio's state in which nothing has happened."""
    monkeypatch.setenv("GEOVEIL_RECORD", "off")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workspace").mkdir()
    return Project(tmp_path / "workspace")


@pytest.fixture
def opened(project: Project) -> Project:
    """The same with a file of three persons, which is decided about."""
    frame = people().assign(longitude=lambda f: f.geometry.x, latitude=lambda f: f.geometry.y)
    receive(project, "trips.csv", frame.drop(columns="geometry").to_csv(index=False))
    sent(project, "data", persons="=user", area="San Francisco", pseudonyms="no")
    sent(project, "protection", unit="all", planned="2")
    sent(project, "budget", hide="200")
    return project


def receive(project: Project, name: str, content: str) -> str:
    """Drop a file on the page, and return why it is refused; empty if it is read."""
    path = project.new_folder("data") / name
    path.write_text(content)
    project.open(path, name)
    assert project.reading is not None
    assert project.reading.wait(60)
    return "" if project.reading.problem is None else project.told(project.reading.problem)


def sent(project: Project, step: str, **fields: str) -> str:
    """Send a form, and return why it is refused; empty if it is not."""
    try:
        act(step, project, {name: [text] for name, text in fields.items()})
    except GeoveilError as refused:
        return project.told(refused)
    return ""


EMPTY = {
    "no file": ("data", {"do": "next"}, "No file is open yet. Drop a file on the page, or choose one."),
    "no file to read again": ("data", {"do": "reading", "lat": "y"}, "No file is open yet."),
    "no unit": ("protection", {"do": "next"}, "It is not chosen yet what is hidden together. Choose one of the four"),
    "no number": ("protection", {"do": "next", "unit": "all"}, "The number of releases is missing."),
    "a number": ("protection", {"do": "next", "unit": "all", "planned": "0"}, "“0” is no number of releases."),
    "a long number": ("protection", {"do": "next", "unit": "all", "planned": "9" * 5000}, "is no number of releases"),
    "no budget": ("budget", {"do": "next"}, "It is not chosen yet how much is hidden. Move the slider"),
    "no length": ("budget", {"hide": "far"}, "“far” is no length."),
    "no rho": ("budget", {"rho": "much"}, "ρ cannot be “much”: it must be a number."),
    "no question": ("question", {"do": "next"}, "No file is open yet. Step 1 opens one."),
    "no look": ("release", {"do": "release"}, "Nothing was released. Tick that you have looked"),
    "another page": ("release", {"do": "release", "looked": "yes", "ticket": "a"}, "another page has changed"),
    "no ledger": ("account", {"do": "create"}, "No ledger is named."),
    "no accounts": ("account", {"do": "create", "ledger": "a.db"}, "Decide steps 1 to 3."),
}


@pytest.mark.parametrize("name", EMPTY)
def test_what_is_not_decided(name: str, project: Project) -> None:
    """What is missing is said in whole sentences, with what to do."""
    step, fields, said = EMPTY[name]
    told = sent(project, step, **fields)
    assert said in told
    assert not GARBLED.search(told), told


#: Forms about a file that is open, and what is said.
WRONG: dict[str, tuple[str, dict[str, str], str]] = {
    "persons": ("data", {"do": "next", "persons": "?"}, "It is not chosen yet whose points they are."),
    "labels": ("data", {"do": "next", "persons": "=user"}, "It is not chosen yet what is released in place of"),
    "no area": (
        "data",
        {"do": "next", "persons": "=user", "pseudonyms": "no"},
        "It is not stated yet where the data is.",
    ),
    "nowhere": ("data", {"persons": "=user", "area": "Nowheretown"}, "The area cannot be “Nowheretown”: it must be"),
    "wide": ("data", {"persons": "=user", "area": "37, -122, 5000 km"}, "The area cannot be “37, -122, 5000 km”"),
    "thin": ("question", {"do": "next", "question": "points", "thin": "often"}, "one row is kept cannot be “often”"),
    "cell": ("question", {"do": "next", "question": "heatmap", "cell": ""}, "The side of a cell is missing"),
    "slices": ("question", {"do": "next", "question": "heatmap", "cell": "10 km", "every": "often"}, "slice of time"),
    "regions": ("question", {"do": "next", "question": "counts"}, "No file of public regions is chosen yet."),
    "trips": ("question", {"do": "next", "question": "flows", "cell": "30 km"}, "which points are one trip"),
    "place": ("question", {"do": "next", "question": "nearest", "at": "there", "k": "1"}, "The place asked about"),
    "k": ("question", {"do": "next", "question": "nearest", "at": "37.7,-122.4", "k": "0"}, "cannot be “0”"),
    "share": (
        "question",
        {"do": "next", "question": "nearest", "at": "37.7,-122.4", "k": "1", "locations": "half"},
        "The share of the budget for locations cannot be “half”",
    ),
    "times": ("account", {"do": "create", "ledger": "a.db", "times": "some"}, "“some” is no number of releases."),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be(name: str, opened: Project) -> None:
    """What was typed is repeated, and what it must be is said in the words of the page."""
    step, fields, said = WRONG[name]
    told = sent(opened, step, **fields)
    assert said in told
    assert not GARBLED.search(told), told


def test_smoothing_needs_rho(opened: Project) -> None:
    """Tracks under ε are not smoothed, and the page says what to choose instead."""
    sent(opened, "budget", epsilon="0.01")
    told = sent(opened, "question", do="next", question="points", motion="car")
    assert told == ("Tracks that are released under ε cannot be smoothed. Choose metres or ρ, or no smoothing.")


#: How a file is read, and what is said.
READ = {
    "lat": ("no", "The column of latitude cannot be “no”: it must be a column of trips.csv, one of user, time"),
    "crs": ("zz", "The field of the area states where the data is."),
    "delimiter": ("ab", "The separator of fields cannot be “ab”"),
    "encoding": ("klingon", "The encoding cannot be “klingon”"),
    "layer": ("a", "They take the coordinate system, the decimal mark, the separator of fields"),
    "names": ("a,b", "The list of column names cannot be “a,b”"),
    "where": ("far = 3", "The filter of rows cannot be “far = 3”"),
    "geometry": ("address", "The column of geometries cannot be “address”"),
}


@pytest.mark.parametrize("name", READ)
def test_reading_options_have_names(name: str, opened: Project) -> None:
    """Options of reading are called what their fields are called."""
    text, said = READ[name]
    sent(opened, "data", do="reading", **{name: text})
    assert opened.reading is not None
    assert opened.reading.wait(60)
    assert opened.reading.problem is not None
    told = opened.told(opened.reading.problem)
    assert said in told
    assert not GARBLED.search(told.replace("far = 3", "").replace("mode = 'bike'", "")), told


#: Files that are refused, and what is said.
FILES = {
    "names.csv": ("name,age\nann,3\n", "names.csv: found name, age; it must be columns with coordinates"),
    "empty.csv": ("", "empty.csv: found 0 bytes; it must be a file with locations."),
    "data.bin": ("abc", "data.bin: found .bin; it must be a file that ends in one of"),
    "data": ("abc", "data: found no ending"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_refused(name: str, project: Project) -> None:
    """A file is called by its name, without the folder of the studio, and what is wrong is said."""
    content, said = FILES[name]
    told = receive(project, name, content)
    assert told.startswith(said)
    assert not GARBLED.search(told), told


def test_refused_releases_name_fields(opened: Project, tmp_path: Path) -> None:
    """Points outside, an unknown account and an empty account are refused by what the page calls them."""

    def refused() -> str:
        opened.release(ticket_of(opened))
        job = opened.releasing
        assert job is not None
        assert job.wait(60)
        assert job.problem is not None
        told = opened.told(job.problem)
        assert not GARBLED.search(told), told
        return told

    sent(opened, "data", persons="=user", area="Zurich", pseudonyms="no")
    sent(opened, "question", question="points")
    said = refused()
    assert re.match(r"trips\.csv, row 1: found -122\.\d+, 37\.\d+; it must be inside the area", said)
    assert "“remove their rows” under “Points outside the area”" in said
    sent(opened, "data", persons="=user", area="San Francisco", pseudonyms="no")
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("u0", "u1", "u2", rho=1e-9)
    sent(opened, "release", do="ledger", ledger="budget.db", subject="")
    assert "The budget of u0 does not suffice" in refused()
    sent(opened, "release", do="ledger", ledger="budget.db", subject="march")
    assert "Open an account with step 6." in refused()
    assert "have no account there" in pages.render("release", opened)


def test_rows_without_a_location(project: Project) -> None:
    """An empty place is called empty, and the remedy is called what the page calls it."""
    receive(project, "holes.csv", "user,lat,lon\na,37.7,-122.4\nb,,\n")
    for step, fields in (
        ("data", {"persons": "=user", "area": "San Francisco", "pseudonyms": "no"}),
        ("protection", {"unit": "all", "planned": "1"}),
        ("budget", {"hide": "200"}),
        ("question", {"question": "points"}),
    ):
        sent(project, step, **fields)
    project.release(ticket_of(project))
    job: Any = project.releasing
    assert job.wait(60)
    assert project.told(job.problem) == (
        "holes.csv, row 2: found nothing; it must be a location that is not empty. "
        "1 of 2 rows have none: correct them, or remove them with “remove them” under “Rows without a location”."
    )


@pytest.mark.parametrize("times", [0, 1, 2])
def test_two_places_need_times(times: int, project: Project) -> None:
    """Days and smoothing need a time of each place; what is said instead can be done."""
    rows = pd.DataFrame({"user": ["ann", "bob"] * 6})
    for at, end in enumerate(("pickup", "dropoff")):
        if at < times:
            rows[f"{end}_time"] = pd.date_range(f"2026-05-01 08:{20 * at}:07", periods=12, freq="3601s")
        rows[f"{end}_lat"], rows[f"{end}_lon"] = 37.77 + 0.001 * rows.index, -122.42 - 0.01 * at
    assert receive(project, "rides.csv", rows.to_csv(index=False)) == ""
    assert sent(project, "data", persons="=user", area="San Francisco", pseudonyms="no") == ""
    for unit, fields in (("1 day", {}), ("all", {"motion": "car"})):
        assert sent(project, "protection", unit=unit, planned="2") == ""
        assert sent(project, "budget", hide="200") == ""
        told = sent(project, "question", do="next", question="points", **fields)
        assert ("need the times of both ends of a trip" in told) == (times < 2), told
        assert not GARBLED.search(told), told
    if times < 2:
        assert "Choose everything of a person or each point in step 2, and no slices, smoothing or thinning" in told
    assert sent(project, "question", do="next", question="points", motion="") == ""
    asked: list[tuple[str, dict[str, str]]] = [("points", {"motion": "car"}), ("flows", {"cell": "20 km"})]
    for question, fields in (*asked, ("heatmap", {"cell": "2 km"})) if times == 2 else ():
        assert sent(project, "question", do="next", question=question, **fields) == ""
        assert project.preview().layers
