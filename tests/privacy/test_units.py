"""Metrics of units: their order, their distances, and the conversions between guarantees under them."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import numpy as np
import pytest

from geoveil.errors import IncompatibleGuarantees, InvalidData, InvalidParameter
from geoveil.privacy import (
    CGP,
    GP,
    Metric,
    as_duration,
    as_metric,
    dist_1,
    dist_2,
    dist_inf,
    duration_words,
    is_duration,
    unit_distance,
)

NAMES = ["inf", "2", "1", "6 hours", "1 day", "7 days", "person", "person, 6 hours", "person, 1 day"]
METRICS = [as_metric(name) for name in NAMES]
HOUR = 3600 * 10**6


def units(metric: Metric, times: np.ndarray, whose: np.ndarray) -> list[list[int]]:
    """Return the units of a metric by brute force."""
    if metric == dist_inf:
        return [[*range(len(times))]]
    if metric == dist_1:
        return [[i] for i in range(len(times))]
    persons = np.unique(whose) if metric.persons else [None]
    held = []
    for person, start in product(persons, times if metric.stretch is not None else [None]):
        mine = np.ones(len(times), bool) if person is None else whose == person
        if start is not None:
            mine = mine & (times >= start) & (times < start + metric.stretch)
        held += [np.flatnonzero(mine).tolist()] if mine.any() else []
    return held


def apart(metric: Metric, x: np.ndarray, times: np.ndarray, whose: np.ndarray) -> float:
    """Return the distance of x from the origin under a metric, by a linear program for units."""
    return dist_2(x, 0 * x) if metric == dist_2 else unit_distance(x, 0 * x, units(metric, times, whose))


@pytest.mark.slow
def test_metrics_order_by_distance() -> None:
    """`is_at_most` holds for a pair exactly if no random tuple of timed points contradicts it."""
    rng = np.random.default_rng(1)
    contradicted = set()
    for trial in range(120):
        n = int(rng.integers(1, 9))
        times = rng.choice([0, 1, 5, 6, 23, 24, 25, 100, 167, 168, 400], n) * HOUR
        whose = rng.integers(0, 1 + trial % 3, n)
        x = rng.exponential(size=(n, 2)) * (rng.random((n, 1)) < 0.8)
        far = {metric: apart(metric, x, times, whose) for metric in METRICS}
        contradicted |= {(a, b) for a, b in product(METRICS, METRICS) if far[a] > far[b] * (1 + 1e-9) + 1e-12}
    for a, b in product(METRICS, METRICS):
        assert a.is_at_most(b) == ((a, b) not in contradicted), (a, b)


def test_unit_distances_are_metrics() -> None:
    """They are symmetric, obey the triangle inequality, and lie between dist_inf and dist_1."""
    rng = np.random.default_rng(2)
    for _ in range(30):
        times, whose = rng.integers(0, 100, 6) * HOUR, rng.integers(0, 2, 6)
        held = units(as_metric("1 day"), times, whose)
        x, y, z = rng.normal(size=(3, 6, 2))
        xy, yz, xz = (unit_distance(*pair, held) for pair in ((x, y), (y, z), (x, z)))
        assert xz <= xy + yz + 1e-9
        assert xy == pytest.approx(unit_distance(y, x, held))
        assert dist_inf(x, y) - 1e-9 <= xy <= dist_1(x, y) + 1e-9
        assert unit_distance(x, x, held) == 0


def test_straight_movements_suffice() -> None:
    """The linear program's length is that of a chain of steps, each within one unit, that reaches the other tuple."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(3)
    for _ in range(20):
        n = int(rng.integers(2, 7))
        held = [np.flatnonzero(rng.random(n) < 0.6).tolist() for _ in range(4)] + [[i] for i in range(n)]
        held = [unit for unit in held if unit]
        y = rng.normal(size=(n, 2))
        lengths = np.linalg.norm(y, axis=1)
        holds = np.array([[i in unit for unit in held] for i in range(n)], dtype=float)
        steps = linprog(np.ones(len(held)), A_ub=-holds, b_ub=-lengths).x
        at = np.zeros((n, 2))
        for unit, step in zip(held, steps, strict=True):
            for i in unit:
                left = y[i] - at[i]
                at[i] += left * min(1.0, step / max(np.linalg.norm(left), 1e-300))
        assert np.allclose(at, y, atol=1e-9)
        assert steps.sum() == pytest.approx(unit_distance(0 * y, y, held))


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_metrics_by_name(metric: Metric) -> None:
    """A certificate's name of a metric gives the metric."""
    assert as_metric(str(metric)) == metric == as_metric(metric.name) == as_metric(metric)


@pytest.mark.parametrize(
    "name", ["", "person, ", "day", "1 parsec", "1 day, person", "person, 1 day, 1 day", "[", "3"]
)
def test_other_names_are_refused(name: str) -> None:
    """An error names the argument, the value, what is allowed and a remedy."""
    with pytest.raises(
        InvalidParameter, match=r'metric = .*must be "inf", "2" or "1", or the name of a unit.*use "inf"'
    ):
        as_metric(name)


def test_unit_metrics_need_times() -> None:
    """Locations alone do not tell their distance."""
    with pytest.raises(InvalidData, match="unit_distance"):
        as_metric("1 day")([[0, 0]], [[1, 1]])


def test_one_person_metric() -> None:
    """For one person, all points of a person are everything."""
    found = {name: as_metric(name).of_one_person for name in NAMES}
    assert found["person"] == dist_inf
    assert found["person, 1 day"] == found["1 day"] == as_metric("1 day")
    assert [found[name] for name in ("inf", "2", "1")] == [dist_inf, dist_2, dist_1]


@pytest.mark.parametrize("guarantee", [CGP(rho=1e-4, metric="1 day"), GP(epsilon=0.01, metric="1 day")], ids=str)
def test_guarantees_for_smaller_units(guarantee: CGP | GP) -> None:
    """The budget is the same inside a unit; for larger units it depends on the release."""
    for smaller in ("1 day", "6 hours", "person, 1 day", "person, 6 hours", "1"):
        assert guarantee.under(smaller, n=7) == guarantee.under_unit(as_metric(smaller))
    for larger in ("7 days", "inf", "2", "person"):
        with pytest.raises(IncompatibleGuarantees, match="depends on the release"):
            guarantee.under(larger, n=7)
    whole = guarantee.under_unit(as_metric("inf"))
    assert whole.under("1 day", n=7) == guarantee


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("1 day", "1 day"),
        ("24 hours", "1 day"),
        ("90min", "90 minutes"),
        (" 1.5 H ", "90 minutes"),
        (timedelta(hours=36), "36 hours"),
        ("7 days", "7 days"),
        ("2 weeks", "2 weeks"),
        (0.25, "0.25 seconds"),
        (60, "1 minute"),
    ],
)
def test_durations_are_read(given: str | float | timedelta, words: str) -> None:
    """Texts, timedeltas and numbers of seconds; the words are read back as the same length."""
    length = as_duration("unit", given)
    assert duration_words(length) == words
    assert as_duration("unit", words) == length


@pytest.mark.parametrize(
    "wrong", ["0 days", "-1 day", "1 month", "day", "", 0, -1.0, float("nan"), float("inf"), True, None]
)
def test_bad_durations_are_refused(wrong: object) -> None:
    """An error names the argument, the value, what is allowed and a remedy."""
    with pytest.raises(InvalidParameter, match=r"thin = .*must be a length of time such as .*positive"):
        as_duration("thin", wrong)  # type: ignore[arg-type]
    assert not is_duration(wrong) or wrong == "0 days"
