"""The pages of the steps, made from the state of the studio."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from geoveil._version import __version__
from geoveil.errors import GeoveilError
from geoveil.report import palette
from geoveil.report.page import static, templates
from geoveil.requests.budgets import Budget
from geoveil.requests.file_request import CROWD, PASSWORD, TRUE_REPORT
from geoveil.settings import LEVELS, MOTIONS, READING, SETTINGS, OnPage
from geoveil.studio.choices import StudioRequest
from geoveil.studio.later_modules import prepare
from geoveil.studio.page_words import ON_PAGE, message_of
from geoveil.studio.project import Project
from geoveil.text.typed_values import read_area
from geoveil.text.words import counted, hidden, metres

if TYPE_CHECKING:
    from geoveil.requests.file_check import Finding
    from geoveil.requests.opened_data import OpenedData
    from geoveil.studio.releasing import Outcome
    from geoveil.verification import Verification

__all__ = ["ASIDE", "STEPS", "numbers", "released", "render", "style"]

#: The steps in their order: the end of the address, the name, and what is decided there.
STEPS = {
    "data": ("Data", "Choose the file, and say whose points it holds and where they are."),
    "protection": ("Protection", "Decide how much of a person's time is protected together."),
    "budget": ("How much", "Decide how far apart two places may be and still be mistaken for one another."),
    "question": ("Question", "Decide what is asked, and see on made-up data what the answer will look like."),
    "release": ("Release", "Look once more at what will be released and charged, then release it."),
    "account": ("Account", "See what every person's budget was spent on, and check it."),
}
#: Pages beside the steps.
ASIDE = {
    "tracks": ("Tracks", "Share tracks as they are, but hide where you live."),
}
#: The units: what each protects, and what it does not hide.
UNITS = {
    "all": ("Everything of a person", "All places of a person, over the whole time, are hidden together."),
    "1 day": ("Any day", "Whatever happened within any 24 hours is hidden; a habit over many days shows through."),
    "1 hour": ("Any hour", "One errand is hidden; a day of them shows through."),
    "point": ("Each point", "A single visit is hidden; two visits at the same place show through."),
}
#: The stretch of time of each unit, in words: a day may begin at any time.
WITHIN = {
    "all": "",
    "1 day": " within any 24 hours, also across midnight",
    "1 hour": " within any 60 minutes",
    "point": "",
}
#: The questions: the name of each, and the answer that it gives.
QUESTIONS = {
    "points": ("Points", "Every point with noise, in a file like yours."),
    "heatmap": ("Heat map", "How many persons are in each cell of a grid: one map for all."),
    "counts": ("Counts", "How many persons are in each of your regions: one table for all."),
    "flows": ("Flows", "How many persons go from one cell to another: one table for all."),
    "hull": ("Hull", "For each person, the smallest convex area that holds all of that person's points."),
    "nearest": ("Nearest", "Which rows are nearest to a public place."),
    "summary": ("Summary", "Center, radius and bounds."),
}
#: What is counted in place of persons, by unit: each protected part counts as one.
_COUNTED = {
    "1 day": "Each day of a person counts as one, so that numbers are person-days.",
    "1 hour": "Each hour of a person counts as one, so that numbers are person-hours.",
    "point": "Each point counts as one, so that numbers are points.",
}
#: The most rows of a table of accounts, and the seconds that a page waits for a busy ledger.
_ROWS, _PATIENCE = 200, 2.0
#: Seconds that a page waits for a preview before it is shown without one.
_SOON = 1.5


def style() -> str:
    """Return the style sheet of all pages: the colours and the map of reports, and the studio's own rules."""
    own = resources.files("geoveil.studio").joinpath("static", "studio.css").read_text(encoding="utf-8")
    return palette.variables() + static("page.css") + own


