"""Layers of a map: cells, regions and flows with numbers, and true locations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geoveil._types import CrsLike
from geoveil.errors import InvalidParameter
from geoveil.geo.forms import Floats
from geoveil.geo.geometries import unwrap_longitudes
from geoveil.geo.planes import Plane
from geoveil.postprocess.grid import Grid
from geoveil.report import Layer
from geoveil.report.formatting import number
from geoveil.report.layers import FAINTEST
from geoveil.text.words import metres

if TYPE_CHECKING:
    import geopandas

    from geoveil.release.answered import Answered

__all__ = ["boxes_of", "cells_layer", "cells_of", "degrees", "flows_layer", "regions_layer", "truth_layer"]

#: The largest number of cells of a heat map within the part that is drawn; those of a finer one are joined.
_MOST_CELLS = 40_000
#: The distance from the middle of an area, in metres, beyond which released points are not drawn.
_FARTHEST = 5e6


def boxes_of(grid: Grid) -> NDArray[np.object_]:
    """Return the cells of a grid as polygons, row by row from the south-west."""
    import shapely

    y, x = grid.edges
    low, high = np.meshgrid(x[:-1], y[:-1]), np.meshgrid(x[1:], y[1:])
    return np.asarray(shapely.box(*(corner.ravel() for corner in (*low, *high))))


def cells_of(
    grid: Grid, numbers: Floats, system: CrsLike, crs: CrsLike, *, name: str = "points"
) -> geopandas.GeoDataFrame:
    """Return the cells of a grid as polygons with the number in each, row by row from the south-west.

    The grid is in the units of `system`, and the frame in `crs`; None if they are unknown.
    """
    import geopandas

    cells = geopandas.GeoDataFrame({name: numbers.ravel()}, geometry=boxes_of(grid), crs=system)
    if system is None:
        return cells if crs is None else cells.set_crs(crs)
    shown = cells.to_crs(crs)
    if not shown.crs.is_geographic:
        return shown
    return shown.set_geometry(unwrap_longitudes(shown.geometry.array), crs=shown.crs)


def cells_layer(
    grid: Grid, numbers: Floats, plane: Plane, name: str, counted: str = "points", *, noise: float = 0.0
) -> Layer:
    """Return the visible cells of a heat map, joined in blocks if there are too many of them.

    Cells with less than 1% of the largest number, or with less than noise alone can give, are left out, so that a map
    shows where the numbers are and not the whole area. `noise` is the 95% bound on the noise of every number.
    """
    grid = grid.scaled(plane.grid_system[1])
    joined, together = 1, numbers
    # The noises of the cells of a block are uncorrelated: the bound grows like their standard deviation.
    while _extent(_seen(together, joined * noise)) > _MOST_CELLS:
        joined *= 2
        together = _blocks(numbers, joined)
    row, column = np.nonzero(_seen(together, joined * noise))
    side = grid.cell * joined
    west, south = grid.bounds[:2]
    corners = [(west + (column + i) * side, south + (row + j) * side) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
    cells = np.stack([np.column_stack(corner) for corner in corners], axis=1)
    drawn = "" if joined == 1 else f", drawn in blocks of {metres(side)}"
    return Layer(
        f"{name}: cells of {metres(grid.cell)}{drawn}",
        degrees(plane, cells.reshape(-1, 2)),
        "grid",
        "released",
        parts=np.repeat(np.arange(len(cells)), 4),
        values=together[row, column],
        least=joined * noise,
        counted=counted,
        note=_blank_note(together, joined * noise, counted),
    )


def _seen(numbers: Floats, noise: float) -> NDArray[np.bool_]:
    """Return which cells have a number that is visible beside the largest, and above the noise if any number is."""
    most = float(numbers.max(initial=0.0))
    return np.asarray((numbers > 0) & (numbers >= max(FAINTEST * most, noise if most >= noise else 0.0)))


def _blank_note(numbers: Floats, noise: float, counted: str) -> str:
    """Return the legend's note on the numbers that are not drawn; empty if no noise is known."""
    if not noise:
        return ""
    faint = FAINTEST * float(np.max(numbers, initial=0.0))
    least, moved = (faint, f"{number(noise)} {counted}") if faint > noise else (noise, "that")
    blank = f"Blank: less than {number(least)} {counted}."
    return f"{blank} Noise moves no number by more than {moved}, with probability 95%."


