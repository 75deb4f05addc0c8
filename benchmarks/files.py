"""Measure processor time and memory of releasing a file, compared with a copy by pyarrow in the same run.

Run from the project's root: ``python -m benchmarks.files``, with ``--rows`` and ``--persons`` for other sizes and
``--before src`` for the package in another folder, measured in turn with this one. Files are synthetic, in a folder
that is removed at the end (``--folder`` says where). Each task runs in a separate process; the tasks run in turn.
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
    """Copy a file with pyarrow in batches: read all rows and write all rows, with all columns."""
    if source.suffix == ".csv":
        with pyarrow.csv.open_csv(source) as reader, pyarrow.csv.CSVWriter(target, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
    else:
        file = pq.ParquetFile(source)
        with pq.ParquetWriter(target, file.schema_arrow) as writer:
            for batch in file.iter_batches():
                writer.write_batch(batch)


def released(source: Path, target: Path) -> None:
    """Release a file by person under CGP, with every column except the speed."""
    gv.Locations(source, person="user", area=AREA).points(to=target, rho=5e-5)


def released_pure(source: Path, target: Path) -> None:
    """Release a file by person under GP, where the noise of a person's points is drawn together."""
    gv.Locations(source, person="user", area=AREA).points(to=target, epsilon=0.01)


TASKS: dict[str, Callable[[Path, Path], None]] = {"copy": copied, "CGP": released, "GP": released_pure}


def run(task: str, source: Path, package: str | None = None) -> tuple[float, float]:
    """Run a task in a separate process; return its processor seconds and its peak memory in GiB."""
    target = source.with_name(f"out{source.suffix}")
    # A copy over an existing file would be cheaper than a new file, which a release always writes.
    for path in (target, target.with_name(f"{target.name}.certificate.json")):
        path.unlink(missing_ok=True)
    command = [sys.executable, "-W", "ignore", __file__, "--task", task, str(source), str(target)]
    environment = {**os.environ, **({} if package is None else {"PYTHONPATH": package})}
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)
    return found["seconds"], found["peak"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--persons", type=int, default=10**5)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--formats", nargs="*", default=["parquet", "csv"])
    parser.add_argument("--tasks", nargs="*", default=[*TASKS], choices=[*TASKS])
    parser.add_argument("--before", metavar="SRC")
    parser.add_argument("--folder")
    parser.add_argument("--task", nargs=3)
    given = parser.parse_args()
    if given.task:
        task, source, target = given.task
        before = time.process_time()
        TASKS[task](Path(source), Path(target))
        seconds = time.process_time() - before
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps({"seconds": seconds, "peak": peak}))
        return
    packages = {"": None, **({" before": given.before} if given.before else {})}
    tasks = [("copy", None, "copy")] + [
        (f"{task}{when}", package, task)
        for task in given.tasks
        if task != "copy"
        for when, package in packages.items()
    ]
    print("| file | task | µs of processor time a row | of the copy's | target | peak memory |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for kind in given.formats:
            source = Path(folder) / f"trips.{kind}"
            made_up(source, given.rows, given.persons)
            times: dict[str, list[float]] = {name: [] for name, _, _ in tasks}
            peaks = dict.fromkeys(times, 0.0)
            for turn in range(given.repeat):
                for name, package, task in tasks:
                    print(f"{kind}, {name}, {turn + 1} of {given.repeat}", file=sys.stderr, flush=True)
                    seconds, peak = run(task, source, package)
                    times[name].append(seconds)
                    peaks[name] = max(peaks[name], peak)
            plain = np.array(times["copy"])
            for name, found in times.items():
                target = "" if name == "copy" else "4, 2 GiB" if kind == "parquet" else "2.5, 2 GiB"
                print(
                    f"| {kind} | {name} | {1e6 * statistics.median(found) / given.rows:.2f} "
                    f"| {statistics.median(np.array(found) / plain):.2f} | {target} | {peaks[name]:.2f} GiB |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
