"""Numbers written as text, and the columns that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.areas import Floats
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats.location_file import own_system
from geoveil.geo.geometries import RowName

__all__ = ["coordinate_columns", "numbers", "texts"]

_LONGITUDES = ("longitude", "lon", "lng", "long")
_LATITUDES = ("latitude", "lat")
_MISSING = ("", "na", "n/a", "nan", "null", "none")


def coordinate_columns(
    path: Path, names: Sequence[str], x: str | None, y: str | None, crs: Any
) -> tuple[str, str, Any]:
    """The columns with the coordinates, given or found by name, and their system."""
    if x is not None and x == y:
        raise InvalidParameter("y", y, "another column than x", "Longitude is x, latitude is y.")
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
            'Say which they are: x="east", y="north", crs=27700; of degrees, longitude is x, crs=4326.',
        )
    if crs is None and not degrees:
        remedy = "Give its code: crs=4326 for longitude and latitude as GPS has them."
        raise InvalidParameter("crs", None, f"the system of the columns {x} and {y}", remedy)
    return x, y, own_system(path, None, GEOGRAPHIC if crs is None else crs)


def numbers(column: Any, decimal: str, name: RowName) -> Floats:
    """Numbers written as text in a pyarrow array; not a number where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    written = pc.utf8_trim_whitespace(column)
    if decimal != ".":
        written = pc.replace_substring(written, decimal, ".")
    try:
        # Hardly any is missing: only then are all looked at.
        found = written.cast(pa.float64())
    except pa.ArrowInvalid:
        missing = pc.is_in(pc.utf8_lower(written), value_set=pa.array(_MISSING))
        written = pc.if_else(missing, pa.scalar(None, written.type), written)
        try:
            found = written.cast(pa.float64())
        except pa.ArrowInvalid:
            row = next(i for i, text in enumerate(written.to_pylist()) if not _is_number(text))
            text = column[row].as_py()
            remedy = (
                'Give decimal=",".' if "," in text else 'Mend it, or leave the field empty and give missing="drop".'
            )
            raise InvalidFile(name(row), text, "a number", remedy) from None
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=float)


def _is_number(text: str | None) -> bool:
    import pyarrow as pa

    try:
        pa.array([text]).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def texts(values: Any, decimal: str) -> Any:
    """A pyarrow array as texts, numbers as the shortest ones that mean them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    written = values.cast(pa.string())
    return pc.replace_substring(written, ".", decimal) if pa.types.is_floating(values.type) else written
