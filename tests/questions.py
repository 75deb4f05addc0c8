"""All public questions, and how to ask each of them: the one table that the tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

import geoveil as gv

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
    "flows": {"grid": gv.Grid((300, 300, 400, 400), cell=50), "trip": [0, 0, 1, 1]},
    "heatmap": {"grid": gv.Grid((300, 300, 400, 400), cell=50)},
}
#: The questions about a public location p.
PLACED = ["distance", "first_within", "nearest"]
#: Every question, and those that are answered in several ways in each of these: the question and other arguments.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in QUESTIONS},
    "distance to an area": ("distance", {"p": shapely.Point(100.0, 200.0).buffer(10)}),
    "hull as in the paper": ("hull", {"method": "paper"}),
    "hull of distinct vertices": ("hull", {"method": "paper", "k": 3, "distinct": True}),
    "nearest as in the paper": ("nearest", {"method": "paper", "gamma0": -20.0}),
    "nearest with locations": ("nearest", {"locations": 0.4}),
}
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


def ask(name: str, x: Any, **more: Any) -> gv.Release:
    """Ask a question, or a variant of one, about points x; `more` is as in `arguments`."""
    release = getattr(gv, VARIANTS[name][0])(x=x, **arguments(name, **more))
    assert isinstance(release, gv.Release)
    return release


def ask_in(session: gv.Session, name: str, **more: Any) -> gv.Release:
    """Ask a question, or a variant of one, in a session; `more` is as in `arguments`."""
    release = getattr(session, VARIANTS[name][0])(**arguments(name, **more))
    assert isinstance(release, gv.Release)
    return release
