"""The laws of centres keep the theorems of docs/understand/zones.md, by quadrature, on the lattice and in draws."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyproj
import pytest
from scipy import stats

from geoveil.errors import InvalidParameter
from geoveil.mechanisms.discs import FARTHEST, RADIUS, ROUNDING, STEPS, Disc, TruncatedGaussian, UniformDisc
from geoveil.noise import Entropy, Experiment, Source
from geoveil.privacy import CGP
from tests.oracle import ALPHAS, Floats, renyi

UNIFORM = UniformDisc.hiding(200)
GAUSSIAN = TruncatedGaussian.of(CGP(rho=2e-5))
#: Close to the reach, where the truncation matters, and on a disc so large that the sphere is curved.
SHORT = TruncatedGaussian(CGP(rho=2e-5), 400)
WIDE = TruncatedGaussian(CGP(rho=4e-10), 100_000)
FALSE_ALARM = 1e-6
#: Orders up to 100.
ORDERS = (*ALPHAS, 30.0, 100.0)


@cache
def nodes() -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights on [0, 1]."""
    found, weights = np.polynomial.legendre.leggauss(160)
    return (found + 1) / 2, weights / 2


def lens(law: Disc, distance: float) -> tuple[Floats, Floats, Floats]:
    """Return the distances from two places to points of the lens of their discs, and the weights of these points.

    The points are those of a product rule on the sphere seen from afar, straight above the midpoint of the places:
    f towards the one place, g across. An area of the sphere is that of its picture divided by the height.
    """
    theta, psi = distance / (2 * RADIUS), law.reach / RADIUS
    share, weight = nodes()
    # Substitutions that smooth the roots at the ends of the lens.
    f = math.sin(psi - theta) * np.sin(share * math.pi / 2)
    f_weight = math.sin(psi - theta) * np.cos(share * math.pi / 2) * math.pi / 2 * weight
    low = (math.cos(psi) + math.sin(theta) * f) / math.cos(theta)
    top = np.sqrt(np.maximum(1 - f * f - low * low, 0))
    g = top[:, None] * (2 * share - 1)
    g_weight = 2 * top[:, None] * weight
    height = np.sqrt(1 - f[:, None] ** 2 - g * g)
    weights = RADIUS**2 * f_weight[:, None] * g_weight / height
    f = np.broadcast_to(f[:, None], g.shape)
    both = []
    for side in (1, -1):
        across = (math.sin(theta) ** 2 - f * f - g * g) / (height + math.cos(theta))
        chord = np.sqrt((f - side * math.sin(theta)) ** 2 + g * g + across**2)
        both.append(np.minimum(2 * RADIUS * np.arcsin(chord / 2), law.reach))
    # The half with f > 0, and its mirror image, in which the places change roles.
    return np.stack(both), np.stack(both[::-1]), weights


def log_densities(law: Disc, distance: float) -> tuple[Floats, Floats, Floats]:
    """Return the logarithms of both densities on the lens, and weights."""
    near, far, weights = lens(law, distance)
    return np.log(law.density(near)), np.log(law.density(far)), np.stack([weights, weights])


def check_theorem_of_rho(law: TruncatedGaussian, distance: float) -> None:
    """Given that the centre is in the lens, the divergence is at most αρd² for all α; δ is the rest."""
    log_p, log_q, weights = log_densities(law, distance)
    inside = float(np.sum(weights * np.exp(log_p)))
    assert law.exclusion(distance) == pytest.approx(1 - inside, rel=1e-4, abs=1e-9)
    allowed = float(law.guarantee.rho) * distance**2
    for alpha in ORDERS:
        found = renyi(log_p - math.log(inside), log_q - math.log(inside), alpha, weights)
        assert found <= alpha * allowed * (1 + 1e-9), (alpha, found / (alpha * allowed))


@pytest.mark.parametrize("distance", [0.5, 50.0, 212.0, 390.0, 700.0])
@pytest.mark.parametrize("law", [GAUSSIAN, SHORT], ids=["far", "short"])
def test_truncated_gaussian_guarantee(law: TruncatedGaussian, distance: float) -> None:
    """Wherever the discs of two places overlap, conditioning on the lens costs nothing."""
    check_theorem_of_rho(law, distance)


