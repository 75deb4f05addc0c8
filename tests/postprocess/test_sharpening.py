"""A blurred, noisy heat map can be sharpened by public facts."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from geoveil.errors import InvalidData, InvalidParameter
from geoveil.postprocess import sharpening
from geoveil.postprocess.sharpening import Kernel, kernel_side, sharpen, simplex, spline_taps

Floats = NDArray[np.float64]

SIDE, PERSONS = 60, 800.0


def city(rng: np.random.Generator) -> Floats:
    """The weights of a made-up city: a wide centre, a few busy places and a street, away from the edges."""
    at = np.arange(SIDE) - SIDE / 2
    centre = np.exp(-np.square(at[:, None]) / 60 - np.square(at) / 90)
    places = np.zeros((SIDE, SIDE))
    places[tuple(rng.integers(12, SIDE - 12, size=(2, 25)))] = rng.pareto(1.2, size=25) + 0.2
    street = np.zeros((SIDE, SIDE))
    street[40, 12:-12] = 1
    shares = ((0.4, centre), (0.4, places), (0.2, street))
    return np.asarray(PERSONS * np.sum([share * part / part.sum() for share, part in shares], axis=0))


def blurred(x: Floats, cells: int) -> Floats:
    """The map that a release would show without noise, one row and one column at a time."""
    for axis in (-2, -1):
        x = np.apply_along_axis(np.convolve, axis, x, spline_taps(cells), "same")
    return x


def error(x: Floats, true: Floats) -> float:
    """The sum of absolute errors over the number of persons."""
    return float(np.abs(x - true).sum() / true.sum())


@pytest.mark.parametrize("cells", [1, 2, 3, 5])
def test_taps_match_integration(cells: int) -> None:
    """They agree with the mean over a cell of the cubic B-spline, by numerical integration."""
    t = np.abs(np.arange(-2 * cells, 2 * cells + 1)[:, None] + (np.arange(2000) + 0.5) / 2000 - 0.5) / cells
    spline = np.where(t < 1, 2 / 3 - t**2 + t**3 / 2, np.maximum(2 - t, 0) ** 3 / 6) / cells
    np.testing.assert_allclose(spline_taps(cells), spline.mean(axis=1), atol=1e-7)
    assert spline_taps(cells).sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("deviation", [0.02, 0.1, 0.5])
@pytest.mark.parametrize(("cells", "most"), [(1, 0.67), (2, 0.85)])
def test_sharpening_beats_projecting(cells: int, most: float, deviation: float) -> None:
    """A good part of the projection's error is removed, with weak and with strong noise."""
    rng = np.random.default_rng(1)
    true = city(rng)
    released = blurred(true, cells) + rng.normal(scale=deviation, size=true.shape)
    sharp = sharpen(released, spline_taps(cells), deviation, PERSONS)
    assert (sharp >= 0).all()
    assert sharp.sum() == pytest.approx(PERSONS, rel=1e-12)
    assert error(sharp, true) < most * error(simplex(released, PERSONS), true)


def test_less_noise_sharpens() -> None:
    """The error falls with the noise, down to what no method can see through the kernel."""
    true = city(np.random.default_rng(1))
    errors = []
    for deviation in (10.0, 1.0, 0.1, 0.01):
        noise = np.random.default_rng(2).normal(scale=deviation, size=true.shape)
        errors.append(error(sharpen(blurred(true, 2) + noise, spline_taps(2), deviation, PERSONS), true))
    assert all(better < 0.85 * worse for worse, better in pairwise(errors))


@pytest.mark.parametrize("wrong", [1, 4])
def test_wrong_taps_are_worse(wrong: int) -> None:
    """Sharpening by a kernel of half or twice the side is noticed in the error."""
    rng = np.random.default_rng(1)
    true = city(rng)
    released = blurred(true, 2) + rng.normal(scale=0.1, size=true.shape)
    right = error(sharpen(released, spline_taps(2), 0.1, PERSONS), true)
    assert error(sharpen(released, spline_taps(wrong), 0.1, PERSONS), true) > 1.3 * right


@pytest.mark.parametrize("wrong", [0.1, 10.0])
def test_wrong_total_is_worse(wrong: float) -> None:
    """The public total decides how much is noise; a wrong one misleads, even if the map is scaled afterwards."""
    rng = np.random.default_rng(1)
    true = city(rng)
    released = blurred(true, 2) + rng.normal(scale=0.5, size=true.shape)
    right = error(sharpen(released, spline_taps(2), 0.5, PERSONS), true)
    misled = sharpen(released, spline_taps(2), 0.5, wrong * PERSONS) / wrong
    assert error(misled, true) > 1.1 * right


def test_sharpening_is_deterministic() -> None:
    """No randomness is involved, and the input is not changed."""
    rng = np.random.default_rng(1)
    released = blurred(city(rng), 2) + rng.normal(size=(SIDE, SIDE))
    before = released.copy()
    first = sharpen(released, spline_taps(2), 1.0, PERSONS)
    np.testing.assert_array_equal(sharpen(released, spline_taps(2), 1.0, PERSONS), first)
    np.testing.assert_array_equal(released, before)


