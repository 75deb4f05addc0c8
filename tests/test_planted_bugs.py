"""A test of the tests: each bug, planted in the package, is caught by the check that should catch it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb
from scipy.special import ndtri

from geoveil.answering import crowd_requests, crowd_sources, pipeline, point_facts
from geoveil.answering.crowd import CrowdQuestion
from geoveil.audit import evidence, payoffs, scores, tested
from geoveil.geo.row_forms import TableForm
from geoveil.locations import hiding as zone_hiding
from geoveil.mechanisms import (
    Draws,
    Exponential,
    Gaussian,
    KNorm,
    Laplace,
    NearestNeighbour,
    PermuteAndFlip,
    SparseVector,
    Walk,
    discs,
)
from geoveil.mechanisms import laplace as laplace_module
from geoveil.mechanisms.discs import TruncatedGaussian, UniformDisc
from geoveil.mechanisms.sparse_vector import noisy_threshold
from geoveil.noise import Blocks, Entropy, Source, as_reals, rectangles, samplers
from geoveil.noise.samplers import spherical_laplace
from geoveil.postprocess import region_totals
from geoveil.privacy import CGP, GP, Guarantee, Metric, exact, stretch_sizes, stretches
from geoveil.queries import SUMMARIES, Points, UnitSizes, constants, convex, crowd, hull, nearest, support
from geoveil.queries.crowd import counts, fixed_point, flows, kernel
from geoveil.queries.crowd import sums as kernel_sums
from geoveil.zones import Centres, Cut, Hiding, Zone, ZonesRelease, cutting
from tests.answering import test_crowd as test_crowd_answers
from tests.answering import test_units
from tests.audit import test_evidence, test_payoffs
from tests.mechanisms import test_discs, test_oracle, test_samplers
from tests.mechanisms.test_oracle import EPSILON, RHO
from tests.noise import test_rectangles
from tests.oracle import Floats
from tests.postprocess import test_region_totals
from tests.queries import test_crowd, test_support
from tests.queries import test_units as test_query_units
from tests.zones import test_centres, test_cutting, test_zones_release

pytestmark = pytest.mark.slow


def wrong_center(patch: pytest.MonkeyPatch) -> None:
    """A Lipschitz constant that is too small by √2."""
    right = constants._SQUARES["center"]
    patch.setitem(constants._SQUARES, "center", lambda n, d, m: tuple(Fraction(s) / 2 for s in right(n, d, m)))


def forgotten_k(patch: pytest.MonkeyPatch) -> None:
    """Each of k searches at the whole budget."""

    def search(guarantee: Guarantee, rounds: int, gamma0: float) -> NearestNeighbour:
        return NearestNeighbour(guarantee, gamma0)  # type: ignore[arg-type]

    patch.setattr(nearest, "search", search)


def whole_epsilon_in_exponential(patch: pytest.MonkeyPatch) -> None:
    """ε where ε/2 belongs."""
    patch.setattr(Exponential, "scale", property(lambda m: exact.ratio_up(m.spread / 2, EPSILON.epsilon)))


def whole_epsilon_in_sparse_vector(patch: pytest.MonkeyPatch) -> None:
    """K/ε₂ where 2K/ε₂ belongs."""
    patch.setattr(SparseVector, "scale", property(lambda m: exact.ratio_up(m.lipschitz, m._epsilons[1])))


def unconcentrated_gaussian(patch: pytest.MonkeyPatch) -> None:
    """K/√(4ρ) where K/√(2ρ) belongs."""
    patch.setattr(
        Gaussian, "scale", property(lambda m: exact.ratio_up(m.lipschitz, exact.sqrt_down(4 * m.guarantee.rho)))
    )


def no_threshold_noise(patch: pytest.MonkeyPatch) -> None:
    """The sparse vector technique with its threshold in the clear, in law and sampler."""
    patch.setattr(SparseVector, "threshold_scale", 1e-3)


def no_threshold_noise_drawn(patch: pytest.MonkeyPatch) -> None:
    """A sampler that forgets the threshold's noise, beside probabilities that do not."""

    def sample(m: SparseVector, values: Floats, threshold: float, source: Source) -> int | None:
        return Walk(values, m.scale).halt(as_reals(np.array(threshold)), source, cyclic=m.cyclic)

    patch.setattr(SparseVector, "sample", sample)


