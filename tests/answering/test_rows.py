"""Rows that are removed before noise is drawn: by a filter, without a location, outside the area."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import jsonschema
import numpy as np
import pandas as pd
import pytest
import shapely

import geoveil as gv
from geoveil.answering import row_rules
from geoveil.answering.preparation import rehearse
from geoveil.answering.row_rules import RowRules
from geoveil.answering.settings import Settings
from geoveil.errors import InvalidData, InvalidFile, InvalidParameter
from geoveil.geo.formats import location_file, open_locations
from tests.command_line import LOCAL
from tests.questions import release_of, session_of

BAY = gv.local(lat=37.77, lon=-122.42, radius=50_000)
DROP: dict[str, Any] = {"outside": "drop", "missing": "drop"}


def table() -> pd.DataFrame:
    """Twelve trips of four persons: one of them is always outside, two locations are missing, one is no location."""
    lat = [37.7, 37.71, 37.72, 37.73, 37.74, 37.75, 37.76, None, None, 10.0, 10.0, 95.0]
    who = ["ann", "bob", "ann", "bob", "ann", "bob", "cat", "ann", "bob", "dan", "dan", "cat"]
    mode = ["bike", "car"] * 6
    times = pd.date_range("2024-01-01", periods=12, freq="h")
    return pd.DataFrame(
        {"user": who, "mode": mode, "time": times, "lat": lat, "lon": [np.nan if v is None else -122.4 for v in lat]}
    )


def frame() -> geopandas.GeoDataFrame:
    """The same as a GeoDataFrame."""
    data = table()
    places = [None if np.isnan(lat) else shapely.Point(lon, lat) for lat, lon in zip(data.lat, data.lon, strict=True)]
    return geopandas.GeoDataFrame(data.drop(columns=["lat", "lon"]), geometry=places, crs=4326)


def csv(folder: Path) -> Path:
    """The same as a CSV file."""
    table().to_csv(folder / "trips.csv", index=False)
    return folder / "trips.csv"


def _points(folder: Path, **how: Any) -> Any:
    return release_of("points", frame(), person="user", area=BAY, rho=1e-4, **how)


def _session(folder: Path, **how: Any) -> Any:
    return session_of(frame(), person="user", area=BAY, rho=1e-4, **how).points(rho=1e-4)


def _file(folder: Path, **how: Any) -> Any:
    return release_of("points", csv(folder), person="user", area=BAY, to=folder / "o.csv", rho=1e-4, **how)


def _file_together(folder: Path, **how: Any) -> Any:
    return release_of("points", csv(folder), person="user", area=BAY, to=folder / "o.csv", epsilon=1e-2, **how)


def _read(folder: Path, **how: Any) -> gv.Release:
    return gv.Locations(gv.Locations(csv(folder), area=BAY, **how).frame(), person="user").points(rho=1e-4)


EVERYWHERE = pytest.mark.parametrize("release", [_points, _session, _file, _file_together, _read])
STATED = pytest.mark.parametrize("release", [_points, _session, _file, _file_together])


@EVERYWHERE
def test_outside_rows_are_removed(release: Callable[..., gv.Release], tmp_path: Path) -> None:
    """Persons without any other rows are absent, and the noise is that of the points that remain."""
    found = release(tmp_path, **DROP)
    assert (found.n, [*found.person]) == (7, ["ann", "bob", "cat"])
    assert [answer.query.n for answer in found.answers] == [3, 3, 1]


@EVERYWHERE
def test_a_filter_comes_first(release: Callable[..., gv.Release], tmp_path: Path) -> None:
    """Rows that do not satisfy it need no location; the column of the filter need not be released."""
    found = release(tmp_path, **DROP, where="mode = 'bike' and user != 'cat'")
    assert (found.n, [*found.person]) == (3, ["ann"])
    value = gv.load(found.value).value if isinstance(found.value, Path) else found.value
    assert "mode" not in value.columns


@STATED
def test_removed_rows_are_stated(release: Callable[..., gv.Release], tmp_path: Path) -> None:
    """The certificate has the numbers, the filter, and says that who was outside is not hidden."""
    found = release(tmp_path, **DROP, where="mode = 'car'")
    removed = found.removed
    assert (removed.filtered, removed.missing, removed.outside, removed.where) == (6, 1, 2, "mode = 'car'")
    account = json.loads(json.dumps(found.certificate()))
    assert account["rows_removed"] == {"filtered": 6, "missing": 1, "outside": 2, "thinned": 0, "untimed": 0}
    assert (account["where"], account["outside"]) == ("mode = 'car'", "drop")
    assert "outside is not hidden" in account["words"]
    assert "mode = 'car'" in account["words"]
    assert "2 rows with a point outside" in repr(found)
    schema = json.loads(Path(gv.__file__).parent.joinpath("certificates", "certificate.schema.json").read_text())
    jsonschema.validate(account, schema)
    if isinstance(found.value, Path):
        loaded = gv.load(found.value)
        assert (loaded.removed.outside, loaded.removed.where, loaded.outside) == (2, "mode = 'car'", "drop")


def test_clamping_hides_outsiders(tmp_path: Path) -> None:
    """With "clamp" every row is released, and the certificate does not speak of rows that were outside."""
    inside = frame()[:7]
    found = gv.Locations(pd.concat([inside, frame()[9:11]]), person="user", area=BAY, outside="clamp").points(rho=1e-4)
    assert (found.n, found.removed.outside) == (9, 0)
    assert "not hidden; moving" not in found.certificate()["words"]


def test_lines_are_removed_whole(tmp_path: Path) -> None:
    """Lines keep all of their points or none."""
    lines = [[(-122.4, 37.7), (-122.4, 37.8)], [(-122.4, 37.7), (10, 10)], [(-122.4, 37.7), (-122.5, 37.8)]]
    tracks = geopandas.GeoDataFrame({"user": ["a", "b", "c"]}, geometry=[*map(shapely.LineString, lines)], crs=4326)
    found = gv.Locations(tracks, person="user", area=BAY, outside="drop").points(rho=1e-4)
    assert (found.n, found.removed.outside, [*found.person]) == (4, 1, ["a", "c"])
    tracks.to_file(tmp_path / "t.gpkg")
    found = gv.Locations(tmp_path / "t.gpkg", person="user", area=BAY, outside="drop").points(
        to=tmp_path / "o.gpkg", rho=1e-4
    )
    assert (found.n, found.removed.outside, [*found.person]) == (4, 1, ["a", "c"])


def test_removed_points_keep_numbers() -> None:
    """Answers that name points name those of the input."""
    x = np.array([[-122.4, 37.7], [np.nan, 37.7], [10.0, 10.0], [-122.41, 37.71]])
    how: dict[str, Any] = {"crs": 4326, "area": BAY, **DROP}
    found = release_of("nearest", x, (-122.41, 37.71), k=1, rho=1, **how)
    assert (found.value.tolist(), found.removed.missing, found.removed.outside) == ([3], 1, 1)
    each = release_of("points", x, person=["a", "b", "c", "d"], rho=1, **how)
    assert (each.person.tolist(), each.value.shape) == (["a", "d"], (2, 2))
    metres = gv.Locations([[0.0, 1.0], [np.nan, 1.0]], missing="drop").points(rho=1)
    assert (metres.n, metres.removed.missing) == (1, 1)


@pytest.mark.parametrize("how", [{"outside": "drop"}, {"missing": "drop"}])
def test_single_geometries_stay_whole(how: dict[str, Any]) -> None:
    """It is one row; what else helps is named."""
    with pytest.raises(InvalidParameter, match="one row"):
        release_of("points", shapely.MultiPoint([(-122.4, 37.7), (10, 10)]), crs=4326, area=BAY, rho=1, **how)


def test_nothing_left_says_why(tmp_path: Path) -> None:
    """Nothing left is an error that says why. The numbers of removed rows are named, by reason."""
    with pytest.raises(InvalidData, match="12 do not satisfy the filter"):
        gv.Locations(frame(), area=BAY, where="mode = 'train'").points(rho=1)
    with pytest.raises(InvalidFile, match="12 do not satisfy the filter"):
        gv.Locations(csv(tmp_path), area=BAY, where="mode = 'train'").points(to=tmp_path / "o.csv", rho=1)
    far = gv.local(lat=-30, lon=20, radius=1000)
    with pytest.raises(InvalidFile, match="2 have no location, 10 have a point outside"):
        release_of("points", csv(tmp_path), area=far, to=tmp_path / "o.csv", rho=1, **DROP)


def test_filters_need_tables() -> None:
    """Arrays and series have no columns."""
    for x in (np.zeros((2, 2)), frame().geometry):
        with pytest.raises(InvalidParameter, match="unless x is a table"):
            gv.Locations(x, crs=4326, area=BAY, where="mode = 'bike'").points(rho=1)


def test_remaining_persons_are_charged(tmp_path: Path) -> None:
    """Someone who was always outside has no points in the release, and pays nothing."""
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        for name in ("ann", "bob", "cat"):
            ledger.create(name, rho=1)
        assert _file(tmp_path, **DROP, ledger=ledger).n == 7


def test_one_pass_filter_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second reading must have the points of the first: a planted bug that forgets the filter is refused."""
    selected, count = location_file.Batch.selected, [0]

    def forgetful(self: Any, plane: Any, **how: Any) -> Any:
        count[0] += 1
        return selected(self, plane, **{**how, "where": how["where"] if count[0] == 1 else None})

    monkeypatch.setattr(location_file.Batch, "selected", forgetful)
    with pytest.raises(InvalidFile, match="changed"):
        _file(tmp_path, **DROP, where="mode = 'bike'")
    assert not (tmp_path / "o.csv").exists()


