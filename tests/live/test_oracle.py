"""The joint law of a stream, by exact densities: for every pair of lives its divergence is within each promise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyproj
import pytest
from scipy.optimize import linprog

import geoveil as gv
from geoveil.live import stream as stream_module
from geoveil.live.account import SlidingAccount
from geoveil.live.promises import mechanism_of
from geoveil.live.schedule import Paid, Schedule
from geoveil.mechanisms import Gaussian
from tests.live.streams import HOME, MICROSECONDS, START, stream
from tests.oracle import ALPHAS, SLACK, Floats, renyi, shifted

pytestmark = pytest.mark.slow

RHO, LONGER = 5e-4, 8e-4
HOUR = 3600 * MICROSECONDS
EARTH = pyproj.Geod(ellps="WGS84")


class Draw(NamedTuple):
    """A draw: when, its mechanism, and the place around which it was drawn, in metres of the plane."""

    time: int
    mechanism: Gaussian
    center: tuple[float, float]


def drawn(patch: pytest.MonkeyPatch, limit: float, times: list[int], places: Floats, told: Floats) -> list[Draw]:
    """All draws of a stream with pings at these times and places, if it has released what `told` says so far."""
    draws: list[Draw] = []
    now = 0

    def sample(mechanism: Gaussian, center: Any, source: Any) -> Floats:
        ((x, y),) = center.values.tolist()
        draws.append(Draw(now, mechanism, (x, y)))
        return np.asarray(told[len(draws) - 1 : len(draws)] * mechanism.scale)

    with patch.context() as inner:
        inner.setattr(Gaussian, "sample", sample)
        one = stream(RHO, "1 hour", every="1 s", within={"2 hours": limit})
        for time, (lon, lat) in zip(times, places.tolist(), strict=True):
            now = time
            one.update((START * MICROSECONDS + time) / MICROSECONDS, lat=lat, lon=lon)
    return draws


def apart(times: list[int], moved: Floats, stretch: int) -> float:
    """The length of the shortest chain of lives, each step of which moves the pings of one closed stretch."""
    at = np.array(times)
    held = np.array([(at >= start) & (at <= start + stretch) for start in times], dtype=float)
    return float(linprog(np.ones(len(at)), A_ub=-held.T, b_ub=-moved, method="highs").fun)


def divergences(mechanism: Gaussian, distance: float) -> Floats:
    """D_α of one draw around two places at this distance, from its density, for all orders.

    Coordinates are independent, and only that along the line through both places differs.
    """
    line = Gaussian(mechanism.guarantee, 1, mechanism.lipschitz)
    assert line.scale == mechanism.scale
    log_p, log_q, weights = shifted(line, distance)
    return np.array([renyi(log_p, log_q, alpha, weights) for alpha in ALPHAS])


def used(
    patch: pytest.MonkeyPatch, limit: float, times: list[int], lives: tuple[Floats, Floats], seed: int
) -> tuple[float, float]:
    """The shares of both promises that the joint law of a stream uses for a pair of lives, on one history."""
    told = np.random.default_rng(seed).normal(scale=2.0, size=(len(times) + 9, 2))
    one, other = (drawn(patch, limit, times, life, told) for life in lives)
    # Which pings are answered, and with which noise, is the same for both: otherwise the divergence is infinite.
    assert [(a.time, a.mechanism) for a in one] == [(b.time, b.mechanism) for b in other]
    # Given the history, draws are independent: their divergences add up.
    total = sum(
        divergences(a.mechanism, math.dist(a.center, b.center))
        for a, b in zip(one, other, strict=True)
        if a.center != b.center
    )
    moved = np.asarray(EARTH.inv(*lives[0].T, *lives[1].T)[2])
    shares = [
        float(np.max(total / (np.array(ALPHAS) * rho * apart(times, moved, stretch) ** 2)))
        for rho, stretch in ((RHO, HOUR), (limit, 2 * HOUR))
    ]
    return shares[0], shares[1]


def pair(rng: np.random.Generator, moved: Floats) -> tuple[Floats, Floats]:
    """Two lives near home, whose pings are this many metres apart."""
    walk = np.cumsum(rng.normal(scale=1e-3, size=(len(moved), 2)), axis=0) + np.array([HOME["lon"], HOME["lat"]])
    turn = rng.uniform(0, 360)
    lon, lat, _ = EARTH.fwd(walk[:, 0], walk[:, 1], np.full(len(moved), turn), moved)
    return walk, np.column_stack([lon, lat])


def check(patch: pytest.MonkeyPatch) -> tuple[float, float]:
    """The largest shares over streams of many kinds and pairs of lives of many kinds."""
    rng = np.random.default_rng(20)
    worst = 0.0, 0.0
    for trial, (kind, difference) in enumerate(itertools.product(range(5), range(6))):
        gaps = (
            rng.choice([0, 1, MICROSECONDS, 60 * MICROSECONDS, 600 * MICROSECONDS], size=24),
            rng.choice([300 * MICROSECONDS, HOUR - 1, HOUR, HOUR + 1, 600 * MICROSECONDS], size=14),
            np.full(26, 600 * MICROSECONDS),
            np.tile([600 * MICROSECONDS] * 3 + [3 * HOUR], 5),
            np.full(8, HOUR),
        )[kind]
        at = np.cumsum(gaps)
        middle, size = at[len(at) // 2], 10.0 ** rng.uniform(-1, 1.7)
        moved = (
            np.where(at <= at[0] + HOUR, size, 0.0),
            np.where(at <= at[0] + 2 * HOUR, size, 0.0),
            np.where((at >= middle) & (at <= middle + HOUR), size, 0.0),
            np.where(at >= middle, size, 0.0),
            np.full(len(at), size),
            size * rng.random(len(at)),
        )[difference]
        for limit in (LONGER, 3 * RHO):
            shares = used(patch, limit, at.tolist(), pair(rng, moved), trial)
            assert max(shares) <= 1 + SLACK, (trial, limit, shares)
            worst = max(worst[0], shares[0]), max(worst[1], shares[1])
    return worst


def test_joint_law_keeps_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    """The joint law is within every promise and meets it.

    For lives that differ in one stretch, in many, or all the time; each promise binds where it is the tighter.
    """
    assert min(check(monkeypatch)) > 0.99


def more_than_the_budget(patch: pytest.MonkeyPatch) -> None:
    """The first ping of a stretch pays for ten minutes that the budget does not count."""
    right = mechanism_of
    patch.setattr(
        stream_module, "mechanism_of", lambda promise, capacity, cost: right(promise, capacity - 600 * 10**6, cost)
    )


def too_little_noise(patch: pytest.MonkeyPatch) -> None:
    """The noise is one hundredth smaller than stated."""
    right = mechanism_of

    def mechanism(promise: gv.CGP, capacity: int, cost: int) -> Gaussian:
        return Gaussian(right(promise, capacity, cost).guarantee, 2, 0.99)

    patch.setattr(stream_module, "mechanism_of", mechanism)


def forgets_early(patch: pytest.MonkeyPatch) -> None:
    """The account forgets costs that are still in the closed stretch, as one that counts half-open ones would."""
    right = SlidingAccount.left
    patch.setattr(
        SlidingAccount,
        "left",
        lambda account, time: (
            right(account, time) + sum(cost for at, cost, _ in account._held if at == time - account.stretch)
        ),
    )


def ignores_longer_promises(patch: pytest.MonkeyPatch) -> None:
    """A ping costs what the shortest stretch offers."""
    right = Schedule.__init__
    patch.setattr(Schedule, "__init__", lambda schedule, stretch, every, longer=(): right(schedule, stretch, every))


def answers_late_pings(patch: pytest.MonkeyPatch) -> None:
    """A ping at the time of an answered one is answered as well, outside of the account."""
    offer, pay = Schedule.offer, Schedule.pay
    again = Paid(0, 0, 600 * MICROSECONDS)
    patch.setattr(Schedule, "offer", lambda schedule, time: offer(schedule, time) or again._replace(time=time))
    patch.setattr(Schedule, "pay", lambda schedule, paid: pay(schedule, paid) if paid.active else None)


def looks_at_the_place(patch: pytest.MonkeyPatch) -> None:
    """Whoever moves gets less noise: the budget follows what is private."""
    seen: list[float] = []
    entered, mechanism = gv.Stream._entered, mechanism_of

    def looking(one: gv.Stream, lon: float, lat: float) -> Any:
        seen.append(lat)
        return entered(one, lon, lat)

    def moving(promise: gv.CGP, capacity: int, cost: int) -> Gaussian:
        return mechanism(promise, capacity, cost if len(seen) > 1 and abs(seen[-1] - seen[-2]) > 1e-3 else cost // 2)

    patch.setattr(gv.Stream, "_entered", looking)
    patch.setattr(stream_module, "mechanism_of", moving)


@pytest.mark.parametrize(
    "plant",
    [
        more_than_the_budget,
        too_little_noise,
        forgets_early,
        ignores_longer_promises,
        answers_late_pings,
        looks_at_the_place,
    ],
)
def test_planted_bugs_are_caught(monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]) -> None:
    """Planted bugs break the promise. The divergence shows each of them."""
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        check(monkeypatch)