@pytest.mark.parametrize("distance", [1000.0, 50_000.0, 150_000.0])
def test_sphere_curvature_is_paid(distance: float) -> None:
    """The curvature of the sphere is paid for. On the largest disc the guarantee holds."""
    check_theorem_of_rho(WIDE, distance)


def check_curvature() -> None:
    """σ on a large disc includes what the curvature costs."""
    law = TruncatedGaussian(CGP(rho=4e-10), FARTHEST)
    theta = law.reach / RADIUS
    # The proof's bound: κ²/(2κ') per squared radius, κ' = κ·cos θ - 2/cos θ, at the farthest places of a lens.
    concentration = (RADIUS / law.scale) ** 2
    least = concentration * math.cos(theta) - 2 / math.cos(theta)
    assert concentration**2 / (2 * least) / RADIUS**2 <= float(law.guarantee.rho)


def test_proofs_bound_is_kept() -> None:
    """The formula of the theorem on the sphere is met by σ."""
    check_curvature()


def test_guarantee_is_not_loose() -> None:
    """Nearby places use nearly all of ρ, if the truncation is far away."""
    log_p, log_q, weights = log_densities(GAUSSIAN, 20.0)
    assert renyi(log_p, log_q, 2.0, weights) / (2 * 2e-5 * 400) > 0.99


@pytest.mark.parametrize("law", [UNIFORM, GAUSSIAN, SHORT, UniformDisc(100_000)], ids=repr)
def test_laws_are_normalised(law: Disc) -> None:
    """The density of a centre has the integral one over the disc."""
    assert law._integral(np.ones_like, 0.0, law.reach / RADIUS) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.8, 1.2, 1.9])
@pytest.mark.parametrize("law", [UNIFORM, SHORT, GAUSSIAN, UniformDisc(100_000)], ids=repr)
def test_total_variation_is_stated(law: Disc, share: float) -> None:
    """The stated advantage is the total variation of the two laws, by quadrature, and not less."""
    distance = share * law.reach
    log_p, log_q, weights = log_densities(law, distance)
    common = float(np.sum(weights * np.minimum(np.exp(log_p), np.exp(log_q))))
    assert law.advantage(distance) >= 1 - common - 2e-5
    assert law.advantage(distance) == pytest.approx(1 - common, abs=5e-4)


@pytest.mark.parametrize("distance", [10.0, 200.0, 400.0])
def test_uniform_centres_rule_out(distance: float) -> None:
    """Where the discs overlap both laws are the same, so that the loss is the chance of exclusion alone."""
    log_p, log_q, _ = log_densities(UNIFORM, distance)
    assert (log_p == log_q).all()
    assert UNIFORM.exclusion(distance) == pytest.approx(UNIFORM.advantage(distance), rel=1e-6)


@pytest.mark.parametrize(("chance", "ratio"), [(0.75, 1.24), (0.6, 3.17), (0.9, 0.73)])
@pytest.mark.parametrize("distance", [200.0, 1000.0])
def test_disc_sizes_follow_theorem(chance: float, ratio: float, distance: float) -> None:
    """The reach is the smallest whole number of metres that keeps the chance."""
    law = UniformDisc.hiding(distance, chance)
    assert law.reach == pytest.approx(ratio * distance, rel=0.006)
    assert law.chance(distance) <= chance < UniformDisc(law.reach - 1).chance(distance)


@pytest.mark.parametrize(("delta", "ratio"), [(1e-3, 3.43), (1e-6, 4.64)])
def test_gaussian_disc_sizes(delta: float, ratio: float) -> None:
    """The reach is the smallest that keeps δ at the distance hidden at 75%."""
    law = TruncatedGaussian.of(CGP(rho=1e-5), delta)
    far = 2 * stats.norm.ppf(0.75) * law.scale
    assert law.reach / far == pytest.approx(ratio, abs=0.005)
    assert law.exclusion(far) <= delta < TruncatedGaussian(law.guarantee, law.reach - 1).exclusion(far)


