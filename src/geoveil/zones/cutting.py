"""Cut tracks: from public discs and points to the points outside the discs and the pieces of track that they make.

First the cut: whether a point is removed depends on its position and the discs alone. Everything else is computed from
the points that are left. So two sets of tracks that differ only where discs cover both give the same result.

The cut takes its decisions exactly. Where doubles cannot tell on which side of an edge a point is, balls of any
precision do. They always can: with whole numbers of metres as radii, no point in degrees is on an edge, since its side
of the equation is an algebraic number and the other is not (Lindemann).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.discs import RADIUS
from geoveil.noise import settled
from geoveil.noise.reals import Floats
from geoveil.zones.zone import Zone

__all__ = [
    *("GAP", "Cut", "cut", "distances", "kept_points", "piece_numbers", "pieces_of", "shortened", "time_order"),
    "travelled",
]

#: Seconds between two published points after which a new piece begins.
GAP = 600.0
#: Doubles decide unless a squared sine is within this share of the threshold; their error is at most 2^-29 of it.
_DOUBT = 2.0**-24
#: The side in metres of the squares in which tracks are taken to run together.
_CELL = 30.0


def kept_points(zones: Sequence[Zone], degrees: Floats) -> NDArray[np.bool_]:
    """Return which points are outside all zones, given longitudes and latitudes, (n, 2).

    A point is removed if its distance from a centre on the public sphere is at most the radius.

    Examples
    --------
    >>> from geoveil.zones import Hiding, Zone, kept_points
    >>> zone = Zone("a1", (4737000, 854000), Hiding.of(hide=200))
    >>> kept_points([zone], np.array([[8.54, 47.37], [8.54, 47.38]])).tolist()
    [False, True]
    """
    degrees = np.asarray(degrees, dtype=float)
    kept = np.ones(len(degrees), dtype=bool)
    for zone in zones:
        square = _squared_sine(zone, degrees)
        threshold = np.sin(zone.radius / (2 * RADIUS)) ** 2
        outside = square > threshold
        for i in np.flatnonzero(np.abs(square - threshold) <= _DOUBT * threshold):
            outside[i] = _is_outside(zone, *degrees[i])
        kept &= outside
    return kept


def distances(zone: Zone, degrees: Floats) -> Floats:
    """Return the distances in metres, on the public sphere, from the centre of a zone to points."""
    return 2 * RADIUS * np.arcsin(np.sqrt(np.minimum(_squared_sine(zone, np.asarray(degrees, dtype=float)), 1)))


def _squared_sine(zone: Zone, degrees: Floats) -> Floats:
    """Return the squared sine of half the angle from the centre of a zone to each point."""
    half = np.pi / 360
    up, across = np.sin((degrees[:, 1] - zone.lat) * half), np.sin((degrees[:, 0] - zone.lon) * half)
    cosines = np.cos(np.radians(degrees[:, 1])) * np.cos(np.radians(zone.lat))
    return np.asarray(up * up + cosines * across * across)


def _is_outside(zone: Zone, lon: float, lat: float) -> bool:
    """Decide exactly whether a point is outside a zone."""

    def attempt(bits: int) -> bool | None:
        from flint import arb

        # The decimals of the centre, not the doubles that are nearest to them.
        at, over = (arb(step) / 100_000 for step in zone.steps)
        up, across = ((arb(float(lat)) - at) / 360).sin_pi(), ((arb(float(lon)) - over) / 360).sin_pi()
        square = up * up + (arb(float(lat)) / 180).cos_pi() * (at / 180).cos_pi() * across * across
        threshold = (arb(zone.radius) / (2 * RADIUS)).sin() ** 2
        return True if square > threshold else False if square < threshold else None

    return settled(attempt)


@dataclass(frozen=True)
class Cut:
    """Tracks after the cut.

    Parameters
    ----------
    rows : array of int
        The positions in the input of the points that are published, in their order.
    pieces : array of int
        The number of the piece of each of them, from 0 in the order in which they begin.
    """

    rows: NDArray[np.int64]
    pieces: NDArray[np.int64]


def cut(
    zones: Sequence[Zone],
    degrees: Floats,
    seconds: Floats | None = None,
    tracks: NDArray[np.int64] | None = None,
    *,
    gap: float = GAP,
    trim: float = 0.0,
    together: int = 1,
) -> Cut:
    """Return the published points of tracks and the pieces that they make.

    Parameters
    ----------
    zones : sequence of Zone
        The public discs.
    degrees : array
        Longitudes and latitudes, (n, 2), in the order of each track.
    seconds : array, optional
        The time of each point; NaN where there is none.
    tracks : array of int, optional
        The number of the track of each point; without it they are all of one track.
    gap : float
        Seconds between two published points after which a new piece begins.
    trim : float
        Metres by which each end of a piece that is near a zone is shortened as well.
    together : int
        Ends of pieces near a zone are shortened to where so many tracks run together.
    """
    degrees = np.asarray(degrees, dtype=float)
    rows = np.flatnonzero(kept_points(zones, degrees))
    # From here on the points that were removed are out of reach.
    degrees = degrees[rows]
    seconds = None if seconds is None else np.asarray(seconds, dtype=float)[rows]
    tracks = np.zeros(len(rows), dtype=np.int64) if tracks is None else np.asarray(tracks)[rows]
    pieces = piece_numbers(zones, degrees, seconds, tracks, gap=gap)
    if trim > 0 or together > 1:
        left = shortened(zones, degrees, pieces, tracks, trim=trim, together=together)
        rows, pieces = rows[left], np.unique(pieces[left], return_inverse=True)[1]
    return Cut(rows, np.asarray(pieces, dtype=np.int64))


def piece_numbers(
    zones: Sequence[Zone],
    degrees: Floats,
    seconds: Floats | None,
    tracks: NDArray[np.int64],
    *,
    gap: float = GAP,
) -> NDArray[np.int64]:
    """Return the piece of each published point.

    A piece ends where the straight line to the next published point of its track meets a zone, or where that point
    is more than `gap` seconds away. That points were removed in between is no reason.

    Examples
    --------
    >>> from geoveil.zones import Hiding, Zone, piece_numbers
    >>> zone = Zone("a1", (4737000, 854000), Hiding.of(hide=200))
    >>> ends = np.array([[8.52, 47.37], [8.53, 47.37], [8.55, 47.37]])
    >>> piece_numbers([zone], ends, None, np.zeros(3, dtype=int)).tolist()
    [0, 0, 1]
    """
    if not len(degrees):
        return np.zeros(0, dtype=np.int64)
    order = np.argsort(tracks, kind="stable")
    new = np.ones(len(degrees), dtype=bool)
    new[1:] = np.diff(tracks[order]) != 0
    if seconds is not None:
        with np.errstate(invalid="ignore"):
            new[1:] |= np.abs(np.diff(seconds[order])) > gap
    at = degrees[order]
    for zone in zones:
        new[1:] |= _meets(zone, at[:-1], at[1:])
    found = np.empty(len(degrees), dtype=np.int64)
    found[order] = np.cumsum(new) - 1
    # Numbered in the order in which pieces begin.
    _, first, which = np.unique(found, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[which], dtype=np.int64)


def time_order(seconds: Floats | None, tracks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return published points in the order of their times, if tracks run neither forwards nor backwards.

    Points whose times are not all known stay as they are.

    Examples
    --------
    >>> from geoveil.zones.cutting import time_order
    >>> time_order(np.array([0.0, 20.0, 10.0]), np.zeros(3, dtype=int)).tolist()
    [0, 2, 1]
    """
    as_they_are = np.arange(len(tracks))
    if seconds is None or np.isnan(seconds).any():
        return as_they_are
    order = np.argsort(tracks, kind="stable")
    steps = np.diff(seconds[order])[np.diff(tracks[order]) == 0]
    forwards_or_backwards = (steps >= 0).all() or (steps <= 0).all()
    return as_they_are if forwards_or_backwards else np.argsort(seconds, kind="stable")


