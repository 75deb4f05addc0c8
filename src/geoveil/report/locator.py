"""The small map of the surroundings: countries by name, and where the map is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from geoveil.report.ground import Ground
from geoveil.report.labelling import Bounds, box_of, fits, moved, text_box_of
from geoveil.report.layers import Floats
from geoveil.report.map_projection import Box, Projection
from geoveil.report.oceans import ocean_at
from geoveil.report.outlines import lines_of, rings_of
from geoveil.report.scene import Label, Locator, Shape, Side, Style

__all__ = ["locator_around"]

#: Half the side of the smallest and of the largest map of the surroundings, in metres; between these limits, half its
#: side as a multiple of the width of the view.
_NEAR, _FAR, _VIEWS = 450e3, 5e6, 8.0
#: The pixels of the small map, the share of land from which a reader recognises the region, and the largest number of
#: names.
_SMALL, _TELLING, _NAMES = 120.0, 0.12, 3
#: The smallest width in pixels of a view that is drawn as a box; a dot marks a smaller one.
_SEEN = 24.0
#: The largest side in pixels of land whose name may stand beside it.
_ISLAND = 40.0
#: The number of letters of a name that fit into the small map.
_LETTERS = 16
#: The sides of the mark on which the name of its country may stand, and how far it is moved up, in steps of 4 pixels.
_BESIDE: tuple[tuple[int, Side], ...] = ((1, "north"), (-1, "south"), (0, "east"), (0, "west"))
#: The share of a name that may lie on the land of another country.
_ABROAD = 0.02


def locator_around(
    projection: Projection, view: Box, around: Callable[[float], Ground], *, at_sea: bool
) -> Locator | None:
    """Return a map of the surroundings, wide enough to show some land; None if the map itself is as wide.

    Parameters
    ----------
    projection, view : Projection, Box
        The map and the box that it shows first.
    around : callable
        Takes a distance in metres, and returns the ground within it.
    at_sea : bool
        Whether no land is near, so that an ocean is named.
    """
    import shapely

    wide = view.side
    half = float(np.clip(_VIEWS * wide, _NEAR, _FAR))
    if wide > half:
        return None
    ground = around(half)
    while shapely.area(ground.land).sum() < _TELLING * 4 * half**2 and half < _FAR:
        half = min(1.6 * half, _FAR)
        ground = around(half)
    pixel = 2 * half / _SMALL
    middle = np.array([view.middle])
    outline = np.array(
        [[view.west, view.south], [view.east, view.south], [view.east, view.north], [view.west, view.north]]
    )
    here = Shape("fill", (outline,), Style("person-1", 1.5, 1.0, 0.15))
    if wide < _SEEN * pixel:
        here = Shape("dots", (middle,), Style("person-1", 9.0, halo=True))
    country = ground.borders.shapes[ground.borders.ranks == 0]
    shapes = (
        Shape("fill", tuple(rings_of(ground.land)), Style("land", 0.8, 1.0, 1.0)),
        Shape("fill", tuple(rings_of(ground.water)), Style("sea", 0.3, 1.0, 1.0)),
        Shape("line", lines_of(country), Style("border", 0.8, 0.9)),
        here,
    )
    ocean = ocean_at(projection.lon, projection.lat) if at_sea else ""
    places = around(_NEAR).places
    home = "" if at_sea or not len(places.names) else _short(places.countries[np.hypot(*places.flat.T).argmin()])
    return Locator(half, shapes, _names(ground, half, pixel, middle[0], home, ocean))


def _names(ground: Ground, half: float, pixel: float, middle: Floats, home: str, ocean: str) -> tuple[Label, ...]:
    """Return the names of a few countries, or of the ocean, each on its own land or on the sea."""
    import shapely

    lands = _countries(ground, pixel)
    if home:
        lands.setdefault(home, shapely.Point(middle))
    x, y = (middle / pixel).tolist()
    placed: list[Label] = []
    taken: list[Bounds] = [(x - 9, y - 9, x + 9, y + 9)]
    if ocean:
        tried = [
            Label(x * half, y * half, ocean, "water", "middle") for y in (-0.3, 0.3, -0.6, 0.6) for x in (0, -0.3)
        ]
        every = shapely.union_all(list(lands.values())) if lands else shapely.Point()
        _add(tried, every, placed, taken, half, pixel)
    # The country of the map comes first, then those that take most of the small map.
    for name in sorted(lands, key=lambda name: (name != home, -lands[name].area)):
        if len(placed) == _NAMES:
            break
        others = shapely.union_all([land for other, land in lands.items() if other != name])
        tried = _options(name, lands[name], half, pixel)
        if name == home and not ocean:
            tried += [Label(x * pixel, (y + 4 * up) * pixel, name, "country", side) for up, side in _BESIDE]
        if not _add(tried, others, placed, taken, half, pixel) and name == home:
            # A small country is named even where its name crosses its borders.
            _add(tried, others, placed, taken, half, pixel, abroad=0.75)
    return tuple(placed)


def _countries(ground: Ground, pixel: float) -> dict[str, Any]:
    """Return the land of each country.

    Borders cut the land into pieces. A piece belongs to the country of the largest place in it, if there is one.
    """
    import shapely

    places = ground.places
    country = ground.borders.shapes[ground.borders.ranks == 0]
    walls = shapely.union_all(shapely.buffer(country, 0.4 * pixel)) if len(country) else shapely.Point()
    pieces = shapely.get_parts(shapely.difference(shapely.union_all(ground.land), walls))
    if not len(pieces) or not len(places.names):
        return {}
    # Places at the coast may lie a little off the simplified land.
    at, piece = shapely.STRtree(pieces).query_nearest(
        shapely.points(places.flat), max_distance=3 * pixel, all_matches=False
    )
    owner: dict[int, str] = {}
    for row, own in zip(at.tolist(), piece.tolist(), strict=True):
        owner.setdefault(own, _short(places.countries[row]))
    lands: dict[str, list[Any]] = {}
    for own, name in owner.items():
        lands.setdefault(name, []).append(pieces[own])
    return {name: shapely.union_all(parts) for name, parts in lands.items()}


def _short(country: str) -> str:
    """Return the name of a country, shortened if it is too long for the small map.

    Examples
    --------
    >>> _short("Svalbard and Jan Mayen"), _short("Kenya")
    ('Svalbard', 'Kenya')
    """
    return country if len(country) <= _LETTERS else country.partition(" and ")[0]


def _options(name: str, land: Any, half: float, pixel: float) -> list[Label]:
    """Return places for the name of a country: on the largest part of its land, or beside it."""
    import shapely

    parts = shapely.get_parts(land)
    if not shapely.area(parts).any():
        return []
    largest = parts[shapely.area(parts).argmax()]
    x, y = shapely.get_coordinates(shapely.maximum_inscribed_circle(largest, tolerance=half / 60))[0]
    west, south, east, north = shapely.bounds(largest)
    tried = [Label(float(x), float(y), name, "country", "middle")]
    # Other spots of the same land, on a coarse grid.
    grid = shapely.points(np.stack(np.meshgrid(*[np.linspace(-0.85, 0.85, 12) * half] * 2), -1).reshape(-1, 2))
    inside = grid[shapely.contains(largest, grid)]
    inside = inside[np.argsort(shapely.distance(inside, shapely.boundary(largest)))[::-1]]
    spots = shapely.get_coordinates(inside)[:40].tolist()
    tried += [Label(a, b, name, "country", "middle") for a, b in spots]
    beside: tuple[tuple[float, float, Side], ...] = (
        (x, south, "south"), (x, north, "north"), (east, y, "east"), (west, y, "west")
    )  # fmt: skip
    # Land that reaches the edge of the small map continues beyond it.
    if max(east - west, north - south) > _ISLAND * pixel or max(-west, -south, east, north) > 0.98 * half:
        return tried
    return [*tried, *(Label(float(a), float(b), name, "country", side) for a, b, side in beside)]


def _add(
    tried: list[Label],
    others: Any,
    placed: list[Label],
    taken: list[Bounds],
    half: float,
    pixel: float,
    abroad: float = _ABROAD,
) -> bool:
    """Add the first label that is whole, covers no other and is not on others' land; return whether there is one."""
    import shapely

    edge = half / pixel
    for label in tried:
        text = moved(text_box_of(label), label, pixel)
        if fits(text, (-edge, -edge, edge, edge), taken, room=2):
            area = shapely.box(*(side * pixel for side in text))
            if shapely.area(shapely.intersection(area, others)) <= abroad * shapely.area(area):
                placed.append(label)
                taken.append(moved(box_of(label), label, pixel))
                return True
    return False
