"""The groups of options that commands share: budget, protection, output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from geoveil.cli.command import Option, gathered, setting
from geoveil.cli.terminal import state
from geoveil.requests.budgets import CHANCE, Budget
from geoveil.settings import LEVELS, SETTINGS

if TYPE_CHECKING:
    from geoveil.privacy import CGP, GP

__all__ = [
    "Output",
    "Wish",
    "as_json",
    "budget",
    "budget_of_all",
    "every",
    "free",
    "output_of",
    "possible",
    "protect",
    "wish",
]

_BUDGET = ("privacy", "hide", "chance", "rho", "epsilon")


def budget_of(
    privacy: str | None,
    hide: float | None,
    chance: float | None,
    rho: str | None,
    epsilon: str | None,
    notion: Literal["CGP", "GP"] | None = None,
    metric: str | None = None,
) -> Budget:
    """Return the budget that options state, or refuse options that state none or two."""
    given = {"--rho": rho, "--epsilon": epsilon, "--hide": hide, "--privacy": privacy}
    ways = [name for name, value in given.items() if value is not None]
    if len(ways) != 1:
        said = f"{' and '.join(ways)} are both budgets" if ways else "no budget was given"
        raise click.UsageError(
            f"{said}. Give one of --privacy low|medium|high, --hide 200m, --rho or --epsilon; "
            "'geoveil explain' shows what each means."
        )
    if chance is not None and hide is None:
        raise click.UsageError("--chance goes with --hide, as in --hide 200m --chance 60%.")
    if rho is not None or epsilon is not None:
        if notion is not None:
            raise click.UsageError("--notion goes with --hide or --privacy; --rho and --epsilon say it already.")
        budget = Budget("epsilon", str(epsilon), metric=metric) if rho is None else Budget("rho", rho, metric=metric)
    else:
        away = LEVELS[privacy] if privacy is not None else hide
        budget = Budget("hide", str(away), CHANCE if chance is None else chance, notion or "CGP", metric)
    # A number that is no budget is refused now.
    _ = budget.guarantee
    return budget


budget = gathered("budget", budget_of, (*_BUDGET, "notion", "metric"))
#: The same for all points of a person.
budget_of_all = gathered("budget", budget_of, (*_BUDGET, "notion"))


def _possible(
    privacy: str | None, hide: float | None, chance: float | None, rho: str | None, epsilon: str | None
) -> Budget | None:
    given = (privacy, hide, chance, rho, epsilon)
    return None if all(value is None for value in given) else budget_of(*given)


#: For commands that can do without a budget.
possible = gathered("budget", _possible, _BUDGET, heading="Budget (at most one of these)")


@dataclass(frozen=True)
class Wish:
    """An error or a budget, one of them."""

    error: float | None
    budget: Budget | None
    notion: Literal["CGP", "GP"]
    metric: str | None

    def guarantee(self, protect: str | None) -> CGP | GP:
        """Return the guarantee of the budget; with an error, one whose budget is to be found."""
        stated = self.budget or Budget("rho" if self.notion == "CGP" else "epsilon", "1", metric=self.metric)
        return stated.protecting(protect)  # type: ignore[return-value]


def _wish(
    privacy: str | None,
    hide: float | None,
    chance: float | None,
    rho: str | None,
    epsilon: str | None,
    notion: Literal["CGP", "GP"] | None,
    metric: str | None,
    error: float | None,
) -> Wish:
    ways = {"rho": rho, "epsilon": epsilon, "hide": hide, "privacy": privacy}
    given = [name for name, value in ways.items() if value is not None]
    if error is not None and given:
        raise click.UsageError(
            f"--error asks for the budget that an error needs, and --{given[0]} for the error of a budget: give one."
        )
    if error is None:
        if not given:
            raise click.UsageError(
                "neither an error nor a budget was given. Give --error 500m for the budget that it needs, or a budget "
                "for its error: --privacy low|medium|high, --hide 200m, --rho or --epsilon."
            )
        return Wish(None, budget_of(privacy, hide, chance, rho, epsilon, notion, metric), notion or "CGP", metric)
    if chance is not None:
        raise click.UsageError("--chance goes with --hide, as in --hide 200m --chance 60%.")
    return Wish(error, None, notion or "CGP", metric)


wish = gathered("wish", _wish, ("error", *_BUDGET, "notion", "metric"), heading="An error, or a budget (one of these)")

#: The option for what is hidden together, for commands without data.
protect = setting("protect", help=SETTINGS["protect"].help.replace("To protect less needs less noise. ", ""))
every = click.option(
    "--every",
    metavar="LENGTH",
    cls=Option,
    heading="What is protected",
    help="The time between two points of a person, such as 30s: compares the errors for all points, any day, any hour "
    "and each point.",
)


@dataclass(frozen=True)
class Output:
    """How an answer is shown: the map that is drawn, and what is printed."""

    report: str | None = None
    figure: str | None = None
    width: float | None = None
    basemap: str | None = None
    with_truth: bool = False
    dry_run: bool = False
    json: bool = False

    @property
    def drawn(self) -> dict[str, str]:
        """The files into which a map is drawn, by the option that names them."""
        named = {"--report": self.report, "--figure": self.figure}
        return {option: path for option, path in named.items() if path is not None}

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The lines that name these files."""
        return [(option.removeprefix("--"), path) for option, path in self.drawn.items()]


def output_of(
    report: tuple[str, ...] = (),
    figure: tuple[str, ...] = (),
    figure_width: float | None = None,
    basemap: str | None = None,
    with_truth: bool = False,
    dry_run: bool = False,
    *,
    overwrite: bool,
    json: bool,
    quiet: bool,
) -> Output:
    """Return how an answer is shown, and tell the terminal; --report and --figure are refused if they are repeated."""
    for name, given in (("--report", report), ("--figure", figure)):
        if len(given) > 1:
            raise click.UsageError(f"{name} was given twice: name one file.")
    if with_truth and not (report or figure):
        raise click.UsageError("--with-truth goes with --report or --figure, which shows it.")
    if basemap and not (report or figure):
        raise click.UsageError("--basemap goes with --report or --figure, the map that is drawn over it.")
    if figure_width is not None and not figure:
        raise click.UsageError("--figure-width goes with --figure.")
    state().quiet, state().overwrite = quiet or json, overwrite
    page, print_ = report[0] if report else None, figure[0] if figure else None
    return Output(page, print_, figure_width, basemap, with_truth, dry_run, json)


DRAWING = ("report", "figure", "figure_width", "basemap")
PRINTING = ("overwrite", "json", "quiet")
#: For commands on released files, which cost nothing and cannot show true locations.
free = gathered("output", output_of, (*DRAWING, *PRINTING))
#: For commands that only print.
as_json = click.option("--json", "as_json", is_flag=True, cls=Option, help=SETTINGS["json"].help)
