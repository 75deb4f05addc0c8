"""Well-known binary, in columns: points as arrays, all else as shapely geometries."""

from __future__ import annotations

from typing import Any

import numpy as np

from geoveil.geo.areas import Floats
from geoveil.geo.values import is_plain

__all__ = ["decode", "encode", "may_hold_places", "storage"]

#: A point in the plane, numbers with the last byte in front.
_POINT = np.dtype([("order", "u1"), ("kind", "<u4"), ("place", "<f8", 2)])


def decode(column: Any) -> Any:
    """The places of a pyarrow array: (m, 2) coordinates if all are points of the plane, else shapely geometries."""
    column = storage(column)
    points = _points(column)
    if points is not None:
        return points
    import shapely

    return shapely.from_wkb(np.array(column.to_pylist(), dtype=object))


def encode(places: Any) -> Any:
    """Coordinates or shapely geometries as a pyarrow array of binaries."""
    import pyarrow as pa

    if places.dtype == object:
        import shapely

        return pa.array(shapely.to_wkb(places), type=pa.binary())
    rows = np.empty(len(places), dtype=_POINT)
    rows["order"], rows["kind"], rows["place"] = 1, 1, places
    ends = np.arange(0, _POINT.itemsize * (len(places) + 1), _POINT.itemsize, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), len(places), [None, pa.py_buffer(ends), pa.py_buffer(rows)])


def storage(column: Any) -> Any:
    """What a pyarrow array of a type of one's own is made of."""
    return getattr(column, "storage", column)


def may_hold_places(field: Any) -> bool:
    """Whether a column holds geometries or may: it says so, or its values are bytes, nested, or of another's type."""
    named = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode()
    return named.startswith(("geoarrow", "ogc")) or not is_plain(field.type)


def _points(column: Any) -> Floats | None:
    import pyarrow as pa

    width = {pa.binary(): np.int32, pa.large_binary(): np.int64}.get(column.type)
    if width is None or column.null_count:
        return None
    _, ends, data = column.buffers()
    ends = np.frombuffer(ends, dtype=width)[column.offset : column.offset + len(column) + 1]
    if (np.diff(ends) != _POINT.itemsize).any() or data is None:
        return None
    rows = np.frombuffer(data, dtype=_POINT, count=len(column), offset=int(ends[0]))
    if (rows["order"] != 1).any() or (rows["kind"] != 1).any():
        return None
    return np.ascontiguousarray(rows["place"])
