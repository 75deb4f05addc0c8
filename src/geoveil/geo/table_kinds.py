"""Tables of pandas, polars, pyarrow and DuckDB: read column by column, and built anew for a release.

All but those of pandas are read through the Arrow C stream interface, which each of these libraries offers, and become
tables of their own library again. A released table is built from the released columns alone: neither metadata nor
categories nor the buffers of the input are in it (`geo.plain_values`).
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from geoveil.errors import InvalidData, Message
from geoveil.geo.columns import ROW
from geoveil.geo.geometries import Floats, Index
from geoveil.geo.plain_values import (
    PandasArray,
    copied,
    copied_arrow,
    copied_index,
    is_plain,
    may_hold_places,
    shows_places,
    without_views,
)
from geoveil.geo.recognition import SAMPLE, Recognised, degrees_of, is_missing, recognise, unit_of

if TYPE_CHECKING:
    import geopandas
    import pandas as pd
    import polars
    import pyarrow as pa

__all__ = ["PandasTable", "Table", "table_of"]


class Table(ABC):
    """The rows and columns of a table, whatever library made it.

    `names` are those of its columns, in their order.
    """

    names: list[Any]

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def column(self, name: Hashable) -> PandasArray:
        """Return a column as a pandas array."""

    @abstractmethod
    def dtype(self, name: Hashable) -> str:
        """Return the type of a column as text."""

    @abstractmethod
    def first(self, name: Hashable) -> list[object]:
        """Return the first values of a column, by which its format is recognised."""

    def recognised(self, names: Sequence[Hashable]) -> Recognised:
        """Recognise coordinates, geometries, times and persons among some of the columns."""
        return recognise({name: self.first(name) for name in names}, {name: self.dtype(name) for name in names})

    @abstractmethod
    def holds_places(self, name: Hashable) -> bool:
        """Return whether a column contains geometries, or values in which geometries may be hidden."""

    def index_columns(self) -> dict[Hashable, pd.Index]:
        """Return the labels of rows by name, where there are any but positions."""
        return {}

    @abstractmethod
    def chosen(self, rows: Index) -> Self:
        """Return the table of some of the rows."""

    @abstractmethod
    def with_texts(self, name: Hashable, texts: Sequence[str]) -> Self:
        """Return the table with texts in the place of a column."""

    @abstractmethod
    def numbered(self) -> Self:
        """Return the table with a column of the numbers of its rows, from one."""

    def without_labels(self) -> Self:
        """Return the table with rows that are only numbered."""
        return self

    @abstractmethod
    def labels(self, rows: Index) -> pd.Index | Index:
        """Return the names of rows: a pandas index's labels, or else their positions in the input."""

    @abstractmethod
    def built(self, columns: Mapping[Hashable, Floats | None]) -> object:
        """Return a new table of the same library: of the given numbers, or copies of columns where none are given."""

    @abstractmethod
    def arrow(self, name: Hashable) -> pa.ChunkedArray:
        """Return a column as a chunked array of Arrow."""

    def numbers(self, name: Hashable) -> Floats:
        """Return a column of numbers as new doubles, NaN where one is missing.

        Decimals become the nearest doubles, as those of a text file do.
        """
        import pyarrow as pa

        array = self.arrow(name)
        if pa.types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
        if not any(test(array.type) for test in tests):
            remedy = "Convert it to numbers first; texts such as '37.77' with pandas.to_numeric, or a cast to DOUBLE."
            raise InvalidData(f"x[{name!r}]", self.dtype(name), "a column of numbers", remedy)
        # A copy, since the caller may change the table later.
        return np.array(array.cast(pa.float64(), safe=False).to_numpy())

    def unit(self, name: Hashable) -> float | None:
        """Return the unit of a column of coordinates in degrees, or None for texts of angles; see `unit_of`."""
        return unit_of(name, [value for value in self.first(name) if not is_missing(value)])

    def angles(self, name: Hashable) -> Floats:
        """Return the degrees of a column of texts such as 52.52N, NaN where one is missing."""
        degrees_of_rows = np.full(len(self), np.nan)
        for row, text in enumerate(self.arrow(name).to_pylist()):
            if is_missing(text):
                continue
            degrees = degrees_of(str(text))
            if degrees is None:
                remedy = Message("Correct it, or leave it empty and give {missing:drop}.")
                raise InvalidData(
                    f"x[{name!r}], row {row}", text, "an angle such as 52.52N, as in the first rows", remedy
                )
            degrees_of_rows[row] = degrees
        return degrees_of_rows

    def check_names(self) -> None:
        """Refuse columns of one name."""
        _check_names(self.names)

    def with_geometries(self) -> geopandas.GeoDataFrame | None:
        """Return the rows as a GeoDataFrame if a column has a type of GeoArrow; None without one."""
        return None


