"""The clock of the service: when places are published, whatever has arrived."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from geoveil.serve.desk import Unavailable
from geoveil.serve.service import Service

__all__ = ["keep_fresh", "next_tick", "publish_all", "run_clock"]

#: Seconds between two removals of places that are too old.
_PRUNING = 3600.0
#: Seconds after which tokens that another process has made are known.
_FRESH = 10.0
_LOG = logging.getLogger("geoveil.serve")


def next_tick(now: int, period: int) -> int:
    """Return the next time of publication, in microseconds: a whole multiple of the period.

    Examples
    --------
    >>> next_tick(1_234, 600), next_tick(1_200, 600)
    (1800, 1800)
    """
    return (now // period + 1) * period


async def run_clock(service: Service) -> None:
    """Publish at each tick, and forget old places, until it is cancelled."""
    period, pruned = service.config.publish, 0.0
    while True:
        now = int(time.time() * 10**6)
        if time.monotonic() - pruned > _PRUNING or not pruned:
            pruned = time.monotonic()
            with contextlib.suppress(Exception):
                await asyncio.to_thread(service.tables.prune, now - service.config.keep)
        if not period:
            await asyncio.sleep(_PRUNING)
            continue
        tick = next_tick(now, period)
        await asyncio.sleep((tick - now) / 10**6)
        await publish_all(service, tick)


async def keep_fresh(service: Service) -> None:
    """Learn of new tokens now and then, until it is cancelled."""
    while True:
        await asyncio.sleep(_FRESH)
        # A store that is busy now is read the next time.
        with contextlib.suppress(Exception):
            await asyncio.to_thread(service.refresh)


async def publish_all(service: Service, tick: int) -> None:
    """Publish the place of each person at a time of the clock."""
    for person in service.persons:
        # A person whose place cannot be computed now is published at the next tick.
        with contextlib.suppress(Unavailable):
            await service.desk.publish(person, tick)
