"""The application: its addresses, and what runs beside them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from importlib import resources
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from geoveil.report import palette
from geoveil.report.page import static
from geoveil.serve.answers import problem
from geoveil.serve.clock import keep_fresh, run_clock
from geoveil.serve.devices import DeviceRoutes
from geoveil.serve.openapi import openapi
from geoveil.serve.outbox import Outbox
from geoveil.serve.owner import OwnerRoutes
from geoveil.serve.readers import ReaderRoutes
from geoveil.serve.service import Service

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["application"]

#: What a page may load and reach: the service itself, and nothing else. Drawings contain inline styles.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (name.encode(), value.encode())
    for name, value in {
        "cache-control": "no-store",
        "content-security-policy": _POLICY,
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
        # With no referrer at all, browsers would also hide the origin of forms, which the owner's page checks.
        "referrer-policy": "same-origin",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "x-robots-tag": "noindex",
    }.items()
]
_LOG = logging.getLogger("geoveil.serve")


def application(service: Service) -> ASGIApp:
    """Return the application of a service, which starts and stops with it."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        broker = None
        if service.config.broker is not None:
            from geoveil.serve.broker import Broker

            broker = Broker(service, service.config.broker)
        outbox = Outbox(service, broker.publish if broker is not None else None)
        service.outbox, service.broker = outbox, broker
        service.desk.published = lambda: _calm(loop, outbox.wake)
        service.start()
        works: list[Coroutine[Any, Any, None]] = [run_clock(service), keep_fresh(service), outbox.run()]
        tasks = [asyncio.create_task(work) for work in works + ([broker.run()] if broker is not None else [])]
        for task in tasks:
            task.add_done_callback(_ended)
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(service.stop)

    parts = DeviceRoutes(service), ReaderRoutes(service), OwnerRoutes(service)
    routes = [route for part in parts for route in part.routes()]
    routes += [Route("/health", _health(service)), Route("/openapi.json", _openapi), Route("/static/{name}", _static)]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={404: _missing, 405: _missing, 500: _broken})
    return _Hardened(app)


def _calm(loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(wake)


def _ended(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (problem := task.exception()) is not None:
        _LOG.critical("ended", extra={"problem": type(problem).__name__})


class _Hardened:
    """Adds to each answer the headers that keep browsers careful."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        await self._app(scope, receive, sent if scope["type"] == "http" else send)


def _health(service: Service) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    async def health(request: Request) -> Response:
        healthy = service.desk.is_working
        return JSONResponse({"status": "ok" if healthy else "unavailable"}, 200 if healthy else 503)

    return health


async def _openapi(request: Request) -> Response:
    return JSONResponse(openapi())


async def _static(request: Request) -> Response:
    own = resources.files("geoveil.serve").joinpath("static", "serve.css")
    made: dict[str, tuple[str, Callable[[], str]]] = {
        "style.css": (
            "text/css",
            lambda: palette.variables() + static("page.css") + own.read_text(encoding="utf-8"),
        ),
        "map.js": ("text/javascript", lambda: static("page.js")),
    }
    if request.path_params["name"] not in made:
        return problem(404)
    kind, text = made[request.path_params["name"]]
    return Response(text(), media_type=kind)


async def _missing(request: Request, refusal: Exception) -> Response:
    return problem(404)


async def _broken(request: Request, problem_found: Exception) -> Response:
    return PlainTextResponse("", 503, {"retry-after": "1"})
