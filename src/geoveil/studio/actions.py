"""The actions of the forms on the pages: each changes a decision, or starts some work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from geoveil.answering.charging import account_names
from geoveil.budget import Ledger
from geoveil.budget.stores import is_database, without_password
from geoveil.city import write_taxis
from geoveil.errors import GeoveilError
from geoveil.geo.areas import area_of
from geoveil.requests.budgets import Budget, BudgetKind, rho_and_epsilon
from geoveil.requests.file_request import ReadingOptions
from geoveil.settings import READING, SETTINGS
from geoveil.studio.choices import NO_BUDGET, NO_FILE, NO_LABELS, NO_PERSONS, NO_UNIT
from geoveil.studio.pages import QUESTIONS, STEPS, UNITS
from geoveil.studio.project import Project
from geoveil.studio.received_files import typed_path
from geoveil.studio.releasing import open_ledger
from geoveil.studio.shared_tracks import FIELDS
from geoveil.text.typed_values import WHOLE, read_length
from geoveil.text.words import counted

__all__ = ["act"]

#: Seconds that a form waits for a preview, and for a busy ledger.
_SOON, _PATIENCE = 3.0, 5.0

Form = Mapping[str, list[str]]


def act(step: str, project: Project, form: Form) -> str:
    """Carry out the form of a step, and return the step to show next; a refusal raises an error of the library."""
    doing = {"data": _data, "protection": _protection, "budget": _budget, "question": _question}
    doing |= {"release": _release, "account": _account, "tracks": _tracks}
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
            project.choices.area = _area(value)
            project.choices.outside = "drop" if _one(form, "outside") == "drop" else project.choices.outside
        elif name == "missing":
            project.choices.missing = "drop"
        elif name == "person":
            project.choices.persons = value
    elif does == "ground":
        project.basemap = None
    elif does == "reading":
        if project.reading is None:
            raise GeoveilError(NO_FILE, "Drop a file on the page, or choose one.")
        given = {name: text for name in READING if (text := _one(form, name))}
        project.choices.reading = ReadingOptions(**given)  # type: ignore[typeddict-item]
        project.choices.where = _one(form, "where")
        # Also without a correction: the file itself may have changed.
        project.read_again()
    else:
        _decide_data(project, form)
        if does == "next":
            return _next("data")
    return "data"


def _decide_data(project: Project, form: Form) -> None:
    """Store the decisions of step 1: persons, times, area, and the columns that are released."""
    data, choices = project.data, project.choices
    if data is None:
        raise GeoveilError(NO_FILE, "Drop a file on the page, or choose one.")
    persons = _one(form, "persons")
    choices.persons = None if persons == "?" else persons.removeprefix("=")
    choices.times = _one(form, "times")
    area = _one(form, "area")
    choices.area = _area(area) if area else None
    outside, missing = _one(form, "outside"), _one(form, "missing")
    choices.outside = "clamp" if outside == "clamp" else "drop" if outside == "drop" else "refuse"
    choices.missing = "drop" if missing == "drop" else "refuse"
    choices.keep = tuple(name for name in form.get("keep", []) if name in data.columns)
    choices.pseudonyms = {"yes": True, "no": False}.get(_one(form, "pseudonyms"))
    if _one(form, "do") == "next":
        if choices.persons is None:
            raise GeoveilError(NO_PERSONS, "Choose it before you go on.")
        if choices.by is not None and choices.pseudonyms is None:
            raise GeoveilError(NO_LABELS, "Choose it before you go on.")
        if choices.area is None and not data.file.crs.is_projected:
            remedy = "Name a city, a region or a country, or type a latitude, a longitude and a radius."
            raise GeoveilError("It is not stated yet where the data is.", remedy)


def _tracks(project: Project, form: Form) -> str:
    project.tracks.decide({name: _one(form, name) for name in ("files", "confirmed", *FIELDS)})
    if _one(form, "do") == "find":
        project.tracks.find_places()
    if _one(form, "do") in ("look", "share"):
        project.tracks.start(share=_one(form, "do") == "share")
    return "tracks"


def _area(text: str) -> str:
    """Return the text of an area; refuse a text that states none."""
    area_of(text)
    return text


def _protection(project: Project, form: Form) -> str:
    unit, planned = _one(form, "unit"), _one(form, "planned")
    project.choices.unit = unit if unit in UNITS else project.choices.unit
    project.choices.planned = WHOLE.read(planned)
    if _one(form, "do") != "next":
        return "protection"
    if project.choices.unit is None:
        raise GeoveilError(NO_UNIT, "Choose one of the four before you go on.")
    if project.choices.planned is None:
        raise GeoveilError(*_no_number(planned))
    return _next("protection")


def _no_number(text: str) -> tuple[str, str]:
    """Return the problem and the remedy for a text that is not a number of releases."""
    problem = f"“{text}” is no number of releases." if text else "The number of releases is missing."
    return problem, "Type a whole number of at least 1."


def budget_of(form: Form) -> Budget | None:
    """Return the budget that a form states; None if it states none.

    A form sends the distance of the slider first, and then that of the level whose button was pressed, if any: the
    level counts.
    """
    levels = form.get("hide", [])[1:]
    kinds: tuple[BudgetKind, ...] = ("hide",) if levels else ("rho", "epsilon", "hide")
    for kind in kinds:
        text = levels[0] if levels else _one(form, kind)
        if not text:
            continue
        if kind == "hide":
            away = read_length(text)
            if away is None:
                raise GeoveilError(f"“{text}” is no length.", "Move the slider, or type a length such as 200 m.")
            text = f"{away:g}"
        budget = Budget(kind, text)
        # A number that is no budget is refused now.
        _ = budget.guarantee
        return budget
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
    budget = budget_of(form)
    if budget is not None:
        project.choices.budget = budget
    if does != "next":
        return "budget"
    if project.choices.budget is None:
        raise GeoveilError(NO_BUDGET, "Move the slider, take a level, or type ρ or ε.")
    return _next("budget")


def _question(project: Project, form: Form) -> str:
    asked = _one(form, "question")
    if asked in QUESTIONS:
        project.choices.question = asked
    options = (name for name, row in SETTINGS.items() if row.page.questions)
    project.choices.options |= {name: _one(form, name) for name in options if name in form}
    if _one(form, "do") != "next":
        return "question"
    # A preview refuses whatever a release would refuse, and uses made-up data. A long one continues while the user
    # reads step 5.
    job = project.previewing()
    if job.wait(_SOON) and job.problem is not None:
        raise job.problem
    return _next("question")


def _release(project: Project, form: Form) -> str:
    does = _one(form, "do")
    if does == "ledger":
        place = _place(_one(form, "ledger"), project.choices.ledger)
        project.choices.ledger, project.choices.subject = place, _one(form, "subject")
    elif does == "key":
        project.sign_with(_one(form, "sign"), form.get("passphrase", [""])[0])
    elif does == "again":
        project.prepare_another()
    elif does == "release":
        if _one(form, "looked") != "yes":
            remedy = "Tick that you have looked at what will be released, and press Release again."
            raise GeoveilError("Nothing was released.", remedy)
        project.release(
            _one(form, "ticket"), with_truth=_one(form, "truth") == "yes", accepted=_one(form, "accepted") == "yes"
        )
    return "release"


def _account(project: Project, form: Form) -> str:
    does, choices = _one(form, "do"), project.choices
    if does == "open":
        project.looked_at, project.statement = _place(_one(form, "ledger"), project.looked_at or choices.ledger), ""
    elif does == "charge":
        choices.ledger, project.looked_at = project.looked_at or choices.ledger, ""
    elif does == "statement":
        project.statement = _one(form, "subject")
    elif does == "create":
        _open_accounts(project, form)
    return "account"


def _place(typed: str, known: str) -> str:
    """Return the path or address of a ledger that somebody typed.

    Parameters
    ----------
    typed : str
        The text; ~ stands for the home folder.
    known : str
        The ledger that the page showed; pages show its address without the password.
    """
    if typed and typed == without_password(known):
        return known
    return typed if not typed or is_database(typed) else str(typed_path(typed, "ledger"))


def _open_accounts(project: Project, form: Form) -> None:
    """Open an account for every person of the file, with a budget for a number of releases like the chosen one."""
    choices, data = project.choices, project.data
    place = _place(_one(form, "ledger"), project.looked_at or choices.ledger) or choices.ledger
    if not place:
        raise GeoveilError("No ledger is named.", "Type the path of the file in which the accounts are kept.")
    if data is None or choices.persons is None or choices.budget is None or choices.unit is None:
        raise GeoveilError(
            "It is not decided yet whose accounts they are and how much they hold.", "Decide steps 1 to 3."
        )
    times = WHOLE.read(_one(form, "times"))
    if times is None:
        raise GeoveilError(*_no_number(_one(form, "times")))
    subject = _one(form, "subject")
    names = account_names(subject or None, data.labels(choices.by)) if subject or choices.by is not None else []
    if not all(names) or not names:
        raise GeoveilError("The account has no name yet.", "Type one.")
    rho, epsilon = rho_and_epsilon(choices.budget.protecting(choices.protect) * times)
    with _open_or_create(place) as ledger:
        known = ledger.accounts()
        new = [name for name in names if name not in known]
        if new:
            ledger.create(*new, rho=rho, epsilon=epsilon)
    choices.ledger, choices.subject, project.looked_at = place, subject, ""
    project.notice = (
        "good",
        f"{counted(len(new), 'account')} {'was' if len(new) == 1 else 'were'} opened, each for "
        f"{counted(times, 'release')} like the one that is chosen. Step 5 charges this ledger.",
    )


def _open_or_create(place: str) -> Ledger:
    """Open a ledger, or create a new one that only its owner may read, because it names persons."""
    path = Path(place)
    if is_database(place) or path.exists():
        return open_ledger(place, _PATIENCE)
    try:
        path.touch(mode=0o600)
        return Ledger(path)
    except OSError as problem:
        remedy = "Type the path of a file in a folder that you can write to."
        raise GeoveilError(f"{place}: {problem.strerror or problem}.", remedy) from None
