"""The ground of a scene: land, water, borders, roads, names of places, meridians, and a map of the surroundings."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from geoveil.report.formatting import location
from geoveil.report.graticules import graticules_of
from geoveil.report.ground.basemap import read_basemap
from geoveil.report.ground.packed import has_ground
from geoveil.report.ground.surroundings import DETAILS, Ground, Ranked, ground_around
from geoveil.report.layers import Geometries
from geoveil.report.locator import locator_around
from geoveil.report.map_projection import Box, Projection
from geoveil.report.scene import Group, Label, Scene, Shape, Style

__all__ = ["backdrop"]

#: Half the side of the square with full detail, divided by the larger side of the first view.
_AROUND = 1.1
#: How far the ground extends, as a multiple of half the side of that square; the page zooms out no farther.
_BEYOND = 64.0
#: The width in pixels of the map that the ground assumes when it says which views name a place.
_NAMED = 900.0
#: The number of places in the first view that are named even if they are small.
_ALWAYS = 16
#: The smallest population of a place that is labelled as a city.
_CITY = 100_000
#: A map is at sea if there is no land within this many metres.
_NEAR = 450e3
#: Half the side of the small map of the surroundings, divided by the size of its smallest details.
_SMALL = 200.0
#: The styles of lines of each kind by rank; ranks beyond the last are drawn like it. None is dashed: a browser would
#: draw the dashes of a continent's borders one by one.
_LINES: dict[str, tuple[Style, ...]] = {
    "rivers": (Style("river", 1.6), Style("river", 1.1), Style("river", 0.7)),
    "roads": (Style("road", 2.2), Style("road", 1.5), Style("road", 0.9)),
    "borders": (Style("border", 1.8, 0.8), Style("border", 1.0, 0.6)),
}
#: The kind and the rank of the lines that are drawn above areas of data: borders of countries.
_COUNTRY = ("borders", 0)
#: The credits for the ground. The credit for roads comes first, and only where roads are drawn.
_ROADS = "Roads © OpenStreetMap contributors (ODbL); "
_SOURCE = "coasts GSHHG (LGPL); names GeoNames (CC BY 4.0); borders and rivers Natural Earth"
#: What stands in their place on a map without ground.
_NO_GROUND = "no coasts or roads: pip install 'geoveil[maps]' adds them; names GeoNames (CC BY 4.0)"
#: The most metres per pixel at which lines of a kind are drawn; at coarser scales they would cover the land.
_COARSEST = {"roads": 700.0, "rivers": 12_000.0}
#: The fewest metres per pixel at which borders are drawn; at finer scales they are visibly hundreds of metres off.
_SHARPEST_BORDERS = 60.0


def backdrop(
    projection: Projection, view: Box, *, pixels: float, beyond: bool, basemap: str | None
) -> tuple[Scene, int]:
    """Return a scene of the ground alone, and the number of its groups that lie below areas of data.

    Parameters
    ----------
    projection, view : Projection, Box
        The map and the box that it shows first.
    pixels : float
        The approximate width of the map on the screen.
    beyond : bool
        Whether the ground extends far outside of the view, for a reader who zooms out.
    basemap : str, optional
        The path of the user's own base map, drawn over the ground.
    """
    lon, lat, wide = projection.lon, projection.lat, view.side
    pixel = wide / pixels
    ground = _ground(lon, lat, _AROUND * wide, beyond)

    def small(half: float) -> Ground:
        return _ground(lon, lat, half, False, _SMALL)

    ocean = "" if len(small(_NEAR).land) else ocean_at(lon, lat)
    thin = _thin(ground, pixel)
    below, above = [_areas(ground)], [_shores(ground, pixel, _AROUND * wide)]
    # The frame of a page may have another shape than the view; that of a figure is never much higher or wider.
    source, remark = _source(thin, view.square((_AROUND if beyond else 0.53) * wide)), ""
    if basemap is not None:
        own = read_basemap(basemap, projection, view.square(_AROUND * wide))
        areas = Shape.filled(own.areas, Style("basemap", 0.6, 0.9, 0.25))
        below.append(Group("base map: areas", "ground", (areas,)))
        above.append(Group("base map", "ground", (Shape.drawn(own.lines, Style("basemap", 1.1)), *_dots(own.points))))
        source = f"Base map: {Path(basemap).name}. {source}"
        remark = own.remark
    below.append(thin)
    scene = Scene(
        projection,
        view,
        (*below, *above),
        (*_labels(ground, view, pixel), *([Label(*view.middle, ocean, "water", "middle")] if ocean else [])),
        tuple(graticules_of(projection, view, pixel, beyond=beyond)),
        locator_around(view, small, ocean) if has_ground() else None,
        f"The middle of the map is at {location(lon, lat)}: {ground.where}",
        source,
        (remark,) if remark else (),
    )
    return scene, len(below)


@functools.lru_cache(maxsize=8)
def _ground(lon: float, lat: float, reach: float, beyond: bool, details: float = DETAILS) -> Ground:
    """Return the ground around a location. It is cached: every drawing of a release needs the same ground."""
    to_map = Projection(lon, lat).to_map
    return ground_around(to_map, lon, lat, reach, beyond=beyond, farthest=_BEYOND * reach, details=details)


def ocean_at(lon: float, lat: float) -> str:
    """Return the name of the ocean of a location that is hundreds of kilometres from land.

    Continents separate the oceans, so that a few meridians are enough to tell them apart. South of Africa, Tasmania
    and America, the meridians of the capes are the conventional limits of the oceans, rounded.

    Examples
    --------
    >>> ocean_at(-152.0, 8.0), ocean_at(-40.0, 30.0), ocean_at(75.0, -20.0), ocean_at(0.0, 88.0)
    ('Pacific Ocean', 'Atlantic Ocean', 'Indian Ocean', 'Arctic Ocean')
    """
    if lat > 70:
        return "Arctic Ocean"
    if lat < -60:
        return "Southern Ocean"
    if 20 <= lon <= 147 and (lat < 0 or lon < 100):
        return "Indian Ocean"
    america = -100 if lat > 9 else -68
    return "Pacific Ocean" if lon < america or lon > 100 else "Atlantic Ocean"


def _areas(ground: Ground) -> Group:
    # A thin edge of the same colour closes the gaps between neighbouring pieces.
    land = [Shape.filled(patch, Style("land", 0.8, 1.0, 1.0)) for patch in _patches(ground.land)]
    return Group("land and water", "ground", (*land, Shape.filled(ground.water, Style("sea", 0.6, 1.0, 1.0))))


def _patches(shapes: Geometries) -> list[Geometries]:
    """Return shapes in groups by their reach from the middle, in powers of eight.

    A browser that shows a close view then draws the nearest group alone.
    """
    import shapely

    farthest = np.abs(shapely.bounds(shapes)).max(axis=1, initial=1.0) if len(shapes) else np.empty(0)
    size = np.floor(np.log2(farthest) / 3)
    return [shapes[size == each] for each in np.unique(size)]


def _source(thin: Group, seen: Box) -> str:
    """Return the credits that a map has to show for its ground; roads are credited only where some are drawn."""
    import shapely

    if not has_ground():
        return _NO_GROUND
    roads = [part for shape in thin.shapes if shape.style.colour == "road" for part in shape.parts]
    credited = any(shapely.LineString(road).intersects(shapely.box(*seen)) for road in roads)
    return f"{_ROADS if credited else ''}{_SOURCE}"


def _thin(ground: Ground, pixel: float) -> Group:
    """Return the lines that are drawn below areas of data: rivers, roads, borders of states and provinces."""
    shapes = []
    for name, styles in _LINES.items():
        lines: Ranked = getattr(ground, name)
        if pixel > _COARSEST.get(name, np.inf) or (name == "borders" and pixel < _SHARPEST_BORDERS):
            continue
        ranks = np.minimum(lines.ranks, len(styles) - 1)
        # The most important come last, above the others.
        for rank in range(len(styles) - 1, -1, -1):
            if (name, rank) != _COUNTRY:
                shapes += [Shape.drawn(patch, styles[rank]) for patch in _patches(lines.shapes[ranks == rank])]
    return Group("rivers, roads and borders", "ground", tuple(shapes))


def _shores(ground: Ground, pixel: float, reach: float) -> Group:
    """Return the lines that are drawn above areas of data: borders of countries, and coasts."""
    import shapely

    country = ground.borders.of_rank(0)[: None if pixel >= _SHARPEST_BORDERS else 0]
    shapes = [Shape.drawn(patch, _LINES["borders"][0]) for patch in _patches(country)]
    # The edges at which land was cut into pieces are no coasts.
    inner = 0.999 * reach
    whole = shapely.union_all(shapely.make_valid(shapely.clip_by_rect(ground.land, -reach, -reach, reach, reach)))
    coast = shapely.clip_by_rect(shapely.boundary(whole), -inner, -inner, inner, inner)
    shapes.append(Shape.drawn(shapely.line_merge(coast), Style("coast", 1.0, 0.9)))
    return Group("coasts and borders of countries", "ground", tuple(shapes))


def _dots(points: Geometries) -> tuple[Shape, ...]:
    import shapely

    return (Shape("dots", (shapely.get_coordinates(points),), Style("basemap", 3.0)),) if len(points) else ()


def _labels(ground: Ground, view: Box, pixel: float) -> tuple[Label, ...]:
    """Return the names of places, the most important first; the first view names some even if they are small."""
    places = ground.places
    # The frame of a page is often wider than the view.
    inside = (np.abs(places.flat - view.middle) < [0.9 * view.width, 0.6 * view.height]).all(axis=1)
    first = np.flatnonzero(inside)[:_ALWAYS]
    coarsest = 2 * places.reaches / _NAMED
    coarsest[first] = np.maximum(coarsest[first], 3 * pixel)
    # On a phone, names near the edge of the view have room towards its middle only.
    west, east = view.middle[0] + 0.1 * view.width, view.east
    return tuple(
        Label(x, y, name, "city" if people >= _CITY else "town", "west" if west < x < east else "east", coarsest=most)
        for name, (x, y), people, most in zip(
            places.names, places.flat.tolist(), places.populations.tolist(), coarsest.tolist(), strict=True
        )
        if not set(name) & set("(/")  # such a name is that of a part of a place that has its own label
    )
