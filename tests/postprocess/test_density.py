"""A heat map of true points is found from released ones, and from nothing else."""

from __future__ import annotations

from typing import Any

import geopandas
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import geoveil as gv
from geoveil import Grid, HeatMap
from geoveil.errors import IncompatibleGuarantees, InvalidData, InvalidParameter, NoErrorBound
from geoveil.postprocess.deconvolution import deconvolve
from geoveil.postprocess.kernels import Noise, NoisyPoints, cell_kernel
from tests.geo.test_forms import in_the_plane
from tests.questions import release_of

Floats = NDArray[np.float64]

GRID = Grid((0, 0, 4000, 3000), cell=250)


def town(n: int, seed: int = 1) -> Floats:
    """True points: two quarters and a road."""
    rng = np.random.default_rng(seed)
    parts = [
        rng.normal([1000, 1000], 150, size=(n // 2, 2)),
        rng.normal([3000, 2000], 300, size=(n // 4, 2)),
        np.column_stack([rng.uniform(0, 4000, size=n - n // 2 - n // 4), np.full(n - n // 2 - n // 4, 1500.0)]),
    ]
    return rng.permutation(np.concatenate(parts))


def alone(x: Floats, seed: int = 2, **how: Any) -> gv.Release:
    """Release each point as another person's; by default the noise has a scale of two cells."""
    how = how or {"rho": 1 / (2 * 500**2)}
    release: gv.Release = release_of("points", x, person=np.arange(len(x)), rng=np.random.default_rng(seed), **how)
    return release


def off(found: NDArray[Any], truth: NDArray[Any]) -> float:
    """The sum of absolute differences."""
    return float(np.abs(found - truth).sum())


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("how", [{"rho": 1 / (2 * 500**2)}, {"epsilon": 1 / 300}], ids=str)
@pytest.mark.parametrize(("n", "part"), [(5_000, 0.9), (100_000, 0.7)])
def test_map_beats_histogram(how: dict[str, Any], n: int, part: float) -> None:
    """The error of the map is at most a part of that of counting released points."""
    x = town(n)
    raw = alone(x, **how)
    found, truth = raw.density(GRID), GRID.count(x)
    assert off(found.value, truth) < part * off(GRID.count(raw.value), truth)
    assert (found.value >= 0).all()
    assert found.value.sum() <= n
    assert found.value.sum() == pytest.approx(truth.sum(), rel=0.05)


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(["gaussian", "laplace"]), st.integers(1, 60))
def test_noiseless_map_is_histogram(seed: int, noise: Noise, n: int) -> None:
    """As the noise goes to nothing, expected counts go to counts."""
    rng = np.random.default_rng(seed)
    grid = Grid((0, 0, 7, 5), 1)
    y = rng.uniform(-3, 9, size=(n, 2))
    found = deconvolve([NoisyPoints(y, noise, np.full(n, 1e-5))], grid)
    np.testing.assert_allclose(found, grid.count(y), atol=1e-2)


@pytest.mark.slow
@settings(max_examples=25)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["gaussian", "laplace"]),
    st.integers(1, 60),
    st.sampled_from([1e-3, 0.3, 3.0, 40.0, 1e6]),
)
def test_maps_hold_at_most_n(seed: int, noise: Noise, n: int, scale: float) -> None:
    """Counts are finite, not negative and add up to at most n, whatever the noise and wherever the points."""
    rng = np.random.default_rng(seed)
    y = rng.uniform(-5, 12, size=(n, 2)) * rng.choice([1.0, 10.0, 1e9])
    found = deconvolve([NoisyPoints(y, noise, scale * rng.choice([1.0, 1.7, 3.0], size=n))], Grid((0, 0, 7, 5), 1))
    assert found.shape == (5, 7)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert found.sum() <= n * (1 + 1e-12)


@pytest.mark.statistical
def test_outside_points_stay_outside() -> None:
    """Points beyond the border whose noise falls inside do not pile up in the border's cells."""
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.uniform(-3000, -50, size=40_000), rng.uniform(0, 3000, size=40_000)])
    raw = alone(x)
    inside = GRID.count(raw.value).sum()
    assert inside > 1500
    assert raw.density(GRID).value.sum() < 0.4 * inside
    nowhere = alone(x - [1e6, 0])
    np.testing.assert_array_equal(nowhere.density(GRID).value, 0)


@pytest.mark.statistical
def test_border_cells_are_unbiased() -> None:
    """Of points spread evenly over more than the grid, the border's cells get their share."""
    rng = np.random.default_rng(4)
    x = rng.uniform([-4000, -4000], [8000, 7000], size=(400_000, 2))
    found = alone(x).density(GRID).value
    border = np.concatenate([found[0], found[-1], found[:, 0], found[:, -1]])
    each = 400_000 * 250**2 / (12_000 * 11_000)
    assert border.mean() == pytest.approx(each, rel=0.05)
    assert found.mean() == pytest.approx(each, rel=0.05)


@pytest.mark.slow
def test_map_is_symmetric() -> None:
    """Mirrored and transposed points give the mirrored and transposed map."""
    y = town(3000)
    scale = np.full(len(y), 400.0)
    square = Grid((0, 0, 3000, 3000), cell=250)
    for noise in ("gaussian", "laplace"):
        expected = deconvolve([NoisyPoints(y, noise, scale)], square)
        turned = deconvolve([NoisyPoints(y[:, ::-1], noise, scale)], square)
        np.testing.assert_allclose(turned, expected.T, atol=1e-6)
        mirrored = deconvolve([NoisyPoints(y * [-1, 1] + [3000, 0], noise, scale)], square)
        np.testing.assert_allclose(mirrored, expected[:, ::-1], atol=1e-6)


def test_map_uses_release_alone() -> None:
    """The same released points give the same map, to the last bit, whatever the truth was."""
    x = town(2000)
    raw = alone(x)
    shift = np.array([37.0, -11.0])
    y, scale = np.asarray(raw.coords), np.full(2000, raw.scale.iloc[0])
    first = raw.density(GRID).value
    np.testing.assert_array_equal(first, raw.density(GRID).value)
    np.testing.assert_array_equal(first, deconvolve([NoisyPoints(y, "gaussian", scale)], GRID))
    # Another truth with the noise that leads to the same release: nothing else of it is there to be seen.
    elsewhere = (x + shift) + (y - x - shift)
    np.testing.assert_allclose(first, deconvolve([NoisyPoints(elsewhere, "gaussian", scale)], GRID), atol=0.1)


@pytest.mark.slow
@pytest.mark.statistical
def test_more_points_sharpen() -> None:
    """The stopping rule allows more steps where there are more points: the relative error falls."""
    errors = []
    for n in (1_000, 10_000, 100_000):
        x = town(n)
        errors.append(off(alone(x).density(GRID).value, GRID.count(x)) / n)
    assert errors[0] > errors[1] > errors[2]


def test_one_point_is_spread() -> None:
    """Of one released point the map is highest in its cell and falls away from it, and holds at most one point."""
    grid = Grid((0, 0, 2250, 2250), cell=250)
    found = gv.Locations([[1125.0, 1125.0]]).points(rho=1.0).density(grid).value
    assert found[4, 4] == pytest.approx(1, abs=0.05)
    blurred = deconvolve([NoisyPoints(np.array([[1125.0, 1125.0]]), "gaussian", np.full(1, 400.0))], grid)
    assert blurred.argmax() == 4 * 9 + 4
    assert (np.diff(blurred[4, 4:]) < 0).all()
    assert 0.5 < blurred.sum() <= 1


@pytest.mark.slow
@pytest.mark.statistical
def test_persons_have_own_noise() -> None:
    """Persons of different noise count by theirs: a few with little noise sharpen the map of all."""
    x = town(5_000)
    labels = np.where(np.arange(5_000) < 4_000, 0, np.arange(5_000))
    raw = gv.Locations(x, person=labels, rng=np.random.default_rng(5)).points(rho=1 / (2 * 30**2))
    with pytest.raises(InvalidParameter, match="person = "):
        raw.density(GRID)
    found, truth = raw.density(GRID, person=labels), GRID.count(x)
    coarse = alone(x, rho=1 / (2 * float(raw.scale.iloc[0]) ** 2))
    assert off(found.value, truth) < 0.7 * off(coarse.density(GRID).value, truth)
    assert found.person.equals(raw.person)
    frame = geopandas.GeoDataFrame({"who": labels}, geometry=shapely.points(x), crs=27700)
    named = gv.Locations(frame, person="who", rng=np.random.default_rng(5)).points(rho=1 / (2 * 30**2))
    plain = gv.Locations(x, person=labels, rng=np.random.default_rng(5)).points(
        rho=in_the_plane(27700, 1 / (2 * 30**2))
    )
    np.testing.assert_allclose(named.density(GRID).value, plain.density(GRID, person=labels).value, atol=1e-6)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.statistical
def test_many_scales() -> None:
    """Hundreds of scales over a hundredfold range give a map nearly as good as one in their middle."""
    rng = np.random.default_rng(6)
    x = town(20_000)
    scale = np.exp(rng.uniform(np.log(30), np.log(3000), size=len(x)))
    y = x + rng.normal(size=x.shape) * scale[:, None]
    found = deconvolve([NoisyPoints(y, "gaussian", scale)], GRID)
    assert off(found, GRID.count(x)) < 0.6 * off(GRID.count(y), GRID.count(x))


@pytest.mark.slow
def test_guarantees_add_up() -> None:
    """The sum, or the largest of any person that a column names; two notions or metrics cannot be added."""
    x = town(100)
    morning, noon = (gv.Locations(x, rng=np.random.default_rng(7)).points(rho=rho) for rho in (1e-5, 2e-5))
    both = morning.density(GRID, others=[noon])
    assert both.guarantee == gv.CGP(rho=3e-5)
    assert both.n == 200
    assert [step["name"] for step in both.certificate()["mechanism"]] == ["Gaussian", "Gaussian"]
    assert morning.density(GRID).guarantee == morning.guarantee

    def by_user(users: Any, rho: float, column: str = "user") -> gv.Release:
        frame = geopandas.GeoDataFrame({column: users}, geometry=shapely.points(x[: len(users)]))
        return gv.Locations(frame.set_crs(27700), person=column).points(rho=rho)

    first = by_user(np.arange(100) % 10, 1e-5)
    second = by_user(np.arange(50) % 5 + 20, 4e-5)
    third = by_user(np.arange(20) + 100, 2e-5)
    apart = first.density(GRID, others=[second, third])
    assert apart.guarantee == gv.CGP(rho=4e-5)
    assert len(apart.person) == len(apart.answers) == 35
    again = by_user(np.arange(30) % 3 + 20, 3e-5)
    joint = first.density(GRID, others=[second, again])
    assert joint.guarantee == gv.CGP(rho=7e-5)
    assert joint.certificate()["persons"] == 15
    # Labels that may name the same persons in another way are no evidence of other persons.
    for unlike in (by_user(np.arange(50) + 20, 4e-5, "device"), by_user([str(i) for i in range(50)], 4e-5)):
        assert first.density(GRID, others=[unlike]).guarantee == gv.CGP(rho=5e-5)
        assert first.density(GRID, others=[unlike]).person is None
    early, late = (gv.Locations(x, person=np.arange(100) + start).points(rho=1e-5) for start in (0, 500))
    assert early.density(GRID, others=[late]).guarantee == gv.CGP(rho=2e-5)
    unknown = gv.Locations(geopandas.GeoSeries(shapely.points(x), crs=27700)).points(rho=2e-5)
    assert first.density(GRID, others=[unknown]).guarantee == gv.CGP(rho=3e-5)
    assert first.density(GRID, others=[unknown]).person is None

    for other in (alone(x, epsilon=1e-2), alone(x, rho=1e-5, metric="2")):
        with pytest.raises(IncompatibleGuarantees):
            morning.density(GRID, others=[other])


@pytest.mark.slow
@pytest.mark.statistical
def test_releases_are_combined() -> None:
    """Two releases make the map of all their points."""
    x = town(40_000)
    parts = [alone(half, seed) for seed, half in enumerate((x[:20_000], x[20_000:]))]
    found, truth = parts[0].density(GRID, others=parts[1:]).value, GRID.count(x)
    assert off(found, truth) < 0.7 * off(GRID.count(np.concatenate([part.value for part in parts])), truth)
    assert found.sum() == pytest.approx(truth.sum(), rel=0.02)


def test_map_is_a_release() -> None:
    """It tells its grid, its guarantee, what was done and that no theorem bounds its error; it cannot be changed."""
    raw = alone(town(50))
    found = raw.density(GRID)
    assert isinstance(found, HeatMap)
    assert found.grid == GRID
    assert found.value.shape == GRID.shape
    assert found.query == "points"
    assert found.id != raw.id
    assert found.certificate()["processed"] == ["deconvolved to a heat map of 12 by 16 cells"]
    assert "post-processing  deconvolved" in repr(found)
    assert "no guaranteed bound" in repr(found)
    with pytest.raises(NoErrorBound):
        found.error(0.05)
    with pytest.raises(ValueError, match="read-only"):
        found.value[0, 0] = 1


def test_maps_in_feet() -> None:
    """A grid is in the units of the release's system."""
    foot = 1200 / 3937
    city = np.array([1_830_000.0, 640_000.0])
    x = city + town(500)
    feet = gv.Locations(geopandas.GeoSeries(shapely.points(x / foot), crs=2227), rng=np.random.default_rng(1)).points(
        rho=1e-2
    )
    plain = gv.Locations(x, rng=np.random.default_rng(1)).points(rho=in_the_plane(2227, 1e-2))
    ends = np.concatenate([city, city + np.array([4000, 3000])])
    metres, grid = Grid(tuple(ends), cell=250), Grid(tuple(ends / foot), cell=250 / foot)
    assert off(feet.density(grid).value, plain.density(metres).value) < 2
    with pytest.raises(InvalidData, match="one coordinate system"):
        feet.density(GRID, others=[plain])


def test_default_grid() -> None:
    """It covers every released point with cells of at least half of the noise; a number is a cell, four a box."""
    released = alone(town(500), rho=1e-4)
    points, heat = np.asarray(released.value), released.density()
    west, south, east, north = heat.grid.bounds
    assert (points >= [west, south]).all()
    assert (points < [east, north]).all()
    assert heat.grid.cell == 50  # the scale is 70.7 m, and the map about 4 km wide
    assert released.density(500).grid.cell == 500
    assert released.density((0, 0, 40_000, 30_000)).grid == Grid((0, 0, 40_000, 30_000), cell=500)
    one = gv.Locations([[5.0, 5.0]]).points(rho=1e-4).density()
    assert one.grid.shape == (1, 1)
    for wrong in ("fine", True, -5, (0, 0, 1), (1, 1, 0, 0)):
        with pytest.raises(InvalidParameter):
            released.density(wrong)  # type: ignore[arg-type]


def test_unmappable_is_refused() -> None:
    """Other questions, dimensions and noises, processed releases, arrays, the same release twice, no grid."""
    x = town(10)
    raw = gv.Locations(x).points(rho=1e-3)
    inside = raw.clamp(shapely.box(0, 0, 1, 1))
    bad: list[Any] = [
        gv.Locations(x).mean(rho=1),
        gv.Locations(x).points(epsilon=1, method="best"),
        gv.Locations(np.zeros((3, 3))).points(rho=1),
        inside,
        raw.density(GRID),
    ]
    for release in bad:
        with pytest.raises(InvalidData):
            release.density(GRID)
    for other in (x, raw, inside):
        with pytest.raises(InvalidData):
            raw.density(GRID, others=[other])  # type: ignore[list-item]
    with pytest.raises(InvalidParameter, match="grid"):
        raw.density("250 bananas")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="person = "):
        raw.density(GRID, person=np.arange(10), others=[gv.Locations(x).points(rho=1e-3)])


def test_kernels_are_chances() -> None:
    """From the middle outwards kernels fall, are symmetric and add up to 1."""
    for noise, reach in (("gaussian", 8), ("laplace", 30)):
        for scale in (1e-3, 0.5, 4.0):
            size = int(reach * scale) + 2
            kernel = cell_kernel(noise, scale, (size, size))  # type: ignore[arg-type]
            assert kernel.sum() == pytest.approx(1, abs=1e-6)
            np.testing.assert_allclose(kernel, kernel[::-1])
            np.testing.assert_allclose(kernel, kernel.T)
            assert (np.diff(kernel[size, size:]) <= 1e-15).all()


def test_grid_of_whole_cells() -> None:
    """Cells cover the box, from south-west, and are counted from there; edges belong to the north-east."""
    grid = Grid((10, 20, 11, 20.3), cell=0.1)
    assert grid.shape == (3, 10)
    assert Grid((0, 0, 1001, 999), cell=500).shape == (2, 3)
    assert Grid((0, 0, 1, 1), cell=500).shape == (1, 1)
    rows, columns = Grid((0, 100, 1000, 600), cell=250).edges
    np.testing.assert_array_equal(rows, [100, 350, 600])
    np.testing.assert_array_equal(columns, [0, 250, 500, 750, 1000])
    square = Grid((0, 0, 2, 2), cell=1)
    np.testing.assert_array_equal(
        square.count([[0, 0], [1, 0], [1, 1], [2, 1], [0, -1e-9], [np.nan, 0]]), [[1, 1], [0, 1]]
    )
    assert square.count(np.empty((0, 2))).sum() == 0
    assert square.count(geopandas.GeoSeries(shapely.points([[0.5, 1.5]]))).tolist() == [[0, 0], [1, 0]]
    np.testing.assert_allclose(square.centers[1, 0], [0.5, 1.5])
    assert Grid((0, 0, 2, 2), cell=1) == Grid([0, 0, 2, 2], cell=1.0)  # type: ignore[arg-type]
    assert hash(square) == hash(Grid((0, 0, 2, 2), 1))


@pytest.mark.parametrize(
    ("bounds", "cell"),
    [
        ((0, 0, 0, 1), 1),
        ((0, 1, 1, 0), 1),
        ((0, 0, 1), 1),
        ((0, 0, np.nan, 1), 1),
        ((0, 0, np.inf, 1), 1),
        ("abcd", 1),
        (None, 1),
        ((0, 0, 1, 1), 0),
        ((0, 0, 1, 1), -1),
        ((0, 0, 1, 1), np.nan),
        ((0, 0, 1, 1), "1"),
        ((0, 0, 1e6, 1e6), 1),
        ((1e17, 0, 2e17, 1), 1e-3),
        ((1e17, 0, 1e17 + 64, 1), 1),
    ],
    ids=str,
)
def test_bad_grids_are_refused(bounds: Any, cell: Any) -> None:
    """Empty, turned over, endless or unreadable boxes, and cells too small to be held."""
    with pytest.raises(InvalidParameter, match=r"bounds|cell"):
        Grid(bounds, cell=cell)
    with pytest.raises(InvalidData, match="points"):
        GRID.count([[1.0, 2.0, 3.0]])
