"""Questions about the locations in a file: the code that all commands with a budget share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from geoveil.cli import terminal
from geoveil.cli.file_arguments import SOURCE, Target, distinct, incoming
from geoveil.cli.option_names import OPTIONS
from geoveil.cli.options import (
    Budget,
    ChargedAccount,
    Output,
    Protected,
    account,
    area,
    budget,
    output,
    persons,
    protection,
    pseudonyms,
    reading,
    unit_named,
    unlabelled,
)
from geoveil.cli.presentation import balances_of, cost_and_error, describe, drawable, report, value_of

if TYPE_CHECKING:
    import geopandas
    import pyproj

    from geoveil import Ledger, Release, Session

__all__ = ["FileQuestion", "OpenedFile", "question"]

F = TypeVar("F", bound=Callable[..., Any])


def question(command: F, *, labelled: bool = True, shown: Callable[[F], F] = output) -> F:
    """Add the options of commands that ask about a file; with `labelled`, also --label.

    `shown` adds the options for showing the answer.
    """
    ledger = account if labelled else unlabelled
    for decorate in (reading, ledger, shown, area, protection, budget, pseudonyms, persons, SOURCE):
        command = decorate(command)
    return command


@dataclass(frozen=True)
class FileQuestion:
    """The options of a question about a file."""

    source: str
    by: str | None
    pseudonyms: str | None
    budget: Budget
    protection: Protected
    area: dict[str, Any]
    reading: dict[str, Any]
    account: ChargedAccount
    output: Output

    @property
    def persons(self) -> dict[str, Any]:
        """The options about persons and the unit of protection, as arguments of a question."""
        return {
            **self.protection.keywords,
            "by": self.by,
            "pseudonyms": self.pseudonyms is not None and (self.pseudonyms or True),
        }

    @property
    def counted(self) -> dict[str, Any]:
        """The options that decide how many points a person has in a unit, as arguments of `rehearse`."""
        return {name: value for name, value in self.persons.items() if name not in ("unit", "pseudonyms")}

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", self.protection.promised(self.budget, self.by))
        nobody = self.account.subject is None and self.by is None and not self.crowd
        if self.account.place is not None and nobody:
            raise click.UsageError("--ledger needs the accounts to charge: give --subject NAME or --by COLUMN.")
        if self.pseudonyms is not None and self.by is None:
            raise click.UsageError("--pseudonyms needs --by COLUMN, the column of persons.")

    @property
    def crowd(self) -> bool:
        """Whether one answer is about many persons, whose column --unit names."""
        return self.budget.guarantee.metric.persons

    @property
    def title(self) -> str:
        """The name of the data."""
        return "stdin" if self.source == "-" else Path(self.source).name

    @property
    def reading_options(self) -> dict[str, Any]:
        """The options for reading the file and choosing its rows."""
        return {name: value for name, value in self.reading.items() if name != "format"}

    @property
    def rows(self) -> dict[str, Any]:
        """The options for choosing rows: --where and --missing."""
        return {name: self.reading.get(name) for name in ("where", "missing")}

    @contextmanager
    def source_and_ledger(self) -> Iterator[tuple[Path, Ledger | None]]:
        """Yield the path of the file, and the ledger if there is one."""
        with incoming(self.source, self.reading["format"]) as path, self.account.opened() as ledger:
            yield path, ledger

    def area_of(self, crs: pyproj.CRS) -> Any:
        """Return the area in whose plane noise is added to data of a coordinate system."""
        from geoveil.geo.planes import plane_of

        return plane_of(crs, self.area["area"]).area

    def check_near(self, crs: pyproj.CRS, at: tuple[float, float]) -> None:
        """Refuse a public location far from the area, such as one with a missing minus sign."""
        import numpy as np
        import pyproj

        from geoveil.geo.coordinate_systems import GEOGRAPHIC
        from geoveil.geo.planes import plane_of

        plane_of(pyproj.CRS(GEOGRAPHIC), self.area_of(crs)).place("p", np.array([at[1], at[0]]))

    def check(self, target: Target, endings: Sequence[str]) -> None:
        """Refuse outputs that cannot be written, before anything is charged."""
        if target.path == "-" and self.output.json:
            raise click.UsageError("-o - and --json both write to stdout: name a file with -o.")
        named = {"FILE": self.source, "-o": target.path, "--certificate": target.certificate}
        named |= {**self.output.drawing.files, "--ledger": self.account.place}
        distinct({**named, "--pseudonyms": self.pseudonyms or None})
        target.check(endings)
        drawable(self.output)

    @contextmanager
    def opened(self, target: Target | None = None, *, placed: bool = True) -> Iterator[OpenedFile]:
        """Read the file and open the ledger, if there is one; nothing is asked yet."""
        from geoveil.files import frame_of
        from geoveil.geo.formats import open_locations
        from geoveil.release.as_file import endings

        if self.protection.times and self.protection.thin is None and self.budget.guarantee.metric.stretch is None:
            raise click.UsageError("--time goes with --thin, or with a length of time as --unit.")
        self.check(target or Target(None, None), endings(placed=placed))
        with self.source_and_ledger() as (path, ledger):
            with terminal.waiting(f"Reading {path.name}"):
                how = {name: value for name, value in self.reading_options.items() if name not in self.rows}
                frame = frame_of(open_locations(path, **how), missing="keep")
            self._check_columns(frame)
            # People count rows from one.
            frame.index = (frame.index + 1).rename("row")
            yield OpenedFile(self, path, frame, self._chosen(frame, path.name), ledger)

    def _check_columns(self, frame: geopandas.GeoDataFrame) -> None:
        """Refuse a column of persons that the file does not have."""
        named = unit_named(self.protection.unit) if self.crowd else None
        column = named[0] if isinstance(named, tuple) else named
        for option, name in (("--by", self.by), ("--unit", column)):
            if name is not None and name not in frame:
                columns = ", ".join(str(each) for each in frame if each != frame.geometry.name)
                raise click.UsageError(f"{option} {name}: there is no such column. The columns are {columns}.")

    def _chosen(self, frame: geopandas.GeoDataFrame, name: str) -> Any:
        """Return the rows that are asked about; refuse locations by the row of the file that they are in."""
        import numpy as np

        from geoveil.geo.geometries import vertices
        from geoveil.geo.planes import plane_of
        from geoveil.geo.row_locations import GeometryRows
        from geoveil.geo.row_selection import row_filter, select_rows

        plane, outside = plane_of(frame.crs, self.area["area"]), self.area["outside"]
        locations = GeometryRows(frame)
        rows = select_rows(
            locations,
            plane,
            row_filter(locations, self.rows["where"]),
            missing=self.rows["missing"],
            outside=outside,
            name=lambda row: f"{name}, row {frame.index[row]}",
        ).rows
        left = frame if rows is None else frame[rows]
        coords, of = vertices(np.asarray(left.geometry.array))
        if len(coords):
            plane.enter(coords, outside, lambda point: f"{name}, row {left.index[of[point]]}")
        return left

    def tell_earlier(self, path: Path) -> None:
        """Say before a release that it adds up with earlier ones of the same file; a ledger keeps account itself."""
        from geoveil.release_record import ReleaseRecord, adds_up

        record = ReleaseRecord.of_user()
        if record is None or self.account.place is not None:
            return
        # The record never stops a release.
        with suppress(OSError):
            if earlier := record.earlier(path, named=self.source != "-"):
                terminal.note(adds_up(self.title, earlier, self.budget.guarantee).worded(OPTIONS))

    def record(self, path: Path) -> None:
        """Record a release of the file, for later ones."""
        from geoveil.release_record import SETTING, ReleaseRecord

        record = ReleaseRecord.of_user()
        try:
            if record is not None:
                record.add(path, self.budget.guarantee, named=self.source != "-")
        except OSError as problem:
            lost = "A later release will not mention this one, as the record of releases could not be written"
            terminal.note(f"{lost} ({problem}); {SETTING}=off keeps none.")

    def report(
        self, path: Path, ledger: Ledger | None, releases: Sequence[Release], title: str, **more: Any
    ) -> list[tuple[str, str]]:
        """Draw the map, if one was asked for, and return the lines that name its files."""
        if not self.output.drawing.files:
            return []
        balances = balances_of(ledger, self.account)
        truth = (path, {**self.reading_options, "missing": "drop"})
        report(self.output, title, releases, truth=truth, balances=balances, **more)
        return self.output.drawing.lines


@dataclass(frozen=True)
class OpenedFile:
    """A file that was read, and the ledger that is charged."""

    asking: FileQuestion
    path: Path
    #: All rows of the file, and those that are asked about.
    frame: geopandas.GeoDataFrame
    chosen: Any
    ledger: Ledger | None

    def show_plan(self, *names: str, **how: Any) -> None:
        """Show the cost and the error of questions that share the budget, without asking them."""
        shares = self.asking.budget.guarantee.split(len(names))
        data = self._taken_in()
        sizes, largest = data.counts(self.asking.budget.guarantee.metric)
        people = data.people or data.crowd
        persons = None if people is None else people.labels.to_list()
        known = self.asking.area_of(self.frame.crs), self.ledger, self.asking.account, persons
        told = [
            cost_and_error(name, sizes, share, *known, largest=largest, **how)
            for name, share in zip(names, shares, strict=True)
        ]
        if self.asking.output.json:
            terminal.json(told[0][0] if len(told) == 1 else [machine for machine, _ in told])
            return
        for name, (_, lines) in zip(names, told, strict=True):
            terminal.answer(terminal.bold(f"{name} of {self.asking.title}"), terminal.grid(lines))
        terminal.answer("Nothing was released or charged.")

    def _taken_in(self) -> Any:
        """Return the data that questions are about, checked as when they are asked."""
        from geoveil.files import take_in, unit_of

        given = {**self.asking.protection.keywords}
        unit = unit_of(given.pop("unit", None), by=self.asking.by)
        return take_in(self.frame, by=self.asking.by, unit=unit, **given, **self.asking.area, **self.asking.rows)

    def ask(self, questions: Callable[[Session], list[Release]], *, several: bool = False) -> list[Release]:
        """Ask one question or several within one budget, which is charged before the data is used."""
        from geoveil import Session

        asking = self.asking
        whose = {**asking.persons, "label": asking.account.label, **asking.account.keywords(self.ledger)}
        spent = asking.budget.keywords
        with (
            terminal.progress(f"Asking about {asking.title}") as tell,
            Session(self.frame, **spent, **asking.area, **asking.rows, **whose, progress=tell) as session,
        ):
            if several and asking.account.label is None:
                # Either all of them are charged, or none.
                session.cost(**spent)
            asking.tell_earlier(self.path)
            found = questions(session)
            asking.record(self.path)
            return found

    def report(self, releases: list[Release], title: str, **more: Any) -> list[tuple[str, str]]:
        """Draw the map, if one was asked for, and return the lines that name its files."""
        return self.asking.report(self.path, self.ledger, releases, title, **more)

    def show(self, release: Release, more: list[tuple[str, str]], *parts: Any) -> None:
        """Show the answer on the terminal, or as JSON."""
        if self.asking.output.json:
            terminal.json({"answer": value_of(release), "certificate": release.certificate()})
        else:
            terminal.answer(*parts)
            describe(release, more=more)

    def write(self, release: Release, target: Target, *, placed: bool = True) -> list[tuple[str, str]]:
        """Write the release to a file, if one was named, and return the lines that name it."""
        from geoveil.release.as_file import endings

        if target.path is not None:
            with (
                terminal.waiting(f"Writing {target.name}"),
                target.opened(endings(placed=placed)[0]) as (path, overwrite),
            ):
                release.to_file(path, sign=target.key, overwrite=overwrite)
        return target.lines
