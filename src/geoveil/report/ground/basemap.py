"""The user's own base map: a file of streets, buildings or water. A map draws the part that lies in its view."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from geoveil.errors import FileUnavailable, InvalidFile, InvalidParameter
from geoveil.geo.coordinate_systems import offline
from geoveil.report.layers import Geometries
from geoveil.report.map_projection import Box, Projection
from geoveil.text.words import counted

if TYPE_CHECKING:
    import geopandas
    import pyproj

__all__ = ["Basemap", "check_basemap", "read_basemap"]

#: The formats, by the extensions of file names.
_GDAL = (".gpkg", ".geojson", ".json", ".shp", ".pmtiles")
_PARQUET = (".parquet", ".geoparquet")
_ALLOWED = "a GeoPackage, GeoJSON, GeoParquet, Shapefile or PMTiles file"
#: The size of the smallest details, divided by the longer side of the view; the largest numbers of vertices and of
#: points that a map has room for.
_DETAIL, _CORNERS, _POINTS = 1 / 2000, 60_000, 2_000
#: The largest width of a vector tile, divided by that of the view; and the length of the equator in metres.
_TILE, _EQUATOR = 0.5, 4.0075e7


class Basemap(NamedTuple):
    """The part of a base map that lies in the view, in metres of the map; and what was left out, in a sentence."""

    areas: Geometries
    lines: Geometries
    points: Geometries
    remark: str = ""


def check_basemap(path: str | Path) -> Path:
    """Return the path of a base map; refuse a missing file and an unsupported format."""
    file = Path(path)
    if file.suffix.lower() not in (*_GDAL, *_PARQUET):
        ends = ", ".join([*_GDAL, *_PARQUET])
        raise InvalidParameter("basemap", str(path), f"{_ALLOWED} ({ends})", "Convert it, for example with ogr2ogr.")
    if not file.is_file():
        raise FileUnavailable(str(path), "file not found", _ALLOWED, "Check its name.")
    return file


def read_basemap(path: str | Path, projection: Projection, box: Box) -> Basemap:
    """Read the part of a base map that lies in a box of a map, simplified to what can be seen there.

    Parameters
    ----------
    path : str or path
        A GeoPackage, GeoJSON, GeoParquet, Shapefile or PMTiles file. All of its layers are read.
    projection : Projection
        The projection of the map.
    box : Box
        The box, in metres of the map.
    """
    import shapely

    file = check_basemap(path)
    shapes: list[Geometries] = []
    with offline():
        for frame in _frames(file, projection, box):
            if frame.crs is None:
                raise InvalidFile(
                    str(path), "no coordinate system", "a base map that names its coordinate system",
                    'Write it into the file, for example with `ogr2ogr -a_srs EPSG:4326`.',
                )  # fmt: skip
            there = frame.geometry[~(frame.geometry.isna() | frame.geometry.is_empty)].to_crs("EPSG:4326").to_numpy()
            shapes.append(shapely.transform(shapely.force_2d(there), projection.to_map))
    every = np.concatenate([np.empty(0, dtype=object), *shapes])
    every = every[np.isfinite(shapely.bounds(every)).all(axis=1)]
    wrong = ~shapely.is_valid(every)
    every[wrong] = shapely.make_valid(every[wrong])
    every = shapely.get_parts(shapely.get_parts(shapely.clip_by_rect(every, *box)))
    every = every[~shapely.is_empty(every)]
    kinds = shapely.get_type_id(every)
    detail = box.side * _DETAIL
    areas, lines, points = every[kinds == 3], every[np.isin(kinds, (1, 2))], every[kinds == 0]
    areas, lines, coarse = _within_room(areas, lines, detail)
    said = [f"only details of {round(coarse)} m and more are drawn"] if coarse > 2 * detail else []
    if len(points) > _POINTS:
        said.append(f"{counted(_POINTS)} of {counted(len(points))} points are drawn")
        points = points[:: -(-len(points) // _POINTS)]
    remark = f"Base map {file.name}: {', and '.join(said)}." if said else ""
    if not len(every):
        remark = f"Base map {file.name}: nothing of it lies in this view."
    return Basemap(areas, lines, points, remark)


def _within_room(areas: Geometries, lines: Geometries, detail: float) -> tuple[Geometries, Geometries, float]:
    """Return areas and lines, simplified until a map has room for them, and the size of the smallest details."""
    import shapely

    while True:
        large = shapely.get_parts(shapely.simplify(areas[shapely.area(areas) > detail**2], detail / 2))
        large = large[shapely.get_type_id(large) == 3]
        # Even the short streets of a block are drawn, unless they are too short to be seen.
        long = shapely.simplify(lines[shapely.length(lines) > detail], detail / 2)
        if shapely.get_num_coordinates(np.concatenate([large, long])).sum() <= _CORNERS:
            return large, long, detail
        detail *= 1.6


def _frames(path: Path, projection: Projection, box: Box) -> Iterator[geopandas.GeoDataFrame]:
    """Yield the layers of a file, each with the part that lies around a box."""
    west, south, east, north = projection.degrees_of(box)
    turn = np.floor((west + 180) / 360) * 360
    boxes = [Box(west - turn, south, min(east - turn, 180.0), north)]
    if east - turn > 180:
        boxes.append(Box(-180.0, south, east - turn - 360, north))
    read = _parquet if path.suffix.lower() in _PARQUET else _layers
    try:
        for bounds in boxes:
            yield from read(path, bounds, box.side)
    except InvalidFile:
        raise
    except Exception as problem:
        # GDAL and pyarrow raise errors of many classes.
        raise InvalidFile(str(path), str(problem)[:200], _ALLOWED, "Check that other programs open it.") from None


def _layers(path: Path, bounds: Box, width: float) -> Iterator[geopandas.GeoDataFrame]:
    """Yield the layers of a file that GDAL reads."""
    import pyogrio

    options: dict[str, int] = {}
    if path.suffix.lower() == ".pmtiles":
        # Tiles of a deeper level have more detail than can be seen.
        level = np.log2(_EQUATOR * np.cos(np.radians(bounds.middle[1])) / (width * _TILE))
        told = pyogrio.read_info(path)["dataset_metadata"]
        options["ZOOM_LEVEL"] = int(np.clip(np.ceil(level), int(told["minzoom"]), int(told["maxzoom"])))
    for name, kind in pyogrio.list_layers(path):
        if kind is not None:
            system = pyogrio.read_info(path, layer=name, **options)["crs"]
            around = None if system is None else _bounds_in(system, bounds)
            yield pyogrio.read_dataframe(path, layer=name, columns=[], bbox=around, **options)


def _parquet(path: Path, bounds: Box, width: float) -> Iterator[geopandas.GeoDataFrame]:
    """Yield the geometries of a GeoParquet file."""
    import geopandas
    import pyarrow.parquet as pq

    told = json.loads((pq.read_schema(path).metadata or {}).get(b"geo", b"{}"))
    if "primary_column" not in told:
        raise InvalidFile(str(path), "no geometries", "a GeoParquet file", "Write it with GeoPandas or GDAL.")
    columns = [told["primary_column"]]
    # Of a file that states the bounds of its rows, only the rows around the box are read.
    part = None
    if "covering" in told["columns"][columns[0]]:
        system = geopandas.read_parquet(path, columns=columns, bbox=(0, 0, 0, 0)).crs
        part = None if system is None else _bounds_in(system, bounds)
    frame = geopandas.read_parquet(path, columns=columns, bbox=part)
    if frame.crs is not None:
        west, south, east, north = _bounds_in(frame.crs, bounds)
        frame = frame.cx[west:east, south:north]
    yield frame


def _bounds_in(system: pyproj.CRS | str, bounds: Box) -> tuple[float, ...]:
    """Convert bounds from degrees to another coordinate system."""
    import pyproj

    turned = pyproj.Transformer.from_crs("EPSG:4326", system, always_xy=True)
    return tuple(map(float, turned.transform_bounds(*bounds)))
