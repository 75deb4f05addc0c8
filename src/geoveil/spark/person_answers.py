"""Questions about each person of a DataFrame: a hull, a centre, neighbours and others for each, written by workers."""

from __future__ import annotations

from typing import Any, Literal, Unpack, cast, overload

from geoveil._types import (
    CoordinateColumns,
    CrsLike,
    Epsilon,
    Method,
    MetricLike,
    Missing,
    Outside,
    PlaceLike,
    Progress,
    Pseudonyms,
    Rho,
    ShapeLike,
    Short,
    UnitLike,
)
from geoveil._types import Path as PathLike
from geoveil.answering.charging import check_ledger
from geoveil.answering.preparation import charger_of, count, inquiry_of, time_columns_of
from geoveil.answering.units import unit_of
from geoveil.arithmetic import steady
from geoveil.budget import Ledger
from geoveil.certificates import KeyLike, signing_key
from geoveil.errors import InvalidParameter, Message
from geoveil.geo import AreaLike
from geoveil.geo.formats.location_columns import GeometryColumn
from geoveil.noise import source_of
from geoveil.privacy import Duration, as_duration, promise
from geoveil.queries import EXTENT
from geoveil.release import Release
from geoveil.spark import crowd_answers
from geoveil.spark.destination import Destination
from geoveil.spark.frame_columns import FrameLike, open_frame
from geoveil.spark.frame_persons import Asking, FramePersons, PersonRelease
from geoveil.spark.frame_points import PreparedFrame, check_key
from geoveil.spark.question_options import MeanOptions, PersonOptions

__all__ = [
    "bounds",
    "center",
    "diameter",
    "distance",
    "first_within",
    "hull",
    "mean",
    "median",
    "nearest",
    "radius",
    "radius_of_gyration",
]


@steady()
def hull(
    df: FrameLike,
    path: PathLike,
    *,
    k: int | Literal["optimal", "authors"] = "optimal",
    share: float = 0.5,
    distinct: bool = False,
    gamma0: float = 0.0,
    beta: float = 0.1,
    extent: float = EXTENT,
    **how: Unpack[PersonOptions],
) -> PersonRelease:
    """Release the convex hull of each person's points, into a folder of GeoParquet files.

    Parameters
    ----------
    df : DataFrame, or path
        The rows, as for `points`.
    path : str or Path
        The folder to be written, as for `points`.
    k, share, distinct, gamma0, beta, extent : optional
        As for `geoveil.hull`.
    **how : optional
        `by`, which is needed, `rho`, `epsilon`, `metric`, `method`, `unit`, `times`, `thin`, `area`, `crs`, `outside`,
        `missing`, `where`, `pseudonyms`, `lat`, `lon`, `geometry`, `ledger`, `subject`, `short`, `key`, `sign` and
        `progress` as for `points`.

    Returns
    -------
    PersonRelease
        Its value is a DataFrame with a row for each person, that reads what was written.
    """
    options = {"k": k, "share": share, "distinct": distinct, "gamma0": gamma0, "beta": beta, "extent": extent}
    return _answered(df, path, "hull", options, **how)


def _summary(name: str, df: FrameLike, path: PathLike, how: PersonOptions) -> PersonRelease:
    return _answered(df, path, "summary", {"name": name}, **how)


@steady()
def center(df: FrameLike, path: PathLike, **how: Unpack[PersonOptions]) -> PersonRelease:
    """Release the middle of each person's bounding box; see `hull` for the arguments."""
    return _summary("center", df, path, how)


@steady()
def median(df: FrameLike, path: PathLike, **how: Unpack[PersonOptions]) -> PersonRelease:
    """Release the median of each person's coordinates; see `hull` for the arguments."""
    return _summary("median", df, path, how)


@steady()
def bounds(df: FrameLike, path: PathLike, **how: Unpack[PersonOptions]) -> PersonRelease:
    """Release each person's bounding box; see `hull` for the arguments."""
    return _summary("bounds", df, path, how)


@steady()
def radius(df: FrameLike, path: PathLike, **how: Unpack[PersonOptions]) -> PersonRelease:
    """Release the radius of the smallest circle around each person's points; see `hull` for the arguments."""
    return _summary("radius", df, path, how)


@steady()
def radius_of_gyration(df: FrameLike, path: PathLike, **how: Unpack[PersonOptions]) -> PersonRelease:
    """Release each person's radius of gyration; see `hull` for the arguments."""
    return _summary("radius_of_gyration", df, path, how)


@steady()
def diameter(df: FrameLike, path: PathLike, **how: Unpack[PersonOptions]) -> PersonRelease:
    """Release the largest distance between two of each person's points; see `hull` for the arguments."""
    return _summary("diameter", df, path, how)


@overload
def mean(df: FrameLike, path: None = None, **how: Unpack[MeanOptions]) -> Release: ...
@overload
def mean(df: FrameLike, path: PathLike, **how: Unpack[PersonOptions]) -> PersonRelease: ...
@steady()
def mean(df: FrameLike, path: PathLike | None = None, **how: Any) -> Release:
    """Release the mean of all points of a crowd, or with `by` and `path` that of each person's points.

    Parameters
    ----------
    df : DataFrame, or path
        The rows, as for `points`.
    path : str or Path, optional
        With `by`: the folder to be written.
    **how : optional
        With `by` as for `hull`, otherwise as for `heatmap` without `cap`, `bandwidth` and `every`.

    Returns
    -------
    Release
        As that of `geoveil.mean`, or with `by` a PersonRelease.
    """
    if how.get("by") is None:
        return crowd_answers.mean(df, **{name: given for name, given in how.items() if name != "by"})
    if path is None:
        raise InvalidParameter("path", None, "the folder to be written, with by", "Give it after the DataFrame.")
    return _answered(df, path, "summary", {"name": "mean"}, **how)


