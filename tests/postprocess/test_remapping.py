"""Released points come closer to the truth under a public prior, by exactly Bayes' rule."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import geopandas
import mpmath
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import geoveil as gv
from geoveil import Grid
from geoveil.errors import GeoveilError, IncompatibleGuarantees, InvalidData, InvalidParameter, NoErrorBound
from geoveil.postprocess.kernels import Noise, NoisyPoints, cell_kernel
from geoveil.postprocess.remapping import PointPosterior, choose, over_cells, over_places
from tests.geo.test_forms import in_the_plane
from tests.questions import release_of

Floats = NDArray[np.float64]

PLACES = np.array([[0.0, 0.0], [900.0, 0.0], [300.0, 800.0], [5000.0, 5000.0]])
CITY = np.array([550_000.0, 4_180_000.0])
GRID = Grid((0, 0, 3000, 2000), cell=500)


def rng(seed: int = 1) -> np.random.Generator:
    """A seeded generator."""
    return np.random.default_rng(seed)


def released(x: Any = PLACES, **how: Any) -> gv.Release:
    """Release points, each as another person's."""
    given: dict[str, Any] = {"rho": 1e-5, "person": np.arange(len(x)), "rng": rng()} | how
    release: gv.Release = release_of("points", x, **given)
    return release


def by_hand(y: Floats, noise: Noise, scale: float, places: Floats, weights: Floats) -> tuple[list[float], float]:
    """The posterior mean and variance of one point, at 60 digits."""
    with mpmath.workdps(60):
        chances = []
        for place, weight in zip(places, weights, strict=True):
            square = mpmath.fsum((mpmath.mpf(float(a)) - float(b)) ** 2 for a, b in zip(y, place, strict=True))
            log = -square / (2 * mpmath.mpf(scale) ** 2) if noise == "gaussian" else -mpmath.sqrt(square) / scale
            chances.append(float(weight) * mpmath.exp(log))
        total = mpmath.fsum(chances)
        mean = [
            mpmath.fsum(c * float(x) for c, x in zip(chances, axis, strict=True)) / total
            for axis in np.transpose(places)
        ]
        square = mpmath.fsum(
            c * mpmath.fsum((float(x) - m) ** 2 for x, m in zip(place, mean, strict=True))
            for c, place in zip(chances, places, strict=True)
        )
        return [float(m) for m in mean], float(square / total)


@pytest.mark.slow
@settings(max_examples=80)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["gaussian", "laplace"]),
    st.sampled_from([1, 2, 3, 5]),
    st.sampled_from([1e-2, 1.0, 100.0, 1e6]),
)
def test_posterior_follows_bayes(seed: int, noise: Noise, d: int, scale: float) -> None:
    """Places have the posterior that Bayes' rule gives.

    Mean and variance are those computed at 60 digits, near the places and where every likelihood underflows.
    """
    draw = rng(seed)
    places = draw.normal(scale=50.0, size=(int(draw.integers(1, 6)), d)) + 4e6
    weights = draw.uniform(size=len(places)) * 10.0 ** draw.integers(-30, 30)
    y = places[0] + draw.normal(size=d) * draw.choice([1.0, 100.0, 1e5])
    found = over_places(NoisyPoints(y[None], noise, np.array([scale])), places, weights)
    mean, variance = by_hand(y, noise, scale, places, weights)
    # A likelihood is an exponential of squares that doubles hold to 16 digits, far from the places.
    rounding = 1e-15 * float(np.square(y - places).sum(axis=1).max()) / scale ** (2 if noise == "gaussian" else 1)
    np.testing.assert_allclose(found.mean[0], mean, rtol=0, atol=1e-6 + 1e3 * rounding)
    np.testing.assert_allclose(found.variance[0], variance, rtol=1e-6 + 10 * rounding, atol=1e-5 + 1e5 * rounding)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("scale", [0.2, 0.7, 3.0])
def test_grid_cells_are_uniform(noise: Noise, scale: float) -> None:
    """Cells give the posterior of as many places as fill them, for noise smaller and larger than a cell."""
    weights = np.array([[1.0, 0.0, 2.0], [3.0, 1.0, 0.5]])
    fine = 150
    filled = Grid((0, 0, 3, 2), 1 / fine).centers.reshape(-1, 2)
    y = np.array([[0.3, 0.2], [3.4, 1.0], [-0.5, -0.4], [1.5, 0.5]])
    cells = over_cells(NoisyPoints(y, noise, np.full(4, scale)), Grid((0, 0, 3, 2), 1.0), weights)
    places = over_places(
        NoisyPoints(y, noise, np.full(4, scale)), filled, np.kron(weights, np.ones((fine, fine))).ravel()
    )
    np.testing.assert_allclose(cells.mean, places.mean, atol=2e-3)
    np.testing.assert_allclose(cells.variance, places.variance, atol=2e-3)


