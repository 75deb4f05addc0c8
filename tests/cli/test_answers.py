"""`geoveil nearest`, `within`, `hull` and `summary`: answers on the terminal and in files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import geopandas
import pandas as pd
import pytest
import shapely

from tests.command_line import LOCAL, STATION
from tests.formats import BAY, people


def test_nearest_counts_from_one(run: Any, tmp_path: Path) -> None:
    """Rows are those of the file, counted from one, with their times; places come only where they are paid for."""
    asked = ["nearest", "trips.csv", "--at", STATION, "-k", "1", *LOCAL, "--rho", "1e3"]
    frame = people()
    true = frame.to_crs(BAY.crs).geometry.distance(geopandas.GeoSeries.from_xy([0], [0])[0]).argmin()
    done = run(*asked)
    assert re.search(rf"^ 1 +{true + 1} +{frame['time'].iloc[true]}", done.out, re.MULTILINE)
    told = json.loads(run(*asked, "--json").out)
    assert told["answer"][0]["nearest"] == true + 1
    assert "latitude" not in done.out
    placed = run(*asked, "--locations", "50%")
    assert "each released location" in placed.out
    assert f"{frame.geometry.iloc[true].y:.3f}" in placed.out


def test_placeless_rows_are_counted(run: Any, tmp_path: Path) -> None:
    """Rows are numbered as in the file, also where rows without a location are left out."""
    table = pd.read_csv(tmp_path / "trips.csv")
    table.loc[0, ["latitude", "longitude"]] = None
    table.loc[59, ["latitude", "longitude"]] = [37.77, -122.42]
    table.to_csv(tmp_path / "holes.csv", index=False)
    asked = ["nearest", "holes.csv", "--at", STATION, "-k", "1", *LOCAL, "--rho", "1e3", "--json"]
    assert run(*asked).code == 3
    assert json.loads(run(*asked, "--missing", "drop").out)["answer"][0]["nearest"] == 60


def test_within_and_summary(run: Any, tmp_path: Path) -> None:
    """The first visit, and center, radius and bounds: with little noise they are the true ones."""
    frame = people().to_crs(BAY.crs)
    away = frame.geometry.distance(geopandas.GeoSeries.from_xy([0], [0])[0])
    first = int((away < 5000).argmax()) + 1
    asked = ["within", "trips.csv", "--at", STATION, "--radius", "5km", *LOCAL, "--rho", "1e3", "--json"]
    assert json.loads(run(*asked).out)["answer"][0]["first_within"] == first
    told = json.loads(run("summary", "trips.csv", *LOCAL, "--rho", "1e3", "--json").out)
    west, south, east, north = frame.total_bounds
    radius = told["answers"]["radius"][0]["radius"]
    assert max(east - west, north - south) / 2 < radius < 1.5 * max(east - west, north - south)
    lon, lat = told["answers"]["center"]["features"][0]["geometry"]["coordinates"]
    assert (lon, lat) == pytest.approx(people().geometry.union_all().envelope.centroid.coords[0], abs=0.001)
    assert [account["rho"] for account in told["certificates"]] == ["333.333333333333333333333333333"] * 2 + [
        "333.333333333333333333333333334"
    ]
    shown = run("summary", "trips.csv", *LOCAL, "--rho", "1e3", "--person", "user")
    assert len(re.findall(r"^ u\d ", shown.out, re.MULTILINE)) == 3
    assert "ρ = 1000 per m²" in shown.out


@pytest.mark.parametrize("system", [4326, 3460])
def test_antimeridian_answers(system: int, run: Any, tmp_path: Path) -> None:
    """Summaries and hulls of places in Fiji are shown from 179.9 to 180.1 degrees, also from its grid in metres."""
    fiji = geopandas.GeoSeries.from_xy([179.9, -179.9, 179.95], [-17.0, -17.1, -16.9], crs=4326).to_crs(system)
    fiji.to_file(tmp_path / "fiji.gpkg")
    how = ["fiji.gpkg", "--area", "-17,180,100km", "--rho", "1"]
    told = json.loads(run("summary", *how, "--json").out)
    ring = told["answers"]["bounds"]["features"][0]["geometry"]["coordinates"][0]
    wide = max(at[0] for at in ring) - min(at[0] for at in ring)
    assert wide == pytest.approx(0.2, abs=0.01)
    assert re.search(r"179\.(8|9)\d+ to 180\.(0|1)\d+", " ".join(run("summary", *how).out.split()))
    west, _, east, _ = shapely.from_wkt(run("hull", *how).out.splitlines()[0]).bounds
    assert east - west == pytest.approx(0.2, abs=0.01)


def test_hull_is_printed(run: Any) -> None:
    """A hull is printed as text that other programs can read."""
    done = run("hull", "trips.csv", *LOCAL, "--rho", "1", "--quiet")
    assert done.out.startswith("POLYGON ((-122.")
    assert done.out.count("\n") == 1


@pytest.mark.slow
def test_sixty_columns(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown wraps on a narrow terminal."""
    monkeypatch.setenv("COLUMNS", "60")
    lines = [
        ["points", "trips.csv", "-o", "out.csv", "--person", "user", *LOCAL, "--rho", "1e-3"],
        ["points", "trips.csv", "--person", "user", *LOCAL, "--rho", "1e-3", "--dry-run"],
        ["nearest", "trips.csv", "--at", STATION, "-k", "3", "--locations", "50%", *LOCAL, "--rho", "1"],
        ["summary", "trips.csv", "--person", "user", *LOCAL, "--rho", "1"],
        ["explain", "--rho", "5e-5", "--n", "1000"],
        ["plan", "points", "--n", "100", "--error", "500m"],
        ["check", "trips.csv", "--person", "user", *LOCAL],
        ["convert-setting", "location-guard", "medium"],
        ["budget", "create", "b.db", "ann", "--rho", "1e-3"],
        ["budget", "show", "b.db"],
        ["budget", "statement", "b.db", "ann"],
    ]
    for line in lines:
        done = run(*line)
        assert done.code == 0, done.err
        assert all(len(text) <= 60 for text in done.out.splitlines()), (line, done.out)


