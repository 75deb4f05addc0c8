"""The layers of a map that show a release: its value, and the public location of the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil.errors import InvalidParameter
from geoveil.geo import Plane
from geoveil.geo.forms import Floats
from geoveil.release.labels import persons
from geoveil.report import Layer

if TYPE_CHECKING:
    import geopandas
    import shapely

    from geoveil.release.release import Release

__all__ = ["degrees", "layers_of", "truth_layer"]

#: The largest number of locations with labels; more labels could not be read.
_LABELLED = 30
#: Points without times are drawn as tracks if persons have at least this many points on average.
_SEVERAL = 3
#: The distance from the middle of an area, in metres, beyond which released points are not drawn.
_FARTHEST = 5e6


def layers_of(release: Release, plane: Plane, name: str | None = None) -> tuple[Layer, ...]:
    """Return the layers that show a release: its value, and the public location of its question."""
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


def truth_layer(truth: geopandas.GeoSeries | geopandas.GeoDataFrame, release: Release | None = None) -> Layer:
    """Return a layer of true locations, which the owner gave. A page or figure with it must not be shared.

    They are drawn as lines if the release has tracks and its persons are in a column of the data.
    """
    import shapely

    if not hasattr(truth, "geometry") or getattr(truth, "crs", None) is None:
        remedy = "Give the data that was released, such as truth=trips, or leave it out."
        raise InvalidParameter("truth", type(truth).__name__, "a GeoSeries or GeoDataFrame with its crs", remedy)
    rows = np.asarray(truth.to_crs(4326).geometry.array)
    places, whose = shapely.get_coordinates(rows, return_index=True)
    if len(rows) and (shapely.get_type_id(rows) == shapely.GeometryType.LINESTRING).all():
        return Layer("true locations", places, "lines", "truth", parts=whose)
    name = None if release is None or release.person is None else release.person.name
    if name in getattr(truth, "columns", ()) and release is not None and _is_track(release):
        return Layer("true locations", places, "lines", "truth", parts=truth[name].factorize()[0][whose])
    return Layer("true locations", places, "points", "truth")


def degrees(plane: Plane, metres: Floats) -> Floats:
    """Return metres of a plane as longitudes and latitudes; NaN where they cannot be projected back."""
    places = plane.degrees(metres)
    # Far outside its area, the inverse of a projection may return any location.
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
    try:
        whose = persons(release, None)
    except InvalidParameter:
        whose = None
    radius: float | Floats | None = None
    if radii is not None:
        # If labels were given apart from the data, the person of a row is not known; the largest radius holds for all.
        radius = float(radii.max()) if whose is None or release.person is None else radii[whose]
    names = () if release.person is None or whose is None else tuple(map(str, release.person))
    expected = None if release.processing.expected is None else release.expected_error()
    how: dict[str, Any] = {"radius": radius, "expected": expected}
    if len(release.pairs) > 1:
        # A line from the origin of each row to its destination.
        rows = np.repeat(np.arange(len(places) // len(release.pairs)), len(release.pairs))
        return (Layer(name, places, "lines", "released", rows, **how),)
    geometries = np.asarray(release.value.geometry if hasattr(release.value, "geom_type") else ())
    if len(geometries) and (shapely.get_type_id(geometries) == shapely.GeometryType.LINESTRING).all():
        rows = shapely.get_coordinates(geometries, return_index=True)[1]
        if release.person is not None and len(release.person) == len(geometries):  # a line for each person
            how |= {"persons": rows, "names": tuple(map(str, release.person))}
        return (Layer(name, places, "lines", "released", rows, **how),)
    if names:
        how |= {"persons": whose, "names": names}
    if whose is not None and _is_track(release):
        alone = release.person is None or len(release.person) == 1
        name = name.replace("released points", "released track" if alone else "released tracks")
        return (Layer(name, places, "lines", "released", whose, **how),)
    return (Layer(name, places, "points", "released", **how),)


def _is_track(release: Release) -> bool:
    """Return whether points are those of tracks: they have times, were smoothed, or persons have several each."""
    timed = release.times or any(column.reason == "time" for column in release.unchanged)
    smoothed = any(step.startswith("smoothed") for step in release.processing.steps)
    several = release.person is not None and release.n >= _SEVERAL * len(release.person)
    return bool(timed or smoothed or several) and release.n > (0 if release.person is None else len(release.person))


def _places(release: Release, plane: Plane, name: str) -> tuple[Layer, ...]:
    assert release.coords is not None
    places = degrees(plane, release.coords)
    labels = (release.query,) if release.person is None else tuple(map(str, release.person))
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
