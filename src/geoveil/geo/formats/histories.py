"""Location histories in JSON: OwnTracks, Overland, Google's Records.json and Timeline.json, and trips of MDS.

Rows are built anew from the members that are named here: these files repeat locations in many other members, such as
the names of networks, street addresses and candidates for a visited place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from geoveil.errors import InvalidFile
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats.location_columns import CoordinatePairs
from geoveil.geo.formats.location_file import readable
from geoveil.geo.formats.records import Records, documents, outline
from geoveil.geo.recognition import SAMPLE

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Fix", "fix", "fixes_file", "history_in", "milliseconds", "open_history"]

#: A row: longitude, latitude, the time in milliseconds since 1970 or None, and other columns.
Fix: TypeAlias = dict[str, Any]
#: An object of JSON.
Members: TypeAlias = Mapping[str, Any]

#: Number of first bytes in which the members of a document are looked for.
_HEAD = 2**16
#: A line of the OwnTracks Recorder: the time, the kind of the message, and the message.
_RECORDER = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z\t\S+[ \t]+\{")
#: A message of OwnTracks.
_MESSAGE = re.compile(rb'"_type"\s*:\s*"(location|lwt|transition|waypoints?|status|card|steps|beacon|encrypted)"')
_LOCATED = CoordinatePairs((("longitude", "latitude"),))
#: Times before 1900 and after 2200 are errors.
_EARLIEST, _LATEST = -2_208_988_800_000, 7_258_118_400_000


# Recognition ---------------------------------------------------------------------------------------------------------


def history_in(path: Path) -> str | None:
    """Return the name of the location history that a file holds, or None."""
    with path.open("rb") as file:
        head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    if _RECORDER.match(head):
        return "OwnTracks"
    if head[:1] not in (b"{", b"["):
        return None
    if _MESSAGE.search(head):
        return "OwnTracks"
    names = outline(head)
    return next((name for name, marks in _MARKS.items() if any(mark <= names for mark in marks)), None)


#: The members by which each history is recognised; one of the sets must be there.
_MARKS: dict[str, tuple[frozenset[str], ...]] = {
    "Records.json": (frozenset({"locations[].latitudeE7"}), frozenset({"locations[].timestampMs"})),
    "Overland": (frozenset({"locations[].geometry"}),),
    "Semantic Location History": (frozenset({"timelineObjects"}),),
    "Timeline.json": (
        *(frozenset({mark}) for mark in ("semanticSegments", "rawSignals")),
        *(frozenset({"[].startTime", f"[].{mark}"}) for mark in ("visit", "activity", "timelinePath")),
    ),
    "MDS": (
        *(frozenset({f"{within}{mark}"}) for within in ("", "data.") for mark in ("trips[].route", "telemetry[].gps")),
        frozenset({"telemetry[].location"}),
    ),
}


# Reading -------------------------------------------------------------------------------------------------------------


def open_history(path: Path) -> Records:
    """Open a location history, which is held in memory; what has no location, such as a status, is left out."""
    name = history_in(path)
    if name is None:
        remedy = "Read are OwnTracks, Overland, Records.json, Timeline.json, Semantic Location History and MDS."
        raise InvalidFile(str(path), "other content", "a location history", remedy)
    with readable(path, name):
        fixes = [fix for document in _documents(path) for fix in _READ[name](document)]
    return fixes_file(path, fixes, name)


def fixes_file(path: Path, fixes: list[Fix], name: str) -> Records:
    """Return a file of rows that are held in memory; `name` is that of the format in errors."""
    import pyproj

    if not fixes:
        raise InvalidFile(str(path), "no location", f"{name} with locations", "Choose a file with locations.")
    with readable(path, name):
        table = _table(fixes)
    types = {field.name: field.type for field in table.schema}
    first = table.slice(0, SAMPLE).to_pydict()
    return Records.opened(path, _LOCATED, pyproj.CRS(GEOGRAPHIC), types, reading={}, first=first, table=table)


def _documents(path: Path) -> list[Any]:
    """Return the documents of a file; messages of the Recorder follow a time and a kind."""
    with path.open("rb") as file:
        recorded = _RECORDER.match(file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip())
    if not recorded:
        return documents(path)
    with path.open(encoding="utf-8-sig") as lines:
        return [json.loads(line[line.index("{") :]) for line in lines if "{" in line]


def _table(fixes: list[Fix]) -> pa.Table:
    import pyarrow as pa

    names = dict.fromkeys(name for fix in fixes for name in fix)
    columns = {}
    for name in names:
        cells = [fix.get(name) for fix in fixes]
        if name in ("longitude", "latitude"):
            columns[name] = pa.array(cells, pa.float64())
        elif name == "time":
            for row, cell in enumerate(cells, start=1):
                if cell is not None and not _EARLIEST <= cell <= _LATEST:
                    raise ValueError(f"the time of location {row} is {cell} milliseconds since 1970")
            columns[name] = pa.array(cells, pa.timestamp("ms", "UTC"))
        elif all(cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool)) for cell in cells):
            columns[name] = pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
        else:
            columns[name] = pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
    return pa.table({name: values for name, values in columns.items() if values.null_count < len(values)})


def fix(lat: object, lon: object, time: int | None, **columns: object) -> Iterator[Fix]:
    """Yield a row, or nothing if it has no location."""
    if lat is None or lon is None:
        return
    place: Fix = {"longitude": float(lon), "latitude": float(lat)}  # type: ignore[arg-type]
    yield {**place, "time": time, **{name: value for name, value in columns.items() if value is not None}}


def _inner(members: object, *names: str) -> Any:
    """Return a member within members, or None."""
    for name in names:
        members = members.get(name) if isinstance(members, Mapping) else None
    return members


def _listed(members: object, *names: str) -> list[Any]:
    """Return a list within members, or an empty one."""
    member = _inner(members, *names)
    return member if isinstance(member, list) else []


def milliseconds(value: object, *, unit: int = 1) -> int | None:
    """Return milliseconds since 1970 of a time, of an ISO text with its zone, or of a number of such units."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and not re.fullmatch(r"[+-]?\d+(\.\d+)?", value):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"the time {value} has no zone")
        return round(value.timestamp() * 1000)
    return round(float(value) * unit)  # type: ignore[arg-type]


