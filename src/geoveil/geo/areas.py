"""Public areas of the Earth, each with a plane in which a metre is about a metre on the ground."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.errors import InvalidCoordinateSystem, InvalidParameter
from geoveil.geo.regions import alike, plain, regions

__all__ = ["GEOGRAPHIC", "PUBLIC", "Area", "Floats", "area_of", "earth", "horizontal", "local"]

Floats: TypeAlias = NDArray[np.float64]

GEOGRAPHIC = "EPSG:4326"
#: Beyond this a local plane stretches by more than a twentieth.
_WIDEST = 2e6
#: Systems whose scale varies more than this over their area are no plane to put noise into.
_UNEVEN = 1.5
#: PROJ finds scale factors by differences, to some 1e-7.
_MARGIN = 1e-6
#: How much older ellipsoids differ from today's in size.
_OLDER = 3e-4
_LOCAL = "geoveil local "
_MERCATOR = "Mercator metres, as the paper has them"

PUBLIC = "chosen from public knowledge, never with estimate_utm_crs() or the data's bounds, which look at the data"


@dataclass(frozen=True, repr=False)
class Area:
    """A public, convex part of a plane on which part of the Earth is drawn.

    Parameters
    ----------
    name : str
        What it is, for certificates.
    crs : pyproj.CRS
        The plane's system.
    low, high : tuple of float
        The corners of a box, or of the square around a disc, in metres.
    disc : tuple of float, optional
        The latitude, the longitude and the radius on the ground, in metres, of what a disc holds; None for a box.
    window : tuple of float, optional
        West, south, east and north, in degrees: there the plane draws no two places onto one. A disc lies in it; what
        a box holds of other places has to be looked at. None if that is not known.
    stretch : float
        No two of its points are farther apart in the plane than so many times their distance on the ground.
    shrink : float
        None are nearer than so many times.
    """

    name: str
    crs: Any
    low: tuple[float, float]
    high: tuple[float, float]
    disc: tuple[float, float, float] | None
    window: tuple[float, float, float, float] | None
    stretch: float
    shrink: float

    def __repr__(self) -> str:
        return f"Area({self.name!r}, stretch={self.stretch:.5f})"

    @property
    def middle(self) -> Floats:
        """Its centre."""
        return np.asarray((np.array(self.low) + np.array(self.high)) / 2)

    @property
    def radius(self) -> float:
        """Of the disc in the plane."""
        return (self.high[0] - self.low[0]) / 2

    def certificate(self) -> dict[str, Any]:
        """The area as it stands in a certificate."""
        if self.disc is None:
            account: dict[str, Any] = {"plane": self.crs.to_string()}
        else:
            # Its string would be looked up among all systems that have a code.
            lat, lon, radius = self.disc
            account = {"plane": _transverse(lat, lon), "disc": {"lat": lat, "lon": lon, "radius": radius}}
        return {"name": self.name, **account, "stretch": self.stretch, "shrink": self.shrink}

    @classmethod
    def certified(cls, account: dict[str, Any]) -> Area:
        """The area that a certificate names."""
        if account.get("disc"):
            found = local(**account["disc"])
        else:
            found = area_of("mercator" if account["name"] == _MERCATOR else account["plane"])
        stretch, shrink = float(account["stretch"]), float(account["shrink"])
        return replace(found, name=str(account["name"]), stretch=stretch, shrink=shrink)

    def in_window(self, degrees: Floats) -> NDArray[np.bool_]:
        """Which longitudes and latitudes are in the window."""
        if self.window is None:
            return np.zeros(len(degrees), dtype=bool)
        west, south, east, north = self.window
        (low_lon, low_lat), (high_lon, high_lat) = degrees.min(axis=0), degrees.max(axis=0)
        if west <= low_lon and high_lon <= east and south <= low_lat and high_lat <= north:
            return np.ones(len(degrees), dtype=bool)
        lon, lat = degrees.T
        return np.asarray(((lon - west) % 360 <= east - west) & (lat >= south) & (lat <= north))

    def outside(self, coords: Floats, *, times: float = 1.0) -> NDArray[np.bool_]:
        """Which points are outside, or outside of an area so many times as wide."""
        off = coords - self.middle
        if self.disc:
            # Nearly always all points are in a square that the disc holds.
            if len(off) and np.abs(off).max() <= 0.7 * times * self.radius:
                return np.zeros(len(off), dtype=bool)
            return np.asarray(~(np.hypot(*off.T) <= times * self.radius))
        half = times * (np.array(self.high) - np.array(self.low)) / 2
        return np.asarray(~(np.abs(off) <= half).all(axis=1))

    def nearest(self, coords: Floats, *, times: float = 1.0) -> Floats:
        """The nearest points of the area, or of one so many times as wide: a contraction."""
        if not self.outside(coords, times=times).any():
            return coords
        off = coords - self.middle
        if not self.disc:
            half = times * (np.array(self.high) - np.array(self.low)) / 2
            return np.asarray(self.middle + np.clip(off, -half, half))
        lengths = np.hypot(*off.T)
        # A hair inside, so that rounding leaves nothing outside.
        share = np.minimum(times * self.radius * (1 - 1e-12) / np.maximum(lengths, 1e-300), 1.0)
        return np.asarray(self.middle + off * share[:, None])


@functools.cache
def earth() -> Any:
    """Lengths and directions on the ground."""
    import pyproj

    return pyproj.Geod(ellps="WGS84")


def local(*, lat: float, lon: float, radius: float) -> Area:
    """The plane around a public place: a transverse Mercator map that is true to scale along the place's meridian.

    Parameters
    ----------
    lat, lon : float
        The place, in degrees of WGS 84.
    radius : float
        How far the area extends from there, in metres; at most 2000 km. Everything that is asked about must be inside.

    Returns
    -------
    Area
        For `crs=`.

    Examples
    --------
    >>> import geoveil as gv
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> bay
    Area('50 km around 37.77, -122.42', stretch=1.00003)
    """
    remedy = f"Give a place in degrees, {PUBLIC}."
    lat = checks.number("lat", lat, above=-90.0000001, below=90.0000001, remedy=remedy)
    lon = checks.number("lon", lon, above=-180.0000001, below=180.0000001, remedy=remedy)
    radius = checks.positive("radius", radius)
    if radius > _WIDEST:
        raise InvalidParameter("radius", radius, f"at most {_WIDEST:g} m", "Use a system made for the area, as crs=.")
    import pyproj

    # The system's name tells the whole area, so that a frame in it needs no crs=.
    named = pyproj.CRS.from_proj4(_transverse(lat, lon)).to_json_dict()
    crs = pyproj.CRS.from_json_dict({**named, "name": f"{_LOCAL}{lat!r} {lon!r} {radius!r}"})
    azimuth = np.linspace(0, 360, 721)
    start = np.full_like(azimuth, lon), np.full_like(azimuth, lat)
    ring = earth().fwd(*start, azimuth, np.full_like(azimuth, radius))[:2]
    forward = pyproj.Transformer.from_crs(GEOGRAPHIC, crs, always_xy=True)
    reach = float(np.hypot(*forward.transform(*ring)).max()) * (1 + _MARGIN)
    # What is at most so far in the plane is at most so far on the ground, where straight lines between such points
    # stay as near; and away from the meridian the scale only grows.
    ring = earth().fwd(*start, azimuth, np.full_like(azimuth, reach))[:2]
    largest = float(np.max(pyproj.Proj(crs).get_factors(*ring).tissot_semimajor)) * (1 + _MARGIN)
    name = f"{radius / 1000:g} km around {lat:g}, {lon:g}"
    return Area(
        name,
        crs,
        (-reach, -reach),
        (reach, reach),
        (lat, lon, radius),
        _around(lat, lon, reach),
        _up(largest),
        1 - _MARGIN,
    )


def _around(lat: float, lon: float, reach: float) -> tuple[float, float, float, float]:
    """Degrees that hold all that is so near to a place: those of a sphere that is smaller than the Earth."""
    angle = 1.01 * reach / 6.35e6
    south, north = lat - math.degrees(angle), lat + math.degrees(angle)
    if north >= 90 or south <= -90:
        return lon - 180, max(south, -90.0), lon + 180, min(north, 90.0)
    wide = math.degrees(math.asin(min(math.sin(angle) / math.cos(math.radians(lat)), 1.0)))
    return lon - wide, south, lon + wide, north


def _transverse(lat: float, lon: float) -> str:
    return f"+proj=tmerc +lat_0={lat!r} +lon_0={lon!r} +k=1 +datum=WGS84 +units=m +type=crs"


def area_of(given: Any) -> Area:
    """The area of a system or of a region, by its name; of a system also by its code. An area is one already."""
    import pyproj

    if isinstance(given, Area):
        return given
    if isinstance(given, str) and given == "mercator":  # a system would look the word up as another system
        return Area(
            _MERCATOR, pyproj.CRS(3857), (-2.1e7, -2.1e7), (2.1e7, 2.1e7), None, (-180, -90, 180, 90), 1.0, 1.0
        )
    allowed = "gv.local(...), a code such as 32610, or a name of a system or region that pyproj knows"
    try:
        flat = horizontal(pyproj.CRS.from_user_input(given))
    except pyproj.exceptions.CRSError:
        flat = None
    # Names of countries are also those of old datums.
    if isinstance(given, str) and (flat is None or not flat.is_projected) and plain(given) in regions():
        return _region(given)
    if flat is None:
        raise InvalidCoordinateSystem("crs", given, allowed, f"It is {PUBLIC}.{alike(given)}") from None
    named = re.fullmatch(_LOCAL + r"(-?[\d.e+-]+) (-?[\d.e+-]+) ([\d.e+]+)", flat.name)
    if named:
        found = local(**{key: float(text) for key, text in zip(("lat", "lon", "radius"), named.groups(), strict=True)})
        if flat == found.crs:
            return found
    if not flat.is_projected:
        raise InvalidCoordinateSystem(
            "crs", flat.name, f"{allowed}: this one has degrees", "Use gv.local(lat=..., lon=..., radius=...)."
        )
    return _measured(flat)


def _region(name: str) -> Area:
    """The plane around a region of PROJ's database, by its name there: the disc around its bounds."""
    title, (west, south, east, north) = regions()[plain(name)]
    east += 360 if east < west else 0
    lon, lat = round((west + east) / 2, 3), round((south + north) / 2, 3)
    edges = np.linspace(0, 1, 101)
    rim = np.concatenate([west + edges * (east - west)] * 2 + [np.repeat([west, east], 101)])
    up = np.concatenate([np.repeat([south, north], 101)] + [south + edges * (north - south)] * 2)
    away = earth().inv(np.full_like(rim, lon), np.full_like(rim, lat), rim, up)[2]
    radius = math.ceil(float(np.max(away)) / 1000 + 1) * 1000.0
    if radius > _WIDEST or east - west >= 180:
        remedy = "Use crs=gv.local(...) around the part of it that matters."
        raise InvalidCoordinateSystem("crs", title, f"a region within {_WIDEST / 1000:g} km of its middle", remedy)
    return replace(local(lat=lat, lon=round((lon + 180) % 360 - 180, 3), radius=radius), name=title)


