"""What was released of known locations, by geoveil or any other tool, in metres of the plane of the truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil.answering.intake import Intake
from geoveil.errors import FileUnavailable, InvalidData, InvalidFile, InvalidInput, Message
from geoveil.geo.coordinate_systems import GEOGRAPHIC, system_of
from geoveil.geo.entering import coordinate_columns, form_of
from geoveil.geo.forms import Floats, Form, GeometryForm
from geoveil.geo.planes import Plane
from geoveil.geo.row_locations import Pairs
from geoveil.geo.table_kinds import table_of
from geoveil.release import Release

if TYPE_CHECKING:
    from geoveil.locations.locations import Locations

__all__ = ["ShownPoints", "coordinates_of", "shown_points"]

_RELEASED = "a release, a file, a table, a frame, an array of places, or a list of answers about places"


@dataclass(frozen=True)
class ShownPoints:
    """What any tool released: its points in metres of the truth's plane, and what it tells about them."""

    coords: Floats
    form: Form
    release: Release | None = None


def coordinates_of(locations: Locations) -> Pairs:
    """Return the columns of coordinates of the truth, if it is a table."""
    from geoveil.geo.formats.location_columns import CoordinatePairs

    located = getattr(getattr(locations._rows, "_file", None), "located", None)
    return located.pairs if isinstance(located, CoordinatePairs) else locations._rows.known().form.pairs


def shown_points(released: Any, data: Intake, named: Pairs) -> ShownPoints:
    """Return the released points in metres of the plane of the truth."""
    from geoveil.locations.locations import Locations

    plane = data.form.plane
    if isinstance(released, str | Path):
        released = _read(Path(released), named)
    if isinstance(released, Locations):
        form = released._rows.known().form
        if form.coords.shape[1] != 2:
            raise InvalidData("released", f"{form.coords.shape[1]} coordinates", "places in the plane", "Give two.")
        return ShownPoints(_into(plane, form.plane, form.coords.values), form)
    if isinstance(released, Release):
        release = released.in_memory()
        if release.query != "points" or release.coords is None or release.coords.shape[1] != 2:
            remedy = Message("Give what {locations.points} returned, or answers about several places as a list.")
            raise InvalidData("released", repr(release), "of points in the plane", remedy)
        if release.answers[0].query.sets is not None:
            why = "Their order is hidden, so no point is known to be one of the true ones."
            raise InvalidData("released", repr(release), "of points in the order of the data", why)
        return ShownPoints(_into(plane, release.plane, release.placed_coords), release.form, release)
    frame, pairs = released if isinstance(released, tuple) else (released, ())
    try:
        form = _form_of(frame, pairs, data.form, named)
    except InvalidInput as problem:
        options = 'Give gv.Locations(released, ...) with options of its own, such as lat="north" or missing="drop".'
        if table_of(frame) is None and not hasattr(frame, "crs"):
            raise InvalidData("released", frame, _RELEASED, "Give what was made of these locations.") from None
        raise InvalidData("released", problem.value, problem.allowed, options) from None
    coords = form.coords.values
    if not len(coords) or coords.shape[1] != 2:
        raise InvalidData(
            "released", f"{len(coords)} points", "places in the plane", "Give what was made of the data."
        )
    if _are_swapped(form, data):
        allowed = "places near the true ones, which these are with latitude and longitude exchanged"
        raise InvalidData("released", "places far from the truth", allowed, "Exchange them: arrays are (lon, lat).")
    if not np.isfinite(coords).all():
        allowed = "places that can be shown in the plane of the truth"
        raise InvalidData("released", "places too far off, or NaN", allowed, "Check latitude, longitude and gaps.")
    return ShownPoints(coords, form)


def _are_swapped(form: Form, data: Intake) -> bool:
    """Return whether released degrees are far from the truth, and near it with latitude and longitude exchanged."""
    plane = form.plane
    if plane is None or not plane.crs.is_geographic or isinstance(form, GeometryForm):
        return False
    middle, own = np.median(data.form.coords.values, axis=0), np.median(form.own_coords(), axis=0)
    if abs(own[0]) > 90:
        return False
    given, other = plane.into(np.array([own])), plane.into(np.array([own[::-1]]))
    # Where the plane does not reach, there are no metres.
    away, near = (float(np.nan_to_num(np.hypot(*(at[0] - middle)), nan=np.inf)) for at in (given, other))
    return away > 1e6 and near < away / 10


def _form_of(frame: Any, pairs: Pairs, true: Form, named: Pairs) -> Form:
    """Return the form of released points; columns that are not recognised may have the names of the truth's."""
    table = None if hasattr(frame, "active_geometry_name") else table_of(frame)
    own, plane = getattr(frame, "crs", None), true.plane
    if table is not None and not pairs:
        try:
            pairs, degrees = coordinate_columns(table)
        except InvalidInput:
            if not named or not {name for pair in named for name in pair} <= {*table.names}:
                raise
            pairs, degrees = named, False
        own = system_of("crs", GEOGRAPHIC) if degrees else None
    if own is None and plane is not None:
        own = plane.crs
    there = None if plane is None or own is None else Plane(own, plane.area)
    return form_of(frame, there, pairs)


def _read(path: Path, named: Pairs) -> Any:
    """Return the release in a file, or the rows of a file that another tool wrote."""
    from geoveil.answering.loading import load, rows_of
    from geoveil.certificates import read_certificate
    from geoveil.geo.formats import open_locations
    from geoveil.geo.formats.atomic import certificate_path

    beside = certificate_path(path)
    # Tracks that were cut by zones are read as those of any tool.
    if beside.exists() and read_certificate(beside).get("release") != "zones":
        return load(path)
    try:
        file = open_locations(path)
    except FileUnavailable:
        raise
    except InvalidFile as problem:
        if "lat=" not in str(problem):
            raise
        try:
            file = open_locations(path, lat=[y for _, y in named], lon=[x for x, _ in named])
        except InvalidInput:
            remedy = "Rename its columns of coordinates to lat and lon."
            raise InvalidFile(str(path), problem.value, problem.allowed, remedy) from None
    frame, pairs = rows_of(file, missing="drop")
    return (frame, pairs) if pairs else frame


def _into(plane: Plane | None, own: Plane | None, coords: Floats) -> Floats:
    """Return released metres of one plane as metres of another."""
    if plane is None or own is None:
        if plane is not own:
            remedy = "Give the area of the truth to both, or metres to both."
            raise InvalidData("released", "places on the Earth and metres", "both of one kind", remedy)
        return coords
    return (
        coords if own.area == plane.area else Plane(system_of("crs", GEOGRAPHIC), plane.area).into(own.degrees(coords))
    )
