"""Read the rows of one task: gather them into batches, select them, and add the sizes of their units."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geoveil.answering.person_counts import labels_of
from geoveil.answering.row_rules import Findings, ReadRows, RowRules
from geoveil.errors import GeoveilError, InvalidInput
from geoveil.facts import NONE, RowCounts
from geoveil.geo.formats import Batch
from geoveil.geo.formats.location_file import ROWS
from geoveil.geo.geometries import Index
from geoveil.privacy import stretch_sizes
from geoveil.spark.frame_columns import TIME, FrameColumns
from geoveil.spark.parquet_parts import ParquetParts
from geoveil.text.messages import PYTHON, worded

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import Broadcast

__all__ = ["LABEL", "LARGEST", "SIZE", "PersonTable", "Refusal", "TaskFacts", "TaskRows", "gathered", "without_data"]

#: The columns that persons add to rows: the number of their points, in all and in the largest unit, the label that is
#: released, and a hash of their own label.
SIZE, LARGEST, LABEL = "_geoveil_size", "_geoveil_largest", "_geoveil_label"
_HASH = "_geoveil_hash"
#: The number of times of a batch by which it is told how coarse they are.
_MOMENTS = 1000
#: Odd numbers by which the checksum of rows is mixed.
_MIX = tuple(np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93], dtype=np.uint64))


def gathered(batches: Iterable[pa.RecordBatch], rows: int = ROWS) -> Iterator[pa.Table]:
    """Yield the rows of many small batches in tables of a given number of rows; the last one has the rest."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        if count >= rows:
            table = pa.Table.from_batches(held)
            while count >= rows:
                yield table.slice(0, rows).combine_chunks()
                table, count = table.slice(rows), count - rows
            held = table.to_batches()
    if count:
        yield pa.Table.from_batches(held).combine_chunks()


def label_hashes(labels: pa.Array) -> NDArray[np.uint64]:
    """Return a hash of each label, the same in all processes."""
    import pandas as pd

    return np.asarray(pd.util.hash_array(labels.to_numpy(zero_copy_only=False), categorize=False))


