"""Numbers written as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geoveil.errors import InvalidFile, Message
from geoveil.geo.areas import Floats
from geoveil.geo.geometries import RowName
from geoveil.geo.recognition import MISSING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["first_other", "numbers", "plain", "repeated_texts", "texts"]


def numbers(column: pa.Array, decimal: str, name: RowName) -> Floats:
    """Parse the numbers in a pyarrow array of texts; NaN where a number is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        # Usually no number is missing or has spaces around it, and a plain cast succeeds.
        found = (column if decimal == "." else plain(column, decimal)).cast(pa.float64())
    except pa.ArrowInvalid:
        written = plain(column, decimal)
        missing = pc.is_in(pc.utf8_lower(written), value_set=pa.array(MISSING))
        written = pc.if_else(missing, pa.scalar(None, written.type), written)
        try:
            found = written.cast(pa.float64())
        except pa.ArrowInvalid:
            row = first_other(written)
            text = column[row].as_py()
            comma, empty = "Give {decimal:,}.", "Correct it, or leave the field empty and give {missing:drop}."
            remedy = Message(comma if "," in text else empty)
            raise InvalidFile(name(row), text, "a number", remedy) from None
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=float)


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
