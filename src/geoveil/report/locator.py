"""The small map of the surroundings: countries by name, and where the map is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from geoveil.report.ground.surroundings import Ground
from geoveil.report.labelling import Choice, Frame, Obstacles, place_labels
from geoveil.report.map_projection import Box
from geoveil.report.scene import Label, Locator, Shape, Side, Style

if TYPE_CHECKING:
    import shapely

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
#: The costs from which on a name is left out: more than those of fifty spots of its own land, and less than that of
#: crossing a border. The name of the country of the map may cross one.
_MOST, _AT_HOME = 4.0, 10.0


def locator_around(view: Box, around: Callable[[float], Ground], ocean: str) -> Locator | None:
    """Return a map of the surroundings, wide enough to show some land; None if the map itself is as wide.

    Parameters
    ----------
    view : Box
        The box that the map shows first.
    around : callable
        Takes a distance in metres, and returns the ground within it.
    ocean : str
        The ocean to name if no land is near; empty if some is.
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
    here = Shape.filled(np.array([shapely.box(*view)]), Style("person-1", 1.5, 1.0, 0.15))
    if wide < _SEEN * pixel:
        here = Shape("dots", (np.array([view.middle]),), Style("person-1", 9.0, halo=True))
    shapes = (
        Shape.filled(ground.land, Style("land", 0.8, 1.0, 1.0)),
        Shape.filled(ground.water, Style("sea", 0.3, 1.0, 1.0)),
        Shape.drawn(ground.borders.of_rank(0), Style("border", 0.8, 0.9)),
        here,
    )
    places = around(_NEAR).places
    home = "" if ocean or not len(places.names) else _short(places.countries[np.hypot(*places.flat.T).argmin()])
    x, y = (at / pixel for at in view.middle)
    frame = Frame(pixel, Box(-_SMALL, -_SMALL, _SMALL, _SMALL).scaled(0.5), taken=(Box(x, y, x, y).grown(9),))
    names = place_labels(_choices(ground, half, view, home, ocean), Obstacles(pixel), [frame])
    return Locator(half, shapes, tuple(islice(names, _NAMES)))


def _choices(ground: Ground, half: float, view: Box, home: str, ocean: str) -> Iterator[Choice]:
    """Yield the spots of the names of the ocean and of countries, each on its own land or on the sea."""
    import shapely

    pixel, (x, y) = 2 * half / _SMALL, view.middle
    lands = _countries(ground, pixel)
    if home:
        lands.setdefault(home, shapely.Point(x, y))
    if ocean:
        spots = [(east * half, north * half) for north in (-0.3, 0.3, -0.6, 0.6) for east in (0, -0.3)]
        afloat = tuple(Label(*spot, ocean, "water", "middle") for spot in spots)
        yield Choice(afloat, abroad=shapely.union_all(list(lands.values())), most=_MOST)
    # The country of the map comes first, then those that take most of the small map.
    for name in sorted(lands, key=lambda name: (name != home, -lands[name].area)):
        others = shapely.union_all([land for other, land in lands.items() if other != name])
        labels = _labels(name, lands[name], half, pixel)
        if name == home:
            labels += [Label(x, y + 4 * up * pixel, name, "country", side) for up, side in _BESIDE]
        yield Choice(tuple(labels), abroad=others, most=_AT_HOME if name == home else _MOST)


def _countries(ground: Ground, pixel: float) -> dict[str, shapely.Geometry]:
    """Return the land of each country.

    Borders cut the land into pieces. A piece belongs to the country of the largest place in it, if there is one.
    """
    import shapely

    places = ground.places
    country = ground.borders.of_rank(0)
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
    owned = {name: [piece for piece in owner if owner[piece] == name] for name in owner.values()}
    return {name: shapely.union_all(pieces[own]) for name, own in owned.items()}


def _short(country: str) -> str:
    """Return the name of a country, shortened if it is too long for the small map.

    Examples
    --------
    >>> _short("Svalbard and Jan Mayen"), _short("Kenya")
    ('Svalbard', 'Kenya')
    """
    return country if len(country) <= _LETTERS else country.partition(" and ")[0]


def _labels(name: str, land: shapely.Geometry, half: float, pixel: float) -> list[Label]:
    """Return the alternatives for the name of a country: on the largest part of its land, or beside it."""
    import shapely

    parts = shapely.get_parts(land)
    if not shapely.area(parts).any():
        return []
    largest = parts[shapely.area(parts).argmax()]
    x, y = shapely.get_coordinates(shapely.maximum_inscribed_circle(largest, tolerance=half / 60))[0]
    west, south, east, north = shapely.bounds(largest)
    labels = [Label(float(x), float(y), name, "country", "middle")]
    # Other spots of the same land, on a coarse grid.
    grid = shapely.points(np.stack(np.meshgrid(*[np.linspace(-0.85, 0.85, 12) * half] * 2), -1).reshape(-1, 2))
    inside = grid[shapely.contains(largest, grid)]
    inside = inside[np.argsort(shapely.distance(inside, shapely.boundary(largest)))[::-1]]
    spots = shapely.get_coordinates(inside)[:40].tolist()
    labels += [Label(a, b, name, "country", "middle") for a, b in spots]
    # Land that reaches the edge of the small map continues beyond it.
    if max(east - west, north - south) <= _ISLAND * pixel and max(-west, -south, east, north) <= 0.98 * half:
        beside: tuple[tuple[float, float, Side], ...] = (
            (x, south, "south"), (x, north, "north"), (east, y, "east"), (west, y, "west")
        )  # fmt: skip
        labels += [Label(float(a), float(b), name, "country", side) for a, b, side in beside]
    return labels
