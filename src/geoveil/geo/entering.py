"""Check locations once, when they are taken in, and convert them to metres of a plane."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil._types import CoordinateColumns, CrsLike, Labels, LocationsLike, Missing, Outside
from geoveil.checks import FARTHEST
from geoveil.errors import InvalidData, InvalidParameter, Message
from geoveil.facts import RowCounts
from geoveil.geo.areas import AreaLike
from geoveil.geo.columns import ROW
from geoveil.geo.coordinate_systems import GEOGRAPHIC, system_of
from geoveil.geo.forms import (
    ArrayForm,
    Floats,
    Form,
    GeometryForm,
    PointsForm,
    array_of,
    check_any,
    checked_vertices,
)
from geoveil.geo.geometries import RowName, count_missing, position
from geoveil.geo.interfaces import from_interfaces
from geoveil.geo.planes import Plane, plane_of
from geoveil.geo.row_forms import FrameForm, RowChoice, TableForm
from geoveil.geo.row_locations import CoordinateRows, Pairs
from geoveil.geo.row_selection import Selection, no_columns
from geoveil.geo.table_kinds import PandasTable, Table, table_of
from geoveil.noise import as_reals

if TYPE_CHECKING:
    import pyproj

__all__ = ["METRES", "coordinate_columns", "enter", "form_of"]

#: A value of `crs=`: coordinates are metres without a place on the Earth, even if they could be degrees.
METRES = "metres"


def enter(
    x: Any,
    area: AreaLike = None,
    *,
    lat: CoordinateColumns = None,
    lon: CoordinateColumns = None,
    crs: CrsLike = None,
    outside: Outside = "refuse",
    missing: Missing = "refuse",
    where: str | None = None,
    row_name: RowName = position,
    person: Labels = None,
) -> Form:
    """Check locations once and convert them to metres.

    Parameters
    ----------
    x : array, table, shapely geometry, GeoSeries, GeoDataFrame, or what `from_interfaces` makes one of these
        The locations.
    area : Area, or what pyproj takes as a projected system, optional
        The plane to work in, chosen from public knowledge.
    lat, lon : str or list of str, optional
        The columns of a table that hold latitudes and longitudes.
    crs : what pyproj takes as a coordinate system, or "metres", optional
        The system of x, where it does not say it itself.
    outside : {"refuse", "clamp", "drop"}
        What is done about points outside of the area.
    missing : {"refuse", "drop"}
        What is done about rows without a location.
    where : str, optional
        A condition on columns of a table that selects its rows.
    row_name : callable
        Returns the name of a row of a table in errors, given its position.
    person : str or array of labels, optional
        The persons. "row" numbers the rows of a table that has no such column.
    """
    if outside not in ("refuse", "clamp", "drop"):
        remedy = "Leave it out to refuse points outside of the area."
        raise InvalidParameter("outside", outside, "'refuse', 'clamp' or 'drop'", remedy)
    x = from_interfaces(x)
    table = table_of(x)
    if table is not None and (lat, lon) == (None, None) and (located := table.with_geometries()) is not None:
        x, table = located, None
    frame = hasattr(x, "geometry") and hasattr(x, "crs")
    if not frame and hasattr(x, "active_geometry_name"):
        remedy = "Name the column of locations with x.set_geometry(...)."
        raise InvalidData("x", "a GeoDataFrame without an active geometry", "one with an active geometry", remedy)
    if isinstance(person, str) and person == ROW:
        if table is not None and ROW not in table.names:
            table = table.numbered()
        elif ROW not in getattr(x, "columns", [ROW]):
            x = PandasTable(x).numbered().frame
    for name, given in {"lat": lat, "lon": lon}.items():
        if table is None and given is not None:
            remedy = "Leave it out, or give the table without its geometry: pandas.DataFrame(x.drop(columns=...))."
            raise InvalidParameter(name, given, "left out, unless x is a table with columns of coordinates", remedy)
    pairs: Pairs = ()
    degrees = False
    if table is not None:
        pairs, degrees = coordinate_columns(table, lat, lon)
    plane = None
    if frame:
        plane = plane_of(_system(x.geometry.crs, crs), area, stated_by="x.crs" if crs is None else "crs")
    elif crs is not None and not (isinstance(crs, str) and crs == METRES):
        plane = plane_of(system_of("crs", crs), area, stated_by="crs")
    elif crs is None and table is not None:
        own = system_of("crs", GEOGRAPHIC) if degrees else None
        plane = plane_of(own, area, stated_by="lat, lon" if degrees else "crs")
    if plane is None and area is not None:
        remedy = "Give crs=4326 as well if they are longitudes and latitudes; leave both out if they are metres."
        raise InvalidParameter("area", area, "given with crs=, for arrays and shapely geometries", remedy)
    if plane is None and outside != "refuse":
        raise InvalidParameter("outside", outside, "left out without an area", "Select the points before you ask.")
    form: Form
    how: RowChoice = {"released": False, "outside": outside, "missing": missing, "where": where, "name": row_name}
    if frame and plane is not None:
        form = FrameForm(x, plane, **how)
    elif table is not None:
        form = TableForm(CoordinateRows(table, pairs), plane, **how)
    elif where is not None:
        raise no_columns(where)
    else:
        form = _selected(form_of(x), plane, missing, outside)
        if plane is not None:
            form = _projected(form, plane, outside)
    coords = form.coords.values
    check_any(len(coords), len(coords))
    farthest = max(-coords.min(), coords.max())
    # A comparison with NaN is false. Rows are searched only if one of them is wrong.
    if not farthest <= FARTHEST:
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
    if plane is None and crs is None and 1 < farthest <= 180 and _seem_degrees(coords):
        say = Message(
            "Give {crs:4326} and {area} if they are longitudes and latitudes, in this order; {crs:metres} if they are "
            "metres."
        )
        raise InvalidData("x", coords[0].tolist(), "in metres: all of these points could be degrees", say)
    return form


def _seem_degrees(coords: Floats) -> bool:
    """Return whether coordinates between -180 and 180 could all be longitudes and latitudes, in any order.

    Whole degrees tell no towns apart, so whole numbers are metres.
    """
    if coords.shape[1] != 2:
        return False
    nearest = min(float(np.abs(column).max()) for column in coords.T)
    return bool(nearest <= 90 and (coords != np.rint(coords)).any())


def coordinate_columns(
    table: Table, lat: CoordinateColumns = None, lon: CoordinateColumns = None
) -> tuple[Pairs, bool]:
    """Return the columns of coordinates of a table, named or recognised, and whether they are known to be degrees."""
    return _named(table, lat, lon) if (lat, lon) != (None, None) else _recognised(table)


def _recognised(table: Table) -> tuple[Pairs, bool]:
    """Return the columns of coordinates of a table, by their names, and whether these say that they are degrees."""
    columns = table.recognised(table.names)
    if columns.pairs:
        return columns.pairs, columns.degrees
    remedy = Message("Name them with {lat} and {lon}.")
    if columns.candidates:
        which = ", or ".join(f"lat={y!r}, lon={x!r}" for x, y in columns.candidates)
        remedy = Message("Say which: {which}.", which=which)
    if columns.geometries:
        remedy = Message(
            "{names} holds geometries: make it a GeoDataFrame, with geopandas.GeoSeries.from_wkt or from_wkb.",
            names=", ".join(map(str, columns.geometries)),
        )
    raise InvalidData("x", table.names, "a table with one pair of columns that are named like coordinates", remedy)


def _named(table: Table, lat: CoordinateColumns, lon: CoordinateColumns) -> tuple[Pairs, bool]:
    """Return the columns of coordinates that the caller names, which are degrees without a coordinate system."""
    lats, lons = _names(table, "lat", lat), _names(table, "lon", lon)
    return table.recognised(table.names).named_pairs(lats, lons), True


def _names(table: Table, argument: str, given: Any) -> list[Hashable]:
    """Return the names of columns that the caller gives, as one name or a list."""
    several = isinstance(given, list | tuple) and given not in table.names
    names = list(given) if several else [] if given is None else [given]
    for name in names:
        if name not in table.names:
            allowed = f"a column of the data, one of {table.names}"
            raise InvalidParameter(argument, name, allowed, "Check its name.")
    return names


def _system(own: pyproj.CRS | None, given: CrsLike) -> pyproj.CRS | None:
    """Return the coordinate system: the one that the data states, or else the one that the caller gives."""
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
        raise InvalidData("x", "numbers that are not doubles", "an array of floats, with crs=", remedy)
    form.coords, form.plane, form.outside = plane.enter(coords.values, outside), plane, outside
    form.given = coords.values
    return form


def _selected(form: Form, plane: Plane | None, missing: Missing, outside: Outside) -> Form:
    """Return an array's points; with "drop", without those that are missing or outside the area."""
    if "drop" not in (missing, outside):
        count_missing(np.ones(0, dtype=bool), missing)
        return form
    name = "missing" if missing == "drop" else "outside"
    if isinstance(form, GeometryForm):
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


def form_of(x: LocationsLike, plane: Plane | None = None, pairs: Pairs = ()) -> Form:
    """Return the form of locations: in metres, as a user gave them, or released in a plane.

    Parameters
    ----------
    x : object
        The locations.
    plane : Plane, optional
        The plane in which they were released.
    pairs : tuple of pairs of names
        The columns of coordinates of a table that was released.
    """
    import shapely

    if pairs and (table := table_of(x)) is not None:
        return TableForm(CoordinateRows(table, pairs), plane, released=True)
    if hasattr(x, "geometry") and hasattr(x, "crs") and plane is not None:
        return FrameForm(x, plane, released=True)
    if isinstance(x, shapely.Geometry):
        form: Form = GeometryForm(type(x), checked_vertices(np.array([x]))[0])
    elif isinstance(x, list | tuple) and len(x) and all(isinstance(each, shapely.Point) for each in x):
        form = PointsForm(checked_vertices(np.array(x, dtype=object))[0])
    else:
        form = ArrayForm(array_of(x))
    if plane is not None:
        form.coords, form.plane = as_reals(plane.into(form.coords.values)), plane
    return form
