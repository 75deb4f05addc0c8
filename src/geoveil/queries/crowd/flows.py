"""Flows of a crowd: weighted counts of trips from one cell or region to another."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from geoveil.errors import InvalidData, InvalidParameter
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Reals, Source
from geoveil.queries.answer import Answer
from geoveil.queries.crowd.counts import saturation
from geoveil.queries.crowd.crowd_query import CrowdKernel, CrowdQuery
from geoveil.queries.crowd.kernel import flow_constant, squared_norm
from geoveil.queries.crowd.maps import per_metre
from geoveil.queries.crowd.region_shares import Regions
from geoveil.queries.crowd.sums import MOST_SUMS, TripSums, value_error
from geoveil.queries.crowd.variation import flow_variation
from geoveil.queries.crowd.widening import reach
from geoveil.queries.query import Tuple

__all__ = ["Flows"]


@dataclass(frozen=True)
class Flows(CrowdQuery[TripSums]):
    """Release a weighted count of trips for each pair of cells: κ(origin) ⊗ κ(destination).

    The value is an array of origins × destinations, with an axis for slices in front if there are several. One step of
    the metric moves both ends of a trip by at most its length. See `CrowdQuery` for the other parameters; n is the
    number of trips.

    Parameters
    ----------
    regions : Regions, optional
        Regions on the query's lattice between which trips are counted instead of cells; public.

    Notes
    -----
    Between cells the constant is exact (see `flow_constant`). Between regions, the pairs of regions are regions of the
    product of two lattices, of which M² cover a pair of cells at once, so the theorem of `variation` gives
    W·M/√2, where W is the total variation of a trip's kernel (see `flow_variation`). ‖R‖² times the constant between
    cells holds as well; the smaller one is used.
    """

    regions: Regions | None = field(kw_only=True, default=None)

    name = "flows"
    kind = "flows"
    #: The order tells origins from destinations, and which of them are one trip.
    of_set = False

    def __post_init__(self) -> None:
        if self.regions is not None and self.regions.lattice != self.lattice:
            raise InvalidParameter("regions", self.regions.lattice, "on the query's lattice", "Give the same lattice.")
        numbers = math.prod(length + 2 * reach(self.side) + 7 for length in self.lattice.shape) ** 2 * self.slices
        if numbers > MOST_SUMS:
            allowed = f"small enough that all pairs of cells, with margins, are at most {MOST_SUMS} numbers"
            raise InvalidParameter("lattice", self.lattice.shape, allowed, "Make the cells larger.")
        super().__post_init__()

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.lattice.cells if self.regions is None else len(self.regions),) * 2

    @property
    def kernel(self) -> CrowdKernel:
        of_cells, regions = super().kernel, self.regions
        if regions is None:
            return of_cells
        return replace(of_cells, cover=regions.cover, squared_norm=regions.squared_norm)

    @staticmethod
    def constant_of(kernel: CrowdKernel) -> float:
        constant = flow_constant(kernel.side)
        if kernel.cover is not None:
            assert kernel.squared_norm is not None
            general = flow_variation(kernel.side) * kernel.cover / math.sqrt(2)
            constant = min(general, constant * kernel.squared_norm) * (1 + 2.0**-50)
        return per_metre(constant, kernel.cell)

    @property
    def squared_norm(self) -> Fraction:
        one = squared_norm(self.side)
        if self.regions is not None:
            one = min(saturation(self.regions), Fraction(self.regions.squared_norm) * one)
        return one**2

    def accumulator(self) -> TripSums:
        return TripSums(self.lattice, self.side, self.n, self.all_weights, self.slices, self.weight)

    def value(self, sums: TripSums) -> Floats:
        cells = self.lattice.cells
        pairs = sums.value().reshape(self.slices, cells, cells)
        if self.regions is None:
            return pairs
        arrivals = self.regions.counts(pairs.reshape(-1, cells)).reshape(self.slices, cells, -1)
        departures = self.regions.counts(np.swapaxes(arrivals, 1, 2).reshape(-1, cells))
        return np.swapaxes(departures.reshape(self.slices, len(self.regions), -1), 1, 2)

    @property
    def sums_error(self) -> float:
        norm, absolute = value_error(self.side, self.n, self.all_weights, self.weight, ends=2)
        if self.regions is None:
            return norm
        return self.regions.cover * (absolute + 2.0**-50 * self.all_weights) * (1 + 2.0**-50)

    def ask(self, x: Tuple, source: Source) -> Answer:
        """Return the private answer about trips of equal weights in one slice.

        The rows of x are the origins of all n trips, then their destinations.
        """
        if len(x) != 2 * self.n:
            raise InvalidData("x", len(x), f"{2 * self.n} rows: origins, then destinations", "Give two for each trip.")
        values = np.asarray(x.values if isinstance(x, Reals) else x)
        sums = self.accumulator()
        sums.add(values[: self.n], values[self.n :], self._equal_weights())
        return self.ask_sums(sums, source)

    def _described(self) -> dict[str, object]:
        """Return the parameters by name; the matrix of regions is identified by its digest."""
        return super()._described() | {"regions": None if self.regions is None else self.regions.digest}
