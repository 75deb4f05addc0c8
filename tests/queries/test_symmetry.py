"""Questions about sets: the order of a person's points does not change the law of the answer, and releases say so."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

import geoveil as gv
from geoveil.noise import Entropy
from geoveil.queries import SUMMARIES, Points, SupportHull, UnitSizes
from geoveil.queries.summaries import Mean

pytestmark = pytest.mark.once

X = np.random.default_rng(1).normal(scale=300, size=(4, 2))
SETS = [*SUMMARIES, "hull", "distance"]


def query(name: str, n: int, metric: str = "inf") -> Any:
    """The query behind a question about n points."""
    guarantee = gv.CGP(rho=1e-4, metric=metric)
    if name == "hull":
        return SupportHull(n, 2, guarantee)
    if name == "distance":
        locations = gv.Locations(np.zeros((n, 2)), rng=np.random.default_rng(0))
        return locations.distance([10.0, 20.0], rho=gv.CGP(rho=1e-4, metric=metric)).answers[0].query
    return SUMMARIES[name](n, 2, guarantee)


def answer(asked: Any, x: np.ndarray) -> bytes:
    """The answer with the bits of one stream, as bytes."""
    found = asked.ask(x, Entropy(np.random.default_rng(7).bytes)).value
    return (
        np.asarray(getattr(found, "values", found), dtype=float).tobytes() if not hasattr(found, "wkb") else found.wkb
    )


def is_symmetric(asked: Any) -> bool:
    """Whether the same bits give the same answer to all orders of four points, to the last bit."""
    return len({answer(asked, X[list(order)]) for order in itertools.permutations(range(4))}) == 1


@pytest.mark.parametrize("metric", ["inf", "2", "1"])
@pytest.mark.parametrize("name", SETS)
def test_the_order_changes_nothing(name: str, metric: str) -> None:
    """A question that says that it is about a set answers all orders of its points alike."""
    asked = query(name, 4, metric)
    assert asked.unordered
    assert is_symmetric(asked)


def test_points_in_order_are_no_set() -> None:
    """Released points come in the order of the data, and nobody says otherwise."""
    asked = Points(4, 2, gv.CGP(rho=1e-4))
    assert not asked.unordered
    assert not is_symmetric(asked)


def test_units_of_time_tell_points_apart() -> None:
    """Under the metric of any day the order of points is that of their days."""
    day = gv.CGP(rho=1e-4, metric="1 day")
    assert not Mean(4, 2, day, units=UnitSizes(2)).unordered


def weighted_by_row(patch: pytest.MonkeyPatch) -> None:
    """A mean whose rows have weights of their own."""
    from geoveil.noise import as_reals

    patch.setattr(Mean, "evaluate", lambda query, x: as_reals(np.average(x, axis=0, weights=[1, 2, 3, 4])))


def first_point(patch: pytest.MonkeyPatch) -> None:
    """A place that is the first point of the data."""
    from geoveil.noise import as_reals

    patch.setattr(Mean, "evaluate", lambda query, x: as_reals(np.asarray(x, dtype=float)[0]))


@pytest.mark.parametrize("plant", [weighted_by_row, first_point])
def test_an_order_that_matters_is_caught(monkeypatch: pytest.MonkeyPatch, plant: Any) -> None:
    """A value that depends on the order does not pass for one of a set."""
    plant(monkeypatch)
    assert not is_symmetric(query("mean", 4))


def bottleneck(x: np.ndarray, y: np.ndarray) -> float:
    """The bottleneck distance: the largest distance of the matching whose largest distance is smallest."""
    apart = cdist(x, y)
    lengths = np.unique(apart)
    for length in lengths:
        missed = (apart > length).astype(int)
        rows, columns = linear_sum_assignment(missed)
        if missed[rows, columns].sum() == 0:
            return float(length)
    return float(lengths[-1])


@pytest.mark.parametrize("name", SETS)
def test_noise_suffices_for_the_bottleneck_distance(name: str) -> None:
    """Between sets in any two orders the true values differ by no more than the noise was made for."""
    rng, asked = np.random.default_rng(2), query(name, 4)
    for _ in range(40):
        x = rng.normal(scale=300, size=(4, 2))
        y = (x + rng.normal(scale=50, size=(4, 2)))[rng.permutation(4)]
        if name == "hull":
            angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
            u = np.column_stack([np.cos(angles), np.sin(angles)])
            moved = np.abs((x @ u.T).max(axis=0) - (y @ u.T).max(axis=0)).max()
            assert moved <= bottleneck(x, y) * (1 + 1e-9)
        else:
            values = [np.ravel(asked.evaluate(each).values) for each in (x, y)]
            moved = float(np.linalg.norm(values[0] - values[1]))
            assert moved <= asked.mechanism.lipschitz * bottleneck(x, y) * (1 + 1e-9)
            assert moved <= asked.mechanism.scale * np.sqrt(2 * 1e-4) * bottleneck(x, y) * (1 + 1e-9)


def test_the_order_of_a_crowd_changes_nothing() -> None:
    """A heat map of persons is that of their points in any order; slices of time tell points apart."""
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"user": np.repeat(["ann", "bob", "eve"], [3, 5, 2]), "time": pd.Timestamp("2026-05-04")})
    table[["lat", "lon"]] = rng.normal(scale=0.01, size=(10, 2)) + np.array([37.77, -122.42])
    table["time"] += pd.to_timedelta(np.arange(10), unit="h")

    def drawn(rows: pd.DataFrame, **more: Any) -> gv.CrowdHeatMap:
        area = gv.local(lat=37.77, lon=-122.42, radius=8000)
        found = gv.Locations(rows, person="user", area=area, rng=np.random.default_rng(5)).heatmap(
            2000, rho=1e-4, **more
        )
        assert isinstance(found, gv.CrowdHeatMap)
        return found

    whole = drawn(table)
    for seed in range(3):
        shuffled = drawn(table.sample(frac=1, random_state=seed))
        np.testing.assert_allclose(np.asarray(shuffled.value), np.asarray(whole.value), atol=1e-9)
    assert "if the order of a person's points is secret" in whole.certificate()["words"]
    assert "order" not in drawn(table, every="6 hours").certificate()["words"]


def test_releases_say_whether_their_order_is_hidden() -> None:
    """The certificate of a set does not list the order among what is public; that of points does."""
    data = gv.Locations(X, rng=np.random.default_rng(3))
    center, points = data.center(rho=1e-4).certificate(), data.points(rho=1e-4).certificate()
    assert "under the bottleneck distance" in center["words"]
    assert "their order" not in center["public"]
    assert "bottleneck" not in points["words"]
    assert "their order" in points["public"]
    together = data.mean(rho=gv.CGP(rho=1e-4, metric="1")).certificate()
    assert "under the best matching of points" in together["words"]
