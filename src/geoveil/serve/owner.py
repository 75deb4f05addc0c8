"""The addresses of the owner: the live page, links for readers, pauses, and what Prometheus reads."""

from __future__ import annotations

import hmac
import time as clock
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from geoveil.errors import InvalidInput
from geoveil.serve.answers import problem
from geoveil.serve.desk import Unavailable
from geoveil.serve.devices import Refused, body_of, token_of
from geoveil.serve.links import ReaderLink
from geoveil.serve.pages import owner_page
from geoveil.serve.published import iso
from geoveil.serve.readings import json_of
from geoveil.serve.tables import Tables
from geoveil.serve.tokens import digest_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from geoveil.serve.service import Service

__all__ = ["OWNER", "OwnerRoutes"]

#: The holder of the owner's token.
OWNER = "owner"


class OwnerRoutes:
    """The addresses for the owner.

    Parameters
    ----------
    service : Service
        The service.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        """Return the addresses."""
        return [
            Route("/live", self._for_owner(self._live), methods=["GET", "POST"]),
            Route("/v1/links", self._for_owner(self._links), methods=["GET", "POST"]),
            Route("/v1/links/{id}", self._for_owner(self._link), methods=["PATCH", "DELETE"]),
            Route("/v1/persons/{person}", self._for_owner(self._person), methods=["PATCH"]),
            Route("/metrics", self._for_owner(self._metrics)),
        ]

    def _for_owner(self, answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that only the owner's token opens, and that pages of other sites cannot use."""

        async def handle(request: Request) -> Response:
            token = token_of(request)
            if token is None or not hmac.compare_digest(self._service.holder(token) or "", OWNER):
                address = request.client.host if request.client else ""
                if token is not None and not self._service.guesses.allows(address):
                    return problem(503, headers={"retry-after": "1"})
                return problem(401, headers={"www-authenticate": 'Basic realm="geoveil", charset="UTF-8"'})
            if request.method != "GET" and not _is_own(request):
                return problem(403, "The request comes from another site.")
            try:
                return await answer(request)
            except Unavailable:
                return problem(503, headers={"retry-after": "1"})
            except Refused as refused:
                return problem(refused.status)
            except InvalidInput as refusal:
                return problem(400, str(refusal))

        return handle

    async def _live(self, request: Request) -> Response:
        if request.method == "GET":
            return await run_in_threadpool(owner_page, self._service)
        form = {
            name: texts[-1] for name, texts in parse_qs((await body_of(request)).decode("utf-8", "replace")).items()
        }
        do, named = form.get("do"), form.get("of", "")
        match do:
            case "link":
                given = {**form, "persons": [form.get("persons", "")]}
                try:
                    _, token = await self._make(given)
                except InvalidInput as refusal:
                    return await run_in_threadpool(owner_page, self._service, notice=str(refusal))
                return await run_in_threadpool(owner_page, self._service, made=f"{_origin(request)}/r/{token}")
            case "pause" | "resume" if named in self._service.persons:
                await self._service.desk.pause(named, do == "pause")
            case "pause link" | "resume link" if named in self._service.links:
                await self._keep(self._service.links[named].with_pause(do == "pause link"))
            case "end link" if named in self._service.links:
                await self._end(self._service.links[named])
            case "try again":
                self._service.resume_target(named)
            case _:
                raise Refused(400)
        return RedirectResponse("live", 303)

    async def _links(self, request: Request) -> Response:
        now = int(clock.time() * 10**6)
        if request.method == "GET":
            return JSONResponse([_described(link, now) for link in self._service.links.values()])
        given = json_of(await body_of(request))
        if not isinstance(given, dict):
            raise Refused(400)
        link, token = await self._make(given)
        made = {**_described(link, now), "token": token, "url": f"{_origin(request)}/r/{token}"}
        return JSONResponse(made, 201)

    async def _link(self, request: Request) -> Response:
        link = self._service.links.get(request.path_params["id"])
        if link is None:
            raise Refused(404)
        if request.method == "DELETE":
            await self._end(link)
            return Response(status_code=204)
        link = link.with_pause(await _paused(request))
        await self._keep(link)
        return JSONResponse(_described(link, int(clock.time() * 10**6)))

    async def _person(self, request: Request) -> Response:
        person, paused = request.path_params["person"], await _paused(request)
        if person not in self._service.persons:
            raise Refused(404)
        await self._service.desk.pause(person, paused)
        return JSONResponse({"person": person, "paused": paused})

    async def _metrics(self, request: Request) -> Response:
        text = self._service.measured()
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _make(self, given: Mapping[str, object]) -> tuple[ReaderLink, str]:
        link, token = ReaderLink.made(given, self._service.persons, int(clock.time() * 10**6))
        giving = Tables.giving(link.holder, digest_of(token))
        await self._service.desk.run(lambda turn: turn.write(*link.writing(), *giving))
        self._service.links[link.id] = link
        await run_in_threadpool(self._service.refresh)
        return link, token

    async def _keep(self, link: ReaderLink) -> None:
        await self._service.desk.run(lambda turn: turn.write(*link.writing()))
        self._service.links[link.id] = link

    async def _end(self, link: ReaderLink) -> None:
        await self._service.desk.run(lambda turn: turn.write(*link.deleting()))
        del self._service.links[link.id]
        await run_in_threadpool(self._service.refresh)


def _is_own(request: Request) -> bool:
    """Return whether a request that changes something comes from the service's own page, or from a program.

    Browsers send the origin with every such request, and passwords that were typed once with requests of other sites.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("authorization", "").lower().startswith("bearer ")
    return urlsplit(origin).netloc == request.headers.get("host")


def _origin(request: Request) -> str:
    return request.headers.get("origin") or f"{request.url.scheme}://{request.url.netloc}"


async def _paused(request: Request) -> bool:
    given = json_of(await body_of(request))
    paused = given.get("paused") if isinstance(given, dict) else None
    if not isinstance(paused, bool):
        raise Refused(400)
    return paused


def _described(link: ReaderLink, now: int) -> dict[str, object]:
    return {
        "id": link.id,
        "name": link.name,
        "persons": [*link.persons],
        "expires": iso(link.expires),
        "state": link.state(now),
        "shows": link.words,
    }
