"""Well-known binary, in columns: points as arrays, all else as shapely geometries."""

from __future__ import annotations

from struct import error as StructError
from struct import unpack_from
from typing import Any

import numpy as np

from geoveil.geo.areas import Floats
from geoveil.geo.formats.limits import DEPTH
from geoveil.geo.plain_values import is_plain

__all__ = ["decode", "encode", "may_hold_places", "storage"]

#: A point in the plane, numbers with the last byte in front.
_POINT = np.dtype([("order", "u1"), ("kind", "<u4"), ("place", "<f8", 2)])


def decode(column: Any) -> Any:
    """Return the places of a pyarrow array: (m, 2) coordinates if all are points of the plane, else geometries."""
    column = storage(column)
    points = _points(column)
    if points is not None:
        return points
    import shapely

    values = column.to_pylist()
    for row, value in enumerate(values):
        # Each level takes nine bytes at least.
        if value is not None and len(value) > 9 * DEPTH and _is_deep(value):
            raise ValueError(f"row {row + 1} of a batch holds collections within collections, more than {DEPTH} deep")
    return shapely.from_wkb(np.array(values, dtype=object))


#: Kinds of geometries that hold others, each with a header of its own.
_COLLECTIONS = (4, 5, 6, 7, 9, 10, 11, 12, 15, 16)


def _is_deep(data: bytes) -> bool:
    """Whether collections are nested so deeply that GEOS, which calls itself for each level, could crash."""
    left = [1]  # how many geometries are still to come, at each level
    at = 0
    try:
        while left:
            if not left[-1]:
                left.pop()
                continue
            left[-1] -= 1
            kind, width, order, at = _head(data, at)
            if kind == 1:
                at += width
                continue
            (count,) = unpack_from(order + "I", data, at)
            at += 4
            if kind in _COLLECTIONS:
                if kind == 4 and _plain_points(data, at, count):
                    at += count * (5 + width)
                    continue
                left.append(count)
                if len(left) > DEPTH:
                    return True
            elif kind in (3, 17):
                for _ in range(count):
                    at += 4 + width * unpack_from(order + "I", data, at)[0]
            else:
                at += width * count
    except StructError:
        pass  # It ends early, which GEOS will say.
    return False


def _head(data: bytes, at: int) -> tuple[int, int, str, int]:
    """Return a geometry's kind, the bytes that a vertex takes, the order of bytes, and where its content begins."""
    order = "<" if unpack_from("B", data, at)[0] else ">"
    (kind,) = unpack_from(order + "I", data, at + 1)
    flags, plain = kind >> 29, kind & 0x1FFFFFFF
    more = (flags & 4 > 0) + (flags & 2 > 0) + (0, 1, 1, 2)[plain // 1000 % 4]
    return plain % 1000, 8 * (2 + more), order, at + 5 + (4 if flags & 1 else 0)


def _plain_points(data: bytes, at: int, count: int) -> bool:
    """Whether a MultiPoint holds points with equal headers and nothing else, as all programs write it."""
    kind, width, _, start = _head(data, at)
    size = start - at + width
    if kind != 1 or start - at != 5 or len(data) < at + count * size:
        return False
    heads = np.frombuffer(data, np.uint8, count * size, at).reshape(count, size)[:, :5]
    return bool((heads == heads[0]).all())


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
