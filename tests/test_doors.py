"""The same question through several doors: functions, sessions, files, DataFrames of Spark and commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import click
import pytest

import geoveil as gv
import geoveil.spark as gvs
from geoveil.cli.program import program
from geoveil.spark import crowd_answers, person_answers

CROWD = ("heatmap", "counts", "flows")
QUESTIONS = (
    *("points", "nearest", "hull", "first_within", "distance", "answer", "center", "mean", "median", "bounds"),
    *("radius", "radius_of_gyration", "diameter", *CROWD),
)
#: Arguments that mean another thing, or are needed for another reason: rows of Spark have no number.
OWN = {("spark", "label")}
#: Commands with another name than their question.
COMMANDS = {"first_within": "within"}


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the defaults of a function's arguments; `inspect.Parameter.empty` for those that must be given."""
    found = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in found if each.kind is not each.VAR_KEYWORD}


def doors(question: str) -> dict[str, dict[str, Any]]:
    """Return the defaults of a question's arguments, by door."""
    found = {"gv": defaults(getattr(gv, question))}
    # A session has the arguments of the data, and the question its own.
    found["session"] = defaults(gv.Session.__init__) | defaults(getattr(gv.Session, question))
    if hasattr(gv, f"{question}_file"):
        found["file"] = defaults(getattr(gv, f"{question}_file"))
    if hasattr(gvs, question):
        shared = crowd_answers._answered if question in CROWD else person_answers._answered
        own = defaults(getattr(gvs, question))
        found["spark"] = own if question == "points" else defaults(shared) | own
    return found


@pytest.mark.parametrize("question", QUESTIONS)
def test_defaults_agree_between_doors(question: str) -> None:
    """An argument has the same default wherever a question is asked, or must be given everywhere."""
    (first, known), *others = doors(question).items()
    for door, own in others:
        for name in own.keys() & known.keys():
            assert (door, name) in OWN or own[name] == known[name], (name, first, door)
        known = {**own, **known}


@pytest.mark.parametrize("question", QUESTIONS)
def test_commands_have_the_library_s_defaults(question: str) -> None:
    """What a command does without an option is what the library does without the argument."""
    command = program.get_command(click.Context(program), COMMANDS.get(question, question))
    if command is None:
        # Summaries have one command together.
        return
    known = defaults(getattr(gv, question))
    for each in command.params:
        # An option without a default has none, or a mark of the library of options.
        if each.name in known and isinstance(each.default, str | int | float):
            assert each.default == known[each.name], each.name


@pytest.mark.parametrize("name", ["share", "distinct", "gamma0", "beta", "extent"])
def test_hulls_of_frames_have_all_arguments(name: str) -> None:
    """A hull on Spark takes the arguments of a hull in memory."""
    assert name in defaults(gvs.hull)


@pytest.mark.parametrize(
    ("commands", "options"),
    [(CROWD, ["--dry-run"]), (("within",), ["--report", "--figure", "--with-truth", "--basemap", "--tiles"])],
)
def test_options_that_are_refused_are_not_offered(commands: tuple[str, ...], options: list[str]) -> None:
    """Questions about a crowd have no dry run, and a row that is found has no map."""
    for name in commands:
        command = program.get_command(click.Context(program), name)
        assert command is not None
        offered = {option for each in command.params for option in each.opts}
        assert "--json" in offered
        assert offered.isdisjoint(options)
