"""Run what is missing of an experiment, on several processors, so that an interruption costs seconds."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from geoveil.experiments.cells import Cell, Measurement, Study
from geoveil.experiments.procedures import procedure_of
from geoveil.experiments.run_settings import RunSettings
from geoveil.experiments.taxis import load
from geoveil.geo.formats.atomic import write_atomically

__all__ = ["COLUMNS", "RunPlan", "Task", "run"]

#: A cell and the number of a repetition.
Task: TypeAlias = tuple[Cell, int]
#: The settings that a table of results has columns for.
COLUMNS = ("n", "rho", "k", "d", "s")


@dataclass(frozen=True)
class RunPlan:
    """What there is to do, and where.

    Parameters
    ----------
    settings : RunSettings
        The settings.
    cells : list of Cell
        What is measured.
    out : Path
        Where results go; parts of them are in its folder `parts`.
    data, cache : Path
        The taxis' folder, and where they are kept cleaned.
    """

    settings: RunSettings
    cells: list[Cell]
    out: Path
    data: Path | None
    cache: Path

    def tasks(self) -> list[Task]:
        """All of them, in the order of the results."""
        return [(cell, turn) for cell in self.cells for turn in range(cell.repetitions(self.settings.repetitions))]

    def part(self, task: Task) -> Path:
        """Where the measurements of a task are."""
        cell, turn = task
        return self.out / "parts" / cell.name / f"{turn:03}.parquet"

    def weight(self, task: Task) -> float:
        """About how many milliseconds it takes."""
        cell = task[0]
        return cell.cost * (self.settings.trajectories if cell.real else 1)

    def study(self) -> Study:
        """What all cells share; reads the taxis if a cell needs them."""
        procedure = procedure_of(self.settings.faithful)
        taxis = None
        if self.data is not None and self.settings.data is not None:
            taxis = load(self.data, procedure, self.cache, self.settings.data)
        return Study(self.settings.seed, self.settings.trajectories, procedure, taxis)


def run(plan: RunPlan, workers: int, done: Callable[[Task], Any] = lambda task: None) -> None:
    """Measure every task that has no part yet.

    Each task draws from a generator of its own, so neither the number of workers nor an interruption changes a result.

    Parameters
    ----------
    plan : RunPlan
        What there is to do.
    workers : int
        How many processes; 1 is this one.
    done : callable
        Told of every task that is done, those of earlier runs first.
    """
    missing = []
    for task in plan.tasks():
        if plan.part(task).exists():
            done(task)
        else:
            missing.append(task)
    # Repetition by repetition: every one takes as long, so the time left is known, and all figures grow together.
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


def _in_processes(plan: RunPlan, tasks: Iterable[Task], workers: int) -> Iterator[tuple[Task, list[Measurement]]]:
    """Measured as they come, a few ahead, so that little is lost when the run ends early."""
    left = iter(tasks)
    # Processes that begin afresh hold no lock and no generator of this one.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(plan,))
    try:
        ahead: set[Future[Any]] = {pool.submit(_work, task) for task in islice(left, 2 * workers)}
        while ahead:
            finished, ahead = wait(ahead, return_when=FIRST_COMPLETED)
            ahead |= {pool.submit(_work, task) for task in islice(left, len(finished))}
            for future in finished:
                yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


_measure: Callable[[Task], tuple[Task, list[Measurement]]]


def _begin(plan: RunPlan) -> None:
    """Ready a process: Ctrl-C is for the parent, and without it there is nothing left to do."""
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
