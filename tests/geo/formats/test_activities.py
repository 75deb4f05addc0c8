"""Recordings of sports watches: FIT, encoded here byte by byte as its protocol says, and TCX."""

from __future__ import annotations

import importlib.util
import struct
import sys
from pathlib import Path

import pytest

import geoveil as gv
from geoveil.errors import FileUnavailable, InvalidFile
from geoveil.geo.formats import open_locations, targets
from tests import fuzz

needs_fit = pytest.mark.skipif(importlib.util.find_spec("fitdecode") is None, reason="fitdecode is not installed")

BERLIN = gv.local(lat=52.52, lon=13.4, radius=50_000)
NOON = "2024-03-01 12:00:00+00:00"
#: Seconds since the last day of 1989, from which FIT counts.
SECONDS = 1_709_294_400 - 631_065_600
#: What a device writes where it has no fix.
NOWHERE = 0x7FFFFFFF


def _crc(data: bytes) -> int:
    """The checksum of FIT: CRC-16 with the reversed polynomial A001."""
    found = 0
    for byte in data:
        found ^= byte
        for _ in range(8):
            found = (found >> 1) ^ (0xA001 if found & 1 else 0)
    return found


def fit(path: Path, *places: tuple[float, float] | None) -> Path:
    """Write a FIT file with a file_id message, and a record each second: time, position, altitude and heart rate."""
    identity = struct.pack("<BBBHB3B", 0x40, 0, 0, 0, 1, *(0, 1, 0)) + struct.pack("<BB", 0, 4)
    fields = ((253, 4, 0x86), (0, 4, 0x85), (1, 4, 0x85), (2, 2, 0x84), (3, 1, 0x02))
    record = struct.pack("<BBBHB", 0x41, 0, 0, 20, len(fields)) + b"".join(struct.pack("BBB", *f) for f in fields)
    body = identity + record
    for i, place in enumerate(places):
        lat, lon = (NOWHERE, NOWHERE) if place is None else (round(degrees * 2**31 / 180) for degrees in place)
        body += struct.pack("<BIiiHB", 1, SECONDS + i, lat, lon, (30 + 500) * 5, 120 + i)
    head = struct.pack("<BBHI4s", 14, 0x20, 2147, len(body), b".FIT")
    whole = head + struct.pack("<H", _crc(head)) + body
    path.write_bytes(whole + struct.pack("<H", _crc(whole)))
    return path


TCX = (
    '<?xml version="1.0"?><TrainingCenterDatabase xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2">'
    '<Activities><Activity Sport="Running"><Id>2024-03-01T12:00:00Z</Id>{}</Activity></Activities>'
    "</TrainingCenterDatabase>"
)
LAP = "<Lap StartTime='2024-03-01T12:00:00Z'><DistanceMeters>10</DistanceMeters><Track>{}</Track></Lap>"
TRACKPOINT = (
    "<Trackpoint><Time>2024-03-01T{}Z</Time>{}<AltitudeMeters>30</AltitudeMeters>"
    "<HeartRateBpm><Value>120</Value></HeartRateBpm></Trackpoint>"
)
POSITION = "<Position><LatitudeDegrees>{}</LatitudeDegrees><LongitudeDegrees>{}</LongitudeDegrees></Position>"


def tcx(path: Path, *laps: list[tuple[float, float] | None]) -> Path:
    """Write a TCX file with a point each second."""
    texts = []
    for number, lap in enumerate(laps):
        points = [
            TRACKPOINT.format(f"12:{number:02d}:{i:02d}", "" if place is None else POSITION.format(*place))
            for i, place in enumerate(lap)
        ]
        texts.append(LAP.format("".join(points)))
    path.write_text(TCX.format("".join(texts)))
    return path


@needs_fit
@pytest.mark.parametrize("name", ["run.fit", "run"])
def test_fit_is_read(name: str, tmp_path: Path) -> None:
    """Semicircles become degrees; records without a fix are no rows; FIT is known by its content."""
    frame = gv.Locations(fit(tmp_path / name, (52.52, 13.4), None, (-33.7, -70.4))).frame()
    assert frame.geometry.y.tolist() == pytest.approx([52.52, -33.7], abs=1e-7)
    assert frame.geometry.x.tolist() == pytest.approx([13.4, -70.4], abs=1e-7)
    assert frame["time"].astype(str).tolist() == [NOON, "2024-03-01 12:00:02+00:00"]
    assert frame["altitude"].tolist() == [30.0, 30.0]
    assert frame["heart_rate"].tolist() == [120, 122]