def no_minimum_noise_drawn(patch: pytest.MonkeyPatch) -> None:
    """A nearest neighbour whose smallest distance gets only one of its two noises."""

    def visit(m: NearestNeighbour, walk: Walk, source: Source) -> int | None:
        return walk.halt(noisy_threshold(m._plus_gamma0(walk.smallest), m.scale, source), source, cyclic=True)

    patch.setattr(NearestNeighbour, "visit", visit)


def reused_noise(patch: pytest.MonkeyPatch) -> None:
    """One normal variable for all coordinates of a tuple."""

    def noise(m: Gaussian, source: Source, sizes: Any, dimension: int) -> Blocks:
        drawn = source.normal(len(sizes))
        values = np.repeat(drawn.values, sizes)[:, None] * np.ones(dimension)
        yield slice(0, len(values)), replace(drawn, values=values)

    patch.setattr(Gaussian, "noise", noise)


def exponential_radius(patch: pytest.MonkeyPatch) -> None:
    """An exponential radius where Gamma(d) belongs."""
    patch.setattr(samplers, "gamma", lambda source, shapes: source.exponential(len(shapes)))


def stretched_laplace(patch: pytest.MonkeyPatch) -> None:
    """Laplace noise 5% too short."""

    def shorter(*args: Any) -> Blocks:
        for rows, drawn in spherical_laplace(*args):
            yield rows, replace(drawn, values=0.95 * drawn.values)

    patch.setattr(laplace_module, "spherical_laplace", shorter)


def rest_two_percent_off(patch: pytest.MonkeyPatch) -> None:
    """A normal density that is 2% too large where rectangles leave a rest."""
    right = rectangles._density
    patch.setattr(rectangles, "_density", lambda z: 1.02 * right(z))


def bins_one_off(patch: pytest.MonkeyPatch) -> None:
    """The mirror image of bin k at -k, where -1 - k belongs."""
    right = rectangles._mirrored

    def mirrored(counts: Any) -> Any:
        bins = right(counts)
        return np.where(bins < 0, bins + 1, bins)

    patch.setattr(rectangles, "_mirrored", mirrored)


def proposals_on_one_side(patch: pytest.MonkeyPatch) -> None:
    """A rest whose proposals below 0 have lost their sign."""
    right = rectangles.Rectangles._chances

    def chances(table: Any, values: Floats, words: Any) -> Floats:
        found = right(table, values, words)
        np.abs(values, out=values)
        return found

    patch.setattr(rectangles.Rectangles, "_chances", chances)


def exponential_tail(patch: pytest.MonkeyPatch) -> None:
    """A tail whose proposals are accepted wherever they are."""
    right = rectangles.Rectangles._chance

    def chance(table: Any, pairs: Any, i: int, b: int) -> Any:
        in_tail = int(pairs.words[i]) >> 52 >= len(table._proposed)
        return arb(-table._floors[-1]) if in_tail else right(table, pairs, i, b)

    patch.setattr(rectangles.Rectangles, "_chance", chance)


def tail_on_one_side(patch: pytest.MonkeyPatch) -> None:
    """A tail without a sign."""
    right = rectangles.Rectangles._proposal
    patch.setattr(rectangles.Rectangles, "_proposal", lambda table, pairs, i, b: abs(right(table, pairs, i, b)))


def metric_ignored(patch: pytest.MonkeyPatch) -> None:
    """The constants of dist_2 for a guarantee under dist_inf."""
    right = constants._SQUARES["mean"]
    patch.setitem(constants._SQUARES, "mean", lambda n, d, m: (right(n, d, m)[1],) * 2)


def permute_and_flip_with_bounded_range(patch: pytest.MonkeyPatch) -> None:
    """Permute-and-flip with the η that bounded range would allow: half the noise."""
    patch.setattr(PermuteAndFlip, "scale", property(lambda m: exact.ratio_up(m.spread / 2, m.guarantee.epsilon)))


def added_exponential_noise(patch: pytest.MonkeyPatch) -> None:
    """Exponential noise added to the scores instead of subtracted."""

    def choose(draws: Any, source: Source, *, remove: bool = False) -> int:
        return int(draws._order[np.argmin(draws._heights + source.exponential(len(draws._heights)).values)])

    patch.setattr(Draws, "choose", choose)


