"""Places that somebody wants to hide: declared by the owner, or proposed from where tracks begin and end at night."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidParameter
from geoveil.mechanisms.discs import RADIUS
from geoveil.noise.reals import Floats
from geoveil.text.messages import Text
from geoveil.text.typed_values import read_place
from geoveil.text.words import metres

__all__ = [
    "HiddenPlace",
    "PlacesLike",
    "ProposedPlace",
    "places_of",
    "places_of_tracks",
    "propose_places",
    "refuse_far",
    "refuse_swapped",
]

#: Metres from a place within which a track passes by it.
_BY = 1000.0
#: Seconds without a point after which a track goes on from where somebody stayed.
_STAY = 1200.0
#: A place as a text "47.37,8.54", a pair (latitude, longitude), a frame of points, the path of a file, or several.
PlacesLike: TypeAlias = Any


@dataclass(frozen=True)
class HiddenPlace:
    """A place to hide, in degrees of WGS 84. It is private, and never shown or written but in the file of centres.

    Parameters
    ----------
    lat, lon : float
        The latitude and the longitude.
    """

    lat: float
    lon: float

    def __post_init__(self) -> None:
        if not (abs(self.lat) <= 90 and abs(self.lon) <= 180):
            raise _refused("a latitude from -90 to 90 and a longitude from -180 to 180")

    def __repr__(self) -> str:
        return "HiddenPlace(...)"

    def distance(self, other: HiddenPlace) -> float:
        """Return the distance to another place in metres, on the public sphere."""
        half = math.pi / 360
        up, across = math.sin((self.lat - other.lat) * half), math.sin((self.lon - other.lon) * half)
        square = up * up + math.cos(2 * half * self.lat) * math.cos(2 * half * other.lat) * across * across
        return 2 * RADIUS * math.asin(math.sqrt(min(square, 1.0)))


def places_of(given: PlacesLike) -> list[HiddenPlace]:
    """Return the places that a caller declares.

    Parameters
    ----------
    given : str, pair, frame, path, or a list of these
        "47.37,8.54" or (47.37, 8.54), a latitude and a longitude; a GeoSeries or GeoDataFrame of points; or the path
        of a file with a place in each row.

    Examples
    --------
    >>> from geoveil.zones import places_of
    >>> [place.lat for place in places_of(["47.37,8.54", (47.4, 8.5)])]
    [47.37, 47.4]
    """
    found = [*_places(given)]
    if not found:
        raise _refused("at least one place")
    return found


def _places(given: PlacesLike) -> Iterable[HiddenPlace]:
    if isinstance(given, HiddenPlace):
        yield given
    elif hasattr(given, "to_crs"):
        yield from _of_frame(given)
    elif isinstance(given, str) and (at := read_place(given)) is not None:
        yield HiddenPlace(*at)
    elif isinstance(given, str | os.PathLike):
        yield from _of_file(Path(given))
    elif _is_pair(given):
        lat, lon = given
        yield HiddenPlace(float(lat), float(lon))
    elif isinstance(given, list | tuple | np.ndarray):
        for each in given:
            yield from _places(each)
    else:
        raise _refused("a place such as '47.37,8.54' or (47.37, 8.54), a frame of points, a file, or a list of these")


def _is_pair(given: Any) -> bool:
    if not hasattr(given, "__len__") or len(given) != 2:
        return False
    numbers = (int, float, np.integer, np.floating)
    return all(isinstance(each, numbers) and not isinstance(each, bool) for each in given)


def _of_frame(frame: Any) -> Iterable[HiddenPlace]:
    """Yield the points of a GeoSeries or GeoDataFrame."""
    if frame.crs is None:
        raise _refused("a frame with a coordinate system")
    points = frame.geometry.to_crs(4326)
    if not (points.geom_type == "Point").all():
        raise _refused("a frame of points")
    for x, y in zip(points.x, points.y, strict=True):
        yield HiddenPlace(float(y), float(x))


def _of_file(path: Path) -> Iterable[HiddenPlace]:
    """Yield the places in a file: rows with a latitude and a longitude."""
    from geoveil.answering.loading import frame_of
    from geoveil.geo.formats import open_locations

    if not path.exists():
        # The text may be a place that was mistyped, and is not repeated.
        raise _refused("a latitude and a longitude, or the path of a file that exists")
    yield from _of_frame(frame_of(open_locations(path), None, "refuse", "refuse", None))


def _refused(allowed: str) -> InvalidParameter:
    # The value is private: it may end up in a log.
    return InvalidParameter("places", "...", allowed, "Write a place as LAT,LON in degrees, such as 47.37,8.54.")


def refuse_swapped(places: Iterable[HiddenPlace], degrees: Floats) -> None:
    """Refuse a place that no track passes by, if some do the other way round: it would hide nothing.

    Parameters
    ----------
    places : iterable of HiddenPlace
        The places.
    degrees : array
        Longitudes and latitudes of the whole tracks.
    """
    for place in places:
        if not _passes(degrees, place.lon, place.lat) and _passes(degrees, place.lat, place.lon):
            raise _refused("a latitude and then a longitude: tracks pass by the place the other way round only")


def refuse_far(places: Iterable[HiddenPlace], degrees: Floats, within: float, remedy: Text) -> None:
    """Refuse a place that no track comes near: a disc around a mistyped one would hide nothing.

    Parameters
    ----------
    places : iterable of HiddenPlace
        The places.
    degrees : array
        Longitudes and latitudes of the whole tracks.
    within : float
        Metres from a place within which points may be removed.
    remedy : str or Message
        What else can be done.
    """
    away = max(within, _BY)
    if not len(degrees) or all(_passes(degrees, place.lon, place.lat, away) for place in places):
        return
    allowed = f"places that tracks come near: one has no point within {metres(away)}, so that nothing would be hidden"
    raise InvalidParameter("places", "...", allowed, remedy)


def _passes(degrees: Floats, lon: float, lat: float, away: float = _BY) -> bool:
    near = degrees.copy()
    # The way across the date line may be the short one.
    near[:, 0] = lon + (near[:, 0] - lon + 180) % 360 - 180
    return abs(lat) <= 90 and bool((_metres(near, np.array([lon, lat])) <= away).any())


@dataclass(frozen=True)
class ProposedPlace:
    """A place where tracks begin and end, for its owner to confirm. It is computed from private data, exactly.

    Parameters
    ----------
    place : HiddenPlace
        The middle of the ends.
    ends : int
        How many tracks begin or end there.
    nights : int
        How many of these ends are between 20 and 6 o'clock, where times are known.
    """

    place: HiddenPlace
    ends: int
    nights: int


def propose_places(
    ends: Floats, hours: Floats | None = None, *, within: float = 100.0, least: int = 3
) -> list[ProposedPlace]:
    """Return places where tracks begin and end, those of most nights first.

    They are for the owner to confirm: nothing uses them by itself.

    Parameters
    ----------
    ends : array
        Longitudes and latitudes of the first and last points of tracks, (n, 2).
    hours : array, optional
        The local hour of each, from 0 to 24.
    within : float
        Metres from its middle within which ends belong to a place.
    least : int
        The least number of ends.

    Examples
    --------
    >>> from geoveil.zones import propose_places
    >>> ends = [[8.54, 47.37], [8.5401, 47.3701], [8.54, 47.3702], [8.6, 47.4]]
    >>> [found.ends for found in propose_places(ends, [7, 19, 23, 12])]
    [3]
    """
    ends = np.asarray(ends, dtype=float).reshape(-1, 2)
    hours = None if hours is None else np.asarray(hours, dtype=float) % 24
    left, neighbours = np.ones(len(ends), dtype=bool), _neighbours(ends, within)
    found = []
    while left.any():
        # The end with most others around it.
        near = np.where(left, neighbours @ left.astype(np.int64), 0)
        middle, at = ends[near.argmax()], ends[left]
        for _ in range(5):
            inside = _metres(at, middle) <= within
            if not inside.any():
                break
            middle = np.median(at[inside], axis=0)
        members = left & (_metres(ends, middle) <= within)
        if near.max() < least or not members.any():
            break
        # Hours that are not known are not at night.
        dark = 0 if hours is None else int(((hours[members] >= 20) | (hours[members] < 6)).sum())
        if members.sum() >= least:
            found.append(ProposedPlace(HiddenPlace(float(middle[1]), float(middle[0])), int(members.sum()), dark))
        left &= ~members
    return sorted(found, key=lambda one: (-one.nights, -one.ends))


def places_of_tracks(
    degrees: Floats, seconds: Floats | None = None, tracks: NDArray[np.int64] | None = None
) -> list[ProposedPlace]:
    """Return places where tracks begin and end, or pause for twenty minutes, those of most nights first.

    They are for the owner to confirm: nothing uses them by itself. Hours are those of the sun.

    Parameters
    ----------
    degrees, seconds, tracks
        The whole tracks, as for `cut`.

    Examples
    --------
    >>> from geoveil.zones import places_of_tracks
    >>> commute = [[8.54, 47.37], [8.55, 47.38], [8.54, 47.37]]
    >>> [found] = places_of_tracks(np.array(commute * 2), tracks=np.repeat([0, 1], 3))
    >>> found.place.lat, found.ends, found.nights
    (47.37, 4, 0)
    """
    degrees = np.asarray(degrees, dtype=float).reshape(-1, 2)
    if not len(degrees):
        return []
    order = np.arange(len(degrees)) if tracks is None else np.argsort(tracks, kind="stable")
    begins = np.zeros(len(degrees), dtype=bool)
    begins[0] = True
    if tracks is not None:
        begins[1:] = np.diff(np.asarray(tracks)[order]) != 0
    if seconds is not None:
        with np.errstate(invalid="ignore"):
            begins[1:] |= np.abs(np.diff(seconds[order])) > _STAY
    ends = np.concatenate([order[begins], order[np.append(begins[1:], True)]])
    hours = None if seconds is None else seconds[ends] / 3600 + degrees[ends, 0] / 15
    return propose_places(degrees[ends], hours)


def _neighbours(degrees: Floats, within: float) -> Any:
    """Return a sparse matrix with a one for each pair of points that are so near to each other."""
    from scipy.sparse import csr_matrix
    from scipy.spatial import cKDTree

    lon, lat = np.radians(degrees).T
    places = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)]) * RADIUS
    pairs = cKDTree(places).query_pairs(within, output_type="ndarray")
    rows = np.concatenate([pairs[:, 0], pairs[:, 1], np.arange(len(degrees))])
    columns = np.concatenate([pairs[:, 1], pairs[:, 0], np.arange(len(degrees))])
    return csr_matrix((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=(len(degrees), len(degrees)))


def _metres(degrees: Floats, middle: NDArray[np.float64]) -> Floats:
    """Return about how far points are from one near them."""
    scale = np.array([math.cos(math.radians(float(middle[1]))), 1]) * math.radians(1) * RADIUS
    return np.asarray(np.hypot(*((degrees - middle) * scale).T))
