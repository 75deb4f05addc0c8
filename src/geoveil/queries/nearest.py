"""The k nearest neighbours of a public place: the paper's Algorithm 3."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from geoveil import checks
from geoveil.mechanisms import Additive, Mechanism, NearestNeighbour, Walk
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Source
from geoveil.privacy import CGP, GP, Guarantee
from geoveil.privacy.metrics import distances
from geoveil.queries.points import identity
from geoveil.queries.query import Answer, Query

__all__ = ["Nearest", "search"]


def search(guarantee: Guarantee, rounds: int, gamma0: float) -> NearestNeighbour:
    """One of so many private nearest neighbours that together cost the guarantee."""
    part = guarantee / rounds
    assert isinstance(part, (CGP, GP))
    return NearestNeighbour(part, gamma0)


@dataclass(frozen=True)
class Nearest(Query):
    """The positions of the k points nearest to p, in the order found.

    Parameters
    ----------
    p : array
        The public place.
    k : int
        How many neighbours.
    locations : float, optional
        The share of the budget that releases the places of the neighbours, too.
    gamma0 : float
        Of the private nearest neighbour, in metres.

    Notes
    -----
    k searches of ρ/k (ε/k) each without replacement compose to ρ-CGP (ε-GP).
    """

    p: Floats = field(kw_only=True)
    k: int = field(kw_only=True)
    locations: float | None = field(kw_only=True, default=None)
    gamma0: float = field(kw_only=True, default=0.0)

    name = "nearest"
    kind = "positions"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "p", checks.place("p", self.p, self.dimension))
        checks.count(
            "k",
            self.k,
            low=1,
            high=self.n,
            remedy="A tuple has no more neighbours than points; with by=, the smallest tuple counts.",
        )
        if self.locations is not None:
            remedy = "It is the share of the budget for the places."
            checks.number("locations", self.locations, above=0, below=1, remedy=remedy)
        self.single  # noqa: B018 - checks gamma0

    @cached_property
    def single(self) -> NearestNeighbour:
        """The mechanism of one of the k searches."""
        finding = self.guarantee if self.locations is None else self.guarantee.portions(self.locations)[1]
        return search(finding, self.k, self.gamma0)

    @cached_property
    def placing(self) -> Additive | None:
        """The noise on the places of the neighbours."""
        if self.locations is None:
            return None
        return identity(self.guarantee.portions(self.locations)[0], self.k, self.dimension)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        searches: tuple[Mechanism, ...] = (self.single,) * self.k
        return searches if self.placing is None else (*searches, self.placing)

    def ask(self, x: Floats, source: Source) -> Answer:
        walk = Walk(distances(x, self.p), 2 * self.single.scale)
        found = np.empty(self.k, dtype=np.int64)
        for j in range(self.k):
            found[j] = self.single.visit(walk, source)
            if j + 1 < self.k:
                walk.remove(found[j])
        places = None if self.placing is None else self.placing.sample(x[found], source)
        return Answer(self, found, self.mechanisms, coords=places)

    def error(self, beta: float, *, each: bool = False) -> float:
        """The j-th neighbour is farther than the true j-th by at most this, for every j, or for any one of them.

        Notes
        -----
        Each search has the exact worst-case error of its mechanism among at most n points. At least one of the true
        first j is still there in round j, so it is an excess over the true j-th distance (the paper's Theorem 4.12).
        """
        checks.beta(beta)
        return self.single.error(beta if each else beta / self.k, m=self.n)
