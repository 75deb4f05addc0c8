"""Distances between tuples of points.

A tuple is n points in R^d, in metres. The three metrics combine the n Euclidean distances between corresponding
points: their maximum (`dist_inf`), the root of the sum of their squares (`dist_2`), and their sum (`dist_1`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geoveil.errors import InvalidData, InvalidParameter

__all__ = ["METRICS", "Metric", "as_metric", "dist_1", "dist_2", "dist_inf", "distances"]


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
    name : {"inf", "2", "1"}
        The value of `metric=` in the public functions.
    order : float
        Order of the norm that combines the n distances.

    Examples
    --------
    >>> import geoveil as gv
    >>> x, y = [[0, 0], [10, 0]], [[3, 4], [10, 1]]
    >>> gv.dist_inf(x, y), gv.dist_1(x, y), gv.dist_inf(x, x)
    (5.0, 6.0, 0.0)
    """

    name: str
    order: float

    def __call__(self, x: ArrayLike, y: ArrayLike) -> float:
        a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        if a.ndim != 2 or a.shape != b.shape:
            raise InvalidData(
                "y", b.shape, f"of shape (n, d) like x, which has {a.shape}", "Give two tuples of the same shape."
            )
        return float(np.linalg.norm(distances(a, b.T), self.order))

    def __repr__(self) -> str:
        return f"dist_{self.name}"

    def of_all(self, moved: float, n: int) -> float:
        """Return the distance between two tuples of n points if every point moves by `moved` metres.

        Examples
        --------
        >>> import geoveil as gv
        >>> gv.dist_inf.of_all(10.0, 100), gv.dist_2.of_all(10.0, 100), gv.dist_1.of_all(10.0, 100)
        (10.0, 100.0, 1000.0)
        """
        return moved if self.order == np.inf else float(moved * n ** (1 / self.order))

    def stretch_squared(self, other: Metric, n: int) -> int:
        """Return the square of the smallest c with dist_self ≤ c · dist_other on tuples of n points.

        Notes
        -----
        dist_inf ≤ dist_2 ≤ dist_1, dist_2 ≤ √n·dist_inf, dist_1 ≤ √n·dist_2, dist_1 ≤ n·dist_inf.

        Examples
        --------
        >>> import geoveil as gv
        >>> gv.dist_2.stretch_squared(gv.dist_inf, 100)
        100
        """
        steps = _RANK[self.name] - _RANK[other.name]
        return int(n ** max(steps, 0))


dist_inf = Metric("inf", np.inf)
dist_2 = Metric("2", 2)
dist_1 = Metric("1", 1)

METRICS = {metric.name: metric for metric in (dist_inf, dist_2, dist_1)}
#: Ranks from the smallest metric, whose guarantee is the strongest, to the largest.
_RANK = {"inf": 0, "2": 1, "1": 2}


def as_metric(metric: str | int | Metric) -> Metric:
    """Return the metric with this name."""
    if isinstance(metric, Metric):
        return metric
    name = str(metric).removeprefix("dist_")
    if name not in METRICS:
        raise InvalidParameter(
            "metric", metric, '"inf", "2" or "1"', 'If unsure, use "inf", whose guarantee is the strongest.'
        )
    return METRICS[name]
