"""Locations are checked once, when they are taken in: finite coordinates, one shape, a plane in metres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil._types import CrsLike, Missing, Outside
from geoveil.checks import FARTHEST
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.geo.areas import AreaLike
from geoveil.geo.coordinate_systems import system_of
from geoveil.geo.forms import Form, FrameForm, check_any, form_of
from geoveil.geo.planes import Plane, plane_of

if TYPE_CHECKING:
    import pyproj

__all__ = ["enter"]


def enter(
    x: Any,
    area: AreaLike = None,
    *,
    crs: CrsLike = None,
    outside: Outside = "refuse",
    missing: Missing = "refuse",
) -> Form:
    """Check locations once and convert them to metres.

    Parameters
    ----------
    x : array, shapely geometry, GeoSeries or GeoDataFrame
        The locations.
    area : Area, or what pyproj takes as a projected system, optional
        The plane to work in, chosen from public knowledge.
    crs : what pyproj takes as a coordinate system, optional
        The system of x, where it does not say it itself.
    outside : {"refuse", "clamp"}
        What is done about points outside of the area.
    missing : {"refuse", "drop"}
        What is done about a frame's rows without a location.
    """
    frame = hasattr(x, "geometry") and hasattr(x, "crs")
    if not frame and hasattr(x, "active_geometry_name"):
        remedy = "Name the column of locations with x.set_geometry(...)."
        raise InvalidData("x", "a GeoDataFrame without an active geometry", "one with an active geometry", remedy)
    own = x.geometry.crs if frame else None
    plane = None
    if frame or crs is not None:
        plane = plane_of(_system(own, crs), area, stated_by="x.crs" if crs is None else "crs")
    if plane is None and area is not None:
        remedy = "Give crs=4326 as well if they are longitudes and latitudes; leave both out if they are metres."
        raise InvalidParameter("area", area, "given with crs=, for arrays and shapely geometries", remedy)
    if plane is None and outside != "refuse":
        raise InvalidParameter("outside", outside, "left out without an area", "Select the points before you ask.")
    if not frame and missing != "refuse":
        raise InvalidParameter("missing", missing, "left out, unless x is a frame", "Select the rows before you ask.")
    if frame and plane is not None:
        form: Form = FrameForm(x, plane, released=False, outside=outside, missing=missing)
    else:
        form = form_of(x)
        if plane is not None:
            form = _projected(form, plane, outside)
    coords = form.coords.values
    check_any(len(coords), len(coords))
    # A comparison with NaN is false. The rows are looked at only if there is something to find.
    if not (coords.min() >= -FARTHEST and coords.max() <= FARTHEST):
        bad = ~(np.abs(coords) <= FARTHEST).all(axis=1)
        first = int(bad.argmax())
        raise InvalidData(
            f"x[{first}]",
            coords[first].tolist(),
            f"finite coordinates of at most {FARTHEST:g} m",
            f"{int(bad.sum())} of {len(coords)} points are NaN, infinite or too far: drop or mend them first.",
        )
    return form


def _system(own: pyproj.CRS | None, given: CrsLike) -> pyproj.CRS | None:
    """Return the system of coordinates: the one that the data names, or else the one that the caller names."""
    if given is None:
        return own
    stated = system_of("crs", given)
    if own is not None and own != stated:
        remedy = f"Leave crs= out; x.to_crs(...) converts. To work in the plane of {stated.name}, give it as area=."
        raise InvalidParameter("crs", given, f"{own.to_string()[:80]}, as x states", remedy)
    return stated


def _projected(form: Form, plane: Plane, outside: str) -> Form:
    """Return an array's or a geometry's points as metres of a plane."""
    coords = form.coords
    check_any(len(coords), len(coords))
    if coords.shape[1] != 2:
        raise InvalidData("x", coords.shape, "of shape (n, 2), with crs=", "Leave crs= out for points in metres.")
    if np.any(coords.error):
        remedy = "Use x.astype(float), which rounds: the release is then about the rounded coordinates."
        raise InvalidData("x", "numbers that are no doubles", "an array of floats, with crs=", remedy)
    form.coords, form.plane, form.clamped = plane.enter(coords.values, outside), plane, outside == "clamp"
    return form
