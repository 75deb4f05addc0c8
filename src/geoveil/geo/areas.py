"""Public areas of the Earth, and planes in which a metre is a metre on the ground."""

from __future__ import annotations

import functools
import math
import warnings
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.errors import InvalidCoordinateSystem, InvalidData, InvalidParameter

__all__ = ["Area", "Plane", "area_of", "local"]

Floats: TypeAlias = NDArray[np.float64]

_GEOGRAPHIC = "EPSG:4326"
#: Beyond this a local plane stretches by more than a twentieth.
_WIDEST = 2e6
#: Systems whose scale varies more than this over their area are no plane to put noise into.
_UNEVEN = 1.5
#: PROJ finds scale factors by differences, to some 1e-7.
_MARGIN = 1e-6
#: How much older ellipsoids differ from today's in size.
_OLDER = 3e-4

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
    round : bool
        Whether it is a disc.
    stretch : float
        No two of its points are farther apart in the plane than so many times their distance on the ground.
    shrink : float
        None are nearer than so many times.
    """

    name: str
    crs: Any
    low: tuple[float, float]
    high: tuple[float, float]
    round: bool
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
        """Of the disc."""
        return (self.high[0] - self.low[0]) / 2

    def certificate(self) -> dict[str, Any]:
        """The area as it stands in a certificate."""
        return {"name": self.name, "plane": self.crs.to_string(), "stretch": self.stretch, "shrink": self.shrink}

    def outside(self, coords: Floats, *, times: float = 1.0) -> NDArray[np.bool_]:
        """Which points are outside, or outside of an area so many times as wide."""
        off = coords - self.middle
        if self.round:
            return np.asarray(~(np.hypot(*off.T) <= times * self.radius))
        half = times * (np.array(self.high) - np.array(self.low)) / 2
        return np.asarray(~(np.abs(off) <= half).all(axis=1))

    def nearest(self, coords: Floats, *, times: float = 1.0) -> Floats:
        """The nearest points of the area, or of one so many times as wide: a contraction."""
        off = coords - self.middle
        if not self.round:
            half = times * (np.array(self.high) - np.array(self.low)) / 2
            return np.asarray(self.middle + np.clip(off, -half, half))
        lengths = np.hypot(*off.T)
        # A hair inside, so that rounding leaves nothing outside.
        share = np.minimum(times * self.radius * (1 - 1e-12) / np.maximum(lengths, 1e-300), 1.0)
        return np.asarray(self.middle + off * share[:, None])


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
    checks.positive("radius", radius)
    if radius > _WIDEST:
        raise InvalidParameter("radius", radius, f"at most {_WIDEST:g} m", "Use a system made for the area, as crs=.")
    import pyproj

    crs = pyproj.CRS.from_proj4(f"+proj=tmerc +lat_0={lat!r} +lon_0={lon!r} +k=1 +datum=WGS84 +units=m +type=crs")
    azimuth = np.linspace(0, 360, 721)
    start = np.full_like(azimuth, lon), np.full_like(azimuth, lat)
    ring = pyproj.Geod(ellps="WGS84").fwd(*start, azimuth, np.full_like(azimuth, radius))[:2]
    forward = pyproj.Transformer.from_crs(_GEOGRAPHIC, crs, always_xy=True)
    reach = float(np.hypot(*forward.transform(*ring)).max()) * (1 + _MARGIN)
    # What is at most so far in the plane is at most so far on the ground, where straight lines between such points
    # stay as near; and away from the meridian the scale only grows.
    ring = pyproj.Geod(ellps="WGS84").fwd(*start, azimuth, np.full_like(azimuth, reach))[:2]
    largest = float(np.max(pyproj.Proj(crs).get_factors(*ring).tissot_semimajor)) * (1 + _MARGIN)
    name = f"{radius / 1000:g} km around {lat:g}, {lon:g}"
    return Area(name, crs, (-reach, -reach), (reach, reach), True, _up(largest), 1 - _MARGIN)


def area_of(given: Any) -> Area:
    """The area of a system, by its code, its name or as pyproj has it; an area is one already."""
    import pyproj

    if isinstance(given, Area):
        return given
    if isinstance(given, str) and given == "mercator":  # a system would look the word up as another system
        crs = pyproj.CRS(3857)
        return Area("Mercator metres, as the paper has them", crs, (-2.1e7, -2.1e7), (2.1e7, 2.1e7), False, 1.0, 1.0)
    allowed = "gv.local(...), a code such as 32610, or a name that pyproj knows"
    try:
        crs = pyproj.CRS.from_user_input(given)
    except pyproj.exceptions.CRSError:
        raise InvalidCoordinateSystem("crs", given, allowed, f"It is {PUBLIC}.") from None
    flat = _horizontal(crs)
    if not flat.is_projected:
        raise InvalidCoordinateSystem(
            "crs", crs.name, f"{allowed}: this one has degrees", "Use gv.local(lat=..., lon=..., radius=...)."
        )
    return _measured(flat)


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
    forward = pyproj.Transformer.from_crs(geographic, flat, always_xy=True)
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
    return Area(flat.name, flat, low, high, False, _up(stretch), shrink)  # type: ignore[arg-type]


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
    known = np.isfinite(lon) & np.isfinite(lat)
    found = pyproj.Proj(crs).get_factors(np.where(known, lon, 0.0), np.where(known, lat, 0.0))
    scales = np.where(known, [found.tissot_semiminor, found.tissot_semimajor], np.nan)
    inner = scales[:, 6:-6, 6:-6]
    if not np.isfinite(inner).all():
        return math.inf, 1.0
    # Between neighbours of the mesh the scale may be beyond both by less than neighbours differ.
    step = max(float(np.nanmax(np.abs(np.diff(scales, axis=axis)))) for axis in (1, 2))
    return float(np.nanmax(scales)) + step + _MARGIN, max(float(np.nanmin(scales)) - step - _MARGIN, 1e-9)


def _up(scale: float) -> float:
    """Rounded up to seven digits: budgets read floats as decimals."""
    return math.ceil(scale * 1e7) / 1e7


def _horizontal(crs: Any) -> Any:
    """The system of the plane inside one that adds heights or a datum shift."""
    while crs.is_bound or crs.is_compound:
        crs = crs.source_crs if crs.is_bound else crs.sub_crs_list[0]
    return crs


def plane_of(own: Any, crs: Any) -> Plane:
    """The plane for coordinates of a system of one's own: the one stated, or that system if it is a plane itself."""
    if own is None:
        remedy = "Say which one it is with x.set_crs(...)."
        raise InvalidCoordinateSystem("x.crs", None, "a known coordinate system", remedy)
    if crs is not None:
        return Plane(own, area_of(crs))
    flat, allowed = _horizontal(own), "a projected system in metres or feet, or crs= beside it"
    remedy = (
        "Give crs=gv.local(lat=..., lon=..., radius=...), or the code of a system made for the area, such as 32610 "
        f"for UTM zone 10N: {PUBLIC}."
    )
    if not flat.is_projected:
        found = "degrees are not metres" if flat.is_geographic else f"this is a {flat.type_name}"
        raise InvalidCoordinateSystem("x.crs", flat.name, f"{allowed}: {found}", remedy)
    method = flat.coordinate_operation.method_name if flat.coordinate_operation else ""
    if method.startswith(("Mercator", "Popular Visualisation")):
        found = "a Mercator metre shrinks on the ground with latitude"
        raise InvalidCoordinateSystem("x.crs", flat.name, f"{allowed}: {found}", remedy)
    return Plane(own, area_of(flat))


