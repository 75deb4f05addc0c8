"""A confidence band for a support function in the plane, and the error of a polygon that follows from it.

Let h be a support function in k evenly spread directions, an angle φ apart. Its edges satisfy h_{j-1} - 2cos(φ)·h_j +
h_{j+1} ≥ 0. So weighted averages of neighbouring values bound h_j, at every width, with far less noise than a single
value has:

- from above: h_j ≤ (h_{j-i} + h_{j+i})/(2cos iφ), so every Σ c_i·h_{j+i} with c_i ≥ 0 even and Σ c_i·cos(iφ) = 1 is at
  least h_j; c_i ∝ cos(iφ) has the least noise;
- from below: among the weights c_0..c_m on one side that reproduce every sinusoid, those with the least noise are
  a·cos(iφ) - b·sin(iφ), which change their sign once, from + to -. Their average lies below h_j: on that side h is a
  sinusoid plus non-negative multiples of the functions l ↦ sin(φ_l - φ_i)^+. Let S_i be the weighted average of the
  i-th. If no weight after i is positive, S_i ≤ 0. Before that, D_i = -S_i has D_0 = 0 and D_{i-1} - 2cos(φ)·D_i +
  D_{i+1} = -c_i·sin(φ) ≤ 0, and D ≥ 0 at both ends of that stretch, so between them as well (it is shorter than a half
  turn). The mean of the averages on the two sides lies below h_j, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from geoveil.mechanisms.mechanism import Floats
from geoveil.queries.convex import directions
from geoveil.queries.solid import around, nonempty

__all__ = ["averages", "between", "certain"]

#: The smallest number of directions in which the polygon is compared with the band.
_LOOKED = 2048


@cache
def averages(k: int) -> tuple[Floats, Floats]:
    """Return weights on the values in k directions, as rows, whose averages bound the first value.

    The first array bounds it from above, the second from below.
    """
    above: list[Floats] = []
    below: list[Floats] = []
    widths = sorted({0, *_doublings(k // 4), k // 4, 3 * k // 8})
    for width in widths:
        angle = 2 * np.pi / k * np.arange(-width, width + 1)
        if width <= k // 4:
            row = np.zeros(k)
            row[np.arange(-width, width + 1)] = np.cos(angle) / (np.cos(angle) ** 2).sum()
            above.append(row)
        sinusoids = np.column_stack([np.cos(angle), np.sin(angle)])[width:]
        side = np.zeros(k)
        side[: width + 1] = sinusoids @ np.linalg.pinv(sinusoids.T @ sinusoids)[:, 0]
        other = np.roll(side[::-1], 1)
        below += [side, other, (side + other) / 2] if width else [side]
    return np.array(above), np.array(below)


def _doublings(most: int) -> list[int]:
    """Return the powers of two, 1, 2, 4, ..., up to `most`."""
    return [2**i for i in range(most.bit_length())]


def certain(y: Floats, reach: Callable[[Floats, int], float]) -> tuple[Floats, Floats]:
    """Return upper and lower bounds on the true values of a support function.

    Parameters
    ----------
    y : array
        The noisy values.
    reach : callable
        Returns a bound on the noise of an average, given its weights and the number of averages that must all hold.
    """
    above, below = averages(len(y))
    count = len(y) * (len(above) + len(below))
    spectrum = np.fft.rfft(y)

    def averaged(weights: Floats) -> tuple[Floats, Floats]:
        noise = np.array([[reach(row, count)] for row in weights])
        return np.fft.irfft(spectrum * np.conj(np.fft.rfft(weights)), n=len(y)), noise

    upper, reached = averaged(above)
    lower, missed = averaged(below)
    return (upper + reached).min(axis=0), (lower - missed).max(axis=0)


def between(vertices: Floats, upper: Floats, lower: Floats) -> float | None:
    """Return a bound on the Hausdorff distance of a polygon from any convex body with a support function in the band.

    Return None if there seems to be no such body.

    Notes
    -----
    Call the body B and its support function h. B lies in the polygon O that the upper bounds define, so no point of B
    is farther from the hull of `vertices` than some vertex of O is. In each direction u_a, B reaches the lower bound,
    so it has a point in the cap of O beyond that bound; hence h(u) is at least the minimum of ⟨z, u⟩ over the cap, for
    every a. Around O, ⟨z, u⟩ rises once and falls once: unless the cap contains the lowest vertex of O, the minimum is
    at an end of the cap's chord. The excess of the support function of `vertices` over that minimum is, for fixed a, a
    support function in u: between two directions at an angle of 2η it is at most the larger of its values there,
    divided by cos(η).
    """
    import shapely

    k = len(upper)
    u = directions(k)
    middle = vertices.mean(axis=0)
    if (upper - u @ middle).min() <= 1e-6 * np.ptp(upper):  # not clearly inside
        _, middle, radius = nonempty(u, upper)
        if radius == 0:
            return None
    outer = around(middle, u, upper)
    if len(outer) < 3:
        return None
    outer = outer[np.argsort(np.arctan2(*(outer - middle).T[::-1]))]
    polygon = shapely.MultiPoint(vertices).convex_hull
    outside = float(shapely.distance(shapely.points(outer), polygon).max())

    height = u @ outer.T - lower[:, None]
    if (height.max(axis=1) < 0).any():
        return None
    after, following = np.roll(height, -1, axis=1), np.roll(outer, -1, axis=0)
    ends = np.full((2, k, 2), np.nan)
    for end, crossing in enumerate(((height < 0) & (after >= 0), (height >= 0) & (after < 0))):
        cut = np.flatnonzero(crossing.any(axis=1))  # for other directions the cap is all of O
        edge = crossing[cut].argmax(axis=1)
        there = height[cut, edge] / (height[cut, edge] - after[cut, edge])
        ends[end, cut] = outer[edge] + there[:, None] * (following[edge] - outer[edge])

    # For each arc between two directions, divided into finer steps, use the caps of directions near and far.
    steps = math.ceil(_LOOKED / k)
    fine = directions(steps * k).reshape(k, steps, 2)
    fine = np.concatenate([fine, np.roll(fine[:, :1], -1, axis=0)], axis=1)
    beside = _doublings(k // 4)
    caps = np.add.outer(np.arange(k), [0, *beside, *(1 - step for step in beside)]) % k
    depth = fine @ outer.T
    lowest = depth.argmin(axis=2)
    capped = height[caps[:, None, :], lowest[:, :, None]] >= 0
    least = np.where(
        capped,
        depth.min(axis=2)[:, :, None],
        np.minimum(*(np.einsum("afd,acd->afc", fine, side[caps]) for side in ends)),
    )
    excess = (fine @ vertices.T).max(axis=2)[:, :, None] - least
    inside = np.maximum(excess[:, :-1], excess[:, 1:]).min(axis=2).max() / np.cos(np.pi / (steps * k))
    return float(max(outside, inside) * (1 + 1e-9))
