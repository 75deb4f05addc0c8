"""Guess which column of numbers counts time from a start, and in which unit, for the owner, who is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from geoveil.geo.gazetteer import ground_distances
from geoveil.geo.geometries import Floats
from geoveil.geo.proposals import to_degrees

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

    from geoveil.geo.formats.location_file import LocationFile

__all__ = ["TimeGuess", "guess_times"]

#: The units that are tried, and how many of each are a second.
_UNITS = {"s": ("seconds", 1), "ms": ("milliseconds", 1000)}
#: Nine of ten steps of somebody who moves are at most as fast as this, in metres a second, and not as slow as that.
_SLOW, _FAST = 0.3, 400.0
#: The longest recording, in seconds; and the smallest number of rows that is judged.
_LONGEST, _FEW = 30 * 86_400, 12


@dataclass(frozen=True)
class TimeGuess:
    """A column that seems to count time from a start."""

    #: The column, and the unit that its numbers seem to count: "s" or "ms".
    column: str
    unit: str
    #: The length of the recording.
    seconds: float

    @property
    def stated(self) -> str:
        """The column with its unit, as a user states it."""
        return f"{self.column} [{self.unit}]"

    @property
    def other(self) -> str:
        """The column with the other unit."""
        return f"{self.column} [{'ms' if self.unit == 's' else 's'}]"

    @property
    def unit_name(self) -> str:
        """The unit in words."""
        return _UNITS[self.unit][0]

    @property
    def span(self) -> str:
        """The length of the recording, in words."""
        return str(timedelta(seconds=round(self.seconds)))


def guess_times(file: LocationFile, frame: geopandas.GeoDataFrame) -> TimeGuess | None:
    """Return the column that counts time from a start, if a single one is named like times, grows, and fits the speed.

    It looks at the data: nobody walks a kilometre in a second.
    """
    numbers = {name: _numbers(frame[name]) for name in file.recognised.unclear_times if name in frame}
    named = [name for name, values in numbers.items() if _grows(values)]
    places = to_degrees(shapely.get_coordinates(frame.geometry.array), file.crs)
    if len(named) != 1 or len(frame) < _FEW or len(places) != len(frame):
        return None
    (name,) = named
    times = numbers[name]
    gone = ground_distances(*places[:-1, ::-1].T, *places[1:, ::-1].T)
    moved, took = gone > 0, np.diff(times)
    moved &= took > 0
    if not moved.any():
        return None
    speed = float(np.quantile(gone[moved] / took[moved], 0.9))
    for unit, (_, per_second) in _UNITS.items():
        length = float(times[-1] - times[0]) / per_second
        if _SLOW <= speed * per_second <= _FAST and 0 < length <= _LONGEST:
            return TimeGuess(str(name), unit, length)
    return None


def _numbers(column: pd.Series[Any]) -> Floats:
    """Return the numbers of a column, NaN for what is none."""
    import pandas as pd

    return np.asarray(pd.to_numeric(column, errors="coerce"), dtype=float)


def _grows(values: Floats) -> bool:
    """Return whether values are numbers from about zero that never decrease."""
    return bool(np.isfinite(values).all() and (np.diff(values) >= 0).all() and 0 <= values[0] < values[-1])
