"""The time of every question by the number of points, with the exact noise of releases."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import source_of
from geoveil.paper.experiments.cells import generator
from geoveil.privacy import CGP, GP, Guarantee
from geoveil.queries import SUMMARIES, Distance, FirstWithin, Hull, Nearest, Points, Query, best_hull
from geoveil.queries.evaluation import away

__all__ = ["SIZES", "questions", "seconds"]

SIZES = (10**3, 10**4, 10**5, 10**6, 10**7)
_RHO, _EPSILON = 5e-5, 0.0722
_PLACE = np.array([500.0, -300.0])


def questions(n: int) -> dict[str, Callable[[], Query]]:
    """Return every question about n points of the plane, by every distinct method."""
    made: dict[str, Callable[[], Query]] = {}
    notions: tuple[Guarantee, ...] = (CGP(rho=_RHO), GP(epsilon=_EPSILON))
    for guarantee in notions:
        notion = guarantee.notion
        made[f"points, {notion}"] = partial(Points, n, 2, guarantee)
        made[f"nearest, k = 10, {notion}"] = partial(Nearest, n, 2, guarantee, p=_PLACE, k=10)
        made[f"paper's nearest, k = 10, {notion}"] = partial(Nearest, n, 2, guarantee, "paper", p=_PLACE, k=10)
        made[f"hull, {notion}"] = partial(best_hull, n, 2, guarantee)
        made[f"paper's hull, {notion}"] = partial(Hull, n, 2, guarantee)
    cgp = notions[0]
    made["paper's points, GP"] = partial(Points, n, 2, notions[1], "paper")
    made["first_within, CGP"] = partial(FirstWithin, n, 2, cgp, p=_PLACE, radius=500.0)
    made["distance, CGP"] = partial(Distance, n, 2, cgp, measure=partial(away, p=_PLACE))
    for name, query in SUMMARIES.items():
        made[f"{name}, CGP"] = partial(query, n, 2, cgp)
    return made


def seconds(
    seed: int, sizes: tuple[int, ...] = SIZES, done: Callable[[], object] = lambda: None
) -> dict[str, dict[int, float]]:
    """Return the processor time of one answer to each question, by size.

    It is the smallest of three times up to 10^5 points, and one time beyond.
    """
    measured: dict[str, dict[int, float]] = {name: {} for name in questions(1000)}
    for n in sizes:
        x = _trajectory(seed, n)
        for name, question in questions(n).items():
            measured[name][n] = min(_spent(question, x) for _ in range(3 if n <= 10**5 else 1))
            done()
    return measured


def _spent(question: Callable[[], Query], x: Floats) -> float:
    before = time.process_time()
    question().ask(x, source_of(None))
    return time.process_time() - before


def _trajectory(seed: int, n: int) -> Floats:
    """Return a synthetic trajectory over some 30 km."""
    rng = generator(seed, "time", n)
    stops = 4000 * rng.standard_t(3, size=(max(n // 50, 2), 2))
    at = np.linspace(0, len(stops) - 1, n)
    return np.column_stack([np.interp(at, np.arange(len(stops)), column) for column in stops.T]) + rng.normal(
        scale=20, size=(n, 2)
    )