def pieces_of(degrees: Floats, pieces: NDArray[np.int64]) -> list[Floats]:
    """Return the points of each piece, given the piece of each point."""
    order = np.argsort(pieces, kind="stable")
    parts = np.split(degrees[order], np.flatnonzero(np.diff(pieces[order])) + 1)
    return parts if len(order) else []


def _meets(zone: Zone, start: Floats, stop: Floats) -> NDArray[np.bool_]:
    """Return which straight lines between points outside a zone meet it, in the plane of the chords from its centre.

    Seen from the centre, a point at distance r on the sphere has the chord 2·RADIUS·sin(r/(2·RADIUS)) in its direction
    (Lambert's azimuthal projection). Lines of many kilometres bend by less than a metre in a hundred of them.
    """
    one, other = around(zone, start), around(zone, stop)
    along = other - one
    length = np.maximum((along**2).sum(axis=1), 1e-12)
    share = np.clip(-(one * along).sum(axis=1) / length, 0, 1)
    nearest = one + share[:, None] * along
    return np.asarray(np.hypot(*nearest.T) <= zone.radius)


def around(zone: Zone, degrees: Floats) -> Floats:
    """Return points in metres around the centre of a zone, in Lambert's azimuthal projection of the sphere."""
    lon, lat = np.radians(degrees[:, 0] - zone.lon), np.radians(degrees[:, 1])
    at = np.radians(zone.lat)
    east = np.cos(lat) * np.sin(lon)
    north = np.cos(at) * np.sin(lat) - np.sin(at) * np.cos(lat) * np.cos(lon)
    upward = np.sin(at) * np.sin(lat) + np.cos(at) * np.cos(lat) * np.cos(lon)
    return np.asarray(np.column_stack([east, north]) * (RADIUS * np.sqrt(2 / np.maximum(1 + upward, 1e-12)))[:, None])


