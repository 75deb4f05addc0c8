"""A file that its owner has opened: its rows, the columns that were recognised, and its places for a map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import shapely

from geoveil._types import Progress
from geoveil.errors import GeoveilError
from geoveil.geo.columns import ROW
from geoveil.geo.formats import LocationFile, targets
from geoveil.geo.formats.fingerprints import State, file_state
from geoveil.geo.geometries import Index
from geoveil.geo.proposals import to_degrees
from geoveil.report import Layer
from geoveil.report.layers import Floats, Role
from geoveil.requests.file_request import FileSettings

__all__ = ["OpenedData", "state_of", "tracks"]

#: The largest number of points that the map shows; of more points, it shows the density of an evenly spaced sample.
_MANY = 50_000


@dataclass(frozen=True, eq=False)
class OpenedData:
    """A file of locations in memory. It holds true locations, for its owner alone."""

    #: The file.
    path: Path
    #: Its name, as its owner knows it.
    name: str
    #: The file, opened.
    file: LocationFile
    #: The rows that have a location.
    frame: geopandas.GeoDataFrame
    #: The state of the file before it was read; later changes are noticed by comparison with it.
    state: State | None = None
    #: Whether it is the made-up city, in which nobody lives.
    demo: bool = False
    #: Whether it was dropped on a page, so that its path means nothing to its owner.
    received: bool = False

    @classmethod
    def open(
        cls,
        path: Path,
        name: str,
        settings: FileSettings,
        progress: Progress,
        *,
        demo: bool = False,
        received: bool = False,
    ) -> OpenedData:
        """Open and read a file; rows without a location are left to a later decision."""
        # The state comes first, so that a change of the file while it is read is noticed as well.
        state = state_of(path)
        file = settings.open(path)
        progress(0.1)
        frame = settings.of_true_rows.locations(path).frame()
        progress(0.8)
        return cls(path, name, file, frame, state, demo, received)

    def check_unchanged(self) -> None:
        """Refuse a file that has changed since it was read: its release would not be what the page has shown."""
        if state_of(self.path) != self.state:
            remedy = "Press “Read it again” in step 1, and look at it."
            raise GeoveilError(f"{self.name} has changed since it was read.", remedy)

    def degrees(self, step: int = 1) -> Floats:
        """Return the true longitudes and latitudes of all points, or of one in every `step` points."""
        return to_degrees(shapely.get_coordinates(self.frame.geometry.array)[::step], self.file.crs)

    @cached_property
    def points(self) -> Index:
        """The number of points of each row: two for a trip, any number for a line."""
        return np.asarray(shapely.get_num_coordinates(self.frame.geometry.array), dtype=np.int64)

    @property
    def trips(self) -> bool:
        """Whether each row has an origin and a destination."""
        return self.file.points_in_a_row == 2

    @property
    def columns(self) -> list[str]:
        """The columns that may be released or name persons."""
        return [name for name in self.file.columns if name not in self.file.unsafe]

    @property
    def times(self) -> list[str]:
        """The columns of times that were recognised."""
        return [*self.file.time_columns]

    @property
    def released_ending(self) -> str:
        """The ending of a released file of points: the file's own format, if that can be written as one file."""
        return next((kind for kind in targets(self.path) if kind not in ("", ".shp")), ".csv")

    def whose(self, by: str | None) -> Index:
        """Return the person of each row as a number; persons are numbered in the order in which they occur."""
        if by == ROW and by not in self.frame:
            return np.arange(len(self.frame))
        if by is None or by not in self.frame:
            return np.zeros(len(self.frame), dtype=np.int64)
        return np.asarray(self.frame[by].factorize(use_na_sentinel=False)[0], dtype=np.int64)

    def labels(self, by: str | None) -> list[object] | None:
        """Return the labels of the persons; None if all rows are one person's."""
        if by == ROW and by not in self.frame:
            return [*range(1, len(self.frame) + 1)]
        return None if by is None else [*self.frame[by].drop_duplicates()]

    def sizes(self, by: str | None) -> Index:
        """Return the number of points of each person."""
        return np.asarray(np.bincount(self.whose(by), weights=self.points), dtype=np.int64)

    def layers(self, by: str | None) -> tuple[Layer, ...]:
        """Return the layers that show the true locations to their owner: tracks, trips or points."""
        role: Role = "public" if self.demo else "truth"
        # The legend itself marks layers of true locations.
        name = "made-up " if self.demo else ""
        if (total := int(self.points.sum())) > _MANY:
            step = -(-total // _MANY)
            return (Layer(f"{name}locations, one in {step} points", self.degrees(step), "points", role),)
        places = self.degrees()
        if total > len(self.frame):
            rows = np.repeat(np.arange(len(self.frame)), self.points)
            return (Layer(f"{name}{'trips' if self.trips else 'tracks'}", places, "lines", role, rows),)
        if by in self.frame and self.times:
            return (tracks(f"{name}tracks", places, self.frame[by], role),)
        return (Layer(f"{name}locations", places, "points", role),)


def state_of(path: Path) -> State | None:
    """Return the state of a file, a folder or a shapefile; None if it is gone."""
    try:
        return file_state(path)
    except OSError:
        return None


def tracks(name: str, degrees: Floats, labels: pd.Series, role: Role) -> Layer:
    """Return the tracks of persons as lines, each with its points in the order of the rows."""
    whose, names = labels.factorize(use_na_sentinel=False)
    order = np.argsort(whose, kind="stable")
    persons = whose[order].astype(np.int64)
    return Layer(name, degrees[order], "lines", role, persons, persons=persons, names=tuple(map(str, names)))
