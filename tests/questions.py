"""All public questions, and how to ask each of them: the one table that the tests share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

import geoveil as gv
from geoveil.answering.intake import take_in
from geoveil.answering.pipeline import ask as asked_about
from geoveil.answering.requests import Question
from geoveil.answering.settings import Settings
from geoveil.geo import enter
from geoveil.host.arithmetic import steady
from geoveil.noise import source_of

__all__ = [
    "CROWD_QUESTIONS",
    "EVERY_QUESTION",
    "EVERY_VARIANT",
    "PLACED",
    "QUESTIONS",
    "VARIANTS",
    "arguments",
    "ask",
    "ask_in",
    "release_of",
    "release_of_query",
    "session_of",
    "under_metric",
]


def length(x: NDArray[np.float64]) -> float:
    """Return the distance from the first point to the last: it changes by at most 2 where every point moves by 1."""
    return float(np.linalg.norm(x[0] - x[-1]))


#: The arguments of each question beside the points, the budget and the public location p.
QUESTIONS: dict[str, dict[str, Any]] = {
    "answer": {"fn": length, "lipschitz": 2},
    "bounds": {},
    "center": {},
    "diameter": {},
    "distance": {},
    "first_within": {"radius": 400.0},
    "hull": {"k": 12},
    "mean": {},
    "median": {},
    "nearest": {"k": 1},
    "points": {},
    "radius": {},
    "radius_of_gyration": {},
}
#: The questions about many persons together, with their arguments beside the points, the unit and the budget.
CROWD_QUESTIONS: dict[str, dict[str, Any]] = {
    "counts": {"regions": [shapely.box(300.0, 300.0, 350.0, 400.0), shapely.box(350.0, 300.0, 400.0, 400.0)]},
    "flows": {"between": gv.Grid((300, 300, 400, 400), cell=50), "trip": [0, 0, 1, 1]},
    "heatmap": {"cell": gv.Grid((300, 300, 400, 400), cell=50)},
}
#: The questions about a public location p.
PLACED = ["distance", "first_within", "nearest"]
#: Every question, and those that are answered in several ways in each of these: the question and other arguments.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in QUESTIONS},
    "distance to an area": ("distance", {"p": shapely.Point(100.0, 200.0).buffer(10)}),
    "nearest with locations": ("nearest", {"locations": 0.4}),
}
#: The names of the arguments of data, and of an account.
DATA = {*inspect.signature(gv.Locations).parameters} - {"source"}
ACCOUNT = {"ledger", "subject", "label", "short"}
EVERY_QUESTION = pytest.mark.parametrize("name", QUESTIONS)
EVERY_VARIANT = pytest.mark.parametrize("name", VARIANTS)


def arguments(name: str, *, near: Any = (100.0, 200.0), **more: Any) -> dict[str, Any]:
    """Return all arguments of a question or of a variant of one, but for the points.

    Parameters
    ----------
    name : str
        A key of `VARIANTS`.
    near : location
        The p of questions about a location; the others ignore it.
    **more
        Arguments that replace the usual ones.
    """
    question, others = VARIANTS[name]
    place = {"p": near} if question in PLACED else {}
    budget = {} if {"rho", "epsilon"} & set(more) else {"rho": 1e-4}
    return {**budget, **place, **QUESTIONS[question], **others, **more}


def _split(how: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Take the arguments with these names out of others."""
    return {name: how.pop(name) for name in [*how] if name in names}


@overload
def release_of(
    question: Literal["heatmap", "counts", "flows"], source: Any, *args: Any, **how: Any
) -> gv.CrowdRelease: ...
@overload
def release_of(question: str, source: Any, *args: Any, **how: Any) -> Any: ...
def release_of(question: str, source: Any, *args: Any, **how: Any) -> Any:
    """Ask a question about data, given the arguments of the data, of its account and of the question together."""
    how = under_metric(how)
    data, account = _split(how, DATA), _split(how, ACCOUNT if how.get("ledger") is not None else set())
    locations = gv.Locations(source, **data)
    return getattr(locations.session(**account) if account else locations, question)(*args, **how)


@steady()
def release_of_query(
    query: Callable[..., Any],
    x: Any,
    guarantee: gv.Guarantee,
    *,
    method: str = "paper",
    times: Any = None,
    rng: np.random.Generator | None = None,
    **options: Any,
) -> gv.Release:
    """Answer a query that no public question makes, such as one of the paper's, along the path of all questions."""
    data = take_in(enter(x), Settings(times=times), timed=guarantee.metric.stretch is not None)
    return asked_about(data, Question(query, method, options), guarantee, source_of(rng))


def session_of(source: Any, **how: Any) -> gv.Session:
    """Open a session about data, given the arguments of both together."""
    how = under_metric(how)
    data = _split(how, DATA)
    return gv.Locations(source, **data).session(**how)


def under_metric(how: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with a budget that states its metric, in place of a number and a metric."""
    metric = how.pop("metric", None)
    if metric is None:
        return how
    name, kind = ("rho", gv.CGP) if how.get("rho") is not None else ("epsilon", gv.GP)
    return {**how, name: kind(**{name: how[name]}, metric=metric)}


def ask(name: str, x: Any, **more: Any) -> gv.Release:
    """Ask a question, or a variant of one, about points x; `more` is as in `arguments`."""
    release = release_of(VARIANTS[name][0], x, **arguments(name, **more))
    assert isinstance(release, gv.Release)
    return release


def ask_in(session: gv.Session, name: str, **more: Any) -> gv.Release:
    """Ask a question, or a variant of one, in a session; `more` is as in `arguments`."""
    release = getattr(session, VARIANTS[name][0])(**under_metric(arguments(name, **more)))
    assert isinstance(release, gv.Release)
    return release
