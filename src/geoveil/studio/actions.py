"""What the forms of the pages do: each changes a decision, or begins some work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geoveil.budget import Ledger
from geoveil.budget.stores import is_database
from geoveil.city import write_taxis
from geoveil.errors import InvalidParameter
from geoveil.geo.areas import area_of
from geoveil.report.tiles import check_tiles
from geoveil.studio.choices import Choices, ChosenBudget, Kind, StatedArea
from geoveil.studio.pages import QUESTIONS, STEPS, UNITS
from geoveil.studio.project import Project
from geoveil.typed_values import read_length

__all__ = ["act"]

#: How a file is read, where it is not recognised.
_READING = ("crs", "lat", "lon", "geometry", "delimiter", "decimal", "encoding", "names", "layer")
#: The options of questions.
_OPTIONS = ("thin", "motion", "cell", "every", "trip", "at", "k", "locations", "name")

Form = Mapping[str, list[str]]


def act(step: str, project: Project, form: Form) -> str:
    """Do what a form of a step asks for, and return the step to go to; refuse with an error of the library."""
    doing = {"data": _data, "protection": _protection, "budget": _budget, "question": _question}
    doing |= {"release": _release, "account": _account}
    return doing[step](project, form)


def _one(form: Form, name: str) -> str:
    return form.get(name, [""])[0].strip()


def _next(step: str) -> str:
    names = [*STEPS]
    return names[names.index(step) + 1]


def _data(project: Project, form: Form) -> str:
    does = _one(form, "do")
    if does == "demo":
        path = project.new_folder("data") / "taxis.csv"
        write_taxis(path)
        project.open(path, path.name, demo=True)
    elif does == "setting":
        # The button beside a finding.
        name, value = _one(form, "name"), _one(form, "value")
        if name == "area":
            project.choices.area = _area(project, value)
            project.choices.outside = "drop" if _one(form, "outside") == "drop" else project.choices.outside
        elif name == "missing":
            project.choices.missing = "drop"
        elif name == "by":
            project.choices.persons = value
    elif does == "tiles":
        address = _one(form, "tiles")
        if address and _one(form, "agreed") != "yes":
            raise InvalidParameter("tiles", address, "agreed to", "Tick that the server may learn where the map is.")
        if address:
            check_tiles(address)
        project.tiles = address
    elif does == "ground":
        project.basemap, project.tiles = None, ""
    elif does == "reading":
        given = {name: text for name in _READING if (text := _one(form, name))}
        where = _one(form, "where")
        if (given, where) != (project.choices.reading, project.choices.where):
            project.choices.reading, project.choices.where = given, where
            project.read_again()
    else:
        _decide_data(project, form)
        if does == "next":
            return _next("data")
    return "data"


def _decide_data(project: Project, form: Form) -> None:
    """Take whose points they are, where, and which columns are released."""
    data, choices = project.data, project.choices
    if data is None:
        raise InvalidParameter("file", None, "chosen first", "Drop a file on the page, or choose one.")
    persons = _one(form, "persons")
    choices.persons = None if persons == "?" else persons.removeprefix("=")
    choices.times = _one(form, "times")
    area = _one(form, "area")
    choices.area = _area(project, area) if area else None
    outside, missing = _one(form, "outside"), _one(form, "missing")
    choices.outside = "clamp" if outside == "clamp" else "drop" if outside == "drop" else "refuse"
    choices.missing = "drop" if missing == "drop" else "refuse"
    choices.keep = tuple(name for name in form.get("keep", []) if name in data.columns)
    choices.pseudonyms = _one(form, "pseudonyms") == "yes"
    if _one(form, "do") == "next":
        if choices.persons is None:
            raise InvalidParameter("by", None, "chosen", "Say whose points they are before you go on.")
        if choices.area is None and not data.file.crs.is_projected:
            remedy = "Name a city, a region or a country, or type latitude, longitude, radius."
            raise InvalidParameter("area", None, "stated", remedy)


def _area(project: Project, text: str) -> StatedArea:
    stated = StatedArea(text)
    area_of(stated.value)
    return stated


def _protection(project: Project, form: Form) -> str:
    unit, planned = _one(form, "unit"), _one(form, "planned")
    project.choices.unit = unit if unit in UNITS else project.choices.unit
    project.choices.planned = int(planned) if planned.isdecimal() and int(planned) > 0 else None
    if _one(form, "do") != "next":
        return "protection"
    if project.choices.unit is None:
        raise InvalidParameter("unit", None, "chosen", "Choose one of the four before you go on.")
    if project.choices.planned is None:
        raise InvalidParameter(
            "planned", planned or None, "a number of releases, at least 1", "Type how many you plan."
        )
    return _next("protection")


def budget_of(form: Form) -> ChosenBudget | None:
    """Return the budget that a form states, if it states one; a level that was pressed comes after the slider."""
    levels = form.get("hide", [])[1:]
    kinds: tuple[Kind, ...] = ("hide",) if levels else ("rho", "epsilon", "hide")
    for kind in kinds:
        text = levels[0] if levels else _one(form, kind)
        if not text:
            continue
        if kind == "hide":
            away = read_length(text)
            if away is None:
                raise InvalidParameter("distance", text, "a length such as 200 m", "Move the slider, or type one.")
            text = f"{away:g}"
        found = ChosenBudget(kind, text)
        # A number that is no budget is refused now.
        _ = found.code("inf")
        return found
    return None


def _budget(project: Project, form: Form) -> str:
    does = _one(form, "do")
    view = project.map_of_data()
    if does == "place" and view is not None:
        project.places.append(view.place(_one(form, "x"), _one(form, "y")))
        return "budget"
    if does == "forget":
        project.places.clear()
        return "budget"
    found = budget_of(form)
    if found is not None:
        project.choices.budget = found
    if does != "next":
        return "budget"
    if project.choices.budget is None:
        raise InvalidParameter("budget", None, "chosen", "Move the slider, take a level, or type ρ or ε.")
    return _next("budget")


def _question(project: Project, form: Form) -> str:
    asked = _one(form, "question")
    if asked in QUESTIONS:
        project.choices.question = asked
    project.choices.options |= {name: _one(form, name) for name in _OPTIONS if name in form}
    if _one(form, "do") != "next":
        return "question"
    project.request().check()
    return _next("question")


def _release(project: Project, form: Form) -> str:
    does = _one(form, "do")
    if does == "ledger":
        project.choices.ledger, project.choices.subject = _one(form, "ledger"), _one(form, "subject")
    elif does == "again":
        project.prepare_another()
    elif does == "release":
        if _one(form, "looked") != "yes":
            raise InvalidParameter("looked", None, "confirmed", "Tick that you have looked at what will be released.")
        project.release(_one(form, "ticket"))
    return "release"


def _account(project: Project, form: Form) -> str:
    does, choices = _one(form, "do"), project.choices
    if does == "open":
        choices.ledger = _one(form, "ledger")
    elif does == "statement":
        choices.options["statement"] = _one(form, "subject")
    elif does == "create":
        _open_accounts(project, form)
    return "account"


def _open_accounts(project: Project, form: Form) -> None:
    """Open an account for every person of the file, with a budget for so many releases as the one that is chosen."""
    choices, data = project.choices, project.data
    place = _one(form, "ledger") or choices.ledger
    if not place:
        raise InvalidParameter("ledger", None, "the path of a file", "Type where the ledger is kept.")
    if data is None or choices.persons is None or choices.budget is None or choices.unit is None:
        raise InvalidParameter("file", None, "chosen, and steps 1 to 3 decided", "Decide them first.")
    times = _one(form, "times")
    if not times.isdecimal() or int(times) < 1:
        raise InvalidParameter("times", times, "a number of releases, at least 1", "Type how many releases it is for.")
    choices.ledger, choices.subject = place, _one(form, "subject")
    labels = ["" if choices.by is None else str(each) for each in _labels(data.frame, choices)]
    before = f"{choices.subject}/" if choices.subject and choices.by is not None else choices.subject
    names = [f"{before}{label}" for label in labels]
    if not all(names):
        raise InvalidParameter("subject", choices.subject, "the name of the account", "Type one.")
    total = choices.guarantee() * int(times)
    with Ledger(place if is_database(place) else Path(place).expanduser()) as ledger:
        known = {*ledger.subjects()}
        new = [name for name in names if name not in known]
        if new:
            given: dict[str, Any] = {total.symbol: total}
            ledger.create(*new, **given)
    project.notice = (
        "good",
        f"{len(new):,} accounts were opened, each for {times} releases as the one that is chosen.",
    )


def _labels(frame: object, choices: Choices) -> list[object]:
    return [""] if choices.by is None else [*frame[choices.by].drop_duplicates()]  # type: ignore[index]
