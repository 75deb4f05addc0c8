"""Sizes of stretches of time, sums over them and thinning, compared with brute force over all stretches."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from geoveil.errors import InvalidParameter
from geoveil.geo.recognition import are_times
from geoveil.geo.seconds import read_times, whole_microseconds
from geoveil.privacy import (
    kept_of_thinned,
    largest_stretch_sum,
    regular_stretch_size,
    stretch_sizes,
    stretches,
    trip_stretch_sizes,
)

Index = NDArray[np.int64]
MANY = settings(max_examples=200)


@st.composite
def timed(draw: st.DrawFn) -> tuple[Index, int, Index | None]:
    """Times with many ties and gaps of exactly the stretch's length, the stretch, and persons or none."""
    stretch = draw(st.integers(1, 12))
    gaps = st.sampled_from([0, 0, 1, 2, stretch - 1, stretch, stretch + 1, 5 * stretch])
    times = np.cumsum(draw(st.lists(gaps, min_size=1, max_size=30))) + draw(st.integers(-50, 50))
    order = np.array(draw(st.permutations(range(len(times)))))
    persons = draw(st.lists(st.integers(0, 3), min_size=len(times), max_size=len(times)))
    return times[order], stretch, np.array(persons) if draw(st.booleans()) else None


def units(times: Index, stretch: int, persons: Index | None) -> list[Index]:
    """Return the points of every stretch [t, t + T] that can differ from others, of one person each."""
    whose = np.zeros(len(times), int) if persons is None else persons
    # All moments at which a stretch gains or loses a point, and moments between them; times are whole numbers.
    starts = np.unique(np.concatenate([times, times + 1, times - stretch]))
    held = [(whose == who) & (times >= t) & (times <= t + stretch) for who in np.unique(whose) for t in starts]
    return [np.flatnonzero(each) for each in held if each.any()]


@MANY
@given(timed())
def test_sizes_match_brute_force(case: tuple[Index, int, Index | None]) -> None:
    """Sizes are those of the largest stretch that holds a point.

    Brute force over all stretches finds the same sizes, with ties, several persons, and times in any order.
    """
    found = stretch_sizes(*case)
    expected = np.zeros(len(case[0]), int)
    for unit in units(*case):
        expected[unit] = np.maximum(expected[unit], len(unit))
    assert found.tolist() == expected.tolist()


@pytest.mark.slow
@MANY
@given(timed())
def test_shares_add_to_one(case: tuple[Index, int, Index | None]) -> None:
    """Σ 1/w_i over any stretch is at most 1, exactly, and is 1 over the largest one."""
    sizes = stretch_sizes(*case)
    sums = [sum(Fraction(1, int(sizes[i])) for i in unit) for unit in units(*case)]
    assert max(sums) == 1


@pytest.mark.slow
@MANY
@given(timed(), st.randoms(use_true_random=False))
def test_sums_match_brute_force(case: tuple[Index, int, Index | None], random: object) -> None:
    """The largest sum is found and never too small. Brute force over all stretches finds the same sum of values."""
    values = np.array([random.choice([0.0, 1 / 3, 0.1, 1.0, 7.5]) for _ in case[0]])  # type: ignore[attr-defined]
    most = max(math.fsum(values[unit]) for unit in units(*case))
    found = largest_stretch_sum(values, *case)
    assert most <= found <= most * (1 + 1e-12) + 1e-15


@MANY
@given(timed(), st.data())
def test_trips_match_brute_force(case: tuple[Index, int, Index | None], data: st.DataObject) -> None:
    """Brute force over all stretches finds the same numbers of trips, with ends exactly a stretch apart."""
    first, stretch, persons = case
    lengths = st.sampled_from([0, 1, stretch - 1, stretch, stretch + 1, -stretch, 3 * stretch])
    last = first + np.array(data.draw(st.lists(lengths, min_size=len(first), max_size=len(first))))
    both = np.concatenate([first, last])
    expected = np.zeros(len(first), int)
    for unit in units(both, stretch, None if persons is None else np.tile(persons, 2)):
        moved = np.unique(unit % len(first))
        expected[moved] = np.maximum(expected[moved], len(moved))
    assert trip_stretch_sizes(first, last, stretch, persons).tolist() == expected.tolist()


@pytest.mark.parametrize("step", [1, 5, 7, 50, 51])
def test_points_at_equal_intervals(step: int) -> None:
    """Planning counts the points of a stretch as they are counted in the data."""
    assert regular_stretch_size(50, step) == stretch_sizes(np.arange(0, 500, step), 50).max()


#: Times beside a half microsecond, where rounding decides, and others.
SECONDS = st.one_of(
    st.floats(0, 4e9),
    st.builds(lambda whole, half: whole + (half + 0.5) / 1e6, st.integers(0, 10**6), st.integers(0, 10**6)),
)


