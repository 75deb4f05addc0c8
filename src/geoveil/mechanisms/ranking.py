"""Find the smallest of noisy scores, in the order that real arithmetic gives them."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats
from geoveil.mechanisms.segments import Sizes, similar_sizes, starts_of
from geoveil.noise import Reals, Source, settled

__all__ = ["smallest", "smallest_each"]


def smallest(scores: Reals, noise: Reals, scale: float, k: int, source: Source) -> NDArray[np.int64]:
    """Return the positions of the k smallest values of score - scale·noise, in increasing order."""
    noisy = scores.values - scale * noise.values
    first = np.argpartition(noisy, k)[: k + 1] if k < len(noisy) else np.arange(k)
    first = first[np.argsort(noisy[first])]
    if source.exact:
        bound = _doubt(noisy, scores, noise, scale, source)
        # Negated, because a difference that is not a number must count as doubtful.
        if not (np.diff(noisy[first]) > bound).all():
            first = _sorted_in_balls(noisy, noisy[first[k - 1]] + bound, bound, scores, noise, scale, source)
    return first[:k]


def smallest_each(
    scores: Reals, noise: Reals, scale: float, sizes: Sizes, k: int, source: Source
) -> NDArray[np.int64]:
    """Return the positions of each person's k smallest values of score - scale·noise, in increasing order.

    The result is (persons, k) positions within a person's rows. Persons for whom doubles do not decide the order are
    sorted again, one by one. Scores may be infinite.

    Parameters
    ----------
    scores, noise : Reals
        One number for each row.
    scale : float
        The factor on the noise.
    sizes : array of int
        The number of adjacent rows of each person, at least k.
    k : int
        The number of positions to find for each person.
    source : Source
        The source of the noise.
    """
    noisy = scores.values - scale * noise.values
    bound = _doubt(noisy, scores, noise, scale, source) if source.exact else 0.0
    smallest, starts = np.empty((len(sizes), k), dtype=np.int64), starts_of(sizes)
    for persons, rows, own in similar_sizes(sizes):
        among = np.where(own, noisy[rows], np.inf)
        first = np.argpartition(among, k, axis=1)[:, : k + 1] if k < among.shape[1] else None
        ends = among if first is None else np.take_along_axis(among, first, axis=1)
        order = np.argsort(ends, axis=1)
        first = order if first is None else np.take_along_axis(first, order, axis=1)
        smallest[persons] = first[:, :k]
        if not source.exact:
            continue
        ends = np.take_along_axis(ends, order, axis=1)
        for i in np.flatnonzero(~(ends[:, 1:] - ends[:, :-1] > bound).all(axis=1)).tolist():
            mine = slice(int(starts[persons[i]]), int(starts[persons[i]] + sizes[persons[i]]))
            last = ends[i, k - 1] + bound
            ordered = _sorted_in_balls(noisy[mine], last, bound, scores[mine], noise[mine], scale, source)
            smallest[persons[i]] = ordered[:k]
    return smallest


def _doubt(noisy: Floats, scores: Reals, noise: Reals, scale: float, source: Source) -> float:
    """Return the difference of two noisy scores up to which doubles may give them in the wrong order."""
    largest = max(float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) for values in (noisy, scores.values))
    return 2 * source.widened * float(np.max(scores.error) + scale * np.max(noise.error) + 2.0**-50 * largest)


def _sorted_in_balls(
    noisy: Floats, last: float, bound: float, scores: Reals, noise: Reals, scale: float, source: Source
) -> NDArray[np.int64]:
    """Return the positions of noisy scores of at most `last`, sorted; balls order those closer than `bound`."""
    near = np.flatnonzero(~(noisy > last) & (scores.values < np.inf))
    near = near[np.argsort(noisy[near])]
    for cluster in np.split(np.arange(len(near)), np.flatnonzero(np.diff(noisy[near]) > bound) + 1):
        if len(cluster) > 1:
            source.refined += len(cluster)
            near[cluster] = settled(partial(_in_order, near[cluster], scores, noise, scale))
    return near


def _in_order(
    places: NDArray[np.int64], scores: Reals, noise: Reals, scale: float, bits: int
) -> NDArray[np.int64] | None:
    """Return positions in the order of their noisy scores; None if balls of this precision do not decide it."""
    from flint import arb

    balls = [scores.ball(int(j), bits) - arb(scale) * noise.ball(int(j), bits) for j in places]
    order = sorted(range(len(places)), key=lambda i: balls[i].mid())
    certain = all(balls[i] < balls[j] for i, j in itertools.pairwise(order))
    return places[order] if certain else None
