"""How often somebody may ask: a bucket of tokens for each device, and one for each address that guesses."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["RateLimit"]

#: The most names that are remembered; then those that have rested longest are forgotten.
_NAMES = 10_000


class RateLimit:
    """At most so many requests a second for each name, after a burst.

    Examples
    --------
    >>> now = [0.0]
    >>> limit = RateLimit(2.0, 3, clock=lambda: now[0])
    >>> [limit.allows("ann/phone") for _ in range(4)]
    [True, True, True, False]
    >>> now[0] = 0.5
    >>> limit.allows("ann/phone"), limit.allows("ann/phone")
    (True, False)
    """

    def __init__(self, rate: float, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left: dict[str, tuple[float, float]] = {}

    def allows(self, name: str) -> bool:
        """Return whether one more request is allowed, and count it."""
        now = self._clock()
        left, then = self._left.pop(name, (float(self._burst), now))
        left = min(left + (now - then) * self._rate, self._burst)
        allowed = left >= 1
        self._left[name] = left - allowed, now
        if len(self._left) > _NAMES:
            del self._left[next(iter(self._left))]
        return allowed
