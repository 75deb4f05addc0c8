"""Columns of well-known binary (WKB): points as arrays, other geometries as shapely objects."""

from __future__ import annotations

from struct import error as StructError
from struct import unpack_from
from typing import TYPE_CHECKING

import numpy as np

from geoveil.geo.formats.limits import DEPTH
from geoveil.geo.geometries import Floats, Geometries, Places
from geoveil.geo.plain_values import is_plain

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["decode", "decode_pairs", "encode", "encode_pairs", "may_hold_places", "plain"]

#: The layout of a point in the plane, in little-endian byte order.
_POINT = np.dtype([("order", "u1"), ("kind", "<u4"), ("place", "<f8", 2)])


def decode(column: pa.Array) -> Places:
    """Decode a pyarrow array: to (m, 2) coordinates if all are points in the plane, else to shapely geometries."""
    column = _storage(column)
    points = _points(column)
    if points is not None:
        return points
    import shapely

    values = column.to_pylist()
    for row, value in enumerate(values):
        # Each level takes at least nine bytes.
        if value is not None and len(value) > 9 * DEPTH and _is_deep(value):
            raise ValueError(f"row {row + 1} of a batch contains collections nested more than {DEPTH} deep")
    return np.asarray(shapely.from_wkb(np.array(values, dtype=object)))


#: Codes of the geometry types that contain other geometries, each with its own header.
_COLLECTIONS = (4, 5, 6, 7, 9, 10, 11, 12, 15, 16)


def _is_deep(data: bytes) -> bool:
    """Return whether collections are nested so deeply that GEOS, which recurses at each level, could crash."""
    left = [1]  # the number of geometries still to be read at each level
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
        pass  # It is truncated, which GEOS will report.
    return False


def _head(data: bytes, at: int) -> tuple[int, int, str, int]:
    """Return the type code of a geometry, the bytes of a vertex, the byte order, and the offset of its content."""
    order = "<" if unpack_from("B", data, at)[0] else ">"
    (kind,) = unpack_from(order + "I", data, at + 1)
    flags, plain = kind >> 29, kind & 0x1FFFFFFF
    more = (flags & 4 > 0) + (flags & 2 > 0) + (0, 1, 1, 2)[plain // 1000 % 4]
    return plain % 1000, 8 * (2 + more), order, at + 5 + (4 if flags & 1 else 0)


def _plain_points(data: bytes, at: int, count: int) -> bool:
    """Return whether a MultiPoint contains only points with equal headers, as all programs write it."""
    kind, width, _, start = _head(data, at)
    size = start - at + width
    if kind != 1 or start - at != 5 or len(data) < at + count * size:
        return False
    heads = np.frombuffer(data, np.uint8, count * size, at).reshape(count, size)[:, :5]
    return bool((heads == heads[0]).all())


def encode(places: Places) -> pa.Array:
    """Encode points, pairs of points as lines, or shapely geometries as a pyarrow array of binaries."""
    import pyarrow as pa

    if places.dtype == object or places.shape[1] > 2:
        import shapely

        if places.dtype != object:
            places = shapely.linestrings(places.reshape(len(places), -1, 2))
        return pa.array(shapely.to_wkb(places), type=pa.binary())
    rows = np.empty(len(places), dtype=_POINT)
    rows["order"], rows["kind"], rows["place"] = 1, 1, places
    ends = np.arange(0, _POINT.itemsize * (len(places) + 1), _POINT.itemsize, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), len(places), [None, pa.py_buffer(ends), pa.py_buffer(rows)])


def _storage(column: pa.Array) -> pa.Array:
    """Return the underlying array of a pyarrow extension array, or the array itself."""
    return getattr(column, "storage", column)


def may_hold_places(field: pa.Field) -> bool:
    """Return whether a column contains geometries, or may: values that are bytes, nested or of an extension type."""
    named = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode()
    return named.startswith(("geoarrow", "ogc")) or not is_plain(field.type)


def _points(column: pa.Array) -> Floats | None:
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


def plain(shapes: Geometries) -> Places:
    """Return geometries as (m, 2) coordinates if all that are not missing are points."""
    import shapely

    kinds = shapely.get_type_id(shapes)
    there = (kinds == 0) & ~shapely.is_empty(shapes)
    if not (there | (kinds == -1)).all():
        return shapes
    places = np.full((len(shapes), 2), np.nan)
    places[there] = shapely.get_coordinates(shapes[there])
    return places


def decode_pairs(column: pa.Array) -> Floats:
    """Decode a pyarrow array of structs with the numbers x and y; NaN where one is missing."""
    import pyarrow.compute as pc

    column = _storage(column)
    fields = [pc.struct_field(column, name).to_numpy(zero_copy_only=False) for name in ("x", "y")]
    places = np.column_stack(fields).astype(float)
    places[np.asarray(column.is_null())] = np.nan
    return places


def encode_pairs(places: Floats) -> pa.StructArray:
    """Encode points as a pyarrow array of structs with the numbers x and y."""
    import pyarrow as pa

    return pa.StructArray.from_arrays([np.ascontiguousarray(part) for part in places.T], names=["x", "y"])
