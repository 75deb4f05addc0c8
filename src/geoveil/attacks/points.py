"""Attacks on released points: the point itself, averages, smoothed tracks, a map of the crowd, home and work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from geoveil.attacks.attack import Attack, Attacks, about
from geoveil.attacks.linking import link
from geoveil.attacks.seen import Seen
from geoveil.geo.geometries import Index
from geoveil.movement.habits import Habits
from geoveil.movement.smoother import smooth as smooth_by_habits
from geoveil.noise.reals import Floats
from geoveil.postprocess import smoothing
from geoveil.postprocess.deconvolution import deconvolve
from geoveil.postprocess.grid import Grid
from geoveil.postprocess.kernels import NoisyPoints
from geoveil.postprocess.motion import Motion
from geoveil.postprocess.remapping import choose, over_cells, over_places
from geoveil.privacy import least_error

__all__ = ["attack_points", "smoothed"]

#: Metres around a point within which true points are taken to be at the same place.
_STAY = 100.0
#: The fewest points at night, or at work, from which a place is guessed.
_FEW = 3
#: Local hours of the night, and of work from Monday to Friday.
_NIGHT, _WORK = (22, 23, 0, 1, 2, 3, 4, 5), range(9, 17)
#: Persons, and points, from which a map of all is worth making; and cells along a side of it at most.
_CROWD, _MANY, _CELLS = 5, 200, 120
#: Steps of the search for a geometric median, and the distance in metres below which points are one.
_STEPS, _TOUCH = 60, 1.0


def attack_points(
    seen: Seen, motion: Motion | Habits | None, progress: Callable[[float], None], prior: Floats | None = None
) -> Attacks:
    """Attack released points in every way that their columns allow.

    Parameters
    ----------
    seen : Seen
        What is released, and the truth.
    motion : Motion or Habits, optional
        How people move, for the smoother; None for no smoothing.
    progress : callable
        Called with the share of the work that is done.
    prior : (m, 2) array, optional
        Public places, in metres, at one of which each point is.
    """
    bound = None if seen.rho is None else least_error(seen.rho)
    there = seen.sizes > 0
    labels = [label for label, some in zip(seen.labels, there, strict=True) if some]

    def of_points(name: str, does: str, guess: Floats, allowed: float | None) -> Attack:
        return Attack(name, does, seen.root_mean_squares(guess)[there], labels, allowed)

    found = [of_points("released point", "takes each point as it is released", seen.released, bound)]
    progress(0.1)
    found.append(_averaging(seen, bound))
    progress(0.2)
    guess = seen.released
    if seen.seconds is not None and motion is not None and not seen.processed and len(seen.truth) > len(labels):
        guess = smoothed(seen, motion)
        found.append(of_points("smoothing", "smooths tracks, knowing the noise and how people move", guess, bound))
    progress(0.6)
    if not seen.processed and len(labels) >= _CROWD and len(seen.truth) >= _MANY:
        does = "moves points to where all released points say that people are"
        # A map of the crowd is knowledge about places, which no guarantee about a person bounds.
        found.append(of_points("map of the crowd", does, _by_map(seen), None))
    if prior is not None:
        noisy = NoisyPoints(seen.released, seen.noise, seen.scales)
        likeliest = choose(over_places(noisy, prior, np.ones(len(prior))), prior, np.ones(len(prior))).mean
        found.append(of_points("known places", "moves points to the likeliest of known places", likeliest, None))
    progress(0.8)
    if seen.clock:
        hour, day = seen.hours()
        at_work = np.isin(hour, _WORK) & (day < 5)
        for name, does, when in (
            ("home", "takes the middle of where somebody is at night", np.isin(hour, _NIGHT)),
            ("work", "takes the middle of where somebody is on weekdays from 9 to 17", at_work),
        ):
            attack = _anchor(seen, guess, name, does, when, bound)
            found += [] if attack is None else [attack]
    if len(labels) > 1:
        found.append(link(seen))
    progress(1.0)
    return Attacks(tuple(found), about(len(labels), len(seen.truth)), seen.rho, seen.exact_bound)


def smoothed(seen: Seen, motion: Motion | Habits) -> Floats:
    """Return released points smoothed as tracks, as `Release.smooth` does."""
    assert seen.seconds is not None
    order, sizes = np.concatenate(seen.rows), seen.sizes[seen.sizes > 0]
    points, at, noise = seen.released[order], seen.seconds[order], seen.scales[order]
    guess = np.empty_like(seen.released)
    if isinstance(motion, Habits):
        guess[order] = smooth_by_habits(points, at, noise, motion, sizes=sizes).mean
    else:
        guess[order] = smoothing.smooth(points, at, noise, motion, sizes=sizes)
    return guess


def _averaging(seen: Seen, bound: float | None) -> Attack:
    """Average the released points of the place where each person is most often, knowing when."""
    off, labels = [], []
    for label, rows in zip(seen.labels, seen.rows, strict=True):
        if len(rows):
            stay = rows[_most_frequented(seen.truth[rows])]
            weight = seen.scales[stay] ** -2
            away = (seen.released[stay] - seen.truth[stay]).T @ weight / weight.sum()
            off.append(float(np.hypot(*away)))
            labels.append(label)
    does = "averages the points of the place where somebody is most often, knowing when"
    return Attack("averaging", does, np.array(off), labels, bound)


def _most_frequented(points: Floats) -> Index:
    """Return the points near the middle of the square of two cells by two that holds most points."""
    cells = np.floor((points - points.min(axis=0)) / _STAY).astype(np.int64)
    row = int(cells[:, 1].max()) + 3
    found, counts = np.unique(
        np.concatenate([(cells + shift) @ [row, 1] for shift in ((0, 0), (0, 1), (1, 0), (1, 1))]), return_counts=True
    )
    corner = np.array(divmod(int(found[counts.argmax()]), row))
    inside = ((cells == corner) | (cells == corner - 1)).all(axis=1)
    middle = np.median(points[inside], axis=0)
    near = np.flatnonzero(np.hypot(*(points - middle).T) <= _STAY)
    return near if len(near) else np.flatnonzero(inside)


def _by_map(seen: Seen) -> Floats:
    """Return the expected places of points under the map that the release itself gives."""
    scale = float(np.median(seen.scales))
    middle = np.median(seen.released, axis=0)
    half = min(float(np.quantile(np.abs(seen.released - middle).max(axis=1), 0.99)) + scale, 60 * scale)
    cell = max(scale / 2, 2 * half / _CELLS)
    grid = Grid((*(middle - half), *(middle + half)), cell)
    noisy = NoisyPoints(seen.released, seen.noise, seen.scales)
    weights = deconvolve([noisy], grid)
    if not weights.sum() > 0:
        return seen.released
    inside = np.abs(seen.released - middle).max(axis=1) <= half
    guess = seen.released.copy()
    some = NoisyPoints(seen.released[inside], seen.noise, seen.scales[inside])
    guess[inside] = over_cells(some, grid, weights).mean
    return guess


def _anchor(
    seen: Seen,
    guess: Floats,
    name: str,
    does: str,
    when: np.ndarray[tuple[int], np.dtype[np.bool_]],
    bound: float | None,
) -> Attack | None:
    """Guess where each person is at certain hours; None if nobody has enough points then."""
    off, labels = [], []
    for label, rows in zip(seen.labels, seen.rows, strict=True):
        own = rows[when[rows]]
        if len(own) >= _FEW:
            place = _geometric_median(guess[own]) - _geometric_median(seen.truth[own])
            off.append(float(np.hypot(*place)))
            labels.append(label)
    return Attack(name, does, np.array(off), labels, bound) if off else None


def _geometric_median(points: Floats) -> Floats:
    """Return the place with the least mean distance from points."""
    place = np.median(points, axis=0)
    for _ in range(_STEPS):
        weight = 1 / np.maximum(np.hypot(*(points - place).T), _TOUCH)
        moved = weight @ points / weight.sum()
        if np.hypot(*(moved - place)) < _TOUCH / 100:
            break
        place = moved
    return np.asarray(place)
