"""The studio in a real browser, from dropping a file to a downloaded release whose certificate verifies."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pandas as pd
import pytest

import geoveil as gv
from geoveil.errors import GeoveilError
from geoveil.report.formatting import WARNING
from geoveil.requests.file_request import FileRequest
from geoveil.studio import releasing
from geoveil.studio.server import Studio
from tests.formats import SECRET
from tests.studio.deciding import decide, ticket_of
from tests.studio.draw_counting import Draws
from tests.studio.driving import Visitor

pytestmark = [
    pytest.mark.slow,
]

Visit = Callable[..., Visitor]


@pytest.fixture
def draws(trips: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """All draws of randomness while true data is in play; previews have none."""
    return Draws(trips, monkeypatch).made


def regions(folder: Path) -> Path:
    """A file of public regions."""
    path = folder / "halves.geojson"
    ring = "[[[-122.6,37.6],[-122.45,37.6],[-122.45,37.9],[-122.6,37.9],[-122.6,37.6]]]"
    shape = f'{{"type":"Polygon","coordinates":{ring}}}'
    feature = f'{{"type":"Feature","properties":{{"name":"west"}},"geometry":{shape}}}'
    path.write_text(f'{{"type":"FeatureCollection","features":[{feature}]}}')
    return path


#: What is filled in for each question.
FIELDS = {
    "points": {"thin": "1 minute"},
    "heatmap": {"cell": "10 km"},
    "counts": {},
    "flows": {"cell": "30 km"},
    "hull": {},
    "nearest": {"at": "37.795, -122.394", "k": "2"},
    "summary": {},
}


@pytest.mark.parametrize(
    "question", [name if name in ("points",) else pytest.param(name, marks=pytest.mark.deep) for name in FIELDS]
)
def test_the_whole_way(
    question: str, studio: Studio, visit: Visit, trips: Path, tmp_path: Path, draws: list[tuple[str, int]]
) -> None:
    """A file is dropped, decided about, released and downloaded; noise on it is drawn once, after the last look.

    Nothing is asked of another host, nothing is complained about, and no file of the release holds a true coordinate.
    """
    visitor = visit()
    page = visitor.page
    visitor.drop(trips)
    assert page.locator(".truth-banner").inner_text().startswith("True locations, for you alone")
    visitor.decide()
    # The page of the question is loaded whole: its script takes the file that is chosen next.
    with page.expect_navigation():
        page.locator(f"input[value={question}]").check()
    if question == "counts":
        with page.expect_navigation():
            page.locator("#chosen").set_input_files(regions(tmp_path))
    if question == "flows":
        page.locator("select[name=trip]").select_option("user")
    for name, text in FIELDS[question].items():
        page.locator(f"[name={name}]").fill(text)
    visitor.press("Show the preview")
    assert "A preview on made-up data" in page.locator(".made-up").inner_text()
    assert "error" in page.locator("section:has(#errors)").inner_text().lower()
    visitor.press("On to the release")
    assert draws == []
    visitor.release()
    assert draws
    once = len(draws)
    files = visitor.download(tmp_path)
    names = {path.name for path in files}
    assert {"report.html", "command.txt", "release.py"} <= names
    true = pd.read_csv(trips)
    secrets = [SECRET, *map(str, true["longitude"]), *map(str, true["latitude"])]
    for path in files:
        content = path.read_bytes().decode("latin-1")
        assert not any(text in content for text in secrets), path.name
        if f"{path.name}.certificate.json" in names:
            assert gv.verify(path)
    page.reload()
    visitor.at_rest()
    assert page.locator("#released").is_visible()
    assert len(draws) == once
    job = studio.project.releasing
    assert job is not None
    assert job.result is not None
    request = job.result.request
    again = studio.project.new_folder("again") / request.target
    request.run(again, None, lambda share: None, confirm=lambda concerns: None)
    # Later draws of normal noise depend on the bits of earlier ones.
    assert draws[once:][:1] == draws[:1]
    assert len(draws) > once
    here = urlsplit(visitor.address).netloc
    assert {urlsplit(url).netloc for url in visitor.requests if not url.startswith(("data:", "blob:"))} == {here}
    assert visitor.complaints == []


@pytest.mark.deep
def test_refused_file(visit: Visit, tmp_path: Path) -> None:
    """A file without locations is refused with the reason, and another one can be dropped at once."""
    (tmp_path / "names.csv").write_text("name,age\nann,3\nbob,4\n")
    visitor = visit()
    visitor.drop(tmp_path / "names.csv")
    said = visitor.page.get_by_role("alert").inner_text()
    assert "names.csv" in said
    assert visitor.page.locator(".frame").count() == 0
    visitor.page.get_by_role("button", name="Or try it on a made-up city with taxis").click()
    visitor.page.wait_for_selector(".frame > svg")


def test_undecided_is_asked(visit: Visit, trips: Path) -> None:
    """Nothing is preselected: going on without a decision says what is missing, and changes nothing."""
    visitor = visit()
    page = visitor.page
    visitor.drop(trips)
    assert page.locator("select[name=persons]").input_value() == "?"
    visitor.press("On to protection")
    assert "whose points" in page.get_by_role("alert").inner_text()
    page.goto(visitor.address + "protection")
    assert page.locator("input:checked").count() == 0
    visitor.press("On to how much")
    assert "Choose one of the four" in page.get_by_role("alert").inner_text()
    page.goto(visitor.address + "budget")
    assert page.locator("#shown").inner_text() == "not chosen yet"
    visitor.press("On to the question")
    assert "Move the slider" in page.get_by_role("alert").inner_text()
    page.goto(visitor.address + "question")
    assert page.locator("input:checked").count() == 0
    page.goto(visitor.address + "release")
    assert page.get_by_role("button", name="Release", exact=True).count() == 0


def decided(studio: Studio, trips: Path, **more: Any) -> None:
    """Decide everything, without the pages."""
    decide(studio.project, trips)
    for name, value in more.items():
        setattr(studio.project.choices, name, value)


def test_changed_pages_release_nothing(studio: Studio, trips: Path) -> None:
    """A page whose decisions were changed by another page releases nothing, nor does one whose file has changed."""
    from geoveil.requests.budgets import Budget

    decided(studio, trips)
    project = studio.project
    ticket = ticket_of(project)
    assert ticket_of(project) == ticket
    project.choices.budget = Budget("hide", "10")
    with pytest.raises(GeoveilError, match="another page has changed the decisions"):
        project.release(ticket)
    with trips.open("a") as held:
        held.write("\n")
    with pytest.raises(GeoveilError, match="has changed since it was read"):
        project.release(ticket_of(project))
    assert project.releasing is None


@pytest.mark.deep
def test_closed_tab(studio: Studio, visit: Visit, trips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release goes on without its page; a new page shows its progress and then its result, and it is made once."""
    go, runs, run = threading.Event(), [], FileRequest.run

    def slowly(self: FileRequest, *args: Any, **more: Any) -> Any:
        runs.append(self.question)
        assert go.wait(60)
        return run(self, *args, **more)

    monkeypatch.setattr(FileRequest, "run", slowly)
    monkeypatch.setattr(releasing, "_drawn", lambda folder, report: [])
    decided(studio, trips)
    first = visit("release")
    ticket = first.page.locator("input[name=ticket]").input_value()
    first.page.locator("input[name=looked]").check()
    first.page.get_by_role("button", name="Release", exact=True).click()
    first.page.wait_for_selector("progress")
    first.page.close()
    context = first.page.context.browser
    assert context is not None
    page = context.new_page()
    page.goto(studio.address)
    assert page.url.endswith("/release")
    assert page.locator("progress").is_visible()
    # The form of the closed page, sent once more.
    studio.project.release(ticket)
    go.set()
    page.wait_for_selector("#released")
    studio.project.release(ticket)
    assert runs == ["points"]
    page.close()


