"""Locations in degrees for the layers of a map, and the layer of true locations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geoveil.errors import InvalidParameter
from geoveil.geo import Plane
from geoveil.geo.forms import Floats
from geoveil.report import Layer

if TYPE_CHECKING:
    import geopandas

    from geoveil.release.answered import Answered

__all__ = ["degrees", "truth_layer"]

#: The distance from the middle of an area, in metres, beyond which released points are not drawn.
_FARTHEST = 5e6


def truth_layer(truth: geopandas.GeoSeries | geopandas.GeoDataFrame, release: Answered | None = None) -> Layer:
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
    if name in getattr(truth, "columns", ()) and release is not None and release.is_track:
        return Layer("true locations", places, "lines", "truth", parts=truth[name].factorize()[0][whose])
    return Layer("true locations", places, "points", "truth")


def degrees(plane: Plane, metres: Floats) -> Floats:
    """Return metres of a plane as longitudes and latitudes; NaN where they cannot be projected back."""
    places = plane.degrees(metres)
    # Far outside its area, the inverse of a projection may return any location.
    lost = ~np.isfinite(places).all(axis=1) | ~(np.hypot(*(metres - plane.area.middle).T) <= _FARTHEST)
    places[lost] = np.nan
    return places