@dataclass(frozen=True)
class PersonTable:
    """The facts about the persons who were counted, for workers."""

    #: Their labels; None if all rows belong to one person.
    labels: pa.Array | None
    #: Arrays by the name of the column that they become.
    columns: dict[str, pa.Array]

    def joined(self, table: pa.Table, by: str | None) -> pa.Table:
        """Return rows with the facts about their persons; null for persons who were not counted."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.labels is None:
            for name, values in self.columns.items():
                table = table.append_column(name, pa.repeat(values[0], len(table)))
            return table
        labels = table[by].combine_chunks()
        if pa.types.is_floating(labels.type):
            # Zero is one number, whatever its sign.
            labels = pc.add(labels, pa.scalar(0, labels.type))
        at = pc.index_in(labels, value_set=self.labels)
        for name, values in self.columns.items():
            table = table.append_column(name, values.take(at))
        return table

    @classmethod
    def of(cls, labels: pa.Array, columns: dict[str, pa.Array]) -> PersonTable:
        """Return the table with hashes of labels."""
        import pyarrow as pa

        return cls(labels, {**columns, _HASH: pa.array(label_hashes(labels))})


@dataclass(frozen=True)
class Refusal:
    """The reason why data was refused on a worker, as of an error, without any value of the data."""

    argument: str
    allowed: str
    remedy: str

    @classmethod
    def of(cls, problem: GeoveilError) -> Refusal:
        """Return the refusal that an error amounts to; its value stays on the worker."""
        if isinstance(problem, InvalidInput):
            return cls(problem.argument, worded(problem.allowed, PYTHON), worded(problem.remedy, PYTHON))
        return cls("df", type(problem).__name__, "Check the data.")


@dataclass
class TaskFacts:
    """The facts that a task reports: to compare the two jobs, and to refuse data."""

    partition: int
    #: The numbers of rows that were removed.
    removed: RowCounts = NONE
    #: The number of points that remain, and of those that are released: not of persons who are skipped.
    points: int = 0
    released: int = 0
    #: The sum of hashes of the points that remain, with their persons and the times that are used, modulo 2^64; the
    #: order does not matter.
    checksum: int = 0
    #: The columns of texts in which a place was found, and the types of geometries.
    placed: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    #: The first and the last time in microseconds, those of every second point (the origins of trips), and some times
    #: of each batch, evenly spaced.
    span: tuple[int, int] | None = None
    origins: tuple[int, int] | None = None
    moments: list[int] = field(default_factory=list)
    #: The number of points in units of each size, by size.
    sizes: dict[int, int] = field(default_factory=dict)
    #: The number of runs of rows of one person, where rows come sorted.
    runs: int = 0
    #: The number of persons who were answered about.
    answered: int = 0
    #: The number of rows that were kept although another one has the same person and time.
    ties: int = 0
    refusal: Refusal | None = None
    #: The file that was written: its name, digest, size in bytes and rows.
    file: dict[str, Any] = field(default_factory=dict)
    #: The number of released points outside the domain of their coordinate system.
    moved: int = 0

    def add(self, batch: Batch, persons: NDArray[np.uint64], removed: RowCounts) -> None:
        """Add a batch of rows that remain, with a hash of the person of each."""
        self.removed += removed
        self.points += len(batch.coords)
        x, y = np.ascontiguousarray(batch.coords).view(np.uint64).T
        mixed = (x * _MIX[0]) ^ (y * _MIX[1]) ^ persons[batch.rows]
        mixed ^= mixed >> np.uint64(29)
        mixed *= _MIX[2]
        mixed ^= mixed >> np.uint64(32)
        self.checksum = (self.checksum + int(mixed.sum(dtype=np.uint64))) % 2**64

    def saw(self, times: Index | None, sizes: Index | None) -> None:
        """Add the times of points, and the sizes of the units that hold them."""
        if times is not None and len(times):
            self.span, self.origins = _widened(self.span, times), _widened(self.origins, times[::2])
            self.moments += times[np.linspace(0, len(times) - 1, min(len(times), _MOMENTS)).astype(np.intp)].tolist()
        if sizes is not None:
            for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
                self.sizes[int(size)] = self.sizes.get(int(size), 0) + int(count)

    def written(self) -> str:
        """Return the facts as a text."""
        told = {**self.__dict__, "removed": astuple(self.removed), "sizes": [*self.sizes.items()]}
        told["refusal"] = None if self.refusal is None else astuple(self.refusal)
        return json.dumps(told)

    @classmethod
    def read(cls, text: str) -> TaskFacts:
        """Return the facts that a text states."""
        told = json.loads(text)
        told |= {"removed": RowCounts(*told["removed"]), "sizes": dict(told["sizes"])}
        told["refusal"] = None if told["refusal"] is None else Refusal(*told["refusal"])
        for name in ("span", "origins"):
            told[name] = None if told[name] is None else tuple(told[name])
        return cls(**told)


def _widened(span: tuple[int, int] | None, times: Index) -> tuple[int, int]:
    """Return the first and the last time of a span and of more times."""
    ends = [int(times.min()), int(times.max()), *(span or ())]
    return min(ends), max(ends)


@contextmanager
def without_data() -> Iterator[None]:
    """Replace any exception on a worker by one whose text holds no value of the data: Spark logs these texts."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
    except GeoveilError as problem:
        refusal = Refusal.of(problem)
        reason = f"{refusal.argument}: must be {refusal.allowed}"
    except Exception as problem:
        reason = type(problem).__name__
    else:
        return
    # Without the other exception, which Spark would log as well.
    raise RuntimeError(f"geoveil: a task failed, with its data withheld: {reason}") from None


