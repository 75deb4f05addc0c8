"""Independent copies of one Laplace mechanism, one for each row of a value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.mechanisms.laplace import Laplace
from geoveil.mechanisms.mechanism import Additive, Floats
from geoveil.noise import Blocks, Source, spherical_laplace
from geoveil.privacy import Guarantee

__all__ = ["Copies"]


@dataclass(frozen=True)
class Copies(Additive):
    """Add independent Laplace noise to each of `count` rows.

    Parameters
    ----------
    single : Laplace
        The mechanism for one row.
    count : int
        The number of rows.
    together : int, optional
        If each row belongs to a different point: the largest number of these points in one unit; by default all rows.

    Notes
    -----
    Basic composition (the paper's Lemma 2.7): the epsilons add up. If each row depends on a different point, only
    those of the points that move in one step do: at most `together` rows, each by ε times the length of the step.
    Under dist_1 that is one, and this is the K-norm mechanism of dist_1.
    """

    single: Laplace
    count: int
    together: int | None = None

    independent = True

    @cached_property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """The guarantee of all copies together."""
        return self.single.guarantee * (self.count if self.together is None else self.together)

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """The number of coordinates of all rows together."""
        return self.single.dimension * self.count

    @property
    def scale(self) -> float:
        """The scale of the noise on one row in metres, rounded up."""
        return self.single.scale

    @property
    def deviation(self) -> float:
        return self.single.deviation

    def noise(self, source: Source, sizes: NDArray[np.int64], dimension: int) -> Blocks:
        return spherical_laplace(source, np.ones(int(sizes.sum()), dtype=np.int64), dimension)

    def log_density(self, y: Floats, center: Floats) -> Floats:
        rows = np.moveaxis(y, -2, 0)
        parts = [self.single.log_density(row, at) for row, at in zip(rows, center, strict=True)]
        return np.asarray(np.sum(parts, axis=0))

    def error(self, beta: float = 0.05, *, blocks: int = 1, each: bool = False) -> float:
        """Return the 1-β quantile of the length of the longest row's noise; `blocks` must be the number of rows."""
        checks.beta(beta)
        if blocks != self.count:
            raise ValueError(f"blocks = {blocks}: must be the number of copies, {self.count}.")
        return self.single.error(beta if each else float(-np.expm1(np.log1p(-beta) / blocks)))
