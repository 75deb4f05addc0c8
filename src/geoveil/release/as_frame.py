"""A release as a frame: a row for each point, line or answer, with its error radius and its budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidData
from geoveil.queries import Points
from geoveil.release.labels import persons

if TYPE_CHECKING:
    import geopandas

    from geoveil.release.release import Release

__all__ = ["frame_with_errors", "rows_of"]


def rows_of(release: Release) -> Any:
    """Return the released points or answers as rows of a frame, in the coordinate system of the release."""
    import geopandas
    import pandas as pd

    kind, value = release.kind, release.value
    if kind == "points":
        return _points(release)
    if kind in ("positions", "position"):
        return _found(release)
    if release.person is not None:
        frame = value.reset_index()
        if kind == "box":
            frame = geopandas.GeoDataFrame(frame[[release.person.name]], geometry=_boxes(release), crs=release.crs)
        elif kind == "place" and not hasattr(frame, "geometry") and {"x", "y"} == {*frame} - {release.person.name}:
            places = geopandas.points_from_xy(frame["x"], frame["y"])
            frame = geopandas.GeoDataFrame(frame[[release.person.name]], geometry=places, crs=release.crs)
        return frame
    if kind == "place":
        return geopandas.GeoDataFrame(geometry=_points_of(release, np.reshape(_coordinates(value), (1, -1))))
    if kind == "box":
        return geopandas.GeoDataFrame(geometry=_boxes(release), crs=release.crs)
    if kind == "body":
        return geopandas.GeoDataFrame(geometry=[_planar(release, value)], crs=release.crs)
    numbers = np.ravel(value)
    names = [release.query] if len(numbers) == 1 else [f"value{i}" for i in range(len(numbers))]
    return pd.DataFrame([numbers], columns=names)


def frame_with_errors(release: Release, frame: geopandas.GeoDataFrame) -> Any:
    """Return rows of a release with two more columns: their 95% error radius and the budget."""
    kind, stated = release.kind, dict[str, Any]()
    if release.processing.bounded:
        radius = release.error(0.05, each=kind == "points")
        # For neighbours this is how much farther they are than the true ones; their places have another error.
        name = "excess_95" if kind == "positions" else "radius_95"
        if release.point_scales is not None:
            stated[name] = _radii_of_rows(release, len(frame))
        elif release.person is None:
            stated[name] = radius
        elif release.person.name in frame:
            stated[name] = radius.reindex(frame[release.person.name]).to_numpy()
        else:
            # The person of each row is not known: the largest radius holds for all.
            stated[name] = float(radius.max())
        if (off := release.place_error(0.05)) is not None:
            stated["radius_95"] = off
    stated[release.guarantee.symbol] = float(release.guarantee.budget)
    return frame.assign(**{name: number for name, number in stated.items() if name not in frame})


def _radii_of_rows(release: Release, count: int) -> NDArray[np.float64]:
    """Return the 95% error radius of each row where the noise of points differs: that of the point with most noise.

    The error of a point is proportional to the scale of its noise, up to the rounding of points.
    """
    query, scales = release.answers[0].query, release.point_scales
    assert isinstance(query, Points)
    assert scales is not None
    found, which = np.unique(scales, return_inverse=True)
    errors = found / query.mechanism.scale * query.error(0.05, each=True) + query.rounding_error
    if release.plane is not None:
        errors = np.array([release.plane.area.ground(error) for error in errors])
    radii = errors[which]
    if count == len(radii):
        return radii
    most = np.zeros(count)
    np.maximum.at(most, release.form.rows, radii)
    return most


def _points(release: Release) -> Any:
    import geopandas
    import shapely

    value = release.value
    own = ("radius_95", release.guarantee.symbol)
    if isinstance(value, geopandas.GeoDataFrame):
        return value.drop(columns=[name for name in value if name in own])
    if isinstance(value, geopandas.GeoSeries):
        return _with_persons(release, geopandas.GeoDataFrame(geometry=value))
    coords = release.coords
    assert coords is not None
    places = _points_of(release, coords if release.plane is None else release.plane.out(coords))
    if release.pairs:
        form, each = release.form, len(release.pairs)
        columns = {name: form.column(name)[::each] for name in form.names if name not in own}
        if each > 1:
            # A line from the origin of each row to its destination, as in files.
            lines = shapely.linestrings(shapely.get_coordinates(places).reshape(-1, each, 2))
            places = geopandas.GeoSeries(lines, crs=places.crs)
        return geopandas.GeoDataFrame(columns, geometry=places)
    return _with_persons(release, geopandas.GeoDataFrame(geometry=places))


def _with_persons(release: Release, frame: geopandas.GeoDataFrame) -> Any:
    """Return points with the person of each, if every person has one point; otherwise it may not be known."""
    if release.person is None or len(release.person) != release.n:
        return frame
    frame.insert(0, release.person.name, release.person[persons(release, None)])
    return frame


def _points_of(release: Release, coords: Any) -> Any:
    """Return coordinates in the system of the release as a GeoSeries of points."""
    import geopandas

    return geopandas.GeoSeries.from_xy(*_planar(release, coords).T, crs=release.crs)


def _planar(release: Release, value: Any) -> Any:
    """Refuse points that are not two-dimensional, which a frame of geometries cannot hold."""
    dimension = release.answers[0].query.dimension
    if dimension != 2:
        raise InvalidData("release", f"{dimension} dimensions", "in the plane", "Use release.value, an array.")
    return value


def _coordinates(value: Any) -> Any:
    import shapely

    return shapely.get_coordinates(value)[0] if isinstance(value, shapely.Geometry) else np.asarray(value, float)


def _boxes(release: Release) -> Any:
    import shapely

    ends = np.asarray(_planar(release, release.value), dtype=float)
    return shapely.box(*ends.reshape(-1, 4).T)


def _found(release: Release) -> Any:
    """Return neighbours or visits by their labels, with their locations if these were released."""
    import geopandas
    import pandas as pd

    if release.person is not None:
        frame = release.value.reset_index()
    else:
        labels = np.atleast_1d(np.array(release.value, dtype=object))
        frame = pd.DataFrame({release.query: labels})
        if release.kind == "positions":
            frame.insert(0, "rank", np.arange(1, len(labels) + 1))
    if release.coords is None:
        return frame
    places = release.coords if release.plane is None else release.plane.out(release.coords)
    return geopandas.GeoDataFrame(frame, geometry=_points_of(release, places))
