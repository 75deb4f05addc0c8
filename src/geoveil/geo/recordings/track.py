"""Pings of a track: where, when, and the attributes that were named; nothing else that a file says about it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.columns import is_coordinate, words
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.geometries import Floats, Index, ground_length
from geoveil.geo.recognition import SAMPLE, recognise
from geoveil.geo.seconds import read_times

if TYPE_CHECKING:
    from geoveil.geo.formats import LocationFile

__all__ = [
    *("ATTRIBUTES", "Times", "Track", "TrackFormat", "as_number", "check_measured", "derived_words", "iso_times"),
    *("length", "listed_times", "number_text", "own_coordinates", "point_attributes", "track_of", "with_times"),
]

#: Times in UTC to the microsecond; NaT where a ping has none.
Times: TypeAlias = NDArray[np.datetime64]
#: The attributes of a ping that recordings of devices have, each with the names that formats and programs give it.
ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "altitude": ("ele", "elevation"),
    "heart_rate": ("hr", "heartrate"),
    "cadence": ("cad",),
    "power": ("watts", "powerinwatts"),
    "temperature": ("temp", "atemp"),
}
_OWN_NAME = {name: own for own, names in ATTRIBUTES.items() for name in (own, *names)}
#: Words in the names of values that a device works out from several pings, removed ones among them.
_DERIVED = frozenset(
    (
        *("distance", "dist", "odometer", "speed", "velocity", "pace", "course", "heading", "bearing", "direction"),
        *("lap", "laps", "segment", "index", "idx", "number", "count", "row", "fid", "id", "seq", "sequence"),
        *("elapsed", "duration", "calories", "total", "start", "begin", "begun", "started", "uptime"),
    )
)


@dataclass(frozen=True, eq=False)
class Track:
    """Pings in the order in which they were recorded."""

    #: Longitudes and latitudes in degrees (WGS 84).
    places: Floats
    #: The time of each ping, NaT where it has none.
    times: Times
    #: The named attributes: a value of each ping, or None.
    attributes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    #: Whether the file holds the track as one line rather than as points.
    line: bool = False
    #: The coordinates of the file, if they are in another system than WGS 84.
    native: Floats | None = None

    def __len__(self) -> int:
        return len(self.places)

    def chosen(self, rows: Index) -> Track:
        """Return the pings of some rows, and nothing that depends on the others."""
        at = rows.tolist()
        return Track(
            self.places[rows],
            self.times[rows],
            {name: [values[row] for row in at] for name, values in self.attributes.items()},
            self.line,
            None if self.native is None else self.native[rows],
        )


def own_coordinates(file: LocationFile, degrees: Floats) -> Floats | None:
    """Return places in the coordinate system of an opened file; None if that is longitude and latitude."""
    import pyproj

    if file.crs.is_geographic:
        return None
    from_degrees = pyproj.Transformer.from_crs(GEOGRAPHIC, file.crs, always_xy=True)
    return np.column_stack(from_degrees.transform(*degrees.T))


class TrackFormat(ABC):
    """What is public about a file of tracks: its format, and the attributes that are released.

    A file is written from its format and pieces of tracks. A format holds no pings, so that nothing which was removed
    can reach a released file.
    """

    #: How many pings a piece must have to be written.
    shortest: ClassVar[int] = 1

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The names of what is released of each ping besides its place."""

    @abstractmethod
    def read(self, path: Path) -> list[Track]:
        """Return the tracks of a file."""

    def settled(self, tracks: Sequence[Track]) -> tuple[TrackFormat, list[Track]]:
        """Return the format and the tracks as they are when only these pings have ever been in the file.

        Which column holds times, how they are written, and the types of values are told from pings that remain.
        """
        return self, [*tracks]

    def in_own_system(self, degrees: Floats) -> Floats | None:
        """Return places in the coordinate system of the file; None if that is longitude and latitude."""
        return None

    @abstractmethod
    def write(self, path: Path, pieces: Sequence[Track]) -> None:
        """Write a new document of pieces of tracks."""


def track_of(
    path: Path, places: Sequence[Sequence[object]] | Floats, times: Sequence[str | None] | Times, **more: Any
) -> Track:
    """Return a track, given its longitudes and latitudes as numbers or texts, and its times as texts of ISO 8601."""
    degrees = np.array(places, dtype=np.float64).reshape(-1, 2)
    wrong = ~(np.abs(degrees) <= (180, 90)).all(axis=1)
    if wrong.any():
        lon, lat = degrees[np.flatnonzero(wrong)[0]].tolist()
        remedy = "Remove the point."
        raise InvalidFile(str(path), (lat, lon), "a file with latitudes and longitudes in degrees", remedy)
    when = times if isinstance(times, np.ndarray) else listed_times(times)
    return Track(degrees, when, **more)


def listed_times(texts: Sequence[str | None]) -> Times:
    """Return times of ISO 8601 in UTC, NaT where there is none or it is no time; one without a zone is in UTC.

    Examples
    --------
    >>> listed_times(["2024-03-01T13:00:00+01:00", "2024-03-01T12:00:00Z", None, "soon"]).astype(str).tolist()
    ['2024-03-01T12:00:00.000000', '2024-03-01T12:00:00.000000', 'NaT', 'NaT']
    """
    from contextlib import suppress
    from datetime import UTC, datetime

    moments = []
    for text in texts:
        when = None
        with suppress(ValueError):
            when = datetime.fromisoformat((text or "").strip())
        if when is not None and when.tzinfo is not None:
            when = when.astimezone(UTC).replace(tzinfo=None)
        moments.append(when)
    return np.array(moments, dtype="datetime64[us]")


