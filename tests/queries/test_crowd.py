"""Crowd questions: exact constants, exact sums, noise that follows its law, and parameters that are checked."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize

from geoveil.errors import InvalidData, InvalidParameter
from geoveil.mechanisms import Gaussian, Laplace
from geoveil.noise import Entropy, Experiment, as_reals
from geoveil.privacy import CGP, GP
from geoveil.queries.crowd import CrowdMap, CrowdQuery, Flows, Lattice, MapBeside, PlaceSums, RegionCounts, Regions
from geoveil.queries.crowd.kernel import flow_constant, heat_constant, square_sums
from geoveil.queries.crowd.sums import place_error
from geoveil.queries.crowd.variation import FISHER, flow_variation, variation
from tests.crowds import (
    Floats,
    changed,
    evaluated,
    exact_slope,
    exact_spline,
    exact_value,
    fastest,
    kernel,
    model_changed,
    modelled,
    random_steps,
    spline,
)
from tests.oracle import SLACK, additive_tightness

pytestmark = pytest.mark.slow

RHO = CGP(rho=5e-5, metric="1")
EPSILON = GP(epsilon=0.01, metric="1")
CELL = 100.0
#: Weights of the places of one person: they add up to 1.
SHARES = np.array([0.5, 0.5])


def lattice(cells: int, west: float = -350.0, south: float = 1200.0) -> Lattice:
    """A square lattice."""
    return Lattice(west, south, CELL, cells, cells)


def middle(cells: int, count: int) -> Floats:
    """The centre of the middle cell, once for each of so many places."""
    at = lattice(cells)
    return np.tile([at.west + (cells // 2 + 0.5) * CELL, at.south + (cells // 2 + 0.5) * CELL], (count, 1))


def halves(at: Lattice) -> Regions:
    """Two half-planes that meet between two columns of cells near the middle."""
    left = np.tile(np.arange(at.columns) < at.columns // 2, at.rows)
    return Regions(at, np.array([left, ~left], dtype=float))


# ---------------------------------------------------------------------------------------------- closed forms


def sums_of_squares(m: int, t: Fraction) -> tuple[Fraction, Fraction]:
    """A(t) and B(t) as the docstring of `kernel` has them."""
    q, seventh = t * (1 - t), Fraction(1, m**7)
    a = Fraction(4 * m**4 - 1, 6) * seventh + 5 * seventh * q**2
    b0 = (Fraction(151, 315) + Fraction(1, 135 * m**4) + Fraction(5, 378 * m**6)) / m
    return a, b0 - Fraction(4 * m**2 + 5, 18) * seventh * q**2 - Fraction(5, 9) * seventh * q**3


@pytest.mark.parametrize("m", range(1, 21))
def test_sums_of_squares(m: int) -> None:
    """A and B are polynomials of degree at most 6 between centres; they agree with the formulas at seven points."""
    for t in (Fraction(k, 6) for k in range(7)):
        cells = range(-2 * m, 2 * m + 2)
        slopes = sum((exact_slope((t - i) / m) / m**2) ** 2 for i in cells)
        values = sum((exact_spline((t - i) / m) / m) ** 2 for i in cells)
        assert (slopes, values) == sums_of_squares(m, t)
    centre, edge = sums_of_squares(m, Fraction(0)), sums_of_squares(m, Fraction(1, 2))
    assert square_sums(m) == (centre[0], edge[0], centre[1], edge[1])


def test_proof_inequalities() -> None:
    """The proofs for maps and flows need three inequalities between the coefficients of A and B."""
    for m in range(1, 65):
        slope, value = square_sums(m)[1], square_sums(m)[2]
        least = square_sums(m).value_at_edge
        b2, b3, a2 = Fraction(4 * m**2 + 5, 18 * m**7), Fraction(5, 9 * m**7), Fraction(5, m**7)
        gamma = (2 * b2 + Fraction(3, 4) * b3) ** 2 / (8 * a2)
        assert gamma <= value / 9, m
        rest = 1 - gamma / value
        assert (b2 + Fraction(3, 8) * b3) * slope / (a2 * least) <= rest / 2, m
        assert 2 * gamma * value <= least * value * rest / 2, m


def test_narrowest_kernel_constants() -> None:
    """K² = 13/32 for maps."""
    assert 13 / 32 <= Fraction(heat_constant(1)) ** 2 < 13 / 32 + 2.0**-51
    assert flow_constant(1) == pytest.approx(0.432323, abs=1e-6)


# ----------------------------------------------------------------------------- constants, tight and never too small


def check_constant(query: CrowdQuery[Any], count: int = 2, *, starts: int = 6) -> tuple[Floats, Floats]:
    """A search finds nearly the constant and never more; returns the two versions of a unit that it finds.

    The unit has `count` items of equal weight. The climb uses the kernel's definition. What it finds, and random
    steps, are evaluated by the package.
    """
    ends = 2 if isinstance(query, Flows) else 1
    weights = np.full(count, query.weight / count)
    centre = middle(query.lattice.rows, count * ends)

    def change(before: Floats, after: Floats) -> float:
        return changed(query, before.reshape(count, -1), after.reshape(count, -1), weights)

    for before, after, length in random_steps(centre, CELL, 60):
        assert change(before, after) <= query.constant * (length + 2 * query.sums_rounding)
    climbed, before, after = fastest(partial(model_changed, query), centre[:ends], CELL, starts=starts)
    assert climbed * query.weight <= query.constant * (1 + 1e-9)
    before, after = (np.tile(version, (count, 1)) for version in (before, after))
    found = change(before, after) / float(np.linalg.norm(after[0] - before[0]))
    assert 0.98 * query.constant <= found <= query.constant * (1 + 1e-9), (found, query.constant)
    return before, after


@pytest.mark.parametrize("side", [1, 2, 3])
def test_map_constant_attained(side: int) -> None:
    """The constant of a map is attained. Two places of one person, each of half its weight."""
    check_constant(CrowdMap(2, 2, RHO, lattice=lattice(4 * side + 3), side=side))


def test_constant_grows_with_weight() -> None:
    """A person of three visits counts three times."""
    check_constant(CrowdMap(3, 2, RHO, lattice=lattice(7), weight=3.0, total=3.0), 3)


@pytest.mark.parametrize("side", [1, 2])
def test_count_constant_attained(side: int) -> None:
    """The constant of counts is attained by two half-planes. At the edge between them."""
    at = lattice(4 * side + 4)
    check_constant(RegionCounts(2, 2, RHO, lattice=at, side=side, regions=halves(at)))


def counts_with_map(n: int, *, gain: float | None = None, guarantee: CGP = RHO, **how: Any) -> RegionCounts:
    """Counts in two half-planes beside a map of cells three times as large, an edge of which is where they meet.

    Without a gain, counts and map share the budget equally.
    """
    at = lattice(24)
    around = Lattice(at.west, at.south - CELL, 3 * CELL, 9, 8)
    alone = RegionCounts(n, 2, guarantee, lattice=at, regions=halves(at), **how)
    even = alone.counts_constant / MapBeside(around, 2, 1.0).constant
    return replace(alone, beside=MapBeside(around, 2, even if gain is None else gain))


def check_counts_with_map(gain: float | None = None) -> None:
    """A place that crosses from one half-plane to the other, along the middle of a row of the map."""
    check_constant(counts_with_map(2, gain=gain))


@pytest.mark.parametrize("gain", [None, 0.1, 30.0])
def test_counts_with_map_attained(gain: float | None) -> None:
    """The constant of counts with a map is attained.

    Where those of both are: it is the root of the sum of their squares.
    """
    check_counts_with_map(gain)


def test_shared_budget() -> None:
    """With equal shares each has the noise that it has alone for half of the budget."""
    query, half = counts_with_map(2), CGP(rho=RHO.rho / 2, metric="1")
    assert query.beside is not None
    alone = replace(query, beside=None, guarantee=half)
    around = CrowdMap(2, 2, half, lattice=query.beside.lattice, side=query.beside.side)
    assert query.mechanism.scale == pytest.approx(alone.mechanism.scale)
    assert query.mechanism.scale / query.beside.gain == pytest.approx(around.mechanism.scale)
    assert query.error(0.05) == pytest.approx(alone.error(0.05))
    assert query.error(0.05, each=True) == pytest.approx(alone.error(0.05, each=True))
    assert query.zcdp().rho == pytest.approx(alone.zcdp().rho + around.zcdp().rho)


def test_counts_with_map_parts() -> None:
    """Both parts, by slice, are those of the queries alone; sums of two processes are added."""
    rng = np.random.default_rng(4)
    query = counts_with_map(50, slices=2)
    assert query.beside is not None
    x, slices = middle(24, 50) + rng.uniform(-1500, 1500, size=(50, 2)), rng.integers(0, 2, 50)
    sums, more = query.accumulator(), query.accumulator()
    sums.add(x[:20], slices=slices[:20])
    more.add(x[20:], slices=slices[20:])
    sums.merge(more)  # type: ignore[arg-type]
    counts, maps = query.parts(query.value(sums))
    around = CrowdMap(50, 2, RHO, lattice=query.beside.lattice, side=query.beside.side)
    for index in range(2):
        chosen = x[slices == index]
        np.testing.assert_allclose(counts[index], evaluated(replace(query, beside=None, slices=1), chosen))
        np.testing.assert_allclose(np.asarray(maps)[index].ravel(), evaluated(around, chosen), atol=1e-12)
    assert query.ask_sums(sums, Experiment(np.random.default_rng(1))).value.shape == (2, 2 + 72)


def test_counts_with_map_checks() -> None:
    """Parameters tell maps apart; Laplace noise, which grows with the cells, has none beside."""
    query, other = counts_with_map(2), counts_with_map(2, gain=0.5)
    assert query.comparable
    assert json.loads(json.dumps(query.parameters())) == query.parameters() != other.parameters()
    assert query.parameters()["map_cell"] == 3 * CELL
    with pytest.raises(InvalidParameter, match="beside"):
        replace(query, method="both")
    with pytest.raises(InvalidParameter, match="gain"):
        MapBeside(lattice(3), 1, 0.0)


def check_flows(side: int = 1) -> None:
    """Both ends of a trip move."""
    check_constant(Flows(1, 2, RHO, lattice=lattice(4 * side + 1), side=side), 1, starts=4)


@pytest.mark.parametrize("side", [1, 2])
def test_flow_constant_attained(side: int) -> None:
    """It is smaller than √2·K·max‖κ‖, and a search finds it."""
    check_flows(side)
    assert flow_constant(side) < math.sqrt(2) * heat_constant(side) * float(square_sums(side).value_at_centre)


@settings(max_examples=40)
@given(data=st.data())
def test_no_step_is_faster(data: st.DataObject) -> None:
    """Steps of any length from any place, inside, at the border and outside of the lattice."""
    side = data.draw(st.sampled_from([1, 2, 4]))
    at = Lattice(-100, 50, 80.0, 6, 4)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    shares = rng.random((3, at.cells)) * (rng.random((3, at.cells)) < 0.7)
    kind = data.draw(st.sampled_from(["map", "counts", "counts with map", "flows", "regional flows"]))
    regions = Regions(at, shares)
    query: CrowdQuery[Any]
    if kind == "map":
        query = CrowdMap(2, 2, RHO, lattice=at, side=side)
    elif kind.startswith("counts"):
        beside = MapBeside(Lattice(-130, 20, 170.0, 4, 3), 2, 5.0) if kind == "counts with map" else None
        query = RegionCounts(2, 2, RHO, lattice=at, side=side, regions=regions, beside=beside)
    else:
        query = Flows(2, 2, RHO, lattice=at, side=side, regions=None if kind == "flows" else regions)
    width = 4 if isinstance(query, Flows) else 2
    before = rng.uniform(-400, 800, size=(2, width))
    angle = rng.uniform(0, 2 * np.pi, size=(2, width // 2))
    length = 10 ** rng.uniform(-3, 3)
    after = before + length * np.stack([np.cos(angle), np.sin(angle)], axis=2).reshape(2, width)
    change = np.linalg.norm(evaluated(query, after, SHARES) - evaluated(query, before, SHARES))
    assert change <= query.constant * (length + 2 * query.sums_rounding) * (1 + 1e-9)


def rates(t: Floats, theta: float, m: int) -> Floats:
    """The derivatives of all kernels in a direction, from differences of splines of degree 2; lengths in cells."""
    i = np.arange(-2 * m - 1, 2 * m + 3)
    (p, dp), (q, dq) = (
        (spline((a - i) / m) / m, (spline((a - i) / m + 0.5, 2) - spline((a - i) / m - 0.5, 2)) / m**2) for a in t
    )
    return math.cos(theta) * np.outer(dp, q) + math.sin(theta) * np.outer(p, dq)


@pytest.mark.parametrize("m", [1, 2, 3, 5, 8])
def test_total_variation_bound(m: int) -> None:
    """The total variation is bounded closely.

    A search over places and directions finds 99% of the bound and never more, and two regions attain it.
    """
    rng = np.random.default_rng(3)
    best, found = 0.0, np.zeros(3)
    for start in range(8):
        z = (
            np.append(rng.random(2), rng.uniform(0, np.pi))
            if start > 1
            else np.array([[0.5, 0, 0], [0.25, 0.25, 0.8]])[start]
        )
        result = minimize(
            lambda z: -np.abs(rates(z[:2], z[2], m)).sum(), z, method="Nelder-Mead", options={"maxfev": 300}
        )
        if -result.fun > best:
            best, found = -result.fun, result.x
    assert 0.99 * variation(m) <= best <= variation(m)
    change = rates(found[:2], found[2], m)
    two = np.array([change[change > 0].sum(), change[change <= 0].sum()])
    assert np.linalg.norm(two) >= 0.99 * variation(m) * math.sqrt(1 / 2)


def test_fisher_information_bound() -> None:
    """The Fisher information is bounded.

    (FISHER - Σ p'²/p)·p(t)·p(1-t) is positive: its coefficients in Bernstein polynomials of q = t(1-t) are.
    """

    def poly(*coefficients: Fraction | int) -> np.ndarray[Any, Any]:
        return np.array([Fraction(c) for c in coefficients], dtype=object)

    inner = poly(Fraction(2, 3), 0, -1, Fraction(1, 2))  # p(t), from the lowest power
    slope = poly(0, -2, Fraction(3, 2))

    def turned(p: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """p(1 - t)."""
        total = poly(0)
        for c in p[::-1]:
            total = np.convolve(total, poly(1, -1))
            total[0] += c
        return total

    def plus(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        size = max(len(a), len(b))
        long = [np.array([*each, *[Fraction(0)] * (size - len(each))], dtype=object) for each in (a, b)]
        return np.asarray(long[0] + long[1])

    left = np.convolve(np.convolve(slope, slope), turned(inner))
    allowed = (Fraction(FISHER) - Fraction(3, 2)) * np.convolve(inner, turned(inner))
    rest = plus(allowed, -plus(left, turned(left)))
    in_q = []
    while any(rest):  # divide by q = t - t²: the constant is the value at t = 0
        in_q.append(rest[0])
        rest = rest - np.array([in_q[-1], *[Fraction(0)] * (len(rest) - 1)])
        quotient, carry = [], Fraction(0)
        for c in rest[1:]:
            carry += c
            quotient.append(carry)
        assert carry == 0
        rest = np.array(quotient[:-1] or [Fraction(0)], dtype=object)
    scaled = [c / 4**k for k, c in enumerate(in_q)]  # in s = 4q, from 0 to 1
    n = len(scaled) - 1
    for part in range(32):  # s = (part + r)/32, r from 0 to 1
        within = [
            sum(math.comb(k, j) * scaled[k] * Fraction(part) ** (k - j) / 32**k for k in range(j, n + 1))
            for j in range(n + 1)
        ]
        bernstein = [
            sum(Fraction(math.comb(i, k), math.comb(n, k)) * within[k] for k in range(i + 1)) for i in range(n + 1)
        ]
        assert min(bernstein) > 0
    t = Fraction(11, 40)
    assert float(sum(exact_slope(t - i) ** 2 / exact_spline(t - i) for i in range(-1, 3))) > 0.9999 * FISHER


def test_half_plane_flows() -> None:
    """The bound is below 2·K_counts, and a search finds no faster change."""
    at = lattice(8)
    query = Flows(1, 2, RHO, lattice=at, regions=halves(at))
    counts = RegionCounts(1, 2, RHO, lattice=at, regions=halves(at))
    assert query.constant < 1.7 * counts.constant

    best, *_ = fastest(partial(model_changed, query), middle(8, 2), CELL)
    assert 0.5 * query.constant <= best <= query.constant * (1 + 1e-9)
    assert flow_variation(1) <= 2 * variation(1)


def test_small_region_constants() -> None:
    """If every region is a cell, counts are the map."""
    at = lattice(7)
    query = RegionCounts(2, 2, RHO, lattice=at, side=2, regions=Regions(at, np.eye(at.cells)))
    assert query.constant == pytest.approx(CrowdMap(2, 2, RHO, lattice=at, side=2).constant)


def test_off_diagonals_count() -> None:
    """For splines of degree 1 the product of suprema is √2, which is no bound: the search finds √3."""
    at = lattice(5)

    def change(before: Floats, after: Floats) -> float:
        return float(np.linalg.norm(kernel(after[0], at, 1, degree=1) - kernel(before[0], at, 1, degree=1)))

    best, *_ = fastest(change, middle(5, 1), CELL)
    assert 1.7 < best * CELL <= math.sqrt(3) + 1e-9


# ------------------------------------------------------------------------------------------ divergence and noise


def check_divergence(guarantee: CGP | GP) -> None:
    """The exact divergence of answers about two versions of a person, as far apart as a search finds, is allowed.

    It depends on the distance of the two values alone, so it is computed in three dimensions.
    """
    query = CrowdMap(2, 2, guarantee, lattice=lattice(7))
    before, after = check_constant(query, starts=3)
    mechanism = query.mechanism
    assert isinstance(mechanism, Gaussian | Laplace)
    low = type(mechanism)(mechanism.guarantee, 3, mechanism.lipschitz)  # type: ignore[arg-type]
    for stretch in (1.0, 1000.0):
        far = before + stretch * (after - before)
        moved = float(np.linalg.norm(evaluated(query, far, SHARES) - evaluated(query, before, SHARES)))
        distance = float(np.linalg.norm(far - before, axis=1).max())
        used = additive_tightness(low, np.zeros(1), np.array([moved]), distance)
        assert used <= 1 + SLACK
        assert stretch > 1 or used > 0.95


@pytest.mark.parametrize("guarantee", [RHO, EPSILON])
def test_divergence_keeps_guarantee(guarantee: CGP | GP) -> None:
    """The divergence is within the guarantee.

    Under CGP and under GP, for a small step, which uses nearly all of it, and for a large one.
    """
    check_divergence(guarantee)


def check_noise(query: CrowdQuery[Any]) -> None:
    """The noise on all numbers follows its law, and its quantiles are the error bounds."""
    empty = query.accumulator()
    noise = np.ravel(query.ask_sums(empty, Entropy(np.random.default_rng(8).bytes)).value)
    assert stats.kstest(noise / query.mechanism.deviation, "norm").pvalue > 1e-6
    assert stats.kstest(1.05 * noise / query.mechanism.deviation, "norm").pvalue < 1e-6
    for beta in (0.3, 0.01):
        exceeded = int((np.abs(noise) > query.error(beta, each=True)).sum())
        assert stats.binomtest(exceeded, len(noise), beta).pvalue > 1e-6
    assert query.error(1e-9) > np.abs(noise).max() > query.error(1 - 1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["best", "both"])
def test_noise_follows_its_law(method: str) -> None:
    """Gaussian noise is normal; Laplace noise in so many dimensions nearly is. A scale that is 5% off is noticed."""
    check_noise(CrowdMap(10, 2, RHO, method, lattice=Lattice(0, 0, 100, 300, 300)))


def test_versions_share_noise() -> None:
    """With the same random bits the answers differ by the values, rounded to the grid of the noise."""
    query = CrowdMap(400, 2, RHO, lattice=lattice(6))
    x = np.random.default_rng(1).uniform([-350, 1200], [250, 1800], size=(400, 2))
    sums = query.accumulator()
    sums.add(x)
    empty = query.ask_sums(query.accumulator(), Entropy(np.random.default_rng(2).bytes)).value
    full = query.ask_sums(sums, Entropy(np.random.default_rng(2).bytes)).value
    np.testing.assert_allclose(full - empty, query.value(sums)[0], atol=1.01 * query.mechanism.grid)
    assert (np.rint(full / query.mechanism.grid) == full / query.mechanism.grid).all()
    np.testing.assert_array_equal(full, query.ask(x, Entropy(np.random.default_rng(2).bytes)).value)


# ----------------------------------------------------------------------------------------------------- exact sums


@pytest.mark.parametrize("side", [1, 2, 3, 5])
def test_sums_are_exact(side: int) -> None:
    """Doubles are within the stated error of fractions, which is tiny, for places on edges and anywhere."""
    at = Lattice(-123.4, 987.6, 70.7, 5, 4)
    rng = np.random.default_rng(side)
    x = np.concatenate([
        rng.uniform([-300, 900], [300, 1400], size=(16, 2)),
        [[at.west + 2 * at.cell, at.south + 0.5 * at.cell], [at.west, at.south], [at.east, at.north]],
    ])  # fmt: skip
    weights = rng.random(len(x)) / 3
    total = math.fsum(weights)
    query = CrowdMap(len(x), 2, RHO, lattice=at, side=side, weight=total, total=total)
    found = evaluated(query, x, weights)
    right = [number for row in exact_value(query, x, weights) for number in row]
    error = math.sqrt(sum((Fraction(a) - b) ** 2 for a, b in zip(found.tolist(), right, strict=True)))
    assert error <= query.constant * query.sums_rounding
    assert query.sums_rounding < 1e-10
    assert error > 0


def check_order_does_not_matter(ends: int) -> None:
    """Batches in another order, points in another order, and merged parts give the same bits."""
    rng = np.random.default_rng(4)
    at = lattice(8)
    n = 3000
    x = rng.uniform([-400, 1100], [500, 2100], size=(n, 2 * ends) if ends == 1 else (n, 2, 2)).reshape(n, 2 * ends)
    weights = 10.0 ** rng.uniform(-12, 0, size=n)
    query: CrowdQuery[Any] = (CrowdMap if ends == 1 else Flows)(n, 2, RHO, lattice=at, total=float(n))
    whole = evaluated(query, x, weights)
    order = rng.permutation(n)
    parts = [query.accumulator() for _ in range(3)]
    for k, rows in enumerate(np.array_split(order, 7)):
        parts[k % 3].add(*(x[rows, 2 * e : 2 * e + 2] for e in range(ends)), weights[rows])
    for part in parts[1:]:
        parts[0].merge(part)
    assert (query.value(parts[0]).ravel() == whole).all()


@pytest.mark.parametrize("ends", [1, 2])
def test_batch_order_is_irrelevant(ends: int) -> None:
    """The order of batches does not matter. For points and for trips."""
    check_order_does_not_matter(ends)


def test_small_weights_count() -> None:
    """A sum of a hundred thousand weights beside a large one is exact to the last bits."""
    at = lattice(4)
    centre = np.array([[at.west + 1.5 * CELL, at.south + 1.5 * CELL]])
    query = CrowdMap(10**5 + 1, 2, RHO, lattice=at, weight=5e5, total=1e6)
    sums = query.accumulator()
    sums.add(centre, 5e5)
    sums.add(np.repeat(centre, 10**5, axis=0), 1e-9)
    inside = query.value(sums)[0, 1, 1] - Fraction(4, 9) * 5 * 10**5
    assert float(inside) == pytest.approx(1e-4 * 4 / 9, rel=1e-5)
    assert query.sums_rounding < 1e-6


def test_ten_million_points_error() -> None:
    """100 000 persons, 10 million points, a million cells of 500 m: doubles count for less than a micrometre."""
    at = Lattice(0, 0, 500, 1000, 1000)
    for side in (1, 2, 4):
        assert CrowdMap(10**7, 2, RHO, lattice=at, side=side, total=1e5).sums_rounding < 1e-6
    small = Lattice(0, 0, 1000, 40, 40)
    assert Flows(10**7, 2, RHO, lattice=small, total=1e5).sums_rounding < 1e-6


@pytest.mark.parametrize("side", [1, 3])
def test_values_follow_their_definition(side: int) -> None:
    """Maps, counts and flows agree with the kernel's definition, for points inside and outside; weights are kept."""
    at = Lattice(0, 0, 50, 5, 7)
    rng = np.random.default_rng(9)
    x = rng.uniform(-300, 600, size=(40, 4))
    x[0] = [1e8, -1e8, 0, 1e8]
    weights = rng.random(40)
    regions = Regions(at, rng.random((3, at.cells)))
    queries: list[CrowdQuery[Any]] = [
        CrowdMap(40, 2, RHO, lattice=at, side=side),
        RegionCounts(40, 2, RHO, lattice=at, side=side, regions=regions),
        RegionCounts(40, 2, RHO, lattice=at, side=side, regions=regions, beside=MapBeside(at, 3, 0.7)),
        Flows(40, 2, RHO, lattice=at, side=side),
        Flows(40, 2, RHO, lattice=at, side=side, regions=regions),
    ]
    for query in queries:
        places = x if isinstance(query, Flows) else x[:, :2]
        np.testing.assert_allclose(evaluated(query, places, weights), modelled(query, places, weights), atol=1e-13)
    inside = np.tile([175.0, 125.0], (40, 1))
    assert evaluated(CrowdMap(40, 2, RHO, lattice=at), inside, weights).sum() == pytest.approx(weights.sum())


def test_slices_have_blocks() -> None:
    """Each block is the map of the points of its slice; the constant is the same."""
    at = lattice(6)
    rng = np.random.default_rng(10)
    x, slices = rng.uniform([-350, 1200], [250, 1800], size=(200, 2)), rng.integers(0, 3, size=200)
    query, single = (CrowdMap(200, 2, RHO, lattice=at, side=2, slices=count) for count in (3, 1))
    sums = query.accumulator()
    sums.add(x[:90], slices=slices[:90])
    sums.add(as_reals(x[90:]), slices=slices[90:])
    for index, block in enumerate(query.value(sums)):
        assert (block.ravel() == evaluated(single, x[slices == index])).all()
    assert query.constant == single.constant
    assert query.ask_sums(sums, Experiment(np.random.default_rng(1))).value.shape == (3, 6, 6)
    with pytest.raises(InvalidData, match="slice"):
        query.accumulator().add(x)
    with pytest.raises(InvalidData, match="slice"):
        query.accumulator().add(x, slices=slices + 1)


# ------------------------------------------------------------------------------------------------- replacing a unit


@pytest.mark.parametrize("kind", ["map", "counts", "flows"])
def test_replacing_a_person(kind: str) -> None:
    """Places at two far cells attain the bound of maps and flows; zCDP follows from it and the noise."""
    at = lattice(10)
    queries: dict[str, CrowdQuery[Any]] = {
        "map": CrowdMap(1, 2, RHO, lattice=at),
        "counts": RegionCounts(1, 2, RHO, lattice=at, regions=halves(at)),
        "flows": Flows(1, 2, RHO, lattice=at),
    }
    query = queries[kind]
    ends = 2 if kind == "flows" else 1
    before, after = (np.tile(middle(query.lattice.rows, 1) + shift * 2 * CELL, ends) for shift in (-1, 1))
    moved = np.linalg.norm(evaluated(query, after, np.ones(1)) - evaluated(query, before, np.ones(1)))
    allowed = math.sqrt(2 * query.zcdp().rho) * query.mechanism.scale
    assert 0.9 * allowed <= moved <= allowed * (1 + 1e-9)


def test_zcdp_is_stated() -> None:
    """ZCDP is stated and said to be empty where it is.

    1.231·ρ·s² for the narrowest kernel; Laplace noise has no more.
    """
    small, large = (CrowdMap(9, 2, CGP(rho=rho, metric="1"), lattice=lattice(5)) for rho in (5e-5, 5e-3))
    assert small.zcdp().rho == pytest.approx(0.5 * 32 / 13 * 5e-5 * CELL**2, rel=1e-6)
    assert not small.zcdp().says_nothing
    assert large.zcdp().says_nothing
    both = CrowdMap(9, 2, CGP(rho=5e-5, metric="1"), "both", lattice=lattice(5))
    assert both.zcdp().rho == pytest.approx(small.zcdp().rho, rel=1e-6)
    assert isinstance(both.also, GP)


# ------------------------------------------------------------------------------------------------------- regions


def test_regions_cover_cells() -> None:
    """Shares are those of intersections of all cells with all polygons: holes, parts, overlaps, beyond the lattice."""
    at = Lattice(-10, 20, 7.0, 9, 13)
    ring = shapely.Point(30, 50).buffer(25).difference(shapely.Point(33, 47).buffer(12))
    parts = shapely.MultiPolygon([shapely.box(-5, 25, 3, 32), shapely.box(20, 60, 60, 200)])
    triangle = shapely.Polygon([(0, 25), (80, 30), (40, 79)])
    shapes = [ring, parts, triangle, shapely.box(-1e4, -1e4, 1e4, 1e4), shapely.box(500, 500, 600, 600)]
    regions = Regions.of(shapes, at)
    xs, ys = at.edges()
    cells = np.array([shapely.box(xs[j], ys[i], xs[j + 1], ys[i + 1]) for i in range(9) for j in range(13)])
    right = [shapely.area(shapely.intersection(cells, shape)) / 49 for shape in shapes]
    np.testing.assert_allclose(regions.shares.toarray(), right, atol=1e-12)
    assert regions.shares.data.max() <= 1
    assert regions.cover >= float(np.sum(right, axis=0).max()) - 1e-12
    assert np.linalg.norm(regions.shares.toarray(), 2) ** 2 <= regions.squared_norm
    assert len(regions) == 5


def test_regions_are_checked() -> None:
    """Shares between 0 and 1, valid polygons, the lattice of the query."""
    at = lattice(3)
    with pytest.raises(InvalidParameter, match="shares"):
        Regions(at, np.full((1, 9), 1.5))
    with pytest.raises(InvalidParameter, match="columns"):
        Regions(at, np.ones((1, 8)))
    with pytest.raises(InvalidParameter, match="polygons"):
        Regions.of([shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])], at)
    with pytest.raises(InvalidParameter, match="lattice"):
        RegionCounts(1, 2, RHO, lattice=lattice(4), regions=halves(at))


