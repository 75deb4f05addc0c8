"""Queries: frozen values that are checked when they are made, before any data is touched.

A query answers about one person's points (`ask`), or about those of many persons at once (`ask_each`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar, Literal, Self, TypeAlias

import numpy as np

from geoveil.errors import InvalidParameter, Message
from geoveil.mechanisms import Mechanism
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Reals, Source
from geoveil.privacy import Guarantee, SetDistance, dist_inf
from geoveil.queries.answer import Answer, Answers, Parts, PartsOfMany, SeparateAnswers
from geoveil.queries.persons import Index, Persons
from geoveil.queries.unit_sizes import UnitSizes

__all__ = ["JSON", "Kind", "Progress", "Query", "Tuple", "ask_each", "restored_each"]

#: The points of one person, or those of many persons one after another, as rows in metres: doubles, or real numbers.
Tuple: TypeAlias = Floats | Reals
#: Called with the share of persons that have been answered, from 0 to 1.
Progress: TypeAlias = Callable[[float], None]
#: The kind of a query's value. It decides the form in which the value is returned to the user.
Kind: TypeAlias = Literal[
    "points", "positions", "position", "place", "length", "box", "body", "value", "cells", "regions", "flows"
]
#: A query's parameter as JSON: arrays are lists of numbers.
JSON: TypeAlias = str | float | list["JSON"] | None

_WRITABLE = (str, int, float, np.ndarray, np.generic, type(None))


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
        The algorithm: "best", "paper", or "both" if the query offers it.
    rounding : float
        The largest distance in metres between a point as the query gets it and the point that it stands for; public.
        It is 0 unless points are rounded, by a projection or for a user's function. If they are, the guarantee holds
        as if every two points were 2·rounding farther apart.
    units : UnitSizes, optional
        The sizes of the units of the guarantee's metric, if they do not follow from the number of points.
    hides_count : bool
        Whether the guarantee must also hold between sets of different numbers of points. No constant then depends on
        their number, and the answer does not state it: its `n` is 0.
    """

    n: int
    dimension: int
    guarantee: Guarantee
    method: str = "best"
    rounding: float = field(kw_only=True, default=0.0)
    units: UnitSizes | None = field(kw_only=True, default=None)
    hides_count: bool = field(kw_only=True, default=False)

    name: ClassVar[str]
    kind: ClassVar[Kind]
    #: Whether the answers to the points in any order have the same law.
    of_set: ClassVar[bool] = False
    #: The distance between sets of any sizes under which a constant without n holds; None if there is none.
    sizeless: ClassVar[Literal["Hausdorff", "Wasserstein"] | None] = None
    methods: ClassVar[tuple[str, ...]] = ("best", "paper")

    def __post_init__(self) -> None:
        if self.method not in self.methods:
            raise InvalidParameter("method", self.method, " or ".join(map(repr, self.methods)), "Leave it out.")
        if self.guarantee.metric.of_unit and self.units is None:
            raise InvalidParameter("units", None, f"given under {self.guarantee.metric}", "They follow from times.")
        if self.hides_count:
            self._check_hides_count()

    def _check_hides_count(self) -> None:
        """Refuse to hide the number of points where the constant depends on it."""
        if self.sizeless is None:
            raise InvalidParameter("count", "hidden", "public for this question", "Its noise depends on the number.")
        metric = self.guarantee.metric
        if metric.persons and metric.stretch is None:
            if self.sizeless != "Hausdorff":
                # Persons with more points would weigh more, and how much is what is hidden.
                allowed = f"public for a {self.name.replace('_', ' ')} of many persons together"
                raise InvalidParameter("count", "hidden", allowed, Message("Leave {together} out."))
        elif metric != dist_inf:
            remedy = Message("Leave {protect} out: all points of a person are then hidden together.")
            raise InvalidParameter("count", "hidden", f"public under {metric}, which tells points apart", remedy)

    @property
    def sets(self) -> SetDistance | None:
        """The distance between sets of points under which the guarantee holds as well; None if order matters.

        Notes
        -----
        Let π be an order of points. If M(πx) and M(x) have one law and dist(πx, πx') = dist(x, x'), then
        D_α(M(x) ‖ M(x')) = D_α(M(x) ‖ M(πx')) ≤ αρ·dist(x, πx')² for every π, and so for the best matching of the
        points of x and x'. Under dist_inf that is the bottleneck distance. Units of time tell points apart.
        """
        metric = self.guarantee.metric
        if not self.of_set or metric.stretch is not None:
            return None
        if self.hides_count:
            return self.sizeless
        return "bottleneck" if metric == dist_inf or metric.persons else "matching"

    @property
    def largest(self) -> int:
        """The number of points in the largest unit: all of them under dist_inf, 1 under dist_1 and dist_2."""
        if self.units is not None:
            return self.units.largest
        return self.n if self.guarantee.metric == dist_inf else 1

    @property
    @abstractmethod
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanisms that the query runs, as far as they are known before the data is seen."""

    @property
    def also(self) -> Guarantee | None:
        """The guarantee of the other notion that the answer meets as well; None if there is none."""
        return None

    @property
    def fn_error(self) -> float | None:
        """The stated error of a user's function in metres; None if it was not stated, 0 if there is no function."""
        return 0.0

    @property
    def inexact(self) -> str:
        """The reason why the true value is not computed exactly; empty if it is."""
        return ""

    @property
    def public_points(self) -> Floats:
        """The public points in the question, as rows in metres: a place, or the vertices of a shape; here none."""
        return np.empty((0, self.dimension))

    @property
    def threshold(self) -> float:
        """The public length with which distances are compared, in metres; 0 if there is none."""
        return 0.0

    @property
    def sensitivity(self) -> float | None:
        """The largest change in a step of length 1, if the noise is proportional to it; otherwise None."""
        return None

    def sensitivity_ratio(self, other: Query) -> float | None:
        """Return the ratio of another query's sensitivity to this one's; None if it is not known."""
        if self.sensitivity is None or other.sensitivity is None:
            return None
        return other.sensitivity / self.sensitivity

    def cost_of_all(self) -> float | None:
        """Return the factor by which the noise would grow if all points were one unit; None if it is not known."""
        if self.sensitivity is None:
            return None
        whole = replace(self, guarantee=self.guarantee.under_unit(dist_inf), units=None)
        return self.sensitivity_ratio(whole)

    def budget_shares(self) -> Floats | None:
        """Return the share of the budget that releases each point; None if points are not released one by one."""
        return None

    def point_scales(self, sizes: Index | None) -> Floats | None:
        """Return the noise scale of each released point in metres; None if it is the same for all points of a person.

        `sizes` are the numbers of points in the largest units that hold the points.
        """
        return None

    @abstractmethod
    def ask(self, x: Tuple, source: Source) -> Answer:
        """Return the private answer about x, an (n, d) array in metres."""

    @classmethod
    def ask_each(cls, persons: Persons[Self], x: Tuple, source: Source, progress: Progress) -> Answers:
        """Return the private answers about many persons, all of whose queries are of this class.

        This method answers one by one; classes that can answer many persons at once override it.

        Parameters
        ----------
        persons : Persons
            The query of each person.
        x : array or Reals
            The points of all persons, one person after another.
        source : Source
            The source of randomness.
        progress : callable
            Called with the share of persons answered so far.
        """
        answers: list[Answer] = []
        for query, rows in zip(persons.each, persons.rows(), strict=True):
            answer = query.ask(x[rows], source)
            if query.kind in ("positions", "position") and answer.value is not None:
                answer = replace(answer, value=answer.value + rows.start)
            answers.append(answer)
            progress(len(answers) / len(persons))
        return SeparateAnswers(persons, tuple(answers))

    @classmethod
    def restored_each(cls, persons: Persons[Self], parts: PartsOfMany) -> Answers:
        """Return the answers whose `parts` were stored."""
        assert isinstance(parts, list)
        pairs = zip(persons.each, parts, strict=True)
        return SeparateAnswers(persons, tuple([query.restored(part) for query, part in pairs]))

    @abstractmethod
    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the error bound that holds with probability 1-β, in metres, for points that are not rounded."""

    @property
    def rounding_error(self) -> float:
        """The error that rounding the points adds to the error bound, in metres.

        Places, the distances of the nearest points and hulls move by at most as much as the points do. The difference
        of two points' distances from a place changes by at most twice as much.
        """
        return 2 * self.rounding

    def restored(self, parts: Parts) -> Answer:
        """Return the answer whose `parts` were stored."""
        return Answer(self.kept, parts["value"], self.mechanisms, parts["coords"])

    @property
    def kept(self) -> Self:
        """The query as a release keeps it: without a user's function, and without a hidden number of points."""
        if not self.hides_count:
            return self
        return replace(self, n=0, units=None if self.units is None else UnitSizes(0))

    @property
    def comparable(self) -> bool:
        """Whether `parameters` describes the query completely, so that two queries can be compared by it."""
        return all(isinstance(value, _WRITABLE) for value in self._described().values())

    def parameters(self) -> dict[str, JSON]:
        """Return the parameters that can be written as JSON, without the number of points and the budget."""
        return {
            # Adding zero turns minus zero into zero.
            name: np.add(value, 0.0).tolist() if isinstance(value, np.ndarray | np.generic) else value
            for name, value in self._described().items()
            if isinstance(value, _WRITABLE)
        }

    def _described(self) -> dict[str, object]:
        """Return the parameters by name, without numbers of points, the budget and the rounding."""
        left_out = ("n", "guarantee", "rounding", "units", "hides_count", "order")
        described = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in left_out}
        hidden = {"count": self.hides_count, "order": getattr(self, "order", "public") == "hidden"}
        return {**described, **{name: "hidden" for name, is_hidden in hidden.items() if is_hidden}}


def ask_each(persons: Persons[Query], x: Tuple, source: Source, progress: Progress) -> Answers:
    """Return the private answers about many persons; see `Query.ask_each`."""
    return _class_of(persons).ask_each(persons, x, source, progress)


def restored_each(persons: Persons[Query], parts: PartsOfMany) -> Answers:
    """Return the answers of many persons whose `parts` were stored."""
    return _class_of(persons).restored_each(persons, parts)


def _class_of(persons: Persons[Query]) -> type[Query]:
    """Return the class of all persons' queries; if there are several, `Query` itself, which answers one by one."""
    kinds = {type(query) for query in persons.queries}
    return kinds.pop() if len(kinds) == 1 else Query
