"""The convex hull of points of the plane by its support function, not by its vertices."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from geoveil import checks
from geoveil.errors import InvalidParameter, NoErrorBound
from geoveil.mechanisms import Additive, Gaussian, KNorm, Mechanism
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Source
from geoveil.privacy import CGP, GP, exact
from geoveil.queries.convex import corners, directions, project, prune, shrink
from geoveil.queries.extent import hull_points
from geoveil.queries.query import Answer, Query

__all__ = ["SupportHull", "SupportHullAnswer", "support_squared"]

#: Under CGP noise is white over directions: their number is a resolution, and pruning makes more of them needless.
_DIRECTIONS = 256
#: A public guess of how far a tuple extends, in metres, for the number of directions under pure GP.
_EXTENT = 30_000.0
#: Vertices are pruned where the radius is so many times the noise of a harmonic.
_CLEAR = 50.0


def support_squared(k: int, n: int, metric: str) -> Fraction | float:
    """The square of the Lipschitz constant of k values of the support function of n points, k even.

    Notes
    -----
    Value j moves by ⟨v_i, u_j⟩ with the point i that supports direction j. Under dist_inf the square is at most k; for
    few points each supports an arc of directions, and Σcos² over n equal arcs is ½(k + n·sin(2π/n)/sin(2π/k)). Under
    dist_2 and dist_1 one point alone moves, and of two opposite directions it supports one: k/4; both if n = 1: k/2.
    """
    if n == 1:
        return Fraction(k, 2)
    if metric != "inf":
        return Fraction(k, 4)
    if n < k:
        arcs = (k + n * math.sin(2 * math.pi / n) / math.sin(2 * math.pi / k)) / 2
        return min(float(k), arcs * (1 + 1e-12))
    return Fraction(k)


@dataclass(frozen=True)
class SupportHull(Query):
    """The convex polygon that fits noisy values of the support function in k public directions.

    Parameters
    ----------
    k : int, optional
        How many directions, even; by default from the budget and, under GP, the extent.
    extent : float
        A public guess of the tuple's extent in metres; a wrong one costs accuracy, never privacy.

    Notes
    -----
    h_u(x) = max_i ⟨x_i, u⟩ is 1-Lipschitz for every direction u, so the vector of k values is √k-Lipschitz: Gaussian
    noise of variance k/(2ρ) each is ρ-CGP. All values move by at most dist(x, x') at once, so the K-norm mechanism of
    the cube is ε-GP. All else, the projection on support functions, smoothing and pruning, is post-processing.
    """

    method: str = "best"
    k: int | None = field(kw_only=True, default=None)
    extent: float = field(kw_only=True, default=_EXTENT)

    name = "hull"
    kind = "body"
    methods = ("best",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dimension != 2:
            raise InvalidParameter(
                "method", self.method, '"paper" unless the points are in the plane', 'Use method="paper".'
            )
        checks.positive("extent", self.extent)
        if self.k is not None:
            checks.count("k", self.k, low=4, remedy="It is an even number of directions; leave it out.")
            if self.k % 2:
                raise InvalidParameter("k", self.k, "even", "Opposite directions come in pairs.")
        self.mechanism  # noqa: B018 - refuses budgets without noise

    @cached_property
    def resolution(self) -> int:
        """The number of directions, from public facts."""
        if self.k is not None:
            return self.k
        if isinstance(self.guarantee, CGP):
            return _DIRECTIONS
        # Under pure GP noise grows with the number of directions.
        wanted = 16 * (float(self.guarantee.budget) * self.extent / 70) ** 0.4
        return int(2 * min(max(round(wanted / 2), 6), 128))

    @cached_property
    def mechanism(self) -> Additive:
        """The noise on the values of the support function."""
        k, guarantee = self.resolution, self.guarantee
        if isinstance(guarantee, CGP):
            square = support_squared(k, self.n, guarantee.metric.name)
            return Gaussian(guarantee, k, exact.root_up(Fraction(square)))
        assert isinstance(guarantee, GP)
        return KNorm(guarantee, k, 1)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        return (self.mechanism,)

    @property
    def variance(self) -> float:
        """Of the noise in one direction."""
        if isinstance(self.mechanism, Gaussian):
            return self.mechanism.scale**2
        k = self.resolution
        return self.mechanism.scale**2 * (k + 1) * (k + 2) / 3

    def ask(self, x: Floats, source: Source) -> SupportHullAnswer:
        true = (hull_points(x) @ directions(self.resolution).T).max(axis=0)
        noisy = self.mechanism.sample(true[:, None], source)[:, 0]
        vertices = self.fit(noisy)
        return SupportHullAnswer(self, vertices, self.mechanisms, coords=vertices, support=noisy)

    def fit(self, noisy: Floats) -> Floats:
        """The vertices of the polygon that a noisy support function stands for."""
        h = project(shrink(noisy, self.variance))
        vertices = corners(h)
        if float(h.mean()) > _CLEAR * math.sqrt(2 * self.variance / self.resolution):
            vertices = prune(vertices, noisy, self.variance)
        return vertices

    def error(self, beta: float, *, each: bool = False) -> float:
        """Not known before the values are released; ask the answer."""
        raise NoErrorBound("The error of this hull depends on the values it releases; ask the release for it.")


@dataclass(frozen=True)
class SupportHullAnswer(Answer):
    """A hull with the noisy support function it was made from.

    Parameters
    ----------
    support : array
        The released values, one for each direction.
    """

    support: Floats = field(kw_only=True)

    same_error = False

    def error(self, beta: float, *, each: bool = False) -> float:
        """With probability 1-β the Hausdorff distance to the true hull is at most this.

        Notes
        -----
        With probability 1-β all noises are at most t. Then the polygon's support function is off by at most
        T = t + max_j |ĥ_j - y_j| in every direction asked, and by T/cos(π/k) + (ω/2)·tan(π/k) in any other, where the
        diameter ω is at most max_j(y_j + y_{j+k/2} + 2t)/cos(π/k).
        """
        query, k = self.query, len(self.support)
        assert isinstance(query, SupportHull)
        t = query.mechanism.error(beta, blocks=k)
        fitted = (self.value @ directions(k).T).max(axis=0)
        off = t + float(np.abs(fitted - self.support).max())
        widths = self.support + np.roll(self.support, k // 2) + 2 * t
        diameter = max(float(widths.max()), 0.0) / math.cos(math.pi / k)
        return off / math.cos(math.pi / k) + diameter / 2 * math.tan(math.pi / k)
