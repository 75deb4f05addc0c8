"""Plain JSON: a ping with its time, latitude and longitude, or a list of them."""

from __future__ import annotations

from geoveil.serve.readings import Fix, PingReading, Unused, fix_of, json_of, microseconds

__all__ = ["read_ping", "read_pings"]


def read_ping(body: bytes) -> PingReading:
    """Read one ping."""
    return PingReading.of(_read(json_of(body)))


def read_pings(body: bytes) -> PingReading:
    """Read a list of pings."""
    message = json_of(body)
    return PingReading.of(*map(_read, message)) if isinstance(message, list) else PingReading.of("malformed")


def _read(message: object) -> Fix | Unused:
    if not isinstance(message, dict):
        return "malformed"
    return fix_of(microseconds(message.get("time")), message.get("lat"), message.get("lon"))
