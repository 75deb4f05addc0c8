"""Measure crowd questions compared with numpy's histogram of the same points.

Run from the project's root: ``python -m benchmarks.crowds [--points 10000000]``. The table goes to standard output.
Times are processor times in one process: adding up the points and drawing the noise, over `numpy.histogram2d` of the
same points with 1000 × 1000 bins. Memory is the largest that Python and numpy allocate beyond the input. It does not
depend on the number of points and is measured with two batches.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import shapely

import geoveil as gv
from geoveil.noise import Entropy
from geoveil.queries import CrowdMap, Flows, Lattice, RegionCounts, Regions

#: The side of the area in metres.
AREA = 100_000.0


def seconds(task: Callable[[], object]) -> float:
    """Return the processor time of a task."""
    start = time.process_time()
    task()
    return time.process_time() - start


def peak(task: Callable[[], object]) -> float:
    """Return the most memory that a task allocates at once, in MiB."""
    tracemalloc.start()
    task()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


def hexagons(count: int) -> list[Any]:
    """Return about `count` regions that cut the area into hexagons."""
    side = np.sqrt(AREA**2 / count / 2.598)
    angles = np.pi / 3 * np.arange(6) + np.pi / 6
    corners = side * np.column_stack([np.cos(angles), np.sin(angles)])
    width, height = np.sqrt(3) * side, 1.5 * side
    rows, columns = int(AREA / height), int(AREA / width)
    centres = [((j + 0.5 * (i % 2)) * width, i * height) for i in range(rows + 1) for j in range(columns + 1)]
    return [shapely.Polygon(corners + centre) for centre in centres]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10_000_000)
    n = parser.parse_args().points
    persons = max(n // 100, 1)
    rng = np.random.default_rng(2026)
    homes = rng.uniform(0.1 * AREA, 0.9 * AREA, size=(persons, 2))
    x = homes[np.arange(n) * persons // n] + rng.normal(scale=3_000.0, size=(n, 2))
    weights = np.full(n, persons / n)
    shuffled, ends = x[rng.permutation(n)], x[rng.permutation(n)]
    rho = gv.CGP(rho=5e-5, metric="1")
    fine, coarse = Lattice(0, 0, AREA / 1000, 1000, 1000), Lattice(0, 0, AREA / 40, 40, 40)
    source = Entropy()
    regions = None

    def make_regions() -> None:
        nonlocal regions
        regions = Regions.of(hexagons(1000), fine)

    print("regions", file=sys.stderr, flush=True)
    making = seconds(make_regions)
    assert regions is not None
    given: dict[str, Any] = {"total": float(persons)}
    queries: list[tuple[str, Any, tuple[Any, ...]]] = [
        ("heat map, 1000 × 1000 cells", CrowdMap(n, 2, rho, lattice=fine, **given), (x,)),
        ("the same, points in random order", CrowdMap(n, 2, rho, lattice=fine, **given), (shuffled,)),
        ("the same, a kernel of 8 cells", CrowdMap(n, 2, rho, lattice=fine, side=8, **given), (x,)),
        (f"counts in {len(regions)} regions", RegionCounts(n, 2, rho, lattice=fine, regions=regions, **given), (x,)),
        ("flows, 40 × 40 cells", Flows(n, 2, rho, lattice=coarse, **given), (x, ends)),
    ]
    # The smallest of three: others use the processor's cache, too.
    histogram = min(
        seconds(lambda: np.histogram2d(x[:, 0], x[:, 1], bins=1000, range=[[0, AREA], [0, AREA]])) for _ in range(3)
    )
    print(f"{n} points of {persons} persons; histogram2d takes {histogram:.2f} s, making regions {making:.2f} s.\n")
    print("| what | times histogram2d | noise, persons | rounding, m | MiB beyond the input |\n|---|---|---|---|---|")
    for name, query, places in queries:
        print(name, file=sys.stderr, flush=True)

        def ask(stop: int = n, query: Any = query, places: tuple[Any, ...] = places) -> None:
            sums = query.accumulator()
            for start in range(0, stop, 2**20):
                rows = slice(start, start + 2**20)
                sums.add(*(each[rows] for each in places), weights[rows])
            query.ask_sums(sums, source)

        ratio, noise = seconds(ask) / histogram, query.mechanism.scale
        memory = peak(lambda ask=ask: ask(min(n, 2**21)))  # type: ignore[misc]
        print(f"| {name} | {ratio:.1f} | {noise:.3g} | {query.sums_rounding:.1g} | {memory:.0f} |", flush=True)


if __name__ == "__main__":
    main()
