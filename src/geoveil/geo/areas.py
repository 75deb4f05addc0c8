"""Public areas of the Earth, each with a projection that nearly preserves distances on the ground."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.errors import InvalidCoordinateSystem, InvalidParameter, Mention, Message
from geoveil.geo.coordinate_systems import MERCATOR, horizontal, is_mercator, registered
from geoveil.geo.distortion import measure_distortion
from geoveil.geo.gazetteer import (
    Place,
    find_place,
    folded,
    places_inside,
    places_named,
    regions,
    similar_places,
    similar_regions,
)
from geoveil.geo.geometries import Floats
from geoveil.geo.tangent import REACH, Tangent, ground_distance, shrink
from geoveil.settings.other_names import foreign_names_refused
from geoveil.text.typed_values import read_area

if TYPE_CHECKING:
    import pyproj

__all__ = ["PUBLIC", "Area", "AreaLike", "area_of", "area_of_place", "areas", "local", "local_of"]

#: A public area: from `local` or a text such as "37.77,-122.42,40km", the name of a city, region or country, or the
#: code or name of a projected system.
AreaLike: TypeAlias = Union["Area", "pyproj.CRS", "str", "int", None]
Length = TypeVar("Length", float, Floats)

#: Largest radius of a tangent plane, in metres: beyond it, plane distances are more than an eighth too short.
_WIDEST = 3e6
#: Upper bound on the ground distance of any two points on Earth, in metres.
_HALFWAY = math.pi * 6378137 + 1
#: The largest area, for errors about wider ones.
_NARROW = f"within {_WIDEST / 1000:g} km of its centre, the largest area there is"
#: Texts that are codes or definitions of coordinate systems, and names of zones of UTM without their datum.
_CODE = re.compile(r"\d+|\w+:\S+|\+.*|\{.*|\w+\[.*", re.DOTALL)
_UTM = re.compile(r"utm(?:[ _-]*zone)?[ _-]*(\d|[0-5]\d|60)[ _-]*([NS])", re.IGNORECASE)
#: How the names of the coordinate systems of tangent planes begin.
_LOCAL = "geoveil local "

#: The advice on choosing an area, for the remedies of errors.
PUBLIC = "chosen from public knowledge, not from the data"


@dataclass(frozen=True, repr=False)
class Area:
    """A public, convex region of a map projection.

    Parameters
    ----------
    name : str
        Its name, in certificates and messages.
    crs : pyproj.CRS
        The coordinate system of the projection.
    low, high : tuple of float
        The corners of the box, or of the square around the disc, in metres.
    disc : tuple of float, optional
        Latitude and longitude of the point at which a tangent plane touches the Earth, and the radius of the disc
        around it in metres; None for a box.
    window : tuple of float, optional
        For a box: west, south, east and north, in degrees, of a region where the projection is one-to-one. Points
        outside of it need a check of their own. None if no such region is known.
    stretch : float
        Largest ratio of plane distance to ground distance between two points of the area.
    shrink : float
        Smallest ratio of plane distance to ground distance between two points of the area.

    Examples
    --------
    >>> bay.name, bay.radius, bay.stretch
    ('50 km around 37.77, -122.42', 50000.0, 1.0)
    >>> gv.Locations(homes, area=bay).points(rho=1e-4).plane.area == bay
    True
    """

    name: str
    crs: pyproj.CRS
    low: tuple[float, float]
    high: tuple[float, float]
    disc: tuple[float, float, float] | None
    window: tuple[float, float, float, float] | None
    stretch: float
    shrink: float

    def __repr__(self) -> str:
        return f"Area({self.name!r}, stretch={self.stretch:g})"

    @property
    def middle(self) -> Floats:
        """The centre, in metres."""
        return np.asarray((np.array(self.low) + np.array(self.high)) / 2)

    @property
    def radius(self) -> float:
        """The radius of the disc, or half the width of the box, in metres."""
        return (self.high[0] - self.low[0]) / 2

    @property
    def tangent(self) -> Tangent | None:
        """The tangent plane of a disc; None for a box."""
        return None if self.disc is None else Tangent(*self.disc[:2])

    def ground(self, distance: float) -> float:
        """Bound the ground distance between a point of the area and any point at this plane distance from it.

        Examples
        --------
        >>> round(gv.local(lat=37.77, lon=-122.42, radius=50_000).ground(1000.0), 1)
        1000.0
        """
        return distance / self.shrink if self.disc is None else ground_distance(distance, self.radius)

    def lengths(self, least: Length, most: Length, *, reach: float = 0.0) -> tuple[Length, Length]:
        """Bound a length on the ground, given bounds on its length in the plane.

        Parameters
        ----------
        least, most : float or array
            Bounds on the length in the plane, in metres.
        reach : float
            Largest distance of the end points from the centre of a disc, if they may lie outside of it.

        Examples
        --------
        >>> least, most = gv.local(lat=37.77, lon=-122.42, radius=50_000).lengths(900.0, 1000.0)
        >>> round(least), round(float(most), 2)
        (900, 1000.03)
        """
        across = self.shrink if self.disc is None or reach <= self.radius else shrink(min(reach, REACH))
        longest = _HALFWAY if self.disc is not None and reach > REACH else most / across
        return least / self.stretch, np.minimum(longest, _HALFWAY)

    def farthest(self, place: Floats | None = None) -> float:
        """Return the largest plane distance between the area and a point, or any point of the area if None.

        Examples
        --------
        >>> bay.farthest(), bay.farthest(np.array([30_000.0, 40_000.0]))
        (100000.0, 100000.0)
        """
        if self.disc is not None:
            return self.radius + (self.radius if place is None else float(np.hypot(*(place - self.middle))))
        low, high = np.array(self.low), np.array(self.high)
        return float(np.hypot(*(high - low if place is None else np.maximum(place - low, high - place))))

    def certificate(self) -> dict[str, Any]:
        """Return the description of the area for a certificate.

        Examples
        --------
        >>> gv.local(lat=37.77, lon=-122.42, radius=50_000).certificate()["disc"]
        {'lat': 37.77, 'lon': -122.42, 'radius': 50000.0}
        """
        if self.disc is None:
            account: dict[str, Any] = {"plane": self.crs.to_string()}
        else:
            # Written out, since to_string() would search all registered systems for a code.
            lat, lon, radius = self.disc
            account = {"plane": _orthographic(lat, lon), "disc": {"lat": lat, "lon": lon, "radius": radius}}
        return {"name": self.name, **account, "stretch": self.stretch, "shrink": self.shrink}

    @classmethod
    def certified(cls, account: dict[str, Any]) -> Area:
        """Return the area that a certificate describes.

        Examples
        --------
        >>> gv.Area.certified(bay.certificate()) == bay
        True
        """
        area = local(**account["disc"]) if account.get("disc") else area_of(account["plane"])
        stretch, shrink = float(account["stretch"]), float(account["shrink"])
        return replace(area, name=str(account["name"]), stretch=stretch, shrink=shrink)

    def in_window(self, degrees: Floats) -> NDArray[np.bool_]:
        """Return which longitudes and latitudes are in the window.

        Examples
        --------
        >>> gv.local(lat=37.77, lon=-122.42, radius=50_000).in_window(np.array([[-122.4, 37.8]]))
        array([False])
        """
        if self.window is None:
            return np.zeros(len(degrees), dtype=bool)
        west, south, east, north = self.window
        (low_lon, low_lat), (high_lon, high_lat) = degrees.min(axis=0), degrees.max(axis=0)
        if west <= low_lon and high_lon <= east and south <= low_lat and high_lat <= north:
            return np.ones(len(degrees), dtype=bool)
        lon, lat = degrees.T
        return np.asarray(((lon - west) % 360 <= east - west) & (lat >= south) & (lat <= north))

    @property
    def is_largest(self) -> bool:
        """Whether no larger area of its kind can be stated."""
        return self.disc is not None and self.radius >= _WIDEST

    def outside(self, coords: Floats, *, times: float = 1.0) -> NDArray[np.bool_]:
        """Return which points are outside of the area, or of the area enlarged by a factor.

        Examples
        --------
        >>> bay.outside(np.array([[80_000.0, 0.0], [1_000.0, 0.0]]))
        array([ True, False])
        """
        if self.disc:
            # A fast check first: nearly always, all points are in a square inside the disc.
            if len(coords) and np.abs(coords).max() <= 0.7 * times * self.radius:
                return np.zeros(len(coords), dtype=bool)
            return np.asarray(~(np.hypot(*coords.T) <= times * self.radius))
        low, high = self._corners(times)
        return np.asarray(~((coords >= low) & (coords <= high)).all(axis=1))

    def nearest(self, coords: Floats, *, times: float = 1.0) -> Floats:
        """Return the nearest points of the area, or of the area enlarged by a factor.

        Moving points there is a contraction.

        Examples
        --------
        >>> bay.nearest(np.array([[80_000.0, 0.0], [1_000.0, 0.0]])).round()
        array([[50000.,     0.],
               [ 1000.,     0.]])
        """
        if not self.outside(coords, times=times).any():
            return coords
        if not self.disc:
            return np.asarray(np.clip(coords, *self._corners(times)))
        lengths = np.hypot(*coords.T)
        # Slightly inside, so that no point is rounded to the outside.
        share = np.minimum(times * self.radius * (1 - 1e-12) / np.maximum(lengths, 1e-300), 1.0)
        return np.asarray(coords * share[:, None])

    def _corners(self, times: float) -> tuple[Floats, Floats]:
        """Return the corners of the box enlarged by a factor."""
        low, high = np.array(self.low), np.array(self.high)
        margin = (times - 1) * (high - low) / 2
        return low - margin, high + margin


@foreign_names_refused
def local(*, lat: float, lon: float, radius: float | str) -> Area:
    """Return a disc in the tangent plane of the Earth at a public place, which never stretches distances.

    Parameters
    ----------
    lat, lon : float
        The centre of the disc, in degrees of WGS 84.
    radius : float or str
        The radius of the disc, in metres or as a text such as "50km"; at most 3000 km. All data must be inside.

    Returns
    -------
    Area
        For `area=`.

    Examples
    --------
    >>> bay
    Area('50 km around 37.77, -122.42', stretch=1)
    """
    remedy = Message("Give a place in degrees, {public}.", public=PUBLIC)
    lat = checks.between("lat", lat, -90, 90, remedy=remedy)
    lon = checks.between("lon", lon, -180, 180, remedy=remedy)
    radius = checks.length("radius", radius)
    if radius > _WIDEST:
        raise InvalidParameter(
            "radius",
            radius,
            f"at most {_WIDEST / 1000:g} km, the radius of the largest area",
            Message("Release wider data part by part, each with its own area and {outside:drop}."),
        )
    name = f"{radius / 1000:g} km around {lat:g}, {lon:g}"
    low, high = (-radius, -radius), (radius, radius)
    return Area(name, _named(lat, lon, radius), low, high, (lat, lon, radius), None, 1.0, shrink(radius))


@functools.lru_cache(maxsize=64)
def _named(lat: float, lon: float, radius: float) -> pyproj.CRS:
    """Return the system of a tangent plane, named so that `local_of` recovers the whole area from it."""
    import pyproj

    plane = pyproj.CRS.from_proj4(_orthographic(lat, lon)).to_json_dict()
    return pyproj.CRS.from_json_dict({**plane, "name": f"{_LOCAL}{lat!r} {lon!r} {radius!r}"})


def _orthographic(lat: float, lon: float) -> str:
    return f"+proj=ortho +lat_0={lat!r} +lon_0={lon!r} +datum=WGS84 +units=m +type=crs"


def local_of(crs: pyproj.CRS) -> Area | None:
    """Return the area of `local` from which a coordinate system was made, or None."""
    named = re.fullmatch(_LOCAL + r"(-?[\d.e+-]+) (-?[\d.e+-]+) ([\d.e+]+)", crs.name)
    if named is None:
        return None
    try:
        lat, lon, radius = map(float, named.groups())
        area = local(lat=lat, lon=lon, radius=radius)
    except (ValueError, InvalidParameter):
        return None
    return area if crs == area.crs else None


def areas(name: str) -> list[Area]:
    """Return the areas of all places that a name may mean, the most prominent first.

    Parameters
    ----------
    name : str
        The name of a city, region or country, in English or a local language, with or without its country.

    Returns
    -------
    list of Area
        Empty if no place of that name is known. The name of each, up to its colon, is a text for `area=`.

    Examples
    --------
    >>> gv.areas("Zurich")
    [Area('Zürich, Switzerland: 70 km around 47.37, 8.55', stretch=1)]
    >>> [area.name.partition(":")[0] for area in gv.areas("Cambridge")][:2]
    ['Cambridge, England, United Kingdom', 'Cambridge, Ontario, Canada']
    """
    return [area_of_place(place) for place in places_named(name) if place.radius <= _WIDEST]


def area_of_place(place: Place) -> Area:
    """Return the disc of a place of the gazetteer, as an area that is named after it."""
    if place.radius > _WIDEST:
        parts = [repr(part.title) for part in places_inside(place)[:3]]
        remedy = Message(
            "Name a part of it, such as {parts}, or give {area:gv.local} with a radius of up to {widest} km. "
            "Wider data is released part by part, each with its own area and {outside:drop}.",
            parts=", ".join(parts),
            widest=f"{_WIDEST / 1000:g}",
        )
        raise InvalidCoordinateSystem("area", place.title, _NARROW, remedy)
    area = local(lat=round(place.lat, 2), lon=round(place.lon, 2), radius=place.radius)
    return replace(area, name=f"{place.title}: {area.name}")


def area_of(given: object) -> Area:
    """Return the area that a caller means: an Area, a disc, a coordinate system, or the name of a place.

    A text is read as latitude, longitude and radius of a disc, else as the code of a coordinate system, else as the
    name of a city, region or country of the gazetteer, else as that of a region or a system of PROJ's database.

    Examples
    --------
    >>> area_of("37.77, -122.42, 40 km") == local(lat=37.77, lon=-122.42, radius=40_000)
    True
    """
    if isinstance(given, Area):
        return given
    if isinstance(given, tuple | list) and (text := _as_text(given)) is not None:
        remedy = Message("Give {area}.", area=Mention("area", f'"{text}"'))
        raise InvalidCoordinateSystem("area", given, "a text of latitude, longitude and radius", remedy)
    if isinstance(given, str) and (disc := read_area(given)) is not None:
        lat, lon, radius = disc
        try:
            return local(lat=lat, lon=lon, radius=radius)
        except InvalidParameter as problem:
            raise InvalidCoordinateSystem("area", given, problem.allowed, problem.remedy) from None
    if not isinstance(given, str) or _CODE.fullmatch(given.strip()):
        return _area_of_system(given)
    if (zone := _UTM.fullmatch(given.strip())) is not None:
        return _area_of_system(f"EPSG:32{7 if zone[2] in 'sS' else 6}{int(zone[1]):02}")
    if (place := find_place(given)) is not None:
        return area_of_place(place)
    if candidates := places_named(given):
        listed = "; ".join(f"{place.title!r} ({_described(place)})" for place in candidates[:6])
        listed += f"; and {len(candidates) - 6} more" if len(candidates) > 6 else ""
        raise InvalidCoordinateSystem(
            "area", given, "the name of one place, and several have this name", f"Give one of these: {listed}."
        )
    if folded(given) in regions():
        return _region(given)
    return _area_of_system(given)


def _described(place: Place) -> str:
    return f"{place.kind}, {place.population:,} inhabitants"


def _area_of_system(given: object) -> Area:
    """Return the area of use of a projected coordinate system, or the disc of a tangent plane."""
    import pyproj

    allowed = Message(
        "the name of a city, region or country, {gv.local}, or the code or name of a projected system such as 32610"
    )
    try:
        flat = horizontal(pyproj.CRS.from_user_input(given))
    # As in `system_of`.
    except (pyproj.exceptions.CRSError, TypeError, ValueError):
        flat = None
    # PROJ takes parts of names for names: "Beijing" for the geographic system "Beijing 1954".
    named = given if isinstance(given, str) and not _CODE.fullmatch(given.strip()) else None
    if flat is None or (named is not None and folded(named) != folded(flat.name)):
        remedy = Message("It is {public}.{similar}", public=PUBLIC, similar=_similar(given))
        raise InvalidCoordinateSystem("area", given, allowed, remedy) from None
    disc = local_of(flat)
    if disc is not None:
        return disc
    if not flat.is_projected:
        raise InvalidCoordinateSystem(
            "area",
            flat.name,
            Message("{allowed}: this one has degrees", allowed=allowed),
            Message("Name a place, such as {area:San Francisco}, or use {area:gv.local}."),
        )
    known = registered(flat)
    if known is None or known.area_of_use is None:
        known_area = "a system of a public register (EPSG, ESRI, ...) with a known area"
        raise InvalidCoordinateSystem("area", flat.name, known_area, Message("Use {area:gv.local}."))
    try:
        return Area(known.name, known, *measure_distortion(known))
    except InvalidCoordinateSystem as problem:
        if not is_mercator(known):
            raise
        why = Message("{allowed}: {why}", allowed=allowed, why=MERCATOR)
        raise InvalidCoordinateSystem("area", known.name, why, problem.remedy) from None


def _similar(given: object) -> str:
    """Return a sentence that names similar places, for an error about an unknown name."""
    if not isinstance(given, str):
        return ""
    places = ", ".join(repr(place.title) for place in similar_places(given))
    return f" Places with similar names: {places}." if places else similar_regions(given)


def _region(name: str) -> Area:
    """Return a disc around the bounds of a region of PROJ's database, given by its name there."""
    title, box = regions()[folded(name)]
    place, radius = _disc_around(*box)
    if radius > _WIDEST:
        remedy = Message("Use {area:gv.local} around the part of it that matters.")
        raise InvalidCoordinateSystem("area", title, _NARROW, remedy)
    return replace(local(lat=place.lat, lon=place.lon, radius=radius), name=title)


