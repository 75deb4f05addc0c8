"""Find whether, and where, a tuple first comes close to a public place."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np

from geoveil import checks
from geoveil.mechanisms import Mechanism, SparseVector
from geoveil.mechanisms.mechanism import Floats
from geoveil.mechanisms.walks import NEVER
from geoveil.noise import Source
from geoveil.privacy import CGP, GP
from geoveil.queries.answer import Answer, Answers, PartsOfMany, PositionAnswers
from geoveil.queries.evaluation import away
from geoveil.queries.persons import Persons
from geoveil.queries.query import Progress, Query, Tuple

__all__ = ["FirstWithin"]


@dataclass(frozen=True)
class FirstWithin(Query):
    """Find the position of the first point within a radius of p, or None.

    Parameters
    ----------
    p : array
        The public place.
    radius : float
        The radius in metres.

    Notes
    -----
    The sparse vector technique with a public threshold (the paper's Algorithm 1): one pass that halts at most once.
    """

    p: Floats = field(kw_only=True)
    radius: float = field(kw_only=True)

    name = "first_within"
    kind = "position"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "p", checks.place("p", self.p, self.dimension))
        checks.positive("radius", self.radius)

    @cached_property
    def mechanism(self) -> SparseVector:
        """The sparse vector technique over the distances to p."""
        assert isinstance(self.guarantee, (CGP, GP))
        return SparseVector(self.guarantee)

    @property
    def sensitivity(self) -> float:
        return 1.0

    @property
    def public_points(self) -> Floats:
        return self.p[None]

    @property
    def threshold(self) -> float:
        return float(self.radius)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        return (self.mechanism,)

    def ask(self, x: Tuple, source: Source) -> Answer:
        position = self.mechanism.sample(away(x, self.p), self.radius, source)
        return Answer(self, position, self.mechanisms)

    @classmethod
    def ask_each(cls, persons: Persons[Self], x: Tuple, source: Source, progress: Progress) -> Answers:
        query = persons.first
        first = np.empty(len(persons), dtype=np.int64)
        for people, rows in persons.blocks():
            distances, sizes = away(x[rows], query.p), persons.sizes[people]
            if len(sizes) == 1:
                position = query.mechanism.sample(distances, query.radius, source)
                first[people] = NEVER if position is None else position
            else:
                first[people] = query.mechanism.sample_each(distances, sizes, query.radius, source)
            progress(people.stop / len(persons))
        starts = persons.stops - persons.sizes
        return PositionAnswers(persons, np.where(first == NEVER, -1, starts + first))

    @classmethod
    def restored_each(cls, persons: Persons[Self], parts: PartsOfMany) -> Answers:
        assert isinstance(parts, dict)
        return PositionAnswers(persons, parts["value"])

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the bound e: the point found is within radius + e of p, and no earlier one is within radius - e."""
        return self.mechanism.error(beta, visits=self.n)
