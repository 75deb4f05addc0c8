"""Rows of a file of any size, counted in a first pass and read again in a second."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Progress
from geoveil.answering.person_counts import PersonCounts, labels_of_points
from geoveil.answering.row_rules import Findings, PointNoise, ReadRows, RowRules
from geoveil.answering.row_sample import RowSample
from geoveil.answering.timed_rows import TimedRows, times_of
from geoveil.errors import InvalidFile
from geoveil.facts import NONE, RowCounts
from geoveil.geo import Plane
from geoveil.geo.columns import ROW, distinct
from geoveil.geo.disclosure import check_kept, label_suspicions
from geoveil.geo.formats import Batch, LocationFile
from geoveil.geo.formats.fingerprints import Fingerprint, State, file_state
from geoveil.geo.forms import Floats
from geoveil.geo.geometries import Index
from geoveil.geo.seconds import PartOfTimes, stated_names
from geoveil.geo.texts import has_formulas
from geoveil.noise import as_reals
from geoveil.queries import Persons, Points
from geoveil.release.answered import ReleaseFields

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FIRST_PASS", "WORKERS", "Counted", "CountedRows", "count_rows", "no_locations", "ordered"]

T = TypeVar("T")
R = TypeVar("R")

#: The share of the time that reading and counting take; writing takes the rest.
FIRST_PASS = 0.3
WORKERS = 2
#: The number of rows whose persons are kept from the first pass, in 4 bytes each; those of others are searched again.
_KNOWN_ROWS = 2**25


@dataclass
class Counted:
    """What a first pass finds, which is public or for the owner alone; a second pass is compared with it."""

    people: PersonCounts
    #: The numbers of rows that are removed.
    removed: RowCounts = NONE
    found: Findings = field(default_factory=Findings)
    #: The rows and the units of each batch, where times are needed.
    timed: TimedRows | None = None
    #: The bytes of all columns that were read, texts among them.
    read_bytes: int = 0
    #: The points with the labels of their persons, where the noise of a person's points must be drawn together.
    held: list[tuple[pa.Array, Index, Floats]] = field(default_factory=list)
    #: The first row of each batch, and the label of each of its rows as a position among the labels of the batch.
    known: list[tuple[int, NDArray[np.int32]]] = field(default_factory=list)
    state: State | None = None
    fingerprint: Fingerprint = field(default_factory=Fingerprint)
    #: Why the labels of persons, where they are released, seem to tell places: for the owner alone.
    telling: list[str] = field(default_factory=list)

    @property
    def largest(self) -> Index | None:
        """The number of points in the largest unit of each person, where units are stretches of time."""
        return None if self.timed is None else self.timed.largest

    def check(self, rules: RowRules, types: set[str]) -> None:
        """Refuse labels that look the same, a file without points, and types that the format cannot hold."""
        file = rules.file
        if self.people.by is not None:
            distinct(self.people.persons, self.people.by, file.path.name)
        if not self.people.sizes.sum():
            raise no_locations(file, self.removed)
        rules.form.check_types(types)


def count_rows(rules: RowRules, progress: Progress, *, every_column: bool = False) -> Counted:
    """Check all locations and texts of a file, and count each person's points, which determine the noise.

    With `every_column` all released columns are read, so that a damaged one is found now. `progress` is called with
    the share of the whole work that is done, from 0 to 1.
    """
    import pyarrow as pa

    by = rules.settings.by
    counted = Counted(PersonCounts(by), state=file_state(rules.file.path))

    def look(batch: Batch) -> tuple[Batch, RowCounts, pa.DictionaryArray, pa.Array, list[PartOfTimes]]:
        batch, less, labels, coded = rules.checked(batch, counted.found)
        return batch, less, coded, labels_of_points(batch, labels), times_of(batch, rules.times)

    wanted = [*rules.asked_about, *(rules.kept if every_column else [*rules.texts, *rules.named])]
    told = rules.by != [ROW] and not rules.settings.pseudonyms
    labelled = [name for name in rules.by if told and rules.kept.get(name) == "person"]
    sample, types, known = RowSample([*rules.named, *labelled]), set[str](), 0
    timed = None
    if rules.times:
        timed = TimedRows(counted.people, rules.times, rules.settings.step, rules.guarantee.metric)
    for batch, less, coded, persons, times in ordered(look, rules.file.batches([*dict.fromkeys(wanted)])):
        labels, codes = coded.dictionary, np.asarray(coded.indices)[batch.rows]
        counted.removed += less
        counted.read_bytes += batch.columns.nbytes
        known += len(batch)
        if known <= _KNOWN_ROWS:
            counted.known.append((batch.first, np.asarray(coded.indices)))
        types |= batch.types
        sample.add(batch)
        counted.people.add(labels, np.bincount(codes, minlength=len(labels)))
        counted.fingerprint.add(batch.coords, persons)
        if timed is not None:
            timed.add(labels, codes, batch, times)
        if rules.together:
            counted.held.append((labels, codes, batch.coords))
        progress(FIRST_PASS * batch.share)
    if timed is not None and counted.people.sizes.sum():
        counted.timed = timed.counted()
        counted.removed += RowCounts(thinned=timed.thinned)
        for number, (labels, codes, coords) in enumerate(counted.held):
            kept = timed.points[timed.points_of(number)]
            counted.held[number] = labels, codes[kept], coords[kept]
    counted.check(rules, types)
    if rules.form.spreadsheet:
        counted.found.formulas.update(name for name in rules.texts if has_formulas(pa.array([name])))
    columns = sample.columns(without=counted.found.placed)
    for name in labelled:
        if name in columns:
            counted.telling += label_suspicions(name, columns.pop(name), sample.places, rules.plane)
    check_kept(columns, sample.places, rules.keep, rules.plane)
    return counted


@dataclass(frozen=True)
class CountedRows:
    """The rows of a file that were counted, to be read again."""

    rules: RowRules
    counted: Counted
    #: The random labels that are released in place of those of persons.
    pseudonyms: list[str] | None = None
    #: Marks the persons who are left out.
    skipped: NDArray[np.bool_] | None = None

    @property
    def people(self) -> PersonCounts:
        """The persons and the number of points of each."""
        return self.counted.people

    @property
    def plane(self) -> Plane:
        """The plane of the area."""
        return self.rules.plane

    @property
    def sizes(self) -> Index:
        """The number of points of each person who is not left out, and 0 of others."""
        return self.people.sizes if self.skipped is None else np.where(self.skipped, 0, self.people.sizes)

    @cached_property
    def persons(self) -> Persons[Points]:
        """The query of each person for their points."""
        if self.counted.largest is None:
            return Persons.by_size(self.people.sizes, self.rules.query)
        return Persons.by_largest(self.people.sizes, self.counted.largest, self.rules.query)

    @cached_property
    def noise(self) -> PointNoise:
        """The noise of each query."""
        return PointNoise(self.persons.queries, self.plane.area)

    def span(self, *, each: int = 1) -> tuple[int, int] | None:
        """Return the first and the last time of points that are used, of every `each` the first; None if untimed."""
        return None if self.counted.timed is None else self.counted.timed.span(self.skipped, each=each)

    def stated(self, columns: Iterable[Hashable] = (), persons: Iterable[str] = ()) -> ReleaseFields:
        """Return the fields of a release that describe the rows, given the columns and persons that are removed."""
        rules = self.rules
        timed, where = rules.guarantee.metric.stretch is not None, None if rules.where is None else rules.where.text
        return {
            "plane": rules.plane,
            "outside": rules.settings.outside,
            "removed": self.counted.removed.described(where, columns, persons),
            "times": stated_names(rules.times) if timed else None,
            "span": self.span() if timed else None,
        }

    def unit_sizes(self, each: int) -> tuple[Index, Index] | None:
        """Return the sizes of units of items of `each` points, and how many items have each; None without units."""
        timed = self.counted.timed
        if timed is None or timed.sizes is None:
            return None
        return np.unique(timed.sizes[timed.remaining(self.skipped, each=each)] // each, return_counts=True)

    def described(self) -> dict[str, object]:
        """Return the public facts by which a ledger tells this data from other data."""
        where = None if self.rules.where is None else self.rules.where.text
        told = {"by": self.people.by, "file": self.rules.file.path.name}
        return {**told, "outside": self.rules.settings.outside, "where": where}

    def batches(self) -> Iterator[tuple[int, Batch]]:
        """Read the file again in numbered batches, with the columns that are released and those of the filter."""
        return enumerate(self.rules.file.batches(self.rules.released))

    def read_again(self, progress: Progress) -> Iterator[tuple[ReadRows, Floats]]:
        """Yield the batches of the second reading with their points in metres; refuse a file that has changed."""
        second = SecondPass(self)

        def entered(numbered: tuple[int, Batch]) -> tuple[ReadRows, Floats]:
            read = self.read(numbered)
            return read, as_reals(self.rules.enter(read.batch)).values

        for read, coords in ordered(entered, self.batches()):
            second.add(read)
            yield read, coords
            progress(FIRST_PASS + (1 - FIRST_PASS) * read.batch.share)
        second.check()

    def read(self, numbered: tuple[int, Batch]) -> ReadRows:
        """Take a batch of the second reading, without the rows that are not to be used."""
        import pyarrow as pa

        number, batch = numbered
        batch, less = self.rules.selected(batch)
        batch = replace(batch, columns=batch.columns.select([*dict.fromkeys([*self.rules.kept, *self.rules.by])]))
        labels, person = self._persons_of(number, batch)
        if (person < 0).any():
            raise self.changed()
        coords, persons = batch.coords, labels_of_points(batch, labels)
        kept = np.ones(len(batch), dtype=bool)
        sizes = times = None
        if (timed := self.counted.timed) is not None:
            if not timed.fits(number, batch):
                raise self.changed()
            mine, kept = timed.points_of(number), timed.kept[number]
            sizes = None if timed.sizes is None else timed.sizes[mine]
            times = None if timed.facts.times is None else timed.facts.times[mine]
            less += RowCounts(thinned=int((~kept).sum()))
        if self.skipped is not None:
            kept = kept & ~self.skipped[person]
        if not kept.all():
            points = kept[batch.rows]
            sizes = None if sizes is None else sizes[points]
            times = None if times is None else times[points]
            batch, person = batch.chosen(kept), person[kept]
        released = None
        if self.pseudonyms is not None:
            released = pa.array(self.pseudonyms, pa.string()).take(pa.array(person))
        return ReadRows(coords, persons, batch, person, less, sizes, times, released)

    def _persons_of(self, number: int, batch: Batch) -> tuple[pa.Array, Index]:
        """Return the label and the position of the person of each row of the second reading.

        Persons are known from the first pass; if the file has changed since, the fingerprints of both will differ.
        """
        labels = self.people.labels(batch)
        if number < len(self.counted.known):
            first, codes = self.counted.known[number]
            if first == batch.first and len(codes) == len(batch):
                return labels, self.people.positions(number)[codes].astype(np.int64)
        return labels, self.people.positions_of(labels)

    def changed(self) -> InvalidFile:
        """Return the error of a file that changed between the two passes."""
        allowed, remedy = "unchanged while it is read two times", "Try again when no program writes to it."
        return InvalidFile(str(self.rules.file.path), "changed", allowed, remedy, charged="nothing")


class SecondPass:
    """The batches of a second reading, for comparison with the first."""

    def __init__(self, rows: CountedRows) -> None:
        self._rows, self._fingerprint, self._removed = rows, Fingerprint(), NONE

    def add(self, read: ReadRows) -> None:
        """Add a batch."""
        self._fingerprint.add(read.coords, read.persons)
        self._removed += read.removed

    def check(self) -> None:
        """Refuse a file that changed between the two passes."""
        counted, path = self._rows.counted, self._rows.rules.file.path
        same = self._fingerprint.digest == counted.fingerprint.digest and self._removed == counted.removed
        if not same or file_state(path) != counted.state:
            raise self._rows.changed()


def no_locations(file: LocationFile, removed: RowCounts = NONE) -> InvalidFile:
    """Return the error for a file that has no locations, or none after rows were removed."""
    remedy = (
        f"None of its {removed.total} rows remains: {removed}." if removed.total else "There is nothing to release."
    )
    return InvalidFile(str(file.path), 0, "a file with at least one location", remedy)


def ordered(work: Callable[[T], R], items: Iterable[T], workers: int = WORKERS) -> Iterator[R]:
    """Yield the results of work on items, in their order; several threads work a few items ahead.

    Threads get a copy of the context, and with it numpy's and decimal's settings.
    """
    with ThreadPoolExecutor(workers) as pool:
        pending: deque[Future[R]] = deque()
        try:
            for item in items:
                pending.append(pool.submit(copy_context().run, work, item))
                if len(pending) > workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