@pytest.mark.slow
@pytest.mark.parametrize(
    "protected",
    [
        ["--protect", "10 min"],
        ["--protect", "point"],
        ["--person", "user", "--together"],
        ["--person", "user", "--together", "--protect", "10 min"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(
    ("command", "questions"),
    [
        (["hull"], ["hull"]),
        (["nearest", "--at", STATION, "-k", "2"], ["nearest"]),
        (["within", "--at", STATION, "--radius", "500m"], ["first_within"]),
        (["summary"], ["center", "radius", "bounds"]),
    ],
    ids=lambda given: given[0],
)
def test_dry_runs_foresee_units(command: list[str], questions: list[str], protected: list[str], run: Any) -> None:
    """The budget of a dry run is that of the release, and its error but for what the plane stretches."""
    asked = [command[0], "trips.csv", *command[1:], *LOCAL, "--rho", "1e-3", *protected, "--json"]
    foreseen = json.loads(run(*asked, "--dry-run").out)
    told = json.loads(run(*asked).out)
    certificates = [told["certificate"]] if "certificate" in told else told["certificates"]
    lines = foreseen if isinstance(foreseen, list) else [foreseen]
    for question, line, certificate in zip(questions, lines, certificates, strict=True):
        assert (line["question"], line["rho"]) == (question, certificate["rho"])
        if question != "hull":
            assert line["error_95"]["largest"] == pytest.approx(certificate["radius_95"], rel=0.02)


def test_thinning_is_foreseen(run: Any) -> None:
    """A dry run counts the rows that remain."""
    asked = ["nearest", "trips.csv", "--at", STATION, "-k", "1", *LOCAL, "--rho", "1e-3", "--json"]
    plain = json.loads(run(*asked, "--dry-run").out)["error_95"]["largest"]
    thinned = json.loads(run(*asked, "--dry-run", "--thin", "10 min").out)["error_95"]["largest"]
    assert thinned < plain
    released = json.loads(run(*asked, "--thin", "10 min").out)["certificate"]
    assert released["radius_95"] == pytest.approx(thinned, rel=0.02)


def test_unit_messages_name_options(run: Any) -> None:
    """Columns of persons and times, lengths of time, and options that go together."""
    asked = ["hull", "trips.csv", *LOCAL, "--rho", "1e-3"]
    for more, said in (
        (["--protect", "user"], '--protect = \'user\': must be a length of time such as "1 day", or "point"'),
        (["--together"], "--together needs --person COLUMN"),
        (
            ["--person", "user", "--together", "--pseudonyms"],
            "--pseudonyms needs --person COLUMN, and an answer for each",
        ),
        (["--person", "user", "--together", "--metric", "1"], "--person and --metric both say what is protected"),
        (["--protect", "1 day", "--time", "nobody"], "--time = 'nobody': must be"),
        (["--thin", "60"], "--thin = '60': must be a length of time"),
        (["--time", "time"], "--time goes with --thin, or with a length of time as --protect"),
        (["--protect", "1 day", "--metric", "1"], "--protect and --metric both say what is protected"),
    ):
        for dry in ([], ["--dry-run"]):
            refused = run(*asked, *more, *dry)
            assert refused.code in (2, 3)
            assert said in refused.err
    for dry in ([], ["--dry-run"]):
        refused = run(*asked, "--person", "nobody", *dry)
        assert (refused.code, "--person" in refused.err, "time" in refused.err) == (2, True, True)
    points = run("points", "trips.csv", "-o", "out.csv", *LOCAL, "--rho", "1e-3", "--protect", "user")
    assert "Leave --protect out to hide all points of a person together; --person names the persons." in points.err


def test_order_and_number_hidden(run: Any, tmp_path: Path) -> None:
    """Points without an order have no times, and answers without a number of points state none."""
    asked = [*LOCAL, "--person", "user", "--rho", "1e-4", "--yes"]
    run("points", "trips.csv", "-o", "places.csv", "--order", "hidden", *asked)
    released = pd.read_csv(tmp_path / "places.csv")
    assert "time" not in released
    places = geopandas.GeoSeries.from_xy(released.longitude, released.latitude, crs=4326).to_crs(BAY.crs)
    assert all(own.is_monotonic_increasing for _, own in places.y.groupby(released.user))
    told = json.loads(run("summary", "trips.csv", "-o", "summary", "--count", "hidden", *asked, "--json").out)
    assert [account["n"] for account in told["certificates"]] == [None] * 3
    assert run("hull", "trips.csv", "-o", "hulls.gpkg", "--count", "hidden", *asked).code == 0
    assert run("verify", "hulls.gpkg").code == run("verify", "places.csv").code == 0
    smoothed = run("points", "trips.csv", "-o", "smooth.csv", "--order", "hidden", "--smooth", "walking", *asked)
    assert "Choose --order public, or no smoothing." in smoothed.err
    assert run("points", "trips.csv", "-o", "smooth.csv", "--order", "public", "--smooth", "walking", *asked).code == 0
