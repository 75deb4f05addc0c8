"""A studio in which everything is decided, without a browser."""

from __future__ import annotations

from pathlib import Path

from geoveil.requests.budgets import Budget
from geoveil.studio.actions import act
from geoveil.studio.project import Project
from geoveil.studio.releasing import Outcome

__all__ = ["decide", "ended", "release", "send", "ticket_of"]


def decide(project: Project, path: Path) -> None:
    """Open a file, and decide everything about it."""
    project.open(path, path.name)
    assert project.reading is not None
    assert project.reading.wait(60)
    choices = project.choices
    choices.persons, choices.pseudonyms, choices.area = "user", False, "San Francisco"
    choices.unit, choices.planned = "all", 2
    choices.budget, choices.question = Budget("hide", "200"), "points"


def send(project: Project, step: str, **fields: str) -> None:
    """Send a form of a step."""
    act(step, project, {name: [text] for name, text in fields.items()})


def ticket_of(project: Project) -> str:
    """Return the ticket of what is decided now."""
    return project.ticket(project.request())


def ended(project: Project) -> Outcome:
    """Wait for the release, and return the outcome."""
    job = project.releasing
    assert job is not None
    assert job.wait(120)
    assert job.problem is None, job.problem
    assert job.result is not None
    return job.result


def release(project: Project, ticket: str = "", **fields: str) -> Outcome:
    """Release what is decided, and return the outcome."""
    send(project, "release", do="release", looked="yes", ticket=ticket or ticket_of(project), **fields)
    return ended(project)
