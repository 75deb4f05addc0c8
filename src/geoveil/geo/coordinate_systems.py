"""Registered coordinate systems, which everyone can look up in PROJ's database (EPSG, ESRI, IGNF, OGC, ...).

Only these are released. Any other system may reveal something about the data: it may be centred on a home, or have a
name or remarks that do.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil._types import CrsLike
from geoveil.errors import InvalidFile, InvalidParameter, Message, Text

if TYPE_CHECKING:
    import pyproj

__all__ = [
    *("GEOGRAPHIC", "MERCATOR", "horizontal", "is_mercator", "offline", "own_system", "registered", "system_of"),
]

GEOGRAPHIC = "EPSG:4326"
#: Why Mercator maps are refused.
MERCATOR = "a Mercator metre shrinks on the ground with latitude"
#: Matches a datum grid that a coordinate system names by a path or an address, which PROJ would open or request.
_ELSEWHERE = re.compile(r"PARAMETERFILE\[[^\]]*[/\\]|(?:nad|geoid)grids=[^ \"]*[/\\]", re.IGNORECASE)


def system_of(argument: str, given: object) -> pyproj.CRS:
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
    authority = flat.to_authority(min_confidence=70)
    if authority is None:
        return None
    known = pyproj.CRS.from_authority(*authority)
    return known if known.equals(flat, ignore_axis_order=True) else None


def own_system(path: Path, known: object, given: CrsLike, *, degrees: bool = True) -> pyproj.CRS:
    """Return the coordinate system of a file: the one it states, or else the one the caller gives.

    A registered system is returned as registered, since texts that the file adds to it may describe the data.
    `degrees` says whether its coordinates can be degrees.
    """
    import pyproj

    stated = None if given is None else system_of("crs", given)
    try:
        own = None if known is None else pyproj.CRS.from_user_input(known)
    except (pyproj.exceptions.CRSError, UnicodeError) as problem:
        allowed = "a file whose coordinate system pyproj knows"
        raise InvalidFile(str(path), str(problem), allowed, "Correct it.") from None
    for each in (own, stated):
        if each is not None and _ELSEWHERE.search(each.to_wkt()):
            remedy: Text = "Convert it to a system of PROJ's database."
            raise InvalidFile(str(path), each.name, "a coordinate system that names no grid file", remedy)
    system = own if stated is None else stated
    if system is None:
        remedy = Message("State it: for example {crs:4326}.")
        if not degrees:
            asked = "Ask who made it: its coordinates are no degrees. State its system in metres, such as {crs:32633}."
            remedy = Message(asked)
        raise InvalidFile(str(path), None, "a file that states its coordinate system", remedy)
    if own is not None and own != system:
        remedy = "Leave it out, or correct the file."
        raise InvalidParameter("crs", given, f"{own.to_string()[:80]}, as the file states", remedy)
    return registered(system) or horizontal(system)


@contextmanager
def offline() -> Iterator[None]:
    """Restrict PROJ to operations whose files are on this machine, for the duration of a block.

    Where the environment allows PROJ to use the network, it would request the parts of a datum grid around the true
    locations. The setting is that of the thread, and is restored at the end.
    """
    from pyproj import network

    enabled = network.is_network_enabled()  # type: ignore[attr-defined]
    network.set_network_enabled(False)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        network.set_network_enabled(enabled)  # type: ignore[attr-defined]
