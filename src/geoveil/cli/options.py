"""The options that commands share: budget, area, file, persons, ledger and output."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geoveil.cli.command import Option, OptionSpec, gathered, option
from geoveil.cli.parameter_types import CHANCE, LENGTH
from geoveil.cli.terminal import state
from geoveil.protection import LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from geoveil import Ledger
    from geoveil.budget import Charge
    from geoveil.privacy import Guarantee

__all__ = [
    *("Budget", "ChargedAccount", "Output", "account", "area", "as_json", "budget", "crowd_output", "existing"),
    *("Protection", "Wish", "every", "free", "output", "person", "possible", "protect", "protection", "pseudonyms"),
    *("reading", "row_output", "together", "unlabelled", "wish"),
]

_CHANCE = 0.75


@dataclass(frozen=True)
class Budget:
    """The budget given on the command line."""

    guarantee: Guarantee

    @property
    def keywords(self) -> dict[str, Any]:
        """The budget as an argument of a question."""
        return {self.guarantee.symbol: self.guarantee}

    def protecting(self, protect: str | None, *, crowd: bool = False) -> Budget:
        """Return the budget for what is hidden together; with `crowd`, for one answer about many persons."""
        from geoveil.privacy import protected_metric

        metric = protected_metric(protect, crowd=crowd)
        if metric is None:
            return self
        if self.guarantee.metric.name != "inf":
            named = "--person" if protect is None else "--protect"
            raise click.UsageError(f"{named} and --metric both say what is protected: give one.")
        return Budget(self.guarantee.under_unit(metric))


def _levels() -> str:
    # A guess between places d apart is right 75% of the time at ρ·d² = ln(3)/2; `CGP.hiding` rounds it down.
    return "; ".join(f"{name}: {away:g} m, ρ = {math.log(3) / 2 / away**2:.3g}" for name, away in LEVELS.items())


def _budget(
    rho: str | None,
    epsilon: str | None,
    hide: float | None,
    chance: float | None,
    privacy: str | None,
    notion: str | None = None,
    metric: str | None = None,
) -> Budget:
    from geoveil.privacy import CGP, GP, promise

    ways = [name for name, given in (("--rho", rho), ("--epsilon", epsilon), ("--hide", hide)) if given is not None]
    ways += ["--privacy"] if privacy is not None else []
    if len(ways) != 1:
        said = f"{' and '.join(ways)} are both budgets" if ways else "no budget was given"
        raise click.UsageError(
            f"{said}. Give one of --privacy low|medium|high, --hide 200m, --rho or --epsilon; "
            "'geoveil explain' shows what each means."
        )
    if chance is not None and hide is None:
        raise click.UsageError("--chance goes with --hide, as in --hide 200m --chance 60%.")
    if privacy is not None:
        hide = LEVELS[privacy]
    if hide is None:
        if notion is not None:
            raise click.UsageError("--notion goes with --hide or --privacy; --rho and --epsilon say it already.")
        return Budget(promise(None, rho, epsilon, metric))
    kind = GP if notion == "GP" else CGP
    return Budget(kind.hiding(distance=hide, chance=_CHANCE if chance is None else chance, metric=metric or "inf"))


_BUDGET = (
    option(
        "--privacy",
        type=click.Choice([*LEVELS]),
        help="A level: from even odds, a guess between two locations this far apart is right at most 75% of "
        "the time. " + _levels() + ".",
    ),
    option(
        "--hide",
        type=LENGTH,
        help="By meaning: from even odds, a guess between two locations at this distance (200m, 1.5km, 300ft, "
        "2mi) is right at most 75% of the time ...",
    ),
    option("--chance", type=CHANCE, help="... or at most this share of the time."),
    option("--rho", metavar="NUMBER", help="Concentrated geo-privacy, per square metre."),
    option("--epsilon", metavar="NUMBER", help="Geo-privacy (geo-indistinguishability), per metre."),
)
_METRIC = option(
    "--metric",
    type=click.Choice(["inf", "2", "1"]),
    help="The distance between two versions of a person's points: the largest movement of any point "
    "(inf), root sum of squares (2), or sum (1). [default: inf]",
)


def _notion(among: str) -> OptionSpec:
    """Return the option of the notion of privacy, for the options that do not say it."""
    return option("--notion", type=click.Choice(["CGP", "GP"]), help=f"The notion for {among}. [default: CGP]")


budget = gathered("budget", "Budget (one of these)", _budget, *_BUDGET, _notion("--hide and --privacy"), _METRIC)


@dataclass(frozen=True)
class Wish:
    """An error or a budget, one of them."""

    error: float | None
    budget: Budget | None
    notion: str
    metric: str | None

    def keywords(self, protect: str | None) -> dict[str, Any]:
        """Return the wish as arguments of a plan, for what is hidden together."""
        if self.budget is not None:
            return self.budget.protecting(protect).keywords
        return {"error": self.error, "notion": self.notion, "metric": self.metric, "protect": protect}


def _wish(error: float | None, notion: str | None, metric: str | None, **budget: Any) -> Wish:
    given = [name for name in ("rho", "epsilon", "hide", "privacy") if budget[name] is not None]
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
        return Wish(None, _budget(**budget, notion=notion, metric=metric), notion or "CGP", metric)
    if budget["chance"] is not None:
        raise click.UsageError("--chance goes with --hide, as in --hide 200m --chance 60%.")
    return Wish(error, None, notion or "CGP", metric)


wish = gathered(
    "wish",
    "An error, or a budget (one of these)",
    _wish,
    option("--error", type=LENGTH, help="The largest error, such as 500m: the plan finds the budget."),
    *_BUDGET,
    _notion("--error, --hide and --privacy"),
    _METRIC,
)


def _possible(**given: Any) -> Budget | None:
    return None if all(value is None for value in given.values()) else _budget(**given)


#: For commands that can do without a budget.
possible = gathered("budget", "Budget (at most one of these)", _possible, *_BUDGET)


def _place_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the texts that complete the beginning of a place's name in a shell."""
    from geoveil.geo.gazetteer import places_beginning

    return [place.title for place in places_beginning(incomplete)] if len(incomplete) > 1 else []


