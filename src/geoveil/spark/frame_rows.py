"""Rows of a DataFrame: checked and counted in a first job, and read again in a second."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from geoveil._types import Progress
from geoveil.answering.counted_rows import Counted, CountedRows
from geoveil.answering.person_counts import PersonCounts
from geoveil.answering.row_rules import Findings
from geoveil.answering.row_sample import RowSample
from geoveil.errors import FileUnavailable, GeoveilError, InvalidData, InvalidFile, InvalidParameter, Message
from geoveil.facts import NONE, RowCounts
from geoveil.geo.disclosure import check_kept
from geoveil.geo.geometries import Index
from geoveil.spark.destination import Destination
from geoveil.spark.frame_columns import TIME, FrameColumns, check_times, time_of
from geoveil.spark.parquet_parts import ParquetParts
from geoveil.spark.task_rows import LABEL, LARGEST, SIZE, PersonTable, TaskFacts, TaskRows
from geoveil.spark.tasks import COUNTED, CountTask

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import Broadcast
    from pyspark.sql import Column, DataFrame

__all__ = ["FrameCounted", "FrameRows", "collected", "column", "second_job"]

#: The largest number of persons whose sizes are sent to every worker; with more, rows and sizes are joined in a
#: shuffle.
_BROADCAST = 500_000
#: The collation with which texts are equal if their bytes are.
_BINARY = "UTF8_BINARY"
#: The share of the first job in the whole work.
_FIRST_JOB = 0.35


class _Withheld:
    """A placeholder for a value that did not leave its worker."""

    def __repr__(self) -> str:
        return "(a value that is not shown)"


def column(name: str) -> Column:
    """Return a column by its exact name."""
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")


@dataclass
class FrameCounted(Counted):
    """What the first job finds."""

    #: What its tasks saw, in the order of the partitions.
    tasks: list[TaskFacts] = field(default_factory=list)
    #: The number of points in the largest unit of each person.
    units: Index | None = None

    @property
    def largest(self) -> Index | None:
        return self.units


@dataclass(frozen=True, eq=False)
class FrameRows(CountedRows):
    """The rows of a DataFrame, which `count` counts in a first job."""

    counted: FrameCounted
    frame: DataFrame = field(kw_only=True)
    #: Whether the time of each row is wanted, besides for units and thinning.
    timed: bool = field(kw_only=True, default=False)
    #: Whether noise is added to single points, rather than to answers about persons or about all of them.
    points: bool = field(kw_only=True, default=False)
    #: Whether tasks of the second job get whole persons, and the column that names rows in their answers.
    whole: bool = field(kw_only=True, default=False)
    label: str | None = field(kw_only=True, default=None)

    @property
    def file(self) -> FrameColumns:
        """The columns of the DataFrame."""
        assert isinstance(self.rules.file, FrameColumns)
        return self.rules.file

    @property
    def in_order(self) -> bool:
        """Whether rows must be sorted by person and time."""
        return self.rules.guarantee.metric.stretch is not None or self.rules.settings.step is not None

    @property
    def asked_about(self) -> list[str]:
        """The columns that a question reads besides the locations, if no column is released."""
        return [*dict.fromkeys([*self.rules.asked_about, *([] if self.label is None else [self.label])])]

    @property
    def looked_at(self) -> list[str]:
        """The columns that the first job reads besides the locations."""
        return [*dict.fromkeys([*self.asked_about, *self.rules.texts, *self.rules.named])]

    @property
    def _has_time(self) -> bool:
        return self.in_order or self.timed

    @property
    def _time_names(self) -> list[str]:
        """The names of the columns of times in microseconds: one, or one for each place of a row."""
        return [TIME, *(f"{TIME}_{place}" for place in range(1, len(self.rules.times)))]

    @property
    def _parts(self) -> ParquetParts | None:
        """The files that workers read directly; None if rows must be sorted or joined with many persons."""
        few = not self.counted.tasks or len(self.people.persons) <= _BROADCAST
        return self.file.parts if few and not self._has_time and not self.whole else None

    def chosen(self, names: Sequence[str]) -> DataFrame:
        """Return these columns of all rows, with the locations, and the times in microseconds if they are needed."""
        if self._parts is not None:
            return self._parts.frame(self.frame.sparkSession)
        chosen = [column(name) for name in dict.fromkeys([*names, *self.file.located.names])]
        if self._has_time:
            named = zip(self._time_names, self.rules.times, strict=True)
            chosen += [time_of(self.frame, name)[0].alias(alias) for alias, name in named]
        return self.frame.select(*chosen)

    def _sorted(self, rows: DataFrame) -> DataFrame:
        """Return rows in tasks that hold all rows of their persons, sorted by person and time, if that is needed."""
        if self.in_order:
            return self.together(rows, [TIME])
        # A join sorts by the true labels. Whole persons are brought together in the second job alone.
        return self.together(rows, []) if LABEL in rows.columns and not self.whole else rows

    def together(self, rows: DataFrame, times: Sequence[str]) -> DataFrame:
        """Return rows in tasks that hold all rows of their persons, sorted by person and times.

        A release shows which task a person is in and in which order. With pseudonyms, only these decide both.
        """
        labels = [column(name) for name in (LABEL,) if name in rows.columns]
        people = [*labels, *(column(name) for name in self.rules.by)]
        together = rows.repartition(*(labels or people)) if people else rows.coalesce(1)
        return together.sortWithinPartitions(*people, *(column(name) for name in times))

    def reader(self, names: Sequence[str], persons: Broadcast[PersonTable] | None = None) -> TaskRows:
        """Return how tasks read rows with these columns."""
        columns = [*names, *(self._time_names if self._has_time else [])]
        return TaskRows(self.rules, columns, self.in_order, persons, self._parts)

    def span(self, *, each: int = 1) -> tuple[int, int] | None:
        assert each in (1, 2)
        told = (facts.span if each == 1 else facts.origins for facts in self.counted.tasks)
        spans = [span for span in told if span is not None]
        return (min(first for first, _ in spans), max(last for _, last in spans)) if spans else None

    def unit_sizes(self, each: int) -> tuple[Index, Index] | None:
        if self.counted.largest is None:
            return None
        counts: dict[int, int] = {}
        for facts in self.counted.tasks:
            for size, count in facts.sizes.items():
                counts[size] = counts.get(size, 0) + count
        return np.array(sorted(counts)), np.array([counts[size] for size in sorted(counts)])

    def count(self, progress: Progress) -> Self:
        """Run the first job: check all rows, and count each person's points."""
        self.check_askable()
        self._check_head()
        labels, points, largest, tasks = self._persons()
        self._check_refused(tasks)
        stretch = self.rules.guarantee.metric.stretch
        people = PersonCounts(self.rules.settings.by)
        people.add(labels, points)
        counted = replace(
            self.counted,
            people=people,
            removed=sum((facts.removed for facts in tasks), start=NONE),
            found=Findings({name for facts in tasks for name in facts.placed}),
            tasks=tasks,
            units=largest if stretch is not None else None,
        )
        rows = replace(self, counted=counted)
        rows.check_runs(tasks, charged="nothing")
        counted.check(self.rules, {kind for facts in tasks for kind in facts.types})
        if stretch is not None and (span := rows.span()) is not None:
            name, moments = self.rules.times[0], np.array([moment for facts in tasks for moment in facts.moments])
            check_times(span, moments, time_of(self.frame, name)[1], stretch, name)
        progress(_FIRST_JOB)
        return rows

    def check_askable(self) -> None:
        """Refuse questions that a cluster cannot answer in bounded memory, before any job runs."""
        self._check_labels()
        guarantee, settings = self.rules.guarantee, self.rules.settings
        if self.points and self.rules.together:
            allowed = "a choice with independent noise on each point: here a person's points share one radius"
            remedy = Message('Give {rho}, or {protect:point}, or a length of time such as {protect:"1 day"}.')
            both = self.rules.method == "both"
            name, given = ("method", "both") if both else ("epsilon", guarantee.budget)
            raise InvalidParameter(name, given, allowed, remedy)
        if self.in_order and self.file.points_in_a_row > 1:
            allowed = "left out, for rows with an origin and a destination"
            split = "Make two rows of each, one for each place, with a column of times."
            thinned = settings.thin is not None
            told = settings.thin if thinned else str(guarantee.metric)
            raise InvalidParameter("thin" if thinned else "protect", told, allowed, split)

    def _check_labels(self) -> None:
        """Refuse labels of persons that Spark compares in another way than by their bytes or numbers."""
        from pyspark.sql import types as T

        for name in self.rules.by:
            kind = self.frame.schema[name].dataType
            if getattr(kind, "collation", _BINARY) != _BINARY:
                allowed = f"a column whose texts are compared byte by byte; {name} has a collation"
                remedy = f"Give equal persons equal texts, and use F.collate({name!r}, {_BINARY!r})."
                raise InvalidParameter("person", name, allowed, remedy)
            if isinstance(kind, T.TimestampType):
                allowed = f"a column of texts or numbers; {name} has times, which depend on the session's time zone"
                raise InvalidParameter("person", name, allowed, f"Convert it: F.unix_micros({name!r}).")

    def _check_head(self) -> None:
        """Compare the columns that the owner named with the locations, in the first rows."""
        if not self.rules.named:
            return
        sample = RowSample(self.rules.named)
        batch = self.file.batch_of(0, self.file.head, [*self.file.columns])
        sample.add(batch.chosen(batch.present()))
        check_kept(sample.columns(), sample.places, self.rules.keep, self.rules.plane)

    def _persons(self) -> tuple[pa.Array, Index, Index | None, list[TaskFacts]]:
        """Run a job that counts, and return labels, numbers of points, largest units, and the facts of all tasks."""
        import pyarrow as pa
        from pyspark.sql import functions as F
        from pyspark.sql import types as T

        label, kind = pa.int64(), T.LongType()
        if self.rules.by:
            label, kind = self.file.columns[self.rules.by[0]], self.frame.schema[self.rules.by[0]].dataType
        whole = T.LongType()
        types = zip(COUNTED, (kind, whole, whole, T.StringType()), strict=True)
        schema = T.StructType([T.StructField(name, each) for name, each in types])
        rows = self._sorted(self.chosen(self.looked_at))
        counted = rows.mapInArrow(CountTask(self.reader(self.looked_at), label), schema)
        person, points, most, told = COUNTED
        # Tasks that run again give the same rows, and a shuffle takes those of one attempt.
        added = counted.groupBy(person).agg(
            F.sum(points).alias(points), F.max(most).alias(most), F.collect_list(told).alias(told)
        )
        table = added.toArrow().sort_by(person).combine_chunks()
        here = table[person].is_valid()
        facts = [
            TaskFacts.read(text) for row in table.filter(table[person].is_null())[told].to_pylist() for text in row
        ]
        people = table.filter(here)
        labels = people[person].combine_chunks()
        if pa.types.is_large_string(labels.type):
            labels = labels.cast(pa.string())
        counts = np.asarray(people[points].combine_chunks(), dtype=np.int64)
        largest = np.asarray(people[most].combine_chunks().fill_null(0), dtype=np.int64)
        return labels, counts, largest, sorted(facts, key=lambda each: each.partition)

    def _check_refused(self, tasks: Sequence[TaskFacts]) -> None:
        """Raise the error of a task that refused data, without the refused value."""
        for facts in tasks:
            if facts.refusal is not None:
                refusal = facts.refusal
                raise InvalidData(refusal.argument, _Withheld(), refusal.allowed, refusal.remedy, charged="nothing")
        if ties := sum(facts.ties for facts in tasks):
            allowed = f"left out where a person has several rows at the same time, as {ties:,} rows have"
            columns = [*self.rules.by, *self.rules.times]
            remedy = f"A DataFrame has no order that tells which comes first: use dropDuplicates({columns})."
            raise InvalidParameter("thin", self.rules.settings.thin, allowed, remedy, charged="nothing")

    def sized(self, names: Sequence[str]) -> tuple[DataFrame, TaskRows]:
        """Return the rows for the second job, and the reader that adds the facts about their persons.

        Few persons are sent to every worker; many are joined with the rows in a shuffle. Rows that are sorted by
        pseudonyms must be joined with them first.
        """
        import pyarrow as pa
        from pyspark.sql import functions as F

        rows, columns, by = self.chosen(names), {SIZE: pa.array(self.sizes)}, self.people.by
        if self.counted.largest is not None:
            columns[LARGEST] = pa.array(self.counted.largest)
        if self.pseudonyms is not None:
            columns[LABEL] = pa.array(self.pseudonyms, pa.string())
        spark = self.frame.sparkSession
        few = len(self.people.persons) <= _BROADCAST
        if by is None or (few and not ((self.in_order or self.whole) and self.pseudonyms is not None)):
            table = PersonTable(None, columns) if by is None else PersonTable.of(self.people.persons, columns)
            return self._sorted(rows), self.reader(names, spark.sparkContext.broadcast(table))
        key = "_geoveil_person"
        people = spark.createDataFrame(pa.table({key: self.people.persons, **columns}))
        people = people.withColumn(key, column(key).cast(self.frame.schema[by].dataType))
        joined = rows.join(F.broadcast(people) if few else people, column(by) == column(key), "left").drop(key)
        return self._sorted(joined), self.reader([*names, *columns])

    def compare(self, facts: Sequence[TaskFacts]) -> None:
        """Refuse to release rows that differ from those that were counted and charged for."""
        same = _total(facts) == _total(self.counted.tasks)
        if not same or sum(each.released for each in facts) != int(self.sizes.sum()):
            raise self.differs("the rows")
        self.check_runs(facts)

    def check_runs(self, facts: Sequence[TaskFacts], **more: Any) -> None:
        """Refuse rows of a person that do not come one after another, where tasks take them as such."""
        runs = sum(each.runs for each in facts)
        if self.rules.by and runs and runs != len(self.people.persons):
            allowed = f"a column with {len(self.people.persons):,} persons, each of whose rows come together"
            remedy = "Spark sorts these labels in another way than geoveil compares them: convert them to numbers."
            raise InvalidData("person", f"{self.people.by}, with {runs:,} runs of rows", allowed, remedy, **more)

    def differs(self, what: str) -> InvalidFile:
        """Return the error of a DataFrame that gives other rows in the second job."""
        remedy = (
            "A DataFrame must give the same rows each time it is evaluated: write it to Parquet first if it is made "
            "with random numbers or limits, or if its source changes."
        )
        allowed = "the same in both jobs: nothing was released"
        return InvalidFile(self.file.path.name, f"{what} differ", allowed, remedy)


