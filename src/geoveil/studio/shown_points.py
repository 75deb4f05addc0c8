"""Layers of many points and of tracks, made small enough for a page."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geoveil.report import Layer
from geoveil.report.layers import Floats, Role

__all__ = ["density_layer", "track_layers"]

#: The number of cells along the longer side of a density.
_CELLS = 120
#: The share of points at each end of an axis that a density leaves out: a few points far away would make it a dot.
_TAIL = 0.001


def density_layer(name: str, degrees: Floats, role: Role) -> Layer:
    """Return how many points there are in the cells of a grid.

    Examples
    --------
    >>> import numpy as np
    >>> places = np.random.default_rng(1).normal([8.5, 47.4], 0.01, size=(50_000, 2))
    >>> density_layer("points", places, "truth").values.sum() > 49_000
    np.True_
    """
    known = degrees[np.isfinite(degrees).all(axis=1)]
    # Quantiles of a sample are as good for a view, and take no time.
    some = known[:: max(1, len(known) // 100_000)]
    (west, south), (east, north) = np.quantile(some, [_TAIL, 1 - _TAIL], axis=0)
    shrunk = np.cos(np.radians((south + north) / 2))
    side = max((east - west) * shrunk, north - south, 1e-5) / _CELLS
    wide, high = side / shrunk, side
    columns, rows = (max(1, int(np.ceil(length))) for length in ((east - west) / wide, (north - south) / high))
    column, row = np.floor((known - [west, south]) / [wide, high]).astype(np.int64).T
    inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
    counts = np.bincount(row[inside] * columns + column[inside], minlength=rows * columns)
    filled = np.flatnonzero(counts)
    x, y = west + (filled % columns) * wide, south + (filled // columns) * high
    corners = np.stack([[x, y], [x + wide, y], [x + wide, y + high], [x, y + high], [x, y]]).transpose(2, 0, 1)
    parts = np.repeat(np.arange(len(filled)), 5)
    return Layer(name, corners.reshape(-1, 2), "grid", role, parts, values=counts[filled].astype(float))


def track_layers(name: str, degrees: Floats, whose: NDArray[np.int64], role: Role) -> tuple[Layer, ...]:
    """Return the tracks of persons as lines, each of the order in which its points stand."""
    order = np.argsort(whose, kind="stable")
    return (Layer(name, degrees[order], "lines", role, whose[order]),)
