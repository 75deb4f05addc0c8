"""From a coordinate system into the plane of a public area, and back."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidCoordinateSystem, InvalidData, InvalidParameter
from geoveil.geo.accuracy import measure_rounding
from geoveil.geo.areas import PUBLIC, Area, Floats, area_of, local_of
from geoveil.geo.coordinate_systems import GEOGRAPHIC, MERCATOR, horizontal, is_mercator, registered
from geoveil.geo.distortion import earth
from geoveil.geo.geometries import RowName, position, wrap_longitudes
from geoveil.geo.offline import offline
from geoveil.geo.tangent import REACH, pull, rounding
from geoveil.noise.reals import Ball, Reals, as_reals

__all__ = ["NEAR", "Plane", "plane_of"]

#: Public places may be in an area this many times as wide; a forgotten sign puts them farther away.
NEAR = 3.0

#: How much larger than a box the part of its plane is whose scale is known well enough to move points into the box.
_AROUND = 1.05
#: Systems other than degrees are not led back to from farther than this from a place, in metres.
_FARTHEST = 2.5e6


def plane_of(own: Any, crs: Any, *, released: bool = True) -> Plane:
    """Return the plane for coordinates of a system: the one stated, or that system if it is a plane itself.

    Parameters
    ----------
    own : pyproj.CRS or None
        The system of the data.
    crs : Area, or what pyproj takes as a coordinate system, or None
        The plane to work in.
    released : bool
        Whether results go out in the data's system: then it must be one of a public register.
    """
    if own is None:
        remedy = "Say which one it is with x.set_crs(...)."
        raise InvalidCoordinateSystem("x.crs", None, "a known coordinate system", remedy)
    flat = horizontal(own)
    stated = None if crs is None else area_of(crs)
    itself = local_of(flat)
    if itself is not None:
        return Plane(itself.crs, stated or itself)
    known = registered(flat)
    if known is None and released:
        allowed = "a system of a public register (EPSG, ESRI, ...): any other may tell where the data is"
        remedy = (
            "Results are written in it: use x.to_crs(4326) first, or `ogr2ogr -t_srs EPSG:4326 new.gpkg old.gpkg` "
            "for a file, and give crs=gv.local(...)."
        )
        raise InvalidCoordinateSystem("x.crs", flat.name, allowed, remedy)
    flat = flat if known is None else known
    if stated is not None:
        return Plane(flat, stated)
    allowed = "a projected system in metres or feet, or crs= beside it"
    remedy = (
        "Give crs=gv.local(lat=..., lon=..., radius=...), or the code of a system made for the area, such as 32610 "
        f"for UTM zone 10N: {PUBLIC}."
    )
    if not flat.is_projected:
        found = "degrees are not metres" if flat.is_geographic else f"this is a {flat.type_name}"
        raise InvalidCoordinateSystem("x.crs", flat.name, f"{allowed}: {found}", remedy)
    if is_mercator(flat):
        raise InvalidCoordinateSystem("x.crs", flat.name, f"{allowed}: {MERCATOR}", remedy)
    return Plane(flat, area_of(flat))


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
        with offline():
            try:
                ways = pyproj.transformer.TransformerGroup(own, plane, always_xy=True).transformers
            except (IndexError, pyproj.exceptions.ProjError):
                # PROJ has a way but cannot go it, as from Hammer-Aitoff.
                ways = []
    return ways[0].definition if ways else None


def _way(own: Any, plane: Any) -> Any:
    """Return PROJ's transformer from one system to another, or None if their coordinates are the same."""
    import pyproj

    way = _operation(own, plane)
    if way is None:
        allowed = f"a system from which there is a way to {plane.name}"
        raise InvalidCoordinateSystem(
            "x.crs",
            own.name,
            allowed,
            "Use x.to_crs(4326) first, or `ogr2ogr -t_srs EPSG:4326 new.gpkg old.gpkg` for a file.",
        )
    return None if way.startswith("proj=noop") else pyproj.Transformer.from_pipeline(way)


@functools.cache
def _geographic() -> Any:
    import pyproj

    return pyproj.CRS(GEOGRAPHIC)