@contextmanager
def second_job(reader: TaskRows) -> Iterator[None]:
    """Run a block as the second job; convert failures to errors of geoveil, and free the workers' memory."""
    try:
        yield
    except GeoveilError:
        raise
    except Exception as problem:
        remedy = "The error of Spark is the cause of this one."
        raise FileUnavailable(reader.rules.file.path.name, "the second job failed", "a job", remedy) from problem
    finally:
        if reader.persons is not None:
            reader.persons.destroy()


class WritingTask(Protocol):
    """A task that writes a file, and yields its facts."""

    @property
    def reader(self) -> TaskRows:
        """The reader of its rows."""

    @property
    def destination(self) -> Destination:
        """Where it writes."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]: ...


def collected(rows: DataFrame, task: WritingTask) -> list[TaskFacts]:
    """Run a task on each partition in one job, and return what each task reports, in the order of the partitions.

    The tasks are those of the last stage, with no shuffle after it. Spark accepts one result for each partition, that
    of the first attempt to succeed, and drops those of all others.
    """
    context = rows.sparkSession.sparkContext
    context.addJobTag(task.destination.tag)
    try:
        with second_job(task.reader):
            table = rows.mapInArrow(task, "facts string").toArrow()
    finally:
        context.removeJobTag(task.destination.tag)
    facts = [TaskFacts.read(text) for text in table["facts"].to_pylist()]
    if len({each.partition for each in facts}) != len(facts):
        raise RuntimeError("Spark returned two results of one partition.")
    return sorted(facts, key=lambda each: each.partition)


def _total(facts: Iterable[TaskFacts]) -> tuple[int, int, RowCounts]:
    """Return the totals of all tasks: points, the sum of checksums, and the rows that were removed."""
    each = [*facts]
    removed = sum((one.removed for one in each), start=NONE)
    return sum(one.points for one in each), sum(one.checksum for one in each) % 2**64, removed
