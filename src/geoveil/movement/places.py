"""Places to which somebody returns, learnt from what was released: free, and no more than any reader can do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from geoveil.movement.habits import Habits
from geoveil.movement.mixture import MixturePart

__all__ = ["KnownPlace", "PlaceMemory"]

#: Two stays are at one place if their squared distance is below this multiple of the sum of their variances.
_NEAR = 2.0


class KnownPlace:
    """A place: its mean, the variance of a coordinate of a stay there, and how many stays there were."""

    __slots__ = ("variance", "visits", "x", "y")

    def __init__(self, x: float, y: float, variance: float, visits: int) -> None:
        self.x, self.y, self.variance, self.visits = x, y, variance, visits


class PlaceMemory:
    """The places that are known, at most `habits.most`.

    Parameters
    ----------
    habits : Habits
        What makes a place.
    known : iterable of sequences
        PlaceMemory that are known already: x, y, variance and visits of each.
    """

    def __init__(self, habits: Habits, known: Iterable[Sequence[float]] = ()) -> None:
        self._habits = habits
        self.known = [KnownPlace(x, y, variance, int(visits)) for x, y, variance, visits in known]

    def state(self) -> list[list[float]]:
        """Return the numbers of all places."""
        return [[each.x, each.y, each.variance, each.visits] for each in self.known]

    def remember(self, part: MixturePart) -> None:
        """Learn from a stay that is long and likely enough: it is at a known place, or makes one."""
        if part.place < 0:
            part.place = self._place_of(part)
            self.known[part.place].visits += 1
        place = self.known[part.place]
        place.x, place.y, place.variance = part.x, part.y, part.spread + self._habits.radius**2

    def _place_of(self, part: MixturePart) -> int:
        """Return the number of the place where a stay is; a new one takes the least visited, if there are too many."""
        nearest, found = _NEAR, -1
        for number, place in enumerate(self.known):
            dx, dy = place.x - part.x, place.y - part.y
            apart = (dx * dx + dy * dy) / (place.variance + part.spread)
            if apart < nearest:
                nearest, found = apart, number
        if found >= 0:
            return found
        new = KnownPlace(part.x, part.y, 0.0, 0)
        if len(self.known) < self._habits.most:
            self.known.append(new)
            return len(self.known) - 1
        found = min(range(len(self.known)), key=lambda number: self.known[number].visits)
        self.known[found] = new
        return found
