"""Remedies for files: the options that an error names release the file that caused it."""

from __future__ import annotations

import json
import re
import shlex
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

from tests.command_line import LOCAL

TRACK = """<gpx version="1.1" creator="t" xmlns="http://www.topografix.com/GPX/1/1">
<wpt lat="37.77" lon="-122.42"/>
<trk><trkseg><trkpt lat="37.771" lon="-122.42"><time>2026-05-01T08:00:00Z</time></trkpt>
<trkpt lat="37.772" lon="-122.42"/>
<trkpt lat="37.773" lon="-122.42"><time>2026-05-01T08:00:30Z</time></trkpt></trkseg></trk></gpx>"""
POINTS = "ann,37.77,-122.42\nbob,37.78,-122.41\n"


def text(content: str) -> Callable[[Path], object]:
    """Writes a text."""
    return lambda path: path.write_text(content)


def archive(**files: str) -> Callable[[Path], object]:
    """Writes an archive of texts."""

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as packed:
            for name, content in files.items():
                packed.writestr(name.replace("_", "."), content)

    return write


def layers(path: Path) -> None:
    """Writes a GeoPackage with two layers."""
    for name in ("one", "two"):
        frame = geopandas.GeoDataFrame(geometry=[shapely.Point(-122.42, 37.77)], crs=4326)
        frame.to_file(path, layer=name)


#: A file that needs an option: its name, what writes it, the options that are given, and the remedy in the message.
FILES: dict[str, tuple[str, Callable[[Path], object], list[str], str]] = {
    "points without a time, smoothed": (
        "t.gpx",
        text(TRACK),
        [*LOCAL, "--smooth", "walking"],
        "--where 'time is not null'",
    ),
    "and with a condition": (
        "t.gpx",
        text(TRACK),
        [*LOCAL, "--smooth", "walking", "--where", "segment >= 0 or track is null"],
        "--where '(segment >= 0 or track is null) and time is not null'",
    ),
    "points without a time, by day": ("t.gpx", text(TRACK), [*LOCAL, "--protect", "1 day"], "--missing drop"),
    "no header": ("t.csv", text(POINTS), [*LOCAL], "--names column1,lat,lon"),
    "no header, tabs": ("t.tsv", text(POINTS.replace(",", "\t")), [*LOCAL], "--names column1,lat,lon"),
    "no header, spaces": ("t.txt", text(POINTS.replace(",", " ")), [*LOCAL], "--names column1,lat,lon"),
    "coordinates alone": ("t.csv", text("37.77,-122.42\n37.78,-122.41\n"), [*LOCAL], "--names lat,lon"),
    "no area": ("t.csv", text("user,lat,lon\n" + POINTS), [], "--area 'San Francisco'"),
    "no coordinate system": (
        "t.csv",
        text("user,x,y\nann,-122.42,37.77\nbob,-122.41,37.78\n"),
        [*LOCAL],
        "--crs 4326",
    ),
    "metres of Mercator": (
        "t.csv",
        text("user,x,y\nann,-13627665,4548388\nbob,-13627565,4548488\n"),
        ["--crs", "3857"],
        "--area 'San Francisco'",
    ),
    "a row without a location": ("t.csv", text("user,lat,lon\ncid,,\n" + POINTS), [*LOCAL], "--missing drop"),
    "a row outside, moved": ("t.csv", text("user,lat,lon\ncid,52.5,13.4\n" + POINTS), [*LOCAL], "--outside clamp"),
    "a row outside, left out": ("t.csv", text("user,lat,lon\ncid,52.5,13.4\n" + POINTS), [*LOCAL], "--outside drop"),
    "decimal commas": (
        "t.csv",
        text("user;lat;lon\n" + "a;37;-122\n" * 1500 + "b;37,7;-122,4\n"),
        ["--area", "37.77,-122.42,200km", "--protect", "point"],
        "--decimal ,",
    ),
    "two pairs of columns": (
        "t.csv",
        text("user,home_lat,home_lon,work_lat,work_lon\nann,37.77,-122.42,37.78,-122.41\n"),
        [*LOCAL],
        "--lat home_lat --lon home_lon",
    ),
    "two files in an archive": (
        "t.zip",
        archive(a_csv="user,lat,lon\n" + POINTS, b_csv="x,y\n1,2\n"),
        [*LOCAL],
        "--layer a.csv",
    ),
    "two layers": ("t.gpkg", layers, [*LOCAL], "--layer one"),
    "a file that exists": ("t.csv", text("user,lat,lon\n" + POINTS), [*LOCAL, "-o", "old.csv"], "--overwrite"),
}


