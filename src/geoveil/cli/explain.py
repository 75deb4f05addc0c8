"""`geoveil explain`: the meaning of a budget in distances, chances and errors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from geoveil.cli import terminal
from geoveil.cli.command import command
from geoveil.cli.options import as_json, budget, every, protect
from geoveil.facts.wording import guarantee_line, protected, unit_name
from geoveil.requests.budgets import Budget, rho_and_epsilon
from geoveil.settings import LEVELS
from geoveil.text.words import apart, chance, hidden, metres

if TYPE_CHECKING:
    from geoveil.privacy import Guarantee

__all__ = ["explain", "meaning"]

#: Questions whose errors are shown; of the nearest points, one is asked for.
_QUESTIONS = ("points", "nearest", "first_within", "hull", "center", "mean", "bounds", "radius", "distance")
_TIMES = (1, 10, 100)
_BAR = 24


@command(
    "What does ρ = 5e-5 mean, for a person with 1000 points?",
    "geoveil explain --rho 5e-5 --n 1000",
    "And a level?",
    "geoveil explain --privacy medium",
    "Errors if whole trajectories, any day, any hour or each point is protected, for a point every minute:",
    "geoveil explain --hide 100m --n 10000 --every 1min",
)
@budget
@click.option(
    "--n", type=click.IntRange(min=1), default=1, show_default=True, help="The number of points of one person."
)
@protect
@every
@as_json
def explain(budget: Budget, n: int, protect: str | None, every: str | None, as_json: bool) -> None:
    """Explain what a budget means.

    How often a guess is right, how large the errors of answers are, and the effect of further releases.
    """
    guarantee = budget.protecting(protect)
    if guarantee.metric.stretch is not None and n > 1 and every is None:
        raise click.UsageError(
            f"--protect {protect!r} needs --every, the time between two of the {n:,} points, as in --every 30s."
        )
    told = meaning(guarantee, n, every)
    if as_json:
        terminal.json(told)
        return
    terminal.answer(*_shown(guarantee, n, told, every))


def meaning(guarantee: Guarantee, n: int, every: str | None = None) -> dict[str, Any]:
    """Return the meaning of a budget as data.

    With `every`, the time between two points, also the errors for larger and smaller units.
    """
    from geoveil import plan
    from geoveil.errors import GeoveilError
    from geoveil.privacy import as_duration

    errors, units = {}, {}
    rho, epsilon = rho_and_epsilon(guarantee)
    if every is not None:
        as_duration("every", every)
    for name in _QUESTIONS:
        k, largest = 1 if name == "nearest" else None, n if n == 1 else None
        # Some questions have no mechanism under some metrics.
        with suppress(GeoveilError):
            planned = plan(name, n=n, rho=rho, epsilon=epsilon, every=every, largest=largest, k=k)
            errors[name], units[name] = planned.error, planned.units
    return {
        guarantee.symbol: str(guarantee.budget),
        "metric": guarantee.metric.name,
        "attacker": {f"{away:g}": guarantee.attacker(distance=away) for away in _distances(guarantee)},
        "hidden_75": guarantee.hidden(chance=0.75),
        "error_95": errors,
        **({} if every is None else {"units": units}),
        "n": n,
        "releases": {
            str(k): {guarantee.symbol: str((guarantee * k).budget), "hidden_75": (guarantee * k).hidden(chance=0.75)}
            for k in _TIMES
        },
    }


def _distances(guarantee: Guarantee) -> Iterator[float]:
    """Yield round distances, from indistinguishable ones to obvious ones."""
    low, high = (guarantee.hidden(chance=chance) for chance in (0.52, 0.99))
    power = math.floor(math.log10(low))
    while True:
        for digit in (1.0, 2.0, 5.0):
            away = digit * 10.0**power
            if away > 2 * high:
                return
            if away >= low / 2:
                yield away
        power += 1


def _shown(guarantee: Guarantee, n: int, told: dict[str, Any], every: str | None) -> Iterator[Any]:
    from geoveil.queries import EXTENT

    between = apart(hidden(told["hidden_75"]), told["metric"])
    yield terminal.bold(guarantee_line(guarantee))
    yield f"Starting from even odds, anyone trying to tell apart {between} is right at most 75% of the time."
    if guarantee.metric.name != "inf":
        yield f"It protects {protected(guarantee.metric)}."
    level = min(LEVELS, key=lambda name: abs(math.log(LEVELS[name] / told["hidden_75"])))
    yield f"The nearest level is --privacy {level} ({LEVELS[level]:g} m)."
    rows = []
    for text, share in told["attacker"].items():
        filled = round(_BAR * max(share - 0.5, 0) / 0.5)
        rows.append((metres(float(text)), chance(share), "█" * filled + "░" * (_BAR - filled)))
    yield terminal.bold("\nHow often a guess between two places is right, by their distance")
    shown = terminal.table(["distance", "right at most", "from 50%, a coin toss, to 100%"], rows)
    shown.columns[2].justify = "left"
    yield shown
    whose = "one point" if n == 1 else f"{n:,} points"
    whose += "" if every is None else f", one every {_length(every)}"
    yield terminal.bold(f"Largest error of answers about a person with {whose}, with probability 95%")
    yield _errors(told)
    share = "A person's points share the budget." if guarantee.metric.name == "inf" else ""
    yield f"The hull's error is for points that extend over {EXTENT / 1000:g} km. {share}".rstrip()
    if every is not None:
        yield "Smaller units need less noise, and protect less: --protect '1 day', '1 hour' or point asks for one."
    yield terminal.bold("\nAfter several releases about the same person")
    yield terminal.table(
        ["releases", guarantee.symbol, "hidden at 75%"],
        [(k, f"{float(of[guarantee.symbol]):.3g}", hidden(of["hidden_75"])) for k, of in told["releases"].items()],
    )


def _errors(told: dict[str, Any]) -> Any:
    """Return the table of errors; with units, a column for each of them."""
    from geoveil.privacy import as_metric

    if "units" not in told:
        return terminal.table(
            ["question", "error"], [(_named(name), metres(error)) for name, error in told["error_95"].items()]
        )
    names = [unit_name(as_metric(name)) for name in next(iter(told["units"].values()))]
    rows = [(_named(name), *map(metres, errors.values())) for name, errors in told["units"].items()]
    return terminal.table(["question", *names], rows)


def _named(question: str) -> str:
    """Return the command of a question."""
    return question.removeprefix("first_")


def _length(every: str) -> str:
    """Return the time between two points in words; one minute is a minute."""
    from geoveil.privacy import as_duration, duration_words

    return duration_words(as_duration("every", every)).removeprefix("1 ")
