"""A question about a file: asked of the library, and shown as a command and as Python code.

Each argument is defined once, as a value together with its text, so that a page shows the code that was run.
"""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import geopandas
import numpy as np

import geoveil as gv
from geoveil._types import Progress
from geoveil.budget.stores import without_password
from geoveil.errors import GeoveilError, InvalidParameter
from geoveil.file_summary import SUMMARY, ask_summary, summary_file
from geoveil.geo.formats.workspace import workspace
from geoveil.geo.region_files import read_regions
from geoveil.privacy import Guarantee
from geoveil.studio.choices import NO_QUESTION, Choices, whole_number
from geoveil.studio.codes import Code, statement
from geoveil.studio.opened_data import OpenedData
from geoveil.typed_values import read_chance, read_length, read_place

__all__ = ["CROWD", "PASSWORD", "TRUE_REPORT", "FileRequest", "number_of"]

#: The name of a report with the true locations, for their owner alone.
TRUE_REPORT = "report-true-locations.html"

#: The hint on how a command or Python gets the password of a database, which is not part of the code.
PASSWORD = "The password of the database is read from the environment variable PGPASSWORD."

#: Questions with one answer about all persons together.
CROWD = ("heatmap", "counts", "flows")
#: The options of each question. Options that were typed for another question are ignored.
_OPTIONS = {
    "points": ("thin", "motion"),
    "heatmap": ("thin", "cell", "every"),
    "counts": ("thin", "every", "name"),
    "flows": ("cell", "trip"),
    "nearest": ("at", "k", "locations"),
}
#: The names of released files; points keep the format of their file.
_FILES = {"heatmap": "heatmap.gpkg", "counts": "counts.gpkg", "flows": "flows.csv", "hull": "hull.geojson"}
_FILES |= {"nearest": "nearest.csv"}


def number_of(options: dict[str, str], name: str) -> int:
    """Return an option that must be a whole number; refuse any other text."""
    text = options.get(name, "").strip()
    if (found := whole_number(text)) is None:
        raise InvalidParameter(name, text, "a whole number of at least 1", "Type one.")
    return found


