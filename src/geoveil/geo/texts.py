"""Texts in pyarrow arrays: numbers written as text, and fast looks at the bytes of many texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidFile, Message
from geoveil.geo.geometries import Floats, RowName
from geoveil.geo.recognition import MISSING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    *("any_begins_with", "any_holds", "bytes_of", "first_other", "has_formulas", "numbers", "plain", "repeated_texts"),
    "texts",
]

#: The characters with which formulas of spreadsheets begin.
_BEGINNINGS, _BEGINNING = "=+-@\t\r", r"^[=+\-@\t\r]"
#: Matches numbers and telephone numbers, which begin like formulas.
_NUMBER = r"^[+\-][0-9.,:/() \-]*([eE][+\-]?[0-9]+)?$"


def numbers(column: pa.Array | pa.ChunkedArray, decimal: str, name: RowName) -> Floats:
    """Return the numbers in a pyarrow array of numbers or of texts; NaN where a number is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    try:
        # Usually no number is missing or has spaces around it, and a plain cast succeeds.
        parsed = (column if decimal == "." or not _are_texts(column) else plain(column, decimal)).cast(pa.float64())
    except pa.ArrowInvalid:
        if not _are_texts(column):
            raise
        written = plain(column, decimal)
        missing = pc.is_in(pc.utf8_lower(written), value_set=pa.array(MISSING))
        written = pc.if_else(missing, pa.scalar(None, written.type), written)
        try:
            parsed = written.cast(pa.float64())
        except pa.ArrowInvalid:
            row = first_other(written)
            text = column[row].as_py()
            comma, empty = "Give {decimal:,}.", "Correct it, or leave the field empty and give {missing:drop}."
            remedy = Message(comma if "," in text else empty)
            raise InvalidFile(name(row), text, "a number", remedy) from None
    return np.asarray(parsed.to_numpy(zero_copy_only=False), dtype=float)


def _are_texts(column: pa.Array) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def plain(column: pa.Array | pa.ChunkedArray, decimal: str) -> pa.Array | pa.ChunkedArray:
    """Return texts of numbers as pyarrow reads them: without spaces around them, with a decimal point."""
    import pyarrow.compute as pc

    written = pc.utf8_trim_whitespace(column)
    return written if decimal == "." else pc.replace_substring(written, decimal, ".")


def first_other(written: pa.Array | pa.ChunkedArray) -> int:
    """Return the position of the first text that is not a number, where there is one."""
    return next(i for i, text in enumerate(written.to_pylist()) if not _is_number(text))


def _is_number(text: str | None) -> bool:
    import pyarrow as pa

    try:
        pa.array([text]).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def texts(values: pa.Array, decimal: str) -> pa.Array:
    """Format a pyarrow array as texts, each number as the shortest text that reads back as the same number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    written = values.cast(pa.string())
    marked = decimal != "." and pa.types.is_floating(values.type)
    return pc.replace_substring(written, ".", decimal) if marked else written


def repeated_texts(values: pa.Array | pa.ChunkedArray, decimal: str) -> pa.Array | pa.ChunkedArray:
    """Format an array like `texts`, but each distinct number once: faster if most numbers occur many times."""
    import pyarrow as pa

    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if not pa.types.is_floating(whole.type):
        return texts(whole, decimal)
    coded = whole.dictionary_encode()
    return texts(coded.dictionary, decimal).take(coded.indices)


def bytes_of(texts: pa.Array) -> tuple[memoryview, NDArray[np.int64]]:
    """Return the bytes of all texts of a pyarrow array in UTF-8, and where each begins and the last one ends.

    Examples
    --------
    >>> import pyarrow as pa
    >>> held, ends = bytes_of(pa.array(["no", "a", None, "bc"]).slice(1))
    >>> bytes(held), ends.tolist()
    (b'abc', [0, 1, 1, 3])
    """
    import pyarrow as pa

    written = texts.cast(pa.large_string())
    if not len(written):
        return memoryview(b""), np.zeros(1, dtype=np.int64)
    _, offsets, held = written.buffers()
    ends = np.frombuffer(offsets, np.int64)[written.offset : written.offset + len(written) + 1]
    held = memoryview(b"") if held is None else memoryview(held)
    return held[ends[0] : ends[-1]], ends - ends[0]


def any_holds(texts: pa.Array | pa.ChunkedArray, characters: str) -> bool:
    """Return whether any text of a pyarrow array holds one of these ASCII characters.

    Examples
    --------
    >>> import pyarrow as pa
    >>> any_holds(pa.array(["abc", None]), "(["), any_holds(pa.array(["ab[c"]), "([")
    (False, True)
    """
    held = (bytes(bytes_of(part)[0]) for part in _chunks(texts))
    return any(code in part for part in held for code in _codes(characters))


def any_begins_with(texts: pa.Array | pa.ChunkedArray, characters: str) -> bool:
    """Return whether any text of a pyarrow array begins with one of these ASCII characters.

    Examples
    --------
    >>> import pyarrow as pa
    >>> any_begins_with(pa.array(["a-", "", None]), "-="), any_begins_with(pa.array(["", "-a"]), "-=")
    (False, True)
    """
    wanted = np.zeros(256, dtype=bool)
    wanted[[*_codes(characters)]] = True
    for part in _chunks(texts):
        held, ends = bytes_of(part)
        starts = ends[:-1][np.diff(ends) > 0]
        if wanted[np.frombuffer(held, np.uint8)[starts]].any():
            return True
    return False


def _codes(characters: str) -> bytes:
    return characters.encode("ascii")


def _chunks(texts: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array]:
    import pyarrow as pa

    yield from texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]


def has_formulas(texts: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether any text of a pyarrow array would be run as a formula.

    Examples
    --------
    >>> import pyarrow as pa
    >>> has_formulas(pa.array(["-122.4", "+1 (555) 010-99", "a=b", None]))
    False
    >>> has_formulas(pa.array(["ann", "=1+1"])), has_formulas(pa.array(["-2+cmd|' /C calc'!A0"]))
    (True, True)
    """
    import pyarrow.compute as pc

    if not any_begins_with(texts, _BEGINNINGS):
        return False
    begun = pc.match_substring_regex(texts, _BEGINNING)
    formulas = texts.filter(pc.fill_null(begun, False))
    return not pc.all(pc.match_substring_regex(formulas, _NUMBER)).as_py()
