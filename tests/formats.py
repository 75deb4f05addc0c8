"""Files of locations in all formats, made by other tools than the library: GDAL, pandas, pyarrow, gpxpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import gpxpy.gpx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

import geoveil as gv
from geoveil.geo.formats.gdal import AS_TEXT

__all__ = ["BAY", "FORMATS", "IN_PLANE", "make", "people", "raw_bytes"]

BAY = gv.local(lat=37.77, lon=-122.42, radius=50_000)
#: Digits that would be found again in a file, as text or as doubles.
SECRET = "Wisteria Lane 7"


def people(n: int = 60, persons: int = 3, seed: int = 1) -> Any:
    """Places of some persons in longitude and latitude, with a time, and columns that give places away."""
    rng = np.random.default_rng(seed)
    lon, lat = rng.uniform(-122.6, -122.3, n), rng.uniform(37.6, 37.9, n)
    return geopandas.GeoDataFrame(
        {
            "user": [f"u{i}" for i in rng.integers(persons, size=n)],
            "time": [f"2024-01-{1 + i // 1440:02d}T{i // 60 % 24:02d}:{i % 60:02d}:00Z" for i in range(n)],
            "address": [SECRET] * n,
        },
        geometry=geopandas.points_from_xy(lon, lat),
        crs=4326,
    )


def _table(frame: Any) -> Any:
    table = pd.DataFrame(frame.drop(columns="geometry"))
    table.insert(1, "latitude", frame.geometry.y)
    table.insert(1, "longitude", frame.geometry.x)
    return table


def _gpx(frame: Any, path: Path) -> None:
    """A track for each person, in two segments, with altitudes, bounds and metadata; gpxpy knows no speed in 1.1."""
    gpx = gpxpy.gpx.GPX()
    gpx.name = SECRET
    for user, rows in frame.groupby("user", sort=False):
        track = gpxpy.gpx.GPXTrack(name=user, description=SECRET)
        gpx.tracks.append(track)
        for part in np.array_split(np.arange(len(rows)), 2):
            segment = gpxpy.gpx.GPXTrackSegment()
            track.segments.append(segment)
            for place, time in zip(rows.geometry.iloc[part], rows["time"].iloc[part], strict=True):
                when = pd.Timestamp(time).to_pydatetime()
                point = gpxpy.gpx.GPXTrackPoint(place.y, place.x, elevation=place.y * 10, time=when, comment=SECRET)
                segment.points.append(point)
    bounds = gpx.get_bounds()
    gpx.bounds = bounds
    path.write_text(gpx.to_xml(), encoding="utf-8")


def _cabs(frame: Any, path: Path) -> None:
    path.mkdir()
    for user, rows in frame.groupby("user"):
        times = [int(pd.Timestamp(time).timestamp()) for time in rows["time"]]
        lines = [f"{p.y} {p.x} 1 {t}\n" for p, t in zip(rows.geometry, times, strict=True)]
        (path / f"new_{user}.txt").write_text("".join(lines))


#: How a frame is written, by the name of the file.
FORMATS: dict[str, Callable[[Any, Path], None]] = {
    "trips.csv": lambda frame, path: _table(frame).to_csv(path, index=False),
    "comma.csv": lambda frame, path: _table(frame).to_csv(path, index=False, sep=";", decimal=","),
    "trips.tsv": lambda frame, path: _table(frame).to_csv(path, index=False, sep="\t"),
    "trips.csv.gz": lambda frame, path: _table(frame).to_csv(path, index=False),
    "trips.geojson": lambda frame, path: frame.to_file(path, driver="GeoJSON", WRITE_BBOX="YES", **AS_TEXT),
    "trips.gpkg": lambda frame, path: frame.to_file(path, driver="GPKG", layer="places"),
    "trips.shp": lambda frame, path: frame.to_file(path, SPATIAL_INDEX="YES"),
    "wkb.parquet": lambda frame, path: frame.to_parquet(path, write_covering_bbox=True, compression=None),
    "points.parquet": lambda frame, path: frame.to_parquet(path, geometry_encoding="geoarrow", compression=None),
    "plain.parquet": lambda frame, path: _table(frame).to_parquet(path, compression=None),
    "trips.gpx": _gpx,
    "cabs": _cabs,
}
#: Those that can be in any coordinate system.
IN_PLANE = ["trips.gpkg", "trips.shp", "wkb.parquet", "points.parquet"]


def make(name: str, folder: Path, frame: Any | None = None) -> tuple[Path, dict[str, Any]]:
    """A file of this kind, and what the library must be told of it."""
    path = folder / name
    FORMATS[name](people() if frame is None else frame, path)
    told: dict[str, Any] = {"person": {"trips.gpx": "track_name", "cabs": "cab"}.get(name, "user"), "area": BAY}
    if name == "comma.csv":
        told["decimal"] = ","
    return path, told


def raw_bytes(folder: Path) -> dict[str, bytes]:
    """All that is in a folder, as it stands on the disk; what is compressed, unpacked."""
    import gzip

    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            found[str(path.relative_to(folder))] = gzip.decompress(data) if path.suffix == ".gz" else data
    return found


def degrees_of(frame: Any) -> NDArray[np.float64]:
    """Longitudes and latitudes."""
    return np.column_stack([frame.geometry.x, frame.geometry.y])
