"""The schedule: what a ping may spend follows from times alone, never refuses, and keeps every limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geoveil.live.schedule import Held, Paid, Schedule
from tests.live.streams import largest_load

MINUTE, HOUR, DAY = 60 * 10**6, 3600 * 10**6, 86_400 * 10**6


def paid(schedule: Schedule, times: list[int]) -> list[Paid]:
    """Pay for pings at these times, as far as they are offered anything."""
    found = []
    for time in times:
        if (offer := schedule.offer(time)) is not None:
            schedule.pay(offer)
            found.append(offer)
    return found


@given(st.lists(st.integers(1, 20 * MINUTE), min_size=1, max_size=60), st.integers(HOUR // 2, 5 * HOUR))
def test_dense_senders_are_served(gaps: list[int], stretch: int) -> None:
    """Each ping costs the time since the last one, at most ten minutes, and there is always enough left for that."""
    schedule = Schedule(stretch, every=1)
    time, last = 0, -(10**18)
    for gap in gaps:
        time += gap
        offer = schedule.offer(time)
        assert offer is not None
        if not schedule._is_sparse(schedule.accounts[0], time):
            assert offer.cost == min(time - last, schedule.ramp)
        schedule.pay(offer)
        last = time


@given(
    st.lists(st.one_of(st.integers(1, 2 * MINUTE), st.integers(HOUR, 9 * HOUR)), min_size=1, max_size=60),
    st.integers(HOUR, 5 * HOUR),
)
def test_no_rule_overspends(gaps: list[int], stretch: int) -> None:
    """Bursts, gaps and changes between the two never let a stretch spend more than its capacity, nor a longer one."""
    schedule = Schedule(stretch, every=1, longer=[(10 * stretch, 3 * stretch)])
    times = [sum(gaps[: i + 1]) for i in range(len(gaps))]
    costs = [(each.time, each.cost) for each in paid(schedule, times)]
    assert largest_load(costs, stretch) <= schedule.capacity
    assert largest_load(costs, 10 * stretch) <= 3 * stretch


def test_sparse_senders_spend() -> None:
    """Two hours of pings a day spend most of a day's budget, from the second day on."""
    schedule = Schedule(DAY, MINUTE)
    trips = [day * DAY + 8 * HOUR + minute * MINUTE for day in range(3) for minute in range(120)]
    spent = [0, 0, 0]
    for each in paid(schedule, trips):
        spent[each.time // DAY] += each.cost
    assert spent[0] < 0.1 * schedule.capacity
    assert spent[1] > 0.4 * schedule.capacity
    assert spent[2] > 0.4 * schedule.capacity


def test_long_stretches_last() -> None:
    """Somebody who never pauses spends nearly all of a longer stretch, evenly."""
    week = 7 * DAY
    schedule = Schedule(DAY, 10 * MINUTE, longer=[(week, DAY)])
    found = paid(schedule, [each * 10 * MINUTE for each in range(4 * 7 * 144)])
    assert len(found) == 4 * 7 * 144
    assert {each.cost for each in found} == {found[0].cost}
    assert sum(each.cost for each in found if each.time >= found[-1].time - week) > 0.99 * DAY


def test_early_pings_get_nothing() -> None:
    """A ping is used only if it comes at least `every` after the last one, and after any that was asked about."""
    schedule = Schedule(DAY, MINUTE)
    assert len(paid(schedule, [0, 0, MINUTE - 1])) == 1
    assert schedule.offer(10 * DAY) is not None
    # Costs before it are forgotten, although nothing was paid then.
    assert schedule.offer(9 * DAY) is None


def test_schedules_are_restored() -> None:
    """What a later process offers is what the first would have offered."""
    longer = [(7 * DAY, DAY)]
    schedule = Schedule(DAY, MINUTE, longer)
    times = [day * DAY + minute * 5 * MINUTE for day in range(9) for minute in range(50)]
    found = paid(schedule, times)
    again = Schedule(DAY, MINUTE, longer)
    last = found[-1].time
    again.restore(
        [Held(found[0].time, None, [each for each in found if each.time >= last - one]) for one in (DAY, 7 * DAY)],
        last,
    )
    later = [last + gap for gap in (1, MINUTE, HOUR, 2 * HOUR, DAY)]
    assert paid(again, later) == paid(schedule, later)


def test_pauses_keep_dense_pace() -> None:
    """Whoever sends every minute, with pauses of days, spends as evenly after a pause as before."""
    schedule = Schedule(DAY, MINUTE)
    minutes = [*range(2 * 1440), *range(4 * 1440, 6 * 1440)]
    costs = [each.cost for each in paid(schedule, [minute * MINUTE for minute in minutes])]
    assert costs == ([10 * MINUTE] + [MINUTE] * (2 * 1440 - 1)) * 2


@pytest.mark.slow
def test_pauses_keep_sparse_pace() -> None:
    """Trips on one day of three spend most of the day's budget, although no day is followed by another."""
    schedule = Schedule(DAY, MINUTE)
    trips = [day * DAY + 8 * HOUR + minute * MINUTE for day in range(0, 9, 3) for minute in range(120)]
    spent = dict.fromkeys(range(0, 9, 3), 0)
    for each in paid(schedule, trips):
        spent[each.time // DAY] += each.cost
    assert spent[0] < 0.1 * schedule.capacity
    assert min(spent[3], spent[6]) > 0.4 * schedule.capacity


def test_short_pauses_starve_nobody() -> None:
    """Whoever is silent for most of a day and then sends every minute gets more at first, and always a thirtieth."""
    schedule = Schedule(DAY, MINUTE)
    minutes = [*range(2 * 1440), *range(2 * 1440 + 1400, 5 * 1440)]
    costs = {each.time: each.cost for each in paid(schedule, [minute * MINUTE for minute in minutes])}
    assert len(costs) == len(minutes)
    after = [costs[minute * MINUTE] for minute in range(2 * 1440 + 1401, 5 * 1440)]
    assert after[0] > 5 * MINUTE
    assert min(after) > MINUTE / 30
    assert largest_load(list(costs.items()), DAY) <= schedule.capacity
