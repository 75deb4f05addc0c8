"""Columns of coordinates in tables, and numbers written as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil.errors import InvalidFile, InvalidParameter, Message
from geoveil.geo.areas import Floats
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats.location_file import own_system
from geoveil.geo.geometries import RowName

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["coordinate_columns", "numbers", "texts"]

_LONGITUDES = ("longitude", "lon", "lng", "long")
_LATITUDES = ("latitude", "lat")
_MISSING = ("", "na", "n/a", "nan", "null", "none")


def coordinate_columns(
    path: Path, names: Sequence[str], x: str | None, y: str | None, crs: Any
) -> tuple[str, str, Any]:
    """Return the columns of the coordinates, given or found by name, and their coordinate system."""
    if x is not None and x == y:
        raise InvalidParameter("y", y, "a column other than x", "Longitude is x, latitude is y.")
    for argument, given in (("x", x), ("y", y)):
        if given is not None and given not in names:
            raise InvalidParameter(
                argument, given, f"a column of {path.name}, one of {list(names)}", "Check its name."
            )
    plain = {name.strip().casefold(): name for name in names}
    east, north = (next((plain[n] for n in usual if n in plain), None) for usual in (_LONGITUDES, _LATITUDES))
    degrees = (x is None or x == east) and (y is None or y == north)
    x, y = x or east, y or north
    if x is None or y is None:
        raise InvalidFile(
            str(path),
            list(names),
            "columns with coordinates, such as longitude and latitude",
            Message("Name them: {x:east}, {y:north}, {crs:27700}; for degrees, longitude is x, and {crs:4326}."),
        )
    if crs is None and not degrees:
        remedy = Message("Give its code: {crs:4326} for longitude and latitude from GPS.")
        raise InvalidParameter("crs", None, f"the coordinate system of the columns {x} and {y}", remedy)
    return x, y, own_system(path, None, GEOGRAPHIC if crs is None else crs)


def numbers(column: pa.Array, decimal: str, name: RowName) -> Floats:
    """Parse the numbers in a pyarrow array of texts; NaN where a number is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    written = pc.utf8_trim_whitespace(column)
    if decimal != ".":
        written = pc.replace_substring(written, decimal, ".")
    try:
        # Usually no number is missing, and a plain cast succeeds.
        found = written.cast(pa.float64())
    except pa.ArrowInvalid:
        missing = pc.is_in(pc.utf8_lower(written), value_set=pa.array(_MISSING))
        written = pc.if_else(missing, pa.scalar(None, written.type), written)
        try:
            found = written.cast(pa.float64())
        except pa.ArrowInvalid:
            row = next(i for i, text in enumerate(written.to_pylist()) if not _is_number(text))
            text = column[row].as_py()
            comma, empty = "Give {decimal:,}.", "Correct it, or leave the field empty and give {missing:drop}."
            remedy = Message(comma if "," in text else empty)
            raise InvalidFile(name(row), text, "a number", remedy) from None
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=float)


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
    return pc.replace_substring(written, ".", decimal) if pa.types.is_floating(values.type) else written
