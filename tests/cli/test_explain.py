"""`geoveil explain`, `plan` and `check`: the meaning of budgets, and columns that give locations away."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import geoveil as gv
from tests.command_line import LOCAL
from tests.formats import make, people

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("asked", [["--rho", "5e-5"], ["--epsilon", "0.01"], ["--rho", "5e-5", "--metric", "2"]])
def test_explain_agrees_with_library(asked: list[str], run: Any) -> None:
    """Chances, errors and what more releases change are those of guarantees and plans."""
    told = json.loads(run("explain", *asked, "--n", "100", "--json").out)
    metric = told["metric"]
    guarantee = gv.CGP(rho=told["rho"], metric=metric) if "rho" in told else gv.GP(epsilon=told["epsilon"])
    for away, chance in told["attacker"].items():
        assert chance == guarantee.attacker(distance=float(away))
    budget: dict[str, Any] = {guarantee.symbol: guarantee}
    assert told["error_95"]["points"] == gv.plan("points", n=100, **budget).error
    fewer = told["releases"]["1"]["hidden_75"] / told["releases"]["100"]["hidden_75"]
    assert fewer == pytest.approx(10 if "rho" in told else 100, rel=1e-6)
    chances = [*told["attacker"].values()]
    assert chances == sorted(chances)
    assert chances[0] < 0.53
    assert chances[-1] > 0.98


def test_plan_inverts_explain(run: Any) -> None:
    """The budget that an error takes gives that error."""
    told = json.loads(run("plan", "nearest", "--n", "20000", "-k", "10", "--error", "300m", "--json").out)
    assert told["rho"] == str(gv.plan("nearest", n=20_000, k=10, error=300).guarantee.budget)
    assert told["error"] <= 300


def test_check_finds_revealing_columns(run: Any, tmp_path: Path) -> None:
    """Names, numbers and codes that tell where a place is; duplicates, holes, and places without a fix."""
    table = pd.read_csv(tmp_path / "trips.csv")
    table["zone"] = (table["latitude"] * 20).astype(int).astype(str)
    table["reading"] = table["longitude"] * 1000 + 5
    table["battery"] = [(7 * i) % 60 for i in range(60)]
    table.loc[5, ["latitude", "longitude"]] = table.loc[4, ["latitude", "longitude"]]
    table.loc[7, ["latitude", "longitude"]] = 0.0
    table.loc[9, ["latitude", "longitude"]] = None
    table.to_csv(tmp_path / "odd.csv", index=False)
    told = json.loads(run("check", "odd.csv", "--person", "user", "--json").out)
    words = "\n".join(finding["what"] for finding in told["findings"])
    assert not told["ready"]
    for expected in (
        "'address' may reveal",
        "'reading' may reveal",
        "1 of 60 rows have no location",
        "at 0, 0",
        "degrees",
    ):
        assert expected in words
    assert "'battery'" not in words
    table.assign(t="POINT (1 2)").to_csv(tmp_path / "shapes.csv", index=False)
    found = json.loads(run("check", "shapes.csv", "--json").out)["findings"]
    assert [line["remedy"] for line in found if "'t' may contain locations" in line["what"]] == [
        "It is never released."
    ]
    assert [line["what"] for line in found if "released unchanged" in line["what"]] == [
        "These columns are released unchanged: time."
    ]
    assert "'zone' may reveal" in json.dumps(json.loads(run("check", "odd.csv", "--json").out))
    bad = run("check", "odd.csv", *LOCAL)
    assert bad.code == 3
    assert "Not ready yet: first correct what is marked with stop." in bad.out
    assert run("check", "trips.csv", "--person", "nobody").code == 3


def test_unregistered_system_remedy(run: Any, tmp_path: Path) -> None:
    """The remedy for an unregistered system can be typed as it is, and check says it once."""
    own = "+proj=laea +lat_0=37.7654 +lon_0=-122.4321 +datum=WGS84"
    people().to_crs(own).to_file(tmp_path / "own.gpkg")
    for command in (["check", "own.gpkg"], ["points", "own.gpkg", "-o", "o.gpkg", "--rho", "1e-4"]):
        done = run(*command, *LOCAL)
        words = " ".join((done.out + done.err).split())
        assert done.code == 3
        assert words.count("ogr2ogr -t_srs EPSG:4326 new.gpkg old.gpkg") == 1
        assert words.count("public register") == 1
        assert "to_crs" not in words


def test_check_agrees_on_columns(run: Any, tmp_path: Path) -> None:
    """Those it says are removed with --keep all are, and no others; the structure of GPX is released."""
    names = [
        "city",
        "zip_code",
        "plate",
        "platform",
        "calculated_total",
        "translation",
        "vocabulary",
        "paid",
        "user_id",
    ]
    table = pd.read_csv(tmp_path / "trips.csv")
    table.assign(**{name: [(7 * i) % 60 for i in range(60)] for name in names}).to_csv(tmp_path / "many.csv")
    found = json.loads(run("check", "many.csv", *LOCAL, "--json").out)["findings"]
    removed = {line["what"].split("'")[1] for line in found if "also with --keep all" in line["remedy"]}
    assert {"city", "zip_code", "address"} <= removed
    assert removed.isdisjoint({"plate", "platform", "calculated_total", "translation"})
    run("points", "many.csv", "-o", "out.csv", *LOCAL, "--rho", "1e-3", "--keep", "all")
    assert removed.isdisjoint(pd.read_csv(tmp_path / "out.csv").columns)
    assert {"plate", "platform"} <= {*pd.read_csv(tmp_path / "out.csv").columns}
    pd.read_csv(tmp_path / "many.csv").drop(columns="user").to_csv(tmp_path / "fewer.csv", index=False)
    told = json.loads(run("check", "fewer.csv", *LOCAL, "--json").out)["findings"]
    (persons,) = [line["remedy"] for line in told if line["what"].startswith("It is assumed")]
    assert "such as user_id" in persons
    assert not re.search("vocabulary|paid", persons)
    path, _ = make("trips.gpx", tmp_path)
    found = json.loads(run("check", path.name, *LOCAL, "--json").out)["findings"]
    (released,) = [line["what"] for line in found if "released unchanged" in line["what"]]
    assert {"kind", "track", "segment"} <= set(re.findall(r"\w+", released))
    assert not [line for line in found if "are removed" in line["what"] and "segment" in line["what"]]


def test_check_proposes_an_area(run: Any, tmp_path: Path) -> None:
    """A ready option, that it looked at the data, and what to do about points elsewhere."""
    found = json.loads(run("check", "trips.csv", "--json").out)["findings"]
    (line,) = [line for line in found if "degrees" in line["what"]]
    assert line["kind"] == "need"
    assert line["remedy"].startswith(
        'Proposed: --area "San Francisco" (70 km around 37.77, -122.42) covers all points.'
    )
    assert "looked at the data" in line["remedy"]
    assert "reveals roughly where it is" in line["remedy"]
    assert run("check", "trips.csv", "--area", "San Francisco").code == 0
    table = pd.read_csv(tmp_path / "trips.csv")
    table.loc[:2, ["latitude", "longitude"]] = 0.0
    table.to_csv(tmp_path / "zero.csv", index=False)
    words = " ".join(run("check", "zero.csv").out.split())
    assert "covers 57 of 60 points; 3 are outside: --outside drop removes them." in words
    table = pd.read_csv(tmp_path / "trips.csv")
    table["latitude"], table["longitude"] = 2.35 + table["longitude"] + 122.42, 48.85 + table["latitude"] - 37.77
    table.to_csv(tmp_path / "swapped.csv", index=False)
    words = " ".join(run("check", "swapped.csv").out.split())
    assert "seem to be swapped: few points are near a city" in words
    assert 'Proposed: --area "Paris"' in words
    table["latitude"], table["longitude"] = [*range(-60, 60, 2)], [*range(-180, 180, 6)]
    table.to_csv(tmp_path / "world.csv", index=False)
    assert "release it part by part" in " ".join(run("check", "world.csv").out.split())


def test_check_ends_with_command(run: Any, tmp_path: Path) -> None:
    """The command is what was typed and what is missing; it runs, and what is assumed is said."""
    told = json.loads(run("check", "trips.csv", "--json").out)
    (command,) = [use["command"] for use in told["purposes"] if use["purpose"] == "points"]
    assert shlex.split(command)[:5] == ["geoveil", "points", "trips.csv", "-o", "points.csv"]
    assert "--person user --area 'San Francisco' --pseudonyms --hide 100m" in command
    assert told["next"] in [use["command"] for use in told["purposes"]]
    assert not told["ready"]
    words = run("check", "trips.csv").out
    assert "Not ready" not in words
    assert "It is assumed that each value of 'user' is one person" in " ".join(words.split())
    for line in (command, told["next"]):
        assert run(*shlex.split(line)[1:]).code == 0
    ready = json.loads(run("check", "trips.csv", "--person", "user", *LOCAL, "--json").out)
    assert ready["ready"]
    assert all(f"{stated} " in ready["next"] for stated in ("--person user", " ".join(LOCAL)))
    assert not [line for line in ready["findings"] if line["what"].startswith("It is assumed")]
    assert json.loads(run("check", "trips.csv", "--person", "nobody", "--json").out)["next"] is None
    (tmp_path / "holes.csv").write_text("lat,lon\n37.77,-122.42\n,\n")
    assert " --missing drop" in json.loads(run("check", "holes.csv", *LOCAL, "--json").out)["next"]


def test_proposed_columns_are_complete(run: Any, tmp_path: Path) -> None:
    """A release by a column with gaps would be refused: another column is proposed, or none."""
    places = ["37.77,-122.42", "37.78,-122.43", "37.70,-122.40", "37.74,-122.46"]
    rows = ["user,device_id,lat,lon", *map(",".join, zip(["ann,1", ",1", "ann,2", "bob,2"], places, strict=True))]
    (tmp_path / "gaps.csv").write_text("\n".join(rows))
    command = json.loads(run("check", "gaps.csv", "--json").out)["next"]
    assert "--person device_id" in command
    assert run(*shlex.split(command)[1:]).code == 0
    (tmp_path / "gaps.csv").write_text("\n".join(row.replace(",1,", ",,") for row in rows))
    told = json.loads(run("check", "gaps.csv", "--json").out)
    assert not [use for use in told["purposes"] if "--person" in use["command"]]
    assert any("fill in its empty rows and say so: --person user" in str(each) for each in told["findings"])


def test_check_names_broken_rows(run: Any, tmp_path: Path) -> None:
    """A row with too few fields is what is wrong, not the missing area."""
    (tmp_path / "short.csv").write_text("user,lat,lon,note\nann,37.77,-122.42\nbob,37.77,-122.42\n")
    words = " ".join(run("check", "short.csv").out.split())
    assert "Expected 4 columns, got 3" in words
    assert "must be in metres" not in words


def test_check_areas_by_system(run: Any, tmp_path: Path) -> None:
    """An area is proposed if a release accepts it, also for metres of web maps; all at 0, 0 is not spread wide."""
    people().to_crs(3857).to_file(tmp_path / "web.gpkg")
    assert "--area 'San Francisco'" in json.loads(run("check", "web.gpkg", "--json").out)["next"]
    own = "+proj=longlat +a=6370000 +b=6370000 +no_defs"
    people().set_crs(own, allow_override=True).to_file(tmp_path / "own.gpkg")
    assert json.loads(run("check", "own.gpkg", "--json").out)["next"] is None
    (tmp_path / "zero.csv").write_text("lat,lon\n0,0\n")
    words = run("check", "zero.csv").out
    assert "all points are at 0, 0" in " ".join(words.split())
    assert "spread wider" not in words


def test_too_wide_areas(run: Any) -> None:
    """The largest radius, parts of a country, and releasing the data part by part."""
    wide = run("points", "trips.csv", "-o", "o.csv", "--rho", "1", "--area", "0,0,5000km")
    assert "at most 3000 km, the radius of the largest area" in wide.err
    assert "part by part, each with its own area and --outside drop" in wide.err
    assert (
        "Name a part of it, such as 'Moscow"
        in run("points", "trips.csv", "-o", "o.csv", "--rho", "1", "--area", "Russia").err
    )
    none = run("points", "trips.csv", "-o", "o.csv", "--rho", "1")
    assert "--area 'San Francisco', by --area LAT,LON,RADIUS" in none.err
    assert "'geoveil check FILE' proposes an area, and looks at the data" in none.err


def test_areas_shows_meanings(run: Any) -> None:
    """One place, several, or similar names."""
    told = json.loads(run("areas", "Zurich", "--json").out)
    assert told["places"] == [
        {
            "area": "Zürich, Switzerland",
            "taken": True,
            "kind": "city",
            "population": 415367,
            "lat": 47.37,
            "lon": 8.55,
            "radius": 70000.0,
        }
    ]
    assert '--area "Zurich" means "Zürich, Switzerland".' in run("areas", "Zurich").out
    assert "can mean several places" in " ".join(run("areas", "Springfield").out.split())
    unknown = run("areas", "Beijng")
    assert unknown.code == 2
    assert 'Similar names: "Beijing, China"' in unknown.out


def test_area_completion() -> None:
    """The shell completes --area by the most populous places."""
    import click

    from geoveil.cli.questions import points

    (option,) = [param for param in points.params if param.name == "area"]
    found = [item.value for item in option.shell_complete(click.Context(points), "San Franc")]
    assert found[0] == "San Francisco, United States"
    assert option.shell_complete(click.Context(points), "S") == []


def test_units_are_compared(run: Any) -> None:
    """Errors for all points, any day, any hour and each point, as the library plans them."""
    told = json.loads(run("explain", "--rho", "5e-5", "--n", "9000", "--every", "1min", "--json").out)
    for question, errors in told["units"].items():
        more: dict[str, Any] = {"k": 1} if question == "nearest" else {}
        assert errors == gv.plan(question, n=9000, rho="5e-5", every="1 minute", **more).units
    shown = run("explain", "--rho", "5e-5", "--n", "9000", "--every", "1min").out
    assert re.search(r"question +all points +any day +any hour +each point", shown)
    asked = ["plan", "center", "--n", "9000", "--rho", "5e-5", "--every", "1min"]
    planned = json.loads(run(*asked, "--json").out)
    assert planned["units"] == told["units"]["center"]
    assert "Any day and any hour change nothing for center." in run(*asked).out


def test_plan_takes_error_or_budget(run: Any) -> None:
    """Exactly one; the error of the budget that an error needs is that error."""
    found = json.loads(run("plan", "mean", "--n", "100", "--error", "50m", "--json").out)
    back = json.loads(run("plan", "mean", "--n", "100", "--rho", found["rho"], "--json").out)
    assert back["error"] == found["error"]
    level = json.loads(run("plan", "mean", "--n", "100", "--privacy", "low", "--json").out)
    assert level["hidden_75"] == pytest.approx(100, rel=1e-5)
    pure = json.loads(run("plan", "mean", "--n", "100", "--error", "50m", "--notion", "GP", "--json").out)
    assert "epsilon" in pure
    for wrong, said in (
        ("", "Neither an error nor a budget was given"),
        ("--error 5m --rho 1", "--error asks for the budget that an error needs, and --rho"),
        ("--error 5m --chance 60%", "--chance goes with --hide"),
        ("--rho 1 --protect user", '--protect = \'user\': must be a length of time such as "1 day", or "point"'),
        ("--error 5m --protect user", "--protect = 'user': must be a length of time"),
        ("--rho 1 --protect '1 day'", "--largest = None: must be a number of points"),
        ("--rho 1 --metric 1 --protect '1 day' --largest 5", "--protect and --metric both say what is protected"),
        ("--error 5m --metric 1 --protect '1 day' --largest 5", "--protect and --metric both say what is"),
        ("--rho 1 --every often", "--every = 'often': must be a length of time"),
    ):
        refused = run("plan", "mean", "--n", "100", *shlex.split(wrong))
        assert refused.code == 2
        assert said in refused.err


def test_unit_budget_is_explained(run: Any) -> None:
    """What it protects, in words; a length of time needs the time between two points."""
    asked = ["explain", "--hide", "100m", "--n", "500", "--protect", "1 hour"]
    assert "--protect '1 hour' needs --every" in run(*asked).err
    words = " ".join(run(*asked, "--every", "30s").out.split())
    assert "100 m hidden at 75% within any hour" in words
    assert "It protects any hour of a person's movements." in words
    told = json.loads(run(*asked, "--every", "30s", "--json").out)
    assert told["error_95"]["points"] == told["units"]["points"]["1 hour"]
    assert "at any single point" in run("explain", "--hide", "100m", "--protect", "point").out


def trips_every(minutes: int, days: int, path: Path) -> None:
    """Write three persons who are recorded at equal intervals; times are public."""
    times = pd.date_range("2026-05-04T06:00:00Z", periods=days * 24 * 60 // minutes, freq=f"{minutes}min")
    parts = [
        pd.DataFrame({"user": user, "time": times[: len(times) // less], "latitude": 37.77, "longitude": -122.42})
        for user, less in (("ann", 4), ("bob", 2), ("eve", 1))
    ]
    pd.concat(parts).to_csv(path, index=False)


@pytest.mark.parametrize("unit", [[], ["--protect", "1 day"], ["--protect", "1 hour"], ["--protect", "point"]])
def test_check_states_commands_noise(unit: list[str], run: Any, tmp_path: Path) -> None:
    """The error of points is the radius of the typical person in that release, with its unit and thinning."""
    trips_every(5, 6, tmp_path / "often.csv")
    told = json.loads(run("check", "often.csv", "--person", "user", *LOCAL, *unit, "--json").out)
    (use,) = [use for use in told["purposes"] if use["purpose"] == "points"]
    assert run(*shlex.split(use["command"])[1:]).code == 0
    # The typical person is the one with most points, who has more than half of all.
    assert pd.read_csv(tmp_path / "points.csv")["radius_95"].max() == pytest.approx(use["error"], rel=1e-3)


def test_check_takes_options(run: Any, tmp_path: Path) -> None:
    """They are in the command that it ends with, and half the distance has half the noise."""
    trips_every(5, 6, tmp_path / "often.csv")
    asked = ["check", "often.csv", "--person", "user", *LOCAL, "--json", "--protect", "1 day"]
    low, half = (json.loads(run(*asked, *budget).out) for budget in ([], ["--hide", "50m"]))
    errors, halves = ({use["purpose"]: use["error"] for use in told["purposes"]} for told in (low, half))
    for purpose in ("points", "answers"):
        assert halves[purpose] == pytest.approx(errors[purpose] / 2, rel=1e-4)
    for use in half["purposes"]:
        if use["command"]:
            assert "--protect '1 day'" in use["command"]
            assert use["command"].endswith("--hide 50m")
    assert run(*shlex.split(half["next"])[1:]).code == 0
    assert "--protect = 'user': must be" in run("check", "often.csv", *LOCAL, "--protect", "user").err


def test_check_without_times(run: Any, tmp_path: Path) -> None:
    """Without times no day is protected and nothing is thinned; one point each needs neither."""
    table = pd.read_csv(tmp_path / "trips.csv")
    table.drop(columns="time").to_csv(tmp_path / "untimed.csv", index=False)
    table.drop_duplicates("user").to_csv(tmp_path / "single.csv", index=False)
    for name in ("untimed.csv", "single.csv"):
        found = json.loads(run("check", name, "--person", "user", *LOCAL, "--json").out)["purposes"]
        assert found
        assert not [use for use in found if {"protect", "thin"} & {*use["settings"]}]
        assert ("answers" in [use["purpose"] for use in found]) == (name == "untimed.csv")
    assert "day" not in run("check", "untimed.csv", "--person", "user", *LOCAL).out
    table.loc[3, "time"] = None
    table.to_csv(tmp_path / "holes.csv", index=False)
    assert json.loads(run("check", "holes.csv", "--person", "user", *LOCAL, "--json").out)["ready"]
