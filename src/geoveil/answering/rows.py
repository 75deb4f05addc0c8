"""The rows behind locations: what memory, files and clusters have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from geoveil._types import (
    Columns,
    CoordinateColumns,
    CrsLike,
    Labels,
    LocationsLike,
    Missing,
    Outside,
    Progress,
    Pseudonyms,
    Times,
)
from geoveil._types import Path as PathLike
from geoveil.answering.charging import Charger
from geoveil.answering.crowd import CrowdQuestion
from geoveil.answering.intake import Intake
from geoveil.answering.preparation import Concern
from geoveil.answering.requests import Question
from geoveil.certificates import SigningKey
from geoveil.errors import InvalidParameter, warn
from geoveil.geo import Area, AreaLike, Plane
from geoveil.geo.formats import ending
from geoveil.geo.formats.atomic import check_target
from geoveil.noise import Source
from geoveil.privacy import Duration, Guarantee
from geoveil.queries import Query
from geoveil.release import CrowdRelease, Release
from geoveil.release.as_file import RASTERS, endings
from geoveil.release.kinds import kind_of

if TYPE_CHECKING:
    import geopandas

__all__ = [
    "Asked",
    "MakeCrowdQuestion",
    "MakeQuestion",
    "Reading",
    "Rows",
    "Settings",
    "Trips",
    "check_destination",
    "written",
]

R = TypeVar("R", bound=Release)
#: Makes a question about data that was taken in; public places are converted to its plane.
MakeQuestion: TypeAlias = Callable[[Intake], Question]
#: Makes a question about a crowd, given the plane of the data.
MakeCrowdQuestion: TypeAlias = Callable[[Plane | None], CrowdQuestion]


@dataclass(frozen=True)
class Reading:
    """How locations are read from a table or a file: as for `geoveil.Locations`."""

    lat: CoordinateColumns = None
    lon: CoordinateColumns = None
    crs: CrsLike = None
    geometry: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    names: str | Sequence[str] | None = None
    layer: str | None = None


@dataclass(frozen=True)
class Settings:
    """Whose rows they are, when and where they are, and which of them are used: as for `geoveil.Locations`."""

    person: Labels = None
    times: Times = None
    thin: Duration | None = None
    area: AreaLike = None
    outside: Outside = "refuse"
    missing: Missing = "refuse"
    where: str | None = None
    pseudonyms: Pseudonyms = False

    def columns(self, of: str) -> tuple[str | None, str | list[str] | None]:
        """Return the columns of persons and of times; refuse values, which only rows in memory can have."""
        person, times = self.person, self.times
        if not isinstance(person, str | None):
            raise InvalidParameter("person", person, f"a column of {of}", "Name it.")
        if isinstance(times, str | None):
            return person, times
        if not all(isinstance(column, str) for column in times):
            raise InvalidParameter("times", times, f"a column of {of}", "Name it.")
        return person, [*times]


@dataclass(frozen=True)
class Trips:
    """How trips are made of points, for questions about flows.

    Parameters
    ----------
    destinations : array or table, optional
        The destinations, in the order of the origins.
    trip : str or array of labels, optional
        The trip of each point.
    """

    destinations: LocationsLike | None = None
    trip: Labels = None


@dataclass(frozen=True)
class Asked:
    """How a question is asked, besides the question itself.

    Parameters
    ----------
    guarantee : CGP or GP
        The guarantee, per metre on the ground.
    charger : callable
        Returns who is charged, given the labels of the persons, or None if all points are one person's.
    source : Source
        The source of randomness.
    together : bool
        Whether there is one answer about all persons, rather than one for each.
    key : str, optional
        The name under which a ledger stores the answer.
    keep : list of columns or "all", optional
        Columns that are released unchanged.
    label : str, optional
        The column whose values name the rows of the answer.
    ordered : bool
        Whether the answer depends on the order of a person's points.
    stored : bool
        Whether a ledger holds the answer already.
    skips : bool
        Whether persons without enough budget are left out.
    to : path, optional
        The file to which the release is written.
    overwrite : bool
        Whether an existing file is replaced.
    sign : SigningKey, optional
        The key that signs the certificate of that file.
    progress : callable
        Called with the share of the work that is done, from 0 to 1.
    confirm : callable, optional
        Called with the concerns about a release before anything is charged.
    """

    guarantee: Guarantee
    charger: Callable[[Iterable[object] | None], Charger]
    source: Source
    together: bool
    key: str | None
    keep: Columns
    label: str | None
    ordered: bool
    stored: bool
    skips: bool
    to: PathLike | None
    overwrite: bool
    sign: SigningKey | None
    progress: Progress
    confirm: Callable[[Sequence[Concern]], None] | None

    def tell(self, concerns: Sequence[Concern]) -> None:
        """Tell the owner of concerns about a release: by the function that was given for that, or by a warning."""
        if self.confirm is not None:
            self.confirm(concerns)
        elif concerns:
            warn(" ".join(map(str, concerns)))


class Rows(ABC):
    """Rows with locations, which can be asked."""

    #: Whether the labels of persons are known without reading the data again.
    labels_at_hand = False

    @property
    @abstractmethod
    def area(self) -> Area | None:
        """The public area of the data; None for metres without a place on the Earth."""

    @property
    @abstractmethod
    def described(self) -> str:
        """The rows in words, such as "3 points of 2 persons"."""

    @abstractmethod
    def labels(self) -> Iterable[object] | None:
        """Return the labels of the persons; None if all points are one person's."""

    @abstractmethod
    def points(self, method: str, asked: Asked) -> Release:
        """Release every point."""

    @abstractmethod
    def answer(self, make: MakeQuestion, asked: Asked) -> Release:
        """Answer a question about each person, or about all points together."""

    @abstractmethod
    def crowd(self, make: MakeCrowdQuestion, asked: Asked, *, timed: bool, trips: Trips | None = None) -> CrowdRelease:
        """Answer a question about all persons together; `timed` if it needs the time of each point."""

    @abstractmethod
    def frame(self, *, every_row: bool) -> geopandas.GeoDataFrame:
        """Return the true locations as a frame; `every_row` if rows without a location are kept."""


def check_destination(asked: Asked, query: Query, plane: Plane | None) -> None:
    """Refuse a file to which the answer of a query could not be written, before anything is charged."""
    if asked.to is None:
        return
    path = Path(asked.to)
    if plane is None:
        allowed = "left out for metres without a place on the Earth"
        raise InvalidParameter("to", str(path), allowed, "numpy writes arrays; a frame states where its points are.")
    kind = kind_of(query)
    known = (*endings(placed=kind.placed(query)), *(RASTERS if kind.raster else ()))
    if ending(path) not in known:
        raise InvalidParameter("to", str(path), f"a file that ends in one of {', '.join(known)}", "Choose one.")
    check_target(path, overwrite=asked.overwrite)


def written(release: R, asked: Asked) -> R:
    """Write a release to the file that was named, if one was."""
    if asked.to is not None:
        release.to_file(asked.to, sign=asked.sign, overwrite=asked.overwrite)
    return release
