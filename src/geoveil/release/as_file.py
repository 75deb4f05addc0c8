"""A release as a file, with its certificate beside it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil._types import Path as PathLike
from geoveil.certificates import KeyLike, certificate_digest, signed, signing_key
from geoveil.errors import InvalidData, InvalidFile, InvalidParameter, LedgerError, warn
from geoveil.geo.formats import ending
from geoveil.geo.formats.atomic import staging_folder, write_certificate
from geoveil.geo.formats.fingerprints import digest
from geoveil.geo.formats.gdal import AS_TEXT, DRIVERS

if TYPE_CHECKING:
    import shapely

    from geoveil.geo.row_locations import Pairs
    from geoveil.release.crowd_release import CrowdHeatMap
    from geoveil.release.kinds import Frame
    from geoveil.release.shown import Shown

__all__ = ["RASTERS", "endings", "write_frame", "write_raster", "write_release"]

_TABLES = (".csv", ".tsv", ".parquet")
#: The endings of a GeoTIFF.
RASTERS = (".tif", ".tiff")


def endings(*, placed: bool = True) -> tuple[str, ...]:
    """Return the file endings of formats to which releases can be written; without places, those of tables."""
    return (*DRIVERS, ".geoparquet", *_TABLES) if placed else _TABLES


def write_release(
    release: Shown,
    path: PathLike,
    sign: KeyLike = None,
    *,
    overwrite: bool = False,
    before: Callable[[dict[str, str]], None] | None = None,
) -> Path:
    """Write a release and its certificate into files, whole or not at all; see `Release.to_file`.

    `before` is called with the digests of the file and of its certificate before they appear.
    """
    path, key = Path(path), signing_key(sign)
    if release.plane is None:
        remedy = "Ask about a GeoSeries or a GeoDataFrame; numpy writes arrays."
        raise InvalidData("release", repr(release), "about locations on the Earth", remedy)
    kind = release.kind
    if release.processing.combined and kind.of_points:
        allowed = "of one input: this one was remapped by a map of other releases"
        raise InvalidData("release", repr(release), allowed, "Write release.value with geopandas.")
    column = None if release.person is None or not kind.of_points else str(release.person.name)
    if column is not None:
        form = release.form
        if column not in form.names:
            remedy = "Release a table by one of its columns."
            raise InvalidData("release", repr(release), "of points with a column of persons", remedy)
        release._person_index(column, form)
    if ending(path) not in (known := release._endings()):
        raise InvalidParameter("path", str(path), f"a file that ends in one of {', '.join(known)}", "Choose one.")
    with staging_folder(path, overwrite=overwrite) as folder:
        written = folder / path.name
        reading, certificate = release._write(written), release.certificate()
        certificate["person"] = column
        certificate["file"] = {"name": path.name, "sha256": digest(written), "reading": reading, "kind": kind.name}
        certificate = signed(certificate, key)
        write_certificate(written, certificate)
        digests = {"file": certificate["file"]["sha256"], "certificate": certificate_digest(certificate)}
        if before is not None:
            before(digests)
        elif release.recorder is not None:
            _record(release.recorder, release.id, path, digests)
    return path


def _record(recorder: Callable[..., None], release: str, path: Path, digests: dict[str, str]) -> None:
    """Record a file of a release in its ledger; the release was paid for, so a ledger that fails does not stop it."""
    try:
        recorder(release, **digests)
    except LedgerError as problem:
        warn(f"{path.name} is not recorded in the ledger, which therefore cannot verify it: {problem.problem}")


def write_raster(heat: CrowdHeatMap, path: Path) -> None:
    """Write a heat map as a GeoTIFF with a band for each slice."""
    try:
        import rasterio
    except ImportError:
        remedy = "Install it with pip install 'geoveil[raster]', or choose another ending, such as .gpkg."
        raise InvalidParameter("path", path.name, "a format that is installed: .tif needs rasterio", remedy) from None
    assert heat.crs is not None
    rows, columns = heat.grid.shape
    west, south = heat.grid.bounds[:2]
    cell = heat.grid.cell
    bands = np.reshape(heat.value, (-1, rows, columns))
    place = rasterio.transform.from_origin(west, south + rows * cell, cell, cell)
    shape = {"height": rows, "width": columns, "count": len(bands), "dtype": "float64", "nodata": math.nan}
    with rasterio.open(path, "w", driver="GTiff", crs=heat.crs.to_wkt(), transform=place, **shape) as file:
        # Rasters have their first row in the north.
        file.write(bands[:, ::-1])
        for number, name in enumerate(heat.slices, 1):
            file.set_band_description(number, name)


def _cut(shape: shapely.Geometry) -> shapely.Geometry:
    """Cut a shape that extends beyond 180 degrees into parts, as GeoJSON requires (RFC 7946, 3.1.9)."""
    import shapely

    west, _, east, _ = shape.bounds
    if west >= -180 and east <= 180:
        return shape
    parts = [
        shapely.transform(shape & shapely.box(low, -90, low + 360, 90), lambda at, low=low: at - [low + 180, 0])
        for low in (-540.0, -180.0, 180.0)
    ]
    return shapely.union_all([part for part in parts if not part.is_empty])


def write_frame(frame: Frame, path: Path, pairs: Pairs) -> dict[str, Any]:
    """Write a frame, and return the options with which it can be read again.

    `pairs` are the columns of coordinates of the table that was released: a CSV file has those of origins and
    destinations under their names.
    """
    import shapely

    kind, shaped = ending(path), hasattr(frame, "geometry")
    if kind in (".csv", ".tsv"):
        reading: dict[str, Any] = {"delimiter": "\t" if kind == ".tsv" else ",", "decimal": "."}
        if shaped:
            places = frame.geometry.array
            rest = frame.drop(columns=frame.geometry.name)
            if len(pairs) > 1:
                ends = shapely.get_coordinates(places).reshape(len(places), -1)
                names = [str(name) for pair in pairs for name in pair]
                rest = rest.assign(**dict(zip(names, ends.T, strict=True)))
                reading |= {"crs": frame.crs.to_string(), "lat": names[1::2], "lon": names[::2]}
            elif (shapely.get_type_id(places) == shapely.GeometryType.POINT).all():
                x, y = ("longitude", "latitude") if frame.crs.is_geographic else ("x", "y")
                rest = rest.assign(**{x: shapely.get_x(places), y: shapely.get_y(places)})
                reading |= {"crs": frame.crs.to_string(), "lat": y, "lon": x}
            else:
                rest = rest.assign(wkt=shapely.to_wkt(places, rounding_precision=-1))
                reading |= {"crs": frame.crs.to_string(), "geometry": "wkt"}
            frame = rest
        frame.to_csv(path, index=False, sep=reading["delimiter"])
        return reading
    if not shaped and kind not in _TABLES:
        raise InvalidParameter("path", path.name, "a .csv, .tsv or .parquet file", "The answer has no locations.")
    if kind not in DRIVERS:
        frame.to_parquet(path, index=False)
        return {}
    import pyogrio

    driver = DRIVERS[kind][0]
    if driver == "GeoJSON" and frame.crs.is_geographic:
        frame = frame.set_geometry([_cut(shape) for shape in frame.geometry], crs=frame.crs)
    try:
        frame.to_file(path, driver=driver, engine="pyogrio", **(AS_TEXT if driver == "GeoJSON" else {}))
    except (pyogrio.errors.DataSourceError, pyogrio.errors.FeatureError) as problem:
        raise InvalidFile(str(path), str(problem), "a file that can be written", "Is there room?") from None
    return {}
