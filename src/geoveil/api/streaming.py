"""Locations that pass through memory in batches: counted in a first pass, released in a second."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from geoveil.api.ask import answers_of, by_size, in_the_plane
from geoveil.errors import InvalidFile
from geoveil.geo import Plane
from geoveil.geo.columns import distinct
from geoveil.geo.files import Batch, Locations
from geoveil.geo.files.locations import ROWS
from geoveil.geo.shapes import Index, dropped
from geoveil.geo.values import copied_index, shows_places
from geoveil.mechanisms import Additive, sample_people, sample_rows
from geoveil.noise import Reals, Source
from geoveil.privacy import Guarantee
from geoveil.queries import Points
from geoveil.release import Release

__all__ = ["Crowd", "FileRelease", "Work", "nothing"]

Floats = NDArray[np.float64]
T = TypeVar("T")
R = TypeVar("R")

#: Reading and counting take about so much of the time, writing the rest.
_FIRST_PASS = 0.3
_WORKERS = 2
#: So many labels are held before they are merged.
_LABELS = 2**22


@dataclass(frozen=True, eq=False, repr=False)
class FileRelease(Release):
    """A release of points that is a file; its value is the path.

    Parameters
    ----------
    by_column : str, optional
        The column that says whose places they are.
    reading : dict
        With what the file is read.
    digest : str
        SHA-256 of the file.
    moved : int
        Points that the map of their system does not reach and that stand where it ends.
    """

    by_column: str | None = field(kw_only=True)
    reading: dict[str, Any] = field(kw_only=True)
    digest: str = field(kw_only=True)
    moved: int = field(kw_only=True)

    @property
    def beyond(self) -> int:
        return self.moved

    def certificate(self) -> dict[str, Any]:
        file = {"name": self.value.name, "sha256": self.digest, "reading": self.reading, "kind": "points"}
        return {**super().certificate(), "by": self.by_column, "file": file}


class Crowd:
    """Whose points there are, and how many: what the first pass finds.

    Parameters
    ----------
    by : str, optional
        The column that tells; without it all are one person's.
    """

    def __init__(self, by: str | None) -> None:
        self.by = by
        self._parts: list[Any] = []
        self._counts: list[Index] = []
        self._held = 0

    def add(self, labels: Any, counts: Index) -> None:
        """Points of some persons, who may be known already: a pyarrow array of labels, and how many each has."""
        self._parts.append(labels)
        self._counts.append(counts)
        self._held += len(labels)
        if self._held > _LABELS:
            self._merge()

    def count(self, batch: Batch) -> None:
        """The points of some rows."""
        coded = self.labels(batch).dictionary_encode()
        self.add(coded.dictionary, np.bincount(np.asarray(coded.indices)[batch.rows], minlength=len(coded.dictionary)))

    def _merge(self) -> None:
        import pyarrow as pa

        if not self._parts:
            self._parts, self._counts = [pa.array([], pa.string())], [np.zeros(0, dtype=np.int64)]
        merged = pa.chunked_array(self._parts).combine_chunks().dictionary_encode()
        totals = np.bincount(np.asarray(merged.indices), weights=np.concatenate(self._counts))
        self._parts, self._counts = [merged.dictionary], [totals.astype(np.int64)]
        self._held = 0

    @cached_property
    def _merged(self) -> tuple[Any, Index]:
        self._merge()
        return self._parts[0], self._counts[0]

    @property
    def persons(self) -> Any:
        """A pyarrow array of labels, in the order in which they first appear."""
        return self._merged[0]

    @property
    def sizes(self) -> Index:
        """How many points each person has."""
        return self._merged[1]

    @property
    def index(self) -> Any:
        """The persons as pandas has them."""
        import pandas as pd

        return None if self.by is None else pd.Index(self.persons.to_pandas(), name=self.by)

    def labels(self, batch: Batch) -> Any:
        """Whose each row is, as a pyarrow array; nobody's rows are refused."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.by is None:
            return pa.repeat(0, len(batch))
        column = batch.columns[self.by].combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string_view(column.type):
            column = column.cast(pa.string())
        unknown = pc.is_null(column, nan_is_null=True)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            unknown = pc.or_kleene(unknown, pc.equal(column, ""))
        if pc.any(unknown).as_py():
            row = pc.index(unknown, True).as_py()
            remedy = "Give everyone a label, or drop the row."
            raise InvalidFile(f"{batch.name(row)}, {self.by}", None, "a label that says whose place it is", remedy)
        # Zero is one number, whatever its sign.
        return pc.add(column, pa.scalar(0, column.type)) if pa.types.is_floating(column.type) else column

    def whose(self, batch: Batch) -> Index:
        """For each row the position of its person; -1 for one who was not there before."""
        import pyarrow.compute as pc

        found = pc.index_in(self.labels(batch), value_set=self.persons)
        return np.asarray(pc.fill_null(found, -1), dtype=np.int64)


