"""A file of locations, read and written in batches of rows."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import GeoveilError, InvalidFile, InvalidParameter
from geoveil.geo.areas import Floats
from geoveil.geo.columns import is_time
from geoveil.geo.coordinate_systems import horizontal, registered, system_of
from geoveil.geo.geometries import Index, present, vertices

__all__ = ["ROWS", "Batch", "LocationFile", "own_system", "readable"]

#: In a batch, about: enough for arrays to be fast, few enough for many batches to fit into memory.
ROWS = 2**18


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a file.

    Parameters
    ----------
    file : LocationFile
        Where they are from.
    first : int
        How many rows stand before them.
    share : float
        How much of the file has been read with them.
    places : array
        (m, 2) coordinates, not numbers where there are none; or shapely geometries.
    columns : pyarrow.Table
        What goes with them.
    numbers : array, optional
        Which of the rows after the first they are, where some were left out.
    """

    file: LocationFile
    first: int
    share: float
    places: Any
    columns: Any
    numbers: Index | None = None

    def __len__(self) -> int:
        return len(self.places)

    @property
    def shaped(self) -> bool:
        """Whether places are geometries."""
        return bool(self.places.dtype == object)

    def name(self, row: int) -> str:
        """A row as errors name it."""
        number = row if self.numbers is None else int(self.numbers[row])
        return f"{self.file.path.name}, row {self.first + number + 1}"

    def name_of_point(self, point: int) -> str:
        """The row of a point as errors name it."""
        return self.name(int(self.rows[point]))

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which rows have a place."""
        return present(self.places) if self.shaped else ~np.isnan(self.places).any(axis=1)

    def chosen(self, rows: NDArray[np.bool_]) -> Batch:
        """Some of its rows."""
        numbers = np.arange(len(self)) if self.numbers is None else self.numbers
        return replace(self, places=self.places[rows], columns=self.columns.filter(rows), numbers=numbers[rows])

    @property
    def coords(self) -> Floats:
        """The points of all places."""
        return self._points[0]

    @property
    def rows(self) -> Index:
        """The row of each point."""
        return self._points[1]

    @cached_property
    def _points(self) -> tuple[Floats, Index]:
        return vertices(self.places, self.name) if self.shaped else (self.places, np.arange(len(self)))

    def moved(self, coords: Floats, **columns: Any) -> Batch:
        """The same rows with other points and further columns."""
        import shapely

        places = shapely.set_coordinates(shapely.force_2d(self.places), coords) if self.shaped else coords
        table = self.columns
        for name, values in columns.items():
            table = table.append_column(name, [values])
        return replace(self, places=places, columns=table)


@dataclass(frozen=True, eq=False, kw_only=True)
class LocationFile(ABC):
    """A file of locations that has been opened: its columns are known, its rows are read when asked for.

    Parameters
    ----------
    path : Path
        Where it is.
    crs : pyproj.CRS
        The system of its coordinates.
    columns : dict
        The pyarrow types of its columns, but for the places, by their names.
    times : frozenset of str
        Those columns that hold times, by their type.
    unsafe : frozenset of str
        Those columns that hold places themselves, or may.
    reading : dict
        With what it can be read again, and what is written like it.
    """

    path: Path
    crs: Any
    columns: dict[str, Any]
    times: frozenset[str] = frozenset()
    unsafe: frozenset[str] = frozenset()
    reading: dict[str, Any] = field(default_factory=dict)

    #: Whether columns can be added to it.
    extensible = True
    #: Whether it is text that a spreadsheet opens, and may run as formulas.
    spreadsheet: ClassVar[bool] = False
    #: Columns without which it cannot be written.
    structure: ClassVar[tuple[str, ...]] = ()

    @property
    def time_columns(self) -> list[str]:
        """Those columns that hold times, by their type or their name."""
        return [name for name, kind in self.columns.items() if name in self.times or is_time(name, kind)]

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Read the rows in their order, with some of the columns."""
        with readable(self.path, type(self).__name__):
            for batch in self._batches(columns):
                # Texts that are not UTF-8, and lengths that lead out of the memory, would fail or harm later.
                batch.columns.validate(full=True)
                yield batch

    @abstractmethod
    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Read as `batches` does. Any exception counts as a fault of the file."""

    @abstractmethod
    def write(self, path: Path, batches: Iterator[Batch], schema: Any) -> None:
        """Write a file like this one, with the columns of a pyarrow schema beside the places."""


@contextmanager
def readable(path: Path, format_name: str, remedy: str = "It may be damaged: make it anew.") -> Iterator[None]:
    """Turn what parsers raise on a damaged file into the error of a file that cannot be read.

    Parsers of damaged bytes fail in more ways than their documentation lists, so every exception is taken.
    """
    try:
        yield
    except GeoveilError:
        raise
    except MemoryError as problem:
        remedy = "Split it, or use a machine with more memory."
        raise InvalidFile(
            str(path), "no memory left", f"a {format_name} file that fits into memory", remedy
        ) from problem
    except Exception as problem:
        found = " ".join(str(problem).split()) or type(problem).__name__
        raise InvalidFile(str(path), found, f"a sound {format_name} file", remedy) from problem


def own_system(path: Path, known: Any, given: Any) -> Any:
    """Return the coordinate system of a file: what it says itself, or else what the caller says.

    A registered one, as it is registered: texts that the file has about it may be about the data.
    """
    import pyproj

    stated = None if given is None else system_of("crs", given)
    try:
        own = None if known is None else pyproj.CRS.from_user_input(known)
    except (pyproj.exceptions.CRSError, UnicodeError) as problem:
        raise InvalidFile(str(path), str(problem), "a file whose coordinate system pyproj knows", "Mend it.") from None
    for each in (own, stated):
        if each is not None and _ELSEWHERE.search(each.to_wkt()):
            remedy = "Convert it to a system of PROJ's database."
            raise InvalidFile(str(path), each.name, "a coordinate system that names no grid file", remedy)
    system = own if stated is None else stated
    if system is None:
        remedy = "Say which one it is: crs=4326, say."
        raise InvalidFile(str(path), None, "a file that knows its coordinate system", remedy)
    if own is not None and own != system:
        remedy = "Leave it out, or mend the file."
        raise InvalidParameter("crs", given, f"{own.to_string()[:80]}, as the file says itself", remedy)
    return registered(system) or horizontal(system)


#: A grid of shifts that a coordinate system names by a path or an address: PROJ would open or request it.
_ELSEWHERE = re.compile(r"PARAMETERFILE\[[^\]]*[/\\]|(?:nad|geoid)grids=[^ \"]*[/\\]", re.IGNORECASE)