@functools.lru_cache(maxsize=64)
def _operation(own: Any, plane: Any) -> str | None:
    """The operation from one system to another, the same for all points; None if there is none.

    PROJ would choose by place among several, and where it changes its mind neighbours would be torn apart.
    """
    import pyproj

    if not own.is_projected and (not own.is_geographic or own.is_geocentric):
        return None
    with warnings.catch_warnings():
        # A better one may need a file that is not there; this one is as continuous.
        warnings.filterwarnings("ignore", "Best transformation is not available")
        ways = pyproj.transformer.TransformerGroup(own, plane, always_xy=True).transformers
    return ways[0].definition if ways else None


class Plane:
    """The way from a system of one's own into the plane of an area, and back.

    Parameters
    ----------
    own : pyproj.CRS
        The system in which coordinates come and go back.
    area : Area
        Where they are worked on.
    """

    def __init__(self, own: Any, area: Area) -> None:
        import pyproj

        self.own, self.area = own, area
        flat = _horizontal(own)
        self._unit = float(area.crs.axis_info[0].unit_conversion_factor)
        self._transformer = None
        if flat != area.crs:
            way = _operation(flat, area.crs)
            if way is None:
                allowed = f"a system from which there is a way to {area.name}"
                raise InvalidCoordinateSystem("x.crs", flat.name, allowed, "Use x.to_crs(4326) first.")
            self._transformer = pyproj.Transformer.from_pipeline(way)

    def into(self, coords: Floats) -> Floats:
        """As metres of the plane; what has no place there becomes infinite."""
        if self._transformer is not None:
            coords = np.column_stack(self._transformer.transform(coords[:, 0], coords[:, 1]))
        return coords * self._unit if self._unit != 1 else coords

    def enter(self, coords: Floats) -> Floats:
        """The same for data: what is outside of the area is refused."""
        inside = self.into(coords)
        out = self.area.outside(inside)
        if not out.any():
            return inside
        first = int(out.argmax())
        raise InvalidData(
            f"x[{first}]",
            coords[first].tolist(),
            f"inside the area, {self.area.name}",
            f"{int(out.sum())} of {len(out)} points are not: state a larger area with crs=, {PUBLIC}, or drop them.",
        )

    def shape(self, argument: str, geometry: Any) -> Any:
        """A public shape as metres of the plane, its edges bent as the map bends them."""
        import shapely

        if self._transformer is None:
            return shapely.transform(geometry, self.into)
        step = 0.02 if self._degrees else self.area.radius / 50
        flat = shapely.transform(shapely.segmentize(geometry, step), self.into)
        corners = shapely.get_coordinates(flat)
        reached = np.isfinite(corners).all() and not self.area.outside(corners, times=max(self._reach, 3.0)).any()
        if not reached or (geometry.is_valid and not flat.is_valid):
            allowed = f"a shape that the map of {self.area.name} reaches"
            raise InvalidParameter(argument, geometry.geom_type, allowed, "Cut it to the area first.")
        return flat

    def out(self, coords: Floats) -> Floats:
        """Released metres in the system of one's own: what the map does not reach is moved to where it does."""
        metres = coords / self._unit if self._unit != 1 else coords
        if self._transformer is None:
            return metres
        east, north = self.area.nearest(coords, times=self._reach).T / self._unit
        return np.column_stack(self._transformer.transform(east, north, direction="INVERSE"))

    def box(self, ends: Floats) -> Floats:
        """A released box in the system of one's own: the box around what it is there.

        In degrees the east is less than the west across the antimeridian, and a box that holds a pole goes all around.
        """
        import shapely

        outline = shapely.box(*ends)
        corners = shapely.get_coordinates(self._outlined(outline))
        box = np.concatenate([corners.min(axis=0), corners.max(axis=0)])
        if not self._degrees:
            return box
        for side, pole in self._poles():
            if shapely.Point(pole).within(outline):
                box = np.array([-180.0, min(box[1], side), 180.0, max(box[3], side)])
                break
        else:
            box[[0, 2]] = (box[[0, 2]] + 180) % 360 - 180
        return box

    def body(self, body: Any) -> Any:
        """A released shape in the system of one's own; in degrees, longitudes go on beyond 180 where it does."""
        import shapely

        if self._degrees and body.geom_type == "Polygon":
            for side, pole in self._poles():
                if shapely.Point(pole).within(body):
                    # Around a pole: all longitudes, from the outline to the pole.
                    ring = shapely.get_coordinates(self._outlined(body))[:-1]
                    ring[:, 0] = (ring[:, 0] + 180) % 360 - 180
                    ring = ring[np.argsort(ring[:, 0])]
                    edge = np.interp(180.0, [ring[-1, 0], ring[0, 0] + 360], [ring[-1, 1], ring[0, 1]])
                    ends = np.array([[180, edge], [180, side], [-180, side], [-180, edge]])
                    return shapely.Polygon(np.vstack([ring, ends]))
        return self._outlined(body)

    @property
    def _degrees(self) -> bool:
        return bool(_horizontal(self.own).is_geographic)

    def _poles(self) -> list[tuple[float, Floats]]:
        """The poles that the plane has, with their latitudes."""
        places = [(side, self.into(np.array([[0.0, side]]))[0]) for side in (90.0, -90.0)]
        return [(side, place) for side, place in places if np.isfinite(place).all()]

    def _outlined(self, shape: Any) -> Any:
        import shapely

        if self._transformer is None:
            return shapely.transform(shape, self.out)
        west, south, east, north = shape.bounds
        middle = float(self.out(self.area.middle[None])[0, 0]) if self._degrees else 0.0

        def outline(coords: Floats) -> Floats:
            out = self.out(coords)
            if self._degrees:
                out[:, 0] = middle + (out[:, 0] - middle + 180) % 360 - 180
            return out

        return shapely.transform(shapely.segmentize(shape, max(east - west, north - south, 1e-9) / 64), outline)

    def beyond(self, coords: Floats) -> int:
        """How many released points the map does not reach."""
        return 0 if self._transformer is None else int(self.area.outside(coords, times=self._reach).sum())

    @property
    def drawn_in(self) -> tuple[Any, float]:
        """The system of grids in this plane, and metres in a unit of it: one's own, if that is the plane."""
        return (self.own, self._unit) if self._transformer is None else (self.area.crs, self._unit)

    @property
    def _reach(self) -> float:
        """How many times as wide as the area the part of the plane is that has a way back."""
        return max(1.0, 2.5e6 / self.area.radius) if self.area.round else 1.0
