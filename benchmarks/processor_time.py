"""Measure the processor time of smoothing a million released points, and of the first map in a new process.

Run from the project's root: ``python -m benchmarks.processor_time``, with ``--points`` for other sizes and
``--before src`` for the package in another folder, measured in turn with this one. Each task runs in a process of its
own, which counts everything from its start; matplotlib's cache of fonts exists already.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path


def made_up(path: Path, points: int, persons: int) -> None:
    """Release made-up tracks, with a point a minute, to a CSV file."""
    import numpy as np
    import pandas as pd

    import geoveil as gv

    rng = np.random.default_rng(1)
    each = points // persons
    turn = 2 * np.pi * (np.arange(each)[None] / 400 + rng.random((persons, 1)))
    place = rng.normal(scale=0.02, size=(2, persons, 1)) + 0.03 * np.array([np.cos(turn), np.sin(turn * 1.3)])
    table = pd.DataFrame(
        {
            "user": np.repeat(np.arange(persons), each),
            "time": np.tile(pd.to_datetime(1.6e9 + 60 * np.arange(each), unit="s"), persons),
            "longitude": -122.42 + place[0].ravel(),
            "latitude": 37.77 + place[1].ravel(),
        }
    )
    source = path.with_name("true.csv")
    table.round(6).to_csv(source, index=False)
    bay = gv.local(lat=37.77, lon=-122.42, radius=100_000)
    gv.Locations(source, person="user", area=bay).points(to=path, rho=each / 5e6)


def smoothed(path: Path) -> None:
    """Load a released file, smooth its tracks and write them, as `geoveil smooth` does."""
    import geoveil as gv

    gv.load(path).smooth("taxi", times="time").to_file(path.with_name("smoothed.csv"))


def drawn(path: Path) -> None:
    """Release 23 points and draw the first map."""
    import geopandas
    import numpy as np

    import geoveil as gv

    lon, lat = np.random.default_rng(1).normal([[-122.42], [37.77]], 0.02, size=(2, 23))
    homes = geopandas.GeoSeries.from_xy(lon, lat, crs=4326)
    release = gv.Locations(homes, area=gv.local(lat=37.77, lon=-122.42, radius=50_000)).points(rho=1e-2)
    before = time.process_time()
    figure = release.plot().get_figure(root=True)
    assert figure is not None
    figure.savefig(path.with_name("map.png"))
    print(json.dumps({"seconds": time.process_time() - before}))


TASKS: dict[str, Callable[[Path], None]] = {
    "smooth, one track": smoothed,
    "smooth, 1,000 tracks": smoothed,
    "plot": drawn,
}
PERSONS = {"smooth, one track": 1, "smooth, 1,000 tracks": 1000}


def run(task: str, path: Path, package: str | None) -> tuple[float, float]:
    """Run a task in a separate process; return its processor seconds and its peak memory in GiB."""
    command = [sys.executable, "-W", "ignore", __file__, "--task", task, str(path)]
    environment = {**os.environ, "MPLBACKEND": "agg", **({} if package is None else {"PYTHONPATH": package})}
    lines = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.splitlines()
    found = {**json.loads(lines[-1]), **json.loads(lines[0])}
    return found["seconds"], found["peak"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10**6)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--before", metavar="SRC")
    parser.add_argument("--tasks", nargs="*", default=[*TASKS], choices=[*TASKS])
    parser.add_argument("--task", nargs=2)
    given = parser.parse_args()
    if given.task:
        task, path = given.task
        TASKS[task](Path(path))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps({"seconds": time.process_time(), "peak": peak}))
        return
    packages = {"": None, **({" before": given.before} if given.before else {})}
    print("| task | seconds of processor time, median | least | peak memory |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for task in given.tasks:
            path = Path(folder) / "released.csv"
            if task in PERSONS:
                made_up(path, given.points, PERSONS[task])
            found: dict[str, list[tuple[float, float]]] = {when: [] for when in packages}
            for turn in range(given.repeat):
                for when, package in packages.items():
                    print(f"{task}{when}, {turn + 1} of {given.repeat}", file=sys.stderr, flush=True)
                    found[when].append(run(task, path, package))
            for when, measured in found.items():
                seconds, peaks = zip(*measured, strict=True)
                took = f"{statistics.median(seconds):.2f} | {min(seconds):.2f}"
                print(f"| {task}{when} | {took} | {max(peaks):.2f} GiB |", flush=True)


if __name__ == "__main__":
    main()
