"""Attacks on cut tracks: how near somebody comes to a hidden place who has what is published, and a map of roads.

They are for the owner, who knows the place: what they return tells where it is. No theorem bounds them, as the promise
of zones is about what lies inside alone. Each attack returns metres around the centre of the zone, east and north.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import Message
from geoveil.geo.geometries import ground_length
from geoveil.noise.reals import Floats
from geoveil.text.words import counted, metres
from geoveil.zones.certificate import Rules
from geoveil.zones.cutting import around, cut, distances, pieces_of, travelled
from geoveil.zones.places import HiddenPlace
from geoveil.zones.zone import Zone

__all__ = [
    *("SHORTENED", "Attempt", "Roads", "attempts", "fit_circle", "follow_headings", "follow_roads", "meet_lines"),
    "zone_ends",
]

#: Ways to shorten tracks that are compared.
SHORTENED = (Rules(), Rules(trim=200.0), Rules(trim=500.0), Rules(together=2), Rules(together=5))

#: Metres from the edge of a zone within which a piece of track ends at it: usually, and if ends are where tracks meet.
_NEAR, _JOINED = 300.0, 1000.0
#: Metres of track beyond an end that an attacker looks at.
_BEYOND = 2500.0
#: Metres over which the direction at an end is taken.
_HEADING = 60.0
#: Side in metres of the cells of a map of roads, and the longest step between two points of one road.
_CELL, _STEP = 30.0, 150.0
#: What a row of cells adds to the number of a cell; columns are between minus and plus half of it.
_ROW = 2**24
#: Concentration of directions around that of the place, and the share of tracks that go elsewhere first.
_STRAIGHT, _ASTRAY = 3.0, 0.3
#: Metres of detour that a traveller hardly notices.
_DETOUR = 100.0
#: The likelihood of an exit that does not follow from the roads.
_ANY_EXIT = 0.1
#: The share of a disc near known roads that a map must have to be used, and the weight of places without a road.
_KNOWN, _UNKNOWN = 0.1, 0.3
#: How many times farther an attacker must be for a way to shorten tracks to be called a help.
_GAIN = 1.25
#: Ends of tracks whose ways are found at a time.
_TOGETHER = 200
#: Points along the radius of the grid on which places are sought.
_RADIAL = 18


def zone_ends(zone: Zone, degrees: Floats, pieces: NDArray[np.int64], rules: Rules | None = None) -> list[Floats]:
    """Return the ends of pieces at a zone: for each, its points from the end away, in metres around the centre.

    The rules by which tracks are shortened are public: the attacker looks for ends where they leave some.
    """
    rules = Rules() if rules is None else rules
    near = zone.radius + rules.trim + (_JOINED if rules.together > 1 else _NEAR)
    found = []
    for piece in pieces_of(degrees, pieces):
        for away in (piece, piece[::-1]):
            if distances(zone, away[:1])[0] <= near:
                found.append(around(zone, away[travelled(away) <= _BEYOND]))
    return found


def fit_circle(ends: Sequence[Floats], radius: float, doubt: float = 3.0) -> Floats:
    """Return the middle of the circle of this radius at which tracks end, by least squares that bear outliers.

    A track that enters the circle has its last point up to one step outside of it: half a step on average. `doubt` is
    how far off in metres a circle is besides: far, if each track has another one.
    """
    from scipy.optimize import least_squares

    at = np.array([path[0] for path in ends])
    steps = np.array([np.hypot(*(path[min(1, len(path) - 1)] - path[0])) for path in ends]) / 2
    scale = steps + doubt

    def misses(centre: Floats) -> Floats:
        return np.asarray((np.hypot(*(at - centre).T) - radius - steps) / scale)

    turns, shares = (
        each.ravel() for each in np.meshgrid(np.arange(24) * math.pi / 12, (0.0, 0.4, 0.7, 0.9, 1.0, 1.1))
    )
    starts = at.mean(axis=0) + radius * (shares * np.array([np.cos(turns), np.sin(turns)])).T
    costs = [float(np.log1p(misses(start) ** 2).sum()) for start in starts]
    fits = [least_squares(misses, starts[i], loss="cauchy") for i in np.argsort(costs)[:3]]
    return np.asarray(min(fits, key=lambda fit: fit.cost).x)


def _directions(ends: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return the ends that have a direction, and their directions towards the zone, of length one."""
    at, toward = [], []
    for path in ends:
        far = np.flatnonzero(np.hypot(*(path - path[0]).T) >= _HEADING)
        if len(far):
            step = path[0] - path[far[0]]
            at.append(path[0])
            toward.append(step / np.hypot(*step))
    return np.array(at).reshape(-1, 2), np.array(toward).reshape(-1, 2)


