"""The identity query: release every point of the tuple."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from geoveil.errors import IncompatibleGuarantees
from geoveil.mechanisms import Additive, Copies, KNorm, Laplace, sample_people
from geoveil.noise import Source
from geoveil.privacy import CGP, GP, Guarantee, dist_1, dist_inf, exact
from geoveil.queries.additive import AdditiveQuery, additive
from geoveil.queries.query import Answer, Answers, Persons, Progress, SharedAnswers, Tuple

__all__ = ["Points", "identity"]


def identity(guarantee: Guarantee, count: int, dimension: int, method: str = "best") -> Additive:
    """The noise for `count` points of a tuple in R^dimension, all different.

    Notes
    -----
    The paper's:
    Under dist_inf each point gets a share ρ/n or ε/n (Theorems 4.6 and 4.8); n Gaussians of ρ/n are one Gaussian for
    the √n-Lipschitz identity. Under dist_2, and so under the larger dist_1, the identity is 1-Lipschitz into R^(nd)
    and nothing is split (Appendix H). The best under pure GP are the K-norm mechanisms: that of dist_inf does not
    split the budget, that of dist_1 gives every point the whole of it; that of dist_2 is the paper's.
    """
    under_inf = guarantee.metric == dist_inf
    constant = exact.root_up(count) if under_inf else 1.0
    if method == "both" or isinstance(guarantee, CGP):
        return additive(guarantee, count * dimension, constant, method)
    if not isinstance(guarantee, GP):
        raise IncompatibleGuarantees(f"{guarantee!r} is neither CGP nor GP.")
    if method == "best" and under_inf:
        return KNorm(guarantee, count, dimension)
    if method == "best" and guarantee.metric == dist_1:
        return Copies(Laplace(guarantee, dimension), count, apart=True)
    if under_inf:
        return Copies(Laplace(guarantee / count, dimension), count)
    return Laplace(guarantee, count * dimension)


@dataclass(frozen=True)
class Points(AdditiveQuery):
    """Every point of the tuple, with noise."""

    name = "points"
    kind = "points"

    @cached_property
    def mechanism(self) -> Additive:
        """The noise on the whole tuple."""
        return identity(self.guarantee, self.n, self.dimension, self.method)

    def ask(self, x: Tuple, source: Source) -> Answer:
        released = self.mechanism.sample(x, source)
        return Answer(self, released, self.mechanisms, coords=released)

    @classmethod
    def ask_each(cls, persons: Persons, x: Tuple, source: Source, progress: Progress) -> Answers:
        released = sample_people([query.mechanism for query in persons.each], persons.sizes, x, source)
        return SharedAnswers(persons, released, released)

    @classmethod
    def restored_each(cls, persons: Persons, parts: Any) -> Answers:
        return SharedAnswers(persons, parts, parts)

    def error(self, beta: float, *, each: bool = False) -> float:
        """The exact 1-β quantile of the largest error over the tuple, or of any one point's."""
        return self.mechanism.error(beta, blocks=self.n, each=each)
