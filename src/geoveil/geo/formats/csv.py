"""CSV files, with any delimiter, whose columns hold coordinates or geometries."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from geoveil.errors import InvalidFile, InvalidParameter, Mention, Message, warn
from geoveil.geo.formats.limits import COLUMNS, EXPANSION, LINE, UNPACKED, check_names
from geoveil.geo.formats.location_columns import Where, locate
from geoveil.geo.formats.location_file import Batch, FilePart, LocationFile
from geoveil.geo.recognition import SAMPLE, are_times, is_number
from geoveil.geo.texts import bytes_of, repeated_texts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CSV", "dialect_of", "open_csv"]

#: Number of bytes that are read at once, and number of first bytes in which the dialect is found.
_BLOCK, _HEAD = 2**23, 2**23
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_DELIMITERS = ",;\t|"
#: A first line such as "sep=;", which tells spreadsheets the delimiter.
_SEPARATOR = re.compile(r"sep=(.)\s*")
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_COMMA = re.compile(r"[+-]?\d+,\d+")


def open_csv(
    path: Path,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    names: str | Sequence[str] | None = None,
    **where: Unpack[Where],
) -> CSV:
    """Open a CSV file and read its header and its first rows."""
    import pyarrow as pa

    if decimal not in (None, ".", ","):
        raise InvalidParameter("decimal", decimal, "'.' or ','", "It separates the decimals of a number.")
    if delimiter is not None and not (isinstance(delimiter, str) and len(delimiter) == 1):
        raise InvalidParameter("delimiter", delimiter, "one character", "It separates fields.")
    dialect = dialect_of(path, delimiter, encoding, names)
    check_names(path, dialect.names)
    try:
        located, system = locate(path, dialect.sample, {}, **where)
    except InvalidFile:
        if dialect.headed and (problem := _without_header(path, dialect.names)) is not None:
            raise problem from None
        raise
    decimal = decimal or _decimal([text for name in located.names for text in dialect.sample[name]])
    reading = {**located.reading, "delimiter": dialect.delimiter, "decimal": decimal, "encoding": dialect.encoding}
    return CSV.opened(
        path,
        located,
        system,
        dict.fromkeys(dialect.names, pa.string()),
        reading={**reading, "crs": system.to_string()},
        skipped=dialect.skipped,
        headed=dialect.headed,
        first=dialect.sample,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class CSV(LocationFile):
    """A CSV file with a header; all fields are kept as texts."""

    #: The number of lines before the header, or before the first row if there is none.
    skipped: int = 0
    #: Whether it has a header; a released file has one.
    headed: bool = True

    tabular = True
    spreadsheet = True
    remedy = Message("Correct the row, or give {delimiter} or {encoding}.")

    def _parts(self, columns: Sequence[str]) -> Iterator[FilePart]:
        import pyarrow as pa
        import pyarrow.csv as pc

        size = max(self.path.stat().st_size, 1)
        with (
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
                    include_columns=[*columns],
                    column_types=dict.fromkeys(self.order, pa.string()),
                    strings_can_be_null=False,
                ),
            )
            for part in reader:
                yield FilePart(pa.table(part), min(raw.tell() / size, 1.0))

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


def _decimal(written: Sequence[str]) -> str:
    """Return the decimal mark of coordinates: a comma if some have one and none has a point.

    If each has three digits after its comma, it may also separate thousands.
    """
    commas = [text for text in written if _COMMA.fullmatch(text.strip())]
    clear = commas and not any("." in text for text in written)
    return "," if clear and any(len(text.strip().partition(",")[2]) != 3 for text in commas) else "."


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
        part: bytes = self._stream.read(size)
        self._count += len(part)
        if self._count > UNPACKED:
            EXPANSION.check(self._path, self._count / self._raw.tell())
        return part


@dataclass(frozen=True)
class Dialect:
    """The format of a CSV file."""

    #: The names of the columns.
    names: list[str]
    #: The first values of each column.
    sample: dict[str, list[str]]
    #: The separator of fields, and the encoding.
    delimiter: str
    encoding: str
    #: The number of lines before the header, or before the first row if there is none.
    skipped: int
    #: Whether the file has a header.
    headed: bool = True


def dialect_of(
    path: Path, delimiter: str | None, encoding: str | None, names: Sequence[str] | str | None = None
) -> Dialect:
    """Read the header and the first rows of a CSV file; find the delimiter and encoding if they are not given.

    Comments before the header (lines that begin with #) are skipped, and a line such as "sep=;".
    """
    text, encoding, whole = _text(path, encoding)
    # Lines are split one by one: most of the text is needed only to find the encoding.
    stream = (line.group() for line in _LINE.finditer(text))
    lines = [*islice(stream, SAMPLE)]
    at = next((i for i, line in enumerate(lines) if line.strip()), None)
    if at is None:
        raise InvalidFile(str(path), "", "a header and rows", "The file is empty.")
    if stated := _SEPARATOR.fullmatch(lines[at]):
        delimiter, at = delimiter or stated[1], at + 1
    at, delimiter = _header(path, lines, at, delimiter)
    if len(lines[at]) >= LINE or not (whole or lines[at].endswith(("\r", "\n"))):
        remedy = "Is it CSV? Its lines must end."
        raise InvalidFile(str(path), lines[at][:40], f"a header of less than {LINE} characters", remedy)
    COLUMNS.check(path, lines[at].count(delimiter) + 1)
    try:
        with _long_fields():
            rows = [*islice(filter(None, csv.reader(chain(lines[at:], stream), delimiter=delimiter)), SAMPLE + 1)]
    except csv.Error as problem:
        remedy = "It may be truncated: create it again."
        raise InvalidFile(str(path), str(problem), "a valid CSV file", remedy) from None
    # The last row may be cut off.
    rows = rows if whole or len(rows) > SAMPLE else rows[:-1]
    header = rows.pop(0) if names is None else _given(names, rows[0])
    fitting = [row for row in rows if len(row) == len(header)]
    sample = {name: [row[i] for row in fitting] for i, name in enumerate(header)}
    return Dialect(header, sample, delimiter, encoding, at, headed=names is None)


def _given(names: Sequence[str] | str, row: list[str]) -> list[str]:
    """Return the names that are given to the columns of a file without a header."""
    header = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    if len(header) != len(row):
        raise InvalidParameter("names", names, f"{len(row)} names, one for each column", f"The first row is {row}.")
    return header


def _without_header(path: Path, first: Sequence[str]) -> InvalidFile | None:
    """Return an error if the first line of a file is data rather than a header; else None."""
    if not any(is_number(value) or are_times("time", None, [value]) for value in first):
        return None
    decimals = [value for value in first if is_number(value) and "." in value]
    axes = ["lon", "lat"] if decimals and abs(float(decimals[0])) > 90 else ["lat", "lon"]
    named = []
    for at, value in enumerate(first, start=1):
        if value in decimals and len(decimals) == 2:
            named.append(axes.pop(0))
        else:
            named.append("time" if are_times("time", None, [value]) else f"column{at}")
    remedy = Message("Give the names of its columns, such as {names}.", names=Mention("names", ",".join(named)))
    return InvalidFile(str(path), [*first], "a table with a header: the first line is data", remedy)


def _text(path: Path, encoding: str | None) -> tuple[str, str, bool]:
    """Return the beginning of a file as text, its encoding, and whether that is the whole file."""
    try:
        with (gzip.open if path.name.lower().endswith(".gz") else Path.open)(path, "rb") as raw:
            head = raw.read(_HEAD)
    except (OSError, EOFError, zlib.error) as problem:
        remedy = "It may be truncated: create it again."
        raise InvalidFile(str(path), str(problem), "a valid CSV file", remedy) from None
    whole = len(head) < _HEAD
    known = encoding is not None
    name = _known(encoding) if encoding is not None else "utf-16" if head[:2] in _MARKS else "utf-8"
    try:
        return _decoded(head, name, whole), name, whole
    except UnicodeError as problem:
        if known:
            wide = "Give {encoding:utf-16}." if head[:2] in _MARKS else "Give {encoding:latin-1}, or leave it out."
            raise InvalidFile(str(path), str(problem), f"text in {name}", Message(wide)) from None
    warn(f"{path.name} is not written in UTF-8: it is read as Latin-1, the encoding of older Windows programs.")
    return _decoded(head, "iso8859-1", whole), "iso8859-1", whole


def _known(encoding: str) -> str:
    """Return Python's name of an encoding in which CSV can be written."""
    try:
        name = codecs.lookup(encoding).name
        if (sample := "a,1.5;-\n").encode(name).decode(name) != sample:
            raise LookupError(name)
    except (LookupError, TypeError, UnicodeError):
        raise InvalidParameter("encoding", encoding, "a name that Python knows", 'Try "utf-8" or "latin-1".') from None
    return name


def _decoded(head: bytes, encoding: str, whole: bool) -> str:
    """Decode bytes, without a byte order mark; the last character of a part of a file may be cut off."""
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)()
    return decoder.decode(head, final=whole)


