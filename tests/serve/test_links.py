"""Links of readers: expiry, window, hours and pause; the owner's page and its protection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from geoveil.errors import InvalidParameter
from geoveil.serve.links import ReaderLink
from geoveil.serve.readings import microseconds
from tests.serve.serving import Running, config_in, now, running

NOON = microseconds("2026-05-04T12:00:00Z") or 0
HOUR = 3600 * 10**6


def link(**given: Any) -> ReaderLink:
    """A link to ann, made at noon."""
    return ReaderLink.made({"persons": ["ann"], **given}, ["ann", "bob"], NOON)[0]


@pytest.fixture
def shared(service: Running) -> Running:
    """A service without links, in which a minute ago ann was seen."""
    for each in service.ask("GET", "/v1/links", "owner").json():
        service.ask("DELETE", f"/v1/links/{each['id']}", "owner")
    service.ping("ann/phone", now() - 30)
    return service


def made(service: Running, **given: Any) -> Any:
    """A link that the owner makes, with its token."""
    reply = service.ask("POST", "/v1/links", "owner", json={"persons": ["ann"], **given})
    assert reply.status_code == 201, reply.text
    found = reply.json()
    service.tokens[found["id"]] = found["token"]
    return found


def test_links_show_released_places(shared: Running) -> None:
    """A link opens a page and GeoJSON of its persons, and of nobody else."""
    found = made(shared, name="my sister")
    page = shared.client.get(found["url"])
    assert page.status_code == 200
    (feature,) = shared.ask("GET", "/v1/places/ann", found["id"]).json()["features"]
    assert set(feature["properties"]) == {"person", "time", "radius_95"}
    assert f"{feature['geometry']['coordinates'][1]:.4f}" in page.text
    assert "bob" not in page.text
    assert shared.ask("GET", "/v1/places/bob", found["id"]).status_code == 401
    assert shared.ask("GET", "/v1/places/nobody", found["id"]).status_code == 401
    for path in ("/v1/links", "/live", "/metrics"):
        assert shared.ask("GET", path, found["id"]).status_code == 401
    assert shared.ask("POST", "/v1/ping", found["id"], json={"time": now(), "lat": 1, "lon": 2}).status_code == 401


def test_links_end_and_pause(shared: Running) -> None:
    """A paused link shows nothing, and goes on afterwards; an ended one is unknown."""
    found = made(shared)
    assert shared.ask("PATCH", f"/v1/links/{found['id']}", "owner", json={"paused": True}).json()["state"] == "paused"
    assert shared.ask("GET", "/v1/places/ann", found["id"]).status_code == 403
    assert "Sharing is paused" in shared.client.get(found["url"]).text
    shared.ask("PATCH", f"/v1/links/{found['id']}", "owner", json={"paused": False})
    assert shared.ask("GET", "/v1/places/ann", found["id"]).status_code == 200
    assert shared.ask("DELETE", f"/v1/links/{found['id']}", "owner").status_code == 204
    assert shared.ask("GET", "/v1/places/ann", found["id"]).status_code == 401
    assert shared.client.get(found["url"]).status_code == 404


def test_paused_are_not_shown(shared: Running) -> None:
    """While a person is paused, pings are acknowledged and dropped, and nobody sees a place; nothing comes later."""
    found = made(shared, window="1 day")
    before = shared.pings_of("ann")
    assert shared.ask("PATCH", "/v1/persons/ann", "owner", json={"paused": True}).json() == {
        "person": "ann",
        "paused": True,
    }
    assert shared.ping("ann/phone", now() + 60) == {"new": False, "reason": "paused"}
    assert shared.ask("GET", "/v1/places/ann", found["id"]).status_code == 404
    assert shared.ask("GET", "/v1/places/ann/track", found["id"]).json()["features"] == []
    assert "no place is shown" in shared.client.get(found["url"]).text
    assert shared.service.tables.paused() == {"ann"}
    shared.ask("PATCH", "/v1/persons/ann", "owner", json={"paused": False})
    assert shared.pings_of("ann") == before
    assert "place" in shared.ping("ann/phone", now() + 120)
    assert shared.service.tables.paused() == set()


def test_links_expire() -> None:
    """A link shows places until it expires."""
    found = link(expires="2 hours")
    assert found.state(NOON + 2 * HOUR - 1) == "open"
    assert found.state(NOON + 2 * HOUR) == "expired"


@pytest.mark.parametrize(
    ("hours", "zone", "states"),
    [
        ("08:00-18:00", "UTC", {7: "closed", 8: "open", 17: "open", 18: "closed"}),
        ("22:00-06:00", "UTC", {21: "closed", 22: "open", 29: "open", 30: "closed"}),
        ("08:00-18:00", "America/Los_Angeles", {14: "closed", 15: "open", 24: "open", 25: "closed"}),
        ("", "UTC", {0: "open", 23: "open"}),
    ],
)
def test_links_have_hours(hours: str, zone: str, states: dict[int, str]) -> None:
    """At other hours a link shows nothing, in the time zone that its owner names."""
    found = link(hours=hours, zone=zone, expires="9 days")
    midnight = NOON - 12 * HOUR
    assert {hour: found.state(midnight + hour * HOUR) for hour in states} == states


def test_links_have_a_window(shared: Running) -> None:
    """A link with a window shows that much of the past, asked for in whole or in part, and no more."""
    start = now() - 7200
    fresh = shared.fresh("bob")
    assert fresh < start
    for minutes in (0, 30, 60, 90):
        shared.ping("bob/phone", start + 60 * minutes)
    reader = made(shared, persons=["bob"], window="95 minutes")["id"]
    track = shared.ask("GET", "/v1/places/bob/track", reader).json()["features"]
    assert len(track) == 3
    later = {"from": start + 3500, "to": start + 3700}
    assert len(shared.ask("GET", "/v1/places/bob/track", reader, params=later).json()["features"]) == 1
    last = made(shared, persons=["bob"])["id"]
    assert len(shared.ask("GET", "/v1/places/bob/track", last).json()["features"]) == 1
    assert shared.ask("GET", "/v1/places/bob/track", reader, params={"from": "yesterday"}).status_code == 400


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("persons", {"persons": ["eve"]}),
        ("persons", {"persons": None}),
        ("expires", {"expires": "soon"}),
        ("window", {"window": "some"}),
        ("hours", {"hours": "8-18"}),
        ("zone", {"zone": "Mars/Olympus"}),
    ],
)
def test_senseless_links_are_refused(service: Running, argument: str, given: dict[str, Any]) -> None:
    """What cannot be a link is refused with the argument, and the owner's page says why."""
    with pytest.raises(InvalidParameter) as refused:
        link(**given)
    assert refused.value.argument == argument
    reply = service.ask("POST", "/v1/links", "owner", json={"persons": ["ann"], **given})
    assert reply.status_code == 400
    assert argument in reply.json()["title"]


