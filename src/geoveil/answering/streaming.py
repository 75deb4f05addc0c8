"""Release files of any size in batches: count the points in a first pass, and release them in a second."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Columns, Progress
from geoveil.answering.charging import Bill, Receipt
from geoveil.answering.intake import removed
from geoveil.answering.pipeline import Inquiry
from geoveil.answering.point_rows import PointNoise, PointRows, ReadRows
from geoveil.answering.row_sample import RowSample
from geoveil.answering.timed_rows import TimedRows, times_of
from geoveil.budget import price_of
from geoveil.certificates import Certificate, SigningKey, certificate_digest, signed
from geoveil.certificates.certificate import StatedSignature
from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.facts import Unchanged
from geoveil.geo.columns import distinct
from geoveil.geo.disclosure import check_kept, unchanged_columns
from geoveil.geo.formats import Batch, LocationFile
from geoveil.geo.formats.atomic import write_certificate
from geoveil.geo.formats.fingerprints import Fingerprint, State, digest, file_state
from geoveil.geo.formats.location_file import ROWS
from geoveil.geo.forms import Floats
from geoveil.geo.geometries import Index
from geoveil.geo.plain_values import copied_index
from geoveil.geo.row_selection import NONE, RowCounts
from geoveil.geo.seconds import PartOfTimes, stated_names
from geoveil.geo.texts import has_formulas
from geoveil.mechanisms import sample_people
from geoveil.noise import Source, as_reals
from geoveil.privacy import Metric
from geoveil.queries import Persons, Points, UnitSizes, answers_without_values
from geoveil.release import Release

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FilePoints", "FileRelease", "no_locations"]

T = TypeVar("T")
R = TypeVar("R")

#: The bytes of a released point with its error radius and budget, and of a number beside it, as text.
_POINT_BYTES, _VALUE_BYTES = 100, 24
#: Endings of formats that state the names of columns once.
_TERSE = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".geoparquet", ".gpkg", ".shp", ".fgb", ".xlsx")
#: The share of the time that reading and counting take; writing takes the rest.
_FIRST_PASS = 0.3
_WORKERS = 2
#: The number of rows whose persons are kept from the first pass, in 4 bytes each; those of others are searched again.
_KNOWN_ROWS = 2**25


@dataclass(frozen=True, eq=False, repr=False)
class FileRelease(Release):
    """A release of points that is a file; its value is the path.

    Parameters
    ----------
    person_column : str, optional
        The column that names the person of each row.
    reading : dict
        The options with which the file is read.
    digest : str
        SHA-256 of the file.
    moved : int
        The number of released points outside the domain of their coordinate system, moved to its edge.
    formulas : tuple of str
        Columns of a CSV file with texts that a spreadsheet would run as formulas.
    signature : dict, optional
        The signature of the certificate, if it was signed.

    Examples
    --------
    >>> homes.to_file(folder / "homes.gpkg")
    >>> release = gv.Locations(folder / "homes.gpkg", area=bay).points(to=folder / "released.gpkg", rho=1e-4)
    >>> release.value.name, release.n, len(release.to_frame())
    ('released.gpkg', 3, 3)
    """

    person_column: str | None = field(kw_only=True)
    reading: dict[str, Any] = field(kw_only=True)
    digest: str = field(kw_only=True)
    moved: int = field(kw_only=True)
    formulas: tuple[str, ...] = field(kw_only=True)
    signature: StatedSignature | None = field(kw_only=True, default=None)

    @property
    def file_name(self) -> str:
        """The name of the file."""
        return str(self.value.name)

    @property
    def beyond(self) -> int:
        return self.moved

    def in_memory(self) -> Release:
        from geoveil.answering.loading import load

        return load(self.value)

    def certificate(self) -> Certificate:
        account = super().certificate()
        account["person"] = self.person_column
        account["file"] = {
            "name": self.file_name, "sha256": self.digest, "reading": self.reading, "kind": self.kind.name
        }  # fmt: skip
        if self.formulas:
            account["file"]["formulas"] = list(self.formulas)
        if self.signature is not None:
            account["signature"] = self.signature
        return account


@dataclass(frozen=True)
class Written:
    """A file of released points that was written.

    Parameters
    ----------
    sha256 : str
        Its digest.
    moved : int
        The number of released points outside the domain of their coordinate system, moved to its edge.
    unchanged : tuple of Unchanged
        The columns that are released as they were.
    """

    sha256: str
    moved: int
    unchanged: tuple[Unchanged, ...]


@dataclass(kw_only=True)
class FilePoints(PointRows, Inquiry[Written, FileRelease]):
    """A release of all points of a file: `count` is the first pass, `draw` the second.

    Parameters
    ----------
    file, form, plane, guarantee, method, people, where, outside, missing, kept, times
        As of `PointRows`.
    removed : sequence of str
        The columns that are removed.
    keep : "all" or sequence of names, optional
        The columns that the owner asked to release unchanged.
    key : SigningKey, optional
        The key that signs the certificate.
    thin : int, optional
        The length in microseconds of the intervals in which a person keeps one row.
    """

    takes_long = True

    removed: tuple[str, ...]
    keep: Columns = None
    key: SigningKey | None = None
    thin: int | None = None
    #: The path that is written, and the name that the file will have.
    target: Path | None = None
    final: Path | None = None
    #: The numbers of rows that are removed.
    rows_removed: RowCounts = NONE
    #: The random labels that are released in place of those of persons.
    pseudonyms: list[str] | None = None
    #: Marks the persons who are left out.
    skipped: NDArray[np.bool_] | None = None
    #: The rows and the units of each batch, where times are needed.
    timed: TimedRows | None = None
    #: Whether the times of points are kept after they were counted.
    keep_times: bool = False
    #: The bytes of all columns that the first pass has read, texts among them.
    read_bytes: int = 0
    _held: list[tuple[pa.Array, Index, Floats]] = field(default_factory=list)
    #: The first row of each batch, and the label of each of its rows as a position among the labels of the batch.
    _known: list[tuple[int, NDArray[np.int32]]] = field(default_factory=list)
    _state: State | None = None
    _first: Fingerprint = field(default_factory=Fingerprint)
    _certified: tuple[FileRelease, Certificate] | None = None

    def count(self, progress: Progress, *, every_column: bool = False) -> None:
        """Check all locations and texts, and count each person's points, which determine the noise.

        Parameters
        ----------
        progress : callable
            Called with the share of the whole work that is done, from 0 to 1.
        every_column : bool
            Whether all released columns are read, so that a damaged one is found now.
        """
        import pyarrow as pa

        def look(batch: Batch) -> tuple[Batch, RowCounts, pa.DictionaryArray, pa.Array, list[PartOfTimes] | None]:
            batch, less, coded = self.checked(batch)
            return (
                batch,
                less,
                coded,
                self.people.labels_of_points(batch),
                times_of(batch, self.times) if self.times else None,
            )

        self._state = file_state(self.file.path)
        released = self.kept if every_column else [*self.texts, *self.named]
        wanted = [*self.by, *self.filtered_by, *self.times, *released]
        sample, types = RowSample(self.named), set[str]()
        timed = TimedRows(self.people, self.times, self.thin, self.guarantee.metric.stretch) if self.times else None
        known = 0
        for batch, less, coded, persons, times in _ordered(look, self.file.batches([*dict.fromkeys(wanted)])):
            labels, codes = coded.dictionary, np.asarray(coded.indices)[batch.rows]
            self.rows_removed += less
            self.read_bytes += batch.columns.nbytes
            known += len(batch)
            if known <= _KNOWN_ROWS:
                self._known.append((batch.first, np.asarray(coded.indices)))
            types |= batch.types
            sample.add(batch)
            self.people.add(labels, np.bincount(codes, minlength=len(labels)))
            self._first.add(batch.coords, persons)
            if timed is not None and times is not None:
                timed.add(labels, codes, batch.rows, len(batch), times)
            if self.together:
                self._held.append((labels, codes, batch.coords))
            progress(_FIRST_PASS * batch.share)
        if self.people.by is not None:
            distinct(self.people.persons, self.people.by, self.file.path.name)
        if not self.people.sizes.sum():
            raise no_locations(self.file, self.rows_removed)
        if timed is not None:
            self.timed = timed.counted(keep=self.keep_times)
            self.rows_removed += RowCounts(thinned=timed.thinned)
            self._held = [
                (labels, codes[kept], coords[kept])
                for (labels, codes, coords), kept in zip(self._held, timed.kept_points(), strict=False)
            ]
        self.form.check_types(types)
        if self.form.spreadsheet:
            self.formulas.update(name for name in self.texts if has_formulas(pa.array([name])))
        check_kept(sample.columns(without=self.placed), sample.places, self.keep, self.plane)

    @property
    def estimated_size(self) -> int:
        """About how many bytes the released file has, from the numbers of points and columns and the length of texts.

        All of these are public or released.
        """
        each = _POINT_BYTES + _VALUE_BYTES * len(self.kept)
        if self.form.path.suffix.lower() not in _TERSE:
            # Formats such as GeoJSON repeat the names of columns in every row.
            each += sum(len(name) + 6 for name in self.kept)
        return int(self.people.sizes.sum()) * each + self.read_bytes

    def query_of(self, n: int) -> Points:
        """Return the query about a person of the file with n points, or about a person with a single point."""
        if self.largest is None:
            return self.query(n)
        if n == 1:
            return self.query(1, UnitSizes(1))
        return self.persons.each[int(np.flatnonzero(self.people.sizes == n)[0])]

    @property
    def sizes(self) -> Index:
        """The number of points of each person that are written."""
        return self.people.sizes if self.skipped is None else np.where(self.skipped, 0, self.people.sizes)

    def _rows(self) -> Iterator[tuple[int, Batch]]:
        """Read the file again in numbered batches, with the columns that are released and those of the filter."""
        return enumerate(self.file.batches([*dict.fromkeys([*self.kept, *self.by, *self.filtered_by, *self.times])]))

    @property
    def largest(self) -> Index | None:
        """The number of points in the largest unit of each person, where units are stretches of time."""
        return None if self.timed is None else self.timed.largest

    @property
    def time_span(self) -> tuple[int, int] | None:
        """The first and the last time of the persons who are not skipped, where times are needed."""
        return None if self.timed is None else self.timed.span(self.skipped)

    @cached_property
    def persons(self) -> Persons[Points]:
        """The query of each person."""
        if self.largest is None:
            return Persons.by_size(self.people.sizes, self.query)
        return Persons.by_largest(self.people.sizes, self.largest, self.query)

    @cached_property
    def noise(self) -> PointNoise:
        """The noise of each query."""
        return PointNoise(self.persons.queries, self.plane.area)

    def writing_to(self, target: Path, final: Path) -> FilePoints:
        """Return the inquiry that writes to a path, which will be renamed."""
        return replace(self, target=target, final=final)

    def bill(self, source: Source, account: Metric | None) -> Bill:
        return Bill(
            self.guarantee,
            price_of("a file", self.guarantee, account),
            self.persons.first,
            int(self.people.sizes.sum()),
            self.plane.area,
            not source.exact,
            file=self.file.path.name,
            by=self.people.by,
            outside=self.outside,
            where=None if self.where is None else self.where.text,
        )

    def without(self, skipped: NDArray[np.bool_] | None) -> FilePoints:
        return self if skipped is None else replace(self, skipped=skipped)

    def draw(self, source: Source, progress: Progress) -> Written:
        """Read the file again, add noise, and write it."""
        assert self.target is not None
        moved = 0
        released = self._released_together if self.together else self._released_apart
        second, sample = Fingerprint(), RowSample([*self.kept])
        removed_now = NONE

        def parts() -> Iterator[Batch]:
            nonlocal moved, removed_now
            for found, batch, beyond in released(source):
                second.add(found.coords, found.persons)
                removed_now += found.removed
                moved += beyond
                sample.add(batch)
                yield batch
                progress(_FIRST_PASS + (1 - _FIRST_PASS) * batch.share)

        self.form.write(self.target, parts(), self.schema(pseudonyms=self.pseudonyms is not None))
        self._check_unchanged(second, removed_now)
        pseudonymised = set(() if self.pseudonyms is None else self.by)
        unchanged = unchanged_columns(sample.columns(without=pseudonymised), self.kept, sample.places, self.plane)
        return Written(digest(self.target), moved, unchanged)

    def read_again(self, progress: Progress) -> Iterator[tuple[ReadRows, Floats]]:
        """Yield the batches of the second reading with their points in metres; refuse a file that has changed."""
        second, removed_now = Fingerprint(), NONE

        def entered(numbered: tuple[int, Batch]) -> tuple[ReadRows, Floats]:
            read = self._read(numbered)
            return read, as_reals(self.enter(read.batch)).values

        for read, coords in _ordered(entered, self._rows()):
            second.add(read.coords, read.persons)
            removed_now += read.removed
            yield read, coords
            progress(_FIRST_PASS + (1 - _FIRST_PASS) * read.batch.share)
        self._check_unchanged(second, removed_now)

    def packed(self, drawn: Written) -> dict[str, Any]:
        return {"sha256": drawn.sha256}

    def unpacked(self, stored: dict[str, Any]) -> Written:
        allowed = "that of a file that was not released before: a ledger keeps the digest of a file, not the file"
        raise InvalidParameter(
            "to", str(self.final), allowed, "Copy the released file, or ask with another label or key."
        )

    def made(self, **facts: Any) -> FileRelease:
        """Return the release, given its facts."""
        return FileRelease(self.final, **facts)

    def certified(self, drawn: Written, source: Source, receipt: Receipt) -> tuple[FileRelease, Certificate]:
        """Return the release and its certificate, signed if there is a key. They are made once."""
        if self._certified is None:
            release = self.made(**self.facts(drawn, source, receipt))
            account = signed(release.certificate(), self.key)
            self._certified = replace(release, signature=account.get("signature")), account
        return self._certified

    def digests(self, drawn: Written, source: Source, receipt: Receipt) -> dict[str, str]:
        _, account = self.certified(drawn, source, receipt)
        return {"file": drawn.sha256, "certificate": certificate_digest(account)}

    def shape(self, drawn: Written, source: Source, receipt: Receipt) -> FileRelease:
        """Return the release, and write its certificate beside the file."""
        assert self.target is not None
        release, account = self.certified(drawn, source, receipt)
        write_certificate(self.target, account)
        return release

    def facts(self, drawn: Written, source: Source, receipt: Receipt) -> dict[str, Any]:
        """Return the fields of the release other than its value."""
        import pandas as pd

        order = self.listed()
        skipped = np.zeros(len(order), dtype=bool) if self.skipped is None else self.skipped
        there = order[~skipped[order]]
        index = self.people.index
        left_out = receipt.skipped_names
        if index is not None and self.pseudonyms is not None:
            index = pd.Index(self.pseudonyms, name=index.name)
            left_out = tuple(index[order[skipped[order]]])
        return {
            "answers": answers_without_values(Persons(self.persons.queries, self.persons.which[there])),
            "guarantee": self.guarantee,
            "n": int(self.sizes.sum()),
            "plane": self.plane,
            "person": None if index is None else copied_index(index[there]),
            "pseudonyms": self.pseudonyms is not None,
            "outside": self.outside,
            "removed": removed(
                self.rows_removed, None if self.where is None else self.where.text, self.removed, left_out
            ),
            "unchanged": drawn.unchanged,
            "times": stated_names(self.times) if self.guarantee.metric.stretch is not None else None,
            "span": self.time_span if self.guarantee.metric.stretch is not None else None,
            "inexact": source.inexact,
            "entry": receipt.entry,
            "id": receipt.id,
            "person_column": self.people.by,
            "reading": self.form.reading,
            "digest": drawn.sha256,
            "moved": drawn.moved,
            "formulas": tuple(name for name in self.kept if name in self.formulas),
        }

    def listed(self) -> Index:
        """Return the positions of all persons in the order in which a release lists them: that of their first rows."""
        return np.arange(len(self.people.sizes))

    def _check_unchanged(self, second: Fingerprint, removed_now: RowCounts) -> None:
        """Refuse a file that changed between the two passes, given what the second pass read and removed."""
        same = second.digest == self._first.digest and removed_now == self.rows_removed
        if not same or file_state(self.file.path) != self._state:
            raise self._changed()

    def _changed(self) -> InvalidFile:
        remedy = "Try again when no program writes to it."
        return InvalidFile(
            str(self.file.path),
            "changed",
            "unchanged while it is read two times",
            remedy,
            charged="nothing",
        )

    def _read(self, numbered: tuple[int, Batch]) -> ReadRows:
        """Take a batch of the second reading, without the rows that are not to be released."""
        import pyarrow as pa

        number, batch = numbered
        batch, less = self.selected(batch)
        columns = [*dict.fromkeys([*self.kept, *self.by])]
        batch = replace(batch, columns=batch.columns.select(columns))
        person = self._persons_of(number, batch)
        if (person < 0).any():
            raise self._changed()
        coords, persons = batch.coords, self.people.labels_of_points(batch)
        kept = np.ones(len(batch), dtype=bool)
        sizes = times = None
        if self.timed is not None:
            if not self.timed.fits(number, len(batch), len(coords)):
                raise self._changed()
            kept, sizes, times = self.timed.kept[number], self.timed.sizes_of(number), self.timed.moments_of(number)
            less += RowCounts(thinned=int((~kept).sum()))
        if self.skipped is not None:
            kept = kept & ~self.skipped[person]
        if not kept.all():
            points = kept[batch.rows]
            sizes = None if sizes is None else sizes[points]
            times = None if times is None else times[points]
            batch, person = batch.chosen(kept), person[kept]
        labels = None
        if self.pseudonyms is not None:
            labels = pa.array(self.pseudonyms, pa.string()).take(pa.array(person))
        return ReadRows(coords, persons, batch, person, less, sizes, times, labels)

    def _persons_of(self, number: int, batch: Batch) -> Index:
        """Return the position of the person of each row of the second reading.

        Persons are known from the first pass; if the file has changed since, the fingerprints of both will differ.
        """
        if number < len(self._known):
            first, codes = self._known[number]
            if first == batch.first and len(codes) == len(batch):
                return self.people.positions(number)[codes].astype(np.int64)
        return self.people.whose(batch)

    def _released_apart(self, source: Source) -> Iterator[tuple[ReadRows, Batch, int]]:
        """Yield released batches one by one, where the noise of all points is independent."""

        def release(numbered: tuple[int, Batch]) -> tuple[ReadRows, Batch, int]:
            read = self._read(numbered)
            return read, *self.release(read, self.noise, self.persons.which[read.rows], source)

        yield from _ordered(release, self._rows(), _workers(source))

    def _released_together(self, source: Source) -> Iterator[tuple[ReadRows, Batch, int]]:
        """Draw noise for all points at once, which the first pass kept in memory, and yield released batches."""
        import pyarrow.compute as pc

        of = [np.asarray(pc.index_in(labels, value_set=self.people.persons))[codes] for labels, codes, _ in self._held]
        person, points = np.concatenate(of), np.concatenate([coords for _, _, coords in self._held])
        self._held.clear()
        if self.skipped is not None:
            kept = ~self.skipped[person]
            person, points = person[kept], points[kept]
        # Persons who are skipped have no points and no noise.
        there = np.flatnonzero(self.sizes)
        sizes, which = self.sizes[there], self.persons.which[there]
        order = np.argsort(person, kind="stable")
        ends = np.cumsum(sizes)

        def draw(people: slice) -> None:
            rows = order[ends[people.start] - sizes[people.start] : ends[people.stop - 1]]
            each = [self.noise.mechanisms[i] for i in which[people]]
            # Noisy coordinates of the plane replace those of the file's system.
            points[rows] = sample_people(each, sizes[people], self.plane.enter(points[rows], self.outside), source)

        for _ in _ordered(draw, _shares(ends), _workers(source)):
            pass
        first = 0
        for read in _ordered(self._read, self._rows()):
            end = first + len(read.batch.rows)
            if not np.array_equal(read.rows[read.batch.rows], person[first:end]):
                raise self._changed()
            yield read, *self.written(read, self.noise, self.persons.which[read.rows], points[first:end])
            first = end


def no_locations(file: LocationFile, removed: RowCounts = NONE) -> InvalidFile:
    """Return the error for a file that has no locations, or none after rows were removed."""
    remedy = (
        f"None of its {removed.total} rows remains: {removed}." if removed.total else "There is nothing to release."
    )
    return InvalidFile(str(file.path), 0, "a file with at least one location", remedy)


def _workers(source: Source) -> int:
    """Return the number of threads: one for a seeded generator, whose numbers must be drawn in order."""
    return _WORKERS if source.exact else 1


def _ordered(work: Callable[[T], R], items: Iterable[T], workers: int = _WORKERS) -> Iterator[R]:
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


def _shares(ends: Index) -> Iterator[slice]:
    """Yield slices of persons who together have about as many points as a batch has rows.

    `ends` is the position after the last point of each person.
    """
    start = 0
    while start < len(ends):
        stop = max(int(np.searchsorted(ends, (ends[start - 1] if start else 0) + ROWS, side="right")), start + 1)
        yield slice(start, stop)
        start = stop
