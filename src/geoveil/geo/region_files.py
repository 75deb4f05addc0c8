"""Public regions: polygons with names, from files, and the cells of H3."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geoveil.errors import FileUnavailable, GeoveilError, InvalidFile, InvalidParameter
from geoveil.geo.geometries import unwrap_longitudes
from geoveil.geo.planes import Plane

if TYPE_CHECKING:
    import geopandas

__all__ = ["is_h3", "named_regions", "read_regions", "region_series"]

#: The largest number of cells of H3 in an area.
_MOST_CELLS = 10_000
_FINEST = 15


def region_series(given: str | os.PathLike[str], plane: Plane | None) -> geopandas.GeoSeries:
    """Return the regions of a file by their names, or the cells of H3 in the area for a text such as "h3:8"."""
    return _h3_cells(int(os.fspath(given).strip()[3:]), plane) if is_h3(given) else named_regions(Path(given))


def is_h3(given: str | os.PathLike[str]) -> bool:
    """Return whether a text means the cells of H3 of a resolution: "h3:8"."""
    return re.fullmatch(r"\s*[hH]3:\d{1,2}\s*", os.fspath(given)) is not None


def named_regions(path: Path, name: str | None = None) -> geopandas.GeoSeries:
    """Return the regions of a file, by the values of a column of names, or by their numbers.

    By default the column is `name`, or else the only one of texts, if it has a different text for each region.
    """
    import pandas as pd

    frame = read_regions(path)
    if name is None:
        named = [column for column in frame if str(column).lower() == "name"]
        texts = [column for column in frame if pd.api.types.is_string_dtype(frame[column].dtype)]
        usual = next(iter(named or (texts if len(texts) == 1 else [])), None)
        if usual is not None and frame[usual].notna().all() and frame[usual].is_unique:
            frame = frame.set_index(usual)
        return frame.geometry.rename_axis("region")
    if name not in frame:
        others = ", ".join(column for column in frame if column != frame.geometry.name)
        raise GeoveilError(f"{path.name}: there is no column {name!r}.", f"The columns are {others}.")
    return frame.set_index(name).geometry


def _h3_cells(resolution: int, plane: Plane | None) -> geopandas.GeoSeries:
    """Return the cells of H3 that meet an area, by their indexes."""
    import geopandas
    import shapely

    given = f"h3:{resolution}"
    if resolution > _FINEST:
        raise InvalidParameter("regions", given, "h3:0 to h3:15", "The larger the number, the smaller the cells.")
    if plane is None:
        remedy = "Cells of H3 are on the Earth, and these locations are metres of no known plane."
        raise InvalidParameter("regions", given, "a grid or polygons, for metres without an area", remedy)
    try:
        import h3
    except ImportError:
        raise GeoveilError("Cells of H3 need the library h3.", "Use pip install 'geoveil[h3]'.") from None
    area, (system, unit) = plane.area, plane.grid_system
    low, high, middle = (np.asarray(end) / unit for end in (area.low, area.high, area.middle))
    shape = shapely.Point(middle).buffer(area.radius / unit) if area.disc else shapely.box(*low, *high)
    km2 = shape.area * (unit / 1000) ** 2
    fitting = [each for each in range(resolution + 1) if km2 < _MOST_CELLS * h3.average_hexagon_area(each)]
    if fitting[-1:] != [resolution]:
        allowed = f"large enough for at most {_MOST_CELLS:,} cells in the area"
        remedy = f"Use h3:{max(fitting, default=0)}, or a smaller area."
        raise InvalidParameter("regions", given, allowed, remedy)
    # The rings of cells around the middle one reach beyond the area: two rings are at least one edge apart.
    centre = geopandas.GeoSeries([shapely.Point(middle)], crs=system).to_crs(4326).iloc[0]
    reach = math.hypot(*(high - middle)) * unit / 1000
    rings = math.ceil(reach / h3.average_hexagon_edge_length(resolution)) + 1
    cells = sorted(h3.grid_disk(h3.latlng_to_cell(centre.y, centre.x, resolution), rings))
    # A boundary lists latitudes first.
    outlines = [shapely.Polygon([corner[::-1] for corner in h3.cell_to_boundary(cell)]) for cell in cells]
    series = geopandas.GeoSeries(unwrap_longitudes(outlines), index=cells, crs=4326).rename_axis("region")
    flat = series.to_crs(system)
    return series[np.isfinite(flat.bounds).all(axis=1) & flat.intersects(shape)]


def read_regions(path: Path) -> geopandas.GeoDataFrame:
    """Read polygons from a file of any format that GDAL reads, or from GeoParquet."""
    import geopandas

    if not path.exists():
        raise FileUnavailable(str(path), "file not found", "a file of regions", "Check its name.")
    try:
        read = geopandas.read_parquet if path.suffix.lower() in (".parquet", ".geoparquet") else geopandas.read_file
        frame = read(path)
    except Exception as problem:
        # GDAL and pyarrow raise errors of many classes.
        remedy = "Give a GeoPackage, GeoJSON, Shapefile or GeoParquet file of polygons."
        raise InvalidFile(str(path), str(problem)[:200], "a file of regions", remedy) from None
    if not hasattr(frame, "geometry") or not len(frame):
        raise InvalidFile(str(path), f"{len(frame)} rows", "a file with polygons", "Give a file of public regions.")
    return frame
