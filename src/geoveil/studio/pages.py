"""The pages of the steps: what each says, from the state of the studio."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from geoveil._version import __version__
from geoveil.budget import price
from geoveil.errors import GeoveilError
from geoveil.file_check import Finding
from geoveil.planning import COMPARED
from geoveil.privacy import exact
from geoveil.protection import LEVELS
from geoveil.release_record import ReleaseRecord, adds_up
from geoveil.report import palette
from geoveil.report.charts import gauges
from geoveil.report.page import static
from geoveil.studio.choices import ChosenBudget
from geoveil.studio.file_request import CROWD, FileRequest
from geoveil.studio.foresight import DISTANCES, Foresight, foresee
from geoveil.studio.page_words import ON_PAGE, message_of
from geoveil.studio.project import Outcome, Project, open_ledger
from geoveil.verification import Verification
from geoveil.wording import guarantee_line, lines, paragraphs, protected, unit_name
from geoveil.words import counted, metres

__all__ = ["STEPS", "numbers", "released", "render", "style"]

#: The steps in their order: the end of the address, the name, and what is decided there.
STEPS = {
    "data": ("Data", "Choose the file, and say whose points it holds and where they are."),
    "protection": ("Protection", "Decide how much of a person's time is protected together."),
    "budget": ("How much", "Decide how far apart two places may be and still be mistaken for one another."),
    "question": ("Question", "Decide what is asked, and see on made-up data what the answer will look like."),
    "release": ("Release", "Look once more at what will be released and charged, then release it."),
    "account": ("Account", "See what every person's budget was spent on, and check it."),
}
#: The units: what each protects, and what it leaves to be seen.
UNITS = {
    "all": ("Everything of a person", "All places of a person, over the whole time, are hidden together."),
    "1 day": ("Any day", "Whatever happened within any 24 hours is hidden; a habit over many days shows through."),
    "1 hour": ("Any hour", "One errand is hidden; a day of them shows through."),
    "point": ("Each point", "A single visit is hidden; two visits at the same place show through."),
}
#: The questions: what each is, and what comes back.
QUESTIONS = {
    "points": ("Points", "Every point with noise, in a file like yours."),
    "heatmap": ("Heat map", "How many persons are expected in each cell of a grid."),
    "counts": ("Counts", "How many persons are expected in each of your regions."),
    "flows": ("Flows", "How many persons go from one cell to another."),
    "hull": ("Hull", "The smallest convex area that holds all points."),
    "nearest": ("Nearest", "Which rows are nearest to a public place."),
    "summary": ("Summary", "Center, radius and bounds."),
}
MOTIONS = ("walking", "cycling", "car", "taxi")
#: The most rows of a table of accounts, and the seconds that a page waits for a busy ledger.
_ROWS, _PATIENCE = 200, 2.0


@cache
def _templates() -> jinja2.Environment:
    loader = jinja2.PackageLoader("geoveil.studio")
    found = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    found.filters |= {"counted": counted, "metres": metres}
    return found


def style() -> str:
    """Return the style of all pages: the colours and the map of reports, and what is the studio's own."""
    own = resources.files("geoveil.studio").joinpath("static", "studio.css").read_text(encoding="utf-8")
    return palette.variables() + static("page.css") + own


def render(step: str, project: Project) -> str:
    """Return the page of a step."""
    views = {"data": _data, "protection": _protection, "budget": _budget, "question": _question}
    views |= {"release": _release, "account": _account}
    # Work that ends while the page is made is not yet on it.
    busy = _busy(project)
    told = views[step](project)
    notice, project.notice = project.notice, None
    return (
        _templates()
        .get_template(f"{step}.html")
        .render(
            step=step,
            steps=STEPS,
            done=_done(project),
            notice=notice,
            version=__version__,
            project=project,
            choices=project.choices,
            data=project.data,
            busy=busy or _busy(project),
            **told,
        )
    )


