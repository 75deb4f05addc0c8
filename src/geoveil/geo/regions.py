"""Names of regions in PROJ's database, which are public knowledge."""

from __future__ import annotations

import difflib
import functools
from typing import Any

__all__ = ["alike", "plain", "regions"]

#: Endings of names that mean the whole of a country.
_WHOLE = (" - onshore and offshore", " - onshore")


def alike(given: Any) -> str:
    """Return the names of similar regions, for an error about a name that is not known."""
    if not isinstance(given, str):
        return ""
    name = plain(given)
    holding = sorted((key for key in regions() if name and name in key), key=len)
    near = holding or difflib.get_close_matches(name, [*regions()], n=3)
    titles = dict.fromkeys(regions()[key][0] for key in near)
    return f" Regions of such a name: {', '.join(map(repr, [*titles][:3]))}." if titles else ""


def plain(name: str) -> str:
    """Return a name in small letters, without spaces and dots at its ends."""
    return name.rstrip(". ").strip().casefold()


@functools.cache
def regions() -> dict[str, tuple[str, tuple[float, float, float, float]]]:
    """Return the regions of PROJ's database by name, in small letters; a country is its land and sea."""
    from pyproj.database import query_crs_info

    known: dict[str, tuple[str, Any]] = {}
    for info in query_crs_info():
        if info.area_of_use is None:
            continue
        name, bounds = str(info.area_of_use.name), info.area_of_use.bounds
        before = known.setdefault(plain(name), (name.rstrip(". "), bounds))
        if _extent(bounds) > _extent(before[1]):  # a few names have two
            known[plain(name)] = (before[0], bounds)
    known = dict(sorted(known.items()))
    for ending in _WHOLE:
        for name, found in list(known.items()):
            if name.endswith(ending):
                known.setdefault(name.removesuffix(ending), found)
    # A country that only stands beside others, as in "Liechtenstein; Switzerland", by the shortest such list.
    lists: dict[str, list[str]] = {}
    for name in sorted(known, key=lambda name: name.count(";")):
        countries = [_country(part) for part in name.split("; ")]
        if len(countries) > 1 and not any(" - " in country for country in countries):
            for country in countries:
                lists.setdefault(country, []).append(name)
    for country, names in lists.items():
        if len(names) == 1 or names[0].count(";") < names[1].count(";"):
            known.setdefault(country, known[names[0]])
    # A part of a country by its own name, unless two countries have one.
    parts: dict[str, list[str]] = {}
    for name in known:
        parts.setdefault(name.rpartition(" - ")[2], []).append(name)
    for part, names in parts.items():
        if len(names) == 1:
            known.setdefault(part, known[names[0]])
    return known


def _country(part: str) -> str:
    for ending in _WHOLE:
        part = part.removesuffix(ending)
    return part


def _extent(bounds: Any) -> float:
    west, south, east, north = bounds
    return float((east - west) % 360 * (north - south))
