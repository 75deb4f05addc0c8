"""Queries that add noise to the value of a Lipschitz function, for one guarantee or for both at once."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from geoveil.mechanisms import Additive, Gaussian, Laplace, Mechanism
from geoveil.privacy import CGP, GP, Guarantee
from geoveil.queries.query import Query

__all__ = ["AdditiveQuery", "additive"]


def additive(guarantee: Guarantee, dimension: int, constant: float, method: str = "best") -> Additive:
    """The noise for a function with this constant into R^dimension: Gaussian for CGP, Laplace for GP.

    Notes
    -----
    Laplace noise in D dimensions at ε = √(2Dρ) is ρ-CGP and ε-GP at once; its root mean square error is √(1+1/D) of
    the Gaussian's. So `method="both"` takes it for either guarantee.
    """
    if isinstance(guarantee, CGP):
        if method != "both":
            return Gaussian(guarantee, dimension, constant)
        guarantee = GP.of_laplace(guarantee, dimension)
    assert isinstance(guarantee, GP)
    return Laplace(guarantee, dimension, constant)


@dataclass(frozen=True)
class AdditiveQuery(Query):
    """The value of a Lipschitz function, plus noise."""

    methods = ("best", "paper", "both")

    @property
    @abstractmethod
    def mechanism(self) -> Additive:
        """The noise on the value."""

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
