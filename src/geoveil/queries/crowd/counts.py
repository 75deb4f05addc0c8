"""Counts of a crowd in public regions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from geoveil import checks
from geoveil.errors import InvalidParameter
from geoveil.mechanisms import Gaussian
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Source
from geoveil.privacy import exact
from geoveil.queries.answer import Answer
from geoveil.queries.crowd.crowd_query import CrowdKernel, CrowdQuery
from geoveil.queries.crowd.kernel import heat_constant, squared_norm
from geoveil.queries.crowd.lattice import WIDEST, Lattice
from geoveil.queries.crowd.maps import per_metre
from geoveil.queries.crowd.region_shares import Regions
from geoveil.queries.crowd.sums import PairedSums, PlaceSums, place_error, value_error
from geoveil.queries.crowd.variation import variation
from geoveil.queries.query import Tuple

__all__ = ["MapBeside", "RegionCounts", "saturation"]

#: The relative rounding error of a double.
_ULP = 2.0**-53


def saturation(regions: Regions) -> Fraction:
    """Return a bound on Σ_r y_r² for the counts y of one place: each is at most 1, their sum at most the cover."""
    return Fraction(regions.cover) * min(Fraction(1), Fraction(regions.cover))


def _counts_constant(kernel: CrowdKernel) -> float:
    """Return the Lipschitz constant of counts alone, per metre, rounded up."""
    assert kernel.cover is not None
    assert kernel.squared_norm is not None
    general = variation(kernel.side) * math.sqrt(kernel.cover / 2)
    small = heat_constant(kernel.side) * math.sqrt(kernel.squared_norm)
    return per_metre(min(general, small) * (1 + 2.0**-50), kernel.cell)


@dataclass(frozen=True)
class MapBeside:
    """A coarse heat map that is released together with counts, to tell what stands near the borders of regions.

    Parameters
    ----------
    lattice : Lattice
        Its cells.
    side : int
        The side of its kernel in cells.
    gain : float
        The factor by which the map is multiplied before noise of the same size is added to all numbers. It divides
        the budget between counts and map; see `RegionCounts`.
    """

    lattice: Lattice
    side: int
    gain: float

    def __post_init__(self) -> None:
        checks.count("side", self.side, low=1, high=WIDEST, remedy="For a wider kernel make the cells larger.")
        checks.positive("gain", self.gain, remedy="It is 1 if counts and map need the same noise.")

    @property
    def constant(self) -> float:
        """The Lipschitz constant of the map before it is multiplied, per metre, rounded up."""
        return per_metre(heat_constant(self.side), self.lattice.cell)


@dataclass(frozen=True)
class RegionCounts(CrowdQuery[PlaceSums | PairedSums]):
    """Release a weighted count for each region: the map's kernels, summed over the cells of the region.

    The value is an array with a number for each region, with an axis for slices in front if there are several. The
    numbers of the map beside, row by row and multiplied by its gain, follow those of the regions. See `CrowdQuery` for
    the other parameters.

    Parameters
    ----------
    regions : Regions
        The regions, on the query's lattice; public.
    beside : MapBeside, optional
        A map of the same points with a wider kernel.

    Notes
    -----
    The constant of the counts is the smaller of two. V·√(M/2) holds whatever the regions are, M of which cover a cell
    at once (see `variation`). ‖R‖·K holds as the counts are R times the map; it is smaller if regions are small beside
    the kernel.

    With a map of constant K_m and gain g the value is the vector (counts, g·map). If a place moves by Δ, its squared
    length changes by at most (K_c² + g²·K_m²)·Δ², so K = √(K_c² + g²K_m²). Gaussian noise of one σ = cK/√(2ρ) on all
    numbers is what two releases have that share the budget: the counts get ρ·K_c²/K² and the map ρ·g²K_m²/K², whose
    noise before it is multiplied is σ/g.
    """

    regions: Regions = field(kw_only=True)
    beside: MapBeside | None = field(kw_only=True, default=None)

    name = "counts"
    kind = "regions"

    def __post_init__(self) -> None:
        if self.regions.lattice != self.lattice:
            raise InvalidParameter("regions", self.regions.lattice, "on the query's lattice", "Give the same lattice.")
        super().__post_init__()
        if self.beside is not None and not isinstance(self.mechanism, Gaussian):
            remedy = "Leave the map out: Laplace noise grows with the number of cells."
            raise InvalidParameter("beside", self.beside, "None for noise that is not Gaussian", remedy)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.regions) + (0 if self.beside is None else self.beside.lattice.cells),)

    @property
    def counts_constant(self) -> float:
        """The Lipschitz constant of the counts alone, per metre, rounded up."""
        return _counts_constant(self.kernel)

    @property
    def kernel(self) -> CrowdKernel:
        beside = self.beside
        return replace(
            super().kernel,
            cover=self.regions.cover,
            squared_norm=self.regions.squared_norm,
            map_cell=None if beside is None else beside.lattice.cell,
            map_side=None if beside is None else beside.side,
            map_gain=None if beside is None else beside.gain,
        )

    @staticmethod
    def constant_of(kernel: CrowdKernel) -> float:
        counts = _counts_constant(kernel)
        if kernel.map_gain is None:
            return counts
        assert kernel.map_cell is not None
        assert kernel.map_side is not None
        of_map = Fraction(kernel.map_gain) * Fraction(per_metre(heat_constant(kernel.map_side), kernel.map_cell))
        return exact.root_up(Fraction(counts) ** 2 + of_map**2)

    @property
    def squared_norm(self) -> Fraction:
        counts = min(saturation(self.regions), Fraction(self.regions.squared_norm) * squared_norm(self.side))
        return (
            counts
            if self.beside is None
            else counts + Fraction(self.beside.gain) ** 2 * squared_norm(self.beside.side)
        )

    @property
    def place_error(self) -> float:
        if self.beside is None:
            return super().place_error
        return max(super().place_error, place_error(self.beside.lattice))

    def accumulator(self) -> PlaceSums | PairedSums:
        given = self.n, self.all_weights, self.slices, self.weight
        counts = PlaceSums(self.lattice, self.side, *given)
        if self.beside is None:
            return counts
        return PairedSums(counts, PlaceSums(self.beside.lattice, self.beside.side, *given))

    def value(self, sums: PlaceSums | PairedSums) -> Floats:
        if self.beside is None:
            assert isinstance(sums, PlaceSums)
            return self._counted(sums)
        assert isinstance(sums, PairedSums)
        cells = sums.second.value().reshape(self.slices, -1)
        return np.concatenate([self._counted(sums.first), self.beside.gain * cells], axis=1)

    def _counted(self, sums: PlaceSums) -> Floats:
        return self.regions.counts(sums.value().reshape(self.slices, -1))

    def parts(self, value: Floats) -> tuple[Floats, Floats | None]:
        """Return the counts of an answer's value, slices × regions, and its maps, slices × rows × columns."""
        rows = np.reshape(value, (self.slices, -1))
        counts = rows[:, : len(self.regions)]
        if self.beside is None:
            return counts, None
        return counts, (rows[:, len(self.regions) :] / self.beside.gain).reshape(-1, *self.beside.lattice.shape)

    @property
    def sums_error(self) -> float:
        """A public bound on the error of the value.

        If the map is wrong by e, the counts y = Re have |y_r| ≤ Σ|e| and Σ|y_r| ≤ M·Σ|e|, so ‖y‖ ≤ √M·Σ|e|. The map
        beside is rounded once more where it is multiplied, and its norm is at most all weights.
        """
        absolute = value_error(self.side, self.n, self.all_weights, self.weight)[1] + 2.0**-51 * self.all_weights
        counts = math.sqrt(self.regions.cover) * absolute
        beside = 0.0
        if self.beside is not None:
            norm = value_error(self.beside.side, self.n, self.all_weights, self.weight)[0]
            beside = self.beside.gain * (norm + _ULP * self.all_weights)
        return math.hypot(counts, beside) * (1 + 2.0**-50)

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the exact 1-β quantile of the largest noise on a count, or with `each` of that on one count."""
        if self.beside is None:
            return super().error(beta, each=each)
        # The noise on all numbers is independent if a map is beside: it is Gaussian.
        tail = beta if each else float(-np.expm1(np.log1p(-beta) / (self.slices * len(self.regions))))
        return super().error(tail, each=True)

    def ask(self, x: Tuple, source: Source) -> Answer:
        """Return the private answer about points of equal weights in one slice."""
        sums = self.accumulator()
        sums.add(x, self._equal_weights())
        return self.ask_sums(sums, source)

    def _described(self) -> dict[str, object]:
        """Return the parameters by name; the matrix of regions is identified by its digest."""
        described = super()._described() | {"regions": self.regions.digest}
        beside = described.pop("beside")
        if not isinstance(beside, MapBeside):
            return described
        at = beside.lattice
        names = ("west", "south", "cell", "rows", "columns")
        map_of = {f"map_{name}": getattr(at, name) for name in names}
        return described | map_of | {"map_side": beside.side, "map_gain": beside.gain}
