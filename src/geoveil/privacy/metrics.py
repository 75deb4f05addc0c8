"""Distances between tuples of points.

A tuple is n points in R^d, in metres. Three metrics combine the n Euclidean distances between corresponding points:
their maximum (`dist_inf`), the root of the sum of their squares (`dist_2`), and their sum (`dist_1`).

The others belong to a *unit*: a set of points that one secret may move together, such as any day of a person's
movements. A step of length Δ moves the points of one unit, each by at most Δ, and the distance of two tuples is the
length of the shortest chain of steps between them. If all points are one unit, this is dist_inf; if every point is a
unit of its own, it is dist_1. A function that changes by at most K·Δ in every single step is K-Lipschitz under the
unit's metric, by the triangle inequality along a shortest chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geoveil.errors import InvalidData, InvalidParameter, Message
from geoveil.privacy.durations import as_duration, duration_words, is_duration

__all__ = [
    "METRICS",
    "Metric",
    "SetDistance",
    "as_metric",
    "dist_1",
    "dist_2",
    "dist_inf",
    "distances",
    "protected_metric",
    "unit_distance",
    "unit_metric",
]

#: A distance between sets of points under which a guarantee holds as well, so that the order of a person's points, or
#: also their number, may be secret: the longest way in the best matching; the metric itself after the best matching;
#: the earth mover's; and between sets of any sizes Hausdorff's, and the Wasserstein distance of infinite order.
SetDistance: TypeAlias = Literal["bottleneck", "matching", "earth mover", "Hausdorff", "Wasserstein"]

#: The name of the metric whose units are all points of each person of a crowd.
_PERSON = "person"


def distances(x: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Euclidean distance of every row of x to p.

    The j-th entry of p, a number or one number per row, belongs to column j. Computing column by column is ten times
    as fast on tall arrays as row by row.
    """
    squares = np.zeros(len(x))
    for column, at in zip(x.T, p, strict=True):
        shift = column - at
        shift *= shift
        squares += shift
    return np.sqrt(squares, out=squares)


@dataclass(frozen=True, repr=False)
class Metric:
    """A metric between tuples of points; call it with two tuples of the same shape.

    Parameters
    ----------
    name : str
        "inf", "2" or "1", the values of `metric=` in the public functions; or the name of a unit, such as "1 day".
    order : float
        Order of the norm that combines the n distances. For a unit other than a point or the whole tuple it is that
        of dist_1, which is at least as large.
    stretch : int, optional
        The unit's length of time in microseconds: a unit is the points in any stretch of time of this length.
    persons : bool
        Whether a unit holds points of only one person, in questions about many persons together.

    Examples
    --------
    >>> x, y = [[0, 0], [10, 0]], [[3, 4], [10, 1]]
    >>> gv.dist_inf(x, y), gv.dist_1(x, y), gv.dist_inf(x, x)
    (5.0, 6.0, 0.0)
    >>> gv.CGP(rho=1e-4, metric="1 day").metric
    dist_[1 day]
    """

    name: str
    order: float
    stretch: int | None = None
    persons: bool = False

    def __call__(self, x: ArrayLike, y: ArrayLike) -> float:
        if self.of_unit:
            raise InvalidData("x", repr(self), "a metric that depends on the locations alone", "Use unit_distance.")
        return float(np.linalg.norm(_moved(x, y), self.order))

    def __repr__(self) -> str:
        return f"dist_[{self.name}]" if self.of_unit else f"dist_{self.name}"

    @property
    def of_unit(self) -> bool:
        """Whether it depends on the times or the persons of the points, not on the locations alone."""
        return self.persons or self.stretch is not None

    @property
    def of_one_person(self) -> Metric:
        """The metric between two versions of one person's points, all other persons' points being the same."""
        return dist_inf if self.stretch is None and self.persons else unit_metric(stretch=self.stretch, like=self)

    def is_at_most(self, other: Metric) -> bool:
        """Return whether no two tuples are farther apart under this metric than under the other.

        Then a guarantee under this metric is one under the other as well, with the same budget: it protects a larger
        unit.

        Examples
        --------
        >>> day, hour = (gv.CGP(rho=1, metric=unit).metric for unit in ("1 day", "1 hour"))
        >>> gv.dist_inf.is_at_most(day), day.is_at_most(hour), hour.is_at_most(gv.dist_1), hour.is_at_most(day)
        (True, True, True, False)
        """
        if self in (other, dist_inf) or other == dist_1:
            return True
        if not (self.of_unit and other.of_unit):
            return self == dist_2 and other == dist_1
        longer = self.stretch is None or (other.stretch is not None and self.stretch >= other.stretch)
        return longer and (other.persons or not self.persons)

    def of_all(self, moved: float, n: int) -> float:
        """Return the distance between two tuples of n points if every point moves by `moved` metres.

        Examples
        --------
        >>> gv.dist_inf.of_all(10.0, 100), gv.dist_2.of_all(10.0, 100), gv.dist_1.of_all(10.0, 100)
        (10.0, 100.0, 1000.0)
        """
        return moved if self.order == np.inf else float(moved * n ** (1 / self.order))

    def stretch_squared(self, other: Metric, n: int) -> int | None:
        """Return the square of the smallest c with dist_self ≤ c · dist_other on tuples of n points.

        None if it depends on how the points are spread over units.

        Notes
        -----
        dist_inf ≤ dist_2 ≤ dist_1, dist_2 ≤ √n·dist_inf, dist_1 ≤ √n·dist_2, dist_1 ≤ n·dist_inf.

        Examples
        --------
        >>> gv.dist_2.stretch_squared(gv.dist_inf, 100)
        100
        """
        if self.is_at_most(other):
            return 1
        if self.of_unit or other.of_unit:
            return None
        steps = _RANK[self.name] - _RANK[other.name]
        return int(n**steps)


