"""`geoveil check`: tell the owner of a file whether it is ready to be released."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geoveil.cli import terminal
from geoveil.cli.command import Command, broken
from geoveil.cli.file_arguments import SOURCE, incoming
from geoveil.cli.option_names import OPTIONS
from geoveil.cli.options import Budget, Protection, area, as_json, person, possible, protection, reading
from geoveil.protection import LEVELS
from geoveil.wording import unit_name
from geoveil.words import counted, metres

if TYPE_CHECKING:
    from geoveil.file_check import Finding
    from geoveil.privacy import Guarantee
    from geoveil.unit_noise import NoiseOfUnits


#: The word before a finding, and its colour.
_SIGNS = {"good": ("ok", "green"), "note": ("note", "yellow"), "need": ("need", "cyan"), "stop": ("stop", "red")}


@click.command(
    cls=Command,
    examples=(("Is it ready?", "geoveil check trips.csv --person user --area 37.77,-122.42,50km"),),
)
@SOURCE
@person
@possible
@protection
@area
@reading
@as_json
def check(
    source: str,
    person: str | None,
    budget: Budget | None,
    protection: Protection,
    area: dict[str, Any],
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Check whether a file is ready to be released. Nothing is spent, released or charged.

    The output is about the true data and must not be shared. It ends with the command that releases the file. Exits
    with 3 if something must be stated or corrected first.
    """
    from geoveil.file_check import CheckedFile, Finding

    asked = budget or Budget(_lowest())
    guarantee = asked.protecting(protection.protect).guarantee
    with incoming(source, reading.pop("format")) as path, terminal.waiting(f"Looking at {path.name}"):
        checked = CheckedFile(path, person, area, reading, protection.counting, guarantee)
        found = [*checked.findings()]
    noise = None if checked.typical is None else checked.typical.noise(asked.guarantee)
    if noise is not None:
        found.append(Finding("note", _compared(noise, "--privacy low" if budget is None else "this budget")))
    ready = all(finding.kind in ("good", "note") for finding in found)
    line = next_command(source, found, "" if budget is not None else "--privacy low")
    if as_json:
        told = {"ready": ready, "findings": [_data(finding) for finding in found], "next": line}
        terminal.json(told if noise is None else {**told, "noise": noise.data()})
    else:
        lines = [
            (terminal.styled(*_SIGNS[finding.kind]), " ".join(finding.told(OPTIONS)).rstrip()) for finding in found
        ]
        terminal.answer(terminal.grid(lines))
        if noise is not None:
            terminal.answer(*_table(noise))
        terminal.answer("", terminal.bold(_verdict(found)))
        if line is not None:
            _show_next(line, found, budget is None)
    if not ready:
        click.get_current_context().exit(3)


def _options(finding: Finding) -> str:
    """Return the settings of a finding as options of the command line."""
    return " ".join(
        value.option if name == "area" else OPTIONS.mention(name, str(value))
        for name, value in finding.settings.items()
    )


def _data(finding: Finding) -> dict[str, str]:
    """Return a finding for programs."""
    what, remedy = finding.told(OPTIONS)
    return {"kind": finding.kind, "what": what, "remedy": remedy, "options": _options(finding)}


def _lowest() -> Guarantee:
    """Return the guarantee of the lowest level of privacy, the default of this command."""
    from geoveil.privacy import CGP

    return CGP.hiding(distance=LEVELS["low"], chance=0.75)


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


def _compared(noise: NoiseOfUnits, budget: str) -> str:
    """Return the noise of several units in a sentence, with the options to add."""
    whose = "The person" if noise.alone else "A typical person"
    names = noise.differing()
    told = [f"{metres(noise.noise[name])} for {_protecting(name)}" for name in names]
    said = f"{whose} has {noise.points:,} points: with {budget}, noise moves 95% of points by at most "
    said += f"{', '.join(told)}."
    if noise.step:
        kept = noise.step.removeprefix("1 ")
        said += f" Thinned to one every {kept} (--thin {noise.step!r}), {counted(noise.thinned, 'point')}: "
        said += f"{', '.join(metres(noise.less[name]) for name in names)}."
    return said


def _protecting(name: str) -> str:
    """Return what is protected under the name of a metric, with the option that asks for it."""
    from geoveil.privacy import as_metric

    option = f" ({_PROTECT[name]})" if name in _PROTECT else ""
    return ("whole trajectories" if name == "inf" else unit_name(as_metric(name))) + option


def _table(noise: NoiseOfUnits) -> Iterator[Any]:
    """Yield the noise of several units as a table."""
    from geoveil.privacy import as_metric

    rows = [(f"all {noise.points:,} points", *map(metres, noise.noise.values()))]
    if noise.step:
        kept = f"one every {noise.step.removeprefix('1 ')}: {noise.thinned:,}"
        rows.append((kept, *map(metres, noise.less.values())))
    yield terminal.bold("\nNoise of a point (95%), by what is protected")
    yield terminal.table(["", *(unit_name(as_metric(name)) for name in noise.noise)], rows)