def test_one_pass_counts_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug that counts removed rows in the first reading alone is refused."""
    selected, count = RowRules.selected, [0]

    def forgetful(self: RowRules, batch: Any) -> Any:
        count[0] += 1
        left, removed = selected(self, batch)
        return left, removed if count[0] == 1 else type(removed)()

    monkeypatch.setattr(RowRules, "selected", forgetful)
    with pytest.raises(InvalidFile, match="changed"):
        _file(tmp_path, **DROP)


def test_noise_fits_remaining_points() -> None:
    """Noise is that of the points that remain.

    Two versions of the data with the same rows inside are as far apart after the removal as before, at most.
    """
    x = np.array([[-122.4, 37.7], [-122.41, 37.71], [10.0, 10.0]])
    first = gv.Locations(x, crs=4326, area=BAY, outside="drop").points(rho=1e-4)
    alone = gv.Locations(x[:2], crs=4326, area=BAY).points(rho=1e-4)
    assert first.answers[0].mechanisms == alone.answers[0].mechanisms
    assert first.n is not None
    moved = x.copy()
    moved[2] = [-122.4, 37.7]
    assert gv.Locations(moved, crs=4326, area=BAY, outside="drop").points(rho=1e-4).n == first.n + 1


@pytest.mark.parametrize(
    "line",
    [
        ["points", "trips.csv", "-o", "o.csv", "--person", "user", "--rho", "1e-4"],
        ["hull", "trips.csv", "--person", "user", "--rho", "1e-4"],
        ["summary", "trips.csv", "--person", "user", "--rho", "1e-4"],
        ["nearest", "trips.csv", "--person", "user", "--rho", "1e-4", "--at", "37.77,-122.42", "-k", "1"],
        ["within", "trips.csv", "--person", "user", "--rho", "1e-4", "--at", "37.77,-122.42", "--radius", "5km"],
    ],
)
def test_commands_have_the_options(line: list[str], run: Any, tmp_path: Path) -> None:
    """Every command that asks about a file removes rows, states it, and names the row of a refused location."""
    csv(tmp_path)
    refused = run(*line, *LOCAL)
    assert refused.code == 3
    assert "--missing drop" in refused.err
    assert "trips.csv, row 8" in refused.err
    refused = run(*line, *LOCAL, "--missing", "drop")
    assert "--outside drop" in refused.err
    assert "trips.csv, row 1" in refused.err
    options = [*LOCAL, "--missing", "drop", "--outside", "drop", "--where", "mode = 'car'"]
    dry = run(*line, *options, "--dry-run")
    assert dry.code == 0, dry.err
    ran = run(*line, *options, "--json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    accounts = [told["certificate"]] if "certificate" in told else told["certificates"]
    for account in accounts:
        assert account["rows_removed"] == {"filtered": 6, "missing": 1, "outside": 2, "thinned": 0, "untimed": 0}
        assert account["where"] == "mode = 'car'"


def test_check_counts_removed_rows(run: Any, tmp_path: Path) -> None:
    """The filter applies, and rows outside the area are a note with --outside drop."""
    csv(tmp_path)
    ran = run("check", "trips.csv", "--person", "user", *LOCAL, "--missing", "drop", "--outside", "drop")
    assert ran.code == 0, ran.out
    assert "3 rows with a point outside" in ran.out
    ran = run(
        "check",
        "trips.csv",
        "--person",
        "user",
        *LOCAL,
        "--where",
        "mode = 'bike' and user = 'ann'",
        "--missing",
        "drop",
    )
    assert "3 rows satisfy the filter" in ran.out
    assert run("check", "trips.csv", *LOCAL, "--where", "lat > 3").code == 3


def test_coordinate_filters_are_refused(tmp_path: Path) -> None:
    """Which rows remain would reveal the locations, whatever the column is called."""
    lat = np.linspace(37.7, 37.85, 20)
    trips = pd.DataFrame({"lat": lat, "lon": -122.4, "v": lat, "note": [f"{y:.5f};-122.40000" for y in lat]})
    trips.to_csv(tmp_path / "in.csv", index=False)
    for where in ("v > 37.8", "note like '37.8%'"):
        with pytest.raises(InvalidParameter, match="holds locations"):
            gv.Locations(trips, area=BAY, where=where).points(rho=1e-4)
        with pytest.raises(InvalidParameter, match="holds locations"):
            gv.Locations(tmp_path / "in.csv", area=BAY, where=where).points(to=tmp_path / "out.csv", rho=1e-4)


def test_answers_name_file_rows(tmp_path: Path) -> None:
    """Errors of questions that read a file into memory name its rows, counted from one, and its columns."""
    path = tmp_path / "trips.csv"
    path.write_text("user,lat,lon\nann,37.78,-122.41\nbob,52.5,13.4\neve,,\n")
    with pytest.raises(InvalidData, match=r"^trips\.csv, row 3 = None"):
        gv.Locations(path, area=BAY).hull(rho=1)
    with pytest.raises(InvalidData, match=r"^trips\.csv, row 2 = "):
        gv.Locations(path, area=BAY, missing="drop").hull(rho=1)
    with pytest.raises(
        InvalidParameter, match=r"person = 'nobody': must be a column of trips\.csv, one of \['user'\]"
    ):
        gv.Locations(path, area=BAY, person="nobody")


@pytest.mark.parametrize("released", [False, True])
def test_unreleased_texts_are_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, released: bool) -> None:
    """A question that releases no column does not read texts or look for places in them."""
    (tmp_path / "in.csv").write_text("user,lat,lon,time\nann,37.78,-122.41,2026-05-01T08:00:00Z\n")
    searched: list[Any] = []

    def search(values: Any) -> bool:
        searched.append(values)
        return False

    monkeypatch.setattr(row_rules, "shows_places", search)
    settings = Settings(person="user", area=BAY)
    rows = rehearse(open_locations(tmp_path / "in.csv"), settings, gv.CGP(rho=1), released=released)
    assert (len(searched) > 0, len(rows.rules.kept) > 0) == (released, released)
