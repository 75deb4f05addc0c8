"""`geoveil check`: what a file can be used for, and commands that run as they are printed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest

import geoveil as gv

START = pd.Timestamp("2026-05-04T08:00Z")


def _tracks(persons: int, each: int, *, seed: int = 1) -> pd.DataFrame:
    """Tracks around Zürich, a point a minute."""
    rng = np.random.default_rng(seed)
    lat, lon = (np.repeat(rng.normal(mid, 0.02, persons), each) for mid in (47.38, 8.54))
    steps = np.tile(np.arange(each), persons)
    times = (START + pd.to_timedelta(steps, unit="min")).strftime("%Y-%m-%dT%H:%M:%SZ")
    users = [f"rider-{number}" for number in np.repeat(np.arange(persons), each)]
    return pd.DataFrame(
        {"rider": users, "time": times, "lat": (lat + steps * 1e-3).round(6), "lon": (lon + steps * 5e-4).round(6)}
    )


def _checked(run: Any, *args: str) -> dict[str, Any]:
    """What check finds, for programs."""
    done = run("check", *args, "--json")
    assert done.out, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def _ride(folder: Path) -> str:
    """A GPX file of one ride."""
    frame = _tracks(1, 120)
    points = "".join(
        f'<trkpt lat="{row.lat}" lon="{row.lon}"><time>{row.time}</time></trkpt>' for row in frame.itertuples()
    )
    text = (
        f'<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>Home to work</name><trkseg>{points}'
    )
    (folder / "ride.gpx").write_text(f"{text}</trkseg></trk></gpx>")
    return "ride.gpx"


def _crowd(folder: Path) -> str:
    _tracks(300, 3).to_csv(folder / "crowd.csv", index=False)
    return "crowd.csv"


def _single(folder: Path) -> str:
    _tracks(400, 1).drop(columns=["rider", "time"]).to_csv(folder / "single.csv", index=False)
    return "single.csv"


def _trips(folder: Path) -> str:
    ends = _tracks(500, 1, seed=2)
    frame = _tracks(500, 1)[["lat", "lon"]].set_axis(["start_lat", "start_lon"], axis=1)
    frame.assign(end_lat=ends["lat"], end_lon=ends["lon"]).to_csv(folder / "trips2.csv", index=False)
    return "trips2.csv"


def _seconds(folder: Path) -> str:
    """Numbers of seconds from a year in which they might count something else: no length of time is protected."""
    frame = _tracks(2, 1500)
    frame["time"] = 1_364_357_009 + 60 * np.tile(np.arange(1500), 2)
    frame.to_csv(folder / "seconds.csv", index=False)
    return "seconds.csv"


@pytest.mark.slow
@pytest.mark.parametrize("make", [_ride, _crowd, _single, _trips, _seconds])
def test_every_printed_command_runs(make: Any, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the first run, without --person and --area; the commands are those of the printed text."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    ran = run("check", make(tmp_path))
    lines = re.findall(r"^  (geoveil .*)$", re.sub(r"\\\n *", "", ran.out), flags=re.MULTILINE)
    assert len(lines) >= 2
    for line in lines:
        done = run(*shlex.split(line)[1:])
        assert done.code == 0, (line, done.err)


def test_json_has_the_commands(run: Any, tmp_path: Path) -> None:
    """The same commands are for programs. Each purpose has its command, and the next one is that of the best."""
    found = _checked(run, _crowd(tmp_path))
    commands = {use["purpose"]: use["command"] for use in found["purposes"]}
    assert found["next"] == commands[found["purposes"][0]["purpose"]]
    assert commands["map"].startswith("geoveil heatmap crowd.csv ")
    assert {*found["purposes"][0]["errors"]} == {"100", "500", "2000"}


def test_proposals_release_no_labels(run: Any, tmp_path: Path) -> None:
    """A column of persons is proposed with pseudonyms, wherever its labels would be released."""
    for use in _checked(run, _crowd(tmp_path))["purposes"]:
        if use["command"] and use["question"] in ("points", "summary"):
            assert "--person rider" in use["command"]
            assert "--pseudonyms" in use["command"]


@pytest.mark.parametrize("name", ["stop_name", "name", "track_id", "shape_id", "trip", "placemark", "user_name"])
def test_place_names_are_no_persons(name: str, run: Any, tmp_path: Path) -> None:
    """Names and tracks are never taken for persons.

    Nor stops, shapes or placemarks, however often their values repeat.
    """
    _tracks(20, 5).rename(columns={"rider": name}).to_csv(tmp_path / "t.csv", index=False)
    found = _checked(run, "t.csv")
    assert not any(f"--person {name}" in (use["command"] or "") for use in found["purposes"])


@pytest.mark.parametrize("values", [["all"] * 100, [f"r{number}" for number in range(100)]])
def test_constant_columns_are_no_persons(values: list[str], run: Any, tmp_path: Path) -> None:
    """Columns that tell nobody apart are not taken for persons. A single value, or another one in each row."""
    _tracks(100, 1).assign(rider=values).to_csv(tmp_path / "t.csv", index=False)
    found = _checked(run, "t.csv")
    assert not any("--person rider" in (use["command"] or "") for use in found["purposes"])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("rider", ["ann"] * 100),
        ("rider", [f"r{max(number, 1)}" for number in range(100)]),
        ("has_taxi", [True, False]),
    ],
)
def test_repeated_person_owns_rows(name: str, values: list[object], run: Any, tmp_path: Path) -> None:
    """Somebody with two rows would get the noise of one; a column of yes and no says nothing about persons."""
    frame = _tracks(100, 1)[["lat", "lon"]].sample(frac=1, random_state=1)
    frame.assign(**{name: values * (100 // len(values))}).to_csv(tmp_path / "t.csv", index=False)
    found = _checked(run, "t.csv")
    named = {"row" if "--person row" in (use["command"] or "") else "" for use in found["purposes"]}
    assert named == ({"", "row"} if name == "has_taxi" else {""})
    assert not any(f"--person {name}" in (use["command"] or "") for use in found["purposes"])


def test_other_languages_are_recognised(run: Any, tmp_path: Path) -> None:
    """Columns of persons and places, and decimal commas: the proposals run."""
    frame = _tracks(60, 10).rename(columns={"rider": "Kunden-Nr", "time": "Datum", "lat": "Breite", "lon": "Länge"})
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    found = _checked(run, "t.csv")
    commands = [use["command"] for use in found["purposes"] if use["command"]]
    assert commands
    assert all("--person Kunden-Nr" in command for command in commands)
    assert run(*shlex.split(commands[-1])[1:]).code == 0


@pytest.mark.parametrize("name", ["rider", "ID"])
def test_durations_are_offered(name: str, run: Any, tmp_path: Path) -> None:
    """A column may name persons: their movements are not one person's, to be cut into days and smoothed."""
    frame = _tracks(20, 40).rename(columns={"rider": name})
    frame.loc[::50, name] = "" if name == "rider" else frame[name]
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = _checked(run, "t.csv")
    assert any(f"say so: --person {name}." in finding["remedy"] for finding in found["findings"])
    uses = [each for use in found["purposes"] for each in (use, *use["others"])]
    assert not any("protect" in use["settings"] for use in uses)
    frame.loc[frame[name] == "", name] = "rider-0"
    frame.to_csv(tmp_path / "t.csv", index=False)
    stated = _checked(run, "t.csv", "--person", name)["purposes"]
    assert all("--pseudonyms" in use["command"] for use in stated if use["purpose"] == "tracks")


