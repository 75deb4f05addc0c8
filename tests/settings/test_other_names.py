"""Names that new users guess work, or are answered by the line that works.

The guesses were written down before anybody looked at the public names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import geoveil as gv

GROUND = "37.77,-122.42,20km"
#: The library, for names that type checkers know it does not have.
LIBRARY: Any = gv


def people() -> pd.DataFrame:
    """Sixty rows of twenty persons around San Francisco."""
    rng = np.random.default_rng(3)
    lat, lon = rng.normal([37.77, -122.42], 0.01, size=(60, 2)).T
    when = pd.date_range("2026-05-01", periods=60, freq="7min")
    return pd.DataFrame({"user": np.arange(60) % 20, "lat": lat, "lon": lon, "timestamp": when})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of people and one of districts, in which the guesses are made."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("trips.csv", index=False)
    halves = [shapely.box(-122.6, 37.6, -122.42, 37.9), shapely.box(-122.42, 37.6, -122.2, 37.9)]
    geopandas.GeoDataFrame({"name": ["west", "east"]}, geometry=halves, crs=4326).to_file("districts.gpkg")
    return tmp_path


def asked(**settings: Any) -> Any:
    """The people, with a fixed source of noise."""
    how: dict[str, Any] = {"person": "user", "area": GROUND, "rng": np.random.default_rng(1)} | settings
    return gv.Locations(people(), **how)


#: Guesses that work.
WORKING: dict[str, Callable[[], object]] = {
    "points(hide='200m')": lambda: asked().points(hide="200m"),
    "heatmap(cell='1km')": lambda: asked().heatmap(cell="1km", rho=5e-5),
    "heatmap(bandwidth='500m')": lambda: asked().heatmap("2km", rho=5e-5, bandwidth="500m"),
    "nearest('37.77, -122.42', 1)": lambda: asked().nearest("37.77, -122.42", 1, rho=1e-3),
    "first_within(radius='500m')": lambda: asked().first_within("37.77, -122.42", radius="500m", rho=1e-3),
    "counts(regions='districts.gpkg')": lambda: asked().counts(regions="districts.gpkg", rho=5e-5),
    "CGP.hiding(200)": lambda: gv.CGP.hiding(200),
    "GP.hiding('200m')": lambda: gv.GP.hiding("200m"),
    "local(radius='20km')": lambda: gv.local(lat=37.77, lon=-122.42, radius="20km"),
    "plan(error='500m')": lambda: gv.plan("points", n=5, error="500m"),
    "Locations('trips.csv', lat=, lon=)": lambda: gv.Locations("trips.csv", lat="lat", lon="lon", area=GROUND),
}
#: Guesses that are answered, and the answer.
ANSWERED: dict[str, tuple[Callable[[], object], str]] = {
    "points(privacy='medium')": (lambda: asked().points(privacy="medium"), "Give hide=500: 'medium' hides 500 m."),
    "points(200)": (lambda: asked().points(200), "by name. Give one of hide=200 (metres hidden at 75%)"),
    "points(eps=)": (lambda: asked().points(eps=0.01), "It is called 'epsilon': give epsilon=0.01."),
    "points(sigma=)": (lambda: asked().points(sigma=200), "Give one of hide=200 (metres hidden at 75%)"),
    "points(radius='200m')": (lambda: asked().points(radius="200m"), "It is called 'hide': give hide='200m'."),
    "points(k=10)": (lambda: asked().points(k=10), "does not group people: `release.at_least(10)`"),
    "points(seed=)": (lambda: asked().points(hide=200, seed=1), "It is stated with the data: gv.Locations(..., rng="),
    "points(protect=)": (
        lambda: asked().points(hide=200, protect="1 day"),
        "It is stated with the data: gv.Locations(..., protect='1 day').",
    ),
    "points(output=)": (lambda: asked().points(hide=200, output="x.csv"), "It is called 'to': give to='x.csv'."),
    "points(hid=)": (lambda: asked().points(hid=200), "Did you mean hide=200?"),
    "points(colour=)": (lambda: asked().points(colour=1), "Its arguments are hide, rho, epsilon, keep, to"),
    "session(budget=1)": (lambda: asked().session(budget=1), "Give one of hide=200 (metres hidden at 75%)"),
    "nearest(at=(lat, lon))": (
        lambda: asked().nearest(at=(37.77, -122.42), k=1, rho=1e-3),
        "It is called 'p': give p='37.77, -122.42'",
    ),
    "nearest((lat, lon))": (
        lambda: asked().nearest((37.77, -122.42), 1, rho=1e-3),
        'seem to be swapped. A text has the latitude first: p="37.77, -122.42".',
    ),
    "heatmap(cell_size=)": (lambda: asked().heatmap(cell_size=500, rho=1e-4), "It is called 'cell': give cell=500."),
    "flows(cell='1km')": (lambda: asked().flows(cell="1km", rho=1e-4), "It is called 'between': give between='1km'."),
    "Locations(user_id=)": (lambda: asked(user_id="user"), "It is called 'person': give person='user'."),
    "Locations(time=)": (lambda: asked(time="timestamp"), "It is called 'times': give times='timestamp'."),
    "Locations(hide=)": (lambda: asked(hide=200), "It is an argument of questions, such as locations.points(hide=200"),
    "Locations(area=box)": (
        lambda: asked(area=(-122.5, 37.6, -122.3, 37.9)),
        'Give area="37.75,-122.4,20km".',
    ),
    "Locations(area=(lat, lon, radius))": (
        lambda: asked(area=(37.77, -122.42, 20_000)),
        'Give area="37.77,-122.42,20000m".',
    ),
    "local(37.77, -122.42, 20_000)": (
        lambda: LIBRARY.local(37.77, -122.42, 20_000),
        "by name. Its arguments are lat, lon, radius.",
    ),
    "locations.heat_map": (lambda: asked().heat_map, "Use `locations.heatmap('1km', hide=200)`."),
    "locations.inspect": (lambda: asked().inspect, "Use `locations.check()`."),
    "locations.od_matrix": (lambda: asked().od_matrix, "Use `locations.flows('2km', "),
    "locations.centre": (lambda: asked().centre, "Use `locations.center(hide=200)`."),
    "release.to_csv": (lambda: asked().mean(rho=1e-4).to_csv, "Use `release.to_file('released.csv')`."),
    "release.df": (lambda: asked().mean(rho=1e-4).df, "Use `release.to_frame()`."),
    "release.epsilon": (lambda: asked().mean(rho=1e-4).epsilon, "Use `release.guarantee`."),
    "gv.points('trips.csv')": (lambda: LIBRARY.points, "area='San Francisco').points(hide=200)`."),
    "gv.flows('trips.csv')": (lambda: LIBRARY.flows, ".flows('2km', trip='trip', hide=200)`."),
    "gv.read('trips.csv')": (lambda: LIBRARY.read, "Use `gv.Locations('trips.csv', person="),
    "gv.anonymize(df)": (lambda: LIBRARY.anonymize, "area='San Francisco').points(hide=200)`."),
    "gv.check('trips.csv')": (lambda: LIBRARY.check, "area='San Francisco').check()`."),
    "gv.Locations.from_csv('trips.csv')": (
        lambda: LIBRARY.Locations.from_csv,
        "Use `gv.Locations('trips.csv', person=",
    ),
    "gv.Session(df)": (
        lambda: LIBRARY.Session(people()),
        "not DataFrame. Did you mean gv.Locations('trips.csv', person='user', area='San Francisco').session(",
    ),
    "gv.CGP(0.1)": (
        lambda: LIBRARY.CGP(0.1),
        "Did you mean gv.CGP(rho=0.1), or by the metres that are hidden, gv.CGP.hiding(200)?",
    ),
    "gv.GP(0.1)": (lambda: LIBRARY.GP(0.1), "Did you mean gv.GP(epsilon=0.1), or"),
    "gv.CGP(epsilon=1)": (lambda: LIBRARY.CGP(epsilon=1), "Did you mean gv.GP(epsilon=1)?"),
    "gv.CGP(hide=200)": (lambda: LIBRARY.CGP(hide=200), "Did you mean gv.CGP.hiding(200)?"),
    "gv.Location": (lambda: LIBRARY.Location, "Did you mean 'Locations'?"),
}


@pytest.mark.parametrize("guess", WORKING)
def test_guesses_work(here: Path, guess: str) -> None:
    """A length is a text wherever it is a number, a place is a text, and regions are a file."""
    assert WORKING[guess]() is not None


@pytest.mark.parametrize("guess", ANSWERED)
def test_guesses_are_answered(guess: str) -> None:
    """An error about a name that does not exist shows the line that works."""
    call, answer = ANSWERED[guess]
    with pytest.raises((TypeError, AttributeError, gv.errors.GeoveilError), match=re.escape(answer)):
        call()


@pytest.mark.parametrize("text", ["0m", "-1km", "a kilometre", "1 parsec"])
def test_texts_without_a_length(text: str) -> None:
    """A text that is no positive length is refused with its argument."""
    for ask in (lambda: asked().heatmap(text, rho=1e-4), lambda: gv.local(lat=0, lon=0, radius=text)):
        with pytest.raises(gv.errors.InvalidParameter, match=re.escape(f"{text!r}: must be")):
            ask()


def test_region_names_agree(here: Path) -> None:
    """The regions of a file are those of its frame, named by its column of names."""
    frame = geopandas.read_file("districts.gpkg").set_index("name").rename_axis("region")
    answers = [asked().counts(regions, rho=5e-5).value for regions in ("districts.gpkg", frame)]
    pd.testing.assert_frame_equal(*answers)
    assert answers[0].index.tolist() == ["west", "east"]


def test_cells_in_feet() -> None:
    """A side of a cell is in metres, also in a coordinate system in feet; so is a text."""
    feet = geopandas.GeoDataFrame(geometry=shapely.points([[6.0e6, 2.1e6], [6.01e6, 2.11e6]]), crs=2227)
    sides: list[Any] = [
        gv.Locations(feet, rng=np.random.default_rng(1)).heatmap(cell, rho=1e-4) for cell in (20_000, "20km")
    ]
    for heat in sides:
        assert heat.grid.cell == pytest.approx(20_000 / 0.3048, rel=1e-5)


def test_place_texts() -> None:
    """A text has the latitude first, and means the point of the same longitude and latitude."""
    point = geopandas.GeoSeries.from_xy([-122.42], [37.77], crs=4326)
    first, second = (asked().distance(place, rho=1e-4, together=True).value for place in ("37.77, -122.42", point))
    assert first == second


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("anonymize trips.csv", "No such command 'anonymize'. Use 'geoveil points'."),
        ("od-matrix trips.csv", "No such command 'od-matrix'. Use 'geoveil flows'."),
        ("points trips.csv --radius 200m", "No such option '--radius'. It is called --hide."),
        ("points trips.csv --budget 1", "Give one of --hide (such as 200m), --rho and --epsilon."),
        ("points trips.csv --out x.csv", "No such option '--out'. It is called -o."),
        ("heatmap trips.csv --cell-size 1km", "No such option '--cell-size'. It is called --cell."),
    ],
)
def test_commands_are_answered(run: Any, line: str, answer: str) -> None:
    """An error about a command or an option that does not exist names the right one."""
    done = run(*line.split())
    assert done.code == 2
    assert answer in " ".join(done.err.split())
