"""Selections for many persons at once: the same laws as one by one, and every decision as in real arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import geoveil as gv
from geoveil.noise import Entropy, Experiment, Source, as_reals
from geoveil.queries import FirstWithin, Nearest, Persons, Points, Query, SupportHull, ask_each, convex, restored_each

ORIGIN = np.zeros(2)
#: The probability with which one test of a right law fails, for bits that are not fixed.
FALSE_ALARM = 1e-6
CGP, GP = gv.CGP(rho=1e-4), gv.GP(epsilon=2e-2)
QUERIES: dict[str, Callable[[int], Any]] = {
    "exponential": lambda n: Nearest(n, 2, CGP, p=ORIGIN, k=1),
    "permute and flip": lambda n: Nearest(n, 2, GP, p=ORIGIN, k=1),
    "paper": lambda n: Nearest(n, 2, CGP, "paper", p=ORIGIN, k=1),
    "paper, far below": lambda n: Nearest(n, 2, CGP, "paper", p=ORIGIN, k=1, gamma0=-20_000.0),
    "paper, far above": lambda n: Nearest(n, 2, CGP, "paper", p=ORIGIN, k=1, gamma0=2_000.0),
    "first within": lambda n: FirstWithin(n, 2, GP, p=ORIGIN, radius=150.0),
}
SEVERAL: dict[str, Callable[[int], Any]] = {
    "exponential": lambda n: Nearest(n, 2, CGP, p=ORIGIN, k=2),
    "permute and flip": lambda n: Nearest(n, 2, GP, p=ORIGIN, k=2),
    "paper": lambda n: Nearest(n, 2, CGP, "paper", p=ORIGIN, k=2),
}


def stream(seed: int, widened: float = 1.0) -> Entropy:
    """Return the exact path on a fixed stream of bytes."""
    return Entropy(np.random.default_rng(seed).bytes, widened=widened)


def alike(make: Callable[[int], Any], persons: int, n: int) -> Persons[Any]:
    """Return persons with n points each."""
    return Persons([make(n)], np.zeros(persons, dtype=np.int64))


def answered(persons: Persons[Any], x: Any, source: Source) -> Any:
    """Return all answers, without a report of progress."""
    return ask_each(persons, x, source, lambda share: None)


def expected(query: Any, distances: Any) -> Any:
    """Return the exact probability of each position; for first_within a last one of none."""
    if isinstance(query, FirstWithin):
        return query.mechanism.probabilities(distances, query.radius)
    return query.single.probabilities(distances)


def chance(found: Any, probabilities: Any) -> float:
    """Return the p-value of positions, each with this probability; -1 is the last of them."""
    counts = np.bincount(found % len(probabilities), minlength=len(probabilities))
    likely = probabilities * len(found) > 10
    counts = np.append(counts[likely], counts[~likely].sum())
    wanted = np.append(probabilities[likely], probabilities[~likely].sum()) * len(found)
    there = wanted > 1e-6
    assert counts[~there].sum() == 0
    return float(stats.chisquare(counts[there], wanted[there] * counts.sum() / wanted[there].sum()).pvalue)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("exact", [True, False])
def test_choices_have_exact_law(name: str, exact: bool) -> None:
    """Each person's choice has the exact law, and noise 20% off is told from it."""
    query, count = QUERIES[name](8), 40_000
    distances = np.array([130.0, 90.0, 400.0, 60.0, 250.0, 60.0, 800.0, 120.0])
    x = np.tile(np.column_stack([distances, np.zeros(8)]), (count, 1))
    source: Source = stream(11) if exact else Experiment(np.random.default_rng(11))
    values = answered(alike(QUERIES[name], count, 8), x, source).values.ravel()
    found = np.where(values < 0, -1, values % 8)
    classes = 9 if isinstance(query, FirstWithin) else 8
    probabilities = expected(query, distances)
    assert len(probabilities) == classes
    assert chance(found, probabilities) > FALSE_ALARM
    other = replace(query, guarantee=query.guarantee * 2)
    assert chance(found, expected(other, distances)) < 1e-12


@pytest.mark.statistical
@pytest.mark.parametrize("name", SEVERAL)
def test_second_neighbour_law(name: str) -> None:
    """Given the first, the second is found as if the first were not there; without that, the law is another."""
    count, distances = 40_000, np.array([130.0, 90.0, 400.0, 60.0, 250.0])
    persons = alike(SEVERAL[name], count, 5)
    x = np.tile(np.column_stack([distances, np.zeros(5)]), (count, 1))
    first, second = (answered(persons, x, stream(12)).values % 5).T
    assert (first != second).all()
    chosen = int(np.bincount(first).argmax())
    rest = np.delete(np.arange(5), chosen)
    after = np.searchsorted(rest, second[first == chosen])
    assert chance(after, persons.first.single.probabilities(distances[rest])) > FALSE_ALARM
    assert chance(after, np.full(4, 0.25)) < 1e-12