@contextmanager
def _long_fields() -> Iterator[None]:
    """Raise the csv module's limit on the length of a field: lines as WKT exceed its default."""
    before = csv.field_size_limit(LINE)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _header(path: Path, lines: list[str], at: int, delimiter: str | None) -> tuple[int, str]:
    """Return the position of the header after comments, and the delimiter.

    The last of the lines that begin with # is the header if the first row after it has numbers and as many fields.
    """
    first = next((i for i in range(at, len(lines)) if lines[i].strip() and not lines[i].startswith("#")), None)
    header = at if first is None else first
    chosen = delimiter or _delimiter(path, lines[header:])
    if first is not None and first > at and lines[first - 1].startswith("#"):
        above, row = (lines[i].rstrip("\r\n").split(chosen) for i in (first - 1, first))
        if len(above) == len(row) > 1 and any(map(is_number, row)):
            header = first - 1
    return header, chosen


def _delimiter(path: Path, lines: list[str]) -> str:
    """Return the delimiter that gives the header and the first rows the same, largest number of fields."""
    if ".tsv" in path.name.lower():
        return "\t"
    some = [line for line in lines[:30] if line.strip()]

    def fields(delimiter: str) -> tuple[float, int]:
        with _long_fields():
            try:
                rows = [len(row) for row in csv.reader(some, delimiter=delimiter)]
            except csv.Error:
                return 0.0, 0
        return (sum(row == rows[0] for row in rows) / len(rows) if rows[0] > 1 else 0.0), rows[0]

    best = max(_DELIMITERS, key=lambda each: (fields(each)[1] > 1, *fields(each)))
    return best if fields(best)[1] > 1 or fields(" ")[0] < 1 else " "
