"""The tasks that run on workers: count the persons of a partition, and write its rows with noise.

A task is a function from Arrow batches to Arrow batches. It draws from a keystream that it makes for itself, with a
key from the operating system of its worker: no state of randomness is sent along, inherited by a fork, or used by two
attempts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from geoveil.answering.person_counts import PersonCounts
from geoveil.answering.row_rules import PointNoise, ReadRows, RowRules
from geoveil.errors import GeoveilError
from geoveil.geo.formats import Batch
from geoveil.geo.geometries import Index
from geoveil.host.arithmetic import steady
from geoveil.noise import Entropy, Experiment, Source
from geoveil.noise.keystream import Keystream
from geoveil.queries import Points, UnitSizes
from geoveil.spark.destination import Destination
from geoveil.spark.task_rows import LARGEST, SIZE, Refusal, TaskFacts, TaskRows, without_data

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COUNTED", "CountTask", "NoiseByRow", "SeededStart", "WriteTask", "own_source", "partition_and_attempt"]

#: The columns of the first pass: a person, their number of points, the number in their largest unit; or the task's
#: facts.
COUNTED = ("person", "points", "largest", "facts")
#: The number of persons whose counts a task holds before it passes them on.
_PERSONS = 2**20


def partition_and_attempt() -> tuple[int, int]:
    """Return the number of this task's partition, and of this attempt among all attempts of all tasks."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context.partitionId(), context.taskAttemptId()


def own_source(seeded: SeededStart | None, partition: int) -> Source:
    """Return the source of randomness of this attempt: a new keystream, or a seeded one for tests."""
    return Entropy(Keystream().read) if seeded is None else seeded.source(partition)


@dataclass(frozen=True)
class SeededStart:
    """The start of each partition in a seeded stream, for tests and experiments.

    The stream is laid over the partitions in their order: that of a partition begins after the normal variables of all
    points before it, as if the partitions were one file.
    """

    #: The generator, as it is before the first point.
    generator: np.random.Generator
    #: The number of points of each partition.
    points: tuple[int, ...]

    def source(self, partition: int) -> Source:
        """Return the stream of a partition."""
        source = Experiment(self.generator)
        before = 2 * sum(self.points[:partition])
        for start in range(0, before, 2**20):
            source.normal(min(2**20, before - start))
        return source


@dataclass(frozen=True)
class CountTask:
    """Check the rows of a partition and count the points of each person."""

    reader: TaskRows
    #: The type of the labels of persons.
    label: pa.DataType

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the persons of a partition with their numbers of points, and then the facts of the task."""
        import pyarrow as pa

        with without_data(), steady():
            facts = TaskFacts(partition_and_attempt()[0])
            try:
                yield from self._counted(batches, facts)
            except GeoveilError as problem:
                # Reported instead of raised: Spark would log the value and try again.
                facts.refusal = Refusal.of(problem)
                for _ in batches:
                    pass
            yield self._batch(pa.nulls(1, self.label), pa.nulls(1, pa.int64()), None, facts.written())

    def _counted(self, batches: Iterable[pa.RecordBatch], facts: TaskFacts) -> Iterator[pa.RecordBatch]:
        by = self.reader.rules.settings.by
        people, held = PersonCounts(by), 0
        for read in self.reader.read(batches, facts, first=True):
            coded = people.labels(read.batch).dictionary_encode() if read.labels is None else read.labels
            codes = np.asarray(coded.indices)[read.batch.rows]
            counts = np.bincount(codes, minlength=len(coded.dictionary))
            facts.saw(read.times, read.sizes)
            if read.sizes is not None:
                largest = np.zeros(len(counts), dtype=np.int64)
                np.maximum.at(largest, codes, read.sizes)
                yield self._batch(coded.dictionary, counts, largest, None)
                continue
            people.add(coded.dictionary, counts)
            held += len(counts)
            if held > _PERSONS:
                yield self._batch(people.persons, people.sizes, None, None)
                people, held = PersonCounts(by), 0
        if held:
            yield self._batch(people.persons, people.sizes, None, None)

    def _batch(self, labels: pa.Array, points: Index, largest: Index | None, facts: str | None) -> pa.RecordBatch:
        import pyarrow as pa

        rows = len(labels)
        return pa.record_batch(
            [
                labels.cast(self.label),
                pa.array(points, pa.int64()),
                pa.nulls(rows, pa.int64()) if largest is None else pa.array(largest, pa.int64()),
                pa.array([facts] * rows, pa.string()),
            ],
            names=[*COUNTED],
        )


@dataclass
class NoiseByRow:
    """The noise of rows by the number of points that their person has, computed once for each number."""

    rules: RowRules
    _queries: dict[tuple[int, int], Points] = field(default_factory=dict)

    def of(self, batch: Batch) -> tuple[PointNoise, Index]:
        """Return the noise of a batch, and the position in it of each row."""
        sizes, size = _coded(batch, SIZE)
        units, unit = _coded(batch, LARGEST) if LARGEST in batch.columns.column_names else ([0], 0)
        # Positions in lists that are no longer than the batch: their product fits into 64 bits, whatever the sizes.
        pairs, which = np.unique(size * len(units) + unit, return_inverse=True)
        queries = [self._query(sizes[pair // len(units)], units[pair % len(units)]) for pair in pairs.tolist()]
        return PointNoise(queries, self.rules.plane.area), np.asarray(which, dtype=np.int64)

    def _query(self, n: int, largest: int) -> Points:
        if (n, largest) not in self._queries:
            self._queries[n, largest] = self.rules.query(n, UnitSizes(largest) if largest else None)
        return self._queries[n, largest]


def _coded(batch: Batch, name: str) -> tuple[list[int], Index]:
    """Return the numbers that a column has, and the position of each row's number among them."""
    coded = batch.columns[name].combine_chunks().dictionary_encode()
    return coded.dictionary.to_pylist(), np.asarray(coded.indices, dtype=np.int64)


@dataclass(frozen=True)
class WriteTask:
    """Add noise to the rows of a partition, and write them to a file of this attempt."""

    reader: TaskRows
    destination: Destination
    #: Whether persons get random labels.
    pseudonyms: bool
    #: A seeded stream, for tests and experiments.
    seeded: SeededStart | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write a file, and yield the facts of the task."""
        import pyarrow as pa

        with without_data(), steady():
            partition, attempt = partition_and_attempt()
            facts, source = TaskFacts(partition), own_source(self.seeded, partition)
            rows = 0

            def parts() -> Iterator[Batch]:
                nonlocal rows
                for read in reads:
                    batch, beyond = self._released(read, noise, source)
                    facts.moved += beyond
                    rows += len(batch)
                    yield batch

            rules, noise = self.reader.rules, NoiseByRow(self.reader.rules)
            every = self.reader.read(batches, facts, first=False)
            reads: Iterator[ReadRows] = (read for read in every if len(read.batch))
            if (first := next(reads, None)) is not None:
                reads = chain([first], reads)
                with self.destination.attempt(partition, attempt) as (stream, described):
                    rules.form.write(stream, parts(), rules.schema(pseudonyms=self.pseudonyms))  # type: ignore[arg-type]
                facts.file = {**described, "rows": rows}
            yield pa.record_batch([pa.array([facts.written()])], names=["facts"])

    def _released(self, read: ReadRows, noise: NoiseByRow, source: Source) -> tuple[Batch, int]:
        rules = self.reader.rules
        noises, which = noise.of(read.batch)
        batch, beyond = rules.release(read, noises, which, source)
        return replace(batch, columns=batch.columns.select([*rules.kept, *rules.added])), beyond
