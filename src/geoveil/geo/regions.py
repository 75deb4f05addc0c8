"""Regions of the Earth in PROJ's database, by name: public knowledge."""

from __future__ import annotations

import difflib
import functools
from typing import Any

__all__ = ["folded", "regions", "similar_regions"]

#: Endings of the names of whole countries.
_WHOLE = (" - onshore and offshore", " - onshore")


def similar_regions(given: object) -> str:
    """Return a sentence that names similar regions, for an error about an unknown name."""
    if not isinstance(given, str):
        return ""
    name = folded(given)
    holding = sorted((key for key in regions() if name and name in key), key=len)
    near = holding or difflib.get_close_matches(name, [*regions()], n=3)
    titles = dict.fromkeys(regions()[key][0] for key in near)
    return f" Regions with similar names: {', '.join(map(repr, [*titles][:3]))}." if titles else ""


def folded(name: str) -> str:
    """Return a name in lower case, without spaces and dots at its ends."""
    return name.rstrip(". ").strip().casefold()


@functools.cache
def regions() -> dict[str, tuple[str, tuple[float, float, float, float]]]:
    """Return the titles and bounds of the regions in PROJ's database by folded name; countries include their sea."""
    from pyproj.database import query_crs_info

    known: dict[str, tuple[str, Any]] = {}
    for info in query_crs_info():
        if info.area_of_use is None:
            continue
        name, bounds = str(info.area_of_use.name), info.area_of_use.bounds
        before = known.setdefault(folded(name), (name.rstrip(". "), bounds))
        if _extent(bounds) > _extent(before[1]):  # a few names have two entries
            known[folded(name)] = (before[0], bounds)
    known = dict(sorted(known.items()))
    for ending in _WHOLE:
        for name, found in list(known.items()):
            if name.endswith(ending):
                known.setdefault(name.removesuffix(ending), found)
    # A country that is only listed with others, as in "Liechtenstein; Switzerland", gets its shortest such list.
    lists: dict[str, list[str]] = {}
    for name in sorted(known, key=lambda name: name.count(";")):
        countries = [_country(part) for part in name.split("; ")]
        if len(countries) > 1 and not any(" - " in country for country in countries):
            for country in countries:
                lists.setdefault(country, []).append(name)
    for country, names in lists.items():
        if len(names) == 1 or names[0].count(";") < names[1].count(";"):
            known.setdefault(country, known[names[0]])
    # A part of a country can be given by its own name, unless two countries have parts of that name.
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
