"""Areas proposed by looking at the data, for the owner of the data alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geoveil._types import CoordinateColumns, CrsLike, LocationsLike
from geoveil.errors import InvalidParameter, Message
from geoveil.geo.areas import Area, area_of_place, local
from geoveil.geo.coordinate_systems import GEOGRAPHIC, offline, system_of
from geoveil.geo.entering import coordinate_columns
from geoveil.geo.gazetteer import Place, cities_near, find_place, ground_distances, places_around
from geoveil.geo.geometries import Floats
from geoveil.geo.planes import Plane
from geoveil.geo.row_locations import CoordinateRows
from geoveil.geo.table_kinds import table_of

if TYPE_CHECKING:
    import pyproj

__all__ = ["AreaSuggestion", "propose_area", "seem_swapped", "suggest_area"]

#: The warning about choosing an area from the data.
LOOKED = (
    "This looked at the data, and an area chosen from the data reveals roughly where it is: prefer the area that you "
    "would have named without looking."
)
#: Outliers are farther away than this many times the radius that holds 80% of the points, and than this distance in m.
_FAR, _LEAST = 10.0, 50_000.0
#: If no area covers these, the share of points that one is to cover.
_BULK = 0.98
#: Radii of proposed discs in km, also multiplied by 10, 100 and 1000.
_ROUND = (10, 15, 20, 30, 50, 75)
#: Coordinates seem swapped if at least the first share of points is near a city after swapping and at most the second
#: before; near means this distance in m.
_NEAR, _NOT_NEAR, _CITY = 0.9, 0.1, 60_000.0


@dataclass(frozen=True, repr=False)
class AreaSuggestion:
    """An area that fits some data, found by looking at the data.

    It is not accepted as `area=`, so that whoever releases the data decides, and writes, which area is published.

    Parameters
    ----------
    place : str or None
        The text that names the place whose area it is, for `area=`; None if no place fits.
    lat, lon, radius : float
        The disc, in degrees and metres.
    points, outside : int
        The number of points, and of those outside of the area.
    clamps : bool
        Whether `outside="clamp"` can move all points that are outside to the edge.

    Examples
    --------
    >>> found = gv.suggest_area(homes)
    >>> found.points, found.outside
    (3, 0)
    """

    place: str | None
    lat: float
    lon: float
    radius: float
    points: int
    outside: int
    clamps: bool

    @property
    def text(self) -> str:
        """The area as a text that names it."""
        return self.place or f"{self.lat:g},{self.lon:g},{self.radius / 1000:g}km"

    @property
    def argument(self) -> str:
        """The area as an argument in Python."""
        if self.place is not None:
            return f'area="{self.place}"'
        return f"area=gv.local(lat={self.lat:g}, lon={self.lon:g}, radius={self.radius:_.0f})"

    @property
    def option(self) -> str:
        """The area as an option of the command line."""
        if self.place is not None:
            return f'--area "{self.place}"'
        return f"--area {self.lat:g},{self.lon:g},{self.radius / 1000:g}km"

    def described(self, *, option: bool = False) -> str:
        """Return what the area holds and what can be done about the rest, with arguments or with options.

        Examples
        --------
        >>> gv.suggest_area(homes).described()
        'area="San Francisco" (70 km around 37.77, -122.42) covers all points.'
        """
        given = self.option if option else self.argument
        disc = f" ({self.radius / 1000:g} km around {self.lat:g}, {self.lon:g})" if self.place is not None else ""
        if not self.outside:
            return f"{given}{disc} covers all points."
        ways = [("drop", "removes them")] + ([("clamp", "moves them to its edge")] if self.clamps else [])
        what = [f"{'--outside ' + way if option else f'outside={way!r}'} {does}" for way, does in ways]
        inside = self.points - self.outside
        return (
            f"{given}{disc} covers {inside:,} of {self.points:,} points; {self.outside:,} are outside: "
            f"{', '.join(what)}."
        )

    def __repr__(self) -> str:
        return f"{self.described()} {LOOKED}"


def suggest_area(
    x: LocationsLike, *, lat: CoordinateColumns = None, lon: CoordinateColumns = None, crs: CrsLike = None
) -> AreaSuggestion:
    """Propose an area for data, by looking at the data: for its owner alone.

    An area is published with each release. One that is chosen from the data reveals roughly where the data is, so
    prefer the area that you would have named without looking.

    Parameters
    ----------
    x : GeoSeries, GeoDataFrame, table or array
        The locations; an array has the columns longitude and latitude.
    lat, lon : str or list of str, optional
        The columns of a table that hold latitudes and longitudes, if their names are not recognised.
    crs : what pyproj takes as a coordinate system, optional
        The system of the coordinates, where x does not state it. Default is WGS 84.

    Returns
    -------
    AreaSuggestion
        The area of a city that covers all points (but for a few far away), else that of a region or a country, else a
        disc. Its `argument` is the text for `area=`.

    Examples
    --------
    >>> gv.suggest_area([[8.54, 47.37], [8.56, 47.41], [8.31, 47.05]]).argument
    'area="Zürich"'
    >>> homes = geopandas.GeoSeries.from_xy([13.38, 13.41], [52.51, 52.52], crs=4326)
    >>> gv.suggest_area(homes).argument
    'area="Berlin"'
    """
    import shapely

    if hasattr(x, "geometry") and hasattr(x, "crs"):
        coords, own = shapely.get_coordinates(x.geometry.array), x.geometry.crs
    elif (table := table_of(x)) is not None:
        rows = CoordinateRows(table, coordinate_columns(table, lat, lon)[0])
        coords, own = rows.points(np.flatnonzero(rows.present()))[0], None
    else:
        coords, own = np.asarray(x, dtype=np.float64).reshape(-1, 2), None
    degrees = to_degrees(coords, own or system_of("crs", GEOGRAPHIC if crs is None else crs))
    proposed = propose_area(degrees)
    if proposed is None:
        raise InvalidParameter("x", f"{len(coords)} points", *nothing_fits(degrees))
    return proposed


def nothing_fits(degrees: Floats) -> tuple[str, Message | str]:
    """Return the requirement that data fails if no area can be proposed, and the remedy."""
    if not _valid(degrees).any():
        return "at least one longitude and latitude in degrees", "Check the columns, and crs=."
    return "within 3000 km of a point, the radius of the largest area", Message(
        "Release it part by part, each with its own area and {outside:drop}."
    )


def to_degrees(coords: Floats, crs: pyproj.CRS) -> Floats:
    """Return coordinates of any system as longitudes and latitudes of WGS 84, nearly."""
    import pyproj

    if crs.is_geographic:
        return coords
    with offline():
        transformer = pyproj.Transformer.from_crs(crs, GEOGRAPHIC, always_xy=True)
        return np.column_stack(transformer.transform(*coords.T))


def seem_swapped(degrees: Floats) -> bool:
    """Return whether longitudes and latitudes seem to be swapped.

    They are if some are out of range and none would be after swapping, or if hardly any point is near a city and
    nearly all would be.

    Examples
    --------
    >>> paris = np.array([[2.35, 48.85], [2.30, 48.90]])
    >>> seem_swapped(paris), seem_swapped(paris[:, ::-1])
    (False, True)
    """
    # Points at 0, 0 are the same after swapping, so they tell nothing.
    known = degrees[np.isfinite(degrees).all(axis=1) & (degrees != 0).any(axis=1)]
    if not len(known):
        return False
    other = known[:, ::-1]
    if not _valid(known).all():
        return bool(_valid(other).all())
    if not _valid(other).all():
        return False
    some = np.linspace(0, len(known) - 1, min(len(known), 1000)).astype(int)
    is_near, would_be = (float(np.mean(cities_near(of[some], _CITY))) for of in (known, other))
    return is_near <= _NOT_NEAR and would_be >= _NEAR


def propose_area(degrees: Floats) -> AreaSuggestion | None:
    """Return an area that covers longitudes and latitudes but for outliers, or None if they are spread too wide."""
    known = degrees[_valid(degrees)]
    # Devices without a fix write 0, 0.
    real = known[(known != 0).any(axis=1)]
    if not len(real):
        return None
    lat, lon = _middle(real)
    away = ground_distances(lat, lon, *real[:, ::-1].T)
    bulk = real[away <= max(_FAR * float(np.quantile(away, 0.8)), _LEAST)]
    covering = _covering(bulk, degrees, known)
    # A few points that are far away, such as those of a test on a desk, make no area too large.
    return covering or _covering(real[away <= float(np.quantile(away, _BULK))], degrees, known)


def _covering(bulk: Floats, degrees: Floats, known: Floats) -> AreaSuggestion | None:
    """Return the best area that covers the bulk of the points, if there is one."""
    lat, lon = _middle(bulk)
    for place, area in _candidates(bulk, lat, lon):
        plane = Plane(system_of("crs", GEOGRAPHIC), area)
        if not plane.contains(bulk).all():
            continue
        assert area.disc is not None
        outside = ~plane.contains(degrees)
        clamps = bool(np.isfinite(plane.into(known)).all()) and len(known) == len(degrees)
        text = None
        if place is not None:
            text = place.name if find_place(place.name) == place else place.title
        return AreaSuggestion(text, *area.disc, len(degrees), int(outside.sum()), clamps)
    return None


def _candidates(bulk: Floats, lat: float, lon: float) -> Iterator[tuple[Place | None, Area]]:
    """Return the areas that may be proposed for points around a centre, the best first."""
    reach = float(ground_distances(lat, lon, *bulk[:, ::-1].T).max())
    around = [place for place in places_around(lat, lon) if reach / 2 <= place.radius <= 3e6]
    cities = [place for place in around if place.kind == "city"]

    def preference(place: Place) -> tuple[bool, int]:
        away = ground_distances(lat, lon, *np.array([[place.lat], [place.lon]]))[0]
        return bool(away > place.radius / 2), -place.population

    cities.sort(key=preference)
    for kind in ("region", "country"):
        cities += sorted((place for place in around if place.kind == kind), key=lambda place: place.radius)
    for place in cities:
        # A first test by distance; the caller checks that the area contains all points.
        if ground_distances(place.lat, place.lon, *bulk[:, ::-1].T).max() <= 1.2 * place.radius:
            yield place, area_of_place(place)
    decimals = 2 if reach < 50_000 else 1
    lat, lon = round(lat, decimals), round(lon, decimals)
    radius = _rounded(1.2 * float(ground_distances(lat, lon, *bulk[:, ::-1].T).max()))
    if radius <= 3e6:
        yield None, local(lat=lat, lon=lon, radius=radius)


def _rounded(radius: float) -> float:
    """Return a round radius that is at least as large as another, and at least 10 km."""
    for scale in (1, 10, 100, 1000):
        for step in _ROUND:
            if step * scale * 1000 >= radius:
                return step * scale * 1000.0
    return math.inf


def _middle(degrees: Floats) -> tuple[float, float]:
    """Return the latitude and longitude of the middle of points, which a few points far away do not move."""
    lon, lat = np.radians(degrees).T
    sphere = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    x, y, z = np.median(sphere, axis=0)
    return math.degrees(math.atan2(z, math.hypot(x, y))), math.degrees(math.atan2(y, x))


def _valid(degrees: Floats) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(degrees).all(axis=1) & (np.abs(degrees) <= [360, 90]).all(axis=1))
