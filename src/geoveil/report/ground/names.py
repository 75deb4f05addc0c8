"""Cities, towns and villages around a location, from GeoNames, and a description in words of where a location is."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geoveil.geo.distortion import earth
from geoveil.report.ground.packed import packed_file
from geoveil.report.layers import Floats

__all__ = ["Places", "places_around", "where"]

#: Half the side of a square, divided by the size of the smallest details in it.
_DETAILS = 600.0
#: The number of parts along each side of a square, and the largest number of places that are named in a part.
_SIDES, _EACH = 10, 3
#: The number of places that are enough for a view, and the largest reach in metres of a view that looks for more.
_SOME, _ISLANDS = 16, 2e6
#: The largest reach in metres of a view that names a place: the first number times the root of the population of the
#: place, but at least the second number.
_FAME, _LEAST = 400.0, 15_000.0
#: Levels and distances in metres that are searched in turn for the nearest place; the last has large cities only.
_SEARCHES = (0, 1e5), (0, 1e6), (0, 3e6), (2, 2.1e7)
#: The smallest radius of a place in metres, and the radius divided by the root of its population.
_HERE, _ROOM = 3_000.0, 5.0
#: A location is described by the place for which the distance divided by this power of the population is smallest;
#: populations below the second number count as that number.
_KNOWN, _FEW = 0.15, 100.0
_POINTS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")


@dataclass(frozen=True, eq=False)
class Places:
    """Cities, towns and villages, the most important first.

    Parameters
    ----------
    names : tuple of str
        Their names.
    countries : tuple of str
        The country of each.
    flat : array
        (n, 2): their locations in metres of the map.
    populations : array of int
        Their inhabitants, roughly; 0 if unknown.
    reaches : array
        Half the side of the widest view that should name each, in metres.
    """

    names: tuple[str, ...]
    countries: tuple[str, ...]
    flat: Floats
    populations: NDArray[np.int64]
    reaches: Floats


@dataclass(frozen=True, eq=False)
class _Known:
    """Places of the file: their names, the regions and countries that they lie in, degrees and populations."""

    names: list[str]
    within: list[str]
    degrees: Floats
    populations: Floats

    def title(self, row: int) -> str:
        """Return the name of a place with its regions and its country, none of them twice."""
        name, *regions, country = [self.names[row], *self.within[row].split(", ")]
        told = [region for region in regions if not (_begins(region, name) or _begins(country, region))]
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


def _read(level: int, lon: float, lat: float, distance: float) -> _Known:
    """Return the places of all blocks that may reach within a distance, in metres, of a location."""
    packed = packed_file("places")
    blocks = [_block(block) for block in packed.blocks(level, lon, lat, distance)]
    if not blocks:
        return _Known([], [], np.empty((0, 2)), np.empty(0))
    return _Known(
        [name for block in blocks for name in block.names],
        [name for block in blocks for name in block.within],
        np.concatenate([block.degrees for block in blocks]),
        np.concatenate([block.populations for block in blocks]),
    )


@functools.lru_cache(maxsize=64)
def _block(block: int) -> _Known:
    packed = packed_file("places")
    table = packed.read(block)
    x, y, size = (np.asarray(table[name], dtype=float) for name in ("x", "y", "population"))
    degrees = np.column_stack([x, y]) * packed.unit
    return _Known(table["name"].to_pylist(), table["within"].to_pylist(), degrees, 2 ** (size / 8) - 1)


def places_around(
    to_map: Callable[[Floats], Floats], lon: float, lat: float, squares: Sequence[tuple[float, float]]
) -> Places:
    """Return the largest places in nested squares around a location, evenly spread.

    Parameters
    ----------
    to_map : callable
        Projects (n, 2) degrees to metres of the map, and (lon, lat) to (0, 0).
    lon, lat : float
        The middle of the map, in degrees.
    squares : sequence of (float, float)
        Half the sides of an inner and an outer square, in metres; places between the two are returned.
    """
    found = [_places_in(to_map, lon, lat, *square) for square in squares]
    names = [name for texts, _, _, _ in found for name in texts]
    countries = [name for _, texts, _, _ in found for name in texts]
    flat = np.concatenate([places for _, _, places, _ in found])
    population = np.concatenate([people for _, _, _, people in found])
    order = np.argsort(-population, kind="stable")
    reaches = np.maximum(_FAME * np.sqrt(population[order]), _LEAST)
    chosen, lands = (tuple(texts[row] for row in order) for texts in (names, countries))
    return Places(chosen, lands, flat[order], population[order].astype(np.int64), reaches)


def _places_in(
    to_map: Callable[[Floats], Floats], lon: float, lat: float, inner: float, reach: float
) -> tuple[list[str], list[str], Floats, Floats]:
    """Return names, countries, locations and populations between two squares, a few in each part of the outer one."""
    # Where a level has few places, as on islands, the finer one names more.
    for level in range(packed_file("places").level(reach / _DETAILS), -1, -1):
        known = _read(level, lon, lat, 1.5 * reach)
        flat = to_map(known.degrees)
        far = np.abs(flat).max(axis=1, initial=0.0)
        rows = np.flatnonzero((far < reach) & (far >= inner))
        if len(rows) >= _SOME or inner or reach > _ISLANDS:
            break
    rows = rows[np.argsort(-known.populations[rows], kind="stable")]
    _, part = np.unique(np.floor(flat[rows] * (_SIDES / 2 / reach)), axis=0, return_inverse=True)
    # The rank of each place in its part, by population.
    order = np.argsort(part, kind="stable")
    first = np.searchsorted(part[order], part[order])
    turn = np.empty(len(rows), dtype=np.int64)
    turn[order] = np.arange(len(rows)) - first
    rows = rows[turn < _EACH]
    countries = [known.within[row].rpartition(", ")[2] for row in rows]
    return [known.names[row] for row in rows], countries, flat[rows], known.populations[rows]


def where(lon: float, lat: float) -> str:
    """Return where a location is in words: the city that it lies in, or the direction and distance from one nearby.

    Examples
    --------
    >>> where(36.82, -1.29), where(-150.0, 12.0)
    ('Nairobi, Kenya.', '1,327 km south-east of Honolulu, Hawaii, United States.')
    """
    known, back, away = _nearest(lon, lat)
    # The radius of a city grows with its population.
    inside = np.flatnonzero(away < np.maximum(_HERE, _ROOM * np.sqrt(known.populations)))
    if len(inside):
        row = inside[known.populations[inside].argmax()]
        return f"{known.title(int(row))}."
    # A city farther away says more to a reader than a village nearby.
    row = (away / np.maximum(known.populations, _FEW) ** _KNOWN).argmin()
    towards = _POINTS[round(float(back[row]) / 45) % 8]
    return f"{away[row] / 1000:,.0f} km {towards} of {known.title(int(row))}."


def _nearest(lon: float, lat: float) -> tuple[_Known, Floats, Floats]:
    """Return places around a location, the direction from each of them to the location, and their distances."""
    for level, distance in _SEARCHES:
        known = _read(level, lon, lat, distance)
        here = [np.full(len(known.names), at) for at in (lon, lat)]
        _, back, away = earth().inv(here[0], here[1], *known.degrees.T)
        if np.min(away, initial=np.inf) <= distance:
            break
    return known, back, away
