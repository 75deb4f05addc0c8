"""What is sent to each kind of target: one request about published places, built from nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from geoveil.serve.config import PersonConfig, TargetConfig
from geoveil.serve.formats.overland import overland_batch
from geoveil.serve.formats.owntracks import released_message
from geoveil.serve.formats.traccar import traccar_message
from geoveil.serve.published import PublishedPlace

__all__ = ["BATCH", "TargetRequest", "chosen", "target_request"]

#: The most places in one request.
BATCH = 100


@dataclass(frozen=True)
class TargetRequest:
    """A request: its address, its JSON, and its credentials."""

    url: str
    json: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    auth: tuple[str, str] | None = None


def chosen(target: TargetConfig, places: Sequence[PublishedPlace]) -> Sequence[PublishedPlace]:
    """Return the places of the next request, the last of which is then the last that the target has received."""
    if target.kind == "home-assistant":
        # It takes whatever arrives as the present place.
        return places[-1:]
    return places if target.kind == "dawarich" else places[:1]


def target_request(target: TargetConfig, person: PersonConfig, places: Sequence[PublishedPlace]) -> TargetRequest:
    """Return the request about the chosen places of a person."""
    url, bearer = target.url.rstrip("/"), {"Authorization": f"Bearer {target.token}"} if target.token else {}
    last = places[-1]
    match target.kind:
        case "recorder":
            user, _, device = person.topic.partition("/")
            auth = (target.user, target.token) if target.user else None
            return TargetRequest(
                f"{url}/pub?u={quote(user)}&d={quote(device)}", released_message(person, last), auth=auth
            )
        case "home-assistant":
            return TargetRequest(target.url, released_message(person, last))
        case "dawarich":
            return TargetRequest(f"{url}/api/v1/overland/batches", overland_batch(person, places), bearer)
        case "geopulse":
            return TargetRequest(f"{url}/api/traccar", traccar_message(person, last), bearer)
        case _:
            assert target.kind == "reitti"
            headers = {"X-API-Token": target.token}
            return TargetRequest(f"{url}/api/v1/ingest/owntracks", released_message(person, last), headers)
