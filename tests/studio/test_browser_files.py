"""Files in a real browser: several at once, folders, refusals, and a page that somebody fills in meanwhile."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from geoveil.requests.file_check import CheckedFile
from geoveil.studio.server import Studio
from tests.formats import people
from tests.studio.driving import Visitor
from tests.studio.test_received_files import TRACK

pytestmark = [pytest.mark.deep, pytest.mark.slow]

Visit = Callable[..., Visitor]


def drop(visitor: Visitor, *paths: Path) -> None:
    """Drop several files at once."""
    held = [{"name": path.name, "text": base64.b64encode(path.read_bytes()).decode()} for path in paths]
    transfer = visitor.page.evaluate_handle(
        """(files) => {
          const transfer = new DataTransfer();
          for (const { name, text } of files) {
            transfer.items.add(new File([Uint8Array.from(atob(text), (each) => each.charCodeAt(0))], name));
          }
          return transfer;
        }""",
        held,
    )
    visitor.page.dispatch_event(".drop", "drop", {"dataTransfer": transfer})


def test_shapefile_parts_are_dropped(visit: Visit, tmp_path: Path) -> None:
    """The parts of a shapefile that are dropped together are one file; one part alone is refused with a reason."""
    people().to_file(tmp_path / "trips.shp")
    visitor = visit()
    drop(visitor, tmp_path / "trips.shp", tmp_path / "trips.prj")
    said = visitor.page.locator(".sending")
    said.get_by_text("trips.shx and trips.dbf are missing").wait_for()
    assert said.inner_text().startswith("trips.shp is one part of a shapefile")
    visitor.complaints.clear()
    with visitor.page.expect_navigation():
        drop(visitor, *sorted(tmp_path.glob("trips.*")))
    visitor.page.wait_for_selector(".frame > svg")
    assert visitor.page.locator("#rows").inner_text() == "trips.shp"
    assert visitor.complaints == []


def test_a_folder_is_chosen(visit: Visit, tmp_path: Path) -> None:
    """The folder of the Geolife data is taken with all that is in it, and hidden files stay behind."""
    for user in ("000", "001"):
        (tmp_path / "Data" / user / "Trajectory").mkdir(parents=True)
        (tmp_path / "Data" / user / "Trajectory" / "20081023025304.plt").write_text(TRACK)
    (tmp_path / "Data" / ".DS_Store").write_text("x")
    visitor = visit()
    with visitor.page.expect_navigation():
        visitor.page.locator("#folder").set_input_files(tmp_path / "Data")
    visitor.page.wait_for_selector(".frame > svg")
    assert visitor.page.locator("#rows").inner_text() == "Data"
    assert "4" in visitor.page.locator(".figures").inner_text()
    assert visitor.complaints == []


def test_a_folder_is_dropped(studio: Studio, visit: Visit) -> None:
    """A folder that is dropped is read piece by piece, as browsers give it, and taken with all that is in it."""
    visitor = visit()
    with visitor.page.expect_navigation():
        visitor.page.evaluate(
            """(text) => {
              const file = (name) => ({ name, isFile: true, file: (take) => take(new File([text], name)) });
              const folder = (name, pieces) => ({
                name, isDirectory: true, createReader: () => ({ readEntries: (take) => take(pieces.shift() || []) }),
              });
              const user = (name) => folder(name, [[folder("Trajectory", [[file("1.plt")], [file("2.plt")]])]]);
              const root = folder("Data", [[user("000"), file(".DS_Store")], [user("001")]]);
              const event = new Event("drop", { bubbles: true, cancelable: true });
              const transfer = { files: [new File([], "Data")], items: [{ webkitGetAsEntry: () => root }] };
              Object.defineProperty(event, "dataTransfer", { value: transfer });
              document.querySelector(".drop").dispatchEvent(event);
            }""",
            TRACK,
        )
    visitor.page.wait_for_selector(".frame > svg")
    assert visitor.page.locator("#rows").inner_text() == "Data"
    assert studio.project.data is not None
    assert studio.project.data.frame["user"].value_counts().to_dict() == {"000": 4, "001": 4}
    assert visitor.complaints == []


def test_filled_pages_stay(studio: Studio, visit: Visit, trips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the check of a file ends, a page on which somebody types stays as it is; one that nobody touched is new."""
    go, findings = threading.Event(), CheckedFile.findings

    def slowly(self: CheckedFile, *args: Any) -> Any:
        assert go.wait(60)
        return findings(self, *args)

    monkeypatch.setattr(CheckedFile, "findings", slowly)
    studio.project.open(trips, trips.name)
    assert studio.project.reading is not None
    assert studio.project.reading.wait(60)
    pages = [visit("data", rest=False).page for _ in range(2)]
    for page in pages:
        page.wait_for_selector("body[data-busy^=Checking]")
        # A page that is loaded anew forgets this.
        page.evaluate("window.first = true")
    pages[0].locator("input[name=area]").fill("San Fran")
    go.set()
    pages[1].wait_for_selector(".findings li")
    pages[0].get_by_text("Done. Keep what you have filled in").wait_for()
    assert pages[0].evaluate("window.first === true")
    assert pages[0].locator("input[name=area]").input_value() == "San Fran"
    assert not pages[1].evaluate("window.first === true")
