"""Plain JSON: from a ping to a released place, and what is refused."""

from __future__ import annotations

import jsonschema
import pytest

from geoveil.serve.openapi import openapi
from geoveil.serve.rates import RateLimit
from tests.serve.serving import Running, now


def test_ping_gets_released_place(service: Running) -> None:
    """A ping is answered with a place, its radius and what is left of the budget, as OpenAPI says."""
    at = service.fresh("ann")
    found = service.ping("ann/phone", at)
    schema = openapi()["paths"]["/v1/ping"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.validate(found, schema)
    assert "place" in found
    assert found["age"] == 0
    assert found["unit"] == "1 day"
    assert 0 < found["left"] < 5e-6
    assert "reason" not in found


@pytest.mark.parametrize(("later", "reason"), [(0, "late"), (-50, "late"), (30, "soon")])
def test_unused_pings_have_reasons(service: Running, later: int, reason: str) -> None:
    """A repeated, an older, and a ping that comes too soon are answered with the present place."""
    at = service.fresh("bob")
    before = service.ping("bob/phone", at)
    count = len(service.pings_of("bob"))
    after = service.ping("bob/phone", at + later, place=(37.7, -122.5))
    assert after["reason"] == reason
    assert not after["new"]
    assert after["place"] == before["place"]
    assert len(service.pings_of("bob")) == count


@pytest.mark.parametrize("away", [301 + 60, -31 * 86_400])
def test_wrong_clocks_are_unused(service: Running, away: int) -> None:
    """Pings from the future, and too old ones, are acknowledged and not used."""
    reply = service.ask("POST", "/v1/ping", "ann/phone", json={"time": now() + away, "lat": 37.7, "lon": -122.4})
    assert (reply.status_code, reply.json()) == (200, {"new": False, "reason": "clock"})


def test_lists_keep_their_order(service: Running) -> None:
    """A list has an answer for each of its pings, whatever is wrong with the others."""
    at = service.fresh("bob")
    given = [
        {"time": at, "lat": 37.7, "lon": -122.4},
        {"time": at},
        "what?",
        {"time": at + 100, "lat": 37.7, "lon": -122.4},
    ]
    reply = service.ask("POST", "/v1/pings", "bob/phone", json=given)
    assert reply.status_code == 200
    found = reply.json()
    assert [each.get("reason") for each in found] == [None, "no place", "malformed", None]
    assert found[0]["time"] < found[3]["time"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no",
        b"[]",
        b'{"lat": 37.77, "lon": -122.41}',
        b'{"time": 1777874400}',
        b'{"time": 1777874400, "lat": NaN, "lon": 3}',
        b'{"time": 1777874400, "lat": 91, "lon": 3}',
        b'{"time": "2026-05-04 08:00:00", "lat": 1, "lon": 3}',
        b'{"time": 1777874400, "lat": ' + b"1" * 65 + b', "lon": 3}',
        b"[" * 40 + b"]" * 40,
        b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    ],
)
def test_malformed_pings_are_refused(service: Running, body: bytes) -> None:
    """What is no ping is refused with an error of RFC 9457, which quotes nothing."""
    reply = service.ask("POST", "/v1/ping", "ann/phone", content=body)
    assert reply.status_code == 400
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json() == {"type": "about:blank", "title": "This is not a ping.", "status": 400}


def test_wrong_tokens_are_refused(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """No token, a wrong one, and that of somebody who is no device are refused with 401; guessing is slowed down."""
    seconds = [0.0]
    monkeypatch.setattr(service.service, "guesses", RateLimit(5.0, 5, clock=lambda: seconds[0]))
    body = {"time": now(), "lat": 37.7, "lon": -122.4}
    for headers in ({}, {"Authorization": "Bearer no"}, {"Authorization": "Basic ???"}):
        assert service.ask("POST", "/v1/ping", json=body, headers=headers).status_code == 401
    assert service.ask("POST", "/v1/ping", "owner", json=body).status_code == 401
    guesses = [service.ask("POST", "/v1/ping", json=body).status_code for _ in range(4)]
    assert guesses == [401, 401, 503, 503]
    assert service.ping("ann/phone", service.fresh("ann"))
    seconds[0] = 0.4
    guesses = [service.ask("POST", "/v1/ping", json=body).status_code for _ in range(3)]
    assert guesses == [401, 401, 503]


def test_large_bodies_are_refused(service: Running) -> None:
    """A body of more than 2 MiB is refused, whether its length is stated or not."""
    large = b" " * (2 * 2**20 + 1)
    assert service.ask("POST", "/v1/ping", "ann/phone", content=large).status_code == 413
    parts = (large[:65536] for _ in range(40))
    assert service.ask("POST", "/v1/ping", "ann/phone", content=parts).status_code == 413


def test_openapi_names_real_addresses(service: Running) -> None:
    """Every address of the description exists, and asks for a token."""
    described = service.ask("GET", "/openapi.json").json()
    for path, operations in described["paths"].items():
        for method in operations:
            service.service.guesses._left.clear()
            address = path.replace("{person}", "ann").replace("{id}", "x")
            assert service.ask(method.upper(), address).status_code == 401, (method, path)