@dataclass(frozen=True)
class FileRequest:
    """A question about a file, with all that was decided.

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

    choices: Choices
    data: OpenedData
    regions: Path | None = None
    key: gv.SigningKey | None = None
    question: str = field(init=False)

    def __post_init__(self) -> None:
        if self.choices.question is None:
            raise GeoveilError(NO_QUESTION, "Choose it in step 4.")
        object.__setattr__(self, "question", self.choices.question)

    @property
    def crowd(self) -> bool:
        """Whether one answer is about all persons together."""
        return self.question in CROWD

    @property
    def in_memory(self) -> bool:
        """Whether the whole file is read into memory, so that prices for other units can be computed."""
        return (not self.crowd and self.question != "points") or bool(self.options.get("trip"))

    @cached_property
    def options(self) -> dict[str, str]:
        """The options of this question that were stated, as texts."""
        names = [name for name in _OPTIONS.get(self.question, ()) if not (name == "trip" and self.data.trips)]
        return {name: text for name in names if (text := self.choices.options.get(name, ""))}

    @cached_property
    def guarantee(self) -> Guarantee:
        """The guarantee of the release."""
        return self.choices.guarantee(crowd=self.crowd)

    @property
    def target(self) -> str:
        """The name of the released file, or of the folder of several."""
        if self.question == "summary":
            return "summary"
        return _FILES.get(self.question) or f"released{self.data.released_ending}"

    @property
    def has_password(self) -> bool:
        """Whether the address of the ledger holds a password, which commands do not state."""
        return without_password(self.choices.ledger) != self.choices.ledger

    def written(self, folder: Path) -> list[Path]:
        """Return the released files in a folder, without their certificates."""
        if self.question == "summary":
            return [folder / self.target / summary_file(name) for name in SUMMARY]
        return [folder / self.target]

    # The arguments, with their texts -------------------------------------------------------------------------------

    @property
    def _budget(self) -> dict[str, Code]:
        assert self.choices.budget is not None
        return self.choices.budget.argument

    @property
    def _data(self) -> dict[str, Code]:
        """The arguments that say what the data is, and who and what is protected."""
        choices = self.choices
        stated: dict[str, Any] = {**choices.reading, "person": choices.by, "protect": choices.protect}
        if choices.times and (choices.unit in ("1 day", "1 hour") or self._thin):
            stated["times"] = choices.times
        stated |= {"thin": self._thin or None, "where": choices.where or None}
        stated |= {name: given for name in ("outside", "missing") if (given := getattr(choices, name)) != "refuse"}
        if choices.by is not None and choices.pseudonyms and not self.crowd:
            stated["pseudonyms"] = True
        area = {} if choices.area is None else {"area": choices.area.code}
        return {**{name: Code.of(value) for name, value in stated.items() if value is not None}, **area}

    @property
    def _thin(self) -> str:
        return self.options.get("thin", "")

    @property
    def _by_time(self) -> bool:
        """Whether the question needs the time of each point."""
        return bool(self.choices.unit in ("1 day", "1 hour") or self._thin or self.options.get("every"))

    @property
    def _timed(self) -> bool:
        """Whether the question needs the column of times."""
        return self._by_time or bool(self.motion)

    @property
    def motion(self) -> str:
        """How people move, if tracks are smoothed; else empty."""
        return self.options.get("motion", "")

    @property
    def _account(self) -> dict[str, Code]:
        return {"subject": Code.of(self.choices.subject)} if self.choices.ledger and self.choices.subject else {}

    @property
    def _signed(self) -> dict[str, Code]:
        """The argument that names the key of the certificate."""
        return {} if self.key is None else {"sign": Code(repr(self.choices.sign), self.key)}

    @property
    def _own(self) -> dict[str, Code]:
        """The options of the question itself."""
        options = self.options
        if self.question == "points":
            # Times are public: a column of times that is named is released.
            kept = [*self.choices.keep, *([self.choices.times] if self._timed and self.choices.times else [])]
            return {"keep": Code.of(kept)} if kept else {}
        if options.get("every"):
            return {"every": Code.of(options["every"])}
        if options.get("trip"):
            return {"trip": Code.of(options["trip"])}
        if self.question == "nearest":
            found = {"k": Code.of(number_of(options, "k"))}
            share = options.get("locations", "")
            if not share:
                return found
            if (part := read_chance(share)) is None:
                allowed = "a part of the budget such as 50%"
                raise InvalidParameter("locations", share, allowed, "Leave it empty to release no locations.")
            return {**found, "locations": Code.of(part)}
        return {}

    @property
    def cell(self) -> float:
        """The side of a cell in metres."""
        found = read_length(self.options.get("cell", ""))
        if found is None:
            raise InvalidParameter("cell", self.options.get("cell", ""), "a length such as 500 m", "Type one.")
        return found

    @property
    def at(self) -> tuple[float, float]:
        """The place asked about: latitude and longitude."""
        found = read_place(self.options.get("at", ""))
        if found is None:
            allowed = "a latitude and a longitude, such as 37.795, -122.394"
            raise InvalidParameter("p", self.options.get("at", ""), allowed, "Type both, with a comma.")
        return found

    @property
    def regions_code(self) -> Code:
        """The public regions as an argument, with their names."""
        if self.regions is None:
            raise GeoveilError("No file of public regions is chosen yet.", "Choose one, or drop it here.")
        name = self.options.get("name", "")
        text = f"geopandas.read_file({self.regions.name!r})"
        frame = read_regions(self.regions)
        if name:
            if name not in frame:
                others = ", ".join(column for column in frame if column != frame.geometry.name)
                raise GeoveilError(f"The regions have no column “{name}”.", f"Choose one of {others}.")
            return Code(f"{text}.set_index({name!r}).geometry", frame.set_index(name).geometry)
        return Code(f'{text}.geometry.rename_axis("region")', frame.geometry.rename_axis("region"))

    @property
    def _about(self) -> tuple[Code, ...]:
        """The arguments of the question without a name."""
        if self.question in ("heatmap", "flows"):
            return (Code.of(self.cell),)
        if self.question == "counts":
            return (Code("regions", self.regions_code.value),)
        if self.question == "nearest":
            lat, lon = self.at
            return (Code("place", geopandas.GeoSeries.from_xy([lon], [lat], crs=4326)),)
        return ()

    @property
    def own_values(self) -> dict[str, Any]:
        """The options of the question itself, as arguments."""
        return _values(self._own)

    def ask(self, locations: gv.Locations) -> list[gv.Release]:
        """Ask the question about data."""
        if self.question == "summary":
            with locations.session(**_values(self._budget)) as session:
                return ask_summary(session, self.guarantee)
        return [self.answer(locations)]

    def answer(self, locations: gv.Locations, **more: Any) -> gv.Release:
        """Ask a question that has one answer, with further arguments."""
        about, keywords = (arg.value for arg in self._about), _values({**self._own, **self._budget})
        release: gv.Release = getattr(locations, self.question)(*about, **keywords, **more)
        return release

    def made_up(self, frame: geopandas.GeoDataFrame, rng: np.random.Generator) -> gv.Locations:
        """Return other data, which is made up, in place of the file."""
        keywords = _values({name: code for name, code in self._data.items() if name not in self.choices.reading})
        for name in ("pseudonyms", "where", "missing"):
            keywords.pop(name, None)
        return gv.Locations(frame, **keywords, rng=rng)

    # What is run ---------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse a question that cannot be answered, before the data is used."""
        _ = self.guarantee, self._own
        if self.question in ("heatmap", "flows"):
            _ = self.cell
        if self.question == "nearest":
            _ = self.at
        if self.question == "counts":
            _ = self.regions_code
        if self.question == "flows" and not self.data.trips and not self.options.get("trip"):
            problem = "Flows need to know which points are one trip."
            raise GeoveilError(problem, "Choose the column of trips, or a file whose rows have both ends of a trip.")
        if self._by_time and self.data.trips and (self.choices.times or len(self.data.times) != 2):
            problem = "Days, hours, thinning and slices of time need the times of both ends of a trip."
            remedy = "Choose everything of a person or each point in step 2, and no thinning or slices in step 4."
            if len(self.data.times) == 2:
                remedy = "Choose “As recognised” under “When?” in step 1."
            raise GeoveilError(problem, remedy)
        if self.motion and self.guarantee.symbol != "rho":
            problem = "Tracks that are released under ε cannot be smoothed."
            raise GeoveilError(problem, "Choose metres or ρ in step 3, or no smoothing.")

    def run(self, folder: Path, ledger: gv.Ledger | None, progress: Progress) -> list[gv.Release]:
        """Charge, draw and write the release into a folder; return the answers."""
        # The page has already shown what gives cause for concern.
        locations = gv.Locations(
            self.data.path, **_values(self._data), sign=self.key, progress=progress, confirm=lambda concerns: None
        )
        account = {} if ledger is None else {"ledger": ledger, **_values(self._account)}
        target = folder / self.target
        if self.question == "summary":
            with locations.session(**_values(self._budget), **account) as session:
                # Either all answers of the summary are charged, or none.
                session.cost(**_values(self._budget))
                releases = ask_summary(session, self.guarantee)
            target.mkdir()
            for release in releases:
                release.to_file(target / summary_file(release.query), sign=self.key)
            return releases
        asked = locations.session(**account) if account else locations
        if self.question != "points":
            return [self.answer(asked, to=target)]
        with ExitStack() as stack:
            first = stack.enter_context(workspace(folder)) / target.name if self.motion else target
            self.answer(asked, to=first)
            if self.motion:
                gv.load(first).smooth(self.motion, times=self.time).to_file(target, sign=self.key)
        return [gv.load(target)]

    @property
    def time(self) -> str:
        """The column of times."""
        found = [*([self.choices.times] if self.choices.times else []), *self.data.times]
        if not found:
            remedy = "Choose the column of times in step 1, or no smoothing."
            raise GeoveilError("Smoothing needs the time of each point, and the file has none.", remedy)
        return found[0]

    # The same, to be copied ----------------------------------------------------------------------------------------

    def python(self) -> str:
        """Return the request as Python code."""
        account = {"ledger": Code("ledger", None), **self._account} if self.choices.ledger else {}
        lines = ["import geopandas"] if self.question in ("counts", "nearest") else []
        lines += ["import pathlib", ""] if self.question == "summary" else []
        lines += ["import geoveil as gv", ""]
        lines += [f"# {PASSWORD}"] if self.has_password else []
        lines += [f"ledger = gv.Ledger({without_password(self.choices.ledger)!r})"] if self.choices.ledger else []
        lines += [f"regions = {self.regions_code.text}"] if self.question == "counts" else []
        lines += statement("trips = gv.Locations", (self._source,), {**self._data, **self._signed})
        lines += self._python_summary(account) if self.question == "summary" else self._python_answer(account)
        if self.choices.with_truth:
            lines += self._python_truth()
        return "\n".join(lines) + "\n"

    def _python_answer(self, account: dict[str, Code]) -> list[str]:
        lines = []
        if self.question == "nearest":
            lat, lon = self.at
            lines.append(f"place = geopandas.GeoSeries.from_xy([{lon}], [{lat}], crs=4326)")
        asked = "trips"
        if account:
            lines += statement("session = trips.session", (), account)
            asked = "session"
        first = f"noisy{self.data.released_ending}" if self.motion else self.target
        keywords = {**self._own, **self._budget, "to": Code.of(first)}
        lines += statement(f"release = {asked}.{self.question}", self._about, keywords)
        if self.motion:
            how = {"times": Code.of(self.time)}
            lines += statement(f"release = gv.load({first!r}).smooth", (Code.of(self.motion),), how)
            lines.append(f"release.to_file({self._to_file(self.target)})")
        return lines

    def _python_summary(self, account: dict[str, Code]) -> list[str]:
        lines = [f"pathlib.Path({self.target!r}).mkdir()"]
        lines += statement("with trips.session", (), {**self._budget, **account}, " as session:")
        lines.append(f"    shares = session.total.split({len(SUMMARY)})")
        for at, name in enumerate(SUMMARY):
            file = self._to_file(f"{self.target}/{summary_file(name)}")
            lines.append(f"    release = session.{name}({self.guarantee.symbol}=shares[{at}])")
            lines.append(f"    release.to_file({file})")
        return lines

    def _python_truth(self) -> list[str]:
        """Return the code of a report with the true locations, which is for their owner alone."""
        where = {"where": Code.of(self.choices.where)} if self.choices.where else {}
        reading = {**{name: Code.of(text) for name, text in self.choices.reading.items()}, "missing": Code.of("drop")}
        drawn = f"gv.load({self.target!r})" if self.question == "points" else "release"
        return [
            *statement("truth = gv.Locations", (self._source,), {**reading, **where}, ".frame()"),
            *statement(f"{drawn}.report", (Code.of(TRUE_REPORT),), {"truth": Code("truth", None)}),
        ]

    def _to_file(self, target: str) -> str:
        """Return the arguments of `to_file`."""
        return ", ".join([repr(target), *(f"{name}={code.text}" for name, code in self._signed.items())])

    @property
    def _source(self) -> Code:
        """The name of the file, as its owner knows it."""
        return Code.of(self.data.name)

    def command(self) -> str:
        """Return the request as a command."""
        choices, options = self.choices, self.options
        words = ["geoveil", self.question, _path(self.data.name), "-o", self.target]
        if self.question in ("heatmap", "flows"):
            words += ["--cell", f"{self.cell:g}m"]
        if self.question == "counts":
            assert self.regions is not None
            words += ["--regions", _path(self.regions.name)]
            words += ["--name", shlex.quote(options["name"])] if options.get("name") else []
        if options.get("trip"):
            words += ["--trip", shlex.quote(options["trip"])]
        if self.question == "nearest":
            lat, lon = self.at
            words += [f"--at={lat},{lon}", "-k", str(number_of(options, "k"))]
            words += ["--locations", shlex.quote(options["locations"])] if options.get("locations") else []
        words += ["--every", shlex.quote(options["every"])] if options.get("every") else []
        words += ["--person", shlex.quote(choices.by)] if choices.by is not None else []
        words += ["--pseudonyms"] if choices.pseudonyms and choices.by is not None and not self.crowd else []
        words += ["--protect", shlex.quote(choices.protect)] if choices.protect is not None else []
        assert choices.budget is not None
        words.append(choices.budget.option)
        words += ["--thin", shlex.quote(self._thin)] if self._thin else []
        words += ["--smooth", self.motion] if self.motion else []
        words += ["--time", shlex.quote(choices.times)] if choices.times and self._timed else []
        if self.question == "points":
            words += [f"--keep {shlex.quote(name)}" for name in choices.keep]
        words += [choices.area.option] if choices.area is not None else []
        words += ["--outside", choices.outside] if choices.outside != "refuse" else []
        words += ["--missing", choices.missing] if choices.missing != "refuse" else []
        words += ["--where", shlex.quote(choices.where)] if choices.where else []
        words += [f"--{name} {shlex.quote(text)}" for name, text in choices.reading.items()]
        if choices.ledger:
            words += ["--ledger", shlex.quote(without_password(choices.ledger))]
            words += ["--subject", shlex.quote(choices.subject)] if choices.subject else []
        words += ["--sign", _path(choices.sign)] if self.key is not None else []
        words += ["--report", TRUE_REPORT, "--with-truth"] if choices.with_truth else []
        return " ".join(words)


def _path(name: str) -> str:
    """Return the path of a file, quoted for a shell; a leading dash must not be read as an option."""
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


def _values(keywords: dict[str, Code]) -> dict[str, Any]:
    return {name: code.value for name, code in keywords.items()}