def render(step: str, project: Project) -> str:
    """Return the page of a step. The empty first page does not wait for the modules that only other pages need."""
    if step != "data" or project.data is not None:
        prepare()
    views = {"data": _data, "protection": _protection, "budget": _budget, "question": _question}
    views |= {"release": _release, "account": _account, "tracks": _tracks}
    # Asked first: the result of work that ends while the page is made is not on it, and the page has to load again.
    busy = _busy(project, step)
    # The template gets the data and the choices of this moment, even if another file is read meanwhile.
    told = {"data": project.data, "choices": project.choices} | views[step](project)
    notice, project.notice = project.notice, None
    return (
        templates("geoveil.studio")
        .get_template(f"{step}.html")
        .render(
            step=step,
            about=(STEPS | ASIDE)[step],
            steps=STEPS,
            done=_done(project),
            notice=notice,
            version=__version__,
            project=project,
            busy=busy or _busy(project, step),
            previewing=_previewing(project, step),
            **told,
        )
    )


def _done(project: Project) -> set[str]:
    """Return the steps in which everything is decided."""
    choices, done = project.choices, set()
    labels = choices.by is None or choices.pseudonyms is not None
    if project.data is not None and choices.persons is not None and labels:
        done.add("data")
    if choices.unit is not None and choices.planned is not None:
        done.add("protection")
    if choices.budget is not None:
        done.add("budget")
    if choices.question is not None:
        done.add("question")
    if project.releasing is not None and project.releasing.result is not None:
        done.add("release")
    return done


def _busy(project: Project, step: str) -> str:
    """Return the title of work in the background that changes the page when it ends; empty if there is none."""
    jobs = (project.reading, project.checking, project.releasing, project.tracks.job)
    running = [job.title for job in jobs if job is not None and job.running]
    if _previewing(project, step) and project.previewed is not None:
        running.append(project.previewed.title)
    return next(iter(running), "")


def _previewing(project: Project, step: str) -> bool:
    """Return whether a page waits for a preview."""
    job = project.previewed
    return step in ("question", "release") and job is not None and job.running


# Data ----------------------------------------------------------------------------------------------------------------


def _data(project: Project) -> dict[str, object]:
    data, job = project.data, project.reading
    problem = None if job is None or job.problem is None else project.told(job.problem)
    if data is None:
        return {"data": None, "problem": problem, "map": None, "reading_fields": _READING}
    # The map is drawn first: the check takes long, and would slow it down.
    view = project.map_of_data()
    checking = project.check()
    if view is None or checking is None:
        # Another page has begun to read the file again.
        return {"data": None, "problem": None, "map": None, "reading_fields": _READING}
    checked = checking.result
    findings = [] if checked is None else [_told(finding, project) for finding in checked.findings]
    always = _always(data, project.choices.by)
    return {
        "problem": problem,
        "map": view,
        "reading_fields": _READING,
        "findings": findings,
        "levels": [hidden(away) for away in LEVELS.values()],
        "advice": None if checking.result is None else checking.result.advice,
        "checking": checking.running,
        "check_problem": None if checking.problem is None else project.told(checking.problem),
        "sizes": data.sizes(project.choices.by),
        "likely": [str(name) for name in data.file.recognised.persons],
        "always": always,
        "area_words": None if project.choices.area is None else _described(project.choices.area),
        "kept": [name for name in data.columns if name not in always],
        "located": getattr(getattr(data.file, "located", None), "names", ()),
        "crs": data.file.crs.name,
        "needs_area": not data.file.crs.is_projected,
    }


def _always(data: OpenedData, by: str | None) -> list[str]:
    """Return the columns that are released unchanged in any case."""
    chosen = [*([by] if by else []), *data.times, *data.file.structure]
    return [name for name in dict.fromkeys(chosen) if name in data.columns]


#: The fields that correct how a file is read: the name and the label of each.
_READING = [(name, SETTINGS[name].page.field) for name in READING]
#: The sign of each kind of finding. Labels that are released unchanged get a warning: no error, but not in order.
_KINDS = {"good": "In order", "note": "Note", "need": "To decide", "stop": "To correct", "warning": "Warning"}


