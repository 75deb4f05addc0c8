"""Projections from the coordinate system of the data to the plane of a public area, and back."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidCoordinateSystem, InvalidData, InvalidParameter, Mention, Message, Text
from geoveil.geo.accuracy import measure_rounding
from geoveil.geo.areas import PUBLIC, Area, AreaLike, area_of, local_of
from geoveil.geo.coordinate_systems import GEOGRAPHIC, MERCATOR, horizontal, is_mercator, offline, registered
from geoveil.geo.distortion import earth
from geoveil.geo.geometries import Floats, RowName, Shapes, position, wrap_longitudes
from geoveil.geo.tangent import REACH, clamp_to_disc, rounding
from geoveil.noise.reals import Ball, Reals, as_reals

if TYPE_CHECKING:
    import pyproj
    from shapely import Geometry

__all__ = ["NEAR", "Plane", "plane_of"]

#: Public places may lie in the area enlarged by this factor; a forgotten sign usually puts them farther away.
NEAR = 3.0

#: Points are clamped to a box only from within the box enlarged by this factor, where the scale was measured.
_AROUND = 1.05
#: Factor by which the area is enlarged for points that are not clamped: a second projection rounds differently.
_SLACK = {"refuse": 1.0, "drop": 1 + 1e-9}
#: Largest distance from the point of contact, in metres, for the inverse projection to systems other than degrees.
_FARTHEST = 2.5e6

_SWAPPED = "Longitude and latitude seem to be swapped."


def plane_of(own: pyproj.CRS | None, area: AreaLike, *, released: bool = True, stated_by: str = "x.crs") -> Plane:
    """Return the plane in which noise is added to coordinates of a system.

    Parameters
    ----------
    own : pyproj.CRS or None
        The coordinate system of the data.
    area : Area, or anything that pyproj accepts as a coordinate system, or None
        The area and its plane; None for that of the data's own system, if it is projected.
    released : bool
        Whether results are released in the data's system, which must then be a registered one.
    stated_by : str
        The source of the data's coordinate system, named in errors: `x.crs`, the argument `crs`, or a file.
    """
    remedy: Text
    if own is None:
        remedy = Message("State it with {crs}: {crs:4326} for longitude and latitude.")
        raise InvalidCoordinateSystem(stated_by, None, "a known coordinate system", remedy)
    flat = horizontal(own)
    stated = None if area is None else area_of(area)
    itself = local_of(flat)
    if itself is not None:
        return Plane(itself.crs, stated or itself)
    known = registered(flat)
    if known is None and released:
        allowed = "a system of a public register (EPSG, ESRI, ...), since any other may reveal where the data is"
        remedy = Message("Results are released in it: use {x.to_crs} first, and give {area:gv.local}.")
        remedy = _remedy(flat, stated_by) if _elsewhere(flat) else remedy
        raise InvalidCoordinateSystem(stated_by, flat.name, allowed, remedy)
    flat = flat if known is None else known
    if stated is not None:
        return Plane(flat, stated, stated_by)
    remedy = Message(
        "State where the data is: by a name such as {area:San Francisco}, by {area:gv.local}, or by the code of a "
        "system such as {area:32610}, {public}. {gv.suggest_area} proposes an area, and looks at the data to do so.",
        public=PUBLIC,
    )

    def projected(why: str) -> Message:
        return Message("in metres or feet, unless {area} states where the data is ({why})", why=why)

    if not flat.is_projected:
        reason = "degrees are not metres" if flat.is_geographic else f"this is a {flat.type_name}"
        raise InvalidCoordinateSystem(stated_by, flat.name, projected(reason), remedy)
    if is_mercator(flat):
        raise InvalidCoordinateSystem(stated_by, flat.name, projected(MERCATOR), remedy)
    return Plane(flat, area_of(flat))


@functools.lru_cache(maxsize=64)
def _operation(own: pyproj.CRS, plane: pyproj.CRS) -> str | None:
    """Return the definition of PROJ's operation from one system to another, or None if there is none.

    It is the same for all points. By default PROJ chooses among several operations by location, and would tear
    neighbouring points apart where its choice changes.
    """
    import pyproj

    if not own.is_projected and (not own.is_geographic or own.is_geocentric):
        return None
    # Where PROJ knows no shift between two datums it takes the degrees of one for those of the other. This changes no
    # distance if both have the same ellipsoid, and is no projection of the ground if they have not.
    same = _same_ellipsoid(own, plane)
    with warnings.catch_warnings():
        # A more accurate operation may need a missing file; the one found is just as continuous.
        warnings.filterwarnings("ignore", "Best transformation is not available")
        with offline():
            try:
                operations = pyproj.transformer.TransformerGroup(
                    own, plane, always_xy=True, allow_ballpark=same
                ).transformers
            except (IndexError, pyproj.exceptions.ProjError):
                # PROJ lists an operation but cannot perform it, as from Hammer-Aitoff.
                operations = []
    return operations[0].definition if operations else None


def _same_ellipsoid(one: pyproj.CRS, other: pyproj.CRS) -> bool:
    """Return whether two systems have the same ellipsoid; those of WGS 84 and GRS 1980 are the same to 0.1 mm."""
    axes = [
        (system.ellipsoid.semi_major_metre, system.ellipsoid.semi_minor_metre)
        for system in (one, other)
        if system.ellipsoid is not None
    ]
    return len(axes) == 2 and all(abs(mine / others - 1) < 1e-9 for mine, others in zip(*axes, strict=True))


def _transformer(own: pyproj.CRS, plane: pyproj.CRS, stated_by: str) -> pyproj.Transformer | None:
    """Return PROJ's transformer from one system to another, or None if their coordinates are the same."""
    import pyproj

    operation = _operation(own, plane)
    if operation is None:
        allowed = f"a system that PROJ can transform to {plane.name} without taking one ellipsoid for another"
        raise InvalidCoordinateSystem(stated_by, own.name, allowed, _remedy(own, stated_by))
    return None if operation.startswith("proj=noop") else pyproj.Transformer.from_pipeline(operation)


