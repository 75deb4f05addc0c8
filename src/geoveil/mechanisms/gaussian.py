"""The Gaussian mechanism: the standard mechanism for ρ-CGP."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.mechanisms.mechanism import LIPSCHITZ_REMEDY, Additive, Floats, noise_scale, pure_epsilon, value_axes
from geoveil.noise import Blocks, Source, normal
from geoveil.privacy import CGP

__all__ = ["Gaussian"]


@dataclass(frozen=True)
class Gaussian(Additive):
    """Release g(x) + σ·N(0, I) with σ = K/√(2ρ), for a K-Lipschitz g into R^dimension.

    Parameters
    ----------
    guarantee : CGP
        The guarantee of the release.
    dimension : int
        The number of coordinates of g(x).
    lipschitz : float
        K, the Lipschitz constant of g under the guarantee's metric.

    Notes
    -----
    D_α(M(x) ‖ M(x')) = α·‖g(x) - g(x')‖²/(2σ²) ≤ α·ρ·dist(x, x')² (the paper's Theorem 3.1), with equality where
    g stretches by K.
    """

    guarantee: CGP
    dimension: int
    lipschitz: float = 1.0

    independent = True

    def __post_init__(self) -> None:
        checks.positive("lipschitz", self.lipschitz, remedy=LIPSCHITZ_REMEDY)
        self.scale  # noqa: B018 - validates the budget early

    @cached_property
    def scale(self) -> float:
        """σ in metres, rounded up."""
        return noise_scale(self.lipschitz, pure_epsilon(self.guarantee), self.guarantee)

    @property
    def deviation(self) -> float:
        return self.scale

    def noise(self, source: Source, sizes: NDArray[np.int64], dimension: int) -> Blocks:
        return normal(source, int(sizes.sum()), dimension)

    def log_density(self, y: Floats, center: Floats) -> Floats:
        z = (y - center) / self.scale
        log_norm = self.dimension * (0.5 * np.log(2 * np.pi) + np.log(self.scale))
        return np.asarray(-0.5 * np.sum(z * z, axis=value_axes(center)) - log_norm)

    def error(self, beta: float = 0.05, *, blocks: int = 1, each: bool = False) -> float:
        checks.beta(beta)
        if not each:
            # The longest of independent blocks: 1 - (1-β)^(1/blocks).
            beta = -np.expm1(np.log1p(-beta) / blocks)
        if self.dimension == 2 * blocks:
            # Half the squared length of a standard normal vector in the plane is exponential. Without scipy, whose
            # import takes longer than a small release.
            return self.scale * float(np.sqrt(-2 * np.log(beta)))
        from scipy.special import gammainccinv

        return self.scale * float(np.sqrt(2 * gammainccinv(self.dimension / blocks / 2, beta)))
