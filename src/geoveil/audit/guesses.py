"""How often a simple guess is right at each distance, beside what the claim allows: for the picture alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geoveil.audit.bounds import rate_limits
from geoveil.audit.chances import guess_chances
from geoveil.audit.findings import Case
from geoveil.geo.geometries import Index
from geoveil.privacy import CGP, GP

__all__ = ["Guesses", "guesses"]

#: The largest probability that an interval of the picture does not hold the true share, on each side.
_LEVEL = 0.005


@dataclass(frozen=True)
class Guesses:
    """Guesses between two places so far apart.

    Parameters
    ----------
    distance : float
        The distance in metres.
    right : float
        The share of right guesses.
    low, high : float
        Limits of the share that would be seen with many more canaries: with 99% confidence.
    allowed : float
        The largest share that the claim allows.
    trials : int
        The number of guesses.
    """

    distance: float
    right: float
    low: float
    high: float
    allowed: float
    trials: int


def guesses(cases: Sequence[Case], claim: CGP | GP) -> list[Guesses]:
    """Guess where each canary is: where others of the place were released alike, else at the nearer of both places."""
    distances = np.concatenate([case.apart for case in cases])
    right = np.concatenate([_right(case) for case in cases])
    found = []
    # Distances within 10% of each other belong together; those beside grids are all about two metres.
    bins = np.round(np.log(distances) / 0.1).astype(int)
    for each in np.unique(bins):
        own = (bins == each) & (right >= 0)
        if own.sum() >= 20:
            hits, trials = int(right[own].sum()), int(own.sum())
            low, high = rate_limits(hits, trials, _LEVEL)
            distance = float(np.sqrt(np.mean(distances[own] ** 2)))
            allowed = float(guess_chances(claim, np.array([distance]))[0])
            found.append(Guesses(distance, hits / trials, low, high, allowed, trials))
    return found


def _right(case: Case) -> Index:
    """Return for each canary whether the guess is right: 1 or 0; -1 where none is made."""
    right = np.full(len(case.side), -1)
    there = np.flatnonzero(case.shown >= 0)
    points = case.output.means()[there]
    if len(there) < 2:
        return right
    # What moves all points alike is known to the attacker; half of the canaries tell it to the others.
    moved = points - case.true[there]
    shift = np.empty_like(moved)
    for part in (slice(0, None, 2), slice(1, None, 2)):
        other = slice(1 - (part.start or 0), None, 2)
        shift[part] = np.median(moved[other], axis=0)
    way = case.ends[there, 1] - case.ends[there, 0]
    along = ((points - shift - case.ends[there].mean(axis=1)) * way).sum(axis=1)
    guess = (along > 0).astype(np.int64)
    cells: dict[tuple[int, int, int], list[int]] = {}
    for row, (x, y) in enumerate(np.round(points / 0.04).astype(np.int64).tolist()):
        cells.setdefault((int(case.sites.site[there[row]]), x, y), []).append(row)
    for rows in cells.values():
        for row in rows if len(rows) > 1 else ():
            votes = [case.side[there[other]] for other in rows if other != row]
            if np.mean(votes) != 0.5:
                guess[row] = int(np.mean(votes) > 0.5)
    right[there] = guess == case.side[there]
    return right
