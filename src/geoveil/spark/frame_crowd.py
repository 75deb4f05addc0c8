"""The crowd of a DataFrame: workers add up, and the driver draws noise once."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Progress
from geoveil.answering.crowd_sources import CrowdAdder, CrowdBatch, FileCrowd, items_of_rows
from geoveil.arithmetic import steady
from geoveil.geo.geometries import Index
from geoveil.noise import as_reals
from geoveil.privacy import Metric
from geoveil.spark.frame_points import FramePoints, second_job
from geoveil.spark.task_rows import SIZE, TaskFacts, TaskRows, without_data
from geoveil.spark.tasks import partition_and_attempt

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FrameCrowd"]

#: The columns of sums on their way to the driver.
_SUMS = "partition int, sums binary"


@dataclass(frozen=True)
class SumTask:
    """Add up the items of a partition.

    Parameters
    ----------
    reader : TaskRows
        The reader of the rows.
    adder : CrowdAdder
        Adds them up.
    metric : Metric
        The metric of the units.
    ends : int
        The number of places of an item.
    """

    reader: TaskRows
    adder: CrowdAdder
    metric: Metric
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


def _packed(partition: int, facts: list[TaskFacts], sums: Any) -> pa.RecordBatch:
    import pyarrow as pa

    told = [each.written() for each in facts]
    packed = zlib.compress(pickle.dumps((told, sums)), 1)
    return pa.record_batch(
        [pa.array([partition], pa.int32()), pa.array([packed], pa.binary())], names=["partition", "sums"]
    )


def _merged(rows: Iterator[dict[str, Any]]) -> tuple[list[TaskFacts], Any] | None:
    """Return the facts of all tasks and the sum of their sums; None without any."""
    facts: list[TaskFacts] = []
    total: Any = None
    for row in rows:
        told, sums = pickle.loads(zlib.decompress(row["sums"]))
        facts += map(TaskFacts.read, told)
        if total is None:
            total = sums
        else:
            total.merge(sums)
    return None if total is None else (facts, total)


class FrameCrowd(FileCrowd):
    """Items of a DataFrame, which is evaluated twice: once to count, once to add up.

    Parameters
    ----------
    reader : FramePoints
        Its rows; `count` was called.
    trips, skipped
        As of `FileCrowd`.
    """

    reader: FramePoints

    def __init__(self, reader: FramePoints, *, trips: bool = False, skipped: NDArray[np.bool_] | None = None) -> None:
        super().__init__(reader, trips=trips, skipped=skipped)

    @property
    def all_sizes(self) -> tuple[Index, Index]:
        """The sizes of the largest units of items, and how many items have each."""
        if self.reader.largest is None:
            return super().all_sizes
        found: dict[int, int] = {}
        for facts in self.reader.counted:
            for size, count in facts.sizes.items():
                found[size] = found.get(size, 0) + count
        return np.array(sorted(found)), np.array([found[size] for size in sorted(found)])

    @property
    def span(self) -> tuple[int, int]:
        span = self.reader.time_span
        assert span is not None
        return span

    def batches(self, progress: Progress, *, timed: bool) -> Iterator[CrowdBatch]:
        raise NotImplementedError("Items of a DataFrame stay on the workers.")

    def added_up(self, adder: CrowdAdder, progress: Progress) -> Any:
        """Run the second job: add up on the workers, merge there, and merge the rest in the driver."""
        rows, reader = self.reader.sized_rows(self.reader.asked_about)
        task = SumTask(reader, adder, self.reader.guarantee.metric, self._each)
        few = self.reader.frame.sparkSession.sparkContext.defaultParallelism
        partial = rows.mapInArrow(task, _SUMS).repartition(few, "partition").mapInArrow(MergeTask(), _SUMS)
        with second_job(reader):
            merged = _merged(iter(partial.toArrow().to_pylist()))
        assert merged is not None
        facts, sums = merged
        self.reader.compare(facts)
        progress(1.0)
        return sums

    def without(self, skipped: NDArray[np.bool_]) -> FrameCrowd:
        return FrameCrowd(self.reader, trips=self.ends == 2, skipped=skipped)
