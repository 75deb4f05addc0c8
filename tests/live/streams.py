"""Streams for tests: made-up pings, and what was drawn, seen from outside of the account."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import geoveil as gv
from geoveil.live.positions import LivePosition
from geoveil.live.store import MemoryStore, ReleasedPing
from geoveil.mechanisms import Gaussian

AREA = gv.local(lat=37.77, lon=-122.42, radius=50_000)
HOME = {"lat": 37.7793, "lon": -122.4193}
START = 1_777_881_600
DAY, MICROSECONDS = 86_400, 10**6


def stream(rho: float = 5e-5, protect: str = "1 day", **options: Any) -> gv.Stream:
    """A stream around San Francisco."""
    return gv.Stream(rho=rho, protect=protect, area=AREA, **options)


def reopened(old: gv.Stream, **options: Any) -> gv.Stream:
    """Another stream on what an earlier one has stored, as after a crash."""
    new = stream(float(old.guarantee.rho), old.guarantee.metric.name, **options)
    new._store = old._store
    new._load()
    return new


def answers(of: gv.Stream) -> list[ReleasedPing]:
    """All that a stream has released."""
    return of._store.answers(-(2**62), 2**62)


def largest_load(costs: Iterable[tuple[int, Fraction | int]], stretch: int) -> Fraction | int:
    """The largest sum of costs within a closed stretch, by looking at each that ends at a cost."""
    held = list(costs)
    return max((sum(c for at, c in held if end - stretch <= at <= end) for end, _ in held), default=0)


class Draws:
    """Watches draws: the time and the noise of each, and whether its charge was stored before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time = 0
        self.drawn: list[tuple[int, Fraction]] = []
        self.stores: list[MemoryStore] = []
        right = Gaussian.sample

        def sample(mechanism: Gaussian, center: Any, source: Any) -> np.ndarray[Any, Any]:
            # The budget is that of the noise that is really drawn, whatever was charged.
            self.drawn.append((self.time, 1 / (2 * Fraction(mechanism.scale) ** 2)))
            if self.stores:
                charged = [paid for paid in self.stores[0]._paid if paid.cost]
                assert len(charged) == len(self.drawn), "drawn before it was charged"
                assert charged[-1].time == self.time, "another ping was charged than is answered"
            return right(mechanism, center, source)

        monkeypatch.setattr(Gaussian, "sample", sample)

    def update(self, of: gv.Stream, time: int, **place: float) -> LivePosition:
        """Send a ping at a time in microseconds."""
        self.time = time
        if not self.stores:
            assert isinstance(of._store, MemoryStore)
            self.stores.append(of._store)
        # As a datetime, which is exact.
        return of.update(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time), **(place or HOME))

    def check(self, rho: Any, stretch: int) -> None:
        """No stretch was told more than its budget, and no ping was answered twice."""
        assert largest_load(self.drawn, stretch) <= Fraction(rho)
        times = [time for time, _ in self.drawn]
        assert len(set(times)) == len(times)