area = gathered(
    "area",
    "Where the data is, from public knowledge",
    dict,
    option(
        "--area",
        metavar="AREA",
        help="The name of a city, region or country ('San Francisco', 'Switzerland'); or latitude, longitude "
        "and radius (37.77,-122.42,50km); or a system in metres (32610). Not needed if the file itself is in such "
        "a system. 'geoveil areas NAME' shows the meaning of a name.",
        shell_complete=_place_names,
    ),
    option(
        "--outside",
        type=click.Choice(["refuse", "clamp", "drop"]),
        default="refuse",
        show_default=True,
        help="How to treat locations outside the area: clamp moves them to its edge, which hides who was "
        "outside; drop removes their rows, which does not.",
    ),
)


def _reading(format_: str | None, lat: tuple[str, ...], lon: tuple[str, ...], **given: Any) -> dict[str, Any]:
    return {"format": format_, "lat": lat or None, "lon": lon or None, **given}


#: What stdin may hold.
FORMATS = ["csv", "tsv", "geojson", "gpx", "parquet", "gpkg"]

reading = gathered(
    "reading",
    "Reading the file",
    _reading,
    option("--format", "format_", type=click.Choice(FORMATS), help="The format of piped data. [default: csv]"),
    option(
        "--missing",
        type=click.Choice(["refuse", "drop"]),
        default="refuse",
        show_default=True,
        help="How to treat rows without a location.",
    ),
    option(
        "--where",
        metavar="CONDITION",
        help="Use only rows that satisfy a condition on public columns, such as \"mode = 'bike'\".",
    ),
    option("--crs", metavar="CODE", help="The file's coordinate system, if it does not state one."),
    option(
        "--lat",
        "--y",
        metavar="COLUMN",
        multiple=True,
        help="The column of latitude or northing, if it is not recognised. Give it twice for rows with an "
        "origin and a destination.",
    ),
    option("--lon", "--x", metavar="COLUMN", multiple=True, help="The column of longitude or easting, likewise."),
    option(
        "--geometry",
        metavar="COLUMN",
        help="The column of geometries as text (WKT, GeoJSON), if it is not recognised.",
    ),
    option("--delimiter", metavar="TEXT", help="The separator of fields in a CSV file, if not recognised."),
    option("--decimal", metavar="TEXT", help="The decimal mark in a CSV file, if not recognised."),
    option("--encoding", metavar="NAME", help="The encoding of a CSV file, if not recognised."),
    option(
        "--names", metavar="NAMES", help="The names of the columns of a CSV file without a header: user,time,lat,lon."
    ),
    option("--layer", metavar="NAME", help="The layer of a GeoPackage with several layers."),
)