class PandasTable(Table):
    """A DataFrame of pandas, or one of geopandas with its geometries; a GeoSeries has no columns."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.names = list(getattr(frame, "columns", ()))

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def index(self) -> pd.Index:
        """The labels of the rows."""
        return self.frame.index

    def index_columns(self) -> dict[Hashable, pd.Index]:
        import pandas as pd

        if isinstance(self.index, pd.RangeIndex):
            return {}
        names = ["index" if name is None else name for name in self.index.names]
        return {name: self.index.get_level_values(level) for level, name in enumerate(names)}

    def column(self, name: Hashable) -> PandasArray:
        return self.frame[name].array

    def dtype(self, name: Hashable) -> str:
        return str(self.frame[name].dtype)

    def first(self, name: Hashable) -> list[object]:
        return list(self.frame[name].iloc[:SAMPLE])

    def holds_places(self, name: Hashable) -> bool:
        return may_hold_places(self.column(name))

    def chosen(self, rows: Index) -> PandasTable:
        return PandasTable(self.frame.iloc[rows])

    def with_texts(self, name: Hashable, texts: Sequence[str]) -> PandasTable:
        import pandas as pd

        frame = self.frame.copy(deep=False)
        frame[name] = pd.array(list(texts), dtype="str")
        return PandasTable(frame)

    def numbered(self) -> PandasTable:
        return PandasTable(self.frame.assign(**{ROW: np.arange(1, len(self) + 1)}))

    def without_labels(self) -> PandasTable:
        return PandasTable(self.frame.reset_index(drop=True))

    def labels(self, rows: Index) -> pd.Index | Index:
        import pandas as pd

        index = self.index[rows]
        # Two rows of a range are a range again, which does not show its labels.
        return pd.Index(index.to_numpy(), name=index.name) if isinstance(index, pd.RangeIndex) else copied_index(index)

    def built(self, columns: Mapping[Hashable, Floats | None]) -> object:
        import pandas as pd

        arrays = [copied(self.column(name)) if given is None else given for name, given in columns.items()]
        built = pd.DataFrame(dict(enumerate(arrays)), index=copied_index(self.index))
        built.columns = pd.Index(list(columns), tupleize_cols=isinstance(self.frame.columns, pd.MultiIndex))
        return built

    def arrow(self, name: Hashable) -> pa.ChunkedArray:
        import pandas as pd
        import pyarrow as pa

        values = self.column(name)
        if isinstance(values.dtype, pd.SparseDtype):
            values = values.to_dense()
        try:
            array = pa.array(values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
            # Values of several types, as texts.
            array = pa.array([None if value is None else str(value) for value in values], pa.string())
        return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


class ArrowTable(Table):
    """A table of pyarrow, or of any library with the Arrow C stream interface.

    Parameters
    ----------
    positions : array of int
        The rows, among those of the input.
    columns : dict
        The columns by name.
    native : callable
        Returns a table of pyarrow as one of the input's library.
    schema : pyarrow.Schema, optional
        The types of the columns as the input states them: those of GeoArrow stand beside the types of their values.
    """

    def __init__(
        self,
        positions: Index,
        columns: dict[str, pa.ChunkedArray],
        native: Callable[[pa.Table], object],
        schema: pa.Schema | None = None,
    ) -> None:
        self._positions, self._columns, self._native, self._schema = positions, columns, native, schema
        self.names = [*columns]

    def __len__(self) -> int:
        return len(self._positions)

    def column(self, name: Hashable) -> PandasArray:
        return self.arrow(name).to_pandas().array

    def dtype(self, name: Hashable) -> str:
        return str(self.arrow(name).type)

    def first(self, name: Hashable) -> list[object]:
        return list(self.arrow(name).slice(0, SAMPLE).to_pylist())

    def holds_places(self, name: Hashable) -> bool:
        column = self.arrow(name)
        return not is_plain(column.type) or shows_places(column)

    def chosen(self, rows: Index) -> ArrowTable:
        # Nested values are never released, and Arrow cannot choose rows of all their types.
        chosen = {name: column.take(rows) for name, column in self._columns.items() if is_plain(column.type)}
        return ArrowTable(self._positions[rows], {**self._columns, **chosen}, self._native)

    def with_texts(self, name: Hashable, texts: Sequence[str]) -> ArrowTable:
        import pyarrow as pa

        replaced = {**self._columns, str(name): pa.chunked_array([pa.array(list(texts), pa.string())])}
        return ArrowTable(self._positions, replaced, self._native)

    def numbered(self) -> ArrowTable:
        import pyarrow as pa

        numbers = pa.chunked_array([np.arange(1, len(self) + 1)])
        return ArrowTable(self._positions, {**self._columns, ROW: numbers}, self._native)

    def labels(self, rows: Index) -> Index:
        return self._positions[rows]

    def built(self, columns: Mapping[Hashable, Floats | None]) -> object:
        import pyarrow as pa

        arrays = [
            copied_arrow(self.arrow(name)) if given is None else pa.array(np.ascontiguousarray(given))
            for name, given in columns.items()
        ]
        return self._native(pa.Table.from_arrays(arrays, names=list(columns)))

    def arrow(self, name: Hashable) -> pa.ChunkedArray:
        return self._columns[str(name)]

    def with_geometries(self) -> geopandas.GeoDataFrame | None:
        import geopandas
        import pyarrow as pa

        if self._schema is None or not any(_is_geoarrow(field) for field in self._schema):
            return None
        # Columns of coordinates come first: they return in a table of the same library.
        if self.recognised(self.names).pairs:
            return None
        return geopandas.GeoDataFrame.from_arrow(pa.Table.from_arrays([*self._columns.values()], schema=self._schema))


def _is_geoarrow(field: pa.Field) -> bool:
    """Return whether a column has a type of GeoArrow, known to pyarrow or not."""
    stated = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode()
    return str(getattr(field.type, "extension_name", stated)).startswith("geoarrow.")


def _as_polars(table: pa.Table) -> polars.DataFrame:
    import polars
    import pyarrow as pa

    # Categories of polars are those of all its columns: they would name values that were not released.
    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(at, field.name, table[at].cast(field.type.value_type))
    return polars.DataFrame(table)


def _as_relation(table: pa.Table) -> object:
    """Return a relation of DuckDB's default connection."""
    import duckdb

    return duckdb.from_arrow(table)