@dataclass(kw_only=True)
class Work:
    """One file's way: `count` in the first pass, `write` in the second."""

    file: Locations
    plane: Plane
    guarantee: Guarantee
    method: str
    crowd: Crowd
    outside: str
    missing: str
    noise: Source
    progress: Callable[[float], None]
    #: Columns of texts that are to be released unchanged, and those of them in which a geometry was found.
    texts: list[str] = field(default_factory=list)
    placed: set[str] = field(default_factory=set)
    left_out: int = 0
    beyond: int = 0
    skipped: NDArray[np.bool_] | None = None
    _held: list[tuple[Any, Index, Floats]] = field(default_factory=list)

    def count(self) -> None:
        """Check all places and texts, and count each person's points: noise depends on that. Nothing is drawn yet."""

        def look(batch: Batch) -> tuple[float, int, Any, Index, Floats | None]:
            batch, missing = self._present(batch)
            coded = self.crowd.labels(batch).dictionary_encode()
            self.placed.update(name for name in self.texts if shows_places(batch.columns[name]))
            if len(batch):
                self.plane.enter(batch.coords, self.outside, batch.name_of_point)
            coords = batch.coords if self.together else None
            return batch.share, missing, coded.dictionary, np.asarray(coded.indices)[batch.rows], coords

        columns = [*dict.fromkeys([*self._by, *self.texts])]
        for share, missing, labels, codes, coords in _ordered(look, self.file.batches(columns)):
            self.left_out += missing
            self.crowd.add(labels, np.bincount(codes, minlength=len(labels)))
            if coords is not None:
                self._held.append((labels, codes, coords))
            self.progress(_FIRST_PASS * share)
        if self.crowd.by is not None:
            distinct(self.crowd.persons, self.crowd.by, self.file.path.name)
        if not self.crowd.sizes.sum():
            raise nothing(self.file)

    @cached_property
    def together(self) -> bool:
        """Whether a person's noise must be drawn together: all points are then held in memory."""
        return not self._query(1).mechanism.independent

    def _query(self, n: int) -> Points:
        working = in_the_plane(self.guarantee, self.plane.area)
        return Points(n, 2, working, self.method, rounding=self.plane.rounding)

    def _enter(self, batch: Batch) -> Floats | Reals:
        return self.plane.enter(batch.coords, self.outside, batch.name_of_point) if len(batch) else np.empty((0, 2))

    @property
    def _by(self) -> list[str]:
        return [] if self.crowd.by is None else [self.crowd.by]

    @property
    def sizes(self) -> Index:
        """How many points of each person are written."""
        return self.crowd.sizes if self.skipped is None else np.where(self.skipped, 0, self.crowd.sizes)

    def _present(self, batch: Batch) -> tuple[Batch, int]:
        there = batch.present
        missing = dropped(there, self.missing, batch.name)
        return (batch.chosen(there) if missing else batch), missing

    @cached_property
    def _queries(self) -> tuple[list[Points], Index]:
        return by_size(self.crowd.sizes, self._query)

    @property
    def queries(self) -> list[Points]:
        """The query of everyone with so many points, for each number of points there is."""
        return self._queries[0]

    @property
    def which(self) -> Index:
        """The query of each person."""
        return self._queries[1]

    @cached_property
    def mechanisms(self) -> list[Additive]:
        """The noise of each query."""
        return [query.mechanism for query in self.queries]

    @cached_property
    def radii(self) -> Floats:
        """The 95% error radius of a single point, in ground metres, one per query."""
        radii = [query.error(0.05, each=True) + query.displaced for query in self.queries]
        return np.array([self.plane.area.ground(radius) for radius in radii])

    def write(self, path: Path, columns: list[str]) -> None:
        """Read all again, add noise, and write."""
        import pyarrow as pa

        added = ("radius_95", self.guarantee.symbol) if self.file.extensible else ()
        types = [*((name, self.file.columns[name]) for name in columns), *((name, pa.float64()) for name in added)]
        released = self._released_together if self.together else self._released_apart
        seen = np.zeros_like(self.sizes)

        def parts() -> Iterator[Batch]:
            for batch, beyond, person in released(columns):
                np.add(seen, np.bincount(person[batch.rows], minlength=len(seen)), out=seen)
                self.beyond += beyond
                yield batch
                self.progress(_FIRST_PASS + (1 - _FIRST_PASS) * batch.share)

        self.file.write(path, parts(), pa.schema(types))
        if (seen != self.sizes).any():
            raise self._changed()

    def _changed(self) -> InvalidFile:
        remedy = "Try again when nobody writes to it. Nothing was released."
        return InvalidFile(str(self.file.path), "other rows than before", "left alone while it is read", remedy)

    def _whose(self, batch: Batch) -> tuple[Batch, Index]:
        """A batch without rows that have no place, and the person of each row."""
        batch, _ = self._present(batch)
        person = self.crowd.whose(batch)
        if (person < 0).any():
            raise self._changed()
        if self.skipped is not None and len(batch):
            kept = ~self.skipped[person]
            batch, person = batch.chosen(kept), person[kept]
        return batch, person

    def _written(self, batch: Batch, coords: Floats, person: Index) -> tuple[Batch, int, Index]:
        """A batch as it is written, of released points in the plane, and how many of these the map does not reach."""
        import pyarrow as pa

        stated = {}
        if self.file.extensible:
            stated["radius_95"] = pa.array(self.radii[self.which[person]])
            stated[self.guarantee.symbol] = pa.repeat(float(self.guarantee.budget), len(batch))
        return _pruned(batch.moved(self.plane.out(coords), **stated)), self.plane.beyond(coords), person

    def _released_apart(self, columns: list[str]) -> Iterator[tuple[Batch, int, Index]]:
        """Batch by batch, where noise is independent on all points."""

        def release(batch: Batch) -> tuple[Batch, int, Index]:
            batch, person = self._whose(batch)
            which = self.which[person][batch.rows]
            return self._written(batch, sample_rows(self.mechanisms, which, self._enter(batch), self.noise), person)

        yield from _ordered(release, self.file.batches(columns), self._workers)

    @property
    def _workers(self) -> int:
        """A generator of numbers for experiments must be asked in order."""
        return _WORKERS if self.noise.exact else 1

    def _released_together(self, columns: list[str]) -> Iterator[tuple[Batch, int, Index]]:
        """All points at once, as the first pass held them."""
        import pyarrow.compute as pc

        of = [np.asarray(pc.index_in(labels, value_set=self.crowd.persons))[codes] for labels, codes, _ in self._held]
        person, points = np.concatenate(of), np.concatenate([coords for _, _, coords in self._held])
        self._held.clear()
        sizes = self.sizes
        if self.skipped is not None:
            kept = ~self.skipped[person]
            person, points = person[kept], points[kept]
        order = np.argsort(person, kind="stable")
        ends = np.cumsum(sizes)

        def draw(people: slice) -> None:
            rows = order[ends[people.start] - sizes[people.start] : ends[people.stop - 1]]
            each = [self.mechanisms[i] for i in self.which[people]]
            # Coordinates of the file's system, of which noisy ones of the plane take the place.
            points[rows] = sample_people(each, sizes[people], self.plane.enter(points[rows], self.outside), self.noise)

        for _ in _ordered(draw, _shares(ends), self._workers):
            pass
        first = 0
        for batch, whose in _ordered(self._whose, self.file.batches(columns)):
            end = first + len(batch.rows)
            if not np.array_equal(whose[batch.rows], person[first:end]):
                raise self._changed()
            yield self._written(batch, points[first:end], whose)
            first = end

    def release(self, target: Path, left_out: tuple[str, ...], sha256: str, **charged: Any) -> FileRelease:
        """The account of what was written."""
        there = slice(None) if self.skipped is None else ~self.skipped
        index = self.crowd.index
        return FileRelease(
            target,
            answers=answers_of(self.queries, self.which[there]),
            n=int(self.sizes.sum()),
            plane=self.plane,
            by=None if index is None else copied_index(index[there]),
            inexact=self.noise.inexact,
            asked=self.guarantee,
            missing=self.left_out,
            clamped=self.outside == "clamp",
            left_out=left_out,
            by_column=self.crowd.by,
            reading=self.file.reading,
            digest=sha256,
            moved=self.beyond,
            **charged,
        )


def nothing(file: Locations) -> InvalidFile:
    """Return the error of a file without places."""
    return InvalidFile(str(file.path), 0, "a file with at least one place", "There is nothing to release.")


def _ordered(work: Callable[[T], R], items: Iterable[T], workers: int = _WORKERS) -> Iterator[R]:
    """The results of work on items, in their order, done by several threads, a few items ahead.

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
    """Persons who have about as many points together as a batch has rows, by where the points of each end."""
    start = 0
    while start < len(ends):
        stop = max(int(np.searchsorted(ends, (ends[start - 1] if start else 0) + ROWS, side="right")), start + 1)
        yield slice(start, stop)
        start = stop


def _pruned(batch: Batch) -> Batch:
    """Categories that no row has would tell what was dropped, or never there."""
    import pyarrow as pa

    table = batch.columns
    for at, kind in enumerate(table.schema):
        if pa.types.is_dictionary(kind.type):
            column = table[kind.name].combine_chunks().cast(kind.type.value_type)
            table = table.set_column(at, kind, column.dictionary_encode().cast(kind.type))
    return replace(batch, columns=table)