@pytest.mark.parametrize("name", ["run.tcx", "run"])
def test_tcx_is_read(name: str, tmp_path: Path) -> None:
    """Points have their time, sport and lap; those without a position are no rows."""
    frame = gv.Locations(tcx(tmp_path / name, [(52.52, 13.4), None], [(52.53, 13.41)])).frame()
    assert (frame.geometry.y.tolist(), frame.geometry.x.tolist()) == ([52.52, 52.53], [13.4, 13.41])
    assert frame["time"].astype(str).tolist() == [NOON, "2024-03-01 12:01:00+00:00"]
    columns = frame[["sport", "lap", "altitude", "heart_rate"]].to_dict("list")
    assert columns == {"sport": ["Running"] * 2, "lap": [1, 2], "altitude": [30, 30], "heart_rate": [120, 120]}


@needs_fit
def test_activities_are_released(tmp_path: Path) -> None:
    """The release of an activity is GeoJSON by default, with times and nothing that was not named."""
    places = [(52.52 + i / 1000, 13.4) for i in range(5)]
    for source in (fit(tmp_path / "run.fit", *places), tcx(tmp_path / "run.tcx", [*places])):
        target = tmp_path / f"{source.suffix[1:]}{targets(source)[0]}"
        assert target.suffix == ".geojson"
        gv.Locations(source, area=BERLIN).points(to=target, rho=1.0)
        assert {*gv.load(target).value.columns} == {"time", "radius_95", "rho", "geometry"}


def test_fit_needs_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without fitdecode the error names the format and the extra to install."""
    path = fit(tmp_path / "run.fit", (52.52, 13.4))
    monkeypatch.setitem(sys.modules, "fitdecode", None)
    with pytest.raises(FileUnavailable, match=r"FIT.*pip install 'geoveil\[devices\]'"):
        gv.Locations(path).frame()


@needs_fit
def test_damaged_activities_are_refused(tmp_path: Path) -> None:
    """A FIT file that is cut off or changed, and TCX with entities, another root or wrong numbers, are refused."""
    whole = fit(tmp_path / "run.fit", (52.52, 13.4), (52.53, 13.4)).read_bytes()
    text = tcx(tmp_path / "run.tcx", [(52.52, 13.4)]).read_text()
    bad = {
        **{f"cut{at}.fit": whole[:at] for at in (5, 13, 20, len(whole) - 9)},
        "changed.fit": whole[:-12] + bytes([whole[-12] ^ 1]) + whole[-11:],
        "nowhere.fit": fit(tmp_path / "no.fit", None).read_bytes(),
        "entity.tcx": text.replace("<Training", "<!DOCTYPE a [<!ENTITY e 'x'>]><Training", 1).encode(),
        "root.tcx": text.replace("TrainingCenterDatabase", "Training").encode(),
        "number.tcx": text.replace("52.52", "north").encode(),
        "time.tcx": text.replace("12:00:00Z", "noon").encode(),
        "cut.tcx": text[:-40].encode(),
        "deep.tcx": text.replace("<AltitudeMeters>", "<a>" * 5000 + "</a>" * 5000 + "<AltitudeMeters>x").encode(),
        "empty.tcx": TCX.format("").encode(),
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidFile, match=name):
            open_locations(tmp_path / name)


@needs_fit
def test_changed_bytes_are_refused(tmp_path: Path) -> None:
    """Whatever bytes of a recording are changed, it is read or refused with a message."""
    import random

    (tmp_path / "out").mkdir()
    rng = random.Random(1)
    for source in (fit(tmp_path / "run.fit", (52.5, 13.4), (52.6, 13.4)), tcx(tmp_path / "run.tcx", [(52.5, 13.4)])):
        data = source.read_bytes()
        for _ in range(40):
            source.write_bytes(fuzz.damaged(data, rng))
            try:
                open_locations(source)
            except InvalidFile:
                continue