def shortened(
    zones: Sequence[Zone],
    degrees: Floats,
    pieces: NDArray[np.int64],
    tracks: NDArray[np.int64],
    *,
    trim: float = 0.0,
    together: int = 1,
    near: float = 300.0,
) -> NDArray[np.int64]:
    """Return which published points are left when the ends of pieces near zones are shortened.

    Parameters
    ----------
    zones, degrees, pieces, tracks
        What is published: nothing else is looked at.
    trim : float
        Metres of track that are taken off each end.
    together : int
        Each end is taken off up to the first point in a square of 30 m through which so many tracks run.
    near : float
        Metres from the edge of a zone within which an end is one at that zone.
    """
    left = np.ones(len(degrees), dtype=bool)
    shared = _shared_cells(degrees, tracks) if together > 1 else np.zeros(len(degrees), dtype=np.int64)
    order = np.argsort(pieces, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(pieces[order])) + 1) if len(order) else ():
        for inward in (members, members[::-1]):
            end = degrees[inward[:1]]
            if not any(distances(zone, end)[0] <= zone.radius + near for zone in zones):
                continue
            gone = travelled(degrees[inward]) < trim
            if together > 1:
                joined = shared[inward] >= together
                gone |= np.cumsum(joined) == 0
            left[inward[gone]] = False
    return np.flatnonzero(left)


def travelled(degrees: Floats) -> Floats:
    """Return the length in metres on the public sphere of a track up to each of its points."""
    if not len(degrees):
        return np.zeros(0)
    half = np.pi / 360
    up, across = np.sin(np.diff(degrees[:, 1]) * half), np.sin(np.diff(degrees[:, 0]) * half)
    cosines = np.cos(np.radians(degrees[:, 1]))
    steps = 2 * RADIUS * np.arcsin(np.sqrt(np.minimum(up * up + cosines[:-1] * cosines[1:] * across * across, 1)))
    return np.concatenate([[0.0], np.cumsum(steps)])


def _shared_cells(degrees: Floats, tracks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each point how many tracks have a point in its square of a public grid."""
    north = np.floor(np.radians(degrees[:, 1]) * RADIUS / _CELL)
    # The width of squares is that of their row's southern edge.
    width = np.maximum(np.cos(north * _CELL / RADIUS), 1e-6)
    east = np.floor(np.radians(degrees[:, 0]) * width * RADIUS / _CELL)
    _, cells = np.unique(np.column_stack([north, east]), axis=0, return_inverse=True)
    cells = cells.ravel()
    visits = np.unique(np.column_stack([cells, tracks]), axis=0)
    return np.bincount(visits[:, 0], minlength=int(cells.max()) + 1)[cells] if len(cells) else cells
