"""Points of a DataFrame: counted in a first job, charged in the driver, and written with noise in a second job."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil._types import Progress
from geoveil.answering.charging import Charger, Receipt
from geoveil.answering.pipeline import answer
from geoveil.answering.row_sample import RowSample
from geoveil.answering.streaming import FileFields, FilePoints, FileRelease, Written
from geoveil.certificates import Certificate
from geoveil.errors import InvalidParameter, LedgerError
from geoveil.facts import Unchanged
from geoveil.geo.disclosure import SAMPLE, unchanged_columns
from geoveil.geo.geometries import Index
from geoveil.noise import Experiment, Source
from geoveil.release import Release
from geoveil.release.answered import unchanged_of
from geoveil.spark.destination import Destination, Part
from geoveil.spark.frame_columns import first_rows
from geoveil.spark.frame_rows import FrameRows, collected
from geoveil.spark.task_rows import TaskFacts
from geoveil.spark.tasks import SeededStart, WriteTask

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame

__all__ = ["FramePoints", "SparkRelease", "released"]

#: The number of seconds to wait for tasks that were not accepted.
_PATIENCE = 30.0


@dataclass(frozen=True, eq=False, repr=False)
class SparkRelease(FileRelease):
    """A release of points that Spark wrote; its value is a DataFrame that reads what was written."""

    #: The folder of the released files.
    path: str = field(kw_only=True)

    @property
    def file_name(self) -> str:
        return self.path.rpartition("/")[2]

    def in_memory(self) -> Release:
        from geoveil.answering.loading import load

        return replace(load(self.path), recorder=self.recorder)


@dataclass(frozen=True)
class WrittenBefore(Written):
    """A folder that an earlier run with the same key has written, where it is, and its certificate."""

    destination: Destination
    certificate: Certificate


@dataclass(frozen=True, kw_only=True, eq=False)
class FramePoints(FilePoints):
    """A release of all points of a DataFrame, which was counted in a first job; `draw` is the second."""

    rows: FrameRows
    destination: Destination

    def listed(self) -> Index:
        """Return the positions of all persons in the order of their pseudonyms, or of their labels without any.

        Rows have no order, and persons come sorted by their labels. The order of pseudonyms must tell nothing about
        labels.
        """
        pseudonyms = self.rows.pseudonyms
        return super().listed() if pseudonyms is None else np.argsort(np.array(pseudonyms))

    def draw(self, source: Source, progress: Progress) -> Written:
        """Run the second job: read the rows again, add noise, and write them."""
        rows = self.rows
        read, reader = rows.sized(rows.rules.released)
        task = WriteTask(reader, self.destination, rows.pseudonyms is not None, self._seeded(source))
        facts = collected(read, task)
        if task.seeded is not None and _points(facts) != _points(rows.counted.tasks):
            raise rows.differs("the partitions")
        if isinstance(source, Experiment):
            # Advance the caller's generator to the end of the last partition's stream.
            SeededStart(source.generator, (int(rows.sizes.sum()),)).source(1)
        rows.compare(facts)
        parts = [Part(each.partition, **each.file) for each in facts if each.file]
        _, sha256 = self.destination.gather(parts)
        progress(0.95)
        written = rows.frame.sparkSession.read.parquet(self.destination.ready)
        if written.count() != sum(part.rows for part in parts):
            raise rows.differs("the written files")
        return Written(sha256, sum(each.moved for each in facts), self._unchanged(written))

    def _seeded(self, source: Source) -> SeededStart | None:
        if not isinstance(source, Experiment):
            return None
        tasks = self.rows.counted.tasks
        points = dict.fromkeys(range(max(facts.partition for facts in tasks) + 1), 0)
        points |= {facts.partition: facts.points for facts in tasks}
        return SeededStart(source.generator, tuple(points.values()))

    def _unchanged(self, written: DataFrame) -> tuple[Unchanged, ...]:
        """Return the columns that are released as they were, by the first released rows."""
        rules, sample = self.rows.rules, RowSample([*self.rows.rules.kept])
        form: Any = rules.form
        sample.add(form.batch_of(0, first_rows(written, SAMPLE), [*rules.kept]))
        columns = sample.columns(without=set(() if self.rows.pseudonyms is None else rules.by))
        return unchanged_columns(columns, rules.kept, sample.places, rules.plane)

    def unpacked(self, stored: dict[str, Any]) -> WrittenBefore:
        """Return the facts about the folder that was drawn with the same key before, if all of its files are there.

        An earlier run that ended after its answer was stored may have left them among its attempts.
        """
        sha256 = stored["sha256"]
        destination, certificate = self.destination.begun(sha256) or (self.destination, None)
        certificate = destination.certified() or certificate
        if certificate is None or certificate["file"]["sha256"] != sha256 or destination.digest() != sha256:
            allowed = "the folder that was written with this key before; nothing was charged or drawn now"
            raise InvalidParameter("to", destination.address, allowed, "Give its path, or another key.")
        unchanged = unchanged_of(certificate)
        return WrittenBefore(sha256, certificate["beyond_the_map"], unchanged, destination, certificate)

    def digests(self, drawn: Written, source: Source, receipt: Receipt) -> dict[str, str]:
        """Return the digests that the ledger keeps; a later run finds the certificate beside the parts."""
        self.destination.record(self.certified(drawn, source, receipt)[1])
        return super().digests(drawn, source, receipt)

    def made(self, facts: FileFields) -> SparkRelease:
        """Return the release, whose value is not known yet."""
        return SparkRelease(None, path=self.destination.address, **facts)

    def shape(self, drawn: Written, source: Source, receipt: Receipt) -> SparkRelease:
        destination = self.destination
        if isinstance(drawn, WrittenBefore):
            destination, certificate = drawn.destination, drawn.certificate
            if destination.certified() is None:
                # An earlier run ended before it had published what it had paid for.
                destination.publish(certificate, again=True)
            # What an earlier run left; the folder of this run is removed at its end.
            destination.clear()
            release = replace(self.made(self.facts(drawn, source, receipt)), signature=certificate.get("signature"))
        else:
            made, certificate = self.certified(drawn, source, receipt)
            assert isinstance(made, SparkRelease)
            release = made
            destination.publish(certificate)
        return replace(release, value=self.rows.frame.sparkSession.read.parquet(destination.address))


def released(
    prepared: FramePoints, charger: Charger, source: Source, key: str | None, progress: Progress
) -> SparkRelease:
    """Charge, draw, write and publish what was checked and counted; workers draw for themselves unless seeded."""

    def is_stored() -> bool:
        """Tell whether the ledger may have stored the release, so that the next run with its key publishes it."""
        try:
            return key is not None and charger.is_stored(key)
        except LedgerError:
            # It cannot be read now: the parts are kept rather than lost.
            return True

    with prepared.destination.staged(is_stored):
        try:
            release = answer(prepared, source, charger, key, progress)
        finally:
            wait_for_tasks(prepared.rows.frame.sparkSession.sparkContext, prepared.destination.tag)
    progress(1.0)
    assert isinstance(release, SparkRelease)
    return release


def _points(facts: Iterable[TaskFacts]) -> dict[int, int]:
    """Return the number of points of each partition that has any."""
    return {each.partition: each.points for each in facts if each.points}


def wait_for_tasks(context: SparkContext, tag: str) -> None:
    """Wait until no task of the jobs with a tag runs, for a bounded time: one that lost may be writing still."""
    tracker = context.statusTracker()
    # Python's status tracker only knows job groups, and the caller may be using one already.
    scala_tracker: Any = context._jsc.sc().statusTracker()
    jobs = [info for number in scala_tracker.getJobIdsForTag(tag) if (info := tracker.getJobInfo(number)) is not None]
    stages = [stage for job in jobs for stage in job.stageIds]
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if not any(info.numActiveTasks for stage in stages if (info := tracker.getStageInfo(stage)) is not None):
            return
        time.sleep(0.2)
