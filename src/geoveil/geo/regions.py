"""Areas of use of the coordinate systems in PROJ's database, by name: public knowledge."""

from __future__ import annotations

import difflib
import functools
from typing import Any

from geoveil.geo.folding import folded

__all__ = ["regions", "similar_regions"]


def similar_regions(given: object) -> str:
    """Return a sentence that names similar regions, for an error about an unknown name."""
    if not isinstance(given, str):
        return ""
    name = folded(given)
    holding = sorted((key for key in regions() if name and name in key), key=len)
    near = holding or difflib.get_close_matches(name, [*regions()], n=3)
    titles = dict.fromkeys(regions()[key][0] for key in near)
    return f" Regions with similar names: {', '.join(map(repr, [*titles][:3]))}." if titles else ""


@functools.cache
def regions() -> dict[str, tuple[str, tuple[float, float, float, float]]]:
    """Return the titles and bounds of the areas of use in PROJ's database, by folded name."""
    from pyproj.database import query_crs_info

    known: dict[str, tuple[str, Any]] = {}
    for info in query_crs_info():
        if info.area_of_use is None:
            continue
        name, bounds = str(info.area_of_use.name), info.area_of_use.bounds
        before = known.setdefault(folded(name), (name.rstrip(". "), bounds))
        if _extent(bounds) > _extent(before[1]):  # a few names have two entries
            known[folded(name)] = (before[0], bounds)
    return dict(sorted(known.items()))


def _extent(bounds: Any) -> float:
    west, south, east, north = bounds
    return float((east - west) % 360 * (north - south))
