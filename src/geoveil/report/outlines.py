"""Outlines of polygons, and places split into the lines or rings that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geoveil.report.layers import Floats

__all__ = ["lines_of", "polygons_of", "rings_of", "split"]


def rings_of(polygons: Any) -> list[Floats]:
    """Return the coordinates of the outlines and holes of polygons."""
    import shapely

    return [shapely.get_coordinates(ring) for ring in shapely.get_rings(shapely.get_parts(polygons))]


def lines_of(lines: Any) -> tuple[Floats, ...]:
    """Return the coordinates of lines that are not empty."""
    import shapely

    parts = shapely.get_parts(lines)
    return tuple(shapely.get_coordinates(part) for part in parts[~shapely.is_empty(parts)])


def split(flat: Floats, parts: NDArray[np.int64]) -> Iterator[Floats]:
    """Yield the rows of each part, in their order."""
    order = np.argsort(parts, kind="stable")
    cuts = np.flatnonzero(np.diff(parts[order])) + 1
    yield from (np.asarray(rows) for rows in np.split(flat[order], cuts) if len(rows))


def polygons_of(rings: Sequence[Floats]) -> list[list[Floats]]:
    """Return rings as polygons, each an outline and its holes: a ring inside of an odd number of others is a hole."""
    import shapely

    bodies = np.array([shapely.Polygon(ring) for ring in rings])
    if not len(bodies):
        return []
    areas = shapely.area(bodies)
    inner, outer = shapely.STRtree(bodies).query(bodies, predicate="covered_by")
    larger = areas[outer] > areas[inner]
    inner, outer = inner[larger], outer[larger]
    depth = np.bincount(inner, minlength=len(bodies))
    polygons = {i: [rings[i]] for i in np.flatnonzero(depth % 2 == 0).tolist()}
    for i in np.flatnonzero(depth % 2).tolist():
        around = outer[inner == i]
        owner = int(around[areas[around].argmin()])
        if owner in polygons:
            polygons[owner].append(rings[i])
    return list(polygons.values())
