"""What is believed about the person of a stream, and which place is shown: functions of what was released alone."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from geoveil.live.store import ReleasedPing
from geoveil.live.zones import ZoneGroup
from geoveil.movement.filter import Filter
from geoveil.movement.habits import Habits
from geoveil.movement.mixture import chance_within, geometric_median, radius_of
from geoveil.privacy.durations import MICROSECONDS

__all__ = ["Belief"]

#: A new place is shown if the estimate is farther from the last one than this share of its 95% radius.
_MOVED = 0.5
#: The deviation of a coordinate of a fix in metres, where true places are shown.
_FIX = 5.0


class Belief:
    """What is believed about a person, in metres of the plane.

    Parameters
    ----------
    habits : Habits
        How they move.
    stored : str
        What `text` has returned, to go on from; empty at the beginning.

    Attributes
    ----------
    filter : Filter
        Where they may be.
    shown : tuple of float, or None
        The place that is shown, and its radius when it was first shown.
    radius : float
        Its 95% radius now.
    zone : str or None
        The id of the zone that the last ping was in, which stands for its present group.
    """

    def __init__(self, habits: Habits, stored: str = "") -> None:
        fresh: dict[str, Any] = {"filter": None, "shown": None, "radius": 0.0}
        state = json.loads(stored) if stored else fresh
        self.filter = Filter(habits, state=state["filter"])
        self.shown: tuple[float, float, float] | None = state["shown"]
        self.radius: float = state["radius"]
        self.zone: str | None = state.get("zone")
        if not self.radius:
            x, y, _ = self.shown or (0.0, 0.0, 0.0)
            self.radius = radius_of(self.filter.parts, x, y, 0.95)

    def text(self) -> str:
        """Return it as JSON, to be stored."""
        state = {"filter": self.filter.state(), "shown": self.shown, "radius": self.radius, "zone": self.zone}
        return json.dumps(state)

    @property
    def answered(self) -> int | None:
        """The time of the last ping that was answered, in microseconds."""
        return None if self.filter.time is None else round(self.filter.time * MICROSECONDS)

    def learn(self, answer: ReleasedPing, groups: Mapping[str, ZoneGroup]) -> bool:
        """Learn from what was released; return whether another place is shown from now on."""
        before, self.zone = self.zone, answer.zone or None
        if self.zone is not None:
            self.filter.settle(answer.time / MICROSECONDS, answer.x, answer.y, answer.scale**2)
            self.radius = 2 * answer.scale
            self.shown = answer.x, answer.y, self.radius
            return groups.get(self.zone) is not groups.get(before or "")
        if not answer.scale:
            # A true place, as exact as a phone knows it.
            self.filter.settle(answer.time / MICROSECONDS, answer.x, answer.y, _FIX**2)
            last, self.shown, self.radius = self.shown, (answer.x, answer.y, 0.0), 0.0
            return last is None or (*last,) != self.shown
        self.filter.step(answer.time / MICROSECONDS)
        self.filter.update(answer.x, answer.y, answer.scale**2)
        parts = self.filter.parts
        x, y = geometric_median(parts)
        shown = self.shown
        if shown is not None and before is None:
            # The estimate has moved by more than half of its radius, or its radius is half of what was published.
            moved = math.hypot(x - shown[0], y - shown[1])
            if chance_within(parts, x, y, moved / _MOVED) < 0.95 and chance_within(parts, x, y, shown[2] / 2) < 0.95:
                self.radius = radius_of(parts, shown[0], shown[1], 0.95, self.radius)
                return False
        self.radius = radius_of(parts, x, y, 0.95, self.radius)
        self.shown = x, y, self.radius
        return True

    def ahead(self, at: int | None) -> tuple[float, float, float]:
        """Return the best estimate and its 95% radius for a time in microseconds that is not before the last ping."""
        later = self.filter
        if at is not None and self.answered is not None and at > self.answered:
            later = later.copy()
            later.step(at / MICROSECONDS)
        x, y = geometric_median(later.parts)
        return x, y, radius_of(later.parts, x, y, 0.95, self.radius)
