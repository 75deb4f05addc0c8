"""CSV files, with any delimiter, whose columns hold coordinates or geometries."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil._types import CrsLike
from geoveil.errors import InvalidFile, InvalidParameter, Message
from geoveil.geo.formats.csv_dialect import dialect_of, without_header
from geoveil.geo.formats.limits import EXPANSION, UNPACKED, check_names
from geoveil.geo.formats.location_file import Batch, readable
from geoveil.geo.formats.table_locations import TableFile, locate
from geoveil.geo.text_bytes import bytes_of
from geoveil.geo.written_numbers import repeated_texts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CSV", "open_csv"]

#: Number of bytes that are read at once.
_BLOCK = 2**23


def open_csv(
    path: Path,
    *,
    crs: CrsLike = None,
    lat: str | Sequence[str] | None = None,
    lon: str | Sequence[str] | None = None,
    geometry: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    names: str | Sequence[str] | None = None,
) -> CSV:
    """Open a CSV file and read its header and its first rows."""
    import pyarrow as pa

    if decimal not in (None, ".", ","):
        raise InvalidParameter("decimal", decimal, "'.' or ','", "It separates the decimals of a number.")
    if delimiter is not None and not (isinstance(delimiter, str) and len(delimiter) == 1):
        raise InvalidParameter("delimiter", delimiter, "one character", "It separates fields.")
    dialect = dialect_of(path, delimiter, encoding, names)
    sample = dialect.sample
    check_names(path, dialect.names)
    try:
        located, system = locate(path, sample, {}, lat=lat, lon=lon, geometry=geometry, crs=crs)
    except InvalidFile:
        if dialect.headed and (problem := without_header(path, dialect.names)) is not None:
            raise problem from None
        raise
    decimal = decimal or _decimal([text for name in located.names for text in sample[name]])
    reading = {**located.reading, "delimiter": dialect.delimiter, "decimal": decimal, "encoding": dialect.encoding}
    return CSV(
        path=path,
        crs=system,
        columns={name: pa.string() for name in dialect.names if name not in located.names},
        reading={**reading, "crs": system.to_string()},
        order=dialect.names,
        located=located,
        skipped=dialect.skipped,
        headed=dialect.headed,
        first=sample,
    )


def _decimal(written: Sequence[str]) -> str:
    """Return the decimal mark of coordinates: a comma if some have one and none has a point.

    If each has three digits after its comma, it may also separate thousands.
    """
    commas = [text for text in written if _COMMA.fullmatch(text.strip())]
    clear = commas and not any("." in text for text in written)
    return "," if clear and any(len(text.strip().partition(",")[2]) != 3 for text in commas) else "."


_COMMA = re.compile(r"[+-]?\d+,\d+")


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
class CSV(TableFile):
    """A CSV file with a header; all fields are kept as texts.

    Parameters
    ----------
    skipped : int
        The number of lines before the header, or before the first row if there is none.
    headed : bool
        Whether it has a header; a released file has one.
    first : dict
        The first values of columns.
    """

    skipped: int = 0
    headed: bool = True
    first: dict[str, list[str]] = field(default_factory=dict)

    spreadsheet = True

    def _sample(self, columns: Sequence[str]) -> dict[str, list[Any]]:
        return {name: [*self.first[name]] for name in columns}

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        import pyarrow as pa
        import pyarrow.csv as pc

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
                pc.ReadOptions(
                    block_size=_BLOCK,
                    skip_rows=self.skipped,
                    column_names=None if self.headed else self.order,
                    encoding=self.reading["encoding"],
                ),
                pc.ParseOptions(delimiter=self.reading["delimiter"], newlines_in_values=True),
                pc.ConvertOptions(
                    include_columns=[*columns, *self.located.names],
                    column_types=dict.fromkeys(self.order, pa.string()),
                    strings_can_be_null=False,
                ),
            )
            for part in reader:
                share = min(raw.tell() / size, 1.0)
                batch = Batch(self, first, share, np.empty((0, 2)), pa.table(part).select(list(columns)))
                places = self.located.decode(pa.table(part), self.reading["decimal"], batch.name)
                yield Batch(self, first, share, places, batch.columns)
                first += part.num_rows

    def write(self, path: Path, batches: Iterator[Batch], schema: pa.Schema) -> None:
        import pyarrow as pa

        decimal = self.reading["decimal"]
        names = self.written(schema)
        encoding = self.reading["encoding"]
        # One encoder for the whole file: some encodings begin with a byte order mark.
        encoder = None if encoding == "utf-8" else codecs.getincrementalencoder(encoding)()
        with (
            pa.OSFile(str(path), "wb") as raw,
            pa.CompressedOutputStream(raw, "gzip") if _is_packed(path) else raw as stream,
        ):

            def put(fields: list[pa.Array]) -> None:
                lines = self._lines(fields)
                stream.write(lines if encoder is None else encoder.encode(str(lines, "utf-8")))

            put([pa.array([name]) for name in names])
            for batch in batches:
                # Besides the locations there are texts, and numbers of which most occur many times, such as radii.
                columns = zip(batch.columns.column_names, batch.columns.columns, strict=True)
                fields = {name: repeated_texts(values, decimal) for name, values in columns}
                fields |= self.located.encode(batch, decimal)
                put([fields[name] for name in names])

    def _lines(self, fields: list[pa.Array]) -> pa.Buffer:
        """Return rows of fields as CSV in UTF-8.

        Fields with a delimiter, a quotation mark or a line break are quoted. A missing value is an empty field, as
        CSV has no other sign for it.
        """
        import pyarrow as pa
        import pyarrow.csv as pc

        table = pa.table(fields, names=[*map(str, range(len(fields)))])
        delimiter = self.reading["delimiter"]
        # With a delimiter or a line break after each field.
        lines = pa.allocate_buffer(sum(len(bytes_of(field)[0]) + len(field) for field in fields))
        sink = pa.FixedSizeBufferWriter(lines)
        try:
            # Usually no field needs quotation marks; pyarrow refuses a table in which one does.
            pc.write_csv(table, sink, pc.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none"))
        except pa.ArrowInvalid:
            return pa.py_buffer(self._quoted_lines(fields).encode())
        return lines

    def _quoted_lines(self, fields: list[pa.Array]) -> str:
        """Return rows as `_lines` does, where some fields need quotation marks."""
        import pyarrow as pa
        import pyarrow.compute as pc

        delimiter = self.reading["delimiter"]
        odd = f'[{re.escape(delimiter)}"\r\n]'
        quoted = []
        for values in fields:
            values = pc.fill_null(values, "")
            marked = pc.match_substring_regex(values, odd)
            if pc.any(marked).as_py():
                inner = pc.replace_substring(values, '"', '""')
                values = pc.if_else(marked, pc.binary_join_element_wise('"', inner, '"', ""), values)
            quoted.append(values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values)
        lines = pc.binary_join_element_wise(*quoted, delimiter)
        return str(pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "\n")[0].as_py()) + "\n"
