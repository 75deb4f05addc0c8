"""The filter of many tracks at once, on arrays: the model of `filter`, with a fixed number of parts for each mode.

Arrays have an axis of parts and an axis of lanes; a lane is a track, or a piece of one. A part that stays has the rows
weight, x, y, spread and age; a part that travels has weight, x, y, u, v, spread, tie and drift (see
`mixture.MixturePart`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.movement.filter import motions
from geoveil.movement.habits import Habits

__all__ = ["NO_FIX", "Beliefs", "Floats", "KnownPlaces", "Steps"]

Floats: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]

#: Parts that stay, and parts that travel in the usual way; there is one part for each other way.
STAYS, RIDES = 3, 2
#: Parts that stay, and the one that was lost in the last step: it is merged with others in the next.
STAYED = STAYS + 1
#: The variance of a point that was not released.
NO_FIX = 1e30
#: Places at which a trip may end in one step.
_CANDIDATES = 1
#: Weights are kept above this, so that they have logarithms.
_TINY = 1e-200

WEIGHT, X, Y, SPREAD, AGE = range(5)
U, V, M_SPREAD, TIE, DRIFT = range(3, 8)


@dataclass(frozen=True)
class KnownPlaces:
    """Places of each lane, as arrays of places and lanes: where, the variance of a coordinate, and the attraction."""

    x: Floats
    y: Floats
    variance: Floats
    attraction: Floats

    def of(self, lanes: Index) -> KnownPlaces:
        """Return the places of some lanes."""
        return KnownPlaces(*(each[:, lanes] for each in (self.x, self.y, self.variance, self.attraction)))


class Steps:
    """What happens in steps of these lengths: `motions` as a table, of which lanes take their rows."""

    def __init__(self, habits: Habits, seconds: Floats) -> None:
        found = [motions(habits, each) for each in seconds.tolist()]
        self._stay = np.array([each.stay for each in found])
        # Coefficients of ways of travel: coefficient, way, length of the step.
        self._ways = np.array([each.ways for each in found], dtype=float).transpose(2, 1, 0)

    def of(self, which: Index) -> tuple[Floats, Floats]:
        """Return the chance that a stay goes on, and the coefficients of each way, for the step of each lane."""
        return self._stay[which], np.take(self._ways, which, axis=2)


class Beliefs:
    """The beliefs about a number of lanes.

    Parameters
    ----------
    habits : Habits
        Public numbers on how all of them move.
    lanes : int
        The number of lanes.
    places : KnownPlaces, optional
        Known places of each lane.
    """

    def __init__(self, habits: Habits, lanes: int, places: KnownPlaces | None = None) -> None:
        self._habits, self._places, self.lanes = habits, places, lanes
        #: The way of each part that travels.
        self.way = np.array([0] * RIDES + [*range(1, len(habits.travels))])
        square = habits.spread**2
        self.stays = np.zeros((5, STAYED, lanes))
        self.moves = np.zeros((8, len(self.way), lanes))
        self.stays[SPREAD] = self.moves[M_SPREAD] = square
        self.moves[DRIFT] = np.array([habits.travels[way].speed ** 2 for way in self.way])[:, None]
        self.stays[WEIGHT, 0], self.moves[WEIGHT, 0] = habits.shares[0], habits.shares[1]
        for way in range(1, len(habits.travels)):
            self.moves[WEIGHT, self.way == way] = habits.shares[1 + way]

    @cached_property
    def _pairs(self) -> tuple[Index, Index]:
        first, second = np.triu_indices(self._slots, 1)
        return first, second

    @property
    def _slots(self) -> int:
        """Parts that stay, with those that begin in a step, as a trip ended here or at a place."""
        return STAYED + 1 + (0 if self._places is None else _CANDIDATES)

    def step(self, stay: Floats, ways: Floats, lost: Floats, seconds: Floats) -> None:
        """Move all beliefs by one step.

        Parameters
        ----------
        stay, ways : arrays
            The coefficients of `Steps.of`.
        lost : array
            The chance that somebody was lost.
        seconds : array
            The length of the step of each lane.
        """
        kept, reach, spread, tie, drift, on, end, begin, begun_spread, begun_tie, begun_drift = ways
        stays, moves = self.stays, self.moves
        own = self.way
        # Trips that begin: from all stays together.
        total, x, y, square = _together(stays[WEIGHT], stays[X], stays[Y], stays[SPREAD])
        begun = np.zeros((8, len(begin), self.lanes))
        begun[WEIGHT], begun[X], begun[Y] = total * begin, x, y
        begun[M_SPREAD], begun[TIE], begun[DRIFT] = square + begun_spread, begun_tie, begun_drift
        stays[WEIGHT] *= stay
        stays[AGE] += seconds
        # Trips go on.
        far, old_tie, old_drift = reach[own], moves[TIE].copy(), moves[DRIFT].copy()
        moves[X] += far * moves[U]
        moves[Y] += far * moves[V]
        moves[U:M_SPREAD] *= kept[own]
        moves[M_SPREAD] += 2 * far * old_tie + far * far * old_drift + spread[own]
        moves[TIE] = kept[own] * (old_tie + far * old_drift) + tie[own]
        moves[DRIFT] = kept[own] ** 2 * old_drift + drift[own]
        ended = moves[WEIGHT] * end[own]
        moves[WEIGHT] *= on[own]
        # Stays that begin.
        new = np.zeros((5, self._slots, self.lanes))
        new[:, :STAYED] = stays
        stopped = _together(ended, moves[X], moves[Y], moves[M_SPREAD])
        new[WEIGHT : SPREAD + 1, STAYED] = stopped
        if self._places is not None:
            self._stop_at_places(new[:, STAYED + 1 :], ended, stopped)
        np.maximum(new[SPREAD], 1e-6, out=new[SPREAD])
        self.stays = np.zeros((5, STAYED, self.lanes))
        self.stays[:, :STAYS] = self._reduced(new)
        self.stays[WEIGHT, STAYS], self.stays[SPREAD, STAYS] = lost, self._habits.spread**2
        self.moves = self._travelling(begun)

    def _stop_at_places(self, new: Floats, ended: Floats, stopped: tuple[Floats, ...]) -> None:
        """Begin stays at the likeliest places where a trip may have ended."""
        places, lanes = self._places, np.arange(self.lanes)
        assert places is not None
        _, x, y, square = stopped
        total = square + places.variance
        with np.errstate(divide="ignore"):
            score = np.log(places.attraction / total) - ((places.x - x) ** 2 + (places.y - y) ** 2) / (2 * total)
        moves = self.moves
        for each in range(new.shape[1]):
            best = score.argmax(axis=0)
            score[best, lanes] = -np.inf
            at = places.x[best, lanes], places.y[best, lanes]
            total = moves[M_SPREAD] + places.variance[best, lanes]
            dx, dy = at[0] - moves[X], at[1] - moves[Y]
            likely = ended * places.attraction[best, lanes] / total * np.exp(-(dx * dx + dy * dy) / (2 * total))
            gain = moves[M_SPREAD] / total
            new[WEIGHT : SPREAD + 1, each] = _together(
                likely, moves[X] + gain * dx, moves[Y] + gain * dy, gain * places.variance[best, lanes]
            )

    def _reduced(self, parts: Floats) -> Floats:
        """Merge parts that stay, those whose merging costs least, until `STAYS` are left."""
        count, lanes = parts.shape[1], np.arange(self.lanes)
        first, second = self._pairs
        logs = np.log(parts[SPREAD])
        costs = np.full((self.lanes, count, count), np.inf)
        found = _merging_costs(parts[:, first], parts[:, second], logs[first], logs[second])
        costs[:, first, second] = found.T
        costs[:, second, first] = found.T
        alive = np.ones((count, self.lanes), dtype=bool)
        for left in range(count, STAYS, -1):
            one, other = np.divmod(costs.reshape(self.lanes, -1).argmin(axis=1), count)
            merged = _merged_stay(parts[:, one, lanes], parts[:, other, lanes])
            parts[:, one, lanes] = merged
            parts[WEIGHT, other, lanes] = 0.0
            alive[other, lanes] = False
            if left > STAYS + 1:
                logs[one, lanes] = mine = np.log(merged[SPREAD])
                found = _merging_costs(merged[:, None], parts, mine, logs)
                found[~alive] = np.inf
                found[one, lanes] = np.inf
                costs[lanes, one] = found.T
                costs[lanes, :, one] = found.T
                costs[lanes, other] = np.inf
                costs[lanes, :, other] = np.inf
        order = np.argsort(~alive, axis=0, kind="stable")[:STAYS]
        return np.take_along_axis(parts, order[None], axis=1)

    def _travelling(self, begun: Floats) -> Floats:
        """Merge trips that begin with those that go on: of the usual way, the two that differ least."""
        moves = self.moves
        rides = np.concatenate([moves[:, :RIDES], begun[:, :1]], axis=1)
        pairs = np.triu_indices(RIDES + 1, 1)
        costs = _moving_costs(rides[:, pairs[0]], rides[:, pairs[1]])
        least = costs.argmin(axis=0)
        one, other = pairs[0][least], pairs[1][least]
        lanes = np.arange(self.lanes)
        out = np.empty_like(moves)
        rides[:, one, lanes] = _merged_move(rides[:, one, lanes], rides[:, other, lanes])
        # The last part takes the place of the one that is no more.
        rides[:, other, lanes] = rides[:, RIDES]
        out[:, :RIDES] = rides[:, :RIDES]
        out[:, RIDES:] = _merged_move(moves[:, RIDES:], begun[:, 1:])
        return out

    def update(self, y: Floats, variance: Floats) -> None:
        """Learn from a released point of each lane, as columns x and y, with the variance of its noise."""
        stays, moves = self.stays, self.moves
        logs = np.empty((stays.shape[1] + moves.shape[1], self.lanes))
        total = stays[SPREAD] + variance
        dx, dy = y[:, 0] - stays[X], y[:, 1] - stays[Y]
        gain = stays[SPREAD] / total
        logs[:STAYED] = np.log(np.maximum(stays[WEIGHT], _TINY) / total) - (dx * dx + dy * dy) / (2 * total)
        stays[X] += gain * dx
        stays[Y] += gain * dy
        stays[SPREAD] *= variance / total
        total = moves[M_SPREAD] + variance
        dx, dy = y[:, 0] - moves[X], y[:, 1] - moves[Y]
        gain, pull = moves[M_SPREAD] / total, moves[TIE] / total
        logs[STAYED:] = np.log(np.maximum(moves[WEIGHT], _TINY) / total) - (dx * dx + dy * dy) / (2 * total)
        moves[X] += gain * dx
        moves[Y] += gain * dy
        moves[U] += pull * dx
        moves[V] += pull * dy
        moves[DRIFT] -= pull * moves[TIE]
        moves[TIE] *= variance / total
        moves[M_SPREAD] *= variance / total
        logs -= logs.max(axis=0)
        weights = np.exp(logs, out=logs)
        weights /= weights.sum(axis=0)
        stays[WEIGHT], moves[WEIGHT] = weights[:STAYED], weights[STAYED:]

    def numbers(self) -> Floats:
        """Return all numbers of the parts, as an array of numbers and lanes, without ages."""
        return np.concatenate([self.stays[:AGE].reshape(-1, self.lanes), self.moves.reshape(-1, self.lanes)])


def _together(weight: Floats, x: Floats, y: Floats, spread: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return weight, mean and variance of a coordinate of all parts of each lane together."""
    total = weight.sum(axis=0)
    share = weight / np.maximum(total, _TINY)
    mx, my = (share * x).sum(axis=0), (share * y).sum(axis=0)
    apart = (x - mx) ** 2 + (y - my) ** 2
    return total, mx, my, (share * (spread + apart / 2)).sum(axis=0)


