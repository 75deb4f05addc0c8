"""Files of public regions: polygons with names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from geoveil.errors import FileUnavailable, InvalidFile

if TYPE_CHECKING:
    import geopandas

__all__ = ["read_regions"]


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
