"""Remedies for files: the options that an error names release the file that caused it."""

from __future__ import annotations

import shlex
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import pytest
import shapely

from tests.command_line import LOCAL

pytestmark = pytest.mark.once

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


def test_a_key_by_its_name(tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
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
