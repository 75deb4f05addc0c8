"""Tracks are read as pings from files of every format, and written anew from the pings alone."""

from __future__ import annotations

import importlib.util
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.recordings import Track, TrackFormat, length, recordings_in, released_ending, track_format
from tests import rides

HOME = (8.54, 47.37)
RIDE = rides.straight(HOME)
#: What the makers of recordings write about whole rides, and what must not be in a file that is made from pings.
TOLD = ("home", "Home", "Ride", "points", "bounds", "bbox", "speed", "course", "distance", "index", "Biking", "cmt")

pytestmark = pytest.mark.filterwarnings("ignore::geoveil.errors.GeoveilWarning")
needs_fit = pytest.mark.skipif(importlib.util.find_spec("fitdecode") is None, reason="fitdecode is not installed")
every_kind = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[needs_fit] if kind == "fit" else []) for kind in rides.RIDES]
)


def attributes(kind: str) -> list[str]:
    """The attributes that a kind of file has for each ping: layers of lines have columns of whole lines alone."""
    return (
        []
        if kind in ("kml", "lines-gpkg")
        else ["altitude"]
        if kind == "lines-geojson"
        else ["altitude", "heart_rate"]
    )


def read(path: Path, keep: list[str]) -> tuple[TrackFormat, Track]:
    """Return the format of a file and its only track."""
    how = track_format(path, keep)
    settled, [track] = how.settled(how.read(path))
    return settled, track


@every_kind
def test_a_ride_is_read(kind: str, tmp_path: Path) -> None:
    """Places, times and named attributes are those of the recording; nothing else is read."""
    path = rides.make(kind, RIDE, tmp_path, "ride")
    _, track = read(path, attributes(kind))
    # FIT counts angles in 2^-31 of a half turn, and the layer of lines is in metres of a national system.
    near = 1e-7 if kind in ("fit", "lines-gpkg") else 0
    assert track.places == pytest.approx(np.array([fix[:2] for fix in RIDE]), abs=near)
    if kind == "lines-gpkg":
        assert np.isnat(track.times).all()
    else:
        seconds = (track.times - track.times[0]) / np.timedelta64(1, "s")
        assert seconds.tolist() == [fix.seconds for fix in RIDE]
    found = {name: [float(value) for value in track.attributes[name]] for name in attributes(kind)}
    expected = {"altitude": [fix.altitude for fix in RIDE], "heart_rate": [fix.heart for fix in RIDE]}
    assert found == {name: expected[name] for name in attributes(kind)}


@every_kind
def test_pieces_are_written(kind: str, tmp_path: Path) -> None:
    """A written file has the pings of the pieces, and says nothing about the ride that they were part of."""
    path = rides.make(kind, RIDE, tmp_path, "ride")
    how, track = read(path, attributes(kind))
    target = tmp_path / f"shared{released_ending(path)}"
    kept = np.r_[10:25, 30:60]
    how.write(target, [track.chosen(np.arange(10, 25)), track.chosen(np.arange(30, 60))])
    form = track_format(target, attributes(kind))
    _, again = form.settled(form.read(target))
    assert np.concatenate([each.places for each in again]).tolist() == track.places[kept].tolist()
    times = np.concatenate([each.times for each in again])
    assert times.astype(str).tolist() == track.times[kept].astype(str).tolist()
    content = target.read_bytes()
    told = {word for word in TOLD if word.encode() in content}
    # TCX and FIT require a distance, which is that of the pieces; a table of SQLite has an index of its own.
    assert told <= ({"index", "bounds"} if "gpkg" in kind else set()) | ({"bbox"} if kind == "parquet" else set())


@every_kind
def test_nothing_unnamed_is_kept(kind: str, tmp_path: Path) -> None:
    """Without names, a released file has places and times alone."""
    path = rides.make(kind, RIDE, tmp_path, "ride")
    how, track = read(path, [])
    assert set(track.attributes) <= {"time"}
    target = tmp_path / f"shared{released_ending(path)}"
    how.write(target, [track])
    if kind != "kml":
        again = track_format(target, attributes(kind) if kind in ("gpx", "tcx", "fit") else []).read(target)
        known = [value for name, values in again[0].attributes.items() if name != "time" for value in values]
        assert set(known) <= {None}


@pytest.mark.parametrize("kind", ["gpx", "csv", "points-geojson"])
@pytest.mark.parametrize("name", ["speed", "distance", "index"])
def test_derived_values_are_refused(kind: str, name: str, tmp_path: Path) -> None:
    """Speeds, headings, distances and counts tell about removed pings; the remedy works on the same file."""
    path = rides.make(kind, RIDE, tmp_path, "ride")
    with pytest.raises(InvalidParameter, match=r"worked out from removed points too.*Leave it out"):
        track_format(path, [name])
    track_format(path)


def test_attribute_names_by_format(tmp_path: Path) -> None:
    """`ele` and `hr` of GPX are altitude and heart_rate; other elements are refused by name."""
    path = rides.make("gpx", RIDE, tmp_path, "ride")
    _, track = read(path, ["hr", "ele"])
    assert sorted(track.attributes) == ["altitude", "heart_rate"]
    with pytest.raises(InvalidParameter, match="altitude, heart_rate, cadence, power, temperature"):
        track_format(path, ["mood"])
    with pytest.raises(InvalidParameter, match="save the tracks as GPX"):
        track_format(rides.make("kml", RIDE, tmp_path, "ride"), ["ele"])


