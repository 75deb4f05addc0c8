"""Link released tracks to known persons by where they are, as somebody does who has older tracks of all of them."""

from __future__ import annotations

import numpy as np

from geoveil.attacks.attack import Attack
from geoveil.attacks.bounds import most_linked
from geoveil.attacks.seen import Seen
from geoveil.geo.geometries import Index
from geoveil.noise.reals import Floats

__all__ = ["link"]

#: The most persons who are linked, the most points of each that are compared, and the pairs of points in all.
_PERSONS, _POINTS, _PAIRS = 200, 200, 2e8


def link(seen: Seen) -> Attack:
    """Link each released track to one of the persons, whose true tracks are known.

    Times, labels and numbers of points are not used: they are public, and may link tracks by themselves.
    """
    from scipy.optimize import linear_sum_assignment

    there = np.flatnonzero(seen.sizes > 0)
    chosen = there[_evenly(len(there), _PERSONS)]
    most = int(np.clip(np.sqrt(_PAIRS) / len(chosen), 20, _POINTS))
    known = [seen.truth[seen.rows[person][_evenly(seen.sizes[person], most)]] for person in chosen]
    likely = np.array([_log_likelihoods(seen, track, known, most) for track in chosen])
    tracks, persons = linear_sum_assignment(-likely)
    right = np.zeros(len(chosen))
    right[tracks] = tracks == persons
    labels = [seen.labels[person] for person in chosen]
    does = "links tracks to persons by their places, knowing the true tracks of all of them"
    return Attack("linking", does, right, labels, _bound(seen, [*chosen]), linking=True)


def _evenly(count: int, most: int) -> Index:
    """Return the positions of at most so many of several things, evenly spaced."""
    return np.linspace(0, count - 1, min(count, most)).astype(np.int64)


def _log_likelihoods(seen: Seen, track: int, known: list[Floats], most: int) -> Floats:
    """Return the mean logarithm of the likelihood of a track's points, were they noisy points of each person."""
    rows = seen.rows[track][_evenly(seen.sizes[track], most)]
    scale, points = seen.scales[rows][:, None], seen.released[rows]
    ends = np.cumsum([len(places) for places in known])
    places = np.concatenate(known)
    squares = np.square(points[:, None, 0] - places[:, 0]) + np.square(points[:, None, 1] - places[:, 1])
    terms = -squares / (2 * scale**2) if seen.noise == "gaussian" else -np.sqrt(squares) / scale
    starts, sizes = np.append(0, ends[:-1]), np.diff(np.append(0, ends))
    tops = np.maximum.reduceat(terms, starts, axis=1)
    sums = np.add.reduceat(np.exp(terms - np.repeat(tops, sizes, axis=1)), starts, axis=1)
    return np.asarray((np.log(sums / sizes) + tops).mean(axis=0))


def _bound(seen: Seen, chosen: list[int]) -> float | None:
    """Return the largest mean chance of a right link; None where numbers of points tell persons apart."""
    if seen.rho is None or len({int(seen.sizes[person]) for person in chosen}) > 1:
        return None
    tracks = np.array([seen.truth[seen.rows[person]] for person in chosen])
    chances = []
    for at in range(len(chosen)):
        apart = np.hypot(*(tracks - tracks[at]).transpose(2, 0, 1)).max(axis=1)
        apart[at] = np.inf
        chances.append(most_linked(seen.rho, float(apart.min())))
    return float(np.mean(chances))
