"""An account over every stretch of time: what is spent within any stretch of a length never exceeds the capacity."""

from __future__ import annotations

from collections import deque

from geoveil.errors import BudgetError

__all__ = ["SlidingAccount"]


class SlidingAccount:
    """Whole costs at whole times, such that no closed stretch [s, s + T] ever holds more than the capacity.

    Parameters
    ----------
    capacity : int
        The most that a stretch may hold, in whole quanta of a budget.
    stretch : int
        The length T of a stretch in microseconds; both of its ends belong to it.
    grain : int
        Costs in one interval of this many microseconds are kept as one, at the time of the last: they leave together,
        later than each would alone, and the account of a year needs no more memory than that of a day.

    Notes
    -----
    Costs come in order of time. A new cost at time a shares a stretch with those at times of at least a - T, all of
    which are held. The load of stretches that begin in [a - T, a] and hold a does not grow with their beginning, since
    nothing is later than a; so it is largest for [a - T, a], which holds exactly the costs that are held. `left` is
    therefore what may be spent: less is safe in every stretch, and more overfills this one.
    """

    def __init__(self, capacity: int, stretch: int, grain: int = 1) -> None:
        self.capacity, self.stretch, self.grain = capacity, stretch, grain
        self._held: deque[tuple[int, int, int]] = deque()
        self._latest: int | None = None
        self.spent = 0
        #: The time that the costs which are held paid for.
        self.active = 0
        #: The time of the first cost since the last gap of more than a stretch; None in such a gap.
        self.began: int | None = None
        #: The time that the costs of the last stretch before that gap paid for; None if there were none.
        self.before: int | None = None
        self._active_last = 0

    def left(self, time: int) -> int:
        """Return what may be spent at a time, which must not be before any that was asked about or charged before."""
        if self._latest is not None and time < self._latest:
            # Costs that share a stretch with it may be forgotten already.
            raise BudgetError("Nothing can be spent in the past.", "Charge in order of time.", charged="nothing")
        self._latest = time
        while self._held and self._held[0][0] < time - self.stretch:
            _, cost, active = self._held.popleft()
            self.spent -= cost
            self.active -= active
        if self.began is not None and not self._held:
            self.began, self.before = None, self._active_last
        return self.capacity - self.spent

    def until_free(self, time: int) -> int:
        """Return the time until the oldest cost that is held leaves; 0 if none is held."""
        return max(self._held[0][0] + self.stretch - time, 0) if self._held else 0

    def charge(self, time: int, cost: int, active: int = 0) -> None:
        """Spend a whole cost at a time, which pays for so many microseconds; refuse more than is left."""
        if not 0 <= cost <= self.left(time):
            raise BudgetError("More would be spent than the stretch may hold.", charged="nothing")
        self.hold(time, cost, active)

    def hold(self, time: int, cost: int, active: int = 0) -> None:
        """Hold a cost that was charged before, such as by a process that has ended."""
        self.spent += cost
        self.active += active
        self._active_last = self.active
        self._latest = time
        if self.began is None:
            self.began = time
        if self._held and self._held[-1][0] // self.grain == time // self.grain:
            _, more, longer = self._held.pop()
            cost, active = cost + more, active + longer
        self._held.append((time, cost, active))
