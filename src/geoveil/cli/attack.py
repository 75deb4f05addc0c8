"""`geoveil attack`: how near an attacker comes, for owners who hold the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from geoveil.cli import terminal
from geoveil.cli.command import command, gathered, setting
from geoveil.cli.file_arguments import SOURCE, distinct, incoming, writable
from geoveil.cli.options import PRINTING, Output, output_of, possible
from geoveil.cli.questions import DATA, settings_of
from geoveil.requests.budgets import Budget, rho_and_epsilon
from geoveil.settings import MOTIONS

if TYPE_CHECKING:
    from geoveil.attacks import Attacks
    from geoveil.requests.file_request import FileSettings


@command(
    "How near does somebody come who has only the released file?",
    "geoveil attack trips.csv released.csv --person user --area 37.77,-122.42,50km --motion taxi --report near.html",
    "The output of another tool, which claims to hide 200 m:",
    "geoveil attack trips.csv blurred.csv --person user --area 37.77,-122.42,50km --hide 200m",
    "Tracks that another tool has cut around a home:",
    "geoveil attack rides.gpx cut.gpx --area 47.37,8.54,50km --at 47.37,8.54",
)
@SOURCE
@click.argument("released", metavar="RELEASED", type=click.Path(exists=True))
@click.option(
    "--motion",
    type=click.Choice(MOTIONS),
    default=MOTIONS[0],
    show_default=True,
    help="How people move, for the attacker who smooths tracks.",
)
@setting(
    "at",
    type=str,
    multiple=True,
    metavar="LAT,LON|FILE",
    help="A place that RELEASED, tracks that were cut, hides. May be repeated.",
)
@possible
@gathered("data", lambda format, **given: (settings_of(given), format), ("person", *DATA))
@gathered("output", output_of, ("report", *PRINTING))
def attack(
    source: str,
    released: str,
    motion: str,
    at: tuple[str, ...],
    budget: Budget | None,
    data: tuple[FileSettings, str | None],
    output: Output,
) -> None:
    """Attack a released file, of geoveil or any other tool, as somebody does who has only that.

    FILE is the truth. The output tells how far off each attack is, for whom it is worst, and what the guarantee
    allows. It is for the owner of the data alone: do not share it. Exits with 1 if an attack beats the guarantee.
    """
    settings, form = data
    distinct({source: source, "RELEASED": released, **output.drawn})
    for target in output.drawn.values():
        writable(target)
    rho, epsilon = (None, None) if budget is None else rho_and_epsilon(budget.guarantee)
    with incoming(source, form) as path, terminal.progress("Attacking") as bar:
        locations = settings.locations(path, progress=bar)
        places = [*at] or None
        attacks = locations.attack(released, motion=motion, places=places, rho=rho, epsilon=epsilon)
    for target in output.drawn.values():
        attacks.save(target, overwrite=terminal.state().overwrite)
    if output.json:
        terminal.json(attacks.data())
    else:
        _show(attacks, output)
    if attacks.beaten:
        click.get_current_context().exit(1)


def _show(attacks: Attacks, output: Output) -> None:
    """Print the table, the verdict and what the attacks do."""
    from geoveil.attacks.attack import FOR_YOU_ONLY

    headings, rows = attacks.table()
    terminal.say(terminal.bold(f"Attacks on {attacks.about}"))
    terminal.answer(terminal.table(headings, rows))
    terminal.say(terminal.grid([(attack.name, attack.does) for attack in attacks]))
    terminal.say(attacks.verdict())
    terminal.say(FOR_YOU_ONLY)
    if output.lines:
        terminal.say(terminal.grid(output.lines))
