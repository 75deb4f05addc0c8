"""The addresses to which devices send: each reads one format, and answers as the client's queue needs it."""

from __future__ import annotations

import base64
import binascii
import logging
import time as clock
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from geoveil.privacy import as_duration
from geoveil.serve.answers import plain_answer, refusal, success
from geoveil.serve.config import DeviceConfig, PersonConfig
from geoveil.serve.desk import Unavailable
from geoveil.serve.formats.osmand import read_client, read_osmand
from geoveil.serve.formats.overland import read_overland
from geoveil.serve.formats.owntracks import encrypted, read_owntracks, released_message
from geoveil.serve.formats.plain import read_ping, read_pings
from geoveil.serve.formats.traccar import read_traccar
from geoveil.serve.readings import BODY, PingReading

if TYPE_CHECKING:
    from geoveil.serve.service import Service

__all__ = ["DeviceRoutes", "Refused", "body_of", "token_of"]

#: Bodies that are longer are read in another thread: the server answers others meanwhile.
_LONG = 32_768
_LOG = logging.getLogger("geoveil.serve")


class Refused(Exception):
    """A request that is refused with a status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class DeviceRoutes:
    """The addresses for devices.

    Parameters
    ----------
    service : Service
        The service.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        """Return the addresses. Names of parameters stand for tokens and are never logged."""
        owntracks, overland = (
            self._answering("owntracks", self._owntracks),
            self._answering("overland", self._overland),
        )
        traccar, osmand = self._answering("traccar", self._traccar), self._answering("osmand", self._osmand)
        return [
            Route("/v1/ping", self._answering("plain", self._ping), methods=["POST"]),
            Route("/v1/pings", self._answering("plain", self._pings), methods=["POST"]),
            *(Route(path, owntracks, methods=["POST"]) for path in ("/pub", "/owntracks", "/owntracks/{token}")),
            *(
                Route(path, overland, methods=["POST"])
                for path in ("/overland", "/overland/{token}", "/api/v1/overland/batches")
            ),
            *(Route(path, traccar, methods=["POST"]) for path in ("/traccar", "/traccar/{token}")),
            *(Route(path, osmand, methods=["GET", "POST"]) for path in ("/osmand", "/osmand/{token}")),
        ]

    def _answering(
        self, kind: str, answer: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that turns refusals into the form of a format, and counts."""
        metrics = self._service.metrics

        async def handle(request: Request) -> Response:
            began = clock.perf_counter()
            try:
                response = await answer(request)
            except Refused as refused:
                response = refusal(kind, refused.status)
            except Unavailable:
                response = refusal(kind, 503)
            except ClientDisconnect:
                response = refusal(kind, 503)
            except Exception as problem:
                # The text of an error may contain a place.
                _LOG.error("request", extra={"format": kind, "problem": type(problem).__name__})
                response = refusal(kind, 503)
            metrics.answered(clock.perf_counter() - began)
            metrics.count("geoveil_requests_total", format=kind, status=str(response.status_code))
            return response

        return handle

    async def _ping(self, request: Request) -> Response:
        person, device = self._device(request)
        reading = read_ping(await body_of(request))
        return await self._plain(person, device, reading, single=True)

    async def _pings(self, request: Request) -> Response:
        person, device = self._device(request)
        reading = await _read(read_pings, await body_of(request))
        if reading.unused.get(0) == "malformed" and reading.size == 1:
            raise Refused(400)
        return await self._plain(person, device, reading, single=False)

    async def _plain(
        self, person: PersonConfig, device: DeviceConfig, reading: PingReading, *, single: bool
    ) -> Response:
        taken = await self._service.take("plain", person, device.name, reading)
        if single and reading.unused:
            raise Refused(400)
        rows = plain_answer(person, taken, as_duration("protect", person.protect))
        return JSONResponse(rows[0] if single else rows)

    async def _owntracks(self, request: Request) -> Response:
        person, device = self._device(request)
        reading = await _read(lambda body: read_owntracks(body, device), await body_of(request))
        await self._service.take("owntracks", person, device.name, reading)
        friends = [
            released_message(self._service.persons[name], place)
            for name in person.friends
            if (place := self._service.shown(name)) is not None
        ]
        if not friends:
            return success("owntracks")
        return JSONResponse(encrypted(friends, device.key) if reading.encrypted else friends)

    async def _overland(self, request: Request) -> Response:
        person, device = self._device(request)
        reading = await _read(read_overland, await body_of(request))
        await self._service.take("overland", person, device.name, reading)
        return success("overland")

    async def _traccar(self, request: Request) -> Response:
        holder = self._holder(request, token_of(request))
        reading, identifier = read_traccar(await body_of(request))
        person, device = self._named(request, holder, identifier)
        await self._service.take("traccar", person, device.name, reading)
        return success("traccar")

    async def _osmand(self, request: Request) -> Response:
        body = await body_of(request)
        received = int(clock.time() * 10**6)
        if request.headers.get("content-type", "").startswith("application/json"):
            reading, identifier = read_client(body)
        else:
            text = request.url.query or body.decode("utf-8", "replace")
            fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=None))
            reading, identifier = read_osmand(fields, received), fields.get("id", fields.get("deviceid", ""))
        token = token_of(request)
        if token is None:
            # The identifier is the only credential that these clients can send.
            person, device = self._device(request, identifier)
        else:
            person, device = self._named(request, self._holder(request, token), identifier)
        await self._service.take("osmand", person, device.name, reading)
        return success("osmand")

    def _device(self, request: Request, token: str | None = None) -> tuple[PersonConfig, DeviceConfig]:
        """Return the device that holds the token of a request."""
        holder = self._holder(request, token or token_of(request))
        found = self._service.devices.get(holder)
        if found is None:
            raise Refused(401)
        user = _user(request)
        if user and user not in (found[0].name, holder):
            raise Refused(401)
        return found

    def _named(self, request: Request, holder: str, identifier: str) -> tuple[PersonConfig, DeviceConfig]:
        """Return the device that a gateway names; a device may name nobody but itself."""
        if holder in self._service.config.gateways:
            found = self._service.gatewayed.get(identifier)
            if found is None:
                raise Refused(401)
            self._limit(f"{found[0].name}/{found[1].name}")
            return found
        if holder not in self._service.devices:
            raise Refused(401)
        return self._service.devices[holder]

    def _holder(self, request: Request, token: str | None) -> str:
        """Return who holds a token, or refuse the request."""
        address = request.client.host if request.client else ""
        holder = self._service.holder(token) if token else None
        if holder is None:
            raise Refused(401 if self._service.guesses.allows(address) else 503)
        if holder not in self._service.config.gateways:
            self._limit(holder)
        return holder

    def _limit(self, holder: str) -> None:
        if not self._service.rates.allows(holder):
            raise Refused(503)


async def _read(read: Callable[[bytes], PingReading], body: bytes) -> PingReading:
    reading = await run_in_threadpool(read, body) if len(body) > _LONG else read(body)
    if reading.is_too_long:
        raise Refused(413)
    return reading


async def body_of(request: Request) -> bytes:
    """Return the body of a request; refuse one that is too large."""
    if int(request.headers.get("content-length") or 0) > BODY:
        raise Refused(413)
    parts, size = [], 0
    async for part in request.stream():
        parts.append(part)
        size += len(part)
        if size > BODY:
            raise Refused(413)
    return b"".join(parts)


def token_of(request: Request) -> str | None:
    """Return the token of a request: from its headers, or for clients without headers from its address."""
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return text.strip()
    if kind.lower() == "basic":
        return _basic(text)[1]
    found: Any = request.path_params.get("token") or request.query_params.get("api_key")
    return found or None


def _user(request: Request) -> str:
    """Return the user of a request with a password, in small letters; empty if it has none."""
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    return _basic(text)[0].lower() if kind.lower() == "basic" else ""


def _basic(text: str) -> tuple[str, str]:
    try:
        user, _, password = base64.b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return "", ""
    return user, password
