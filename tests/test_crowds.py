"""The questions about a crowd: in memory and in files they are the same."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import geoveil as gv
from geoveil.errors import InvalidData, InvalidParameter
from tests.answering.test_crowd import BAY, diary
from tests.questions import release_of

REGIONS = geopandas.GeoSeries([shapely.box(-122.5, 37.7, -122.42, 37.8)], ["west"], crs=4326)


def messy() -> pd.DataFrame:
    """The diary in any order, with a row outside the area, one without a place and one without a time."""
    frame = diary()
    frame["kind"] = np.tile([1, 2], 200)
    frame.loc[7, "lat"], frame.loc[11, "lat"], frame.loc[12, "time"] = 10.0, np.nan, pd.NaT
    return frame.sample(frac=1, random_state=1).reset_index(drop=True)


@pytest.mark.slow
@pytest.mark.parametrize("protect", [None, "1 day", "point"])
@pytest.mark.parametrize("person", [None, "user"])
@pytest.mark.parametrize(
    "how",
    [{}, {"every": "1 day", "thin": "6 hours"}, {"every": "hour of day", "where": "kind == 1", "cap": 2.5}],
    ids=["plain", "days", "hours"],
)
def test_file_matches_table(person: str | None, protect: str | None, how: dict[str, Any], tmp_path: Path) -> None:
    """The sums, the noise of a seed, and all that is said are the same in any number of batches."""
    frame = messy()
    frame.to_csv(tmp_path / "diary.csv", index=False)
    data = {"person": person, "protect": protect, "area": BAY, "outside": "drop", "missing": "drop"}
    asked = {**data, "rho": 5e-5, **how}
    table = release_of("heatmap", frame, 5000, rng=np.random.default_rng(5), **asked)
    file = release_of("heatmap", tmp_path / "diary.csv", 5000, rng=np.random.default_rng(5), **asked)
    assert np.array_equal(table.noisy, file.noisy)
    assert (table.n, table.crowd, table.total) == (file.n, file.crowd, file.total)
    assert (table.slices, table.removed) == (file.slices, file.removed)
    assert table.rounding == pytest.approx(file.rounding, rel=1e-3)


def test_many_batches_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Persons whose rows are in several batches keep their weights."""
    diary().sample(frac=1, random_state=2).to_csv(tmp_path / "diary.csv", index=False)
    how: dict[str, Any] = {"person": "user", "protect": "1 day", "area": BAY, "rho": 5e-5}
    once = release_of("counts", tmp_path / "diary.csv", REGIONS, rng=np.random.default_rng(5), **how)
    monkeypatch.setattr("geoveil.geo.formats.location_file.ROWS", 64)
    often = release_of("counts", tmp_path / "diary.csv", REGIONS, rng=np.random.default_rng(5), **how)
    assert np.array_equal(once.noisy, often.noisy)


def trips() -> pd.DataFrame:
    """Two hundred trips of forty persons with an origin and a destination in each row."""
    places = np.random.default_rng(4).normal([37.77, -122.42] * 2, 0.02, size=(200, 4))
    names = ["pickup_latitude", "pickup_longitude", "dropoff_latitude", "dropoff_longitude"]
    return pd.DataFrame(places, columns=names).assign(user=np.arange(200) % 40)


@pytest.mark.slow
def test_trips_of_files(tmp_path: Path) -> None:
    """Rows with two places are trips in flows, and two points each in heat maps."""
    frame = trips()
    frame.to_csv(tmp_path / "trips.csv", index=False)
    how: dict[str, Any] = {"person": "user", "area": BAY, "rho": 5e-5}
    for question, cell in (("flows", 10_000), ("heatmap", 5000)):
        table, file = (
            release_of(question, source, cell, rng=np.random.default_rng(5), **how)
            for source in (frame, tmp_path / "trips.csv")
        )
        assert np.array_equal(table.noisy, file.noisy)
        assert table.n == file.n == (200 if question == "flows" else 400)
        assert table.total == pytest.approx(40)
    origins, ends = (
        frame.iloc[:, :2].set_axis(["lat", "lon"], axis=1),
        frame.iloc[:, 2:4].set_axis(["lat", "lon"], axis=1),
    )
    apart = release_of(
        "flows",
        origins,
        10_000,
        rng=np.random.default_rng(5),
        trip=gv.Locations(ends, area=BAY),
        **{**how, "person": frame.user.to_numpy()},
    )
    assert np.array_equal(apart.noisy, release_of("flows", frame, 10_000, rng=np.random.default_rng(5), **how).noisy)


