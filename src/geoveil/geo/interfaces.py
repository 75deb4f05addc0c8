"""Locations of other libraries, as GeoDataFrames and geometries: `__geo_interface__`, MovingPandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geoveil.errors import InvalidData
from geoveil.geo.coordinate_systems import system_of

__all__ = ["from_interfaces"]


def from_interfaces(x: Any) -> Any:
    """Return trajectories of MovingPandas, and objects with `__geo_interface__`, as frames or geometries.

    Everything that geoveil reads by itself is returned unchanged: frames and geometries, too, have such an interface.
    """
    import shapely

    if hasattr(x, "to_point_gdf"):
        # MovingPandas keeps times as the index, where they would be labels of rows.
        return x.to_point_gdf().reset_index()
    own = isinstance(x, shapely.Geometry) or hasattr(x, "crs") or hasattr(x, "__arrow_c_stream__")
    stated = None if own else getattr(x, "__geo_interface__", None)
    return x if stated is None else _as_geometries(stated)


def _as_geometries(stated: Any) -> Any:
    """Return a FeatureCollection or a Feature as a GeoDataFrame, and a geometry as one of shapely."""
    import geopandas
    import shapely

    try:
        if stated["type"] not in ("Feature", "FeatureCollection"):
            return shapely.geometry.shape(stated)
        features = [stated] if stated["type"] == "Feature" else list(stated["features"])
        frame = geopandas.GeoDataFrame.from_features(features)
    except (KeyError, TypeError, ValueError, AttributeError, shapely.errors.ShapelyError):
        remedy = "Correct it, or give a GeoDataFrame."
        allowed = "a geometry, a Feature or a FeatureCollection, as GeoJSON has them"
        raise InvalidData("x.__geo_interface__", stated, allowed, remedy) from None
    system = stated.get("crs")
    name = system.get("properties", {}).get("name") if isinstance(system, Mapping) else system
    return frame if name is None else frame.set_crs(system_of("x.__geo_interface__['crs']", name))
