"""Arrays of shapely geometries: missing rows, vertices, and longitudes across the antimeridian."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geoveil.errors import InvalidData, InvalidParameter, Message

if TYPE_CHECKING:
    import pyproj
    from shapely import Geometry

__all__ = [
    "Floats",
    "Geometries",
    "Index",
    "Places",
    "RowName",
    "Shapes",
    "count_missing",
    "extra_dimensions",
    "ground_length",
    "position",
    "present",
    "unwrap_longitudes",
    "vertices",
    "wrap_longitudes",
]

Floats: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.int64]
#: An array of shapely geometries, or None where one is missing.
Geometries: TypeAlias = NDArray[np.object_]
#: The locations of rows: (m, 2) coordinates, NaN where missing, (m, 4) for an origin and a destination in each row; or
#: shapely geometries.
Places: TypeAlias = NDArray[Any]
#: One shapely geometry, or an array of them.
Shapes = TypeVar("Shapes", "Geometry", Geometries)
#: A function that returns the name of a row in errors, given its position.
RowName: TypeAlias = Callable[[int], str]


def position(row: int) -> str:
    """Return the name of a row of the caller's x."""
    return f"x[{row}]"


def present(geometries: Geometries) -> NDArray[np.bool_]:
    """Return which rows have a location: those that are not missing, empty or NaN."""
    import shapely

    there: NDArray[np.bool_] = ~(shapely.is_missing(geometries) | shapely.is_empty(geometries))
    coords, rows = shapely.get_coordinates(geometries, return_index=True)
    there[rows[np.isnan(coords).any(axis=1)]] = False
    return there


def count_missing(there: NDArray[np.bool_], missing: str, name: RowName = position) -> int:
    """Count the rows without a location, which are left out with "drop" and refused with "refuse"."""
    if missing not in ("refuse", "drop"):
        remedy = "Leave it out to refuse rows without a location."
        raise InvalidParameter("missing", missing, "'refuse' or 'drop'", remedy)
    count = int((~there).sum())
    if count and missing == "refuse":
        correct = Message(
            "{count} of {total} rows have none: correct them, or remove them with {missing:drop}.",
            count=count,
            total=len(there),
        )
        raise InvalidData(name(int(there.argmin())), None, "a location that is not empty", correct)
    return count


def vertices(geometries: Geometries, name: RowName = position) -> tuple[NDArray[np.float64], Index]:
    """Return the vertices of Points, LineStrings and collections of these, without altitudes, and the row of each."""
    import shapely

    kinds = shapely.get_type_id(geometries)
    allowed = np.isin(kinds, [0, 1, 4, 5])  # Point, LineString, MultiPoint, MultiLineString
    allowed &= ~shapely.is_empty(geometries)
    if not allowed.all():
        first = int((~allowed).argmax())
        outlines = np.isin(kinds, [3, 6])
        if outlines.any():
            first = int(outlines.argmax())
            raise InvalidData(
                name(first),
                geometries[first].geom_type,
                "a Point, a LineString, or several of them",
                f"{int(outlines.sum())} of {len(geometries)} rows are polygons, whose corners are not where persons "
                "were: if a polygon stands for a person's location, replace it by a point first, as "
                "GeoDataFrame.representative_point() or 'Centroids' of a GIS does.",
            )
        raise InvalidData(
            name(first),
            geometries[first],
            "a Point, LineString, MultiPoint or MultiLineString that is not empty",
            f"{int((~allowed).sum())} of {len(geometries)} rows are not: drop or convert them first.",
        )
    coords, rows = shapely.get_coordinates(geometries, return_index=True)
    return coords, rows


def extra_dimensions(geometries: Geometries) -> list[str]:
    """Return the names of the dimensions that geometries have in addition to x and y."""
    import shapely

    more = ["altitudes (Z)"] if shapely.has_z(geometries).any() else []
    if hasattr(shapely, "has_m") and shapely.has_m(geometries).any():
        more.append("measures (M)")
    return more


def unwrap_longitudes(shapes: ArrayLike) -> Geometries:
    """Return geometries in degrees with longitudes that continue beyond 180 across the antimeridian.

    Projections give 179.9 and -179.9 for neighbouring vertices; read literally, the geometry would be its complement.
    Geometries from -180 to 180 span all longitudes and are returned unchanged.

    Parameters
    ----------
    shapes : array of shapely geometries
        Each less than 180 degrees wide, or spanning all longitudes.
    """
    import shapely

    shapes = np.array(shapes)
    west, _, east, _ = shapely.bounds(shapes).T
    coords, rows = shapely.get_coordinates(shapes, return_index=True)
    broken = (east - west > 180) & ~((west == -180) & (east == 180))
    coords[broken[rows] & (coords[:, 0] < 0), 0] += 360
    return np.asarray(wrap_longitudes(shapely.set_coordinates(shapes, coords)))


def wrap_longitudes(shapes: Shapes) -> Shapes:
    """Return a geometry or an array of them, in degrees, shifted by 360 if entirely beyond 180 or below -180."""
    import shapely

    west, _, east, _ = shapely.bounds(shapes).T
    turns = np.atleast_1d(360.0 * (east <= -180) - 360.0 * (west >= 180))
    if not turns.any():
        return shapes
    coords, rows = shapely.get_coordinates(shapes, return_index=True)
    coords[:, 0] += turns[rows]
    moved: Shapes = shapely.set_coordinates(shapes, coords)
    return moved


@cache
def _ellipsoid() -> pyproj.Geod:
    import pyproj

    return pyproj.Geod(ellps="WGS84")


def ground_length(degrees: Floats) -> float:
    """Return the length in metres on the ground of a line, given its longitudes and latitudes.

    Examples
    --------
    >>> round(ground_length(np.array([[8.54, 47.37], [8.54, 47.38]])))
    1112
    """
    return float(_ellipsoid().line_length(*degrees.T)) if len(degrees) > 1 else 0.0
