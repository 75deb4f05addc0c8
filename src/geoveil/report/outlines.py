"""Outlines of polygons, and rows of places by the line or ring that they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geoveil.report.layers import Floats

__all__ = ["rings_of", "split"]


def rings_of(polygons: Any) -> list[Floats]:
    """Return the coordinates of the outlines and holes of polygons."""
    import shapely

    return [shapely.get_coordinates(ring) for ring in shapely.get_rings(shapely.get_parts(polygons))]


def split(flat: Floats, parts: NDArray[np.int64]) -> Iterator[Floats]:
    """Return the rows of each part, in their order."""
    order = np.argsort(parts, kind="stable")
    cuts = np.flatnonzero(np.diff(parts[order])) + 1
    yield from (np.asarray(rows) for rows in np.split(flat[order], cuts) if len(rows))