def test_laplace_is_a_mixture() -> None:
    """The kernel on cells is that of the planar Laplace density, and a kernel 10% wider is told apart."""
    offsets = Grid((-0.5, -0.5, 0.5, 0.5), 1 / 20).centers.reshape(-1, 2)
    ways = (offsets[:, None] - offsets).reshape(-1, 2)
    for row, column in ((0, 1), (2, 2), (5, 0), (9, 9)):
        length = np.hypot(ways[:, 0] + column, ways[:, 1] + row)
        dense = float(np.mean(np.exp(-length / 1.5)) / (2 * np.pi * 1.5**2))
        assert cell_kernel("laplace", 1.5, (9, 9))[9 + row, 9 + column] == pytest.approx(dense, rel=0.01)
        assert cell_kernel("laplace", 1.65, (9, 9))[9 + row, 9 + column] != pytest.approx(dense, rel=0.01)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("budget", [{"rho": 1e-6}, {"epsilon": 1e-3}], ids=str)
def test_true_prior_error(budget: dict[str, float]) -> None:
    """For points drawn from the prior the error is smaller than without it, and as large as was foretold."""
    draw = rng(2)
    grid = Grid((0, 0, 5000, 5000), cell=250)
    weights = (np.arange(grid.shape[0] * grid.shape[1]) % 57 == 0).astype(float).reshape(grid.shape)
    cells = draw.choice(weights.size, p=weights.ravel() / weights.sum(), size=4000)
    x = grid.centers.reshape(-1, 2)[cells] + draw.uniform(-125, 125, size=(4000, 2))
    raw = released(x, rng=draw, **budget, **({"rho": None} if "epsilon" in budget else {}))
    before = math.sqrt(np.square(raw.value - x).sum(axis=1).mean())
    errors = {}
    for to in ("mean", "place"):
        done = raw.remap(grid, weights=weights, to=to)
        errors[to] = math.sqrt(np.square(done.value - x).sum(axis=1).mean())
        assert done.expected_error() == pytest.approx(errors[to], rel=0.15)
        assert done.guarantee == raw.guarantee
        with pytest.raises(NoErrorBound, match="remapped"):
            done.error(0.05)
    assert errors["mean"] < 1.01 * errors["place"] < 0.9 * before
    other = raw.remap(grid)
    assert errors["mean"] < 0.98 * math.sqrt(np.square(other.value - x).sum(axis=1).mean())


def test_to_place_is_best() -> None:
    """Of all places with a weight the chosen one has the least posterior mean square distance."""
    raw = released(np.repeat(PLACES, 20, axis=0))
    weights = np.array([1.0, 0.0, 2.0, 1.0])
    chosen = raw.remap(PLACES, weights=weights, to="place")
    for y, place in zip(raw.value, chosen.value, strict=True):
        log = -np.square(y - PLACES).sum(axis=1) * 1e-5
        chance = weights * np.exp(log - log.max())
        costs = np.square(PLACES[:, None] - PLACES).sum(axis=2) @ (chance / chance.sum())
        allowed = [0, 2, 3]
        np.testing.assert_array_equal(place, PLACES[allowed][np.argmin(costs[allowed])])


def test_ties_take_the_first() -> None:
    """At a corner of four cells, and on duplicates, the choice goes by position."""
    corner = PointPosterior(np.array([[500.0, 500.0]]), np.zeros(1))
    places = GRID.centers.reshape(-1, 2)
    np.testing.assert_array_equal(choose(corner, places, np.ones(24)).mean, [[250.0, 250.0]])
    np.testing.assert_array_equal(choose(corner, places[::-1], np.ones(24)).mean, [[750.0, 750.0]])
    weights = np.ones(24)
    weights[0] = 0
    np.testing.assert_array_equal(choose(corner, places, weights).mean, [[750.0, 250.0]])


def test_one_place_draws_everything() -> None:
    """Where there is one place only, all points go there and no error is expected."""
    raw = released()
    for to in ("mean", "place"):
        done = raw.remap([[7.0, 8.0]], to=to)
        np.testing.assert_array_equal(done.value, np.tile([7.0, 8.0], (4, 1)))
        assert done.expected_error() == 0
    weights = np.zeros(GRID.shape)
    weights[1, 2] = 1e-300
    np.testing.assert_allclose(raw.remap(GRID, weights=weights, to="place").value, np.tile([1250.0, 750.0], (4, 1)))