def coins_tossed_again(patch: pytest.MonkeyPatch) -> None:
    """Plain noise that tosses a coin again that has shown tails."""

    def tossed(draws: Any, source: Source) -> int:
        while True:
            place = int(source.uniform(1).values[0] * len(draws._heights))
            if source.exponential(1).values[0] > draws._heights[place] - draws._heights[0]:
                return place

    patch.setattr(Draws, "_toss_in_turn", tossed)


def one_spread_for_all_metrics(patch: pytest.MonkeyPatch) -> None:
    """The spread of dist_1 under dist_inf."""
    patch.setitem(test_oracle.SPREADS, "inf", 1.0)


def short_tuple_noise(patch: pytest.MonkeyPatch) -> None:
    """A radius of Gamma(D) where Gamma(D+1) belongs."""
    right = samplers.gamma
    patch.setattr(samplers, "gamma", lambda source, shapes: right(source, shapes - 1))


def split_tuple_noise(patch: pytest.MonkeyPatch) -> None:
    """The whole ε for every point under dist_inf."""
    patch.setattr(KNorm, "scale", property(lambda m: exact.ratio_up(0.9, m.guarantee.epsilon)))


def support_without_root_k(patch: pytest.MonkeyPatch) -> None:
    """Noise for one value of the support function on each of k."""
    patch.setattr(support, "support_squared", lambda k, n, largest, dimension: Fraction(1))


def separate_directions(patch: pytest.MonkeyPatch) -> None:
    """Opposite directions that are computed separately, and so differ in their last bits."""

    def directions(k: int) -> Floats:
        angle = 2 * np.pi * np.arange(k) / k
        return convex.shortened(np.column_stack([np.cos(angle), np.sin(angle)]))

    patch.setattr(support, "directions", directions)


def separate_grid(patch: pytest.MonkeyPatch) -> None:
    """The same above the plane."""

    def probes(k: int, dimension: int) -> Floats:
        u = hull.probes(k, dimension)
        return np.where(u[:, :1] < 0, u * (1 + 2.0**-52), u)

    patch.setattr(support, "probes", probes)


def resolution_from_the_diameter(patch: pytest.MonkeyPatch) -> None:
    """As many directions as the true diameter seems to need."""
    right = support.SupportHull.ask

    def ask(query: support.SupportHull, x: Floats, source: Source) -> Any:
        wanted = 12 if np.ptp(x) < 100 else 24
        return right(replace(query, k=wanted), x, source)

    patch.setattr(support.SupportHull, "ask", ask)


def metrics_converted_by_n(patch: pytest.MonkeyPatch) -> None:
    """From dist_1 to dist_inf by n where n² belongs."""
    patch.setattr(Metric, "stretch_squared", lambda metric, target, n: n)


def half_the_dimension(patch: pytest.MonkeyPatch) -> None:
    """Both guarantees at once as if noise had twice as many dimensions."""
    right = GP.of_laplace
    patch.setattr(GP, "of_laplace", lambda guarantee, dimension: right(guarantee, 2 * dimension))


def binned_kernel(patch: pytest.MonkeyPatch) -> None:
    """Points that are moved to the centre of their cell before their kernel is evaluated."""
    right = kernel_sums.KernelSums._located

    def located(sums: kernel_sums.KernelSums, x: Floats) -> Any:
        at = sums.lattice
        corner = np.array([at.west, at.south])
        return right(sums, corner + (np.floor((x - corner) / at.cell) + 0.5) * at.cell)

    patch.setattr(kernel_sums.KernelSums, "_located", located)


def weight_of_points(patch: pytest.MonkeyPatch) -> None:
    """Every point counts as one, where every person should."""
    right = kernel_sums.KernelSums._checked

    def checked(sums: Any, places: Any, weights: Any, slices: Any) -> Any:
        points, _, at = right(sums, places, weights, slices)
        return points, np.ones(len(points[0])), at

    patch.setattr(kernel_sums.KernelSums, "_checked", checked)


