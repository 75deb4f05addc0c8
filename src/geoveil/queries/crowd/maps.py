"""The heat map of a crowd: a weighted count in each cell of a lattice."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Source
from geoveil.queries.answer import Answer
from geoveil.queries.crowd.crowd_query import CrowdKernel, CrowdQuery
from geoveil.queries.crowd.kernel import heat_constant, squared_norm
from geoveil.queries.crowd.sums import PlaceSums, value_error
from geoveil.queries.query import Tuple

__all__ = ["CrowdMap", "per_metre"]


def per_metre(constant: float, cell: float) -> float:
    """Return a constant per metre from one per cell, rounded up."""
    return constant / cell * (1 + 2.0**-51)


@dataclass(frozen=True)
class CrowdMap(CrowdQuery[PlaceSums]):
    """Release a weighted count for each cell: κ_ij(a) is a cubic B-spline of a about the centre of the cell.

    The value is an array of rows (from south to north) and columns (from west to east), with an axis for slices in
    front if there are several. See `CrowdQuery` for the parameters.

    Examples
    --------
    >>> from geoveil.noise import Experiment
    >>> from geoveil.privacy import CGP
    >>> from geoveil.queries.crowd import CrowdMap, Lattice
    >>> lattice = Lattice(west=0, south=0, cell=500, rows=4, columns=6)
    >>> query = CrowdMap(1000, 2, CGP(rho=5e-5, metric="1"), lattice=lattice)
    >>> round(query.mechanism.scale, 3), round(query.blur)
    (0.127, 289)
    >>> sums = query.accumulator()
    >>> for batch in np.split(np.random.default_rng(1).uniform(0, 2000, size=(1000, 2)), 4):
    ...     sums.add(batch)
    >>> query.ask_sums(sums, Experiment(np.random.default_rng(2))).value.shape
    (4, 6)
    """

    name = "heatmap"
    kind = "cells"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lattice.shape

    @staticmethod
    def constant_of(kernel: CrowdKernel) -> float:
        return per_metre(heat_constant(kernel.side), kernel.cell)

    @property
    def squared_norm(self) -> Fraction:
        return squared_norm(self.side)

    def accumulator(self) -> PlaceSums:
        return PlaceSums(self.lattice, self.side, self.n, self.all_weights, self.slices, self.weight)

    def value(self, sums: PlaceSums) -> Floats:
        return sums.value()

    @property
    def sums_error(self) -> float:
        return value_error(self.side, self.n, self.all_weights, self.weight)[0]

    def ask(self, x: Tuple, source: Source) -> Answer:
        """Return the private answer about points of equal weights in one slice."""
        sums = self.accumulator()
        sums.add(x, self._equal_weights())
        return self.ask_sums(sums, source)