@pytest.mark.parametrize("far", [1e4, 1e7, 9e7])
@pytest.mark.parametrize("budget", [{"rho": 1.0}, {"epsilon": 1.0, "rho": None}], ids=str)
def test_far_points_stay_finite(far: float, budget: dict[str, Any]) -> None:
    """However small all likelihoods are, the result is a number, and near the side from which the point came."""
    raw = released(np.array([[far, 1000.0], [1500.0, -far], [-far, -far]]), **budget)
    done = raw.remap(GRID).value
    assert np.isfinite(done).all()
    assert done[0, 0] > 2500
    assert done[1, 1] < 500
    assert (done[2] < 600).all()
    # Past the reach of any prior, weights of neighbours no longer count for Gaussian noise.
    if "epsilon" not in budget:
        np.testing.assert_array_equal(raw.remap(PLACES[:3], to="place").value[2], PLACES[0])


@pytest.mark.statistical
def test_small_noise_stays() -> None:
    """Within a cell's uniform prior, a point with little noise is its own estimate."""
    x = rng().uniform([0, 0], [3000, 2000], size=(50, 2))
    raw = released(x, rho=1.0)
    assert np.abs(raw.remap(GRID).value - raw.value).max() < 3


def test_persons_have_own_noise() -> None:
    """Persons of different noise are remapped each by theirs, as if each had been released alone."""
    x = rng().uniform([0, 0], [3000, 2000], size=(7, 2))
    labels = np.array(["b", "a", "a", "b", "a", "a", "a"])
    raw = gv.Locations(x, person=labels, rng=rng()).points(rho=1e-6)
    with pytest.raises(InvalidParameter, match=r"^person = None"):
        raw.remap(PLACES)
    done = raw.remap(PLACES, person=labels)
    for person in "ab":
        at = labels == person
        scale = np.full(at.sum(), raw.scale[person])
        alone = over_places(NoisyPoints(raw.value[at], "gaussian", scale), PLACES, np.ones(4))
        np.testing.assert_allclose(done.value[at], alone.mean)
    for wrong in (labels[::-1], labels[:3], np.repeat("a", 7), np.arange(7)):
        with pytest.raises(InvalidData, match=r"^person = "):
            raw.remap(PLACES, person=wrong)
    with pytest.raises(InvalidParameter, match=r"^person = "):
        gv.Locations(x).points(rho=1e-6).remap(PLACES, person=labels)


def test_frames_stay_frames() -> None:
    """A frame released by a column needs no labels, and comes back with its column, index and system."""
    x = rng().uniform([0, 0], [3000, 2000], size=(6, 2))
    frame = geopandas.GeoDataFrame(
        {"taxi": list("abbccc")}, geometry=shapely.points(x), crs=27700, index=np.arange(6) + 7
    )
    raw = gv.Locations(frame, person="taxi", rng=rng()).points(rho=1e-6)
    done = raw.remap(GRID)
    assert done.value.index.equals(frame.index)
    assert done.value["taxi"].equals(frame["taxi"])
    assert done.value.crs == frame.crs
    assert done.coords is not None
    np.testing.assert_allclose(shapely.get_coordinates(done.value.geometry.array), done.coords)
    array = gv.Locations(x, person=list("abbccc"), rng=rng()).points(rho=in_the_plane(27700, 1e-6))
    np.testing.assert_allclose(array.remap(GRID, person=list("abbccc")).value, done.coords)
    line = gv.Locations(shapely.MultiPoint(x), rng=rng()).points(rho=1e-6).remap(GRID).value
    assert isinstance(line, shapely.MultiPoint)


def test_priors_use_release_units() -> None:
    """In feet, a grid in feet and an array in feet do as the same ones in metres do for a release in metres."""
    foot = 1200 / 3937
    city = np.array([1_830_000.0, 640_000.0])
    x = city + rng().uniform([0, 0], [3000, 2000], size=(6, 2))
    feet = gv.Locations(geopandas.GeoSeries(shapely.points(x / foot), crs=2227), rng=rng()).points(rho=1e-5)
    plain = gv.Locations(x, rng=rng()).points(rho=in_the_plane(2227, 1e-5))
    ends = np.concatenate([city, city + np.array([3000, 2000])])
    metres, grid = Grid(tuple(ends), cell=500), Grid(tuple(ends / foot), cell=500 / foot)
    assert grid.shape == metres.shape == GRID.shape
    for prior, same in ((grid, metres), ((city + PLACES) / foot, city + PLACES)):
        found = feet.remap(prior)
        assert found.coords is not None
        np.testing.assert_allclose(found.coords, plain.remap(same).value, atol=1e-3)
        np.testing.assert_allclose(shapely.get_coordinates(found.value.array) * foot, found.coords)
        assert found.expected_error() == pytest.approx(plain.remap(same).expected_error(), rel=1e-3)