@MANY
@given(SECONDS, st.integers(1, 10**12), st.floats(0, 1), st.sampled_from([1, 1000, 10**6, 10**9]))
def test_rounding_keeps_units_whole(start: float, stretch: int, share: float, per_second: int) -> None:
    """Two real times in one closed stretch are in one closed stretch of whole microseconds, whatever their unit."""
    start *= per_second
    limit = Fraction(start) + Fraction(stretch * per_second, 10**6)
    end = start + share * stretch * per_second / 1e6
    while Fraction(end) > limit:
        end = math.nextafter(end, -math.inf)
    first, last = whole_microseconds(np.array([start, end]), per_second).tolist()
    assert first == math.floor(Fraction(start) * 10**6 / per_second + Fraction(1, 2))
    assert 0 <= last - first <= stretch


@pytest.mark.parametrize(
    "times",
    [
        ["2026-05-01T00:00:00.0000009Z", "2026-05-02T00:00:00.0000001Z"],
        np.array(["2026-05-01T00:00:00.000000900", "2026-05-02T00:00:00.000000100"], "M8[ns]"),
        np.array([900, 86_400_000_000_100], "m8[ns]"),
        np.array([1_777_593_600_000_000_400, 1_777_679_999_999_999_600]),
        [1_777_593_600.0, 1_777_680_000.0],
        [1_777_593_600.29, 1_777_680_000.29],
    ],
)
def test_days_have_both_ends(times: object) -> None:
    """Times a day apart, or a little less, are in one day: as texts, datetimes, durations or numbers."""
    assert stretch_sizes(read_times(times).microseconds, 86_400 * 10**6).tolist() == [2, 2]


def test_person_sums_lose_nothing() -> None:
    """What thousands of other persons add up to does not round the sum of one person away."""
    rng = np.random.default_rng(1)
    values = rng.random((100_000, 4)) * 1e3
    values[-1] = [1e6, 1e-7, 2e-7, 3e-7]
    persons = np.repeat(np.arange(len(values)), 4)
    times = np.tile(np.arange(4), len(values))
    found = largest_stretch_sum(values.ravel(), times, 10, persons)
    exactly = math.fsum(values[-1])
    assert exactly <= found <= exactly * (1 + 1e-12)


def test_empty_values() -> None:
    """No points, and points with no share."""
    none = np.empty(0, dtype=np.int64)
    assert largest_stretch_sum(np.empty(0), none, 10) == 0.0
    assert largest_stretch_sum(np.zeros(2), np.array([0, 1]), 10) == 0.0
    assert stretch_sizes(none, 10).tolist() == []
    assert kept_of_thinned(none, 10).tolist() == []


@pytest.mark.parametrize("together", [1, 2, 3, 7])
def test_many_persons_are_grouped(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The groups give the sizes, sums and rows that one axis gives."""
    rng = np.random.default_rng(together)
    times, persons, values = rng.integers(0, 1000, 300), rng.integers(0, 7, 300), rng.random(300)
    # No person 3: a group may be without points.
    persons[persons == 3] = 4
    whole = stretch_sizes(times, 50, persons), kept_of_thinned(times, 50, persons)
    most = largest_stretch_sum(values, times, 50, persons)
    monkeypatch.setattr(stretches, "_AXIS", together * (int(np.ptp(times)) + 51))
    assert stretch_sizes(times, 50, persons).tolist() == whole[0].tolist()
    assert largest_stretch_sum(values, times, 50, persons) == pytest.approx(most, rel=1e-12)
    assert kept_of_thinned(times, 50, persons).tolist() == whole[1].tolist()


def test_extreme_times() -> None:
    """The first and the last year that datetimes can have fit on the axis with a long stretch."""
    ends = np.array([-(2**60), 2**60, 2**60])
    assert stretch_sizes(ends, 2**40, np.array([0, 1, 1])).tolist() == [1, 2, 2]


@MANY
@given(timed())
def test_thinning_keeps_first_rows(case: tuple[Index, int, Index | None]) -> None:
    """Each person keeps one row in every interval of time, the earliest, and of several the first."""
    times, step, persons = case
    kept = kept_of_thinned(times, step, persons)
    first: dict[tuple[int, int], int] = {}
    for i in np.argsort(times, kind="stable").tolist():
        first.setdefault((0 if persons is None else int(persons[i]), int(times[i]) // step), i)
    assert np.flatnonzero(kept).tolist() == sorted(first.values())


@pytest.mark.parametrize("form", ["%d/%b/%Y %H:%M:%S", "%d-%B-%Y %H:%M:%S", "%d %b %Y %I:%M:%S %p"])
def test_worded_months(form: str) -> None:
    """They are beyond doubt; only dates of numbers have two readings."""
    days = pd.date_range("2022-11-04T08:01:32Z", periods=4, freq="17D")
    assert read_times([*days.strftime(form)]).microseconds.tolist() == [day.value // 1000 for day in days]
    assert are_times("Date", None, [*days.strftime(form)])
    with pytest.raises(InvalidParameter, match="day or the month"):
        read_times(["04/11/2022 08:01:32", "05/11/2022 08:01:32"])
