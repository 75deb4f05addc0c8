"""Files with an origin and a destination in each row: what is refused has a remedy that works."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geoveil as gv
from geoveil.errors import InvalidData, InvalidParameter
from tests.command_line import LOCAL

HOW = ["--person", "user", *LOCAL, "--rho", "1e-3"]


@pytest.fixture
def rides(tmp_path: Path) -> pd.DataFrame:
    """Rides of two persons: all columns in od.csv, without the second time in od1.csv, without times in od0.csv."""
    rng, n = np.random.default_rng(3), 12
    table = pd.DataFrame({"user": np.repeat(["ann", "bob"], n // 2), "trip": np.arange(n) // 2})
    table["pickup_time"] = pd.Timestamp("2026-05-01T08:00:07") + pd.to_timedelta(3601 * np.arange(n), unit="s")
    table["dropoff_time"] = table["pickup_time"] + pd.Timedelta("17min")
    for end in ("pickup", "dropoff"):
        table[f"{end}_lat"], table[f"{end}_lon"] = rng.normal([37.77, -122.42], 0.01, size=(n, 2)).T
    table.to_csv(tmp_path / "od.csv", index=False)
    table.drop(columns="dropoff_time").to_csv(tmp_path / "od1.csv", index=False)
    table.drop(columns=["pickup_time", "dropoff_time"]).to_csv(tmp_path / "od0.csv", index=False)
    return table


@pytest.mark.slow
@pytest.mark.usefixtures("rides")
@pytest.mark.parametrize("question", [["flows", "--cell", "10km"], ["hull"], ["points"], ["heatmap", "--cell", "5km"]])
def test_places_have_own_times(question: list[str], run: Any) -> None:
    """Each place has its own time.

    Two recognised columns suffice; one alone is refused, and counts for both places if it is named twice.
    """
    name, *more = question
    days = ["--protect", "1 day", *more, *HOW]
    assert run(name, "od.csv", "-o", "two.csv", *days).code == 0
    done = run(name, "od1.csv", "-o", "one.csv", *days)
    assert done.code == 2
    said = " ".join(done.err.split())
    named = re.search(r"say so: (--time .*)\.$", said)
    assert named is not None, said
    assert run(name, "od1.csv", "-o", "one.csv", *days, *shlex.split(named[1])).code == 0
    wrong = " ".join(run(name, "od.csv", "-o", "wrong.csv", *days, "--time", "pickup_time").err.split())
    named = re.search(r"such as (--time .*)\.$", wrong)
    assert named is not None, wrong
    assert run(name, "od.csv", "-o", "named.csv", *days, *shlex.split(named[1])).code == 0


def test_trips_are_stated_once(rides: pd.DataFrame, run: Any) -> None:
    """Rows that are trips take no column of trips; the places of one end do, and three places are no trip."""
    asked = ["flows", "od.csv", "-o", "flows.csv", "--cell", "10km", *HOW]
    done = run(*asked, "--trip", "trip")
    assert done.code == 2
    assert "--trip = 'trip': must be left out" in done.err
    one = ["--lat", "pickup_lat", "--lon", "pickup_lon", "--trip", "trip"]
    untold = " ".join(run(*asked, *one).err.split())
    assert "--time pickup_time" in untold
    assert run(*asked, *one, "--time", "pickup_time").code == 0
    assert run(*asked, "--overwrite").code == 0
    third = rides.assign(lat3=rides["pickup_lat"], lon3=rides["pickup_lon"])
    area = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    lat, lon = (["pickup_" + c, "dropoff_" + c, c + "3"] for c in ("lat", "lon"))
    with pytest.raises(InvalidData, match=r"3 places.*alone, with lat= and lon=") as problem:
        gv.Locations(third, lat=lat, lon=lon, area=area).flows(10_000, rho=0.1)
    assert "trip=" not in str(problem.value)
    assert gv.Locations(third, lat=lat[:2], lon=lon[:2], area=area).flows(10_000, rho=0.1).n == len(rides)


@pytest.mark.parametrize("kind", ["csv", "geojson"])
def test_both_places_are_smoothed(kind: str, rides: pd.DataFrame, run: Any, tmp_path: Path) -> None:
    """Released and smoothed in one step or in two, places stay apart, and are those of the times of both."""
    assert run("points", "od.csv", "-o", f"p.{kind}", *HOW).code == 0
    both = ["--time", "pickup_time", "--time", "dropoff_time"]
    assert run("smooth", f"p.{kind}", "-o", f"named.{kind}", "--motion", "taxi", *both).code == 0
    assert run("smooth", f"p.{kind}", "-o", f"found.{kind}", "--motion", "taxi").code == 0
    assert run("points", "od.csv", "-o", f"once.{kind}", "--smooth", "taxi", *HOW, *both).code == 0
    named, found, once = (gv.load(tmp_path / f"{name}.{kind}").coords for name in ("named", "found", "once"))
    assert named is not None
    assert once is not None
    assert len(named) == len(once) == 2 * len(rides)
    np.testing.assert_array_equal(named, found)
    for coords in (named, once):
        assert (np.hypot(*(coords[1::2] - coords[::2]).T) > 1).all()


@pytest.mark.usefixtures("rides")
def test_one_time_is_not_smoothed(run: Any, tmp_path: Path) -> None:
    """One time for both places is refused before a release; without smoothing or with one place it works."""
    for times in ([], ["--time", "pickup_time"], ["--time", "pickup_time", "--time", "pickup_time"]):
        done = run("points", "od1.csv", "-o", "out.csv", "--smooth", "taxi", *HOW, *times)
        assert done.code == 2
        said = " ".join(done.err.split())
        assert "leave smoothing out; or release one place of each row alone, with one --lat and one --lon." in said
        assert not (tmp_path / "out.csv").exists()
    assert run("points", "od1.csv", "-o", "out.csv", *HOW).code == 0
    assert run("smooth", "out.csv", "-o", "smooth.csv", "--motion", "taxi").code == 2
    one = ["--lat", "pickup_lat", "--lon", "pickup_lon"]
    assert run("points", "od1.csv", "-o", "one.csv", "--smooth", "taxi", *HOW, *one).code == 0


def test_times_become_columns(rides: pd.DataFrame) -> None:
    """A time for each row is refused for rows with two places, as a column is; the remedy works."""
    area = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    bare = rides.drop(columns=["pickup_time", "dropoff_time"])
    how: dict[str, Any] = {"person": "user", "protect": "1 day", "area": area}
    for times in (rides["pickup_time"], rides[["pickup_time", "dropoff_time"]].to_numpy()):
        with pytest.raises(InvalidParameter, match=r"^times = .*Make them columns of the table.*with times="):
            gv.Locations(bare, times=times, **how).points(rho=1e-3)
    with_columns = bare.assign(a=rides["pickup_time"], b=rides["dropoff_time"])
    assert gv.Locations(with_columns, times=["a", "b"], **how).points(rho=1e-3).n == 2 * len(rides)


@pytest.mark.usefixtures("rides")
def test_series_fit_file_rows(rides: pd.DataFrame, tmp_path: Path) -> None:
    """The rows of a file are numbered from 1, those of a table from 0: times of the table smooth both."""
    area = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    one: dict[str, Any] = {"lat": "pickup_lat", "lon": "pickup_lon", "area": area, "person": "user"}
    for source in (tmp_path / "od.csv", rides):
        release = gv.Locations(source, **one).points(rho=1e-3)
        assert release.smooth("taxi", times=rides["pickup_time"]).n == len(rides)


@pytest.mark.usefixtures("rides")
def test_check_without_times(run: Any) -> None:
    """Flows are a purpose of rows with two places, whatever times they have."""
    for name in ("od.csv", "od1.csv", "od0.csv"):
        shown = json.loads(run("check", name, "--person", "user", *LOCAL, "--json").out)
        assert "flows" in [use["purpose"] for use in shown["purposes"]]
