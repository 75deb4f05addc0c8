"""The K-norm mechanism of dist_inf: pure geo-privacy for all points of a tuple without splitting the budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.errors import IncompatibleGuarantees
from geoveil.mechanisms.mechanism import Additive, Floats, noise_scale
from geoveil.noise import Blocks, Source, ball_product
from geoveil.privacy import GP

__all__ = ["KNorm"]


@dataclass(frozen=True)
class KNorm(Additive):
    """Add noise z with density ∝ exp(-ε·max_i ‖z_i‖) to `count` points of R^size.

    Parameters
    ----------
    guarantee : GP
        The guarantee of the release; pure. It holds under dist_inf, and so under every larger metric.
    count : int
        The number of points.
    size : int
        The number of coordinates of a point.

    Notes
    -----
    The log-ratio of the densities is at most ε·max_i ‖x_i - x'_i‖. For any norm N on R^D, z = r·u with u uniform in
    its unit ball and r ~ Gamma(D+1, 1/ε) has density ∝ exp(-ε·N(z)) (Hardt and Talwar, 2010); the ball of dist_inf is
    a product of balls. The largest length is r times a Beta(D, 1) variable: Gamma(D, 1/ε).
    """

    guarantee: GP
    count: int
    size: int

    def __post_init__(self) -> None:
        if not self.guarantee.pure:
            raise IncompatibleGuarantees(f"{self.guarantee!r} is not pure; the K-norm mechanism takes delta=0.")
        self.scale  # noqa: B018 - validates the budget early

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """The number of coordinates of all points together."""
        return self.count * self.size

    @cached_property
    def scale(self) -> float:
        """1/ε in metres, rounded up."""
        return noise_scale(1.0, self.guarantee.epsilon, self.guarantee)

    @property
    def deviation(self) -> float:
        return self.scale * math.sqrt((self.dimension + 1) * (self.dimension + 2) / (self.size + 2))

    def noise(self, source: Source, sizes: NDArray[np.int64], dimension: int) -> Blocks:
        return ball_product(source, sizes, dimension)

    def log_density(self, y: Floats, center: Floats) -> Floats:
        lengths = np.sqrt(np.sum((y - center) ** 2, axis=-1))
        log_ball = self.size / 2 * math.log(math.pi) - math.lgamma(self.size / 2 + 1)
        log_norm = self.count * log_ball + math.lgamma(self.dimension + 1) + self.dimension * math.log(self.scale)
        return np.asarray(-lengths.max(axis=-1) / self.scale - log_norm)

    def error(self, beta: float = 0.05, *, blocks: int = 1, each: bool = False) -> float:
        """Return the 1-β quantile of the length of the noise: of the longest one of all points, or of any one point.

        `blocks` must be the number of points.

        Notes
        -----
        The noise of one point has the length r·s, s ~ Beta(d, 1): P(r·s > t) = P(r > t) - t^d·E[r^-d; r > t], two
        incomplete gamma functions.
        """
        from scipy.optimize import brentq
        from scipy.special import gammaincc, gammainccinv, gammaln

        checks.beta(beta)
        if blocks != self.count:
            raise ValueError(f"blocks = {blocks}: must be the number of points, {self.count}.")
        whole = float(gammainccinv(self.dimension, beta))
        if not each or self.count == 1:
            return self.scale * whole
        d, shape = self.size, self.dimension + 1

        def excess(t: float) -> float:
            log_factor = d * math.log(t) + float(gammaln(shape - d) - gammaln(shape))
            return float(gammaincc(shape, t) - math.exp(log_factor) * gammaincc(shape - d, t)) - beta

        return self.scale * float(brentq(excess, 1e-12 * whole, whole * (1 + 1e-9), xtol=1e-12 * whole))
