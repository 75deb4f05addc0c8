"""Whoever keeps every release and averages: a stream yields what its promise allows, and older ways yield the home."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.live.streams import AREA, DAY, HOME, START, answers, stream

pytestmark = [pytest.mark.slow, pytest.mark.statistical]

RHO, DAYS, EVERY = 5e-4, 60, 1200
#: A public place where a friend has met the person: what they know of a track beside its releases.
OFFICE = np.array([3000.0, 4000.0])


def home() -> np.ndarray:
    """The home in metres of the plane."""
    tangent = AREA.tangent
    assert tangent is not None
    return np.asarray(tangent.forward(np.array([[HOME["lon"], HOME["lat"]]]), AREA.radius).values[0])


def test_a_stream_yields_no_more_than_its_promise() -> None:
    """Two months at home: the best average of all releases is as far off as the budget of 60 days makes it.

    The same average localises a home to a few metres where each ping had noise for a day's budget of its own, and a
    single known place does so where one offset was kept for all.
    """
    one = stream(RHO, every="20 min")
    for number in range(DAYS * DAY // EVERY):
        one.update(START + EVERY * number, **HOME)
    released = answers(one)
    points = np.array([[each.x, each.y] for each in released])
    weights = np.array([each.scale for each in released]) ** -2.0
    averaged = weights @ points / weights.sum()
    # What the average knows is what was spent, and no more than the promise of 61 stretches allows.
    spent = sum(1 / (2 * Fraction(each.scale) ** 2) for each in released)
    assert spent <= Fraction(RHO) * (DAYS + 1)
    assert weights.sum() == pytest.approx(2 * float(spent))
    deviation = 1 / math.sqrt(2 * float(spent))
    off = math.dist(averaged, home())
    assert off < 6 * deviation
    assert deviation > 0.99 / math.sqrt(2 * RHO * (DAYS + 1))
    # What was published does not know more, either.
    seen = one.now()
    assert seen.radius_95 > deviation

    # Noise on each ping for the budget of a day: every minute of a single day.
    rng = np.random.default_rng(1)
    naive = home() + rng.normal(scale=1 / math.sqrt(2 * RHO), size=(DAYS * 1440, 2))
    assert math.dist(naive.mean(axis=0), home()) < 6 / math.sqrt(2 * RHO * DAYS * 1440)
    assert 6 / math.sqrt(2 * RHO * DAYS * 1440) < deviation
    # One offset that sticks, however large: a place that is known gives it away.
    offset = rng.normal(scale=5000.0, size=2)
    shown_home, shown_office = home() + offset, OFFICE + offset
    assert math.dist(shown_home - (shown_office - OFFICE), home()) < 1e-6