def _as_ibis(table: pa.Table) -> object:
    """Return a table of Ibis in memory."""
    import ibis

    return ibis.memtable(table)


def table_of(x: object) -> Table | None:
    """Return x as a table, or None if it is none.

    Parameters
    ----------
    x : object
        A table: a DataFrame of pandas, a DataFrame or LazyFrame of polars (which is collected once), a relation of
        DuckDB or a table of Ibis (which are executed once), a list of dicts, or anything with the Arrow C stream
        interface, such as a pyarrow.Table. GeoDataFrames are no tables here.
    """
    import pyarrow as pa

    if hasattr(x, "active_geometry_name"):
        return None
    if _made_by("pandas", "DataFrame", x):
        known = PandasTable(cast("pd.DataFrame", x))
        known.check_names()
        return known
    native: Callable[[pa.Table], object]
    if _made_by("polars", "LazyFrame", x):
        table, native = cast("polars.LazyFrame", x).collect().to_arrow(), lambda table: _as_polars(table).lazy()
    elif _made_by("polars", "DataFrame", x):
        table, native = cast("polars.DataFrame", x).to_arrow(), _as_polars
    elif _made_by("duckdb", "DuckDBPyRelation", x):
        table, native = pa.table(x), _as_relation
    elif _made_by("ibis", "Table", x):
        table, native = pa.table(x), _as_ibis
    elif hasattr(x, "__arrow_c_stream__") and not hasattr(x, "iloc"):
        streamed = x if isinstance(x, pa.Table) else _streamed(x)
        if streamed is None:
            return None
        table, native = streamed, lambda table: table
    elif isinstance(x, list | tuple) and len(x) and isinstance(x[0], dict):
        table, native = _records(x), lambda table: table.to_pylist()
    else:
        return None
    _check_names(table.column_names)
    # Views of texts become texts, since Arrow cannot choose rows of them.
    columns = [*map(without_views, table.columns)]
    schema = pa.schema([field.with_type(column.type) for field, column in zip(table.schema, columns, strict=True)])
    named = dict(zip(table.column_names, columns, strict=True))
    return ArrowTable(np.arange(table.num_rows), named, native, schema)


def _streamed(x: object) -> pa.Table | None:
    """Return the table of an Arrow C stream, or None if it is one of single values."""
    import pyarrow as pa

    try:
        return pa.table(x)
    except (pa.ArrowException, TypeError, ValueError):
        return None


def _check_names(names: list[Any]) -> None:
    if len(set(names)) < len(names):
        raise InvalidData("x.columns", names, "columns with different names", "Rename or drop some of them.")


def _made_by(library: str, name: str, x: object) -> bool:
    """Return whether x is of a class of a library, without importing the library."""
    kind = getattr(sys.modules.get(library), name, None)
    return isinstance(kind, type) and isinstance(x, kind)


def _records(rows: Sequence[dict[str, object]]) -> pa.Table:
    """Return dicts as a table, with a column for each of their keys."""
    import pyarrow as pa

    remedy = "Use pandas.DataFrame(x), and correct the columns."
    if not all(isinstance(row, dict) for row in rows):
        raise InvalidData("x", "dicts beside other objects", "a list of nothing but dicts", remedy)
    names = list(dict.fromkeys(name for row in rows for name in row))
    try:
        return pa.Table.from_arrays([pa.array([row.get(name) for row in rows]) for name in names], names=names)
    except (pa.ArrowException, TypeError) as problem:
        raise InvalidData("x", str(problem), "dicts that have values of one type under each name", remedy) from None
