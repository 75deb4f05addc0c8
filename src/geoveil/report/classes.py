"""Classes of numbers with round limits, and counts of points in hexagons, for choropleth maps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from geoveil.report.layers import Floats, Geometries
from geoveil.report.palette import SHADES

if TYPE_CHECKING:
    import shapely

__all__ = ["Class", "classes_of", "hexagons", "limits_of"]

#: The number of a shade, its limits, and the union of its cells.
Class: TypeAlias = "tuple[int, float, float, shapely.Geometry]"
#: Sequences of round numbers, the densest first.
_STEPS = ((1, 2, 5), (1, 3), (1,))
#: The smallest ratio of the upper to the lower limit of a first class that does not begin at a round number.
_WIDE = 1.5


def limits_of(least: float, most: float) -> list[float]:
    """Return the lower limits of at most `SHADES` classes: round numbers from about `least` up to `most`.

    Examples
    --------
    >>> limits_of(1, 37), limits_of(1, 5000)
    ([1.0, 2.0, 5.0, 10.0, 20.0], [1.0, 10.0, 100.0, 1000.0])
    """
    low, high = math.floor(math.log10(least) - 1e-9), math.ceil(math.log10(most) + 1e-9)
    limits: list[float] = []
    for steps in _STEPS:
        rounds = [float(f"{step}e{power}") for power in range(low, high + 1) for step in steps]
        first = max([limit for limit in rounds if limit <= least * (1 + 1e-9)], default=rounds[0])
        limits = [limit for limit in rounds if first <= limit <= most * (1 + 1e-9)]
        if len(limits) <= SHADES:
            return limits
    return limits[:: -(-len(limits) // SHADES)]


def classes_of(
    cells: Geometries, values: Floats, *, least: float, overlapping: bool, blank: bool = False
) -> Iterator[Class]:
    """Yield the classes of cells by value, each as the union of its cells, so that no seams are drawn.

    Parameters
    ----------
    cells : array of polygons
        The cells.
    values : array
        The value of each cell; cells with values below `least` have no class.
    least : float
        The smallest value that is drawn.
    overlapping : bool
        Whether cells may overlap.
    blank : bool
        Whether the legend says that smaller values are blank; the first class then begins at `least`.
    """
    import shapely

    most = float(values.max(initial=0.0))
    if not most >= least:
        return
    limits = limits_of(least, most)
    if blank:
        limits = [least, *(limit for limit in limits if limit > _WIDE * least)]
    number = np.searchsorted(np.array(limits) * (1 - 1e-12), values, side="right") - 1
    number[values < least] = -1
    join = shapely.union_all if overlapping else shapely.coverage_union_all
    for i, low in enumerate(limits):
        if (number == i).any():
            shade = SHADES - 1 if len(limits) == 1 else round(i * (SHADES - 1) / (len(limits) - 1))
            high = limits[i + 1] if i + 1 < len(limits) else most
            yield shade, low, high, join(cells[number == i])


def hexagons(flat: Floats, width: float) -> tuple[Floats, Floats]:
    """Return the hexagons of a grid that contain points, as (m, 6, 2) corners, and the number of points in each.

    Parameters
    ----------
    flat : array
        (n, 2): points in metres.
    width : float
        The distance between opposite sides of a hexagon.
    """
    high = width * math.sqrt(3.0)
    # The centres of hexagons are the corners of two grids of rectangles, one shifted by half a rectangle.
    grids = [np.rint(flat / [width, high]) * [width, high], (np.floor(flat / [width, high]) + 0.5) * [width, high]]
    away = [((flat - centres) ** 2).sum(axis=1) for centres in grids]
    nearest = np.where((away[0] <= away[1])[:, None], *grids)
    rows = np.rint(nearest / [width / 2, high / 2]).astype(np.int64)
    packed, counts = np.unique(rows[:, 0] * 2**32 + rows[:, 1], return_counts=True)
    row = (packed + 2**31) % 2**32 - 2**31
    # In units of half a width and half a side, corners are whole numbers: corners that hexagons share are equal.
    centres = np.column_stack([(packed - row) // 2**32, 3 * row])
    corners = np.array([[0, 2], [1, 1], [1, -1], [0, -2], [-1, -1], [-1, 1]])
    return (centres[:, None, :] + corners) * [width / 2, high / 6], counts.astype(float)
