"""The filter: its predictions, its parts, what is read off it, and that it helps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geoveil.movement.filter import Filter, motions
from geoveil.movement.habits import PERSON, VEHICLE
from geoveil.movement.mixture import MixturePart, chance_within, geometric_median, merge, merging_cost, radius_of
from geoveil.movement.places import PlaceMemory


def part(weight: float, x: float, deviation: float, *, mode: int = 0) -> MixturePart:
    """A part at (x, 0)."""
    return MixturePart(weight, mode, x, 0.0, deviation**2, tie=1.0 * mode, drift=30.0 * mode)


def sampled(parts: list[MixturePart], count: int) -> np.ndarray:
    """Points drawn from a mixture, by equal shares of its parts' weights."""
    rng = np.random.default_rng(1)
    which = rng.choice(len(parts), count, p=[a.weight for a in parts])
    x, y, deviation = (
        np.array(each)[which] for each in zip(*((a.x, a.y, math.sqrt(a.spread)) for a in parts), strict=True)
    )
    return np.asarray(np.column_stack([x, y]) + rng.normal(size=(count, 2)) * deviation[:, None])


@given(st.floats(0.01, 1), st.floats(0.01, 1), st.floats(-1e4, 1e4), st.floats(1, 1e4), st.sampled_from([0, 1]))
def test_merging_keeps_moments(one: float, other: float, x: float, deviation: float, mode: int) -> None:
    """A merged part has the weight, the mean and the mean square distance of both."""
    a, b = part(one, 0.0, 100.0, mode=mode), part(other, x, deviation, mode=mode)
    share = other / (one + other)
    mean = share * x
    square = (1 - share) * (2 * 100.0**2 + mean**2) + share * (2 * deviation**2 + (x - mean) ** 2)
    assert merging_cost(a, b) >= -1e-9
    merge(a, b)
    assert a.weight == pytest.approx(one + other)
    assert a.x == pytest.approx(mean, abs=1e-6)
    assert 2 * a.spread == pytest.approx(square)


@pytest.mark.parametrize("habits", [PERSON, VEHICLE])
def test_two_steps_are_one(habits: object) -> None:
    """Somebody who travels for two steps is where one step of both would lead, with the same spread."""
    one, two = motions(PERSON, 60.0).ways[0], motions(PERSON, 120.0).ways[0]
    # From a known place and velocity: variances of position, of both, and of velocity.
    spread = one.spread + one.reach**2 * one.drift + 2 * one.reach * one.tie + one.spread
    assert spread == pytest.approx(two.spread, rel=1e-9)
    assert one.kept * (one.tie + one.reach * one.drift) + one.tie == pytest.approx(two.tie, rel=1e-9)
    assert one.kept**2 * one.drift + one.drift == pytest.approx(two.drift, rel=1e-9)
    assert one.reach + one.kept * one.reach == pytest.approx(two.reach, rel=1e-9)
    assert one.on**2 == pytest.approx(two.on, rel=1e-9)


def test_one_part_is_kalman() -> None:
    """A belief of one part that stays weighs what it knows and what is released by their precisions."""
    belief = Filter(PERSON)
    belief.parts = [part(1.0, 0.0, 300.0)]
    belief.update(700.0, 70.0, 400.0**2)
    (a,) = belief.parts
    assert (a.x, a.y, a.spread) == pytest.approx((700 * 0.36, 70 * 0.36, 300**2 * 0.64))


def test_weights_follow_the_evidence() -> None:
    """A released point makes the part likelier that expected it, by the ratio of densities."""
    belief = Filter(PERSON)
    belief.parts = [part(0.5, 0.0, 100.0), part(0.5, 1000.0, 100.0)]
    belief.update(0.0, 0.0, 300.0**2)
    near, far = (a.weight for a in belief.parts)
    assert far / near == pytest.approx(math.exp(-(1000**2) / (2 * (100**2 + 300**2))))


def test_mixture_chances() -> None:
    """The chance of being within a distance is right to one in a hundred, and a radius has the chance asked for."""
    parts = [part(0.6, 0.0, 100.0), part(0.3, 800.0, 300.0), part(0.1, -5000.0, 2000.0)]
    lengths = np.hypot(*(sampled(parts, 200_000) - (100.0, 0.0)).T)
    for radius in (50.0, 200.0, 900.0, 4000.0):
        assert chance_within(parts, 100.0, 0.0, radius) == pytest.approx((lengths < radius).mean(), abs=0.013)
    for guess in (0.0, 1.0, 3000.0, 1e6):
        found = radius_of(parts, 100.0, 0.0, 0.95, guess)
        assert chance_within(parts, 100.0, 0.0, found) == pytest.approx(0.95, abs=0.002)


