"""Find the encoding, the delimiter, the header and the first rows of a CSV file."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from geoveil.errors import InvalidFile, InvalidParameter, Mention, Message, warn
from geoveil.geo.formats.limits import COLUMNS, LINE
from geoveil.geo.recognition import SAMPLE, is_number
from geoveil.geo.times import are_times

__all__ = ["Dialect", "dialect_of", "without_header"]

#: Number of first bytes that are read.
_HEAD = 2**23
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_DELIMITERS = ",;\t|"
#: A first line such as "sep=;", which tells spreadsheets the delimiter.
_SEPARATOR = re.compile(r"sep=(.)\s*")


@dataclass(frozen=True)
class Dialect:
    """The format of a CSV file.

    Parameters
    ----------
    names : list of str
        The names of the columns.
    sample : dict
        The first values of each column.
    delimiter, encoding : str
        The separator of fields, and the encoding.
    skipped : int
        The number of lines before the header, or before the first row if there is none.
    headed : bool
        Whether the file has a header.
    """

    names: list[str]
    sample: dict[str, list[str]]
    delimiter: str
    encoding: str
    skipped: int
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
    found = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    if len(found) != len(row):
        raise InvalidParameter("names", names, f"{len(row)} names, one for each column", f"The first row is {row}.")
    return found


def without_header(path: Path, first: Sequence[str]) -> InvalidFile | None:
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


_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


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
