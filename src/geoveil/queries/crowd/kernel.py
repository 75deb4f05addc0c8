"""The kernel of crowd questions: cubic B-splines on the lattice, and the exact constants of maps and flows.

Lengths are in cells here: the side of a cell is 1. A kernel of side m has the factors G_i(t) = β³((t - i)/m)/m, where
t is a coordinate and i is the centre of a cell. They are non-negative and add up to 1.

Between two centres everything is a polynomial in q = t(1 - t), t the distance to the lower of them, 0 ≤ q ≤ 1/4:

    A(t) = Σ G_i'(t)²     = A₀ + A₂·q²             A₀ = (4m⁴ - 1)/(6m⁷)                         A₂ = 5/m⁷
    B(t) = Σ G_i(t)²      = B₀ - b₂·q² - b₃·q³     B₀ = (151/315 + 1/(135m⁴) + 5/(378m⁶))/m
    C(t) = Σ G_i(t)G_i'(t) = B'(t)/2               b₂ = (4m² + 5)/(18m⁷)                        b₃ = 5/(9m⁷)

`CONSTANTS.md` has the proofs. A test compares these formulas with sums of exact
polynomials for m = 1, ..., 20. That is a proof for every m, since the coefficients of m⁸·A and m⁸·B are polynomials in
m of degree at most 7.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from geoveil.mechanisms.mechanism import Floats
from geoveil.privacy import exact

__all__ = ["SquareSums", "flow_constant", "heat_constant", "spline_weights", "square_sums", "squared_norm"]


class SquareSums(NamedTuple):
    """The extreme values of A and B for a kernel of m cells: at the centre of a cell (0) and at its edge (1/2)."""

    slope_at_centre: Fraction
    slope_at_edge: Fraction
    value_at_centre: Fraction
    value_at_edge: Fraction


@cache
def square_sums(m: int) -> SquareSums:
    """Return A and B at the centre and at the edge of a cell; A is smallest and B is largest at the centre."""
    seventh = Fraction(1, m**7)
    a0 = Fraction(4 * m**4 - 1, 6) * seventh
    b0 = (Fraction(151, 315) + Fraction(1, 135 * m**4) + Fraction(5, 378 * m**6)) / m
    b2, b3 = Fraction(4 * m**2 + 5, 18) * seventh, Fraction(5, 9) * seventh
    return SquareSums(a0, a0 + 5 * seventh / 16, b0, b0 - b2 / 16 - b3 / 64)


def heat_constant(m: int) -> float:
    """Return the Lipschitz constant of a place's map, κ_ij(a) = G_i(a₁)·G_j(a₂), per cell, rounded up.

    Notes
    -----
    K² = A(½)·B(0), attained where a₁ is on an edge, a₂ is at a centre and the place moves along the first axis.

    *Proof.* In direction u the squared speed is D = u₁²A₁B₂ + 2u₁u₂C₁C₂ + u₂²B₁A₂, where A₁ = A(a₁) and so on. Since
    C² = q²(2b₂ + 3b₃q)²(1 - 4q)/4 and A(½) - A = A₂(1 - 4q)(1 + 4q)/16,
    C² ≤ γ·(A(½) - A), γ = (2b₂ + ¾b₃)²/(8A₂) ≤ B(0)/9. Let X² = K² - A₁B₂ ≥ B(0)·(A(½) - A₁), Y² = K² - B₁A₂
    likewise. Then |2u₁u₂C₁C₂| ≤ 2γ/B(0)·|u₁X||u₂Y| ≤ (γ/B(0))·(u₁²X² + u₂²Y²), hence
    K² - D ≥ (1 - γ/B(0))·(u₁²X² + u₂²Y²) ≥ 0. ∎
    """
    sums = square_sums(m)
    return exact.root_up(sums.slope_at_edge * sums.value_at_centre)


def flow_constant(m: int) -> float:
    """Return the Lipschitz constant of a trip's flow, κ(a) ⊗ κ(b), per cell that both ends move, rounded up.

    Notes
    -----
    K² = 2·A(½)·B(½)·B(0)², attained where both ends are where the map's constant is attained. The bound √2·K_map·B(0)
    is 4% larger for m = 1, since the kernel is steepest where its norm is smallest. The
    proof is in `CONSTANTS.md`.
    """
    sums = square_sums(m)
    return exact.root_up(2 * sums.slope_at_edge * sums.value_at_edge * sums.value_at_centre**2)


def squared_norm(m: int) -> Fraction:
    """Return the largest ‖κ(a)‖² = B(a₁)·B(a₂): that of a place at the centre of a cell."""
    return square_sums(m).value_at_centre ** 2


def spline_weights(t: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return β³(t + 1), β³(t), β³(1 - t) and β³(2 - t), for t from 0 to 1.

    Notes
    -----
    Write u for 2^-53. 1 - t has an error of at most u/2, so the four weights have errors of at most 1.0, 2.5, 2.9 and
    0.7 times u: 4.1u in the Euclidean norm, and 7.1u in total.
    """
    rest = 1.0 - t
    square, rest_square = t * t, rest * rest
    first = rest_square * rest
    first *= 1 / 6
    last = square * t
    last *= 1 / 6
    return first, 2 / 3 - square * (1.0 - 0.5 * t), 2 / 3 - rest_square * (1.0 - 0.5 * rest), np.asarray(last)
