"""The plain JSON interface as OpenAPI."""

from __future__ import annotations

from typing import Any, get_args

from geoveil._version import __version__
from geoveil.serve.readings import Unused

__all__ = ["openapi"]

_TIME = {
    "description": "ISO 8601 with a time zone, or seconds since 1970.",
    "oneOf": [{"type": "string", "format": "date-time"}, {"type": "number"}],
}
_PING = {
    "type": "object",
    "required": ["time", "lat", "lon"],
    "properties": {
        "time": _TIME,
        "lat": {"type": "number", "minimum": -90, "maximum": 90},
        "lon": {"type": "number", "minimum": -180, "maximum": 180},
    },
}
_ANSWER = {
    "type": "object",
    "required": ["new"],
    "properties": {
        "place": {
            "type": "object",
            "required": ["lat", "lon"],
            "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
        },
        "radius_95": {"type": "integer", "description": "Metres in which the person is with probability 95%."},
        "time": {"type": "string", "format": "date-time", "description": "The time of the last answered ping."},
        "age": {"type": "number", "description": "Seconds from then to the time of this ping."},
        "zone": {
            "type": "string",
            "description": "The name of the zone in which the person is.",
        },
        "new": {"type": "boolean", "description": "Whether the place is another one than before."},
        "reason": {"type": "string", "enum": [*get_args(Unused)], "description": "Why the ping is not used."},
        "left": {"type": "number", "description": "The budget that is left in the present stretch."},
        "unit": {"type": "string", "description": "The length of the stretch, such as 1 day."},
    },
}
_FEATURES = {
    "type": "object",
    "required": ["type", "features"],
    "properties": {"type": {"const": "FeatureCollection"}, "features": {"type": "array"}},
}
_LINK = {
    "type": "object",
    "required": ["persons"],
    "properties": {
        "name": {"type": "string", "description": "Who reads it, in the owner's words."},
        "persons": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "expires": {"type": "string", "default": "7 days"},
        "window": {"type": "string", "description": "How far back it shows places; by default the last place only."},
        "hours": {"type": "string", "example": "08:00-18:00"},
        "zone": {"type": "string", "default": "UTC"},
    },
}
_PAUSE = {"type": "object", "required": ["paused"], "properties": {"paused": {"type": "boolean"}}}


def openapi() -> dict[str, Any]:
    """Return the description of the addresses that take or answer JSON."""
    person = {"name": "person", "in": "path", "required": True, "schema": {"type": "string"}}
    link = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    times = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in ("from", "to")]
    return {
        "openapi": "3.1.0",
        "info": {"title": "geoveil serve", "version": __version__},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": {
            "/v1/ping": {"post": _operation("Send a ping of a device.", _ANSWER, body=_PING)},
            "/v1/pings": {
                "post": _operation(
                    "Send pings of a device, in order of time.",
                    {"type": "array", "items": _ANSWER},
                    body={"type": "array", "items": _PING, "maxItems": 5000},
                )
            },
            "/v1/places/{person}": {"get": _operation("Where a person was last.", _FEATURES, [person], geo=True)},
            "/v1/places/{person}/track": {
                "get": _operation("Published places of a person.", _FEATURES, [person, *times], geo=True)
            },
            "/v1/links": {
                "get": _operation("All links.", {"type": "array", "items": {"type": "object"}}),
                "post": _operation("Make a link for a reader.", {"type": "object"}, body=_LINK, status="201"),
            },
            "/v1/links/{id}": {
                "patch": _operation("Pause a link, or resume it.", {"type": "object"}, [link], body=_PAUSE),
                "delete": _operation("End a link.", None, [link], status="204"),
            },
            "/v1/persons/{person}": {
                "patch": _operation("Pause a person, or resume them.", {"type": "object"}, [person], body=_PAUSE)
            },
        },
    }


def _operation(
    summary: str,
    answer: dict[str, Any] | None,
    parameters: list[dict[str, Any]] | None = None,
    *,
    body: dict[str, Any] | None = None,
    status: str = "200",
    geo: bool = False,
) -> dict[str, Any]:
    media = "application/geo+json" if geo else "application/json"
    done: dict[str, Any] = {"description": "Done."}
    if answer is not None:
        done["content"] = {media: {"schema": answer}}
    problem = {"application/problem+json": {"schema": {"type": "object"}}}
    errors = {"400": "Not understood.", "401": "The token is missing or wrong.", "503": "Try again later."}
    described: dict[str, Any] = {
        "summary": summary,
        "parameters": parameters or [],
        "responses": {status: done}
        | {code: {"description": text, "content": problem} for code, text in errors.items()},
    }
    if body is not None:
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return described
