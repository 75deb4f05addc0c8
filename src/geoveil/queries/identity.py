"""The identity query: release every point of the tuple."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from geoveil.errors import IncompatibleGuarantees
from geoveil.mechanisms import Additive, Copies, KNorm, Laplace, sample_people
from geoveil.noise import Source
from geoveil.privacy import CGP, GP, Guarantee, dist_1, dist_inf, exact
from geoveil.queries.additive import AdditiveQuery, additive
from geoveil.queries.answer import Answer, Answers, PartsOfMany, SharedAnswers
from geoveil.queries.persons import Persons
from geoveil.queries.query import Progress, Tuple

__all__ = ["Points", "identity"]


def identity(guarantee: Guarantee, count: int, dimension: int, method: str = "best") -> Additive:
    """Return the mechanism that releases `count` different points of a tuple in R^dimension.

    Notes
    -----
    The paper's method: under dist_inf each of n points gets a share ρ/n or ε/n of the budget (Theorems 4.6 and 4.8); n
    Gaussians of ρ/n are one Gaussian for the √n-Lipschitz identity. Under dist_2, and so under the larger dist_1, the
    identity is 1-Lipschitz into R^(nd) and the budget is not split (Appendix H).

    The best methods under pure GP are the K-norm mechanisms. The one of dist_inf does not split the budget; the one of
    dist_1 gives every point the whole budget; the one of dist_2 is the paper's method.
    """
    under_inf = guarantee.metric == dist_inf
    constant = exact.root_up(count) if under_inf else 1.0
    if method == "both" or isinstance(guarantee, CGP):
        return additive(guarantee, count * dimension, constant, method)
    if not isinstance(guarantee, GP):
        raise IncompatibleGuarantees(f"{guarantee!r} is neither CGP nor GP; give one of them.")
    if method == "best" and under_inf:
        return KNorm(guarantee, count, dimension)
    if method == "best" and guarantee.metric == dist_1:
        return Copies(Laplace(guarantee, dimension), count, apart=True)
    if under_inf:
        return Copies(Laplace(guarantee / count, dimension), count)
    return Laplace(guarantee, count * dimension)


@dataclass(frozen=True)
class Points(AdditiveQuery):
    """Release every point of the tuple with noise."""

    name = "points"
    kind = "points"

    @cached_property
    def mechanism(self) -> Additive:
        """The mechanism that adds noise to the whole tuple."""
        return identity(self.guarantee, self.n, self.dimension, self.method)

    def ask(self, x: Tuple, source: Source) -> Answer:
        released = self.mechanism.sample(x, source)
        return Answer(self, released, self.mechanisms, coords=released)

    @classmethod
    def ask_each(cls, persons: Persons[Self], x: Tuple, source: Source, progress: Progress) -> Answers:
        released = sample_people([query.mechanism for query in persons.each], persons.sizes, x, source)
        return SharedAnswers(persons, released, released)

    @classmethod
    def restored_each(cls, persons: Persons[Self], parts: PartsOfMany) -> Answers:
        assert isinstance(parts, np.ndarray)
        return SharedAnswers(persons, parts, parts)

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the exact 1-β quantile of the largest error of a point, or with `each` of one point's error."""
        return self.mechanism.error(beta, blocks=self.n, each=each)
