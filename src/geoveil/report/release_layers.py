"""The layers of a release: its value, where it has a location, and the public location of the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil.errors import InvalidData, InvalidParameter
from geoveil.geo import Plane
from geoveil.heatmaps import HeatMap
from geoveil.improve import persons, released
from geoveil.release import Release
from geoveil.report.layers import Floats, Layer
from geoveil.words import metres

if TYPE_CHECKING:
    import shapely

__all__ = ["layers_of"]

#: The largest number of locations with labels; more labels could not be read.
_LABELLED = 30
#: The largest number of cells of a heat map that are drawn; those of a finer one are joined.
_MOST_CELLS = 40_000
#: The distance from the middle of an area, in metres, beyond which released points are not drawn.
_FARTHEST = 5e6


def layers_of(release: Release, *, name: str | None = None) -> tuple[Layer, ...]:
    """Return the layers that show a release: its value, and the public location of its question.

    Parameters
    ----------
    release : Release
        A release of data with a coordinate system.
    name : str, optional
        The name in the legend; by default "released" and the question.

    Returns
    -------
    tuple of Layer
        The layers; empty if the value has no location, such as a length.

    Examples
    --------
    >>> import geopandas
    >>> import geoveil as gv
    >>> from geoveil.report import layers_of
    >>> people = geopandas.GeoSeries.from_xy([-122.41, -122.45], [37.78, 37.76], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> [layer] = layers_of(gv.points(people, by=["ann", "bob"], rho=1e-4, area=bay))
    >>> layer.name, layer.kind, layer.role, layer.places.shape, round(layer.radius[0])
    ('released points', 'points', 'released', (2, 2), 173)
    """
    released(release)
    plane = release.plane
    if plane is None:
        remedy = "Give a GeoSeries or GeoDataFrame with its crs, or read a file with gv.read."
        raise InvalidData("release", "metres without a coordinate system", "of data with a location on Earth", remedy)
    if isinstance(release, HeatMap):
        return (_heat_map(release, plane, name or "released heat map"),)
    query = release.answers[0].query
    found = {
        "points": _points,
        "place": _places,
        "box": _boxes,
        "body": _hulls,
        "positions": _neighbours,
    }.get(query.kind)
    layers = () if found is None else found(release, plane, name or f"released {query.name}")
    return (*layers, *_asked_about(release, plane))


def degrees(plane: Plane, metres: Floats) -> Floats:
    """Return metres of a plane as longitudes and latitudes; NaN where they cannot be projected back."""
    places = plane.degrees(metres)
    # Far outside its area, a projection may lead back to anywhere.
    lost = ~np.isfinite(places).all(axis=1) | ~(np.hypot(*(metres - plane.area.middle).T) <= _FARTHEST)
    places[lost] = np.nan
    return places


def _radii(release: Release, *, each: bool = False) -> Floats | None:
    """Return the 95% error radius of each person; None where no theorem bounds the error."""
    if not release.processing.bounded:
        return None
    return np.atleast_1d(np.asarray(release.error(0.05, each=each), dtype=float))


def _points(release: Release, plane: Plane, name: str) -> tuple[Layer, ...]:
    import shapely

    assert release.coords is not None
    places = degrees(plane, release.coords)
    radii = _radii(release, each=True)
    radius: float | Floats | None = None
    if radii is not None:
        try:
            radius = float(radii[0]) if release.by is None else radii[persons(release, None)]
        except InvalidParameter:
            # The persons were given apart from the data, and are not known by row: the largest radius holds for all.
            radius = float(radii.max())
    rows = np.asarray(release.value.geometry.array)
    if (shapely.get_type_id(rows) == 1).all():
        return (Layer(name, places, "lines", "released", shapely.get_coordinates(rows, return_index=True)[1], radius),)
    return (Layer(name, places, "points", "released", radius=radius),)


def _places(release: Release, plane: Plane, name: str) -> tuple[Layer, ...]:
    assert release.coords is not None
    places = degrees(plane, release.coords)
    labels = (release.query,) if release.by is None else tuple(map(str, release.by))
    return (_labelled(name, places, labels, _radii(release)),)


def _hulls(release: Release, plane: Plane, name: str) -> tuple[Layer, ...]:
    import shapely

    bodies = [shapely.MultiPoint(answer.value).convex_hull for answer in release.answers]
    return (_outlines(release, plane, name, bodies),)


def _boxes(release: Release, plane: Plane, name: str) -> tuple[Layer, ...]:
    import shapely

    assert release.coords is not None
    return (_outlines(release, plane, name, shapely.box(*release.coords.reshape(-1, 4).T)),)


def _outlines(release: Release, plane: Plane, name: str, bodies: Sequence[shapely.Geometry]) -> Layer:
    """Return a layer of areas, with vertices between their corners, since other projections bend their edges."""
    import shapely

    west, south, east, north = shapely.bounds(bodies).T
    fine = shapely.segmentize(bodies, np.maximum(np.maximum(east - west, north - south) / 16, 1.0))
    corners, whose = shapely.get_coordinates(fine, return_index=True)
    radii = _radii(release)
    radius = None if radii is None else radii[whose]
    return Layer(name, degrees(plane, corners), "area", "released", parts=whose, radius=radius)


def _neighbours(release: Release, plane: Plane, name: str) -> tuple[Layer, ...]:
    """Return the locations of neighbours, if these were released too."""
    query: Any = release.answers[0].query
    if release.coords is None:
        return ()
    places = degrees(plane, release.coords)
    off = release.place_error(0.05)
    ranks = [str(rank) for _ in range(len(places) // query.k) for rank in range(1, query.k + 1)]
    return (_labelled(name, places, ranks, off),)


def _labelled(name: str, places: Floats, labels: Sequence[str], radius: float | Floats | None) -> Layer:
    """Return released locations as marks with labels, or as points if there are too many."""
    if len(places) > _LABELLED:
        return Layer(name, places, "points", "released", radius=radius)
    return Layer(name, places, "marks", "released", radius=radius, texts=tuple(labels))


def _asked_about(release: Release, plane: Plane) -> tuple[Layer, ...]:
    """Return the public location of a question, if it has one."""
    p = release.answers[0].query.parameters().get("p")
    if not isinstance(p, list):
        return ()
    location = degrees(plane, np.array([p]))
    return (Layer("location asked about", location, "marks", "public", texts=("asked about",)),)


def _heat_map(release: HeatMap, plane: Plane, name: str) -> Layer:
    """Return the cells of a heat map that have points, joined in blocks where there are too many to be seen."""
    grid = release.grid.scaled(plane.drawn_in[1])
    joined = max(1, int(np.ceil(np.sqrt(release.value.size / _MOST_CELLS))))
    rows, columns = grid.shape
    pad = [(0, -size % joined) for size in (rows, columns)]
    blocks = np.pad(release.value, pad).reshape((rows + pad[0][1]) // joined, joined, -1, joined)
    numbers = blocks.sum(axis=(1, 3))
    row, column = np.nonzero(numbers > 0)
    side = grid.cell * joined
    west, south = grid.bounds[:2]
    corners = [(west + (column + i) * side, south + (row + j) * side) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
    cells = np.stack([np.column_stack(corner) for corner in corners], axis=1)
    return Layer(
        f"{name}, points in cells of {metres(side)}",
        degrees(plane, cells.reshape(-1, 2)),
        "grid",
        "released",
        parts=np.repeat(np.arange(len(cells)), 4),
        values=numbers[row, column],
    )
