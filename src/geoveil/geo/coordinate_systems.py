"""Coordinate systems that everyone can look up, in the registers of PROJ's database (EPSG, ESRI, IGNF, OGC, ...).

Whatever else a system says may be about the data: one that is centred on a home, a name, remarks.
"""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["GEOGRAPHIC", "MERCATOR", "horizontal", "is_mercator", "registered"]

GEOGRAPHIC = "EPSG:4326"
#: Why Mercator maps are refused.
MERCATOR = "a Mercator metre shrinks on the ground with latitude"


def horizontal(crs: Any) -> Any:
    """Return the system of the plane inside one that adds heights or a datum shift."""
    while crs.is_bound or crs.is_compound:
        crs = crs.source_crs if crs.is_bound else crs.sub_crs_list[0]
    return crs


def is_mercator(flat: Any) -> bool:
    """Whether a system is a Mercator map, such as that of web maps; transverse ones are not."""
    method = flat.coordinate_operation.method_name if flat.coordinate_operation else ""
    return bool(method.startswith(("Mercator", "Popular Visualisation")))


@functools.lru_cache(maxsize=64)
def registered(crs: Any) -> Any | None:
    """Return the registered system that is equivalent to the horizontal part of another, or None.

    Only the register's own definition and texts are in what is returned.
    """
    import pyproj

    flat = horizontal(crs)
    # A confidence of 70 means: the same but for names. A code that a system merely claims is not believed.
    found = flat.to_authority(min_confidence=70)
    if found is None:
        return None
    known = pyproj.CRS.from_authority(*found)
    return known if known.equals(flat, ignore_axis_order=True) else None
