"""The ground of a scene: land, water, borders, roads, names of places, meridians, and a map of the surroundings."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geoveil.report.formatting import location
from geoveil.report.graticules import graticules_of
from geoveil.report.ground import Ground, Lines, ground_around, read_basemap
from geoveil.report.labelling import box_of, without_overlaps
from geoveil.report.layers import Floats
from geoveil.report.map_projection import Box, Projection
from geoveil.report.oceans import ocean_at
from geoveil.report.outlines import rings_of
from geoveil.report.scene import Graticule, Group, Label, Locator, Shape, Style, Tile
from geoveil.report.tiles import fetch_tiles, source_of_tiles

__all__ = ["Backdrop", "backdrop"]

#: Half the side of the square with full detail over the larger side of the first view.
_AROUND = 1.1
#: How far the ground goes on outside of that square, over its size; the page zooms out no farther.
_BEYOND = 64.0
#: The width of a map in pixels for which the ground says which places should be named.
_NAMED = 900.0
#: The number of places in the first view that are named, however small they are.
_ALWAYS = 16
#: The population from which a place is a city.
_CITY = 100_000
#: Half the side of the smallest and of the largest map of the surroundings, in metres, and how many views are in it.
_NEAR, _FAR, _VIEWS = 450e3, 5e6, 8.0
#: The pixels of the map of the surroundings, the share of land that tells where it is, and the number of its names.
_SMALL, _TELLING, _NAMES = 120.0, 0.04, 2
#: The styles of lines of each kind by rank; ranks beyond the last are drawn like it. None is dashed: a browser would
#: draw the dashes of a continent's borders one by one.
_LINES: dict[str, tuple[Style, ...]] = {
    "rivers": (Style("river", 1.6), Style("river", 1.1), Style("river", 0.7)),
    "roads": (Style("road", 2.2), Style("road", 1.5), Style("road", 0.9)),
    "borders": (Style("border", 1.8, 0.8), Style("border", 1.0, 0.6)),
}
#: Metres in a pixel beyond which lines of a kind would cover the land.
_COARSEST = {"roads": 700.0, "rivers": 12_000.0}


@dataclass(frozen=True, eq=False)
class Backdrop:
    """The ground of a scene: groups below and above shades, labels, meridians, and words about it."""

    below: tuple[Group, ...]
    above: tuple[Group, ...]
    labels: tuple[Label, ...]
    graticules: tuple[Graticule, ...]
    locator: Locator | None
    tiles: tuple[Tile, ...]
    where: str
    source: str
    remarks: tuple[str, ...] = ()


def backdrop(
    projection: Projection, view: Box, *, pixels: float, beyond: bool, basemap: str | None, tiles: str | None
) -> Backdrop:
    """Return the ground of a map.

    Parameters
    ----------
    projection, view : Projection, Box
        The map and the box that it shows first.
    pixels : float
        The approximate width of the map on the screen.
    beyond : bool
        Whether the ground goes on far outside of the view.
    basemap : str, optional
        The path of the user's own base map, drawn over the ground.
    tiles : str, optional
        The address of map tiles, fetched now and drawn in place of the ground.
    """
    wide = max(view.width, view.height)
    ground = _ground(projection.lon, projection.lat, _AROUND * wide, beyond)
    where = f"The middle of the map is at {location(projection.lon, projection.lat)}: {ground.where}"
    graticules = graticules_of(projection, view, wide / pixels, beyond=beyond)
    locator = _locator(projection, view)
    images = () if tiles is None else fetch_tiles(tiles, projection, view, pixels)
    below = [] if tiles else [_areas(ground, wide)]
    above = [] if tiles else [_lines(ground, _AROUND * wide, wide / pixels)]
    source, remarks = ground.source if tiles is None else source_of_tiles(tiles), []
    if basemap is not None:
        own = read_basemap(basemap, projection, _grown(view))
        fill, line, dots = Style("basemap", 0.6, 0.9, 0.25), Style("basemap", 1.1), Style("basemap", 3.0)
        below.append(Group("base map: areas", "ground", (Shape("fill", tuple(rings_of(own.areas)), fill),)))
        above.append(Group("base map", "ground", (Shape("line", _corners(own.lines), line), *_dots(own.points, dots))))
        source = f"Base map: {Path(basemap).name}. {source}"
        remarks += [own.remark] if own.remark else []
    labels = () if tiles else (*_labels(ground, view, wide / pixels), *_ocean(projection, view))
    return Backdrop(
        tuple(below), tuple(above), labels, graticules, locator, images, where, source, tuple(remarks)
    )  # fmt: skip


@functools.lru_cache(maxsize=8)
def _ground(lon: float, lat: float, reach: float, beyond: bool) -> Ground:
    """Return the ground around a location, which is the same whenever one release is drawn."""
    return ground_around(Projection(lon, lat).to_map, lon, lat, reach, beyond=beyond, farthest=_BEYOND * reach)


def _grown(view: Box) -> Box:
    """Return the part of the map that is seen around a view whose form differs from that of its frame."""
    x, y = view.middle
    half = _AROUND * max(view.width, view.height)
    return Box(x - half, y - half, x + half, y + half)


def _areas(ground: Ground, wide: float) -> Group:
    # A thin edge of the same colour closes the gaps between neighbouring pieces.
    land = tuple(Shape("fill", tuple(rings_of(some)), Style("land", 0.8, 1.0, 1.0)) for some in _patches(ground.land))
    water = Shape("fill", tuple(rings_of(ground.water)), Style("sea", 0.6, 1.0, 1.0))
    return Group("land and water", "ground", (*land, water))


def _patches(shapes: Any) -> list[Any]:
    """Return shapes by how far they reach from the middle, in powers of eight: a browser draws the nearest alone."""
    import shapely

    farthest = np.abs(shapely.bounds(shapes)).max(axis=1, initial=1.0) if len(shapes) else np.empty(0)
    size = np.floor(np.log2(farthest) / 3)
    return [shapes[size == each] for each in np.unique(size)]


def _lines(ground: Ground, reach: float, pixel: float) -> Group:
    import shapely

    shapes = []
    for name, styles in _LINES.items():
        found: Lines = getattr(ground, name)
        if pixel > _COARSEST.get(name, np.inf):
            continue
        ranks = np.minimum(found.ranks, len(styles) - 1)
        # The most important come last, above the others.
        for rank in range(len(styles) - 1, -1, -1):
            chosen = found.shapes[ranks == rank]
            shapes += [Shape("line", _corners(some), styles[rank]) for some in _patches(chosen)]
    # Where land was cut into pieces there is no coast.
    inner = 0.999 * reach
    whole = shapely.union_all(shapely.make_valid(shapely.clip_by_rect(ground.land, -reach, -reach, reach, reach)))
    coast = shapely.clip_by_rect(shapely.boundary(whole), -inner, -inner, inner, inner)
    shores = shapely.get_parts(shapely.line_merge(coast))
    shapes.append(Shape("line", _corners(shores), Style("coast", 1.0, 0.9)))
    return Group("coasts, borders, rivers and roads", "ground", tuple(shapes))


def _corners(lines: Any) -> tuple[Floats, ...]:
    import shapely

    parts = shapely.get_parts(lines)
    parts = parts[~shapely.is_empty(parts)]
    return tuple(shapely.get_coordinates(part) for part in parts)


def _dots(points: Any, style: Style) -> tuple[Shape, ...]:
    import shapely

    return (Shape("dots", (shapely.get_coordinates(points),), style),) if len(points) else ()


def _labels(ground: Ground, view: Box, pixel: float) -> tuple[Label, ...]:
    """Return the names of places, the most important first; some in the first view, however small they are."""
    places = ground.places
    # The frame of a page is often wider than the view.
    inside = (np.abs(places.flat - view.middle) < [0.9 * view.width, 0.6 * view.height]).all(axis=1)
    first = np.flatnonzero(inside)[:_ALWAYS]
    coarsest = 2 * places.reaches / _NAMED
    coarsest[first] = np.maximum(coarsest[first], 3 * pixel)
    # On a phone, names near the edge of the view have room towards its middle only.
    west, east = view.middle[0] + 0.1 * view.width, view.east
    return tuple(
        Label(
            x,
            y,
            name,
            "city" if people >= _CITY else "town",
            "west" if west < x < east else "east",
            coarsest=most,
        )
        for name, (x, y), people, most in zip(
            places.names, places.flat.tolist(), places.populations.tolist(), coarsest.tolist(), strict=True
        )
        if not set(name) & set("(/")  # parts of a place that is named as well
    )


def _ocean(projection: Projection, view: Box) -> tuple[Label, ...]:
    """Return the name of the ocean, where no land is near."""
    x, y = view.middle
    if len(_ground(projection.lon, projection.lat, _NEAR, False).land):
        return ()
    return (Label(x, y + 0.3 * view.height, ocean_at(projection.lon, projection.lat), "water", "middle"),)


def _locator(projection: Projection, view: Box) -> Locator | None:
    """Return a map of the surroundings, wide enough to show some land; None where the map itself is as wide."""
    import shapely

    wide = max(view.width, view.height)
    half = float(np.clip(_VIEWS * wide, _NEAR, _FAR))
    if wide > half:
        return None
    ground = _ground(projection.lon, projection.lat, half, False)
    while shapely.area(ground.land).sum() < _TELLING * 4 * half**2 and half < _FAR:
        half *= 1.6
        ground = _ground(projection.lon, projection.lat, half, False)
    pixel = 2 * half / _SMALL
    outline = np.array(
        [[view.west, view.south], [view.east, view.south], [view.east, view.north], [view.west, view.north]]
    )
    middle = np.array([view.middle])
    here = Shape("fill", (outline,), Style("person-1", 1.5, 1.0, 0.15))
    if wide < 6 * pixel:
        here = Shape("dots", (middle,), Style("person-1", 8.0, halo=True))
    country = ground.borders.shapes[ground.borders.ranks == 0]
    shapes = (
        Shape("fill", tuple(rings_of(ground.land)), Style("land", 0.5, 1.0, 1.0)),
        Shape("fill", tuple(rings_of(ground.water)), Style("sea", 0.3, 1.0, 1.0)),
        Shape("line", _corners(country), Style("border", 0.8, 0.9)),
        here,
    )
    return Locator(half, shapes, _locator_labels(ground, half, pixel, middle))


def _locator_labels(ground: Ground, half: float, pixel: float, middle: Floats) -> tuple[Label, ...]:
    """Return a few names of the surroundings that fit whole, beside the mark in the middle."""
    places = ground.places
    x, y = middle[0].tolist()
    mark = Label(x, y, "", "town", "middle")
    found: list[Label] = [mark]
    for name, (x, y) in zip(places.names, places.flat.tolist(), strict=True):
        for side in _turned(x):
            label = Label(x, y, name, "town", side)
            west, south, east, north = np.array(box_of(label)) + np.tile([x, y], 2) / pixel
            whole = min(west, south) > -half / pixel + 2 and max(east, north) < half / pixel - 2
            if whole and np.hypot(x, y) > 8 * pixel and len(_shown([*found, label], pixel)) == len(found) + 1:
                found.append(label)
                break
        if len(found) > _NAMES:
            break
    return tuple(found[1:])


def _turned(x: float) -> Sequence[Any]:
    return ("east", "west") if x < 0 else ("west", "east")


def _shown(labels: Sequence[Label], pixel: float) -> list[Label]:
    return [label for label in without_overlaps(labels) if label.coarsest >= pixel]