class Plane:
    """From a system into the plane of an area, and back.

    Parameters
    ----------
    own : pyproj.CRS
        The system in which coordinates come and go back.
    area : Area
        Where they are worked on.

    Notes
    -----
    Coordinates that are the plane's own, and degrees of WGS 84 for a tangent plane, come in exactly: as real numbers
    that are known to any precision. Others come through PROJ, whose doubles have no balls: `rounding` is how far they
    may be off.
    """

    def __init__(self, own: Any, area: Area) -> None:
        self.own, self.area = own, area
        flat = horizontal(own)
        self._unit = float(area.crs.axis_info[0].unit_conversion_factor)
        self._same = flat == area.crs
        self._way = None if self._same else _way(flat, area.crs if area.disc is None else _geographic())

    @property
    def rounding(self) -> float:
        """How far points may be from where they were, in metres; 0 where nothing has rounded them.

        PROJ rounds, which is measured with a margin (docs/places.md says how). Doubles in the plane of `gv.local` are
        made by `gv.read`, from degrees and with a rounding that is known.
        """
        proj = 0.0 if self._way is None else _rounding(horizontal(self.own), self.area)
        made = local_of(horizontal(self.own))
        return proj if made is None else proj + math.sqrt(2) * rounding(made.radius) * (1 + 2.0**-50)

    def into(self, coords: Floats) -> Floats:
        """Return coordinates as metres of the plane, in doubles; infinite where they have no place there."""
        return self._project(coords).values

    def _project(self, coords: Floats) -> Reals:
        """Return coordinates as metres of the plane."""
        if self._way is not None:
            coords = np.column_stack(self._way.transform(coords[:, 0], coords[:, 1]))
        tangent = None if self._same else self.area.tangent
        if tangent is not None:
            return tangent.forward(coords, self.area.radius)
        if self._unit == 1:
            return as_reals(coords)
        unit = self._unit

        def ball(i: int, _: int) -> Ball:
            from flint import arb

            return arb(float(coords.flat[i])) * arb(unit)

        # A product is rounded once.
        farthest = float(np.abs([self.area.low, self.area.high]).max())
        return Reals(coords * unit, 2.0**-52 * farthest, ball)

    def enter(self, coords: Floats, outside: str = "refuse", name: RowName = position) -> Reals:
        """Return data as metres of the plane; refuse what is outside, or move it to the edge with "clamp".

        Moving draws no two points apart: the nearest point of a disc or of a box is a contraction. A disc takes points
        from all of its side of the Earth; a box only from around it, where the plane's scale was measured.
        """
        if outside not in ("refuse", "clamp"):
            raise InvalidParameter(
                "outside", outside, "'refuse' or 'clamp'", "Leave it out to be told of such points."
            )
        if self._degrees and (problem := _no_degrees(coords, "Mend it, or drop the row.")) is not None:
            first, allowed, remedy = problem
            raise InvalidData(name(first), coords[first].tolist(), allowed, remedy)
        clamped = outside == "clamp"
        inside = self._project(coords)
        if clamped and self.area.disc:
            out = np.asarray(~np.isfinite(inside.values).all(axis=1))
        else:
            out = self.area.outside(inside.values, times=_AROUND if clamped else 1.0)
            out |= self._astray(coords, inside.values)
        if out.any():
            raise self._outside(coords, out, clamped, name)
        if not clamped:
            return inside
        return pull(inside, self.area.radius) if self.area.disc else _clipped(inside, self.area)

    def inside(self, coords: Floats, flat: Floats) -> NDArray[np.bool_]:
        """Tell which coordinates, that are these metres of the plane, are of places where points are taken from."""
        inside = np.asarray(np.isfinite(flat).all(axis=1))
        inside[inside] = ~self.area.outside(flat[inside]) & ~self._astray(coords[inside], flat[inside])
        return inside

    def _outside(self, coords: Floats, out: NDArray[np.bool_], clamped: bool, name: RowName) -> InvalidData:
        first = int(out.argmax())
        allowed = f"inside the area, {self.area.name}"
        remedy = f"state a larger area with crs=, {PUBLIC}"
        if clamped:
            allowed += ", or near it"
            remedy += "" if self.area.disc else "; crs=gv.local(...) moves points from afar"
        if self._degrees and not self.area.outside(self.into(coords[first : first + 1, ::-1])).any():
            remedy = "are longitude and latitude swapped? Else " + remedy
        return InvalidData(
            name(first),
            coords[first].tolist(),
            allowed,
            f"{int(out.sum())} of {len(out)} points are not: {remedy}, or drop them"
            + ("." if clamped else ', or give outside="clamp".'),
        )

    def _astray(self, coords: Floats, flat: Floats) -> NDArray[np.bool_]:
        """Tell which points only seem to be in a box: PROJ's maps draw places far away onto others."""
        if self._way is None or self.area.disc:
            return np.zeros(len(coords), dtype=bool)
        own = horizontal(self.own)
        plain = own.is_geographic and own.prime_meridian.longitude == 0 and own.axis_info[0].unit_name == "degree"
        way = None if plain else _way(own, _geographic())

        def degrees(of: Floats) -> Floats:
            return of if way is None else np.column_stack(way.transform(*of.T))

        there = degrees(coords)
        astray = ~self.area.in_window(there)
        if not astray.any():
            return astray
        # From a box's plane back to where the point was.
        back = self._way.transform(*flat[astray].T / self._unit, direction="INVERSE")
        again = degrees(np.column_stack(back))
        known = np.isfinite(again).all(axis=1) & np.isfinite(there[astray]).all(axis=1)
        off = np.full(len(again), np.inf)
        off[known] = earth().inv(*there[astray][known].T, *again[known].T)[2]
        astray[astray] = ~(off < 1.0)
        return astray

    def place(self, argument: str, coords: Floats) -> Floats:
        """Return a public place as metres of the plane; refuse one that is far from the area."""
        self._check_public(argument, coords[None])
        flat = self.into(coords[None])
        if self.area.outside(flat, times=NEAR).any():
            remedy = f"State a larger area with crs=, {PUBLIC}."
            if self._degrees and not self.area.outside(self.into(coords[None, ::-1])).any():
                remedy = "Longitude and latitude are swapped, it seems."
            allowed = f"inside the area, {self.area.name}, or near it"
            raise InvalidParameter(argument, coords.tolist(), allowed, remedy)
        return np.asarray(flat[0])

    def _check_public(self, argument: str, coords: Floats) -> None:
        """Refuse public coordinates that are no degrees where degrees are expected."""
        if self._degrees and (problem := _no_degrees(coords, "Give longitude first, then latitude.")) is not None:
            first, allowed, remedy = problem
            raise InvalidParameter(argument, coords[first].tolist(), allowed, remedy)

    def shape(self, argument: str, geometry: Any) -> Any:
        """Return a public shape as metres of the plane, its edges bent as the map bends them."""
        import shapely

        self._check_public(argument, shapely.get_coordinates(geometry))
        if self._same:
            return shapely.transform(geometry, self.into)
        step = 0.02 if self._degrees else self.area.radius / 50
        flat = shapely.transform(shapely.segmentize(geometry, step), self.into)
        corners = shapely.get_coordinates(flat)
        reached = np.isfinite(corners).all() and not self.area.outside(corners, times=max(self._reach, NEAR)).any()
        if not reached or (geometry.is_valid and not flat.is_valid):
            allowed = f"a shape that the map of {self.area.name} reaches"
            raise InvalidParameter(argument, geometry.geom_type, allowed, "Cut it to the area first.")
        return flat

    def out(self, coords: Floats) -> Floats:
        """Return released metres in the data's system; what the map does not reach is moved to where it does."""
        if self._same:
            return coords / self._unit if self._unit != 1 else coords
        reached = self.area.nearest(coords, times=self._reach)
        found = self._back(reached)
        lost = ~np.isfinite(found).all(axis=1)
        if lost.any():
            found[lost] = self._back(self.area.nearest(reached[lost]))
        return found

    def _back(self, coords: Floats) -> Floats:
        """Return metres of the plane in the data's system."""
        tangent = self.area.tangent
        found = coords / self._unit if tangent is None else tangent.inverse(coords)
        if self._way is None:
            return found
        return np.column_stack(self._way.transform(found[:, 0], found[:, 1], direction="INVERSE"))

    def degrees(self, coords: Floats) -> Floats:
        """Return released metres as longitudes and latitudes of WGS 84."""
        return Plane(_geographic(), self.area).out(coords)

    def box(self, ends: Floats) -> Floats:
        """Return a released box in the data's system, as `boxes` has it."""
        return np.asarray(self.boxes(ends[None])[0])

    def boxes(self, ends: Floats) -> Floats:
        """Return released boxes in the data's system, a row each: the bounds of the bent boxes there.

        In degrees, longitudes go on beyond 180 across the antimeridian, so that west is less than east, and a box that
        holds a pole goes all around.
        """
        import shapely

        if self._same:
            return ends / self._unit
        found = np.empty_like(ends)
        # By parts: an outline has some 250 corners.
        for part in (slice(i, i + 2**10) for i in range(0, len(ends), 2**10)):
            outlines = self._outlined(shapely.box(*ends[part].T))
            found[part] = shapely.bounds(outlines)
        if not self._degrees:
            return found
        for side, pole in self._poles():
            holds = ((ends[:, :2] < pole) & (pole < ends[:, 2:])).all(axis=1)
            found[holds, 0], found[holds, 2] = -180.0, 180.0
            found[holds, 1], found[holds, 3] = np.minimum(found[holds, 1], side), np.maximum(found[holds, 3], side)
        return found

    def body(self, body: Any) -> Any:
        """Return a released shape in the data's system; across the antimeridian, longitudes go on beyond 180."""
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
        return bool(horizontal(self.own).is_geographic)

    def _poles(self) -> list[tuple[float, Floats]]:
        """The poles that the plane has, with their latitudes."""
        places = [(side, self.into(np.array([[0.0, side]]))[0]) for side in (90.0, -90.0)]
        return [(side, place) for side, place in places if np.isfinite(place).all()]

    def _outlined(self, shape: Any) -> Any:
        """Return a shape, or an array of shapes, in the data's system, with edges bent as the map bends them."""
        import shapely

        if self._same:
            return shapely.transform(shape, self.out)
        west, south, east, north = shapely.bounds(shape).T
        middle = float(self.out(self.area.middle[None])[0, 0]) if self._degrees else 0.0

        def outline(coords: Floats) -> Floats:
            out = self.out(coords)
            if self._degrees:
                out[:, 0] = middle + (out[:, 0] - middle + 180) % 360 - 180
            return out

        step = np.maximum(np.maximum(east - west, north - south), 1e-9) / 64
        found = shapely.transform(shapely.segmentize(shape, step), outline)
        return wrap_longitudes(found) if self._degrees else found

    def beyond(self, coords: Floats) -> int:
        """Count the released points that the map does not reach."""
        return 0 if self._same else int(self.area.outside(coords, times=self._reach).sum())

    @property
    def drawn_in(self) -> tuple[Any, float]:
        """The system of grids in this plane, and metres in a unit of it: one's own, if that is the plane."""
        return (self.own, self._unit) if self._same else (self.area.crs, self._unit)

    @property
    def _reach(self) -> float:
        """How many times as wide as the area the part of the plane is that has a way back."""
        if not self.area.disc:
            return 1.0
        return REACH / self.area.radius if self._degrees else max(1.0, _FARTHEST / self.area.radius)


def _no_degrees(coords: Floats, remedy: str) -> tuple[int, str, str] | None:
    """Return the first row that is no longitude and latitude, what is allowed, and the remedy; None if all are."""
    lon, lat = coords.T
    sound = (lon >= -180) & (lon <= 360) & (np.abs(lat) <= 90)
    if sound.all():
        return None
    first = int(sound.argmin())
    swapped = abs(lon[first]) <= 90 < abs(lat[first]) <= 180
    remedy = "Longitude and latitude are swapped, it seems." if swapped else remedy
    return first, "a longitude of -180 to 360 degrees and a latitude of at most 90", remedy


def _clipped(points: Reals, area: Area) -> Reals:
    """Return the nearest points of a box."""
    low, high = np.array(area.low), np.array(area.high)

    def ball(i: int, bits: int) -> Ball:
        from flint import arb

        return points.ball(i, bits).max(arb(float(low[i % 2]))).min(arb(float(high[i % 2])))

    return Reals(np.clip(points.values, low, high), points.error, ball)


@functools.lru_cache(maxsize=64)
def _rounding(own: Any, area: Area) -> float:
    """Measure how far PROJ's doubles are off on the way from a system into an area, in metres."""
    return measure_rounding(Plane(own, area))