def test_sphere_map_contracts() -> None:
    """The map from the ellipsoid to the sphere is a contraction, wherever two points are."""
    rng = np.random.default_rng(3)
    lon, lat = rng.uniform(-180, 180, 3000), np.degrees(np.arcsin(rng.uniform(-1, 1, 3000)))
    bearing, length = rng.uniform(0, 360, 3000), 10 ** rng.uniform(0, 6, 3000)
    geod = pyproj.Geod(ellps="WGS84")
    lon2, lat2, _ = geod.fwd(lon, lat, bearing, length)
    half = np.pi / 360
    square = np.sin((lat2 - lat) * half) ** 2
    square += np.cos(2 * half * lat) * np.cos(2 * half * lat2) * np.sin((lon2 - lon) * half) ** 2
    ratio = 2 * RADIUS * np.arcsin(np.sqrt(square)) / length
    assert ratio.max() <= 1 + 1e-8  # the noise of geodesics of a metre
    assert ratio.min() > 0.98


def separation(one: tuple[float, float], steps: tuple[int, int]) -> float:
    """Return the distance on the sphere from a place to a centre, by vectors."""
    (lat, lon), (lat2, lon2) = np.radians(one), np.radians(np.array(steps) / STEPS)
    a, b = (np.array([np.cos(p) * np.cos(q), np.cos(p) * np.sin(q), np.sin(p)]) for p, q in ((lat, lon), (lat2, lon2)))
    return float(2 * RADIUS * np.arcsin(np.linalg.norm(a - b) / 2))


PLACES = [(47.37, 8.54), (0.0, 0.0), (-33.9, 180.0), (64.1, -179.9999), (89.9999, 10.0), (90.0, 0.0), (-90.0, 77.0)]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("law", [UNIFORM, SHORT], ids=["uniform", "Gaussian"])
def test_centres_are_within_reach(law: Disc, place: tuple[float, float]) -> None:
    """A centre is within reach of its place. Also at the poles and at the antimeridian, and on the lattice."""
    source = Entropy(np.random.default_rng(4).bytes)
    for _ in range(50):
        lat, lon = law.draw(*place, source)
        assert separation(place, (lat, lon)) <= law.reach + ROUNDING
        assert -180 * STEPS < lon <= 180 * STEPS
        assert abs(lat) <= 90 * STEPS


@pytest.mark.parametrize("law", [UNIFORM, SHORT], ids=["uniform", "Gaussian"])
def test_noise_ignores_the_place(law: Disc) -> None:
    """The same random bits give the same distance, up to the lattice, at every place."""
    drawn = [separation(place, law.draw(*place, Entropy(np.random.default_rng(6).bytes))) for place in PLACES]
    assert max(drawn) - min(drawn) <= 2 * ROUNDING


def test_places_are_not_rounded() -> None:
    """Two places that differ in the last bit of a double get centres from the same law, and mostly the same centre."""
    near = np.nextafter(47.37, 50)
    both = [UNIFORM.draw(lat, 8.54, Entropy(np.random.default_rng(7).bytes)) for lat in (47.37, near)]
    assert both[0] == both[1]


def lattice_law(law: Disc, lat: float, lon: float) -> dict[tuple[int, int], float]:
    """Return the probabilities of the lattice's points near the equator: the law's share of the cell around each."""
    step = math.radians(1 / STEPS) * RADIUS
    parts = (np.arange(40) + 0.5) / 40 - 0.5
    reach = math.ceil(law.reach / step) + 2
    found = {}
    for row in range(round(lat * STEPS) - reach, round(lat * STEPS) + reach + 1):
        for column in range(round(lon * STEPS) - reach, round(lon * STEPS) + reach + 1):
            up, over = (row + parts - lat * STEPS) * step, (column + parts - lon * STEPS) * step
            mass = float(law.density(np.hypot(up[:, None], over[None, :])).mean()) * step**2
            if mass > 0:
                found[row, column] = mass
    return found


def check_lattice_law(law: Disc, seed: int = 8) -> None:
    """Draws have the exact probabilities of the lattice's points."""
    place = (0.00001234567, 0.00002345678)
    expected, source = lattice_law(law, *place), Entropy(np.random.default_rng(seed).bytes)
    draws = 6000
    counts = dict.fromkeys(expected, 0)
    for _ in range(draws):
        at = law.draw(*place, source)
        assert at in counts
        counts[at] += 1
    wanted = np.array([*expected.values()]) * draws
    order = np.argsort(wanted)
    # Rare points are counted together.
    groups = np.cumsum(wanted[order]) // 12
    observed = np.bincount(groups.astype(int), np.array([*counts.values()])[order])
    ideal = np.bincount(groups.astype(int), wanted[order])
    statistic = float(((observed - ideal) ** 2 / np.maximum(ideal, 1e-9)).sum())
    assert stats.chi2.sf(statistic, len(ideal) - 1) > FALSE_ALARM


