"""The k nearest neighbours of a public place: the paper's Algorithm 3."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.errors import InvalidParameter, Message
from geoveil.mechanisms import (
    Additive,
    Exponential,
    Mechanism,
    NearestNeighbour,
    PermuteAndFlip,
    sample_people,
)
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Source
from geoveil.privacy import CGP, GP, Guarantee, dist_2, exact
from geoveil.queries.answer import Answer, Answers, PartsOfMany, PositionAnswers
from geoveil.queries.evaluation import away
from geoveil.queries.identity import identity
from geoveil.queries.persons import Persons
from geoveil.queries.query import Progress, Query, Tuple

__all__ = ["Nearest", "search"]


def search(guarantee: Guarantee, rounds: int, gamma0: float) -> NearestNeighbour:
    """Return the private search for one nearest neighbour; `rounds` of these searches together cost the guarantee."""
    part = guarantee / rounds
    assert isinstance(part, (CGP, GP))
    return NearestNeighbour(part, gamma0)


@dataclass(frozen=True)
class Nearest(Query):
    """Find the positions of the k points nearest to p, in the order in which they are found.

    Parameters
    ----------
    p : array
        The public place.
    k : int
        The number of neighbours.
    locations : float, optional
        The share of the budget that is spent on releasing the neighbours' locations; by default they are not released.
    gamma0 : float
        The γ0 of `NearestNeighbour` in metres; for method="paper" only.

    Notes
    -----
    k searches without replacement at ρ/k (ε/k) each compose to ρ-CGP (ε-GP). The paper's search is a walk of the
    sparse vector technique. The best method is the exponential mechanism under CGP, with all k searches in one pass,
    and permute-and-flip under GP.
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
            remedy=Message(
                "Every person needs at least k points: with {person}, the person with the fewest points counts."
            ),
        )
        if self.locations is not None:
            remedy = "It is the share of the budget for releasing the neighbours' locations."
            checks.number("locations", self.locations, above=0, below=1, remedy=remedy)
        if self.method == "best" and self.gamma0 != 0:
            allowed = Message("0, unless {method:paper}")
            raise InvalidParameter("gamma0", self.gamma0, allowed, "The best method has no gamma0.")
        self.mechanisms  # noqa: B018 - validates gamma0 and the budget before anything is drawn

    @cached_property
    def single(self) -> NearestNeighbour | Exponential | PermuteAndFlip:
        """The mechanism of one of the k searches."""
        finding = self.guarantee if self.locations is None else self.guarantee.portions(self.locations)[1]
        if self.method == "paper":
            return search(finding, self.k, self.gamma0)
        part = finding / self.k
        if isinstance(part, GP):
            return PermuteAndFlip(part, self.spread)
        assert isinstance(part, CGP)
        return Exponential(part, self.spread)

    @property
    def spread(self) -> float:
        """The largest change of the difference of two distances.

        Each distance depends on one point: it is √2 under dist_2, and 1 in a step that moves a single point.
        """
        return exact.root_up(2) if self.guarantee.metric == dist_2 else 1.0 if self.largest == 1 else 2.0

    @property
    def sensitivity(self) -> float | None:
        return self.spread if self.method == "best" and self.placing is None else None

    @cached_property
    def placing(self) -> Additive | None:
        """The mechanism that releases the neighbours' locations; None if they are not released."""
        if self.locations is None:
            return None
        placing = self.guarantee.portions(self.locations)[0]
        return identity(placing, self.k, self.dimension, self.method, largest=self.largest)

    @property
    def public_points(self) -> Floats:
        return self.p[None]

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        searches: tuple[Mechanism, ...] = (self.single,) * self.k
        return searches if self.placing is None else (*searches, self.placing)

    def ask(self, x: Tuple, source: Source) -> Answer:
        chosen = self.single.sample_several(away(x, self.p), self.k, source)
        places = None if self.placing is None else self.placing.sample(x[chosen], source)
        return Answer(self, chosen, self.mechanisms, coords=places)

    @classmethod
    def ask_each(cls, persons: Persons[Self], x: Tuple, source: Source, progress: Progress) -> Answers:
        query = persons.first
        chosen = np.empty((len(persons), query.k), dtype=np.int64)
        places = None if query.placing is None else np.empty((len(persons), query.k, query.dimension))
        # Mechanisms depend on the sizes of units. Persons with the same mechanisms are answered together.
        kinds = list(dict.fromkeys((each.single, each.placing) for each in persons.queries))
        of_query = np.array([kinds.index((each.single, each.placing)) for each in persons.queries])
        of_person = of_query[persons.which]
        done = 0
        for kind in np.unique(of_person).tolist():
            mine = of_person == kind
            some, points = persons, x
            if not mine.all():
                some = Persons(persons.queries, persons.which[mine])
                points = x[np.flatnonzero(np.repeat(mine, persons.sizes))]
            picked = some.first._found_each(some, points, source, progress, of=len(persons), after=done)
            starts = (some.stops - some.sizes)[:, None]
            chosen[mine] = picked + (persons.stops - persons.sizes)[mine][:, None]
            placing = some.first.placing
            if places is not None and placing is not None:
                together = np.full(len(some), query.k)
                drawn = sample_people([placing] * len(some), together, points[(picked + starts).ravel()], source)
                places[mine] = drawn.reshape(len(some), query.k, -1)
            done += len(some)
        return PositionAnswers(persons, chosen, None if places is None else places.reshape(-1, query.dimension))

    def _found_each(
        self, persons: Persons[Self], x: Tuple, source: Source, progress: Progress, *, of: int, after: int
    ) -> NDArray[np.int64]:
        """Return the positions found among the points of each person; all persons have this mechanism.

        `after` persons were answered before, of `of` persons in all.
        """
        chosen = np.empty((len(persons), self.k), dtype=np.int64)
        for people, rows in persons.blocks():
            distances, sizes = away(x[rows], self.p), persons.sizes[people]
            if len(sizes) == 1:
                chosen[people] = self.single.sample_several(distances, self.k, source)
            else:
                chosen[people] = self.single.sample_each(distances, sizes, self.k, source)
            progress((after + people.stop) / of)
        return chosen

    @classmethod
    def restored_each(cls, persons: Persons[Self], parts: PartsOfMany) -> Answers:
        assert isinstance(parts, dict)
        return PositionAnswers(persons, parts["value"], parts["coords"])

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the bound on how much farther than the true j-th neighbour the j-th one found is, for every j.

        With `each` the bound is for any one j.

        Notes
        -----
        Each search has the exact worst-case error of its mechanism among at most n points. In round j at least one of
        the j nearest points has not been found yet, so the error is an excess over the true j-th distance (the paper's
        Theorem 4.12).
        """
        checks.beta(beta)
        return self.single.error(beta if each else beta / self.k, m=self.n)