def weight_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Noise for a weight of 1, whatever a unit weighs."""
    patch.setattr(crowd.CrowdQuery, "constant", property(lambda query: query.kernel_constant))


def every_point_weighs_one(patch: pytest.MonkeyPatch) -> None:
    """A question that gives each point the weight of a person."""
    patch.setattr(CrowdQuestion, "weights", lambda question, sizes: np.ones(len(sizes)))
    patch.setattr(kernel_sums.KernelSums, "__init__", _unlimited(kernel_sums.KernelSums.__init__))


def _unlimited(right: Any) -> Any:
    """Return a constructor of sums that take any weights."""

    def made(
        sums: Any, lattice: Any, side: int, n: int, total: float, slices: int, heaviest: float, ends: int
    ) -> None:
        right(sums, lattice, side, n, 10.0 * n, slices, 10.0 * n, ends)

    return made


def sizes_of_neighbours(patch: pytest.MonkeyPatch) -> None:
    """Units that are smaller than they are: each point's unit is thought to be the smallest one of all."""
    right: Any = vars(crowd_sources.MemoryCrowd)["sizes"].func
    patch.setattr(crowd_sources.MemoryCrowd, "sizes", property(lambda source: np.full(source.n, right(source).min())))
    patch.setattr(kernel_sums.KernelSums, "__init__", _unlimited(kernel_sums.KernelSums.__init__))


def skipped_persons_counted(patch: pytest.MonkeyPatch) -> None:
    """Persons without enough budget, who are not charged, but counted."""
    patch.setattr(crowd_sources.MemoryCrowd, "without", lambda source, skipped: source)


def trips_without_persons(patch: pytest.MonkeyPatch) -> None:
    """Trips whose first and last points may belong to two persons."""
    right = crowd_requests._ends_of_trips
    patch.setattr(crowd_requests, "_ends_of_trips", lambda data, trip: right(replace(data, crowd=None), trip))


def only_origins_have_times(patch: pytest.MonkeyPatch) -> None:
    """Stretches of time that are thought to move only the trips that begin in them."""
    patch.setattr(point_facts, "trip_stretch_sizes", lambda first, last, *how: stretch_sizes(first, *how))


def unit_check() -> None:
    """The movement of a map by one unit."""
    test_crowd_answers.test_units_move_maps_boundedly("person", None)