def test_priors_are_projected() -> None:
    """Points in degrees serve as the same points in the release's system; without a system they are refused."""
    stops = geopandas.GeoSeries(shapely.points(PLACES + CITY), crs=32610)
    raw = gv.Locations(stops, rng=rng()).points(rho=1e-6)
    expected = raw.remap(PLACES + CITY).coords
    for prior in (stops, stops.to_frame("geometry"), stops.to_crs(4326)):
        np.testing.assert_allclose(raw.remap(prior).coords, expected, atol=1e-3)  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="crs"):
        raw.remap(stops.set_crs(None, allow_override=True))
    with pytest.raises(InvalidData, match="Points"):
        raw.remap(stops.buffer(10))
    arrays = gv.Locations(PLACES + CITY, rng=rng()).points(rho=in_the_plane(32610, 1e-6))
    np.testing.assert_allclose(arrays.remap(stops).coords, expected, atol=1e-3)  # type: ignore[arg-type]
    with pytest.raises(GeoveilError, match="degrees"):
        arrays.remap(stops.to_crs(4326))


@pytest.mark.parametrize(
    "weights",
    [
        np.zeros(4),
        [1, 1, -1, 1],
        [1, 1, np.nan, 1],
        [1, 1, np.inf, 1],
        np.ones(3),
        np.ones((4, 1)),
        "many",
        [1, [2], 3, 4],
    ],
    ids=str,
)
def test_bad_weights_are_refused(weights: Any) -> None:
    """Weights that are no prior are refused. All zero, negative, missing, infinite or of another shape."""
    with pytest.raises(InvalidParameter, match="weights"):
        released().remap(PLACES, weights=weights)


@pytest.mark.parametrize("prior", [[], [[]], [[1.0]], [[1.0, np.nan]], [1.0, 2.0], "a", None, [[1, 2, 3]], 5], ids=str)
def test_bad_priors_are_refused(prior: Any) -> None:
    """Priors that are no places are refused. Nothing, other dimensions, missing coordinates and words."""
    with pytest.raises(InvalidData, match="prior"):
        released().remap(prior)


def test_unremappable_is_refused() -> None:
    """Releases that cannot be remapped are refused.

    Other questions, noise on all points together, processed releases, grids for other dimensions, unknown aims.
    """
    for x in (gv.Locations(PLACES).mean(rho=1), gv.Locations(PLACES).hull(rho=1)):
        with pytest.raises(InvalidData, match="of points"):
            x.remap(PLACES)
    together = [
        gv.Locations(PLACES).points(epsilon=1, method="best"),
        gv.Locations(PLACES).points(epsilon=gv.GP(epsilon=1, metric="2")),
        gv.Locations(PLACES, person=[1, 1, 2, 3]).points(epsilon=1, method="best"),
    ]
    for raw in together:
        with pytest.raises(InvalidData, match=r"independent.*gv\.paper\.identity"):
            raw.remap(PLACES)
    with pytest.raises(InvalidData, match="Remap first"):
        released().remap(PLACES).remap(PLACES)
    with pytest.raises(InvalidData, match="plane"):
        released(np.zeros((3, 3))).remap(GRID)
    with pytest.raises(InvalidParameter, match="to = "):
        released().remap(PLACES, to="mode")  # type: ignore[arg-type]
    assert released(np.zeros((3, 3))).remap(np.eye(3)).value.shape == (3, 3)