def test_foreign_forms_are_refused(service: Running) -> None:
    """A browser that knows the owner's password sends it along with forms of other sites, which are refused."""
    form = {"do": "pause", "of": "ann"}
    owner = service.basic("owner")
    for origin in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
        assert service.ask("POST", "/live", data=form, headers={**owner, **origin}).status_code == 403
    assert not service.service.desk.paused
    own = {"Origin": service.url}
    assert service.ask("POST", "/live", data=form, headers={**owner, **own}).status_code == 303
    assert service.service.desk.paused == {"ann"}
    assert (
        service.ask("POST", "/live", data={"do": "resume", "of": "ann"}, headers={**owner, **own}).status_code == 303
    )
    assert service.ask("POST", "/live", data={"do": "dance"}, headers={**owner, **own}).status_code == 400
    headers = service.ask("GET", "/live", "owner").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"


def test_links_survive_restarts(tmp_path: Path) -> None:
    """Links, tokens, pauses and places are there after a restart; tokens are kept as digests only."""
    path = config_in(tmp_path)
    with running(path) as service:
        service.ping("ann/phone", now() - 100)
        found = made(service, window="1 day")
        place = service.ask("GET", "/v1/places/ann", found["id"]).json()
        service.ask("PATCH", "/v1/persons/bob", "owner", json={"paused": True})
    with running(path) as service:
        service.tokens["reader"] = found["token"]
        assert service.ask("GET", "/v1/places/ann", "reader").json() == place
        assert service.service.desk.paused == {"bob"}
    stored = b"".join(each.read_bytes() for each in tmp_path.iterdir() if each.suffix != ".toml")
    assert found["token"].encode() not in stored
