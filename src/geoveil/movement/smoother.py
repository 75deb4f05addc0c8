"""Smooth released tracks with the habits of people: the filter run forwards and backwards, and both multiplied.

It uses public habits, public times and what was released, so it costs no privacy. The model is the same in both
directions of time: stays and trips alternate at random times, and the velocity of a trip is a stationary process. What
the points up to a moment tell and what the later ones tell are independent given the state at that moment, so that
their product, divided by what is known without any point, is the belief from all of them.

Long tracks are cut into pieces that overlap, so that many are smoothed side by side.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geoveil.movement.beliefs import AGE, NO_FIX, SPREAD, WEIGHT, Beliefs, Floats, KnownPlaces, Steps, X, Y
from geoveil.movement.filter import LONGEST, STEP
from geoveil.movement.habits import Habits
from geoveil.movement.mixture import STAY, MixturePart
from geoveil.movement.places import PlaceMemory

__all__ = ["Smoothed", "smooth"]

Index = NDArray[np.intp]

#: Rows of a piece of a track, and rows before and after it from which its ends are learnt.
_PIECE, _OVERLAP = 2000, 1000
#: Pieces that are smoothed side by side.
_TOGETHER = 1024
#: Places of a person that are used, those with most visits.
_PLACES = 12
#: A belief whose deviation is more than this share of the spread tells nothing about where.
_VAGUE = 1 / 3


class Smoothed(NamedTuple):
    """Estimates of true points in metres, and the variance of each of their coordinates if the habits are true."""

    mean: Floats
    variance: Floats


class _Piece(NamedTuple):
    """Rows start to stop of a track, learnt from rows first to last; `track` is the number of the track."""

    first: int
    start: int
    stop: int
    last: int
    track: int


def smooth(y: Floats, times: Floats, sigma: ArrayLike, habits: Habits, *, sizes: ArrayLike | None = None) -> Smoothed:
    """Denoise the released points of tracks, given what is publicly known of how people move.

    At first a person may be anywhere around the middle of their released points.

    Parameters
    ----------
    y : (n, 2) array
        The released points: the true points plus independent N(0, σ²) noise on each coordinate.
    times : (n,) array
        Times in seconds, in order for each person.
    sigma : float or (n,) array
        The noise scale of each coordinate, in metres.
    habits : Habits
        Public numbers on how people move.
    sizes : array of int, optional
        The number of points of each person; a person's points are consecutive. By default there is one person.

    Examples
    --------
    >>> from geoveil.movement.habits import PERSON
    >>> rng = np.random.default_rng(1)
    >>> times = np.arange(0.0, 6 * 3600.0, 60.0)
    >>> true = np.column_stack([np.clip(times - 3 * 3600, 0, 3600) * 2, np.zeros(len(times))])
    >>> released = true + rng.normal(scale=500, size=true.shape)
    >>> error = lambda x: np.sqrt(np.square(x - true).sum(axis=1).mean())
    >>> bool(error(smooth(released, times, 500, PERSON).mean) < error(released) / 3)
    True
    """
    y, times = np.asarray(y, dtype=float), np.asarray(times, dtype=float)
    variance = np.broadcast_to(np.asarray(sigma, dtype=float) ** 2, times.shape)
    persons = np.array([len(y)]) if sizes is None else np.asarray(sizes, dtype=np.intp)
    mean, spread = np.empty_like(y), np.empty(len(y))
    if not len(y):
        return Smoothed(mean, spread)
    middle = np.repeat([np.median(track, axis=0) for track in np.split(y, np.cumsum(persons)[:-1])], persons, axis=0)
    y = y - middle
    habits = replace(habits, spread=max(habits.spread, float(np.median(np.hypot(*y.T)))))
    pieces = sorted(_pieces(persons), key=lambda piece: piece.first - piece.last)
    tracks = _Tracks(y, times, variance, habits)
    stays: dict[int, list[tuple[int, MixturePart]]] = {}
    batches = [pieces[start : start + _TOGETHER] for start in range(0, len(pieces), _TOGETHER)]
    for batch in batches:
        for number, row, part in tracks.stays(batch):
            stays.setdefault(number, []).append((row, part))
    places = {number: _places_of(found, habits) for number, found in stays.items()}
    for batch in batches:
        tracks.smooth(batch, places, mean, spread)
    return Smoothed(mean + middle, spread)


def _pieces(sizes: Index) -> Iterator[_Piece]:
    """Yield the pieces into which tracks are cut."""
    end = 0
    for track, size in enumerate(sizes.tolist()):
        begin, end = end, end + size
        count = max(round(size / _PIECE), 1)
        cuts = [begin + size * each // count for each in range(count + 1)]
        for start, stop in itertools.pairwise(cuts):
            if stop > start:
                yield _Piece(max(start - _OVERLAP, begin), start, stop, min(stop + _OVERLAP, end), track)


def _places_of(stays: list[tuple[int, MixturePart]], habits: Habits) -> Floats:
    """Return the places of a track: rows of x, y, variance and attraction."""
    places = PlaceMemory(habits)
    for _, part in sorted(stays, key=lambda stay: stay[0]):
        places.remember(part)
    known = sorted(places.known, key=lambda place: -place.visits)[:_PLACES]
    return np.array([[p.x, p.y, p.variance, habits.attraction * p.visits / (p.visits + 1)] for p in known])


class _Events(NamedTuple):
    """Steps of lanes, as arrays of steps and lanes, up to the longest lane."""

    #: The lengths of steps that occur, and which of them a step has.
    lengths: Floats
    which: Index
    #: The chance that somebody was lost, and the row that is learnt from after a step; -1 if there is none.
    lost: Floats
    row: Index


class _Tracks:
    """Released tracks, and the passes over pieces of them."""

    def __init__(self, y: Floats, times: Floats, variance: Floats, habits: Habits) -> None:
        self._y, self._times, self._habits = y, times, habits
        # Row -1 stands for no row.
        self._points = np.concatenate([y, np.zeros((1, 2))])
        self._variance = np.append(variance, NO_FIX)

    def stays(self, pieces: list[_Piece]) -> Iterator[tuple[int, int, MixturePart]]:
        """Yield the long stays of pieces: the track, the last row of the stay, and where it was."""
        beliefs = Beliefs(self._habits, len(pieces))
        rows = [np.arange(piece.first, piece.stop) for piece in pieces]
        starts = np.array([piece.start for piece in pieces])
        lanes = np.arange(len(pieces))
        staying = np.zeros(len(pieces), dtype=bool)
        last = np.zeros((5, len(pieces)))
        at = np.zeros(len(pieces), dtype=np.intp)

        def found(ended: NDArray[np.bool_]) -> Iterator[tuple[int, int, MixturePart]]:
            for lane in np.flatnonzero(ended & (at >= starts)).tolist():
                weight, x, y, spread, _ = last[:, lane].tolist()
                yield pieces[lane].track, int(at[lane]), MixturePart(weight, STAY, x, y, spread)

        for row in self._pass(beliefs, rows):
            best = beliefs.stays[WEIGHT].argmax(axis=0)
            state = beliefs.stays[:, best, lanes]
            long = (state[WEIGHT] >= 0.5) & (state[AGE] >= self._habits.settled)
            learnt = row >= 0
            yield from found(staying & learnt & ~long)
            last = np.where(learnt & long, state, last)
            at = np.where(learnt & long, row, at)
            staying = np.where(learnt, long, staying)
        yield from found(staying)

    def smooth(self, pieces: list[_Piece], places: dict[int, Floats], mean: Floats, spread: Floats) -> None:
        """Smooth pieces, into `mean` and `spread`."""
        known = _known_places(pieces, places)
        forward = Beliefs(self._habits, len(pieces), known)
        starts, stops = (np.array([getattr(piece, name) for piece in pieces]) for name in ("start", "stop"))
        offsets = np.cumsum(stops - starts) - (stops - starts) - starts
        kept = np.empty((len(forward.numbers()), int((stops - starts).sum())), dtype=np.float32)
        for row in self._pass(forward, [np.arange(piece.first, piece.stop) for piece in pieces]):
            mine = np.flatnonzero((row >= 0) & (row >= starts))
            kept[:, row[mine] + offsets[mine]] = forward.numbers()[:, mine]
        backward = Beliefs(self._habits, len(pieces), known)
        product = _Product(self._habits, backward)
        for row in self._pass(
            backward, [np.arange(piece.start, piece.last)[::-1] for piece in pieces], learns_after=True
        ):
            mine = np.flatnonzero((row >= 0) & (row < stops))
            if len(mine):
                before = kept[:, row[mine] + offsets[mine]].astype(float)
                mean[row[mine]], spread[row[mine]] = product.of(before, backward.numbers()[:, mine])

    def _pass(self, beliefs: Beliefs, rows: list[Index], *, learns_after: bool = False) -> Iterator[Index]:
        """Move beliefs over these rows of each lane; yield the row of each lane, or -1, after it is learnt or before.

        Rows are in the order in which they are learnt.
        """
        events = self._events(rows)
        steps = Steps(self._habits, events.lengths)
        for which, lost, row in zip(events.which, events.lost, events.row, strict=True):
            beliefs.step(*steps.of(which), lost, events.lengths[which])
            if learns_after:
                yield row
            beliefs.update(self._points[row], self._variance[row])
            if not learns_after:
                yield row

    def _events(self, rows: list[Index]) -> _Events:
        """Return the steps of lanes: gaps between rows are cut into steps of at most `STEP`."""
        lanes = []
        for each in rows:
            gaps = np.abs(np.diff(self._times[each], prepend=self._times[each[:1]]))
            counts = np.clip(np.ceil(gaps / STEP), 1, LONGEST).astype(np.intp)
            ends = np.cumsum(counts)
            seconds = np.repeat(np.minimum(gaps / counts, STEP), counts)
            lost, row = np.zeros(len(seconds)), np.full(len(seconds), -1)
            lost[ends - 1] = -np.expm1(-gaps / self._habits.lost)
            row[ends - 1] = each
            lanes.append((seconds, lost, row))
        longest = max(len(seconds) for seconds, _, _ in lanes)
        seconds, lost = np.zeros((2, longest, len(lanes)))
        row = np.full((longest, len(lanes)), -1)
        for lane, parts in enumerate(lanes):
            for whole, part in zip((seconds, lost, row), parts, strict=True):
                whole[: len(part), lane] = part
        # Coefficients are the same for steps that differ by less than a millisecond.
        lengths, which = np.unique(np.round(seconds, 3), return_inverse=True)
        return _Events(lengths, which.reshape(seconds.shape), lost, row)


def _known_places(pieces: list[_Piece], places: dict[int, Floats]) -> KnownPlaces | None:
    """Return the places of each piece, filled up with places that attract nobody."""
    count = max((len(places.get(piece.track, ())) for piece in pieces), default=0)
    if not count:
        return None
    # At least as many as may be chosen in one step.
    table = np.zeros((4, max(count, 2), len(pieces)))
    table[2] = 1.0
    for lane, piece in enumerate(pieces):
        if (mine := places.get(piece.track)) is not None:
            table[:, : len(mine), lane] = mine.T
    return KnownPlaces(*table)


class _Product:
    """The product of beliefs from earlier and from later points, divided by what is known without any."""

    def __init__(self, habits: Habits, like: Beliefs) -> None:
        self._habits = habits
        self._stays, self._moves = like.stays[:AGE].shape[:2], like.moves.shape[:2]
        self._way = like.way

    def of(self, before: Floats, after: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the variance of a coordinate of each lane."""
        parts = [self._staying(before, after), *self._travelling(before, after)]
        logs, x, y, spread = (np.concatenate([part[each] for part in parts]) for each in range(4))
        weights = np.exp(logs - logs.max(axis=0))
        weights /= weights.sum(axis=0)
        mx, my = (weights * x).sum(axis=0), (weights * y).sum(axis=0)
        apart = (x - mx) ** 2 + (y - my) ** 2
        return np.column_stack([mx, my]), (weights * (spread + apart / 2)).sum(axis=0)

    def _split(self, numbers: Floats) -> tuple[Floats, Floats]:
        cut = int(np.prod(self._stays))
        return numbers[:cut].reshape(*self._stays, -1), numbers[cut:].reshape(*self._moves, -1)

    def _staying(self, before: Floats, after: Floats) -> tuple[Floats, ...]:
        """Return the products of all pairs of parts that stay: logarithms of weights, x, y and variances."""
        f, b = self._split(before)[0][:, :, None], self._split(after)[0][:, None]
        total = f[SPREAD] + b[SPREAD]
        gain = f[SPREAD] / total
        dx, dy = b[X] - f[X], b[Y] - f[Y]
        logs = -np.log(total) - (dx * dx + dy * dy) / (2 * total)
        vague = np.broadcast_to(b[SPREAD] > (_VAGUE * self._habits.spread) ** 2, total.shape)
        logs = np.where(vague, -2 * np.log(self._habits.spread), logs)
        gain = np.where(vague, 0.0, gain)
        logs += _logs(f[WEIGHT]) + _logs(b[WEIGHT]) - np.log(self._habits.shares[0])
        found = logs, f[X] + gain * dx, f[Y] + gain * dy, np.where(vague, f[SPREAD], gain * b[SPREAD])
        return tuple(each.reshape(self._stays[1] ** 2, -1) for each in found)

    def _travelling(self, before: Floats, after: Floats) -> Iterator[tuple[Floats, ...]]:
        """Yield the products of all pairs of parts that travel in one way.

        They are products of Gaussians of position and velocity. The velocity of the later points is that of time
        reversed. What is known of the velocity without any point is in both, and is taken out once.
        """
        early, late = self._split(before)[1], self._split(after)[1]
        for way, travel in enumerate(self._habits.travels):
            mine = self._way == way
            f, b = early[:, mine][:, :, None], late[:, mine][:, None]
            weight_f, xf, yf, uf, vf, pf, cf, df = f
            weight_b, xb, yb, ub, vb, pb, cb, db = b
            ub, vb, cb = -ub, -vb, -cb
            size_f, size_b = pf * df - cf * cf, pb * db - cb * cb
            vague = pb > (_VAGUE * self._habits.spread) ** 2
            # Precisions of position, of both together, and of velocity.
            known = 1 / np.maximum(db, travel.speed**2)
            a11, a12, a22 = df / size_f, -cf / size_f, pf / size_f
            b11, b12, b22 = db / size_b, -cb / size_b, pb / size_b
            s11, s12, s22 = a11 + b11, a12 + b12, a22 + b22 - known
            size = s11 * s22 - s12 * s12
            dx, dy, du, dv = xb - xf, yb - yf, ub - uf, vb - vf
            out = []
            square = np.zeros(np.broadcast_shapes(xf.shape, xb.shape))
            for d, e, base, other in ((dx, du, xf, uf), (dy, dv, yf, vf)):
                # Relative to the earlier mean (0, 0): information of the later one, and of the prior taken out.
                i1, i2 = b11 * d + b12 * e, b12 * d + b22 * e + known * other
                m1, m2 = (s22 * i1 - s12 * i2) / size, (s11 * i2 - s12 * i1) / size
                square += b11 * d * d + 2 * b12 * d * e + b22 * e * e - known * other * other - m1 * i1 - m2 * i2
                out.append(base + np.where(vague, 0.0, m1))
            logs = -np.log(np.maximum(size * size_f * size_b * travel.speed**-2, 1e-300)) - square / 2
            logs = np.where(vague, -2 * np.log(self._habits.spread), logs)
            logs = logs + _logs(weight_f) + _logs(weight_b) - np.log(self._habits.shares[1 + way])
            spread = np.where(vague, pf, s22 / size)
            yield tuple(each.reshape(int(mine.sum()) ** 2, -1) for each in (logs, *out, spread))


def _logs(weights: Floats) -> Floats:
    return np.log(np.maximum(weights, 1e-200))