def skip_check() -> None:
    """The comparison with data without the persons who are skipped."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        test_crowd_answers.test_skipped_persons_are_absent(Path(folder))


def slopes_at_centres(patch: pytest.MonkeyPatch) -> None:
    """The slope of the kernel at the centre of a cell for the largest one."""
    right = kernel.square_sums
    patch.setattr(kernel, "square_sums", lambda m: right(m)._replace(slope_at_edge=right(m).slope_at_centre))


def one_end_moves(patch: pytest.MonkeyPatch) -> None:
    """The constant of flows as if only one end of a trip moved."""
    patch.setattr(flows, "flow_constant", lambda m: kernel.heat_constant(m) * float(kernel.squared_norm(m)) ** 0.5)


def half_the_variation(patch: pytest.MonkeyPatch) -> None:
    """Counts as if every region gained what another loses only once."""
    patch.setattr(counts, "variation", lambda m: kernel.heat_constant(m))


def rounded_sums(patch: pytest.MonkeyPatch) -> None:
    """Sums in doubles, which depend on the order of the points."""

    def add(sums: Any, cells: Any, numbers: Floats, *_: Any) -> None:
        np.add.at(sums[0], cells, numbers)

    patch.setattr(kernel_sums, "add_exactly", add)


def fine_parts_lost(patch: pytest.MonkeyPatch) -> None:
    """Exact sums of coarse multiples alone."""
    right = fixed_point.add_exactly

    def add(sums: Any, cells: Any, numbers: Floats, units: Any, room: Any) -> None:
        right((sums[0], np.zeros_like(sums[1])), cells, numbers, units, room)

    patch.setattr(kernel_sums, "add_exactly", add)


def mean_unit_size(patch: pytest.MonkeyPatch) -> None:
    """The mean size of units for the largest one."""
    right = UnitSizes
    patch.setattr(pipeline, "UnitSizes", lambda largest, each: right(int(np.mean(each)), each))


def stretches_of_rows(patch: pytest.MonkeyPatch) -> None:
    """A stretch of time as a number of rows: as if points were evenly spread over the whole time."""
    right = stretches.stretch_sizes

    def sizes(times: Any, stretch: int, persons: Any = None) -> Any:
        even = np.linspace(times.min(), times.max(), len(times)).astype(np.int64)
        return right(even, stretch, persons)

    patch.setattr(point_facts, "stretch_sizes", sizes)


def stretches_from_a_point(patch: pytest.MonkeyPatch) -> None:
    """The size of the stretch that begins at a point for the largest that holds it."""
    patch.setattr(stretches, "_range_maxima", lambda values, first: values)


def short_stretches(patch: pytest.MonkeyPatch) -> None:
    """A unit that loses the last point of each stretch."""
    right = stretches.stretch_sizes
    patch.setattr(point_facts, "stretch_sizes", lambda *given: np.maximum(right(*given) - 1, 1))


def whole_budget_for_each_point(patch: pytest.MonkeyPatch) -> None:
    """Noise of points that forgets the sizes of their units."""
    right = Points._of_sizes
    patch.setattr(Points, "_of_sizes", lambda query, sizes: right(query, np.ones_like(sizes)))


def crowd_check(**given: Any) -> None:
    """The search for the fastest change of a map."""
    test_crowd.check_constant(crowd.CrowdMap(3, 2, test_crowd.RHO, lattice=test_crowd.lattice(7), **given), 3)


def counts_check() -> None:
    """The search for the fastest change of counts."""
    at = test_crowd.lattice(8)
    test_crowd.check_constant(crowd.RegionCounts(2, 2, test_crowd.RHO, lattice=at, regions=test_crowd.halves(at)))


def map_for_nothing(patch: pytest.MonkeyPatch) -> None:
    """Noise for the counts alone, although a map is released beside them."""
    patch.setattr(counts.RegionCounts, "kernel_constant", property(lambda query: query.counts_constant))


def blur_ignored(patch: pytest.MonkeyPatch) -> None:
    """Counts in regions as if nobody were near a border: the stated error is that of noise."""
    right = region_totals.Surroundings.of

    def without_borders(*given: Any) -> region_totals.Surroundings:
        found = right(*given)
        return replace(found, near=0 * found.near, steps=0 * found.steps)

    patch.setattr(region_totals.Surroundings, "of", without_borders)


def correction_reversed(patch: pytest.MonkeyPatch) -> None:
    """Counts that are corrected towards the outside."""
    patch.setattr(region_totals, "_MOVED", -region_totals._MOVED)


def clamped_centre(patch: pytest.MonkeyPatch) -> None:
    """Noise that is too long is clamped to the edge of the disc, which then shows the place from there."""

    def draw_height(law: TruncatedGaussian, source: Source) -> Callable[[int], Any]:
        drawn = source.exponential(1)
        return lambda bits: law._fall(drawn.ball, bits).min(discs._height_ball(law.reach))

    patch.setattr(TruncatedGaussian, "draw_height", draw_height)


def root_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A distance that is uniform, instead of an area."""

    def draw_height(law: UniformDisc, source: Source) -> Callable[[int], Any]:
        drawn = source.uniform(1)
        return lambda bits: drawn.ball(0, bits) ** 2 * discs._height_ball(law.reach)

    patch.setattr(UniformDisc, "draw_height", draw_height)


def flat_sphere(patch: pytest.MonkeyPatch) -> None:
    """σ as in the plane, on a disc so large that the sphere is curved."""
    patch.setattr(TruncatedGaussian, "_scale_of", staticmethod(lambda given: (2 * float(given.rho)) ** -0.5))


def centre_drawn_again(patch: pytest.MonkeyPatch) -> None:
    """A new centre on each run."""
    patch.setattr(Centres, "_match", lambda centres, place, known, near: None)


def radius_of_the_place(patch: pytest.MonkeyPatch) -> None:
    """A larger margin in the country, where houses are far apart."""
    right = Centres.zones

    def zones(centres: Centres, places: Any, hiding: Hiding, *rest: Any) -> list[Zone]:
        return [
            zone
            for place in places
            for zone in right(
                centres, [place], replace(hiding, margin=500 if abs(place.lat) > 65 else hiding.margin), *rest
            )
        ]

    patch.setattr(Centres, "zones", zones)