def test_gpx_extensions(tmp_path: Path) -> None:
    """Heart rate and temperature are in Garmin's extension, power beside it, each in the order of its schema."""
    path = rides.make("gpx", RIDE, tmp_path, "ride")
    keep = ["altitude", "heart_rate", "power", "temperature"]
    how, track = read(path, keep)
    track.attributes["power"][0], track.attributes["temperature"][0] = 210.0, 7.5  # type: ignore[index]
    how.write(tmp_path / "out.gpx", [track])
    point = next(each for each in ET.parse(tmp_path / "out.gpx").iter() if each.tag.endswith("}trkpt"))
    assert [part.tag.rpartition("}")[2] for part in point] == ["ele", "time", "extensions"]
    texts = [(part.tag.rpartition("}")[2], part.text) for part in point.iter() if part.text and part is not point]
    assert texts[2:] == [("power", "210"), ("atemp", "7.5"), ("hr", "110")]


@needs_fit
def test_fit_totals(tmp_path: Path) -> None:
    """Laps, session and activity state times and lengths of what is released, and devices can read them."""
    import fitdecode

    how, track = read(rides.make("fit", RIDE, tmp_path, "ride"), ["altitude", "heart_rate"])
    pieces = [track.chosen(np.arange(10, 25)), track.chosen(np.arange(30, 60))]
    how.write(tmp_path / "out.fit", pieces)
    with fitdecode.FitReader(tmp_path / "out.fit", check_crc=fitdecode.CrcCheck.RAISE) as reader:
        frames = [frame for frame in reader if frame.frame_type == fitdecode.FIT_FRAME_DATA]
    by = {name: [frame for frame in frames if frame.name == name] for name in ("record", "lap", "session", "event")}
    assert [len(found) for found in by.values()] == [45, 2, 1, 4]
    lengths = [frame.get_value("total_distance") for frame in by["lap"]]
    assert lengths == pytest.approx([length(piece) for piece in pieces], abs=0.01)
    assert by["session"][0].get_value("total_distance") == pytest.approx(sum(map(length, pieces)), abs=0.01)
    assert [frame.get_value("total_timer_time") for frame in by["lap"]] == [140.0, 290.0]
    begun = frames[0].get_value("time_created").replace(tzinfo=None)
    assert begun == track.times[10].astype("datetime64[s]").astype(object)


def test_tcx_totals(tmp_path: Path) -> None:
    """Each lap is a piece, with its start, its time and its length."""
    how, track = read(rides.make("tcx", RIDE, tmp_path, "ride"), [])
    pieces = [track.chosen(np.arange(10, 25)), track.chosen(np.arange(30, 60))]
    how.write(tmp_path / "out.tcx", pieces)
    space = "{http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2}"
    laps = [*ET.parse(tmp_path / "out.tcx").iter(f"{space}Lap")]
    assert [lap.get("StartTime") for lap in laps] == ["2024-03-01T07:01:40Z", "2024-03-01T07:05:00Z"]
    assert [float(lap.findtext(f"{space}TotalTimeSeconds") or 0) for lap in laps] == [140, 290]
    metres = [float(lap.findtext(f"{space}DistanceMeters") or 0) for lap in laps]
    assert metres == pytest.approx([length(piece) for piece in pieces], abs=0.1)


def test_tcx_needs_times(tmp_path: Path) -> None:
    """TCX needs times: the refusal names GPX, which does not."""
    track = Track(np.array([HOME]), np.array(["NaT"], dtype="datetime64[us]"))
    source = rides.make("tcx", RIDE, tmp_path, "ride")
    with pytest.raises(InvalidFile, match=r"ends in \.gpx"):
        track_format(source).write(tmp_path / "out.tcx", [track])
    track_format(rides.make("gpx", RIDE, tmp_path, "ride")).write(tmp_path / "out.gpx", [track])
    assert "<time>" not in (tmp_path / "out.gpx").read_text()


def test_waypoints_are_left_out(tmp_path: Path) -> None:
    """A waypoint at home is no ping of a track, and a file of waypoints alone has no track."""
    path = tmp_path / "pins.gpx"
    path.write_text('<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><wpt lat="47" lon="8"/></gpx>')
    assert track_format(path).read(path) == []


def test_wrong_coordinates_are_refused(tmp_path: Path) -> None:
    """A latitude above 90 degrees, and a point without one, are faults of the file."""
    for at in ('lat="147" lon="8"', 'lon="8"', 'lat="nan" lon="8"'):
        path = tmp_path / "wrong.gpx"
        path.write_text(f"<gpx><trk><trkseg><trkpt {at}/></trkseg></trk></gpx>")
        with pytest.raises(InvalidFile, match=r"wrong\.gpx"):
            track_format(path).read(path)


def test_national_coordinates_are_kept(tmp_path: Path) -> None:
    """Decisions are about degrees; the written coordinates are those of the file, to the last bit."""
    frame = rides.frame(RIDE).to_crs(2056)
    frame.to_file(tmp_path / "ride.gpkg")
    how, track = read(tmp_path / "ride.gpkg", [])
    assert track.places == pytest.approx(np.array([fix[:2] for fix in RIDE]), abs=1e-6)
    how.write(tmp_path / "out.gpkg", [track.chosen(np.arange(5))])
    _, again = read(tmp_path / "out.gpkg", [])
    assert again.native is not None
    assert again.native.tolist() == frame.geometry.get_coordinates().to_numpy()[:5].tolist()


def test_folders_are_searched(tmp_path: Path) -> None:
    """Folders are searched whole; hidden files, certificates and files of other kinds are passed over."""
    (tmp_path / "2024").mkdir()
    for name in ("a.gpx", "2024/b.fit", ".c.gpx", "d.gpx.certificate.json", "notes.md"):
        (tmp_path / name).write_text("x")
    assert [str(path.relative_to(tmp_path).as_posix()) for path in recordings_in(tmp_path)] == ["2024/b.fit", "a.gpx"]