def _done(project: Project) -> set[str]:
    """Return the steps in which everything is decided."""
    choices, done = project.choices, set()
    if project.data is not None and choices.persons is not None:
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


def _busy(project: Project) -> str:
    """Return what goes on in the background and changes the page when it ends."""
    jobs = (project.reading, project.checking, project.releasing)
    return next((job.title for job in jobs if job is not None and job.running), "")


# Data ----------------------------------------------------------------------------------------------------------------


def _data(project: Project) -> dict[str, Any]:
    data, job = project.data, project.reading
    problem = None if job is None or job.problem is None else message_of(job.problem)
    if data is None:
        return {"problem": problem, "map": None}
    # The map comes first: the check is long, and would take its time.
    view = project.map_of_data()
    checking = project.check()
    assert checking is not None
    checked = checking.result
    findings = [] if checked is None else [_told(finding) for finding in checked.findings]
    kept = [name for name in data.columns if name not in _always(project)]
    return {
        "problem": problem,
        "map": view,
        "findings": findings,
        "checking": checking.running,
        "check_problem": None if checking.problem is None else message_of(checking.problem),
        "sizes": data.sizes(project.choices.by),
        "likely": [str(name) for name in data.file.recognised.persons],
        "always": _always(project),
        "kept": kept,
        "located": getattr(getattr(data.file, "located", None), "names", ()),
        "crs": data.file.crs.name,
        "needs_area": not data.file.crs.is_projected,
    }


def _always(project: Project) -> list[str]:
    """Return the columns that are released unchanged in any case."""
    data = project.data
    assert data is not None
    found = [*([project.choices.by] if project.choices.by else []), *data.times, *data.file.structure]
    return [name for name in dict.fromkeys(found) if name in data.columns]


_KINDS = {"good": "In order", "note": "Note", "need": "To decide", "stop": "To correct"}


def _told(finding: Finding) -> dict[str, Any]:
    """Return a finding in words, and the button that does what it proposes."""
    what, remedy = finding.told(ON_PAGE)
    settings = finding.settings
    button, value = "", ""
    if "area" in settings:
        found = settings["area"]
        value = found.place or f"{found.lat:g}, {found.lon:g}, {found.radius / 1000:g} km"
        inside = "all points" if not found.outside else f"{found.points - found.outside:,} of {found.points:,} points"
        remedy = (
            f"{value} covers {inside}. That was found by looking at the data: prefer the area that you would have "
            "named without looking."
        )
        button = f"Use {value}" + (", and remove the rest" if found.outside else "")
    elif "missing" in settings:
        button = "Remove these rows"
    elif "by" in settings:
        value, button = str(settings["by"]), f"Each {settings['by']} is one person"
    return {
        "kind": finding.kind,
        "sign": _KINDS[finding.kind],
        "what": what,
        "remedy": remedy,
        "button": button,
        "setting": next(iter(settings), ""),
        "value": value,
        "outside": settings.get("outside", ""),
    }


# Protection ----------------------------------------------------------------------------------------------------------


def _protection(project: Project) -> dict[str, Any]:
    typical = project.typical
    most = {} if typical is None else dict(zip(UNITS, (typical.largest[name] for name in COMPARED), strict=True))
    return {"units": UNITS, "most": most, "typical": typical}


# How much ------------------------------------------------------------------------------------------------------------


def _budget(project: Project) -> dict[str, Any]:
    budget = project.choices.budget
    view = project.map_of_data()
    circles = [] if view is None else [(*view.drawn(*place), view.named(*place)) for place in project.places]
    hide = budget.text if budget is not None and budget.kind == "hide" else ""
    return {
        "levels": LEVELS,
        "distances": DISTANCES,
        "hide": hide,
        "at": _nearest(float(hide)) if hide else None,
        "map": view,
        "circles": circles,
        "numbers": None if budget is None else numbers(project, budget),
    }


def _nearest(away: float) -> int:
    """Return the position of the slider for a distance."""
    return min(range(len(DISTANCES)), key=lambda at: abs(DISTANCES[at] - away))