SMALL = UniformDisc(12)
SMALL_GAUSSIAN = TruncatedGaussian(CGP(rho=0.02), 12)
LATTICE = pytest.mark.parametrize("law", [SMALL, SMALL_GAUSSIAN], ids=["uniform", "Gaussian"])


@pytest.mark.slow
@pytest.mark.statistical
@LATTICE
def test_lattice_draws_follow_law(law: Disc) -> None:
    """Draws follow the exact law on the lattice. A goodness-of-fit test accepts the law."""
    check_lattice_law(law)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("law", "other"),
    [(SMALL, {"reach": 11}), (SMALL_GAUSSIAN, {"guarantee": CGP(rho=0.03)}), (SMALL_GAUSSIAN, {"reach": 16})],
)
def test_another_law_is_rejected(law: Any, other: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same test rejects draws from a disc, or with noise, that is a little different."""
    wrong, right = replace(law, **other), type(law).draw_height
    monkeypatch.setattr(type(law), "draw_height", lambda _, source: right(wrong, source))
    with pytest.raises(AssertionError):
        check_lattice_law(law)


@pytest.mark.parametrize("law", [SMALL, SMALL_GAUSSIAN], ids=["uniform", "Gaussian"])
def test_lattice_keeps_theorems(law: Disc) -> None:
    """The laws of two printed centres differ by no more than the stated total variation, and by hardly less."""
    step = math.radians(1 / STEPS) * RADIUS
    for steps in (1, 4, 9):
        one, other = lattice_law(law, 0.0, 0.0), lattice_law(law, 0.0, steps / STEPS)
        apart = sum(abs(one.get(at, 0.0) - other.get(at, 0.0)) for at in {*one, *other}) / 2
        stated = law.advantage(steps * step)
        assert 0.85 * stated < apart <= stated + 3e-3


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("make", [Experiment, lambda rng: Entropy(rng.bytes)], ids=["numpy", "entropy"])
@pytest.mark.parametrize("law", [UNIFORM, GAUSSIAN], ids=["uniform", "Gaussian"])
def test_distances_follow_the_law(law: Disc, make: Any) -> None:
    """A Kolmogorov-Smirnov test accepts the distances of centres, and rejects them 12% off."""
    source: Source = make(np.random.default_rng(9))
    drawn = np.array([separation((47.37, 8.54), law.draw(47.37, 8.54, source)) for _ in range(2500)])
    quantiles = np.array([law.error(beta) for beta in np.linspace(0.9999, 0.0001, 2000)])

    def cdf(x: Floats) -> Floats:
        return np.interp(x, quantiles, np.linspace(0.0001, 0.9999, 2000))

    assert stats.kstest(drawn, cdf).pvalue > FALSE_ALARM
    assert stats.kstest(drawn * 1.12, cdf).pvalue < FALSE_ALARM


@pytest.mark.parametrize("distance", [0.0, 0.5, 90_000.0])
def test_unhideable_distances_are_refused(distance: float) -> None:
    """What no disc hides is refused. The remedy's own distance is accepted."""
    with pytest.raises(InvalidParameter, match="between 1 m and 50 km"):
        UniformDisc.hiding(distance)
    assert UniformDisc.hiding(1).reach == 10
    assert UniformDisc.hiding(50_000).reach <= FARTHEST


@pytest.mark.parametrize("rho", [1.0, 1e-12])
def test_discless_budgets_are_refused(rho: float) -> None:
    """Budgets without a disc are refused. The remedy's own budget is accepted."""
    with pytest.raises(InvalidParameter, match="rho=5e-5"):
        TruncatedGaussian.of(CGP(rho=rho))
    assert TruncatedGaussian.of(CGP(rho=5e-5)).reach > 0
    with pytest.raises(InvalidParameter, match=r"TruncatedGaussian\.of"):
        TruncatedGaussian(CGP(rho=5e-5), 150)
