"""What is drawn of many points, what is made up for previews, and jobs."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import shapely

from geoveil._types import Progress
from geoveil.errors import GeoveilError
from geoveil.facts.wording import error_line
from geoveil.requests import opened_data
from geoveil.requests.budgets import Budget
from geoveil.requests.file_request import FileSettings
from geoveil.requests.foresight import Foresight
from geoveil.requests.made_up import make_up
from geoveil.requests.opened_data import OpenedData
from geoveil.requests.preview import preview
from geoveil.studio import pages
from geoveil.studio.choices import Choices, request_of
from geoveil.studio.jobs import Job
from geoveil.studio.project import Project
from geoveil.text.typed_values import read_length
from tests.studio.deciding import decide, send, ticket_of


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
    return OpenedData.open(path, path.name, FileSettings(), lambda share: None)


def test_large_maps_are_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many points the map gets an even part, and says so; of fewer, tracks by person."""
    data = opened(tmp_path / "many.csv", 3_000, 5)
    (layer,) = data.layers("user")
    assert (layer.kind, layer.role, len(layer.names)) == ("lines", "truth", 5)
    monkeypatch.setattr(opened_data, "_MANY", 1_000)
    (layer,) = data.layers("user")
    assert (layer.kind, layer.name, len(layer.places)) == ("points", "locations, one in 3 points", 1_000)


def test_made_up_data_is_public(tmp_path: Path) -> None:
    """Previews have the labels, times and numbers of points of the file, and none of its places."""
    data = opened(tmp_path / "trips.csv", 300, 4)
    choices = Choices(persons="user", area="San Francisco")
    made = make_up(data, choices.settings(), crowd=False)
    assert made.whole
    assert made.frame["user"].value_counts().to_dict() == data.frame["user"].value_counts().to_dict()
    assert {*made.frame["time"]} == {*data.frame["time"]}
    true = {(point.x, point.y) for point in data.frame.geometry}
    assert true.isdisjoint((point.x, point.y) for point in made.frame.geometry)
    # Other true places, and the same made-up ones.
    moved = OpenedData(data.path, data.name, data.file, data.frame.set_geometry(data.frame.geometry.translate(0.1)))
    assert make_up(moved, choices.settings(), crowd=False).frame.geometry.equals(made.frame.geometry)