def iso_times(times: Times) -> list[str | None]:
    """Return times as texts of ISO 8601, with decimals of a second where they have some.

    Examples
    --------
    >>> iso_times(np.array(["2024-03-01T12:00:00", "2024-03-01T12:00:00.25", "NaT"], dtype="datetime64[us]"))
    ['2024-03-01T12:00:00Z', '2024-03-01T12:00:00.250Z', None]
    """
    texts = np.datetime_as_string(times, unit="us").tolist()
    short = [text.removesuffix("000").removesuffix(".000") for text in texts]
    return [None if text == "NaT" else f"{text}Z" for text in short]


def with_times(
    tracks: Sequence[Track], candidates: Sequence[str], time: str | None, keep: Sequence[str]
) -> tuple[str | None, list[Track]]:
    """Return the column of times, if there is one, and the tracks with their times and the released columns alone.

    Parameters
    ----------
    tracks : sequence of Track
        The pings that remain, with the values of all columns as they are written.
    candidates : sequence of str
        The columns that may hold times, by their names.
    time : str, optional
        The column that holds times, if its owner names it.
    keep : sequence of str
        The columns that are released besides times.
    """
    values = {
        name: [value for track in tracks for value in track.attributes[name]]
        for name in dict.fromkeys([*candidates, *([] if time is None else [time])])
    }
    if time is None:
        columns = recognise({name: values[name][:SAMPLE] for name in candidates}).times
        time = columns[0] if len(columns) == 1 else None
    ends = np.cumsum([len(track) for track in tracks])
    if time is None:
        when = np.full(int(ends[-1]), np.datetime64("NaT"), dtype="datetime64[us]")
    else:
        when = _moments(values[time], time)
    names = dict.fromkeys([*([] if time is None else [time]), *keep])
    return time, [
        _in_order(replace(track, times=part, attributes={name: track.attributes[name] for name in names}))
        for track, part in zip(tracks, np.split(when, ends[:-1]), strict=True)
    ]


def _in_order(track: Track) -> Track:
    """Return a track in the order of its times, unless it runs backwards or some are not known.

    Databases and spatial indexes have rows in orders of their own.
    """
    steps = np.diff(track.times.astype(np.int64))
    if np.isnat(track.times).any() or (steps >= 0).all() or (steps <= 0).all():
        return track
    return track.chosen(np.argsort(track.times, kind="stable"))


def _moments(values: Sequence[object], name: str) -> Times:
    """Return a column of times as times in UTC, NaT where there is none."""
    import pandas as pd

    moments = np.full(len(values), np.datetime64("NaT"), dtype="datetime64[us]")
    column = pd.Series([None if value == "" else value for value in values], dtype=object)
    there = column.notna().to_numpy()
    if there.any():
        known = column[there].reset_index(drop=True).infer_objects()
        moments[there] = read_times(known, name).microseconds.astype("datetime64[us]")
    return moments


def as_number(value: object) -> float | None:
    """Return a finite number, or None for whatever else a device wrote."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def number_text(value: float) -> str:
    """Return the shortest text of a number: 120 for 120.0.

    Examples
    --------
    >>> number_text(120.0), number_text(408.3)
    ('120', '408.3')
    """
    return repr(value).removesuffix(".0")


def point_attributes(keep: Iterable[str]) -> tuple[str, ...]:
    """Return the attributes of recordings that a user names.

    Examples
    --------
    >>> point_attributes(["hr", "ele"])
    ('altitude', 'heart_rate')
    """
    held = set()
    for name in keep:
        check_measured(name)
        if name.lower() not in _OWN_NAME:
            allowed = f"{', '.join(ATTRIBUTES)}, which recordings have for each point"
            raise InvalidParameter("keep", name, allowed, "Leave it out: nothing else is taken from a recording.")
        held.add(_OWN_NAME[name.lower()])
    return tuple(name for name in ATTRIBUTES if name in held)


def check_measured(name: str) -> None:
    """Refuse an attribute that a device computes from several points or counts along a track, and other places."""
    if is_coordinate(name):
        remedy = "Leave it out: the coordinates of the points are released, and no others."
        raise InvalidParameter("keep", name, "something other than coordinates", remedy)
    if derived := derived_words(name):
        allowed = "something that was measured at each point by itself"
        remedy = (
            f"A value such as {min(derived)} is worked out from removed points too, and would tell about them. Leave "
            "it out, and work it out anew from the released points."
        )
        raise InvalidParameter("keep", name, allowed, remedy)


def derived_words(name: str) -> set[str]:
    """Return the words in a name that say that its values are worked out from several points.

    Examples
    --------
    >>> derived_words("total_distance") == {"total", "distance"}, derived_words("heart_rate")
    (True, set())
    """
    return {*_DERIVED.intersection(words(name))}


def length(piece: Track) -> float:
    """Return the length of a piece on the ground, in metres."""
    return ground_length(piece.places)
