"""“People nearby”: find persons from answers about many public places, by intersecting them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geoveil.attacks.attack import Attack, Attacks
from geoveil.noise.reals import Floats
from geoveil.privacy import least_error

__all__ = ["NearbyAnswer", "find_nearby"]

#: Cells along a side of the grid on which a person is sought, and how often it is refined.
_GRID, _ROUNDS = 41, 6


@dataclass(frozen=True)
class NearbyAnswer:
    """A public place that was asked about, and what was answered about each person.

    Parameters
    ----------
    place : (2,) array
        The place, in metres.
    distance : array, optional
        The released distance of each person from it, NaN where there is none.
    named : array of bool, optional
        Whether each person was named as one of the nearest.
    scale : float
        The scale of the noise, in metres; 0 if answers are exact.
    """

    place: Floats
    distance: Floats | None = None
    named: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None
    scale: float = 0.0


def find_nearby(asked: Sequence[NearbyAnswer], places: Floats, labels: Sequence[str], rho: float | None) -> Attacks:
    """Find persons by intersecting answers.

    Parameters
    ----------
    asked : sequence of NearbyAnswer
        What was asked and answered.
    places : (persons, 2) array
        The true place of each person.
    labels : sequence of str
        Their labels.
    rho : float, optional
        The sum of the budgets of the answers about a person.
    """
    off = np.array([float(np.hypot(*(_place_of(asked, person) - places[person]))) for person in range(len(labels))])
    does = "intersects the answers about several public places"
    bound = None if rho is None else least_error(rho)
    attack = Attack("people nearby", does, off, labels, bound)
    return Attacks((attack,), f"answers about {len(asked)} places", rho)


def _place_of(asked: Sequence[NearbyAnswer], person: int) -> Floats:
    """Return the place that explains best what was answered about a person, on a grid that is refined."""
    at = np.array([each.place for each in asked])
    middle, half = at.mean(axis=0), float(np.ptp(at, axis=0).max()) + max(each.scale for each in asked) + 1.0
    far = [float(each.distance[person]) for each in asked if each.distance is not None]
    half = max([half, *(known for known in far if np.isfinite(known))])
    for _ in range(_ROUNDS):
        line = np.linspace(-half, half, _GRID)
        grid = middle + np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
        cost = sum((_cost(each, person, grid) for each in asked), np.zeros(len(grid)))
        best = cost <= cost.min() + 1e-9 * (1 + abs(cost.min()))
        middle, half = grid[best].mean(axis=0), half / 5
    return np.asarray(middle)


def _cost(asked: NearbyAnswer, person: int, places: Floats) -> Floats:
    """Return minus the logarithm of the likelihood of an answer, for a person at each of several places."""
    away = np.hypot(*(places - asked.place).T)
    scale = max(asked.scale, 1e-3)
    if asked.distance is not None:
        known = float(asked.distance[person])
        return np.zeros(len(places)) if np.isnan(known) else (away - known) ** 2 / (2 * scale**2)
    assert asked.named is not None
    # The nearest are drawn with probabilities that fall exponentially with their distance.
    return away / scale if asked.named[person] else np.zeros(len(places))
