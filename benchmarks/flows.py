"""Measure flows of trips compared with numpy's histogram of the same trips on the same cells, and their accuracy.

Run from the project's root: ``python -m benchmarks.flows [--trips 100000]``. The table goes to standard output. Times
are processor times in one process, the smallest of three: a whole release, from coordinates to sharpened flows, over
`numpy.histogramdd`. Trips are made up: from and to the places of a made-up city of 16 by 16 km. Cells are those that
`advise_flows` names for each budget, and finer and coarser ones. `wrong` is the sum of all errors over the trips.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import geoveil as gv
from geoveil.city import generator, made_up_visits
from geoveil.postprocess.flow_cells import advise_flows

#: Half the side of the area in metres.
REACH = 8_000.0


def seconds(task: Callable[[], object]) -> float:
    """Return the smallest processor time of three runs."""
    found = []
    for _ in range(3):
        start = time.process_time()
        task()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trips", type=int, default=100_000)
    n = parser.parse_args().trips
    rng = generator(3)
    origins, ends = (np.clip(made_up_visits(n, rng), 1 - REACH, REACH - 1) for _ in range(2))
    both = np.hstack([origins[:, ::-1], ends[:, ::-1]])
    trips, to = gv.Locations(origins, person=np.arange(n)), gv.Locations(ends)
    print("| ρ per m² | cells | times histogramdd | seconds | wrong | expected | listed | not there |")
    print("|---|---|---|---|---|---|---|---|")
    for rho in (5e-5, 2e-6):
        advised = advise_flows(n, 4 * REACH**2, rho).cell
        for cell in sorted({1000.0, advised, 2000.0, 4000.0}):
            grid = gv.Grid((-REACH, -REACH, REACH, REACH), cell=cell)
            rows, columns = grid.shape
            edges = [*grid.edges] * 2

            def histogram(edges: list[np.ndarray] = edges) -> np.ndarray:
                return np.histogramdd(both, bins=edges)[0]

            def released(grid: gv.Grid = grid, rho: float = rho) -> gv.CrowdRelease:
                return trips.flows(grid, trip=to, rho=rho)

            plain, taken = seconds(histogram), seconds(released)
            truth, flows = histogram().reshape(rows * columns, -1), released()
            wrong = np.abs(flows.value - truth).sum() / n
            listed = (flows.value > flows.floor) & (flows.noisy > flows.floor)  # type: ignore[attr-defined]
            name = f"{rows} × {columns} of {cell:g} m" + (" (advised)" if cell == advised else "")
            expected = advise_flows(n, 4 * REACH**2, rho, cell=cell).share
            print(
                f"| {rho:g} | {name} | {taken / plain:.1f} | {taken:.2f} | {wrong:.2f} | {expected:.2f} "
                f"| {listed.sum()} | {(listed & (truth == 0)).sum()} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