#: Rows with several points, as columns and as lines; each of the two persons has six points.
SEVERAL = {
    "trips.csv": "user,start_lat,start_lon,end_lat,end_lon\n"
    + "".join(f"{row % 2},37.7{row},-122.41,37.71,-122.4{row}\n" for row in range(6)),
    "lines.csv": "user,geometry\n"
    + "".join(f'{row % 2},"LINESTRING (-122.4 37.7{row}, -122.42 37.7, -122.41 37.7)"\n' for row in range(4)),
    "mixed.csv": "user,geometry\n"
    + "".join(f'{user},"LINESTRING (-122.4 37.7, -122.42 37.7, -122.41 37.7, -122.41 37.6)"\n' for user in (0, 1))
    + "".join(f'{user},"POINT (-122.4 37.7{at})"\n' for user in (0, 1) for at in (1, 2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("question", ["points", "nearest", "heatmap"])
@pytest.mark.parametrize("name", SEVERAL)
def test_rows_of_several_points(name: str, question: str, tmp_path: Path) -> None:
    """The preview of trips and lines states the error that the release states, not that of one point of each row."""
    (tmp_path / name).write_text(SEVERAL[name])
    data = OpenedData.open(tmp_path / name, name, FileSettings(), lambda share: None)
    assert data.sizes("user").tolist() == [6, 6]
    options = {"cell": "5 km", "at": "37.7, -122.4", "k": "5"}
    area = "San Francisco"
    choices = Choices(persons="user", pseudonyms=False, area=area, unit="all", planned=1, options=options)
    choices.budget, choices.question = Budget("hide", "200"), question
    request = request_of(choices, data)
    made = make_up(data, choices.settings(), crowd=False)
    assert shapely.get_num_coordinates(made.frame.geometry.array).sum() == 12
    foreseen = preview(request, data, lambda share: None)
    (release,) = request.run(tmp_path / request.target, None, lambda share: None, confirm=lambda concerns: None)
    stated = error_line(release.facts(every_error=False)).replace(" for each person", "")
    assert foreseen.errors[-1][1].replace(" for each person", "") == stated


@pytest.mark.slow
@pytest.mark.parametrize("name", SEVERAL)
def test_pages_tell_no_places(name: str, tmp_path: Path) -> None:
    """Numbers, errors and previews are the same, byte for byte, for other places of the same public shape."""
    seen: dict[str, list[str]] = {"here": [], "elsewhere": []}
    for where, pages_of in seen.items():
        folder = tmp_path / where
        (folder / "workspace").mkdir(parents=True)
        (folder / name).write_text(SEVERAL[name].replace("37.7", "37.7" if where == "here" else "37.5"))
        project = Project(folder / "workspace")
        decide(project, folder / name)
        for question in ("points", "heatmap", "nearest", "summary"):
            send(project, "question", question=question, cell="10 km", at="37.7, -122.4", k="2")
            assert project.preview().layers
            pages_of.append(pages.render("question", project))
        pages_of += [pages.render("protection", project), pages.numbers(project, Budget("hide", "300"))]
    assert seen["here"] == seen["elsewhere"]


@pytest.mark.parametrize("options", [{"thin": "1 hour"}, {"every": "hour of day"}, {"unit": "1 day"}])
def test_trips_need_two_times(options: dict[str, str], tmp_path: Path) -> None:
    """What needs the times of both ends of a trip is refused by the preview, and step 2 says what is not known."""
    lines = SEVERAL["trips.csv"].splitlines()
    timed = [f"{lines[0]},start_time", *(f"{line},2026-05-04T06:0{at}Z" for at, line in enumerate(lines[1:]))]
    (tmp_path / "trips.csv").write_text("\n".join(timed))
    project = Project(tmp_path)
    decide(project, tmp_path / "trips.csv")
    project.choices.unit = options.get("unit", "all")
    send(project, "question", question="heatmap", cell="10 km", **options)
    with pytest.raises(GeoveilError, match="need the times of both ends of a trip"):
        project.preview()
    with pytest.raises(GeoveilError, match="need the times of both ends of a trip"):
        project.release(ticket_of(project))
    assert (checking := project.check()) is not None
    assert checking.wait(60)
    assert "the file does not tell the time of each point" in pages.render("protection", project)


def test_large_files_are_sampled(tmp_path: Path) -> None:
    """Of many persons some whole ones are made up, and the preview says how many."""
    data = opened(tmp_path / "many.csv", 9_000, 60)
    made = make_up(data, FileSettings(person="user", area="San Francisco"), crowd=False)
    assert 10 < made.persons < made.all_persons == 60
    sizes = data.frame["user"].value_counts()
    assert all(sizes[user] == count for user, count in made.frame["user"].value_counts().items())


def test_job_keeps_its_problem() -> None:
    """Work that fails ends, and keeps the reason for the page."""

    def work(tell: object) -> int:
        raise ValueError("no")

    job = Job("Failing", work)
    assert job.wait(10)
    assert not job.running
    with pytest.raises(ValueError, match="no"):
        raise job.problem or AssertionError


def test_job_is_given_up() -> None:
    """Work that nobody waits for any more ends, without a result and without a problem."""
    begun = threading.Event()

    def work(tell: Progress) -> int:
        begun.set()
        while True:
            tell(0.5)

    job = Job("Going on for ever", work)
    assert begun.wait(60)
    job.give_up()
    assert job.wait(60)
    assert job.result is None
    assert job.problem is None


def test_smoothing_keeps_the_curve(tmp_path: Path) -> None:
    """What a budget means is said after smoothing, too: another error for tracks, and the same for an attacker."""
    data = opened(tmp_path / "trips.csv", 300, 4)
    project = Project(tmp_path)
    choices = Choices(persons="user", area="San Francisco", unit="all", planned=3)
    found = Foresight(Budget("hide", "200"), choices.settings(), choices.planned, data, None)
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
    assert Foresight(Budget("epsilon", "0.01"), choices.settings(), choices.planned, data, None).smoothed == ""
    page = pages.numbers(project, Budget("hide", "200"))
    assert "<td>any of them, smoothed</td><td>the same</td><td>the same</td>" in page
    assert "Smoothing makes tracks more accurate and leaves these curves as they are" in page
