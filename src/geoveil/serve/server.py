"""The server of the service, and the tokens of its devices."""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import uvicorn

from geoveil.budget.ledger import Ledger
from geoveil.budget.stores import open_store
from geoveil.errors import InvalidParameter
from geoveil.serve.app import application
from geoveil.serve.config import Config, read_config
from geoveil.serve.logs import configure_logs
from geoveil.serve.owner import OWNER
from geoveil.serve.service import Service
from geoveil.serve.tables import Tables
from geoveil.serve.tokens import digest_of, new_secret

__all__ = ["give_token", "holders_of", "serve", "server_of"]


def holders_of(config: Config) -> list[str]:
    """Return all who may hold a token: the owner, gateways, and devices as "ann/phone"."""
    devices = [f"{person.name}/{device.name}" for person in config.persons for device in person.devices]
    return [OWNER, *config.gateways, *devices]


def give_token(path: Path, holder: str) -> str:
    """Return a new token for a holder of the configuration in a file; an old one ends."""
    config = read_config(path)
    known = holders_of(config)
    if holder not in known:
        raise InvalidParameter("token", holder, f"one of {', '.join(known)}", "Name who is to have the token.")
    Ledger(config.ledger)
    tables = Tables(open_store(config.ledger, 60.0))
    tables.create()
    token = new_secret()
    tables.give(holder, digest_of(token))
    return token


def serve(path: Path, *, ready: Callable[[str, list[str], list[str]], None] = lambda *_: None) -> None:
    """Serve until a signal ends it.

    Parameters
    ----------
    path : Path
        The configuration.
    ready : callable
        Called with the address, with those who have no token yet, and with sentences on zones that are kept.
    """
    config = read_config(path)
    configure_logs()
    _no_core_dumps()
    service = Service(config)
    service.watch(path)
    with contextlib.closing(_listen(config)) as listening:
        host, port = listening.getsockname()[:2]
        held = service.holders()
        ready(f"http://{host}:{port}", [each for each in holders_of(config) if each not in held], service.kept_zones())
        server_of(service).run(sockets=[listening])


def server_of(service: Service) -> uvicorn.Server:
    """Return the server. Its own log of requests is off: addresses may contain tokens."""
    settings = uvicorn.Config(
        application(service),
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=75,
        h11_max_incomplete_event_size=65_536,
        lifespan="on",
    )
    return uvicorn.Server(settings)


def _listen(config: Config) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    listening = socket.create_server((config.host, config.port), family=family, backlog=1024)
    listening.set_inheritable(False)
    return listening


def _no_core_dumps() -> None:
    """Let a crash leave no copy of the memory, in which pings are for a moment."""
    if sys.platform != "win32":
        import resource

        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.raiseExceptions = False
