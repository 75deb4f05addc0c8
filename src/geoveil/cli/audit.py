"""`geoveil audit`: whether any tool gives away more than it claims."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geoveil.cli import terminal
from geoveil.cli.command import Option, Program, command, gathered, setting
from geoveil.cli.file_arguments import distinct, writable
from geoveil.cli.options import PRINTING, Output, budget_of_all, output_of, possible
from geoveil.requests.budgets import Budget, rho_and_epsilon
from geoveil.text.words import counted

if TYPE_CHECKING:
    from geoveil.audit import Audit

_MADE = "geoveil audit make -o canaries.csv --secret audit.json --hide 200m --area 37.77,-122.42,20km"
_READ = "geoveil audit read released.csv --secret audit.json"


@click.group(
    cls=Program,
    examples=(
        ("Persons who do not exist, for a tool that claims to hide 200 m:", _MADE),
        ("What the tool made of them:", _READ),
    ),
)
def audit() -> None:
    """Find out whether a tool gives away more than it claims, from its files alone."""


_canaries: dict[str, Any] = {"cls": Option, "heading": "Canaries"}


@command(
    "For a tool that claims to hide 200 m:",
    _MADE,
    "Ten points of each person, among a made-up crowd, as tracks:",
    "geoveil audit make -o canaries.gpx --secret audit.json --hide 200m --area 37.77,-122.42,20km --pings 10 "
    "--crowd 500 --canaries 500",
    "Twenty files, for a bound that holds whatever the noise of persons has to do with each other:",
    "geoveil audit make -o made --runs 20 --secret audit.json --hide 200m --area 37.77,-122.42,20km --canaries 200",
    group=audit,
)
@setting(
    "target",
    required=True,
    help="The file of canaries: .csv, .tsv, .gpx, .geojson, .parquet or .gpkg. With --runs, a folder.",
)
@click.option(
    "--secret",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False),
    cls=Option,
    help="Where each canary is, for 'geoveil audit read'. Keep it from whoever runs the tool.",
)
@budget_of_all
@setting("area", required=True, heading="Canaries")
@click.option("--canaries", default=2000, show_default=True, metavar="N", help="The number of canaries.", **_canaries)
@click.option(
    "--pings",
    default=1,
    show_default=True,
    metavar="N",
    help="The points of each canary, all at one place.",
    **_canaries,
)
@click.option(
    "--crowd", default=0, metavar="N", help="The number of persons of a made-up city around them.", **_canaries
)
@click.option(
    "--among",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="A file of your own, among whose rows the canaries are hidden.",
    **_canaries,
)
@setting("person", heading="Canaries", help="The column of persons of --among, if it is not recognised.")
@setting("times", multiple=False, heading="Canaries", help="The column of times of --among, if it is not recognised.")
@click.option("--runs", default=1, show_default=True, metavar="N", help="The number of files.", **_canaries)
@gathered("output", output_of, PRINTING)
def make(
    target: str,
    secret: str,
    budget: Budget,
    area: str,
    canaries: int,
    pings: int,
    crowd: int,
    among: str | None,
    person: str | None,
    times: str | None,
    runs: int,
    output: Output,
) -> None:
    """Make persons who do not exist, each at one of two places by a secret coin, for a tool to be run on."""
    from geoveil import audit

    rho, epsilon = rho_and_epsilon(budget.guarantee)
    writable(secret)
    distinct({target: target, "--secret": secret, **({} if among is None else {"--among": among})})
    with terminal.progress("Making canaries") as bar:
        made = audit.make(
            target,
            secret=secret,
            rho=rho,
            epsilon=epsilon,
            area=area,
            canaries=canaries,
            pings=pings,
            crowd=crowd,
            among=among,
            person=person,
            times=times,
            runs=runs,
            overwrite=terminal.state().overwrite,
            progress=bar,
        )
    if output.json:
        terminal.json({"files": [str(path) for path in made], "secret": secret})
        return
    one = len(made) == 1
    shown = str(made[0]) if one else f"{len(made)} files in {made[0].parent}, {made[0].name} to {made[-1].name}"
    terminal.say(terminal.bold(f"{shown}: {counted(canaries, 'made-up person')}{'' if one else ' each'}"))
    again = f"; {'twice' if one else 'on one twice'}, to see whether noise repeats"
    lines = [
        ("next", f"run the tool on {'it' if one else 'each'}, with the setting that you want to test{again}"),
        ("then", f"geoveil audit read RELEASED... --secret {shlex.quote(secret)}"),
        ("secret", f"{secret}: keep it from whoever runs the tool"),
    ]
    terminal.say(terminal.grid(lines))


@command(
    "One run of the tool:",
    _READ,
    "Two runs on the same file, and a page for your files:",
    "geoveil audit read released.csv released-again.csv --secret audit.json --report audit.html",
    "A folder of twenty runs:",
    "geoveil audit read released --secret audit.json --json",
    group=audit,
)
@click.argument("released", metavar="RELEASED...", nargs=-1, required=True, type=click.Path(exists=True))
@click.option(
    "--secret",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False),
    cls=Option,
    help="The secret file of 'geoveil audit make'.",
)
@setting("crs", help="The coordinate system of the released files, where they do not state it.")
@possible
@gathered(
    "output",
    output_of,
    ("report", "figure", *PRINTING),
    helps={
        "report": "The outcome as a page (.html).",
        "figure": "The picture alone (.png, .svg, .pdf): right guesses by distance, and what the claim allows.",
    },
)
def read(released: tuple[str, ...], secret: str, crs: str | None, budget: Budget | None, output: Output) -> None:
    """Say whether a tool gives away more than it claims, with what confidence, and where it is worst.

    RELEASED is what the tool made of the canaries: a file or several, or a folder. The claim is that of 'geoveil audit
    make', unless another is given. Exits with 1 if anything was found.
    """
    from geoveil import audit
    from geoveil.geo.formats.outcome_files import check_ending

    distinct({**{path: path for path in released}, "--secret": secret, **output.drawn})
    for option, target in output.drawn.items():
        writable(target)
        check_ending(option.removeprefix("--"), Path(target))
    rho, epsilon = (None, None) if budget is None else rho_and_epsilon(budget.guarantee)
    with terminal.progress("Reading") as bar:
        paths = [Path(path) for path in released]
        found = audit.read(paths, secret=secret, rho=rho, epsilon=epsilon, crs=crs, progress=bar)
    for target in output.drawn.values():
        found.save(target, overwrite=terminal.state().overwrite)
    if output.json:
        terminal.json(found.data())
    else:
        _show(found, output)
    if found.found:
        click.get_current_context().exit(1)


def _show(found: Audit, output: Output) -> None:
    """Print the verdict, the table, what was assumed, and what to do next."""
    headings, rows = found.table()
    terminal.say(terminal.bold(found.verdict()))
    terminal.say(terminal.table(headings, rows))
    terminal.say(found.explained())
    terminal.say(found.assumptions())
    terminal.say(f"Next: {found.following()}")
    for note in found.notes:
        terminal.say(note)
    if output.lines:
        terminal.say(terminal.grid(output.lines))