@functools.lru_cache(maxsize=64)
def _measured(flat: Any) -> Area:
    """The area of use of a projected system, and how it is stretched there."""
    import pyproj

    used = flat.area_of_use
    if used is None:
        raise InvalidCoordinateSystem("crs", flat.name, "a system with a known area", "Use crs=gv.local(...).")
    geographic = flat.geodetic_crs
    turned = geographic.prime_meridian.longitude != 0 or geographic.axis_info[0].unit_name != "degree"
    if turned:
        allowed = "a system whose longitudes are degrees from Greenwich"
        raise InvalidCoordinateSystem("crs", flat.name, allowed, "Use crs=gv.local(...).")
    try:
        forward = pyproj.Transformer.from_crs(geographic, flat, always_xy=True)
        pyproj.Proj(flat).get_factors(0.0, 0.0)
    except pyproj.exceptions.ProjError:
        allowed = "a system whose scale PROJ can tell"
        raise InvalidCoordinateSystem("crs", flat.name, allowed, "Use crs=gv.local(...).") from None
    unit = float(flat.axis_info[0].unit_conversion_factor)
    west, south, east, north = used.bounds
    bounds = forward.transform_bounds(west, south, east, north, densify_pts=101)
    if not np.isfinite(bounds).all():
        raise InvalidCoordinateSystem("crs", flat.name, "a plane over all of its area", "Use crs=gv.local(...).")
    low, high = (tuple(unit * side for side in corner) for corner in (bounds[:2], bounds[2:]))
    stretch, shrink = _scales(flat, forward, bounds)
    if geographic.ellipsoid.name not in ("WGS 84", "GRS 1980"):
        # A metre on an older ellipsoid is a metre to about a ten-thousandth.
        stretch, shrink = stretch * (1 + _OLDER), shrink * (1 - _OLDER)
    if not stretch / shrink <= _UNEVEN:
        raise InvalidCoordinateSystem(
            "crs",
            flat.name,
            "a system in which a metre is about a metre: in this one it is "
            f"{1 / stretch:.2g} to {1 / shrink:.2g} m on the ground",
            "Use gv.local(lat=..., lon=..., radius=...).",
        )
    return Area(flat.name, flat, low, high, None, _window(forward, used.bounds), _up(stretch), shrink)  # type: ignore[arg-type]