@dataclass(frozen=True)
class TaskRows:
    """The reader of a task's rows."""

    rules: RowRules
    #: The columns that are wanted besides the locations.
    columns: list[str]
    #: Whether rows come sorted by person and time.
    sorted: bool = False
    #: The broadcast `PersonTable` of the second pass; None if rows already have its columns.
    persons: Broadcast[PersonTable] | None = None
    #: The files that tasks read for themselves, if they do.
    parts: ParquetParts | None = None

    def read(self, batches: Iterable[pa.RecordBatch], facts: TaskFacts, *, first: bool) -> Iterator[ReadRows]:
        """Yield the rows that remain, with the size of each point's unit where units are stretches of time.

        In the `first` pass, rows are checked as well.
        """
        file = self.rules.file
        assert isinstance(file, FrameColumns)
        file = replace(file, path=Path(f"{file.path.name}, partition {facts.partition}"))
        by, step = self.rules.settings.by, self.rules.settings.step
        units = _Units(self.rules.guarantee.metric.stretch) if self.sorted else None
        thinning = None if step is None else _Thinning(step)
        findings, count = Findings(), 0
        if self.parts is None:
            tables = gathered(batches)
        else:
            tables = self.parts.tables(batches, [*self.columns, *file.located.names])
        for table in tables:
            columns = self.columns
            if self.persons is not None:
                known: PersonTable = self.persons.value
                table, columns = known.joined(table, by), [*columns, *known.columns]
            batch = file.batch_of(count, table, columns)
            count += len(table)
            coded: pa.DictionaryArray | None = None
            if first:
                batch, less, _, coded = self.rules.checked(batch, findings)
                facts.types = sorted({*facts.types, *batch.types})
            else:
                batch, less = self.rules.selected(batch)
            hashes = self._hashes(batch, coded)
            runs = np.zeros(len(batch), dtype=np.int64)
            if units is not None:
                runs = units.runs(batch, by)
            if thinning is not None:
                kept, ties = thinning.kept(runs, _numbers(batch, TIME))
                facts.ties += ties
                less += RowCounts(thinned=int((~kept).sum()))
                batch, runs, hashes, coded = batch.chosen(kept), runs[kept], hashes[kept], None
            for name in _time_names(self.columns):
                # Units depend on times.
                hashes = hashes * _MIX[1] ^ (_numbers(batch, name).view(np.uint64) * _MIX[2])
            facts.add(batch, hashes, less)
            if units is None:
                yield self._rows(batch, None, facts, coded)
            else:
                yield from (self._rows(*each, facts) for each in units.add(batch, runs))
        if units is not None:
            yield from (self._rows(*each, facts) for each in units.rest())
            facts.runs = units.count
        facts.placed = sorted(findings.placed)

    def _hashes(self, batch: Batch, coded: pa.DictionaryArray | None) -> NDArray[np.uint64]:
        """Return a hash of the person of each row."""
        if not self.rules.by:
            return np.zeros(len(batch), dtype=np.uint64)
        if _HASH in batch.columns.column_names:
            return np.asarray(batch.columns[_HASH].combine_chunks().fill_null(0))
        coded = labels_of(batch, self.rules.settings.by).dictionary_encode() if coded is None else coded
        return np.asarray(label_hashes(coded.dictionary)[np.asarray(coded.indices)])

    def _rows(
        self, batch: Batch, sizes: Index | None, facts: TaskFacts, coded: pa.DictionaryArray | None = None
    ) -> ReadRows:
        """Return the rows of persons who are not skipped, with their labels: those to be released, or those known."""
        names = batch.columns.column_names
        if SIZE in names:
            # Persons who were added since the first pass have no size; the number of points will differ and be
            # refused.
            there = np.asarray(batch.columns[SIZE].fill_null(0)) > 0
            if not there.all():
                sizes = None if sizes is None else sizes[there[batch.rows]]
                batch = batch.chosen(there)
        each = [_numbers(batch, name) for name in _time_names(names)]
        # One column has the time of all points of a row.
        times = None if not each else each[0][batch.rows] if len(each) == 1 else np.column_stack(each).ravel()
        labels = batch.columns[LABEL].combine_chunks() if LABEL in names else coded
        facts.released += len(batch.coords)
        none = np.zeros(0, dtype=np.int64)
        return ReadRows(batch.coords, none, batch, none, NONE, sizes, times, labels)


