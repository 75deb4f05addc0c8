"""The convex hull: the paper's Algorithm 4, and the release of the vertices it finds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

import numpy as np

from geoveil import checks
from geoveil.errors import InvalidParameter, NoErrorBound
from geoveil.mechanisms import Additive, Gaussian, Mechanism, NearestNeighbour, Walk
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Source
from geoveil.privacy import CGP, Guarantee, dist_inf
from geoveil.queries.additive import additive
from geoveil.queries.constants import lipschitz
from geoveil.queries.evaluation import away, farthest, midrange
from geoveil.queries.identity import identity
from geoveil.queries.nearest import search
from geoveil.queries.query import Answer, Query, Tuple

__all__ = ["Hull", "HullAnswer", "probes"]

#: The part of the budget for center (two thirds of it) and radius (one third).
_PREPARATION, _REST = Decimal("0.05"), Decimal("0.95")
#: The largest number of probes that is chosen automatically.
_MOST_PROBES = 4096


@dataclass(frozen=True)
class Hull(Query):
    """The convex hull of noisy points near the boundary.

    Parameters
    ----------
    k : int, "optimal" or "authors"
        How many probes around the tuple. "optimal" minimises the paper's error bound once the radius is known;
        "authors" is the formula of the paper's experiments (d = 2). Above the plane probes come in grids of
        2d·m^(d-1): the largest of at most k is taken.
    share : float
        The share of the budget, after center and radius, that finds the vertices; the rest releases them.
    distinct : bool
        Whether a point found for one probe is taken out before the next.
    gamma0 : float
        Of the private nearest neighbour, in metres.
    beta : float
        The probability, for which the circle is widened and k is chosen, that the bound fails.

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
        checks.number("share", self.share, above=0, below=1, remedy="The paper's text has 0.5, its code 0.92.")
        checks.beta(self.beta)
        # Whatever the radius turns out to be, no step may fail once something has been drawn.
        most = _MOST_PROBES if isinstance(self.k, str) else self.k
        for rounds in (1, most):
            search(self._finding, rounds, self.gamma0)
            self._vertex_noise(rounds, 1)
        self.centering, self.reaching  # noqa: B018

    @cached_property
    def centering(self) -> Additive:
        """The noise on the center."""
        constant = lipschitz("center", n=self.n, d=self.dimension, metric=self.guarantee.metric)
        return additive(self.guarantee * _PREPARATION * 2 / 3, self.dimension, constant)

    @cached_property
    def reaching(self) -> Additive:
        """The noise on the radius, the largest distance to the noisy center: 1-Lipschitz under every metric."""
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
        """What is added to the noisy radius so that the circle encloses the tuple with probability 1-β/2."""
        if isinstance(self.reaching, Gaussian):
            return self.reaching.scale * math.sqrt(2 * math.log(2 / self.beta))
        return self.reaching.scale * math.log(2 / self.beta)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Center and radius; the rest depends on the radius released."""
        return (self.centering, self.reaching)

    def ask(self, x: Tuple, source: Source) -> HullAnswer:
        center = self.centering.sample(midrange(x), source)
        # A radius below its own noise says nothing; the authors' code has a floor as well.
        radius = max(float(self.reaching.sample(farthest(x, center), source)) + self.widening, self.reaching.scale)
        directions = self._directions(radius)
        single = search(self._finding, len(directions), self.gamma0)
        found: list[int] = []
        for p in center + radius * directions:
            reached = away(x, p)
            if self.distinct:
                reached.values[found] = np.inf
            found.append(single.visit(Walk(reached, 2 * single.scale), source))
        vertices = list(dict.fromkeys(found))
        placing = self._vertex_noise(len(directions), len(vertices))
        places = placing.sample(x[vertices], source)
        for released in (center, directions, places):
            released.flags.writeable = False
        return self.restored({"value": places, "center": center, "radius": radius, "directions": directions})

    def restored(self, parts: dict[str, Any]) -> HullAnswer:
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
        """The noise on the vertices found: under dist_inf each at a k-th of the budget, as the paper has it."""
        spent = self._placing * found / probed if self.guarantee.metric == dist_inf else self._placing
        return identity(spent, found, self.dimension, "paper")

    def _directions(self, radius: float) -> Floats:
        if self.k == "optimal":
            wanted = self.optimal(radius)
        elif self.k == "authors":
            wanted = self._authors(radius)
        else:
            wanted = self.k
        directions = probes(wanted, self.dimension)
        return directions[: self.n] if self.distinct else directions

    def optimal(self, radius: float) -> int:
        """The k that minimises the paper's bound γ1 + γ2 + γ3 with its constants (Lemma 4.15 and Remark 2)."""
        from scipy.special import gammainccinv

        k = _candidates(self.dimension)
        log = np.log(4 * (4 * self.n + 2) * k / self.beta)
        single = search(self._finding, 1, self.gamma0)
        placed = identity(self._placing, 1, self.dimension, "paper")
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
        """The k of the paper's experiments, constants raised to 2/3 twice, truncated and clamped to [16, 128]."""
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
        """Not known before the radius is released; ask the answer."""
        raise NoErrorBound("The error of this hull depends on the radius it finds; ask the release for it.")


