"""Totals of regions are estimated from released numbers, and the stated error covers noise and blur together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

import geoveil as gv
from geoveil.errors import InvalidParameter
from geoveil.postprocess import region_totals as module
from geoveil.postprocess.region_totals import Surroundings, count_blurs, totals_of_counts
from geoveil.queries.crowd import Lattice, Regions

Floats = NDArray[np.float64]

HALF = 8000.0
SIDE = 12
EDGES = np.linspace(-HALF, HALF, SIDE + 1)
#: Districts of 1.3 km, row by row from the south-west.
DISTRICTS = [shapely.box(EDGES[j], EDGES[i], EDGES[j + 1], EDGES[i + 1]) for i in range(SIDE) for j in range(SIDE)]


def city(seed: int, persons: int = 4000) -> tuple[Floats, NDArray[np.intp]]:
    """Points of a made-up city and the person of each: a dense centre, and 300 places that many share."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(0, 1500, size=(persons, 2))
    likely = 1 / np.arange(3, 303)
    places = rng.normal(0, 2500, size=(300, 2))[rng.choice(300, p=likely / likely.sum(), size=persons)]
    points = np.where(rng.random((persons, 1)) < 0.5, centre, places)
    return np.clip(points, 1 - HALF, HALF - 1), np.arange(persons)


def truth_of(x: Floats) -> Floats:
    """The number of points in each district."""
    column, row = (np.searchsorted(EDGES, x[:, axis], side="right") - 1 for axis in (0, 1))
    return np.bincount(row * SIDE + column, minlength=SIDE * SIDE).astype(float)


def counted(seed: int, **how: Any) -> tuple[gv.CrowdCounts, Floats]:
    """Counts in the districts of a made-up city, and the truth."""
    x, person = city(seed)
    release = gv.Locations(x, person=person, rng=np.random.default_rng(seed)).counts(DISTRICTS, **how)
    assert isinstance(release, gv.CrowdCounts)
    return release, truth_of(x)


def check_coverage(*, mapped: bool = True) -> None:
    """Of all districts of four cities, and of those with most people, the stated error covers at least 95% and 90%.

    Streams are fixed, so the test does not fail by chance.
    """
    how: dict[str, Any] = {"rho": 5e-5} if mapped else {"epsilon": 0.5, "bandwidth": 100}
    covered, dense = [], []
    for seed in range(4):
        release, truth = counted(seed, **how)
        good = np.abs(release.numbers - truth) <= release.errors
        covered.append(good)
        dense.append(good[np.argsort(truth)[-20:]])
    assert np.mean(covered) >= 0.95
    assert np.mean(dense) >= 0.9


@pytest.mark.parametrize("mapped", [True, False])
def test_stated_error_covers_truth(mapped: bool) -> None:
    """The stated error covers the truth. With Gaussian noise and a map, and with Laplace noise."""
    check_coverage(mapped=mapped)


def test_stated_error_is_tight() -> None:
    """The stated error is not far too large.

    It is at most four times as large as an error that would just cover 95% of districts.
    """
    released = [counted(seed, rho=5e-5) for seed in range(4)]
    needed = np.quantile([np.abs(release.numbers - truth) / release.errors for release, truth in released], 0.95)
    assert needed > 0.25


def test_counts_beat_blurred_ones() -> None:
    """The root mean square error is far below that of the released counts, and below that of a wide blur."""
    squares = []
    for seed in range(3):
        release, truth = counted(seed, rho=5e-5)
        squares.append([np.mean((each - truth) ** 2) for each in (release.numbers, release.noisy)])
    estimate, noisy = np.sqrt(np.mean(squares, axis=0))
    assert estimate < 0.75 * noisy


def half_city(blur: float) -> tuple[Surroundings, Floats, Floats]:
    """Two districts that meet at x = 0: 1000 persons in the west and none in the east; true and blurred counts."""
    at = Lattice(-5000, -5000, 100.0, 100, 100)
    shapes = np.array([shapely.box(-2000, -2000, 0, 2000), shapely.box(0, -2000, 2000, 2000)])
    around = Surroundings.of(shapes, Regions.of(shapes, at).shares, (at.west, at.south), at.cell, at.shape)
    # Over all four borders of the west, whose people are even: a share of the mean distance.
    lost = 1000 * blur / math.sqrt(2 * math.pi) / np.array([2000, 2000, 4000, 4000])
    crossed = lost[3] * 2
    return around, np.array([[1000.0, 0.0]]), np.array([[1000 - 2 * crossed - 2 * lost[2], crossed]])


