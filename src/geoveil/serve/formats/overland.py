"""Overland: batches of GeoJSON features, which GPSLogger sends as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geoveil.serve.config import PersonConfig
from geoveil.serve.published import PublishedPlace, iso
from geoveil.serve.readings import Fix, PingReading, Unused, fix_of, json_of, microseconds

__all__ = ["overland_batch", "read_overland"]


def read_overland(body: bytes) -> PingReading:
    """Read a batch. Its `current` and its `trip` are not read: what is in them comes again in a later batch."""
    if not body.strip():
        return PingReading.of("empty")
    message = json_of(body)
    features = message.get("locations") if isinstance(message, dict) else None
    if not isinstance(features, list):
        return PingReading.of("malformed")
    return PingReading.of(*map(_read, features))


def _read(feature: object) -> Fix | Unused:
    if not isinstance(feature, dict):
        return "malformed"
    geometry, properties = feature.get("geometry"), feature.get("properties")
    if not isinstance(properties, dict):
        return "no time"
    place = geometry.get("coordinates") if isinstance(geometry, dict) else None
    lon, lat = place[:2] if isinstance(place, list) and len(place) >= 2 else (None, None)
    return fix_of(microseconds(properties.get("timestamp")), lat, lon)


def overland_batch(person: PersonConfig, places: Sequence[PublishedPlace]) -> dict[str, Any]:
    """Return published places as a batch: these members, and no others."""
    return {"locations": [_feature(person, place) for place in places]}


def _feature(person: PersonConfig, place: PublishedPlace) -> dict[str, Any]:
    return {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [place.lon, place.lat]},
        "properties": {"timestamp": iso(place.time), "horizontal_accuracy": place.radius, "device_id": person.name},
    }