dist_inf = Metric("inf", np.inf)
dist_2 = Metric("2", 2)
dist_1 = Metric("1", 1)

METRICS = {metric.name: metric for metric in (dist_inf, dist_2, dist_1)}
#: Ranks from the smallest metric, whose guarantee is the strongest, to the largest.
_RANK = {"inf": 0, "2": 1, "1": 2}


def unit_metric(*, stretch: int | None = None, persons: bool = False, like: Metric | None = None) -> Metric:
    """Return the metric of a unit.

    Parameters
    ----------
    stretch : int, optional
        The unit's length of time in microseconds.
    persons : bool
        Whether a unit holds points of only one person.
    like : Metric, optional
        The metric that is returned if neither limits the unit; dist_inf by default.
    """
    if stretch is None and not persons:
        return like or dist_inf
    parts = ([_PERSON] if persons else []) + ([] if stretch is None else [duration_words(stretch)])
    return Metric(", ".join(parts), 1, stretch, persons)


def protected_metric(protect: object, *, crowd: bool = False) -> Metric | None:
    """Return the metric of what is hidden together; None if the budget's own metric holds.

    Parameters
    ----------
    protect : str or timedelta, optional
        "point", or a length of time such as "1 day"; all points of a person if it is left out.
    crowd : bool
        Whether one answer is about many persons.

    Examples
    --------
    >>> protected_metric("1 day"), protected_metric("1 day", crowd=True), protected_metric(None, crowd=True)
    (dist_[1 day], dist_[person, 1 day], dist_[person])
    """
    if protect is None:
        return unit_metric(persons=True) if crowd else None
    if protect == "point":
        return dist_1
    if not isinstance(protect, str | timedelta) or not is_duration(protect):
        allowed = 'a length of time such as "1 day", or "point"'
        remedy = Message("Leave {protect} out to hide all points of a person together; {person} names the persons.")
        raise InvalidParameter("protect", protect, allowed, remedy)
    return unit_metric(stretch=as_duration("protect", protect), persons=crowd)


def as_metric(metric: str | int | Metric) -> Metric:
    """Return the metric with this name."""
    if isinstance(metric, Metric):
        return metric
    name = str(metric).removeprefix("dist_")
    if name in METRICS:
        return METRICS[name]
    parts = name.removeprefix("[").removesuffix("]").split(", ")
    persons = parts[0] == _PERSON
    rest = parts[persons:]
    if (persons or rest) and len(rest) <= 1 and all(map(is_duration, rest)):
        return unit_metric(stretch=as_duration("metric", rest[0]) if rest else None, persons=persons)
    raise InvalidParameter(
        "metric",
        metric,
        '"inf", "2" or "1", or the name of a unit such as "1 day"',
        'If unsure, use "inf", whose guarantee is the strongest.',
    )


def unit_distance(x: ArrayLike, y: ArrayLike, units: Sequence[Sequence[int]]) -> float:
    """Return the distance of two tuples under the metric of given units, which must hold every point.

    Notes
    -----
    Straight movements suffice: point i must be moved by |x_i - y_i| in all, so the shortest chain is the smallest sum
    of lengths, one for each unit, such that those of the units that hold point i add up to at least |x_i - y_i|.

    Examples
    --------
    >>> x, y = [[0, 0], [0, 0], [0, 0]], [[3, 0], [4, 0], [1, 0]]
    >>> unit_distance(x, y, [[0, 1, 2]]), unit_distance(x, y, [[0], [1], [2]]), unit_distance(x, y, [[0, 1], [1, 2]])
    (4.0, 8.0, 4.0)
    """
    from scipy.optimize import linprog

    moved = _moved(x, y)
    holds = np.zeros((len(moved), len(units)))
    for column, unit in enumerate(units):
        holds[list(unit), column] = 1
    return float(linprog(np.ones(len(units)), A_ub=-holds, b_ub=-moved).fun)


def _moved(x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Return the distances between corresponding points of two tuples."""
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if a.ndim != 2 or a.shape != b.shape:
        raise InvalidData(
            "y", b.shape, f"of shape (n, d) like x, which has {a.shape}", "Give two tuples of the same shape."
        )
    return distances(a, b.T)
