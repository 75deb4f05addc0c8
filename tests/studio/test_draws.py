"""Nothing is drawn on true data before a release, from any source; and whoever did would be counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas
import pytest

import geoveil as gv
from geoveil.city import generator
from geoveil.noise import Entropy
from geoveil.requests import foresight
from geoveil.requests import preview as previews
from geoveil.requests.budgets import Budget
from geoveil.requests.foresight import DISTANCES
from geoveil.requests.made_up import make_up
from geoveil.studio import pages
from geoveil.studio.project import Project
from tests.studio.draw_counting import Draws

pytestmark = pytest.mark.slow

#: The questions, with their options.
OPTIONS = {
    "points": {"thin": "1 minute", "motion": "car"},
    "heatmap": {"cell": "10 km"},
    "counts": {},
    "flows": {"cell": "30 km", "trip": "user"},
    "hull": {},
    "nearest": {"at": "37.795, -122.394", "k": "2"},
    "summary": {},
}


@pytest.fixture
def project(project: Project, tmp_path: Path) -> Project:
    """A studio in which everything is decided, with public regions."""
    corner = geopandas.GeoSeries.from_wkt(["POLYGON ((-123 37, -122 37, -122 38, -123 37))"], crs=4326)
    corner.to_file(tmp_path / "halves.geojson")
    project.regions = tmp_path / "halves.geojson"
    return project


def look(project: Project, question: str) -> None:
    """Look at all pages before a release, with the slider moved and the question's preview."""
    project.choices.question, project.choices.options = question, {**OPTIONS[question]}
    foresight._expected.cache_clear()
    for step in ("data", "protection", "budget", "question", "release", "account"):
        assert pages.render(step, project)
    for away in DISTANCES[::8]:
        assert pages.numbers(project, Budget("hide", f"{away:g}"))
    assert project.preview().layers


@pytest.mark.parametrize("question", OPTIONS)
def test_nothing_drawn_before_release(
    question: str, project: Project, trips: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Maps, checks, the slider and previews draw nothing while true data is in play; a release does."""
    made = Draws(trips, monkeypatch).made
    look(project, question)
    assert made == []
    request = project.request()
    target = project.new_folder("release") / request.target
    request.run(target, None, lambda share: None, confirm=lambda concerns: None)
    assert made


@pytest.mark.parametrize("source", ["numpy", "system"])
@pytest.mark.parametrize("question", ["points", "heatmap", "hull"])
def test_true_previews_are_counted(
    question: str, source: str, project: Project, trips: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A preview that asked about the true rows would be counted, whichever source its noise came from."""
    made = Draws(trips, monkeypatch).made

    def careless(data: Any, settings: Any, **more: Any) -> Any:
        found = make_up(data, settings, **more)
        object.__setattr__(found, "frame", data.frame)
        return found

    monkeypatch.setattr(previews, "make_up", careless)
    if source == "system":
        monkeypatch.setattr(previews, "generator", lambda: None)
    look(project, question)
    assert made
    assert ("system" in {name for name, _ in made}) == (source == "system")


def test_file_previews_are_counted(trips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws on the true file, which is read batch by batch, are counted in the threads that make them."""
    made = Draws(trips, monkeypatch).made
    rng = generator()
    gv.Locations(trips, person="user", area="San Francisco", rng=rng).points(to=tmp_path / "out.csv", rho=1e-4)
    assert {name for name, _ in made} == {"standard_normal"}
    made.clear()
    rng.normal(size=3)
    assert made == []
    assert Entropy().octets(4)
    assert made == [("system", 4)]
