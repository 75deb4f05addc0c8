"""Heat maps as GeoTIFF files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil.certificates import KeyLike
from geoveil.errors import InvalidParameter
from geoveil.release.as_file import write_release

if TYPE_CHECKING:
    from geoveil.release.crowd_release import CrowdHeatMap

__all__ = ["write_raster"]


def write_raster(heat: CrowdHeatMap, path: Path, sign: KeyLike, *, overwrite: bool) -> Path:
    """Write a heat map as a GeoTIFF with a band for each slice, and its certificate, whole or not at all."""
    try:
        import rasterio
    except ImportError:
        remedy = "Install it with pip install 'geoveil[raster]', or choose another ending, such as .gpkg."
        raise InvalidParameter("path", str(path), "a format that is installed: .tif needs rasterio", remedy) from None
    return write_release(heat, path, sign, overwrite=overwrite, write=partial(_write, rasterio, heat))


def _write(rasterio: Any, heat: CrowdHeatMap, path: Path) -> dict[str, Any]:
    """Write the bands into a file, and return the options with which it is read: none."""
    rows, columns = heat.grid.shape
    west, south = heat.grid.bounds[:2]
    cell = heat.grid.cell
    bands = np.reshape(heat.value, (-1, rows, columns))
    place = rasterio.transform.from_origin(west, south + rows * cell, cell, cell)
    shape = {"height": rows, "width": columns, "count": len(bands), "dtype": "float64"}
    with rasterio.open(path, "w", driver="GTiff", crs=heat.crs.to_wkt(), transform=place, **shape) as file:
        # Rasters have their first row in the north.
        file.write(bands[:, ::-1])
        for number, name in enumerate(heat.slices, 1):
            file.set_band_description(number, name)
    return {}