@dataclass(frozen=True)
class HullAnswer(Answer):
    """A hull with what its error bound is made of, all of it released.

    Parameters
    ----------
    center, radius : array, float
        The noisy circle that the probes stand on.
    directions : array
        Where on it they stand.
    searching : NearestNeighbour
        The mechanism of one probe.
    placing : Additive
        The noise on the vertices.
    """

    center: Floats = field(kw_only=True)
    radius: float = field(kw_only=True)
    directions: Floats = field(kw_only=True)
    searching: NearestNeighbour = field(kw_only=True)
    placing: Additive = field(kw_only=True)

    same_error = False

    def parts(self) -> dict[str, Any]:
        named = ("value", "center", "radius", "directions")
        return {name: getattr(self, name) for name in named}

    def error(self, beta: float, *, each: bool = False) -> float:
        """With probability 1-β the Hausdorff distance to the true hull is at most this.

        Notes
        -----
        Let h_u be the support functions. With a third of β each: every point lies within R̃ + e of the center; every
        search is within γ1 of the nearest point; every vertex moves by at most γ3. For a direction u let the ray in
        direction u from the point that attains h_u(x), moved into the circle by at most e, meet the circle within η
        of a probe P. Then the point found for P has ⟨x_a, u⟩ ≥ h_u(x) - γ1 - 2η - 2e, by the triangle inequality.
        So the Hausdorff distance, the largest |h_u - h̃_u|, is at most γ1 + 2η + 2e + γ3. Points that are taken out
        once found change nothing: a point taken out is a vertex already.
        """
        checks.beta(beta)
        query = self.query
        assert isinstance(query, Hull)
        third, k, n = beta / 3, len(self.directions), query.n
        if query.distinct and k == n:  # every point was found
            return self.placing.error(beta, blocks=n)
        outside = max(query.reaching.error(2 * third) - query.widening, 0.0)
        missed = self.searching.error(third / k, m=n)
        covering = 2 * self.radius * _covering(k, query.dimension)
        moved = self.placing.error(third, blocks=len(self.value))
        return missed + covering + 2 * outside + moved


def probes(k: int, dimension: int) -> Floats:
    """Spread at most k unit vectors over all directions: evenly in the plane, else on a grid on a cube.

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
    """The numbers of probes to choose from, so close that the bound's minimum is as good as met."""
    if dimension == 2:
        return np.unique(np.geomspace(3, _MOST_PROBES, 400).round())
    cells = np.arange(1, 1 + max(1, int((_MOST_PROBES / (2 * dimension)) ** (1 / (dimension - 1)))))
    return np.asarray(2.0 * dimension * cells ** (dimension - 1.0))


def _cells(k: int, dimension: int) -> int:
    """The cells along an edge of the cube, for at most k probes."""
    return max(1, math.floor(float((k / (2 * dimension)) ** (1 / (dimension - 1))) + 1e-9))


def _covering(k: int, dimension: int) -> float:
    """How far a unit vector can be from the nearest probe.

    Half a step, π/k, in the plane. Above it, a direction scaled onto a face of the cube [-1, 1]^d is within
    √(d-1)/cells of the middle of a cell, and scaling back to the sphere only contracts.
    """
    if dimension == 2:
        return math.pi / k
    return math.sqrt(dimension - 1) / _cells(k, dimension)