def _remedy(own: pyproj.CRS, stated_by: str) -> Text:
    """Return what can be done about a system that cannot be transformed: correct it, or convert the coordinates."""
    if own.is_geocentric:
        return "Convert x, y and z to longitude and latitude, with pyproj.Transformer.from_crs(4978, 4979)."
    if _same_ellipsoid(own, _geographic()):
        return Message("State the area with {area:gv.local}.")
    corrected = "give {crs:4326}" if stated_by == "crs" else "use {x.set_crs}"
    from_gps = f"if these are longitude and latitude from GPS, {corrected}"
    if _elsewhere(own):
        return Message(f"It belongs to another body than the Earth: {from_gps}.")
    converted = "Convert them with geopandas and {x.to_crs}" if stated_by == "crs" else "Use {x.to_crs} first"
    return Message(f"{converted}; or, {from_gps}." if own.is_geographic else f"{converted}.")


def _elsewhere(own: pyproj.CRS) -> bool:
    """Return whether a system belongs to another body than the Earth, so that PROJ has no operation to WGS 84."""
    import pyproj

    try:
        with offline():
            pyproj.Transformer.from_crs(own, _geographic())
    except pyproj.exceptions.ProjError:
        return True
    return False


@functools.cache
def _geographic() -> pyproj.CRS:
    import pyproj

    return pyproj.CRS(GEOGRAPHIC)


