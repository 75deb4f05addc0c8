"""The desk: old queues, broken requests beside good ones, overload, two services on one ledger, and PostgreSQL."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import httpx
import pytest

from geoveil.serve import desk as desk_module
from tests.postgres import database
from tests.serve.bodies import client_body
from tests.serve.serving import Running, config_in, now, running


def test_old_queues_draw_nothing(service: Running) -> None:
    """Ten thousand old pings are a look-up each: nothing is drawn, charged or stored, and each has its answer."""
    at = service.fresh("bob")
    service.ping("bob/phone", at)
    before = service.pings_of("bob")
    old = [{"time": at - 5000 + minute, "lat": 37.7, "lon": -122.4} for minute in range(5000)]
    for _ in range(2):
        reply = service.ask("POST", "/v1/pings", "bob/phone", json=old)
        while reply.status_code == 503:  # a busy machine
            reply = service.ask("POST", "/v1/pings", "bob/phone", json=old)
        assert {each["reason"] for each in reply.json()} == {"late"}
        assert len(reply.json()) == 5000
    assert service.pings_of("bob") == before


def test_long_lists_are_refused(service: Running) -> None:
    """More than 5000 points in one request are too many: none of them is lost without a word."""
    many = [{"time": 1_777_881_600, "lat": 37.7, "lon": -122.4}] * 5001
    assert service.ask("POST", "/v1/pings", "bob/phone", json=many).status_code == 413
    assert service.ask("POST", "/overland", "bob/phone", json={"locations": many}).status_code == 413


def test_broken_requests_fail_alone(service: Running) -> None:
    """Requests that share a commit with one that fails are answered nevertheless."""
    desk = service.service.desk
    waiting, release = threading.Event(), threading.Event()

    def hold(turn: desk_module.Turn) -> None:
        waiting.set()
        assert release.wait(60)

    def fail(turn: desk_module.Turn) -> None:
        raise ValueError("near 37.7749")

    async def together() -> list[object]:
        first = asyncio.ensure_future(desk.run(hold))
        await asyncio.to_thread(waiting.wait, 60)
        rest = [asyncio.ensure_future(desk.run(work)) for work in (fail, lambda turn: "fine", fail, lambda turn: 7)]
        await asyncio.sleep(0.05)
        release.set()
        return await asyncio.gather(first, *rest, return_exceptions=True)

    found = asyncio.run(together())
    assert [type(each) if isinstance(each, Exception) else each for each in found] == [
        None,
        desk_module.Unavailable,
        "fine",
        desk_module.Unavailable,
        7,
    ]


def test_overload_is_told(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """If too much waits, clients are told to come back, and the health page says so; nothing is queued."""
    monkeypatch.setattr(desk_module, "_WAITING", -1)
    assert service.send(client_body("Overland", now())).status_code == 503
    assert service.ask("GET", "/health").status_code == 503
    monkeypatch.undo()
    assert service.ask("GET", "/health").json() == {"status": "ok"}


def test_slow_stores_time_out(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that waits for too long is told to come back; when it does, its ping is known."""
    monkeypatch.setattr(desk_module, "_PATIENCE", 0.0)
    at = service.fresh("ann")
    assert service.send(client_body("GPSLogger", at)).status_code == 503
    monkeypatch.undo()
    assert service.ping("ann/phone", at).get("reason") in (None, "late")
    assert [time for time, _ in service.pings_of("ann")].count(at * 10**6) == 1


@pytest.mark.slow
@pytest.mark.parametrize("store", ["SQLite", "PostgreSQL"])
def test_services_share_a_ledger(store: str, tmp_path: Path) -> None:
    """Two services that take pings of one person, against all advice, answer each ping once."""
    ledger = "budget.db" if store == "SQLite" else database("shared")
    path = config_in(tmp_path, ledger=ledger)
    with running(path) as one, running(path) as other:
        start = now() - 7200
        tokens = {id(one): one.tokens, id(other): other.tokens}
        # Each holder has the token that was made last.
        one.tokens.update(tokens[id(other)])
        one.service.refresh()
        for minute in range(20):
            for service in (one, other):
                reply: httpx.Response | None = None
                while reply is None or reply.status_code == 503:
                    reply = service.send(client_body("GPSLogger", start + 61 * minute))
                assert reply.status_code == 200
        times = [time // 10**6 for time, _ in one.pings_of("ann")]
        assert times == [start + 61 * minute for minute in range(20)]


@pytest.mark.slow
def test_service_on_postgresql(tmp_path: Path) -> None:
    """Pings, publication, links and restarts work on PostgreSQL as on SQLite."""
    path = config_in(tmp_path, ledger=database("service"))
    start = now() - 7200
    with running(path) as service:
        for minute in range(80):
            service.ping("ann/phone", start + 61 * minute)
        link = service.ask("POST", "/v1/links", "owner", json={"persons": ["ann"], "window": "1 day"}).json()
        service.tokens["reader"] = link["token"]
        track = service.ask("GET", "/v1/places/ann/track", "reader").json()["features"]
        assert len(track) == 80
        service.ask("PATCH", "/v1/persons/bob", "owner", json={"paused": True})
        assert service.ask("PATCH", f"/v1/links/{link['id']}", "owner", json={"paused": True}).status_code == 200
    with running(path) as service:
        service.tokens["reader"] = link["token"]
        assert service.service.desk.paused == {"bob"}
        assert service.ask("GET", "/v1/places/ann/track", "reader").status_code == 403
        service.ask("PATCH", f"/v1/links/{link['id']}", "owner", json={"paused": False})
        assert service.ask("GET", "/v1/places/ann/track", "reader").json()["features"] == track
        assert service.ping("ann/phone", start)["reason"] == "late"
        service.service.tables.prune(now() * 10**6)
        assert len(service.ask("GET", "/v1/places/ann/track", "reader").json()["features"]) == 1
        assert "place" in service.ping("ann/phone", start + 90 * 61)
