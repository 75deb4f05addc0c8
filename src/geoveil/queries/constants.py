"""Lipschitz constants of the summaries, under each metric.

Each summary is piecewise linear or the norm of a linear map, so its constant is the largest norm of its derivative.
Write v_i for the velocity of point i. The minimum, maximum or median of a coordinate is the coordinate of one point
(or the mean of two) almost everywhere, and each point contributes at most ‖v_i‖² to a sum over coordinates. Hence the
minima with n under dist_inf; the paper's √d and √(2d) are larger than these only for very small n.

The docstring of each function gives the derivative of one summary; the function returns the squared constants.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from geoveil.privacy import Metric, exact

__all__ = ["lipschitz"]

#: The squares of the constants under dist_inf, dist_2 and dist_1; they are rational, so they are exact.
Squares: TypeAlias = tuple[Fraction | int, Fraction | int, Fraction | int]


def _mean(n: int, d: int) -> Squares:
    """Σv_i/n."""
    return 1, Fraction(1, n), Fraction(1, n**2)


def _center(n: int, d: int) -> Squares:
    """(v_i + v_j)/2 in each coordinate, i ≠ j: by (a+b)²/4 ≤ (a²+b²)/2 the square is at most min(d, n/2)."""
    if n == 1:
        return 1, 1, 1
    return min(Fraction(d), Fraction(n, 2)), Fraction(1, 2), Fraction(1, 4)


def _median(n: int, d: int) -> Squares:
    """v_i in each coordinate for odd n; (v_i + v_j)/2 for even n. Sorting a coordinate is a contraction."""
    return (min(d, n), 1, 1) if n % 2 else _center(n, d)


def _bounds(n: int, d: int) -> Squares:
    """2d numbers, each a coordinate of some v_i; one point is minimum and maximum of a coordinate only if n = 1."""
    return (2, 2, 2) if n == 1 else (min(2 * d, n), 1, 1)


def _radius(n: int, d: int) -> Squares:
    """Σλ_i⟨u_i, v_i⟩ with unit vectors u_i, λ ≥ 0, Σλ_i = 1 and Σλ_i·u_i = 0, so that λ_i ≤ 1/2."""
    return 1, Fraction(1, 2), Fraction(1, 4)


def _radius_of_gyration(n: int, d: int) -> Squares:
    """‖(I - J)v‖/√n, J the projection on the mean: 1/√n under dist_2; one moving point alone under dist_1."""
    return 1, Fraction(1, n), Fraction(max(n - 1, 1), n**2)


def _diameter(n: int, d: int) -> Squares:
    """⟨u, v_i - v_j⟩ for a unit vector u."""
    return 4, 2, 1


def _distance(n: int, d: int) -> Squares:
    """⟨u, v_i⟩ for a unit vector u."""
    return 1, 1, 1


_SQUARES: dict[str, Callable[[int, int], Squares]] = {
    "bounds": _bounds,
    "center": _center,
    "diameter": _diameter,
    "distance": _distance,
    "mean": _mean,
    "median": _median,
    "radius": _radius,
    "radius_of_gyration": _radius_of_gyration,
}


def lipschitz(name: str, *, n: int, d: int, metric: Metric) -> float:
    """Return the Lipschitz constant of a summary of n points in R^d, rounded up."""
    return exact.root_up(_SQUARES[name](n, d)[("inf", "2", "1").index(metric.name)])