def meet_lines(ends: Sequence[Floats]) -> Floats:
    """Return the place that is nearest to all lines on which tracks enter the zone, by least squares."""
    at, toward = _directions(ends)
    if not len(at):
        return np.zeros(2)
    across = np.eye(2) - toward[:, :, None] * toward[:, None, :]
    left = across.sum(axis=0) + 1e-9 * np.eye(2)
    return np.asarray(np.linalg.solve(left, (across @ at[:, :, None]).sum(axis=0)[:, 0]))


def _candidates(zone: Zone) -> tuple[Floats, Floats]:
    """Return places where the hidden one may be, and the logarithms of their probabilities, given the centre alone."""
    step = zone.hiding.law.reach / _RADIAL
    line = np.arange(-_RADIAL, _RADIAL + 1) * step
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    prior = zone.hiding.law.density(np.hypot(*grid.T))
    return grid[prior > 0], np.log(prior[prior > 0])


def _best_guess(places: Floats, log_weights: Floats) -> Floats:
    """Return the place with the least expected distance from the hidden one."""
    weights = np.exp(log_weights - log_weights.max())
    apart = np.hypot(places[:, None, 0] - places[None, :, 0], places[:, None, 1] - places[None, :, 1])
    return np.asarray(places[np.argmin(apart @ weights)])


def follow_headings(zone: Zone, ends: Sequence[Floats]) -> Floats:
    """Return the best guess of somebody who knows the centre, and that tracks mostly enter towards the place."""
    places, log_weights = _candidates(zone)
    for at, toward in zip(*_directions(ends), strict=True):
        way = places - at
        cosine = (way @ toward) / np.maximum(np.hypot(*way.T), 1.0)
        straight = np.exp(_STRAIGHT * (cosine - 1)) / (2 * math.pi * np.i0(_STRAIGHT) * math.exp(-_STRAIGHT))
        log_weights = log_weights + np.log((1 - _ASTRAY) * straight + _ASTRAY / (2 * math.pi))
    return _best_guess(places, log_weights)


