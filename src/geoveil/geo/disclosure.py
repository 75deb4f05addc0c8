"""Find columns that reveal locations when they are released unchanged.

Two tests that must not be confused. `check_kept` compares columns with the true locations, before a release: what it
finds is for the owner of the data alone. `unchanged_columns` looks at the names and values that are released and at
the released locations: what it finds is public, and certificates state it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from geoveil._types import Columns
from geoveil.errors import InvalidParameter, Message, warn
from geoveil.facts import Reason, Unchanged
from geoveil.geo.columns import in_full, is_coordinate, named_in, tells_places
from geoveil.geo.geometries import Floats, Index
from geoveil.geo.location_values import location_values, numbers_of
from geoveil.geo.recognition import names_persons

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from geoveil.geo.planes import Plane

__all__ = [
    "REPEATED",
    "SAMPLE",
    "check_kept",
    "followed_share",
    "label_suspicions",
    "own_suspicions",
    "row_places",
    "sampled",
    "suspicions",
    "unchanged_columns",
]

#: Values of a column.
ColumnValues: TypeAlias = "NDArray[Any] | pd.Series | pd.Index"
#: The number of rows that the tests look at, which bounds their time.
SAMPLE = 10_000
#: The share of the variance of locations, in ranks, that a column must explain to be said to follow them.
_CLOSELY = 0.5
#: The largest probability that an unrelated column is said to follow the locations.
_BY_CHANCE = 1e-5
#: A column that names persons has at most this share of distinct values, unless its name says that it names persons,
REPEATED = 0.9
#: or there are fewer rows than this.
_FEW_ROWS = 10
_SUGGESTS = "its name suggests locations"


def sampled(count: int) -> Index:
    """Return the positions of the rows that are looked at: evenly spaced, at most `SAMPLE` of them.

    Examples
    --------
    >>> sampled(3).tolist(), len(sampled(1_000_000))
    ([0, 1, 2], 10000)
    """
    return np.linspace(0, count - 1, min(count, SAMPLE)).astype(np.intp)


def row_places(coords: Floats, row_of_point: Index, rows: Index) -> Floats:
    """Return the first and the last point of some rows, (m, 4): an origin and a destination, or the ends of a line.

    Parameters
    ----------
    coords : array
        All points, those of one row after those of another.
    row_of_point : array
        The row of each point, in order.
    rows : array
        The rows that are wanted.

    Examples
    --------
    >>> row_places(np.array([[0.0, 1], [2, 3], [4, 5]]), np.array([0, 0, 1]), np.array([0, 1])).tolist()
    [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 4.0, 5.0]]
    """
    first, after = (np.searchsorted(row_of_point, rows, side=side) for side in ("left", "right"))
    return np.hstack([coords[first], coords[after - 1]])


def suspicions(name: Hashable, values: ColumnValues, places: Floats, plane: Plane | None) -> list[str]:
    """Return the reasons, for the owner alone, why releasing a column unchanged may reveal locations.

    Parameters
    ----------
    name : str
        The name of the column.
    values : array or Series
        Its values in some rows.
    places : array
        The true locations of these rows.
    plane : Plane, optional
        The plane of the area and the coordinate system of the data.
    """
    share = followed_share(values, places)
    close = [f"it follows the locations closely: it explains {share:.0%} of where they are"]
    return [*own_suspicions(name, values, plane), *(close if share >= _CLOSELY else [])]


def label_suspicions(name: Hashable, labels: ColumnValues, places: Floats, plane: Plane | None) -> list[str]:
    """Return the reasons, for the owner alone, why labels of persons seem to be those of places or of tracks.

    Where people live tells them apart, so a column that says that it names persons may follow their locations, and
    have one value or another one in each row.

    Parameters
    ----------
    name, labels : str, and array or Series
        The column of persons, and its values in some rows.
    places, plane : array, and Plane, optional
        The true locations of these rows, and the plane of the area.
    """
    if names_persons(name):
        return own_suspicions(name, labels, plane)
    reasons, column = suspicions(name, labels, places, plane), in_full(labels)
    distinct = column.nunique()
    if len(column) >= _FEW_ROWS and distinct == 1:
        reasons.append("all rows have the same label")
    elif len(column) >= _FEW_ROWS and distinct > REPEATED * len(column):
        reasons.append(f"{distinct:,} of {len(column):,} rows have a label of their own")
    return reasons


def own_suspicions(name: Hashable, values: ColumnValues, plane: Plane | None) -> list[str]:
    """Return the reasons why a column itself, by its name or its values, seems to tell places."""
    return [*_by_name(name), *_by_values(values, plane)]


def check_kept(columns: Mapping[Hashable, Any], places: Floats, keep: Columns, plane: Plane | None) -> None:
    """Refuse columns that `keep="all"` would release although they reveal locations; warn of those that are named.

    The error and the warnings are for the owner of the data: they must not be published.

    Parameters
    ----------
    columns : mapping
        The values, in some rows, of the columns that are released because of `keep`.
    places : array
        The true locations of these rows.
    keep : "all" or sequence of names
        The argument.
    plane : Plane, optional
        The plane of the area and the coordinate system of the data.
    """
    named = named_in(keep, columns)
    reasons = {name: suspicions(name, values, places, plane) for name, values in columns.items()}
    refused = {name: why for name, why in reasons.items() if why and name not in named}
    if refused:
        told = "; ".join(f"{name!r}: {_and(why)}" for name, why in refused.items())
        others = [name for name in columns if name not in refused]
        raise InvalidParameter(
            "keep",
            keep,
            f"a list of columns here, since some would reveal locations ({told})",
            Message(
                "Either name the columns to release in {keep}, these only if they may be public (the others are "
                "{others}), or drop these columns from the data first.",
                others=", ".join(map(str, others)) or "none",
            ),
        )
    for name, why in reasons.items():
        # No warning for a name that suggests locations, such as "city": whoever wrote it into `keep` has read it.
        if set(why) - {_SUGGESTS}:
            message = f"The column {name!r} is released unchanged, since it was named, and may reveal locations:"
            warn(f"{message} {_and(why)}.")


def unchanged_columns(
    columns: Mapping[Hashable, Any], reasons: Mapping[Any, Reason], places: Floats, plane: Plane | None
) -> tuple[Unchanged, ...]:
    """Return the columns of a release that are unchanged, each with its reason and its warnings.

    All of it follows from what is released.

    Parameters
    ----------
    columns : mapping
        Their values in some rows.
    reasons : mapping
        Why each of them is released.
    places : array
        The released locations of these rows.
    plane : Plane, optional
        The plane of the area and the coordinate system of the data.
    """
    released = []
    for name, values in columns.items():
        reason = reasons[name]
        # A time such as "stop_time" is named like a place, and the structure of a file is named by its format.
        named = _by_name(name) if reason in ("named", "person") else []
        told = [*named, *_by_values(values, plane)]
        if reason == "named" and followed_share(values, places) >= _CLOSELY:
            told.append("its values follow the released locations closely")
        released.append(Unchanged(name, reason, tuple(told)))
    return tuple(released)


def _by_name(name: Hashable) -> list[str]:
    if is_coordinate(name):
        return ["its name says that it holds coordinates"]
    return [_SUGGESTS] if tells_places(name) else []


def _by_values(values: ColumnValues, plane: Plane | None) -> list[str]:
    kind = location_values(values, plane)
    return [f"its values look like {kind}"] if kind else []


def _and(parts: list[str]) -> str:
    return ", and ".join(parts)


def followed_share(values: ColumnValues, places: Floats) -> float:
    """Return how much of the variance of locations, in ranks, a column explains: from 0 to 1.

    It is 0 where this may well be chance, and for numbers that count the rows, whose order is public.

    Parameters
    ----------
    values : array or Series
        The column.
    places : array
        The locations of each row: (n, 2), or (n, 4) for its first and its last one.

    Notes
    -----
    A column of numbers is compared with both coordinates by linear regression of ranks, and by the means of
    coordinates within 50 classes of values; any column by the means within its distinct values, so that a venue's id
    is found as well. Shares are adjusted for the number of means, and count only if an F test rejects chance.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> places, noise = rng.normal(size=(200, 2)), rng.normal(size=200)
    >>> followed_share(places[:, 0] * 3.28, places) > 0.99, followed_share(noise, places)
    (True, 0.0)
    """
    import pandas as pd

    column = in_full(values)
    known = column.notna().to_numpy()
    column = column[known].reset_index(drop=True)
    # Ranks, since a few places far away would hide all others.
    ranks = pd.DataFrame(places[known]).rank().to_numpy()
    if len(column) < 5:
        return 0.0
    shares = [0.0]
    numbers = numbers_of(column)
    if numbers is not None:
        if _counts_rows(numbers):
            return 0.0
        order = pd.Series(numbers).rank().to_numpy()
        shares.append(_regression(order, ranks))
        classes = np.minimum((order / (len(order) + 1) * 50).astype(int), max(len(order) // 10, 1))
        shares.append(_means(pd.factorize(classes)[0], ranks))
    shares.append(_means(pd.factorize(column)[0], ranks))
    return max(shares)


def _counts_rows(numbers: Floats) -> bool:
    """Return whether whole numbers count the rows: steps between evenly spaced rows differ by at most one."""
    steps = np.diff(numbers)
    counted = (numbers == np.round(numbers)).all() and np.ptp(steps) <= 1
    return bool(counted and ((steps > 0).all() or (steps < 0).all()))


def _regression(order: Floats, ranks: Floats) -> float:
    """Return the adjusted share of a column's ranks that a linear function of the coordinates' ranks explains."""
    total = float(((order - order.mean()) ** 2).sum())
    design = np.column_stack([np.ones(len(order)), ranks])
    # The first and the last location of a row are often the same one.
    weights, _, rank, _ = np.linalg.lstsq(design, order, rcond=None)
    return _share(total, float(((order - design @ weights) ** 2).sum()), int(rank) - 1, len(order) - int(rank))


def _means(codes: Index, ranks: Floats) -> float:
    """Return the largest adjusted share of a coordinate's ranks that the means of groups explain."""
    groups = int(codes.max()) + 1
    sizes = np.bincount(codes)
    shares = [0.0]
    for rank in ranks.T:
        within = rank - (np.bincount(codes, weights=rank) / sizes)[codes]
        total = float(((rank - rank.mean()) ** 2).sum())
        shares.append(_share(total, float((within**2).sum()), groups - 1, len(codes) - groups))
    return max(shares)


def _share(total: float, rest: float, means: int, free: int) -> float:
    """Return 1 less the ratio of the unexplained to the total variance, or 0 if it may well be chance."""
    from scipy.special import fdtrc

    if means < 1 or free < 1 or total <= 0:
        return 0.0
    rest = max(rest, 1e-12 * total)
    chance = fdtrc(means, free, max(total - rest, 0.0) / means / (rest / free))
    return max(0.0, 1 - (rest / free) / (total / (means + free))) if chance < _BY_CHANCE else 0.0