def numbers(project: Project, budget: ChosenBudget) -> Markup:
    """Return what a budget means, as a part of a page."""
    found: Foresight = foresee(budget, project.choices, project.data, project.typical)
    planned = project.choices.planned
    told = {"found": found, "curve": Markup(found.curve), "planned": planned, "whole": project.data is not None}
    return Markup(_templates().get_template("numbers.html").render(**told))


# Question ------------------------------------------------------------------------------------------------------------


def _question(project: Project) -> dict[str, Any]:
    shown, problem, view = None, "", None
    if project.choices.question is not None:
        try:
            shown = project.preview()
            view = project.view(shown.layers, "Map of the answer about made-up data")
        except GeoveilError as refused:
            problem = message_of(refused)
    return {
        "questions": QUESTIONS,
        "crowd": CROWD,
        "preview": shown,
        "problem": problem,
        "map": view,
        "motions": MOTIONS,
        "names": _region_names(project),
    }


def _region_names(project: Project) -> list[str]:
    from geoveil.geo.region_files import read_regions

    if project.regions is None:
        return []
    frame = read_regions(project.regions)
    return [str(name) for name in frame if name != frame.geometry.name]


# Release -------------------------------------------------------------------------------------------------------------


def _release(project: Project) -> dict[str, Any]:
    job = project.releasing
    told: dict[str, Any] = {"job": job, "outcome": None, "failed": None, "problem": "", "ready": False, "facts": []}
    told |= {"accounts": None, "earlier": "", "map": None, "gauges": "", "ledger_problem": ""}
    if job is not None and not job.running:
        if job.problem is not None:
            told["failed"] = message_of(job.problem)
        else:
            assert job.result is not None
            return told | _outcome(project, job.result)
    if job is None or not job.running:
        try:
            request = project.request()
            request.check()
            told |= {"ready": True, **_foreseen(request)}
        except GeoveilError as refused:
            told["problem"] = message_of(refused)
    return told


def _foreseen(request: FileRequest) -> dict[str, Any]:
    """Return what will be released and charged."""
    choices, data = request.choices, request.data
    sizes = data.sizes(choices.by)
    persons = "one person" if choices.by is None else counted(len(sizes), "person")
    released = [name for name in (choices.by, *data.times, *choices.keep) if name]
    facts = [
        ("File", f"{data.name}: {counted(int(sizes.sum()), 'point')} of {persons}"),
        ("Question", QUESTIONS[request.question][0] + ". " + QUESTIONS[request.question][1]),
        ("Protected", protected(request.guarantee.metric)),
        ("Hidden", guarantee_line(request.guarantee, each=choices.by is not None and not request.crowd)),
    ]
    if request.question == "points":
        facts.append(("Unchanged", ", ".join(dict.fromkeys(released)) or "nothing"))
        if choices.by is not None:
            facts.append(("Labels", "replaced by random pseudonyms" if choices.pseudonyms else "released unchanged"))
    told: dict[str, Any] = {"facts": facts, "earlier": _earlier(request), "ledger_problem": ""}
    try:
        told["accounts"] = _charged(request)
    except GeoveilError as refused:
        told["ledger_problem"] = message_of(refused)
    return told


def _earlier(request: FileRequest) -> str:
    """Return that earlier releases of the file add up with this one; a ledger keeps account itself."""
    record = ReleaseRecord.of_user()
    if record is None or request.choices.ledger or request.data.demo:
        return ""
    earlier = record.earlier(request.data.path, named=not request.data.received)
    return adds_up(request.data.name, earlier, request.guarantee).worded(ON_PAGE) if earlier else ""


