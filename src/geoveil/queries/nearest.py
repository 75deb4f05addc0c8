"""The k nearest neighbours of a public place: the paper's Algorithm 3."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.errors import InvalidParameter
from geoveil.mechanisms import (
    Additive,
    Draws,
    Exponential,
    Mechanism,
    NearestNeighbour,
    PermuteAndFlip,
    Walk,
    sample_people,
)
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Reals, Source
from geoveil.privacy import CGP, GP, Guarantee, exact
from geoveil.queries.evaluation import away
from geoveil.queries.identity import identity
from geoveil.queries.query import Answer, Answers, Persons, PositionAnswers, Progress, Query, Tuple

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
    Each of k searches without replacement at ρ/k (ε/k) composes to ρ-CGP (ε-GP). The paper's search is a sparse vector
    walk. The best is the exponential mechanism under CGP, all k in one pass, and permute-and-flip under GP.
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
            remedy="Every person needs at least k points: with by=, the person with the fewest points counts.",
        )
        if self.locations is not None:
            remedy = "It is the share of the budget for the places."
            checks.number("locations", self.locations, above=0, below=1, remedy=remedy)
        if self.method == "best" and self.gamma0 != 0:
            raise InvalidParameter("gamma0", self.gamma0, '0, unless method="paper"', "The best method has no γ0.")
        self.mechanisms  # noqa: B018 - checks gamma0 and the budget before anything is drawn

    @cached_property
    def single(self) -> NearestNeighbour | Exponential | PermuteAndFlip:
        """The mechanism of one of the k searches."""
        finding = self.guarantee if self.locations is None else self.guarantee.portions(self.locations)[1]
        if self.method == "paper":
            return search(finding, self.k, self.gamma0)
        part = finding / self.k
        # A distance depends on its own point alone: two of them move apart by at most √2 or 1 under dist_2 or dist_1.
        spread = {"inf": 2.0, "2": exact.root_up(2), "1": 1.0}[part.metric.name]
        if isinstance(part, GP):
            return PermuteAndFlip(part, spread)
        assert isinstance(part, CGP)
        return Exponential(part, spread)

    @cached_property
    def placing(self) -> Additive | None:
        """The noise on the places of the neighbours."""
        if self.locations is None:
            return None
        return identity(self.guarantee.portions(self.locations)[0], self.k, self.dimension, self.method)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        searches: tuple[Mechanism, ...] = (self.single,) * self.k
        return searches if self.placing is None else (*searches, self.placing)

    def ask(self, x: Tuple, source: Source) -> Answer:
        found = self._found(away(x, self.p), source)
        places = None if self.placing is None else self.placing.sample(x[found], source)
        return Answer(self, found, self.mechanisms, coords=places)

    @classmethod
    def ask_each(cls, persons: Persons, x: Tuple, source: Source, progress: Progress) -> Answers:
        # The mechanisms do not depend on the number of points: all persons have the same.
        query = persons.first
        found = np.empty((len(persons), query.k), dtype=np.int64)
        for people, rows in persons.blocks():
            distances, sizes = away(x[rows], query.p), persons.sizes[people]
            if len(sizes) == 1:
                found[people] = query._found(distances, source)
            else:
                found[people] = query.single.sample_each(distances, sizes, query.k, source)
            progress(people.stop / len(persons))
        found += (persons.stops - persons.sizes)[:, None]
        if query.placing is None:
            return PositionAnswers(persons, found)
        together = np.full(len(persons), query.k)
        places = sample_people([query.placing] * len(persons), together, x[found.ravel()], source)
        return PositionAnswers(persons, found, places)

    @classmethod
    def restored_each(cls, persons: Persons, parts: Any) -> Answers:
        return PositionAnswers(persons, parts["value"], parts["coords"])

    def _found(self, distances: Reals, source: Source) -> NDArray[np.int64]:
        """The positions found, given the true distances."""
        single = self.single
        if isinstance(single, Exponential):
            return single.sample_several(distances, self.k, source)
        found = np.empty(self.k, dtype=np.int64)
        if isinstance(single, PermuteAndFlip):
            draws = Draws(distances, single.scale)
            for j in range(self.k):
                found[j] = draws.choose(source, remove=True)
            return found
        walk = Walk(distances, 2 * single.scale)
        for j in range(self.k):
            found[j] = single.visit(walk, source)
            if j + 1 < self.k:
                walk.remove(found[j])
        return found

    def error(self, beta: float, *, each: bool = False) -> float:
        """The j-th neighbour is farther than the true j-th by at most this, for every j, or for any one of them.

        Notes
        -----
        Each search has the exact worst-case error of its mechanism among at most n points. At least one of the true
        first j is still there in round j, so it is an excess over the true j-th distance (the paper's Theorem 4.12).
        """
        checks.beta(beta)
        return self.single.error(beta if each else beta / self.k, m=self.n)
