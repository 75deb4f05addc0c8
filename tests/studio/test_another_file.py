"""Opening another file: what was decided and released about the last one is forgotten."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from geoveil.requests.file_request import FileRequest
from geoveil.studio import pages
from geoveil.studio.project import Project
from tests.formats import people
from tests.studio.deciding import decide, ticket_of

pytestmark = pytest.mark.slow


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two files of the same three persons."""
    frame = people().assign(longitude=lambda f: f.geometry.x, latitude=lambda f: f.geometry.y)
    for name in ("may.csv", "june.csv"):
        frame.drop(columns="geometry").to_csv(tmp_path / name, index=False)
    return tmp_path / "may.csv", tmp_path / "june.csv"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A studio's state, without reports."""
    monkeypatch.setenv("GEOVEIL_RECORD", "off")
    monkeypatch.setattr("geoveil.studio.releasing._drawn", lambda folder, report: [])
    (tmp_path / "workspace").mkdir()
    return Project(tmp_path / "workspace")


def released(project: Project) -> str:
    """Wait for the release, and return the page of step 5."""
    assert project.releasing is not None
    assert project.releasing.wait(60)
    assert project.releasing.problem is None
    return pages.render("release", project)


def test_last_release_is_forgotten(project: Project, files: tuple[Path, Path]) -> None:
    """Another file has no release yet; step 5 lists that of the file before among the earlier ones."""
    decide(project, files[0])
    project.release(ticket_of(project))
    assert 'id="released"' in released(project)
    decide(project, files[1])
    page = pages.render("release", project)
    assert 'id="released"' not in page
    assert "june.csv: 60 points" in page
    assert "Points of may.csv" in page
    assert pages.released(project, 1, "released.csv") is not None
    assert pages.released(project, 2, "released.csv") is None


def test_running_release_goes_on(project: Project, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is opened during a release does not stop it: a page says that it goes on, and whose result it is."""
    go, run = threading.Event(), FileRequest.run

    def slowly(self: FileRequest, *args: Any, **more: Any) -> Any:
        assert go.wait(60)
        return run(self, *args, **more)

    monkeypatch.setattr(FileRequest, "run", slowly)
    decide(project, files[0])
    project.release(ticket_of(project))
    decide(project, files[1])
    assert "The release of may.csv goes on" in pages.render("data", project)
    assert "Releasing may.csv" in pages.render("release", project)
    go.set()
    page = released(project)
    assert 'id="released"' in page
    assert "This is the release of may.csv, not of the file that is open now" in page
    project.prepare_another()
    assert "june.csv: 60 points" in pages.render("release", project)