def _charged(request: FileRequest) -> dict[str, Any] | None:
    """Return what will be charged to whom, and who has too little left."""
    choices = request.choices
    if not choices.ledger:
        return None
    labels = request.data.frame[choices.by].drop_duplicates() if choices.by is not None else None
    before = f"{choices.subject}/" if choices.subject and labels is not None else choices.subject
    names = [choices.subject] if labels is None else [f"{before}{label}" for label in labels]
    with open_ledger(choices.ledger, _PATIENCE) as ledger:
        known = {*ledger.subjects()}
        accounts = ledger.accounts([name for name in names if name in known])
    rows, short = [], 0
    for name, (total, spent) in accounts.items():
        left = exact.subtract(total.budget, spent)
        own = request.guarantee.metric.of_one_person
        cost = None
        if own.is_at_most(total.metric):
            cost = price(request.guarantee.under_unit(total.metric), total).budget
        enough = cost is None or cost <= left
        short += not enough
        rows.append((name, exact.shown(left), "computed then" if cost is None else exact.shown(cost), enough))
    unknown = [name for name in names if name not in known]
    return {"rows": rows[:_ROWS], "count": len(rows), "short": short, "unknown": unknown, "ledger": choices.ledger}


def _outcome(project: Project, outcome: Outcome) -> dict[str, Any]:
    """Return what was released, and the files to be downloaded."""
    first = outcome.report.facts
    folder = outcome.files[0].parent
    view = project.view(outcome.report.layers, "Map of the release")
    hides, rest = paragraphs(first)
    return {
        "outcome": outcome,
        "map": view if view.scene is not None else None,
        "words": [hides, rest],
        "lines": lines(first, ON_PAGE),
        "files": [(path.name, path.stat().st_size, _file_words(path.name)) for path in outcome.files],
        "folder": folder,
        "command": outcome.request.command(),
        "python": outcome.request.python(),
        "verified": [_verified(check) for check in outcome.checks],
        "gauges": Markup(gauges(outcome.report.balances)) if outcome.report.balances else "",
    }


def _file_words(name: str) -> str:
    if name.endswith(".certificate.json"):
        return "certificate: keep it beside the file"
    known = {"report.html": "page with map and certificate", "map.png": "figure"}
    known |= {"command.txt": "the same on the command line", "release.py": "the same in Python"}
    return known.get(name, "the release")


def _verified(check: Verification) -> dict[str, Any]:
    from geoveil.messages import worded

    told = [(each.outcome, each.name, worded(each.text, ON_PAGE)) for each in check.checks]
    return {"name": check.path.name, "good": bool(check), "checks": told}


# Account -------------------------------------------------------------------------------------------------------------


def _account(project: Project) -> dict[str, Any]:
    choices = project.choices
    told: dict[str, Any] = {"accounts": [], "problem": "", "intact": None, "count": 0, "shown": None, "missing": []}
    if not choices.ledger:
        return told
    try:
        with open_ledger(choices.ledger, _PATIENCE) as ledger:
            names = ledger.subjects()
            accounts = ledger.accounts(names[:_ROWS])
            told["intact"] = ledger.verify()
            subject = choices.options.get("statement", "")
            if subject in names:
                told["shown"] = (subject, ledger.statement(subject))
    except GeoveilError as refused:
        told["problem"] = message_of(refused)
        return told
    data = project.data
    if data is not None and choices.by is not None:
        before = f"{choices.subject}/" if choices.subject else ""
        told["missing"] = [
            label for each in data.frame[choices.by].drop_duplicates() if (label := f"{before}{each}") not in names
        ]
    told["count"] = len(names)
    for name, (total, spent) in accounts.items():
        share = float(spent / total.budget)
        left = exact.shown(exact.subtract(total.budget, spent))
        kind = f"{'ρ' if total.symbol == 'rho' else 'ε'}, {unit_name(total.metric)}"
        told["accounts"].append((name, kind, exact.shown(total.budget), exact.shown(spent), left, f"{share:.0%}"))
    return told


def released(project: Project, name: str) -> Path | None:
    """Return the path of a file of the last release; None if there is no such file."""
    job = project.releasing
    if job is None or job.result is None:
        return None
    return next((path for path in job.result.files if path.name == name), None)
