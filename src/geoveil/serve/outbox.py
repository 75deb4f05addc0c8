"""The outbox: what was published and a target has not received yet.

The published places are the outbox; of each target only the number of the last place that it has received is kept. So
what is sent again is the same place with the same time, and never a second draw.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx

from geoveil.serve.config import PersonConfig, TargetConfig
from geoveil.serve.desk import Unavailable
from geoveil.serve.published import PublishedPlace
from geoveil.serve.tables import DELIVERED
from geoveil.serve.targets import BATCH, chosen, target_request

if TYPE_CHECKING:
    from geoveil.serve.service import Service

__all__ = ["DeliveryState", "Outbox"]

#: Seconds before the first repetition, and at most.
_FIRST, _LONGEST = 1.0, 300.0
#: Refusals after which a target is stopped: its configuration is wrong.
_REFUSALS = 10
#: Seconds after which an idle target looks for places without being told.
_IDLE = 60.0
_LOG = logging.getLogger("geoveil.serve")

#: Publishes a place into the broker's tree of released places, and returns once the broker has it.
Publisher = Callable[[PersonConfig, PublishedPlace], Awaitable[bool]]


@dataclass
class DeliveryState:
    """How a target is doing."""

    target: TargetConfig
    sent: dict[str, int]
    refusals: int = 0
    failures: int = 0
    stopped: bool = False
    #: The last outcome, in a word or a status code.
    last: str = "nothing sent yet"
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class Outbox:
    """Delivers published places to all targets, each at its own speed.

    Parameters
    ----------
    service : Service
        The service.
    publisher : callable, optional
        Publishes through the broker.
    client : httpx.AsyncClient, optional
        Sends requests; tests give one of their own.
    """

    def __init__(
        self, service: Service, publisher: Publisher | None = None, client: httpx.AsyncClient | None = None
    ) -> None:
        self._service, self._publisher = service, publisher
        self._client = client or httpx.AsyncClient(timeout=10.0, follow_redirects=False)
        targets = service.config.targets
        sent = service.tables.deliveries((target.name, person) for target in targets for person in target.persons)
        self.states = [
            DeliveryState(target, {person: sent[target.name, person] for person in target.persons})
            for target in targets
        ]

    def wake(self) -> None:
        """Look for places now."""
        for state in self.states:
            state.wake.set()

    def resume(self, name: str) -> None:
        """Try a target again that was stopped."""
        for state in self.states:
            if state.target.name == name:
                state.stopped, state.refusals, state.failures = False, 0, 0
                state.wake.set()

    async def run(self) -> None:
        """Deliver until it is cancelled."""
        try:
            await asyncio.gather(*(self._serve(state) for state in self.states))
        finally:
            await self._client.aclose()

    async def _serve(self, state: DeliveryState) -> None:
        while True:
            delay = _IDLE
            if not state.stopped and not await self.deliver(state):
                delay = min(_FIRST * 2 ** min(state.failures - 1, 20), _LONGEST)
                await asyncio.sleep(delay)
                continue
            try:
                await asyncio.wait_for(state.wake.wait(), delay)
            except TimeoutError:
                continue
            state.wake.clear()

    async def deliver(self, state: DeliveryState) -> bool:
        """Send what waits for a target; return whether nothing is left to be repeated."""
        for person in state.target.persons:
            while True:
                places = await asyncio.to_thread(self._service.tables.since, person, state.sent[person], BATCH)
                if state.target.kind == "home-assistant" and len(places) == BATCH:
                    # Of a long queue, the last place is all that counts.
                    latest = self._service.desk.latest[person]
                    places = [latest]
                if not places:
                    break
                if not await self._sent(state, person, chosen(state.target, places)):
                    return state.stopped
        return True

    async def _sent(self, state: DeliveryState, person: str, places: Sequence[PublishedPlace]) -> bool:
        """Send places, and keep that they were received."""
        outcome = await self._send(state.target, self._service.persons[person], places)
        state.last = outcome
        self._service.metrics.count("geoveil_deliveries_total", target=state.target.name, outcome=outcome)
        if outcome == "received":
            number = places[-1].number
            try:
                await self._service.desk.run(lambda turn: turn.write((DELIVERED, (number, state.target.name, person))))
            except Unavailable:
                # It is sent again: the same place with the same time.
                state.failures += 1
                return False
            state.sent[person] = number
            state.refusals = state.failures = 0
            return True
        state.failures += 1
        state.refusals += outcome.startswith("refused")
        if state.refusals >= _REFUSALS:
            state.stopped = True
        self._service.metrics.set("geoveil_stopped_targets", int(state.stopped), target=state.target.name)
        _LOG.warning("delivery", extra={"target": state.target.name, "outcome": outcome})
        return False

    async def _send(self, target: TargetConfig, person: PersonConfig, places: Sequence[PublishedPlace]) -> str:
        """Send places; return "received", "refused" with a status, or "unreachable". The reply is not read."""
        if target.kind == "mqtt":
            assert self._publisher is not None
            return "received" if await self._publisher(person, places[-1]) else "unreachable"
        request = target_request(target, person, places)
        try:
            async with self._client.stream(
                "POST", request.url, json=request.json, headers=request.headers, auth=request.auth
            ) as reply:
                status = reply.status_code
        except httpx.HTTPError:
            return "unreachable"
        if 200 <= status < 300:
            return "received"
        return f"refused {status}" if status < 500 else "unreachable"
