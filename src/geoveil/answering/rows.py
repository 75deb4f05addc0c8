"""The rows behind locations: what memory, files and clusters have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from geoveil._types import Columns, Labels, Order, Progress
from geoveil.answering.charging import Charger
from geoveil.answering.concerns import Concern
from geoveil.answering.crowd import CrowdQuestion
from geoveil.answering.intake import Intake
from geoveil.answering.pipeline import OutputFile, PreparedQuestion, R, answer
from geoveil.answering.public_rows import PublicRows
from geoveil.answering.requests import Question
from geoveil.errors import InvalidParameter, warn
from geoveil.geo import Area, Plane
from geoveil.geo.formats import ending
from geoveil.geo.formats.atomic import check_target
from geoveil.geo.forms import Index
from geoveil.noise import Source
from geoveil.privacy import Guarantee
from geoveil.queries import Query
from geoveil.release import CrowdRelease, Release
from geoveil.release.as_file import RASTERS, endings
from geoveil.release.kinds import kind_of

if TYPE_CHECKING:
    import geopandas

__all__ = ["Asked", "MakeCrowdQuestion", "MakeQuestion", "Rows", "Trips"]

#: Makes a question about data that was taken in; public places are converted to its plane.
MakeQuestion: TypeAlias = Callable[[Intake], Question]
#: Makes a question about a crowd, given the plane of the data.
MakeCrowdQuestion: TypeAlias = Callable[[Plane | None], CrowdQuestion[Any]]


@dataclass(frozen=True)
class Trips:
    """How trips are made, for questions about flows: of all points, of destinations beside the origins, or of rows."""

    #: The trip of each point, or the destinations in the order of the origins.
    of: Labels | Rows = None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """How a question is asked, besides the question itself."""

    #: The guarantee, per metre on the ground.
    guarantee: Guarantee
    #: Returns who is charged, given the labels of the persons, or None if all points are one person's.
    charger: Callable[[Iterable[object] | None], Charger]
    source: Source
    #: Whether there is one answer about all persons, rather than one for each.
    together: bool = False
    #: The name under which a ledger stores the answer.
    key: str | None = None
    #: Columns that are released unchanged.
    keep: Columns = None
    #: The column whose values name the rows of the answer.
    label: str | None = None
    #: Whether the answer depends on the order of a person's points.
    ordered: bool = False
    #: Whether a ledger holds the answer already.
    stored: bool = False
    #: Whether persons without enough budget are left out.
    skips: bool = False
    #: The file to which the release is written.
    output: OutputFile | None = None
    progress: Progress = lambda share: None
    #: Called with the concerns about a release before anything is charged.
    confirm: Callable[[Sequence[Concern]], None] | None = None

    def tell(self, concerns: Sequence[Concern]) -> None:
        """Tell the owner of concerns about a release: by the function that was given for that, or by a warning."""
        if self.confirm is not None:
            self.confirm(concerns)
        elif concerns:
            warn(" ".join(map(str, concerns)))

    def check_output(self, query: Query, plane: Plane | None) -> None:
        """Refuse a file to which the answer of a query could not be written, before anything is charged."""
        if self.output is None:
            return
        path = self.output.path
        if plane is None:
            allowed = "left out for metres without a place on the Earth"
            remedy = "numpy writes arrays; a frame states where its points are."
            raise InvalidParameter("to", str(path), allowed, remedy)
        kind = kind_of(query)
        known = (*endings(placed=kind.placed(query)), *(RASTERS if kind.raster else ()))
        if ending(path) not in known:
            raise InvalidParameter("to", str(path), f"a file that ends in one of {', '.join(known)}", "Choose one.")
        check_target(path, overwrite=self.output.overwrite, setting="locations.overwrite")

    def answered(self, prepared: PreparedQuestion[Any, R], labels: Iterable[object] | None, plane: Plane | None) -> R:
        """Charge for a question about persons with these labels, draw its answer, and write it if that was asked."""
        charger = self.charger(labels)
        self.check_output(prepared.first, plane)
        return answer(prepared, self.source, charger, self.key, self.progress, self.output)


class Rows(ABC):
    """Rows with locations, which can be asked."""

    #: Whether the labels of persons are known without reading the data again.
    labels_at_hand = False
    #: The columns that tell the tracks of a file apart.
    structure: tuple[str, ...] = ()

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
    def public_rows(self, protect: str | timedelta | None, progress: Progress) -> PublicRows:
        """Return the public numbers from which errors follow, given what is protected together."""

    @abstractmethod
    def points(self, method: str, order: Order, asked: Asked) -> Release:
        """Release every point, in the order of the data or in none."""

    @abstractmethod
    def answer(self, make: MakeQuestion, asked: Asked) -> Release:
        """Answer a question about each person, or about all points together."""

    @abstractmethod
    def crowd(self, make: MakeCrowdQuestion, asked: Asked, *, timed: bool, trips: Trips | None = None) -> CrowdRelease:
        """Answer a question about all persons together; `timed` if it needs the time of each point."""

    def some(self, data: Intake, points: Index, columns: Sequence[Hashable]) -> Rows:
        """Return rows in memory that are some points of these, with some columns, numbered anew."""
        raise NotImplementedError  # only rows in memory have `tracks`

    @property
    def step(self) -> int | None:
        """The length in microseconds of the intervals in which a person keeps one row; None if all are kept."""
        return None

    def known(self) -> Intake:
        """Return the points that are released, in memory, with their persons under their own labels."""
        remedy = "Collect the rows first: gv.Locations(frame.toPandas(), ...)."
        raise InvalidParameter("source", "a DataFrame of Spark", "rows in memory or in a file", remedy)

    def tracks(self) -> Intake:
        """Return all points in memory with their persons, and with their times if they have any; none is thinned."""
        remedy = "Collect the rows first: gv.Locations(frame.toPandas(), ...)."
        raise InvalidParameter("source", "a DataFrame of Spark", "rows in memory or in a file", remedy)

    @abstractmethod
    def frame(self, *, every_row: bool) -> geopandas.GeoDataFrame:
        """Return the true locations as a frame; `every_row` if rows without a location are kept."""
