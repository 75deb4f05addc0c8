"""What users say once about their rows: how these are read, whose they are, and which of them are used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from geoveil._types import CoordinateColumns, CrsLike, Labels, Missing, Outside, Pseudonyms, Times
from geoveil.errors import InvalidParameter
from geoveil.geo import AreaLike
from geoveil.privacy import Duration, as_duration

__all__ = ["Reading", "Settings"]


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

    @cached_property
    def step(self) -> int | None:
        """The length in microseconds of the intervals in which a person keeps one row; None if all rows are kept."""
        return None if self.thin is None else as_duration("thin", self.thin)

    @property
    def by(self) -> str | None:
        """The column of persons, if one is named."""
        return self.person if isinstance(self.person, str) else None

    def check_columns(self, of: str) -> None:
        """Refuse persons and times that are values, which only rows in memory can have."""
        if not isinstance(self.person, str | None):
            raise InvalidParameter("person", self.person, f"a column of {of}", "Name it.")
        if not isinstance(self.times, str | None) and not all(isinstance(name, str) for name in self.times):
            raise InvalidParameter("times", self.times, f"a column of {of}", "Name it.")
        _ = self.step