def test_sharpening_is_symmetric() -> None:
    """Rows and columns, and directions, are treated alike."""
    rng = np.random.default_rng(1)
    released = blurred(city(rng), 2) + rng.normal(size=(SIDE, SIDE))
    released = released[:, 5:-8]
    sharp = sharpen(released, spline_taps(2), 1.0, PERSONS)
    np.testing.assert_allclose(sharpen(released.T, spline_taps(2), 1.0, PERSONS).T, sharp, atol=1e-6)
    np.testing.assert_allclose(sharpen(released[::-1], spline_taps(2), 1.0, PERSONS)[::-1], sharp, atol=1e-6)


def test_slices_are_independent() -> None:
    """A stack and its slices give the same; a slice of nobody is empty."""
    rng = np.random.default_rng(1)
    released = np.stack([blurred(city(rng), 1), np.zeros((SIDE, SIDE)), blurred(city(rng), 1) / 2])
    released += rng.normal(scale=0.2, size=released.shape)
    totals = [PERSONS, 0.0, PERSONS / 2]
    sharp = sharpen(released, spline_taps(1), 0.2, totals)
    for one, total, estimate in zip(released, totals, sharp, strict=True):
        np.testing.assert_array_equal(estimate, sharpen(one, spline_taps(1), 0.2, total))
    np.testing.assert_array_equal(sharp[1], 0)


def test_slices_share_a_total() -> None:
    """Weight goes to the slices that the release shows it in."""
    rng = np.random.default_rng(1)
    true = np.stack([0.9 * city(rng), 0.1 * city(rng)])
    released = blurred(true, 2) + rng.normal(scale=0.1, size=true.shape)
    sharp = sharpen(released, spline_taps(2), 0.1, PERSONS)
    assert sharp.sum() == pytest.approx(PERSONS, rel=1e-12)
    np.testing.assert_allclose(sharp.sum(axis=(1, 2)), [0.9 * PERSONS, 0.1 * PERSONS], rtol=0.1)
    assert error(sharp, true) < error(simplex(released, PERSONS), true) * 2 / 3


def test_outside_weight_stays_outside() -> None:
    """Where less than the total is inside, the estimate follows the release; it is never above the total."""
    rng = np.random.default_rng(1)
    true = city(rng)
    released = blurred(true, 2) + rng.normal(scale=0.1, size=true.shape)
    inside = sharpen(released, spline_taps(2), 0.1, 3 * PERSONS, at_most=True)
    assert inside.sum() == pytest.approx(PERSONS, rel=0.05)
    assert sharpen(released, spline_taps(2), 0.1, PERSONS, at_most=True).sum() == pytest.approx(PERSONS, rel=1e-12)
    fewer = sharpen(released, spline_taps(2), 0.1, PERSONS / 2, at_most=True)
    assert fewer.sum() == pytest.approx(PERSONS / 2, rel=1e-12)
    nothing = sharpen(np.full((5, 5), -9.0), spline_taps(2), 0.1, 3.0, at_most=True)
    np.testing.assert_array_equal(nothing, 0)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (2, 1), (3, 3), (1, 1, 1), (2, 13, 11)])
def test_any_release_works(shape: tuple[int, ...]) -> None:
    """Grids of one cell, one person, no data, hardly any noise or nothing else: no warning, and the right sum."""
    deviations, totals, levels = [5e-324, 1e-12, 1.0, 1e9, 1e280], [1e-300, 0.1, 1.0, 1e4, 1e15], [0.0, -40.0, 40.0]
    for deviation, total, level in product(deviations, totals, levels):
        rng = np.random.default_rng(1)
        released = rng.normal(scale=deviation, size=shape) + level
        sharp = sharpen(released, spline_taps(2), deviation, total)
        assert sharp.shape == shape
        assert (sharp >= 0).all()
        assert sharp.sum() == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("deviation", [30.0, 1e3, 1e9])
def test_noise_alone_is_even(deviation: float) -> None:
    """Noise that hides all weight is not taken for it."""
    rng = np.random.default_rng(1)
    released = blurred(city(rng), 2) + rng.normal(scale=deviation, size=(SIDE, SIDE))
    np.testing.assert_allclose(sharpen(released, spline_taps(2), deviation, PERSONS), PERSONS / SIDE**2)


def test_nearly_exact_maps() -> None:
    """Smooth maps are recovered where the release is nearly exact."""
    at = np.arange(SIDE) - SIDE / 2
    true = np.exp(-np.square(at[:, None]) / 60 - np.square(at) / 90)
    true *= PERSONS / true.sum()
    assert error(sharpen(blurred(true, 2), spline_taps(2), 1e-6, PERSONS), true) < 0.02