def crowd(seed: int, sizes: Any) -> Any:
    """Return the points of persons with these numbers of points, around a city far from the origin."""
    rng = np.random.default_rng(seed)
    return rng.normal(scale=500.0, size=(int(np.sum(sizes)), 2))


def different(make: Callable[[int], Any], sizes: Any) -> Persons[Any]:
    """Return persons with different numbers of points."""
    numbers, which = np.unique(sizes, return_inverse=True)
    return Persons([make(int(n)) for n in numbers], np.asarray(which, dtype=np.int64))


def test_together_as_one_by_one() -> None:
    """The exponential mechanism draws one variable a point, in their order, alone or together."""
    sizes = np.random.default_rng(3).integers(3, 30, size=500)
    sizes[[7, 300]] = 3000
    x = crowd(3, sizes)
    make: Callable[[int], Any] = lambda n: Nearest(n, 2, CGP, p=ORIGIN, k=3)  # noqa: E731
    persons = different(make, sizes)
    for sources in (
        (stream(4), stream(4)),
        (Experiment(np.random.default_rng(4)), Experiment(np.random.default_rng(4))),
    ):
        together = answered(persons, x, sources[0])
        alone = Query.ask_each.__func__(Nearest, persons, x, sources[1], lambda share: None)  # type: ignore[attr-defined]
        np.testing.assert_array_equal(together.values, np.array(alone.values))
        assert [a.query for a in together.each] == [a.query for a in alone.each]


@pytest.mark.parametrize("name", ["exponential", "permute and flip", "first within"])
def test_balls_choose_like_doubles(name: str) -> None:
    """The same bits give the same choices if every decision is taken in balls, also among ties."""
    sizes = np.full(60, 6)
    x = np.round(crowd(5, sizes), -2)
    persons, fast, slow = alike(QUERIES[name], 60, 6), stream(6), stream(6, np.inf)
    quick = answered(persons, x, fast).values
    np.testing.assert_array_equal(quick, answered(persons, x, slow).values)
    assert fast.refined < 5
    assert slow.refined >= 60
    assert len(np.unique(quick % 6)) > 1


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", ["paper", "paper, far below", "permute and flip", "first within"])
def test_doubts_keep_the_law(name: str) -> None:
    """Where bounds are so wide that most decisions are taken in balls, choices have the same law."""
    count, distances = 1500, np.array([130.0, 90.0, 60.0])
    x = np.tile(np.column_stack([distances, np.zeros(3)]), (count, 1))
    source = stream(8, 2.0**34)
    values = answered(alike(QUERIES[name], count, 3), x, source).values.ravel()
    assert source.refined > count / 100
    assert chance(np.where(values < 0, -1, values % 3), expected(QUERIES[name](3), distances)) > FALSE_ALARM


@pytest.mark.parametrize("name", [*QUERIES, "points", "places"])
def test_answers_are_restored(name: str) -> None:
    """What is stored gives the same answers again; rows get the names that the caller gives them."""
    makes: dict[str, Callable[[int], Any]] = {
        **QUERIES,
        "points": lambda n: Points(n, 2, CGP),
        "places": lambda n: Nearest(n, 2, CGP, p=ORIGIN, k=2, locations=0.5),
    }
    sizes = np.array([2, 5, 3, 5])
    persons = different(makes[name], sizes)
    drawn = answered(persons, as_reals(crowd(9, sizes)), stream(9))
    again = restored_each(persons, drawn.parts())
    np.testing.assert_array_equal(again.values, drawn.values)
    assert (again.coords is None) == (drawn.coords is None)
    for a, b in zip(again.each, drawn.each, strict=True):
        assert a.query is b.query
        assert a.mechanisms == b.mechanisms
        np.testing.assert_array_equal(a.value, b.value)
    if name != "points":
        named = drawn.renamed(np.arange(15) * 10 + 1).values
        np.testing.assert_array_equal(named, np.where(drawn.values < 0, -1, 10 * drawn.values + 1))
        starts = np.cumsum(sizes) - sizes
        rows = drawn.values.reshape(4, -1)
        assert ((rows == -1) | ((rows >= starts[:, None]) & (rows < np.cumsum(sizes)[:, None]))).all()


@pytest.mark.statistical
def test_neighbour_place_noise() -> None:
    """Released places of many persons' neighbours are about their points, with the query's own noise."""
    persons = alike(lambda n: Nearest(n, 2, CGP, p=ORIGIN, k=2, locations=0.5), 5000, 4)
    x = crowd(10, persons.sizes)
    drawn = answered(persons, x, stream(10))
    noise = (drawn.coords - x[drawn.values.ravel()]) / persons.first.placing.scale
    assert stats.kstest(noise.ravel(), "norm").pvalue > FALSE_ALARM
    assert stats.kstest(noise.ravel() / 1.2, "norm").pvalue < 1e-12
    np.testing.assert_array_equal(drawn.each[1].coords, drawn.coords[2:4])