def test_estimate_is_a_median() -> None:
    """No place nearby has a smaller expected distance; the mean, which rare far parts pull away, has a larger one."""
    parts = [part(0.8, 0.0, 100.0), part(0.2, 4000.0, 500.0)]
    points = sampled(parts, 100_000)
    x, y = geometric_median(parts)

    def distance(x: float, y: float) -> float:
        return float(np.hypot(*(points - (x, y)).T).mean())

    best = distance(x, y)
    assert best < distance(800.0, 0.0) - 100
    assert best < min(distance(x + dx, y + dy) for dx, dy in ((60, 0), (-60, 0), (0, 60), (0, -60))) + 1


def track(noise: float, minutes: int = 900) -> tuple[np.ndarray, np.ndarray]:
    """True and released places: five hours at home, a ride of 9 km, and a stay at its end."""
    rng = np.random.default_rng(2)
    at = np.clip(np.arange(minutes) - 300, 0, 30) * 300.0
    true = np.column_stack([at, np.zeros(minutes)])
    return true, true + rng.normal(scale=noise, size=true.shape)


def test_filter_beats_noise() -> None:
    """It averages over stays and follows trips, with radii that hold about 95% of the time."""
    true, released = track(1000.0)
    belief, errors, within = Filter(PERSON), [], 0
    for minute, (x, y) in enumerate(released.tolist()):
        belief.step(60.0 * minute)
        belief.update(x, y, 1000.0**2)
        place = geometric_median(belief.parts)
        errors.append(math.dist(place, true[minute]))
        within += errors[-1] <= radius_of(belief.parts, *place, 0.95)
    assert np.median(errors) < 0.15 * 1000 * 1.177
    assert np.median(errors[-60:]) < 200
    assert within / len(errors) > 0.85
    assert len(belief.parts) <= 7


def test_places_are_learnt() -> None:
    """A long stay makes a place; a later one there counts as another visit, and one elsewhere as another place."""
    belief = Filter(PERSON)
    for minute in range(3 * 24 * 60):
        away = 6000.0 if minute % 1440 >= 960 else 0.0
        belief.step(60.0 * minute)
        belief.update(away + 50 * math.sin(minute), 50 * math.cos(3 * minute), 200.0**2)
    known = sorted((place.x, place.visits) for place in belief.places.known if place.visits > 1)
    assert [round(x, -3) for x, _ in known] == [0.0, 6000.0]
    assert [visits for _, visits in known] == [3, 3]


def test_places_are_limited() -> None:
    """The least visited place makes room for a new one."""
    places = PlaceMemory(PERSON)
    for number in range(PERSON.most):
        for _ in range(2):
            places.remember(part(1.0, 1e4 * number, 10.0))
    places.known[7].visits = 1
    places.remember(part(1.0, -1e4, 10.0))
    assert len(places.known) == PERSON.most
    assert places.known[7].x == -1e4


def test_filter_is_restored() -> None:
    """Stored and restored as numbers, it believes the same ever after."""
    _, released = track(1000.0)
    one = Filter(PERSON)
    for minute, (x, y) in enumerate(released.tolist()):
        if minute == 400:
            other = Filter(PERSON, state=one.state())
        for each in (one, other) if minute >= 400 else (one,):
            each.step(60.0 * minute)
            each.update(x, y, 1000.0**2)
    assert one.state() == other.state()


@given(st.lists(st.tuples(st.floats(1e-3, 1e7), st.floats(1e-2, 1e12), st.floats(-1e9, 1e9)), max_size=12))
def test_nothing_breaks_the_filter(pings: list[tuple[float, float, float]]) -> None:
    """After gaps of months, noise of any size and jumps over continents, numbers stay finite and weights add up."""
    belief, time = Filter(PERSON), 0.0
    for gap, noise, x in pings:
        time += gap
        belief.step(time)
        belief.update(x, -x / 3, noise**2)
        numbers = np.array([a.state() for a in belief.parts])
        assert np.isfinite(numbers).all()
        assert sum(a.weight for a in belief.parts) == pytest.approx(1)
        assert min(a.spread for a in belief.parts) > 0
        x, y = geometric_median(belief.parts)
        assert 0 < radius_of(belief.parts, x, y, 0.95) < math.inf
