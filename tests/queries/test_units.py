"""Questions under units: constants of single steps, noise for each point, and mechanisms of many persons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import geoveil as gv
from geoveil.mechanisms import Exponential, PermuteAndFlip
from geoveil.privacy import CGP, GP, as_metric, stretch_sizes, unit_distance
from geoveil.queries import SUMMARIES, Points, SupportHull, UnitSizes
from geoveil.queries.constants import lipschitz, support_squared
from tests.oracle import SLACK, Floats, renyi, shifted
from tests.questions import release_of

UNIT = as_metric("1 day")


@pytest.mark.parametrize("budget", [{"rho": 1e-4}, {"epsilon": 0.02}], ids=["CGP", "GP"])
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("locations", [None, 0.5])
def test_selection_by_person(
    budget: dict[str, Any], order: int, locations: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person with one point in each unit does not decide the noise of a person with many, whoever comes first."""
    used = []
    for kind in (Exponential, PermuteAndFlip):
        for name in ("sample_each", "sample_several"):
            drawn = getattr(kind, name)

            def noted(self: Any, distances: Any, *more: Any, drawn: Any = drawn) -> Any:
                used.append((len(distances), self.spread))
                return drawn(self, distances, *more)

            monkeypatch.setattr(kind, name, noted)
    x = np.column_stack([np.arange(9.0) * 100, np.zeros(9)])[::order]
    by = np.array(["ann"] + ["bob"] * 8)[::order]
    cases: list[tuple[dict[str, Any], Any]] = [({}, None), ({"protect": "1 day"}, 1.7e9 + np.arange(9) * 3600.0)]
    for more, times in cases:
        used.clear()
        rng = np.random.default_rng(1)
        found = release_of(
            "nearest", x, [0, 0], person=by, times=times, rng=rng, k=1, locations=locations, **more, **budget
        )
        assert sorted(used) == [(1, 1.0), (8, 2.0)]
        rows = found.value["nearest"].to_numpy()
        assert [by[row] for row in rows] == [*dict.fromkeys(by)]


# -------------------------------------------------------------------------------------- constants of a single step


def _triangles(x: Floats) -> Floats:
    """The radius of the smallest enclosing ball of at most three points."""
    n = x.shape[1]
    sides = [np.linalg.norm(x[:, i] - x[:, j], axis=1) for i in range(n) for j in range(i)]
    if n < 3:
        return sum(sides, np.zeros(len(x)))[:, None] / 2
    a, b, c = np.sort(sides, axis=0)
    area = np.sqrt(np.maximum((a + b + c) * (b + c - a) * (a + c - b) * (a + b - c), 1e-300)) / 4
    return np.asarray(np.where(a**2 + b**2 <= c**2, c / 2, a * b * c / (4 * area))[:, None])


def _diameter(x: Floats) -> Floats:
    return np.asarray(np.linalg.norm(x[:, :, None] - x[:, None], axis=3).max(axis=(1, 2))[:, None])


def _gyration(x: Floats) -> Floats:
    return np.asarray(np.sqrt(np.square(x - x.mean(axis=1, keepdims=True)).sum(axis=2).mean(axis=1))[:, None])


#: The questions, written anew for many tuples at once: (count, n, d) arrays of points to (count, k) arrays of values.
VALUES: dict[str, Callable[[Floats], Floats]] = {
    "bounds": lambda x: np.concatenate([x.min(axis=1), x.max(axis=1)], axis=1),
    "center": lambda x: (x.min(axis=1) + x.max(axis=1)) / 2,
    "diameter": _diameter,
    "distance": lambda x: np.linalg.norm(x - 0.3, axis=2).min(axis=1)[:, None],
    "mean": lambda x: x.mean(axis=1),
    "median": lambda x: np.median(x, axis=1),
    "radius": _triangles,
    "radius_of_gyration": _gyration,
}


