"""Queries and their answers, about one person's points or about those of many persons at once.

A query is a frozen value. Its parameters are checked before any data is touched.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidParameter
from geoveil.mechanisms import Mechanism
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Reals, Source
from geoveil.privacy import Guarantee

__all__ = [
    "Answer",
    "Answers",
    "Index",
    "Kind",
    "Persons",
    "PositionAnswers",
    "Progress",
    "Query",
    "SeparateAnswers",
    "SharedAnswers",
    "Tuple",
    "ask_each",
    "restored_each",
]

_WRITABLE = (str, int, float, np.ndarray, np.generic, type(None))

#: The points of one person, or those of many one after another, as rows in metres: real numbers, or doubles.
Tuple: TypeAlias = Floats | Reals
Index: TypeAlias = NDArray[np.int64]
#: Is told the share of persons that have been answered, from 0 to 1.
Progress: TypeAlias = Callable[[float], None]
#: The kind of a query's value. It decides the form in which the value is returned to the user.
Kind: TypeAlias = Literal["points", "positions", "position", "place", "length", "box", "body", "value"]

#: Rows of many persons that are looked at together: few enough for the processor's cache.
_ROWS = 2**16
#: Persons with more points than this are answered one by one: methods that look at few of their points pay off.
_ALONE = 2**11


@dataclass(frozen=True)
class Query(ABC):
    """A question about n points in R^dimension, with the guarantee that its answer must meet.

    Parameters
    ----------
    n : int
        The number of points; public.
    dimension : int
        The number of coordinates of a point.
    guarantee : CGP or GP
        The guarantee of the answer.
    method : str
        The algorithm: "best", "paper", or "both" where a query offers it.
    rounding : float
        The largest distance between a point as the query gets it and the point that it stands for, in metres; public.
        It is 0 unless a projection or a user's function rounds. The guarantee then holds as if every two points were
        2·rounding farther apart.
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
        """The mechanisms it runs, as far as they are known before the data is seen."""

    @property
    def also(self) -> Guarantee | None:
        """A second guarantee, of the other notion, that the answer meets; None if there is none."""
        return None

    @property
    def fn_error(self) -> float | None:
        """The stated error of a user's function in metres; 0 without one, None if it was not stated."""
        return 0.0

    @property
    def inexact(self) -> str:
        """The reason why the value that gets noise is not known exactly; empty if it is."""
        return ""

    @abstractmethod
    def ask(self, x: Tuple, source: Source) -> Answer:
        """Return the private answer about x, an (n, d) array in metres."""

    @classmethod
    def ask_each(cls, persons: Persons, x: Tuple, source: Source, progress: Progress) -> Answers:
        """Return the private answers about many persons, all of whose queries are of this class.

        Here they are answered one by one; queries that can answer many at once override this.

        Parameters
        ----------
        persons : Persons
            The query of each person.
        x : array or Reals
            The points of all persons, one person after another.
        source : Source
            The source of randomness.
        progress : callable
            Is told the share of persons answered so far.
        """
        answers = []
        for query, rows in zip(persons.each, persons.rows(), strict=True):
            answer = query.ask(x[rows], source)
            if query.kind in ("positions", "position") and answer.value is not None:
                answer = replace(answer, value=answer.value + rows.start)
            answers.append(answer)
            progress(len(answers) / len(persons))
        return SeparateAnswers(persons, tuple(answers))

    @classmethod
    def restored_each(cls, persons: Persons, parts: Any) -> Answers:
        """Return the answers whose `parts` were stored."""
        pairs = zip(persons.each, parts, strict=True)
        return SeparateAnswers(persons, tuple([query.restored(part) for query, part in pairs]))

    @abstractmethod
    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the error bound that holds with probability 1-β, in metres, for points that are not rounded."""

    @property
    def displaced(self) -> float:
        """The error that rounded points add, in metres.

        A place, the distances of the nearest points and a hull move by at most as much as the points; the difference
        of two points' distances from a place changes by at most twice as much.
        """
        return 2 * self.rounding

    def restored(self, parts: dict[str, Any]) -> Answer:
        """Return the answer whose `parts` were stored."""
        return Answer(self.kept, parts["value"], self.mechanisms, parts["coords"])

    @property
    def kept(self) -> Query:
        """The query as a release keeps it: without a user's function."""
        return self

    @property
    def comparable(self) -> bool:
        """Whether `parameters` describes the query completely, so that two queries can be compared by it."""
        return all(isinstance(value, _WRITABLE) for value in self._told().values())

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that can be written as JSON, without the data's size and the budget."""
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
    """A private answer about one person. It never holds the input.

    Parameters
    ----------
    query : Query
        The question.
    value : object
        The released value; None where `Answers` holds the values of many persons in one array.
    mechanisms : tuple of Mechanism
        The mechanisms that were run.
    coords : array, optional
        Released coordinates in metres, if there are any.
    """

    query: Query
    value: Any
    mechanisms: tuple[Mechanism, ...]
    coords: Floats | None = None

    #: Whether all answers to one query have the same error bound.
    same_error: ClassVar[bool] = True

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the error bound that holds with probability 1-β, in metres, for points that are not rounded."""
        return self.query.error(beta, each=each)

    def parts(self) -> dict[str, Any]:
        """Return the released values from which `Query.restored` rebuilds the answer."""
        return {"value": self.value, "coords": self.coords}


@dataclass(frozen=True)
class Persons:
    """The query of each of many persons. Persons with equally many points share one.

    Parameters
    ----------
    queries : sequence of Query
        One for each number of points that occurs.
    which : array of int
        The position in `queries` of each person's query.
    """

    queries: Sequence[Any]
    which: Index

    def __len__(self) -> int:
        return len(self.which)

    @property
    def first(self) -> Any:
        """The first person's query: all others differ from it by their number of points alone."""
        return self.queries[self.which[0]]

    @cached_property
    def each(self) -> list[Any]:
        """The query of each person."""
        return [self.queries[i] for i in self.which.tolist()]

    @cached_property
    def sizes(self) -> Index:
        """The number of points of each person."""
        return np.array([query.n for query in self.queries], dtype=np.int64)[self.which]

    @cached_property
    def stops(self) -> Index:
        """The row after the last one of each person."""
        return np.cumsum(self.sizes)

    def rows(self) -> list[slice]:
        """Return the rows of each person."""
        return [slice(a, b) for a, b in zip((self.stops - self.sizes).tolist(), self.stops.tolist(), strict=True)]

    def blocks(self, rows: int = _ROWS, *, alone: int = _ALONE) -> Iterator[tuple[slice, slice]]:
        """Iterate over slices of persons and of their rows.

        Parameters
        ----------
        rows : int
            The number of rows that a slice may have.
        alone : int
            Persons with more rows than this have a slice of their own.
        """
        large = np.append(np.flatnonzero(self.sizes > alone), len(self))
        person = row = 0
        while person < len(self):
            after = min(
                int(np.searchsorted(self.stops, row + rows, side="right")), int(large[np.searchsorted(large, person)])
            )
            after = max(after, person + 1)
            stop = int(self.stops[after - 1])
            yield slice(person, after), slice(row, stop)
            person, row = after, stop


