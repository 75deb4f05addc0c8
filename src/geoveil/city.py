"""A made-up city with taxis: example data without real persons."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["AREA", "STATION", "generator", "made_up_tracks", "made_up_visits", "write_taxis"]

Floats = NDArray[np.float64]

#: Where the city is: latitude, longitude and radius of the public area.
AREA = (37.77, -122.42, 40_000.0)
#: A public place in it: latitude and longitude.
STATION = (37.7765, -122.3945)
#: Places that people visit, in metres east and north of the middle, and how often each is chosen.
_QUARTERS = np.array(
    [[1900, 2300], [800, 1500], [2200, 700], [-600, 300], [-2600, 1200], [500, -1600], [-3200, -900]], dtype=float
)
_LIKED = np.array([5.0, 4, 3, 3, 2, 2, 1])
#: The direction of streets, 10 degrees from east.
_GRID = np.radians(10.0)
_BLOCK = 120.0
_SPEED = 7.0
_EVERY = 20.0


def write_taxis(path: Path, *, taxis: int = 4, hours: float = 3.0, seed: int = 2026) -> int:
    """Write a day of made-up taxis as CSV: taxi, time, latitude, longitude. The same seed gives the same city.

    Returns
    -------
    int
        The number of points.
    """
    import pandas as pd
    import pyproj

    rng = generator(seed)
    lat, lon, _ = AREA
    back = pyproj.Transformer.from_crs(
        f"+proj=tmerc +lat_0={lat} +lon_0={lon} +datum=WGS84", "EPSG:4326", always_xy=True
    )
    start = pd.Timestamp("2026-05-04T06:00:00Z")
    parts = []
    for number in range(taxis):
        seconds, way = _day(rng, hours * 3600.0)
        east, north = back.transform(*way.T)
        times = (start + pd.to_timedelta(np.round(seconds), unit="s")).strftime("%Y-%m-%dT%H:%M:%SZ")
        parts.append(
            pd.DataFrame(
                {"taxi": f"cab{number + 1:02}", "time": times, "latitude": north.round(6), "longitude": east.round(6)}
            )
        )
    table = pd.concat(parts)
    table.to_csv(path, index=False)
    return len(table)


def generator(seed: int = 2026) -> np.random.Generator:
    """Return the random generator of made-up data. The same seed gives the same data."""
    return np.random.default_rng(seed)


def made_up_visits(count: int, rng: np.random.Generator) -> Floats:
    """Return places that people of a made-up city visit, in metres east and north of its middle."""
    quarters = _QUARTERS[rng.choice(len(_QUARTERS), size=count, p=_LIKED / _LIKED.sum())]
    return np.asarray(quarters + rng.normal(scale=650.0, size=(count, 2)))


def made_up_tracks(steps: Floats, whose: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Return positions of people who travel along the streets of a made-up city, in metres from its middle.

    Parameters
    ----------
    steps : array
        The seconds since the same person's previous point; 0 at the first point of each person.
    whose : array of int
        The number of each point's person; the points of a person are adjacent.
    rng : Generator
        The generator.

    Examples
    --------
    >>> made_up_tracks(np.array([0.0, 20.0, 0.0]), np.array([0, 0, 1]), generator()).shape
    (3, 2)
    """
    tracks = np.empty((len(whose), 2))
    starts = np.flatnonzero(np.diff(whose, prepend=-1))
    # Longer gaps between two points are shortened to this: nobody travels all the time.
    ways = np.minimum(steps, 6 * _EVERY) * _SPEED
    for first, last in pairwise([*starts, len(whose)]):
        along = np.cumsum(ways[first:last])
        corners, length = [_stop(rng)], 0.0
        while length <= along[-1]:
            trip = _streets(corners[-1], _stop(rng), rng)
            length += _length(np.array([corners[-1], *trip]))
            corners += trip
        way = np.array(corners)
        places = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(way, axis=0).T))])
        tracks[first:last] = np.column_stack([np.interp(along, places, axis) for axis in way.T])
    return tracks + rng.normal(scale=6.0, size=tracks.shape)


def _day(rng: np.random.Generator, length: float) -> tuple[Floats, Floats]:
    """Return one taxi's times and positions along the streets."""
    stops = [_stop(rng)]
    corners, at = [stops[0]], 0.0
    while at < length:
        stops.append(_stop(rng))
        trip = _streets(stops[-2], stops[-1], rng)
        at += _length(np.array([corners[-1], *trip])) / _SPEED
        corners += trip
    way = np.array(corners)
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(way, axis=0).T))]) / _SPEED
    seconds = np.cumsum(_EVERY * rng.uniform(0.7, 1.3, size=int(length / _EVERY)))
    seconds = seconds[seconds < min(length, along[-1])]
    places = np.column_stack([np.interp(seconds, along, axis) for axis in way.T])
    # Receivers are off by some metres.
    return seconds, places + rng.normal(scale=6.0, size=places.shape)


def _stop(rng: np.random.Generator) -> Floats:
    quarter = _QUARTERS[rng.choice(len(_QUARTERS), p=_LIKED / _LIKED.sum())]
    return np.asarray(_corner(quarter + rng.normal(scale=650.0, size=2)))


def _turn(angle: float) -> Floats:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def _corner(place: Floats) -> Floats:
    """Return the nearest corner of two streets."""
    return np.asarray(_turn(_GRID) @ (np.round(_turn(-_GRID) @ place / _BLOCK) * _BLOCK))


def _streets(start: Floats, end: Floats, rng: np.random.Generator) -> list[Floats]:
    """Return the corners of a route between two stops along the streets."""
    here, there = _turn(-_GRID) @ start, _turn(-_GRID) @ end
    steps = np.sort(rng.random(2))
    points = [here]
    for share in (*steps, 1.0):
        target = np.round((here + share * (there - here)) / _BLOCK) * _BLOCK if share < 1 else there
        points += [np.array([target[0], points[-1][1]]), target]
    return [np.asarray(_turn(_GRID) @ point) for point in points[1:]]


def _length(way: Floats) -> float:
    return float(sum(np.hypot(*(b - a)) for a, b in pairwise(way)))