def fastest(
    value: Callable[[Floats], Floats], n: int, d: int, m: int, constant: float, starts: int = 40, begin: Any = None
) -> float:
    """The largest change of a value in a step of m points, over its constant, by local maximisation from many starts.

    The search ends early when it has found nearly all of the constant and has looked for more.
    """
    rng = np.random.default_rng([n, d, m])
    step, tiny = 1e-2, 1e-6
    size = n * d

    def changes(z: Floats) -> Floats:
        x, way = z[:, :size].reshape(-1, n, d), z[:, size:].reshape(-1, m, d)
        moved = x.copy()
        moved[:, :m] += step * way / np.maximum(np.linalg.norm(way, axis=2, keepdims=True), 1e-300)
        return np.asarray(np.linalg.norm(value(moved) - value(x), axis=1) / step)

    def downhill(z: Floats) -> tuple[float, Floats]:
        found = changes(np.concatenate([z[None], z + tiny * np.eye(len(z))]))
        return -float(found[0]), -(found[1:] - found[0]) / tiny

    best = 0.0
    for start in range(starts):
        x = rng.normal(size=(n, d)) if begin is None else begin(rng)
        if begin is None and start % 3:
            # Those that stand still are in the middle of the others, or around them.
            x[m:] = 0.05 * x[m:] + x[:m].mean(axis=0) if start % 3 == 1 else 20 * x[m:]
        z = np.concatenate([x.ravel(), rng.normal(size=m * d)])
        found = minimize(downhill, z, jac=True, method="L-BFGS-B", options={"maxiter": 30})
        best = max(best, -float(found.fun) / constant)
        if best >= 0.99 and start >= 2:
            break
    return best


def tight(name: str, n: int, d: int, m: int) -> bool:
    """Whether a constant is claimed to be attained.

    These are not, and are larger than need be:

    - diameter, radius and radius of gyration of a single point, which are always 0;
    - radius of gyration on a line, if an odd number m ≥ 3 of points moves: velocities of ±1 do not add up to 0;
    - center and median of an even number of points, if an odd number m of points moves, 3 ≤ m < 2d: one of them has no
      partner of its own; the search still finds more than 98% of the constant.
    """
    if n == 1 and name in ("diameter", "radius", "radius_of_gyration"):
        return False
    return not (name == "radius_of_gyration" and d == 1 and m % 2 and m > 1)


CASES = [(n, d, m) for n in (1, 2, 3, 4, 5) for d in (1, 2, 3) for m in range(1, n + 1)]


def check_constants(name: str, cases: list[tuple[int, int, int]] = CASES) -> None:
    """No single step changes the value by more than its constant, and some step by at least 98% of it."""
    for n, d, m in cases:
        if name == "radius" and n > 3:
            continue
        constant = lipschitz(name, n=n, d=d, metric=UNIT, largest=m)
        found = fastest(VALUES[name], n, d, m, constant, 40 if tight(name, n, d, m) else 3)
        assert found <= 1 + 1e-9, (name, n, d, m, found)
        assert found >= 0.98 or not tight(name, n, d, m), (name, n, d, m, found)


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUES)
def test_step_constants_are_tight(name: str) -> None:
    """A search over tuples and over the movements of m of their points finds at least 98% of each tight constant."""
    check_constants(name)


@pytest.mark.parametrize("name", sorted({*VALUES} - {"distance"}))
def test_search_values_agree(name: str) -> None:
    """The functions written anew agree with the package's."""
    rng = np.random.default_rng(3)
    for n, d in ((1, 2), (2, 1), (3, 3), (3, 2)):
        x = rng.normal(size=(n, d)) * 100
        query = SUMMARIES[name](n, d, gv.CGP(rho=1))
        assert VALUES[name](x[None])[0] == pytest.approx(query.evaluate(x).values.ravel(), abs=1e-9)


@pytest.mark.parametrize("name", SUMMARIES)
def test_questions_keep_constants(name: str) -> None:
    """Random and tied tuples of up to eight points, of which some move: the package's own values obey the constant."""
    rng = np.random.default_rng(4)
    for _ in range(150):
        n, d = int(rng.integers(1, 9)), int(rng.integers(1, 4))
        m = int(rng.integers(1, n + 1))
        query = SUMMARIES[name](n, d, gv.CGP(rho=1, metric=UNIT), units=UnitSizes(m))
        x = rng.normal(size=(n, d)) if rng.random() < 0.5 else rng.integers(-1, 2, (n, d)).astype(float)
        way = rng.normal(size=(m, d))
        y = x.copy()
        y[:m] += 10 ** rng.uniform(-6, 2) * way / np.linalg.norm(way, axis=1).max()
        step = np.linalg.norm(y - x, axis=1).max()
        change = np.linalg.norm(query.evaluate(y).values - query.evaluate(x).values)
        assert change <= query.constant * step * (1 + 1e-9) + 1e-12