@pytest.mark.parametrize("case", FILES)
def test_remedies_release_the_file(case: str, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The options that the message names are added to the command, and the file is released."""
    monkeypatch.chdir(tmp_path)
    name, write, given, remedy = FILES[case]
    write(tmp_path / name)
    (tmp_path / "old.csv").write_text("old")
    line = ["points", name, *given, *([] if "-o" in given else ["-o", "released.csv"]), "--hide", "200m"]
    done = run(*line)
    assert done.code in (2, 3), done
    assert remedy in " ".join(done.err.split())
    done = run(*line, *shlex.split(remedy))
    assert done.code == 0, done.err
    assert Path(line[line.index("-o") + 1]).read_text() != "old"


@pytest.mark.parametrize("needs", [["--smooth", "walking"], ["--thin", "1 minute"], ["--protect", "1 day"]])
def test_timeless_remedies(needs: list[str], tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file has none: the message names no option with a column that is not there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("user,lat,lon\n" + POINTS)
    line = ["points", "t.csv", *LOCAL, "--hide", "200m", "-o", "released.csv"]
    done = run(*line, *needs)
    assert done.code in (2, 3)
    said = " ".join(done.err.split())
    assert "must be a column of times of t.csv, which has none" in said
    assert "leave out what needs them: smoothing, thinning, and lengths of time" in said
    assert run(*line).code == 0


def test_key_by_name(tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is given by the name with which it was created; the remedy for one that is not there creates it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("user,lat,lon\n" + POINTS)
    line = ["points", "t.csv", *LOCAL, "--hide", "200m", "-o", "released.csv", "--sign", "mykey"]
    done = run(*line)
    assert done.code == 3
    assert "'geoveil key create NAME' makes one" in " ".join(done.err.split())
    assert run("key", "create", "mykey").code == 0
    assert run(*line).code == 0
    assert run("verify", "released.csv", "--key", "mykey").code == 0


def places_of(frame: pd.DataFrame) -> Callable[[Path], object]:
    """Writes a table of people at stops."""
    return lambda path: frame.to_csv(path, index=False)


STOPS = pd.DataFrame(
    {
        "stop_name": [f"Stop {number}" for number in range(20) for _ in range(10)],
        "lat": [37.7 + number * 5e-3 for number in range(20) for _ in range(10)],
        "lon": [-122.5 + number * 5e-3 for number in range(20) for _ in range(10)],
    }
)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["points", "t.csv", "-o", "o.csv"], ["hull", "t.csv", "-o", "o.gpkg"]])
@pytest.mark.parametrize("remedy", ["--pseudonyms", "--keep stop_name"])
def test_place_labels_need_naming(
    command: list[str], remedy: str, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels that tell places are released by name alone.

    What was measured is in the message, for the owner; it is in no file. --yes does not say yes to a column.
    """
    monkeypatch.chdir(tmp_path)
    places_of(STOPS)(tmp_path / "t.csv")
    line = [*command, *LOCAL, "--person", "stop_name", "--hide", "20m"]
    done = run(*line, "--yes")
    assert done.code == 2
    said = " ".join(done.err.split())
    assert "explains 100% of where they are" in said
    assert remedy in said
    assert not [*tmp_path.glob("o.*")]
    done = run(*line, *shlex.split(remedy))
    assert done.code == 0, done.err
    certificates = [path.read_text() for path in tmp_path.glob("o.*.json")]
    assert certificates
    assert not any("explains" in text or "%" in text.replace("75%", "").replace("95%", "") for text in certificates)


def crowd(path: Path, persons: int, each: int) -> None:
    """Writes persons near the middle of an area."""
    rng, n = np.random.default_rng(1), persons * each
    users = [f"u{number}" for number in range(persons) for _ in range(each)]
    lat, lon = 37.77 + rng.normal(0, 0.02, n), -122.42 + rng.normal(0, 0.02, n)
    pd.DataFrame({"user": users, "lat": lat.round(6), "lon": lon.round(6)}).to_csv(path, index=False)


def ride(path: Path, *, timed: bool) -> None:
    """Writes a ride of 20 minutes, with a point every second or without times."""
    rng, when = np.random.default_rng(2), pd.date_range("2026-05-01T08:00:00Z", periods=1200, freq="1s")
    places = np.array([37.77, -122.42]) + np.cumsum(rng.normal(0, 5e-5, (1200, 2)), axis=0)
    stamps = [f"<time>{time.isoformat()}</time>" if timed else "" for time in when]
    points = "".join(
        f'<trkpt lat="{lat:.6f}" lon="{lon:.6f}">{stamp}</trkpt>'
        for (lat, lon), stamp in zip(places, stamps, strict=True)
    )
    path.write_text(f"{TRACK[: TRACK.index('<wpt')]}<trk><name>Ride</name><trkseg>{points}</trkseg></trk></gpx>")


#: Points whose error is hopeless: what writes the file, and the options.
TRACKS: dict[str, tuple[str, Callable[[Path], object], list[str]]] = {
    "a ride": ("t.gpx", lambda path: ride(path, timed=True), ["--hide", "200m"]),
    "a ride without times": ("t.gpx", lambda path: ride(path, timed=False), ["--hide", "100m"]),
    "persons": ("t.csv", lambda path: crowd(path, 100, 40), ["--person", "user", "--hide", "1km"]),
    "a column of persons": ("t.csv", lambda path: crowd(path, 100, 40), ["--hide", "100m"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", TRACKS)
def test_hopeless_points_have_remedies(case: str, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what this file allows is named: nothing about times in a file without any."""
    monkeypatch.chdir(tmp_path)
    name, write, given = TRACKS[case]
    write(tmp_path / name)
    line = [name, "--area", "37.77,-122.42,20km", *given]
    done = run("points", *line, "-o", f"o{Path(name).suffix}")
    assert done.code == 2, done
    said = " ".join(done.err.split())
    helps = said.split("What helps: ")[1].split("; ")
    assert ("--smooth" in said or "--thin" in said or "--protect" in said) == (case == "a ride")
    for number, each in enumerate(helps):
        target = ["-o", f"o{number}{Path(name).suffix}"]
        if settings := re.match(r"(?:give|hide less, such as) ((?:--\w+ (?:'[^']*'|[\w:.]+) ?)+)", each):
            assert run("points", *line, *shlex.split(settings[1]), *target).code == 0, each
        elif other := re.search(r"with 'geoveil (\w+)'((?: --\w+ (?:'[^']*'|[\w:.]+))*) \(", each):
            assert run(other[1], *line, *shlex.split(other[2]), "-o", f"o{number}.geojson").code == 0, each
        elif each.startswith("name the column of persons"):
            assert run("points", *line, "--person", "user", *target).code == 0, each
        else:
            assert each.startswith("see with 'geoveil check FILE'")
    assert run("points", *line, "--yes", "-o", f"yes{Path(name).suffix}").code == 0


#: A question whose error is hopeless: its persons and their points, and the options.
HOPELESS: dict[str, tuple[int, int, list[str]]] = {
    "heatmap": (4, 3, ["--cell", "1km", "--hide", "5km"]),
    "counts": (4, 3, ["--regions", "squares.geojson", "--hide", "500m"]),
    "summary": (100, 40, ["--hide", "2km"]),
    "hull": (100, 40, ["--hide", "2km"]),
    "nearest": (100, 40, ["--at", "37.77,-122.42", "-k", "3", "--hide", "2km"]),
    "within": (100, 40, ["--at", "37.77,-122.42", "--radius", "500m", "--hide", "2km"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("question", HOPELESS)
def test_hopeless_answers_have_remedies(
    question: str, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hopeless answers are refused with remedies that work.

    Before anything is charged; each remedy of the message is run: another question, less that is hidden, --yes.
    """
    monkeypatch.chdir(tmp_path)
    corners = [(-122.52 + 0.01 * i, 37.67 + 0.01 * j) for i in range(20) for j in range(20)]
    squares = geopandas.GeoSeries([shapely.box(x, y, x + 0.01, y + 0.01) for x, y in corners], crs=4326)
    squares.to_file(tmp_path / "squares.geojson")
    persons, each, given = HOPELESS[question]
    crowd(tmp_path / "t.csv", persons, each)
    shared = ["t.csv", "--area", "37.77,-122.42,20km", "--person", "user"]
    assert run("budget", "create", "b.db", *(f"u{number}" for number in range(persons)), "--rho", "1").code == 0
    before = run("budget", "show", "b.db").out
    done = run(question, *shared, *given, "--ledger", "b.db")
    assert done.code == 2
    said = " ".join(done.err.split())
    assert "This would be hopeless" in said
    assert run("budget", "show", "b.db").out == before
    assert "--yes releases it nevertheless" in said
    assert run(question, *shared, *given, "--yes").code == 0
    # Too few persons for so many districts, whatever is hidden.
    less = re.search(r"--hide (\d+)", said)
    assert (less is None) == (question == "counts")
    if less is not None:
        assert run(question, *shared, *given[:-1], less[1]).code == 0
    if other := re.search(r"with 'geoveil (\w+)'((?: --\w+ (?:'[^']*'|[\w:.]+))*) \(", said):
        target = [] if other[1] != "points" else ["-o", "o.csv"]
        assert run(other[1], *shared, *shlex.split(other[2]), *given[-2:], *target).code == 0
    assert run("check", "t.csv").code in (0, 3)


def test_certificates_warn_of_columns(tmp_path: Path, run: Any) -> None:
    """Certificates say of columns that nothing in them is hidden.

    Of every column that is released unchanged, in words; without what was measured in the true data.
    """
    STOPS.assign(fare=range(len(STOPS))).to_csv(tmp_path / "t.csv", index=False)
    kept = ["--keep", "stop_name", "--keep", "fare", "--person", "stop_name"]
    assert run("points", "t.csv", "-o", "o.csv", *LOCAL, "--hide", "20m", *kept).code == 0
    certificate = json.loads((tmp_path / "o.csv.certificate.json").read_text())
    assert {column["name"] for column in certificate["unchanged"]} == {"stop_name", "fare"}
    said = certificate["words"].split("Released unchanged, so that nothing in them is hidden: ")[1].split(".")[0]
    assert {*said.split(", ")} == {"stop_name", "fare"}
    told = " ".join(warning for column in certificate["unchanged"] for warning in column["warnings"])
    assert "explains" not in told
    assert "%" not in told
