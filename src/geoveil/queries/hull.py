"""The convex hull by its vertices: the paper's Algorithm 4 finds points near the boundary, which are then released."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Literal

import numpy as np

from geoveil import checks
from geoveil.errors import InvalidParameter, NoErrorBound
from geoveil.mechanisms import Additive, Gaussian, Mechanism, NearestNeighbour, Walk
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Source
from geoveil.privacy import CGP, Guarantee, dist_inf
from geoveil.queries.additive import additive
from geoveil.queries.answer import Answer, Parts
from geoveil.queries.constants import lipschitz
from geoveil.queries.evaluation import away, farthest, midrange
from geoveil.queries.identity import identity
from geoveil.queries.nearest import search
from geoveil.queries.query import Query, Tuple

__all__ = ["Hull", "HullAnswer", "probes"]

#: The share of the budget that is spent on the center (two thirds of it) and the radius (one third), and the rest.
_PREPARATION, _REST = Decimal("0.05"), Decimal("0.95")
#: The largest number of probes that is chosen automatically.
_MOST_PROBES = 4096


@dataclass(frozen=True)
class Hull(Query):
    """Release the convex hull of noisy points near the boundary.

    The points nearest to k probes on a circle around the tuple are found privately and released with noise.

    Parameters
    ----------
    k : int, "optimal" or "authors"
        The number of probes. "optimal" minimises the paper's error bound, given the radius released; "authors" is the
        formula of the paper's experiments (d = 2). In more than two dimensions probes come in grids of 2d·m^(d-1): the
        largest grid of at most k probes is used.
    share : float
        The share of the budget left after center and radius that is spent on finding the vertices. The rest is spent
        on releasing them.
    distinct : bool
        Whether a point found for one probe is removed before the search for the next.
    gamma0 : float
        The γ0 of `NearestNeighbour` in metres.
    beta : float
        The probability with which the error bound may fail, for choosing k and the margin of the circle.

    Notes
    -----
    Center, radius, k searches and the release of the vertices compose to the guarantee.
    """

    method: str = "paper"
    k: int | Literal["optimal", "authors"] = field(kw_only=True, default="optimal")
    share: float = field(kw_only=True, default=0.5)
    distinct: bool = field(kw_only=True, default=False)
    gamma0: float = field(kw_only=True, default=0.0)
    beta: float = field(kw_only=True, default=0.1)

    name = "hull"
    kind = "body"
    methods = ("paper", "best")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dimension < 2:
            raise InvalidParameter("x", (self.n, self.dimension), "points in 2 or more dimensions", "Use bounds(x).")
        if isinstance(self.k, str):
            if self.k not in ("optimal", "authors") or (self.k == "authors" and self.dimension != 2):
                raise InvalidParameter(
                    "k", self.k, 'a whole number, "optimal", or "authors" in the plane', "Leave it out."
                )
        else:
            low = 3 if self.dimension == 2 else 2 * self.dimension
            checks.count("k", self.k, low=low, remedy="Fewer probes do not surround the tuple.")
        checks.number("share", self.share, above=0, below=1, remedy="The paper's text uses 0.5, its code 0.92.")
        checks.beta(self.beta)
        # No step may fail after something has been drawn, whatever the radius is.
        most = _MOST_PROBES if isinstance(self.k, str) else self.k
        for rounds in (1, most):
            search(self._finding, rounds, self.gamma0)
            self._vertex_noise(rounds, 1)
        self.centering, self.reaching  # noqa: B018

    @cached_property
    def centering(self) -> Additive:
        """The mechanism that releases the center."""
        constant = lipschitz("center", n=self.n, d=self.dimension, metric=self.guarantee.metric, largest=self.largest)
        return additive(self.guarantee * _PREPARATION * 2 / 3, self.dimension, constant)

    @cached_property
    def reaching(self) -> Additive:
        """The mechanism that releases the radius.

        It is the largest distance to the noisy center, which is 1-Lipschitz under every metric.
        """
        return additive(self.guarantee * _PREPARATION / 3, 1, 1.0)

    @property
    def _rest(self) -> Guarantee:
        return self.guarantee * _REST

    @property
    def _finding(self) -> Guarantee:
        return self._rest.portions(self.share)[0]

    @property
    def _placing(self) -> Guarantee:
        return self._rest.portions(self.share)[1]

    @property
    def widening(self) -> float:
        """The margin added to the noisy radius, so that the circle encloses the tuple with probability 1-β/2."""
        if isinstance(self.reaching, Gaussian):
            return self.reaching.scale * math.sqrt(2 * math.log(2 / self.beta))
        return self.reaching.scale * math.log(2 / self.beta)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanisms of center and radius; the others depend on the radius released."""
        return (self.centering, self.reaching)

    def ask(self, x: Tuple, source: Source) -> HullAnswer:
        center = self.centering.sample(midrange(x), source)
        # A radius below the scale of its noise is meaningless; the authors' code has a lower limit as well.
        radius = max(float(self.reaching.sample(farthest(x, center), source)) + self.widening, self.reaching.scale)
        directions = self._directions(radius)
        single = search(self._finding, len(directions), self.gamma0)
        chosen: list[int] = []
        for p in center + radius * directions:
            reached = away(x, p)
            if self.distinct:
                reached.values[chosen] = np.inf
            chosen.append(single.visit(Walk(reached, 2 * single.scale), source))
        vertices = list(dict.fromkeys(chosen))
        placing = self._vertex_noise(len(directions), len(vertices))
        places = placing.sample(x[vertices], source)
        for released in (center, directions, places):
            released.flags.writeable = False
        return self.restored({"value": places, "center": center, "radius": radius, "directions": directions})

    def restored(self, parts: Parts) -> HullAnswer:
        places, directions = parts["value"], parts["directions"]
        single = search(self._finding, len(directions), self.gamma0)
        placing = self._vertex_noise(len(directions), len(places))
        return HullAnswer(
            query=self,
            value=places,
            mechanisms=(self.centering, self.reaching, *(single,) * len(directions), placing),
            coords=places,
            center=parts["center"],
            radius=parts["radius"],
            directions=directions,
            searching=single,
            placing=placing,
        )

    def _vertex_noise(self, probed: int, found: int) -> Additive:
        """Return the mechanism that releases the vertices found; under dist_inf each gets 1/k of the budget."""
        spent = self._placing * found / probed if self.guarantee.metric == dist_inf else self._placing
        return identity(spent, found, self.dimension, "paper", largest=self.largest)

    def _directions(self, radius: float) -> Floats:
        """Return the directions of the probes, given the radius released."""
        if self.k == "optimal":
            wanted = self.optimal(radius)
        elif self.k == "authors":
            wanted = self._authors(radius)
        else:
            wanted = self.k
        directions = probes(wanted, self.dimension)
        return directions[: self.n] if self.distinct else directions

    def optimal(self, radius: float) -> int:
        """Return the k that minimises the paper's bound γ1 + γ2 + γ3 with its constants (Lemma 4.15 and Remark 2)."""
        from scipy.special import gammainccinv

        k = _candidates(self.dimension)
        log = np.log(4 * (4 * self.n + 2) * k / self.beta)
        single = search(self._finding, 1, self.gamma0)
        placed = identity(self._placing, 1, self.dimension, "paper", largest=1)
        growth = np.sqrt(k) if isinstance(self.guarantee, CGP) else k
        finding = (5 * log + np.sqrt(2 * log)) * single.scale * growth
        tail = self.beta / (2 * k)
        if isinstance(placed, Gaussian):
            length = np.sqrt(2 * gammainccinv(self.dimension / 2, tail))
        else:
            length = gammainccinv(self.dimension, tail)
        placing = placed.scale * length * (growth if self.guarantee.metric == dist_inf else 1)
        covering = [2 * radius * _covering(int(j), self.dimension) for j in k]
        return int(k[np.argmin(finding + placing + covering)])

    def _authors(self, radius: float) -> int:
        """Return the k of the paper's experiments: constants raised to 2/3 twice, truncated, clamped to [16, 128]."""
        a, half = self.share, math.log(2 / self.beta)
        log = half + math.log(4 * self.n + 2)
        budget = float(self._rest.budget)
        reach = max(radius, 10.0)
        if isinstance(self.guarantee, CGP):
            first, second = (15 * log + 3 * math.sqrt(2 * log)) / math.sqrt(2), math.sqrt(half)
            constant = first ** (2 / 3) / math.sqrt(a) + second ** (2 / 3) / math.sqrt(1 - a)
            k = (4 * math.pi * reach * math.sqrt(budget) / constant) ** (2 / 3)
        else:
            first, second = 15 * log + 3 * math.sqrt(2 * log), math.sqrt(2 * half) + half
            k = math.sqrt(2 * math.pi * reach * budget / (first / a + second / (1 - a)))
        return int(min(max(int(k), 16), 128))

    def error(self, beta: float, *, each: bool = False) -> float:
        """Raise NoErrorBound: the bound depends on the radius released, so only the answer has one."""
        raise NoErrorBound("The error bound of this hull depends on the radius released; ask the release for it.")


