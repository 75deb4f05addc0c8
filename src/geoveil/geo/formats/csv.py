"""CSV files, with any delimiter, that have two columns of coordinates."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil.errors import InvalidFile, InvalidParameter, Message
from geoveil.geo.formats.coordinates import coordinate_columns, numbers, texts
from geoveil.geo.formats.limits import COLUMNS, EXPANSION, LINE, UNPACKED, check_names
from geoveil.geo.formats.location_file import Batch, LocationFile, readable

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CSV", "open_csv"]

#: Number of bytes that are read at once.
_BLOCK = 2**23


def open_csv(
    path: Path,
    *,
    crs: Any = None,
    x: str | None = None,
    y: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
) -> CSV:
    """Open a CSV file and read its header."""
    import pyarrow as pa

    if decimal not in (".", ","):
        raise InvalidParameter("decimal", decimal, "'.' or ','", "It separates the decimals of a number.")
    if delimiter is not None and not (isinstance(delimiter, str) and len(delimiter) == 1):
        raise InvalidParameter("delimiter", delimiter, "one character", "It separates fields.")
    try:
        encoding = codecs.lookup(encoding).name
        if (sample := "a,1.5;-\n").encode(encoding).decode(encoding) != sample:
            raise LookupError(encoding)
    except (LookupError, TypeError, UnicodeError):
        raise InvalidParameter("encoding", encoding, "a name that Python knows", 'Try "utf-8" or "latin-1".') from None
    names, delimiter = _header(path, encoding, delimiter)
    check_names(path, names)
    x, y, system = coordinate_columns(path, names, x, y, crs)
    reading = {"x": x, "y": y, "delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    return CSV(
        path=path,
        crs=system,
        columns={name: pa.string() for name in names if name not in (x, y)},
        reading={**reading, "crs": system.to_string()},
        order=names,
    )


def _header(path: Path, encoding: str, delimiter: str | None) -> tuple[list[str], str]:
    """Read the names of the columns and detect the delimiter."""
    known = "utf-8-sig" if encoding == "utf-8" else encoding
    try:
        with (
            (gzip.open if _is_packed(path) else Path.open)(path, "rb") as raw,
            io.TextIOWrapper(raw, known, newline="") as stream,
        ):
            first = "\n"
            while first and not first.strip():
                first = stream.readline(LINE)
            if not first:
                raise InvalidFile(str(path), "", "a header and rows", "The file is empty.")
            if len(first) == LINE:
                remedy = "Is it CSV? Its lines must end."
                raise InvalidFile(str(path), first[:40], f"a header of less than {LINE} characters", remedy)
            if delimiter is None:
                delimiter = "\t" if ".tsv" in path.name.lower() else max(",;\t|", key=first.count)
            COLUMNS.check(path, first.count(delimiter) + 1)
            lines = chain([first], iter(lambda: stream.readline(LINE), ""))
            return next(csv.reader(lines, delimiter=delimiter)), delimiter
    except UnicodeError as problem:
        marked = _marked(path)
        older = "Give {encoding:latin-1}, for files of older Windows programs."
        given = Message(f"Give {{encoding:{marked}}}." if marked else older)
        raise InvalidFile(str(path), str(problem), f"text in {encoding}", given) from None
    except (OSError, EOFError, csv.Error, zlib.error) as problem:
        raise InvalidFile(
            str(path), str(problem), "a valid CSV file", "It may be truncated: create it again."
        ) from None


def _marked(path: Path) -> str | None:
    """Return the encoding given by the byte order mark of a file, if it has one."""
    with path.open("rb") as raw:
        head = raw.read(2)
    return "utf-16" if head in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else None


def _is_packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


class _Unpacked(io.RawIOBase):
    """A decompressed view of a file that stops at the limits on expansion."""

    def __init__(self, path: Path, raw: pa.NativeFile) -> None:
        import pyarrow as pa

        self._path, self._raw, self._stream = path, raw, pa.CompressedInputStream(raw, "gzip")
        self._count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Read and decompress at most this many bytes."""
        found: bytes = self._stream.read(size)
        self._count += len(found)
        if self._count > UNPACKED:
            EXPANSION.check(self._path, self._count / self._raw.tell())
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class CSV(LocationFile):
    """A CSV file with a header; all fields are kept as texts."""

    order: list[str]

    spreadsheet = True

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        import pyarrow as pa
        import pyarrow.csv as pc

        x, y = self.reading["x"], self.reading["y"]
        first = 0
        size = max(self.path.stat().st_size, 1)
        remedy = Message("Correct the row, or give {delimiter} or {encoding}.")
        with (
            readable(self.path, "CSV", remedy),
            pa.OSFile(str(self.path)) as raw,
            _Unpacked(self.path, raw) if _is_packed(self.path) else nullcontext(raw) as stream,
        ):
            reader = pc.open_csv(
                stream,
                pc.ReadOptions(block_size=_BLOCK, encoding=self.reading["encoding"]),
                pc.ParseOptions(delimiter=self.reading["delimiter"], newlines_in_values=True),
                pc.ConvertOptions(
                    include_columns=[*columns, x, y],
                    column_types=dict.fromkeys(self.order, pa.string()),
                    strings_can_be_null=False,
                ),
            )
            for part in reader:
                share = min(raw.tell() / size, 1.0)
                batch = Batch(self, first, share, np.empty((0, 2)), pa.table(part).select(list(columns)))
                pairs = [numbers(part[name], self.reading["decimal"], batch.name) for name in (x, y)]
                yield Batch(self, first, share, np.column_stack(pairs), batch.columns)
                first += part.num_rows

    def check_shapes(self, batch: Batch) -> None:
        _ = batch.pairs

    def write(self, path: Path, batches: Iterator[Batch], schema: pa.Schema) -> None:
        import pyarrow as pa

        decimal, pair = self.reading["decimal"], (self.reading["x"], self.reading["y"])
        kept = [name for name in self.order if name in schema.names or name in pair]
        names = [*kept, *(name for name in schema.names if name not in kept)]
        # One encoder for the whole file: some encodings begin with a byte order mark.
        encoder = codecs.getincrementalencoder(self.reading["encoding"])()
        with (
            pa.OSFile(str(path), "wb") as raw,
            pa.CompressedOutputStream(raw, "gzip") if _is_packed(path) else raw as stream,
        ):
            stream.write(encoder.encode(self._lines([pa.array([name]) for name in names])))
            for batch in batches:
                fields = dict(zip(batch.columns.column_names, batch.columns.columns, strict=True))
                fields |= dict(zip(pair, (pa.array(part) for part in batch.pairs.T.copy()), strict=True))
                stream.write(encoder.encode(self._lines([texts(fields[name], decimal) for name in names])))

    def _lines(self, fields: list[pa.Array]) -> str:
        """Return rows of fields as CSV; fields with a delimiter, a quotation mark or a line break are quoted."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not len(fields[0]):
            return ""
        delimiter = self.reading["delimiter"]
        odd = f'[{re.escape(delimiter)}"\r\n]'
        quoted = []
        for field in fields:
            marked = pc.match_substring_regex(field, odd)
            if pc.any(marked).as_py():
                inner = pc.replace_substring(field, '"', '""')
                field = pc.if_else(marked, pc.binary_join_element_wise('"', inner, '"', ""), field)
            quoted.append(field.combine_chunks() if isinstance(field, pa.ChunkedArray) else field)
        lines = pc.binary_join_element_wise(*quoted, delimiter)
        return str(pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "\n")[0].as_py()) + "\n"
