"""Measure releases on Spark, compared with a copy by Spark itself in the same run.

Run from the project's root, with the extra spark and Java 17:

    python -m benchmarks.spark bars     # throughput, workers and driver memory; about ten minutes
    python -m benchmarks.spark scale    # 10^6, 10^7 and 10^8 rows with executors of 2 GiB; about an hour
    python -m benchmarks.spark skew     # one person with 10^7 rows and a million with ten; about ten minutes
    python -m benchmarks.spark demo     # points and a heat map of ten million rows, with certificate and times

Rows are made up by Spark, in a folder that is removed at the end. Each number of workers has a cluster of its own
(`local-cluster`): executors are separate processes with one core each. Processor time counts all processes of the
cluster, Java and Python.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

import geoveil as gv

AREA = gv.local(lat=37.77, lon=-122.42, radius=100_000)
RHO = 5e-5


@contextmanager
def cluster(workers: int, memory: int = 2048) -> Iterator[Any]:
    """Start a cluster with executors of one core and so many MiB each."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        "spark.master": f"local-cluster[{workers},1,{memory}]",
        "spark.executor.memory": f"{memory}m",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.appName("geoveil benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def made_up(spark: Any, path: Path, rows: int, persons: int, *, skewed: bool = False) -> None:
    """Write made-up rows: persons in random order, times, and places around a city; about 2.5 million in a file.

    If they are skewed, half of the rows belong to one person.
    """
    files = max(4, rows // 2_500_000)
    one = "id % 2 = 0" if skewed else "false"
    columns = [
        f"if({one}, 'one', cast(cast(rand(1) * {persons} as long) as string)) as user",
        "timestamp_seconds(1600000000 + id) as time",
        "-122.42 + randn(2) * 0.1 as longitude",
        "37.77 + randn(3) * 0.1 as latitude",
    ]
    spark.range(0, rows, 1, files).selectExpr(*columns).write.parquet(str(path))


def processor_seconds() -> float:
    """Return the processor time of this process and of all that it has started and that still run."""
    total = 0.0
    for process in (me := psutil.Process(), *me.children(recursive=True)):
        try:
            used = process.cpu_times()
        except psutil.Error:
            continue
        # Those of processes that have ended are known to their parents.
        total += used.user + used.system + used.children_user + used.children_system
    return total


class Watch:
    """The largest memory of Python workers and of the driver's Python, while something runs."""

    def __init__(self) -> None:
        self.worker = 0
        self._done = threading.Event()

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.5):
            for process in psutil.Process().children(recursive=True):
                try:
                    if "python" in process.name():
                        self.worker = max(self.worker, process.memory_info().rss)
                except psutil.Error:
                    continue


def shuffled(spark: Any) -> int:
    """Return the bytes that all stages so far have written for shuffles."""
    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    store = spark._jsc.sc().statusStore()
    stages = store.stageList(None, False, False, gateway.new_array(jvm.double, 0), jvm.java.util.ArrayList())
    return sum(stages.apply(i).shuffleWriteBytes() for i in range(stages.size()))


def measured(spark: Any, work: Callable[[], Any]) -> dict[str, float]:
    """Return the seconds and the processor seconds of some work, the largest Python worker, and shuffled bytes."""
    with Watch() as watch:
        start, used, before = time.perf_counter(), processor_seconds(), shuffled(spark)
        work()
        return {
            "wall": time.perf_counter() - start,
            "processor": processor_seconds() - used,
            "worker": float(watch.worker),
            "shuffled": float(shuffled(spark) - before),
        }


def tasks_of(spark: Any, source: Path, folder: Path) -> dict[str, Callable[[], Any]]:
    """Return what is measured, by name."""

    def fresh(name: str) -> str:
        for old in folder.glob(f"{name}*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        return str(folder / name)

    def parsed(batches: Any) -> Any:
        yield from batches

    frame = spark.read.parquet(str(source))
    about: dict[str, Any] = {"person": "user", "area": AREA, "outside": "clamp"}
    people, days = gv.Locations(frame, **about), gv.Locations(frame, protect="1 day", **about)
    return {
        "copy": lambda: frame.write.parquet(fresh("copy")),
        "copy through Python": lambda: frame.mapInArrow(parsed, frame.schema).write.parquet(fresh("parsed")),
        "points": lambda: people.points(to=fresh("points"), rho=RHO),
        "points of any day": lambda: days.points(to=fresh("days"), rho=RHO),
        "heat map": lambda: people.heatmap(2000, rho=RHO),
        "radius of persons": lambda: people.radius(to=fresh("radius"), rho=RHO),
        "center of persons": lambda: people.center(to=fresh("center"), rho=RHO),
    }


def run(given: argparse.Namespace) -> None:
    """Run tasks in turn on one cluster, and print what was measured."""
    warnings.simplefilter("ignore")
    found: dict[str, list[dict[str, float]]] = {}
    with cluster(given.workers) as spark:
        source = Path(given.folder) / f"rows-{given.rows}-{given.persons}"
        if not source.exists():
            made_up(spark, source, given.rows, given.persons, skewed=given.skewed)
        tasks = tasks_of(spark, source, Path(given.folder))
        for turn in range(given.repeat):
            for name in given.tasks.split(","):
                told = f"{given.rows:,} rows, {given.workers} workers, {name}, turn {turn + 1}"
                print(told, file=sys.stderr, flush=True)
                found.setdefault(name, []).append(measured(spark, tasks[name]))
    print(json.dumps(found))


def in_a_cluster(
    folder: Path, workers: int, rows: int, persons: int, repeat: int, tasks: str, *, skewed: bool = False
) -> dict[str, Any]:
    """Run tasks in a process of their own, and return the medians of what was measured."""
    command = [sys.executable, "-m", "benchmarks.spark", "run", "--folder", str(folder), "--workers", str(workers)]
    command += ["--rows", str(rows), "--persons", str(persons), "--repeat", str(repeat), "--tasks", tasks]
    command += ["--skewed"] if skewed else []
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = json.loads(told.splitlines()[-1])
    return {
        name: {each: statistics.median(one[each] for one in runs) for each in runs[0]} for name, runs in found.items()
    }


def bars(given: argparse.Namespace) -> None:
    """Print throughput, the gain from a second worker, and the memory of the driver."""
    tasks = "copy,copy through Python,points"
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        two, one = (
            in_a_cluster(Path(folder), workers, given.rows, given.persons, given.repeat, tasks) for workers in (2, 1)
        )
    print("| task | rows a second, 2 workers | of the copy's speed | by processor time | 1 to 2 workers |")
    print("|---|---|---|---|---|")
    for name, found in two.items():
        share, used = two["copy"]["wall"] / found["wall"], two["copy"]["processor"] / found["processor"]
        gain = one[name]["wall"] / found["wall"]
        print(f"| {name} | {given.rows / found['wall']:,.0f} | {share:.2f} | {used:.2f} | {gain:.2f} |")


def scale(given: argparse.Namespace) -> None:
    """Print times and memory at several sizes, with executors of 2 GiB."""
    print("| rows | persons | task | seconds | µs a row | processor µs a row | bytes shuffled a row | Python worker |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for rows in map(int, map(float, given.sizes.split(","))):
            persons = rows // 100
            found = in_a_cluster(Path(folder), 2, rows, persons, 1, given.tasks)
            for name, one in found.items():
                each, used = one["wall"] / rows * 1e6, one["processor"] / rows * 1e6
                told = f"{one['wall']:.0f} | {each:.2f} | {used:.2f} | {one['shuffled'] / rows:.1f}"
                told += f" | {one['worker'] / 2**20:.0f} MiB"
                print(f"| {rows:,} | {persons:,} | {name} | {told} |", flush=True)
            shutil.rmtree(Path(folder) / f"rows-{rows}-{persons}")


def skew(given: argparse.Namespace) -> None:
    """Print times and memory of questions about persons of whom one has as many rows as a million others together."""
    tasks = "radius of persons,center of persons"
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        found = in_a_cluster(Path(folder), 2, 2 * given.rows, given.rows // 10, 1, tasks, skewed=True)
    print("| rows | persons | task | seconds | processor µs a row | Python worker |")
    print("|---|---|---|---|---|---|")
    for name, one in found.items():
        told = f"{one['wall']:.0f} | {one['processor'] / (2 * given.rows) * 1e6:.2f} | {one['worker'] / 2**20:.0f} MiB"
        print(f"| {2 * given.rows:,} | {given.rows // 10 + 1:,} | {name} | {told} |")


def demo(given: argparse.Namespace) -> None:
    """Release points and a heat map of made-up rows, and print the certificate and the times."""
    warnings.simplefilter("ignore")
    folder = Path(given.folder or "geoveil-demo-spark")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with cluster(2) as spark:
        start = time.perf_counter()

        def told(what: str) -> None:
            print(f"{time.perf_counter() - start:7.1f} s  {what}", flush=True)

        told(f"a local cluster with two workers makes up {given.rows:,} rows of {given.persons:,} persons")
        made_up(spark, folder / "trips.parquet", given.rows, given.persons)
        told("points: counting, then drawing noise and writing")
        frame = spark.read.parquet(str(folder / "trips.parquet"))
        people = gv.Locations(frame, person="user", area=AREA, outside="clamp")
        release = people.points(to=folder / "released.parquet", rho=RHO)
        told("a heat map: adding up on the workers, noise once in the driver")
        heat = people.heatmap(2000, rho=RHO, every="hour of day")
        told("done")
        print(release, heat, sep="\n")
        release.value.show(5)
        print(json.dumps(release.certificate(), indent=2)[:3000])
        print(gv.verify(folder / "released.parquet"))


def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["bars", "scale", "skew", "demo", "run"])
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--persons", type=int, default=10**5)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sizes", default="1e6,1e7,1e8")
    parser.add_argument("--tasks", default="copy,points,points of any day,heat map")
    parser.add_argument("--skewed", action="store_true")
    parser.add_argument("--folder")
    given = parser.parse_args()
    {"bars": bars, "scale": scale, "skew": skew, "demo": demo, "run": run}[given.what](given)


if __name__ == "__main__":
    main()
