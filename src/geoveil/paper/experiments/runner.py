"""Run the tasks of an experiment that have no results yet, on several processors; settings are in `run.json`."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from geoveil._version import __version__
from geoveil.errors import InvalidParameter
from geoveil.geo.formats.atomic import write_atomically
from geoveil.paper.experiments.cells import Cell, Measurement, Study
from geoveil.paper.experiments.procedures import procedure_of
from geoveil.paper.experiments.taxis import load

__all__ = ["COLUMNS", "RunPlan", "RunSettings", "Task", "run"]

#: A cell and the index of a repetition.
Task: TypeAlias = tuple[Cell, int]
#: The parameters that have a column in the table of results.
COLUMNS = ("n", "rho", "k", "d", "s")


@dataclass(frozen=True)
class RunSettings:
    """The settings that results depend on. All results in a folder have the same settings."""

    #: The seed of all noise and all samples.
    seed: int
    #: The number of repetitions.
    repetitions: int
    #: The number of trajectories in each repetition.
    trajectories: int
    #: Whether the procedure is that of the authors' programs.
    faithful: bool
    #: The SHA-256 of the files of the taxis; None while no experiment has needed them.
    data: str | None

    def save_or_check(self, out: Path) -> None:
        """Save the settings in a folder, or check that its results have the same settings."""
        path = out / "run.json"
        own = {**asdict(self), "versions": versions()}
        if path.exists():
            known = json.loads(path.read_text(encoding="utf-8"))
            if own["data"] is None or known["data"] is None:
                own["data"] = known["data"] = own["data"] or known["data"]
            for key, value in own.items():
                if known.get(key) != value:
                    remedy = f"Results in {out} have other settings: choose another --out."
                    raise InvalidParameter(key, value, f"{known.get(key)!r}, as in {path.name}", remedy)
        text = json.dumps(own, indent=2, ensure_ascii=False) + "\n"
        write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8", newline="\n"))


def versions() -> dict[str, str]:
    """Return the versions of everything that a result may depend on."""
    import numpy
    import pyproj
    import scipy
    import shapely

    return {
        "geoveil": __version__,
        "numpy": numpy.__version__,
        "pyproj": pyproj.__version__,
        "python": platform.python_version(),
        "scipy": scipy.__version__,
        "shapely": shapely.__version__,
    }


@dataclass(frozen=True)
class RunPlan:
    """The tasks of a run, and where its data and results are."""

    #: The settings of the run.
    settings: RunSettings
    #: The cells to measure.
    cells: list[Cell]
    #: The folder of the results; those of each task are in its folder `parts`.
    out: Path
    #: The folder of the taxis.
    data: Path | None
    #: The folder of the cleaned taxis.
    cache: Path

    def tasks(self) -> list[Task]:
        """Return all tasks, in the order of the results."""
        return [(cell, turn) for cell in self.cells for turn in range(cell.repetitions(self.settings.repetitions))]

    def part(self, task: Task) -> Path:
        """Return the file of the measurements of a task."""
        cell, turn = task
        return self.out / "parts" / cell.name / f"{turn:03}.parquet"

    def weight(self, task: Task) -> float:
        """Return the approximate time of a task in milliseconds."""
        cell = task[0]
        return cell.cost * (self.settings.trajectories if cell.real else 1)

    def study(self) -> Study:
        """Return the data and settings that all cells share; read the taxis if a cell needs them."""
        procedure = procedure_of(self.settings.faithful)
        taxis = None
        if self.data is not None and self.settings.data is not None:
            taxis = load(self.data, procedure, self.cache, self.settings.data)
        return Study(self.settings.seed, self.settings.trajectories, procedure, taxis)


def run(plan: RunPlan, workers: int, done: Callable[[Task], object] = lambda task: None) -> None:
    """Measure every task that has no results yet.

    Each task has its own generator, so neither the number of workers nor an interruption changes a result.

    Parameters
    ----------
    plan : RunPlan
        The tasks.
    workers : int
        The number of processes; with 1, tasks run in this process.
    done : callable
        Called with every finished task, those of earlier runs first.
    """
    missing = []
    for task in plan.tasks():
        if plan.part(task).exists():
            done(task)
        else:
            missing.append(task)
    # Every repetition takes equally long, so going through them in order makes the time left predictable.
    missing.sort(key=lambda task: task[1])
    measured = map(_measurer(plan), missing) if workers == 1 else _in_processes(plan, missing, workers)
    for task, measurements in measured:
        _write(plan.part(task), task, measurements)
        done(task)


def _measurer(plan: RunPlan) -> Callable[[Task], tuple[Task, list[Measurement]]]:
    study: list[Study] = []

    def measure(task: Task) -> tuple[Task, list[Measurement]]:
        if not study:
            study.append(plan.study())
        cell, turn = task
        return task, cell.batch(study[0], turn)

    return measure


def _in_processes(plan: RunPlan, tasks: list[Task], workers: int) -> Iterator[tuple[Task, list[Measurement]]]:
    """Return measurements as they finish. Few tasks are submitted ahead, so that an interruption loses little."""
    if tasks:
        # Workers find the cleaned data in the cache: none of them writes it while another reads it.
        plan.study()
    left = iter(tasks)
    # Spawned processes inherit no lock and no generator from this one.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(plan,))
    try:
        ahead = {pool.submit(_work, task) for task in islice(left, 2 * workers)}
        while ahead:
            finished, ahead = wait(ahead, return_when=FIRST_COMPLETED)
            ahead |= {pool.submit(_work, task) for task in islice(left, len(finished))}
            for future in finished:
                yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


_measure: Callable[[Task], tuple[Task, list[Measurement]]]


def _begin(plan: RunPlan) -> None:
    """Prepare a process: it ignores Ctrl-C, which the parent handles, and ends when the parent does."""
    global _measure
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()
    _measure = _measurer(plan)


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _work(task: Task) -> tuple[Task, list[Measurement]]:
    return _measure(task)


def _write(path: Path, task: Task, measurements: list[Measurement]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    cell, turn = task
    count, settings = len(measurements), cell.settings()
    lines, measures, taxis, values = zip(*measurements, strict=True)
    kinds = {"n": pa.int64(), "rho": pa.float64(), "k": pa.int64(), "d": pa.int64(), "s": pa.float64()}
    table = pa.table(
        {
            "experiment": [cell.experiment] * count,
            **{name: pa.array([settings.get(name)] * count, kinds[name]) for name in COLUMNS},
            "repetition": pa.array([turn] * count, pa.int64()),
            "taxi": pa.array(taxis),
            "line": pa.array(lines),
            "measure": pa.array(measures),
            "value": pa.array(values, pa.float64()),
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda temporary: pq.write_table(table, temporary))
