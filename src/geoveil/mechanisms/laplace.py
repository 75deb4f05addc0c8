"""The Laplace mechanism in any dimension: the standard mechanism for ε-GP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.errors import IncompatibleGuarantees
from geoveil.mechanisms.mechanism import LIPSCHITZ_REMEDY, Additive, Floats, noise_scale, value_axes
from geoveil.mechanisms.quadrature import gauss_legendre
from geoveil.noise import Blocks, Source, spherical_laplace
from geoveil.privacy import GP

__all__ = ["Laplace"]


@dataclass(frozen=True)
class Laplace(Additive):
    """Release g(x) + z, z with density ∝ exp(-ε‖z‖/K), for a K-Lipschitz g into R^dimension.

    Parameters
    ----------
    guarantee : GP
        The guarantee of the release; pure.
    dimension : int
        The number of coordinates of g(x).
    lipschitz : float
        K, the Lipschitz constant of g under the guarantee's metric.

    Notes
    -----
    The log-ratio of the densities is at most ε·‖g(x) - g(x')‖/K ≤ ε·dist(x, x') (the paper's Lemma 2.6). The radius
    is Gamma(dimension, K/ε) and the direction uniform (its Appendix A). The noise is a Gaussian vector of random
    variance τ·(K/ε)², τ ~ Gamma((dimension+1)/2, 2), which gives every error quantile as one integral.
    """

    guarantee: GP
    dimension: int
    lipschitz: float = 1.0

    def __post_init__(self) -> None:
        checks.positive("lipschitz", self.lipschitz, remedy=LIPSCHITZ_REMEDY)
        if not self.guarantee.pure:
            raise IncompatibleGuarantees(f"{self.guarantee!r} is not pure; Laplace noise takes delta=0.")
        self.scale  # noqa: B018 - validates the budget early

    @cached_property
    def scale(self) -> float:
        """K/ε in metres, rounded up."""
        return noise_scale(self.lipschitz, self.guarantee.epsilon, self.guarantee)

    @property
    def deviation(self) -> float:
        return self.scale * math.sqrt(self.dimension + 1)

    def noise(self, source: Source, sizes: NDArray[np.int64], dimension: int) -> Blocks:
        return spherical_laplace(source, sizes, dimension)

    def log_density(self, y: Floats, center: Floats) -> Floats:
        d = self.dimension
        log_sphere = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
        log_norm = log_sphere + math.lgamma(d) + d * math.log(self.scale)
        length = np.sqrt(np.sum((y - center) ** 2, axis=value_axes(center)))
        return np.asarray(-length / self.scale - log_norm)

    def error(self, beta: float = 0.05, *, blocks: int = 1, each: bool = False) -> float:
        from scipy.special import gammainccinv

        checks.beta(beta)
        if blocks == 1:
            return self.scale * float(gammainccinv(self.dimension, beta))
        return self.scale * _block_quantile(beta, self.dimension, blocks, 1 if each else blocks)

    def largest_error(self, beta: float, count: int) -> float:
        """Return the 1-β quantile of the largest absolute noise along `count` orthogonal directions."""
        checks.beta(beta)
        return self.scale * _block_quantile(beta, self.dimension, self.dimension, count)


def _block_quantile(beta: float, dimension: int, blocks: int, among: int) -> float:
    """Return the 1-β quantile of the length of the longest of `among` blocks of a spherical Laplace vector of scale 1.

    The vector has the given dimension and is cut into `blocks` blocks of equal dimension.
    """
    from scipy.optimize import brentq
    from scipy.special import gammaincc, gammainccinv, gammaincinv

    shape = (dimension + 1) / 2
    low, high = math.log(gammaincinv(shape, 1e-18)), math.log(gammainccinv(shape, 1e-18))
    nodes, weights = gauss_legendre(400)
    log_t = (high - low) / 2 * nodes + (high + low) / 2
    # The gamma density of log t up to its constant, which normalising the weights supplies.
    log_weights = np.log(weights) + shape * log_t - np.exp(log_t)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    variance = 2 * np.exp(log_t)

    def excess(length: float) -> float:
        beyond = gammaincc(dimension / blocks / 2, length**2 / (2 * variance))
        with np.errstate(divide="ignore"):
            longest = -np.expm1(among * np.log1p(-beyond))
        return float(weights @ longest) - beta

    top = float(gammainccinv(dimension, beta))  # the whole vector is longer than any block
    return float(brentq(excess, 0.0, top * (1 + 1e-9), xtol=1e-12 * top))
