"""Lipschitz constants of the summaries and of the support function, under each metric.

Each summary is piecewise linear or the norm of a linear map, so its constant is the largest norm of its derivative.
Write v_i for the velocity of point i. The minimum, maximum or median of a coordinate is the coordinate of one point
(or the mean of two) almost everywhere, and each point contributes at most ‖v_i‖² to a sum over coordinates.

Under the metric of a unit it is enough to look at one step, in which the m points of one unit move with |v_i| ≤ 1 and
all others stand still. With m = n this is dist_inf, with m = 1 dist_1. Constants grow with m, so m is the size of the
largest unit. The docstring of each function gives the derivative of one summary; the function returns the squared
constants for one step, and under dist_2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from geoveil.privacy import Metric, dist_2, exact

__all__ = ["lipschitz", "sizeless", "support_squared"]

#: The squares of the constants for a step that moves m points, and under dist_2; they are rational, so they are exact.
Squares: TypeAlias = tuple[Fraction | int, Fraction | int]


def _mean(n: int, d: int, m: int) -> Squares:
    """Σv_i/n."""
    return Fraction(m, n) ** 2, Fraction(1, n)


def _center(n: int, d: int, m: int) -> Squares:
    """(v_i + v_j)/2 in each coordinate, i ≠ j.

    By (a+b)²/4 ≤ (a²+b²)/2 the square is at most min(d, m/2). If only one point moves, the other one of the two stands
    still, and the square is 1/4.
    """
    if n == 1:
        return 1, 1
    return Fraction(1, 4) if m == 1 else min(Fraction(d), Fraction(m, 2)), Fraction(1, 2)


def _median(n: int, d: int, m: int) -> Squares:
    """v_i in each coordinate for odd n; (v_i + v_j)/2 for even n. Sorting a coordinate is a contraction."""
    return (min(d, m), 1) if n % 2 else _center(n, d, m)


def _bounds(n: int, d: int, m: int) -> Squares:
    """2d numbers, each a coordinate of some v_i; one point is minimum and maximum of a coordinate only if n = 1."""
    return (2, 2) if n == 1 else (min(2 * d, m), 1)


def _radius(n: int, d: int, m: int) -> Squares:
    """Σλ_i⟨u_i, v_i⟩ with unit vectors u_i, λ ≥ 0, Σλ_i = 1 and Σλ_i·u_i = 0, so that λ_i ≤ 1/2."""
    if n == 1:
        return 1, 1
    return Fraction(1, 4) if m == 1 else 1, Fraction(1, 2)


def _radius_of_gyration(n: int, d: int, m: int) -> Squares:
    """‖(I - J)v‖/√n, J the projection on the mean, which m ≥ 2 velocities that add up to 0 do not notice."""
    return Fraction(max(n - 1, 1), n**2) if m == 1 else Fraction(m, n), Fraction(1, n)


def _diameter(n: int, d: int, m: int) -> Squares:
    """⟨u, v_i - v_j⟩ for a unit vector u."""
    if n == 1:
        return 1, 1
    return 1 if m == 1 else 4, 2


def _distance(n: int, d: int, m: int) -> Squares:
    """⟨u, v_i⟩ for a unit vector u."""
    return 1, 1


_SQUARES: dict[str, Callable[[int, int, int], Squares]] = {
    "bounds": _bounds,
    "center": _center,
    "diameter": _diameter,
    "distance": _distance,
    "mean": _mean,
    "median": _median,
    "radius": _radius,
    "radius_of_gyration": _radius_of_gyration,
}


def _sizeless(d: int) -> dict[str, int]:
    """Return the squares of constants that hold between sets of any sizes.

    Under the Hausdorff distance: the ends of each coordinate move by at most that distance, so their middle does, too;
    a ball around one set, enlarged by the distance, contains the other; the ends of a diameter each have a point of
    the other set within the distance; and so has the point nearest to a place.

    Under W_inf, the least that the points of one set, each repeated equally often, must move to become those of the
    other, repeated to the same number: no mean, quantile or root mean square notices the repetition, and each changes
    by no more than the movement, a quantile in each coordinate.
    """
    hausdorff = {"bounds": 2 * d, "center": d, "diameter": 4, "distance": 1, "radius": 1}
    return hausdorff | {"mean": 1, "median": d, "radius_of_gyration": 1}


def sizeless(name: str, d: int) -> float:
    """Return the Lipschitz constant of a summary between sets of any numbers of points in R^d, rounded up."""
    return exact.root_up(_sizeless(d)[name])


def lipschitz(name: str, *, n: int, d: int, metric: Metric, largest: int) -> float:
    """Return the Lipschitz constant of a summary of n points in R^d, rounded up.

    Parameters
    ----------
    name : str
        The summary.
    n, d : int
        The number of points, and of their coordinates.
    metric : Metric
        The metric.
    largest : int
        The number of points in the metric's largest unit; dist_2 has no units.
    """
    return exact.root_up(_SQUARES[name](n, d, largest)[metric == dist_2])


def support_squared(k: int, n: int, largest: int, dimension: int = 2) -> Fraction:
    """Return the square of the Lipschitz constant of k values of the support function of n points.

    `largest` is the number of points in the metric's largest unit; under dist_2 the constant is that of one point.

    Notes
    -----
    The directions u_j are doubles: exactly opposite pairs, none longer than 1. Let points move along a line with
    velocities v_i. At almost every moment value j moves by ⟨v_i, u_j⟩, where i is any point that supports u_j (attains
    the maximum): if two points do so for a while, ⟨v_i, u_j⟩ is the same for both. So each u_j may be assigned to one
    of the points, and the square of the speed is Σ_i v_iᵀ·S_i·v_i, where S_i is the sum of uuᵀ over the directions
    assigned to point i.

    - units: every ⟨v, u_j⟩ is at most |v|, so the square is at most k.
    - n = 1: S_1 is the sum M over all directions, k/d times the identity up to rounding.
    - dist_2, and units of one point, n ≥ 2: if a point supports both u and -u, all points lie on one hyperplane
      orthogonal to u, so -u can be assigned to another point. Since -u has the same uuᵀ as u, S_i is at most M/2, and
      the square of the speed is at most k/(2d)·Σ|v_i|². This holds because pairs are *exactly* opposite: if a pair
      were opposite only up to rounding, a point could support both directions while it moves by nanometres, and S_i
      would reach M.
    - units of 2 ≤ w < k points in the plane: each point is assigned an arc of m_i directions, none longer than a half
      turn (half-open normal cones), whose S_i has the largest eigenvalue ½(m_i + sin(m_i·φ)/sin φ), φ = 2π/k. It grows
      with m_i, and the sine is concave there, so the sum over the points of a unit is largest if it has all
      directions, in equal arcs: ½(k + w·sin(2π/w)/sin φ). This grows with w.

    Rounding: a coordinate is off by at most (2d + 20)·2^-53, so M differs from (k/d)·I by less than
    k·2√d·(2d + 20)·2^-53, relatively by less than 2^-40 for every d in which directions are not the axes (d ≤ 7; on
    axes M is at most 2·I). The same holds for arcs, and for the sines.
    """
    rounding = 1 + Fraction(1, 2**40)
    if n == 1:
        return Fraction(k, dimension) * rounding
    if largest == 1:
        return Fraction(k, 2 * dimension) * rounding
    if dimension == 2 and largest < k:
        arcs = (k + largest * math.sin(2 * math.pi / largest) / math.sin(2 * math.pi / k)) / 2
        return min(Fraction(k), Fraction(arcs) * rounding)
    return Fraction(k)