# ---------------------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"side": 0}, "side"),
        ({"side": 65}, "side"),
        ({"weight": -1.0}, "weight"),
        ({"slices": 0}, "slices"),
        ({"total": 0.0}, "total"),
        ({"method": "paper"}, "method"),
        ({"guarantee": CGP(rho=1, metric="inf"), "total": 5.0}, "total"),
    ],
)
def test_parameters_are_checked(wrong: dict[str, Any], named: str) -> None:
    """Before any data is seen; the message names the parameter."""
    given: dict[str, Any] = {"n": 5, "dimension": 2, "guarantee": RHO, "lattice": lattice(4)} | wrong
    with pytest.raises(InvalidParameter, match=named):
        CrowdMap(**given)


def test_too_many_cells() -> None:
    """All pairs of cells have to fit into memory."""
    with pytest.raises(InvalidParameter, match="cells larger"):
        Flows(5, 2, RHO, lattice=lattice(200))


def test_contradicting_points_are_refused() -> None:
    """More points or weights than stated, negative weights, and coordinates that are not finite."""
    query = CrowdMap(2, 2, RHO, lattice=lattice(4))
    sums = query.accumulator()
    sums.add(np.zeros((2, 2)))
    with pytest.raises(InvalidData, match="at most 2 points"):
        sums.add(np.zeros((1, 2)))
    assert (sums.added, sums.weight) == (2, 2.0)
    with pytest.raises(InvalidData, match="the weight of a unit"):
        query.accumulator().add(np.zeros((1, 2)), [1.5])
    with pytest.raises(InvalidData, match="at least 0"):
        query.accumulator().add(np.zeros((1, 2)), [-0.5])
    with pytest.raises(InvalidData, match="finite"):
        query.accumulator().add(np.full((1, 2), np.nan))
    with pytest.raises(ValueError, match="different"):
        sums.merge(PlaceSums(lattice(4), 2, 2, 2.0))


