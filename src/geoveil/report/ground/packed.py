"""The files of the ground: shapes in degrees, cut into cells and packed in blocks. A map reads the blocks near it.

They are in a distribution of their own, geoveil-ground, since their licences are others than that of geoveil.
`scripts/ground` makes the files. A file has levels of detail, the finest first. A block is a row group of one level,
and the metadata says where each block lies. A row is a line or a ring of a polygon, given by its first corner and the
steps from each corner to the next, in whole units.
"""

from __future__ import annotations

import functools
import io
import json
from importlib import resources
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from geoveil.geo.gazetteer import ground_distances
from geoveil.report.layers import Floats, Geometries

__all__ = ["PackedFile", "has_ground", "packed_file"]

_DATA = "geoveil_ground"

#: The largest size of the details of a level, divided by the smallest size that can be seen.
_NEARLY = 3.0
#: The distance of the antipode, in metres, with a margin.
_ANTIPODE = 1.99e7


class PackedFile:
    """An open file of the ground. Blocks are read when a map needs them, and the latest are cached.

    Parameters
    ----------
    packed : bytes
        The content of the file.
    """

    def __init__(self, packed: bytes) -> None:
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(io.BytesIO(packed))
        told = json.loads(self._file.metadata.metadata[b"ground"])
        #: The size of the smallest details of each level, in metres.
        self.details: tuple[float, ...] = tuple(told["details"])
        #: The unit of coordinates, in degrees.
        self.unit: float = told["unit"]
        #: The level, longitude and latitude of the middle, and half the diameter of each block in metres.
        self._blocks = np.array(told["blocks"], dtype=float).reshape(-1, 4)
        self._kept = functools.lru_cache(maxsize=64)(self._pieces)

    def level(self, detail: float) -> int:
        """Return the coarsest level whose details are at most `_NEARLY` times `detail`; the finest if none is."""
        return max((at for at, size in enumerate(self.details) if size <= _NEARLY * detail), default=0)

    def near(self, detail: float, lon: float, lat: float, distance: float) -> tuple[Geometries, NDArray[np.int64]]:
        """Return the shapes that may reach within a distance of a location, in metres, and their ranks."""
        levels, west, north, half = self._blocks.T
        reached = ground_distances(lat, lon, north, west) <= distance + half
        shapes, ranks = [np.empty(0, dtype=object)], [np.empty(0, dtype=np.int64)]
        for block in np.flatnonzero((levels == self.level(detail)) & reached).tolist():
            pieces, its_ranks, middles, halves = self._kept(block)
            away = ground_distances(lat, lon, middles[1], middles[0])
            # A piece around the antipode cannot be projected.
            chosen = (away <= distance + halves) & (away + halves < _ANTIPODE)
            shapes.append(pieces[chosen])
            ranks.append(its_ranks[chosen])
        return np.concatenate(shapes), np.concatenate(ranks)

    def _pieces(self, block: int) -> tuple[Geometries, NDArray[np.int64], Floats, Floats]:
        """Return the pieces of a block, their ranks, their middles in degrees, and how far each reaches in metres."""
        import shapely

        table = self._file.read_row_group(block).combine_chunks()
        ends, ranks = np.asarray(table["x_steps"].chunk(0).offsets), np.asarray(table["rank"]).astype(np.int64)
        # A row has one more corner than it has steps.
        ends = ends + np.arange(len(ends))
        corners = np.empty((ends[-1], 2))
        for axis, name in enumerate("xy"):
            first, steps = np.asarray(table[name]), np.asarray(table[f"{name}_steps"].chunk(0).flatten())
            corners[:, axis] = _summed(first, steps, ends) * self.unit
        if "polygon" in table.column_names:
            polygon = np.asarray(table["polygon"])
            rings = np.searchsorted(polygon, np.arange(polygon[-1] + 2))
            shapes = shapely.from_ragged_array(shapely.GeometryType.POLYGON, corners, (ends, rings))
            ranks = ranks[rings[:-1]]
        else:
            shapes = shapely.from_ragged_array(shapely.GeometryType.LINESTRING, corners, (ends,))
        west, south, east, north = shapely.bounds(shapes).T
        lon, lat = (west + east) / 2, (south + north) / 2
        # A piece is a cell of at most ten degrees: no point of it is farther from the middle than the widest corner.
        nearest = np.clip(0.0, south, north)
        halves = np.max([ground_distances(lat, lon, y, east) for y in (south, north, nearest)], axis=0)
        return shapes, ranks, np.array([lon, lat]), halves


def _summed(first: NDArray[np.int32], steps: NDArray[np.int16], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the coordinates of all corners, from the first corner of each row and the steps to the others."""
    jumps = np.empty(ends[-1], dtype=np.int64)
    begins = np.zeros(len(jumps), dtype=bool)
    begins[ends[:-1]] = True
    jumps[~begins] = steps
    jumps[begins] = 0
    total = np.cumsum(jumps)
    return np.asarray(total + np.repeat(first - total[begins], np.diff(ends)))


def has_ground() -> bool:
    """Return whether the files of the ground are installed."""
    return find_spec(_DATA) is not None


@functools.cache
def packed_file(name: str) -> PackedFile:
    """Return a file of the ground by its name, opened once."""
    return PackedFile(resources.files(_DATA).joinpath(f"{name}.parquet").read_bytes())