def check_correction() -> None:
    """People who were blurred across a border are returned."""
    around, truth, blurred = half_city(blur=50.0)
    found = totals_of_counts(blurred, 0.1, 50.0, around)
    assert np.abs(found.value - truth).max() < 0.1 * np.abs(blurred - truth).max()


def test_blur_is_corrected() -> None:
    """The district with people gets them back, and its empty neighbour loses them."""
    check_correction()


def test_borders_are_measured() -> None:
    """The metres of border of each region: outlines, holes and parts; the inside is on the right side."""
    at = Lattice(0, 0, 10.0, 40, 40)
    ring = shapely.box(50, 50, 350, 350) - shapely.box(150, 150, 250, 250)
    parts = shapely.MultiPolygon([shapely.box(10, 10, 40, 40), shapely.box(360, 360, 390, 390)])
    shapes = np.array([ring, parts, shapely.reverse(ring)], dtype=object)
    regions = Regions.of(shapes, at)
    around = Surroundings.of(shapes, regions.shares, (at.west, at.south), at.cell, at.shape)
    np.testing.assert_allclose(around.near.sum(axis=1), shapely.length(shapes))
    np.testing.assert_allclose(around.steps.sum(axis=1), 0, atol=1e-9)
    inside = regions.shares.toarray()
    np.testing.assert_allclose((around.steps.toarray() * inside).sum(axis=1), shapely.length(shapes))


def test_step_error_grows() -> None:
    """What a map misses of a step. E grows with P and is below P·S."""
    table = module._missed_steps()
    assert (np.diff(table) > 0).all()
    assert (table < module._RATIOS).all()
    # Without any noise, what is missed is less and less in proportion.
    assert table[-1] / module._RATIOS[-1] < 0.05


def test_gaussian_blur_constants() -> None:
    """The constants of a Gaussian blur.

    Mean distance to one side, and the integral of the squared difference of a step and its blur.
    """
    from scipy.integrate import quad
    from scipy.special import ndtr

    assert quad(lambda t: ndtr(-t), 0, 40)[0] == pytest.approx(module._MOVED)
    assert 2 * quad(lambda t: ndtr(-t) ** 2, 0, 40)[0] == pytest.approx(module._MISSED)


def test_blurs_are_public() -> None:
    """Blurs follow from public numbers.

    More persons and a larger budget make both narrower; a heavier unit is like a smaller budget.
    """
    areas, lengths = np.full(100, 1e6), np.full(100, 4e3)
    usual = count_blurs(5000, 5e-5, areas, lengths)
    for other in (count_blurs(50_000, 5e-5, areas, lengths), count_blurs(5000, 5e-4, areas, lengths)):
        assert other.counts < usual.counts < usual.map
        assert other.map < usual.map
    assert count_blurs(50_000, 5e-7, areas, lengths, unit=10.0).counts == pytest.approx(
        count_blurs(5000, 5e-7, areas, lengths).counts
    )
    assert count_blurs(1, 1e-12, areas, lengths).map <= 1000 / 3
    with pytest.raises(InvalidParameter, match="rho"):
        count_blurs(5000, 0.0, areas, lengths)


def test_empty_city_has_errors() -> None:
    """One person far from all districts: every district is empty but for noise, and says how large that may be."""
    x = np.full((1, 2), 7.9e3)
    east = [shapely.box(-8000, -8000, -6000, 8000), shapely.box(-6000, -8000, -4000, 8000)]
    release = gv.Locations(x, person=[0], rng=np.random.default_rng(0)).counts(east, rho=5e-5)
    assert isinstance(release, gv.CrowdCounts)
    assert (release.errors > 0.1).all()
    assert (np.abs(release.numbers) <= release.errors).all()


def test_slices_have_errors() -> None:
    """Every slice of every region has a row with its error."""
    x, person = city(5, 400)
    times = np.datetime64("2026-01-01T00:30", "us") + (person % 3) * np.timedelta64(1, "h")
    locations = gv.Locations(x, person=person, times=times, rng=np.random.default_rng(1))
    release = locations.counts(DISTRICTS[:20], rho=5e-4, every="1 hour")
    assert isinstance(release, gv.CrowdCounts)
    assert release.errors.shape == release.numbers.shape == (3, 20)
    assert np.array_equal(release.value["error"], release.errors.ravel())
