"""Points of a DataFrame: counted in a first job, charged in the driver, and written with noise in a second job."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil._types import Progress
from geoveil.answering.charging import Charger, Receipt
from geoveil.answering.person_counts import PersonCounts
from geoveil.answering.pipeline import answer
from geoveil.answering.point_rows import PointRows
from geoveil.answering.row_sample import RowSample
from geoveil.answering.streaming import FilePoints, FileRelease, Written, no_locations
from geoveil.certificates import Certificate
from geoveil.errors import (
    FileUnavailable,
    GeoveilError,
    InvalidData,
    InvalidFile,
    InvalidParameter,
    LedgerError,
    Message,
)
from geoveil.facts import Unchanged
from geoveil.geo.columns import distinct
from geoveil.geo.disclosure import check_kept, unchanged_columns
from geoveil.geo.geometries import Index
from geoveil.geo.row_selection import NONE, RowCounts
from geoveil.noise import Experiment, Source
from geoveil.spark.destination import Destination, Part
from geoveil.spark.frame_columns import TIME, FrameColumns, first_rows, time_of
from geoveil.spark.parquet_parts import ParquetParts
from geoveil.spark.task_rows import LABEL, LARGEST, SIZE, PersonTable, TaskFacts, TaskRows
from geoveil.spark.tasks import COUNTED, CountTask, SeededStart, WriteTask

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import Column, DataFrame

__all__ = ["FramePoints", "PreparedFrame", "SparkRelease", "collected", "column", "second_job"]

#: The largest number of persons whose sizes are sent to every worker; with more, rows and sizes are joined in a
#: shuffle.
_BROADCAST = 500_000
#: The collation with which texts are equal if their bytes are.
_BINARY = "UTF8_BINARY"
#: The number of seconds to wait for tasks that were not accepted.
_PATIENCE = 30.0
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


@dataclass(frozen=True, eq=False, repr=False)
class SparkRelease(FileRelease):
    """A release of points that Spark wrote; its value is a DataFrame that reads what was written.

    Parameters
    ----------
    path : str
        The folder of the released files.
    """

    path: str = field(kw_only=True)

    @property
    def file_name(self) -> str:
        return self.path.rpartition("/")[2]

    def in_memory(self) -> Any:
        from geoveil.answering.loading import load

        return load(self.path)


@dataclass(kw_only=True)
class FramePoints(FilePoints):
    """A release of all points of a DataFrame: `count` is the first job, `draw` the second."""

    frame: DataFrame
    destination: Destination | None = None
    #: Whether the time of each row is wanted, besides for units and thinning.
    timed_rows: bool = False
    #: Whether one answer is about all persons, so that no noise is added to single points.
    crowd: bool = False
    #: What the tasks of the first job saw, in the order of the partitions.
    counted: list[TaskFacts] = field(default_factory=list)
    _largest: Index | None = None
    #: The certificate of an earlier run with the same key.
    _recorded: Certificate | None = None

    @property
    def largest(self) -> Index | None:
        return self._largest

    @property
    def in_order(self) -> bool:
        """Whether rows must be sorted by person and time."""
        return self.guarantee.metric.stretch is not None or self.thin is not None

    @property
    def by_person(self) -> bool:
        """Whether tasks of the second job get the rows of one person after those of another."""
        return self.in_order

    @property
    def rules(self) -> PointRows:
        """The rules that are sent to workers, without persons and data."""
        return PointRows(
            file=self.file,
            form=self.form,
            plane=self.plane,
            guarantee=self.guarantee,
            method=self.method,
            people=PersonCounts(self.people.by),
            where=self.where,
            outside=self.outside,
            missing=self.missing,
            kept=self.kept,
            times=self.times,
        )

    @property
    def asked_about(self) -> list[str]:
        """The columns that a question reads besides the locations, if no column is released."""
        return [*dict.fromkeys([*self.by, *self.filtered_by, *self.times])]

    @property
    def _looked_at(self) -> list[str]:
        """The columns that the first job reads besides the locations."""
        return [*dict.fromkeys([*self.asked_about, *self.texts, *self.named])]

    @property
    def _released(self) -> list[str]:
        """The columns that the second job reads besides the locations."""
        return [*dict.fromkeys([*self.kept, *self.asked_about])]

    @property
    def _has_time(self) -> bool:
        return self.in_order or self.timed_rows

    @property
    def _parts(self) -> ParquetParts | None:
        """The files that workers read directly; None if rows must be sorted or joined with many persons."""
        few = not self.counted or len(self.people.persons) <= _BROADCAST
        return self.file.parts if isinstance(self.file, FrameColumns) and few and not self._has_time else None

    def _chosen(self, names: Sequence[str]) -> DataFrame:
        """Return these columns of all rows, with the locations, and the times in microseconds if they are needed."""
        assert isinstance(self.file, FrameColumns)
        if self._parts is not None:
            return self._parts.frame(self.frame.sparkSession)
        chosen = [column(name) for name in dict.fromkeys([*names, *self.file.located.names])]
        if self._has_time:
            chosen.append(time_of(self.frame, self.times[0], self.guarantee.metric.stretch).alias(TIME))
        return self.frame.select(*chosen)

    def _ordered(self, rows: DataFrame) -> DataFrame:
        """Return rows in tasks that hold all rows of their persons, sorted by person and time, if that is needed."""
        if self.in_order:
            return self._together(rows, [TIME])
        # A join sorts by the true labels.
        return self._together(rows, []) if LABEL in rows.columns else rows

    def _together(self, rows: DataFrame, times: Sequence[str]) -> DataFrame:
        """Return rows in tasks that hold all rows of their persons, sorted by person and times.

        A release shows which task a person is in and in which order. With pseudonyms, only these decide both.
        """
        labels = [column(name) for name in (LABEL,) if name in rows.columns]
        people = [*labels, *(column(name) for name in self.by)]
        together = rows.repartition(*(labels or people)) if people else rows.coalesce(1)
        return together.sortWithinPartitions(*people, *(column(name) for name in times))

    def reader(self, names: Sequence[str], persons: Any = None) -> TaskRows:
        """Return how tasks read rows with these columns."""
        columns = [*names, *([TIME] if self._has_time else [])]
        stretch = self.guarantee.metric.stretch
        return TaskRows(self.rules, columns, self.in_order, self.thin, stretch, persons, self._parts)

    @property
    def time_span(self) -> tuple[int, int] | None:
        spans = [facts.span for facts in self.counted if facts.span is not None]
        return (min(first for first, _ in spans), max(last for _, last in spans)) if spans else None

    def count(self, progress: Progress, *, every_column: bool = False) -> None:
        """Run the first job: check all rows, and count each person's points."""
        self._check_askable()
        self._check_head()
        labels, points, largest, self.counted = self._persons()
        self._check_counted()
        self.people.add(labels, points)
        self._largest = largest if self.guarantee.metric.stretch is not None else None
        self.rows_removed = sum((facts.removed for facts in self.counted), start=NONE)
        self.placed.update(name for facts in self.counted for name in facts.placed)
        self.form.check_types({kind for facts in self.counted for kind in facts.types})
        self._check_runs(self.counted, charged="nothing")
        if self.people.by is not None:
            distinct(self.people.persons, self.people.by, self.file.path.name)
        if not self.people.sizes.sum():
            raise no_locations(self.file, self.rows_removed)
        progress(_FIRST_JOB)

    def _check_askable(self) -> None:
        """Refuse questions that a cluster cannot answer in bounded memory, before any job runs."""
        self._check_labels()
        if self.together and not self.crowd:
            allowed = "a choice with independent noise on each point: here a person's points share one radius"
            remedy = Message('Give {rho}, or {protect:point}, or a length of time such as {protect:"1 day"}.')
            name, given = ("method", self.method) if self.method == "both" else ("epsilon", self.guarantee.budget)
            raise InvalidParameter(name, given, allowed, remedy)
        if self._has_time and self.file.points_in_a_row > 1 and self.in_order:
            allowed = "left out, for rows with an origin and a destination"
            split = "Make two rows of each, one for each place, with a column of times."
            name = "thin" if self.thin is not None else "unit"
            raise InvalidParameter(name, self.thin or str(self.guarantee.metric), allowed, split)

    def _check_labels(self) -> None:
        """Refuse labels of persons that Spark compares in another way than by their bytes or numbers."""
        from pyspark.sql import types as T

        for name in self.by:
            kind = self.frame.schema[name].dataType
            if getattr(kind, "collation", _BINARY) != _BINARY:
                allowed = f"a column whose texts are compared byte by byte; {name} has a collation"
                remedy = f"Give equal persons equal texts, and use F.collate({name!r}, {_BINARY!r})."
                raise InvalidParameter("by", name, allowed, remedy)
            if isinstance(kind, T.TimestampType):
                allowed = f"a column of texts or numbers; {name} has times, which depend on the session's time zone"
                raise InvalidParameter("by", name, allowed, f"Convert it: F.unix_micros({name!r}).")

    def _check_head(self) -> None:
        """Compare the columns that the owner named with the locations, in the first rows."""
        assert isinstance(self.file, FrameColumns)
        if not self.named:
            return
        sample = RowSample(self.named)
        batch = self.file.batch_of(0, self.file.head, [*self.file.columns])
        sample.add(batch.chosen(batch.present))
        check_kept(sample.columns(), sample.places, self.keep, self.plane)

    def _persons(self) -> tuple[pa.Array, Index, Index | None, list[TaskFacts]]:
        """Run a job that counts, and return labels, numbers of points, largest units, and the facts of all tasks."""
        import pyarrow as pa
        from pyspark.sql import functions as F
        from pyspark.sql import types as T

        label, kind = pa.int64(), T.LongType()
        if self.by:
            label, kind = self.file.columns[self.by[0]], self.frame.schema[self.by[0]].dataType
        whole = T.LongType()
        types = zip(COUNTED, (kind, whole, whole, T.StringType()), strict=True)
        schema = T.StructType([T.StructField(name, each) for name, each in types])
        rows = self._ordered(self._chosen(self._looked_at))
        found = rows.mapInArrow(CountTask(self.reader(self._looked_at), label), schema)
        person, points, most, told = COUNTED
        # Tasks that run again give the same rows, and a shuffle takes those of one attempt.
        added = found.groupBy(person).agg(
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

    def _check_counted(self) -> None:
        """Raise the error of a task that refused data, without the refused value."""
        for facts in self.counted:
            if facts.refusal is not None:
                refusal = facts.refusal
                raise InvalidData(refusal.argument, _Withheld(), refusal.allowed, refusal.remedy, charged="nothing")
        if ties := sum(facts.ties for facts in self.counted):
            allowed = f"left out where a person has several rows at the same time, as {ties:,} rows have"
            columns = [*self.by, *self.times]
            remedy = f"A DataFrame has no order that tells which comes first: use dropDuplicates({columns})."
            raise InvalidParameter("thin", self.thin, allowed, remedy, charged="nothing")

    def sized_rows(self, names: Sequence[str]) -> tuple[DataFrame, TaskRows]:
        """Return the rows for the second job, and the reader that adds the facts about their persons.

        Few persons are sent to every worker; many are joined with the rows in a shuffle. Rows that are sorted by
        pseudonyms must be joined with them first.
        """
        import pyarrow as pa
        from pyspark.sql import functions as F

        rows, columns = self._chosen(names), {SIZE: pa.array(self.sizes)}
        if self.largest is not None:
            columns[LARGEST] = pa.array(self.largest)
        if self.pseudonyms is not None:
            columns[LABEL] = pa.array(self.pseudonyms, pa.string())
        spark = self.frame.sparkSession
        if self.people.by is None:
            table = spark.sparkContext.broadcast(PersonTable(None, columns))
            return self._ordered(rows), self.reader(names, table)
        few = len(self.people.persons) <= _BROADCAST
        if few and not (self.by_person and self.pseudonyms is not None):
            table = spark.sparkContext.broadcast(PersonTable.of(self.people.persons, columns))
            return self._ordered(rows), self.reader(names, table)
        key = "_geoveil_person"
        people = spark.createDataFrame(pa.table({key: self.people.persons, **columns}))
        people = people.withColumn(key, column(key).cast(self.frame.schema[self.people.by].dataType))
        joined = rows.join(F.broadcast(people) if few else people, column(self.people.by) == column(key), "left").drop(
            key
        )
        return self._ordered(joined), self.reader([*names, *columns])

    def listed(self) -> Index:
        """Return the positions of all persons in the order of their pseudonyms, or of their labels without any.

        Rows have no order, and persons come sorted by their labels. The order of pseudonyms must tell nothing about
        labels.
        """
        return super().listed() if self.pseudonyms is None else np.argsort(np.array(self.pseudonyms))

    def draw(self, source: Source, progress: Progress) -> Written:
        """Run the second job: read the rows again, add noise, and write them."""
        assert self.destination is not None
        rows, reader = self.sized_rows(self._released)
        task = WriteTask(reader, self.destination, self.pseudonyms is not None, self._seeded(source))
        facts = collected(rows, task)
        if task.seeded is not None and _points(facts) != _points(self.counted):
            raise self._differs("the partitions")
        self._pass_over(source)
        self.compare(facts)
        parts = [Part(each.partition, **each.file) for each in facts if each.file]
        _, sha256 = self.destination.gather(parts)
        progress(0.95)
        written = self.frame.sparkSession.read.parquet(self.destination.ready)
        if written.count() != sum(part.rows for part in parts):
            raise self._differs("the written files")
        return self.recorded(Written(sha256, sum(each.moved for each in facts), self._unchanged(written)))

    def recorded(self, drawn: Written) -> Written:
        """Record what was drawn beside the accepted files, for a run that finishes this one; return it."""
        assert self.destination is not None
        return drawn

    def _pass_over(self, source: Source) -> None:
        """Advance the caller's seeded generator to the end of the last partition's stream."""
        if isinstance(source, Experiment):
            SeededStart(source.generator, (int(self.sizes.sum()),)).source(1)

    def _seeded(self, source: Source) -> SeededStart | None:
        if not isinstance(source, Experiment):
            return None
        last = max(facts.partition for facts in self.counted)
        points = dict.fromkeys(range(last + 1), 0) | {facts.partition: facts.points for facts in self.counted}
        return SeededStart(source.generator, tuple(points.values()))

    def compare(self, facts: Sequence[TaskFacts]) -> None:
        """Refuse to release rows that differ from those that were counted and charged for."""
        if _total(facts) != _total(self.counted) or sum(each.released for each in facts) != int(self.sizes.sum()):
            raise self._differs("the rows")
        self._check_runs(facts)

    def _check_runs(self, facts: Sequence[TaskFacts], **more: Any) -> None:
        """Refuse rows of a person that do not come one after another, where tasks take them as such."""
        runs = sum(each.runs for each in facts)
        if self.by and runs and runs != len(self.people.persons):
            allowed = f"a column with {len(self.people.persons):,} persons, each of whose rows come together"
            remedy = "Spark sorts these labels in another way than geoveil compares them: convert them to numbers."
            raise InvalidData("by", f"{self.by[0]}, with {runs:,} runs of rows", allowed, remedy, **more)

    def _differs(self, what: str) -> InvalidFile:
        remedy = (
            "A DataFrame must give the same rows each time it is evaluated: write it to Parquet first if it is made "
            "with random numbers or limits, or if its source changes."
        )
        return InvalidFile(
            self.file.path.name, f"{what} differ", "the same in both jobs: nothing was released", remedy
        )

    def _unchanged(self, written: DataFrame) -> tuple[Unchanged, ...]:
        """Return the columns that are released as they were, by the first released rows."""
        assert self.destination is not None
        return unchanged_columns(*self._released_sample(written), self.plane)

    def _released_sample(self, written: DataFrame) -> tuple[dict[Any, Any], Mapping[str, Any], Any]:
        from geoveil.geo.disclosure import SAMPLE

        head = first_rows(written, SAMPLE)
        sample = RowSample([*self.kept])
        form: Any = self.form
        sample.add(form.batch_of(0, head, [*self.kept]))
        pseudonymised = set(() if self.pseudonyms is None else self.by)
        return sample.columns(without=pseudonymised), self.kept, sample.places

    def unpacked(self, stored: dict[str, Any]) -> Written:
        """Return the facts about the folder that was drawn with the same key before, if all of its files are there.

        An earlier run that ended after its answer was stored may have left them among its attempts.
        """
        assert self.destination is not None
        sha256, account = stored["sha256"], None
        if (begun := self.destination.begun(sha256)) is not None:
            self.destination, account = begun
        account = self.destination.certified() or account
        if account is None or account["file"]["sha256"] != sha256 or self.destination.digest() != sha256:
            allowed = "the folder that was written with this key before; nothing was charged or drawn now"
            raise InvalidParameter("path", self.destination.address, allowed, "Give its path, or another key.")
        self._recorded = account
        unchanged = tuple(
            Unchanged(each["name"], each["reason"], tuple(each["warnings"])) for each in account["unchanged"]
        )
        return Written(sha256, account["beyond_the_map"], unchanged)

    def digests(self, drawn: Written, source: Source, receipt: Receipt) -> dict[str, str]:
        """Return the digests that the ledger keeps; a later run finds the certificate beside the parts."""
        assert self.destination is not None
        self.destination.record(self.certified(drawn, source, receipt)[1])
        return super().digests(drawn, source, receipt)

    def made(self, **facts: Any) -> SparkRelease:
        """Return the release, whose value is not known yet."""
        assert self.destination is not None
        return SparkRelease(None, path=self.destination.address, **facts)

    def shape(self, drawn: Written, source: Source, receipt: Receipt) -> SparkRelease:
        assert self.destination is not None
        if receipt.stored is None:
            release, account = self.certified(drawn, source, receipt)
            self.destination.publish(account)
        else:
            assert self._recorded is not None
            account = self._recorded
            if self.destination.certified() is None:
                # An earlier run ended before it had published what it had paid for.
                self.destination.publish(account, again=True)
            # What an earlier run left; the folder of this run is removed at its end.
            self.destination.clear()
            release = replace(self.made(**self.facts(drawn, source, receipt)), signature=account.get("signature"))
        assert isinstance(release, SparkRelease)
        value = self.frame.sparkSession.read.parquet(self.destination.address)
        return replace(release, value=value)


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


def collected(rows: DataFrame, task: Any) -> list[TaskFacts]:
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


def _points(facts: Iterable[TaskFacts]) -> dict[int, int]:
    """Return the number of points of each partition that has any."""
    return {each.partition: each.points for each in facts if each.points}


def _total(facts: Iterable[TaskFacts]) -> tuple[int, int, RowCounts]:
    """Return the totals of all tasks: points, the sum of checksums, and the rows that were removed."""
    each = [*facts]
    removed = sum((one.removed for one in each), start=NONE)
    return sum(one.points for one in each), sum(one.checksum for one in each) % 2**64, removed


def wait_for_tasks(context: SparkContext, tag: str) -> None:
    """Wait until no task of the jobs with a tag runs, for a bounded time: one that lost may be writing still."""
    tracker = context.statusTracker()
    # Python's status tracker only knows job groups, and the caller may be using one already.
    found: Any = context._jsc.sc().statusTracker()
    jobs = [info for number in found.getJobIdsForTag(tag) if (info := tracker.getJobInfo(number)) is not None]
    stages = [stage for job in jobs for stage in job.stageIds]
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if not any(info.numActiveTasks for stage in stages if (info := tracker.getStageInfo(stage)) is not None):
            return
        time.sleep(0.2)


@dataclass(frozen=True)
class PreparedFrame:
    """The release of a DataFrame that was checked and counted, before anything is charged or drawn.

    Parameters
    ----------
    inquiry : FramePoints
        The points.
    charger : Charger
        Who is charged.
    source : Source
        The source of randomness; workers have their own unless it is seeded.
    key : str, optional
        The key under which the release is known to the ledger.
    """

    inquiry: FramePoints
    charger: Charger
    source: Source
    key: str | None = None

    def release(self, progress: Progress) -> SparkRelease:
        """Charge, draw, write and publish."""
        destination = self.inquiry.destination
        assert destination is not None
        release: Any = None
        with destination.staged(self._is_stored):
            try:
                release = answer(self.inquiry, self.source, self.charger, self.key, progress)
            finally:
                wait_for_tasks(self.inquiry.frame.sparkSession.sparkContext, destination.tag)
        progress(1.0)
        return release  # type: ignore[no-any-return]

    def _is_stored(self) -> bool:
        """Tell whether the ledger may have stored the release, so that the next run with its key publishes it."""
        try:
            return self.key is not None and self.charger.is_stored(self.key)
        except LedgerError:
            # It cannot be read now: the parts are kept rather than lost.
            return True
