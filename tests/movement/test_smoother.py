"""Tracks smoothed by habits: as good as the model says, the same in pieces, and on any release of points."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import geoveil as gv
from geoveil.errors import InvalidData
from geoveil.movement import smoother
from geoveil.movement.beliefs import WEIGHT, Beliefs, Steps, X, Y
from geoveil.movement.filter import Filter
from geoveil.movement.habits import PERSON, Habits, Travel
from geoveil.movement.mixture import geometric_median
from geoveil.movement.smoother import smooth
from geoveil.postprocess.motion import WALKING
from geoveil.postprocess.smoothing import smooth as smooth_by_motion


def life(days: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Times and true places of somebody between a home and a work 9 km away, a point every five minutes."""
    rng = np.random.default_rng(seed)
    times = np.arange(0.0, days * 86_400.0, 300.0)
    at = np.zeros(len(times))
    for day in range(days):
        out, back = day * 86_400 + rng.uniform(7, 9) * 3600, day * 86_400 + rng.uniform(16, 19) * 3600
        at += np.clip((times - out) / 1500, 0, 1) - np.clip((times - back) / 1500, 0, 1)
    return times, np.column_stack([9000 * at, 3000 * at**2])


def rms(found: np.ndarray, true: np.ndarray) -> float:
    """The root mean square distance."""
    return math.sqrt(np.square(found - true).sum(axis=1).mean())


@pytest.mark.slow
def test_habits_beat_motion() -> None:
    """A person who stays and travels is smoothed twice as well as by the best motion without stays."""
    times, true = life(4)
    released = true + np.random.default_rng(2).normal(scale=1500, size=true.shape)
    found = smooth(released, times, 1500, PERSON)
    usual = rms(smooth_by_motion(released, times, 1500, WALKING), true)
    assert rms(found.mean, true) < 0.6 * usual
    assert rms(found.mean, true) < 0.25 * rms(released, true)
    # What the model states is about what happens.
    assert 0.4 < rms(found.mean, true) / math.sqrt(2 * found.variance.mean()) < 2.5


@pytest.mark.slow
def test_persons_are_independent() -> None:
    """Several persons together are smoothed as each alone, in any order of rows and wherever they are."""
    tracks = [life(1, seed) for seed in (1, 2, 3)]
    released = [true + np.random.default_rng(4).normal(scale=800, size=true.shape) for _, true in tracks]
    sizes = [288, 100, 1]
    released = [each[:size] for each, size in zip(released, sizes, strict=True)]
    times = [each[:size] for (each, _), size in zip(tracks, sizes, strict=True)]
    far = np.array([4e5, -3e6])
    alone = [smooth(y, t, 800, PERSON).mean for y, t in zip(released, times, strict=True)]
    together = smooth(np.concatenate(released) + far, np.concatenate(times), 800, PERSON, sizes=sizes).mean
    np.testing.assert_allclose(together - far, np.concatenate(alone), atol=0.5)


