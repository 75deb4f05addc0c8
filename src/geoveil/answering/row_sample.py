"""A bounded sample of the rows of a file, for tests of the columns that are released unchanged."""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil.geo.disclosure import row_places, sampled
from geoveil.geo.formats import Batch
from geoveil.geo.forms import Floats, Index

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RowSample"]

#: The number of batches from which rows are taken: more than one, since a file may be sorted by person.
_BATCHES = 4


class RowSample:
    """Rows of the first batches of a file, evenly spaced in each, and their locations.

    The choice is not random: a second run on the same file takes the same rows.

    Parameters
    ----------
    names : sequence of str
        The columns that are wanted; without any, nothing is held.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = [*names]
        self._tables: list[pa.Table] = []
        self._places: list[Floats] = []

    def add(self, batch: Batch) -> None:
        """Take rows of a batch, unless enough batches were seen."""
        import pyarrow as pa

        if not self._names or not len(batch) or len(self._tables) == _BATCHES:
            return
        rows = sampled(len(batch))
        self._tables.append(pa.table({name: _plain(batch.columns[name]).take(rows) for name in self._names}))
        self._places.append(row_places(batch.coords, batch.rows, rows))

    @property
    def places(self) -> Floats:
        """The first and the last location of each row."""
        return np.concatenate([np.empty((0, 4)), *self._places])[self._rows]

    @property
    def _rows(self) -> Index:
        """The positions of evenly spaced rows among all rows in memory."""
        return sampled(sum(map(len, self._places)))

    def columns(self, *, without: Set[str] = frozenset()) -> dict[Hashable, Any]:
        """Return the columns, as pandas Series by name."""
        import pyarrow as pa

        if not self._tables:
            return {}
        kept = [name for name in self._names if name not in without]
        table = pa.concat_tables(self._tables).select(kept).take(self._rows)
        return {name: table[name].to_pandas() for name in kept}


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without a dictionary, which may differ between batches, and without views of texts."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column