@steady()
def nearest(
    df: FrameLike, path: PathLike, p: PlaceLike, *, label: str, k: int, **how: Unpack[PersonOptions]
) -> PersonRelease:
    """Release which of each person's points are nearest to a public place.

    Parameters
    ----------
    df, path
        As for `hull`.
    p : place
        The place, as for `geoveil.nearest`.
    label : str
        The column by whose values the neighbours are named; a DataFrame has no order that could number them.
    k : int
        The number of neighbours.
    **how : optional
        As for `hull`.

    Returns
    -------
    PersonRelease
        Its value has a row for each neighbour of each person.
    """
    options = {"p": p, "k": k, "locations": None, "gamma0": 0.0}
    return _answered(df, path, "nearest", options, needs_data=True, label=label, **how)


@steady()
def first_within(
    df: FrameLike, path: PathLike, p: PlaceLike, *, radius: float, label: str, **how: Unpack[PersonOptions]
) -> PersonRelease:
    """Release which of each person's points, in order of time, is the first within a distance of a public place.

    Parameters
    ----------
    df, path, p, label
        As for `nearest`.
    radius : float
        The distance in metres.
    **how : optional
        As for `hull`; `times` is needed.
    """
    options = {"p": p, "radius": radius}
    return _answered(df, path, "first_within", options, needs_data=True, label=label, ordered=True, **how)


@steady()
def distance(
    df: FrameLike, path: PathLike, p: ShapeLike, *, fn_error: float | None = None, **how: Unpack[PersonOptions]
) -> PersonRelease:
    """Release the distance from a public place, line or area to the nearest of each person's points.

    Parameters
    ----------
    df, path
        As for `hull`.
    p, fn_error : optional
        As for `geoveil.distance`.
    **how : optional
        As for `hull`.
    """
    return _answered(df, path, "distance", {"p": p, "fn_error": fn_error}, needs_data=True, **how)


def _answered(
    df: FrameLike,
    path: PathLike,
    build: str,
    options: dict[str, Any],
    *,
    needs_data: bool = False,
    label: str | None = None,
    ordered: bool = False,
    method: Method = "best",
    by: str | None = None,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    unit: UnitLike = None,
    times: str | None = None,
    thin: Duration | None = None,
    area: AreaLike = None,
    crs: CrsLike = None,
    outside: Outside = "refuse",
    missing: Missing = "refuse",
    where: str | None = None,
    pseudonyms: Pseudonyms = False,
    ledger: Ledger | None = None,
    subject: str | None = None,
    short: Short = "refuse",
    key: str | None = None,
    lat: CoordinateColumns = None,
    lon: CoordinateColumns = None,
    geometry: str | None = None,
    sign: KeyLike = None,
    progress: Progress | None = None,
) -> PersonRelease:
    if by is None:
        remedy = Message("Name it with {by}; about all points together ask heatmap, counts, flows or mean.")
        raise InvalidParameter("by", None, "the column of persons", remedy)
    asked = unit_of(unit, metric, by=by)
    guarantee = promise(rho, epsilon, asked.metric)
    check_ledger(ledger, by=by, subject=subject, short=short)
    check_key(key, ledger, pseudonyms)
    signer = signing_key(sign)
    told: Progress = progress or (lambda share: None)
    destination = Destination.of(path)
    if key is None or ledger is None or not ledger.is_stored(key):
        destination.check_free()
    frame, file = open_frame(df, lat=lat, lon=lon, geometry=geometry, crs=crs)
    safe = [name for name in file.columns if name not in file.unsafe]
    if label is not None and label not in safe:
        raise InvalidParameter("label", label, f"a column, one of {safe}", "It names the rows of answers.")
    length = None if thin is None else as_duration("thin", thin)
    timed = length is not None or guarantee.metric.stretch is not None or ordered
    columns = time_columns_of(file, times) if timed else ()
    shaped = isinstance(file.located, GeometryColumn)
    intake: dict[str, Any] = {"by": by, "area": area, "outside": outside}
    if guarantee.metric.stretch is not None or ordered:
        intake["times"] = columns[0]
    asking = Asking(
        build,
        {**options, "method": method},
        needs_data,
        asked.under(guarantee),
        intake if shaped else {**intake, **file.located.reading},
        label,
        file.located.names[0] if shaped else None,
        file.crs,
    )
    about = (file, file, guarantee, "best", by, area, outside, missing, where, None)
    inquiry = cast(FramePersons, inquiry_of(*about, FramePersons, frame=frame, asking=asking))
    # The labels of neighbours are released unchanged.
    inquiry.keep = [] if label is None else [label]
    inquiry.kept, inquiry.removed = dict.fromkeys(inquiry.keep, "named"), ()
    inquiry.destination, inquiry.key, inquiry.times, inquiry.thin = destination, signer, columns, length
    count(inquiry, pseudonyms, told, every_column=False)
    prepared = PreparedFrame(inquiry, charger_of(inquiry, ledger, subject, short), source_of(None), key)
    return cast(PersonRelease, prepared.release(told))
