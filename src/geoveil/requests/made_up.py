"""Made-up data for previews: it has the same public shape as a file, and is about nobody.

The number of persons, the number of points of each, their times and the area are public. Places are made up, and
their noise comes from a seeded generator, which no release ever uses. A preview on true places would be a release.
"""

from __future__ import annotations

from dataclasses import dataclass

import geopandas
import numpy as np
import pandas as pd
import shapely

from geoveil.city import generator, made_up_tracks, made_up_visits
from geoveil.errors import GeoveilError
from geoveil.geo.geometries import Index
from geoveil.geo.planes import Plane, plane_of
from geoveil.geo.seconds import seconds_of, without_time
from geoveil.report.layers import Floats
from geoveil.requests.file_request import FileSettings, as_tuple
from geoveil.requests.opened_data import OpenedData

__all__ = ["MadeUp", "make_up", "seconds_between"]

#: The largest number of points that are made up: for answers about each person, and for one answer about a crowd.
_PERSONAL, _CROWD = 4_000, 40_000
#: The radius in metres that the made-up city fills.
_CITY = 6_000.0
#: Seconds between two points of a person whose times are not known.
_EVERY = 30.0


@dataclass(frozen=True, eq=False)
class MadeUp:
    """Made-up rows, with the labels and times of some persons of a file."""

    #: Points in degrees; a row of the file with several points becomes a line with the same number of points.
    frame: geopandas.GeoDataFrame
    #: The number of persons in the made-up data, and in the file.
    persons: int
    all_persons: int

    @property
    def whole(self) -> bool:
        """Whether it has the same number of persons as the file."""
        return self.persons == self.all_persons


def make_up(data: OpenedData, settings: FileSettings, *, crowd: bool, trip: str | None = None) -> MadeUp:
    """Return made-up data with the public shape of a file.

    Parameters
    ----------
    data : OpenedData
        The file. Only the labels, the times and the numbers of points of its rows are used.
    settings : FileSettings
        The column of persons, that of times, and the area.
    crowd : bool
        Whether the question is about all persons together.
    trip : str, optional
        The column of trips.
    """
    whose = data.whose(settings.person)
    rows = _some(whose, data.points, _CROWD if crowd else _PERSONAL)
    points, persons = data.points[rows], whose[rows]
    times = [*as_tuple(settings.times), *data.times]
    public = [name for name in (settings.person, *times, trip) if name in data.frame]
    frame = data.frame[[*dict.fromkeys(public)]].iloc[rows]
    rng, plane = generator(), plane_of(data.file.crs, settings.area)
    firsts = np.cumsum(points) - points
    steps = np.full(points.sum(), _EVERY)
    steps[firsts] = seconds_between(frame, times, persons)
    many = crowd and len(steps) > _PERSONAL
    places = made_up_visits(len(steps), rng) if many else made_up_tracks(steps, np.repeat(persons, points), rng)
    if data.trips:
        places[firsts + 1] = made_up_visits(len(rows), rng)
    made_up = geopandas.GeoDataFrame(frame.reset_index(drop=True), geometry=_ground(places, points, plane))
    return MadeUp(made_up, len(np.unique(persons)), int(whose.max()) + 1)


def _some(whose: Index, points: Index, most: int) -> Index:
    """Return the rows of some persons with at most `most` points together, ordered by person.

    All rows of a chosen person are returned, and persons with few and with many points are among them. If a single
    person has more than `most` points, the first rows of that person are returned.
    """
    sizes = np.bincount(whose, weights=points)
    order = np.argsort(sizes, kind="stable")
    step = max(1, int(np.ceil(sizes.sum() / most)))
    chosen = order[len(order) // 2 % step :: step]
    chosen = chosen[np.cumsum(sizes[chosen]) <= most]
    if not len(chosen):
        chosen = order[len(order) // 2 : len(order) // 2 + 1]
    rows = np.argsort(whose, kind="stable")
    rows = rows[np.isin(whose[rows], chosen)]
    few = max(1, int(np.searchsorted(np.cumsum(points[rows]), most, side="right")))
    return np.asarray(rows[:few], dtype=np.int64)


def seconds_between(frame: pd.DataFrame, times: list[str], whose: Index) -> Floats:
    """Return the seconds between each row and the row before it; 0 for the first row of a person."""
    steps = np.full(len(frame), _EVERY)
    column = next((name for name in times if name in frame), None)
    if column is not None:
        seconds = np.full(len(frame), np.nan)
        known = ~without_time(frame[column])
        try:
            seconds[known] = seconds_of(frame[column][known], column)
        except GeoveilError:
            # The times cannot be read; a release says why.
            known[:] = False
        steps = np.abs(np.diff(seconds, prepend=0.0))
        steps[~np.isfinite(steps)] = _EVERY
    steps[np.diff(whose, prepend=-1) != 0] = 0.0
    return steps


def _ground(places: Floats, points: Index, plane: Plane) -> geopandas.GeoSeries:
    """Return places of the made-up city as rows in degrees: the city is in the middle of the area, shrunk to fit."""
    factor = min(1.0, plane.area.radius / _CITY)
    degrees = plane.degrees(plane.area.middle + factor * places)
    shapes, several = shapely.points(degrees[np.cumsum(points) - points]), points > 1
    rows = np.repeat(np.arange(several.sum()), points[several])
    shapes[several] = shapely.linestrings(degrees[np.repeat(several, points)], indices=rows)
    return geopandas.GeoSeries(shapes, crs=4326)