class Answers(ABC):
    """The private answers about many persons. They never hold the input.

    Attributes
    ----------
    persons : Persons
        The query of each person.
    values : object
        All released values: rows of points for the kind "points"; a row for each person for "place", "box", "length"
        and "value"; rows of the input for "positions" (persons, k) and "position" (-1 for none); a list for "body".
    coords : array or None
        All released coordinates in metres, if there are any.
    """

    persons: Persons
    values: Any
    coords: Floats | None

    @property
    @abstractmethod
    def each(self) -> tuple[Answer, ...]:
        """The answer of each person; those without a value of their own may share one."""

    @abstractmethod
    def parts(self) -> Any:
        """Return the released values from which `Query.restored_each` rebuilds the answers."""

    def renamed(self, rows: Index) -> Answers:
        """Return the answers with row i of the input renamed rows[i], wherever rows are what is released."""
        return self


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
        Released coordinates.
    """

    persons: Persons
    values: Floats
    coords: Floats | None

    @cached_property
    def each(self) -> tuple[Answer, ...]:
        shared = [Answer(query.kept, None, query.mechanisms) for query in self.persons.queries]
        return tuple([shared[i] for i in self.persons.which.tolist()])

    def parts(self) -> Any:
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
        Released coordinates, k rows for each person.
    """

    persons: Persons
    values: Index
    coords: Floats | None = None

    @cached_property
    def each(self) -> tuple[Answer, ...]:
        values: Any = self.values
        if self.values.ndim == 1:
            values = [None if value < 0 else value for value in self.values.tolist()]
        places: Any = [None] * len(values) if self.coords is None else np.split(self.coords, len(values))
        mechanisms = [query.mechanisms for query in self.persons.queries]
        rows = zip(self.persons.each, values, self.persons.which.tolist(), places, strict=True)
        return tuple([Answer(query, value, mechanisms[i], coords) for query, value, i, coords in rows])

    def parts(self) -> Any:
        return {"value": self.values, "coords": self.coords}

    def renamed(self, rows: Index) -> Answers:
        return replace(self, values=np.where(self.values < 0, -1, rows[self.values]))


@dataclass(frozen=True)
class SeparateAnswers(Answers):
    """Answers that were drawn one by one, or that have an error bound each.

    Parameters
    ----------
    persons : Persons
        The query of each person.
    answers : tuple of Answer
        The answers.
    """

    persons: Persons
    answers: tuple[Answer, ...]

    @property
    def each(self) -> tuple[Answer, ...]:
        return self.answers

    @property
    def values(self) -> list[Any]:
        """The released values."""
        return [answer.value for answer in self.answers]

    @property
    def coords(self) -> Floats | None:  # type: ignore[override]
        """All released coordinates."""
        released = [answer.coords for answer in self.answers if answer.coords is not None]
        return np.concatenate(released) if released else None

    def parts(self) -> Any:
        return [answer.parts() for answer in self.answers]

    def renamed(self, rows: Index) -> Answers:
        if self.persons.first.kind not in ("positions", "position"):
            return self
        named = [a if a.value is None else replace(a, value=rows[a.value]) for a in self.answers]
        return SeparateAnswers(self.persons, tuple(named))


def ask_each(persons: Persons, x: Tuple, source: Source, progress: Progress) -> Answers:
    """Return the private answers about many persons; see `Query.ask_each`."""
    return _class_of(persons).ask_each(persons, x, source, progress)


def restored_each(persons: Persons, parts: Any) -> Answers:
    """Return the answers of many persons whose `parts` were stored."""
    return _class_of(persons).restored_each(persons, parts)


def _class_of(persons: Persons) -> type[Query]:
    """Return the class of all persons' queries; `Query` itself, which answers one by one, if they have several."""
    kinds = {type(query) for query in persons.queries}
    return kinds.pop() if len(kinds) == 1 else Query
