"""The sliding account: no stretch ever holds more than its capacity, and none could hold more of what is left."""

from __future__ import annotations

import random
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geoveil.errors import BudgetError
from geoveil.live.account import SlidingAccount
from tests.live.streams import largest_load

GAPS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), min_size=1, max_size=40)


def spend(account: SlidingAccount, gaps: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spend nothing, a third, or all of what is left, at times with these gaps."""
    time, spent = 0, []
    for gap, share in gaps:
        time += gap
        cost = account.left(time) * share // 3
        account.charge(time, cost)
        spent.append((time, cost))
    return spent


@given(GAPS, st.integers(1, 30), st.integers(1, 100))
def test_capacity_is_never_exceeded(gaps: list[tuple[int, int]], stretch: int, capacity: int) -> None:
    """Whatever is spent when, no closed stretch holds more than the capacity."""
    assert largest_load(spend(SlidingAccount(capacity, stretch), gaps), stretch) <= capacity


@given(GAPS, st.integers(1, 30), st.integers(0, 40))
def test_remainder_is_exact(gaps: list[tuple[int, int]], stretch: int, gap: int) -> None:
    """One quantum more than is left would overfill a stretch."""
    account = SlidingAccount(99, stretch)
    spent = spend(account, gaps)
    time = spent[-1][0] + gap
    assert largest_load([*spent, (time, account.left(time))], stretch) <= 99
    held = sum(cost for at, cost in spent if at >= time - stretch)
    assert account.left(time) == 99 - held


@given(GAPS, st.integers(1, 30), st.integers(2, 9))
def test_coarse_accounts_keep_promises(gaps: list[tuple[int, int]], stretch: int, grain: int) -> None:
    """An account that keeps the costs of an interval as one keeps its promise, too."""
    assert largest_load(spend(SlidingAccount(99, stretch, grain), gaps), stretch) <= 99


def test_the_past_is_closed() -> None:
    """Nothing is spent before a time that was asked about, even if nothing was spent then."""
    account = SlidingAccount(10, 5)
    account.charge(0, 10)
    assert account.left(6) == 10
    with pytest.raises(BudgetError, match="in the past"):
        account.charge(5, 1)


def test_overdrafts_are_refused() -> None:
    """A charge beyond the capacity, or below zero, changes nothing."""
    account = SlidingAccount(10, 5)
    for cost in (11, -1):
        with pytest.raises(BudgetError):
            account.charge(0, cost)
    assert account.left(0) == 10


class _OneEarly(SlidingAccount):
    """Costs leave one microsecond early."""

    def left(self, time: int) -> int:
        while self._held and self._held[0][0] <= time - self.stretch:
            self.spent -= self._held.popleft()[1]
        return self.capacity - self.spent


def test_short_stretch_is_caught() -> None:
    """The check of the largest load notices costs that leave a microsecond early."""
    caught = 0
    for seed in range(100):
        choose = random.Random(seed)
        stretch = choose.randint(1, 30)
        gaps = [(choose.choice([0, 1, stretch - 1, stretch, stretch + 1]), 3) for _ in range(40)]
        caught += largest_load(spend(_OneEarly(99, stretch), gaps), stretch) > 99
    assert caught > 90


def test_memory_of_one_stretch() -> None:
    """Costs that share no stretch with a new one are forgotten, and those of one interval are one."""
    account = SlidingAccount(10**6, 100)
    for time in range(10_000):
        account.charge(time, 1)
    assert isinstance(account._held, deque)
    assert len(account._held) == 101
    coarse = SlidingAccount(10**6, 100, 10)
    for time in range(10_000):
        coarse.charge(time, 1)
    assert len(coarse._held) == 11
