"""The track of a stream: what was released, smoothed in both directions of time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from geoveil.geo.areas import Area
from geoveil.geo.tangent import Tangent
from geoveil.live.store import ReleasedPing
from geoveil.live.zones import ZoneGroup
from geoveil.movement.habits import Habits
from geoveil.privacy.durations import MICROSECONDS

if TYPE_CHECKING:
    import geopandas

__all__ = ["track_of"]


def track_of(
    answers: Sequence[ReleasedPing],
    between: tuple[int, int],
    groups: Mapping[str, ZoneGroup],
    plane: tuple[Area, Tangent],
    habits: Habits | None,
) -> geopandas.GeoDataFrame:
    """Return the track of a time that has passed.

    Parameters
    ----------
    answers : sequence of ReleasedPing
        What was released, in order of time, also some time before and after.
    between : (int, int)
        Its first and its last time in microseconds.
    groups : mapping
        The groups of zones, by the ids under which answers in them are stored.
    plane : (Area, Tangent)
        Where places are.
    habits : Habits, optional
        How the person moves; without them places are true, and stay as they are.
    """
    import geopandas
    import pandas as pd

    from geoveil.movement.smoother import smooth

    inside = [groups.get(each.zone) for each in answers]
    # Of a stay in a zone, its first and its last ping tell all: it is somewhere in there.
    ends = [None, *inside, None]
    telling = np.array(
        [
            each is None or not before is each is after
            for before, each, after in zip(ends, inside, ends[2:], strict=False)
        ],
        dtype=bool,
    )
    numbers = np.array([each[:4] for each in answers], dtype=float).reshape(-1, 4)
    times = np.array([each.time for each in answers], dtype=np.int64)
    mean, variance = numbers[:, 1:3].copy(), np.zeros(len(answers))
    if habits is not None:
        smoothed = smooth(mean[telling], times[telling] / MICROSECONDS, numbers[telling, 3], habits)
        mean[telling], variance[telling] = smoothed
    kept = (times >= between[0]) & (times <= between[1])
    area, tangent = plane
    degrees = tangent.inverse(area.nearest(mean[kept]))
    radii = area.ground(1.0) * math.sqrt(-2 * math.log(0.05)) * np.sqrt(variance[kept])
    for row, number in enumerate(np.flatnonzero(kept).tolist()):
        if group := inside[number]:
            degrees[row], radii[row] = (group.lon, group.lat), group.radius
    return geopandas.GeoDataFrame(
        {"time": pd.to_datetime(times[kept], unit="us", utc=True), "radius_95": radii},
        geometry=geopandas.points_from_xy(*degrees.T),
        crs=4326,
    )
