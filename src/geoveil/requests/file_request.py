"""A question about the locations in a file: checked, foreseen, run, and shown as a command and as Python code."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from geoveil.errors import GeoveilError, InvalidParameter, Mention, Message
from geoveil.requests.accounts import ChargedAccounts
from geoveil.requests.budgets import Budget, rho_and_epsilon
from geoveil.settings import SETTINGS

if TYPE_CHECKING:
    import geopandas
    import numpy as np
    import pandas as pd

    from geoveil import CrowdRelease, Ledger, Locations, Release, SigningKey
    from geoveil._types import Count, Method, Missing, Order, Outside, Progress
    from geoveil.answering.concerns import Concern
    from geoveil.answering.counted_rows import CountedRows
    from geoveil.certificates import Certificate
    from geoveil.geo.formats import LocationFile
    from geoveil.geo.geometries import Floats
    from geoveil.privacy import Guarantee
    from geoveil.report import Balance, Layer, Report

__all__ = ["CROWD", "PASSWORD", "SUMMARY", "TRUE_REPORT", "FileRequest", "FileSettings", "QuestionOptions"]

#: Questions with one answer about all persons together.
CROWD = ("heatmap", "counts", "flows")
#: The questions of a summary; a third of the budget goes to each.
SUMMARY = ("center", "radius", "bounds")
#: The options that a question takes without a name, in their order.
_UNNAMED = {"heatmap": ("cell",), "counts": ("regions",), "flows": ("cell", "regions"), "nearest": ("at", "k")}
_UNNAMED |= {"first_within": ("at", "radius")}
#: The commands of questions, where these have other names.
_COMMANDS = {"first_within": "within"}
#: The name of a report with the true locations, for their owner alone.
TRUE_REPORT = "report-true-locations.html"
#: The hint on how a command or Python gets the password of a database, which is not part of the code.
PASSWORD = "The password of the database is read from the environment variable PGPASSWORD."
#: The largest length of a line of code.
_WIDE = 88


class ReadingOptions(TypedDict, total=False):
    """How a file is read, where that is not recognised: as for `Locations`."""

    crs: str
    lat: str | Sequence[str]
    lon: str | Sequence[str]
    geometry: str
    delimiter: str
    decimal: str
    encoding: str
    names: str
    layer: str


@dataclass(frozen=True)
class FileSettings:
    """What the data is, and who and what is protected: the arguments of `Locations`."""

    person: str | None = None
    protect: str | None = None
    times: str | Sequence[str] | None = None
    thin: str | None = None
    area: str | None = None
    outside: Outside = "refuse"
    missing: Missing = "refuse"
    where: str | None = None
    pseudonyms: bool | str = False
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def locations(
        self,
        source: Path | pd.DataFrame,
        *,
        overwrite: bool = False,
        sign: SigningKey | None = None,
        progress: Progress | None = None,
        confirm: Callable[[Sequence[Concern]], None] | None = None,
        rng: np.random.Generator | None = None,
    ) -> Locations:
        """Return the locations of a file; those of a frame, of made-up data alone."""
        from geoveil.locations import Locations

        return Locations(
            source,
            person=self.person,
            protect=self.protect,
            times=self.times,
            thin=self.thin,
            area=self.area,
            outside=self.outside,
            missing=self.missing,
            where=self.where,
            pseudonyms=self.pseudonyms,
            overwrite=overwrite,
            sign=sign,
            progress=progress,
            confirm=confirm,
            rng=rng,
            **self.reading,
        )

    @property
    def of_true_rows(self) -> FileSettings:
        """The settings with which the true rows of the file that have a location are read, for their owner."""
        return FileSettings(missing="drop", where=self.where, reading=self.reading)

    def open(self, path: Path) -> LocationFile:
        """Open a file, and read its columns."""
        from geoveil.geo.formats import open_locations

        return open_locations(path, **self.reading).with_persons(self.person)

    def rehearse(
        self, file: LocationFile, guarantee: Guarantee, *, timed: bool = False, released: bool = True
    ) -> CountedRows:
        """Take the steps of a release up to its charge, so that every file that it would refuse is refused now."""
        from geoveil.answering.preparation import rehearse
        from geoveil.answering.settings import Settings

        settings = Settings(
            self.person, self.times, self.thin, self.area, self.outside, self.missing, self.where, self.pseudonyms
        )
        return rehearse(file, settings, guarantee, timed=timed, released=released)


@dataclass(frozen=True)
class QuestionOptions:
    """The options of questions; each question takes some of them. A place is a latitude and a longitude."""

    keep: tuple[str, ...] = ()
    method: Method = "best"
    motion: str | None = None
    at: tuple[float, float] | None = None
    k: int | None = None
    radius: float | None = None
    locations: float | None = None
    cell: float | None = None
    regions: Path | None = None
    name: str | None = None
    trip: str | None = None
    every: str | None = None
    cap: float | None = None
    bandwidth: float | None = None
    at_least: int | None = None
    together: bool = False
    order: Order = "public"
    count: Count = "public"


@dataclass(frozen=True)
class FileRequest:
    """A question about a file, with all that was decided."""

    #: The question, by its name in Python, or "summary".
    question: str
    #: The file, and its name as its owner knows it.
    path: Path
    name: str
    #: What the data is, and who and what is protected.
    settings: FileSettings
    #: The budget.
    budget: Budget
    #: The options of the question.
    options: QuestionOptions = QuestionOptions()
    #: Who is charged.
    account: ChargedAccounts = field(default_factory=ChargedAccounts)
    #: The name of the released file, or of the folder of a summary.
    target: str = ""
    #: The path of the private key that signs certificates; empty if none does.
    sign: str = ""
    #: This key.
    key: SigningKey | None = None
    #: Whether a report with the true locations is written as well, for their owner alone.
    with_truth: bool = False
    #: Whether the path identifies the file for the record of releases; that of a pipe does not.
    named: bool = True
    #: Whether the release is recorded; that of made-up data is not.
    recorded: bool = True
    #: Whether points are released even if their error is hopeless.
    accepted: bool = False
    opened: LocationFile | None = field(default=None, compare=False, repr=False)

    @property
    def crowd(self) -> bool:
        """Whether one answer is about a crowd."""
        return self.question in CROWD

    @cached_property
    def guarantee(self) -> Guarantee:
        """The guarantee of the answer."""
        together = self.crowd or self.options.together
        return self.budget.protecting(self.settings.protect, crowd=together and self.settings.person is not None)

    @cached_property
    def file(self) -> LocationFile:
        """The file, opened."""
        if self.opened is None:
            return self.settings.open(self.path)
        return self.opened.with_persons(self.settings.person)

    @property
    def trips(self) -> bool:
        """Whether each row has an origin and a destination."""
        return self.file.points_in_a_row == 2

    @property
    def times(self) -> tuple[str, ...]:
        """The columns of times, for smoothing: one for each place of a row."""
        return smoothing_times(self.file, as_tuple(self.settings.times))

    @cached_property
    def regions(self) -> geopandas.GeoSeries | str:
        """The public regions, by their names; a text for cells of H3."""
        from geoveil.geo.region_files import is_h3, named_regions

        path, name = self.options.regions, self.options.name
        if path is None:
            raise GeoveilError("No file of public regions is chosen yet.", Message("Choose {regions}."))
        return str(path) if is_h3(path) else named_regions(path, name)

    def written(self, target: Path) -> list[Path]:
        """Return the files of a release, without their certificates."""
        return [target / summary_file(name) for name in SUMMARY] if self.question == "summary" else [target]

    def _is_new_folder(self, target: Path) -> bool:
        return self.question == "summary" and not target.exists()

    # What is refused and foreseen ----------------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse a question that cannot be answered, before the data is used."""
        _ = self.guarantee
        if self.options.regions is not None or self.question == "counts":
            _ = self.regions
        if self.question == "flows" and self.options.trip is not None and self.file.points_in_a_row > 1:
            from geoveil.answering.crowd_requests import two_statements

            raise two_statements(self.options.trip)
        if self.question == "flows" and self.options.trip is None and not self.trips:
            problem = "Flows need to know which points are one trip."
            remedy = Message("Choose {trip}, or a file whose rows have both ends of a trip.")
            raise GeoveilError(problem, remedy)
        if self.options.motion is not None:
            if self.options.order != "public":
                problem = "Points without an order cannot be smoothed as tracks."
                raise GeoveilError(problem, Message("Choose {order:public}, or no smoothing."))
            if self.guarantee.symbol != "rho":
                problem = "Tracks that are released under ε cannot be smoothed."
                raise GeoveilError(problem, Message("Choose {hide} or {rho}, or no smoothing."))
            _ = self.times

    def earlier(self) -> Message | None:
        """Return a warning that earlier releases of the file add up with this one; a ledger keeps account itself."""
        from geoveil.requests.release_record import ReleaseRecord, adds_up

        record = ReleaseRecord.of_user()
        if record is None or self.account.place or not self.recorded:
            return None
        earlier = record.earlier(self.path, named=self.named)
        return adds_up(self.name, earlier, self.guarantee) if earlier else None

    # What is run ---------------------------------------------------------------------------------------------------

    def run(
        self,
        target: Path | None,
        ledger: Ledger | None,
        progress: Progress,
        *,
        confirm: Callable[[Sequence[Concern]], None] | None = None,
        overwrite: bool = False,
    ) -> list[Release]:
        """Charge, draw and write the release; return the answers.

        Parameters
        ----------
        target : Path, optional
            The released file; of a summary, its folder. Points need one.
        ledger : Ledger, optional
            The ledger that is charged.
        progress : callable
            Called with the share of the work that is done. The work stops if it raises an exception.
        confirm : callable, optional
            Called with the concerns about a release of points, before anything is charged. Unless the request is
            `accepted`, a hopeless error is refused then.
        overwrite : bool
            Whether existing files are replaced.
        """
        from geoveil.geo.formats.atomic import check_target

        # A file that could not be written is refused before anything is charged. A new folder has none.
        for path in [] if target is None or self._is_new_folder(target) else self.written(target):
            check_target(path, overwrite=overwrite)
        if self.options.motion is not None:
            check_times(self.file, self.times, self.settings.where)
        locations = self.settings.locations(
            self.path,
            overwrite=overwrite,
            sign=self.key if self.options.motion is None else None,
            progress=progress,
            confirm=partial(self._confirmed, confirm),
        )
        if ledger is not None:
            account = self.account
            locations = locations.session(
                ledger=ledger, subject=account.subject, label=account.label, short=account.short
            )
        if self.question == "points":
            assert target is not None
            return [self._points(locations, target, overwrite)]
        self._confirmed(confirm, self._concerns())
        if self.question != "summary":
            if self.options.at_least is None or target is None:
                return [self.ask(locations, to=target)]
            release = self.ask(locations)
            release.to_file(target, sign=self.key, overwrite=overwrite)
            return [release]
        releases = self._summary(locations)
        if target is not None:
            target.mkdir(exist_ok=overwrite)
            for release, path in zip(releases, self.written(target), strict=True):
                release.to_file(path, sign=self.key, overwrite=overwrite)
        return releases

    def _confirmed(self, confirm: Callable[[Sequence[Concern]], None] | None, concerns: Sequence[Concern]) -> None:
        """Tell of concerns; refuse labels that tell places, and a hopeless error that was not accepted."""
        for concern in concerns:
            if concern.column is not None and not self.releases_labels(concern.column):
                raise GeoveilError(concern)
        if self.question == "points" and any(concern.hopeless for concern in concerns):
            helps = self._help_with_points()
            concerns = [each.helped_by(helps) if each.hopeless else each for each in concerns]
        if confirm is not None:
            confirm(concerns)
        hopeless = [] if self.accepted else [concern for concern in concerns if concern.hopeless]
        if hopeless and not self._smoothing_helps():
            raise GeoveilError(hopeless[0], Message("{request.accepted} releases it nevertheless."))

    def _help_with_points(self) -> list[Message]:
        """Return what helps where released points would be hopeless."""
        from geoveil.advice import help_with_points
        from geoveil.answering.public_rows import PublicRows
        from geoveil.geo.recognition import names_persons

        settings, file = self.settings, self.file
        guarantee = self.budget.protecting(settings.protect)
        timed = bool(settings.times) or len(file.time_columns) == file.points_in_a_row
        try:
            rows = settings.rehearse(file, guarantee, timed=timed, released=False)
        except GeoveilError:
            # Times that cannot be read are no times that help.
            rows = settings.rehearse(file, guarantee, released=False)
        likely = [name for name in file.recognised.persons if names_persons(name)]
        several = [Message("name the column of persons with {person} if there are several")] if likely else []
        return [*([] if settings.person else several), *help_with_points(PublicRows.of(rows), self.budget.guarantee)]

    def _concerns(self) -> list[Concern]:
        """Return the concerns about an answer to another question than points, from public numbers."""
        if self.question == "flows" or self.options.together:
            # Flows that are hopeless are refused in every language; one answer about all persons is hardly ever.
            return []
        from geoveil.advice import concerns_about
        from geoveil.answering.public_rows import PublicRows

        its = self.options
        guarantee = self.budget.protecting(self.settings.protect)
        rows = PublicRows.of(self.settings.rehearse(self.file, guarantee, released=False))
        if self.question == "counts":
            if isinstance(self.regions, str) or not len(areas := district_areas(self.regions)):
                # Most cells of H3 in an area may be empty; only its owner can see where people are.
                return []
            return concerns_about("counts", rows, self.budget.guarantee, districts=areas)
        if self.question == "nearest":
            return concerns_about("nearest", rows, self.budget.guarantee, k=its.k, locations=its.locations)
        return concerns_about(self.question, rows, self.budget.guarantee)

    def releases_labels(self, column: str) -> bool:
        """Return whether the owner said that the labels of persons in this column may be public."""
        return column in self.options.keep

    def _smoothing_helps(self) -> bool:
        """Return whether the tracks will be smoothed, after which their error is not hopeless."""
        if self.options.motion is None:
            return False
        from geoveil.advice import smoothed_hopeless
        from geoveil.answering.public_rows import PublicRows
        from geoveil.postprocess import motion

        settings = replace(self.settings, times=one_or_several(self.times))
        rows = PublicRows.of(settings.rehearse(self.file, self.guarantee, timed=True, released=False))
        return not smoothed_hopeless(rows, self.guarantee, getattr(motion, self.options.motion.upper()))

    def _points(self, locations: Locations, target: Path, overwrite: bool) -> Release:
        """Write every point; of smoothed tracks, only the smoothed ones."""
        from geoveil import load
        from geoveil.geo.formats.workspace import workspace

        motion = self.options.motion
        rho, epsilon = rho_and_epsilon(self.budget.guarantee)
        with ExitStack() as stack:
            first = target
            if motion is not None:
                first = stack.enter_context(workspace(target.absolute().parent)) / target.name
            release = locations.points(
                rho=rho,
                epsilon=epsilon,
                keep=self._kept or None,
                order=self.options.order,
                method=self.options.method,
                to=first,
            )
            if motion is None:
                return release
            tracks = load(first).smooth(motion, times=one_or_several(self.times))
            tracks.to_file(target, sign=self.key, overwrite=overwrite)
            return replace(tracks, removed=release.removed)

    def _summary(self, locations: Locations) -> list[Release]:
        """Ask for center, radius and bounds within one budget: either all of them are charged, or none."""
        from geoveil.locations import Session

        if isinstance(locations, Session) and self.account.label is None:
            rho, epsilon = rho_and_epsilon(self.budget.guarantee)
            locations.cost(rho=rho, epsilon=epsilon)
        return ask_summary(locations, self.guarantee, together=self.options.together, count=self.options.count)

    def ask(
        self,
        locations: Locations,
        to: Path | None = None,
    ) -> Release:
        """Ask the question of data, or of a session about it, and write the answer if a file is named."""
        its, (rho, epsilon) = self.options, rho_and_epsilon(self.budget.guarantee)
        if self.question == "points":
            keep = self._kept or None
            return locations.points(rho=rho, epsilon=epsilon, keep=keep, order=its.order, method=its.method)
        if self.question == "hull":
            return locations.hull(rho=rho, epsilon=epsilon, together=its.together, count=its.count, to=to)
        if self.question == "mean":
            return locations.mean(rho=rho, epsilon=epsilon, together=its.together, count=its.count, to=to)
        if self.question == "nearest":
            assert its.k is not None
            share, together = its.locations, its.together
            return locations.nearest(
                self._place, its.k, rho=rho, epsilon=epsilon, locations=share, together=together, to=to
            )
        if self.question == "first_within":
            assert its.radius is not None
            return locations.first_within(
                self._place, its.radius, rho=rho, epsilon=epsilon, together=its.together, to=to
            )
        crowd = self._ask_crowd(locations, to)
        return crowd if its.at_least is None else crowd.at_least(its.at_least)

    def _ask_crowd(self, locations: Locations, to: Path | None) -> CrowdRelease:
        """Ask a question about all persons together."""
        its, (rho, epsilon) = self.options, rho_and_epsilon(self.budget.guarantee)
        counting: Counting = {"every": its.every, "cap": its.cap, "bandwidth": its.bandwidth}
        if self.question == "counts":
            return locations.counts(self.regions, rho=rho, epsilon=epsilon, **counting, to=to)
        if self.question == "heatmap":
            assert its.cell is not None
            return locations.heatmap(its.cell, rho=rho, epsilon=epsilon, **counting, to=to)
        assert self.question == "flows"
        between = self.regions if its.cell is None else its.cell
        return locations.flows(between, rho=rho, epsilon=epsilon, trip=its.trip, **counting, to=to)

    @property
    def _kept(self) -> list[str]:
        """The columns to be released; those of times are named without their unit."""
        from geoveil.geo.seconds import time_column

        return [str(time_column(name, self.file.columns)) for name in self.options.keep]

    @property
    def _place(self) -> geopandas.GeoSeries:
        assert self.options.at is not None
        return public_place(self.options.at)

    def record(self) -> None:
        """Record the release, for later ones of the same file; raises OSError if it cannot be written."""
        from geoveil.requests.release_record import ReleaseRecord

        record = ReleaseRecord.of_user()
        if record is not None and self.recorded:
            record.add(self.path, self.guarantee, named=self.named)

    def layers(self, releases: Sequence[Release], target: Path | None, *, truth: bool = False) -> list[Layer]:
        """Return the layers that show the answers; the true locations, for their owner alone, are below them."""
        from geoveil import load
        from geoveil.geo.coordinate_systems import offline
        from geoveil.release.as_layers import truth_layer

        shown = [load(target)] if self.question == "points" and target is not None else releases
        layers = [layer for release in shown for layer in release.layers()]
        if truth:
            with offline():
                layers.insert(0, truth_layer(self.true_rows(), shown[0]))
        return layers

    def true_rows(self) -> geopandas.GeoDataFrame:
        """Read the true rows of the file that have a location, for their owner."""
        return self.settings.of_true_rows.locations(self.path).frame()

    def report(
        self,
        title: str,
        releases: Sequence[Release],
        layers: Sequence[Layer],
        balances: Sequence[Balance],
        *,
        basemap: str | None = None,
        width: float | None = None,
    ) -> Report:
        """Return the report of the answers, with the layers of its map."""
        from geoveil.release.attackers import attackers_gains
        from geoveil.report import Report

        several = len(releases) > 1
        whole, different, remarks = combined(releases, self.guarantee) if several else (releases[0], {}, ())
        certificate = whole.certificate() | different
        drawn, paid = tuple(layers), tuple(balances)
        gains = () if several else attackers_gains(whole)
        facts = whole.facts()
        return Report(title, drawn, facts, certificate, paid, remarks, attacker=gains, basemap=basemap, width=width)

    # The same, to be copied ----------------------------------------------------------------------------------------

    @property
    def has_password(self) -> bool:
        """Whether the address of the ledger holds a password, which commands do not state."""
        return self._ledger != self.account.place

    @property
    def _ledger(self) -> str:
        from geoveil.budget.stores import without_password

        return without_password(self.account.place)

    def command(self) -> str:
        """Return the request as a command."""
        words = ["geoveil", _COMMANDS.get(self.question, self.question), _path(self.name), "-o", self.target]
        own = {"sign": self.sign or None, "ledger": self._ledger or None, "subject": self.account.subject}
        kept = [name for name in self.options.keep if name not in as_tuple(self.settings.times)]
        stated = {**_stated(self.options), **_stated(self.settings), **own, "keep": tuple(kept)}
        for name, value in stated.items():
            option = SETTINGS[name].option
            for each in value if isinstance(value, tuple) and name != "at" else (value,):
                if each is None:
                    continue
                words.append(option if each is True else _option(option, each))
        words.append(_option(*self.budget.option))
        words += ["--yes"] if self.accepted else []
        words += ["--report", TRUE_REPORT, "--with-truth"] if self.with_truth else []
        return " ".join(words)

    def python(self) -> str:
        """Return the request as Python code."""
        question, its, target = self.question, self.options, self.target
        lines = ["import geopandas"] if its.name is not None or its.at is not None else []
        lines += ["import pathlib", ""] if question == "summary" else []
        lines += ["import geoveil as gv", ""]
        account = {"ledger": "ledger"} if self.account.place else {}
        if account:
            lines += [f"# {PASSWORD}"] if self.has_password else []
            lines.append(f"ledger = gv.Ledger({self._ledger!r})")
            account |= {"subject": repr(self.account.subject)} if self.account.subject is not None else {}
        if its.regions is not None and its.name is not None:
            lines.append(f"regions = geopandas.read_file({its.regions.name!r}).set_index({its.name!r}).geometry")
        data = {name: _code(value) for name, value in _stated(self.settings).items()}
        lines += _call("trips = gv.Locations", [repr(self.name)], data | self._signed)
        name, value = self.budget.argument
        budget = {name: repr(value)}
        lines += self._python_summary(budget | account) if question == "summary" else []
        lines += self._python_answer(budget, account) if question != "summary" else []
        if self.with_truth:
            truth = {name: _code(value) for name, value in _stated(self.settings.of_true_rows).items()}
            drawn = f"gv.load({target!r})" if question == "points" else "release"
            lines += _call("truth = gv.Locations", [repr(self.name)], truth, ".frame()")
            lines += _call(f"{drawn}.report", [repr(TRUE_REPORT)], {"truth": "truth"})
        return "\n".join(lines) + "\n"

    @property
    def _signed(self) -> dict[str, str]:
        return {"sign": repr(self.sign)} if self.sign else {}

    def _python_answer(self, budget: dict[str, str], account: dict[str, str]) -> list[str]:
        its, target, question, lines = self.options, self.target, self.question, []
        if its.at is not None:
            lines.append(f"place = geopandas.GeoSeries.from_xy([{its.at[1]}], [{its.at[0]}], crs=4326)")
        lines += _call("session = trips.session", [], account) if account else []
        # Values that have a name of their own in the code.
        named = {"at": "place"} | ({} if its.name is None else {"regions": "regions"})
        own = {name: named.get(name) or _code(value) for name, value in _stated(its).items() if name != "name"}
        motion, least = own.pop("motion", None), own.pop("at_least", None)
        if question != "points":
            own.pop("keep", None)
        unnamed = [own.pop(name) for name in _UNNAMED.get(question, ()) if name in own]
        first = target if motion is None else f"noisy{Path(target).suffix}"
        asked = "session" if account else "trips"
        to = {"to": repr(first)} if least is None else {}
        lines += _call(f"release = {asked}.{question}", unnamed, own | budget | to)
        if least is not None:
            lines.append(f"release = release.at_least({least})")
            lines += _call("release.to_file", [repr(target)], self._signed)
        if motion is not None:
            lines += _call(
                f"release = gv.load({first!r}).smooth", [motion], {"times": repr(one_or_several(self.times))}
            )
            lines += _call("release.to_file", [repr(target)], self._signed)
        return lines

    def _python_summary(self, total: dict[str, str]) -> list[str]:
        target = self.target
        lines = [f"pathlib.Path({target!r}).mkdir()"]
        lines += _call("with trips.session", [], total, " as session:")
        lines.append(f"    shares = session.total.split({len(SUMMARY)})")
        together = ", together=True" if self.options.together else ""
        together += ', count="hidden"' if self.options.count == "hidden" else ""
        for at, name in enumerate(SUMMARY):
            lines.append(f"    release = session.{name}({self.guarantee.symbol}=shares[{at}]{together})")
            lines += _call("    release.to_file", [repr(f"{target}/{summary_file(name)}")], self._signed)
        return lines