def _disc_around(west: float, south: float, east: float, north: float) -> tuple[Tangent, float]:
    """Return the middle of a box in degrees, and a radius in metres that covers it; infinite for half of the Earth."""
    east += 360 if east < west else 0
    place = Tangent(round((south + north) / 2, 3), round(((west + east) / 2 + 180) % 360 - 180, 3))
    edges = np.linspace(0, 1, 101)
    rim = np.concatenate([west + edges * (east - west)] * 2 + [np.repeat([west, east], 101)])
    up = np.concatenate([np.repeat([south, north], 101)] + [south + edges * (north - south)] * 2)
    away = np.hypot(*place.forward(np.column_stack([rim, up]), REACH).values.T)
    # Between two sampled points, the edge of the region is less than a kilometre farther away.
    radius = math.ceil(min(float(np.max(away)), 1e9) / 1000 + 1) * 1000.0
    return place, math.inf if east - west >= 180 else radius


def _as_text(given: Sequence[float]) -> str | None:
    """Return numbers as the text of an area: latitude, longitude and radius, or a box of west, south, east, north."""
    numbers = all(isinstance(part, int | float) and math.isfinite(part) for part in given)
    if numbers and len(given) == 3 and read_area(text := "{:.10g},{:.10g},{:.10g}m".format(*given)):
        return text
    if not numbers or len(given) != 4:
        return None
    west, south, east, north = given
    if not (-180 <= west <= 180 and -90 <= south < north <= 90 and -180 <= east <= 180 and west != east):
        return None
    place, radius = _disc_around(*given)
    return f"{place.lat:g},{place.lon:g},{radius / 1000:g}km" if radius <= _WIDEST else None
