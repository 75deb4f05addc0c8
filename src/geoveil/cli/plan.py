"""`geoveil plan`: the budget that an error needs, or the error of a budget."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from geoveil.cli import terminal
from geoveil.cli.command import Option, TypedText, command, setting
from geoveil.cli.options import Wish, as_json, every, protect, wish
from geoveil.facts.wording import protected, unit_name
from geoveil.requests.budgets import rho_and_epsilon
from geoveil.text.typed_values import CHANCE, LENGTH
from geoveil.text.words import apart, counted, hidden, metres

if TYPE_CHECKING:
    from geoveil._types import Method

_QUESTIONS = {"within": "first_within", "gyration": "radius_of_gyration"}
_NAMES = ["points", "nearest", "hull", "within", "center", "mean", "median", "bounds", "radius", "gyration"]
_NAMES += ["diameter", "distance"]


@command(
    "Points of 100 each, at most 500 m off:",
    "geoveil plan points --n 100 --error 500m",
    "The 10 nearest of 20,000, at most 300 m too far:",
    "geoveil plan nearest --n 20000 -k 10 --error 300m",
    "The error of points twice a minute, if whole trajectories, any day, any hour or each point is protected:",
    "geoveil plan points --n 20000 --every 30s --hide 100m",
)
@click.argument("question", type=click.Choice(_NAMES))
@click.option("--n", type=click.IntRange(min=1), required=True, help="The number of points of one person.")
@click.option("-k", type=click.IntRange(min=1), help="For nearest: the number of neighbours.")
@click.option("--extent", type=TypedText(LENGTH), help="For hull: the extent of the points.")
@click.option("--each", is_flag=True, help="For points: bound the error of a single point, not of the worst one.")
@click.option(
    "--beta", type=TypedText(CHANCE), default="5%", show_default=True, help="The probability that the error is larger."
)
@click.option(
    "--method", type=click.Choice(["best", "both"]), default="best", show_default=True, help="As for points."
)
@wish
@protect
@click.option(
    "--largest",
    type=click.IntRange(min=1),
    cls=Option,
    heading="What is protected",
    help="With a length of time as --protect: the largest number of points in a stretch of that length, if --every "
    "does not tell it.",
)
@every
@setting("area")
@as_json
def plan(
    question: str,
    n: int,
    k: int | None,
    extent: float | None,
    each: bool,
    beta: float,
    method: Method,
    wish: Wish,
    protect: str | None,
    largest: int | None,
    every: str | None,
    area: str | None,
    as_json: bool,
) -> None:
    """Compute the budget that an error needs, or the error of a budget, without any data."""
    from geoveil import plan as foresee
    from geoveil.privacy import as_metric

    if (question == "nearest") != (k is not None):
        raise click.UsageError("nearest needs -k, the number of neighbours; other questions do not take it.")
    sought = wish.guarantee(protect)
    rho, epsilon = rho_and_epsilon(sought) if wish.error is None else (None, None)
    planned = foresee(
        _QUESTIONS.get(question, question),
        n=n,
        error=wish.error,
        rho=rho,
        epsilon=epsilon,
        beta=beta,
        notion=sought,
        largest=largest,
        every=every,
        method=method,
        each=each,
        area=area,
        k=k,
        extent=extent,
    )
    guarantee, metric = planned.guarantee, planned.guarantee.metric
    away = guarantee.hidden(chance=0.75)
    if as_json:
        told = {guarantee.symbol: str(guarantee.budget), "metric": metric.name, "hidden_75": away}
        more = {"units": planned.units, "remark": planned.remark} if planned.units or planned.remark else {}
        terminal.json({"question": question, **told, "error": planned.error, "beta": planned.beta, **more})
        return
    between = apart(hidden(away), metric.name)
    lines = [
        (
            "budget",
            f"--{guarantee.symbol} {guarantee.budget}"
            + ("" if protect is None else f" --protect {shlex.quote(protect)}"),
        ),
        ("protects", "" if metric.name == "inf" else protected(metric)),
        ("error", f"at most {metres(planned.error)} with probability {100 * (1 - planned.beta):g}%"),
        (
            "hides",
            f"{hidden(away)} at 75%: from even odds, a guess between {between} is right at most 75% of the time",
        ),
    ]
    terminal.say(
        terminal.bold(f"{question}: {counted(n, 'point')} of one person"),
        terminal.grid((name, text) for name, text in lines if text),
    )
    if planned.assumes:
        terminal.say(f"The error is {planned.assumes}.")
    if planned.units:
        terminal.say(terminal.bold("\nError with this budget, by what is protected"))
        rows = [(unit_name(as_metric(name)), metres(error)) for name, error in planned.units.items()]
        terminal.say(terminal.table(["protected", "error at most"], rows))
    if planned.remark:
        terminal.say(f"{planned.remark[0].upper()}{planned.remark[1:]}.")