def district_areas(regions: geopandas.GeoSeries) -> Floats:
    """Return the areas of public regions in m²."""
    # Lambert's cylindrical projection keeps areas.
    areas: Floats = regions.to_crs("EPSG:6933").area.to_numpy()
    return areas[areas > 0]


class Counting(TypedDict):
    """The options that all questions about a crowd share."""

    every: str | None
    cap: float | None
    bandwidth: float | None


def ask_summary(
    locations: Locations, guarantee: Guarantee, *, together: bool = False, count: Count = "public"
) -> list[Release]:
    """Ask for center, radius and bounds within one budget.

    Parameters
    ----------
    locations : Locations
        The data, or a session about it.
    guarantee : CGP or GP
        The guarantee of the three answers together.
    together : bool
        Whether each is about all persons, rather than one for each.
    count : {"public", "hidden"}
        Whether the number of a person's points is public.

    Examples
    --------
    >>> with gv.Locations(np.zeros((9, 2))).session(rho=3e-4) as session:
    ...     [release.query for release in ask_summary(session, gv.CGP(rho=3e-4))]
    ['center', 'radius', 'bounds']
    """
    questions = (locations.center, locations.radius, locations.bounds)
    shares = map(rho_and_epsilon, guarantee.split(len(SUMMARY)))
    return [
        ask(rho=rho, epsilon=epsilon, together=together, count=count)
        for ask, (rho, epsilon) in zip(questions, shares, strict=True)
    ]


