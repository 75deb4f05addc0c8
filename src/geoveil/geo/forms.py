"""The forms of locations: arrays, shapely geometries, GeoSeries, GeoDataFrames."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Rational
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geoveil._types import Columns, Labels, LocationsLike, Outside, PlaceLike, ShapeLike, Times
from geoveil.checks import FARTHEST
from geoveil.errors import InvalidData, InvalidParameter, Message, warn
from geoveil.facts import NONE, Reason, RowCounts, Unchanged
from geoveil.geo.columns import ROW
from geoveil.geo.geometries import Index, extra_dimensions, vertices
from geoveil.geo.plain_values import may_hold_places
from geoveil.geo.planes import Plane
from geoveil.geo.row_filters import RowFilter
from geoveil.geo.row_locations import Pairs
from geoveil.geo.row_selection import Selection
from geoveil.noise import Ball, Reals, as_reals
from geoveil.text.typed_values import read_place

if TYPE_CHECKING:
    import pandas as pd
    import pyproj
    import shapely

__all__ = [
    "ArrayForm",
    "Floats",
    "Form",
    "GeometryForm",
    "Index",
    "PointsForm",
    "array_of",
    "check_any",
    "checked_vertices",
    "labels_of",
    "warn_of_heights",
]

Floats = NDArray[np.float64]

#: What to do with values for several places of a row.
_AS_COLUMNS = Message("Make them columns of the table, one for each place, and name these with {times}.")


class Form(ABC):
    """Locations that have been taken in, and the form in which answers about them return.

    `selection` tells which rows of the input remain, `where` the filter that they satisfy, `outside` what was done
    about points outside the area, and `has_columns` whether the input is a table. `pairs` names the columns of
    coordinates of a table without geometries.

    Parameters
    ----------
    coords : array or Reals
        The points, (n, d), in metres; doubles are taken as the real numbers they are.
    plane : Plane, optional
        The plane of these metres, and the coordinate system of the input.
    """

    selection = Selection()
    where: RowFilter | None = None
    outside: Outside = "refuse"
    has_columns = False
    pairs: Pairs = ()
    #: The coordinates as the input has them, where they are not metres.
    given: Floats | None = None

    def __init__(self, coords: Floats | Reals, plane: Plane | None = None) -> None:
        self.coords = as_reals(coords)
        self.plane = plane

    @property
    def condition(self) -> str | None:
        """The filter as a text, if there is one."""
        return None if self.where is None else self.where.text

    @property
    def rounding(self) -> float:
        """The largest distance in metres by which the projection may have moved a point."""
        return 0.0 if self.plane is None else self.plane.rounding

    @property
    def crs(self) -> pyproj.CRS | None:
        """The coordinate system of the input, if it is known."""
        return None if self.plane is None else self.plane.crs

    def into(self, coords: ArrayLike) -> Floats:
        """Convert public coordinates of the input's system to metres."""
        return np.asarray(coords, dtype=float) if self.plane is None else self.plane.into(np.asarray(coords, float))

    def out(self, coords: Floats) -> Floats:
        """Convert released metres to the input's system."""
        return coords if self.plane is None else self.plane.out(coords)

    @property
    def rows(self) -> Index:
        """The row of each point, among the rows that remain."""
        return np.arange(len(self.coords))

    def without_rows(self, rows: Index, reason: Literal["untimed", "thinned"] | None = None) -> Self:
        """Return the form without some more rows; they are counted under the reason, if one is given."""
        some = self.chosen(np.flatnonzero(~np.isin(self.rows, rows)))
        remained = self.selection.rows
        kept = np.ones(int(self.rows.max()) + 1, dtype=bool) if remained is None else remained.copy()
        kept[np.flatnonzero(kept)[rows]] = False
        counted = RowCounts() if reason is None else RowCounts(**{reason: len(rows)})
        some.selection = Selection(kept, self.selection.removed + counted)
        check_any(len(some.coords), len(kept), some.selection.removed)
        return some

    def spread(self, argument: str, values: Times) -> pd.Series:
        """Return one value per point, given one per row of the input or one per point.

        Rows whose places have columns of their own need one per point: see `geoveil.geo.point_times`.
        """
        import pandas as pd

        if getattr(values, "ndim", 1) > 1:
            raise InvalidParameter(argument, "a table of values", "one value for each row", _AS_COLUMNS)
        column = pd.Series(values if values is None or not hasattr(values, "to_pandas") else values.to_pandas())
        if len(column) == len(self.coords) and self.selection.rows is None:
            return column
        remained = self.selection.rows
        wanted = int(self.rows.max()) + 1 if remained is None else len(remained)
        if len(column) != wanted:
            allowed = f"{wanted} values, one for each row"
            raise InvalidParameter(argument, len(column), allowed, "Give as many as there are rows.")
        if len(self.pairs) > 1:
            allowed = f"a value for each of the {len(self.pairs)} places of a row"
            raise InvalidParameter(argument, "one value for each row", allowed, _AS_COLUMNS)
        return (column if remained is None else column[remained]).iloc[self.rows]

    @abstractmethod
    def points(self, coords: Floats, kept: Iterable[Hashable] = ()) -> LocationsLike:
        """Return released points, one for each point of the input, with copies of the unchanged columns."""

    def replaced(self, coords: Floats) -> LocationsLike:
        """Return a released value with other coordinates, and all columns that it has."""
        return self.points(coords)

    def chosen(self, points: Index) -> Self:
        """Return the form of some of the points; a row is chosen with all of its points or not at all."""
        some = copy.copy(self)
        some.coords = self.coords[points]
        some.given = None if self.given is None else self.given[points]
        return some

    def own_coords(self) -> Floats:
        """Return the coordinates of each point as they are in the input, with one point in each row."""
        if isinstance(self, GeometryForm):
            remedy = "Use gv.Locations(shapely.get_coordinates(x), ...)."
            raise InvalidData("x", type(self).__name__, "a table, a frame or an array", remedy)
        return self.coords.values if self.given is None else self.given

    def kept(self, points: Index, columns: Iterable[Hashable] = ()) -> LocationsLike:
        """Return some points as they are in the input, built anew: with these columns alone, and numbered anew."""
        return self.chosen(points).own_coords().copy()

    def place(self, coords: Floats) -> shapely.Point | Floats:
        """Return one released place."""
        import shapely

        return shapely.Point(self.out(coords[None])[0])

    def box(self, ends: Floats) -> Floats:
        """Return released bounds in the input's system."""
        if self.plane is None:
            return ends
        return self.plane.box(ends)

    def boxes(self, ends: Floats) -> Floats:
        """Return released bounds of many persons, one per row."""
        return ends if self.plane is None else self.plane.boxes(ends)

    def body(self, vertices: object) -> object:
        """Return the convex hull of released vertices in the plane; in more dimensions, the vertices themselves."""
        if not isinstance(vertices, np.ndarray) or vertices.shape[1] != 2:
            return vertices
        import shapely

        body = shapely.MultiPoint(vertices).convex_hull
        return body if self.plane is None else self.plane.body(body)

    def bodies(self, vertices: Sequence[Any]) -> Sequence[object]:
        """Return the convex hulls of many persons' released vertices; see `body`."""
        if not all(isinstance(each, np.ndarray) and each.shape[1] == 2 for each in vertices):
            return [self.body(each) for each in vertices]
        import shapely

        counts = np.array([len(each) for each in vertices])
        # Lines are the fastest geometries to build.
        gathered = shapely.linestrings if counts.min() > 1 else shapely.multipoints
        whose = np.repeat(np.arange(len(vertices)), counts)
        hulls = shapely.convex_hull(gathered(np.concatenate(vertices), indices=whose))
        return hulls if self.plane is None else [self.plane.body(hull) for hull in hulls]

    def columns(self, by: Labels, keep: Columns) -> tuple[dict[Hashable, Reason], tuple[Hashable, ...]]:
        """Return the columns that are released unchanged and why, and those that are removed; none by default."""
        if keep is not None:
            raise InvalidParameter("keep", keep, "left out, unless x is a table", "There are no columns.")
        return {}, ()

    def unchanged(self, reasons: Mapping[Hashable, Reason], coords: Floats) -> tuple[Unchanged, ...]:
        """Describe the columns that are released unchanged together with these released points."""
        return ()

    @property
    def times(self) -> tuple[Hashable, ...]:
        """The columns of a table that hold times."""
        return ()

    @property
    def names(self) -> list[Any]:
        """The names of the columns of a table but those of locations."""
        return []

    def column(self, name: Hashable) -> pd.Series:
        """Return the values of a column, one for each point."""
        raise KeyError(name)

    def without_order(self) -> Self:
        """Return the form of points whose order is not released: without what tells rows apart, besides persons."""
        return self

    def labels(self, positions: Index) -> Index | pd.Index:
        """Return the names of points: their positions in the input, or a frame's index labels."""
        rows = self.selection.rows
        return positions if rows is None else np.flatnonzero(rows)[positions]

    def people(self, by: Labels, argument: str = "person") -> pd.api.extensions.ExtensionArray:
        """Return a label for each point, given by an argument of this name."""
        rows = self.selection.rows
        count, chosen = (len(self.coords), slice(None)) if rows is None else (len(rows), rows)
        return labels_of(by, count, chosen, argument)

    def relabelled(self, by: Labels, labels: pd.Index, pseudonyms: Sequence[str]) -> Self:
        """Return the form with pseudonyms in place of persons' labels; data without a table has none."""
        return self

    def public_place(self, argument: str, place: PlaceLike) -> Floats:
        """Convert a public place of the input's system to metres."""
        import shapely

        place = self._own(argument, place)
        if isinstance(place, shapely.Point):
            place = shapely.get_coordinates(place, include_z=place.has_z)[0] if not place.is_empty else ()
        try:
            given = np.array(place, dtype=float)
        except (TypeError, ValueError):
            raise InvalidData(
                argument,
                place,
                "a shapely Point, coordinates, or a GeoSeries of one Point",
                "Give (x, y), or a text of latitude and longitude such as '37.77, -122.42'.",
            ) from None
        return given if self.plane is None or given.shape != (2,) else self.plane.place(argument, given)

    def public_geometry(self, geometry: ShapeLike) -> shapely.Geometry | None:
        """Convert a public geometry of the input's system to metres; return None if it is a single place."""
        import shapely

        geometry = self._own("p", geometry)
        if not isinstance(geometry, shapely.Geometry) or isinstance(geometry, shapely.Point):
            return None
        if geometry.is_empty or not np.isfinite(shapely.get_coordinates(geometry)).all():
            raise InvalidParameter("p", geometry, "a geometry with finite coordinates", "Correct it, or give (x, y).")
        return geometry if self.plane is None else self.plane.near_shape("p", geometry)

    def _own(self, argument: str, place: Any) -> ShapeLike:
        """Return the place of a frame of one row or of a text, in the input's system; return anything else unchanged.

        A text is a latitude and a longitude, such as "37.77, -122.42".
        """
        if isinstance(place, str) and (degrees := read_place(place)) is not None:
            import geopandas

            place = geopandas.GeoSeries.from_xy([degrees[1]], [degrees[0]], crs=4326)
        if not hasattr(place, "to_crs"):
            return place
        if len(place) != 1:
            raise InvalidData(argument, f"{len(place)} rows", "one place", "Choose a row, or use union_all().")
        if place.crs is None:
            return place.geometry.iloc[0]
        if self.crs is not None:
            return place.to_crs(self.crs).geometry.iloc[0]
        if place.crs.is_geographic:
            remedy = "Give the coordinate system of x with crs=, or convert the place with to_crs(...)."
            raise InvalidParameter(argument, f"in {place.crs.name}", "in metres, as x is", remedy)
        return place.geometry.iloc[0]