def check_support(d: int, k: int, most: int = 5) -> dict[int, float]:
    """No step changes the k values of the support function by more than the constant; returns the shares found."""
    shares: dict[int, float] = {}
    for n, m in [(count, moving) for count in (1, 2, 3, 4, most) for moving in range(1, count + 1)]:
        query = SupportHull(n, d, gv.CGP(rho=1, metric=UNIT), k=k, units=UnitSizes(m))
        u = query.directions

        def corners(rng: np.random.Generator, n: int = n, m: int = m) -> Floats:
            """Points that share all directions equally; if one of them moves, it has those of a half turn."""
            if d == 3 or m == 1:
                x = np.repeat(rng.normal(size=(1, d)), n, axis=0)
                x[1:] *= -1
                return x
            angle = 2 * np.pi * (np.arange(n) / m + rng.random())
            return np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(np.arange(n) < m, 1.0, 0.1)[:, None]

        constant = float(support_squared(len(u), n, m, d)) ** 0.5
        share = fastest(lambda x, u=u: (x @ u.T).max(axis=1), n, d, m, constant, 12, corners)  # type: ignore[misc]
        assert share <= 1 + 1e-9, (d, k, n, m, share)
        if n == 1 or m == 1 or (d == 2 and k % m == 0):
            # Otherwise directions cannot be shared out in equal arcs; in space every direction is taken to move by 1.
            assert share >= 0.98, (d, k, n, m, share)
        shares[m] = max(share, shares.get(m, 0.0))
    return shares


@pytest.mark.slow
@pytest.mark.parametrize(("d", "k"), [(2, 8), (2, 12), (2, 96), (3, 54)])
def test_support_constants_are_tight(d: int, k: int) -> None:
    """Every unit size in the plane finds at least 95% of its constant, and 98% where arcs can be equal."""
    shares = check_support(d, k)
    assert d == 3 or min(shares.values()) >= 0.95


# --------------------------------------------------------------------------------------------- noise of each point


def log_densities(query: Points, sizes: Any, shift: float) -> list[tuple[Floats, Floats, Floats]]:
    """Exact log-densities of each point's noise at two places `shift` apart, and weights of the quadrature."""
    mechanisms, which = query._of_sizes(np.asarray(sizes))
    each = [shifted(mechanism, shift) for mechanism in mechanisms]
    return [each[i] for i in which]


def check_points(guarantee: CGP | GP) -> float:
    """The divergence of all points' noise is within the guarantee for every step; returns the largest share used."""
    times = np.array([0, 1, 2, 3, 10, 20, 30, 31, 50, 52]) * 3600 * 10**6
    stretch = guarantee.metric.stretch
    assert stretch is not None
    sizes = stretch_sizes(times, stretch)
    query = Points(len(times), 1, guarantee, units=UnitSizes(int(sizes.max()), sizes))
    units = [np.flatnonzero((times >= t) & (times <= t + stretch)) for t in times]
    used = 0.0
    for length in (0.5, 20.0):
        each = log_densities(query, sizes, length)
        for unit in units:
            if isinstance(guarantee, GP):
                share = sum(float(np.abs(each[i][0] - each[i][1]).max()) for i in unit)
                used = max(used, share / (float(guarantee.epsilon) * length))
                continue
            for alpha in (1.1, 2.0, 10.0):
                share = sum(renyi(each[i][0], each[i][1], alpha, each[i][2]) for i in unit)
                used = max(used, share / (alpha * float(guarantee.rho) * length**2))
    # Chains of steps: points of several units move, each by a different distance.
    rng = np.random.default_rng(6)
    scales = query.point_scales(sizes)
    assert scales is not None
    for _ in range(40):
        moved = rng.exponential(size=len(times)) * (rng.random(len(times)) < 0.5) * 10
        far = unit_distance(np.zeros((len(times), 1)), moved[:, None], [unit.tolist() for unit in units])
        if far > 0:
            part: Any = moved / scales
            loss = (
                part.sum() / far / float(guarantee.budget)
                if isinstance(guarantee, GP)
                else (np.square(part).sum() / 2 / far**2 / float(guarantee.budget))
            )
            used = max(used, float(loss))
    assert used <= 1 + SLACK, (guarantee, used)
    return used


@pytest.mark.parametrize("guarantee", [CGP(rho=1e-4, metric="1 day"), GP(epsilon=0.02, metric="1 day")], ids=str)
def test_point_noise_is_tight(guarantee: CGP | GP) -> None:
    """The noise of each point is within the guarantee and meets it.

    Exact densities of all points in a stretch: the divergence is within the budget, and all of it is used.
    """
    assert check_points(guarantee) >= 0.99
