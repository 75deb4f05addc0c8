"""`geoveil check`: tell the owner of a file whether it is ready to be released."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from geoveil.cli import terminal
from geoveil.cli.command import broken, command, gathered
from geoveil.cli.file_arguments import SOURCE, incoming
from geoveil.cli.option_names import OPTIONS
from geoveil.cli.options import as_json, possible
from geoveil.cli.questions import DATA, settings_of
from geoveil.requests.budgets import Budget
from geoveil.requests.file_request import FileSettings
from geoveil.settings import LEVELS
from geoveil.wording import unit_name
from geoveil.words import counted, metres

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from geoveil.privacy import Guarantee
    from geoveil.requests.file_check import Finding, TypicalPerson


#: The word before a finding, and its colour.
_SIGNS = {"good": ("ok", "green"), "note": ("note", "yellow"), "need": ("need", "cyan"), "stop": ("stop", "red")}


@command("Is it ready?", "geoveil check trips.csv --person user --area 37.77,-122.42,50km")
@SOURCE
@possible
@gathered("data", lambda format, **given: (settings_of(given), format), ("person", *DATA))
@as_json
def check(source: str, budget: Budget | None, data: tuple[FileSettings, str | None], as_json: bool) -> None:
    """Check whether a file is ready to be released. Nothing is spent, released or charged.

    The output is about the true data and must not be shared. It ends with the command that releases the file. Exits
    with 3 if something must be stated or corrected first.
    """
    from geoveil.requests.file_check import CheckedFile, Finding

    settings, form = data
    asked = budget or Budget("hide", str(LEVELS["low"]))
    guarantee = asked.protecting(settings.protect)
    with incoming(source, form) as path, terminal.waiting(f"Looking at {path.name}"):
        checked = CheckedFile(path, settings, guarantee)
        found = [*checked.findings()]
    noise = None if checked.typical is None else UnitNoise.of(checked.typical, asked.guarantee)
    if noise is not None:
        found.append(Finding("note", noise.sentence("--privacy low" if budget is None else "this budget")))
    ready = all(finding.kind in ("good", "note") for finding in found)
    line = next_command(source, found, "" if budget is not None else "--privacy low")
    if as_json:
        told = {"ready": ready, "findings": [_data(finding) for finding in found], "next": line}
        terminal.json(told if noise is None else {**told, "noise": noise.data})
    else:
        lines = [
            (terminal.styled(*_SIGNS[finding.kind]), " ".join(finding.told(OPTIONS)).rstrip()) for finding in found
        ]
        terminal.answer(terminal.grid(lines))
        if noise is not None:
            terminal.answer(*noise.table())
        terminal.answer("", terminal.bold(_verdict(found)))
        if line is not None:
            _show_next(line, found, budget is None)
    if not ready:
        click.get_current_context().exit(3)


def _options(finding: Finding) -> str:
    """Return the settings of a finding as options of the command line."""
    from geoveil.geo.proposals import AreaSuggestion

    return " ".join(
        value.option if isinstance(value, AreaSuggestion) else OPTIONS.mention(name, str(value))
        for name, value in finding.settings.items()
    )


def _data(finding: Finding) -> dict[str, str]:
    """Return a finding for programs."""
    what, remedy = finding.told(OPTIONS)
    return {"kind": finding.kind, "what": what, "remedy": remedy, "options": _options(finding)}


def next_command(source: str, found: Sequence[Finding], budget: str = "--privacy low") -> str | None:
    """Return the command that releases a file, or None if something must be corrected first."""
    if any(finding.kind == "stop" for finding in found):
        return None
    typed = click.get_current_context().meta["geoveil.typed"]
    given = [shlex.quote(word) for word in typed if word != "--json"]
    options = [_options(finding) for finding in found if finding.settings]
    return " ".join(filter(None, ["geoveil points", *given, "-o", _target(source), *options, budget]))


def _target(source: str) -> str:
    """Return a name for the released file, in the format of the source if that can be written."""
    from geoveil.geo.formats import targets

    return f"released{targets(Path(source))[0]}"


def _verdict(found: Sequence[Finding]) -> str:
    kinds = {finding.kind for finding in found}
    if "stop" in kinds:
        return "Not ready yet: first correct what is marked with stop."
    return "Nearly ready: add what is marked with need." if "need" in kinds else "Ready."


def _show_next(line: str, found: Sequence[Finding], guessed: bool) -> None:
    """Print the command that releases the file, and say which of its options are suggestions."""
    terminal.answer("", "Next:")
    width = terminal.console().width
    # A backslash continues a command in the shells of Linux and macOS alone.
    for part in [f"  {line}"] if os.name == "nt" else broken(line, width, prompt=" "):
        click.echo(part)
    more = []
    if guessed:
        more.append("--privacy low hides 100 m at 75%: choose what your data needs ('geoveil explain --privacy low').")
    for finding in found:
        option = _options(finding)
        if "person" in finding.settings:
            more.append(
                f"{option} is a guess: keep it only if each person has one value of their own in this column. Leave "
                "it out if all rows are of one person."
            )
        elif "area" in finding.settings:
            more.append(f"{option} was found by looking at the data: replace it if you would have named another area.")
        elif finding.settings:
            more.append(f"{option} removes rows; the certificate states that they were removed.")
    if more:
        terminal.answer("", *more)


#: The options for what is hidden together, by the names of metrics.
_PROTECT = {"1 day": "--protect '1 day'", "1 hour": "--protect '1 hour'", "1": "--protect point"}


class UnitNoise(NamedTuple):
    """The noise of a typical person's points for several units, with all points and after thinning."""

    person: TypicalPerson
    noise: dict[str, float]
    less: dict[str, float]

    @classmethod
    def of(cls, person: TypicalPerson, budget: Guarantee) -> UnitNoise:
        """Return the noise for a budget."""
        return cls(person, person.noise(budget), person.noise(budget, thinned=True) if person.step else {})

    @property
    def data(self) -> dict[str, object]:
        """The comparison for programs."""
        person, told = self.person, {"points": self.person.points, "radius_95": self.noise}
        thinned = {"thin": person.step, "thinned": person.thinned, "radius_95_thinned": self.less}
        return {**told, **(thinned if person.step else {})}

    def sentence(self, budget: str) -> str:
        """Return the comparison in a sentence, with the options to add; units that change nothing are left out."""
        person, names = self.person, [*self.noise]
        sizes = [(self.noise[name], self.less.get(name)) for name in names]
        names = [name for at, name in enumerate(names) if at == 0 or sizes[at] != sizes[at - 1]]
        told = ", ".join(f"{metres(self.noise[name])} for {_protecting(name)}" for name in names)
        whose = "The person" if person.alone else "A typical person"
        said = f"{whose} has {person.points:,} points: with {budget}, noise moves 95% of points by at most {told}."
        if person.step:
            kept = f"{person.step.removeprefix('1 ')} (--thin {person.step!r}), {counted(person.thinned, 'point')}"
            said += f" Thinned to one every {kept}: {', '.join(metres(self.less[name]) for name in names)}."
        return said

    def table(self) -> Iterator[Text | Table]:
        """Yield the comparison as a table."""
        from geoveil.privacy import as_metric

        person, rows = self.person, [(f"all {self.person.points:,} points", *map(metres, self.noise.values()))]
        if person.step:
            kept = f"one every {person.step.removeprefix('1 ')}: {person.thinned:,}"
            rows.append((kept, *map(metres, self.less.values())))
        yield terminal.bold("\nNoise of a point (95%), by what is protected")
        yield terminal.table(["", *(unit_name(as_metric(name)) for name in self.noise)], rows)


def _protecting(name: str) -> str:
    """Return what is protected under the name of a metric, with the option that asks for it."""
    from geoveil.privacy import as_metric

    option = f" ({_PROTECT[name]})" if name in _PROTECT else ""
    return ("whole trajectories" if name == "inf" else unit_name(as_metric(name))) + option
