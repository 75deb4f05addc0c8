"""Traccar: positions that the server forwards, and positions that are forwarded on in the same form."""

from __future__ import annotations

from typing import Any

from geoveil.serve.config import PersonConfig
from geoveil.serve.published import PublishedPlace, iso
from geoveil.serve.readings import Fix, PingReading, Unused, fix_of, json_of, microseconds

__all__ = ["read_traccar", "traccar_message"]


def read_traccar(body: bytes) -> tuple[PingReading, str]:
    """Read a forwarded position, and the identifier of its device."""
    message = json_of(body) if body.strip() else {}
    if not isinstance(message, dict):
        return PingReading.of("malformed"), ""
    device, position = message.get("device"), message.get("position")
    identifier = device.get("uniqueId") if isinstance(device, dict) else None
    return PingReading.of(_read(position)), identifier if isinstance(identifier, str) else ""


def _read(position: object) -> Fix | Unused:
    if not isinstance(position, dict):
        return "other type"
    # Devices without a fix repeat the old place with a new time of sending.
    if position.get("valid") is False:
        return "no fix"
    return fix_of(microseconds(position.get("fixTime")), position.get("latitude"), position.get("longitude"))


def traccar_message(person: PersonConfig, place: PublishedPlace) -> dict[str, Any]:
    """Return a published place in the form of a forwarded position: these members, and no others."""
    time = iso(place.time)
    return {
        "position": {
            "protocol": "geoveil",
            "fixTime": time,
            "deviceTime": time,
            "serverTime": time,
            "valid": True,
            "latitude": place.lat,
            "longitude": place.lon,
            "altitude": 0,
            "speed": 0,
            "course": 0,
            "accuracy": place.radius,
            "address": None,
            "geofenceIds": None,
            "network": None,
            "attributes": {},
        },
        "device": {"uniqueId": person.topic, "name": person.name},
    }
