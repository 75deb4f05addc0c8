"""Measure speed and memory of releasing a file, compared with a plain copy by pyarrow in the same run.

Run from the project's root: ``python benchmarks/files.py``, with ``--rows`` and ``--persons`` for other sizes. Files
are synthetic, in a folder that is removed at the end. Each task runs in a separate process; the tasks run in turn.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import geoveil as gv

AREA = gv.local(lat=37.77, lon=-122.42, radius=100_000)
CRS84 = {
    "version": "1.1.0",
    "primary_column": "geometry",
    "columns": {"geometry": {"encoding": "WKB", "geometry_types": []}},
}


def made_up(path: Path, rows: int, persons: int) -> None:
    """Write synthetic points around a city, with persons in random order, a time and a speed."""
    from geoveil.geo.formats.wkb import encode

    rng = np.random.default_rng(1)
    table = path.suffix == ".csv"
    places = [("longitude", pa.float64()), ("latitude", pa.float64())] if table else [("geometry", pa.binary())]
    schema = pa.schema([("user", pa.string()), ("time", pa.timestamp("s")), ("speed", pa.float64()), *places])
    if not table:
        schema = schema.with_metadata({"geo": json.dumps(CRS84)})
    writer = pyarrow.csv.CSVWriter(path, schema) if table else pq.ParquetWriter(path, schema)
    with writer:
        for first in range(0, rows, 2**20):
            count = min(rows - first, 2**20)
            user = pa.array(rng.integers(persons, size=count)).cast(pa.string())
            times = pa.array(1_600_000_000 + first + np.arange(count)).cast(pa.timestamp("s"))
            place = rng.normal([-122.42, 37.77], 0.1, size=(count, 2)).round(6)
            columns = [*map(pa.array, place.T.copy())] if table else [encode(place)]
            writer.write_table(pa.table([user, times, rng.random(count).round(2), *columns], schema=schema))


def copied(source: Path, target: Path) -> None:
    """Copy a file with pyarrow: read all rows and write all rows."""
    if source.suffix == ".csv":
        pyarrow.csv.write_csv(pyarrow.csv.read_csv(source), target)
    else:
        pq.write_table(pq.read_table(source), target)


def released(source: Path, target: Path) -> None:
    """Release a file by person under CGP, with every column except the speed."""
    gv.points_file(source, target, by="user", rho=5e-5, area=AREA)


def released_pure(source: Path, target: Path) -> None:
    """Release a file by person under GP, where the noise of a person's points is drawn together."""
    gv.points_file(source, target, by="user", epsilon=0.01, area=AREA)


TASKS: dict[str, Callable[[Path, Path], None]] = {"copy": copied, "CGP": released, "GP": released_pure}


def run(task: str, source: Path) -> tuple[float, float]:
    """Run a task in a separate process; return its seconds and its peak memory in GiB."""
    target = source.with_name(f"out{source.suffix}")
    command = [sys.executable, __file__, "--task", task, str(source), str(target)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found["seconds"], found["peak"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--persons", type=int, default=10**5)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--task", nargs=3)
    given = parser.parse_args()
    if given.task:
        task, source, target = given.task
        start = time.perf_counter()
        TASKS[task](Path(source), Path(target))
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps({"seconds": seconds, "peak": peak}))
        return
    print("| file | task | rows a second | speed of the copy | target | peak memory |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, format_name in (("trips.parquet", "GeoParquet"), ("trips.csv", "CSV")):
            source = Path(folder) / name
            made_up(source, given.rows, given.persons)
            times: dict[str, list[float]] = {task: [] for task in TASKS}
            peaks = dict.fromkeys(TASKS, 0.0)
            for turn in range(given.repeat):
                for task in TASKS:
                    print(f"{format_name}, {task}, {turn + 1} of {given.repeat}", file=sys.stderr, flush=True)
                    seconds, peak = run(task, source)
                    times[task].append(seconds)
                    peaks[task] = max(peaks[task], peak)
            plain = statistics.median(times["copy"])
            for task in TASKS:
                took = statistics.median(times[task])
                target = "" if task == "copy" else "0.25, 2 GiB" if format_name == "GeoParquet" else "2 GiB"
                print(
                    f"| {format_name} | {task} | {given.rows / took:,.0f} | {plain / took:.2f} | {target} "
                    f"| {peaks[task]:.2f} GiB |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
