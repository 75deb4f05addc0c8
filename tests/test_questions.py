"""Questions: the methods of locations, which the shared table of all questions lists."""

from __future__ import annotations

import inspect
import re
from decimal import Decimal
from pathlib import Path

import geopandas
import numpy as np
import pytest

import geoveil as gv
from tests.questions import CROWD_QUESTIONS, QUESTIONS

EVERYTHING = [*QUESTIONS, *CROWD_QUESTIONS]


def test_table_is_complete() -> None:
    """Every public method of locations that takes a budget is in the table.

    But for that which opens a session, for hidden places, where the budget is that of centres, advice and attacks.
    """
    methods = {name: getattr(gv.Locations, name) for name in dir(gv.Locations) if not name.startswith("_")}
    asked = {name for name, method in methods.items() if "rho" in inspect.signature(method).parameters}
    assert asked == {*EVERYTHING, "check", "session", "hide_places", "attack"}


@pytest.mark.parametrize("name", EVERYTHING)
def test_questions_share_their_words(name: str) -> None:
    """Every question takes its budget by keyword and has no default for it, and its docstring names all arguments."""
    method = getattr(gv.Locations, name)
    taken = inspect.signature(method).parameters
    for budget in ("hide", "rho", "epsilon"):
        assert (taken[budget].kind, taken[budget].default) == (inspect.Parameter.KEYWORD_ONLY, None)
    assert taken["key"].default is None
    for argument in taken:
        assert argument == "self" or re.search(rf"\b{argument}\b", method.__doc__ or ""), argument


@pytest.mark.parametrize("name", EVERYTHING)
def test_sessions_inherit_every_question(name: str) -> None:
    """A question has one declaration: a session has no method of its own for it."""
    assert getattr(gv.Session, name) is getattr(gv.Locations, name)


@pytest.mark.parametrize("name", CROWD_QUESTIONS)
def test_sessions_answer_about_crowds(name: str) -> None:
    """A session answers as locations do, and charges the budget once for everybody."""
    x, people = np.random.default_rng(1).uniform(300, 400, size=(4, 2)), [0, 0, 1, 1]
    more = {**CROWD_QUESTIONS[name], "rho": 1e-4}
    alone = getattr(gv.Locations(x, person=people, rng=np.random.default_rng(2)), name)(**more)
    session = gv.Locations(x, person=people, rng=np.random.default_rng(2)).session(rho=1e-3)
    asked = getattr(session, name)(**more)
    assert np.array_equal(alone.noisy, asked.noisy)
    assert session.spent == Decimal("0.0001")


def test_row_labels_for_spark() -> None:
    """Rows in memory have names of their own; without the label, as the error says, the question is answered."""
    walk = gv.Locations(np.zeros((4, 2)) + 1e6)
    with pytest.raises(gv.errors.InvalidParameter, match=r"^label = 'id'.*Spark.*Leave it out"):
        walk.nearest((1e6, 1e6), 1, rho=1e-3, label="id")
    assert len(walk.nearest((1e6, 1e6), 1, rho=1e-3).value) == 1


@pytest.mark.parametrize("question", ["hull", "center", "heatmap"])
def test_existing_answers_are_replaced(question: str, tmp_path: Path) -> None:
    """What the refusal of an existing file advises works for every question that writes one."""
    homes = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.42], [37.78, 37.76, 37.77], crs=4326)
    locations, target = gv.Locations(homes, area="San Francisco"), tmp_path / "answer.geojson"
    about = [5000.0] if question == "heatmap" else []
    getattr(locations, question)(*about, hide=500, to=target)
    before = target.read_bytes()
    with pytest.raises(gv.errors.GeoveilError, match=r"replace it with gv\.Locations\(\.\.\., overwrite=True\)"):
        getattr(locations, question)(*about, hide=500, to=target)
    assert target.read_bytes() == before
    replacing = gv.Locations(homes, area="San Francisco", overwrite=True)
    getattr(replacing, question)(*about, hide=500, to=target)
    assert gv.verify(target)


def test_questions_have_few_parameters() -> None:
    """A question has at most seven parameters besides its budget."""
    budget = {"self", "hide", "rho", "epsilon"}
    for name in ("points", "nearest", "first_within", "distance", "hull", "answer", "heatmap", "counts", "flows"):
        assert len({*inspect.signature(getattr(gv.Locations, name)).parameters} - budget) <= 7, name
