"""Counts of a crowd in public regions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from geoveil.errors import InvalidParameter
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Source
from geoveil.queries.answer import Answer
from geoveil.queries.crowd.crowd_query import CrowdQuery
from geoveil.queries.crowd.kernel import heat_constant, squared_norm
from geoveil.queries.crowd.maps import per_metre
from geoveil.queries.crowd.region_shares import Regions
from geoveil.queries.crowd.sums import PlaceSums, value_error
from geoveil.queries.crowd.variation import variation
from geoveil.queries.query import Tuple

__all__ = ["RegionCounts", "saturation"]


def saturation(regions: Regions) -> Fraction:
    """Return a bound on Σ_r y_r² for the counts y of one place: each is at most 1, their sum at most the cover."""
    return Fraction(regions.cover) * min(Fraction(1), Fraction(regions.cover))


@dataclass(frozen=True)
class RegionCounts(CrowdQuery[PlaceSums]):
    """Release a weighted count for each region: the map's kernels, summed over the cells of the region.

    The value is an array with a number for each region, with an axis for slices in front if there are several. See
    `CrowdQuery` for the other parameters.

    Parameters
    ----------
    regions : Regions
        The regions, on the query's lattice; public.

    Notes
    -----
    The constant is the smaller of two. V·√(M/2) holds whatever the regions are, M of which cover a cell at once (see
    `variation`). ‖R‖·K holds as the counts are R times the map; it is smaller if regions are small beside the kernel.
    """

    regions: Regions = field(kw_only=True)

    name = "counts"
    kind = "regions"

    def __post_init__(self) -> None:
        if self.regions.lattice != self.lattice:
            raise InvalidParameter("regions", self.regions.lattice, "on the query's lattice", "Give the same lattice.")
        super().__post_init__()

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.regions),)

    @property
    def kernel_constant(self) -> float:
        general = variation(self.side) * math.sqrt(self.regions.cover / 2)
        small = heat_constant(self.side) * math.sqrt(self.regions.squared_norm)
        return per_metre(min(general, small) * (1 + 2.0**-50), self.lattice.cell)

    @property
    def squared_norm(self) -> Fraction:
        return min(saturation(self.regions), Fraction(self.regions.squared_norm) * squared_norm(self.side))

    def accumulator(self) -> PlaceSums:
        return PlaceSums(self.lattice, self.side, self.n, self.all_weights, self.slices, self.weight)

    def value(self, sums: PlaceSums) -> Floats:
        return self.regions.counts(sums.value().reshape(self.slices, -1))

    @property
    def sums_error(self) -> float:
        """A public bound on the error of the value.

        If the map is wrong by e, the counts y = Re have |y_r| ≤ Σ|e| and Σ|y_r| ≤ M·Σ|e|, so ‖y‖ ≤ √M·Σ|e|.
        """
        absolute = value_error(self.side, self.n, self.all_weights, self.weight)[1] + 2.0**-51 * self.all_weights
        return math.sqrt(self.regions.cover) * absolute * (1 + 2.0**-50)

    def ask(self, x: Tuple, source: Source) -> Answer:
        """Return the private answer about points of equal weights in one slice."""
        sums = self.accumulator()
        sums.add(x, self._equal_weights())
        return self.ask_sums(sums, source)

    def _described(self) -> dict[str, object]:
        """Return the parameters by name; the matrix of regions is identified by its digest."""
        return super()._described() | {"regions": self.regions.digest}
