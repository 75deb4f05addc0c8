"""Whoever keeps every release and averages: a stream yields what its promise allows, and older ways yield the home."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.live.streams import AREA, HOME, START, answers, stream

pytestmark = [pytest.mark.slow, pytest.mark.statistical]

RHO, DAYS = 5e-5, 365
BEGAN = START - DAYS * 86_400
#: A public place where a friend has met the person: what they know of a track beside its releases.
OFFICE = np.array([3000.0, 4000.0])


def home() -> np.ndarray:
    """The home in metres of the plane."""
    tangent = AREA.tangent
    assert tangent is not None
    return np.asarray(tangent.forward(np.array([[HOME["lon"], HOME["lat"]]]), AREA.radius).values[0])


def test_year_at_home() -> None:
    """Whoever keeps all releases of a year at one home, a ping every two hours, averages them as well as can be done.

    That is as far off as the budgets that were spent make it, and these are at most a promise for each day. What the
    stream says of a year is no less. The same average localises the home to a few metres where each ping had noise of
    its own for a day's budget, and a single known place does so exactly where one offset was kept for all.
    """
    one = stream(RHO, every="30 min")
    for number in range(DAYS * 12):
        one.update(BEGAN + 7200 * number, **HOME)
    released = answers(one)
    assert len(released) == DAYS * 12
    points = np.array([[each.x, each.y] for each in released])
    weights = np.array([each.scale for each in released]) ** -2.0
    averaged = weights @ points / weights.sum()
    # What the average knows is what was spent, and no more than the promise of 365 stretches allows.
    spent = sum(1 / (2 * Fraction(each.scale) ** 2) for each in released)
    assert Fraction(RHO) * DAYS / 3 < spent <= Fraction(RHO) * DAYS
    deviation = 1 / math.sqrt(2 * float(spent))
    assert deviation >= one.repeated("365 days")
    # The noise is fresh and as large as stated: no other average knows more.
    noise = (points - home()) * np.sqrt(weights)[:, None]
    assert abs(np.square(noise).sum() - noise.size) < 6 * math.sqrt(2 * noise.size)
    assert abs((noise[1:] * noise[:-1]).sum()) < 6 * math.sqrt(noise.size)
    off = math.dist(averaged, home())
    assert off < 6 * deviation
    # What is shown, and yesterday's track, are made of the same releases: their radii do not claim to know more.
    assert one.now().radius_95 > deviation
    assert one.track(since=START - 86_400).radius_95.min() > deviation

    # Noise on each ping, with the budget of a day each time: found, better than the promise would allow.
    rng = np.random.default_rng(1)
    each_ping = home() + rng.normal(scale=1 / math.sqrt(2 * RHO), size=(DAYS * 24, 2))
    assert (
        math.dist(each_ping.mean(axis=0), home()) < 6 / math.sqrt(2 * RHO * DAYS * 24) < one.repeated("365 days") * 1.3
    )
    # One offset that sticks, however large: a place that is known gives it away.
    offset = rng.normal(scale=5000.0, size=2)
    shown_home, shown_office = home() + offset, OFFICE + offset
    assert math.dist(shown_home - (shown_office - OFFICE), home()) < 1e-6
