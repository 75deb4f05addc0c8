"""Names of regions in PROJ's database, which are public knowledge."""

from __future__ import annotations

import difflib
import functools
from typing import Any

__all__ = ["alike", "plain", "regions"]


def alike(given: Any) -> str:
    """Names of regions, for an error, for someone who gave one that is not known."""
    if not isinstance(given, str):
        return ""
    name = plain(given)
    holding = sorted((key for key in regions() if name and name in key), key=len)
    near = holding[:3] or difflib.get_close_matches(name, [*regions()], n=3)
    return f" Regions of such a name: {'; '.join(regions()[key][0] for key in near)}." if near else ""


def plain(name: str) -> str:
    """A name without what does not matter in it."""
    return name.rstrip(". ").strip().casefold()


@functools.cache
def regions() -> dict[str, tuple[str, tuple[float, float, float, float]]]:
    """The regions of PROJ's database, by names in small letters: a country's is that of its land and sea."""
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
    for ending in (" - onshore and offshore", " - onshore"):
        for name, found in list(known.items()):
            if name.endswith(ending):
                known.setdefault(name.removesuffix(ending), found)
    # A part of a country by its own name, unless two countries have one.
    parts: dict[str, list[str]] = {}
    for name in known:
        parts.setdefault(name.rpartition(" - ")[2], []).append(name)
    for part, names in parts.items():
        if len(names) == 1:
            known.setdefault(part, known[names[0]])
    return known


def _extent(bounds: Any) -> float:
    west, south, east, north = bounds
    return float((east - west) % 360 * (north - south))
