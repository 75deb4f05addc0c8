"""Fake clients that obey their own retry rules: persistent or in memory, in order or not, patient or not.

Times are shortened; the rules are those of the sources that docs/do/serve.md names.
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

__all__ = ["RULES", "Phone", "RetryRule"]

#: Seconds that stand for a second of the rules.
_SHORT = 0.01
#: An answer: its status, 0 if there was none, and its body.
Reply = tuple[int, bytes]


@dataclass(frozen=True)
class RetryRule:
    """How a client treats answers.

    Parameters
    ----------
    first, longest : float
        Seconds before the first repetition, which double up to the longest.
    limit : int, optional
        Repetitions after which a ping is lost.
    accepts : callable
        Which answers it takes for a success.
    forgives : callable
        Which of the others it repeats; it throws the rest away.
    batch : int
        The most pings of a request.
    ordered : bool
        Whether a ping waits for earlier ones.
    """

    first: float
    longest: float
    limit: int | None = None
    accepts: Callable[[Reply], bool] = lambda reply: 200 <= reply[0] < 300
    forgives: Callable[[Reply], bool] = lambda reply: True
    batch: int = 1
    ordered: bool = True


RULES = {
    "OwnTracks Android": RetryRule(1, 120),
    "OwnTracks iOS": RetryRule(1, 64, forgives=lambda reply: not 400 <= reply[0] < 500),
    # With forward.retry.enable; without it, Traccar repeats nothing.
    "Traccar": RetryRule(0.1, 60, limit=10, ordered=False),
    "Traccar Client 10": RetryRule(5, 300),
    "Traccar Client 9": RetryRule(1, 60),
    # Again at once, in a loop without a pause.
    "OsmAnd": RetryRule(0, 0),
    "Overland": RetryRule(1, 1, accepts=lambda reply: reply[0] == 200 and b'"result":"ok"' in reply[1], batch=10),
    "GPSLogger": RetryRule(30, 120, limit=3),
    "GPSLogger for Dawarich": RetryRule(1, 8, batch=3),
}


@dataclass
class Phone:
    """A client with a queue of pings, which it sends as its rule says.

    Parameters
    ----------
    rule : RetryRule
        The rule.
    send : callable
        Sends the pings of these times; raises httpx.HTTPError where there is no connection.
    times : list of int
        The times of the pings, in order.
    """

    rule: RetryRule
    send: Callable[[list[int]], Reply]
    times: list[int]
    #: Times that it threw away, and those that it gave up after its last repetition.
    lost: list[int] = field(default_factory=list)
    given_up: list[int] = field(default_factory=list)
    #: Statuses that were answered, 0 for none, and the most requests for one ping.
    statuses: list[int] = field(default_factory=list)
    attempts: int = 0

    def run(self, stop: threading.Event) -> None:
        """Send everything, until nothing is left or the test ends."""
        queue = deque(self.times)
        failures, attempts = 0, 0
        while queue and not stop.is_set():
            batch = [queue.popleft() for _ in range(min(self.rule.batch, len(queue)))]
            reply = self._reply(batch)
            self.statuses.append(reply[0])
            attempts += 1
            self.attempts = max(self.attempts, attempts)
            if self.rule.accepts(reply):
                failures = attempts = 0
                continue
            failures += 1
            is_last = self.rule.limit is not None and failures > self.rule.limit
            if is_last or not self.rule.forgives(reply):
                (self.given_up if is_last else self.lost).extend(batch)
                failures = attempts = 0
                continue
            if self.rule.ordered:
                queue.extendleft(reversed(batch))
            else:
                queue.extend(batch)
            time.sleep(_SHORT * min(self.rule.first * 2 ** min(failures - 1, 16), self.rule.longest, 100))
        self.lost += queue

    def _reply(self, batch: list[int]) -> Reply:
        try:
            return self.send(batch)
        except httpx.HTTPError:
            # A phone without a connection waits for its network for a moment, whatever its rule says.
            time.sleep(_SHORT * random.uniform(1, 3))
            return 0, b""
