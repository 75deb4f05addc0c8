"""Clients that obey their own retry rules, and a service that is killed at random: nothing is lost or repeated."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from geoveil.budget.stores import open_store
from geoveil.serve.config import read_config
from geoveil.serve.server import serve
from geoveil.serve.service import Service
from geoveil.serve.tokens import digest_of, new_secret
from tests.postgres import database
from tests.serve.bodies import client_body
from tests.serve.phones import RULES, Phone, Reply
from tests.serve.serving import now
from tests.systems import POSIX

_CONFIG = """
[service]
listen = "127.0.0.1:{port}"
ledger = "{ledger}"
publish = "every ping"
gateways = ["traccar"]
"""
_PERSON = """
[[person]]
name = "{name}"
rho = 5e-4
protect = "1 day"
area = "San Francisco"
[[person.device]]
name = "phone"
unique_id = "{name}"
"""
_CONTEXT = multiprocessing.get_context("forkserver") if hasattr(os, "fork") else None


def name_of(client: str) -> str:
    """The person who uses a client."""
    return client.lower().replace(" ", "-")


def sender(client: str, url: str, tokens: dict[str, str], http: httpx.Client) -> Callable[[list[int]], Reply]:
    """What sends the pings of some times as a client does, with its own token."""
    token = tokens["traccar" if client == "Traccar" else f"{name_of(client)}/phone"]

    def send(times: list[int]) -> Reply:
        bodies = [client_body(client, at) for at in times]
        body, path, headers, content = bodies[0], bodies[0].path, {**bodies[0].headers}, bodies[0].content
        if client == "Traccar":
            content = content.replace(b"867001", name_of(client).encode())
        if len(bodies) > 1:
            content = json.dumps({"locations": [json.loads(each.content)["locations"][0] for each in bodies]}).encode()
        if body.by in ("bearer", "basic"):
            headers["Authorization"] = f"Bearer {token}"
        elif body.by == "query":
            path = f"{path}?{urlencode({'api_key': token})}"
        elif b"{token}" in content:
            content = content.replace(b"{token}", token.encode())
        elif body.method == "GET":
            path = f"{path}&id={token}"
        else:
            content += f"&id={token}".encode()
        reply = http.request(body.method, url + path, headers=headers, content=content)
        return reply.status_code, reply.content

    return send


def killed(folder: Path, ledger: str, kills: int, pings: int) -> None:
    """Run all clients against a service that is killed so many times, and check what is stored."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = folder / "geoveil.toml"
    people = "".join(_PERSON.format(name=name_of(client)) for client in RULES)
    path.write_text(_CONFIG.format(port=port, ledger=ledger) + people)
    config = read_config(path)
    service = Service(config)
    tokens = {holder: new_secret() for holder in ("traccar", *service.devices)}
    for holder, token in tokens.items():
        service.tables.give(holder, digest_of(token))
    service.close()

    url, start = f"http://127.0.0.1:{port}", now() - 61 * pings - 600
    times = [start + 61 * number for number in range(pings)]
    http = httpx.Client(timeout=10, trust_env=False)
    phones = {client: Phone(rule, sender(client, url, tokens, http), times) for client, rule in RULES.items()}
    stop = threading.Event()
    threads = [threading.Thread(target=phone.run, args=(stop,)) for phone in phones.values()]
    assert _CONTEXT is not None
    _CONTEXT.set_forkserver_preload(["geoveil.serve.server", "geoveil.live.joint", "scipy.stats"])
    for kill in range(kills + 1):
        process = _CONTEXT.Process(target=serve, args=(path,))
        process.start()
        until_ready(url)
        if kill == 0:
            for thread in threads:
                thread.start()
        if kill == 0 and kills:
            # While most pings wait, so that some client surely sees it.
            answered = random.randrange(30)
            while sum(len(phone.statuses) for phone in phones.values()) < answered:
                time.sleep(0.001)
        elif kill < kills:
            time.sleep(random.uniform(0.0, 0.5))
        if kill < kills:
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            process.join()
    for thread in threads:
        thread.join(300)
    stop.set()
    http.close()
    process.terminate()
    process.join()

    store = open_store(config.ledger, 60.0)
    for client, phone in phones.items():
        assert not any(thread.is_alive() for thread in threads), client
        assert not phone.lost, client
        # No answer ever told a client that its message is wrong.
        assert set(phone.statuses) <= {0, 200, 503}, client
        name = name_of(client)
        with store.reading() as transaction:
            asked = "SELECT number, time, answer FROM geoveil_pings WHERE stream = ? ORDER BY number"
            rows = transaction.rows(asked, (name,))
            published = transaction.rows(
                "SELECT time FROM geoveil_published WHERE person = ? ORDER BY number", (name,)
            )
        # Each ping was charged, answered and published once or never, in the order of times.
        assert [number for number, _, _ in rows] == [*range(1, len(rows) + 1)], client
        stored = [time for _, time, _ in rows]
        assert all(answer for _, _, answer in rows), client
        assert [time for (time,) in published] == stored, client
        assert stored == sorted(set(stored)), client
        if phone.rule.ordered:
            assert {at * 10**6 for at in times} - {at * 10**6 for at in phone.given_up} <= {*stored}, client
            assert not phone.given_up or phone.rule.limit, client
    if kills:
        assert any(0 in phone.statuses for phone in phones.values())
    else:
        # Where nothing fails, nothing is sent twice or given up: no client is caught in a loop.
        assert not any(phone.given_up for phone in phones.values())
        assert {phone.attempts for phone in phones.values()} == {1}
    store.close()


def until_ready(url: str) -> None:
    """Wait until a service answers."""
    for _ in range(6000):
        try:
            if httpx.get(f"{url}/health", trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.01)
    raise AssertionError("the service does not answer")


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("kills", [0, 1, pytest.param(3, marks=pytest.mark.deep)])
def test_killed_service_loses_nothing(kills: int, tmp_path: Path) -> None:
    """Each client's pings are all answered once, though the service is killed; without kills nothing is repeated."""
    killed(tmp_path, "budget.db", kills, pings=15 if kills > 1 else 8)


@POSIX
@pytest.mark.long
@pytest.mark.parametrize("store", ["SQLite", "PostgreSQL"])
def test_hundred_kills_lose_nothing(store: str, tmp_path: Path) -> None:
    """The same under a hundred kills, on both stores."""
    killed(tmp_path, "budget.db" if store == "SQLite" else database("killed"), kills=100, pings=800)