class Plane:
    """The projection from a coordinate system to the plane of an area, and its inverse.

    Parameters
    ----------
    crs : pyproj.CRS
        The coordinate system of the data and of what is released.
    area : Area
        The area in whose plane noise is added.
    stated_by : str
        The source of the coordinate system, named in errors.

    Notes
    -----
    Coordinates of the plane itself, and degrees of WGS 84 for a tangent plane, are projected exactly: to real numbers
    that can be computed to any precision. All others are projected by PROJ, whose doubles have errors of up to
    `rounding`.
    """

    def __init__(self, crs: pyproj.CRS, area: Area, stated_by: str = "x.crs") -> None:
        self.crs, self.area = crs, area
        flat = horizontal(crs)
        self._unit = float(area.crs.axis_info[0].unit_conversion_factor)
        self._same = flat == area.crs
        self._transformer = (
            None if self._same else _transformer(flat, area.crs if area.disc is None else _geographic(), stated_by)
        )

    @property
    def rounding(self) -> float:
        """The largest error of projected points, in metres; 0 if the projection is exact.

        The error of PROJ is measured, with a margin (see docs/understand/projections.md). Doubles in the plane of
        `gv.local` were made by `Locations.frame` from degrees, with a known rounding error.
        """
        proj = 0.0 if self._transformer is None else _rounding(horizontal(self.crs), self.area)
        made = local_of(horizontal(self.crs))
        return proj if made is None else proj + math.sqrt(2) * rounding(made.radius) * (1 + 2.0**-50)

    def into(self, coords: Floats) -> Floats:
        """Project coordinates to metres of the plane, in doubles; infinite where the projection is undefined."""
        return self._project(coords).values

    def _project(self, coords: Floats) -> Reals:
        """Project coordinates to metres of the plane."""
        if self._transformer is not None:
            coords = np.column_stack(self._transformer.transform(coords[:, 0], coords[:, 1]))
        tangent = None if self._same else self.area.tangent
        if tangent is not None:
            return tangent.forward(coords, self.area.radius)
        if self._unit == 1:
            return as_reals(coords)
        unit = self._unit

        def ball(i: int, _: int) -> Ball:
            from flint import arb

            return arb(float(coords.flat[i])) * arb(unit)

        # Each product is rounded once.
        farthest = float(np.abs([self.area.low, self.area.high]).max())
        return Reals(coords * unit, 2.0**-52 * farthest, ball)

    def enter(self, coords: Floats, outside: str = "refuse", name: RowName = position) -> Reals:
        """Project data to metres of the plane; refuse points outside the area, or clamp them to it with "clamp".

        With "drop" they were removed before (`contains`), and are refused if one was not.

        Clamping moves each point to the nearest point of the disc or box, which is a contraction. Points are clamped
        to a disc from the whole near side of the Earth, and to a box only from its surroundings, where the scale of
        the projection was measured.
        """
        if outside not in ("refuse", "clamp", "drop"):
            raise InvalidParameter(
                "outside", outside, "'refuse', 'clamp' or 'drop'", "Leave it out to refuse points outside of the area."
            )
        correct = Message("Correct it, or remove such rows with {outside:drop}.")
        if self._degrees and (problem := _no_degrees(coords, correct)) is not None:
            first, allowed, remedy = problem
            raise InvalidData(name(first), coords[first].tolist(), allowed, remedy)
        clamped = outside == "clamp"
        inside = self._project(coords)
        if clamped and self.area.disc:
            out = np.asarray(~np.isfinite(inside.values).all(axis=1))
        else:
            out = self.area.outside(inside.values, times=_AROUND if clamped else _SLACK[outside])
            out |= self._astray(coords, inside.values)
        if out.any():
            raise self._outside(coords, out, clamped, name)
        if not clamped:
            return inside
        return clamp_to_disc(inside, self.area.radius) if self.area.disc else _clipped(inside, self.area)

    def contains(self, coords: Floats) -> NDArray[np.bool_]:
        """Return which points are inside the area; invalid longitudes and latitudes are not."""
        inside = _are_degrees(coords) if self._degrees else np.asarray(np.isfinite(coords).all(axis=1))
        inside[inside] = self.inside(coords[inside], self.into(coords[inside]))
        return inside

    def inside(self, coords: Floats, flat: Floats) -> NDArray[np.bool_]:
        """Return which coordinates, whose projection to the plane is given, are accepted as inside the area."""
        inside = np.asarray(np.isfinite(flat).all(axis=1))
        inside[inside] = ~self.area.outside(flat[inside]) & ~self._astray(coords[inside], flat[inside])
        return inside

    def _outside(self, coords: Floats, out: NDArray[np.bool_], clamped: bool, name: RowName) -> InvalidData:
        first = int(out.argmax())
        allowed = f"inside the area, {self.area.name}"
        if self.area.is_largest:
            remedy = "no area is larger, so release the data part by part, each with its own area"
        else:
            remedy = "state a larger area with {area}, {public}"
        if clamped:
            allowed += ", or near it"
            remedy += "" if self.area.disc else "; {area:gv.local} clamps points from any distance"
        if self._degrees and not self.area.outside(self.into(coords[first : first + 1, ::-1])).any():
            remedy = "are longitude and latitude swapped? Otherwise " + remedy
        elif not self._degrees and (np.abs(coords) <= (360, 90)).all():
            remedy = "are they longitude and latitude? Then give {crs:4326} and {area}. Otherwise " + remedy
        return InvalidData(
            name(first),
            coords[first].tolist(),
            allowed,
            Message(
                "{count:,} of {total:,} points are not: "
                + remedy
                # Those far from a box cannot be moved to it.
                + ("" if clamped else ", or move them to its edge with {outside:clamp}")
                + ", or remove such rows with {outside:drop}, which reveals which rows were outside.",
                count=int(out.sum()),
                total=len(out),
                public=PUBLIC,
            ),
        )

    def _astray(self, coords: Floats, flat: Floats) -> NDArray[np.bool_]:
        """Return which points only seem to be in a box: PROJ projects some distant locations onto it."""
        if self._transformer is None or self.area.disc:
            return np.zeros(len(coords), dtype=bool)
        own = horizontal(self.crs)
        greenwich = own.prime_meridian is not None and own.prime_meridian.longitude == 0
        plain = own.is_geographic and greenwich and own.axis_info[0].unit_name == "degree"
        transformer = None if plain else _transformer(own, _geographic(), "x.crs")

        def degrees(of: Floats) -> Floats:
            return of if transformer is None else np.column_stack(transformer.transform(*of.T))

        there = degrees(coords)
        astray = ~self.area.in_window(there)
        if not astray.any():
            return astray
        # Points really in the box are where the inverse projection finds them.
        x, y = flat[astray].T / self._unit
        back = self._transformer.transform(x, y, direction="INVERSE")
        again = degrees(np.column_stack(back))
        known = np.isfinite(again).all(axis=1) & np.isfinite(there[astray]).all(axis=1)
        off = np.full(len(again), np.inf)
        off[known] = earth().inv(*there[astray][known].T, *again[known].T)[2]
        astray[astray] = ~(off < 1.0)
        return astray

    def place(self, argument: str, coords: Floats) -> Floats:
        """Project a public place to metres of the plane; refuse a place far from the area."""
        lon, lat = coords
        if self._degrees and abs(lon) <= 90 < abs(lat) <= 180:
            raise self._far(argument, coords.tolist(), swapped=True)
        self._check_public(argument, coords[None])
        flat = self.into(coords[None])
        if self.area.outside(flat, times=NEAR).any():
            swapped = self._degrees and not self.area.outside(self.into(coords[None, ::-1])).any()
            raise self._far(argument, coords.tolist(), swapped=swapped)
        return np.asarray(flat[0])

    def _far(self, argument: str, given: Sequence[float], *, swapped: bool = False) -> InvalidParameter:
        """Return the error of a public place far from the area."""
        if swapped:
            text = Mention(argument, '"{:.10g}, {:.10g}"'.format(*given))
            remedy = Message("{swapped} A text has the latitude first: {text}.", swapped=_SWAPPED, text=text)
        else:
            remedy = Message("Check its signs, or state a larger area with {area}, {public}.", public=PUBLIC)
        return InvalidParameter(argument, given, f"inside the area, {self.area.name}, or near it", remedy)

    def _check_public(self, argument: str, coords: Floats) -> None:
        """Refuse public coordinates that are not valid longitudes and latitudes where these are expected."""
        if self._degrees and (problem := _no_degrees(coords, "Give longitude first, then latitude.")) is not None:
            first, allowed, remedy = problem
            raise InvalidParameter(argument, coords[first].tolist(), allowed, remedy)

    def shape(self, argument: str, geometry: Geometry) -> Geometry:
        """Project a public geometry to metres of the plane, with edges densified to follow the projection."""
        import shapely

        self._check_public(argument, shapely.get_coordinates(geometry))
        if self._same:
            return shapely.transform(geometry, self.into)
        step = 0.02 if self._degrees else self.area.radius / 50
        flat = shapely.transform(shapely.segmentize(geometry, step), self.into)
        corners = shapely.get_coordinates(flat)
        reached = np.isfinite(corners).all() and not self.area.outside(corners, times=max(self._reach, NEAR)).any()
        if not reached or (geometry.is_valid and not flat.is_valid):
            allowed = f"a geometry within reach of the projection of {self.area.name}"
            raise InvalidParameter(argument, geometry.geom_type, allowed, "Cut it to the area first.")
        return flat

    def near_shape(self, argument: str, geometry: Geometry) -> Geometry:
        """Project a public geometry as `shape` does; refuse one without a part near the area."""
        import shapely

        flat = self.shape(argument, geometry)
        half = math.hypot(*(np.subtract(self.area.high, self.area.low) / 2))
        if shapely.distance(flat, shapely.Point(self.area.middle)) > NEAR * half:
            raise self._far(argument, geometry.geom_type)
        return flat

    def out(self, coords: Floats) -> Floats:
        """Return released points in the data's system; points out of reach are moved to where the inverse exists."""
        if self._same:
            return coords / self._unit if self._unit != 1 else coords
        reached = self.area.nearest(coords, times=self._reach)
        places = self._back(reached)
        lost = ~np.isfinite(places).all(axis=1)
        if lost.any():
            places[lost] = self._back(self.area.nearest(reached[lost]))
        return places

    def _back(self, coords: Floats) -> Floats:
        """Apply the inverse projection to metres of the plane."""
        tangent = self.area.tangent
        places = coords / self._unit if tangent is None else tangent.inverse(coords)
        if self._transformer is None:
            return places
        return np.column_stack(self._transformer.transform(places[:, 0], places[:, 1], direction="INVERSE"))

    def degrees(self, coords: Floats) -> Floats:
        """Return released points as longitudes and latitudes of WGS 84."""
        return Plane(_geographic(), self.area).out(coords)

    def longitudes_latitudes(self, coords: Floats) -> Floats:
        """Return coordinates of the data's system as longitudes and latitudes of WGS 84, each by itself."""
        transformer = _transformer(horizontal(self.crs), _geographic(), "x.crs")
        return coords if transformer is None else np.column_stack(transformer.transform(coords[:, 0], coords[:, 1]))

    def box(self, ends: Floats) -> Floats:
        """Return the bounds of a released box in the data's system; see `boxes`."""
        return np.asarray(self.boxes(ends[None])[0])

    def boxes(self, ends: Floats) -> Floats:
        """Return the bounds of released boxes in the data's system, one per row.

        In degrees, longitudes continue beyond 180 across the antimeridian, so that west is less than east, and a box
        that contains a pole spans all longitudes.
        """
        import shapely

        if self._same:
            return ends / self._unit
        boxes = np.empty_like(ends)
        # In parts, to save memory: each outline has some 250 vertices.
        for part in (slice(i, i + 2**10) for i in range(0, len(ends), 2**10)):
            outlines = self._outlined(shapely.box(*ends[part].T))
            boxes[part] = shapely.bounds(outlines)
        if not self._degrees:
            return boxes
        for side, pole in self._poles():
            holds = ((ends[:, :2] < pole) & (pole < ends[:, 2:])).all(axis=1)
            boxes[holds, 0], boxes[holds, 2] = -180.0, 180.0
            boxes[holds, 1], boxes[holds, 3] = np.minimum(boxes[holds, 1], side), np.maximum(boxes[holds, 3], side)
        return boxes

    def body(self, body: Geometry) -> Geometry:
        """Return a released geometry in the data's system; across the antimeridian, longitudes continue beyond 180."""
        import shapely

        if self._degrees and body.geom_type == "Polygon":
            for side, pole in self._poles():
                if shapely.Point(pole).within(body):
                    # A polygon around a pole: all longitudes, from the outline to the pole.
                    ring = shapely.get_coordinates(self._outlined(body))[:-1]
                    ring[:, 0] = (ring[:, 0] + 180) % 360 - 180
                    ring = ring[np.argsort(ring[:, 0])]
                    edge = np.interp(180.0, [ring[-1, 0], ring[0, 0] + 360], [ring[-1, 1], ring[0, 1]])
                    ends = np.array([[180, edge], [180, side], [-180, side], [-180, edge]])
                    return shapely.Polygon(np.vstack([ring, ends]))
        return self._outlined(body)

    @property
    def _degrees(self) -> bool:
        return bool(horizontal(self.crs).is_geographic)

    def _poles(self) -> list[tuple[float, Floats]]:
        """Return the poles that the projection reaches: latitude and position in the plane."""
        places = [(side, self.into(np.array([[0.0, side]]))[0]) for side in (90.0, -90.0)]
        return [(side, place) for side, place in places if np.isfinite(place).all()]

    def _outlined(self, shape: Shapes) -> Shapes:
        """Apply the inverse projection to one or many geometries, with edges densified to follow it."""
        import shapely

        outlined: Shapes
        if self._same:
            outlined = shapely.transform(shape, self.out)
            return outlined
        west, south, east, north = shapely.bounds(shape).T
        middle = float(self.out(self.area.middle[None])[0, 0]) if self._degrees else 0.0

        def outline(coords: Floats) -> Floats:
            out = self.out(coords)
            if self._degrees:
                out[:, 0] = middle + (out[:, 0] - middle + 180) % 360 - 180
            return out

        step = np.maximum(np.maximum(east - west, north - south), 1e-9) / 64
        outlined = shapely.transform(shapely.segmentize(shape, step), outline)
        return wrap_longitudes(outlined) if self._degrees else outlined

    def beyond(self, coords: Floats) -> int:
        """Count the released points that are out of reach of the inverse projection."""
        return 0 if self._same else int(self.area.outside(coords, times=self._reach).sum())

    @property
    def grid_system(self) -> tuple[pyproj.CRS, float]:
        """The coordinate system of grids in this plane, and the metres in one of its units."""
        return (self.crs, self._unit) if self._same else (self.area.crs, self._unit)

    @property
    def _reach(self) -> float:
        """The factor by which the area can be enlarged for the inverse projection to exist everywhere in it."""
        if not self.area.disc:
            return 1.0
        return REACH / self.area.radius if self._degrees else max(1.0, _FARTHEST / self.area.radius)