def _told(finding: Finding, project: Project) -> dict[str, object]:
    """Return a finding in words, and the button that does what it proposes."""
    kind, (what, remedy) = _worded(finding, project)
    settings = finding.settings
    button, value = "", ""
    if "area" in settings:
        area = settings["area"]
        value = area.place or f"{area.lat:g}, {area.lon:g}, {area.radius / 1000:g} km"
        inside = "all points" if not area.outside else f"{area.points - area.outside:,} of {area.points:,} points"
        remedy = (
            f"Name the area that you would have named without looking at the points. {value} was found by looking at "
            f"them, and covers {inside}: take it only if you would have named it anyway."
        )
        button = f"I would have named {value}" + (": use it, and remove the rest" if area.outside else ": use it")
    elif "missing" in settings:
        button = "Remove these rows"
    elif "person" in settings:
        value, button = str(settings["person"]), f"Each {settings['person']} is one person"
    return {
        "kind": kind,
        "sign": _KINDS[kind],
        "what": what,
        "remedy": remedy,
        "button": button,
        "setting": next(iter(settings), ""),
        "value": value,
        "outside": settings.get("outside", ""),
    }


def _worded(finding: Finding, project: Project) -> tuple[str, tuple[str, str]]:
    """Return the kind, the fact and the remedy of a finding, in terms of the fields of the page."""
    what, remedy = finding.told(ON_PAGE)
    if finding.about == "persons":
        return finding.kind, (what, "If they are of several persons, choose the column of persons below.")
    if finding.about == "removed":
        if finding.kind == "good":
            listed = ", ".join(finding.columns)
            return finding.kind, (f"These columns are removed unless you tick them below: {listed}.", "")
        return finding.kind, (what, "It is removed unless you tick it below.")
    if finding.about != "unchanged" or (by := project.choices.by) not in finding.columns:
        return finding.kind, (what, remedy)
    others = [name for name in finding.columns if name != by]
    rest = f" Also released unchanged: {', '.join(others)}." if others else ""
    if project.choices.pseudonyms:
        return finding.kind, (f"Random pseudonyms take the place of what is in {by}.{rest}", "")
    told = f"What is in {by} is released as it is: whoever gets the file reads it beside every point.{rest}"
    return "warning", (told, "If someone can be known by it, choose random pseudonyms below.")


# Tracks --------------------------------------------------------------------------------------------------------------


def _tracks(project: Project) -> dict[str, object]:
    tracks = project.tracks
    job, result = tracks.job, tracks.found
    view = None if result is None else project.view(result.layers, "Map of what is shared, removed, and the discs")
    problem = None if job is None or job.problem is None else project.told(job.problem)
    attacks = [] if result is None else [told.worded(ON_PAGE) for told in result.attacks]
    return {"tracks": tracks, "found": result, "map": view, "problem": problem, "attacks": attacks}


# Protection ----------------------------------------------------------------------------------------------------------


def _protection(project: Project) -> dict[str, object]:
    from geoveil.planning import COMPARED

    typical, choices = project.typical, project.choices
    checked = project.checking is not None and not project.checking.running
    decided = checked and choices.persons is not None and choices.area is not None
    most = {}
    if typical is not None and {*COMPARED} <= {*typical.largest}:
        most = dict(zip(UNITS, (typical.largest[name] for name in COMPARED), strict=True))
    return {"units": UNITS, "within": WITHIN, "most": most, "typical": typical, "decided": decided}


# How much ------------------------------------------------------------------------------------------------------------


def _budget(project: Project) -> dict[str, object]:
    from geoveil.requests.foresight import DISTANCES

    budget = project.choices.budget
    view = project.map_of_data()
    circles = [] if view is None else [(*view.drawn(*place), view.named(*place)) for place in project.places]
    hide = budget.text if budget is not None and budget.kind == "hide" else ""
    nearest = min(range(len(DISTANCES)), key=lambda at: abs(DISTANCES[at] - float(hide or 0)))
    return {
        "levels": LEVELS,
        "distances": DISTANCES,
        "hide": hide,
        "at": nearest if hide else None,
        "map": view,
        "circles": circles,
        "numbers": None if budget is None else numbers(project, budget),
    }


def numbers(project: Project, budget: Budget) -> Markup:
    """Return the part of a page that explains a budget."""
    from geoveil.requests.foresight import Foresight

    foresight = Foresight(budget, project.choices.settings(), project.choices.planned, project.data, project.typical)
    told = {"found": foresight, "curve": Markup(foresight.curve), "planned": project.choices.planned}
    return Markup(templates("geoveil.studio").get_template("numbers.html").render(**told))


# Question ------------------------------------------------------------------------------------------------------------


