"""Places that a map names, and a description in words of where a location is."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geoveil.geo.distortion import earth
from geoveil.geo.gazetteer import Towns, towns_near
from geoveil.report.layers import Floats

__all__ = ["Places", "places_around", "where"]

#: The smallest reach in metres of a view, and the fewest inhabitants of a place that it names.
_LEVELS = (1e6, 500_000), (1.2e5, 30_000), (0.0, 0)
#: The number of parts along each side of a square, and the largest number of places that are named in a part.
_SIDES, _EACH = 10, 3
#: The number of places that are enough for a view, and the largest reach in metres of a view that looks for more.
_SOME, _ISLANDS = 16, 2e6
#: The largest reach in metres of a view that names a place: the first number times the root of the population of the
#: place, but at least the second number.
_FAME, _LEAST = 400.0, 15_000.0
#: Distances in metres, searched in turn for places with at least so many inhabitants; and places of such a population
#: within such a distance, which say more to a reader than a village nearby.
_SEARCHES, _LARGE = ((1e5, 0), (1e6, 0), (3e6, 0), (np.inf, 500_000)), (3e6, 30_000)
#: The smallest radius of a place in metres, and the radius divided by the root of its population.
_HERE, _ROOM = 3_000.0, 5.0
#: A location is described by the place for which the distance divided by this power of the population is smallest;
#: populations below the second number count as that number.
_KNOWN, _FEW = 0.15, 100.0
_POINTS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")


@dataclass(frozen=True, eq=False)
class Places:
    """Cities, towns and villages, the most important first."""

    #: The name and the country of each.
    names: NDArray[np.object_]
    countries: NDArray[np.object_]
    #: (n, 2): their locations in metres of the map.
    flat: Floats
    #: Their inhabitants, roughly; 0 if unknown.
    populations: Floats

    @property
    def reaches(self) -> Floats:
        """Half the side of the widest view that should name each, in metres."""
        return np.maximum(_FAME * np.sqrt(self.populations), _LEAST)

    def taken(self, rows: NDArray[np.intp]) -> Places:
        """Return the places in some rows."""
        return Places(self.names[rows], self.countries[rows], self.flat[rows], self.populations[rows])


def places_around(
    to_map: Callable[[Floats], Floats], lon: float, lat: float, squares: Sequence[tuple[float, float]]
) -> Places:
    """Return the largest places in nested squares around a location, evenly spread.

    Parameters
    ----------
    to_map, lon, lat : callable, float, float
        As for `ground_around`.
    squares : sequence of (float, float)
        Half the sides of an inner and an outer square, in metres; places between the two are returned.
    """
    parts = [vars(_places_in(to_map, lon, lat, *square)).values() for square in squares]
    every = Places(*map(np.concatenate, zip(*parts, strict=True)))
    return every.taken(np.argsort(-every.populations, kind="stable"))


def _places_in(to_map: Callable[[Floats], Floats], lon: float, lat: float, inner: float, reach: float) -> Places:
    """Return places between two squares, a few in each part of the outer one."""
    # Where few places are large enough, as on islands, smaller ones are named.
    for least in (people for widest, people in _LEVELS if reach >= widest):
        towns = towns_near(lon, lat, 1.5 * reach, least)
        flat = to_map(towns.degrees)
        far = np.abs(flat).max(axis=1, initial=0.0)
        rows = np.flatnonzero((far < reach) & (far >= inner))
        if len(rows) >= _SOME or inner or reach > _ISLANDS:
            break
    rows = rows[np.argsort(-towns.populations[rows], kind="stable")]
    _, part = np.unique(np.floor(flat[rows] * (_SIDES / 2 / reach)), axis=0, return_inverse=True)
    names, countries = (np.array(texts, dtype=object) for texts in (towns.names, towns.countries))
    return Places(names, countries, flat, towns.populations).taken(rows[_turns(part) < _EACH])


def _turns(part: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many earlier rows belong to the part of each row."""
    order = np.argsort(part, kind="stable")
    turns = np.empty(len(part), dtype=np.int64)
    turns[order] = np.arange(len(part)) - np.searchsorted(part[order], part[order])
    return turns


def where(lon: float, lat: float) -> str:
    """Return where a location is in words: the city that it lies in, or the direction and distance from one nearby.

    Examples
    --------
    >>> where(36.82, -1.29), where(-150.0, 12.0)
    ('Nairobi, Kenya.', '1,327 km south-east of Honolulu, Hawaii, United States.')
    """
    near = next(towns for search in _SEARCHES if (towns := towns_near(lon, lat, *search)).names)
    described = []
    for towns in (near, towns_near(lon, lat, *_LARGE)):
        here = np.broadcast_to([[lon], [lat]], (2, len(towns.names)))
        _, back, away = earth().inv(*here, *towns.degrees.T)
        # The radius of a city grows with its population.
        inside = np.flatnonzero(away < np.maximum(_HERE, _ROOM * np.sqrt(towns.populations)))
        if len(inside):
            return f"{_title(towns, inside[towns.populations[inside].argmax()])}."
        distance = away / np.maximum(towns.populations, _FEW) ** _KNOWN
        if len(distance):
            row = distance.argmin()
            towards = _POINTS[round(float(back[row]) / 45) % 8]
            described.append((distance[row], f"{away[row] / 1000:,.0f} km {towards} of {_title(towns, row)}."))
    return min(described)[1]


def _title(towns: Towns, row: np.integer) -> str:
    """Return the name of a place with its region and its country, none of them twice."""
    name, region, country = towns.names[row], towns.regions[row], towns.countries[row]
    told = [] if not region or _begins(region, name) or _begins(country, region) else [region]
    return ", ".join(dict.fromkeys([name, *told, country]))


def _begins(longer: str, name: str) -> bool:
    """Return whether a name begins with all words of another, whatever their accents.

    Examples
    --------
    >>> _begins("Nairobi County", "Nairobi"), _begins("Zurich", "Zürich"), _begins("Yorkshire", "York")
    (True, True, False)
    """
    first, second = (unicodedata.normalize("NFKD", text).encode("ascii", "ignore").lower() for text in (longer, name))
    return first == second or first.startswith(second + b" ")
