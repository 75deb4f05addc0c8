"""Questions: the functions about points, which the shared table of all questions lists."""

from __future__ import annotations

import inspect
from decimal import Decimal

import numpy as np
import pytest

import geoveil as gv
from tests.questions import CROWD_QUESTIONS, QUESTIONS


def test_the_table_of_the_tests_lists_every_question() -> None:
    """Every public function that takes points and a budget is in the table, and is a method of sessions."""
    functions = {name: getattr(gv, name) for name in gv.__all__ if inspect.isfunction(getattr(gv, name))}
    parameters = {name: list(inspect.signature(function).parameters) for name, function in functions.items()}
    asked = {name for name, taken in parameters.items() if taken[:1] == ["x"] and "rho" in taken}
    assert asked == {*QUESTIONS, *CROWD_QUESTIONS}
    assert all(callable(getattr(gv.Session, name)) for name in asked)
    assert all(callable(getattr(gv, f"{name}_file")) for name in CROWD_QUESTIONS)


@pytest.mark.parametrize("name", CROWD_QUESTIONS)
def test_questions_about_a_crowd_are_the_same_in_a_session(name: str) -> None:
    """A session answers as the function does, and charges the budget once for everybody."""
    x, people = np.random.default_rng(1).uniform(300, 400, size=(4, 2)), [0, 0, 1, 1]
    more = {**CROWD_QUESTIONS[name], "rho": 1e-4}
    alone = getattr(gv, name)(x, unit=people, rng=np.random.default_rng(2), **more)
    session = gv.Session(x, unit=people, rho=1e-3, rng=np.random.default_rng(2))
    asked = getattr(session, name)(**more)
    assert np.array_equal(alone.noisy, asked.noisy)
    assert session.spent == Decimal("0.0001")
