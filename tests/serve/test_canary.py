"""No true place, and nothing that tells one, is in any byte that the service writes or sends."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from geoveil.serve import targets
from geoveil.serve.config import PersonConfig
from geoveil.serve.desk import Taken
from geoveil.serve.readings import PingReading
from geoveil.serve.service import Service
from tests.serve.bodies import CLIENTS, SECRETS, ClientBody, client_body
from tests.serve.serving import FINE, TRUE, config_in, now, running
from tests.serve.targets import receiving
from tests.systems import POSIX

_TARGETS = """
[[target]]
kind = "recorder"
url = "{url}"
[[target]]
kind = "home-assistant"
url = "{url}/api/webhook/abc"
[[target]]
kind = "dawarich"
url = "{url}"
token = "key"
[[target]]
kind = "geopulse"
url = "{url}"
[[target]]
kind = "reitti"
url = "{url}"
"""
#: The place as a client may write it: in degrees, in ten-millionths, and in radians' digits of neither.
CANARIES = [text.encode() for text in (*FINE, "377749", "1224194", *SECRETS)]


def test_no_true_place_leaves(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Replies, forwards, logs, metrics, pages, errors and the database are searched after all clients have sent."""
    left: list[bytes] = []
    with receiving() as target, running(config_in(tmp_path, _TARGETS.format(url=target.url))) as service:
        for name in ("geoveil.serve", "uvicorn.error", "asyncio"):
            logging.getLogger(name).addHandler(caplog.handler)
            caplog.set_level(logging.DEBUG, logger=name)
        link = service.ask("POST", "/v1/links", "owner", json={"persons": ["ann"], "window": "1 day"}).json()
        start = now() - 86_400
        for index, client in enumerate(CLIENTS):
            for at in (start + 100 * index, start + 100 * index, start + 100 * index + 10, 5, now() + 10**6):
                reply = service.send(client_body(client, at))
                left += [reply.content, repr(reply.headers).encode()]
        # Refused, malformed and broken requests quote nothing either.
        ping = f'{{"time": {now()}, "lat": {TRUE[0]}, "lon": {TRUE[1]}'
        for content, holder in ((ping, "ann/phone"), (ping + "}", None), (ping + "}", "owner")):
            reply = service.ask("POST", "/v1/ping", holder, content=content)
            assert reply.status_code in (400, 401)
            left.append(reply.content)
        left.append(service.ask("GET", f"/no/{TRUE[0]}?lon={TRUE[1]}").content)
        left.append(service.ask("GET", f"/v1/places/{TRUE[0]}", "owner").content)
        stream = service.service.desk._streams["ann"]
        update = stream.update
        stream.update = lambda *given, **more: (_ for _ in ()).throw(ValueError(f"{given} {more} {TRUE}"))  # type: ignore[method-assign]
        assert service.send(client_body("Overland", now() - 3000)).status_code == 503
        stream.update = update  # type: ignore[method-assign]
        assert service.send(client_body("Overland", now() - 3000)).status_code == 200
        for path in ("/live", "/metrics", "/v1/links", "/v1/places/ann", "/v1/places/ann/track"):
            left.append(service.ask("GET", path, "owner").content)
        left += [service.client.get(link["url"]).content, service.ask("GET", "/health").content]
        requests = target.wait(20)
        left += [part for each in requests for part in (each.path.encode(), repr(each.headers).encode(), each.body)]
        places = service.service.tables.since("ann", 0, 1000)
    left += [caplog.text.encode(), *(repr(record.__dict__).encode() for record in caplog.records)]
    left += [text.encode() for text in capfd.readouterr()]
    left += [path.read_bytes() for path in tmp_path.iterdir() if path.name != "geoveil.toml"]
    assert any(b"geoveil_published" in each for each in left)
    assert sum(map(len, left)) > 50_000
    assert len(places) >= len(CLIENTS)
    assert sum(record.getMessage() == "pings" for record in caplog.records) >= len(CLIENTS)
    # A released place may have the digits of the true one by chance.
    released = [
        text.encode() for place in places for each in (place.lat, place.lon) for text in (f"{each}", f"{each:.4f}")
    ]
    assert not found(left, released)
    assert all(token.encode() not in each for token in service.tokens.values() for each in left)


def found(left: list[bytes], released: list[bytes]) -> list[tuple[bytes, bytes]]:
    """What tells a place, and what is around it."""
    hits = []
    for each in left:
        for text in released:
            each = each.replace(text, b"")
        hits += [(canary, each[max(each.find(canary) - 200, 0) :][:400]) for canary in CANARIES if canary in each]
    return hits


def test_planted_leaks_are_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service that logs what it has read, or forwards what it was sent, is caught."""
    take = Service.take

    async def leaking(
        self: Service, kind: str, person: PersonConfig, device: str, reading: PingReading
    ) -> list[Taken]:
        logging.getLogger("geoveil.serve").info("pings %s", reading)
        return await take(self, kind, person, device, reading)

    monkeypatch.setattr(Service, "take", leaking)
    monkeypatch.setattr(targets, "released_message", lambda *_: {"lat": TRUE[0]})
    with receiving() as target:
        more = f'\n[[target]]\nkind = "recorder"\nurl = "{target.url}"\n'
        with running(config_in(tmp_path, more)) as service:
            logging.getLogger("geoveil.serve").addHandler(caplog.handler)
            caplog.set_level(logging.DEBUG, logger="geoveil.serve")
            service.send(client_body("Overland", now() - 100))
            (request,) = target.wait(1)
    assert found([caplog.text.encode()], [])
    assert found([request.body], [])


def test_search_finds_places() -> None:
    """Each client's body contains the place, as it would be found in what leaves."""
    for client in CLIENTS:
        body = client_body(client, now())
        assert isinstance(body, ClientBody)
        if client != "OwnTracks encrypted":
            assert any(canary in body.content + body.path.encode() for canary in CANARIES), client


@pytest.mark.slow
@POSIX
def test_no_core_dumps() -> None:
    """A service that serves lets a crash write no copy of its memory."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_limit, args=(queue,))
    process.start()
    assert queue.get(timeout=60) == (0, 0)
    process.join()


def _limit(queue: object) -> None:
    import resource

    from geoveil.serve.server import _no_core_dumps

    _no_core_dumps()
    queue.put(resource.getrlimit(resource.RLIMIT_CORE))  # type: ignore[attr-defined]