def interpolated_cut(patch: pytest.MonkeyPatch) -> None:
    """The last point before the disc is moved to its edge, towards home."""
    right = TableForm.kept

    def kept(form: TableForm, points: Any, columns: Any = ()) -> Any:
        table: Any = right(form, points, columns)
        breaks = np.flatnonzero(np.diff(points) > 1)
        whole = form.own_coords()
        table.loc[breaks, ["lon", "lat"]] = (whole[points[breaks]] + whole[points[breaks] + 1]) / 2
        return table

    patch.setattr(TableForm, "kept", kept)


def index_of_the_input(patch: pytest.MonkeyPatch) -> None:
    """Published rows keep the numbers that they had."""
    right, outside, rows = TableForm.kept, cutting.kept_points, np.zeros(0, dtype=np.int64)

    def kept_points(zones: Any, degrees: Any) -> Any:
        nonlocal rows
        rows = np.flatnonzero(found := outside(zones, degrees))
        return found

    def kept(form: TableForm, points: Any, columns: Any = ()) -> Any:
        table: Any = right(form, points, columns)
        return table.set_axis(rows[points]) if len(form.coords) == len(rows) else table

    patch.setattr(zone_hiding, "kept_points", kept_points)
    patch.setattr(TableForm, "kept", kept)


def split_where_points_are_gone(patch: pytest.MonkeyPatch) -> None:
    """A piece ends where a point was removed."""
    right = cutting.cut

    def cut(*given: Any, **how: Any) -> Cut:
        found = right(*given, **how)
        return Cut(found.rows, found.pieces + np.cumsum(np.diff(found.rows, prepend=found.rows[:1] - 1) > 1))

    patch.setattr(cutting, "cut", cut)


def total_in_the_certificate(patch: pytest.MonkeyPatch) -> None:
    """The certificate states how many points there were."""
    right, kept, counted = ZonesRelease.certificate, cutting.kept_points, [0]

    def counting(zones: Any, degrees: Floats) -> Any:
        counted[0] = len(degrees)
        return kept(zones, degrees)

    def certificate(release: ZonesRelease) -> dict[str, Any]:
        return {**right(release), "n": counted[0]}

    patch.setattr(zone_hiding, "kept_points", counting)
    patch.setattr(ZonesRelease, "certificate", certificate)


def doubles_at_the_edge(patch: pytest.MonkeyPatch) -> None:
    """Doubles decide everywhere on which side of the edge a point is."""
    patch.setattr(cutting, "_DOUBT", -1.0)


def in_a_folder(check: Callable[[Path], None]) -> None:
    """Run a check in a folder of its own, with no copies of centres from before."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEOVEIL_CENTRES_BACKUP", str(Path(folder) / "copies"))
        check(Path(folder))


def check_centres_again(folder: Path) -> None:
    """The file's check that a centre is drawn once."""
    test_centres.check_rerun(folder / "centres.json")


def check_radii(folder: Path) -> None:
    """The file's check that the radius is public."""
    test_centres.check_one_size(folder / "centres.json")


def summary_check(name: str) -> None:
    """The oracle's check of a summary."""
    test_oracle.check_single_step(SUMMARIES[name](4, 2, RHO))


def rows_check() -> None:
    """The samplers' check of points."""
    test_samplers.test_rows_have_own_noise(RHO)


def tuple_check() -> None:
    """The samplers' check of noise on a whole tuple."""
    test_samplers.check_tuple_sampler(KNorm(EPSILON, 3, 2), Entropy(np.random.default_rng(1).bytes))


def neighbour_check() -> None:
    """Six far points before the nearest tell one noise of the threshold from two; 7000 draws miss it once in 10^15."""
    test_samplers.check_neighbour_sampler(8.0, test_samplers.Trials(7_000, 1.25), [8.0] * 6 + [0.0])


def search_sees_the_tests(patch: pytest.MonkeyPatch) -> None:
    """An audit that learns from the canaries on which it is tested."""
    everybody = evidence.split

    def whole(canaries: Any, **how: Any) -> Any:
        return (np.sort(np.concatenate(everybody(canaries, **how))),) * 2

    patch.setattr(evidence, "split", whole)


def budget_added(patch: pytest.MonkeyPatch) -> None:
    """The allowed divergence with the wrong sign."""
    right = payoffs.Divergence.of
    patch.setattr(payoffs.Divergence, "of", lambda payoff, ratios, far, budget: right(payoff, ratios, far, -budget))


