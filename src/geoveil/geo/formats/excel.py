"""Excel workbooks (.xlsx): a sheet with a header and columns of coordinates or geometries."""

from __future__ import annotations

import datetime
import importlib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Unpack

from geoveil.errors import FileUnavailable, InvalidFile, InvalidParameter, Mention, Message
from geoveil.geo.formats.limits import EXPANSION, UNPACKED, check_names
from geoveil.geo.formats.location_columns import Where, locate
from geoveil.geo.formats.location_file import Batch, FilePart, LocationFile, readable
from geoveil.geo.recognition import SAMPLE

if TYPE_CHECKING:
    import pyarrow as pa
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.worksheet.worksheet import Worksheet

__all__ = ["Excel", "open_excel"]

#: Rows in a batch: fewer than in other formats, since they are held as Python objects.
_ROWS = 2**15
#: Largest number of rows of a sheet, with its header.
_MOST = 2**20


def open_excel(path: Path, *, layer: str | None = None, **where: Unpack[Where]) -> Excel:
    """Open a sheet of a workbook, and read it once to find the types of its columns."""
    _check_size(path)
    with _workbook(path) as book, readable(path, "Excel"):
        sheets = [sheet.title for sheet in book.worksheets if any(True for _ in _rows(sheet))]
        if not sheets:
            raise InvalidFile(str(path), "no rows", "a sheet with a header and rows", "The workbook is empty.")
        if layer not in (sheets if len(sheets) != 1 else [*sheets, None]):
            remedy = Message("Name one of them, such as {first}.", first=Mention("layer", sheets[0]))
            raise InvalidParameter("layer", layer, f"a sheet of {path.name}, one of {sheets}", remedy)
        chosen = sheets[0] if layer is None else layer
        rows = _rows(book[chosen])
        names = [f"column {i}" if name is None else str(name) for i, name in enumerate(_trimmed(next(rows)), start=1)]
        check_names(path, names)
        first: list[tuple[object, ...]] = []
        kinds: list[set[type]] = [set() for _ in names]
        count = 0
        for row in rows:
            count += 1
            if count <= SAMPLE:
                first.append(row)
            for kind, value in zip(kinds, row, strict=False):
                kind.add(type(value))
    sample = {name: [row[i] if i < len(row) else None for row in first] for i, name in enumerate(names)}
    located, system = locate(path, sample, {}, **where)
    types = {name: _type(kind) for name, kind in zip(names, kinds, strict=True)}
    return Excel.opened(path, located, system, types, first=sample, sheet=chosen, rows=count)


def _check_size(path: Path) -> None:
    """Refuse a file that is not an archive, or that would take too much memory when it is unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, OSError) as problem:
        remedy = "It may be truncated, or an older .xls file: save it again as .xlsx or .csv."
        raise InvalidFile(str(path), str(problem), "a valid .xlsx file", remedy) from None
    if size > UNPACKED:
        EXPANSION.check(path, size / max(path.stat().st_size, 1))


@contextmanager
def _workbook(path: Path) -> Iterator[Workbook]:
    """Open a workbook; formulas are read as the values that they had when it was saved."""
    openpyxl = _openpyxl(path)
    with readable(path, "Excel"):
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
    try:
        yield book
    finally:
        book.close()


def _openpyxl(path: Path) -> ModuleType:
    try:
        return importlib.import_module("openpyxl")
    except ImportError:
        problem, remedy = "openpyxl is not installed", "Use pip install 'geoveil[excel]', or save it as a .csv file."
        raise FileUnavailable(path.name, problem, "readable", remedy) from None


def _rows(sheet: Worksheet) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a sheet that are not empty."""
    # A sheet may claim more columns than it has.
    sheet.reset_dimensions()
    for row in sheet.iter_rows(values_only=True):
        if any(value is not None for value in row):
            yield row


def _trimmed(row: tuple[object, ...]) -> tuple[object, ...]:
    """Return the cells of a row up to the last one that is not empty."""
    return row[: max(i for i, value in enumerate(row, start=1) if value is not None)]


def _type(kinds: set[type]) -> pa.DataType:
    """Return the type of a column in which values of these types occur."""
    import pyarrow as pa

    kinds = kinds - {type(None)}
    if kinds and kinds <= {datetime.datetime, datetime.date}:
        return pa.timestamp("us")
    for types, kind in (({bool}, pa.bool_()), ({int}, pa.int64()), ({int, float}, pa.float64())):
        if kinds and kinds <= types:
            return kind
    return pa.string()


def _converted(value: object, kind: pa.DataType) -> object:
    """Return the value of a cell as one of this type."""
    import pyarrow as pa

    if isinstance(value, datetime.date) and pa.types.is_timestamp(kind):
        return value if isinstance(value, datetime.datetime) else datetime.datetime.combine(value, datetime.time())
    if value is not None and pa.types.is_string(kind):
        return value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else str(value)
    return float(value) if isinstance(value, int) and pa.types.is_floating(kind) else value


@dataclass(frozen=True, eq=False, kw_only=True)
class Excel(LocationFile):
    """A sheet of a workbook; dates and numbers remain dates and numbers, and texts are never run as formulas."""

    sheet: str = ""
    rows: int = 0

    tabular = True
    typed = False

    def _parts(self, columns: Sequence[str]) -> Iterator[FilePart]:
        import pyarrow as pa

        at = {name: self.order.index(name) for name in columns}
        first = 0
        with _workbook(self.path) as book:
            rows = _rows(book[self.sheet])
            next(rows)
            while part := [*islice(rows, _ROWS)]:
                cells = {name: [row[i] if i < len(row) else None for row in part] for name, i in at.items()}
                # Locations are read as texts.
                table = pa.table({name: _array(cells[name], self.columns.get(name, pa.string())) for name in columns})
                first += len(part)
                yield FilePart(table, min(first / max(self.rows, 1), 1.0))

    def check_batch(self, batch: Batch) -> None:
        super().check_batch(batch)
        if (rows := batch.first + len(batch)) >= _MOST:
            remedy = "Choose a target that ends in .csv or .parquet."
            raise InvalidFile(batch.file.path.name, rows, f"fewer than {_MOST} rows, the limit of Excel", remedy)

    def write(self, path: Path, batches: Iterator[Batch], schema: pa.Schema) -> None:
        openpyxl = _openpyxl(path)
        names = self.written(schema)
        book = openpyxl.Workbook(write_only=True)
        # The name of the sheet may reveal more than the release.
        sheet = book.create_sheet("released")
        sheet.append([_cell(sheet, name) for name in names])
        for batch in batches:
            fields = {name: batch.columns[name].to_pylist() for name in batch.columns.column_names}
            fields |= {name: values.to_pylist() for name, values in self.located.encode(batch, None).items()}
            for row in zip(*(fields[name] for name in names), strict=True):
                sheet.append([_cell(sheet, value) for value in row])
        book.save(path)


def _array(values: Iterable[object], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return pa.array([_converted(value, kind) for value in values], kind)


def _cell(sheet: Worksheet, value: object) -> WriteOnlyCell:
    """Return a cell; texts are marked as such, since Excel would run those that begin with an equals sign."""
    from openpyxl.cell import WriteOnlyCell

    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.isoformat(sep=" ")  # Excel knows no time zones
    plain = isinstance(value, bool | int | float | datetime.datetime | datetime.date | datetime.time | None)
    cell = WriteOnlyCell(sheet, value if plain else "")
    if not plain:
        cell.value = str(value)
        cell.data_type = "s"
    return cell