class ArrayForm(Form):
    """An (n, d) array of metres, or of coordinates of a system."""

    def points(self, coords: Floats, kept: Iterable[Hashable] = ()) -> Floats:
        return self.out(coords)

    def place(self, coords: Floats) -> Floats:
        return np.asarray(self.out(coords[None])[0])


class PointsForm(Form):
    """A list of shapely Points, in metres or in coordinates of a system."""

    def points(self, coords: Floats, kept: Iterable[Hashable] = ()) -> list[shapely.Point]:
        import shapely

        return [*shapely.points(self.out(coords))]

    def kept(self, points: Index, columns: Iterable[Hashable] = ()) -> list[shapely.Point]:
        import shapely

        return [*shapely.points(self.chosen(points).own_coords())]


class GeometryForm(Form):
    """A shapely MultiPoint, LineString or Point, in metres or in coordinates of a system."""

    def __init__(self, kind: type, coords: Floats | Reals, plane: Plane | None = None) -> None:
        super().__init__(coords, plane)
        self._kind = kind

    def points(self, coords: Floats, kept: Iterable[Hashable] = ()) -> shapely.Geometry:
        shown = self.out(coords)
        return self._kind(shown[0] if len(shown) == 1 and self._kind.__name__ == "Point" else shown)

    def without_order(self) -> Self:
        if self._kind.__name__ == "LineString":
            raise ordered_rows()
        return self