HULLS: dict[str, Callable[[int], Any]] = {
    "noise limits": lambda n: SupportHull(n, 2, CGP),
    "many directions": lambda n: SupportHull(n, 2, gv.CGP(rho=1e-2)),
    "GP": lambda n: SupportHull(n, 2, GP),
    "solid": lambda n: SupportHull(n, 3, CGP),
    "half-spaces": lambda n: SupportHull(n, 6, CGP),
}


def begun_as(body: Any, other: Any) -> Any:
    """A polygon begun at the vertex of another: of two edges as long, the last bits decide which comes first."""
    if not (isinstance(body, np.ndarray) and body.shape == other.shape and body.shape[1] == 2):
        return body
    turns = [np.roll(body, turn, axis=0) for turn in range(len(body))]
    return min(turns, key=lambda turned: float(abs(turned - other).max()))


@pytest.mark.slow
@pytest.mark.parametrize("name", HULLS)
def test_hulls_as_each_alone(name: str) -> None:
    """Each has the body that fits their own values, restored or not, and the same bound on its error."""
    sizes = np.array([1, 4, 2, 300, 4, 17])
    persons = different(HULLS[name], sizes)
    x = np.random.default_rng(1).normal(scale=2000.0, size=(sizes.sum(), persons.first.dimension))
    drawn = answered(persons, x, stream(2))
    again = restored_each(persons, drawn.parts())
    for query, answer, other, values in zip(persons.each, drawn.each, again.each, drawn.parts(), strict=True):
        alone = query.restored({"support": values})
        for found in (answer, other):
            # Vertices, or the directions and offsets of half-spaces.
            for a, b in zip(begun_as(found.value, alone.value), alone.value, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-4)
            assert found.query is query
            assert found.mechanisms == query.mechanisms
    if persons.first.dimension == 2:
        bound = persons.each[3].restored({"support": drawn.parts()[3]}).error(0.05)
        assert drawn.each[3].error(0.05) == pytest.approx(bound)


def test_generator_hulls_alike() -> None:
    """A numpy generator draws normal variables one after another, alone or together."""
    sizes = np.random.default_rng(5).integers(1, 200, size=60)
    persons = different(HULLS["noise limits"], sizes)
    x = crowd(6, sizes)
    one_by_one: Any = Query.ask_each
    together = answered(persons, x, Experiment(np.random.default_rng(7)))
    alone = one_by_one.__func__(SupportHull, persons, x, Experiment(np.random.default_rng(7)), lambda share: None)
    for a, b in zip(together.each, alone.each, strict=True):
        np.testing.assert_allclose(a.support, b.support, atol=1e-7)
        np.testing.assert_allclose(a.value, b.value, atol=1e-4)


@pytest.mark.statistical
def test_support_noise() -> None:
    """Values of support functions have the noise that is stated.

    From the exact path, and on a grid; noise 20% off would be noticed.
    """
    sizes = np.random.default_rng(8).integers(1, 9, size=300)
    persons = different(HULLS["noise limits"], sizes)
    x = crowd(8, sizes)
    u = persons.first.directions
    true = np.array([(part @ u.T).max(axis=0) for part in np.split(x, np.cumsum(sizes)[:-1])])
    released = answered(persons, x, stream(8)).parts()
    scales = np.array([query.mechanism.scale for query in persons.each])[:, None]
    assert stats.kstest(((released - true) / scales).ravel(), "norm").pvalue > FALSE_ALARM
    assert stats.kstest(((released - true) / scales / 1.2).ravel(), "norm").pvalue < 1e-12
    cells = np.array([query.mechanism.grid for query in persons.each])[:, None]
    np.testing.assert_array_equal(np.rint(released / cells) * cells, released)
    assert len(np.unique(scales)) > 3


@pytest.mark.parametrize("noise", [30.0, 300.0, 3000.0, 30_000.0])
def test_pivoting_is_optimal(noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pivoting finds the optimum, also where noise is larger than the body and no edge may be left."""
    rng = np.random.default_rng(int(noise))
    body = np.cumsum(rng.normal(scale=500.0, size=(60, 20, 2)), axis=1)
    y = (body @ convex.directions(96).T).max(axis=1) + rng.normal(scale=noise, size=(60, 96))
    y[0] = -np.abs(y[0])
    h = convex.fitted(y, noise**2)
    monkeypatch.setattr(convex, "_STEPS", 0)
    wanted = convex.fitted(y, noise**2)
    assert (convex.edges(h) >= -1e-8 * np.abs(y).max()).all()
    np.testing.assert_allclose(h, wanted, atol=1e-7 * np.abs(y).max())
    assert np.abs(h - y).max() > noise / 10
