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

    @cached_property
    def _budget(self) -> dict[str, Code]:
        assert self.choices.budget is not None
        return {self.guarantee.symbol: self.choices.budget.code(self.choices.metric(crowd=self.crowd))}

    @property
    def _place(self) -> dict[str, Code]:
        """The arguments that say where the data is."""
        found = {} if self.choices.area is None else {"area": self.choices.area.code}
        return found if self.choices.outside == "refuse" else {**found, "outside": Code.of(self.choices.outside)}

    @property
    def _rows(self) -> dict[str, Code]:
        """The arguments that choose rows."""
        found = {} if self.choices.missing == "refuse" else {"missing": Code.of(self.choices.missing)}
        return {**found, "where": Code.of(self.choices.where)} if self.choices.where else found

    @property
    def _reading(self) -> dict[str, Code]:
        return {name: Code.of(text) for name, text in self.choices.reading.items()}

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
    def _units(self) -> dict[str, Code]:
        """The arguments that say what is protected, and of whom."""
        unit = self.choices.unit_of(crowd=self.crowd)
        found = {} if unit is None else {"unit": Code.of(unit)}
        if self.choices.times and (self.choices.unit in ("1 day", "1 hour") or self._thin):
            found["times"] = Code.of(self.choices.times)
        if self._thin:
            found["thin"] = Code.of(self._thin)
        if not self.crowd and self.choices.by is not None:
            found["by"] = Code.of(self.choices.by)
            if self.choices.pseudonyms:
                found["pseudonyms"] = Code.of(True)
        return found

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
            raise InvalidParameter("grid", self.options.get("cell", ""), "a length such as 500 m", "Type one.")
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

    def asked(self) -> dict[str, Any]:
        """Return the arguments that ask the question about a frame in memory."""
        own = self._own if self.crowd else {}
        found = _values({**self._budget, **self._units, **self._place, **own})
        found.pop("pseudonyms", None)
        return found

    @property
    def own_values(self) -> dict[str, Any]:
        """The options of the question itself, as arguments."""
        return _values(self._own)

    @property
    def budget_values(self) -> dict[str, Any]:
        """The budget, as an argument."""
        return _values(self._budget)

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
        if self.choices.ledger and self.options.get("trip"):
            problem = "Flows between the ends of trips that a column names cannot be charged to a ledger."
            remedy = "Use a file whose rows have both ends of a trip: flows of such a file are charged to everybody."
            raise GeoveilError(problem, remedy)

    def run(self, folder: Path, ledger: gv.Ledger | None, progress: Progress) -> list[gv.Release]:
        """Charge, draw and write the release into a folder; return the answers."""
        account = {} if ledger is None else {"ledger": Code("ledger", ledger), **self._account}
        if self.in_memory:
            return self._run_session(folder, account, progress)
        ask = {"points": self._run_points, "flows": self._run_flows, "heatmap": self._run_crowd}
        ask |= {"counts": self._run_crowd}
        return ask[self.question](folder, account, progress)

    @property
    def in_memory(self) -> bool:
        """Whether the question is asked about the whole file in memory, rather than about its rows in batches."""
        return self.question not in ("points", "heatmap", "counts", "flows")

    def _run_points(self, folder: Path, account: dict[str, Code], progress: Progress) -> list[gv.Release]:
        target = folder / self.target
        keywords = _values({**self._points_keywords, **account, **({} if self.motion else self._signed)})
        with ExitStack() as stack:
            first = stack.enter_context(workspace(folder)) / target.name if self.motion else target
            # The page has already shown what gives cause for concern.
            release: gv.Release = gv.points_file(
                self.data.path, first, **keywords, progress=progress, confirm=lambda concerns: None
            )
            if self.motion:
                release = gv.smooth(gv.load(first), motion=self.motion, times=self.time)
                release.to_file(target, sign=self.key)
        return [gv.load(target)]

    @property
    def _points_keywords(self) -> dict[str, Code]:
        return {**self._budget, **self._units, **self._place, **self._rows, **self._own, **self._reading}

    @property
    def time(self) -> str:
        """The column of times."""
        found = [*([self.choices.times] if self.choices.times else []), *self.data.times]
        if not found:
            remedy = "Choose the column of times in step 1, or no smoothing."
            raise GeoveilError("Smoothing needs the time of each point, and the file has none.", remedy)
        return found[0]

    def _run_crowd(self, folder: Path, account: dict[str, Code], progress: Progress) -> list[gv.Release]:
        keywords = _values({**self._points_keywords, **account})
        if self.question == "heatmap":
            release = gv.heatmap_file(self.data.path, self.cell, **keywords, progress=progress)
        else:
            release = gv.counts_file(self.data.path, self.regions_code.value, **keywords, progress=progress)
        release.to_file(folder / self.target, sign=self.key)
        return [release]

    def _run_flows(self, folder: Path, account: dict[str, Code], progress: Progress) -> list[gv.Release]:
        trip = self.options.get("trip", "")
        if not trip:
            keywords = _values({**self._points_keywords, **account})
            release = gv.flows_file(self.data.path, self.cell, **keywords, progress=progress)
        else:
            frame = gv.read(self.data.path, **_values({**self._reading, **self._rows}))
            keywords = _values({**self._budget, **self._units, **self._place, **self._own})
            release = gv.flows(frame, None, self.cell, trip=trip, **keywords)
        release.to_file(folder / self.target, sign=self.key)
        return [release]

    def _run_session(self, folder: Path, account: dict[str, Code], progress: Progress) -> list[gv.Release]:
        frame = gv.read(self.data.path, **_values(self._reading), missing="keep")
        # People count rows from one.
        frame.index = (frame.index + 1).rename("row")
        with gv.Session(frame, **_values({**self._session_keywords, **account}), progress=progress) as session:
            if self.question == "summary":
                # Either all answers of the summary are charged, or none.
                session.cost(**_values(self._budget))
                releases = ask_summary(session, self.guarantee)
                (folder / self.target).mkdir()
                for release in releases:
                    release.to_file(folder / self.target / summary_file(release.query), sign=self.key)
                return releases
            if self.question == "nearest":
                lat, lon = self.at
                place = geopandas.GeoSeries.from_xy([lon], [lat], crs=4326)
                release = session.nearest(place, **_values({**self._own, **self._budget}))
            else:
                release = session.hull(**_values(self._budget))
            release.to_file(folder / self.target, sign=self.key)
            return [release]

    @property
    def _session_keywords(self) -> dict[str, Code]:
        return {**self._budget, **self._units, **self._place, **self._rows}

    # The same, to be copied ----------------------------------------------------------------------------------------

    def python(self) -> str:
        """Return the request as Python code."""
        account = {"ledger": Code("ledger", None), **self._account} if self.choices.ledger else {}
        lines = ["import geopandas"] if self.question in ("counts", "nearest") else []
        lines += ["import pathlib", ""] if self.question == "summary" else []
        lines += ["import geoveil as gv", ""]
        lines += [f"# {PASSWORD}"] if self.has_password else []
        lines += [f"ledger = gv.Ledger({without_password(self.choices.ledger)!r})"] if self.choices.ledger else []
        if self.question == "points":
            lines += self._python_points(account)
        elif self.crowd:
            lines += self._python_crowd(account)
        else:
            lines += self._python_session(account)
        if self.choices.with_truth:
            lines += self._python_truth()
        return "\n".join(lines) + "\n"

    def _python_truth(self) -> list[str]:
        """Return the code of a report with the true locations, which is for their owner alone."""
        where = {"where": Code.of(self.choices.where)} if self.choices.where else {}
        reading = {**self._reading, "missing": Code.of("drop"), **where}
        drawn = f"gv.load({self.target!r})" if self.question == "points" else "release"
        return [
            *statement("truth = gv.read", (self._source,), reading),
            *statement(f"{drawn}.report", (Code.of(TRUE_REPORT),), {"truth": Code("truth", None)}),
        ]

    def _to_file(self, target: str) -> str:
        """Return the arguments of `to_file`."""
        return ", ".join([repr(target), *(f"{name}={code.text}" for name, code in self._signed.items())])

    def _python_points(self, account: dict[str, Code]) -> list[str]:
        first = f"noisy{self.data.released_ending}" if self.motion else self.target
        keywords = {**self._points_keywords, **account, **({} if self.motion else self._signed)}
        lines = statement("release = gv.points_file", (self._source, Code.of(first)), keywords)
        if self.motion:
            how = {"motion": Code.of(self.motion), "times": Code.of(self.time)}
            lines += statement("release = gv.smooth", (Code(f"gv.load({first!r})", None),), how)
            lines.append(f"release.to_file({self._to_file(self.target)})")
        return lines

    def _python_crowd(self, account: dict[str, Code]) -> list[str]:
        keywords, lines = {**self._points_keywords, **account}, []
        if trip := self.options.get("trip"):
            lines += statement("trips = gv.read", (self._source,), {**self._reading, **self._rows})
            keywords = {"trip": Code.of(trip), **self._budget, **self._units, **self._place, **self._own}
            about: tuple[Code, ...] = (Code("trips", None), Code.of(None), Code.of(self.cell))
            lines += statement("release = gv.flows", about, keywords)
        else:
            if self.question == "counts":
                lines.append(f"regions = {self.regions_code.text}")
            what = Code("regions", None) if self.question == "counts" else Code.of(self.cell)
            lines += statement(f"release = gv.{self.question}_file", (self._source, what), keywords)
        return [*lines, f"release.to_file({self._to_file(self.target)})"]

    def _python_session(self, account: dict[str, Code]) -> list[str]:
        lines = statement("trips = gv.read", (self._source,), {**self._reading, "missing": Code.of("keep")})
        lines.append("trips.index = (trips.index + 1).rename('row')  # people count from one")
        keywords = {**self._session_keywords, **account}
        lines += statement("with gv.Session", (Code("trips", None),), keywords, " as session:")
        (budget,) = self._budget.values()
        if self.question == "summary":
            lines = [f"pathlib.Path({self.target!r}).mkdir()", *lines]
            lines.append(f"    shares = {budget.text}.split({len(SUMMARY)})")
            for at, name in enumerate(SUMMARY):
                file = self._to_file(f"{self.target}/{summary_file(name)}")
                lines.append(f"    release = session.{name}({self.guarantee.symbol}=shares[{at}])")
                lines.append(f"    release.to_file({file})")
            return lines
        if self.question == "nearest":
            lat, lon = self.at
            lines.append(f"    place = geopandas.GeoSeries.from_xy([{lon}], [{lat}], crs=4326)")
            place = (Code("place", None),)
            lines += statement("    release = session.nearest", place, {**self._own, **self._budget})
        else:
            lines += statement("    release = session.hull", (), self._budget)
        return [*lines, f"release.to_file({self._to_file(self.target)})"]

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
        if self.crowd:
            unit = self.choices.unit_of(crowd=True)
            unit = ", ".join(unit) if isinstance(unit, tuple) else unit
            words += ["--every", shlex.quote(options["every"])] if options.get("every") else []
        else:
            unit = self.choices.unit_of(crowd=False)
            words += ["--by", shlex.quote(choices.by)] if choices.by is not None else []
            words += ["--pseudonyms"] if choices.pseudonyms and choices.by is not None else []
        words += ["--unit", shlex.quote(unit)] if unit is not None else []
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
