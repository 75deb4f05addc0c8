"""What a release shows on a map: its value where it has a place, and the public places it was asked about."""

from __future__ import annotations

from typing import Any

import numpy as np

from geoveil.errors import InvalidData, InvalidParameter
from geoveil.geo import Plane
from geoveil.heatmaps import HeatMap
from geoveil.improve import persons, released
from geoveil.release import Release
from geoveil.report.content import Floats, Layer
from geoveil.words import metres

__all__ = ["layers_of"]

#: So many places get labels; more labels could not be read.
_LABELLED = 30
#: Cells of a heat map that are drawn; of a finer one they are joined.
_MOST_CELLS = 40_000
#: From the middle of an area, in metres: beyond this, noise has no place on a map.
_FARTHEST = 5e6


def layers_of(release: Release, *, name: str | None = None) -> tuple[Layer, ...]:
    """The layers that show a release: what is released, and the public place that it was asked about.

    Parameters
    ----------
    release : Release
        Of data in a coordinate system.
    name : str, optional
        For the legend; what was asked by default.

    Returns
    -------
    tuple of Layer
        Empty if what is released has no place, as a length has none.

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
        raise InvalidData("release", "metres without a coordinate system", "of data with a place on Earth", remedy)
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
    return (*layers, *_asked_about(query, plane))


def degrees(plane: Plane, metres: Floats) -> Floats:
    """Metres of a plane as longitudes and latitudes; NaN where there is no way back."""
    places = plane.degrees(metres)
    # Far from where it was made for a plane may lead back to anywhere.
    lost = ~np.isfinite(places).all(axis=1) | ~(np.hypot(*(metres - plane.area.middle).T) <= _FARTHEST)
    places[lost] = np.nan
    return places


def _radius(release: Release, *, each: bool = False) -> Any:
    """The 95% radius: one, or one for each person; None where no theorem gives any."""
    if not release.processing.bounded:
        return None
    found = release.error(0.05, each=each)
    return float(found) if release.by is None else found.to_numpy(dtype=float)


def _points(release: Release, plane: Plane, name: str) -> tuple[Layer, ...]:
    import shapely

    assert release.coords is not None
    places = degrees(plane, release.coords)
    radius = _radius(release, each=True)
    if radius is not None and release.by is not None:
        try:
            radius = radius[persons(release, None)]
        except InvalidParameter:
            # Whose point is whose was said beside the data: of all radii the largest holds for everyone.
            radius = float(radius.max())
    rows = np.asarray(release.value.geometry.array)
    if (shapely.get_type_id(rows) == 1).all():
        return (Layer(name, places, "lines", "released", shapely.get_coordinates(rows, return_index=True)[1], radius),)
    return (Layer(name, places, "points", "released", radius=radius),)


def _places(release: Release, plane: Plane, name: str) -> tuple[Layer, ...]:
    assert release.coords is not None
    places = degrees(plane, release.coords)
    labels = (release.query,) if release.by is None else tuple(map(str, release.by))
    kind, texts = ("marks", labels) if len(places) <= _LABELLED else ("points", ())
    return (Layer(name, places, kind, "released", radius=_radius(release), texts=texts),)  # type: ignore[arg-type]


def _hulls(release: Release, plane: Plane, name: str) -> tuple[Layer, ...]:
    import shapely

    bodies = [shapely.MultiPoint(answer.value).convex_hull for answer in release.answers]
    return (_outlines(release, plane, name, bodies),)


def _boxes(release: Release, plane: Plane, name: str) -> tuple[Layer, ...]:
    import shapely

    assert release.coords is not None
    return (_outlines(release, plane, name, shapely.box(*release.coords.reshape(-1, 4).T)),)


def _outlines(release: Release, plane: Plane, name: str, bodies: Any) -> Layer:
    """Areas of one person or of many, with vertices between their corners, since other maps bend their edges."""
    import shapely

    bodies = np.asarray(bodies)
    west, south, east, north = shapely.bounds(bodies).T
    fine = shapely.segmentize(bodies, np.maximum(np.maximum(east - west, north - south) / 16, 1.0))
    corners, whose = shapely.get_coordinates(fine, return_index=True)
    radius = _radius(release)
    return Layer(
        name,
        degrees(plane, corners),
        "area",
        "released",
        parts=whose,
        radius=radius if radius is None or release.by is None else radius[whose],
    )


def _neighbours(release: Release, plane: Plane, name: str) -> tuple[Layer, ...]:
    """The places of neighbours, if these were released, too."""
    query: Any = release.answers[0].query
    if release.coords is None:
        return ()
    places = degrees(plane, release.coords)
    off = release.place_error(0.05)
    ranks = [str(rank) for _ in range(len(places) // query.k) for rank in range(1, query.k + 1)]
    kind, texts = ("marks", tuple(ranks)) if len(places) <= _LABELLED else ("points", ())
    return (Layer(name, places, kind, "released", radius=off, texts=texts),)  # type: ignore[arg-type]


def _asked_about(query: Any, plane: Plane) -> tuple[Layer, ...]:
    """The public place of a question, if it has one."""
    p = query.parameters().get("p")
    if not isinstance(p, list):
        return ()
    place = degrees(plane, np.array([p]))
    return (Layer("place asked about", place, "marks", "public", texts=("asked about",)),)


def _heat_map(release: HeatMap, plane: Plane, name: str) -> Layer:
    """Cells with points in them, joined by twos or more where there are too many to be seen."""
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
