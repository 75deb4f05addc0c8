"""One studio and one browser for the tests of a file; each test has a state of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from geoveil.studio.project import Project
from geoveil.studio.server import Studio
from tests.formats import people
from tests.report.conftest import browser
from tests.studio.deciding import decide
from tests.studio.driving import Visitor, running

__all__ = ["browser", "project", "studio", "trips", "visit"]


@pytest.fixture(scope="module")
def _studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with running(tmp_path_factory.mktemp("studio")) as found:
        yield found


@pytest.fixture
def studio(_studio: Studio, tmp_path: Path) -> Studio:
    """A studio in which nothing has happened."""
    folder = tmp_path / "workspace"
    folder.mkdir(mode=0o700)
    _studio.project = Project(folder)
    return _studio


@pytest.fixture
def visit(studio: Studio, browser: Browser) -> Iterator[Callable[..., Visitor]]:
    """Open the studio in a new window."""
    contexts = []

    def opened(step: str = "", *, rest: bool = True, **how: Any) -> Visitor:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})
        contexts.append(context)
        visitor = Visitor(context.new_page(), studio.address)
        visitor.page.goto(studio.address + step)
        if rest:
            visitor.at_rest()
        return visitor

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def project(trips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A studio's state in which everything is decided, started in the folder of the file."""
    monkeypatch.setenv("GEOVEIL_RECORD", "off")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workspace").mkdir()
    found = Project(tmp_path / "workspace")
    decide(found, trips)
    return found


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    """A file of three persons, with a column that gives places away."""
    path = tmp_path / "trips.csv"
    frame = people().assign(longitude=lambda f: f.geometry.x, latitude=lambda f: f.geometry.y)
    frame.drop(columns="geometry").to_csv(path, index=False)
    return path
