"""The addresses of readers: released places as GeoJSON, and as a page."""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from geoveil.serve.answers import problem
from geoveil.serve.devices import token_of
from geoveil.serve.links import LINK, ReaderLink
from geoveil.serve.pages import reader_page
from geoveil.serve.published import PublishedPlace
from geoveil.serve.rates import RateLimit
from geoveil.serve.readings import microseconds

if TYPE_CHECKING:
    from geoveil.serve.service import Service

__all__ = ["ReaderRoutes", "shown_places"]

#: The most places of one answer.
_MOST = 5000
#: The pages of a link that may be opened: so many a second, after a burst.
_VIEWS = 2.0, 20
_STATES = {
    "expired": "This link has expired.",
    "paused": "Sharing is paused.",
    "closed": "Nothing is shown at this hour.",
}


class ReaderRoutes:
    """The addresses for readers.

    Parameters
    ----------
    service : Service
        The service.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        #: Maps take a while to draw.
        self._views = RateLimit(*_VIEWS)

    def routes(self) -> list[Route]:
        """Return the addresses."""
        return [
            Route("/v1/places/{person}", self._place),
            Route("/v1/places/{person}/track", self._track),
            Route("/r/{token}", self._page),
        ]

    def _link(self, token: str | None) -> ReaderLink | None:
        """Return the link that a token opens."""
        holder = self._service.holder(token) if token else None
        return self._service.links.get(holder.removeprefix(LINK)) if holder and holder.startswith(LINK) else None

    async def _place(self, request: Request) -> Response:
        return await self._answer(request, track=False)

    async def _track(self, request: Request) -> Response:
        return await self._answer(request, track=True)

    async def _answer(self, request: Request, *, track: bool) -> Response:
        token, person = token_of(request), request.path_params["person"]
        now = int(clock.time() * 10**6)
        link, owner = self._link(token), bool(token) and self._service.holder(token or "") == "owner"
        if person not in self._service.persons or not (owner or (link is not None and person in link.persons)):
            # Names that do not exist are not told from those that a link does not show.
            address = request.client.host if request.client else ""
            status = 401 if self._service.guesses.allows(address) else 503
            return problem(status, headers={"www-authenticate": "Bearer"} if status == 401 else {"retry-after": "1"})
        state = "open" if link is None else link.state(now)
        if state != "open":
            return problem(403, _STATES[state])
        if not track:
            found = await run_in_threadpool(shown_places, self._service, link, person, now, limit=1)
            return _features(person, found) if found else problem(404, "No place is shown.")
        since, until = (request.query_params.get(name) for name in ("from", "to"))
        low = 0 if since is None else microseconds(since)
        high = now if until is None else microseconds(until)
        if low is None or high is None:
            return problem(400, "from and to must be times with a time zone, such as 2026-05-04T08:30:00Z.")
        found = await run_in_threadpool(shown_places, self._service, link, person, now, low, high)
        return _features(person, found)

    async def _page(self, request: Request) -> Response:
        address = request.client.host if request.client else ""
        link, now = self._link(request.path_params["token"]), int(clock.time() * 10**6)
        if link is None:
            return problem(404 if self._service.guesses.allows(address) else 503)
        if not self._views.allows(link.id):
            return problem(503, headers={"retry-after": "1"})
        return await run_in_threadpool(self._seen, link, now)

    def _seen(self, link: ReaderLink, now: int) -> Response:
        """Return the page of a link."""
        state = link.state(now)
        shown = {
            person: shown_places(self._service, link, person, now) if state == "open" else []
            for person in link.persons
            if person in self._service.persons
        }
        return reader_page(self._service, link, _STATES.get(state, ""), shown)


def shown_places(
    service: Service,
    link: ReaderLink | None,
    person: str,
    now: int,
    low: int = 0,
    high: int = 2**62,
    limit: int = _MOST,
) -> list[PublishedPlace]:
    """Return what a link shows of a person, in order of time; without a link, what the owner sees."""
    latest = service.shown(person)
    if latest is None:
        return []
    if limit == 1 or (link is not None and not link.window):
        return [latest] if low <= latest.time <= high else []
    if link is not None:
        low = max(low, now - link.window)
    found = service.tables.between(person, low, min(high, now), limit)
    return found if link is None else [each for each in found if link.shows(each.time, now)]


def _features(person: str, places: list[PublishedPlace]) -> Response:
    features: list[dict[str, Any]] = [place.feature(person) for place in places]
    return JSONResponse({"type": "FeatureCollection", "features": features}, media_type="application/geo+json")
