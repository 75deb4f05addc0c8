"""Location histories of phones and services: each is read as its program writes it, made up here field by field."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import geoveil as gv
from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.formats import open_locations, targets

BERLIN = gv.local(lat=52.52, lon=13.4, radius=50_000)
NOON = "2024-03-01 12:00:00+00:00"
#: Seconds since 1970 of that time.
SECONDS = 1_709_294_400


def owntracks(**more: Any) -> dict[str, Any]:
    """A message with the members by which a phone reveals its place a second time."""
    place = {"lat": 52.52, "lon": 13.4, "tst": SECONDS, "acc": 12, "SSID": "home", "inregions": ["home"]}
    return {"_type": "location", "topic": "owntracks/ann/phone", "tid": "an", **place, **more}


RECORDS = {"latitudeE7": 525_200_000, "longitudeE7": 134_000_000, "accuracy": 12, "timestamp": "2024-03-01T12:00:00Z"}
FEATURE = {
    "type": "Feature",
    "geometry": {"type": "Point", "coordinates": [13.4, 52.52]},
    "properties": {"timestamp": "2024-03-01T13:00:00+01:00", "horizontal_accuracy": 12, "wifi": "home"},
}
ANDROID = {
    "semanticSegments": [
        {
            "startTime": "2024-03-01T13:00:00.000+01:00",
            "endTime": "2024-03-01T14:00:00.000+01:00",
            "timelinePath": [{"point": "52.520000°, 13.400000°", "time": "2024-03-01T13:00:00.000+01:00"}],
        },
        {
            "startTime": "2024-03-01T14:00:00.000+01:00",
            "endTime": "2024-03-01T15:00:00.000+01:00",
            "visit": {"topCandidate": {"placeId": "x", "placeLocation": {"latLng": "52.53°, 13.41°"}}},
        },
        {
            "startTime": "2024-03-01T15:00:00.000+01:00",
            "endTime": "2024-03-01T16:00:00.000+01:00",
            "activity": {
                "start": {"latLng": "52.53°, 13.41°"},
                "end": {"latLng": "52.54°, 13.42°"},
                "topCandidate": {"type": "WALKING"},
            },
        },
        {"startTime": "2024-03-01T16:00:00.000+01:00", "timelineMemory": {"trip": {}}},
    ],
    "rawSignals": [
        {"position": {"LatLng": "52.55°, 13.43°", "accuracyMeters": 9, "timestamp": "2024-03-01T16:00:00.000+01:00"}},
        {"wifiScan": {"devicesRecords": [{"mac": 1}]}},
    ],
    "userLocationProfile": {"frequentPlaces": [{"placeLocation": "52.5°, 13.3°"}]},
}
IOS = [
    {
        "startTime": "2024-03-01T12:00:00.000Z",
        "endTime": "2024-03-01T14:00:00.000Z",
        "timelinePath": [
            {"point": "geo:52.520000,13.400000", "durationMinutesOffsetFromStartTime": "0"},
            {"point": "geo:52.530000,13.410000", "durationMinutesOffsetFromStartTime": "5"},
        ],
    },
    {
        "startTime": "2024-03-01T14:00:00Z",
        "endTime": "2024-03-01T15:00:00Z",
        "visit": {"topCandidate": {"placeLocation": "geo:52.54,13.42"}},
    },
    {
        "startTime": "2024-03-01T15:00:00Z",
        "endTime": "2024-03-01T16:00:00Z",
        "activity": {"start": "geo:52.54,13.42", "end": "geo:52.55,13.43", "topCandidate": {"type": "cycling"}},
    },
]
SEMANTIC = {
    "timelineObjects": [
        {
            "activitySegment": {
                "startLocation": {"latitudeE7": 525_200_000, "longitudeE7": 134_000_000},
                "endLocation": {"latitudeE7": 525_300_000, "longitudeE7": 134_100_000},
                "duration": {"startTimestamp": "2024-03-01T12:00:00Z", "endTimestampMs": str(SECONDS * 1000 + 60_000)},
                "activityType": "WALKING",
                "waypointPath": {"waypoints": [{"latE7": 525_250_000, "lngE7": 134_050_000}]},
                "simplifiedRawPath": {
                    "points": [
                        {"latE7": 525_250_000, "lngE7": 134_050_000, "timestampMs": str(SECONDS * 1000 + 30_000)}
                    ]
                },
            }
        },
        {
            "placeVisit": {
                "location": {"latitudeE7": 525_300_000, "longitudeE7": 134_100_000, "address": "Wisteria Lane 7"},
                "duration": {"startTimestamp": "2024-03-01T12:01:00Z", "endTimestamp": "2024-03-01T13:00:00Z"},
            }
        },
    ]
}
POINTS = [{"timestamp": "2024-03-01T12:00:00Z", "latitude": 52.52, "longitude": 13.4, "deviceId": "phone"}]
TRIP = {
    "device_id": "scooter",
    "trip_id": "t1",
    "route": {"type": "FeatureCollection", "features": [{**FEATURE, "properties": {"timestamp": SECONDS * 1000}}]},
}

#: Documents whose first row is at 52.52, 13.4 at noon, by the names of files, and how many rows each has.
HISTORIES: dict[str, tuple[Any, int]] = {
    "message.json": (owntracks(), 1),
    "messages.json": ([owntracks(), {"_type": "lwt", "tst": SECONDS}, owntracks(tst=SECONDS + 60)], 2),
    "recorder.json": ({"count": 1, "data": [owntracks()]}, 1),
    "Records.json": ({"locations": [RECORDS, {"timestamp": "2024-03-01T12:01:00Z", "source": "CELL"}]}, 1),
    "old-records.json": ({"locations": [{**RECORDS, "timestamp": None, "timestampMs": str(SECONDS * 1000)}]}, 1),
    "overland.json": ({"locations": [FEATURE, {"type": "Feature", "properties": {}}], "trip": FEATURE}, 1),
    "Timeline-android.json": (ANDROID, 5),
    "Timeline-ios.json": (IOS, 5),
    "2024_MARCH.json": (SEMANTIC, 4),
    "geopulse.json": ({"dataType": "rawGps", "exportDate": "2024-05-01T00:00:00Z", "points": POINTS}, 1),
    "dawarich.json": ({"counts": {"points": 1}, "settings": {"a": 1}, "points": POINTS}, 1),
    "mds-1.json": ({"version": "1.2.0", "data": {"trips": [TRIP]}}, 1),
    "mds-2.json": ({"version": "2.0.0", "trips": [TRIP]}, 1),
    "telemetry.json": (
        {"telemetry": [{"device_id": "s", "timestamp": SECONDS * 1000, "location": {"lat": 52.52, "lng": 13.4}}]},
        1,
    ),
}


def written(path: Path, document: Any) -> Path:
    """Write a document as JSON."""
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", HISTORIES)
def test_histories_are_read(name: str, tmp_path: Path) -> None:
    """Each fix is a row with its time; what is no fix is none, and no other member with a place becomes a column."""
    document, rows = HISTORIES[name]
    frame = gv.Locations(written(tmp_path / name, document)).frame()
    assert len(frame) == rows
    assert (frame.geometry.y[0], frame.geometry.x[0]) == pytest.approx((52.52, 13.4), abs=1e-9)
    [time] = {"time", "timestamp"} & {*frame.columns}
    import pandas as pd

    assert str(pd.to_datetime(frame[time], utc=True)[0]) == NOON
    assert not {"SSID", "wifi", "address", "inregions"} & {*frame.columns}


def test_recorder_lines_are_read(tmp_path: Path) -> None:
    """Lines of the OwnTracks Recorder are known by their form, also under another name; their users are persons."""
    lines = [
        "2024-03-01T12:00:00Z\t*                 \t" + json.dumps(owntracks()),
        "2024-03-01T12:00:30Z\tlwt               \t" + json.dumps({"_type": "lwt", "tst": SECONDS}),
        "2024-03-01T12:01:00Z\t*                 \t" + json.dumps(owntracks(lat="52.53", tst=str(SECONDS + 60))),
    ]
    for name in ("2024-03.rec", "history"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        file = open_locations(tmp_path / name)
        [batch] = file.batches(["user", "accuracy"])
        assert batch.places.tolist() == [[13.4, 52.52], [13.4, 52.53]]
        assert batch.columns.to_pydict() == {"user": ["ann", "ann"], "accuracy": [12, 12]}
        assert file.recognised.persons[:2] == ("user", "device")
        assert [*map(str, file.time_columns)] == ["time"]


def test_message_lines_are_read(tmp_path: Path) -> None:
    """A message in each line, as some exports of OwnTracks have it, is read under any ending of JSON."""
    (tmp_path / "export.jsonl").write_text("\n".join(json.dumps(owntracks(tst=SECONDS + i)) for i in range(3)))
    assert len(gv.Locations(tmp_path / "export.jsonl").frame()) == 3


def test_timeline_kinds_differ(tmp_path: Path) -> None:
    """The same stretch of time is in a timeline several times; a filter chooses which rows are released."""
    path = written(tmp_path / "Timeline.json", ANDROID)
    assert gv.Locations(path).frame()["kind"].tolist() == ["path", "visit", "activity", "activity", "raw"]
    chosen = gv.Locations(path, where="kind = 'path'", area=BERLIN)
    chosen.points(to=tmp_path / "out.geojson", rho=1.0)
    assert len(gv.load(tmp_path / "out.geojson").value) == 1


def test_wrapped_numbers_are_read(tmp_path: Path) -> None:
    """Old files have 2^32 added to the numbers of the southern and western halves."""
    place = {"latitudeE7": 2**32 - 337_000_000, "longitudeE7": 2**32 - 704_000_000}
    frame = gv.Locations(written(tmp_path / "Records.json", {"locations": [{**RECORDS, **place}]})).frame()
    assert (frame.geometry.y[0], frame.geometry.x[0]) == (-33.7, -70.4)


def test_histories_are_released(tmp_path: Path) -> None:
    """The release of a history is GeoJSON by default and has the time; nothing else that was not named."""
    path = written(tmp_path / "messages.json", [owntracks(tst=SECONDS + 60 * i) for i in range(5)])
    (tmp_path / "2024-03.rec").write_text("2024-03-01T12:00:00Z\t*  \t" + json.dumps(owntracks()) + "\n")
    for source in (path, tmp_path / "2024-03.rec"):
        target = tmp_path / f"{source.stem}-released{targets(source)[0]}"
        gv.Locations(source, area=BERLIN).points(to=target, rho=1.0)
        assert target.suffix in (".json", ".geojson")
        assert {*gv.load(target).value.columns} == {"time", "radius_95", "rho", "geometry"}
        assert "SSID" not in target.read_text()


def test_histories_are_not_written(tmp_path: Path) -> None:
    """A target of a format that is read only is refused, and the name that the error proposes is accepted."""
    (tmp_path / "2024-03.rec").write_text("2024-03-01T12:00:00Z\t*  \t" + json.dumps(owntracks()) + "\n")
    data = gv.Locations(tmp_path / "2024-03.rec", area=BERLIN)
    with pytest.raises(InvalidParameter, match=r"name it out\.geojson"):
        data.points(to=tmp_path / "out.rec", rho=1.0)
    data.points(to=tmp_path / "out.geojson", rho=1.0)


WRONG = {
    "time": [owntracks(tst=10**30)],
    "zone": {"locations": [{**RECORDS, "timestamp": "2024-03-01T12:00:00"}]},
    "place": {
        "semanticSegments": [{"startTime": "2024-03-01T12:00:00Z", "visit": {"topCandidate": {"placeLocation": "x"}}}]
    },
    "number": [owntracks(lat="north")],
    "empty": {"locations": [], "semanticSegments": []},
    "status": [{"_type": "lwt", "tst": 1}],
    "digits": [owntracks(lat=10**400)],
    "list": {"locations": {"latitudeE7": 1}, "timelineObjects": 7},
    "members": {"timelineObjects": [None, 5, "x", [], {"placeVisit": []}, {"activitySegment": {"duration": 3}}]},
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_histories_are_refused(name: str, tmp_path: Path) -> None:
    """A history with a wrong value, or without a location, is refused by name."""
    with pytest.raises(InvalidFile, match=f"{name}.json"):
        open_locations(written(tmp_path / f"{name}.json", WRONG[name]))


def test_histories_in_archives(tmp_path: Path) -> None:
    """Records.json is found in an archive, under whatever folder."""
    with zipfile.ZipFile(tmp_path / "takeout.zip", "w") as archive:
        archive.writestr("Takeout/Location History/Records.json", json.dumps({"locations": [RECORDS]}))
    assert len(gv.Locations(tmp_path / "takeout.zip").frame()) == 1


def test_history_becomes_gpx(tmp_path: Path) -> None:
    """Points with their times become one track of GPX, which is read again; other columns are refused for free."""
    (tmp_path / "in.json").write_text(json.dumps([owntracks(lat=52.52 + i / 1000, tst=SECONDS + i) for i in range(5)]))
    target = tmp_path / "out.gpx"
    locations = gv.Locations(tmp_path / "in.json", area=BERLIN)
    with pytest.raises(InvalidParameter, match=r"'tid'.*GPX holds times alone.*ends in \.geojson"):
        locations.points(to=target, rho=1.0, keep=["tid"])
    locations.points(to=tmp_path / "out.geojson", rho=1.0, keep=["tid"])
    locations.points(to=target, rho=1e6)
    found = gv.load(target).value
    assert str(found["time"].iloc[0]).startswith("2024-03-01")
    assert [*found["kind"]] == ["trk"] * 5
    assert abs(found.geometry.y - [52.52 + i / 1000 for i in range(5)]).max() < 1e-3


def test_gpx_times_are_refused(tmp_path: Path) -> None:
    """Times as numbers have no place in GPX: the error names a format that holds them."""
    (tmp_path / "in.csv").write_text(f"time,lat,lon\n{SECONDS},52.52,13.4\n")
    locations = gv.Locations(tmp_path / "in.csv", area=BERLIN)
    with pytest.raises(InvalidFile, match=r"as GPX writes times.*ends in \.geojson"):
        locations.points(to=tmp_path / "out.gpx", rho=1.0)
    locations.points(to=tmp_path / "out.geojson", rho=1.0)