# OwnTracks and Overland ----------------------------------------------------------------------------------------------


def _owntracks(document: Any) -> Iterator[Fix]:
    """Messages of the type location: one, a list of them, or the answer of a Recorder."""
    if isinstance(document, Mapping) and "_type" not in document:
        document = document.get("data")
    for message in document if isinstance(document, list) else [document]:
        if _inner(message, "_type") != "location":
            continue
        topic = str(message.get("topic") or "").split("/")
        user, device = topic[1:3] if len(topic) >= 3 else (None, None)
        columns = {
            **{"user": user, "device": device, "tid": message.get("tid"), "accuracy": message.get("acc")},
            **{"altitude": message.get("alt"), "velocity": message.get("vel"), "battery": message.get("batt")},
        }
        yield from fix(message.get("lat"), message.get("lon"), milliseconds(message.get("tst"), unit=1000), **columns)


def _overland(document: Any) -> Iterator[Fix]:
    for feature in _listed(document, "locations"):
        stated = _inner(feature, "properties") or {}
        columns = {
            **{"device": stated.get("device_id") or None, "accuracy": stated.get("horizontal_accuracy")},
            **{
                "altitude": stated.get("altitude"),
                "speed": stated.get("speed"),
                "battery": stated.get("battery_level"),
            },
        }
        lon, lat = (_listed(feature, "geometry", "coordinates") or [None, None])[:2]
        yield from fix(lat, lon, milliseconds(stated.get("timestamp")), **columns)


# Google --------------------------------------------------------------------------------------------------------------

_PLACE = re.compile(r"(?:geo:)?\s*([+-]?\d+(?:\.\d+)?)\s*°?\s*,\s*([+-]?\d+(?:\.\d+)?)\s*°?\s*(?:[;?].*)?")


def _e7(value: object, largest: int) -> float | None:
    """Return degrees, given ten-millionths of degrees; some old files have 2^32 added to negative ones."""
    if value is None:
        return None
    number = float(value)  # type: ignore[arg-type]
    return (number - 2**32 if largest * 1e7 < number < 2**32 else number) / 1e7


def _records(document: Any) -> Iterator[Fix]:
    for record in _listed(document, "locations"):
        time = milliseconds(_inner(record, "timestamp") or _inner(record, "timestampMs"))
        columns = {name: record.get(name) for name in ("accuracy", "altitude", "velocity", "heading", "source")}
        device = record.get("deviceTag")
        columns |= {"device": None if device is None else str(device)}
        yield from fix(_e7(record.get("latitudeE7"), 90), _e7(record.get("longitudeE7"), 180), time, **columns)


