"""Guess whose the points of a file are, for its owner, who is asked or told: a guess is never released by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import shapely

from geoveil.geo.columns import ROW, words
from geoveil.geo.disclosure import followed_share, own_suspicions, sampled
from geoveil.geo.recognition import names_persons

if TYPE_CHECKING:
    import geopandas

    from geoveil.geo.formats.location_file import LocationFile
    from geoveil.geo.planes import Plane

__all__ = ["guess_person", "recognised_trips"]

#: Words in the names of columns that hold names, or parts of the movements of one person.
_NEVER = frozenset(
    (
        *("name", "names", "nickname", "title", "track", "tracks", "trackid", "traj", "trajectory", "trajectories"),
        *("trip", "trips", "tripid", "tid", "leg", "triplegs", "route", "segment", "stop", "stops", "shape", "shapes"),
        *("placemark", "station", "venue", "place", "train"),
    )
)
_TRIPS = frozenset(("trip", "tripid", "traj", "trajectory", "trajectoryid"))
#: A column that names persons has at most this share of distinct values,
_REPEATED = 0.9
#: and explains at most this share of where its points are, unless its name says that it names persons.
_FOLLOWS = 0.5


def guess_person(file: LocationFile, frame: geopandas.GeoDataFrame, plane: Plane | None = None) -> str | None:
    """Return the column that names persons, "row" if each row seems to be another person, or None for one person.

    Columns of names, tracks, stops and shapes are never guessed, nor those with one value, with hardly any value
    twice, or that seem to tell places.

    Parameters
    ----------
    file : LocationFile
        The file.
    frame : GeoDataFrame
        The rows that have a location.
    plane : Plane, optional
        The plane of the area.
    """
    for name in file.recognised.persons:
        if name in frame and name not in file.structure and _may_name(frame, name, plane):
            return str(name)
    if len(frame) < 2:
        return None
    if file.points_in_a_row == 2:
        return ROW
    single = bool((shapely.get_type_id(frame.geometry.array) == 0).all())
    return ROW if single and not file.time_columns and not file.structure else None


def _may_name(frame: geopandas.GeoDataFrame, name: str, plane: Plane | None) -> bool:
    said = words(name)
    if not _NEVER.isdisjoint({*said, "".join(said)}):
        return False
    labels = frame[name]
    if (labels.isna() | (labels.astype(str).str.strip() == "")).any():
        return False
    if not 1 < labels.nunique() <= _REPEATED * len(labels):
        return False
    rows = sampled(len(frame))
    values = labels.iloc[rows]
    places = shapely.get_coordinates(shapely.centroid(frame.geometry.array[rows]))
    if own_suspicions(name, values, plane):
        return False
    # Where people live tells them apart, so their points follow a column that names them.
    return names_persons(name) or followed_share(values, places) < _FOLLOWS


def recognised_trips(file: LocationFile, frame: geopandas.GeoDataFrame) -> str | None:
    """Return the column that numbers trips, if a column is named like that and its values repeat."""
    for name in file.columns:
        said = words(name)
        named = not _TRIPS.isdisjoint({*said, "".join(said)}) and "name" not in said
        if named and name in frame and 1 < frame[name].nunique() < len(frame) / 2 and not frame[name].isna().any():
            return str(name)
    return None