def _time_names(columns: Iterable[str]) -> list[str]:
    """Return the columns that hold times in microseconds, in the order of the places of a row."""
    return sorted((name for name in columns if name.startswith(TIME)), key=lambda name: (len(name), name))


def _numbers(batch: Batch, name: str) -> Index:
    return np.asarray(batch.columns[name].combine_chunks(), dtype=np.int64)


class _Thinning:
    """Finds the first row of each interval in a stream that is sorted by person and time."""

    def __init__(self, step: int) -> None:
        self._step = step
        self._last = (-1, 0, 0)

    def kept(self, runs: Index, times: Index) -> tuple[NDArray[np.bool_], int]:
        """Return which rows are kept, and how many rows with the time of a kept one are not."""
        interval = times // self._step
        run, cell, at = self._last
        new = (np.diff(runs, prepend=run) != 0) | (np.diff(interval, prepend=cell) != 0)
        if not len(runs):
            return new, 0
        # The time of the kept row before each row.
        held = np.concatenate([[at], times[new]])[np.cumsum(new)]
        self._last = int(runs[-1]), int(interval[-1]), int(held[-1])
        return new, int((~new & (times == held)).sum())


class _Units:
    """The number of points in the largest stretch of time around each point of a sorted stream, in bounded memory.

    A batch is held until rows of another person, or rows more than a stretch later, have come; of the rows before it,
    only the times of the last stretch are held. So the points of every stretch are counted exactly, and no person is
    in memory as a whole.
    """

    def __init__(self, stretch: int | None) -> None:
        self._stretch = stretch
        self._label: object = None
        self._run = 0
        self._before = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self._held: deque[tuple[Batch, Index, Index]] = deque()

    @property
    def count(self) -> int:
        """The number of runs of rows so far. It is the number of persons, unless a person has several runs."""
        return self._run

    def runs(self, batch: Batch, by: str | None) -> Index:
        """Return a number for the person of each row, which grows from one person to the next."""
        if by is None or not len(batch):
            return np.zeros(len(batch), dtype=np.int64)
        coded = labels_of(batch, by).dictionary_encode()
        codes = np.asarray(coded.indices)
        new = np.diff(codes, prepend=codes[0]) != 0
        new[0] = coded.dictionary[int(codes[0])].as_py() != self._label
        runs = self._run + np.cumsum(new)
        self._label, self._run = coded.dictionary[int(codes[-1])].as_py(), int(runs[-1])
        return np.asarray(runs, dtype=np.int64)

    def add(self, batch: Batch, runs: Index) -> Iterator[tuple[Batch, Index | None]]:
        """Add a batch, and yield those whose units are known by now."""
        if self._stretch is None:
            yield batch, None
            return
        if not len(batch):
            return
        self._held.append((batch, runs[batch.rows], _numbers(batch, TIME)[batch.rows]))
        while len(self._held) > 1 and self._is_known(*self._held[0][1:]):
            yield self._sized()

    def rest(self) -> Iterator[tuple[Batch, Index | None]]:
        """Yield the batches that are left at the end of the stream."""
        while self._held:
            yield self._sized()

    def _is_known(self, runs: Index, times: Index) -> bool:
        assert self._stretch is not None
        _, last_runs, last_times = self._held[-1]
        return bool(last_runs[-1] != runs[-1] or last_times[-1] > times[-1] + self._stretch)

    def _sized(self) -> tuple[Batch, Index]:
        assert self._stretch is not None
        before = len(self._before[0])
        runs = np.concatenate([self._before[0], *(held[1] for held in self._held)])
        times = np.concatenate([self._before[1], *(held[2] for held in self._held)])
        batch, own, _ = self._held.popleft()
        end = before + len(own)
        sizes = stretch_sizes(times, self._stretch, runs - runs[0])[before:end]
        near = slice(None, end)
        late = (runs[near] == runs[end - 1]) & (times[near] >= times[end - 1] - self._stretch)
        self._before = runs[near][late], times[near][late]
        return batch, sizes