def ordered_rows() -> InvalidParameter:
    """Return the error about rows that keep their points in an order."""
    remedy = "Give each point a row of its own, or leave it out."
    return InvalidParameter("order", "hidden", "public for lines, tracks and rows of several points", remedy)


def array_of(x: LocationsLike) -> Reals:
    """Return an (n, d) array as real numbers."""
    try:
        # A table would be read as a matrix, its other columns as coordinates.
        table = hasattr(x, "columns") or isinstance(x, np.ma.MaskedArray)
        if table or np.asarray(x).dtype.kind not in "biufO":
            raise TypeError
        # A copy, since the caller may change the array later.
        coords = _numbers(np.array(x))
    except (TypeError, ValueError):
        raise InvalidData(
            "x",
            type(x).__name__,
            "an (n, d) array, a GeoSeries, GeoDataFrame or MultiPoint",
            "Use df[['x', 'y']].to_numpy() for columns of coordinates, with crs= unless they are metres.",
        ) from None
    if coords.values.size == 0:
        coords = coords.reshaped(0, 2)
    if len(coords.shape) != 2:
        raise InvalidData(
            "x",
            coords.shape,
            "of shape (n, d)",
            "Use x.reshape(1, -1) for one point, x.reshape(-1, 1) for points on a line.",
        )
    return coords


