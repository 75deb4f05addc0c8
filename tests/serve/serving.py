"""A service in this process, on a real server, and the bodies that clients send to it."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from geoveil.serve.config import Config, read_config
from geoveil.serve.server import _listen, server_of
from geoveil.serve.service import Service
from geoveil.serve.tokens import digest_of, new_secret

if TYPE_CHECKING:
    from tests.serve.bodies import ClientBody

__all__ = ["FINE", "TRUE", "Running", "config_in", "now", "running"]

#: A true place whose digits occur nowhere else: tests search for them in everything that leaves.
TRUE = (37.774931, -122.419482)
#: The digits of a true place that must not leave, with four decimals and more.
FINE = ("37.7749", "122.4194")

_CONFIG = """
[service]
listen = "127.0.0.1:0"
ledger = "{ledger}"
publish = "{publish}"
gateways = ["traccar"]

[[person]]
name = "ann"
rho = 5e-6
protect = "1 day"
area = "San Francisco"
[[person.device]]
name = "phone"
unique_id = "867001"
[[person.device]]
name = "watch"
key = "a passphrase"

[[person]]
name = "bob"
rho = 5e-4
protect = "1 day"
area = "San Francisco"
tid = "BO"
friends = ["ann"]
[[person.device]]
name = "phone"
[[person.device]]
name = "watch"
key = "a passphrase"
"""


def now() -> int:
    """The present time in whole seconds."""
    return int(time.time())


def config_in(folder: Path, more: str = "", *, ledger: str = "budget.db", publish: str = "every ping") -> Path:
    """A configuration of two persons with two devices each, in a file that only its owner may read."""
    path = folder / "geoveil.toml"
    path.write_text(_CONFIG.format(ledger=ledger, publish=publish) + more)
    path.chmod(0o600)
    return path


@dataclass
class Running:
    """A service that runs, the tokens of its holders, and a client of its server."""

    service: Service
    url: str
    tokens: dict[str, str]
    client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=30, trust_env=False))

    def ask(self, method: str, path: str, holder: str | None = None, **more: Any) -> httpx.Response:
        """A request with the token of a holder."""
        headers = {**more.pop("headers", {})}
        if holder is not None:
            headers.setdefault("Authorization", f"Bearer {self.tokens[holder]}")
        return self.client.request(method, self.url + path, headers=headers, **more)

    def basic(self, holder: str) -> dict[str, str]:
        """The headers of a device that sends a user and a password."""
        user = holder.partition("/")[0]
        pair = base64.b64encode(f"{user}:{self.tokens[holder]}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}

    def ping(self, holder: str = "ann/phone", at: float | None = None, place: tuple[float, float] = TRUE) -> Any:
        """The answer to a plain ping."""
        body = {"time": now() if at is None else at, "lat": place[0], "lon": place[1]}
        reply = self.ask("POST", "/v1/ping", holder, json=body)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def fresh(self, person: str) -> int:
        """A time in seconds at which a ping of a person is answered, whatever they have sent before."""
        return self.pings_of(person)[-1][0] // 10**6 + 120

    def send(self, body: ClientBody) -> httpx.Response:
        """A request as a client sends it, with the token where that client has it."""
        token, path, content = self.tokens[body.holder], body.path, body.content
        headers = {**body.headers}
        if body.by == "bearer":
            headers["Authorization"] = f"Bearer {token}"
        elif body.by == "basic":
            headers |= self.basic(body.holder)
        elif body.by == "path":
            path = f"{path}/{token}"
        elif body.by == "query":
            path = f"{path}?api_key={token}"
        elif b"{token}" in content:
            content = content.replace(b"{token}", token.encode())
        elif body.method == "GET":
            path = f"{path}&id={token}"
        else:
            content += f"&id={token}".encode()
        return self.client.request(body.method, self.url + path, headers=headers, content=content)

    def pings_of(self, person: str) -> list[tuple[int, str]]:
        """The times and the answers of a person's pings, as they are stored."""
        with self.service.ledger._book.store.reading() as transaction:
            asked = "SELECT time, answer FROM geoveil_pings WHERE stream = ? ORDER BY number"
            return [(int(time), answer) for time, answer in transaction.rows(asked, (person,))]


@contextmanager
def running(path: Path | Config) -> Iterator[Running]:
    """Run a service in a thread until the end of the block; every holder has a token."""
    config = read_config(path) if isinstance(path, Path) else path
    service = Service(config)
    holders = ["owner", *config.gateways, *service.devices]
    tokens = {holder: new_secret() for holder in holders}
    for holder, token in tokens.items():
        service.tables.give(holder, digest_of(token))
    service.refresh()
    listening = _listen(config)
    server = server_of(service)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    found = Running(service, f"http://127.0.0.1:{listening.getsockname()[1]}", tokens)
    try:
        yield found
    finally:
        found.client.close()
        server.should_exit = True
        thread.join()
        listening.close()
        service.close()
