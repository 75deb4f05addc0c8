"""The way from a coordinate system into the plane of a public area, and back."""

from __future__ import annotations

import functools
import itertools
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidCoordinateSystem, InvalidData, InvalidParameter
from geoveil.geo.areas import GEOGRAPHIC, PUBLIC, Area, Floats, area_of, earth, horizontal
from geoveil.geo.shapes import Naming, position

__all__ = ["Plane", "plane_of"]

#: Points within this ground distance of a place are pulled towards it without drawing any two of them apart.
_PULLED = 1e7
#: How much larger than a box the part of its plane is whose scale is known well enough to move points into the box.
_AROUND = 1.05


def plane_of(own: Any, crs: Any) -> Plane:
    """The plane for coordinates of a system of one's own: the one stated, or that system if it is a plane itself."""
    if own is None:
        remedy = "Say which one it is with x.set_crs(...)."
        raise InvalidCoordinateSystem("x.crs", None, "a known coordinate system", remedy)
    if crs is not None:
        return Plane(own, area_of(crs))
    flat, allowed = horizontal(own), "a projected system in metres or feet, or crs= beside it"
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


def _way(own: Any, plane: Any) -> Any:
    import pyproj

    way = _operation(own, plane)
    if way is None:
        allowed = f"a system from which there is a way to {plane.name}"
        raise InvalidCoordinateSystem("x.crs", own.name, allowed, "Use x.to_crs(4326) first.")
    return pyproj.Transformer.from_pipeline(way)


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
        self.own, self.area = own, area
        flat = horizontal(own)
        self._unit = float(area.crs.axis_info[0].unit_conversion_factor)
        self._transformer = _way(flat, area.crs) if flat != area.crs else None

    @property
    def rounding(self) -> float:
        """How far PROJ may put a point from where it is, in metres: its iterations end within 6e-6 m."""
        return 0.0 if self._transformer is None or self.area.disc else 1e-5

    def into(self, coords: Floats) -> Floats:
        """As metres of the plane; what has no place there becomes infinite."""
        if self._transformer is not None:
            coords = np.column_stack(self._transformer.transform(coords[:, 0], coords[:, 1]))
        return coords * self._unit if self._unit != 1 else coords

    def enter(self, coords: Floats, outside: str = "refuse", name: Naming = position) -> Floats:
        """The same for data: what is outside of the area is refused, or moved to its edge with "clamp".

        Moving draws no two points apart. A disc's are moved on the ground, before they are projected: a circle around
        the place, up to a quarter of the Earth away, is at least as long as the disc's edge. A box's are moved in the
        plane, so only from where its scale has been measured.
        """
        if outside not in ("refuse", "clamp"):
            raise InvalidParameter(
                "outside", outside, "'refuse' or 'clamp'", "Leave it out to be told of such points."
            )
        if self._degrees:
            self._check_degrees(coords, name)
        clamped = outside == "clamp"
        if clamped and self.area.disc:
            inside, out = self._pulled(coords)
        else:
            inside = self.into(coords)
            out = self.area.outside(inside, times=_AROUND if clamped else 1.0)
            out |= self._astray(coords, inside)
            if clamped:
                inside = self.area.nearest(inside)
        if not out.any():
            return inside
        first = int(out.argmax())
        allowed = f"inside the area, {self.area.name}"
        remedy = f"state a larger area with crs=, {PUBLIC}"
        if clamped:
            allowed += ", or near it"
            remedy += "" if self.area.disc else "; crs=gv.local(...) moves points from afar"
        if self._degrees and not self.area.outside(self.into(coords[first : first + 1, ::-1])).any():
            remedy = "are longitude and latitude swapped? Else " + remedy
        raise InvalidData(
            name(first),
            coords[first].tolist(),
            allowed,
            f"{int(out.sum())} of {len(out)} points are not: {remedy}, or drop them"
            + ("." if clamped else ', or give outside="clamp".'),
        )

    def _astray(self, coords: Floats, flat: Floats) -> NDArray[np.bool_]:
        """Which points only seem to be where the plane has them: maps draw places far away onto others."""
        import pyproj

        if self._transformer is None:
            return np.zeros(len(coords), dtype=bool)
        own, geographic = horizontal(self.own), pyproj.CRS(GEOGRAPHIC)

        def degrees(of: Floats) -> Floats:
            plain = own.is_geographic and own.prime_meridian.longitude == 0 and own.axis_info[0].unit_name == "degree"
            return of if plain else np.column_stack(_way(own, geographic).transform(*of.T))

        there = degrees(coords)
        astray = ~self.area.in_window(there)
        if self.area.disc or not astray.any():
            return astray
        # From a box's plane back to where the point was.
        back = self._transformer.transform(*flat[astray].T / self._unit, direction="INVERSE")
        again = degrees(np.column_stack(back))
        known = np.isfinite(again).all(axis=1) & np.isfinite(there[astray]).all(axis=1)
        off = np.full(len(again), np.inf)
        off[known] = earth().inv(*there[astray][known].T, *again[known].T)[2]
        astray[astray] = ~(off < 1.0)
        return astray

    def check(self, coords: Floats, outside: str = "refuse", name: Naming = position) -> None:
        """Refuse what `enter` would refuse, and do no more than that takes."""
        if outside != "refuse" or not self._holds_box(coords):
            self.enter(coords, outside, name)

    def _holds_box(self, coords: Floats) -> bool:
        """Whether the disc holds all of a box of degrees around the points; if not, it may still hold the points.

        It does if it holds the box's edges. These are followed from point to point, and between two of them they stray
        by less than from one to the next.
        """
        low, high = coords.min(axis=0), coords.max(axis=0)
        if not (self.area.disc and self.area.window and self._degrees and (high - low < 30).all()):
            return False
        west, south, east, north = self.area.window
        if not (max(west, -180) <= low[0] and high[0] <= east and south <= low[1] and high[1] <= north):
            return False
        along = np.linspace(0, 1, 33)[:, None]
        corners = np.array([low, (high[0], low[1]), high, (low[0], high[1]), low])
        edges = np.concatenate([a + along * (b - a) for a, b in itertools.pairwise(corners)])
        flat = self.into(edges)
        if not np.isfinite(flat).all():
            return False
        step = float(np.hypot(*np.diff(flat, axis=0).T).max())
        return bool(np.hypot(*(flat - self.area.middle).T).max() + step <= self.area.radius)

    @staticmethod
    def _check_degrees(coords: Floats, name: Naming) -> None:
        """Longitudes from -180 to 360 degrees, latitudes to 90."""
        if coords[:, 0].min() >= -180 and coords[:, 0].max() <= 360 and np.abs(coords[:, 1]).max() <= 90:
            return
        sound = (coords[:, 0] >= -180) & (coords[:, 0] <= 360) & (np.abs(coords[:, 1]) <= 90)
        first = int(sound.argmin())
        lon, lat = np.abs(coords[first])
        swapped = lon <= 90 < lat <= 180
        remedy = "Longitude and latitude are swapped, it seems." if swapped else "Mend it, or drop the row."
        allowed = "a longitude of -180 to 360 degrees and a latitude of at most 90"
        raise InvalidData(name(first), coords[first].tolist(), allowed, remedy)

    def _pulled(self, coords: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Points in the plane, moved towards the place up to the disc's edge; and which are too far away for that."""
        import pyproj

        assert self.area.disc
        lat, lon, radius = self.area.disc
        # For all points by way of degrees, so that those near the edge are not torn from those beyond.
        geographic = pyproj.CRS(GEOGRAPHIC)
        flat = horizontal(self.own)
        if flat != geographic:
            coords = np.column_stack(_way(flat, geographic).transform(*coords.T))
        start = np.full(len(coords), lon), np.full(len(coords), lat)
        azimuth, _, away = (np.asarray(part) for part in earth().inv(*start, *coords.T))
        far = ~(away <= _PULLED)
        beyond = away > radius
        ends = earth().fwd(start[0][beyond], start[1][beyond], azimuth[beyond], np.full(beyond.sum(), radius))
        coords = coords.copy()
        coords[beyond] = np.column_stack(ends[:2])
        return np.column_stack(_way(geographic, self.area.crs).transform(*coords.T)), far

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

    def boxes(self, ends: Floats) -> Floats:
        """Released boxes, a row each."""
        return ends / self._unit if self._transformer is None else np.array([self.box(row) for row in ends])

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
        return bool(horizontal(self.own).is_geographic)

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
        return max(1.0, 2.5e6 / self.area.radius) if self.area.disc else 1.0