def test_smaller_areas_are_proposed(run: Any, tmp_path: Path) -> None:
    """A zone of UTM is thousands of kilometres wide: maps of a city are then in its own area."""
    frame = _tracks(800, 1)
    places = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(frame.lon, frame.lat), crs=4326).to_crs(32632)
    places.to_file(tmp_path / "t.gpkg")
    found = _checked(run, "t.gpkg", "--person", "row")
    assert found["ready"]
    commands = {use["purpose"]: use["command"] for use in found["purposes"]}
    assert "--area" in commands["map"]
    assert run(*shlex.split(commands["map"])[1:]).code == 0
    assert geopandas.read_file("map.gpkg").crs == places.crs


def test_place_codes_are_no_persons(run: Any, tmp_path: Path) -> None:
    """An id with one value for each place explains all of where the points are."""
    frame = _tracks(20, 5)
    frame[["lat", "lon"]] = frame.groupby("rider")[["lat", "lon"]].transform("first")
    frame.rename(columns={"rider": "id"}).to_csv(tmp_path / "t.csv", index=False)
    found = _checked(run, "t.csv")
    assert not any("--person id" in (use["command"] or "") for use in found["purposes"])


def test_questions_at_a_terminal(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose, where, what for and how exact; the answers are in the command. --yes asks nothing."""
    import click

    from geoveil.cli import terminal

    asked: list[str] = []
    replies = {"Whose": "row", "Where": "47.38,8.54,30km", "What": "map", "Up": "800m"}

    def prompt(text: str, **more: Any) -> str:
        asked.append(text)
        return replies[text.split()[0]]

    _crowd(tmp_path)
    monkeypatch.setattr(terminal, "interactive", lambda: True)
    monkeypatch.setattr(click, "prompt", prompt)
    shown = re.sub(r"\\\n *", "", run("check", "crowd.csv").out)
    assert [text.split()[0] for text in asked] == ["Whose", "Where", "What", "Up"]
    lines = re.findall(r"^  (geoveil .*)$", shown, flags=re.MULTILINE)
    assert "--cell 600m --person row --area 47.38,8.54,30km" in lines[0]
    run("check", "crowd.csv", "--yes")
    assert len(asked) == 4


def test_stated_is_not_assumed(run: Any, tmp_path: Path) -> None:
    """With --person and --area nothing must be stated, and --for shows one purpose."""
    _crowd(tmp_path)
    ran = run("check", "crowd.csv", "--person", "rider", "--area", "Zurich", "--for", "map")
    assert ran.code == 0
    assert "assumed" not in ran.out
    assert {*re.findall(r"^  geoveil (\w+)", ran.out, flags=re.MULTILINE)} == {"heatmap"}


def _use(run: Any, name: str, *args: str) -> dict[str, Any]:
    """What check finds about one purpose."""
    return next(use for use in _checked(run, *args)["purposes"] if use["purpose"] == name)


def test_within_proposes_strongest(run: Any, tmp_path: Path) -> None:
    """--within decides what is protected; all offers have their errors and commands, and each command runs."""
    name = _ride(tmp_path)
    free = _use(run, "tracks", name)
    offers = [free, *free["others"]]
    assert len({offer["settings"].get("protect") for offer in offers}) > 1
    exact = min(offer["error"] for offer in offers)
    for within in (exact * 1.01, max(offer["error"] for offer in offers)):
        found = _use(run, "tracks", name, "--for", "tracks", "--within", f"{within}m")
        assert found["verdict"] == "good"
        assert found["error"] <= within
        allowed = [offer for offer in offers if offer["error"] <= within]
        assert found["settings"].get("protect") in [offer["settings"].get("protect") for offer in allowed]
    # The largest error allows everything to be protected together.
    assert "protect" not in found["settings"]
    for number, offer in enumerate(offers):
        words = shlex.split(offer["command"])[1:]
        words[words.index("-o") + 1] = f"out-{number}.gpx"
        assert run(*words).code == 0


def test_unattainable_errors_are_said(run: Any, tmp_path: Path) -> None:
    """An error that nothing keeps to is said. Then there is no command, and the nearest offer is named."""
    found = _use(run, "tracks", _ride(tmp_path), "--for", "tracks", "--within", "5m")
    assert found["verdict"] == "hopeless"
    assert found["command"] is None
    assert "more than 5 m, and nothing found is nearer" in found["text"]


@pytest.mark.parametrize(("unit", "per_second"), [("s", 1), ("ms", 1000)])
def test_elapsed_seconds_are_times(run: Any, tmp_path: Path, unit: str, per_second: int) -> None:
    """Numbers from zero in a column named like times are taken for seconds, or milliseconds, if the speed fits."""
    frame = _tracks(1, 600)[["lat", "lon"]]
    frame.insert(0, "ts", np.arange(600) * 10 * per_second)
    frame.to_csv(tmp_path / "flight.csv", index=False)
    checked = _checked(run, "flight.csv")
    assert any("counts" in finding["what"] and "1:39:50" in finding["what"] for finding in checked["findings"])
    [use] = [use for use in checked["purposes"] if use["purpose"] == "tracks"]
    assert f"--time 'ts [{unit}]'" in use["command"]
    assert run(*shlex.split(use["command"])[1:]).code == 0
    assert "ts" in pd.read_csv("tracks.csv")


def test_other_numbers_are_no_times(run: Any, tmp_path: Path) -> None:
    """Numbers that are no times are not taken for them.

    Numbers that fall, or that would make somebody faster than an aircraft.
    """
    frame = _tracks(1, 60)[["lat", "lon"]]
    for numbers in (np.arange(60)[::-1], np.arange(60) * 1e-3):
        frame.assign(time=numbers).to_csv(tmp_path / "t.csv", index=False)
        assert not any("counts" in finding["what"] for finding in _checked(run, "t.csv")["findings"])


def test_short_rides_stay_private(run: Any, tmp_path: Path) -> None:
    """A ride that stays within the disc is not offered to be shared around it, whatever its margin."""
    name = _ride(tmp_path)
    assert "% of the points are left (this looked at the data)" in _use(run, "home", name)["text"]
    short = re.sub(r'lat="[^"]*"', 'lat="47.380001"', (tmp_path / name).read_text())
    rest = (f'lon="{8.54 + at * 1e-5:.6f}"' for at in range(1000))
    (tmp_path / "short.gpx").write_text(re.sub(r'lon="[^"]*"', lambda _: next(rest), short))
    use = _use(run, "home", "short.gpx")
    assert use["verdict"] == "hopeless"
    assert use["command"] is None
    assert not use["others"]


def test_mean_of_each_person(run: Any, tmp_path: Path) -> None:
    """The middle of each person is released. `geoveil mean`, as check proposes it for answers."""
    _tracks(3, 200).to_csv(tmp_path / "t.csv", index=False)
    use = _use(run, "answers", "t.csv", "--person", "rider", "--area", "Zurich")
    assert use["question"] == "mean"
    assert use["error"] < min(offer["error"] for offer in use["others"] if offer["question"] == "summary")
    assert run(*shlex.split(use["command"])[1:]).code == 0
    assert len(geopandas.read_file("middles.geojson")) == 3
    shown = run("mean", "t.csv", "--person", "rider", "--area", "Zurich", "--hide", "100m")
    assert shown.out.count("±") == 3


def test_few_outliers_leave_area(run: Any, tmp_path: Path) -> None:
    """Three of 400 points at another end of the world are removed, and the others get an area."""
    frame = _tracks(400, 1).drop(columns="time")
    frame.loc[:2, ["lat", "lon"]] = -40.0, 170.0
    frame.loc[3:200, ["lat", "lon"]] += np.linspace(0, 20, 198)[:, None]
    frame.to_csv(tmp_path / "far.csv", index=False)
    found = _checked(run, "far.csv")
    assert found["ready"] or "--outside drop" in " ".join(each["options"] for each in found["findings"])
    assert found["next"]


def test_hopeless_releases_are_refused(run: Any, tmp_path: Path) -> None:
    """What check calls hopeless is refused without a terminal, with what helps; --yes goes on."""
    _tracks(1, 600).drop(columns="rider").to_csv(tmp_path / "one.csv", index=False)
    asked = ["points", "one.csv", "-o", "o.csv", "--area", "47.5,8.7,150km", "--hide", "100m"]
    ran = run(*asked)
    assert ran.code == 2
    assert not (tmp_path / "o.csv").exists()
    assert "What helps" in ran.err
    assert "--yes" in ran.err
    assert run(*asked, "--smooth", "car").code == 0
    assert run(*asked, "--overwrite", "--yes").code == 0
    assert gv.load(tmp_path / "o.csv").n == 600


def _assumption(found: dict[str, Any]) -> str:
    """What check assumes about the persons."""
    return str(next(each["what"] for each in found["findings"] if each["what"].startswith("It is assumed")))


def test_track_rows_are_no_persons(run: Any, tmp_path: Path) -> None:
    """Rows without times that follow each other are one person's; in any order they are persons."""
    track = _tracks(1, 200)[["lat", "lon"]]
    track.to_csv(tmp_path / "track.csv", index=False)
    track.sample(frac=1, random_state=1).to_csv(tmp_path / "shuffled.csv", index=False)
    assert "all 200 rows are of one person" in _assumption(_checked(run, "track.csv"))
    assert "each of the 200 rows is another person" in _assumption(_checked(run, "shuffled.csv"))


def test_timetable_stops_are_rows(run: Any, tmp_path: Path) -> None:
    """In the order of a line they follow each other like a track, and are none."""
    stops = _tracks(1, 100)[["lat", "lon"]].set_axis(["stop_lat", "stop_lon"], axis=1)
    stops.insert(0, "stop_id", [f"s{number}" for number in range(100)])
    stops.to_csv(tmp_path / "stops.txt", index=False)
    found = _checked(run, "stops.txt")
    assert "--person row" in found["next"]


def test_codes_are_no_persons(run: Any, tmp_path: Path) -> None:
    """A column is guessed only if its name says that it names persons."""
    frame = _tracks(5, 40)
    frame.rename(columns={"rider": "unit_id"}).to_csv(tmp_path / "codes.csv", index=False)
    assert "of one person" in _assumption(_checked(run, "codes.csv"))


def test_devices_share_a_person(run: Any, tmp_path: Path) -> None:
    """A Google history with two devices is one person's, whose home can be hidden."""
    records = [
        {"latitudeE7": round(row.lat * 1e7), "longitudeE7": round(row.lon * 1e7), "timestamp": row.time}
        | {"deviceTag": row.Index % 2}
        for row in _tracks(1, 60).itertuples()
    ]
    (tmp_path / "Records.json").write_text(json.dumps({"locations": records}))
    found = _checked(run, "Records.json")
    assert "all 60 rows are of one person" in _assumption(found)
    assert [use["purpose"] for use in found["purposes"] if "zones" in str(use["command"])] == ["home"]


@pytest.mark.slow
def test_home_is_offered(run: Any, tmp_path: Path) -> None:
    """With and without times, in formats that points are not written to; not for several persons or for records."""
    ride = (tmp_path / _ride(tmp_path)).read_text()
    (tmp_path / "untimed.gpx").write_text(re.sub("<time>.*?</time>", "", ride))
    frame = _tracks(1, 120)
    places = "".join(f"<gx:coord>{row.lon} {row.lat} 0</gx:coord>" for row in frame.itertuples())
    times = "".join(f"<when>{row.time}</when>" for row in frame.itertuples())
    begun = '<kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2">'
    (tmp_path / "ride.kml").write_text(f"{begun}<Placemark><gx:Track>{times}{places}</gx:Track></Placemark></kml>")
    for name in ("ride.gpx", "untimed.gpx", "ride.kml"):
        [use] = [use for use in _checked(run, name)["purposes"] if use["purpose"] == "home"]
        told = run("check", name, "--for", "home", "--yes")
        assert "how near attacks come" in told.out
        assert "comes within" in " ".join(told.out.split())
        assert not (tmp_path / "centres.json").exists() or name != "ride.gpx"
        ran = run(*shlex.split(use["command"])[1:], "--overwrite")
        assert ran.code == 0, ran.err
    assert "--for home tells how near" in run("check", "ride.gpx", "--yes").out
    _tracks(3, 60).rename(columns={"rider": "vessel"}).to_csv(tmp_path / "ships.csv", index=False)
    mixed = _tracks(1, 60).drop(columns="rider").sample(frac=1, random_state=1)
    mixed.to_csv(tmp_path / "records.csv", index=False)
    for name in ("ships.csv", "records.csv"):
        assert "home" not in [use["purpose"] for use in _checked(run, name)["purposes"]]


def test_known_home_keeps_disc(run: Any, tmp_path: Path) -> None:
    """Once a home is known, its command repeats how it is hidden; nothing that zones do not need is asked for."""
    name = _ride(tmp_path)
    [use] = [use for use in _checked(run, name)["purposes"] if use["purpose"] == "home"]
    first = use["command"].replace("--hide 100m", "--hide 200m --margin 200m").replace("-o home", "-o first")
    assert run(*shlex.split(first)[1:]).code == 0
    told = run("check", name, "--for", "home", "--yes")
    assert (told.code, told.err) == (0, "")
    assert "how near attacks come" in told.out
    assert "radius of 549 m" in " ".join(told.out.split())
    [use] = [use for use in _checked(run, name)["purposes"] if use["purpose"] == "home"]
    assert "--hide 200m --margin 200m" in use["command"]
    ran = run(*shlex.split(use["command"])[1:])
    assert ran.code == 0, ran.err
    # A budget that is given is not replaced.
    assert "--hide = '300 m'" in run("check", name, "--for", "home", "--yes", "--hide", "300m").err


def test_one_place_is_a_file(run: Any, tmp_path: Path) -> None:
    """Where all points are at one place, no smaller area is proposed for a map."""
    (tmp_path / "one.csv").write_text("user,lat,lon\nann,37.77,-122.42\nbob,37.77,-122.42\n")
    ran = run("check", "one.csv", "--person", "user", "--area", "37.77,-122.42,50km")
    assert ran.code == 0
    assert "What it can be used for" in ran.out


def test_gaps_are_no_persons(run: Any, tmp_path: Path) -> None:
    """Where a label of a person repeats and others are missing, no row is taken for a person of its own."""
    frame = _tracks(1, 60).drop(columns=["rider", "time"]).sample(frac=1, random_state=1)
    frame["user"] = ["ann", "", "ann", "bob", "bob"] * 12
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    assert "all 60 rows are of one person" in _assumption(_checked(run, "gaps.csv"))


def test_waypoints_are_no_tracks(run: Any, tmp_path: Path) -> None:
    """What the command that hides a home cannot read is not offered; each row as another person is verified."""
    points = "".join(f'<wpt lat="{row.lat}" lon="{row.lon}"/>' for row in _tracks(40, 1).itertuples())
    (tmp_path / "climbs.gpx").write_text(
        f'<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">{points}</gpx>'
    )
    checked = _checked(run, "climbs.gpx")
    assert "home" not in [use["purpose"] for use in checked["purposes"]]
    use = _use(run, "points", "climbs.gpx", "--person", "row")
    assert run(*shlex.split(use["command"])[1:]).code == 0
    assert run("verify", "points.gpx").code == 0
    assert len(gv.load("points.gpx").person) == 40


def test_one_time_column_is_assumed(run: Any, tmp_path: Path) -> None:
    """Of several columns of times one is assumed.

    Tracks are offered with the first one, and the other one is named.
    """
    frame = _tracks(1, 200).drop(columns="rider").rename(columns={"time": "capture_time"})
    frame.assign(local_time=frame["capture_time"]).to_csv(tmp_path / "probes.csv", index=False)
    use = _use(run, "tracks", "probes.csv")
    assert "--time capture_time" in use["command"]
    for use in _checked(run, "probes.csv")["purposes"]:
        assert use["command"] is None or run(*shlex.split(use["command"])[1:]).code == 0


def test_keyed_objects_are_rows(run: Any, tmp_path: Path) -> None:
    """A JSON object with an object for each station, as libraries keep them."""
    rows = {
        row.rider: {"name": "x", "location": {"latitude": row.lat, "longitude": row.lon}}
        for row in _tracks(50, 1).itertuples()
    }
    (tmp_path / "stations.json").write_text(json.dumps(rows))
    assert "50 rows with a location, 50 points." in [
        each["what"] for each in _checked(run, "stations.json")["findings"]
    ]
    assert (
        run("points", "stations.json", "-o", "s.csv", "--person", "row", "--area", "Zurich", "--hide", "100m").code
        == 0
    )
