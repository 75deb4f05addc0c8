"""Queries that add noise to the value of a Lipschitz function, under CGP, GP, or both at once."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from geoveil.mechanisms import Additive, Gaussian, Laplace, Mechanism
from geoveil.privacy import CGP, GP, Guarantee
from geoveil.queries.query import Query

__all__ = ["AdditiveQuery", "additive"]


def additive(guarantee: Guarantee, dimension: int, constant: float, method: str = "best") -> Additive:
    """Return the mechanism for a function into R^dimension with this Lipschitz constant.

    It is Gaussian for CGP and Laplace for GP.

    Notes
    -----
    Laplace noise in D dimensions with ε = √(2Dρ) is ρ-CGP and ε-GP at once; its root mean square error is √(1+1/D)
    times that of Gaussian noise. So `method="both"` uses it for either guarantee.
    """
    if isinstance(guarantee, CGP):
        if method != "both":
            return Gaussian(guarantee, dimension, constant)
        guarantee = GP.of_laplace(guarantee, dimension)
    assert isinstance(guarantee, GP)
    return Laplace(guarantee, dimension, constant)


@dataclass(frozen=True)
class AdditiveQuery(Query):
    """A query that releases the value of a Lipschitz function plus noise."""

    methods = ("best", "paper", "both")

    @property
    @abstractmethod
    def mechanism(self) -> Additive:
        """The mechanism that adds the noise."""

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        return (self.mechanism,)

    @property
    def also(self) -> Guarantee | None:
        if self.method != "both":
            return None
        promised = self.mechanism.guarantee
        assert isinstance(promised, GP)
        return promised if isinstance(self.guarantee, CGP) else promised.as_cgp(dimension=self.mechanism.dimension)
