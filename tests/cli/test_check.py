"""`geoveil check`: what a file can be used for, and commands that run as they are printed."""

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
    found: dict[str, Any] = json.loads(run("check", *args, "--json").out)
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


def test_the_same_commands_are_for_programs(run: Any, tmp_path: Path) -> None:
    """Each purpose has its command, and the next one is that of the best."""
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
def test_names_and_tracks_are_never_taken_for_persons(name: str, run: Any, tmp_path: Path) -> None:
    """Nor stops, shapes or placemarks, however often their values repeat."""
    _tracks(20, 5).rename(columns={"rider": name}).to_csv(tmp_path / "t.csv", index=False)
    found = _checked(run, "t.csv")
    assert not any(f"--person {name}" in (use["command"] or "") for use in found["purposes"])


@pytest.mark.parametrize("values", [["all"] * 100, [f"r{number}" for number in range(100)]])
def test_columns_that_tell_nobody_apart_are_not_taken_for_persons(values: list[str], run: Any, tmp_path: Path) -> None:
    """A single value, or another one in each row."""
    _tracks(100, 1).assign(rider=values).to_csv(tmp_path / "t.csv", index=False)
    found = _checked(run, "t.csv")
    assert not any("--person rider" in (use["command"] or "") for use in found["purposes"])


def test_columns_that_tell_places_are_not_taken_for_persons(run: Any, tmp_path: Path) -> None:
    """An id with one value for each place explains all of where the points are."""
    frame = _tracks(20, 5)
    frame[["lat", "lon"]] = frame.groupby("rider")[["lat", "lon"]].transform("first")
    frame.rename(columns={"rider": "id"}).to_csv(tmp_path / "t.csv", index=False)
    found = _checked(run, "t.csv")
    assert not any("--person id" in (use["command"] or "") for use in found["purposes"])


def test_someone_at_a_terminal_is_asked_in_three_lines(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose, where and what for; the answers are in the command. --yes asks nothing."""
    import click

    from geoveil.cli import terminal

    asked: list[str] = []
    replies = {"Whose": "row", "Where": "47.38,8.54,30km", "What": "map"}

    def prompt(text: str, **more: Any) -> str:
        asked.append(text)
        return replies[text.split()[0]]

    _crowd(tmp_path)
    monkeypatch.setattr(terminal, "interactive", lambda: True)
    monkeypatch.setattr(click, "prompt", prompt)
    shown = re.sub(r"\\\n *", "", run("check", "crowd.csv").out)
    assert [text.split()[0] for text in asked] == ["Whose", "Where", "What"]
    lines = re.findall(r"^  (geoveil .*)$", shown, flags=re.MULTILINE)
    assert len(lines) == 1
    assert "--person row --area 47.38,8.54,30km" in lines[0]
    run("check", "crowd.csv", "--yes")
    assert len(asked) == 3


def test_what_is_stated_is_not_assumed(run: Any, tmp_path: Path) -> None:
    """With --person and --area nothing must be stated, and --for shows one purpose."""
    _crowd(tmp_path)
    ran = run("check", "crowd.csv", "--person", "rider", "--area", "Zurich", "--for", "map")
    assert ran.code == 0
    assert "assumed" not in ran.out
    assert len(re.findall(r"^  geoveil ", ran.out, flags=re.MULTILINE)) == 1


def test_a_hopeless_release_is_refused_and_the_advised_one_is_not(run: Any, tmp_path: Path) -> None:
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


def test_rows_of_a_track_are_not_guessed_to_be_persons(run: Any, tmp_path: Path) -> None:
    """Rows without times that follow each other are one person's; in any order they are persons."""
    track = _tracks(1, 200)[["lat", "lon"]]
    track.to_csv(tmp_path / "track.csv", index=False)
    track.sample(frac=1, random_state=1).to_csv(tmp_path / "shuffled.csv", index=False)
    assert "all 200 rows are of one person" in _assumption(_checked(run, "track.csv"))
    assert "each of the 200 rows is another person" in _assumption(_checked(run, "shuffled.csv"))


def test_codes_are_not_guessed_to_be_persons(run: Any, tmp_path: Path) -> None:
    """A column is guessed only if its name says that it names persons."""
    frame = _tracks(5, 40)
    frame.rename(columns={"rider": "unit_id"}).to_csv(tmp_path / "codes.csv", index=False)
    assert "of one person" in _assumption(_checked(run, "codes.csv"))


def test_devices_of_one_account_are_of_one_person(run: Any, tmp_path: Path) -> None:
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
def test_home_is_offered_for_recordings_of_one_person(run: Any, tmp_path: Path) -> None:
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


def test_one_place_is_a_file_too(run: Any, tmp_path: Path) -> None:
    """Where all points are at one place, no smaller area is proposed for a map."""
    (tmp_path / "one.csv").write_text("user,lat,lon\nann,37.77,-122.42\nbob,37.77,-122.42\n")
    ran = run("check", "one.csv", "--person", "user", "--area", "37.77,-122.42,50km")
    assert ran.code == 0
    assert "What it can be used for" in ran.out


def test_rows_of_persons_with_gaps_are_not_guessed_to_be_persons(run: Any, tmp_path: Path) -> None:
    """Where a label of a person repeats and others are missing, no row is taken for a person of its own."""
    frame = _tracks(1, 60).drop(columns=["rider", "time"]).sample(frac=1, random_state=1)
    frame["user"] = ["ann", "", "ann", "bob", "bob"] * 12
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    assert "all 60 rows are of one person" in _assumption(_checked(run, "gaps.csv"))
