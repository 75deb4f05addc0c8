"""Walks of the sparse vector technique for many persons at once."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats
from geoveil.mechanisms.segments import Sizes, like_sizes, starts_of
from geoveil.mechanisms.sparse_vector import NEVER, Walk
from geoveil.noise import Reals, Source

__all__ = ["halt_each"]

#: Scales below every value at which a first pass of a cyclic walk is survived for all that doubles can tell.
_FAR = -40.0


def halt_each(
    values: Reals, sizes: Sizes, thresholds: Reals, scale: float, source: Source, *, cyclic: bool
) -> NDArray[np.int64]:
    """Return the position, among a person's own values, at which each person's walk halts; -1 if it never does.

    As `Walk.halt` does for one person: a walk halts where the cumulated hazard exceeds an exponential variable.
    Persons for whom doubles leave that open are looked at again, one by one, with the same variables.

    Parameters
    ----------
    values : Reals
        The values that are visited, one for each row; infinite ones are never halted at.
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
    found, far = np.empty(len(sizes), dtype=np.int64), np.zeros(len(sizes), dtype=bool)
    first, starts = source.exponential(len(sizes)), starts_of(sizes)
    moved = (np.broadcast_to(thresholds.error, sizes.shape) + float(np.max(values.error))) / scale
    blur = source.widened * (2 * moved + 2.0**-38 + 2.0**-50 * sizes) if source.exact else np.zeros(len(sizes))
    # A hazard changes by at most twice itself per scale only while little changes.
    unknown = source.exact & ~(moved <= 0.25)
    for persons, rows, own in like_sizes(sizes):
        visited = np.where(own, values.values[rows], np.inf)
        hazards, far[persons] = _hazards(visited, thresholds.values[persons], scale, cyclic=cyclic)
        cumulated = np.cumsum(hazards, axis=1)
        whole, loose = cumulated[:, -1], blur[persons]
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
            # What survives a pass starts afresh: it halts where a variable truncated to the whole hazard says.
            share = source.uniform(len(again))
            shares = {int(i): share[at : at + 1] for at, i in enumerate(again)}
            near = far[persons[again]]
            whole, loose = whole[again], loose[again]
            target = np.where(near, share.values * whole, -np.log1p(share.values * np.expm1(-whole)))
            # Where a pass is hardly survived, the variable depends on the last bits of the uniform one.
            doubt = loose * np.where(near, 2 * whole, whole + np.expm1(np.minimum(whole, 700.0)))
            target = np.clip(target, 0.0, np.nextafter(whole, 0.0))
            halted[again], certain[again] = _position(cumulated[again], target, doubt)
        certain &= ~unknown[persons]
        found[persons] = halted
        for i in np.flatnonzero(~certain).tolist():
            person = int(persons[i])
            mine = slice(int(starts[person]), int(starts[person] + sizes[person]))
            drawn = shares.get(i)
            source.refined += 1
            found[person] = Walk(values[mine], scale).settled(
                thresholds[person : person + 1],
                None if far[person] else first[person : person + 1],
                cache(lambda drawn=drawn: source.uniform(1) if drawn is None else drawn),
                cyclic=cyclic,
            )
    return found


def _hazards(values: Floats, thresholds: Floats, scale: float, *, cyclic: bool) -> tuple[Floats, NDArray[np.bool_]]:
    """Return -log P(V > t - v) for each person's values, and who is far below all of them.

    For those p_j = c·w_j is below 2^-53: the hazard is p_j itself, and only the ratios w_j count.
    """
    z = (thresholds[:, None] - values) / scale
    far = cyclic & (z.max(axis=1) < _FAR)
    if far.any():
        z[far] = (values[far].min(axis=1, keepdims=True) - values[far]) / scale
    hazards = -np.log1p(-0.5 * np.exp(np.minimum(z, 0)))
    hazards += np.maximum(z, 0)
    hazards[far] = np.exp(z[far])
    return hazards, far


def _position(cumulated: Floats, target: Floats, doubt: Floats) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where the cumulated hazard exceeds the target, and whether it is clear of the values around it."""
    last = cumulated.shape[1] - 1
    at = np.minimum((cumulated <= target[:, None]).sum(axis=1), last)
    people = np.arange(len(at))
    before = np.where(at > 0, cumulated[people, at - 1], 0.0)
    clear = (cumulated[people, at] - target >= doubt) & (target - before >= doubt)
    # Past the end only the whole hazard counts, which the caller compares.
    return at, clear | (doubt == 0) | (target >= cumulated[:, last]) & (doubt < math.inf)
