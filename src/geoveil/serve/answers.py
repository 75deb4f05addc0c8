"""The answers of each format: a status code is an instruction to the queue of a client.

What was understood and is not used is answered as a success: clients keep or repeat what was refused, and drop it only
then. 503 says that the client should send it again. 401 is for credentials alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from starlette.responses import JSONResponse, Response

from geoveil.privacy.durations import duration_words
from geoveil.serve.config import PersonConfig
from geoveil.serve.desk import Taken
from geoveil.serve.published import PublishedPlace, iso

__all__ = ["plain_answer", "problem", "refusal", "success"]

#: The success form of each format.
_SUCCESS: dict[str, tuple[bytes, str | None]] = {
    "owntracks": (b"[]", "application/json"),
    "traccar": (b"", None),
    "osmand": (b"", None),
    "overland": (b'{"result":"ok"}', "application/json"),
}
_TITLES = {
    400: "This is not a ping.",
    401: "The token is missing or wrong.",
    404: "There is nothing here.",
    413: "The body is too large.",
    503: "Try again later.",
}


def success(kind: str) -> Response:
    """Return the success form of a format."""
    body, media = _SUCCESS[kind]
    return Response(body, media_type=media)


def refusal(kind: str, status: int, title: str = "") -> Response:
    """Return the form in which a format is told to go away, or to come back."""
    headers = {}
    if status == 401:
        headers["www-authenticate"] = 'Basic realm="geoveil"' if kind == "owntracks" else "Bearer"
    if status == 503:
        headers["retry-after"] = "1"
    if kind == "plain":
        return problem(status, title, headers)
    if kind == "overland":
        return JSONResponse({"error": title or _TITLES[status]}, status, headers)
    return Response(b"", status, headers)


def problem(status: int, title: str = "", headers: dict[str, str] | None = None) -> Response:
    """Return an error of RFC 9457. It contains nothing of the request."""
    body = json.dumps({"type": "about:blank", "title": title or _TITLES[status], "status": status})
    return Response(body, status, headers, media_type="application/problem+json")


def plain_answer(person: PersonConfig, taken: Sequence[Taken], unit: int) -> list[dict[str, Any]]:
    """Return what became of each ping, with what the world may see now."""
    return [_plain(person, each, unit) for each in taken]


def _plain(person: PersonConfig, taken: Taken, unit: int) -> dict[str, Any]:
    found: dict[str, Any] = {"new": taken.position is not None and taken.position.new}
    if taken.unused is not None:
        found["reason"] = taken.unused
    position = taken.position
    if position is None or position.time is None:
        return found
    shown = PublishedPlace.of(
        0, round(position.time.timestamp() * 10**6), position.lat, position.lon, position.radius_95
    )
    return {
        "place": {"lat": shown.lat, "lon": shown.lon},
        "radius_95": shown.radius,
        "time": iso(shown.time),
        "age": round(position.age, 3),
        **({} if position.zone is None else {"zone": position.zone}),
        **found,
        "left": float(position.remaining),
        "unit": duration_words(unit),
    }
