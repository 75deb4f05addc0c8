"""Walks of the sparse vector technique past the values of many persons at once."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats
from geoveil.mechanisms.segments import Sizes, similar_sizes, starts_of
from geoveil.mechanisms.walks import FAR, NEVER, Walk
from geoveil.noise import Reals, Source

__all__ = ["halt_each"]


def halt_each(
    values: Reals, sizes: Sizes, thresholds: Reals, scale: float, source: Source, *, cyclic: bool
) -> NDArray[np.int64]:
    """Return the position at which each person's walk halts, counted within the person's values; -1 if it never does.

    As for one person in `Walk`, a walk halts where the cumulated hazard exceeds an exponential variable. Walks that
    doubles cannot decide are repeated in balls, one by one, with the same variables.

    Parameters
    ----------
    values : Reals
        The values to visit, one for each row. Infinite values are never halted at.
    sizes : array of int
        The number of adjacent rows of each person.
    thresholds : Reals
        The noisy threshold of each person.
    scale : float
        The scale of a visit's noise.
    source : Source
        The source of randomness.
    cyclic : bool
        Whether a person's values are repeated until the walk halts.
    """
    places, far = np.empty(len(sizes), dtype=np.int64), np.zeros(len(sizes), dtype=bool)
    first, starts = source.exponential(len(sizes)), starts_of(sizes)
    moved = (np.broadcast_to(thresholds.error, sizes.shape) + float(np.max(values.error))) / scale
    relative = source.widened * (2 * moved + 2.0**-38 + 2.0**-50 * sizes) if source.exact else np.zeros(len(sizes))
    # The linear bound on a hazard's change, twice itself per scale, holds for small movements only.
    unknown = source.exact & ~(moved <= 0.25)
    for persons, rows, own in similar_sizes(sizes):
        visited = np.where(own, values.values[rows], np.inf)
        hazards, far[persons] = _hazards(visited, thresholds.values[persons], scale, cyclic=cyclic)
        cumulated = np.cumsum(hazards, axis=1)
        whole, loose = cumulated[:, -1], relative[persons]
        target = first.values[persons]
        doubt = loose * whole + source.widened * first.error if source.exact else loose
        halted, certain = _position(cumulated, target, doubt)
        over = target >= whole
        halted[over] = NEVER
        certain &= np.abs(target - whole) >= doubt
        certain |= far[persons]
        again = np.flatnonzero((over | far[persons]) & certain) if cyclic else np.empty(0, dtype=np.int64)
        shares: dict[int, Reals] = {}
        if len(again):
            # A walk that survives a pass starts afresh: its variable is truncated to the total hazard of a pass.
            share = source.uniform(len(again))
            shares = {int(i): share[at : at + 1] for at, i in enumerate(again)}
            near = far[persons[again]]
            whole, loose = whole[again], loose[again]
            target = np.where(near, share.values * whole, -np.log1p(share.values * np.expm1(-whole)))
            # If a pass is rarely survived, the truncated variable depends on the last bits of the uniform one.
            doubt = loose * np.where(near, 2 * whole, whole + np.expm1(np.minimum(whole, 700.0)))
            target = np.clip(target, 0.0, np.nextafter(whole, 0.0))
            halted[again], certain[again] = _position(cumulated[again], target, doubt)
        certain &= ~unknown[persons]
        places[persons] = halted
        for i in np.flatnonzero(~certain).tolist():
            person = int(persons[i])
            mine = slice(int(starts[person]), int(starts[person] + sizes[person]))
            drawn = shares.get(i)
            source.refined += 1
            places[person] = Walk(values[mine], scale).halt_in_balls(
                thresholds[person : person + 1],
                None if far[person] else first[person : person + 1],
                cache(lambda drawn=drawn: source.uniform(1) if drawn is None else drawn),
                cyclic=cyclic,
            )
    return places


def _hazards(values: Floats, thresholds: Floats, scale: float, *, cyclic: bool) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the hazards -log P(V > t - v) of each person's values, and the persons with a threshold far below them.

    For the latter p_j = c·w_j is below 2^-53: the hazard is p_j itself, only ratios matter, and w_j is returned.
    """
    z = (thresholds[:, None] - values) / scale
    far = cyclic & (z.max(axis=1) < -FAR)
    if far.any():
        z[far] = (values[far].min(axis=1, keepdims=True) - values[far]) / scale
    hazards = -np.log1p(-0.5 * np.exp(np.minimum(z, 0)))
    hazards += np.maximum(z, 0)
    hazards[far] = np.exp(z[far])
    return hazards, far


def _position(cumulated: Floats, target: Floats, doubt: Floats) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where the cumulated hazard exceeds the target, and whether doubles decide that for certain."""
    last = cumulated.shape[1] - 1
    at = np.minimum((cumulated <= target[:, None]).sum(axis=1), last)
    people = np.arange(len(at))
    before = np.where(at > 0, cumulated[people, at - 1], 0.0)
    clear = (cumulated[people, at] - target >= doubt) & (target - before >= doubt)
    # Beyond the last value only the total hazard matters; the caller compares it.
    return at, clear | (doubt == 0) | (target >= cumulated[:, last]) & (doubt < math.inf)
