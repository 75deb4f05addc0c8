"""The decisions that the user of the studio has made so far. Nothing is decided in advance."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from geoveil.errors import GeoveilError
from geoveil.studio.codes import Code, call
from geoveil.typed_values import read_area

if TYPE_CHECKING:
    from geoveil.geo import Area
    from geoveil.privacy import Guarantee

__all__ = [
    "CHANCE",
    "NO_BUDGET",
    "NO_FILE",
    "NO_LABELS",
    "NO_PERSONS",
    "NO_QUESTION",
    "NO_UNIT",
    "Choices",
    "ChosenBudget",
    "Kind",
    "StatedArea",
    "whole_number",
]

#: Messages about decisions that are not made yet.
NO_FILE = "No file is open yet."
NO_PERSONS = "It is not chosen yet whose points they are."
NO_LABELS = "It is not chosen yet what is released in place of the persons' labels."
NO_UNIT = "It is not chosen yet what is hidden together."
NO_BUDGET = "It is not chosen yet how much is hidden."
NO_QUESTION = "It is not chosen yet what is asked."

#: The ways to state a budget.
Kind: TypeAlias = Literal["hide", "rho", "epsilon"]
#: The largest chance that a guess between two places at the hidden distance is right.
CHANCE = 0.75
#: The name of the metric of each unit: for answers about one person, and for one answer about many persons.
_METRICS = {
    "all": ("inf", "person"),
    "1 day": ("1 day", "person, 1 day"),
    "1 hour": ("1 hour", "person, 1 hour"),
    "point": ("1", "1"),
}


@dataclass(frozen=True)
class StatedArea:
    """The area of the data, as its owner states it.

    Parameters
    ----------
    text : str
        The name of a place or a coordinate system, or "latitude, longitude, radius".

    Examples
    --------
    >>> StatedArea("San Francisco").option, StatedArea("47.37, 8.54, 20 km").option
    ("--area 'San Francisco'", '--area 47.37,8.54,20km')
    >>> StatedArea("47.37, 8.54, 20 km").code.text
    'gv.local(lat=47.37, lon=8.54, radius=20000.0)'
    """

    text: str

    @property
    def _disc(self) -> tuple[float, float, float] | None:
        return read_area(self.text)

    @property
    def code(self) -> Code:
        """The area as an argument in Python."""
        from geoveil.geo import local

        if (disc := self._disc) is None:
            return Code.of(self.text)
        lat, lon, radius = disc
        return call("gv.local", local, lat=Code.of(lat), lon=Code.of(lon), radius=Code.of(radius))

    @property
    def option(self) -> str:
        """The area as an option of the command line."""
        if (disc := self._disc) is None:
            return f"--area {shlex.quote(self.text)}"
        return f"--area {disc[0]:g},{disc[1]:g},{disc[2] / 1000:g}km"

    @property
    def value(self) -> str | Area:
        """The area as the value of an argument."""
        found: str | Area = self.code.value
        return found

    @property
    def described(self) -> str:
        """What the area is, in words."""
        from geoveil.geo.gazetteer import find_place

        place = find_place(self.text) if self._disc is None else None
        around = "" if place is None else f": {place.radius / 1000:g} km around {place.lat:.2f}, {place.lon:.2f}"
        return f"{self.text}{around}"


@dataclass(frozen=True)
class ChosenBudget:
    """The chosen budget: as the distance that it hides, or as ρ or ε.

    Parameters
    ----------
    kind : {"hide", "rho", "epsilon"}
        A distance in metres, ρ per square metre, or ε per metre.
    text : str
        The number.
    """

    kind: Kind
    text: str

    @property
    def argument(self) -> dict[str, Code]:
        """The budget as an argument in Python."""
        return {self.kind: Code.of(float(self.text) if self.kind == "hide" else self.text)}

    def guarantee(self, metric: str) -> Guarantee:
        """Return the guarantee under a metric."""
        from geoveil.privacy import promise

        given = {kind: code.value for kind, code in self.argument.items()}
        return promise(given.get("hide"), given.get("rho"), given.get("epsilon"), metric)

    @property
    def option(self) -> str:
        """The budget as an option of the command line."""
        return f"--hide {float(self.text):g}m" if self.kind == "hide" else f"--{self.kind} {self.text}"


@dataclass
class Choices:
    """The decisions, each None or empty until it is made.

    Parameters
    ----------
    reading : dict
        Corrections of how the file is read: crs, lat, lon, geometry, delimiter, decimal, encoding, layer.
    missing, outside : str
        What is done about rows without a location, and about points outside the area.
    where : str
        A condition that selects rows.
    persons : str, optional
        The column of persons; empty if all rows are one person's.
    times : str
        The column of times, if the user has corrected it.
    area : StatedArea, optional
        Where the data is.
    keep : tuple of str
        Columns that are released unchanged.
    pseudonyms : bool, optional
        Whether the labels of persons are replaced.
    unit : {"all", "1 day", "1 hour", "point"}, optional
        What is protected.
    planned : int, optional
        The number of releases that are planned.
    budget : ChosenBudget, optional
        How much is hidden.
    question : str, optional
        The question.
    options : dict
        The options of the question, as texts.
    ledger, subject : str
        The ledger that is charged, and the name or prefix of accounts.
    sign : str
        The path of the private key that signs certificates.
    with_truth : bool
        Whether a report with the true locations is written as well.
    """

    reading: dict[str, str] = field(default_factory=dict)
    missing: Literal["refuse", "drop"] = "refuse"
    outside: Literal["refuse", "clamp", "drop"] = "refuse"
    where: str = ""
    persons: str | None = None
    times: str = ""
    area: StatedArea | None = None
    keep: tuple[str, ...] = ()
    pseudonyms: bool | None = None
    unit: str | None = None
    planned: int | None = None
    budget: ChosenBudget | None = None
    question: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    ledger: str = ""
    subject: str = ""
    sign: str = ""
    with_truth: bool = False

    @property
    def by(self) -> str | None:
        """The column of persons; None if all rows are one person's, or if that is not decided."""
        return self.persons or None

    @property
    def protect(self) -> str | None:
        """What is hidden together, as an argument; None for all points of a person."""
        return None if self.unit == "all" else self.unit

    def metric(self, *, crowd: bool) -> str:
        """Return the name of the metric of the chosen unit, for answers about one person or about a crowd."""
        if self.unit is None:
            raise GeoveilError(NO_UNIT, "Choose it in step 2.")
        return _METRICS[self.unit][crowd and self.by is not None]

    def guarantee(self, *, crowd: bool = False) -> Guarantee:
        """Return the guarantee of a release."""
        if self.budget is None:
            raise GeoveilError(NO_BUDGET, "Choose it in step 3.")
        return self.budget.guarantee(self.metric(crowd=crowd))


def whole_number(text: str) -> int | None:
    """Return a whole number from 1 to 999 999 999 that somebody typed; None for any other text.

    Examples
    --------
    >>> whole_number("12"), whole_number("0"), whole_number("9" * 5000)
    (12, None, None)
    """
    return int(text) if text.isdecimal() and len(text) < 10 and int(text) > 0 else None
