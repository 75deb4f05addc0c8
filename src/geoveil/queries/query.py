"""What every query is: a frozen value, checked before any data is touched, that answers about one tuple."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from geoveil.errors import InvalidParameter
from geoveil.mechanisms import Mechanism
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Reals, Source
from geoveil.privacy import Guarantee

__all__ = ["Answer", "Kind", "Query", "Tuple"]

_WRITABLE = (str, int, float, np.ndarray, np.generic, type(None))

#: The points of a tuple, as rows in metres: real numbers, or doubles that are meant exactly.
Tuple: TypeAlias = Floats | Reals
#: What a query's value is, so that it can be given back in the form of the input.
Kind: TypeAlias = Literal["points", "positions", "position", "place", "length", "box", "body", "value"]


@dataclass(frozen=True)
class Query(ABC):
    """A question about a tuple of n points in R^dimension, with what it may cost.

    Parameters
    ----------
    n : int
        Points in the tuple; public.
    dimension : int
        d.
    guarantee : CGP or GP
        What the answer promises.
    method : str
        How it is answered.
    rounding : float
        How far a point that is asked about can be from the point that it stands for, in metres, where nobody knows it
        any better; public. The guarantee holds as if every point were twice as much farther from every other.
    """

    n: int
    dimension: int
    guarantee: Guarantee
    method: str = "best"
    rounding: float = field(kw_only=True, default=0.0)

    name: ClassVar[str]
    kind: ClassVar[Kind]
    methods: ClassVar[tuple[str, ...]] = ("best", "paper")

    def __post_init__(self) -> None:
        if self.method not in self.methods:
            raise InvalidParameter("method", self.method, " or ".join(map(repr, self.methods)), "Leave it out.")

    @property
    @abstractmethod
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """What it runs, as far as that is known before the data is seen."""

    @property
    def also(self) -> Guarantee | None:
        """A guarantee of the other notion that the answer carries besides."""
        return None

    @property
    def fn_error(self) -> float | None:
        """How far a function that geoveil does not know can be from what it stands for; 0 where there is none."""
        return 0.0

    @property
    def inexact(self) -> str:
        """Why the value that gets noise is not known to the last bit; empty if it is."""
        return ""

    @abstractmethod
    def ask(self, x: Tuple, source: Source) -> Answer:
        """Return the private answer about x, an (n, d) array in metres."""

    @abstractmethod
    def error(self, beta: float, *, each: bool = False) -> float:
        """Return what the error is at most with probability 1-β, in metres, if points are not rounded."""

    @property
    def displaced(self) -> float:
        """What rounded points add to the error, in metres.

        A place, the nearest points' distances and a hull move by at most as much as the points; the distances of two
        points from a place move apart by twice as much.
        """
        return 2 * self.rounding

    def restored(self, parts: dict[str, Any]) -> Answer:
        """The answer that has these parts."""
        return Answer(self.kept, parts["value"], self.mechanisms, parts["coords"])

    @property
    def kept(self) -> Query:
        """The query as a release keeps it."""
        return self

    @property
    def comparable(self) -> bool:
        """Whether `parameters` tell all of it: whatever cannot be written cannot be compared."""
        return all(isinstance(value, _WRITABLE) for value in self._told().values())

    def parameters(self) -> dict[str, Any]:
        """What was asked, but for the data and the budget: numbers, texts, places, and what else can be written."""
        return {
            # Minus zero is zero.
            name: np.add(value, 0.0).tolist() if isinstance(value, np.ndarray | np.generic) else value
            for name, value in self._told().items()
            if isinstance(value, _WRITABLE)
        }

    def _told(self) -> dict[str, Any]:
        untold = ("n", "guarantee", "rounding")
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in untold}


@dataclass(frozen=True)
class Answer:
    """A private answer. It never holds the input.

    Parameters
    ----------
    query : Query
        What was asked.
    value : object
        What is released.
    mechanisms : tuple of Mechanism
        What was run.
    coords : array, optional
        Released coordinates in metres, where there are any.
    """

    query: Query
    value: Any
    mechanisms: tuple[Mechanism, ...]
    coords: Floats | None = None

    #: Whether all answers to one query have the same error bound.
    same_error: ClassVar[bool] = True

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return what the error is at most with probability 1-β, in metres, if points are not rounded."""
        return self.query.error(beta, each=each)

    def parts(self) -> dict[str, Any]:
        """All that was released, from which the query can restore it."""
        return {"value": self.value, "coords": self.coords}
