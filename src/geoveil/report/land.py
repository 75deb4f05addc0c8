"""The land around a location, from Natural Earth, public domain (`scripts/land` fetches it)."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from importlib import resources
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.geo.distortion import earth
from geoveil.report.layers import Floats

__all__ = ["FARTHEST", "Polygons", "land_around"]

#: An array of shapely polygons.
Polygons: TypeAlias = NDArray[np.object_]

#: Metres from the middle of an azimuthal map beyond which nothing is drawn: shapes are unrecognisable there.
FARTHEST = 1.5e7
#: The unit of the file, and the side of the cells into which its polygons are cut, in degrees.
_UNIT, _SIDE = 1e-4, 10.0
#: The largest distance of a point of a cell from the middle of the cell, in metres.
_HALF = 8.5e5
#: The reach of each level of detail over that of the finer one, and over the size of its smallest details.
_COARSER, _DETAILS = 8.0, 600.0


@functools.cache
def _pieces() -> tuple[Polygons, Floats]:
    """Return all land as polygons in degrees, and the middle of the cell of each."""
    import pyarrow.parquet as pq
    import shapely

    packed = resources.files("geoveil.report").joinpath("land.parquet").read_bytes()
    table = pq.read_table(io.BytesIO(packed)).combine_chunks()
    x, y = (table[name].chunk(0) for name in ("x", "y"))
    corners = np.column_stack([np.asarray(axis.flatten()) for axis in (x, y)]) * _UNIT
    polygon = np.asarray(table["polygon"])
    rings = np.searchsorted(polygon, np.arange(polygon[-1] + 2))
    polygons = shapely.from_ragged_array(shapely.GeometryType.POLYGON, corners, (np.asarray(x.offsets), rings))
    west, south, east, north = shapely.bounds(polygons).T
    middles = np.column_stack([(west + east) / 2, (south + north) / 2])
    return polygons, (np.floor(middles / _SIDE) + 0.5) * _SIDE


def land_around(
    to_map: Callable[[Floats], Floats], lon: float, lat: float, reach: float, *, beyond: bool = True
) -> Polygons:
    """Return the land around a location as polygons of a map, in full detail nearby and coarser farther away.

    Parameters
    ----------
    to_map : callable
        Projects (n, 2) degrees to metres of the map, and (lon, lat) to (0, 0).
    lon, lat : float
        The middle of the map, in degrees.
    reach : float
        Half the side of the square with full detail, in metres.
    beyond : bool
        Whether land outside of this square is returned as well.

    Examples
    --------
    >>> from geoveil.report.map_projection import Projection
    >>> inland = Projection(-98.0, 39.0)
    >>> [float(piece.area) for piece in land_around(inland.to_map, -98.0, 39.0, 1000.0)][:1]    # Kansas
    [4000000.0]
    """
    import shapely

    polygons, cells = _pieces()
    away = np.asarray(earth().inv(np.full(len(cells), lon), np.full(len(cells), lat), *cells.T)[2])
    found, inner, reach = [], 0.0, min(reach, FARTHEST)
    while inner < FARTHEST:
        detail = reach / _DETAILS
        # A cell may lie in a corner of the square.
        near = polygons[(away < 1.5 * reach + _HALF) & (away < FARTHEST + _HALF)]
        near = shapely.simplify(near, detail / 2e5, preserve_topology=False)
        # Edges are straight in degrees, and bent on the map.
        flat = shapely.make_valid(shapely.transform(shapely.segmentize(near, 1.0), to_map))
        flat = shapely.make_valid(shapely.clip_by_rect(flat, -reach, -reach, reach, reach))
        if inner:
            flat = shapely.difference(flat, shapely.box(-inner, -inner, inner, inner))
        parts = shapely.get_parts(shapely.get_parts(shapely.simplify(flat, detail)))
        found.append(parts[(shapely.get_type_id(parts) == 3) & (shapely.area(parts) > detail**2)])
        if not beyond:
            break
        inner, reach = reach, min(_COARSER * reach, FARTHEST)
    return np.concatenate(found)