def _scales(crs: Any, forward: Any, bounds: Any) -> tuple[float, float]:
    """The largest and the smallest scale in a box of the plane, and along lines on the ground between its points.

    Such lines bend a little on the map: a twentieth of the box is added on every side.
    """
    import pyproj

    west, south, east, north = bounds
    margin = 0.05
    across, up = (
        np.linspace(low - margin * (high - low), high + margin * (high - low), 111)
        for low, high in ((west, east), (south, north))
    )
    mesh = np.meshgrid(across, up)
    lon, lat = forward.transform(*mesh, direction="INVERSE")
    # Points may be moved into the box from a fortieth beyond it.
    rim = np.r_[2:109:10, 108]
    edges = [np.concatenate([part[2, rim], part[-3, rim], part[rim, 2], part[rim, -3]]) for part in (lon, lat)]
    known = np.isfinite(lon) & np.isfinite(lat)
    found = pyproj.Proj(crs).get_factors(np.where(known, lon, 0.0), np.where(known, lat, 0.0))
    scales = np.where(known, [found.tissot_semiminor, found.tissot_semimajor], np.nan)
    inner = scales[:, 6:-6, 6:-6]
    if not np.isfinite(inner).all():
        return math.inf, 1.0
    # Between neighbours of the mesh the scale may be beyond both by less than neighbours differ.
    step = max(float(np.nanmax(np.abs(np.diff(scales, axis=axis)))) for axis in (1, 2))
    ways = _scales_between(crs, *edges)
    largest, least = (float(end([end(scales), end(ways)])) for end in (np.nanmax, np.nanmin))
    return largest + step + _MARGIN, max(least - step - _MARGIN, 1e-9)


