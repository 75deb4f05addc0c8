"""Locations are checked once, when they are taken in: finite coordinates, one shape, a plane in metres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil._types import CrsLike, Missing, Outside
from geoveil.checks import FARTHEST
from geoveil.errors import InvalidData, InvalidParameter, Message
from geoveil.geo.areas import AreaLike
from geoveil.geo.coordinate_systems import system_of
from geoveil.geo.forms import ArrayForm, Form, FrameForm, check_any, form_of
from geoveil.geo.geometries import count_missing
from geoveil.geo.planes import Plane, plane_of
from geoveil.geo.row_selection import RowCounts, Selection, frame_filter

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
    where: str | None = None,
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
    outside : {"refuse", "clamp", "drop"}
        What is done about points outside of the area.
    missing : {"refuse", "drop"}
        What is done about rows without a location.
    where : str, optional
        A condition on columns of a table that selects its rows.
    """
    if outside not in ("refuse", "clamp", "drop"):
        remedy = "Leave it out to refuse points outside of the area."
        raise InvalidParameter("outside", outside, "'refuse', 'clamp' or 'drop'", remedy)
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
    if frame and plane is not None:
        form: Form = FrameForm(x, plane, released=False, outside=outside, missing=missing, where=where)
    else:
        frame_filter(x, where)
        form = _selected(form_of(x), plane, missing, outside)
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
            Message(
                "{count} of {total} points are NaN, infinite or too far: correct them, or remove those that are NaN "
                "with {missing:drop}.",
                count=int(bad.sum()),
                total=len(coords),
            ),
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


def _projected(form: Form, plane: Plane, outside: Outside) -> Form:
    """Return an array's or a geometry's points as metres of a plane."""
    coords = form.coords
    check_any(len(coords), len(coords))
    if coords.shape[1] != 2:
        raise InvalidData("x", coords.shape, "of shape (n, 2), with crs=", "Leave crs= out for points in metres.")
    if np.any(coords.error):
        remedy = "Use x.astype(float), which rounds: the release is then about the rounded coordinates."
        raise InvalidData("x", "numbers that are no doubles", "an array of floats, with crs=", remedy)
    form.coords, form.plane, form.outside = plane.enter(coords.values, outside), plane, outside
    return form


def _selected(form: Form, plane: Plane | None, missing: Missing, outside: Outside) -> Form:
    """Return an array's points without those that are missing, or outside the area, if these are to be removed."""
    if "drop" not in (missing, outside):
        count_missing(np.ones(0, dtype=bool), missing)
        return form
    name = "missing" if missing == "drop" else "outside"
    if not isinstance(form, ArrayForm):
        remedy = "Give an array of points to remove some of them, or move them to the edge with outside='clamp'."
        raise InvalidParameter(name, "drop", "left out for a single geometry, which is one row", remedy)
    values = form.coords.values
    there = np.asarray(~np.isnan(values).any(axis=1))
    missed = count_missing(there, missing)
    inside = np.array(there)
    if outside == "drop" and plane is not None and values.shape[1] == 2:
        inside[there] = plane.contains(values[there])
    removed = RowCounts(missing=missed, outside=int((there & ~inside).sum()))
    if removed.total:
        form.selection, form.coords = Selection(inside, removed), form.coords[inside]
        check_any(len(form.coords), len(inside), removed)
    return form
