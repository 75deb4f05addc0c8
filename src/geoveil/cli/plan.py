"""`geoveil plan`: the budget that an error needs."""

from __future__ import annotations

from typing import Any

import click

from geoveil.cli import terminal
from geoveil.cli.command import Command
from geoveil.cli.options import area, as_json
from geoveil.cli.parameter_types import CHANCE, LENGTH
from geoveil.words import apart, counted, hidden, metres

_QUESTIONS = {"within": "first_within", "gyration": "radius_of_gyration"}
_NAMES = ["points", "nearest", "hull", "within", "center", "mean", "median", "bounds", "radius", "gyration"]
_NAMES += ["diameter", "distance"]


@click.command(
    cls=Command,
    examples=(
        ("Points of 100 each, at most 500 m off:", "geoveil plan points --n 100 --error 500m"),
        (
            "The 10 nearest of 20,000, at most 300 m too far:",
            "geoveil plan nearest --n 20000 -k 10 --error 300m",
        ),
    ),
)
@click.argument("question", type=click.Choice(_NAMES))
@click.option("--error", type=LENGTH, required=True, help="The largest error, such as 500m.")
@click.option("--n", type=click.IntRange(min=1), required=True, help="The number of points of one person.")
@click.option("-k", type=click.IntRange(min=1), help="For nearest: the number of neighbours.")
@click.option("--extent", type=LENGTH, help="For hull: the extent of the points.")
@click.option("--each", is_flag=True, help="For points: bound the error of a single point, not of the worst one.")
@click.option("--beta", type=CHANCE, default="5%", show_default=True, help="The probability that the error is larger.")
@click.option(
    "--notion", type=click.Choice(["CGP", "GP"]), default="CGP", show_default=True, help="The notion of privacy."
)
@click.option("--metric", type=click.Choice(["inf", "2", "1"]), default="inf", show_default=True, help="The metric.")
@click.option(
    "--method", type=click.Choice(["best", "paper"]), default="best", show_default=True, help="The algorithm."
)
@area
@as_json
def plan(question: str, error: float, area: dict[str, Any], as_json: bool, **how: Any) -> None:
    """Compute the budget that an error needs, without any data."""
    from geoveil import plan as foresee

    if (question == "nearest") != (how["k"] is not None):
        raise click.UsageError("nearest needs -k, the number of neighbours; other questions do not take it.")

    options = {name: how.pop(name) for name in ("k", "extent")}
    options = {name: given for name, given in options.items() if given is not None}
    found = foresee(_QUESTIONS.get(question, question), error=error, area=area["area"], **how, **options)
    guarantee = found.guarantee
    away = guarantee.hidden(chance=0.75)
    if as_json:
        told = {guarantee.symbol: str(guarantee.budget), "metric": guarantee.metric.name, "hidden_75": away}
        terminal.json({"question": question, **told, "error": found.error, "beta": found.beta})
        return
    between = apart(hidden(away), guarantee.metric.name)
    lines = [
        ("budget", f"--{guarantee.symbol} {guarantee.budget}"),
        ("error", f"at most {metres(found.error)} with probability {100 * (1 - found.beta):g}%"),
        ("hides", f"{hidden(away)} at 75%: a guess between {between} is right at most 75% of the time"),
    ]
    terminal.say(terminal.bold(f"{question}: {counted(how['n'], 'point')} of one person"), terminal.grid(lines))
    if found.assumes:
        terminal.say(f"The error is {found.assumes}.")
