"""Cities, towns and villages by their location, from the file of the gazetteer."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geoveil.geo.gazetteer import Floats, ground_distances, place_file

__all__ = ["Towns", "towns_near"]

#: The largest population of a place that is in no gazetteer. The first row group of the file is the gazetteer; each of
#: the others has the smaller places of a block of degrees.
_SMALL = 15_000


@dataclass(frozen=True, eq=False)
class Towns:
    """Cities, towns and villages.

    Parameters
    ----------
    names, regions, countries : list of str
        The name, the first-order region and the country of each; a region is empty if there is none.
    degrees : array
        (n, 2): longitudes and latitudes.
    populations : array
        The number of inhabitants, of villages to two digits; 0 if unknown.
    """

    names: list[str]
    regions: list[str]
    countries: list[str]
    degrees: Floats
    populations: Floats


def towns_near(lon: float, lat: float, distance: float, least: int = 0) -> Towns:
    """Return the places within a distance of a location, in metres, that have at least so many inhabitants.

    Of many places that are close together, the gazetteer marks the largest: only those are returned.

    Examples
    --------
    >>> towns_near(36.82, -1.29, 30_000, least=1_000_000).names
    ['Nairobi']
    """
    west, north, half = _blocks()
    near = np.flatnonzero((ground_distances(lat, lon, north, west) <= distance + half) & (least <= _SMALL))
    parts = []
    for block in (0, *(near + 1).tolist()):
        texts, degrees, populations = _block(block)
        away = ground_distances(lat, lon, degrees[1], degrees[0])
        rows = np.flatnonzero((away <= distance) & (populations >= least))
        parts.append((texts[:, rows], degrees[:, rows], populations[rows]))
    texts, degrees, populations = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    names, countries, regions = texts.tolist()
    titles = _titles()
    return Towns(
        names,
        [titles.get(code, "") for code in zip(countries, regions, strict=True)],
        [titles[code, ""] for code in countries],
        degrees.T,
        populations,
    )


@functools.cache
def _blocks() -> tuple[Floats, Floats, Floats]:
    """Return the longitudes and latitudes of the middles of blocks, and half their diameters in metres."""
    west, north, half = np.array(json.loads(place_file().metadata.metadata[b"blocks"]), dtype=float).T
    return west, north, half


@functools.lru_cache(maxsize=64)
def _block(block: int) -> tuple[NDArray[np.object_], Floats, Floats]:
    """Return names, countries and regions of the places of a block, their degrees and their populations."""
    texts, numbers = ["name", "country", "region"], ["lon", "lat", "population"]
    table = place_file().read_row_group(block, columns=[*texts, *numbers, "named"])
    # Rows are left out before their texts become objects of Python, which takes most of the time.
    table = table.filter(table["named"])
    lon, lat, populations = (np.asarray(table[name], dtype=float) for name in numbers)
    rows = np.array([np.asarray(table[name]) for name in texts], dtype=object)
    return rows, np.array([lon, lat]) * 1e-3, populations


@functools.cache
def _titles() -> dict[tuple[str, str], str]:
    """Return the names of countries and first-order regions by their codes."""
    import pyarrow.compute as pc

    table = place_file().read_row_group(0, columns=["kind", "name", "country", "region"])
    columns = table.filter(pc.not_equal(table["kind"], "city")).drop_columns("kind").to_pydict()
    # A region comes before its parts, and keeps its name.
    return {(country, region): name for name, country, region in reversed([*zip(*columns.values(), strict=True)])}