#: The option that gives persons pseudonyms; without a value it is the empty text.
pseudonyms = click.option(
    "--pseudonyms",
    is_flag=False,
    flag_value="",
    metavar="[KEYFILE]",
    help="With --person: replace persons' labels by random ones. KEYFILE keeps them, for you and for later releases.",
)

#: The option that names the column of persons.
person = click.option(
    "--person",
    metavar="COLUMN",
    help="The column of persons. Without it all points belong to one person and share the budget.",
)

#: The option for one answer about many persons.
together = click.option(
    "--together", is_flag=True, help="With --person: one answer about all persons, instead of one for each."
)


@dataclass(frozen=True)
class Protection:
    """What is hidden together, and the rows that are used."""

    protect: str | None
    times: tuple[str, ...]
    thin: str | None

    @property
    def counting(self) -> dict[str, Any]:
        """The options that decide how many points a person has, as arguments of `Locations`."""
        times = self.times[0] if len(self.times) == 1 else [*self.times]
        return {"times": times or None, "thin": self.thin}


_PROTECT = (
    "What is hidden together: '1 day', or any length of time: any stretch of that length; 'point': each single point. "
)
#: The option for what is hidden together, for commands without data.
protect = click.option(
    "--protect",
    metavar="LENGTH|point",
    cls=Option,
    heading="What is protected",
    help=f"{_PROTECT}[default: all points of a person]",
)
every = click.option(
    "--every",
    metavar="LENGTH",
    cls=Option,
    heading="What is protected",
    help="The time between two points of a person, such as 30s: compares the errors for all points, any day, any hour "
    "and each point.",
)


protection = gathered(
    "protection",
    "What is protected",
    Protection,
    option(
        "--protect",
        metavar="LENGTH|point",
        help=f"{_PROTECT}To protect less needs less noise. [default: all points of a person]",
    ),
    option(
        "--time",
        "times",
        metavar="COLUMN",
        multiple=True,
        help="The column of times for --protect, --thin and --smooth, if it is not recognised.",
    ),
    option(
        "--thin",
        metavar="LENGTH",
        help="Keep only one row of a person in every interval of this length, such as '1 minute'.",
    ),
)


def existing(place: str) -> str:
    """Return the path or URL of a ledger that exists, so that a misspelt name creates no new one."""
    from geoveil.budget.stores import is_database
    from geoveil.errors import LedgerUnavailable

    if not is_database(place) and not Path(place).exists():
        raise LedgerUnavailable(f"{place}: there is no such ledger. 'geoveil budget create' makes one.")
    return place


@dataclass
class ChargedAccount:
    """The account that releases are charged to, and the charges so far."""

    place: str | None
    subject: str | None
    short: str
    label: str | None
    charges: list[Charge] = field(default_factory=list)
    #: Whether a charge has begun and its outcome is not known.
    asking: bool = False

    @contextmanager
    def opened(self) -> Iterator[Ledger | None]:
        """Open the ledger, if there is one, and record its charges here."""
        if self.place is None:
            yield None
            return
        from geoveil.budget import Charges, Ledger

        def watch(charge: Charge | None) -> None:
            self.asking = charge is None
            if charge is not None:
                self.charges.append(charge)

        with Ledger(existing(self.place)) as ledger:
            Charges.of(ledger).watch = watch
            yield ledger

    def names(self, persons: Sequence[Any] | None) -> list[str]:
        """Return the names of the accounts that are charged, for one person or several."""
        from geoveil.answering.charging import account_names

        return account_names(self.subject, persons)

    def keywords(self, ledger: Ledger) -> dict[str, Any]:
        """Return the account as arguments of a session."""
        return {"ledger": ledger, "subject": self.subject, "short": self.short, "label": self.label}

    @property
    def costs(self) -> dict[str, Any]:
        """The budget charged to each subject; stored answers cost nothing."""
        from decimal import Decimal

        from geoveil.privacy import exact

        found: dict[str, Any] = {}
        for charge in self.charges:
            for subject, taken in charge.amounts.items():
                amount = taken if charge.content is None else Decimal(0)
                found[subject] = exact.add(found.get(subject, Decimal(0)), amount)
        return found

    @property
    def has_charged(self) -> bool:
        """Whether anything was charged."""
        return any(self.costs.values())

    def words(self) -> str:
        """Return what was charged, in words, for a command that was stopped or that failed."""
        charged = {subject: cost for subject, cost in self.costs.items() if cost}
        said = []
        if charged:
            subject, cost = next(iter(charged.items()))
            others = f", and {len(charged) - 1} other subjects" if len(charged) > 1 else ""
            said.append(f"{cost} of {subject}{others} was charged, and is not refunded.")
        if self.asking:
            said.append("'geoveil budget statement' tells whether more was charged.")
        elif not charged and self.place is not None:
            said.append("Nothing was charged.")
        return " ".join(said)


