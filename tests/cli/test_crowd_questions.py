"""`geoveil heatmap`, `counts` and `flows`: files in, numbers out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest

import geoveil as gv
from tests.release.test_crowd_release import districts, frame

AREA = ["--area", "37.77,-122.42,20km", "--hide", "200m"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with points, with trips in rows, and with districts."""
    points = frame()
    points["user"], points["trip"] = points.index // 6, points.index // 3
    points.to_csv(tmp_path / "points.csv", index=False)
    ends = points.iloc[::-1].reset_index(drop=True)
    trips = {"pickup_latitude": points.lat, "pickup_longitude": points.lon}
    trips |= {"dropoff_latitude": ends.lat, "dropoff_longitude": ends.lon, "user": points.user}
    pd.DataFrame(trips).to_csv(tmp_path / "trips.csv", index=False)
    districts().rename_axis("district").to_frame("geometry").reset_index().to_file(tmp_path / "districts.geojson")
    return tmp_path


def test_heat_map_is_written(run: Any, folder: Path) -> None:
    """The map is written with its certificate, and the terminal says what it holds."""
    target = folder / "heat.gpkg"
    done = run("heatmap", str(folder / "points.csv"), "--cell", "5km", "--person", "user", *AREA, "-o", str(target))
    assert done.code == 0, done.err
    assert "8 by 8 cells; 0 persons elsewhere." in done.out
    assert "50 persons" in done.out
    cells = geopandas.read_file(target)
    assert len(cells) == 64
    assert cells.persons.sum() == pytest.approx(50, rel=1e-6)
    assert gv.verify(target)


def test_slices_as_json(run: Any, folder: Path) -> None:
    """JSON has a row for each cell of each slice, and the certificate."""
    how = ["--cell", "10km", "--person", "user", "--protect", "1 day", "--every", "hour of day", "--json"]
    done = run("heatmap", str(folder / "points.csv"), *how, *AREA)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert len(told["answer"]) == 24 * 16
    assert told["answer"][0].keys() == {"slice", "person-days", "noisy", "rho"}
    assert told["certificate"]["crowd_noise"]["counted"] == "person-days"


def test_counts_name_regions(run: Any, folder: Path) -> None:
    """--name is the column of the regions' names, which are those of the rows."""
    how = ["--regions", str(folder / "districts.geojson"), "--person", "user"]
    target = folder / "counts.csv"
    done = run("counts", str(folder / "points.csv"), *how, "--name", "district", *AREA, "-o", str(target))
    assert done.code == 0, done.err
    assert "east" in done.out
    found = pd.read_csv(target).set_index("district").persons
    truth = geopandas.sjoin(
        geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(frame().lon, frame().lat, crs=4326)),
        districts().to_frame("geometry").reset_index(names="district"),
    ).district.value_counts()
    assert np.allclose(found, truth[found.index] / 6, atol=5)
    done = run("counts", str(folder / "points.csv"), *how, "--name", "nothing", *AREA)
    assert done.code == 2
    assert "The columns are district" in done.err


@pytest.mark.parametrize("file", ["points.csv", "trips.csv"])
def test_flows_of_labelled_trips(file: str, run: Any, folder: Path) -> None:
    """Trips are rows with two places, or the points with one label."""
    trip = ["--trip", "trip", "--where", "user >= 0"] if file == "points.csv" else []
    how = ["--cell", "10km", "--person", "user", *trip, "-o", str(folder / "flows.csv")]
    done = run("flows", str(folder / file), *how, *AREA)
    assert done.code == 0, done.err
    flows = pd.read_csv(folder / "flows.csv")
    assert [*flows] == ["from_lon", "from_lat", "to_lon", "to_lat", "persons", "noisy", "rho"]
    assert 30 < flows.persons.sum() < 50.001
    assert flows.from_lat.between(37.5, 38).all()
    assert flows.to_lon.between(-122.7, -122.1).all()


def test_ledger_charges_everybody(run: Any, folder: Path) -> None:
    """Each user's account pays once for the whole map."""
    ledger = gv.Ledger(folder / "budget.db")
    ledger.create(*map(str, range(50)), rho=1e-3)
    how = ["--cell", "5km", "--person", "user", "--ledger", str(folder / "budget.db")]
    done = run("heatmap", str(folder / "points.csv"), *how, *AREA[:2], "--rho", "1e-4")
    assert done.code == 0, done.err
    assert {str(account.remaining) for account in ledger.accounts([*map(str, range(50))]).values()} == {"0.0009"}


def test_trips_charge_a_ledger(run: Any, folder: Path) -> None:
    """Flows of labelled trips charge each user's account, as those of rows do."""
    with gv.Ledger(folder / "budget.db") as ledger:
        ledger.create(*map(str, range(50)), rho=1e-3)
        how = ["--cell", "10km", "--person", "user", "--trip", "trip", "--ledger", str(folder / "budget.db")]
        done = run("flows", str(folder / "points.csv"), *how, *AREA[:2], "--rho", "1e-4")
        assert done.code == 0, done.err
        assert {str(account.remaining) for account in ledger.accounts([*map(str, range(50))]).values()} == {"0.0009"}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["heatmap", "points.csv", "--person", "user"], "--cell"),
        (["counts", "points.csv", "--person", "user"], "--regions"),
        (["flows", "points.csv", "--person", "user"], "--regions"),
        (["flows", "points.csv", "--cell", "10km", "--person", "user"], "--trip"),
        (["heatmap", "points.csv", "--cell", "5km", "--person", "user", "--bandwidth", "900km"], "bandwidth"),
        (["heatmap", "points.csv", "--cell", "5km", "--person", "user", "--every", "noon"], "every"),
    ],
)
def test_missing_options_are_named(command: list[str], said: str, run: Any, folder: Path) -> None:
    """Errors name the option to give or to change."""
    name, file, *how = command
    done = run(name, str(folder / file), *how, *AREA)
    assert done.code != 0
    assert said in done.err


def test_without_unit_one_person(run: Any, folder: Path) -> None:
    """Without --person all points are taken as one person's, which a note says; a map of one person is refused."""
    asked = ["heatmap", str(folder / "points.csv"), "--cell", "5km", *AREA]
    done = run(*asked)
    assert done.code == 2
    assert "a map of one person would only tell where this person is" in done.err
    done = run(*asked, "--yes")
    assert done.code == 0, done.err
    assert "All points are taken as one person's" in done.err
    assert "1 person\n" in re.sub(r" +\n", "\n", done.out)
    assert "1 persons" not in done.out


def test_small_numbers_are_blank(run: Any, folder: Path) -> None:
    """--at-least leaves smaller numbers blank in the file, the table and JSON; the file is verified."""
    how = [str(folder / "points.csv"), "--cell", "5km", "--person", "user", "--at-least", "5", *AREA]
    done = run("heatmap", *how, "-o", str(folder / "heat.gpkg"))
    assert done.code == 0, done.err
    cells = geopandas.read_file(folder / "heat.gpkg")
    assert cells.persons.min() >= 5
    assert 0 < cells.persons.isna().sum() == cells.noisy.isna().sum() < 64
    assert gv.verify(folder / "heat.gpkg")
    told = json.loads(run("heatmap", *how, "--json").out)["answer"]
    assert {cell["persons"] is None for cell in told} == {True, False}
    done = run("counts", str(folder / "points.csv"), "--regions", "h3:4", "--person", "user", "--at-least", "5", *AREA)
    assert done.code == 0, done.err
    assert "nan" not in done.out