def summary_file(question: str) -> str:
    """Return the file name of one of the answers; a radius has no location, so its file is a table."""
    return f"{question}.csv" if question == "radius" else f"{question}.geojson"


def combined(releases: Sequence[Release], guarantee: Guarantee) -> tuple[Release, Certificate, tuple[str, ...]]:
    """Return all answers as one release for a report, the entries of its certificate that differ, and remarks."""
    from geoveil.facts import Processing
    from geoveil.facts.wording import error_line

    # Each answer has its own error bound, and none holds for all three.
    whole = replace(releases[0], guarantee=guarantee, processing=Processing(bounded=False, combined=True))
    mechanisms = [step for release in releases for step in release.certificate()["mechanism"]]
    remarks = (f"Error of the {each.query}: {error_line(each.facts(every_error=False))}." for each in releases)
    return whole, {"query": "center, radius and bounds", "mechanism": mechanisms}, tuple(remarks)


def smoothing_times(file: LocationFile, given: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of times for smoothing: those that are given, or that are recognised.

    There is one for each place of a row. If a row has one place, the first column that is recognised is taken; if its
    places are the points of a line, there may be one for each of these.
    """
    from geoveil.geo.point_times import chosen_time_columns

    each, known = file.points_in_a_row, file.time_columns
    if each == 1:
        each, known = max(each, len(given)), known[:1]
    return chosen_time_columns([*given] or None, known, [*file.columns], each, file.path.name, apart=True)


def check_times(file: LocationFile, columns: Sequence[str], where: str | None = None) -> None:
    """Refuse times that cannot be read or by which places cannot be smoothed, before anything is charged.

    Times are public.
    """
    import numpy as np
    import pandas as pd

    from geoveil.geo.point_times import check_apart, in_rows
    from geoveil.geo.seconds import seconds_of, without_time

    chosen, before, rows, times = file.row_filter(where), 0, [], []
    for batch in file.batches([*dict.fromkeys([*columns, *(() if chosen is None else chosen.columns)])]):
        there, _ = batch.selected(None, where=chosen, missing="drop", outside="refuse")
        rows.append(there.rows + before)
        times.append(there.columns.select([*dict.fromkeys(columns)]).to_pandas(ignore_metadata=True))
        before += len(there)
    frame, points = pd.concat(times, ignore_index=True), np.concatenate(rows)
    for name in columns:
        if without := int(without_time(frame[name]).sum()):
            column = name if name.isidentifier() else f'("{name}")'
            condition = f"{column} is not null" if where is None else f"({where}) and {column} is not null"
            remedy = Message("Leave them out with {where}.", where=Mention("where", condition))
            raise InvalidParameter("times", name, f"a time in each row; rows without one: {without:,}", remedy)
    seconds = seconds_of(in_rows([frame[name] for name in columns], columns), ", ".join(columns))
    if len(columns) > 1 and (np.bincount(points) != len(columns)).any():
        allowed = "one column of times, or one for each point of a row where all rows have as many"
        raise InvalidParameter("times", [*columns], allowed, "Name one column.")
    check_apart(points, seconds if len(columns) > 1 else seconds[points])


def one_or_several(columns: tuple[str, ...]) -> str | list[str]:
    """Return names of columns as an argument: one as a text."""
    return columns[0] if len(columns) == 1 else [*columns]


def as_tuple(columns: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of columns, given as one or several."""
    return (columns,) if isinstance(columns, str) else tuple(columns or ())


def public_place(at: tuple[float, float]) -> geopandas.GeoSeries:
    """Return a latitude and a longitude as an argument of a question."""
    import geopandas

    return geopandas.GeoSeries.from_xy([at[1]], [at[0]], crs=4326)


def _stated(record: FileSettings | QuestionOptions) -> dict[str, object]:
    """Return the settings whose values are not the default, by their names."""
    reading = record.reading if isinstance(record, FileSettings) else {}
    stated = {each.name: (getattr(record, each.name), each.default) for each in fields(record)}
    return {
        name: value for name, (value, default) in stated.items() if value != default and name != "reading"
    } | reading


def _option(name: str, value: object) -> str:
    """Return an option with its value, quoted for a shell."""
    if isinstance(value, tuple):
        value = ",".join(map(str, value))
    if isinstance(value, Path):
        return f"{name} {_path(value.name)}"
    if name in ("--cell", "--bandwidth") and isinstance(value, float):
        value = f"{value / 1000:g}km" if value >= 1000 else f"{value:g}m"
    text = shlex.quote(str(value))
    # A value that begins with a dash must not be read as an option.
    return f"{name}={text}" if text.startswith("-") or name == "--at" else f"{name} {text}"


def _path(name: str) -> str:
    """Return the path of a file, quoted for a shell; a leading dash must not be read as an option."""
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


def _code(value: object) -> str:
    return repr([*value] if isinstance(value, tuple) else value)


def _call(head: str, unnamed: Sequence[str], named: dict[str, str], tail: str = "") -> list[str]:
    """Return the lines of a call that begins with `head`; in a long call, each argument has its own line.

    Examples
    --------
    >>> _call("x = f", ["1"], {"rho": "2"})
    ['x = f(1, rho=2)']
    """
    arguments = [*unnamed, *(f"{name}={text}" for name, text in named.items())]
    line = f"{head}({', '.join(arguments)}){tail}"
    if len(line) <= _WIDE:
        return [line]
    indent = " " * (len(head) - len(head.lstrip()))
    return [f"{head}(", *(f"{indent}    {argument}," for argument in arguments), f"{indent}){tail}"]
