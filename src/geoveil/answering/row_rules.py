"""Turn batches of rows into batches of released rows: the part of a release that files and clusters share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from geoveil._types import Columns
from geoveil.answering.intake import in_the_plane
from geoveil.answering.person_counts import labels_of
from geoveil.answering.settings import Settings
from geoveil.answering.timed_rows import has_times
from geoveil.errors import InvalidFile, Message
from geoveil.facts import Reason, RowCounts
from geoveil.geo import Area, Plane
from geoveil.geo.formats import Batch, LocationFile
from geoveil.geo.forms import Floats
from geoveil.geo.geometries import Index
from geoveil.geo.plain_values import is_text, shows_places
from geoveil.geo.row_filters import RowFilter
from geoveil.geo.texts import has_formulas
from geoveil.mechanisms import Additive, sample_rows
from geoveil.noise import Reals, Source
from geoveil.privacy import Guarantee
from geoveil.queries import Points, UnitSizes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Findings", "PointNoise", "ReadRows", "RowRules"]


@dataclass(frozen=True)
class ReadRows:
    """A batch of the second reading."""

    #: All points that have a place, and the label of the person of each, for comparison with the first reading.
    coords: Floats
    persons: pa.Array
    #: The rows that are released.
    batch: Batch
    #: The position of the person of each of these rows.
    rows: Index
    #: The numbers of rows that were removed, for comparison with the first reading.
    removed: RowCounts
    #: The number of points in the largest unit that holds each point of these rows.
    sizes: Index | None = None
    #: The time of each point of these rows in microseconds.
    times: Index | None = None
    #: The pseudonym of the person of each of these rows, if persons get pseudonyms.
    labels: pa.Array | None = None


@dataclass
class Findings:
    """Columns of texts in which a first reading found a geometry, and those that a spreadsheet would run."""

    placed: set[str] = field(default_factory=set)
    formulas: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class PointNoise:
    """The noise of points, which depends on the number of points of their person."""

    #: A query for each number of points that occurs.
    queries: Sequence[Points]
    area: Area

    @property
    def by_point(self) -> bool:
        """Whether the noise of a point depends on the size of the units that hold it."""
        return self.queries[0].by_point

    @cached_property
    def mechanisms(self) -> list[Additive]:
        """The mechanism of each query."""
        return [query.mechanism for query in self.queries]

    @cached_property
    def radii(self) -> Floats:
        """The 95% error radius of a single point, in ground metres, one per query."""
        radii = [query.error(0.05, each=True) + query.rounding_error for query in self.queries]
        return np.array([self.area.ground(radius) for radius in radii])


@dataclass(frozen=True, kw_only=True)
class RowRules:
    """How rows are checked, selected and released, one batch at a time, in a file or on a worker."""

    #: The file, or the columns of a table that is read like one.
    file: LocationFile
    #: The format that is written: the file itself, or a file of another format with its columns.
    form: LocationFile
    #: The plane in which noise is added.
    plane: Plane
    #: The guarantee for each person.
    guarantee: Guarantee
    settings: Settings
    #: The algorithm for points.
    method: str = "best"
    where: RowFilter | None = None
    #: The columns of times, where stretches of time are protected, rows are thinned, or slices are asked for.
    times: tuple[str, ...] = ()
    #: The columns that the owner asked to release unchanged, those that are so released, each with the reason, and
    #: those that are removed.
    keep: Columns = None
    kept: dict[str, Reason] = field(default_factory=dict)
    removed: tuple[str, ...] = ()

    @property
    def by(self) -> list[str]:
        """The column of persons, if there is one."""
        return [] if self.settings.by is None else [self.settings.by]

    @property
    def filtered_by(self) -> tuple[str, ...]:
        """The columns of the filter."""
        return () if self.where is None else self.where.columns

    @property
    def texts(self) -> list[str]:
        """The columns of texts that are released unchanged."""
        return [name for name in self.kept if is_text(self.file.columns[name])]

    @property
    def named(self) -> list[str]:
        """The columns that are released because the owner named them."""
        return [name for name, reason in self.kept.items() if reason == "named"]

    @property
    def added(self) -> tuple[str, ...]:
        """The columns that a release adds."""
        return ("radius_95", self.guarantee.symbol) if self.form.extensible else ()

    def schema(self, *, pseudonyms: bool) -> pa.Schema:
        """Return the columns of a release besides the locations."""
        import pyarrow as pa

        kinds = {**self.file.columns, **(dict.fromkeys(self.by, pa.string()) if pseudonyms else {})}
        kept = [(name, kinds[name]) for name in self.kept]
        return pa.schema([*kept, *((name, pa.float64()) for name in self.added)])

    @cached_property
    def together(self) -> bool:
        """Whether a person's noise must be drawn together."""
        return not self.query(1, UnitSizes(1) if self.guarantee.metric.of_unit else None).mechanism.independent

    def query(self, n: int, units: UnitSizes | None = None) -> Points:
        """Return the query about a person with n points, in units of these sizes."""
        working = in_the_plane(self.guarantee, self.plane.area)
        return Points(n, 2, working, self.method, rounding=self.plane.rounding, units=units)

    @property
    def asked_about(self) -> list[str]:
        """The columns that are read besides the locations if no column is released."""
        return [*dict.fromkeys([*self.by, *self.filtered_by, *self.times])]

    @property
    def released(self) -> list[str]:
        """The columns that are read besides the locations when rows are released."""
        return [*dict.fromkeys([*self.kept, *self.asked_about])]

    def checked(self, batch: Batch, findings: Findings) -> tuple[Batch, RowCounts, pa.Array, pa.DictionaryArray]:
        """Check a batch in the first pass; return the rows that remain, counts of removed rows, and labels of persons.

        The labels come as they are, and as a dictionary with positions in it.
        """
        batch, less = self.selected(batch)
        persons = labels_of(batch, self.settings.by)
        coded = persons.dictionary_encode()
        # Labels repeat, so each distinct one is looked at once.
        labels = dict.fromkeys(self.by, coded.dictionary)
        texts = {name: labels.get(name, batch.columns[name]) for name in self.texts}
        findings.placed.update(name for name, values in texts.items() if shows_places(values))
        released = [name for name in self.texts if name not in findings.placed]
        self.form.check_batch(replace(batch, columns=batch.columns.select(released)))
        if self.form.spreadsheet:
            findings.formulas.update(name for name, values in texts.items() if has_formulas(values))
        self.enter(batch)
        return batch, less, persons, coded

    def selected(self, batch: Batch) -> tuple[Batch, RowCounts]:
        """Return the rows that remain, and the numbers of those that are removed."""
        missing = self.settings.missing
        batch, less = batch.selected(self.plane, where=self.where, missing=missing, outside=self.settings.outside)
        if not self.times:
            return batch, less
        there = has_times(batch, self.times)
        if there.all():
            return batch, less
        if missing != "drop":
            remedy = Message("Correct it, or remove such rows with {missing:drop}.")
            raise InvalidFile(batch.name(int(there.argmin())), None, "a row with a time", remedy)
        return batch.chosen(there), less + RowCounts(untimed=int((~there).sum()))

    def enter(self, batch: Batch) -> Floats | Reals:
        """Return the points of a batch in metres of the plane; refuse invalid ones and those outside the area."""
        if not len(batch):
            return np.empty((0, 2))
        return self.plane.enter(batch.coords, self.settings.outside, batch.name_of_point)

    def release(self, read: ReadRows, noise: PointNoise, which: Index, source: Source) -> tuple[Batch, int]:
        """Return rows with independent noise, and the number of points that the projection cannot convert back.

        `which` is the position of each row's mechanism in `noise`.
        """
        points = self.enter(read.batch)
        if noise.by_point and read.sizes is not None:
            coords = noise.queries[0].sample_points(points, read.sizes, source)
        else:
            coords = sample_rows(noise.mechanisms, which[read.batch.rows], points, source)
        return self.written(read, noise, which, coords)

    def written(self, read: ReadRows, noise: PointNoise, which: Index, coords: Floats) -> tuple[Batch, int]:
        """Return rows with these released points, and the number of points that cannot be converted back."""
        import pyarrow as pa

        stated = {}
        if self.form.extensible:
            stated["radius_95"] = pa.array(self._radii(read, noise, which))
            stated[self.guarantee.symbol] = pa.repeat(float(self.guarantee.budget), len(read.batch))
        batch = _pruned(read.batch.moved(self.plane.out(coords), **stated))
        if read.labels is not None:
            batch = _relabelled(batch, self.by[0], read.labels)
        return batch, self.plane.beyond(coords)

    def _radii(self, read: ReadRows, noise: PointNoise, which: Index) -> Floats:
        """Return the 95% error radius of each row: that of its point with the most noise."""
        if read.sizes is None or not noise.by_point:
            return np.asarray(noise.radii[which])
        most = np.ones(len(read.batch), dtype=np.int64)
        np.maximum.at(most, read.batch.rows, read.sizes)
        distinct, of = np.unique(most, return_inverse=True)
        alone = [self.query(1, UnitSizes(1)).error_of_size(int(size), 0.05) for size in distinct]
        return np.array([self.plane.area.ground(error) for error in alone])[of]


def _relabelled(batch: Batch, column: str, labels: pa.Array) -> Batch:
    """Return a batch with other labels of persons."""
    table = batch.columns
    at = table.schema.get_field_index(column)
    return replace(batch, columns=table.set_column(at, column, labels))


def _pruned(batch: Batch) -> Batch:
    """Return a batch without unused categories: they would reveal values of rows that were removed."""
    import pyarrow as pa

    table = batch.columns
    for at, kind in enumerate(table.schema):
        if pa.types.is_dictionary(kind.type):
            column = table[kind.name].combine_chunks().cast(kind.type.value_type)
            table = table.set_column(at, kind, column.dictionary_encode().cast(kind.type))
    return replace(batch, columns=table)
