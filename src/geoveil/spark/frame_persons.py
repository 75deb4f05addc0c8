"""An answer about each person of a DataFrame: workers get whole persons, and write the answers.

Persons are brought together by a shuffle, and come to a task one after another. A task answers about many persons at
once, so that a million persons with ten rows take a few thousand calls; of a person with ten million rows it holds the
columns that the question reads, and nobody else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from geoveil._types import Progress
from geoveil.answering.intake import Intake, in_the_plane, take_in
from geoveil.answering.pipeline import ask
from geoveil.answering.requests import Question
from geoveil.answering.streaming import Written
from geoveil.arithmetic import steady
from geoveil.certificates import Certificate
from geoveil.errors import InvalidParameter
from geoveil.facts import Processing, Unchanged
from geoveil.geo import enter
from geoveil.geo.disclosure import SAMPLE, unchanged_columns
from geoveil.geo.formats import Batch
from geoveil.noise import Source
from geoveil.queries import UnitSizes
from geoveil.release.kinds import kind_of
from geoveil.spark.destination import Destination, Part
from geoveil.spark.frame_columns import FrameColumns, first_rows
from geoveil.spark.frame_points import FramePoints, SparkRelease, collected, column
from geoveil.spark.parquet_parts import ParquetParts
from geoveil.spark.task_rows import TaskFacts, TaskRows, without_data
from geoveil.spark.tasks import own_source, partition_and_attempt

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["Asking", "FramePersons", "PersonRelease"]


@dataclass(frozen=True, eq=False, repr=False)
class PersonRelease(SparkRelease):
    """A release with an answer about each person; its value has a row for each, or for each neighbour."""

    def certificate(self) -> Certificate:
        # As for answers that are written to a file: the column of persons is not one of points.
        return {**super().certificate(), "person": None}


@dataclass(frozen=True)
class Asking:
    """A question about whole persons in memory, for the driver and the workers.

    Parameters
    ----------
    make : callable
        Makes the question, given the data.
    entering : mapping
        The arguments with which locations are converted to metres.
    person : str
        The column of persons.
    times : str, optional
        The column of times, where the question needs them.
    label : str, optional
        The column by whose values rows are named in answers.
    geometry : str, optional
        The column of geometries, as WKB, where there are no columns of coordinates.
    crs : object
        The coordinate system.
    """

    make: Callable[[Intake], Question]
    entering: Mapping[str, Any]
    person: str
    times: str | None
    label: str | None
    geometry: str | None
    crs: Any

    def data(self, table: pa.Table) -> Intake:
        """Return the points of whole persons."""
        frame: Any = table
        if self.label is not None or self.geometry is not None:
            frame = table.to_pandas()
        if self.label is not None:
            frame = frame.set_index(self.label)
        if self.geometry is not None:
            import geopandas

            places = geopandas.GeoSeries.from_wkb(frame.pop(self.geometry), crs=self.crs)
            frame = geopandas.GeoDataFrame(frame, geometry=places)
        form = enter(frame, **self.entering)
        return take_in(form, person=self.person, times=self.times, timed=self.times is not None)


@dataclass(frozen=True)
class PersonTask:
    """Answer about the persons of a partition, and write the answers to a file of this attempt.

    Parameters
    ----------
    reader : TaskRows
        The reader of the rows, which come sorted by person.
    asking : Asking
        The question.
    columns : list of str
        The columns that it reads.
    destination : Destination
        Where files are written.
    """

    reader: TaskRows
    asking: Asking
    columns: list[str]
    destination: Destination

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write a file, and yield the facts of the task."""
        import pyarrow as pa

        with without_data(), steady():
            partition, attempt = partition_and_attempt()
            facts, source = TaskFacts(partition), own_source(None, partition)
            tables = (self._answers(table, source, facts) for table in self._people(batches, facts))
            if (first := next(tables, None)) is not None:
                with self.destination.attempt(partition, attempt) as (stream, described):
                    rows = _write(stream, first, tables)
                facts.file = {**described, "rows": rows}
            yield pa.record_batch([pa.array([facts.written()])], names=["facts"])

    def _people(self, batches: Iterator[pa.RecordBatch], facts: TaskFacts) -> Iterator[pa.Table]:
        """Yield tables of whole persons who are not skipped."""
        import pyarrow as pa

        by = self.reader.rules.by[0]
        held: list[pa.Table] = []
        for table in self._selected(batches, facts):
            labels = table[by].combine_chunks().dictionary_encode()
            codes = np.asarray(labels.indices)
            last = int(np.flatnonzero(np.diff(codes))[-1]) + 1 if (np.diff(codes) != 0).any() else 0
            new = bool(held) and held[-1][by][-1] != table[by][0]
            if (last or new) and (held or last):
                whole = pa.concat_tables([*held, table.slice(0, last)])
                if len(whole):
                    yield whole
                held = [table.slice(last)]
            else:
                held.append(table)
        if held:
            yield pa.concat_tables(held)

    def _selected(self, batches: Iterator[pa.RecordBatch], facts: TaskFacts) -> Iterator[pa.Table]:
        """Yield the rows that remain, with the columns that the question reads."""
        by = self.reader.rules.by[0]
        for read in self.reader.read(batches, facts, first=False):
            if not len(read.batch):
                continue
            table = read.batch.columns
            labels = self.reader.rules.people.labels(read.batch) if read.labels is None else read.labels
            table = table.set_column(table.column_names.index(by), by, labels)
            yield _with_places(replace(read.batch, columns=table), self.columns)

    def _answers(self, table: pa.Table, source: Source, facts: TaskFacts) -> pa.Table:
        """Return the private answers about whole persons, as rows."""
        data = self.asking.data(table)
        assert data.people is not None
        facts.answered += len(data.people.sizes)
        release = ask(data, self.asking.make(data), self.reader.rules.guarantee, source)
        return _as_table(release.to_frame())