def _semantic(document: Any) -> Iterator[Fix]:
    """Visits at their begin, both ends of movements, and the points between them that have a time."""
    for entry in _listed(document, "timelineObjects"):
        visit, moved = _inner(entry, "placeVisit"), _inner(entry, "activitySegment")
        for segment, member, end in (
            (visit, "location", "start"),
            (moved, "startLocation", "start"),
            (moved, "endLocation", "end"),
        ):
            kind = "visit" if segment is visit else "activity"
            yield from _e7_fix(
                _inner(segment, member), _ended(segment, end), kind, activity=_inner(segment, "activityType")
            )
        for point in _listed(moved, "simplifiedRawPath", "points"):
            time = milliseconds(_inner(point, "timestamp") or _inner(point, "timestampMs"))
            yield from _e7_fix(point, time, "path", accuracy=_inner(point, "accuracyMeters"))


def _e7_fix(place: object, time: int | None, kind: str, **columns: object) -> Iterator[Fix]:
    lat, lon = (
        next((value for name in names if (value := _inner(place, name)) is not None), None)
        for names in (("latitudeE7", "latE7"), ("longitudeE7", "lngE7"))
    )
    yield from fix(_e7(lat, 90), _e7(lon, 180), time, kind=kind, **columns)


def _ended(segment: object, end: str) -> int | None:
    """Return the time at which a visit or movement starts or ends."""
    stated = _inner(segment, "duration")
    return milliseconds(_inner(stated, f"{end}Timestamp") or _inner(stated, f"{end}TimestampMs"))


def _timeline(document: Any) -> Iterator[Fix]:
    """Segments with paths, visits and movements, as a list (iOS) or beside raw signals (Android)."""
    segments = document if isinstance(document, list) else _listed(document, "semanticSegments")
    for segment in segments:
        start, end = milliseconds(_inner(segment, "startTime")), milliseconds(_inner(segment, "endTime"))
        for point in _listed(segment, "timelinePath"):
            time = milliseconds(_inner(point, "time"))
            after = _inner(point, "durationMinutesOffsetFromStartTime")
            if time is None and after is not None and start is not None:
                time = start + round(float(after) * 60_000)
            yield from _written(_inner(point, "point"), time, "path")
        yield from _written(_inner(segment, "visit", "topCandidate", "placeLocation"), start, "visit")
        moved = _inner(segment, "activity")
        activity = _inner(moved, "topCandidate", "type")
        yield from _written(_inner(moved, "start"), start, "activity", activity=activity)
        yield from _written(_inner(moved, "end"), end, "activity", activity=activity)
    for signal in _listed(document, "rawSignals"):
        fix = _inner(signal, "position") or {}
        columns = {
            **{"accuracy": fix.get("accuracyMeters"), "altitude": fix.get("altitudeMeters")},
            **{"speed": fix.get("speedMetersPerSecond"), "source": fix.get("source")},
        }
        yield from _written(
            fix.get("LatLng") or fix.get("latLng"), milliseconds(fix.get("timestamp")), "raw", **columns
        )


def _written(place: object, time: int | None, kind: str, **columns: object) -> Iterator[Fix]:
    """Yield the row of a place that is written as text, such as "52.52°, 13.4°" or "geo:52.52,13.4"."""
    text = _inner(place, "latLng") if isinstance(place, Mapping) else place
    if not text:
        return
    match = _PLACE.fullmatch(str(text).strip())
    if match is None:
        raise ValueError(f"the place {text} is no latitude and longitude")
    yield from fix(match[1], match[2], time, kind=kind, **columns)


# Mobility Data Specification -----------------------------------------------------------------------------------------


def _mds(document: Any) -> Iterator[Fix]:
    """The points of the routes of trips, and telemetry; times are in milliseconds."""
    within = document.get("data") if isinstance(_inner(document, "data"), Mapping) else document
    for trip in _listed(within, "trips"):
        for feature in _listed(trip, "route", "features"):
            lon, lat = (_listed(feature, "geometry", "coordinates") or [None, None])[:2]
            time = milliseconds(_inner(feature, "properties", "timestamp"))
            yield from fix(lat, lon, time, trip_id=_inner(trip, "trip_id"), device_id=_inner(trip, "device_id"))
    for ping in _listed(within, "telemetry"):
        place = _inner(ping, "location") or _inner(ping, "gps")
        columns = {"device_id": _inner(ping, "device_id"), "accuracy": _inner(place, "horizontal_accuracy")}
        yield from fix(_inner(place, "lat"), _inner(place, "lng"), milliseconds(_inner(ping, "timestamp")), **columns)


_READ: dict[str, Callable[[Any], Iterator[Fix]]] = {
    "OwnTracks": _owntracks,
    "Overland": _overland,
    "Records.json": _records,
    "Semantic Location History": _semantic,
    "Timeline.json": _timeline,
    "MDS": _mds,
}
