"""Bodies of clients with every field that their source writes, about one place; none was recorded from a phone."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from geoveil.serve.formats.owntracks import encrypted
from geoveil.serve.published import iso
from tests.serve.serving import TRUE

__all__ = ["CLIENTS", "SECRETS", "ClientBody", "client_body"]

#: What tells a place or a person, besides coordinates: in bodies, and nowhere in what leaves.
SECRETS = (
    *("MyHomeWifi", "aa:bb:cc:dd:ee:ff", "Grandma's house", "12 Elm Street", "+41791234567", "cardiology ward"),
    *("DEADBEEF77", "geofence-4711", "stationary", "WVWZZZ1JZXW000001", "file_of_the_day"),
)


@dataclass(frozen=True)
class ClientBody:
    """A request of a client: its address, its body, and how it authenticates."""

    path: str
    content: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    #: The device whose token it sends, and where: "bearer", "basic", "path", "query" or "id".
    holder: str = "ann/phone"
    by: str = "bearer"
    method: str = "POST"


def client_body(client: str, at: int, place: tuple[float, float] = TRUE, **more: Any) -> ClientBody:
    """The request of a client about a place at a time in seconds; `more` are further members of its message."""
    lat, lon = place
    return CLIENTS[client](lat, lon, at, more)


def _json(message: object) -> bytes:
    return json.dumps(message).encode()


def _android(lat: float, lon: float, at: int, more: dict[str, Any]) -> ClientBody:
    return ClientBody(
        "/pub", _json(_owntracks(lat, lon, at) | more), {"X-Limit-U": "ann", "X-Limit-D": "phone"}, by="basic"
    )


def _owntracks(lat: float, lon: float, at: int) -> dict[str, Any]:
    return {
        "_type": "location",
        "_id": "1a2b3c4d",
        "lat": lat,
        "lon": lon,
        "tst": at,
        "created_at": at + 3,
        "acc": 12,
        "tid": "ph",
        "topic": "owntracks/ann/phone",
        "t": "c",
        "alt": 16,
        "vac": 3,
        "vel": 5,
        "cog": 271,
        "batt": 77,
        "bs": 2,
        "conn": "w",
        "SSID": "MyHomeWifi",
        "BSSID": "aa:bb:cc:dd:ee:ff",
        "inregions": ["Grandma's house"],
        "inrids": ["DEADBEEF77"],
        "m": 1,
        "source": "fused",
        "addr": "12 Elm Street",
    }


def _ios(lat: float, lon: float, at: int, more: dict[str, Any]) -> ClientBody:
    message = {
        **{
            "_type": "location",
            "lat": lat,
            "lon": lon,
            "tst": at,
            "acc": 8,
            "tid": "ip",
            "t": "p",
            "batt": 50,
            "bs": 1,
        },
        **{
            "ssid": "MyHomeWifi",
            "bssid": "aa:bb:cc:dd:ee:ff",
            "conn": "w",
            "inregions": ["Grandma's house"],
            "p": 101.3,
        },
        **{"poi": "cardiology ward", "tag": "DEADBEEF77", "image": base64.b64encode(bytes(5000)).decode(), "vac": 5},
        **{"imagename": "DEADBEEF77", "motionactivities": ["stationary"], "alt": 12, "vel": 0, "cog": 0, "m": 1},
        "topic": "owntracks/ann/phone",
    }
    return ClientBody("/owntracks", _json(message | more), {"X-Limit-U": "ann"}, by="basic")


def _encrypted(lat: float, lon: float, at: int, more: dict[str, Any]) -> ClientBody:
    sealed = encrypted(_owntracks(lat, lon, at) | more, "a passphrase")
    return ClientBody("/pub", _json(sealed), holder="ann/watch", by="basic")


def _traccar(lat: float, lon: float, at: int, more: dict[str, Any]) -> ClientBody:
    time = iso(at * 10**6).replace("Z", ".000+00:00")
    attributes = {
        **{"ip": "10.0.0.9", "distance": 12.5, "totalDistance": 99.1, "odometer": 123456, "motion": True},
        **{"raw": "DEADBEEF77", "geofence": "geofence-4711", "vin": "WVWZZZ1JZXW000001", "batteryLevel": 50},
    }
    position = {
        **{"id": 0, "deviceId": 7, "protocol": "osmand", "type": None, "valid": True, "outdated": False},
        **{
            "deviceTime": time,
            "fixTime": time,
            "serverTime": time,
            "latitude": lat,
            "longitude": lon,
            "altitude": 16.0,
        },
        **{"speed": 2.7, "course": 271.0, "accuracy": 12.0, "address": "12 Elm Street", "geofenceIds": [4711]},
        "network": {"cellTowers": [{"cellId": 1}], "wifiAccessPoints": [{"macAddress": "aa:bb:cc:dd:ee:ff"}]},
        "attributes": attributes,
    }
    device = {
        **{"id": 7, "uniqueId": "867001", "name": "DEADBEEF77", "phone": "+41791234567", "contact": "12 Elm Street"},
        **{"category": "person", "status": "online", "lastUpdate": time, "attributes": {"x": "geofence-4711"}},
    }
    return ClientBody("/traccar", _json({"position": position | more, "device": device | more}), holder="traccar")


def _query(lat: float, lon: float, at: int) -> dict[str, str]:
    return {"lat": str(lat), "lon": str(lon), "timestamp": str(at)}


def _osmand(lat: float, lon: float, at: int, more: dict[str, Any]) -> ClientBody:
    fields = {
        **_query(lat, lon, at * 1000),
        **{"hdop": "12.0", "altitude": "16", "speed": "1.4", "bearing": "271", "eta": "99", "eda": "4.5"},
        **{"wifi": "aa:bb:cc:dd:ee:ff,-50", "cell": "228,1,4711,99"},
        **{name: str(value) for name, value in more.items()},
    }
    return ClientBody(f"/osmand?{urlencode(fields)}", by="id", method="GET")


def _sdk(lat: float, lon: float, at: int, more: dict[str, Any]) -> ClientBody:
    fields = {
        **_query(lat, lon, at),
        **{"accuracy": "12", "altitude": "16", "speed": "2.7", "bearing": "271", "batt": "77", "charge": "true"},
        **{name: str(value) for name, value in more.items()},
    }
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    return ClientBody("/osmand", urlencode(fields).encode(), form, by="id")


def _client9(lat: float, lon: float, at: int, more: dict[str, Any]) -> ClientBody:
    location = {
        "timestamp": iso(at * 10**6),
        "coords": {"latitude": lat, "longitude": lon, "accuracy": 12, "speed": -1, "heading": -1, "altitude": 16},
        **{
            "is_moving": True,
            "odometer": 123456,
            "event": "motionchange",
            "battery": {"level": 0.5, "is_charging": True},
        },
        **{"activity": {"type": "stationary"}, "extras": {}, "_": f"&id=x&lat={lat}&lon={lon}&timestamp={at}&"},
    }
    body = _json({"location": location | more, "device_id": "{token}"})
    return ClientBody("/osmand", body, {"Content-Type": "application/json"}, by="id")


def feature(lat: float, lon: float, at: int) -> dict[str, Any]:
    """A point of Overland with all of its properties."""
    return {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [lon, lat]},
        "properties": {
            **{"timestamp": iso(at * 10**6), "altitude": 16, "speed": -1, "course": -1, "horizontal_accuracy": 12},
            **{"vertical_accuracy": 3, "motion": ["stationary"], "battery_state": "charging", "battery_level": 0.8},
            **{"wifi": "MyHomeWifi", "device_id": "DEADBEEF77", "unique_id": "DEADBEEF77", "trip_id": "DEADBEEF77"},
            **{"activity": "other_navigation", "pauses": False, "deferred": 100, "significant_change": 1},
        },
    }


def _overland(lat: float, lon: float, at: int, more: dict[str, Any]) -> ClientBody:
    here = feature(lat, lon, at)
    trip = {"mode": "driving", "start_location": here, "current_location": here, "distance": 99}
    return ClientBody("/overland", _json({"locations": [here | more], "current": here, "trip": trip} | more))


def _gpslogger(lat: float, lon: float, at: int, more: dict[str, Any]) -> ClientBody:
    return ClientBody("/v1/ping", _json({"time": at, "lat": lat, "lon": lon, "file": "file_of_the_day"} | more))


def _dawarich(lat: float, lon: float, at: int, more: dict[str, Any]) -> ClientBody:
    point = feature(lat, lon, at)
    point["properties"]["deffered"] = 1
    return ClientBody("/api/v1/overland/batches", _json({"locations": [point | more]}), by="query")


CLIENTS = {
    "OwnTracks Android": _android,
    "OwnTracks iOS": _ios,
    "OwnTracks encrypted": _encrypted,
    "Traccar": _traccar,
    "OsmAnd": _osmand,
    "Traccar Client 10": _sdk,
    "Traccar Client 9": _client9,
    "Overland": _overland,
    "GPSLogger": _gpslogger,
    "GPSLogger for Dawarich": _dawarich,
}