@dataclass(frozen=True)
class FirstRow:
    """Return the first row of a partition that remains, for the form of the data.

    Parameters
    ----------
    reader : TaskRows
        The reader of the rows.
    columns : list of str
        The columns that are wanted.
    """

    reader: TaskRows
    columns: list[str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the row, if there is one."""
        with without_data(), steady():
            for read in self.reader.read(batches, TaskFacts(0), first=False):
                if len(read.batch):
                    yield from _with_places(read.batch, self.columns).slice(0, 1).to_batches()
                    return


def _with_places(batch: Batch, columns: list[str]) -> pa.Table:
    """Return some columns of a batch, with those of its locations."""
    assert isinstance(batch.file, FrameColumns)
    table = batch.columns
    for name, values in batch.file.located.encode(batch, None).items():
        table = table.append_column(name, values)
    return table.select(columns)


def _as_table(frame: Any) -> pa.Table:
    """Return rows of a release as an Arrow table, geometries as WKB, described as GeoParquet says."""
    import pyarrow as pa

    if not hasattr(frame, "geometry"):
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    name, crs = frame.geometry.name, frame.crs
    table = pa.Table.from_pandas(frame.to_wkb(), preserve_index=False)
    described: dict[str, Any] = {
        "encoding": "WKB",
        "geometry_types": [],
        "crs": None if crs is None else crs.to_json_dict(),
    }
    account = {"version": "1.1.0", "primary_column": name, "columns": {name: described}}
    return table.replace_schema_metadata({"geo": json.dumps(account)})


def _write(stream: IO[bytes], first: pa.Table, rest: Iterator[pa.Table]) -> int:
    """Write tables to a Parquet file, and return the number of rows."""
    import pyarrow.parquet as pq

    rows = len(first)
    with pq.ParquetWriter(stream, first.schema) as writer:
        writer.write_table(first)
        for table in rest:
            writer.write_table(table.cast(first.schema))
            rows += len(table)
    return rows


@dataclass(kw_only=True)
class FramePersons(FramePoints):
    """An answer about each person of a DataFrame: `count` is the first job, `draw` the second."""

    asking: Asking
    _question: Question | None = None

    @property
    def _parts(self) -> ParquetParts | None:
        return None

    @property
    def together(self) -> bool:
        """False: answers about persons add no noise to single points."""
        return False

    def count(self, progress: Progress, *, every_column: bool = False) -> None:
        assert isinstance(self.file, FrameColumns)
        # The question is checked with the first rows, so that an invalid one is refused before a job runs.
        head = self.selected(self.file.batch_of(0, self.file.head, self.asked_about))[0]
        if len(head):
            self._question = self.asking.make(self.asking.data(_with_places(head, self._read_columns)))
        super().count(progress, every_column=every_column)
        if self.asking.label in self.placed:
            allowed = "a column without locations: this one has texts of geometries"
            raise InvalidParameter("label", self.asking.label, allowed, "Name the rows by another column.")
        if self._question is None:
            # None of the first rows passes the filter.
            rows = self._chosen(self.asked_about)
            task = FirstRow(self.reader(self.asked_about), self._read_columns)
            found = rows.mapInArrow(task, rows.select(*map(column, self._read_columns)).schema)
            self._question = self.asking.make(self.asking.data(first_rows(found, 1)))

    def query(self, n: int, units: UnitSizes | None = None) -> Any:
        assert self._question is not None
        working = in_the_plane(self.guarantee, self.plane.area)
        return self._question.about(n, 2, working, rounding=self.plane.rounding, units=units)

    @property
    def _read_columns(self) -> list[str]:
        assert isinstance(self.file, FrameColumns)
        label = [] if self.asking.label is None else [self.asking.label]
        return [*dict.fromkeys([*self.by, *self.times, *label]), *self.file.located.names]

    @property
    def asked_about(self) -> list[str]:
        label = [] if self.asking.label is None else [self.asking.label]
        return [*dict.fromkeys([*super().asked_about, *label])]

    @property
    def by_person(self) -> bool:
        return True

    def _ordered(self, rows: DataFrame) -> DataFrame:
        # In the second job alone, `draw` brings persons together if times do not.
        return super()._ordered(rows) if self.in_order else rows

    def task(self, reader: TaskRows) -> PersonTask:
        """Return the task of the second job, which gets rows sorted by person."""
        assert self.destination is not None
        return PersonTask(replace(reader, sorted=True), self.asking, self._read_columns, self.destination)

    def draw(self, source: Source, progress: Progress) -> Written:
        """Run the second job: bring persons together, answer about each, and write the answers."""
        assert self.destination is not None
        rows, reader = self.sized_rows(self.asked_about)
        facts = collected(rows if self.in_order else self._together(rows, self.times), self.task(reader))
        self.compare(facts)
        if sum(each.answered for each in facts) != int((self.sizes > 0).sum()):
            raise self._differs("the persons")
        parts = [Part(each.partition, **each.file) for each in facts if each.file]
        _, sha256 = self.destination.gather(parts)
        progress(0.95)
        return self.recorded(Written(sha256, 0, self._labels_released()))

    def _labels_released(self) -> tuple[Unchanged, ...]:
        """Return the column that names neighbours, with the warnings about its released values."""
        if self.asking.label is None:
            return ()
        assert self.destination is not None
        written = self.frame.sparkSession.read.parquet(self.destination.ready)
        head = first_rows(written.select(self.persons.first.name), SAMPLE)
        values: dict[Hashable, Any] = {self.asking.label: head.to_pandas()[self.persons.first.name]}
        # No place is released beside them, so there is none that they could follow.
        return unchanged_columns(values, self.kept, np.zeros((len(head), 2)), self.plane)

    def made(self, **facts: Any) -> PersonRelease:
        # The error of a hull or a length depends on what was released: each row states its own.
        processing = Processing(bounded=kind_of(self.persons.first).known_error)
        assert self.destination is not None
        where = self.destination.address
        return PersonRelease(None, path=where, processing=processing, **facts)
