"""Registered coordinate systems, which everyone can look up in PROJ's database (EPSG, ESRI, IGNF, OGC, ...).

Only these are released. Any other system may reveal something about the data: it may be centred on a home, or have a
name or remarks that do.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from geoveil.errors import InvalidParameter, Message

if TYPE_CHECKING:
    import pyproj

__all__ = ["GEOGRAPHIC", "MERCATOR", "horizontal", "is_mercator", "registered", "system_of"]

GEOGRAPHIC = "EPSG:4326"
#: Why Mercator maps are refused.
MERCATOR = "a Mercator metre shrinks on the ground with latitude"


def system_of(argument: str, given: Any) -> pyproj.CRS:
    """Return the coordinate system that a caller names."""
    import pyproj

    try:
        return pyproj.CRS.from_user_input(given)
    # pyproj compares what it is given with texts, and frames and arrays have no single truth value.
    except (pyproj.exceptions.CRSError, TypeError, ValueError):
        remedy = Message("Give its code: 4326 for longitude and latitude from GPS. {area} states where the data is.")
        raise InvalidParameter(argument, given, "a coordinate system that pyproj knows", remedy) from None


def horizontal(crs: pyproj.CRS) -> pyproj.CRS:
    """Return the horizontal part of a coordinate system, without heights and datum shifts."""
    while crs.is_bound or crs.is_compound:
        part = crs.source_crs if crs.is_bound else crs.sub_crs_list[0]
        assert part is not None
        crs = part
    return crs


def is_mercator(flat: pyproj.CRS) -> bool:
    """Return whether a system is a Mercator projection, such as that of web maps, and not a transverse one."""
    method = flat.coordinate_operation.method_name if flat.coordinate_operation else ""
    return bool(method.startswith(("Mercator", "Popular Visualisation")))


@functools.lru_cache(maxsize=64)
def registered(crs: pyproj.CRS) -> pyproj.CRS | None:
    """Return the registered system that is equivalent to the horizontal part of another, or None.

    The result contains only the definition and the texts of the register.
    """
    import pyproj

    flat = horizontal(crs)
    # A confidence of 70 means equal except for names. A code that a system merely claims is not trusted.
    found = flat.to_authority(min_confidence=70)
    if found is None:
        return None
    known = pyproj.CRS.from_authority(*found)
    return known if known.equals(flat, ignore_axis_order=True) else None
