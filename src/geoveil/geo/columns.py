"""Choose the columns that are released unchanged: persons, times, and those that the owner names."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, Union, cast

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Columns
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.facts import Reason

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = [
    "ROW",
    "Values",
    "choose",
    "distinct",
    "in_full",
    "is_coordinate",
    "named_in",
    "reasons_of",
    "tells_places",
    "words",
]

#: The column of persons whose values are the numbers of rows, where data has no column of this name: each row is
#: another person.
ROW = "row"
#: The values of a column.
Values: TypeAlias = Union["NDArray[Any]", "Sequence[Any]", "pd.Series", "pd.Index", "pd.api.extensions.ExtensionArray"]

#: Words in the names of columns of coordinates.
_COORDINATES = frozenset(
    (
        *("lat", "latitude", "lon", "lng", "long", "longitude", "easting", "northing", "x", "y", "xy", "h3"),
        *("coord", "coords", "coordinate", "coordinates", "geom", "geometry", "wkt", "wkb", "geojson", "geohash"),
    )
)
#: Further words in the names of columns that reveal places. Names of two words are joined.
_PLACES = _COORDINATES | frozenset(
    (
        *("addr", "address", "street", "road", "house", "zip", "zipcode", "postal", "postcode", "city", "town"),
        *("village", "district", "county", "region", "state", "country", "nation", "parish", "suburb", "province"),
        *("location", "venue", "place", "poi", "site", "home", "workplace", "school", "station", "stop", "route"),
        *("pluscode", "quadkey", "cell", "tower", "antenna", "tile", "grid", "bssid", "ssid", "wifi", "beacon"),
        *("ip", "ipv", "north", "east", "elev", "elevation", "altitude", "alt", "ele", "height", "timezone", "tz"),
        *("bearing", "heading", "course", "speed", "dist", "distance", "odometer", "tripname", "what3words", "w3w"),
        *("geo", "gps"),
    )
)
#: Words that count also as a part of a longer one: "homeaddress".
_PARTS = ("address", "street", "postcode", "zipcode", "latitude", "longitude", "geohash", "coord")


def words(name: object) -> list[str]:
    """Split a column's name into words in small letters.

    Examples
    --------
    >>> words("homeLat"), words("h3_8"), words("ZIP code")
    (['home', 'lat'], ['h3'], ['zip', 'code'])
    """
    parts = re.findall(r"what3words|w3w|h3|[A-Z]?[a-z]+|[A-Z]+", str(name))
    return [word.casefold() for word in parts]


def is_coordinate(name: object) -> bool:
    """Return whether a column's name says that it holds coordinates: "lat", "pickup_longitude", "homeLat", "x1"."""
    return not _COORDINATES.isdisjoint(words(name))


def tells_places(name: object) -> bool:
    """Return whether a column's name says that it reveals places: "address", "zip_code", "homeCity", "lat".

    Whole words count: "platform" and "translation" contain "lat" and reveal no place.
    """
    parts = words(name)
    parts += [word.removesuffix("s") for word in parts]
    parts += [first + second for first, second in pairwise(parts)]
    return not _PLACES.isdisjoint(parts) or any(part in word for word in parts for part in _PARTS)


def choose(
    columns: Sequence[Any], *, times: Iterable[Any], by: Hashable, keep: Columns, places: Iterable[Any] = ()
) -> tuple[list[Any], tuple[Any, ...]]:
    """Return the columns that are released unchanged, in their order, and those that are removed.

    Parameters
    ----------
    columns : sequence
        The names of all columns but the places that get noise.
    times : iterable
        Those that hold times.
    by : object
        The column of persons, if it is one of them.
    keep : "all" or sequence of names, optional
        Further columns to release. "all", alone or in the sequence, excludes columns whose names reveal places
        (`tells_places`), unless they are named as well.
    places : iterable
        Columns that may hold places themselves: they are never released, and naming one is an error.
    """
    places = set(places)
    wanted = named_in(keep, columns)
    for name in wanted - set(columns):
        free = [column for column in columns if column not in places]
        raise InvalidParameter("keep", name, f"'all' or a list of columns, among {free}", "Leave it out.")
    for name in wanted & places:
        allowed = "columns without locations: this one has geometries, texts of geometries, bytes or nested values"
        remedy = "Release it in a call of its own, or remove its locations first."
        raise InvalidParameter("keep", name, allowed, remedy)
    if keep is not None and (keep == "all" if isinstance(keep, str) else "all" in keep and "all" not in columns):
        wanted |= {name for name in columns if name not in places and not tells_places(name)}
    wanted |= (set(times) | {by}) - places
    return [name for name in columns if name in wanted], tuple(name for name in columns if name not in wanted)


def named_in(keep: Columns, columns: Iterable[Any]) -> set[Any]:
    """Return the columns that `keep` names one by one; "all" names none, unless a column in a list has that name.

    Examples
    --------
    >>> named_in("all", ["fare", "note"]), named_in(["all", "note"], ["fare", "note"]), named_in(None, [])
    (set(), {'note'}, set())
    """
    if keep is None:
        return set()
    if isinstance(keep, str):
        return set() if keep == "all" else {keep}
    try:
        named = set(keep)
    except TypeError:
        raise InvalidParameter("keep", keep, "'all' or a list of columns", "Leave it out.") from None
    return named if "all" in columns else named - {"all"}


def reasons_of(
    kept: Iterable[Any], *, by: Hashable, times: Iterable[Any], structure: Iterable[Any] = ()
) -> dict[Any, Reason]:
    """Return why each column is released unchanged: for the person, the time, the structure of a file, or by name."""
    reasons: dict[Any, Reason] = dict.fromkeys(kept, "named")
    for names, reason in ((structure, "structure"), (times, "time"), ([by], "person")):
        reasons |= {name: cast(Reason, reason) for name in names if name in reasons}
    return reasons


def in_full(values: Values) -> pd.Series:
    """Return values as a Series without categories and with a default index."""
    import pandas as pd

    column = pd.Series(values).reset_index(drop=True)
    return column.astype(object).infer_objects() if isinstance(column.dtype, pd.CategoricalDtype) else column


def distinct(labels: pa.Array, column: object, where: str) -> None:
    """Refuse different labels that look the same to a reader: one person's points would count as those of two.

    Parameters
    ----------
    labels : pyarrow array
        The labels of persons, each once.
    column, where : str
        The column and the data, for the error message.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type)):
        return
    seen = pc.utf8_normalize(pc.utf8_trim_whitespace(labels), form="NFC").dictionary_encode()
    if len(seen.dictionary) == len(labels):
        return
    codes = seen.indices.to_numpy()
    twice = np.flatnonzero(codes == np.flatnonzero(np.bincount(codes) > 1)[0])
    raise InvalidData(
        str(column),
        labels.take(pa.array(twice)).to_pylist(),
        f"labels that do not look the same (apart from spaces, or the encoding of accents), in {where}",
        "Write each person's label in one way, or the person counts as several.",
    )
