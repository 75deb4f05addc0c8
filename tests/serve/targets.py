"""Targets that keep all that they receive, and fail as often as a test wants."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Received", "Receiver", "receiving"]


@dataclass(frozen=True)
class Received:
    """A request that a target has received."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> Any:
        """Its JSON."""
        return json.loads(self.body)


@dataclass
class Receiver:
    """A server with the requests that it got, and the statuses of its next answers."""

    url: str = ""
    requests: list[Received] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    #: What it answers: true places of all persons, as Home Assistant does.
    reply: bytes = b'[{"_type":"location","lat":48.8583,"lon":2.2951,"tid":"EV"}]'
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def wait(self, count: int, seconds: float = 60.0) -> list[Received]:
        """The requests, once there are so many."""
        self.until(lambda: len(self.requests) >= count, seconds)
        return self.requests

    def until(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Wait until the requests meet a condition."""
        with self.arrived:
            assert self.arrived.wait_for(condition, seconds), len(self.requests)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a target until the end of the block."""
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            with found.arrived:
                found.requests.append(Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                status = found.statuses.pop(0) if found.statuses else 200
                found.arrived.notify_all()
            self.send_response(status)
            self.send_header("content-length", str(len(found.reply)))
            self.end_headers()
            self.wfile.write(found.reply)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