@pytest.mark.deep
def test_busy_ledger(
    studio: Studio, visit: Visit, trips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that someone else holds stops a release with a message; nothing was charged, and one can try again."""
    place = tmp_path / "budget.db"
    ledger = gv.Ledger(place)
    ledger.create("u0", "u1", "u2", rho=1e-3)
    decided(studio, trips, ledger=str(place))
    visitor = visit("release")
    assert "3 accounts" in visitor.page.locator("section:has(#charge)").inner_text()
    monkeypatch.setattr(releasing, "_PATIENCE", 0.2)
    monkeypatch.setattr(releasing, "_drawn", lambda folder, report: [])
    with closing(sqlite3.connect(place)) as other:
        other.execute("begin exclusive")
        visitor.page.locator("input[name=looked]").check()
        with visitor.page.expect_navigation():
            visitor.page.get_by_role("button", name="Release", exact=True).click()
        job = studio.project.releasing
        assert job is not None
        assert job.wait(60)
        other.rollback()
    visitor.page.goto(studio.address + "release")
    assert "busy" in visitor.page.get_by_role("alert").inner_text().lower()
    assert float(ledger.account("u0").spent) == 0
    visitor.release()
    assert float(ledger.account("u0").spent) > 0
    visitor.page.goto(studio.address + "account")
    assert "The history is intact" in visitor.page.locator("main").inner_text()
    visitor.page.get_by_role("button", name="History of u0").click()
    visitor.page.wait_for_selector("#history")
    assert "points" in visitor.page.locator("section:has(#history)").inner_text()


@pytest.mark.deep
def test_signed_with_truth(studio: Studio, visit: Visit, trips: Path, tmp_path: Path) -> None:
    """A key is taken by its path, a box asks for the true locations, and what is downloaded has both and says so."""
    key = gv.SigningKey.create("city-lab")
    decided(studio, trips)
    visitor = visit("release")
    page = visitor.page
    page.get_by_text("The key", exact=True).click()
    page.locator("input[name=sign]").fill("nowhere.pem")
    visitor.press("Take this key")
    assert "nowhere.pem: file not found" in page.get_by_role("alert").inner_text()
    page.get_by_text("The key", exact=True).click()
    page.locator("input[name=sign]").fill(str(key.save(tmp_path / "city-lab.pem", passphrase="correct horse")))
    page.locator("input[name=passphrase]").fill("correct horse")
    visitor.press("Take this key")
    assert "city-lab" in page.locator("section:has(#look)").inner_text()
    assert "correct horse" not in page.content()
    assert not page.locator("input[name=truth]").is_checked()
    page.locator("input[name=truth]").check()
    visitor.release()
    assert "TRUE locations: for you alone" in page.locator(".files").inner_text()
    assert "--with-truth" in page.locator("pre").first.inner_text()
    files = {path.name: path for path in visitor.download(tmp_path)}
    assert gv.verify(files["released.csv"], key=key.public).signer == key.public
    assert WARNING in files["report-true-locations.html"].read_text()
    assert WARNING not in files["report.html"].read_text()
    assert visitor.complaints == []


@pytest.mark.deep
def test_own_base_map(studio: Studio, visit: Visit, trips: Path, tmp_path: Path) -> None:
    """A base map of the user is drawn below the data, until they go back to geoveil's own ground."""
    decided(studio, trips)
    visitor = visit("data")
    page = visitor.page
    page.get_by_text("What is below the data").click()
    with page.expect_navigation():
        page.locator("#own").set_input_files(regions(tmp_path))
    visitor.at_rest()
    assert "halves.geojson" in page.locator(".source").inner_text()
    visitor.press("Back to geoveil's own ground")
    assert "halves.geojson" not in page.locator(".source").inner_text()
    assert visitor.complaints == []


@pytest.mark.deep
def test_file_without_header(visit: Visit, tmp_path: Path) -> None:
    """A file without a header is refused, and read once its owner names the columns."""
    path = tmp_path / "plain.csv"
    path.write_text("ann,37.78,-122.41\nbob,37.76,-122.45\n")
    visitor = visit()
    visitor.drop(path)
    assert "plain.csv" in visitor.page.get_by_role("alert").inner_text()
    visitor.page.locator("input[name=names]").fill("who,lat,lon")
    visitor.press("Read it again")
    assert visitor.page.locator(".frame > svg").count() == 1
    assert visitor.page.locator("select[name=persons] option[value='=who']").count() == 1