def _scales_between(crs: Any, lon: Floats, lat: Floats) -> Floats:
    """The scales along the shortest ways on the ground between some places: those along a high box leave it."""
    import pyproj

    known = np.isfinite(lon) & np.isfinite(lat)
    one, other = np.triu_indices(int(known.sum()), k=1)
    lon, lat = lon[known], lat[known]
    azimuth, _, away = (np.asarray(part) for part in earth().inv(lon[one], lat[one], lon[other], lat[other]))
    shares = np.linspace(0, 1, 21)[:, None]
    start = [np.broadcast_to(part[one], (21, len(one))).ravel() for part in (lon, lat)]
    turned = np.broadcast_to(azimuth, (21, len(one))).ravel()
    along = earth().fwd(start[0], start[1], turned, (shares * away).ravel())[:2]
    found = pyproj.Proj(crs).get_factors(along[0], along[1])
    scales = np.array([found.tissot_semiminor, found.tissot_semimajor])
    return np.where(np.isfinite(scales), scales, np.nan)


def _window(forward: Any, bounds: tuple[float, ...]) -> tuple[float, float, float, float] | None:
    """The degrees of an area, if the plane draws no other place where these are: there and back leads back."""
    west, south, east, north = bounds
    east += 360 if east < west else 0
    margin = 0.02 * max(east - west, north - south)
    mesh = np.meshgrid(
        np.linspace(west - margin, east + margin, 101),
        np.linspace(max(south - margin, -90.0), min(north + margin, 90.0), 101),
    )
    lon, lat = (np.asarray(part) for part in forward.transform(*forward.transform(*mesh), direction="INVERSE"))
    off = np.abs((lon - mesh[0] + 180) % 360 - 180) * np.cos(np.radians(mesh[1])) + np.abs(lat - mesh[1])
    return (west, south, east, north) if (off < 1e-5).all() else None


def _up(scale: float) -> float:
    """Rounded up to seven digits: budgets read floats as decimals."""
    return math.ceil(scale * 1e7) / 1e7


def horizontal(crs: Any) -> Any:
    """The system of the plane inside one that adds heights or a datum shift."""
    while crs.is_bound or crs.is_compound:
        crs = crs.source_crs if crs.is_bound else crs.sub_crs_list[0]
    return crs