def test_slices_add_up() -> None:
    """The slices of a day of the week, in UTC, hold the persons of these days."""
    frame = diary()
    release = gv.Locations(frame, person="user", area=BAY).heatmap(5000, every="day of week", rho=1e-2)
    assert release.slices[0] == "Monday"
    days = release.value.sum(axis=(1, 2))
    truth = frame.time.dt.day_of_week.value_counts().reindex(range(7), fill_value=0) / 10
    assert np.allclose(days, truth, atol=2)


def test_a_cap_counts_visits() -> None:
    """With a cap, each visit counts as one up to the cap of its person."""
    frame = diary()
    every = gv.Locations(frame, person="user", area=BAY).heatmap(5000, cap=1000, rho=1e-2)
    some = gv.Locations(frame, person="user", area=BAY).heatmap(5000, cap=4, rho=1e-2)
    assert every.counted == "visits"
    assert [every.total, some.total] == pytest.approx([400, 160])


@pytest.mark.parametrize(
    ("question", "argument"),
    [
        (lambda x: gv.Locations(x).heatmap({}, rho=1e-4), "cell"),  # type: ignore[arg-type]
        (lambda x: gv.Locations(x).heatmap(500, rho=1e-4), "cell"),
        (lambda x: gv.Locations(x).heatmap(gv.Grid((0, 0, 10, 10), cell=1), cap=0, rho=1e-4), "cap"),
        (lambda x: gv.Locations(x).heatmap(gv.Grid((0, 0, 10, 10), cell=1), bandwidth=1e6, rho=1e-4), "bandwidth"),
        (lambda x: gv.Locations(x).heatmap(gv.Grid((0, 0, 10, 10), cell=1), every="noon", rho=1e-4), "times"),
        (lambda x: gv.Locations(x).counts([shapely.Point(0, 0)], rho=1e-4), "regions"),
        (lambda x: gv.Locations(x).counts(7, rho=1e-4), "regions"),
        (lambda x: gv.Locations(x).flows({}, trip=gv.Locations(x), rho=1e-4), "between"),
        (lambda x: gv.Locations(x).flows(gv.Grid((0, 0, 10, 10), cell=1), trip="trip", rho=1e-4), "trip"),
    ],
)
def test_errors_name_the_argument(question: Any, argument: str) -> None:
    """Everything that is refused names the argument."""
    with pytest.raises(InvalidParameter) as caught:
        question(np.zeros((2, 2)))
    assert caught.value.argument == argument


def test_points_are_no_trips() -> None:
    """Flows need two places for each trip."""
    with pytest.raises(InvalidData, match="an origin and a destination"):
        gv.Locations(np.zeros((2, 2))).flows(gv.Grid((0, 0, 10, 10), cell=1), rho=1e-4)


def test_one_session_asks_both() -> None:
    """A session with persons has an answer for each of them, and answers about all; each is charged alike."""
    session = gv.Locations(diary(), person="user", area=BAY).session(rho=1e-3)
    assert session.mean(rho=1e-4).guarantee == gv.CGP(rho=1e-4)
    for release in (session.mean(rho=1e-4, together=True), session.heatmap(5000, rho=1e-4)):
        assert release.guarantee == gv.CGP(rho=1e-4, metric="[person]")
        assert release.crowd == 40
    assert session.spent == Decimal("0.0003")


def test_other_names_are_told(tmp_path: Path) -> None:
    """`sep` is called `delimiter`; the error about a name that nobody knows lists the arguments."""
    with pytest.raises(TypeError, match="It is called 'delimiter'"):
        gv.Locations(tmp_path / "diary.csv", sep=";")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"no argument 'cells'\. Its arguments are regions, hide"):
        gv.Locations(np.zeros((2, 2))).counts(REGIONS, cells=3)  # type: ignore[call-arg]
