"""Publication at the service's own clock: readers see no time of a ping."""

from __future__ import annotations

import asyncio
from pathlib import Path

from geoveil.serve.clock import publish_all
from tests.serve.serving import Running, config_in, now, running

MINUTE = 60 * 10**6
#: The service's own clock does not strike during a test.
RARELY = "every 3650 days"


def tick(service: Running, time: int) -> None:
    """Let the clock of a service strike."""
    asyncio.run(publish_all(service.service, time))


def test_clock_decides_when(tmp_path: Path) -> None:
    """Places are published at each tick, whether pings came or not, with the time of the tick."""
    with running(config_in(tmp_path, publish=RARELY)) as service:
        at = now() - 3600
        first = (at // 600 + 1) * 600 * 10**6
        service.ping("ann/phone", at)
        assert service.ask("GET", "/v1/places/ann", "owner").status_code == 404
        for number in range(4):
            tick(service, first + 10 * number * MINUTE)
        service.ping("ann/phone", at + 700)
        features = service.ask("GET", "/v1/places/ann/track", "owner").json()["features"]
        assert [each["properties"]["time"][14:19] for each in features] == [
            f"{(first // MINUTE + 10 * number) % 60:02}:00" for number in range(4)
        ]
        radii = [each["properties"]["radius_95"] for each in features]
        assert radii == sorted(radii)
        # Without a ping there is nothing to publish, and a tick that comes twice publishes once.
        assert service.ask("GET", "/v1/places/bob", "owner").status_code == 404
        tick(service, first + 30 * MINUTE)
        assert len(service.ask("GET", "/v1/places/ann/track", "owner").json()["features"]) == 4


def test_numbers_do_not_show(tmp_path: Path) -> None:
    """Two persons who send often and seldom have the same times of publication."""
    with running(config_in(tmp_path, publish=RARELY)) as service:
        at = (now() - 7200) // 600 * 600
        service.ping("ann/phone", at)
        for minute in range(25):
            service.ping("bob/phone", at + 61 * minute)
        for number in range(1, 6):
            tick(service, (at + 600 * number) * 10**6)
        times = [
            [
                each["properties"]["time"]
                for each in service.ask("GET", f"/v1/places/{person}/track", "owner").json()["features"]
            ]
            for person in ("ann", "bob")
        ]
        assert times[0] == times[1]
        assert len(times[0]) == 5


def test_paused_are_not_published(tmp_path: Path) -> None:
    """The clock passes over who is paused."""
    with running(config_in(tmp_path, publish=RARELY)) as service:
        at = (now() - 7200) // 600 * 600
        service.ping("ann/phone", at)
        service.ask("PATCH", "/v1/persons/ann", "owner", json={"paused": True})
        tick(service, (at + 600) * 10**6)
        service.ask("PATCH", "/v1/persons/ann", "owner", json={"paused": False})
        tick(service, (at + 1200) * 10**6)
        assert len(service.ask("GET", "/v1/places/ann/track", "owner").json()["features"]) == 1


def test_old_places_are_forgotten(tmp_path: Path) -> None:
    """Places are kept as long as the configuration says, and the last one until the next."""
    with running(config_in(tmp_path)) as service:
        start = now() - 10 * 86_400
        for day in range(5):
            service.ping("ann/phone", start + 86_400 * day)
        service.service.tables.prune((start + 86_400 * 3) * 10**6)
        assert len(service.ask("GET", "/v1/places/ann/track", "owner").json()["features"]) == 2
        service.service.tables.prune(now() * 10**6)
        assert len(service.ask("GET", "/v1/places/ann/track", "owner").json()["features"]) == 1
        assert service.ask("GET", "/v1/places/ann", "owner").status_code == 200