def _question(project: Project) -> dict[str, object]:
    shown, problem, view = None, "", None
    missing = _missing(project)
    if project.choices.question is not None and not missing:
        try:
            job = project.previewing()
            # A preview that is done soon is on this page; for a longer one, the page loads again when it is done.
            job.wait(_SOON)
            if job.problem is not None:
                problem = project.told(job.problem)
            elif job.result is not None:
                shown = job.result
                view = project.view(shown.layers, "Map of the answer about made-up data")
        except GeoveilError as refused:
            problem = project.told(refused)
    return {
        "questions": QUESTIONS,
        "crowd": CROWD,
        "counted": _COUNTED.get(project.choices.unit or "", ""),
        "missing": missing,
        "preview": shown,
        "problem": problem,
        "map": view,
        "fields": _fields(project),
    }


def _fields(project: Project) -> list[tuple[str, OnPage, list[tuple[str, str]]]]:
    """Return the fields of the chosen question: the name, the texts, and the choices of each, if it has some."""
    data, findings = project.data, []
    for name, row in SETTINGS.items():
        if project.choices.question not in row.page.questions or not row.page.field:
            continue
        choices: list[tuple[str, str]] = []
        if name == "motion":
            choices = [("", "no"), *((each, f"motion: {each}") for each in MOTIONS)]
        elif name in ("order", "count"):
            choices = [("", "public"), ("hidden", "hidden")]
        elif name == "name":
            names = _region_names(project)
            choices = [("", "numbers"), *((each, each) for each in names)]
        elif name == "trip" and data is not None:
            choices = [("", "Choose …"), *((each, each) for each in data.columns)]
        if (name != "name" or len(choices) > 1) and (name != "trip" or data is None or not data.trips):
            findings.append((name, row.page, choices))
    return findings


def _missing(project: Project) -> str:
    """Return a request for the setting that the chosen question still needs; empty if nothing is missing."""
    choices, data = project.choices, project.data
    options, question = choices.options, choices.question
    if question in ("heatmap", "flows") and not options.get("cell"):
        return "How long is the side of a cell? Type a length such as 500 m."
    if question == "counts" and project.regions is None:
        return "Which regions? Choose a file of public regions, or drop it above."
    if question == "flows" and data is not None and not data.trips and not options.get("trip"):
        return "Which points are one trip? Choose the column of trips."
    if question == "nearest" and not options.get("at"):
        return "Nearest to which place? Type the latitude and the longitude of a public place."
    if question == "nearest" and not options.get("k"):
        return "How many neighbours? Type a whole number."
    return ""


def _region_names(project: Project) -> list[str]:
    from geoveil.geo.region_files import read_regions

    if project.regions is None:
        return []
    try:
        frame = read_regions(project.regions)
    except GeoveilError:
        # The preview says why.
        return []
    return [str(name) for name in frame if name != frame.geometry.name]


# Release -------------------------------------------------------------------------------------------------------------


def _release(project: Project) -> dict[str, object]:
    from geoveil.budget.stores import without_password

    job = project.releasing
    told: dict[str, object] = {"job": job, "outcome": None, "failed": None, "problem": "", "ready": False, "facts": []}
    told |= {"accounts": None, "earlier": "", "map": None, "gauges": "", "ledger_problem": ""}
    told |= {"sitting": _sitting(project), "ledger_shown": without_password(project.choices.ledger)}
    if job is not None and not job.running:
        if job.problem is not None:
            told["failed"] = project.told(job.problem)
        else:
            assert job.result is not None
            return told | _outcome(project, job.result)
    if job is None or not job.running:
        try:
            request = project.request()
            request.check()
            request.data.check_unchanged()
            facts = _facts(request)
            at = [name for name, _ in facts].index("Planned")
            facts.insert(at, ("Expected error", _expected_error(project, request)))
            told |= {"ready": True, "keys": project.keys(), "facts": facts, **_foreseen(request)}
            # The ticket is for what the page shows, not for what another page decides while this one is made.
            told |= {"ticket": project.ticket(request), "signer": request.key, "choices": request.choices}
        except GeoveilError as refused:
            told["problem"] = project.told(refused)
    return told


