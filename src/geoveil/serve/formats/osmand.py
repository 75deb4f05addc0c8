"""The OsmAnd protocol: a query or a form from OsmAnd, Traccar Client and many trackers, and Traccar Client's JSON."""

from __future__ import annotations

from collections.abc import Mapping

from geoveil.serve.readings import Fix, PingReading, Unused, fix_of, json_of, microseconds, number

__all__ = ["read_client", "read_osmand"]


def read_osmand(fields: Mapping[str, str], received: int) -> PingReading:
    """Read the fields of a query or a form that arrived at a time in microseconds."""
    if fields.get("valid", "true").lower() in ("false", "0"):
        return PingReading.of("no fix")
    lat, lon = fields.get("lat"), fields.get("lon")
    if "location" in fields:
        lat, _, lon = fields["location"].partition(",")
    return PingReading.of(fix_of(_time(fields.get("timestamp"), received), lat, lon))


def _time(text: str | None, received: int) -> int | None:
    """Return a time: seconds, milliseconds, or ISO 8601. Without one, that of the arrival."""
    if not text:
        return received
    found = number(text)
    if found is None:
        return microseconds(text) if "T" in text else None
    if not 0 < found < 2**53:
        return None
    return int(found * 1000) if found >= 2**31 else int(found * 10**6)


def read_client(body: bytes) -> tuple[PingReading, str]:
    """Read the JSON of Traccar Client 9, and the identifier of its device."""
    message = json_of(body)
    if not isinstance(message, dict):
        return PingReading.of("malformed"), ""
    identifier = message.get("device_id")
    return PingReading.of(_read(message.get("location"))), identifier if isinstance(identifier, str) else ""


def _read(location: object) -> Fix | Unused:
    if not isinstance(location, dict):
        return "other type"
    coordinates = location.get("coords")
    if not isinstance(coordinates, dict):
        return "no place"
    return fix_of(microseconds(location.get("timestamp")), coordinates.get("latitude"), coordinates.get("longitude"))
