"""What is drawn of many points, what is made up for previews, and jobs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geoveil.studio import opened_data, pages
from geoveil.studio.choices import Choices, ChosenBudget, StatedArea
from geoveil.studio.foresight import foresee
from geoveil.studio.jobs import Job
from geoveil.studio.made_up import make_up
from geoveil.studio.opened_data import OpenedData
from geoveil.studio.project import Project
from geoveil.typed_values import read_length


def opened(path: Path, n: int, persons: int) -> OpenedData:
    """A file of random points."""
    rng = np.random.default_rng(3)
    columns = {
        "user": rng.integers(persons, size=n),
        "lat": rng.normal(37.77, 0.01, n),
        "lon": rng.normal(-122.42, 0.01, n),
    }
    columns["time"] = pd.Timestamp("2026-01-01T00:00:00Z") + pd.to_timedelta(np.arange(n) * 30, unit="s")
    pd.DataFrame(columns).to_csv(path, index=False)
    return OpenedData.open(path, path.name, {}, "", lambda share: None)


def test_of_very_many_points_some_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many points the map gets an even part, and says so; of fewer, tracks by person."""
    data = opened(tmp_path / "many.csv", 3_000, 5)
    (layer,) = data.layers("user")
    assert (layer.kind, layer.role, len(layer.names)) == ("lines", "truth", 5)
    monkeypatch.setattr(opened_data, "_MANY", 1_000)
    (layer,) = data.layers("user")
    assert (layer.kind, layer.name, len(layer.places)) == ("points", "locations, of one in 3 rows", 1_000)


def test_what_is_made_up_has_the_public_shape_alone(tmp_path: Path) -> None:
    """Previews have the labels, times and numbers of points of the file, and none of its places."""
    data = opened(tmp_path / "trips.csv", 300, 4)
    choices = Choices(persons="user", area=StatedArea("San Francisco"))
    made = make_up(data, choices, crowd=False)
    assert made.whole
    assert made.frame["user"].value_counts().to_dict() == data.frame["user"].value_counts().to_dict()
    assert {*made.frame["time"]} == {*data.frame["time"]}
    true = {(point.x, point.y) for point in data.frame.geometry}
    assert true.isdisjoint((point.x, point.y) for point in made.frame.geometry)
    # Other true places, and the same made-up ones.
    moved = OpenedData(data.path, data.name, data.file, data.frame.set_geometry(data.frame.geometry.translate(0.1)))
    assert make_up(moved, choices, crowd=False).frame.geometry.equals(made.frame.geometry)


def test_large_files_are_made_up_in_part(tmp_path: Path) -> None:
    """Of many persons some whole ones are made up, and the preview says how many."""
    data = opened(tmp_path / "many.csv", 9_000, 60)
    made = make_up(data, Choices(persons="user", area=StatedArea("San Francisco")), crowd=False)
    assert 10 < made.persons < made.all_persons == 60
    sizes = data.frame["user"].value_counts()
    assert all(sizes[user] == count for user, count in made.frame["user"].value_counts().items())


def test_a_job_keeps_its_problem() -> None:
    """Work that fails ends, and keeps the reason for the page."""

    def work(tell: object) -> int:
        raise ValueError("no")

    job = Job("Failing", work)
    assert job.wait(10)
    assert not job.running
    with pytest.raises(ValueError, match="no"):
        raise job.problem or AssertionError


def test_smoothing_changes_errors_and_no_curve(tmp_path: Path) -> None:
    """What a budget means is said after smoothing, too: another error for tracks, and the same for an attacker."""
    data = opened(tmp_path / "trips.csv", 300, 4)
    project = Project(tmp_path)
    choices = Choices(persons="user", area=StatedArea("San Francisco"), unit="all", planned=3)
    found = foresee(ChosenBudget("hide", "200"), choices, data, None)
    said = r"After smoothing, which costs nothing, .* off by (\S+ k?m) if .* by (\S+ k?m) in cars\."
    off = re.fullmatch(said, found.smoothed)
    assert off is not None
    before = read_length(found.errors[0][1].removeprefix("up to ").replace(",", ""))
    walking, car = (read_length(text.replace(",", "")) for text in off.groups())
    assert before is not None
    assert walking is not None
    assert car is not None
    assert walking < car < before
    # Neither tracks without times nor ε are smoothed.
    assert foresee(ChosenBudget("epsilon", "0.01"), choices, data, None).smoothed == ""
    page = pages.numbers(project, ChosenBudget("hide", "200"))
    assert "<td>any of them, smoothed</td><td>the same</td><td>the same</td>" in page
    assert "Smoothing makes tracks more accurate and leaves these curves as they are" in page