def test_omega_solves_its_equation() -> None:
    """The solution w of w + log(w) = a is found, over all arguments that occur."""
    a = np.concatenate([np.linspace(-690, 300, 100_001), np.geomspace(300, 1e20, 1000)])
    w = sharpening._omega(a)
    np.testing.assert_allclose(w + np.log(w), a, rtol=1e-8, atol=1e-7)


numbers = arrays(
    float, array_shapes(min_dims=0, max_dims=3, min_side=1), elements=st.floats(-1e6, 1e6, allow_subnormal=False)
)


@given(numbers, st.floats(0.01, 1e6))
def test_simplex_projection(values: Floats, total: float) -> None:
    """It is in the simplex, and every cell obeys the conditions of an optimum; projecting again changes nothing."""
    found = simplex(values, total)
    scale = max(total, float(np.abs(values).max()))
    assert found.shape == values.shape
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, rel=1e-9)
    # All that is positive was moved by the same constant, and all else would have become negative by it.
    above = found > 1e-12 * scale
    moved = (values - found)[above]
    assert np.ptp(moved) <= 1e-11 * scale
    assert (values[~above] <= moved.max() + 1e-11 * scale).all()
    np.testing.assert_allclose(simplex(found, total), found, rtol=0, atol=1e-9 * scale)


@given(numbers, st.floats(0.01, 1e6))
def test_projection_keeps_small_totals(values: Floats, total: float) -> None:
    """Non-negative parts below the total stay; above it, the sum is the total."""
    found = simplex(values, total, at_most=True)
    positive = np.maximum(values, 0)
    expected = positive if positive.sum() <= total else simplex(values, total)
    np.testing.assert_array_equal(found, expected)


def test_projections_of_nothing() -> None:
    """A total of 0 leaves nothing; no numbers have no other total."""
    np.testing.assert_array_equal(simplex([1.0, -2.0], 0), [0, 0])
    np.testing.assert_array_equal(simplex([0.0, 0.0], 3), [1.5, 1.5])
    np.testing.assert_array_equal(simplex([1e290, -1e290], 3), [3, 0])
    assert simplex([], 2.0, at_most=True).size == 0
    with pytest.raises(InvalidParameter, match="total"):
        simplex([], 2.0)


@given(st.floats(1, 1e9), st.floats(1e-9, 1e9), st.integers(1, 10**7), st.floats(1.5, 10))
def test_kernels_narrow(persons: float, rho_s2: float, cells: int, more: float) -> None:
    """They have at least one lattice cell, respect the limits, and grow neither with persons nor with the budget."""
    kernel = kernel_side(persons, rho_s2, cells)
    assert kernel.cells >= 1
    assert 1 <= kernel.divisions <= 8
    assert kernel.divisions == 1 or cells * kernel.divisions**2 <= 2_000_000
    side = kernel.cells / kernel.divisions
    for other in (kernel_side(persons * more, rho_s2, cells), kernel_side(persons, rho_s2 * more, cells)):
        # Rounding to whole cells may hide a small change, and widen by a quarter at most on each side.
        assert other.cells / other.divisions <= side * 1.25**2 * (1 + 1e-9)


def test_kernel_follows_rule() -> None:
    """Within a quarter of the formula's side, on a lattice of at most half of the kernel's side."""
    for persons in (30, 1000, 30_000):
        for rho_s2 in (0.1, 1.0, 10.0):
            kernel = kernel_side(persons, rho_s2, 10_000)
            wanted = (0.4 * 10_000 / persons / math.sqrt(rho_s2)) ** 0.25
            assert 0.8 <= kernel.cells / kernel.divisions / wanted <= 1.25
            assert kernel.cells >= 2
    assert kernel_side(1e9, 1.0, 100, most_cells=100) == Kernel(1, 1)
    assert kernel_side(1e-9, 1e-9, 1) == Kernel(1, 2)
    assert kernel_side(1e-9, 1e-9, 10_000) == Kernel(1, 25)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"deviation": 0.0}, "deviation"),
        ({"deviation": math.nan}, "deviation"),
        ({"total": -1.0}, "total"),
        ({"total": math.inf}, "total"),
        ({"total": [1.0, 2.0]}, "total"),
        ({"taps": [0.5, 0.5]}, "taps"),
        ({"taps": [0.2, 0.5, 0.3]}, "taps"),
        ({"taps": [0.5, 0.5, 0.5]}, "taps"),
        ({"taps": [-0.5, 2.0, -0.5]}, "taps"),
    ],
)
def test_wrong_parameters_are_refused(change: dict[str, object], named: str) -> None:
    """The message names the parameter."""
    arguments = {"taps": spline_taps(1), "deviation": 1.0, "total": 1.0, **change}
    with pytest.raises(InvalidParameter, match=named):
        sharpen(np.zeros((3, 3)), **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("released", [np.zeros(3), np.zeros((0, 3)), np.full((2, 2), math.nan)])
def test_bad_maps_are_refused(released: Floats) -> None:
    """A map has two axes, at least one cell, and finite numbers."""
    with pytest.raises(InvalidData, match="noisy"):
        sharpen(released, spline_taps(1), 1.0, 1.0)