@dataclass(frozen=True)
class HullAnswer(Answer):
    """A hull with the released values on which its error bound depends.

    Parameters
    ----------
    center, radius : array, float
        The noisy circle on which the probes lie.
    directions : array
        The directions of the probes from the center.
    searching : NearestNeighbour
        The mechanism of one search.
    placing : Additive
        The mechanism that released the vertices.
    """

    query: Hull
    center: Floats = field(kw_only=True)
    radius: float = field(kw_only=True)
    directions: Floats = field(kw_only=True)
    searching: NearestNeighbour = field(kw_only=True)
    placing: Additive = field(kw_only=True)

    same_error = False

    def parts(self) -> Parts:
        return {
            "value": self.value,
            "center": self.center,
            "radius": self.radius,
            "directions": self.directions,
        }

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the bound on the Hausdorff distance to the true hull that holds with probability 1-β.

        Notes
        -----
        Let h_u be the support function of the true hull and h̃_u that of the released one. Each of the following fails
        with probability at most β/3: every point lies within R̃ + e of the center; every search is within γ1 of the
        nearest point; every vertex moves by at most γ3. For a direction u take the point that attains h_u(x), moved
        into the circle by at most e. Let the ray from it in direction u meet the circle within η of a probe P. Then
        the point found for P has ⟨x_a, u⟩ ≥ h_u(x) - γ1 - 2η - 2e, by the triangle inequality. So the Hausdorff
        distance, the largest |h_u - h̃_u|, is at most γ1 + 2η + 2e + γ3. Removing points once they are found changes
        nothing: a point that was removed is a vertex already.
        """
        checks.beta(beta)
        query = self.query
        third, k, n = beta / 3, len(self.directions), query.n
        if query.distinct and k == n:  # every point was found
            return self.placing.error(beta, blocks=n)
        outside = max(query.reaching.error(2 * third) - query.widening, 0.0)
        missed = self.searching.error(third / k, m=n)
        covering = 2 * self.radius * _covering(k, query.dimension)
        moved = self.placing.error(third, blocks=len(self.value))
        return missed + covering + 2 * outside + moved


def probes(k: int, dimension: int) -> Floats:
    """Return at most k unit vectors spread over all directions: evenly in the plane, else on a grid on a cube.

    On the cube they come in exactly opposite pairs.
    """
    if dimension == 2:
        angle = 2 * np.pi * np.arange(k) / k
        return np.column_stack([np.cos(angle), np.sin(angle)])
    cells = _cells(k, dimension)
    ticks = (2 * np.arange(cells) + 1 - cells) / cells
    face = np.stack(np.meshgrid(*[ticks] * (dimension - 1), indexing="ij"), axis=-1).reshape(-1, dimension - 1)
    sides = [np.insert(face, axis, -1.0, axis=1) for axis in range(dimension)]
    directions = np.concatenate([pair for side in sides for pair in (side, -side[::-1])])
    return np.asarray(directions / np.linalg.norm(directions, axis=1)[:, None])


def _candidates(dimension: int) -> Floats:
    """Return the numbers of probes to choose from, spaced so closely that the best is nearly optimal."""
    if dimension == 2:
        return np.unique(np.geomspace(3, _MOST_PROBES, 400).round())
    cells = np.arange(1, 1 + max(1, int((_MOST_PROBES / (2 * dimension)) ** (1 / (dimension - 1)))))
    return np.asarray(2.0 * dimension * cells ** (dimension - 1.0))


def _cells(k: int, dimension: int) -> int:
    """Return the number of cells along an edge of the cube, for at most k probes."""
    return max(1, math.floor(float((k / (2 * dimension)) ** (1 / (dimension - 1))) + 1e-9))


def _covering(k: int, dimension: int) -> float:
    """Return the largest distance of a unit vector from the nearest probe.

    In the plane it is half a step, π/k. In more dimensions a direction scaled onto a face of the cube [-1, 1]^d is
    within √(d-1)/cells of the middle of a cell, and scaling back to the sphere only contracts.
    """
    if dimension == 2:
        return math.pi / k
    return math.sqrt(dimension - 1) / _cells(k, dimension)
