"""`geoveil check`: tell the owner of a file what it can be used for, and how it is released for that."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from geoveil.cli import terminal
from geoveil.cli.command import TypedText, broken, command, gathered
from geoveil.cli.file_arguments import SOURCE, incoming
from geoveil.cli.option_names import OPTIONS
from geoveil.cli.options import as_json, possible
from geoveil.cli.questions import DATA, settings_of
from geoveil.errors import GeoveilError
from geoveil.requests.budgets import Budget
from geoveil.requests.file_request import CROWD, FileRequest, FileSettings, QuestionOptions
from geoveil.settings import LEVELS, PURPOSES
from geoveil.text.typed_values import LENGTH
from geoveil.text.words import hidden

if TYPE_CHECKING:
    from geoveil.advice import Advice, Outlook, Use
    from geoveil.requests.file_check import CheckedFile, Finding
    from geoveil.zones import Hiding


#: The word before a finding, and its colour; those of a verdict.
_SIGNS = {"good": ("ok", "green"), "note": ("note", "yellow"), "need": ("need", "cyan"), "stop": ("stop", "red")}
#: The name of the released file for each purpose, and its ending; that of points follows from the source.
_TARGETS = {"map": "map.gpkg", "counts": "counts.gpkg", "flows": "flows.gpkg", "answers": "middles.geojson"}
_TARGETS |= {"summary": "summary"}
#: The file of centres of commands that are shown.
_CENTRES = Path("centres.json")


@command(
    "What can it be used for?",
    "geoveil check trips.csv",
    "How is a map made of it?",
    "geoveil check trips.csv --person user --area 37.77,-122.42,50km --for map",
    "Which settings leave tracks within 300 m of the true ones?",
    "geoveil check trips.csv --person user --area 37.77,-122.42,50km --for tracks --within 300m",
)
@SOURCE
@click.option(
    "--for",
    "wanted",
    type=click.Choice(PURPOSES),
    help="Show the command of this purpose alone; of home, also how near attacks come.",
)
@click.option(
    "--within",
    type=TypedText(LENGTH),
    help="The largest error that is of use: a length such as 300m; for counts, a number of persons. The strongest "
    "protection that keeps to it is proposed.",
)
@click.option("--yes", "-y", is_flag=True, help="Ask nothing; say what is assumed.")
@possible
@gathered("data", lambda format, **given: (settings_of(given), format), ("person", *DATA))
@as_json
def check(
    source: str,
    wanted: str | None,
    within: float | None,
    yes: bool,
    budget: Budget | None,
    data: tuple[FileSettings, str | None],
    as_json: bool,
) -> None:
    """Find out what a file can be used for, and how it is released for that. Nothing is spent, released or charged.

    The output looked at the true data, for its owner alone: do not share it. In a terminal it asks what it cannot
    know. Exits with 3 if something must be stated or corrected first.
    """
    settings, form = data
    asked = budget or Budget("hide", str(LEVELS["low"]))
    with incoming(source, form) as path:
        checked = _look(path, settings, asked)
        if not (yes or as_json) and source != "-" and terminal.interactive():
            checked = _answered(checked, asked)
            if wanted is None and (wanted := _purpose(checked.file, asked)) is not None and within is None:
                within = _tolerance(wanted)
        known = None if budget is not None else _known(checked.file)
        if known is not None and wanted == "home":
            kind, text = known.asked
            asked = Budget("rho" if kind == "rho" else "hide", text)
        advice = checked.file.advice(asked.guarantee, within)
    options = [] if form is None else ["--format", form]
    findings = [each for each in checked.findings if wanted != "home" or not _is_of_noise(each)]
    shown = ShownCheck(checked.file, findings, advice, asked, source, tuple(options), known)
    if as_json:
        terminal.json(shown.data())
    else:
        shown.show(wanted)
    if not shown.ready:
        click.get_current_context().exit(3)


@dataclass(frozen=True)
class Looked:
    """A file that was checked, with its findings."""

    file: CheckedFile
    findings: list[Finding]


def _look(path: Path, settings: FileSettings, budget: Budget) -> Looked:
    from geoveil.requests.file_check import CheckedFile

    with terminal.waiting(f"Looking at {path.name}"):
        file = CheckedFile(path, settings, budget.protecting(settings.protect))
        return Looked(file, [*file.findings()])


def _known(file: CheckedFile) -> Hiding | None:
    """Return how the place where the first track begins is hidden, if the usual file of centres knows it."""
    from geoveil.zones import Centres, HiddenPlace

    if file.rows is None or file.rows.start is None or not _CENTRES.exists():
        return None
    try:
        return Centres(_CENTRES).hiding(HiddenPlace(*file.rows.start))
    except GeoveilError:
        # `geoveil zones` says what is wrong with the file.
        return None


def _is_of_noise(finding: Finding) -> bool:
    """Return whether a finding asks for an area alone, which the noise needs, and tracks that are cut do not."""
    return finding.kind == "need" and {*finding.settings} == {"area"}


def _answered(checked: Looked, budget: Budget) -> Looked:
    """Ask whose the points are and where, unless that is stated; check the file again if that changes something."""
    from geoveil.geo.columns import ROW

    file, settings = checked.file, checked.file.settings
    if file.rows is None:
        return checked
    proposed = file.completed
    if settings.person is None:
        named = "" if proposed.person in (None, ROW) else f"{proposed.person}, "
        told = f"Whose are the points? {named}another column of persons, row (each row another person), or one"
        given = click.prompt(told, default=proposed.person or "one", err=True)
        settings = replace(settings, person=None if given == "one" else given)
    if settings.area is None and proposed.area is not None:
        told = "Where are they, from public knowledge? A city, a region, or LAT,LON,RADIUS"
        settings = replace(settings, area=click.prompt(told, default=proposed.area, err=True))
    same = (settings.person, settings.area) == (proposed.person, proposed.area)
    return checked if same else _look(file.path, settings, budget)


def _purpose(file: CheckedFile, budget: Budget) -> str | None:
    """Ask what the data is for."""
    advice = file.advice(budget.guarantee)
    names = [] if advice is None else [use.purpose.name for use in advice.uses]
    if len(names) < 2:
        return None
    told = f"What for? {', '.join(names)}, or all"
    given: str = click.prompt(told, type=click.Choice([*names, "all"]), default="all", show_choices=False, err=True)
    return None if given == "all" else given


def _tolerance(purpose: str) -> float | None:
    """Ask how large an error may be."""
    if purpose == "home":
        return None
    such = "a number of persons" if purpose == "counts" else "a length such as 300m"
    told = f"Up to which error is it of use? {such[0].upper()}{such[1:]}, or any"
    given = click.prompt(told, default="any", err=True)
    return None if given == "any" else cast("float", TypedText(LENGTH).convert(given, None, None))


@dataclass(frozen=True)
class ShownCheck:
    """What was found about a file, for those who show it."""

    file: CheckedFile
    findings: Sequence[Finding]
    advice: Advice | None
    budget: Budget
    source: str
    #: Further options of its commands.
    options: tuple[str, ...]
    #: How the place where the first track begins is hidden already.
    known: Hiding | None = None

    @property
    def ready(self) -> bool:
        """Whether nothing must be stated or corrected first."""
        return all(finding.kind in ("good", "note") for finding in self.findings)

    def command(self, use: Use, offer: Outlook | None = None) -> str | None:
        """Return the command that releases the file for a purpose, as best or as another offer says.

        It is None if nothing is useful, or if it needs what is not installed.
        """
        from geoveil.geo.columns import ROW

        best, purpose = offer or use.best, use.purpose
        question = use.asked(best)
        if best.verdict == "hopeless" or (purpose.name == "counts" and find_spec("h3") is None):
            return None
        if purpose.name == "home":
            # A known place keeps its disc.
            return self._zones(best) if self.known is None or offer is None else None
        person = self.file.completed.person
        labelled = person not in (None, ROW) and question not in CROWD
        settings = replace(self.file.completed, pseudonyms=labelled, **best.data)  # type: ignore[arg-type]
        if not (settings.thin or settings.protect not in (None, "point") or "motion" in best.question):
            # A column of times that was assumed is named only where it is used.
            settings = replace(settings, times=self.file.settings.times)
        request = FileRequest(
            question,
            self.file.path,
            self.source,
            settings,
            self.budget,
            _question_options(best.question),
            target=self._target(best.asks or purpose.name),
        )
        report = ["--report", f"{purpose.name}.html"] if question in CROWD else []
        return " ".join([request.command(), *self.options, *report])

    def _zones(self, offer: Outlook) -> str | None:
        """Return the command that hides the place where the first track begins, in the way in which it is known."""
        from geoveil.zones import MARGIN

        rows, reading = self.file.rows, self.file.settings.reading
        if rows is None or rows.start is None or reading:
            return None
        place = "--at={:.5f},{:.5f}".format(*rows.start)
        margin = [f"--{name} {value}m" for name, value in offer.question.items()]
        how = self.budget.option
        if self.known is not None:
            kind, text = self.known.asked
            how = Budget("rho" if kind == "rho" else "hide", text).option
            margin = [f"--margin {self.known.margin}m"] if self.known.margin != MARGIN else []
        words = ["geoveil zones", shlex.quote(self.source), place, *how, *margin]
        return " ".join([*words, f"--centres {_CENTRES} -o home"])

    def _target(self, purpose: str) -> str:
        """Return a name for the released file that no file has, in the format of the source if that can be written."""
        from geoveil.geo.formats import targets

        known = targets(Path(self.source))
        usual = ".geojson" if self.file.lines and known[0] in (".csv", ".tsv", ".xlsx") else known[0]
        name = Path(_TARGETS.get(purpose) or f"{purpose}{usual}")
        free = (name if number == 1 else name.with_stem(f"{name.stem}-{number}") for number in range(1, 1000))
        return str(next((path for path in free if not path.exists()), name))

    def data(self) -> dict[str, object]:
        """Return everything for programs; the next command is that of the first useful purpose."""
        advice, best = self.advice, None if self.advice is None else self.advice.best
        uses = [] if advice is None else [self._use(use) for use in advice.uses]
        told = {"ready": self.ready, "findings": [_data(finding) for finding in self.findings], "purposes": uses}
        return {**told, "next": None if best is None else self.command(best)}

    def _use(self, use: Use) -> dict[str, object]:
        told = use.data() | {"command": self.command(use)}
        others = zip(use.others, use.data()["others"], strict=True)  # type: ignore[call-overload]
        return told | {"others": [each | {"command": self.command(use, offer)} for offer, each in others]}

    def show(self, wanted: str | None) -> None:
        """Print the findings, then what the file can be used for with the command for each, or for one purpose."""
        lines = [
            (terminal.styled(*_SIGNS[finding.kind]), " ".join(finding.told(OPTIONS)).rstrip())
            for finding in self.findings
        ]
        terminal.answer(terminal.grid(lines))
        if self.advice is None:
            terminal.answer("", terminal.bold("Not ready yet: first correct what is marked with stop."))
            return
        self._show_table(self.advice)
        for use in self.advice.uses:
            if wanted in (None, use.purpose.name):
                self._show_use(self.advice, use, detailed=wanted is not None)
        terminal.answer("", *self._remarks())

    def _show_table(self, advice: Advice) -> None:
        levels = [hidden(away) for away in LEVELS.values()]
        rows = [[use.purpose.wish, *use.errors.values(), use.best.verdict] for use in advice.uses]
        terminal.answer(terminal.bold("\nWhat it can be used for, and the error if this much is hidden"))
        name, value = self.budget.option
        judged = f"at {hidden(float(self.budget.text))}" if name == "--hide" else f"with {name} {value}"
        terminal.answer(terminal.table(["", *levels, judged], rows))

    def _show_use(self, advice: Advice, use: Use, *, detailed: bool) -> None:
        wish = use.purpose.wish[0].upper() + use.purpose.wish[1:]
        terminal.answer(terminal.bold(wish), terminal.grid([("", use.told(advice.instead_of(use)))]))
        line = self.command(use)
        if line is not None:
            _show_command(line)
        elif use.purpose.name == "counts" and use.useful:
            terminal.answer("  It needs a file of your districts (--regions), or the library h3 for hexagons.")
        if line is not None and use.purpose.name == "home":
            told = f"--at is where the first track begins: write your home there. Keep {_CENTRES}."
            if self.known is not None:
                told = (
                    f"{_CENTRES} knows where the first track begins: its disc has a radius of {self.known.radius} m."
                )
            terminal.answer(terminal.grid([("", told)]))
            if detailed:
                self._show_attacks()
            else:
                terminal.answer("  --for home tells how near somebody comes to it with your tracks.")
        for offer in use.others if detailed else ():
            if (other := self.command(use, offer)) is not None:
                terminal.answer(terminal.grid([("", f"or {offer.verdict}: {offer.text}")]))
                _show_command(other)
        if use.others and not detailed and (self.known is None or use.purpose.name != "home"):
            told = "; ".join(_briefly(use, offer) for offer in use.others)
            terminal.answer(terminal.grid([("", f"or {told} (commands: --for {use.purpose.name})")]))
        terminal.answer("")

    def _show_attacks(self) -> None:
        """Attack the tracks as they would be shared, if the first one begins at home."""
        from geoveil.cli.zones import show_attacks
        from geoveil.requests.zones_request import ZonesRequest
        from geoveil.zones import Hiding, Rules

        rows, (name, value) = self.file.rows, self.budget.option
        assert rows is not None
        assert rows.start is not None
        hiding = self.known or Hiding.of(**{name.removeprefix("--"): value})
        place = "{:.5f},{:.5f}".format(*rows.start)
        request = ZonesRequest((self.file.path,), (place,), _CENTRES, hiding, Rules(), "home")
        try:
            with terminal.progress("Attacking the tracks that would be left") as bar:
                files = request.read()
                attacked = request.attacked(files, request.rehearsed(), progress=bar)
        except GeoveilError as problem:
            # The file of centres may know the place otherwise, as the command would say.
            terminal.note(problem.worded(OPTIONS))
        else:
            show_attacks(attacked)

    def _is_short(self) -> bool:
        """Return whether a shorter length of time than a day is proposed to be protected."""
        uses = () if self.advice is None else self.advice.uses
        return any(use.useful and use.best.data.get("protect") in ("1 hour", "10 minutes") for use in uses)

    def _remarks(self) -> list[str]:
        """Return what the reader should know about the commands."""
        told = [
            "Errors follow from public numbers. Those of points hold with 95% probability; those of maps and flows "
            "are the smallest cells whose numbers stand out from noise."
        ]
        if any("area" in finding.settings for finding in self.findings):
            told.append(
                "The area was found by looking at the data, and it is published: name the one that you would have "
                "named without looking. The smaller it is, the finer are maps and flows."
            )
        if self._is_short():
            told.append(
                "Where less than a day is protected, every such stretch of time is hidden by itself: a place where "
                "somebody stays for hours, such as a home, can be found by averaging."
            )
        if any("missing" in finding.settings or "outside" in finding.settings for finding in self.findings):
            told.append("Rows are removed, as the certificate states.")
        return told


def _briefly(use: Use, offer: Outlook) -> str:
    """Return the error of an offer and what would be said to get it."""
    stated = offer.settings.items()
    texts = [OPTIONS.mention(name, value if isinstance(value, str) else f"{value:g}") for name, value in stated]
    asked = f"'geoveil {offer.asks}'" if offer.asks else " ".join(texts) or "everything protected together"
    return f"{offer.short} with {asked}"


def _show_command(line: str) -> None:
    # A backslash continues a command in the shells of Linux and macOS alone.
    for part in [f"  {line}"] if os.name == "nt" else broken(line, terminal.console().width, prompt=" "):
        click.echo(part)


def _question_options(settings: Mapping[str, str | float]) -> QuestionOptions:
    """Return the settings of a question that were found, as its options."""
    named = {name: Path(str(value)) if name == "regions" else value for name, value in settings.items()}
    return QuestionOptions(**named)  # type: ignore[arg-type]


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
