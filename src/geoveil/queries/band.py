"""What noisy values of a support function in the plane say for certain, and how far a polygon can be from it.

A support function h in k evenly spread directions φ apart has edges: h_{j-1} - 2cos(φ)·h_j + h_{j+1} ≥ 0. So averages
of neighbours bound it, at every width, with far less noise than one value has:

- from above: h_j ≤ (h_{j-i} + h_{j+i})/(2cos iφ), and so every Σ c_i·h_{j+i} with c_i ≥ 0 even and Σ c_i·cos(iφ) = 1
  is at least h_j; c_i ∝ cos(iφ) has the least noise;
- from below: of the weights c_0..c_m on one side that give back every sinusoid, those with the least noise are
  a·cos(iφ) - b·sin(iφ), which change their sign once, from + to -. They lie below: h is on that side a sinusoid plus
  non-negative multiples of sin(φ_l - φ_i)^+, of which the weights make S_i. Where no weight after i is positive,
  S_i ≤ 0. Before, D_i = -S_i has D_0 = 0 and D_{i-1} - 2cos(φ)·D_i + D_{i+1} = -c_i·sin(φ) ≤ 0, and D ≥ 0 at both ends
  of that stretch, so between them as well (it is shorter than a half turn). The mean of both sides lies below, too.
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

#: In how many directions the polygon is looked at, at least.
_LOOKED = 2048


@cache
def averages(k: int) -> tuple[Floats, Floats]:
    """Weights on the values of k directions, one row each, that bound the first from above, and from below."""
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
    """1, 2, 4, ... up to `most`."""
    return [2**i for i in range(most.bit_length())]


def certain(y: Floats, reach: Callable[[Floats, int], float]) -> tuple[Floats, Floats]:
    """Bounds of the true values from above and from below.

    Parameters
    ----------
    y : array
        The noisy values.
    reach : callable
        Given the weights of an average and how many averages there are in all: what its noise is at most.
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
    """How far the hull of vertices can be from a convex body whose support function lies between the bounds.

    Returns None if no such body is found.

    Notes
    -----
    The body lies in the polygon O of the upper bounds: no point of it is farther from the hull of vertices than a
    vertex of O is. In each direction u_a it reaches the lower bound somewhere in the cap of O beyond it, so h(u) is at
    least the least ⟨z, u⟩ of the cap, for every a. Around O, ⟨z, u⟩ rises once and falls once: unless the cap has the
    lowest vertex of all, it is least at an end of the cap's chord. The excess over it of the hull of vertices is, for
    one a, a support function in u: between two directions 2η apart it is at most the larger of its values there over
    cos(η).
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
        cut = np.flatnonzero(crossing.any(axis=1))  # elsewhere the cap is all of O
        edge = crossing[cut].argmax(axis=1)
        there = height[cut, edge] / (height[cut, edge] - after[cut, edge])
        ends[end, cut] = outer[edge] + there[:, None] * (following[edge] - outer[edge])

    # For each arc between two directions, looked at in finer steps, the caps of directions near and far.
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
