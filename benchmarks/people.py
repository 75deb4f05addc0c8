"""Measure questions about many persons together, compared with one person at a time.

Run from the project's root: ``python -m benchmarks.people [--persons 100000] [--points 20]``. The table goes to
standard output. For the comparison, a sample of the same persons is evaluated or smoothed in a separate call each, in
the same run. Times are processor times, on which other programs on the machine have little influence.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

import geoveil as gv
from geoveil.noise import Entropy
from geoveil.postprocess.motion import TAXI
from geoveil.postprocess.smoothing import expected_error, smooth
from geoveil.queries import SUMMARIES, FirstWithin, Nearest, Persons, Query, SupportHull, ask_each

ALONE = 300
SIGMA = 2_000.0


def seconds(task: Callable[[], object]) -> float:
    """Return the processor time of a task."""
    start = time.process_time()
    task()
    return time.process_time() - start


def line(name: str, together: float, alone: float, persons: int) -> None:
    """Print one row: the time per person alone and together."""
    each = together / persons
    print(f"| {name} | {1e6 * alone:.0f} | {1e6 * each:.1f} | {alone / each:.0f} | {together:.1f} s |", flush=True)


def all_at_once(query: Query, x: NDArray[np.float64], who: NDArray[np.int64]) -> object:
    """Ask a query about each person, all of whom have as many points."""
    persons = Persons([query], np.zeros(len(np.unique(who)), dtype=np.int64))
    return ask_each(persons, x, Entropy(), lambda share: None)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=100_000)
    parser.add_argument("--points", type=int, default=20)
    given = parser.parse_args()
    persons, n = given.persons, given.points
    rng = np.random.default_rng(2026)
    homes = rng.normal(scale=10_000.0, size=(persons, 1, 2))
    x = (homes + np.cumsum(rng.normal(scale=500.0, size=(persons, n, 2)), axis=1)).reshape(-1, 2)
    who, sizes = np.repeat(np.arange(persons), n), np.full(persons, n)
    parts = np.split(x[: ALONE * n], ALONE)
    print(f"{persons} persons of {n} points.\n")
    print("| what | alone, µs | together, µs a person | times as fast | all of them |\n|---|---|---|---|---|")
    for name, kind in SUMMARIES.items():
        print(name, file=sys.stderr, flush=True)
        query = kind(n, 2, gv.CGP(rho=1e-4))
        query.evaluate_people(x[: 2 * n], sizes[:2])  # imports
        alone = seconds(lambda query=query: [query.evaluate(part) for part in parts]) / ALONE  # type: ignore[misc]
        whole = seconds(lambda name=name: getattr(gv.Locations(x, person=who), name)(rho=1e-4))  # type: ignore[misc]
        line(f"`{name}`", whole, alone, persons)
    place = np.zeros(2)
    queries: dict[str, tuple[Query, Callable[..., object]]] = {
        "`nearest`, k = 5": (
            Nearest(n, 2, gv.CGP(rho=1e-4), p=place, k=5),
            lambda x, by: gv.Locations(x, person=by).nearest(place, k=5, rho=1e-4),
        ),
        "`nearest`, k = 5, GP": (
            Nearest(n, 2, gv.GP(epsilon=1e-2), p=place, k=5),
            lambda x, by: gv.Locations(x, person=by).nearest(place, k=5, epsilon=1e-2),
        ),
        "`nearest`, k = 5, paper": (
            Nearest(n, 2, gv.CGP(rho=1e-4), "paper", p=place, k=5),
            partial(all_at_once, Nearest(n, 2, gv.CGP(rho=1e-4), "paper", p=place, k=5)),
        ),
        "`first_within`": (
            FirstWithin(n, 2, gv.CGP(rho=1e-4), p=place, radius=5000.0),
            lambda x, by: gv.Locations(x, person=by).first_within(place, radius=5000, rho=1e-4),
        ),
        "`hull`": (SupportHull(n, 2, gv.CGP(rho=1e-4)), lambda x, by: gv.Locations(x, person=by).hull(rho=1e-4)),
    }
    source = Entropy()
    for name, (asked, ask_all) in queries.items():
        print(name, file=sys.stderr, flush=True)
        ask_all(x[: 2 * n], who[: 2 * n])  # imports
        alone = seconds(lambda asked=asked: [asked.ask(part, source) for part in parts]) / ALONE  # type: ignore[misc]
        line(name, seconds(lambda ask_all=ask_all: ask_all(x, who)), alone, persons)  # type: ignore[misc]
    y = x + rng.normal(scale=SIGMA, size=x.shape)
    times = np.tile(np.arange(n) * 60.0, persons)
    print("smooth", file=sys.stderr, flush=True)

    def each() -> None:
        for part in np.split(y[: ALONE * n], ALONE):
            smooth(part, times[:n], SIGMA, TAXI)
            expected_error(times[:n], SIGMA, TAXI)

    each()  # imports
    alone = seconds(each) / ALONE
    released = gv.Locations(x, person=who).points(rho=n / (2 * SIGMA**2))
    whole = seconds(lambda: released.smooth("taxi", times=times, person=who))
    line("`smooth`", whole, alone, persons)


if __name__ == "__main__":
    main()
