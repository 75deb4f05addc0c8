"""Questions: the functions about points, which the shared table of all questions lists."""

from __future__ import annotations

import inspect

import geoveil as gv
from tests.questions import QUESTIONS


def test_the_table_of_the_tests_lists_every_question() -> None:
    """Every public function that takes points and a budget is in the table, and is a method of sessions."""
    functions = {name: getattr(gv, name) for name in gv.__all__ if inspect.isfunction(getattr(gv, name))}
    parameters = {name: list(inspect.signature(function).parameters) for name, function in functions.items()}
    asked = {name for name, taken in parameters.items() if taken[:1] == ["x"] and "rho" in taken}
    assert asked == set(QUESTIONS)
    assert all(callable(getattr(gv.Session, name)) for name in QUESTIONS)