def _sitting(project: Project) -> list[dict[str, object]]:
    """Return the releases that were made since the studio began, other than the one that the page shows."""
    shown = None if project.releasing is None else project.releasing.result
    return [
        {
            "number": number,
            "title": f"{QUESTIONS[outcome.request.question][0]} of {outcome.request.data.name}",
            "when": f"{outcome.when:%H:%M}",
            "files": [(path.name, path.stat().st_size, _file_words(path.name)) for path in outcome.files],
        }
        for number, outcome in enumerate(project.outcomes, 1)
        if outcome is not shown
    ]


def _expected_error(project: Project, request: StudioRequest) -> str:
    """Return the expected error of the answer to a request, from its preview."""
    job = project.previewing(request)
    job.wait(_SOON)
    if job.problem is not None:
        return f"not known: {project.told(job.problem)}"
    if job.result is None:
        return "being computed on made-up data …"
    errors = job.result.errors
    told = "; ".join(error if len(errors) == 1 else f"{name}: {error}" for name, error in errors)
    return f"{told}. This error is for made-up data of the same shape; the certificate states that of the release."


def _facts(request: StudioRequest) -> list[tuple[str, str]]:
    """Return all decisions about a release, as pairs of a name and a text."""
    from geoveil.budget.stores import without_password
    from geoveil.facts.wording import guarantee_line, protected

    choices, data = request.choices, request.data
    sizes = data.sizes(choices.by)
    persons = "one person" if choices.by is None else counted(len(sizes), "person")
    rows = [f"only rows with {choices.where}"] if choices.where else []
    rows.append("rows without a location are removed" if choices.missing == "drop" else "none may lack a location")
    area = "as the coordinate system of the file states" if choices.area is None else _described(choices.area)
    facts = [
        ("File", f"{data.name}: {counted(int(sizes.sum()), 'point')} of {persons}"),
        ("Question", QUESTIONS[request.question][0] + ". " + QUESTIONS[request.question][1]),
        *_settings(request),
        ("Rows", "; ".join(rows)),
        ("Area", area),
        ("Points outside", _OUTSIDE[choices.outside]),
    ]
    if request.question == "points":
        facts.append(("Unchanged", ", ".join(_unchanged(request)) or "nothing"))
    if choices.by is not None and not request.crowd:
        labels = "replaced by random pseudonyms" if choices.pseudonyms else "released unchanged"
        facts.append((f"Labels in {choices.by}", labels))
    facts += [
        ("Protected", protected(request.guarantee.metric)),
        ("Hidden", guarantee_line(request.guarantee, each=choices.by is not None and not request.crowd, plain=True)),
        ("Planned", _planned(request)),
    ]
    whom = "accounts with the prefix" if choices.by else "account"
    account = f", {whom} {choices.subject}" if choices.subject else ""
    charged = f"to {without_password(choices.ledger)}{account}" if choices.ledger else "to nobody: no ledger is named"
    signed = (
        "no: nobody can tell later who wrote the certificate" if request.key is None else f"by {request.key.public}"
    )
    truth = "in no file, unless you tick the second box below"
    return [*facts, ("Charged", charged), ("Signed", signed), ("True locations", truth)]


_OUTSIDE = {
    "refuse": "the release is refused if there are any",
    "clamp": "are moved to the edge of the area",
    "drop": "their rows are removed, and which rows these were is not hidden",
}


def _settings(request: StudioRequest) -> Iterator[tuple[str, str]]:
    """Yield the settings of a question, as the table of settings words them."""
    for name, row in SETTINGS.items():
        if request.question not in row.page.questions or not row.page.fact:
            continue
        title, said, *unsaid = row.page.fact
        value = getattr(request.settings if name == "thin" else request.options, name)
        if value is not None:
            yield title, said.format(_in_words(name, value))
        elif unsaid:
            yield title, unsaid[0]


