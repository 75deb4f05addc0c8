"""Measure the cost of exact noise, compared with numpy's plain noise and OpenDP's exact noise, on one core.

Run from the project's root: ``python -m benchmarks.exactness``. OpenDP is part of the extra ``benchmark``; without it
its comparison is left out. The two tasks of a pair alternate; a ratio is that of their medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from importlib.metadata import version

import numpy as np

import geoveil as gv
from geoveil.geo.tangent import Tangent
from geoveil.mechanisms import Additive, Copies, Exponential, Gaussian, KNorm, Laplace
from geoveil.noise import Entropy, normal
from geoveil.privacy import CGP, GP

Task = Callable[[], object]


def times(*tasks: Task, repeat: int) -> list[float]:
    """Return the median processor time of each task; the tasks run in turn."""
    found: list[list[float]] = [[] for _ in tasks]
    for task in tasks:
        task()
    for _ in range(repeat):
        for task, runs in zip(tasks, found, strict=True):
            start = time.process_time()
            task()
            runs.append(time.process_time() - start)
    return [statistics.median(runs) for runs in found]


def table(n: int, repeat: int) -> None:
    """Print ratios, refined fractions and memory for n points in the plane."""
    rng, source = np.random.default_rng(1), Entropy()
    x = rng.uniform(0, 1e5, size=(n, 2))
    away = rng.uniform(0, 1e5, size=n)

    def plain() -> object:
        return rng.standard_normal((n, 2))

    print("| exact | against | ratio | target | refined | memory beside the result |\n|---|---|---|---|---|---|")

    def row(name: str, ours: Task, against: str, theirs: Task, target: float | None, draws: int) -> None:
        say(name)
        mine, other = times(ours, theirs, repeat=repeat)
        source.refined = 0
        for _ in range(repeat):
            ours()
        refined = source.refined / repeat / draws
        tracemalloc.start()
        ours()
        memory = (tracemalloc.get_traced_memory()[1] - 8 * draws) / 2**20
        tracemalloc.stop()
        wanted = "" if target is None else f"{target:g}×" + (", missed" if mine / other > target else "")
        print(
            f"| {name} | {against} | {mine / other:.2f}× | {wanted} | {refined:.1e} | {memory:.1f} MiB |", flush=True
        )

    mechanisms: list[tuple[str, Additive, float | None]] = [
        ("Gaussian points", Gaussian(CGP(rho=5e-5), 2 * n), 2),
        ("planar Laplace points", Copies(Laplace(GP(epsilon=0.01, metric="1"), 2), n, 1), 8),
        ("points of one tuple, K-norm", KNorm(GP(epsilon=0.01), n, 2), 8),
        ("points of one tuple, Laplace in R^2n", Laplace(GP(epsilon=0.01, metric="2"), 2 * n), None),
    ]
    for name, mechanism, target in mechanisms:
        row(name, lambda m=mechanism: m.sample(x, source), "standard_normal", plain, target, 2 * n)  # type: ignore[misc]
    bay, gaussian = Tangent(37.77, -122.42), Gaussian(CGP(rho=5e-5), 2 * n)
    degrees = bay.inverse(x / 2)
    row(
        "Gaussian points in degrees, projected and released",
        lambda: gaussian.sample(bay.forward(degrees, 75_000), source),
        "the same points in metres",
        lambda: gaussian.sample(x, source),
        None,
        2 * n,
    )
    choice = Exponential(CGP(rho=1e-4))
    for k in (1, 50):
        row(
            f"Gumbel, the first {k}",
            lambda k=k: choice.sample_several(away, k, source),  # type: ignore[misc]
            "gumbel + argpartition",
            lambda k=k: np.argpartition(away - choice.scale * rng.gumbel(size=n), k)[:k],  # type: ignore[misc]
            3,
            n,
        )
    library(x, Gaussian(CGP(rho=5e-5), 2 * n), source, repeat)


def normal_noise(n: int, repeat: int) -> None:
    """Print the time of normal noise alone, of whole calls and of a single point."""
    rng, source = np.random.default_rng(1), Entropy()
    x = rng.uniform(0, 1e5, size=(n, 2))
    bay = gv.local(lat=37.77, lon=-122.42, radius=75_000)
    degrees = Tangent(37.77, -122.42).inverse(x / 2)

    def noise(count: int) -> Task:
        return lambda: sum(len(drawn) for _, drawn in normal(source, count, 1))

    rows: list[tuple[str, int, Task, float | None]] = [
        (f"normal noise alone, {n:,} values", n, noise(n), 1.4),
        (f"normal noise alone, {10 * n:,} values", 10 * n, noise(10 * n), 1.4),
        (f"`points`, {n:,} points in metres", 2 * n, lambda: gv.Locations(x).points(rho=5e-5), 2),
        (
            f"`points`, {n:,} points in degrees",
            2 * n,
            lambda: gv.Locations(degrees, crs=4326, area=bay).points(rho=5e-5),
            None,
        ),
    ]
    print("\n| exact | times `standard_normal` | target |\n|---|---|---|")
    for name, count, task, target in rows:
        say(name)
        mine, other = times(task, lambda c=count: rng.standard_normal(c), repeat=repeat)  # type: ignore[misc]
        wanted = "" if target is None else f"{target:g}×" + (", missed" if mine / other > target else "")
        print(f"| {name} | {mine / other:.2f}× | {wanted} |", flush=True)
    several = range(100)
    both = (
        lambda: [source.normal(2) for _ in several],
        lambda: [gv.Locations(x[:1]).points(rho=5e-5) for _ in several],
    )
    variables, call = (1e4 * found for found in times(*both, repeat=repeat))
    print(f"\nOne point: {variables:.0f} µs for its two variables, {call:.0f} µs for `points`.")


def library(
    x: np.ndarray[tuple[int, int], np.dtype[np.float64]], ours: Gaussian, source: Entropy, repeat: int
) -> None:
    """Print the speed compared with OpenDP's vector Gaussian, on as many points as it processes in about a second."""
    try:
        import opendp.prelude as dp
    except ImportError:
        print("\nOpenDP is not installed: no comparison.")
        return
    say("OpenDP")
    dp.enable_features("contrib")
    part = x[:10_000]
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    theirs = dp.m.make_gaussian(*space, scale=ours.scale)
    values = part.ravel().tolist()
    mine, other = times(lambda: ours.sample(part, source), lambda: theirs(values), repeat=max(repeat // 5, 3))
    took = f"{other / part.size * 1e6:.0f} µs a coordinate, {other / mine:.0f} times ours (target: 100 times)"
    print(f"\nOpenDP {version('opendp')}, vector Gaussian: {took}.")


def say(what: str) -> None:
    """Print progress to standard error."""
    print(what, file=sys.stderr, flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10**6, help="how many points")
    parser.add_argument("--repeat", type=int, default=21, help="how often each is timed")
    arguments = parser.parse_args()
    table(arguments.points, arguments.repeat)
    normal_noise(arguments.points, arguments.repeat)


if __name__ == "__main__":
    main()