def _extent(seen: NDArray[np.bool_]) -> int:
    """Return the number of cells in the rectangle around those that are seen."""
    row, column = np.nonzero(seen)
    return int(np.ptp(row) + 1) * int(np.ptp(column) + 1) if len(row) else 0


def _blocks(numbers: Floats, joined: int) -> Floats:
    """Return the sums of square blocks with `joined` cells along a side; at the edges blocks may be smaller."""
    padded = np.pad(numbers, [(0, -size % joined) for size in numbers.shape])
    rows, columns = (size // joined for size in padded.shape)
    return np.asarray(padded.reshape(rows, joined, columns, joined).sum(axis=(1, 3)))


def regions_layer(shapes: geopandas.GeoSeries, numbers: Floats, name: str, counted: str, *, noise: float) -> Layer:
    """Return regions in degrees, each drawn by its outer rings, with the number in each, if noise is smaller."""
    import shapely

    parts, owner = shapely.get_parts(shapes.array, return_index=True)
    coords, ring = shapely.get_coordinates(shapely.get_exterior_ring(parts), return_index=True)
    values = np.asarray(numbers, dtype=float)[owner]
    drawn = Layer(name, coords, "grid", "released", ring, values=values, least=noise, counted=counted)
    return replace(drawn, overlapping=True, note=_blank_note(values, noise, counted))


def flows_layer(at: Floats, numbers: Floats, name: str, counted: str, *, least: float, most: int) -> tuple[Layer, ...]:
    """Return at most the `most` largest flows between places in degrees, if they are above `least`."""
    order = np.argsort(numbers, axis=None)[::-1][:most]
    origin, destination = np.unravel_index(order[numbers.ravel()[order] > least], numbers.shape)
    if not len(origin):
        return ()
    places = np.stack([at[origin], at[destination]], axis=1).reshape(-1, 2)
    parts = np.repeat(np.arange(len(origin)), 2)
    above = int((numbers > least).sum())
    note = f"Flows within one place, and those of up to {least:.2g} {counted}, which may be noise, are not drawn."
    if above > most:
        note = f"Of {above:,} flows between different places, only the {most} largest are drawn."
    values = numbers[origin, destination]
    return (Layer(name, places, "flows", "released", parts, values=values, counted=counted, note=note),)


def truth_layer(truth: geopandas.GeoSeries | geopandas.GeoDataFrame, release: Answered | None = None) -> Layer:
    """Return a layer of true locations, which the owner gave. A page or figure with it must not be shared.

    They are drawn as lines if the release has tracks and its persons are in a column of the data.
    """
    import shapely

    if not hasattr(truth, "geometry") or getattr(truth, "crs", None) is None:
        remedy = "Give the data that was released, such as truth=trips, or leave it out."
        raise InvalidParameter("truth", type(truth).__name__, "a GeoSeries or GeoDataFrame with its crs", remedy)
    rows = np.asarray(truth.to_crs(4326).geometry.array)
    places, whose = shapely.get_coordinates(rows, return_index=True)
    if len(rows) and (shapely.get_type_id(rows) == shapely.GeometryType.LINESTRING).all():
        return Layer("true locations", places, "lines", "truth", parts=whose)
    name = None if release is None or release.person is None else release.person.name
    if name in getattr(truth, "columns", ()) and release is not None and release.is_track:
        return Layer("true locations", places, "lines", "truth", parts=truth[name].factorize()[0][whose])
    return Layer("true locations", places, "points", "truth")


def degrees(plane: Plane, metres: Floats) -> Floats:
    """Return metres of a plane as longitudes and latitudes; NaN where they cannot be projected back."""
    places = plane.degrees(metres)
    # Far outside its area, the inverse of a projection may return any location.
    lost = ~np.isfinite(places).all(axis=1) | ~(np.hypot(*(metres - plane.area.middle).T) <= _FARTHEST)
    places[lost] = np.nan
    return places
