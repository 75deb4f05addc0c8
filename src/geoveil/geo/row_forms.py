"""Locations in the rows of a table: a GeoDataFrame's geometries, or columns of latitudes and longitudes."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Required, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Columns, Labels, LocationsLike, Missing, Outside, Times
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.facts import Reason, Unchanged
from geoveil.geo.columns import ROW, choose, reasons_of
from geoveil.geo.disclosure import check_kept, row_places, sampled, unchanged_columns
from geoveil.geo.forms import Floats, Form, check_any, labels_of, ordered_rows, warn_of_heights
from geoveil.geo.geometries import Index, RowName, position
from geoveil.geo.plain_values import copied, copied_index, may_hold_places, retyped
from geoveil.geo.planes import Plane
from geoveil.geo.row_locations import CoordinateRows, GeometryRows, RowLocations
from geoveil.geo.row_selection import check_column, row_filter, select_rows
from geoveil.geo.table_kinds import PandasTable
from geoveil.noise import Reals

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

__all__ = ["FrameForm", "RowChoice", "RowForm", "TableForm"]


class RowChoice(TypedDict, total=False):
    """Which rows are used, and how they are named in errors; released rows are not checked again."""

    released: Required[bool]
    outside: Outside
    missing: Missing
    where: str | None
    name: RowName


class RowForm(Form):
    """Locations in the rows of a table, one or several in each.

    Parameters
    ----------
    locations : RowLocations
        The rows.
    plane : Plane, optional
        The plane in which noise is added; None where coordinates are metres.
    **how
        Which rows are used; see `RowChoice`.
    """

    #: The column of persons, if it holds pseudonyms.
    _pseudonymised: str | None = None
    #: Whether the order of rows is released.
    _in_order = True

    def __init__(
        self,
        locations: RowLocations,
        plane: Plane | None,
        **how: Unpack[RowChoice],
    ) -> None:
        released, outside, name = how["released"], how.get("outside", "refuse"), how.get("name", position)
        missing, where = how.get("missing", "refuse"), how.get("where")
        self._given = table = locations.table
        self._names = locations.others
        self.outside, self.where = outside, row_filter(locations, where)
        self.selection = select_rows(locations, plane, self.where, missing=missing, outside=outside, name=name)
        rows = np.arange(len(table)) if self.selection.rows is None else np.flatnonzero(self.selection.rows)
        self._table = table if self.selection.rows is None else table.chosen(rows)
        if not released and isinstance(self._table, PandasTable):
            _check_labels(self._table.frame, locations.places)
        coords, self._rows = locations.points(rows, name)
        entered: Floats | Reals = coords
        if not released:
            table.check_names()
            check_any(len(coords), len(table), self.selection.removed)
        if plane is not None:
            # Released points may lie outside the area.
            whose = rows[self._rows]
            entered = plane.into(coords) if released else plane.enter(coords, outside, lambda at: name(int(whose[at])))
        super().__init__(entered, plane)

    def chosen(self, points: Index) -> Self:
        some = copy.copy(self)
        rows, some._rows = np.unique(self._rows[points], return_inverse=True)
        some._table, some.coords = self._table.chosen(rows), self.coords[points]
        return some

    @property
    def rows(self) -> Index:
        return self._rows

    def without_order(self) -> Self:
        """Return the form without times and labels of rows, which would tell their order."""
        if len(self._rows) != len(self._table) or len(self.pairs) > 1:
            raise ordered_rows()
        some = copy.copy(self)
        some._table, some._in_order = self._table.without_labels(), False
        return some

    def own_coords(self) -> Floats:
        places = self._own_places()
        if len(places) != len(self.coords):
            remedy = (
                "Use x.explode() for multipoints; of lines, release the vertices; of trips, one of the two places."
            )
            raise InvalidData("x", "rows of several points", "one point in each row", remedy)
        return places

    def _own_places(self) -> Floats:
        """Return the coordinates of each row that is one point."""
        raise NotImplementedError

    def spread(self, argument: str, values: Times) -> pd.Series:
        index = getattr(self._given, "index", None)
        import pandas as pd

        if isinstance(values, pd.Series) and index is not None:
            if not values.index.equals(index) and not _numbers_of_rows(index, values.index):
                remedy = f"Use {argument}.reindex(x.index), or {argument}.to_numpy() if the rows already correspond."
                raise InvalidParameter(argument, "a Series with another index", "indexed like the table", remedy)
            values = values.reset_index(drop=True)
        return super().spread(argument, values)

    @property
    def names(self) -> list[Any]:
        return self._names

    def column(self, name: Hashable) -> pd.Series:
        return self._table.column(name)[self._rows]

    def labels(self, positions: Index) -> Index | pd.Index:
        return self._table.labels(self._rows[positions])

    def people(self, by: Labels, argument: str = "person") -> pd.api.extensions.ExtensionArray:
        return self._row_labels(by, argument)[self._rows]

    def _row_labels(self, by: Labels, argument: str = "person") -> pd.api.extensions.ExtensionArray:
        """Return the label of each row that remains."""
        import pandas as pd

        columns, index = self.names, getattr(self._given, "index", None)
        if isinstance(by, str) and (by != ROW or by in columns):
            check_column(argument, by, columns, "the data")
            by = self._given.column(by)
        elif isinstance(by, tuple) and by in columns:
            remedy = f"Use {argument}=x[{by!r}]."
            raise InvalidData(argument, by, "a label for each row: this is the name of a column", remedy)
        elif isinstance(by, pd.Series) and index is not None and not by.index.equals(index):
            raise InvalidData(
                argument,
                f"a Series indexed {by.index.tolist()[:3]}...",
                "indexed like x",
                f"Use {argument}.reindex(x.index), or {argument}.to_numpy() if the rows already correspond.",
            )
        rows = self.selection.rows
        return labels_of(by, len(self._given), slice(None) if rows is None else rows, argument)

    def relabelled(self, by: Labels, labels: pd.Index, pseudonyms: Sequence[str]) -> Self:
        import pandas as pd

        own = pd.Series(self._row_labels(by))
        for name, index in self._table.index_columns().items():
            if (own.to_numpy(object) == index.to_numpy(object)).all():
                remedy = "Use x.reset_index(drop=True), or leave pseudonyms= out."
                allowed = "an index without the labels of persons: it is released unchanged, and they get pseudonyms"
                raise InvalidData("x.index", str(name), allowed, remedy)
        if isinstance(by, str):
            shown = own.map(dict(zip(labels, pseudonyms, strict=True)))
            relabelled = copy.copy(self)
            relabelled._table, relabelled._pseudonymised = self._table.with_texts(by, shown.to_list()), by
            return relabelled
        return self

    def columns(self, by: Labels, keep: Columns) -> tuple[dict[Hashable, Reason], tuple[Hashable, ...]]:
        """Return the columns that are released unchanged, each with the reason, and those that are removed.

        Times, the column of persons and those that `keep` names are released; others may reveal places. With
        `keep="all"`, columns that are found to reveal places are refused.
        """
        if not self.has_columns:
            return super().columns(by, keep)
        columns, person = self.names, by if isinstance(by, str) else None
        places = [name for name in columns if self._table.holds_places(name)]
        times = self.times if self._in_order else ()
        if not self._in_order and keep is not None and [*keep] != [person]:
            allowed = "left out where the order of points is hidden: other columns tell rows apart"
            raise InvalidParameter("keep", keep, allowed, "Leave it out.")
        kept, left = choose(columns, times=times, by=person, keep=keep, places=places)
        reasons = reasons_of(kept, by=person, times=times)
        rows = sampled(len(self._table))
        named = {name: self._table.column(name)[rows] for name in kept if reasons[name] == "named"}
        check_kept(named, row_places(self.coords.values, self._rows, rows), keep, self.plane)
        return reasons, left

    def unchanged(self, reasons: Mapping[Hashable, Reason], coords: Floats) -> tuple[Unchanged, ...]:
        if not len(self._table):
            return ()
        rows = sampled(len(self._table))
        names = [name for name in reasons if name != self._pseudonymised]
        columns: dict[Hashable, Any] = {name: self._table.column(name)[rows] for name in names}
        index = {name: labels[rows] for name, labels in self._table.index_columns().items() if name not in columns}
        more: dict[Hashable, Reason] = dict.fromkeys(index, "structure")
        places = row_places(coords, self._rows, rows)
        return unchanged_columns({**columns, **index}, {**more, **reasons}, places, self.plane)

    def replaced(self, coords: Floats) -> LocationsLike:
        return self.points(coords, self.names)

    @cached_property
    def times(self) -> tuple[Hashable, ...]:
        """The columns that hold times."""
        return self._table.recognised(self.names).times


class FrameForm(RowForm):
    """A GeoSeries or GeoDataFrame; rows are points, or lines and multipoints taken as their vertices."""

    def __init__(
        self, frame: geopandas.GeoSeries | geopandas.GeoDataFrame, plane: Plane, **how: Unpack[RowChoice]
    ) -> None:
        self.has_columns = hasattr(frame, "columns")
        super().__init__(GeometryRows(frame), plane, **how)
        warn_of_heights(np.asarray(self._frame.geometry.array))

    @property
    def _frame(self) -> geopandas.GeoSeries | geopandas.GeoDataFrame:
        assert isinstance(self._table, PandasTable)
        return self._table.frame

    def points(self, coords: Floats, kept: Iterable[Hashable] = ()) -> LocationsLike:
        """Return the same rows with released geometry and the columns that are released unchanged.

        All of it is built anew: frames and indices hold more than their rows show (`geo.plain_values`), and so do
        geometries (their SRID).
        """
        import geopandas
        import shapely

        geometry = self._frame.geometry
        shapes = np.asarray(geometry.array)
        if (shapely.get_type_id(shapes) == 0).all():
            released = shapely.points(self.out(coords))
        else:
            released = shapely.set_srid(shapely.set_coordinates(shapely.force_2d(shapes), self.out(coords)), 0)
        index = copied_index(geometry.index)
        series = geopandas.GeoSeries(released, index=index, crs=self.crs, name=geometry.name)
        if not self.has_columns:
            return series
        frame = series.to_frame()
        for at, name in enumerate(kept):
            frame.insert(at, name, copied(self._table.column(name)))
        return frame

    def _own_places(self) -> Floats:
        import shapely

        shapes = np.asarray(self._frame.geometry.array)
        return np.asarray(shapely.get_coordinates(shapes[shapely.get_type_id(shapes) == 0]))

    def kept(self, points: Index, columns: Iterable[Hashable] = ()) -> LocationsLike:
        import geopandas
        import shapely

        some = self.chosen(points)
        geometry = some._frame.geometry
        series = geopandas.GeoSeries(shapely.points(some.own_coords()), crs=self.crs, name=geometry.name)
        if not self.has_columns:
            return series
        frame = series.to_frame()
        for at, name in enumerate(columns):
            frame.insert(at, name, retyped(some._table.column(name)))
        return frame


class TableForm(RowForm):
    """A table with columns of coordinates, which hold a point for each pair of these."""

    has_columns = True

    def __init__(self, locations: CoordinateRows, plane: Plane | None, **how: Unpack[RowChoice]) -> None:
        self.pairs, self._units = locations.pairs, locations.units
        super().__init__(locations, plane, **how)

    def _own_places(self) -> Floats:
        if len(self.pairs) != 1:
            return np.empty((0, 2))
        return np.column_stack([self._table.numbers(name) for name in self.pairs[0]])

    def kept(self, points: Index, columns: Iterable[Hashable] = ()) -> LocationsLike:
        some, wanted = self._table.chosen(self._rows[points]), {*self.pairs[0], *columns}
        built: Any = some.built({name: None for name in some.names if name in wanted})
        if not hasattr(built, "reset_index"):
            return built
        frame = built.reset_index(drop=True)
        return frame.assign(**{name: retyped(frame[name]) for name in frame if name not in self.pairs[0]})

    def points(self, coords: Floats, kept: Iterable[Hashable] = ()) -> LocationsLike:
        """Return a new table of released coordinates and of copies of the columns that are released unchanged.

        Coordinates have the units of the input; texts of angles become numbers of degrees.
        """
        places = self.out(coords).reshape(-1, len(self.pairs), 2)
        released: dict[Any, NDArray[Any]] = {}
        for at, pair in enumerate(self.pairs):
            for axis, name in enumerate(pair):
                part, unit = places[:, at, axis], self._units[name] or 1.0
                released[name] = part.copy() if unit == 1 else np.rint(part / unit).astype(np.int64)
        wanted = set(kept)
        names = [name for name in self._table.names if name in released or name in wanted]
        return self._table.built({name: released.get(name) for name in names})


def _numbers_of_rows(rows: pd.Index, given: pd.Index) -> bool:
    """Return whether both only number all rows: those of a file from 1, and those of a Series from 0."""
    import pandas as pd

    same = len(rows) == len(given)
    return same and rows.name == "row" and rows.equals(pd.RangeIndex(1, len(rows) + 1)) and given.equals(rows - 1)


def _check_labels(frame: pd.DataFrame, names: Iterable[Hashable]) -> None:
    """Refuse an index, or the name of an axis, that is itself a place: labels are released unchanged."""
    import pandas as pd

    remedy = "Use x.reset_index(drop=True), or give texts or numbers."
    if may_hold_places(frame.index):
        allowed = "labels that are texts, numbers or times: they are released unchanged"
        raise InvalidData("x.index", type(frame.index).__name__, allowed, remedy)
    if may_hold_places(pd.Series([*frame.index.names, *names], dtype=object).array):
        raise InvalidData("x", "an axis named by an object", "an index and a geometry named by texts", remedy)