def places_exchanged(patch: pytest.MonkeyPatch) -> None:
    """A score that speaks for the place where the person is not."""
    right = scores.Score.ratios
    patch.setattr(scores.Score, "ratios", lambda score, canaries: -right(score, canaries))


def normal_interval(patch: pytest.MonkeyPatch) -> None:
    """The bound of the central limit theorem."""

    def bound(way: Any, scored: Any, level: float) -> float:
        gains = scored.payoffs(way.payoff, 0.0)
        least = gains.mean() - ndtri(1 - level) * gains.std() / len(gains) ** 0.5
        return float(least / np.mean(scored.canaries.distance**2))

    patch.setattr(tested.Betting, "bound", bound)


def orders_exchanged(patch: pytest.MonkeyPatch) -> None:
    """α where α - 1 belongs, and the other way round."""

    def exchanged(payoff: Any, ratios: Floats, far: Floats, budget: float) -> Floats:
        a = payoff.alpha
        towards, away = (np.clip(s * ratios, -payoff.low, payoff.high) - payoff.shift for s in (1, -1))
        most = np.exp(np.minimum(a * budget * far**2, 300.0))
        paid: Floats = np.exp(a * towards) - most * (1 - 1 / a + np.exp((a - 1) * away) / a)
        return paid

    patch.setattr(payoffs.RenyiDivergence, "of", exchanged)


def level_for_each_test(patch: pytest.MonkeyPatch) -> None:
    """Every test of an audit at the whole level."""
    right = evidence._test
    patch.setattr(evidence, "_test", lambda plan, final, level: right(plan, final, 0.01))


