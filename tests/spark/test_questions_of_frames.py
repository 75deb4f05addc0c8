"""Crowds and persons of DataFrames: the answers of memory and files, with sums and persons on workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import geoveil as gv
from geoveil.errors import InvalidParameter
from tests.questions import release_of
from tests.spark.trips import AREA, RHO, trips, written

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]


def test_maps_match_files(spark: Any, tmp_path: Path) -> None:
    """With one seed, sums on workers give the heat map of the file to the last bit, also with slices and days."""
    source = written(trips(), tmp_path / "trips.parquet")
    frame = spark.read.parquet(str(source)).repartition(3)
    for more in ({"person": "user", "cap": 5}, {"person": "user", "protect": "1 day", "every": "day of week"}):
        how: dict[str, Any] = {"rho": RHO, "area": AREA, **more}
        expected = release_of("heatmap", source, 10_000, rng=np.random.default_rng(3), **how)
        found = release_of("heatmap", frame, 10_000, rng=np.random.default_rng(3), **how)
        assert np.array_equal(found.noisy, expected.noisy), more
        assert np.array_equal(found.value, expected.value), more
    west = geopandas.GeoSeries([shapely.box(-122.6, 37.6, -122.42, 37.9)], ["west"], crs=4326)
    how = {"rho": RHO, "area": AREA, "person": "user"}
    expected = release_of("counts", source, west, rng=np.random.default_rng(3), **how)
    found = release_of("counts", spark.read.parquet(str(source)), west, rng=np.random.default_rng(3), **how)
    assert np.array_equal(found.value["noisy"], expected.value["noisy"])


def test_flows_match_files(spark: Any, tmp_path: Path) -> None:
    """Flows are those of files. Rows with an origin and a destination are counted once each."""
    data = trips(400, 8)
    pairs = pd.DataFrame({"user": data["user"]})
    pairs["pickup_latitude"], pairs["pickup_longitude"] = data["latitude"], data["longitude"]
    pairs["dropoff_latitude"], pairs["dropoff_longitude"] = data["latitude"][::-1], data["longitude"][::-1]
    pairs.to_parquet(tmp_path / "pairs.parquet")
    how: dict[str, Any] = {"rho": RHO, "area": AREA, "person": "user"}
    expected = release_of("flows", tmp_path / "pairs.parquet", 25_000, rng=np.random.default_rng(3), **how)
    found = release_of(
        "flows", spark.createDataFrame(pairs).repartition(3), 25_000, rng=np.random.default_rng(3), **how
    )
    assert np.array_equal(found.value, expected.value)


def test_mean_matches_memory(spark: Any, tmp_path: Path) -> None:
    """The mean of a crowd has the noise and the value of that in memory; a ledger stores it under a key."""
    data = trips(500, 4)
    how: dict[str, Any] = {"rho": RHO, "area": AREA, "person": "user", "together": True}
    expected = release_of("mean", data, crs=4326, rng=np.random.default_rng(3), **how)
    frame = spark.createDataFrame(data).repartition(3)
    found = release_of("mean", frame, rng=np.random.default_rng(3), **how)
    assert found.answers[0].mechanisms == expected.answers[0].mechanisms
    assert found.coords is not None
    assert expected.coords is not None
    assert np.allclose(found.coords, expected.coords, atol=1e-6)
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create(*sorted(set(data["user"])), rho=1)
    first, again = (release_of("mean", frame, ledger=ledger, key="mean", **how) for _ in range(2))
    assert first.value.equals(again.value)
    assert str(ledger.account("u0000").remaining) == "0.99995"


def test_persons_have_answers(spark: Any, tmp_path: Path) -> None:
    """With next to no noise, answers about each person are the true ones: also about one with very many rows."""
    many = trips(300_000, 1, seed=2).assign(user="giant")
    data = pd.concat([many, trips(600, 60)], ignore_index=True)
    data["id"] = np.arange(len(data))
    frame = spark.read.parquet(str(written(data, tmp_path / "trips.parquet", group=100_000)))
    how: dict[str, Any] = {"person": "user", "rho": 1e6, "area": AREA}
    found = release_of("bounds", frame, to=tmp_path / "bounds", **how).value.toPandas().set_index("user")
    boxes = geopandas.GeoSeries.from_wkb(found["geometry"]).bounds
    true = data.groupby("user")[["longitude", "latitude"]].agg(["min", "max"])
    assert set(boxes.index) == set(true.index)
    assert np.allclose(boxes.loc[true.index, "minx"], true["longitude"]["min"], atol=1e-3)
    assert np.allclose(boxes.loc[true.index, "maxy"], true["latitude"]["max"], atol=1e-3)
    centers = release_of("center", spark.read.parquet(str(tmp_path / "trips.parquet")), to=tmp_path / "center", **how)
    assert centers.value.count() == 61
    assert centers.certificate()["persons"] == 61
    assert centers.certificate()["file"]["kind"] == "place"
    assert gv.verify(tmp_path / "center").holds


def test_every_question_by_person(spark: Any, tmp_path: Path) -> None:
    """Each question is answered about each person, charged once, and refused without a column of persons."""
    data = trips(400, 4)
    frame = spark.createDataFrame(data)
    how: dict[str, Any] = {"person": "user", "rho": 1e-3, "area": AREA}
    place = geopandas.GeoSeries.from_xy([-122.42], [37.77], crs=4326)
    asked: dict[str, Any] = {
        "hull": lambda path: release_of("hull", frame, to=path, **how),
        "radius": lambda path: release_of("radius", frame, to=path, protect="1 day", **how),
        "mean": lambda path: release_of("mean", frame, to=path, **how),
        "distance": lambda path: release_of("distance", frame, place, to=path, **how),
        "first": lambda path: release_of("first_within", frame, place, to=path, radius=3000, label="id", **how),
    }
    for name, ask in asked.items():
        assert ask(tmp_path / name).value.count() == 4, name
    nearest = release_of("nearest", frame, place, to=tmp_path / "nearest", k=3, label="id", **how)
    assert nearest.value.count() == 12
    assert set(nearest.value.toPandas()["nearest"]) <= set(data["id"])
    with pytest.raises(InvalidParameter, match="person"):
        release_of("hull", frame, to=tmp_path / "no", rho=1e-3, area=AREA)


def test_person_rows_are_filtered(spark: Any, tmp_path: Path) -> None:
    """`where` holds also if none of the first rows passes it; labels of neighbours are stated, or refused."""
    data = trips(10_300, 2)
    data["note"] = "seen"
    data.loc[10_250, "note"] = "POINT (-122.4 37.7)"
    frame = spark.createDataFrame(data).coalesce(1)
    how: dict[str, Any] = {"person": "user", "rho": 1e-3, "area": AREA}
    place = geopandas.GeoSeries.from_xy([-122.42], [37.77], crs=4326)
    release = release_of("nearest", frame, place, to=tmp_path / "nearest", k=1, label="id", where="id >= 10200", **how)
    assert set(release.value.toPandas()["nearest"]) <= set(range(10_200, 10_300))
    assert [each["name"] for each in release.certificate()["unchanged"]] == ["id"]
    with pytest.raises(InvalidParameter, match="label"):
        release_of("nearest", frame, place, to=tmp_path / "no", k=1, label="note", **how)
    assert release_of("center", frame, to=tmp_path / "center", where="id < 100", **how).value.count() == 1


def test_pseudonyms_order_rows(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that come by person come in the order of pseudonyms, which tells nothing about the labels."""
    frame = spark.createDataFrame(trips(600, 40))
    how: dict[str, Any] = {"person": "user", "rho": RHO, "area": AREA, "pseudonyms": True}
    release_of("points", frame, to=tmp_path / "days", protect="1 day", **how)
    release_of("center", frame, to=tmp_path / "centers", **how)
    monkeypatch.setattr("geoveil.spark.frame_rows._BROADCAST", 0)
    release_of("points", frame, to=tmp_path / "many", **how)
    for name in ("days", "centers", "many"):
        found = [pd.read_parquet(part)["user"] for part in sorted((tmp_path / name).glob("*.parquet"))]
        assert all(users.is_monotonic_increasing for users in found), name
        assert pd.concat(found).nunique() == 40


def test_numbers_are_hidden(spark: Any, tmp_path: Path) -> None:
    """Answers about persons state no number of points where it is hidden; without an order, points are refused."""
    frame = spark.createDataFrame(trips(300, 4)).repartition(3)
    locations = gv.Locations(frame, person="user", area=AREA)
    release = locations.center(rho=RHO, count="hidden", to=tmp_path / "centers")
    certificate = release.certificate()
    assert [release.n, certificate["n"], certificate["rows_removed"]] == [None] * 3
    assert "number and the order of a person's points are secret" in certificate["words"]
    assert gv.verify(tmp_path / "centers")
    with pytest.raises(InvalidParameter, match=r"^order = 'hidden'.*toPandas"):
        locations.points(rho=RHO, order="hidden", to=tmp_path / "points")
    with pytest.raises(InvalidParameter, match=r"^count = 'hidden'.*Leave it out"):
        locations.mean(rho=RHO, count="hidden", together=True)
