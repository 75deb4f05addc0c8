"""Release the points of files of any size in batches, which are counted in a first pass and drawn in a second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Progress
from geoveil.answering.charging import Receipt
from geoveil.answering.counted_rows import FIRST_PASS, WORKERS, CountedRows, SecondPass, ordered
from geoveil.answering.pipeline import PreparedQuestion, priced
from geoveil.answering.row_rules import ReadRows
from geoveil.answering.row_sample import RowSample
from geoveil.certificates import Certificate, SigningKey, certificate_digest, signed
from geoveil.certificates.certificate import StatedSignature
from geoveil.errors import InvalidParameter
from geoveil.facts import Unchanged
from geoveil.geo import Area
from geoveil.geo.disclosure import unchanged_columns
from geoveil.geo.formats import Batch
from geoveil.geo.formats.atomic import write_certificate
from geoveil.geo.formats.fingerprints import digest
from geoveil.geo.formats.location_file import ROWS
from geoveil.geo.geometries import Floats, Index
from geoveil.geo.plain_values import copied_index
from geoveil.mechanisms import sample_people
from geoveil.noise import Source
from geoveil.privacy import Guarantee, Metric, dist_1, dist_2
from geoveil.queries import Persons, Query, answers_without_values
from geoveil.release import Release
from geoveil.release.answered import ReleaseFields

__all__ = ["FileFields", "FilePoints", "FileRelease", "Written"]

#: The bytes of a released point with its error radius and budget, and of a number beside it, as text.
_POINT_BYTES, _VALUE_BYTES = 100, 24
#: Endings of formats that state the names of columns once.
_TERSE = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".geoparquet", ".gpkg", ".shp", ".fgb", ".xlsx")


class FileFields(ReleaseFields):
    """The fields of a file's release but its value and its signature."""

    person_column: str | None
    reading: dict[str, Any]
    digest: str
    moved: int
    formulas: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class FileRelease(Release):
    """A release of points that is a file; its value is the path.

    Examples
    --------
    >>> homes.to_file(folder / "homes.gpkg")
    >>> release = gv.Locations(folder / "homes.gpkg", area=bay).points(to=folder / "released.gpkg", rho=1e-4)
    >>> release.value.name, release.n, len(release.to_frame())
    ('released.gpkg', 3, 3)
    """

    #: The column that names the person of each row.
    person_column: str | None = field(kw_only=True)
    #: The options with which the file is read.
    reading: dict[str, Any] = field(kw_only=True)
    #: SHA-256 of the file.
    digest: str = field(kw_only=True)
    #: The number of released points outside the domain of their coordinate system, moved to its edge.
    moved: int = field(kw_only=True)
    #: Columns of a CSV file with texts that a spreadsheet would run as formulas.
    formulas: tuple[str, ...] = field(kw_only=True)
    #: The signature of the certificate, if it was signed.
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

        return replace(load(self.value), recorder=self.recorder)

    def certificate(self) -> Certificate:
        certificate = super().certificate()
        certificate["person"] = self.person_column
        certificate["file"] = {
            "name": self.file_name, "sha256": self.digest, "reading": self.reading, "kind": self.kind.name
        }  # fmt: skip
        if self.formulas:
            certificate["file"]["formulas"] = list(self.formulas)
        if self.signature is not None:
            certificate["signature"] = self.signature
        return certificate


@dataclass(frozen=True)
class Written:
    """A file of released points that was written."""

    sha256: str
    #: The number of released points outside the domain of their coordinate system, moved to its edge.
    moved: int
    #: The columns that are released as they were.
    unchanged: tuple[Unchanged, ...]