def test_one_unit_shares_weight() -> None:
    """Under dist_inf all points are one unit of weight 1: each has 1/n."""
    query = CrowdMap(10, 2, CGP(rho=1e-4, metric="inf"), lattice=lattice(5))
    assert query.all_weights == 1
    x = middle(5, 10)
    found = query.ask(x, Experiment(np.random.default_rng(0))).value
    assert abs(found.sum() - 1) < 30 * query.mechanism.scale


def test_parameters_as_json() -> None:
    """Two queries about other regions differ; the number of points and the budget are left out."""
    at = lattice(4)
    counts = RegionCounts(5, 2, RHO, lattice=at, regions=halves(at))
    other = RegionCounts(5, 2, RHO, lattice=at, regions=Regions(at, np.ones((2, 16))))
    assert counts.comparable
    assert json.loads(json.dumps(counts.parameters())) == counts.parameters() != other.parameters()
    assert counts.parameters()["cell"] == CELL
    assert CrowdMap(5, 2, RHO, lattice=at).comparable
    assert Flows(5, 2, RHO, lattice=at).parameters()["regions"] is None


def test_blur_is_stated() -> None:
    """The blur is the kernel's standard deviation; rounding points adds to the error."""
    query = CrowdMap(50, 2, RHO, lattice=lattice(30), side=3, rounding=0.01)
    across = kernel(middle(30, 1)[0], query.lattice, 3).sum(axis=0)
    variance = across @ (np.arange(30) - 15.0) ** 2
    assert query.blur == pytest.approx(CELL * math.sqrt(variance), rel=1e-9)
    assert query.rounding_error == pytest.approx(50 * query.kernel_constant * 0.01, rel=1e-6)
    assert place_error(query.lattice) < query.sums_rounding < 1e-9
