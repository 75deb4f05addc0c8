"""The total variation of the kernel, which bounds how fast counts in regions change.

Let κ_c(a) be the kernel of a place a in cell c, non-negative and with sum 1. If a moves in direction u, it changes at
the rates D_c = ∂_u κ_c(a), which add up to 0. Let V be the supremum of Σ_c |D_c| over places and directions.

*Theorem.* If region r covers a share R[r, c] ≤ 1 of cell c, and the shares of every cell add up to at most M, then the
counts κ_r(a) = Σ_c R[r, c]·κ_c(a) are Lipschitz with the constant V·√(M/2).

*Proof.* The positive rates add up to at most V/2, and so do the negative ones. As 0 ≤ R ≤ 1, |∂_u κ_r| ≤ V/2 for every
r. Also Σ_r |∂_u κ_r| ≤ Σ_r Σ_c R[r, c]·|D_c| ≤ M·V. So Σ_r |∂_u κ_r|² ≤ (V/2)·M·V. ∎

It is attained by two regions: the cells where D_c > 0, and the others, at the place and in the direction of V.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from geoveil.mechanisms.mechanism import Floats

__all__ = ["FISHER", "flow_variation", "variation"]

#: The numbers of directions between 0 and π/4, and of boxes along the side of a kernel, at which `variation` looks.
_SECTORS, _BOXES = 12, 48
#: An upper bound on the Fisher information Σ_i G_i'²/G_i of a kernel of one cell, which is 3.13682 at most.
FISHER = 3.1369


@cache
def variation(m: int) -> float:
    """Return an upper bound on V for a kernel of m cells, per cell that a place moves; within 0.5% of V.

    Notes
    -----
    In units of the kernel's side (p is β³ and its shifts; sums over the lattice have a factor 1/m for each axis).

    - *Directions.* Σ_c |∂_u κ_c| is a norm in u. A unit vector between two unit vectors that form an angle δ is
      a combination of them with non-negative coefficients whose sum is at most 1/cos(δ/2). So V is at most the
      largest value at directions δ apart, over cos(δ/2). By symmetry directions from 0 to π/4 suffice, and places
      in one half of a cell.
    - *Places.* Between centres of cells D_c is a polynomial. In a box of half-width h about a place, D_c differs from
      its linear part by at most h²/2·(|∂₁₁D_c| + 2|∂₁₂D_c| + |∂₂₂D_c|). The sums over cells are bounded by those of
      |p'| ≤ 3/2, |p''| ≤ 4 and |p'''| ≤ 8 (for m cells they are means of the same sums): 26·(|u₁| + |u₂|)·h²/2 in
      all. The sum of the absolute values of linear functions is convex, so it is largest in a corner of the box.
    - *Doubles.* Up to 2^16 non-negative numbers are added, each with a few roundings: the factor 1 + 2^-30 covers
      them.
    """
    count = max(1, math.ceil(_BOXES / (2 * m)))
    half = 1 / (4 * m * count)
    first = half * (2 * np.arange(count, dtype=float) + 1)
    second = half * (2 * np.arange(2 * count, dtype=float) + 1)
    step = math.pi / 4 / _SECTORS
    corners = [(-half, -half), (-half, half), (half, -half), (half, half)]
    x, y = _derivatives(first, m), _derivatives(second, m)
    largest = 0.0
    for sector in range(_SECTORS + 1):
        u1, u2 = math.cos(sector * step), math.sin(sector * step)
        beyond = 13 * (u1 + u2) * half**2
        for px, dpx, ddpx in zip(*x, strict=True):
            # Axes: the place's second coordinate, then the cells.
            values, slopes, bends = (each[:, None, :] for each in y)
            px, dpx, ddpx = (each[None, :, None] for each in (px, dpx, ddpx))
            at = u1 * dpx * values + u2 * px * slopes
            along = u1 * ddpx * values + u2 * dpx * slopes
            across = u1 * dpx * slopes + u2 * px * bends
            for h1, h2 in corners:
                sums = np.abs(at + h1 * along + h2 * across).sum(axis=(1, 2))
                largest = max(largest, float(sums.max()) + beyond)
    return largest / math.cos(step / 2) / m * (1 + 2.0**-30)


def _derivatives(t: Floats, m: int) -> tuple[Floats, Floats, Floats]:
    """Return p, p' and p'' at each t, as rows, for all cells that a place reaches; lengths are in kernels.

    The sum over the cells of a row is divided by m, the number of shifts of the lattice of kernels.
    """
    x = np.abs(t[:, None] - np.arange(-2 * m + 1, 2 * m + 1) / m)
    sign = np.sign(t[:, None] - np.arange(-2 * m + 1, 2 * m + 1) / m)
    near, rest = x < 1, np.maximum(2 - x, 0)
    value = np.where(near, 2 / 3 - x**2 + x**3 / 2, rest**3 / 6)
    slope = sign * np.where(near, 1.5 * x**2 - 2 * x, -(rest**2) / 2)
    bend = np.where(near, 3 * x - 2, rest)
    return value / m, slope / m, bend / m


def flow_variation(m: int) -> float:
    """Return an upper bound on Σ |∂(κ_c(a)·κ_d(b))| over pairs of cells, per cell that both ends of a trip move.

    Notes
    -----
    It is E|X + Y|, where X = D_c/κ_c has probability κ_c(a) and Y is the same for b, independent of X. So it is at
    most E|X| + E|Y| ≤ 2V. As X and Y have mean 0, it is also at most √(E X² + E Y²) ≤ √(2I), where I = sup Σ_i
    G_i'²/G_i is the Fisher information of the kernel: E X² = u₁²I(a₁) + u₂²I(a₂) ≤ I. For a kernel of m cells, m²·I
    is a mean of the sums for one cell, so I ≤ FISHER/m².
    """
    return min(2 * variation(m), math.sqrt(2 * FISHER) / m * (1 + 2.0**-50))