@dataclass(frozen=True)
class Roads:
    """A map of roads around a zone, made of lines: other tracks, or a base map.

    Parameters
    ----------
    zone : Zone
        The zone.
    lines : sequence of array
        Longitudes and latitudes along each line.
    """

    zone: Zone
    lines: Sequence[Floats] = field(repr=False)

    @cached_property
    def _graph(self) -> tuple[Floats, NDArray[np.int64], Floats]:
        """The middles of cells with a road, pairs of neighbouring ones, and the lengths between them."""
        cells, pairs = [], []
        count = 0
        for line in self.lines:
            at = around(self.zone, np.asarray(line, dtype=float).reshape(-1, 2))
            near = np.hypot(*at.T) <= self.zone.radius + _BEYOND
            for part in np.split(at, np.flatnonzero(np.diff(near) != 0) + 1):
                if len(part) < 2 or np.hypot(*part[0]) > self.zone.radius + _BEYOND:
                    continue
                dense = _dense(part)
                numbers = np.arange(count, count + len(dense))
                steps = np.hypot(*np.diff(dense, axis=0).T)
                cells.append(np.floor(dense / _CELL).astype(np.int64) @ [_ROW, 1])
                pairs.append(np.column_stack([numbers[:-1], numbers[1:]])[steps <= _CELL])
                count += len(dense)
        if not cells:
            return np.empty((0, 2)), np.empty((0, 2), dtype=np.int64), np.empty(0)
        found, which = np.unique(np.concatenate(cells), return_inverse=True)
        low, high = np.sort(which[np.concatenate(pairs)], axis=1).T
        joined = np.column_stack(np.divmod(np.unique((low * len(found) + high)[low != high]), len(found)))
        rows = np.rint(found / _ROW)
        middles = (np.column_stack([rows, found - rows * _ROW]) + 0.5) * _CELL
        lengths = np.hypot(*(middles[joined[:, 0]] - middles[joined[:, 1]]).T)
        return middles, joined, lengths

    @property
    def cells(self) -> Floats:
        """The middles of cells with a road, in metres around the centre."""
        return self._graph[0]

    def nearest(self, places: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Return the distance from each place to the nearest cell with a road, and the number of that cell."""
        from scipy.spatial import cKDTree

        apart, which = cKDTree(self.cells).query(places)
        return np.asarray(apart), np.asarray(which)

    def lengths_from(self, cells: NDArray[np.int64]) -> Floats:
        """Return the length of the shortest way from each of these cells to every cell; infinite without one."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import dijkstra

        middles, joined, lengths = self._graph
        graph = coo_matrix((lengths, (joined[:, 0], joined[:, 1])), shape=(len(middles), len(middles)))
        return np.asarray(dijkstra(graph.tocsr(), directed=False, indices=cells))


def _dense(line: Floats) -> Floats:
    """Return a line with points at most half a cell apart; steps that are too long for a road are left as they are."""
    steps = np.hypot(*np.diff(line, axis=0).T)
    parts = np.where(steps <= _STEP, np.maximum(np.ceil(2 * steps / _CELL), 1), 1).astype(np.int64)
    start = np.repeat(np.arange(len(steps)), parts)
    share = (np.arange(len(start)) - np.repeat(np.cumsum(parts) - parts, parts)) / np.repeat(parts, parts)
    return np.concatenate([line[start] + share[:, None] * (line[start + 1] - line[start]), line[-1:]])


def follow_roads(zone: Zone, ends: Sequence[Floats], roads: Roads) -> Floats:
    """Return the best guess of somebody who knows the centre and the roads, and that travellers avoid detours.

    A place is likely if the way from it through the end of a track to where the track goes on is hardly longer than
    the shortest way there.
    """
    places, log_weights = _candidates(zone)
    if not len(ends) or not len(roads.cells):
        return follow_headings(zone, ends)
    off, cell = roads.nearest(places)
    on_road = off <= 2 * _CELL
    if on_road.mean() < _KNOWN:
        return follow_headings(zone, ends)
    # Few people live far from a road, but the map may lack theirs.
    log_weights = log_weights + np.where(on_road, 0.0, math.log(_UNKNOWN))
    near, exits = roads.nearest(np.array([path[0] for path in ends]))
    beyond, targets = roads.nearest(np.array([path[-1] for path in ends]))
    usable = np.flatnonzero((near <= 2 * _CELL) & (beyond <= 2 * _CELL))
    for some in np.array_split(usable, len(usable) // _TOGETHER + 1):
        from_exits, from_goals = roads.lengths_from(exits[some]), roads.lengths_from(targets[some])
        through = from_exits[:, cell] + np.take_along_axis(from_exits, targets[some, None], axis=1)
        with np.errstate(invalid="ignore"):
            detours = np.where(np.isfinite(through), np.maximum(through - from_goals[:, cell], 0), np.inf)
        likely = (1 - _ASTRAY) * np.exp(-detours / _DETOUR) + _ASTRAY * _ANY_EXIT
        # Of places without a known road nothing is learned.
        likely = np.where(on_road, likely, likely[:, on_road].mean(axis=1, keepdims=True))
        log_weights = log_weights + np.log(likely).sum(axis=0)
    return _best_guess(places, log_weights)


@dataclass(frozen=True)
class Attempt:
    """How near attacks come to a place, for its owner: it must not be published.

    Parameters
    ----------
    rules : Rules
        The rules by which the tracks were cut.
    ends : int
        The number of ends of pieces at the zone.
    metres : dict
        The distance in metres of the guess of each attack from the place: "centre", which guesses the centre,
        "circle", "lines", "headings" and, with roads, "roads".
    published : float
        The length in metres of what is published.
    """

    rules: Rules
    ends: int
    metres: dict[str, float]
    published: float

    @property
    def nearest(self) -> float:
        """How near somebody comes who uses the best of lines, headings and roads."""
        return min(self.metres[name] for name in ("lines", "headings", "roads") if name in self.metres)

    @classmethod
    def typical(cls, several: Sequence[Attempt]) -> Attempt:
        """Return the medians of attempts on several discs around one place, cut by the same rules."""
        names = dict.fromkeys(name for each in several for name in each.metres)
        found = {name: [each.metres[name] for each in several if name in each.metres] for name in names}
        metres = {name: float(np.median(values)) for name, values in found.items()}
        ends, published = (np.median([getattr(each, name) for each in several]) for name in ("ends", "published"))
        return cls(several[0].rules, int(ends), metres, float(published))

    def told(self, others: Sequence[Attempt], *, roads: bool = False) -> Message:
        """Return in words how near attacks come, and which of some ways to shorten tracks keep them farther away.

        Parameters
        ----------
        others : sequence of Attempt
            Attempts on the same tracks, cut by other rules.
        roads : bool
            Whether the attacker had a map of roads besides the tracks.
        """
        if not self.ends:
            return Message("No track ends at the disc: it is all that points at the place.")
        best = [other for other in others if other.published and other.nearest >= _GAIN * self.nearest + _CELL]
        best.sort(key=lambda other: -other.nearest)
        helps = "; ".join(
            f"{{shorten:{other.rules.shortened}}} ({other.nearest:,.0f} m, and "
            f"{metres(max(self.published - other.published, 0.0), 2)} of track less)"
            for other in best
        )
        return Message(
            "An attacker with the {ends} of your tracks at the disc and {map} comes within {near} of the place; the "
            "centre of the disc is {centre} from it. "
            + (f"What helps: {helps}. " if best else "No way to shorten tracks that was tried helps much. ")
            + "A new place gets a larger disc if a longer distance is hidden. This is measured, and not promised.",
            ends=counted(self.ends, "end"),
            map="a map of roads" if roads else "the roads that they show",
            near=f"{self.nearest:,.0f} m",
            centre=f"{self.metres['centre']:,.0f} m",
        )


def attempts(
    zone: Zone,
    place: HiddenPlace,
    degrees: Floats,
    seconds: Floats | None = None,
    tracks: NDArray[np.int64] | None = None,
    *,
    zones: Sequence[Zone] | None = None,
    rules: Iterable[Rules] = SHORTENED,
    roads: Sequence[Floats] | None = None,
) -> list[Attempt]:
    """Attack one's own tracks, cut by each of several rules, and return how near the attacks come. For the owner.

    Parameters
    ----------
    zone, place
        The zone, and the place that it hides.
    degrees, seconds, tracks
        The whole tracks, as for `cut`.
    zones : sequence of Zone, optional
        All zones by which the tracks are cut; by default this one.
    rules : sequence of Rules
        The rules to compare.
    roads : sequence of array, optional
        Longitudes and latitudes along roads: a base map, or other people's tracks. By default the attacker has the
        published pieces alone as a map.

    Examples
    --------
    >>> from geoveil.noise import source_of
    >>> from geoveil.zones import Centres, Hiding, attempts, places_of
    >>> [home] = places_of("47.37,8.54")
    >>> [zone] = Centres(folder / "centres.json").zones([home], Hiding.of(hide=200), source_of(None))
    >>> away = np.column_stack([np.full(300, 8.54), 47.37 + np.arange(300) * 1e-4])
    >>> across = np.column_stack([8.54 + np.arange(300) * 1e-4, np.full(300, 47.37)])
    >>> found = attempts(zone, home, np.concatenate([away, across]), tracks=np.repeat([0, 1], 300))
    >>> found[0].ends, found[0].metres["lines"] < 10
    (2, True)
    """
    zones = [zone] if zones is None else zones
    home = around(zone, np.array([[place.lon, place.lat]]))[0]
    found = []
    for rule in rules:
        kept = cut(zones, degrees, seconds, tracks, gap=rule.gap, trim=rule.trim, together=rule.together)
        shown = degrees[kept.rows]
        parts = pieces_of(shown, kept.pieces)
        ends = zone_ends(zone, shown, kept.pieces, rule)
        guesses = {"centre": np.zeros(2)}
        if ends:
            guesses["circle"] = fit_circle(ends, zone.radius + rule.trim)
            guesses["lines"] = meet_lines(ends)
        guesses["headings"] = follow_headings(zone, ends)
        guesses["roads"] = follow_roads(zone, ends, Roads(zone, parts if roads is None else [*parts, *roads]))
        metres = {name: float(np.hypot(*(guess - home))) for name, guess in guesses.items()}
        found.append(Attempt(rule, len(ends), metres, sum(map(ground_length, parts))))
    return found