def _shares(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the share of the second part in the weight of two, and half the product of both shares."""
    other = b / np.maximum(a + b, _TINY)
    return other, (1 - other) * other * 0.5


def _merging_costs(a: Floats, b: Floats, log_a: Floats, log_b: Floats) -> Floats:
    """Return `mixture.merging_cost` of parts that stay, given the logarithms of their variances."""
    other, apart = _shares(a[WEIGHT], b[WEIGHT])
    dx, dy = a[X] - b[X], a[Y] - b[Y]
    merged = np.log(a[SPREAD] + other * (b[SPREAD] - a[SPREAD]) + apart * (dx * dx + dy * dy))
    return np.asarray(a[WEIGHT] * (merged - log_a) + b[WEIGHT] * (merged - log_b))


def _merged_stay(a: Floats, b: Floats) -> Floats:
    other, apart = _shares(a[WEIGHT], b[WEIGHT])
    dx, dy = a[X] - b[X], a[Y] - b[Y]
    out = a + other * (b - a)
    out[WEIGHT] = a[WEIGHT] + b[WEIGHT]
    out[SPREAD] += apart * (dx * dx + dy * dy)
    return np.asarray(out)


def _merged_move(a: Floats, b: Floats) -> Floats:
    other, apart = _shares(a[WEIGHT], b[WEIGHT])
    dx, dy, du, dv = (a[each] - b[each] for each in (X, Y, U, V))
    out = a + other * (b - a)
    out[WEIGHT] = a[WEIGHT] + b[WEIGHT]
    out[M_SPREAD] += apart * (dx * dx + dy * dy)
    out[TIE] += apart * (dx * du + dy * dv)
    out[DRIFT] += apart * (du * du + dv * dv)
    return np.asarray(out)


def _moving_costs(a: Floats, b: Floats) -> Floats:
    """Return `mixture.merging_cost` of parts that travel."""
    merged = _merged_move(a, b)
    size = np.log(_determinant(merged))
    return np.asarray(a[WEIGHT] * (size - np.log(_determinant(a))) + b[WEIGHT] * (size - np.log(_determinant(b))))


def _determinant(parts: Floats) -> Floats:
    return np.asarray(np.maximum(parts[M_SPREAD] * parts[DRIFT] - parts[TIE] ** 2, 1e-12))