BUGS: list[tuple[Callable[[pytest.MonkeyPatch], None], Callable[[], Any]]] = [
    (wrong_center, partial(summary_check, "center")),
    (metric_ignored, partial(summary_check, "mean")),
    (forgotten_k, partial(test_oracle.check_composition, RHO)),
    (whole_epsilon_in_exponential, partial(test_oracle.check_selection, Exponential, EPSILON)),
    (permute_and_flip_with_bounded_range, partial(test_oracle.check_selection, PermuteAndFlip, EPSILON)),
    (one_spread_for_all_metrics, partial(test_oracle.check_selection, Exponential, RHO)),
    (added_exponential_noise, test_samplers.check_permute_and_flip_sampler),
    (coins_tossed_again, test_samplers.check_permute_and_flip_sampler),
    (split_tuple_noise, partial(test_oracle.check_tuple_noise, KNorm(EPSILON, 3, 2))),
    (short_tuple_noise, tuple_check),
    (support_without_root_k, test_support.check_noise_covers_the_movement),
    (separate_directions, partial(test_support.check_constants_at_tiny_distances, 2, 4)),
    (separate_directions, partial(test_support.check_constants_at_tiny_distances, 2, "optimal", 96)),
    (separate_grid, partial(test_support.check_constants_at_tiny_distances, 3, 54, 54)),
    (resolution_from_the_diameter, test_support.check_the_resolution_is_public),
    (metrics_converted_by_n, partial(test_oracle.check_conversion_between_metrics, 5)),
    (half_the_dimension, partial(test_oracle.check_both, 2)),
    (whole_epsilon_in_sparse_vector, partial(test_oracle.check_sparse_vector, cyclic=False)),
    (whole_epsilon_in_sparse_vector, partial(test_oracle.check_sparse_vector, cyclic=True)),
    (no_threshold_noise, partial(test_oracle.check_sparse_vector, cyclic=False)),
    (no_threshold_noise_drawn, partial(test_samplers.check_sparse_vector_sampler, cyclic=False)),
    (no_minimum_noise_drawn, neighbour_check),
    (unconcentrated_gaussian, partial(test_oracle.check_additive, Gaussian(CGP(rho=3e-4), 2))),
    (reused_noise, partial(test_samplers.check_additive_sampler, Gaussian(CGP(rho=3e-4), 3))),
    (reused_noise, rows_check),
    (exponential_radius, partial(test_samplers.check_additive_sampler, Laplace(EPSILON, 2))),
    (binned_kernel, crowd_check),
    (weight_of_points, crowd_check),
    (binned_kernel, unit_check),
    (every_point_weighs_one, unit_check),
    (sizes_of_neighbours, unit_check),
    (skipped_persons_counted, skip_check),
    (trips_without_persons, test_crowd_answers.test_trip_labels_per_person),
    (only_origins_have_times, test_crowd_answers.test_trip_ends_have_times),
    (weight_forgotten, partial(crowd_check, weight=3.0, total=3.0)),
    (slopes_at_centres, crowd_check),
    (slopes_at_centres, partial(test_crowd.check_divergence, test_crowd.RHO)),
    (one_end_moves, test_crowd.check_flows),
    (half_the_variation, counts_check),
    (map_for_nothing, test_crowd.check_counts_with_map),
    (blur_ignored, test_region_totals.check_coverage),
    (blur_ignored, partial(test_region_totals.check_coverage, mapped=False)),
    (correction_reversed, test_region_totals.check_correction),
    (rounded_sums, partial(test_crowd.check_order_does_not_matter, 1)),
    (fine_parts_lost, test_crowd.test_small_weights_count),
    (mean_unit_size, test_units.check_noise_of_the_mean),
    (stretches_of_rows, test_units.check_noise_of_the_mean),
    (stretches_of_rows, test_units.check_noise_of_points),
    (stretches_from_a_point, test_units.check_noise_of_points),
    (short_stretches, test_units.check_noise_of_the_mean),
    (short_stretches, test_units.check_noise_of_points),
    (whole_budget_for_each_point, test_units.check_noise_of_points),
    (whole_budget_for_each_point, partial(test_query_units.check_points, CGP(rho=1e-4, metric="1 day"))),
    (wrong_center, partial(test_query_units.check_constants, "center", [(3, 2, 2)])),
    (rest_two_percent_off, test_rectangles.check_law),
    (bins_one_off, test_rectangles.check_law),
    (proposals_on_one_side, test_rectangles.check_law),
    (exponential_tail, test_rectangles.check_law_of_tails),
    (tail_on_one_side, test_rectangles.check_law_of_tails),
    (stretched_laplace, partial(test_samplers.check_additive_sampler, Laplace(EPSILON, 2))),
    (clamped_centre, partial(test_discs.check_lattice_law, test_discs.SMALL_GAUSSIAN)),
    (root_forgotten, partial(test_discs.check_lattice_law, test_discs.SMALL)),
    (flat_sphere, test_discs.check_curvature),
    (centre_drawn_again, partial(in_a_folder, check_centres_again)),
    (radius_of_the_place, partial(in_a_folder, check_radii)),
    (interpolated_cut, partial(in_a_folder, test_zones_release.check_rows_are_those_of_the_input)),
    (interpolated_cut, partial(in_a_folder, test_zones_release.check_two_worlds)),
    (index_of_the_input, partial(in_a_folder, test_zones_release.check_two_worlds)),
    (split_where_points_are_gone, test_cutting.check_removed_points_do_not_split),
    (total_in_the_certificate, partial(in_a_folder, test_zones_release.check_two_worlds)),
    (doubles_at_the_edge, test_cutting.test_edge_is_exact),
    (search_sees_the_tests, test_evidence.check_search_apart),
    (budget_added, test_payoffs.check_tight),
    (places_exchanged, test_evidence.check_four_times_found),
    (normal_interval, test_payoffs.check_rare_losses_priced),
    (orders_exchanged, test_payoffs.check_clipped),
    (level_for_each_test, test_evidence.check_correct_passes),
]


def judges_draws(check: Callable[[], Any]) -> bool:
    """Whether a check judges random draws, as the tests of samplers do; the others compute exactly."""
    function = check.func if isinstance(check, partial) else check
    modules = (test_samplers.__name__, test_rectangles.__name__)
    own = (rows_check, tuple_check, neighbour_check, test_discs.check_lattice_law)
    return function in own or function.__module__ in modules


@pytest.mark.parametrize(
    ("plant", "check"),
    [
        pytest.param(
            plant, check, id=f"{plant.__name__}-{i}", marks=[pytest.mark.statistical] if judges_draws(check) else []
        )
        for i, (plant, check) in enumerate(BUGS)
    ],
)
def test_planted_bugs_are_caught(
    plant: Callable[[pytest.MonkeyPatch], None], check: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check passes on the package as it is and fails with the bug in it."""
    check()
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        check()