def _numbers(given: NDArray[Any]) -> Reals:
    """Return numbers as exact real numbers, also those that no double represents: Decimal, Fraction, long double."""
    if given.dtype.kind != "O" and given.dtype.itemsize <= 8:
        return as_reals(given.astype(float, copy=False))
    kinds = (Rational, float, Decimal, np.floating, type(None))
    if not all(isinstance(number, kinds) for number in given.flat):
        raise TypeError

    def ball(i: int, bits: int) -> Ball:
        from flint import arb

        number = given.flat[i]
        above, below = (int(number), 1) if isinstance(number, np.integer) else number.as_integer_ratio()
        return arb(above) / arb(below)

    return Reals(given.astype(float), 2.0**-53 * FARTHEST, ball)


def labels_of(
    by: Labels, count: int, chosen: slice | NDArray[np.bool_] = slice(None), argument: str = "person"
) -> pd.api.extensions.ExtensionArray:
    """Return the labels of the chosen rows, given one label for each of `count` rows."""
    import pandas as pd

    if hasattr(by, "__arrow_c_stream__") and not hasattr(by, "index"):
        import pyarrow as pa

        # A column of polars or pyarrow.
        by = pa.chunked_array(by).to_pandas().array
    allowed = f"{count} labels, one for each row: names or numbers of persons"
    remedy = "Give an array of labels, or name a column of a frame."
    if isinstance(by, str):
        if by != ROW:
            raise InvalidParameter(argument, by, allowed, remedy)
        by = np.arange(1, count + 1)
    if by is None or not hasattr(by, "__len__"):
        raise InvalidData(argument, by, allowed, remedy)
    shape = getattr(by, "shape", (len(by),))
    if shape != (count,):
        raise InvalidData(argument, shape, allowed, remedy)
    if isinstance(by, pd.MultiIndex):
        by = by.to_flat_index()
    # pandas distinguishes the number 1 from the text "1".
    labels = pd.Series(by, dtype=None if hasattr(by, "dtype") else object)[chosen].infer_objects()
    missing = int(labels.isna().sum())
    if missing:
        raise InvalidData(argument, by, allowed, f"{missing} points have none.")
    if may_hold_places(labels.array):
        raise InvalidData(argument, str(labels.dtype), f"{allowed}, not geometries or objects", remedy)
    return labels.array


def check_any(points: int, rows: int, removed: RowCounts = NONE) -> None:
    """Refuse data without a single point."""
    if points == 0:
        remedy = f"None of the {rows} rows remains: {removed}." if removed.total else "There is nothing to release."
        raise InvalidData("x", (points, 2), "at least one point", remedy)


def checked_vertices(geometries: NDArray[np.object_]) -> tuple[Floats, Index]:
    """Return the points of geometries; warn of heights and measures, which are dropped."""
    places = vertices(geometries)
    warn_of_heights(geometries)
    return places


def warn_of_heights(geometries: NDArray[np.object_]) -> None:
    """Warn of heights and measures, which are dropped."""
    for more in extra_dimensions(geometries):
        message = f"{more[0].upper()}{more[1:]} are dropped: only the plane is released."
        warn(message)
