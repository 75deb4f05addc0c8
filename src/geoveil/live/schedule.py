"""The budget of each ping: it follows the time since the last one, and nothing that is private.

Budgets are counted in quanta of ρ/(T + c) for each microsecond, where T is the length of a stretch and c the longest
time that one ping pays for. A ping costs as many quanta as microseconds have passed since the last one, at most c.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from geoveil.live.account import SlidingAccount
from geoveil.privacy.durations import MICROSECONDS

__all__ = ["Held", "Paid", "Schedule"]

#: The longest time that one ping pays for: after a gap of a day, a ping must not take the whole day's budget.
_RAMP = 600 * MICROSECONDS
#: Share of a stretch for which a sparse sender is expected to be active, at least.
_SOON = 1 / 8
#: A sender is sparse if it was active for less than this share of the last stretch.
_SPARSE = 0.5
#: A long stretch is kept in this many intervals.
_INTERVALS = 4096


class Paid(NamedTuple):
    """A ping that was charged: its time and the time that it paid for in microseconds, and its cost in quanta."""

    time: int
    active: int
    cost: int


class Held(NamedTuple):
    """What an account holds: `began` and `before` of `SlidingAccount`, and what was paid, in order of time."""

    began: int | None
    before: int | None
    paid: Sequence[Paid]


class Schedule:
    """What each ping may spend, such that no stretch spends more than its budget.

    Parameters
    ----------
    stretch : int
        The length T of a stretch in microseconds.
    every : int
        The least time between two pings that are answered, in microseconds.
    longer : iterable of pairs of int
        Further limits: the lengths of longer stretches, and what each may hold in quanta.

    Notes
    -----
    *It never refuses.* A ping at t_i pays for h_i = min(t_i - t_{i-1}, c) and costs h_i. The pings i, ..., j of a
    closed stretch cost h_i + (h_{i+1} + ... + h_j) ≤ c + (t_j - t_i) ≤ c + T, which is the capacity.

    *Sparse senders*, such as phones that send on trips only, would leave most of their budget unspent. After the first
    stretch, if the pings of the last one paid for a time a of less than half of it, a ping costs the share
    1 - exp(-h/max(a, T/8)) of what is left: whoever was active for a while is expected to be so as long again. That
    follows from times of pings alone, too. A gap of more than a stretch tells nothing: in the first stretch after it,
    whoever was sparse before it is taken to be sparse. One who sends without a pause afterwards has less than h for
    each ping: then what is left is spread evenly over the time until the oldest cost leaves the stretch. Without a
    change of rule that never binds: the oldest of the costs that are held was paid at t_i, what is left is at least
    T + c - (c + t_j - t_i) ≥ T - (t - t_i), and this is that time.

    *Longer stretches* have the same rule, each with its own account, and a ping costs the least of what they offer.
    """

    def __init__(self, stretch: int, every: int, longer: Iterable[tuple[int, int]] = ()) -> None:
        self.stretch, self.every = stretch, every
        self.ramp = min(_RAMP, stretch)
        self.capacity = stretch + self.ramp
        #: The account of the stretch, and those of longer ones.
        self.accounts = [SlidingAccount(self.capacity, stretch)]
        self.accounts += [
            SlidingAccount(capacity, length, max(length // _INTERVALS, 1)) for length, capacity in longer
        ]
        #: The times of the last ping that was used, and of the last one that was charged.
        self.last: int | None = None
        self._charged: int | None = None
        #: The latest time that was asked about: what is forgotten then cannot be asked about earlier times.
        self._latest: int | None = None

    def offer(self, time: int) -> Paid | None:
        """Return what a ping at a time may spend; None if it is late, or comes too soon after the last."""
        if not self.takes(time):
            return None
        active = self.ramp if self._charged is None else min(time - self._charged, self.ramp)
        cost = min(self._offered(account, time, active) for account in self.accounts)
        return Paid(time, active, cost) if cost > 0 else None

    def takes(self, time: int) -> bool:
        """Return whether a ping at a time is used: whether it is neither late nor too soon after the last one."""
        if self._latest is not None and time < self._latest:
            return False
        self._latest = time
        return self.last is None or time >= self.last + max(self.every, 1)

    def _offered(self, account: SlidingAccount, time: int, active: int) -> int:
        """Return what an account offers for a ping."""
        left = account.left(time)
        if self._is_sparse(account, time):
            return int(left * -math.expm1(-active / max(account.active, _SOON * account.stretch)))
        cost = active * account.capacity // (account.stretch + account.grain - 1 + self.ramp)
        evenly = left * active // max(account.until_free(time), active)
        return min(cost, evenly) if cost <= left else min(evenly, left // 2)

    def _is_sparse(self, account: SlidingAccount, time: int) -> bool:
        """Tell whether the pings of the last stretch paid for little of it, or of the one before a long gap."""
        settled = account.began is not None and time - account.began >= account.stretch
        active = account.active if settled else account.before
        return active is not None and active < _SPARSE * account.stretch

    def pay(self, paid: Paid) -> None:
        """Spend what was offered; a ping that costs nothing is only noted."""
        if paid.cost:
            for account in self.accounts:
                account.charge(paid.time, paid.cost, paid.active)
            self._charged = paid.time
        self._note(paid.time)

    def restore(self, held: Sequence[Held], last: int) -> None:
        """Take over what earlier processes spent, given what each account must hold, and the time of the last ping."""
        for account, each in zip(self.accounts, held, strict=True):
            account.began, account.before = each.began, each.before
            for time, active, cost in each.paid:
                account.hold(time, cost, active)
                self._charged = time
        self._note(last)

    def _note(self, time: int) -> None:
        self.last = self._latest = time