@dataclass(frozen=True, kw_only=True)
class FilePoints(PreparedQuestion[Written, FileRelease]):
    """A release of all points of a file, which was counted in a first pass; `draw` is the second."""

    takes_long = True

    rows: CountedRows
    #: The key that signs the certificate.
    sign: SigningKey | None = None
    #: The path that is written, and the name that the file will have.
    target: Path = Path()
    final: Path = Path()

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """The guarantee for each person."""
        return self.rows.rules.guarantee

    @property
    def persons(self) -> Persons[Any]:
        """The query of each person."""
        return self.rows.persons

    @property
    def first(self) -> Query:
        query: Query = self.persons.first
        return query

    @property
    def n(self) -> int:
        return int(self.rows.people.sizes.sum())

    @property
    def area(self) -> Area:
        return self.rows.plane.area

    def recorded(self) -> dict[str, object]:
        return self.rows.described()

    def price(self, certificate: Metric | None) -> Guarantee:
        return priced("a file", self.guarantee, certificate, self._ratio)

    def _ratio(self, target: Metric) -> float | None:
        """Return the factor by which the noise would grow under another metric; None if it is not known.

        The shares of points in a budget are known where their units were counted, or do not depend on times.
        """
        timed, by_point = self.rows.counted.timed, self.rows.noise.by_point
        if target == dist_2 and self.guarantee.power != 2:
            return None
        if timed is None or timed.sizes is None:
            if target.stretch is not None or by_point or (each := self._shares()) is None:
                return None
            sizes = self.rows.people.sizes
            total = (each if target in (dist_1, dist_2) else each * sizes)[sizes > 0].max()
        else:
            facts = timed.facts.chosen(timed.points)
            assert facts.persons is not None
            if by_point:
                shares = 1 / timed.sizes[timed.points]
            elif (each := self._shares()) is None:
                return None
            else:
                shares = each[facts.persons]
            total = facts.largest_sum(shares, target)
        return float(total ** (1 / self.guarantee.power))

    def _shares(self) -> Floats | None:
        """Return the share of a person's budget that each of their points has; None if points are drawn together."""
        persons = self.rows.persons
        shares = [query.budget_shares() for query in persons.queries]
        if any(share is None for share in shares):
            return None
        return np.array([share[0] for share in shares if share is not None])[persons.which]

    @property
    def estimated_size(self) -> int:
        """About how many bytes the released file has, from the numbers of points and columns and the length of texts.

        All of these are public or released.
        """
        kept = self.rows.rules.kept
        each = _POINT_BYTES + _VALUE_BYTES * len(kept)
        if self.rows.rules.form.path.suffix.lower() not in _TERSE:
            # Formats such as GeoJSON repeat the names of columns in every row.
            each += sum(len(name) + 6 for name in kept)
        return self.n * each + self.rows.counted.read_bytes

    def without(self, skipped: NDArray[np.bool_] | None) -> Self:
        return self if skipped is None else replace(self, rows=replace(self.rows, skipped=skipped))

    def draw(self, source: Source, progress: Progress) -> Written:
        """Read the file again, add noise, and write it."""
        moved, rules = 0, self.rows.rules
        released = self._released_together if rules.together else self._released_apart
        second, sample = SecondPass(self.rows), RowSample([*rules.kept])

        def parts() -> Iterator[Batch]:
            nonlocal moved
            for rows, batch, beyond in released(source):
                second.add(rows)
                moved += beyond
                sample.add(batch)
                yield batch
                progress(FIRST_PASS + (1 - FIRST_PASS) * batch.share)

        pseudonyms = self.rows.pseudonyms is not None
        rules.form.write(self.target, parts(), rules.schema(pseudonyms=pseudonyms))
        second.check()
        columns = sample.columns(without=set(rules.by) if pseudonyms else set())
        return Written(digest(self.target), moved, unchanged_columns(columns, rules.kept, sample.places, rules.plane))

    def packed(self, drawn: Written) -> dict[str, Any]:
        return {"sha256": drawn.sha256}

    def unpacked(self, stored: dict[str, Any]) -> Written:
        allowed = "that of a file that was not released before: a ledger keeps the digest of a file, not the file"
        raise InvalidParameter(
            "to", str(self.final), allowed, "Copy the released file, or ask with another label or key."
        )

    @cached_property
    def _made(self) -> list[tuple[FileRelease, Certificate]]:
        return []

    def made(self, facts: FileFields) -> FileRelease:
        """Return the release, given its fields."""
        return FileRelease(self.final, **facts)

    def certified(self, drawn: Written, source: Source, receipt: Receipt) -> tuple[FileRelease, Certificate]:
        """Return the release and its certificate, signed if there is a key. They are made once."""
        if not self._made:
            release = self.made(self.facts(drawn, source, receipt))
            certificate = signed(release.certificate(), self.sign)
            self._made.append((replace(release, signature=certificate.get("signature")), certificate))
        return self._made[0]

    def digests(self, drawn: Written, source: Source, receipt: Receipt) -> dict[str, str]:
        _, certificate = self.certified(drawn, source, receipt)
        return {"file": drawn.sha256, "certificate": certificate_digest(certificate)}

    def shape(self, drawn: Written, source: Source, receipt: Receipt) -> FileRelease:
        """Return the release, and write its certificate beside the file."""
        release, certificate = self.certified(drawn, source, receipt)
        write_certificate(self.target, certificate)
        return release

    def facts(self, drawn: Written, source: Source, receipt: Receipt) -> FileFields:
        """Return the fields of the release other than its value."""
        import pandas as pd

        rows, rules, order = self.rows, self.rows.rules, self.listed()
        skipped = np.zeros(len(order), dtype=bool) if rows.skipped is None else rows.skipped
        there = order[~skipped[order]]
        index = rows.people.index
        left_out = receipt.skipped_names
        if index is not None and rows.pseudonyms is not None:
            index = pd.Index(rows.pseudonyms, name=index.name)
            left_out = tuple(index[order[skipped[order]]])
        return {
            **self.released(rows.stated(rules.removed, left_out), source, receipt),
            "answers": answers_without_values(Persons(self.persons.queries, self.persons.which[there])),
            "n": int(rows.sizes.sum()),
            "person": None if index is None else copied_index(index[there]),
            "pseudonyms": rows.pseudonyms is not None,
            "unchanged": drawn.unchanged,
            "person_column": rows.people.by,
            "reading": rules.form.reading,
            "digest": drawn.sha256,
            "moved": drawn.moved,
            "formulas": tuple(name for name in rules.kept if name in rows.counted.found.formulas),
        }

    def listed(self) -> Index:
        """Return the positions of all persons in the order in which a release lists them: that of their first rows."""
        return np.arange(len(self.rows.people.sizes))

    def _released_apart(self, source: Source) -> Iterator[tuple[ReadRows, Batch, int]]:
        """Yield released batches one by one, where the noise of all points is independent."""
        rows = self.rows

        def release(numbered: tuple[int, Batch]) -> tuple[ReadRows, Batch, int]:
            read = rows.read(numbered)
            return read, *rows.rules.release(read, rows.noise, rows.persons.which[read.rows], source)

        yield from ordered(release, rows.batches(), _workers(source))

    def _released_together(self, source: Source) -> Iterator[tuple[ReadRows, Batch, int]]:
        """Draw noise for all points at once, which the first pass kept in memory, and yield released batches."""
        rows, rules, held = self.rows, self.rows.rules, self.rows.counted.held
        of = [rows.people.positions_of(labels)[codes] for labels, codes, _ in held]
        person, points = np.concatenate(of), np.concatenate([coords for _, _, coords in held])
        held.clear()
        if rows.skipped is not None:
            kept = ~rows.skipped[person]
            person, points = person[kept], points[kept]
        # Persons who are skipped have no points and no noise.
        there = np.flatnonzero(rows.sizes)
        sizes, which = rows.sizes[there], rows.persons.which[there]
        order = np.argsort(person, kind="stable")
        ends = np.cumsum(sizes)

        def draw(people: slice) -> None:
            mine = order[ends[people.start] - sizes[people.start] : ends[people.stop - 1]]
            each = [rows.noise.mechanisms[i] for i in which[people]]
            entered = rules.plane.enter(points[mine], rules.settings.outside)
            # Noisy coordinates of the plane replace those of the file's system.
            points[mine] = sample_people(each, sizes[people], entered, source)

        for _ in ordered(draw, _shares(ends), _workers(source)):
            pass
        first = 0
        for read in ordered(rows.read, rows.batches()):
            end = first + len(read.batch.rows)
            if not np.array_equal(read.rows[read.batch.rows], person[first:end]):
                raise rows.changed()
            yield read, *rules.written(read, rows.noise, rows.persons.which[read.rows], points[first:end])
            first = end


def _workers(source: Source) -> int:
    """Return the number of threads: one for a seeded generator, whose numbers must be drawn in order."""
    return WORKERS if source.exact else 1


def _shares(ends: Index) -> Iterator[slice]:
    """Yield slices of persons who together have about as many points as a batch has rows.

    `ends` is the position after the last point of each person.
    """
    start = 0
    while start < len(ends):
        stop = max(int(np.searchsorted(ends, (ends[start - 1] if start else 0) + ROWS, side="right")), start + 1)
        yield slice(start, stop)
        start = stop
