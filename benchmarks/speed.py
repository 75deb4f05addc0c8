"""Measure the processor time of questions, in units of drawing 40 000 normal numbers, and its growth with n.

Run from the project's root: ``python -m benchmarks.speed [speed] [scaling]``. Tables go to standard output.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import geoveil as gv
from geoveil.queries import SUMMARIES
from tests.cabspotting import Floats, folder, names, synthetic, trajectory
from tests.measure import PANHANDLE, UNION_SQUARE, YOSEMITE

Clock = Callable[[], float]

N = 20_000
RHO, EPSILON = 5e-5, 0.0722
BUDGETS: list[tuple[str, dict[str, float]]] = [
    ("ρ = 5e-5", {"rho": RHO}),
    ("ε = 0.0722", {"epsilon": EPSILON}),
]


@dataclass(frozen=True)
class Case:
    """A question to be timed.

    Parameters
    ----------
    name : str
        Its name in the table.
    ask : callable
        Asks it about a tuple, with noise from a generator or, if that is None, exact noise.
    target : float, optional
        Largest acceptable time, in units of the yardstick.
    """

    name: str
    ask: Callable[[Floats, np.random.Generator | None], gv.Release]
    target: float | None = None


def tuples() -> list[Floats]:
    """Return the first 20 000 points of every taxi that has enough, or a synthetic trajectory."""
    if folder() is None:
        return [synthetic(N)]
    tracks = [trajectory(name) for name in names()]
    return [x[:N] for x in tracks if len(x) >= N]


def cases() -> Iterator[Case]:
    """Return the questions with their targets."""

    def case(name: str, target: float | None, question: str, *args: Any, **how: Any) -> Case:
        return Case(name, lambda x, rng: getattr(gv.Locations(x, rng=rng), question)(*args, **how), target)

    def paper(name: str, target: float, algorithm: Callable[..., gv.Release], *args: Any, **how: Any) -> Case:
        return Case(name, lambda x, rng: algorithm(x, *args, rng=rng, **how), target)

    for label, budget in BUDGETS:
        for metric in ("inf", "2", "1"):
            stated: dict[str, gv.Guarantee] = {}
            if "rho" in budget:
                stated["rho"] = gv.CGP(rho=budget["rho"], metric=metric)
            else:
                stated["epsilon"] = gv.GP(epsilon=budget["epsilon"], metric=metric)
            yield case(f"points, {label}, dist_{metric}", 4, "points", **stated)
            if "epsilon" in budget:
                yield paper(f"paper's points, {label}, dist_{metric}", 4, gv.paper.identity, **stated)
    k = 100
    for label, budget in BUDGETS:
        per_search = EPSILON / k if "epsilon" in budget else (2 * RHO / k) ** 0.5
        # From far away all distances are similar, and walks are long.
        for place, said, factors in (
            (UNION_SQUARE, "", (0, -2, -5, -10, -20)),
            (YOSEMITE, ", 250 km away", (-5, -10)),
        ):
            for factor in factors:
                name = f"paper's nearest, k = {k}, γ0 = {factor} · 3/ε per search, {label}{said}"
                yield paper(name, 40, gv.paper.nearest, place, k=k, gamma0=factor * 3 / per_search, **budget)
    authors = {"k": "authors", "share": 0.92, "distinct": True}
    for label, budget in BUDGETS:
        yield paper(f"paper's hull, {label}", 35, gv.paper.hull, **budget)
        yield paper(f"hull as the authors ran it, {label}", 35, gv.paper.hull, **authors, **budget)
    for (label, budget), target in zip(BUDGETS, (4, 35), strict=True):
        yield case(f"nearest, k = {k}, {label}", target, "nearest", UNION_SQUARE, k=k, **budget)
    for rho, target in ((5e-8, 20), (5e-5, 20), (5e-4, 20), (1e-2, 60), (1.0, 60)):
        yield case(f"hull, ρ = {rho:g}", target, "hull", rho=rho)
    yield case(f"hull, ε = {EPSILON}", None, "hull", epsilon=EPSILON)
    for label, budget in BUDGETS:
        for summary in SUMMARIES:
            yield case(f"{summary}, {label}", None, summary, **budget)
        yield case(f"distance, {label}", None, "distance", YOSEMITE, **budget)
        yield case(f"first_within 500 m, {label}", None, "first_within", PANHANDLE, radius=500.0, **budget)


def seconds(task: Callable[[], object], clock: Clock = time.process_time) -> float:
    """Return the time that a task takes."""
    start = clock()
    task()
    return clock() - start


def speed(repeat: int, clock: Clock) -> None:
    """Print the table of times; each question alternates with the yardstick."""
    rng = np.random.default_rng(1)
    data = tuples()
    print("| question | plain noise | nine of ten below | target | exact noise |\n|---|---|---|---|---|")
    for case in cases():
        say(case.name)
        yardstick, question, exact = [], [], []
        for source in (rng, None):
            case.ask(data[0], source)
        for i in range(repeat):
            x = data[i % len(data)]
            yardstick.append(seconds(partial(rng.standard_normal, 2 * N), clock))
            question.append(seconds(partial(case.ask, x, rng), clock))
            exact.append(seconds(partial(case.ask, x, None), clock))
        unit = statistics.median(yardstick)
        ratio, most = statistics.median(question) / unit, statistics.quantiles(question, n=10)[-1] / unit
        missed = case.target is not None and ratio > case.target
        target = "" if case.target is None else f"{case.target:g}×" + (", missed" if missed else "")
        print(
            f"| {case.name} | {ratio:.1f}× | {most:.1f}× | {target} | {statistics.median(exact) / unit:.1f}× |",
            flush=True,
        )


def scaling(largest: int, clock: Clock) -> None:
    """Print time per point and peak memory as n grows; points are drawn with replacement from those of a taxi."""
    rng = np.random.default_rng(2)
    asked: dict[str, Callable[[Floats], gv.Release]] = {
        "points": lambda x: gv.Locations(x, rng=rng).points(rho=RHO),
        "nearest, k = 10": lambda x: gv.Locations(x, rng=rng).nearest(UNION_SQUARE, k=10, rho=RHO),
        "hull": lambda x: gv.Locations(x, rng=rng).hull(rho=RHO),
        "center": lambda x: gv.Locations(x, rng=rng).center(rho=RHO),
    }
    sizes = [10**i for i in range(4, 8) if 10**i <= largest]
    times, memory = {}, {}
    for n in sizes:
        x = rng.choice(tuples()[0], n)
        for name, ask in asked.items():
            say(f"{name}, n = {n:_}")
            runs = [seconds(partial(ask, x), clock) for _ in range(max(3, min(30, 10**7 // n)))]
            times[name, n] = statistics.median(runs) / n
            tracemalloc.start()
            ask(x)
            memory[name, n] = tracemalloc.get_traced_memory()[1] / x.nbytes
            tracemalloc.stop()
    head = "".join(f" | n = 10^{len(str(n)) - 1}" for n in sizes)
    for title, cells, form in (("ns per point", times, "{:.1f}"), ("peak memory / size of x", memory, "{:.2f}")):
        unit = 1e9 if cells is times else 1
        print(f"\n| {title}{head} |\n|---{'|---' * len(sizes)}|")
        for name in asked:
            print(f"| {name} | " + " | ".join(form.format(unit * cells[name, n]) for n in sizes) + " |")


def say(what: str) -> None:
    """Print progress to standard error."""
    print(what, file=sys.stderr, flush=True)


def main() -> None:
    """Print the requested tables, by default both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="speed, scaling; both by default")
    parser.add_argument("--repeat", type=int, default=101, help="how often each question is timed")
    parser.add_argument("--wall", action="store_true", help="wall-clock instead of processor time; on an idle machine")
    parser.add_argument("--largest", type=int, default=10**7, help="up to how many points scaling is measured")
    arguments = parser.parse_args()
    unknown = set(arguments.tables) - {"speed", "scaling"}
    if unknown:
        parser.error(f"no table {min(unknown)}; there are speed and scaling")
    # On a busy machine, waiting for a processor would lengthen long tasks more than the short yardstick.
    clock = time.perf_counter if arguments.wall else time.process_time
    if not arguments.tables or "speed" in arguments.tables:
        speed(arguments.repeat, clock)
    if not arguments.tables or "scaling" in arguments.tables:
        scaling(arguments.largest, clock)


if __name__ == "__main__":
    main()
