"""Private answers, about one person or about many. They hold released values only, never the input."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, TypedDict

import numpy as np

from geoveil.mechanisms import Mechanism
from geoveil.mechanisms.mechanism import Floats
from geoveil.queries.persons import Index, Persons

if TYPE_CHECKING:
    from geoveil.queries.query import Query

__all__ = [
    "Answer",
    "Answers",
    "HalfSpaces",
    "Parts",
    "PartsOfMany",
    "PositionAnswers",
    "SeparateAnswers",
    "SharedAnswers",
    "Value",
    "answers_without_values",
]


class HalfSpaces(NamedTuple):
    """The convex body of all z with ⟨z, directions[j]⟩ ≤ offsets[j]; the body touches every half-space's boundary.

    Examples
    --------
    >>> box = gv.HalfSpaces(np.vstack([np.eye(2), -np.eye(2)]), np.array([300.0, 200.0, 0.0, 0.0]))
    >>> bool((box.directions @ [100.0, 100.0] <= box.offsets).all())
    True
    """

    directions: Floats
    offsets: Floats


#: A released value. The query's kind determines its type: an array of points, places or positions, a number, a
#: position or None, or a body (vertices or half-spaces). A type checker does not know the kind, so every type is
#: allowed.
Value: TypeAlias = Any


class Parts(TypedDict, total=False):
    """The released values from which an answer is rebuilt: the keys that its class of query needs."""

    value: Value
    coords: Floats | None
    center: Floats
    radius: float
    directions: Floats
    support: Floats


#: The parts of many persons' answers: rows of values, one set of arrays for all, or parts for each.
PartsOfMany: TypeAlias = Floats | Parts | list[Parts]


@dataclass(frozen=True)
class Answer:
    """A private answer about one person.

    Parameters
    ----------
    query : Query
        The query.
    value : object
        The released value; its type follows from the query's kind. None if `Answers` holds the values of many persons
        in one array.
    mechanisms : tuple of Mechanism
        The mechanisms that were run.
    coords : array, optional
        The released coordinates in metres, if there are any.
    """

    query: Query
    value: Value
    mechanisms: tuple[Mechanism, ...]
    coords: Floats | None = None

    #: Whether all answers to one query have the same error bound.
    same_error: ClassVar[bool] = True

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the error bound that holds with probability 1-β, in metres, for points that are not rounded."""
        return self.query.error(beta, each=each)

    def parts(self) -> Parts:
        """Return the released values from which `Query.restored` rebuilds the answer."""
        return {"value": self.value, "coords": self.coords}


class Answers(ABC):
    """The private answers about many persons.

    Attributes
    ----------
    persons : Persons
        The query of each person.
    values : object
        All released values. The query's kind decides their form: rows of points for "points"; a row for each person
        for "place", "box", "length" and "value"; rows of the input for "positions" (persons, k) and "position" (-1 for
        none); a list for "body".
    coords : array or None
        All released coordinates in metres, if there are any.
    """

    persons: Persons[Query]
    values: Value
    coords: Floats | None

    @property
    @abstractmethod
    def each(self) -> tuple[Answer, ...]:
        """The answer of each person. Persons may share an answer whose value is None; `values` holds theirs."""

    @abstractmethod
    def parts(self) -> PartsOfMany:
        """Return the released values from which `Query.restored_each` rebuilds the answers."""

    def renamed(self, rows: Index) -> Answers:
        """Return the answers with each released row i of the input replaced by rows[i]."""
        return self


def answers_without_values(persons: Persons[Query]) -> tuple[Answer, ...]:
    """Return the answer of each person without its value, which is held elsewhere; equal ones are shared."""
    shared = [Answer(query.kept, None, query.mechanisms) for query in persons.queries]
    return tuple([shared[i] for i in persons.which.tolist()])


@dataclass(frozen=True)
class SharedAnswers(Answers):
    """Answers whose values are one array. Persons with the same query share an `Answer` without a value.

    Parameters
    ----------
    persons : Persons
        The query of each person.
    values : array
        The released values, as rows.
    coords : array, optional
        The released coordinates.
    """

    persons: Persons[Query]
    values: Floats
    coords: Floats | None

    @cached_property
    def each(self) -> tuple[Answer, ...]:
        return answers_without_values(self.persons)

    def parts(self) -> Floats:
        return self.values


@dataclass(frozen=True)
class PositionAnswers(Answers):
    """Answers that are rows of the input.

    Parameters
    ----------
    persons : Persons
        The query of each person.
    values : array of int
        The rows: (persons, k), or one for each person, -1 for none.
    coords : array, optional
        The released coordinates, k rows for each person.
    """

    persons: Persons[Query]
    values: Index
    coords: Floats | None = None

    @cached_property
    def each(self) -> tuple[Answer, ...]:
        count = len(self.values)
        values = list(self.values) if self.values.ndim == 2 else [v if v >= 0 else None for v in self.values.tolist()]
        coords = [None] * count if self.coords is None else np.split(self.coords, count)
        mechanisms = [query.mechanisms for query in self.persons.queries]
        rows = zip(self.persons.each, values, self.persons.which.tolist(), coords, strict=True)
        return tuple([Answer(query, value, mechanisms[i], own) for query, value, i, own in rows])

    def parts(self) -> Parts:
        return {"value": self.values, "coords": self.coords}

    def renamed(self, rows: Index) -> Answers:
        return replace(self, values=np.where(self.values < 0, -1, rows[self.values]))


@dataclass(frozen=True)
class SeparateAnswers(Answers):
    """Answers that were drawn one by one, or that differ in their error bounds.

    Parameters
    ----------
    persons : Persons
        The query of each person.
    answers : tuple of Answer
        The answer of each person.
    """

    persons: Persons[Query]
    answers: tuple[Answer, ...]

    @property
    def each(self) -> tuple[Answer, ...]:
        return self.answers

    @property
    def values(self) -> list[Value]:
        """The released value of each person."""
        return [answer.value for answer in self.answers]

    @property
    def coords(self) -> Floats | None:  # type: ignore[override]
        """All released coordinates in metres, if there are any."""
        released = [answer.coords for answer in self.answers if answer.coords is not None]
        return np.concatenate(released) if released else None

    def parts(self) -> PartsOfMany:
        return [answer.parts() for answer in self.answers]

    def renamed(self, rows: Index) -> Answers:
        if self.persons.first.kind not in ("positions", "position"):
            return self
        named = [a if a.value is None else replace(a, value=rows[a.value]) for a in self.answers]
        return SeparateAnswers(self.persons, tuple(named))
