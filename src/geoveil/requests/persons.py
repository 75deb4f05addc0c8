"""Guess whose the points of a file are, for its owner, who is asked or told: a guess is never released by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from geoveil.geo.columns import ROW, words
from geoveil.geo.disclosure import REPEATED, own_suspicions, sampled
from geoveil.geo.formats import ending
from geoveil.geo.formats.histories import history_in
from geoveil.geo.recognition import names_persons

if TYPE_CHECKING:
    from pathlib import Path

    import geopandas
    import pandas as pd

    from geoveil.geo.formats.location_file import LocationFile
    from geoveil.geo.planes import Plane

__all__ = ["guess_person", "has_tracks", "recognised_trips", "recorded_by_one", "unclear_persons"]

#: Words in the names of columns that hold names, or parts of the movements of one person.
_NEVER = frozenset(
    (
        *("name", "names", "nickname", "title", "track", "tracks", "trackid", "traj", "trajectory", "trajectories"),
        *("trip", "trips", "tripid", "tid", "leg", "triplegs", "route", "segment", "stop", "stops", "shape", "shapes"),
        *("placemark", "station", "venue", "place", "train"),
    )
)
#: Endings of files that record the movements of one person.
_RECORDINGS = frozenset((".gpx", ".kml", ".fit", ".tcx", ".igc", ".nmea", ".log", ".plt"))
_TRIPS = frozenset(("trip", "tripid", "traj", "trajectory", "trajectoryid"))
#: The column that numbers the stops of a timetable.
_STOP = "stop_id"
#: Words in the names of columns that may tell persons apart.
_IDS = frozenset(("id", "ids", "identifier"))
#: Rows of a path: the smallest number that is judged, and the length of a typical step over the distance of rows that
#: are far apart in the file.
_FEW_ROWS, _STEP = 12, 0.2


def guess_person(file: LocationFile, frame: geopandas.GeoDataFrame, plane: Plane | None = None) -> str | None:
    """Return the column that names persons, "row" if each row seems to be another person, or None for one person.

    Columns of names, tracks, stops and shapes are never guessed, nor those with one value, with hardly any value
    twice, or that seem to tell places. Rows are not guessed to be different persons, who would get the noise of a
    single point each, if a column of persons has a value twice, or if they follow each other like those of a track.

    Parameters
    ----------
    file : LocationFile
        The file.
    frame : GeoDataFrame
        The rows that have a location.
    plane : Plane, optional
        The plane of the area.
    """
    if _of_one_account(file):
        return None
    for name in file.recognised.persons:
        if name in frame and name not in file.structure and _may_name(frame, name, plane):
            return str(name)
    likely = [frame[name] for name in file.recognised.persons if name in frame]
    if len(frame) < 2 or any(map(_repeats, likely)):
        return None
    if file.points_in_a_row == 2:
        return ROW
    single = bool((shapely.get_type_id(frame.geometry.array) == 0).all())
    if not single or file.time_columns or file.structure:
        return None
    return ROW if _is_timetable(frame) or not _is_path(frame) else None


def _is_timetable(frame: geopandas.GeoDataFrame) -> bool:
    """Return whether rows are the stops of a timetable (GTFS), which are often in the order of lines."""
    return _STOP in frame and bool(frame[_STOP].is_unique)


def unclear_persons(file: LocationFile, frame: geopandas.GeoDataFrame) -> list[str]:
    """Return the columns that are named like persons, or as an id, and whose values come several times.

    Where none of them is guessed to name persons, only the owner knows whether it does.
    """
    if _of_one_account(file) or recorded_by_one(file, frame):
        return []
    likely = [name for name in file.recognised.persons if name in frame and name not in file.structure]
    several = [str(name) for name in likely if 1 < frame[name].nunique() <= REPEATED * len(frame)]
    return [name for name in several if _repeats(frame[name]) or not _IDS.isdisjoint(words(name))]


def _repeats(labels: pd.Series[Any]) -> bool:
    """Return whether labels of persons repeat: then rows are not persons of their own."""
    blank = labels.isna() | (labels.astype(str).str.strip() == "")
    return names_persons(str(labels.name)) and bool(labels[~blank].duplicated().any())


def recorded_by_one(file: LocationFile, frame: geopandas.GeoDataFrame) -> bool:
    """Return whether a file is a recording, or a location history, without a column of several persons."""
    if not file.path.is_file():
        return False
    likely = [] if _of_one_account(file) else [name for name in file.recognised.persons if name in frame]
    several = any(names_persons(name) and frame[name].nunique() > 1 for name in likely)
    return not several and (ending(file.path) in _RECORDINGS or history_in(file.path) is not None)


def has_tracks(path: Path) -> bool:
    """Return whether a recording has tracks that can be shared: waypoints alone are none."""
    from geoveil.errors import GeoveilError
    from geoveil.requests.shared_tracks import TrackFiles

    try:
        return len(TrackFiles.read([path])) > 0
    except GeoveilError:
        return False


def _of_one_account(file: LocationFile) -> bool:
    """Return whether a file is the history of one account, whose devices are one person's."""
    return file.path.is_file() and history_in(file.path) == "Records.json"


def _is_path(frame: geopandas.GeoDataFrame) -> bool:
    """Return whether most steps from row to row are much shorter than the distances between rows far apart."""
    places = shapely.get_coordinates(frame.geometry.array)
    places = places[np.isfinite(places).all(axis=1)]
    if len(places) < _FEW_ROWS:
        return False
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    apart = np.linalg.norm(places - np.roll(places, len(places) // 2, axis=0), axis=1)
    return bool(np.median(steps) < _STEP * np.median(apart))


def _may_name(frame: geopandas.GeoDataFrame, name: str, plane: Plane | None) -> bool:
    said = words(name)
    if not names_persons(name) or not _NEVER.isdisjoint({*said, "".join(said)}):
        return False
    labels = frame[name]
    if (labels.isna() | (labels.astype(str).str.strip() == "")).any():
        return False
    if not 1 < labels.nunique() <= REPEATED * len(labels):
        return False
    return not own_suspicions(name, labels.iloc[sampled(len(frame))], plane)


def recognised_trips(file: LocationFile, frame: geopandas.GeoDataFrame) -> str | None:
    """Return the column that numbers trips, if a column is named like that and its values repeat."""
    for name in file.columns:
        said = words(name)
        named = not _TRIPS.isdisjoint({*said, "".join(said)}) and "name" not in said
        if named and name in frame and 1 < frame[name].nunique() < len(frame) / 2 and not frame[name].isna().any():
            return str(name)
    return None
