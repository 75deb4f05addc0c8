"""An answer about each person of a DataFrame: workers get whole persons, and write the answers.

Persons are brought together by a shuffle, and come to a task one after another. A task answers about many persons at
once, so that a million persons with ten rows take a few thousand calls; of a person with ten million rows it holds the
columns that the question reads, and nobody else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from geoveil._types import CrsLike, Progress
from geoveil.answering.intake import Intake, in_the_plane, take_in
from geoveil.answering.person_counts import labels_of
from geoveil.answering.pipeline import ask, noise_ratio, priced, without_counts
from geoveil.answering.requests import Question
from geoveil.answering.settings import Settings
from geoveil.answering.streaming import FileFields, Written
from geoveil.certificates import Certificate
from geoveil.errors import NoErrorBound
from geoveil.facts import Processing, Unchanged
from geoveil.geo import enter
from geoveil.geo.disclosure import SAMPLE, unchanged_columns
from geoveil.geo.formats import Batch
from geoveil.host.arithmetic import steady
from geoveil.noise import Source
from geoveil.privacy import Guarantee, Metric, dist_inf
from geoveil.queries import Persons, Query, UnitSizes
from geoveil.release.answered import PerPerson
from geoveil.release.kinds import kind_of
from geoveil.spark.destination import Destination, Part
from geoveil.spark.frame_columns import FrameColumns, first_rows
from geoveil.spark.frame_points import FramePoints, SparkRelease
from geoveil.spark.frame_rows import FrameRows, collected, column
from geoveil.spark.task_rows import TaskFacts, TaskRows, without_data
from geoveil.spark.tasks import own_source, partition_and_attempt

if TYPE_CHECKING:
    import geopandas
    import pandas as pd
    import pyarrow as pa

__all__ = ["Asking", "FramePersons", "PersonRelease", "columns_of", "question_of"]


@dataclass(frozen=True, eq=False, repr=False)
class PersonRelease(SparkRelease):
    """A release with an answer about each person; its value has a row for each, or for each neighbour."""

    def error(self, beta: float = 0.05, *, each: bool = False) -> PerPerson:
        if not self.processing.bounded:
            problem = f"The error of each {self.query} depends on what was released: its row states it, as radius_95."
            raise NoErrorBound(problem)
        return super().error(beta, each=each)

    def certificate(self) -> Certificate:
        # As for answers that are written to a file: the column of persons is not one of points.
        return {**super().certificate(), "person": None}


@dataclass(frozen=True)
class Asking:
    """A question about whole persons in memory, for the driver and the workers."""

    #: Makes the question, given the data.
    make: Callable[[Intake], Question]
    #: The arguments with which locations are converted to metres.
    entering: Mapping[str, Any]
    #: The column of persons, and those of times where the question needs them.
    person: str
    times: str | list[str] | None
    #: The column by whose values rows are named in answers.
    label: str | None
    #: The column of geometries, as WKB, where there are no columns of coordinates.
    geometry: str | None
    crs: CrsLike

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
        return take_in(form, Settings(person=self.person, times=self.times), timed=self.times is not None)


@dataclass(frozen=True)
class PersonTask:
    """Answer about the persons of a partition, and write the answers to a file of this attempt."""

    #: The reader of the rows, which come sorted by person.
    reader: TaskRows
    asking: Asking
    #: The columns that the question reads.
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
            labels = labels_of(read.batch, by) if read.labels is None else read.labels
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
    """Return the first row of a partition that remains, for the form of the data."""

    reader: TaskRows
    #: The columns that are wanted.
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


def _as_table(frame: pd.DataFrame | geopandas.GeoDataFrame) -> pa.Table:
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


def question_of(asking: Asking, rows: FrameRows) -> Question | None:
    """Make the question with the first rows of a DataFrame, so that an invalid one is refused before a job runs.

    None if none of these rows passes the filter.
    """
    file = rows.file
    head = rows.rules.selected(file.batch_of(0, file.head, rows.asked_about))[0]
    return asking.make(asking.data(_with_places(head, columns_of(rows)))) if len(head) else None


def columns_of(rows: FrameRows) -> list[str]:
    """Return the columns that a question about whole persons reads."""
    label = [] if rows.label is None else [rows.label]
    return [*dict.fromkeys([*rows.rules.by, *rows.rules.times, *label]), *rows.file.located.names]


@dataclass(frozen=True, kw_only=True, eq=False)
class FramePersons(FramePoints):
    """An answer about each person of a DataFrame, whose points were counted in a first job; `draw` is the second."""

    asking: Asking
    #: The question, if it was made with the first rows.
    known: Question | None = None

    @cached_property
    def question(self) -> Question:
        """The question."""
        if self.known is not None:
            return self.known
        names, wanted = self.rows.asked_about, columns_of(self.rows)
        rows = self.rows.chosen(names)
        task = FirstRow(self.rows.reader(names), wanted)
        first = rows.mapInArrow(task, rows.select(*map(column, wanted)).schema)
        return self.asking.make(self.asking.data(first_rows(first, 1)))

    @cached_property
    def persons(self) -> Persons[Query]:
        """The query of each person."""
        people, largest = self.rows.people, self.rows.counted.largest
        if largest is None:
            return Persons.by_size(people.sizes, self.query)
        return Persons.by_largest(people.sizes, largest, self.query)

    def query(self, n: int, units: UnitSizes | None = None, metric: Metric | None = None) -> Query:
        """Return the query about a person with n points, under another metric if one is given."""
        rules = self.rows.rules
        promised = rules.guarantee if metric is None else rules.guarantee.under_unit(metric)
        working = in_the_plane(promised, rules.plane.area)
        return self.question.about(n, 2, working, rounding=rules.plane.rounding, units=units)

    def price(self, account: Metric | None) -> Guarantee:
        return priced(self.first.name, self.guarantee, account, self._ratio)

    def _ratio(self, target: Metric) -> float | None:
        """Return the factor by which the noise would grow under another metric, if no times decide it."""
        if target != dist_inf or self.first.hides_count:
            return None
        return noise_ratio(self.persons, Persons.by_size(self.rows.people.sizes, partial(self.query, metric=target)))

    def task(self, reader: TaskRows) -> PersonTask:
        """Return the task of the second job, which gets rows sorted by person."""
        return PersonTask(replace(reader, sorted=True), self.asking, columns_of(self.rows), self.destination)

    def draw(self, source: Source, progress: Progress) -> Written:
        """Run the second job: bring persons together, answer about each, and write the answers."""
        rows = self.rows
        read, reader = rows.sized(rows.asked_about)
        facts = collected(read if rows.in_order else rows.together(read, rows.rules.times), self.task(reader))
        rows.compare(facts)
        if sum(each.answered for each in facts) != int((rows.sizes > 0).sum()):
            raise rows.differs("the persons")
        parts = [Part(each.partition, **each.file) for each in facts if each.file]
        _, sha256 = self.destination.gather(parts)
        progress(0.95)
        return Written(sha256, 0, self._labels_released())

    def _labels_released(self) -> tuple[Unchanged, ...]:
        """Return the column that names neighbours, with the warnings about its released values."""
        label, name = self.asking.label, self.first.name
        if label is None:
            return ()
        written = self.rows.frame.sparkSession.read.parquet(self.destination.ready)
        head = first_rows(written.select(name), SAMPLE)
        # No place is released beside them, so there is none that they could follow.
        rules = self.rows.rules
        return unchanged_columns({label: head.to_pandas()[name]}, rules.kept, np.zeros((len(head), 2)), rules.plane)

    def made(self, facts: FileFields) -> PersonRelease:
        # The error of a hull or a length depends on what was released: each row states its own.
        facts = {**facts, "processing": Processing(bounded=kind_of(self.first).known_error)}
        if self.first.hides_count:
            facts = {**facts, **without_counts(facts["answers"], facts["removed"])}
        return PersonRelease(None, path=self.destination.address, **facts)