def _account(ledger: str | None, subject: str | None, short: str, label: str | None = None) -> ChargedAccount:
    for name, given, default in (("--subject", subject, None), ("--short", short, "refuse"), ("--label", label, None)):
        if ledger is None and given != default:
            raise click.UsageError(f"{name} needs --ledger, the ledger that is charged.")
    found = ChargedAccount(ledger, subject, short, label)
    state().account = found
    return found


_LEDGER = (
    option("--ledger", metavar="FILE_OR_URL", help="Charge accounts in this ledger: a file or a PostgreSQL database."),
    option(
        "--subject",
        metavar="NAME",
        help="The name of the account; with --person, the prefix of the persons' accounts.",
    ),
    option(
        "--short",
        type=click.Choice(["refuse", "skip"]),
        default="refuse",
        show_default=True,
        help="With --person: how to treat persons whose account has too little left.",
    ),
)
_LABEL = option(
    "--label",
    metavar="NAME",
    help="A name of the data: a repeated question about it gets the stored answer at no cost.",
)

account = gathered("account", "Ledger", _account, *_LEDGER, _LABEL)
#: For commands whose answers are not stored: each is charged.
unlabelled = gathered("account", "Ledger", _account, *_LEDGER)


@dataclass(frozen=True)
class Drawing:
    """The files into which a map is drawn, and the ground below it."""

    report: str | None = None
    figure: str | None = None
    width: float | None = None
    basemap: str | None = None

    @property
    def files(self) -> dict[str, str]:
        """The files by the option that names them."""
        named = {"--report": self.report, "--figure": self.figure}
        return {option: path for option, path in named.items() if path is not None}

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The lines that name the files."""
        return [(option.removeprefix("--"), path) for option, path in self.files.items()]


@dataclass(frozen=True)
class Output:
    """The options for showing an answer."""

    drawing: Drawing = Drawing()
    with_truth: bool = False
    dry_run: bool = False
    json: bool = False


def _output(
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
    drawing = Drawing(report[0] if report else None, figure[0] if figure else None, figure_width, basemap)
    return Output(drawing, with_truth, dry_run, json)


# --report and --figure may be repeated, so that a second one is noticed.
_DRAWING = (
    option(
        "--report",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        multiple=True,
        help="A map with the certificate as a page (.html), or the map alone (.png, .svg, .pdf).",
    ),
    option(
        "--figure",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        multiple=True,
        help="The map as a figure for print: .pdf, .svg or .png.",
    ),
    option(
        "--figure-width",
        metavar="MM",
        type=click.FloatRange(40, 1200),
        help="The width of the figure in mm; 180 by default.",
    ),
    option(
        "--basemap",
        metavar="FILE",
        type=click.Path(dir_okay=False, exists=True),
        help="Your own map, drawn below in grey: .gpkg, .geojson, .parquet, .shp or .pmtiles.",
    ),
)
#: The option that replaces existing files, also for commands that have no others of this group.
OVERWRITE = option("--overwrite", is_flag=True, help="Replace existing files, and their certificates.")
_JSON = option("--json", is_flag=True, help="Print JSON.")
_QUIET = option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")

_TRUTH = option("--with-truth", is_flag=True, help="The map also shows the true locations: do not share it.")
_DRY_RUN = option("--dry-run", is_flag=True, help="Only show the cost and the error; nothing is charged or released.")

output = gathered("output", "Options", _output, *_DRAWING, _TRUTH, _DRY_RUN, OVERWRITE, _JSON, _QUIET)
#: For questions about a crowd, whose error is not foreseen.
crowd_output = gathered("output", "Options", _output, *_DRAWING, _TRUTH, OVERWRITE, _JSON, _QUIET)
#: For answers that are rows, which have no place on a map.
row_output = gathered("output", "Options", _output, _DRY_RUN, OVERWRITE, _JSON, _QUIET)
#: For commands on released files, which cost nothing and cannot show true locations.
free = gathered("output", "Options", _output, *_DRAWING, OVERWRITE, _JSON, _QUIET)
#: For commands that only print.
as_json = gathered("as_json", "Options", lambda json: json, _JSON)
