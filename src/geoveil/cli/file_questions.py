"""Questions about the locations in a file: the code that all commands with a budget share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
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
    Protection,
    account,
    area,
    budget,
    output,
    person,
    protection,
    reading,
    unlabelled,
)
from geoveil.cli.presentation import balances_of, cost_and_error, describe, drawable, report, value_of

if TYPE_CHECKING:
    import pyarrow as pa

    from geoveil import Area, Guarantee, Ledger, Locations, Release

__all__ = ["FileQuestion", "Foreseen", "OpenedFile", "question"]

F = TypeVar("F", bound=Callable[..., Any])


def question(command: F, *, labelled: bool = True, shown: Callable[[F], F] = output) -> F:
    """Add the options of commands that ask about a file; with `labelled`, also --label.

    `shown` adds the options for showing the answer.
    """
    ledger = account if labelled else unlabelled
    for decorate in (reading, ledger, shown, area, protection, budget, person, SOURCE):
        command = decorate(command)
    return command


@dataclass(frozen=True)
class Foreseen:
    """What the error of a question depends on, besides its budget: public numbers of a file.

    Parameters
    ----------
    sizes : list of int
        The number of points that each answer is about.
    largest : list of int, optional
        The largest number of them that are hidden together, where these are not all points of a person.
    persons : list of str, optional
        The labels of the persons, if there are several.
    area : Area
        The area of the file.
    """

    sizes: list[int]
    largest: list[int] | None
    persons: list[Any] | None
    area: Area


@dataclass(frozen=True)
class FileQuestion:
    """The options of a question about a file."""

    source: str
    person: str | None
    budget: Budget
    protection: Protection
    area: dict[str, Any]
    reading: dict[str, Any]
    account: ChargedAccount
    output: Output
    pseudonyms: str | None = None
    together: bool = False

    def __post_init__(self) -> None:
        if self.account.place is not None and self.account.subject is None and self.person is None:
            raise click.UsageError("--ledger needs the accounts to charge: give --subject NAME or --person COLUMN.")
        if self.pseudonyms is not None and (self.person is None or self.together):
            raise click.UsageError("--pseudonyms needs --person COLUMN, and an answer for each person.")
        # Options that contradict each other are refused before anything is read.
        _ = self.guarantee

    @cached_property
    def guarantee(self) -> Guarantee:
        """The guarantee of the answer."""
        crowd = self.together and self.person is not None
        return self.budget.protecting(self.protection.protect, crowd=crowd).guarantee

    @property
    def each(self) -> str | None:
        """The column of persons, if each of them gets an answer."""
        return None if self.together else self.person

    @property
    def title(self) -> str:
        """The name of the data."""
        return "stdin" if self.source == "-" else Path(self.source).name

    @property
    def reading_options(self) -> dict[str, Any]:
        """The options for reading the file and choosing its rows."""
        return {name: value for name, value in self.reading.items() if name != "format"}

    def locations(self, path: Path, ledger: Ledger | None, **more: Any) -> Locations:
        """Return the locations of the file; with a ledger, a session about them.

        `more` are further arguments of `Locations`, such as `progress`.
        """
        import geoveil as gv

        found = gv.Locations(
            path,
            person=self.person,
            protect=self.protection.protect,
            pseudonyms=self.pseudonyms is not None and (self.pseudonyms or True),
            **self.protection.counting,
            **self.area,
            **self.reading_options,
            **more,
        )
        return found if ledger is None else found.session(**self.budget.keywords, **self.account.keywords(ledger))

    def foreseen(self, path: Path, *, released: bool = False) -> Foreseen:
        """Count the points of the file, and refuse what a release would refuse; nothing is charged.

        Columns are looked at only if some are `released`.
        """
        from geoveil.answering.preparation import rehearse

        metric = self.guarantee.metric
        how = {**self.protection.counting, **self.area, **self.reading_options}
        with terminal.waiting("Counting"):
            counted = rehearse(path, guarantee=self.guarantee, by=self.person, released=released, **how)
        sizes: list[int] = counted.people.sizes.tolist()
        largest = sizes if metric.persons and metric.stretch is None else None
        if counted.counted.largest is not None:
            largest = counted.counted.largest.tolist()
        if self.together:
            sizes, largest = [sum(sizes)], None if largest is None else [max(largest)]
        names = counted.people.names
        return Foreseen(sizes, largest, None if names is None else [*names], counted.plane.area)

    @contextmanager
    def source_and_ledger(self) -> Iterator[tuple[Path, Ledger | None]]:
        """Yield the path of the file, and the ledger if there is one."""
        with incoming(self.source, self.reading["format"]) as path, self.account.opened() as ledger:
            yield path, ledger

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
        """Open the file, and the ledger if there is one; nothing is asked yet."""
        from geoveil.release.as_file import endings

        if self.together and self.person is None:
            raise click.UsageError("--together needs --person COLUMN: without it all points are one person's.")
        if self.protection.times and self.protection.thin is None and self.guarantee.metric.stretch is None:
            raise click.UsageError("--time goes with --thin, or with a length of time as --protect.")
        self.check(target or Target(None, None), endings(placed=placed))
        with self.source_and_ledger() as (path, ledger):
            yield OpenedFile(self, path, ledger)

    def tell_earlier(self, path: Path) -> None:
        """Say before a release that it adds up with earlier ones of the same file; a ledger keeps account itself."""
        from geoveil.release_record import ReleaseRecord, adds_up

        record = ReleaseRecord.of_user()
        if record is None or self.account.place is not None:
            return
        # The record never stops a release.
        with suppress(OSError):
            if earlier := record.earlier(path, named=self.source != "-"):
                terminal.note(adds_up(self.title, earlier, self.guarantee).worded(OPTIONS))

    def record(self, path: Path) -> None:
        """Record a release of the file, for later ones."""
        from geoveil.release_record import SETTING, ReleaseRecord

        record = ReleaseRecord.of_user()
        try:
            if record is not None:
                record.add(path, self.guarantee, named=self.source != "-")
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
    """A file that is asked about, and the ledger that is charged."""

    asking: FileQuestion
    path: Path
    ledger: Ledger | None

    def show_plan(self, *names: str, at: tuple[float, float] | None = None, **how: Any) -> None:
        """Show the cost and the error of questions that share the budget, without asking them.

        `at` is the public place of the question, if it has one.
        """
        asking = self.asking
        foreseen = asking.foreseen(self.path)
        if at is not None:
            _check_near(foreseen.area, at)
        told = [
            cost_and_error(name, foreseen, share, self.ledger, asking.account, **how)
            for name, share in zip(names, asking.guarantee.split(len(names)), strict=True)
        ]
        if asking.output.json:
            terminal.json(told[0][0] if len(told) == 1 else [machine for machine, _ in told])
            return
        for name, (_, lines) in zip(names, told, strict=True):
            terminal.answer(terminal.bold(f"{name} of {asking.title}"), terminal.grid(lines))
        terminal.answer("Nothing was released or charged.")

    def ask(self, question: Callable[[Locations], Any], *, several: bool = False) -> Any:
        """Ask one question or several within one budget, which is charged before the data is used."""
        from geoveil import Session

        asking = self.asking
        with terminal.progress(f"Asking about {asking.title}") as tell:
            locations = asking.locations(self.path, self.ledger, progress=tell)
            if several and isinstance(locations, Session) and asking.account.label is None:
                # Either all of them are charged, or none.
                locations.cost(**asking.budget.keywords)
            asking.tell_earlier(self.path)
            found = question(locations)
            asking.record(self.path)
            return found

    def times(self) -> pa.Table:
        """Return the columns of times of all rows, which are public."""
        import pyarrow as pa

        from geoveil.geo.formats import open_locations

        how = {name: value for name, value in self.asking.reading_options.items() if name not in ("where", "missing")}
        file = open_locations(self.path, **how)
        return pa.concat_tables(batch.columns for batch in file.batches([*file.time_columns]))

    def report(self, releases: list[Release], title: str, **more: Any) -> list[tuple[str, str]]:
        """Draw the map, if one was asked for, and return the lines that name its files."""
        return self.asking.report(self.path, self.ledger, releases, title, **more)

    def show(self, release: Release, more: list[tuple[str, str]], table: Callable[[], Any] | None = None) -> None:
        """Show the answer on the terminal, with a table if one is made, or as JSON."""
        if self.asking.output.json:
            terminal.json({"answer": value_of(release), "certificate": release.certificate()})
        else:
            if table is not None:
                terminal.answer(table())
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


def _check_near(area: Area, at: tuple[float, float]) -> None:
    """Refuse a public location far from the area, such as one with a missing minus sign."""
    import numpy as np
    import pyproj

    from geoveil.geo.coordinate_systems import GEOGRAPHIC
    from geoveil.geo.planes import plane_of

    plane_of(pyproj.CRS(GEOGRAPHIC), area).place("p", np.array([at[1], at[0]]))
