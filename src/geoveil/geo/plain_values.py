"""Checks and copies of labels and columns that are released unchanged.

Only plain values, which cannot contain a geometry, are released unchanged. A pandas object holds more than its rows
show: categories and levels that no row has, numbers beneath a mask, the array of which it is a view. Released objects
are therefore built anew, from the values of the released rows, and share nothing with the input.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from geoveil.geo.texts import any_holds

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = [
    "PandasArray",
    "copied",
    "copied_arrow",
    "copied_index",
    "is_plain",
    "is_text",
    "may_hold_places",
    "retyped",
    "shows_places",
    "without_views",
]

#: An array or index of pandas, or one of numpy.
PandasArray: TypeAlias = Any
#: Types of values that contain nothing beyond what their text shows. Subclasses may contain more.
_PLAIN = frozenset(
    (
        *(type(None), str, bool, int, float, complex, Decimal, Fraction, UUID),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
    )
)
_SHAPE = (
    r"(POINT|LINESTRING|LINEARRING|POLYGON|MULTIPOINT|MULTILINESTRING|MULTIPOLYGON|GEOMETRYCOLLECTION|CIRCULARSTRING"
    r"|COMPOUNDCURVE|CURVEPOLYGON|MULTICURVE|MULTISURFACE|POLYHEDRALSURFACE|TIN|TRIANGLE)"
)
#: Matches WKT, WKB in hexadecimal (either byte order, ISO and extended), and GeoJSON.
_GEOMETRY = (
    rf"(?i)^\s*(SRID\s*=\s*\d+\s*;)?\s*{_SHAPE}\s*(Z|M|ZM)?\s*\("
    r"|(?i)^\s*(01(0[1-9a-f]|1[01])0000[02468ace]0|01[0-9a-f]{2}0[37b]0000"
    r"|00[02468ace]00000(0[1-9a-f]|1[01])|0000000[37b][0-9a-f]{2})([0-9a-f]{16}){2}"
    r'|"coordinates"\s*:\s*\['
)
#: What every match holds: WKT and GeoJSON one of these brackets, WKB in hexadecimal at least this many bytes.
_BRACKETS, _SHORTEST_WKB = "([", 42


def may_hold_places(values: PandasArray) -> bool:
    """Return whether a column or labels contain geometries, or values in which geometries may be hidden.

    Numbers, texts, times, booleans, categories and tuples of these are plain. Geometries, bytes, lists, dicts, arrays
    and objects of any other type are not, and neither are texts that represent a geometry in WKT, WKB or GeoJSON. The
    decision depends on these values alone, never on the true locations.

    Parameters
    ----------
    values : pandas or numpy array, or pandas.Index
        The values of the rows that would be released.
    """
    import pandas as pd

    if isinstance(values, pd.MultiIndex):
        return any(may_hold_places(values.get_level_values(i)) for i in range(values.nlevels))
    values = _unwrapped(values)
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return may_hold_places(values.remove_unused_categories().categories)
    if isinstance(dtype, pd.SparseDtype):
        return may_hold_places(np.empty(0, dtype.subtype))
    if isinstance(dtype, pd.ArrowDtype):
        return not is_plain(dtype.pyarrow_dtype) or shows_places(_arrow(values))
    if isinstance(dtype, pd.StringDtype):
        return shows_places(_arrow(values))
    if isinstance(dtype, np.dtype):
        return _objects_may(values) if dtype.kind == "O" else dtype.kind not in "biufcmMU"
    # Arrays of other libraries may hold anything.
    return not (_masked(values) or isinstance(dtype, pd.DatetimeTZDtype | pd.PeriodDtype | pd.IntervalDtype))


def shows_places(texts: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether any text of a pyarrow array is a geometry in WKT, hexadecimal WKB or GeoJSON.

    False for arrays of other types.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_text(texts.type):
        return False
    if pa.types.is_dictionary(texts.type):
        texts = texts.cast(texts.type.value_type)
    written = texts.cast(pa.large_string())
    longest = pc.max(pc.binary_length(written)).as_py() or 0
    if longest < _SHORTEST_WKB and not any_holds(written, _BRACKETS):
        return False
    return bool(pc.any(pc.match_substring_regex(written, _GEOMETRY)).as_py())


def is_plain(kind: pa.DataType) -> bool:
    """Return whether the values of a pyarrow type are single numbers, texts, times or booleans."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return is_plain(kind.value_type)
    numbers = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    plain = is_text(kind) or any(test(kind) for test in (*numbers, pa.types.is_temporal, pa.types.is_null))
    return plain and not isinstance(kind, pa.BaseExtensionType)