def _in_words(name: str, value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return metres(value) if name == "cell" else f"{value:.6g}"
    return value.name if isinstance(value, Path) else str(value)


def _described(area: str) -> str:
    """Return what an area is, in words."""
    from geoveil.geo.gazetteer import find_place

    place = find_place(area) if read_area(area) is None else None
    return area if place is None else f"{area}: {place.radius / 1000:g} km around {place.lat:.2f}, {place.lon:.2f}"


def _unchanged(request: StudioRequest) -> list[str]:
    """Return the columns of points that are released unchanged."""
    choices, data = request.choices, request.data
    named = dict.fromkeys([choices.by, *data.times, *data.file.structure, *request.options.keep])
    labels = choices.by if choices.pseudonyms else None
    return [name for name in named if name and name in data.columns and name != labels]


def _planned(request: StudioRequest) -> str:
    """Return the number of planned releases, and what they amount to together."""
    from geoveil.text.words import chance, hidden

    planned, guarantee = request.choices.planned, request.guarantee
    assert planned is not None
    if planned == 1:
        return "1 release: this one"
    away, together = guarantee.hidden(chance=0.75), guarantee * planned
    return (
        f"{counted(planned, 'release')} like this one. Together they hide "
        f"{hidden(together.hidden(chance=0.75))}, and a guess at {hidden(away)} is right at most "
        f"{chance(together.attacker(distance=away))} of the time"
    )


def _foreseen(request: StudioRequest) -> dict[str, object]:
    """Return the accounts that will be charged, and the warning about earlier releases."""
    earlier = request.earlier()
    told: dict[str, object] = {"earlier": "" if earlier is None else earlier.worded(ON_PAGE), "ledger_problem": ""}
    try:
        told["accounts"] = _charged(request) if request.account.place else None
    except GeoveilError as refused:
        told["ledger_problem"] = message_of(refused)
    return told


def _charged(request: StudioRequest) -> dict[str, object]:
    """Return the accounts that will be charged, what each pays, and how many have too little left.

    `later` is the number of accounts whose cost is computed when the release is made.
    """
    from geoveil.budget.accounts import unknown_price
    from geoveil.budget.stores import without_password
    from geoveil.requests.accounts import foresee_charges
    from geoveil.studio.releasing import open_ledger

    names = request.account.names(request.data.labels(request.settings.person))
    with open_ledger(request.account.place, _PATIENCE) as ledger:
        known = ledger.accounts()
        charges = foresee_charges(ledger, [name for name in names if name in known], request.guarantee)
    rows = []
    for charge in charges:
        cost, left = charge.cost, charge.left
        if cost is None and request.crowd:
            # Other questions compute their cost from the points' times.
            raise unknown_price(request.question, charge.total.metric)
        more = "computed then" if cost is None else counted(int(left // cost), "release")
        rows.append(
            (charge.name, more, _amount(left), "computed then" if cost is None else _amount(cost), charge.enough)
        )
    return {
        "rows": rows[:_ROWS],
        "count": len(rows),
        "short": sum(not charge.enough for charge in charges),
        "later": sum(charge.cost is None for charge in charges),
        "unknown": [name for name in names if name not in known],
        "ledger": without_password(request.account.place),
    }


def _amount(budget: Decimal) -> str:
    """Return a budget with four significant digits, always in decimal notation.

    Examples
    --------
    >>> _amount(Decimal("0.0001647918")), _amount(Decimal("5.49306e-05")), _amount(Decimal(0))
    ('0.0001648', '0.00005493', '0')
    """
    shown = format(Decimal(f"{budget:.3e}"), "f")
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def _outcome(project: Project, outcome: Outcome) -> dict[str, object]:
    """Return what was released, and the files to be downloaded."""
    from geoveil.facts.wording import paragraphs
    from geoveil.report.page import gauges

    first = outcome.report.facts
    folder = outcome.files[0].parent
    view = project.view(outcome.report.layers, "Map of the release")
    hides, rest = paragraphs(first)
    of = outcome.request.data
    return {
        "outcome": outcome,
        "number": project.outcomes.index(outcome) + 1,
        "changed": _changed(project, outcome),
        "password": PASSWORD if outcome.request.has_password else "",
        # Another file was opened while the release was being made.
        "other": of.name if of is not project.data and of.path != project.source_path else "",
        "map": view if view.scene is not None else None,
        "words": [hides, rest],
        "lines": _lines(outcome),
        "files": [(path.name, path.stat().st_size, _file_words(path.name)) for path in outcome.files],
        "folder": folder,
        "command": outcome.request.command(),
        "python": outcome.request.python(),
        "verified": [_verified(check) for check in outcome.checks],
        "gauges": Markup(gauges(outcome.report.balances, named=True)) if outcome.report.balances else "",
    }


def _lines(outcome: Outcome) -> list[tuple[str, str]]:
    """Return the facts of a release as names and texts; each answer of a summary has its own error."""
    from geoveil.facts.wording import error_line, guarantee_line, lines

    facts = outcome.report.facts
    plain = guarantee_line(facts.guarantee, facts.also, each=facts.persons is not None, plain=True)
    told = [("guarantee", plain) if name == "guarantee" else (name, text) for name, text in lines(facts, ON_PAGE)]
    if len(outcome.releases) == 1:
        return told
    at = [name for name, _ in told].index("error")
    each = [(release.query, release.facts(every_error=False)) for release in outcome.releases]
    told[at : at + 1] = [(f"error of the {query}", error_line(own)) for query, own in each]
    return [(name, text) for name, text in told if name != "mechanism"]


def _changed(project: Project, outcome: Outcome) -> list[tuple[str, str]]:
    """Return the decisions that have changed since the release, as names and texts; empty if none has."""
    # If another file is open, the page says that instead.
    if outcome.request.data.path != project.source_path:
        return []
    try:
        request = project.request()
        if not project.differs(request):
            return []
        now = _facts(request)
    except GeoveilError as refused:
        return [("Not decided", project.told(refused))]
    before = _facts(outcome.request)
    return [fact for fact in now if fact not in before] or [("File", f"{project.source_name}, as it is now")]


def _file_words(name: str) -> str:
    if name.endswith(".certificate.json"):
        return "certificate: keep it beside the file"
    known = {"report.html": "page with map and certificate", "map.png": "figure"}
    known |= {"command.txt": "the same on the command line", "release.py": "the same in Python"}
    known |= {TRUE_REPORT: "page with the TRUE locations: for you alone, do not share it"}
    return known.get(name, "the release")


def _verified(check: Verification) -> dict[str, object]:
    from geoveil.text.messages import worded

    told = []
    for each in check.checks:
        text = worded(each.text, ON_PAGE)
        if each.name == "noise" and each.outcome == "open" and check.outcome != "fails":
            text += (
                " This check needs each person's number of points, which this answer does not have. Nothing is wrong."
            )
        told.append(("unknown" if each.asked and each.outcome == "open" else each.outcome, each.name, text))
    return {"name": check.path.name, "good": bool(check), "checks": told}


# Account -------------------------------------------------------------------------------------------------------------


def _account(project: Project) -> dict[str, object]:
    from geoveil.answering.charging import account_names
    from geoveil.budget.stores import without_password
    from geoveil.facts.wording import unit_name
    from geoveil.studio.releasing import open_ledger

    choices = project.choices
    place = project.looked_at or choices.ledger
    told: dict[str, object] = {
        "accounts": [],
        "problem": "",
        "intact": None,
        "count": 0,
        "shown": None,
        "missing": None,
    }
    told |= {"ledger": without_password(place), "charged": without_password(choices.ledger)}
    if not place:
        return told
    try:
        with open_ledger(place, _PATIENCE) as ledger:
            accounts = ledger.accounts()
            told["intact"] = ledger.verify()
            subject = project.statement
            if subject in accounts:
                told["shown"] = (subject, ledger.statement(subject))
    except GeoveilError as refused:
        told["problem"] = project.told(refused)
        return told
    data = project.data
    if data is not None and choices.by is not None:
        wanted = account_names(choices.subject or None, data.labels(choices.by))
        told["missing"] = [name for name in wanted if name not in accounts]
    told["count"] = len(accounts)
    rows = told["accounts"] = []
    for account in islice(accounts.values(), _ROWS):
        total, spent = account.total, account.spent
        kind = f"{'ρ' if total.symbol == 'rho' else 'ε'}, {unit_name(total.metric)}"
        amounts = _amount(total.budget), _amount(spent), _amount(account.remaining)
        rows.append((account.subject, kind, *amounts, f"{float(spent / total.budget):.0%}"))
    return told


def released(project: Project, number: int, name: str) -> Path | None:
    """Return the path of a file of a release, by the number of the release; None if there is no such file."""
    outcomes = project.outcomes
    if not 1 <= number <= len(outcomes):
        return None
    return next((path for path in outcomes[number - 1].files if path.name == name), None)