def test_laplace_forms_agree() -> None:
    """Copies of the Laplace, its K-norm and itself, of one point each, are remapped alike."""
    x = PLACES[:1]
    how: list[Any] = [{"method": "best"}, {"method": "best", "metric": "1"}, {"metric": "2"}]
    alike = [release_of("points", x, rng=rng(), epsilon=0.01, **kind) for kind in how]
    for raw in (gv.paper.identity(x, epsilon=0.01, rng=rng()), *alike):
        expected = over_places(NoisyPoints(np.asarray(raw.coords), "laplace", np.full(1, 100.0)), PLACES, np.ones(4))
        np.testing.assert_allclose(raw.remap(PLACES).value, expected.mean)
    copies = gv.Locations(PLACES, rng=rng()).points(epsilon=gv.GP(epsilon=0.01, metric="1"), method="best")
    expected = over_places(NoisyPoints(copies.value, "laplace", np.full(4, 100.0)), PLACES, np.ones(4))
    np.testing.assert_allclose(copies.remap(PLACES).value, expected.mean)


def test_other_maps_are_paid() -> None:
    """Guarantees add up, unless the map is of the release itself or the persons are known to be others."""
    raw = released()
    own = raw.remap(raw.density(GRID))
    assert own.guarantee == raw.guarantee
    assert "heat map" in own.processing.steps[-1]
    one, other = (
        gv.Locations(
            geopandas.GeoDataFrame({"user": users}, geometry=shapely.points(PLACES), crs=27700), person="user"
        ).points(rho=rho)
        for users, rho in ((list("abcd"), 1e-5), (list("wxyz"), 3e-5))
    )
    assert one.remap(other.density(GRID)).guarantee == gv.CGP(rho=3e-5)
    same = released(rho=3e-5, rng=rng(3))
    assert raw.remap(same.density(GRID)).guarantee == gv.CGP(rho=4e-5)
    unknown = gv.Locations(PLACES, rng=rng(3)).points(rho=3e-5)
    done = raw.remap(unknown.density(GRID))
    assert done.guarantee == gv.CGP(rho=4e-5)
    assert done.certificate()["rho"] == "0.00004"
    np.testing.assert_allclose(done.value, raw.remap(GRID, weights=unknown.density(GRID).value).value)
    laplace = gv.Locations(PLACES, person=np.arange(4), rng=rng(3)).points(epsilon=1e-2)
    with pytest.raises(IncompatibleGuarantees):
        raw.remap(laplace.density(GRID))
    with pytest.raises(InvalidParameter, match="weights"):
        raw.remap(raw.density(GRID), weights=np.ones(GRID.shape))
    elsewhere = gv.Locations(geopandas.GeoSeries(shapely.points(PLACES), crs=27700), rng=rng()).points(rho=1e-5)
    with pytest.raises(InvalidData, match="system"):
        elsewhere.remap(raw.density(GRID))


def test_own_map_is_free(tmp_path: Path) -> None:
    """The heat map of a release has its guarantee already: in memory, in a file, loaded, beside another release."""
    frame = geopandas.GeoDataFrame({"user": list("abcd")}, geometry=shapely.points(PLACES), crs=27700)
    frame.to_file(tmp_path / "people.gpkg")
    written, other = (
        gv.Locations(tmp_path / "people.gpkg", person="user").points(rho=rho, to=tmp_path / name)
        for name, rho in (("one.gpkg", 1e-5), ("other.gpkg", 3e-5))
    )
    assert written.remap(written.density(GRID)).guarantee == gv.CGP(rho=1e-5)
    assert not written.remap(written.density(GRID)).processing.combined
    assert gv.load(tmp_path / "one.gpkg").remap(written.density(GRID)).guarantee == gv.CGP(rho=1e-5)
    assert written.remap(other.density(GRID)).guarantee == gv.CGP(rho=4e-5)
    both = written.remap(written.density(GRID, others=[other]))
    assert both.guarantee == gv.CGP(rho=4e-5)
    assert both.processing.combined


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many points in small pieces come out as they do in one."""
    x = rng().uniform([0, 0], [3000, 2000], size=(40, 2))
    raw = released(x)
    before = [raw.remap(prior).value for prior in (PLACES, GRID)]
    monkeypatch.setattr("geoveil.postprocess.remapping._CHUNK", 150)
    for prior, expected in zip((PLACES, GRID), before, strict=True):
        np.testing.assert_allclose(raw.remap(prior).value, expected, rtol=1e-12)


def test_remapping_is_stated() -> None:
    """Its text and certificate name the prior, the expected error and no bound, and it can be clamped."""
    raw = released()
    done = raw.remap(pd.DataFrame(PLACES).to_numpy())
    assert "remapped to the posterior mean under a public prior of 4 places" in repr(done)
    assert "no guaranteed bound; " in repr(done)
    assert done.certificate()["radius_95"] is None
    assert done.id != raw.id
    assert done.clamp(shapely.box(0, 0, 100, 100)).value.max() <= 100
