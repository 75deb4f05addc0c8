"""Requests about a crowd: grids, regions and trips as callers give them, checked and in metres of the plane."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil import checks
from geoveil._types import Labels, RegionsLike
from geoveil.answering.crowd import CountsQuestion, FlowsQuestion, HeatMapQuestion, Shapes
from geoveil.answering.crowd_sources import MemoryCrowd, check_trips
from geoveil.answering.intake import Intake, people_of
from geoveil.errors import InvalidData, InvalidParameter, Message
from geoveil.geo import Form, Plane
from geoveil.geo.geometries import Index
from geoveil.geo.region_files import region_series
from geoveil.postprocess.grid import Grid
from geoveil.privacy import Metric
from geoveil.release.as_layers import boxes_of
from geoveil.text.typed_values import read_length

if TYPE_CHECKING:
    import geopandas

__all__ = ["counts", "flows", "grid_of", "heatmap", "trips_of", "two_statements"]


def grid_of(grid: object, plane: Plane | None) -> tuple[Grid, Grid, bool]:
    """Return a grid in metres of the plane, the same in units of its system, and whether it covers the whole area.

    Parameters
    ----------
    grid : Grid or number
        The grid; or the side of a cell, for a grid of the whole area.
    plane : Plane, optional
        The plane.
    """
    area, unit = (None, 1.0) if plane is None else (plane.area, plane.grid_system[1])
    if isinstance(grid, int | float | str) and not isinstance(grid, bool):
        side = checks.length("cell", grid)
        if area is None:
            raise InvalidParameter(
                "cell", grid, "a Grid, for metres without an area", "Use gv.Grid(bounds, cell=...)."
            )
        ends = [end / unit for end in (*area.low, *area.high)]
        grid = Grid((ends[0], ends[1], ends[2], ends[3]), cell=side / unit)
    if not isinstance(grid, Grid):
        raise InvalidParameter("cell", grid, "a Grid, or the side of a cell", "Use gv.Grid(bounds, cell=...).")
    metres = grid.scaled(unit)
    west, south, east, north = metres.bounds
    if area is None:
        return metres, grid, False
    if max(east - west, north - south) < area.radius / 100:
        remedy = "Give it in metres east and north of the area's middle, which is (0, 0), or as the side of a cell."
        raise InvalidParameter("cell", grid.bounds, f"in metres of the plane, {area.name}", remedy)
    covers = west <= area.low[0] and south <= area.low[1] and east >= area.high[0] and north >= area.high[1]
    return metres, grid, covers


def heatmap(grid: object, plane: Plane | None, **how: Any) -> HeatMapQuestion:
    """Ask for a heat map."""
    metres, shown, covers = grid_of(grid, plane)
    return HeatMapQuestion(grid=metres, shown=shown, covers=covers, **how)


def counts(regions: RegionsLike, plane: Plane | None, **how: Any) -> CountsQuestion:
    """Ask for counts in regions."""
    shapes, series = _regions("regions", regions, plane)
    return CountsQuestion(shapes=shapes, regions=series, **how)


def flows(between: object, plane: Plane | None, **how: Any) -> FlowsQuestion:
    """Ask for flows between the cells of a grid, or between regions."""
    if isinstance(between, Grid | int | float) or (isinstance(between, str) and read_length(between) is not None):
        metres, shown, _ = grid_of(between, plane)
        return FlowsQuestion(grid=metres, places=_cells(shown, plane), **how)
    shapes, series = _regions("between", between, plane)
    return FlowsQuestion(shapes=shapes, places=series, **how)


def _cells(grid: Grid, plane: Plane | None) -> geopandas.GeoSeries:
    """Return the cells of a grid as polygons, numbered from the south-west."""
    import geopandas

    return geopandas.GeoSeries(boxes_of(grid), crs=None if plane is None else plane.grid_system[0])


def _regions(name: str, regions: object, plane: Plane | None) -> tuple[Shapes, geopandas.GeoSeries]:
    """Return regions in metres of the plane, and as a GeoSeries with the labels that they have."""
    import geopandas
    import shapely

    if isinstance(regions, str | PathLike):
        regions = region_series(regions, plane)
    if hasattr(regions, "geometry"):
        series = geopandas.GeoSeries(regions.geometry)
    elif isinstance(regions, list | tuple | np.ndarray) and len(regions):
        series = geopandas.GeoSeries([*regions], crs=None if plane is None else plane.crs)
    else:
        raise InvalidParameter(name, type(regions).__name__, "a frame of polygons, or a file", "Give its path.")
    areal = np.isin(shapely.get_type_id(series.array), (3, 6))
    if not len(series) or not areal.all() or not series.is_valid.all():
        remedy = "Use regions.make_valid(), and leave out points and lines."
        raise InvalidParameter(name, f"{len(series)} geometries", "valid polygons or multipolygons", remedy)
    if plane is None:
        return np.asarray(series.array), series
    if series.crs is None:
        raise InvalidParameter(f"{name}.crs", None, "known, as that of x is", "State it with set_crs(...).")
    series = series.to_crs(plane.crs)
    return np.array([plane.shape(name, shape) for shape in series.array], dtype=object), series


def trips_of(data: Intake, metric: Metric, trip: Labels | Form) -> MemoryCrowd:
    """Return trips as the items of a crowd.

    Their origins and destinations are two sets of points, the first and the last point of each trip in order of time,
    or two points of each row.

    Parameters
    ----------
    data : Intake
        The origins, or all points.
    metric : Metric
        The metric of the units.
    trip : Form, str or array of labels, optional
        The destinations, in the order of the origins; or the trip of each point.
    """
    form = data.form
    if trip is not None and (len(form.pairs) > 1 or len(getattr(trip, "pairs", ())) > 1):
        raise two_statements(trip if isinstance(trip, str) else type(trip).__name__)
    if isinstance(trip, Form):
        kept = form.selection.rows is None and trip.selection.rows is None
        if len(trip.coords) != len(form.coords) or not kept:
            allowed = f"{len(form.coords)} destinations, one for each origin, with no row removed"
            raise InvalidData("trip", len(trip.coords), allowed, "Remove such trips from both first.")
        if data.area != (None if trip.plane is None else trip.plane.area):
            remedy = Message("Give both the same {area}.")
            raise InvalidData("trip", "in another area", "destinations in the area of the origins", remedy)
        return MemoryCrowd(data, metric, np.arange(len(form.coords)), trip.coords)
    if trip is not None:
        first, last = _ends_of_trips(data, trip)
        return MemoryCrowd(data, metric, first, form.coords[last], last)
    check_trips(max(len(form.pairs), 1))
    starts = np.arange(0, len(form.coords), 2)
    return MemoryCrowd(data, metric, starts, form.coords[starts + 1], starts + 1)


def two_statements(trip: object) -> InvalidParameter:
    """Return the error of trips that are named although each row is one already."""
    remedy = "Leave it out; or name the columns of one place alone, whose points then make trips."
    return InvalidParameter("trip", trip, "left out where each row has both ends of a trip", remedy)


def _ends_of_trips(data: Intake, trip: Labels) -> tuple[Index, Index]:
    """Return the positions of the first and the last point of each person's trips, in order of time or of rows."""
    codes = people_of(data.form, trip, "trip").codes
    if data.crowd is not None:
        # Two persons may use the same label, such as 1, for different trips.
        codes = np.unique(codes * len(data.crowd.sizes) + data.crowd.codes, return_inverse=True)[1].ravel()
    timed = data.times is not None or bool(data.form.times)
    order = np.lexsort((data.microseconds if timed else np.arange(len(codes)), codes))
    sizes = np.bincount(codes)
    stops = np.cumsum(sizes)
    return order[stops - sizes], order[stops - 1]
