"""The base class of location files, which are read and written in batches of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Missing, Outside
from geoveil.errors import GeoveilError, InvalidFile, Text
from geoveil.facts import RowCounts
from geoveil.geo.columns import ROW
from geoveil.geo.formats.location_columns import LocationColumns
from geoveil.geo.geometries import Floats, Geometries, Index, Places, RowName, position, present, vertices
from geoveil.geo.planes import Plane
from geoveil.geo.recognition import SAMPLE, Recognised, recognise
from geoveil.geo.row_filters import RowFilter
from geoveil.geo.row_selection import select_rows
from geoveil.geo.seconds import TimeColumn

if TYPE_CHECKING:
    import pyarrow as pa
    import pyproj

__all__ = ["ROWS", "Batch", "FilePart", "LocationFile", "readable"]

#: Approximate number of rows in a batch: enough for arrays to be fast, few enough for many batches to fit in memory.
ROWS = 2**18


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive rows of a file."""

    #: The file.
    file: LocationFile
    #: The number of rows before the batch.
    first: int
    #: The fraction of the file read up to the end of the batch.
    share: float
    #: The locations: (m, 2) coordinates, NaN where missing, or (m, 4) for an origin and a destination in each row; or
    #: shapely geometries.
    places: Places
    #: The other columns.
    columns: pa.Table
    #: Positions of the rows in the original batch, if some were left out.
    numbers: Index | None = None
    #: The file whose rows these are, one of several in a folder.
    source: Path | None = None

    def __len__(self) -> int:
        return len(self.places)

    @property
    def shaped(self) -> bool:
        """Whether the locations are shapely geometries."""
        return bool(self.places.dtype == object)

    def name(self, row: int) -> str:
        """Return the name of a row in errors."""
        number = row if self.numbers is None else int(self.numbers[row])
        before, path = (self.first, self.file.path) if self.source is None else (0, self.source)
        return f"{path.name}, row {before + number + 1}"

    def name_of_point(self, point: int) -> str:
        """Return the name of the row of a point in errors."""
        return self.name(int(self.rows[point]))

    def present(self) -> NDArray[np.bool_]:
        """Return which rows have a location."""
        return present(self.places) if self.shaped else np.asarray(~np.isnan(self.places).any(axis=1))

    def chosen(self, rows: NDArray[np.bool_]) -> Batch:
        """Return the selected rows."""
        numbers = np.arange(len(self)) if self.numbers is None else self.numbers
        return replace(self, places=self.places[rows], columns=self.columns.filter(rows), numbers=numbers[rows])

    def selected(
        self, plane: Plane | None, *, where: RowFilter | None, missing: Missing, outside: Outside
    ) -> tuple[Batch, RowCounts]:
        """Return the rows that remain, and the numbers of those that are removed.

        A filter comes first, then missing locations, then locations outside the area; a line with some points outside
        is removed as a whole.
        """
        selection = select_rows(self, plane, where, missing=missing, outside=outside, name=self.name)
        return self if selection.rows is None else self.chosen(selection.rows), selection.removed

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Return the columns, some of which are wanted."""
        return self.columns

    def points(self, rows: Index, name: RowName = position) -> tuple[Floats, Index]:
        """Return the points of some rows, and for each point the position of its row in `rows`."""
        return _points(self.places[rows], lambda row: name(int(rows[row])))

    @property
    def coords(self) -> Floats:
        """The points of all locations."""
        return self._points[0]

    @property
    def rows(self) -> Index:
        """The row of each point."""
        return self._points[1]

    @cached_property
    def _points(self) -> tuple[Floats, Index]:
        return _points(self.places, self.name)

    @property
    def geometries(self) -> Geometries:
        """The locations as shapely geometries; an origin and a destination are the ends of a line."""
        import shapely

        if self.shaped:
            return np.asarray(self.places)
        if self.places.shape[1] == 2:
            return np.asarray(shapely.points(self.places))
        return np.asarray(shapely.linestrings(self.places.reshape(len(self), self.places.shape[1] // 2, 2)))

    @property
    def types(self) -> set[str]:
        """The types of the geometries, such as "Point"."""
        if self.shaped:
            return {shape.geom_type for shape in self.places}
        return {"Point" if self.places.shape[1] == 2 else "LineString"} if len(self) else set()

    @property
    def pairs(self) -> Floats:
        """The coordinates of rows that are single points, for formats that have a pair of columns for them."""
        if self.shaped and not np.array_equal(self.rows, np.arange(len(self))):
            row = int(np.flatnonzero(np.bincount(self.rows, minlength=len(self)) != 1)[0])
            remedy = "Choose a target that ends in .geojson, .gpkg or .parquet, which hold lines."
            raise InvalidFile(self.name(row), self.places[row].geom_type, "a point, for a table of points", remedy)
        return self.coords

    def numbered(self) -> Batch:
        """Return the rows with a column of their numbers in the file, from one."""
        import pyarrow as pa

        numbers = pa.array(np.arange(self.first + 1, self.first + len(self) + 1))
        return replace(self, columns=self.columns.append_column(ROW, numbers))

    def moved(self, coords: Floats, **columns: pa.Array) -> Batch:
        """Return the same rows with other points and additional columns."""
        import shapely

        if self.shaped:
            places = shapely.set_coordinates(shapely.force_2d(self.places), coords)
        else:
            places = coords.reshape(self.places.shape)
        table = self.columns
        for name, values in columns.items():
            table = table.append_column(name, [values])
        return replace(self, places=places, columns=table)


class FilePart(NamedTuple):
    """Consecutive rows of a file as they are read, with the columns of locations, and how much of it was read."""

    table: pa.Table
    share: float
    source: Path | None = None


def _points(places: Places, name: RowName) -> tuple[Floats, Index]:
    """Return the points of geometries or of rows of coordinates, and the row of each."""
    if places.dtype == object:
        return vertices(places, name)
    each, rows = places.shape[1] // 2, np.arange(len(places))
    return places.reshape(-1, 2), rows if each == 1 else np.repeat(rows, each)


@dataclass(frozen=True, eq=False, kw_only=True)
class LocationFile(ABC):
    """An opened file of locations: its columns are known, and its rows are read on request.

    Each format says how it is opened (`opened`), read (`_parts`) and written (`write`).
    """

    #: The path of the file.
    path: Path
    #: The coordinate system of its locations.
    crs: pyproj.CRS
    #: The columns that hold the locations.
    located: LocationColumns
    #: The pyarrow types of all other columns, by name.
    columns: dict[str, pa.DataType]
    #: The names of all columns.
    order: list[str] = field(default_factory=list)
    #: The columns with a type of times.
    times: frozenset[str] = frozenset()
    #: The columns that contain locations themselves, or may.
    unsafe: frozenset[str] = frozenset()
    #: The options with which the file, and files written like it, can be read again.
    reading: dict[str, Any] = field(default_factory=dict)
    #: The type of all geometries, if the file says more about it than its columns do.
    kind: str = ""
    #: The first values of columns, where they are known.
    first: Mapping[str, Sequence[object]] = field(default_factory=dict, repr=False)
    #: The temporary folder of an unpacked file, which must exist while the file is read.
    held: object = None
    #: Whether the rows come with a column of their numbers, from one.
    numbers_rows: bool = False

    #: Whether it is a table whose columns of locations have names of their own.
    tabular: ClassVar[bool] = False
    #: Whether files of this format are written.
    writable: ClassVar[bool] = True
    #: Whether the file states the types of its columns, or all of them are texts.
    typed: ClassVar[bool] = True
    #: Whether columns can be added.
    extensible: ClassVar[bool] = True
    #: Whether spreadsheets open the file and may run its texts as formulas.
    spreadsheet: ClassVar[bool] = False
    #: Columns that hold times by the definition of the format.
    dated: ClassVar[tuple[str, ...]] = ()
    #: Columns without which the file cannot be written.
    structure: ClassVar[tuple[str, ...]] = ()
    #: What the owner of a file that cannot be read can do.
    remedy: ClassVar[Text] = "It may be damaged: create it again."

    @classmethod
    def opened(
        cls,
        path: Path,
        located: LocationColumns,
        crs: pyproj.CRS,
        types: Mapping[str, pa.DataType],
        *,
        unsafe: Iterable[str] = (),
        reading: Mapping[str, object] | None = None,
        **own: Any,
    ) -> Self:
        """Return a file of this format, given the types of all its columns; `own` are fields of the format."""
        import pyarrow as pa

        columns = {name: kind for name, kind in types.items() if name not in located.names}
        times = frozenset(name for name, kind in columns.items() if pa.types.is_temporal(kind))
        return cls(
            path=path,
            crs=crs,
            located=located,
            columns=columns,
            order=[*types],
            times=own.pop("times", times),
            unsafe=frozenset(unsafe).difference(located.names),
            reading={**located.reading, "crs": crs.to_string()} if reading is None else {**reading},
            **own,
        )

    def with_persons(self, person: object) -> Self:
        """Return the file with a column of the numbers of its rows, if these are the persons: `person` is "row"."""
        import pyarrow as pa

        if not isinstance(person, str) or person != ROW or ROW in self.columns:
            return self
        return replace(self, columns={**self.columns, ROW: pa.int64()}, numbers_rows=True)

    @cached_property
    def recognised(self) -> Recognised:
        """The columns of times and persons, besides the locations, by their names and first values."""
        hidden = self.unsafe | ({ROW} if self.numbers_rows else set())
        kinds = {
            name: "datetime" if name in self.times or name in self.dated else kind
            for name, kind in self.columns.items()
        }
        return recognise(self._sample([name for name in self.columns if name not in hidden]), kinds)

    @property
    def numbered(self) -> frozenset[str]:
        """The columns that only count the parts of the file, and hold no values of the data."""
        return frozenset()

    @property
    def shape(self) -> str:
        """The type of all geometries, or "Unknown" if it is not known or they are of several types."""
        return self.kind or self.located.shape

    @property
    def points_in_a_row(self) -> int:
        """The number of points of each row that have columns of their own: 2 for an origin and a destination."""
        return self.located.points

    @property
    def time_columns(self) -> list[TimeColumn]:
        """The columns that hold times, by their names and their types or first values."""
        return [TimeColumn(name) for name in self.recognised.times]

    def _sample(self, columns: Sequence[str]) -> Mapping[str, Sequence[object]]:
        """Return the first values of columns."""
        if self.first:
            return {name: self.first[name] for name in columns}
        sample: dict[str, list[object]] = {name: [] for name in columns}
        rows = 0
        for batch in self.batches(columns):
            for name, values in batch.columns.slice(0, SAMPLE - rows).to_pydict().items():
                sample[name] += values
            rows += len(batch)
            if rows >= SAMPLE:
                break
        return sample

    def row_filter(self, where: str | None) -> RowFilter | None:
        """Return the filter that selects rows by a condition on columns."""
        if where is None:
            return None
        return RowFilter(where, self.columns, self.unsafe, self.reading.get("decimal") or ".")

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Read the rows in order, with the given columns."""
        first = 0
        own = [name for name in columns if name != ROW or not self.numbers_rows]
        with readable(self.path, type(self).__name__, self.remedy):
            for part in self._parts([*dict.fromkeys([*own, *self.located.names])]):
                batch = self.batch_of(first, part.table, own, part.share, part.source)
                if len(own) < len(columns):
                    batch = batch.numbered()
                # Texts that are not UTF-8, and offsets outside of the buffers, would fail or do harm later.
                batch.columns.validate(full=True)
                yield batch
                first += len(part.table)

    @abstractmethod
    def _parts(self, columns: Sequence[str]) -> Iterator[FilePart]:
        """Read the rows for `batches`, with these columns. Any exception is reported as a fault of the file."""

    def batch_of(
        self, first: int, table: pa.Table, columns: Sequence[str], share: float = 1.0, source: Path | None = None
    ) -> Batch:
        """Return rows with their locations decoded, and these columns; `first` is the number of rows before them."""
        batch = Batch(self, first, share, np.empty((0, 2)), table.select([*columns]), None, source)
        remedy = f"The values of {' and '.join(self.located.names)} must be numbers or geometries."
        with readable(source or self.path, type(self).__name__, remedy):
            places = self.located.decode(table, self.reading.get("decimal") or ".", batch.name)
        return replace(batch, places=places)

    def check_columns(self, names: Sequence[str]) -> None:  # noqa: B027
        """Refuse names of columns that the format cannot hold."""

    def check_batch(self, batch: Batch) -> None:
        """Refuse geometries and texts that the format cannot hold."""
        self.located.check(batch)

    def check_types(self, types: Set[str]) -> None:  # noqa: B027
        """Refuse geometries of these types if the format cannot hold them in one file."""

    def write(self, path: Path, batches: Iterator[Batch], schema: pa.Schema) -> None:
        """Write a file of the same format, with the locations and the columns of a pyarrow schema."""
        raise NotImplementedError(f"{type(self).__name__} files are released in another format.")

    def written(self, schema: pa.Schema) -> list[str]:
        """Return the columns of a released file: those of the source that remain, in their order, and added ones."""
        kept = [name for name in self.order if name in schema.names or name in self.located.names]
        return [*kept, *(name for name in schema.names if name not in kept)]


@contextmanager
def readable(path: Path, format_name: str, remedy: Text = "It may be damaged: create it again.") -> Iterator[None]:
    """Convert the exceptions of parsers on a damaged file to `InvalidFile`.

    Parsers of damaged bytes fail in more ways than their documentation lists, so every exception is converted.
    """
    try:
        yield
    except GeoveilError:
        raise
    except MemoryError as problem:
        remedy = "Split it, or use a machine with more memory."
        allowed = f"a {format_name} file that fits into memory"
        raise InvalidFile(str(path), "no memory left", allowed, remedy) from problem
    except Exception as problem:
        reason = " ".join(str(problem).split()) or type(problem).__name__
        raise InvalidFile(str(path), reason, f"a valid {format_name} file", remedy) from problem
