"""The persons in a file and the number of points of each, which determine the noise."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidFile, Message
from geoveil.geo.formats import Batch
from geoveil.geo.geometries import Index

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["PersonCounts", "labels_of", "labels_of_points"]

#: The largest number of labels in memory before equal ones are merged.
_LABELS = 2**22


class PersonCounts:
    """The persons in a file, named by a column if there are several, and the number of points of each."""

    def __init__(self, by: str | None) -> None:
        self.by = by
        self._parts: list[pa.Array] = []
        self._counts: list[Index] = []
        self._positions: list[NDArray[np.int32]] = []
        self._held = 0

    def add(self, labels: pa.Array, counts: Index) -> None:
        """Add points of some persons: their labels as a pyarrow array, and the number of points of each."""
        self._parts.append(labels)
        self._counts.append(counts)
        self._held += len(labels)
        if self._held > _LABELS:
            self._merge()

    def _merge(self) -> None:
        import pyarrow as pa

        if not self._parts:
            self._parts, self._counts = [pa.array([], pa.string())], [np.zeros(0, dtype=np.int64)]
        merged = pa.chunked_array(self._parts).combine_chunks().dictionary_encode()
        ends = np.cumsum([len(part) for part in self._parts])
        positions = np.split(np.asarray(merged.indices, dtype=np.int32), ends[:-1])
        # Labels that were merged before come first, and keep their positions.
        self._positions += positions[1:] if self._positions else positions
        totals = np.bincount(np.asarray(merged.indices), weights=np.concatenate(self._counts))
        self._parts, self._counts = [merged.dictionary], [totals.astype(np.int64)]
        self._held = 0

    def recount(self, sizes: Index) -> None:
        """Replace the numbers of points, after some rows were removed."""
        self._merged = self.persons, sizes

    @cached_property
    def _merged(self) -> tuple[pa.Array, Index]:
        self._merge()
        return self._parts[0], self._counts[0]

    @property
    def persons(self) -> pa.Array:
        """Their labels as a pyarrow array, in the order in which they first appear."""
        return self._merged[0]

    @property
    def sizes(self) -> Index:
        """The number of points of each person."""
        return self._merged[1]

    @property
    def names(self) -> list[object] | None:
        """Their labels as a list; None without a column of persons."""
        return None if self.by is None else self.persons.to_pylist()

    @property
    def index(self) -> pd.Index | None:
        """The persons as a pandas Index; None without a column of persons."""
        import pandas as pd

        return None if self.by is None else pd.Index(self.persons.to_pandas(), name=self.by)

    def positions(self, number: int) -> NDArray[np.int32]:
        """Return the positions among all persons of the labels that were added as the part with this number."""
        _ = self._merged
        return self._positions[number]

    def labels(self, batch: Batch) -> pa.Array:
        """Return the label of the person of each row as a pyarrow array; refuse rows without one."""
        return labels_of(batch, self.by)

    def positions_of(self, labels: pa.Array) -> Index:
        """Return the position of each label among all persons; -1 for persons who were not counted."""
        import pyarrow.compute as pc

        return np.asarray(pc.fill_null(pc.index_in(labels, value_set=self.persons), -1), dtype=np.int64)


def labels_of(batch: Batch, by: str | None) -> pa.Array:
    """Return the label of the person of each row as a pyarrow array; refuse rows without one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if by is None:
        return pa.repeat(0, len(batch))
    column = batch.columns[by].combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    unknown = pc.is_null(column, nan_is_null=True)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        unknown = pc.or_kleene(unknown, pc.equal(column, ""))
    if pc.any(unknown).as_py():
        row = pc.index(unknown, True).as_py()
        others = "{where:{by} is not null}" if by.isidentifier() else "{where}"
        remedy = Message(f"Give everyone a label, or use only the other rows with {others}.", by=by)
        raise InvalidFile(f"{batch.name(row)}, {by}", None, "the label of a person", remedy)
    # Zero is one number, whatever its sign.
    return pc.add(column, pa.scalar(0, column.type)) if pa.types.is_floating(column.type) else column


def labels_of_points(batch: Batch, labels: pa.Array) -> pa.Array:
    """Return the label of the person of each point, given that of each row."""
    import pyarrow as pa

    each_row_once = np.array_equal(batch.rows, np.arange(len(labels)))
    return labels if each_row_once else labels.take(pa.array(batch.rows))