def _are_degrees(coords: Floats) -> NDArray[np.bool_]:
    """Return which rows are valid longitudes and latitudes."""
    lon, lat = coords.T
    return np.asarray((lon >= -180) & (lon <= 360) & (np.abs(lat) <= 90))


def _no_degrees(coords: Floats, remedy: Text) -> tuple[int, str, Text] | None:
    """Return the first row that is not a longitude and latitude, with texts for an error; None if all are."""
    sound = _are_degrees(coords)
    if sound.all():
        return None
    first = int(sound.argmin())
    lon, lat = coords.T
    swapped = abs(lon[first]) <= 90 < abs(lat[first]) <= 180
    remedy = _SWAPPED if swapped else remedy
    return first, "a longitude of -180 to 360 degrees and a latitude of at most 90", remedy


def _clipped(points: Reals, area: Area) -> Reals:
    """Return the nearest points of the box of an area."""
    low, high = np.array(area.low), np.array(area.high)

    def ball(i: int, bits: int) -> Ball:
        from flint import arb

        return points.ball(i, bits).max(arb(float(low[i % 2]))).min(arb(float(high[i % 2])))

    return Reals(np.clip(points.values, low, high), points.error, ball)


@functools.lru_cache(maxsize=64)
def _rounding(crs: pyproj.CRS, area: Area) -> float:
    """Measure the error of PROJ's doubles from a coordinate system to the plane of an area, in metres."""
    return measure_rounding(Plane(crs, area))
