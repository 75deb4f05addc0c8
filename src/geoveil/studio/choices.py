"""The decisions of the user of the studio, and the request that follows from them. Nothing is decided in advance."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from geoveil.errors import GeoveilError, InvalidParameter
from geoveil.requests.accounts import ChargedAccounts
from geoveil.requests.budgets import Budget
from geoveil.requests.file_request import CROWD, FileRequest, FileSettings, QuestionOptions, ReadingOptions
from geoveil.settings import SETTINGS
from geoveil.text.typed_values import TypedValue

if TYPE_CHECKING:
    import geopandas

    from geoveil.certificates import SigningKey
    from geoveil.requests.opened_data import OpenedData

__all__ = ["NO_BUDGET", "NO_FILE", "NO_LABELS", "NO_PERSONS", "NO_UNIT", "Choices", "StudioRequest", "request_of"]

#: Messages about decisions that are not made yet.
NO_FILE = "No file is open yet."
NO_PERSONS = "It is not chosen yet whose points they are."
NO_LABELS = "It is not chosen yet what is released in place of the persons' labels."
NO_UNIT = "It is not chosen yet what is hidden together."
NO_BUDGET = "It is not chosen yet how much is hidden."
_NO_QUESTION = "It is not chosen yet what is asked."
#: The settings without which a question cannot be asked.
_NEEDED = {"heatmap": ("cell",), "flows": ("cell",), "nearest": ("at", "k")}
#: The names of released files; points keep the format of their file.
_FILES = {"heatmap": "heatmap.gpkg", "counts": "counts.gpkg", "flows": "flows.csv", "hull": "hull.geojson"}
_FILES |= {"nearest": "nearest.csv", "summary": "summary"}


@dataclass
class Choices:
    """The decisions, each None or empty until it is made."""

    #: Corrections of how the file is read: crs, lat, lon, geometry, delimiter, decimal, encoding, layer.
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    #: What is done about rows without a location, and about points outside the area.
    missing: Literal["refuse", "drop"] = "refuse"
    outside: Literal["refuse", "clamp", "drop"] = "refuse"
    #: A condition that selects rows.
    where: str = ""
    #: The column of persons; empty if all rows are one person's.
    persons: str | None = None
    #: The column of times, if the user has corrected it.
    times: str = ""
    #: Where the data is: the name of a place or a coordinate system, or "latitude, longitude, radius".
    area: str | None = None
    #: Columns that are released unchanged.
    keep: tuple[str, ...] = ()
    #: Whether the labels of persons are replaced.
    pseudonyms: bool | None = None
    #: What is protected.
    unit: str | None = None
    #: The number of releases that are planned.
    planned: int | None = None
    #: How much is hidden.
    budget: Budget | None = None
    #: The question.
    question: str | None = None
    #: The options of questions, as texts.
    options: dict[str, str] = field(default_factory=dict)
    #: The ledger that is charged, and the name or prefix of accounts.
    ledger: str = ""
    subject: str = ""
    #: The path of the private key that signs certificates.
    sign: str = ""

    @property
    def by(self) -> str | None:
        """The column of persons; None if all rows are one person's, or if that is not decided."""
        return self.persons or None

    @property
    def protect(self) -> str | None:
        """What is hidden together, as an argument; None for all points of a person."""
        return None if self.unit == "all" else self.unit

    def settings(self) -> FileSettings:
        """Return what the data is, and who and what is protected, whatever is asked."""
        return FileSettings(
            person=self.by,
            protect=self.protect,
            times=self.times or None,
            area=self.area,
            outside=self.outside,
            missing=self.missing,
            where=self.where or None,
            reading=self.reading,
        )


@dataclass(frozen=True)
class StudioRequest(FileRequest):
    """A request about a file that is open in the studio, with the decisions that it follows from."""

    choices: Choices = field(kw_only=True)
    data: OpenedData = field(kw_only=True)

    def releases_labels(self, column: str) -> bool:
        # The page shows what labels tell beside the choice of pseudonyms.
        return not self.settings.pseudonyms

    def true_rows(self) -> geopandas.GeoDataFrame:
        return self.data.frame

    def check(self) -> None:
        its = self.options
        by_time = self.choices.unit in ("1 day", "1 hour") or self.settings.thin or its.every or its.motion
        if by_time and self.trips and (self.choices.times or len(self.data.times) != 2):
            problem = "Days, hours, thinning, smoothing and slices of time need the times of both ends of a trip."
            remedy = (
                "Choose everything of a person or each point in step 2, and no slices, smoothing or thinning in 4."
            )
            if len(self.data.times) == 2:
                remedy = "Choose “As recognised” under “When?” in step 1."
            raise GeoveilError(problem, remedy)
        super().check()


def request_of(
    choices: Choices, data: OpenedData, regions: Path | None = None, key: SigningKey | None = None
) -> StudioRequest:
    """Return the request that follows from the decisions; refuse it if one is missing or cannot be used.

    Parameters
    ----------
    choices : Choices
        The decisions.
    data : OpenedData
        The file.
    regions : Path, optional
        A file of public regions.
    key : SigningKey, optional
        The key that signs certificates.
    """
    question = choices.question
    if question is None:
        raise GeoveilError(_NO_QUESTION, "Choose it in step 4.")
    if choices.unit is None:
        raise GeoveilError(NO_UNIT, "Choose it in step 2.")
    if choices.budget is None:
        raise GeoveilError(NO_BUDGET, "Choose it in step 3.")
    typed = _typed(question, choices.options)
    if data.trips:
        typed.pop("trip", None)
    thin = cast("str | None", typed.pop("thin", None))
    timed = choices.unit in ("1 day", "1 hour") or thin or "every" in typed or "motion" in typed
    times = choices.times if timed else ""
    keep = (*choices.keep, *([times] if times else [])) if question == "points" else ()
    options = QuestionOptions(keep=keep, regions=regions if question == "counts" else None, **typed)  # type: ignore[arg-type]
    pseudonyms = bool(choices.by is not None and choices.pseudonyms and question not in CROWD)
    settings = replace(choices.settings(), times=times or None, thin=thin, pseudonyms=pseudonyms)
    return StudioRequest(
        question,
        data.path,
        data.name,
        settings,
        choices.budget,
        options,
        ChargedAccounts(choices.ledger, (choices.subject or None) if choices.ledger else None),
        _FILES.get(question) or f"released{data.released_ending}",
        choices.sign if key is not None else "",
        key,
        named=not data.received,
        recorded=not data.demo,
        opened=data.file,
        choices=choices,
        data=data,
    )


def _typed(question: str, texts: dict[str, str]) -> dict[str, object]:
    """Return the values of a question's options; those that were typed for another question are ignored."""
    filled: dict[str, object] = {}
    for name, row in SETTINGS.items():
        text = texts.get(name, "").strip() if question in row.page.questions else ""
        value = row.kind.read(text) if isinstance(row.kind, TypedValue) else text
        if value is None or (not text and name in _NEEDED.get(question, ())):
            if text or name in _NEEDED.get(question, ()):
                allowed = row.kind.allowed if isinstance(row.kind, TypedValue) else "given"
                raise InvalidParameter(name, text, allowed, "Type one.")
        elif text:
            filled[name] = value
    return filled
