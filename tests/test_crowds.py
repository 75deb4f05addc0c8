"""The public questions about a crowd: in memory, in sessions and in files they are the same."""

from __future__ import annotations

import inspect
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

REGIONS = geopandas.GeoSeries([shapely.box(-122.5, 37.7, -122.42, 37.8)], ["west"], crs=4326)


def messy() -> pd.DataFrame:
    """The diary in any order, with a row outside the area, one without a place and one without a time."""
    frame = diary()
    frame["kind"] = np.tile([1, 2], 200)
    frame.loc[7, "lat"], frame.loc[11, "lat"], frame.loc[12, "time"] = 10.0, np.nan, pd.NaT
    return frame.sample(frac=1, random_state=1).reset_index(drop=True)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [None, "user", ("user", "1 day"), "1 day", "point"])
@pytest.mark.parametrize(
    "how",
    [{}, {"every": "1 day", "thin": "6 hours"}, {"every": "hour of day", "where": "kind == 1", "cap": 2.5}],
    ids=["plain", "days", "hours"],
)
def test_a_file_has_the_same_answer_as_its_table(unit: Any, how: dict[str, Any], tmp_path: Path) -> None:
    """The sums, the noise of a seed, and all that is said are the same in any number of batches."""
    frame = messy()
    frame.to_csv(tmp_path / "diary.csv", index=False)
    asked = {"unit": unit, "area": BAY, "rho": 5e-5, "outside": "drop", "missing": "drop", **how}
    table = gv.heatmap(frame, 5000, rng=np.random.default_rng(5), **asked)
    file = gv.heatmap_file(tmp_path / "diary.csv", 5000, rng=np.random.default_rng(5), **asked)
    assert np.array_equal(table.noisy, file.noisy)
    assert (table.n, table.crowd, table.total) == (file.n, file.crowd, file.total)
    assert (table.slices, table.removed) == (file.slices, file.removed)
    assert table.rounding == pytest.approx(file.rounding, rel=1e-3)


