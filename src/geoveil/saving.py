"""Releases as files, each with a certificate beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from geoveil._types import Path as PathLike
from geoveil.answering.intake import in_the_plane
from geoveil.arithmetic import steady
from geoveil.budget import Entry
from geoveil.errors import FileUnavailable, InvalidData, InvalidFile, InvalidParameter
from geoveil.facts import Processing, Removed
from geoveil.files import frame_of
from geoveil.geo import Plane
from geoveil.geo.areas import Area
from geoveil.geo.formats import Batch, LocationFile, ending, open_locations
from geoveil.geo.formats.atomic import certificate_path, staging_folder, write_certificate
from geoveil.geo.formats.coordinates import numbers
from geoveil.geo.formats.fingerprints import digest
from geoveil.geo.formats.gdal import AS_TEXT, DRIVERS
from geoveil.geo.geometries import unwrap_longitudes, vertices
from geoveil.heatmaps import HeatMap
from geoveil.improve import persons
from geoveil.privacy import certified
from geoveil.queries import Persons, Points, answers_without_values
from geoveil.release import Release

__all__ = ["endings", "load", "save", "table"]

#: The options with which a file is read, as certificates state them.
READING = {"crs", "x", "y", "delimiter", "decimal", "encoding", "layer"}

_TABLES = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True, eq=False, repr=False)
class LoadedRelease(Release):
    """A release that was read from a file.

    Parameters
    ----------
    file : LocationFile
        The file, opened.
    """

    file: LocationFile = field(kw_only=True)


@steady()
def load(path: PathLike) -> Release:
    r"""Read a released file and its certificate, as a release that can be smoothed, clamped, remapped and counted.

    Parameters
    ----------
    path : str or Path
        What `points_file` or `save` wrote; its certificate must be beside it.

    Returns
    -------
    Release
        Its value is a GeoDataFrame.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import geoveil as gv
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "trips.csv").write_text("user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n")
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> _ = gv.points_file(folder / "trips.csv", folder / "released.csv", by="user", rho=5e-5, area=bay)
    >>> gv.load(folder / "released.csv").guarantee
    CGP(rho=5e-05)
    """
    import pandas as pd
    import pyarrow as pa

    path = Path(path)
    beside = certificate_path(path)
    try:
        account = json.loads(beside.read_text(encoding="utf-8"))
    except FileNotFoundError:
        remedy = "A released file is loaded together with its certificate, which must be in the same folder."
        raise FileUnavailable(str(beside), "certificate not found", "in the same folder", remedy) from None
    except (OSError, ValueError, RecursionError) as problem:
        remedy = "Get the released file and its certificate again."
        raise InvalidFile(str(beside), str(problem), "a certificate", remedy) from None
    changed = "The file or its certificate was changed since the release: get both anew."
    try:
        guarantee = certified(account)
        area, file, by, method = Area.certified(account["area"]), account["file"], account["by"], account["method"]
        sha256, reading = file["sha256"], dict(file["reading"])
        kind = file.get("kind", "points")
        more = {name: account[name] for name in ("inexact", "id")}
        more["entry"] = None if account["entry"] is None else Entry(**account["entry"])
        more |= {"clamped": account["outside"] == "clamp", "removed": Removed(account["missing"])}
        rounding = float(account["rounding"])
        expected = None if account.get("expected_error") is None else float(account["expected_error"]) * area.shrink
        more["processing"] = Processing(
            tuple(account["processed"]), bounded=account["radius_95"] is not None, expected=expected
        )
        if not {*reading} <= READING or not isinstance(by, str | None):
            raise ValueError(reading, by)
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise InvalidFile(str(beside), repr(problem), "the certificate of a released file", changed) from None
    if kind != "points":
        raise InvalidFile(str(path), account["query"], "a file of released points", "Read answers with geopandas.")
    opened = open_locations(path, **reading)
    if digest(path) != sha256 or (by is not None and by not in opened.columns):
        raise InvalidFile(str(path), "another digest", "the file that its certificate is about", changed)
    frame = frame_of(opened)
    for name in ("radius_95", guarantee.symbol):
        if name in frame and reading.get("decimal"):
            texts = pa.array(frame[name], pa.string())
            frame[name] = numbers(texts, reading["decimal"], lambda row: f"{path.name}, row {row + 1}")
    if guarantee.symbol in frame and (frame[guarantee.symbol] != float(guarantee.budget)).any():
        raise InvalidFile(str(beside), str(guarantee), f"the {guarantee.symbol} that the file states", changed)
    plane = Plane(opened.crs, area)
    coords, rows = vertices(np.asarray(frame.geometry.array))
    codes, persons = (np.zeros(len(rows), int), None) if by is None else pd.factorize(frame[by].to_numpy()[rows])
    working = in_the_plane(guarantee, area)
    return LoadedRelease(
        frame,
        answers=answers_without_values(
            Persons.by_size(np.bincount(codes), lambda n: Points(n, 2, working, method, rounding=rounding))
        ),
        n=len(rows),
        coords=plane.into(coords),
        plane=plane,
        by=None if persons is None else pd.Index(persons, name=by),
        guarantee=guarantee,
        file=opened,
        **more,
    )


def endings(*, placed: bool = True) -> tuple[str, ...]:
    """Return the file endings of formats to which releases can be saved; without places, those of tables."""
    return (*DRIVERS, ".geoparquet", *_TABLES) if placed else _TABLES


@steady()
def save(release: Release, path: str | os.PathLike[str]) -> Path:
    r"""Write a release and its certificate into files, whole or not at all.

    Parameters
    ----------
    release : Release
        About a frame or a file: of points, also smoothed or clamped, or an answer.
    path : str or Path
        Its ending tells the format: .csv, .tsv, .geojson, .gpkg, .shp or .parquet. What `load` has read goes into its
        own format as well, whatever that is.

    Returns
    -------
    Path
        That of the file; `load` reads points again.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import geopandas
    >>> import geoveil as gv
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> _ = gv.save(gv.hull(homes, rho=1e-4, area=bay), folder / "hull.geojson")
    >>> sorted(path.name for path in folder.iterdir())
    ['hull.geojson', 'hull.geojson.certificate.json']
    """
    path = Path(path)
    if release.processing.combined and not isinstance(release, HeatMap):
        allowed = "of one input: this one was remapped by a map of other releases"
        raise InvalidData("release", repr(release), allowed, "Save it with geopandas.")
    kind = "cells" if isinstance(release, HeatMap) else release.answers[0].query.kind
    column = None if release.by is None else str(release.by.name)
    if kind == "points" and column is not None:
        remedy = "Release a GeoDataFrame by one of its columns."
        if column not in getattr(release.value, "columns", ()):
            raise InvalidData("release", repr(release), "of points with a column of persons", remedy)
        persons(release, column)
    own = isinstance(release, LoadedRelease) and ending(path) == ending(release.file.path)
    if not own and ending(path) not in endings():
        raise InvalidParameter("path", str(path), f"a file that ends in one of {', '.join(endings())}", "Choose one.")
    with staging_folder(path) as folder:
        written = folder / path.name
        if own:
            assert isinstance(release, LoadedRelease)
            _rewrite(release, written)
            reading = release.file.reading
        else:
            reading = _write(table(release), written)
        account = {
            **release.certificate(),
            "by": column if kind == "points" else None,
            "file": {"name": path.name, "sha256": digest(written), "reading": reading, "kind": kind},
        }
        write_certificate(written, account)
    return path


def table(release: Release) -> Any:
    """What a release gives, as a frame with a row for each point or answer, its error and its budget."""
    import geopandas
    import pandas as pd

    if release.plane is None:
        remedy = "Ask about a GeoSeries or a GeoDataFrame; numpy writes arrays."
        raise InvalidData("release", repr(release), "about places on the Earth", remedy)
    kind, value = release.answers[0].query.kind, release.value
    if isinstance(release, HeatMap):
        frame = _cells(release)
    elif kind == "points":
        frame = value if isinstance(value, geopandas.GeoDataFrame) else geopandas.GeoDataFrame(geometry=value)
        frame = frame.drop(columns=[name for name in frame if name in ("radius_95", release.guarantee.symbol)])
    elif kind in ("positions", "position"):
        frame = _found(release)
    elif release.by is not None:
        frame = value.reset_index()
        if kind == "box":
            import shapely

            boxes = shapely.box(*frame[["minx", "miny", "maxx", "maxy"]].to_numpy().T)
            frame = geopandas.GeoDataFrame(frame[[release.by.name]], geometry=boxes, crs=release.crs)
    elif kind in ("place", "box", "body"):
        frame = geopandas.GeoDataFrame(geometry=[_shape(value)], crs=release.crs)
    else:
        frame = pd.DataFrame({release.query: [value]})
    stated: dict[str, Any] = {}
    if release.processing.bounded:
        radius = release.error(0.05, each=kind == "points")
        # For neighbours this is how much farther they are than the true ones; their places have another error.
        name = "excess_95" if kind == "positions" else "radius_95"
        if release.by is None:
            stated[name] = radius
        elif release.by.name in frame:
            stated[name] = radius.reindex(frame[release.by.name]).to_numpy()
        if (off := release.place_error(0.05)) is not None:
            stated["radius_95"] = off
    stated[release.guarantee.symbol] = float(release.guarantee.budget)
    return frame.assign(**{name: number for name, number in stated.items() if name not in frame})


def _shape(value: Any) -> Any:
    import shapely

    return value if isinstance(value, shapely.Geometry) else shapely.box(*np.ravel(value))


def _found(release: Release) -> Any:
    """Neighbours or visits that were found, by their labels, and where they are if that was released."""
    import geopandas
    import pandas as pd

    if release.by is not None:
        frame = release.value.reset_index()
    else:
        labels = np.atleast_1d(np.array(release.value, dtype=object))
        frame = pd.DataFrame({release.query: labels})
        if release.answers[0].query.kind == "positions":
            frame.insert(0, "rank", np.arange(1, len(labels) + 1))
    if release.coords is None or release.plane is None:
        return frame
    places = release.plane.out(release.coords)
    return geopandas.GeoDataFrame(frame, geometry=geopandas.points_from_xy(*places.T), crs=release.crs)


def _cells(heat: HeatMap) -> Any:
    """The cells of a heat map, and how many points are in each."""
    import geopandas
    import shapely

    y, x = heat.grid.edges
    low, high = np.meshgrid(x[:-1], y[:-1]), np.meshgrid(x[1:], y[1:])
    boxes = shapely.box(*(corner.ravel() for corner in (*low, *high)))
    cells = geopandas.GeoDataFrame({"points": heat.value.ravel()}, geometry=boxes, crs=heat.crs)
    assert heat.plane is not None
    own = heat.plane.crs
    if not own.is_geographic:
        return cells.to_crs(own)
    return cells.set_geometry(unwrap_longitudes(cells.geometry.to_crs(own).array), crs=own)


def _rewrite(release: LoadedRelease, path: Path) -> None:
    """The file that a release was read from, with the places that it has now."""
    import pyarrow as pa

    file, coords, plane = release.file, release.coords, release.plane
    assert coords is not None
    assert plane is not None
    columns = [name for name in file.columns if release.processing.bounded or name != "radius_95"]
    places = plane.out(coords)

    def batches() -> Iterator[Batch]:
        first = 0
        for batch in file.batches(columns):
            last = first + len(batch.rows)
            yield batch.moved(places[first:last])
            first = last

    file.write(path, batches(), pa.schema([(name, file.columns[name]) for name in columns]))


def _cut(shape: Any) -> Any:
    """A shape that goes on beyond 180 degrees, in parts, as GeoJSON asks for (RFC 7946, 3.1.9)."""
    import shapely

    west, _, east, _ = shape.bounds
    if west >= -180 and east <= 180:
        return shape
    parts = [
        shapely.transform(shape & shapely.box(low, -90, low + 360, 90), lambda at, low=low: at - [low + 180, 0])
        for low in (-540.0, -180.0, 180.0)
    ]
    return shapely.union_all([part for part in parts if not part.is_empty])


def _write(frame: Any, path: Path) -> dict[str, Any]:
    """Write a frame; with what it can be read again."""
    import shapely

    kind, shaped = ending(path), hasattr(frame, "geometry")
    if kind in (".csv", ".tsv"):
        reading = {"delimiter": "\t" if kind == ".tsv" else ",", "decimal": "."}
        if shaped:
            places = frame.geometry.array
            rest = frame.drop(columns=frame.geometry.name)
            if (shapely.get_type_id(places) == shapely.GeometryType.POINT).all():
                x, y = ("longitude", "latitude") if frame.crs.is_geographic else ("x", "y")
                rest = rest.assign(**{x: shapely.get_x(places), y: shapely.get_y(places)})
                reading |= {"crs": frame.crs.to_string(), "x": x, "y": y}
            else:
                rest = rest.assign(wkt=shapely.to_wkt(places, rounding_precision=-1))
            frame = rest
        frame.to_csv(path, index=False, sep=reading["delimiter"])
        return reading
    if not shaped and kind not in _TABLES:
        raise InvalidParameter("path", path.name, "a .csv, .tsv or .parquet file", "The answer has no places.")
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
