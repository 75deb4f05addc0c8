"""The crowd of a DataFrame: workers add up, and the driver draws noise once."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, cast

import numpy as np

from geoveil._types import Progress
from geoveil.answering.crowd_sources import CrowdAdder, CrowdBatch, FileCrowd, items_of_rows
from geoveil.host.arithmetic import steady
from geoveil.noise import as_reals
from geoveil.privacy import Metric
from geoveil.spark.frame_rows import FrameRows, second_job
from geoveil.spark.task_rows import SIZE, TaskFacts, TaskRows, without_data
from geoveil.spark.tasks import partition_and_attempt

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FrameCrowd"]

S = TypeVar("S")
#: The columns of sums on their way to the driver.
_SUMS = "partition int, sums binary"


class Sums(Protocol):
    """Sums of a partition, to which those of another can be added."""

    def merge(self, other: Self) -> None:
        """Add the sums of another process."""


@dataclass(frozen=True)
class SumTask:
    """Add up the items of a partition."""

    reader: TaskRows
    adder: CrowdAdder[Any]
    #: The metric of the units.
    metric: Metric
    #: The number of places of an item.
    ends: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the sums of the partition."""
        with without_data(), steady():
            partition, _ = partition_and_attempt()
            facts, sums, rules = TaskFacts(partition), self.adder.empty(), self.reader.rules
            for read in self.reader.read(batches, facts, first=False):
                coords = as_reals(rules.enter(read.batch)).values
                persons = np.asarray(read.batch.columns[SIZE].combine_chunks(), dtype=np.int64)
                times = read.times if self.adder.timed else None
                self.adder.add(
                    sums, items_of_rows(coords, read.batch.rows, persons, read.sizes, times, self.metric, self.ends)
                )
            yield _packed(partition, [facts], sums)


class MergeTask:
    """Merge the sums of several partitions, so that the driver gets few."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one merged sum."""
        with without_data(), steady():
            merged = _merged(row for batch in batches for row in batch.to_pylist())
            if merged is not None:
                yield _packed(0, *merged)


def _packed(partition: int, facts: list[TaskFacts], sums: Sums) -> pa.RecordBatch:
    import pyarrow as pa

    told = [each.written() for each in facts]
    packed = zlib.compress(pickle.dumps((told, sums)), 1)
    return pa.record_batch(
        [pa.array([partition], pa.int32()), pa.array([packed], pa.binary())], names=["partition", "sums"]
    )


def _merged(rows: Iterator[dict[str, Any]]) -> tuple[list[TaskFacts], Sums] | None:
    """Return the facts of all tasks and the sum of their sums; None without any."""
    facts: list[TaskFacts] = []
    total: Sums | None = None
    for row in rows:
        told, sums = pickle.loads(zlib.decompress(row["sums"]))
        facts += map(TaskFacts.read, told)
        if total is None:
            total = sums
        else:
            total.merge(sums)
    return None if total is None else (facts, total)


class FrameCrowd(FileCrowd):
    """Items of a DataFrame, which is evaluated twice: once to count, once to add up."""

    rows: FrameRows

    def batches(self, progress: Progress, *, timed: bool) -> Iterator[CrowdBatch]:
        raise NotImplementedError("Items of a DataFrame stay on the workers.")

    def added_up(self, adder: CrowdAdder[S], progress: Progress) -> S:
        """Run the second job: add up on the workers, merge there, and merge the rest in the driver."""
        read, reader = self.rows.sized(self.rows.asked_about)
        task = SumTask(reader, adder, self.metric, self.ends)
        few = self.rows.frame.sparkSession.sparkContext.defaultParallelism
        partial = read.mapInArrow(task, _SUMS).repartition(few, "partition").mapInArrow(MergeTask(), _SUMS)
        with second_job(reader):
            merged = _merged(iter(partial.toArrow().to_pylist()))
        assert merged is not None
        facts, sums = merged
        self.rows.compare(facts)
        progress(1.0)
        return cast(S, sums)