def test_a_file_in_many_batches_has_the_same_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Persons whose rows are in several batches keep their weights."""
    diary().sample(frac=1, random_state=2).to_csv(tmp_path / "diary.csv", index=False)
    how: dict[str, Any] = {"unit": ("user", "1 day"), "area": BAY, "rho": 5e-5}
    once = gv.counts_file(tmp_path / "diary.csv", REGIONS, rng=np.random.default_rng(5), **how)
    monkeypatch.setattr("geoveil.geo.formats.location_file.ROWS", 64)
    often = gv.counts_file(tmp_path / "diary.csv", REGIONS, rng=np.random.default_rng(5), **how)
    assert np.array_equal(once.noisy, often.noisy)


def trips() -> pd.DataFrame:
    """Two hundred trips of forty persons with an origin and a destination in each row."""
    places = np.random.default_rng(4).normal([37.77, -122.42] * 2, 0.02, size=(200, 4))
    names = ["pickup_latitude", "pickup_longitude", "dropoff_latitude", "dropoff_longitude"]
    return pd.DataFrame(places, columns=names).assign(user=np.arange(200) % 40)


def test_trips_of_a_file_and_of_its_table(tmp_path: Path) -> None:
    """Rows with two places are trips in flows, and two points each in heat maps."""
    frame = trips()
    frame.to_csv(tmp_path / "trips.csv", index=False)
    how: dict[str, Any] = {"unit": "user", "area": BAY, "rho": 5e-5}
    for question, given in (("flows", {"grid": 10_000}), ("heatmap", {"grid": 5000})):
        table = getattr(gv, question)(frame, **given, rng=np.random.default_rng(5), **how)
        file = getattr(gv, f"{question}_file")(tmp_path / "trips.csv", **given, rng=np.random.default_rng(5), **how)
        assert np.array_equal(table.noisy, file.noisy)
        assert table.n == file.n == (200 if question == "flows" else 400)
        assert table.total == pytest.approx(40)
    origins, ends = (
        frame.iloc[:, :2].set_axis(["lat", "lon"], axis=1),
        frame.iloc[:, 2:4].set_axis(["lat", "lon"], axis=1),
    )
    apart = gv.flows(origins, ends, 10_000, **{**how, "unit": frame.user.to_numpy()}, rng=np.random.default_rng(5))
    assert np.array_equal(apart.noisy, gv.flows(frame, None, 10_000, rng=np.random.default_rng(5), **how).noisy)


def test_slices_add_up_to_the_whole() -> None:
    """The slices of a day of the week, in UTC, hold the persons of these days."""
    frame = diary()
    release = gv.heatmap(frame, 5000, unit="user", area=BAY, every="day of week", rho=1e-2)
    assert release.slices[0] == "Monday"
    days = release.value.sum(axis=(1, 2))
    truth = frame.time.dt.day_of_week.value_counts().reindex(range(7), fill_value=0) / 10
    assert np.allclose(days, truth, atol=2)


def test_a_cap_counts_visits() -> None:
    """With a cap, each visit counts as one up to the cap of its person."""
    frame = diary()
    every = gv.heatmap(frame, 5000, unit="user", area=BAY, cap=1000, rho=1e-2)
    some = gv.heatmap(frame, 5000, unit="user", area=BAY, cap=4, rho=1e-2)
    assert every.counted == "visits"
    assert [every.total, some.total] == pytest.approx([400, 160])


@pytest.mark.parametrize(
    ("question", "argument"),
    [
        (lambda x: gv.heatmap(x, {}, rho=1e-4), "grid"),  # type: ignore[arg-type]
        (lambda x: gv.heatmap(x, 500, rho=1e-4), "grid"),
        (lambda x: gv.heatmap(x, gv.Grid((0, 0, 10, 10), cell=1), cap=0, rho=1e-4), "cap"),
        (lambda x: gv.heatmap(x, gv.Grid((0, 0, 10, 10), cell=1), bandwidth=1e6, rho=1e-4), "bandwidth"),
        (lambda x: gv.heatmap(x, gv.Grid((0, 0, 10, 10), cell=1), every="noon", rho=1e-4), "times"),
        (lambda x: gv.counts(x, [shapely.Point(0, 0)], rho=1e-4), "regions"),
        (lambda x: gv.counts(x, 7, rho=1e-4), "regions"),
        (lambda x: gv.flows(x, x, rho=1e-4), "grid, regions"),
        (lambda x: gv.flows(x, x, gv.Grid((0, 0, 10, 10), cell=1), trip=[1, 1], rho=1e-4), "trip"),
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
        gv.flows(np.zeros((2, 2)), grid=gv.Grid((0, 0, 10, 10), cell=1), rho=1e-4)


def test_a_session_by_person_answers_nothing_about_the_crowd() -> None:
    """`by` gives each person an answer; a crowd has `unit`."""
    session = gv.Session(diary(), by="user", area=BAY, rho=1e-3)
    with pytest.raises(InvalidParameter, match="unit="):
        session.heatmap(5000, rho=1e-4)
    assert session.spent == 0


def test_questions_about_a_file_name_all_their_arguments() -> None:
    """The three questions take the same arguments, which an editor can show."""
    given = [{*inspect.signature(ask).parameters} for ask in (gv.heatmap_file, gv.counts_file, gv.flows_file)]
    assert given[0] - {"grid"} == given[1] - {"regions"} == given[2] - {"grid", "regions"}
    assert {"rho", "unit", "area", "ledger", "lat", "delimiter", "progress"} < given[0]


def test_an_argument_named_as_in_another_library_is_refused_with_its_name_here(tmp_path: Path) -> None:
    """`sep` is called `delimiter`; a name that nobody knows is an error as for any function."""
    with pytest.raises(TypeError, match="It is called 'delimiter'"):
        gv.heatmap_file(tmp_path / "diary.csv", 5000, sep=";")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'cells'"):
        gv.counts_file(tmp_path / "diary.csv", REGIONS, cells=3)  # type: ignore[call-arg]