@pytest.mark.slow
def test_pieces_make_little_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long track is smoothed in pieces nearly as in one."""
    times, true = life(5)
    released = true + np.random.default_rng(5).normal(scale=500, size=true.shape)
    whole = smooth(released, times, 500, PERSON).mean
    monkeypatch.setattr(smoother, "_PIECE", 400)
    monkeypatch.setattr(smoother, "_OVERLAP", 300)
    pieces = smooth(released, times, 500, PERSON).mean
    assert rms(pieces, whole) < 0.15 * rms(whole, true)
    assert rms(pieces, true) < 1.05 * rms(whole, true)


def test_one_mode_is_exact() -> None:
    """Somebody who never stops is a linear Gaussian process: the product of both passes is its exact posterior."""
    always = Habits(
        stay=1.0,
        travels=(Travel(1e15, 5.0, 600.0, 1 - 1e-9), Travel(1e15, 5.0, 600.0, 1e-9)),
        spread=30_000.0,
        lost=1e18,
    )
    rng = np.random.default_rng(6)
    times = np.cumsum(rng.choice([20.0, 60.0, 300.0], size=60))
    noise = rng.uniform(200, 800, size=60)
    y = rng.normal(scale=900, size=(60, 2))
    y -= np.median(y, axis=0)
    found = smooth(y, times, noise, always)
    # The covariance of an integrated Ornstein-Uhlenbeck process that begins anywhere.
    f = [np.array([[1, 600 * (1 - math.exp(-t / 600))], [0, math.exp(-t / 600)]]) for t in np.diff(times)]
    state = np.zeros((120, 120))
    now = np.diag([30_000.0**2, 25.0])
    rows = [now]
    for step, t in zip(f, np.diff(times), strict=True):
        e = math.exp(-t / 600)
        q = 25 * np.array(
            [[600 * (2 * t - 600 * (3 - 4 * e + e * e)), 600 * (1 - e) ** 2], [600 * (1 - e) ** 2, 1 - e * e]]
        )
        now = step @ now @ step.T + q
        rows.append(now)
    for i in range(60):
        carried = rows[i]
        for j in range(i, 60):
            state[2 * j : 2 * j + 2, 2 * i : 2 * i + 2] = carried
            state[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = carried.T
            if j < 59:
                carried = f[j] @ carried
    k = state[::2, ::2]
    gain = k @ np.linalg.inv(k + np.diag(noise**2))
    np.testing.assert_allclose(found.mean, gain @ y, atol=12.0)
    np.testing.assert_allclose(found.variance, np.diag(k - gain @ k), rtol=0.05)


def test_arrays_match_parts() -> None:
    """The filter of many lanes believes nearly the same as the filter of one."""
    times, true = life(1)
    released = true + np.random.default_rng(7).normal(scale=1000, size=true.shape)
    one, many = Filter(PERSON), Beliefs(PERSON, 1)
    steps = Steps(PERSON, np.array([300.0]))
    apart = []
    for time, (x, y) in zip(times, released.tolist(), strict=True):
        one.step(time)
        one.update(x, y, 1000.0**2)
        if time:
            many.step(*steps.of(np.array([0])), np.array([-math.expm1(-300 / PERSON.lost)]), np.array([300.0]))
        many.update(np.array([[x, y]]), np.array([1e6]))
        parts = [(s[WEIGHT, :, 0], s[X, :, 0], s[Y, :, 0]) for s in (many.stays, many.moves)]
        weight, px, py = (np.concatenate(each) for each in zip(*parts, strict=True))
        mean = sum(a.weight * a.x for a in one.parts), sum(a.weight * a.y for a in one.parts)
        apart.append(math.dist(mean, (float(weight @ px), float(weight @ py))))
        assert weight.sum() == pytest.approx(1)
    assert np.median(apart) < 20
    assert math.dist(geometric_median(one.parts), true[-1]) < 1000


def test_extreme_tracks() -> None:
    """Months without a point, points at one time, and noise of any size leave finite estimates."""
    times = np.array([0.0, 0.0, 1e-3, 60.0, 9e6, 9e6 + 1, 2e8])
    released = np.random.default_rng(8).normal(scale=1e4, size=(7, 2))
    for noise in (1e-2, 10.0, 1e5, 1e9):
        found = smooth(released, times, noise, PERSON)
        assert np.isfinite(found.mean).all()
        assert (found.variance > 0).all()
    assert smooth(np.empty((0, 2)), np.empty(0), 1.0, PERSON).mean.shape == (0, 2)


def test_smooth_by_habits() -> None:
    """`smooth("person")` works on rows in any order, for several persons, and says what was assumed."""
    times, true = life(1)
    table = pd.DataFrame({"user": "ann", "time": pd.Timestamp("2026-05-04") + pd.to_timedelta(times, unit="s")})
    table[["x", "y"]] = true + np.array([550_000, 4_180_000])
    both = pd.concat([table, table.assign(user="bob", x=table["x"] + 2000)]).sample(frac=1, random_state=1)
    release = gv.Locations(both, person="user", crs=32610, rng=np.random.default_rng(9)).points(rho=1e-6)
    smoothed = release.smooth("person")
    exact = both[["x", "y"]].to_numpy()
    off, before = (rms(each.value[["x", "y"]].to_numpy(), exact) for each in (smoothed, release))
    assert off < 0.5 * before
    assert "stays, travels, and returns to places" in smoothed.certificate()["processed"][0]
    assert 0.2 < smoothed.expected_error() / off < 3
    with pytest.raises(InvalidData, match="as it was released"):
        smoothed.smooth("person")


def test_three_dimensions_are_refused() -> None:
    """Habits are about places in the plane; the remedy is a motion."""
    release = gv.Locations(np.zeros((3, 3)), rng=np.random.default_rng(1)).points(rho=1e-4)
    with pytest.raises(InvalidData, match="'walking'"):
        release.smooth("person", times=[0, 60, 120])
    release.smooth("walking", times=[0, 60, 120])