def is_text(kind: pa.DataType) -> bool:
    """Return whether the values of a pyarrow type are texts."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def copied(values: PandasArray) -> PandasArray:
    """Copy values to a new array that holds nothing else.

    Parameters
    ----------
    values : pandas or numpy array, or pandas.Index
        Plain values: those for which `may_hold_places` is false.
    """
    import pandas as pd

    values = _unwrapped(values)
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        used = values.remove_unused_categories()
        return pd.Categorical.from_codes(np.array(used.codes), copied_index(used.categories), ordered=used.ordered)
    if isinstance(dtype, pd.SparseDtype):
        return np.array(values.to_dense())  # the fill value may be that of no row
    if isinstance(dtype, pd.ArrowDtype) or (isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow"):
        return pd.array(copied_arrow(_arrow(values)), dtype=dtype)
    if _masked(values):
        plain = dtype.numpy_dtype
        return type(values)(values.to_numpy(plain, na_value=plain.type(0)), np.array(values.isna()))
    return values.copy()


def retyped(values: PandasArray) -> PandasArray:
    """Copy a column of some rows to an array of the type that these values have by themselves.

    Values of other rows may have made decimals of whole numbers, or objects of numbers.

    Examples
    --------
    >>> retyped(pd.Series([np.nan, 120, 121])[1:]).tolist(), retyped(pd.Series(["x", 120])[1:]).dtype
    ([120, 121], dtype('int64'))
    """
    import pandas as pd

    values = copied(values)
    if not isinstance(values.dtype, np.dtype) or values.dtype.kind not in "Ofiu":
        return values
    if not len(values):
        return np.empty(0, dtype=object)
    if values.dtype.kind == "O":
        # The type of texts is a matter of pandas, with missing ones among them or not.
        values = pd.Series(list(values)).array
        return retyped(values.to_numpy()) if values.dtype.kind in "fiu" else values
    whole = np.abs(np.asarray(values, dtype=float)) < 2**53
    if values.dtype.kind == "f":
        whole &= np.equal(np.floor(values), values)
    return np.asarray(values, dtype=np.int64) if whole.all() else np.asarray(values)


def copied_arrow(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Copy values to a new array of Arrow that holds nothing else.

    In Arrow, a slice keeps the whole array, a missing value keeps the number beneath it, a dictionary keeps values
    that no row has, and a view of a text keeps the texts beside it. `take` copies only the values that it takes.

    Parameters
    ----------
    values : pyarrow array
        Plain values: those of a type for which `is_plain` is true.
    """
    import pyarrow as pa

    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(array, pa.ChunkedArray):  # texts of more than 2 GB
        return pa.concat_arrays([copied_arrow(chunk) for chunk in array.chunks])
    there = array.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_dictionary(array.type):
        used, codes = np.unique(array.indices.take(_places_of(there)).to_numpy(), return_inverse=True)
        indices = pa.array(codes).cast(array.type.index_type).take(_spread(there))
        dictionary = copied_arrow(without_views(array.dictionary).take(pa.array(used)))
        return pa.DictionaryArray.from_arrays(indices, dictionary, ordered=array.type.ordered)
    only = without_views(array).take(_places_of(there))
    # Beneath a missing value there is now nothing, or another value that is released.
    return only if there.all() else only.take(_spread(there))


def without_views(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return texts that are views of a buffer as independent texts; return other arrays of Arrow unchanged."""
    import pyarrow as pa

    return values.cast(pa.large_string()) if pa.types.is_string_view(values.type) else values


def _places_of(there: NDArray[np.bool_]) -> pa.Array:
    """Return the positions of values that are not missing."""
    import pyarrow as pa

    return pa.array(np.flatnonzero(there))


def _spread(there: NDArray[np.bool_]) -> pa.Array:
    """Return for each row the position of its value among those that are not missing, or null."""
    import pyarrow as pa

    return pa.array(np.where(there, np.cumsum(there) - 1, 0), mask=~there)


def copied_index(index: pd.Index) -> pd.Index:
    """Copy labels to a new index that holds nothing else, with the same names."""
    import pandas as pd

    if isinstance(index, pd.MultiIndex):
        levels = [copied_index(index.get_level_values(i)) for i in range(index.nlevels)]
        return pd.MultiIndex.from_arrays(levels, names=index.names)
    if isinstance(index, pd.RangeIndex):
        return pd.RangeIndex(index.start, index.stop, index.step, name=index.name)
    array = copied(index)
    new = pd.Index(array, dtype=array.dtype, name=index.name, copy=False, tupleize_cols=False)
    if isinstance(new, pd.DatetimeIndex | pd.TimedeltaIndex):
        new.freq = index.freq
    return new


def _objects_may(values: Iterable[object]) -> bool:
    """Return whether any Python object is not plain, or is the text of a geometry."""
    import pandas as pd
    import pyarrow as pa

    types = set(map(type, values))
    if tuple in types:
        inner = [value for value in values if type(value) is tuple]
        if _objects_may(list(chain.from_iterable(inner))):
            return True
        types.remove(tuple)
    pandas_own = {pd.Timestamp, pd.Timedelta, pd.Period, pd.Interval, type(pd.NA), type(pd.NaT)}
    for kind in types - _PLAIN - pandas_own:
        if not issubclass(kind, np.generic) or np.dtype(kind).kind not in "biufcmMU":
            return True
    texts = [value for value in values if isinstance(value, str)]
    return bool(texts) and shows_places(pa.array(texts, pa.large_string()))


def _unwrapped(values: PandasArray) -> PandasArray:
    """Return the array of an index, as a numpy array if it wraps one."""
    import pandas as pd

    array: PandasArray = getattr(values, "array", values)
    return array.to_numpy() if type(array) is pd.arrays.NumpyExtensionArray else array


def _masked(values: object) -> bool:
    """Return whether a pandas array has a mask for missing values, and numbers beneath it."""
    import pandas as pd

    return isinstance(values, pd.arrays.IntegerArray | pd.arrays.FloatingArray | pd.arrays.BooleanArray)


def _arrow(values: PandasArray) -> pa.Array:
    import pyarrow as pa

    array = pa.array(values)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
